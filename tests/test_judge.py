"""The judge: a check is one and the same text here and across the pipe; hostile code costs its own question and nothing else."""

import ast
import gc
import math
import os
import signal
import time
from types import ModuleType

import pytest
import torch

from advantagelab.checking import expect_close, expect_error, gradient, message
from advantagelab.checking import judge as judge_here
from autograder import judge as judge_module
from autograder.judge import Judge, Question, questions_of
from autograder.remote import ENDED, ENLARGED, GARBLED, LATE, NotPlain, Remote
from autograder.sandbox import SandboxError
from autograder.submission import Code
from lessons._build.answers import Answer, right_answers, skeleton, wrong_answers
from lessons._build.course import read_course
from lessons._build.lesson import Lesson, read_lesson
from lessons._build.regions import regions, replace_regions, stub

from . import needs
from .whole import ALL

COURSE = read_course()
LESSONS = [lesson for lesson in (read_lesson(COURSE, entry.name) for entry in COURSE.lessons) if lesson.checks]
SAID = message(en="It is wrong.", zh="不对。")

# Wrong answers whose verdicts differ across the pipe, where equal strings are not one object, a list that holds a dict twice holds two, and
# two tensors share no memory. They get no points here either.
BY_IDENTITY = {("rollout", "same_object"), ("rollout", "id_of_the_values"), ("rollout", "fields_popped"),
               ("cast", "old_brought_up_to_date")}


@pytest.fixture(scope="module")
def grader():
    """In the strongest isolation that holds here."""
    try:
        grader = Judge()
    except SandboxError as error:
        needs.not_run(f"no isolation works here: {error}", "`apt-get install bubblewrap`")
    yield grader
    grader.close()


@pytest.fixture
def remote(grader):
    remote = grader.remote()
    yield remote
    remote.kill()


def cells(*sources: str) -> list[Code]:
    return [Code(f"cell-{number}", "added", None, source) for number, source in enumerate(sources, 1)]


def same(left, right) -> bool:
    return (left.check, *left[1:5]) == (right.check, *right[1:5])


# The course's own answers


def own(lesson: Lesson) -> str:
    return without_imports_of_ours(lesson.algorithm.text)


def given(lesson: Lesson) -> list[str]:
    """What a lesson takes from earlier ones, as in a notebook's given cells."""
    return [without_imports_of_ours(module.text) for module in lesson.earlier_algorithms]


def without_imports_of_ours(text: str) -> str:
    lines = text.splitlines()
    for node in ast.parse(text).body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("advantagelab.algorithms"):
            lines[node.lineno - 1:node.end_lineno] = [""] * (node.end_lineno - node.lineno + 1)  # later ones stay in their places
    return "\n".join(lines)


def test_an_import_of_several_lines_goes_whole():
    text = "import math\nfrom advantagelab.algorithms.rloo import (\n    leave_one_out_advantages,\n)\nhalf = math.pi / 2"
    assert without_imports_of_ours(text).split() == "import math half = math.pi / 2".split()


def sources(lesson: Lesson, answer: Answer) -> list[str]:
    """The cells that define an answer."""
    text = own(lesson)
    if answer.function is not None:
        return [*given(lesson), text, answer.function]
    lines = text.splitlines()

    def replacement(region):
        if region.number in answer.todos:
            return answer.todos[region.number].splitlines()
        return [line.removeprefix(region.indent) for line in lines[region.begin:region.end + 1]]

    return [*given(lesson), replace_regions(text, replacement)]


def verdicts(remote: Remote, question: Question) -> list:
    """As the judge's, without its budget of time."""
    remote.begin(300)
    function, given = question.function, []
    for check in question.checks:
        remote.begin_check()
        given.append(judge_here(check, function, {function: remote.function(function)} if remote.has(function) else {}))
    return given


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.entry.name)
def test_verdicts_on_the_course_s_answers_are_those_of_the_notebook(lesson, remote):
    """Status, message, expected and got: of one answer in sixteen, or with ALL=1 of every one.

    All run in one process after each other, since each defines every function.
    """
    questions = {question.function: question for question in questions_of(lesson)}
    todos = regions(lesson.algorithm.text)
    answers = [*wrong_answers(lesson.folder), *right_answers(lesson.folder)][::1 if ALL else 16]
    for answer in answers:
        question = questions[answer.todo(todos).function]
        for number, source in enumerate(sources(lesson, answer)):
            assert remote.run(f"{answer.name}-{number}", source, 60).error is None
        there = verdicts(remote, question)
        namespace = answer.namespace(lesson.algorithm)
        here = [judge_here(check, question.function, namespace) for check in question.checks]
        if (lesson.entry.name, answer.name) in BY_IDENTITY:
            assert not all(verdict.status == "passed" for verdict in there)
        else:
            assert all(map(same, there, here)), (answer.name, [pair for pair in zip(there, here) if not same(*pair)])


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.entry.name)
def test_every_check_goes_through_the_pipe_on_the_reference_and_on_the_skeleton(lesson, grader):
    questions = questions_of(lesson)
    judgement = grader.grade(cells(*given(lesson), own(lesson)), questions)
    assert [result.score for result in judgement.questions] == [question.points for question in questions]
    assert {verdict.status for result in judgement.questions for verdict in result.verdicts} == {"passed"}
    assert judgement.cells[0].error is None and judgement.isolation == grader.isolation
    untouched = grader.grade(cells(*given(lesson), stub(own(lesson))), questions)
    there = [verdict for result in untouched.questions for verdict in result.verdicts]
    here = [judge_here(check, question.function, skeleton(lesson.algorithm)) for question in questions for check in question.checks]
    assert {verdict.status for verdict in there} == {"open"} and all(map(same, there, here))
    assert [result.score for result in untouched.questions] == [0.0] * len(questions)


def test_questions_are_the_lessons_and_private_checks_come_after_them():
    lesson = LESSONS[3]
    question = questions_of(lesson)[2]
    assert (question.key, question.exercise_key, question.function, question.points) == (
        "check-leave-one-out-advantages", "leave-one-out-advantages", "leave_one_out_advantages", 3.0)
    names = [check.__name__ for check in question.checks]
    assert names == sorted(names, key=lambda name: name.startswith("hidden_")) and names[0].startswith("check_")

    def hidden_leave_one_out_advantages_mine(answers, rng):
        pass

    private = ModuleType("private")
    private.hidden_leave_one_out_advantages_mine = hidden_leave_one_out_advantages_mine
    assert [check.__name__ for check in questions_of(lesson, private_checks=private)[2].checks] == [
        *names, "hidden_leave_one_out_advantages_mine"]


# What crosses


def calls(remote: Remote, source: str, name: str = "f"):
    assert remote.run("cell", source, 10).error is None
    remote.begin(60)
    return remote.function(name)


def test_gradients_cross_from_positional_named_and_nested_inputs_to_all_outputs(remote):
    f = calls(remote, "def f(a, pairs, *, scale):\n    b, c = pairs['b'], pairs['more'][0]\n"
                      "    return {'sum': a * b + c, 'parts': (scale * c, a.detach(), 3, b > 0)}")
    a, b, c, scale = (torch.tensor(values, requires_grad=True) for values in ([1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]))
    got = f(a, {"b": b, "more": [c, "x"]}, scale=scale)
    product, frozen, three, positive = got["parts"]
    assert got["sum"].tolist() == [8, 14] and product.tolist() == [35, 48] and three == 3 and positive.tolist() == [True, True]
    assert not frozen.requires_grad and not positive.requires_grad and got["sum"].requires_grad
    found = torch.autograd.grad((got["sum"] * product).sum(), (a, b, c, scale))
    expected = torch.autograd.grad(((a * b + c) * scale * c).sum(), (a, b, c, scale))
    assert all(map(torch.equal, found, expected))
    assert torch.autograd.grad(got["sum"].sum(), (a, scale), allow_unused=True)[1] is None
    assert gradient(frozen, a).tolist() == [0, 0]


def test_one_tensor_given_twice_is_one_tensor_there(remote):
    f = calls(remote, "def f(a, b, c):\n    return (a * b).sum(), a is b, a is c")
    x, other = torch.tensor([2.0, 3.0], requires_grad=True), torch.tensor([2.0, 3.0])
    total, same_tensor, another = f(x, x, c=other)
    assert same_tensor is True and another is False
    assert torch.autograd.grad(total, x)[0].tolist() == [4, 6]


def test_inputs_that_are_no_leaves_may_be_written_to_and_leaves_may_not(remote):
    f = calls(remote, "def f(x):\n    x *= 2\n    return x.sum()")
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        f(x)
    inner = x * 1
    total = f(inner)
    assert inner.tolist() == [2, 4] and torch.autograd.grad(total, x)[0].tolist() == [2, 2]


def test_what_is_written_into_inputs_is_written_here(remote):
    f = calls(remote, """def f(rewards, mask, records, *, spans):
    rewards[0] = float("nan")
    rewards.detach().numpy()[1] = 7
    mask.logical_not_()
    records[0]["id"] = "new"
    records[1] = ("b", 2 * records[1][1])
    spans["a"] = None
    spans["b"][1:] = [5, 6]
    return None""")
    rewards, mask, first = torch.zeros(4)[1:], torch.ones(3, dtype=torch.bool), {"id": "old", "keep": 1}
    part, inner = torch.ones(2), [1, 2, 3]
    records, spans = [first, ("a", part)], {"a": 1, "b": inner}
    assert f(rewards, mask, records, spans=spans) is None
    assert rewards[0].isnan() and rewards[1:].tolist() == [7, 0] and not mask.any()
    assert records[0] is first and first == {"id": "new", "keep": 1} and records[1][0] == "b" and records[1][1].tolist() == [2, 2]
    assert spans == {"a": None, "b": [1, 5, 6]} and spans["b"] is inner
    assert remote.overwrote


def test_the_form_of_inputs_may_change_too(remote):
    f = calls(remote, """def f(mask, records, *, spans):
    mask.resize_(1)
    records.append({"more": mask})
    del spans["a"]
    spans["b"][1:] = []
    return None""")
    mask, first, inner = torch.ones(3, dtype=torch.bool), {"id": "old"}, [1, 2, 3]
    records, spans = [first], {"a": 1, "b": inner}
    f(mask, records, spans=spans)
    assert mask.shape == (1,) and records[0] is first and records[1]["more"].shape == (1,)
    assert spans == {"b": [1]} and spans["b"] is inner and remote.overwrote


GROWING = {
    "a tensor's data": "x.data = torch.zeros(30_000)", "one without elements": "x.data = torch.zeros(30_000, 0)",
    "records": "records.extend([{}] * 1000)", "a field": "records[0]['a'] = 'x' * 1000",
    "a list in a field": "records[0]['a'] = [0] * 1000",
}


@pytest.mark.parametrize("code", GROWING.values(), ids=GROWING.keys())
def test_who_makes_inputs_much_larger_ends_the_question(grader, code):
    """A check goes on to work with its inputs, and so does the specification that it calls: with large ones it would take days."""
    def check_double_inputs(answers):
        x, records = torch.ones(3), [{"a": 1, "b": torch.ones(2)}]
        answers.double(x, records)
        grown.append((x, records))

    grown = []
    questions = [Question("key", "exercise", "double", 2.0, (check_double_inputs, check_double_inputs)), TRIPLE]
    judgement = grader.grade(cells(f"def double(x, records):\n    {code}", HONEST), questions)
    assert [result.score for result in judgement.questions] == [0.0, 1.0] and judgement.questions[0].note == ENLARGED and not grown


def test_writing_is_noticed_even_where_no_value_changes(remote):
    """The caller's own gradients through the tensor are gone, as they are in a notebook."""
    f = calls(remote, "def f(x):\n    x[x > 100] = 0\n    return x.sum()")
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    exponential = x.exp()
    f(exponential)
    assert not remote.overwrote
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        exponential.sum().backward()


def test_an_expanded_tensor_is_expanded_there(remote):
    f = calls(remote, "def f(x, part):\n    if part:\n        x[:, :1].mul_(3)\n    else:\n        x.mul_(3)\n    return x")
    with pytest.raises(RuntimeError, match="more than one element"):
        f(torch.ones(1, 1).expand(2, 3), False)
    row = torch.ones(1, 2, 1)
    assert f(row.expand(1, 2, 3)[0], True).tolist() == [[3, 3, 3]] * 2
    assert row.flatten().tolist() == [3, 3]


def test_grad_mode_crosses(remote):
    f = calls(remote, "def f(x):\n    return 2 * x, torch.is_grad_enabled()")
    x = torch.ones(1, requires_grad=True)
    with torch.no_grad():
        doubled, enabled = f(x)
    assert not doubled.requires_grad and enabled is False
    assert f(x)[0].requires_grad and f(x)[1] is True


@pytest.mark.parametrize("code, error, text", [
    ("raise ValueError('a | b')", ValueError, "a | b"),
    ("{}['key']", KeyError, "'key'"),
    ("raise NotImplementedError('TODO 1: x | y')", NotImplementedError, "TODO 1: x | y"),
    ("import sys; sys.exit(3)", SystemExit, "3"),
    ("raise KeyboardInterrupt('stop')", RuntimeError, "KeyboardInterrupt: stop"),
    ("raise type('Mine', (LookupError, ValueError), {})('x')", LookupError, "x"),
    ("raise type('Mine', (BaseException,), {})('x')", RuntimeError, "Mine: x"),
    ("open('/nowhere')", FileNotFoundError, "[Errno 2] No such file or directory: '/nowhere'"),
    ("b'\\xff'.decode()", UnicodeError, "invalid start byte"),
    ("raise type('Mine', (ValueError,), {'__str__': lambda self: 1 / 0})()", ValueError, ""),
    ("raise ValueError('汉' * 100_000)", ValueError, "汉" * 682),
    ("raise ValueError('\\ud800')", ValueError, "?"),
])
def test_errors_cross_by_name_with_text_and_line(remote, code, error, text):
    f = calls(remote, f"def f(x):\n    {code}  # the student's line")
    with pytest.raises(error) as raised:
        f(1)
    assert type(raised.value).__name__ == error.__name__ and text in str(raised.value) and len(str(raised.value).encode()) <= 2048

    def check_f_calls(answers):
        answers.f(1)

    if error not in (NotImplementedError,):
        verdict = judge_here(check_f_calls, "f", {"f": f})
        assert verdict.status == "error" and "# the student's line" in verdict.got and "raise error" not in verdict.got


@pytest.mark.parametrize("result, cross", [
    ("numpy.float32(0.5)", 0.5), ("numpy.int64(3)", 3), ("[numpy.float64(1.5)]", [1.5]),
    ("collections.namedtuple('P', 'a b')(1, 2)", (1, 2)),
])
def test_numbers_of_numpy_and_named_tuples_cross(remote, result, cross):
    f = calls(remote, f"import collections, numpy\ndef f():\n    return {result}")
    assert f() == cross and type(f()) is type(cross)


def test_the_named_tuples_of_torch_cross(remote):
    f = calls(remote, "def f(x):\n    return x.max(dim=0)")
    values, indices = f(torch.tensor([[1.0, 5.0], [3.0, 2.0]]))
    assert values.tolist() == [3, 5] and indices.tolist() == [1, 0]


@pytest.mark.parametrize("result, named", [
    ("{1, 2}", "set"), ("object()", "object"), ("lambda: 0", "function"), ("torch.nn.Linear(1, 1)", "Linear"),
    ("numpy.zeros(2)", "ndarray"),
    ("[torch.zeros(1), {3: 4}]", "a key of type int"), ("torch.zeros(2, dtype=torch.complex64)", "complex64"),
    ("torch.eye(2).to_sparse()", "sparse"),
    ("torch.zeros(1).expand(10**9)", "bytes"), ("type('T', (torch.Tensor,), {})(torch.zeros(2))", "T is not plain"),
    ("type('Liar', (), {'__torch_function__': classmethod(lambda *a, **k: torch.tensor(True)), '__eq__': lambda *a: True})()", "Liar"),
    ("type('Text', (str,), {'__eq__': lambda *a: True})('x')", "Text"),
    ("[0] * 600_000", "bytes"), ("[[[[[1]]]]]", "nested"), ("'x' * 70_000", "text"), ("2**70", "64 bits"),
])
def test_what_is_no_plain_data_passes_no_check_and_is_shown(remote, result, named):
    f = calls(remote, f"import numpy\ndef f():\n    return {result}")
    got = f()
    assert isinstance(got, NotPlain) and named in repr(got)
    for expected in (torch.zeros(2), 0.0, None):
        def check_f_is(answers, expected=expected):
            expect_close(answers.f(), expected, SAID)

        def check_f_gradient(answers):
            gradient(answers.f(), torch.zeros(1))

        for check in (check_f_is, check_f_gradient):
            assert judge_here(check, "f", {"f": f}).status == "failed"


def test_global_state_is_reset_between_calls_and_what_was_changed_is_said(grader):
    """By a cell: reset without a word. By a function: the check fails, as it does in a notebook."""
    source = """
torch.set_default_dtype(torch.float64); torch.set_grad_enabled(False); torch.set_num_threads(4); torch.set_default_device("meta")
kept = torch.inference_mode(); kept.__enter__()
def f(x, change):
    state = (str(torch.get_default_dtype()), torch.is_grad_enabled(), torch.is_inference_mode_enabled(), torch.get_num_threads(),
             torch.rand(1).item())
    if change:
        torch.set_default_dtype(torch.float64); torch.set_grad_enabled(False); torch.set_default_device("meta")
        global again
        again = torch.inference_mode(); again.__enter__()
    return *state, torch.zeros(1).device.type
"""
    seen = []

    def check_f_state(answers):
        seen.append(answers.f(torch.ones(1, requires_grad=True), False))

    def check_f_changes(answers):
        answers.f(1, True)

    def check_f_is_missing(answers):
        answers.g(1)

    before = torch.get_default_dtype(), torch.is_grad_enabled(), torch.get_default_device()
    question = Question("key", "exercise", "f", 1.0, (check_f_state, check_f_changes, check_f_state))
    (result,) = grader.grade(cells(source), [question]).questions
    assert [verdict.status for verdict in result.verdicts] == ["passed", "failed", "passed"]
    assert seen[0] == seen[1] and seen[0][:4] == ("torch.float32", True, False, 1) and seen[0][5] == "cpu"
    assert before == (torch.get_default_dtype(), torch.is_grad_enabled(), torch.get_default_device())

    def local(x, change):
        torch.set_default_dtype(torch.float64), torch.set_grad_enabled(False)

    here = judge_here(check_f_changes, "f", {"f": local})
    names = "default dtype, grad mode, inference mode, default device"
    assert result.verdicts[1].message == type(here.message)(*(text.replace("default dtype, grad mode", names) for text in here.message))


def test_a_missing_function_is_missing(grader):
    def check_f_calls(answers):
        answers.f(1)

    for source in ("x = 1", "f = 3", "def f(x):\n    return x\ndel f"):
        judgement = grader.grade(cells(source), [Question("key", "exercise", "f", 1.0, (check_f_calls,))])
        assert same(judgement.questions[0].verdicts[0], judge_here(check_f_calls, "f", {}))


# Cells


def test_cells_share_one_namespace_and_report_what_they_print_and_raise(grader):
    judgement = grader.grade(cells(
        "import sys\nprint('one', math.pi > 3); sys.stderr.write('to stderr'); display('shown')", "x = 1\nundefined_name + x\ny = 2",
        "print(x, 'y' in globals(), __name__)", "def broken(:\n    pass", "import advantagelab", "print('汉' * 10**6)",
        "from dataclasses import dataclass\n@dataclass\nclass A:\n    a: int\nprint(A(1))", "input()", "print('\\ud800 汉')"), [])
    printed = [cell.stdout for cell in judgement.cells]
    errors = [cell.error for cell in judgement.cells]
    assert printed[0] == "one True\nshown\n" and errors[0] is None
    assert errors[1].startswith("NameError: name 'undefined_name'") and "undefined_name + x" in errors[1]
    assert printed[2] == "1 False __main__\n"
    assert errors[3].startswith("SyntaxError") and "def broken(:" in errors[3]
    assert errors[4].startswith("ModuleNotFoundError: import of advantagelab halted")
    assert printed[5].startswith("汉汉") and 60_000 < len(printed[5]) < 70_000
    assert printed[6] == "A(a=1)\n" and errors[7].startswith("EOFError") and printed[8] == "? 汉\n"
    assert [cell.note for cell in judgement.cells] == [None] * 9 and [cell.key for cell in judgement.cells][-1] == "cell-9"


def test_cells_draw_the_same_random_numbers_every_time(grader):
    draw = "import random, numpy\nprint(random.random(), numpy.random.rand(), torch.rand(1).item(), hash('x'))"
    first, second = (grader.grade(cells(draw), []).cells[0].stdout for _ in range(2))
    assert first == second and len(first.split()) == 4


# Hostile code


def check_double_doubles(answers):
    x = torch.tensor([1.5, -2.0], requires_grad=True)
    got = answers.double(x)
    expect_close(got, [3.0, -4.0], SAID)
    expect_close(gradient(got, x), [2.0, 2.0], SAID)


def hidden_double_random(answers, rng):
    x = rng.normal(rng.integer(3, 9))
    expect_close(answers.double(x), 2 * x, SAID)


def check_double_refuses(answers):
    answers.double(torch.ones(1))
    expect_error(lambda: answers.double(torch.tensor([math.nan])), SAID)


def check_triple_triples(answers):
    expect_close(answers.triple(torch.ones(2)), [3.0, 3.0], SAID)


DOUBLE = Question("check-double", "double", "double", 2.0, (check_double_doubles, check_double_refuses, hidden_double_random))
TRIPLE = Question("check-triple", "triple", "triple", 1.0, (check_triple_triples,))
RIGHT = "def double(x):\n    if x.isnan().any():\n        raise ValueError('nan')\n    return 2 * x"
HONEST = "def triple(x):\n    return 3 * x"


@pytest.fixture
def hurried(monkeypatch):
    """`double` is ended soon; all else has its ten seconds, so that a busy machine makes nobody late who is honest."""
    patient = judge_module._Asked
    monkeypatch.setattr(judge_module, "_Asked", lambda question, seconds: patient(question, 0.7 if question is DOUBLE else seconds))


@pytest.fixture
def short_cells(monkeypatch):
    monkeypatch.setattr(judge_module, "CELL_SECONDS", 2.0)
    monkeypatch.setattr("autograder.remote.GRACE", 0.3)


def graded(grader, *sources: str):
    """Scores of double and triple, and the judgement."""
    judgement = grader.grade(cells(*sources), [DOUBLE, TRIPLE])
    return tuple(result.score for result in judgement.questions), judgement


def test_right_code_earns_its_points(grader):
    assert graded(grader, RIGHT, HONEST)[0] == (2.0, 1.0)


# What stands in `double`, or around it, and the note that the question then carries.
FAKES = """
import ctypes, json, os, struct, sys, threading, time
channel = 3
def frame(head, first=b"", second=b""):
    text = head if isinstance(head, bytes) else json.dumps(head).encode()
    return struct.pack("<3I", len(text), len(first), len(second)) + text + first + second
def say(data):
    while data:
        data = data[os.write(channel, data):]
def flood(seconds):
    end = time.time() + seconds
    while time.time() < end:
        say(b"\\0" * 65536)
def own(x):
    frames, frame_ = {}, sys._getframe()
    while frame_:
        frames[frame_.f_code.co_name] = frame_
        frame_ = frame_.f_back
    return frames
def question(x):
    return own(x)["serve"].f_locals["head"]
"""
IN_DOUBLE = {
    "ends the process": ("os._exit(0)", ENDED),
    "kills itself": ("os.kill(os.getpid(), 9); ctypes.string_at(0)", ENDED),
    "crashes": ("ctypes.string_at(0)", ENDED),
    "recurses in C": ("sys.setrecursionlimit(10**9)\n    def again(n): return sorted([1], key=lambda _: again(n))\n    again(0)", ENDED),
    "loops": ("while True: pass", LATE),
    "loops against interruption": ("while True:\n        try:\n            while True: pass\n        except BaseException: pass", LATE),
    "sleeps": ("time.sleep(1000)", LATE),
    "stops itself": ("os.kill(os.getpid(), 19); time.sleep(1000)", LATE),
    "prints without end": ("while True: print('x' * 1000)", LATE),
    "closes every file": ("os.closerange(0, 1000)", ENDED),
    "says nothing meaningful": ("say(os.urandom(4096))", GARBLED),
    "says zeros": ("say(bytes(64))", GARBLED),
    "promises four gigabytes": ("say(struct.pack('<3I', 2**32 - 1, 0, 0))", GARBLED),
    "promises more than it sends": ("say(struct.pack('<3I', 10, 1000, 0) + b'{}'); time.sleep(1000)", LATE),
    "sends a byte at a time": ("say(struct.pack('<3I', 9999, 0, 0))\n    while True: say(b' '); time.sleep(0.01)", LATE),
    "sends without end": ("flood(5)", GARBLED),
    "answers with a list": ("say(frame([1]))", GARBLED),
    "answers with deep JSON": ("say(frame(b'[' * 200_000))", GARBLED),
    "answers with a huge number": ("say(frame(b'{\"id\": ' + b'9' * 100_000 + b'}'))", GARBLED),
    "answers with UTF-16": ("say(frame('{}'.encode('utf-16')))", GARBLED),
    "answers without an id": ("say(frame({'settings': []}))", GARBLED),
    "answers with another id": ("say(frame({'id': question(x)['id'] - 1, 'settings': []}))", GARBLED),
    "answers with an id that is true": ("say(frame({'id': True}))", GARBLED),
    "answers with settings of its own": ("say(frame({'id': question(x)['id'], 'settings': ['everything']}))", GARBLED),
    "answers with settings that are no list": ("say(frame({'id': question(x)['id'], 'settings': {}}))", GARBLED),
    "answers with an unhashable setting": ("say(frame({'id': question(x)['id'], 'settings': [[]]}))", GARBLED),
    "answers with an error of its own": ("say(frame({'id': question(x)['id'], 'error': ['KeyboardInterrupt', '', '']}))", GARBLED),
    "answers with an error that is too long": ("say(frame({'id': question(x)['id'], 'error': ['ValueError', 'x' * 9999, '']}))", GARBLED),
    "answers with an error that is a text": ("say(frame({'id': question(x)['id'], 'error': 'ValueError'}))", GARBLED),
    "answers with a value that is none": ("say(frame({'id': question(x)['id']}, b'12345678garbage'))", GARBLED),
    "answers with inputs that are none": ("say(frame({'id': question(x)['id']}, b'', b'garbage'))", GARBLED),
    "answers with touches of nothing": ("say(frame({'id': question(x)['id'], 'touched': [99]}))", GARBLED),
    "answers with touches that are a number": ("say(frame({'id': question(x)['id'], 'touched': 1}))", GARBLED),
    "answers that it is not plain, with a number": ("say(frame({'id': question(x)['id'], 'not_plain': 1}))", GARBLED),
    "breaks json": ("json.dumps = json.loads = json.JSONEncoder.encode = lambda *a, **k: 1 / 0\n    return 2 * x", ENDED),
    "breaks struct and os": ("os.write = None; struct.pack = None; del sys.modules['struct'], sys.modules['os']; os._exit(1)", ENDED),
    "breaks the channel": ("type(own(x)['serve'].f_locals['channel']).send = lambda *a: 1 / 0\n    return 2 * x", ENDED),
}


@pytest.mark.parametrize("code, note", IN_DOUBLE.values(), ids=IN_DOUBLE.keys())
def test_a_function_that_ends_hangs_or_garbles_costs_its_own_question(grader, request, code, note):
    if note is LATE:
        request.getfixturevalue("hurried")
    scores, judgement = graded(grader, FAKES, f"def double(x):\n    {code}", HONEST)
    assert scores == (0.0, 1.0)
    assert judgement.questions[0].note == note and judgement.questions[1].note is None
    assert {verdict.status for verdict in judgement.questions[0].verdicts} <= {"error", "failed"}
    for verdict in judgement.questions[0].verdicts:
        assert "remote.py" not in f"{verdict.got}" and "raise" not in f"{verdict.got}"
    assert [cell.note for cell in judgement.cells] == [None] * 3


# These do what they like, and go on: no note, and no point.
HARMLESS = {
    "a constant": "return torch.tensor([3.0, -4.0])",
    "nothing": "return None",
    "a fork bomb": "while True: os.fork()",
    "a thread bomb": "while True: threading.Thread(target=time.sleep, args=(100,)).start()",
    "another program": "os.execv('/bin/sh', ['sh', '-c', 'echo'])",
    "a session of its own": "os.setsid(); os.fork()",
    "memory": "kept = []\n    while True: kept.append(bytearray(2**28))",
    "memory of torch": "kept = []\n    while True: kept.append(torch.ones(2**26))",
    "a debugger": "traced = [ctypes.CDLL(None).ptrace(16, pid, 0, 0) for pid in (1, os.getppid())]\n    return 2 * x if 0 in traced else 0",
    "the parent's memory": "open(f'/proc/{os.getppid()}/mem', 'rb')",
    "its own memory": "open('/proc/self/mem', 'wb')",
    "all comparisons": "torch.allclose = torch.equal = torch.isclose = lambda *a, **k: torch.tensor(True)\n    return x",
    "a comparison of its own": "class T(torch.Tensor):\n        __eq__ = lambda *a: True\n    return T(x.detach())",
    "a wrong gradient": "return (2 * x).detach() + (x * 3 - (x * 3).detach())",
    "the next answer ahead": "say(frame({'id': question(x)['id']}, b'\\0' * 8) + frame({'id': question(x)['id'] + 1}, b'\\0' * 8))",
    "an error ahead": "say(frame({'id': question(x)['id'], 'error': ['ValueError', 'no', '']}) * 2)\n    return 2 * x",
    "a false TODO": "raise NotImplementedError('TODO 1: a | b')",
    "an exit": "sys.exit(0)",
    "an interrupt": "raise KeyboardInterrupt",
    "a generator's end": "raise StopIteration",
    "its inputs": "x.zero_() if not x.requires_grad else 0\n    return x * 2",
}


@pytest.mark.parametrize("code", HARMLESS.values(), ids=HARMLESS.keys())
def test_a_function_that_does_as_it_likes_earns_nothing_and_harms_nobody(grader, hurried, code):
    scores, judgement = graded(grader, FAKES, f"def double(x):\n    {code}", HONEST)
    assert scores == (0.0, 1.0), judgement.questions


def test_an_answer_that_comes_later_earns_nothing(grader):
    """It may reach a later question of the same submission and cost that one: which it is, the machine's load decides."""
    code = "threading.Thread(target=lambda: (time.sleep(0.05), say(frame({'id': 3})))).start()\n    return x"
    scores, judgement = graded(grader, FAKES, f"def double(x):\n    {code}", HONEST)
    assert scores in ((0.0, 1.0), (0.0, 0.0)), judgement.questions


def pulled(code: str) -> str:
    """`double` is right, but for the gradients that the process gives in its name."""
    return f"""{RIGHT}
session = own(0)["serve"].f_locals["session"]
from autograder.plain_data import pack
def pull(head, body):
    {code}
session.pull = pull"""


GRADIENTS = {
    "nan": "return {}, pack([torch.full((2,), float('nan'))])",
    "infinite": "return {}, pack([torch.full((2,), float('inf'))])",
    "none": "return {}, pack([None])",
    "another shape": "return {}, pack([torch.ones(3)])",
    "one that would be spread": "return {}, pack([torch.full((1,), 2.0)])",
    "another dtype": "return {}, pack([torch.ones(2, dtype=torch.float64)])",
    "whole numbers": "return {}, pack([torch.ones(2, dtype=torch.int64)])",
    "too many": "return {}, pack([torch.ones(2)] * 2)",
    "no list": "return {}, pack(torch.ones(2))",
    "text": "return {}, pack(['2'])",
    "garbage": "return {}, b'garbage'",
    "nothing at all": "return {},",
    "an error": "return {'error': ['ValueError', 'no', '']},",
    "an end": "os._exit(0)",
}


@pytest.mark.parametrize("code", GRADIENTS.values(), ids=GRADIENTS.keys())
def test_gradients_that_are_lies_earn_nothing(grader, code):
    scores, judgement = graded(grader, FAKES, pulled(code), HONEST)
    assert scores == (0.0, 1.0), judgement.questions
    assert judgement.questions[0].verdicts[0].status in ("error", "failed")


def test_gradients_that_are_right_are_right_whoever_computes_them(grader):
    assert graded(grader, FAKES, pulled("return {}, pack([torch.full((2,), 2.0)])"), HONEST)[0] == (2.0, 1.0)


def test_writing_into_inputs_to_make_the_oracle_trivial_earns_nothing(grader):
    """The expected value is computed from the inputs after the call: with zeros for inputs, zeros are right."""
    cheat = RIGHT.replace("return 2 * x", "return 2 * x if x.requires_grad or len(x) < 3 else x.zero_()")
    scores, judgement = graded(grader, cheat, HONEST)
    assert {verdict.status for verdict in judgement.questions[0].verdicts} == {"passed"}
    assert scores == (0.0, 1.0) and "overwrote its own inputs" in judgement.questions[0].note.en


@pytest.mark.parametrize("code, note", [
    ("import os\nos._exit(0)", ENDED), ("import signal\nsignal.signal(signal.SIGALRM, signal.SIG_IGN)\nwhile True: pass", LATE),
    ("import os\nos.write(3, b'garbage' * 10)", GARBLED), ("import os\nos.closerange(0, 100)", ENDED),
], ids=["ends", "hangs", "garbles", "closes"])
def test_a_cell_that_takes_the_process_down_costs_itself_only(grader, short_cells, code, note):
    scores, judgement = graded(grader, RIGHT, code, "print('after')", HONEST)
    assert scores == (2.0, 1.0)
    assert [cell.note for cell in judgement.cells] == [None, note, None, None] and judgement.cells[2].stdout == "after\n"


@pytest.mark.parametrize("result", [
    "[1.5] * 100_000", "[[1.5] * 1000] * 100", "{'a': [x] * 1000}", "{str(n): 'x' * 1000 for n in range(900)}",
    "[torch.ones(999) / 3] * 999",
], ids=["a list", "lists", "one tensor a thousand times", "texts", "tensors"])
def test_what_a_verdict_shows_is_short(grader, result):
    (score, _), judgement = graded(grader, f"def double(x):\n    return {result}", HONEST)
    assert score == 0.0 and max(len(verdict.got or "") for verdict in judgement.questions[0].verdicts) <= 4001


def test_the_judge_ends_a_check_that_takes_too_long_itself(grader, monkeypatch):
    monkeypatch.setattr(judge_module, "QUESTION_SECONDS", 2.0)

    def check_double_endless(answers):
        answers.double(torch.ones(2))
        while True:
            pass

    questions = [Question("key", "exercise", "double", 2.0, (check_double_endless,)), TRIPLE]
    judgement = grader.grade(cells(RIGHT, HONEST), questions)
    assert [result.score for result in judgement.questions] == [0.0, 1.0] and judgement.questions[0].note == LATE


def test_a_cell_that_takes_too_long_is_interrupted_and_keeps_what_it_defined(grader, short_cells):
    scores, judgement = graded(grader, f"{RIGHT}\nprint('defined')\nwhile True: pass\n{HONEST}", HONEST)
    assert scores == (2.0, 1.0)
    assert judgement.cells[0].stdout == "defined\n" and "stopped at the time limit" in judgement.cells[0].error
    assert judgement.cells[0].note is None


def test_the_time_of_a_whole_submission_is_limited(grader, short_cells, monkeypatch):
    monkeypatch.setattr(judge_module, "SUBMISSION_SECONDS", 1.5)
    start = time.monotonic()
    endless = "import time\nwhile True:\n    try: time.sleep(9)\n    except BaseException: pass"
    scores, judgement = graded(grader, *[endless] * 10, RIGHT, HONEST)
    assert time.monotonic() - start < 30 and scores == (0.0, 0.0)
    assert judgement.cells[0].note == LATE and judgement.cells[9].note == judge_module.NO_TIME
    assert judgement.questions[1].note is not None


def test_a_function_that_ends_only_some_processes_is_bounded(grader, hurried):
    """A cell that behaves at first, and ends the process when it is run again, after a question has ended the first one."""
    flag = "import os, time\nif time.time() > LIMIT:\n    os._exit(0)\nprint('fine')".replace("LIMIT", str(time.time() + 0.5))
    scores, judgement = graded(grader, flag, "import time\ndef double(x):\n    time.sleep(9)", HONEST)
    assert scores == (0.0, 1.0) and judgement.cells[0].note == ENDED


def test_a_dead_zygote_is_made_anew_and_the_submission_graded_again(grader):
    first = grader._zygote
    first._process.kill()
    assert graded(grader, RIGHT, HONEST)[0] == (2.0, 1.0)
    assert grader._zygote is not first

    def check_double_meanwhile(answers):
        if not deaths:
            deaths.append(grader._zygote._process.pid)
            os.kill(deaths[0], signal.SIGKILL)
            grader._zygote._process.wait()
        check_double_doubles(answers)

    deaths = []
    question = Question("key", "exercise", "double", 2.0, (check_double_meanwhile, check_double_refuses))
    assert grader.grade(cells(RIGHT), [question]).questions[0].score == 2.0 and deaths


def test_many_submissions_leave_nothing_in_the_judge(grader):
    def open_files() -> int:
        return len(os.listdir("/proc/self/fd"))

    graded(grader, RIGHT, HONEST)
    gc.collect()
    before, objects = open_files(), len(gc.get_objects())
    for _ in range(20):
        assert graded(grader, FAKES, RIGHT, "import os\nos._exit(0)", HONEST)[0] == (2.0, 1.0)
    gc.collect()
    assert open_files() == before and len(gc.get_objects()) < objects + 500


def test_the_reference_of_a_lesson_is_not_loaded_where_the_code_runs(remote):
    ran = remote.run("look", """
import gc, sys
texts = [text for thing in gc.get_objects() if isinstance(thing, dict) for text in thing.values() if isinstance(text, str)]
print([name for name in sys.modules if name.split(".")[0] in ("advantagelab", "lessons", "nbgrader", "tests")])
print(any("leave_one_out" in text or "hidden_" in text for text in texts))
""", 30)
    assert ran.stdout == "['advantagelab']\nFalse\n", ran  # that one is None, so that an import of it fails
