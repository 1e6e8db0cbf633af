"""What the functions of lesson RLOO compute, one completion at a time, in float64. Written apart from the reference.

Slow and plain on purpose: it is the oracle of the hidden checks. Inputs are anything with .tolist(), outputs numpy float64.
"""

import math

import numpy as np


def aggregate_sequence_logps(token_logps, completion_mask):
    totals = []
    for scores, valid in zip(token_logps.tolist(), completion_mask.tolist(), strict=True):
        total = 0.0
        for score, is_valid in zip(scores, valid, strict=True):
            if is_valid:
                total += score
        totals.append(total)
    return np.array(totals, dtype=np.float64)


def shape_rloo_rewards(external_rewards, old_token_logps, reference_token_logps, completion_mask, beta):
    old = aggregate_sequence_logps(old_token_logps, completion_mask)
    reference = aggregate_sequence_logps(reference_token_logps, completion_mask)
    shaped, kl = [], []
    for i, reward in enumerate(external_rewards.tolist()):
        kl.append(old[i] - reference[i])
        shaped.append(reward - beta * kl[i])  # NaN - x is NaN: a missing reward stays missing
    return np.array(shaped, dtype=np.float64), np.array(kl, dtype=np.float64)


def leave_one_out_advantages(rewards, group_ids):
    rewards, group_ids = rewards.tolist(), group_ids.tolist()
    advantages = []
    for i, reward in enumerate(rewards):
        siblings = [rewards[j] for j in range(len(rewards))
                    if j != i and group_ids[j] == group_ids[i] and not math.isnan(rewards[j])]
        if math.isnan(reward) or not siblings:
            advantages.append(0.0)
        else:
            advantages.append(reward - math.fsum(siblings) / len(siblings))
    return np.array(advantages, dtype=np.float64)


def rloo_policy_loss(new_logps, old_logps, advantages, epsilon_low, epsilon_high):
    """Losses, ratios, and the derivative of each loss by its new log-probability, read from the table of cases."""
    losses, ratios, slopes = [], [], []
    for new, old, advantage in zip(new_logps.tolist(), old_logps.tolist(), advantages.tolist(), strict=True):
        ratio = math.exp(new - old)
        if advantage > 0 and ratio > 1 + epsilon_high:
            loss, slope = -(1 + epsilon_high) * advantage, 0.0
        elif advantage < 0 and ratio < 1 - epsilon_low:
            loss, slope = -(1 - epsilon_low) * advantage, 0.0
        else:
            loss = slope = -ratio * advantage
        losses.append(loss)
        ratios.append(ratio)
        slopes.append(slope)
    return tuple(np.array(values, dtype=np.float64) for values in (losses, ratios, slopes))
