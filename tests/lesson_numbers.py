"""A lesson's prose, cell by cell and in both languages, for the tests of its numbers. They quote numbers and formulas, no sentences."""

import contextlib
import io
import re
from collections import Counter

from advantagelab.tinylm.products import Product
from advantagelab.tinylm.train import Settings
from lessons._build.course import LANGUAGES, ROOT
from lessons._build.source import read_cells

NUMERIC = re.compile(r"NaN|[-+±\d.,%() ]*\d[-+±\d.,%() ]*")


class Numbers:
    """Of the lesson of this name."""

    def __init__(self, name: str):
        self.cells = {(cell.key, cell.lang): cell.source for cell in read_cells(ROOT / "lessons" / name / "lesson.md")}

    def cell(self, key: str, language: str) -> str:
        """The prose of one cell; numbers listed with the comma of English in both languages."""
        return self.cells[key, language].replace("、", ", ")

    def printed(self, key: str, *numbers: str) -> None:
        """Both languages of a cell print each of these, one that is given twice at least twice."""
        for language in LANGUAGES:
            text = self.cell(key, language)
            for number, times in Counter(numbers).items():
                found = len(re.findall(rf"(?<![\d.{'' if number[0] in '+-' else '+-'}]){re.escape(number)}(?!\d|\.\d)", text))
                assert found >= times, f"[{key}] {language}: {number} stands there {found} times, {times} are due"

    def table(self, key: str, *wanted: list[str]) -> None:
        """The rows of the cell's tables, in both languages, of each row the entries that are numbers; rows without any are passed over."""
        for language in LANGUAGES:
            lines = [line.strip().strip("|").split(" | ") for line in self.cell(key, language).splitlines() if line.startswith("|")]
            rows = [[plain for entry in line if NUMERIC.fullmatch(plain := entry.strip(" *").replace("$", ""))] for line in lines]
            assert [row for row in rows if row] == [list(row) for row in wanted], f"[{key}] {language}"

    def printed_of_the_training(self) -> None:
        """The task of the tiny model, and what the cell that trains it sets."""
        task, settings = Product(47, 63), Settings()
        self.printed("train", f"`{task.a}*{task.b}=`", f"`{task.direct}`", f"`{task.worked}`")
        (beta,) = set(re.findall(r"beta=([\d.]+)", self.cells["train-cell", None]))
        self.printed("ask-train", str(settings.steps), str(settings.prompts), rf"$\beta={beta}$")

    def output_of(self, key: str, namespace: dict) -> str:
        """What a code cell prints, run with the names of `namespace`."""
        written = io.StringIO()
        with contextlib.redirect_stdout(written):
            exec(self.cells[key, None], dict(namespace))
        return written.getvalue()


def shown(values, digits: int, sign: bool = False) -> list[str]:
    """Numbers as prose has them: 0 without digits, the others with `digits` behind the point; with a plus if `sign`."""
    return ["0" if round(float(value), 9) == 0 else f"{float(value):{'+' if sign else ''}.{digits}f}" for value in values]


def brief(values, sign: bool = False) -> list[str]:
    """The same with no digit that says nothing: 3, -0.5."""
    return ["0" if round(float(value), 6) == 0 else f"{round(float(value), 6):{'+' if sign else ''}g}" for value in values]
