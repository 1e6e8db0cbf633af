"""What a check says, in both languages."""

from typing import NamedTuple


class Message(NamedTuple):
    en: str
    zh: str

    def __str__(self) -> str:
        return f"{self.en} | {self.zh}"


def message(*, en: str, zh: str) -> Message:
    """The mistake in the learner's words, in both languages. | 用两种语言说明错误。"""
    return Message(en, zh)
