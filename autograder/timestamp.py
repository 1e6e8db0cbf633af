"""When something was handed in: the timestamp.txt that nbgrader, or an instructor, puts beside it."""

import os
import re
from datetime import datetime, timezone
from pathlib import Path

from advantagelab.message import Message, message

from .intake.files import read_file
from .submission import Ungradable

TIME = re.compile(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?) ?(UTC|Z|[+-]\d\d:?\d\d)?")


def submitted_at(folder: Path) -> tuple[datetime | None, Message | None]:
    """The time in timestamp.txt, in UTC without a zone as nbgrader keeps it, and what is wrong with the file.

    Only a date and a time of day with or without an offset from UTC are read, without one as UTC: nbgrader's own reader takes "+0800"
    for 800 seconds, "CST" for UTC, and stops at anything else.
    """
    file = folder / "timestamp.txt"
    if not os.path.lexists(file):
        return None, None
    try:
        date, time, zone = TIME.fullmatch(read_file(file)[:200].decode("utf-8-sig").strip()).groups()
        moment = datetime.fromisoformat(f"{date}T{time}{'+00:00' if zone in (None, 'UTC', 'Z') else zone}")
        return moment.astimezone(timezone.utc).replace(tzinfo=None), None
    except (AttributeError, ValueError, OverflowError, Ungradable):
        return None, message(en="timestamp.txt holds no time such as 2026-03-01T18:00:00+08:00: when this was handed in is not recorded.",
                             zh="timestamp.txt 中没有 2026-03-01T18:00:00+08:00 这样的时间：未记录提交时间。")
