"""A class of submissions through several grading processes; killed at any moment, the next run goes on where this one stopped.

For each submission three things are written, in this order: the graded notebook, the gradebook, the record. The record says that
the other two are there, so a run that finds it leaves the submission alone, and one that does not writes all three again.
"""

import contextlib
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, replace
from pathlib import Path

from nbgrader.api import InvalidEntry
from sqlalchemy.exc import StatementError
from tqdm import tqdm

from advantagelab.message import message
from lessons._build.course import read_course
from lessons._build.lesson import read_lesson

from .course_error import CourseError
from .course_folder import CourseFolder
from .gradebook import GradebookWriter
from .os_errors import NOTHING_CHANGED, CannotWrite
from .processes import Crashed, Crew
from .record import Record, write_whole
from .stale import AGAIN, NEW, why_again
from .submitted import read_handed_in
from .task import CRASHED, Graded, Handed, Setup, grade_there, grader_version, refuse_there
from .timestamp import submitted_at

IN_FLIGHT = 3  # submissions a process: enough to keep it busy, few enough to keep memory flat
LINES = 10  # about so many while a lesson is graded, where no terminal shows a bar
TRIES = 2  # a submission that takes a grading process down so often, with no other one in it, is not tried again


@dataclass(frozen=True)
class Summary:
    graded: list[Record]  # by this run, ungradable ones among them; without their checks, which are many
    unchanged: int  # graded by an earlier run, with these checks and this seed


def grade_assignment(course: CourseFolder, lesson_name: str, setup: Setup, crew: Crew, *, student: str | None = None,
                     again: bool = False) -> Summary:
    """Grade what was handed in and has no record yet. student: only this one; again: also what has a record."""
    lesson = read_lesson(read_course(), lesson_name)
    assignment, version = lesson.entry.notebook, grader_version(lesson_name, setup.private_checks)
    folders = {name: folder for name, folder in course.submitted.of(assignment) if student in (None, name)}
    whys = {name: why_again(course, name, folder, lesson, version, setup) for name, folder in folders.items()}
    waiting = {name: why or AGAIN for name, why in whys.items() if why or again}
    if not waiting:
        return Summary([], len(folders))
    if setup.private_checks:
        from .grade import prove_private_checks  # only here: it needs torch

        prove_private_checks(lesson_name, setup)
    for why, number in Counter(waiting.values()).items():
        if why != NEW:
            print(f"{assignment}: {number} graded again: {why.en} | 重评 {number} 份：{why.zh}", flush=True)
    records = []
    handed_in = (read_handed_in(name, folders[name], lesson) for name in waiting)
    with GradebookWriter(course) as gradebook, tqdm(total=len(waiting), unit=" submissions", desc=assignment, dynamic_ncols=True,
                                                    disable=None) as bar:
        gradebook.require_assignment(lesson)
        for graded in _grade_all(handed_in, setup, crew):
            record = graded.record
            if record.grader != version:
                raise CourseError(f"graded by another version of the course, {record.grader}, not {version}: was it changed meanwhile, or "
                                  f"is it another one on the cluster? | 评阅所用的课程版本是 {record.grader}，不是 {version}："
                                  "是否在运行中改动过，或集群上的版本不同？")
            record = _write(course, gradebook, folders[record.student], graded)
            records.append(replace(record, questions=tuple(replace(question, checks=()) for question in record.questions)))
            bar.update()
            if bar.disable:  # no terminal: a line now and then, for who watches a log
                _tell(assignment, len(records), len(waiting))
    return Summary(records, len(folders) - len(waiting))


@contextlib.contextmanager
def only_run(course: CourseFolder) -> Iterator[None]:
    """CourseError if another run is at work on this course. The lock is the kernel's: it goes with the process, however that ends."""
    import fcntl  # only where student code can be run

    file = course.root / "grading" / "lock"
    try:
        file.parent.mkdir(exist_ok=True)
        lock = open(file, "a")
    except OSError as error:
        raise CannotWrite(error, file, NOTHING_CHANGED) from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise CourseError(f"another `grade` is at work on {course.root}: wait for it, or stop it | "
                              f"另一个 grade 正在评阅 {course.root}：请等它结束，或停止它") from None
        yield


def _tell(assignment: str, done: int, total: int) -> None:
    if done * LINES // total > (done - 1) * LINES // total:
        print(f"{assignment}: {done} of {total} | 已评 {done} / {total}", file=sys.stderr, flush=True)


def _grade_all(handed_in: Iterable[Handed], setup: Setup, crew: Crew) -> Iterator[Graded]:
    """In the order in which they are done. A process that dies takes down all that are under way: these are graded again one by one, so
    that the one to blame is found and the others get what they earned."""
    handed_in = iter(handed_in)
    while True:
        running: dict[Handed, Future | None] = {}
        try:
            yield from _side_by_side(handed_in, setup, crew, running)
            return
        except Crashed:
            for handed in running:
                yield _alone(handed, setup, crew)


def _side_by_side(handed_in: Iterator[Handed], setup: Setup, crew: Crew, running: dict) -> Iterator[Graded]:
    """Crashed: those in `running` are not graded."""
    while True:
        while len(running) < IN_FLIGHT * crew.places and (handed := next(handed_in, None)):
            running[handed] = None  # known before it is submitted: the executor may be broken by now
            running[handed] = crew.submit(grade_there, setup, handed)
        if not running:
            return
        done = wait(running.values(), return_when=FIRST_COMPLETED).done
        for handed in [handed for handed, future in running.items() if future in done]:
            graded = crew.result(running[handed])
            del running[handed]
            yield graded


def _alone(handed: Handed, setup: Setup, crew: Crew) -> Graded:
    for _ in range(TRIES):
        with contextlib.suppress(Crashed):
            return crew.result(crew.submit(grade_there, setup, handed))
    return crew.result(crew.submit(refuse_there, setup, handed, CRASHED))


def _write(course: CourseFolder, gradebook: GradebookWriter, folder: Path, graded: Graded) -> Record:
    """The record as it was written, with what was found out here."""
    record = graded.record
    timestamp, wrong = submitted_at(folder)
    if wrong:
        record = record.with_note(wrong)
    try:
        write_whole(course.folder("autograded", record.student, record.assignment) / f"{record.assignment}.ipynb", graded.notebook)
        gradebook.write(record, timestamp)
        write_whole(course.record_file(record.student, record.assignment), record.dumps())
        return record
    except (OSError, StatementError, InvalidEntry) as error:
        plain = str(error.orig) if isinstance(error, StatementError) else f"{type(error).__name__}: {error}"
        why = error.said if isinstance(error, CannotWrite) else message(en=plain, zh=plain)
        raise CourseError(f"what {record.student} got cannot be written: {why.en}. What is graded so far is kept; run "
                          f"`grade` again when that is mended | 无法写入 {record.student} 的结果：{why.zh}。"
                          "已评阅的都已保存；排除故障后再次运行 grade") from error
