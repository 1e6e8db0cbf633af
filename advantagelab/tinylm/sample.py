"""Batched sampling with a KV cache: each prompt is read once, then all its completions grow by one token at a time."""

import torch

from .model import Cache, TinyLM
from .products import COMPLETION_LENGTH
from .tokens import END_ID, PAD_ID


@torch.no_grad()
def sample(
    model: TinyLM,
    prompts: torch.Tensor,
    generator: torch.Generator,
    group_size: int = 1,
    max_length: int = COMPLETION_LENGTH,
    temperature: float = 1.0,
) -> torch.Tensor:
    """Completions of prompts, group_size of each. | 对每个提示采样 group_size 条回答。

    prompts: [P, Tp] int64; returns: [P * group_size, max_length] int64, groups in the order of prompts, padding after the end
    """
    count, prompt_length = prompts.shape[0] * group_size, prompts.shape[1]
    caches = model.new_caches(len(prompts), prompt_length + max_length)
    logits = model(prompts, caches, last=1)
    caches = [Cache(*(kept.repeat_interleave(group_size, dim=0) for kept in cache)) for cache in caches]
    logits = logits[:, -1].repeat_interleave(group_size, dim=0)

    completions = torch.full((count, max_length), PAD_ID)
    ended = torch.zeros(count, dtype=torch.bool)
    for position in range(max_length):
        probabilities = torch.softmax(logits / temperature, dim=-1)
        # An exponential race: the first arrival is token v with probability p_v. Faster than torch.multinomial.
        arrivals = torch.empty_like(probabilities).exponential_(generator=generator) / probabilities
        tokens = arrivals.argmin(dim=-1).masked_fill(ended, PAD_ID)
        completions[:, position] = tokens
        ended = ended | (tokens == END_ID)
        if position + 1 == max_length or ended.all():
            break
        logits = model(tokens.unsqueeze(-1), caches, start=prompt_length + position)[:, -1]
    return completions
