"""python -m lessons check: what it prints, its JSON document, its exit status, and files that cannot be run."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from lessons._build.check_command import main
from lessons._build.regions import stub

ROOT = Path(__file__).resolve().parent.parent
RLOO = ROOT / "advantagelab" / "algorithms" / "rloo.py"
FUNCTIONS = ["aggregate_sequence_logps", "shape_rloo_rewards", "leave_one_out_advantages", "rloo_policy_loss"]


def written(folder: Path, source: str) -> str:
    file = folder / "answers.py"
    file.write_text(source, encoding="utf-8")
    return str(file)


def document(capsys) -> dict:
    """The one JSON document on stdout; nothing on stderr."""
    printed = capsys.readouterr()
    assert printed.err == ""
    return json.loads(printed.out)


def test_the_reference_passes_everything(capsys):
    assert main(["rloo", str(RLOO), "--json"]) == 0
    found = document(capsys)
    assert found["passed"] == found["total"] == len(found["checks"]) > 40
    assert {check["status"] for check in found["checks"]} == {"passed"}
    assert list(dict.fromkeys(check["function"] for check in found["checks"])) == FUNCTIONS
    assert {check["visible"] for check in found["checks"]} == {True, False}
    assert found["seconds"] == pytest.approx(sum(check["seconds"] for check in found["checks"]), abs=1e-3)


def test_text_names_verdict_message_in_both_languages_and_time(capsys, tmp_path):
    source = RLOO.read_text(encoding="utf-8").replace("token_logps.masked_fill(~completion_mask, 0.0).sum(dim=-1)",
                                                      "(token_logps * completion_mask).sum(dim=-1)")
    assert main(["rloo", written(tmp_path, source)]) == 1
    lines = capsys.readouterr().out.splitlines()
    (place,) = [i for i, line in enumerate(lines) if "check_aggregate_sequence_logps_padding_may_be_infinite" in line]
    assert lines[place].split()[0] == "failed" and lines[place].endswith(" ms")
    assert "0 · inf is NaN" in lines[place + 1] and "0 · inf 等于 NaN" in lines[place + 2]
    assert "[-3, -4]" in lines[place + 3] and "nan" in lines[place + 4]
    assert "passed" in lines[place - 1] and lines[-1].startswith("58 of 60 checks pass")


def test_the_untouched_skeleton_is_open_everywhere(capsys, tmp_path):
    assert main(["rloo", written(tmp_path, stub(RLOO.read_text(encoding="utf-8"))), "--json"]) == 1
    found = document(capsys)
    assert found["passed"] == 0
    for check in found["checks"]:
        assert check["status"] == "open"
        assert f"TODO {check['todo']}: " in check["message"]["en"] and f"TODO {check['todo']}：" in check["message"]["zh"]


def test_a_file_may_hold_some_functions_and_rely_on_torch_and_math(capsys, tmp_path):
    answers = written(tmp_path, "print('noise')\n\ndef aggregate_sequence_logps(token_logps, completion_mask):\n"
                                "    print('noise')\n    return torch.full((2,), math.nan)\n")
    assert main(["rloo", answers, "--json"]) == 1
    statuses = {check["function"]: check["status"] for check in document(capsys)["checks"]}
    assert statuses == {name: "failed" if name == FUNCTIONS[0] else "missing" for name in FUNCTIONS}
    assert main(["rloo", answers]) == 1
    assert capsys.readouterr().out.count("`shape_rloo_rewards` is not defined") == 1


@pytest.mark.parametrize(("source", "line", "what"), [
    ("x = 1\ndef f(:\n    pass\n", 2, "SyntaxError"),
    ("x = 1\n\n1 / 0\n", 3, "ZeroDivisionError"),
    ("import a_module_that_nobody_has\n", 1, "ModuleNotFoundError"),
    ("x = 1\nraise SystemExit(0)\n", 2, "SystemExit"),
    ("x = '\0'\n", "?", "SyntaxError"),
])
def test_a_file_that_cannot_be_run_is_said_in_both_languages(capsys, tmp_path, source, line, what):
    answers = written(tmp_path, source)
    assert main(["rloo", answers]) == 2
    printed = capsys.readouterr()
    assert printed.out == "" and "Traceback" not in printed.err
    english, chinese = printed.err.splitlines()
    assert "cannot be run" in english and "无法运行" in chinese and what in english and what in chinese
    if line != "?":
        assert f"(line {line})" in english and f"（第 {line} 行）" in chinese
    assert main(["rloo", answers, "--json"]) == 2
    assert document(capsys)["error"] == {"en": english, "zh": chinese}


def test_a_file_that_cannot_be_read_and_an_unknown_lesson(capsys, tmp_path):
    latin = tmp_path / "latin.py"
    latin.write_bytes(b"# \xe9\n")
    for arguments, words in (
        (["rloo", str(tmp_path / "none.py")], "Cannot read"),
        (["rloo", str(tmp_path)], "Cannot read"),
        (["rloo", str(latin)], "Cannot read"),
        (["nolesson", str(RLOO)], "There is no lesson 'nolesson'"), (["../rloo", str(RLOO)], "There is no lesson"),
    ):
        assert main(arguments) == 2
        printed = capsys.readouterr()
        assert words in printed.err.splitlines()[0] and len(printed.err.splitlines()) == 2 and printed.out == ""


def test_from_the_command_line(tmp_path):
    answers = written(tmp_path, "def rloo_policy_loss(*arguments, **named):\n    return 1 / 0\n")
    command = [sys.executable, "-m", "lessons", "check", "rloo", answers]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, encoding="utf-8", env={**os.environ, "PYTHONUTF8": "1"})
    assert ended.returncode == 1 and ended.stderr == ""
    assert "ZeroDivisionError: division by zero  in line | 出错行: return 1 / 0" in ended.stdout
