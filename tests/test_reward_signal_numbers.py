"""The numbers that the reward signal lesson prints and no check asserts. Those of its panels are in test_widgets_gae.py."""

import math
from pathlib import Path

import pytest
import torch

from advantagelab.algorithms.reward_signal import combine_reward_components, discounted_returns, gae_advantages, policy_gradient_loss

NAN = math.nan
LESSON = Path(__file__).parents[1] / "lessons" / "reward_signal" / "lesson.md"
THREE = torch.ones(1, 3, dtype=torch.bool)


def close(got: torch.Tensor, wanted: list) -> None:
    torch.testing.assert_close(got, torch.tensor(wanted, dtype=got.dtype), rtol=0, atol=5e-7, equal_nan=True)


def test_log_probability_of_two_tokens():
    assert math.log(0.5) + math.log(0.4) == pytest.approx(-1.61, abs=5e-3)


@pytest.mark.parametrize("weight, rewards", [(0.2, [1.2, 0.6, 0]), (0.6, [1.6, 1.8, 0])])
def test_rewards_with_a_proxy(weight, rewards):
    close(combine_reward_components(torch.tensor([[1, 1], [0, 3], [0, 0]]), torch.tensor([1, weight])), rewards)


def test_missing_components():
    components, weights = torch.tensor([[1, 1], [NAN, 1], [NAN, NAN], [1, NAN]]), torch.tensor([1, 0.5])
    close(combine_reward_components(components, weights), [1.5, 0.5, NAN, 1])
    close(combine_reward_components(components, weights, missing="propagate"), [1.5, NAN, NAN, NAN])


def test_scores_of_the_bandit_average_to_zero():
    policy = torch.tensor([0.2, 0.3, 0.5], dtype=torch.float64)
    scores = torch.eye(3, dtype=torch.float64) - policy
    close(scores, [[0.8, -0.3, -0.5], [-0.2, 0.7, -0.5], [-0.2, -0.3, 0.5]])
    close(policy @ scores, [0.0, 0.0, 0.0])


@pytest.mark.parametrize("gamma, returns", [(1.0, [1, 1, 1]), (0.9, [0.81, 0.9, 1])])
def test_returns_of_three_steps(gamma, returns):
    close(discounted_returns(torch.tensor([[0, 0, 1]]), THREE, gamma)[0], returns)


@pytest.mark.parametrize(
    "lam, advantages, returns",
    [
        (0.0, [0.1, 0.1, 0.3], [0.6, 0.7, 1]),
        (0.5, [0.225, 0.25, 0.3], [0.725, 0.85, 1]),
        (0.95, [0.46575, 0.385, 0.3], [0.96575, 0.985, 1]),
        (1.0, [0.5, 0.4, 0.3], [1, 1, 1]),
    ],
)
def test_the_table_of_gae(lam, advantages, returns):
    values = torch.tensor([[0.5, 0.6, 0.7]], dtype=torch.float64)
    got = gae_advantages(torch.tensor([[0, 0, 1]]), values, torch.tensor([NAN]), torch.tensor([True]), THREE, lam=lam)
    close(got[0][0], advantages)
    close(got[1][0], returns)
    for comma in (", ", "、"):  # English, 中文
        shown = f"| {lam:g} | {comma.join(f'{x:g}' for x in advantages)} | {comma.join(f'{x:g}' for x in returns)} |"
        assert LESSON.read_text(encoding="utf-8").count(shown) == 1


@pytest.mark.parametrize(
    "terminated, lam, advantages", [(True, 0.0, [0.1, 0.1, -0.7]), (False, 0.0, [0.1, 0.1, 0.1]), (False, 0.95, [0.28525, 0.195, 0.1])]
)
def test_ended_and_cut_off(terminated, lam, advantages):
    values = torch.tensor([[0.5, 0.6, 0.7]], dtype=torch.float64)
    got, _ = gae_advantages(torch.zeros(1, 3), values, torch.tensor([0.8]), torch.tensor([terminated]), THREE, lam=lam)
    close(got[0], advantages)


def test_policy_gradient_loss_of_two_completions():
    logps = torch.tensor([[-1, -0.5], [-2, 0]], requires_grad=True)
    loss = policy_gradient_loss(logps, torch.tensor([1, -0.5]), torch.tensor([[True, True], [True, False]]))
    loss.backward()
    close(loss.detach(), 0.25)
    close(logps.grad, [[-0.5, -0.5], [0.25, 0]])


@pytest.mark.parametrize(
    "weight, with_baseline, winner, chance, mean_reward",
    [(0.2, True, 0, 0.997, 1.20), (0.2, False, 0, 0.997, 1.20), (0.6, True, 1, 0.994, 1.80)],
)
def test_training_on_a_proxy(weight, with_baseline, winner, chance, mean_reward):
    rewards = combine_reward_components(torch.tensor([[1, 1], [0, 3], [0, 0]]), torch.tensor([1, weight]))
    logits = torch.tensor([0.2, 0.3, 0.5]).log()
    for _ in range(300):
        logits.requires_grad_()
        policy = logits.softmax(-1).detach()
        advantages = rewards - (policy @ rewards if with_baseline else 0)
        loss = policy_gradient_loss(logits.log_softmax(-1)[:, None], 3 * policy * advantages, torch.ones(3, 1, dtype=torch.bool))
        logits = (logits - torch.autograd.grad(loss, logits)[0]).detach()
    policy = logits.softmax(-1)
    assert policy.argmax() == winner
    assert float(policy[winner]) == pytest.approx(chance, abs=5e-4) and float(policy @ rewards) == pytest.approx(mean_reward, abs=5e-3)
