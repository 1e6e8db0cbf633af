"""OM-GRPO's loss alone, without a model: `GRPOTrainer._compute_loss` with a tool mask that is 0 on the answer's tokens.

TRL multiplies its completion mask by `tool_mask` in the loss only: policy term and KL leave these tokens out, and so does what a
reduction divides by. That is `om_grpo_loss` with mask_kl=True; TRL has no mask for the policy term alone.
"""

from types import SimpleNamespace

import torch

from .compare import compare
from .learner import LearnerFunctions, learner_gradient
from .without_model import loss_without_model

TOLERANCE = 1e-5  # both sides compute in float32 from the same log-probabilities
REDUCTIONS = {  # TRL's loss_type -> reduction
    "luspo": "sequence_sum",
    "grpo": "sequence_mean",
    "dapo": "token_mean",
    "bnpo": "token_mean",
}
BETA = 0.5
# With the two bounds exchanged, exp(0.2) and exp(-0.2) would lie on the other side of theirs.
EPSILON_LOW, EPSILON_HIGH = 0.1, 0.3

# Nine completions of up to seven tokens, one of them empty. Answers in the middle, at the end, at the start, beyond the end, none at
# all, and one that is the whole completion.
MASK = torch.arange(7) < torch.tensor([7, 6, 4, 7, 0, 3, 2, 5, 7]).unsqueeze(1)
ANSWER_SPANS = [(4, 6), (2, 5), (2, 4), (0, 1), (0, 0), (2, 5), (0, 2), (3, 4), (0, 0)]
ANSWER_MASK = torch.stack([(first <= torch.arange(7)) & (torch.arange(7) < last) for first, last in ANSWER_SPANS])
LOSS_MASK = MASK & ~ANSWER_MASK
ADVANTAGES = torch.tensor([1.0, -1.0, 2.0, -2.0, 0.7, -0.4, 0.9, 1.5, -1.5])
STEPS = torch.tensor([0.5, 0.2, 0.05, 0.0, -0.05, -0.2, -0.5])
LOG_RATIOS = STEPS[(torch.tensor([0, 0, 5, 4, 0, 2, 1, 1, 3]).unsqueeze(1) + torch.arange(7)) % 7]
REFERENCE_LOG_RATIOS = torch.linspace(-0.8, 0.6, 63).reshape(9, 7)
# TRL multiplies by its masks, so what is left out must be finite; it must not be 0, or a leak would go unseen.
TOKEN_LOGPS = -0.3 - torch.arange(63.0).reshape(9, 7) / 20
OLD_LOGPS = torch.where(MASK, TOKEN_LOGPS - LOG_RATIOS, -6.0)
REFERENCE_LOGPS = torch.where(MASK, TOKEN_LOGPS - REFERENCE_LOG_RATIOS, -5.0)


def compare_loss(functions: LearnerFunctions, trainer_class: type, checks: dict[str, str]) -> None:
    for suffix, beta in (("", 0.0), ("_kl", BETA)):
        for loss_type in REDUCTIONS:
            loss, gradient = of_trl(trainer_class, loss_type, beta)
            theirs = {f"loss_{loss_type}{suffix}": loss, f"gradient_{loss_type}{suffix}": gradient}
            compare(checks, theirs, TOLERANCE, _of_learner, functions, REDUCTIONS[loss_type], beta)
    _, gradient = of_trl(trainer_class, "luspo", BETA)
    # Exactly 0, on both sides: no rounding excuses a push on an answer.
    if gradient[ANSWER_MASK].any():
        raise RuntimeError("tool_mask leaves a gradient on masked tokens")
    compare(checks, {"gradient_0_on_answers": gradient[ANSWER_MASK]}, 0.0,
            lambda: [_of_learner(functions, "sequence_sum", BETA)[1].reshape(MASK.shape)[ANSWER_MASK]])
    # Now what is to be frozen depends on the policy, and whoever uses it has to detach it.
    compare(checks, {"gradient_undetached_inputs": gradient}, TOLERANCE,
            lambda: _of_learner(functions, "sequence_sum", BETA, undetached=True)[1:])


def of_trl(trainer_class: type, loss_type: str, beta: float) -> tuple[torch.Tensor, torch.Tensor]:
    """Loss and its gradient on TOKEN_LOGPS."""
    batch = {"old_per_token_logps": OLD_LOGPS, "ref_per_token_logps": REFERENCE_LOGPS, "advantages": ADVANTAGES,
             "tool_mask": (~ANSWER_MASK).long(), "num_items_in_batch": LOSS_MASK.sum()}
    return loss_without_model(
        trainer_class, TOKEN_LOGPS, MASK, batch, loss_type=loss_type, beta=beta, epsilon_low=EPSILON_LOW, epsilon_high=EPSILON_HIGH,
        importance_sampling_level="token",
        # What TRL adds to GRPO is off, the ratio in front of its KL above all.
        args=SimpleNamespace(use_bias_correction_kl=False, delta=None), off_policy_mask_threshold=None, top_entropy_quantile=1.0,
        use_vllm=False, _entropy_bonus_enabled=False)


def _of_learner(functions: LearnerFunctions, reduction: str, beta: float, undetached: bool = False) -> tuple[torch.Tensor, torch.Tensor]:
    token_logps = TOKEN_LOGPS.clone().requires_grad_()
    link = token_logps - token_logps.detach() if undetached else torch.zeros_like(TOKEN_LOGPS)  # 0, but with a gradient
    loss = functions.call(
        "om_grpo_loss", token_logps, OLD_LOGPS + link, REFERENCE_LOGPS + link, ADVANTAGES + link[:, 0], MASK, ANSWER_MASK,
        shape=torch.Size(), beta=beta, epsilon_low=EPSILON_LOW, epsilon_high=EPSILON_HIGH, mask_kl=True, reduction=reduction)
    return loss, learner_gradient(loss, [token_logps])
