"""`python -m autograder intake DIR`: what can be graded in a folder of submissions, and what had to be put right. Changes nothing."""

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from advantagelab.message import Message, message
from lessons._build.course import Course, read_course
from lessons._build.lesson import Lesson, read_lesson

from ..submission import Ungradable
from .belongs import lesson_of_file
from .choose import Found, choose
from .files import NO_FILE, files_in, notebooks_among, read_file
from .repairs import shown
from .restore import read_submission


@dataclass(frozen=True)
class HandedIn:
    """What one student handed in for one lesson. lesson: its name, None if no file tells."""

    student: str
    lesson: str | None
    found: Found


class Lessons:
    """The course's lessons, each read when it is first wanted."""

    def __init__(self, course: Course):
        self.course, self.of_assignment, self._read = course, {entry.notebook: entry.name for entry in course.lessons}, {}

    def __getitem__(self, name: str) -> Lesson:
        if name not in self._read:
            self._read[name] = read_lesson(self.course, name)
        return self._read[name]


def intake_command(folder: Path) -> int:
    """A line a submission. Exit status: 0 if all can be graded, 1 if some cannot, 2 if there is nothing to look at."""
    if not folder.is_dir():
        print(f"{folder} is not a folder | {folder} 不是文件夹", file=sys.stderr)
        return 2
    lessons, total, gradable = Lessons(read_course()), 0, 0
    for handed in handed_in(folder, lessons):
        said, good = _look_at(handed, lessons)
        assignment = lessons.course.lesson(handed.lesson).notebook if handed.lesson else "?"
        file = [shown(handed.found.file.name)] if handed.found.file else []
        print("  ".join([shown(handed.student), assignment, *file, said]), flush=True)
        total, gradable = total + 1, gradable + good
    if not total:
        print(f"there are no submissions in {folder} | {folder} 中没有提交的作业", file=sys.stderr)
        return 2
    print(f"{gradable} of {total} can be graded | {total} 份中 {gradable} 份可评阅")
    return 0 if gradable == total else 1


def _look_at(handed: HandedIn, lessons: Lessons) -> tuple[str, bool]:
    if handed.found.refused:
        return _ungradable(handed.found.refused), False
    try:
        submission = read_submission(read_file(handed.found.file), lessons[handed.lesson])
    except Ungradable as refused:
        return _ungradable(refused.said), False
    except Exception as error:  # a fault of ours must not hide the other students
        name = type(error).__name__
        return _ungradable(message(en=f"The intake itself failed: {name}.", zh=f"接收程序自身出错：{name}。")), False
    repairs = [*submission.repairs, *handed.found.notes]
    return "; ".join(map(str, repairs)) if repairs else "clean | 无需修正", True


def _ungradable(reason: Message) -> str:
    return f"ungradable: {reason.en} | 无法评阅：{reason.zh}"


def handed_in(folder: Path, lessons: Lessons) -> Iterator[HandedIn]:
    """All submissions in an nbgrader course, in its `submitted` folder, or in a folder with a file or a folder for each student."""
    submitted = folder / "submitted"
    if submitted.is_dir() and not submitted.is_symlink():
        folder = submitted
    elif (folder / "nbgrader_config.py").exists():
        return
    for path in sorted(folder.iterdir()):
        if path.name.startswith(".") or path.is_file() and ".ipynb" not in path.name.lower():
            continue
        if path.is_symlink():
            said = message(en="A link to another place: not followed.", zh="是指向别处的链接：不予读取。")
            yield HandedIn(path.name, None, Found(None, said))
        elif path.is_dir():
            yield from _of_student(path, lessons)
        else:
            yield from _by_content(path.stem, [path], lessons)


def _of_student(folder: Path, lessons: Lessons) -> Iterator[HandedIn]:
    """nbgrader's STUDENT/ASSIGNMENT/…, or one folder for all that a student handed in."""
    try:
        files = files_in(folder)
        groups = {entry.name: [] for entry in sorted(os.scandir(folder), key=lambda entry: entry.name)
                  if entry.name in lessons.of_assignment and entry.is_dir(follow_symlinks=False)}
    except (OSError, Ungradable) as error:
        said = error.said if isinstance(error, Ungradable) else message(en="The folder cannot be read.", zh="无法读取文件夹。")
        yield HandedIn(folder.name, None, Found(None, said))
        return
    others = []
    for file in files:
        groups.get(file.relative_to(folder).parts[0], others).append(file)
    for assignment, some in groups.items():
        name = lessons.of_assignment[assignment]
        yield HandedIn(folder.name, name, choose(some, lessons[name]))
    if others:
        yield from _by_content(folder.name, notebooks_among(others), lessons)
    elif not groups:
        yield HandedIn(folder.name, None, Found(None, NO_FILE))


def _by_content(student: str, files: list[Path], lessons: Lessons) -> Iterator[HandedIn]:
    of_lesson = {}
    for file in files:
        try:
            of_lesson.setdefault(lesson_of_file(read_file(file), lessons.course), []).append(file)
        except Ungradable as refused:
            yield HandedIn(student, None, Found(file, refused.said))
    for name, some in of_lesson.items():
        yield HandedIn(student, name, choose(some, lessons[name]))
