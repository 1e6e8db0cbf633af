"""What students hand in, read without executing it."""

from .choose import Found, find_notebook
from .command import intake_command
from .files import read_file
from .restore import read_submission

__all__ = ["Found", "find_notebook", "intake_command", "read_file", "read_submission"]
