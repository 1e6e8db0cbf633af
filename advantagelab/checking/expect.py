"""Expectations: compare what a learner's function gave with what it should give, and say what differs."""

from collections.abc import Callable, Iterable, Iterator

import torch

from ..message import Message, message

# Relative to the largest expected value. Float32 sums of a few dozen terms err by about 1e-6 of it.
RELATIVE_TOLERANCE = 1e-5
SHOWN = 64  # numbers of a tensor, and parts of a container with all that is in it


class CheckFailed(AssertionError):
    """A check's verdict: the mistake in the learner's words, and what was expected and got."""

    def __init__(self, message: Message, expected: str | None = None, got: str | None = None):
        super().__init__(str(message))
        self.message, self.expected, self.got = message, expected, got


def expect_close(got, expected, message: Message) -> None:
    """The values are equal up to rounding. | 数值在舍入误差内相等。

    got: what the function returned; expected: tensor, number, bool, string, None, or nested lists and tuples of these
    Tensors and lists of numbers: one shape, NaN equals NaN, |got - expected| <= 1e-5 * max |expected| (bool: equal).
    Strings, None and lists that hold them: equal.
    CheckFailed: shape, type or value differs | 形状、类型或数值不同
    """
    if got is None and expected is not None:
        message = Message("Nothing was returned: is the result assigned to the name after `return`?",
                          "没有返回值：结果是否赋给了 `return` 后面的变量？")
    difference = _difference(got, expected)
    if difference is not None:
        raise CheckFailed(message, expected=describe(expected), got=describe(got) + difference)


def expect_error(call, message: Message) -> None:
    """Calling `call()` raises ValueError. | 调用会抛出 ValueError。

    A TODO that is still open is passed on, so that an untouched skeleton is told from a missing validation.
    """
    try:
        got = call()
    except ValueError:
        return
    except Exception as error:
        if isinstance(error, NotImplementedError) and str(error).startswith("TODO"):
            raise
        raise CheckFailed(message, expected="ValueError", got=f"{type(error).__name__}: {error}") from error
    raise CheckFailed(message, expected="ValueError", got=describe(got))


def expect_unchanged(before, after, message: Message) -> None:
    """An input is what it was before the call (`before` is its clone). | 调用没有改动输入。"""
    expect_close(after, before, message)


def gradient(output, wrt: torch.Tensor) -> torch.Tensor:
    """Gradient of the sum of `output` with respect to `wrt`; zeros where there is no path. | 梯度；没有通路处为零。

    Compare it with expect_close: a flag such as requires_grad is the function's own word, a gradient's value is not.
    """
    if not isinstance(output, torch.Tensor):
        raise CheckFailed(message(en="A tensor was expected.", zh="应返回张量。"), "a tensor | 张量", describe(output))
    if not output.requires_grad:
        return torch.zeros_like(wrt)
    (value,) = torch.autograd.grad(output.sum(), wrt, allow_unused=True, retain_graph=True)
    return torch.zeros_like(wrt) if value is None else value


def describe(value) -> str:
    """A value as one short text: of long tensors and containers the beginning. | 数值的简短文字；长张量和长容器只取开头。"""
    return _described(value, iter(range(SHOWN)))


def _described(value, left: Iterator) -> str:
    """left: has something for each part that there is still room for."""
    if type(value).__module__ == "numpy":
        value = torch.as_tensor(value)
    if isinstance(value, torch.Tensor):
        shown = value.detach().to_dense().flatten()[:SHOWN].tolist()
        numbers = ", ".join(_number(x) for x in shown) + (", …" if value.numel() > SHOWN else "")
        return f"[{numbers}] {str(value.dtype).removeprefix('torch.')} {list(value.shape)}"
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, (list, tuple)):
        return f"[{_listed(value, left, lambda item: _described(item, left))}]"
    if isinstance(value, dict):
        return f"{{{_listed(value.items(), left, lambda pair: f'{_cut(repr(pair[0]))}: {_described(pair[1], left)}')}}}"
    return _cut(repr(value))


def _listed(parts: Iterable, left: Iterator, show: Callable) -> str:
    shown = []
    for part in parts:
        if next(left, None) is None:
            shown.append("…")
            break
        shown.append(show(part))
    return ", ".join(shown)


def _cut(text: str) -> str:
    return text if len(text) <= 300 else text[:300] + "…"


def _number(x) -> str:
    return f"{x:.6g}" if isinstance(x, float) else str(x)


def _difference(got, expected) -> str | None:
    """None if equal up to rounding, else what to add to the description of `got` ("" when the values say it)."""
    several = isinstance(got, (list, tuple)) and isinstance(expected, (list, tuple))
    if several and any(isinstance(item, torch.Tensor) for item in got):
        return _difference_of_structures(got, expected)  # two tensors returned, two lists of numbers expected
    wanted = expected if isinstance(expected, torch.Tensor) else _as_tensor(expected)
    if wanted is None:
        return _difference_of_structures(got, expected)
    if not isinstance(got, torch.Tensor):
        got_tensor = _as_tensor(got)
        if isinstance(expected, torch.Tensor) or got_tensor is None:
            return "  (a tensor was expected | 应为张量)" if got is not None else "  (nothing was returned | 没有返回值)"
        got = got_tensor
    if got.is_complex() or got.layout != torch.strided:
        return "  (a dense tensor of real numbers was expected | 应为实数稠密张量)"
    if got.shape != wanted.shape:
        return f"  (the shape should be | 形状应为 {list(wanted.shape)})"
    if (got.dtype == torch.bool) != (wanted.dtype == torch.bool):
        return f"  (the dtype should be | 类型应为 {'bool' if wanted.dtype == torch.bool else 'float'})"
    got, wanted = got.detach().double(), wanted.detach().double()
    if wanted.numel() == 0:
        return None
    finite = wanted[wanted.isfinite()].abs()
    scale = finite.max().item() if finite.numel() else 0.0
    close = torch.isclose(got, wanted, rtol=0.0, atol=RELATIVE_TOLERANCE * (scale or 1.0), equal_nan=True)
    return None if bool(close.all()) else ""


def _difference_of_structures(got, expected) -> str | None:
    if isinstance(expected, (list, tuple)):
        if not isinstance(got, (list, tuple)) or len(got) != len(expected):
            return f"  (should hold | 应含 {len(expected)})"
        for mine, wanted in zip(got, expected, strict=True):
            difference = _difference(mine, wanted)
            if difference is not None:
                return difference
        return None
    return None if type(got) is type(expected) and got == expected else ""


def _as_tensor(value) -> torch.Tensor | None:
    """A number or nested lists of numbers as a tensor; None for anything else."""
    if isinstance(value, (str, bytes)) or value is None:
        return None
    try:
        return torch.tensor(value, dtype=torch.float64) if not _holds_bool(value) else torch.tensor(value)
    except (TypeError, ValueError, RuntimeError):
        return None


def _holds_bool(value) -> bool:
    while isinstance(value, (list, tuple)) and len(value):
        value = value[0]
    return isinstance(value, bool)
