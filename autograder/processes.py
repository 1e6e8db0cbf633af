"""Where submissions are graded: in processes on this machine, or on a Dask cluster. Both are executors of concurrent.futures."""

import contextlib
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, ProcessPoolExecutor
from multiprocessing import connection
from pathlib import Path

from lessons._build.course import read_course

from .course_error import CourseError

# Makes an executor, as a context, and says how many submissions it grades at once.
Executors = Callable[[], contextlib.AbstractContextManager[tuple[Executor, int]]]

STARTS = 3  # of an executor, before it is given up
LESSON = "AUTOGRADER_LESSON"  # an environment variable: which one to load beforehand


class Crashed(Exception):
    """The process that worked on it ended."""


class Crew:
    """An executor that is made when it is first needed, and anew after one of its processes ended."""

    def __init__(self, executors: Executors):
        self._executors = executors
        self._open = contextlib.ExitStack()
        self._executor: Executor | None = None
        self._places = 0

    def __enter__(self):
        return self

    def __exit__(self, *error) -> bool | None:
        return self._open.__exit__(*error)

    @property
    def places(self) -> int:
        self._ensure()
        return self._places

    def submit(self, function: Callable, *arguments) -> Future:
        """Crashed: a process of the executor has ended; all futures that are not done are lost, and the next call makes a new executor."""
        self._ensure()
        try:
            return self._executor.submit(function, *arguments)
        except (BrokenExecutor, EOFError, ConnectionError) as error:  # the latter if what processes are forked from has ended
            self._discard(error)
            raise Crashed from error

    def result(self, future: Future):
        """The result or the error of the function that was submitted. Crashed: as for `submit`."""
        try:
            return future.result()
        except CancelledError:
            raise CourseError("the cluster is gone | 与集群的连接已断开") from None
        except Exception as error:
            if not isinstance(error, BrokenExecutor) and type(error).__name__ != "KilledWorker":  # Dask's
                raise
            self._discard(error)
            raise Crashed from error

    def _ensure(self) -> None:
        if self._executor is None:
            self._executor, self._places = self._open.enter_context(self._executors())

    def _discard(self, cause: Exception) -> None:
        """Make a new executor that works. If one after the other does not, it is not the submissions that take processes down."""
        for attempt in range(STARTS):
            time.sleep(attempt)
            self._open.__exit__(type(cause), cause, None)
            self._executor = None
            try:
                self._ensure()
                self._executor.submit(os.getpid).result()
                return
            except CourseError:
                raise
            except Exception as error:
                cause = error
        name = type(cause).__name__
        raise CourseError(f"grading processes end as soon as they are started: {name}: is there too little memory? | "
                          f"评阅进程一启动就结束（{name}）：内存是否不足？") from cause


def warm_up(lesson: str = "") -> None:
    """Begin to load what every grading process here needs: it is loaded once, and they are forked from there (warm.py)."""
    from multiprocessing import forkserver  # only where student code can be run

    os.environ[LESSON] = lesson
    forkserver.set_forkserver_preload([f"{__package__}.warm"])
    at_ctrl_c = signal.signal(signal.SIGINT, signal.SIG_IGN)  # as it stays over there: Ctrl+C is for this process alone
    forkserver.ensure_running()
    signal.signal(signal.SIGINT, at_ctrl_c)


def warm_up_for(course: Path) -> None:
    """`warm_up`, if the usual folders look as if something waited there. A guess, made before nbgrader is imported, which takes as long."""
    graded = {file.parts[-3:-1] for file in course.glob("grading/*/*/record.json")}
    waiting = {folder.name for folder in course.glob("submitted/*/*") if (folder.name, folder.parent.name) not in graded}
    lesson = next((entry.name for entry in read_course().lessons if entry.notebook in waiting), None)
    if lesson:
        warm_up(lesson)


@contextlib.contextmanager
def processes(number: int) -> Iterator[tuple[Executor, int]]:
    """On this machine. They share nothing with this process, and end with it.

    After an error they are killed first: a pool that breaks while it starts a process forgets that one, which then blocks the pool's end.
    """
    warm_up()
    pool = ProcessPoolExecutor(number, mp_context=multiprocessing.get_context("forkserver"), initializer=_begin)
    try:
        yield pool, number
    except BaseException:
        for process in multiprocessing.active_children():
            process.kill()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _begin() -> None:
    """In a grading process: it ends when the one that hands out the work does, be it by SIGKILL, and not at Ctrl+C before."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(multiprocessing.parent_process().sentinel,), daemon=True).start()


def _end_with(sentinel: int) -> None:
    connection.wait([sentinel])
    os._exit(1)


@contextlib.contextmanager
def dask(address: str) -> Iterator[tuple[Executor, int]]:
    """On the workers of a Dask cluster, each a process that has this checkout and an isolation of its own."""
    from distributed import Client

    try:
        client = Client(address)
    except (OSError, ValueError) as error:
        raise CourseError(f"no Dask cluster at {address}: {error} | {address} 处没有 Dask 集群：{error}") from error
    with client:
        workers = len(client.nthreads())
        if not workers:
            raise CourseError(f"the Dask cluster at {address} has no workers | {address} 处的 Dask 集群没有 worker")
        yield client.get_executor(pure=False), workers
