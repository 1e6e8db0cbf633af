"""conformance.grpo: it agrees with the reference, and sees wrong formulas. What it shares with conformance.rloo is tested there."""

import sys

import pytest
import torch

from advantagelab import conformance
from advantagelab.algorithms import grpo as reference
from advantagelab.conformance import grpo_loss, grpo_training
from tests.test_conformance import failed, needs_trl, quick_garbage_collection  # noqa: F401  (the fixture is used by every test)

FUNCTIONS = ("group_relative_advantages", "k3_kl", "grpo_token_losses", "reduce_token_losses")
REFERENCE = {name: getattr(reference, name) for name in FUNCTIONS}
A, K, L, R = FUNCTIONS


# ---- It agrees -------------------------------------------------------------------------------------------------------


@needs_trl
def test_reference_agrees_with_trl():
    report = conformance.grpo(REFERENCE)
    assert report.status == "passed", report
    assert report.passed == len(report.checks) == 31
    assert "GRPOTrainer" in report.framework_path and "31 of 31" in repr(report)


@needs_trl
def test_another_right_answer_agrees_with_trl():
    """Loops, float64, and a clip written as cases."""

    def advantages(rewards, group_ids, scale="std", ddof=0, eps=1e-6):
        values, result = rewards.detach().double(), torch.zeros(len(rewards), dtype=torch.float64)
        for i in range(len(values)):
            group = values[(group_ids == group_ids[i]) & ~values.isnan()]
            if not values[i].isnan() and len(group) > 1 and group.min() < group.max():
                spread = ((group - group.mean()) ** 2).sum() / (len(group) - ddof)
                result[i] = (values[i] - group.mean()) / (spread.sqrt() + eps if scale == "std" else 1.0)
        return result

    def k3(token_logps, reference_token_logps, completion_mask):
        x = torch.where(completion_mask, reference_token_logps.detach() - token_logps, 0.0)
        return x.exp() - x - 1

    def token_losses(new, old, advantages, completion_mask, token_kl=None, beta=0.0, epsilon_low=0.2, epsilon_high=0.2):
        ratios = torch.where(completion_mask, new - old.detach(), 0.0).exp()
        a = advantages.detach()[:, None]
        stopped = (a > 0) & (ratios > 1 + epsilon_high) | (a < 0) & (ratios < 1 - epsilon_low)
        bound = torch.where(a > 0, 1 + epsilon_high, 1 - epsilon_low)
        losses = -torch.where(stopped, bound, ratios) * a
        return torch.where(completion_mask, losses if token_kl is None else losses + beta * token_kl, 0.0)

    def reduce(token_losses, completion_mask, reduction="sequence_mean", max_length=None):
        rows = [row[valid].double() for row, valid in zip(token_losses, completion_mask, strict=True)]
        if reduction == "token_mean":
            return torch.cat(rows).mean()
        divide = {"sequence_mean": lambda row: row.mean() if len(row) else row.sum(), "sequence_sum": lambda row: row.sum(),
                  "constant": lambda row: row.sum() / max_length}[reduction]
        return torch.stack([divide(row) for row in rows]).mean()

    report = conformance.grpo(dict(zip(FUNCTIONS, (advantages, k3, token_losses, reduce), strict=True)))
    assert report.status == "passed", report


def test_the_cases_reach_every_side_of_the_clip_with_either_sign():
    ratios = grpo_loss.LOG_RATIOS.exp()
    sides = torch.bucketize(ratios, torch.tensor([1 - grpo_loss.EPSILON_LOW, 1 + grpo_loss.EPSILON_HIGH]))
    exchanged = torch.bucketize(ratios, torch.tensor([1 - grpo_loss.EPSILON_HIGH, 1 + grpo_loss.EPSILON_LOW]))
    for sign in (1, -1):
        here = grpo_loss.MASK & (grpo_loss.ADVANTAGES.sign() == sign)[:, None]
        assert set(sides[here].tolist()) == {0, 1, 2}
        assert (sides != exchanged)[here].sum() >= 2
    ratios = grpo_loss.MEAN_LOG_RATIOS[grpo_loss.MASK.any(-1)].exp().flatten()
    signs = grpo_loss.ADVANTAGES[grpo_loss.MASK.any(-1)].sign()
    sides = torch.bucketize(ratios, torch.tensor([1 - grpo_loss.EPSILON_LOW, 1 + grpo_loss.EPSILON_HIGH]))
    assert set(zip(signs.tolist(), sides.tolist(), strict=True)) >= {(1, 0), (1, 1), (1, 2), (-1, 0), (-1, 1), (-1, 2)}
    lengths = grpo_loss.MASK.sum(-1)
    assert lengths.min() == 0 and len(lengths.unique()) >= 5 and lengths.max() < grpo_loss.MAX_LENGTH
    assert {sum(reward is None for reward in rewards) for rewards in grpo_training.REWARDS.values()} == {0, 1, 2, 3, 4}


# ---- It sees wrong formulas ------------------------------------------------------------------------------------------


def advantages_by(formula, detach=True):
    """group_relative_advantages from formula(scored rewards of a group, number of its completions, scale, ddof, eps)."""

    def advantages(rewards, group_ids, scale="std", ddof=0, eps=1e-6):
        result = torch.zeros_like(rewards)
        for group in group_ids.unique():
            own = group_ids == group
            scored = own & ~rewards.isnan()
            if scored.any() and rewards[scored].max() > rewards[scored].min():
                values = rewards[scored].detach() if detach else rewards[scored]
                result[scored] = formula(values, int(own.sum()), scale, ddof, eps)
        return result

    return advantages


def centered_and_scaled(r, n, scale, ddof, eps):
    return (r - r.mean()) / (r.std(correction=ddof) + eps if scale == "std" else 1.0)


def whole_batch(rewards, group_ids, **options):
    return REFERENCE[A](rewards, torch.zeros_like(group_ids), **options)


def groups_by_position(rewards, group_ids, **options):
    """Takes groups of four for granted, in the order of the batch; TRL shuffles."""
    return REFERENCE[A](rewards, torch.arange(len(rewards)) // 4, **options)


def missing_counts_as_zero(rewards, group_ids, **options):
    return REFERENCE[A](rewards.nan_to_num(nan=0.0), group_ids, **options)


def equal_rewards_are_divided(rewards, group_ids, **options):
    """0/0 where all rewards are equal."""
    advantages = REFERENCE[A](rewards, group_ids, **options)
    for group in group_ids.unique():
        values = rewards[group_ids == group]
        if values.min() == values.max():
            advantages[group_ids == group] = torch.nan
    return advantages


def k3_by(formula, detach=True, mask_padding=True):
    """k3_kl from formula(log-ratios, reference minus policy)."""

    def k3(token_logps, reference_token_logps, completion_mask):
        log_ratios = (reference_token_logps.detach() if detach else reference_token_logps) - token_logps
        return formula(log_ratios.masked_fill(~completion_mask, 0.0) if mask_padding else log_ratios)

    return k3


def k3(x):
    return torch.expm1(x) - x


def losses_by(formula, level="token", detach_old=True, detach_advantages=True, penalty=lambda ratios, kl: kl):
    """grpo_token_losses from formula(ratios, advantages, epsilon_low, epsilon_high)."""

    def losses(new, old, advantages, completion_mask, token_kl=None, beta=0.0, epsilon_low=0.2, epsilon_high=0.2):
        changes = (new - (old.detach() if detach_old else old)).masked_fill(~completion_mask, 0.0)
        if level == "sequence":
            changes = changes.sum(-1, keepdim=True).expand_as(new)
        if level == "geometric mean":
            changes = (changes.sum(-1, keepdim=True) / completion_mask.sum(-1, keepdim=True).clamp(min=1)).expand_as(new)
        ratios = changes.exp()
        policy_losses = formula(ratios, (advantages.detach() if detach_advantages else advantages)[:, None], epsilon_low, epsilon_high)
        kl = torch.zeros_like(new) if token_kl is None else penalty(ratios, token_kl)
        return (policy_losses + beta * kl).masked_fill(~completion_mask, 0.0)

    return losses


def clipped_loss(ratios, advantages, low, high):
    return -torch.minimum(ratios * advantages, ratios.clamp(1 - low, 1 + high) * advantages)


def clip_that_lets_the_gradient_through(ratios, advantages, low, high):
    surrogate = ratios * advantages
    return -(surrogate + (-clipped_loss(ratios, advantages, low, high) - surrogate).detach())


def kl_inside_the_clip(new, old, advantages, completion_mask, token_kl=None, beta=0.0, epsilon_low=0.2, epsilon_high=0.2):
    """A token whose push has stopped is not pulled back either."""
    plain = REFERENCE[L](new, old, advantages, completion_mask, epsilon_low=epsilon_low, epsilon_high=epsilon_high)
    if token_kl is None:
        return plain
    ratios = (new - old.detach()).masked_fill(~completion_mask, 0.0).exp()
    stopped = plain != -(ratios * advantages.detach()[:, None])
    return plain + beta * torch.where(stopped, token_kl.detach(), token_kl) * completion_mask


def reduce_by(changes):
    """reduce_token_losses with other ways for some reductions: name -> formula(sums, lengths, max_length, token_losses)."""

    def reduce(token_losses, completion_mask, reduction="sequence_mean", max_length=None):
        if reduction not in changes:
            return REFERENCE[R](token_losses, completion_mask, reduction, max_length)
        valid = token_losses.masked_fill(~completion_mask, 0.0)
        return changes[reduction](valid.sum(-1), completion_mask.sum(-1), max_length, token_losses)

    return reduce


def reduced_as(names):
    return lambda losses, mask, reduction="sequence_mean", max_length=None: REFERENCE[R](
        losses, mask, names.get(reduction, reduction), max_length)


WRONG = {
    # name: (function, wrong version, a check that must see it)
    "not centered": (A, advantages_by(lambda r, n, scale, *_: r / r.std() if scale == "std" else r), "advantages_none"),
    "leave-one-out": (A, advantages_by(lambda r, *_: (r - r.mean()) * len(r) / (len(r) - 1)), "advantages_none"),
    "never divided": (A, advantages_by(lambda r, *_: r - r.mean()), "advantages_std"),
    "always divided": (A, advantages_by(lambda r, n, scale, ddof, eps: centered_and_scaled(r, n, "std", ddof, eps)), "advantages_none"),
    "ddof ignored": (A, advantages_by(lambda r, n, scale, _, eps: centered_and_scaled(r, n, scale, 0, eps)), "advantages_std"),
    "epsilon left out": (A, advantages_by(lambda r, n, scale, ddof, _: centered_and_scaled(r, n, scale, ddof, 0)), "advantages_std"),
    "epsilon inside the root": (A, advantages_by(
        lambda r, n, scale, ddof, eps: (r - r.mean()) / ((r.var(correction=ddof) + eps).sqrt() if scale == "std" else 1)),
        "advantages_std"),
    "divided by the variance": (A, advantages_by(
        lambda r, n, scale, ddof, eps: (r - r.mean()) / (r.var(correction=ddof) + eps if scale == "std" else 1)), "advantages_std"),
    "missing siblings counted": (A, advantages_by(lambda r, n, *rest: centered_and_scaled(r, n, *rest) * len(r) / n), "advantages_none"),
    "missing reward as 0": (A, missing_counts_as_zero, "advantages_none"),
    "mean of the batch": (A, whole_batch, "advantages_std"),
    "groups by position": (A, groups_by_position, "advantages_std"),
    "equal rewards divided": (A, equal_rewards_are_divided, "advantages_std"),
    "advantages keep a gradient": (A, advantages_by(centered_and_scaled, detach=False), "no_gradient_through_rewards"),
    "k1": (K, k3_by(lambda x: -x), "loss_grpo_kl"),
    "k2": (K, k3_by(lambda x: x**2 / 2), "gradient_grpo_kl"),
    "k3 of policy over reference": (K, k3_by(lambda x: k3(-x)), "gradient_dapo_kl"),
    "k3 without the log-ratio": (K, k3_by(torch.expm1), "loss_bnpo_kl"),
    "no clip": (L, losses_by(lambda r, a, low, high: -r * a), "loss_grpo"),
    "max for min": (L, losses_by(lambda r, a, low, high: -torch.maximum(r * a, r.clamp(1 - low, 1 + high) * a)), "loss_dapo"),
    "clipped side only": (L, losses_by(lambda r, a, low, high: -r.clamp(1 - low, 1 + high) * a), "gradient_dr_grpo"),
    "epsilons exchanged": (L, losses_by(lambda r, a, low, high: clipped_loss(r, a, high, low)), "loss_luspo"),
    "epsilon_high ignored": (L, losses_by(lambda r, a, low, high: clipped_loss(r, a, low, low)), "gradient_dapo"),
    "clipped whatever the sign": (L, losses_by(lambda r, a, low, high: -torch.minimum(r, r.clamp(1 - low, 1 + high)) * a), "gradient_bnpo"),
    "loss negated": (L, losses_by(lambda r, a, low, high: -clipped_loss(r, a, low, high)), "loss_grpo"),
    "ratio inverted": (L, losses_by(lambda r, a, low, high: clipped_loss(1 / r, a, low, high)), "gradient_luspo"),
    "sequence ratio": (L, losses_by(clipped_loss, level="sequence"), "loss_grpo"),
    "geometric mean of the ratios": (L, losses_by(clipped_loss, level="geometric mean"), "loss_dr_grpo"),
    "advantage left out": (L, losses_by(lambda r, a, low, high: -r), "loss_grpo"),
    "KL left out": (L, losses_by(clipped_loss, penalty=lambda ratios, kl: 0 * kl), "loss_grpo_kl"),
    "KL sign": (L, losses_by(clipped_loss, penalty=lambda ratios, kl: -kl), "loss_dr_grpo_kl"),
    "KL times the ratio": (L, losses_by(clipped_loss, penalty=lambda ratios, kl: ratios * kl), "loss_luspo_kl"),
    "sequence mean over the longest": (R, reduce_by({"sequence_mean": lambda s, n, top, x: (s / n.max()).mean()}), "loss_grpo"),
    "sequence mean over all positions": (R, reduce_by({"sequence_mean": lambda s, n, top, x: x.mean()}), "gradient_grpo"),
    "sequence mean without the empty one": (R, reduce_by({"sequence_mean": lambda s, n, top, x: (s / n)[n > 0].mean()}), "loss_grpo_kl"),
    "sequence mean, 0/0": (R, reduce_by({"sequence_mean": lambda s, n, top, x: (s / n).mean()}), "loss_grpo"),
    "token mean over all positions": (R, reduce_by({"token_mean": lambda s, n, top, x: s.sum() / x.numel()}), "loss_dapo_kl"),
    "token mean for sequence mean": (R, reduced_as({"sequence_mean": "token_mean"}), "loss_grpo"),
    "sequence mean for token mean": (R, reduced_as({"token_mean": "sequence_mean"}), "loss_bnpo"),
    "constant over the tensor's width": (R, reduce_by({"constant": lambda s, n, top, x: s.mean() / x.shape[1]}), "loss_dr_grpo"),
    "constant without the number": (R, reduce_by({"constant": lambda s, n, top, x: s.sum() / top}), "gradient_dr_grpo"),
    "sequence sum without the number": (R, reduce_by({"sequence_sum": lambda s, n, top, x: s.sum()}), "loss_luspo"),
    "sum of the group for its mean": (A, advantages_by(lambda r, *_: r - r.sum()), "advantages_batch"),
    "epsilons doubled": (L, losses_by(lambda r, a, low, high: clipped_loss(r, a, 2 * low, 2 * high)), "loss_sequence_ratio"),
    "no lower bound": (
        L, losses_by(lambda r, a, low, high: -torch.minimum(r * a, r.clamp(max=1 + high) * a)), "gradient_sequence_ratio"),
    "KL halved": (L, losses_by(clipped_loss, penalty=lambda ratios, kl: kl / 2), "loss_kl_corrected"),
    "advantage squared": (L, losses_by(lambda r, a, low, high: clipped_loss(r, a * a.abs(), low, high)), "update_loss"),
    "sequence sum without the empty one": (R, reduce_by({"sequence_sum": lambda s, n, top, x: s[n > 0].mean()}), "gradient_luspo"),
}
# These have the right loss on every batch: only a gradient tells them.
WRONG_GRADIENT = {
    "KL detached": (K, lambda *inputs: REFERENCE[K](*inputs).detach(), "gradient_grpo_kl"),
    "reference not detached": (K, k3_by(k3, detach=False), "gradient_undetached_inputs"),
    "ratio detached": (L, losses_by(lambda r, a, low, high: clipped_loss(r.detach(), a, low, high)), "gradient_grpo"),
    "clip lets the gradient through": (L, losses_by(clip_that_lets_the_gradient_through), "gradient_dapo"),
    "KL stops with the clip": (L, kl_inside_the_clip, "gradient_luspo_kl"),
    "KL's gradient times the ratio": (
        L, losses_by(clipped_loss, penalty=lambda ratios, kl: kl.detach() + ratios.detach() * (kl - kl.detach())), "gradient_bnpo_kl"),
    "KL's gradient halved": (L, losses_by(clipped_loss, penalty=lambda ratios, kl: (kl + kl.detach()) / 2), "gradient_kl_corrected"),
    "half of the gradient": (R, lambda *inputs, **options: (lambda x: (x + x.detach()) / 2)(REFERENCE[R](*inputs, **options)),
                             "update_gradient"),
    "old not detached": (L, losses_by(clipped_loss, detach_old=False), "gradient_undetached_inputs"),
    "advantages not detached": (L, losses_by(clipped_loss, detach_advantages=False), "gradient_undetached_inputs"),
    "loss detached": (R, lambda *inputs, **options: REFERENCE[R](*inputs, **options).detach(), "gradient_dr_grpo_kl"),
}


@needs_trl
@pytest.mark.parametrize("name", [*WRONG, *WRONG_GRADIENT])
def test_wrong_function_is_seen(name):
    function, wrong, seen_by = {**WRONG, **WRONG_GRADIENT}[name]
    report = conformance.grpo({**REFERENCE, function: wrong})
    assert report.status == "failed", report
    assert seen_by in failed(report), report
    if name in WRONG_GRADIENT:
        assert all("gradient" in check for check in failed(report)), report


@needs_trl
def test_the_wrong_functions_are_wrong_in_one_thing_only_and_no_check_is_idle():
    right = {A: advantages_by(centered_and_scaled), K: k3_by(k3), L: losses_by(clipped_loss), R: reduce_by({})}
    report = conformance.grpo({**REFERENCE, **right})
    assert report.status == "passed", report
    assert {seen_by for _, _, seen_by in [*WRONG.values(), *WRONG_GRADIENT.values()]} == set(report.checks)


@needs_trl
def test_padding_that_leaks_is_seen_where_nothing_else_masks_it():
    """The functions mask one after the other, so one that does not is only seen with the next one."""
    leaks = {
        K: k3_by(k3, mask_padding=False),
        L: lambda new, old, a, mask, kl=None, beta=0.0, epsilon_low=0.2, epsilon_high=0.2: clipped_loss(
            (new - old.detach()).exp(), a.detach()[:, None], epsilon_low, epsilon_high) + (0.0 if kl is None else beta * kl),
        R: lambda losses, mask, reduction="sequence_mean", max_length=None: REFERENCE[R](
            losses.sum(-1, keepdim=True), mask[:, :1], "sequence_sum") if reduction == "sequence_sum" else REFERENCE[R](
            losses, mask, reduction, max_length),
    }
    report = conformance.grpo({**REFERENCE, **leaks})
    assert {"loss_luspo", "gradient_luspo", "loss_luspo_kl", "gradient_luspo_kl"} <= failed(report), report


# ---- A function that cannot be compared ------------------------------------------------------------------------------


def open_todo(*args, **kwargs):
    raise NotImplementedError("TODO 4: Four reductions | 四种归约")


@pytest.mark.parametrize("name", FUNCTIONS)
def test_open_or_missing_function_skips_before_trl_is_imported(monkeypatch, name):
    monkeypatch.setitem(sys.modules, "trl", None)
    for namespace, said in (
        ({**REFERENCE, name: open_todo}, f"`{name}` is still open: TODO 4: Four reductions | `{name}` 尚未完成：四种归约"),
        ({other: REFERENCE[other] for other in FUNCTIONS if other != name},
         f"`{name}` is not defined: run its cell first | `{name}` 还没有定义：请先运行它所在的单元"),
    ):
        report = conformance.grpo(namespace)
        assert (report.status, report.reason, report.checks) == ("skipped", said, {})


@needs_trl
@pytest.mark.parametrize("name, broken, said", [
    (A, lambda *args, **kwargs: None, "should return 1 float tensor(s) of shape [28]"),
    (K, lambda logps, *args: logps.sum(-1), "should return 1 float tensor(s) of shape [8, 5]"),
    (L, lambda new, *args, **kwargs: new.mean(), "should return 1 float tensor(s) of shape [8, 5]"),
    (R, lambda losses, *args, **kwargs: losses.sum(-1), "should return 1 float tensor(s) of shape []"),
    (R, lambda *args, **kwargs: 1 / 0, "raised ZeroDivisionError"),
])
def test_function_that_gives_nothing_to_compare_fails_and_is_named(name, broken, said):
    report = conformance.grpo({**REFERENCE, name: broken})
    assert report.status == "failed"
    assert any(f"`{name}` {said}" in result for result in report.checks.values()), report


@needs_trl
@pytest.mark.parametrize("gone, cause", [("_compute_loss", "AttributeError"), ("_get_per_token_logps_and_entropies", "AttributeError")])
def test_drift_of_trl_is_incompatible_with_version_and_cause(monkeypatch, gone, cause):
    import trl

    monkeypatch.delattr(trl.GRPOTrainer, gone)
    report = conformance.grpo(REFERENCE)
    assert report.status == "incompatible"
    assert trl.__version__ in report.reason and cause in report.reason
