"""GRPO's advantages inside a real GRPOTrainer around a tiny random model."""

from tempfile import TemporaryDirectory

import torch

from .compare import compare
from .learner import LearnerFunctions, learner_gradient
from .tiny_model import build_model, build_tokenizer
from .tiny_training import TOLERANCE, TinyTraining

# Rewards of four completions of each prompt: all present, one missing, two, three, all; all equal; so close that the epsilon counts.
REWARDS = {
    "1+2=": [1.0, 0.0, 0.0, 2.5],
    "33+4=": [None, 1.0, -0.5, 3.0],
    "5+6=": [-1.5, None, None, 2.0],
    "7+78=": [None, None, 2.0, None],
    "9+9=": [None, None, None, None],
    "8+1=": [1.0, 1.0, 1.0, 1.0],
    "2+3=": [0.5, 0.5, 0.5, 0.51],
}
SCALES = {"std": "group", "none": "none"}  # our name -> TRL's


def compare_training(functions: LearnerFunctions, trl, checks: dict[str, str]) -> None:
    tokenizer = build_tokenizer()
    policy = build_model(tokenizer, seed=2)
    # Windows keeps a loaded file of weights open, and then cannot remove it at once.
    with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        policy.save_pretrained(folder)
        steps = {
            scale: TinyTraining(trl.GRPOTrainer, trl.GRPOConfig, tokenizer, folder, policy, REWARDS, beta=0.0, scale_rewards=theirs)
            for scale, theirs in SCALES.items()
        }
    for scale, step in steps.items():
        compare(checks, {f"advantages_{scale}": step.advantages_of_trl()}, TOLERANCE, _of_learner, functions, step.rewards, step, scale)
    # Zero: TRL's advantages depend on nothing that is trained.
    compare(checks, {"no_gradient_through_rewards": torch.zeros_like(step.rewards)}, TOLERANCE, _gradient_of_learner, functions, step)


def _of_learner(functions: LearnerFunctions, rewards: torch.Tensor, step: TinyTraining, scale: str) -> tuple[torch.Tensor]:
    # TRL divides by n - 1 under the root, and adds this epsilon to it.
    return (functions.call("group_relative_advantages", rewards, step.group_ids, scale=scale, ddof=1, eps=1e-4),)


def _gradient_of_learner(functions: LearnerFunctions, step: TinyTraining) -> tuple[torch.Tensor]:
    rewards = step.rewards.clone().requires_grad_()
    (advantages,) = _of_learner(functions, rewards, step, "std")
    # Weighted, since the advantages of a group add up to 0 and so does the gradient of their plain sum.
    total = (torch.arange(1.0, len(rewards) + 1) * advantages.nan_to_num()).sum()
    return (learner_gradient(total, [rewards]),)
