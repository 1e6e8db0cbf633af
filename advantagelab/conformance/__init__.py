"""Conformance: does what a learner wrote do what a framework does? The other side of the comparison is TRL, never an answer of ours.

Optional everywhere: without TRL a comparison ends in "skipped", and nothing here ends in a traceback.
"""

from .cast_trainer import cast
from .grpo_trainer import grpo
from .om_grpo_trainer import om_grpo
from .report import Report
from .rloo_trainer import rloo

__all__ = ["Report", "cast", "grpo", "om_grpo", "rloo"]
