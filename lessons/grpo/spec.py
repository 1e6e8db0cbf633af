"""What the functions of lesson GRPO compute, one completion and one token at a time, in float64. Written apart from the reference.

Slow and plain on purpose: it is the oracle of the hidden checks. Inputs are anything with .tolist(), outputs numpy float64.
"""

import math

import numpy as np


def group_relative_advantages(rewards, group_ids, scale, ddof, eps):
    rewards, group_ids = rewards.tolist(), group_ids.tolist()
    advantages = []
    for reward, own_group in zip(rewards, group_ids, strict=True):
        group = [r for r, g in zip(rewards, group_ids, strict=True) if g == own_group and not math.isnan(r)]
        if math.isnan(reward) or min(group) == max(group):
            advantages.append(0.0)
            continue
        mean = math.fsum(group) / len(group)
        std = math.sqrt(math.fsum((r - mean) ** 2 for r in group) / (len(group) - ddof))
        advantages.append(reward - mean if scale == "none" else (reward - mean) / (std + eps))
    return np.array(advantages, dtype=np.float64)


def k3_kl(token_logps, reference_token_logps, completion_mask):
    """k3 of each token, and its derivative with respect to the policy's log-probability."""
    estimates = np.zeros(completion_mask.shape, dtype=np.float64)
    slopes = np.zeros(completion_mask.shape, dtype=np.float64)
    for i, (scores, reference, valid) in enumerate(
            zip(token_logps.tolist(), reference_token_logps.tolist(), completion_mask.tolist(), strict=True)):
        for t, is_valid in enumerate(valid):
            if is_valid:
                probability_ratio = math.exp(reference[t] - scores[t])  # the reference policy's over the policy's
                estimates[i, t] = probability_ratio - 1 - math.log(probability_ratio)
                slopes[i, t] = 1 - probability_ratio
    return estimates, slopes


def grpo_token_losses(new_token_logps, old_token_logps, advantages, completion_mask, token_kl, beta, epsilon_low, epsilon_high):
    """Loss of each token, and its derivative with respect to the new log-probability, token_kl held fixed, read from the table of cases."""
    losses = np.zeros(completion_mask.shape, dtype=np.float64)
    slopes = np.zeros(completion_mask.shape, dtype=np.float64)
    new, old, kl, mask = (values.tolist() for values in (new_token_logps, old_token_logps, token_kl, completion_mask))
    for i, own in enumerate(advantages.tolist()):
        for t, is_valid in enumerate(mask[i]):
            if not is_valid:
                continue
            advantage = own[t] if isinstance(own, list) else own
            ratio = math.exp(new[i][t] - old[i][t])
            if advantage > 0 and ratio > 1 + epsilon_high:
                losses[i, t] = -(1 + epsilon_high) * advantage
            elif advantage < 0 and ratio < 1 - epsilon_low:
                losses[i, t] = -(1 - epsilon_low) * advantage
            else:
                losses[i, t] = slopes[i, t] = -ratio * advantage
            losses[i, t] += beta * kl[i][t]
    return losses, slopes


def reduce_token_losses(token_losses, completion_mask, reduction, max_length):
    """The loss, and the weight of each token in it."""
    lengths = [sum(valid) for valid in completion_mask.tolist()]
    number, weights, loss = len(lengths), np.zeros(completion_mask.shape, dtype=np.float64), 0.0
    for i, (values, valid) in enumerate(zip(token_losses.tolist(), completion_mask.tolist(), strict=True)):
        for t, is_valid in enumerate(valid):
            if is_valid:
                weights[i, t] = {"sequence_mean": 1 / (number * lengths[i]), "token_mean": 1 / sum(lengths),
                                 "sequence_sum": 1 / number, "constant": 1 / (number * max_length)}[reduction]
                loss += weights[i, t] * values[t]
    return np.array(loss, dtype=np.float64), weights
