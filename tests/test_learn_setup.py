"""Where the course cannot run, the set-up cell says what to do, in both languages, before anything is imported or unpacked."""

import importlib.metadata
import importlib.util
import sys
import tempfile
from types import SimpleNamespace

import pytest

from lessons._build.notebook import SETUP_TEMPLATE
from lessons._build.payload import pack

FUNCTIONS = SETUP_TEMPLATE[:SETUP_TEMPLATE.index("advantagelab = _advantagelab(")]
VERSIONS = {"torch": "2.10.0+cpu", "numpy": "2.0.0", "matplotlib": "3.10.0", "ipywidgets": "7.7.1"}


@pytest.fixture
def machine(monkeypatch):
    """Sets the versions that are installed and loaded; gives the two messages of the set-up cell, or None."""
    monkeypatch.setattr(tempfile, "mkdtemp", lambda **named: pytest.fail("something is unpacked"))

    def look(python=(3, 11, 0), loaded=None, **installed):
        installed = VERSIONS | installed
        real, find = importlib.metadata.version, importlib.util.find_spec

        def version(name):
            if name not in installed:
                return real(name)
            if installed[name] is None or installed[name] == "by hand":
                raise importlib.metadata.PackageNotFoundError(name)
            return installed[name]

        with monkeypatch.context() as patch:
            patch.setattr(sys, "version_info", python)
            patch.setattr(importlib.metadata, "version", version)
            patch.setattr(importlib.util, "find_spec", lambda name: (installed[name] and object()) if name in installed else find(name))
            for name in VERSIONS:
                patch.delitem(sys.modules, name, raising=False)
            for name, number in (loaded or {}).items():
                patch.setitem(sys.modules, name, SimpleNamespace(__version__=number))
            namespace = {}
            exec(FUNCTIONS, namespace)
            try:
                namespace["_require"]()
            except ImportError as error:
                english, chinese = str(error).split(" | ")
                assert error._render_traceback_() == [f"ImportError: {english}", chinese]
                return english, chinese
        return None

    return look


def test_what_the_course_supports_passes(machine):
    assert machine() is None
    assert machine(python=(3, 13, 2), torch="2.14.1", numpy="2.4.0", matplotlib="3.11.2", ipywidgets="8.1.9") is None
    assert machine(loaded={"numpy": "2.0.0", "torch": "2.10.0"}) is None
    assert machine(torch="by hand", loaded={"torch": "2.11.0a0+git1"}) is None


@pytest.mark.parametrize("python", [(3, 8, 1), (3, 10, 12)])
def test_an_old_python(machine, python):
    english, chinese = machine(python=python)
    version = f"Python {python[0]}.{python[1]}"
    assert version in english and "3.11 or newer" in english and version in chinese and "3.11 及以上" in chinese


@pytest.mark.parametrize("installed, wrong, command", [
    ({"torch": None}, "torch is missing", '"torch>=2.10"'),
    ({"torch": "2.9.1"}, "torch 2.9.1 is too old", '"torch>=2.10"'),
    ({"torch": "1.13.0+cu117"}, "torch 1.13.0+cu117 is too old", '"torch>=2.10"'),
    ({"ipywidgets": None, "matplotlib": None}, "matplotlib is missing, ipywidgets is missing", '"matplotlib>=3.10" "ipywidgets>=7.7.1"'),
    ({"ipywidgets": "7.6.5"}, "ipywidgets 7.6.5 is too old", '"ipywidgets>=7.7.1"'),
    ({"numpy": "1.26.4"}, "numpy 1.26.4 is too old", '"numpy>=2.0"'),
])
def test_what_is_missing_or_too_old_comes_with_the_line_that_installs_it(machine, installed, wrong, command):
    english, chinese = machine(**installed)
    assert english == f"{wrong}. In a new cell run: %pip install {command}  Then restart the kernel and run this cell again."
    assert f"%pip install {command}" in chinese and ("缺少" in chinese or "太旧" in chinese) and "重启内核" in chinese


@pytest.mark.parametrize("name, loaded", [("numpy", "2.1.3"), ("torch", "2.11.0+cpu")])
def test_a_package_that_was_installed_anew_after_it_was_loaded(machine, name, loaded):
    english, chinese = machine(loaded={name: loaded})
    assert english.startswith(f"{name} {loaded} is loaded, but {VERSIONS[name]} is installed. Restart the kernel")
    assert loaded in chinese and VERSIONS[name] in chinese and "重启内核" in chinese


def test_the_least_versions_are_those_of_the_package():
    import tomllib
    from pathlib import Path

    project = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text(encoding="utf-8"))
    for wanted in project["project"]["dependencies"]:
        name, _, least = wanted.partition(">=")
        assert f'("{name}", "{least if "." in least else least + ".0"}")' in FUNCTIONS


@pytest.mark.parametrize("slip", [lambda text: text[:40] + "x" + text[40:], lambda text: text[:40] + text[42:], lambda text: text[::-1],
                                  lambda text: text[:40] + "é" + text[41:], lambda text: ""])
def test_a_cell_that_was_changed_says_so_whatever_the_change(monkeypatch, slip):
    payload, digest = pack({"advantagelab/__init__.py": b"" * 500})
    namespace = {}
    exec(FUNCTIONS, namespace)
    monkeypatch.setattr(tempfile, "mkdtemp", lambda **named: pytest.fail("something is unpacked"))
    monkeypatch.setitem(namespace, "_require", lambda: None)
    with pytest.raises(ImportError, match="This cell was changed.*本单元已被改动"):
        namespace["_advantagelab"]("0.0.test", digest, slip(payload))
