"""python -m advantagelab.tinylm pretrain NAME [--seed N] [--out FILE]: make a checkpoint, and say what the model can do."""

import argparse
import os
import sys
from pathlib import Path

from . import checkpoint, pretrain
from .tasks import task_of


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m advantagelab.tinylm")
    words = "make a checkpoint, one to two minutes of CPU, and say what the model can do | 制作检查点（约一两分钟 CPU），并说明模型会做什么"
    command = parser.add_subparsers(required=True).add_parser("pretrain", help=words, description=words)
    command.add_argument("name", choices=pretrain.RECIPES, metavar="NAME", help=f"{', '.join(pretrain.RECIPES)}")
    command.add_argument("--seed", type=int, default=0, help="default 0 | 默认 0")
    command.add_argument("--out", type=Path, help="file to write (default: NAME-SEED.safetensors here) | "
                                                  "写出的文件（默认：当前文件夹下的 NAME-SEED.safetensors）")
    arguments = parser.parse_args()
    file = arguments.out or Path(f"{arguments.name}-{arguments.seed}.safetensors")
    folder = file.absolute().parent
    if file.is_dir() or not os.access(folder, os.W_OK):
        sys.exit(f"cannot write {file}: name a file in a folder that is there | 无法写出 {file}：请给出一个已有文件夹中的文件名")
    pretrain.make(arguments.name, arguments.seed, file)
    print(f"written: {file} | 已写出：{file}")
    for context, figures in pretrain.report(checkpoint.load(file), task_of(file)).items():
        print(context, " · ".join(f"{name} {figure:.4f}" for name, figure in figures.items()))


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("\nstopped: no checkpoint is written | 已停止，没有写出检查点")
