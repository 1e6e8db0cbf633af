"""Who handed in what, in a folder of STUDENT/ASSIGNMENT/: the one walk of intake, grade, feedback and export, so that they agree."""

import os
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from advantagelab.message import Message, message
from lessons._build.course import Course, read_course
from lessons._build.lesson import Lesson

from .intake import find_notebook
from .intake.belongs import lesson_of_file
from .intake.files import NOT_WORK, files_in, notebooks_among, read_file
from .intake.repairs import shown
from .submission import Ungradable
from .task import Handed

LONGEST_ID = 128  # what nbgrader's database has room for
NO_ID = re.compile(r"[<>\"&]")  # live on formgrader's pages
LINK = message(en="a link, not followed", zh="是链接，未读取")
LOOKED_AT = 5  # files in a folder with a wrong name, to tell which lesson it is for


@dataclass(frozen=True)
class Astray:
    """Work that is nobody's assignment as it lies. student: whose it seems to be; assignment: which, None if nothing tells."""

    name: str
    student: str | None
    assignment: str | None
    why: Message

    def __str__(self) -> str:
        name = shown(self.name)
        return f"not graded, {name}: {self.why.en} | 未评阅，{name}：{self.why.zh}"


class Submitted:
    """assignments: of the course, by name. Links are no folders: they may lead anywhere."""

    def __init__(self, folder: Path, assignments: Collection[str]):
        self.folder, self.assignments = folder, assignments

    @cached_property
    def _course(self) -> Course:
        return read_course()  # once: what tells its lessons apart is kept with it

    def students(self) -> list[str]:
        """All who have a folder, also an empty one."""
        return [student.name for student in _entries(self.folder) if self._is_student(student)]

    def of(self, assignment: str) -> Iterator[tuple[str, Path]]:
        """(student, folder) of all who handed in this assignment, by name. A folder without a file is nothing handed in."""
        for student, folder in self.folders(assignment):
            if has_files(folder):
                yield student, folder

    def empty(self, assignment: str) -> list[str]:
        """Who has a folder for it with no file in it."""
        return [student for student, folder in self.folders(assignment) if not has_files(folder)]

    def elsewhere(self, student: str, assignment: str, other: str) -> Iterator[Message]:
        """Says so if a notebook of this assignment lies in the student's folder for the other one."""
        course, folder = self._course, self.folder / student / other
        if _is_folder(folder) and assignment in {course.lesson(lesson).notebook for lesson in _lessons_in(folder, course)}:
            place = f"{shown(student)}/{other}/"
            yield message(en=f"{assignment}'s notebook lies in {place}", zh=f"{assignment} 的 notebook 放在了 {place} 中")

    def folders(self, assignment: str) -> Iterator[tuple[str, Path]]:
        """(student, folder) of all who have a folder for it, also an empty one."""
        for student in _entries(self.folder):
            if self._is_student(student) and _is_folder(student / assignment):
                yield student.name, student / assignment

    def astray(self, assignment: str | None = None) -> list[Astray]:
        """What is in the wrong place: said, so that no work is overlooked. assignment: only what is of it, or may be."""
        course, found = self._course, []
        for entry in _entries(self.folder):
            if self._is_student(entry):
                found += [self._misplaced(work, entry.name, course) for work in _entries(entry)
                          if work.is_symlink() or work.name not in self.assignments or not work.is_dir()]
            elif entry.is_dir() or entry.is_symlink():
                of = entry.name if entry.name in self.assignments else None
                found.append(Astray(_misread(entry.name) or entry.name, None, of, self._why_no_student(entry)))
            else:
                found.append(self._misplaced(entry, None, course))
        return [work for work in found if None in (assignment, work.assignment) or work.assignment == assignment]

    def _is_student(self, entry: Path) -> bool:
        return _is_folder(entry) and _can_be_id(entry.name) and entry.name not in self.assignments and os.access(entry, os.R_OK | os.X_OK)

    def _why_no_student(self, entry: Path) -> Message:
        if entry.is_symlink():
            return LINK
        if entry.name in self.assignments:
            return message(en=f"the folders are the other way round: STUDENT/{entry.name}/, not {entry.name}/STUDENT/",
                           zh=f"文件夹层次反了：应为 学号/{entry.name}/，而不是 {entry.name}/学号/")
        if _misread(entry.name):
            return message(en="the folder's name is not UTF-8, this is how it reads as GBK: rename it",
                           zh="文件夹名不是 UTF-8，这里按 GBK 显示：请改名")
        if entry.name != entry.name.strip():
            return message(en="its name begins or ends with a space; rename the folder", zh="首尾有空格；请给文件夹改名")
        if not _can_be_id(entry.name):
            return message(en="no student id: too long, or with one of < > \" &; rename the folder",
                           zh="不能作学号：过长，或含有 < > \" &；请给文件夹改名")
        return message(en="the folder cannot be read", zh="无法读取文件夹")

    def _misplaced(self, work: Path, student: str | None, course: Course) -> Astray:
        name = f"{student}/{work.name}" if student else work.name
        if work.is_symlink():
            return Astray(name, student, work.name if student and work.name in self.assignments else None, LINK)
        lesson = _lesson_in(work, course)
        assignment = course.lesson(lesson).notebook if lesson else None
        owner = shown(student or "STUDENT"), shown(student or "学号")
        if assignment in self.assignments:
            why = message(en=f"a notebook of {assignment}: it belongs in {owner[0]}/{assignment}/",
                          zh=f"是 {assignment} 的 notebook：应放在 {owner[1]}/{assignment}/")
        elif assignment:
            why = message(en=f"a notebook of {assignment}, which is no assignment of this course",
                          zh=f"是 {assignment} 的 notebook，但本课程没有这个作业")
        elif work.is_dir():
            why = message(en="no assignment of this course has that name", zh="本课程没有这个名称的作业")
        else:
            why = message(en=f"not in {owner[0]}/ASSIGNMENT/", zh=f"不在 {owner[1]}/作业名/ 文件夹中")
        return Astray(name, student, assignment, why)


def read_handed_in(student: str, folder: Path, lesson: Lesson) -> Handed:
    """What is in a student's folder. Never fails: what is wrong with it stands in the result."""
    found = find_notebook(folder, lesson)
    try:
        data, refused = (read_file(found.file), None) if found.file else (b"", found.refused)
    except Ungradable as error:
        data, refused = b"", error.said
    name = str(found.file.relative_to(folder)) if found.file else ""
    return Handed(student, lesson.entry.notebook, lesson.entry.name, name, data, refused, found.notes)


def has_files(folder: Path) -> bool:
    """Also one in which nobody may look, or that holds far too many: that is for a reason to say."""
    try:
        return bool(files_in(folder))
    except Ungradable:
        return True


def has_one_file(folder: Path) -> bool:
    try:
        return len(files_in(folder)) == 1
    except Ungradable:
        return False


def _lesson_in(work: Path, course: Course) -> str | None:
    """The one lesson that the notebooks in it are of."""
    lessons = _lessons_in(work, course)
    return lessons.pop() if len(lessons) == 1 else None


def _lessons_in(work: Path, course: Course) -> set[str]:
    """Nothing that is wrong with a file is of interest here."""
    lessons = set()
    try:
        files = notebooks_among(files_in(work)) if work.is_dir() else [work]
    except Exception:
        return lessons
    for file in files[:LOOKED_AT]:
        try:
            lessons.add(lesson_of_file(read_file(file), course))
        except Exception:
            continue
    return lessons


def _entries(folder: Path) -> list[Path]:
    entries = folder.iterdir() if folder.is_dir() else ()
    return sorted(entry for entry in entries if not entry.name.startswith(".") and entry.name not in NOT_WORK)


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir() and not path.is_symlink()
    except OSError:  # within a folder that cannot be read
        return False


def _misread(name: str) -> str:
    """A name that is no UTF-8, as Windows in Chinese wrote it into an archive; "" if it is none."""
    name = os.fsencode(name)
    try:
        name.decode("utf-8")
    except UnicodeDecodeError:
        return shown(name.decode("gb18030", "replace"))
    return ""


def _can_be_id(name: str) -> bool:
    return len(name) <= LONGEST_ID and name.isprintable() and name == name.strip() and not NO_ID.search(name)
