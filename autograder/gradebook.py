"""Scores and comments into nbgrader's gradebook. A manual score is never touched, and writing the same again changes nothing."""

import re
from datetime import datetime, timezone
from pathlib import Path

from dateutil.parser import isoparse
from nbformat.v4 import new_notebook
from nbgrader.api import Gradebook, MissingEntry
from nbgrader.preprocessors import AssignLatePenalties

from advantagelab.checking import Message, message

from .course import CourseError
from .course_folder import CourseFolder
from .record import GRADED, Record

NO_RESPONSE = "No response."  # nbgrader's own words, which its formgrader knows


class GradebookReader:
    """Open it once for many questions: opening the gradebook costs more than reading a submission."""

    def __init__(self, course: CourseFolder):
        directory, self._course = course.directory, course
        self._gradebook = Gradebook(directory.db_url, directory.course_id)

    def __enter__(self):
        return self

    def __exit__(self, *error) -> None:
        self._gradebook.close()

    def require_assignment(self, assignment: str) -> None:
        try:
            self._gradebook.find_notebook(assignment, assignment)
        except MissingEntry:
            raise CourseError(f"the gradebook does not know {assignment}: nbgrader generate_assignment {assignment} | "
                              f"成绩册中没有 {assignment}：请先运行 nbgrader generate_assignment {assignment}") from None

    def max_scores(self, assignment: str) -> dict[str, float]:
        """grade id → points at most, in the order of the notebook."""
        return {cell.name: cell.max_score for cell in self._gradebook.find_notebook(assignment, assignment).grade_cells}

    def students(self) -> dict[str, tuple[str, str, str]]:
        """id → first name, last name, email; "" where the gradebook has none."""
        return {student.id: (student.first_name or "", student.last_name or "", student.email or "")
                for student in self._gradebook.students}

    def scores(self, assignment: str, student: str) -> dict[str, tuple[float | None, float | None, bool]]:
        """grade id → automatic score, manual score, whether a person has to look at it; empty before the first grading."""
        notebook = self._notebook(assignment, student)
        grades = notebook.grades if notebook else []
        return {grade.name: (grade.auto_score, grade.manual_score, grade.needs_manual_grade) for grade in grades}

    def comments(self, assignment: str, student: str) -> dict[str, str]:
        """grade id → what a person wrote about the answer."""
        notebook = self._notebook(assignment, student)
        return {comment.name: comment.manual_comment for comment in notebook.comments if comment.manual_comment} if notebook else {}

    def late_penalty(self, assignment: str, student: str) -> float:
        notebook = self._notebook(assignment, student)
        return (notebook.late_submission_penalty or 0.0) if notebook else 0.0

    def _notebook(self, assignment: str, student: str):
        try:
            return self._gradebook.find_submission_notebook(assignment, assignment, student)
        except MissingEntry:
            return None


class GradebookWriter(GradebookReader):
    def write(self, record: Record, timestamp: datetime | None) -> None:
        """Scores and comments in one transaction: killed in the middle, they are as they were. Then the penalty for being late."""
        gradebook, more = self._gradebook, {"timestamp": timestamp} if timestamp else {}
        gradebook.update_or_create_student(record.student)
        gradebook.update_or_create_submission(record.assignment, record.student, **more)
        notebook = self._notebook(record.assignment, record.student)
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
        notebook.late_submission_penalty = None
        gradebook.db.commit()
        if notebook.assignment.total_seconds_late > 0:
            # nbgrader's own rule, with the plugin that the course's configuration names.
            resources = {"nbgrader": {"notebook": record.assignment, "assignment": record.assignment, "student": record.student,
                                      "db_url": self._course.directory.db_url}}
            AssignLatePenalties(config=self._course.config).preprocess(new_notebook(), resources)


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
