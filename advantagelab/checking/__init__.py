"""Checks that say what is wrong: the only part of a lesson's checks that is shared by all lessons."""

from ..message import Message, message
from .expect import CheckFailed, expect_close, expect_error, expect_unchanged, gradient
from .random_inputs import Rng
from .run import ChecksFailed, Verdict, judge, run_all_checks, run_checks

__all__ = [
    "CheckFailed", "ChecksFailed", "Message", "Rng", "Verdict",
    "expect_close", "expect_error", "expect_unchanged", "gradient", "judge", "message", "run_all_checks", "run_checks",
]
