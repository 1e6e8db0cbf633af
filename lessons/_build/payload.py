"""The copy of the package that a notebook carries: a zip of what that notebook imports, with a font of the hanzi it draws."""

import ast
import base64
import functools
import hashlib
import io
import json
import zipfile
import zlib
from pathlib import Path

from .course import ROOT
from .font_subset import subset_for
from .refusal import Refused

ALWAYS = ("__init__.py", "language.py", "message.py", "one_line.py", "checking", "fonts", "learn")
# What a notebook carries only if its code imports it. A lesson's never carries the reference, the trainers, or hidden checks.
ON_DEMAND = ("conformance", "tinylm")
TRAINERS = ("algorithms", "conformance", "trainers")  # the trainers, and what they import
FONT = "advantagelab/fonts/AdvantageLabSansSC.otf"
CHECKPOINTS, RECORDED = "tinylm/checkpoints", "tinylm/recorded"
DRAWING = ("advantagelab/widgets/", "advantagelab/tinylm/live.py", f"advantagelab/{RECORDED}/")  # where words of pictures stand


def payload_files(notebook_code: str, package: Path = ROOT / "advantagelab", with_trainers: bool = False) -> dict[str, bytes]:
    """Path in the zip → content, for a notebook with this code. with_trainers: it is no lesson's, and carries TRAINERS"""
    imported, trainers = _imported(notebook_code), TRAINERS if with_trainers else ()
    for part in sorted(imported - {Path(name).stem for name in (*ALWAYS, *ON_DEMAND, *trainers)} - {"widgets"}):
        if any((package / name).exists() for name in (part, f"{part}.py")):
            raise Refused(package / part, "a code cell imports this, but a lesson's notebook never carries it")
    wanted = [*ALWAYS, *(part for part in ON_DEMAND if part in imported), *trainers]
    files = {}
    for part in wanted:
        path = package / part
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            files[file.relative_to(package.parent).as_posix()] = file.read_bytes()
    files |= _widgets(notebook_code, files, package)
    files |= _data(notebook_code, files, package)
    drawn = set("".join(_words(name, content) for name, content in files.items() if name.startswith(DRAWING)))
    files[FONT] = subset_for(frozenset(character for character in drawn if character.isprintable()))
    files["advantagelab/fonts/OFL.txt"] = (package / "fonts" / "OFL.txt").read_bytes()
    _refuse_what_is_not_carried(files, package)
    return files


def _refuse_what_is_not_carried(files: dict[str, bytes], package: Path) -> None:
    """In a checkout such an import works, so that no other test of a notebook there would miss the file."""
    for name in sorted(name for name in files if name.endswith(".py")):
        for level, module in _relative(files[name]):
            path = Path(name).parents[level - 1].joinpath(*module.split(".")).as_posix()
            if not {f"{path}.py", f"{path}/__init__.py"} & files.keys():
                raise Refused(package.parent / name, f"it imports {path}, which the notebook does not carry (lessons/_build/payload.py)")


def _words(name: str, content: bytes) -> str:
    text = content.decode("utf-8")
    return str(json.loads(text)) if name.endswith(".json") else text  # JSON may hold hanzi as \u…


def _data(code: str, files: dict[str, bytes], package: Path) -> dict[str, bytes]:
    """What is no code: the checkpoints that the notebook's code names, and the records that it or a carried file reads."""
    names = {node.value for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Constant)}
    checkpoints = [file for file in sorted((package / CHECKPOINTS).glob("*.safetensors")) if file.stem in names]
    if "tinylm" in _imported(code) and not checkpoints:
        raise Refused(package / CHECKPOINTS, 'the notebook uses tinylm and names no checkpoint: write base="half", or another')
    sources = [code.encode(), *(content for name, content in files.items() if name.endswith(".py"))]
    records = [package / RECORDED / f"{name}.json" for name in sorted({name for source in sources for name in _records_read(source)})]
    return {file.relative_to(package.parent).as_posix(): file.read_bytes() for file in (*checkpoints, *records)}


@functools.cache  # most notebooks carry the same files
def _records_read(content: bytes) -> tuple[str, ...]:
    """NAME of every `read("NAME")`."""
    calls = [node for node in ast.walk(ast.parse(content)) if isinstance(node, ast.Call) and node.args]
    return tuple(call.args[0].value for call in calls
                 if getattr(call.func, "id", "") == "read" and isinstance(call.args[0], ast.Constant))


def widgets_named(code: str) -> list[str]:
    """NAME of every `widgets.NAME`."""
    return sorted({node.attr for node in ast.walk(ast.parse(code))
                   if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "widgets"})


def widget_homes(package: Path = ROOT / "advantagelab") -> dict[str, str]:
    """Each widget, and the module that draws it."""
    opening = ast.parse((package / "widgets" / "__init__.py").read_text(encoding="utf-8"))
    return {alias.name: node.module for node in opening.body if isinstance(node, ast.ImportFrom) for alias in node.names}


def _widgets(code: str, files: dict[str, bytes], package: Path) -> dict[str, bytes]:
    """The widgets that the code names (`widgets.NAME`), what these and other carried files import, and an `__init__` of just these."""
    folder, homes, named = package / "widgets", widget_homes(package), widgets_named(code)
    opening = ast.parse((folder / "__init__.py").read_text(encoding="utf-8"))
    lines = [f'"""{ast.get_docstring(opening)}"""', "", *(f"from .{homes[name]} import {name}" for name in named), "", f"__all__ = {named}"]
    carried = {"advantagelab/widgets/__init__.py": ("\n".join(lines) + "\n").encode()}
    todo = [homes[name] for name in named]
    for content in files.values():
        todo += [module.removeprefix("widgets.") for level, module in _relative(content) if level == 2 and module.startswith("widgets.")]
    while todo:
        file = folder / f"{todo.pop()}.py"
        name = file.relative_to(package.parent).as_posix()
        if name not in carried:
            carried[name] = file.read_bytes()
            todo += [module for level, module in _relative(carried[name]) if level == 1]
    return carried


@functools.cache
def _relative(content: bytes) -> tuple[tuple[int, str], ...]:
    """(level, module) of what a file of the package imports from its own folder (level 1), the one above (2) or further up."""
    imports = [node for node in ast.walk(ast.parse(content)) if isinstance(node, ast.ImportFrom) and node.level]
    return tuple((node.level, module) for node in imports
                 for module in ([node.module] if node.module else [alias.name for alias in node.names]))


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
    """(base85 text of the zip, compressed as a whole, since files are alike; its sha256).

    The same files give the same zip: names sorted, times fixed.
    """
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(files):
            archive.writestr(zipfile.ZipInfo(name, date_time=(2024, 1, 1, 0, 0, 0)), files[name])
    data = zlib.compress(buffer.getvalue(), 9)
    return base64.b85encode(data).decode("ascii"), hashlib.sha256(data).hexdigest()


def unpack(payload: str) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(zlib.decompress(base64.b85decode(payload)))) as archive:
        return {name: archive.read(name) for name in archive.namelist()}
