"""Tricks with folders, files and their names. Each fills the folder of one student, or says why it cannot be made here."""

import os
import socket
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

ASSIGNMENT = "03_rloo"
FILE = f"{ASSIGNMENT}.ipynb"


@dataclass(frozen=True)
class Trick:
    """student: the name of the folder; make(folder, good): what lies in submitted/STUDENT, where `good` is a right notebook's bytes.

    outcome: "right" (all points of its checks), "ungradable", "nothing" (not handed in), or "stray": no submission of anyone, and said so
    """

    name: str
    tries: str
    student: str
    make: Callable[[Path, bytes], None]
    outcome: str


def put(folder: Path, content: bytes, name: str = FILE) -> Path:
    file = folder / ASSIGNMENT / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)
    return file


def place(folder: Path) -> Path:
    (folder / ASSIGNMENT).mkdir(parents=True)
    return folder / ASSIGNMENT / FILE


def link_to(target: str) -> Callable[[Path, bytes], None]:
    """target: from the course's folder, or absolute."""
    return lambda folder, good: place(folder).symlink_to(os.path.join(folder.parent.parent, target))


def linked_folder(folder: Path, good: bytes) -> None:
    folder.mkdir()
    (folder / ASSIGNMENT).symlink_to(folder.parent.parent / "source" / ASSIGNMENT)


def linked_student(folder: Path, good: bytes) -> None:
    folder.symlink_to(next(entry for entry in folder.parent.iterdir() if "honest" in entry.name))


def listening(folder: Path, good: bytes) -> None:
    file, here = place(folder), os.getcwd()
    with socket.socket(socket.AF_UNIX) as listener:
        os.chdir(file.parent)  # a socket's path may be no longer than a hundred signs
        listener.bind(file.name)
        os.chdir(here)


def sparse(folder: Path, good: bytes) -> None:
    with open(place(folder), "wb") as file:
        file.truncate(50 * 2**30)


def planted(folder: Path, good: bytes) -> None:
    """Beside a right notebook: what the grader, nbgrader or Python might take for its own."""
    put(folder, good)
    for name, text in (("record.json", '{"status": "graded", "questions": []}'), ("nbgrader_config.py", "raise SystemExit(3)"),
                       ("torch.py", "raise SystemExit(3)"), ("sitecustomize.py", "raise SystemExit(3)"), ("gradebook.db", "x"),
                       ("seed", "1"),
                       ("conftest.py", "raise SystemExit(3)"), ("checks.py", "def check_x(answers): pass"), ("Makefile", "all:\n\tfalse")):
        put(folder, text.encode(), name)


def many_files(folder: Path, good: bytes) -> None:
    put(folder, good)
    for number in range(2100):
        (folder / ASSIGNMENT / f"{number}.txt").touch()


def many_notebooks(folder: Path, good: bytes) -> None:
    for number in range(60):
        put(folder, good, f"{number}.ipynb")


def deep_folders(folder: Path, good: bytes) -> None:
    file = place(folder)
    inner = file.parent / ("/".join(["d"] * 90))
    inner.mkdir(parents=True)
    (inner / FILE).write_bytes(good)


def timestamp(make: Callable[[Path], None]) -> Callable[[Path, bytes], None]:
    def trick(folder: Path, good: bytes) -> None:
        make(put(folder, good).with_name("timestamp.txt"))
    return trick


def two_names(folder: Path, good: bytes) -> None:
    put(folder, good, "a\n\x1b[2J\u202e=x" + "b" * 100 + ".ipynb")
    put(folder, b"{}", "b\n\x1b]0;stolen\x07.ipynb")


def handed(content: bytes) -> Callable[[Path, bytes], None]:
    return lambda folder, good: put(folder, content)


def misfiled(folder: Path, good: bytes) -> None:
    (folder / "grading").mkdir(parents=True)
    (folder / "grading" / FILE).write_bytes(good)


TRICKS = [
    Trick("link-to-source", "hand in a link to the source notebook", "p-link", link_to(f"source/{ASSIGNMENT}/{FILE}"), "ungradable"),
    Trick("link-to-gradebook", "hand in a link to the gradebook", "p-gradebook", link_to("gradebook.db"), "ungradable"),
    Trick("link-to-key", "hand in a link to a private file", "p-key", link_to("/etc/shadow"), "ungradable"),
    Trick("link-to-zeros", "hand in a link to a device without end", "p-zeros", link_to("/dev/zero"), "ungradable"),
    Trick("link-to-itself", "hand in a link to itself", "p-itself", link_to(f"submitted/p-itself/{ASSIGNMENT}/{FILE}"), "ungradable"),
    Trick("linked-folder", "hand in a link to the source's folder", "p-folder", linked_folder, "stray"),
    Trick("linked-student", "be a link to another student", "p-student", linked_student, "stray"),
    Trick("pipe", "hand in a pipe that nobody writes to", "p-pipe", lambda folder, good: os.mkfifo(place(folder)), "ungradable"),
    Trick("socket", "hand in a socket", "p-socket", listening, "ungradable"),
    Trick("folder", "hand in a folder with a notebook's name", "p-named", lambda folder, good: place(folder).mkdir(), "nothing"),
    Trick("sparse", "hand in fifty gigabytes of nothing", "p-sparse", sparse, "ungradable"),
    Trick("planted", "hand in files that graders and Python look for", "p-planted", planted, "right"),
    Trick("many-files", "hand in two thousand files", "p-files", many_files, "ungradable"),
    Trick("many-notebooks", "hand in sixty notebooks", "p-notebooks", many_notebooks, "ungradable"),
    Trick("deep-folders", "hand in a notebook ninety folders deep", "p-deep", deep_folders, "ungradable"),
    Trick("timestamp-link", "a time of handing in that is a link to a secret", "p-time",
          timestamp(lambda file: file.symlink_to("/etc/passwd")), "right"),
    Trick("timestamp-pipe", "one that is a pipe", "p-wait", timestamp(os.mkfifo), "right"),
    Trick("timestamp-words", "one that is a script", "p-words",
          timestamp(lambda file: file.write_text("<script>stolen()</script>\x1b[2J 9999-99-99")), "right"),
    Trick("file-names", "file names that are lines, signs to a terminal and formulas", "p-names", two_names, "right"),
    Trick("archive", "hand in an archive", "p-zip", handed(b"PK\x03\x04" + bytes(999)), "ungradable"),
    Trick("deep-file", "hand in JSON that is nested without end", "p-nested", handed(b'{"a":' * 100_000), "ungradable"),
    Trick("numerous-file", "hand in millions of values", "p-values", handed(b'{"cells": [' + b"[]," * 3_000_000 + b"[]]}"),
          "ungradable"),
    Trick("record", "hand in a record of its own", "p-record", handed(b'{"status": "graded", "score": 12}'), "ungradable"),
    Trick("formula-name", "be a formula for a spreadsheet", "=HYPERLINK(1)", put, "right"),
    Trick("option-name", "be an option", "--student=x", put, "right"),
    Trick("pattern-name", "be a pattern for a path or a text", "{student_id}%s*?[a]$(id)`id`", put, "right"),
    Trick("query-name", "be a query", "x';drop table student--", put, "right"),
    Trick("markup-name", "be a script", "<b onload=stolen()>", put, "stray"),
    Trick("line-name", "be two lines", "new\nline", put, "stray"),
    Trick("sign-name", "be signs to a terminal, or turn the line around", "\x1b[2J\u202e\x9b31m", put, "stray"),
    Trick("long-name", "be longer than the gradebook's room", "x" * 200, put, "stray"),
    Trick("upward-name", "look like a way upwards", "a%2f..%2f..", put, "right"),
    Trick("misfiled", "hand in to a folder that is no assignment", "p-misfiled", misfiled, "stray"),
]
