"""The numbers that lesson RLOO prints, computed with its functions and looked up in its text."""

import inspect
import math
from fractions import Fraction

import torch

from advantagelab.algorithms import rloo
from advantagelab.algorithms.rloo import aggregate_sequence_logps, leave_one_out_advantages, rloo_policy_loss, shape_rloo_rewards
from advantagelab.tinylm import load
from advantagelab.widgets.variance import BANDITS, gradient_estimate
from tests.lesson_numbers import Numbers, brief

LESSON = Numbers("rloo")
NAN = math.nan


def double(values) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64)


def advantages_of(*rewards) -> torch.Tensor:
    """Of one group."""
    return leave_one_out_advantages(double(rewards), torch.zeros(len(rewards), dtype=torch.int64))


def minus_the_mean(*rewards) -> torch.Tensor:
    return double(rewards) - double(rewards).mean()


def listed(values, sign: bool = True) -> str:
    return ",".join(brief(values, sign))


def fractions(values) -> str:
    """With denominators up to 10, as LaTeX."""
    parts = [Fraction(float(value)).limit_denominator(10) for value in values]
    return ",".join(f"{'-' if part < 0 else ''}\\frac{{{abs(part.numerator)}}}{{{part.denominator}}}" for part in parts)


# Step 1: leave-one-out advantages


def test_two_completions():
    first, second = advantages_of(1, 0)
    LESSON.printed("step-1", f"$1-0={first:+g}$", f"$0-1={second:+g}$", rf"$\pm {minus_the_mean(1, 0)[0]:g}$")
    LESSON.printed("step-1", *[f"{double([1, 0]).mean():g}"] * 2)  # the mean, and half of each reward


def test_the_table_of_three_completions():
    rewards = [1, 2, 4]
    rows = []
    for place, (reward, advantage) in enumerate(zip(rewards, advantages_of(*rewards), strict=True)):
        others = rewards[:place] + rewards[place + 1:]
        rows.append([str(reward), ", ".join(map(str, others)), f"{reward - advantage:g}", f"{advantage:+g}"])
    LESSON.table("leave-one-out", *rows)


def test_two_prompts_that_pay_differently():
    rewards, group_ids = double([1, 0, 11, 10]), torch.tensor([0, 0, 1, 1])
    LESSON.printed("groups", f"${listed(leave_one_out_advantages(rewards, group_ids))}$")
    mixed = advantages_of(*rewards)[0]
    LESSON.printed("groups", "1, 0", "11, 10", f"$1-{1 - mixed:g}={mixed:g}$")


def test_missing_is_not_zero():
    for key in ("missing", "todo-3"):
        LESSON.printed(key, "3, NaN, 7", f"${listed(advantages_of(3, NAN, 7))}$")
    LESSON.printed("missing", f"${listed(advantages_of(3, 0, 7))}$")
    assert advantages_of(NAN, 5).tolist() == [0, 0]


def test_what_the_panel_of_the_baselines_shows():
    two, mean = advantages_of(1, 1, 0, 0), minus_the_mean(1, 1, 0, 0)
    LESSON.printed("saw-baselines", f"${fractions(two)}$", f"${fractions(mean)}$", f"${fractions(two[:1] / mean[:1])}$")
    first, second, third, fourth = advantages_of(1, NAN, 0, 0)
    assert (first, second) == (advantages_of(1, 0, 0, 0)[0], 0) and third == fourth
    LESSON.printed("saw-baselines", f"${third:g}$", f"${first:+g}$")
    assert advantages_of(1, NAN, NAN, NAN)[0] == 0


def test_what_the_panel_of_the_variance_shows():
    def variance(baseline: str, size: int, bandit: str = "skewed", shift: float = 0.0) -> float:
        probabilities, rewards = BANDITS[bandit]
        return gradient_estimate(probabilities, tuple(reward + shift for reward in rewards), size, baseline).variance

    turn = next(size for size in range(2, 6) if variance("leave_one_out", size) < variance("none", size))
    pairs = [[f"{variance(baseline, size):.4f}" for baseline in ("leave_one_out", "none")] for size in (turn, 2)]
    LESSON.printed("saw-variance", *[str(turn)] * 2, *pairs[0], *pairs[1])  # once it numbers the last answer
    LESSON.printed("saw-variance", f"{gradient_estimate(*BANDITS['skewed'], 5, 'group_mean').relative:.1f}")
    moved = {baseline: variance(baseline, 2, shift=10) for baseline in ("none", "group_mean", "leave_one_out")}
    assert [baseline for baseline in moved if abs(moved[baseline] - variance(baseline, 2)) > 1e-9] == ["none"]
    LESSON.printed("saw-variance", f"{moved['none']:.2f}", *[pairs[1][1]] * 2)
    tie = {f"{variance(baseline, 2, 'uniform'):.4f}" for baseline in ("none", "leave_one_out")}
    assert len(tie) == 1 and variance("group_mean", 2, "uniform") < variance("none", 2, "uniform")
    LESSON.printed("saw-variance", *tie)


# Step 2: the KL penalty in the reward


def test_the_table_of_shaped_rewards():
    old, reference = double([[-0.8, -0.4], [-0.5, 0]]), double([[-1.0, -0.5], [-0.4, 0]])
    mask = torch.tensor([[True, True], [True, False]])
    rewards = double([1, 0])
    shaped, kl = shape_rloo_rewards(rewards, old, reference, mask, beta=0.5)
    rows = []
    for place in range(2):
        scores = [",".join(f"{value:.1f}" for value in one[place][mask[place]]) for one in (old, reference)]
        rows.append([str(place + 1), *scores, f"{kl[place]:+g}", f"{rewards[place]:g}", f"{shaped[place]:g}"])
    LESSON.table("step-2", *rows)
    LESSON.printed("todo-2", r"$\beta=0.5$", f"$k=({kl[0]:g},{kl[1]:g})$", *(f"{reward:g}" for reward in shaped))
    LESSON.printed("step-2", r"$\beta=0.5$", str(inspect.signature(shape_rloo_rewards).parameters["beta"].default))


# Step 3: the ratio and the clip


def test_sequence_ratios():
    changes = [0.1, -0.2, 0.4]
    total = aggregate_sequence_logps(double([changes]), torch.ones(1, 3, dtype=torch.bool)).item()
    LESSON.printed("step-3", f"${listed(changes)}$", f"${total:+g}$", rf"$e^{{{total:g}}}\approx {math.exp(total):.2f}$")
    LESSON.printed("step-3", "$+0.01$", "100", rf"$e^{{{100 * 0.01:g}}}\approx {math.exp(1):.2f}$")
    LESSON.printed("why-aggregate-sequence-logps", "$e^{1}$", "$e^{0.01}$", "100", "0.01")
    scores, mask = double([[-1, -2, -math.inf]]), torch.tensor([[True, True, False]])
    LESSON.printed("todo-1", r"$(-1,-2,-\infty)$", f"${aggregate_sequence_logps(scores, mask).item():g}$")


def loss_and_gradient(ratio: float, advantage: float) -> tuple[float, float]:
    """Of one completion, with the epsilons of the lesson."""
    new = double([math.log(ratio)]).requires_grad_()
    losses, _ = rloo_policy_loss(new, torch.zeros(1), double([advantage]), epsilon_low=0.2, epsilon_high=0.28)
    losses.sum().backward()
    return losses.item(), new.grad.item()


def test_the_table_of_the_clip():
    ratios = (0.5, 1.1, 1.5)
    rows = [[0.0 - loss_and_gradient(ratio, advantage)[1] for ratio in ratios] for advantage in (1, -1)]
    LESSON.table("gradient-stops", *(brief(row, sign=True) for row in rows))
    LESSON.printed("gradient-stops", r"$\epsilon_{\mathrm{low}}=0.2$", r"$\epsilon_{\mathrm{high}}=0.28$")
    LESSON.printed("gradient-stops", "$A=+1$", "$A=-1$", *(rf"$\rho={ratio}$" for ratio in ratios))
    (good, none), (bad, slope) = loss_and_gradient(1.5, 1), loss_and_gradient(1.5, -1)
    LESSON.printed("todo-4", "0.2", "0.28", "1.5", "$A=+1$", f"${good:g}$", f"{none + 0.0:g}", "$A=-1$", f"${bad:+g}$", f"${slope:+g}$")


def test_a_loss_of_zero_has_a_gradient():
    new = torch.zeros(2, dtype=torch.float64, requires_grad=True)
    losses, _ = rloo_policy_loss(new, torch.zeros(2), double([1, -1]))
    losses.mean().backward()
    assert losses.mean() == 0
    LESSON.printed("zero-loss", "$A=(+1,-1)$", r"$-\frac{1}{2}(1-1)=0$", f"$({listed(new.grad)})$")


# The cells that a learner runs, and the questions


def test_first_step_and_later_step():
    seen, backward = [], "losses.mean().backward()"
    noted = f"{backward}; seen.append((ratios.detach(), losses.mean().item(), new.grad))"
    watched = LESSON.cells["first-step", None].replace(backward, noted)
    names = {"torch": torch, "seen": seen, **vars(rloo)}
    exec(watched, names)
    (first, loss, gradient), (later, _, moved) = seen
    signs = ",".join("+" if advantage > 0 else "-" for advantage in names["advantages"])
    LESSON.printed("use-it", "1, 0, 1, 0", f"${signs}$", r"$\beta=0.5$", "0.8", "1.28")
    assert (first == 1).all() and abs(loss) < 1e-6
    torch.testing.assert_close(gradient, (-names["advantages"][:, None] / 4).expand(4, 2) * names["mask"])
    LESSON.printed("use-it", ", ".join(f"{ratio:.2f}" for ratio in later))
    outside = [place for place in range(4) if not 0.8 <= later[place] <= 1.28]
    assert outside == [0, 2] and [place for place in range(4) if not moved[place].any()] == [0] and moved[1, 1] == 0
    LESSON.printed("saw-first-step", "$-A_i/4$", "1.28", f"{later[2]:.2f}", "0.5")


def test_the_tiny_model_and_a_group_of_eight():
    right, wrong = advantages_of(*[1.0] * 3, *[0.0] * 5)[[0, -1]].tolist()
    for value in (right, wrong):
        part = Fraction(abs(value)).limit_denominator(10)
        LESSON.printed("saw-train", f"${'+' if value > 0 else '-'}\\frac{part.numerator}{part.denominator}$")
    size = sum(parameter.numel() for parameter in load("half").parameters())
    assert f"{round(size, -3):,}" in LESSON.cell("train", "en") and f"{size / 1e4:.1f} 万" in LESSON.cell("train", "zh")
    LESSON.printed_of_the_training()


def test_the_rubric():
    filled = advantages_of(1, 0, 0)
    LESSON.printed("rubric", f"${listed(advantages_of(1, NAN, 0))}$", f"${listed(filled)}$", f"{0 - filled[2]:g}")
