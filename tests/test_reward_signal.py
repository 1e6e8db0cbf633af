"""The numbers that lesson reward signal is built on, and how its functions hang together."""

import math

import pytest
import torch

from advantagelab.algorithms.reward_signal import combine_reward_components, discounted_returns, gae_advantages, policy_gradient_loss

REWARDS, VALUES, MASK = torch.tensor([[0.0, 0.0, 1.0]]), torch.tensor([[0.5, 0.6, 0.7]]), torch.ones(1, 3, dtype=torch.bool)
ENDED = torch.tensor([0.0]), torch.tensor([True])


def close(got, wanted):
    torch.testing.assert_close(got, torch.tensor(wanted), atol=1e-6, rtol=0.0, equal_nan=True)


def test_components():
    components, weights = torch.tensor([[1.0, math.nan], [math.nan, math.nan], [0.5, 0.25]]), torch.tensor([1.0, 2.0])
    close(combine_reward_components(components, weights), [1.0, math.nan, 1.0])
    close(combine_reward_components(components, weights, missing="propagate"), [math.nan, math.nan, 1.0])


@pytest.mark.parametrize(("gamma", "lam", "advantages", "returns"), [
    (1.0, 0.95, [0.46575, 0.385, 0.3], [0.96575, 0.985, 1.0]),
    (1.0, 1.0, [0.5, 0.4, 0.3], [1.0, 1.0, 1.0]),
    (1.0, 0.0, [0.1, 0.1, 0.3], [0.6, 0.7, 1.0]),
    (1.0, 0.5, [0.225, 0.25, 0.3], [0.725, 0.85, 1.0]),
    (0.99, 0.95, [0.446829, 0.37515, 0.3], [0.946829, 0.97515, 1.0]),
])
def test_gae_on_three_steps(gamma, lam, advantages, returns):
    got = gae_advantages(REWARDS, VALUES, *ENDED, MASK, gamma, lam)
    close(got[0], [advantages])
    close(got[1], [returns])


def test_gae_with_a_kl_penalty_for_each_token():
    rewards = REWARDS - 0.1 * torch.tensor([[0.2, -0.1, 0.3]])
    close(rewards, [[-0.02, 0.01, 0.97]])
    close(gae_advantages(rewards, VALUES, *ENDED, MASK)[0], [[0.428175, 0.3665, 0.27]])


def test_lam_one_is_the_return_minus_the_value_also_when_truncated():
    generator = torch.Generator().manual_seed(1)
    rewards, values = torch.randn(4, 5, generator=generator), torch.randn(4, 5, generator=generator)
    last_values, mask = torch.randn(4, generator=generator), torch.arange(5) < torch.tensor([[1], [3], [5], [4]])
    # What a truncated completion would still have earned, as the critic says, is one more reward behind its last step.
    extended, longer = torch.nn.functional.pad(rewards, (0, 1)), torch.nn.functional.pad(mask, (1, 0), value=True)
    extended[torch.arange(4), mask.sum(dim=1)] = last_values
    advantages, returns = gae_advantages(rewards, values, last_values, torch.zeros(4, dtype=torch.bool), mask, gamma=0.9, lam=1.0)
    expected = discounted_returns(extended, longer, gamma=0.9)[:, :5].masked_fill(~mask, 0.0)
    torch.testing.assert_close(returns, expected)
    torch.testing.assert_close(advantages, expected - values.masked_fill(~mask, 0.0))


@pytest.mark.parametrize("baseline", [0.0, 0.2, -3.0])
def test_bandit_gradient_is_exact_with_any_baseline(baseline):
    """Policy (0.2, 0.3, 0.5), rewards (1, 0, 0): the gradient of the expected reward by the logits is (0.16, -0.06, -0.1)."""
    logits = torch.tensor([0.2, 0.3, 0.5]).log().requires_grad_()
    logps, rewards = torch.log_softmax(logits, dim=0), torch.tensor([1.0, 0.0, 0.0])
    total = torch.zeros(3)
    for arm in range(3):
        loss = policy_gradient_loss(logps[arm].reshape(1, 1), rewards[arm:arm + 1] - baseline, torch.tensor([[True]]))
        (gradient,) = torch.autograd.grad(loss, logits, retain_graph=True)
        total -= logps[arm].exp().item() * gradient
    close(total, [0.16, -0.06, -0.1])


def test_one_step_of_a_bandit_through_all_four():
    rewards = combine_reward_components(torch.tensor([[1, 0], [0, 1]]), torch.tensor([1.0, 0.5]))
    steps, mask, values = rewards[:, None], torch.ones(2, 1, dtype=torch.bool), torch.tensor([[0.75], [0.75]])
    close(discounted_returns(steps, mask, gamma=0.3), [[1.0], [0.5]])
    advantages, returns = gae_advantages(steps, values, torch.zeros(2), torch.ones(2, dtype=torch.bool), mask)
    close(advantages, [[0.25], [-0.25]])
    close(returns, [[1.0], [0.5]])
    close(policy_gradient_loss(torch.tensor([[-1.0], [-2.0]]), advantages[:, 0], mask), -0.125)
