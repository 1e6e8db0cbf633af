"""A lesson, read whole: its cells, its functions, its checks, and its place in the course."""

from dataclasses import dataclass
from pathlib import Path

from .code_cells import Module
from .course import Course, ExtraEntry, LessonEntry
from .refusal import Refused
from .regions import regions
from .source import Cell, read_cells


@dataclass(frozen=True)
class Lesson:
    course: Course
    entry: LessonEntry | ExtraEntry
    cells: list[Cell]
    algorithm: Module | None  # None in an extra
    earlier_algorithms: list[Module]
    checks: Module | None  # None, as is the spec, in a lesson without TODOs
    spec: Module | None

    @property
    def folder(self) -> Path:
        return self.course.lessons_folder / self.entry.name

    @property
    def functions(self) -> list[str]:
        """The TODO functions, in the lesson's order."""
        return [cell.exercise for cell in self.cells if cell.role == "exercise"]


def read_lesson(course: Course, name: str) -> Lesson:
    entry = course.lesson(name)
    folder = course.lessons_folder / name
    cells = read_cells(folder / "lesson.md")
    points = sum(cell.points or 0 for cell in cells)
    if points != entry.points:
        raise Refused(folder / "lesson.md", f"the cells' points add up to {points}, course.toml says {entry.points}")
    position = course.lessons.index(entry)
    earlier = [Module(*course.algorithm_files(other)) for other in course.lessons[:position]]
    graded = any(cell.role == "exercise" for cell in cells)
    checks, spec = (Module(folder / name) if graded else None for name in ("checks.py", "spec.py"))
    lesson = Lesson(course, entry, cells, Module(*course.algorithm_files(entry)), earlier, checks, spec)
    _check_regions(lesson)
    if graded:
        _check_what_todos_need(lesson)
    return lesson


def read_extra(course: Course, entry: ExtraEntry) -> Lesson:
    """A notebook beside the lessons: prose, code and pictures, nothing to fill in and nothing that counts."""
    cells = read_cells(course.lessons_folder / entry.name / "lesson.md")
    for cell in cells:
        if cell.role not in (None, "widget") or cell.only:
            raise cell.refuse(f"an extra has no {cell.role or 'solved notebook'}: it is not graded")
    return Lesson(course, entry, cells, None, [], None, None)


def _check_regions(lesson: Lesson) -> None:
    """TODO 1, 2, … are the lesson's exercises, in their order, a region in each function."""
    found = sorted((region.number, region.function) for file in lesson.algorithm.files
                   for region in regions(file.read_text(encoding="utf-8"), file))
    wanted = list(enumerate(lesson.functions, 1))
    if found != wanted:
        here, there = (", ".join(f"TODO {number} in {function}" for number, function in pairs) for pairs in (found, wanted))
        raise Refused(lesson.algorithm.file, f"the regions are {here}; the lesson's exercises need {there}")


def _check_what_todos_need(lesson: Lesson) -> None:
    """What a learner at a TODO counts on: hints, the text that a failed check sends back to, all checks at once, the solution."""
    file, cells = lesson.folder / "lesson.md", lesson.cells
    for cell in (cell for cell in cells if cell.role == "exercise"):
        if not cell.hint:
            raise cell.refuse("an exercise needs hint, a list of steps [English, 中文], which `hint()` shows one by one")
        if not cell.explained:
            raise cell.refuse("an exercise needs explained, {KEY of a prose cell: [beginnings of names of checks]}, which a failed check "
                              "sends back to")
    names = ", ".join(f'"{function}"' for function in lesson.functions)
    call = f"run_all_checks(globals(), {names})"
    summary = next((cell for cell in cells if cell.key == "all-checks"), None)
    if summary is None or summary.kind != "code":
        raise Refused(file, f"a lesson with TODOs needs a code cell of this key, after the last check cell, which calls {call}", key="all-checks")
    if call not in " ".join(summary.source.split()):
        raise summary.refuse(f"it calls all TODOs in their order: {call}")
    stops = [cell for cell in cells if cell.key == "stop-here"]
    if not stops:
        raise Refused(file, "a lesson with TODOs needs a pair of prose cells of this key with only: learner, which links to {{solution}}",
                      key="stop-here")
    for cell in stops:
        if cell.only != "learner" or "{{solution}}" not in cell.source:
            raise cell.refuse("it has only: learner and links to the solved notebook, [words]({{solution}})")
