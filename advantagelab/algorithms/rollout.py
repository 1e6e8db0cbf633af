"""The rollout lifecycle: from sampled ids to a frozen record, and from the record to the importance ratio of an update.

Sources: the masks and the temperature follow TRL's GRPOTrainer; the ratio is PPO's (Schulman et al. 2017, arXiv 1707.06347).
The versions in a record, and the refusal of a stale one, are a convention of this course.
"""

import math

import torch


def completion_mask_from_ids(completion_ids: torch.Tensor, eos_id: int) -> torch.Tensor:
    """Which positions of each completion are valid: up to the first EOS. | 每条回答的有效位置：到第一个 EOS 为止。

    completion_ids: [N, T] int64, right-padded; the padding id may be any id, eos_id too | 右侧填充；填充 id 可以是任何值，包括 eos_id
    eos_id: int >= 0
    returns: [N, T] bool; the first EOS is True, everything after it False; a row without EOS (cut off at the length limit) is all True
             | 第一个 EOS 为 True，其后全为 False；没有 EOS 的行（因长度上限而中断）全为 True
    ValueError: ids not [N, T] int64 or empty, eos_id not an int >= 0 | id 不是非空的二维 int64 张量，eos_id 不是非负整数
    Source: TRL GRPOTrainer (mask everything after the first EOS token)
    """
    if completion_ids.ndim != 2 or completion_ids.numel() == 0 or completion_ids.dtype != torch.int64:
        raise ValueError("completion_ids must be [N, T] int64, not empty | completion_ids 必须是非空的二维 int64 张量")
    if not isinstance(eos_id, int) or eos_id < 0:
        raise ValueError("eos_id must be an int >= 0 | eos_id 必须是非负整数")
    # completion_mask = ???  # [N, T] bool: no EOS stands before this position | 这个位置之前没有 EOS
    ### BEGIN SOLUTION TODO 1: Completion mask | 回答掩码
    is_eos = (completion_ids == eos_id).long()
    eos_before = is_eos.cumsum(dim=-1) - is_eos
    completion_mask = eos_before == 0
    ### END SOLUTION
    return completion_mask


def gather_token_logps(logits: torch.Tensor, ids: torch.Tensor, prompt_length: int, temperature: float = 1.0) -> torch.Tensor:
    """Log-probability of each completion token under the logits before it. | 由前一位置的 logits 求每个回答 Token 的对数概率。

    logits: [N, P + T, V] float, what the model gives for `ids`; -inf = a token that could not be sampled | -inf 表示不可能被采样的 Token
    ids: [N, P + T] int64, the prompt and then the completion | 先提示，后回答
    prompt_length: P, 1 <= P < P + T; temperature: the one that the completions were sampled at, > 0 (default 1.0) | 采样时的温度
    returns: [N, T] float, the completion's tokens only, padding included: the mask is applied later; the gradient flows into logits
             | 只含回答的 Token，包括填充，掩码以后再用；梯度流入 logits
    ValueError: shapes or dtypes other than these, an id outside [0, V), prompt_length out of range, temperature not finite or <= 0
                | 形状或类型不符、id 不在 [0, V) 内、prompt_length 越界、温度不是正有限数
    Source: TRL GRPOTrainer (logits of the position before, divided by the temperature)
    """
    if logits.ndim != 3 or logits.numel() == 0 or not logits.is_floating_point():
        raise ValueError("logits must be [N, P + T, V] float, not empty | logits 必须是非空的三维浮点张量")
    if ids.shape != logits.shape[:2] or ids.dtype != torch.int64:
        raise ValueError("ids must be [N, P + T] int64, as logits | ids 必须是 [N, P + T] 的 int64 张量，与 logits 对应")
    if not 0 <= int(ids.min()) <= int(ids.max()) < logits.shape[-1]:
        raise ValueError("every id must be in [0, V) | 每个 id 都必须在 [0, V) 内")
    if not 1 <= prompt_length < ids.shape[1]:
        raise ValueError("need 1 <= prompt_length < P + T | 须满足 1 <= prompt_length < P + T")
    if not math.isfinite(temperature) or temperature <= 0:
        raise ValueError("temperature must be finite and > 0 | 温度必须是正有限数")
    # predicting = ???   # [N, T, V]: the logits that each completion token was sampled from | 采样每个回答 Token 所依据的 logits
    # token_logps = ???  # [N, T]: at the sampling temperature, one for each completion token | 采样温度下，每个回答 Token 一个
    ### BEGIN SOLUTION TODO 2: Token log-probabilities | Token 对数概率
    predicting = logits[:, prompt_length - 1:-1]
    completion_ids = ids[:, prompt_length:]
    all_logps = torch.log_softmax(predicting / temperature, dim=-1)
    token_logps = all_logps.gather(-1, completion_ids.unsqueeze(-1)).squeeze(-1)
    ### END SOLUTION
    return token_logps


def validate_group(records: list[dict]) -> dict:
    """What the records of one group share; refuse a group whose records differ in it. | 返回一组记录的共同字段；不一致则拒绝。

    records: one dict for each completion; besides other fields it has prompt_id, policy_version, reward_version, reference_version and
             teacher_version (ints or strings; None where there is no reference policy or no self-teacher)
             | 每条回答一个字典，至少含上述五个字段（整数或字符串；没有参考策略或自教师时为 None）
    returns: dict with these five fields and the value that all records have | 这五个字段及其共同的值
    ValueError: no record, a field missing from a record, a field that differs; the message names the field
                | 没有记录、某条记录缺少字段、字段的值不一致；错误信息写明字段
    Source: course convention
    """
    if not records:
        raise ValueError("a group needs at least one record | 一组至少要有一条记录")
    shared = {}
    for field in ("prompt_id", "policy_version", "reward_version", "reference_version", "teacher_version"):
        # values = ???         # one for each record that has the field | 有该字段的记录各一个
        # shared[field] = ???  # what all records have; else ValueError, naming the field | 共同的值；否则抛出 ValueError 并写明字段
        ### BEGIN SOLUTION TODO 3: What a group shares | 一组记录的共同字段
        values = [record[field] for record in records if field in record]
        if len(values) < len(records) or any(value != values[0] for value in values):
            raise ValueError(f"{field}: missing or not the same in every record | 有记录缺失，或值不一致")
        shared[field] = values[0]
        ### END SOLUTION
    return shared


def importance_ratio(new_token_logps: torch.Tensor, record: dict, policy_version: int) -> torch.Tensor:
    """Token ratios of the policy being updated to the policy that sampled. | 被更新的策略与采样策略之间的 Token 比率。

    new_token_logps: [N, T] float, computed anew for each inner update | 每次内部更新都重新计算
    record: dict, frozen when the batch was sampled | 采样时冻结的字典
            policy_version: the version that sampled; old_token_logps: [N, T] float; completion_mask: [N, T] bool, True = valid
    policy_version: the version that this round samples with. It stays the same for all inner updates of a round, and the next round
                    has the next one | 本轮采样所用的版本：同一轮的各次内部更新都不变，下一轮才加一
    returns: [N, T] float; exactly 1 outside the mask, where log-probabilities may be anything; only new_token_logps receives a gradient
             | 掩码之外恒为 1，那里的对数概率可以是任何值；只有 new_token_logps 得到梯度
    ValueError: record of another version (stale: the message names policy_version), a field missing, mask not bool, shapes differ, a
                valid log-probability not finite
                | 记录属于其他版本（已过期，错误信息写明 policy_version）、缺少字段、掩码不是布尔张量、形状不同、有效的对数概率不是有限数
    Source: PPO (1707.06347), one ratio for each token; the version check is a course convention
    """
    for field in ("policy_version", "old_token_logps", "completion_mask"):
        if field not in record:
            raise ValueError(f"the record has no {field} | 记录缺少 {field}")
    old_token_logps, completion_mask = record["old_token_logps"], record["completion_mask"]
    if completion_mask.ndim != 2 or completion_mask.numel() == 0 or completion_mask.dtype != torch.bool:
        raise ValueError("completion_mask must be [N, T] bool, True = valid | completion_mask 必须是非空二维布尔张量，True 表示有效")
    if not new_token_logps.shape == old_token_logps.shape == completion_mask.shape:
        raise ValueError("token log-probabilities and mask must have one shape | Token 对数概率与掩码必须同形")
    if not all(torch.isfinite(logps[completion_mask]).all() for logps in (new_token_logps, old_token_logps)):
        raise ValueError("valid token log-probabilities must be finite | 有效位置的 Token 对数概率必须是有限数")
    # A record of another version: ValueError, naming policy_version | 其他版本的记录：抛出 ValueError 并写明 policy_version
    # ratios = ???  # [N, T]: new over old, old frozen; 1 without gradient outside the mask | 新比旧，旧的停止梯度；掩码之外为 1，无梯度
    ### BEGIN SOLUTION TODO 4: Importance ratio | 重要性比率
    if record["policy_version"] != policy_version:
        raise ValueError("stale record: its policy_version is not this round's | 记录已过期：policy_version 不是本轮的版本")
    log_ratios = new_token_logps - old_token_logps.detach()
    ratios = torch.exp(log_ratios.masked_fill(~completion_mask, 0.0))
    ### END SOLUTION
    return ratios
