"""What goes to a grading process, and what comes back. The process that hands the work out needs no torch for it."""

import functools
import hashlib
import threading
from dataclasses import dataclass

import advantagelab
from advantagelab.message import Message, message
from lessons._build.course import ROOT, read_course

from .course_error import CourseError
from .record import Record

MAX_SEED = 2**62  # what torch takes, with room for what each check adds
CRASHED = message(en="The grading process ended twice while it graded this file. Nothing else was affected; the next run tries again.",
                  zh="评阅这份文件时，评阅进程两次意外结束。其他提交不受影响；下次运行会再试。")

_one_at_a_time = threading.Lock()


@dataclass(frozen=True)
class Setup:
    """What decides how submissions are graded.

    seed: of the hidden checks' inputs; private_checks: source of an instructor's own checks, "" if there are none
    unsafe: grade also where no isolation works
    """

    seed: int
    private_checks: str = ""
    unsafe: bool = False

    def __post_init__(self):
        if not 0 <= self.seed < MAX_SEED:
            raise CourseError(f"a seed is a whole number from 0 to {MAX_SEED - 1} | 种子应为 0 到 {MAX_SEED - 1} 的整数")


@dataclass(frozen=True)
class Handed:
    """What one student handed in for one lesson.

    file: its name in the student's folder, "" if none could be chosen; refused: why it cannot even be read; notes: what was found beside it
    """

    student: str
    assignment: str
    lesson: str
    file: str
    data: bytes
    refused: Message | None = None
    notes: tuple[Message, ...] = ()

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.data).hexdigest()


@dataclass(frozen=True)
class Graded:
    record: Record
    notebook: str  # the .ipynb for formgrader


def grade_there(setup: Setup, handed: Handed) -> Graded:
    """`grade`, in a process that has, or now gets, torch. In one process one after the other: what a check may change is the process's."""
    from .grade import grade

    with _one_at_a_time:
        return grade(setup, handed)


def refuse_there(setup: Setup, handed: Handed, reason: Message) -> Graded:
    """`ungradable`, likewise."""
    from .grade import ungradable

    return ungradable(setup, handed, reason)


@functools.cache
def grader_version(lesson: str, private_checks: str = "") -> str:
    """Version of the course and digest of all that decides a score; another digest, another grading. Private checks have their own."""
    digest = hashlib.sha256()
    course = read_course()
    files = [*(ROOT / "lessons" / lesson).glob("*.*"), *course.algorithm_files(course.lesson(lesson)),
             *(ROOT / "advantagelab" / "checking").glob("*.py"), *(ROOT / "autograder").rglob("*.py")]
    for file in sorted(files):
        digest.update(str(file.relative_to(ROOT)).encode() + b"\0" + file.read_bytes() + b"\0")
    own = f".{hashlib.sha256(private_checks.encode()).hexdigest()[:12]}" if private_checks else ""
    return f"{advantagelab.__version__}+{digest.hexdigest()[:12]}{own}"
