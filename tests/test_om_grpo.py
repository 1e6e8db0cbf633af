"""Label-free rewards and the OM-GRPO loss: what they compute, what they reduce to, and what the mask does to a gradient."""

import itertools
import math
import random
import re

import pytest
import torch

from advantagelab.algorithms.grpo import group_relative_advantages, grpo_token_losses, k3_kl, reduce_token_losses
from advantagelab.algorithms.label_free import (
    chain_of_thought_prompt,
    comparison_prompt,
    contrast_augmented_rewards,
    exact_value,
    ground_truth_rewards,
    majority_vote_rewards,
    normalize_answer,
    self_certainty_rewards,
    soft_consensus_rewards,
)
from advantagelab.algorithms.om_grpo import APPENDIX_B, answer_span_mask, om_grpo_loss, token_offsets
from advantagelab.checking import Rng, judge
from advantagelab.checking.run import checks_of
from autograder.plain_data import pack, unpack
from lessons._build.answers import reference, right_answers, wrong_answers
from lessons._build.code_cells import Module
from lessons._build.course import read_course
from lessons._build.regions import regions
from lessons.om_grpo import checks, spec
from tests.test_om_grpo_numbers import two_stages

FOUR_PLACES = {"abs": 5.1e-5, "rel": 0}
COURSE = read_course()
ALGORITHM = Module(*COURSE.algorithm_files(COURSE.lesson("om_grpo")))


def one_group(answers: list) -> torch.Tensor:
    return torch.zeros(len(answers), dtype=torch.int64)


def majority(answers: list) -> list[float]:
    return majority_vote_rewards(answers, one_group(answers))[0].tolist()


def soft(answers: list, normalizer: str = "max", format_reward: bool = False) -> list[float]:
    return soft_consensus_rewards(answers, one_group(answers), normalizer, format_reward).tolist()


def contrast(answers: list, comparisons: list, normalizer: str = "max") -> list[float]:
    return contrast_augmented_rewards(answers, one_group(answers), comparisons, normalizer).tolist()


def advantages(rewards: list, **named) -> list[float]:
    rewards = torch.tensor(rewards, dtype=torch.float64)
    return group_relative_advantages(rewards, torch.zeros(len(rewards), dtype=torch.int64), **{"eps": 0.0, **named}).tolist()


# Rewards: scale, ties, missing answers


def test_scale_of_the_soft_reward():
    votes = ["7", "7", "3", "5"]
    rows = {"share": soft(votes, "group"), "max": soft(votes), "vote": majority(votes)}
    assert rows == {"share": [0.5, 0.5, 0.25, 0.25], "max": [1, 1, 0.5, 0.5], "vote": [1, 1, 0, 0]}
    for name, with_eps, centered in (("share", 0.5556, 0.125), ("max", 0.7143, 0.25), ("vote", 0.8333, 0.5)):
        assert advantages(rows[name]) == pytest.approx([1, 1, -1, -1])
        assert advantages(rows[name], eps=0.1) == pytest.approx([with_eps] * 2 + [-with_eps] * 2, **FOUR_PLACES)
        assert advantages(rows[name], scale="none") == pytest.approx([centered] * 2 + [-centered] * 2)


def test_format_reward_changes_signs():
    votes = ["7", "7", "3", None]
    for rewards, wanted in ((soft(votes, "group", True), [0.7035, 0.7035, 0.3015, -1.7086]),
                            (soft(votes, "max", True), [0.7625, 0.7625, 0.1525, -1.6775]),
                            (soft(votes, "group"), [0.9045, 0.9045, -0.3015, -1.5076])):
        assert advantages(rewards) == pytest.approx(wanted, **FOUR_PLACES)
    assert soft(votes, "group", True) == [1.5, 1.5, 1.25, 0]
    # Were the denominator the number of valid answers, as it is not:
    assert advantages([2 / 3 + 1, 2 / 3 + 1, 1 / 3 + 1, 0]) == pytest.approx([0.7276, 0.7276, 0.2425, -1.6977], **FOUR_PLACES)


@pytest.mark.parametrize(("first", "of_first", "of_second"), [(5, 0.7746, -1.2910), (6, 0.5774, -1.7321), (7, 0.3780, -2.6458)])
def test_two_distinct_answers_make_soft_and_hard_advantages_equal(first, of_first, of_second):
    votes = ["a"] * first + ["b"] * (8 - first)
    wanted = [of_first] * first + [of_second] * (8 - first)
    for rewards in (majority(votes), soft(votes), soft(votes, "group")):
        assert advantages(rewards) == pytest.approx(wanted, **FOUR_PLACES)


def test_two_distinct_answers_in_any_order_without_a_tie():
    for votes in itertools.product("ab", repeat=5):
        if len(set(votes)) == 2:
            assert advantages(soft(list(votes))) == pytest.approx(advantages(majority(list(votes))), abs=1e-6)


def test_four_distinct_answers_make_them_differ():
    votes = list("aaabbccd")
    assert advantages(majority(votes)) == pytest.approx([1.2910] * 3 + [-0.7746] * 5, **FOUR_PLACES)
    assert advantages(soft(votes)) == pytest.approx([1.1339] * 3 + [-0.3780] * 4 + [-1.8898], **FOUR_PLACES)


def test_ties():
    assert advantages(majority(["3", "5", "3", "5"])) == [1, -1, 1, -1]
    assert advantages(majority(["5", "3", "3", "5"])) == [1, -1, -1, 1]
    assert advantages(majority(["1", "2", "3", "4"])) == pytest.approx([1.7321, -0.5774, -0.5774, -0.5774], **FOUR_PLACES)
    for votes in (["3", "5", "3", "5"], ["1", "2", "3", "4"]):
        assert majority_vote_rewards(votes, one_group(votes))[1].all()
        assert advantages(soft(votes)) == [0.0] * 4


def test_soft_rewards_follow_a_permutation_of_the_batch_and_the_vote_does_not():
    rng, vote_followed = random.Random(5), []
    for _ in range(60):
        n = rng.randint(4, 9)
        votes, ids = [rng.choice(["1", "2", "3", None]) for _ in range(n)], torch.tensor([rng.choice([4, -2]) for _ in range(n)])
        order = rng.sample(range(n), n)
        permuted = [votes[i] for i in order], ids[order]
        for normalizer in ("max", "group"):
            assert torch.equal(soft_consensus_rewards(*permuted, normalizer), soft_consensus_rewards(votes, ids, normalizer)[order])
        vote_followed.append(torch.equal(majority_vote_rewards(*permuted)[0], majority_vote_rewards(votes, ids)[0][order]))
    assert {True, False} == set(vote_followed)


# Comparisons

PAIRS = ((0, 1), (1, 0), (0, 2), (2, 0), (1, 2), (2, 1))


@pytest.mark.parametrize(("comparison_answers", "shares", "wanted"), [
    ("AAAAAA", (8, 8, 1), (0.7071, 0.7071, -1.4142)),
    ("AABBBB", (4, 4, 5), (-0.7071, -0.7071, 1.4142)),  # the majority is overturned
    ("AABBBC", (4, 4, 4), (0, 0, 0)),
    ("CCCCCC", (2, 2, 1), (0.7071, 0.7071, -1.4142)),
    ("AAB-B-", (4, 4, 3), (0.7071, 0.7071, -1.4142)),
])
def test_pool_of_three_answers_and_six_comparisons(comparison_answers, shares, wanted):
    comparisons = [(i, j, None if answer == "-" else answer) for (i, j), answer in zip(PAIRS, comparison_answers, strict=True)]
    rewards = contrast(["A", "A", "B"], comparisons, "group")
    assert rewards == pytest.approx([share / 9 for share in shares])
    assert advantages(rewards) == pytest.approx(wanted, **FOUR_PLACES)
    highest = max(shares)
    assert contrast(["A", "A", "B"], comparisons) == pytest.approx([share / highest for share in shares])
    assert contrast(["A", "A", "B"], comparisons[::-1], "group") == rewards  # the order of comparisons does not matter


def test_unordered_pairs_would_be_seen():
    assert contrast(["A", "A", "B"], [(0, 1, "A"), (0, 2, "B"), (1, 2, "B")]) == [1, 1, 1]
    assert [len(list(itertools.permutations(range(size), 2))) + size for size in (2, 3, 4, 8)] == [4, 9, 16, 64]


def test_contrast_without_comparisons_is_soft_consensus():
    rng = Rng(3)
    for _ in range(30):
        n = rng.integer(3, 12)
        votes, ids = spec.random_answers(rng, n, 4), rng.interleaved_groups(n, 3)
        for named in itertools.product(("max", "group"), (False, True)):
            assert torch.equal(contrast_augmented_rewards(votes, ids, [], *named), soft_consensus_rewards(votes, ids, *named))


def test_a_comparison_changes_its_own_group_only():
    votes, ids = ["A", "B", "A", "B"], torch.tensor([1, 0, 1, 0])
    before, after = (contrast_augmented_rewards(votes, ids, comparisons, "group") for comparisons in ([], [(1, 3, "A"), (3, 1, "A")]))
    assert torch.equal(before[[0, 2]], after[[0, 2]]) and (after[[1, 3]] == 0.5).all()


@pytest.mark.parametrize("comparisons", [[(0, 2, "A")], [(0, 0, "A")], [(0, 4, "A")], [(-1, 0, "A")], [(0, 1, "A"), (0, 1, "A")],
                                         [(0, 1, " ")], [(0, 1, 3)],
                                         [(0.0, 1, "A")], [(False, True, "A")], [(0, 1)], [(0, 1, "A", "B")], [0, 1], ["01A"], [()],
                                         [torch.tensor([0, 1, 2])], [(torch.tensor(0), 1, "A")]])
def test_comparisons_that_are_refused(comparisons):
    with pytest.raises(ValueError, match=r" \| "):
        contrast_augmented_rewards(["A", "B", "A", "B"], torch.tensor([0, 0, 1, 1]), comparisons)


# Answers as strings


@pytest.mark.parametrize(("answer", "wanted"), [
    ("42", "42"), (" 42 ", "42"), ("$42$", "42"), ("$ -7 $", "-7"), ("+3", "3"), ("007", "7"), ("-0", "0"), ("6/2", "3"), ("0/5", "0"),
    ("0.5", "1/2"), (".5", "1/2"), ("2/4", "1/2"), ("1/-2", "-1/2"), ("-1/-2", "1/2"), ("\\frac{1}{2}", "1/2"), ("-\\frac{2}{4}", "-1/2"),
    ("\\frac{-1}{2}", "-1/2"), ("\\frac{0.5}{2}", "1/4"), ("0.50", "1/2"), ("0.333", "333/1000"), ("1.", "1"),
    ("1,000", "1000"), ("12,345,678.5", "24691357/2"), ("1,000/4", "250"),
    ("1,2", "1,2"), ("1,0000", "1,0000"), (",000", ",000"), ("1,000,00", "1,000,00"), ("0.1,000", "0.1,000"),
    ("1/0", "1/0"), ("1/2/3", "1/2/3"), ("x + 1", "x + 1"), (" x ", "x"), ("(1, 2)", "(1, 2)"), ("\\frac{1}{2}+x}", "\\frac{1}{2}+x}"),
    ("\\frac{x}{2}", "\\frac{x}{2}"), ("²", "²"), ("٣", "٣"), ("1e3", "1e3"), ("--3", "--3"), ("1 000", "1 000"), ("", ""), ("$", "$"),
    (".", "."), ("-", "-"), ("nan", "nan"), ("inf", "inf"), ("十", "十"), ("9" * 5000, "9" * 5000),
])
def test_normalized_answers(answer, wanted):
    assert normalize_answer(answer) == wanted
    assert normalize_answer(wanted) == wanted


def test_normalized_numbers_are_equal_if_and_only_if_their_values_are():
    written = [f"{top}/{bottom}" for top in range(-4, 5) for bottom in (1, 2, 3, 4, 8)] + [f"{number / 8}" for number in range(-16, 17)]
    values = [eval(text) for text in written]  # noqa: S307
    for (text, value), (other, other_value) in itertools.product(zip(written, values, strict=True), repeat=2):
        assert (normalize_answer(text) == normalize_answer(other)) == (abs(value - other_value) < 1e-9), (text, other)


def test_exact_value_holds_what_a_float_would_round():
    assert exact_value("0.1") == (1, 10) and exact_value("12345678901234567890.5") == (123456789012345678905, 10)
    assert exact_value("1.000000000000000000001") != exact_value("1.000000000000000000002")


def test_counted_as_text_and_by_value():
    written = ["1/2", "0.5", "3", "1/2"]
    assert soft(written, "group") == [0.5, 0.25, 0.25, 0.5]
    assert soft([normalize_answer(answer) for answer in written], "group") == [0.75, 0.75, 0.25, 0.75]


@pytest.mark.parametrize(("answers", "group_ids"), [
    ([], torch.zeros(0, dtype=torch.int64)), (["1"], torch.tensor([0, 0])), (["1"], torch.tensor([[0]])), (["1"], torch.tensor([0.0])),
    (["1"], torch.tensor([0], dtype=torch.int32)), (["", "1"], torch.tensor([0, 0])), ([" \n", "1"], torch.tensor([0, 0])),
    ([1, "1"], torch.tensor([0, 0])), ([["1"], "1"], torch.tensor([0, 0])),
])
def test_answers_that_are_refused(answers, group_ids):
    for rule in (majority_vote_rewards, soft_consensus_rewards, lambda *given: contrast_augmented_rewards(*given, [])):
        with pytest.raises(ValueError, match=r" \| "):
            rule(answers, group_ids)


# Given rewards


def test_ground_truth():
    assert ground_truth_rewards(["7", None, "3", "77"], ["7", "7", "4", "7"]).tolist() == [1, 0, 0, 0]
    assert ground_truth_rewards(["7"], ["7"]).dtype == torch.float32
    for answers, correct in (([], []), (["7"], ["7", "7"]), (["7"], [""]), (["7"], [None])):
        with pytest.raises(ValueError, match=r" \| "):
            ground_truth_rewards(answers, correct)


def test_self_certainty():
    distributions = torch.tensor([[0.7, 0.1, 0.1, 0.1], [0.25] * 4, [0.97, 0.01, 0.01, 0.01], [0.5, 0.5, 1e-9, 1e-9]], dtype=torch.float64)
    logits = distributions.log()[:, None] + 3.0  # a constant on the logits changes nothing
    rewards = self_certainty_rewards(logits, torch.ones(4, 1, dtype=torch.bool))
    assert rewards.tolist() == pytest.approx([0.429813, 0, 2.075198, 9.321912], abs=6e-7)
    in_intuitors_code = logits.logsumexp(dim=-1) - logits.mean(dim=-1)
    assert in_intuitors_code[:3, 0].tolist() == pytest.approx([1.816108, 1.386294, 1.386294 + 2.075198], abs=2e-6)
    the_other_way = (distributions * (4 * distributions).log()).sum(dim=-1)
    assert the_other_way.tolist() == pytest.approx([0.445846, 0, 1.218594, 0.693147], abs=6e-7)


def test_self_certainty_is_a_mean_over_valid_tokens_and_detached():
    logits = torch.randn(3, 4, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    mask = torch.arange(4) < torch.tensor([[4], [1], [2]])
    uniform = torch.full((5,), 0.2, dtype=torch.float64)
    wanted = [torch.stack([(uniform * (uniform.log() - row.log_softmax(-1))).sum() for row in rows[kept]]).mean().item()
              for rows, kept in zip(logits, mask, strict=True)]
    for junk in (math.nan, math.inf, -math.inf, 1e6):
        padded = logits.masked_fill(~mask[..., None], junk).requires_grad_()
        got = self_certainty_rewards(padded, mask)
        assert got.tolist() == pytest.approx(wanted) and not got.requires_grad
    for bad_logits, bad_mask in ((logits[0], mask[0]), (logits, mask[:, :2]), (logits, mask.long()), (logits, mask & False),
                                 (logits * math.inf, mask)):
        with pytest.raises(ValueError, match=r" \| "):
            self_certainty_rewards(bad_logits, bad_mask)


def test_prompts_open_the_turn_that_is_completed():
    asked, compared = chain_of_thought_prompt("6·7?"), comparison_prompt("6·7?", "It is \\boxed{42}", "It is \\boxed{48}")
    assert asked.endswith("<|im_start|>assistant\n") and "within \\boxed{}" in asked and asked.count("6·7?") == 1
    assert compared.startswith(asked) and compared.endswith("the correct final answer is \\boxed{")
    assert compared.index("[Solution 1] It is \\boxed{42}") < compared.index("[Solution 2] It is \\boxed{48}")
    assert answer_span_mask(compared[len(asked):] + "42}", [(0, 1)]).tolist() == [False]  # and the comparison's answer closes the box
    assert comparison_prompt("q", "a", "b") != comparison_prompt("q", "b", "a")


# The answer's span


@pytest.mark.parametrize(("tokens", "masked"), [
    (["\\boxed", "{", "42", "}"], [False, False, True, False]),
    (["\\boxed", "{4", "2}"], [False, True, True]),
    (["it is ", "42", ": ", "\\boxed{", "42", "}."], [False] * 4 + [True, False]),
    (["\\boxed{", "}"], [False, False]),
])
def test_mask_boundary(tokens, masked):
    assert answer_span_mask("".join(tokens), token_offsets(tokens)).tolist() == masked


def test_token_offsets():
    assert token_offsets(["所以", "", "\\boxed{", "七", "}"]) == [(0, 2), (2, 2), (2, 9), (9, 10), (10, 11)]
    assert token_offsets([]) == []


def test_random_completions_hold_every_kind_of_box_and_token():
    """The oracle's inputs enter every branch: else a hidden check proves little."""
    texts, kinds = [], set()
    for seed in range(40):
        text, offsets = spec.random_completion(Rng(seed))
        texts.append(text)
        answer = spec.answer_characters(text)
        for start, end in offsets:
            inside = sum(position in answer for position in range(start, end))
            kinds.add("empty" if start == end else "out" if not inside else "in" if inside == end - start else "glued")
        kinds |= {"gap"} if any(end < start for (_, end), (start, _) in zip(offsets, offsets[1:], strict=False)) else set()
        kinds |= {"no answer"} if not answer else set()
        kinds |= {"unclosed last box"} if answer and max(answer) < text.rfind("\\boxed{") else set()
        kinds |= {"answer with a brace"} if any(text[position] in "{}" for position in answer) else set()
    assert kinds == {"empty", "out", "in", "glued", "gap", "no answer", "unclosed last box", "answer with a brace"}
    assert len(set(texts)) == len(texts)


# The loss: what it reduces to


def random_batch(seed: int, n: int = 8, length: int = 7) -> dict:
    draw = torch.Generator().manual_seed(seed)

    def normal(*shape):
        return torch.randn(*shape, generator=draw, dtype=torch.float64)

    old = -normal(n, length).abs() - 0.1
    return {"old": old, "new": old + 0.4 * normal(n, length), "reference": old + normal(n, length),
            "mask": torch.arange(length) < torch.randint(1, length + 1, (n, 1), generator=draw),
            "answer": torch.rand(n, length, generator=draw) < 0.3}


def loss_and_gradient(loss, new: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    new = new.clone().requires_grad_()
    value = loss(new)
    return value.detach(), torch.autograd.grad(value, new)[0]


@pytest.mark.parametrize("reduction", ["sequence_sum", "sequence_mean", "token_mean"])
@pytest.mark.parametrize("beta", [0.0, 0.04])
@pytest.mark.parametrize("rule", ["majority vote", "ground truth"])
def test_nothing_masked_and_hard_rewards_is_grpo(rule, beta, reduction):
    votes, ids = list("ababacdc"), torch.tensor([0, 1] * 4)
    rewards = majority_vote_rewards(votes, ids)[0] if rule == "majority vote" else ground_truth_rewards(votes, ["a"] * 8)
    fixed = group_relative_advantages(rewards.double(), ids)
    for seed in range(5):
        batch = random_batch(seed)

        def grpo(new, batch=batch):
            token_kl = k3_kl(new, batch["reference"], batch["mask"])
            losses = grpo_token_losses(new, batch["old"], fixed, batch["mask"], token_kl, beta, 0.2, 0.28)
            return reduce_token_losses(losses, batch["mask"], reduction)

        for mask_kl in (True, False):
            def om_grpo(new, batch=batch, mask_kl=mask_kl):
                return om_grpo_loss(new, batch["old"], batch["reference"], fixed, batch["mask"], batch["mask"] & False, beta, 0.2, 0.28,
                                    mask_kl, reduction)

            for ours, theirs in zip(loss_and_gradient(om_grpo, batch["new"]), loss_and_gradient(grpo, batch["new"]), strict=True):
                torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-12)


@pytest.mark.parametrize("reduction", ["sequence_sum", "sequence_mean", "token_mean"])
def test_masking_the_answer_is_masking_it_as_padding(reduction):
    fixed = torch.linspace(-1, 1, 8, dtype=torch.float64)
    for seed in range(5):
        batch = random_batch(seed)

        def masked(new, batch=batch):
            return om_grpo_loss(new, batch["old"], batch["reference"], fixed, batch["mask"], batch["answer"], 0.1, reduction=reduction)

        def as_padding(new, batch=batch):
            loss_mask = batch["mask"] & ~batch["answer"]
            return om_grpo_loss(new, batch["old"], batch["reference"], fixed, loss_mask, loss_mask & False, 0.1, reduction=reduction)

        for ours, theirs in zip(loss_and_gradient(masked, batch["new"]), loss_and_gradient(as_padding, batch["new"]), strict=True):
            assert torch.equal(ours, theirs)


def test_reductions_of_two_completions():
    """Lengths 4 and 6 with one answer token each, A = (1, -1), ratio 1: the objective, by each way of dividing."""
    mask = torch.arange(6) < torch.tensor([[4], [6]])
    answer_mask = torch.zeros_like(mask)
    answer_mask[0, 2] = answer_mask[1, 3] = True
    logps, fixed = torch.full((2, 6), -1.0), torch.tensor([1.0, -1.0])
    for reduction, objective in (("sequence_sum", -1.0), ("sequence_mean", 0.0), ("token_mean", -0.25)):
        assert -float(om_grpo_loss(logps, logps, logps, fixed, mask, answer_mask, reduction=reduction)) == pytest.approx(objective)
    # Were whole lengths the divisors, as they are not:
    assert ((3 / 4 - 5 / 6) / 2, (3 - 5) / (4 + 6)) == (pytest.approx(-0.0417, abs=5e-5), pytest.approx(-0.2))


# The loss: what the mask does to a gradient

TOKENS = ("Q", "r1", "r2", "\\boxed{", "7", "}")  # a prompt of one token and five completion tokens, each predicted from the one before
READ, PREDICTED, ANSWER = torch.arange(5), torch.arange(1, 6), 3
BOXED = torch.tensor([[False, False, False, True, False]])


def one_step(parameters: list[torch.Tensor], logits_of, answer_mask: torch.Tensor, beta: float = 0.0, mask_kl: bool = True) -> tuple:
    """(gradient norm on the logits that predict each completion token, the answer's log-probability before, after a step of 0.5)."""
    parameters = [parameter.clone().requires_grad_() for parameter in parameters]
    logits = logits_of(*parameters)
    logits.retain_grad()
    new = logits.log_softmax(dim=-1)[READ, PREDICTED][None]
    loss = om_grpo_loss(new, new.detach(), new.detach() - 0.3, torch.ones(1), torch.ones_like(answer_mask), answer_mask, beta,
                        mask_kl=mask_kl)
    loss.backward()
    moved = logits_of(*(parameter.detach() - 0.5 * parameter.grad for parameter in parameters)).log_softmax(dim=-1)
    return logits.grad.norm(dim=-1).tolist(), new[0, ANSWER].item(), moved[ANSWER, PREDICTED[ANSWER]].item()


def table(answer_mask: torch.Tensor, **named) -> tuple:
    return one_step([torch.zeros(6, 6, dtype=torch.float64)], lambda rows: rows[READ], answer_mask, **named)


def shared(answer_mask: torch.Tensor, **named) -> tuple:
    draw = torch.Generator().manual_seed(0)
    embedding, output = (torch.randn(*shape, generator=draw, dtype=torch.float64) for shape in ((6, 4), (4, 6)))
    return one_step([embedding, output], lambda vectors, weights: vectors[READ] @ weights, answer_mask, **named)


def test_answer_logits_get_no_gradient_and_their_neighbors_do():
    norms, before, after = table(BOXED)
    assert norms == pytest.approx([0.9129, 0.9129, 0.9129, 0, 0.9129], **FOUR_PLACES) and norms[ANSWER] == 0.0
    assert before == after == pytest.approx(-1.791759, abs=6e-7)
    norms, before, after = table(BOXED & False)
    assert norms == pytest.approx([0.9129] * 5, **FOUR_PLACES)
    assert after == pytest.approx(-1.394425, abs=6e-7)


def test_unmasked_kl_still_pulls_at_the_answer():
    norms, _, after = table(BOXED, beta=0.5, mask_kl=False)
    assert norms[ANSWER] == pytest.approx(0.1183, abs=5e-5) and after == pytest.approx(-1.846043, abs=6e-7)
    norms, before, after = table(BOXED, beta=0.5)
    assert norms[ANSWER] == 0.0 and before == after


def test_masking_one_row_late_leaves_the_answer_and_hides_the_brace():
    """Logits at the answer token predict the token after it."""
    norms, _, after = table(BOXED.roll(1, dims=1))
    assert norms[ANSWER] == pytest.approx(0.912871, abs=6e-7) and norms[ANSWER + 1] == 0.0
    assert after == pytest.approx(-1.394425, abs=6e-7)


def test_shared_parameters_move_the_answer_without_a_gradient_on_its_logits():
    norms, before, after = shared(BOXED)
    assert norms[ANSWER] == 0.0 and min(norms[:ANSWER] + norms[ANSWER + 1:]) > 0.1
    assert abs(after - before) > 1e-3
    assert shared(BOXED & False)[2] > before


@pytest.mark.parametrize(("world", "at_first", "ground_truth", "majority_vote", "om_grpo", "good_reasoning"), [
    ((0.5, 0.9, 0.45), 0.675, 0.9977, 0.9976, 0.8981, 0.9957), ((0.3, 0.9, 0.2), 0.41, 0.9977, 0.0030, 0.2026, 0.0037),
    ((0.5, 0.6, 0.05), 0.325, 0.9970, 0.0024, 0.0517, None),
])
def test_two_stage_worlds(world, at_first, ground_truth, majority_vote, om_grpo, good_reasoning):
    """The mask keeps answers from being sharpened; it repairs no wrong consensus, and holds accuracy at p(answer given reasoning)."""
    good, right_if_good, right_if_bad = world
    assert good * right_if_good + (1 - good) * right_if_bad == pytest.approx(at_first)
    for rule, wanted in (("ground_truth", ground_truth), ("majority_vote", majority_vote), ("om_grpo", om_grpo)):
        right, p_good, after_good, after_bad = two_stages(*world, rule)
        assert right == pytest.approx(wanted, abs=5e-5), rule
    assert (after_good, after_bad) == pytest.approx((right_if_good, right_if_bad))
    assert good_reasoning is None or p_good == pytest.approx(good_reasoning, abs=5e-5)


def test_no_gradient_reaches_old_reference_and_advantages():
    batch = random_batch(1)
    fixed = torch.ones(8, dtype=torch.float64, requires_grad=True)
    old, reference_logps = batch["old"].requires_grad_(), batch["reference"].requires_grad_()
    for mask_kl in (True, False):
        new = batch["new"].clone().requires_grad_()
        loss = om_grpo_loss(new, old, reference_logps, fixed, batch["mask"], batch["answer"], 0.1, mask_kl=mask_kl)
        assert torch.autograd.grad(loss, [old, reference_logps, fixed], allow_unused=True, retain_graph=True) == (None, None, None)
        gradient = torch.autograd.grad(loss, new)[0]
        left_out = ~batch["mask"] | (batch["answer"] if mask_kl else batch["mask"] & False)
        assert (gradient[left_out] == 0).all() and (gradient[~left_out & ~batch["answer"]] != 0).any()


def test_constant_reduction_is_refused():
    logps, mask = torch.full((1, 2), -1.0), torch.ones(1, 2, dtype=torch.bool)
    with pytest.raises(ValueError, match="sequence_sum"):
        om_grpo_loss(logps, logps, logps, torch.ones(1), mask, mask & False, reduction="constant")


# The preset


def test_the_preset_holds_what_the_translation_prints():
    assert APPENDIX_B == {
        "prompts_per_update": 128, "num_generations": 8, "max_prompt_length": 512, "max_completion_length": 3072, "num_train_epochs": 6,
        "test_time_training_epochs": 30, "optim": "adamw_torch", "learning_rate": 3e-6, "adam_beta1": 0.9, "adam_beta2": 0.999,
        "adam_epsilon": 1e-8, "lr_scheduler_type": "cosine", "warmup_ratio": 0.1, "beta": 0.005, "epsilon": 0.2, "temperature": 1.0,
        "eval_temperature": 0.8, "eval_top_p": 0.95}
    defaults = dict(zip(("beta", "epsilon_low", "epsilon_high"), om_grpo_loss.__defaults__, strict=False))
    assert defaults == {"beta": APPENDIX_B["beta"], "epsilon_low": APPENDIX_B["epsilon"], "epsilon_high": APPENDIX_B["epsilon"]}


# Under the grader: text, pairs and None cross to another process as plain data


def through_the_pipe(function):
    """`function` as a grader calls it."""
    def call(*arguments, **named):
        there, named_there = unpack(pack((arguments, named)))
        return unpack(pack(function(*there, **named_there)))
    return call


def test_checks_judge_the_same_through_a_pipe():
    folder, todos = COURSE.lessons_folder / "om_grpo", regions(ALGORITHM.text)
    # What changes its inputs is left out: a copy cannot be changed from there, and the grader is told which inputs were.
    changes = "keeps_inputs|inputs_alone|answers_alone"
    answers = [*right_answers(folder), *(a for a in wrong_answers(folder)[::9] if not re.search(changes, a.caught_by))]
    seen = set()
    for todo, namespace in [(todo, reference(ALGORITHM)) for todo in todos] + [(a.todo(todos), a.namespace(ALGORITHM)) for a in answers]:
        if todo.function == "om_grpo_loss":
            continue  # its gradients go another way than its values
        for check in checks_of(vars(checks), todo.function):
            if re.search(changes, check.__name__):
                continue
            here, there = (judge(check, todo.function, {todo.function: function}) for function in
                           (namespace[todo.function], through_the_pipe(namespace[todo.function])))
            assert here[:3] == there[:3]
            seen.add((todo.function, here.status))
    assert {function for function, status in seen if status == "passed"} == {function for function, status in seen if status == "failed"}
    assert len({function for function, _ in seen}) == 4
