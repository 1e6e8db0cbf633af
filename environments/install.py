"""Set up an environment of the course: python environments/install.py base-cpu [.venv]

base-cpu    lessons, checks, widgets, JupyterLab          (make env, make lab)
pt-cpu      base-cpu and TRL: TRL cells, trainers          (make env ENV=pt-cpu)
grader      base-cpu and nbgrader, for an instructor      (make env ENV=grader)
dev         pt-cpu, grader, and the tools of the tests    (make test)
colab-like  the versions that Colab has                   (make test, into .venv-colab)

Installs the exact versions of NAME.lock.txt, and the CPU build of torch instead of the CUDA build of about 3 GB. Done again it takes a
second or two: it looks whether every file is there, and mends what is not. A .venv whose Python the course supports stays, whichever
Python runs this. Settings: TORCH_INDEX, an index that holds CPU wheels; TORCH_FIND_LINKS, a page that lists them (mirrors in mainland
China); ALLOW_CUDA_TORCH=1, to take whatever pip finds.
"""

import json
import os
import platform
import subprocess
import sys
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent
PYTORCH_CPU_INDEX = "https://download.pytorch.org/whl/cpu"
PACKAGE = HERE.parent / "advantagelab"
LOCKED = ("base-cpu", "pt-cpu", "grader", "dev", "colab-like")


def main(name: str, folder: str = ".venv") -> None:
    if name not in LOCKED:
        sys.exit(f"no environment {name!r}; there are: {', '.join(LOCKED)} | 没有环境 {name!r}，可选：{'、'.join(LOCKED)}")
    environment = Path(folder).resolve()
    python = environment / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if not starts(python):
        create(environment)
    lacks = lacking(python, name)
    if lacks:
        install(python, name, lacks)
        lacks = lacking(python, name)
    if lacks:  # pip cannot mend everything, for example a package whose list of files is gone
        create(environment)
        install(python, name, {})
        lacks = lacking(python, name)
    if lacks:
        listed = ", ".join(lacks)
        sys.exit(f"{folder} lacks what was just installed: {listed} | {folder} 仍然缺少刚安装的包：{listed}")
    say(f"{name} is ready in {folder} | {name} 已就绪：{folder}")


def starts(python: Path) -> bool:
    """Whether the interpreter starts, is one that the course supports, and has pip."""
    check = "import sys, pip; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))"
    return python.exists() and subprocess.run([python, "-c", check], capture_output=True).returncode == 0


def create(environment: Path) -> None:
    """A virtual environment with this Python, in place of what is there."""
    if not (3, 11) <= sys.version_info[:2] <= (3, 13):
        version = platform.python_version()
        sys.exit(f"Python 3.11, 3.12 or 3.13 is needed, this is {version}: say make lab PYTHON=python3.12 | "
                 f"需要 Python 3.11 至 3.13，这里是 {version}：请用 make lab PYTHON=python3.12")
    if environment.exists():
        say(f"remove {environment.name}, which does not work | 删除不能用的 {environment.name}")
    say(f"make {environment.name} with Python {platform.python_version()} | 用 Python {platform.python_version()} 建立 {environment.name}")
    venv.create(environment, with_pip=True, clear=environment.exists(), symlinks=os.name != "nt")


def lacking(python: Path, name: str) -> dict[str, str]:
    """Package → "absent", "other" (another version) or "damaged" (files are gone), of what the lock holds and our own package."""
    package = [] if name == "colab-like" else [str(PACKAGE)]  # there a notebook has to work without it
    listed = subprocess.run([python, HERE / "lacking.py", lock_of(name), *package], capture_output=True, text=True)
    if listed.returncode:
        return {"importlib.metadata": "damaged"}
    return dict(line.split() for line in listed.stdout.splitlines())


def install(python: Path, name: str, lacks: dict[str, str]) -> None:
    damaged = [package for package, how in lacks.items() if how == "damaged"]
    if damaged:
        say(f"files are gone, installed anew: {', '.join(damaged)} | 文件残缺，重新安装：{'、'.join(damaged)}")
        pip(python, "uninstall", "--yes", *damaged, check=False)
    if not lacks or "torch" in lacks:
        install_torch(python, lock_of(name))
    say(f"install {name}: the versions in environments/{lock_of(name).name}, a few minutes | "
        f"安装 {name}：版本见 environments/{lock_of(name).name}，要几分钟")
    pip(python, "install", "-r", str(lock_of(name)))
    if name != "colab-like":
        pip(python, "install", "--no-deps", "--no-build-isolation", "-e", str(PACKAGE.parent))


def lock_of(name: str) -> Path:
    return HERE / f"{name}.lock.txt"


def install_torch(python: Path, lock: Path) -> None:
    """The locked torch, as a CPU build: from where pip is configured to look if that has one, else from PyTorch's CPU index."""
    requirement = next(line.strip() for line in lock.read_text().splitlines() if line.startswith("torch=="))
    say(f"look for a CPU build of {requirement} | 查找 {requirement} 的 CPU 版")
    links = os.environ.get("TORCH_FIND_LINKS")
    source = ["--find-links", links] if links else []
    if os.environ.get("TORCH_INDEX"):
        source = ["--index-url", os.environ["TORCH_INDEX"]]
    elif not (os.environ.get("ALLOW_CUDA_TORCH") or finds_cpu_build(python, requirement, source)):
        source = ["--index-url", PYTORCH_CPU_INDEX]
    say(f"install {requirement}, the CPU build, about 200 MB | 安装 {requirement}，CPU 版，约 200 MB")
    if pip(python, "install", "--no-deps", requirement, *source, check=False):
        where = source[-1] if source else "the configured index"
        sys.exit(f"no CPU build of torch could be had from {where}. Set TORCH_INDEX or TORCH_FIND_LINKS to a mirror that you can reach "
                 "(README, 'torch'), or ALLOW_CUDA_TORCH=1 for the 3 GB build. | "
                 f"从 {where} 没有得到 CPU 版的 torch。请把 TORCH_INDEX 或 TORCH_FIND_LINKS 设为连得上的镜像（见 README 的 torch 一段），"
                 "或用 ALLOW_CUDA_TORCH=1 安装 3 GB 的版本。")


def finds_cpu_build(python: Path, requirement: str, source: list[str]) -> bool:
    """Whether pip, as it is configured here, would take a CPU build. Asks without downloading the wheel."""
    if platform.system() != "Linux":
        return True  # PyPI's wheels for macOS and Windows are CPU builds
    answer = subprocess.run([python, "-m", "pip", "install", "--dry-run", "--quiet", "--no-deps", "--ignore-installed", "--report", "-",
                             requirement, *source], capture_output=True, text=True)
    try:
        return "cpu" in json.loads(answer.stdout)["install"][0]["download_info"]["url"].rsplit("/", 1)[1]
    except (json.JSONDecodeError, KeyError, IndexError):
        return False


def pip(python: Path, *arguments: str, check: bool = True) -> int:
    code = subprocess.run([python, "-m", "pip", arguments[0], "--quiet", "--disable-pip-version-check", *arguments[1:]]).returncode
    if check and code:
        sys.exit(f"pip {' '.join(arguments)} failed (exit {code}): its message is above | pip 出错（退出码 {code}），原因见上")
    return code


def say(text: str) -> None:
    print(f"[environment] {text}", flush=True)


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
        print(__doc__)
    else:
        main(*sys.argv[1:3])
