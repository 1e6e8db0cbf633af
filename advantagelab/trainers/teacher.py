"""The self-teacher: a copy of the weights that are trained, put in their place while it scores.

The teacher is no second model: it is scored by the same module, through the same call. So a gap is exactly 0 where weights and
context agree, and with an adapter only the adapter is copied.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from transformers import TrainerCallback
from transformers.trainer_utils import PREFIX_CHECKPOINT_DIR

KINDS = ("refreshed", "ema", "fixed")
FILE = "teacher.safetensors"  # in each checkpoint


class SelfTeacher(TrainerCallback):
    """At first the policy; changes after optimizer steps; stands in each checkpoint. | 起初与策略相同，按类别更新，随检查点保存。

    model: whose trained weights are copied
    kind: "refreshed": becomes the policy every `refresh_steps` optimizer steps; "ema": moves by 1 - `ema_decay` of the way after each;
          "fixed": stays | "refreshed" 每隔若干步换成当前策略；"ema" 每步移动 1 - ema_decay；"fixed" 不变
    """

    def __init__(self, model: torch.nn.Module, kind: str, refresh_steps: int, ema_decay: float):
        self.model, self.kind, self.refresh_steps, self.ema_decay = model, kind, refresh_steps, ema_decay
        self.weights = {name: weight.detach().clone() for name, weight in self._trained()}

    def _trained(self) -> list[tuple[str, torch.nn.Parameter]]:
        return [(name, weight) for name, weight in self.model.named_parameters() if weight.requires_grad]

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """The model has the teacher's weights. | 期间模型使用自教师的权重。"""
        own = {name: weight.data for name, weight in self._trained()}
        try:
            for name, weight in self._trained():
                weight.data = self.weights[name].to(weight.device)
            yield
        finally:
            for name, weight in self._trained():
                weight.data = own[name]

    @torch.no_grad()
    def on_step_end(self, args, state, control, **_) -> None:
        if self.kind == "fixed" or self.kind == "refreshed" and state.global_step % self.refresh_steps:
            return
        move = 1.0 if self.kind == "refreshed" else 1.0 - self.ema_decay
        for name, weight in self._trained():
            self.weights[name] = self.weights[name].to(weight.device).lerp(weight.data, move)

    def on_save(self, args, state, control, **_) -> None:
        if args.should_save:
            save_file(self.weights, Path(args.output_dir) / f"{PREFIX_CHECKPOINT_DIR}-{state.global_step}" / FILE)

    def load(self, checkpoint: str) -> None:
        """The teacher of a checkpoint. | 检查点中的自教师。

        ValueError: it has none, or one of another model | 检查点中没有自教师，或属于另一个模型
        """
        path = Path(checkpoint) / FILE
        if not path.exists():
            raise ValueError(f"{checkpoint} has no {FILE}: not a checkpoint of CASTTrainer | "
                             f"{checkpoint} 中没有 {FILE}：不是 CASTTrainer 的检查点")
        weights = load_file(path)
        if {name: value.shape for name, value in weights.items()} != {name: value.shape for name, value in self.weights.items()}:
            raise ValueError(f"{path} has other weights than the model trains | {path} 中的权重与模型所训练的不同")
        self.weights = {name: weights[name].to(weight.device, weight.dtype) for name, weight in self._trained()}
