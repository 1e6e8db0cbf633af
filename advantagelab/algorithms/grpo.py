"""GRPO, Group Relative Policy Optimization: from rewards and token log-probabilities to one clipped loss.

Sources: DeepSeekMath (arXiv 2402.03300); DAPO (2503.14476): bounds of unequal width, token mean; Dr.GRPO (2503.20783):
no division by the standard deviation, constant reduction; k3: Schulman, "Approximating KL divergence".
"""

import math

import torch


def require_token_values(completion_mask: torch.Tensor, *token_values: torch.Tensor) -> None:
    """Refuse a mask or token values that no loss can be computed from. | 拒绝无法得出损失的掩码或 Token 数值。

    completion_mask: [N, T] bool, True = valid; a completion without a valid token is allowed | 允许没有有效 Token 的回答
    token_values: any number of [N, T] float tensors
    ValueError: mask not bool or not [N, T], shapes differ, a valid value that is not finite
                | 掩码不是二维布尔张量、形状不同、有效位置的数值不是有限数
    """
    if completion_mask.ndim != 2 or completion_mask.numel() == 0:
        raise ValueError("completion_mask must be [N, T], not empty | completion_mask 必须是非空二维张量")
    if completion_mask.dtype != torch.bool:
        raise ValueError("completion_mask must be bool, True = valid | completion_mask 必须是布尔张量，True 表示有效")
    for values in token_values:
        if values.shape != completion_mask.shape:
            raise ValueError("token values and mask must have one shape | Token 数值与掩码必须同形")
        if not torch.isfinite(values[completion_mask]).all():
            raise ValueError("valid token values must be finite | 有效位置的 Token 数值必须是有限数")


def group_relative_advantages(
    rewards: torch.Tensor,
    group_ids: torch.Tensor,
    scale: str = "std",
    ddof: int = 0,
    eps: float = 1e-6,
) -> torch.Tensor:
    """Reward of each completion minus its group's mean, in standard deviations. | 每条回答的奖励减去组均值，再除以标准差。

    rewards: [N] float or int, NaN = missing; group_ids: [N] int64, in any order, groups of any size | 顺序与组大小任意
    scale: "std" divides by std + eps; "none" only centers (Dr.GRPO) | "std" 除以标准差加 eps；"none" 只减均值
    ddof: 0 or 1, the std divides by number - ddof; eps: >= 0 (defaults 0 and 1e-6; TRL: 1 and 1e-4)
          | 只取 0 或 1，标准差的除数是个数减 ddof；eps 非负
    returns: [N] float, detached; exactly 0 where the reward is missing or all rewards of the group are equal
             | 停止梯度；奖励缺失或组内奖励全部相等时恰好为 0
    ValueError: not [N], empty, shapes differ, infinite reward, another scale or ddof, eps negative or not finite
                | 不是一维、为空、形状不同、奖励为无穷、scale 或 ddof 取其他值、eps 为负或非有限数
    Source: DeepSeekMath, section 4.1 (2402.03300); Dr.GRPO (2503.20783)
    """
    if rewards.ndim != 1 or rewards.numel() == 0 or group_ids.shape != rewards.shape:
        raise ValueError("rewards and group_ids must be [N], N > 0 | rewards 与 group_ids 必须是同形非空一维张量")
    if torch.isinf(rewards).any():
        raise ValueError("a missing reward is NaN, never infinite | 缺失奖励只能用 NaN，不能是无穷")
    if scale not in ("std", "none"):
        raise ValueError('scale must be "std" or "none" | scale 只能取 "std" 或 "none"')
    if ddof not in (0, 1) or not 0 <= eps < math.inf:
        raise ValueError("ddof must be 0 or 1, eps finite and >= 0 | ddof 只能取 0 或 1，eps 必须是非负有限数")
    rewards = rewards.detach() if rewards.is_floating_point() else rewards.float()
    advantages = torch.zeros_like(rewards)
    for group in group_ids.unique():
        # scored = ???              # [N] bool: completions of this group that have a reward | 本组中有奖励的回答
        # values = ???              # [number scored]: their rewards, possibly none | 它们的奖励，可能一个也没有
        # advantages[scored] = ???  # [number scored]: stays 0 if all are equal; divided only if scale says so | 全等时保持 0；按 scale 缩放
        ### BEGIN SOLUTION TODO 1: Group-relative advantages | 组相对优势
        scored = (group_ids == group) & ~rewards.isnan()
        values = rewards[scored]
        if scored.any() and values.max() > values.min():
            centered = values - values.mean()
            advantages[scored] = centered / (values.std(correction=ddof) + eps) if scale == "std" else centered
        ### END SOLUTION
    return advantages


def k3_kl(
    token_logps: torch.Tensor,
    reference_token_logps: torch.Tensor,
    completion_mask: torch.Tensor,
) -> torch.Tensor:
    """KL from the reference policy, estimated on each sampled token by k3. | 在每个采样 Token 上用 k3 估计与参考策略的 KL。

    token_logps, reference_token_logps: [N, T] float; outside the mask they may hold anything | 掩码之外可以是任何值
    completion_mask: [N, T] bool, True = valid
    returns: [N, T] float: k3 of x = reference - policy, accurate near x = 0; 0 outside the mask;
             only token_logps receives a gradient, also 0 outside the mask
             | 对 x = 参考策略 - 策略取 k3，在 0 附近也要准确；掩码之外为 0，那里没有梯度；只有 token_logps 得到梯度
    ValueError: see require_token_values | 见 require_token_values
    Source: Schulman, "Approximating KL divergence"; DeepSeekMath, equation 4 (2402.03300)
    """
    require_token_values(completion_mask, token_logps, reference_token_logps)
    # log_ratios = ???  # [N, T]: x, reference frozen, 0 on padding, so that nothing leaks | 即 x，参考策略停止梯度，填充处为 0
    # token_kl = ???    # [N, T]: k3 of x; near 0, torch.expm1 does not round | x 的 k3；在 0 附近，torch.expm1 没有舍入误差
    ### BEGIN SOLUTION TODO 2: k3 on each token | 逐 Token 的 k3
    log_ratios = (reference_token_logps.detach() - token_logps).masked_fill(~completion_mask, 0.0)
    token_kl = torch.expm1(log_ratios) - log_ratios
    ### END SOLUTION
    return token_kl


def grpo_token_losses(
    new_token_logps: torch.Tensor,
    old_token_logps: torch.Tensor,
    advantages: torch.Tensor,
    completion_mask: torch.Tensor,
    token_kl: torch.Tensor | None = None,
    beta: float = 0.0,
    epsilon_low: float = 0.2,
    epsilon_high: float = 0.2,
) -> torch.Tensor:
    """Clipped loss of each token on its token ratio, plus its KL penalty. | 每个 Token 基于 Token 比率的裁剪损失，加上 KL 惩罚。

    new_token_logps, old_token_logps: [N, T] float; outside the mask they may hold anything | 掩码之外可以是任何值
    advantages: [N], one for all tokens of a completion, or [N, T], one for each token | 每条回答一个，或每个 Token 一个
    completion_mask: [N, T] bool, True = valid; token_kl: [N, T] float, such as k3_kl gives, or None with beta = 0
                     | 例如 k3_kl 的结果；beta 为 0 时可以是 None
    beta: KL coefficient, >= 0 (default 0.0, as TRL; DeepSeekMath: 0.04); the KL is not multiplied by the ratio (TRL's default: it is)
          | 系数非负；KL 不乘比率
    epsilon_low: in (0, 1); epsilon_high: > 0 (defaults 0.2 and 0.2, as TRL) | 前者在 (0, 1) 内，后者为正
    returns: [N, T] float, 0 outside the mask; only new_token_logps and token_kl receive a gradient
             | 掩码之外为 0；只有 new_token_logps 与 token_kl 得到梯度
    ValueError: shapes differ, a valid value that is not finite, beta > 0 without token_kl, beta or an epsilon out of range
                | 形状不同、有效位置的数值不是有限数、beta > 0 而缺少 token_kl、beta 或 epsilon 越界
    Source: DeepSeekMath, equation 3 (2402.03300); bounds of unequal width: DAPO (2503.14476)
    """
    require_token_values(completion_mask, new_token_logps, old_token_logps)
    if advantages.shape == completion_mask.shape[:1]:
        advantages = advantages.unsqueeze(-1)  # [N, 1]: one for all tokens of a completion | 一条回答的全部 Token 共用一个
    elif advantages.shape != completion_mask.shape:
        raise ValueError("advantages must be [N] or [N, T] | advantages 必须是 [N] 或 [N, T]")
    if token_kl is None:
        token_kl = torch.zeros_like(new_token_logps)
        if beta > 0:
            raise ValueError("beta > 0 needs token_kl | beta > 0 时必须给出 token_kl")
    require_token_values(completion_mask, advantages.expand_as(completion_mask), token_kl)
    if not math.isfinite(beta) or beta < 0:
        raise ValueError("beta must be finite and >= 0 | beta 必须是非负有限数")
    if not 0 < epsilon_low < 1 or not 0 < epsilon_high < math.inf:
        raise ValueError("need 0 < epsilon_low < 1 and 0 < epsilon_high < inf | epsilon_low 须在 (0, 1) 内，epsilon_high 须为正有限数")
    # ratios = ???         # [N, T]: token ratio, gradient through new_token_logps only | Token 比率，梯度只经过 new_token_logps
    # clipped = ???        # [N, T]: ratio held in its clip range, a bound on each side | 比率限制在裁剪范围内，上下界各自给定
    # policy_losses = ???  # [N, T]: negative of the smaller surrogate; advantages frozen | 取较小的代理目标并取负；优势停止梯度
    # token_losses = ???   # [N, T]: KL penalty added, not times the ratio; 0 on padding | 加上 KL 惩罚，不乘比率；填充处为 0
    ### BEGIN SOLUTION TODO 3: Clipped token losses with KL | 带 KL 的 Token 裁剪损失
    ratios = torch.exp((new_token_logps - old_token_logps.detach()).masked_fill(~completion_mask, 0.0))
    clipped = ratios.clamp(1.0 - epsilon_low, 1.0 + epsilon_high)
    fixed_advantages = advantages.detach()
    policy_losses = -torch.minimum(ratios * fixed_advantages, clipped * fixed_advantages)
    token_losses = (policy_losses + beta * token_kl).masked_fill(~completion_mask, 0.0)
    ### END SOLUTION
    return token_losses


def reduce_token_losses(
    token_losses: torch.Tensor,
    completion_mask: torch.Tensor,
    reduction: str = "sequence_mean",
    max_length: int | None = None,
) -> torch.Tensor:
    """From token losses to one loss, by one of four reductions. | 用四种归约之一把 Token 损失合成一个损失。

    token_losses: [N, T] float; outside the mask they may hold anything | 掩码之外可以是任何值
    completion_mask: [N, T] bool, True = valid; a completion without a valid token adds 0 and is still one of the N
                     | 没有有效 Token 的回答贡献 0，仍计入 N
    reduction: "sequence_mean" (GRPO): mean over completions of their mean; "token_mean" (DAPO): mean over all valid tokens;
               "sequence_sum": mean over completions of their sum; "constant" (Dr.GRPO): that divided by max_length
               | 先逐条平均再对回答平均；全部有效 Token 平均；逐条求和再对回答平均；后者再除以 max_length
               (default "sequence_mean"; TRL's default is "dapo", a token mean)
    max_length: int >= 1, needed by "constant" only | 不小于 1 的整数，仅 "constant" 需要
    returns: one number, a float tensor without dimensions | 零维浮点张量
    ValueError: another reduction, "constant" without max_length; see require_token_values
                | 归约名称不对、"constant" 缺少 max_length；另见 require_token_values
    Source: DeepSeekMath (2402.03300); DAPO (2503.14476); Dr.GRPO (2503.20783)
    """
    require_token_values(completion_mask, token_losses)
    names = ("sequence_mean", "token_mean", "sequence_sum", "constant")
    if reduction not in names:
        raise ValueError(f"reduction must be one of | reduction 只能取: {', '.join(names)}")
    if reduction == "constant" and (max_length is None or max_length < 1):
        raise ValueError('"constant" needs max_length >= 1 | "constant" 需要 max_length，且不小于 1')
    # sums = ???     # [N]: valid tokens only; padding may hold -inf or NaN | 只含有效 Token；填充处可能是 -inf 或 NaN
    # lengths = ???  # [N]: number of valid tokens, possibly 0 | 有效 Token 数，可能为 0
    # loss = ???     # one number: what each sum is divided by is all that the four differ in | 一个数：四种归约只在除数上不同
    ### BEGIN SOLUTION TODO 4: Four reductions | 四种归约
    sums = token_losses.masked_fill(~completion_mask, 0.0).sum(dim=-1)
    lengths = completion_mask.sum(dim=-1)
    if reduction == "token_mean":
        loss = sums.sum() / lengths.sum().clamp(min=1)
    else:
        divisors = {"sequence_mean": lengths.clamp(min=1), "sequence_sum": 1, "constant": max_length}
        loss = (sums / divisors[reduction]).mean()
    ### END SOLUTION
    return loss
