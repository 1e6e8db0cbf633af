"""GRPO inside a real GRPOTrainer around a tiny random model: TRL's own advantages, loss and gradient."""

from tempfile import TemporaryDirectory

import torch

from .compare import compare
from .learner import LearnerFunctions, learner_gradient
from .tiny_model import build_model, build_tokenizer, token_logps
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
SCALES = {"std": "group", "none": "none", "batch": "batch"}  # our name -> TRL's
BETA, EPSILON_LOW, EPSILON_HIGH = 0.5, 0.1, 0.3


def compare_training(functions: LearnerFunctions, trl, checks: dict[str, str]) -> None:
    tokenizer = build_tokenizer()
    reference, policy = build_model(tokenizer, seed=1), build_model(tokenizer, seed=2)
    # Windows keeps a loaded file of weights open, and then cannot remove it at once.
    with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        reference.save_pretrained(folder)
        steps = {
            scale: TinyTraining(trl.GRPOTrainer, trl.GRPOConfig, tokenizer, folder, policy, REWARDS, beta=0.0, scale_rewards=theirs)
            for scale, theirs in SCALES.items()
        }
        update = _Update(trl, tokenizer, folder, policy)
        loss, gradient = update.of_trl()
    for scale, step in steps.items():
        compare(checks, {f"advantages_{scale}": step.advantages_of_trl()}, TOLERANCE, _of_learner, functions, step.rewards, step, scale)
    # Zero: TRL's advantages depend on nothing that is trained.
    compare(checks, {"no_gradient_through_rewards": torch.zeros_like(step.rewards)}, TOLERANCE, _gradient_of_learner, functions, step)
    compare(checks, {"update_loss": loss, "update_gradient": gradient}, TOLERANCE, update.of_learner, functions)


class _Update(TinyTraining):
    """A step with KL, and log-ratios on both sides of the clip range: nothing was updated, so they are chosen."""

    def __init__(self, trl, tokenizer, folder: str, policy):
        super().__init__(
            trl.GRPOTrainer, trl.GRPOConfig, tokenizer, folder, policy, REWARDS, beta=BETA, epsilon=EPSILON_LOW,
            epsilon_high=EPSILON_HIGH, loss_type="grpo", importance_sampling_level="token", scale_rewards="group",
            use_bias_correction_kl=False)
        self.policy = policy
        self.log_ratios = torch.linspace(-0.6, 0.6, self.mask.numel()).reshape(self.mask.shape)

    def of_trl(self) -> tuple[torch.Tensor, torch.Tensor]:
        return self.update_of_trl(old_per_token_logps=token_logps(self.policy, self.batch).detach() - self.log_ratios)

    def of_learner(self, functions: LearnerFunctions) -> tuple[torch.Tensor, torch.Tensor]:
        """The same by all four functions, nothing detached on the way from one to the next."""
        logps = token_logps(self.policy, self.batch)
        (advantages,) = _of_learner(functions, self.rewards, self, "std")
        token_kl = functions.call("k3_kl", logps, self.batch["ref_per_token_logps"], self.mask, shape=self.mask.shape)
        losses = functions.call("grpo_token_losses", logps, logps - self.log_ratios, advantages, self.mask, token_kl, shape=self.mask.shape,
                                beta=BETA, epsilon_low=EPSILON_LOW, epsilon_high=EPSILON_HIGH)
        loss = functions.call("reduce_token_losses", losses, self.mask, shape=torch.Size(), reduction="sequence_mean")
        return loss, learner_gradient(loss, list(self.policy.parameters()))


def _of_learner(functions: LearnerFunctions, rewards: torch.Tensor, step: TinyTraining, scale: str) -> tuple[torch.Tensor]:
    # TRL divides by n - 1 under the root, and adds this epsilon to it.
    if scale == "batch":  # the course has no such scale: the learner's function centers, and the division follows here
        centered = functions.call("group_relative_advantages", rewards, step.group_ids, scale="none")
        return (centered / (rewards[~rewards.isnan()].std() + 1e-4),)
    return (functions.call("group_relative_advantages", rewards, step.group_ids, scale=scale, ddof=1, eps=1e-4),)


def _gradient_of_learner(functions: LearnerFunctions, step: TinyTraining) -> tuple[torch.Tensor]:
    rewards = step.rewards.clone().requires_grad_()
    (advantages,) = _of_learner(functions, rewards, step, "std")
    # Weighted, since the advantages of a group add up to 0 and so does the gradient of their plain sum.
    total = (torch.arange(1.0, len(rewards) + 1) * advantages.nan_to_num()).sum()
    return (learner_gradient(total, [rewards]),)
