"""The READMEs' pictures: as their widgets draw them, small, shown with the widgets' words; anything else is refused."""

import io
import shutil

import numpy as np
import pytest
from PIL import Image, ImageFilter

from advantagelab.language import current_language
from lessons._build import pictures
from lessons._build.refusal import Refused
from tests.needs import ROOT


@pytest.fixture(scope="module")
def drawn():
    """What the widgets draw, once for all tests."""
    return {language: pictures._drawn(language) for language in pictures.READMES}


@pytest.fixture
def copy(tmp_path, drawn, monkeypatch):
    """The READMEs and their pictures, to spoil."""
    monkeypatch.setattr(pictures, "_drawn", drawn.get)
    shutil.copytree(ROOT / "docs" / "pictures", tmp_path / "docs" / "pictures")
    for readme in pictures.READMES.values():
        shutil.copy(ROOT / readme, tmp_path)
    pictures.check_pictures(tmp_path)
    return tmp_path


def png(pixels: Image.Image) -> bytes:
    buffer = io.BytesIO()
    pixels.save(buffer, format="PNG")
    return buffer.getvalue()


def refused(folder) -> str:
    with pytest.raises(Refused) as caught:
        pictures.check_pictures(folder)
    return str(caught.value)


def test_each_readme_shows_four_and_drawing_leaves_the_language_alone(drawn):
    assert {len(each) for each in drawn.values()} == {4} and current_language() == "en"
    assert drawn["en"].keys() == drawn["zh"].keys() and len(list((ROOT / "docs" / "pictures").rglob("*.png"))) == 8
    for name, picture in drawn["en"].items():
        assert picture.alt != drawn["zh"][name].alt


def test_drawn_anew_they_are_accepted_whatever_was_there(copy):
    shutil.rmtree(copy / "docs")
    assert "not drawn" in refused(copy)
    pictures.write_pictures(copy)
    pictures.check_pictures(copy)


@pytest.mark.parametrize("name", pictures.PICTURES)
def test_the_other_language_is_refused(copy, name):
    (copy / "docs/pictures/en" / f"{name}.png").write_bytes((copy / "docs/pictures/zh" / f"{name}.png").read_bytes())
    assert "not as its widget draws it" in refused(copy)


def test_another_size_is_refused(copy):
    file = copy / "docs/pictures/en/baselines.png"
    file.write_bytes(png(Image.open(file).resize((370, 170))))
    assert "not as its widget draws it" in refused(copy)


def test_a_curve_that_is_gone_is_refused(copy):
    file = copy / "docs/pictures/zh/recorded_runs.png"
    pixels = np.array(Image.open(file).convert("RGB"))
    pixels[pixels.max(axis=2).astype(int) - pixels.min(axis=2) > 60] = 255  # whatever has a color
    file.write_bytes(png(Image.fromarray(pixels)))
    assert "not as its widget draws it" in refused(copy)


def test_letters_that_another_machine_draws_a_little_softer_are_accepted(copy):
    file = copy / "docs/pictures/en/clip_region.png"
    softer = Image.open(file).convert("RGB").filter(ImageFilter.GaussianBlur(0.7)).quantize(64)
    assert png(softer) != file.read_bytes()
    file.write_bytes(png(softer))
    pictures.check_pictures(copy)


def test_a_large_file_is_refused(copy, monkeypatch):
    monkeypatch.setattr(pictures, "LARGEST", 5_000)
    assert "the limit is 5000" in refused(copy)


def test_other_words_than_the_widgets_are_refused_with_the_line_to_write(copy):
    readme = copy / "README.zh.md"
    readme.write_text(readme.read_text(encoding="utf-8").replace("留一基线：0.00", "留一基线：0.01"), encoding="utf-8")
    said = refused(copy)
    assert "README.zh.md" in said and "留一基线：0.00，0.33" in said and said.splitlines()[-1].startswith('<img src="docs/pictures/zh/')


def test_a_file_that_no_widget_draws_is_refused(copy):
    (copy / "docs/pictures/en/old.png").write_bytes(b"")
    assert "no widget draws this file" in refused(copy)
