"""What grading writes into nbgrader's gradebook: the right scores, never over a person's, and the same however often it is written."""

import contextlib
import sqlite3
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from nbgrader.api import Gradebook

from advantagelab.checking import message
from autograder.course import CourseError
from autograder.gradebook import GradebookReader, GradebookWriter
from autograder.record import Marks, write_whole
from autograder.timestamp import submitted_at
from lessons._build.course import read_course
from lessons._build.lesson import read_lesson
from tests.grading import (BROKEN, LOSS, POINTS, RLOO, SHAPE, SUM, WRITTEN, answer_keys, make_course, make_record, rloo,
                           ungradable_record)

ZERO_IF_LATE = 'c.LateSubmissionPlugin.penalty_method = "zero"'
DUE = datetime(2026, 3, 1, 10)


@pytest.fixture
def course(tmp_path):
    return make_course(tmp_path)


def write(course, *records, timestamp=None) -> None:
    """As a run does: into the gradebook, then the record."""
    with GradebookWriter(course) as gradebook:
        for record in records:
            gradebook.write(record, timestamp)
            write_whole(course.record_file(record.student, RLOO), record.dumps())


def marks(course, student: str = "s1") -> dict[str, Marks]:
    with GradebookReader(course) as gradebook:
        return gradebook.marks(RLOO, student)


def by_hand(course, student: str = "s1", key: str = WRITTEN, score: float | None = 1.5, comment: str | None = None, extra=None) -> None:
    """What formgrader does with a score and a comment."""
    with Gradebook(course.db_url) as gradebook:
        grade = gradebook.find_grade(key, RLOO, RLOO, student)
        grade.manual_score, grade.extra_credit, grade.needs_manual_grade = score, extra, score is None
        if comment:
            gradebook.find_comment(answer_keys()[key], RLOO, RLOO, student).manual_comment = comment
        gradebook.db.commit()


def set_due_date(course, date: datetime | None) -> None:
    with Gradebook(course.db_url) as gradebook:
        gradebook.update_or_create_assignment(RLOO, duedate=date)


def content(course) -> list[str]:
    with sqlite3.connect(course.root / "gradebook.db") as database:
        return list(database.iterdump())


def comments(course, student: str = "s1") -> dict[str, tuple[str | None, str | None]]:
    with Gradebook(course.db_url) as gradebook:
        found = gradebook.find_submission_notebook(RLOO, RLOO, student).comments
        return {comment.name: (comment.auto_comment, comment.manual_comment) for comment in found}


# Scores


def test_scores_and_what_waits_for_a_person(course):
    write(course, make_record(scores={LOSS: 0.0}))
    assert marks(course) == {**{key: Marks(points) for key, points in POINTS.items()}, LOSS: Marks(0.0), WRITTEN: Marks(None, waits=True)}


def test_an_untouched_written_answer_is_a_zero_that_nobody_needs_to_look_at(course):
    write(course, make_record(scores={WRITTEN: 0.0, SUM: 0.0}, untouched=(WRITTEN, SUM)))
    assert marks(course)[WRITTEN] == Marks(0.0) == marks(course)[SUM]
    said = comments(course)
    assert {key for key, pair in said.items() if pair == ("No response.", None)} == {WRITTEN, answer_keys()[SUM]} and len(said) == 5


def test_an_ungradable_file_is_no_zero(course):
    write(course, ungradable_record())
    assert marks(course) == dict.fromkeys(POINTS, Marks(None, waits=True))
    assert set(comments(course).values()) == {(str(BROKEN), None)}
    with Gradebook(course.db_url) as gradebook:
        assert gradebook.find_submission(RLOO, "s1").needs_manual_grade


def test_an_answer_that_nobody_could_choose_waits_and_says_why(course):
    several = message(en="several answers", zh="多个答案")
    record = make_record(scores={SHAPE: None})
    record = replace(record, questions=tuple(replace(question, note=several) if question.key == SHAPE else question
                                             for question in record.questions))
    write(course, record)
    assert marks(course)[SHAPE] == Marks(None, waits=True) and comments(course)[answer_keys()[SHAPE]] == (str(several), None)


@pytest.mark.parametrize("student", ["学号 甲-01", "=cmd|' /C calc'!A0", "-rf", "a" * 128, "名" * 80, "o'brien; DROP TABLE grade"])
def test_any_id_stays_as_it_is(course, student):
    write(course, make_record(student), ungradable_record("other"))
    with GradebookReader(course) as gradebook:
        assert gradebook.students() == {student: ("", "", ""), "other": ("", "", "")}
    assert marks(course, student)[LOSS] == Marks(3.0)


# Again


def test_writing_the_same_again_changes_nothing(course):
    records = make_record("s1"), make_record("s2", {SUM: 0.0}, untouched=(SUM,)), ungradable_record("s3")
    write(course, *records, timestamp=DUE)
    by_hand(course, "s1", comment="good")
    by_hand(course, "s3", SUM, 2.0)
    before = content(course)
    write(course, *records, timestamp=DUE)
    assert content(course) == before


def test_a_person_s_score_and_comment_stay_whatever_happens(course):
    write(course, make_record())
    for key in (WRITTEN, SUM):
        by_hand(course, key=key, score=1.0, comment="see me", extra=0.5)
    for record in (make_record(scores={SUM: 0.0}), make_record(file="b" * 64), ungradable_record(), make_record(untouched=tuple(POINTS))):
        write(course, record)
        for key in (WRITTEN, SUM):
            assert (marks(course)[key].manual, marks(course)[key].extra) == (1.0, 0.5)
            assert comments(course)[answer_keys()[key]][1] == "see me"


def test_who_graded_by_hand_looks_again_when_the_score_below_or_the_file_has_changed(course):
    write(course, make_record())
    by_hand(course)
    by_hand(course, key=SUM, score=1.0)
    write(course, make_record())  # the same file, the same scores, as when a check was changed that this student passes
    assert not marks(course)[WRITTEN].waits and not marks(course)[SUM].waits
    write(course, make_record(scores={SUM: 0.0}))
    assert marks(course)[SUM].waits and not marks(course)[WRITTEN].waits
    by_hand(course, key=SUM, score=1.0)
    write(course, make_record(scores={SUM: 0.0}, file="b" * 64))
    assert marks(course)[SUM].waits and marks(course)[WRITTEN].waits and not marks(course)[LOSS].waits


def test_a_new_file_with_the_same_answer_brings_no_mark_up_again(course):
    same = {key: f"digest of {key}" for key in POINTS}
    write(course, make_record(answers=same))
    for key in (WRITTEN, SUM, LOSS):
        by_hand(course, key=key, score=1.0, comment="seen")
    write(course, make_record(answers=same, file="b" * 64))
    assert not any(mark.waits for mark in marks(course).values())
    write(course, make_record(answers={**same, WRITTEN: "another"}, scores={SUM: 0.0}, file="c" * 64))
    assert {key for key, mark in marks(course).items() if mark.waits} == {WRITTEN, SUM}
    assert {marks(course)[key].manual for key in (WRITTEN, SUM, LOSS)} == {1.0}
    write(course, ungradable_record(file="d" * 64))
    assert {key for key, mark in marks(course).items() if mark.waits} == set(POINTS)


def test_a_file_that_becomes_readable_is_graded_after_all(course):
    write(course, ungradable_record())
    write(course, make_record(scores={WRITTEN: 0.0}))
    assert not any(mark.waits for mark in marks(course).values()) and set(comments(course).values()) == {(None, None)}


def test_a_run_that_is_killed_while_it_writes_leaves_the_old_scores_or_the_new(course):
    old, new = make_record(), make_record(scores={SUM: 0.0, LOSS: 0.0})
    write(course, new)
    after = content(course)
    write(course, old)
    before, found = content(course), []
    for commits in range(4):
        with contextlib.suppress(KeyboardInterrupt), GradebookWriter(course) as gradebook:
            session = gradebook._gradebook.db()
            allowed = iter([session.commit] * commits)
            session.commit = lambda allowed=allowed: next(allowed, interrupted)()
            gradebook.write(new, None)
        found.append(content(course))
    assert found == [before] * 3 + [after]


def interrupted():
    raise KeyboardInterrupt


# The course's own gradebook


def test_a_gradebook_of_other_questions_or_points_is_refused(course):
    with GradebookReader(course) as gradebook:
        gradebook.require_assignment(rloo())
        with pytest.raises(CourseError, match="nbgrader generate_assignment 04_grpo"):
            gradebook.require_assignment(read_lesson(read_course(), "grpo"))
    with Gradebook(course.db_url) as gradebook:
        gradebook.update_or_create_grade_cell(LOSS, RLOO, RLOO, max_score=30)
    with GradebookReader(course) as gradebook, pytest.raises(CourseError, match="other questions or points"):
        gradebook.require_assignment(rloo())


# Time


def late_penalties(course, student: str = "s1") -> tuple[float, float | None]:
    """As of now, and as stored for formgrader."""
    with GradebookReader(course) as gradebook:
        stored = gradebook._gradebook.find_submission_notebook(RLOO, RLOO, student).late_submission_penalty
        return gradebook.late_penalty(RLOO, student), stored


def test_lateness_is_nbgraders_rule(tmp_path):
    course = make_course(tmp_path, ZERO_IF_LATE)
    set_due_date(course, DUE)
    write(course, make_record("late"), timestamp=DUE + timedelta(seconds=1))
    write(course, make_record("in-time"), timestamp=DUE)
    write(course, make_record("no-time"))
    assert [late_penalties(course, student) for student in ("late", "in-time", "no-time")] == [(10.0, 10.0), (0.0, None), (0.0, None)]


def test_without_a_rule_lateness_costs_nothing(course):
    set_due_date(course, DUE)
    write(course, make_record(), timestamp=DUE + timedelta(days=3))
    assert late_penalties(course) == (0.0, None)


def test_a_plugin_of_the_instructors_counts_and_stays_within_the_score(tmp_path, monkeypatch):
    (tmp_path / "late_rule.py").write_text(
        "from nbgrader.plugins import LateSubmissionPlugin\n\n\nclass Rule(LateSubmissionPlugin):\n"
        "    def late_submission_penalty(self, student_id, score, total_seconds_late):\n"
        "        return {'much': 99.0, 'less': -1.0}.get(student_id, total_seconds_late / 3600)\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    course = make_course(tmp_path / "course", 'c.AssignLatePenalties.plugin_class = "late_rule.Rule"')
    set_due_date(course, DUE)
    write(course, *(make_record(student) for student in ("two", "much", "less")), timestamp=DUE + timedelta(hours=2))
    assert [late_penalties(course, student)[0] for student in ("two", "much", "less")] == [2.0, 10.0, 0.0]


def test_a_penalty_follows_the_due_date_and_the_manual_score(tmp_path):
    course = make_course(tmp_path, ZERO_IF_LATE)
    write(course, make_record(), timestamp=DUE + timedelta(hours=1))
    set_due_date(course, DUE)
    by_hand(course)
    assert late_penalties(course) == (11.5, None)
    with GradebookWriter(course) as gradebook:
        gradebook.store_late_penalties(RLOO)
    assert late_penalties(course) == (11.5, 11.5)
    set_due_date(course, DUE + timedelta(days=1))
    with GradebookWriter(course) as gradebook:
        gradebook.store_late_penalties(RLOO)
    assert late_penalties(course) == (0.0, None)


@pytest.mark.parametrize("text, utc", [
    ("2026-03-01T18:00:00+08:00", "2026-03-01T10:00:00"), ("2026-03-01 18:00:00 +0800", "2026-03-01T10:00:00"),
    ("2026-03-01 18:00:00+0800", "2026-03-01T10:00:00"), ("2026-03-01 10:00:00 UTC", "2026-03-01T10:00:00"),
    ("2026-03-01 10:00:00.123456 UTC", "2026-03-01T10:00:00.123456"), ("2026-03-01T10:00:00Z", "2026-03-01T10:00:00"),
    ("2026-03-01 10:00", "2026-03-01T10:00:00"), ("\ufeff2026-03-01T05:30:00-04:30\r\n", "2026-03-01T10:00:00"),
    ("2026-03-01T10:00:00.5", "2026-03-01T10:00:00.500000")])
def test_times_with_and_without_an_offset(tmp_path, text, utc):
    (tmp_path / "timestamp.txt").write_text(text, encoding="utf-8")
    assert submitted_at(tmp_path) == (datetime.fromisoformat(utc), None)


@pytest.mark.parametrize("text", ["2026-03-01 18:00:00 CST", "2026-03-01 18:00:00 Asia/Shanghai", "yesterday", "", "2026-03-01", "2026",
                                  "2026-13-01T00:00:00", "2026-03-01T25:00:00", "0001-01-01T00:00:00+08:00", "1767225600",
                                  "2026年3月1日 18:00", "2026-03-01T18:00:00+08:00 " * 99, "\x00", "2026-03-01T18:00:00+99:99"])
def test_a_time_that_could_mean_several_is_reported_and_left_out(tmp_path, text):
    (tmp_path / "timestamp.txt").write_text(text, encoding="utf-8")
    time, wrong = submitted_at(tmp_path)
    assert time is None and "2026-03-01T18:00:00+08:00" in wrong.en and "timestamp.txt" in wrong.zh


def test_no_file_is_no_time_and_a_link_is_not_followed(tmp_path):
    assert submitted_at(tmp_path) == (None, None)
    (tmp_path / "elsewhere").write_text("2026-03-01T18:00:00+08:00")
    (tmp_path / "timestamp.txt").symlink_to(tmp_path / "elsewhere")
    assert submitted_at(tmp_path)[0] is None and submitted_at(tmp_path)[1]
    (tmp_path / "timestamp.txt").unlink()
    (tmp_path / "timestamp.txt").write_bytes(b"\xff\xfe\x32")
    assert submitted_at(tmp_path)[1]


def test_a_time_that_is_corrected_or_withdrawn_is_corrected_in_the_gradebook(course):
    for timestamp in (DUE, DUE + timedelta(hours=1), None):
        write(course, make_record(), timestamp=timestamp)
        with Gradebook(course.db_url) as gradebook:
            assert gradebook.find_submission(RLOO, "s1").timestamp == timestamp
