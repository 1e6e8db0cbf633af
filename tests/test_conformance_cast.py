"""conformance.cast: it agrees with the reference, and sees wrong formulas. What it shares with conformance.rloo is tested there."""

import sys

import pytest
import torch

from advantagelab import conformance
from advantagelab.algorithms import cast as reference
from advantagelab.conformance import cast_loss, cast_training
from tests.test_conformance import failed, needs_trl, quick_garbage_collection  # noqa: F401  (the fixture is used by every test)

FUNCTIONS = ("cast_base_advantages", "self_teacher_gap", "asymmetric_weights", "cast_token_advantages", "cast_loss")
REFERENCE = {name: getattr(reference, name) for name in FUNCTIONS}
B, G, W, A, L = FUNCTIONS


# ---- It agrees -------------------------------------------------------------------------------------------------------


@needs_trl
def test_reference_agrees_with_trl():
    report = conformance.cast(REFERENCE)
    assert report.status == "passed", report
    assert report.passed == len(report.checks) == 28
    assert "GRPOTrainer" in report.framework_path and "28 of 28" in repr(report)


@needs_trl
def test_another_right_answer_agrees_with_trl():
    """Loops, float64, and cases in place of clips."""

    def base_advantages(rewards, group_ids, delta_pos=0.1, delta_neg=0.1):
        values, result = rewards.detach().double(), torch.zeros(len(rewards), dtype=torch.float64)
        for i in range(len(values)):
            group = values[(group_ids == group_ids[i]) & ~values.isnan()]
            if values[i].isnan():
                continue
            if group.min() == group.max():
                result[i] = delta_pos if values[i] == 1 else -delta_neg
            else:
                result[i] = (values[i] - group.mean()) / (((group - group.mean()) ** 2).mean().sqrt() + 1e-6)
        return result

    def gap(teacher, old, completion_mask, dead_band=0.0):
        with torch.no_grad():
            difference = torch.where(completion_mask, teacher - old, 0.0)
            return torch.where(difference.abs() > dead_band, difference, 0.0)

    def weights(base, gaps, z="sign", positive_bounds=(0.8, 1.05), negative_bounds=(0.95, 1.2)):
        result = gaps.detach().double().clone()
        for i, bounds in enumerate(positive_bounds if b > 0 else negative_bounds for b in base):
            result[i] = (result[i] * (base[i].sign() if z == "sign" else 1)).exp().clamp(*bounds)
        return result

    def token_advantages(base, gaps, weights, lam=1.0, positive_bounds=(0.8, 1.05), negative_bounds=(0.95, 1.2), flip_down=True,
                         flip_up=True, limit=1.2):
        result = base.detach().double()[:, None].repeat(1, gaps.shape[1])
        for i, t in torch.cartesian_prod(torch.arange(gaps.shape[0]), torch.arange(gaps.shape[1])).tolist():
            b, g, w = base[i].item(), gaps[i, t].item(), weights[i, t].item()
            if b > 0 > g and flip_down or b < 0 < g and flip_up:
                low, high = negative_bounds if b > 0 else positive_bounds
                b, w = -b, torch.tensor(abs(g)).exp().clamp(max(low, 1.0), high).item()
            result[i, t] = max(-limit, min(limit, b * (1 + lam * (w - 1))))
        return result

    def loss(new, old, advantages, completion_mask, epsilon_low=0.2, epsilon_high=1.0, reduction="token_mean"):
        ratios = torch.where(completion_mask, new - old.detach(), 0.0).exp()
        a = advantages.detach()
        stopped = (a > 0) & (ratios > 1 + epsilon_high) | (a < 0) & (ratios < 1 - epsilon_low)
        losses = -torch.where(stopped, torch.where(a > 0, 1 + epsilon_high, 1 - epsilon_low), ratios) * a
        rows = [row[valid].double() for row, valid in zip(losses, completion_mask, strict=True)]
        if reduction == "token_mean":
            return torch.cat(rows).mean()
        return torch.stack([row.sum() / (max(len(row), 1) if reduction == "sequence_mean" else 1) for row in rows]).mean()

    report = conformance.cast(dict(zip(FUNCTIONS, (base_advantages, gap, weights, token_advantages, loss), strict=True)))
    assert report.status == "passed", report


def test_the_cases_reach_every_side_of_the_clip_for_flipped_tokens_and_others():
    base = REFERENCE[B](cast_loss.REWARDS, cast_loss.GROUP_IDS)
    gaps = REFERENCE[G](cast_loss.TEACHER_LOGPS, cast_loss.OLD_LOGPS, cast_loss.MASK)
    advantages = REFERENCE[A](base, gaps, REFERENCE[W](base, gaps))
    ratios = (cast_loss.TOKEN_LOGPS - cast_loss.OLD_LOGPS).exp()
    low, narrow, wide = cast_loss.EPSILON_LOW, *sorted(cast_loss.EPSILONS_HIGH.values())
    sides = torch.bucketize(ratios, torch.tensor([1 - narrow, 1 - low, 1 + low, 1 + narrow, 1 + wide]))
    for base_sign in (1, -1):
        for sign in (1, -1):
            here = cast_loss.MASK & (base.sign() == base_sign)[:, None] & (advantages.sign() == sign)
            assert set(sides[here].tolist()) == {0, 1, 2, 3, 4, 5}, (base_sign, sign)
        assert (cast_loss.MASK & (base.sign() == base_sign)[:, None] & (gaps == 0)).any()
    lengths = cast_loss.MASK.sum(-1)
    assert lengths.min() == 0 and len(lengths.unique()) >= 5
    assert base.unique().tolist() == pytest.approx([-(3**-0.5), -0.1, 0.0, 0.1, 3**0.5], abs=1e-5)
    kinds = {(sum(reward is None for reward in rewards), *sorted({reward for reward in rewards if reward is not None}))
             for rewards in cast_training.REWARDS.values()}
    assert kinds == {(0, 0.0, 1.0), (1, 0.0, 1.0), (2, 0.0, 1.0), (3, 1.0), (4,), (0, 1.0), (0, 0.0)}


# ---- It sees wrong formulas ------------------------------------------------------------------------------------------


def base_by(formula, detach=True, zero_variance=lambda values, delta_pos, delta_neg: torch.where(values > 0, delta_pos, -delta_neg)):
    """cast_base_advantages from formula(scored rewards of a mixed group, number of its completions)."""

    def base_advantages(rewards, group_ids, delta_pos=0.1, delta_neg=0.1):
        result = torch.zeros_like(rewards)
        for group in group_ids.unique():
            own = group_ids == group
            scored = own & ~rewards.isnan()
            values = rewards[scored].detach() if detach else rewards[scored]
            mixed = scored.any() and values.max() > values.min()
            result[scored] = formula(values, int(own.sum())) if mixed else zero_variance(values, delta_pos, delta_neg)
        return result

    return base_advantages


def in_deviations(r, n=None, ddof=0):
    return (r - r.mean()) / (r.std(correction=ddof) + 1e-6)


def base_of(change):
    return lambda rewards, group_ids, **deltas: REFERENCE[B](*change(rewards, group_ids), **deltas)


def gap_by(formula, keep_gradient=False):
    def gap(teacher, old, completion_mask, dead_band=0.0):
        gaps = formula(teacher, old).masked_fill(~completion_mask, 0.0)
        return gaps if keep_gradient else gaps.detach()

    return gap


def weights_by(formula, keep_gradient=False):
    def weights(base, gaps, **options):
        value = formula(gaps * base.sign()[:, None]).clamp(0.8, 1.2)
        return value if keep_gradient else value.detach()

    return weights


def advantages_by(flip=lambda base, gaps: base * gaps < 0, switches=True, lam_counts=True, most=None, freeze=lambda value: value.detach()):
    def token_advantages(base, gaps, weights, lam=1.0, flip_down=True, flip_up=True, limit=1.2):
        base = freeze(base)[:, None]
        allowed = torch.where(base > 0, flip_down, flip_up) if switches else True
        size = 1 + (lam if lam_counts else 1) * (freeze(weights) - 1)
        limit = limit if most is None else most
        return (torch.where(flip(base, gaps) & allowed, -base, base) * size).clamp(-limit, limit)

    return token_advantages


def loss_by(formula, level="token", detach_old=True, detach_advantages=True, reduction_for=None, hide_padding=True):
    """cast_loss from formula(ratios, advantages, epsilon_low, epsilon_high)."""

    def loss(new, old, advantages, completion_mask, epsilon_low=0.2, epsilon_high=1.0, reduction="token_mean"):
        log_ratios = new - (old.detach() if detach_old else old)
        if hide_padding:
            log_ratios = log_ratios.masked_fill(~completion_mask, 0.0)
        if level == "sequence":
            log_ratios = log_ratios.sum(-1, keepdim=True).expand_as(new)
        elif level == "geometric mean":
            log_ratios = (log_ratios.sum(-1) / completion_mask.sum(-1).clamp(min=1))[:, None].expand_as(new)
        advantages = advantages.detach() if detach_advantages else advantages
        losses = formula(log_ratios.exp(), advantages.masked_fill(~completion_mask, 0.0), epsilon_low, epsilon_high)
        reduce = (reduction_for or {}).get(reduction, reduction)
        if callable(reduce):
            return reduce(losses, completion_mask)
        return reference.reduce_token_losses(losses, completion_mask, reduce)

    return loss


def clipped_loss(ratios, advantages, low, high):
    return -torch.minimum(ratios * advantages, ratios.clamp(1 - low, 1 + high) * advantages)


def side_of_the_completion(ratios, advantages, low, high):
    """The bound follows the sign of the completion's mean advantage, not that of the token."""
    upper = advantages.mean(-1, keepdim=True) > 0
    return -torch.where(upper, ratios.clamp(max=1 + high), ratios.clamp(min=1 - low)) * advantages


def clip_that_lets_the_gradient_through(ratios, advantages, low, high):
    surrogate = ratios * advantages
    return -(surrogate + (-clipped_loss(ratios, advantages, low, high) - surrogate).detach())


def over_nonempty_sequences(losses, mask):
    return (losses.masked_fill(~mask, 0.0).sum(-1) / mask.sum(-1))[mask.any(-1)].mean()


WRONG = {
    # name: (function, wrong version, a check that must see it)
    "not centered": (B, base_by(lambda r, n: r / r.std(correction=0)), "base_advantages"),
    "leave-one-out": (B, base_by(lambda r, n: (r - r.mean()) * len(r) / (len(r) - 1)), "base_advantages"),
    "never divided": (B, base_by(lambda r, n: r - r.mean()), "base_advantages"),
    "ddof 1": (B, base_by(lambda r, n: in_deviations(r, n, ddof=1)), "base_advantages"),
    "missing siblings counted": (B, base_by(lambda r, n: in_deviations(r) * len(r) / n), "base_advantages"),
    "deltas fixed": (B, base_by(in_deviations, zero_variance=lambda values, *_: 0.2 * values - 0.1), "base_advantages"),
    "zero variance keeps its reward": (B, base_by(in_deviations, zero_variance=lambda values, *_: values), "base_advantages"),
    "missing reward as 0": (B, base_of(lambda r, ids: (r.nan_to_num(nan=0.0), ids)), "base_advantages"),
    "mean of the batch": (B, base_of(lambda r, ids: (r, torch.zeros_like(ids))), "base_advantages"),
    "groups by position": (B, base_of(lambda r, ids: (r, torch.arange(len(r)) // 4)), "base_advantages"),
    "base keeps a gradient": (B, base_by(in_deviations, detach=False), "no_gradient_through_rewards"),
    "gap without the student": (G, gap_by(lambda teacher, old: teacher), "loss_no_gap_is_grpo"),
    "gap keeps a gradient": (G, gap_by(lambda teacher, old: teacher - old, keep_gradient=True), "no_gradient_through_self_teacher_gap"),
    "gap's teacher not detached": (
        G, gap_by(lambda teacher, old: teacher - old.detach(), keep_gradient=True), "no_gradient_through_self_teacher_gap"),
    "gap's student not detached": (
        G, gap_by(lambda teacher, old: teacher.detach() - old, keep_gradient=True), "no_gradient_through_self_teacher_gap"),
    "weight of no gap is not 1": (W, weights_by(lambda x: 2 * torch.sigmoid(x) + 0.1), "gradient_no_gap_is_grpo"),
    "weights keep a gradient": (W, weights_by(torch.exp, keep_gradient=True), "no_gradient_through_asymmetric_weights"),
    "flip without a gap": (A, advantages_by(flip=lambda base, gaps: base * gaps <= 0), "loss_no_gap_is_grpo"),
    "flips always on": (A, advantages_by(switches=False), "loss_no_shaping_is_grpo"),
    "lambda ignored": (A, advantages_by(lam_counts=False), "gradient_no_shaping_is_grpo"),
    "limit fixed": (A, advantages_by(most=1.2), "loss_no_gap_is_grpo"),
    "advantages keep a gradient": (A, advantages_by(freeze=lambda value: value), "no_gradient_through_cast_token_advantages"),
    "no clip": (L, loss_by(lambda r, a, low, high: -r * a), "loss_dapo"),
    "max for min": (L, loss_by(lambda r, a, low, high: -torch.maximum(r * a, r.clamp(1 - low, 1 + high) * a)), "loss_bnpo"),
    "clipped side only": (L, loss_by(lambda r, a, low, high: -r.clamp(1 - low, 1 + high) * a), "gradient_grpo"),
    "epsilons exchanged": (L, loss_by(lambda r, a, low, high: clipped_loss(r, a, high, low)), "loss_luspo_narrow"),
    "epsilon_high ignored": (L, loss_by(lambda r, a, low, high: clipped_loss(r, a, low, low)), "gradient_dapo_narrow"),
    "epsilon_high fixed": (L, loss_by(lambda r, a, low, high: clipped_loss(r, a, low, 1.0)), "loss_dapo_narrow"),
    "one sign for the completion": (L, loss_by(side_of_the_completion), "gradient_bnpo"),
    "clipped whatever the sign": (L, loss_by(lambda r, a, low, high: -torch.minimum(r, r.clamp(1 - low, 1 + high)) * a), "loss_grpo"),
    "mean advantage of the completion": (
        L, loss_by(lambda r, a, low, high: clipped_loss(r, a.mean(-1, keepdim=True).expand_as(a), low, high)), "loss_dapo"),
    "size of the advantage only": (L, loss_by(lambda r, a, low, high: clipped_loss(r, a.abs(), low, high)), "loss_bnpo_narrow"),
    "advantage left out": (L, loss_by(lambda r, a, low, high: -r), "gradient_bnpo_narrow"),
    "advantage squared": (L, loss_by(lambda r, a, low, high: clipped_loss(r, a * a.abs(), low, high)), "update_loss"),
    "loss negated": (L, loss_by(lambda r, a, low, high: -clipped_loss(r, a, low, high)), "loss_luspo"),
    "ratio inverted": (L, loss_by(lambda r, a, low, high: clipped_loss(1 / r, a, low, high)), "gradient_luspo"),
    "sequence ratio": (L, loss_by(clipped_loss, level="sequence"), "loss_grpo_narrow"),
    "geometric mean of the ratios": (L, loss_by(clipped_loss, level="geometric mean"), "gradient_grpo_narrow"),
    "reduction ignored": (
        L, loss_by(clipped_loss, reduction_for=dict.fromkeys(("sequence_mean", "sequence_sum"), "token_mean")), "loss_grpo"),
    "sequence mean for token mean": (L, loss_by(clipped_loss, reduction_for={"token_mean": "sequence_mean"}), "loss_dapo"),
    "sequence mean without the empty one": (
        L, loss_by(clipped_loss, reduction_for={"sequence_mean": over_nonempty_sequences}), "loss_grpo"),
    "sequence sum without the number": (
        L, loss_by(clipped_loss, reduction_for={"sequence_sum": lambda losses, mask: losses[mask].sum()}), "gradient_luspo_narrow"),
    "token mean over all positions": (
        L, loss_by(clipped_loss, reduction_for={"token_mean": lambda losses, mask: losses.mean()}), "gradient_dapo"),
    "padding leaks": (
        L, loss_by(lambda r, a, low, high: -r, hide_padding=False, reduction_for={"token_mean": lambda losses, mask: losses.mean()}),
        "loss_dapo"),
}
# These have the right loss on every batch: only a gradient tells them.
WRONG_GRADIENT = {
    "ratio detached": (L, loss_by(lambda r, a, low, high: clipped_loss(r.detach(), a, low, high)), "gradient_dapo"),
    "clip lets the gradient through": (L, loss_by(clip_that_lets_the_gradient_through), "gradient_bnpo"),
    "old not detached": (L, loss_by(clipped_loss, detach_old=False), "gradient_undetached_inputs"),
    "advantages not detached": (L, loss_by(clipped_loss, detach_advantages=False), "gradient_undetached_inputs"),
    "half of the gradient": (L, lambda *inputs, **options: (lambda x: (x + x.detach()) / 2)(REFERENCE[L](*inputs, **options)),
                             "update_gradient"),
    "loss detached": (L, lambda *inputs, **options: REFERENCE[L](*inputs, **options).detach(), "gradient_luspo_narrow"),
}


@needs_trl
@pytest.mark.parametrize("name", [*WRONG, *WRONG_GRADIENT])
def test_wrong_function_is_seen(name):
    function, wrong, seen_by = {**WRONG, **WRONG_GRADIENT}[name]
    report = conformance.cast({**REFERENCE, function: wrong})
    assert report.status == "failed", report
    assert seen_by in failed(report), report
    assert not any("raised" in result or "should return" in result for result in report.checks.values()), report
    if name in WRONG_GRADIENT:
        assert all("gradient" in check for check in failed(report)), report


@needs_trl
def test_the_wrong_functions_are_wrong_in_one_thing_only_and_no_check_is_idle():
    right = {
        B: base_by(in_deviations), G: gap_by(lambda teacher, old: teacher - old), W: weights_by(torch.exp), A: advantages_by(),
        L: loss_by(clipped_loss),
    }
    report = conformance.cast({**REFERENCE, **right})
    assert report.status == "passed", report
    assert {seen_by for _, _, seen_by in [*WRONG.values(), *WRONG_GRADIENT.values()]} == set(report.checks)


@needs_trl
def test_what_trl_does_not_have_is_not_judged():
    """It has no self-teacher, so it cannot tell how a gap should become an advantage: that is for the lesson's own checks."""
    other = {G: gap_by(lambda teacher, old: old - teacher), A: advantages_by(flip=lambda base, gaps: base * gaps > 0)}
    assert conformance.cast({**REFERENCE, **other}).status == "passed"


# ---- A function that cannot be compared ------------------------------------------------------------------------------


def open_todo(*args, **kwargs):
    raise NotImplementedError("TODO 4: Flips and the final clip | 翻转与最终裁剪")


@pytest.mark.parametrize("name", FUNCTIONS)
def test_open_or_missing_function_skips_before_trl_is_imported(monkeypatch, name):
    monkeypatch.setitem(sys.modules, "trl", None)
    for namespace, said in (
        ({**REFERENCE, name: open_todo},
         f"`{name}` is still open: TODO 4: Flips and the final clip | `{name}` 尚未完成：翻转与最终裁剪"),
        ({other: REFERENCE[other] for other in FUNCTIONS if other != name},
         f"`{name}` is not defined: run its cell first | `{name}` 还没有定义：请先运行它所在的单元"),
    ):
        report = conformance.cast(namespace)
        assert (report.status, report.reason, report.checks) == ("skipped", said, {})


@needs_trl
@pytest.mark.parametrize("name, broken, said", [
    (B, lambda *args, **kwargs: None, "should return 1 float tensor(s) of shape [12]"),
    (G, lambda teacher, *args: teacher.sum(-1), "should return 1 float tensor(s) of shape [12, 8]"),
    (W, lambda base, gaps, **kwargs: base, "should return 1 float tensor(s) of shape [12, 8]"),
    (A, lambda base, *args, **kwargs: base, "should return 1 float tensor(s) of shape [12, 8]"),
    (L, lambda new, *args, **kwargs: new.sum(-1), "should return 1 float tensor(s) of shape []"),
    (L, lambda *args, **kwargs: 1 / 0, "raised ZeroDivisionError"),
])
def test_function_that_gives_nothing_to_compare_fails_and_is_named(name, broken, said):
    report = conformance.cast({**REFERENCE, name: broken})
    assert report.status == "failed"
    assert any(f"`{name}` {said}" in result for result in report.checks.values()), report


@needs_trl
def test_token_advantages_that_are_not_finite_fail():
    report = conformance.cast({**REFERENCE, A: lambda base, gaps, *args, **kwargs: gaps * torch.nan})
    assert report.status == "failed" and "must be finite" in report.checks["loss_dapo"], report


@needs_trl
@pytest.mark.parametrize("gone, cause", [("_compute_loss", "AttributeError"), ("_get_per_token_logps_and_entropies", "AttributeError")])
def test_drift_of_trl_is_incompatible_with_version_and_cause(monkeypatch, gone, cause):
    import trl

    monkeypatch.delattr(trl.GRPOTrainer, gone)
    report = conformance.cast(REFERENCE)
    assert report.status == "incompatible"
    assert trl.__version__ in report.reason and cause in report.reason


@needs_trl
def test_trl_that_takes_no_advantage_for_each_token_is_incompatible(monkeypatch):
    import trl

    compute_loss = trl.GRPOTrainer._compute_loss

    def only_one_for_each_completion(trainer, model, inputs):
        if inputs["advantages"].dim() != 1:
            raise ValueError("advantages must be one-dimensional")
        return compute_loss(trainer, model, inputs)

    monkeypatch.setattr(trl.GRPOTrainer, "_compute_loss", only_one_for_each_completion)
    report = conformance.cast(REFERENCE)
    assert report.status == "incompatible" and "advantages must be one-dimensional" in report.reason
