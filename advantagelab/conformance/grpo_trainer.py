"""A learner's GRPO beside TRL's GRPOTrainer."""

import torch

from .grpo_loss import compare_loss
from .grpo_training import compare_training
from .learner import LearnerFunctions
from .report import Report
from .run import run


def grpo(namespace: dict) -> Report:
    """Compare the four GRPO functions in `namespace` with TRL's GRPOTrainer. | 将四个 GRPO 函数与 TRL 的 GRPOTrainer 核对。

    namespace: the notebook's globals(), with group_relative_advantages, k3_kl, grpo_token_losses and reduce_token_losses
    returns: Report, status "passed", "failed", "skipped" or "incompatible"; raises nothing | 不抛出异常
    """
    logps, mask, rewards = torch.tensor([[-1.0], [-2.0]]), torch.tensor([[True], [True]]), torch.tensor([1.0, 0.0])
    plain_calls = [
        ("group_relative_advantages", [rewards, torch.tensor([0, 0])], 1),
        ("k3_kl", [logps, logps, mask], 1),
        ("grpo_token_losses", [logps, logps, rewards, mask], 1),
        ("reduce_token_losses", [logps, mask], 1),
    ]
    return run("GRPO ↔ TRL GRPOTrainer", "GRPOTrainer._compute_loss, GRPOTrainer.train", namespace, plain_calls, _compare)


def _compare(functions: LearnerFunctions, trl, checks: dict[str, str]) -> None:
    compare_loss(functions, trl.GRPOTrainer, checks)
    compare_training(functions, trl, checks)
