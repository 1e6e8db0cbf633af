"""A student's file after the intake: what the worker runs, what a person reads, and what was put right. Nothing of it has been run."""

from dataclasses import dataclass

from nbformat import NotebookNode

from advantagelab.message import Message


@dataclass(frozen=True)
class Code:
    """A cell that the worker runs.

    key: the cell's key; of a cell of the student's own "added-1", "added-2", …, in notebook order
    role: "given", "exercise" or "added"
    function: the function that the lesson expects in this cell; None for an added one
    """

    key: str
    role: str
    function: str | None
    source: str


@dataclass(frozen=True)
class Submission:
    """One submitted notebook.

    lesson: its name in course.toml
    language: of the notebook that the student worked in, "en" or "zh"
    sha256: of the submitted bytes
    notebook: nbformat 4.5: the cells of the release with nbgrader's metadata, the locked ones as released, the student's answers and
        added cells in their places; no outputs
    code: what the worker runs, in notebook order
    written: the text of each written answer, by key
    untouched: the keys of answers, code or written, that are still as released
    repairs: what was put right, for the instructor and the student; empty for a clean file
    ambiguous: the keys of code answers of which there are several, none of them the original: a person has to choose, they are not graded
    missing: the keys of answers that are not in the file, cell and all
    notes: what is odd about the file, for the instructor alone
    """

    lesson: str
    language: str
    sha256: str
    notebook: NotebookNode
    code: tuple[Code, ...]
    written: dict[str, str]
    untouched: frozenset[str]
    repairs: tuple[Message, ...]
    ambiguous: frozenset[str] = frozenset()
    missing: frozenset[str] = frozenset()
    notes: tuple[Message, ...] = ()


class Ungradable(Exception):
    """A file that cannot be graded, and why. | 无法评阅的文件及原因。"""

    def __init__(self, said: Message):
        super().__init__(str(said))
        self.said = said
