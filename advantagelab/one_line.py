"""Errors that a notebook shows as one line: where they were raised says nothing to a learner."""


class OneLine(Exception):
    """Shown as one line. | 只显示一行。"""

    def _render_traceback_(self) -> list[str]:
        return [f"{type(self).__name__}: {self}"]
