"""JSON → cells: nbformat 3 to 4.5, and what editors make of it, as one plain list."""

import re
from dataclasses import dataclass, field

from advantagelab.message import Message, message

from .decode import refuse

TYPES = ("code", "markdown", "raw")
CURRENT = (4, 5)
MAX_CODE = 2**20  # characters of code in a notebook; the release of a lesson has a quarter of it
MAX_CELL = 2**18  # characters of one code cell; a longer one is no one's own work, is not run, and does not count
# The line of a set-up cell that carries the package, as one long string: it is as long as a lesson needs.
PAYLOAD = re.compile(r'^advantagelab = _advantagelab\((?:"[^"\n\\]*"(?:, )?)*\)$', re.M)


@dataclass(eq=False)
class RawCell:
    """A cell as it stands in the file. names: cell ids, its own and the one in its metadata; grade_id: nbgrader's."""

    kind: str
    source: str
    names: list[str] = field(default_factory=list)
    grade_id: str | None = None
    attachments: dict = field(default_factory=dict)


def read_cells(notebook: dict) -> tuple[list[RawCell], list[Message]]:
    """All cells that have a text, in their order."""
    repairs = []
    found = notebook.get("cells")
    old = not isinstance(found, list)
    if old:
        sheets = notebook.get("worksheets")
        sheets = [sheet for sheet in sheets if isinstance(sheet, dict)] if isinstance(sheets, list) else []
        lists = [sheet.get("cells") for sheet in sheets if isinstance(sheet.get("cells"), list)]
        if not lists:
            raise refuse("JSON, but not a notebook: it has no list of cells.", "是 JSON，但不是 notebook：没有单元列表。")
        found = [cell for cells in lists for cell in cells]
    version = (notebook.get("nbformat"), notebook.get("nbformat_minor"))
    if version != CURRENT:
        shown = ".".join(str(part) if type(part) is int else "?" for part in version)
        repairs.append(message(en=f"Notebook format {shown} was read as 4.5.", zh=f"notebook 格式 {shown} 已按 4.5 读取。"))
    cells = [cell for cell in (_read_cell(entry, old) for entry in found) if cell]
    if len(cells) < len(found):
        lost = len(found) - len(cells)
        repairs.append(message(en=f"Entries without a text, so no cells, were left out: {lost}.",
                               zh=f"没有文本、不是单元的条目已略去：{lost} 个。"))
    if sum(length for cell in cells if cell.kind == "code" and (length := length_of(cell.source)) <= MAX_CELL) > MAX_CODE:
        raise refuse(f"More than {MAX_CODE // 2**20} MiB of code: not the work of one person.",
                     f"代码超过 {MAX_CODE // 2**20} MiB：不可能出自一人之手。")
    repairs += _clean_text(cells)
    return cells, repairs


def length_of(code: str) -> int:
    """Characters of a code cell, without the payload of a set-up cell."""
    return len(PAYLOAD.sub("", code))


def _read_cell(cell, old: bool) -> RawCell | None:
    if not isinstance(cell, dict):
        return None
    source = _joined(cell.get("source", cell.get("input")))
    if source is None:
        return None
    metadata = cell.get("metadata") if isinstance(cell.get("metadata"), dict) else {}
    nbgrader = metadata.get("nbgrader") if isinstance(metadata.get("nbgrader"), dict) else {}
    kind = cell.get("cell_type")
    if kind == "heading" and old:
        level = cell.get("level")
        source = f"{'#' * (level if level in range(1, 7) else 1)} {source}"
    if kind in ("heading", "html"):
        kind = "markdown"
    elif kind not in TYPES:
        kind = "code" if "outputs" in cell or "execution_count" in cell else "raw"
    names = [name for name in (cell.get("id"), metadata.get("id")) if isinstance(name, str)]
    grade_id = nbgrader.get("grade_id")
    return RawCell(kind, source.replace("\r\n", "\n").replace("\r", "\n"), names, grade_id if isinstance(grade_id, str) else None,
                   _pictures(cell.get("attachments")))


def _joined(source) -> str | None:
    """One string, of a string or of lines; where a writer forgot the line ends, they are put back."""
    if isinstance(source, str):
        return source
    if not isinstance(source, list) or not all(isinstance(line, str) for line in source):
        return None
    ended = any(line.endswith(("\n", "\r")) for line in source[:-1])
    return ("" if ended else "\n").join(source)


def _pictures(attachments) -> dict:
    """Pictures pasted into prose; nothing else that a cell may carry."""
    kept = {}
    for name, bundle in attachments.items() if isinstance(attachments, dict) else ():
        pictures = {mime: "".join(data) if isinstance(data, list) else data for mime, data in bundle.items()
                    if re.fullmatch(r"image/(png|jpeg|gif|webp)", mime) and _is_text(data)} if isinstance(bundle, dict) else {}
        if pictures and _is_text(name):
            kept[name] = pictures
    return kept


def _is_text(value) -> bool:
    """A string, or a list of them, that can be written as UTF-8."""
    parts = value if isinstance(value, list) else [value]
    return all(isinstance(part, str) and not re.search("[\ud800-\udfff]", part) for part in parts)


def _clean_text(cells: list[RawCell]) -> list[Message]:
    """Half characters, which no file can hold, are replaced."""
    broken = 0
    for cell in cells:
        try:
            cell.source.encode("utf-8")
        except UnicodeEncodeError:
            broken += 1
            cell.source = cell.source.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if not broken:
        return []
    return [message(en=f"Half characters (lone surrogates) in {broken} cells were replaced by �.",
                    zh=f"{broken} 个单元中有残缺字符（孤立代理项），已换成 �。")]
