"""What the grading processes of a machine are forked from."""

import os
import subprocess
import sys

from lessons._build.course import ROOT

LOOK = """
import gc
import autograder.warm
from autograder import grade
frozen = gc.get_freeze_count()
gc.collect()
print(gc.isenabled(), frozen > 20 * len(gc.get_objects()), grade._chosen is None or grade._chosen[0].alive())
"""


def test_what_is_loaded_beforehand_is_left_alone_by_the_collector():
    """Else each grading process would get a copy of all of it in the course of time, a hundred megabytes."""
    environment = {**os.environ, "AUTOGRADER_LESSON": "rloo"}
    found = subprocess.run([sys.executable, "-c", LOOK], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert found.stdout == "True True True\n", found.stderr
