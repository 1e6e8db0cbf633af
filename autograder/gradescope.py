"""An autograder for Gradescope: a zip that grades there with the same judge, and what runs in it.

Gradescope unpacks the zip into /autograder/source, runs setup.sh once, and run_autograder for each submission, as root: the isolation is
`uid`, another user for each. Written questions stay with Gradescope's own grading.
"""

import json
import secrets
import sys
import zipfile
from pathlib import Path

from advantagelab.message import Message, message
from lessons._build.course import ROOT, read_course
from lessons._build.lesson import read_lesson

from .feedback import Wording
from .grade import grade, prove_private_checks
from .record import GRADED, CheckResult, QuestionRecord, Record, whole, write_whole
from .submitted import read_handed_in
from .task import Setup

PARTS = ("advantagelab", "autograder", "environments", "lessons", "pyproject.toml", "README.md", "LICENSE")
SETTINGS = "gradescope.json"  # the lesson, the seed and the private checks, in the zip
SCRIPTS = {
    "setup.sh": """#!/usr/bin/env bash
# Run once, by Gradescope, to build the image: a Python that the course runs on, and its environment.
set -euo pipefail
cd "$(dirname "$0")"
python=""
for name in python3.13 python3.12 python3.11; do
  if [ -z "$python" ] && "$name" -c "import venv, ensurepip" 2>/dev/null; then python=$name; fi
done
if [ -z "$python" ]; then
  apt-get update -qq
  for name in python3.12 python3.13 python3.11; do
    if [ -z "$python" ] && apt-get install -y -qq --no-install-recommends "$name" "$name-venv"; then python=$name; fi
  done
fi
"${python:?needs Python 3.11, 3.12 or 3.13: choose a newer base image}" environments/install.py grader ../venv
""",
    "run_autograder": """#!/usr/bin/env bash
# Run for each submission. AUTOGRADER, PYTHON: other places than Gradescope's, to try it elsewhere.
set -euo pipefail
base="${AUTOGRADER:-/autograder}"
chmod 700 "$base/source" "$base/submission" "$base/results"  # students' code runs as another user: it reads none of it
cd "$base/source"
exec "${PYTHON:-$base/venv/bin/python}" -m autograder.gradescope "$base/submission" "$base/results/results.json"
""",
}
NOT_GRADED = message(en="Not graded: no score yet, although Gradescope shows a 0.", zh="未评阅：目前没有分数，虽然 Gradescope 显示为 0。")
BY_HAND = message(en="Written answers are not scored here, a person grades them: {0}.", zh="问答题不在此评分，由人批改：{0}。")


def write_autograder(lesson: str, output: Path, seed: int | None, private_checks: str) -> None:
    """The zip to upload. seed: of the hidden checks' inputs, drawn anew if None; the same for all who hand in."""
    setup = Setup(secrets.randbits(48) if seed is None else seed, private_checks)
    prove_private_checks(lesson, setup)
    settings = {"lesson": lesson, "seed": setup.seed, "private_checks": setup.private_checks}
    with whole(output) as part, zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in SCRIPTS.items():
            entry = zipfile.ZipInfo(name)
            entry.external_attr = 0o755 << 16
            archive.writestr(entry, text, zipfile.ZIP_DEFLATED)
        archive.writestr(SETTINGS, json.dumps(settings, ensure_ascii=False))
        for file in _files():
            archive.write(file, file.relative_to(ROOT))


def _files() -> list[Path]:
    found = [path for name in PARTS for path in ((ROOT / name).rglob("*") if (ROOT / name).is_dir() else [ROOT / name])]
    return sorted(path for path in found if path.is_file() and not {"__pycache__", ".ipynb_checkpoints"} & set(path.parts))


def results_of(record: Record) -> dict:
    """results.json: https://gradescope-autograders.readthedocs.io. Every text in it is plain, so a page shows it as it is."""
    wording = Wording(record.language)
    code = [question for question in record.questions if question.function]
    written = ", ".join(f"{question.key} ({question.points:g})" for question in record.questions if not question.function)
    said = [record.reason, NOT_GRADED] if record.status != GRADED else []
    lines = [_said(wording, message) for message in (*said, *record.repairs)]
    lines += [_said(wording, BY_HAND).format(written)] if written else []
    return {
        "output": "\n".join(lines), "output_format": "text", "test_output_format": "text", "visibility": "visible",
        "stdout_visibility": "hidden",
        "tests": [_test(wording, str(number), question) for number, question in enumerate(code, 1)],
        "extra_data": {"grader": record.grader, "isolation": record.isolation, "notebook_sha256": record.sha256,
                       "graded_at": record.graded_at},
    }


def _test(wording: Wording, number: str, question: QuestionRecord) -> dict:
    score = question.score or 0.0
    return {"number": number, "name": question.function, "score": score, "max_score": question.points,
            "status": "passed" if score == question.points else "failed", "visibility": "visible", "output_format": "text",
            "output": "\n".join(_output(wording, question))}


def _output(wording: Wording, question: QuestionRecord) -> list[str]:
    lines = [_said(wording, question.note)] if question.note else []
    if question.score is None:
        lines.append(_said(wording, NOT_GRADED))
    if question.untouched:
        lines.append(wording.word("no_response"))
    failed = [check for check in question.checks if check.status != "passed"]
    for check in question.checks:
        hidden = "" if check.visible else wording.bracketed("hidden")
        lines.append(f"{'✗' if check in failed else '✓'} {check.check}{hidden}")
        if failed and check is failed[0]:
            lines += _explained(wording, check)
    return lines + ([wording.word("first")] if len(failed) > 1 and failed[0].status != "missing" else [])


def _explained(wording: Wording, check: CheckResult) -> list[str]:
    lines = [f"    {_said(wording, check.message)}"] if check.message else []
    rows = [("expected", check.expected), ("got", check.got)] if check.visible else []
    return lines + [f"    {wording.label(name)}{wording.cut(value)}" for name, value in rows if value]


def _said(wording: Wording, said: Message) -> str:
    return wording.cut(wording.choose(said.en, said.zh))


def main(submission: str, results: str) -> None:
    """In the container. What fails and is not the student's fault ends in an error without a results.json: Gradescope says so, and no 0."""
    settings = json.loads((ROOT / SETTINGS).read_text(encoding="utf-8"))
    lesson = read_lesson(read_course(), settings["lesson"])
    graded = grade(Setup(settings["seed"], settings["private_checks"]), read_handed_in("student", Path(submission), lesson))
    write_whole(Path(results), json.dumps(results_of(graded.record), ensure_ascii=False, indent=1))


if __name__ == "__main__":
    main(*sys.argv[1:])
