"""docs/pictures/: widgets as the READMEs show them, drawn by the widgets themselves in each language, with their own alternative text."""

import base64
import html
import io
from pathlib import Path

import numpy as np
from PIL import Image

from advantagelab import widgets
from advantagelab.language import current_language, set_language

from .course import ROOT
from .refusal import Refused

PICTURES = {
    "recorded_runs": lambda: widgets.recorded_runs(["grpo", "majority_vote", "om_grpo"]),
    "baselines": widgets.baselines,
    "clip_region": widgets.clip_region,
    "advantage_flip": widgets.advantage_flip,
}
READMES = {"en": "README.md", "zh": "README.zh.md"}
LARGEST = 60_000  # bytes of a file
# Another matplotlib draws every letter a little differently. The mean color of squares of 40 pixels then moves by up to 4 of 255, between
# the two languages of one picture by 14 and more. What the numbers are stands in the alternative text, which is compared to the letter.
SQUARE, TOLERANCE = 40, 8


def write_pictures(output: Path = ROOT) -> None:
    for language in READMES:
        for name, picture in _drawn(language).items():
            file = _file(output, language, name)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(_png(picture))


def check_pictures(output: Path = ROOT) -> None:
    """Refuse a picture that is not as its widget draws it, or that its README does not show with the widget's words."""
    expected = set()
    for language, readme in READMES.items():
        shown = (output / readme).read_text(encoding="utf-8")
        for name, picture in _drawn(language).items():
            file = _file(output, language, name)
            expected.add(file)
            if not file.exists():
                raise Refused(file, "not drawn: run `python -m lessons build`")
            if file.stat().st_size > LARGEST:
                raise Refused(file, f"it has {file.stat().st_size} bytes, the limit is {LARGEST}")
            if not _look_alike(file.read_bytes(), _png(picture)):
                raise Refused(file, "it is not as its widget draws it: run `python -m lessons build`")
            if (line := _line(language, name, picture)) not in shown:
                raise Refused(output / readme, f"it does not show {name} as the widget is described; its line is\n{line}")
    for file in sorted((output / "docs" / "pictures").rglob("*.*")):
        if file not in expected:
            raise Refused(file, "no widget draws this file: delete it, or add it to lessons/_build/pictures.py")


def _drawn(language: str) -> dict[str, widgets.panel.Picture]:
    before = current_language()
    set_language(language)
    try:
        return {name: draw() for name, draw in PICTURES.items()}
    finally:
        set_language(before)


def _file(output: Path, language: str, name: str) -> Path:
    return output / "docs" / "pictures" / language / f"{name}.png"


def _png(picture: widgets.panel.Picture) -> bytes:
    return base64.b64decode(picture.png)


def _line(language: str, name: str, picture: widgets.panel.Picture) -> str:
    """HTML, because markdown would read signs of the words."""
    return f'<img src="docs/pictures/{language}/{name}.png" width="{picture.width}" alt="{html.escape(picture.alt)}">'


def _look_alike(one: bytes, other: bytes) -> bool:
    first, second = (Image.open(io.BytesIO(png)).convert("RGB") for png in (one, other))
    if first.size != second.size:
        return False
    squares = [np.asarray(each.resize((each.width // SQUARE, each.height // SQUARE), Image.Resampling.BOX), float)
               for each in (first, second)]
    return np.abs(squares[0] - squares[1]).max() <= TOLERANCE
