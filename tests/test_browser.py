"""The learner's path in a real browser: JupyterLab in headless Chromium, both languages. Screenshots go to artifacts/."""

import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

from lessons._build.course import LANGUAGES
from tests.needs import ROOT, chromium, cjk_font

ARTIFACTS = ROOT / "artifacts"
TOKEN = "test-token"


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """A JupyterLab over copies of the learner notebooks; gives its address and folder."""
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
    server = subprocess.Popen(
        [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", f"--ServerApp.port={port}", f"--IdentityProvider.token={TOKEN}",
         f"--ServerApp.root_dir={folder}", "--LabApp.expose_app_in_browser=True", "--LabApp.news_url=None", "--LabApp.check_for_updates_class="
         "jupyterlab.NeverCheckForUpdate"], env=environment, stdout=subprocess.DEVNULL, stderr=(folder / "server.log").open("w"))
    address = f"http://127.0.0.1:{port}"
    try:
        for _ in range(120):
            try:
                urllib.request.urlopen(f"{address}/api?token={TOKEN}", timeout=1)
                break
            except OSError:
                assert server.poll() is None, (folder / "server.log").read_text()[-2000:]
                time.sleep(0.5)
        yield address, folder
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


@pytest.fixture(params=LANGUAGES)
def notebook(request, lab, browser):
    """The RLOO notebook opened in a page, run from the first cell to the last; gives (page, language)."""
    address, _ = lab
    language = request.param
    page = browser.new_page(viewport={"width": 1200, "height": 1000}, locale="zh-CN" if language == "zh" else "en-US")
    page.goto(f"{address}/lab/tree/{language}/03_rloo.ipynb?token={TOKEN}&reset")
    page.wait_for_selector(".jp-Notebook .jp-Cell", timeout=60_000)
    page.wait_for_function("window.jupyterapp && window.jupyterapp.shell.currentWidget && window.jupyterapp.shell.currentWidget.context"
                           " && window.jupyterapp.shell.currentWidget.context.sessionContext.session?.kernel?.status === 'idle'", timeout=60_000)
    page.evaluate("window.jupyterapp.shell.collapseLeft()")
    # Every cell is in the page, not only those on the screen, so that all of them can be looked at.
    page.evaluate("window.jupyterapp.shell.currentWidget.content.notebookConfig ="
                  " {...window.jupyterapp.shell.currentWidget.content.notebookConfig, windowingMode: 'none'}")
    page.evaluate("window.jupyterapp.commands.execute('notebook:run-all-cells')")
    page.wait_for_function("(() => { const cells = [...window.jupyterapp.shell.currentWidget.content.widgets]"
                           ".filter(c => c.model.type === 'code' && c.model.sharedModel.source.trim());"
                           " return cells.every(c => c.model.executionCount && c.model.executionState !== 'running'"
                           " && !c.inputArea.promptNode?.textContent.includes('*')); })()", timeout=120_000)
    yield page, language
    page.close()


def test_a_learner_sees_every_formula_picture_and_control(notebook):
    page, language = notebook
    page.wait_for_function("document.querySelectorAll('.jp-RenderedMarkdown mjx-container').length > 50", timeout=30_000)
    ARTIFACTS.mkdir(exist_ok=True)
    assert page.locator("mjx-merror").count() == 0, "a formula is broken"
    rest = page.eval_on_selector_all(".jp-RenderedMarkdown", "cells => cells.map(cell => { const copy = cell.cloneNode(true);"
                                     " copy.querySelectorAll('mjx-container, code').forEach(node => node.remove()); return copy.innerText; }).join('\\n')")
    assert not re.search(r"\$|\\frac|\\mathrm|\{\{", rest), "LaTeX or a placeholder shows as text"
    pictures = page.locator(".jp-OutputArea img")
    for index in range(pictures.count()):
        width = pictures.nth(index).evaluate("image => image.complete ? image.naturalWidth : 0")
        alt = pictures.nth(index).get_attribute("alt") or ""
        assert width > 300 and len(alt) > 20, (index, width, alt)
        assert bool(re.search("[\u4e00-\u9fff]", alt)) == (language == "zh"), alt
    assert pictures.count() >= 4
    assert page.locator(".jp-OutputArea .noUi-handle").count() >= 8, "sliders are missing"
    assert page.get_by_text("Error displaying widget").count() == 0 and page.get_by_text("Loading widget").count() == 0
    page.evaluate("document.querySelector('.jp-WindowedPanel-outer, .jp-Notebook').scrollTop = 0")
    for number, cell in enumerate(page.locator(".jp-Cell").all()):
        if cell.locator("img").count() or cell.locator("mjx-container").count() > 5:
            cell.scroll_into_view_if_needed()
            cell.screenshot(path=ARTIFACTS / f"{language}-{number:02}.png")


def test_a_slider_moved_by_keyboard_changes_picture_and_words(notebook):
    page, _ = notebook
    for cell in page.locator(".jp-CodeCell", has=page.locator(".noUi-handle")).all():
        picture, handle = cell.locator("img").first, cell.locator(".noUi-handle").first
        before = picture.get_attribute("src"), picture.get_attribute("alt")
        handle.scroll_into_view_if_needed()
        handle.focus()
        at_its_end = handle.get_attribute("aria-valuenow") == handle.get_attribute("aria-valuemax")
        for _ in range(2):
            page.keyboard.press("ArrowLeft" if at_its_end else "ArrowRight")
        page.wait_for_function("([cell, src]) => cell.querySelector('img').src !== src", arg=[cell.element_handle(), before[0]], timeout=20_000)
        after = picture.get_attribute("src"), picture.get_attribute("alt")
        assert after[0] != before[0] and after[1] != before[1]
