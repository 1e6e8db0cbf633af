"""A finished notebook of lesson RLOO, ways to damage it, and what must hold for whatever the intake gives back."""

import functools
import json
from copy import deepcopy

import nbformat

from autograder.demo_class import WRITTEN, solutions, submission
from autograder.intake.release import release_of
from autograder.submission import Submission
from lessons._build.course import read_course
from lessons._build.lesson import Lesson, read_lesson
from lessons._build.notebook import build_notebook

ANSWERS = ("aggregate-sequence-logps", "shape-rloo-rewards", "leave-one-out-advantages", "rloo-policy-loss")
FIRST, SECOND, THIRD, FOURTH = ANSWERS
CHECK, GIVEN, ESSAY = f"check-{FIRST}", "require-token-scores", "written-answer"
PLACEHOLDER = "pass"


@functools.cache
def rloo() -> Lesson:
    return read_lesson(read_course(), "rloo")


@functools.cache
def _finished(language: str) -> str:
    learner = build_notebook(rloo(), language, "learner")
    return nbformat.writes(submission(rloo(), learner, "", "", solutions(rloo()), written=WRITTEN).notebook)


def finished(language: str = "en") -> dict:
    """Lesson RLOO with all TODOs solved, as JSON has it. A fresh copy each time."""
    return json.loads(_finished(language))


def encode(notebook: dict, **how) -> bytes:
    """As Jupyter writes it; half characters only as escapes."""
    text = json.dumps(notebook, **{"ensure_ascii": False, "indent": 1, **how})
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        return json.dumps(notebook).encode("ascii")


def cell(notebook: dict, key: str) -> dict:
    (found,) = [cell for cell in notebook["cells"] if cell.get("id") == key]
    return found


def place(notebook: dict, key: str) -> int:
    return notebook["cells"].index(cell(notebook, key))


def text(cell: dict) -> str:
    return "".join(cell["source"])


def own(source: str, kind: str = "code") -> dict:
    """A cell of the student's own."""
    return {"cell_type": kind, "metadata": {}, "source": source, **({"outputs": [], "execution_count": 1} if kind == "code" else {})}


def insert_after(notebook: dict, key: str, *cells: dict) -> None:
    at = place(notebook, key) + 1
    notebook["cells"][at:at] = cells


def copy_of(cell: dict, source: str | None = None, **changes) -> dict:
    """As Jupyter pastes a cell: another id, the same metadata."""
    return {**deepcopy(cell), "id": "ffff0000", **({} if source is None else {"source": source}), **changes}


def strip_metadata(notebook: dict, ids: bool = True) -> None:
    for cell in notebook["cells"]:
        cell["metadata"] = {}
        if ids:
            cell.pop("id", None)


def lines_of(value) -> set[str]:
    """Every line of every string in a JSON value, without its indent: all that code may be made of."""
    if isinstance(value, str):
        return {line.strip() for line in value.replace("\r\n", "\n").replace("\r", "\n").split("\n")}
    if isinstance(value, list):
        joined = {line.strip() for line in "".join(part for part in value if isinstance(part, str)).split("\n")}
        return joined.union(*map(lines_of, value)) if value else joined
    return set().union(*map(lines_of, value.values())) if isinstance(value, dict) and value else set()


def assert_sound(result: Submission, lesson: Lesson, handed_in: dict | None = None) -> None:
    """What holds for every submission, whatever was handed in."""
    release, notebook = release_of(lesson), result.notebook
    nbformat.validate(notebook)
    assert json.loads(nbformat.writes(notebook))["nbformat_minor"] == 5
    assert notebook.metadata == release.metadata[result.language]
    ids = [cell.id for cell in notebook.cells]
    assert len(set(ids)) == len(ids)
    by_id = dict(zip(ids, notebook.cells))
    for key, released in release.cells.items():
        if released.role:
            node = release.node(key, result.language)
            assert by_id[key].cell_type == node.cell_type and by_id[key].metadata == node.metadata, key
            if released.locked:
                assert by_id[key].source == node.source, key
    assert all(not cell.get("outputs") and cell.get("execution_count") is None for cell in notebook.cells)
    assert [code.key for code in result.code] == [name for name in ids if name in {code.key for code in result.code}]
    exercises = {cell.key: cell.exercise for cell in lesson.cells if cell.role == "exercise"}
    for code in result.code:
        assert code.role in ("given", "exercise", "added")
        assert code.function == (release.cells[code.key].function if code.role != "added" else None)
        if code.role == "given":
            assert code.source == release.cells[code.key].source
    assert set(result.written) == {cell.key for cell in lesson.cells if cell.role == "question"}
    assert result.untouched <= exercises.keys() | result.written.keys() and result.ambiguous <= exercises.keys()
    assert all(message.en and message.zh and len(message.en) < 600 for message in result.repairs)
    if handed_in is not None:
        known = lines_of(handed_in).union(*(lines_of(cell.source) for cell in release.cells.values() for cell in cell.cells.values()))
        for code in result.code:
            strange = {line.strip() for line in code.source.split("\n")} - known - {PLACEHOLDER}
            assert not strange, (code.key, strange)
