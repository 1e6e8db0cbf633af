"""CAST's loss alone, without a model: `GRPOTrainer._compute_loss` on the learner's own token advantages, [N, T] in place of [N].

TRL has no self-teacher: how a gap becomes an advantage cannot be compared with it. What can be: which bound stops which token,
the gradient, the reductions, and that CAST without a gap, or without shaping and flips, is GRPO.
"""

import math
from types import SimpleNamespace

import torch

from .compare import compare
from .learner import LearnerFault, LearnerFunctions, learner_gradient
from .without_model import loss_without_model

TOLERANCE = 1e-5  # both sides compute in float32 from the same log-probabilities
REDUCTIONS = {"dapo": "token_mean", "bnpo": "token_mean", "grpo": "sequence_mean", "luspo": "sequence_sum"}  # TRL's loss_type -> reduction
EPSILON_LOW = 0.2
EPSILONS_HIGH = {"": 1.0, "_narrow": 0.28}  # suffix of the check -> bound: CAST's text, CAST's code

# A mixed group, an all-correct one, and an all-wrong one with a missing reward; one completion is empty.
REWARDS = torch.tensor([1.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, torch.nan])
GROUP_IDS = torch.arange(12) // 4
MASK = torch.arange(8) < torch.tensor([8, 7, 8, 6, 8, 7, 0, 8, 8, 6, 8, 3]).unsqueeze(1)
# With either sign of B, flipped or not, tokens stand on both sides of every bound. exp(0.22) and exp(-0.26) lie between the bounds
# and what would be the bounds if 0.2 and 0.28 were exchanged.
ROWS, PLACES = torch.arange(12).unsqueeze(1), torch.arange(8)
GAPS = torch.tensor([0.5, -0.5, 0.1, -0.02, 0.0, -0.1, 0.02])[(ROWS + PLACES) % 7]
LOG_RATIOS = torch.tensor([0.9, -0.26, 0.22, 0.4, -0.6, 0.05, 0.0, -0.05])[(ROWS + 3 * PLACES) % 8]
# TRL multiplies by the mask, so its padding must be finite; it must not be 0, or a leak would go unseen.
TOKEN_LOGPS = -0.3 - torch.arange(96.0).reshape(12, 8) / 40
OLD_LOGPS = torch.where(MASK, TOKEN_LOGPS - LOG_RATIOS, -6.0)
TEACHER_LOGPS = torch.where(MASK, OLD_LOGPS + GAPS, -5.0)


def compare_loss(functions: LearnerFunctions, trainer_class: type, checks: dict[str, str]) -> None:
    try:
        base = base_advantages(functions)
        advantages = token_advantages(functions, base)
        unshaped = {  # of either, each token of a completion gets its base advantage
            "no_gap": token_advantages(functions, base, teacher_logps=OLD_LOGPS, limit=math.inf),
            "no_shaping": token_advantages(functions, base, lam=0.0, flip_down=False, flip_up=False, limit=math.inf),
        }
    except LearnerFault as fault:
        checks["token_advantages"] = f"failed: {fault}"
        return
    for suffix, epsilon_high in EPSILONS_HIGH.items():
        for loss_type, reduction in REDUCTIONS.items():
            loss, gradient = _of_trl(trainer_class, advantages, loss_type, epsilon_high)
            theirs = {f"loss_{loss_type}{suffix}": loss, f"gradient_{loss_type}{suffix}": gradient}
            compare(checks, theirs, TOLERANCE, _of_learner, functions, advantages, reduction, epsilon_high)
    for name, of_learner in unshaped.items():
        loss, gradient = _of_trl(trainer_class, base, "dapo", 1.0)
        compare(checks, {f"loss_{name}_is_grpo": loss, f"gradient_{name}_is_grpo": gradient}, TOLERANCE,
                _of_learner, functions, of_learner, "token_mean", 1.0)
    # Now what is to be frozen depends on the policy, and whoever uses it has to detach it.
    _, gradient = _of_trl(trainer_class, advantages, "dapo", 1.0)
    compare(checks, {"gradient_undetached_inputs": gradient}, TOLERANCE,
            lambda: _of_learner(functions, advantages, "token_mean", 1.0, undetached=True)[1:])
    # Zero: TRL's advantages depend on nothing that is trained.
    for name in ("self_teacher_gap", "asymmetric_weights", "cast_token_advantages"):
        compare(checks, {f"no_gradient_through_{name}": torch.zeros(MASK.numel())}, TOLERANCE, _gradient_through, functions, name, base)


def base_advantages(functions: LearnerFunctions) -> torch.Tensor:
    return functions.call("cast_base_advantages", REWARDS, GROUP_IDS).detach()


def token_advantages(
    functions: LearnerFunctions, base: torch.Tensor, teacher_logps: torch.Tensor = TEACHER_LOGPS, **options
) -> torch.Tensor:
    gaps = functions.call("self_teacher_gap", teacher_logps, OLD_LOGPS, MASK, shape=MASK.shape)
    weights = functions.call("asymmetric_weights", base, gaps, shape=MASK.shape)
    return functions.call("cast_token_advantages", base, gaps, weights, shape=MASK.shape, **options).detach()


def _of_trl(trainer_class: type, advantages: torch.Tensor, loss_type: str, epsilon_high: float) -> tuple[torch.Tensor, torch.Tensor]:
    """Loss and its gradient on TOKEN_LOGPS. advantages: [N] or [N, T]."""
    batch = {"old_per_token_logps": OLD_LOGPS, "advantages": advantages, "num_items_in_batch": MASK.sum()}
    return loss_without_model(
        trainer_class, TOKEN_LOGPS, MASK, batch, loss_type=loss_type, beta=0.0, epsilon_low=EPSILON_LOW, epsilon_high=epsilon_high,
        importance_sampling_level="token", args=SimpleNamespace(delta=None), off_policy_mask_threshold=None, top_entropy_quantile=1.0,
        use_vllm=False, _entropy_bonus_enabled=False)


def _of_learner(
    functions: LearnerFunctions, advantages: torch.Tensor, reduction: str, epsilon_high: float, undetached: bool = False
) -> tuple[torch.Tensor, torch.Tensor]:
    token_logps = TOKEN_LOGPS.clone().requires_grad_()
    link = token_logps - token_logps.detach() if undetached else torch.zeros_like(TOKEN_LOGPS)  # 0, but with a gradient
    loss = functions.call("cast_loss", token_logps, OLD_LOGPS + link, advantages + link, MASK, shape=torch.Size(),
                          epsilon_low=EPSILON_LOW, epsilon_high=epsilon_high, reduction=reduction)
    return loss, learner_gradient(loss, [token_logps])


def _gradient_through(functions: LearnerFunctions, name: str, base: torch.Tensor) -> tuple[torch.Tensor]:
    # Each input depends on the gap of its token, and no two of them alike, so that they cannot cancel.
    gaps = GAPS.clone().requires_grad_()
    inputs = {
        "self_teacher_gap": (OLD_LOGPS + gaps, OLD_LOGPS + 3 * gaps, MASK),
        "asymmetric_weights": (base, gaps),
        "cast_token_advantages": (base * (1 + gaps[:, 0] / 10), gaps, 1 + gaps / 20),
    }[name]
    values = functions.call(name, *inputs, shape=MASK.shape)
    return (learner_gradient(values.sum(), [gaps]),)
