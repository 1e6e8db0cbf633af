"""A learner's OM-GRPO beside TRL's GRPOTrainer with masked answers."""

import torch

from .learner import LearnerFunctions
from .om_grpo_loss import compare_loss
from .om_grpo_training import compare_training
from .report import Report
from .run import run


def om_grpo(namespace: dict) -> Report:
    """Compare om_grpo_loss with TRL's GRPOTrainer under a tool mask. | 将 om_grpo_loss 与带工具掩码的 TRL GRPOTrainer 核对。

    The rest has no counterpart: TRL counts no votes, finds no answer spans, and has no mask for the policy term alone.
    namespace: the notebook's globals(), with om_grpo_loss
    returns: Report, status "passed", "failed", "skipped" or "incompatible"; raises nothing | 不抛出异常
    """
    logps, mask, answer_mask = torch.tensor([[-1.0, -2.0]]), torch.tensor([[True, True]]), torch.tensor([[False, True]])
    plain_calls = [("om_grpo_loss", [logps, logps, logps, torch.tensor([1.0]), mask, answer_mask], 1)]
    return run("OM-GRPO ↔ TRL GRPOTrainer", "GRPOTrainer._compute_loss, GRPOTrainer.train, tool_mask", namespace, plain_calls, _compare)


def _compare(functions: LearnerFunctions, trl, checks: dict[str, str]) -> None:
    compare_loss(functions, trl.GRPOTrainer, checks)
    compare_training(functions, trl, checks)
