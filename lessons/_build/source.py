"""lesson.md, read and refused: one Cell for each cell, with the vocabulary of metadata that the build knows."""

import re
from dataclasses import dataclass
from pathlib import Path

import jupytext

from .course import LANGUAGES
from .refusal import Refused

KEY = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
ROLES = ("exercise", "given", "check", "question", "widget")
KEYS_OF_BUILT_CELLS = ("header", "setup")
VOCABULARY = {"key", "lang", *ROLES, "points", "demo", "only", "hint", "explained", "tags"}
FENCES_OF_PROSE = {"text", "bash", "powershell"}
HEAD = """---
jupytext: {text_representation: {extension: .md, format_name: myst}}
kernelspec: {display_name: Python 3 (ipykernel), language: python, name: python3}
---"""


@dataclass(frozen=True)
class Cell:
    kind: str  # "markdown" or "code"
    source: str
    metadata: dict
    file: Path
    line: int | None

    def __getattr__(self, name: str):
        """A word of the vocabulary: its value, or None where the cell does not use it."""
        if name in VOCABULARY:
            return self.metadata.get(name)
        raise AttributeError(name)

    @property
    def role(self) -> str | None:
        return next((role for role in ROLES if role in self.metadata), None)

    def refuse(self, problem: str) -> Refused:
        return Refused(self.file, problem, self.line, self.key)


def read_cells(file: Path) -> list[Cell]:
    """The cells of a lesson.md, each one valid by itself and in its place."""
    if not file.exists():
        raise Refused(file, "this file is missing")
    text = file.read_text(encoding="utf-8")
    head = re.match(r"---\n(.*?\n)---\n", text, re.S)
    if not head or "format_name: myst" not in head[1] or "kernelspec:" not in head[1]:
        raise Refused(file, f"it does not open as a MyST notebook does, with these four lines:\n{HEAD}", 1)
    try:
        notebook = jupytext.reads(text, fmt="md:myst")
    except Exception as error:  # jupytext, nbformat and the YAML reader raise classes of their own
        raise Refused(file, f"cell metadata cannot be read: {' '.join(str(error).split())}") from error
    cells = []
    for raw in notebook.cells:
        metadata = dict(raw.metadata)
        line = _line_of(text, metadata.get("key"), metadata.get("lang")) or _line_of_text(text, raw.source)
        cells.append(Cell(raw.cell_type, raw.source, metadata, file, line))
    for cell in cells:
        _check_metadata(cell)
        _check_body(cell)
    markers = len(re.findall(r"^ {0,3}\+\+\+", text, re.M)) + len(re.findall(r"^ {0,3}```+ *\{code-cell\}", text, re.M))
    if markers != len(cells):
        raise Refused(file, f"{markers} cells are opened (`+++` or ```{{code-cell}}) but {len(cells)} are read: a cell is empty")
    _check_pairs(cells)
    _check_exercises(cells)
    return cells


def _line_of(text: str, key: str | None, lang: str | None) -> int | None:
    if not isinstance(key, str):
        return None
    for number, line in enumerate(text.splitlines(), 1):
        if key not in line:
            continue
        if re.match(rf'^\s*\+\+\+.*"key": *"{re.escape(key)}"', line) and (lang is None or f'"{lang}"' in line):
            return number
        if re.match(rf"^:?key: *[\"']?{re.escape(key)}[\"']? *$", line):
            return number
    return None


def _line_of_text(text: str, source: str) -> int | None:
    first = source.splitlines()[0] if source else None
    return next((number for number, line in enumerate(text.splitlines(), 1) if first and line == first), None)


def _check_metadata(cell: Cell) -> None:
    metadata = cell.metadata
    if not isinstance(metadata.get("key"), str):
        raise cell.refuse("a cell needs a key, a string; prose without one may be a lost `+++` line or a fence that is not a cell: "
                          f"{cell.source[:60]!r}")
    if not KEY.fullmatch(cell.key) or len(cell.key) > 60:
        raise cell.refuse("a key is lowercase words joined by hyphens, at most 60 characters")
    if cell.key in KEYS_OF_BUILT_CELLS or cell.key.endswith("-hints"):
        raise cell.refuse("the build makes a cell of this key itself")
    unknown = metadata.keys() - VOCABULARY
    if unknown:
        raise cell.refuse(f"unknown metadata {', '.join(sorted(unknown))}; the vocabulary is {', '.join(sorted(VOCABULARY))}")
    roles = [role for role in ROLES if role in metadata]
    if len(roles) > 1:
        raise cell.refuse(f"a cell has one role, not {' and '.join(roles)}")
    for role in roles:
        if not isinstance(metadata[role], str):
            raise cell.refuse(f"{role} is a name, a string")
    if cell.kind == "code":
        forbidden = {"lang", "question"}
    elif cell.role == "question":
        forbidden = {"lang", "demo", "only", "hint", "explained", "tags"}
    else:
        forbidden = VOCABULARY - {"key", "lang", "only"}
        if cell.lang not in LANGUAGES:
            raise cell.refuse('prose needs lang: "en" or "zh"')
    if metadata.keys() & forbidden:
        raise cell.refuse(f"{', '.join(sorted(metadata.keys() & forbidden))} does not belong in this kind of cell")
    if (cell.role in ("check", "question")) != ("points" in metadata):
        raise cell.refuse("points belong to a check or a question, and each of these needs them")
    if "points" in metadata and (type(cell.points) is not int or cell.points < 1):
        raise cell.refuse("points is a whole number, at least 1")
    if "demo" in metadata and (cell.demo is not True or cell.role):
        raise cell.refuse("demo: true marks a plain code cell")
    if "only" in metadata and (cell.only not in ("learner", "solution") or cell.role in ("exercise", "given", "check")):
        raise cell.refuse("only is learner or solution, and not for an exercise, given or check cell")
    if "tags" in metadata and not (isinstance(cell.tags, list) and all(isinstance(tag, str) for tag in cell.tags)):
        raise cell.refuse("tags is a list of strings")
    if "hint" in metadata:
        pairs = isinstance(cell.hint, list) and cell.hint and all(
            isinstance(step, list) and len(step) == 2 and all(isinstance(words, str) for words in step) for step in cell.hint)
        if cell.role != "exercise" or not pairs:
            raise cell.refuse("hint is a list of steps [English, 中文] on an exercise")
    if "explained" in metadata:
        lists = isinstance(cell.explained, dict) and all(
            isinstance(key, str) and isinstance(names, list) and names and all(isinstance(name, str) for name in names)
            for key, names in cell.explained.items())
        if cell.role != "exercise" or not lists:
            raise cell.refuse("explained is {KEY of a prose cell: [beginnings of names of checks]} on an exercise")


def _check_body(cell: Cell) -> None:
    filled_by_build = cell.role in ("exercise", "given", "check")
    if filled_by_build and cell.source.strip():
        raise cell.refuse(f"the build fills {cell.role} cells: leave the body empty")
    if not filled_by_build and not cell.source.strip():
        raise cell.refuse("the cell is empty")
    if re.search(r"^[\s>*\-\d.]*\+\+\+|\{ *\"key\" *:", cell.source, re.M):
        raise cell.refuse("a `+++` line stands inside this cell: it is not at the start of a line, or the fence before it never closes")
    if cell.kind == "markdown":
        for fence in re.findall(r"^ {0,3}```+ *(.*)$", cell.source, re.M)[::2]:
            if fence.strip() not in FENCES_OF_PROSE:
                raise cell.refuse(f"a code fence that is not a cell: ```{fence} (in prose only {', '.join(sorted(FENCES_OF_PROSE))})")


def _check_pairs(cells: list[Cell]) -> None:
    """English prose is followed at once by its Chinese pair; every other key stands once."""
    seen, index = set(), 0
    while index < len(cells):
        cell = cells[index]
        if cell.key in seen:
            raise cell.refuse("this key is used by an earlier cell")
        seen.add(cell.key)
        index += 1
        if cell.lang is None:
            continue
        pair = cells[index] if index < len(cells) else None
        if cell.lang != "en" or pair is None or pair.key != cell.key or pair.lang != "zh":
            raise cell.refuse(f"the {cell.lang} cell has no pair: English comes first, and its Chinese cell follows at once")
        if pair.only != cell.only:
            raise pair.refuse("only differs from the English cell")
        index += 1


def _check_exercises(cells: list[Cell]) -> None:
    """Each exercise has one check cell after it, and no function's name opens another's, since checks are found by prefix."""
    exercises = [cell.exercise for cell in cells if cell.role == "exercise"]
    checks = [cell.check for cell in cells if cell.role == "check"]
    for cell in cells:
        if cell.role == "exercise" and (exercises.count(cell.exercise) != 1 or checks.count(cell.exercise) != 1):
            raise cell.refuse(f"{cell.exercise} needs one exercise cell and one check cell")
        if cell.role == "check" and cell.check not in exercises:
            raise cell.refuse(f"{cell.check} has a check cell but no exercise cell")
        if cell.role == "check" and not any(earlier.exercise == cell.check for earlier in cells[:cells.index(cell)]):
            raise cell.refuse(f"the check cell of {cell.check} stands before its exercise cell")
        if cell.role == "exercise":
            clash = [name for name in exercises if name.startswith(f"{cell.exercise}_")]
            if clash:
                raise cell.refuse(f"the name opens that of {clash[0]}: their checks cannot be told apart")
    if [name for name in exercises if name in checks] != checks:
        raise Refused(cells[0].file, "check cells stand in another order than their exercises")
