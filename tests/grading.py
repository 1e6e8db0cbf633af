"""For tests of grading: a course with lesson RLOO in its gradebook, without nbgrader's slow commands, and records to write into it."""

import functools
import os
import sys
import tempfile
from pathlib import Path

from nbgrader.api import Gradebook

from advantagelab.message import message
from autograder.course_folder import CourseFolder, open_course
from autograder.record import GRADED, UNGRADABLE, CheckResult, QuestionRecord, Record
from lessons._build.course import read_course
from lessons._build.lesson import Lesson, read_lesson

RLOO = "03_rloo"
SUM, SHAPE, ADVANTAGES, LOSS = (f"check-{name}" for name in (
    "aggregate-sequence-logps", "shape-rloo-rewards", "leave-one-out-advantages", "rloo-policy-loss"))
WRITTEN = "written-answer"
POINTS = {SUM: 2.0, SHAPE: 2.0, ADVANTAGES: 3.0, LOSS: 3.0, WRITTEN: 2.0}
BROKEN = message(en="The file is empty.", zh="文件是空的。")


@functools.cache
def rloo() -> Lesson:
    return read_lesson(read_course(), "rloo")


def make_course(folder: Path, config: str = "") -> CourseFolder:
    """What `init` makes, as far as the gradebook goes. config: more lines for nbgrader_config.py."""
    (folder / "source" / RLOO).mkdir(parents=True)
    (folder / "nbgrader_config.py").write_text(f'c = get_config()\nc.CourseDirectory.course_id = "rl"\n{config}\n', encoding="utf-8")
    (folder / "gradebook.db").write_bytes(_gradebook())
    return open_course(folder)


@functools.cache
def _gradebook() -> bytes:
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # nbgrader calls alembic by its bare name
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "gradebook.db"
        _fill(f"sqlite:///{file}")
        return file.read_bytes()


def _fill(db_url: str) -> None:
    with Gradebook(db_url, "rl") as gradebook:
        gradebook.add_assignment(RLOO)
        gradebook.add_notebook(RLOO, RLOO)
        for cell in rloo().cells:
            kind = "markdown" if cell.role == "question" else "code"
            if cell.role in ("check", "question"):
                gradebook.add_grade_cell(cell.key, RLOO, RLOO, max_score=cell.points, cell_type=kind)
            if cell.role in ("exercise", "question"):
                gradebook.add_solution_cell(cell.key, RLOO, RLOO)


def answer_keys() -> dict[str, str]:
    """grade id → key of the cell that holds the answer."""
    exercises = {cell.exercise: cell.key for cell in rloo().cells if cell.role == "exercise"}
    return {cell.key: exercises.get(cell.check, cell.key) for cell in rloo().cells if cell.role in ("check", "question")}


def function_of(key: str) -> str | None:
    return None if key == WRITTEN else key.removeprefix("check-").replace("-", "_")


def make_record(student: str = "s1", scores: dict | None = None, untouched: tuple = (), file: str = "a" * 64,
                answers: dict | None = None, **more) -> Record:
    """Graded, with full points where `scores` says nothing, the written answer waiting. file: SHA-256; untouched, answers: by grade id."""
    scores = {**POINTS, WRITTEN: None, **(scores or {})}
    answers = answers or {}
    questions = tuple(QuestionRecord(key, answer, function_of(key), POINTS[key], scores[key], key in untouched, answer=answers.get(key, ""))
                      for key, answer in answer_keys().items())
    plain = dict(assignment=RLOO, lesson="rloo", status=GRADED, reason=None, file=f"{RLOO}.ipynb", sha256=file, language="en",
                 questions=questions, repairs=(), notes=(), isolation="bubblewrap", grader="0.1.0+abc", seed=7,
                 graded_at="2026-03-01T10:00:00+00:00")
    return Record(student=student, **{**plain, **more})


def ungradable_record(student: str = "s1", **more) -> Record:
    return make_record(student, dict.fromkeys(POINTS), status=UNGRADABLE, reason=BROKEN, language="", isolation="", **more)


def check(name: str, status: str = "failed", expected: str | None = None, got: str | None = None) -> CheckResult:
    said = None if status == "passed" else message(en=f"{name} says why.", zh=f"{name} 说明原因。")
    return CheckResult(name, status, said, expected, got)
