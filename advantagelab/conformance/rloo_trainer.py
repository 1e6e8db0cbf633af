"""A learner's RLOO beside TRL's RLOOTrainer: sequence scores, advantages, loss and gradient.

Two ways into TRL. The loss alone, without a model: `_compute_loss` on log-probabilities of our choice, so that each side of
the clip range is met. And a real trainer around a tiny random model, through the documented constructor, `train()` and
`compute_loss(model, inputs)`, so that TRL's own rewards, reference policy and advantages are met.
"""

import inspect
from collections import defaultdict
from tempfile import TemporaryDirectory
from types import SimpleNamespace

import torch

from .compare import compare
from .learner import LearnerFunctions, learner_gradient
from .report import Report
from .run import run
from .tiny_model import build_model, build_tokenizer, load_over, token_logps

SAME_NUMBERS = 1e-5  # both sides compute in float32 from the same log-probabilities
SAME_MODEL = 1e-4  # their log-probabilities come from two forward passes

# Rewards of four completions of each prompt: all present, one missing, two, three, all.
REWARDS = {
    "1+2=": [1.0, 0.0, 0.0, 2.5],
    "33+4=": [None, 1.0, -0.5, 3.0],
    "5+6=": [-1.5, None, None, 2.0],
    "7+78=": [None, None, 2.0, None],
    "9+9=": [None, None, None, None],
}
BETA, EPSILON_LOW, EPSILON_HIGH = 0.5, 0.1, 0.3


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
    _compare_loss(functions, trl.RLOOTrainer, checks)
    _compare_training(functions, trl, checks)


# The loss alone


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
        token_logps = self.token_logps.clone().requires_grad_()
        trainer = _trainer_without_model(trainer_class, token_logps, self.epsilon_low, self.epsilon_high)
        batch = {
            "prompt_ids": torch.zeros(8, 1, dtype=torch.long),
            "prompt_mask": torch.ones(8, 1, dtype=torch.long),
            "completion_ids": torch.zeros(8, 5, dtype=torch.long),
            "completion_mask": self.mask.long(),
            "old_logps": self.old_logps,
            "advantages": self.advantages,
        }
        loss = trainer_class._compute_loss(trainer, trainer.model, batch)
        (gradient,) = torch.autograd.grad(loss, token_logps)
        return loss, gradient

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
        [0.2, -0.2, 0.2, -0.2, 0.5, -0.5, 0.5, -0.5], [1.0, 1.5, -1.0, -1.5, 0.5, 0.7, -0.5, -0.7], EPSILON_LOW, EPSILON_HIGH),
}


def _compare_loss(functions: LearnerFunctions, trainer_class: type, checks: dict[str, str]) -> None:
    for name, case in LOSS_CASES.items():
        loss, gradient = case.of_trl(trainer_class)
        compare(checks, {f"loss_{name}": loss, f"gradient_{name}": gradient}, SAME_NUMBERS, case.of_learner, functions)
    case = LOSS_CASES["within_clip_range"]
    _, gradient = case.of_trl(trainer_class)
    compare(checks, {"gradient_undetached_inputs": gradient}, SAME_NUMBERS,
            lambda: case.of_learner(functions, undetached=True)[1:])


def _trainer_without_model(trainer_class: type, token_logps: torch.Tensor, epsilon_low: float, epsilon_high: float):
    """What `_compute_loss` looks up on its trainer, in any tested version."""
    entropies = torch.zeros_like(token_logps)
    parameters = inspect.signature(trainer_class._get_per_token_logps_and_entropies).parameters
    scores = (token_logps, entropies, None) if "compute_aux_loss" in parameters else (token_logps, entropies)
    return SimpleNamespace(
        _get_per_token_logps_and_entropies=lambda *args, **kwargs: scores,
        model=SimpleNamespace(training=False),
        epsilon_low=epsilon_low,
        epsilon_high=epsilon_high,
        aux_loss_enabled=False,
        accelerator=SimpleNamespace(gather=lambda values: values, reduce=lambda values, reduction: values),
        _metrics={"train": defaultdict(list), "eval": defaultdict(list)},
    )


# A real trainer


def _compare_training(functions: LearnerFunctions, trl, checks: dict[str, str]) -> None:
    tokenizer = build_tokenizer()
    reference, policy = build_model(tokenizer, seed=1), build_model(tokenizer, seed=2)
    # Windows keeps a loaded file of weights open, and then cannot remove it at once.
    with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        reference.save_pretrained(folder)
        without_kl = _TrainingStep(trl, tokenizer, folder, policy, reference, beta=0.0)
        with_kl = _TrainingStep(trl, tokenizer, folder, policy, reference, beta=BETA)
        loss, gradient = with_kl.loss_of_trl()

    compare(checks, {"sequence_logps": with_kl.batch["old_logps"]}, SAME_MODEL, with_kl.sequence_logps_of_learner, functions)
    compare(checks, {"advantages_missing_rewards": without_kl.batch["advantages"]}, SAME_MODEL,
            without_kl.advantages_of_learner, functions)
    compare(checks, {"advantages_kl_penalty": with_kl.batch["advantages"]}, SAME_MODEL, with_kl.advantages_of_learner, functions)
    compare(checks, {"no_gradient_through_rewards": with_kl.gradient_through_rewards_of_trl()}, SAME_MODEL,
            with_kl.gradient_through_rewards_of_learner, functions)
    compare(checks, {"update_loss": loss, "update_gradient": gradient}, SAME_MODEL, with_kl.loss_of_learner, functions)


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
        shaped_rewards, _ = functions.call(
            "shape_rloo_rewards", self.rewards, token_logps(self.policy, self.batch), self.reference_logps, self.mask, outputs=2,
            beta=self.beta)
        return (functions.call("leave_one_out_advantages", shaped_rewards, self.group_ids),)

    def gradient_through_rewards_of_trl(self) -> torch.Tensor:
        """None flows: what TRL hands to its loss hangs on nothing."""
        if self.batch["advantages"].requires_grad:
            raise RuntimeError("TRL's advantages carry a gradient")
        return torch.zeros(2 * self.mask.numel() + len(self.rewards))

    def gradient_through_rewards_of_learner(self, functions: LearnerFunctions) -> tuple[torch.Tensor]:
        live_old = token_logps(self.policy, self.batch).detach().requires_grad_()
        live_reference = self.reference_logps.clone().requires_grad_()
        live_rewards = self.rewards.clone().requires_grad_()
        outputs = functions.call("shape_rloo_rewards", self.rewards, live_old, live_reference, self.mask, outputs=2, beta=self.beta)
        advantages = functions.call("leave_one_out_advantages", live_rewards, self.group_ids)
        # Weighted, since the advantages of a group add up to 0 and so does the gradient of their sum.
        weights = torch.arange(1.0, len(self.rewards) + 1)
        total = sum((weights * values.nan_to_num()).sum() for values in (*outputs, advantages))
        return (learner_gradient(total, [live_old, live_reference, live_rewards]),)

    def loss_of_trl(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Loss, and its gradient on every parameter of the model."""
        loss = self.trainer.compute_loss(self.trainer.model, {**self.batch, "old_logps": self.old_logps})
        gradients = torch.autograd.grad(loss, list(self.trainer.model.parameters()))
        return loss, torch.cat([gradient.flatten() for gradient in gradients])

    def loss_of_learner(self, functions: LearnerFunctions) -> tuple[torch.Tensor, torch.Tensor]:
        """The same, by all four functions, with nothing detached on the way between them."""
        live = token_logps(self.policy, self.batch)
        shaped_rewards, _ = functions.call(
            "shape_rloo_rewards", self.rewards, live, self.reference_logps, self.mask, outputs=2, beta=self.beta)
        advantages = functions.call("leave_one_out_advantages", shaped_rewards, self.group_ids)
        new_logps = functions.call("aggregate_sequence_logps", live, self.mask)
        losses, _ = functions.call("rloo_policy_loss", new_logps, self.old_logps, advantages, outputs=2,
                                   epsilon_low=EPSILON_LOW, epsilon_high=EPSILON_HIGH)
        loss = losses.mean()
        return loss, learner_gradient(loss, list(self.policy.parameters()))


def _valid_ids(batch: dict[str, torch.Tensor], of: str) -> list[tuple[int, ...]]:
    ids, masks = batch[f"{of}_ids"], batch[f"{of}_mask"].bool()
    return [tuple(row[mask].tolist()) for row, mask in zip(ids, masks, strict=True)]
