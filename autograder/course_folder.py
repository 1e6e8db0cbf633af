"""An instructor's nbgrader course: its folders, its database and its settings, as its nbgrader_config.py has them."""

import os
import secrets
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from nbgrader.coursedir import CourseDirectory
from traitlets.config import Config
from traitlets.config.loader import PyFileConfigLoader

from lessons._build.course import LessonEntry, read_course

from .course_error import CourseError
from .record import write_whole
from .submitted import Submitted


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

    @cached_property
    def submitted(self) -> Submitted:
        folder = self.folder("submitted", "STUDENT", "ASSIGNMENT")
        if folder.parts[-2:] != ("STUDENT", "ASSIGNMENT"):
            raise CourseError("directory_structure in nbgrader_config.py must end in {student_id}/{assignment_id} | "
                              "nbgrader_config.py 中的 directory_structure 必须以 {student_id}/{assignment_id} 结尾")
        return Submitted(folder.parent.parent, self.assignments())

    def assignments(self) -> set[str]:
        """Also those that are not of our lessons: they are for nbgrader to grade."""
        source = self.folder("source", ".", ".")
        return {entry.name for entry in source.iterdir() if entry.is_dir()} if source.is_dir() else set()

    def lessons(self, name: str | None = None) -> list[LessonEntry]:
        """The lesson of that name, or all that are assignments of this course. CourseError: none is."""
        entries = read_course().lessons if name is None else [read_course().lesson(name)]
        entries = [entry for entry in entries if entry.notebook in self.assignments()]
        if not entries:
            wanted = name or "–"
            raise CourseError(f"{self.root} has no assignment of this course: {wanted} | {self.root} 中没有本课程的作业：{wanted}")
        return entries

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
    except Exception as error:
        raise CourseError(f"{folder / 'nbgrader_config.py'}: {type(error).__name__}: {error}") from error
    finally:
        os.chdir(before)
    return CourseFolder(folder, config)
