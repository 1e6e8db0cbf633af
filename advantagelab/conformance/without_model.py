"""A trainer's loss alone, without a model: the unbound `_compute_loss` on log-probabilities of our choice."""

import inspect
from collections import defaultdict
from types import SimpleNamespace

import torch


def loss_without_model(
    trainer_class: type, token_logps: torch.Tensor, completion_mask: torch.Tensor, batch: dict, **settings
) -> tuple[torch.Tensor, torch.Tensor]:
    """Loss and its gradient on token_logps [N, T]. batch: what the loss reads besides masks; settings: the trainer's attributes."""
    token_logps = token_logps.clone().requires_grad_()
    trainer = _trainer(trainer_class, token_logps, settings)
    n, length = completion_mask.shape
    loss = trainer_class._compute_loss(trainer, trainer.model, {
        "prompt_ids": torch.zeros(n, 1, dtype=torch.long),
        "prompt_mask": torch.ones(n, 1, dtype=torch.long),
        "completion_ids": torch.zeros(n, length, dtype=torch.long),
        "completion_mask": completion_mask.long(),
        **batch,
    })
    (gradient,) = torch.autograd.grad(loss, token_logps)
    return loss, gradient


def _trainer(trainer_class: type, token_logps: torch.Tensor, settings: dict):
    """What `_compute_loss` looks up on its trainer, in any tested version."""
    entropies = torch.zeros_like(token_logps)
    parameters = inspect.signature(trainer_class._get_per_token_logps_and_entropies).parameters
    scores = (token_logps, entropies, None) if "compute_aux_loss" in parameters else (token_logps, entropies)
    return SimpleNamespace(
        _get_per_token_logps_and_entropies=lambda *args, **kwargs: scores,
        model=SimpleNamespace(training=False),
        aux_loss_enabled=False,
        accelerator=SimpleNamespace(gather=lambda values: values, reduce=lambda values, reduction: values, num_processes=1),
        _metrics={"train": defaultdict(list), "eval": defaultdict(list)},
        **settings,
    )
