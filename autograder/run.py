"""A class of submissions through several grading processes; killed at any moment, the next run goes on where this one stopped.

For each submission three things are written, in this order: the graded notebook, the gradebook, the record. The record says that
the other two are there, so a run that finds it leaves the submission alone, and one that does not writes all three again.
"""

import contextlib
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

from tqdm import tqdm

from advantagelab.checking import message
from lessons._build.course import read_course
from lessons._build.lesson import Lesson, read_lesson

from .course_folder import CourseFolder
from .grade import Graded, Handed, Setup, grade, grader_version, ungradable
from .gradebook import GradebookWriter, submitted_at
from .intake import find_notebook, read_file
from .record import Record, read_record, write_whole
from .sandbox import SandboxError
from .submission import Ungradable

IN_FLIGHT = 3  # submissions a process: enough to keep it busy, few enough to keep memory flat
TRIES = 2  # a submission that takes a whole grading process down twice is not tried again
CRASHED = message(en="The grading process ended twice while it graded this file. Nothing else was affected.",
                  zh="评阅这份文件时，评阅进程两次意外结束。其他提交不受影响。")

# Makes an executor of that many grading processes, as a context.
Executors = Callable[[], contextlib.AbstractContextManager[tuple[Executor, int]]]


@dataclass(frozen=True)
class Summary:
    graded: list[Record]  # by this run, ungradable ones among them
    unchanged: int  # graded by an earlier run, with these checks and this seed


def grade_assignment(course: CourseFolder, lesson_name: str, setup: Setup, executors: Executors, *,
                     student: str | None = None, again: bool = False, progress: bool = True) -> Summary:
    """Grade what was handed in and has no record yet. student: only this one; again: also what has a record."""
    lesson = read_lesson(read_course(), lesson_name)
    assignment, version = lesson.entry.notebook, grader_version(lesson_name, setup.private_checks)
    with GradebookWriter(course) as gradebook:
        gradebook.require_assignment(lesson)
        folders = {name: folder for name, folder in course.submissions(assignment) if student in (None, name)}
        waiting = [name for name in folders if again or not _is_current(course, assignment, name, folders[name], lesson, version, setup)]
        records = []
        with tqdm(total=len(waiting), unit=" submissions", desc=assignment, disable=not progress, dynamic_ncols=True) as bar:
            handed_in = (read_handed_in(name, folders[name], lesson) for name in waiting)
            for graded in _grade_all(handed_in, setup, executors):
                _write(course, gradebook, folders[graded.record.student], graded)
                records.append(graded.record)
                bar.update()
        return Summary(records, len(folders) - len(waiting))


@contextlib.contextmanager
def processes(number: int) -> Iterator[tuple[Executor, int]]:
    """On this machine. Started afresh, not forked: a grading process shares nothing with this one."""
    with ProcessPoolExecutor(number, mp_context=get_context("spawn")) as pool:
        yield pool, number


@contextlib.contextmanager
def dask(address: str) -> Iterator[tuple[Executor, int]]:
    """On the workers of a Dask cluster, each a machine or process that has this checkout and an isolation of its own."""
    from distributed import Client

    with Client(address) as client:
        yield client.get_executor(), max(1, sum(client.nthreads().values()))


def read_handed_in(student: str, folder: Path, lesson: Lesson) -> Handed:
    """What is in a student's folder. Never fails: what is wrong with it stands in the result."""
    found = find_notebook(folder, lesson)
    try:
        data, refused = (read_file(found.file), None) if found.file else (b"", found.refused)
    except Ungradable as error:
        data, refused = b"", error.said
    name = str(found.file.relative_to(folder)) if found.file else ""
    return Handed(student, lesson.entry.notebook, lesson.entry.name, name, data, refused, found.notes)


def _is_current(course: CourseFolder, assignment: str, student: str, folder: Path, lesson: Lesson, version: str, setup: Setup) -> bool:
    record = read_record(course.record_file(student, assignment))
    if record is None or (record.grader, record.seed) != (version, setup.seed):
        return False
    handed = read_handed_in(student, folder, lesson)
    return (record.sha256, record.file) == (handed.sha256, handed.file)


def _grade_all(handed_in: Iterable[Handed], setup: Setup, executors: Executors) -> Iterator[Graded]:
    """In the order in which they are done. A process that dies takes down all that are under way: these are tried again one by one, so
    that the one to blame is found and the others are graded."""
    handed_in = iter(handed_in)
    while True:
        running: dict[Handed, Future | None] = {}
        with contextlib.suppress(BrokenExecutor), executors() as (executor, number):
            yield from _through(executor, number, handed_in, setup, running)
        if not running:
            return
        for handed in running:
            yield _alone(handed, setup, executors)


def _through(executor: Executor, number: int, handed_in: Iterator[Handed], setup: Setup, running: dict) -> Iterator[Graded]:
    """BrokenExecutor: those in `running` are not graded."""
    while True:
        while len(running) < IN_FLIGHT * number and (handed := next(handed_in, None)):
            running[handed] = None  # known before it is submitted: the executor may be broken by now
            running[handed] = executor.submit(grade, setup, handed)
        if not running:
            return
        done = wait(running.values(), return_when=FIRST_COMPLETED).done
        for handed in [handed for handed, future in running.items() if future in done]:
            graded = _result(running[handed], setup, handed)
            del running[handed]
            yield graded


def _alone(handed: Handed, setup: Setup, executors: Executors) -> Graded:
    for _ in range(TRIES - 1):
        with contextlib.suppress(BrokenExecutor), executors() as (executor, _):
            return _result(executor.submit(grade, setup, handed), setup, handed)
    return ungradable(setup, handed, CRASHED)


def _result(future: Future, setup: Setup, handed: Handed) -> Graded:
    """`grade` itself lets only SandboxError out: nothing can be graded then. Any other error is of a cluster that lost its worker."""
    try:
        return future.result()
    except (BrokenExecutor, SandboxError):
        raise
    except Exception:
        return ungradable(setup, handed, CRASHED)


def _write(course: CourseFolder, gradebook: GradebookWriter, folder: Path, graded: Graded) -> None:
    record = graded.record
    timestamp, wrong = submitted_at(folder)
    if wrong:
        record = record.with_note(wrong)
    write_whole(course.folder("autograded", record.student, record.assignment) / f"{record.assignment}.ipynb", graded.notebook)
    gradebook.write(record, timestamp)
    write_whole(course.record_file(record.student, record.assignment), record.dumps())
