"""Grading processes that grade nothing: what is handed in says what becomes of the process that opens it."""

import contextlib
import multiprocessing
import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path

from autograder.task import Graded, Handed, Setup, grader_version
from tests.grading import LOSS, make_record, ungradable_record


def grade_there(setup: Setup, handed: Handed) -> Graded:
    """`score N`: of the last question; `kill`: takes the process down; `kill once FILE`: if FILE is not there; `full`: as on a full disk;
    `wait N`: seconds."""
    word, _, rest = handed.data.decode().partition(" ")
    if word == "kill" and not (rest and Path(rest.removeprefix("once ")).exists()):
        if rest:
            Path(rest.removeprefix("once ")).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    if word == "full":
        raise OSError(28, "No space left on device")
    if word == "wait":
        time.sleep(float(rest))
    return _graded(make_record(handed.student, {LOSS: float(rest) if word == "score" else 0.0}), setup, handed)


def refuse_there(setup: Setup, handed: Handed, reason) -> Graded:
    return _graded(replace(ungradable_record(handed.student), reason=reason), setup, handed)


def _graded(record, setup: Setup, handed: Handed) -> Graded:
    return Graded(replace(record, sha256=handed.sha256, file=handed.file, grader=grader_version(handed.lesson, setup.private_checks),
                          seed=setup.seed, isolation=f"process {os.getpid()}"), "{}")


@contextlib.contextmanager
def forked(number: int = 2) -> Iterator[tuple[Executor, int]]:
    """Like autograder.processes.processes, but quick to start."""
    with ProcessPoolExecutor(number, mp_context=multiprocessing.get_context("fork")) as pool:
        yield pool, number
