"""What the functions of lesson reward signal compute, by their definitions and in float64. Written apart from the reference.

Slow and plain on purpose: it is the oracle of the hidden checks. Inputs are anything with .tolist(), outputs numpy float64.
"""

import math

import numpy as np


def combine_reward_components(components, weights, missing):
    weights, rewards = weights.tolist(), []
    for row in components.tolist():
        present = [weight * component for weight, component in zip(weights, row, strict=True) if not math.isnan(component)]
        enough = len(present) > 0 if missing == "skip" else len(present) == len(row)
        rewards.append(math.fsum(present) if enough else math.nan)
    return np.array(rewards, dtype=np.float64)


def discounted_returns(rewards, completion_mask, gamma):
    """The double sum of the definition: no recursion."""
    table = np.zeros((len(rewards), len(rewards[0])))
    for i, (row, valid) in enumerate(zip(rewards.tolist(), completion_mask.tolist(), strict=True)):
        length = sum(valid)
        for t in range(length):
            table[i, t] = math.fsum(gamma ** (k - t) * row[k] for k in range(t, length))
    return table


def gae_advantages(rewards, values, last_values, terminated, completion_mask, gamma, lam):
    """Advantages as the sum over k of (gamma lam)^k times the residual k steps later, and the returns."""
    advantages, returns = np.zeros((len(rewards), len(rewards[0]))), np.zeros((len(rewards), len(rewards[0])))
    lengths = [sum(valid) for valid in completion_mask.tolist()]
    rewards, values, last_values, terminated = rewards.tolist(), values.tolist(), last_values.tolist(), terminated.tolist()
    for i, length in enumerate(lengths):
        after = values[i][1:length] + [0.0 if terminated[i] else last_values[i]]
        residuals = [rewards[i][t] + gamma * after[t] - values[i][t] for t in range(length)]
        for t in range(length):
            advantages[i, t] = math.fsum((gamma * lam) ** k * residuals[t + k] for k in range(length - t))
            returns[i, t] = advantages[i, t] + values[i][t]
    return advantages, returns


def policy_gradient_loss(token_logps, advantages, completion_mask):
    """The loss, and its derivative by each token log-probability."""
    advantages, mask = advantages.tolist(), completion_mask.tolist()
    count, total, slopes = len(advantages), 0.0, np.zeros((len(mask), len(mask[0])))
    for i, row in enumerate(token_logps.tolist()):
        for t, score in enumerate(row):
            if mask[i][t]:
                total -= advantages[i] * score / count
                slopes[i, t] = -advantages[i] / count
    return np.float64(total), slopes
