"""For each file of browser tests: one server over copies of the learner notebooks, one browser, and pages that may say nothing wrong."""

import shutil

import pytest
from playwright.sync_api import sync_playwright

from lessons._build.course import LANGUAGES
from tests.browser.console import Console
from tests.browser.jupyter import server, shut_down
from tests.needs import ROOT, chromium, cjk_font


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """The address of JupyterLab and Notebook 7 over copies of the learner notebooks, in en/ and zh/."""
    chromium()
    cjk_font()
    folder = tmp_path_factory.mktemp("lab")
    for language in LANGUAGES:
        shutil.copytree(ROOT / "notebooks" / language, folder / language)
    with server(folder) as address:
        yield address


@pytest.fixture(scope="module")
def browser():
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=[
            "--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking", "--disable-component-update",
            "--disable-sync", "--no-first-run"])
        yield browser
        browser.close()


@pytest.fixture
def new_page(browser):
    """A new page in a language. At the end of the test nothing is left in its console that console.py does not name."""
    pages, consoles = [], []

    def open_page(language: str):
        page = browser.new_page(viewport={"width": 1200, "height": 1000}, locale="zh-CN" if language == "zh" else "en-US")
        pages.append(page)
        consoles.append(Console(page))
        return page

    yield open_page
    faults = [fault for console in consoles for fault in console.faults]  # before a page looks for its kernel in vain
    for page in pages:
        shut_down(page)
        page.close()
    assert not faults, "\n".join(faults)
