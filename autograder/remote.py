"""A student's process as the judge sees it: its cells are run there, its functions are called from here, gradients included.

Whatever comes back is taken for a lie until it is a plain value of the right form. A process that does not answer in time, ends, or
garbles its messages is killed, and every later call of it raises the same error.
"""

import builtins
import contextlib
import linecache
import math
import time
from dataclasses import dataclass

import torch
from torch.autograd.function import once_differentiable

from advantagelab.message import Message, message

from .plain_data import MAX_DEPTH, PlainDataError, pack, tensors_of, unpack, with_tensors
from .sandbox import Zygote, end
from .worker.channel import ERRORS, MAX_ERROR, MAX_STDOUT, SETTINGS, Ended, Garbled, Late

INPUTS_DEPTH = MAX_DEPTH + 2  # [[argument, …], {name: argument, …}]
ROOM = 100  # numbers and characters by which a function may enlarge inputs that are small
GRACE = 1.0  # seconds that a cell has to notice its time limit before the process is killed

LATE = message(en="stopped at the time limit: an endless loop?", zh="超过时限，已中止：是否有死循环？")
ENDED = message(en="the code ended the process it ran in, or used more memory than it may", zh="代码结束了运行它的进程，或超出了内存上限")
GARBLED = message(en="the code answered the grader in place of the function, and not with a value",
                  zh="代码冒充函数答复评阅程序，且答复不是值")
ENLARGED = message(en="the function made its inputs much larger: work on a copy", zh="函数把输入扩大了许多：请在副本上操作")


class Stopped(Exception):
    """The process is gone: why, in both languages."""

    def __init__(self, said: Message):
        super().__init__(str(said))
        self.said = said


class NotPlain:
    """Stands for a result that is no plain data. Nothing can be done with it but show it."""

    def __init__(self, said: str):
        self._said = said

    def __repr__(self) -> str:
        return self._said


@dataclass(frozen=True)
class Ran:
    """What came of a cell: what it printed; the error, with the line that raised it, or None."""

    stdout: str
    error: str | None


# The errors that may cross, as classes whose text is the student's, whatever their constructors make of it elsewhere.
RAISED = {name: type(name, (getattr(builtins, name),), {"__str__": lambda self: self.args[0]}) for name in ERRORS}


class Remote:
    """One student's process. `called`, `settings` and `overwrote` speak of the time since `begin_check`.

    settings: torch's settings that a call left changed, in the order of SETTINGS; overwrote: a call changed one of its inputs
    """

    def __init__(self, zygote: Zygote):
        self._channel, self._handle = zygote.child()
        self._asked = 0
        self.stopped: Stopped | None = None
        self._deadline = time.monotonic()
        self.begin_check()

    def begin(self, seconds: float) -> None:
        """All answers from now on must come within so many seconds, together."""
        self._deadline = time.monotonic() + seconds

    def begin_check(self) -> None:
        self.called, self.settings, self.overwrote = False, set(), False

    def run(self, key: str, source: str, seconds: float) -> Ran:
        """Run a cell. Stopped if the process does not outlive it."""
        self.begin(seconds + GRACE)
        answer, printed, _ = self._ask({"do": "run", "key": key, "seconds": seconds}, source.encode("utf-8", "replace"))
        with self._reading():
            stdout, error = printed.decode("utf-8", "replace")[:MAX_STDOUT + 10], answer["error"]
            if error is None:
                return Ran(stdout, None)
            name, said, line = _error(error)
            return Ran(stdout, f"{name}: {said}" + (f"\n  in line | 出错行: {line}" if line else ""))

    def has(self, name: str) -> bool:
        return self._ask({"do": "has", "name": name})[0].get("has") is True

    def function(self, name: str):
        """The student's function of that name, to be called as if it were here."""
        def call(*arguments, **named):
            return self._call(name, [list(arguments), named])

        return call

    def pull(self, call: int, gradients: tuple, inputs: list[torch.Tensor]) -> list[torch.Tensor | None]:
        """Gradients by the inputs of a call, from gradients by its outputs."""
        answer, body, _ = self._ask({"do": "pull", "call": call}, pack(list(gradients)))
        self._raise_error(answer)
        with self._reading():
            found = unpack(body)
            fits = type(found) is list and len(found) == len(inputs) and all(
                gradient is None or (isinstance(gradient, torch.Tensor) and source.requires_grad
                                     and gradient.shape == source.shape and gradient.dtype == source.dtype)
                for gradient, source in zip(found, inputs))
            if not fits:
                raise Garbled("no gradients of these inputs")
            return [gradient.detach() if gradient is not None else None for gradient in found]

    def kill(self, said: Message = ENDED) -> None:
        if self.stopped is None:
            self.stopped = Stopped(said)
            self._channel.close()
            end(self._handle)

    def _call(self, name: str, inputs: list):
        tensors = tensors_of(inputs)
        try:
            body = pack(inputs, "arguments", depth=INPUTS_DEPTH)
        except PlainDataError as refused:  # not the student's fault; and a ValueError here might be what a check expects
            raise RuntimeError(f"the check's arguments cannot cross: {refused}") from refused
        inner = [number for number, tensor in enumerate(tensors) if tensor.requires_grad and not tensor.is_leaf]
        spread = {number: dimensions for number, tensor in enumerate(tensors) if (dimensions := _spread(tensor))}
        question = {"do": "call", "name": name, "grad": torch.is_grad_enabled(), "inner": inner, "spread": spread, "first": not self.called}
        self.called = True
        answer, value, changed = self._ask(question, body)
        number = self._asked
        with self._reading():
            settings = answer.get("settings", [])
            if type(settings) is not list or not set(settings) <= set(SETTINGS):
                raise Garbled("no settings")
            self.settings.update(settings)
            if changed:
                _overwrite(inputs, unpack(changed, depth=INPUTS_DEPTH))
                self.overwrote = True
            for touched in set(answer.get("touched", [])):
                own = _own_memory(tensors[touched])
                with torch.no_grad():  # gradients that need the tensor as it was are gone, as they would be here
                    own.copy_(own)
            result = unpack(value) if value else None
            not_plain = _text(answer["not_plain"], MAX_ERROR) if "not_plain" in answer else None
        self._raise_error(answer)
        if not_plain is not None:
            return NotPlain(not_plain)
        outputs = tensors_of(result)
        if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors) and any(out.requires_grad for out in outputs):
            result = with_tensors(result, _Crossing.apply(self, number, outputs, *tensors))
        return result

    def _ask(self, question: dict, body: bytes = b"") -> tuple[dict, bytes, bytes]:
        if self.stopped:
            raise_at("", Stopped(self.stopped.said))
        self._asked += 1
        with self._reading():
            self._channel.send({"id": self._asked, **question}, body, deadline=self._deadline)
            answer, first, second = self._channel.receive(self._deadline)
            if answer.get("id") != self._asked or type(answer["id"]) is not int:
                raise Garbled("an answer to another question")
        return answer, first, second

    @contextlib.contextmanager
    def _reading(self):
        """What goes wrong in here is the process's doing, and the end of it."""
        try:
            yield
        except Late:
            said = LATE
        except Ended:
            said = ENDED
        except _Enlarged:
            said = ENLARGED
        except (Garbled, PlainDataError, KeyError, IndexError, TypeError, RuntimeError):
            said = GARBLED
        else:
            return
        self.kill(said)
        raise_at("", Stopped(said))

    def _raise_error(self, answer: dict) -> None:
        if answer.get("error") is not None:
            with self._reading():
                name, said, line = _error(answer["error"])
            raise_at(line, RAISED[name](said))


class _Crossing(torch.autograd.Function):
    """All tensors of a call are the inputs of one function, all tensors of its result the outputs."""

    @staticmethod
    def forward(context, remote: Remote, call: int, outputs: list[torch.Tensor], *inputs: torch.Tensor):
        context.remote, context.call, context.inputs = remote, call, inputs
        context.differentiable = [output.requires_grad for output in outputs]
        context.set_materialize_grads(False)
        fresh = [output.detach() for output in outputs]
        context.mark_non_differentiable(*[new for new, output in zip(fresh, outputs) if not output.requires_grad])
        return tuple(fresh)

    @staticmethod
    @once_differentiable
    def backward(context, *gradients):
        given = tuple(gradient if differentiable else None for gradient, differentiable in zip(gradients, context.differentiable))
        return None, None, None, *context.remote.pull(context.call, given, context.inputs)


def _spread(tensor: torch.Tensor) -> list[int]:
    """The dimensions along which an expanded tensor has one and the same memory, so that it cannot be changed in place."""
    return [] if tensor.requires_grad else [
        dimension for dimension, (size, stride) in enumerate(zip(tensor.shape, tensor.stride())) if size > 1 and stride == 0]


def _own_memory(tensor: torch.Tensor, spread: list[int] | None = None) -> torch.Tensor:
    """Each of its values once."""
    for dimension in _spread(tensor) if spread is None else spread:
        tensor = tensor.narrow(dimension, 0, 1)
    return tensor


def raise_at(line: str, error: BaseException):
    """Raise the error from a frame whose line is the student's, which is where a verdict looks for it."""
    file = "<the student's line>"
    linecache.cache[file] = (len(line), None, [line + "\n"], file)
    exec(_RAISE, {"error": error})


_RAISE = compile("raise error", "<the student's line>", "exec")


def _overwrite(inputs: list, changed) -> None:
    """Make the caller's inputs what they have become there. _Enlarged: much more than they were.

    A check goes on to work with its inputs, and what it does with them may take quadratic time.
    """
    if _size(changed) > 2 * _size(inputs) + ROOM:
        raise _Enlarged
    _merged(inputs, changed)


class _Enlarged(Exception):
    pass


def _size(value) -> int:
    """How much there is to work on: numbers, characters, places."""
    if isinstance(value, torch.Tensor):
        return math.prod(max(1, size) for size in value.shape)  # without elements it may still be long
    if isinstance(value, str):
        return len(value)
    if isinstance(value, dict):
        return 1 + sum(len(key) + _size(item) for key, item in value.items())
    return 1 + sum(map(_size, value)) if isinstance(value, (list, tuple)) else 1


def _merged(old, new):
    """What `old` has become: itself, changed in place, or `new` where it cannot be."""
    if isinstance(old, torch.Tensor) and isinstance(new, torch.Tensor):
        if old.shape == new.shape and old.dtype == new.dtype:
            _own_memory(old.data).copy_(_own_memory(new.detach(), _spread(old)))
        else:
            old.data = new.detach()
        return old
    if type(old) is not type(new) or type(old) not in (list, tuple, dict):
        return new
    if type(old) is dict:
        items = {key: _merged(old[key], item) if key in old else item for key, item in new.items()}
        old.clear()
        old.update(items)
        return old
    parts = [*map(_merged, old, new), *new[len(old):]]
    if type(old) is list:
        old[:] = parts
        return old
    same = len(parts) == len(old) and all(part is before for part, before in zip(parts, old))
    return old if same else tuple(parts)


def _error(error) -> tuple[str, str, str]:
    if type(error) is not list or len(error) != 3 or error[0] not in RAISED:
        raise Garbled("no error")
    return error[0], _text(error[1], MAX_ERROR), _text(error[2], MAX_ERROR)


def _text(text, limit: int) -> str:
    """At most so many bytes, and no half characters."""
    if type(text) is not str or len(text) > limit:
        raise Garbled("no text")
    return text.encode("utf-8", "replace").decode("utf-8")
