"""The lesson at hand, as the set-up cell hands it over: its TODOs with skeletons and hints, and the lessons of the course."""

import difflib
import json
import os
from dataclasses import dataclass

from ..checking import run
from ..one_line import OneLine
from .after_checks import after_checks

Pair = tuple[str, str]  # English, 中文


class NoSuchTodo(OneLine, LookupError):
    """This lesson has no TODO of that name. | 本课没有这个名称的 TODO。"""


@dataclass(frozen=True)
class Todo:
    """key: of the cell in which it is written; explained: (key of a cell, its heading, beginnings of the names of checks)."""

    function: str
    key: str
    number: int
    title: Pair
    skeleton: str
    hints: list[Pair]
    explained: list[tuple[str, Pair, list[str]]]


@dataclass(frozen=True)
class Lesson:
    name: str
    solved: bool  # the solved notebook, whose checks say nothing of the learner
    todos: dict[str, Todo]
    course: list[dict]  # in order: lesson (its name), notebook (of its file), title (a Pair), todos (names of functions)


_open: Lesson | None = None


def open_lesson(data: bytes | str) -> None:
    """Take what `lessons._build.learn_data` wrote. | 载入本课数据。"""
    global _open
    read = json.loads(data)
    todos = {each["function"]: Todo(**each) for each in read["todos"]}
    _open = Lesson(read["lesson"], read["solved"], todos, read["course"])
    if _after_checks not in run.watchers:
        run.watchers.append(_after_checks)


def the_lesson() -> Lesson:
    if _open is None:
        raise NoSuchTodo("no lesson is open: run the set-up cell at the top first | 还没有打开任何一课：请先运行最上面的准备单元")
    return _open


def the_todo(name) -> Todo:
    """The TODO of this name or number; the only one needs none. A function stands for its name. | 按名字、编号或函数取 TODO。"""
    todos = the_lesson().todos
    name = str(getattr(name, "__name__", name))
    for todo in todos.values():
        if name in (todo.function, str(todo.number)) or name == "" and len(todos) == 1:
            return todo
    if not todos:
        raise NoSuchTodo("this lesson has no TODOs | 本课没有 TODO")
    known, chinese = (comma.join(f'"{function}"' for function in todos) for comma in (", ", "、"))
    if name == "":
        raise NoSuchTodo(f"which TODO? Its function's name, or its number: {known} | 哪个 TODO？写函数名或编号：{chinese}")
    near = difflib.get_close_matches(name, todos, 1) or [function for function in todos if name and name in function][:1]
    en, zh = (f' Did you mean "{near[0]}"?', f'你想写的是 "{near[0]}" 吗？') if near else ("", "")
    raise NoSuchTodo(f'this lesson has no TODO "{name}".{en} Its TODOs: {known} | '
                     f'本课没有名为 "{name}" 的 TODO。{zh}本课的 TODO：{chinese}')


def being_graded() -> bool:
    """Under nbgrader nothing is kept, shown or put back."""
    return bool(os.environ.get("NBGRADER_EXECUTION"))


def _after_checks(function: str, verdicts: list, shown: bool) -> None:
    lesson = the_lesson()
    if function in lesson.todos and not being_graded():
        after_checks(lesson, lesson.todos[function], verdicts, shown)
