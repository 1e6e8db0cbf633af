"""Run a notebook as a learner would, and hold its outputs against what each cell is expected to show."""

import asyncio
import os
import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

from .lesson import Lesson

if sys.platform == "win32":
    asyncio.set_event_loop_policy(asyncio.WindowsSelectorEventLoopPolicy())


def run_notebook(notebook: nbformat.NotebookNode, folder: Path, environment: dict | None = None) -> nbformat.NotebookNode:
    """A copy with outputs, run in `folder`, pictures as PNG only (no widget state), errors kept as outputs.

    Training runs whole, for the lesson speaks of what is seen then; ADVANTAGELAB_QUICK=1 takes a few steps, to try a build.
    """
    notebook = nbformat.from_dict(notebook)
    variables = {**os.environ, "ADVANTAGELAB_STATIC": "1", "OMP_NUM_THREADS": "1", **(environment or {})}
    client = NotebookClient(notebook, timeout=900, kernel_name="python3", allow_errors=True, store_widget_state=False, coalesce_streams=True,
                            resources={"metadata": {"path": str(folder)}})
    client.execute(env=variables)
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)  # times of one run
        for output in cell.get("outputs", []):
            if "image/png" in output.get("data", {}):
                output.data.pop("text/html", None)  # the same picture again, in a form that some viewers blank out
                output.metadata["image/png"] = {"alt": output.data["text/plain"]}  # nbconvert says it; JupyterLab has nothing for it yet
    notebook.metadata.language_info = {"name": "python"}  # not the version that happened to run it
    return notebook


def output_faults(notebook: nbformat.NotebookNode, lesson: Lesson) -> list[str]:
    """What a solved notebook's outputs lack, a line a cell: "key: problem"."""
    cells = {cell.key: cell for cell in lesson.cells}
    faults = []
    for built in notebook.cells:
        if built.cell_type != "code":
            continue
        kinds = {kind for output in built.outputs for kind in _kinds(output)}
        written = "".join(output.get("text", "") for output in built.outputs if output.output_type == "stream")
        cell = cells.get(built.id)
        role = cell.role if cell else None
        if "error" in kinds or "stderr" in kinds:
            faults.append(f"{built.id}: the solved cell ends in an error or writes to stderr")
        elif role == "widget" and "image/png" not in kinds:
            faults.append(f"{built.id}: a widget cell without a picture")
        elif role == "check" and ("✓" not in written or "✗" in written):
            faults.append(f"{built.id}: a check cell without its verdicts")
        elif role is None and not kinds:
            faults.append(f"{built.id}: the cell shows nothing")
        if any("application/vnd.jupyter.widget-view+json" in kind for kind in kinds):
            faults.append(f"{built.id}: a widget view in a shipped notebook")
    return faults


def _kinds(output) -> list[str]:
    if output.output_type == "stream":
        return [output.name]
    if output.output_type == "error":
        return ["error"]
    return list(output.data)
