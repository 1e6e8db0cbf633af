"""Is a missing reward a 0? The mean of the rewards that are there beside the mean that counts a missing one as 0."""

from typing import Any, NamedTuple

import ipywidgets as W
import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ..fonts import plot_text
from ..language import text
from .panel import Panel, Picture, Words, checkbox, is_static, question, slider
from .style import BLACK, BLUE, GRAY, ORANGE, PAPER, number

SIZE = (7.4, 2.4)
REWARDS = (1.0, 0.0, 0.5)

REWARD = {"marker": "o", "markersize": 8, "color": BLACK}
AS_ZERO = {"marker": "o", "markersize": 8, "markerfacecolor": "white", "markeredgecolor": ORANGE, "markeredgewidth": 1.5}
MEAN = {"color": BLUE, "linewidth": 2.5}
MEAN_AS_ZERO = {"color": ORANGE, "linewidth": 2, "linestyle": "--"}


class Means(NamedTuple):
    there: float  # of the rewards that are there; NaN if none is
    as_zero: float  # of all, a missing one counted as 0


def means(rewards: np.ndarray) -> Means:
    """rewards: [N], NaN = missing."""
    there = rewards[~np.isnan(rewards)]
    return Means(there.mean() if there.size else np.nan, np.nan_to_num(rewards).mean())


def frame_rewards(figure: Figure) -> None:
    axes = figure.add_axes((0.115, 0.12, 0.475, 0.85))
    axes.set(xlim=(-1.2, 2.5), xticks=range(-1, 3), ylim=(len(REWARDS) + 1, 0))
    axes.set_yticks(range(1, len(REWARDS) + 1), [plot_text(f"reward {i}", f"奖励 {i}") for i in range(1, len(REWARDS) + 1)])
    axes.tick_params(axis="y", length=0)
    marks = [
        Line2D([], [], linestyle="", **REWARD),
        Line2D([], [], **MEAN),
        Line2D([], [], linestyle="", **AS_ZERO),
        Line2D([], [], **MEAN_AS_ZERO),
    ]
    labels = [
        plot_text("a reward", "奖励"),
        plot_text("mean of the rewards that are there", "现有奖励的均值"),
        plot_text("a missing reward, counted as 0", "缺失奖励，当作 0"),
        plot_text("mean with missing as 0", "把缺失当作 0 的均值"),
    ]
    axes.legend(marks, labels, loc="center left", bbox_to_anchor=(1.03, 0.5), borderpad=0, labelspacing=0.9)


def draw_rewards(figure: Figure, rewards: np.ndarray, numbers: Means) -> None:
    (axes,) = figure.axes
    last = len(rewards)
    missing = np.isnan(rewards)
    axes.plot([numbers.there] * 2, [0.15, last + 0.3], **MEAN)
    axes.plot([numbers.as_zero] * 2, [0.55, last + 0.9], **MEAN_AS_ZERO)
    if not np.isnan(numbers.there):
        axes.text(numbers.there + 0.07, 0.3, number(numbers.there), va="center", color=BLUE)
    axes.text(numbers.as_zero + 0.07, last + 0.68, number(numbers.as_zero), va="center", color=BLACK)
    rows = np.arange(1, last + 1)
    axes.plot(rewards, rows, linestyle="", zorder=3, **REWARD)
    axes.plot(np.zeros(missing.sum()), rows[missing], linestyle="", zorder=3, **AS_ZERO)
    for row in rows[missing]:
        axes.text(-0.15, row, plot_text("missing", "缺失"), ha="right", va="center", color=GRAY, bbox=PAPER)


def describe_rewards(rewards: np.ndarray, numbers: Means) -> Words:
    missing = int(np.isnan(rewards).sum())
    there = text("none", "无") if missing == len(rewards) else number(numbers.there)
    listed = text(", ", "，").join(text("missing", "缺失") if np.isnan(reward) else number(reward) for reward in rewards)
    alt = text(
        f"Rewards: {listed}. Mean of the rewards that are there: {there}. Mean with missing as 0: {number(numbers.as_zero)}.",
        f"奖励：{listed}。现有奖励的均值：{there}。把缺失当作 0 的均值：{number(numbers.as_zero)}。",
    )
    if missing == 0:
        return Words(alt, text("Nothing is missing: the two means agree.", "没有缺失：两个均值相同。"))
    if missing == len(rewards):
        return Words(
            alt,
            text(
                "Every reward is missing: there is no mean, yet counting them as 0 claims one.",
                "奖励全部缺失：没有均值可言，当作 0 却给出了一个。",
            ),
        )
    if abs(numbers.there - numbers.as_zero) < 1e-9:
        return Words(
            alt,
            text(
                "The rewards that are there have mean 0: only then do the two means agree all the same.",
                "现有奖励的均值恰好是 0：只有这时，两个均值仍然相同。",
            ),
        )
    return Words(
        alt,
        text(
            f"Counting what is missing as 0 moves the mean from {there} to {number(numbers.as_zero)}, though no scorer said 0.",
            f"把缺失当作 0，均值就从 {there} 变成 {number(numbers.as_zero)}，可是没有谁打过 0 分。",
        ),
    )


def _draw(figure: Figure, values: dict[str, Any]) -> Words:
    places = range(1, len(REWARDS) + 1)
    rewards = np.array([np.nan if values[f"missing_{i}"] else values[f"reward_{i}"] for i in places])
    numbers = means(rewards)
    draw_rewards(figure, rewards, numbers)
    return describe_rewards(rewards, numbers)


def mean_reward() -> Picture:
    """Three rewards by slider, any of them missing. | 拖动三个奖励，任何一个都可以缺失。"""
    start = {f"reward_{i}": reward for i, reward in enumerate(REWARDS, 1)} | {f"missing_{i}": False for i in range(1, len(REWARDS) + 1)}
    if is_static():
        return Picture(SIZE, frame_rewards, _draw, start)
    controls, rows = {}, []
    for i, reward in enumerate(REWARDS, 1):
        reward_slider = slider(text(f"Reward {i}", f"奖励 {i}"), reward, -1, 2, 0.25)
        missing = checkbox(text(f"reward {i} is missing", f"奖励 {i} 缺失"))
        missing.observe(lambda change, moved=reward_slider: setattr(moved, "disabled", change["new"]), names="value")
        controls |= {f"reward_{i}": reward_slider, f"missing_{i}": missing}
        rows.append(W.HBox([reward_slider, missing], layout=W.Layout(flex_flow="row wrap")))
    asked = question(text("Mark reward 2 as missing. Which mean moves?", "把奖励 2 设为缺失：哪个均值会动？"))
    return Panel(SIZE, frame_rewards, _draw, controls, [asked, *rows])
