"""Which cell of a submission is which cell of the release.

A cell is known by nbgrader's grade id, then its cell id, then the key comment `# [key] …`, then what it defines. Where these disagree
the text decides: a cell that holds the answer to one TODO is never taken for another cell, and never overwritten.
"""

import re
from collections import defaultdict
from dataclasses import dataclass, field
from functools import cached_property

from .cells import RawCell
from .python_text import Python, Transformer, new_definitions, parse, shape
from .release import Release, Released, plain
from .repairs import Repairs

KEY_COMMENT = re.compile(r"^#(?:@title)? ?\[([a-z0-9-]+)\]", re.M)
SETUP = re.compile(r"^#@title Set-up:|^def _advantagelab\(", re.M)
CHECK = re.compile(r"^run_checks\(globals\(\), *[\"'](\w+)[\"']\)", re.M)
SPLIT = 4  # pieces that a split answer may have after its first


@dataclass(eq=False)
class Piece:
    """A cell of the submission, or a part of one in which several were merged.

    grade_id, name: keys of the release, as the metadata and the cell id give them
    key: the released cell that this one stands for; None for a cell of the student's own
    runs: False for code that is shown but not run
    """

    kind: str
    source: str
    release: Release
    transformer: Transformer
    grade_id: str | None = None
    name: str | None = None
    attachments: dict = field(default_factory=dict)
    key: str | None = None
    runs: bool = True

    @cached_property
    def exact(self) -> str | None:
        """The key of the released cell that has this very text."""
        return self.release.by_text.get(self.source) or self.release.by_text.get(plain(self.source))

    @cached_property
    def comments(self) -> list[str]:
        """The graded cells whose key comments stand here."""
        return [key for key in KEY_COMMENT.findall(self.source) if key in self.release.graded]

    @cached_property
    def python(self) -> Python:
        return self.transformer(self.source)

    @cached_property
    def todos(self) -> set[str]:
        """The exercises whose function is defined here; in prose, only if all of it is Python."""
        mentioned = {function: key for function, key in self.release.answers.items() if function in self.source}
        if not mentioned or self.kind != "code" and not self.comments and not self.transformer.is_python(self.source):
            return set()
        return {key for function, key in mentioned.items() if function in self.python.functions}

    def rank(self, key: str) -> int:
        """How surely this is the original of that cell: 0 by its cell id, 1 by its grade id, 2 by its text."""
        return 0 if self.name == key else 1 if self.grade_id == key else 2

    def demote(self, runs: bool = True) -> None:
        self.key, self.runs = None, runs


def place(cells: list[RawCell], release: Release, repairs: Repairs) -> list[Piece]:
    """The submission's cells in their order, each with its key; copies and fragments are settled, nothing is put back yet."""
    transformer = Transformer()
    pieces = [piece for cell in cells for piece in _pieces(cell, release, transformer, repairs)]
    claims = defaultdict(list)
    for piece in pieces:
        piece.key = _claim(piece, release)
        if piece.key:
            claims[piece.key].append(piece)
    gone = set()
    for key, claimants in claims.items():
        settle = {"exercise": _settle_answer, "question": _settle_written}.get(release.cells[key].role, _settle_other)
        gone.update(settle(release.cells[key], claimants, repairs))
    pieces = [part for piece in pieces if piece not in gone for part in _with_definitions(piece, release, repairs)]
    pieces = _join_split_answers(pieces, release, repairs)
    pieces = _find_by_definition(pieces, release, repairs)
    return _find_written(pieces, release, repairs)


def _pieces(cell: RawCell, release: Release, transformer: Transformer, repairs: Repairs) -> list[Piece]:
    """The cell, or, where graded cells were merged, one piece for each key comment."""
    grade_id = cell.grade_id if cell.grade_id in release.cells else None
    name = next((name for name in cell.names if name in release.cells), None)
    whole = Piece(cell.kind, cell.source, release, transformer, grade_id, name, cell.attachments)
    if whole.exact or not whole.comments:
        return [whole]
    starts = [match.start() for match in KEY_COMMENT.finditer(cell.source) if match[1] in release.graded]
    if cell.kind == "code" or not cell.source[:starts[0]].strip():
        starts[0] = 0
    else:
        starts.insert(0, 0)
    if len(starts) == 1 or len(starts) == len(whole.comments) and len(set(whole.comments)) == 1:
        return [whole]
    parts = [cell.source[start:end].rstrip("\n") for start, end in zip(starts, [*starts[1:], None])]
    if whole.python.parses and any(parse(part) is None for part in parts):
        return [whole]  # a key comment within a string or a function
    repairs.merged += whole.comments
    pieces = [Piece("code" if KEY_COMMENT.match(part) else cell.kind, part, release, transformer) for part in parts]
    pieces[0].attachments = cell.attachments
    for piece in pieces:
        piece.grade_id, piece.name = (key if key in piece.comments else None for key in (grade_id, name))
    return pieces


def _claim(piece: Piece, release: Release) -> str | None:
    """The one released cell that this piece may stand for."""
    if piece.exact:
        same_text = [key for key in (piece.grade_id, piece.name) if key and release.cells[key].texts & release.cells[piece.exact].texts]
        return same_text[0] if same_text else piece.exact
    signs = {*piece.comments, *piece.todos}
    for key in (piece.grade_id, piece.name):
        if key and (not signs or key in signs) and (key in release.graded or release.cells[key].kind == piece.kind):
            return key
    if piece.comments:
        return next((key for key in piece.comments if key in piece.todos), piece.comments[0])
    return "setup" if SETUP.search(piece.source) else None


def _settle_answer(released: Released, claimants: list[Piece], repairs: Repairs) -> list[Piece]:
    """One answer of all that claim to be it. Gives those that leave the notebook."""
    key = released.key
    answers = [piece for piece in claimants if piece.exact == key or key in piece.todos]
    answers = answers or [min(claimants, key=lambda piece: piece.rank(key))]
    for piece in claimants:
        if piece not in answers:
            piece.demote()
    stubs, edited = [piece for piece in answers if piece.exact == key], [piece for piece in answers if piece.exact != key]
    if not edited:
        return _keep_original(key, stubs, repairs.unedited)
    gone, different = list(stubs), {}
    repairs.unedited += [key] * len(stubs)
    for piece in sorted(edited, key=lambda piece: piece.rank(key)):
        if different.setdefault(shape(piece.source), piece) is not piece:
            gone.append(piece)
            repairs.equal.append(key)
    if len(different) > 1:
        first, second, *_ = different.values()
        original = first.rank(key) < second.rank(key)
        (repairs.other_copies if original else repairs.ambiguous).append(key)
        for piece in [*different.values()][original:]:
            piece.demote(runs=False)
    return gone


def _settle_written(released: Released, claimants: list[Piece], repairs: Repairs) -> list[Piece]:
    """A person marks it, so all that was written counts."""
    edited = [piece for piece in claimants if piece.exact != released.key and piece.source.strip()]
    if not edited:
        return _keep_original(released.key, claimants, repairs.unedited)
    if _append(edited[0], edited[1:]):
        repairs.joined.append(released.key)
    return [piece for piece in claimants if piece is not edited[0]]


def _settle_other(released: Released, claimants: list[Piece], repairs: Repairs) -> list[Piece]:
    """Read-only cells, prose, widgets and demos. An edited copy stays as a cell of the student's own, and runs if it may be one."""
    first = min(claimants, key=lambda piece: (piece.rank(released.key), piece.exact is None))
    gone = []
    for piece in claimants:
        if piece is not first:
            if piece.exact and released.locked:
                gone.append(piece)
                repairs.unedited.append(released.key)
            piece.demote(runs=piece.exact is None and released.role not in ("check", "setup"))
    return gone


def _keep_original(key: str, copies: list[Piece], said: list[str]) -> list[Piece]:
    original = min(copies, key=lambda piece: piece.rank(key))
    said += [key] * (len(copies) - 1)
    return [piece for piece in copies if piece is not original]


def _append(piece: Piece, others: list[Piece]) -> bool:
    """Add texts that the piece does not hold yet, and their pictures; whether there were any."""
    texts = list(dict.fromkeys(text for other in others if (text := other.source.strip()) and text != piece.source.strip()))
    piece.source = "\n\n".join([piece.source.rstrip(), *texts]) if texts else piece.source
    for other in others:
        piece.attachments = {**other.attachments, **piece.attachments}
    piece.__dict__.pop("exact", None)
    return bool(texts)


def _join_split_answers(pieces: list[Piece], release: Release, repairs: Repairs) -> list[Piece]:
    """A function that was split between cells: the indented rest that follows its beginning and makes it whole."""
    joined, rest = [], list(reversed(pieces))
    while rest:
        head = rest.pop()
        joined.append(head)
        if head.key not in release.answers.values() or head.exact:
            continue
        tails = []
        for piece in rest[:-SPLIT - 1:-1]:
            if piece.key or piece.kind != "code" or not re.match(r"[ \t]", piece.source.lstrip("\n")):
                break
            tails.append(piece)
        last_line = release.cells[head.key].source.rsplit("\n", 1)[-1]
        while tails:
            whole = "\n".join([head.source, *(piece.source for piece in tails)])
            cut_off = not head.python.parses or last_line not in head.source and last_line in whole
            if cut_off and parse(whole):
                joined[-1] = Piece(head.kind, whole, release, head.transformer, head.grade_id, head.name, key=head.key)
                del rest[len(rest) - len(tails):]
                repairs.split.append(head.key)
                break
            tails.pop()
    return joined


def _find_by_definition(pieces: list[Piece], release: Release, repairs: Repairs) -> list[Piece]:
    """Cells that lost every mark: the only one of the student's own that defines a TODO's function, or a read-only cell's."""
    placed = {piece.key: piece for piece in pieces if piece.key}
    own = [piece for piece in pieces if piece.key is None and piece.kind == "code"]
    gone = set()
    for key in release.answers.values():
        stub = placed.get(key)
        if key in repairs.ambiguous or stub and stub.exact != key:
            continue
        found = [piece for piece in own if key in piece.todos]
        if len(found) == 1 and found[0].todos == {key}:
            found[0].key, found[0].grade_id = key, stub.grade_id if stub else found[0].grade_id
            gone.add(stub)
            repairs.by_definition.append(key)
    for released in release.cells.values():
        if released.role in ("given", "check") and released.key not in placed:
            for piece in own:
                if piece.key is None and not piece.todos and released.function in piece.source and _defines_locked(piece, released):
                    piece.key = released.key
                    break
    return [piece for piece in pieces if piece not in gone]


def _defines_locked(piece: Piece, released: Released) -> bool:
    if released.role == "check":
        return released.function in CHECK.findall(piece.source)
    return released.function in piece.python.functions


def _find_written(pieces: list[Piece], release: Release, repairs: Repairs) -> list[Piece]:
    """A written answer that is missing or untouched: what the student wrote right after it, or where it should stand."""
    gone = set()
    for released in release.cells.values():
        if released.role != "question":
            continue
        place = next((number for number, piece in enumerate(pieces) if piece.key == released.key), None)
        if place is not None and pieces[place].source.strip() and pieces[place].exact != released.key:
            continue
        if place is not None:
            found = _prose_from(pieces, place + 1)
        else:
            before, after = release.neighbors(released.key)
            found = []
            for number, piece in enumerate(pieces):
                if piece.key == before:
                    found = _prose_from(pieces, number + 1)
                elif piece.key == after and not found:
                    found = _prose_from(pieces[:number][::-1], 0)[::-1]
        if found:
            found[0].key, found[0].source = released.key, found[0].source.strip()
            _append(found[0], found[1:])
            gone.update(found[1:])
            if place is not None:
                gone.add(pieces[place])
                found[0].grade_id = pieces[place].grade_id
            elif len(found) > 1:
                found[0].grade_id = released.key
            if place is not None or len(found) > 1:  # else it may well be its own cell, which lost what it was known by
                repairs.beside.append(released.key)
    return [piece for piece in pieces if piece not in gone]


def _prose_from(pieces: list[Piece], start: int) -> list[Piece]:
    """The student's own cells in a row that hold words, if only in a code cell."""
    found = []
    for piece in pieces[start:]:
        if piece.key or piece.kind == "code" and (piece.comments or piece.python.parses or piece.python.functions or piece.python.dropped):
            break
        if piece.source.strip() and not piece.exact:
            found.append(piece)
    return found


def _with_definitions(piece: Piece, release: Release, repairs: Repairs) -> list[Piece]:
    """An edited cell of the course, and what the student defined in it, as a cell of its own."""
    released = release.cells.get(piece.key)
    if released is None or released.kind != "code" or released.role == "exercise" or piece.kind != "code" or piece.exact:
        return [piece]
    added = new_definitions(piece.python.code, released.source)
    if not added:
        return [piece]
    repairs.salvaged.append(piece.key)
    return [piece, Piece("code", added, release, piece.transformer)]
