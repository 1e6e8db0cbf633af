r"""The boxed answer of a completion: its text, its tokens, and which other answers it equals."""

from functools import lru_cache
from importlib.util import find_spec

import torch

from advantagelab.algorithms.label_free import normalize_answer
from advantagelab.algorithms.om_grpo import answer_span_mask

HAS_MATH_VERIFY = find_spec("math_verify") is not None


def boxed_answer(text: str) -> str | None:
    r"""What stands inside the last balanced \boxed{…}. | 最后一个括号配对的 \boxed{…} 之内的文字。

    returns: without outer spaces; None if there is no such box or an empty one | 去掉首尾空格；没有方框或方框为空时为 None
    Source: answer_span_mask, asked of each character, so that the reward and the mask mean one span
    """
    blocks = [(i, min(i + 64, len(text))) for i in range(0, len(text), 64)]  # few questions for a long text
    near = [(i, i + 1) for block in _inside(text, blocks) for i in range(*block)]
    return "".join(text[i] for i, _ in _inside(text, near)).strip() or None


def _inside(text: str, offsets: list[tuple[int, int]]) -> list[tuple[int, int]]:
    return [offset for offset, is_inside in zip(offsets, answer_span_mask(text, offsets).tolist(), strict=True) if is_inside]


def completion_text(completion: str | list[dict]) -> str:
    """The text of a completion as TRL hands it to a reward function: a string, or messages. | TRL 交给奖励函数的回答：字符串或消息列表。"""
    return completion if isinstance(completion, str) else completion[-1]["content"] or ""


def answer_token_mask(tokenizer, ids: list[int]) -> torch.Tensor:
    """True on the sampled tokens that hold characters of the boxed answer. | 含有方框内答案字符的采样 Token 为 True。

    tokenizer: a fast one; ids: T token ids of a completion, special tokens included | T 个 Token id，含特殊 Token
    returns: [T] bool
    """
    return answer_span_mask(*text_and_offsets(tokenizer, ids))


def text_and_offsets(tokenizer, ids: list[int]) -> tuple[str, list[tuple[int, int]]]:
    """The text of token ids, and the characters of it that each token makes. | Token id 对应的文本，以及每个 Token 所占的字符。

    The tokenizer's own offsets count where it would choose the same tokens for this text. A policy also samples tokens that no
    tokenizer would choose ("4" "2" for "42"); then the text is read off token by token.
    | 分词器若会把这段文本切成同样的 Token，就用它给出的偏移；策略也会采样出分词器不会选的切法，此时逐个 Token 读出文本。
    """
    text = tokenizer.decode(ids, skip_special_tokens=False, clean_up_tokenization_spaces=False)
    encoded = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
    if encoded["input_ids"] == list(ids):
        return text, [tuple(offset) for offset in encoded["offset_mapping"]]
    return _read_off(tokenizer, ids)


def _read_off(tokenizer, ids: list[int]) -> tuple[str, list[tuple[int, int]]]:
    """Decode a few tokens at a time. Tokens that share one character, as in byte-level vocabularies, share its offset."""

    def decode(first: int, last: int) -> str:
        return tokenizer.decode(ids[first:last], skip_special_tokens=False, clean_up_tokenization_spaces=False)

    text, offsets = "", []
    context, read = 0, 0  # ids[:read] are in text; some vocabularies need the tokens from `context` on to space what follows
    for end in range(1, len(ids) + 1):
        piece = decode(context, end)[len(decode(context, read)):]
        if piece.endswith("\ufffd") and end < len(ids):
            continue  # a character of which some bytes are still to come
        offsets += [(len(text), len(text) + len(piece))] * (end - read)
        text += piece
        context, read = read, end
    return text, offsets


def unify_answers(answers: list[str | None], group_ids: torch.Tensor) -> list[str | None]:
    r"""Equal answers of a group as one string, so that they can be counted. | 把组内相等的答案写成同一个字符串，以便计数。

    answers: N strings or None; group_ids: [N] int64
    returns: N strings or None: the first answer of the group that it equals. Equal is what normalize_answer makes equal and, if
             math-verify is installed, what its `verify` holds equal in either order (\sqrt{12} and 2\sqrt{3})
             | 组内第一个与之相等的答案；normalize_answer 之后相同即相等，装有 math-verify 时它判为相等的也算
    """
    kinds: dict[int, list[str]] = {}
    unified = []
    for answer, group in zip(answers, group_ids.tolist(), strict=True):
        of_group = kinds.setdefault(group, [])
        if answer is not None:
            answer = normalize_answer(answer)
            answer = next((kind for kind in of_group if equal(kind, answer)), answer)
            if answer not in of_group:
                of_group.append(answer)
        unified.append(answer)
    return unified


def equal(one: str, other: str) -> bool:
    """Whether two normalized answers are the same. | 两个已统一写法的答案是否相同。"""
    return one == other or HAS_MATH_VERIFY and _verified(*sorted((one, other)))


@lru_cache(maxsize=100_000)
def _verified(one: str, other: str) -> bool:
    from math_verify import verify

    try:
        return verify(_parsed(one), _parsed(other)) or verify(_parsed(other), _parsed(one))
    except Exception:  # what a model writes may be anything: what cannot be compared is not equal
        return False


@lru_cache(maxsize=100_000)
def _parsed(answer: str) -> list:
    from math_verify import parse

    return parse(f"${answer}$")
