"""The course's font: what it holds, what it may be called, and that pictures fall back to English without it."""

import ast
import logging
import re
import warnings
from pathlib import Path

import matplotlib
import nbformat
import pytest
from fontTools.ttLib import TTFont
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.font_manager import fontManager

from advantagelab import fonts, set_language, widgets
from lessons._build.font_subset import ASCII, COMMITTED, FAMILY, GREEK, PUNCTUATION, SYMBOLS, subset_for
from lessons._build.payload import FONT, unpack

PACKAGE = Path(fonts.__file__).parents[1]


@pytest.fixture(autouse=True)
def as_before():
    yield
    set_language("en")
    fonts.use_cjk.cache_clear()


def characters_of(data: bytes, folder: Path) -> set[str]:
    path = folder / "font.otf"
    path.write_bytes(data)
    return set(map(chr, TTFont(path).getBestCmap()))


def plot_strings() -> list[tuple[str, str]]:
    """(file, string) for the strings of every module of the package that draws labels."""
    found = []
    for file in PACKAGE.rglob("*.py"):
        source = file.read_text(encoding="utf-8")
        if "plot_text" in source:
            strings = [node.value for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
            found += [(file.name, string) for string in strings]
    return found


def test_every_character_that_a_picture_may_draw_is_in_the_committed_subset():
    strings = plot_strings()
    assert len(strings) > 100
    held = set(map(chr, TTFont(COMMITTED).getBestCmap())) | {"\n"}
    missing = {character: file for file, string in strings for character in string if character not in held}
    assert not missing, f"run python -m lessons._build.font_subset: {missing}"


def test_committed_subset_is_small_and_holds_common_text():
    assert COMMITTED.stat().st_size <= 240 * 1024
    held = set(map(chr, TTFont(COMMITTED).getBestCmap()))
    assert held >= set(ASCII + PUNCTUATION + SYMBOLS + GREEK)
    assert sum("\u4e00" <= character <= "\u9fff" for character in held) >= 1000


def test_the_subset_keeps_copyright_and_license_and_no_reserved_name():
    names = {record.nameID: record.toUnicode() for record in TTFont(COMMITTED)["name"].names}
    assert "Adobe" in names[0] and "SIL Open Font License" in names[13]
    assert names[1] == names[4] == FAMILY == fonts.FAMILY
    assert not any(word in names[name_id] for name_id in (1, 3, 4, 6) for word in ("Noto", "Source"))
    license_text = (COMMITTED.parent / "OFL.txt").read_text(encoding="utf-8")
    assert license_text.startswith("Copyright 2014-2021 Adobe") and "SIL OPEN FONT LICENSE Version 1.1" in license_text


def test_a_notebooks_subset_holds_its_characters_and_no_more(tmp_path):
    data = subset_for(frozenset("留一基线 ρ = 1"))
    assert characters_of(data, tmp_path) == set("留一基线 ρ = 1")
    assert data == subset_for(frozenset("1 = ρ 线基一留"))


def test_a_notebooks_subset_leaves_out_what_the_font_lacks(tmp_path):
    assert characters_of(subset_for(frozenset({"奖", "\n", "\U0001f600"})), tmp_path) == {"奖"}


NOTEBOOKS = sorted((PACKAGE.parent / "notebooks").glob("*/*.ipynb"))


@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: f"{file.parent.name}-{file.stem}")
def test_the_font_that_a_notebook_carries_has_the_size_it_may_have(file):
    setup = nbformat.read(file, 4).cells[1].source
    (payload,) = re.findall(r'_advantagelab\("[^"]*", "[0-9a-f]{64}", "([^"]*)"\)', setup)
    assert len(unpack(payload)[FONT]) <= 64 * 1024


@pytest.mark.parametrize("label", ["优势 $A_i$ 与比率", "留一基线", r"梯度 $\partial J/\partial\log\pi$，−0.33"])
def test_hanzi_are_drawn_beside_formulas_without_a_word_in_the_log(label, caplog):
    set_language("zh")
    assert fonts.use_cjk() and fonts.FAMILY in fontManager.get_font_names()
    assert fonts.font_families()[0] == fonts.FAMILY
    with warnings.catch_warnings(), caplog.at_level(logging.WARNING), matplotlib.rc_context({"font.family": fonts.font_families()}):
        warnings.filterwarnings("error", message="Glyph")
        figure = Figure()
        figure.text(0.5, 0.5, label)
        FigureCanvasAgg(figure).draw()
    assert not caplog.records


def test_without_the_font_pictures_are_in_english(monkeypatch, tmp_path, caplog):
    set_language("en")
    english = widgets.clip_region().png
    broken = tmp_path / "broken.otf"
    broken.write_bytes(b"not a font")
    set_language("zh")
    for file in (tmp_path / "absent.otf", broken):
        monkeypatch.setattr(fonts, "FILE", file)
        fonts.use_cjk.cache_clear()
        with warnings.catch_warnings(), caplog.at_level(logging.WARNING):
            warnings.filterwarnings("error", message="Glyph")
            panel = widgets.clip_region()
        assert not fonts.use_cjk() and panel.png == english
        assert "梯度" in panel.alt  # text that the browser sets stays Chinese
    assert not caplog.records
