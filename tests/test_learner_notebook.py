"""The learner's notebook as a learner has it: one file in an empty folder, no network, no installed package of the course."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from lessons._build.code_cells import Module
from lessons._build.course import LANGUAGES, read_course
from lessons._build.lesson import read_lesson
from lessons._build.regions import regions, stub_lines
from tests.needs import ROOT, colab_python
from tests.whole import ALL, languages

COURSE = read_course()
LESSONS = [read_lesson(COURSE, entry.name) for entry in COURSE.lessons]
BOTH = pytest.mark.parametrize("language", LANGUAGES)
WITH_TODOS = [lesson for lesson in LESSONS if lesson.functions]
TRAINING = [lesson for lesson in LESSONS if any(cell.key == "train-cell" for cell in lesson.cells)]


def by_turns(lessons, turn: int):
    """Each lesson in one language, English and Chinese by turns; with ALL=1 in both. Their code differs in the set-up cell alone."""
    return pytest.mark.parametrize(("lesson", "language"), [
        pytest.param(lesson, language, id=f"{lesson.entry.name}-{language}")
        for lesson in lessons for language in languages(LESSONS.index(lesson) + turn)])


def untouched(lessons):
    """The same with the versions of the packages: two lessons with ours, two with Colab's, by turns; with ALL=1 each with both."""
    return pytest.mark.parametrize(("lesson", "language", "versions"), [
        pytest.param(lesson, language, versions, id=f"{lesson.entry.name}-{language}-{versions}")
        for lesson in lessons for language in languages(LESSONS.index(lesson))
        for versions in (("ours", "Colab's") if ALL else [("ours", "Colab's")[LESSONS.index(lesson) // 2 % 2]])])


# Runs before a kernel's own code: the course's package is hidden, and any look outside the machine is written down and refused.
OUTSIDE_REFUSED = """
import socket, sys
sys.meta_path[:] = [finder for finder in sys.meta_path if "__editable__" not in getattr(finder, "__module__", "") + repr(finder)]
sys.path[:] = [entry for entry in sys.path if entry.rstrip("/") != {root!r} and "__editable__" not in entry]
_look_up, _connect = socket.getaddrinfo, socket.socket.connect
def _log(address):
    with open({log!r}, "a") as log:
        print(address, file=log)
    raise OSError("no network in this test")
def getaddrinfo(host, *rest, **named):
    return _look_up(host, *rest, **named) if host in (None, "", "localhost", "127.0.0.1", "::1") else _log(host)
def connect(self, address):
    inside = not isinstance(address, tuple) or address[0] in ("localhost", "127.0.0.1", "::1")
    return _connect(self, address) if inside else _log(address)
socket.getaddrinfo, socket.socket.connect = getaddrinfo, connect
"""


def learner_notebook(lesson, language: str) -> nbformat.NotebookNode:
    return nbformat.read(ROOT / "notebooks" / language / f"{lesson.entry.notebook}.ipynb", 4)


def run_alone(notebook: nbformat.NotebookNode, folder: Path, python: Path = Path(sys.executable)) -> nbformat.NotebookNode:
    """The notebook after Run All in an empty folder."""
    site, work = folder / "site", folder / "work"
    site.mkdir(parents=True)
    work.mkdir()
    log = folder / "outside.log"
    (site / "sitecustomize.py").write_text(OUTSIDE_REFUSED.format(root=str(ROOT), log=str(log)))
    path = work / "lesson.ipynb"
    nbformat.write(notebook, path)
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "ADVANTAGELAB", "NBGRADER"))}
    environment |= {"PYTHONPATH": str(site), "OMP_NUM_THREADS": "1", "HOME": str(folder), "IPYTHONDIR": str(folder / "ipython"),
                    "ADVANTAGELAB_QUICK": "0" if ALL else "1"}  # training: a few steps, or the whole run
    ran = subprocess.run([python, ROOT / "tests" / "run_alone.py", path], env=environment, cwd=work, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr[-3000:]
    assert not log.exists(), f"the notebook looked outside: {log.read_text()}"
    assert [file.name for file in work.iterdir()] == ["lesson.ipynb"], "the notebook left files behind"
    return nbformat.read(path, 4)


def fill_in(notebook: nbformat.NotebookNode, algorithm: Module) -> None:
    """Put the reference's solution regions, and nothing else, where the stubs stand."""
    lines = algorithm.text.splitlines()
    for region in regions(algorithm.text):
        (line,) = stub_lines(region)
        solution = "\n".join(lines[region.begin + 1:region.end])
        (cell,) = [cell for cell in notebook.cells if cell.cell_type == "code" and line in cell.source]
        cell.source = cell.source.replace(region.indent + line, solution)


def text_of(cell) -> str:
    return "".join(output.get("text", "") for output in cell.outputs)


def errors_of(notebook) -> list[str]:
    return [output.ename for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs if output.output_type == "error"]


def assert_shows_everything(notebook, lesson) -> None:
    """No stderr anywhere, and each widget cell gives a widget, a picture and words."""
    for cell in notebook.cells:
        if cell.cell_type == "code":
            assert not [output for output in cell.outputs if output.get("name") == "stderr"], (cell.id, text_of(cell))
    widgets = {cell.key for cell in lesson.cells if cell.role == "widget"}
    for cell in notebook.cells:
        if cell.id in widgets:
            (output,) = cell.outputs
            assert output.data["image/png"] and output.data["text/plain"], cell.id


@pytest.fixture(scope="module")
def after_run_all(tmp_path_factory):
    """(lesson, language, filled in or not, whose versions) → the notebook after Run All, which several tests look at."""

    notebooks = {}

    def ran(lesson, language: str, filled: bool, versions: str = "ours") -> nbformat.NotebookNode:
        key = (lesson.entry.name, language, filled, versions)
        if key not in notebooks:
            notebook = learner_notebook(lesson, language)
            if filled:
                fill_in(notebook, lesson.algorithm)
            python = colab_python() if versions == "Colab's" else Path(sys.executable)
            notebooks[key] = run_alone(notebook, tmp_path_factory.mktemp("alone") / "run", python)
        return notebooks[key]

    return ran


@untouched(LESSONS)
def test_run_all_on_the_untouched_notebook_goes_to_the_end(lesson, language, versions, after_run_all):
    notebook = after_run_all(lesson, language, False, versions)
    assert_shows_everything(notebook, lesson)
    for check in (cell for cell in lesson.cells if cell.role == "check"):
        (cell,) = [built for built in notebook.cells if built.id == check.key]
        number = next(region.number for region in regions(lesson.algorithm.text) if region.function == check.check)
        assert re.search(rf"TODO {number}\b", text_of(cell)) and "✓" not in text_of(cell), text_of(cell)
        (output,) = [output for output in cell.outputs if output.output_type == "error"]
        assert output.ename == "ChecksFailed" and output.traceback == [f"ChecksFailed: {output.evalue}"]


@by_turns(WITH_TODOS, 1)
def test_filling_in_the_regions_alone_passes_every_visible_check(lesson, language, after_run_all):
    notebook = after_run_all(lesson, language, True)
    assert errors_of(notebook) == []
    assert_shows_everything(notebook, lesson)
    (summary,) = [cell for cell in notebook.cells if cell.id == "all-checks"]
    total = len(lesson.functions)
    assert f"{total} of {total} TODOs done" in text_of(summary), text_of(summary)


@untouched(TRAINING)
def test_training_with_an_open_todo_is_one_sentence(lesson, language, versions, after_run_all):
    (cell,) = [cell for cell in after_run_all(lesson, language, False, versions).cells if cell.id == "train-cell"]
    (told,) = cell.outputs
    assert told.ename == "Unfinished" and told.traceback == [f"Unfinished: {told.evalue}"] and "TODO" in told.evalue


@by_turns(TRAINING, 1)
def test_training_shows_one_picture(lesson, language, after_run_all):
    (done,) = [cell for cell in after_run_all(lesson, language, True).cells if cell.id == "train-cell"]
    (shown,) = done.outputs
    steps = 105 if ALL else 4
    assert shown.data["image/png"] and {"en": f"at step {steps};", "zh": f"第 {steps} 步"}[language] in shown.data["text/plain"]


def test_colab_s_versions_are_those_that_colab_has():
    versions = subprocess.run([colab_python(), "-m", "pip", "list", "--format=json"], capture_output=True, text=True, check=True).stdout
    have = {entry["name"]: entry["version"] for entry in json.loads(versions)}
    assert (have["ipython"], have["ipywidgets"], have["matplotlib"]) == ("7.34.0", "7.7.1", "3.10.0")
    assert "advantagelab" not in have


@BOTH
def test_an_edited_payload_is_refused_in_both_languages(language, tmp_path):
    notebook = learner_notebook(LESSONS[0], language)
    setup = notebook.cells[1]
    notebook.cells = [setup]
    setup.source = re.sub(r'("[0-9a-f]{64}", ")(.)', lambda match: match[1] + ("1" if match[2] != "1" else "2"), setup.source)
    setup.metadata.tags = ["raises-exception"]
    (output,) = run_alone(notebook, tmp_path).cells[0].outputs
    assert output.ename == "ImportError" and "fresh copy" in output.evalue and "重新取一份" in output.evalue


def test_a_checkout_above_the_notebook_is_used(tmp_path):
    """A learner who works inside a copy of the course gets that copy's package, not the one in the cell."""
    package = tmp_path / "work" / "advantagelab"
    notebook = learner_notebook(LESSONS[0], "en")
    notebook.cells = [notebook.cells[1], nbformat.v4.new_code_cell("print(advantagelab.__file__)")]
    shutil.copytree(ROOT / "advantagelab", tmp_path / "copy" / "advantagelab", ignore=shutil.ignore_patterns("__pycache__"))
    folder = tmp_path / "copy" / "my-work"
    folder.mkdir()
    notebook = run_alone(notebook, folder)
    assert text_of(notebook.cells[1]).strip() == str(tmp_path / "copy" / "advantagelab" / "__init__.py")
    assert not package.exists()
