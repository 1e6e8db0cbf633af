"""A learner's path through a lesson: JupyterLab in English, Notebook 7 in Chinese."""

import importlib
from textwrap import indent

import pytest

from advantagelab.checking import judge
from autograder.demo_class import solutions
from lessons._build.answers import wrong_answers
from lessons._build.course import read_course
from lessons._build.lesson import read_lesson
from lessons._build.regions import regions, stub_lines
from tests.browser.accessibility import assert_accessible
from tests.browser.jupyter import SOURCE, cell, open_notebook, retype, run, screenshot
from tests.browser.keyboard import move_every_kind_of_control

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
