"""Hold every word of a lesson that stands in two languages against its pair."""

import ast
import io
import tokenize
from pathlib import Path

from .code_cells import Module
from .glossary import Glossary, GlossaryError, read_glossary
from .lesson import Lesson
from .methods import PLACEHOLDER, pairs, read_methods
from .prose import bilingual_line_faults, differences, faults
from .refusal import Refused


def check_words(lesson: Lesson) -> None:
    """Refuse prose, messages, comments or hints whose languages differ, naming file, line and key."""
    glossary = _glossary(lesson.course.lessons_folder / "glossary.md")
    cells = [cell for cell in lesson.cells if cell.lang]
    for english, chinese in zip(cells[::2], cells[1::2], strict=True):
        for cell in (english, chinese):
            if found := faults(cell.source, cell.lang):
                raise cell.refuse("; ".join(found))
        if found := [*differences(english.source, chinese.source), *glossary.differences(english.source, chinese.source)]:
            raise chinese.refuse("; ".join(found))
    for cell in lesson.cells:
        for english, chinese in cell.hint or []:
            if found := [*_pair_faults(english, chinese), *glossary.differences(english, chinese)]:
                raise cell.refuse(f"hint: {'; '.join(found)}")
        if cell.role == "question":
            if found := bilingual_line_faults(cell.source.strip()):
                raise cell.refuse("; ".join(found))
        if cell.kind == "code" and cell.source:
            for line, words in _bilingual_comments(cell.source):
                if found := bilingual_line_faults(words):
                    raise cell.refuse(f"line {line} of the cell: {'; '.join(found)}")
    for module in filter(None, (lesson.algorithm, lesson.checks)):
        _check_module(module, glossary)
    if any(PLACEHOLDER in cell.source for cell in cells):
        _check_methods(lesson.course.lessons_folder / "methods.toml", glossary)


def _check_methods(file: Path, glossary: Glossary) -> None:
    for place, (english, chinese) in pairs(*read_methods(file)):
        if found := [*_pair_faults(english, chinese), *glossary.differences(english, chinese)]:
            raise Refused(file, f"{place}: {'; '.join(found)}")


def _glossary(file: Path) -> Glossary:
    try:
        return read_glossary(file)
    except FileNotFoundError:
        raise Refused(file, "this file is missing") from None
    except GlossaryError as error:
        raise Refused(file, str(error).removeprefix(str(file)).lstrip(":, ")) from error


def _pair_faults(english: str, chinese: str) -> list[str]:
    return [*faults(english, "en"), *faults(chinese, "zh"), *differences(english, chinese)]


def _check_module(module: Module, glossary: Glossary) -> None:
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "message":
            words = {keyword.arg: keyword.value.value for keyword in node.keywords if isinstance(keyword.value, ast.Constant)}
            if words.keys() != {"en", "zh"}:
                raise Refused(module.file, "message(en=…, zh=…) takes two plain strings", node.lineno)
            if found := [*_pair_faults(words["en"], words["zh"]), *glossary.message_differences(words["en"], words["zh"])]:
                raise Refused(module.file, "; ".join(found), node.lineno)
    for line, words in [*_bilingual_comments(module.text), *_bilingual_strings(module.tree)]:
        if found := bilingual_line_faults(words) or glossary.message_differences(*words.split(" | ")):
            raise Refused(module.file, "; ".join(found), line)


def _bilingual_comments(source: str) -> list[tuple[int, str]]:
    """Comments that hold hanzi: (line, text). Each is one bilingual line."""
    comments = [(token.start[0], token.string.lstrip("# ")) for token in tokenize.generate_tokens(io.StringIO(source).readline)
                if token.type == tokenize.COMMENT]
    return [(line, words) for line, words in comments if any("\u4e00" <= character <= "\u9fff" for character in words)]


def _bilingual_strings(tree: ast.Module) -> list[tuple[int, str]]:
    """The opening line of each function's docstring, and the words of each `raise`: (line, text)."""
    found = [(node.body[0].lineno, ast.get_docstring(node).splitlines()[0])
             for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and ast.get_docstring(node)]
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and node.exc.args:
            words = node.exc.args[0]
            if isinstance(words, ast.Constant) and isinstance(words.value, str):
                found.append((node.lineno, words.value))
    return found
