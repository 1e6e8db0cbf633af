"""What a run is watched by: numbers of one step, and accuracy on problems that it does and does not train on."""

from collections import Counter

import torch

from .batch import Batch, roll_out
from .model import TinyLM
from .tasks import Problem
from .tokens import COMMA_ID, inside_box

SEEN_SAMPLES = 512  # a standard error of at most .022


def evaluate(policy: TinyLM, pool: list[Problem], held_out: list[Problem]) -> dict[str, float]:
    """Accuracy at temperature 1 on all held-out problems, one sample each, and on problems of the pool. | 温度为 1 时的正确率。

    held_out: of the pool's task | 与 pool 同一任务的留出题
    The random numbers are the same every time, so that curves differ by what was learned.
    """
    generator = torch.Generator().manual_seed(0)
    unseen = roll_out(policy, held_out, 1, generator)
    seen = roll_out(policy, pool[:SEEN_SAMPLES], max(1, SEEN_SAMPLES // len(pool)), generator)
    return {
        "held_out_accuracy": right(unseen).float().mean().item(),
        "seen_accuracy": right(seen).float().mean().item(),
        "held_out_unique_answers": len({answer for answer in unseen.answers if answer is not None}),
        "held_out_worked": worked(unseen).float().mean().item(),
    }


def describe(batch: Batch) -> dict[str, float]:
    """Numbers of one step, from its finished batch. Truth is used to watch, whatever the method's rewards may know."""
    mask, boxed = batch.completion_mask, inside_box(batch.completions)
    is_right = right(batch)
    groups = [(batch.group_ids == group).nonzero().squeeze(-1).tolist() for group in batch.group_ids.unique()]
    of_group = torch.stack([is_right[group] for group in groups])  # [groups, G]
    all_right, all_wrong = of_group.all(dim=-1), ~of_group.any(dim=-1)
    zero_variance = torch.tensor([bool((batch.rewards[group] == batch.rewards[group[0]]).all()) for group in groups])
    answers = [[batch.answers[i] for i in group if batch.answers[i] is not None] for group in groups]
    majorities = [Counter(given).most_common(1)[0][0] if given else None for given in answers]
    log_ratios = batch.reference_token_logps - batch.old_token_logps

    token_advantages = batch.advantages if batch.advantages.ndim == 2 else batch.advantages.unsqueeze(-1).expand_as(mask)
    against = torch.where(is_right.unsqueeze(-1), token_advantages < 0, token_advantages > 0)
    return {
        "reward": batch.rewards.nanmean().item(),
        "accuracy": is_right.float().mean().item(),
        "majority_accuracy": sum(majority == batch.correct_answers[group[0]] for majority, group in zip(majorities, groups)) / len(groups),
        "unique_answers": sum(len(set(given)) for given in answers) / len(groups),
        "zero_variance": zero_variance.float().mean().item(),  # groups whose rewards are all equal, and of them
        "zero_variance_right": (zero_variance & all_right).float().mean().item(),
        "zero_variance_wrong": (zero_variance & all_wrong).float().mean().item(),
        "all_right": all_right.float().mean().item(),
        "all_wrong": all_wrong.float().mean().item(),
        "answer_logp": _mean(batch.old_token_logps, boxed),
        "reasoning_logp": _mean(batch.old_token_logps, mask & ~boxed),
        "kl": _mean(torch.expm1(log_ratios) - log_ratios, mask),  # a token, k3, from the model that training started from
        "length": mask.sum(dim=-1).float().mean().item(),
        "worked": worked(batch).float().mean().item(),
        # Tokens of right completions pushed down, of wrong ones up: with a verifier's rewards, the tokens that CAST flips.
        "flips": _mean(against.float(), mask),
    }


def right(batch: Batch) -> torch.Tensor:
    """[N] bool: the answer is the right one. | 答案是否正确。"""
    return torch.tensor([answer == correct for answer, correct in zip(batch.answers, batch.correct_answers)])


def worked(batch: Batch) -> torch.Tensor:
    """[N] bool: all partial results are written before the box. | 方框之前是否写出全部中间结果。"""
    return ((batch.completions == COMMA_ID) & batch.completion_mask).sum(dim=-1) == batch.products[0].partial_results


def _mean(values: torch.Tensor, mask: torch.Tensor) -> float:
    """Mean where the mask is True, 0 if it is nowhere."""
    return values[mask].mean().item() if mask.any() else 0.0
