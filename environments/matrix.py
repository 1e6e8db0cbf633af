"""The notebooks under other versions of Python and torch than the locked ones: python -m environments.matrix (make matrix)

A row: an environment made from scratch, all solved notebooks run in it (training a few steps), their outputs held to what the build asks
for: no error, nothing on stderr, every check passed, a picture for every widget. Writes docs/environments.md. What cannot be had here is
written down as not run. Without an index of CPU wheels (TORCH_INDEX), ALLOW_CUDA_TORCH=1 takes builds of about 3 GB each.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import nbformat

import advantagelab
from environments.install import install_torch, pip
from lessons._build.course import ROOT, read_course
from lessons._build.lesson import read_lesson
from lessons._build.run import output_faults


@dataclass(frozen=True)
class Row:
    """lock: the file that gives the other packages' versions"""

    python: str
    torch: str
    lock: str
    what: tuple[str, str]


ROWS = (
    Row("3.11", "2.13.0", "base-cpu", ("BASE-CPU as locked", "BASE-CPU，锁定的版本")),
    Row("3.11", "2.10.0", "base-cpu", ("the oldest torch", "最旧的 torch")),
    Row("3.12", "2.10.0", "base-cpu", ("as ModelScope's CPU image", "与魔搭的 CPU 镜像一致")),
    Row("3.13", "2.11.0", "colab-like", ("as Colab", "与 Colab 一致")),
    Row("3.13", "2.14.1", "base-cpu", ("the newest torch", "最新的 torch")),
)


def main() -> None:
    results = {}
    for row in ROWS:
        results[row] = result(row)
        print(line(row, results[row]), flush=True)
    (ROOT / "docs" / "environments.md").write_text(document(results), encoding="utf-8")
    if any(faults for faults in results.values() if not isinstance(faults, str)):
        sys.exit("not all notebooks run everywhere: docs/environments.md says which")


def result(row: Row) -> str | list[str]:
    """Why it was not run, or what is wrong, a line a fault."""
    interpreter = find_python(row.python)
    if interpreter is None:
        return f"no Python {row.python} on this machine"
    with tempfile.TemporaryDirectory() as scratch:
        scratch = Path(scratch)
        lock = scratch / f"{row.lock}.lock.txt"
        lines = (ROOT / "environments" / lock.name).read_text(encoding="utf-8").splitlines()
        kept = [one for one in lines if not one.startswith(("torch==", "setuptools=="))]  # some versions of torch bound setuptools
        lock.write_text("\n".join([*kept, f"torch=={row.torch}", ""]), encoding="utf-8")
        subprocess.run([interpreter, "-m", "venv", scratch / "env"], check=True)
        python = scratch / "env" / "bin" / "python"
        try:
            install_torch(python, lock)
            pip(python, "install", "-r", str(lock))
        except SystemExit as left:
            return f"not to be had here: {left}"
        return [fault for entry in read_course().lessons for fault in faults_of(entry.name, scratch)]


def find_python(wanted: str) -> Path | None:
    named = shutil.which(f"python{wanted}")
    for found in ([Path(named)] if named else []) + sorted(Path.home().glob(f".pyenv/versions/{wanted}.*/bin/python")):
        said = subprocess.run([found, "-c", "import sys; print(*sys.version_info[:2], sep='.')"], capture_output=True, text=True)
        if said.stdout.strip() == wanted:
            return found
    return None


def faults_of(name: str, scratch: Path) -> list[str]:
    """Of one solved notebook, run alone in an empty folder."""
    lesson = read_lesson(read_course(), name)
    folder = scratch / name
    folder.mkdir()
    file = folder / f"{lesson.entry.notebook}.ipynb"
    shutil.copy(ROOT / "solutions" / "en" / file.name, file)
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "ADVANTAGELAB", "NBGRADER", "VIRTUAL_ENV"))}
    environment = {**clean, "HOME": str(scratch), "OMP_NUM_THREADS": "1", "ADVANTAGELAB_QUICK": "1", "ADVANTAGELAB_STATIC": "1"}
    ran = subprocess.run([scratch / "env" / "bin" / "python", ROOT / "tests" / "run_alone.py", file], cwd=folder, env=environment,
                         capture_output=True, text=True)
    if ran.returncode:
        return [f"{file.stem}: {(ran.stderr.strip().splitlines() or ['?'])[-1]}"]
    return [f"{file.stem}: {fault}" for fault in output_faults(nbformat.read(file, 4), lesson)]


def line(row: Row, found: str | list[str]) -> str:
    if isinstance(found, str):
        said = f"not run: {found}"
    else:
        failed = {fault.partition(":")[0] for fault in found}
        count = len(read_course().lessons)
        said = f"{count - len(failed)} of {count} notebooks" + "".join(f"<br>{fault}" for fault in found)
    return f"| {row.python} | {row.torch} | {row.lock} | {row.what[0]} · {row.what[1]} | {said} |"


def document(results: dict[Row, str | list[str]]) -> str:
    rows = "\n".join(line(row, found) for row, found in results.items())
    return f"""# Environments in which the notebooks were run | 运行过全部 notebook 的环境

Written by `make matrix`; do not edit. advantagelab {advantagelab.__version__}, {sys.platform}, CPU.

由 `make matrix` 写成，请勿手改。

Each row is an environment made from scratch: that Python, that torch, the other packages in the versions of
`environments/NAME.lock.txt`. All solved notebooks are run in it alone, in an empty folder, without the package of the course: no error,
nothing on stderr, every check passed, a picture for every widget.

每行是一个从零装起的环境：相应的 Python 和 torch，其余包取 `environments/NAME.lock.txt` 中的版本。全部带答案的 notebook
在空文件夹里单独运行，不装课程的包：没有错误，stderr 没有输出，检查全部通过，每个组件都有图。

| Python | torch | other packages · 其余包 | what · 说明 | result · 结果 |
|---|---|---|---|---|
{rows}
"""


if __name__ == "__main__":
    main()
