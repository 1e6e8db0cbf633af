"""A running `python -m autograder grade`, and its processes by what they do."""

import subprocess
import sys
from pathlib import Path

import psutil

from tests.needs import ROOT


class GradeCommand:
    def __init__(self, course: Path, log: Path, workers: int = 2, **more):
        self.log = log
        with open(log, "wb") as output:
            self.process = psutil.Popen([sys.executable, "-m", "autograder", "grade", str(course), "--workers", str(workers)], cwd=ROOT,
                                        stdout=output, stderr=subprocess.STDOUT, start_new_session=True, **more)

    def processes(self) -> dict[str, list[psutil.Process]]:
        """"zygote": without the processes of the students, which have the same words."""
        found = {"command": [self.process], "everything": [self.process], "forkserver": [], "grading process": [], "zygote": []}
        try:
            children = self.process.children(recursive=True)
        except psutil.NoSuchProcess:
            children = []
        found["everything"] += children
        for child in children:
            try:
                words, parent = " ".join(child.cmdline()), child.ppid()
            except psutil.NoSuchProcess:
                continue
            if "autograder.worker.zygote" in words and "bwrap" not in words:
                found["zygote"] = [*found["zygote"], child][:1]  # parents come before their children
            elif "forkserver" in words:
                found["forkserver" if parent == self.process.pid else "grading process"].append(child)
        return found

    def said(self) -> str:
        return self.log.read_text(errors="replace")
