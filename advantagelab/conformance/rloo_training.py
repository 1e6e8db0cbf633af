"""RLOO inside a real RLOOTrainer around a tiny random model: TRL's own sequence scores, advantages, loss and gradient.

Only the documented constructor, `train()`, `compute_loss(model, inputs)` and the keys of a batch are used.
"""

from tempfile import TemporaryDirectory

import torch

from .compare import compare
from .learner import LearnerFunctions, learner_gradient
from .tiny_model import build_model, build_tokenizer, load_over, token_logps

TOLERANCE = 1e-4  # the log-probabilities come from two forward passes; measured: 2e-6

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
        loss, gradient = penalized.update_of_trl()

    for theirs, compute in [
        ({"sequence_logps": penalized.batch["old_logps"]}, penalized.sequence_logps_of_learner),
        ({"advantages_missing_rewards": plain.batch["advantages"]}, plain.advantages_of_learner),
        ({"advantages_kl_penalty": penalized.batch["advantages"]}, penalized.penalized_advantages_of_learner),
        ({"no_gradient_through_rewards": penalized.reward_gradient_of_trl()}, penalized.reward_gradient_of_learner),
        ({"update_loss": loss, "update_gradient": gradient}, penalized.update_of_learner),
    ]:
        compare(checks, theirs, TOLERANCE, compute, functions)


class _TrainingStep:
    """One step of RLOOTrainer on a tiny model, with a learning rate of 0, and the batch that it was given."""

    def __init__(self, trl, tokenizer, folder: str, policy, reference, beta: float):
        from datasets import Dataset

        self.policy, self.beta = policy, beta
        given, seen = {}, []

        def scripted_rewards(prompts, completion_ids, **_):
            """The next reward of each prompt's list; a completion sampled twice keeps its first one."""
            left = {prompt: iter(rewards) for prompt, rewards in REWARDS.items()}
            return [given.setdefault((prompt, tuple(ids)), next(left[prompt]))
                    for prompt, ids in zip(prompts, completion_ids, strict=True)]

        class RecordingTrainer(trl.RLOOTrainer):
            def compute_loss(self, model, inputs, *args, **kwargs):
                seen.append({key: value.clone() for key, value in inputs.items() if isinstance(value, torch.Tensor)})
                return super().compute_loss(model, inputs, *args, **kwargs)

        config = trl.RLOOConfig(
            output_dir=folder, per_device_train_batch_size=20, num_generations=4, max_completion_length=8, temperature=1.0,
            beta=beta, epsilon=EPSILON_LOW, epsilon_high=EPSILON_HIGH, num_iterations=1, normalize_advantages=False,
            max_steps=1, learning_rate=0.0, use_cpu=True, bf16=False, gradient_checkpointing=False, seed=0, report_to="none",
            save_strategy="no", logging_strategy="no", disable_tqdm=True, dataloader_pin_memory=False)
        self.trainer = RecordingTrainer(
            model=load_over(folder, policy.state_dict()), reward_funcs=scripted_rewards, args=config,
            train_dataset=Dataset.from_dict({"prompt": list(REWARDS)}), processing_class=tokenizer)
        self.trainer.train()
        if not seen:
            raise RuntimeError("train() did not call compute_loss")
        self.batch = seen[0]

        # TRL shuffles a batch after it has scored it, so each row is looked up by its tokens.
        prompts = {tuple(tokenizer(prompt)["input_ids"]): prompt for prompt in REWARDS}
        of_rows = [prompts[ids] for ids in _valid_ids(self.batch, "prompt")]
        rewards = [given[row] for row in zip(of_rows, _valid_ids(self.batch, "completion"), strict=True)]
        self.rewards = torch.tensor([torch.nan if reward is None else reward for reward in rewards])
        self.group_ids = torch.tensor([list(REWARDS).index(prompt) for prompt in of_rows])
        self.mask = self.batch["completion_mask"].bool()
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

    def reward_gradient_of_trl(self) -> torch.Tensor:
        """Zero: TRL's advantages depend on nothing that is trained."""
        if self.batch["advantages"].requires_grad:
            raise RuntimeError("TRL's advantages carry a gradient")
        return torch.zeros(2 * self.mask.numel() + len(self.rewards))

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

    def update_of_trl(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Loss, and its gradient on every parameter of the model."""
        loss = self.trainer.compute_loss(self.trainer.model, {**self.batch, "old_logps": self.old_logps})
        gradients = torch.autograd.grad(loss, list(self.trainer.model.parameters()))
        return loss, torch.cat([gradient.flatten() for gradient in gradients])

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


def _valid_ids(batch: dict[str, torch.Tensor], of: str) -> list[tuple[int, ...]]:
    ids, masks = batch[f"{of}_ids"], batch[f"{of}_mask"].bool()
    return [tuple(row[mask].tolist()) for row, mask in zip(ids, masks, strict=True)]
