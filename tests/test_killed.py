"""Runs that are killed at random instants, with SIGKILL: no score is lost, doubled or changed, and what has a record is left alone.

The killed one is the command itself, a process that grades, the one that they are forked from, the zygote, or all of them. `make test`
kills a few, `make test-all` (ALL=1) fifty.
"""

import contextlib
import random
import shutil
import signal
import time
from pathlib import Path

import nbformat
import psutil
import pytest
from nbgrader.api import Gradebook

from autograder.course_folder import CourseFolder
from autograder.demo_class import WRITTEN as ANSWER
from autograder.demo_class import Submission, solutions, submission
from autograder.record import GRADED, Record, read_record
from lessons._build.answers import wrong_answers
from lessons._build.notebook import build_notebook
from tests.grade_command import GradeCommand
from tests.grading import RLOO, make_course, rloo
from tests.whole import ALL

KILLS = 50 if ALL else 4
SEED = 20240222
TARGETS = ("command", "grading process", "zygote", "everything", "forkserver")
STUDENTS = 8
PATIENCE = 180  # seconds for what takes a few on an idle machine


@pytest.fixture(scope="module")
def handed_in() -> list[Submission]:
    """Right and wrong ones, in both languages."""
    learner = {language: build_notebook(rloo(), language, "learner") for language in ("en", "zh")}
    mistakes, right = [answer for answer in wrong_answers(rloo().folder) if answer.todos][::20], solutions(rloo())
    made = []
    for number in range(STUDENTS):
        answer = mistakes[number % len(mistakes)].todos if number % 2 else {}
        language = ("en", "zh")[number % 3 % 2]
        made.append(submission(rloo(), learner[language], f"s{number}", "", {**right, **answer}, wrong=answer, written=ANSWER))
    return made


class Class:
    """A course with submissions, and what must be true of it at any time."""

    def __init__(self, folder: Path, submissions: list[Submission]):
        self.course = make_course(folder)
        self.fresh = (folder / "gradebook.db").read_bytes()
        self.expected = {made.student: made.expected.points for made in submissions}
        for made in submissions:
            file = folder / "submitted" / made.student / RLOO / f"{RLOO}.ipynb"
            file.parent.mkdir(parents=True)
            nbformat.write(made.notebook, file)

    def record_files(self) -> dict[Path, tuple[int, int]]:
        return {file: (file.stat().st_ino, file.stat().st_mtime_ns) for file in self.course.root.glob(f"grading/{RLOO}/*/record.json")}

    def check(self, records_before: dict) -> int:
        """How many are graded."""
        records = self.record_files()
        assert records_before.items() <= records.items(), "what had a record was graded again"
        points = points_in_gradebook(self.course)
        for file in records:
            record, student = read_record(file), file.parent.name
            assert isinstance(record, Record) and (record.student, record.status) == (student, GRADED), file
            assert {question.key: question.score for question in record.questions} == self.expected[student] == points[student]
            nbformat.read(self.course.root / "autograded" / student / RLOO / f"{RLOO}.ipynb", 4)
        for student, given in points.items():
            assert all(score in (None, self.expected[student][key]) for key, score in given.items()), student
        return len(records)

    def forget(self) -> None:
        """As before the first run."""
        for name in ("grading", "autograded"):
            shutil.rmtree(self.course.root / name)
        (self.course.root / "gradebook.db").write_bytes(self.fresh)


def points_in_gradebook(course: CourseFolder) -> dict[str, dict[str, float | None]]:
    with Gradebook(course.db_url, "rl") as gradebook:
        submissions = gradebook.assignment_submissions(RLOO)
        assert len({submission.student.id for submission in submissions}) == len(submissions)
        return {submission.student.id: {grade.name: grade.auto_score for notebook in submission.notebooks for grade in notebook.grades}
                for submission in submissions}


def kill(run: GradeCommand, target: str, chance: random.Random) -> list[psutil.Process]:
    """All processes that there were. Waits until there is one to kill; none is killed if the command has ended by then."""
    while run.process.poll() is None:
        processes = run.processes()
        if processes[target]:
            for process in processes[target] if target == "everything" else [chance.choice(processes[target])]:
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.send_signal(signal.SIGKILL)
            return processes["everything"]
        time.sleep(0.02)
    return []


def wait_for_instant(run: GradeCommand, those: Class, chance: random.Random) -> None:
    """Some time after the start, or after some of the class is graded."""
    if chance.random() < 0.3:
        time.sleep(chance.uniform(0, 4))
        return
    graded = len(those.record_files()) + chance.randrange(STUDENTS)
    end = time.monotonic() + PATIENCE
    while run.process.poll() is None and len(those.record_files()) < min(graded, STUDENTS - 1) and time.monotonic() < end:
        time.sleep(0.005)
    time.sleep(chance.uniform(0, 0.3))


def ended(run: GradeCommand, which: str) -> int:
    """The status of the command, or what it still was when patience ended."""
    try:
        return run.process.wait(PATIENCE)
    except psutil.TimeoutExpired:
        left = [(process.pid, process.status(), process.cmdline()[:6]) for process in run.processes()["everything"]]
        pytest.fail(f"{which}: has not ended.\n{run.said()}\n{left}")


def test_killed_at_random_instants(handed_in, tmp_path):
    those, chance, log = Class(tmp_path / "course", handed_in), random.Random(SEED), tmp_path / "log"
    for number in range(KILLS):
        target = TARGETS[number] if number < len(TARGETS) else chance.choice(TARGETS)
        before, run = those.record_files(), GradeCommand(those.course.root, log)
        wait_for_instant(run, those, chance)
        processes = kill(run, target, chance)
        status = ended(run, f"{number} {target}")
        assert status in (0, -signal.SIGKILL), f"{number} {target}: {run.said()}"
        _, alive = psutil.wait_procs(processes, timeout=PATIENCE)
        assert not alive, f"{number} {target}: left over: {alive}"
        graded = those.check(before)
        if status == 0:
            assert graded == STUDENTS, f"{number} {target}: {run.said()}"
        if graded == STUDENTS:
            those.forget()
    before, run = those.record_files(), GradeCommand(those.course.root, log)
    assert ended(run, "the last") == 0, run.said()
    assert those.check(before) == STUDENTS
