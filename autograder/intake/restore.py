"""A submitted file → a Submission, without executing anything."""

import hashlib
import re
from collections import Counter
from dataclasses import replace

import nbformat
from nbformat import NotebookNode

from advantagelab.message import message
from lessons._build.course import LANGUAGES
from lessons._build.lesson import Lesson

from ..submission import Code, Submission
from .belongs import ours, require_lesson
from .cells import MAX_CELL, RawCell, length_of, read_cells
from .decode import read_json
from .place import Piece, place
from .release import Release, plain, release_of
from .repairs import Repairs, shown

LANGUAGE_LINE = re.compile(r"^language *= *[\"'](\w+)[\"']", re.M)
SETUP_PARTS = re.compile(r"^(language *=|advantagelab = _advantagelab\().*$", re.M)
SOLVED = message(en="This is the course's solved notebook.", zh="这是课程的参考答案 notebook。")
HANZI = re.compile("[\u4e00-\u9fff]")


def read_submission(data: bytes, lesson: Lesson) -> Submission:
    """Read a student's file: decode it, find the lesson's cells in it, put back what was lost. | 读取学生提交的文件。

    Nothing in the file is executed, and every line of an answer is a line of the file.
    Ungradable: it is no notebook, or not of this lesson; the reason is in its `said` | 不是 notebook，或不属于本课；原因见 `said`
    """
    value, read = read_json(data)
    cells, more = read_cells(value)
    release = release_of(lesson)
    repairs = Repairs([*read, *more])
    pieces = place(cells, release, repairs)
    require_lesson(lesson, ours(value).get("lesson"), cells, found=any(piece.key for piece in pieces))
    language = _language(pieces, release, ours(value).get("language"))
    version = release.metadata[language].advantagelab.version
    made = ours(value).get("version")
    if isinstance(made, str) and made != version:
        made = shown(made)
        repairs.first.append(message(en=f"Made with version {made} of the course, graded as version {version}.",
                                     zh=f"由课程 {made} 版生成，按 {version} 版评阅。"))
    _put_back(pieces, release, repairs)
    submission = _submission(data, pieces, release, language, repairs)
    return replace(submission, notes=(SOLVED,)) if _is_solved(cells, lesson) else submission


def _is_solved(cells: list[RawCell], lesson: Lesson) -> bool:
    """Whether every cell is there that only the course's solved notebook has."""
    only = {cell.key for cell in lesson.cells if cell.only == "solution"}
    return bool(only) and only <= {name for cell in cells for name in cell.names}


def _language(pieces: list[Piece], release: Release, stated) -> str:
    """Of the set-up cell; without one, of the prose that is as released; without any, of the metadata, of the prose that is there."""
    setup = next((piece for piece in pieces if piece.key == "setup"), None)
    line = LANGUAGE_LINE.search(setup.source) if setup else None
    if line and line[1] in LANGUAGES:
        return line[1]
    prose = Counter(language for piece in pieces if piece.key and piece.exact == piece.key and len(release.cells[piece.key].texts) > 1
                    for language, cell in release.cells[piece.key].cells.items() if cell.source.strip() == piece.source.strip())
    if prose:
        return prose.most_common(1)[0][0]
    if stated in LANGUAGES:
        return stated
    return "zh" if any(HANZI.search(piece.source) for piece in pieces if piece.kind != "code" and not piece.key) else "en"


def _put_back(pieces: list[Piece], release: Release, repairs: Repairs) -> None:
    """Cells of the release that a grade or a run depends on: types, read-only texts, and those that are missing."""
    transformer = pieces[0].transformer
    placed = set()
    for piece in pieces:
        released = release.cells.get(piece.key)
        if released is None:
            continue
        placed.add(piece.key)
        if released.role and piece.kind != released.kind:
            repairs.retyped.append(piece.key)
        if piece.key in release.graded and piece.grade_id != piece.key:
            (repairs.written if released.role == "question" else repairs.metadata).append(piece.key)
        if released.locked and piece.exact != piece.key and not (released.role == "setup" and _same_setup(piece.source, released.source)):
            repairs.locked.append(piece.key)
    for key in release.order:
        released = release.cells[key]
        if released.role and key not in placed:
            before = next((name for name in reversed(release.order[:release.order.index(key)]) if name in placed), None)
            place = next((number for number, piece in enumerate(pieces, 1) if before and piece.key == before), 0)
            pieces.insert(place, Piece(released.kind, released.source, release, transformer, key=key))
            placed.add(key)
            if key not in repairs.ambiguous:
                (repairs.missing_locked if released.locked else repairs.missing).append(key)


def _same_setup(one: str, other: str) -> bool:
    """Set-up cells that differ in language and in the copy of the package that they carry: another release's is no edit."""
    return plain(SETUP_PARTS.sub("", one)) == plain(SETUP_PARTS.sub("", other))


def _submission(data: bytes, pieces: list[Piece], release: Release, language: str, repairs: Repairs) -> Submission:
    notebook = nbformat.from_dict({"nbformat": 4, "nbformat_minor": 5, "metadata": dict(release.metadata[language]), "cells": []})
    run, written, untouched, own = [], {}, set(), Counter()
    for piece in pieces:
        released = release.cells.get(piece.key)
        if released is None:
            kind = "added" if piece.kind == "code" else "note"
            own[kind] += 1
            cell_id = f"{kind}-{own[kind]}"
            notebook.cells.append(_cell(piece.kind, piece.source, cell_id, piece.attachments))
            if piece.kind == "code" and piece.runs:
                run.append((cell_id, piece))
            continue
        cell = release.node(piece.key, language)
        if not released.locked:
            cell.source = piece.source
            if piece.attachments and cell.cell_type == "markdown":
                cell.attachments = nbformat.from_dict(piece.attachments)
        notebook.cells.append(cell)
        if released.role in ("given", "exercise"):
            run.append((piece.key, piece))
        if released.role == "question":
            written[piece.key] = piece.source
        if released.role in ("exercise", "question") and (piece.exact == piece.key or not piece.source.strip()):
            untouched.add(piece.key)
    defined = _settle_definitions(run, release, untouched, repairs)
    code = [_code(key, piece, release, repairs) for key, piece in run if key not in defined]
    code = tuple(one for one in code if one.role != "added" or one.source.strip())
    return Submission(release.lesson.entry.name, language, hashlib.sha256(data).hexdigest(), notebook, code, written,
                      frozenset(untouched - defined - set(repairs.ambiguous)), repairs.messages(), frozenset(repairs.ambiguous),
                      frozenset(set(repairs.missing) - defined))


def _cell(kind: str, source: str, cell_id: str, attachments: dict) -> NotebookNode:
    cell = NotebookNode(id=cell_id, cell_type=kind, metadata=NotebookNode(), source=source)
    if kind == "code":
        cell.execution_count, cell.outputs = None, []
    elif attachments:
        cell.attachments = nbformat.from_dict(attachments)
    return cell


def _settle_definitions(run: list[tuple[str, Piece]], release: Release, untouched: set[str], repairs: Repairs) -> set[str]:
    """The untouched answers whose function another cell defines: that one counts, wherever it stands, and the stub does not run."""
    last = {}
    for key, piece in run:
        if piece.key not in release.graded or piece.key in release.answers.values() and key not in untouched:
            for function, exercise in release.answers.items():
                if function in piece.source and function in piece.python.bound:
                    last[exercise] = key
    own = {piece.key: piece for _, piece in run if piece.key}
    for exercise, key in last.items():
        if key != exercise:
            stated = exercise not in untouched and release.cells[exercise].function in own[exercise].python.bound
            (repairs.again if stated else repairs.elsewhere).append(f"{exercise} ({key})")
    return {exercise for exercise, key in last.items() if key != exercise and exercise in untouched}


def _code(key: str, piece: Piece, release: Release, repairs: Repairs) -> Code:
    released = release.cells.get(piece.key)
    if released and (released.locked or piece.exact == piece.key):
        return Code(key, released.role, released.function, released.source)
    source = piece.python.code
    repairs.dropped += [f"{key}: {line}" for line in piece.python.dropped]
    if length_of(source) > MAX_CELL:
        source = ""
        repairs.too_long.append(key)
    return Code(key, released.role if released else "added", released and released.function, source)
