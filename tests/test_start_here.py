"""What lesson 00 tells its reader, tried: the mistake made on purpose, the numbers, the verdict as the table explains it."""

import re
from pathlib import Path

import pytest
import torch

from advantagelab.algorithms.start_here import mean_reward
from advantagelab.checking.run import ChecksFailed, run_checks
from lessons._build.answers import with_region
from lessons._build.code_cells import Module
from lessons._build.course import read_course
from lessons._build.lesson import read_lesson
from lessons._build.notebook import build_notebook
from lessons.start_here import checks

ROOT = Path(__file__).parent.parent
SOURCE = (ROOT / "lessons" / "start_here" / "lesson.md").read_text(encoding="utf-8")
ALGORITHM = Module(ROOT / "advantagelab" / "algorithms" / "start_here.py")
VISIBLE = {name: check for name, check in vars(checks).items() if name.startswith("check_")}
WRONG_ON_PURPOSE = "mean = rewards.nan_to_num(0.0).mean()"


def test_numbers_of_step_1():
    rewards = torch.tensor([1.0, float("nan"), 0.5])
    assert SOURCE.count("$(1+0.5)/2=0.75$") == SOURCE.count("$(1+0+0.5)/3=0.5$") == 2
    assert mean_reward(rewards) == (1 + 0.5) / 2 == 0.75
    assert rewards.nan_to_num(0.0).mean() == (1 + 0 + 0.5) / 3 == 0.5


def test_the_mistake_made_on_purpose_reads_as_the_lesson_says(capsys):
    assert SOURCE.count(WRONG_ON_PURPOSE) == 2
    namespace = with_region(ALGORITHM, 1, WRONG_ON_PURPOSE)
    with pytest.raises(ChecksFailed, match="6 of 8 checks passed"):
        run_checks({**namespace, **VISIBLE}, "mean_reward")
    visible = capsys.readouterr().out.splitlines()
    failed = [line for line in visible if line.startswith("✗")]
    first = visible.index(failed[0])
    assert re.fullmatch(r"✗ check_mean_reward_missing_is_not_zero  \d+ ms", failed[0])
    english, chinese, expected, got = visible[first + 1:first + 5]
    assert english.strip().startswith("Two rewards are there") and chinese.strip().startswith("现有的奖励有两个")
    assert expected.split("  ")[-1] == "0.75" and got.split("  ")[-1] == "[0.5] float32 []"
    for part in ("`✗ check_mean_reward_missing_is_not_zero`", "`expected`", "`0.75`", "`got`", "`[0.5] float32 []`"):
        assert SOURCE.count(part) == 2


def test_what_the_lesson_points_at_is_there():
    for language in ("en", "zh"):
        lesson = read_lesson(read_course(), "start_here")
        cells = {cell.id: cell for cell in build_notebook(lesson, language, "learner").cells}
        for key in ("step-2", "mean-reward"):
            assert cells[key].source.count("raise NotImplementedError(") == 1
        setup = cells["setup"].source.splitlines()[-1]
        assert "Advantage Lab {" in setup and "torch {" in setup
        assert f"`{lesson.entry.notebook}.ipynb`" in cells["hand-in"].source
        titles = dict(re.findall(r"^\| (\d\d) (.+?) \|", cells["map"].source, re.M))
        wanted = [entry.number for entry in read_course().lessons]
        assert list(titles) == wanted, f"the map in lessons/start_here/lesson.md ({language}) has rows {list(titles)}, the course {wanted}"
        assert titles["00"] == lesson.entry.title[language == "zh"]
