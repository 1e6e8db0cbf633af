"""What a test needs of the machine. Without it the test says "not run: REASON, install with COMMAND"; in CI that is a failure."""

import importlib.util
import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
COLAB_PYTHON = ROOT / ".venv-colab" / "bin" / "python"


def not_run(reason: str, command: str) -> None:
    """Skip with a reason, or fail where everything must run (REQUIRE_ALL=1, set by .ci/run)."""
    words = f"not run: {reason}, install with {command}"
    if os.environ.get("REQUIRE_ALL"):
        pytest.fail(words, pytrace=False)
    pytest.skip(words)


def chromium() -> str:
    """The path of Chromium, for tests in a real browser."""
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if not found:
        not_run("Chromium is missing", "`apt-get install chromium`")
    return found


def cjk_font() -> None:
    """A system font with hanzi: the browser draws the notebook's Chinese prose with it."""
    listed = subprocess.run(["fc-list", ":lang=zh", "family"], capture_output=True, text=True).stdout if shutil.which("fc-list") else ""
    if not listed.strip():
        not_run("no font with Chinese characters", "`apt-get install fontconfig fonts-noto-cjk`")


def axe() -> str:
    """axe-core's script, which looks for what shuts people out of a page. It comes in a package: nothing is downloaded for it."""
    found = importlib.util.find_spec("axe_playwright_python")
    if not found:
        not_run("axe-core is missing", "`python environments/install.py dev`")
    return (Path(found.origin).parent / "axe.min.js").read_text(encoding="utf-8")


def colab_python() -> Path:
    """The interpreter of the Colab-like environment."""
    if not COLAB_PYTHON.exists():
        not_run("the Colab-like environment is missing", "`python environments/install.py colab-like .venv-colab`")
    return COLAB_PYTHON


def math_verify() -> None:
    """The library of mathematical equality, for tests of what it adds to the trainers."""
    if not importlib.util.find_spec("math_verify"):
        not_run("math-verify is missing", "`python environments/install.py dev`")


def trl() -> None:
    """TRL, for the trainers. To be called before anything of it is imported."""
    if not importlib.util.find_spec("trl"):
        not_run("trl is missing", "`python environments/install.py dev`")
