"""Which logits score which token, and at which temperature? Four tokens, a vocabulary of three."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from ..fonts import plot_text
from ..language import text
from .panel import Panel, Picture, Words, is_static, question, slider
from .style import BLUE, GRAY, LIGHT_GRAY, number

SIZE = (7.6, 2.9)  # all places below are in inches
START = {"temperature": 1.0}
IDS = (0, 1, 0, 2)  # two of the prompt, then "0" and EOS
PROMPT_LENGTH = 2
LOGITS = np.array([[5.0, 0, 0], [2, 0, 0], [1, 1, 0], [0, 0, 9]])

USED = {"facecolor": "#dcecf7", "edgecolor": BLUE, "linewidth": 1.5}
UNUSED = {"facecolor": LIGHT_GRAY, "edgecolor": GRAY, "linewidth": 1, "linestyle": "--"}
ARROW = {"arrowstyle": "-|>", "mutation_scale": 14, "color": BLUE, "linewidth": 2, "shrinkA": 0, "shrinkB": 0}
LEFT, STEP, WIDTH, HEIGHT = 1.35, 1.6, 1.15, 0.42
LOGITS_ROW, IDS_ROW, SCORE_ROW = 1.85, 0.85, 0.22


def token_scores(temperature: float) -> np.ndarray:
    """[2]: log-probabilities of the completion's tokens, each from the logits one place before it."""
    scaled = LOGITS[PROMPT_LENGTH - 1 : -1] / temperature
    logps = scaled - np.log(np.exp(scaled).sum(axis=1, keepdims=True))
    return logps[np.arange(len(logps)), list(IDS[PROMPT_LENGTH:])]


def draw_cell(axes: Axes, place: int, bottom: float, label: str, used: bool) -> None:
    left = LEFT + place * STEP
    axes.add_patch(Rectangle((left, bottom), WIDTH, HEIGHT, **(USED if used else UNUSED)))
    axes.text(left + WIDTH / 2, bottom + HEIGHT / 2, label, ha="center", va="center_baseline")


def frame_shift(figure: Figure) -> None:
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, SIZE[0]), ylim=(0, SIZE[1]))
    axes.axis("off")
    for row, label in ((LOGITS_ROW, "logits"), (IDS_ROW, "ids")):
        axes.text(LEFT - 0.15, row + HEIGHT / 2, label, ha="right", va="center_baseline")
    axes.text(LEFT - 0.15, SCORE_ROW, plot_text("log-prob.", "对数概率"), ha="right", va="center_baseline")
    for place, (token, row) in enumerate(zip(IDS, LOGITS, strict=True)):
        draw_cell(axes, place, LOGITS_ROW, f"({', '.join(f'{value:g}' for value in row)})", PROMPT_LENGTH <= place + 1 < len(IDS))
        draw_cell(axes, place, IDS_ROW, f"{token} = EOS" if token == IDS[-1] else str(token), place >= PROMPT_LENGTH)
        axes.text(LEFT + place * STEP + WIDTH / 2, LOGITS_ROW + HEIGHT + 0.08, str(place), ha="center", va="bottom", color=GRAY, fontsize=9)
    axes.text(LEFT - 0.15, LOGITS_ROW + HEIGHT + 0.08, plot_text("position", "位置"), ha="right", va="bottom", color=GRAY, fontsize=9)
    for first, last, label in ((0, PROMPT_LENGTH, ("prompt", "提示")), (PROMPT_LENGTH, len(IDS), ("completion", "回答"))):
        middle = LEFT + ((first + last - 1) * STEP + WIDTH) / 2
        axes.text(middle, SIZE[1] - 0.06, plot_text(*label), ha="center", va="top")
    for place in range(PROMPT_LENGTH, len(IDS)):
        start = LEFT + (place - 1) * STEP + WIDTH / 2, LOGITS_ROW
        axes.annotate("", (LEFT + place * STEP + WIDTH / 2, IDS_ROW + HEIGHT), start, arrowprops=ARROW)


def draw_shift(figure: Figure, temperature: float) -> None:
    for place, score in enumerate(token_scores(temperature), PROMPT_LENGTH):
        middle = LEFT + place * STEP + WIDTH / 2
        figure.axes[0].text(middle, SCORE_ROW, number(score, 3), ha="center", va="center_baseline", color=BLUE, fontsize=11)


def describe_shift(temperature: float) -> Words:
    at, plain = token_scores(temperature), token_scores(1.0)
    first, second = (number(score, 3) for score in at)
    ratios = [number(ratio) for ratio in np.exp(plain - at)]
    alt = text(
        f"Four tokens, ids {', '.join(map(str, IDS))}; the first two are the prompt. "
        f"The logits at position 1 score the token at position 2, those at position 2 the token at position 3; "
        f"the first and the last logits are not used. "
        f"At temperature {number(temperature)} the log-probabilities are {first} and {second}.",
        f"四个 Token，id 是 {'、'.join(map(str, IDS))}，前两个是提示。位置 1 的 logits 给位置 2 的 Token 打分，位置 2 的给位置 3 的打分；"
        f"第一个和最后一个位置的 logits 用不上。温度为 {number(temperature)} 时，对数概率是 {first} 和 {second}。",
    )
    if temperature == 1:
        return Words(
            alt,
            text(
                f"Sampled and updated at temperature 1.00: {first} and {second}, and both see the same probabilities.",
                f"采样和更新都用温度 1.00：{first} 和 {second}，两次算出的概率相同。",
            ),
        )
    return Words(
        alt,
        text(
            f"Sampled at temperature {number(temperature)}: {first} and {second}. Scored at 1.00 in the update, "
            f"the probabilities would be off by factors of {ratios[0]} and {ratios[1]}.",
            f"采样温度 {number(temperature)}：{first} 和 {second}。"
            f"更新时若按温度 1.00 计算，概率就成了采样时的 {ratios[0]} 倍和 {ratios[1]} 倍。",
        ),
    )


def _draw(figure: Figure, values: dict[str, Any]) -> Words:
    temperature = round(values["temperature"], 9)
    draw_shift(figure, temperature)
    return describe_shift(temperature)


def token_shift() -> Picture:
    """Which logits score which token, by temperature. | 哪个位置的 logits 给哪个 Token 打分，随温度变化。"""
    if is_static():
        return Picture(SIZE, frame_shift, _draw, START)
    controls = {"temperature": slider(text("Temperature", "温度"), START["temperature"], 0.5, 2, 0.05)}
    asked = question(
        text(
            "Which logits are not used? Raise the temperature: which of the two log-probabilities rises, and why?",
            "哪些 logits 用不上？把温度调高，两个对数概率里哪一个变大，为什么？",
        )
    )
    return Panel(SIZE, frame_shift, _draw, controls, [asked, *controls.values()])
