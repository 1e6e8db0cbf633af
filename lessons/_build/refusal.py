"""The build's one error: it names the file, the line, the key, and what is wrong."""

from pathlib import Path


class Refused(Exception):
    """A lesson that the build does not accept."""

    def __init__(self, file: Path | str, problem: str, line: int | None = None, key: str | None = None):
        place = f"{file}:{line}" if line else str(file)
        super().__init__(f"{place}: {f'[{key}] ' if key else ''}{problem}")
