"""Every lesson in JupyterLab, in one language (ALL=1: both): formulas, pictures, controls by keyboard, axe on what is ours."""

import re

import nbformat
import pytest

from lessons._build.course import ROOT, read_course
from lessons._build.prose_parts import mask_formulas
from tests.browser.accessibility import assert_accessible
from tests.browser.jupyter import ARTIFACTS, EVERY_CELL_HAS_RUN, PATIENCE, open_notebook
from tests.browser.keyboard import PANELS, move_every_kind_of_control
from tests.whole import languages

LESSONS = [entry.notebook for entry in read_course().lessons]
PAIRS = [(language, lesson) for number, lesson in enumerate(LESSONS) for language in languages(number)]

PROSE_WITHOUT_FORMULAS_AND_CODE = """
  cells => cells.map(cell => {
    const copy = cell.cloneNode(true);
    copy.querySelectorAll("mjx-container, code").forEach(node => node.remove());
    return copy.innerText;
  }).join("\\n")
"""


def formulas_of(language: str, lesson: str) -> int:
    """How many the notebook's prose has, as the build reads them."""
    notebook = nbformat.read(ROOT / "notebooks" / language / f"{lesson}.ipynb", 4)
    return sum(len(mask_formulas(cell.source).formulas) for cell in notebook.cells if cell.cell_type == "markdown")


@pytest.fixture(params=PAIRS, ids="-".join)
def notebook(request, lab, new_page):
    """A learner notebook opened in a page, run from the first cell to the last: (page, language, lesson)."""
    language, lesson = request.param
    page = new_page(language)
    open_notebook(page, lab, "lab", f"{language}/{lesson}.ipynb")
    page.evaluate("window.jupyterapp.commands.execute('notebook:run-all-cells')")
    page.wait_for_function(EVERY_CELL_HAS_RUN, timeout=2 * PATIENCE)
    return page, language, lesson


def test_a_learner_sees_every_formula_picture_and_control_and_moves_each_kind_by_keyboard(notebook):
    page, language, lesson = notebook
    formulas = page.locator(".jp-RenderedMarkdown").evaluate_all(
        "cells => cells.map(cell => cell.querySelectorAll('mjx-container').length).reduce((a, b) => a + b)")
    assert formulas == formulas_of(language, lesson) > 0
    assert page.locator("mjx-merror").count() == 0, "a formula is broken"
    prose = page.eval_on_selector_all(".jp-RenderedMarkdown", PROSE_WITHOUT_FORMULAS_AND_CODE)
    assert not re.search(r"\$|\\frac|\\mathrm|\{\{", prose), "LaTeX or a placeholder shows as text"
    for words in ("Error displaying widget", "Loading widget"):
        assert page.locator(".jp-OutputArea", has_text=words).count() == 0
    for picture in page.locator(".jp-OutputArea img").all():
        width = picture.evaluate("image => image.complete ? image.naturalWidth : 0")
        alt = picture.get_attribute("alt") or ""
        assert width > 300 and len(alt) > 20, (width, alt)
        assert bool(re.search("[\u4e00-\u9fff]", alt)) == (language == "zh"), alt
    # JupyterLab's own parts (menus, side bars, prompts, the code editor) are not ours to mend, so they are not looked at.
    assert_accessible(page, ".jp-Notebook .jp-RenderedMarkdown")
    assert_accessible(page, ".jp-Notebook .jp-OutputArea-output")
    ARTIFACTS.mkdir(exist_ok=True)
    for number, cell in enumerate(page.locator(".jp-Cell").all()):
        if cell.locator("img, mjx-container").count():
            cell.scroll_into_view_if_needed()
            cell.screenshot(path=ARTIFACTS / f"{lesson}-{language}-{number:02}.png")
    for panel in page.locator(PANELS).all():
        move_every_kind_of_control(page, panel)
