"""`python -m autograder doctor`: which isolation of student code holds on this machine. Each is tried, from inside."""

import sys

from .probe import FACTS, Probe, probe
from .sandbox import ISOLATIONS, NONE, UID


def doctor_command() -> int:
    """What grading would use comes first, as soon as it is known. Exit status: 0 if there is one, 1 if grading would refuse."""
    taken, before = None, []
    for isolation in ISOLATIONS:
        found = probe(isolation)
        if taken is None and found.safe and isolation != NONE:
            taken = isolation
            print("\n".join([f"grading uses: {taken} | 评阅将使用：{taken}", *before]))
        before += _told(found)
        if taken:
            print("\n".join(_told(found)), flush=True)
    if taken:
        return 0
    print("\n".join(["no isolation holds here: `grade` refuses, unless with --unsafe, and then student code runs as you",
                     "本机没有可用的隔离：`grade` 会拒绝运行；加 --unsafe 则学生代码以你的身份运行", *before]))
    return 1


def _told(found: Probe) -> list[str]:
    if found.isolation == NONE:
        lines = [f"— {NONE}: no isolation, for comparison | 不隔离，仅作对照"]
    else:
        lines = [f"{'✓' if found.safe else '✗'} {found.isolation}"]
    if found.problem:
        return [*lines, f"    {found.problem.en}", f"    {found.problem.zh}"]
    for fact, held in found.holds.items():
        lines.append(f"    {'yes | 是' if held else 'NO  | 否'}  {FACTS[fact].en} | {FACTS[fact].zh}")
        if (found.isolation, fact, held) == (UID, "imports", False):
            lines.append(f"             another user cannot read {sys.prefix}: make the environment where all may read | "
                         f"其他用户读不到 {sys.prefix}：请把环境装在所有人可读的位置")
    return lines
