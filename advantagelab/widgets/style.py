"""How every picture of the course looks, whatever the notebook did to matplotlib's settings before."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import matplotlib

from ..fonts import font_families

# Okabe and Ito's colors, which color-blind readers can tell apart; a second mark (line style, marker, hatch) goes with each.
# Orange and sky are darker than theirs, to stand out from white as lines (3:1), and vermillion, to be read as words (4.5:1).
BLACK, GRAY, PALE_GRAY, LIGHT_GRAY = "#000000", "#5f5f5f", "#8c8c8c", "#e8e8e8"
BLUE, ORANGE, VERMILLION, GREEN, PURPLE, SKY = "#0072B2", "#C38700", "#C15500", "#009E73", "#CC79A7", "#4A9BC8"

PAPER = {"facecolor": "white", "edgecolor": "none", "pad": 0.5}  # behind a number that would stand on a line

SETTINGS = {
    "font.size": 9.5,
    "axes.titlesize": 10,
    "axes.titlelocation": "left",
    "axes.titley": 1.03,
    "axes.labelsize": 9.5,
    "xtick.labelsize": 9,
    "ytick.labelsize": 9,
    "legend.fontsize": 9,
    "legend.frameon": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": False,
    "hatch.linewidth": 0.8,
}


# JupyterLab may run a slider's events in another thread (ipykernel 7's subshells) while a cell draws, and matplotlib's settings belong to
# the whole process: one drawing at a time.
DRAWING = threading.RLock()


@contextmanager
def course_style() -> Iterator[None]:
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(SETTINGS)
        matplotlib.rcParams["font.family"] = font_families()
        yield


def number(value: float, digits: int = 2, sign: bool = False) -> str:
    """1.5 → "1.50"; a true minus sign, which is drawn wider and read aloud; no "−0.00"."""
    value = round(float(value), digits) + 0.0
    return f"{value:{'+' if sign and value else ''}.{digits}f}".replace("-", "−")
