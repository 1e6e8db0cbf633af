"""What is each completion compared with? The leave-one-out baseline beside the mean of the whole group."""

from typing import Any, NamedTuple

import ipywidgets as W
import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from ..fonts import plot_text
from ..language import text
from .panel import Panel, Picture, Words, checkbox, is_static, question, slider
from .style import BLACK, BLUE, GRAY, ORANGE, PAPER, number

SIZE = (7.4, 3.3)
REWARDS = (1.0, 0.0, 0.0, 0.0)

REWARD = {"marker": "o", "markersize": 8, "color": BLACK}
GROUP_MEAN = {"color": ORANGE, "linestyle": "--", "linewidth": 2}
LEAVE_ONE_OUT_BAR = {"color": BLUE}
GROUP_MEAN_BAR = {"facecolor": "white", "edgecolor": ORANGE, "hatch": "////"}
BELOW = {"loc": "upper left", "borderpad": 0, "columnspacing": 1.5}


class Baselines(NamedTuple):
    group_mean: float  # NaN if no reward is there
    leave_one_out: np.ndarray  # [G], NaN where there is nothing to compare with
    group_mean_advantages: np.ndarray  # [G], 0 without a reward
    leave_one_out_advantages: np.ndarray  # [G], 0 without a reward or without a sibling that has one


def group_baselines(rewards: np.ndarray) -> Baselines:
    """rewards: [G], NaN = missing."""
    rewards = np.asarray(rewards, dtype=float)
    scored = ~np.isnan(rewards)
    count, total = scored.sum(), rewards[scored].sum()
    group_mean = total / count if count else np.nan
    leave_one_out = np.full(rewards.shape, np.nan)
    if count >= 2:
        leave_one_out[scored] = (total - rewards[scored]) / (count - 1)
    return Baselines(group_mean, leave_one_out, np.nan_to_num(rewards - group_mean), np.nan_to_num(rewards - leave_one_out))


def frame_group(figure: Figure) -> None:
    left, right = figure.add_axes((0.135, 0.21, 0.38, 0.69)), figure.add_axes((0.57, 0.21, 0.42, 0.69))
    for axes in (left, right):
        axes.set(ylim=(len(REWARDS) + 0.5, 0.5), yticks=range(1, len(REWARDS) + 1))
        axes.tick_params(axis="y", length=0)
    left.set(title=plot_text("Rewards and baselines", "奖励与基线"), xlim=(-1.7, 2.7), xticks=range(-1, 3))
    left.set_yticks(range(1, len(REWARDS) + 1), [plot_text(f"completion {i}", f"回答 {i}") for i in range(1, len(REWARDS) + 1)])
    right.set(title=plot_text("Advantage = reward − baseline", "优势 = 奖励 − 基线"), xlim=(-4.7, 4.7), xticks=range(-3, 4))
    right.axvline(0, color=GRAY, linewidth=0.8)
    reward = Line2D([], [], linestyle="", **REWARD)
    own, mean = Line2D([], [], color=BLUE, linewidth=3), Line2D([], [], **GROUP_MEAN)
    labels = [plot_text("reward", "奖励"), plot_text("leave-one-out baseline", "留一基线"), plot_text("group mean", "组均值")]
    left.legend([reward, own, mean], labels, ncol=2, bbox_to_anchor=(-0.2, -0.1), **BELOW)
    bars = [Patch(**LEAVE_ONE_OUT_BAR), Patch(**GROUP_MEAN_BAR)]
    labels = [plot_text("leave-one-out", "留一"), plot_text("group mean, own reward included", "组均值，含自身奖励")]
    right.legend(bars, labels, bbox_to_anchor=(-0.02, -0.1), **BELOW)


def draw_group(figure: Figure, rewards: np.ndarray, numbers: Baselines) -> None:
    left, right = figure.axes
    rows = np.arange(1, len(rewards) + 1)
    left.plot([numbers.group_mean] * 2, [0.5, len(rewards) + 0.5], **GROUP_MEAN)
    left.vlines(numbers.leave_one_out, rows - 0.3, rows + 0.3, color=BLUE, linewidth=3)
    left.plot(rewards, rows, linestyle="", zorder=3, **REWARD)
    for row, reward, baseline in zip(rows, rewards, numbers.leave_one_out, strict=True):
        if np.isnan(reward):
            left.text(0.5, row, plot_text("missing", "缺失"), ha="center", va="center", color=GRAY, bbox=PAPER)
        if not np.isnan(baseline):
            # On the side where the line of the group mean is not.
            side = 1 if baseline >= numbers.group_mean else -1
            left.text(baseline + 0.05 * side, row - 0.3, number(baseline), ha="left" if side > 0 else "right", va="bottom", color=BLUE,
                      fontsize=9, bbox=PAPER)
        if abs(reward - baseline) > 0.2:  # a shorter arrow is all head
            arrow = {"arrowstyle": "-|>", "color": BLUE, "shrinkA": 0, "shrinkB": 4}
            left.annotate("", (reward, row), (baseline, row), arrowprops=arrow)
    for offset, advantages, bar in (
        (-0.2, numbers.leave_one_out_advantages, LEAVE_ONE_OUT_BAR),
        (0.2, numbers.group_mean_advantages, GROUP_MEAN_BAR),
    ):
        right.barh(rows + offset, advantages, 0.36, **bar)
        for row, advantage in zip(rows + offset, advantages, strict=True):
            side = 1 if advantage >= 0 else -1
            label = number(advantage, sign=True)
            right.text(advantage + 0.1 * side, row, label, ha="left" if side > 0 else "right", va="center_baseline", fontsize=9)


def describe_group(rewards: np.ndarray, numbers: Baselines) -> Words:
    def listed(values: np.ndarray, missing: str) -> str:
        return text(", ", "，").join(missing if np.isnan(value) else number(value) for value in values)

    mean = text("none", "无") if np.isnan(numbers.group_mean) else number(numbers.group_mean)
    missing, none = text("missing", "缺失"), text("none", "无")
    alt = text(
        f"Completions 1 to {len(rewards)}. Rewards: {listed(rewards, missing)}. "
        f"Leave-one-out baselines: {listed(numbers.leave_one_out, none)}; advantages: {listed(numbers.leave_one_out_advantages, none)}. "
        f"Group mean: {mean}; advantages: {listed(numbers.group_mean_advantages, none)}.",
        f"回答 1 到 {len(rewards)}。奖励：{listed(rewards, missing)}。"
        f"留一基线：{listed(numbers.leave_one_out, none)}；优势：{listed(numbers.leave_one_out_advantages, none)}。"
        f"组均值：{mean}；优势：{listed(numbers.group_mean_advantages, none)}。",
    )
    scored = np.flatnonzero(~np.isnan(rewards))
    count = len(scored)
    if count == 0:
        return Words(alt, text("Every reward is missing: no advantage, no update.", "奖励全部缺失：没有优势，也没有更新。"))
    if count == 1:
        return Words(
            alt,
            text(
                f"Only completion {scored[0] + 1} has a reward: there is nothing to compare it with, so every advantage is 0.",
                f"只有回答 {scored[0] + 1} 有奖励：没有可比较的对象，优势全部为 0。",
            ),
        )
    if np.ptp(rewards[scored]) == 0:
        return Words(
            alt,
            text(
                "All rewards are equal: every advantage is 0, and the group gives no update.",
                "奖励全部相等：优势全部为 0，这一组不产生更新。",
            ),
        )
    return Words(
        alt,
        text(
            f"With n = {count} rewards, each leave-one-out advantage is n/(n − 1) = {count}/{count - 1} times the group-mean one; "
            "each kind sums to 0.",
            f"共有 n = {count} 个奖励：每个留一优势都是组均值优势的 n/(n − 1) = {count}/{count - 1} 倍；两种优势各自的和都为 0。",
        ),
    )


def _draw(figure: Figure, values: dict[str, Any]) -> Words:
    places = range(1, len(REWARDS) + 1)
    rewards = np.array([np.nan if values[f"missing_{i}"] else values[f"reward_{i}"] for i in places])
    numbers = group_baselines(rewards)
    draw_group(figure, rewards, numbers)
    return describe_group(rewards, numbers)


def baselines() -> Picture:
    """Rewards of one group by slider, any of them missing. | 拖动一组回答的奖励，任何一个都可以缺失。"""
    start = {f"reward_{i}": reward for i, reward in enumerate(REWARDS, 1)} | {f"missing_{i}": False for i in range(1, len(REWARDS) + 1)}
    if is_static():
        return Picture(SIZE, frame_group, _draw, start)
    controls, rows = {}, []
    for i, reward in enumerate(REWARDS, 1):
        reward_slider = slider(text(f"Reward of completion {i}", f"回答 {i} 的奖励"), reward, -1, 2, 0.25)
        missing = checkbox(text(f"reward {i} is missing", f"奖励 {i} 缺失"))
        missing.observe(lambda change, moved=reward_slider: setattr(moved, "disabled", change["new"]), names="value")
        controls |= {f"reward_{i}": reward_slider, f"missing_{i}": missing}
        rows.append(W.HBox([reward_slider, missing], layout=W.Layout(flex_flow="row wrap")))
    asked = question(
        text(
            "Raise only the reward of completion 3. Whose baseline changes, and whose advantage?",
            "只提高回答 3 的奖励：谁的基线会变？谁的优势会变？",
        )
    )
    return Panel(SIZE, frame_group, _draw, controls, [asked, *rows])
