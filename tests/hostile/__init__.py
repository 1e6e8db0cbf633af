"""Hostile submissions, one subject a file. tests/test_hostile.py hands them all in among honest neighbors and grades the class."""

from . import escape, exhaustion, forging, output, paths, protocol, reading
from .case import GAINED, Attack, Known

KINDS = {"reading": reading, "forging": forging, "protocol": protocol, "exhaustion": exhaustion, "escape": escape, "output": output}
ATTACKS: dict[str, Attack] = {f"{kind}-{attack.name}": attack for kind, module in KINDS.items() for attack in module.ATTACKS}
TRICKS: dict[str, paths.Trick] = {trick.name: trick for trick in paths.TRICKS}

__all__ = ["ATTACKS", "GAINED", "TRICKS", "Attack", "Known"]
