r"""Reward functions in TRL's form. They work in any TRL trainer that groups completions by prompt.

Each takes prompts and completions (strings or messages), the columns of the data set and TRL's `log_metric`, and returns N floats.
A group is a run of equal prompts. Statistics are logged under `consensus/…` and `comparison/…`.
"""

from collections import Counter
from collections.abc import Callable

import torch

from advantagelab.algorithms.label_free import (
    contrast_augmented_rewards,
    ground_truth_rewards,
    majority_vote_rewards,
    normalize_answer,
    soft_consensus_rewards,
)

from .answers import boxed_answer, completion_text, equal, unify_answers


def get_soft_consensus_reward(normalizer: str = "max", format_reward: bool = False) -> Callable[..., list[float]]:
    """A reward function: how frequent a completion's answer is in its group. | 奖励函数：回答的答案在组内有多常见。

    normalizer, format_reward: as in soft_consensus_rewards (defaults "max" and False; the paper by its readers: "group" and True)
    With a column `comparisons`, which OMGRPOTrainer adds: contrast_augmented_rewards. | 有 `comparisons` 列时用对比增强奖励
    ValueError: another normalizer | normalizer 取其他值
    """
    if normalizer not in ("max", "group"):
        raise ValueError('normalizer must be "max" or "group" | normalizer 只能取 "max" 或 "group"（即组大小）')

    def soft_consensus_reward(prompts, completions, comparisons=None, log_metric=None, **_) -> list[float]:
        group_ids = group_by_prompt(prompts)
        own = [boxed_answer(completion_text(completion)) for completion in completions]
        # Row i of `comparisons` holds (j, answer): i is solution 1, j solution 2, both rows of this batch.
        pairs = [(i, j, answer) for i, row in enumerate(comparisons or []) for j, answer in row]
        unified = unify_answers(own + [answer for _, _, answer in pairs], torch.cat([group_ids, group_ids[[i for i, _, _ in pairs]]]))
        answers, compared = unified[:len(own)], unified[len(own):]
        log_consensus(log_metric, answers, group_ids)
        if comparisons is None:
            return soft_consensus_rewards(answers, group_ids, normalizer=normalizer, format_reward=format_reward).tolist()
        pairs = [(i, j, answer) for (i, j, _), answer in zip(pairs, compared, strict=True)]
        log_comparisons(log_metric, answers, pairs, group_ids)
        return contrast_augmented_rewards(answers, group_ids, pairs, normalizer=normalizer, format_reward=format_reward).tolist()

    return soft_consensus_reward


def majority_vote_reward(prompts, completions, log_metric=None, **_) -> list[float]:
    """1 for the group's most frequent answer, 0 for any other. | 答案为组内最多者的回答得 1，其余得 0。

    Comparisons do not vote. Source: majority_vote_rewards (TTRL 2504.16084)
    """
    group_ids = group_by_prompt(prompts)
    answers = unify_answers([boxed_answer(completion_text(completion)) for completion in completions], group_ids)
    rewards, tied = majority_vote_rewards(answers, group_ids)
    log_consensus(log_metric, answers, group_ids)
    if log_metric:
        log_metric("consensus/tie_ratio", tied.float().mean().item())
    return rewards.tolist()


def accuracy_reward(completions, solution, **_) -> list[float]:
    r"""1 where the boxed answer equals the column `solution`, 0 otherwise: a verifier. | 方框内答案等于 `solution` 列时为 1：验证器。

    solution: the answer alone, or a text whose last \boxed{…} holds it | 只有答案，或最后一个 \boxed{…} 中写有答案的文本
    In label-free training give it weight 0, and it is only logged: reward_weights=[1.0, 0.0]. | 无标签训练中给它权重 0，则只记录
    """
    correct = [normalize_answer(boxed_answer(text) or text) for text in solution]
    answers = [boxed_answer(completion_text(completion)) for completion in completions]
    answers = [None if answer is None else normalize_answer(answer) for answer in answers]
    answers = [right if answer is not None and equal(right, answer) else answer for answer, right in zip(answers, correct, strict=True)]
    return ground_truth_rewards(answers, correct).tolist()


def group_by_prompt(prompts: list) -> torch.Tensor:
    """[N] int64: completions of one prompt stand together, as TRL's sampler has them. | 同一提示的回答相邻，TRL 的采样器就是这样排的。"""
    changes = [0] + [int(prompt != before) for before, prompt in zip(prompts, prompts[1:])]
    return torch.tensor(changes).cumsum(0)


def log_consensus(log_metric, answers: list[str | None], group_ids: torch.Tensor) -> None:
    """How far a group agrees. Collapse shows as majority_ratio → 1 and unique_answers → 1. | 组内的一致程度；坍塌时两者都趋于 1。"""
    if log_metric is None:
        return
    groups = [Counter(answer for answer, group in zip(answers, group_ids.tolist(), strict=True) if group == g and answer is not None)
              for g in group_ids.unique().tolist()]
    log_metric("consensus/valid_ratio", sum(answer is not None for answer in answers) / len(answers))
    log_metric("consensus/unique_answers", sum(len(votes) for votes in groups) / len(groups))
    log_metric("consensus/majority_ratio", sum(max(votes.values(), default=0) for votes in groups) / len(answers))


def log_comparisons(log_metric, answers: list[str | None], pairs: list[tuple[int, int, str | None]], group_ids: torch.Tensor) -> None:
    """How large the answer pool is, and what the comparisons added to it. | 答案池有多大，比较又添了什么。"""
    if log_metric is None or not pairs:
        return
    owned = set(zip(group_ids.tolist(), answers, strict=True))
    compared = [(group_ids[i].item(), answer) for i, _, answer in pairs]
    log_metric("comparison/pool_size", (len(answers) + len(pairs)) / len(group_ids.unique()))
    log_metric("comparison/valid_ratio", sum(answer is not None for _, answer in compared) / len(pairs))
    new = [answer is not None and (group, answer) not in owned for group, answer in compared]
    log_metric("comparison/new_answer_ratio", sum(new) / len(pairs))
