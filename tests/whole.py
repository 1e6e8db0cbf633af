"""ALL=1 (`make test-all`): whole what `make test` tries in part."""

import os

from lessons._build.course import LANGUAGES

ALL = bool(os.environ.get("ALL"))


def languages(number: int) -> tuple[str, ...]:
    """Those in which the lesson of this number in a list is tried: one of them by turns, or both."""
    return tuple(LANGUAGES) if ALL else (LANGUAGES[number % 2],)
