"""Bytes and folders: encodings, files that are no notebooks, bombs, and `python -m autograder intake DIR`."""

import json
import os
import socket
from pathlib import Path

import pytest

from autograder.__main__ import main
from autograder.demo_class import WRITTEN
from autograder.intake import find_notebook, read_file, read_submission
from autograder.intake.choose import CANDIDATES
from autograder.intake.decode import MAX_BYTES, MAX_VALUES
from autograder.intake.python_text import MAX_PARSED
from autograder.submission import Ungradable
from lessons._build.course import ROOT
from tests.grading import make_course
from tests.intake_cases import ANSWERS, ESSAY, FIRST, assert_sound, cell, encode, finished, insert_after, own, rloo, text

LESSON = rloo()
SOLVED = {key: text(cell(finished(), key)) for key in ANSWERS}
GOOD = encode(finished())
ASSIGNMENT = "03_rloo"


def answers(data: bytes) -> dict[str, str]:
    result = read_submission(data, LESSON)
    assert_sound(result, LESSON)
    assert result.written == {ESSAY: WRITTEN}
    return {code.key: code.source for code in result.code if code.role == "exercise"}


def said(data: bytes) -> str:
    return " ".join(message.en for message in read_submission(data, LESSON).repairs)


def refused(data: bytes) -> str:
    with pytest.raises(Ungradable) as error:
        read_submission(data, LESSON)
    assert error.value.said.zh and str(error.value) == f"{error.value.said.en} | {error.value.said.zh}"
    return error.value.said.en


# Encodings


@pytest.mark.parametrize(("data", "words"), [
    (GOOD.decode().encode("utf-8-sig"), "byte order mark"),
    (GOOD.decode().encode("utf-16"), "Read as UTF-16."),
    (b"\xfe\xff" + GOOD.decode().encode("utf-16-be"), "Read as UTF-16."),
    (GOOD.decode().encode("utf-16-le"), "Read as UTF-16-LE."),
    (GOOD.decode().encode("utf-16-be"), "Read as UTF-16-BE."),
    (GOOD.decode().encode("utf-32"), "Read as UTF-32."),
    (encode(finished("zh")).decode().encode("gb18030"), "Read as GB18030."),
    (b"\n\n  " + GOOD + b"\n\0\0\0", ""),
    (json.dumps(finished()).encode("ascii"), ""),
    (GOOD + b'}\n ]\n}', "Text after the end"),
])
def test_encodings(data, words):
    assert answers(data) == SOLVED
    assert words in said(data) and bool(words) == bool(said(data))


def test_a_few_broken_bytes_cost_only_themselves():
    broken = encode(finished("zh")).replace(WRITTEN.encode(), "我的看法：".encode() + b"\xff\xc3 done")
    result = read_submission(broken, LESSON)
    assert result.written == {ESSAY: "我的看法：\ufffd\ufffd done"} and result.language == "zh"
    assert "could not be read (2)" in result.repairs[0].en


def test_the_same_field_twice_the_last_one_counts():
    data = GOOD.replace(b'   "source": [', b'   "source": "raise SystemExit",\n   "source": [')
    assert data != GOOD and answers(data) == SOLVED and "stood twice" in said(data)


def test_numbers_that_json_does_not_know():
    data = GOOD.replace(b'"metadata": {', b'"metadata": {"odd": [NaN, Infinity, -Infinity, 1e999, ' + b"9" * 6000 + b"]", 1)
    assert data != GOOD and answers(data) == SOLVED


# Files that are no notebooks


@pytest.mark.parametrize(("data", "reason"), [
    (b"", "The file is empty."),
    (b" \n\0\0", "The file is empty."),
    (b"\xef\xbb\xbf", "The file is empty."),
    (b"\xff\xfe", "The file is empty."),
    (GOOD[:len(GOOD) // 2], "ends in the middle"),
    (GOOD[:-1], "ends in the middle"),
    (GOOD[:-30], "ends in the middle"),
    (GOOD.decode().encode("utf-16")[:-31], "ends in the middle"),
    (b"PK\x03\x04rest", "a zip archive or an Office document"),
    (b"%PDF-1.7", "a PDF"),
    (b"\x1f\x8b\x08", "a gzip archive"),
    (b"Rar!\x1a", "a RAR archive"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (b"\x89PNG\r\n", "a picture"),
    (b"\xff\xd8\xff\xe0", "a picture"),
    (b"<!DOCTYPE html><html>", "a web page"),
    (b"version https://git-lfs.github.com/spec/v1\noid sha256:0", "a Git LFS pointer"),
    (b"import torch\n\nx = 1\n", "other text, such as a script"),
    ("我不会做".encode(), "other text, such as a script"),
    (bytes(range(256)), "other text"),
    (GOOD.replace(b'"cells": [', b'"cells": [\n<<<<<<< HEAD\n') + b"\n>>>>>>> theirs\n", "an unfinished Git merge"),
    (GOOD.replace(b'"nbformat": 4', b"'nbformat': 4"), "Not valid JSON: line "),
    (GOOD.replace(b'"nbformat": 4,', b'"nbformat": 4,,'), "Not valid JSON: line "),
    (GOOD + GOOD, "Two JSON objects"),
    (b"[1, 2]", "the file holds no object"),
    (b'{"hello": 1}', "it has no list of cells"),
    (json.dumps(GOOD.decode()).encode(), "the file holds no object"),
    (b"[" * 100_000, "nested too deeply"),
    (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, "nested too deeply"),
    (GOOD.replace(b'"metadata": {', b'"metadata": {"deep": ' + b"[" * 50_000 + b"]" * 50_000, 1), "nested too deeply"),
    (b" " * (MAX_BYTES + 1), "larger than 100 MiB"),
    (b'{"cells": [' + b"[]," * 3_000_000 + b"[]]}", "more than 2,000,000 values"),
    (b'{"cells": ["' + b'","' * 4_500_000 + b'"]}', "more than 2,000,000 values"),
])
def test_files_that_are_no_notebooks(data, reason):
    assert reason in refused(data)


def test_many_values_are_counted_outside_strings_only():
    notebook = finished()
    cell(notebook, FIRST)["outputs"] = [{"output_type": "stream", "name": "stdout", "text": '[1, "2", {\\}], ' * 400_000}]
    data = encode(notebook)
    assert data.count(b",") > MAX_VALUES / 2 and len(data) > 4 * 2**20 and answers(data) == SOLVED


def test_ten_thousand_cells():
    notebook = finished()
    sources = [f"x{number} = {number}" if number % 2 else f"# {FIRST} {number}\nprint('a'" for number in range(10_000)]
    insert_after(notebook, "setup", *map(own, sources))
    result = read_submission(encode(notebook), LESSON)
    assert len(result.code) == 5 + 10_000 and {code.key: code.source for code in result.code if code.role == "exercise"} == SOLVED


@pytest.mark.parametrize("source", [
    "(" * 100_000, "-" * 100_000 + "1", "x" + ".y" * 100_000, "a = " + "[" * 190 + "]" * 190, "if x:\n " * 3_000, "!" * 100_000,
    "?\n" * 50_000, "%%time\n" * 30_000, "a" * 200_000 + "?", "\n" * 200_000 + "%x", "lambda: " * 20_000 + "0", "f'{" * 5_000,
    'f"' + "{1}" * 80_000 + '"', "a;" * 120_000, "In [1]: x\n" * 20_000,
    "\\\n" * 50_000, "'" * 99_999, "a" * 900 + "?\n" * 30, "x = 1\n%ls\n" * 900,
])
def test_hostile_code_is_only_text(source):
    """Each costs no more than itself: the answers come back, and nothing hangs or falls over."""
    notebook = finished()
    insert_after(notebook, "setup", own(source), own(source + "\n!ls"))
    assert answers(encode(notebook)) == SOLVED


@pytest.mark.parametrize("source", [
    "x = 1\n" * 6_000, "rows = [\n" + "  [1.0, 2.0],\n" * 3_000 + "]\n",
])
def test_a_long_cell_is_run_and_known_by_what_it_seems_to_define(source):
    """Its syntax is not looked at, since that can take quadratic time: a definition at the beginning of a line is found all the same."""
    notebook = finished()
    notebook["cells"].remove(cell(notebook, FIRST))
    insert_after(notebook, "setup", own(f"{source}\n{SOLVED[FIRST]}"))
    assert len(source) > MAX_PARSED and answers(encode(notebook)) == SOLVED | {FIRST: f"{source}\n{SOLVED[FIRST]}"}


def test_what_a_student_adds_to_the_set_up_cell_is_found_beside_its_long_payload():
    notebook = finished()
    setup = cell(notebook, "setup")
    setup["source"] = text(setup) + "\ndef helper():\n    return 1"
    assert len(setup["source"]) > 2 * MAX_PARSED
    result = read_submission(encode(notebook), LESSON)
    assert [code.source for code in result.code if code.role == "added"] == ["def helper():\n    return 1"]


def test_a_cell_longer_than_any_answer_does_not_run():
    notebook = finished()
    insert_after(notebook, "setup", own("x = 1\n" * 60_000))
    result = read_submission(encode(notebook), LESSON)
    assert [code.key for code in result.code if code.role == "added"] == [] and "not run: added-1" in result.repairs[0].en


def test_hundreds_of_different_copies_of_one_answer():
    notebook = finished()
    insert_after(notebook, FIRST, *[{**cell(notebook, FIRST), "id": f"c{number}", "source": f"{SOLVED[FIRST]}\nx = {number}"}
                                    for number in range(400)])
    assert answers(encode(notebook)) == SOLVED


# Folders


def hand_in(folder: Path, student: str, data: bytes = GOOD, name: str = f"{ASSIGNMENT}.ipynb", assignment: str = ASSIGNMENT) -> Path:
    file = folder / "submitted" / student / assignment / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)
    return file


def lines(capsys, folder: Path, status: int) -> dict[str, str]:
    """What is said of each student."""
    assert main(["intake", str(folder)]) == status
    *found, last = [line for line in capsys.readouterr().out.splitlines() if not line.startswith("to grade them: ")]
    assert "can be graded" in last and "可评阅" in last
    return {line.split("  ")[0]: line.partition("  ")[2] for line in found}


def other(source: str) -> bytes:
    """A finished notebook, different in one answer."""
    notebook = finished()
    cell(notebook, FIRST)["source"] = f"{SOLVED[FIRST]}\n\n{source}"
    return encode(notebook)


BLANK = encode(json.loads((ROOT / "notebooks" / "en" / f"{ASSIGNMENT}.ipynb").read_text(encoding="utf-8")))


def test_a_course_folder_a_line_a_student(tmp_path, capsys):
    hand_in(tmp_path, "s01")
    hand_in(tmp_path, "学号-02", encode(finished("zh")), "rloo (1).ipynb")
    hand_in(tmp_path, "s03", GOOD.decode().encode("utf-16"), "Copy of 03_rloo.ipynb.txt")
    hand_in(tmp_path, "s04", b"")
    hand_in(tmp_path, "s05", (ROOT / "notebooks" / "en" / "04_grpo.ipynb").read_bytes())
    hand_in(tmp_path, "s06", (ROOT / "notebooks" / "zh" / "04_grpo.ipynb").read_bytes(), "作业.ipynb", "04_grpo")
    hand_in(tmp_path, "s07", b"2026-11-30", "timestamp.txt")
    (tmp_path / "submitted" / "s01" / ASSIGNMENT / "timestamp.txt").write_text("2026-11-30 18:00 +0800")
    (tmp_path / "submitted" / "学号-02" / ASSIGNMENT / "timestamp.txt").write_text("2026-11-30 18:00 CST")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    said = lines(capsys, tmp_path, 1)
    assert said["s01"] == "03_rloo  03_rloo.ipynb  clean | 无需修正"
    assert said["学号-02"].startswith("03_rloo  rloo (1).ipynb  timestamp.txt holds no time")
    assert said["s03"].startswith("03_rloo  Copy of 03_rloo.ipynb.txt  Read as UTF-16. | ")
    assert said["s04"] == "03_rloo  03_rloo.ipynb  ungradable: The file is empty. | 无法评阅：文件是空的。"
    assert "ungradable: This is the notebook of another lesson: 04_grpo." in said["s05"]
    assert said["s06"] == "04_grpo  作业.ipynb  clean | 无需修正"
    assert said["s07"] == "03_rloo  not submitted: There is no file in the folder. | 未提交：文件夹中没有文件。"
    assert len(said) == 7 and before == {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}


def test_all_gradable_is_status_0(tmp_path, capsys):
    hand_in(tmp_path, "s01")
    hand_in(tmp_path, "s02", BLANK)
    assert set(lines(capsys, tmp_path, 0)) == {"s01", "s02"}
    assert set(lines(capsys, tmp_path / "submitted", 0)) == {"s01", "s02"}


def test_intake_counts_what_grade_will_grade(tmp_path, capsys):
    """In a course: its own assignments only, and what is in the wrong place is said as `grade` says it."""
    course = make_course(tmp_path)
    hand_in(tmp_path, "s01")
    hand_in(tmp_path, "frank", assignment="rloo")
    hand_in(tmp_path, "gina", (ROOT / "notebooks" / "zh" / "04_grpo.ipynb").read_bytes(), assignment="04_grpo")
    (tmp_path / "submitted" / "loose.ipynb").write_bytes(GOOD)
    for folder in (tmp_path, tmp_path / "submitted"):
        assert main(["intake", str(folder)]) == 1
        first, *others, last = capsys.readouterr().out.splitlines()
        assert first == "s01  03_rloo  03_rloo.ipynb  clean | 无需修正" and others == [str(work) for work in course.submitted.astray()]
        assert last == "1 of 1 can be graded; 3 in the wrong place will not be | 共 1 份，可评阅 1 份；另有 3 处放错了位置，不会评阅"


def test_any_folder_of_notebooks(tmp_path, capsys):
    """As a learning platform exports them: a file a student, or a folder a student, whatever they are called."""
    (tmp_path / "wang_123_question_rloo.ipynb").write_bytes(GOOD)
    (tmp_path / "张三 的副本.IPYNB").write_bytes(encode(finished("zh")))
    (tmp_path / "list.csv").write_text("a,b")
    (tmp_path / ".DS_Store").write_text("")
    nested = tmp_path / "李四_456" / "my homework" / "final"
    nested.mkdir(parents=True)
    (nested / "untitled.json").write_bytes(GOOD)
    both = tmp_path / "both lessons"
    both.mkdir()
    (both / "a.ipynb").write_bytes(GOOD)
    (both / "b.ipynb").write_bytes((ROOT / "notebooks" / "zh" / "00_start_here.ipynb").read_bytes())
    (tmp_path / "empty").mkdir()
    assert main(["intake", str(tmp_path)]) == 1
    out = capsys.readouterr().out
    for line in ("wang_123_question_rloo  03_rloo  wang_123_question_rloo.ipynb  clean", "张三 的副本  03_rloo  张三 的副本.IPYNB  clean",
                 "李四_456  03_rloo  untitled.json  clean", "both lessons  03_rloo  a.ipynb  clean",
                 "both lessons  00_start_here  b.ipynb  clean", "empty  ?  ungradable: There is no file",
                 "5 of 6 can be graded | 共 6 份，可评阅 5 份", "to grade them: COURSE/submitted/STUDENT/ASSIGNMENT/"):
        assert line in out, out
    assert "list.csv" not in out


def test_of_several_notebooks_one_is_chosen_by_its_content(tmp_path):
    folder = hand_in(tmp_path, "s01", BLANK).parent
    hand_in(tmp_path, "s01", GOOD, "rloo (1).ipynb")
    hand_in(tmp_path, "s01", b"not one", "notes.ipynb")
    found = find_notebook(folder, LESSON)
    assert found.file.name == "rloo (1).ipynb" and not found.refused
    assert "notes.ipynb" in found.notes[0].en and "was taken, not: 03_rloo.ipynb" in found.notes[1].en
    hand_in(tmp_path, "s01", GOOD, "same again.ipynb")
    assert find_notebook(folder, LESSON).file.name == "rloo (1).ipynb"


def test_of_different_notebooks_the_one_with_the_lessons_name_counts_or_none(tmp_path):
    folder = hand_in(tmp_path, "s01", other("a = 1")).parent
    hand_in(tmp_path, "s01", other("a = 2"), "rloo (1).ipynb")
    assert find_notebook(folder, LESSON).file.name == "03_rloo.ipynb"
    (folder / "03_rloo.ipynb").rename(folder / "rloo.ipynb")
    found = find_notebook(folder, LESSON)
    assert found.file is None and "Several different notebooks" in found.refused.en and "rloo (1).ipynb, rloo.ipynb" in found.refused.en


def test_of_very_many_or_very_large_notebooks_none_is_read(tmp_path, monkeypatch, capsys):
    for number in range(CANDIDATES + 1):
        folder = hand_in(tmp_path, "many", GOOD, f"{number}.ipynb").parent
    large = hand_in(tmp_path, "large", GOOD)
    hand_in(tmp_path, "large", GOOD, "b.ipynb")
    os.truncate(large, MAX_BYTES)
    assert large.stat().st_blocks * 512 < MAX_BYTES  # it only seems so large
    with monkeypatch.context() as reading:
        reading.setattr("autograder.intake.choose.read_file", None)
        for place in (folder, large.parent):
            assert find_notebook(place, LESSON).refused.en.startswith("More than 20 files, or more than 100 MiB")
    assert main(["intake", str(tmp_path / "submitted" / "many")]) == 1
    assert f"{ASSIGNMENT}  ?  ungradable: More than 20 files" in capsys.readouterr().out
    (tmp_path / "submitted" / "many" / ASSIGNMENT / "0.ipynb").unlink()
    assert find_notebook(tmp_path / "submitted" / "many" / ASSIGNMENT, LESSON).file.name == "1.ipynb"


def test_no_notebook_among_several_files(tmp_path):
    folder = hand_in(tmp_path, "s01", b"", "a.ipynb").parent
    hand_in(tmp_path, "s01", b"<html>", "b.ipynb")
    assert find_notebook(folder, LESSON).refused.en.startswith("None of 2 files is a notebook of this lesson; a.ipynb: The file is empty.")


def test_links_pipes_and_sockets_are_not_followed(tmp_path, capsys):
    secret = tmp_path / "secret.ipynb"
    secret.write_bytes(GOOD)
    course = tmp_path / "course"
    for student in ("s01", "s02", "s03", "s04"):
        (course / "submitted" / student / ASSIGNMENT).mkdir(parents=True)
    (course / "submitted" / "s01" / ASSIGNMENT / "03_rloo.ipynb").symlink_to(secret)
    os.mkfifo(course / "submitted" / "s02" / ASSIGNMENT / "03_rloo.ipynb")
    with socket.socket(socket.AF_UNIX) as listening:
        here = os.getcwd()
        os.chdir(course / "submitted" / "s03" / ASSIGNMENT)  # a socket's path may be no longer than this
        listening.bind("03_rloo.ipynb")
        os.chdir(here)
    (course / "submitted" / "s04" / ASSIGNMENT / "folder").symlink_to(tmp_path)
    (course / "submitted" / "s05").symlink_to(course / "submitted" / "s04")
    (course / "submitted" / "s06").mkdir()
    (course / "submitted" / "s06" / ASSIGNMENT).symlink_to(tmp_path)
    hand_in(course, "s07")
    said = lines(capsys, course, 1)
    assert said.pop("s07").endswith("clean | 无需修正") and len(said) == 6
    for student in ("s01", "s02", "s03", "s04"):
        assert "ungradable: " in said[student], said
    assert "link" in said["s01"].lower()
    for name in ("s05", f"s06/{ASSIGNMENT}"):
        assert f"not graded, {name}: a link, not followed | 未评阅，{name}：是链接，未读取" in said, said
    for name in ("s01", "s02", "s03"):
        with pytest.raises(Ungradable):
            read_file(course / "submitted" / name / ASSIGNMENT / "03_rloo.ipynb")


def test_names_cannot_forge_lines_or_stop_the_run(tmp_path, capsys):
    hand_in(tmp_path, "evil\ns99  03_rloo  clean", b"")
    hand_in(tmp_path, "bell\x1b[2J\u202e", GOOD, "-rf ..ipynb")
    os.makedirs(os.fsencode(tmp_path) + b"/submitted/\xff\xfe/03_rloo")
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/submitted/\xff\xfe/03_rloo/\xff.ipynb")).write_bytes(GOOD)
    assert main(["intake", str(tmp_path)]) == 1
    out = capsys.readouterr().out
    assert len(out.splitlines()) == 4 and "0 of 0 can be graded; 3 in the wrong place will not be" in out
    assert "\x1b" not in out and "\u202e" not in out
    out.encode("utf-8")


def test_a_huge_file_is_refused_without_reading_it_all(tmp_path, capsys):
    file = hand_in(tmp_path, "s01")
    with open(file, "wb") as sparse:
        sparse.truncate(20 * 2**30)
    hand_in(tmp_path, "s02")
    said = lines(capsys, tmp_path, 1)
    assert "larger than 100 MiB" in said["s01"] and said["s02"].endswith("clean | 无需修正")


def test_a_fault_of_the_intake_stops_nobody_else(tmp_path, capsys, monkeypatch):
    hand_in(tmp_path, "s01")
    hand_in(tmp_path, "s02", BLANK)
    import autograder.intake.command as command

    def fails_once(data, lesson, read=command.read_submission):
        if data == GOOD:
            raise ZeroDivisionError
        return read(data, lesson)

    monkeypatch.setattr(command, "read_submission", fails_once)
    said = lines(capsys, tmp_path, 1)
    assert "The intake itself failed: ZeroDivisionError." in said["s01"] and said["s02"].endswith("clean | 无需修正")


def test_nothing_to_look_at(tmp_path, capsys):
    assert main(["intake", str(tmp_path)]) == 2 and "there are no submissions" in capsys.readouterr().err
    hand_in(tmp_path, "s01")
    (tmp_path / "submitted").rename(tmp_path / "release")
    (tmp_path / "nbgrader_config.py").write_text("")
    assert main(["intake", str(tmp_path)]) == 2
    assert main(["intake", str(tmp_path / "none")]) == 2 and "is not a folder" in capsys.readouterr().err
