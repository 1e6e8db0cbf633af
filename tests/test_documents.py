"""The documents beside the notebooks: what both languages share, messages as the course prints them, the citation."""

import re
import warnings
from pathlib import Path

import matplotlib
import pytest
import yaml
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

import advantagelab
from lessons._build.glossary import read_glossary
from lessons._build.prose import differences, faults
from tests.needs import ROOT

TROUBLES = (ROOT / "docs" / "troubleshooting.md", ROOT / "docs" / "troubleshooting.zh.md")


def text_of(file: Path) -> str:
    return file.read_text(encoding="utf-8")


def test_both_languages_of_troubleshooting_agree():
    english, chinese = map(text_of, TROUBLES)
    quoted = [re.findall(r"^> (.+)$", text, re.M) for text in (english, chinese)]
    assert len(quoted[0]) == len(quoted[1]) > 5
    english, chinese = (re.sub(r"^\[(中文|English)\].*|^> .*", "", text, flags=re.M) for text in (english, chinese))
    same = re.sub(r"\.zh\.md(#[^)]*)?|\.md#[^)]*", ".md", chinese)
    assert differences(re.sub(r"\.md#[^)]*", ".md", english), same) == []
    assert faults(english, "en") == [] and faults(chinese, "zh") == []
    assert read_glossary(ROOT / "lessons" / "glossary.md").differences(english, chinese) == []


@pytest.mark.parametrize("file", TROUBLES, ids=["en", "zh"])
def test_a_message_in_a_box_is_one_that_the_course_prints(file):
    folders = ("advantagelab", "autograder", "environments", "lessons/_build")
    program = "\n".join(text_of(source) for folder in folders for source in (ROOT / folder).rglob("*.py"))
    assert [line for line in re.findall(r"^> (.+)$", text_of(file), re.M) if line not in program] == []


@pytest.mark.parametrize("file", TROUBLES, ids=["en", "zh"])
def test_the_lines_for_a_plot_of_one_s_own_run(file):
    """Hanzi come out as such: matplotlib warns of each that no font has."""
    (source,) = re.findall(r"```python\n(.*?)```", text_of(file), re.S)
    try:
        with matplotlib.rc_context(), warnings.catch_warnings(record=True) as warned:
            exec(source, {})
            figure = Figure()
            figure.text(0.1, 0.5, "奖励与优势")
            FigureCanvasAgg(figure).draw()
    finally:
        advantagelab.set_language("en")
    assert [str(warning.message) for warning in warned] == []


@pytest.mark.parametrize("file", [ROOT / "README.zh.md", ROOT / "docs" / "grading.zh.md"], ids=lambda file: file.name)
def test_chinese_documents_have_full_width_punctuation(file):
    assert faults(text_of(file), "zh") == []


def test_the_citation_is_valid_and_of_this_version():
    """What version 1.2.0 of the Citation File Format asks for, as far as we use it."""
    citation = yaml.safe_load(text_of(ROOT / "CITATION.cff"))
    assert set(citation) == {"cff-version", "message", "type", "title", "abstract", "authors", "version", "license", "keywords"}
    assert citation["cff-version"] == "1.2.0" and citation["type"] == "software" and citation["license"] == "Apache-2.0"
    assert citation["authors"] == [{"name": "Advantage Lab contributors"}]
    assert all(isinstance(citation[field], str) and citation[field] for field in ("message", "title", "abstract", "version"))
    assert len(set(citation["keywords"])) == len(citation["keywords"]) > 0
    assert citation["version"] == advantagelab.__version__


def test_the_changelog_knows_this_version():
    versions = re.findall(r"^## (?:Next: )?(\d+\.\d+\.\d+)$", text_of(ROOT / "CHANGELOG.md"), re.M)
    assert advantagelab.__version__ in versions
    assert versions == sorted(versions, key=lambda version: [int(part) for part in version.split(".")], reverse=True)
