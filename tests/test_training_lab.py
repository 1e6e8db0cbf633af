"""The training lab's methods compute what their formulas say, on completions of the shipped models."""

import dataclasses
import inspect

import pytest
import torch

from advantagelab.algorithms import training_lab as lab
from advantagelab.tinylm import Settings, measure, products, train

METHODS = {name: function for name, function in inspect.getmembers(lab, inspect.isfunction) if name.endswith("_method")}


def minibatch_of(method, base="half"):
    """The second minibatch of the second step: the policy has moved from the start model, and since it sampled."""
    seen = []

    def loss(batch):
        seen.append(batch)
        return method.loss(batch)

    settings = Settings(steps=2, prompts=8, warmup=1, learning_rate=1e-3, evaluate_every=2)
    train(dataclasses.replace(method, loss=loss), base, settings=settings, watch=lambda record: None)
    batch = seen[-1]
    batch.new_token_logits = batch.new_token_logits.detach().requires_grad_()
    batch.new_token_logps = batch.new_token_logits.log_softmax(-1).gather(-1, batch.completions.unsqueeze(-1)).squeeze(-1)
    return batch


@pytest.fixture(autouse=True)
def no_evaluation(monkeypatch):
    monkeypatch.setattr(products, "HELD_OUT", products.HELD_OUT[:8])
    monkeypatch.setattr(measure, "SEEN_SAMPLES", 8)


# ---- the formulas, written out for groups of eight that stand one after another

def groups(values):
    return values.view(-1, 8)


def standardized(rewards):
    centered = groups(rewards) - groups(rewards).mean(dim=-1, keepdim=True)
    return (centered / (groups(rewards).std(dim=-1, correction=0, keepdim=True) + 1e-6)).flatten()


def truth(batch):
    return torch.tensor([float(answer == product.answer) for answer, product in zip(batch.answers, batch.products)])


def counts(batch):
    """How often each completion's answer stands in its group."""
    return torch.tensor([float(sum(batch.answers[i] == batch.answers[j] for j in range(i - i % 8, i - i % 8 + 8)))
                         if batch.answers[i] else 0.0 for i in range(len(batch))])


def soft(batch):
    return (groups(counts(batch)) / groups(counts(batch)).max(dim=-1, keepdim=True).values).flatten()


def vote(batch):
    most = groups(counts(batch)).argmax(dim=-1).tolist()  # the first that is given most often
    return torch.tensor([float(batch.answers[i] == batch.answers[i - i % 8 + most[i // 8]]) for i in range(len(batch))])


def ratios(batch):
    return torch.exp(batch.new_token_logps - batch.old_token_logps)


def clipped(batch, high=1.2):
    advantages = batch.advantages if batch.advantages.ndim == 2 else batch.advantages[:, None]
    return -torch.minimum(ratios(batch) * advantages, ratios(batch).clamp(0.8, high) * advantages)


def k3(batch):
    log_ratios = batch.reference_token_logps - batch.new_token_logps
    return torch.expm1(log_ratios) - log_ratios


def summed(values, mask):
    return torch.where(mask, values, 0.0).sum(dim=-1).mean()


def whole_loss(batch, beta=0.005):
    return summed(clipped(batch) + beta * k3(batch), batch.completion_mask)


def masked_loss(batch):
    box = torch.tensor([[first >= text.rfind("{") + 1 and "}" in text and text[first] != "}" for first, _ in offsets]
                        + [False] * (18 - len(offsets)) for text, offsets in zip(batch.texts, batch.offsets)])
    return summed(clipped(batch), batch.completion_mask & ~box) + 0.005 * summed(k3(batch), batch.completion_mask)


def reverse_kl(batch):
    policy, teacher = batch.new_token_logits.log_softmax(-1), batch.teacher_token_logits.log_softmax(-1)
    return summed((policy.exp() * (policy - teacher)).sum(-1), batch.completion_mask)


def rloo_loss(batch):
    log_ratios = torch.where(batch.completion_mask, batch.new_token_logps - batch.old_token_logps, 0.0).sum(dim=-1)
    advantages = batch.rewards - (groups(batch.rewards).sum(dim=-1).repeat_interleave(8) - batch.rewards) / 7
    policy_loss = -torch.minimum(log_ratios.exp() * advantages, log_ratios.exp().clamp(0.8, 1.2) * advantages).mean()
    return policy_loss + summed(0.005 * k3(batch), batch.completion_mask)


CASES = {
    "grpo_method": (truth, standardized, whole_loss),
    "rloo_method": (truth, lambda rewards: (groups(rewards) - groups(rewards).mean(-1, keepdim=True)).flatten() * 8 / 7, rloo_loss),
    "majority_vote_method": (vote, standardized, whole_loss),
    "self_certainty_method": (
        lambda batch: torch.stack([(-row.log_softmax(-1).mean(-1) - torch.tensor(19.0).log())[mask].mean()
                                   for row, mask in zip(batch.old_token_logits, batch.completion_mask)]), standardized, whole_loss),
    "soft_consensus_method": (soft, standardized, whole_loss),
    "masked_vote_method": (vote, standardized, masked_loss),
    "om_grpo_method": (soft, standardized, masked_loss),
    "distillation_method": (lambda batch: torch.zeros(len(batch)), torch.zeros_like,
                            lambda batch: reverse_kl(batch) + summed(0.005 * k3(batch), batch.completion_mask)),
    "grpo_with_teacher_method": (truth, standardized, lambda batch: whole_loss(batch) + 0.1 * reverse_kl(batch)),
}


def gradient(loss, batch):
    found = torch.autograd.grad(loss, batch.new_token_logits, retain_graph=True)[0]
    return torch.where(batch.completion_mask.unsqueeze(-1), found, 0.0)


@pytest.mark.parametrize("name", CASES)
def test_rewards_advantages_and_loss_are_those_of_the_formulas(name):
    rewards, advantages, loss = CASES[name]
    method = METHODS[name]()
    batch = minibatch_of(method)
    torch.testing.assert_close(batch.rewards, rewards(batch), rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(batch.advantages, advantages(batch.rewards), rtol=1e-4, atol=1e-4)
    ours, theirs = method.loss(batch), loss(batch)
    torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(gradient(ours, batch), gradient(theirs, batch), rtol=1e-3, atol=1e-6)


def test_comparisons_vote_in_om_grpo_with_car():
    seen = []
    method = lab.om_grpo_car_method()
    minibatch_of(dataclasses.replace(method, rewards=lambda batch: seen.append(batch) or method.rewards(batch)))
    batch = seen[-1]
    pools = [[answer for answer in batch.answers[first:first + 8]] + [answer for i, _, answer in batch.comparisons if i // 8 == first // 8]
             for first in range(0, len(batch), 8)]
    in_pool = [pools[i // 8].count(answer) if answer else 0 for i, answer in enumerate(batch.answers)]
    expected = [in_pool[i] / max(in_pool[i - i % 8:i - i % 8 + 8]) for i in range(len(batch))]
    assert method.rewards(batch).tolist() == pytest.approx(expected) and len(batch.comparisons) == len(batch)


def test_the_sign_of_every_token_is_the_teachers_where_both_flips_are_on():
    batch = minibatch_of(lab.cast_method(), "direct")
    gaps = torch.where(batch.completion_mask, batch.teacher_token_logps - batch.old_token_logps, 0.0)
    decided = batch.completion_mask & (gaps != 0)
    assert torch.equal(batch.advantages[decided].sign(), gaps[decided].sign()) and decided.sum() > 150
    loss = summed(clipped(batch, high=2.0) + 0.005 * k3(batch), batch.completion_mask)
    torch.testing.assert_close(lab.cast_method().loss(batch), loss, rtol=1e-4, atol=1e-5)


def test_without_flips_it_is_the_verifiers_and_without_a_verifier_every_base_advantage_is_delta():
    batch = minibatch_of(lab.cast_method(flip_down=False, flip_up=False), "direct")
    is_right = truth(batch).bool()
    assert (batch.advantages[is_right][batch.completion_mask[is_right]] > 0).all()
    assert (batch.advantages[~is_right][batch.completion_mask[~is_right]] < 0).all()
    batch = minibatch_of(lab.cast_method(verifier=False, delta=0.5, flip_down=False), "direct")
    assert (batch.rewards == 1).all() and batch.advantages.min() >= 0.5 * 0.8 - 1e-6 and batch.advantages.max() <= 0.5 * 1.05 + 1e-6


def test_a_teacher_that_reads_what_the_policy_reads_and_follows_it_leaves_the_base_advantage():
    batch = minibatch_of(lab.cast_method(context="none", refresh=1, delta=0.3))
    expected = standardized(batch.rewards)
    mixed = (groups(batch.rewards).std(dim=-1) > 0).repeat_interleave(8)
    expected[~mixed] = torch.where(batch.rewards == 1, 0.3, -0.3)[~mixed]
    torch.testing.assert_close(batch.advantages, expected.clamp(-1.2, 1.2).unsqueeze(-1).expand(-1, 18), rtol=1e-4, atol=1e-4)


def test_variants_change_what_they_say():
    assert lab.cast_method("noise", 10, 0.5).teacher.__dict__ == {"context": "noise", "refresh": 10, "share": 0.5}
    batch = minibatch_of(lab.om_grpo_method())
    losses = {mask_kl: lab.om_grpo_method(mask_kl=mask_kl).loss(batch).item() for mask_kl in (False, True)}
    assert losses[False] - losses[True] == pytest.approx((0.005 * summed(k3(batch), batch.answer_mask)).item(), rel=1e-3)
    assert (lab.om_grpo_method(beta=0.1).loss(batch) - lab.om_grpo_method(beta=0).loss(batch)).item() == pytest.approx(
        (0.1 * summed(k3(batch), batch.completion_mask)).item(), rel=1e-3)
    most = groups(counts(batch)).max(dim=-1, keepdim=True).values
    shares = groups(lab.om_grpo_method(normalizer="group").rewards(batch))
    torch.testing.assert_close(shares, groups(soft(batch)) * most / 8)
    assert lab.cast_method(dead_band=20.0, delta=0.1).advantages(minibatch_of(lab.cast_method(), "direct")).abs().min() > 0.09
