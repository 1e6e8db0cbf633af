"""An instructor's nbgrader course: its folders, its database and its settings, as its nbgrader_config.py has them."""

import os
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from nbgrader.coursedir import CourseDirectory
from traitlets.config import Config
from traitlets.config.loader import PyFileConfigLoader

from .course import CourseError
from .record import write_whole


@dataclass(frozen=True)
class CourseFolder:
    root: Path
    config: Config

    @property
    def directory(self) -> CourseDirectory:
        return CourseDirectory(config=self.config, root=str(self.root))

    def folder(self, step: str, student: str, assignment: str) -> Path:
        """step: "submitted", "autograded", "feedback" or "release": nbgrader's word, or what the configuration calls it."""
        directory = self.directory
        return Path(directory.format_path(getattr(directory, f"{step}_directory"), student, assignment))

    def submissions(self, assignment: str) -> Iterator[tuple[str, Path]]:
        """(student, folder) of all who handed in this assignment, by name. Links are no folders: they may lead anywhere."""
        students = self.folder("submitted", "*", assignment).parent.parent
        if not students.is_dir():
            return
        for student in sorted(students.iterdir()):
            folder = self.folder("submitted", student.name, assignment)
            if not student.name.startswith(".") and not student.is_symlink() and folder.is_dir() and not folder.is_symlink():
                yield student.name, folder

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
    finally:
        os.chdir(before)
    return CourseFolder(folder, config)
