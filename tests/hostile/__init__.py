"""Hostile submissions, one subject a file. tests/test_hostile.py hands them all in among honest neighbors and grades the class."""

from . import escape, exhaustion, forging, output, paths, protocol, reading
from .case import GAINED, Attack, Known

KINDS = {"reading": reading, "forging": forging, "protocol": protocol, "exhaustion": exhaustion, "escape": escape, "output": output}
OFTEN: dict[str, Attack] = {f"{kind}-{attack.name}": attack for kind, module in KINDS.items() for attack in module.ATTACKS}
# Those that wait for time limits, that burn seconds, or of whose kind another one is tried often.
SELDOM: dict[str, Attack] = {f"{kind}-{attack.name}": attack for kind, module in KINDS.items() for attack in module.SELDOM}
TRICKS: dict[str, paths.Trick] = {trick.name: trick for trick in paths.TRICKS}

__all__ = ["GAINED", "OFTEN", "SELDOM", "TRICKS", "Attack", "Known"]
