r"""Two tasks whose partial results are uncertain, so that the work itself can go wrong, and decides the answer when it does.

chains: `9+5-2-9+6-9=`, worked `14,12,03,09,\boxed{00}`: the sums after each term; the last one stands in the box.
scaled sums: `(7+6-4)*8=`, worked `13,09,00,72,\boxed{072}`: the sums, then tens and units of the last one times the factor.
"""

import itertools
import random
from typing import NamedTuple

from .tokens import BOX, COMMON, END, encode

TOKENS = (*COMMON, "+", "-", "(", ")")
HELD_OUT = 1024  # problems of each task


class Chain(NamedTuple):
    terms: tuple[int, ...]  # with their signs, the first one positive

    tokens = TOKENS
    completion_length = 16  # four partial sums with their commas, the box, two digits, its end
    partial_results = 4

    @property
    def sums(self) -> list[int]:
        return list(itertools.accumulate(self.terms))

    @property
    def answer(self) -> str:
        return str(self.sums[-1])

    @property
    def direct(self) -> str:
        return f"{BOX}{self.sums[-1]:02d}{END}"

    @property
    def worked(self) -> str:
        return "".join(f"{total:02d}," for total in self.sums[1:-1]) + self.direct

    @property
    def held_out(self) -> bool:
        return held_out(self.terms)

    def prompt_ids(self, context: str = "none") -> list[int]:
        """The prompt as token ids, in the one context that this task knows. | 提示的 Token 编号；此任务只有一种上下文。"""
        require_no_instruction(context)
        first, *others = self.terms
        return encode(f"{first}" + "".join(f"{term:+d}" for term in others) + "=", 12, TOKENS)

    @classmethod
    def split(cls) -> tuple[list["Chain"], list["Chain"]]:
        """Problems to train on, and held-out ones. | 训练题与留出题。"""
        chance = random.Random(0)
        training, held_out = [], []
        while len(held_out) < HELD_OUT or len(training) < 20_000:
            first, *others = (chance.randint(1, 9) for _ in range(6))
            chain = cls((first, *(digit * chance.choice((1, -1)) for digit in others)))
            if min(chain.sums) >= 0:
                (held_out if chain.held_out else training).append(chain)
        return training[:20_000], held_out[:HELD_OUT]


class ScaledSum(NamedTuple):
    terms: tuple[int, int, int]  # with their signs, the first one positive
    factor: int

    tokens = TOKENS
    completion_length = 17  # four partial results with their commas, the box, three digits, its end
    partial_results = 4

    @property
    def sums(self) -> list[int]:
        return list(itertools.accumulate(self.terms))

    @property
    def answer(self) -> str:
        return str(self.sums[-1] * self.factor)

    @property
    def direct(self) -> str:
        return f"{BOX}{self.sums[-1] * self.factor:03d}{END}"

    @property
    def worked(self) -> str:
        tens, units = divmod(self.sums[-1], 10)
        return "".join(f"{result:02d}," for result in (*self.sums[1:], tens * self.factor, units * self.factor)) + self.direct

    @property
    def held_out(self) -> bool:
        return held_out((*self.terms, self.factor))

    def prompt_ids(self, context: str = "none") -> list[int]:
        """The prompt as token ids, in the one context that this task knows. | 提示的 Token 编号；此任务只有一种上下文。"""
        require_no_instruction(context)
        first, *others = self.terms
        return encode(f"({first}" + "".join(f"{term:+d}" for term in others) + f")*{self.factor}=", 10, TOKENS)

    @classmethod
    def split(cls) -> tuple[list["ScaledSum"], list["ScaledSum"]]:
        """Problems to train on, and held-out ones: all whose sums are not negative. | 训练题与留出题：各步之和均非负。"""
        signed = [*range(-9, 0), *range(1, 10)]
        every = [cls(tuple(terms), factor) for *terms, factor in itertools.product(range(1, 10), signed, signed, range(2, 10))]
        every = [problem for problem in every if min(problem.sums) >= 0]
        held_out = [problem for problem in every if problem.held_out]
        return [problem for problem in every if not problem.held_out], random.Random(0).sample(held_out, HELD_OUT)


def held_out(numbers: tuple[int, ...]) -> bool:
    """A seventh of all problems, whatever the order and the signs of their numbers."""
    return sum(number * number for number in numbers) % 7 == 0


def require_no_instruction(context: str) -> None:
    if context != "none":
        raise ValueError("this task has no context but none | 此任务只有 none 一种上下文")
