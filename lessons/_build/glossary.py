"""The terms of the course in both languages, and what of them a pair of texts gets wrong."""

import re
from dataclasses import dataclass
from pathlib import Path

from .prose_parts import OBJECT, parts_of

COLUMNS = ["English", "中文", "symbol / name in code", "note", "not | 不用"]

_KEPT_ENGLISH = re.compile(r"[A-Za-z][A-Za-z0-9 ,:'’!?-]*[A-Za-z0-9!?]")  # a title or a full name inside a Chinese sentence
_NAME_IN_CODE = re.compile(r"`\"?([A-Za-z_]\w*)\"?`")


class GlossaryError(ValueError):
    """The table cannot be read; the message names file and row."""


@dataclass(frozen=True)
class Term:
    english: str
    chinese: str
    names_in_code: tuple[str, ...]
    everyday: bool  # also plain English, so its translation is not asked for
    refused: tuple[str, ...]


class Glossary:
    def __init__(self, terms: list[Term]):
        self.terms = terms
        self._by_length = sorted(terms, key=lambda term: len(term.english), reverse=True)
        self._english = {term: _english_pattern(term.english) for term in terms}
        self._chinese = {term.chinese: _chinese_pattern(term.chinese) for term in terms}
        refused = sorted(((word, term) for term in terms for word in term.refused), key=lambda pair: -len(pair[0]))
        self._refused = {word: (term, _chinese_pattern(word)) for word, term in refused}
        # `rewards` in a message is the argument as often as the word. Other names in code have an underscore, so no term is read in them.
        plurals = [name for term in terms for name in term.names_in_code if name in (term.english + "s", term.english + "es")]
        self._plural_names = re.compile(rf"`[^`]*`|\b(?:{'|'.join(plurals) or '(?!)'})\b")

    def differences(self, en: str, zh: str) -> list[str]:
        """Terms of a pair of markdown cells that are missing from the Chinese, and renderings that are refused."""
        return self._compare("\n\n".join(parts_of(en).words), "\n\n".join(parts_of(zh).words))

    def message_differences(self, en: str, zh: str) -> list[str]:
        """The same for the halves of a message, a comment or a docstring's line: no markdown, and `rewards` may be a name."""
        en = en.rpartition("# ")[2]  # of `ratios = ???  # [N]: sequence ratio` only the comment is words
        return self._compare(self._plural_names.sub(OBJECT, en), self._plural_names.sub(OBJECT, zh))

    def _compare(self, en: str, zh: str) -> list[str]:
        en, zh = _without_kept_english(en, zh)
        found = []
        for term in self._by_length:
            en, count = self._english[term].subn(OBJECT, en)
            if count and not term.everyday and not self._chinese[term.chinese].search(zh):
                found.append(f'"{term.english}" is {term.chinese}, which the Chinese lacks')
        settled = [match.span() for pattern in self._chinese.values() for match in pattern.finditer(zh)]
        for word, (term, pattern) in self._refused.items():
            for match in pattern.finditer(zh):
                if not any(start <= match.start() and match.end() <= end for start, end in settled):
                    settled.append(match.span())
                    place = zh[max(0, match.start() - 8):match.end() + 8].replace(OBJECT, "…")
                    found.append(f'{word} is not used for "{term.english}", write {term.chinese}: {place!r}')
        return found


def _english_pattern(term: str) -> re.Pattern:
    """Whole words in any case, the last one also in the plural; space, hyphen and dash are one."""
    words = [re.escape(word) for word in re.split(r"[\s\-–]+", term)]
    last = words.pop()
    last = rf"{last[:-1]}(?:y|ies)" if re.search("[^aeiou]y$", last) else rf"{last}(?:s|es)?"
    phrase = r"[\s\-‐‑–—]+".join([*words, last])
    return re.compile(rf"(?<![A-Za-z0-9_]){phrase}(?![A-Za-z0-9_])", re.IGNORECASE)


def _chinese_pattern(term: str) -> re.Pattern:
    """The term with or without white space between its signs; Latin words in it whole, in this case."""
    pieces = re.findall(r"[A-Za-z0-9]+|\S", term)
    pieces = [rf"(?<![A-Za-z0-9_]){piece}(?![A-Za-z0-9_])" if piece.isascii() and piece.isalnum()
              else "[-–—]+" if piece in "-–—" else re.escape(piece) for piece in pieces]
    return re.compile(r"\s*".join(pieces))


def _without_kept_english(en: str, zh: str) -> tuple[str, str]:
    """Drop from both texts the titles and full names, of three words or more, that stand in the Chinese as in the English."""
    for match in set(_KEPT_ENGLISH.findall(zh)):
        if len(re.findall("[A-Za-z]+", match)) >= 3 and match in en:
            en, zh = en.replace(match, OBJECT), zh.replace(match, OBJECT)
    return en, zh


def read_glossary(path: Path) -> Glossary:
    """Read the table; GlossaryError if it is malformed, or if a term stands in it twice."""
    lines = Path(path).read_text(encoding="utf-8").split("\n")
    rows = [(number, line) for number, line in enumerate(lines, start=1) if line.startswith("|")]
    if len(rows) < 3 or _cells(rows[0][1]) != COLUMNS or set("".join(_cells(rows[1][1]))) != {"-"}:
        raise GlossaryError(f"{path}: a table with the columns {' | '.join(COLUMNS[:4])} | not \\| 不用 is needed")
    if rows[-1][0] - rows[0][0] != len(rows) - 1:
        raise GlossaryError(f"{path}: the table is broken by another line after row {rows[0][1]!r}")
    terms: dict[str, Term] = {}
    for number, line in rows[2:]:
        place = f"{path}, line {number}"
        cells = _cells(line)
        if len(cells) != len(COLUMNS):
            raise GlossaryError(f"{place}: {len(cells)} cells instead of {len(COLUMNS)}: {line}")
        english, chinese, names, note, refused = cells
        if not english or not chinese:
            raise GlossaryError(f"{place}: a term needs English and Chinese: {line}")
        if re.search("[,;/、，；]", english + chinese):
            raise GlossaryError(f"{place}: one term and one translation a row: {english} | {chinese}")
        key = re.sub(r"[\s\-–]+", " ", english.lower())
        if key in terms:
            raise GlossaryError(f"{place}: {english} has a row already, with {terms[key].chinese}")
        words = tuple(word.strip() for word in refused.split(",") if word.strip())
        terms[key] = Term(english, chinese, tuple(_NAME_IN_CODE.findall(names)), bool(re.match(r"everyday\b", note)), words)
    _refuse_contradictions(path, list(terms.values()))
    return Glossary(list(terms.values()))


def _refuse_contradictions(path: Path, terms: list[Term]) -> None:
    """A refused rendering belongs to one term and is nobody's translation."""
    owners: dict[str, Term] = {}
    for term in terms:
        for word in term.refused:
            if word in owners:
                raise GlossaryError(f"{path}: {word} is refused twice, for {owners[word].english} and for {term.english}")
            owners[word] = term
            for other in terms:
                if other.chinese == word:
                    raise GlossaryError(f"{path}: {word} is refused for {term.english} and is the translation of {other.english}")


def _cells(row: str) -> list[str]:
    cells = re.split(r"(?<!\\)\|", row.strip().removeprefix("|").removesuffix("|"))
    return [cell.strip().replace("\\|", "|") for cell in cells]
