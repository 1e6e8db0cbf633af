"""How the curve of a method is drawn: the same in every picture of training."""

import re

from .style import BLUE, GRAY, GREEN, ORANGE, PURPLE, SKY, VERMILLION

BROWN = "#7F4F24"  # black is the learner's own run

LOOKS = {
    "grpo": {"color": GREEN, "linestyle": "-", "marker": "o"},
    "majority_vote": {"color": VERMILLION, "linestyle": "--", "marker": "s"},
    "om_grpo": {"color": BLUE, "linestyle": "-", "marker": "D"},
    "rloo": {"color": ORANGE, "linestyle": "-.", "marker": "^"},
    "masked_vote": {"color": SKY, "linestyle": "--", "marker": "X"},
    "om_grpo_car": {"color": BROWN, "linestyle": (0, (6, 2, 1, 2, 1, 2)), "marker": "P"},
    "soft_consensus": {"color": PURPLE, "linestyle": ":", "marker": "v"},
    "self_certainty": {"color": GRAY, "linestyle": ":", "marker": "*"},
}
CAST = LOOKS["om_grpo"]  # never in one picture: they start from different models


def looks_of(names: list[str]) -> dict[str, dict]:
    """A look for each recorded run: its method's own, whatever the base or one setting, before one that is left."""
    methods = {name: re.sub(r"(\.|_(pool|rate|beta)_).*", "", name) for name in names}
    looks = {name: CAST if method == "cast" else LOOKS[method] for name, method in methods.items() if method in (*LOOKS, "cast")}
    left = iter([look for look in reversed(LOOKS.values()) if look not in looks.values()])
    return {name: looks.get(name) or next(left) for name in names}
