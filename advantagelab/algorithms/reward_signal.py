"""Reward signal: from reward components to returns, advantages and a policy gradient loss.

Sources: Williams 1992, "Simple statistical gradient-following algorithms for connectionist reinforcement learning" (REINFORCE);
Schulman et al. 2015 (arXiv 1506.02438), GAE; the sum of reward components is TRL's. A bandit is the case of one step, T = 1.
"""

import math

import torch


def require_steps(completion_mask: torch.Tensor, *per_step: torch.Tensor) -> None:
    """Refuse a mask or numbers that cannot be read step by step. | 拒绝无法逐步读取的掩码或数值。

    completion_mask: [N, T] bool, True = valid; the valid steps of a row come first, padding after them | 有效步在前，填充在后
    per_step: any number of [N, T] tensors; outside the mask they may hold anything | 掩码之外可以是任何值
    ValueError: mask not bool or not [N, T], a row without a valid step or with padding before one, shapes differ,
                a value inside the mask that is not finite
                | 掩码不是二维布尔张量、某行没有有效步或填充排在有效步之前、形状不同、掩码之内存在非有限数
    """
    if completion_mask.ndim != 2 or completion_mask.numel() == 0:
        raise ValueError("completion_mask must be [N, T], not empty | completion_mask 必须是非空二维张量")
    if completion_mask.dtype != torch.bool:
        raise ValueError("completion_mask must be bool, True = valid | completion_mask 必须是布尔张量，True 表示有效")
    if not completion_mask[:, 0].all() or (completion_mask[:, 1:] & ~completion_mask[:, :-1]).any():
        raise ValueError("the valid steps of every completion come first, at least one | 每条回答的有效步排在最前，且至少有一步")
    for numbers in per_step:
        if numbers.shape != completion_mask.shape:
            raise ValueError("a tensor by step must have the shape of the mask | 逐步的张量必须与掩码同形")
        if not torch.isfinite(numbers[completion_mask]).all():
            raise ValueError("numbers of valid steps must be finite | 有效步上的数必须是有限数")


def combine_reward_components(components: torch.Tensor, weights: torch.Tensor, missing: str = "skip") -> torch.Tensor:
    """One reward for each completion: the weighted sum of its components. | 每条回答一个奖励：各分量的加权和。

    components: [N, K] float or int, NaN = missing; weights: [K] float or int, of any sign | 权重可正可负
    missing: "skip" sums the components present and gives NaN only if none is (default, as TRL);
             "propagate" gives NaN if any is missing
             | "skip" 对现有的分量求和，全部缺失才得 NaN；"propagate" 只要有一个缺失就得 NaN
    returns: rewards [N], in the dtype of components (integers: float32), detached | 与 components 同 dtype（整数则为 float32），停止梯度
    ValueError: components not [N, K] or empty, weights not [K], an infinite component, a weight not finite, another `missing`
                | 分量不是非空二维张量、权重不是 [K]、分量为无穷、权重不是有限数、`missing` 取其他值
    Source: TRL GRPOTrainer and RLOOTrainer (nansum over the weighted components)
    """
    if components.ndim != 2 or components.numel() == 0 or weights.shape != components.shape[1:]:
        raise ValueError("components must be [N, K], not empty, and weights [K] | 分量必须是非空二维张量，权重必须是 [K]")
    if torch.isinf(components).any():
        raise ValueError("a missing component is NaN, never infinite | 缺失的分量只能用 NaN，不能是无穷")
    if not torch.isfinite(weights).all():
        raise ValueError("weights must be finite | 权重必须是有限数")
    if missing not in ("skip", "propagate"):
        raise ValueError('missing must be "skip" or "propagate" | missing 只能是 "skip" 或 "propagate"')
    components = components.detach() if components.is_floating_point() else components.float()
    weights = weights.detach().to(components.dtype)
    # absent = ???     # [N, K] bool: which components are missing | 哪些分量缺失
    # unscored = ???   # [N] bool: which completions get no reward, by `missing` | 按 `missing`，哪些回答没有奖励
    # rewards = ???    # [N]: weighted sum of the components present; NaN where unscored | 现有分量的加权和；没有奖励处为 NaN
    ### BEGIN SOLUTION TODO 1: Weighted reward components | 奖励分量的加权和
    absent = components.isnan()
    unscored = absent.all(dim=1) if missing == "skip" else absent.any(dim=1)
    rewards = (components * weights).nansum(dim=1).masked_fill(unscored, math.nan)
    ### END SOLUTION
    return rewards


def discounted_returns(rewards: torch.Tensor, completion_mask: torch.Tensor, gamma: float = 1.0) -> torch.Tensor:
    """Return of each step: its reward and all later ones, discounted. | 每一步的回报：这一步与之后各步奖励的折扣和。

    rewards: [N, T] float or int, one for each step; outside the mask it may hold anything | 掩码之外可以是任何值
    completion_mask: [N, T] bool, True = valid, valid steps first; gamma: discount of one step, in [0, 1]
                     | 有效步在前；每一步的折扣，在 [0, 1] 内
    returns: [N, T] float, detached; 0 outside the mask | 停止梯度；掩码之外为 0
    ValueError: gamma out of range; see require_steps, so a completion whose reward is missing is left out beforehand
                | gamma 越界；另见 require_steps：缺失奖励的回答要事先去掉
    Source: the usual definition; default gamma = 1.0, as TRL's PPOConfig had it
    """
    require_steps(completion_mask, rewards)
    if not 0 <= gamma <= 1:
        raise ValueError("gamma must lie in [0, 1] | gamma 必须在 [0, 1] 内")
    rewards = rewards.detach() if rewards.is_floating_point() else rewards.float()
    returns = torch.zeros_like(rewards)
    # valid_rewards = ???  # [N, T]: padding adds nothing, whatever it holds | 填充不论是什么值，都没有贡献
    # later = ???          # [N]: return of the step after; it begins at 0 after the last step | 下一步的回报；最后一步之后从 0 开始
    # returns[:, t] = ???  # [N], for each t from the last to the first | 从最后一步往前逐步计算
    ### BEGIN SOLUTION TODO 2: Discounted returns | 折扣回报
    valid_rewards = rewards.masked_fill(~completion_mask, 0.0)
    later = 0.0
    for t in reversed(range(rewards.shape[1])):
        later = valid_rewards[:, t] + gamma * later
        returns[:, t] = later
    ### END SOLUTION
    return returns


def gae_advantages(
    rewards: torch.Tensor,
    values: torch.Tensor,
    last_values: torch.Tensor,
    terminated: torch.Tensor,
    completion_mask: torch.Tensor,
    gamma: float = 1.0,
    lam: float = 0.95,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Generalized advantage estimation, and the returns that the critic learns from. | 广义优势估计，以及供价值网络学习的回报。

    rewards: [N, T] float or int; values: [N, T] float, the critic's value before each step | 每一步之前的价值
    last_values: [N] float, the value after the last valid step; not used where terminated | 最后一个有效步之后的价值；终止处不用
    terminated: [N] bool, True = the completion ended by itself, False = it was truncated | True 为自行终止，False 为被截断
    completion_mask: [N, T] bool, True = valid, valid steps first; gamma, lam: in [0, 1] | 有效步在前；两者都在 [0, 1] 内
    returns: advantages [N, T]; returns [N, T] = advantages + values; both detached, in the dtype of values, 0 outside the mask
             | 回报等于优势加 values；两者都停止梯度，与 values 同 dtype，掩码之外为 0
    ValueError: values not float, last_values or terminated not [N], terminated not bool, a last value that is used and not finite,
                gamma or lam out of range; see require_steps
                | values 不是浮点数、last_values 或 terminated 不是 [N]、terminated 不是布尔张量、用到的 last_values 不是有限数、
                gamma 或 lam 越界；另见 require_steps
    Source: Schulman et al. 2015 (1506.02438); defaults gamma = 1.0, lam = 0.95, as TRL's PPOConfig had them (TRL 1.16 has no PPO)
    """
    require_steps(completion_mask, rewards, values)
    if not values.is_floating_point() or last_values.shape != values.shape[:1] or terminated.shape != values.shape[:1]:
        raise ValueError("values must be float, last_values and terminated [N] | values 必须是浮点数，last_values 与 terminated 必须是 [N]")
    if terminated.dtype != torch.bool:
        raise ValueError("terminated must be bool | terminated 必须是布尔张量")
    if not torch.isfinite(last_values[~terminated]).all():
        raise ValueError("the last value of a truncated completion must be finite | 被截断的回答，last_values 必须是有限数")
    if not 0 <= gamma <= 1 or not 0 <= lam <= 1:
        raise ValueError("gamma and lam must lie in [0, 1] | gamma 与 lam 必须在 [0, 1] 内")
    values = values.detach()
    rewards, last_values = rewards.detach().to(values.dtype), last_values.detach().to(values.dtype)
    advantages = torch.zeros_like(values)
    next_advantages = torch.zeros_like(last_values)  # nothing follows the last step | 最后一步之后什么都没有
    # next_values = ???       # [N]: value after the last valid step, by how the completion ended | 最后有效步之后的价值，由回答如何结束而定
    # deltas = ???            # [N], for each t from the last to the first: TD residual | 从最后一步往前，每一步的 TD 残差
    # advantages[:, t] = ???  # [N]: residual and the discounted advantage of the step after | 残差加上下一步优势的折扣
    # returns = ???           # [N, T]: what the critic should have said; 0 outside the mask | 价值网络本该给出的值；掩码之外为 0
    ### BEGIN SOLUTION TODO 3: GAE advantages | GAE 优势
    next_values = last_values.masked_fill(terminated, 0.0)
    for t in reversed(range(values.shape[1])):
        valid = completion_mask[:, t]
        deltas = rewards[:, t] + gamma * next_values - values[:, t]
        next_advantages = torch.where(valid, deltas + gamma * lam * next_advantages, next_advantages)
        next_values = torch.where(valid, values[:, t], next_values)
        advantages[:, t] = next_advantages
    returns = (advantages + values).masked_fill(~completion_mask, 0.0)
    ### END SOLUTION
    return advantages, returns


def policy_gradient_loss(token_logps: torch.Tensor, advantages: torch.Tensor, completion_mask: torch.Tensor) -> torch.Tensor:
    """REINFORCE: minus the mean over completions of advantage times log-probability. | REINFORCE：优势乘回答的对数概率，取平均再取负。

    token_logps: [N, T] float, one for each step; outside the mask it may hold anything, -inf and NaN included
                 | 每一步一个；掩码之外可以是任何值
    advantages: [N] float or int, one for each completion, frozen here | 每条回答一个，在此停止梯度
    completion_mask: [N, T] bool, True = valid, valid steps first | 有效步在前
    returns: loss [] float; the gradient with respect to a valid token_logps[i, t] is -advantages[i] / N, elsewhere 0
             | 一个数；对有效的 token_logps[i, t] 梯度是 -advantages[i] / N，其余为 0
    ValueError: advantages not [N] or not finite; see require_steps | 优势不是 [N] 或不是有限数；另见 require_steps
    Source: Williams 1992 (REINFORCE with a baseline)
    """
    require_steps(completion_mask, token_logps)
    if advantages.shape != completion_mask.shape[:1] or not torch.isfinite(advantages).all():
        raise ValueError("advantages must be [N] and finite | 优势必须是 [N]，且为有限数")
    # completion_logps = ???  # [N]: log-probability of each whole completion; padding adds nothing | 整条回答的对数概率；填充没有贡献
    # loss = ???              # []: the smaller, the likelier the good completions; advantages frozen | 越小，好回答的概率越大；优势停止梯度
    ### BEGIN SOLUTION TODO 4: Policy gradient loss | 策略梯度损失
    completion_logps = token_logps.masked_fill(~completion_mask, 0.0).sum(dim=1)
    loss = -(advantages.detach() * completion_logps).mean()
    ### END SOLUTION
    return loss
