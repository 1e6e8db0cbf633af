"""The instructor's guide: both languages say the same commands, each of them exists, and its example of a private check works."""

import re
import shlex
import subprocess

import pytest

from advantagelab.checking import run_all_checks
from autograder.__main__ import _parser
from autograder.commands import checks_source
from autograder.course import run_nbgrader
from autograder.export import STATUS, table
from lessons._build.course import read_course
from lessons._build.lesson import read_lesson
from tests.bench.__main__ import NAMES
from tests.grading import RLOO, make_course
from tests.needs import ROOT

GUIDES = [ROOT / "docs" / "grading.md", ROOT / "docs" / "grading.zh.md"]


def commands(guide) -> list[str]:
    """Of our own program: in blocks and in lines of text."""
    text = guide.read_text(encoding="utf-8")
    return [re.sub(r"\s+#.*|`.*", "", line).strip() for line in re.findall(r"python -m autograder ([^\n]*)", text)]


def test_both_say_the_same_commands():
    english, chinese = ([command.replace("--language zh", "--language en") for command in commands(guide)] for guide in GUIDES)
    assert english == chinese and len(english) > 10


@pytest.mark.parametrize("guide", GUIDES, ids=["en", "zh"])
def test_every_command_exists(guide):
    found = set()
    for command in commands(guide):
        found.add(_parser().parse_args(shlex.split(command)).command)
    assert found == {"doctor", "init", "demo", "intake", "grade", "feedback", "export", "try"}


@pytest.mark.parametrize("guide", GUIDES, ids=["en", "zh"])
def test_every_link_leads_somewhere_and_both_have_the_same_parts(guide):
    text = guide.read_text(encoding="utf-8")
    links = [link for link in re.findall(r"\]\(([^)#]+)\)", text) if not link.startswith("https://")]
    assert links and [link for link in links if not (guide.parent / link).exists()] == []
    shapes = [re.findall(r"^(#+|```\w*|\|)", each.read_text(encoding="utf-8"), re.M) for each in GUIDES]
    assert shapes[0] == shapes[1]


@pytest.mark.parametrize("guide", GUIDES, ids=["en", "zh"])
def test_the_example_of_a_private_check_tells_right_from_wrong(guide, tmp_path, capsys):
    (source,) = [block for block in re.findall(r"```python\n(.*?)```", guide.read_text(encoding="utf-8"), re.S) if "def hidden_" in block]
    (tmp_path / "mine.py").write_text(source, encoding="utf-8")
    namespace = {}
    exec(checks_source(tmp_path / "mine.py"), namespace)
    exec(read_lesson(read_course(), "rloo").algorithm.text, namespace)
    for answer, done in ((namespace["leave_one_out_advantages"], "1 of 1"), (lambda rewards, group_ids: rewards, "0 of 1")):
        run_all_checks({**namespace, "leave_one_out_advantages": answer}, "leave_one_out_advantages")
        assert f"{done} TODOs done" in capsys.readouterr().out


@pytest.mark.parametrize("guide", GUIDES, ids=["en", "zh"])
def test_the_loop_that_sorts_loose_files_writes_over_none(guide, tmp_path):
    (loop,) = [block for block in re.findall(r"```bash\n(.*?)```", guide.read_text(encoding="utf-8"), re.S) if "cp -n" in block]
    checkout, submitted = tmp_path / "checkout", tmp_path / "my-course" / "submitted"
    (checkout / "downloads").mkdir(parents=True)
    subprocess.run(["bash", "-c", loop], cwd=checkout, stderr=subprocess.DEVNULL)
    assert not submitted.exists()  # no files, no folders
    for name in ("2026001_attempt_1.ipynb", "2026001_attempt_2.ipynb", "张三.ipynb", "-rf_my answers.ipynb", "list.csv"):
        (checkout / "downloads" / name).write_text(name)
    kept = submitted / "张三" / "03_rloo" / "张三.ipynb"
    kept.parent.mkdir(parents=True)
    kept.write_text("was there before")
    subprocess.run(["bash", "-c", loop], cwd=checkout)
    found = {str(file.relative_to(submitted)): file.read_text() for file in submitted.rglob("*.ipynb")}
    assert found == {"张三/03_rloo/张三.ipynb": "was there before", "-rf/03_rloo/-rf_my answers.ipynb": "-rf_my answers.ipynb",
                     **{f"2026001/03_rloo/2026001_attempt_{number}.ipynb": f"2026001_attempt_{number}.ipynb" for number in (1, 2)}}


@pytest.mark.parametrize("guide", GUIDES, ids=["en", "zh"])
def test_a_list_of_names_gives_everyone_a_row_with_a_name(guide, tmp_path):
    text = guide.read_text(encoding="utf-8")
    (command, columns), = re.findall(r"`nbgrader (db student import students\.csv)`[^(（]*[(（](.*?)[)）]", text)
    course = make_course(tmp_path)
    (tmp_path / "students.csv").write_text(f"{','.join(re.findall('`(.+?)`', columns))}\n0012,王,小明,a@example.org\n", encoding="utf-8")
    (tmp_path / "submitted" / "0013" / RLOO).mkdir(parents=True)
    run_nbgrader(tmp_path, *command.split())
    assert [row[:5] for row in table(course, RLOO)[1:]] == [
        ["0012", "王", "小明", "a@example.org", STATUS["absent"]], ["0013", "", "", "", STATUS["absent"]]]


@pytest.mark.parametrize("guide", GUIDES, ids=["en", "zh"])
def test_figures_say_how_to_measure_them_and_nbgrader_s_own_settings_are_named(guide):
    text = guide.read_text(encoding="utf-8")
    assert "make bench ONLY=grading" in text and "grading" in NAMES
    assert "c.CourseDirectory.db_url" in text and "--executor dask=tcp://" in text and "c.LateSubmissionPlugin" in text


def test_what_a_table_row_says_is_what_an_export_says():
    for guide, column in zip(GUIDES, (0, 1), strict=True):
        text = guide.read_text(encoding="utf-8")
        assert all(f"| {status.split(' | ')[column]}" in text for status in STATUS.values()) and "`seed_fingerprint`" in text
