"""An instructor's course as a folder: who handed in, what lies astray, and where the gradebook is."""

import os

import pytest

from autograder.course import CourseError
from autograder.course_folder import open_course
from autograder.submitted import read_handed_in
from tests.grading import RLOO, make_course, rloo
from tests.needs import ROOT


def hand_in(course, student: str, assignment: str = RLOO):
    folder = course.root / "submitted" / student / assignment
    folder.mkdir(parents=True)
    (folder / f"{assignment}.ipynb").write_text("{}")
    return folder


def test_students_by_name_with_any_id_that_a_database_can_hold(tmp_path):
    course = make_course(tmp_path)
    ids = ["=1+1", "-rf", "0012", "学号 甲", "a" * 128, "o'brien", "..x", "名" * 80, "{student_id}", "*", "[x]"]
    for student in ids:
        hand_in(course, student)
    found = dict(course.submitted.of(RLOO))
    assert sorted(found) == sorted(set(ids) - {"..x"})  # a name with a dot before it is hidden
    assert all((found[student] / f"{RLOO}.ipynb").is_file() for student in found) and not course.submitted.astray()


def test_what_is_nobodys_assignment_is_said(tmp_path):
    course = make_course(tmp_path)
    good = hand_in(course, "good")
    hand_in(course, "wrong-name", "rloo")
    hand_in(course, "<script>alert(1)</script>".replace("/", "∕"))
    hand_in(course, "x" * 129)
    hand_in(course, " w8 ")
    hand_in(course, os.fsdecode(b"\xc4\xe3\xba\xc3"))  # GBK, as an archive from Windows leaves it
    (course.root / "submitted" / "flat.ipynb").write_text("{}")
    (course.root / "submitted" / "good" / "beside.ipynb").write_text("{}")
    (course.root / "submitted" / "good" / "timestamp.txt").write_text("")
    (course.root / "submitted" / "link").symlink_to("/etc")
    (course.root / "submitted" / "inner").mkdir()
    (course.root / "submitted" / "inner" / RLOO).symlink_to(good)
    assert [student for student, _ in course.submitted.of(RLOO)] == ["good"]
    said = [str(message) for message in course.submitted.astray()]
    assert len(said) == 9 and all("not graded" in line and "未评阅" in line for line in said)
    for part in ("wrong-name/rloo", "flat.ipynb", "good/beside.ipynb", "link: a link", f"inner/{RLOO}: a link", "no student id",
                 "begins or ends with a space; rename the folder | 未评阅， w8 ：首尾有空格；请给文件夹改名",
                 "not graded, 你好: the folder's name is not UTF-8"):
        assert any(part in line for line in said), part
    assert all(line.isprintable() for line in said)


def test_misplaced_work_is_told_apart_by_what_it_is(tmp_path):
    """Whatever the folder is called, it says where the notebook belongs, and whose it is."""
    course, notebooks = make_course(tmp_path), ROOT / "notebooks" / "en"
    submitted = course.root / "submitted"
    for name, lesson in (("frank/rloo/my answers.ipynb", RLOO), ("loose.ipynb", RLOO), ("gina/deep/er/a.ipynb", RLOO),
                         (f"{RLOO}/hugo/a.ipynb", RLOO), ("ida/a.ipynb", "04_grpo"), ("__MACOSX/x/a.ipynb", RLOO),
                         ("empty/timestamp.txt", None)):
        (submitted / name).parent.mkdir(parents=True, exist_ok=True)
        (submitted / name).write_bytes((notebooks / f"{lesson}.ipynb").read_bytes() if lesson else b"")
    (submitted / "class.zip").write_bytes(b"PK")
    found = {work.name: work for work in course.submitted.astray()}
    assert {name: (work.student, work.assignment) for name, work in found.items()} == {
        "frank/rloo": ("frank", RLOO), "gina/deep": ("gina", RLOO), "loose.ipynb": (None, RLOO), "ida/a.ipynb": ("ida", "04_grpo"),
        RLOO: (None, RLOO), "class.zip": (None, None)}
    assert str(found["frank/rloo"]) == (f"not graded, frank/rloo: a notebook of {RLOO}: it belongs in frank/{RLOO}/ | "
                                        f"未评阅，frank/rloo：是 {RLOO} 的 notebook：应放在 frank/{RLOO}/")
    assert f"STUDENT/{RLOO}/" in found["loose.ipynb"].why.en and "the other way round" in found[RLOO].why.en
    assert "no assignment of this course" in found["ida/a.ipynb"].why.en
    assert course.submitted.students() == ["empty", "frank", "gina", "ida"] and list(course.submitted.of(RLOO)) == []
    assert found.keys() - {work.name for work in course.submitted.astray(RLOO)} == {"ida/a.ipynb"}
    assert {work.name for work in course.submitted.astray("04_grpo")} == {"ida/a.ipynb", "class.zip"}


def test_a_folder_without_a_file_is_nothing_handed_in(tmp_path):
    course = make_course(tmp_path)
    for name in ("a", "b/in it", "c/.hidden"):
        (course.root / "submitted" / name.replace("/", f"/{RLOO}/")).mkdir(parents=True)
    (course.root / "submitted" / "a" / RLOO).mkdir()
    (course.root / "submitted" / "a" / RLOO / "timestamp.txt").write_text("2026-03-01T18:00:00+08:00")
    hand_in(course, "d")
    assert [student for student, _ in course.submitted.of(RLOO)] == ["d"] and course.submitted.empty(RLOO) == ["a", "b", "c"]
    assert course.submitted.astray() == []


def test_what_lies_too_deep_is_handed_in_and_said_not_passed_over(tmp_path):
    course = make_course(tmp_path)
    deep = course.root / "submitted" / "a" / RLOO / "1" / "2" / "3" / "4" / "5"
    deep.mkdir(parents=True)
    (deep / f"{RLOO}.ipynb").write_bytes(b"{}")
    ((student, folder),) = course.submitted.of(RLOO)
    refused = read_handed_in(student, folder, rloo()).refused
    assert course.submitted.empty(RLOO) == [] and "more than 4 deep" in refused.en and "嵌套超过 4 层" in refused.zh
    hand_in(course, "b")
    (course.root / "submitted" / "b" / RLOO / "1" / "2" / "3" / "4" / "5" / "6").mkdir(parents=True)
    assert read_handed_in("b", course.root / "submitted" / "b" / RLOO, rloo()).refused is None


def test_without_submissions_there_is_nothing(tmp_path):
    course = make_course(tmp_path)
    assert list(course.submitted.of(RLOO)) == [] and course.submitted.astray() == []


def test_a_seed_is_drawn_once(tmp_path):
    course = make_course(tmp_path / "a")
    assert course.seed() == open_course(tmp_path / "a").seed() != make_course(tmp_path / "b").seed()
    (tmp_path / "a" / "grading" / "seed").write_text("twelve")
    with pytest.raises(CourseError, match="one whole number"):
        course.seed()


@pytest.mark.parametrize("config, url", [
    ("", "sqlite:///{root}/gradebook.db"), ('c.CourseDirectory.db_url = "sqlite:///marks.db"', "sqlite:///{root}/marks.db"),
    ('c.CourseDirectory.db_url = "sqlite:////var/marks.db"', "sqlite:////var/marks.db"),
    ('c.CourseDirectory.db_url = "postgresql://localhost/marks"', "postgresql://localhost/marks")])
def test_the_gradebook_is_where_nbgrader_has_it(tmp_path, monkeypatch, config, url):
    (tmp_path / "nbgrader_config.py").write_text(f"c = get_config()\n{config}")
    monkeypatch.chdir("/")
    assert open_course(tmp_path).db_url == url.format(root=tmp_path)


def test_folders_are_called_as_the_configuration_calls_them(tmp_path):
    course = make_course(tmp_path, 'c.CourseDirectory.submitted_directory = "abgegeben"')
    assert course.folder("submitted", "s1", RLOO) == tmp_path / "abgegeben" / "s1" / RLOO
    other = make_course(tmp_path / "other", 'c.CourseDirectory.directory_structure = "{nbgrader_step}/{assignment_id}/{student_id}"')
    with pytest.raises(CourseError, match="directory_structure"):
        list(other.submitted)


@pytest.mark.parametrize("config, said", [(None, "has no nbgrader_config.py"), ("1 +", "SyntaxError"), ("import nowhere", "nowhere")])
def test_what_is_no_course_is_refused_with_a_word(tmp_path, config, said):
    if config:
        (tmp_path / "nbgrader_config.py").write_text(config)
    before = os.getcwd()
    with pytest.raises(CourseError, match=said):
        open_course(tmp_path)
    assert os.getcwd() == before
