"""What `make lab` does to a learner's files: it adds what is new, and never touches what is there."""

import importlib.util

import pytest

from tests.needs import ROOT


@pytest.fixture
def open_lab(tmp_path, monkeypatch):
    spec = importlib.util.spec_from_file_location("open_lab", ROOT / "environments" / "open_lab.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.setattr(module, "WORK", tmp_path / "my-work")
    for language in ("en", "zh"):
        (tmp_path / "notebooks" / language).mkdir(parents=True)
        (tmp_path / "notebooks" / language / "03_rloo.ipynb").write_text("built")
    return module


def test_an_answer_is_never_overwritten(open_lab, tmp_path):
    assert len(open_lab.copy_new_notebooks()) == 2
    mine = tmp_path / "my-work" / "zh" / "03_rloo.ipynb"
    mine.write_text("my answer")
    (tmp_path / "notebooks" / "zh" / "03_rloo.ipynb").write_text("rebuilt")
    (tmp_path / "notebooks" / "zh" / "04_grpo.ipynb").write_text("new")
    assert open_lab.copy_new_notebooks() == [tmp_path / "my-work" / "zh" / "04_grpo.ipynb"]
    assert mine.read_text() == "my answer"


def test_a_renamed_notebook_is_joined_by_a_fresh_one(open_lab, tmp_path):
    open_lab.copy_new_notebooks()
    mine = tmp_path / "my-work" / "en" / "03_rloo.ipynb"
    mine.rename(mine.with_name("first try.ipynb"))
    assert open_lab.copy_new_notebooks() == [mine] and mine.with_name("first try.ipynb").exists()
