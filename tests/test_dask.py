"""Grading on a Dask cluster: two worker processes give the scores that this machine gives, also if one is killed on the way."""

import os
import signal
import threading
import time

import nbformat
import pytest

from autograder.__main__ import main
from autograder.course import CourseError
from autograder.demo_class import WRITTEN as ANSWER
from autograder.demo_class import solutions, submission
from autograder.processes import dask
from autograder.record import read_record
from lessons._build.answers import wrong_answers
from lessons._build.notebook import build_notebook
from tests import needs
from tests.grading import RLOO, make_course, rloo

STUDENTS = 8


@pytest.fixture(scope="module")
def cluster():
    try:
        from distributed import LocalCluster
    except ImportError:
        needs.not_run("Dask is missing", "`pip install distributed`")
    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0", silence_logs=50) as cluster:
        yield cluster


@pytest.fixture
def course(tmp_path):
    """(course, what each student should get)."""
    course, right = make_course(tmp_path), solutions(rloo())
    learner = {language: build_notebook(rloo(), language, "learner") for language in ("en", "zh")}
    mistakes, expected = [answer for answer in wrong_answers(rloo().folder) if answer.todos][5::30], {}
    for number in range(STUDENTS):
        wrong = mistakes[number % len(mistakes)].todos if number % 2 else {}
        made = submission(rloo(), learner[("en", "zh")[number // 2 % 2]], f"s{number}", "", {**right, **wrong}, wrong=wrong, written=ANSWER)
        file = course.root / "submitted" / made.student / RLOO / f"{RLOO}.ipynb"
        file.parent.mkdir(parents=True)
        nbformat.write(made.notebook, file)
        expected[made.student] = made.expected.points
    return course, expected


def records(course) -> dict:
    found = {student: read_record(course.record_file(student, RLOO)) for student, _ in course.submitted.of(RLOO)}
    return {student: record for student, record in found.items() if record}


def scores(course) -> dict:
    return {student: {question.key: question.score for question in record.questions} for student, record in records(course).items()}


def test_a_cluster_gives_the_same_scores(cluster, course, capsys):
    course, expected = course
    status = main(["grade", str(course.root), "--executor", f"dask={cluster.scheduler_address}"])
    said = capsys.readouterr()
    if status == 2 and "No isolation" in said.err:
        needs.not_run("no isolation of student code works here", "`apt-get install bubblewrap`")
    assert status == 0 and f"{STUDENTS} graded, 0 ungradable, 0 unchanged" in said.out, said.err
    assert scores(course) == expected


def test_a_worker_that_is_killed_costs_nobody_anything(cluster, course, capsys):
    course, expected = course
    before = {worker.pid for worker in cluster.workers.values()}

    def kill_one():
        end = time.monotonic() + 300
        while not records(course) and time.monotonic() < end:
            time.sleep(0.01)
        os.kill(min(before), signal.SIGKILL)

    killer = threading.Thread(target=kill_one)
    killer.start()
    status = main(["grade", str(course.root), "--executor", f"dask={cluster.scheduler_address}"])
    killer.join()
    said = capsys.readouterr()
    if status == 2 and "No isolation" in said.err:
        needs.not_run("no isolation of student code works here", "`apt-get install bubblewrap`")
    assert status == 0 and f"{STUDENTS} graded, 0 ungradable, 0 unchanged" in said.out, said.err
    assert scores(course) == expected


def test_no_cluster_there_is_said(monkeypatch):
    try:
        import dask as settings
    except ImportError:
        needs.not_run("Dask is missing", "`pip install distributed`")
    with settings.config.set({"distributed.comm.timeouts.connect": "1s"}), pytest.raises(CourseError, match="no Dask cluster at"):
        with dask("tcp://127.0.0.1:9"):
            pass
