"""What a lesson's checks cost a learner, and a grader: all of them, visible and hidden, on the reference, on one core."""

import importlib
import time
from collections.abc import Iterator

import torch

from advantagelab.checking import judge
from advantagelab.checking.run import checks_of
from lessons._build.answers import reference
from lessons._build.code_cells import Module
from lessons._build.course import read_course
from lessons._build.regions import regions


def lines() -> Iterator[tuple[str, str, str, bool]]:
    torch.set_num_threads(1)
    course = read_course()
    for entry in course.lessons:
        algorithm = Module(*course.algorithm_files(entry))
        functions = [region.function for region in regions(algorithm.text)]
        if not functions:
            continue
        checks = vars(importlib.import_module(f"lessons.{entry.name}.checks"))
        namespace = reference(algorithm)
        todo = [(check, function) for function in functions for check in checks_of(checks, function)]
        start = time.perf_counter()
        verdicts = [judge(check, function, namespace) for check, function in todo]
        seconds = time.perf_counter() - start
        assert all(verdict.status == "passed" for verdict in verdicts)
        yield f"{entry.notebook} {len(verdicts)} checks", f"{seconds:.2f} s", "< 2 s", seconds < 2
