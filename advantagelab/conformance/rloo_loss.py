"""RLOO's loss alone, without a model: `RLOOTrainer._compute_loss` on log-probabilities of our choice, on each side of the clip range."""

import torch

from .compare import compare
from .learner import LearnerFunctions, learner_gradient
from .without_model import loss_without_model

TOLERANCE = 1e-5  # both sides compute in float32 from the same log-probabilities


class _LossCase:
    """Eight completions of unequal length whose sequence scores are chosen first and then cut into token scores."""

    def __init__(self, log_ratios: list[float], advantages: list[float], epsilon_low: float, epsilon_high: float):
        self.epsilon_low, self.epsilon_high = epsilon_low, epsilon_high
        self.advantages = torch.tensor(advantages)
        self.mask = torch.arange(5) < torch.tensor([5, 3, 1, 5, 4, 2, 3, 1]).unsqueeze(1)
        shares = torch.rand(8, 5, generator=torch.Generator().manual_seed(3)).masked_fill(~self.mask, -torch.inf).softmax(dim=1)
        scores = -1.0 - torch.arange(8) / 2
        # TRL multiplies by the mask, so its padding must be finite; it must not be 0, or a leak would go unseen.
        self.token_logps = (scores.unsqueeze(1) * shares).masked_fill(~self.mask, -7.0)
        self.old_logps = scores - torch.tensor(log_ratios)

    def of_trl(self, trainer_class: type) -> tuple[torch.Tensor, torch.Tensor]:
        """Loss and its gradient on token_logps."""
        batch = {"old_logps": self.old_logps, "advantages": self.advantages}
        return loss_without_model(
            trainer_class, self.token_logps, self.mask, batch, epsilon_low=self.epsilon_low, epsilon_high=self.epsilon_high)

    def of_learner(self, functions: LearnerFunctions, undetached: bool = False) -> tuple[torch.Tensor, torch.Tensor]:
        """The same. undetached: old scores and advantages depend on token_logps, and whoever uses them has to detach them."""
        token_logps = self.token_logps.clone().requires_grad_()
        new_logps = functions.call("aggregate_sequence_logps", token_logps, self.mask)
        link = new_logps - new_logps.detach() if undetached else torch.zeros(8)  # 0, but with a gradient
        losses, _ = functions.call("rloo_policy_loss", new_logps, self.old_logps + link, self.advantages + link, outputs=2,
                                   epsilon_low=self.epsilon_low, epsilon_high=self.epsilon_high)
        loss = losses.mean()
        return loss, learner_gradient(loss, [token_logps])


LOSS_CASES = {
    "within_clip_range": _LossCase(
        [0.10, -0.10, 0.15, -0.15, 0.05, -0.05, 0.00, 0.12], [1.0, 1.0, -1.0, -1.0, 2.0, -2.0, 0.7, -0.4], 0.2, 0.2),
    "clipped": _LossCase(
        [0.5, -0.5, 0.6, -0.6, 0.4, -0.3, 0.0, 0.8], [1.0, 1.0, -1.0, -1.0, 2.0, -2.0, 0.7, 0.3], 0.2, 0.2),
    # With the two bounds exchanged, exp(0.2) and exp(-0.2) would lie on the other side of theirs.
    "unequal_epsilons": _LossCase(
        [0.2, -0.2, 0.2, -0.2, 0.5, -0.5, 0.5, -0.5], [1.0, 1.5, -1.0, -1.5, 0.5, 0.7, -0.5, -0.7], 0.1, 0.3),
}


def compare_loss(functions: LearnerFunctions, trainer_class: type, checks: dict[str, str]) -> None:
    for name, case in LOSS_CASES.items():
        loss, gradient = case.of_trl(trainer_class)
        compare(checks, {f"loss_{name}": loss, f"gradient_{name}": gradient}, TOLERANCE, case.of_learner, functions)
    case = LOSS_CASES["within_clip_range"]
    _, gradient = case.of_trl(trainer_class)
    compare(checks, {"gradient_undetached_inputs": gradient}, TOLERANCE,
            lambda: case.of_learner(functions, undetached=True)[1:])
