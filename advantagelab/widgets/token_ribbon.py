"""Two completions, token by token: the gap of each token, and the advantage that it gets."""

from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_rgb

from ..fonts import plot_text
from .style import BLACK, BLUE, GRAY, VERMILLION, number


class Completion(NamedTuple):
    name: tuple[str, str]
    tokens: tuple[str, ...]
    gaps: np.ndarray  # [T], made up, and the same ever after, so that settings can be compared


# To the prompt 3*4+2. The self-teacher objects to the first 11, and to how the right completion goes on.
RIGHT = Completion(
    ("right", "答对"),
    ("3*4", "=", "12", "so", "12", "+2", "=", "14", "EOS"),
    np.array([-0.01, 0.0, 0.25, -0.35, 0.08, 0.03, 0.01, -0.06, 0.0]),
)
WRONG = Completion(
    ("wrong", "答错"),
    ("3*4", "=", "11", "so", "11", "+2", "=", "13", "EOS"),
    np.array([-0.01, 0.0, -0.9, 0.12, -0.06, 0.35, 0.02, -0.03, 0.0]),
)
COMPLETIONS = (RIGHT, WRONG)

# All places are in inches from the lower left corner.
LEFT, CELL, HEIGHT = 0.94, 0.71, 0.32
BOTTOMS = (1.2, 0.38)
FLIPPED = {"facecolor": "none", "edgecolor": BLACK, "linewidth": 2}


def frame_ribbon(axes: Axes) -> None:
    """What stays: names, tokens and gaps."""
    for completion, bottom in zip(COMPLETIONS, BOTTOMS, strict=True):
        axes.text(LEFT - 0.1, bottom + 0.44, plot_text(*completion.name), ha="right", va="center")
        for place, (token, gap) in enumerate(zip(completion.tokens, completion.gaps, strict=True)):
            x = LEFT + (place + 0.5) * CELL
            axes.text(x, bottom + 0.58, token, ha="center", va="center_baseline")
            axes.text(x, bottom + 0.4, f"$g$ {number(gap, sign=True)}", ha="center", va="center_baseline", fontsize=8, color=GRAY)


def draw_ribbon(axes: Axes, bases: tuple[float, float], advantages: tuple[np.ndarray, np.ndarray], largest: float) -> None:
    """bases: of the two completions; advantages: of their tokens; largest: the size that gets the full color."""
    cells, shades, arrows, colors, frames = [], [], [], [], []
    for bottom, base, values in zip(BOTTOMS, bases, advantages, strict=True):
        axes.text(LEFT - 0.1, bottom + 0.15, f"$B$ = {number(base, 3, sign=True)}", ha="right", va="center", fontsize=9)
        for place, value in enumerate(values):
            left, part = LEFT + place * CELL, value / largest
            axes.text(left + 0.44, bottom + 0.16, number(value, 3, sign=True), ha="center", va="center_baseline", fontsize=8.5, zorder=3)
            cells.append(box(left, bottom, margin=0.0))
            shades.append(shade(part))
            arrows.append(arrow(left + 0.12, bottom + 0.16, part))
            colors.append(BLUE if value > 0 else VERMILLION)
            if value * base < 0:
                frames.append(box(left, bottom, margin=0.02))
    axes.add_collection(PolyCollection(cells, facecolors=shades, edgecolors="white", linewidths=1.5, zorder=1))
    axes.add_collection(PolyCollection(arrows, facecolors=colors, edgecolors="none", zorder=3))
    axes.add_collection(PolyCollection(frames, zorder=4, **FLIPPED))


def box(left: float, bottom: float, margin: float) -> list[tuple[float, float]]:
    right, top = left + CELL - margin, bottom + HEIGHT - margin
    left, bottom = left + margin, bottom + margin
    return [(left, bottom), (right, bottom), (right, top), (left, top)]


def arrow(x: float, y: float, part: float) -> list[tuple[float, float]]:
    """A triangle that points up or down, its area in proportion to the part."""
    half = 0.06 * np.sign(part) * abs(part) ** 0.5
    return [(x - half, y - half), (x + half, y - half), (x, y + half)]


def shade(part: float) -> np.ndarray:
    """Blue for an advantage above 0, vermillion below; the larger, the fuller, but black stays readable on it."""
    color = np.array(to_rgb(BLUE if part > 0 else VERMILLION))
    strength = 0.5 * min(abs(part), 1) + 0.05 * (part != 0)
    return 1 - strength * (1 - color)
