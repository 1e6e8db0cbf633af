"""Run a TODO's checks against a learner's functions, and print a verdict a check."""

import contextlib
import io
import os
import re
import time
import traceback
import warnings
import zlib
from typing import NamedTuple

import torch

from ..language import text
from ..message import Message, message
from ..one_line import OneLine
from .expect import CheckFailed
from .random_inputs import Rng

PASSED, FAILED, OPEN, ERROR, MISSING = "passed", "failed", "open", "error", "missing"
PUBLIC_SEED = 20240222

# Called as watcher(function, verdicts, shown) after a TODO's checks; shown: the verdicts are printed. A notebook's set-up fills it.
watchers: list = []


class ChecksFailed(OneLine, AssertionError):
    """A TODO's checks did not all pass; the verdicts above say the rest."""


class Verdict(NamedTuple):
    check: str
    status: str  # passed, failed, open (the TODO raises), error (something else raised), missing (no such function)
    message: Message | None
    expected: str | None
    got: str | None
    seconds: float


class _Answers:
    """The one function that a check may call, looked up when it is called."""

    def __init__(self, namespace: dict, name: str):
        self._namespace, self._name = namespace, name
        self.raised_by_function: BaseException | None = None

    def __getattr__(self, name: str):
        if name != self._name:
            raise AttributeError(f"a check of {self._name} may not call {name}")
        if not callable(self._namespace.get(name)):
            raise _Missing(name)
        return self._call

    def _call(self, *arguments, **named):
        try:
            return self._namespace[self._name](*arguments, **named)
        except (Exception, SystemExit) as error:
            self.raised_by_function = error
            raise


class _Missing(Exception):
    pass


def judge(check, function: str, namespace: dict, seed: int = PUBLIC_SEED) -> Verdict:
    """Run one check against the functions in `namespace`. | 运行一项检查。

    check: check_<function>_<what>(answers) or hidden_<function>_<what>(answers, rng)
    Nothing that the learner's function does to torch's global state, or writes to stderr, outlasts the call.
    """
    answers = _Answers(namespace, function)
    arguments = (answers,) if check.__name__.startswith("check_") else (answers, _rng(check, seed))
    settings = _torch_settings()
    start = time.perf_counter()
    status, said, expected, got = PASSED, None, None, None
    try:
        with warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()), torch.random.fork_rng(devices=[]):
            warnings.simplefilter("ignore")
            torch.default_generator.manual_seed(seed)
            check(*arguments)
    except CheckFailed as failure:
        status, said, expected, got = FAILED, failure.message, failure.expected, failure.got
    except _Missing:
        status, said = MISSING, message(
            en=f"`{function}` is not defined: run its cell first. If there is an error below that cell, fix that one.",
            zh=f"`{function}` 还没有定义：请先运行它所在的单元。如果那个单元下面有报错，先改好它。")
    except (Exception, SystemExit) as error:
        if isinstance(error, NotImplementedError) and str(error).startswith("TODO"):
            status, said = OPEN, _still_open(str(error))
        elif error is answers.raised_by_function:
            status, said, got = ERROR, _raised(function, error), _where(error)
        else:
            status, got = ERROR, f"{type(error).__name__}: {error}"
            said = message(en=f"What `{function}` returned cannot be used: a wrong kind of value, or too many or too few.",
                           zh=f"`{function}` 的返回值无法使用：类型不对，或返回值的个数不对。")
    finally:
        changed = _restore(settings)
    if changed and status not in (OPEN, MISSING):
        status, said, expected, got = FAILED, changed_settings(function, changed), None, None
    return Verdict(check.__name__, status, said, expected, got, time.perf_counter() - start)


def changed_settings(function: str, names: list[str]) -> Message:
    """What to say of a function that left torch's settings of these names changed. | 函数改动了 torch 全局设置时的说明。"""
    listed = ", ".join(names)
    return message(en=f"`{function}` changed a setting of torch for everything that runs after it: {listed}.",
                   zh=f"`{function}` 改动了 torch 的全局设置（{listed}），会影响之后运行的一切。")


def checks_of(namespace: dict, function: str) -> list:
    """The visible checks of a function, then the hidden ones, in the order of their definition."""
    return [value for prefix in ("check", "hidden") for name, value in namespace.items()
            if name.startswith(f"{prefix}_{function}_") and callable(value)]


def run_checks(namespace: dict, function: str) -> None:
    """Run a TODO's checks against the functions in `namespace`, print the verdicts, raise if one is not passed.

    对 `namespace` 中的函数运行一个 TODO 的全部检查，打印结论；有未通过的则抛出 ChecksFailed。
    """
    checks = checks_of(namespace, function)
    if not checks:
        raise ChecksFailed(f"no checks of {function} are defined: run the whole cell | 没有 {function} 的检查：请运行整个单元")
    verdicts = [judge(check, function, namespace) for check in checks]
    print(report(verdicts))
    for watcher in watchers:
        watcher(function, verdicts, shown=True)
    passed = sum(verdict.status == PASSED for verdict in verdicts)
    if passed < len(verdicts):
        raise ChecksFailed(f"{function}: {passed} of {len(verdicts)} checks passed | 通过 {passed} 项，共 {len(verdicts)} 项")


def run_all_checks(namespace: dict, *functions: str) -> None:
    """One line a TODO: how many of its checks pass. Raises nothing. | 每个 TODO 一行：通过了几项检查。"""
    done = 0
    for function in functions:
        verdicts = [judge(check, function, namespace) for check in checks_of(namespace, function)]
        passed = sum(verdict.status == PASSED for verdict in verdicts)
        finished = bool(verdicts) and passed == len(verdicts)
        done += finished
        state = f"{passed}/{len(verdicts)}" if verdicts else "run its check cell first | 请先运行它的检查单元"
        if verdicts and verdicts[0].status in (OPEN, MISSING):
            state = "open | 待完成"
        print(f"{'✓' if finished else '·'} {function:<32} {state}")
        for watcher in watchers:
            watcher(function, verdicts, shown=False)
    print(f"{done} of {len(functions)} TODOs done | {len(functions)} 个 TODO 已完成 {done} 个")


def report(verdicts: list[Verdict]) -> str:
    """The verdicts as text: a line a check, and below the first failed one what is wrong, expected and got.

    Checks stand in the order in which they help. One mistake fails several, and what the later ones say of it is often not true.
    """
    if all(verdict.status in (OPEN, MISSING) for verdict in verdicts):
        return "· " + "\n  ".join(_learners_first(verdicts[0].message))
    lines, failed = [], 0
    for verdict in verdicts:
        lines.append(f"{'✓' if verdict.status == PASSED else '✗'} {verdict.check}  {verdict.seconds * 1000:.0f} ms")
        failed += verdict.status != PASSED
        if verdict.status == PASSED or failed > 1:
            continue
        lines += [f"    {said}" for said in _learners_first(verdict.message)]
        # A hidden check compares on random inputs: its numbers would teach nothing and give the inputs away.
        if verdict.check.startswith("hidden_") and verdict.status == FAILED:
            continue
        if verdict.expected is not None:
            lines.append(f"    expected | 应为  {verdict.expected}")
        if verdict.got is not None:
            lines.append(f"    got      | 得到  {verdict.got}")
    if failed > 1:
        lines.append("Begin with the first failed check: the others often follow from it. | 先改第一个未通过的检查：其余的常由它引起。")
    return "\n".join(lines)


def _learners_first(said: Message) -> tuple[str, str]:
    """Both languages, that of the notebook first."""
    return (text(said.en, said.zh), text(said.zh, said.en))


def _still_open(error: str) -> Message:
    en, _, zh = error.partition(" | ")
    number = en.partition(":")[0]
    return message(en=f"Still open: {en}. Written already? Then delete the line `raise NotImplementedError(…)`.",
                   zh=f"尚未完成：{number}：{zh or en}。已经写好了？请删掉 `raise NotImplementedError(…)` 那一行。")


def _raised(function: str, error: BaseException) -> Message:
    missing = re.fullmatch(r"name '(\w+)' is not defined", str(error)) if isinstance(error, NameError) else None
    if missing:
        return message(en=f"`{function}` uses `{missing[1]}`, which is not defined. If a cell above defines it, run that cell first.",
                       zh=f"`{function}` 用到的 `{missing[1]}` 还没有定义。如果它在上面的某个单元里，请先运行那个单元。")
    return message(en=f"`{function}` raised an error instead of returning a value.", zh=f"`{function}` 没有返回值，而是抛出了错误。")


def _torch_settings() -> dict:
    return {"default dtype": torch.get_default_dtype(), "grad mode": torch.is_grad_enabled(),
            "inference mode": torch.is_inference_mode_enabled(), "default device": torch.get_default_device()}


def _restore(settings: dict) -> list[str]:
    """Put torch's settings back; the names of those that had changed. (Leaving inference mode is its own object's affair.)"""
    changed = [name for name, value in _torch_settings().items() if value != settings[name]]
    torch.set_default_dtype(settings["default dtype"])
    torch.set_grad_enabled(settings["grad mode"])
    if "default device" in changed:  # setting it, even to what it is, slows every later call
        torch.set_default_device(settings["default device"])
    return changed


def _rng(check, seed: int) -> Rng:
    """A generator of its own for each check, so that the order of checks does not matter."""
    return Rng(seed + zlib.crc32(check.__name__.encode()))


def _where(error: BaseException) -> str:
    """The error and the learner's line that raised it."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not frame.filename.startswith(_NOT_THE_LEARNERS)]
    line = f"  in line | 出错行: {frames[-1].line}" if frames and frames[-1].line else ""
    return f"{type(error).__name__}: {error}{line}"


_NOT_THE_LEARNERS = (os.path.dirname(__file__), os.path.dirname(torch.__file__))
