"""What students hand in, read without executing it."""

from .restore import read_submission

__all__ = ["read_submission"]
