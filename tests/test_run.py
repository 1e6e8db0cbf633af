"""A run over a class: each submission graded once, whatever dies, fills up or is started twice. Processes here grade nothing real."""

import contextlib
import io
import os
import signal
import subprocess
import sys
import textwrap
from concurrent.futures import Future, ThreadPoolExecutor

import pytest
from nbgrader.api import Gradebook
from sqlalchemy.exc import OperationalError

from autograder import run
from autograder.course import CourseError
from autograder.course_folder import CourseFolder
from autograder.processes import Crew
from autograder.record import GRADED, read_record
from autograder.stale import AGAIN, NEW_CHECKS, NO_CHECKS, OTHER_CHECKS, OTHER_COURSE, OTHER_FILE, OTHER_SEED
from autograder.task import CRASHED, Setup
from tests import fake_grading, needs
from tests.grading import LOSS, RLOO, make_course

SETUP = Setup(seed=7)


@pytest.fixture
def course(tmp_path, monkeypatch):
    monkeypatch.setattr(run, "grade_there", fake_grading.grade_there)
    monkeypatch.setattr(run, "refuse_there", fake_grading.refuse_there)
    return make_course(tmp_path)


def hand_in(course: CourseFolder, **files: str) -> None:
    for student, text in files.items():
        file = course.root / "submitted" / student / RLOO / f"{RLOO}.ipynb"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


def grade(course: CourseFolder, setup: Setup = SETUP, executors=fake_grading.forked, **more) -> run.Summary:
    with run.only_run(course), Crew(executors) as crew:
        return run.grade_assignment(course, "rloo", setup, crew, **more)


def nobody():
    raise AssertionError("no process is needed")


def graded_by(summary: run.Summary) -> set[str]:
    return {record.student for record in summary.graded}


def scores(course: CourseFolder) -> dict[str, float | None]:
    """Of the last question, as the gradebook has it; and the records agree."""
    with Gradebook(course.db_url, "rl") as gradebook:
        found = {submission.student.id: gradebook.find_grade(LOSS, RLOO, RLOO, submission.student.id).auto_score
                 for submission in gradebook.assignment_submissions(RLOO)}
    for student, score in found.items():
        record = read_record(course.record_file(student, RLOO))
        assert {question.key: question.score for question in record.questions}[LOSS] == score
    return found


# What is graded, and what is left alone


def test_each_submission_is_graded_once(course):
    hand_in(course, a="score 1", b="score 2", c="score 3")
    assert graded_by(grade(course)) == {"a", "b", "c"} and scores(course) == {"a": 1, "b": 2, "c": 3}
    before = {file: (file.stat().st_mtime_ns, file.stat().st_ino) for file in course.root.rglob("*") if file.is_file()}
    assert grade(course, executors=nobody) == run.Summary([], 3)
    assert {file: (file.stat().st_mtime_ns, file.stat().st_ino) for file in course.root.rglob("*") if file.is_file()} == before


def test_only_what_changed_is_graded_again(course):
    hand_in(course, a="score 1", b="score 2")
    grade(course)
    hand_in(course, b="score 0", c="score 3")
    assert graded_by(grade(course)) == {"b", "c"} and scores(course) == {"a": 1, "b": 0, "c": 3}


def test_one_student_and_all_again(course):
    hand_in(course, a="score 1", b="score 2")
    assert graded_by(grade(course, student="a")) == {"a"} and list(scores(course)) == ["a"]
    assert graded_by(grade(course, again=True)) == {"a", "b"}
    assert graded_by(grade(course, student="b", again=True)) == {"b"}
    assert grade(course, student="nobody", executors=nobody) == run.Summary([], 0)


@pytest.mark.parametrize("change, why", [
    (lambda monkeypatch: Setup(seed=8), OTHER_SEED), (lambda monkeypatch: Setup(7, private_checks="x = 1"), NEW_CHECKS),
    (lambda monkeypatch: monkeypatch.setattr(run, "grader_version", lambda *_: "other") or monkeypatch.setattr(
        fake_grading, "grader_version", lambda *_: "other") or SETUP, OTHER_COURSE)], ids=["seed", "private checks", "version"])
def test_another_seed_checks_or_version_is_another_grading(course, monkeypatch, capsys, change, why):
    hand_in(course, a="score 1", b="score 2")
    grade(course)
    assert "graded again" not in capsys.readouterr().out
    setup = change(monkeypatch)
    assert graded_by(grade(course, setup)) == {"a", "b"}
    assert f"{RLOO}: 2 graded again: {why.en} | 重评 2 份：{why.zh}\n" in capsys.readouterr().out
    assert grade(course, setup, executors=nobody).unchanged == 2


def test_checks_that_are_forgotten_or_changed_are_said(course, capsys):
    hand_in(course, a="score 1")
    grade(course, Setup(7, private_checks="x = 1"))
    for source, why in (("x = 2", OTHER_CHECKS), ("", NO_CHECKS)):
        grade(course, Setup(7, private_checks=source))
        assert why.en in capsys.readouterr().out
    hand_in(course, a="score 2")
    grade(course)
    assert OTHER_FILE.zh in capsys.readouterr().out
    grade(course, again=True)
    assert AGAIN.en in capsys.readouterr().out


@pytest.mark.parametrize("spoil", [
    lambda file: file.unlink(), lambda file: file.write_text(file.read_text()[:-30]), lambda file: file.write_text("")])
def test_a_record_that_cannot_be_read_is_none(course, spoil):
    hand_in(course, a="score 1", b="score 2")
    grade(course)
    spoil(course.record_file("a", RLOO))
    assert graded_by(grade(course)) == {"a"} and scores(course) == {"a": 1, "b": 2}


def test_another_reason_for_the_same_nothing_is_another_grading(course, monkeypatch):
    """Far too many files, and then several of which none is a notebook: of neither is there anything to read."""
    folder = course.root / "submitted" / "a" / RLOO
    folder.mkdir(parents=True)
    monkeypatch.setattr(run, "grade_there", lambda setup, handed: fake_grading.refuse_there(setup, handed, handed.refused))
    with ThreadPoolExecutor(1) as pool:
        def here():
            return contextlib.nullcontext((pool, 1))

        for number in range(21):
            (folder / f"{number}.ipynb").write_text("{}")
        assert graded_by(grade(course, executors=here)) == {"a"} and grade(course, executors=nobody).unchanged == 1
        for number in range(2, 21):
            (folder / f"{number}.ipynb").unlink()
        assert graded_by(grade(course, executors=here)) == {"a"} and grade(course, executors=nobody).unchanged == 1
    assert "None of 2 files" in read_record(course.record_file("a", RLOO)).reason.en


# What dies


def test_who_takes_processes_down_is_found_and_the_others_are_graded(course):
    hand_in(course, **{f"s{number}": f"score {number % 4}" for number in range(9)}, killer="kill")
    summary = grade(course)
    assert len(summary.graded) == 10 and scores(course) == {**{f"s{number}": number % 4 for number in range(9)}, "killer": None}
    assert read_record(course.record_file("killer", RLOO)).reason == CRASHED
    assert {record.student for record in summary.graded if record.status != GRADED} == {"killer"}


def test_who_was_reported_is_tried_again_by_the_next_run(course):
    hand_in(course, a="score 1", killer="kill")
    grade(course)
    assert graded_by(grade(course)) == {"killer"}
    hand_in(course, killer="score 2")
    assert graded_by(grade(course)) == {"killer"} and scores(course) == {"a": 1, "killer": 2}


def test_a_process_that_ends_once_costs_nobody_anything(course, tmp_path):
    hand_in(course, **{f"s{number}": f"score {number % 4}" for number in range(8)}, a="kill once " + str(tmp_path / "a"),
            t="kill once " + str(tmp_path / "t"))
    summary = grade(course)
    assert all(record.status == GRADED for record in summary.graded) and len(graded_by(summary)) == len(summary.graded) == 10
    assert scores(course) == {**{f"s{number}": number % 4 for number in range(8)}, "a": 0, "t": 0}


def test_processes_that_end_at_once_are_nobodys_fault(course):
    @contextlib.contextmanager
    def dying():
        with fake_grading.ProcessPoolExecutor(1, mp_context=fake_grading.multiprocessing.get_context("fork"),
                                              initializer=os._exit, initargs=(1,)) as pool:
            yield pool, 1

    hand_in(course, a="score 1")
    with pytest.raises(CourseError, match="end as soon as they are started"):
        grade(course, executors=dying)
    assert not course.record_file("a", RLOO).exists() and graded_by(grade(course)) == {"a"}


class FakeCluster(ThreadPoolExecutor):
    """What Dask raises: KilledWorker after it lost several workers with a task, and cancelled futures if the scheduler is gone."""

    def submit(self, function, *arguments) -> Future:
        handed = arguments[1] if len(arguments) > 1 else None
        if handed is None or not handed.data.startswith((b"lost", b"gone")) or function is fake_grading.refuse_there:
            return super().submit(function, *arguments)
        future = Future()
        if handed.data.startswith(b"gone"):
            future.cancel()
            future.set_running_or_notify_cancel()
        else:
            future.set_exception(type("KilledWorker", (Exception,), {})("4 workers"))
        return future


@contextlib.contextmanager
def cluster():
    with FakeCluster(2) as pool:
        yield pool, 2


def test_who_takes_workers_of_a_cluster_down_is_reported(course):
    hand_in(course, a="score 1", b="lost", c="score 3")
    grade(course, executors=cluster)
    assert scores(course) == {"a": 1, "b": None, "c": 3} and read_record(course.record_file("b", RLOO)).reason == CRASHED


def test_a_cluster_that_is_gone_stops_the_run(course):
    hand_in(course, a="gone")
    with pytest.raises(CourseError, match="the cluster is gone"):
        grade(course, executors=cluster)


def test_a_machine_that_cannot_grade_stops_the_run_and_nobody_is_blamed(course):
    hand_in(course, a="score 1", b="full", c="score 3")
    with pytest.raises(OSError, match="No space left"):
        grade(course)
    assert not course.record_file("b", RLOO).exists()


def test_another_version_of_the_course_elsewhere_is_noticed(course, monkeypatch):
    hand_in(course, a="score 1")
    monkeypatch.setattr(fake_grading, "grader_version", lambda *_: "older")
    with pytest.raises(CourseError, match="graded by another version of the course, older, not"):
        grade(course)
    assert not course.record_file("a", RLOO).exists()


# What cannot be written


def failing(error: BaseException, student: str, whole):
    """A function that raises where this student's turn comes."""
    def write(*arguments, **named):
        if student in str(arguments[:2]):
            raise error
        return whole(*arguments, **named)

    return write


@pytest.mark.parametrize("place", ["write_whole", "gradebook"])
def test_a_full_disk_ends_the_run_with_a_word_and_the_next_one_goes_on(course, monkeypatch, place):
    hand_in(course, a="score 1", b="score 2", c="score 3")
    with monkeypatch.context() as full:
        if place == "gradebook":
            error = OperationalError("INSERT", {}, Exception("database or disk is full"))
            full.setattr(run.GradebookWriter, "write", failing(error, "'b'", run.GradebookWriter.write))
        else:
            full.setattr(run, "write_whole", failing(OSError(28, "No space left on device"), "/b/", run.write_whole))
        with pytest.raises(CourseError, match="what b got cannot be written: .*(No space left|disk is full).*run `grade` again"):
            grade(course)
    assert not course.record_file("b", RLOO).exists()
    assert "b" in graded_by(grade(course)) and scores(course) == {"a": 1, "b": 2, "c": 3}


def test_a_pool_that_forgot_one_of_its_processes_is_given_up_all_the_same():
    """As when one process ends while another is being started: that one reads no more, and what is sent to it blocks the pool's end."""
    code = textwrap.dedent("""
        import os, signal, time
        from autograder.processes import Crashed, Crew, processes
        if __name__ == "__main__":
            with Crew(lambda: processes(2)) as crew:
                for _ in range(2):
                    crew.submit(time.sleep, 1000)
                lost = [crew.submit(len, b"x" * 10**6) for _ in range(3)][0]
                time.sleep(1)
                ours = crew._executor._processes
                ours.popitem()
                (other,) = ours
                os.kill(other, signal.SIGKILL)
                try:
                    crew.result(lost)
                except Crashed:
                    print(crew.result(crew.submit(len, b"again")))
    """)
    ended = subprocess.run([sys.executable, "-c", code], cwd=needs.ROOT, capture_output=True, text=True, timeout=120)
    assert ended.stdout == "5\n", ended.stderr


def test_a_real_limit_on_what_may_be_written(course):
    """In a process that may write no file beyond a few bytes more than what is there."""
    hand_in(course, a="score 1")
    code = textwrap.dedent(f"""
        import resource, sys
        from pathlib import Path
        from autograder import run
        from autograder.course import CourseError
        from autograder.course_folder import open_course
        from autograder.processes import Crew
        from tests import fake_grading
        run.grade_there = fake_grading.grade_there
        course = open_course(Path({str(course.root)!r}))
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
        try:
            with run.only_run(course), Crew(fake_grading.forked) as crew:
                run.grade_assignment(course, "rloo", run.Setup(7), crew)
        except CourseError as error:
            print(error)
    """)
    ended = subprocess.run([sys.executable, "-c", code], cwd=needs.ROOT, capture_output=True, text=True)
    assert "what a got cannot be written" in ended.stdout, ended.stderr
    assert graded_by(grade(course)) == {"a"} and scores(course) == {"a": 1}


def test_a_folder_that_may_not_be_written_to(course):
    hand_in(course, a="score 1")
    (course.root / "autograded").write_text("a file where a folder should be")
    with pytest.raises(CourseError, match="what a got cannot be written: .* a file is where a folder should be"):
        grade(course)


# Two runs, and a run that is stopped


def test_two_runs_at_once_are_refused(course):
    hand_in(course, a="score 1")
    with run.only_run(course):
        with pytest.raises(CourseError, match="another `grade` is at work on"):
            grade(course)
    assert graded_by(grade(course)) == {"a"}


def test_the_lock_goes_with_its_process(course):
    code = (f"import time; from pathlib import Path; from autograder import run; from autograder.course_folder import CourseFolder\n"
            f"with run.only_run(CourseFolder(Path({str(course.root)!r}), None)): print('locked', flush=True); time.sleep(60)")
    with subprocess.Popen([sys.executable, "-c", code], cwd=needs.ROOT, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout.readline() == "locked\n"
        with pytest.raises(CourseError, match="another `grade`"):
            grade(course)
        other.send_signal(signal.SIGKILL)
    with run.only_run(course):
        pass


def test_ctrl_c_ends_the_run_at_once_and_the_next_one_goes_on(course, monkeypatch):
    hand_in(course, a="score 1", b="score 2", c="wait 2")
    whole = run.write_whole

    def interrupted(file, content):
        if "/b/" in str(file):
            raise KeyboardInterrupt
        whole(file, content)

    with monkeypatch.context() as ctrl_c:
        ctrl_c.setattr(run, "write_whole", interrupted)
        with pytest.raises(KeyboardInterrupt):
            grade(course)
    assert not course.record_file("b", RLOO).exists()
    assert "b" in graded_by(grade(course)) and scores(course) == {"a": 1, "b": 2, "c": 0}


@pytest.mark.parametrize("killed_at", range(4))
def test_killed_between_any_two_of_the_three_writes(course, monkeypatch, killed_at):
    """Notebook, gradebook, record: whichever is missing, all are written again, and no score is lost, doubled or changed."""
    hand_in(course, a="score 1", b="score 2")
    grade(course, student="a")
    calls = []

    class Killed(BaseException):
        pass

    def dies_after(whole):
        def call(*arguments):
            if len(calls) == killed_at:
                raise Killed
            calls.append(whole)
            return whole(*arguments)

        return call

    with monkeypatch.context() as death:
        death.setattr(run, "write_whole", dies_after(run.write_whole))
        death.setattr(run.GradebookWriter, "write", dies_after(run.GradebookWriter.write))
        with pytest.raises(Killed) if killed_at < 3 else contextlib.nullcontext():
            grade(course)
    assert graded_by(grade(course)) == ({"b"} if killed_at < 3 else set())
    assert scores(course) == {"a": 1, "b": 2}


# What is seen of it


def test_a_bar_with_rate_and_time_on_a_terminal_and_a_few_lines_elsewhere(course, monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    for screen, seen in ((Terminal(), True), (io.StringIO(), False)):
        hand_in(course, **{f"s{number}": f"score {number % 3}" for number in range(4)})
        monkeypatch.setattr(sys, "stderr", screen)
        grade(course, again=True)
        monkeypatch.undo()
        monkeypatch.setattr(run, "grade_there", fake_grading.grade_there)
        if not seen:
            assert screen.getvalue() == "".join(f"{RLOO}: {n} of 4 | 已评 {n} / 4\n" for n in (1, 2, 3, 4))
        else:
            assert f"{RLOO}: 100%" in screen.getvalue() and "4/4" in screen.getvalue() and "submissions/s" in screen.getvalue()


def test_nothing_to_do_needs_no_torch_and_no_process(course):
    hand_in(course, a="score 1", b="score 2")
    (course.root / "grading").mkdir()
    (course.root / "grading" / "seed").write_text("7\n")
    grade(course)
    code = (f"import sys; from autograder.__main__ import main; status = main(['grade', {str(course.root)!r}]); import multiprocessing\n"
            "from multiprocessing import forkserver\n"
            "print('loaded', status, 'torch' in sys.modules, 'matplotlib' in sys.modules, forkserver._forkserver._forkserver_pid)")
    ended = subprocess.run([sys.executable, "-c", code], cwd=needs.ROOT, capture_output=True, text=True, encoding="utf-8",
                           env={**os.environ, "PYTHONUTF8": "1"})
    assert "0 graded, 0 ungradable, 2 unchanged" in ended.stdout, ended.stderr
    assert ended.stdout.splitlines()[-1] == "loaded 0 False False None" and ended.stderr == ""
