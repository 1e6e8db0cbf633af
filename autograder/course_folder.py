"""An instructor's nbgrader course: its folders, its database and its settings, as its nbgrader_config.py has them."""

import os
import re
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from nbgrader.coursedir import CourseDirectory
from traitlets.config import Config
from traitlets.config.loader import PyFileConfigLoader

from advantagelab.message import Message, message

from .course_error import CourseError
from .intake.repairs import shown
from .record import write_whole

LONGEST_ID = 128  # what nbgrader's database has room for
NO_ID = re.compile(r"[<>\"&]")  # live on formgrader's pages


@dataclass(frozen=True)
class CourseFolder:
    root: Path
    config: Config

    @cached_property
    def directory(self) -> CourseDirectory:
        return CourseDirectory(config=self.config, root=str(self.root))

    @property
    def db_url(self) -> str:
        """A relative SQLite file is meant from the course, where `nbgrader` is called, wherever this runs."""
        url, sqlite = self.directory.db_url, "sqlite:///"
        return f"{sqlite}{self.root / url.removeprefix(sqlite)}" if url.startswith(sqlite) else url

    def folder(self, step: str, student: str, assignment: str) -> Path:
        """step: "source", "release", "submitted", "autograded" or "feedback": nbgrader's word, or what the configuration calls it."""
        directory = self.directory
        return Path(directory.format_path(getattr(directory, f"{step}_directory"), student, assignment))

    @property
    def submitted(self) -> Path:
        """The folder that holds a folder for each student."""
        folder = self.folder("submitted", "STUDENT", "ASSIGNMENT")
        if folder.parts[-2:] != ("STUDENT", "ASSIGNMENT"):
            raise CourseError("directory_structure in nbgrader_config.py must end in {student_id}/{assignment_id} | "
                              "nbgrader_config.py 中的 directory_structure 必须以 {student_id}/{assignment_id} 结尾")
        return folder.parent.parent

    def submissions(self, assignment: str) -> Iterator[tuple[str, Path]]:
        """(student, folder) of all who handed in this assignment, by name. Links are no folders: they may lead anywhere."""
        for student in self._entries(self.submitted):
            folder = student / assignment
            if _is_folder(student) and _is_folder(folder) and _can_be_id(student.name):
                yield student.name, folder

    def strays(self) -> list[Message]:
        """What lies in `submitted` and is nobody's assignment: said, so that no work is overlooked."""
        assignments = {folder.name for folder in self._entries(self.folder("source", ".", "."))}
        found = []
        for student in self._entries(self.submitted):
            if student.is_symlink():
                found.append(_stray(student.name, "a link, not followed", "是链接，未读取"))
            elif not student.is_dir():
                if ".ipynb" in student.name.lower():
                    found.append(_stray(student.name, "not in STUDENT/ASSIGNMENT/", "不在 学号/作业名/ 文件夹中"))
            elif not os.access(student, os.R_OK | os.X_OK):
                found.append(_stray(student.name, "the folder cannot be read", "无法读取文件夹"))
            elif not _can_be_id(student.name):
                found.append(_stray(student.name, "no student id: not UTF-8, too long, or with one of < > \" &; rename the folder",
                                    "不能作学号：不是 UTF-8、过长，或含有 < > \" &；请给文件夹改名"))
            else:
                found += [self._stray_work(entry, assignments) for entry in self._entries(student)]
        return [said for said in found if said]

    def record_file(self, student: str, assignment: str) -> Path:
        return self.root / "grading" / assignment / student / "record.json"

    def seed(self) -> int:
        """Of the hidden checks' inputs: drawn once for a course, kept, so that grading again gives the same scores."""
        file = self.root / "grading" / "seed"
        if not file.exists():
            write_whole(file, f"{secrets.randbits(48)}\n")
        try:
            return int(file.read_text(encoding="utf-8"))
        except ValueError:
            raise CourseError(f"{file} should hold one whole number | {file} 应为一个整数") from None

    @staticmethod
    def _entries(folder: Path) -> list[Path]:
        return sorted(entry for entry in folder.iterdir() if not entry.name.startswith(".")) if folder.is_dir() else []

    @staticmethod
    def _stray_work(entry: Path, assignments: set[str]) -> Message | None:
        name = f"{entry.parent.name}/{entry.name}"
        if entry.is_symlink():
            return _stray(name, "a link, not followed", "是链接，未读取")
        if entry.is_dir() and entry.name not in assignments:
            return _stray(name, "no assignment of this course has that name", "本课程没有这个名称的作业")
        if not entry.is_dir() and ".ipynb" in entry.name.lower():
            return _stray(name, "not in STUDENT/ASSIGNMENT/", "不在 学号/作业名/ 文件夹中")
        return None


def open_course(folder: Path) -> CourseFolder:
    """CourseError if the folder is no nbgrader course. Its nbgrader_config.py is Python and is run."""
    folder = folder.resolve()
    if not (folder / "nbgrader_config.py").is_file():
        raise CourseError(f"{folder} has no nbgrader_config.py: make a course first, python -m autograder init DIR --language en | "
                          f"{folder} 中没有 nbgrader_config.py：请先建立课程，python -m autograder init DIR --language zh")
    before = os.getcwd()
    try:
        os.chdir(folder)  # nbgrader reads it there, and paths in it may be relative
        config = PyFileConfigLoader("nbgrader_config.py", path=str(folder)).load_config()
    except Exception as error:
        raise CourseError(f"{folder / 'nbgrader_config.py'}: {type(error).__name__}: {error}") from error
    finally:
        os.chdir(before)
    return CourseFolder(folder, config)


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir() and not path.is_symlink()
    except OSError:  # within a folder that cannot be read
        return False


def _can_be_id(name: str) -> bool:
    return len(name) <= LONGEST_ID and name.isprintable() and not NO_ID.search(name)


def _stray(name: str, en: str, zh: str) -> Message:
    return message(en=f"not graded, {shown(name)}: {en}", zh=f"未评阅，{shown(name)}：{zh}")
