"""JupyterLab and Notebook 7 from one server, driven in a page through `window.jupyterapp`, as `expose_app_in_browser` gives it to us."""

import contextlib
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import Locator, Page

from tests.needs import ROOT
from tests.whole import ALL

ARTIFACTS = ROOT / "artifacts"
TOKEN = "test-token"
APPS = {"lab": "lab/tree", "notebook": "notebooks"}
PATIENCE = 120_000  # milliseconds: the tests share the machine with others

NOTEBOOK = "window.jupyterapp.shell.currentWidget.content"
KERNEL_IS_IDLE = """
  window.jupyterapp?.shell.currentWidget?.context?.sessionContext.session?.kernel?.status === "idle"
"""
EVERY_CELL_HAS_RUN = f"""
  {NOTEBOOK}.widgets
    .filter(cell => cell.model.type === "code" && cell.model.sharedModel.source.trim())
    .every(cell => cell.model.executionCount && cell.model.executionState !== "running")
"""
# A cell's id is its key.
SOURCE = f"key => {NOTEBOOK}.widgets.find(cell => cell.model.id === key).model.sharedModel.source"
PLACE = f"key => {NOTEBOOK}.widgets.findIndex(cell => cell.model.id === key)"
ACTIVATE = f"key => {{ {NOTEBOOK}.activeCellIndex = ({PLACE})(key); }}"
RUN = f"key => {{ ({ACTIVATE})(key); return window.jupyterapp.commands.execute('notebook:run-cell'); }}"


@contextlib.contextmanager
def server(folder: Path, *options: str) -> Iterator[str]:
    """The address of a Jupyter server whose files, settings and home lie in `folder`."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = os.environ | {"HOME": str(folder), "OMP_NUM_THREADS": "1", "JUPYTER_CONFIG_DIR": str(folder / "config")}
    environment.pop("ADVANTAGELAB_STATIC", None)
    environment["ADVANTAGELAB_QUICK"] = "0" if ALL else "1"  # training: a few steps, or the whole run
    command = [
        sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", f"--ServerApp.port={port}", f"--ServerApp.root_dir={folder}",
        f"--IdentityProvider.token={TOKEN}", "--LabApp.expose_app_in_browser=True", "--JupyterNotebookApp.expose_app_in_browser=True",
        "--LabApp.news_url=None", "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate", *options]
    settings = folder / "config" / "lab" / "user-settings" / "@jupyterlab" / "notebook-extension" / "tracker.jupyterlab-settings"
    settings.parent.mkdir(parents=True)
    settings.write_text('{"windowingMode": "none"}')  # every cell stays in the page, wherever it is scrolled
    log = folder / "server.log"
    with log.open("w") as stderr:
        process = subprocess.Popen(command, env=environment, cwd=folder, stdout=subprocess.DEVNULL, stderr=stderr)
    address = f"http://127.0.0.1:{port}"
    try:
        for _ in range(240):
            try:
                urllib.request.urlopen(f"{address}/api?token={TOKEN}", timeout=1)
                break
            except OSError:
                assert process.poll() is None, log.read_text()[-2000:]
                time.sleep(0.5)
        yield address
    finally:
        process.terminate()
        process.wait(60)


def open_notebook(page: Page, address: str, app: str, path: str) -> None:
    """app: "lab" or "notebook". Returns when its kernel is ready and all its cells stand in the page."""
    page.goto(f"{address}/{APPS[app]}/{path}?token={TOKEN}&reset")
    page.wait_for_selector(".jp-Notebook .jp-Cell", timeout=PATIENCE)
    page.wait_for_function(KERNEL_IS_IDLE, timeout=PATIENCE)
    page.evaluate("window.jupyterapp.shell.collapseLeft?.()")
    # The pictures that a file brings are drawn by Jupyter itself, which has no place for their alt text. Those of a run are ours.
    page.evaluate("window.jupyterapp.commands.execute('notebook:clear-all-cell-outputs')")


def shut_down(page: Page) -> None:
    """Ends the kernel of the notebook in the page, if there is one."""
    page.evaluate("window.jupyterapp?.commands.execute('kernelmenu:shutdown').catch(() => null)")


def cell(page: Page, key: str) -> Locator:
    return page.locator(".jp-Notebook .jp-Cell").nth(page.evaluate(PLACE, key))


def run(page: Page, key: str) -> str:
    """Run the cell and read its output as the page shows it."""
    page.evaluate(RUN, key)
    return cell(page, key).locator(".jp-Cell-outputArea").inner_text()


def retype(page: Page, key: str, source: str) -> None:
    """Write a cell anew at the keyboard."""
    cell(page, key).locator(".cm-content").click()
    page.keyboard.press("Control+A")
    page.keyboard.insert_text(source)
    assert page.evaluate(SOURCE, key) == source


def screenshot(page: Page, name: str) -> None:
    """An artefact of the test run."""
    ARTIFACTS.mkdir(exist_ok=True)
    page.screenshot(path=ARTIFACTS / f"{name}.png")
