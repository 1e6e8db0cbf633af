"""What does a constant baseline change? The policy gradient of one draw from a small bandit: its mean, and its exact variance."""

from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from ..fonts import plot_text
from ..language import text
from .panel import Panel, Picture, Words, dropdown, is_static, question, slider
from .style import BLACK, BLUE, GRAY, GREEN, ORANGE, PAPER, VERMILLION, number
from .variance import BANDITS, NAMES

SIZE = (7.4, 3.4)
START = {"bandit": "skewed", "baseline": 0.0}
LOWEST, HIGHEST = -0.25, 1.25
BASELINES = np.linspace(LOWEST, HIGHEST, 151)

# One color, marker and line for each arm that can be drawn.
DRAWS = (
    {"color": BLUE, "marker": "o"},
    {"color": ORANGE, "marker": "^"},
    {"color": VERMILLION, "marker": "s"},
)
MEAN = {"facecolor": "#d9d9d9", "edgecolor": BLACK, "linewidth": 0.8}
PLACES = {
    "none": {"color": BLACK, "marker": "x", "markersize": 7, "markeredgewidth": 2},
    "value": {"color": BLACK, "marker": "P", "markersize": 8},
    "best": {"color": GREEN, "marker": "*", "markersize": 11},
}


class OneDraw(NamedTuple):
    gradients: np.ndarray  # [arms drawn, logits]: (R − b) ∇log π of each arm that may come up
    expectation: np.ndarray  # [logits]
    variance: float  # summed over the logits


def one_draw(probabilities: tuple[float, ...], rewards: tuple[float, ...], baseline: float) -> OneDraw:
    """The gradient is that of the logits of a softmax policy, so the score of arm k is onehot(k) − probabilities."""
    policy = np.array(probabilities)
    gradients = (np.array(rewards) - baseline)[:, None] * (np.eye(len(policy)) - policy)
    expectation = policy @ gradients
    return OneDraw(gradients, expectation, float(policy @ ((gradients - expectation) ** 2).sum(axis=1)))


def value(probabilities: tuple[float, ...], rewards: tuple[float, ...]) -> float:
    return float(np.dot(probabilities, rewards))


def best_baseline(probabilities: tuple[float, ...], rewards: tuple[float, ...]) -> float:
    """E[|∇log π|² R] / E[|∇log π|²], where the variance is smallest."""
    policy = np.array(probabilities)
    weights = policy * ((np.eye(len(policy)) - policy) ** 2).sum(axis=1)
    return float(weights @ np.array(rewards) / weights.sum())


def frame_bandit(figure: Figure) -> None:
    left, right = figure.add_axes((0.075, 0.27, 0.42, 0.62)), figure.add_axes((0.585, 0.27, 0.4, 0.62))
    left.set(title=plot_text("Gradient of each arm's logit", "各臂 logit 的梯度"), xlim=(0.4, 3.6), ylim=(-1.15, 1.3), xticks=(1, 2, 3))
    left.set_xticks((1, 2, 3), [plot_text(f"arm {arm}", f"臂 {arm}") for arm in (1, 2, 3)])
    left.axhline(0, color=GRAY, linewidth=0.8)
    right.set(title=plot_text("Variance of one draw", "抽一次的方差"), xlim=(LOWEST - 0.1, HIGHEST + 0.1), ylim=(0, 0.8))
    right.set_xticks((0, 0.5, 1))
    right.set_xlabel(plot_text("baseline $b$", "基线 $b$"))
    drawn = [Line2D([], [], linestyle="", markersize=6, **mark) for mark in DRAWS]
    labels = [plot_text(f"arm {arm} drawn", f"抽到臂 {arm}") for arm in (1, 2, 3)]
    style = {"loc": "upper left", "borderpad": 0, "columnspacing": 1.1, "handletextpad": 0.4}
    left.legend([*drawn, Patch(**MEAN)], [*labels, plot_text("mean", "均值")], ncol=2, bbox_to_anchor=(0, -0.13), **style)
    places = [Line2D([], [], linestyle="", **mark) for mark in PLACES.values()]
    labels = ["$b=0$", "$b=V$", "$b=b^*$"]
    right.legend(places, labels, ncol=3, bbox_to_anchor=(0.05, -0.28), **style)


def draw_bandit(figure: Figure, probabilities: tuple[float, ...], rewards: tuple[float, ...], baseline: float) -> None:
    left, right = figure.axes
    now = one_draw(probabilities, rewards, baseline)
    logits = np.arange(1, len(rewards) + 1)
    left.bar(logits, now.expectation, 0.72, zorder=1, **MEAN)
    for offset, gradient, mark in zip((-0.2, 0, 0.2), now.gradients, DRAWS, strict=True):
        left.vlines(logits + offset, 0, gradient, color=mark["color"], linewidth=1, zorder=2)
        left.plot(logits + offset, gradient, linestyle="", markersize=6, zorder=3, **mark)
    right.plot(BASELINES, [one_draw(probabilities, rewards, at).variance for at in BASELINES], color=BLUE, linewidth=2)
    marked = {"none": 0.0, "value": value(probabilities, rewards), "best": best_baseline(probabilities, rewards)}
    for name, at in marked.items():
        right.plot([at], [one_draw(probabilities, rewards, at).variance], linestyle="", zorder=3, **PLACES[name])
    right.axvline(baseline, color=BLACK, linestyle="--", linewidth=1)
    right.plot([baseline], [now.variance], marker="o", markersize=12, markerfacecolor="none", markeredgecolor=BLACK, zorder=4)
    right.text(baseline, 0.75, number(now.variance, 4), ha="center", va="center", bbox=PAPER, zorder=5)


def describe_bandit(bandit: str, baseline: float) -> Words:
    now = one_draw(*BANDITS[bandit], baseline)
    mean, best = value(*BANDITS[bandit]), best_baseline(*BANDITS[bandit])
    without, least = one_draw(*BANDITS[bandit], 0.0).variance, one_draw(*BANDITS[bandit], best).variance

    def listed(row: np.ndarray) -> str:
        return text(", ", "，").join(number(entry) for entry in row)

    draws = text("; ", "；").join(
        text(f"if arm {arm} is drawn {listed(row)}", f"抽到臂 {arm} 时 {listed(row)}") for arm, row in enumerate(now.gradients, 1)
    )
    alt = text(
        f"{NAMES[bandit]}, baseline {number(baseline)}. Gradient of the three logits: {draws}; mean {listed(now.expectation)}. "
        f"Variance {number(now.variance, 4)}; without a baseline {number(without, 4)}, at V = {number(mean)} "
        f"{number(one_draw(*BANDITS[bandit], mean).variance, 4)}, smallest {number(least, 4)} at b* = {number(best, 4)}.",
        f"{NAMES[bandit]}，基线 {number(baseline)}。三个 logit 的梯度：{draws}；均值 {listed(now.expectation)}。"
        f"方差 {number(now.variance, 4)}；无基线时 {number(without, 4)}，V = {number(mean)} 处 "
        f"{number(one_draw(*BANDITS[bandit], mean).variance, 4)}，b* = {number(best, 4)} 处最小，为 {number(least, 4)}。",
    )
    caption = text(
        f"The mean gradient stays {listed(now.expectation)} whatever b is; the variance is "
        f"{number(now.variance / without)} times that without a baseline.",
        f"不论 b 取多少，梯度的均值都是 {listed(now.expectation)}；方差是无基线时的 {number(now.variance / without)} 倍。",
    )
    return Words(alt, caption)


def _draw(figure: Figure, values: dict[str, Any]) -> Words:
    draw_bandit(figure, *BANDITS[values["bandit"]], values["baseline"])
    return describe_bandit(values["bandit"], values["baseline"])


def bandit_baseline() -> Picture:
    """A constant baseline on a three-armed bandit: mean and variance of the gradient. | 三臂老虎机上的常数基线：梯度的均值与方差。"""
    if is_static():
        return Picture(SIZE, frame_bandit, _draw, START)
    options = [(name, bandit) for bandit, name in NAMES.items()]
    controls = {
        "bandit": dropdown(text("Policy and rewards", "策略与奖励"), options, START["bandit"]),
        "baseline": slider(text("Baseline b", "基线 b"), START["baseline"], LOWEST, HIGHEST, 0.05),
    }
    asked = question(
        text(
            "Where is the variance smallest? And what does the baseline do to the mean gradient?",
            "基线取多少时方差最小？梯度的均值又会怎样？",
        )
    )
    return Panel(SIZE, frame_bandit, _draw, controls, [asked, *controls.values()])
