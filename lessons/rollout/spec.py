"""What the functions of lesson rollout lifecycle compute, one token or record at a time, in float64. Written apart from the reference.

Slow and plain on purpose: it is the oracle of the hidden checks. Inputs are anything with .tolist(), outputs numpy or lists.
"""

import math

import numpy as np


def completion_mask_from_ids(completion_ids, eos_id):
    rows = []
    for ids in completion_ids.tolist():
        length = ids.index(eos_id) + 1 if eos_id in ids else len(ids)
        rows.append([t < length for t in range(len(ids))])
    return rows


def gather_token_logps(logits, ids, prompt_length, temperature):
    """Token log-probabilities, and the derivative of their sum by the logits."""
    logits, ids = logits.tolist(), ids.tolist()
    token_logps, slopes = [], np.zeros((len(ids), len(ids[0]), len(logits[0][0])), dtype=np.float64)
    for n, row in enumerate(ids):
        scores = []
        for place in range(prompt_length, len(row)):
            before = logits[n][place - 1]
            highest = max(before)
            weights = [math.exp((logit - highest) / temperature) for logit in before]
            total = math.fsum(weights)
            scores.append((before[row[place]] - highest) / temperature - math.log(total))
            for token, weight in enumerate(weights):
                slopes[n, place - 1, token] = ((token == row[place]) - weight / total) / temperature
        token_logps.append(scores)
    return np.array(token_logps, dtype=np.float64), slopes


def validate_group(records):
    """The shared fields, or the name of the first field that is missing or differs."""
    shared = {}
    for field in ("prompt_id", "policy_version", "reward_version", "reference_version", "teacher_version"):
        for record in records:
            if field not in record or record[field] != records[0][field]:
                return field
        shared[field] = records[0][field]
    return shared


def importance_ratio(new_token_logps, old_token_logps, completion_mask):
    """Token ratios, and the derivative of their sum by the new log-probabilities."""
    ratios, slopes = [], []
    for new, old, valid in zip(new_token_logps.tolist(), old_token_logps.tolist(), completion_mask.tolist(), strict=True):
        ratios.append([math.exp(n - o) if v else 1.0 for n, o, v in zip(new, old, valid, strict=True)])
        slopes.append([ratio if v else 0.0 for ratio, v in zip(ratios[-1], valid, strict=True)])
    return np.array(ratios, dtype=np.float64), np.array(slopes, dtype=np.float64)
