"""Records: what is written is read back, and what cannot be read is no record."""

import errno
import json
import os
from dataclasses import replace

import pytest

from advantagelab.checking import message
from autograder.os_errors import CannotWrite
from autograder.record import Marks, loads, read_record, write_whole
from tests.grading import LOSS, check, make_record, ungradable_record


def full_record():
    record = make_record("学号 “1”", {LOSS: 0.0}, repairs=(message(en="a", zh="甲"),), notes=(message(en="b", zh="乙"),))
    checked = replace(record.questions[0], checks=(check("check_x", "passed"), check("hidden_y")), note=message(en="late", zh="超时"))
    return replace(record, questions=(checked, *record.questions[1:]))


@pytest.mark.parametrize("record", [full_record(), ungradable_record()], ids=["graded", "ungradable"])
def test_a_record_is_read_back_as_it_was(record, tmp_path):
    file = tmp_path / "deep" / "record.json"
    write_whole(file, record.dumps())
    assert read_record(file) == record == loads(record.dumps())
    assert "学号" in make_record("学号").dumps()


def test_a_visible_check_is_told_by_its_name():
    assert check("check_a").visible and not check("hidden_a").visible


@pytest.mark.parametrize("text", ["", "{", "[]", "3", "{}", '{"student": "s1"}', "\x00", '{"questions": 5}'])
def test_what_is_no_record_of_this_version_is_none(text, tmp_path):
    file = tmp_path / "record.json"
    file.write_text(text)
    assert read_record(file) is None and read_record(tmp_path / "none.json") is None


def test_a_record_of_another_version_is_none(tmp_path):
    content = json.loads(make_record().dumps())
    (tmp_path / "more.json").write_text(json.dumps({**content, "new_field": 1}))
    (tmp_path / "cut.json").write_text(make_record().dumps()[:-40])
    (tmp_path / "bytes.json").write_bytes(b"\xff\xfe\xff")
    assert [read_record(tmp_path / name) for name in ("more.json", "cut.json", "bytes.json")] == [None] * 3


def test_half_a_sign_in_a_students_text_stops_nothing(tmp_path):
    """A notebook's JSON may hold one half of a surrogate pair; UTF-8 has no way to write it."""
    record = make_record(notes=(message(en="error: \ud83d", zh="错误：\udc00"),))
    write_whole(tmp_path / "record.json", record.dumps())
    assert read_record(tmp_path / "record.json").notes == (message(en="error: ?", zh="错误：?"),)


def test_writing_replaces_the_whole_file_and_leaves_nothing_beside_it(tmp_path):
    file = tmp_path / "page.html"
    write_whole(file, "long " * 1000)
    write_whole(file, b"short")
    assert file.read_bytes() == b"short" and list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize("marks, points", [
    (Marks(None), None), (Marks(0.0), 0.0), (Marks(3.0, 1.0), 1.0), (Marks(3.0, 0.0), 0.0), (Marks(None, 2.0, 1.0), 3.0),
    (Marks(None, None, 1.0), None), (Marks(2.0, None, 0.5), 2.5)])
def test_a_persons_points_count_before_ours(marks, points):
    assert marks.points == points


@pytest.mark.parametrize("number, said", [
    (errno.EROFS, "the file system is read-only | 无法写入 {}：文件系统只读"), (errno.ENOSPC, "the disk is full | 无法写入 {}：磁盘已满"),
    (errno.EIO, "Input/output error | 无法写入 {}：Input/output error")])
def test_what_cannot_be_written_says_so_and_leaves_what_was_there(tmp_path, monkeypatch, number, said):
    file = tmp_path / "page.html"
    write_whole(file, "before")

    def refuse(self, content):
        self.open("wb").close()
        raise OSError(number, os.strerror(number), str(self))

    monkeypatch.setattr("pathlib.Path.write_bytes", refuse)
    with pytest.raises(CannotWrite) as failed:
        write_whole(file, "after")
    assert str(failed.value) == f"cannot write {file}: {said.format(file)}"
    assert file.read_text() == "before" and list(tmp_path.iterdir()) == [file]
