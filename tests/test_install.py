"""make env: what it finds lacking, what it does about it, and where it takes torch from."""

import json
import subprocess
import sys
import venv
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.needs import ROOT
from tests.test_environments import load

LACKING = ROOT / "environments" / "lacking.py"


@pytest.fixture
def install():
    return load("install")


# What lacks


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, symlinks=sys.platform != "win32")
    return folder


def put(environment: Path, name: str, version: str = "1.0") -> Path:
    """A package as pip leaves it. The folder in which it stands."""
    (site,) = (environment / "lib").glob("python*/site-packages")
    information = site / f"{name}-{version}.dist-info"
    for folder in (site / name, information):
        folder.mkdir()
    (site / name / "__init__.py").touch()
    (information / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (information / "RECORD").write_text(f"{name}/__init__.py,,\n{name}/__pycache__/__init__.cpython.pyc,,\n{information.name}/METADATA,,\n")
    return site


def test_what_lacks_of_a_lock(environment, tmp_path):
    site = put(environment, "whole_one")
    put(environment, "built", "2.13.0+cpu")
    put(environment, "older", "0.9")
    put(environment, "holed")
    (site / "holed" / "__init__.py").unlink()
    put(environment, "unlisted")
    (site / "unlisted-1.0.dist-info" / "RECORD").unlink()
    (site / "no_metadata-1.0.dist-info").mkdir()
    lock = tmp_path / "some.lock.txt"
    lock.write_text("# some: exact versions.\nWhole-One==1.0\nbuilt==2.13.0\n"
                    "older==1.0\nholed==1.0\nunlisted==1.0\nno_metadata==1.0\ngone==1.0\n")
    listed = subprocess.run([environment / "bin" / "python", LACKING, lock], capture_output=True, text=True, check=True).stdout
    assert listed.splitlines() == ["older other", "holed damaged", "unlisted damaged", "no_metadata absent", "gone absent"]


def test_our_package_has_to_be_that_of_this_checkout(environment, tmp_path):
    lock = tmp_path / "empty.lock.txt"
    lock.write_text("# empty: exact versions.\n")
    put(environment, "ours")
    for package, said in ((tmp_path / "ours", "ours absent\n"), (tmp_path / "nowhere", "nowhere absent\n")):
        listed = subprocess.run([environment / "bin" / "python", LACKING, lock, package], capture_output=True, text=True, check=True)
        assert listed.stdout == said


def test_this_environment_lacks_nothing(install):
    assert install.lacking(Path(sys.executable), "base-cpu") == {}


# What is done about it


@pytest.fixture
def steps(install, monkeypatch, tmp_path):
    """Runs main where `lacking` answers as given, one answer a look; gives what was done."""
    def run(*answers, starts=True, python=(3, 11, 7)):
        done, looks = [], iter(answers)
        monkeypatch.setattr(install.sys, "version_info", python)
        monkeypatch.setattr(install.platform, "python_version", lambda: ".".join(map(str, python)))
        monkeypatch.setattr(install, "starts", lambda _: starts)
        monkeypatch.setattr(install, "lacking", lambda *_: next(looks))
        monkeypatch.setattr(install.venv, "create", lambda *_, **named: done.append("create"))
        monkeypatch.setattr(install, "install_torch", lambda *_: done.append("torch"))
        monkeypatch.setattr(install, "pip", lambda _, *words, **named: done.append(" ".join(word for word in words if word[0] not in "-/")))
        install.main("base-cpu", str(tmp_path / "environment"))
        return done
    return run


ABSENT = {"torch": "absent", "numpy": "absent", "advantagelab": "absent"}


def test_nothing_is_done_where_nothing_lacks(steps, capsys):
    assert steps({}) == [] and "base-cpu is ready" in capsys.readouterr().out
    assert steps({}, python=(3, 10, 1)) == [], "an environment that works stays, whichever Python runs this"


def test_a_new_environment(steps):
    assert steps(ABSENT, {}, starts=False) == ["create", "torch", "install", "install"]


def test_damaged_packages_are_taken_out_first(steps, capsys):
    assert steps({"numpy": "damaged", "cffi": "other"}, {}) == ["uninstall numpy", "install", "install"]
    assert "installed anew: numpy |" in capsys.readouterr().out
    assert steps({"torch": "damaged"}, {}) == ["uninstall torch", "torch", "install", "install"]


def test_what_pip_cannot_mend_is_made_from_the_beginning_once(steps):
    idna = {"idna": "damaged"}
    assert steps(idna, idna, {}) == ["uninstall idna", "install", "install", "create", "torch", "install", "install"]
    with pytest.raises(SystemExit, match=r"lacks what was just installed: idna \| .*仍然缺少刚安装的包：idna"):
        steps(idna, idna, idna)


@pytest.mark.parametrize("python", [(3, 10, 13), (3, 14, 0)])
def test_a_python_that_the_course_does_not_know(steps, python):
    version = ".".join(map(str, python))
    with pytest.raises(SystemExit, match=rf"this is {version}: say make lab PYTHON=python3.12 \| .*这里是 {version}"):
        steps(ABSENT, starts=False, python=python)


# torch


@pytest.fixture
def torch_from(install, monkeypatch):
    """Where torch is installed from, if pip would take this wheel."""
    def run(wheel: str, **settings) -> list[str]:
        for name in ("TORCH_INDEX", "TORCH_FIND_LINKS", "ALLOW_CUDA_TORCH"):
            monkeypatch.delenv(name, raising=False)
        for name, value in settings.items():
            monkeypatch.setenv(name, value)
        report = {"install": [{"download_info": {"url": f"https://files.somewhere.org/{wheel}"}}]} if wheel else {}
        asked = []

        def answer(command, **named):
            asked.append(command)
            return SimpleNamespace(stdout=json.dumps(report), returncode=0)

        monkeypatch.setattr(install.subprocess, "run", answer)
        monkeypatch.setattr(install.platform, "system", lambda: "Linux")
        install.install_torch(Path("python"), install.lock_of("base-cpu"))
        (requirement,) = [word for word in asked[-1] if str(word).startswith("torch==")]
        assert "--dry-run" not in asked[-1] and "--no-deps" in asked[-1]
        return asked[-1][asked[-1].index(requirement) + 1:]
    return run


def test_torch_is_the_cpu_build(torch_from, install):
    pytorch = ["--index-url", install.PYTORCH_CPU_INDEX]
    assert torch_from("torch-2.13.0-cp311-cp311-manylinux_2_28_x86_64.whl") == pytorch
    assert torch_from("") == pytorch, "pip found none"
    assert torch_from("torch-2.13.0%2Bcpu-cp311-cp311-manylinux_2_28_x86_64.whl") == []
    links = "https://mirror.somewhere.org/cpu/"
    assert torch_from("torch-2.13.0%2Bcpu-cp311-cp311-linux_x86_64.whl", TORCH_FIND_LINKS=links) == ["--find-links", links]
    assert torch_from("torch-2.13.0-cp311.whl", TORCH_INDEX="https://index.somewhere.org") == ["--index-url", "https://index.somewhere.org"]
    assert torch_from("torch-2.13.0-cp311.whl", ALLOW_CUDA_TORCH="1") == []
