"""Scores out of the course: one row a student, a column a question, and a status that tells a zero from a file that was not graded."""

import csv
import io
from dataclasses import dataclass
from pathlib import Path

from .course_folder import CourseFolder
from .gradebook import GradebookReader
from .record import GRADED, Record, read_record

STATUS = {
    "graded": "graded | 已评阅", "manual": "needs manual grading | 待人工批改", "ungradable": "ungradable | 无法评阅",
    "waiting": "not graded yet | 尚未评阅", "absent": "not submitted | 未提交",
}
FORMULA = ("=", "+", "-", "@", "\t", "\r")  # with these a spreadsheet takes a text for a formula


@dataclass(frozen=True)
class Row:
    """points: by grade id, None where there are none yet."""

    student: str
    first_name: str
    last_name: str
    email: str
    status: str
    reason: str
    points: dict[str, float | None]
    raw_score: float | None
    late_penalty: float
    record: Record | None

    @property
    def score(self) -> float | None:
        return None if self.raw_score is None else max(0.0, self.raw_score - self.late_penalty)


def rows_of(course: CourseFolder, assignment: str) -> tuple[list[Row], dict[str, float]]:
    """All students of the gradebook and all who handed in; and the most points of each question."""
    with GradebookReader(course) as gradebook:
        most = gradebook.max_scores(assignment)
        people = gradebook.students()
        handed_in = {student for student, _ in course.submissions(assignment)}
        return [_row(course, gradebook, assignment, student, people.get(student, ("", "", "")), student in handed_in)
                for student in sorted(people.keys() | handed_in)], most


def _row(course: CourseFolder, gradebook, assignment: str, student: str, person: tuple[str, str, str], handed_in: bool) -> Row:
    record = read_record(course.record_file(student, assignment)) if handed_in else None
    scores = gradebook.scores(assignment, student) if handed_in or record else {}
    points = {key: automatic if manual is None else manual for key, (automatic, manual, _) in scores.items()}
    if not handed_in:
        status = "absent"
    elif record is None:
        status = "waiting"
    elif record.status != GRADED and all(score is None for score in points.values()):
        status = "ungradable"
    else:
        status = "manual" if any(waits for _, _, waits in scores.values()) else "graded"
    known = [score for score in points.values() if score is not None]
    return Row(student, *person, STATUS[status], str(record.reason) if status == "ungradable" else "", points,
               sum(known) if known else None, gradebook.late_penalty(assignment, student) if scores else 0.0, record)


def table(course: CourseFolder, assignment: str) -> list[list[str | float | None]]:
    rows, most = rows_of(course, assignment)
    header = ["student_id", "last_name", "first_name", "email", "status", "score", "max_score", "raw_score", "late_penalty",
              *[f"{key} (/{points:g})" for key, points in most.items()],
              "reason", "repairs", "isolation", "grader", "seed", "notebook_sha256", "graded_at"]
    lines: list[list] = [header]
    for row in rows:
        record = row.record
        lines.append([row.student, row.last_name, row.first_name, row.email, row.status, row.score, sum(most.values()), row.raw_score,
                      row.late_penalty, *[row.points.get(key) for key in most], row.reason,
                      "; ".join(map(str, record.repairs)) if record else "", *([record.isolation, record.grader, str(record.seed),
                      record.sha256, record.graded_at] if record else [""] * 5)])
    return [[_safe(value) for value in line] for line in lines]


def _safe(value):
    """A text that a spreadsheet would run as a formula gets an apostrophe in front; numbers stay numbers."""
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else value


def as_csv(lines: list[list]) -> bytes:
    """RFC 4180, UTF-8 with the BOM without which spreadsheets garble Chinese."""
    text = io.StringIO()
    csv.writer(text).writerows([["" if value is None else value for value in line] for line in lines])
    return text.getvalue().encode("utf-8-sig")


def write_xlsx(lines: list[list], file: Path) -> None:
    from openpyxl import Workbook  # only here

    book = Workbook(write_only=True)
    sheet = book.create_sheet("scores")
    for line in lines:
        sheet.append(line)
    book.save(file)
