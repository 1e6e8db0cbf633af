"""What does a baseline buy? Expectation and variance of the policy gradient on a small bandit, by going through every group."""

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure

from ..fonts import plot_text
from ..language import text
from .panel import Panel, Picture, Words, dropdown, is_static, question, slider, whole_slider
from .style import BLACK, BLUE, GRAY, ORANGE, PAPER, VERMILLION, number

SIZE = (7.4, 3.0)
# Name → (probability of each arm, its reward). Softmax policies, so the score of arm k is onehot(k) − probabilities.
BANDITS = {
    "uniform": ((1 / 3, 1 / 3, 1 / 3), (1.0, 0.0, 0.5)),
    "skewed": ((0.2, 0.3, 0.5), (1.0, 0.0, 0.0)),
}
NAMES = {"uniform": "p = (1/3, 1/3, 1/3), r = (1, 0, 0.5)", "skewed": "p = (0.2, 0.3, 0.5), r = (1, 0, 0)"}
GROUP_SIZES = range(2, 6)
ESTIMATORS = ("none", "group_mean", "leave_one_out")
START = {"bandit": "skewed", "group_size": 2, "shift": 0.0}


class Estimate(NamedTuple):
    expectation: np.ndarray  # [arms], of g = 1/G Σ A_i ∇log π(y_i), the gradient being that of the logits
    relative: float  # length of the expectation along the true gradient; 1 = unbiased
    variance: float  # summed over the arms


@cache
def every_group(probabilities: tuple[float, ...], group_size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """All groups that can be sampled: chance [M], arms [M, G], scores ∇log π [M, G, arms], M = arms ** G."""
    policy = np.array(probabilities)
    arms = np.indices((len(policy),) * group_size).reshape(group_size, -1).T
    return policy[arms].prod(axis=1), arms, np.eye(len(policy))[arms] - policy


def gradient_estimate(probabilities: tuple[float, ...], arm_rewards: tuple[float, ...], group_size: int, baseline: str) -> Estimate:
    chance, arms, scores = every_group(probabilities, group_size)
    policy, arm_rewards = np.array(probabilities), np.array(arm_rewards)
    rewards = arm_rewards[arms]
    total = rewards.sum(axis=1, keepdims=True)
    baselines = {"none": 0.0, "group_mean": total / group_size, "leave_one_out": (total - rewards) / (group_size - 1)}
    gradients = ((rewards - baselines[baseline])[..., None] * scores).mean(axis=1)
    expectation = chance @ gradients
    true = policy * (arm_rewards - policy @ arm_rewards)
    variance = float(chance @ ((gradients - expectation) ** 2).sum(axis=1))
    return Estimate(expectation, float(expectation @ true / (true @ true)), variance)


def named(estimator: str, words=text) -> str:
    return {
        "none": words("no baseline", "无基线"),
        "group_mean": words("group mean", "组均值"),
        "leave_one_out": words("leave-one-out", "留一"),
    }[estimator]


MARKS = {
    "none": {"color": VERMILLION, "marker": "s"},
    "group_mean": {"color": ORANGE, "marker": "^"},
    "leave_one_out": {"color": BLUE, "marker": "o"},
}
BARS = {
    "none": {"facecolor": "white", "edgecolor": VERMILLION, "hatch": "...."},
    "group_mean": {"facecolor": "white", "edgecolor": ORANGE, "hatch": "////"},
    "leave_one_out": {"color": BLUE},
}


def frame_variance(figure: Figure) -> None:
    left, right = figure.add_axes((0.155, 0.17, 0.3, 0.7)), figure.add_axes((0.52, 0.17, 0.46, 0.7))
    for axes in (left, right):
        axes.set(ylim=(len(ESTIMATORS) - 0.4, -0.6))
        axes.tick_params(axis="y", length=0)
    left.set(title=plot_text("Expected / true gradient", "期望梯度 / 真实梯度"), xlim=(0, 1.45), xticks=(0, 0.5, 1))
    left.set_yticks(range(len(ESTIMATORS)), [named(estimator, plot_text) for estimator in ESTIMATORS])
    left.axvline(1, color=BLACK, linestyle="--", linewidth=1)
    left.set_xlabel(plot_text("1 = unbiased", "1 = 无偏"))
    right.set(title=plot_text("Variance (small marks: G = 2 to 5)", "方差（小标记：G = 2 到 5）"))
    right.set_xlabel(plot_text("log scale", "对数坐标"))
    right.set(xscale="log", xlim=(4e-3, 1e2), yticks=[])
    ticks = (0.01, 0.1, 1, 10, 100)
    right.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    right.minorticks_off()


def draw_variance(figure: Figure, estimates: dict[str, dict[int, Estimate]], group_size: int) -> None:
    """estimates: estimator → group size → what it gives."""
    left, right = figure.axes
    for row, (estimator, by_size) in enumerate(estimates.items()):
        now, mark = by_size[group_size], MARKS[estimator]
        left.barh(row, now.relative, 0.5, **BARS[estimator])
        left.text(now.relative + 0.04, row, number(now.relative), va="center_baseline", fontsize=9, bbox=PAPER)
        right.axhline(row, color=GRAY, linewidth=0.5)
        right.plot([estimate.variance for estimate in by_size.values()], [row] * len(by_size), linestyle="", markersize=4, **mark)
        right.plot([now.variance], [row], markersize=11, **mark)
        right.text(now.variance, row - 0.16, f"{now.variance:.4g}", ha="center", va="bottom")


def describe_variance(bandit: str, estimates: dict[str, dict[int, Estimate]], group_size: int, shift: float) -> Words:
    now = {estimator: by_size[group_size] for estimator, by_size in estimates.items()}
    listed = text("; ", "；").join(
        text(
            f"{named(estimator)}: expected gradient {number(estimate.relative)} times the true one, variance {estimate.variance:.4g}",
            f"{named(estimator)}：期望梯度是真实梯度的 {number(estimate.relative)} 倍，方差 {estimate.variance:.4g}",
        )
        for estimator, estimate in now.items()
    )
    alt = text(
        f"{NAMES[bandit]}, group size {group_size}, {shift:g} added to all rewards. {listed}.",
        f"{NAMES[bandit]}，组大小 {group_size}，所有奖励加 {shift:g}。{listed}。",
    )
    times = now["leave_one_out"].variance / now["none"].variance
    if times > 0.1:
        compared = text(f"{number(times)} times that without a baseline", f"无基线时的 {number(times)} 倍")
    else:
        compared = text(f"1/{1 / times:.0f} of that without a baseline", f"无基线时的 1/{1 / times:.0f}")
    shrunk = number(now["group_mean"].relative)
    caption = text(
        f"Leave-one-out is unbiased; its variance is {compared}. "
        f"The group mean shrinks the expected gradient to (G − 1)/G = {shrunk}, because each reward is partly subtracted from itself.",
        f"留一基线无偏，方差是{compared}。组均值使期望梯度只剩真实梯度的 (G − 1)/G = {shrunk} 倍，因为每个奖励都减去了自身的一部分。",
    )
    return Words(alt, caption)


def _draw(figure: Figure, values: dict[str, Any]) -> Words:
    probabilities, rewards = BANDITS[values["bandit"]]
    shifted = tuple(reward + values["shift"] for reward in rewards)
    estimates = {
        estimator: {size: gradient_estimate(probabilities, shifted, size, estimator) for size in GROUP_SIZES} for estimator in ESTIMATORS
    }
    draw_variance(figure, estimates, values["group_size"])
    return describe_variance(values["bandit"], estimates, values["group_size"], values["shift"])


def baseline_variance() -> Picture:
    """Bias and variance of three estimators, enumerated exactly. | 精确枚举三种估计量的偏差与方差。"""
    if is_static():
        return Picture(SIZE, frame_variance, _draw, START)
    options = [(name, bandit) for bandit, name in NAMES.items()]
    controls = {
        "bandit": dropdown(text("Policy and rewards", "策略与奖励"), options, START["bandit"]),
        "group_size": whole_slider(text("Group size G", "组大小 G"), START["group_size"], GROUP_SIZES[0], GROUP_SIZES[-1]),
        "shift": slider(text("Add to all rewards", "所有奖励加上"), START["shift"], 0, 10, 0.5, digits=1),
    }
    asked = question(
        text(
            "Does leave-one-out always lower the variance? Which estimator notices a constant added to all rewards?",
            "留一基线总能降低方差吗？给所有奖励加一个常数，哪种估计量会受影响？",
        )
    )
    return Panel(SIZE, frame_variance, _draw, controls, [asked, *controls.values()])
