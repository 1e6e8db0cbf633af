"""What a class costs: our grader and stock `nbgrader autograde` on the same valid submissions, from process start to the last score in the
gradebook, without feedback; and, with ALL=1, what a thousand submissions leave in memory.

Stock is serial: it grades the first few, and its time for all is that of the first and as many intervals as there are others.
"""

import contextlib
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import nbformat
import psutil
from nbgrader.api import Gradebook

from autograder.course import init_course, run_nbgrader
from autograder.demo_class import WRITTEN, solutions, submission
from lessons._build.answers import wrong_answers
from lessons._build.course import LANGUAGES, read_course
from lessons._build.lesson import Lesson, read_lesson
from lessons._build.notebook import build_notebook
from tests.grade_command import GradeCommand

SUBMISSIONS, OF_STOCK = 40, 8
MANY = 1000
CGROUPS = (("/sys/fs/cgroup/cpuacct", "cpuacct.usage", 1e9), ("/sys/fs/cgroup", "cpu.stat", 1e6))


def notebooks(lesson: Lesson) -> Iterator[nbformat.NotebookNode]:
    """Right ones and each listed mistake in turn, in both languages, for ever."""
    learner = {language: build_notebook(lesson, language, "learner") for language in LANGUAGES}
    mistakes = [{}, *(answer.todos for answer in wrong_answers(lesson.folder) if answer.todos)]
    number = 0
    while True:
        answers = solutions(lesson) | mistakes[7 * number % len(mistakes)]
        yield submission(lesson, learner[LANGUAGES[number % 2]], "s", "", answers, written=WRITTEN).notebook
        number += 1


class Course:
    """An nbgrader course with so many submissions."""

    def __init__(self, folder: Path, lesson: Lesson, number: int):
        self.folder, self.assignment = folder, lesson.entry.notebook
        init_course(read_course(), folder, "en", [lesson.entry.name])
        for student, notebook in zip(range(number), notebooks(lesson)):
            file = folder / "submitted" / f"s{student:04}" / self.assignment / f"{self.assignment}.ipynb"
            file.parent.mkdir(parents=True)
            nbformat.write(notebook, file)

    def scores(self) -> dict[str, dict[str, float | None]]:
        with Gradebook(f"sqlite:///{self.folder.resolve() / 'gradebook.db'}") as gradebook:
            return {graded.student.id: {grade.name: grade.auto_score for notebook in graded.notebooks for grade in notebook.grades}
                    for graded in gradebook.assignment_submissions(self.assignment)}

    def written(self, pattern: str) -> list[float]:
        """When the files of that pattern were written, the first first."""
        return sorted(file.stat().st_mtime for file in self.folder.glob(pattern))


@contextlib.contextmanager
def cpu_seconds() -> Iterator[tuple[dict, list[float]]]:
    """How to start a process, and then, in the list, what it and all below it used; nothing where no control group can be made."""
    used = []
    for folder, file, unit in CGROUPS:
        group = Path(folder) / f"grading-bench-{os.getpid()}"
        if (Path(folder) / file).exists():
            with contextlib.suppress(OSError):
                group.mkdir()
                yield {"preexec_fn": lambda group=group: (group / "cgroup.procs").write_text(str(os.getpid()))}, used
                used.append(float((group / file).read_text().replace("usage_usec", "").split()[0]) / unit)
                _remove(group)
                return
    yield {}, used


def _remove(group: Path) -> None:
    for _ in range(50):  # its last processes are about to end
        with contextlib.suppress(OSError):
            group.rmdir()
            return
        time.sleep(0.1)


def ours(folder: Path, lesson: Lesson, workers: int) -> tuple[float, str, dict]:
    """Seconds, CPU seconds in words, scores."""
    course = Course(folder / f"ours-{workers}", lesson, SUBMISSIONS)
    with cpu_seconds() as (how, used):
        start = time.time()
        command = GradeCommand(course.folder, folder / "log", workers, **how)
        assert command.process.wait() == 0, command.said()
    seconds = course.written(f"grading/{course.assignment}/*/record.json")[-1] - start
    return seconds, f"{used[0]:.0f} CPU s" if used else "CPU time not known", course.scores()


def stock(folder: Path, lesson: Lesson) -> tuple[float, dict]:
    """Seconds for all, scores of the first ones."""
    course = Course(folder / "stock", lesson, OF_STOCK)
    start = time.time()
    run_nbgrader(course.folder, "autograde", course.assignment)
    graded = course.written(f"autograded/*/{course.assignment}/{course.assignment}.ipynb")
    interval = (graded[-1] - graded[0]) / (len(graded) - 1)
    return graded[0] - start + (SUBMISSIONS - 1) * interval, course.scores()


def lines() -> Iterator[tuple[str, str, str, bool]]:
    lesson = read_lesson(read_course(), "rloo")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        both, both_cpu, scores = ours(folder, lesson, 2)
        stock_seconds, stock_scores = stock(folder, lesson)
        one, one_cpu, one_scores = ours(folder, lesson, 1)
        what = f"{SUBMISSIONS} submissions, stock nbgrader {stock_seconds:.0f} s (of {OF_STOCK} of them)"
        for name, seconds, cpu, bar in (("both cores", both, both_cpu, 15), ("one worker", one, one_cpu, 8)):
            ratio = stock_seconds / seconds
            yield f"{what}, ours on {name} {seconds:.1f} s ({cpu})", f"{ratio:.1f} times", f">= {bar} times", ratio >= bar
        equal = scores == one_scores and all(scores[student] == given for student, given in stock_scores.items())
        yield f"scores equal to stock's in {len(stock_scores)} submissions", str(equal), "True", equal
        if os.environ.get("ALL"):
            yield from memory(folder, lesson)


def memory(folder: Path, lesson: Lesson) -> Iterator[tuple[str, str, str, bool]]:
    course = Course(folder / "many", lesson, MANY)
    command = GradeCommand(course.folder, folder / "log")
    early = None
    while command.process.poll() is None:
        graded = len(course.written(f"grading/{course.assignment}/*/record.json"))
        now = {what: sum(_megabytes(process) for process in found) for what, found in command.processes().items() if what != "everything"}
        if early is None and graded >= MANY // 5:
            early = now
        if graded < MANY:
            late = now
        time.sleep(1)
    assert command.process.returncode == 0 and len(course.scores()) == MANY, command.said()
    for what in ("command", "grading process", "zygote"):
        growth = late[what] - early[what]
        yield f"memory of {what} from {MANY // 5} to {MANY} submissions ({late[what]:.0f} MB)", f"{growth:+.1f} MB", "< 10 MB", growth < 10


def _megabytes(process: psutil.Process) -> float:
    with contextlib.suppress(psutil.NoSuchProcess):
        return process.memory_full_info().uss / 2**20
    return 0.0
