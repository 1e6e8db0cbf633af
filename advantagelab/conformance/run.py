"""From a comparison to a report: who cannot be compared, and why, is said here."""

import os
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version

from .learner import LearnerFault, LearnerFunctions, NotWritten, one_line
from .report import FAILED, INCOMPATIBLE, PASSED, SKIPPED, Report
from .undisturbed import importing, running

# 1.15.0 cannot train on a CPU; other versions are not tested.
TRL_RANGE = ">=1.10,!=1.15.0,<1.17"
INSTALL = f'pip install "trl{TRL_RANGE}"'


class _Stop(Exception):
    """Nothing to compare: status and reason."""


def run(title: str, framework_path: str, namespace: dict, plain_calls: list[tuple], compare: Callable) -> Report:
    """Compare the functions of a namespace with TRL.

    plain_calls: (function, its inputs, its number of outputs), one a function: tells what is not written before TRL is imported
    compare(functions, trainers, checks): fills in `checks`, name -> result; `trainers` is the imported module trl
    """
    report = Report(title, framework_path, versions=_versions("trl", "transformers", "accelerate", "torch"))
    functions = LearnerFunctions(namespace)
    try:
        _refuse_while_grading()
        _require_written(functions, plain_calls)
        trl = _require_trl()
        with running():
            compare(functions, trl, report.checks)
        report.status, report.reason = _conclusion(report)
    except _Stop as stop:
        report.status, report.reason = stop.args
    except (Exception, SystemExit) as error:
        said = f"trl {report.versions.get('trl')}: {type(error).__name__}: {one_line(error)}"
        report.status = INCOMPATIBLE
        report.reason = f"this TRL does not work as tested: {said} | 此 TRL 的行为与测试时不同：{said}"
    return report


def _refuse_while_grading() -> None:
    if os.environ.get("NBGRADER_EXECUTION"):
        raise _Stop(SKIPPED, "not run while grading | 评分时不运行")


def _require_written(functions: LearnerFunctions, plain_calls: list[tuple]) -> None:
    for name, inputs, outputs in plain_calls:
        try:
            functions.call(name, *inputs, outputs=outputs)
        except NotWritten as fault:
            raise _Stop(SKIPPED, str(fault)) from fault
        except LearnerFault:
            pass  # the checks that need this function will say it


def _require_trl():
    from packaging.specifiers import SpecifierSet

    try:
        found = version("trl")
    except PackageNotFoundError:
        raise _Stop(SKIPPED, f"TRL is not installed: {INSTALL} (in a checkout: make env ENV=pt-cpu) | "
                              f"未安装 TRL：{INSTALL}（在仓库里：make env ENV=pt-cpu）") from None
    if found not in SpecifierSet(TRL_RANGE):
        raise _Stop(INCOMPATIBLE, f"trl {found} is not a tested version: {INSTALL} | trl {found} 不是测试过的版本：{INSTALL}")
    try:
        with importing():
            trl = import_module("trl")
            # TRL imports its trainers when they are first looked up; the second one is a matter of milliseconds.
            trl.RLOOTrainer, trl.RLOOConfig, trl.GRPOTrainer, trl.GRPOConfig  # noqa: B018
        return trl
    except (Exception, SystemExit) as error:  # a lazy import raises RuntimeError as well as ImportError
        said = f"trl {found}: {type(error).__name__}: {one_line(error)}"
        raise _Stop(SKIPPED, f"TRL cannot be imported ({said}): {INSTALL} | 无法导入 TRL：{INSTALL}") from error


def _conclusion(report: Report) -> tuple[str, str]:
    n, trl = len(report.checks), f"trl {report.versions['trl']}"
    if n == 0:
        return INCOMPATIBLE, f"{trl}: no check was run | {trl}：没有运行任何核对"
    differing = [name for name, result in report.checks.items() if result != PASSED]
    if differing:
        return FAILED, (f"{len(differing)} of {n} checks differ from {trl}, first {differing[0]} | "
                        f"{n} 项核对中有 {len(differing)} 项与 {trl} 不一致，首先是 {differing[0]}")
    return PASSED, f"your functions do what {trl} does | 你的函数与 {trl} 一致"


def _versions(*packages: str) -> dict[str, str]:
    found = {}
    for package in packages:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            pass
    return found
