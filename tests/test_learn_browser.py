"""Lost and found in a real browser: a wrong answer, the link to the paragraph, a hint, a reset, the board. JupyterLab and Notebook 7."""

import re

import pytest

from lessons._build.course import LANGUAGES
from tests.test_browser import ARTIFACTS, KERNEL_IS_IDLE, KEEP_EVERY_CELL_IN_THE_PAGE, TOKEN, browser, lab  # noqa: F401

pytestmark = pytest.mark.xdist_group("browser")

APPS = {"lab": "lab/tree", "notebook": "notebooks"}
NOTEBOOK = "00_start_here"
STUB = 'raise NotImplementedError("TODO 1: Mean reward | 平均奖励")'
# Cells are found by their id, which is their key; those of the learner's own are put behind one of these.
SOURCES = "window.jupyterapp.shell.currentWidget.content.widgets.map(cell => [cell.model.id, cell.model.sharedModel.source])"
SET = """
  ([key, source]) => window.jupyterapp.shell.currentWidget.content.widgets
    .find(cell => cell.model.id === key).model.sharedModel.setSource(source)
"""
ADD_BEHIND = """
  ([key, source]) => {
    const notebook = window.jupyterapp.shell.currentWidget.content;
    const at = notebook.widgets.findIndex(cell => cell.model.id === key) + 1;
    notebook.model.sharedModel.insertCell(at, {cell_type: "code", source, metadata: {}});
    return notebook.widgets[at].model.id;
  }
"""
RUN = """
  key => {
    const notebook = window.jupyterapp.shell.currentWidget.content;
    notebook.activeCellIndex = notebook.widgets.findIndex(cell => cell.model.id === key);
    return window.jupyterapp.commands.execute("notebook:run-cell");
  }
"""
OUTPUT = """
  key => window.jupyterapp.shell.currentWidget.content.widgets.find(cell => cell.model.id === key).node
    .querySelector(".jp-Cell-outputArea").innerText
"""
WORDS = {"en": ("Read again: Step 1: Missing is not zero", "Hint 1 of 2", "is the skeleton again", "wrong", "Reward signal"),
         "zh": ("重读：第 1 步：缺失不等于零", "提示 1/2", "已恢复为骨架", "有错", "奖励信号")}


@pytest.fixture(params=[(app, language) for app in APPS for language in LANGUAGES], ids="-".join)
def page(request, lab, browser):  # noqa: F811
    app, language = request.param
    page = browser.new_page(viewport={"width": 1200, "height": 900})
    page.goto(f"{lab}/{APPS[app]}/{language}/{NOTEBOOK}.ipynb?token={TOKEN}&reset")
    page.wait_for_selector(".jp-Notebook .jp-Cell", timeout=60_000)
    page.wait_for_function(KERNEL_IS_IDLE, timeout=60_000)
    if app == "lab":
        page.evaluate(KEEP_EVERY_CELL_IN_THE_PAGE)
    yield page, app, language
    page.evaluate("window.jupyterapp.commands.execute('kernelmenu:shutdown').catch(() => null)")
    page.close()


def test_a_learner_is_never_lost(page):
    page, app, language = page
    read_again, hinted, put_back, wrong, other = WORDS[language]

    def run(key):
        page.evaluate(RUN, key)
        return page.evaluate(OUTPUT, key)

    def add_and_run(behind, source):
        key = page.evaluate(ADD_BEHIND, [behind, source])
        return key, run(key)

    assert "Advantage Lab" in run("setup")
    answer = dict(page.evaluate(SOURCES))["mean-reward"]
    attempt = answer.replace(STUB, "mean = rewards.nan_to_num(0.0).mean()")
    assert attempt != answer
    page.evaluate(SET, ["mean-reward", attempt])
    run("mean-reward")
    said = run("check-mean-reward")
    assert "✗" in said and read_again in said
    link = page.locator(".jp-OutputArea a", has_text=read_again.partition(":" if language == "en" else "：")[2].strip())
    heading = page.locator("h2", has_text=re.compile("Missing is not zero|缺失不等于零"))
    link.scroll_into_view_if_needed()
    link.click()
    page.wait_for_function("node => { const top = node.getBoundingClientRect().top; return top >= 0 && top < 700; }",
                           arg=heading.element_handle(), timeout=10_000)

    _, said = add_and_run("mean-reward", 'hint("mean_reward")')
    assert hinted in said
    key, said = add_and_run("mean-reward", 'reset("mean_reward")')
    assert put_back in said
    page.wait_for_function(f"key => {SOURCES}.some(([id, source]) => id === key && source.includes('raise NotImplementedError'))", arg=key)
    now = dict(page.evaluate(SOURCES))
    assert now["mean-reward"] == attempt, "the attempt was touched"
    assert now[key].count("def mean_reward(") == 1 and STUB in now[key]
    ARTIFACTS.mkdir(exist_ok=True)
    page.screenshot(path=ARTIFACTS / f"learn-{app}-{language}-reset.png")
    key, said = add_and_run("check-mean-reward", "progress()")
    assert wrong in said and other in said
    page.locator(".jp-CodeCell", has_text="progress()").last.scroll_into_view_if_needed()
    page.screenshot(path=ARTIFACTS / f"learn-{app}-{language}.png")
