"""A decoder-only transformer of 105,000 parameters, and the one way in which it scores tokens.

A token passes through an embedding, two pre-norm blocks of attention and MLP, and a linear head. Forward with and without cache is the
same code: with a cache, keys and values of earlier tokens are kept, and only new tokens are computed.
"""

import math
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import nn

from .products import COMPARED_ANSWER_LENGTH, COMPARISON_LENGTH
from .tokens import TOKENS

WIDTH, LAYERS, HEADS = 64, 2, 4
POSITIONS = COMPARISON_LENGTH + COMPARED_ANSWER_LENGTH  # the longest sequence of any task


class Cache(NamedTuple):
    """Keys and values of one block: [N, HEADS, length, WIDTH / HEADS]."""

    keys: torch.Tensor
    values: torch.Tensor


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm_1, self.norm_2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.query_key_value = nn.Linear(WIDTH, 3 * WIDTH, bias=False)
        self.attention_out = nn.Linear(WIDTH, WIDTH, bias=False)
        self.mlp_in, self.mlp_out = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x: torch.Tensor, cache: Cache | None, start: int) -> torch.Tensor:
        count, length, _ = x.shape
        query, key, value = self.query_key_value(self.norm_1(x)).view(count, length, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
        if cache is not None:
            cache.keys[:, :, start:start + length], cache.values[:, :, start:start + length] = key, value
            key, value = cache.keys[:, :, :start + length], cache.values[:, :, :start + length]
        # Several tokens come at once only from position 0 on; a single one is the last, and may look at all that is cached.
        heads = F.scaled_dot_product_attention(query, key, value, is_causal=length > 1)
        x = x + self.attention_out(heads.transpose(1, 2).reshape(count, length, WIDTH))
        return x + self.mlp_out(F.gelu(self.mlp_in(self.norm_2(x)), approximate="tanh"))


class TinyLM(nn.Module):
    def __init__(self, vocabulary: int = len(TOKENS)):
        super().__init__()
        self.token_embedding, self.position_embedding = nn.Embedding(vocabulary, WIDTH), nn.Embedding(POSITIONS, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, vocabulary, bias=False)

    def initialize(self, generator: torch.Generator) -> None:
        """Fresh weights: each layer keeps the size of what passes through it, and the first predictions are near uniform."""
        for name, weights in self.named_parameters():
            if "embedding" in name:
                nn.init.normal_(weights, std=0.02, generator=generator)
            elif weights.ndim == 2:
                # What a block adds to the stream is scaled down by the number of additions, as in GPT-2.
                added = 1 / math.sqrt(2 * LAYERS) if name.endswith(("attention_out.weight", "mlp_out.weight")) else 1.0
                shrunk = 0.3 if name == "head.weight" else 1.0
                nn.init.normal_(weights, std=added * shrunk / math.sqrt(weights.shape[1]), generator=generator)
            elif name.endswith("bias"):
                nn.init.zeros_(weights)

    def forward(self, ids: torch.Tensor, caches: list[Cache] | None = None, start: int = 0, last: int = 0) -> torch.Tensor:
        """Logits of the next token: [N, T, V], of the last `last` positions only if that is not 0. | 下一 Token 的 logit。

        ids: [N, T] int64, the tokens at positions start … start + T - 1; start > 0 needs caches and T = 1
        """
        x = self.token_embedding(ids) + self.position_embedding.weight[start:start + ids.shape[1]]
        for layer, block in enumerate(self.blocks):
            x = block(x, caches[layer] if caches else None, start)
        return self.head(self.norm(x[:, -last:]))

    def new_caches(self, count: int, length: int) -> list[Cache]:
        """Room for `count` sequences of `length` tokens. | 可容纳 count 条、每条 length 个 Token 的缓存。"""
        shape = (count, HEADS, length, WIDTH // HEADS)
        return [Cache(torch.empty(shape), torch.empty(shape)) for _ in self.blocks]


class Scores(NamedTuple):
    token_logps: torch.Tensor  # [N, T], of the tokens that are there
    token_logits: torch.Tensor  # [N, T, V], of all that could be


def score(model: TinyLM, prompts: torch.Tensor, completions: torch.Tensor) -> Scores:
    """Token log-probabilities of completions, each after its prompt. | 各回答在其提示之后的 Token 对数概率。

    prompts: [N, Tp] int64; completions: [N, T] int64; what stands after a completion's end is scored too and has no meaning

    Old policy, reference, teacher and current policy are all scored here, on the same rows at a time: the sums inside a matrix product
    depend on its shape, and other shapes would leave differences of 1e-6 where a gap or a log-ratio must be exactly 0.
    """
    length = completions.shape[1]
    # The logits that predict a token stand one position before it, so the last token is not read.
    logits = model(torch.cat([prompts, completions], dim=1)[:, :-1], last=length)
    return Scores(torch.log_softmax(logits, dim=-1).gather(-1, completions.unsqueeze(-1)).squeeze(-1), logits)


@torch.no_grad()
def score_in_parts(model: TinyLM, prompts: torch.Tensor, completions: torch.Tensor, parts: int) -> Scores:
    """The same without a gradient, `parts` minibatches one after another. | 不带梯度，按小批依次打分。"""
    scores = [score(model, *rows) for rows in zip(prompts.chunk(parts), completions.chunk(parts))]
    return Scores(*(torch.cat(of_parts) for of_parts in zip(*scores)))
