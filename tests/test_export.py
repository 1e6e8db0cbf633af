"""Scores out of the course: as tables that a spreadsheet reads right, in which a zero is a zero and nothing else is."""

import csv
import hashlib
import io
from dataclasses import replace
from datetime import datetime, timedelta

import openpyxl
import pytest
from nbgrader.api import Gradebook

from advantagelab.checking import message
from autograder.__main__ import main
from autograder.export import as_csv, as_xlsx, fingerprint, table, tables, write_tables
from autograder.gradebook import GradebookWriter
from autograder.record import write_whole
from tests.grading import LOSS, POINTS, RLOO, SUM, WRITTEN, make_course, make_record, ungradable_record
from tests.needs import ROOT

DUE = datetime(2026, 3, 1, 10)


@pytest.fixture
def course(tmp_path):
    return make_course(tmp_path)


def hand_in(course, student: str, content: bytes = b"{}") -> str:
    """SHA-256 of the file."""
    write_whole(course.root / "submitted" / student / RLOO / f"{RLOO}.ipynb", content)
    return hashlib.sha256(content).hexdigest()


def grade(course, record, timestamp=None) -> None:
    """Handed in, and graded as `record` says."""
    hand_in(course, record.student, b"{}")
    with GradebookWriter(course) as gradebook:
        gradebook.write(record, timestamp)
    write_whole(course.record_file(record.student, RLOO), record.dumps())


def by_hand(course, student: str, key: str, score: float) -> None:
    with Gradebook(course.db_url) as gradebook:
        given = gradebook.find_grade(key, RLOO, RLOO, student)
        given.manual_score, given.needs_manual_grade = score, False
        gradebook.db.commit()


EMPTY = hashlib.sha256(b"{}").hexdigest()


def rows(course) -> dict[str, dict]:
    lines = table(course, RLOO)
    return {line[0]: dict(zip(lines[0], line, strict=True)) for line in lines[1:]}


def test_a_row_a_student_a_column_a_question(course):
    grade(course, make_record("s1", {SUM: 0.0}, file=EMPTY, repairs=(message(en="Read as GB18030.", zh="按 GB18030 编码读取。"),),
                              notes=(message(en="No time.", zh="没有时间。"),)))
    with Gradebook(course.db_url) as gradebook:
        gradebook.update_or_create_student("s1", first_name="三", last_name="王", email="wang@example.org")
    assert rows(course) == {"s1": {
        "student_id": "s1", "last_name": "王", "first_name": "三", "email": "wang@example.org",
        "status": "needs manual grading | 待人工批改", "score": 8.0, "max_score": 12.0, "raw_score": 8.0, "late_penalty": 0.0,
        **{f"{key} (/{points:g})": {SUM: 0.0, WRITTEN: None}.get(key, points) for key, points in POINTS.items()},
        "reason": "", "repairs": "Read as GB18030. | 按 GB18030 编码读取。; No time. | 没有时间。", "isolation": "bubblewrap",
        "grader": "0.1.0+abc", "seed_fingerprint": fingerprint(7), "notebook_sha256": EMPTY, "graded_at": "2026-03-01T10:00:00+00:00"}}


def test_the_status_tells_a_zero_from_what_is_none(course):
    grade(course, make_record("zero", dict.fromkeys(POINTS, 0.0), file=EMPTY))
    grade(course, make_record("manual", file=EMPTY))
    grade(course, ungradable_record("ungradable", file=EMPTY))
    grade(course, ungradable_record("by-hand", file=EMPTY))
    for key in POINTS:
        by_hand(course, "by-hand", key, 1.0)
    hand_in(course, "waiting")
    grade(course, make_record("again", file=EMPTY))
    hand_in(course, "again", b'{"another": "file"}')
    with Gradebook(course.db_url) as gradebook:
        gradebook.update_or_create_student("absent")
    found = {student: (row["status"].partition(" | ")[0], row["score"]) for student, row in rows(course).items()}
    assert found == {"zero": ("graded", 0.0), "manual": ("needs manual grading", 10.0), "ungradable": ("ungradable", None),
                     "by-hand": ("graded", 5.0), "waiting": ("not graded yet", None), "again": ("not graded yet", 10.0),
                     "absent": ("not submitted", None)}
    for student in ("ungradable", "by-hand"):
        assert rows(course)[student]["reason"] == "The file is empty. | 文件是空的。"
    assert all(rows(course)["ungradable"][f"{key} (/{points:g})"] is None for key, points in POINTS.items())


def test_who_handed_in_to_the_wrong_place_has_a_row_that_says_so(course):
    write_whole(course.root / "submitted" / "frank" / "rloo" / "a.ipynb", (ROOT / "notebooks" / "zh" / f"{RLOO}.ipynb").read_bytes())
    write_whole(course.root / "submitted" / "gina" / "grpo" / "a.ipynb", (ROOT / "notebooks" / "zh" / "04_grpo.ipynb").read_bytes())
    (course.root / "submitted" / "nothing").mkdir()
    grade(course, make_record("right", file=EMPTY))
    write_whole(course.root / "submitted" / "right" / "rloo" / "a.ipynb", b"{}")
    found = {student: (row["status"].partition(" | ")[0], row["score"], row["reason"]) for student, row in rows(course).items()}
    assert found.pop("frank") == ("not submitted", None, f"not graded, frank/rloo: a notebook of {RLOO}: it belongs in frank/{RLOO}/ | "
                                                         f"未评阅，frank/rloo：是 {RLOO} 的 notebook：应放在 frank/{RLOO}/")
    assert found == {"gina": ("not submitted", None, ""), "nothing": ("not submitted", None, ""),
                     "right": ("needs manual grading", 10.0, "")}


def test_a_notebook_in_the_folder_of_another_lesson_is_said_where_it_is_missing(course):
    (course.root / "source" / "00_start_here").mkdir()
    for student, language in (("alone", "en"), ("学号 甲", "zh")):
        write_whole(course.root / "submitted" / student / "00_start_here" / "a.ipynb",
                    (ROOT / "notebooks" / language / f"{RLOO}.ipynb").read_bytes())
    write_whole(course.root / "submitted" / "学号 甲" / "00_start_here" / "b.ipynb",
                (ROOT / "notebooks" / "zh" / "00_start_here.ipynb").read_bytes())
    write_whole(course.root / "submitted" / "right" / "00_start_here" / "b.ipynb",
                (ROOT / "notebooks" / "zh" / "00_start_here.ipynb").read_bytes())
    found = {student: (row["status"].partition(" | ")[0], row["reason"]) for student, row in rows(course).items()}
    assert found == {student: ("not submitted", place and f"{RLOO}'s notebook lies in {place} | {RLOO} 的 notebook 放在了 {place} 中")
                     for student, place in (("alone", "alone/00_start_here/"), ("学号 甲", "学号 甲/00_start_here/"), ("right", ""))}


def test_an_empty_folder_is_not_submitted_also_if_an_earlier_grading_found_it_ungradable(course):
    (course.root / "submitted" / "new" / RLOO).mkdir(parents=True)
    grade(course, ungradable_record("before", file=""))
    grade(course, ungradable_record("marked", file=""))
    by_hand(course, "marked", SUM, 1.0)
    for student in ("before", "marked"):
        (course.root / "submitted" / student / RLOO / f"{RLOO}.ipynb").unlink()
    found = {student: (row["status"].partition(" | ")[0], row["score"], row["reason"].partition(" | ")[0])
             for student, row in rows(course).items()}
    assert found == {"new": ("not submitted", None, "There is no file in the folder."),
                     "before": ("not submitted", None, "There is no file in the folder."),
                     "marked": ("needs manual grading", 1.0, "The file is empty.")}


def test_a_table_tells_seeds_apart_and_holds_none(course):
    for student, seed in (("a", 2**47 + 1), ("b", 2**47 + 1), ("c", 2**47 + 2)):
        grade(course, make_record(student, file=EMPTY, seed=seed))
    marks = {student: row["seed_fingerprint"] for student, row in rows(course).items()}
    assert marks["a"] == marks["b"] != marks["c"] and str(2**47)[:6] not in str(table(course, RLOO))


def test_scores_of_files_that_are_gone_are_kept(course):
    grade(course, make_record("s1", file=EMPTY))
    by_hand(course, "s1", WRITTEN, 2.0)
    (course.root / "submitted" / "s1" / RLOO / f"{RLOO}.ipynb").unlink()
    assert rows(course)["s1"]["status"].startswith("graded") and rows(course)["s1"]["score"] == 12.0
    (course.root / "submitted" / "s1" / RLOO).rmdir()
    assert rows(course)["s1"]["status"].startswith("graded") and rows(course)["s1"]["score"] == 12.0


def test_manual_extra_and_late_points_add_up_as_in_nbgrader(tmp_path):
    course = make_course(tmp_path, 'c.LateSubmissionPlugin.penalty_method = "zero"')
    with Gradebook(course.db_url) as gradebook:
        gradebook.update_or_create_assignment(RLOO, duedate=DUE)
    grade(course, make_record("late", file=EMPTY), DUE + timedelta(minutes=1))
    grade(course, make_record("good", file=EMPTY), DUE)
    by_hand(course, "good", WRITTEN, 1.5)
    with Gradebook(course.db_url) as gradebook:
        gradebook.find_grade(LOSS, RLOO, RLOO, "good").extra_credit = 0.25
        gradebook.db.commit()
        stock = {student: gradebook.find_submission(RLOO, student) for student in ("late", "good")}
        found = rows(course)
        for student, submission in stock.items():
            assert found[student]["raw_score"] == submission.score
            assert found[student]["score"] == submission.score - submission.late_submission_penalty
    assert (found["good"]["score"], found["late"]["score"], found["late"]["late_penalty"]) == (11.75, 0.0, 10.0)


# Formats

HOSTILE = ["=1+1", "+1", "-rf", "@SUM(A1)", "\t=1", "\r=1", " =1", "＝1+1", "=cmd|' /C calc'!A0", '=HYPERLINK("http://x","y")']
ORDINARY = ["s1", "0012", "2026001234567890123", "学号 甲", 'Wang, "San"', "a\nb", "o'brien", "a=b", "1e5", ""]


def read_csv(data: bytes) -> list[list[str]]:
    assert data.startswith(b"\xef\xbb\xbf")  # without it a spreadsheet garbles Chinese
    return list(csv.reader(io.StringIO(data.decode("utf-8-sig"), newline="")))


def test_csv_keeps_every_text_and_every_column():
    lines = [["id", "score"], *[[text, 1.5] for text in ORDINARY]]
    assert read_csv(as_csv(lines)) == [["id", "score"], *[[text, "1.5"] for text in ORDINARY]]


@pytest.mark.parametrize("text", HOSTILE)
def test_csv_holds_no_formula(text):
    ((name, number),) = read_csv(as_csv([[text, -1.0]]))
    assert name == f"'{text}" and number == "-1"


def test_csv_numbers_are_plain():
    assert as_csv([[10.0, 0.0, None, 2.5, 1 / 3, 0.1 + 0.2]]).decode("utf-8-sig") == "10,0,,2.5,0.3333333333,0.3\r\n"


def read_xlsx(data: bytes) -> list[list]:
    (sheet,) = openpyxl.load_workbook(io.BytesIO(data)).worksheets
    return [list(line) for line in sheet.iter_rows()]


def xlsx_values(data: bytes) -> list[list]:
    return [[cell.value for cell in line] for line in read_xlsx(data)]


def test_xlsx_texts_are_texts_and_numbers_are_numbers():
    texts = [text for text in HOSTILE + ORDINARY if text and "\r" not in text]
    cells = read_xlsx(as_xlsx({"scores": [[text, None, 1.5] for text in texts]}))
    assert [line[0].value for line in cells] == texts
    assert {line[0].data_type for line in cells} == {"s"} and {(line[2].data_type, line[2].value) for line in cells} == {("n", 1.5)}
    assert {line[1].value for line in cells} == {None}


def test_xlsx_is_ready_to_read():
    data = as_xlsx({"scores": [["student_id", "reason"], ["0012", "文" * 15], ["学号甲", "x" * 500]]})
    (sheet,) = openpyxl.load_workbook(io.BytesIO(data)).worksheets
    assert sheet.freeze_panes == "B2" and sheet["A2"].number_format == "@"
    assert [sheet.column_dimensions[letter].width for letter in "AB"] == [12, 40]


def test_xlsx_takes_what_xml_cannot_hold():
    ((first, second),) = read_xlsx(as_xlsx({"scores": [["a\x00b\x1b\ud800c", "x" * 100_000]]}))
    assert first.value == "a�b��c" and len(second.value) == 32_767


@pytest.mark.parametrize("form, read", [("csv", read_csv), ("xlsx", xlsx_values)])
def test_the_file_holds_the_table(course, form, read):
    for student in ("=1+1", "-rf", "学号甲", "a" * 128):
        grade(course, make_record(student, file=EMPTY))
    grade(course, ungradable_record("broken", file=EMPTY))
    write_tables(course, [RLOO], form, course.root / "out" / f"scores.{form}")
    lines = read((course.root / "out" / f"scores.{form}").read_bytes())
    assert len(lines) == 6 and {len(line) for line in lines} == {len(lines[0])}
    score = lines[0].index("score")
    assert {line[0].lstrip("'"): line[score] or None for line in lines[1:]} == {
        **dict.fromkeys(["=1+1", "-rf", "学号甲", "a" * 128], "10" if form == "csv" else 10), "broken": None}


# All lessons

GRPO = "04_grpo"


@pytest.fixture
def two_lessons(course):
    """A second one, of 4 points, which one student has done; two have handed in the first, and one nothing."""
    (course.root / "source" / GRPO).mkdir()
    grade(course, make_record("both", file=EMPTY))
    by_hand(course, "both", WRITTEN, 1.5)
    grade(course, make_record("one", {SUM: 0.0}, file=EMPTY))
    grade(course, ungradable_record("broken", file=EMPTY))
    write_whole(course.root / "submitted" / "waiting" / GRPO / "a.ipynb", b"{}")
    with Gradebook(course.db_url) as gradebook:
        gradebook.update_or_create_student("absent", first_name="三", last_name="王")
        gradebook.add_assignment(GRPO)
        gradebook.add_notebook(GRPO, GRPO)
        gradebook.add_grade_cell("check-a", GRPO, GRPO, max_score=4.0, cell_type="code")
        gradebook.add_solution_cell("a", GRPO, GRPO)
    record = make_record("both", file=EMPTY)
    question = replace(record.questions[0], key="check-a", answer_key="a", points=4.0, score=0.0)
    record = replace(record, assignment=GRPO, lesson="grpo", file="a.ipynb", questions=(question,))
    write_whole(course.root / "submitted" / "both" / GRPO / "a.ipynb", b"{}")
    with GradebookWriter(course) as gradebook:
        gradebook.write(record, None)
    write_whole(course.record_file("both", GRPO), record.dumps())
    return course


def test_a_total_counts_nothing_as_zero_that_is_not_graded(two_lessons):
    header, *lines = tables(two_lessons, [RLOO, GRPO])["total"]
    assert header == ["student_id", "last_name", "first_name", "email", "total", "total_of", f"{RLOO} (/12)", f"{GRPO} (/4)",
                      f"{RLOO} status", f"{GRPO} status", "reason"]
    found = {line[0]: (*line[4:8], *[status.partition(" | ")[0] for status in line[8:10]]) for line in lines}
    assert found == {
        "both": (11.5, 16.0, 11.5, 0.0, "graded", "graded"), "one": (8.0, 12.0, 8.0, None, "needs manual grading", "not submitted"),
        "broken": (None, None, None, None, "ungradable", "not submitted"), "absent": (None, None, None, None, *["not submitted"] * 2),
        "waiting": (None, None, None, None, "not submitted", "not graded yet")}
    assert {line[0]: line[10] for line in lines if line[10]} == {"broken": f"{RLOO}: The file is empty. | 文件是空的。"}
    assert lines[0][:3] == ["absent", "王", "三"]


def test_all_lessons_are_a_sheet_each_after_the_total_or_one_csv(two_lessons):
    assert main(["export", str(two_lessons.root), "--format", "xlsx"]) == main(["export", str(two_lessons.root), "--format", "csv"]) == 0
    book = openpyxl.load_workbook(two_lessons.root / "all_lessons.xlsx")
    total, *lessons = [[[cell.value for cell in line] for line in sheet.iter_rows()] for sheet in book.worksheets]
    assert book.sheetnames == ["total", RLOO, GRPO] and total[3][:6] == ["broken", None, None, None, None, None]
    assert lessons == [[[value if value != "" else None for value in line] for line in table(two_lessons, name)] for name in (RLOO, GRPO)]
    lines = read_csv((two_lessons.root / "all_lessons.csv").read_bytes())
    assert lines[0] == total[0] and lines[2][:8] == ["both", "", "", "", "11.5", "16", "11.5", "0"] and len(lines) == len(total) == 6


def test_an_autograder_is_of_one_lesson(course, capsys):
    assert main(["export", str(course.root), "--format", "gradescope"]) == 2 and "for which lesson" in capsys.readouterr().err


def test_a_lesson_that_the_gradebook_does_not_know_is_named(course, capsys):
    (course.root / "source" / GRPO).mkdir()
    assert main(["export", str(course.root), "--format", "csv"]) == 2 and f"does not know {GRPO}" in capsys.readouterr().err
