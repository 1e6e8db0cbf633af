"""The methods of the training lab: each a few of the lessons' functions, handed to the tiny model as a Method.

One configuration for all, so that they differ in nothing but the method: losses are summed over a completion's tokens and averaged over
completions, and every loss pays a KL penalty of 0.005 against the model that training started from.
"""

import torch

from advantagelab.algorithms.cast import asymmetric_weights, cast_base_advantages, cast_loss, cast_token_advantages, self_teacher_gap
from advantagelab.algorithms.grpo import group_relative_advantages, grpo_token_losses, k3_kl, reduce_token_losses
from advantagelab.algorithms.label_free import (
    contrast_augmented_rewards,
    ground_truth_rewards,
    majority_vote_rewards,
    self_certainty_rewards,
    soft_consensus_rewards,
)
from advantagelab.algorithms.om_grpo import answer_span_mask, om_grpo_loss
from advantagelab.algorithms.rloo import aggregate_sequence_logps, leave_one_out_advantages, rloo_policy_loss
from advantagelab.tinylm import Batch, Method, Teacher


def kl_penalty(batch: Batch, beta: float = 0.005) -> torch.Tensor:
    """k3 KL of the policy from the start model, summed over tokens, times beta. | 策略与起始模型的 k3 KL，对 Token 求和，乘以 beta。"""
    token_kl = k3_kl(batch.new_token_logps, batch.reference_token_logps, batch.completion_mask)
    return beta * reduce_token_losses(token_kl, batch.completion_mask, "sequence_sum")


def grpo_loss(batch: Batch, beta: float = 0.005) -> torch.Tensor:
    """GRPO's loss on all tokens, with its KL penalty. | 作用于全部 Token 的 GRPO 损失，含 KL 惩罚。"""
    token_losses = grpo_token_losses(batch.new_token_logps, batch.old_token_logps, batch.advantages, batch.completion_mask)
    return reduce_token_losses(token_losses, batch.completion_mask, "sequence_sum") + kl_penalty(batch, beta)


def grpo_method() -> Method:
    """GRPO with the verifier's rewards: the one that knows the answers. | 用验证器奖励的 GRPO：知道正确答案的一方。"""
    return Method(
        rewards=lambda batch: ground_truth_rewards(batch.answers, batch.correct_answers),
        advantages=lambda batch: group_relative_advantages(batch.rewards, batch.group_ids),
        loss=grpo_loss,
    )


def rloo_method() -> Method:
    """RLOO with the verifier's rewards, and the KL penalty of the others. | 用验证器奖励的 RLOO；KL 惩罚与其他方法相同。"""

    def loss(batch):
        new_logps = aggregate_sequence_logps(batch.new_token_logps, batch.completion_mask)
        old_logps = aggregate_sequence_logps(batch.old_token_logps, batch.completion_mask)
        losses, _ = rloo_policy_loss(new_logps, old_logps, batch.advantages)
        return losses.mean() + kl_penalty(batch)

    return Method(
        rewards=lambda batch: ground_truth_rewards(batch.answers, batch.correct_answers),
        advantages=lambda batch: leave_one_out_advantages(batch.rewards, batch.group_ids),
        loss=loss,
    )


def majority_vote_method(beta: float = 0.005) -> Method:
    """GRPO whose reward is the group's vote. | 以组内投票为奖励的 GRPO。"""
    return Method(
        rewards=lambda batch: majority_vote_rewards(batch.answers, batch.group_ids)[0],
        advantages=lambda batch: group_relative_advantages(batch.rewards, batch.group_ids),
        loss=lambda batch: grpo_loss(batch, beta),
    )


def self_certainty_method() -> Method:
    """GRPO whose reward is how sure the policy is of every token. | 以策略对每个 Token 的确信程度为奖励的 GRPO。"""
    return Method(
        rewards=lambda batch: self_certainty_rewards(batch.old_token_logits, batch.completion_mask),
        advantages=lambda batch: group_relative_advantages(batch.rewards, batch.group_ids),
        loss=grpo_loss,
    )


def soft_consensus_method() -> Method:
    """OM-GRPO's reward without its mask: the answer tokens are trained too. | 用 OM-GRPO 的奖励而不加掩码：答案 Token 也参与训练。"""
    return Method(
        rewards=lambda batch: soft_consensus_rewards(batch.answers, batch.group_ids),
        advantages=lambda batch: group_relative_advantages(batch.rewards, batch.group_ids),
        loss=grpo_loss,
    )


def outcome_masked_loss(batch: Batch, beta: float = 0.005, mask_kl: bool = False) -> torch.Tensor:
    """OM-GRPO's loss; unless mask_kl, answer tokens pay the KL penalty. | OM-GRPO 的损失；除非 mask_kl，答案 Token 仍付 KL 惩罚。"""
    return om_grpo_loss(batch.new_token_logps, batch.old_token_logps, batch.reference_token_logps, batch.advantages,
                        batch.completion_mask, batch.answer_mask, beta=beta, mask_kl=mask_kl, reduction="sequence_sum")


def masked_vote_method() -> Method:
    """OM-GRPO with the hard vote for its soft consensus. | 把 OM-GRPO 的软共识换成多数投票。"""
    return Method(
        rewards=lambda batch: majority_vote_rewards(batch.answers, batch.group_ids)[0],
        advantages=lambda batch: group_relative_advantages(batch.rewards, batch.group_ids),
        loss=outcome_masked_loss,
        answer_mask=answer_span_mask,
    )


def om_grpo_method(beta: float = 0.005, mask_kl: bool = False, normalizer: str = "max") -> Method:
    """OM-GRPO: the soft consensus decides, and the answer tokens leave the policy term. | OM-GRPO：软共识给奖励，答案 Token 退出策略项。"""
    return Method(
        rewards=lambda batch: soft_consensus_rewards(batch.answers, batch.group_ids, normalizer),
        advantages=lambda batch: group_relative_advantages(batch.rewards, batch.group_ids),
        loss=lambda batch: outcome_masked_loss(batch, beta, mask_kl),
        answer_mask=answer_span_mask,
    )


def om_grpo_car_method() -> Method:
    """OM-GRPO with CAR: answers given after a comparison vote too. | 带 CAR 的 OM-GRPO：比较两条回答后给出的答案也参加投票。"""
    return Method(
        rewards=lambda batch: contrast_augmented_rewards(batch.answers, batch.group_ids, batch.comparisons),
        advantages=lambda batch: group_relative_advantages(batch.rewards, batch.group_ids),
        loss=outcome_masked_loss,
        answer_mask=answer_span_mask,
        compare=True,
    )


def cast_method(
    context: str = "work",
    refresh: int | None = None,
    share: float = 1.0,
    verifier: bool = True,
    delta: float = 0.1,
    dead_band: float = 0.0,
    flip_down: bool = True,
    flip_up: bool = True,
) -> Method:
    """CAST, taught by the start model that is told to show its work. | CAST：教师是被要求写出过程的起始模型。

    context, refresh, share: what the teacher reads, and when and how far it follows the policy | 教师读到什么，何时、以多大幅度跟随策略
    verifier: False gives every completion the reward 1, right or wrong | False 时所有回答的奖励都是 1，不论对错
    """

    def rewards(batch):
        return ground_truth_rewards(batch.answers, batch.correct_answers) if verifier else torch.ones(len(batch))

    def advantages(batch):
        base_advantages = cast_base_advantages(batch.rewards, batch.group_ids, delta, delta)
        gaps = self_teacher_gap(batch.teacher_token_logps, batch.old_token_logps, batch.completion_mask, dead_band)
        weights = asymmetric_weights(base_advantages, gaps)
        return cast_token_advantages(base_advantages, gaps, weights, flip_down=flip_down, flip_up=flip_up)

    def loss(batch):
        policy_loss = cast_loss(
            batch.new_token_logps, batch.old_token_logps, batch.advantages, batch.completion_mask, reduction="sequence_sum")
        return policy_loss + kl_penalty(batch)

    return Method(rewards, advantages, loss, teacher=Teacher(context, refresh, share))


def teacher_kl(batch: Batch) -> torch.Tensor:
    """KL from the teacher, summed over tokens: what distillation makes small. | 与教师的 KL，对 Token 求和：蒸馏要减小的量。

    returns: one number: KL(policy, teacher) over the whole vocabulary at each valid token, mean over completions
             | 一个数：每个有效 Token 处在整个词表上的 KL(策略, 教师)，求和后对回答取平均
    """
    policy = torch.log_softmax(batch.new_token_logits, dim=-1)
    teacher = torch.log_softmax(batch.teacher_token_logits, dim=-1)
    return reduce_token_losses((policy.exp() * (policy - teacher)).sum(dim=-1), batch.completion_mask, "sequence_sum")


def distillation_method() -> Method:
    """No verifier, no reward: the policy imitates the teacher on its own completions. | 没有验证器与奖励：策略在自己的回答上模仿教师。"""
    return Method(
        rewards=lambda batch: torch.zeros(len(batch)),
        advantages=lambda batch: torch.zeros(len(batch)),
        loss=lambda batch: teacher_kl(batch) + kl_penalty(batch),
        teacher=Teacher("work"),
    )


def grpo_with_teacher_method() -> Method:
    """GRPO, and a tenth of the KL to the teacher that CAST has. | GRPO，再加十分之一的、与 CAST 同一个教师的 KL。"""
    return Method(
        rewards=lambda batch: ground_truth_rewards(batch.answers, batch.correct_answers),
        advantages=lambda batch: group_relative_advantages(batch.rewards, batch.group_ids),
        loss=lambda batch: grpo_loss(batch) + 0.1 * teacher_kl(batch),
        teacher=Teacher("work"),
    )
