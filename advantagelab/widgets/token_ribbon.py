"""Two completions, token by token: the gap of each token, and the advantage that it gets."""

from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.patches import Rectangle

from ..fonts import plot_text
from .style import BLACK, BLUE, GRAY, VERMILLION, number


class Completion(NamedTuple):
    name: tuple[str, str]
    tokens: tuple[str, ...]
    gaps: np.ndarray  # [T], made up, and the same ever after, so that settings can be compared


# To the prompt 3·4+2. The self-teacher objects to the first 11, and to how the right completion goes on.
RIGHT = Completion(
    ("right", "答对"),
    ("3·4", "=", "12", ",", "12", "+2", "=", "14", "EOS"),
    np.array([-0.01, 0.0, 0.25, -0.35, 0.08, 0.03, 0.01, -0.06, 0.0]),
)
WRONG = Completion(
    ("wrong", "答错"),
    ("3·4", "=", "11", ",", "11", "+2", "=", "13", "EOS"),
    np.array([-0.01, 0.0, -0.9, 0.12, -0.06, 0.35, 0.02, -0.03, 0.0]),
)
COMPLETIONS = (RIGHT, WRONG)

# All places are in inches from the lower left corner.
LEFT, CELL, HEIGHT = 0.94, 0.71, 0.72
BOTTOMS = (1.16, 0.36)
FLIPPED = {"facecolor": "none", "edgecolor": BLACK, "linewidth": 2}


def frame_ribbon(axes: Axes) -> None:
    """What stays: names, tokens and gaps."""
    for completion, bottom in zip(COMPLETIONS, BOTTOMS, strict=True):
        axes.text(LEFT - 0.1, bottom + 0.46, plot_text(*completion.name), ha="right", va="center")
        for place, (token, gap) in enumerate(zip(completion.tokens, completion.gaps, strict=True)):
            x = LEFT + (place + 0.5) * CELL
            axes.text(x, bottom + 0.57, token, ha="center", va="center_baseline", zorder=3)
            axes.text(x, bottom + 0.37, f"g {number(gap, sign=True)}", ha="center", va="center_baseline", fontsize=8, color=GRAY, zorder=3)


def draw_ribbon(axes: Axes, bases: tuple[float, float], advantages: tuple[np.ndarray, np.ndarray], largest: float) -> None:
    """bases: of the two completions; advantages: of their tokens; largest: the size that gets the full color."""
    for completion, bottom, base, values in zip(COMPLETIONS, BOTTOMS, bases, advantages, strict=True):
        axes.text(LEFT - 0.1, bottom + 0.2, f"$B$ = {number(base, 3, sign=True)}", ha="right", va="center", fontsize=9)
        for place, value in enumerate(values):
            corner = LEFT + place * CELL, bottom
            flipped = value * base < 0
            axes.add_patch(Rectangle(corner, CELL, HEIGHT, facecolor=shade(value / largest), edgecolor="white", linewidth=1.5, zorder=1))
            if flipped:
                axes.add_patch(Rectangle((corner[0] + 0.03, bottom + 0.03), CELL - 0.06, HEIGHT - 0.06, zorder=4, **FLIPPED))
            words = number(value, 3, sign=True)
            axes.text(corner[0] + CELL / 2 + 0.08, bottom + 0.16, words, ha="center", va="center_baseline", fontsize=8.5, zorder=3)
        for sign, marker in ((1, "^"), (-1, "v")):
            here = np.flatnonzero(np.sign(values) == sign)
            sizes = 8 + 34 * np.abs(values[here]) / largest
            color = BLUE if sign > 0 else VERMILLION
            places = LEFT + here * CELL + 0.12
            axes.scatter(places, np.full(len(here), bottom + 0.165), s=sizes, marker=marker, color=color, linewidth=0, zorder=3)


def shade(part: float) -> np.ndarray:
    """Blue for an advantage above 0, vermillion below; the larger, the fuller, but black stays readable on it."""
    color = np.array(to_rgb(BLUE if part > 0 else VERMILLION))
    strength = 0.5 * min(abs(part), 1) + 0.05 * (part != 0)
    return 1 - strength * (1 - color)
