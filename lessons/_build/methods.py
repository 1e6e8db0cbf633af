"""methods.toml: the comparison table, grown lesson by lesson from one source."""

import tomllib
from pathlib import Path

from .course import LANGUAGES
from .refusal import Refused

PLACEHOLDER = "{{methods}}"


def read_methods(file: Path) -> tuple[dict, list[dict]]:
    """(aspect → pair of labels, methods in their order). Every method says something of every aspect, in both languages."""
    try:
        table = tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise Refused(file, f"this file is missing, and a lesson says {PLACEHOLDER}") from None
    except tomllib.TOMLDecodeError as error:
        raise Refused(file, str(error)) from error
    aspects, methods = table.get("aspects", {}), table.get("method", [])
    for method in methods:
        name = method.get("name", "?")
        odd = method.keys() ^ {"name", "lesson", *aspects}
        if odd:
            raise Refused(file, f"method {name}: these fields are missing or unknown: {', '.join(sorted(odd))}")
    for label, pair in pairs(aspects, methods):
        if not (isinstance(pair, list) and len(pair) == 2 and all(isinstance(words, str) and words for words in pair)):
            raise Refused(file, f"{label} is a pair [English, 中文]")
    return aspects, methods


def pairs(aspects: dict, methods: list[dict]):
    """Everything in the table that stands in two languages: (where, pair)."""
    yield from aspects.items()
    for method in methods:
        yield from ((f"{method['name']}: {aspect}", method[aspect]) for aspect in aspects)


def method_table(file: Path, language: str, lessons_so_far: list[str]) -> str:
    """The table as markdown: an aspect a row, a method a column, for the methods of these lessons."""
    aspects, methods = read_methods(file)
    shown = [method for method in methods if method["lesson"] in lessons_so_far]
    if not shown:
        raise Refused(file, f"no method belongs to {', '.join(lessons_so_far)}, and a lesson says {PLACEHOLDER}")
    place = LANGUAGES.index(language)
    rows = [["", *(method["name"] for method in shown)], ["---"] * (len(shown) + 1)]
    rows += [[label[place], *(method[aspect][place] for method in shown)] for aspect, label in aspects.items()]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)
