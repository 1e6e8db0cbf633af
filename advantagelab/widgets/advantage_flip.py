"""What becomes of a base advantage? CAST's token advantage against the gap, for both signs of B, and on the tokens of two completions."""

from typing import Any

import ipywidgets as W
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from ..fonts import plot_text
from ..language import text
from .panel import Panel, Picture, Words, is_static, question
from .style import BLACK, BLUE, GRAY, VERMILLION, number
from .token_ribbon import COMPLETIONS, FLIPPED, draw_ribbon, frame_ribbon
from .token_shaping import (
    BOUNDS,
    END,
    GROUPS,
    START,
    STEP_OUT,
    ZERO_VARIANCE,
    Shaped,
    base_advantages,
    outside_dead_band,
    shape_advantages,
)

SIZE = (7.4, 5.2)
DRAWN = {"lower_plus": "$l_+$", "upper_plus": "$u_+$", "lower_minus": "$l_-$", "upper_minus": "$u_-$"}
LINES = {1: {"color": BLUE, "linestyle": "-", "linewidth": 4}, -1: {"color": VERMILLION, "linestyle": (0, (4, 2)), "linewidth": 2}}
# An open point goes around a filled one: where one curve jumps to, the other one stands.
FILLED = {1: {"marker": "o", "markersize": 7, "color": BLUE}, -1: {"marker": "s", "markersize": 6, "color": VERMILLION}}
OPEN = {sign: {**point, "markersize": 12, "markerfacecolor": "white", "markeredgewidth": 1.6} for sign, point in FILLED.items()}
OTHER_READING = {"color": GRAY, "linestyle": ":", "linewidth": 1.8}
FINAL_CLIP = {"color": GRAY, "linestyle": (0, (8, 3, 1, 3)), "linewidth": 0.9}


# --- the drawing ---


def frame_flip(figure: Figure) -> None:
    curves, ribbon = figure.add_axes((0.085, 0.495, 0.905, 0.445)), figure.add_axes((0, 0, 1, 1))
    ribbon.set(xlim=(0, SIZE[0]), ylim=(0, SIZE[1]))
    ribbon.axis("off")
    curves.set(title=plot_text("Token advantage against the gap", "Token 优势随间隙的变化"), xlim=(-0.83, 0.8), ylim=(-1, 1))
    curves.set(yticks=[], xticks=np.arange(-6, 7, 2) / 10)
    curves.spines["bottom"].set_bounds(-END, END)
    curves.set_xlabel(plot_text("teacher–student gap $g$", "教师—学生间隙 $g$"), labelpad=2)
    curves.axhline(0, color=GRAY, linewidth=0.8)
    curves.axvline(0, color=GRAY, linewidth=0.8)
    frame_ribbon(ribbon)
    handles = [Line2D([], [], **LINES[1]), Line2D([], [], **LINES[-1]), Line2D([], [], **OTHER_READING), Line2D([], [], **FINAL_CLIP)]
    labels = ["$B>0$", "$B<0$", plot_text("$B<0$, the other reading", "$B<0$，另一种读法"), plot_text("final clip", "最终裁剪")]
    figure.legend([*handles, Patch(**FLIPPED)], [*labels, plot_text("flipped", "翻转")], loc="lower center", ncol=5, columnspacing=1.6)


def draw_flip(figure: Figure, bases: tuple[float, float], knobs: dict[str, Any]) -> None:
    curves, ribbon = figure.axes
    largest = max(np.abs(curve).max() for curve in (*all_values(bases, knobs), np.array(bases).clip(-knobs["limit"], knobs["limit"])))
    tick = next(tick for tick in (0.05, 0.1, 0.2, 0.5, 1, 2) if largest <= 1.5 * tick)
    curves.set_ylim(-1.7 * tick, 1.7 * tick)
    for value in (-tick, 0, tick):
        curves.text(-0.84, value, f"{value:g}".replace("-", "−"), ha="right", va="center_baseline", fontsize=9)
    if knobs["limit"] < 1.7 * tick:
        curves.hlines([-knobs["limit"], knobs["limit"]], -END, END, **FINAL_CLIP)
    other = knobs | {"z": "printed" if knobs["z"] == "sign" else "sign"}
    left, right = outside_dead_band(knobs["dead_band"])
    gaps = np.concatenate([left, [np.nan], right])
    values, others = (shape_advantages(bases[1], gaps, reading).advantages for reading in (knobs, other))
    curves.plot(gaps, np.where(np.isclose(values, others), np.nan, others), **OTHER_READING)
    for base, sign in zip(bases, (1, -1), strict=True):
        draw_curve(curves, base, sign, knobs)
    if bases[0]:
        label_ends(curves, bases, knobs, least_distance=0.28 * tick)
    tokens = tuple(shape_advantages(base, completion.gaps, knobs).advantages for base, completion in zip(bases, COMPLETIONS, strict=True))
    draw_ribbon(ribbon, bases, tokens, largest or 1.0)


def all_values(bases: tuple[float, float], knobs: dict[str, Any]) -> list[np.ndarray]:
    return [shape_advantages(base, gaps, knobs).advantages for base in bases for gaps in outside_dead_band(knobs["dead_band"])]


def draw_curve(axes: Axes, base: float, sign: int, knobs: dict[str, Any]) -> None:
    """Broken where it jumps: what a gap of 0 gets is a filled point, what it just misses an open one."""
    band, (left, right) = knobs["dead_band"], outside_dead_band(knobs["dead_band"])
    gaps = np.concatenate([left, [np.nan, -band, band, np.nan], right])
    values = shape_advantages(base, gaps, knobs).advantages
    at_zero = values[len(left) + 1]
    axes.plot(gaps, values, **LINES[sign])
    beside = np.array([len(left) - 1, len(left) + 4])
    missed = beside[np.abs(values[beside] - at_zero) > 1e-6]
    axes.plot(gaps[missed], values[missed], linestyle="", zorder=4, **OPEN[sign])
    axes.plot([0], [at_zero], zorder=5, **FILLED[sign])


def label_ends(axes: Axes, bases: tuple[float, float], knobs: dict[str, Any], least_distance: float) -> None:
    """At each end of the two curves: what holds it there, and where."""
    for end, side in ((-END, "right"), (END, "left")):
        ends = [shape_advantages(base, np.array([end]), knobs) for base in bases]
        heights, words = [float(shaped.advantages[0]) for shaped in ends], [end_words(shaped) for shaped in ends]
        colors = [BLUE, VERMILLION]
        if words[0] == words[1]:
            heights, words, colors = heights[:1], words[:1], [BLACK]
        elif abs(heights[0] - heights[1]) < least_distance:
            middle, up = sum(heights) / 2, least_distance / 2 if heights[0] >= heights[1] else -least_distance / 2
            heights = [middle + up, middle - up]
        for height, word, color in zip(heights, words, colors, strict=True):
            axes.text(end * 1.02, height, word, ha=side, va="center", fontsize=8.5, color=color)


def end_words(shaped: Shaped) -> str:
    held_by, value = str(shaped.held_by[0]), number(shaped.advantages[0], 3, sign=True)
    name = plot_text("clip", "裁剪") if held_by == "limit" else DRAWN.get(held_by, "")
    return f"{name} {value}".strip()


# --- the words ---


def describe_flip(bases: tuple[float, float], knobs: dict[str, Any]) -> Words:
    rows = text("; ", "；").join(ribbon_words(base, completion, knobs) for base, completion in zip(bases, COMPLETIONS, strict=True))
    bounds = text(", ", "，").join(f"{name} = {knobs[knob]:.2f}" for knob, name in BOUNDS.items())
    on_off = {True: text("on", "开"), False: text("off", "关")}
    reading = named(knobs["z"])
    ends = text("; ", "；").join(curve_words(base, knobs) for base in bases)
    alt = text(
        f"CAST's token advantage against the gap g, dead band {knobs['dead_band']:.2f}. {group_words(knobs['group'], bases)} "
        f"Down flip {on_off[knobs['flip_down']]}, up flip {on_off[knobs['flip_up']]}, reading: {reading}, λ = {knobs['lam']:.2f}, "
        f"{bounds}, final clip ±{knobs['limit']:.2f}. {ends}. Token advantages: {rows}.",
        f"CAST 的 Token 优势随间隙 g 的变化，死区 {knobs['dead_band']:.2f}。{group_words(knobs['group'], bases)}"
        f"向下翻转：{on_off[knobs['flip_down']]}，向上翻转：{on_off[knobs['flip_up']]}，读法：{reading}，λ = {knobs['lam']:.2f}，"
        f"{bounds}，最终裁剪 ±{knobs['limit']:.2f}。{ends}。各 Token 的优势：{rows}。",
    )
    if bases[0] == 0:
        return Words(alt, text("δ = 0: a zero-variance group gives nothing, as in GRPO.", "δ = 0：零方差组什么也给不了，和 GRPO 一样。"))
    return Words(alt, text(" ", "").join([sign_words(bases, knobs), bound_words(bases, knobs), reading_words(bases, knobs)]))


def ribbon_words(base: float, completion, knobs: dict[str, Any]) -> str:
    values = shape_advantages(base, completion.gaps, knobs).advantages
    listed = text(", ", "，").join(f"{token} {number(value, 3, sign=True)}" for token, value in zip(completion.tokens, values, strict=True))
    return text(f"{completion.name[0]}: {listed}", f"{completion.name[1]}：{listed}")


def curve_words(base: float, knobs: dict[str, Any]) -> str:
    gaps = np.array([-END, -knobs["dead_band"] - STEP_OUT, 0, knobs["dead_band"] + STEP_OUT, END])
    far_left, left, zero, right, far_right = (
        number(value, 3, sign=True) for value in shape_advantages(base, gaps, knobs).advantages
    )
    signed = number(base, 3, sign=True)
    return text(
        f"B = {signed}: from {far_left} to {left} for g below 0, {zero} at g = 0, from {right} to {far_right} above",
        f"B = {signed}：g 小于 0 时从 {far_left} 到 {left}，g = 0 时 {zero}，g 大于 0 时从 {right} 到 {far_right}",
    )


def group_words(group: tuple[str, float], bases: tuple[float, float]) -> str:
    of_right, of_wrong = (number(base, 3, sign=True) for base in bases)
    kind, right = group
    if kind == ZERO_VARIANCE:
        return text(f"All right: B = {of_right}; all wrong: B = {of_wrong}.", f"全部答对：B = {of_right}；全部答错：B = {of_wrong}。")
    return text(
        f"{right} of 8 right: B = {of_right} for a right completion, {of_wrong} for a wrong one.",
        f"8 条中答对 {right} 条：答对的 B = {of_right}，答错的 B = {of_wrong}。",
    )


def sign_words(bases: tuple[float, float], knobs: dict[str, Any]) -> str:
    at_zero = text("at g = 0", " g = 0 处") if knobs["dead_band"] == 0 else text("in the dead band", "死区之内")
    if knobs["flip_down"] and knobs["flip_up"]:
        values = all_values(bases, knobs)
        same = np.allclose(np.concatenate(values[:2]), np.concatenate(values[2:]))
        coincide = text("; elsewhere the two curves are one", "；此外两条曲线重合") if same else ""
        return text(
            f"Both flips: the sign of the token advantage is that of g, and B decides it only {at_zero}{coincide}.",
            f"两个翻转都开：Token 优势的符号就是 g 的符号，只在{at_zero}由 B 决定{coincide}。",
        )
    if knobs["flip_down"]:
        return text(
            "Down flip only: below 0 both curves are negative, above 0 the sign is that of B.",
            "只开向下翻转：g 小于 0 时两条曲线都为负，g 大于 0 时符号由 B 决定。",
        )
    if knobs["flip_up"]:
        return text(
            "Up flip only: above 0 both curves are positive, below 0 the sign is that of B.",
            "只开向上翻转：g 大于 0 时两条曲线都为正，g 小于 0 时符号由 B 决定。",
        )
    return text(
        "No flip: the sign is that of B everywhere, and g only changes the size.",
        "两个翻转都关：符号处处由 B 决定，g 只改变大小。",
    )


def bound_words(bases: tuple[float, float], knobs: dict[str, Any]) -> str:
    gaps = np.concatenate(outside_dead_band(knobs["dead_band"]))
    holding = {held_by for base in bases for held_by in shape_advantages(base, gaps, knobs).held_by.tolist()}
    at_work = text(", ", "、").join(name for knob, name in BOUNDS.items() if knob in holding) or text("none", "无")
    idle = text(", ", "、").join(name for knob, name in BOUNDS.items() if knob not in holding) or text("none", "无")
    clip = text(" The final clip is at work.", "最终裁剪在起作用。") if "limit" in holding else ""
    return text(f"Bounds that are reached: {at_work}; never reached: {idle}.{clip}", f"碰得到的边界：{at_work}；碰不到的：{idle}。{clip}")


def reading_words(bases: tuple[float, float], knobs: dict[str, Any]) -> str:
    sides = outside_dead_band(knobs["dead_band"])
    sign, printed = ([shape_advantages(bases[1], gaps, knobs | {"z": z}).advantages for gaps in sides] for z in ("sign", "printed"))
    below, above = (not np.allclose(one, other) for one, other in zip(sign, printed, strict=True))
    if not below and not above:
        return text("The two readings of z give the same here.", "此处 z 的两种读法结果相同。")
    where = text(
        "g < 0" if not above else "g > 0" if not below else "any g ≠ 0",
        "g < 0" if not above else "g > 0" if not below else "g ≠ 0",
    )
    return text(f"The two readings of z differ for B < 0, {where}.", f"z 的两种读法在 B < 0、{where} 时不同。")


def named(z: str) -> str:
    printed = text("z = exp(g), as a translation of the paper prints it", "z = exp(g)（论文中译本的写法）")
    return {"sign": "z = exp(sign(B) g)", "printed": printed}[z]


# --- the panel ---


def _draw(figure: Figure, values: dict[str, Any]) -> Words:
    knobs = {name: round(value, 9) if isinstance(value, float) else value for name, value in values.items()}
    bases = base_advantages(*knobs["group"])
    draw_flip(figure, bases, knobs)
    return describe_flip(bases, knobs)


def knob(label: str, name: str, low: float, high: float, step: float) -> W.FloatSlider:
    """Three of them fit side by side."""
    return W.FloatSlider(
        description=label, value=START[name], min=low, max=high, step=step, readout_format=".2f",
        style={"description_width": "76px"}, layout=W.Layout(width="240px", max_width="100%"),
    )


def flip(label: str) -> W.Checkbox:
    return W.Checkbox(description=label, value=True, indent=False, layout=W.Layout(width="120px"))


def row(*controls: W.Widget) -> W.HBox:
    return W.HBox(list(controls), layout=W.Layout(flex_flow="row wrap", max_width="760px"))


def group_name(kind: str, right_or_delta: float) -> str:
    if kind == ZERO_VARIANCE:
        return text(f"zero variance, δ = {right_or_delta:g}", f"零方差，δ = {right_or_delta:g}")
    return text(f"mixed, {right_or_delta} of 8 right", f"混合，8 条中答对 {right_or_delta} 条")


def advantage_flip() -> Picture:
    """CAST's token advantage against the gap, and on two completions. | CAST 的 Token 优势随间隙的变化，以及在两条回答上的样子。"""
    if is_static():
        return Picture(SIZE, frame_flip, _draw, START)
    label = {"description_width": "76px"}
    controls = {
        "group": W.Dropdown(
            description=text("group", "组"), options=[(group_name(*group), group) for group in GROUPS], value=START["group"],
            style=label, layout=W.Layout(width="300px", max_width="100%")),
        "z": W.Dropdown(
            description=text("reading of z", "z 的读法"), options=[("sign: exp(sign(B)·g)", "sign"), ("printed: exp(g)", "printed")],
            value=START["z"], style={"description_width": "94px"}, layout=W.Layout(width="318px", max_width="100%")),
        "flip_down": flip(text("down flip", "向下翻转")),
        "flip_up": flip(text("up flip", "向上翻转")),
        "lam": knob("λ", "lam", 0, 1, 0.05),
        "dead_band": knob(text("dead band", "死区"), "dead_band", 0, 0.3, 0.01),
        "limit": knob(text("final clip", "最终裁剪"), "limit", 0.1, 3, 0.1),
        "lower_plus": knob(BOUNDS["lower_plus"], "lower_plus", 0.6, 1, 0.01),
        "upper_plus": knob(BOUNDS["upper_plus"], "upper_plus", 1, 1.6, 0.01),
        "lower_minus": knob(BOUNDS["lower_minus"], "lower_minus", 0.6, 1, 0.01),
        "upper_minus": knob(BOUNDS["upper_minus"], "upper_minus", 1, 1.6, 0.01),
    }
    asked = question(
        text(
            "What takes a flip back: a smaller λ, or a wider dead band?",
            "怎样才能让翻转的 Token 翻回来：调小 λ，还是放宽死区？",
        )
    )
    rows = (
        ("group", "z"), ("flip_down", "flip_up", "limit"), ("lam", "lower_plus", "upper_plus"), ("dead_band", "lower_minus", "upper_minus"))
    return Panel(SIZE, frame_flip, _draw, controls, [asked, *(row(*(controls[name] for name in names)) for names in rows)])
