"""The judge: checks, specifications and seeds stay in this process, a student's code in a locked-up one; calls cross, as plain data.

A question is all or nothing. What kills, hangs or garbles its process costs only itself: the process is made anew, without the cell that
killed it, and the next question goes on there.
"""

import contextlib
import importlib
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from types import ModuleType

from advantagelab.checking import Message, Verdict, judge, message
from advantagelab.checking.run import ERROR, FAILED, MISSING, OPEN, PASSED, PUBLIC_SEED, changed_settings, checks_of
from lessons._build.lesson import Lesson

from .probe import choose
from .remote import ENDED, LATE, Remote, Stopped, raise_at
from .sandbox import SandboxError, Zygote
from .submission import Code
from .worker.channel import SETTINGS

CELL_SECONDS = 10.0
QUESTION_SECONDS = 10.0
SUBMISSION_SECONDS = 120.0  # for all cells and questions together, however often the process is made anew
ATTEMPTS = 3  # at grading a submission, if the zygote dies
STILL_OPEN = message(en="Still open, or it says so.", zh="尚未完成，或函数自称尚未完成。")
MAX_SHOWN = 4000  # characters of a cell's error, and of what a check expected and got


@dataclass(frozen=True)
class CellOutcome:
    """error: the error that ended the cell, with its line; note: why the grader stopped it."""

    key: str
    stdout: str
    error: str | None
    seconds: float
    note: Message | None


@dataclass(frozen=True)
class Question:
    """key: of the check cell, which is its grade id; exercise_key: of the cell that holds the answer."""

    key: str
    exercise_key: str
    function: str
    points: float
    checks: tuple


@dataclass(frozen=True)
class QuestionResult:
    key: str
    function: str
    points: float
    score: float
    verdicts: tuple[Verdict, ...]
    note: Message | None


@dataclass(frozen=True)
class Judgement:
    """isolation: what the code was locked up in."""

    cells: tuple[CellOutcome, ...]
    questions: tuple[QuestionResult, ...]
    isolation: str


def questions_of(lesson: Lesson, checks_module: ModuleType | None = None, private_checks: ModuleType | None = None) -> list[Question]:
    """The lesson's questions that are graded by checks: the visible ones, the hidden ones, an instructor's private ones."""
    if not lesson.functions:
        return []
    checks = vars(checks_module or importlib.import_module(f"lessons.{lesson.entry.name}.checks"))
    private = vars(private_checks) if private_checks else {}
    exercises = {cell.exercise: cell.key for cell in lesson.cells if cell.role == "exercise"}
    return [Question(cell.key, exercises[cell.check], cell.check, float(cell.points),
                     (*checks_of(checks, cell.check), *checks_of(private, cell.check)))
            for cell in lesson.cells if cell.role == "check"]


class Judge:
    """One for a grading process. It owns a zygote, and makes a new one if that dies; the zygote ends with the thread that made the judge.

    isolation: a name from sandbox.ISOLATIONS; None takes the strongest that holds here, or SandboxError, unless `unsafe`.
    seed: of the hidden checks' inputs; chosen: what `choose` gave in the process that this one was forked from
    """

    def __init__(self, isolation: str | None = None, seed: int = PUBLIC_SEED, unsafe: bool = False,
                 chosen: tuple[Zygote, str] | None = None):
        self.seed = seed
        self._zygote, self.isolation = chosen or ((Zygote(isolation).wait(), isolation) if isolation else choose(unsafe))

    def grade(self, code: Sequence[Code], questions: Sequence[Question]) -> Judgement:
        """Run the cells and judge the questions. SandboxError if no process can be made; the submission is not to blame for that."""
        for _ in range(ATTEMPTS):
            zygote = self._zygote
            judgement = self._grade(code, questions)
            ended = any(part.note == ENDED for part in (*judgement.cells, *judgement.questions))
            if self._zygote is zygote and zygote.alive(patience=0.2 if ended else 0.0):
                return judgement
            # The zygote died, not at the hands of its child, which cannot reach it: what the child seems to have done is not its doing.
        raise SandboxError(message(en="The process that code is run from keeps ending: is there too little memory?",
                                   zh="运行学生代码的进程一再终止：内存是否不足？"))

    def _grade(self, code: Sequence[Code], questions: Sequence[Question]) -> Judgement:
        grading = _Grading(self, code)
        try:
            results = grading.results(questions)
            return Judgement(grading.outcomes(), results, self.isolation)
        finally:
            grading.close()

    def remote(self) -> Remote:
        try:
            return Remote(self._zygote)
        except SandboxError:
            self._zygote.close()
            self._zygote = Zygote(self._zygote.isolation).wait()
            return Remote(self._zygote)

    def close(self) -> None:
        self._zygote.close()


class _TooLong(BaseException):
    """Not an Exception, so that `judge` does not take it for the function's."""


@contextlib.contextmanager
def _at_most(seconds: float) -> Iterator[None]:
    """The judge's own time: what a function returns, or makes of its inputs, can make a check slow. Works in a process's main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def time_is_up(*_) -> None:
        raise _TooLong

    before = signal.signal(signal.SIGALRM, time_is_up)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def without_inputs(verdict: Verdict) -> Verdict:
    """What a student may read of a verdict. A function could tell a hidden check's inputs in its error, its result, or its "TODO"."""
    if not verdict.check.startswith("hidden_"):
        return verdict
    return verdict._replace(message=STILL_OPEN if verdict.status == OPEN else verdict.message, expected=None, got=None)


@dataclass
class _Asked:
    """A question between its visible and its hidden checks. stopped: what ended its process, and so the question."""

    question: Question
    seconds: float
    verdicts: dict = field(default_factory=dict)
    stopped: Stopped | None = None
    overwrote: bool = False

    def result(self) -> QuestionResult:
        verdicts = tuple(self.verdicts[check] for check in self.question.checks)
        note = self.stopped.said if self.stopped else OVERWROTE if self.overwrote else None
        right = note is None and bool(verdicts) and all(verdict.status == PASSED for verdict in verdicts)
        points = self.question.points
        return QuestionResult(self.question.key, self.question.function, points, points if right else 0.0, verdicts, note)


class _Grading:
    """One submission: its present process, and the cells that may not run in the next one."""

    def __init__(self, owner: Judge, code: Sequence[Code]):
        self._judge, self._code = owner, code
        self._until = time.monotonic() + SUBMISSION_SECONDS
        self._outcomes: dict[str, CellOutcome] = {}
        self._killers: set[str] = set()
        self._overwrote = False
        self._remote = self._fresh()

    def results(self, questions: Sequence[Question]) -> tuple[QuestionResult, ...]:
        """The hidden checks of all questions come last: what a function has seen in one, it could tell in what a visible one shows."""
        asked = [_Asked(question, QUESTION_SECONDS) for question in questions]
        for hidden in (False, True):
            for one in asked:
                self._ask(one, [check for check in one.question.checks if check.__name__.startswith("hidden_") == hidden])
        return tuple(one.result() for one in asked)

    def _ask(self, asked: "_Asked", checks: list) -> None:
        function, start = asked.question.function, time.monotonic()
        if asked.stopped is None:
            self._let_run(asked.seconds)
        namespace = self._namespace(asked)
        self._overwrote = False
        for check in checks:
            asked.verdicts[check] = self._verdict(check, function, namespace)
        asked.overwrote |= self._overwrote
        asked.stopped = asked.stopped or self._remote.stopped
        asked.seconds -= time.monotonic() - start

    def _let_run(self, seconds: float) -> None:
        """A process that lives, if there is time left, and answers for so long."""
        if self._remote.stopped and self._left() > 0:
            self._remote = self._fresh()
        elif self._remote.stopped:
            self._remote.stopped = Stopped(NO_TIME)
        self._remote.begin(min(seconds, self._left()))

    def _namespace(self, asked: "_Asked") -> dict:
        """The function, if there is one. Of a process that has stopped: one that says why, in each check."""
        function = asked.question.function
        if asked.stopped is not None:
            return {function: _that_is_gone(asked.stopped)}
        try:
            return {function: self._remote.function(function)} if self._remote.has(function) else {}
        except Stopped:
            return {function: self._remote.function(function)}

    def outcomes(self) -> tuple[CellOutcome, ...]:
        return tuple(self._outcomes[cell.key] for cell in self._code)

    def close(self) -> None:
        self._remote.kill()

    def _verdict(self, check, function: str, namespace: dict) -> Verdict:
        """As in a notebook. A setting that was left changed is changed over there, so it is added here."""
        self._remote.begin_check()
        try:
            with _at_most(QUESTION_SECONDS):
                verdict = judge(check, function, namespace, self._judge.seed)
        except _TooLong:
            self._remote.kill(LATE)
            verdict = Verdict(check.__name__, ERROR, LATE, None, None, QUESTION_SECONDS)
        if self._remote.settings and verdict.status not in (OPEN, MISSING):
            changed = [name for name in SETTINGS if name in self._remote.settings]
            verdict = verdict._replace(status=FAILED, message=changed_settings(function, changed), expected=None, got=None)
        verdict = verdict._replace(expected=_shown(verdict.expected), got=_shown(verdict.got))
        # The oracle reads the inputs after the call: whoever writes into them chooses what is expected.
        self._overwrote |= self._remote.overwrote and verdict.status == PASSED
        return verdict

    def _fresh(self) -> Remote:
        """A process in which every cell has run that does not end it."""
        while True:
            remote = self._judge.remote()
            killer = self._run_cells(remote)
            if killer is None:
                return remote
            self._killers.add(killer)

    def _run_cells(self, remote: Remote) -> str | None:
        """The key of the cell that ended the process, if one did."""
        for cell in self._code:
            if cell.key in self._killers:
                continue
            start, allowed = time.monotonic(), min(CELL_SECONDS, self._left())
            if allowed <= 0:
                self._outcomes.setdefault(cell.key, CellOutcome(cell.key, "", None, 0.0, NO_TIME))
                continue
            stdout, error, note = "", None, None
            try:
                ran = remote.run(cell.key, cell.source, allowed)
                stdout, error = ran.stdout, _shown(ran.error)
            except Stopped as stopped:
                note = stopped.said
            outcome = CellOutcome(cell.key, stdout, error, time.monotonic() - start, note)
            if note or cell.key not in self._outcomes:
                self._outcomes[cell.key] = outcome
            if note:
                return cell.key
        return None

    def _left(self) -> float:
        return self._until - time.monotonic()


def _that_is_gone(stopped: Stopped):
    def call(*_, **__):
        raise_at("", Stopped(stopped.said))

    return call


def _shown(text: str | None) -> str | None:
    return text if text is None or len(text) <= MAX_SHOWN else text[:MAX_SHOWN] + "…"


OVERWROTE = message(en="a check passed in which the function overwrote its own inputs: work on a copy",
                    zh="有检查是在函数改写了自己的输入之后通过的：请在副本上操作")
NO_TIME = message(en="not run: the time for the whole submission was used up", zh="未运行：整份提交的时间已用完")
