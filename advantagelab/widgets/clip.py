"""Where does the clipped objective stop pushing? J and its gradient against the ratio, for both signs of the advantage."""

from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from ..fonts import plot_text
from ..language import text
from .panel import Panel, Picture, Words, is_static, question, slider, toggle
from .style import BLUE, GRAY, LIGHT_GRAY, PALE_GRAY, PAPER, VERMILLION, number

SIZE = (7.4, 3.3)
START = {"advantage": 1, "ratio": 1.35, "epsilon_low": 0.2, "epsilon_high": 0.2}
RATIOS = np.linspace(0, 2.2, 441)
LINES = {1: {"color": BLUE, "linestyle": "-"}, -1: {"color": VERMILLION, "linestyle": "--"}}
FLAT = {"facecolor": LIGHT_GRAY, "edgecolor": PALE_GRAY, "hatch": "\\\\\\", "linewidth": 0}
POINTS = {1: {"color": BLUE, "marker": "o"}, -1: {"color": VERMILLION, "marker": "s"}}


class Clipped(NamedTuple):
    objective: np.ndarray  # J = min(ρA, clip(ρ)A)
    gradient: np.ndarray  # dJ/dlog π = ρA, or 0 where the clip decides


def bounds(epsilon_low: float, epsilon_high: float) -> tuple[float, float]:
    """Rounded, because 1 − 0.3 is not quite the 0.7 that a slider gives."""
    return round(1 - epsilon_low, 9), round(1 + epsilon_high, 9)


def clip_objective(ratio: np.ndarray, advantage: float, epsilon_low: float, epsilon_high: float) -> Clipped:
    """ratio: any shape. On a bound the gradient still passes, as in torch."""
    ratio, (low, high) = np.asarray(ratio, dtype=float), bounds(epsilon_low, epsilon_high)
    flat = (ratio > high) if advantage > 0 else (ratio < low) if advantage < 0 else np.zeros(ratio.shape, dtype=bool)
    return Clipped(np.minimum(ratio * advantage, ratio.clip(low, high) * advantage), np.where(flat, 0.0, ratio * advantage))


def frame_clip(figure: Figure) -> None:
    left, right = figure.add_axes((0.06, 0.27, 0.42, 0.62)), figure.add_axes((0.565, 0.27, 0.42, 0.62))
    left.set(title=plot_text(r"Surrogate objective $J$", r"代理目标 $J$"))
    right.set(title=plot_text(r"Gradient $\partial J/\partial\log\pi$", r"梯度 $\partial J/\partial\log\pi$"))
    for axes in (left, right):
        axes.set(xlim=(0, 2.2), ylim=(-2.4, 2.4), xticks=(0, 0.5, 1, 1.5, 2), yticks=(-2, -1, 0, 1, 2))
        axes.axhline(0, color=GRAY, linewidth=0.8)
        axes.set_xlabel(plot_text(r"sequence ratio $\rho$", r"序列比率 $\rho$"))
    handles = [Line2D([], [], linewidth=2, **LINES[1]), Line2D([], [], linewidth=2, **LINES[-1]), Patch(**FLAT)]
    labels = ["$A=+1$", "$A=-1$", plot_text(r"gradient 0 for the chosen $A$", r"所选 $A$ 的梯度为 0")]
    figure.legend(handles, labels, loc="lower center", ncol=3)


def draw_clip(figure: Figure, advantage: int, ratio: float, epsilon_low: float, epsilon_high: float) -> None:
    low, high = bounds(epsilon_low, epsilon_high)
    flat = (high, RATIOS[-1]) if advantage > 0 else (0, low)
    point = clip_objective(ratio, advantage, epsilon_low, epsilon_high)
    for axes, quantity in zip(figure.axes, Clipped._fields, strict=True):
        axes.axvspan(*flat, **FLAT)
        for bound, side in ((low, "right"), (high, "left")):
            axes.axvline(bound, color=GRAY, linestyle=":", linewidth=1.2)
            place = bound + (0.03 if side == "left" else -0.03)
            axes.text(place, -2.3, number(bound), ha=side, va="bottom", fontsize=9, bbox=PAPER)
        for sign in (-advantage, advantage):
            curve = getattr(clip_objective(RATIOS, sign, epsilon_low, epsilon_high), quantity)
            curve[1:][np.abs(np.diff(curve)) > 0.1] = np.nan  # a jump is not joined by a line
            axes.plot(RATIOS, curve, linewidth=2.5 if sign == advantage else 1, **LINES[sign])
        axes.plot([ratio], [getattr(point, quantity)], markersize=10, markeredgecolor="black", zorder=4, **POINTS[advantage])


def describe_clip(advantage: int, ratio: float, epsilon_low: float, epsilon_high: float) -> Words:
    point = clip_objective(ratio, advantage, epsilon_low, epsilon_high)
    low_bound, high_bound = bounds(epsilon_low, epsilon_high)
    low, high, signed = number(low_bound), number(high_bound), number(advantage, 0, sign=True)
    shown, objective, gradient = number(ratio), number(point.objective), number(point.gradient, sign=True)
    alt = text(
        f"Surrogate objective J and its gradient against the sequence ratio, clip range {low} to {high}. "
        f"For A = +1 the gradient is 0 above {high}, for A = −1 below {low}, elsewhere it is the ratio times A. "
        f"The point: A = {signed}, ratio {shown}, J = {objective}, gradient {gradient}.",
        f"代理目标 J 及其梯度随序列比率的变化，裁剪范围 {low} 到 {high}。"
        f"A = +1 时比率大于 {high} 则梯度为 0，A = −1 时比率小于 {low} 则梯度为 0，其余处梯度为比率乘 A。"
        f"当前点：A = {signed}，比率 {shown}，J = {objective}，梯度 {gradient}。",
    )
    side, where = "inside", f"{low} ≤ ρ = {shown} ≤ {high}"
    if ratio < low_bound:
        side, where = "below", f"ρ = {shown} < {low}"
    if ratio > high_bound:
        side, where = "above", f"ρ = {shown} > {high}"
    happens = {
        (1, "above"): (
            f"J stays at {objective}, gradient 0, so the update stops pushing this completion up.",
            f"J 停在 {objective}，梯度为 0，更新不再推高这条回答的概率。",
        ),
        (1, "inside"): (
            f"gradient ρA = {gradient}, so the update raises the probability of this completion.",
            f"梯度 ρA = {gradient}，更新提高这条回答的概率。",
        ),
        (1, "below"): (
            f"not clipped, gradient ρA = {gradient}; a good completion became less probable, and the update may bring it back.",
            f"不裁剪，梯度 ρA = {gradient}；好的回答概率反而降了，更新可以把它拉回来。",
        ),
        (-1, "below"): (
            f"J stays at {objective}, gradient 0, so the update stops pushing this completion down.",
            f"J 停在 {objective}，梯度为 0，更新不再压低这条回答的概率。",
        ),
        (-1, "inside"): (
            f"gradient ρA = {gradient}, so the update lowers the probability of this completion.",
            f"梯度 ρA = {gradient}，更新降低这条回答的概率。",
        ),
        (-1, "above"): (
            f"not clipped, gradient ρA = {gradient}; on this side it grows with ρ without bound.",
            f"不裁剪，梯度 ρA = {gradient}；在这一侧它随 ρ 增大，没有上限。",
        ),
    }
    happening = text(*happens[advantage, side])
    return Words(alt, text(f"A = {signed}, {where}: {happening}", f"A = {signed}，{where}：{happening}"))


def _draw(figure: Figure, values: dict[str, Any]) -> Words:
    values = values | {"ratio": round(values["ratio"], 9)}
    draw_clip(figure, **values)
    return describe_clip(**values)


def clip_region() -> Picture:
    """J and its gradient against the sequence ratio. | 代理目标 J 及其梯度随序列比率的变化。"""
    if is_static():
        return Picture(SIZE, frame_clip, _draw, START)
    controls = {
        "advantage": toggle(text("Advantage A", "优势 A"), [("+1", 1), ("−1", -1)], START["advantage"]),
        "ratio": slider(text("Sequence ratio ρ", "序列比率 ρ"), START["ratio"], 0.1, 2.1, 0.01),
        "epsilon_low": slider("epsilon_low", START["epsilon_low"], 0.05, 0.6, 0.01),
        "epsilon_high": slider("epsilon_high", START["epsilon_high"], 0.05, 1, 0.01),
    }
    asked = question(
        text(
            "Which side does the clip guard when A > 0, and which when A < 0? Where may the ratio run away?",
            "A > 0 时裁剪限制哪一侧？A < 0 时又是哪一侧？比率在哪里不受限制？",
        )
    )
    return Panel(SIZE, frame_clip, _draw, controls, [asked, *controls.values()])
