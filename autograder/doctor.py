"""`python -m autograder doctor`: which isolation of student code holds on this machine. Each is tried, from inside."""

import sys

from .probe import FACTS, probe
from .sandbox import ISOLATIONS, NONE, UID


def doctor_command() -> int:
    """Exit status: 0 if grading will find an isolation, 1 if it would refuse."""
    taken = None
    for isolation in ISOLATIONS:
        found = probe(isolation)
        if found.problem:
            print(f"✗ {isolation}\n    {found.problem.en}\n    {found.problem.zh}")
            continue
        print(f"{'✓' if found.safe else '✗'} {isolation}")
        for fact, held in found.holds.items():
            print(f"    {'yes | 是' if held else 'NO  | 否'}  {FACTS[fact].en} | {FACTS[fact].zh}")
            if (isolation, fact, held) == (UID, "imports", False):
                print(f"             another user cannot read {sys.prefix}: make the environment where all may read | "
                      f"其他用户读不到 {sys.prefix}：请把环境装在所有人可读的位置")
        if found.safe and taken is None and isolation != NONE:
            taken = isolation
    if taken:
        print(f"grading uses: {taken} | 评阅将使用：{taken}")
        return 0
    print("no isolation holds here: `grade` refuses, unless with --unsafe, and then student code runs as you\n"
          "本机没有可用的隔离：`grade` 会拒绝运行；加 --unsafe 则学生代码以你的身份运行")
    return 1
