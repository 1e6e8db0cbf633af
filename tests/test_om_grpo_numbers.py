"""The numbers that lesson OM-GRPO prints, computed with its functions, and its table of hyperparameters."""

import itertools
import math
import re
from fractions import Fraction

import pytest
import torch

from advantagelab.algorithms import grpo, label_free, om_grpo
from advantagelab.algorithms.grpo import group_relative_advantages
from advantagelab.algorithms.label_free import (contrast_augmented_rewards, ground_truth_rewards, majority_vote_rewards, normalize_answer,
                                                self_certainty_rewards, soft_consensus_rewards)
from advantagelab.algorithms.om_grpo import APPENDIX_B, answer_span_mask, om_grpo_loss, token_offsets
from advantagelab.widgets.answer_mask import COMPLETIONS, LEARNING_RATE, REFERENCE_STEP, Shared, Table, one_step
from advantagelab.widgets.consensus import consensus_of
from tests.lesson_numbers import Numbers

LESSON = Numbers("om_grpo")
cell, printed = LESSON.cell, LESSON.printed
REFERENCE = {"torch": torch, **vars(grpo), **vars(label_free), **vars(om_grpo)}
THREE_PLACES = {"abs": 5.1e-4, "rel": 0}


def advantages_of(rewards) -> list[float]:
    rewards = torch.as_tensor(rewards, dtype=torch.float64)
    return group_relative_advantages(rewards, torch.zeros(len(rewards), dtype=torch.int64)).tolist()


def rewards_of(rule, answers: list, *more, **named) -> torch.Tensor:
    rewards = rule(answers, torch.zeros(len(answers), dtype=torch.int64), *more, **named)
    return rewards[0] if isinstance(rewards, tuple) else rewards


# Step 1


def two_stages(good: float, right_if_good: float, right_if_bad: float, rule: str) -> list[float]:
    """p(right), p(good), p(right|good), p(right|bad) after 400 steps along the expected gradient of a group of four, learning rate 0.5."""
    groups = [list(answers) for answers in itertools.product("AB", repeat=4)]
    rewards = {"ground_truth": lambda answers: ground_truth_rewards(answers, ["A"] * 4),
               "majority_vote": lambda answers: rewards_of(majority_vote_rewards, answers),
               "om_grpo": lambda answers: rewards_of(soft_consensus_rewards, answers)}[rule]
    advantages = torch.tensor([advantages_of(rewards(answers)) for answers in groups], dtype=torch.float64)  # [16, 4]
    says_right = torch.tensor([[answer == "A" for answer in answers] for answers in groups])
    logits = torch.tensor([[math.log(chance), math.log(1 - chance)] for chance in (good, right_if_good, right_if_bad)], dtype=torch.float64)
    for _ in range(400):
        logits.requires_grad_()
        p_good, after_good, after_bad = logits.softmax(dim=-1)[:, 0]
        right = (p_good * after_good + (1 - p_good) * after_bad).detach()
        chances = torch.where(says_right, right, 1 - right).prod(dim=-1, keepdim=True)
        # Mean advantage of a completion, given what it says.
        of_right = (chances * advantages * says_right).sum() / 4 / right
        of_wrong = (chances * advantages * ~says_right).sum() / 4 / (1 - right)
        if rule == "om_grpo":
            after_good, after_bad = after_good.detach(), after_bad.detach()
        of_good, of_bad = (after * of_right + (1 - after) * of_wrong for after in (after_good, after_bad))
        (slopes,) = torch.autograd.grad(p_good * of_good + (1 - p_good) * of_bad, logits)
        logits = (logits + 0.5 * slopes).detach()
    p_good, after_good, after_bad = logits.softmax(dim=-1)[:, 0].tolist()
    return [p_good * after_good + (1 - p_good) * after_bad, p_good, after_good, after_bad]


def test_a_vote_of_four_on_the_first_prompt():
    assert advantages_of(rewards_of(majority_vote_rewards, ["7", "7", "3", "5"])) == pytest.approx([1, 1, -1, -1], abs=1e-5)
    assert 0.3 * 0.9 + 0.7 * 0.2 == pytest.approx(0.41)
    elected = 0.0
    for answers in itertools.product("AB", repeat=4):
        winner = answers[int(rewards_of(majority_vote_rewards, list(answers)).argmax())]
        elected += (winner == "A") * math.prod(0.41 if answer == "A" else 0.59 for answer in answers)
    assert elected == pytest.approx(0.366, abs=5e-4)
    printed("step-1", "30%", "90%", "20%", "41%", "37%")


def test_the_vote_collapses_and_the_mask_holds_but_repairs_nothing():
    right, good, _, after_bad = two_stages(0.3, 0.9, 0.2, "majority_vote")
    assert (right, after_bad < 0.002) == (pytest.approx(0.0030, abs=5e-5), True)
    reward = sum(chance * rewards_of(majority_vote_rewards, list(answers)).mean().item() for answers in itertools.product("AB", repeat=4)
                 for chance in [math.prod(right if answer == "A" else 1 - right for answer in answers)])
    assert reward > 0.99
    assert two_stages(0.3, 0.9, 0.2, "ground_truth")[0] == pytest.approx(0.998, abs=5e-4)
    printed("step-1", "0.3%", "0.2%", "99.8%")
    assert two_stages(0.3, 0.9, 0.2, "om_grpo") == pytest.approx([0.2026, 0.0037, 0.9, 0.2], abs=5e-5)
    assert two_stages(0.5, 0.9, 0.45, "ground_truth")[0] == pytest.approx(0.9977, abs=5e-5)
    assert two_stages(0.5, 0.9, 0.45, "majority_vote")[0] == pytest.approx(0.9976, abs=5e-5)
    assert two_stages(0.5, 0.9, 0.45, "om_grpo")[0] == pytest.approx(0.8981, abs=5e-5)
    assert two_stages(0.3, 0.6, 0.6, "om_grpo")[0] == pytest.approx(0.6, abs=1e-9)
    assert two_stages(0.5, 0.6, 0.6, "om_grpo")[0] == pytest.approx(0.6, abs=1e-9)
    assert two_stages(0.3, 0.6, 0.6, "majority_vote")[0] == pytest.approx(0.9975, abs=5e-5)
    printed("saw-stages", "0.9977", "0.9976", "0.8981", "0.2026", "0.0037", "0.0030", "0.6", "0.9975")


@pytest.mark.parametrize("tokens, masked", [
    (["\\boxed", "{", "42", "}"], ["42"]),
    (["\\boxed", "{4", "2}"], ["{4", "2}"]),
    (["\\boxed{", "42", "}", "\\boxed{", "}"], []),
    (["\\boxed{", "42"], []),
])
def test_the_table_of_spans(tokens, masked):
    mask = answer_span_mask("".join(tokens), token_offsets(tokens)).tolist()
    assert [token for token, inside in zip(tokens, mask, strict=True) if inside] == masked
    printed("answer-span", f"| {', '.join(f'`{token}`' for token in tokens)} |")


def test_the_panel_of_the_answer_mask():
    def states(completion: str, masked: str, beta: float) -> list[str]:
        steps = [one_step(COMPLETIONS[completion], masked, beta, kind) for kind in (Table, Shared)]
        return [f"{number:.4f}".replace("0.0000", "0") for step in steps for number in (step.before, step.after, step.norms[3])]

    assert states("plain", "both", 0.0) == ["-1.7918", "-1.7918", "0", "-2.2488", "-2.2231", "0"]
    assert states("plain", "policy", 0.5)[1:3] == ["-1.8460", "0.1183"]
    assert states("plain", "off_by_one", 0.0)[2] == "0.9129"
    assert (LEARNING_RATE, REFERENCE_STEP) == (0.5, -0.3)
    printed("ask-mask", "0.5", "0.3")
    printed("saw-mask", "-1.7918", "-2.2488", "-2.2231", "-1.8460", "0.1183", "0.9129")


# Step 2


def test_ties_and_equal_answers():
    assert advantages_of(rewards_of(majority_vote_rewards, ["3", "5", "3", "5"])) == pytest.approx([1, -1, 1, -1], abs=1e-5)
    assert advantages_of(rewards_of(majority_vote_rewards, ["5", "3", "3", "5"])) == pytest.approx([1, -1, -1, 1], abs=1e-5)
    assert {normalize_answer(answer) for answer in ("0.5", "2/4")} == {"1/2"}


def test_three_rewards_of_one_group_and_their_advantages():
    answers = ["7", "7", "3", "3", "7"]
    rows = {
        "1, 1, 0, 0, 1": rewards_of(majority_vote_rewards, answers),
        "1, 1, 2/3, 2/3, 1": rewards_of(soft_consensus_rewards, answers),
        "0.6, 0.6, 0.4, 0.4, 0.6": rewards_of(soft_consensus_rewards, answers, normalizer="group"),
    }
    for shown, row in rows.items():
        assert row.tolist() == pytest.approx([float(Fraction(number)) for number in shown.split(", ")])
        assert advantages_of(row) == pytest.approx([0.816, 0.816, -1.225, -1.225, 0.816], **THREE_PLACES)
        printed("step-2", f"| {shown.replace(', ', ' | ')} |")
    printed("step-2", "0.816", "$-1.225$")


@pytest.mark.parametrize("size", [3, 5, 7, 8])
def test_two_answers_without_a_tie_make_soft_and_hard_advantages_equal(size):
    for a in range(1, size):
        answers = ["a"] * a + ["b"] * (size - a)
        soft = advantages_of(rewards_of(soft_consensus_rewards, answers))
        if 2 * a == size:
            assert soft == [0.0] * size
        else:
            assert soft == pytest.approx(advantages_of(rewards_of(majority_vote_rewards, answers)), abs=2e-4)


def test_four_answers_make_them_differ():
    answers = list("AAABBCCD")
    hard, soft = (advantages_of(rewards_of(rule, answers)) for rule in (majority_vote_rewards, soft_consensus_rewards))
    assert hard == pytest.approx([1.291] * 3 + [-0.775] * 5, **THREE_PLACES)
    assert soft == pytest.approx([1.134] * 3 + [-0.378] * 4 + [-1.890], **THREE_PLACES)
    printed("step-2", "1.291", "-0.775", "1.134", "-0.378", "-1.890")


def test_the_table_of_self_certainty():
    distributions = torch.tensor([[0.25] * 4, [0.7, 0.1, 0.1, 0.1], [0.97, 0.01, 0.01, 0.01], [0.5, 0.5, 1e-9, 1e-9]], dtype=torch.float64)
    of_intuitor = self_certainty_rewards(distributions.log()[:, None], torch.ones(4, 1, dtype=torch.bool))
    other_way = (distributions * (4 * distributions).log()).sum(dim=-1)
    entropy = -(distributions * distributions.log()).sum(dim=-1)
    torch.testing.assert_close(other_way, math.log(4) - entropy)
    columns = [of_intuitor.tolist(), other_way.tolist(), distributions[:, 0].log().tolist()]
    assert columns[0] == pytest.approx([0, 0.4298, 2.0752, 9.3219], abs=5e-5)
    assert columns[1] == pytest.approx([0, 0.4458, 1.2186, 0.6931], abs=5e-5)
    assert columns[2] == pytest.approx([-1.386, -0.357, -0.030, -0.693], abs=5e-4)
    printed("self-certainty", "| 0 | 0 | $-1.386$ |", "| 0.4298 | 0.4458 | $-0.357$ |")
    printed("self-certainty", "| 2.0752 | 1.2186 | $-0.030$ |", "| 9.3219 | 0.6931 | $-0.693$ |")


def test_comparisons_overturn_a_majority():
    answers, pairs = ["A", "A", "B"], list(itertools.permutations(range(3), 2))
    comparisons = [(i, j, "A" if 2 not in (i, j) else "B") for i, j in pairs]
    pool = answers + [answer for *_, answer in comparisons]
    assert (pool.count("A"), pool.count("B")) == (4, 5)
    rewards = rewards_of(contrast_augmented_rewards, answers, comparisons)
    assert rewards.tolist() == pytest.approx([0.8, 0.8, 1.0])
    assert rewards_of(contrast_augmented_rewards, answers, comparisons, normalizer="group").tolist() == pytest.approx([4 / 9, 4 / 9, 5 / 9])
    assert advantages_of(rewards) == pytest.approx([-0.707, -0.707, 1.414], **THREE_PLACES)
    soft = rewards_of(soft_consensus_rewards, answers)
    assert soft.tolist() == [1, 1, 0.5] and advantages_of(soft) == pytest.approx([0.707, 0.707, -1.414], **THREE_PLACES)
    once = [comparison for comparison in comparisons if comparison[0] < comparison[1]]
    asked_once = answers + [answer for *_, answer in once]
    assert (asked_once.count("A"), asked_once.count("B")) == (3, 3)
    assert advantages_of(rewards_of(contrast_augmented_rewards, answers, once)) == [0, 0, 0]
    printed("contrast", "| 1 | 1 | 0.5 |", "| $+0.707$ | $+0.707$ | $-1.414$ |", "| 0.8 | 0.8 | 1 |", "| $-0.707$ | $-0.707$ | $+1.414$ |")


def test_the_panel_of_the_consensus():
    def advantages(votes: list[int], share: float, method: str) -> list[str]:
        return [f"{number:+.2f}" for number in consensus_of(torch.tensor(votes).numpy(), 1, share).advantages[method]]

    assert advantages([4, 3, 1, 0, 0], 0.9, "majority")[1:3] == ["-1.00", "-1.00"]
    assert advantages([4, 3, 1, 0, 0], 0.9, "soft")[1:3] == ["-0.26", "-2.32"]
    of_a = {share: float(advantages([4, 3, 1, 0, 0], share / 100, "contrast")[0]) for share in range(90, 55, -5)}
    assert [share for share in of_a if of_a[share] >= 0][0] == 75 and of_a[75] == 0.03
    pools = {share: consensus_of(torch.tensor([4, 3, 1, 0, 0]).numpy(), 1, share / 100).pool for share in of_a}
    assert [share for share in pools if pools[share][0] > pools[share][1]][0] == 60 and pools[60][:2].tolist() == [30, 27]
    assert advantages([4, 4, 0, 0, 0], 0.5, "majority")[:2] == ["+1.00", "-1.00"]
    assert advantages([4, 4, 0, 0, 0], 0.5, "soft")[:2] == ["+0.00", "+0.00"]
    for method in ("majority", "soft"):
        assert advantages([5, 3, 0, 0, 0], 0.5, method)[:2] == ["+0.77", "-1.29"]
    printed("saw-consensus", "-0.26", "-2.32", "0.75", "+0.03", "0.6", "30", "27", "+0.77", "-1.29")


# Step 3


def test_two_completions_under_three_reductions():
    mask = torch.arange(6) < torch.tensor([[4], [6]])
    answer_mask = torch.zeros_like(mask)
    answer_mask[0, 2] = answer_mask[1, 4] = True
    losses = {}
    for reduction in ("sequence_sum", "sequence_mean", "token_mean"):
        logps = torch.full((2, 6), -1.0, dtype=torch.float64, requires_grad=True)
        fixed = logps.detach()
        loss = om_grpo_loss(logps, fixed, fixed, torch.tensor([1.0, -1.0]), mask, answer_mask, reduction=reduction)
        loss.backward()
        losses[reduction] = loss.item()
        if reduction == "sequence_sum":
            assert (-logps.grad).tolist() == [[0.5, 0.5, 0, 0.5, 0, 0], [-0.5, -0.5, -0.5, -0.5, 0, -0.5]]
    assert losses == {"sequence_sum": 1.0, "sequence_mean": 0.0, "token_mean": 0.25}
    # The other reading counts all tokens: 3 of 4 and 5 of 6 remain in the sum.
    assert -(3 / 4 - 5 / 6) / 2 == pytest.approx(0.0417, abs=5e-5) and -(3 - 5) / (4 + 6) == 0.2
    printed("step-3", '| `"sequence_sum"` | 1 | 1 |', '| `"sequence_mean"` | 0 | 0.0417 |', '| `"token_mean"` | 0.25 | 0.2 |')


def test_what_the_format_reward_does_to_a_minority():
    answers = ["7", "7", "3", None]
    third = {(normalizer, added): advantages_of(rewards_of(soft_consensus_rewards, answers, normalizer, added).double())[2]
             for normalizer in ("max", "group") for added in (False, True)}
    expected = {("max", False): -0.302, ("group", False): -0.302, ("max", True): 0.152, ("group", True): 0.302}
    assert third == pytest.approx(expected, **THREE_PLACES)
    printed("todo-3", "$-0.302$", "$+0.152$")
    printed("sources", "$+0.302$", "$+0.152$")


def test_the_hyperparameters_of_appendix_b():
    for language in ("en", "zh"):
        rows = re.findall(r"^\| `(\w+)` \| ([^|]+) \|", cell("appendix-b", language), re.MULTILINE)
        assert dict(rows) == {name: str(value) for name, value in APPENDIX_B.items()}
        assert len(rows) == len(APPENDIX_B)
    assert APPENDIX_B["prompts_per_update"] * APPENDIX_B["num_generations"] == 1024


# The cells that a learner runs


def test_four_completions():
    without, added = LESSON.output_of("four-completions", REFERENCE).split("format reward | 格式奖励: ")[1:]
    advantages = [[line.split()[0] for line in part.splitlines()[1:5]] for part in (without, added)]
    assert advantages == [["+0.905", "+0.905", "-0.302", "-1.508"], ["+0.762", "+0.762", "+0.152", "-1.677"]]
    rows = without.splitlines()[1:]
    assert "42 +0.226" in rows[0] and "{ +0.226   42 0   }" in rows[0]
    assert rows[1].endswith("\\boxed +0.226   {42 0   .0} 0")
    assert rows[3].count("-0.377") == 6 and " 0 " not in rows[3]
    printed("saw-four-completions", "+0.226", "-0.377", "-0.302", "+0.152")


def test_two_models():
    lines = LESSON.output_of("two-models", REFERENCE).splitlines()
    table, shared = lines[1:5], lines[6:10]
    for rows in (table, shared):
        gradients = [[float(number) for number in row.split()[:5]] for row in rows]
        zeros = [[place for place, number in enumerate(row) if number == 0] for row in gradients]
        assert zeros == [[], [3], [], [4]]
        assert gradients[3][3] == gradients[0][3] > 0
    assert "-1.7918 -> -1.7918" in table[1] and "-3.9716 -> -3.8714" in shared[1]
    assert "-> -1.8744" in table[2] and "-> -4.9864" in shared[2]
    printed("saw-two-models", "-1.7918", "-3.9716", "-3.8714", "-1.8744", "-4.9864")
