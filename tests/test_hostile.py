"""The red team: hostile submissions among honest ones, through the commands an instructor uses, and what must be true afterwards.

A course is made by `init`, all attackers and some honest neighbors hand in, `grade` and `feedback` run as processes of their own. Then each
attack has its test: the points are those that were earned, and no secret stands in anything that was written. The secrets are real ones,
marked: canary-NAME-RANDOM. The last tests show that the attacks do succeed where nothing is locked up.
`make test` runs half of them; ALL=1 runs all, and most of them in every other isolation that works here.
"""

import ctypes
import functools
import json
import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path

import nbformat
import psutil
import pytest
from nbgrader.api import Gradebook

from autograder.demo_class import WRITTEN as ANSWER
from autograder.demo_class import solutions, submission
from autograder.intake import read_submission
from autograder.judge import Judge, questions_of
from autograder.record import UNGRADABLE, Record, read_record
from autograder.sandbox import SandboxError
from autograder.worker import landlock
from autograder.worker.jail import LANDLOCK, UID
from lessons._build.notebook import build_notebook
from tests import malformed_cases, needs
from tests.grading import ADVANTAGES, LOSS, POINTS, RLOO, SHAPE, SUM, WRITTEN, rloo
from tests.hostile import GAINED, OFTEN, SELDOM, TRICKS, Attack, Known
from tests.needs import ROOT
from tests.test_autograded import Page, render
from tests.whole import ALL

MALFORMED = malformed_cases.OFTEN | (malformed_cases.SELDOM if ALL else {})
ATTACKS = OFTEN | (SELDOM if ALL else {})
QUESTIONS = {1: SUM, 2: SHAPE, 3: ADVANTAGES, 4: LOSS}
RIGHT = {**POINTS, WRITTEN: None}
NEIGHBORS = 8
WORKERS = 4
PATIENCE = 900  # seconds for what takes less than one minute on an idle machine
SUBREAPER = 36  # prctl: orphans of this process's children become its own
SEED = 918273645546372819
INPUTS = ("7654321", "8642097")  # numbers of an instructor's own hidden checks

PRIVATE_CHECKS = f"""
import torch

from advantagelab.checking import expect_close, message

SAID = message(en="the instructor's own", zh="教师自己的检查")
MARK = "canary-privatechecks-TOKEN"


def hidden_aggregate_sequence_logps_private(answers, rng):
    scores = torch.full((9, 2), -{INPUTS[0]}.0, dtype=torch.float64)
    expect_close(answers.aggregate_sequence_logps(scores, torch.ones(9, 2, dtype=torch.bool)), 2 * scores[:, 0], SAID)


def hidden_shape_rloo_rewards_private(answers, rng):
    rewards, logps = torch.full((9,), {INPUTS[1]}.0), torch.full((9, 2), -1.0)
    expect_close(answers.shape_rloo_rewards(rewards, logps, logps, torch.ones(9, 2, dtype=torch.bool))[0], rewards, SAID)


def hidden_leave_one_out_advantages_private(answers, rng):
    rewards = torch.tensor([{INPUTS[0]}.0, {INPUTS[1]}.0] * 4)
    groups = torch.arange(4).repeat_interleave(2)
    expect_close(answers.leave_one_out_advantages(rewards, groups), torch.tensor([{int(INPUTS[0]) - int(INPUTS[1])}.0,
                 {int(INPUTS[1]) - int(INPUTS[0])}.0] * 4), SAID)
"""
# Lines of the course's own hidden checks, specification and solution.
COURSE_LINES = ("zip(scores, valid, strict=True)", "masked_fill(~mask, junk).requires_grad_()", "siblings = [rewards[j] for j in")


@dataclass
class Class:
    """A graded class: what the commands said, and what there was to find."""

    root: Path
    home: Path
    known: Known
    canaries: dict[str, str]
    said: dict[str, str]  # of each command
    status: dict[str, int]
    handed_in: dict[Path, bytes]
    found: dict[str, object]  # what was looked for while it ran, and right after
    unprotected: dict[str, dict]  # what the attacks that harm nothing get where nothing is locked up

    def text(self, student: str) -> str:
        """All that was written about a student, except the seed in the record, which no student gets to see."""
        record = json.loads((self.root / "grading" / RLOO / student / "record.json").read_text(encoding="utf-8"))
        del record["seed"]
        return "\n".join([json.dumps(record, ensure_ascii=False), self.autograded(student).read_text(encoding="utf-8"), self.page(student)])

    def autograded(self, student: str) -> Path:
        return self.root / "autograded" / student / RLOO / f"{RLOO}.ipynb"

    def page(self, student: str) -> str:
        return (self.root / "feedback" / student / RLOO / f"{RLOO}.html").read_text(encoding="utf-8")

    def outputs(self, student: str) -> str:
        """Of the cells, as formgrader and feedback show them."""
        return "\n".join(str(output) for cell in nbformat.read(self.autograded(student), 4).cells for output in cell.get("outputs", []))

    @functools.cached_property
    def points(self) -> dict[str, dict[str, float | None]]:
        with Gradebook(f"sqlite:///{self.root}/gradebook.db") as gradebook:
            return {submission.student.id: {
                grade.name: None if grade.needs_manual_grade and grade.manual_score is None else grade.score
                for notebook in submission.notebooks for grade in notebook.grades} for submission in gradebook.assignment_submissions(RLOO)}


def name_of(attack: str) -> str:
    """The student. A few neighbors come between all of them, in the order in which they are graded."""
    return f"{list(ATTACKS).index(attack):03}-{attack}"


def honest_notebook(language: str, written: str) -> bytes:
    made = submission(rloo(), build_notebook(rloo(), language, "learner"), "", "", solutions(rloo()), written=written)
    return nbformat.writes(made.notebook).encode()


def hostile_notebook(attack: Attack, known: Known, learner: nbformat.NotebookNode) -> bytes:
    answers = {number: code for number, code in solutions(rloo()).items() if number in attack.right} | attack.answers
    made = submission(rloo(), learner, "", "", answers, written=attack.written).notebook
    if attack.cell:
        made.cells.insert(2, nbformat.v4.new_code_cell(known.prelude() + attack.cell, id="hostile"))
    if attack.after:
        made.cells.append(nbformat.v4.new_code_cell(attack.after, id="hostile-after"))
    if attack.edit:
        attack.edit(made)
    return nbformat.writes(made).encode()


def hand_in(root: Path, student: str, content: bytes, name: str = f"{RLOO}.ipynb") -> None:
    file = root / "submitted" / student / RLOO / name
    file.parent.mkdir(parents=True)
    file.write_bytes(content)


@pytest.fixture(scope="module")
def graded(tmp_path_factory) -> Iterator[Class]:
    """The class, handed in, graded, and given its feedback."""
    token, folder = secrets.token_hex(8), tmp_path_factory.mktemp("hostile")
    root, home = folder / "course", folder / "home"
    canaries = {name: f"canary-{name}-{token}" for name in ("environment", "home", "source", "gradebook", "neighbor", "privatechecks")}
    home.mkdir()
    for name in ("token", ".netrc"):
        (home / name).write_text(canaries["home"])
    with tempfile.TemporaryDirectory(prefix="h") as temporary, socket.create_server(("127.0.0.1", 0)) as port, \
            socket.socket(socket.AF_UNIX) as listener, socket.socket(socket.AF_UNIX) as abstract:
        temporary = Path(temporary)
        (temporary / "tmp").mkdir()
        # PATH as in a shell with the environment switched on: nbgrader calls alembic by its bare name.
        environment = {**os.environ, "HOME": str(home), "TMPDIR": str(temporary / "tmp"), "CANARY": canaries["environment"],
                       "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
        victim = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(10**6)"], env=environment)
        known = Known(str(root), str(home), str(ROOT), str(temporary / "socket"), f"mark-{token}", victim.pid, port.getsockname()[1])
        listener.bind(known.socket)
        abstract.bind(f"\0{known.mark}")
        for waiting in (port, listener, abstract):
            waiting.listen()
            waiting.setblocking(False)

        def run(*arguments: str) -> tuple[int, str]:
            ran = subprocess.run([sys.executable, "-m", "autograder", *arguments], cwd=ROOT, env=environment, timeout=PATIENCE,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            return ran.returncode, ran.stdout.decode()

        status, said = run("init", str(root), "--language", "en", "--lesson", "rloo")
        assert status == 0, said
        plant(root, canaries)
        (folder / "mine.py").write_text(PRIVATE_CHECKS.replace("TOKEN", token), encoding="utf-8")
        learner = {language: build_notebook(rloo(), language, "learner") for language in ("en", "zh")}
        for number, name in enumerate(ATTACKS):
            hand_in(root, name_of(name), hostile_notebook(ATTACKS[name], known, learner[("en", "zh")[number % 2]]))
        for number in range(NEIGHBORS):
            place = number * len(ATTACKS) // NEIGHBORS
            hand_in(root, f"{place:03}-honest", honest_notebook(("en", "zh")[number % 2], f"{ANSWER} {canaries['neighbor']}"))
        for name, row in MALFORMED.items():
            hand_in(root, f"malformed-{name}", row.content(), row.file)
        result = Class(root, home, known, canaries, {}, {}, {}, {}, {})
        good = honest_notebook("en", f"{ANSWER} {canaries['neighbor']}")
        for trick in TRICKS.values():
            trick.make(root / "submitted" / trick.student, good)
        own, children = psutil.Process(), set(psutil.Process().children(recursive=True))
        ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)
        before, handed_in = outside(known), content(root / "submitted")
        try:
            result.status["grade"], result.said["grade"] = run(
                "grade", str(root), "--workers", str(WORKERS), "--checks", str(folder / "mine.py"))
            if "No isolation works on this machine" in result.said["grade"]:
                needs.not_run("no isolation of student code works here", "`apt-get install bubblewrap`")
            result.status["feedback"], result.said["feedback"] = run("feedback", str(root))
            left = [process for process in own.children(recursive=True) if process not in children and process.pid != victim.pid]
            result.found["processes"] = [process for process in left if process.status() != psutil.STATUS_ZOMBIE]
            result.found["submitted"] = content(root / "submitted") == handed_in
            result.found["files"] = outside(known) - before
            result.found["temporary"] = os.listdir(temporary / "tmp")
            result.found["home"] = content(home) == {home / name: canaries["home"].encode() for name in ("token", ".netrc")}
            result.found["victim"] = (victim.poll(), psutil.Process(victim.pid).status() if victim.poll() is None else "gone")
            result.found["calls"] = [waiting for waiting in (port, listener, abstract) if called(waiting)]
            # Last, the attacks that succeed unprotected are let loose on home, victim and sockets; without the tricks, whose pipes
            # and endless files would stop whoever opens them.
            for trick in TRICKS.values():
                taken_away(root / "submitted" / trick.student)
            result.unprotected = grade_as_stock_does(root, folder / "stock", {**environment, "TMPDIR": str(temporary)})
        finally:
            ctypes.CDLL(None).prctl(SUBREAPER, 0, 0, 0, 0)
            victim.kill()
            victim.wait()
        yield result


def taken_away(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def grade_as_stock_does(root: Path, folder: Path, environment: dict[str, str]) -> dict[str, dict]:
    """In the course's folder, with the checks in the same process: so that the tests of what an attack does not get can fail."""
    names = [name for name, attack in ATTACKS.items() if attack.succeeds]
    for name in names:
        shutil.copytree(root / "submitted" / name_of(name), folder / name_of(name))
    files = [f"{ATTACKS[name].succeeds}:{folder / name_of(name) / RLOO / f'{RLOO}.ipynb'}" for name in names]
    database = (root / "gradebook.db").read_bytes()
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    ran = subprocess.run([sys.executable, "-m", "tests.hostile.unprotected", *files], cwd=ROOT, env={**environment, "PYTHONPATH": path},
                         timeout=PATIENCE, stdout=subprocess.PIPE)
    (root / "gradebook.db").write_bytes(database)
    return dict(zip(names, map(json.loads, ran.stdout.decode().splitlines()), strict=True))


def plant(root: Path, canaries: dict[str, str]) -> None:
    """Secrets where an instructor's course has them."""
    (root / "grading").mkdir()
    (root / "grading" / "seed").write_text(f"{SEED}\n")
    source = root / "source" / RLOO / f"{RLOO}.ipynb"
    notebook = nbformat.read(source, 4)
    notebook.cells.append(nbformat.v4.new_markdown_cell(canaries["source"], id="canary"))
    nbformat.write(notebook, source)
    with Gradebook(f"sqlite:///{root}/gradebook.db") as gradebook:
        gradebook.add_student("000-honest", last_name=canaries["gradebook"])


def content(folder: Path) -> dict[Path, object]:
    """Of regular files; of very large ones the size."""
    return {file: file.read_bytes() if file.stat().st_size < 2**30 else file.stat().st_size
            for file in folder.rglob("*") if file.is_file() and not file.is_symlink() and file.name != "nbsignatures.db"}


def outside(known: Known) -> set[str]:
    """What has the attackers' mark, wherever they might have left it, and System V objects."""
    places = ["/tmp", "/var/tmp", "/dev/shm", "/run", "/", "/usr", "/etc", known.home, known.course, f"{known.course}/submitted",
              known.checkout,
              os.path.dirname(nbformat.__path__[0]), *sys.path]
    found = {f"{place}/{name}" for place in places if os.path.isdir(place) for name in os.listdir(place) if known.mark in name}
    return found | {line for kind in ("shm", "sem", "msg") for line in Path(f"/proc/sysvipc/{kind}").read_text().splitlines()
                    if str(0x5eed) in line.split()[:1]}


def called(listener: socket.socket) -> bool:
    try:
        listener.accept()[0].close()
        return True
    except BlockingIOError:
        return False


# The run as a whole


def test_the_run_ends_and_says_what_is_wrong(graded):
    """Status 1 is for the tricks with files alone: each of the others is graded."""
    said = graded.said["grade"]
    refused = [name for name, row in MALFORMED.items() if row.points == malformed_cases.UNGRADABLE]
    tricks = {outcome: [trick for trick in TRICKS.values() if trick.outcome == outcome] for outcome in ("right", "ungradable", "stray")}
    right = len(ATTACKS) + NEIGHBORS + len(MALFORMED) - len(refused) + len(tricks["right"])
    assert f"{right} graded, {len(refused) + len(tricks['ungradable'])} ungradable, 0 unchanged" in said, said
    assert graded.status == {"grade": 1, "feedback": 0}
    for said in graded.said.values():
        assert "Traceback" not in said and all(sign.isprintable() or sign in "\n\r" for sign in said)


def test_the_neighbors_have_all_their_points(graded):
    points = graded.points
    neighbors = [student for student in points if student.endswith("honest")]
    assert len(neighbors) == NEIGHBORS and {student: points[student] for student in neighbors} == dict.fromkeys(neighbors, RIGHT)


def test_nothing_is_left_over(graded):
    assert graded.found["processes"] == []
    assert graded.found["victim"] == (None, psutil.STATUS_SLEEPING)
    assert graded.found["files"] == set()
    assert graded.found["temporary"] == []
    assert graded.found["calls"] == []
    assert graded.found["submitted"]
    assert graded.found["home"]


def test_nothing_is_in_the_course_that_does_not_belong_there(graded):
    assert {entry.name for entry in graded.root.iterdir()} == {
        "source", "release", "submitted", "autograded", "feedback", "grading", "gradebook.db", "nbgrader_config.py"}
    assert {entry.name for entry in (graded.root / "grading").iterdir()} == {RLOO, "seed", "lock"}
    students = set(graded.points)
    for step, file in (("autograded", f"{RLOO}.ipynb"), ("feedback", f"{RLOO}.html")):
        assert {entry.name for entry in (graded.root / step).iterdir()} == students
        assert {str(entry.relative_to(graded.root / step)) for entry in (graded.root / step).rglob("*") if entry.is_file()} == {
            f"{student}/{RLOO}/{file}" for student in students}


# Each attack


@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_earns_what_it_earned_and_learns_nothing(graded, name):
    attack, student = ATTACKS[name], name_of(name)
    earned = {question: RIGHT[question] if number in attack.right else 0.0 for number, question in QUESTIONS.items()} | {WRITTEN: None}
    points = graded.points[student]
    if attack.loses:
        assert all(given == earned[question] or given == 0 for question, given in points.items() if question != WRITTEN), points
    else:
        assert points == earned, record_of(graded, student).questions
    assert GAINED not in graded.outputs(student)
    assert secrets_in(graded, graded.text(student)) == []


def secrets_in(graded: Class, text: str) -> list[str]:
    known = [*graded.canaries.values(), str(SEED), str(graded.root), str(graded.home), *INPUTS, *COURSE_LINES]
    return [secret for secret in known if secret in text]


@pytest.mark.parametrize("name", [name for name in ATTACKS if name.startswith("output-")])
def test_what_an_attacker_wrote_is_not_alive_on_a_page(graded, name):
    """Formgrader: no tag, attribute or address that the page of an honest student does not have."""
    student = name_of(name)
    notebook, neighbor = own_cells(graded, student), own_cells(graded, next(name for name in graded.points if name.endswith("honest")))
    page, honest = Page(render(notebook)), Page(render(neighbor))
    assert page.alive() == honest.alive()
    assert addresses(page) == addresses(honest)
    prose = "\n".join(cell.source for cell in notebook.cells if cell.cell_type != "code")
    assert not re.search(r"\\(?:href|style|class|cssId|require|unicode)\b", prose)


def own_cells(graded: Class, student: str) -> nbformat.NotebookNode:
    """What is the student's own in the notebook for formgrader: answers, prose, outputs."""
    notebook = nbformat.read(graded.autograded(student), 4)
    answers = {question.answer_key for question in record_of(graded, student).questions}
    notebook.cells = [cell for cell in notebook.cells
                      if cell.get("outputs") or cell.id in answers or cell.id.startswith(("note", "hostile"))]
    return notebook


def record_of(graded: Class, student: str) -> Record:
    return read_record(graded.root / "grading" / RLOO / student / "record.json")


def addresses(page: Page) -> set[str]:
    return {attributes[name] for _, attributes in page.tags for name in ("href", "src", "action", "data") if attributes.get(name)}


class Feedback(HTMLParser):
    """The tags of a feedback page, each with the names of its attributes."""

    def __init__(self, text: str):
        super().__init__()
        self.tags = set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags |= {(tag, name) for name, _ in attributes} or {(tag, "")}


def test_a_feedback_page_has_only_the_tags_of_feedback(graded):
    known = {("html", "lang"), ("head", ""), ("meta", "charset"), ("meta", "name"), ("meta", "content"), ("meta", "http-equiv"),
             ("title", ""),
             ("style", ""), ("body", ""), ("h1", ""), ("h2", ""), ("p", ""), ("p", "class"), ("b", ""), ("code", ""), ("details", "class"),
             ("details", "open"), ("summary", ""), ("ul", ""), ("li", ""), ("li", "class"), ("div", "class"), ("table", ""), ("tr", ""),
             ("th", ""),
             ("td", ""), ("span", "class"), ("pre", ""), ("br", "")}
    for student in graded.points:
        page = graded.page(student)
        assert Feedback(page).tags <= known, student
        assert all(sign.isprintable() or sign == "\n" for sign in page), student
        assert len(page) < 200_000


# Tricks with folders and files


@pytest.mark.parametrize("name", TRICKS)
def test_a_trick_with_files_gets_its_points_or_its_reason(graded, name):
    trick, points = TRICKS[name], graded.points
    if trick.outcome == "nothing":
        assert trick.student not in points and trick.student not in graded.said["grade"]
        return
    if trick.outcome == "stray":
        shown = "".join(sign if sign.isprintable() else " " for sign in trick.student)
        assert trick.student not in points and re.search(rf"{re.escape(shown[:60])}.*\|", graded.said["grade"])
        return
    record = record_of(graded, trick.student)
    assert points[trick.student] == (RIGHT if trick.outcome == "right" else dict.fromkeys(POINTS)), record
    if trick.outcome == "ungradable":
        assert record.status == UNGRADABLE and record.reason.en and record.reason.zh
    own = graded.canaries["neighbor"]  # a right file is a neighbor's
    assert [secret for secret in secrets_in(graded, graded.text(trick.student)) if secret != own] == []


# Malformed files, graded in the same runs


@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_file_gets_its_right_score_or_a_reason(graded, name):
    student, row = f"malformed-{name}", MALFORMED[name]
    record = record_of(graded, student)
    assert graded.points[student] == {question.key: question.score for question in record.questions} == row.points, record.questions
    assert (record.status == UNGRADABLE) == (row.points == malformed_cases.UNGRADABLE)
    if record.status == UNGRADABLE:
        assert record.reason.en in graded.said["grade"] and record.reason.zh in graded.page(student)


# That these tests can fail: the same attacks where nothing is locked up


@pytest.mark.parametrize("name", [name for name, attack in ATTACKS.items() if attack.succeeds])
def test_an_attack_succeeds_where_nothing_is_locked_up(graded, name):
    got = graded.unprotected[name]
    if ATTACKS[name].succeeds == "reads":
        assert GAINED in got["printed"] or secrets_in(graded, got["printed"])
    else:
        assert len(got["passed"]) > len(ATTACKS[name].right), got


def test_every_kind_of_secret_is_found_where_nothing_is_locked_up(graded):
    """So that no canary is planted where nobody would find it."""
    found = {secret for got in graded.unprotected.values() for secret in secrets_in(graded, got["printed"])}
    assert {*graded.canaries.values(), str(SEED)} - found == {graded.canaries["privatechecks"]}  # that file is not in the course


# What a child was forked with


@pytest.mark.skipif(os.geteuid() != 0, reason="not run: only root reads another process's memory")
def test_the_memory_of_a_child_holds_no_secret(monkeypatch):
    """Whatever code may do in there, what is not there cannot be read."""
    secret = f"canary-{secrets.token_hex(8)}"
    monkeypatch.setenv("CANARY", secret)
    questions_of(rloo())  # checks and specification are in this process, as in the judge's
    try:
        judge = Judge()
    except SandboxError as error:
        needs.not_run(f"no isolation works here: {error}", "`apt-get install bubblewrap`")
    remote = judge.remote()
    try:
        remote.run("cell", "kept = 'it is ' + 'found'", 10)
        child = max(psutil.Process().children(recursive=True), key=lambda process: process.create_time())
        held = memory_of(child.pid)
    finally:
        remote.kill()
        judge.close()
    assert held.count(b"it is found") > 0
    assert [word for word in (secret, *COURSE_LINES, "hidden_leave_one_out") if word.encode() in held] == []


def memory_of(pid: int) -> bytes:
    """All that a process can change, and so all that it or those before it wrote."""
    parts = []
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
            start, end = (int(place, 16) for place in line.split()[0].split("-"))
            if " rw" in line and end - start < 2**30:
                memory.seek(start)
                parts.append(memory.read(end - start))
    return b"\0".join(parts)


# The other isolations


@pytest.mark.skipif(not ALL, reason="not run: with ALL=1 only")
@pytest.mark.parametrize("isolation", [UID, LANDLOCK])
def test_escapes_and_exhaustion_in_the_other_isolations(isolation, tmp_path):
    """By the judge itself, which is what the command uses where bubblewrap is missing."""
    if not landlock.version():
        needs.not_run("this kernel has no Landlock", "a kernel of 5.13 or later with Landlock switched on")
    try:
        judge = Judge(isolation)
    except SandboxError as error:
        needs.not_run(f"the isolation {isolation} does not work here ({error})", "root")
    victim = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(10**6)"])
    known = Known(str(tmp_path), str(tmp_path), str(ROOT), str(tmp_path / "socket"), f"mark-{secrets.token_hex(8)}", victim.pid, 9)
    learner, questions = build_notebook(rloo(), "en", "learner"), questions_of(rloo())
    failed = {}
    try:
        for name, attack in ATTACKS.items():
            if not name.startswith(("escape-", "exhaustion-", "reading-", "protocol-")):
                continue
            code = read_submission(hostile_notebook(attack, known, learner), rloo()).code
            judgement = judge.grade(code, questions)
            scores = {result.key: result.score for result in judgement.questions}
            earned = {question: RIGHT[question] if number in attack.right else 0.0 for number, question in QUESTIONS.items()}
            gained = [cell.stdout for cell in judgement.cells if GAINED in cell.stdout]
            if gained or (scores != earned and not attack.loses) or victim.poll() is not None or outside(known):
                failed[name] = gained, scores, outside(known)
    finally:
        judge.close()
        victim.send_signal(signal.SIGKILL)
        victim.wait()
    assert failed == {}
