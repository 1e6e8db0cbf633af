"""Which of a student's files is the submission: by content, whatever the file is called."""

import os
from dataclasses import dataclass
from pathlib import Path

from advantagelab.message import Message, message
from lessons._build.lesson import Lesson

from ..submission import Submission, Ungradable
from .decode import MAX_BYTES
from .files import NO_FILE, files_in, notebooks_among, read_file
from .repairs import shown
from .restore import read_submission

CANDIDATES = 20  # all of them are read here, in the process that hands out the work
TOO_MANY = message(en=f"More than {CANDIDATES} files, or more than {MAX_BYTES // 2**20} MiB, that could be the notebook. Keep one.",
                   zh=f"可能是 notebook 的文件超过 {CANDIDATES} 个，或合计超过 {MAX_BYTES // 2**20} MiB。请只保留一个。")


@dataclass(frozen=True)
class Found:
    """file: the one to grade; None if there is none, and then `refused` says why. notes: what was found beside it."""

    file: Path | None
    refused: Message | None = None
    notes: tuple[Message, ...] = ()


def find_notebook(folder: Path, lesson: Lesson) -> Found:
    """The notebook of this lesson in a student's folder. The only file is taken as it is, without reading it."""
    try:
        return choose(files_in(folder), lesson)
    except Ungradable as refused:
        return Found(None, refused.said)


def choose(files: list[Path], lesson: Lesson) -> Found:
    """One of these files. If several differ, the one that has the lesson's own file name counts; if none has, nobody guesses."""
    if not files:
        return Found(None, NO_FILE)
    files = notebooks_among(files)
    if len(files) == 1:
        return Found(files[0])
    if too_many(files):
        return Found(None, TOO_MANY)
    read, refused = {}, {}
    for file in files:
        try:
            read[file] = read_submission(read_file(file), lesson)
        except Ungradable as error:
            refused[file] = error.said
    if not read:
        return Found(None, _none_of(refused))
    notes = [message(en=f"Beside it, not graded: {shown(file.name)}. {said.en}", zh=f"另有文件未评阅：{shown(file.name)}。{said.zh}")
             for file, said in refused.items()]
    worked_on = [file for file in read if not _is_untouched(read[file], lesson)] or list(read)[:1]
    different = {(read[file].code, tuple(read[file].written.items())): file for file in reversed(worked_on)}
    chosen = list(reversed(different.values()))
    if len(chosen) > 1:
        exact = [file for file in chosen if file.name == f"{lesson.entry.notebook}.ipynb"]
        if len(exact) != 1:
            names = ", ".join(shown(file.name) for file in chosen[:4])
            return Found(None, message(en=f"Several different notebooks of this lesson, and none has its name: {names}. Keep one.",
                                       zh=f"有多个不同的本课 notebook，且文件名都不是本课的：{names}。请只保留一个。"))
        chosen = exact
    others = [shown(file.name) for file in read if file != chosen[0]]
    if others:
        names = ", ".join(others[:4])
        notes.append(message(en=f"Of several notebooks of this lesson {shown(chosen[0].name)} was taken, not: {names}.",
                             zh=f"有多个本课的 notebook，取 {shown(chosen[0].name)}，未取：{names}。"))
    return Found(chosen[0], None, tuple(notes))


def too_many(files: list[Path]) -> bool:
    """To be read one after the other."""
    return len(files) > CANDIDATES or sum(os.lstat(file).st_size for file in files) > MAX_BYTES


def _is_untouched(submission: Submission, lesson: Lesson) -> bool:
    return submission.untouched >= {cell.key for cell in lesson.cells if cell.role in ("exercise", "question")}


def _none_of(refused: dict[Path, Message]) -> Message:
    file, said = next(iter(refused.items()))
    return message(en=f"None of {len(refused)} files is a notebook of this lesson; {shown(file.name)}: {said.en}",
                   zh=f"{len(refused)} 个文件都不是本课的 notebook；{shown(file.name)}：{said.zh}")
