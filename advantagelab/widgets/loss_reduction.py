"""How hard is each token pushed? Four reductions over one short and one long completion."""

from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from ..fonts import plot_text
from ..language import text
from .panel import Panel, Picture, Words, is_static, question, whole_slider
from .style import BLUE, GRAY, VERMILLION

SIZE = (7.4, 4.0)
ADVANTAGES = (1, -1)
MAX_LENGTH = 10
REDUCTIONS = ("sequence_mean", "token_mean", "sequence_sum", "constant")
START = {"length_1": 2, "length_2": 8}

BARS = ({"facecolor": BLUE, "edgecolor": "white"}, {"facecolor": "white", "edgecolor": VERMILLION, "hatch": "////"})
COLORS = (BLUE, VERMILLION)


class Push(NamedTuple):
    """Minus the derivative of the loss by a token's log-probability, all ratios being 1."""

    token: np.ndarray  # [2], of each token of completion 1 and 2
    completion: np.ndarray  # [2], of all its tokens together


def push(reduction: str, lengths: tuple[int, int]) -> Push:
    counts = np.array(lengths)
    divisors = {
        "sequence_mean": len(counts) * counts,
        "token_mean": counts.sum(),
        "sequence_sum": len(counts),
        "constant": len(counts) * MAX_LENGTH,
    }
    token = np.array(ADVANTAGES) / divisors[reduction]
    return Push(token, token * counts)


def named(reduction: str, words=text) -> str:
    return {
        "sequence_mean": words("Sequence mean (GRPO)", "序列平均（GRPO）"),
        "token_mean": words("Token mean (DAPO)", "Token 平均（DAPO）"),
        "sequence_sum": words("Sequence sum", "序列求和"),
        "constant": words("Constant reduction (Dr.GRPO), scale × 10", "常数归约（Dr.GRPO），刻度放大 10 倍"),
    }[reduction]


def frame_reduction(figure: Figure) -> None:
    for place, reduction in enumerate(REDUCTIONS):
        axes = figure.add_axes((0.075 + 0.49 * (place % 2), 0.62 - 0.43 * (place // 2), 0.43, 0.285))
        largest = push(reduction, (1, 1)).token[0]  # of any two lengths
        axes.set(title=named(reduction, plot_text), xlim=(0.3, MAX_LENGTH + 5.5), ylim=(-1.15 * largest, 1.15 * largest))
        ticks = (-largest, 0, largest)
        axes.set(xticks=(1, MAX_LENGTH), yticks=ticks, yticklabels=[shown(tick) for tick in ticks])
        axes.set_xlabel(plot_text("token", "Token"), x=0.34, labelpad=-8)
        axes.axhline(0, color=GRAY, linewidth=0.8)
        axes.spines["bottom"].set_bounds(0.3, MAX_LENGTH + 0.5)
    labels = [plot_text("completion 1, $A=+1$", "回答 1，$A=+1$"), plot_text("completion 2, $A=-1$", "回答 2，$A=-1$")]
    figure.legend([Patch(**bar) for bar in BARS], labels, loc="lower center", ncol=2)


def draw_reduction(figure: Figure, pushes: dict[str, Push], lengths: tuple[int, int]) -> None:
    for axes, now in zip(figure.axes, pushes.values(), strict=True):
        middle = axes.get_ylim()[1] / 2
        for i, length in enumerate(lengths):
            axes.bar(np.arange(1, length + 1), now.token[i], 0.9, **BARS[i])
            words = f"{length} × {shown(now.token[i])}\n= {shown(now.completion[i])}"
            axes.text(MAX_LENGTH + 0.9, middle * ADVANTAGES[i], words, color=COLORS[i], va="center", linespacing=1.4)


def shown(value: float) -> str:
    return f"{value:.3g}".replace("-", "−")


def describe_reduction(pushes: dict[str, Push], lengths: tuple[int, int]) -> Words:
    each = text("; ", "；").join(
        text(
            f"{named(reduction)}: {shown(now.token[0])} and {shown(now.token[1])} on each token, "
            f"{shown(now.completion[0])} and {shown(now.completion[1])} on the whole completion",
            f"{named(reduction)}：每个 Token {shown(now.token[0])} 和 {shown(now.token[1])}，"
            f"整条回答 {shown(now.completion[0])} 和 {shown(now.completion[1])}",
        )
        for reduction, now in pushes.items()
    )
    alt = text(
        f"Push on completion 1 (A = +1, length {lengths[0]}) and completion 2 (A = −1, length {lengths[1]}), "
        f"max_length {MAX_LENGTH}. {each}.",
        f"回答 1（A = +1，长度 {lengths[0]}）与回答 2（A = −1，长度 {lengths[1]}）受到的推动，max_length 为 {MAX_LENGTH}。{each}。",
    )
    short, long = min(lengths), max(lengths)
    if short == long:
        return Words(alt, text(
            "Equal lengths: the four differ in one common factor only.",
            "长度相等：四种归约只差一个共同的倍数。",
        ))
    times = f"{long / short:.3g}"
    return Words(alt, text(
        f"Sequence mean: the two completions weigh the same, a token of the shorter one {times} times one of the longer. "
        f"The other three: all tokens weigh the same, the longer completion {times} times the shorter.",
        f"序列平均：两条回答权重相同，较短那条的一个 Token 抵得上较长那条的 {times} 个。"
        f"其余三种：所有 Token 权重相同，较长那条回答的权重是较短那条的 {times} 倍。",
    ))


def _draw(figure: Figure, values: dict[str, Any]) -> Words:
    lengths = (values["length_1"], values["length_2"])
    pushes = {reduction: push(reduction, lengths) for reduction in REDUCTIONS}
    draw_reduction(figure, pushes, lengths)
    return describe_reduction(pushes, lengths)


def loss_reduction() -> Picture:
    """Weight of each token under four reductions. | 四种归约下每个 Token 的权重。"""
    if is_static():
        return Picture(SIZE, frame_reduction, _draw, START)
    controls = {
        "length_1": whole_slider(text("Length of completion 1", "回答 1 的长度"), START["length_1"], 1, MAX_LENGTH),
        "length_2": whole_slider(text("Length of completion 2", "回答 2 的长度"), START["length_2"], 1, MAX_LENGTH),
    }
    asked = question(
        text(
            "Change only the length of completion 2. Under which reduction is a token of completion 1 pushed differently?",
            "只改变回答 2 的长度：在哪种归约下，回答 1 的 Token 受到的推动会变？",
        )
    )
    return Panel(SIZE, frame_reduction, _draw, controls, [asked, *controls.values()])
