"""Does the gap know what is right? Gaps of right and of wrong completions, for a teacher that reads no answer and for one that does."""

from typing import Any

import ipywidgets as W
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from ..fonts import plot_text
from ..language import text
from ..tinylm.recorded import read
from .panel import LABEL, WIDE, Panel, Picture, Words, dropdown, is_static, question
from .style import BLACK, BLUE, LIGHT_GRAY, VERMILLION, number

SIZE = (7.6, 4.0)
TEACHERS = {
    "answer_free": ("answer-free teacher: “show your work”", "无答案教师：“写出过程”"),
    "privileged": ("privileged teacher: it reads the answer", "特权教师：读到了正确答案"),
}
OUTCOMES = {
    "right": {"facecolor": BLUE, "edgecolor": "white"},
    "wrong": {"facecolor": VERMILLION, "edgecolor": "white", "hatch": "///"},
}
BASES = {
    "direct": ("it answers at once", "直接作答的模型"),
    "instructed-0": ("it shows its work half of the time", "一半时候写出过程的模型"),
}
TOKENS = {"all": ("all tokens", "全部 Token"), "answer": ("tokens of the answer", "答案的 Token")}
START = {"base": "direct", "tokens": "all", "least": 0.0}
HIGHEST = 0.72  # share of a bin that fills half of a chart


def frame_gaps(figure: Figure) -> None:
    edges = read("gap")["edges"]
    for place, (en, zh) in zip(((0.03, 0.25, 0.455, 0.6), (0.525, 0.25, 0.455, 0.6)), TEACHERS.values(), strict=True):
        axes = figure.add_axes(place)
        axes.set(xlim=(-1, len(edges)), ylim=(-HIGHEST, HIGHEST), yticks=[], xticks=[])
        axes.set_title(plot_text(en, zh), y=1.06)
        for spine in axes.spines.values():
            spine.set_visible(False)
        axes.axhline(0, color=BLACK, linewidth=0.8)
        for position, edge in enumerate(edges):
            if edge in (-8, -1, -0.1, 0, 0.1, 1, 8):
                axes.plot([position, position], [-HIGHEST, HIGHEST], color=LIGHT_GRAY, linewidth=0.8, zorder=0)
                axes.text(position, -HIGHEST, f"{edge:g}".replace("-", "−"), ha="center", va="top", fontsize=9)
    handles = [Patch(**look) for look in OUTCOMES.values()]
    labels = [plot_text("tokens of right completions", "正确回答的 Token"), plot_text("tokens of wrong completions", "错误回答的 Token")]
    figure.legend(handles, labels, loc="lower center", ncol=2)
    words = plot_text("teacher–student gap $g$ (uneven scale: outer bins span more)",
                      "教师—学生间隙 $g$（刻度不均匀：越往外，一格代表的范围越大）")
    figure.text(0.5, 0.125, words, ha="center")


def draw_gaps(figure: Figure, base: str, tokens: str, least: float) -> None:
    gap = read("gap")
    edges = np.array(gap["edges"])
    for axes, teacher in zip(figure.axes, TEACHERS, strict=True):
        hidden = [np.searchsorted(edges, bound) for bound in (-least, least)]
        axes.axvspan(*hidden, color=LIGHT_GRAY, linewidth=0, zorder=0)
        for sign, outcome in zip((1, -1), OUTCOMES, strict=True):
            numbers = gap["bases"][base][teacher][outcome][tokens]
            _bars(axes, sign, np.array(numbers["histogram"]) / numbers["tokens"], OUTCOMES[outcome])
            for side, position in ((-1, -0.9), (1, len(edges) - 0.1)):
                share = beyond(numbers, edges, least)[side]
                words = plot_text(f"{_percent(share)} beyond", f"{_percent(share)} 在此之外") if least else _percent(share)
                axes.text(position, sign * 0.62, f"g < 0: {words}" if side < 0 else f"g > 0: {words}",
                          ha="left" if side < 0 else "right", va="center", fontsize=9)


def _bars(axes: Axes, sign: int, shares: np.ndarray, look: dict) -> None:
    axes.bar(np.arange(len(shares)) - 0.5, sign * shares.clip(max=HIGHEST), width=0.94, linewidth=0, **look)


def beyond(numbers: dict, edges: np.ndarray, least: float) -> dict[int, float]:
    """The shares of tokens whose gap is below -least and above +least. Of all gaps at 0: below and above, with 0 itself in neither."""
    if least == 0:
        return {-1: numbers["negative"]["share"], 1: numbers["positive"]["share"]}
    counts = np.array(numbers["histogram"]) / numbers["tokens"]
    return {-1: counts[:np.searchsorted(edges, -least) + 1].sum(), 1: counts[np.searchsorted(edges, least) + 1:].sum()}


def _percent(share: float) -> str:
    return f"{number(100 * share, 1)}%"


def describe_gaps(base: str, tokens: str, least: float) -> Words:
    gap = read("gap")
    low, high = (f"{sign}{number(least, 2)}" if least else "0" for sign in "−+")
    parts, sizes = [], []
    for teacher, (en, zh) in TEACHERS.items():
        of_teacher = gap["bases"][base][teacher]
        right, wrong = (of_teacher[outcome][tokens] for outcome in OUTCOMES)
        shares = [beyond(numbers, np.array(gap["edges"]), least) for numbers in (right, wrong)]
        below, above = ([_percent(share[side]) for share in shares] for side in (-1, 1))
        parts.append(text(
            f"{en[0].upper()}{en[1:]}: below {low} are {below[0]} of the tokens of right completions and {below[1]} of wrong ones, "
            f"above {high} {above[0]} and {above[1]}.",
            f"{zh}：间隙小于 {low} 的，占正确回答 Token 的 {below[0]}、错误回答的 {below[1]}；"
            f"大于 {high} 的，占 {above[0]} 和 {above[1]}。"))
        mean = [number(numbers["negative"]["mean"], 3) for numbers in (right, wrong)]
        sizes.append(text(f"{mean[0]} in right and {mean[1]} in wrong completions", f"正确回答中 {mean[0]}，错误回答中 {mean[1]}"))
    caption = text(f"Mean of the negative gaps: {sizes[0]} with the answer-free teacher, {sizes[1]} with the privileged one.",
                   f"负间隙的平均值：无答案教师，{sizes[0]}；特权教师，{sizes[1]}。")
    alt = text(f"Histograms of the gap, {TOKENS[tokens][0]}; the model: {BASES[base][0]}. ",
               f"间隙的直方图，{TOKENS[tokens][1]}；{BASES[base][1]}。")
    return Words(alt + text(" ", "").join(parts), caption)


def _draw(figure: Figure, values: dict[str, Any]) -> Words:
    draw_gaps(figure, **values)
    return describe_gaps(**values)


def gap_histograms() -> Picture:
    """Gaps of right and wrong completions under two teachers. | 两种教师之下，正确与错误回答的间隙。"""
    if is_static():
        return Picture(SIZE, frame_gaps, _draw, START)
    edges = [edge for edge in read("gap")["edges"] if edge >= 0]
    least = W.SelectionSlider(
        description=text("Leave out gaps up to", "不计不超过此值的间隙"), options=[(f"{edge:g}", edge) for edge in edges], value=0.0,
        style=LABEL, layout=W.Layout(**WIDE))
    controls = {
        "base": dropdown(text("The model", "模型"), [(text(*words), base) for base, words in BASES.items()], START["base"]),
        "tokens": dropdown(text("Which tokens", "哪些 Token"), [(text(*words), name) for name, words in TOKENS.items()], START["tokens"]),
        "least": least,
    }
    asked = question(text("Is a negative gap rare in right completions?", "正确回答里的负间隙少见吗？"))
    return Panel(SIZE, frame_gaps, _draw, controls, [asked, *controls.values()])
