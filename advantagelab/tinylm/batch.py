"""One step's completions, and everything that the parts of a method may look at: plain tensors and lists, one row a completion."""

from dataclasses import dataclass, field, fields

import torch

from .model import TinyLM
from .products import COMPARED_ANSWER_LENGTH, boxed_answer, comparison_ids
from .sample import sample
from .tasks import Problem
from .tokens import BOX, completion_mask, decode, token_offsets


@dataclass
class Batch:
    """N completions of T tokens, groups one after another. What a later stage fills in is None until then.
    | N 条回答，每条 T 个 Token，按组排列；后续阶段才填写的字段此前为 None。"""

    products: list[Problem]  # the problem of each completion
    prompts: torch.Tensor  # [N, Tp] int64
    completions: torch.Tensor  # [N, T] int64
    completion_mask: torch.Tensor  # [N, T] bool
    group_ids: torch.Tensor  # [N] int64
    texts: list[str]  # each completion up to its end, decoded
    offsets: list[list[tuple[int, int]]]  # where its tokens stand in the text
    answers: list[str | None]  # the number in its box, None = no valid answer
    correct_answers: list[str]
    comparisons: list[tuple[int, int, str | None]] = field(default_factory=list)  # (i, j, answer), for a method that compares

    old_token_logps: torch.Tensor | None = None  # [N, T], by the policy that sampled
    old_token_logits: torch.Tensor | None = None  # [N, T, V]
    reference_token_logps: torch.Tensor | None = None  # [N, T], by the model that training started from
    teacher_token_logps: torch.Tensor | None = None  # [N, T], for a method with a teacher, which reads its own context
    teacher_token_logits: torch.Tensor | None = None  # [N, T, V]

    rewards: torch.Tensor | None = None  # [N], as the method's rewards gave them
    answer_mask: torch.Tensor | None = None  # [N, T] bool, all False for a method without one
    advantages: torch.Tensor | None = None  # [N] or [N, T]

    new_token_logps: torch.Tensor | None = None  # [N, T] with gradient: the policy that is being updated
    new_token_logits: torch.Tensor | None = None  # [N, T, V] with gradient

    def __len__(self) -> int:
        return len(self.products)

    def chunk(self, count: int) -> list["Batch"]:
        """The batch in `count` parts, rows in order, cut where torch.chunk cuts. Comparisons speak of the whole, and are left out."""
        size = -(-len(self) // count)
        values = {entry.name: getattr(self, entry.name) for entry in fields(self) if entry.name != "comparisons"}
        return [Batch(**{name: None if value is None else value[first:first + size] for name, value in values.items()})
                for first in range(0, len(self), size)]


def make_batch(products: list[Problem], prompts: torch.Tensor, completions: torch.Tensor, group_size: int) -> Batch:
    """A batch of sampled completions, read: masks, texts, answers. | 由采样所得回答整理成批：掩码、文本、答案。

    products: P problems of one task; prompts: [P, Tp]; completions: [P * group_size, T]
    """
    mask = completion_mask(completions)
    ids = [row[:length] for row, length in zip(completions.tolist(), mask.sum(dim=-1).tolist())]
    tokens = products[0].tokens
    texts = [decode(row, tokens) for row in ids]
    of_rows = [product for product in products for _ in range(group_size)]
    return Batch(
        products=of_rows,
        prompts=prompts.repeat_interleave(group_size, dim=0),
        completions=completions,
        completion_mask=mask,
        group_ids=torch.arange(len(products)).repeat_interleave(group_size),
        texts=texts,
        offsets=[token_offsets(row, tokens) for row in ids],
        answers=[boxed_answer(text) for text in texts],
        correct_answers=[product.answer for product in of_rows],
    )


def prompt_tensor(products: list[Problem], context: str = "none") -> torch.Tensor:
    """Prompts of these products in one context: [P, Tp]. | 这些题目在某种上下文下的提示。"""
    return torch.tensor([product.prompt_ids(context) for product in products])


def roll_out(model: TinyLM, products: list[Problem], group_size: int, generator: torch.Generator) -> Batch:
    """Sample a group of completions for each product. | 为每道题采样一组回答。"""
    prompts = prompt_tensor(products)
    return make_batch(products, prompts, sample(model, prompts, generator, group_size, products[0].completion_length), group_size)


def compare_neighbors(model: TinyLM, batch: Batch, group_size: int, generator: torch.Generator) -> list[tuple[int, int, str | None]]:
    """Each completion is shown beside the next of its group, the last beside the first, and the model answers again.
    | 每条回答与同组下一条（最后一条与第一条）并列，由模型再次作答。

    returns: (i, j, answer) for each completion i, as contrast_augmented_rewards takes them
    """
    pairs = [(i, i - i % group_size + (i + 1) % group_size) for i in range(len(batch))]
    shown = batch.completions.tolist()
    prompts = torch.tensor([comparison_ids(batch.products[i], shown[i], shown[j]) for i, j in pairs])
    completions = sample(model, prompts, generator, max_length=COMPARED_ANSWER_LENGTH)
    lengths = completion_mask(completions).sum(dim=-1).tolist()
    answers = [boxed_answer(BOX + decode(row[:length])) for row, length in zip(completions.tolist(), lengths)]
    return [(i, j, answer) for (i, j), answer in zip(pairs, answers)]
