"""RLOO, REINFORCE Leave-One-Out: from token log-probabilities and rewards to a clipped sequence loss.

Sources: Kool et al. 2019, "Buy 4 REINFORCE samples, get a baseline for free!"; Ahmadian et al. 2024 (arXiv 2402.14740).
The clipped ratio in `rloo_policy_loss` is not part of either paper: it is what TRL's `RLOOTrainer` adds.
"""

import math

import torch


def require_token_scores(completion_mask: torch.Tensor, *token_logps: torch.Tensor) -> None:
    """Refuse a mask or scores that no sequence score can be computed from. | 拒绝无法得出序列得分的掩码或得分。

    completion_mask: [N, T] bool, True = valid; token_logps: any number of [N, T] float tensors
    ValueError: mask not bool or not [N, T], shapes differ, a row without a valid token, a valid score that is not finite
                | 掩码不是二维布尔张量、形状不同、某行没有有效 Token、有效位置的得分不是有限数
    """
    if completion_mask.ndim != 2 or completion_mask.numel() == 0:
        raise ValueError("completion_mask must be [N, T], not empty | completion_mask 必须是非空二维张量")
    if completion_mask.dtype != torch.bool:
        raise ValueError("completion_mask must be bool, True = valid | completion_mask 必须是布尔张量，True 表示有效")
    if not completion_mask.any(dim=-1).all():
        raise ValueError("every completion needs a valid token | 每条回答至少要有一个有效 Token")
    for scores in token_logps:
        if scores.shape != completion_mask.shape:
            raise ValueError("token log-probabilities and mask must have one shape | Token 对数概率与掩码必须同形")
        if not torch.isfinite(scores[completion_mask]).all():
            raise ValueError("valid token log-probabilities must be finite | 有效位置的 Token 对数概率必须是有限数")


def aggregate_sequence_logps(token_logps: torch.Tensor, completion_mask: torch.Tensor) -> torch.Tensor:
    """Sequence log-probability of each completion. | 每条回答的序列对数概率。

    token_logps: [N, T] float; outside the mask it may hold anything, -inf and NaN included | 掩码之外可以是任何值
    completion_mask: [N, T] bool, True = valid
    returns: [N] float; the gradient is 1 on valid tokens and 0 elsewhere | 梯度在有效 Token 上为 1，其余为 0
    ValueError: see require_token_scores | 见 require_token_scores
    Source: TRL RLOOTrainer (the sum over valid tokens, not their mean)
    """
    require_token_scores(completion_mask, token_logps)
    # sequence_logps = ???  # [N]: valid tokens only; padding may hold -inf or NaN | 只含有效 Token；填充处可能是 -inf 或 NaN
    ### BEGIN SOLUTION TODO 1: Sequence log-probability | 序列对数概率
    sequence_logps = token_logps.masked_fill(~completion_mask, 0.0).sum(dim=-1)
    ### END SOLUTION
    return sequence_logps


def shape_rloo_rewards(
    external_rewards: torch.Tensor,
    old_token_logps: torch.Tensor,
    reference_token_logps: torch.Tensor,
    completion_mask: torch.Tensor,
    beta: float = 0.0,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Reward of each completion minus its KL penalty. | 每条回答的奖励减去 KL 惩罚。

    external_rewards: [N] float or int, NaN = missing; old_token_logps, reference_token_logps: [N, T] float
    completion_mask: [N, T] bool, True = valid; beta: KL coefficient, >= 0 (default 0.0; TRL's default is 0.05) | 系数非负
    returns: shaped_rewards [N] (NaN stays NaN), sequence_kl [N] (k1, may be negative); both detached
             | NaN 仍是 NaN；k1 之和可以为负；两者都停止梯度
    ValueError: rewards not [N], infinite reward, beta negative or not finite; see require_token_scores
                | 奖励不是 [N]、奖励为无穷、beta 为负或非有限数；另见 require_token_scores
    Source: TRL RLOOTrainer (KL in the reward; k1: Schulman, "Approximating KL divergence")
    """
    require_token_scores(completion_mask, old_token_logps, reference_token_logps)
    if external_rewards.shape != completion_mask.shape[:1]:
        raise ValueError("external_rewards must be [N], one for each completion | external_rewards 必须是 [N]，每条回答一个")
    if torch.isinf(external_rewards).any():
        raise ValueError("a missing reward is NaN, never infinite | 缺失奖励只能用 NaN，不能是无穷")
    if not math.isfinite(beta) or beta < 0:
        raise ValueError("beta must be finite and >= 0 | beta 必须是非负有限数")
    if not external_rewards.is_floating_point():
        external_rewards = external_rewards.float()
    # sequence_kl = ???     # [N]: k1 summed over valid tokens, old minus reference, frozen | 有效 Token 上的 k1 之和，停止梯度
    # shaped_rewards = ???  # [N]: frozen; a missing reward stays missing | 停止梯度；缺失奖励仍然缺失
    ### BEGIN SOLUTION TODO 2: KL penalty in the reward | 奖励中的 KL 惩罚
    token_kl = old_token_logps.detach() - reference_token_logps.detach()
    sequence_kl = token_kl.masked_fill(~completion_mask, 0.0).sum(dim=-1)
    shaped_rewards = external_rewards.detach() - beta * sequence_kl
    ### END SOLUTION
    return shaped_rewards, sequence_kl


def leave_one_out_advantages(rewards: torch.Tensor, group_ids: torch.Tensor) -> torch.Tensor:
    """Reward of each completion minus the mean of its siblings. | 每条回答的奖励减去同组其他回答的均值。

    rewards: [N] float or int, NaN = missing; group_ids: [N] int64, in any order, groups of any size | 顺序与组大小任意
    returns: [N] float, detached; 0 where the reward is missing or no sibling has one | 奖励缺失或没有可比的同组回答时为 0
    ValueError: not [N], empty, shapes differ, infinite reward | 不是一维、为空、形状不同、奖励为无穷
    Source: Kool et al. 2019; Ahmadian et al. 2024, section 3 (2402.14740)
    """
    if rewards.ndim != 1 or rewards.numel() == 0 or group_ids.shape != rewards.shape:
        raise ValueError("rewards and group_ids must be [N], N > 0 | rewards 与 group_ids 必须是同形非空一维张量")
    if torch.isinf(rewards).any():
        raise ValueError("a missing reward is NaN, never infinite | 缺失奖励只能用 NaN，不能是无穷")
    rewards = rewards.detach() if rewards.is_floating_point() else rewards.float()
    advantages = torch.zeros_like(rewards)
    for group in group_ids.unique():
        # scored = ???              # [N] bool: completions of this group that have a reward | 本组中有奖励的回答
        # baselines = ???           # [number scored]: mean of the others that are scored | 其他有奖励回答的均值
        # advantages[scored] = ???  # [number scored]: stays 0 with fewer than two | 不足两条时保持 0
        ### BEGIN SOLUTION TODO 3: Leave-one-out advantages | 留一优势
        scored = (group_ids == group) & ~rewards.isnan()
        count = int(scored.sum())
        if count >= 2:
            baselines = (rewards[scored].sum() - rewards[scored]) / (count - 1)
            advantages[scored] = rewards[scored] - baselines
        ### END SOLUTION
    return advantages


def rloo_policy_loss(
    new_logps: torch.Tensor,
    old_logps: torch.Tensor,
    advantages: torch.Tensor,
    epsilon_low: float = 0.2,
    epsilon_high: float = 0.2,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Clipped loss of each completion on its sequence ratio. | 每条回答基于序列比率的裁剪损失。

    new_logps, old_logps: [N] float, sequence log-probabilities; advantages: [N] float
    epsilon_low: in (0, 1); epsilon_high: > 0 (defaults 0.2 and 0.2, as TRL) | 前者在 (0, 1) 内，后者为正
    returns: losses [N], one for each completion; ratios [N]; only new_logps receives a gradient | 只有 new_logps 得到梯度
    ValueError: not [N], empty, shapes differ, a value that is not finite, an epsilon out of range
                | 不是一维、为空、形状不同、存在非有限数、epsilon 越界
    Source: TRL RLOOTrainer (PPO's clip, 1707.06347, on the sequence ratio)
    """
    if new_logps.ndim != 1 or new_logps.numel() == 0 or not new_logps.shape == old_logps.shape == advantages.shape:
        raise ValueError("new_logps, old_logps and advantages must be [N], N > 0 | 三者必须是同形非空一维张量")
    if not all(torch.isfinite(values).all() for values in (new_logps, old_logps, advantages)):
        raise ValueError("log-probabilities and advantages must be finite | 对数概率与优势必须是有限数")
    if not 0 < epsilon_low < 1 or not 0 < epsilon_high < math.inf:
        raise ValueError("need 0 < epsilon_low < 1 and 0 < epsilon_high < inf | epsilon_low 须在 (0, 1) 内，epsilon_high 须为正有限数")
    # ratios = ???   # [N]: sequence ratio, gradient through new_logps only | 序列比率，梯度只经过 new_logps
    # clipped = ???  # [N]: ratio held in its clip range, a bound on each side | 比率限制在裁剪范围内，上下界各自给定
    # losses = ???   # [N]: negative of the smaller surrogate; advantages frozen | 取较小的代理目标并取负；优势停止梯度
    ### BEGIN SOLUTION TODO 4: Clipped sequence loss | 序列裁剪损失
    ratios = torch.exp(new_logps - old_logps.detach())
    clipped = ratios.clamp(1.0 - epsilon_low, 1.0 + epsilon_high)
    fixed_advantages = advantages.detach()
    losses = -torch.minimum(ratios * fixed_advantages, clipped * fixed_advantages)
    ### END SOLUTION
    return losses, ratios
