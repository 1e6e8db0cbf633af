"""What a markdown cell is made of: formulas, code, links, tables, and the words that remain.

Formulas are taken out before the markdown is read, as JupyterLab does, so that `$a_i * b_i$` or `$|S|$` stays one formula.
"""

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser

from markdown_it import MarkdownIt

# Stands in the words for a formula, a code span, an image, an address or a footnote mark.
OBJECT = "\ufffc"

_INLINE = re.compile(
    r"""
      (?P<environment> \\begin\{(?P<name>[a-zA-Z]+\*?)\} (?s:.*?) \\end\{(?P=name)\} )
    | (?P<escape>      \\[\s\S] )
    | (?P<code>        (?<!`)(?P<ticks>`+)(?!`) (?:(?!\n[ \t>]*\n)[\s\S])*? (?<!`)(?P=ticks)(?!`) )
    | (?P<comment>     <!--[\s\S]*?--> )
    | (?P<footnote>    \[\^[^\]\s]+\]:? )
    | (?P<display>     \$\$ (?:\\[\s\S] | (?!\n[ \t>]*\n) (?!\$\$) [^\\])+? \$\$ )
    | (?P<inline>      \$   (?:\\[\s\S] | (?!\n[ \t>]*\n) [^$\\])+? \$ )
    | (?P<lone>        \$ )
    """,
    re.VERBOSE,
)
_FENCE = re.compile(r"[ \t>]*(?:[-*+][ \t]+|\d+[.)][ \t]+)?(`{3,}(?=[^`]*$)|~{3,})")
_PLACEHOLDER = re.compile("@\ue000(\\d+)@")  # punctuation at its ends, as a formula has, so that ** beside it reads the same
_BARE_ADDRESS = re.compile(r"https?://[!-~]*[A-Za-z0-9/#=]")
_WORDED_ATTRIBUTES = {"alt", "title", "aria-label", "lang"}  # they hold prose, so they differ between the languages

_MARKDOWN = MarkdownIt("commonmark").enable(["table", "strikethrough"])
_MARKDOWN.normalizeLink = lambda address: address


@dataclass
class Formula:
    start: int  # where it stands in the cell
    end: int
    text: str

    @property
    def display(self) -> bool:
        return not self.text.startswith("$") or self.text.startswith("$$")

    @property
    def normalized(self) -> str:
        """On one line, with single spaces, none at the dollars."""
        dollars = re.match(r"\$*", self.text)[0]
        inner = self.text[len(dollars):len(self.text) - len(dollars)]
        return dollars + " ".join(inner.split()) + dollars


@dataclass
class Masked:
    """A cell with a placeholder for each formula and an object sign for each footnote mark."""

    text: str = ""
    formulas: list[Formula] = field(default_factory=list)
    footnotes: list[str] = field(default_factory=list)
    lone_dollars: list[int] = field(default_factory=list)
    open_fence: int | None = None  # where a fence opens that never closes


@dataclass
class Parts:
    headings: list[int] = field(default_factory=list)
    formulas: list[str] = field(default_factory=list)
    code_spans: list[str] = field(default_factory=list)
    code_blocks: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    images: list[str] = field(default_factory=list)
    tables: list[tuple[int, int]] = field(default_factory=list)  # rows with the header's, columns
    ragged_rows: list[str] = field(default_factory=list)  # table rows with more or fewer cells than the header
    table_formulas: list[str] = field(default_factory=list)
    bullets: int = 0
    numbered: int = 0
    empty_items: int = 0
    tags: list[str] = field(default_factory=list)
    footnotes: list[str] = field(default_factory=list)
    words: list[str] = field(default_factory=list)  # what is read, a string for each heading, paragraph, table cell, caption
    words_outside_links: list[str] = field(default_factory=list)


def mask_formulas(text: str) -> Masked:
    """Take the formulas out of a cell. A dollar in code, after a backslash or in a comment opens none."""
    masked = Masked()
    for start, end, fenced in _fences(text, masked):
        if fenced:
            masked.text += text[start:end]
            continue
        position = start
        for match in _INLINE.finditer(text, start, end):
            masked.text += text[position:match.start()]
            position = match.end()
            if match["environment"] or match["display"] or match["inline"]:
                masked.text += f"@\ue000{len(masked.formulas)}@"
                masked.formulas.append(Formula(match.start(), match.end(), match[0]))
            elif match["footnote"]:
                masked.text += OBJECT
                masked.footnotes.append(match[0])
            else:
                masked.text += match[0]
                if match["lone"]:
                    masked.lone_dollars.append(match.start())
        masked.text += text[position:end]
    return masked


def _fences(text: str, masked: Masked):
    """The cell cut into (start, end, is a fenced block); notes in `masked` a fence that stays open."""
    start = position = 0
    opening = None
    for line in text.splitlines(keepends=True):
        if opening is None:
            match = _FENCE.match(line.rstrip("\n"))
            if match:
                yield start, position, False
                start, opening = position, match[1]
        else:
            bare = line.strip(" \t>\n")
            if bare and set(bare) == {opening[0]} and len(bare) >= len(opening):
                yield start, position + len(line), True
                start, opening = position + len(line), None
        position += len(line)
    if opening is not None:
        masked.open_fence = start
    yield start, position, opening is not None


class _Html(HTMLParser):
    """Collects tags, addresses and the text between the tags."""

    def __init__(self, parts: Parts):
        super().__init__()
        self.parts, self.text = parts, []

    def handle_starttag(self, tag, attrs):
        kept = ""
        for name, value in attrs:
            if name == "src":
                self.parts.images.append(value or "")
            elif name == "href":
                self.parts.links.append(value or "")
            elif name not in _WORDED_ATTRIBUTES:
                kept += f" {name}" if value is None else f' {name}="{value}"'
            elif name in ("alt", "title") and value:
                self.parts.words.append(value)
        self.parts.tags.append(f"<{tag}{kept}>")

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag):
        self.parts.tags.append(f"</{tag}>")

    def handle_data(self, data):
        self.text.append(data)

    def read(self, html: str) -> str:
        self.text = []
        self.feed(html)
        self.close()
        self.reset()
        return " ".join(self.text)


def parts_of(text: str) -> Parts:
    """Read one markdown cell."""
    masked = mask_formulas(text)
    lines = re.split(r"\r\n|\r|\n", masked.text)
    parts = Parts(formulas=[formula.normalized for formula in masked.formulas], footnotes=masked.footnotes)
    html = _Html(parts)

    def restored(source: str) -> str:
        return _PLACEHOLDER.sub(lambda match: masked.formulas[int(match[1])].text, source)

    tokens = _MARKDOWN.parse(masked.text)
    for position, token in enumerate(tokens):
        if token.type == "heading_open":
            parts.headings.append(int(token.tag[1]))
        elif token.type in ("fence", "code_block"):
            parts.code_blocks.append(f"{token.info.strip()}\n{restored(token.content)}")
        elif token.type == "list_item_open":
            if token.markup in (".", ")"):
                parts.numbered += 1
            else:
                parts.bullets += 1
            if tokens[position + 1].type == "list_item_close":
                parts.empty_items += 1
        elif token.type == "table_open":
            columns, table_rows = 0, []
        elif token.type == "th_open":
            columns += 1
        elif token.type == "tr_open":
            row = lines[token.map[0]]
            parts.table_formulas += [masked.formulas[int(number)].text for number in _PLACEHOLDER.findall(row)]
            table_rows.append(row)
        elif token.type == "table_close":
            parts.tables.append((len(table_rows), columns))
            parts.ragged_rows += [restored(row) for row in table_rows if _cells(row) != columns]
        elif token.type == "html_block":
            words = _plain(html.read(token.content))
            parts.words.append(words)
            parts.words_outside_links.append(words)
        elif token.type == "inline":
            _read_inline(token, parts, html)
    return parts


def _cells(row: str) -> int:
    """Cells of a table's row; a | that a backslash precedes ends none."""
    row = re.sub(r"\\.", "", row.strip(" \t>"))
    return row.removeprefix("|").removesuffix("|").count("|") + 1


def _read_inline(token, parts: Parts, html: _Html) -> None:
    words = outside = ""
    in_link = False
    for child in token.children:
        piece = ""
        if child.type == "text":
            piece = child.content
        elif child.type in ("softbreak", "hardbreak"):
            piece = "\n"
        elif child.type == "code_inline":
            parts.code_spans.append(child.content)
            piece = OBJECT
        elif child.type == "image":
            parts.images.append(child.attrs["src"])
            parts.words.append(_plain(child.content))
            piece = OBJECT
        elif child.type == "html_inline":
            piece = html.read(child.content)
        elif child.type == "link_open":
            parts.links.append(child.attrs["href"])
            in_link = True
        elif child.type == "link_close":
            in_link = False
        words += piece
        outside += "" if in_link else piece
    parts.links += _BARE_ADDRESS.findall(outside)
    parts.words.append(_plain(words))
    parts.words_outside_links.append(_plain(outside))


def _plain(words: str) -> str:
    """Words with an object sign for each formula and bare address."""
    return _BARE_ADDRESS.sub(OBJECT, _PLACEHOLDER.sub(OBJECT, words))
