"""Lesson 07's code cells: run in order, out of order, and with a typo."""

import pytest

import advantagelab.tinylm
import lessons._build.notebook as notebook_module
from advantagelab.methods import METHODS
from advantagelab.tinylm.unfinished import Unfinished, UnknownName
from lessons._build.course import read_course
from lessons._build.lesson import read_lesson
from lessons._build.notebook import build_notebook

FOLDED = ("from-rloo", "from-grpo", "from-om-grpo", "from-cast", "methods")


@pytest.fixture(scope="module")
def cells():
    """Key → source."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(notebook_module, "payload_files", lambda code, **_: {})  # cutting the font takes long
        notebook = build_notebook(read_lesson(read_course(), "training_lab"), "en", "learner")
    return {cell.id: cell.source for cell in notebook.cells if cell.cell_type == "code"}


def run(cells: dict, *keys: str, changed: tuple[str, str] = ("", "")) -> dict:
    """These cells in a kernel that has just been started: not even the set-up cell was run."""
    namespace = {"__name__": "notebook"}
    for key in keys:
        exec(compile(cells[key].replace(*changed), f"<{key}>", "exec"), namespace)
    return namespace


@pytest.fixture()
def trained(monkeypatch):
    """What `train` was called with."""
    calls = []
    monkeypatch.setattr(advantagelab.tinylm, "train", lambda *arguments, **named: calls.append((*arguments, named["watch"])))
    return calls


def test_the_live_cell_needs_the_folded_ones_alone(cells, trained):
    run(cells, *FOLDED, "live")
    ((method, base, seed, settings, watch),) = trained
    assert method.answer_mask and (base, seed, settings) == ("half", 7, None)
    assert list(watch._bands) == ["grpo", "majority_vote", "om_grpo"]


@pytest.mark.parametrize("left_out", FOLDED)
def test_without_one_of_them_it_says_so_in_one_line(cells, trained, left_out):
    with pytest.raises(Unfinished, match=r"is not defined: run the five folded cells of Step 2 first \| .*请先运行第 2 步的五个折叠单元$"):
        run(cells, *(key for key in FOLDED if key != left_out), "live")
    assert not trained


def test_a_small_pool_is_drawn_over_the_recorded_runs_with_one(cells, trained):
    run(cells, *FOLDED, "live", changed=("settings = None", "settings = Settings(pool=64)"))
    ((_, base, seed, settings, watch),) = trained
    assert list(watch._bands) == ["grpo_pool_64", "majority_vote_pool_64", "om_grpo_pool_64"]
    assert (base, seed, settings) == ("half", 7, METHODS["om_grpo_pool_64"].settings)


def test_another_base_has_its_own_bands_and_a_typo_is_told_with_the_names_there_are(cells, trained):
    run(cells, *FOLDED, "live", changed=('choose(METHODS, "om_grpo")', 'choose(METHODS, "distillation")'))
    ((method, base, *_, watch),) = trained
    assert base == "direct" and method.teacher and list(watch._bands) == ["grpo.direct", "cast"]
    with pytest.raises(UnknownName, match=r"there is no 'OM-GRPO', but grpo, rloo, .*, grpo_teacher \| 没有 'OM-GRPO'，可选：grpo、rloo、"):
        run(cells, *FOLDED, "live", changed=('choose(METHODS, "om_grpo")', 'choose(METHODS, "OM-GRPO")'))


def test_the_table_of_settings_needs_no_other_cell_and_compares_the_same_seeds(cells, capsys):
    run(cells, "sensitivity")
    head, five, two, *rows = capsys.readouterr().out.splitlines()
    assert head.split() == ["grpo", "majority_vote", "om_grpo"]
    assert five.endswith("学习率 0.0002，题池 512，β 0.005；5 个种子") and "rate 0.0002, pool 512, β 0.005; 5 seeds" in five
    assert "2 seeds as below" in two and five.split()[0] != two.split()[0]
    said = [row[66:].strip() for row in rows]
    assert said == ["rate 0.0001 | 学习率 0.0001", "rate 0.0005 | 学习率 0.0005", "rate 0.001 | 学习率 0.001", "pool 64 | 题池 64",
                    "pool 6788 | 题池 6788", "β 0", "β 0.1"]
