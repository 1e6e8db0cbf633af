"""One submission from bytes to a record: intake, judge, record. Knows nothing of folders or gradebooks, and runs in any process."""

import functools
import hashlib
import types
from dataclasses import dataclass
from datetime import datetime, timezone

import torch

import advantagelab
from advantagelab.checking import Message, Verdict, message
from lessons._build.course import ROOT, read_course
from lessons._build.lesson import Lesson, read_lesson
from lessons._build.notebook import build_notebook

from .autograded import dumps, graded_notebook, ungradable_notebook
from .intake import read_submission
from .judge import Judge, Judgement, Question, questions_of
from .record import GRADED, UNGRADABLE, CheckResult, QuestionRecord, Record
from .sandbox import SandboxError
from .submission import Submission, Ungradable


AMBIGUOUS = message(en="More than one answer to this question, and no way to tell which one counts: a person decides.",
                    zh="这道题有不止一个答案，无法判断以哪个为准：由人来定。")


@dataclass(frozen=True)
class Setup:
    """What a grading process has to know; plain, so that it travels to one.

    seed: of the hidden checks' inputs; private_checks: source of an instructor's own checks, "" if there are none
    unsafe: grade also where no isolation works
    """

    seed: int
    private_checks: str = ""
    unsafe: bool = False


@dataclass(frozen=True)
class Handed:
    """What one student handed in for one lesson.

    file: its name in the student's folder, "" if none could be chosen; refused: why it cannot even be read; notes: what was found beside it
    """

    student: str
    assignment: str
    lesson: str
    file: str
    data: bytes
    refused: Message | None = None
    notes: tuple[Message, ...] = ()

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.data).hexdigest()


@dataclass(frozen=True)
class Graded:
    record: Record
    notebook: str  # the .ipynb for formgrader


def grade(setup: Setup, handed: Handed) -> Graded:
    """SandboxError if student code cannot be run here at all. Any other failure is of this one file, and its record says so."""
    if handed.refused:
        return ungradable(setup, handed, handed.refused)
    try:
        return _grade(setup, handed)
    except Ungradable as refused:
        return ungradable(setup, handed, refused.said)
    except SandboxError:
        raise
    except Exception as error:
        name = type(error).__name__
        return ungradable(setup, handed, message(en=f"The grader itself failed on this file ({name}): please report it.",
                                                 zh=f"评阅程序处理这份文件时自身出错（{name}）：请报告。"))


def _grade(setup: Setup, handed: Handed) -> Graded:
    lesson = _lesson(handed.lesson)
    submission = read_submission(handed.data, lesson)
    judgement = _judge(setup).grade(submission.code, _questions(handed.lesson, setup.private_checks))
    record = _record(setup, handed, status=GRADED, language=submission.language,
                     questions=_question_records(lesson, submission, judgement), repairs=(*submission.repairs, *handed.notes),
                     notes=judgement.notes, isolation=judgement.isolation)
    return Graded(record, dumps(graded_notebook(submission.notebook, judgement, _released(handed.lesson, submission.language))))


def ungradable(setup: Setup, handed: Handed, reason: Message) -> Graded:
    """A record without a single point and without a zero: the reason stands in it, and a person decides."""
    lesson = _lesson(handed.lesson)
    questions = tuple(QuestionRecord(key, answer, function, points, None, False) for key, answer, function, points in _places(lesson))
    record = _record(setup, handed, status=UNGRADABLE, reason=reason, repairs=handed.notes, questions=questions)
    return Graded(record, dumps(ungradable_notebook(build_notebook(lesson, "en", "learner"), reason, handed.data)))


@functools.cache
def grader_version(lesson: str, private_checks: str = "") -> str:
    """Version of the course and digest of all that decides a score; another digest, another grading."""
    digest = hashlib.sha256(private_checks.encode())
    course = read_course()
    files = [*(ROOT / "lessons" / lesson).glob("*.*"), *course.algorithm_files(course.lesson(lesson)),
             *(ROOT / "advantagelab" / "checking").glob("*.py"), *(ROOT / "autograder").rglob("*.py")]
    for file in sorted(files):
        digest.update(str(file.relative_to(ROOT)).encode() + b"\0" + file.read_bytes() + b"\0")
    return f"{advantagelab.__version__}+{digest.hexdigest()[:12]}"


def _record(setup: Setup, handed: Handed, **known) -> Record:
    now = datetime.now(timezone.utc).isoformat(timespec="seconds")
    plain = {"reason": None, "sha256": handed.sha256, "language": "", "repairs": (), "notes": (), "isolation": ""}
    return Record(student=handed.student, assignment=handed.assignment, lesson=handed.lesson, file=handed.file,
                  grader=grader_version(handed.lesson, setup.private_checks), seed=setup.seed, graded_at=now, **{**plain, **known})


def _question_records(lesson: Lesson, submission: Submission, judgement: Judgement) -> tuple[QuestionRecord, ...]:
    results, records = {result.key: result for result in judgement.questions}, []
    for key, answer_key, function, points in _places(lesson):
        untouched = answer_key in submission.untouched
        if answer_key in submission.ambiguous:
            records.append(QuestionRecord(key, answer_key, function, points, None, False, note=AMBIGUOUS))
        elif function is None:
            records.append(QuestionRecord(key, answer_key, None, points, 0.0 if untouched else None, untouched))
        else:
            result = results[key]
            records.append(QuestionRecord(key, answer_key, function, points, result.score, untouched,
                                          tuple(_check_result(verdict) for verdict in result.verdicts), result.note))
    return tuple(records)


def _check_result(verdict: Verdict) -> CheckResult:
    shown = verdict.check.startswith("check_")
    return CheckResult(verdict.check, verdict.status, verdict.message, verdict.expected if shown else None, verdict.got if shown else None)


def _places(lesson: Lesson) -> list[tuple[str, str, str | None, float]]:
    """(grade id, cell of the answer, function or None if it is written, points), in the lesson's order."""
    exercises = {cell.exercise: cell.key for cell in lesson.cells if cell.role == "exercise"}
    return [(cell.key, exercises.get(cell.check, cell.key), cell.check, float(cell.points))
            for cell in lesson.cells if cell.role in ("check", "question")]


@functools.cache
def _lesson(name: str) -> Lesson:
    return read_lesson(read_course(), name)


@functools.cache
def _released(name: str, language: str) -> dict[str, str]:
    return {cell.id: cell.source for cell in build_notebook(_lesson(name), language, "learner").cells}


@functools.cache
def _questions(name: str, private_checks: str) -> list[Question]:
    private = None
    if private_checks:
        private = types.ModuleType("private_checks")
        exec(compile(private_checks, "<private checks>", "exec"), vars(private))  # the instructor's own file
    return questions_of(_lesson(name), private_checks=private)


@functools.cache
def _judge(setup: Setup) -> Judge:
    """One for a process: it keeps a warm zygote."""
    torch.set_num_threads(1)
    return Judge(seed=setup.seed, unsafe=setup.unsafe)
