r"""Answer span: which tokens of a completion lie inside its last \boxed{…}.

The first function of OM-GRPO, as a lesson of its own: text and token offsets in, a bool mask out.
"""

import torch


def closing_brace(text: str, begin: int) -> int | None:
    r"""Position of the brace that closes the one opened just before `begin`. | 与 `begin` 之前那个左括号配对的右括号位置。

    returns: its index in text, None if it never closes | 未闭合时为 None
    An escaped brace, \{ or \}, is part of the text and opens or closes nothing. | 转义括号属于正文，不参与配对。
    """
    depth, position = 1, begin
    while position < len(text):
        if text[position] == "\\":
            position += 1
        elif text[position] == "{":
            depth += 1
        elif text[position] == "}":
            depth -= 1
            if depth == 0:
                return position
        position += 1
    return None


def answer_span_mask(text: str, offsets: list[tuple[int, int]]) -> torch.Tensor:
    r"""True on the tokens that hold characters of the boxed answer. | 含有方框内答案字符的 Token 为 True。

    text: the whole completion; offsets: T pairs (start, end), the characters text[start:end] of each token
    returns: [T] bool. The answer stands strictly inside the last \boxed{…} whose braces balance (the one that opens last);
             no such box or an empty one: all False; a token of width 0: False
             | 答案严格位于最后一个括号配对的 \boxed{…} 之内（按起点取最后一个）；没有这样的方框或方框为空时全为 False；零宽 Token 为 False
    ValueError: start > end, or an offset outside the text | start 大于 end，或偏移超出文本
    Source: course convention: overlap of character intervals; the box counts only as the seven characters `\boxed{`
    """
    for start, end in offsets:
        if not 0 <= start <= end <= len(text):
            raise ValueError("an offset needs 0 <= start <= end <= len(text) | 偏移须满足 0 <= start <= end <= len(text)")
    # first, last = ???, ???  # characters text[first:last] are the answer; equal if there is none | 答案的字符区间；没有答案时两者相等
    # mask = ???              # [T] bool: tokens that share a character with the answer | 与答案共有字符的 Token
    ### BEGIN SOLUTION TODO 1: Answer mask | 答案掩码
    first = last = 0
    opening = text.find("\\boxed{")
    while opening >= 0:
        inside = opening + len("\\boxed{")
        closing = closing_brace(text, inside)
        if closing is not None:
            first, last = inside, closing
        opening = text.find("\\boxed{", inside)
    mask = torch.tensor([max(start, first) < min(end, last) for start, end in offsets], dtype=torch.bool)
    ### END SOLUTION
    return mask
