r"""OM-GRPO, Outcome-Masked GRPO: the answer decides the reward, and its tokens leave the loss.

Source: OM-GRPO (arXiv 2608.03119). The span of the answer, the k3 estimator and the denominators are course conventions.
"""

import math

import torch

from advantagelab.algorithms.grpo import grpo_token_losses, k3_kl, reduce_token_losses, require_token_values

# Appendix B of the translation, under the names of TRL's GRPOConfig where it has one.
APPENDIX_B = {
    "prompts_per_update": 128,  # no TRL name: generation_batch_size counts completions, 128 * 8 = 1024
    "num_generations": 8,  # the group size G
    "max_prompt_length": 512,  # tokens; newer TRL leaves it to the data set
    "max_completion_length": 3072,  # tokens
    "num_train_epochs": 6,
    "test_time_training_epochs": 30,  # no TRL name: num_train_epochs of test-time training, all else unchanged
    "optim": "adamw_torch",
    "learning_rate": 3e-6,
    "adam_beta1": 0.9,
    "adam_beta2": 0.999,
    "adam_epsilon": 1e-8,  # AdamW's epsilon, not the clip range's
    "lr_scheduler_type": "cosine",
    "warmup_ratio": 0.1,  # newer transformers write warmup_steps=0.1
    "beta": 0.005,  # KL coefficient
    "epsilon": 0.2,  # the clip range, on both sides
    "temperature": 1.0,  # sampling while training
    "eval_temperature": 0.8,  # no TRL name: sampling while evaluating
    "eval_top_p": 0.95,  # no TRL name
}


def closing_brace(text: str, begin: int) -> int | None:
    r"""Position of the brace that closes the one opened just before `begin`. | 与 `begin` 之前那个左括号配对的右括号位置。

    returns: its index in text, None if it never closes | 未闭合时为 None
    An escaped brace, \{ or \}, is part of the text and opens or closes nothing. | 转义括号属于正文，不参与配对。
    """
    depth, position = 1, begin
    while position < len(text):
        if text[position] == "\\":
            position += 1
        elif text[position] == "{":
            depth += 1
        elif text[position] == "}":
            depth -= 1
            if depth == 0:
                return position
        position += 1
    return None


def answer_span_mask(text: str, offsets: list[tuple[int, int]]) -> torch.Tensor:
    r"""True on the tokens that hold characters of the boxed answer. | 含有方框内答案字符的 Token 为 True。

    text: the whole completion; offsets: T pairs (start, end), the characters text[start:end] of each token
          | 整条回答；每个 Token 一对 (start, end)，它的字符是 text[start:end]
    returns: [T] bool. The answer is everything strictly inside the last \boxed{…} whose braces balance (the one that opens last), spaces
             included; no such box or an empty one: all False; a token of width 0: False; tokens may share characters
             | 答案是最后一个括号配对的 \boxed{…}（按起点取最后一个）之内的一切，空格也算；没有这样的方框或方框为空时全为 False；
             零宽 Token 为 False；Token 之间可以共有字符
    ValueError: start > end, or an offset outside the text | start 大于 end，或偏移超出文本
    Source: course convention: overlap of character intervals; the box counts only as the seven characters `\boxed{`
    """
    for start, end in offsets:
        if not 0 <= start <= end <= len(text):
            raise ValueError("an offset needs 0 <= start <= end <= len(text) | 偏移须满足 0 <= start <= end <= len(text)")
    # first, last = ???, ???  # characters text[first:last] are the answer; equal if there is none | 答案的字符区间；没有答案时两者相等
    # mask = ???              # [T] bool: tokens that share a character with the answer | 与答案共有字符的 Token
    ### BEGIN SOLUTION TODO 1: Answer mask | 答案掩码
    first = last = 0
    opening = text.find("\\boxed{")
    while opening >= 0:
        inside = opening + len("\\boxed{")
        closing = closing_brace(text, inside)
        if closing is not None:
            first, last = inside, closing
        opening = text.find("\\boxed{", inside)
    mask = torch.tensor([max(start, first) < min(end, last) for start, end in offsets], dtype=torch.bool)
    ### END SOLUTION
    return mask


def token_offsets(tokens: list[str]) -> list[tuple[int, int]]:
    """Where each token stands in the text that all of them make. | 每个 Token 在拼接文本中的位置。

    tokens: T strings whose concatenation is the completion | 依次拼接即为整条回答
    returns: T pairs (start, end) | T 对 (start, end)
    """
    ends = [len("".join(tokens[:t + 1])) for t in range(len(tokens))]
    return [(end - len(token), end) for token, end in zip(tokens, ends, strict=True)]


def om_grpo_loss(
    new_token_logps: torch.Tensor,
    old_token_logps: torch.Tensor,
    reference_token_logps: torch.Tensor,
    advantages: torch.Tensor,
    completion_mask: torch.Tensor,
    answer_mask: torch.Tensor,
    beta: float = 0.005,
    epsilon_low: float = 0.2,
    epsilon_high: float = 0.2,
    mask_kl: bool = True,
    reduction: str = "sequence_sum",
) -> torch.Tensor:
    """GRPO's loss without the answer tokens: clipped policy term plus KL penalty. | 去掉答案 Token 的 GRPO 损失：裁剪后的策略项加 KL 惩罚。

    new_token_logps, old_token_logps, reference_token_logps: [N, T] float; outside the masks they may hold anything, inside they must be
               finite, or the result is undefined | 掩码之外可以是任何值；掩码之内须为有限数，否则结果未定义
    advantages: [N] float, one for all tokens of a completion | 每条回答一个
    completion_mask: [N, T] bool, True = valid; answer_mask: [N, T] bool, True = token of the answer, harmless on padding
                     | True 表示答案 Token，填充处取何值都无妨
    beta: KL coefficient, >= 0 (default 0.005); epsilon_low: in (0, 1); epsilon_high: > 0 (defaults 0.2 and 0.2)
          | 系数非负；epsilon_low 在 (0, 1) 内，epsilon_high 为正
    mask_kl: True (the default) leaves the answer tokens out of the KL penalty, too; False keeps them
             | True 时答案 Token 也不付 KL 惩罚，False 时仍付
    reduction: "sequence_sum" (the default), "sequence_mean" or "token_mean", of the policy term over the loss mask, of the KL penalty over
               the mask that it uses; what divides counts the tokens of that mask
               | 策略项按损失掩码归约，KL 惩罚按它所用的掩码归约；除数只数该掩码内的 Token
    returns: one number, a float tensor without dimensions; only new_token_logps receives a gradient, exactly 0 outside the masks
             | 零维浮点张量；只有 new_token_logps 得到梯度，掩码之外恰好为 0
    ValueError: a mask not bool or not [N, T], shapes differ, advantages, beta or an epsilon out of range, another reduction
                | 掩码不是二维布尔张量、形状不同、advantages、beta 或 epsilon 越界、reduction 取其他值
    Source: OM-GRPO, equation 1 and appendix D.2 (2608.03119); equation 1 as the translation prints it: mask_kl=False
    """
    require_token_values(completion_mask)
    if answer_mask.dtype != torch.bool or answer_mask.shape != completion_mask.shape:
        raise ValueError("answer_mask must be bool, of completion_mask's shape | answer_mask 必须是与 completion_mask 同形的布尔张量")
    if not new_token_logps.shape == old_token_logps.shape == reference_token_logps.shape == completion_mask.shape:
        raise ValueError("token log-probabilities and masks must have one shape | Token 对数概率与掩码必须同形")
    if advantages.shape != completion_mask.shape[:1] or not torch.isfinite(advantages).all():
        raise ValueError("advantages must be [N] and finite | advantages 必须是 [N] 的有限数")
    if not math.isfinite(beta) or beta < 0:
        raise ValueError("beta must be finite and >= 0 | beta 必须是非负有限数")
    if not 0 < epsilon_low < 1 or not 0 < epsilon_high < math.inf:
        raise ValueError("need 0 < epsilon_low < 1 and 0 < epsilon_high < inf | epsilon_low 须在 (0, 1) 内，epsilon_high 须为正有限数")
    if reduction not in ("sequence_sum", "sequence_mean", "token_mean"):
        raise ValueError("reduction must be sequence_sum, sequence_mean or token_mean | reduction 只能取这三个名称之一")
    # loss_mask = ???      # [N, T] bool: completion tokens that are no answer tokens | 回答中不属于答案的 Token
    # policy_losses = ???  # [N, T]: clipped losses of these tokens, by grpo_token_losses | 这些 Token 的裁剪损失，用 grpo_token_losses
    # kl_mask = ???        # [N, T] bool: which tokens pay the KL penalty, as mask_kl says | 哪些 Token 付 KL 惩罚，由 mask_kl 决定
    # token_kl = ???       # [N, T]: k3 against the reference policy, by k3_kl | 相对参考策略的 k3，用 k3_kl
    # loss = ???           # one number: both reduced, each over its own mask, and beta | 一个数：两者各按自己的掩码归约，再用上 beta
    ### BEGIN SOLUTION TODO 5: Outcome-masked loss | 结果掩码损失
    loss_mask = completion_mask & ~answer_mask
    policy_losses = grpo_token_losses(
        new_token_logps, old_token_logps, advantages, loss_mask, epsilon_low=epsilon_low, epsilon_high=epsilon_high)
    kl_mask = loss_mask if mask_kl else completion_mask
    token_kl = k3_kl(new_token_logps, reference_token_logps, kl_mask)
    loss = reduce_token_losses(policy_losses, loss_mask, reduction) + beta * reduce_token_losses(token_kl, kl_mask, reduction)
    ### END SOLUTION
    return loss
