"""A lesson as it is handed out, in both languages: what a submission is compared with, and put back from."""

import hashlib
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property

from nbformat import NotebookNode

from lessons._build.course import LANGUAGES
from lessons._build.lesson import Lesson
from lessons._build.notebook import NBGRADER, build_notebook


def plain(text: str) -> str:
    """The text without what no one sees: spaces at the ends of lines, empty lines around it."""
    return "\n".join(line.rstrip() for line in text.split("\n")).strip("\n")


@dataclass(frozen=True)
class Released:
    """A cell of the release. role: "exercise", "given", "check", "question", "setup", or None for prose, widgets and demos."""

    key: str
    role: str | None
    function: str | None
    cells: dict[str, NotebookNode]  # by language

    @property
    def kind(self) -> str:
        return next(iter(self.cells.values())).cell_type

    @property
    def locked(self) -> bool:
        """Put back as released, whatever the student made of it."""
        return self.role in ("given", "check", "setup")

    @cached_property
    def texts(self) -> frozenset[str]:
        return frozenset(plain(cell.source) for cell in self.cells.values())

    @property
    def source(self) -> str:
        """Of a graded cell: it is the same in both languages."""
        return next(iter(self.cells.values())).source


class Release:
    def __init__(self, lesson: Lesson):
        self.lesson = lesson
        roles = {cell.key: cell for cell in lesson.cells}
        notebooks = {language: build_notebook(lesson, language, "learner") for language in LANGUAGES}
        self.metadata = {language: notebook.metadata for language, notebook in notebooks.items()}
        self.cells: dict[str, Released] = {}
        for language, notebook in notebooks.items():
            for cell in notebook.cells:
                if cell.id not in self.cells:
                    source = roles.get(cell.id)
                    role = "setup" if cell.id == "setup" else source.role if source and source.role != "widget" else None
                    self.cells[cell.id] = Released(cell.id, role, source and (source.exercise or source.given or source.check), {})
                if "nbgrader" in cell.metadata:
                    cell.metadata.nbgrader |= {"cell_type": cell.cell_type, "checksum": _checksum(cell)}
                self.cells[cell.id].cells[language] = cell
        self.order = [cell.id for cell in notebooks["en"].cells]
        self.answers = {cell.function: cell.key for cell in self.cells.values() if cell.role == "exercise"}
        self.graded = {cell.key for cell in self.cells.values() if cell.role in NBGRADER}
        self.by_text: dict[str, str] = {}
        for cell in self.cells.values():
            for text in cell.texts:
                self.by_text.setdefault(text, cell.key)

    def neighbors(self, key: str) -> tuple[str | None, str | None]:
        """The keys of the cells before and after."""
        place = self.order.index(key)
        return (self.order[place - 1] if place else None), (self.order[place + 1] if place + 1 < len(self.order) else None)

    def node(self, key: str, language: str) -> NotebookNode:
        """A fresh copy of the released cell, with nbgrader's metadata."""
        return deepcopy(self.cells[key].cells[language])


def _checksum(cell: NotebookNode) -> str:
    """As nbgrader writes it into a released cell: MD5 of text, type, roles, grade id and points."""
    marks = cell.metadata.nbgrader
    parts = [cell.source, cell.cell_type, marks.grade, marks.solution, marks.locked, marks.grade_id]
    if marks.grade:
        parts.append(float(marks.points))
    return hashlib.md5("".join(map(str, parts)).encode("utf-8"), usedforsecurity=False).hexdigest()


_releases: dict[int, Release] = {}


def release_of(lesson: Lesson) -> Release:
    """Built once for each lesson that was read; the entry holds the lesson, so that its id stays its own."""
    if id(lesson) not in _releases:
        _releases[id(lesson)] = Release(lesson)
    return _releases[id(lesson)]
