r"""The tokenizer: about twenty tokens, one a character but for `\boxed{` and the header's words.

`\boxed{` and `}` are one token each, so the span of an answer has edges that are token edges; `}` also ends a completion.
The first sixteen tokens are those of every task, under the same numbers; a task adds its own.
"""

import functools
import re

import torch

BOX, END, PAD = "\\boxed{", "}", " "
WORK, DIRECT, NOISE = "<work>", "<direct>", "<noise>"  # "show your work", "answer at once", and one that means nothing
COMMON = (*"0123456789", "*", "=", ",", BOX, END, PAD)
TOKENS = (*COMMON, WORK, DIRECT, NOISE)  # of the products

ID = {token: index for index, token in enumerate(TOKENS)}
BOX_ID, END_ID, PAD_ID, COMMA_ID = ID[BOX], ID[END], ID[PAD], ID[","]


def encode(text: str, length: int, tokens: tuple[str, ...] = TOKENS) -> list[int]:
    """Token ids, filled up with padding on the right. | Token 编号，右侧填充到给定长度。

    ValueError: a character without a token, or a text longer than length | 有字符不在词表中，或文本超出长度
    """
    pieces = _pattern(tokens).findall(text)
    if "".join(pieces) != text or len(pieces) > length:
        raise ValueError(f"not a text of at most {length} known tokens: {text!r} | 不是由已知 Token 组成，或超出长度：{text!r}")
    return [tokens.index(piece) for piece in pieces] + [PAD_ID] * (length - len(pieces))


@functools.cache
def _pattern(tokens: tuple[str, ...]) -> re.Pattern:
    return re.compile("|".join(re.escape(token) for token in tokens))


def decode(ids: list[int], tokens: tuple[str, ...] = TOKENS) -> str:
    """The text of the tokens. | Token 对应的文本。"""
    return "".join(tokens[index] for index in ids)


def token_offsets(ids: list[int], tokens: tuple[str, ...] = TOKENS) -> list[tuple[int, int]]:
    """Where each token stands in the decoded text: (start, end). | 每个 Token 在解码文本中的位置。"""
    offsets, start = [], 0
    for index in ids:
        offsets.append((start, start + len(tokens[index])))
        start += len(tokens[index])
    return offsets


def completion_mask(completions: torch.Tensor) -> torch.Tensor:
    """True up to the first `}`, which belongs to the completion. | 到第一个 `}` 为止（含）为 True。

    completions: [N, T] int64; returns: [N, T] bool
    """
    ends = (completions == END_ID).long()
    return ends.cumsum(dim=-1) - ends == 0


def inside_box(completions: torch.Tensor) -> torch.Tensor:
    r"""True on the tokens between the last `\boxed{` and the `}` that ends it. | 最后一个 `\boxed{` 与其 `}` 之间的 Token 为 True。

    completions: [N, T] int64; returns: [N, T] bool, all False in a row without a box or without its end | 方框不完整时全为 False
    """
    positions = torch.arange(completions.shape[1])
    completed = completion_mask(completions)
    opening = ((completions == BOX_ID) & completed).long() * (positions + 1)  # 1-based, so that 0 means none
    last = opening.max(dim=-1, keepdim=True).values
    boxed = (last > 0) & (completions == END_ID).any(dim=-1, keepdim=True)
    return completed & boxed & (positions >= last) & (completions != END_ID)
