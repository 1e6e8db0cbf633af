"""python -m advantagelab.tinylm pretrain NAME [--seed N] [--out FILE]: make a checkpoint, and say what the model can do."""

import argparse
from pathlib import Path

from . import checkpoint, pretrain
from .tasks import task_of


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m advantagelab.tinylm")
    command = parser.add_subparsers(required=True).add_parser("pretrain", help="make a checkpoint | 制作检查点")
    command.add_argument("name", choices=pretrain.RECIPES)
    command.add_argument("--seed", type=int, default=0)
    command.add_argument("--out", type=Path, help="file to write (default: NAME-SEED.safetensors here)")
    arguments = parser.parse_args()
    file = arguments.out or Path(f"{arguments.name}-{arguments.seed}.safetensors")
    pretrain.make(arguments.name, arguments.seed, file)
    for context, figures in pretrain.report(checkpoint.load(file), task_of(file)).items():
        print(context, " · ".join(f"{name} {figure:.4f}" for name, figure in figures.items()))


if __name__ == "__main__":
    main()
