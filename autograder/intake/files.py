"""Files in a folder that others filled: only regular ones, never through a link, never more of one than a notebook may hold."""

import os
import stat
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from advantagelab.message import message

from ..submission import Ungradable
from .decode import MAX_BYTES, refuse

DEPTH = 4  # folders within a student's folder: archives often unpack into one more
MAX_FILES = 2000
NOT_WORK = ("timestamp.txt", "__MACOSX")  # nbgrader's, and what macOS puts into archives
NO_FILE = message(en="There is no file in the folder.", zh="文件夹中没有文件。")


def files_in(folder: Path) -> list[Path]:
    """The files by name, hidden ones left out. Links are listed, never followed; so are folders that lie too deep to be looked into.

    Ungradable: far too many
    """
    found = list(islice(_entries(folder, DEPTH), MAX_FILES + 1))
    if len(found) > MAX_FILES:
        raise refuse(f"More than {MAX_FILES} files in the folder.", f"文件夹中的文件超过 {MAX_FILES} 个。")
    return found


def notebooks_among(files: list[Path]) -> list[Path]:
    """Those that are called notebooks, also "rloo.ipynb.txt"; if none is, all of them."""
    return [path for path in files if ".ipynb" in path.name.lower()] or files


def _entries(folder: Path, depth: int) -> Iterator[Path]:
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        raise refuse(f"The folder cannot be read: {error.strerror}.", f"无法读取文件夹：{error.strerror}。") from None
    for entry in entries:
        if entry.name.startswith(".") or entry.name in NOT_WORK:
            continue
        if depth and entry.is_dir(follow_symlinks=False):
            yield from _entries(Path(entry.path), depth - 1)
        else:
            yield Path(entry.path)


def read_file(path: Path) -> bytes:
    """Ungradable: a link, something other than a file, too large, or not readable."""
    if path.is_dir() and not path.is_symlink():
        raise refuse(f"Folders within folders, more than {DEPTH} deep: not looked into.", f"文件夹嵌套超过 {DEPTH} 层，没有再往里找。")
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except OSError as error:
        if path.is_symlink():
            raise Ungradable(message(en="A link to another file: not followed.", zh="是指向其他文件的链接：不予读取。")) from None
        raise refuse(f"The file cannot be read: {error.strerror}.", f"无法读取文件：{error.strerror}。") from None
    with open(descriptor, "rb") as file:
        if path.is_symlink() or not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise refuse("Not a regular file.", "不是普通文件。")
        return file.read(MAX_BYTES + 1)
