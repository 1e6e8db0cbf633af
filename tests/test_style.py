"""The linter, with the settings of pyproject.toml."""

import subprocess
import sys

from tests.needs import ROOT


def test_ruff_finds_nothing():
    command = [sys.executable, "-m", "ruff", "check", "--output-format=concise", "."]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert found.returncode == 0, found.stdout
