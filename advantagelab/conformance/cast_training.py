"""CAST beside a real GRPOTrainer around a tiny random model: base advantages, and a loss of its own token advantages with its gradient."""

from tempfile import TemporaryDirectory

import torch

from .compare import compare
from .learner import LearnerFault, LearnerFunctions, learner_gradient
from .tiny_model import build_model, build_tokenizer, token_logps
from .tiny_training import TOLERANCE, TinyTraining

# Verifier's rewards of four completions of each prompt: mixed groups, some with a missing reward, and zero-variance groups.
REWARDS = {
    "1+2=": [1.0, 0.0, 0.0, 0.0],
    "33+4=": [None, 1.0, 0.0, 1.0],
    "5+6=": [0.0, None, None, 1.0],
    "7+78=": [None, None, 1.0, None],
    "9+9=": [None, None, None, None],
    "8+1=": [1.0, 1.0, 1.0, 1.0],
    "2+3=": [0.0, 0.0, 0.0, 0.0],
}
EPSILON_LOW, EPSILON_HIGH = 0.2, 1.0


def compare_training(functions: LearnerFunctions, trl, checks: dict[str, str]) -> None:
    tokenizer = build_tokenizer()
    teacher, policy = build_model(tokenizer, seed=1), build_model(tokenizer, seed=2)
    # Windows keeps a loaded file of weights open, and then cannot remove it at once.
    with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        policy.save_pretrained(folder)
        step = TinyTraining(trl.GRPOTrainer, trl.GRPOConfig, tokenizer, folder, policy, REWARDS, beta=0.0, scale_rewards="none",
                            loss_type="dapo", importance_sampling_level="token", epsilon=EPSILON_LOW, epsilon_high=EPSILON_HIGH)
    # TRL's own division is by n - 1 under the root, plus 1e-4, and cast_base_advantages has no option for it:
    # so TRL only centers the rewards, and the course's division follows here.
    theirs = step.advantages_of_trl() / (_deviations(step.rewards, step.group_ids) + 1e-6)
    compare(checks, {"base_advantages": theirs}, TOLERANCE, _of_learner, functions, step.rewards, step)
    # Zero: TRL's advantages depend on nothing that is trained.
    compare(checks, {"no_gradient_through_rewards": torch.zeros_like(step.rewards)}, TOLERANCE, _gradient_of_learner, functions, step)
    _compare_update(functions, step, policy, teacher, checks)


def _compare_update(functions: LearnerFunctions, step: TinyTraining, policy, teacher, checks: dict[str, str]) -> None:
    """Loss and gradient on every parameter, by all five functions, nothing detached on the way from one to the next."""
    new_logps = token_logps(policy, step.batch)
    old_logps = new_logps - torch.linspace(-1.0, 1.0, new_logps.numel()).reshape(new_logps.shape)
    with torch.no_grad():
        teacher_logps = token_logps(teacher, step.batch)
    try:
        base = functions.call("cast_base_advantages", step.rewards, step.group_ids)
        gaps = functions.call("self_teacher_gap", teacher_logps, old_logps, step.mask, shape=step.mask.shape)
        weights = functions.call("asymmetric_weights", base, gaps, shape=step.mask.shape)
        advantages = functions.call("cast_token_advantages", base, gaps, weights, shape=step.mask.shape)
        loss = functions.call("cast_loss", new_logps, old_logps, advantages, step.mask, shape=torch.Size(),
                              epsilon_low=EPSILON_LOW, epsilon_high=EPSILON_HIGH, reduction="token_mean")
        ours = loss, learner_gradient(loss, list(policy.parameters()))
    except LearnerFault as fault:
        checks.update({"update_loss": f"failed: {fault}", "update_gradient": f"failed: {fault}"})
        return
    # The learner's advantages for both: how a gap becomes an advantage TRL does not know.
    theirs = step.update_of_trl(advantages=advantages.detach(), old_per_token_logps=old_logps.detach())
    compare(checks, dict(zip(("update_loss", "update_gradient"), theirs, strict=True)), TOLERANCE, lambda: ours)


def _deviations(rewards: torch.Tensor, group_ids: torch.Tensor) -> torch.Tensor:
    """[N]: of each completion's group; 0 where no reward is there."""
    deviations = torch.zeros_like(rewards)
    for group in group_ids.unique():
        own = group_ids == group
        scored = rewards[own & ~rewards.isnan()]
        deviations[own] = scored.std(correction=0) if len(scored) else 0.0
    return deviations


def _of_learner(functions: LearnerFunctions, rewards: torch.Tensor, step: TinyTraining) -> tuple[torch.Tensor]:
    # Without its deltas a zero-variance group gets 0, as from TRL.
    return (functions.call("cast_base_advantages", rewards, step.group_ids, delta_pos=0.0, delta_neg=0.0),)


def _gradient_of_learner(functions: LearnerFunctions, step: TinyTraining) -> tuple[torch.Tensor]:
    rewards = step.rewards.clone().requires_grad_()
    (advantages,) = _of_learner(functions, rewards, step)
    # Weighted, since the advantages of a group add up to 0 and so does the gradient of their plain sum.
    total = (torch.arange(1.0, len(rewards) + 1) * advantages.nan_to_num()).sum()
    return (learner_gradient(total, [rewards]),)
