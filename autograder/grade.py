"""One submission from bytes to a record: intake, judge, record. Knows nothing of folders or gradebooks, and runs in any process."""

import functools
import hashlib
import json
import re
import types
from dataclasses import replace
from datetime import datetime, timezone

import nbformat
import torch

from advantagelab.checking import Message, Verdict, judge, message
from advantagelab.checking.run import FAILED, MISSING, OPEN, PASSED, checks_of
from lessons._build.answers import reference
from lessons._build.course import read_course
from lessons._build.lesson import Lesson, read_lesson

from .autograded import dumps, graded_notebook, ungradable_notebook
from .course_error import CourseError
from .intake import read_submission
from .intake.release import release_of
from .judge import CellOutcome, Judge, Judgement, Question, QuestionResult, questions_of, without_inputs
from .record import GRADED, UNGRADABLE, CheckResult, QuestionRecord, Record
from .sandbox import SandboxError, Zygote
from .submission import Submission, Ungradable
from .task import Graded, Handed, Setup, grader_version

AMBIGUOUS = message(en="More than one answer to this question, and no way to tell which one counts: a person decides.",
                    zh="这道题有不止一个答案，无法判断以哪个为准：由人来定。")
GONE = message(en="This answer's cell is not in your file.", zh="你的文件里没有这道题的单元。")

_chosen: tuple[Zygote, str] | None = None


def share(chosen: tuple[Zygote, str]) -> None:
    """Use this zygote, here and in all processes that are forked from this one; the second is the name of its isolation."""
    global _chosen
    _chosen = chosen


def load(name: str) -> None:
    """What grading a lesson needs of it, which takes a while the first time."""
    release_of(_lesson(name))
    _questions(name, "")


def grade(setup: Setup, handed: Handed) -> Graded:
    """SandboxError or OSError if this machine cannot grade. Any other failure is of this one file, and its record says so."""
    if handed.refused:
        return ungradable(setup, handed, handed.refused)
    try:
        return _grade(setup, handed)
    except Ungradable as refused:
        return ungradable(setup, handed, refused.said)
    except (SandboxError, OSError):
        raise
    except Exception as error:
        name = type(error).__name__
        return ungradable(setup, handed, message(en=f"The grader itself failed on this file ({name}): please report it.",
                                                 zh=f"评阅程序处理这份文件时自身出错（{name}）：请报告。"))


def _grade(setup: Setup, handed: Handed) -> Graded:
    lesson = _lesson(handed.lesson)
    submission = read_submission(handed.data, lesson)
    questions = _questions(handed.lesson, setup.private_checks)
    # A lesson that asks only in words: nothing of it is run, a person reads the answers.
    judgement = _judge(setup).grade(submission.code, questions) if questions else Judgement((), (), _judge(setup).isolation)
    judgement = replace(judgement, questions=tuple(_for_its_author(result, lesson, judgement, submission.missing)
                                                   for result in judgement.questions))
    record = _record(setup, handed, status=GRADED, language=submission.language,
                     questions=_question_records(lesson, submission, judgement), repairs=(*submission.repairs, *handed.notes),
                     notes=submission.notes, isolation=judgement.isolation)
    return Graded(record, dumps(graded_notebook(submission.notebook, judgement, _released(handed.lesson, submission.language))))


def ungradable(setup: Setup, handed: Handed, reason: Message) -> Graded:
    """A record without a single point and without a zero: the reason stands in it, and a person decides."""
    lesson = _lesson(handed.lesson)
    questions = tuple(QuestionRecord(key, answer, function, points, None, False) for key, answer, function, points in _places(lesson))
    record = _record(setup, handed, status=UNGRADABLE, reason=reason, repairs=handed.notes, questions=questions)
    return Graded(record, dumps(ungradable_notebook(_release(lesson), reason, handed.data)))


def _record(setup: Setup, handed: Handed, **known) -> Record:
    now = datetime.now(timezone.utc).isoformat(timespec="seconds")
    plain = {"reason": None, "sha256": handed.sha256, "language": "", "repairs": (), "notes": (), "isolation": ""}
    return Record(student=handed.student, assignment=handed.assignment, lesson=handed.lesson, file=handed.file,
                  grader=grader_version(handed.lesson, setup.private_checks), seed=setup.seed, graded_at=now, **{**plain, **known})


def _for_its_author(result: QuestionResult, lesson: Lesson, judgement: Judgement, missing: frozenset[str]) -> QuestionResult:
    """Without a hidden check's inputs; and where there is no function, or no cell, why: a check could only say that it is not there."""
    verdicts = tuple(map(without_inputs, result.verdicts))
    key = next(answer for key, answer, _, _ in _places(lesson) if key == result.key)
    if key in missing:
        verdicts = tuple(verdict._replace(message=GONE) if verdict.status == OPEN else verdict for verdict in verdicts)
    if verdicts and verdicts[0].status == MISSING:
        why = _why_missing(result.function, next((cell for cell in judgement.cells if cell.key == key), None))
        verdicts = tuple(verdict._replace(message=why) if verdict.status == MISSING else verdict for verdict in verdicts)
    return replace(result, verdicts=verdicts)


def _why_missing(function: str, cell: CellOutcome | None) -> Message:
    if cell and cell.error:
        error = re.sub(r"\(<[^<>]*>, line (\d+)\)", r"(line \1)", cell.error.partition("\n")[0])
        return message(en=f"Your cell stopped with {error}, so `{function}` does not exist.",
                       zh=f"你的单元因 {error} 中止，所以 `{function}` 不存在。")
    if cell and cell.note:
        return message(en=f"Your cell did not run to its end ({cell.note.en}), so `{function}` does not exist.",
                       zh=f"你的单元没有运行完（{cell.note.zh}），所以 `{function}` 不存在。")
    return message(en=f"No cell defines `{function}`: was it given another name, or deleted?",
                   zh=f"没有单元定义 `{function}`：是否改了名，或删掉了？")


def _question_records(lesson: Lesson, submission: Submission, judgement: Judgement) -> tuple[QuestionRecord, ...]:
    results, records = {result.key: result for result in judgement.questions}, []
    for key, answer_key, function, points in _places(lesson):
        untouched, answer = answer_key in submission.untouched, _digest(submission.notebook.cells, answer_key, function)
        if answer_key in submission.ambiguous:
            records.append(QuestionRecord(key, answer_key, function, points, None, False, note=AMBIGUOUS, answer=answer))
        elif function is None:
            note = GONE if answer_key in submission.missing else None
            records.append(QuestionRecord(key, answer_key, None, points, 0.0 if untouched else None, untouched, note=note, answer=answer))
        else:
            result = results[key]
            records.append(QuestionRecord(key, answer_key, function, points, result.score, untouched,
                                          tuple(_check_result(verdict) for verdict in result.verdicts), result.note, answer))
    return tuple(records)


def _digest(cells: list[nbformat.NotebookNode], answer_key: str, function: str | None) -> str:
    """Of an answer: its cell's text and pictures; of code with the student's own cells of code, which may hold the rest of it."""
    parts = [cell for cell in cells if cell.id == answer_key or function and cell.cell_type == "code" and cell.id.startswith("added-")]
    content = [[cell.source, cell.get("attachments", {})] for cell in parts]
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]


def _check_result(verdict: Verdict) -> CheckResult:
    return CheckResult(verdict.check, verdict.status, verdict.message, verdict.expected, verdict.got)


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
    return {key: cell.cells[language].source for key, cell in release_of(_lesson(name)).cells.items() if language in cell.cells}


def _release(lesson: Lesson) -> nbformat.NotebookNode:
    release = release_of(lesson)
    return nbformat.from_dict({"nbformat": 4, "nbformat_minor": 5, "metadata": release.metadata["en"],
                               "cells": [release.node(key, "en") for key in release.order]})


@functools.cache
def _questions(name: str, private_checks: str) -> list[Question]:
    return questions_of(_lesson(name), private_checks=_module(private_checks))


def _module(private_checks: str) -> types.ModuleType:
    module = types.ModuleType("private_checks")
    exec(compile(private_checks, "<private checks>", "exec"), vars(module))  # the instructor's own file
    return module


def prove_private_checks(name: str, setup: Setup) -> None:
    """CourseError if the course's own solution does not pass an instructor's check: it is broken, or nobody could pass it."""
    lesson, own = _lesson(name), vars(_module(setup.private_checks))
    solution = reference(lesson.algorithm)
    for function in lesson.functions:
        for check in checks_of(own, function):
            verdict = judge(check, function, solution, setup.seed)
            if verdict.status != PASSED:
                raise CourseError(_not_passed(check.__name__, verdict))


def _not_passed(name: str, verdict: Verdict) -> str:
    en, zh = verdict.message
    if verdict.got and verdict.status == FAILED:
        en, zh = f"it gives {verdict.got}", f"它给出 {verdict.got}"
    elif verdict.got:
        en, zh = f"{en} {verdict.got}", f"{zh}{verdict.got}"
    return f"the course's own solution fails your check {name}: {en} | 参考答案通不过你的检查 {name}：{zh}"


@functools.cache
def _judge(setup: Setup) -> Judge:
    """One for a process: it keeps a warm zygote, or the one that was there before the process was forked."""
    torch.set_num_threads(1)
    return Judge(seed=setup.seed, unsafe=setup.unsafe, chosen=_chosen)
