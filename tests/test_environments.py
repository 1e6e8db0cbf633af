"""The locked environments agree: what one includes stands in it, in the same versions."""

import importlib.util
import re

import pytest

from tests.needs import ROOT

FOLDER = ROOT / "environments"


def load(name: str):
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


INCLUDES = load("install").INCLUDES


def pins(name: str) -> dict[str, str]:
    lines = (FOLDER / f"{name}.lock.txt").read_text(encoding="utf-8").splitlines()
    assert lines[0].startswith(f"# {name}: exact versions.") and all(re.fullmatch(r"[\w.-]+==[\w.!+-]+", line) for line in lines[1:])
    return {re.sub(r"[-_.]+", "-", package).lower(): version for package, version in (line.split("==") for line in lines[1:])}


def wanted(name: str) -> set[str]:
    """What its requirements name, those that they include among them."""
    names = set()
    for line in (FOLDER / f"{name}.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("-r "):
            names |= wanted(line[3:].removesuffix(".txt"))
        elif line and not line.startswith("#"):
            names.add(re.sub(r"[-_.]+", "-", line.split("==")[0]).lower())
    return names


@pytest.mark.parametrize("name", INCLUDES)
def test_a_lock_holds_what_is_wanted_and_what_it_includes(name):
    assert wanted(name) <= pins(name).keys()
    for included in INCLUDES[name]:
        assert pins(included).items() <= pins(name).items(), included


def test_torch_is_no_cuda_build():
    assert not [package for name in INCLUDES for package in pins(name) if package.startswith(("nvidia", "cuda", "triton"))]
