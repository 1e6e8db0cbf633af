"""As stock nbgrader grades: a submission's cells, and then the checks, in one process of the one who grades, in the course's folder.

python -m tests.hostile.unprotected KIND:NOTEBOOK … prints a JSON object a notebook: what the cells printed, and, if the kind is
"forges", which functions pass their checks.
Only for attacks that harm nothing when they succeed.
"""

import contextlib
import io
import json
import os
import sys
from pathlib import Path

import nbformat

from advantagelab.checking import judge
from advantagelab.checking.run import PASSED, checks_of
from lessons.rloo import checks, spec  # noqa: F401  (in memory, as the hidden tests of a notebook are)


FUNCTIONS = ("aggregate_sequence_logps", "shape_rloo_rewards", "leave_one_out_advantages", "rloo_policy_loss")


def grade(kind: str, file: Path) -> dict:
    os.chdir(file.parent)
    namespace, printed = {"__name__": "__main__"}, io.StringIO()
    sys.argv = ["nbgrader", "autograde", str(file)]
    with contextlib.redirect_stdout(printed):
        exec("import torch, math", namespace)
        for cell in nbformat.read(file, 4).cells:
            if cell.cell_type == "code" and not cell.id.startswith(("setup", "check-", "widget-", "all-checks", "first-step", "train-")):
                with contextlib.suppress(Exception, SystemExit):
                    exec(compile(cell.source, cell.id, "exec"), namespace)
    passed = []
    for function in FUNCTIONS if kind == "forges" else ():
        with contextlib.suppress(Exception):
            if all(judge(check, function, namespace).status == PASSED for check in checks_of(vars(checks), function)):
                passed.append(function)
    return {"printed": printed.getvalue(), "passed": passed}


def main(tasks: list[str]) -> None:
    for task in tasks:
        kind, _, file = task.partition(":")
        ours, theirs = os.pipe()
        child = os.fork()
        if not child:
            result = json.dumps(grade(kind, Path(file))).encode("ascii", "replace")
            with open(theirs, "wb") as out:
                out.write(result)
            os._exit(0)
        os.close(theirs)
        with open(ours, "rb") as answer:
            text = answer.read()
        os.waitpid(child, 0)
        print(text.decode() or "{}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
