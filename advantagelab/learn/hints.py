"""Hints, one more each time."""

from ..language import text
from .lesson import the_todo
from .show import show

_shown: dict[str, int] = {}  # of each function, until the kernel stops


def hint(name="") -> None:
    """One more of a TODO's hints, below those shown before. | 再给一条提示，前面的也一起列出。

    name: of a TODO function of this lesson, or its number
    NoSuchTodo: this lesson has none of that name | 本课没有这个 TODO
    """
    todo = the_todo(name)
    total = len(todo.hints)
    if not total:
        lines = [text(f"`{todo.function}` has no hints.", f"`{todo.function}` 没有提示。")]
    else:
        asked_again = _shown.get(todo.function) == total
        count = _shown[todo.function] = min(_shown.get(todo.function, 0) + 1, total)
        lines = [text(f"**Hint {number} of {total}.** ", f"**提示 {number}/{total}** ") + text(*step)
                 for number, step in enumerate(todo.hints[:count], 1)]
        if asked_again:
            lines.append(text("There are no more hints.", "没有更多提示了。"))
        elif count < total:
            lines.append(text("Still stuck? Run this cell again.", "还是卡住？再运行一次本单元。"))
    words = "\n\n".join(lines)
    show(words.replace("**", ""), words, "text/markdown")
