"""What grading one submission gave: the one source of its feedback, of the exports, and of what a resumed run need not do again."""

import contextlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from pathlib import Path

from advantagelab.message import Message

from .os_errors import CannotWrite

GRADED, UNGRADABLE = "graded", "ungradable"


@dataclass(frozen=True)
class CheckResult:
    check: str
    status: str  # passed, failed, open, error or missing
    message: Message | None
    expected: str | None  # of visible checks only: a hidden check's numbers would give its inputs away
    got: str | None

    @property
    def visible(self) -> bool:
        return self.check.startswith("check_")


@dataclass(frozen=True)
class QuestionRecord:
    """key: of the cell that carries the points, nbgrader's grade id; points: at most; score: None if a person has to grade.

    answer: a digest that tells one answer from another, "" if there is none to tell
    """

    key: str
    answer_key: str  # of the cell that holds the student's answer; a written answer carries its points itself
    function: str | None  # None: a written answer
    points: float
    score: float | None
    untouched: bool
    checks: tuple[CheckResult, ...] = ()
    note: Message | None = None  # "stopped at the time limit", …
    answer: str = ""


@dataclass(frozen=True)
class Marks:
    """What the gradebook has for a question. waits: a person has to look at it."""

    automatic: float | None
    manual: float | None = None
    extra: float = 0.0
    waits: bool = False

    @property
    def points(self) -> float | None:
        """As nbgrader adds them up, but None where it would take an answer that nobody has graded for a zero."""
        given = self.automatic if self.manual is None else self.manual
        return None if given is None else given + self.extra


@dataclass(frozen=True)
class Record:
    student: str
    assignment: str
    lesson: str
    status: str
    reason: Message | None  # why it is ungradable
    file: str  # of the submitted folder, as found
    sha256: str
    language: str
    questions: tuple[QuestionRecord, ...]
    repairs: tuple[Message, ...]
    notes: tuple[Message, ...]  # what happened while it was graded
    isolation: str
    grader: str  # version of the course and digest of its checks
    seed: int
    graded_at: str  # ISO 8601, UTC

    def with_note(self, note: Message) -> "Record":
        return replace(self, notes=(*self.notes, note))

    def dumps(self) -> str:
        return json.dumps(_plain(self), ensure_ascii=False, indent=1) + "\n"


def loads(text: str) -> Record:
    """ValueError, KeyError or TypeError if it is not a record of this version."""
    content = json.loads(text)
    record = Record(**content)
    questions = []
    for question in content["questions"]:
        checks = tuple(replace(CheckResult(**check), message=_message(check["message"])) for check in question["checks"])
        questions.append(replace(QuestionRecord(**question), checks=checks, note=_message(question["note"])))
    return replace(record, reason=_message(record.reason), questions=tuple(questions),
                   repairs=tuple(Message(*pair) for pair in record.repairs), notes=tuple(Message(*pair) for pair in record.notes))


def read_record(file: Path) -> Record | None:
    """None if there is none that can be read: it is then made anew."""
    try:
        return loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def write_whole(file: Path, content: str | bytes) -> None:
    """All of the content or none of it, whenever the process is killed. CannotWrite: none of it."""
    with whole(file) as part:  # "replace": a student's text may hold half a sign
        part.write_bytes(content.encode("utf-8", "replace") if isinstance(content, str) else content)


@contextlib.contextmanager
def whole(file: Path) -> Iterator[Path]:
    """A file beside it to write to, which then takes its place."""
    part = file.with_name(f".{file.name}.{os.getpid()}.part")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        yield part
        part.replace(file)
    except OSError as error:
        with contextlib.suppress(OSError):
            part.unlink()
        raise CannotWrite(error, file) from error


def _message(pair) -> Message | None:
    return None if pair is None else Message(*pair)


def _plain(value):
    if isinstance(value, (Record, QuestionRecord, CheckResult)):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value
