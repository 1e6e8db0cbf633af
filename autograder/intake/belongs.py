"""Which lesson a notebook belongs to: what its metadata says, else the lesson most of whose own cells stand in it."""

import re

from lessons._build.course import Course
from lessons._build.lesson import Lesson
from lessons._build.source import read_cells as read_lesson_cells

from .cells import RawCell, read_cells
from .decode import read_json, refuse

ANY_KEY = re.compile(r"^#(?:@title)? ?\[([a-z0-9-]+)\]", re.M)


def require_lesson(lesson: Lesson, stated, cells: list[RawCell], found: bool) -> None:
    """Ungradable if the cells are those of another lesson, or of none. stated: what the notebook's metadata says, whatever that is."""
    name = lesson.entry.name
    if stated != name:
        other = lesson_of(stated, cells, lesson.course)
        if other not in (None, name):
            entry = lesson.course.lesson(other)
            raise refuse(f"This is the notebook of another lesson: {entry.notebook}.", f"这是另一课的 notebook：{entry.notebook}。")
    if not found:
        notebook = lesson.entry.notebook
        raise refuse(f"Nothing of lesson {notebook} is in this notebook.", f"这个 notebook 中没有 {notebook} 的任何内容。")


def lesson_of(stated, cells: list[RawCell], course: Course) -> str | None:
    """The name of the lesson, or None if nothing tells, or two lessons equally."""
    keys = {key for cell in cells for key in (cell.grade_id, *cell.names, *ANY_KEY.findall(cell.source)) if key}
    shares = {name: len(keys & wanted) / len(wanted) for name, wanted in _keys(course).items()}
    best = max(shares.values())
    first = [name for name, share in shares.items() if share == best]
    if isinstance(stated, str) and shares.get(stated) == best:
        return stated
    return first[0] if best and len(first) == 1 else None


def lesson_of_file(data: bytes, course: Course) -> str:
    """The lesson that a file is a notebook of. Ungradable: it is none, or of no lesson."""
    value, _ = read_json(data)
    cells, _ = read_cells(value)
    name = lesson_of(ours(value).get("lesson"), cells, course)
    if name is None:
        raise refuse("This notebook is of no lesson of the course.", "这个 notebook 不属于本课程的任何一课。")
    return name


def ours(notebook: dict) -> dict:
    """The course's own entry in a notebook's metadata."""
    metadata = notebook.get("metadata")
    entry = metadata.get("advantagelab") if isinstance(metadata, dict) else None
    return entry if isinstance(entry, dict) else {}


_of_course: dict[int, tuple[Course, dict[str, frozenset[str]]]] = {}


def _keys(course: Course) -> dict[str, frozenset[str]]:
    """The keys by which each lesson is known."""
    if id(course) not in _of_course:
        _of_course[id(course)] = course, {entry.name: frozenset(_telling(course, entry.name)) for entry in course.lessons}
    return _of_course[id(course)][1]


def _telling(course: Course, name: str) -> list[str]:
    """Of answers and checks; in a lesson without TODOs of its questions, and of its given cells, which say their keys themselves."""
    cells = read_lesson_cells(course.lessons_folder / name / "lesson.md")
    by_role = [[cell.key for cell in cells if cell.role in roles] for roles in (("exercise", "check"), ("given", "question"))]
    return by_role[0] or by_role[1]
