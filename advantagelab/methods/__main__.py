"""Run the laboratory's methods and keep what they show.

python -m advantagelab.methods run --method om_grpo --seed 0    one run, with its record
python -m advantagelab.methods sweep [--processes N]            all that is not recorded yet; stop it and start it again at will
python -m advantagelab.methods bands                            from the records, what the notebooks draw
python -m advantagelab.methods gap                              the teacher–student gap of right and wrong completions
"""

import argparse
import os
import sys

from . import METHODS
from .bands import write_bands
from .gap import write_gap
from .runs import run, sweep


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m advantagelab.methods", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("run", help="one run, with its record | 运行一次并记录")
    one.add_argument("--method", required=True, choices=METHODS)
    one.add_argument("--seed", type=int, default=0)
    one.add_argument("--base", help="half, direct, or NAME-SEED of a checkpoint to pretrain (default: the method's own)")
    every = commands.add_parser("sweep", help="all that is not recorded yet | 运行尚未记录的全部组合")
    every.add_argument("--processes", type=int, default=os.cpu_count(), help="default: all cores | 默认使用全部核心")
    commands.add_parser("bands", help="write what the notebooks draw | 写出 notebook 所画的数据")
    commands.add_parser("gap", help="measure the teacher–student gap | 测量教师—学生间隙")
    arguments = parser.parse_args()
    if arguments.command == "run":
        run(arguments.method, arguments.base or METHODS[arguments.method].base, arguments.seed)
    elif arguments.command == "sweep":
        sweep(arguments.processes)
    elif arguments.command == "bands":
        write_bands()
    else:
        write_gap()


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("\nstopped; the same command goes on from here | 已停止；再次运行同一命令即可继续")
