"""course.toml: what the course is, and where its parts lie."""

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

from .refusal import Refused

ROOT = Path(__file__).resolve().parents[2]
LANGUAGES = ("en", "zh")


@dataclass(frozen=True)
class LessonEntry:
    """A [[lesson]] table of course.toml. Pairs are (English, 中文)."""

    name: str
    number: str
    code: str
    title: tuple[str, str]
    difficulty: tuple[str, str]
    environment: tuple[str, str]
    audience: tuple[str, str]
    tags: tuple[list[str], list[str]]
    minutes: int
    points: int
    algorithms: tuple[str, ...]  # its files in advantagelab/algorithms, without .py; a name of one file's may not recur in another

    @property
    def notebook(self) -> str:
        """The name of its notebooks, and of its nbgrader assignment: 03_rloo."""
        return f"{self.number}_{self.name}"


@dataclass(frozen=True)
class ExtraEntry:
    """An [[extra]] table of course.toml: a notebook beside the lessons, with no number, no points, and no place in the grading."""

    name: str
    title: tuple[str, str]
    environment: tuple[str, str]
    audience: tuple[str, str]

    @property
    def notebook(self) -> str:
        return self.name


@dataclass(frozen=True)
class Course:
    lessons_folder: Path  # holds course.toml, glossary.md and a folder a lesson
    algorithms_folder: Path  # holds the references of the lessons
    title: tuple[str, str]
    owner: str
    repository: str
    branch: str
    lessons: tuple[LessonEntry, ...]
    extras: tuple[ExtraEntry, ...]

    def lesson(self, name: str) -> LessonEntry:
        for entry in self.lessons:
            if entry.name == name:
                return entry
        known = ", ".join(entry.name for entry in self.lessons)
        raise Refused(self.lessons_folder / "course.toml", f"there is no lesson {name!r}; the lessons are: {known}")

    def algorithm_files(self, entry: LessonEntry) -> tuple[Path, ...]:
        return tuple(self.algorithms_folder / f"{name}.py" for name in entry.algorithms)

    def address(self, path: str) -> str | None:
        """OWNER/REPOSITORY/blob/BRANCH/path, or None while the course has no public address."""
        return f"{self.owner}/{self.repository}/blob/{self.branch}/{path}" if self.owner and self.repository else None


def read_course(lessons_folder: Path = ROOT / "lessons", algorithms_folder: Path = ROOT / "advantagelab" / "algorithms") -> Course:
    file = lessons_folder / "course.toml"
    try:
        table = tomllib.loads(file.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise Refused(file, str(error)) from error
    course = table.get("course", {})
    missing = {"title", "owner", "repository", "branch"} - course.keys()
    if missing:
        raise Refused(file, f"[course] lacks {', '.join(sorted(missing))}")
    lessons = tuple(_entry(file, "lesson", LessonEntry, entry) for entry in table.get("lesson", []))
    extras = tuple(_entry(file, "extra", ExtraEntry, entry) for entry in table.get("extra", []))
    for field in ("name", "number", "code"):
        values = [getattr(entry, field) for entry in (*lessons, *(extras if field == "name" else ()))]
        if len(set(values)) < len(values):
            raise Refused(file, f"two lessons have the same {field}: {', '.join(sorted(values))}")
    return Course(lessons_folder, algorithms_folder, tuple(course["title"]), course["owner"], course["repository"],
                  course["branch"], lessons, extras)


def _entry(file: Path, table: str, kind: type, entry: dict) -> LessonEntry | ExtraEntry:
    expected = kind.__dataclass_fields__.keys()
    name = entry.get("name", "?")
    if entry.keys() != expected:
        odd = sorted(entry.keys() ^ expected)
        raise Refused(file, f"{table} {name}: these fields are missing or unknown: {', '.join(odd)}")
    for field in expected & {"title", "difficulty", "environment", "audience", "tags"}:
        if not isinstance(entry[field], list) or len(entry[field]) != 2:
            raise Refused(file, f"{table} {name}: {field} is a pair [English, 中文]")
    if "number" in expected and not (isinstance(entry["number"], str) and re.fullmatch("[0-9]{2}", entry["number"])):
        raise Refused(file, f'{table} {name}: number has two digits, as in number = "08"; here it is {entry["number"]!r}')
    return kind(**{key: tuple(value) if isinstance(value, list) else value for key, value in entry.items()})
