"""hint, reset and progress: what they say in both languages, what they keep, and that they never lose anything."""

import json
import linecache
import multiprocessing
import sys
from types import SimpleNamespace

import nbformat
import pytest
import torch

from advantagelab import set_language
from advantagelab.checking import ChecksFailed, run, run_all_checks, run_checks
from advantagelab.learn import after_checks, hint, hints, lesson, marks, open_lesson, progress, reset, skeleton
from advantagelab.learn.marks import Mark, recall, remember
from autograder.intake.restore import read_submission
from lessons._build import notebook as notebook_module
from lessons._build.code_cells import Module
from lessons._build.course import ROOT, read_course
from lessons._build.learn_data import learn_data
from lessons._build.lesson import read_lesson
from lessons._build.notebook import build_notebook
from lessons._build.refusal import Refused
from lessons.rloo import checks

COURSE = read_course()
RLOO = read_lesson(COURSE, "rloo")
ALGORITHM = Module(ROOT / "advantagelab" / "algorithms" / "rloo.py")
LOO = "leave_one_out_advantages"
VISIBLE = {name: check for name, check in vars(checks).items() if name.startswith("check_")}


@pytest.fixture(autouse=True)
def learner(tmp_path, monkeypatch):
    """A learner of the RLOO lesson, outside a notebook, with a data folder of their own."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.delenv("NBGRADER_EXECUTION", raising=False)
    monkeypatch.setattr(run, "watchers", [])
    monkeypatch.setattr(hints, "_shown", {})
    monkeypatch.setattr(marks, "_here", [])
    monkeypatch.setattr(lesson, "_open", None)
    monkeypatch.setattr(notebook_module, "payload_files", lambda code, **_: {})  # cutting the font takes long
    monkeypatch.setitem(sys.modules, "__main__", SimpleNamespace(torch=torch))
    set_language("en")
    open_lesson(learn_data(RLOO, solved=False))
    yield tmp_path / "advantagelab"
    set_language("en")


def function(body: str) -> dict:
    """A namespace in which leave_one_out_advantages is this."""
    namespace = dict(VISIBLE)
    exec(f"import torch\ndef {LOO}(rewards, group_ids):\n    {body}", namespace)
    return namespace


OPEN = function('raise NotImplementedError("TODO 3: Leave-one-out advantages | 留一优势")')
WRONG = function("return rewards.float()")
RIGHT = {**VISIBLE}
exec(ALGORITHM.text, RIGHT)


def check(namespace: dict) -> None:
    try:
        run_checks(namespace, LOO)
    except ChecksFailed:
        pass


def test_each_call_gives_one_hint_more_and_says_how_many_there_are(capsys):
    for count in (1, 2, 3):
        hint(LOO)
        said = capsys.readouterr().out
        assert [f"Hint {number} of 3." in said for number in (1, 2, 3)] == [number <= count for number in (1, 2, 3)]
        assert ("Run this cell again" in said) == (count < 3)
    hint(LOO)
    assert "There are no more hints." in capsys.readouterr().out
    set_language("zh")
    hint("rloo_policy_loss")
    assert capsys.readouterr().out.startswith("提示 1/3 比率是差的 `exp`。")


def test_hints_are_those_of_the_lesson(capsys):
    (cell,) = [cell for cell in RLOO.cells if cell.exercise == LOO]
    for _ in cell.hint:
        hint(LOO)
    said = capsys.readouterr().out
    assert all(english in said for english, _ in cell.hint)


@pytest.mark.parametrize("name, near", [("leave_one_out", LOO), ("leave_one_out_advantage", LOO), ("clipped", None), ("", None),
                                        (None, None), (7, None), (["x"], None)])
@pytest.mark.parametrize("command", [hint, reset])
def test_an_unknown_name_is_answered_in_both_languages_with_the_names_there_are(command, name, near):
    with pytest.raises(lesson.NoSuchTodo) as refused:
        command(name)
    en, zh = str(refused.value).split(" | ")
    assert all(f'"{known}"' in words for words in (en, zh) for known in RLOO.functions)
    assert (f'Did you mean "{near}"?' in en) == (f'你想写的是 "{near}" 吗？' in zh) == (near is not None)
    assert near or "Did you mean" not in en
    assert refused.value._render_traceback_() == [f"NoSuchTodo: {refused.value}"]


def test_a_function_or_a_number_stands_for_the_name_and_the_only_todo_needs_none(capsys):
    hint(RIGHT[LOO])
    hint(3)
    assert "Hint 2 of 3." in capsys.readouterr().out
    open_lesson(learn_data(read_lesson(COURSE, "start_here"), solved=False))
    hint()
    assert "Hint 1 of 2." in capsys.readouterr().out


def test_a_second_reset_makes_no_second_cell(learner, capsys):
    """The one that stands last would count: an empty one below the new attempt would take its place."""
    reset(LOO)
    assert "is unwritten again" in capsys.readouterr().out
    reset(LOO)
    assert f"{LOO} is unwritten already: write in its cell." in capsys.readouterr().out
    sys.modules["__main__"].__dict__[LOO] = RIGHT[LOO]
    reset(LOO)
    assert "is unwritten again" in capsys.readouterr().out


def test_without_the_set_up_cell_it_says_so(monkeypatch):
    monkeypatch.setattr(lesson, "_open", None)
    for command in (lambda: hint(LOO), lambda: reset(LOO), progress):
        with pytest.raises(lesson.NoSuchTodo, match="run the set-up cell at the top first.*准备单元"):
            command()


def test_progress_shows_every_todo_and_every_other_lesson_in_the_learners_language(capsys):
    check(OPEN)
    check(WRONG)
    capsys.readouterr()
    progress()
    said = capsys.readouterr().out
    assert "1  `aggregate_sequence_logps`  · open\n" in said
    assert f"3  `{LOO}`  ✗ wrong  " in said and "00_start_here: Start here  · 0/1" in said
    assert "07_training_lab: Training lab  no TODOs" in said
    mistake = recall()[-1].said
    assert mistake[0] in said and mistake[1] not in said
    check(RIGHT)
    set_language("zh")
    capsys.readouterr()
    progress()
    said = capsys.readouterr().out
    assert f"3  `{LOO}`  ✓ 正确\n" in said and "05_om_grpo: 带结果掩码的组相对策略优化  · 0/5" in said
    assert "· open" not in said and mistake[1] not in said


def test_what_was_right_once_stays_done(capsys):
    for state in (RIGHT, WRONG, OPEN):
        check(state)
    capsys.readouterr()
    progress()
    assert f"· open  Right on {recall()[0].on}." in capsys.readouterr().out
    open_lesson(learn_data(read_lesson(COURSE, "grpo"), solved=False))
    progress()
    assert "03_rloo: REINFORCE Leave-One-Out  · 1/4" in capsys.readouterr().out


def test_marks_survive_a_restart_and_a_line_is_added_only_for_a_change(learner):
    for state in (OPEN, OPEN, WRONG, WRONG, RIGHT, RIGHT):
        check(state)
    lines = [line for line in (learner / "progress.jsonl").read_text().splitlines() if line]
    assert [json.loads(line)["state"] for line in lines] == ["open", "wrong", "right"]
    assert marks._here == [] and [mark.state for mark in recall()] == ["open", "wrong", "right"]


def test_all_checks_are_noted_without_more_words(capsys):
    run_all_checks(WRONG, LOO)
    assert len(capsys.readouterr().out.splitlines()) == 2
    assert [mark.state for mark in recall()] == ["wrong"]


def test_a_function_that_is_not_there_changes_nothing():
    check(RIGHT)
    check(dict(VISIBLE))
    assert [mark.state for mark in recall()] == ["right"]


GOOD = {"advantagelab": 1, "lesson": "rloo", "function": LOO, "state": "right", "said": ["", ""], "on": "2026-11-30"}


@pytest.mark.parametrize("foreign", [
    b'{"advantagelab": 1, "lesson": "rl', b"\xff\xfe\x00", b"null", b"[]", b"[" * 100_000, b"1e999", b'"words"', b"{}",
    json.dumps({**GOOD, "advantagelab": 2, "state": "open"}).encode(), json.dumps({**GOOD, "state": "perfect"}).encode(),
    json.dumps({**GOOD, "state": ["open"]}).encode(), json.dumps({**GOOD, "said": None}).encode(), json.dumps(GOOD).encode()[:-9],
    json.dumps({**GOOD, "lesson": {}}).encode(), json.dumps({**GOOD, "on": 5}).encode()], ids=range(15))
def test_broken_foreign_and_newer_lines_are_passed_over_and_kept(learner, foreign):
    file = learner / "progress.jsonl"
    file.parent.mkdir()
    file.write_bytes(json.dumps(GOOD).encode() + b"\n" + foreign)  # torn: no end of line
    assert [mark.state for mark in recall()] == ["right"]
    check(WRONG)
    assert file.read_bytes().startswith(json.dumps(GOOD).encode() + b"\n" + foreign + b"\n")
    assert [mark.state for mark in recall()] == ["right", "wrong"]
    progress()


def _write_many(name: str) -> None:
    for number in range(60):
        remember(Mark(name, f"f{number % 7}", ("wrong", "right")[number % 2], (f"{name} {number}" * 20, "错")))


@pytest.mark.skipif(sys.platform == "win32", reason="two processes are made by fork")
def test_two_notebooks_at_once_lose_nothing(learner):
    fork = multiprocessing.get_context("fork")
    both = [fork.Process(target=_write_many, args=(name,)) for name in ("one", "two")]
    for process in both:
        process.start()
    for process in both:
        process.join()
        assert process.exitcode == 0
    assert len(recall()) == 120
    assert {name: sum(mark.lesson == name for mark in recall()) for name in ("one", "two")} == {"one": 60, "two": 60}


@pytest.mark.parametrize("broken", ["a file where the folder should be", "a folder where the file should be", "no home"])
def test_where_nothing_can_be_kept_it_says_so_and_still_knows_until_the_kernel_stops(learner, capsys, monkeypatch, broken):
    if broken == "no home":
        monkeypatch.setattr(marks, "data_folder", lambda: (_ for _ in ()).throw(RuntimeError("no home")))
        monkeypatch.setattr(skeleton, "data_folder", marks.data_folder)
    elif broken.startswith("a file"):
        learner.write_text("")
    else:
        (learner / "progress.jsonl").mkdir(parents=True)
    check(WRONG)
    capsys.readouterr()
    progress()
    said = capsys.readouterr().out
    assert "✗ wrong" in said and "the data folder cannot be written. It is lost when the kernel stops." in said
    reset(LOO)
    assert "is unwritten again" in capsys.readouterr().out


@pytest.mark.parametrize("cell, alone", [
    ('reset("leave_one_out_advantages")', True), ("\nreset( leave_one_out_advantages )\n", True), ("reset('x')", True),
    ('reset("x")  # mine', False), ('answer = 1\nreset("x")', False), ('reset("x"); answer = 1', False),
    ('reset("x") or print("mine")', False), ('# mine\nreset("x")', False), ("def leave(): return 1", False), ("", False)])
def test_only_a_cell_with_nothing_else_gives_its_place_to_the_skeleton(monkeypatch, cell, alone):
    monkeypatch.setitem(linecache.cache, "<cell>", (len(cell), None, cell.splitlines(True), "<cell>"))
    assert skeleton._is_alone(SimpleNamespace(f_code=SimpleNamespace(co_filename="<cell>"))) is alone


def test_on_colab_it_says_that_the_machine_is_thrown_away(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "google.colab", sys)
    progress()
    assert "Kept on this machine only, which Colab throws away" in capsys.readouterr().out
    set_language("zh")
    progress()
    assert "Colab 最终会回收它" in capsys.readouterr().out


def test_modelscope_keeps_its_work_folder(tmp_path, monkeypatch):
    monkeypatch.delenv("XDG_DATA_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setattr(marks, "MODELSCOPE", tmp_path / "workspace")
    monkeypatch.delenv("APPDATA", raising=False)
    assert marks.data_folder() == tmp_path / "home" / ".local" / "share" / "advantagelab"
    (tmp_path / "workspace").mkdir()
    assert marks.data_folder() == tmp_path / "workspace" / ".advantagelab"


def test_the_solved_notebook_keeps_nothing(learner, capsys):
    open_lesson(learn_data(RLOO, solved=True))
    check(RIGHT)
    progress()
    assert recall() == [] and not learner.exists()
    assert "its checks do not count" in capsys.readouterr().out


def test_under_nbgrader_nothing_is_kept_shown_or_put_back(learner, capsys, monkeypatch):
    monkeypatch.setenv("NBGRADER_EXECUTION", "autograde")
    check(WRONG)
    graded = capsys.readouterr().out
    progress()
    reset(LOO)
    assert capsys.readouterr().out == "" and not learner.exists() and "Read again" not in graded


def test_a_failed_check_names_the_paragraph_that_explains_it(capsys, monkeypatch):
    shown = []
    monkeypatch.setattr(after_checks, "show", lambda plain, rich: shown.append((plain, rich)))
    check(function("return torch.where(rewards.isnan(), 0.0, rewards - (rewards.nansum() - rewards.nan_to_num()) / (len(rewards) - 1))"))
    first = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("✗"))
    assert "each_group" in first
    assert shown == [('Read again: "Who may be compared"', 'Read again: <a href="#cell-id=groups">"Who may be compared"</a>')]
    set_language("zh")
    monkeypatch.setitem(sys.modules, "google.colab", sys)  # whose outputs cannot link into the notebook
    check(WRONG)
    assert shown[1] == ("重读“留一法”", "重读“留一法”")
    check(OPEN)
    check(RIGHT)
    assert len(shown) == 2


def test_what_no_paragraph_explains_the_docstring_does(monkeypatch):
    shown = []
    monkeypatch.setattr(after_checks, "show", lambda plain, rich: shown.append(rich))
    of_rloo = lesson.the_lesson().todos[LOO]
    after_checks._read_again(of_rloo, f"check_{LOO}_keeps_float64")
    set_language("zh")
    after_checks._read_again(of_rloo, f"check_{LOO}_refuses_bad_input")
    assert shown == [f'Read again: <a href="#cell-id=leave-one-out-advantages">the docstring of {LOO}</a>',
                     f'重读<a href="#cell-id=leave-one-out-advantages">函数 {LOO} 的文档字符串</a>']


@pytest.mark.parametrize("name", [entry.name for entry in COURSE.lessons])
def test_every_link_leads_to_a_cell_of_the_notebook_above_the_check(name):
    """And what is handed over holds no solution."""
    of_lesson = read_lesson(COURSE, name)
    data = json.loads(learn_data(of_lesson, solved=False))
    assert [todo["function"] for todo in data["todos"]] == of_lesson.functions
    assert {entry["lesson"]: entry["todos"] for entry in data["course"]}[name] == of_lesson.functions
    notebooks = [build_notebook(of_lesson, language, "learner") for language in ("en", "zh")] if of_lesson.functions else []
    for todo in data["todos"]:
        assert todo["hints"] and todo["explained"] and "NotImplementedError" in todo["skeleton"] and "SOLUTION" not in todo["skeleton"]
        for place, notebook in enumerate(notebooks):
            ids = [cell.id for cell in notebook.cells]
            prose = [cell.source if cell.cell_type == "markdown" else "" for cell in notebook.cells]
            (own,) = [cell for cell in notebook.cells if cell.cell_type == "code" and f"\ndef {todo['function']}(" in cell.source]
            assert own.source.endswith(todo["skeleton"])
            for key, headings, _ in todo["explained"]:
                assert ids.index(key) < ids.index(own.id)
                assert headings[place] in "".join(prose[:ids.index(key) + 1])


@pytest.mark.parametrize("old, new, words", [
    ("leave-one-out: [sign", "leave-one-in: [sign", "there is no prose cell leave-one-in before this one"),
    ("leave-one-out: [sign", "all-checks-intro: [sign", "there is no prose cell all-checks-intro before this one"),
    ("leave-one-out: [sign", "leave-one-out: [sin", "no visible check of leave_one_out_advantages begins with sin"),
    ("leave-one-out: [sign, keeps_the_scale, excludes, averages]", "leave-one-out: sign", "explained is {KEY"),
    ("leave-one-out: [sign, keeps_the_scale, excludes, averages]", "leave-one-out: []", "explained is {KEY"),
])
def test_the_build_refuses_an_explanation_that_explains_nothing(tmp_path, old, new, words):
    for part in ("lessons/course.toml", *(f"lessons/rloo/{file}" for file in ("lesson.md", "checks.py", "spec.py"))):
        (tmp_path / part).parent.mkdir(parents=True, exist_ok=True)
        text = (ROOT / part).read_text(encoding="utf-8")
        (tmp_path / part).write_text(text.replace(old, new) if part.endswith("lesson.md") else text, encoding="utf-8")
        assert not part.endswith("lesson.md") or old in text
    with pytest.raises(Refused, match="leave-one-out-advantages.*" + words.replace("{", "\\{")):
        learn_data(read_lesson(read_course(tmp_path / "lessons"), "rloo"), solved=False)


def test_what_is_written_in_the_cell_of_a_reset_is_what_a_grader_runs():
    """The first attempt stays in the answer's cell, and the new one below it counts."""
    notebook = build_notebook(RLOO, "en", "learner")
    at = next(number for number, cell in enumerate(notebook.cells) if cell.id == "leave-one-out-advantages")
    todo = lesson.the_todo(LOO)
    stub = next(line for line in todo.skeleton.splitlines() if "raise NotImplementedError" in line)
    notebook.cells[at].source = notebook.cells[at].source.replace(stub, "        pass  # first")
    second = f"{skeleton.opening(todo)}\n{todo.skeleton}".replace(stub, "        pass  # second")
    notebook.cells.insert(at + 2, nbformat.v4.new_code_cell(second))
    code = read_submission(nbformat.writes(notebook).encode(), RLOO).code
    written = [cell for cell in code if f"def {LOO}(" in cell.source]
    assert [cell.role for cell in written] == ["exercise", "added"] and "# second" in written[-1].source
