"""The autograder for Gradescope: its zip is unpacked and run as Gradescope does, only elsewhere."""

import json
import os
import shutil
import subprocess
import sys
import zipfile

import nbformat
import pytest

from advantagelab.checking import message
from autograder.__main__ import main
from autograder.demo_class import WRITTEN as ANSWER
from autograder.demo_class import solutions, submission
from autograder.gradescope import results_of
from autograder.record import Record
from lessons._build.course import ROOT
from lessons._build.notebook import build_notebook
from tests import needs
from tests.grading import ADVANTAGES, LOSS, RLOO, SUM, check, make_course, make_record, rloo, ungradable_record
from tests.test_feedback import HOSTILE, with_checks

PRIVATE = "def hidden_rloo_policy_loss_is_mine(answers, rng):\n    assert True, '私有'\n"


def test_a_private_check_that_nobody_could_pass_is_refused(tmp_path, capsys):
    (tmp_path / "mine.py").write_text("def hidden_rloo_policy_loss_is_mine(answers, rng):\n    raise ValueError('broken')\n")
    assert main(["export", "--lesson", "rloo", "--format", "gradescope", "--output", str(tmp_path / "a.zip"),
                 "--checks", str(tmp_path / "mine.py")]) == 2
    assert "the course's own solution fails your check" in capsys.readouterr().err and not (tmp_path / "a.zip").exists()


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """What /autograder is there: the zip in source/, and submission/ and results/."""
    folder = tmp_path_factory.mktemp("autograder")
    (folder / "mine.py").write_text(PRIVATE, encoding="utf-8")
    assert main(["export", "--lesson", "rloo", "--format", "gradescope", "--output", str(folder / "a.zip"), "--seed", "11",
                 "--checks", str(folder / "mine.py")]) == 0
    with zipfile.ZipFile(folder / "a.zip") as archive:
        archive.extractall(folder / "source")
    (folder / "results").mkdir()
    (folder / "bin").mkdir()  # bubblewrap is not there
    for name in ("bash", "chmod"):
        (folder / "bin" / name).symlink_to(shutil.which(name))
    return folder


def run(place, name: str, content: bytes) -> tuple[dict | None, str]:
    """results.json, and what the run said."""
    shutil.rmtree(place / "submission", ignore_errors=True)
    (place / "results" / "results.json").unlink(missing_ok=True)
    (place / "submission").mkdir()
    (place / "submission" / name).write_bytes(content)
    environment = {"PATH": str(place / "bin"), "AUTOGRADER": str(place), "PYTHON": sys.executable}
    done = subprocess.run([str(place / "bin" / "bash"), str(place / "source" / "run_autograder")], cwd="/", env=environment, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if "No isolation works" in done.stdout:
        needs.not_run("no isolation of student code works here", "`apt-get install bubblewrap`")
    file = place / "results" / "results.json"
    assert file.exists() == (done.returncode == 0), done.stdout
    return (json.loads(file.read_text(encoding="utf-8")) if file.exists() else None), done.stdout


def notebook(language: str, answers: dict) -> bytes:
    made = submission(rloo(), build_notebook(rloo(), language, "learner"), "s", "", answers, written=ANSWER)
    return nbformat.writes(made.notebook).encode()


def test_the_zip_holds_what_grading_needs_and_nothing_more(place):
    with zipfile.ZipFile(place / "a.zip") as archive:
        entries = {entry.filename: entry for entry in archive.infolist()}
    assert {"setup.sh", "run_autograder", "gradescope.json", "autograder/judge.py", "lessons/rloo/checks.py", "pyproject.toml",
            "environments/grader.lock.txt", "advantagelab/algorithms/rloo.py"} <= entries.keys()
    for name in ("setup.sh", "run_autograder"):
        assert entries[name].external_attr >> 16 & 0o111
        assert subprocess.run(["bash", "-n", str(place / "source" / name)]).returncode == 0
    assert not [name for name in entries if name.startswith(("tests/", ".git", "notebooks/", "solutions/")) or "__pycache__" in name]
    assert sum(entry.compress_size for entry in entries.values()) < 5_000_000


def test_its_settings_are_the_instructors(place, tmp_path, monkeypatch):
    assert json.loads((place / "source" / "gradescope.json").read_text(encoding="utf-8")) == {
        "lesson": "rloo", "seed": 11, "private_checks": PRIVATE}
    monkeypatch.chdir(tmp_path)
    course = make_course(tmp_path / "course")
    seeds = []
    for more in ([str(course.root)], [], []):
        assert main(["export", *more, "--lesson", "rloo", "--format", "gradescope"]) == 0
        with zipfile.ZipFile((course.root if more else tmp_path) / f"{RLOO}-gradescope.zip") as archive:
            seeds.append(json.loads(archive.read("gradescope.json"))["seed"])
    assert seeds[0] == course.seed() and len(set(seeds)) == 3


def test_a_right_file(place):
    results, _ = run(place, "我的作业.ipynb", notebook("en", solutions(rloo())))
    assert [(test["name"], test["score"], test["max_score"], test["status"]) for test in results["tests"]] == [
        ("aggregate_sequence_logps", 2, 2, "passed"), ("shape_rloo_rewards", 2, 2, "passed"),
        ("leave_one_out_advantages", 3, 3, "passed"), ("rloo_policy_loss", 3, 3, "passed")]
    assert results["output"] == "Written answers are not scored here, a person grades them: written-answer (2)."
    assert "✓ hidden_rloo_policy_loss_is_mine (hidden check)" in results["tests"][3]["output"]
    assert results["extra_data"]["isolation"] in ("uid", "landlock")  # the second where another user cannot read this Python
    assert oct(os.stat(place / "source").st_mode)[-2:] == "00"


def test_a_wrong_file_in_chinese(place):
    results, _ = run(place, f"{RLOO}.ipynb", notebook("zh", {**solutions(rloo()), 3: "advantages = rewards - rewards.mean()"}))
    wrong = results["tests"][2]
    assert [test["score"] for test in results["tests"]] == [2, 2, 0, 3] and wrong["status"] == "failed"
    assert "✗ check_leave_one_out_advantages" in wrong["output"] and "先改第一项" in wrong["output"] and "应为" in wrong["output"]
    assert "hidden_leave_one_out_advantages" in wrong["output"] and "（" not in wrong["name"] and "问答题不在此评分" in results["output"]
    assert "expected" not in wrong["output"] and "Begin with" not in wrong["output"]


def test_a_broken_file_says_why_in_both_languages(place):
    results, _ = run(place, f"{RLOO}.ipynb", b"<script>stolen()</script>")
    assert "no score yet" in results["output"] and "目前没有分数" in results["output"] and " | " in results["output"]
    assert [test["score"] for test in results["tests"]] == [0, 0, 0, 0]
    assert all("Not graded" in test["output"] and test["status"] == "failed" for test in results["tests"])


def test_a_failure_that_is_not_the_students_gives_no_score(place):
    """Gradescope then says that the autograder failed."""
    settings = place / "source" / "gradescope.json"
    before = settings.read_text(encoding="utf-8")
    try:
        settings.write_text(before.replace('"rloo"', '"ppo"'), encoding="utf-8")
        assert run(place, f"{RLOO}.ipynb", notebook("en", {}))[0] is None
    finally:
        settings.write_text(before, encoding="utf-8")


# results.json


def texts(results: dict) -> list[str]:
    return [results["output"], *(test["output"] for test in results["tests"])]


def test_every_text_is_plain_so_that_nothing_in_it_is_alive():
    record = with_checks(make_record(scores={LOSS: 0.0}, repairs=(message(en=HOSTILE, zh=HOSTILE),)), LOSS,
                         check("check_a", "failed", HOSTILE, HOSTILE), note=message(en=HOSTILE, zh=HOSTILE))
    results = results_of(record)
    assert results["output_format"] == results["test_output_format"] == "text"
    assert {test["output_format"] for test in results["tests"]} == {"text"}
    assert all(sign.isprintable() or sign in "\n\t" for text in texts(results) for sign in text)
    assert "stolen()" in results["output"] and json.loads(json.dumps(results)) == results


def test_a_hidden_check_is_a_name_and_a_hint():
    checks = check("check_a", "passed"), check("hidden_b", "failed", "secret", "secret"), check("hidden_c")
    output = results_of(with_checks(make_record(scores={LOSS: 0.0}), LOSS, *checks))["tests"][3]["output"]
    assert output.splitlines() == ["✓ check_a", "✗ hidden_b (hidden check)", "    hidden_b says why.", "✗ hidden_c (hidden check)",
                                   "Begin with the first one: the others often follow from it."]


@pytest.mark.parametrize("record", [make_record(seed=987654321, scores={SUM: 0.0}, untouched=(SUM,)), ungradable_record(seed=987654321)])
def test_seed_and_places_of_the_grader_stay_with_it(record: Record):
    results = json.dumps(results_of(record))
    assert "987654321" not in results and str(ROOT) not in results


def test_what_was_not_answered_and_what_a_person_decides():
    several = message(en="several answers", zh="多个答案")
    record = make_record(scores={SUM: 0.0, ADVANTAGES: None}, untouched=(SUM,), language="zh")
    tests = results_of(with_checks(record, ADVANTAGES, note=several))["tests"]
    assert tests[0]["output"] == "未作答。" and tests[2]["output"].startswith("多个答案\n未评阅") and tests[2]["score"] == 0
