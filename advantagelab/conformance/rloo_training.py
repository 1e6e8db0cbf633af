"""RLOO inside a real RLOOTrainer around a tiny random model: TRL's own sequence scores, advantages, loss and gradient."""

from tempfile import TemporaryDirectory

import torch

from .compare import compare
from .learner import LearnerFunctions, learner_gradient
from .tiny_model import build_model, build_tokenizer, token_logps
from .tiny_training import TOLERANCE, TinyTraining

# Rewards of four completions of each prompt: all present, one missing, two, three, all.
REWARDS = {
    "1+2=": [1.0, 0.0, 0.0, 2.5],
    "33+4=": [None, 1.0, -0.5, 3.0],
    "5+6=": [-1.5, None, None, 2.0],
    "7+78=": [None, None, 2.0, None],
    "9+9=": [None, None, None, None],
}
BETA, EPSILON_LOW, EPSILON_HIGH = 0.5, 0.1, 0.3


def compare_training(functions: LearnerFunctions, trl, checks: dict[str, str]) -> None:
    tokenizer = build_tokenizer()
    reference, policy = build_model(tokenizer, seed=1), build_model(tokenizer, seed=2)
    # Windows keeps a loaded file of weights open, and then cannot remove it at once.
    with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        reference.save_pretrained(folder)
        plain = _TrainingStep(trl, tokenizer, folder, policy, reference, beta=0.0)
        penalized = _TrainingStep(trl, tokenizer, folder, policy, reference, beta=BETA)
        loss, gradient = penalized.update_of_trl(old_logps=penalized.old_logps)

    for theirs, compute in [
        ({"sequence_logps": penalized.batch["old_logps"]}, penalized.sequence_logps_of_learner),
        ({"advantages_missing_rewards": plain.advantages_of_trl()}, plain.advantages_of_learner),
        ({"advantages_kl_penalty": penalized.advantages_of_trl()}, penalized.penalized_advantages_of_learner),
        # Zero: TRL's advantages depend on nothing that is trained.
        ({"no_gradient_through_rewards": torch.zeros(2 * penalized.mask.numel() + len(penalized.rewards))},
         penalized.reward_gradient_of_learner),
        ({"update_loss": loss, "update_gradient": gradient}, penalized.update_of_learner),
    ]:
        compare(checks, theirs, TOLERANCE, compute, functions)


class _TrainingStep(TinyTraining):
    def __init__(self, trl, tokenizer, folder: str, policy, reference, beta: float):
        super().__init__(
            trl.RLOOTrainer, trl.RLOOConfig, tokenizer, folder, policy, REWARDS,
            beta=beta, epsilon=EPSILON_LOW, epsilon_high=EPSILON_HIGH, normalize_advantages=False)
        self.policy, self.beta = policy, beta
        if self.mask.all():
            raise RuntimeError("all completions have one length, so padding would not be compared")
        with torch.no_grad():
            self.reference_logps = token_logps(reference, self.batch)
        # Nothing was updated, so old and new policy are one. A log-ratio for each row makes the clip range matter.
        self.old_logps = self.batch["old_logps"] - torch.linspace(-0.6, 0.6, len(self.mask))

    def sequence_logps_of_learner(self, functions: LearnerFunctions) -> tuple[torch.Tensor]:
        return (functions.call("aggregate_sequence_logps", token_logps(self.policy, self.batch), self.mask),)

    def advantages_of_learner(self, functions: LearnerFunctions) -> tuple[torch.Tensor]:
        """Without a KL penalty, so that only one function is run."""
        return (functions.call("leave_one_out_advantages", self.rewards, self.group_ids),)

    def penalized_advantages_of_learner(self, functions: LearnerFunctions) -> tuple[torch.Tensor]:
        shaped_rewards, _ = self._shaped_rewards(functions, token_logps(self.policy, self.batch))
        return (functions.call("leave_one_out_advantages", shaped_rewards, self.group_ids),)

    def reward_gradient_of_learner(self, functions: LearnerFunctions) -> tuple[torch.Tensor]:
        """Of shaped rewards, KL and advantages, each function given inputs that ask for a gradient."""
        old_logps = token_logps(self.policy, self.batch).detach().requires_grad_()
        reference_logps, rewards = self.reference_logps.clone().requires_grad_(), self.rewards.clone().requires_grad_()
        outputs = functions.call("shape_rloo_rewards", self.rewards, old_logps, reference_logps, self.mask, outputs=2, beta=self.beta)
        advantages = functions.call("leave_one_out_advantages", rewards, self.group_ids)
        # Weighted, since the advantages of a group add up to 0 and so does the gradient of their plain sum.
        weights = torch.arange(1.0, len(self.rewards) + 1)
        total = sum((weights * values.nan_to_num()).sum() for values in (*outputs, advantages))
        return (learner_gradient(total, [old_logps, reference_logps, rewards]),)

    def update_of_learner(self, functions: LearnerFunctions) -> tuple[torch.Tensor, torch.Tensor]:
        """The same by all four functions, nothing detached on the way from one to the next."""
        logps = token_logps(self.policy, self.batch)
        shaped_rewards, _ = self._shaped_rewards(functions, logps)
        advantages = functions.call("leave_one_out_advantages", shaped_rewards, self.group_ids)
        new_logps = functions.call("aggregate_sequence_logps", logps, self.mask)
        losses, _ = functions.call("rloo_policy_loss", new_logps, self.old_logps, advantages, outputs=2,
                                   epsilon_low=EPSILON_LOW, epsilon_high=EPSILON_HIGH)
        loss = losses.mean()
        return loss, learner_gradient(loss, list(self.policy.parameters()))

    def _shaped_rewards(self, functions: LearnerFunctions, old_logps: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return functions.call("shape_rloo_rewards", self.rewards, old_logps, self.reference_logps, self.mask, outputs=2, beta=self.beta)
