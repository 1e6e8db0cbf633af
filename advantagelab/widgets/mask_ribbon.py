"""Which tokens of a completion count? Ids, the completion mask, and the mask that loses EOS where padding has the same id."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle

from ..fonts import plot_text
from ..language import text
from .panel import Picture, Words
from .style import BLACK, BLUE, GRAY, PALE_GRAY, PAPER, VERMILLION

SIZE = (7.6, 2.15)
DPI = 150
EOS = 2  # and the padding: many models have no id of its own for it
IDS = np.array([[7, 4, EOS, EOS, EOS], [9, EOS, EOS, EOS, EOS], [5, 8, 7, 3, 6]])

VALID = {"facecolor": "#dcecf7", "edgecolor": BLUE, "linewidth": 1.2}
PADDING = {"facecolor": "white", "edgecolor": PALE_GRAY, "linewidth": 1, "linestyle": ":"}
LOST = {"facecolor": "white", "edgecolor": VERMILLION, "linewidth": 1.2, "hatch": "////"}
COLUMNS = (1.1, 3.4, 5.7)  # where the three blocks begin; all places are in inches
CELL = 0.36
TOP = 1.36


def up_to_eos(ids: np.ndarray) -> np.ndarray:
    """[N, T] bool: the first EOS and everything before it."""
    is_eos = ids == EOS
    return is_eos.cumsum(axis=1) - is_eos == 0


def not_padding(ids: np.ndarray) -> np.ndarray:
    """[N, T] bool: the mistake, where padding is EOS."""
    return ids != EOS


def draw_block(axes: Axes, left: float, title: str, labels: list[list[str]], styles: list[list[dict[str, Any]]]) -> None:
    axes.text(left, TOP + CELL + 0.1, title, ha="left", va="bottom")
    for row, (row_labels, row_styles) in enumerate(zip(labels, styles, strict=True)):
        for place, (label, style) in enumerate(zip(row_labels, row_styles, strict=True)):
            corner = left + place * CELL, TOP - row * (CELL + 0.06)
            axes.add_patch(Rectangle(corner, CELL, CELL, **style))
            look = {"color": GRAY if style is PADDING else BLACK, "bbox": PAPER if style is LOST else None}
            axes.text(corner[0] + CELL / 2, corner[1] + CELL / 2, label, ha="center", va="center_baseline", fontsize=9, **look)


def frame_ribbon(figure: Figure) -> None:
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, SIZE[0]), ylim=(0, SIZE[1]))
    axes.axis("off")
    right, wrong = up_to_eos(IDS), not_padding(IDS)
    for row in range(len(IDS)):
        height = TOP - row * (CELL + 0.06) + CELL / 2
        axes.text(COLUMNS[0] - 0.1, height, plot_text(f"completion {row + 1}", f"回答 {row + 1}"), ha="right", va="center_baseline")
    valid = np.where(right, VALID, PADDING).tolist()
    draw_block(axes, COLUMNS[0], "completion_ids", IDS.astype(str).tolist(), valid)
    draw_block(axes, COLUMNS[1], plot_text("completion mask", "回答掩码"), np.where(right, "T", "F").tolist(), valid)
    faulty = np.where(wrong, VALID, np.where(right, LOST, PADDING)).tolist()
    draw_block(axes, COLUMNS[2], plot_text("ids != padding: wrong", "ids != 填充：错误"), np.where(wrong, "T", "F").tolist(), faulty)
    handles = [Patch(**VALID), Patch(**PADDING), Patch(**LOST)]
    names = [plot_text("valid, True", "有效，True"), plot_text("padding, False", "填充，False"), plot_text("EOS lost", "丢掉的 EOS")]
    figure.legend(handles, names, loc="lower center", ncol=3, bbox_to_anchor=(0.5, -0.01))


def describe_ribbon() -> Words:
    right, wrong = up_to_eos(IDS), not_padding(IDS)

    def listed(mask: np.ndarray) -> str:
        return text(", ", "，").join(str(count) for count in mask.sum(axis=1))

    rows = text("; ", "；").join(" ".join(row) for row in IDS.astype(str))
    return Words(
        text(
            f"Three completions with EOS and padding both id {EOS}: {rows}. Valid tokens by the completion mask, up to the first EOS: "
            f"{listed(right)}. By comparing with the padding id: {listed(wrong)}.",
            f"三条回答，EOS 与填充都是 id {EOS}：{rows}。按回答掩码，到第一个 EOS 为止，有效 Token 数是 {listed(right)}；"
            f"若只看是不是填充的 id，则是 {listed(wrong)}。",
        ),
        text(
            f"EOS and padding are both id {EOS}. The first {EOS} of a row was sampled, the rest is padding; "
            "the third completion was cut off, and all of it counts.",
            f"EOS 和填充都是 id {EOS}。每行第一个 {EOS} 是采出来的，后面的才是填充；第三条回答被截断，全部有效。",
        ),
    )


def mask_ribbon() -> Picture:
    """Ids of three completions and their completion mask. | 三条回答的 id 及其回答掩码。"""
    return Picture(SIZE, frame_ribbon, lambda figure, values: describe_ribbon(), {}, dpi=DPI)
