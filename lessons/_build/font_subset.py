"""The course's font: one committed subset of Noto Sans CJK SC, and the smaller one that a notebook carries.

    python -m lessons._build.font_subset [NotoSansCJK-Regular.ttc]

cuts the committed subset anew, after a lesson brought in hanzi that it lacks. Without a path it looks among the installed fonts.
"""

import functools
import io
import sys
from pathlib import Path

from fontTools import subset
from fontTools.ttLib import TTCollection, TTFont

ROOT = Path(__file__).resolve().parents[2]
COMMITTED = ROOT / "advantagelab" / "fonts" / "AdvantageLabSansSC.otf"
COMMON = Path(__file__).with_name("common_hanzi.txt")
SOURCE_FILE, SOURCE_FAMILY = "NotoSansCJK-Regular.ttc", "Noto Sans CJK SC"

# "Noto" is a trademark and "Source" a reserved name of the originals, so the subset has a name of its own.
FAMILY, POSTSCRIPT_NAME = "Advantage Lab Sans SC", "AdvantageLabSansSC-Regular"
NAMES = {1: FAMILY, 2: "Regular", 3: POSTSCRIPT_NAME, 4: FAMILY, 6: POSTSCRIPT_NAME}
KEPT_NAMES = (0, 5, 13, 14)  # copyright, version, license and its address: the OFL asks that they travel with every copy

ASCII = "".join(map(chr, range(0x20, 0x7F)))
PUNCTUATION = "，。、；：？！“”‘’（）《》【】「」…—–·～％"
SYMBOLS = "−×÷±≈≠≤≥∞√∑∏∂∇∈‖→←↑↓⇒•°¹²³½"
GREEK = "αβγδεζηθικλμνξοπρστυφχψωΓΔΘΛΞΠΣΦΨΩ"


def is_hanzi(character: str) -> bool:
    return "\u4e00" <= character <= "\u9fff"


def hanzi_used() -> set[str]:
    """All hanzi of the lessons and of the package's code."""
    files = [file for folder in ("lessons", "advantagelab") for file in (ROOT / folder).rglob("*")]
    return set(filter(is_hanzi, "".join(file.read_text(encoding="utf-8") for file in files if file.suffix in (".py", ".md", ".toml"))))


def cut(font: TTFont, characters: set[str]) -> bytes:
    """The font with these characters only. The same characters give the same bytes."""
    options = subset.Options()
    options.hinting = False
    options.layout_features = []
    options.notdef_outline = True
    options.name_IDs = ["*"]
    options.name_languages = ["*"]
    options.drop_tables += ["BASE", "GDEF", "GPOS", "GSUB", "VORG", "vhea", "vmtx"]
    cutter = subset.Subsetter(options)
    cutter.populate(unicodes=sorted(map(ord, characters)))
    cutter.subset(font)
    buffer = io.BytesIO()
    font.save(buffer)
    return buffer.getvalue()


def rename(font: TTFont) -> None:
    names = font["name"]
    names.names = [record for record in names.names if record.nameID in KEPT_NAMES]
    for name_id, value in NAMES.items():
        names.setName(value, name_id, 3, 1, 0x409)
    font["CFF "].cff.fontNames = [POSTSCRIPT_NAME]
    top = font["CFF "].cff.topDictIndex[0]
    top.FullName = top.FamilyName = FAMILY
    for attribute in ("Notice", "Copyright"):  # the trademark line; the copyright stands in the name table
        top.rawDict.pop(attribute, None)


@functools.cache
def subset_for(characters: frozenset[str]) -> bytes:
    """The committed subset cut down to these characters; those that it lacks are left out."""
    font = TTFont(COMMITTED, recalcTimestamp=False)
    return cut(font, {character for character in characters if ord(character) in font.getBestCmap()})


def cut_from_source(path: str) -> bytes:
    fonts = TTCollection(path).fonts
    font = next(font for font in fonts if font["name"].getDebugName(1) == SOURCE_FAMILY)
    font.recalcTimestamp = False
    font["head"].modified = font["head"].created
    rename(font)
    wanted = hanzi_used() | set(COMMON.read_text(encoding="utf-8")) | set(ASCII + PUNCTUATION + SYMBOLS + GREEK)
    wanted.discard("\n")
    missing = wanted - set(map(chr, font.getBestCmap()))
    if missing:
        raise SystemExit(f"{SOURCE_FAMILY} lacks {''.join(sorted(missing))}")
    return cut(font, wanted)


def main(arguments: list[str]) -> None:
    from matplotlib.font_manager import findSystemFonts  # only here: whoever builds a notebook needs no matplotlib

    found = arguments or [path for path in findSystemFonts(fontext="ttf") if Path(path).name == SOURCE_FILE]
    if not found:
        raise SystemExit(f"{SOURCE_FILE} is not installed: apt-get install fonts-noto-cjk, or give its path")
    data = cut_from_source(found[0])
    COMMITTED.write_bytes(data)
    print(f"{COMMITTED.relative_to(ROOT)}: {len(data) / 1024:.0f} KB, {len(TTFont(COMMITTED).getBestCmap())} characters")


if __name__ == "__main__":
    main(sys.argv[1:])
