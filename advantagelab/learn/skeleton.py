"""A fresh skeleton of a TODO. Nothing of the learner's is overwritten: the attempt stays where it is, and a copy is kept."""

import html
import inspect
import itertools
import linecache
import re
import sys
from pathlib import Path

from IPython import get_ipython

from ..language import text
from .lesson import Todo, being_graded, the_lesson, the_todo
from .marks import data_folder
from .show import folded, short, show


def reset(name="") -> None:
    """Bring a TODO's unwritten function back, in a cell of its own. | 取回 TODO 还没写的函数，放进单独的单元。

    name: of a TODO function of this lesson, or its number
    NoSuchTodo: this lesson has none of that name | 本课没有这个 TODO
    """
    todo = the_todo(name)
    if being_graded():
        return
    namespace = sys.modules["__main__"].__dict__
    skeleton = f"{opening(todo)}\n{todo.skeleton}"
    copy_it = folded(text("No cell with the unwritten function? Copy it from here.", "没有看到还没写的函数？从这里复制。"), skeleton)
    if _is_skeleton(namespace.get(todo.function), todo):  # a second cell of it would count in place of the first
        said = text(f"{todo.function} is unwritten already: write in its cell.", f"{todo.function} 本来就还没写：请在它的单元里写。")
        return show(said, f"<div>{html.escape(said)}</div>{copy_it}")
    attempt = _attempt(namespace.get(todo.function))
    file = _keep(attempt, todo) if attempt else None
    exec(compile(todo.skeleton, _made_here(todo), "exec"), namespace)
    shell = get_ipython()
    if shell is not None:
        # A cell that holds this call alone gives its place to the skeleton: run again later, it would undo the new attempt.
        shell.set_next_input(skeleton, replace=_is_alone(sys._getframe(1)))
    said = [text(f"{todo.function} is unwritten again: write in the cell that has it now, then run that cell and the check cell.",
                 f"{todo.function} 已恢复成还没写的样子：在新出现它的单元里写，运行那个单元，再运行检查单元。")]
    if attempt:
        copy = text(f"; a copy is in {short(file)}.", f"，另存了一份：{short(file)}。") if file else text(".", "。")
        said.append(text("Your attempt stands unchanged in its own cell", "你写的内容仍在原来的单元里，没有改动") + copy)
    else:
        said.append(text("Whatever you wrote stands unchanged in its own cell.", "你写过的内容都在原来的单元里，没有改动。"))
    unfold = [copy_it]
    if attempt:
        unfold.append(folded(text("Your attempt", "你写的内容"), attempt))
    show("\n".join(said), "".join(f"<div>{line}</div>" for line in said) + "".join(unfold))


def opening(todo: Todo) -> str:
    """The first line of the skeleton's cell. It bears no key: to a grader it is a cell of the learner's own, below the first attempt."""
    return text(f"# TODO {todo.number} from the start. The definition that stands last in the notebook counts.",
                f"# TODO {todo.number} 从头开始。同一个函数，以 notebook 中最后的定义为准。")


def _made_here(todo: Todo) -> str:
    """The file's name that Python gives the skeleton's code."""
    return f"<{todo.function}: skeleton>"


def _is_skeleton(function, todo: Todo) -> bool:
    made_here = getattr(getattr(function, "__code__", None), "co_filename", None) == _made_here(todo)
    return made_here or (_attempt(function) or "").strip() == todo.skeleton.strip()


def _attempt(function) -> str | None:
    """The text of what the learner last ran; None if the kernel does not know it."""
    try:
        return inspect.getsource(function)
    except (OSError, TypeError):
        return None


def _keep(attempt: str, todo: Todo) -> Path | None:
    """A file of its own, never one that is there. None if it cannot be written."""
    try:
        folder = data_folder() / "attempts" / the_lesson().name
        folder.mkdir(parents=True, exist_ok=True)
        for number in itertools.count(1):
            file = folder / f"{todo.function}-{number}.py"
            try:
                with open(file, "x", encoding="utf-8") as new:
                    new.write(attempt)
            except FileExistsError:  # an earlier attempt, or another notebook's at this moment
                continue
            return file
    except (OSError, RuntimeError):
        return None


def _is_alone(frame) -> bool:
    """Whether the cell that called holds nothing but this call."""
    source = "".join(linecache.getlines(frame.f_code.co_filename)).strip()
    return re.fullmatch(r"""reset\(\s*["']?\w*["']?\s*\)""", source) is not None
