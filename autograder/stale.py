"""Which submissions have to be graded, and why: a regrading that nobody meant, after a forgotten --checks, must not go unnoticed."""

from pathlib import Path

from advantagelab.message import Message, message
from lessons._build.lesson import Lesson

from .course_folder import CourseFolder
from .record import read_record
from .submitted import read_handed_in
from .task import CRASHED, Setup

NEW = message(en="new", zh="新提交")
AGAIN = message(en="--again", zh="--again")
ENDED = message(en="the grading process ended last time", zh="上次评阅进程意外结束")
OTHER_FILE = message(en="the file is another one", zh="文件有变化")
OTHER_SEED = message(en="with another seed than last time", zh="种子与上次不同")
OTHER_COURSE = message(en="the checks or the grader have changed", zh="检查或评阅程序有改动")
OTHER_CHECKS = message(en="your own checks have changed", zh="你自己的检查有改动")
NEW_CHECKS = message(en="your own checks are new (--checks)", zh="新加了你自己的检查（--checks）")
NO_CHECKS = message(en="without your own checks, which counted last time; to keep them, give --checks each time",
                    zh="这次没有你自己的检查，而上次有；要保留，请每次都带上 --checks")


def why_again(course: CourseFolder, student: str, folder: Path, lesson: Lesson, version: str, setup: Setup) -> Message | None:
    """Why this submission has to be graded; None if what it got is what it would get."""
    record = read_record(course.record_file(student, lesson.entry.notebook))
    if record is None:
        return NEW
    if record.reason == CRASHED:
        return ENDED
    if record.grader != version:
        return _what_changed(record.grader, version)
    if record.seed != setup.seed:
        return OTHER_SEED
    handed = read_handed_in(student, folder, lesson)
    same_file = (record.file, record.sha256) == (handed.file, handed.sha256)
    return None if same_file and (handed.refused is None or handed.refused == record.reason) else OTHER_FILE


def _what_changed(before: str, now: str) -> Message:
    """Of the course, or of the instructor's own checks: versions as `grader_version` makes them."""
    (course_before, own_before), (course_now, own_now) = map(_parts, (before, now))
    if course_before != course_now:
        return OTHER_COURSE
    return OTHER_CHECKS if own_before and own_now else NEW_CHECKS if own_now else NO_CHECKS


def _parts(version: str) -> tuple[str, str]:
    release, _, digests = version.partition("+")
    course, _, own = digests.partition(".")
    return f"{release}+{course}", own
