"""Alt text of every picture: there, in the reader's language alone, in whole sentences, and another one when the picture is another."""

import re
from html.parser import HTMLParser

import pytest

from advantagelab import set_language
from lessons._build.course import LANGUAGES
from tests.every_picture import in_every_state, pictures
from tests.needs import ROOT

HANZI = re.compile("[\u4e00-\u9fff]")
# Besides names, symbols and numbers, what stands between two hanzi sentences must not be an English one.
ENGLISH_SENTENCE = re.compile(r"(?:[a-z]{2,}[ ,]+){5,}")
CHINESE_COMPLETION = "Tokens: 答案 是 \\boxed{ 7 } 。.", "Tokens: …"  # shown by the answer mask in both languages
READMES = {"en": ROOT / "README.md", "zh": ROOT / "README.zh.md"}


def faults(alt: str, language: str) -> list[str]:
    found = []
    if len(alt) < {"en": 20, "zh": 8}[language]:
        found.append("too short to say what is there")
    if (language == "zh") != bool(HANZI.search(alt.replace(*CHINESE_COMPLETION))):
        found.append("in the other language")
    if language == "zh" and ENGLISH_SENTENCE.search(alt):
        found.append("an English sentence")
    if not alt.rstrip().endswith((".", "。")):
        found.append("no whole sentence")
    return [f"{what}: {alt[:200]}" for what in found]


@pytest.fixture(autouse=True)
def english_afterwards():
    yield
    set_language("en")


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", pictures())
def test_alt_text_in_every_state(name, language):
    """Captions, too, are in the reader's language; pictures that differ have alt texts that differ."""
    set_language(language)
    picture = pictures()[name]()
    alts = {}  # alt → PNG
    for state in in_every_state(picture):
        assert faults(picture.alt, language) == [], state
        assert bool(HANZI.search(picture.caption)) == (language == "zh"), state
        assert alts.setdefault(picture.alt, picture.png) == picture.png, f"{state}: the picture changed, its words did not"
        assert picture.alt in (picture._repr_mimebundle_()["text/plain"]), state


class Images(HTMLParser):
    def __init__(self, text: str):
        super().__init__()
        self.alts = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        if tag == "img":
            self.alts.append(dict(attributes).get("alt", ""))


@pytest.mark.parametrize("language", LANGUAGES)
def test_alt_text_of_the_pictures_in_a_readme(language):
    text = READMES[language].read_text(encoding="utf-8")
    alts = [*Images(text).alts, *re.findall(r"!\[([^\]]*)\]", text)]
    assert alts and [fault for alt in alts for fault in faults(alt, language)] == []


def test_the_faults_are_seen():
    assert faults("A picture.", "en") and faults("三条曲线：先升后降，最后停在零点五附近，上面一条最高。", "en")
    assert faults("Three curves rise, then fall", "en") and faults("Three curves rise and then fall until the end.", "zh")
    assert faults("三条曲线。Three curves rise and then fall, and end low.", "zh")
    assert not faults("三条曲线：先升后降，最后停在 0.5 附近，最上面一条是 OM-GRPO。", "zh")
