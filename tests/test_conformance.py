"""advantagelab.conformance: it agrees with the reference, sees wrong formulas, and never ends in a traceback."""

import contextlib
import gc
import logging
import os
import random
import re
import subprocess
import sys
import types
import warnings
from importlib.metadata import PackageNotFoundError
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch
from packaging.specifiers import SpecifierSet

from advantagelab import conformance
from advantagelab.algorithms import rloo as reference
from tests.needs import ROOT

RUN = sys.modules["advantagelab.conformance.run"]
needs_trl = pytest.mark.skipif(find_spec("trl") is None, reason=f"not run: trl is missing, install with {RUN.INSTALL}")

FUNCTIONS = ("aggregate_sequence_logps", "shape_rloo_rewards", "leave_one_out_advantages", "rloo_policy_loss")
REFERENCE = {name: getattr(reference, name) for name in FUNCTIONS}


@pytest.fixture(scope="module", autouse=True)
def quick_garbage_collection():
    """A trainer collects garbage at the start of train(): over all that TRL imports, half of a comparison's time."""
    with contextlib.suppress(Exception):
        import trl

        trl.RLOOTrainer  # noqa: B018  imported when it is first looked up
    gc.freeze()
    yield
    gc.unfreeze()


def failed(report) -> set[str]:
    return {name for name, result in report.checks.items() if result != "passed"}


# ---- It agrees -------------------------------------------------------------------------------------------------------


@needs_trl
def test_reference_agrees_with_trl():
    report = conformance.rloo(REFERENCE)
    assert report.status == "passed", report
    assert report.passed == len(report.checks) == 13
    assert {"trl", "transformers", "torch"} <= set(report.versions)
    assert "RLOOTrainer" in report.framework_path
    assert "13 of 13" in repr(report)


@needs_trl
def test_another_right_answer_agrees_with_trl():
    """A loop in float64, and the other form of the leave-one-out advantage."""

    def aggregate(token_logps, completion_mask):
        return torch.stack([row[mask].double().sum() for row, mask in zip(token_logps, completion_mask, strict=True)])

    def leave_one_out(rewards, group_ids):
        rewards, advantages = rewards.detach().double(), torch.zeros(len(rewards), dtype=torch.float64)
        for i in range(len(rewards)):
            siblings = (group_ids == group_ids[i]) & ~rewards.isnan()
            n = int(siblings.sum())
            if siblings[i] and n > 1:
                advantages[i] = n / (n - 1) * (rewards[i] - rewards[siblings].mean())
        return advantages

    report = conformance.rloo({**REFERENCE, "aggregate_sequence_logps": aggregate, "leave_one_out_advantages": leave_one_out})
    assert report.status == "passed", report


# ---- It sees wrong formulas ------------------------------------------------------------------------------------------


def mean_of_tokens(token_logps, completion_mask):
    return token_logps.masked_fill(~completion_mask, 0.0).sum(-1) / completion_mask.sum(-1)


def padding_leaks(token_logps, completion_mask):
    return token_logps.sum(-1)


def last_token_dropped(token_logps, completion_mask):
    mask = completion_mask.clone()
    mask[torch.arange(len(mask)), mask.sum(-1) - 1] = False
    return token_logps.masked_fill(~mask, 0.0).sum(-1)


def scores_detached(token_logps, completion_mask):
    return token_logps.masked_fill(~completion_mask, 0.0).sum(-1).detach().requires_grad_()


def shaped_by(kl_of_tokens=lambda old, reference: old - reference, sum_of=None, sign=-1.0, detach=True, missing=torch.nan):
    """shape_rloo_rewards with one part exchanged."""

    def shape(external_rewards, old_token_logps, reference_token_logps, completion_mask, beta=0.0):
        token_kl = kl_of_tokens(old_token_logps, reference_token_logps)
        token_kl = token_kl.detach() if detach else token_kl
        kl = sum_of(token_kl, completion_mask) if sum_of else token_kl.masked_fill(~completion_mask, 0.0).sum(-1)
        return external_rewards.nan_to_num(nan=missing) + sign * beta * kl, kl

    return shape


def per_group(advantage_of):
    """leave_one_out_advantages with another formula for the scored rewards of a group."""

    def advantages(rewards, group_ids):
        result = torch.zeros_like(rewards)
        for group in group_ids.unique():
            scored = (group_ids == group) & ~rewards.isnan()
            if scored.any():
                result[scored] = advantage_of(rewards[scored].detach(), int((group_ids == group).sum()))
        return result

    return advantages


def leave_one_out(r):
    return r - (r.sum() - r) / max(len(r) - 1, 1)


def missing_counts_as_zero(rewards, group_ids):
    return REFERENCE["leave_one_out_advantages"](rewards.nan_to_num(nan=0.0), group_ids)


def groups_by_position(rewards, group_ids):
    """Takes groups of four for granted, in the order of the batch; TRL shuffles."""
    return REFERENCE["leave_one_out_advantages"](rewards, torch.arange(len(rewards)) // 4)


def advantages_not_detached(rewards, group_ids):
    fixed = REFERENCE["leave_one_out_advantages"](rewards, group_ids)
    return fixed + (rewards - rewards.detach()).nan_to_num()


def loss_by(formula, detach_old=True, detach_advantages=True):
    """rloo_policy_loss from formula(ratios, advantages, epsilon_low, epsilon_high)."""

    def loss(new_logps, old_logps, advantages, epsilon_low=0.2, epsilon_high=0.2):
        old_logps = old_logps.detach() if detach_old else old_logps
        advantages = advantages.detach() if detach_advantages else advantages
        ratios = torch.exp(new_logps - old_logps)
        return formula(ratios, advantages, epsilon_low, epsilon_high), ratios

    return loss


def clipped_loss(ratios, advantages, low, high):
    return -torch.minimum(ratios * advantages, ratios.clamp(1 - low, 1 + high) * advantages)


def clip_that_lets_the_gradient_through(ratios, advantages, low, high):
    surrogate = ratios * advantages
    return -(surrogate + (-clipped_loss(ratios, advantages, low, high) - surrogate).detach())


A, S, L, P = FUNCTIONS
WRONG = {
    # name: (function, wrong version, a check that must see it)
    "mean of tokens": (A, mean_of_tokens, "sequence_logps"),
    "padding leaks": (A, padding_leaks, "loss_within_clip_range"),
    "last token dropped": (A, last_token_dropped, "sequence_logps"),
    "scores detached": (A, scores_detached, "update_gradient"),
    "KL sign": (S, shaped_by(sign=1.0), "advantages_kl_penalty"),
    "KL left out": (S, shaped_by(sign=0.0), "advantages_kl_penalty"),
    "KL averaged": (S, shaped_by(sum_of=mean_of_tokens), "advantages_kl_penalty"),
    "KL of padding": (S, shaped_by(sum_of=padding_leaks), "advantages_kl_penalty"),
    "KL by k2": (S, shaped_by(lambda old, ref: 0.5 * (old - ref) ** 2), "advantages_kl_penalty"),
    "KL by k3": (S, shaped_by(lambda old, ref: torch.exp(ref - old) - (ref - old) - 1), "advantages_kl_penalty"),
    "KL not detached": (S, shaped_by(detach=False), "no_gradient_through_rewards"),
    "missing reward shaped as 0": (S, shaped_by(missing=0.0), "advantages_kl_penalty"),
    "group mean": (L, per_group(lambda r, n: r - r.mean()), "advantages_missing_rewards"),
    "divided by the group's size": (L, per_group(lambda r, n: r - (r.sum() - r) / n), "advantages_missing_rewards"),
    "missing siblings counted": (L, per_group(lambda r, n: r - (r.sum() - r) / (n - 1)), "advantages_missing_rewards"),
    "a sole reward kept": (L, per_group(lambda r, n: leave_one_out(r) if len(r) > 1 else r), "advantages_missing_rewards"),
    "divided by std, ddof 0": (L, per_group(lambda r, n: leave_one_out(r) / (r.std(correction=0) + 1e-4)), "advantages_kl_penalty"),
    "missing reward as 0": (L, missing_counts_as_zero, "advantages_missing_rewards"),
    "groups by position": (L, groups_by_position, "advantages_missing_rewards"),
    "advantages keep a gradient": (L, advantages_not_detached, "no_gradient_through_rewards"),
    "no clip": (P, loss_by(lambda r, a, low, high: -r * a), "loss_clipped"),
    "max for min": (P, loss_by(lambda r, a, low, high: -torch.maximum(r * a, r.clamp(1 - low, 1 + high) * a)), "loss_clipped"),
    "clipped side only": (P, loss_by(lambda r, a, low, high: -r.clamp(1 - low, 1 + high) * a), "loss_clipped"),
    "epsilons exchanged": (P, loss_by(lambda r, a, low, high: clipped_loss(r, a, high, low)), "loss_unequal_epsilons"),
    "epsilon_high ignored": (P, loss_by(lambda r, a, low, high: clipped_loss(r, a, low, low)), "gradient_unequal_epsilons"),
    "loss negated": (P, loss_by(lambda r, a, low, high: -clipped_loss(r, a, low, high)), "update_loss"),
    "ratio inverted": (P, loss_by(lambda r, a, low, high: clipped_loss(1 / r, a, low, high)), "gradient_within_clip_range"),
    "advantage left out": (P, loss_by(lambda r, a, low, high: -r), "loss_within_clip_range"),
}
# These have the right loss on every batch: only a gradient tells them.
WRONG_GRADIENT = {
    "ratio detached": (P, loss_by(lambda r, a, low, high: clipped_loss(r.detach(), a, low, high)), "gradient_within_clip_range"),
    "clip lets the gradient through": (P, loss_by(clip_that_lets_the_gradient_through), "gradient_clipped"),
    "old scores not detached": (P, loss_by(clipped_loss, detach_old=False), "gradient_undetached_inputs"),
    "advantages not detached": (P, loss_by(clipped_loss, detach_advantages=False), "gradient_undetached_inputs"),
}


@needs_trl
@pytest.mark.parametrize("name", [*WRONG, *WRONG_GRADIENT])
def test_wrong_function_is_seen(name):
    function, wrong, seen_by = {**WRONG, **WRONG_GRADIENT}[name]
    report = conformance.rloo({**REFERENCE, function: wrong})
    assert report.status == "failed", report
    assert seen_by in failed(report), report
    if name in WRONG_GRADIENT:
        assert all("gradient" in check for check in failed(report)), report


@needs_trl
def test_the_wrong_functions_are_wrong_in_one_thing_only_and_no_check_is_idle():
    right = {S: shaped_by(), L: per_group(lambda r, n: leave_one_out(r) if len(r) > 1 else 0 * r), P: loss_by(clipped_loss)}
    report = conformance.rloo({**REFERENCE, **right})
    assert report.status == "passed", report
    assert {seen_by for _, _, seen_by in [*WRONG.values(), *WRONG_GRADIENT.values()]} == set(report.checks)


# ---- A function that cannot be compared ------------------------------------------------------------------------------


def open_todo(*args, **kwargs):
    raise NotImplementedError("TODO 3: Leave-one-out advantages | 留一优势")


@pytest.mark.parametrize("namespace, named", [
    ({**REFERENCE, L: open_todo},
     "`leave_one_out_advantages` is still open: TODO 3: Leave-one-out advantages | `leave_one_out_advantages` 尚未完成：留一优势"),
    ({name: REFERENCE[name] for name in FUNCTIONS if name != P},
     "`rloo_policy_loss` is not defined: run its cell first | `rloo_policy_loss` 还没有定义：请先运行它所在的单元"),
])
def test_open_or_missing_function_skips_before_trl_is_imported(monkeypatch, namespace, named):
    monkeypatch.setitem(sys.modules, "trl", None)
    report = conformance.rloo(namespace)
    assert report.status == "skipped" and report.checks == {}
    assert report.reason == named


@needs_trl
@pytest.mark.parametrize("broken, said", [
    (lambda *args, **kwargs: 1 / 0, "raised ZeroDivisionError"),
    (lambda *args, **kwargs: None, "should return 2 float tensor(s) of shape"),
    (lambda new, *args, **kwargs: (new.mean(), new), "should return 2 float tensor(s) of shape"),
    (lambda new, old, a, epsilon_low, epsilon_high: sys.exit(3), "raised"),
])
def test_function_that_gives_nothing_to_compare_fails_and_is_named(broken, said):
    report = conformance.rloo({**REFERENCE, P: broken})
    assert report.status == "failed"
    assert f"`rloo_policy_loss` {said}" in report.checks["loss_clipped"]
    assert report.checks["sequence_logps"] == "passed"


@needs_trl
def test_nan_and_a_broken_graph_fail():
    def nan_loss(new_logps, *args, **kwargs):
        return new_logps * torch.nan, new_logps

    def written_in_place(token_logps, completion_mask):
        probabilities = token_logps.masked_fill(~completion_mask, 0.0).exp()
        scores = probabilities.log().sum(-1)
        probabilities.detach().fill_(1.0)  # spoils what backward needs
        return scores

    assert conformance.rloo({**REFERENCE, P: nan_loss}).status == "failed"
    report = conformance.rloo({**REFERENCE, A: written_in_place})
    assert "no gradient" in report.checks["gradient_clipped"]


@needs_trl
def test_settings_that_a_function_changes_do_not_spoil_the_comparison():
    def careless(rewards, group_ids):
        torch.set_grad_enabled(False)
        torch.set_default_dtype(torch.float64)
        advantages = REFERENCE[L](rewards, group_ids)
        rewards.zero_()
        return advantages

    assert conformance.rloo({**REFERENCE, L: careless}).status == "passed"
    assert torch.is_grad_enabled() and torch.get_default_dtype() == torch.float32


# ---- No TRL, another TRL, a grader -----------------------------------------------------------------------------------


def pretend_trl(monkeypatch, version):
    """The version that importlib.metadata tells of TRL; None = not installed."""

    def of(package):
        if package == "trl" and version is None:
            raise PackageNotFoundError(package)
        return version if package == "trl" else "1.0"

    monkeypatch.setattr(RUN, "version", of)


def test_nothing_runs_while_grading(monkeypatch):
    monkeypatch.setenv("NBGRADER_EXECUTION", "autograde")
    monkeypatch.setitem(sys.modules, "trl", None)
    report = conformance.rloo({})
    assert (report.status, report.reason) == ("skipped", "not run while grading | 评分时不运行")


def test_without_trl_it_says_how_to_get_it(monkeypatch):
    pretend_trl(monkeypatch, None)
    report = conformance.rloo(REFERENCE)
    assert report.status == "skipped"
    assert 'pip install "trl>=1.10,!=1.15.0,<1.17"' in report.reason and "\n" not in report.reason


class _LazyImportFails(types.ModuleType):
    def __getattr__(self, name):
        raise RuntimeError(f"Failed to import trl.trainer because of:\nNo module named 'vllm' ({name})")


@pytest.mark.parametrize("module, cause", [(None, "ModuleNotFoundError"), (_LazyImportFails("trl"), "RuntimeError: Failed to import")])
def test_trl_that_cannot_be_imported_is_skipped(monkeypatch, module, cause):
    pretend_trl(monkeypatch, "1.16.0")
    monkeypatch.setitem(sys.modules, "trl", module)
    report = conformance.rloo(REFERENCE)
    assert report.status == "skipped"
    assert cause in report.reason and "pip install" in report.reason and "\n" not in report.reason


@pytest.mark.parametrize("version", ["0.22.2", "1.9.2", "1.15.0", "1.17.0", "2.0.0.dev0"])
def test_untested_version_of_trl_is_incompatible(monkeypatch, version):
    pretend_trl(monkeypatch, version)
    monkeypatch.setitem(sys.modules, "trl", None)
    report = conformance.rloo(REFERENCE)
    assert report.status == "incompatible" and report.checks == {}
    assert version in report.reason


def test_the_table_of_versions_is_as_the_range_says_and_holds_the_locked_one():
    """docs/conformance.md, written by `make conformance-all`, which nobody may have run since the range or the lock changed."""
    written = (ROOT / "docs" / "conformance.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| ([\d.]+) \| ((?:passed|incompatible|failed|skipped|traceback)\b.*) \|$", written, re.M))
    assert len(rows) > 5 and written.count(f"`trl{RUN.TRL_RANGE}`") == 2
    for version, cells in rows.items():
        statuses = {cell.partition(",")[0] for cell in cells.split(" | ")[:4]}
        assert statuses == {"passed" if version in SpecifierSet(RUN.TRL_RANGE) else "incompatible"}, (version, cells)
    (locked,) = re.findall(r"^trl==(.+)$", (ROOT / "environments" / "pt-cpu.lock.txt").read_text(encoding="utf-8"), re.M)
    assert locked in rows and "passed" in rows[locked]


def drift_helper(monkeypatch, trl):
    monkeypatch.setattr(trl.RLOOTrainer, "_get_per_token_logps_and_entropies", lambda self, model, input_ids: None)


def drift_loss_gone(monkeypatch, trl):
    monkeypatch.delattr(trl.RLOOTrainer, "_compute_loss")


def drift_config(monkeypatch, trl):
    def config(*, output_dir, seed):
        raise AssertionError("not reached")

    monkeypatch.setattr(trl, "RLOOConfig", config)


def drift_batch_key(monkeypatch, trl):
    original = trl.RLOOTrainer._prepare_inputs
    monkeypatch.setattr(trl.RLOOTrainer, "_prepare_inputs", lambda self, inputs: {
        key.replace("completion_mask", "response_mask"): value for key, value in original(self, inputs).items()})


def drift_train(monkeypatch, trl):
    monkeypatch.setattr(trl.RLOOTrainer, "train", lambda self: None)


@needs_trl
@pytest.mark.parametrize("drift, cause", [
    (drift_helper, "ValueError"), (drift_loss_gone, "AttributeError"), (drift_config, "TypeError"), (drift_batch_key, "KeyError"),
    (drift_train, "RuntimeError: train() did not call compute_loss"),
])
def test_drift_of_trl_is_incompatible_with_version_and_cause(monkeypatch, drift, cause):
    import trl

    drift(monkeypatch, trl)
    report = conformance.rloo(REFERENCE)
    assert report.status == "incompatible"
    assert trl.__version__ in report.reason and cause in report.reason


@needs_trl
def test_a_comparison_without_a_check_is_no_pass():
    report = RUN.run("title", "path", REFERENCE, [], lambda functions, trl, checks: None)
    assert report.status == "incompatible" and report.passed == len(report.checks) == 0


# ---- It leaves no trace ----------------------------------------------------------------------------------------------


@needs_trl
def test_nothing_is_left_changed(monkeypatch, tmp_path):
    import accelerate.state
    import numpy as np

    monkeypatch.chdir(tmp_path)
    device_choice = accelerate.state.PartialState._shared_state

    def state():
        return (random.getstate(), str(np.random.get_state()), torch.get_rng_state().tolist(), dict(os.environ), dict(device_choice),
                logging.root.manager.disable, list(logging.root.handlers), list(warnings.filters), os.listdir(tmp_path))

    before = state()
    assert conformance.rloo(REFERENCE).status == "passed"
    assert state() == before


@needs_trl
def test_a_fresh_process_prints_nothing_and_connects_to_nothing():
    program = (
        "import socket\n"
        "looked = []\n"
        "def refuse(*args, **named):\n"
        "    looked.append(args)  # telemetry asks in a thread of its own, where nobody hears the error\n"
        "    raise OSError(f'connect {args}')\n"
        "socket.socket.connect = socket.getaddrinfo = refuse\n"
        "from advantagelab.algorithms.rloo import *\n"
        "from advantagelab import conformance\n"
        "report = conformance.rloo(globals())\n"
        "assert report.status == 'passed', report\n"
        "import time; time.sleep(1)\n"
        "assert not looked, looked\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300,
                          cwd=Path(__file__).parents[1])
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_it_knows_no_answers():
    for file in Path(conformance.__file__).parent.glob("*.py"):
        assert "algorithms" not in file.read_text(encoding="utf-8"), file
