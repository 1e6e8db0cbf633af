"""Run a student's cells, and answer calls of the functions that they define. Plain data in, plain data out."""

import contextlib
import io
import linecache
import math
import os
import random
import signal
import sys
import traceback
import types
import warnings

import numpy
import torch

from ..plain_data import MAX_DEPTH, PlainDataError, pack, tensor_bytes, tensors_of, unpack, with_tensors
from .channel import ERRORS, MAX_ERROR, MAX_STDOUT, SETTINGS, Channel

INPUTS_DEPTH = MAX_DEPTH + 2  # [[argument, …], {name: argument, …}]
CPU = torch.device("cpu")
NOT_THE_STUDENTS = (os.path.dirname(__file__), os.path.dirname(torch.__file__))


def serve(channel: Channel) -> None:
    """Answer until the judge hangs up; that ends the process."""
    session = Session()
    while True:
        head, body, _ = channel.receive()
        channel.send(*session.answer(head, body))


class Session:
    """The student's namespace, as a module `__main__`, and the graphs of the calls whose gradients may still be asked for."""

    def __init__(self):
        module = types.ModuleType("__main__")
        sys.modules["__main__"] = module
        self.namespace = vars(module)
        self.namespace.update(torch=torch, math=math, display=print)  # display: a notebook has it without an import
        self.graphs = {}
        self.printed = sys.stdout = _Printed()
        sys.stderr = _Printed()
        signal.signal(signal.SIGALRM, _time_is_up)

    def answer(self, head: dict, body: bytes) -> tuple[dict, bytes, bytes]:
        with torch.inference_mode(False) if torch.is_inference_mode_enabled() else contextlib.nullcontext():
            answer, *bodies = getattr(self, head["do"])(head, body)
        return {"id": head["id"], **answer}, *bodies, *[b""] * (2 - len(bodies))

    def run(self, head: dict, source: bytes) -> tuple:
        """A cell. It is interrupted after `seconds`, like a notebook's; what it has defined by then stays."""
        _seed()
        self.printed.clear()
        error, file, text = None, f"<{head['key']}>", source.decode("utf-8")
        linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
        try:
            try:
                code = compile(text, file, "exec", dont_inherit=True)
                signal.setitimer(signal.ITIMER_REAL, head["seconds"])
                exec(code, self.namespace)
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
        except BaseException as raised:
            error = _described(raised)
        _reset()
        return {"error": error}, self.printed.getvalue().encode("utf-8", "replace")

    def has(self, head: dict, _: bytes) -> tuple:
        return {"has": callable(self.namespace.get(head["name"]))},

    def call(self, head: dict, body: bytes) -> tuple:
        """A function on [arguments, named arguments].

        Back come the value, the inputs if they are no longer what they were, and the numbers of the tensors that were written to.
        head: `grad`, the judge's grad mode; `inner`, the numbers of the tensors that are no leaves; `spread`, the dimensions along which
        a tensor is expanded, by its number; `first`, whether this is a check's first call, after which earlier graphs are not needed.
        """
        if head["first"]:
            self.graphs.clear()
            _seed()
            warnings.resetwarnings()
            warnings.simplefilter("ignore")
        inputs = unpack(body, depth=INPUTS_DEPTH)
        leaves = given = tensors_of(inputs)
        if head["inner"] or head["spread"]:
            given = [leaf.clone() if number in head["inner"] else leaf for number, leaf in enumerate(leaves)]
            for number, dimensions in head["spread"].items():
                given[int(number)] = _expanded(given[int(number)], dimensions)
            inputs = with_tensors(inputs, given)
        versions, before = [tensor._version for tensor in given], _state(inputs, given)
        answer, value = {}, b""
        wanted = torch.float32, head["grad"], False, CPU
        torch.set_grad_enabled(head["grad"])
        try:
            result = _plainer(self.namespace[head["name"]](*inputs[0], **inputs[1]))
        except BaseException as raised:
            answer["error"] = _described(raised)
        left = torch.get_default_dtype(), torch.is_grad_enabled(), torch.is_inference_mode_enabled(), torch.get_default_device()
        answer["settings"] = [name for name, was, is_ in zip(SETTINGS, wanted, left) if was != is_]
        torch.set_grad_enabled(True)
        if answer["settings"] or torch.get_num_threads() != 1:
            _reset()
        answer["touched"] = [number for number, tensor in enumerate(given) if tensor._version != versions[number]]
        try:
            if "error" not in answer:
                value = pack(result, "result")
                outputs = tensors_of(result)
                if any(output.requires_grad for output in outputs):
                    self.graphs[head["id"]] = leaves, outputs
            now = body if before and _state(inputs, given) == before else pack(inputs, "arguments", depth=INPUTS_DEPTH)
        except PlainDataError as refused:
            return {**answer, "not_plain": str(refused)},
        return answer, value, b"" if now == body else now

    def pull(self, head: dict, body: bytes) -> tuple:
        """Vector-Jacobian product of the call `call`: from gradients by its outputs to those by its inputs, None where there is none."""
        leaves, outputs = self.graphs[head["call"]]
        given = [(output, gradient) for output, gradient in zip(outputs, unpack(body)) if gradient is not None]
        wanted = [leaf for leaf in leaves if leaf.requires_grad]
        try:
            found = iter(torch.autograd.grad([output for output, _ in given], wanted, [gradient for _, gradient in given],
                                             allow_unused=True, retain_graph=True))
        except BaseException as raised:
            return {"error": _described(raised)},
        return {}, pack([next(found) if leaf.requires_grad else None for leaf in leaves])


class _Printed(io.TextIOBase):
    """What was printed, up to a limit."""

    def __init__(self):
        self.clear()

    def clear(self) -> None:
        self._parts, self._size = [], 0

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        if self._size < MAX_STDOUT:
            self._parts.append(text[:MAX_STDOUT - self._size])
            self._size += len(text)
        return len(text)

    def getvalue(self) -> str:
        return "".join(self._parts) + ("\n…" if self._size > MAX_STDOUT else "")


def _reset() -> None:
    """torch's settings as a check finds them in a notebook."""
    torch.set_grad_enabled(True)
    torch.set_default_dtype(torch.float32)
    if torch.get_default_device() != CPU:
        torch.set_default_device(None)
    torch.set_num_threads(1)


def _seed() -> None:
    """The same random numbers for each cell and each check, whatever ran before. The judge's seed is not known here."""
    torch.default_generator.manual_seed(0)
    random.seed(0)
    numpy.random.seed(0)


def _state(inputs: list, tensors: list[torch.Tensor]) -> list | None:
    """What could be changed in these inputs; None if there are containers among them, whose message then has to be compared."""
    if any(isinstance(part, (list, tuple, dict)) for part in (*inputs[0], *inputs[1].values())):
        return None
    return [(tensor.dtype, tensor.shape, tensor.requires_grad, tensor_bytes(tensor)) for tensor in tensors]


def _expanded(tensor: torch.Tensor, dimensions: list[int]) -> torch.Tensor:
    single = tensor
    for dimension in dimensions:
        single = single.narrow(dimension, 0, 1)
    return single.clone().expand(tensor.shape)


def _plainer(value):
    """Kinds that a check cannot tell from plain ones: numpy's numbers, named tuples such as torch's `max` returns."""
    if isinstance(value, (numpy.integer, numpy.floating)):
        return value.item()
    if isinstance(value, tuple):
        return tuple(map(_plainer, value))
    if isinstance(value, list):
        return list(map(_plainer, value))
    if type(value) is dict:
        return {key: _plainer(item) for key, item in value.items()}
    return value


def _described(error: BaseException) -> list[str]:
    """The name of the nearest error that may cross, the text, and the student's line."""
    name = next((kind.__name__ for kind in type(error).__mro__ if kind.__module__ == "builtins" and kind.__name__ in ERRORS), None)
    try:
        text = str(error)
    except Exception:
        text = ""
    if name is None:
        name, text = "RuntimeError", f"{type(error).__name__}: {text}"
    if isinstance(error, SyntaxError):
        line = error.text or ""
    else:
        frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not frame.filename.startswith(NOT_THE_STUDENTS)]
        line = frames[-1].line if frames else ""
    return [name, _short(text), _short((line or "").strip())]


def _short(text: str) -> str:
    return text.encode("utf-8", "replace")[:MAX_ERROR].decode("utf-8", "ignore")


def _time_is_up(*_) -> None:
    raise _TimeIsUp("stopped at the time limit: an endless loop? | 超过时限，已中止：是否有死循环？")


class _TimeIsUp(BaseException):
    """Not an Exception, so that `except Exception: pass` in a loop does not swallow it."""
