"""What the functions of lesson CAST compute, one completion and one token at a time, in float64. Written apart from the reference.

Slow and plain on purpose: it is the oracle of the hidden checks. Inputs are anything with .tolist(), outputs numpy float64.
"""

import math

import numpy as np


def cast_base_advantages(rewards, group_ids, delta_pos, delta_neg):
    rewards, group_ids = rewards.tolist(), group_ids.tolist()
    advantages = []
    for reward, own_group in zip(rewards, group_ids, strict=True):
        group = [r for r, g in zip(rewards, group_ids, strict=True) if g == own_group and not math.isnan(r)]
        if math.isnan(reward):
            advantages.append(0.0)
        elif sum(group) == len(group):
            advantages.append(delta_pos)
        elif sum(group) == 0:
            advantages.append(-delta_neg)
        else:
            share = sum(group) / len(group)  # of correct completions
            advantages.append((reward - share) / (math.sqrt(share * (1 - share)) + 1e-6))
    return np.array(advantages, dtype=np.float64)


def self_teacher_gap(teacher_token_logps, old_token_logps, completion_mask, dead_band):
    gaps = np.zeros(completion_mask.shape, dtype=np.float64)
    teacher, old, mask = (values.tolist() for values in (teacher_token_logps, old_token_logps, completion_mask))
    for i, valid in enumerate(mask):
        for t, is_valid in enumerate(valid):
            if is_valid:
                gap = teacher[i][t] - old[i][t]
                gaps[i, t] = gap if gap > dead_band or gap < -dead_band else 0.0
    return gaps


def asymmetric_weights(base_advantages, gaps, z, positive_bounds, negative_bounds):
    """Clipped on the logarithm, so that no gap is too large for exp."""
    weights = np.zeros(gaps.shape, dtype=np.float64)
    for i, (base, row) in enumerate(zip(base_advantages.tolist(), gaps.tolist(), strict=True)):
        low, high = positive_bounds if base > 0 else negative_bounds
        for t, gap in enumerate(row):
            exponent = gap if z == "printed" or base > 0 else -gap if base < 0 else 0.0
            weights[i, t] = math.exp(min(max(exponent, math.log(low)), math.log(high)))
    return weights


def cast_token_advantages(base_advantages, gaps, weights, lam, positive_bounds, negative_bounds, flip_down, flip_up, limit):
    """Lines 16 to 25 of CAST's Algorithm 1."""
    advantages = np.zeros(gaps.shape, dtype=np.float64)
    for i, (base, gap_row, weight_row) in enumerate(zip(base_advantages.tolist(), gaps.tolist(), weights.tolist(), strict=True)):
        for t, (gap, weight) in enumerate(zip(gap_row, weight_row, strict=True)):
            sign = 1.0 if base > 0 else -1.0
            if base > 0 and gap < 0 and flip_down:
                sign, low, high = -1.0, *negative_bounds
                weight = min(max(1.0, low, math.exp(min(-gap, 700.0))), high)
            elif base < 0 and gap > 0 and flip_up:
                sign, low, high = 1.0, *positive_bounds
                weight = min(max(1.0, low, math.exp(min(gap, 700.0))), high)
            raw = sign * abs(base) * (lam * weight + (1.0 - lam))
            advantages[i, t] = min(max(raw, -limit), limit)
    return advantages


def cast_loss(new_token_logps, old_token_logps, token_advantages, completion_mask, epsilon_low, epsilon_high, reduction):
    """The loss, and its derivative with respect to each new log-probability, read from the table of cases."""
    slopes, loss = np.zeros(completion_mask.shape, dtype=np.float64), 0.0
    new, old, advantages, mask = (values.tolist() for values in (new_token_logps, old_token_logps, token_advantages, completion_mask))
    lengths = [sum(valid) for valid in mask]
    for i, valid in enumerate(mask):
        for t, is_valid in enumerate(valid):
            if not is_valid:
                continue
            number = {"token_mean": sum(lengths), "sequence_mean": len(mask) * lengths[i], "sequence_sum": len(mask)}[reduction]
            advantage, ratio = advantages[i][t], math.exp(new[i][t] - old[i][t])
            if advantage > 0 and ratio > 1 + epsilon_high:
                loss -= (1 + epsilon_high) * advantage / number
            elif advantage < 0 and ratio < 1 - epsilon_low:
                loss -= (1 - epsilon_low) * advantage / number
            else:
                loss -= ratio * advantage / number
                slopes[i, t] = -ratio * advantage / number
    return np.array(loss, dtype=np.float64), slopes
