"""The tasks, and what the rest of the laboratory asks a problem of any of them."""

from pathlib import Path
from typing import Protocol

from .checkpoint import about
from .products import Product
from .sums import Chain, ScaledSum


class Problem(Protocol):
    tokens: tuple[str, ...]  # the task's own, the first sixteen as tokens.COMMON
    completion_length: int  # tokens, of the longest right completion
    partial_results: int  # in a worked answer, each with its comma
    answer: str  # the right one, without leading zeros
    direct: str  # two right completions
    worked: str
    held_out: bool

    def prompt_ids(self, context: str = "none") -> list[int]: ...

    @classmethod
    def split(cls) -> tuple[list["Problem"], list["Problem"]]: ...


TASKS: dict[str, type[Problem]] = {"products": Product, "chains": Chain, "scaled_sums": ScaledSum}


def task_of(base: str | Path) -> type[Problem]:
    """The task that a checkpoint was made for, by what it says of itself. | 检查点自述的任务。"""
    return TASKS[about(base).get("task", "products")]
