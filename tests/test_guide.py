"""The instructor's guide: both languages say the same commands, each of them exists, and its example of a private check works."""

import re
import shlex

import pytest

from advantagelab.checking import run_all_checks
from autograder.__main__ import _parser
from autograder.commands import checks_source
from autograder.export import STATUS
from lessons._build.course import read_course
from lessons._build.lesson import read_lesson
from tests.bench.__main__ import NAMES
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
def test_figures_say_how_to_measure_them_and_nbgrader_s_own_settings_are_named(guide):
    text = guide.read_text(encoding="utf-8")
    assert "make bench ONLY=grading" in text and "grading" in NAMES
    assert "c.CourseDirectory.db_url" in text and "--executor dask=tcp://" in text and "c.LateSubmissionPlugin" in text


def test_what_a_table_row_says_is_what_an_export_says():
    for guide, column in zip(GUIDES, (0, 1), strict=True):
        text = guide.read_text(encoding="utf-8")
        assert all(f"| {status.split(' | ')[column]}" in text for status in STATUS.values()) and "`seed_fingerprint`" in text
