"""One step of a real TRL trainer around a tiny random model, with rewards of our choice, and the batch that it was given.

Only the documented constructor, `train()`, `compute_loss(model, inputs)` and the keys of a batch are used.
"""

import torch

from .tiny_model import load_over

TOLERANCE = 1e-4  # where log-probabilities come from two forward passes; measured: 2e-6


class TinyTraining:
    """`trainer`, `batch`, and of its rows: `rewards` (NaN = missing), `group_ids` and the completion `mask`.

    folder: a saved model, which TRL takes for the reference policy; policy: the same model with other weights
    rewards: prompt -> rewards of its four completions, None = missing; settings: go to the trainer's config
    rollout_func: TRL's, in place of sampling
    """

    def __init__(self, trainer_class: type, config_class: type, tokenizer, folder: str, policy, rewards: dict[str, list],
                 rollout_func=None, **settings):
        from datasets import Dataset

        given, seen = {}, []

        def scripted_rewards(prompts, completion_ids, **_):
            """The next reward of each prompt's list; a completion sampled twice keeps its first one."""
            left = {prompt: iter(of_prompt) for prompt, of_prompt in rewards.items()}
            return [given.setdefault((prompt, tuple(ids)), next(left[prompt]))
                    for prompt, ids in zip(prompts, completion_ids, strict=True)]

        class RecordingTrainer(trainer_class):
            def compute_loss(self, model, inputs, *args, **kwargs):
                seen.append({key: value.clone() for key, value in inputs.items() if isinstance(value, torch.Tensor)})
                return super().compute_loss(model, inputs, *args, **kwargs)

        # A learning rate of 0, so that nothing is updated; bfloat16, TRL's default, would cost three digits.
        config = config_class(
            output_dir=folder, per_device_train_batch_size=4 * len(rewards), num_generations=4, max_completion_length=8,
            temperature=1.0, num_iterations=1, max_steps=1, learning_rate=0.0, use_cpu=True, bf16=False,
            gradient_checkpointing=False, seed=0, report_to="none", save_strategy="no", logging_strategy="no", disable_tqdm=True,
            dataloader_pin_memory=False, **settings)
        self.trainer = RecordingTrainer(
            model=load_over(folder, policy.state_dict()), reward_funcs=scripted_rewards, args=config,
            train_dataset=Dataset.from_dict({"prompt": list(rewards)}), processing_class=tokenizer,
            **({} if rollout_func is None else {"rollout_func": rollout_func}))  # RLOOTrainer has none
        self.trainer.train()
        if not seen:
            raise RuntimeError("train() did not call compute_loss")
        self.batch = seen[0]

        # TRL shuffles a batch after it has scored it, so each row is looked up by its tokens.
        prompts = {tuple(tokenizer(prompt)["input_ids"]): prompt for prompt in rewards}
        of_rows = [prompts[ids] for ids in _valid_ids(self.batch, "prompt")]
        of_completions = [given[row] for row in zip(of_rows, _valid_ids(self.batch, "completion"), strict=True)]
        self.rewards = torch.tensor([torch.nan if reward is None else reward for reward in of_completions])
        self.group_ids = torch.tensor([list(rewards).index(prompt) for prompt in of_rows])
        self.mask = self.batch["completion_mask"].bool()

    def advantages_of_trl(self) -> torch.Tensor:
        if self.batch["advantages"].requires_grad:
            raise RuntimeError("TRL's advantages carry a gradient")
        return self.batch["advantages"]

    def update_of_trl(self, **changes: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Loss, and its gradient on every parameter of the model. changes: of the batch."""
        loss = self.trainer.compute_loss(self.trainer.model, {**self.batch, **changes})
        gradients = torch.autograd.grad(loss, list(self.trainer.model.parameters()))
        return loss, torch.cat([gradient.flatten() for gradient in gradients])


def _valid_ids(batch: dict[str, torch.Tensor], of: str) -> list[tuple[int, ...]]:
    ids, masks = batch[f"{of}_ids"], batch[f"{of}_mask"].bool()
    return [tuple(row[mask].tolist()) for row, mask in zip(ids, masks, strict=True)]
