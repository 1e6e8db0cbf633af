"""conformance.om_grpo: it agrees with the reference, and sees wrong formulas. What it shares with conformance.rloo is tested there."""

import sys

import pytest
import torch

from advantagelab import conformance
from advantagelab.algorithms.om_grpo import om_grpo_loss
from advantagelab.conformance import om_grpo_loss as cases
from tests.test_conformance import failed, needs_trl, quick_garbage_collection  # noqa: F401  (the fixture is used by every test)


def compared(function) -> conformance.Report:
    return conformance.om_grpo({"om_grpo_loss": function})


# ---- It agrees -------------------------------------------------------------------------------------------------------


@needs_trl
def test_reference_agrees_with_trl():
    report = compared(om_grpo_loss)
    assert report.status == "passed", report
    assert report.passed == len(report.checks) == 20
    assert "GRPOTrainer" in report.framework_path and "tool_mask" in report.framework_path and "20 of 20" in repr(report)


@needs_trl
def test_another_right_answer_agrees_with_trl():
    """Loops over completions and tokens, and a clip written as cases."""

    def token_loss(new, old, reference, advantage, beta, epsilon_low, epsilon_high):
        ratio = (new - old.detach()).exp()
        stopped = advantage > 0 and ratio > 1 + epsilon_high or advantage < 0 and ratio < 1 - epsilon_low
        bound = 1 + epsilon_high if advantage > 0 else 1 - epsilon_low
        x = reference.detach() - new
        return -(bound if stopped else ratio) * advantage.detach() + beta * (x.exp() - x - 1)

    def loss(new, old, reference, advantages, completion_mask, answer_mask, beta=0.005, epsilon_low=0.2, epsilon_high=0.2, mask_kl=True,
             reduction="sequence_sum"):
        assert mask_kl
        rows = []
        for i in range(len(new)):
            counted = [t for t in range(new.shape[1]) if completion_mask[i, t] and not answer_mask[i, t]]
            options = advantages[i], beta, epsilon_low, epsilon_high
            rows.append([token_loss(new[i, t], old[i, t], reference[i, t], *options) for t in counted])
        sums = [sum(row) + torch.zeros(()) for row in rows]
        if reduction == "token_mean":
            return sum(sums) / sum(map(len, rows))
        divisors = [len(row) if reduction == "sequence_mean" and row else 1 for row in rows]
        return sum(total / divisor for total, divisor in zip(sums, divisors, strict=True)) / len(rows)

    report = compared(loss)
    assert report.status == "passed", report


def test_the_cases_reach_what_they_should():
    ratios = cases.LOG_RATIOS.exp()
    sides = torch.bucketize(ratios, torch.tensor([1 - cases.EPSILON_LOW, 1 + cases.EPSILON_HIGH]))
    exchanged = torch.bucketize(ratios, torch.tensor([1 - cases.EPSILON_HIGH, 1 + cases.EPSILON_LOW]))
    for sign in (1, -1):
        here = cases.LOSS_MASK & (cases.ADVANTAGES.sign() == sign)[:, None]
        assert set(sides[here].tolist()) == {0, 1, 2}
        assert (sides != exchanged)[here].sum() >= 2
    lengths, answers, counted = cases.MASK.sum(-1), (cases.MASK & cases.ANSWER_MASK).sum(-1), cases.LOSS_MASK.sum(-1)
    assert lengths.min() == 0 and len(lengths.unique()) >= 6
    assert ((lengths > 0) & (answers == 0)).any() and ((lengths > 0) & (counted == 0)).any()  # no answer; nothing but the answer
    assert (cases.ANSWER_MASK & ~cases.MASK).any()
    follows = [(cases.LOSS_MASK[i] & (torch.arange(7) > last - 1)).any() for i, (_, last) in enumerate(cases.ANSWER_SPANS) if answers[i]]
    assert any(follows) and not all(follows)  # something stands behind an answer, or nothing


@needs_trl
def test_trl_drops_the_answer_from_both_terms_and_from_the_count(monkeypatch):
    """What tool_mask means, without the learner: TRL's loss on completions that never had an answer is the same."""
    from trl import GRPOTrainer

    masked = {loss_type: cases.of_trl(GRPOTrainer, loss_type, cases.BETA)[0] for loss_type in cases.REDUCTIONS}
    for name in ("TOKEN_LOGPS", "OLD_LOGPS", "REFERENCE_LOGPS"):
        packed = torch.full((9, 7), -4.0)
        for row, values, counted in zip(packed, getattr(cases, name), cases.LOSS_MASK, strict=True):
            row[: counted.sum()] = values[counted]
        monkeypatch.setattr(cases, name, packed)
    counted = torch.arange(7) < cases.LOSS_MASK.sum(-1, keepdim=True)
    for name, mask in {"MASK": counted, "LOSS_MASK": counted, "ANSWER_MASK": torch.zeros_like(counted)}.items():
        monkeypatch.setattr(cases, name, mask)
    for loss_type, loss in masked.items():
        assert cases.of_trl(GRPOTrainer, loss_type, cases.BETA)[0].item() == pytest.approx(loss.item(), rel=1e-6)


# ---- It sees wrong formulas ------------------------------------------------------------------------------------------


def clipped(ratios, advantages, low, high):
    return -torch.minimum(ratios * advantages, ratios.clamp(1 - low, 1 + high) * advantages)


def k3(x):
    return torch.expm1(x) - x


def reduced(losses, mask, reduction):
    sums, lengths = losses.masked_fill(~mask, 0.0).sum(-1), mask.sum(-1)
    if reduction == "token_mean":
        return sums.sum() / lengths.sum()
    return (sums / (lengths.clamp(min=1) if reduction == "sequence_mean" else 1)).mean()


def loss_by(
    policy=clipped,
    kl=k3,
    loss_mask=lambda valid, answer: valid & ~answer,
    kl_mask=None,
    divisor_mask=None,
    reduce=reduced,
    beta_of=lambda beta: beta,
    advantages_of=lambda advantages, valid, answer: advantages[:, None],
    detach=("old", "reference", "advantages"),
):
    """om_grpo_loss, of which a caller exchanges one part."""

    def frozen(name, values):
        return values.detach() if name in detach else values

    def loss(new, old, reference, advantages, completion_mask, answer_mask, beta=0.005, epsilon_low=0.2, epsilon_high=0.2, mask_kl=True,
             reduction="sequence_sum"):
        of_policy = loss_mask(completion_mask, answer_mask)
        of_kl = kl_mask(completion_mask, answer_mask) if kl_mask else of_policy
        ratios = (new - frozen("old", old)).masked_fill(~of_policy, 0.0).exp()
        weights = advantages_of(frozen("advantages", advantages), completion_mask, answer_mask)
        policy_losses = policy(ratios, weights, epsilon_low, epsilon_high)
        token_kl = kl((frozen("reference", reference) - new).masked_fill(~of_kl, 0.0))
        if divisor_mask:  # what is left out counts as 0, and is counted
            counted = divisor_mask(completion_mask, answer_mask)
            policy_losses, of_policy = policy_losses.masked_fill(~of_policy, 0.0), counted
            token_kl, of_kl = token_kl.masked_fill(~of_kl, 0.0), counted
        return reduce(policy_losses, of_policy, reduction) + beta_of(beta) * reduce(token_kl, of_kl, reduction)

    return loss


def shifted(answer, by):
    """The answer mask moved by one token to the right (1) or to the left (-1)."""
    moved = torch.zeros_like(answer)
    if by == 1:
        moved[:, 1:] = answer[:, :-1]
    else:
        moved[:, :-1] = answer[:, 1:]
    return moved


def mask_multiplies_losses(losses, mask, reduction):
    return reduced(losses * mask, torch.ones_like(mask), reduction)


def completions_without_a_counted_token_dropped(losses, mask, reduction):
    kept = mask.any(-1)
    return reduced(losses[kept], mask[kept], reduction)


def as_reduction(names):
    return lambda losses, mask, reduction: reduced(losses, mask, names.get(reduction, reduction))


def clip_that_lets_the_gradient_through(ratios, advantages, low, high):
    surrogate = ratios * advantages
    return -(surrogate + (-clipped(ratios, advantages, low, high) - surrogate).detach())


def answers_pushed_without_a_loss(new, old, reference, advantages, completion_mask, answer_mask, **options):
    """The value is right, but the answer's tokens get a gradient."""
    leak = ((new - new.detach()) * (completion_mask & answer_mask)).sum()
    return om_grpo_loss(new, old, reference, advantages, completion_mask, answer_mask, **options) + 1e-9 * leak


WRONG = {
    # name: (wrong version, a check that must see it)
    "answer not masked": (loss_by(loss_mask=lambda valid, answer: valid), "gradient_0_on_answers"),
    "answer alone trained": (loss_by(loss_mask=lambda valid, answer: valid & answer), "loss_luspo"),
    "completion mask forgotten": (loss_by(loss_mask=lambda valid, answer: ~answer), "loss_luspo"),
    "one token late": (loss_by(loss_mask=lambda valid, answer: valid & ~shifted(answer, 1)), "loss_dapo"),
    "one token early": (loss_by(loss_mask=lambda valid, answer: valid & ~shifted(answer, -1)), "gradient_bnpo"),
    "everything from the answer on masked": (
        loss_by(loss_mask=lambda valid, answer: valid & (answer.cumsum(-1) == 0)), "loss_grpo"),
    "only the first token of the answer masked": (
        loss_by(loss_mask=lambda valid, answer: valid & ~(answer & (answer.cumsum(-1) == 1))), "loss_luspo"),
    "KL on the answer": (loss_by(kl_mask=lambda valid, answer: valid), "gradient_0_on_answers"),
    "KL on the answer alone": (loss_by(kl_mask=lambda valid, answer: valid & answer), "loss_luspo_kl"),
    "policy term on the answer": (
        loss_by(loss_mask=lambda valid, answer: valid, kl_mask=lambda valid, answer: valid & ~answer), "gradient_dapo"),
    "answer tokens counted by the divisor": (loss_by(divisor_mask=lambda valid, answer: valid), "loss_grpo"),
    "padding counted by the divisor": (loss_by(divisor_mask=lambda valid, answer: torch.ones_like(valid)), "loss_bnpo"),
    "mask multiplied, all positions counted": (loss_by(reduce=mask_multiplies_losses), "gradient_grpo"),
    "completion that is all answer left out of the mean": (loss_by(reduce=completions_without_a_counted_token_dropped), "loss_luspo"),
    "sequence mean for sequence sum": (loss_by(reduce=as_reduction({"sequence_sum": "sequence_mean"})), "gradient_luspo_kl"),
    "token mean for sequence mean": (loss_by(reduce=as_reduction({"sequence_mean": "token_mean"})), "loss_grpo_kl"),
    "sequence sum for token mean": (loss_by(reduce=as_reduction({"token_mean": "sequence_sum"})), "loss_dapo_kl"),
    "reduction ignored": (loss_by(reduce=lambda losses, mask, reduction: reduced(losses, mask, "sequence_sum")), "loss_bnpo_kl"),
    "no clip": (loss_by(policy=lambda r, a, low, high: -r * a), "gradient_luspo"),
    "max for min": (loss_by(policy=lambda r, a, low, high: -torch.maximum(r * a, r.clamp(1 - low, 1 + high) * a)), "loss_dapo"),
    "clipped side only": (loss_by(policy=lambda r, a, low, high: -r.clamp(1 - low, 1 + high) * a), "gradient_grpo"),
    "epsilons exchanged": (loss_by(policy=lambda r, a, low, high: clipped(r, a, high, low)), "gradient_dapo"),
    "epsilon_high ignored": (loss_by(policy=lambda r, a, low, high: clipped(r, a, low, low)), "loss_grpo"),
    "loss negated": (loss_by(policy=lambda *inputs: -clipped(*inputs)), "loss_bnpo"),
    "ratio inverted": (loss_by(policy=lambda r, a, low, high: clipped(1 / r, a, low, high)), "gradient_bnpo_kl"),
    "advantage left out": (loss_by(policy=lambda r, a, low, high: -r), "gradient_dapo_kl"),
    "advantage shared over the counted tokens": (
        loss_by(advantages_of=lambda a, valid, answer: a[:, None] / (valid & ~answer).sum(-1, keepdim=True).clamp(min=1)), "loss_luspo"),
    "KL left out": (loss_by(kl=lambda x: 0 * x), "loss_luspo_kl"),
    "KL sign": (loss_by(beta_of=lambda beta: -beta), "loss_grpo_kl"),
    "beta fixed": (loss_by(beta_of=lambda beta: 0.005), "gradient_grpo_kl"),
    "k1": (loss_by(kl=lambda x: -x), "loss_dapo_kl"),
    "k2": (loss_by(kl=lambda x: x**2 / 2), "gradient_bnpo_kl"),
    "advantage squared": (loss_by(policy=lambda r, a, low, high: clipped(r, a * a.abs(), low, high)), "update_loss"),
    "k3 of policy over reference": (loss_by(kl=lambda x: k3(-x)), "gradient_luspo_kl"),
}
# These have the right loss on every batch: only a gradient tells them.
WRONG_GRADIENT = {
    "ratio detached": (loss_by(policy=lambda r, *rest: clipped(r.detach(), *rest)), "gradient_luspo"),
    "clip lets the gradient through": (loss_by(policy=clip_that_lets_the_gradient_through), "gradient_dapo"),
    "KL detached": (loss_by(kl=lambda x: k3(x).detach()), "gradient_grpo_kl"),
    "old not detached": (loss_by(detach=("reference", "advantages")), "gradient_undetached_inputs"),
    "reference not detached": (loss_by(detach=("old", "advantages")), "gradient_undetached_inputs"),
    "advantages not detached": (loss_by(detach=("old", "reference")), "gradient_undetached_inputs"),
    "half of the gradient": (
        lambda *inputs, **options: (lambda x: (x + x.detach()) / 2)(om_grpo_loss(*inputs, **options)), "update_gradient"),
    "loss detached": (lambda *inputs, **options: om_grpo_loss(*inputs, **options).detach(), "gradient_bnpo"),
    "answer pushed a very little": (answers_pushed_without_a_loss, "gradient_0_on_answers"),
}


@needs_trl
@pytest.mark.parametrize("name", [*WRONG, *WRONG_GRADIENT])
def test_wrong_function_is_seen(name):
    wrong, seen_by = {**WRONG, **WRONG_GRADIENT}[name]
    report = compared(wrong)
    assert report.status == "failed", report
    assert seen_by in failed(report), report
    if name in WRONG_GRADIENT:
        assert all("gradient" in check for check in failed(report)), report


@needs_trl
def test_the_wrong_functions_are_wrong_in_one_thing_only_and_no_check_is_idle():
    report = compared(loss_by())
    assert report.status == "passed", report
    assert {seen_by for _, seen_by in [*WRONG.values(), *WRONG_GRADIENT.values()]} == set(report.checks)


@needs_trl
def test_a_push_on_answers_that_no_tolerance_would_see_is_seen():
    assert failed(compared(answers_pushed_without_a_loss)) == {"gradient_0_on_answers"}


# ---- A function that cannot be compared ------------------------------------------------------------------------------


def open_todo(*args, **kwargs):
    raise NotImplementedError("TODO 5: Outcome-masked loss | 结果掩码损失")


def test_open_or_missing_function_skips_before_trl_is_imported(monkeypatch):
    monkeypatch.setitem(sys.modules, "trl", None)
    for namespace, said in (
        ({"om_grpo_loss": open_todo},
         "`om_grpo_loss` is still open: TODO 5: Outcome-masked loss | `om_grpo_loss` 尚未完成：结果掩码损失"),
        ({}, "`om_grpo_loss` is not defined: run its cell first | `om_grpo_loss` 还没有定义：请先运行它所在的单元"),
    ):
        report = conformance.om_grpo(namespace)
        assert (report.status, report.checks) == ("skipped", {})
        assert report.reason == said


@needs_trl
@pytest.mark.parametrize("broken, said", [
    (lambda *args, **kwargs: None, "should return 1 float tensor(s) of shape []"),
    (lambda new, *args, **kwargs: new.sum(-1), "should return 1 float tensor(s) of shape []"),
    (lambda *args, **kwargs: 1 / 0, "raised ZeroDivisionError"),
])
def test_function_that_gives_nothing_to_compare_fails_and_is_named(broken, said):
    report = compared(broken)
    assert report.status == "failed"
    assert any(f"`om_grpo_loss` {said}" in result for result in report.checks.values()), report


@needs_trl
@pytest.mark.parametrize("gone", ["_compute_loss", "_get_per_token_logps_and_entropies"])
def test_drift_of_trl_is_incompatible_with_version_and_cause(monkeypatch, gone):
    import trl

    monkeypatch.delattr(trl.GRPOTrainer, gone)
    report = compared(om_grpo_loss)
    assert report.status == "incompatible"
    assert trl.__version__ in report.reason and "AttributeError" in report.reason


@needs_trl
def test_a_trl_without_tool_mask_is_incompatible(monkeypatch):
    """It would train the answers, and nothing that a learner writes could agree."""
    import trl

    compute_loss = trl.GRPOTrainer._compute_loss
    monkeypatch.setattr(trl.GRPOTrainer, "_compute_loss", lambda self, model, inputs: compute_loss(
        self, model, {name: value for name, value in inputs.items() if name != "tool_mask"}))
    report = compared(om_grpo_loss)
    assert report.status == "incompatible"
    assert "tool_mask leaves a gradient on masked tokens" in report.reason
