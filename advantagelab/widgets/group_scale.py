"""What does the division by the standard deviation do? To one group by its number of right completions, to a prompt by how hard it is."""

from functools import cache
from math import comb
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ..fonts import plot_text
from ..language import text
from .panel import Panel, Picture, Words, dropdown, is_static, question, slider, whole_slider
from .style import BLACK, BLUE, GRAY, ORANGE, PALE_GRAY, VERMILLION, number

SIZE = (7.4, 3.5)
GROUP_SIZE = 8
EPS = 1e-6
DDOF = {"ddof_0": 0, "ddof_1": 1}
DIVISORS = (*DDOF, "none")
COUNTS = np.arange(GROUP_SIZE + 1)
CHANCES = np.linspace(0.01, 0.99, 99)
START = {"right": 2, "divisor": "ddof_0", "extra": 0.0, "chance": 0.1}

LINES = {
    "right": {"color": BLUE, "marker": "o"},
    "wrong": {"color": VERMILLION, "marker": "s"},
    "first": {"color": ORANGE, "marker": "D"},
}
LEAVE_ONE_OUT = {"color": GRAY, "linestyle": ":", "linewidth": 1.5}


class Advantages(NamedTuple):
    """Of a group, or [9] of the groups with 0 to 8 right completions; NaN where there is no such completion."""

    right: np.ndarray
    wrong: np.ndarray
    first: np.ndarray  # completion 1, if it alone differs from the rest, by its extra reward


def group_advantages(rewards: np.ndarray, divisor: str) -> np.ndarray:
    """rewards: [G], none missing; divisor: one of DIVISORS, or "leave_one_out"."""
    if np.ptp(rewards) == 0:
        return np.zeros(len(rewards))
    centered = rewards - rewards.mean()
    if divisor == "leave_one_out":
        return centered * len(rewards) / (len(rewards) - 1)
    return centered if divisor == "none" else centered / (rewards.std(ddof=DDOF[divisor]) + EPS)


@cache
def advantages_by_count(divisor: str, extra: float = 0.0) -> Advantages:
    """The first completions are right and get 1, the rest get 0, and completion 1 gets `extra` on top."""
    rows = []
    for right in COUNTS:
        rewards = (np.arange(GROUP_SIZE) < right).astype(float)
        rewards[0] += extra
        advantages = group_advantages(rewards, divisor)
        alone = extra > 0 and right in (0, GROUP_SIZE)
        rows.append((
            advantages[right - 1] if right > 0 else np.nan,
            advantages[-1] if right < GROUP_SIZE else np.nan,
            advantages[0] if alone else np.nan,
        ))
    return Advantages(*np.array(rows).T)


def difficulty_factor(chance: float | np.ndarray, divisor: str) -> np.ndarray:
    """Expected gradient of a prompt along its true one, over all groups that can be sampled, each completion right with this chance."""
    chance = np.asarray(chance, dtype=float)[..., None]
    of_count = np.array([comb(GROUP_SIZE, count) for count in COUNTS]) * chance**COUNTS * (1 - chance) ** (GROUP_SIZE - COUNTS)
    # The score of right completions averages 1 − p, that of wrong ones −p, along the true gradient, which is p(1 − p).
    right, wrong, _ = np.nan_to_num(advantages_by_count(divisor))
    gradient = COUNTS / GROUP_SIZE * right * (1 - chance) - (1 - COUNTS / GROUP_SIZE) * wrong * chance
    return (of_count * gradient).sum(axis=-1) / (chance * (1 - chance))[..., 0]


def zero_variance_share(chance: float | np.ndarray) -> float | np.ndarray:
    return chance**GROUP_SIZE + (1 - chance) ** GROUP_SIZE


def shown(advantage: float) -> str:
    """Three digits behind the point, or three that say something."""
    if 0 < abs(advantage) < 0.05:
        return f"{advantage:+.3g}".replace("-", "−")
    return number(advantage, 3, sign=True)


def frame_scale(figure: Figure) -> None:
    left = figure.add_axes((0.065, 0.255, 0.4, 0.66))
    factor, share = figure.add_axes((0.575, 0.53, 0.41, 0.385)), figure.add_axes((0.575, 0.255, 0.41, 0.14))
    left.set(title=plot_text("Advantage in one group of 8", "一组 8 条回答的优势"), xlim=(-1.3, 9.3), ylim=(-3.5, 3.5))
    left.set(xticks=COUNTS, yticks=range(-3, 4))
    left.axhline(0, color=GRAY, linewidth=0.8)
    left.set_xlabel(plot_text("right completions of the 8", "8 条中答对的条数"))
    factor.set_title(plot_text("Expected / true gradient of a prompt", "一个提示的期望梯度 / 真实梯度"), y=1.05)
    factor.set(ylim=(0, 3.3), yticks=(0, 1, 2, 3))
    share.set(ylim=(0, 1), yticks=(0, 1), yticklabels=("0%", "100%"))
    share.set_title(plot_text("zero-variance groups", "零方差组"), fontsize=9)
    ticks = (0, 0.25, 0.5, 0.75, 1)
    factor.set(xlim=(0, 1), xticks=ticks, xticklabels=[])
    share.set(xlim=(0, 1), xticks=ticks, xticklabels=[f"{tick:g}" for tick in ticks])
    share.set_xlabel(plot_text("chance $p$ of a right completion", "答对的概率 $p$"))
    share.fill_between(CHANCES, zero_variance_share(CHANCES), color=PALE_GRAY, linewidth=0)
    handles = [Line2D([], [], linewidth=2, **LINES["right"]), Line2D([], [], linewidth=2, **LINES["wrong"])]
    handles += [Line2D([], [], linestyle="", **LINES["first"]), Line2D([], [], **LEAVE_ONE_OUT)]
    labels = [plot_text("right", "答对"), plot_text("wrong", "答错")]
    labels += [plot_text("completion 1, by its extra reward", "有额外奖励的回答 1"), plot_text("leave-one-out", "留一")]
    figure.legend(handles, labels, loc="lower center", ncol=4)


def draw_scale(figure: Figure, right: int, divisor: str, extra: float, chance: float) -> None:
    left, factor, share = figure.axes
    advantages, siblings = advantages_by_count(divisor, extra), advantages_by_count("leave_one_out", extra)
    left.axvline(right, color="#dddddd", linewidth=9, zorder=0)
    mixed = slice(1, GROUP_SIZE)  # at the ends the lines break off: the advantages are 0, or made of the extra reward
    for kind, line in LINES.items():
        values = getattr(advantages, kind)
        left.plot(COUNTS[mixed], getattr(siblings, kind)[mixed], **{**LEAVE_ONE_OUT, "color": line["color"]})
        left.plot(COUNTS[mixed], values[mixed], linewidth=2, color=line["color"])
        left.plot(COUNTS, values, linestyle="", markersize=4.5, **line)
        if np.isfinite(values[right]):
            left.plot([right], values[[right]], markersize=9, markeredgecolor=BLACK, **line)
            _label_advantage(left, right, kind, float(values[right]))
    now, groups = float(difficulty_factor(chance, divisor)), zero_variance_share(chance)
    factor.plot(CHANCES, difficulty_factor(CHANCES, "leave_one_out"), **LEAVE_ONE_OUT)
    factor.plot(CHANCES, difficulty_factor(CHANCES, divisor), color=BLACK, linewidth=2)
    factor.plot([chance], [now], marker="o", markersize=9, color=BLACK)
    share.plot([chance], [groups], marker="o", markersize=6, color=BLACK)
    side, place = ("left", chance + 0.03) if chance < 0.5 else ("right", chance - 0.03)
    factor.text(place, max(now, 1) + 0.15, number(now, 3), ha=side, va="bottom")
    share.text(place, 0.95, percent(groups), ha=side, va="top", fontsize=9)


def _label_advantage(axes: Axes, right: int, kind: str, value: float) -> None:
    """Beside the point, where its line moves away; at the ends above or below it."""
    mixed, up = 0 < right < GROUP_SIZE, value > 0 or kind == "right" and value == 0
    x, ha = (right + 0.3 if up else right - 0.3, "left" if up else "right") if mixed else (right, "center")
    gap = 0.15 if mixed else 0.35
    axes.text(x, value + gap if up else value - gap, shown(value), ha=ha, va="bottom" if up else "top", fontsize=9)


def percent(share: float) -> str:
    return f"{100 * share:.1f}%"


def named(divisor: str) -> str:
    return {
        "ddof_0": text("standard deviation, ddof 0", "标准差，ddof 0"),
        "ddof_1": text("standard deviation, ddof 1", "标准差，ddof 1"),
        "none": text("none (Dr.GRPO)", "无（Dr.GRPO）"),
    }[divisor]


def describe_scale(right: int, divisor: str, extra: float, chance: float) -> Words:
    of_right, of_wrong, of_first = (values[right] for values in advantages_by_count(divisor, extra))
    sibling_right, sibling_wrong, sibling_first = (values[right] for values in advantages_by_count("leave_one_out", extra))
    factor, share = number(difficulty_factor(chance, divisor), 3), percent(zero_variance_share(chance))
    listed = text("; ", "；").join(
        text(f"{kind}: {shown(own)}, leave-one-out {shown(other)}", f"{kind}：{shown(own)}，留一 {shown(other)}")
        for kind, own, other in (
            (text("completion 1 with the extra reward", "有额外奖励的回答 1"), of_first, sibling_first),
            (text("right", "答对"), of_right, sibling_right),
            (text("wrong", "答错"), of_wrong, sibling_wrong),
        )
        if not np.isnan(own)
    )
    alt = text(
        f"A group of 8 with {right} right, extra reward of completion 1: {extra:g}, divisor: {named(divisor)}. "
        f"Advantages: {listed}. With p = {chance:.2f} the expected gradient is {factor} times the true one, "
        f"leave-one-out 1 times; {share} of the groups have zero variance.",
        f"一组 8 条回答，答对 {right} 条，回答 1 的额外奖励：{extra:g}，除数：{named(divisor)}。优势：{listed}。"
        f"p = {chance:.2f} 时，期望梯度是真实梯度的 {factor} 倍，留一为 1 倍；零方差组占 {share}。",
    )
    return Words(alt, text(
        f"{_group_words(right, divisor, extra)} With p = {chance:.2f} the expected gradient is {factor} times the true one, "
        f"and {share} of the groups give nothing.",
        f"{_group_words(right, divisor, extra)}p = {chance:.2f} 时，期望梯度是真实梯度的 {factor} 倍，有 {share} 的组什么也给不了。",
    ))


def _group_words(right: int, divisor: str, extra: float) -> str:
    of_right, of_wrong, of_first = (values[right] for values in advantages_by_count(divisor, extra))
    if 0 < right < GROUP_SIZE:
        return text(
            f"{right} of 8 right: a right completion gets {shown(of_right)}, a wrong one {shown(of_wrong)}.",
            f"8 条中答对 {right} 条：答对的得 {shown(of_right)}，答错的得 {shown(of_wrong)}。",
        )
    all_alike = text("All are right", "全部答对") if right else text("All are wrong", "全部答错")
    if not extra:
        return text(f"{all_alike}: every advantage is exactly 0.", f"{all_alike}：优势恰好全为 0。")
    rest = shown(of_right if right else of_wrong)
    return text(
        f"{all_alike}, and completion 1 has {extra:g} more: it gets {shown(of_first)}, the rest {rest}.",
        f"{all_alike}，回答 1 多得 {extra:g}：它的优势是 {shown(of_first)}，其余是 {rest}。",
    )


def _draw(figure: Figure, values: dict[str, Any]) -> Words:
    values = values | {"extra": round(values["extra"], 9), "chance": round(values["chance"], 9)}
    draw_scale(figure, **values)
    return describe_scale(**values)


def group_scale() -> Picture:
    """What the division does to a group and to a prompt. | 除以标准差对一组、对一个提示的影响。"""
    if is_static():
        return Picture(SIZE, frame_scale, _draw, START)
    controls = {
        "right": whole_slider(text("Right completions of 8", "8 条中答对的条数"), START["right"], 0, GROUP_SIZE),
        "divisor": dropdown(text("Divisor", "除数"), [(named(divisor), divisor) for divisor in DIVISORS], START["divisor"]),
        "extra": slider(text("Extra for completion 1", "回答 1 的额外奖励"), START["extra"], 0, 0.01, 0.001, digits=3),
        "chance": slider(text("Chance p of a right one", "答对的概率 p"), START["chance"], 0.02, 0.98, 0.01),
    }
    asked = question(
        text(
            "Which outcome is pushed harder, the common or the rare one? What can an extra reward of 0.001 do?",
            "常见的结果和少见的结果，哪个推得更狠？多给 0.001 的奖励，能有多大作用？",
        )
    )
    return Panel(SIZE, frame_scale, _draw, controls, [asked, *controls.values()])
