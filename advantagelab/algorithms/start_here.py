"""The one small function of the first lesson: how a missing reward is told from a reward of 0."""

import torch


def mean_reward(rewards: torch.Tensor) -> torch.Tensor:
    """Mean of the rewards that are there. | 现有奖励的均值。

    rewards: [N] float or int, NaN = missing | NaN 表示缺失
    returns: one number, a tensor of shape []; NaN if every reward is missing | 奖励全部缺失时为 NaN
    ValueError: not [N], empty, infinite reward | 不是一维、为空、奖励为无穷
    """
    if rewards.ndim != 1 or rewards.numel() == 0:
        raise ValueError("rewards must be [N], N > 0 | rewards 必须是非空一维张量")
    if torch.isinf(rewards).any():
        raise ValueError("a missing reward is NaN, never infinite | 缺失奖励只能用 NaN，不能是无穷")
    if not rewards.is_floating_point():
        rewards = rewards.float()
    # scored = ???  # [N] bool: True where there is a reward | 有奖励处为 True
    # mean = ???    # one number: the mean of those rewards only | 一个数：只对这些奖励取平均
    ### BEGIN SOLUTION TODO 1: Mean reward | 平均奖励
    scored = ~rewards.isnan()
    mean = rewards[scored].mean()
    ### END SOLUTION
    return mean
