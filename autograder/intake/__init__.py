"""What students hand in, read without executing it."""

from .choose import Found, find_notebook
from .files import read_file
from .restore import read_submission

__all__ = ["Found", "find_notebook", "read_file", "read_submission"]
