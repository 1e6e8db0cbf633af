"""Hanzi in pictures: a subset of Noto Sans CJK SC under the OFL (see OFL.txt), named "Advantage Lab Sans SC"."""

from functools import cache
from pathlib import Path

from matplotlib.font_manager import fontManager

from ..language import current_language

FAMILY = "Advantage Lab Sans SC"
FILE = Path(__file__).with_name("AdvantageLabSansSC.otf")
LATIN_FAMILY = "DejaVu Sans"  # comes with matplotlib


@cache
def use_cjk() -> bool:
    """Let matplotlib draw hanzi: True if the course's font is at hand. | 让 matplotlib 能画汉字：课程字体可用时返回 True。"""
    try:
        fontManager.addfont(FILE)
    except (OSError, RuntimeError):  # not there, or not a font
        return False
    return True


def _chinese() -> bool:
    return current_language() == "zh" and use_cjk()


def font_families() -> list[str]:
    """What to put into rcParams["font.family"] for the learner's language. | 按学习者的语言给出字体列表。"""
    # Hanzi first: a label that holds $...$ is set in the first family alone.
    return [FAMILY, LATIN_FAMILY] if _chinese() else [LATIN_FAMILY]


def plot_text(en: str, zh: str) -> str:
    """A label in the learner's language; English where hanzi cannot be drawn. | 图中文字；无法画汉字时用英文。"""
    return zh if _chinese() else en
