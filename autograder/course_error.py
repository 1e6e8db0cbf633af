"""The one error of the commands that is said without a traceback."""


class CourseError(Exception):
    """What was asked for cannot be done with this course, in both languages."""
