"""One output with a rich and a plain form, in a notebook; the plain one anywhere else."""

import html
import re
from pathlib import Path

from IPython import get_ipython
from IPython.display import display


def show(plain: str, rich: str, kind: str = "text/html") -> None:
    if get_ipython() is None:
        print(plain)
    else:
        display({"text/plain": plain, kind: rich}, raw=True)


def as_html(words: str) -> str:
    """Words with `code` in them, as HTML."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(words))


def folded(summary: str, code: str) -> str:
    """Code that one click unfolds."""
    return f"<details><summary>{html.escape(summary)}</summary><pre>{html.escape(code)}</pre></details>"


def short(file: Path) -> str:
    """A path, with ~ for the home folder."""
    try:
        return str(Path("~") / file.relative_to(Path.home()))
    except (ValueError, RuntimeError):
        return str(file)
