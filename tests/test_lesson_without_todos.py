"""A lesson that only asks in words: no checks to write, no code to run, every point given by a person."""

import json

import pytest

from autograder.judge import questions_of
from lessons._build.check_command import BadFile, lesson_todos
from lessons._build.code_cells import given_source
from lessons._build.lesson import read_lesson
from lessons._build.notebook import KINDS, build_notebook
from lessons._build.refusal import Refused
from tests.tiny_course import COURSE_TOML, LESSON, TINY_IN_COURSE, edit, write_course

QUESTION = LESSON[LESSON.index('+++ {"key": "written"'):LESSON.index('+++ {"key": "stop-here"')]
GIVEN = "```{code-cell}\n---\nkey: both\ngiven: require_rewards centered\n---\n```\n\n"
OWN = "```{code-cell}\n---\nkey: own\ngiven: doubled\n---\n```\n\n"
IMPORT = "```{code-cell}\n---\nkey: tools\n---\nfrom math import log2\n```\n\n"
ALGORITHM = '''"""A function that leans on an import of the notebook."""

from math import log2


def doubled(value: float) -> float:
    """Twice a power of two. | 二的幂的两倍。"""
    return 2 ** (log2(value) + 1)
'''


def write(folder, *cells):
    read = write_course(folder)
    entry = TINY_IN_COURSE.replace('"tiny"\n', '"talk"\n').replace('["tiny"]\n', '["talk"]\n')
    entry = entry.replace("04", "05").replace("T-TINY", "T-TALK").replace("points = 6", "points = 1")
    edit(folder, COURSE_TOML, TINY_IN_COURSE, TINY_IN_COURSE + entry)
    (folder / "lessons" / "talk").mkdir()
    (folder / "lessons" / "talk" / "lesson.md").write_text(LESSON[:LESSON.index("+++")] + "".join(cells), encoding="utf-8")
    (folder / "algorithms" / "talk.py").write_text(ALGORITHM, encoding="utf-8")
    return read_lesson(read(), "talk")


def cell_of(notebook, key):
    (cell,) = [cell for cell in notebook.cells if cell.id == key]
    return cell


def test_it_needs_no_checks_and_no_spec(tmp_path):
    lesson = write(tmp_path, QUESTION)
    assert lesson.functions == [] and lesson.checks is lesson.spec is None and questions_of(lesson) == []
    for kind in KINDS:
        assert cell_of(build_notebook(lesson, "zh", kind), "written").metadata.nbgrader.points == 1


def test_a_given_cell_holds_several_functions_and_is_folded(tmp_path):
    lesson = write(tmp_path, GIVEN, QUESTION)
    cell = cell_of(build_notebook(lesson, "en", "learner"), "both")
    title = "#@title [both] Given: run this cell as it is. | 已给出：直接运行。"
    assert cell.source.startswith(f"{title}\nimport torch\n\n\ndef require_rewards(")
    assert "\n\n\ndef centered(" in cell.source and "mean_of_all" in cell.source and "SOLUTION" not in cell.source
    assert cell.metadata.jupyter.source_hidden and cell.metadata.nbgrader.locked
    with pytest.raises(Refused, match="centered uses require_rewards"):
        given_source("key", ["centered"], lesson.earlier_algorithms, {"torch", "centered"})


def test_a_given_function_may_lean_on_an_import_of_an_earlier_cell(tmp_path):
    build_notebook(write(tmp_path / "good", IMPORT, OWN, QUESTION), "en", "learner")
    lesson = write(tmp_path / "bad", OWN, IMPORT, QUESTION)
    with pytest.raises(Refused, match="doubled uses log2"):
        build_notebook(lesson, "en", "learner")


def test_the_check_command_says_that_there_is_nothing_to_check(tmp_path, monkeypatch, capsys):
    from lessons._build import check_command

    course = write(tmp_path, QUESTION).course
    monkeypatch.setattr(check_command, "read_course", lambda: course)
    with pytest.raises(BadFile, match="has no TODOs"):
        lesson_todos("talk")
    assert check_command.main(["talk", "answers.py", "--json"]) == 2
    assert "没有 TODO" in json.loads(capsys.readouterr().out)["error"]["zh"]
