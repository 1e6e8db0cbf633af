"""Lost and found in a real browser: a wrong answer, the link to the paragraph, a hint, a reset, the board. JupyterLab and Notebook 7."""

import itertools
import os
import re

import pytest

from lessons._build.course import LANGUAGES
from tests.browser.accessibility import assert_accessible
from tests.browser.jupyter import APPS, NOTEBOOK, SOURCE, cell, open_notebook, retype, run, screenshot

WALKED = [("lab", "zh"), ("notebook", "en")]  # test_learner_path walks the other two
STUB = 'raise NotImplementedError("TODO 1: Mean reward | 平均奖励")'
ADD_BEHIND = f"""
  ([key, source]) => {{
    const notebook = {NOTEBOOK};
    const at = notebook.widgets.findIndex(cell => cell.model.id === key) + 1;
    notebook.model.sharedModel.insertCell(at, {{cell_type: "code", source, metadata: {{}}}});
    return notebook.widgets[at].model.id;
  }}
"""
WORDS = {"en": ("Read again: Step 1: Missing is not zero", "Hint 1 of 2", "is the skeleton again", "wrong", "Reward signal"),
         "zh": ("重读：第 1 步：缺失不等于零", "提示 1/2", "已恢复为骨架", "有错", "奖励信号")}


@pytest.mark.parametrize(("app", "language"), list(itertools.product(APPS, LANGUAGES)) if os.environ.get("ALL") else WALKED)
def test_a_learner_is_never_lost(lab, new_page, app, language):
    page = new_page(language)
    open_notebook(page, lab, app, f"{language}/00_start_here.ipynb")
    read_again, hinted, put_back, wrong, other = WORDS[language]

    def add_and_run(behind, source):
        key = page.evaluate(ADD_BEHIND, [behind, source])
        return key, run(page, key)

    assert "Advantage Lab" in run(page, "setup")
    stub = page.evaluate(SOURCE, "mean-reward")
    attempt = stub.replace(STUB, "mean = rewards.nan_to_num(0.0).mean()")
    retype(page, "mean-reward", attempt)
    run(page, "mean-reward")
    said = run(page, "check-mean-reward")
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
    page.wait_for_function(f"key => ({SOURCE})(key).includes('raise NotImplementedError')", arg=key)
    assert page.evaluate(SOURCE, "mean-reward") == attempt, "the attempt was touched"
    now = page.evaluate(SOURCE, key)
    assert now.count("def mean_reward(") == 1 and STUB in now
    screenshot(page, f"learn-{app}-{language}-reset")
    key, said = add_and_run("check-mean-reward", "progress()")
    assert wrong in said and other in said
    cell(page, key).scroll_into_view_if_needed()
    screenshot(page, f"learn-{app}-{language}")
    assert_accessible(page, ".jp-Notebook .jp-OutputArea-output")
