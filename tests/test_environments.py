"""The locked environments agree: what one includes stands in it, in the same versions."""

import importlib
import importlib.util
import re

import pytest

from lessons._build.course import read_course
from tests.needs import ROOT

FOLDER = ROOT / "environments"


def load(name: str):
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


INCLUDES = {"base-cpu": [], "pt-cpu": ["base-cpu"], "grader": ["base-cpu"], "dev": ["base-cpu", "pt-cpu", "grader"], "colab-like": []}


def pins(name: str) -> dict[str, str]:
    lines = (FOLDER / f"{name}.lock.txt").read_text(encoding="utf-8").splitlines()
    assert lines[0].startswith(f"# {name}: exact versions.") and all(re.fullmatch(r"[\w.-]+==[\w.!+-]+", line) for line in lines[1:])
    return {re.sub(r"[-_.]+", "-", package).lower(): version for package, version in (line.split("==") for line in lines[1:])}


def wanted(name: str) -> set[str]:
    """What its requirements name, those that they include among them."""
    names = set()
    for line in (FOLDER / f"{name}.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("-r "):
            names |= wanted(line[3:].removesuffix(".txt"))
        elif line and not line.startswith("#"):
            names.add(re.sub(r"[-_.]+", "-", line.split("==")[0]).lower())
    return names


@pytest.mark.parametrize("name", INCLUDES)
def test_a_lock_holds_what_is_wanted_and_what_it_includes(name):
    assert wanted(name) <= pins(name).keys()
    for included in INCLUDES[name]:
        assert pins(included).items() <= pins(name).items(), included


def test_every_environment_is_one_that_can_be_installed():
    assert tuple(INCLUDES) == load("install").LOCKED


def test_torch_is_no_cuda_build():
    assert not [package for name in INCLUDES for package in pins(name) if package.startswith(("nvidia", "cuda", "triton"))]


def test_the_table_of_environments_says_what_was_not_run_and_what_failed():
    matrix = importlib.import_module("environments.matrix")
    row = matrix.ROWS[0]
    assert matrix.find_python("2.0") is None
    assert "| not run: no Python 3.13 on this machine |" in matrix.line(row, "no Python 3.13 on this machine")
    count = len(read_course().lessons)
    assert f"| {count} of {count} notebooks |" in matrix.line(row, [])
    assert f"| {count - 1} of {count} notebooks<br>03_rloo: a<br>03_rloo: b |" in matrix.line(row, ["03_rloo: a", "03_rloo: b"])


def test_the_written_table_counts_the_lessons_of_the_course():
    """docs/environments.md, written by `make matrix`, which nobody may have run since a lesson was added."""
    count = len(read_course().lessons)
    written = re.findall(r"\d+ of \d+ notebooks", (ROOT / "docs" / "environments.md").read_text(encoding="utf-8"))
    assert set(written) == {f"{count} of {count} notebooks"}, "run `make matrix`"


def test_the_table_holds_the_locked_torch_the_oldest_supported_one_and_every_python():
    rows = importlib.import_module("environments.matrix").ROWS
    oldest = re.search(r'"torch>=([\d.]+)"', (ROOT / "pyproject.toml").read_text(encoding="utf-8")).group(1)
    assert pins("base-cpu")["torch"] in {row.torch for row in rows} and f"{oldest}.0" in {row.torch for row in rows}
    assert {row.python for row in rows} == {"3.11", "3.12", "3.13"}
