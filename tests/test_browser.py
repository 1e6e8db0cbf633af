"""The learner's path in a real browser: JupyterLab in headless Chromium, both languages. Screenshots go to artifacts/."""

import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.request

import pytest
from playwright.sync_api import TimeoutError as PageTimeout
from playwright.sync_api import sync_playwright

from lessons._build.course import LANGUAGES, read_course
from tests.needs import ROOT, chromium, cjk_font

ARTIFACTS = ROOT / "artifacts"
TOKEN = "test-token"
LESSONS = [entry.notebook for entry in read_course().lessons]

# JavaScript, run in the page, where `expose_app_in_browser` gives us JupyterLab itself.
KERNEL_IS_IDLE = """
  window.jupyterapp?.shell.currentWidget?.context?.sessionContext.session?.kernel?.status === "idle"
"""
KEEP_EVERY_CELL_IN_THE_PAGE = """
  (() => {
    window.jupyterapp.shell.collapseLeft();
    const notebook = window.jupyterapp.shell.currentWidget.content;
    notebook.notebookConfig = {...notebook.notebookConfig, windowingMode: "none"};
  })()
"""
EVERY_CELL_HAS_RUN = """
  window.jupyterapp.shell.currentWidget.content.widgets
    .filter(cell => cell.model.type === "code" && cell.model.sharedModel.source.trim())
    .every(cell => cell.model.executionCount && cell.model.executionState !== "running")
"""
PROSE_WITHOUT_FORMULAS_AND_CODE = """
  cells => cells.map(cell => {
    const copy = cell.cloneNode(true);
    copy.querySelectorAll("mjx-container, code").forEach(node => node.remove());
    return copy.innerText;
  }).join("\\n")
"""


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """The address of a JupyterLab over copies of the learner notebooks."""
    chromium()
    cjk_font()
    folder = tmp_path_factory.mktemp("lab")
    for language in LANGUAGES:
        shutil.copytree(ROOT / "notebooks" / language, folder / language)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = os.environ | {"HOME": str(folder), "OMP_NUM_THREADS": "1", "JUPYTER_CONFIG_DIR": str(folder / "config")}
    environment.pop("ADVANTAGELAB_STATIC", None)
    command = [
        sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", f"--ServerApp.port={port}", f"--ServerApp.root_dir={folder}",
        f"--IdentityProvider.token={TOKEN}", "--LabApp.expose_app_in_browser=True", "--JupyterNotebookApp.expose_app_in_browser=True",
        "--LabApp.news_url=None", "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate"]
    log = folder / "server.log"
    server = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=log.open("w"))
    address = f"http://127.0.0.1:{port}"
    try:
        for _ in range(240):
            try:
                urllib.request.urlopen(f"{address}/api?token={TOKEN}", timeout=1)
                break
            except OSError:
                assert server.poll() is None, log.read_text()[-2000:]
                time.sleep(0.5)
        yield address
    finally:
        server.terminate()
        server.wait(20)


@pytest.fixture(scope="module")
def browser():
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=[
            "--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking", "--disable-component-update",
            "--disable-sync", "--no-first-run"])
        yield browser
        browser.close()


@pytest.fixture(params=[(language, lesson) for language in LANGUAGES for lesson in LESSONS], ids="-".join)
def notebook(request, lab, browser):
    """A learner notebook opened in a page, run from the first cell to the last: (page, language, lesson)."""
    language, lesson = request.param
    page = browser.new_page(viewport={"width": 1200, "height": 1000}, locale="zh-CN" if language == "zh" else "en-US")
    page.goto(f"{lab}/lab/tree/{language}/{lesson}.ipynb?token={TOKEN}&reset")
    page.wait_for_selector(".jp-Notebook .jp-Cell", timeout=60_000)
    page.wait_for_function(KERNEL_IS_IDLE, timeout=60_000)
    page.evaluate(KEEP_EVERY_CELL_IN_THE_PAGE)
    page.evaluate("window.jupyterapp.commands.execute('notebook:run-all-cells')")
    page.wait_for_function(EVERY_CELL_HAS_RUN, timeout=120_000)
    yield page, language, lesson
    page.evaluate("window.jupyterapp.commands.execute('kernelmenu:shutdown').catch(() => null)")
    page.close()


def test_a_learner_sees_every_formula_picture_and_control_and_moves_each_slider_by_keyboard(notebook):
    page, language, lesson = notebook
    formulas = page.locator(".jp-RenderedMarkdown").evaluate_all(
        "cells => cells.map(cell => cell.querySelectorAll('mjx-container').length).reduce((a, b) => a + b)")
    assert formulas > (0 if lesson.startswith(("00", "07")) else 20)
    assert page.locator("mjx-merror").count() == 0, "a formula is broken"
    prose = page.eval_on_selector_all(".jp-RenderedMarkdown", PROSE_WITHOUT_FORMULAS_AND_CODE)
    assert not re.search(r"\$|\\frac|\\mathrm|\{\{", prose), "LaTeX or a placeholder shows as text"
    for words in ("Error displaying widget", "Loading widget"):
        assert page.locator(".jp-OutputArea", has_text=words).count() == 0
    pictures = page.locator(".jp-OutputArea img")
    for picture in pictures.all():
        width = picture.evaluate("image => image.complete ? image.naturalWidth : 0")
        alt = picture.get_attribute("alt") or ""
        assert width > 300 and len(alt) > 20, (width, alt)
        assert bool(re.search("[\u4e00-\u9fff]", alt)) == (language == "zh"), alt
    ARTIFACTS.mkdir(exist_ok=True)
    for number, cell in enumerate(page.locator(".jp-Cell").all()):
        if cell.locator("img, mjx-container").count():
            cell.scroll_into_view_if_needed()
            cell.screenshot(path=ARTIFACTS / f"{lesson}-{language}-{number:02}.png")
    panels = page.locator(".jp-CodeCell", has=page.locator(".noUi-handle"))
    for panel in panels.all():
        move_a_slider(page, panel)


def move_a_slider(page, panel) -> None:
    """A panel's first slider, moved by an arrow key, changes the picture and the words for those who cannot see it."""
    picture, handle = panel.locator("img").first, panel.locator(".noUi-handle").first
    before = picture.get_attribute("src"), picture.get_attribute("alt")
    handle.scroll_into_view_if_needed()
    handle.focus()
    at_its_end = handle.get_attribute("aria-valuenow") == handle.get_attribute("aria-valuemax")
    page.keyboard.press("ArrowLeft" if at_its_end else "ArrowRight")
    changed = "([panel, src]) => panel.querySelector('img').src !== src"
    try:
        page.wait_for_function(changed, arg=[panel.element_handle(), before[0]], timeout=5_000)
    except PageTimeout:  # held back by the other sliders, as the votes of a full group are: then it can be lowered
        page.keyboard.press("ArrowLeft")
        page.wait_for_function(changed, arg=[panel.element_handle(), before[0]], timeout=20_000)
    assert picture.get_attribute("alt") != before[1]
