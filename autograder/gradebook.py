"""Scores and comments into nbgrader's gradebook. A manual score is never touched, and writing the same again changes nothing."""

import re
from datetime import datetime, timezone
from pathlib import Path

from dateutil.parser import isoparse
from nbgrader.api import Gradebook, MissingEntry

from advantagelab.checking import Message, message

from .course import CourseError
from .course_folder import CourseFolder
from .record import GRADED, Record

NO_RESPONSE = "No response."  # nbgrader's own words, which its formgrader knows


class GradebookWriter:
    """One for a run: opening the gradebook costs more than a submission."""

    def __init__(self, course: CourseFolder):
        self._course = course
        self._gradebook = Gradebook(course.directory.db_url, course.directory.course_id)

    def close(self) -> None:
        self._gradebook.close()

    def require_assignment(self, assignment: str) -> None:
        try:
            self._gradebook.find_notebook(assignment, assignment)
        except MissingEntry:
            raise CourseError(f"the gradebook does not know {assignment}: nbgrader generate_assignment {assignment} | "
                              f"成绩册中没有 {assignment}：请先运行 nbgrader generate_assignment {assignment}") from None

    def write(self, record: Record, timestamp: datetime | None) -> None:
        """One transaction: killed in the middle, the gradebook is as it was."""
        gradebook, more = self._gradebook, {"timestamp": timestamp} if timestamp else {}
        gradebook.update_or_create_student(record.student)
        gradebook.update_or_create_submission(record.assignment, record.student, **more)
        notebook = gradebook.find_submission_notebook(record.assignment, record.assignment, record.student)
        given = {question.key: question.score for question in record.questions}
        untouched = {question.answer_key for question in record.questions if question.untouched}
        for grade in notebook.grades:
            score = given.get(grade.name)
            changed, grade.auto_score = grade.auto_score != score, score
            if score is None:
                grade.needs_manual_grade = grade.manual_score is None or grade.needs_manual_grade
            else:
                # Who graded by hand looks again only if the score below it has changed.
                grade.needs_manual_grade = grade.manual_score is not None and (changed or grade.needs_manual_grade)
        for comment in notebook.comments:
            comment.auto_comment = _comment(record, comment.name in untouched)
        gradebook.db.commit()

    def scores(self, assignment: str, student: str) -> dict[str, tuple[float | None, float | None, bool]]:
        """grade id → automatic score, manual score, whether a person has to look at it."""
        notebook = self._gradebook.find_submission_notebook(assignment, assignment, student)
        return {grade.name: (grade.auto_score, grade.manual_score, grade.needs_manual_grade) for grade in notebook.grades}

    def comments(self, assignment: str, student: str) -> dict[str, str]:
        """grade id → what a person wrote about the answer."""
        notebook = self._gradebook.find_submission_notebook(assignment, assignment, student)
        return {comment.name: comment.manual_comment for comment in notebook.comments if comment.manual_comment}


def _comment(record: Record, untouched: bool) -> str | None:
    if record.status != GRADED:
        return str(record.reason)[:1000]
    return NO_RESPONSE if untouched else None


def submitted_at(folder: Path) -> tuple[datetime | None, Message | None]:
    """The time in timestamp.txt, in UTC without a zone as nbgrader keeps it, and what is wrong with the file.

    Only ISO 8601 is read: nbgrader's own reader takes "+0800" for 800 seconds and "CST" for UTC.
    """
    file = folder / "timestamp.txt"
    if not file.is_file() or file.is_symlink():
        return None, None
    try:
        text = file.read_text(encoding="utf-8-sig").strip()
        time = isoparse(re.sub(r"\s+(?=Z$|[+-]\d\d:?\d\d$)", "", text.replace(" UTC", " Z")).replace(" ", "T", 1))
    except (ValueError, OSError):
        return None, message(en="timestamp.txt cannot be read as ISO 8601, such as 2026-03-01T18:00:00+08:00: the time is left out.",
                             zh="timestamp.txt 不是 ISO 8601 时间（例如 2026-03-01T18:00:00+08:00）：未记录提交时间。")
    if time.tzinfo is not None:
        time = time.astimezone(timezone.utc).replace(tzinfo=None)
    return time, None
