"""The numbers of advantage_flip: CAST's token advantages, and which bound stops each of them."""

from typing import Any, NamedTuple

import numpy as np

GROUP_SIZE = 8
MIXED, ZERO_VARIANCE = "mixed", "zero variance"
GROUPS = (*((MIXED, right) for right in range(1, GROUP_SIZE)), *((ZERO_VARIANCE, delta) for delta in (0.1, 1.0, 0.0)))
START = {
    "group": (MIXED, 4), "flip_down": True, "flip_up": True, "z": "sign", "lam": 1.0, "dead_band": 0.0, "limit": 1.2,
    "lower_plus": 0.8, "upper_plus": 1.05, "lower_minus": 0.95, "upper_minus": 1.2,
}
BOUNDS = {"lower_plus": "l₊", "upper_plus": "u₊", "lower_minus": "l₋", "upper_minus": "u₋"}
END = 0.6  # of the gaps shown: wide enough for every bound to be reached
STEP_OUT = 1e-9  # the first gap outside the dead band


class Shaped(NamedTuple):
    advantages: np.ndarray  # of each gap
    held_by: np.ndarray  # of str: the bound that stops it, by its knob; "limit" if the final clip does; "" if nothing


def shape_advantages(base: float, gaps: np.ndarray, knobs: dict[str, Any]) -> Shaped:
    """CAST's token advantages of one completion. gaps: any shape; knobs: as START, of which `group` is not used."""
    gaps = np.where(np.abs(gaps) <= knobs["dead_band"], 0.0, gaps)
    side = "plus" if base > 0 else "minus"
    exponents = np.sign(base) * gaps if knobs["z"] == "sign" else gaps
    weights, held_by = clip_weights(exponents, side, knobs)
    values = base * (1 + knobs["lam"] * (weights - 1))
    flips = (base > 0) & (gaps < 0) & knobs["flip_down"] | (base < 0) & (gaps > 0) & knobs["flip_up"]
    # A flipped token takes the bounds of the other side, and the lower one is at least 1.
    flipped_weights, flipped_held_by = clip_weights(np.abs(gaps), "minus" if base > 0 else "plus", knobs, least=1.0)
    values = np.where(flips, -base * (1 + knobs["lam"] * (flipped_weights - 1)), values)
    held_by = np.where(flips, flipped_held_by, held_by)
    if knobs["lam"] == 0:
        held_by = np.full(gaps.shape, "")  # the weight counts for nothing, and so does what stops it
    limit = knobs["limit"]
    return Shaped(values.clip(-limit, limit), np.where(np.abs(values) > limit, "limit", held_by))


def clip_weights(exponents: np.ndarray, side: str, knobs: dict[str, Any], least: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    lower, upper = max(knobs[f"lower_{side}"], least), knobs[f"upper_{side}"]
    ratios = np.exp(exponents)
    held_by = np.where(ratios > upper, f"upper_{side}", np.where(ratios < lower, f"lower_{side}", ""))
    return ratios.clip(lower, upper), held_by


def base_advantages(kind: str, right_or_delta: float) -> tuple[float, float]:
    """Of a right and of a wrong completion: in a mixed group, or in an all-right and in an all-wrong group."""
    if kind == ZERO_VARIANCE:
        return right_or_delta, -right_or_delta
    right, wrong = right_or_delta, GROUP_SIZE - right_or_delta
    return float(np.sqrt(wrong / right)), -float(np.sqrt(right / wrong))


def outside_dead_band(dead_band: float) -> tuple[np.ndarray, np.ndarray]:
    """Gaps left and right of the dead band, or of 0, in rising order."""
    positive = np.linspace(dead_band + STEP_OUT, END, 121)
    return -positive[::-1], positive
