"""`python -m autograder intake DIR`: what can be graded in a folder of submissions, and what had to be put right. Changes nothing."""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from advantagelab.message import Message, message
from lessons._build.course import Course, read_course
from lessons._build.lesson import Lesson, read_lesson

from ..submission import Ungradable
from ..submitted import LINK, Submitted
from ..timestamp import submitted_at
from .belongs import lesson_of_file
from .choose import TOO_MANY, Found, choose, find_notebook, too_many
from .files import NO_FILE, files_in, notebooks_among, read_file
from .repairs import shown
from .restore import read_submission


@dataclass(frozen=True)
class HandedIn:
    """What one student handed in for one lesson. lesson: its name, None if no file tells; notes: what is odd beside the file."""

    student: str
    lesson: str | None
    found: Found
    notes: tuple[Message, ...] = ()


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
    submitted = _submitted(folder, lessons)
    for handed in _in_their_places(submitted, lessons) if submitted else _loose(folder, lessons):
        said, good = _look_at(handed, lessons)
        assignment = lessons.course.lesson(handed.lesson).notebook if handed.lesson else "?"
        file = [shown(handed.found.file.name)] if handed.found.file else []
        print("  ".join([shown(handed.student), assignment, *file, said]), flush=True)
        total, gradable = total + 1, gradable + good
    for assignment in lessons.of_assignment if submitted else ():
        for student in submitted.empty(assignment) if assignment in submitted.assignments else ():
            print(f"{shown(student)}  {assignment}  not submitted: {NO_FILE.en} | 未提交：{NO_FILE.zh}")
    astray = submitted.astray() if submitted else []
    for work in astray:
        print(work)
    if not total and not astray:
        print(f"there are no submissions in {folder} | {folder} 中没有提交的作业", file=sys.stderr)
        return 2
    more = (f"; {len(astray)} in the wrong place will not be", f"；另有 {len(astray)} 处放错了位置，不会评阅") if astray else ("", "")
    print(f"{gradable} of {total} can be graded{more[0]} | 共 {total} 份，可评阅 {gradable} 份{more[1]}")
    if not submitted:
        print("to grade them: COURSE/submitted/STUDENT/ASSIGNMENT/ for each (grade), or one by one (try) | "
              "评阅前请放到 课程/submitted/学号/作业名/ 中（grade），或逐份试评（try）")
    return 0 if gradable == total and not astray else 1


def _submitted(folder: Path, lessons: Lessons) -> Submitted | None:
    """What `grade` will walk through, if it is a course, or the folder in one that students' folders lie in."""
    for course in (folder, folder.resolve().parent):
        if (course / "nbgrader_config.py").is_file():
            from ..course_folder import open_course  # only for a course: it imports nbgrader

            opened = open_course(course)
            opened.lessons()
            if course == folder or opened.submitted.folder == folder.resolve():
                return opened.submitted
    inner = folder / "submitted"
    return Submitted(inner, lessons.of_assignment) if inner.is_dir() and not inner.is_symlink() else None


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
    repairs = [*submission.repairs, *submission.notes, *handed.found.notes, *handed.notes]
    return "; ".join(map(str, repairs)) if repairs else "clean | 无需修正", True


def _ungradable(reason: Message) -> str:
    return f"ungradable: {reason.en} | 无法评阅：{reason.zh}"


def _in_their_places(submitted: Submitted, lessons: Lessons) -> Iterator[HandedIn]:
    """As `grade` goes through them."""
    for assignment, name in lessons.of_assignment.items():
        for student, folder in submitted.of(assignment) if assignment in submitted.assignments else ():
            wrong = submitted_at(folder)[1]
            yield HandedIn(student, name, find_notebook(folder, lessons[name]), (wrong,) if wrong else ())


def _loose(folder: Path, lessons: Lessons) -> Iterator[HandedIn]:
    """In a folder with a file or a folder for each student, as a learning platform exports them."""
    for path in sorted(folder.iterdir()):
        if path.name.startswith(".") or path.is_file() and ".ipynb" not in path.name.lower():
            continue
        if path.is_symlink():
            yield HandedIn(path.name, None, Found(None, LINK))
        elif path.is_dir():
            yield from _of_student(path, lessons)
        else:
            yield from _by_content(path.stem, [path], lessons)


def _of_student(folder: Path, lessons: Lessons) -> Iterator[HandedIn]:
    try:
        files = files_in(folder)
    except Ungradable as refused:
        yield HandedIn(folder.name, None, Found(None, refused.said))
        return
    notebooks = notebooks_among(files)
    if not files or len(notebooks) > 1 and too_many(notebooks):
        yield HandedIn(folder.name, None, Found(None, TOO_MANY if files else NO_FILE))
    else:
        yield from _by_content(folder.name, notebooks, lessons)


def _by_content(student: str, files: list[Path], lessons: Lessons) -> Iterator[HandedIn]:
    of_lesson = {}
    for file in files:
        try:
            of_lesson.setdefault(lesson_of_file(read_file(file), lessons.course), []).append(file)
        except Ungradable as refused:
            yield HandedIn(student, None, Found(file, refused.said))
    for name, some in of_lesson.items():
        yield HandedIn(student, name, choose(some, lessons[name]))
