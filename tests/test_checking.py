"""advantagelab.checking: the verdicts, what counts as equal, and that nothing a learner's function does outlasts a check."""

import math
import sys
import warnings

import numpy as np
import pytest
import torch

from advantagelab import set_language
from advantagelab.checking import (
    CheckFailed,
    ChecksFailed,
    Rng,
    expect_close,
    expect_error,
    expect_unchanged,
    gradient,
    judge,
    message,
    run_all_checks,
    run_checks,
)
from advantagelab.checking.expect import describe
from advantagelab.checking.run import ERROR, FAILED, MISSING, OPEN, PASSED, Verdict, checks_of, report

SAID = message(en="It is not doubled.", zh="没有翻倍。")


def check_double_by_hand(answers):
    expect_close(answers.double(torch.tensor([1.0, 2.0])), torch.tensor([2.0, 4.0]), SAID)


def hidden_double_random(answers, rng):
    x = rng.normal(5)
    expect_close(answers.double(x), 2 * x, message(en="Random numbers are not doubled.", zh="随机数没有翻倍。"))


def double(x):
    return 2 * x


def verdict_on(function, check=check_double_by_hand):
    return judge(check, "double", {"double": function})


def differs(got, expected) -> CheckFailed | None:
    try:
        expect_close(got, expected, SAID)
    except CheckFailed as failure:
        return failure


# Verdicts


def test_passed():
    verdict = verdict_on(double)
    assert (verdict.check, verdict.status, verdict.message, verdict.got) == ("check_double_by_hand", PASSED, None, None)
    assert verdict.seconds > 0
    assert verdict_on(double, hidden_double_random).status == PASSED


def test_failed_says_what_was_expected_and_got():
    verdict = verdict_on(lambda x: 3 * x)
    assert (verdict.status, verdict.message) == (FAILED, SAID)
    assert "2, 4" in verdict.expected and "3, 6" in verdict.got


def test_open_only_for_the_stubs_own_error():
    def stub(x):
        raise NotImplementedError("TODO 3: Double | 翻倍")

    verdict = verdict_on(stub)
    assert verdict.status == OPEN and "TODO 3: Double." in verdict.message.en and "TODO 3：翻倍" in verdict.message.zh

    def other(x):
        raise NotImplementedError("later")

    assert verdict_on(other).status == ERROR


def test_error_shows_the_learners_line():
    def broken(x):
        return torch.nn.functional.softmax(x, dim=5)  # the learner's line

    verdict = verdict_on(broken)
    assert verdict.status == ERROR and "raised" in verdict.message.en
    assert verdict.got.startswith("IndexError") and "# the learner's line" in verdict.got


def test_a_name_that_no_cell_has_defined_is_said():
    def uses_a_given_function(x):
        return require_what_is_above(x)  # noqa: F821

    verdict = verdict_on(uses_a_given_function)
    assert verdict.status == ERROR and "uses `require_what_is_above`, which is not defined. If a cell above" in verdict.message.en


def test_the_learners_language_comes_first():
    verdict = Verdict("check_a", FAILED, message(en="wrong", zh="错"), "1", "2", 0.0)
    assert report([verdict]).splitlines()[1:3] == ["    wrong", "    错"]
    set_language("zh")
    try:
        assert report([verdict]).splitlines()[1:3] == ["    错", "    wrong"]
    finally:
        set_language("en")


@pytest.mark.parametrize("leave", [SystemExit, lambda: sys.exit(0), RecursionError, MemoryError])
def test_leaving_python_is_an_error_of_the_function(leave):
    def leaving(x):
        raise leave()

    assert verdict_on(leaving).status == ERROR


def test_the_learner_can_interrupt():
    def interrupted(x):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        verdict_on(interrupted)


@pytest.mark.parametrize("namespace", [{}, {"double": None}, {"double": 3}])
def test_missing(namespace):
    verdict = judge(check_double_by_hand, "double", namespace)
    assert verdict.status == MISSING and "`double`" in verdict.message.en and "`double`" in verdict.message.zh


def test_a_result_of_the_wrong_kind_is_told_from_an_error_inside():
    def check_double_unpacks(answers):
        first, second = answers.double(torch.tensor([1.0, 2.0, 3.0]))

    for result in (None, torch.ones(3), (1.0,), 5):
        verdict = judge(check_double_unpacks, "double", {"double": lambda x, result=result: result})
        assert verdict.status == ERROR and "returned" in verdict.message.en and "raised" not in verdict.message.en
    verdict = judge(check_double_unpacks, "double", {"double": lambda x: [][1]})
    assert "raised" in verdict.message.en


def test_a_check_may_call_its_own_function_only():
    def check_double_cheats(answers):
        answers.other(1)

    with_both = {"double": double, "other": double}
    verdict = judge(check_double_cheats, "double", with_both)
    assert verdict.status == ERROR and "may not call other" in verdict.got


def test_the_function_is_looked_up_when_it_is_called():
    namespace = {"double": lambda x: 3 * x}
    assert judge(check_double_by_hand, "double", namespace).status == FAILED
    namespace["double"] = double
    assert judge(check_double_by_hand, "double", namespace).status == PASSED


# What outlasts a check


def test_nothing_on_stderr_and_no_warning_escapes(capfd):
    def noisy(x):
        warnings.warn("careful", stacklevel=1)
        print("to stderr", file=sys.stderr)
        torch.tensor(torch.ones(1))  # torch warns of this itself
        return 2 * x

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert verdict_on(noisy).status == PASSED
    assert capfd.readouterr().err == ""


def test_what_a_function_prints_is_seen(capsys):
    verdict_on(lambda x: print("look") or 2 * x)
    assert capsys.readouterr().out == "look\n"


@pytest.mark.parametrize("fails", [False, True])
def test_global_state_of_torch_is_restored(fails):
    def careless(x):
        torch.set_default_dtype(torch.float64)
        torch.set_grad_enabled(False)
        torch.manual_seed(1)
        torch.rand(3)
        return 3 * x if fails else 2 * x

    before = torch.get_rng_state(), torch.get_default_dtype(), torch.is_grad_enabled()
    verdict_on(careless)
    assert torch.equal(torch.get_rng_state(), before[0])
    assert (torch.get_default_dtype(), torch.is_grad_enabled()) == before[1:]


def test_a_function_that_uses_torchs_generator_sees_the_same_numbers_each_time():
    drawn = []
    for _ in range(2):
        verdict_on(lambda x: drawn.append(torch.rand(1).item()) or 2 * x)
    assert drawn[0] == drawn[1]


def test_a_hidden_check_has_its_own_numbers_whatever_ran_before():
    seen = []
    for before in (0, 1):
        for _ in range(before):
            verdict_on(double)
        verdict_on(lambda x: seen.append(x) or 2 * x, hidden_double_random)
    assert torch.equal(*seen)
    judge(hidden_double_random, "double", {"double": lambda x: seen.append(x) or 2 * x}, seed=1)
    assert not torch.equal(seen[0], seen[2])


# expect_close


@pytest.mark.parametrize(("got", "expected"), [
    (torch.tensor([1.0, 2.0]), [1.0, 2.0]),
    (torch.tensor([1.0, 2.0], dtype=torch.float64), torch.tensor([1.0, 2.0])),
    (torch.tensor([1, 2]), [1.0, 2.0]),
    (torch.tensor([1.0, math.nan, math.inf]), [1.0, math.nan, math.inf]),
    (torch.tensor([1e6, 1.0]), [1e6, 2.0]),  # relative to the largest expected value
    (torch.tensor([1e-9, 0.0]), [0.0, 0.0]),
    (torch.tensor([]), []),
    (torch.tensor(3.0), 3.0),
    (3, 3.0),
    ([1.0, 2.0], [1.0, 2.0]),
    ([1.0, 2.0], (1.0, 2.0)),
    ([[1.0], [2.0, 3.0]], [[1.0], [2.0, 3.0]]),
    (torch.tensor([True, False]), [True, False]),
    (True, True),
    ("box", "box"),
    (None, None),
    (["a", None, "b"], ["a", None, "b"]),
    ([("a", 1.0), ("b", 2.0)], [("a", 1.0), ("b", 2.0)]),
    ((torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])), ([1.0, 2.0], [3.0, 4.0])),
    ((torch.tensor([1.0]), torch.tensor([3.0])), ([1.0], [3.0])),
    ((torch.tensor([1.0]), torch.tensor([1.0, 2.0])), (torch.tensor([1.0]), torch.tensor([1.0, 2.0]))),
    ([torch.tensor(0.0), torch.tensor(1.0)], [0.0, 1.0]),
    (torch.tensor([1.0, 2.0]), np.array([1.0, 2.0])),
    ((torch.tensor([1.0]), torch.tensor([2.0])), (np.array([1.0]), np.array([2.0]))),
    (torch.tensor([1.0], requires_grad=True), [1.0]),
])
def test_equal(got, expected):
    assert differs(got, expected) is None


@pytest.mark.parametrize(("got", "expected"), [
    (torch.tensor([1.0, 2.001]), [1.0, 2.0]),
    (torch.tensor([1e-3, 0.0]), [0.0, 0.0]),
    (torch.tensor([1e-9]), [2e-9]),  # small signals are not equal to each other
    (torch.tensor([1.0, math.nan]), [1.0, 2.0]),
    (torch.tensor([1.0, 2.0]), [1.0, math.nan]),
    (torch.tensor([math.inf]), [-math.inf]),
    (torch.tensor([math.inf]), [1.0]),
    (torch.tensor([[1.0, 2.0]]), [1.0, 2.0]),
    (torch.tensor(1.0), [1.0]),
    (torch.tensor([1.0]), 1.0),
    (torch.tensor([1.0, 2.0]), []),
    (torch.tensor([1.0, 0.0]), [True, False]),
    (torch.tensor([1, 0]), [True, False]),
    (torch.tensor([True, False]), [1.0, 0.0]),
    (1, True),
    (True, 1.0),
    ([1.0, 2.0], torch.tensor([1.0, 2.0])),  # a tensor is asked for, a list returned
    (None, torch.tensor([1.0])),
    (None, [1.0]),
    (None, "box"),
    ("box", None),
    ("1.0", 1.0),
    (1.0, "1.0"),
    ("a", "b"),
    ([1.0], [1.0, 2.0]),
    ([("a", 1.0)], [("a", 2.0)]),
    (["a"], "a"),
    ((torch.tensor([1.0]), torch.tensor([3.5])), ([1.0], [3.0])),
    ((torch.tensor([1.0]),), ([1.0], [3.0])),
    (torch.tensor([1.0, 2.0]), ("a", "b")),
    ({"a": 1}, [1.0]),
    (object(), 1.0),
])
def test_different(got, expected):
    said = differs(got, expected).message
    assert said == SAID or (got is None and "Nothing was returned" in said.en)


def test_the_failure_says_how_they_differ():
    assert "[2]" in differs(torch.ones(3), torch.ones(2)).got and "形状" in differs(torch.ones(3), torch.ones(2)).got
    assert "nothing was returned" in differs(None, torch.ones(2)).got
    assert "a tensor was expected" in differs([1.0, 1.0], torch.ones(2)).got
    assert "bool" in differs(torch.tensor([1, 0]), [True, False]).got


def test_descriptions_are_short_and_plain():
    assert describe(torch.tensor([0.5, math.nan])) == "[0.5, nan] float32 [2]"
    assert describe(np.array([0.5, 1.0])) == "[0.5, 1] float64 [2]"
    assert describe((1.0, None, "甲")) == "[1, None, '甲']"
    assert len(describe(torch.rand(1000))) < 1000 and describe(torch.rand(1000)).endswith("[1000]")
    assert len(describe("x" * 10_000)) < 400
    assert describe({"a": [torch.ones(1), 2.0], "b": {}}) == "{'a': [[1] float32 [1], 2], 'b': {}}"


def test_of_a_long_value_the_beginning_is_described():
    """Whatever a function returns, describing it takes no time."""
    tensor = torch.rand(1000)
    assert describe(list(range(64))).endswith("63]") and describe(list(range(65))).endswith("63, …]")
    assert describe(([1] * 40, [2] * 40)) == f"[{[1] * 40}, [{'2, ' * 22}…]]"
    for value in ([0] * 10**6, [[0] * 1000] * 1000, {"a": [tensor] * 10**6}, {n: "x" * 1000 for n in range(10**5)}, [[]] * 10**6):
        assert len(describe(value)) < 100_000
    holds_itself = []
    holds_itself.append(holds_itself)
    assert describe(holds_itself).count("[") < 100


# expect_error, expect_unchanged, gradient


def fail():
    raise ValueError("no")


def test_expect_error():
    expect_error(fail, SAID)
    with pytest.raises(CheckFailed) as failure:
        expect_error(lambda: torch.tensor([1.0]), SAID)
    assert failure.value.expected == "ValueError" and "[1]" in failure.value.got
    with pytest.raises(CheckFailed) as failure:
        expect_error(lambda: [][0], SAID)
    assert "IndexError" in failure.value.got


def test_expect_error_passes_an_open_todo_on():
    def stub():
        raise NotImplementedError("TODO 1: One | 一")

    with pytest.raises(NotImplementedError):
        expect_error(stub, SAID)


def test_expect_unchanged():
    x = torch.tensor([1.0, math.nan])
    before = x.clone()
    expect_unchanged(before, x, SAID)
    x[0] = 2.0
    with pytest.raises(CheckFailed):
        expect_unchanged(before, x, SAID)


def test_gradient_is_a_value_and_zero_where_there_is_no_path():
    x, other = torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor([1.0], requires_grad=True)
    assert torch.equal(gradient(x ** 2, x), torch.tensor([2.0, 4.0]))
    assert torch.equal(gradient(x ** 2, other), torch.zeros(1))
    assert torch.equal(gradient((x ** 2).detach(), x), torch.zeros(2))
    with torch.no_grad():
        assert torch.equal(gradient(x ** 2, x), torch.zeros(2))
    y = x ** 2
    assert torch.equal(gradient(y, x), gradient(y, x))
    for bad in (None, 1.0, [x]):
        with pytest.raises(CheckFailed):
            gradient(bad, x)


# run_checks, run_all_checks, report


def test_run_checks_prints_verdicts_and_raises_if_one_is_not_passed(capsys):
    checks = {"check_double_by_hand": check_double_by_hand, "hidden_double_random": hidden_double_random}
    run_checks({**checks, "double": double}, "double")
    assert capsys.readouterr().out.count("✓") == 2
    with pytest.raises(ChecksFailed, match="0 of 2"):
        run_checks({**checks, "double": lambda x: 3 * x}, "double")
    printed = capsys.readouterr().out
    assert "It is not doubled." in printed and "没有翻倍。" in printed and "expected | 应为  [2, 4]" in printed
    with pytest.raises(ChecksFailed, match="no checks"):
        run_checks({"double": double}, "double")


def test_a_hidden_checks_numbers_are_not_shown():
    text = report([judge(hidden_double_random, "double", {"double": lambda x: 3 * x})])
    assert "Random numbers are not doubled." in text and "expected" not in text and "got" not in text


def test_only_the_first_failed_check_is_explained():
    """One mistake fails several checks, and what the later ones say of it is often not true."""
    def stub(x):
        raise NotImplementedError("TODO 1: Double | 翻倍")

    checks = {"check_double_by_hand": check_double_by_hand, "check_double_again": check_double_by_hand}

    def told(function):
        return report([judge(check, "double", {"double": function}) for check in checks.values()])

    def broken(x):
        return [][0]

    assert told(stub).count("TODO 1") == 2  # once in each language
    assert (told(broken).count("IndexError"), told(broken).count("✗")) == (1, 2)
    assert told(lambda x: 3 * x).count("It is not doubled.") == 1 and "Begin with the first failed check" in told(lambda x: 3 * x)
    assert "Begin with" not in report([judge(check_double_by_hand, "double", {"double": lambda x: 3 * x})])


def test_complex_and_sparse_results_are_refused():
    assert "real numbers" in differs(torch.ones(2) + 0j, torch.ones(2)).got
    assert "dense" in differs(torch.ones(2).to_sparse(), torch.ones(2)).got


@pytest.mark.parametrize("setting, change", [
    ("default dtype", lambda: torch.set_default_dtype(torch.float64)),
    ("grad mode", lambda: torch.set_grad_enabled(False)),
    ("default device", lambda: torch.set_default_device("meta")),
])
def test_a_function_that_changes_torchs_settings_fails_and_they_are_put_back(setting, change):
    def changes(x):
        result = 2 * x
        change()
        return result

    verdict = judge(check_double_by_hand, "double", {"double": changes})
    assert verdict.status == FAILED and setting in verdict.message.en and setting in verdict.message.zh
    assert torch.get_default_dtype() == torch.float32 and torch.is_grad_enabled() and torch.get_default_device().type == "cpu"
    assert judge(check_double_by_hand, "double", {"double": double}).status == PASSED


def test_run_all_checks_sums_up_and_raises_nothing(capsys):
    def stub(x):
        raise NotImplementedError("TODO 2: Half | 减半")

    def check_half_by_hand(answers):
        expect_close(answers.half(2.0), 1.0, SAID)

    run_all_checks({"check_double_by_hand": check_double_by_hand, "double": double, "check_half_by_hand": check_half_by_hand, "half": stub},
                   "double", "half", "third")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("✓ double") and lines[0].endswith("1/1")
    assert "open" in lines[1] and "待完成" in lines[1] and "run its check cell first" in lines[2]
    assert lines[3].startswith("1 of 3 TODOs done")


def test_checks_of_a_function_leave_out_another_whose_name_it_begins():
    namespace = {"check_double_by_hand": check_double_by_hand, "hidden_double_random": hidden_double_random, "check_doubled_x": double,
                 "check_double_note": "not a function"}
    assert checks_of(namespace, "double") == [check_double_by_hand, hidden_double_random]


# Rng


def test_rng_is_seeded_and_leaves_torch_alone():
    state = torch.get_rng_state()
    draws = [(rng.integer(1, 6), rng.uniform(0, 1), rng.normal(2, 3), rng.rewards(8, missing=0.5), rng.interleaved_groups(8, 3),
              rng.token_logps(2, 3), rng.completion_mask(4, 5)) for rng in (Rng(3), Rng(3), Rng(4))]
    assert torch.equal(torch.get_rng_state(), state)
    assert differs(draws[0], draws[1]) is None and differs(draws[0], draws[2])


def test_rng_draws_what_it_says():
    rng = Rng(0)
    integers = {rng.integer(2, 4) for _ in range(100)}
    assert integers == {2, 3, 4}
    assert all(-1 <= rng.uniform(-1, 3) <= 3 for _ in range(100))
    rewards, groups = rng.rewards(400, missing=0.25), rng.interleaved_groups(60, groups=4)
    assert 0.15 < rewards.isnan().float().mean() < 0.35 and not rng.rewards(100).isnan().any()
    assert groups.dtype == torch.int64 and len(groups.unique()) == 4 and not torch.equal(groups, groups.sort().values)
    assert (rng.token_logps(20, 20) < 0).all()
    mask = rng.completion_mask(50, 6)
    assert mask.dtype == torch.bool and mask.any(dim=1).all() and not mask.all()
    assert (mask.long().diff(dim=1) <= 0).all()
