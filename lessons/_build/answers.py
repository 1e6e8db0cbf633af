"""Answers other than the reference: the wrong ones that a lesson's checks must reject, the right ones that they must accept.

A lesson's wrong_answers.py and right_answers.py call `wrong`, `right` and `equivalent`; everything else here reads them.
"""

import ast
import linecache
import runpy
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

from .code_cells import Module
from .regions import Region, regions, replace_regions, stub


@dataclass(frozen=True)
class Answer:
    """What stands in the place of TODO regions, or of one whole function."""

    name: str
    todos: dict[int, str]
    function: str | None

    def namespace(self, algorithm: Module) -> dict:
        """The lesson's functions with this answer in place."""
        if self.function is None:
            return with_regions(algorithm, self.todos, label=self.name)
        return _run(self.function, f"<{algorithm.file.stem}: {self.name}>", reference(algorithm))

    def todo(self, todos: Iterable[Region]) -> Region:
        """The one TODO that this answer is about."""
        defined = {node.name for node in ast.parse(self.function or "").body if isinstance(node, ast.FunctionDef)}
        found = [todo for todo in todos if todo.number in self.todos or todo.function in defined]
        if len(found) != 1:
            raise ValueError(f"{self.name}: an answer is about one TODO, not {len(found)}")
        return found[0]


@dataclass(frozen=True)
class WrongAnswer(Answer):
    misconception: str  # "English | 中文"
    caught_by: str  # the check whose message speaks of this mistake


@dataclass(frozen=True)
class RightAnswer(Answer):
    pass


@dataclass(frozen=True)
class EquivalentMutant:
    mutant: str  # its name, as lessons/_build/mutants.py gives it
    because: str


_collected: list[WrongAnswer | RightAnswer | EquivalentMutant] = []


def wrong(name: str, misconception: str, *, caught_by: str, function: str | None = None, **todos: str) -> None:
    """A mistake: `todo_3="code"` stands in place of region 3, `function="def …"` in place of a whole function."""
    _collected.append(WrongAnswer(name, *_code(name, function, todos), misconception, caught_by))


def right(name: str, *, function: str | None = None, **todos: str) -> None:
    """Another correct way, written as for `wrong`."""
    _collected.append(RightAnswer(name, *_code(name, function, todos)))


def equivalent(mutant: str, *, because: str) -> None:
    """A generated mutant that no check can reject, since it computes the same."""
    _collected.append(EquivalentMutant(mutant, because))


def wrong_answers(lesson_folder: Path) -> list[WrongAnswer]:
    return _collect(lesson_folder / "wrong_answers.py", WrongAnswer)


def right_answers(lesson_folder: Path) -> list[RightAnswer]:
    return _collect(lesson_folder / "right_answers.py", RightAnswer)


def equivalent_mutants(lesson_folder: Path) -> list[EquivalentMutant]:
    return _collect(lesson_folder / "wrong_answers.py", EquivalentMutant)


def reference(algorithm: Module) -> dict:
    """The lesson's functions as the course solves them."""
    return _run(algorithm.text, f"<{algorithm.file.stem}: reference>")


def with_regions(algorithm: Module, todos: dict[int, str], label: str = "answer") -> dict:
    """The lesson's functions, with other code in some TODO regions."""
    source = algorithm.text
    known = {region.number for region in regions(source)}
    if todos.keys() - known:
        raise ValueError(f"{label}: {algorithm.file.name} has no TODO {sorted(todos.keys() - known)}")
    lines = source.splitlines()

    def replacement(region: Region) -> list[str]:
        if region.number in todos:
            return todos[region.number].splitlines()
        return [line.removeprefix(region.indent) for line in lines[region.begin:region.end + 1]]

    return _run(replace_regions(source, replacement), f"<{algorithm.file.stem}: {label}>")


def with_region(algorithm: Module, todo_number: int, code: str) -> dict:
    return with_regions(algorithm, {todo_number: code})


def skeleton(algorithm: Module) -> dict:
    """The lesson's functions as a learner finds them."""
    return _run(stub(algorithm.text), f"<{algorithm.file.stem}: skeleton>")


def _code(name: str, function: str | None, todos: dict[str, str]) -> tuple[dict[int, str], str | None]:
    if bool(function) == bool(todos) or not all(key.startswith("todo_") and key[5:].isdigit() for key in todos):
        raise TypeError(f"{name}: give either todo_1=…, todo_2=… or function=…, not {sorted(todos) or 'neither'}")
    return {int(key[5:]): _clean(code) for key, code in todos.items()}, function and _clean(function)


def _clean(code: str) -> str:
    return dedent(code).strip("\n")


def _collect(file: Path, kind: type) -> list:
    _collected.clear()
    runpy.run_path(str(file))
    return [entry for entry in _collected if isinstance(entry, kind)]


def _run(source: str, filename: str, namespace: dict | None = None) -> dict:
    """Run a source; `linecache` knows its lines, so that an error shows the line that raised it."""
    namespace = {"__name__": "answer"} if namespace is None else namespace
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    exec(compile(source, filename, "exec"), namespace)
    return namespace
