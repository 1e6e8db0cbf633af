"""What follows a TODO's checks in a notebook: the mark is kept, and below a failed check stands where to read again."""

import html
import sys

from ..checking.run import ERROR, FAILED, MISSING, OPEN
from ..language import text
from .marks import Mark, remember
from .show import show


def after_checks(lesson, todo, verdicts: list, shown: bool) -> None:
    """shown: the verdicts are printed above, so that more may be said of them."""
    if not verdicts or any(verdict.status == MISSING for verdict in verdicts):
        return
    failed = next((verdict for verdict in verdicts if verdict.status in (FAILED, ERROR)), None)
    still_open = any(verdict.status == OPEN for verdict in verdicts)
    if not lesson.solved:
        state = "wrong" if failed else "open" if still_open else "right"
        remember(Mark(lesson.name, todo.function, state, tuple(failed.message) if failed else ("", "")))
    if failed and shown:
        _read_again(todo, failed.check)


def _read_again(todo, check: str) -> None:
    """Where the check is explained. A link reaches it in JupyterLab and Notebook 7; Colab's outputs cannot link out."""
    what = check.removeprefix(f"check_{todo.function}_")
    # What no paragraph explains, the function's docstring demands: what stays fixed, dtypes, bad input.
    key, words = todo.key, text(f"the docstring of {todo.function}", f"函数 {todo.function} 的文档字符串")
    for cell, heading, beginnings in todo.explained:
        if what.startswith(tuple(beginnings)):
            key, words = cell, text(*heading)
            if not words.startswith(('"', "“")):
                words = text(f'"{words}"', f"“{words}”")
            break
    lead, linked = text("Read again: ", "重读"), html.escape(words, quote=False)
    if "google.colab" not in sys.modules:
        linked = f'<a href="#cell-id={key}">{linked}</a>'
    show(lead + words, lead + linked)
