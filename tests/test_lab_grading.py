"""Lesson 07 handed in: what was written waits for a person, what was not is 0, and no code is run."""

import nbformat
import pytest

from autograder import grade as grade_module
from autograder.grade import grade
from autograder.judge import Judge
from autograder.record import GRADED
from autograder.sandbox import SandboxError
from autograder.task import Handed, Setup
from lessons._build.course import LANGUAGES, read_course
from lessons._build.lesson import read_lesson
from lessons._build.notebook import build_notebook

from . import needs

SETUP = Setup(0)
LESSON = read_lesson(read_course(), "training_lab")
QUESTIONS = [cell.key for cell in LESSON.cells if cell.role == "question"]


@pytest.fixture(scope="module", autouse=True)
def judge():
    try:
        yield grade_module._judge(SETUP)
    except SandboxError as error:
        needs.not_run(f"no isolation works here: {error}", "`apt-get install bubblewrap`")
    grade_module._judge(SETUP).close()
    grade_module._judge.cache_clear()


@pytest.mark.parametrize("keep_metadata", [True, False])
@pytest.mark.parametrize("language", LANGUAGES)
def test_written_answers_wait_for_a_person(language, keep_metadata, monkeypatch):
    monkeypatch.setattr(Judge, "grade", None)  # no code is run
    notebook = build_notebook(LESSON, language, "learner")
    for cell in notebook.cells:
        if cell.id in QUESTIONS[:2]:
            cell.source = f"My answer to {cell.id}."
        if not keep_metadata:
            cell.metadata = {}
    if not keep_metadata:
        notebook.metadata = {}
    data = nbformat.writes(notebook).encode()
    record = grade(SETUP, Handed("s", LESSON.entry.notebook, LESSON.entry.name, "mine.ipynb", data)).record
    assert record.status == GRADED and record.language == language and [question.key for question in record.questions] == QUESTIONS
    assert [question.score for question in record.questions] == [None, None, 0.0, 0.0, 0.0]
    assert [question.untouched for question in record.questions] == [False, False, True, True, True]
    assert sum(question.points for question in record.questions) == LESSON.entry.points == 10


def test_another_lessons_notebook_is_told_apart():
    data = nbformat.writes(build_notebook(read_lesson(read_course(), "rloo"), "en", "learner")).encode()
    record = grade(SETUP, Handed("s", LESSON.entry.notebook, LESSON.entry.name, "mine.ipynb", data)).record
    assert record.status != GRADED and "03_rloo" in record.reason.en
