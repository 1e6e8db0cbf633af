"""Scores out of the course: one row a student, a column a question, and a status that tells a zero from a file that was not graded.

Of all lessons together a column a lesson, and a total that leaves out what has no score, from the points and from the maximum.
"""

import csv
import functools
import hashlib
import io
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from advantagelab.message import Message

from .course_folder import CourseFolder
from .gradebook import GradebookReader
from .intake import read_file
from .intake.files import NO_FILE
from .record import GRADED, Record, read_record, write_whole
from .submission import Ungradable
from .submitted import Astray, has_files, has_one_file

STATUS = {
    "graded": "graded | 已评阅", "manual": "needs manual grading | 待人工批改", "ungradable": "ungradable | 无法评阅",
    "waiting": "not graded yet | 尚未评阅", "absent": "not submitted | 未提交",
}
FORMULA = re.compile(r"\s*[=+\-@＝＋－＠]|[\t\r]")  # a spreadsheet takes a text that begins so for a formula
WIDEST = 40  # of a column in xlsx
CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")  # cannot stand in XML

Table = list[list[str | float | None]]


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


def rows_of(course: CourseFolder, gradebook: GradebookReader, assignment: str, all_astray: list[Astray]) -> list[Row]:
    """All students of the gradebook and all who have a folder in `submitted`."""
    people, submitted, astray = gradebook.students(), course.submitted, {}
    for work in all_astray:
        if work.student and work.assignment in (None, assignment):
            astray.setdefault(work.student, []).append(str(work))
    folders = {}
    for student, folder in submitted.folders(assignment):
        if has_files(folder):
            folders[student] = folder
        else:
            astray.setdefault(student, []).append(str(NO_FILE))
    return [_row(course, gradebook, assignment, student, people.get(student, ("", "", "")), folders.get(student), astray.get(student, []))
            for student in sorted({*people, *submitted.students(), *folders})]


def _row(course: CourseFolder, gradebook: GradebookReader, assignment: str, student: str, person: tuple[str, str, str],
         folder: Path | None, astray: list[str]) -> Row:
    record = read_record(course.record_file(student, assignment))
    marks = gradebook.marks(assignment, student) if record else {}
    points = {key: mark.points for key, mark in marks.items()}
    known = [score for score in points.values() if score is not None]
    if not folder and (not record or record.status != GRADED and not known):
        status, record = "absent", None
        astray = [*astray, *map(str, _elsewhere(course, student, assignment))]
    elif not record:
        status = "waiting"
    elif folder and not is_graded(record, folder):
        status = "waiting"
    elif record.status != GRADED and not known:
        status = "ungradable"
    else:
        status = "manual" if any(mark.waits for mark in marks.values()) else "graded"
    reason = "; ".join(astray) if status == "absent" else str(record.reason or "") if status != "waiting" else ""
    return Row(student, *person, STATUS[status], reason, points,
               sum(known) if known else None, gradebook.late_penalty(assignment, student) if known else 0.0, record)


def _elsewhere(course: CourseFolder, student: str, assignment: str) -> Iterator[Message]:
    """A folder whose only file was graded holds no other lesson's, and need not be read, which takes long in a large class."""
    for other in sorted(course.assignments() - {assignment}):
        record = read_record(course.record_file(student, other))
        if not (record and record.status == GRADED and has_one_file(course.submitted.folder / student / other)):
            yield from course.submitted.elsewhere(student, assignment, other)


def is_graded(record: Record, folder: Path) -> bool:
    """Whether the file that was graded is the one that is there now."""
    if not record.file:
        return True
    try:
        return hashlib.sha256(read_file(folder / record.file)).hexdigest() == record.sha256
    except Ungradable:
        return record.status != GRADED


def table(course: CourseFolder, assignment: str) -> Table:
    return tables(course, [assignment])[assignment]


def tables(course: CourseFolder, assignments: list[str]) -> dict[str, Table]:
    """By name: the total, and a table for each assignment."""
    astray = course.submitted.astray()
    with GradebookReader(course) as gradebook:
        most = {assignment: gradebook.max_scores(assignment) for assignment in assignments}
        rows = {assignment: rows_of(course, gradebook, assignment, astray) for assignment in assignments}
    return {"total": _total(most, rows), **{assignment: _table(most[assignment], rows[assignment]) for assignment in assignments}}


def _total(most: dict[str, dict[str, float]], rows: dict[str, list[Row]]) -> Table:
    """A row for who is in any of the tables. total_of: the points at most of the lessons that have a score; the others are in neither."""
    points = {assignment: sum(known.values()) for assignment, known in most.items()}
    by_student = {}
    for assignment, some in rows.items():
        for row in some:
            by_student.setdefault(row.student, {})[assignment] = row
    lines = [["student_id", "last_name", "first_name", "email", "total", "total_of", *[f"{name} (/{points[name]:g})" for name in most],
              *[f"{name} status" for name in most], "reason"]]
    for student, found in sorted(by_student.items()):
        person = next(iter(found.values()))
        scores = {name: row.score for name, row in found.items() if row.score is not None}
        lines.append([student, person.last_name, person.first_name, person.email, sum(scores.values()) if scores else None,
                      sum(points[name] for name in scores) if scores else None, *[scores.get(name) for name in most],
                      *[found[name].status for name in most],
                      "; ".join(f"{name}: {row.reason}" for name, row in found.items() if row.reason)])
    return lines


def _table(most: dict[str, float], rows: list[Row]) -> Table:
    header = ["student_id", "last_name", "first_name", "email", "status", "score", "max_score", "raw_score", "late_penalty",
              *[f"{key} (/{points:g})" for key, points in most.items()],
              "reason", "repairs", "isolation", "grader", "seed_fingerprint", "notebook_sha256", "graded_at"]
    return [header, *[_line(row, most) for row in rows]]


def _line(row: Row, most: dict[str, float]) -> list[str | float | None]:
    record = row.record
    graded = [record.isolation, record.grader, fingerprint(record.seed), record.sha256, record.graded_at] if record else [""] * 5
    return [row.student, row.last_name, row.first_name, row.email, row.status, row.score, sum(most.values()), row.raw_score,
            row.late_penalty, *[row.points.get(key) for key in most], row.reason,
            "; ".join(map(str, (*record.repairs, *record.notes))) if record else "", *graded]


@functools.cache
def fingerprint(seed: int) -> str:
    """Tells one seed from another. A table gets around, and the seed must not: this is too slow to try out all seeds."""
    return hashlib.pbkdf2_hmac("sha256", str(seed).encode(), b"advantagelab", 200_000).hex()[:8]


def as_csv(lines: Table) -> bytes:
    """RFC 4180, UTF-8 with the BOM without which spreadsheets garble Chinese; a text that would be a formula gets an apostrophe."""
    text = io.StringIO()
    csv.writer(text).writerows([[_cell(value) for value in line] for line in lines])
    return text.getvalue().encode("utf-8-sig", "replace")


def _cell(value: str | float | None) -> str:
    if isinstance(value, str):
        return f"'{value}" if FORMULA.match(value) else value
    return "" if value is None else f"{value:.10g}"


def as_xlsx(sheets: dict[str, Table]) -> bytes:
    """Texts are marked as texts, so an id keeps its zeros and its length, and nothing is a formula."""
    from openpyxl import Workbook  # only here: it takes long to import

    book, content = Workbook(write_only=True), io.BytesIO()
    for name, lines in sheets.items():
        _fill(book.create_sheet(name), lines)
    book.save(content)
    return content.getvalue()


def _fill(sheet, lines: Table) -> None:
    from openpyxl.cell import WriteOnlyCell
    from openpyxl.utils import get_column_letter

    sheet.freeze_panes = "B2"  # the header and the ids stay in sight
    for number, column in enumerate(zip(*lines), 1):
        sheet.column_dimensions[get_column_letter(number)].width = min(max(map(_width, column)) + 2, WIDEST)
    for line in lines:
        cells = [WriteOnlyCell(sheet, CONTROL.sub("�", value) if isinstance(value, str) else value) for value in line]
        for cell in cells:
            if isinstance(cell.value, str):
                cell.data_type, cell.number_format, cell.quotePrefix = "s", "@", True  # "@": a text, also after it was edited
        sheet.append(cells)


def _width(value: str | float | None) -> int:
    """In narrow signs, as a spreadsheet measures a column: Chinese ones take two."""
    return sum(2 if unicodedata.east_asian_width(sign) in "WF" else 1 for sign in _cell(value)[:WIDEST])


def write_tables(course: CourseFolder, assignments: list[str], form: str, output: Path) -> None:
    """Of one assignment its table; of several also the total, in xlsx on the first sheet, in csv alone."""
    sheets = {"scores": table(course, assignments[0])} if len(assignments) == 1 else tables(course, assignments)
    write_whole(output, as_csv(next(iter(sheets.values()))) if form == "csv" else as_xlsx(sheets))
