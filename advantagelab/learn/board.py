"""What is done: a table of this lesson's TODOs, and a line for every other lesson."""

import html

from ..language import text
from .lesson import Lesson, being_graded, the_lesson
from .marks import Mark, kept_in, last_of, machine_is_thrown_away, recall
from .show import as_html, short, show

SIGNS = {"open": "·", "wrong": "✗", "right": "✓"}


def progress() -> None:
    """What the checks last said of each TODO, and how much of each lesson is done. | 每个 TODO 的检查结果，以及每一课完成了多少。

    A TODO that was right once counts as done. | 通过过一次的 TODO 就算完成。
    """
    if being_graded():
        return
    lesson, marks = the_lesson(), recall()
    rows = _rows(lesson, marks)
    others = [(f"{each['notebook']}: {text(*each['title'])}", _share(each, marks))
              for each in lesson.course if each["lesson"] != lesson.name]
    where = _where(lesson)
    head = ["TODO", text("function", "函数"), text("last check", "最近一次检查"), text("last mistake", "最近的错误")]
    plain = [*("  ".join(cell for cell in row if cell) for row in rows), *("  ".join(other) for other in others), where]
    rich = [_table(head, [[as_html(cell) for cell in row] for row in rows])] if rows else []
    rich += [_table([text("other lessons", "其他各课"), text("done", "完成")], [[html.escape(cell) for cell in row] for row in others]),
             f"<p>{html.escape(where)}</p>"]
    show("\n".join(plain), "".join(rich))


def _rows(lesson: Lesson, marks: list[Mark]) -> list[list[str]]:
    last, words = last_of(marks), {"open": text("open", "待完成"), "wrong": text("wrong", "有错"), "right": text("right", "正确")}
    rows = []
    for function, todo in lesson.todos.items():
        mark = last.get((lesson.name, function), Mark(lesson.name, function, "open", ("", "")))
        days = [each.on for each in marks if (each.lesson, each.function, each.state) == (lesson.name, function, "right")]
        notes = [text(*mark.said)] if mark.state == "wrong" else []
        if days and mark.state != "right":
            notes.append(text(f"Right on {days[-1]}.", f"曾于 {days[-1]} 通过。"))
        rows.append([str(todo.number), f"`{function}`", f"{SIGNS[mark.state]} {words[mark.state]}", " ".join(notes)])
    return rows


def _share(lesson: dict, marks: list[Mark]) -> str:
    total = len(lesson["todos"])
    done = len({mark.function for mark in marks if mark.lesson == lesson["lesson"] and mark.state == "right"} & set(lesson["todos"]))
    if not total:
        return text("no TODOs", "没有 TODO")
    return f"{'✓' if done == total else '·'} {done}/{total}"


def _where(lesson: Lesson) -> str:
    """Whether this survives a restart, and where it is kept."""
    if lesson.solved:
        return text("This is the solved notebook: its checks do not count.", "这是参考答案 notebook：这里的检查不计入。")
    file = kept_in()
    if file is None:
        return text("No place to keep this: the data folder cannot be written. It is lost when the kernel stops.",
                    "无处保存：数据文件夹不可写。内核一停，这些记录就没有了。")
    if machine_is_thrown_away():
        return text("Kept on this machine only, which Colab throws away in the end; what the check cells printed stays in your notebook.",
                    "只保存在这台机器上，Colab 最终会回收它；检查单元打印的内容会留在你的 notebook 里。")
    return text(f"Kept in {short(file)}. Delete the file to start over.", f"保存在 {short(file)}。删掉这个文件就从头开始。")


def _table(head: list[str], rows: list[list[str]]) -> str:
    """Only the last column wraps."""
    def line(tag: str, cells: list[str]) -> str:
        wraps = ["nowrap"] * (len(cells) - 1) + ["normal"]
        return "<tr>" + "".join(f'<{tag} style="text-align: left; white-space: {wrap}">{cell}</{tag}>'
                                for wrap, cell in zip(wraps, cells, strict=True)) + "</tr>"

    return f"<table><thead>{line('th', head)}</thead><tbody>{''.join(line('td', row) for row in rows)}</tbody></table>"
