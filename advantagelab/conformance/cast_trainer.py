"""A learner's CAST beside TRL's GRPOTrainer, which takes an advantage for each token."""

import torch

from .cast_loss import compare_loss
from .cast_training import compare_training
from .learner import LearnerFunctions
from .report import Report
from .run import run


def cast(namespace: dict) -> Report:
    """Compare the five CAST functions in `namespace` with TRL's GRPOTrainer. | 将五个 CAST 函数与 TRL 的 GRPOTrainer 核对。

    namespace: the notebook's globals(), with cast_base_advantages, self_teacher_gap, asymmetric_weights, cast_token_advantages
               and cast_loss
    returns: Report, status "passed", "failed", "skipped" or "incompatible"; raises nothing | 不抛出异常
    """
    logps, mask, rewards = torch.tensor([[-1.0], [-2.0]]), torch.tensor([[True], [True]]), torch.tensor([1.0, 0.0])
    plain_calls = [
        ("cast_base_advantages", [rewards, torch.tensor([0, 0])], 1),
        ("self_teacher_gap", [logps, logps, mask], 1),
        ("asymmetric_weights", [rewards, logps], 1),
        ("cast_token_advantages", [rewards, logps, -logps], 1),
        ("cast_loss", [logps, logps, logps, mask], 1),
    ]
    return run("CAST ↔ TRL GRPOTrainer", "GRPOTrainer._compute_loss, GRPOTrainer.train", namespace, plain_calls, _compare)


def _compare(functions: LearnerFunctions, trl, checks: dict[str, str]) -> None:
    compare_loss(functions, trl.GRPOTrainer, checks)
    compare_training(functions, trl, checks)
