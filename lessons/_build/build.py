"""From lessons/ to notebooks/ and solutions/: write them, or say what differs."""

import base64
import hashlib
import re
from itertools import zip_longest
from pathlib import Path

import nbformat

from .course import LANGUAGES, ROOT, Course, ExtraEntry
from .lesson import Lesson, read_extra, read_lesson
from .notebook import build_notebook
from .payload import unpack
from .prose_gate import check_words
from .refusal import Refused
from .run import output_faults, run_notebook

FOLDERS = {"learner": "notebooks", "solution": "solutions"}
PAYLOAD_LIMIT = {"00": 150_000, "01": 150_000, "02": 150_000, "07": 5_000_000}
PAYLOAD_LIMIT_DEFAULT = 450_000


def build(course: Course, output: Path = ROOT, run: bool = False) -> list[Path]:
    """Write every notebook. Outputs are kept where no code changed; `run` runs the solved notebooks and refreshes them.

    All are made before the first is written, so that what is refused leaves everything as it was.
    """
    made = [(lesson, language, {kind: _made(lesson, language, kind, output) for kind in kinds})
            for lesson, kinds in _sources(course) for language in LANGUAGES]
    written = []
    for lesson, language, notebooks in made:
        files = {kind: _file(output, kind, language, lesson) for kind in notebooks}
        if isinstance(lesson.entry, ExtraEntry):  # nothing is to be filled in: it shows what it gave where it was run, here without a GPU
            notebooks["learner"] = _with_outputs(notebooks["learner"], files["learner"], run, {"CUDA_VISIBLE_DEVICES": ""})
        else:
            notebooks["solution"] = _with_outputs(notebooks["solution"], files["solution"], run)
            _take_pictures(notebooks["learner"], notebooks["solution"], lesson)
        for kind, notebook in notebooks.items():
            files[kind].parent.mkdir(parents=True, exist_ok=True)
            files[kind].write_text(_text(notebook), encoding="utf-8")
            written.append(files[kind])
    return written


def _sources(course: Course) -> list[tuple[Lesson, tuple[str, ...]]]:
    """Every lesson and extra, its words held against each other, and the kinds of its notebooks, the one with outputs first."""
    found = [(read_lesson(course, entry.name), ("solution", "learner")) for entry in course.lessons]
    found += [(read_extra(course, entry), ("learner",)) for entry in course.extras]
    for lesson, _ in found:
        check_words(lesson)
    return found


def _made(lesson: Lesson, language: str, kind: str, output: Path) -> nbformat.NotebookNode:
    notebook = build_notebook(lesson, language, kind)
    _check_payload_size(notebook, _file(output, kind, language, lesson), getattr(lesson.entry, "number", None))
    return notebook


def _with_outputs(notebook: nbformat.NotebookNode, file: Path, run: bool, environment: dict | None = None) -> nbformat.NotebookNode:
    """Of a run, in the folder of the file, which is there afterwards; else those of the file, where no code changed."""
    file.parent.mkdir(parents=True, exist_ok=True)
    if run:
        return run_notebook(notebook, file.parent, environment)
    if file.exists():
        _take_outputs(notebook, _read(file))
    return notebook


def check(course: Course, output: Path = ROOT) -> list[Path]:
    """Refuse a built file that is not what its source gives. Outputs are not compared, only held to their kinds."""
    checked = []
    for lesson, kinds in _sources(course):
        for language in LANGUAGES:
            for kind in kinds:
                file, built, expected = _check_source(output, lesson, language, kind)
                if kind == kinds[0]:
                    shown = built
                    _check_outputs(file, built, lesson)
                else:
                    _take_pictures(expected, shown, lesson)
                    for mine, theirs in zip(expected.cells, built.cells, strict=True):
                        if mine.get("outputs") != theirs.get("outputs"):
                            raise Refused(file, "its outputs are not the solved notebook's pictures. Run `make notebooks`", key=mine.id)
                checked.append(file)
    expected_files = set(checked)
    for folder in FOLDERS.values():
        for file in sorted((output / folder).rglob("*.ipynb")):
            if file not in expected_files and ".ipynb_checkpoints" not in file.parts:
                raise Refused(file, "no lesson builds this file: delete it, or add its lesson to course.toml")
    return checked


def _check_source(output: Path, lesson: Lesson, language: str, kind: str) -> tuple:
    """(file, the notebook in it, what its source gives), which differ in outputs only."""
    file = _file(output, kind, language, lesson)
    if not file.exists():
        raise Refused(file, "not built: run `python -m lessons build`")
    built, expected = _read(file), _made(lesson, language, kind, output)
    _check_same(file, built, expected)
    return file, built, expected


def _file(output: Path, kind: str, language: str, lesson: Lesson) -> Path:
    return output / FOLDERS[kind] / language / f"{lesson.entry.notebook}.ipynb"


def _read(file: Path) -> nbformat.NotebookNode:
    try:
        return nbformat.read(file, 4)
    except Exception as error:  # whatever the damage brings about
        raise Refused(file, f"not a notebook, delete it and build again: {error}") from error


def _text(notebook: nbformat.NotebookNode) -> str:
    return nbformat.writes(notebook, indent=1, ensure_ascii=False) + "\n"


def _check_same(file: Path, built: nbformat.NotebookNode, expected: nbformat.NotebookNode) -> None:
    hint = "a built file is never edited: change lessons/ or advantagelab/ and run `make notebooks`"
    ours, theirs = [cell.id for cell in expected.cells], [cell.get("id") for cell in built.cells]
    if ours != theirs:
        odd = [key for key in theirs if key not in ours] + [key for key in ours if key not in theirs]
        raise Refused(file, f"its cells are not those of the source ({', '.join(map(str, odd)) or 'another order'}); {hint}")
    for mine, theirs in zip(expected.cells, built.cells, strict=True):
        for part in sorted((mine.keys() | theirs.keys()) - {"source", "outputs", "execution_count"}):
            if mine.get(part) != theirs.get(part):
                raise Refused(file, f"{part} differs: {theirs.get(part)} instead of {mine.get(part)}; {hint}", key=mine.id)
        if mine.source != theirs.source and _comparable(mine.source) != _comparable(theirs.source):
            lines = zip_longest(mine.source.split("\n"), theirs.source.split("\n"))
            line = next(number for number, (ours, other) in enumerate(lines, 1) if ours != other)
            raise Refused(file, f"its text differs from the source at line {line} of the cell; {hint}", key=mine.id)
    if built.metadata != expected.metadata:
        raise Refused(file, f"notebook metadata differs; {hint}")


def _comparable(source: str):
    """The text of a cell; for the set-up cell the files it carries, since another zlib may pack them into other bytes."""
    match = re.search(r'_advantagelab\("[^"]*", "([0-9a-f]{64})", "([^"]*)"\)', source)
    if not match:
        return source
    try:
        if hashlib.sha256(base64.b85decode(match[2])).hexdigest() != match[1]:
            return source
        return source.replace(match[1], "").replace(match[2], ""), unpack(match[2])
    except Exception:  # whatever the damage, it differs
        return source


def _check_outputs(file: Path, built: nbformat.NotebookNode, lesson: Lesson) -> None:
    if faults := output_faults(built, lesson):
        raise Refused(file, f"{'; '.join(faults)}. Run `make notebooks`")


def _check_payload_size(notebook: nbformat.NotebookNode, file: Path, number: str | None) -> None:
    size, limit = len(notebook.cells[1].source), PAYLOAD_LIMIT.get(number, PAYLOAD_LIMIT_DEFAULT)
    if size > limit:
        raise Refused(file, f"the set-up cell has {size} bytes, the limit is {limit}", key="setup")


def _code_of(notebook: nbformat.NotebookNode) -> list:
    return [(cell.id, _comparable(cell.source)) for cell in notebook.cells if cell.cell_type == "code"]


def _take_outputs(notebook: nbformat.NotebookNode, earlier: nbformat.NotebookNode) -> None:
    """Keep an earlier run's outputs if it ran this very code; drop them all otherwise."""
    if _code_of(notebook) != _code_of(earlier):
        return
    ours, theirs = ([cell for cell in each.cells if cell.cell_type == "code"] for each in (notebook, earlier))
    for cell, run in zip(ours, theirs, strict=True):
        cell.outputs, cell.execution_count = run.outputs, run.execution_count


def _take_pictures(learner: nbformat.NotebookNode, solution: nbformat.NotebookNode, lesson: Lesson) -> None:
    """A learner's notebook shows its pictures before it is run, wherever it is looked at."""
    widgets = {cell.key for cell in lesson.cells if cell.role == "widget"}
    pictures = {cell.id: cell.outputs for cell in solution.cells if cell.id in widgets}
    for cell in learner.cells:
        if cell.id in pictures:
            cell.outputs = pictures[cell.id]
