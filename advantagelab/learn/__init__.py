"""What helps a learner along in a notebook: hints one by one, a fresh skeleton, and how far everything is."""

from .board import progress
from .hints import hint
from .lesson import open_lesson
from .skeleton import reset

__all__ = ["hint", "open_lesson", "progress", "reset"]
