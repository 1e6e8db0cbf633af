"""A learner's RLOO beside TRL's RLOOTrainer."""

import torch

from .learner import LearnerFunctions
from .report import Report
from .rloo_loss import compare_loss
from .rloo_training import compare_training
from .run import run


def rloo(namespace: dict) -> Report:
    """Compare the four RLOO functions in `namespace` with TRL's RLOOTrainer. | 将四个 RLOO 函数与 TRL 的 RLOOTrainer 核对。

    namespace: the notebook's globals(), with aggregate_sequence_logps, shape_rloo_rewards, leave_one_out_advantages and
    rloo_policy_loss
    returns: Report, status "passed", "failed", "skipped" or "incompatible"; raises nothing | 不抛出异常
    """
    logps, mask, rewards = torch.tensor([[-1.0], [-2.0]]), torch.tensor([[True], [True]]), torch.tensor([1.0, 0.0])
    plain_calls = [
        ("aggregate_sequence_logps", [logps, mask], 1),
        ("shape_rloo_rewards", [rewards, logps, logps, mask], 2),
        ("leave_one_out_advantages", [rewards, torch.tensor([0, 0])], 1),
        ("rloo_policy_loss", [logps[:, 0], logps[:, 0], rewards], 2),
    ]
    path = "RLOOTrainer._compute_loss, RLOOTrainer.train, RLOOTrainer.compute_loss"
    return run("RLOO ↔ TRL RLOOTrainer", path, namespace, plain_calls, _compare)


def _compare(functions: LearnerFunctions, trl, checks: dict[str, str]) -> None:
    compare_loss(functions, trl.RLOOTrainer, checks)
    compare_training(functions, trl, checks)
