"""Every link of notebooks and documents: target, anchor, language, and the course's address, which stands in course.toml alone."""

import json
import re
import subprocess
from collections import Counter
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

import pytest
from markdown_it import MarkdownIt

from lessons._build import notebook as notebooks
from lessons._build.course import LANGUAGES, Course, read_course
from lessons._build.lesson import read_extra, read_lesson
from tests.needs import ROOT

DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "lessons").glob("*.md")])
NOTEBOOKS = sorted([*(ROOT / "notebooks").rglob("*.ipynb"), *(ROOT / "solutions").rglob("*.ipynb")])
EVERY = pytest.mark.parametrize("file", [*DOCUMENTS, *NOTEBOOKS], ids=lambda file: str(file.relative_to(ROOT)))
HTML_LINK = re.compile(r'(?:href|src)="([^"]*)"')
OWN_WORD = {"en": "English", "zh": "中文"}  # a link with this text leads to that language, from wherever it is


class Link(NamedTuple):
    words: str
    target: str


class Text(NamedTuple):
    links: list[Link]
    headings: list[str]


def read(markdown: str) -> Text:
    """What a page shows: code is no link, and a badge is two, its picture and where it leads."""
    links, headings = [], []
    tokens = MarkdownIt("commonmark").enable("table").parse(markdown)
    for opening, token in zip([None, *tokens], tokens):
        if token.type == "html_block":
            links += [Link("", target) for target in HTML_LINK.findall(token.content)]
        if token.type != "inline":
            continue
        if opening.type == "heading_open":
            headings.append("".join(child.content for child in token.children if child.type in ("text", "code_inline")))
        opened = []  # links may hold pictures, not links
        for child in token.children:
            if child.type == "link_open":
                opened.append([child.attrs["href"], ""])
            elif child.type == "link_close":
                target, words = opened.pop()
                links.append(Link(words, target))
            elif child.type == "image":
                links.append(Link(child.content, child.attrs["src"]))
            elif child.type == "html_inline":
                links += [Link("", target) for target in HTML_LINK.findall(child.content)]
            elif opened:
                opened[-1][1] += child.content
    return Text(links, headings)


@cache
def text_of(file: Path) -> Text:
    text = file.read_text(encoding="utf-8")
    if file.suffix == ".ipynb":
        text = "\n\n".join("".join(cell["source"]) for cell in json.loads(text)["cells"] if cell["cell_type"] == "markdown")
    return read(text)


@cache
def anchors(file: Path) -> set[str]:
    """Of a document as GitHub makes them, of a notebook as Jupyter does."""
    headings = text_of(file).headings
    if file.suffix == ".ipynb":
        return {heading.replace(" ", "-") for heading in headings}
    found, seen = set(), Counter()
    for heading in headings:
        slug = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        found.add(f"{slug}-{seen[slug]}" if seen[slug] else slug)
        seen[slug] += 1
    return found


def language_of(file: Path) -> str:
    return "zh" if "zh" in file.relative_to(ROOT).parts or ".zh" in file.suffixes else "en"


def local_faults(file: Path) -> list[str]:
    found = []
    for words, target in text_of(file).links:
        if urlsplit(target).scheme:
            continue
        path, _, anchor = unquote(target).partition("#")
        there = (file.parent / path).resolve() if path else file
        if not there.exists():
            found.append(f"{target}: nothing is there")
        elif anchor and (there.suffix not in (".md", ".ipynb") or anchor not in anchors(there)):
            found.append(f"{target}: there is no such heading")
        elif there.is_relative_to(ROOT) and there.suffix in (".md", ".ipynb", ".png"):
            found += language_fault(file, words, target, there)
    return found


def language_fault(file: Path, words: str, target: str, there: Path) -> list[str]:
    """A reader stays in their language, except by a link that names the other one, or where there is no other."""
    wanted = {name: language for language, name in OWN_WORD.items()}.get(words, language_of(file))
    other = {"en": there.with_name(there.name.replace(".zh.", ".")), "zh": there.with_name(f"{there.stem}.zh{there.suffix}")}
    in_folder = set(there.relative_to(ROOT).parts) & set(LANGUAGES)
    if language_of(there) != wanted and (in_folder or other[wanted].exists()):
        return [f"{target}: leads out of {OWN_WORD[wanted]}"]
    return []


def outside_faults(file: Path) -> list[str]:
    """Only what can be seen without a network."""
    found = []
    for _, target in text_of(file).links:
        parts = urlsplit(target)
        if parts.scheme and (parts.scheme != "https" or not re.fullmatch(r"([a-z0-9-]+\.)+[a-z]{2,}", parts.netloc)
                             or re.search(r"[\s<>\"{}|\\^`]|OWNER|REPO|BRANCH|example\.", target)):
            found.append(target)
    return found


@EVERY
def test_every_link_leads_somewhere_in_the_reader_s_language(file):
    assert local_faults(file) + outside_faults(file) == []


def test_the_faults_are_seen(tmp_path, monkeypatch):
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    (tmp_path / "a.zh.md").write_text("# 一个 标题\n\n## 再一个：`x`\n", encoding="utf-8")
    (tmp_path / "a.md").write_text(
        "# A heading\n\n# A heading\n\n`[no](link)`\n\n[a](a.md#a-heading-1) [b](gone.md) [c](#a-headin) [d](a.zh.md)\n\n"
        "[中文](a.zh.md#再一个x)\n\n[![badge](http://x.org/b.svg)](https://colab.org/OWNER/x)\n\n<img src=\"gone.png\" alt=\"\">\n",
        encoding="utf-8")
    faults = local_faults(tmp_path / "a.md")
    assert [fault.partition(":")[0] for fault in faults] == ["gone.md", "#a-headin", "a.zh.md", "gone.png"] and "English" in faults[2]
    assert outside_faults(tmp_path / "a.md") == ["http://x.org/b.svg", "https://colab.org/OWNER/x"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_notebook_leads_to_the_solved_one_of_its_language(language):
    for entry in read_course().lessons:
        links = [unquote(target) for _, target in text_of(ROOT / "notebooks" / language / f"{entry.notebook}.ipynb").links]
        assert any(target.endswith(f"solutions/{language}/{entry.notebook}.ipynb") for target in links), entry.name


# The address


@pytest.fixture
def published(tmp_path) -> Course:
    """The course as it is, from a course.toml that somebody filled in."""
    file = tmp_path / "course.toml"
    words = (ROOT / "lessons" / "course.toml").read_text(encoding="utf-8")
    for field, value in (("owner", "some-owner"), ("repository", "some.repository"), ("branch", "release-1")):
        words, count = re.subn(rf'^{field} = "[^"]*"$', f'{field} = "{value}"', words, flags=re.M)
        assert count == 1, field
    file.write_text(words, encoding="utf-8")
    return replace(read_course(tmp_path), lessons_folder=read_course().lessons_folder)


def test_badges_of_a_filled_in_course_lead_to_the_notebook_itself(published, monkeypatch):
    monkeypatch.setattr(notebooks, "_setup", lambda *_: notebooks.nbformat.v4.new_code_cell("", id="setup"))  # packs 100 KB, shows no link
    base = "some-owner/some.repository/blob/release-1"
    for entry in (*published.lessons, *published.extras):
        lesson = read_lesson(published, entry.name) if entry in published.lessons else read_extra(published, entry)
        for language in LANGUAGES:
            for kind, folder in (("learner", "notebooks"), ("solution", "solutions")):
                path = f"{folder}/{language}/{entry.notebook}.ipynb"
                if not (ROOT / path).exists():
                    continue  # extras have no solved one
                built = notebooks.build_notebook(lesson, language, kind)
                header = read(built.cells[0].source).links
                assert [target for _, target in header if "badge" not in target and "shields.io" not in target] == [
                    f"https://colab.research.google.com/github/{base}/{path}",
                    f"https://modelscope.cn/notebook/share/github/{base}/{path}"]
                prose = "\n\n".join(cell.source for cell in built.cells[1:] if cell.cell_type == "markdown")
                inside = [target for _, target in read(prose).links if "some-owner" in target]
                assert set(inside) <= {f"https://github.com/{base}/solutions/{language}/{entry.notebook}.ipynb"}
                assert bool(inside) == ("{{solution}}" in "".join(cell.source for cell in lesson.cells if cell.only in (None, kind)))


def test_the_address_stands_in_course_toml_alone():
    """Nowhere is a badge's or a file's address written out: while the course has none it would lead nowhere, later it could go stale."""
    course = read_course()
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    written = r"(?:colab\.research\.google\.com|modelscope\.cn/notebook/share)/github/(?!\{)\S*"
    if course.owner:
        written += f"|{re.escape(course.owner)}/{re.escape(course.repository)}"
    kinds = (".md", ".py", ".toml", ".txt", ".cff", ".json", ".yml", "Makefile", "Dockerfile")
    found = []
    for path in tracked:
        if path.endswith(kinds) and not path.startswith("tests/"):
            found += [f"{path}: {match[0]}" for match in re.finditer(written, (ROOT / path).read_text(encoding="utf-8"))]
    assert found == []
