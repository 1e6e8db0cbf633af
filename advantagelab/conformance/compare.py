"""The learner's numbers beside TRL's."""

from collections.abc import Callable

import torch

from .learner import LearnerFault
from .report import PASSED


def compare(checks: dict[str, str], theirs: dict[str, torch.Tensor], tolerance: float, compute: Callable, *arguments) -> None:
    """Add a check for each name in `theirs`: "passed", or "failed: …" with the numbers.

    compute(*arguments): the learner's values, in the order of `theirs`
    tolerance: relative to TRL's largest value
    """
    try:
        ours = compute(*arguments)
    except LearnerFault as fault:
        checks.update({name: f"failed: {fault}" for name in theirs})
        return
    for (name, wanted), got in zip(theirs.items(), ours, strict=True):
        checks[name] = _verdict(got.detach().double().flatten(), wanted.detach().double().flatten(), tolerance)


def _verdict(ours: torch.Tensor, theirs: torch.Tensor, tolerance: float) -> str:
    scale = theirs.abs().max().item() or 1.0
    differs = ~((ours - theirs).abs() <= tolerance * scale)  # so written, NaN differs from every number
    if not differs.any():
        return PASSED
    worst = int(torch.where(differs, (ours - theirs).abs().nan_to_num(torch.inf), -1.0).argmax())
    mine, wanted = f"{ours[worst]:.6g}", f"{theirs[worst]:.6g}"
    if len(ours) == 1:
        return f"failed: yours {mine}, TRL's {wanted} | 你的 {mine}，TRL 的 {wanted}"
    return (f"failed: {int(differs.sum())} of {len(ours)} values, the worst: yours {mine}, TRL's {wanted} | "
            f"{len(ours)} 个值中 {int(differs.sum())} 个不同，最大的差别：你的 {mine}，TRL 的 {wanted}")
