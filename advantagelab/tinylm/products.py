r"""A task: products of two numbers of two digits, answered at once, `\boxed{2961}`, or with the work shown, `24,12,42,21,\boxed{2961}`.

The work is the four products of digits, which pretraining makes all but certain; adding them up, with shifts and carries, happens inside
the box and stays hard. So a policy can learn two different things: to show its work, and to be surer of what it writes into the box.
"""

import re
from typing import NamedTuple

from .tokens import BOX, BOX_ID, DIRECT, END, NOISE, PAD, TOKENS, WORK, encode

PROMPT_LENGTH = 11  # a header of five tokens, and `47*63=`
COMPLETION_LENGTH = 18  # four products with their commas, the box, four digits, its end
COMPARISON_LENGTH = PROMPT_LENGTH + 2 * COMPLETION_LENGTH + 1  # the question, two solutions, and `\boxed{`
COMPARED_ANSWER_LENGTH = 5  # four digits and `}`

# What the header says. Four tokens for a reference answer, one for an instruction; all contexts have one length, so that the tokens of a
# completion keep their positions whatever the policy, or its teacher, has read before them.
INSTRUCTIONS = {"none": PAD, "work": WORK, "direct": DIRECT, "noise": NOISE}
CONTEXTS = (*INSTRUCTIONS, "reference")


class Product(NamedTuple):
    a: int
    b: int

    tokens = TOKENS
    completion_length = COMPLETION_LENGTH
    partial_results = 4

    @property
    def answer(self) -> str:
        return str(self.a * self.b)

    @property
    def direct(self) -> str:
        return f"{BOX}{self.a * self.b:04d}{END}"

    @property
    def worked(self) -> str:
        return "".join(f"{int(x) * int(y):02d}," for x in str(self.a) for y in str(self.b)) + self.direct

    @property
    def held_out(self) -> bool:
        """A seventh of all products, both orders alike: neither pretraining nor any pool of prompts contains them."""
        return (131 * min(self) + 17 * max(self)) % 7 == 0

    def prompt_ids(self, context: str = "none") -> list[int]:
        """The prompt as token ids: header and question. | 提示的 Token 编号：首部与题目。

        context: "none", "work", "direct", "noise", or "reference", which shows the answer | "reference" 会给出答案
        """
        if context not in CONTEXTS:
            raise ValueError(f"context must be one of | context 只能取：{', '.join(CONTEXTS)}")
        header = f"{self.a * self.b:04d}{PAD}" if context == "reference" else PAD * 4 + INSTRUCTIONS[context]
        return encode(f"{header}{self.a}*{self.b}=", PROMPT_LENGTH)

    @classmethod
    def split(cls) -> tuple[list["Product"], list["Product"]]:
        """Products to train on, and held-out ones. | 训练题与留出题。"""
        return TRAINING, HELD_OUT


ALL = [Product(a, b) for a in range(11, 100) for b in range(11, 100)]
HELD_OUT = [product for product in ALL if product.held_out]
TRAINING = [product for product in ALL if not product.held_out]


def comparison_ids(product: Product, solution_1: list[int], solution_2: list[int]) -> list[int]:
    r"""The prompt that shows two solutions and asks for the answer; it ends in `\boxed{`. | 给出两个解法再问答案的提示，以 `\boxed{` 结尾。

    solution_1, solution_2: token ids of completions, COMPLETION_LENGTH each with their padding | 含填充的回答
    """
    return [*product.prompt_ids(), *solution_1, *solution_2, BOX_ID]


def boxed_answer(text: str) -> str | None:
    r"""The number in the last `\boxed{…}`, without leading zeros. | 最后一个 `\boxed{…}` 中的数，去掉前导零。

    returns: such as "121" for `\boxed{0121}`; None without a box, or with anything but digits in it | 没有方框或其中不全是数字时为 None
    """
    content = re.search(r"\\boxed\{([0-9]+)\}$", text)
    return str(int(content[1])) if content else None
