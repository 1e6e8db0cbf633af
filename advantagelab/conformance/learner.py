"""The learner's side: call a function by name, and say in one sentence what keeps it from being compared."""

import torch


class LearnerFault(Exception):
    """A learner's function gave nothing that can be compared. Its text is one bilingual sentence that names the function."""


class NotWritten(LearnerFault):
    """The function is missing, or its TODO is still open."""


class LearnerFunctions:
    """The functions of a namespace. Copies go in, and nothing that a function does to torch's settings outlasts the call."""

    def __init__(self, namespace: dict):
        self._namespace = namespace

    def call(self, name: str, *inputs: torch.Tensor, outputs: int = 1, shape: torch.Size | None = None, **options):
        """Call a function that returns `outputs` float tensors of this shape; without one [N], the first input being [N] or [N, T]."""
        function = self._namespace.get(name)
        if not callable(function):
            raise NotWritten(f"`{name}` is not defined: run its cell first | `{name}` 还没有定义：请先运行它所在的单元")
        dtype, grad = torch.get_default_dtype(), torch.is_grad_enabled()
        try:
            result = function(*(value.clone() for value in inputs), **options)
        except (Exception, SystemExit) as error:
            # What the course's own functions raise is bilingual: "English | 中文".
            en, _, zh = one_line(error).partition(" | ")
            if isinstance(error, NotImplementedError) and en.startswith("TODO"):
                raise NotWritten(f"`{name}` is still open: {en} | `{name}` 尚未完成：{zh or en}") from error
            kind = type(error).__name__
            raise LearnerFault(f"`{name}` raised {kind}: {en} | `{name}` 抛出了 {kind}：{zh or en}") from error
        finally:
            torch.set_default_dtype(dtype)
            torch.set_grad_enabled(grad)
        shape = inputs[0].shape[:1] if shape is None else shape
        tensors = (result,) if outputs == 1 else result
        if not isinstance(tensors, (tuple, list)) or len(tensors) != outputs or not all(_is_float(x, shape) for x in tensors):
            raise LearnerFault(f"`{name}` should return {outputs} float tensor(s) of shape {list(shape)} | "
                               f"`{name}` 应返回 {outputs} 个形状为 {list(shape)} 的浮点张量")
        return result


def learner_gradient(output: torch.Tensor, wrt: list[torch.Tensor]) -> torch.Tensor:
    """Gradient of a scalar that came from the learner, as one flat tensor; zeros where there is no path."""
    parts = [None] * len(wrt)
    if output.requires_grad:
        try:
            parts = torch.autograd.grad(output, wrt, allow_unused=True)
        except RuntimeError as error:
            raise LearnerFault(f"no gradient: {one_line(error)} | 无法求梯度") from error
    return torch.cat([(torch.zeros_like(x) if part is None else part).flatten() for x, part in zip(wrt, parts, strict=True)])


def one_line(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return text if len(text) <= 200 else text[:200] + "…"


def _is_float(value, shape: torch.Size) -> bool:
    return isinstance(value, torch.Tensor) and value.is_floating_point() and value.shape == shape
