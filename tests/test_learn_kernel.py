"""The learner's commands through a real kernel, of this environment and of Colab's versions, across a restart."""

import sys

import nbformat
import pytest

from lessons._build.course import read_course
from lessons._build.lesson import read_lesson
from lessons._build.notebook import build_notebook
from tests.needs import colab_python
from tests.test_learner_notebook import run_alone, text_of

LESSON = read_lesson(read_course(), "start_here")
STUB = 'raise NotImplementedError("TODO 1: Mean reward | 平均奖励")'
WRONG, RIGHT = "mean = rewards.nan_to_num(0.0).mean()", "mean = rewards[~rewards.isnan()].mean()"


@pytest.fixture(scope="module", params=["here", "colab"])
def python(request):
    return sys.executable if request.param == "here" else colab_python()


@pytest.fixture(scope="module")
def built():
    return {language: build_notebook(LESSON, language, "learner") for language in ("en", "zh")}


def notebook_of(built, *cells: str, answer: str = STUB):
    """The set-up cell, the answer, and these: keys of the lesson's own cells, or code."""
    own = {cell.id: cell for cell in nbformat.from_dict(built).cells}
    own["mean-reward"].source = own["mean-reward"].source.replace(STUB, answer)
    picked = [own.get(cell) or nbformat.v4.new_code_cell(cell) for cell in ("setup", "mean-reward", *cells)]
    for cell in picked:
        cell.metadata.tags = ["raises-exception"]
    return nbformat.v4.new_notebook(cells=picked, metadata=built.metadata)


def plain(cell) -> str:
    (output,) = cell.outputs
    return output.data["text/plain"]


def test_the_commands_and_a_restart(built, python, tmp_path, monkeypatch):
    data = tmp_path / "data" / "advantagelab"
    monkeypatch.setenv("XDG_DATA_HOME", str(data.parent))
    commands = ["check-mean-reward", 'hint("mean_reward")', 'hint("mean_reward")', 'hint("mean")', 'reset("mean_reward")',
                "mean_reward(torch.ones(2))", "progress()"]
    _, _, check, first, second, unknown, put_back, stub, board = run_alone(
        notebook_of(built["en"], *commands, answer=WRONG), tmp_path / "one", python).cells
    assert [output.output_type for output in check.outputs] == ["stream", "display_data", "error"]
    assert check.outputs[1].data["text/html"] == 'Read again: <a href="#cell-id=step-1">"Step 1: Missing is not zero"</a>'
    assert "Hint 2" not in plain(first) and "Hint 2 of 2." in plain(second) and "text/markdown" in second.outputs[0].data
    (error,) = unknown.outputs
    assert error.traceback == [f"NoSuchTodo: {error.evalue}"] and 'Did you mean "mean_reward"?' in error.evalue
    assert "is unwritten again" in plain(put_back) and stub.outputs[0].ename == "NotImplementedError"
    (attempt,) = (data / "attempts" / "start_here").iterdir()
    assert attempt.name == "mean_reward-1.py" and WRONG in attempt.read_text(encoding="utf-8")
    assert "✗ wrong" in plain(board) and "<td" in board.outputs[0].data["text/html"]

    commands = ["progress()", 'reset("mean_reward")', "check-mean-reward", "progress()"]
    _, _, board, put_back, _, after = run_alone(notebook_of(built["zh"], *commands, answer=RIGHT), tmp_path / "two", python).cells
    assert "✗ 有错  现有的奖励有两个" in plain(board), "the restart has lost the mark"
    assert "已恢复成还没写的样子" in plain(put_back)
    assert RIGHT in (data / "attempts" / "start_here" / "mean_reward-2.py").read_text(encoding="utf-8")
    assert "· 待完成" in plain(after)


def test_a_reset_right_after_a_restart(built, tmp_path):
    """Before the answer's cell has run: the kernel knows no attempt, and the function is the skeleton all the same."""
    notebook = notebook_of(built["en"], 'reset("mean_reward")', "mean_reward(torch.ones(2))")
    del notebook.cells[1]
    _, put_back, stub = run_alone(notebook, tmp_path).cells
    assert "Whatever you wrote stands unchanged" in plain(put_back) and stub.outputs[0].ename == "NotImplementedError"


def test_a_stop_of_the_set_up_cell_is_two_lines_without_the_payload(built, python, tmp_path):
    notebook = notebook_of(built["zh"], "'after'")
    notebook.cells[1:2] = []
    notebook.cells.insert(0, nbformat.v4.new_code_cell("import numpy\nnumpy.__version__ = '1.2.3'"))
    _, setup, after = run_alone(notebook, tmp_path, python).cells
    (output,) = setup.outputs
    assert output.ename == "ImportError" and len(output.traceback) == 2
    assert output.traceback[0].startswith("ImportError: numpy 1.2.3 is loaded") and "请重启内核" in output.traceback[1]
    assert text_of(after) == ""
