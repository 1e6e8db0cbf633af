"""GRPO's loss alone, without a model: `GRPOTrainer._compute_loss` by each of its reductions, with and without KL.

Two of TRL's variants are put together from the learner's functions: the sequence ratio (GSPO), which is the token ratio of
log-probabilities whose change is one mean for all tokens of a completion, and the KL with bias correction, k3 times the ratio.
The loss types cispo, sapo and vespo have no counterpart in the course.
"""

from types import SimpleNamespace

import torch

from .compare import compare
from .learner import LearnerFunctions, learner_gradient
from .without_model import loss_without_model

TOLERANCE = 1e-5  # both sides compute in float32 from the same log-probabilities
REDUCTIONS = {  # TRL's loss_type -> reduction
    "grpo": "sequence_mean",
    "dapo": "token_mean",
    "bnpo": "token_mean",
    "dr_grpo": "constant",
    "luspo": "sequence_sum",
}
BETA, MAX_LENGTH = 0.5, 7
# With the two bounds exchanged, exp(0.2) and exp(-0.2) would lie on the other side of theirs.
EPSILON_LOW, EPSILON_HIGH = 0.1, 0.3

# Eight completions, one of them empty; with either sign of the advantage every log-ratio stands on a valid token.
MASK = torch.arange(5) < torch.tensor([5, 4, 3, 5, 0, 2, 1, 3]).unsqueeze(1)
ADVANTAGES = torch.tensor([1.0, -1.0, 2.0, -2.0, 0.7, -0.4, 1.5, -1.5])
STEPS = torch.tensor([0.5, 0.2, 0.05, 0.0, -0.05, -0.2, -0.5])
LOG_RATIOS = STEPS[(torch.tensor([0, 0, 5, 4, 0, 2, 1, 1]).unsqueeze(1) + torch.arange(5)) % 7]
REFERENCE_LOG_RATIOS = torch.linspace(-0.8, 0.6, 40).reshape(8, 5)
# TRL multiplies by the mask, so its padding must be finite; it must not be 0, or a leak would go unseen.
TOKEN_LOGPS = -0.3 - torch.arange(40.0).reshape(8, 5) / 20
OLD_LOGPS = torch.where(MASK, TOKEN_LOGPS - LOG_RATIOS, -6.0)
REFERENCE_LOGPS = torch.where(MASK, TOKEN_LOGPS - REFERENCE_LOG_RATIOS, -5.0)


# The change of each completion's mean log-probability: with either sign of the advantage beyond each bound, and the two bounds told apart.
MEAN_LOG_RATIOS = torch.tensor([0.5, -0.5, -0.5, 0.5, 0.0, -0.2, 0.2, 0.05]).unsqueeze(1)
LENGTHS = MASK.sum(-1, keepdim=True).clamp(min=1)
MEANS = (LOG_RATIOS * MASK).sum(-1, keepdim=True) / LENGTHS
OLD_LOGPS_OF_SEQUENCES = torch.where(MASK, TOKEN_LOGPS - LOG_RATIOS + MEANS - MEAN_LOG_RATIOS, -6.0)


def compare_loss(functions: LearnerFunctions, trainer_class: type, checks: dict[str, str]) -> None:
    for suffix, beta in (("", 0.0), ("_kl", BETA)):
        for loss_type in REDUCTIONS:
            loss, gradient = _of_trl(trainer_class, loss_type, beta)
            theirs = {f"loss_{loss_type}{suffix}": loss, f"gradient_{loss_type}{suffix}": gradient}
            compare(checks, theirs, TOLERANCE, _of_learner, functions, REDUCTIONS[loss_type], beta)
    for suffix, beta, variant in (("_sequence_ratio", 0.0, {"level": "sequence"}), ("_kl_corrected", BETA, {"corrected": True})):
        losses, gradients = zip(*(_of_trl(trainer_class, loss_type, beta, **variant) for loss_type in REDUCTIONS))
        theirs = {f"loss{suffix}": torch.stack(losses), f"gradient{suffix}": torch.stack(gradients)}
        compare(checks, theirs, TOLERANCE, _all_of_learner, functions, beta, variant)
    # Now what is to be frozen depends on the policy, and whoever uses it has to detach it.
    _, gradient = _of_trl(trainer_class, "grpo", BETA)
    compare(checks, {"gradient_undetached_inputs": gradient}, TOLERANCE,
            lambda: _of_learner(functions, REDUCTIONS["grpo"], BETA, undetached=True)[1:])


def _of_trl(
    trainer_class: type, loss_type: str, beta: float, level: str = "token", corrected: bool = False
) -> tuple[torch.Tensor, torch.Tensor]:
    """Loss and its gradient on TOKEN_LOGPS. level: of the ratio; corrected: k3 is multiplied by the ratio."""
    old_logps = OLD_LOGPS if level == "token" else OLD_LOGPS_OF_SEQUENCES
    batch = {"old_per_token_logps": old_logps, "ref_per_token_logps": REFERENCE_LOGPS, "advantages": ADVANTAGES,
             "num_items_in_batch": MASK.sum()}
    return loss_without_model(
        trainer_class, TOKEN_LOGPS, MASK, batch, loss_type=loss_type, beta=beta, epsilon_low=EPSILON_LOW, epsilon_high=EPSILON_HIGH,
        max_completion_length=MAX_LENGTH, importance_sampling_level=level,
        # What TRL adds to GRPO is off, by default the ratio in front of its KL as well.
        args=SimpleNamespace(use_bias_correction_kl=corrected, delta=None), off_policy_mask_threshold=None, top_entropy_quantile=1.0,
        use_vllm=False, _entropy_bonus_enabled=False)


def _of_learner(
    functions: LearnerFunctions, reduction: str, beta: float, level: str = "token", corrected: bool = False, undetached: bool = False
) -> tuple[torch.Tensor, torch.Tensor]:
    token_logps = TOKEN_LOGPS.clone().requires_grad_()
    link = token_logps - token_logps.detach() if undetached else torch.zeros_like(TOKEN_LOGPS)  # 0, but with a gradient
    inputs = [token_logps, OLD_LOGPS + link, ADVANTAGES + link[:, 0], MASK]
    if level == "sequence":
        changes = (token_logps - OLD_LOGPS_OF_SEQUENCES).masked_fill(~MASK, 0.0).sum(-1, keepdim=True) / LENGTHS
        inputs[:2] = [OLD_LOGPS_OF_SEQUENCES + changes, OLD_LOGPS_OF_SEQUENCES]
    if beta:
        token_kl = functions.call("k3_kl", token_logps, REFERENCE_LOGPS + link, MASK, shape=MASK.shape)
        inputs.append(token_kl * (token_logps - OLD_LOGPS).masked_fill(~MASK, 0.0).exp() if corrected else token_kl)
    losses = functions.call("grpo_token_losses", *inputs, shape=MASK.shape, beta=beta, epsilon_low=EPSILON_LOW, epsilon_high=EPSILON_HIGH)
    loss = functions.call("reduce_token_losses", losses, MASK, shape=torch.Size(), reduction=reduction, max_length=MAX_LENGTH)
    return loss, learner_gradient(loss, [token_logps])


def _all_of_learner(functions: LearnerFunctions, beta: float, variant: dict) -> tuple[torch.Tensor, torch.Tensor]:
    """Losses and gradients by every reduction, in TRL's order of loss types."""
    losses, gradients = zip(*(_of_learner(functions, reduction, beta, **variant) for reduction in REDUCTIONS.values()))
    return torch.stack(losses), torch.stack(gradients)
