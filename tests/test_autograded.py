"""The notebook for formgrader, rendered as formgrader does: what a student wrote is there to read, and nothing of it is alive."""

import base64
import functools
import html
from html.parser import HTMLParser

import nbformat
import pytest
from nbconvert.exporters import HTMLExporter
from nbconvert.filters.markdown_mistune import InvalidNotebook
from nbconvert.filters.markdown_mistune import markdown2html_mistune as markdown2html
from nbformat.v4 import new_code_cell, new_markdown_cell, new_raw_cell
from nbgrader.server_extensions.formgrader.handlers import template_path

from advantagelab.checking import Verdict, message
from autograder.autograded import dumps, graded_notebook, inert, ungradable_notebook
from autograder.judge import CellOutcome, Judgement, QuestionResult
from lessons._build.notebook import build_notebook
from tests.grading import BROKEN, LOSS, POINTS, WRITTEN, rloo

MARK = "stolen()"  # what an attack would run
PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n picture").decode()
MARKDOWN = [
    f"<script>{MARK}</script>", f"<img src=x onerror={MARK}>", f"<svg/onload={MARK}>", f"<a href='javascript:{MARK}'>x</a>",
    f"<iframe srcdoc='<script>{MARK}</script>'></iframe>", f"<details open ontoggle={MARK}>", f"<style>@import 'http://x/{MARK}'</style>",
    f"<!-- --><script>{MARK}</script>", f"<<script>script>{MARK}<</script>/script>", f"<form action=javascript:{MARK}><button>x</form>",
    f"<math href=javascript:{MARK}>x</math>", f"<base href='//x/{MARK}'>", f"<meta http-equiv=refresh content='0;javascript:{MARK}'>",
    f"[x](javascript:{MARK})", f"[x](JaVaScRiPt:{MARK})", f"[x](java\tscript:{MARK})", f"[x](<javascript:{MARK}>)",
    f"[x](javascript\\:{MARK})",
    f"[x](&#106;avascript:{MARK})", f"[x](javascript&colon;{MARK})", f"[x](%6Aavascript:{MARK})", f"[x][y]\n\n[y]: javascript:{MARK}",
    f"[x]\n\n[x]: javascript:{MARK}", f"[x][]\n\n[x]:javascript:{MARK}", f"![x](javascript:{MARK})", f"![x](http://x/{MARK}.png)",
    f"[![x](y)](javascript:{MARK})", f"<javascript:{MARK}>", f"[x](data:text/html;base64,{MARK})", f"[x](vbscript:{MARK})",
    f"| a |\n|---|\n| [x](javascript:{MARK}) |", f"- [ ](javascript:{MARK})", f"# [x](javascript:{MARK})", f"\\[x](javascript:{MARK})",
    f"`[x`](javascript:{MARK})", f"$[x$](javascript:{MARK})", f"$$<script>{MARK}</script>$$",
    f"\\begin{{a}}<script>{MARK}</script>\\end{{a}}",
    f"\\\\[<script>{MARK}</script>\\\\]", f"```mermaid\n</pre><script>{MARK}</script>\n```",
    f"~~~ mermaid\nclick A \"javascript:{MARK}\"\n~~~",
    f"> ```\tmermaid\n> <img src=x onerror={MARK}>\n> ```", f"```x\" onclick={MARK}\n{MARK}\n```", f"```html\n<script>{MARK}</script>\n```",
    f"    <script>{MARK}</script>", f"`<script>{MARK}</script>`", f"[x](y \"' onmouseover={MARK}\")",
    f"&lt;script&gt;{MARK}&lt;/script&gt;",
    f"&#60;script&#62;{MARK}&#60;/script&#62;", f"a\u2028<script>{MARK}</script>", f"<\nscript>{MARK}</script>",
    f"<scr\0ipt>{MARK}</script>",
    f"![x](attachment:missing.png){MARK}", f"![{MARK}](attachment:a.png\" onerror=\"{MARK})", f"![x](attachment\\:a.png){MARK}",
    f"[x](attachment:a.png) {MARK}", f"![x][a]\n\n[a]: attachment:missing {MARK}", f"$\\href{{javascript:{MARK}}}{{x}}$",
    f"https://x.y/{MARK}", f"http://x.y/{MARK} and more", f"a:https://x.y/?{MARK}", f"**https://x.y/{MARK}**", f"<https://x.y/{MARK}>",
]
# Formulas and what makes them do more than show something.
COMMANDS = ["href", "url", "style", "class", "cssId", "data", "require", "unicode", "bbox", "mmlToken"]
ATTACHMENTS = [
    {"text/html": base64.b64encode(f"<script>{MARK}</script>".encode()).decode()}, {"image/svg+xml": f"<svg onload={MARK}>"},
    {f'image/png" onerror="{MARK}': PNG}, {"image/png": f'" onerror="{MARK}'}, {"image/png": [PNG]},
    {"image/png": {"a": 1}}, {}, PNG, None, 3,
]


NOTHING = Judgement((), (), "bubblewrap")


class Page(HTMLParser):
    """Tags and attributes, as a browser takes them apart."""

    def __init__(self, text: str):
        super().__init__()
        self.tags, self.text = [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_data(self, data):
        self.text.append(data)

    def alive(self) -> list:
        """Tags that run, load or lead somewhere else than to a plain web address."""
        return [(tag, attributes) for tag, attributes in self.tags
                if tag in {"script", "iframe", "object", "embed", "style", "link", "meta", "base", "form", "svg", "math", "video", "audio"}
                or any(name.startswith("on") for name in attributes)
                or not (attributes.get("href") or "#").startswith("#")
                or not (attributes.get("src") or "data:image/png;base64,").startswith("data:image/png;base64,")
                or "mermaid" in (attributes.get("class") or "").lower().split()]


def render(notebook: nbformat.NotebookNode) -> str:
    """As formgrader's SubmissionHandler does, from the saved file."""
    resources = {"assignment_id": "a", "notebook_id": "n", "submission_id": "s", "index": 0, "total": 1, "base_url": "", "student": "s1",
                 "last_name": None, "first_name": None, "notebook_path": "p"}
    body, _ = _exporter().from_notebook_node(nbformat.reads(dumps(notebook), 4), resources=resources)
    return body[body.index("<body"):]


@functools.cache
def _exporter() -> HTMLExporter:
    return HTMLExporter(template_name="formgrade", extra_template_basedirs=[template_path])


@functools.cache
def own_scripts() -> list:
    """What the template itself puts there, also around an empty notebook."""
    return Page(render(nbformat.v4.new_notebook())).alive()


@functools.cache
def released() -> nbformat.NotebookNode:
    return build_notebook(rloo(), "en", "learner")


def graded(*cells, judgement=NOTHING) -> nbformat.NotebookNode:
    notebook = nbformat.v4.new_notebook(metadata=released().metadata, cells=[*released().cells, *cells])
    return graded_notebook(notebook, judgement, {cell.id: cell.source for cell in released().cells})


@functools.cache
def plain_page() -> Page:
    return Page(render(graded()))


@pytest.mark.parametrize("make_cell", [new_markdown_cell, new_raw_cell])
def test_nothing_in_a_students_prose_is_alive(make_cell):
    cells = [make_cell(text, id=f"note-{number}") for number, text in enumerate(MARKDOWN)]
    page = Page(render(graded_notebook(nbformat.v4.new_notebook(cells=cells), NOTHING, {})))
    assert page.alive() == own_scripts()
    assert "".join(page.text).count(MARK) >= len(MARKDOWN)


@pytest.mark.parametrize("text", MARKDOWN)
def test_each_is_still_there_to_read(text):
    page = Page(markdown2html(inert(text, {})))
    assert page.alive() == [] and MARK in html.unescape("".join(page.text))


def test_the_attacks_would_work_without_us():
    """So that the tests above can fail: as they are, most of them are alive, and some stop formgrader."""
    def works(text):
        try:
            return Page(markdown2html(text)).alive() != []
        except InvalidNotebook:
            return True

    assert sum(map(works, MARKDOWN)) > 35


@pytest.mark.parametrize("attachment", ATTACHMENTS, ids=str)
def test_an_attachment_is_a_picture_or_nothing(attachment):
    cell = nbformat.from_dict({"id": "note-1", "cell_type": "markdown", "metadata": {}, "source": "![look](attachment:a.png)",
                               "attachments": {"a.png": attachment}})
    submitted = nbformat.from_dict({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [cell]})
    page = render(graded_notebook(submitted, NOTHING, {}))
    assert Page(page).alive() == own_scripts() and MARK not in page and "look" in page


def test_a_students_picture_is_shown():
    cell = new_markdown_cell("My derivation: ![look](attachment:a.png) and [a link](http://x/y)", id="note-1")
    cell.attachments = {"a.png": {"image/png": PNG}, "b.svg": {"image/svg+xml": "<svg/>"}}
    made = graded(cell)
    assert made.cells[-1].attachments == {"a.png": {"image/png": PNG}}
    images = [attributes for tag, attributes in Page(render(made)).tags if tag == "img" and attributes.get("alt") == "look"]
    assert [image["src"] for image in images] == [f"data:image/png;base64,{PNG}"]


@pytest.mark.parametrize("name", ['a.png" onerror="x', "a b.png", "<a>.png", "../a.png", "a.png\n", ""])
def test_the_name_of_a_picture_is_a_plain_one(name):
    cell = new_markdown_cell(f"![x](attachment:{name}) and more", id="note-1")
    cell.attachments = {name: {"image/png": PNG}, "图-1.png": {"image/png": PNG}}
    assert list(graded(cell).cells[-1].attachments) == ["图-1.png"]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_in_a_formula_that_does_more_than_show_something_is_none(command):
    for text in (f"$\\{command}{{a}}{{b}}$", f"\\\\(\\\\{command} {{a}}{{b}}\\\\)", f"$\\let\\x=\\{command}$", f"$$\n\\{command}\n{{a}}$$"):
        shown = html.unescape("".join(Page(markdown2html(inert(text, {}))).text))
        assert f"\\{command}" not in shown and f"\\ {command}" in shown
    assert inert(f"$\\{command}x + {command}$", {}) == f"$\\{command}x + {command}$"


def test_mathjax_is_formgraders_safe_one():
    """It takes the force from what might still be in formulas."""
    body, _ = _exporter().from_notebook_node(nbformat.v4.new_notebook(), resources={"base_url": "", "index": 0, "total": 1})
    assert ",Safe" in body and "MathJax" in body


@pytest.mark.parametrize("text", ["$a < b$ and $x_{[t]}$",
                                  "# A heading\n\n- one\n- two\n\n> quoted", "**bold** `code` 1 < 2 & 3 > 2",
                                  "优势为 +1、0、-1。",
                                  "| a | b |\n|---|---|\n| 1 | 2 |"])
def test_ordinary_prose_stays_as_it_is(text):
    assert inert(text, {}) == text


@pytest.mark.parametrize("text, shown", [("$a<b$", "$a< b$"), (r"$\begin{matrix} a&b \end{matrix}$", r"$\begin{matrix} a& b \end{matrix}$"),
                                         ("[paper](https://x.y)", "[paper] (https:// x.y)"),
                                         ("a // b, 1:2, http:", "a // b, 1:2, http:")])
def test_a_formula_means_the_same_and_a_link_can_be_read(text, shown):
    assert inert(text, {}) == shown


def test_the_courses_own_prose_keeps_its_links():
    sources = [[cell.source for cell in notebook.cells if cell.id != "setup"] for notebook in (graded(), released())]
    assert sources[0] == sources[1]
    assert any(tag == "a" and (attributes.get("href") or "").startswith("https://") for tag, attributes in plain_page().tags)


def verdict(name: str, status: str = "passed", **more) -> Verdict:
    said = None if status == "passed" else message(en="the sign is wrong", zh="符号反了")
    return Verdict(name, status, said, more.get("expected"), more.get("got"), 0.001)


def test_outputs_and_errors_are_text():
    hostile = f"\x1b[31m<script>{MARK}</script>\x1b[0m <img src=x onerror={MARK}>"
    judgement = Judgement(
        (CellOutcome("added-1", hostile, f"ValueError: {hostile}", 0.1, message(en="stopped", zh="已中止")),),
        (QuestionResult(LOSS, "rloo_policy_loss", 3.0, 0.0, (verdict("check_a"), verdict("check_b", "failed", got=hostile)), None),),
        "bubblewrap")
    made = graded(new_code_cell(f"x = '<script>{MARK}</script>'  # {hostile}", id="added-1"), judgement=judgement)
    page = render(made)
    assert Page(page).alive() == plain_page().alive() and "stolen" in page
    text = "".join(Page(page).text)
    for part in ("stopped", "已中止", "check_b", "the sign is wrong", "符号反了", "1 of 2 checks passed"):
        assert part in text, part
    (checked,) = [cell for cell in made.cells if cell.id == LOSS]
    assert [output.output_type for output in checked.outputs] == ["stream", "error"]


def test_a_passed_question_has_no_error():
    result = QuestionResult(LOSS, "rloo_policy_loss", 3.0, 3.0, (verdict("check_a"),), None)
    (checked,) = [cell for cell in graded(judgement=Judgement((), (result,), "")).cells if cell.id == LOSS]
    assert [output.output_type for output in checked.outputs] == ["stream"]


def test_formgrader_finds_a_box_for_every_score_and_comment():
    names = {attributes.get("id") for _, attributes in plain_page().tags}
    for cell in rloo().cells:
        if cell.role in ("check", "question"):
            assert cell.key in names and f"{cell.key}_extra_credit" in names
        if cell.role in ("exercise", "question"):
            assert f"{cell.key}-comment" in names
    assert WRITTEN in names


@pytest.mark.parametrize("submitted", [b"", f"<script>{MARK}</script>![a](attachment:b)".encode(), b"\xff\xfe\x00\x80" + b"x" * 10_000])
def test_an_ungradable_file_is_shown_with_its_reason(submitted):
    page = render(ungradable_notebook(released(), BROKEN, submitted))
    assert Page(page).alive() == plain_page().alive()
    assert BROKEN.en in page and BROKEN.zh in page and "x" * 2001 not in page
    assert set(POINTS) <= {attributes.get("id") for _, attributes in Page(page).tags}


def test_what_is_too_long_to_read_is_cut():
    long_line, long_cell = new_code_cell(f"x = '{'a' * 1_000_000}'", id="added-1"), new_code_cell("y = 1\n" * 100_000, id="added-2")
    made = graded(long_line, long_cell, new_markdown_cell("长" * 9_000, id="note-1"))
    setup, line, cell, prose = made.cells[1], *made.cells[-3:]
    assert len(dumps(made)) < 800_000 and len(line.source) < 600 and len(cell.source) < 200_010 and prose.source == "长" * 9_000
    for source in (setup.source, line.source):
        compile(source, "cell", "exec")
    assert setup.source == "#@title Set-up: run this cell first | 准备：先运行本单元\n# …"  # of 120,000 characters
    assert line.source.startswith("x = 'aaa") and line.source.endswith("aaa'")
