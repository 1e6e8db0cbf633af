"""A learner's path through a lesson, and what helps where it is lost: JupyterLab and Notebook 7, each in both languages."""

import importlib
import itertools
import re
from textwrap import indent

import pytest

from advantagelab.checking import judge
from autograder.demo_class import solutions
from lessons._build.answers import wrong_answers
from lessons._build.course import LANGUAGES, read_course
from lessons._build.lesson import read_lesson
from lessons._build.regions import regions, stub_lines
from tests.browser.accessibility import assert_accessible
from tests.browser.jupyter import APPS, NOTEBOOK, SOURCE, cell, open_notebook, retype, run, screenshot
from tests.browser.keyboard import move_every_kind_of_control
from tests.whole import ALL

# application, language, lesson, one of its registered mistakes, a cell with a panel
PATHS = [pytest.param("lab", "en", "rloo", "group_mean", "widget-baselines", id="lab-en"),
         pytest.param("notebook", "zh", "start_here", "filled_with_zero", "widget-mean-reward", id="notebook-zh")]


@pytest.mark.parametrize(("app", "language", "name", "mistake", "widget"), PATHS)
def test_open_run_fail_read_mend_pass_and_play(lab, new_page, app, language, name, mistake, widget):
    lesson = read_lesson(read_course(), name)
    (wrong,) = [answer for answer in wrong_answers(lesson.folder) if answer.name == mistake]
    todo = wrong.todo(regions(lesson.algorithm.text))
    (exercise,) = [each.key for each in lesson.cells if each.exercise == todo.function]
    (check,) = [each.key for each in lesson.cells if each.check == todo.function]
    caught_by = getattr(importlib.import_module(f"lessons.{name}.checks"), wrong.caught_by)
    verdict = judge(caught_by, todo.function, wrong.namespace(lesson.algorithm))
    page = new_page(language)
    open_notebook(page, lab, app, f"{language}/{lesson.entry.notebook}.ipynb")
    assert "Advantage Lab" in run(page, "setup")
    for given in [each.key for each in lesson.cells if each.role == "given"]:
        run(page, given)

    run(page, exercise)
    said = run(page, check)
    assert f"TODO {todo.number}" in said and "✓" not in said

    stub = page.evaluate(SOURCE, exercise)
    (line,) = stub_lines(todo)

    def answer_with(code: str) -> str:
        retype(page, exercise, stub.replace(todo.indent + line, indent(code, todo.indent)))
        assert run(page, exercise) == ""
        return run(page, check)

    said = answer_with(wrong.todos[todo.number])
    for words in (f"✗ {wrong.caught_by}", verdict.message.en, verdict.message.zh, verdict.expected, verdict.got):
        assert words in said
    cell(page, check).scroll_into_view_if_needed()
    screenshot(page, f"path-{app}-{language}-wrong")
    assert_accessible(page, ".jp-Notebook .jp-OutputArea-output")

    said = answer_with(solutions(lesson)[todo.number])
    assert "✗" not in said and "✓ " + wrong.caught_by in said
    screenshot(page, f"path-{app}-{language}-right")

    run(page, widget)
    move_every_kind_of_control(page, cell(page, widget))
    assert_accessible(page, ".jp-Notebook .jp-OutputArea-output")
    screenshot(page, f"path-{app}-{language}-panel")

    for each in lesson.cells:  # the summary knows the checks of the cells that were run
        if each.role == "check" and each.key != check:
            run(page, each.key)
    total = len(lesson.functions)
    assert f"1 of {total} TODOs done | {total} 个 TODO 已完成 1 个" in run(page, "all-checks")
    cell(page, "all-checks").scroll_into_view_if_needed()
    screenshot(page, f"path-{app}-{language}-summary")


# A wrong answer, the link to the paragraph, a hint, a reset, the board

STUB = 'raise NotImplementedError("TODO 1: Mean reward | 平均奖励")'
ADD_BEHIND = f"""
  ([key, source]) => {{
    const notebook = {NOTEBOOK};
    const at = notebook.widgets.findIndex(cell => cell.model.id === key) + 1;
    notebook.model.sharedModel.insertCell(at, {{cell_type: "code", source, metadata: {{}}}});
    return notebook.widgets[at].model.id;
  }}
"""
WORDS = {"en": ('Read again: "Step 1: Missing is not zero"', "Hint 1 of 2", "is unwritten again", "wrong", "Reward signal"),
         "zh": ("重读“第 1 步：缺失不等于零”", "提示 1/2", "已恢复成还没写的样子", "有错", "奖励信号")}
WALKED = [("lab", "zh"), ("notebook", "en")]  # the test above walks the other two


@pytest.mark.parametrize(("app", "language"), list(itertools.product(APPS, LANGUAGES)) if ALL else WALKED)
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
    link = page.locator(".jp-OutputArea a", has_text=read_again.removeprefix("Read again: ").removeprefix("重读"))
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
