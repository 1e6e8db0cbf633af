"""Resolve every environment anew and write its lock: python environments/lock.py

pt-cpu is resolved on top of base-cpu and dev on top of pt-cpu; grader takes dev's versions. So these four agree; colab-like stands alone.
"""

import subprocess
import sys
import tempfile
import venv
from pathlib import Path

from install import HERE, install_torch, pip

# What is resolved one on top of the other, and the file that settles the versions of the first one.
CHAINS = {("base-cpu", "pt-cpu", "dev"): "base-cpu.txt", ("grader",): "dev.lock.txt", ("colab-like",): "colab-like.txt"}


def main() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        for chain, settled in CHAINS.items():
            folder = Path(scratch) / chain[-1]
            venv.create(folder, with_pip=True)
            python = folder / "bin" / "python"
            install_torch(python, HERE / settled)
            constraints = HERE / settled
            for name in chain:
                pip(python, "install", "-r", str(HERE / f"{name}.txt"), "-c", str(constraints))
                constraints = HERE / f"{name}.lock.txt"
                constraints.write_text(freeze(python, name), encoding="utf-8")


def freeze(python: Path, name: str) -> str:
    listed = subprocess.run([python, "-m", "pip", "freeze", "--all"], capture_output=True, text=True, check=True).stdout
    pins = [line.replace("+cpu", "") for line in listed.splitlines() if not line.startswith(("pip==", "-e")) and "==" in line]
    version = ".".join(map(str, sys.version_info[:2]))
    head = f"# {name}: exact versions. Written by `python environments/lock.py` (Python {version}) from {name}.txt."
    return "\n".join([head, *pins]) + "\n"


if __name__ == "__main__":
    main()
