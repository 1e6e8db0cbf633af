"""The learner's language: chosen once in a notebook's set-up cell, read wherever a picture is labeled."""

LANGUAGES = ("en", "zh")
_current = "en"


def set_language(language: str) -> None:
    """Choose the language of labels and captions: "en" or "zh". | 选择图中文字的语言。"""
    global _current
    if language not in LANGUAGES:
        raise ValueError(f'language must be "en" or "zh", not {language!r} | language 只能是 "en" 或 "zh"')
    _current = language


def current_language() -> str:
    return _current


def text(en: str, zh: str) -> str:
    """The wording in the learner's language."""
    return zh if _current == "zh" else en
