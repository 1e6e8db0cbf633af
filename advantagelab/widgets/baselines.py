"""What is each completion compared with? The leave-one-out baseline beside the mean of the whole group."""

from typing import Any, NamedTuple

import ipywidgets as W
import numpy as np
from matplotlib.figure import Figure

from ..fonts import plot_text
from ..language import text
from .panel import Panel, Picture, Words, checkbox, is_static, question, slider
from .style import BLACK, BLUE, GRAY, ORANGE, number

SIZE = (7.4, 3.3)
REWARDS = (1.0, 0.0, 0.0, 0.0)


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


def draw_group(figure: Figure, rewards: np.ndarray, numbers: Baselines) -> None:
    places = np.arange(1, len(rewards) + 1)
    left = figure.add_axes((0.075, 0.25, 0.38, 0.64))
    right = figure.add_axes((0.555, 0.25, 0.435, 0.64))

    left.set(title=plot_text("Rewards and baselines", "奖励与基线"), xlim=(0.4, len(rewards) + 0.6), ylim=(-1.35, 2.35))
    if not np.isnan(numbers.group_mean):
        left.axhline(numbers.group_mean, color=ORANGE, linestyle="--", linewidth=2)
    left.hlines(numbers.leave_one_out, places - 0.32, places + 0.32, color=BLUE, linewidth=3.5)
    left.plot(places, rewards, linestyle="", marker="o", markersize=8, color=BLACK, zorder=3)
    for place, reward, baseline in zip(places, rewards, numbers.leave_one_out, strict=True):
        if np.isnan(reward):
            left.text(place, 0.5, plot_text("missing", "缺失"), rotation=90, ha="center", va="center", color=GRAY)
        elif abs(reward - baseline) > 0.2:
            left.annotate("", (place, reward), (place, baseline), arrowprops={"arrowstyle": "-|>", "color": BLUE, "shrinkA": 0, "shrinkB": 4})

    right.set(title=plot_text("Advantage = reward − baseline", "优势 = 奖励 − 基线"), xlim=(0.4, len(rewards) + 0.6), ylim=(-3.9, 3.9))
    right.axhline(0, color=GRAY, linewidth=0.8)
    right.bar(places - 0.21, numbers.leave_one_out_advantages, 0.38, color=BLUE)
    right.bar(places + 0.21, numbers.group_mean_advantages, 0.38, color="white", edgecolor=ORANGE, hatch="////")
    for offset, advantages in ((-0.22, numbers.leave_one_out_advantages), (0.22, numbers.group_mean_advantages)):
        for place, advantage in zip(places + offset, advantages, strict=True):
            above = advantage >= 0
            label = number(advantage, sign=True)
            right.text(place, advantage + (0.12 if above else -0.12), label, ha="center", va="bottom" if above else "top", fontsize=9)

    for axes in (left, right):
        axes.set_xticks(places)
        axes.set_xlabel(plot_text("completion", "回答"))
    left.set_ylabel(plot_text("reward", "奖励"))
    handles = [
        left.plot([], [], linestyle="", marker="o", markersize=8, color=BLACK)[0],
        left.plot([], [], color=BLUE, linewidth=3.5)[0],
        left.plot([], [], color=ORANGE, linestyle="--", linewidth=2)[0],
    ]
    labels = [
        plot_text("reward", "奖励"),
        plot_text("leave-one-out baseline", "留一基线"),
        plot_text("group mean (includes the completion's own reward)", "组均值（含自身奖励）"),
    ]
    figure.legend(handles, labels, loc="lower center", ncol=3)


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
            f"With n = {count} rewards, each leave-one-out advantage is n/(n − 1) = {count}/{count - 1} times the group-mean one; each kind sums to 0.",
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
        return Picture(SIZE, _draw, start)
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
    return Panel(SIZE, _draw, controls, [asked, *rows])
