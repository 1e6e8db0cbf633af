"""Run the laboratory's methods and keep what they show. | 运行实验室的各种方法，并留下记录。

python -m advantagelab.methods run --method om_grpo --seed 0    one run, with its record | 运行一次并记录
python -m advantagelab.methods sweep [--processes N]            all that is not recorded yet; stop it and start it again at will
                                                                | 尚未记录的全部训练；可随时停止，再次运行即继续
python -m advantagelab.methods bands                            from the records, what the notebooks draw | 由记录生成 notebook 所画的数据
python -m advantagelab.methods gap                              the teacher–student gap, and what teachers get right by themselves
                                                                | 教师—学生间隙，以及教师自身的正确率
"""

import argparse
import os
import sys
import textwrap

from . import METHODS
from .bands import write_bands
from .gap import write_gap
from .runs import run, sweep

RUN = """Train the tiny model once with a method, half a minute of CPU, and write the run into the method's record in
advantagelab/methods/records, over an earlier run of this seed. `bands` then carries it into what the notebooks draw.
| 用一种方法训练小模型一次（约半分钟 CPU），并写入 advantagelab/methods/records 中该方法的记录；
同一种子先前的那次会被替换。之后运行 `bands`，notebook 所画的数据才会更新。"""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m advantagelab.methods", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    names = textwrap.fill(f"NAME: {' '.join(METHODS)}", 100, break_on_hyphens=False)
    one = commands.add_parser("run", help="one run, with its record | 运行一次并记录", description=RUN, epilog=names,
                              formatter_class=argparse.RawDescriptionHelpFormatter)
    one.add_argument("--method", required=True, choices=METHODS, metavar="NAME", help="see below | 见下")
    one.add_argument("--seed", type=int, default=0, help="of the pool and of all sampling, default 0 | 决定题池与全部采样，默认 0")
    one.add_argument("--base", help="half, direct, or NAME-SEED of a checkpoint to pretrain (default: the method's own) | "
                                    "half、direct，或待预训练的检查点 NAME-SEED（默认：该方法自己的）")
    every = commands.add_parser("sweep", help="all that is not recorded yet | 运行尚未记录的全部组合")
    every.add_argument("--processes", type=int, default=os.cpu_count(), help="default: all cores | 默认使用全部核心")
    commands.add_parser("bands", help="write what the notebooks draw | 写出 notebook 所画的数据")
    commands.add_parser("gap", help="measure the gap, and teachers by themselves | 测量间隙，以及教师自身")
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
