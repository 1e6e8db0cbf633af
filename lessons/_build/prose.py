"""What the two languages of a lesson may not differ in, and what neither of them may contain."""

import re
import unicodedata
from collections import Counter
from urllib.parse import unquote

from .prose_parts import OBJECT, Formula, Masked, Parts, mask_formulas, parts_of

HANZI = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_HANZI = re.compile(f"[{HANZI}]")
_CHINESE = re.compile(f"[{HANZI}\u3000-\u303f\uff00-\uffef]+")  # hanzi, 、。《》 and the full-width forms
_HALF_WIDTH = re.compile(f"(?<=[{HANZI}])[,.:;?!()]|[,.:;?!()](?=[{HANZI}])|[,:;](?= [{HANZI}])")
_FULL_WIDTH = str.maketrans(",.:;?!()", "，。：；？！（）")
_CELL_BREAK = re.compile(r"^[ \t]*\+\+\+.*|\+\+\+ *\{.*", re.MULTILINE)
_LETTERS_OF_LOST_BACKSLASH = {"\t": r"\t", "\b": r"\b", "\f": r"\f", "\r": r"\r", "\v": r"\v", "\a": r"\a"}
_LOST_NEWLINE_COMMAND = re.compile(r"\n(abla|eq|otin|otag)\b")
_WORDED_MATH = re.compile(r"(\\(?:text(?:rm|bf|it|sf|tt)?|mbox))\{[^{}]*\}")

_BRITISH = [
    (r"(?:behavi|col|fav|hon|neighb|flav|endeav|rig)our\w*", "our", "or"),
    (r"(?:cent|met)res?", "re", "er"),
    (r"centred", "red", "ered"),
    (r"(?:label|model|cancel|signal|travel|total|level|channel|tunnel|fuel)l(?:ed|ing|ers?)", "ll", "l"),
    (
        r"(?:normal|optim|maxim|minim|summar|regular|initial|general|special|vector|factor|linear|marginal|standard|parametr|parameter"
        r"|token|quant|discret|visual|penal|recogn|real|organ|stabil|emphas|util|serial|random|parallel|synchron|custom|final|local"
        r"|equal|categor|character|formal|memor|prior|priorit)is(?:e|ed|es|er|ers|ing|ations?)",
        "is", "iz",
    ),
    (r"analys(?:e|ed|er|ing)", "ys", "yz"),
    (r"(?:licen|defen|offen)ce", "ce", "se"),
    (r"grey\w*", "grey", "gray"),
    (r"artefacts?", "arte", "arti"),
    (r"programmes?", "mme", "m"),
    (r"practis(?:e|ed|es|ing)", "is", "ic"),
    (r"whilst", "whilst", "while"),
    (r"learnt", "learnt", "learned"),
    (r"sceptic\w*", "sc", "sk"),
]
_BRITISH = [(re.compile(rf"\b(?:un|re|pre|mis|non|over)?-?{pattern}\b", re.IGNORECASE), old, new) for pattern, old, new in _BRITISH]


def differences(en: str, zh: str) -> list[str]:
    """Everything in which a pair of cells differs and may not: structure, formulas, code, addresses."""
    english, chinese = parts_of(en), parts_of(zh)
    return [
        *_unequal("headings", _levels(english), _levels(chinese)),
        *_unequal_items("formula", english.formulas, chinese.formulas, key=_without_words),
        *_unequal_items("inline code", [f"`{x}`" for x in english.code_spans], [f"`{x}`" for x in chinese.code_spans]),
        *_unequal_blocks(english.code_blocks, chinese.code_blocks),
        *_unequal_items("link", _addresses(english.links, "en"), _addresses(chinese.links, "zh")),
        *_unequal_items("image", _addresses(english.images, "en"), _addresses(chinese.images, "zh")),
        *_unequal("tables (rows × columns)", _shapes(english), _shapes(chinese)),
        *_unequal("list items", _items(english), _items(chinese)),
        *_unequal_items("HTML tag", english.tags, chinese.tags),
        *_unequal_items("footnote", english.footnotes, chinese.footnotes),
    ]


def _unequal(what: str, en: str, zh: str) -> list[str]:
    return [] if en == zh else [f"{what}: {en} in the English, {zh} in the Chinese"]


def _unequal_items(what: str, en: list[str], zh: list[str], key=lambda item: item) -> list[str]:
    """Items compared by their key without regard to order, since the order of words differs between the languages."""
    counts_en, counts_zh = Counter(map(key, en)), Counter(map(key, zh))
    shown = {key(item): item for item in reversed(en + zh)}
    found = []
    for item in dict.fromkeys(map(key, en + zh)):
        a, b = counts_en[item], counts_zh[item]
        if a and not b:
            found.append(f"{what} {shown[item]} is only in the English")
        elif b and not a:
            found.append(f"{what} {shown[item]} is only in the Chinese")
        elif a != b:
            found.append(f"{what} {shown[item]} stands {a} times in the English, {b} times in the Chinese")
    return found


def _unequal_blocks(en: list[str], zh: list[str]) -> list[str]:
    if len(en) != len(zh):
        return [f"code blocks: {len(en)} in the English, {len(zh)} in the Chinese"]
    for number, (mine, other) in enumerate(zip(en, zh, strict=True), start=1):
        if mine != other:
            lines = zip([*mine.splitlines(), "(end)"], [*other.splitlines(), "(end)"], strict=False)
            a, b = next((a, b) for a, b in lines if a != b)
            return [f"code block {number}: {a!r} in the English, {b!r} in the Chinese"]
    return []


def _levels(parts: Parts) -> str:
    return " ".join("#" * level for level in parts.headings) or "none"


def _shapes(parts: Parts) -> str:
    return ", ".join(f"{rows} × {columns}" for rows, columns in parts.tables) or "none"


def _items(parts: Parts) -> str:
    return f"{parts.bullets} bulleted and {parts.numbered} numbered"


def _without_words(formula: str) -> str:
    return _WORDED_MATH.sub(r"\1{}", formula)


def _addresses(addresses: list[str], language: str) -> list[str]:
    """Addresses with what belongs to a language taken out: its folder, and anchors, which are made of a heading's words."""
    shared = [re.sub(rf"(?<=/){language}(?=/)", "{language}", unquote(address)) for address in addresses]
    return ["#…" if address.startswith("#") else address for address in shared]


def faults(text: str, language: str) -> list[str]:
    """What may not stand in a cell of this language, "en" or "zh"."""
    masked, parts = mask_formulas(text), parts_of(text)
    found = [*_control_characters(text), *_broken_markdown(text, masked, parts)]
    if language == "en":
        found += _chinese_in_english(text)
        found += [fault for words in parts.words for fault in _british(words)]
    else:
        found += _without_hanzi(parts)
        found += [fault for words in parts.words for fault in _half_width(words)]
    return found


def bilingual_line_faults(line: str) -> list[str]:
    """What is wrong with a line `English | 中文` of a comment, a docstring or a message."""
    halves = line.split(" | ")
    if len(halves) != 2:
        return [f'one " | " stands between English and Chinese, here are {len(halves) - 1}: {line.strip()!r}']
    en, zh = halves
    found = [*_control_characters(line.strip()), *_chinese_in_english(en), *_british(en), *_half_width(zh)]
    if not re.search("[A-Za-z]", en):
        found.append(f"no English before the | : {line.strip()!r}")
    if not _HANZI.search(zh):
        found.append(f"no Chinese after the | : {line.strip()!r}")
    return found


def _around(text: str, start: int, end: int) -> str:
    """The place in its surroundings, with line breaks and control characters made visible."""
    return repr(text[max(0, start - 16):end + 16].replace(OBJECT, "…"))


def _control_characters(text: str) -> list[str]:
    found = []
    for position, character in enumerate(text):
        if character == "\n" or unicodedata.category(character) not in ("Cc", "Cf", "Zl", "Zp") and character != "\ufffd":
            continue
        name = unicodedata.name(character, "tab" if character == "\t" else "control character")
        lost = _LETTERS_OF_LOST_BACKSLASH.get(character)
        following = re.match("[A-Za-z]*", text[position + 1:])[0]
        cause = f": was it {lost}{following}?" if lost and following else ""
        found.append(f"{name} U+{ord(character):04X} in {_around(text, position, position + 1)}{cause}")
    for formula in mask_formulas(text).formulas:
        for match in _LOST_NEWLINE_COMMAND.finditer(formula.text):
            found.append(f"line break in {formula.text!r}: was it \\n{match[1]}?")
    return found


def _broken_markdown(text: str, masked: Masked, parts: Parts) -> list[str]:
    found = []
    if masked.open_fence is not None:
        found.append(f"code fence never closes: {text[masked.open_fence:].splitlines()[0]!r}")
    for match in _CELL_BREAK.finditer(text):
        found.append(f"cell break lost in the prose: {match[0].strip()!r}")
    for position in masked.lone_dollars:
        found.append(f"$ opens no formula; a dollar is written \\$: {_around(text, position, position + 1)}")
    for formula in masked.formulas:
        if formula.display:
            found += _crowded(text, formula)
    for formula in parts.table_formulas:
        if "|" in formula:
            found.append(f"| in a formula inside a table ends the cell in some viewers; write \\lvert, \\mid or \\Vert: {formula}")
    if parts.empty_items:
        found.append(f"{parts.empty_items} empty list item: a number and a point alone open a list, such as the answer in '2. 0.'")
    for row in parts.ragged_rows:
        found.append(f"table row with more or fewer cells than its header (a | inside code is written \\|): {row.strip()!r}")
    for words in parts.words:
        for match in re.finditer(r"\*\*|`", words):
            hint = ("between ** and a hanzi a punctuation mark needs a space, or stands outside the bold"
                    if match[0] == "**" else "the inline code does not close")
            found.append(f"{match[0]} would be shown as it stands, {hint}: {_around(words, match.start(), match.end())}")
    return found


def _crowded(text: str, formula: Formula) -> list[str]:
    """A display formula stands on lines of its own, with a blank line on each side."""
    before, after = text[:formula.start].split("\n"), text[formula.end:].split("\n")
    found = []
    if before[-1].strip(" >") or len(before) > 1 and before[-2].strip(" >"):
        found.append(f"no blank line before the display formula {formula.normalized}")
    if after[0].strip() or len(after) > 1 and after[1].strip(" >"):
        found.append(f"no blank line after the display formula {formula.normalized}")
    return found


def _chinese_in_english(text: str) -> list[str]:
    return [f"{match[0]!r} in the English: {_around(text, match.start(), match.end())}" for match in _CHINESE.finditer(text)]


def _british(words: str) -> list[str]:
    found = []
    for pattern, old, new in _BRITISH:
        for match in pattern.finditer(words):
            head, _, tail = match[0].lower().rpartition(old)
            found.append(f"British spelling {match[0]!r}, write {head + new + tail!r}")
    return found


def _without_hanzi(parts: Parts) -> list[str]:
    words = " ".join(parts.words_outside_links)
    letters = re.search(r"[^\W\d_]+", words)
    return [f"no hanzi in the Chinese: {words.strip()[:40]!r}"] if letters and not _HANZI.search(words) else []


def _half_width(words: str) -> list[str]:
    return [
        f"half-width {match[0]!r} beside hanzi, write {match[0].translate(_FULL_WIDTH)!r}: {_around(words, match.start(), match.end())}"
        for match in _HALF_WIDTH.finditer(words)
    ]
