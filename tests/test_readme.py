"""The READMEs: every lesson is listed, and both say the same commands."""

import re

import pytest

from lessons._build.course import read_course
from tests.needs import ROOT


@pytest.mark.parametrize("name", ["README.md", "README.zh.md"])
def test_every_lesson_is_listed(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)#]+)\)", text)
    for entry in read_course().lessons:
        for folder in ("notebooks/en", "notebooks/zh", "solutions/en", "solutions/zh"):
            file = f"{folder}/{entry.notebook}.ipynb"
            assert file in links, f"{name} has no row for lesson {entry.number}, {entry.name}: it does not link to {file}"
    for entry in read_course().extras:
        for file in (f"notebooks/en/{entry.notebook}.ipynb", f"notebooks/zh/{entry.notebook}.ipynb"):
            assert file in links, f"{name} does not link to {file}"


def test_both_say_the_same_commands():
    commands = [re.findall(r"^\.venv/bin/python .*?(?=\s+#|$)|^make \w[\w-]*", (ROOT / name).read_text(encoding="utf-8"), re.M)
                for name in ("README.md", "README.zh.md")]
    english, chinese = [[command.replace("--language zh", "--language en") for command in found] for found in commands]
    assert english == chinese and len(english) > 8
