"""Open JupyterLab on copies of the learner notebooks: what a learner writes is in my-work/, and is never overwritten."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WORK = ROOT / "my-work"


def copy_new_notebooks() -> list[Path]:
    """Copy each notebook that is not in my-work/ yet. | 只复制 my-work/ 中还没有的 notebook。"""
    copied = []
    for notebook in sorted((ROOT / "notebooks").glob("*/*.ipynb")):
        target = WORK / notebook.relative_to(ROOT / "notebooks")
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(notebook, target)
            copied.append(target)
    return copied


def main() -> int:
    for notebook in copy_new_notebooks():
        print(f"new | 新建: {notebook.relative_to(ROOT)}")
    print("Begin with my-work/en/00_start_here.ipynb. Your notebooks are never overwritten: to redo one, rename it and run make lab.\n"
          "从 my-work/zh/00_start_here.ipynb 开始。你的 notebook 不会被覆盖：想重做一课，就把它改名，再运行 make lab。", flush=True)
    python = ROOT / ".venv" / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    command = [python, "-m", "jupyterlab", f"--ServerApp.root_dir={ROOT}", "--LabApp.default_url=/lab/tree/my-work"]
    if sys.platform == "linux" and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        command.append("--no-browser")  # Lab prints the address
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        command.append("--allow-root")
    try:
        return subprocess.run(command, cwd=ROOT).returncode
    except KeyboardInterrupt:
        return 0


if __name__ == "__main__":
    sys.exit(main())
