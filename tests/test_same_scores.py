"""What the judge makes of a handed-in notebook is what `python -m lessons check` makes of the same code: a learner can know their score.

Each notebook holds one listed answer to every TODO, right and wrong ones as they come. `make test` takes some of them, in turns in
English and in Chinese; with ALL=1 (`make test-all`) it is every listed answer of every lesson, in both languages.
"""

import functools
from itertools import islice

import nbformat
import pytest

from advantagelab.checking.run import PASSED, PUBLIC_SEED
from autograder import grade as grade_module
from autograder.demo_class import solutions, submission
from autograder.grade import grade
from autograder.record import GRADED, Record
from autograder.sandbox import SandboxError
from autograder.task import Handed, Setup
from lessons._build.answers import Answer, right_answers, wrong_answers
from lessons._build.check_command import load, run
from lessons._build.course import LANGUAGES, read_course
from lessons._build.lesson import Lesson, read_lesson
from lessons._build.notebook import build_notebook
from lessons._build.regions import Region, regions
from tests import needs
from tests.test_judge import BY_IDENTITY
from tests.whole import ALL

SOME = 4  # notebooks of a lesson, without ALL
SETUP = Setup(PUBLIC_SEED)  # of `lessons check` and of the notebooks
NAMES = [entry.name for entry in read_course().lessons if read_lesson(read_course(), entry.name).checks]


@pytest.fixture(scope="module", autouse=True)
def judge():
    try:
        yield grade_module._judge(SETUP)
    except SandboxError as error:
        needs.not_run(f"no isolation works here: {error}", "`apt-get install bubblewrap`")
    grade_module._judge(SETUP).close()
    grade_module._judge.cache_clear()


@functools.cache
def lesson_of(name: str) -> Lesson:
    return read_lesson(read_course(), name)


@functools.cache
def learner(name: str, language: str) -> nbformat.NotebookNode:
    return build_notebook(lesson_of(name), language, "learner")


def todos_of(lesson: Lesson) -> list[Region]:
    return sorted(regions(lesson.algorithm.text), key=lambda todo: todo.number)


def rounds(lesson: Lesson) -> list[list[Answer]]:
    """An answer to each TODO, until each answer of the TODO that has the most has had its turn."""
    todos, answers = todos_of(lesson), [*wrong_answers(lesson.folder), *right_answers(lesson.folder)]
    lists = [[answer for answer in answers if answer.todo(todos) == todo] for todo in todos]
    return [[answers[turn % len(answers)] for answers in lists] for turn in range(max(map(len, lists)))]


def with_answers(lesson: Lesson, language: str, answers: list[Answer]) -> nbformat.NotebookNode:
    """The learner's notebook with these answers, and the course's own to the other TODOs."""
    filled = solutions(lesson)
    for answer in answers:
        filled |= answer.todos
    made = submission(lesson, learner(lesson.entry.name, language), "s", "", filled).notebook
    keys = {cell.exercise: cell.key for cell in lesson.cells if cell.role == "exercise"}
    cells = {cell.id: cell for cell in made.cells}
    for answer in answers:
        if answer.function is not None:
            cell = cells[keys[answer.todo(todos_of(lesson)).function]]
            cell.source += f"\n\n\n{answer.function}"  # some of them call what they replace
    return made


def graded(lesson: Lesson, notebook: nbformat.NotebookNode) -> Record:
    data = nbformat.writes(notebook).encode()
    return grade(SETUP, Handed("s", lesson.entry.notebook, lesson.entry.name, f"{lesson.entry.notebook}.ipynb", data)).record


def statuses_here(lesson: Lesson, notebook: nbformat.NotebookNode, file) -> dict[str, dict[str, str]]:
    """Of each function's checks, from `python -m lessons check` on the notebook's own code."""
    roles = {cell.key: cell.role for cell in lesson.cells}
    file.write_text("\n\n\n".join(cell.source for cell in notebook.cells if roles.get(cell.id) in ("given", "exercise")), encoding="utf-8")
    todos, found = todos_of(lesson), {}
    for todo, verdict in run(lesson.entry.name, todos, load(file)):
        found.setdefault(todo.function, {})[verdict.check] = verdict.status
    return found


@pytest.mark.parametrize("name", NAMES)
def test_every_answer_gets_here_what_it_gets_there(name, tmp_path):
    lesson = lesson_of(name)
    turns = list(enumerate(rounds(lesson)))
    for turn, answers in turns if ALL else islice(turns[::max(1, len(turns) // SOME)], SOME):
        for language in LANGUAGES if ALL else (LANGUAGES[turn // max(1, len(rounds(lesson)) // SOME) % 2],):
            notebook = with_answers(lesson, language, answers)
            here, record = statuses_here(lesson, notebook, tmp_path / "answers.py"), graded(lesson, notebook)
            assert (record.status, record.language, record.repairs) == (GRADED, language, ())
            given = {answer.todo(todos_of(lesson)).function: answer for answer in answers}
            for question in (question for question in record.questions if question.function):
                answer, expected = given[question.function], here[question.function]
                passed = set(expected.values()) == {PASSED}
                assert question.score == (question.points if passed else 0.0), (answer.name, question)
                if (name, answer.name) not in BY_IDENTITY:
                    assert {check.check: check.status for check in question.checks} == expected, answer.name


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", NAMES)
def test_the_course_s_own_solution_passes_every_check_and_the_untouched_notebook_none(name, language):
    lesson = lesson_of(name)
    solved, untouched = graded(lesson, with_answers(lesson, language, [])), graded(lesson, learner(name, language))
    assert [question.function for question in solved.questions if question.function] == lesson.functions
    for question, other in zip(solved.questions, untouched.questions, strict=True):
        if question.function:
            assert (question.score, other.score, other.untouched) == (question.points, 0.0, True)
            assert {check.status for check in question.checks} == {PASSED} and {check.status for check in other.checks} == {"open"}
            assert len(question.checks) == len(other.checks) > 2
    assert solved.repairs == untouched.repairs == ()


def test_every_listed_answer_has_its_turn():
    for name in NAMES:
        lesson = lesson_of(name)
        turns = [answer for answers in rounds(lesson) for answer in answers]
        assert all(answer in turns for answer in [*wrong_answers(lesson.folder), *right_answers(lesson.folder)])
        assert all(len(answers) == len(lesson.functions) for answers in rounds(lesson))
