"""Set up an environment of the course: python environments/install.py base-cpu [.venv]

base-cpu    lessons, checks, widgets, JupyterLab          (make env, make lab)
pt-cpu      base-cpu and TRL: conformance cells, trainers (make env ENV=pt-cpu)
grader      base-cpu and nbgrader, for an instructor      (make env ENV=grader)
dev         pt-cpu, grader, and the tools of the tests    (make test)
colab-like  the versions that Colab has                   (make test, into .venv-colab)

Installs the exact versions of NAME.lock.txt, and the CPU build of torch instead of the CUDA build of about 3 GB. Quick when nothing
changed. Settings: TORCH_INDEX, an index that holds CPU wheels; TORCH_FIND_LINKS, a page that lists them (mirrors in mainland China);
ALLOW_CUDA_TORCH=1, to take whatever pip finds.
"""

import hashlib
import json
import os
import platform
import subprocess
import sys
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent
PYTORCH_CPU_INDEX = "https://download.pytorch.org/whl/cpu"
INCLUDES = {"base-cpu": ["base-cpu"], "pt-cpu": ["base-cpu", "pt-cpu"], "grader": ["base-cpu", "grader"],
            "dev": ["base-cpu", "pt-cpu", "grader", "dev"], "colab-like": ["colab-like"]}


def main(name: str, folder: str = ".venv") -> None:
    if name not in INCLUDES:
        sys.exit(f"no environment {name!r}; there are: {', '.join(INCLUDES)} | 没有环境 {name!r}，可选：{'、'.join(INCLUDES)}")
    if not (3, 11) <= sys.version_info[:2] <= (3, 13):
        sys.exit(f"Python 3.11, 3.12 or 3.13 is needed, this is {platform.python_version()}: say make lab PYTHON=python3.12 | "
                 f"需要 Python 3.11 至 3.13，这里是 {platform.python_version()}：请用 make lab PYTHON=python3.12")
    environment = Path(folder).resolve()
    python = environment / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    stamp = environment / f"{name}.installed"
    wanted = fingerprint(name)
    if works(python, name) and stamp.exists() and stamp.read_text() == wanted:
        return
    if not works(python, None):
        say(f"make a virtual environment in {folder} | 在 {folder} 建立虚拟环境")
        venv.create(environment, with_pip=True, clear=environment.exists())
    lock = HERE / f"{name}.lock.txt"
    install_torch(python, lock)
    say(f"install {name}: the versions in environments/{lock.name}, a few minutes | 安装 {name}：版本见 environments/{lock.name}，要几分钟")
    pip(python, "install", "-r", str(lock))
    if name != "colab-like":  # there a notebook has to work without the package
        pip(python, "install", "--no-deps", "--no-build-isolation", "-e", str(HERE.parent))
    if not works(python, name):
        sys.exit(f"the environment does not work: `{python} -c 'import torch'` says why. Delete {folder} and run this again. | "
                 f"环境不可用，原因见 `{python} -c 'import torch'`。请删掉 {folder}，再运行一次。")
    for included in INCLUDES[name]:
        (environment / f"{included}.installed").write_text(fingerprint(included))
    say(f"{name} is ready in {folder} | {name} 已就绪：{folder}")


def fingerprint(name: str) -> str:
    """What an environment depends on: its lock, and this Python's version."""
    return hashlib.sha256((HERE / f"{name}.lock.txt").read_bytes() + platform.python_version().encode()).hexdigest()


def works(python: Path, name: str | None) -> bool:
    """Whether the interpreter starts, has this Python's version, and (for an environment) imports what the course stands on."""
    if not python.exists():
        return False
    modules = ["pip"] if name is None else ["torch", "matplotlib", "ipywidgets", *([] if name == "colab-like" else ["advantagelab"])]
    check = (f"import sys, importlib.util as util; assert sys.version_info[:2] == {sys.version_info[:2]}; "
             f"assert all(map(util.find_spec, {modules}))")
    return subprocess.run([python, "-c", check], capture_output=True).returncode == 0


def install_torch(python: Path, lock: Path) -> None:
    """The locked torch, as a CPU build: from where pip is configured to look if that has one, else from PyTorch's CPU index."""
    requirement = next(line.strip() for line in lock.read_text().splitlines() if line.startswith("torch=="))
    version = requirement.split("==")[1]
    installed = subprocess.run([python, "-c", "import torch; print(torch.__version__, torch.version.cuda)"], capture_output=True, text=True)
    if installed.returncode == 0 and installed.stdout.startswith(version):
        return
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
