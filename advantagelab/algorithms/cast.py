"""CAST, Clipped Asymmetric Self-Teaching: a verifier's base advantage, reshaped and flipped token by token by a self-teacher.

Source: CAST (arXiv 2606.00172). Where its equations and its words differ, or say nothing, the course's choice is in the docstring.
"""

import math

import torch

from advantagelab.algorithms.grpo import group_relative_advantages, grpo_token_losses, reduce_token_losses, require_token_values


def require_base_and_token_values(base_advantages: torch.Tensor, *token_values: torch.Tensor) -> None:
    """Refuse base advantages or token values that do not fit each other. | 拒绝互不相配的基础优势与 Token 数值。

    base_advantages: [N] float, N > 0; token_values: any number of [N, T] float tensors of one shape | 任意多个同形二维张量
    ValueError: shapes differ, a value that is not finite | 形状不相配、数值不是有限数
    """
    if base_advantages.ndim != 1 or base_advantages.numel() == 0:
        raise ValueError("base_advantages must be [N], N > 0 | base_advantages 必须是非空一维张量")
    for values in token_values:
        if values.ndim != 2 or values.shape != token_values[0].shape or len(values) != len(base_advantages):
            raise ValueError("gaps and weights must be [N, T], one row a completion | gaps 与 weights 必须是二维张量，每条回答一行")
    for values in (base_advantages, *token_values):
        if not torch.isfinite(values).all():
            raise ValueError("base advantages, gaps and weights must be finite | 基础优势、间隙与权重必须是有限数")


def require_bounds(*bounds: tuple[float, float]) -> None:
    """Refuse bounds that a ratio cannot be clipped to. | 拒绝无法用来裁剪比率的上下界。

    bounds: any number of (low, high) | 任意多个 (low, high)
    ValueError: anything but 0 < low <= high < inf with high >= 1 | 不满足 0 < low <= high < inf 且 high >= 1
    """
    for low, high in bounds:
        if not 0 < low <= high or not 1 <= high < math.inf:
            raise ValueError("bounds need 0 < low <= high < inf and high >= 1 | 上下界须满足 0 < low <= high < inf 且 high >= 1")


def cast_base_advantages(
    rewards: torch.Tensor,
    group_ids: torch.Tensor,
    delta_pos: float = 0.1,
    delta_neg: float = 0.1,
) -> torch.Tensor:
    """One advantage for each completion, from zero-variance groups too. | 每条回答一个优势，零方差组也不例外。

    rewards: [N] float or int, each 0 or 1, NaN = missing; group_ids: [N] int64, in any order, groups of any size
             | 只取 0 或 1，NaN 表示缺失；组的顺序与大小任意
    delta_pos, delta_neg: what an all-correct and an all-wrong group get in place of 0, finite, >= 0 (default 0.1 each)
                          | 全对组与全错组用来代替 0 的值，非负有限数
    returns: [N] float, detached; mixed group: group_relative_advantages; all scored rewards 1: +delta_pos; all 0: -delta_neg;
             0 where the reward is missing | 停止梯度；混合组用 group_relative_advantages；有奖励者全为 1：+delta_pos；
             全为 0：-delta_neg；奖励缺失处为 0
    ValueError: not [N], empty, shapes differ, group_ids not int64, another reward, a delta negative or not finite
                | 不是一维、为空、形状不同、group_ids 不是 int64、奖励取其他值、delta 为负或非有限数
    Source: CAST, sections 3.2 and 3.7 (2606.00172); the prototype has both deltas at 1
    """
    if rewards.ndim != 1 or rewards.numel() == 0 or group_ids.shape != rewards.shape:
        raise ValueError("rewards and group_ids must be [N], N > 0 | rewards 与 group_ids 必须是同形非空一维张量")
    if group_ids.dtype != torch.int64:
        raise ValueError("group_ids must be int64 | group_ids 必须是 int64 张量")
    if not ((rewards == 0) | (rewards == 1) | rewards.isnan()).all():
        raise ValueError("a reward must be 0, 1 or NaN (missing) | 奖励只能是 0、1 或 NaN（缺失）")
    if not 0 <= delta_pos < math.inf or not 0 <= delta_neg < math.inf:
        raise ValueError("delta_pos and delta_neg must be finite and >= 0 | delta_pos 与 delta_neg 必须是非负有限数")
    rewards = rewards.detach() if rewards.is_floating_point() else rewards.float()
    base_advantages = torch.zeros_like(rewards)
    for group in group_ids.unique():
        # scored = ???                   # [N] bool: completions of this group that have a reward | 本组中有奖励的回答
        # values = ???                   # [number scored]: their rewards, possibly none | 它们的奖励，可能一个也没有
        # base_advantages[scored] = ???  # [number scored]: by the kind of group: all 1, all 0, or mixed | 按组的种类：全 1、全 0 或混合
        ### BEGIN SOLUTION TODO 1: Base advantages | 基础优势
        scored = (group_ids == group) & ~rewards.isnan()
        values = rewards[scored]
        if (values == 1).all():
            base_advantages[scored] = delta_pos
        elif (values == 0).all():
            base_advantages[scored] = -delta_neg
        else:
            base_advantages[scored] = group_relative_advantages(values, group_ids[scored])
        ### END SOLUTION
    return base_advantages


def self_teacher_gap(
    teacher_token_logps: torch.Tensor,
    old_token_logps: torch.Tensor,
    completion_mask: torch.Tensor,
    dead_band: float = 0.0,
) -> torch.Tensor:
    """Log-probability of each sampled token by the self-teacher, minus that by the old policy. | 自教师与旧策略的 Token 对数概率之差。

    teacher_token_logps, old_token_logps: [N, T] float, of the same sampled tokens; outside the mask they may hold anything
                                          | 同一批采样 Token 的对数概率；掩码之外可以是任何值
    completion_mask: [N, T] bool, True = valid
    dead_band: finite, >= 0 (default 0.0): a gap of this size or smaller counts as 0 | 大小不超过它的间隙按 0 计
    returns: [N, T] float, detached: teacher - old; exactly 0 outside the mask and inside the dead band
             | 停止梯度；掩码之外与死区之内恰好为 0
    ValueError: shapes differ, mask not bool, a valid value that is not finite, dead_band negative or not finite
                | 形状不同、掩码不是布尔张量、有效位置的数值不是有限数、dead_band 为负或非有限数
    Source: CAST, section 3.3 (2606.00172): the student is the old policy, not the one being updated; the dead band is the course's
    """
    require_token_values(completion_mask, teacher_token_logps, old_token_logps)
    if not 0 <= dead_band < math.inf:
        raise ValueError("dead_band must be finite and >= 0 | dead_band 必须是非负有限数")
    # differences = ???  # [N, T]: teacher's minus old log-probabilities, a constant of the update | 自教师与旧策略的对数概率之差，是常数
    # gaps = ???         # [N, T]: the same, or exactly 0: padding may hold -inf or NaN | 原值，或恰好为 0：填充处可能是 -inf 或 NaN
    ### BEGIN SOLUTION TODO 2: Teacher–student gap | 教师—学生间隙
    differences = (teacher_token_logps - old_token_logps).detach()
    gaps = differences.masked_fill(~completion_mask | (differences.abs() <= dead_band), 0.0)
    ### END SOLUTION
    return gaps


def asymmetric_weights(
    base_advantages: torch.Tensor,
    gaps: torch.Tensor,
    z: str = "sign",
    positive_bounds: tuple[float, float] = (0.8, 1.05),
    negative_bounds: tuple[float, float] = (0.95, 1.2),
) -> torch.Tensor:
    """Weight of each token: exp of its gap, clipped as its completion's sign demands. | 每个 Token 的权重：间隙取 exp，按回答的符号裁剪。

    base_advantages: [N] float; gaps: [N, T] float, finite everywhere, from self_teacher_gap | 处处为有限数，由 self_teacher_gap 给出
    z: "sign": the ratio z is exp(sign(B) * gap), as CAST's words and the prototype have it; "printed": exp(gap), as its equation has it
       | "sign"：比率 z 为 exp(sign(B) * gap)，与 CAST 的文字和原型代码一致；"printed"：exp(gap)，与其公式一致
    positive_bounds, negative_bounds: (low, high) where B > 0 and where B <= 0 (defaults (0.8, 1.05) and (0.95, 1.2))
                                      | 分别用于 B > 0 与 B <= 0
    returns: [N, T] float, detached, between the bounds however large the gap | 停止梯度；间隙再大也落在上下界之内
    ValueError: shapes do not fit, a value that is not finite, another z, bounds other than 0 < low <= high with high >= 1
                | 形状不相配、数值不是有限数、z 取其他值、上下界不满足 0 < low <= high 且 high >= 1
    Source: CAST, section 3.4 and equation 8 (2606.00172)
    """
    require_base_and_token_values(base_advantages, gaps)
    require_bounds(positive_bounds, negative_bounds)
    if z not in ("sign", "printed"):
        raise ValueError('z must be "sign" or "printed" | z 只能取 "sign" 或 "printed"')
    base = base_advantages.unsqueeze(-1)  # [N, 1]: one for all tokens of a completion | 一条回答的全部 Token 共用一个
    # directions = ???  # what the gap is multiplied by: a sign, or 1 where z is "printed" | 间隙要乘的数：符号；z 为 "printed" 时是 1
    # z_values = ???    # [N, T]: z of each token | 每个 Token 的 z
    # weights = ???     # [N, T]: each row clipped by its own bounds; a constant of the update | 每行按各自的上下界裁剪；对更新而言是常数
    ### BEGIN SOLUTION TODO 3: Asymmetric weights | 非对称权重
    directions = base.sign() if z == "sign" else 1.0
    z_values = torch.exp(directions * gaps)
    weights = torch.where(base > 0, z_values.clamp(*positive_bounds), z_values.clamp(*negative_bounds)).detach()
    ### END SOLUTION
    return weights


def cast_token_advantages(
    base_advantages: torch.Tensor,
    gaps: torch.Tensor,
    weights: torch.Tensor,
    lam: float = 1.0,
    positive_bounds: tuple[float, float] = (0.8, 1.05),
    negative_bounds: tuple[float, float] = (0.95, 1.2),
    flip_down: bool = True,
    flip_up: bool = True,
    limit: float = 1.2,
) -> torch.Tensor:
    """One advantage for each token: the base advantage weighted or flipped, then clipped. | 每个 Token 一个优势：基础优势加权或翻转后裁剪。

    base_advantages: [N] float; gaps, weights: [N, T] float, from self_teacher_gap and asymmetric_weights | 由前两个函数给出
    lam: in [0, 1] (default 1.0): how far weights count, 1 + lam * (weight - 1) | 在 [0, 1] 内，权重起多大作用
    positive_bounds, negative_bounds: as for asymmetric_weights; a flip uses the bounds of the sign that it flips to
                                      | 与 asymmetric_weights 相同；翻转所用的上下界属于翻转之后的符号
    flip_down: tokens with B > 0 and gap < 0 get a negative advantage; flip_up: B < 0 and gap > 0, a positive one (default True, both)
               | B > 0 且间隙 < 0 的 Token 得到负优势；B < 0 且间隙 > 0 的得到正优势
    limit: > 0 (default 1.2), math.inf for none: the result lies in [-limit, limit] | 正数，结果限制在 [-limit, limit] 内；math.inf 不限制
    returns: [N, T] float, detached; 0 where B is 0 | 停止梯度；B 为 0 处是 0
    ValueError: shapes do not fit, a value that is not finite, lam, bounds or limit out of range, a flip neither True nor False
                | 形状不相配、数值不是有限数、lam、上下界或 limit 越界、翻转开关不是 True 或 False
    Source: CAST, equations 9 to 15 (2606.00172)
    """
    require_base_and_token_values(base_advantages, gaps, weights)
    require_bounds(positive_bounds, negative_bounds)
    if not 0 <= lam <= 1 or not limit > 0:
        raise ValueError("need 0 <= lam <= 1 and limit > 0 | 须满足 0 <= lam <= 1 且 limit > 0")
    if not isinstance(flip_down, bool) or not isinstance(flip_up, bool):
        raise ValueError("flip_down and flip_up must be True or False | flip_down 与 flip_up 只能是 True 或 False")
    base = base_advantages.unsqueeze(-1)  # [N, 1]: one for all tokens of a completion | 一条回答的全部 Token 共用一个
    # kept = ???               # [N, T]: sign of the base advantage kept, weights counted by lam | 保留基础优势的符号，权重按 lam 计
    # down_weights = ???       # [N, T]: w-, at least 1, bounds of a negative base advantage | w-，不小于 1，用负基础优势的上下界
    # up_weights = ???         # [N, T]: w+, at least 1, bounds of a positive base advantage | w+，不小于 1，用正基础优势的上下界
    # down = ???               # [N, T] bool: flipped down, if flip_down allows | 向下翻转，以 flip_down 允许为限
    # up = ???                 # [N, T] bool: flipped up, if flip_up allows | 向上翻转，以 flip_up 允许为限
    # raw = ???                # [N, T]: flipped or kept; lam counts in the flips too | 翻转或保留；翻转也按 lam 计
    # token_advantages = ???   # [N, T]: within the limit, a constant of the update | 限制在 limit 之内，对更新而言是常数
    ### BEGIN SOLUTION TODO 4: Flips and the final clip | 翻转与最终裁剪
    kept = base * (1.0 + lam * (weights - 1.0))
    down_weights = torch.exp(-gaps).clamp(max(1.0, negative_bounds[0]), negative_bounds[1])
    up_weights = torch.exp(gaps).clamp(max(1.0, positive_bounds[0]), positive_bounds[1])
    down = flip_down & (base > 0) & (gaps < 0)
    up = flip_up & (base < 0) & (gaps > 0)
    raw = torch.where(down, -base * (1.0 + lam * (down_weights - 1.0)), kept)
    raw = torch.where(up, -base * (1.0 + lam * (up_weights - 1.0)), raw)
    token_advantages = raw.clamp(-limit, limit).detach()
    ### END SOLUTION
    return token_advantages


def cast_loss(
    new_token_logps: torch.Tensor,
    old_token_logps: torch.Tensor,
    token_advantages: torch.Tensor,
    completion_mask: torch.Tensor,
    epsilon_low: float = 0.2,
    epsilon_high: float = 1.0,
    reduction: str = "token_mean",
) -> torch.Tensor:
    """GRPO's clipped loss, with an advantage of its own for each token. | GRPO 的裁剪损失，每个 Token 用自己的优势。

    new_token_logps, old_token_logps: [N, T] float; outside the mask they may hold anything | 掩码之外可以是任何值
    token_advantages: [N, T] float: the sign of each decides which bound stops its token | 各自的符号决定由哪一侧边界来拦
    completion_mask: [N, T] bool, True = valid
    epsilon_low: in (0, 1); epsilon_high: > 0 (defaults 0.2 and 1.0; the prototype: 0.28) | 前者在 (0, 1) 内，后者为正
    reduction: "token_mean", "sequence_mean" or "sequence_sum" (default "token_mean"; the prototype: "sequence_mean")
    returns: one number, a float tensor without dimensions; only new_token_logps receives a gradient
             | 零维浮点张量；只有 new_token_logps 得到梯度
    ValueError: shapes differ, mask not bool, a valid value that is not finite, another reduction, an epsilon out of range
                | 形状不同、掩码不是布尔张量、有效位置的数值不是有限数、归约名称不对、epsilon 越界
    Source: CAST, equation 16 (2606.00172)
    """
    require_token_values(completion_mask, new_token_logps, old_token_logps, token_advantages)
    if not 0 < epsilon_low < 1 or not 0 < epsilon_high < math.inf:
        raise ValueError("need 0 < epsilon_low < 1 and 0 < epsilon_high < inf | epsilon_low 须在 (0, 1) 内，epsilon_high 须为正有限数")
    names = ("token_mean", "sequence_mean", "sequence_sum")
    if reduction not in names:
        raise ValueError(f"reduction must be one of | reduction 只能取: {', '.join(names)}")
    # token_losses = ???  # [N, T]: clipped loss of each token, each bound its own epsilon | 每个 Token 的裁剪损失，上下界各用各的 epsilon
    # loss = ???          # one number | 一个数
    ### BEGIN SOLUTION TODO 5: CAST loss | CAST 损失
    token_losses = grpo_token_losses(
        new_token_logps, old_token_logps, token_advantages, completion_mask, epsilon_low=epsilon_low, epsilon_high=epsilon_high)
    loss = reduce_token_losses(token_losses, completion_mask, reduction)
    ### END SOLUTION
    return loss
