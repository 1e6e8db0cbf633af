r"""What the functions of lesson OM-GRPO compute, one character, one answer and one token at a time. Written apart from the reference.

Slow and plain on purpose: it is the oracle of the hidden checks. It also writes the completions, answers and comparisons that they draw.
"""

import math

import numpy as np


def answer_span_mask(text, offsets):
    """[T] bools: a token counts if one of its characters is an answer character."""
    answer = answer_characters(text)
    return [any(position in answer for position in range(start, end)) for start, end in offsets]


def answer_characters(text):
    r"""Positions strictly inside the last \boxed{…} that balances: every place is tried, the last one that works stays."""
    answer = set()
    for begin in range(len(text)):
        if not text.startswith("\\boxed{", begin):
            continue
        depths = brace_depths(text, begin + 7)
        if 0 in depths:
            answer = set(range(begin + 7, begin + 7 + depths.index(0)))
    return answer


def brace_depths(text, begin):
    """Depth after each character from `begin`, starting inside one brace; a character after a backslash changes nothing."""
    depths, depth, escaped = [], 1, False
    for character in text[begin:]:
        if not escaped:
            depth += {"{": 1, "}": -1}.get(character, 0)
        escaped = character == "\\" and not escaped
        depths.append(depth)
    return depths


def random_completion(rng):
    """(text, offsets): reasoning with boxes of every kind, cut into tokens that glue, leave gaps between them, or have no width."""
    pieces = ["so ", "答案是", "42", " }", "{", "\n", "\\boxed{42}", "\\boxed{\\frac{1}{2}}", "\\boxed{\\{1, 2\\}}", "\\boxed{3\\}}",
              "\\boxed{", "\\boxed{}", "\\boxed{x=七}", "\\boxed{a\\boxed{b}c}"]
    text = "".join(pieces[rng.integer(0, len(pieces) - 1)] for _ in range(rng.integer(3, 9)))
    offsets, position = [], 0
    while position < len(text):
        end = min(len(text), position + rng.integer(0, 3))
        offsets.append((position, end))
        position = end + (rng.integer(0, 9) == 0)
    return text, offsets


def random_answers(rng, n, kinds):
    """n answers of so many kinds, strings that contain each other among them, some missing (None)."""
    names = ["1", "11", "1/2", "-1", "x", "x + 1", "十一", "0"][:kinds]
    return [None if rng.integer(0, 5) == 0 else names[rng.integer(0, kinds - 1)] for _ in range(n)]


def random_comparisons(rng, group_ids, kinds):
    """A share of the ordered pairs within each group, in mixed order, with answers that no completion gave among them."""
    ids = group_ids.tolist()
    pairs = [(i, j) for i in range(len(ids)) for j in range(len(ids)) if i != j and ids[i] == ids[j] and rng.integer(0, 2) > 0]
    order = sorted(range(len(pairs)), key=[rng.uniform(0, 1) for _ in pairs].__getitem__)
    return [(*pairs[place], answer) for place, answer in zip(order, random_answers(rng, len(pairs), min(kinds + 1, 8)), strict=True)]


def majority_vote_rewards(answers, group_ids):
    """Rewards and ties: each completion counts the votes of its own group."""
    rewards, tied = [], []
    for answer, votes in zip(answers, votes_of_each(answers, group_ids), strict=True):
        highest = max(votes.values(), default=0)
        leaders = [candidate for candidate in votes if votes[candidate] == highest]  # a dict keeps the order of first occurrence
        rewards.append(1.0 if leaders and answer is not None and answer == leaders[0] else 0.0)
        tied.append(len(leaders) >= 2)
    return np.array(rewards, dtype=np.float64), np.array(tied)


def votes_of_each(answers, group_ids):
    """For each completion the votes of its group: answer → how often."""
    tables = []
    for own_group in group_ids.tolist():
        votes = {}
        for answer, group in zip(answers, group_ids.tolist(), strict=True):
            if group == own_group and answer is not None:
                votes[answer] = votes.get(answer, 0) + 1
        tables.append(votes)
    return tables


def soft_consensus_rewards(answers, group_ids, normalizer, format_reward):
    return contrast_augmented_rewards(answers, group_ids, [], normalizer, format_reward)


def contrast_augmented_rewards(answers, group_ids, comparisons, normalizer, format_reward):
    groups, rewards = group_ids.tolist(), []
    for own_answer, own_group in zip(answers, groups, strict=True):
        siblings = [answer for answer, group in zip(answers, groups, strict=True) if group == own_group]
        pool = siblings + [answer for i, _, answer in comparisons if groups[i] == own_group]
        if own_answer is None:
            rewards.append(0.0)
            continue
        frequency = sum(other == own_answer for other in pool)
        if normalizer == "max":
            divisor = max(sum(other == answer for other in pool) for answer in siblings if answer is not None)
        else:
            divisor = len(pool)
        rewards.append(frequency / divisor + (1.0 if format_reward else 0.0))
    return np.array(rewards, dtype=np.float64)


def om_grpo_loss(new, old, reference, advantages, completion_mask, answer_mask, beta, epsilon_low, epsilon_high, mask_kl, reduction):
    """The loss, and its derivative with respect to the new log-probability of each token."""
    slopes, loss = np.zeros(completion_mask.shape, dtype=np.float64), 0.0
    completion, answer = completion_mask.tolist(), answer_mask.tolist()
    in_policy_term = [[c and not a for c, a in zip(*rows, strict=True)] for rows in zip(completion, answer, strict=True)]
    policy_weights = token_weights(in_policy_term, reduction)
    kl_weights = token_weights(in_policy_term if mask_kl else completion, reduction)
    for i, own in enumerate(advantages.tolist()):
        for t in range(len(completion[i])):
            if policy_weights[i][t] > 0:
                value, slope = policy_loss_of_token(float(new[i, t]) - float(old[i, t]), own, epsilon_low, epsilon_high)
                loss, slopes[i, t] = loss + policy_weights[i][t] * value, slopes[i, t] + policy_weights[i][t] * slope
            if kl_weights[i][t] > 0:
                gap = float(reference[i, t]) - float(new[i, t])
                loss += beta * kl_weights[i][t] * (math.exp(gap) - 1 - gap)
                slopes[i, t] += beta * kl_weights[i][t] * (1 - math.exp(gap))
    return np.array(loss, dtype=np.float64), slopes


def token_weights(mask, reduction):
    """What each token's loss counts for, 0 outside the mask."""
    lengths = [sum(row) for row in mask]
    divisors = [{"sequence_sum": len(mask), "sequence_mean": len(mask) * own, "token_mean": sum(lengths)}[reduction] for own in lengths]
    return [[1 / divisor if valid else 0.0 for valid in row] for row, divisor in zip(mask, divisors, strict=True)]


def policy_loss_of_token(log_ratio, advantage, epsilon_low, epsilon_high):
    """Loss of one token and its derivative, read from the table of cases."""
    ratio = math.exp(log_ratio)
    if advantage > 0 and ratio > 1 + epsilon_high:
        return -(1 + epsilon_high) * advantage, 0.0
    if advantage < 0 and ratio < 1 - epsilon_low:
        return -(1 - epsilon_low) * advantage, 0.0
    return -ratio * advantage, -ratio * advantage
