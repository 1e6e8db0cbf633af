"""Run a notebook in its own folder with this interpreter's kernel: python run_alone.py NOTEBOOK. Writes it back, with outputs.

A script, not a test module: the Colab-like environment runs it too. Errors stop it, except in cells tagged raises-exception.
"""

import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

path = Path(sys.argv[1])
notebook = nbformat.read(path, 4)
try:
    NotebookClient(notebook, timeout=600, kernel_name="python3", resources={"metadata": {"path": str(path.parent)}}).execute()
finally:
    nbformat.write(notebook, path)
