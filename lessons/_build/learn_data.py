"""What a notebook's set-up cell tells advantagelab.learn: skeletons, hints, what explains a check, and the lessons of the course."""

import functools
import json
import re

from .course import LANGUAGES, Course
from .lesson import Lesson
from .regions import regions, stub
from .source import Cell

NAME = "advantagelab/lesson.json"  # in the zip that the notebook carries
HEADING = re.compile(r"^#{1,6} +(.*?) *$", re.M)


def learn_data(lesson: Lesson, solved: bool) -> bytes:
    """solved: of the solved notebook"""
    exercises = [cell for cell in lesson.cells if cell.role == "exercise"]
    todos = [_todo(number, cell, lesson) for number, cell in enumerate(exercises, 1)]
    value = {"lesson": lesson.entry.name, "solved": solved, "todos": todos, "course": _lessons(lesson.course)}
    return json.dumps(value, ensure_ascii=False, indent=0).encode("utf-8")


def _todo(number: int, cell: Cell, lesson: Lesson) -> dict:
    source = lesson.algorithm.function(cell.exercise)
    (region,) = regions(source)
    return {"function": cell.exercise, "key": cell.key, "number": number, "title": region.title.split(" | "), "skeleton": stub(source),
            "hints": cell.hint or [], "explained": _explained(cell, lesson)}


def _explained(exercise: Cell, lesson: Lesson) -> list:
    """[key of the prose cell, its headings in both languages, beginnings of the names of checks] …"""
    found = []
    names = [name for name in lesson.checks.functions if name.startswith(f"check_{exercise.exercise}_")]
    before = lesson.cells[:lesson.cells.index(exercise)]
    for key, beginnings in (exercise.explained or {}).items():
        if not any(cell.key == key and cell.lang for cell in before):
            raise exercise.refuse(f"explained: there is no prose cell {key} before this one")
        for beginning in beginnings:
            if not any(name.startswith(f"check_{exercise.exercise}_{beginning}") for name in names):
                raise exercise.refuse(f"explained: no visible check of {exercise.exercise} begins with {beginning}")
        found.append([key, [_heading(before, key, language) for language in LANGUAGES], beginnings])
    return found


def _heading(cells: list[Cell], key: str, language: str) -> str:
    """The heading under which the cell's text begins: its own, else the last one above."""
    heading = ""
    for cell in (cell for cell in cells if cell.lang == language):
        headings = HEADING.findall(cell.source)
        if cell.key == key:
            return headings[0] if headings else heading
        heading = headings[-1] if headings else heading
    return heading


def _lessons(course: Course) -> list[dict]:
    return [{"lesson": entry.name, "notebook": entry.notebook, "title": entry.title,
             "todos": _functions(*(file.read_text(encoding="utf-8") for file in course.algorithm_files(entry)))} for entry in course.lessons]


@functools.cache
def _functions(*sources: str) -> list[str]:
    found = [region for source in sources for region in regions(source)]
    return [region.function for region in sorted(found, key=lambda region: region.number)]
