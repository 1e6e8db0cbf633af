"""`make grade-demo`: hand in for a made-up class, grade it, and compare every score with what it should be."""

import tempfile
import unicodedata
from pathlib import Path

import nbformat
from nbgrader.api import Gradebook

from lessons._build.course import read_course
from lessons._build.lesson import read_lesson

from .course import init_course
from .course_folder import open_course
from .demo_class import Score, Submission, demo_class
from .gradebook import NO_RESPONSE
from .processes import Crew, processes
from .run import grade_assignment
from .task import Setup

WORKERS = 2


def run_demo(folder: Path | None) -> int:
    """Exit status: 0 if every score is as expected."""
    with tempfile.TemporaryDirectory(prefix="grade-demo-") as temporary:
        folder = folder or Path(temporary) / "course"
        course = read_course()
        lesson = read_lesson(course, "rloo")
        submissions = demo_class(lesson)
        init_course(course, folder, "en", ["rloo"])
        hand_in(folder, lesson.entry.notebook, submissions)
        given = grade(folder, "rloo", lesson.entry.notebook, submissions)
    print(table(submissions, given))
    total, equal = len(submissions), sum(submission.expected == given[submission.student] for submission in submissions)
    print(f"{equal} of {total} as expected | {total} 份中 {equal} 份符合预期")
    return 0 if equal == total else 1


def hand_in(folder: Path, assignment: str, submissions: list[Submission]) -> None:
    for submission in submissions:
        file = folder / "submitted" / submission.student / assignment / f"{assignment}.ipynb"
        file.parent.mkdir(parents=True)
        nbformat.write(submission.notebook, file)


def grade(folder: Path, lesson: str, assignment: str, submissions: list[Submission]) -> dict[str, Score]:
    """As `python -m autograder grade` does; also where no isolation works, since this class is our own."""
    course = open_course(folder)
    with Crew(lambda: processes(WORKERS)) as crew:
        grade_assignment(course, lesson, Setup(course.seed(), unsafe=True), crew)
    return scores(course.db_url, assignment, submissions)


def scores(db_url: str, assignment: str, submissions: list[Submission]) -> dict[str, Score]:
    """What the gradebook has now."""
    with Gradebook(db_url) as gradebook:
        return {submission.student: _score(gradebook, assignment, submission.student) for submission in submissions}


def _score(gradebook: Gradebook, assignment: str, student: str) -> Score:
    notebook = gradebook.find_submission_notebook(assignment, assignment, student)
    return Score({grade.name: None if grade.needs_manual_grade else grade.auto_score for grade in notebook.grades},
                 frozenset(comment.name for comment in notebook.comments if comment.auto_comment == NO_RESPONSE))


def table(submissions: list[Submission], given: dict[str, Score]) -> str:
    """A line a student. Points are of each check and written answer, in the lesson's order; a dash waits for a person."""
    rows = [["student | 学号", "", "case | 情形", "expected | 应得", "given | 实得", "points | 各题", "no response | 未作答", ""]]
    for submission in submissions:
        score = given[submission.student]
        points = " ".join("-" if score.points.get(key) is None else f"{score.points[key]:g}" for key in submission.expected.points)
        rows.append([submission.student, submission.language, submission.case, f"{submission.expected.total:g}", f"{score.total:g}", points,
                     str(len(score.untouched)), "ok" if score == submission.expected else "DIFFERS | 不符"])
    widths = [max(_width(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ("  ".join(cell + " " * (width - _width(cell)) for cell, width in zip(row, widths, strict=True)) for row in rows)
    return "\n".join(line.rstrip() for line in lines)


def _width(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in text)
