"""One submission from bytes to a record, by the real judge; an instructor's own checks and seed; what decides a score."""

import functools
import gc
import hashlib
import threading
import time
from dataclasses import replace
from pathlib import Path

import nbformat
import pytest

from advantagelab.message import message
from autograder import grade as grade_module
from autograder import judge as judge_module
from autograder import run, task
from autograder.course import CourseError
from autograder.demo_class import WRITTEN as ANSWER
from autograder.demo_class import demo_class, solutions, submission
from autograder.grade import grade, prove_private_checks
from autograder.processes import Crew
from autograder.record import GRADED, UNGRADABLE
from autograder.sandbox import SandboxError
from autograder.task import MAX_SEED, Handed, Setup, grade_there, grader_version
from lessons._build.notebook import build_notebook
from tests import needs
from tests.grading import ADVANTAGES, LOSS, POINTS, RLOO, SHAPE, SUM, WRITTEN, answer_keys, make_course, rloo

SETUP = Setup(seed=7)
CLASS = {made.student: made for made in demo_class(rloo())}


@pytest.fixture(scope="module", autouse=True)
def isolation():
    """Of the judge that this module's submissions go through."""
    try:
        yield grade_module._judge(SETUP).isolation
    except SandboxError as error:
        needs.not_run(f"no isolation works here: {error}", "`apt-get install bubblewrap`")
    grade_module._judge(SETUP).close()
    grade_module._judge.cache_clear()


@pytest.fixture
def one_judge(monkeypatch):
    """Whatever the seed, the zygote is this module's."""
    judge = grade_module._judge(SETUP)
    monkeypatch.setattr(grade_module, "_judge", lambda setup: setattr(judge, "seed", setup.seed) or judge)
    yield
    judge.seed = SETUP.seed


def handed(notebook: nbformat.NotebookNode | bytes, student: str = "s", **more) -> Handed:
    data = notebook if isinstance(notebook, bytes) else nbformat.writes(notebook).encode()
    return Handed(student, RLOO, "rloo", f"{RLOO}.ipynb", data, **more)


def notebook(language: str = "en", answers: dict | None = None, edit=None) -> nbformat.NotebookNode:
    answers = solutions(rloo()) | (answers or {})
    return submission(rloo(), learner(language), "s", "", answers, written=ANSWER, edit=edit).notebook


@functools.cache
def learner(language: str) -> nbformat.NotebookNode:
    return build_notebook(rloo(), language, "learner")


def scores(record) -> dict[str, float | None]:
    return {question.key: question.score for question in record.questions}


# The class of `make grade-demo`


@pytest.mark.parametrize("student", CLASS)
def test_each_of_the_class_gets_its_score(student, isolation, monkeypatch):
    monkeypatch.setattr(judge_module, "QUESTION_SECONDS", 4.0)
    made = CLASS[student]
    graded = grade(SETUP, handed(made.notebook, student))
    record = graded.record
    assert (record.status, record.reason, record.student, record.assignment, record.lesson) == (GRADED, None, student, RLOO, "rloo")
    assert scores(record) == made.expected.points
    assert {question.answer_key for question in record.questions if question.untouched} == made.expected.untouched
    assert record.language == made.language and record.sha256 == hashlib.sha256(nbformat.writes(made.notebook).encode()).hexdigest()
    assert (record.seed, record.isolation, record.grader) == (7, isolation, grader_version("rloo"))
    assert all(question.checks for question in record.questions if question.function)
    for check in (check for question in record.questions for check in question.checks):
        assert check.message is None or check.message.en and check.message.zh
        assert check.visible or check.expected is None and check.got is None
    shown = nbformat.reads(graded.notebook, 4)
    nbformat.validate(shown)
    outputs = {cell.id: cell.outputs for cell in shown.cells if cell.cell_type == "code"}
    assert all(outputs[question.key] for question in record.questions if question.function)


def test_both_languages_get_the_same():
    given = [grade(SETUP, handed(notebook(language, {3: "advantages = rewards - rewards.mean()"}))).record for language in ("en", "zh")]
    assert scores(given[0]) == scores(given[1]) == {**POINTS, ADVANTAGES: 0.0, WRITTEN: None}
    assert [check for question in given[0].questions for check in question.checks] == [
        check for question in given[1].questions for check in question.checks]


def test_who_deleted_the_cell_of_an_answer_is_told_so_and_not_to_finish_it():
    def without(key):
        return lambda made: made.cells.remove(next(cell for cell in made.cells if cell.id == key))

    answer = answer_keys()[SHAPE]
    record = grade(SETUP, handed(notebook(edit=without(answer)))).record
    question = next(question for question in record.questions if question.key == SHAPE)
    assert scores(record)[SHAPE] == 0.0 and question.untouched and {check.message for check in question.checks} == {grade_module.GONE}
    record = grade(SETUP, handed(notebook(edit=without(WRITTEN)))).record
    assert scores(record)[WRITTEN] == 0.0 and record.questions[-1].note == grade_module.GONE
    untouched = submission(rloo(), learner("en"), "s", "", {}).notebook
    record = grade(SETUP, handed(untouched)).record
    assert grade_module.GONE not in {check.message for question in record.questions for check in question.checks}


def test_a_record_tells_which_answers_are_others():
    """By what a mark is brought up again: not by a newline at the end of the file, nor by another answer."""
    def answers(data) -> dict[str, str]:
        return {question.key: question.answer for question in grade(SETUP, handed(data)).record.questions}

    def cell(made, key):
        return next(cell for cell in made.cells if cell.id == key)

    def differ(edit) -> set[str]:
        other = answers(notebook(edit=edit))
        return {key for key in POINTS if other[key] != before[key]}

    before, code = answers(notebook()), set(POINTS) - {WRITTEN}
    assert set(before) == set(POINTS) and all(before.values()) and before == answers(nbformat.writes(notebook()).encode() + b"\n\n")
    assert differ(lambda made: cell(made, WRITTEN).update(source="Another.")) == {WRITTEN}
    assert differ(lambda made: cell(made, WRITTEN).update(attachments={"a.png": {"image/png": "AAAA"}})) == {WRITTEN}
    assert differ(lambda made: made.cells.append(nbformat.v4.new_code_cell("helper = 1"))) == code
    assert differ(lambda made: made.cells.append(nbformat.v4.new_markdown_cell("A note."))) == set()


def test_two_answers_and_no_original_wait_for_a_person():
    def copy_answer(made):
        (place,) = [number for number, cell in enumerate(made.cells) if cell.id == "leave-one-out-advantages"]
        made.cells[place].id, made.cells[place].metadata = "x1", {}
        made.cells.insert(place + 1, nbformat.v4.new_code_cell(made.cells[place].source.replace("sum", "nansum"), id="x2"))

    record = grade(SETUP, handed(notebook(edit=copy_answer))).record
    (question,) = [question for question in record.questions if question.key == ADVANTAGES]
    assert question.score is None and "a person decides" in question.note.en and scores(record)[LOSS] == 3


@pytest.mark.parametrize("source, en, zh", [
    ("def aggregate_sequence_logps(a, b):\n    return (a",
     "Your cell stopped with SyntaxError: '(' was never closed (line 2), so `aggregate_sequence_logps` does not exist.",
     "你的单元因 SyntaxError: '(' was never closed (line 2) 中止，所以"),
    ("1 / 0\ndef aggregate_sequence_logps(a, b):\n    return a",
     "Your cell stopped with ZeroDivisionError: division by zero, so", "你的单元因 ZeroDivisionError: division by zero 中止"),
    ("def aggregate(a, b):\n    return a", "No cell defines `aggregate_sequence_logps`", "没有单元定义 `aggregate_sequence_logps`")])
def test_where_there_is_no_function_it_is_said_why(source, en, zh):
    """To the student, in feedback, and to the instructor, below the check cell."""
    def replace_answer(made):
        next(cell for cell in made.cells if cell.id == "aggregate-sequence-logps").source = source

    graded = grade(SETUP, handed(notebook(edit=replace_answer)))
    (question,) = [question for question in graded.record.questions if question.key == SUM]
    assert question.score == 0 and {check.status for check in question.checks} == {"missing"}
    assert all(check.message.en.startswith(en) and check.message.zh.startswith(zh) for check in question.checks)
    (cell,) = [cell for cell in nbformat.reads(graded.notebook, 4).cells if cell.id == SUM]
    assert en in cell.outputs[0].text and "run its cell first" not in graded.notebook


# What cannot be graded


@pytest.mark.parametrize("data, said", [
    (b"", "empty"), (b"<html>", "web page"), (b'{"cells": 5}', ""), (b"\x89PNG\r\n\x1a\n" + bytes(900), "")])
def test_what_is_no_notebook_has_a_reason_and_no_zero(data, said):
    graded = grade(SETUP, handed(data))
    record = graded.record
    assert record.status == UNGRADABLE and said in record.reason.en and record.reason.zh
    assert scores(record) == dict.fromkeys(POINTS) and not any(question.untouched for question in record.questions)
    shown = nbformat.reads(graded.notebook, 4)
    nbformat.validate(shown)
    assert record.reason.en in shown.cells[0].outputs[0].text
    grade_ids = [cell.metadata.nbgrader.grade_id for cell in shown.cells if cell.metadata.get("nbgrader", {}).get("grade")]
    assert grade_ids == list(POINTS)


def test_what_was_refused_before_it_was_read_keeps_its_reason():
    reason, note = message(en="A link.", zh="是链接。"), message(en="Beside it.", zh="旁边还有。")
    record = grade(SETUP, handed(b"", refused=reason, notes=(note,))).record
    assert (record.status, record.reason, record.repairs) == (UNGRADABLE, reason, (note,))


def test_a_fault_of_ours_is_said_and_is_no_zero(monkeypatch):
    def broken(*_):
        raise ZeroDivisionError("/home/instructor/secret")

    monkeypatch.setattr(grade_module, "read_submission", broken)
    record = grade(SETUP, handed(b"{}")).record
    assert record.status == UNGRADABLE and "ZeroDivisionError" in record.reason.en and "secret" not in str(record.reason)
    assert scores(record) == dict.fromkeys(POINTS)


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), SandboxError(message(en="no", zh="否"))])
def test_a_machine_that_cannot_grade_is_nobody_s_fault(monkeypatch, error):
    def unable(setup):
        raise error

    monkeypatch.setattr(grade_module, "_judge", unable)
    with pytest.raises(type(error)):
        grade(SETUP, handed(notebook()))


# An instructor's own checks and seed


HEAD = "import torch\nfrom advantagelab.checking import CheckFailed, expect_close, message\n\nSAID = message(en='no zero', zh='不是零')\n"
ZERO = HEAD + """
def check_leave_one_out_advantages_of_equals(answers):
    expect_close(answers.leave_one_out_advantages(torch.ones(4), torch.zeros(4, dtype=torch.long)), torch.zeros(4), SAID)
"""
DRAWN = HEAD + """
def hidden_aggregate_sequence_logps_mine(answers, rng):
    raise CheckFailed(message(en=str(rng.integer(0, 10**9)), zh=""))
"""


def private(check: str) -> Setup:
    return replace(SETUP, private_checks=check)


def test_private_checks_count_like_the_others(one_judge):
    setup = private(ZERO)
    prove_private_checks("rloo", setup)
    right = grade(setup, handed(notebook())).record
    assert scores(right) == {**POINTS, WRITTEN: None}
    assert "check_leave_one_out_advantages_of_equals" in [check.check for check in right.questions[2].checks]
    assert right.grader == grader_version("rloo", ZERO) != grader_version("rloo")
    wrong = grade(setup, handed(notebook(answers={3: "advantages = torch.ones_like(rewards)"}))).record
    (own,) = [check for check in wrong.questions[2].checks if check.check == "check_leave_one_out_advantages_of_equals"]
    assert own.status == "failed" and own.message.en == "no zero" and own.message.zh == "不是零"


@pytest.mark.parametrize("check, said", [
    (HEAD + "def check_rloo_policy_loss_mine(answers):\n    undefined", "NameError: name 'undefined' is not defined"),
    (HEAD + "def hidden_shape_rloo_rewards_mine(answers, rng):\n    answers.shape_rloo_rewards()", "TypeError"),
    (HEAD + "def hidden_rloo_policy_loss_mine(answers):\n    pass", "TypeError"),
    (ZERO.replace("torch.zeros(4), SAID", "torch.ones(4), SAID"), r"\[0, 0, 0, 0\]"), (DRAWN, r"\d+ \| ")])
def test_a_check_that_the_course_s_own_solution_does_not_pass_is_refused(check, said):
    with pytest.raises(CourseError, match=f"the course's own solution fails your check .*: .*{said}"):
        prove_private_checks("rloo", private(check))


def test_such_a_check_stops_a_run_before_anyone_is_graded(tmp_path):
    course = make_course(tmp_path)
    file = course.root / "submitted" / "a" / RLOO / f"{RLOO}.ipynb"
    file.parent.mkdir(parents=True)
    file.write_bytes(b"")

    def nobody():
        raise AssertionError("no process is needed")

    with Crew(nobody) as crew, pytest.raises(CourseError, match="your check hidden_aggregate"):
        run.grade_assignment(course, "rloo", private(DRAWN), crew)
    assert not course.record_file("a", RLOO).exists()


def test_a_seed_draws_other_inputs_and_the_same_scores(one_judge):
    data = handed(notebook())

    def drawn(seed: int) -> str:
        return grade(replace(private(DRAWN), seed=seed), data).record.questions[0].checks[-1].message.en

    assert len({drawn(1), drawn(2), drawn(MAX_SEED - 1)}) == 3 and drawn(2) == drawn(2)
    for seed in (0, 1, MAX_SEED - 1):
        record = grade(Setup(seed), data).record
        assert scores(record) == {**POINTS, WRITTEN: None} and record.seed == seed


@pytest.mark.parametrize("seed", [-1, MAX_SEED, 10**30])
def test_a_seed_that_torch_would_not_take_is_refused(seed):
    with pytest.raises(CourseError, match="from 0 to"):
        Setup(seed)


# What decides a score


@pytest.mark.parametrize("name", ["checks.py", "spec.py", "lesson.md", "rloo.py", "expect.py", "judge.py", "serve.py"])
def test_another_file_is_another_version(monkeypatch, name):
    whole, before = Path.read_bytes, grader_version("rloo")
    monkeypatch.setattr(Path, "read_bytes", lambda file: whole(file) + b"\n" * (file.name == name))
    task.grader_version.cache_clear()
    assert grader_version("rloo") != before
    monkeypatch.undo()
    task.grader_version.cache_clear()
    assert grader_version("rloo") == before != grader_version("grpo")


# A grading process over many submissions


def test_one_submission_at_a_time_in_a_process(monkeypatch):
    """Dask runs several threads in one; what a check may change is the process's."""
    inside, most = [], []

    def slow(setup, handed):
        inside.append(handed)
        most.append(len(inside))
        time.sleep(0.05)
        inside.remove(handed)

    monkeypatch.setattr(grade_module, "grade", slow)
    threads = [threading.Thread(target=grade_there, args=(SETUP, handed(b"", student))) for student in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1] * 4


def test_nothing_of_a_submission_is_left_behind():
    """Each with other prose, other cells and another mistake, so that nothing can be the same object twice."""
    def objects() -> int:
        gc.collect()
        return len(gc.get_objects())

    def once(number: int) -> None:
        def add(made):
            made.cells.append(nbformat.v4.new_code_cell(f"own_{number} = {number}", id=f"own-{number}"))

        grade(SETUP, handed(notebook(("en", "zh")[number % 2], {number % 4 + 1: f"raise ValueError({number})"}, edit=add), f"s{number}"))

    for number in range(8):
        once(number)
    before = objects()
    for number in range(8, 24):
        once(number)
    assert objects() - before < 100


def test_points_are_the_course_s():
    assert {key: points for key, *_, points in grade_module._places(rloo())} == POINTS
    assert [function for _, _, function, _ in grade_module._places(rloo())] == [*rloo().functions, None]
    assert {SUM, SHAPE} < set(POINTS)


# What a hostile function may neither pass on nor hold up


@pytest.mark.parametrize("raised", ["NotImplementedError('TODO LEAK ' + repr(rewards.tolist()))", "ValueError('LEAK ' + repr(rewards))"])
def test_a_hidden_check_s_inputs_do_not_reach_the_student(one_judge, raised):
    tells = f"if rewards.numel() > 12:\n    raise {raised}\n{solutions(rloo())[3]}"
    graded = grade(Setup(seed=1), handed(notebook(answers={3: tells})))
    outputs = [str(output) for cell in nbformat.reads(graded.notebook, 4).cells for output in cell.get("outputs", [])]
    failed = [check for question in graded.record.questions for check in question.checks if check.status in ("open", "error")]
    assert failed and all(check.check.startswith("hidden_") for check in failed)
    assert "LEAK" not in graded.record.dumps() and not [output for output in outputs if "LEAK" in output]


def test_a_check_that_a_student_makes_slow_is_stopped(one_judge, monkeypatch):
    slow = "rewards.data, group_ids.data = torch.zeros(30000), torch.zeros(30000, dtype=torch.int64)\nadvantages = torch.zeros(30000)"
    monkeypatch.setattr(judge_module, "QUESTION_SECONDS", 4.0)
    start = time.monotonic()
    record = grade(Setup(seed=1), handed(notebook(answers={3: f"{slow}\nreturn advantages"}))).record
    assert time.monotonic() - start < 120
    points = scores(record)
    assert points[ADVANTAGES] == 0 and points[SUM] > 0 and points[LOSS] > 0
