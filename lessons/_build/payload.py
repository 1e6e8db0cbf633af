"""The copy of the package that a notebook carries: a zip of what that notebook imports, with a font of the hanzi it draws."""

import ast
import base64
import hashlib
import io
import zipfile
from pathlib import Path

from .course import ROOT
from .font_subset import subset_for
from .refusal import Refused

ALWAYS = ("__init__.py", "language.py", "message.py", "checking", "fonts")
# What a notebook carries only if its code imports it. The reference, the trainers and hidden checks are never carried.
ON_DEMAND = ("conformance", "tinylm", "learn.py")
FONT = "advantagelab/fonts/AdvantageLabSansSC.otf"


def payload_files(notebook_code: str, package: Path = ROOT / "advantagelab") -> dict[str, bytes]:
    """Path in the zip → content, for a notebook with this code."""
    imported = _imported(notebook_code)
    for part in sorted(imported - {Path(name).stem for name in (*ALWAYS, *ON_DEMAND)} - {"widgets"}):
        if any((package / name).exists() for name in (part, f"{part}.py")):
            raise Refused(package / part, "a code cell imports this, but a notebook never carries it")
    wanted = [*ALWAYS, *(part for part in ON_DEMAND if part.removesuffix(".py") in imported)]
    files = {}
    for part in wanted:
        path = package / part
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            files[file.relative_to(package.parent).as_posix()] = file.read_bytes()
    widgets = _widgets(notebook_code, package)
    files |= widgets
    drawn = set("".join(content.decode("utf-8") for content in widgets.values()))
    files[FONT] = subset_for(frozenset(character for character in drawn if character.isprintable()))
    files["advantagelab/fonts/OFL.txt"] = (package / "fonts" / "OFL.txt").read_bytes()
    return files


def _widgets(code: str, package: Path) -> dict[str, bytes]:
    """The widgets that the code names (`widgets.NAME`), the files that these import, and an `__init__` of just these."""
    folder = package / "widgets"
    opening = ast.parse((folder / "__init__.py").read_text(encoding="utf-8"))
    homes = {alias.name: node.module for node in opening.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    named = sorted({node.attr for node in ast.walk(ast.parse(code))
                    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "widgets"})
    unknown = [name for name in named if name not in homes]
    if unknown:
        raise Refused(folder / "__init__.py", f"there is no widget {', '.join(unknown)}")
    lines = [f'"""{ast.get_docstring(opening)}"""', "", *(f"from .{homes[name]} import {name}" for name in named), "", f"__all__ = {named}"]
    files = {"advantagelab/widgets/__init__.py": ("\n".join(lines) + "\n").encode()}
    todo = [homes[name] for name in named]
    while todo:
        file = folder / f"{todo.pop()}.py"
        name = file.relative_to(package.parent).as_posix()
        if name not in files:
            files[name] = file.read_bytes()
            todo += [node.module for node in ast.walk(ast.parse(files[name])) if isinstance(node, ast.ImportFrom) and node.level == 1]
    return files


def _imported(code: str) -> set[str]:
    """The parts of advantagelab that the code imports."""
    names = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.ImportFrom):
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    return {name.split(".")[1] for name in names if name.startswith("advantagelab.")}


def pack(files: dict[str, bytes]) -> tuple[str, str]:
    """(base85 text of the zip, its sha256). The same files give the same zip: names sorted, times fixed."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name in sorted(files):
            archive.writestr(zipfile.ZipInfo(name, date_time=(2024, 1, 1, 0, 0, 0)), files[name], zipfile.ZIP_DEFLATED, 9)
    data = buffer.getvalue()
    return base64.b85encode(data).decode("ascii"), hashlib.sha256(data).hexdigest()


def unpack(payload: str) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(base64.b85decode(payload))) as archive:
        return {name: archive.read(name) for name in archive.namelist()}
