"""`make grade-demo`: hand in for a made-up class, grade it with stock nbgrader, and compare every score with what it should be."""

import tempfile
import unicodedata
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import nbformat
from nbgrader.api import Gradebook

from lessons._build.course import read_course
from lessons._build.lesson import read_lesson

from .course import init_course, run_nbgrader
from .demo_class import Score, Submission, demo_class

TIMEOUT = 15  # seconds a cell: the endless loop costs it twice, and importing torch on a busy machine must stay below it


def run_demo(folder: Path | None) -> int:
    """Exit status: 0 if every score is as expected."""
    with tempfile.TemporaryDirectory(prefix="grade-demo-") as temporary:
        folder = folder or Path(temporary) / "course"
        course = read_course()
        lesson = read_lesson(course, "rloo")
        submissions = demo_class(lesson)
        init_course(course, folder, "en", ["rloo"])
        given = grade(folder, lesson.entry.notebook, [submissions[:4], submissions[4:]], "--Execute.timeout", str(TIMEOUT))
    print(table(submissions, given))
    total, equal = len(submissions), sum(submission.expected == given[submission.student] for submission in submissions)
    print(f"{equal} of {total} as expected | {total} 份中 {equal} 份符合预期")
    return 0 if equal == total else 1


def grade(folder: Path, assignment: str, shares: list[list[Submission]], *options: str) -> dict[str, Score]:
    """Put the files into `submitted/`, autograde each share in a process of its own, make the feedback, and read the gradebook."""
    submissions = [submission for share in shares for submission in share]
    for submission in submissions:
        file = folder / "submitted" / submission.student / assignment / f"{assignment}.ipynb"
        file.parent.mkdir(parents=True)
        nbformat.write(submission.notebook, file)

    def autograde(share: list[Submission]) -> None:
        others = ",".join(submission.student for submission in submissions if submission not in share)
        run_nbgrader(folder, "autograde", assignment, f"--CourseDirectory.student_id_exclude={others}", *options)

    with ThreadPoolExecutor(len(shares)) as pool:
        list(pool.map(autograde, shares))
    run_nbgrader(folder, "generate_feedback", assignment)
    with Gradebook(f"sqlite:///{folder.resolve() / 'gradebook.db'}") as gradebook:
        return {submission.student: _score(gradebook, assignment, submission.student) for submission in submissions}


def _score(gradebook: Gradebook, assignment: str, student: str) -> Score:
    notebook = gradebook.find_submission_notebook(assignment, assignment, student)
    return Score({grade.name: None if grade.needs_manual_grade else grade.auto_score for grade in notebook.grades},
                 frozenset(comment.name for comment in notebook.comments if comment.auto_comment == "No response."))


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
