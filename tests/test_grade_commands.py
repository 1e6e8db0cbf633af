"""The instructor's commands from end to end, on a class with everything in it: grade, feedback, export, try."""

import contextlib
import csv
import io
import os
import re
import shutil
import sqlite3

import nbformat
import pytest
from nbgrader.api import Gradebook

import autograder.__main__
from advantagelab.message import message
from autograder.__main__ import main
from autograder.commands import _summary, checks_source
from autograder.course import CourseError
from autograder.demo_class import WRITTEN as ANSWER
from autograder.demo_class import solutions, submission
from autograder.gradebook import GradebookWriter
from autograder.record import read_record, write_whole
from lessons._build.course import read_course
from lessons._build.notebook import build_notebook
from tests import needs
from tests.grading import ADVANTAGES, LOSS, POINTS, RLOO, SUM, WRITTEN, make_course, make_record, rloo
from tests.needs import ROOT
from tests.test_feedback import with_checks

NEGATED = "advantages = torch.zeros_like(rewards) - 1.0"
# Right, as far as the course's own checks look; wrong for a size that only an instructor's check has.
GAP = '''if new_logps.shape[0] == 1013:
    return new_logps * 0, new_logps
'''
PRIVATE = '''
import torch

from advantagelab.checking import expect_close, message


def hidden_rloo_policy_loss_is_mine(answers, rng):
    logps = rng.normal(1013)
    losses, _ = answers.rloo_policy_loss(logps, logps, torch.ones(1013))
    expect_close(losses, -torch.ones(1013), message(en="the instructor's own", zh="教师自己的检查"))
'''


def notebook(language: str = "en", answers: dict | None = None, written: str | None = ANSWER, edit=None) -> bytes:
    """As a student hands it in: right, where `answers` says nothing else."""
    answers = solutions(rloo()) if answers is None else answers
    made = submission(rloo(), build_notebook(rloo(), language, "learner"), "s", "", answers, written=written, edit=edit)
    return nbformat.writes(made.notebook).encode()


def hostile(made: nbformat.NotebookNode) -> None:
    """A cell that prints a script, and prose that is one."""
    made.cells += [nbformat.v4.new_code_cell("print('<script>stolen()</script>')", id="a"),
                   nbformat.v4.new_markdown_cell("<script>stolen()</script>", id="b")]


def hand_in(course, student: str, content: bytes, name: str = f"{RLOO}.ipynb", timestamp: str | None = None) -> None:
    folder = course.root / "submitted" / student / RLOO
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(content)
    if timestamp:
        (folder / "timestamp.txt").write_text(timestamp)


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    """(course, exit status, what was said)."""
    course = make_course(tmp_path_factory.mktemp("class"))
    right = solutions(rloo())
    hand_in(course, "en-right", notebook(answers={**right, 4: GAP + right[4]}), timestamp="2026-03-01 18:00:00 +0800")
    hand_in(course, "学号 甲", notebook("zh"), "我的作业（最终版）.ipynb.txt", timestamp="2026-03-01 18:00:00 CST")
    hand_in(course, "=1+1", notebook(answers={**right, 3: NEGATED}, edit=hostile))
    hand_in(course, "-untouched", notebook("zh", {}, None))
    hand_in(course, "bom", b"\xef\xbb\xbf" + notebook())
    hand_in(course, "empty", b"")
    hand_in(course, "script", b"<script>stolen()</script>")
    hand_in(course, "no-file", b"", "timestamp.txt")
    (course.root / "submitted" / "flat.ipynb").write_bytes(notebook())
    status, said = run("grade", course.root, "--workers", "2")
    if status == 2:
        needs.not_run("no isolation of student code works here", "`apt-get install bubblewrap`")
    return course, status, said


def run(*arguments) -> tuple[int, str]:
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        status = main([str(argument) for argument in arguments])
    return status, said.getvalue()


def points(course, student: str) -> dict[str, float | None]:
    with Gradebook(course.db_url) as gradebook:
        grades = gradebook.find_submission_notebook(RLOO, RLOO, student).grades
        return {grade.name: None if grade.needs_manual_grade and grade.manual_score is None else grade.score for grade in grades}


def content(course) -> list[str]:
    with sqlite3.connect(course.root / "gradebook.db") as database:
        return list(database.iterdump())


RIGHT = {**POINTS, WRITTEN: None}
EXPECTED = {
    "en-right": RIGHT, "学号 甲": RIGHT, "=1+1": {**RIGHT, ADVANTAGES: 0.0}, "-untouched": dict.fromkeys(POINTS, 0.0), "bom": RIGHT,
    "empty": dict.fromkeys(POINTS), "script": dict.fromkeys(POINTS),
}


def test_every_file_gets_its_score_or_a_reason(graded):
    course, status, said = graded
    assert {student: points(course, student) for student in EXPECTED} == EXPECTED
    assert status == 1 and "5 graded, 2 ungradable, 0 unchanged" in said
    assert "no-file" not in said
    for student in ("empty", "script"):
        assert re.search(rf"^  {student}: ungradable: .+ \| 无法评阅：.+$", said, re.M), student
    assert "byte order mark" in re.search("^  bom: .*$", said, re.M)[0] and "timestamp.txt" in re.search("^  学号 甲: .*$", said, re.M)[0]
    assert "not graded, flat.ipynb" in said and "isolation: " in said and "Traceback" not in said
    assert "next: answers to mark by hand: 4." in said and "有 4 个答案待人工批改" in said


def test_every_student_has_a_record_a_notebook_and_what_they_handed_in(graded):
    course, _, _ = graded
    for student, expected in EXPECTED.items():
        record = read_record(course.record_file(student, RLOO))
        assert {question.key: question.score for question in record.questions} == expected
        assert (course.root / "autograded" / student / RLOO / f"{RLOO}.ipynb").is_file()
    assert (course.root / "submitted" / "bom" / RLOO / f"{RLOO}.ipynb").read_bytes().startswith(b"\xef\xbb\xbf")
    with Gradebook(course.db_url) as gradebook:
        times = {student: str(gradebook.find_submission(RLOO, student).timestamp) for student in ("en-right", "学号 甲")}
    assert times == {"en-right": "2026-03-01 10:00:00", "学号 甲": "None"}


def test_feedback_for_everyone_in_their_language(graded):
    course, _, _ = graded
    status, said = run("feedback", course.root)
    assert status == 0 and "pages: 7 in " in said and "nobody has marked yet: 4; of ungradable files: 2" in said
    assert "not graded, flat.ipynb" in said
    pages = {student: (course.root / "feedback" / student / RLOO / f"{RLOO}.html").read_text(encoding="utf-8") for student in EXPECTED}
    assert "<script>" not in "".join(pages.values()) and not re.search(r"\b(?:src|href)=|url\(", "".join(pages.values()))
    assert "Score: 10 / 12" in pages["en-right"] and "得分：10 / 12" in pages["学号 甲"] and "得分：0 / 12" in pages["-untouched"]
    assert "– / 12" in pages["empty"] and "not a score of 0" in pages["empty"] and pages["-untouched"].count("未作答。") == 5
    seed = str(read_record(course.record_file("empty", RLOO)).seed)
    for page in pages.values():
        assert str(course.root) not in page and seed not in page and "Traceback" not in page and os.path.dirname(os.__file__) not in page
    failed = pages["=1+1"]
    assert "hidden_leave_one_out_advantages" in failed and "def hidden_" not in failed and "spec." not in failed


def test_the_table_has_them_all(graded):
    course, _, _ = graded
    assert run("export", course.root, "--lesson", RLOO, "--format", "csv")[0] == 0
    with open(course.root / f"{RLOO}.csv", encoding="utf-8-sig", newline="") as file:
        rows = {row["student_id"]: row for row in csv.DictReader(file)}
    assert {student: row["score"] for student, row in rows.items()} == {
        "en-right": "10", "学号 甲": "10", "'=1+1": "7", "'-untouched": "0", "bom": "10", "empty": "", "script": "", "no-file": ""}
    assert rows["no-file"]["status"].startswith("not submitted")
    assert rows["empty"]["status"].startswith("ungradable") and rows["en-right"]["status"].startswith("needs manual")
    assert rows["'-untouched"]["status"].startswith("graded")
    assert run("export", course.root, "--lesson", "rloo", "--format", "xlsx", "--output", course.root / "a.xlsx")[0] == 0
    assert (course.root / "a.xlsx").read_bytes().startswith(b"PK")


def test_again_nothing_is_graded_and_nothing_changes(graded):
    course, _, _ = graded
    before = content(course)
    status, said = run("grade", course.root)
    assert status == 1 and "0 graded, 0 ungradable, 7 unchanged" in said and content(course) == before
    assert len(re.findall(r": ungradable: ", said)) == 2 and "isolation" not in said and "graded again" not in said


def test_a_new_file_and_a_changed_check_leave_a_person_s_marks_alone(graded, tmp_path):
    course, _, _ = graded
    with Gradebook(course.db_url) as gradebook:
        for student in ("en-right", "bom", "学号 甲"):
            grade = gradebook.find_grade(WRITTEN, RLOO, RLOO, student)
            grade.manual_score, grade.needs_manual_grade = 1.5, False
        gradebook.db.commit()
    hand_in(course, "bom", notebook(answers={**solutions(rloo()), 3: NEGATED}))
    hand_in(course, "学号 甲", notebook("zh", written="另一个答案。"), "我的作业（最终版）.ipynb.txt")
    (tmp_path / "mine.py").write_text(PRIVATE, encoding="utf-8")
    for student in ("en-right", "bom", "学号 甲"):
        _, said = run("grade", course.root, "--student", student, "--workers", "1", "--checks", tmp_path / "mine.py")
        assert "1 graded, 0 ungradable, 0 unchanged" in said and "your own checks are new" in said and "flat.ipynb" not in said
    assert points(course, "en-right") == {**POINTS, LOSS: 0.0, WRITTEN: 1.5}
    assert points(course, "bom") == {**POINTS, ADVANTAGES: 0.0, WRITTEN: 1.5}
    run("feedback", course.root, "--student", "en-right")
    page = (course.root / "feedback" / "en-right" / RLOO / f"{RLOO}.html").read_text(encoding="utf-8")
    assert "hidden_rloo_policy_loss_is_mine" in page and "the instructor&#x27;s own" in page
    with Gradebook(course.db_url) as gradebook:
        waits = {student: gradebook.find_grade(WRITTEN, RLOO, RLOO, student).needs_manual_grade
                 for student in ("en-right", "bom", "学号 甲")}
    assert waits == {"en-right": False, "bom": False, "学号 甲": True} and points(course, "学号 甲")[WRITTEN] == 1.5


def test_feedback_says_what_it_is_not_up_to_date_with(graded):
    course, _, _ = graded
    hand_in(course, "late-comer", notebook())
    try:
        status, said = run("feedback", course.root, "--student", "late-comer")
        assert status == 1 and "not graded as they are now: 1 (late-comer); first: python -m autograder grade" in said
    finally:
        shutil.rmtree(course.root / "submitted" / "late-comer")


def test_a_student_whose_work_is_misplaced_is_told_where(graded, capsys):
    course, _, _ = graded
    file = course.root / "submitted" / "frank" / "rloo" / "a.ipynb"
    file.parent.mkdir(parents=True)
    file.write_bytes(notebook())
    try:
        assert run("grade", course.root, "--student", "frank")[0] == 2
        said = capsys.readouterr().err
        assert "nothing was handed in by frank" in said and f"it belongs in frank/{RLOO}/" in said
    finally:
        shutil.rmtree(course.root / "submitted" / "frank")


# One file


def test_try_shows_what_its_author_would_see(graded, tmp_path):
    (tmp_path / "mine.ipynb").write_bytes(notebook("zh", {**solutions(rloo()), 3: NEGATED}))
    status, said = run("try", "rloo", tmp_path / "mine.ipynb", "--output", tmp_path / "page.html")
    assert status == 1 and f"{ADVANTAGES}: 0 / 3" in said and f"{SUM}: 2 / 2" in said and f"{WRITTEN}: – / 2" in said
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "得分：7 / 12" in page and "leave_one_out_advantages" in page


def test_try_exit_statuses(graded, tmp_path, capsys):
    for name, content in (("right", notebook()), ("empty", b"")):
        (tmp_path / f"{name}.ipynb").write_bytes(content)
    page = ("--output", tmp_path / "page.html")
    assert run("try", "rloo", tmp_path / "right.ipynb", *page)[0] == 0
    assert run("try", "rloo", tmp_path / "empty.ipynb", *page)[0] == 2
    assert run("try", "rloo", tmp_path / "none.ipynb", *page)[0] == 2 and "none.ipynb" in capsys.readouterr().err


def test_try_names_its_page_after_the_file_and_writes_over_no_other_s(graded, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "hers.ipynb.txt").write_bytes(notebook())
    (tmp_path / "other.ipynb").write_bytes((ROOT / "notebooks" / "en" / "04_grpo.ipynb").read_bytes())
    page = tmp_path / "hers-feedback.html"
    page.write_text("mine")
    assert run("try", "rloo", "hers.ipynb.txt")[0] == 2 and page.read_text() == "mine" and "did not write it" in capsys.readouterr().err
    assert run("try", "rloo", "hers.ipynb.txt", "--output", "hers.ipynb.txt")[0] == 2
    assert (tmp_path / "hers.ipynb.txt").read_bytes() == notebook()
    page.unlink()
    for _ in range(2):  # its own page of before it replaces
        status, said = run("try", "rloo", "hers.ipynb.txt")
        assert status == 0 and said.endswith(f"\n{page.name}\n") and "Score: 10 / 12" in page.read_text(encoding="utf-8")
    status, said = run("try", "rloo", "other.ipynb")
    assert status == 2 and "another lesson: 04_grpo" in said
    assert sorted(file.name for file in tmp_path.glob("*.html")) == [page.name]
    assert {"/*-feedback.html", "*-gradescope.zip"} <= set((ROOT / ".gitignore").read_text().split())


# Words in place of a traceback


@pytest.mark.parametrize("arguments, said", [
    ("grade {} --lesson 04_grpo", "no assignment of this course: grpo"), ("grade {} --lesson 没有", "没有 没有 这一课"),
    ("grade {} --student=-rf", "nothing was handed in by -rf"), ("grade {} --lesson ppo", "there is no lesson"),
    ("grade {} --lesson grpo", "no assignment of this course: grpo"), ("feedback {} --lesson grpo", "no assignment of this course: grpo"),
    ("export --lesson rloo --format csv", "of which course"), ("export {} --lesson grpo --format xlsx", "of this course: grpo"),
    ("export {} --lesson rloo --format csv --seed 3", "are for --format gradescope"), ("grade /nowhere", "no nbgrader_config.py"),
    ("grade {} --executor ray=1", "dask=ADDRESS"),
    ("grade {} --checks /nowhere.py", "cannot read the checks"), ("grade {} --seed -1", "from 0 to")])
def test_a_wrong_call_is_answered(tmp_path, capsys, arguments, said):
    make_course(tmp_path)
    assert main([str(tmp_path) if argument == "{}" else argument for argument in arguments.split()]) == 2
    assert said in capsys.readouterr().err


def test_who_was_stopped_is_named_and_of_many_the_first():
    stopped, other = message(en="stopped", zh="已中止"), message(en="other", zh="其他")
    records = [with_checks(make_record(f"s{number}"), LOSS, note=stopped) for number in range(7, 0, -1)]
    records += [with_checks(make_record("x"), WRITTEN, note=other)]
    lines = _summary(read_course().lesson("rloo"), records, 0, []).splitlines()[1:]
    assert lines == [*[f"  s{number}: rloo_policy_loss: stopped | 已中止" for number in range(1, 6)], "  + 2: stopped | 已中止",
                     f"  x: {WRITTEN}: other | 其他"]


def test_lessons_that_nobody_handed_in_are_passed_over(tmp_path):
    course = make_course(tmp_path)
    assert run("grade", course.root) == (0, f"nothing was handed in: {tmp_path}/submitted | 没有提交的作业：{tmp_path}/submitted\n")
    (tmp_path / "submitted").mkdir()
    (tmp_path / "submitted" / "flat.ipynb").write_bytes((ROOT / "notebooks" / "zh" / "04_grpo.ipynb").read_bytes())
    (tmp_path / "source" / "04_grpo").mkdir()
    status, said = run("grade", course.root)
    assert status == 1 and "not graded, flat.ipynb" in said and "0 graded" not in said
    assert "flat.ipynb" not in run("grade", course.root, "--lesson", "rloo")[1]
    assert "flat.ipynb" not in run("export", course.root, "--lesson", "rloo", "--format", "csv")[1]
    assert "flat.ipynb" not in run("feedback", course.root, "--lesson", "rloo")[1]


@pytest.mark.parametrize("command, name, more", [
    ("export {} --lesson rloo --format csv", f"{RLOO}.csv", "; nothing was changed"), ("grade {}", "grading/lock", "; nothing was changed"),
    ("feedback {}", f"feedback/b/{RLOO}/{RLOO}.html", "; pages made before: 1")])
def test_where_nothing_can_be_written_it_is_said_what_became_of_the_rest(tmp_path, monkeypatch, capsys, command, name, more):
    course = make_course(tmp_path)
    course.seed()
    for student in ("a", "b"):
        hand_in(course, student, b"{}")
        with GradebookWriter(course) as gradebook:
            gradebook.write(make_record(student), None)
        write_whole(course.record_file(student, RLOO), make_record(student).dumps())
        write_whole(tmp_path / "autograded" / student / RLOO / f"{RLOO}.ipynb", nbformat.writes(nbformat.v4.new_notebook()))
    for folder in {tmp_path / name, tmp_path / "grading" / "lock"}:  # a folder stands where the file should go
        folder.mkdir(parents=True)
    assert main([argument.format(tmp_path) for argument in command.split()]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"cannot write {tmp_path / name}: it is a folder{more} | 无法写入 ") and "Traceback" not in said


def test_without_anything_graded_there_is_no_feedback(tmp_path):
    course = make_course(tmp_path)
    assert run("feedback", course.root)[0] == 1


@pytest.mark.parametrize("source, said", [("def check_(", "SyntaxError"), ("import nowhere", "nowhere"), ("x = 1", "check_FUNCTION_WHAT"),
                                          ("def check_rloo_policy_los_x(answers): pass", "check_rloo_policy_los_x"),
                                          ("def hidden_rloo_policy_loss(answers): pass", "not: hidden_rloo_policy_loss")])
def test_checks_that_would_check_nothing_are_refused(tmp_path, source, said):
    (tmp_path / "mine.py").write_text(source)
    with pytest.raises(CourseError, match=said):
        checks_source(tmp_path / "mine.py")


@pytest.mark.parametrize("command, said", [("grade C", "the same command goes on"), ("grade C --again", "begins from the start"),
                                           ("init D --language en", "remove D before"), ("feedback C", "stopped | 已停止")])
def test_ctrl_c_says_what_the_same_command_would_do(monkeypatch, capsys, command, said):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(autograder.__main__, "_run", interrupt)
    assert main(command.split()) == 2 and said in capsys.readouterr().err


def test_checks_of_any_lesson_are_taken(tmp_path):
    (tmp_path / "mine.py").write_text(PRIVATE, encoding="utf-8")
    assert checks_source(tmp_path / "mine.py") == PRIVATE and checks_source(None) == ""
