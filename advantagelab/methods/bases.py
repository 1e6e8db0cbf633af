"""The models that runs begin from: shipped ones by name, others pretrained on first use and kept out of the repository."""

import sys
from pathlib import Path

from ..tinylm import checkpoint, pretrain

KEPT = Path("artifacts") / "checkpoints"  # below the folder in which the command runs; git ignores it


def recipe_of(base: str) -> pretrain.Recipe:
    """What the base was pretrained on; the command ends here if there is none of this name."""
    if (checkpoint.FOLDER / f"{base}.safetensors").exists():
        return pretrain.RECIPES[base]
    name, _, seed = base.rpartition("-")
    if name not in pretrain.RECIPES or not seed.isdecimal():
        names = ", ".join(pretrain.RECIPES)
        raise SystemExit(f"no base called {base}; there are half, direct and NAME-SEED with a NAME of {names} | "
                         f"没有名为 {base} 的起始模型；可用 half、direct，或 NAME-SEED，其中 NAME 取 {names}")
    return pretrain.RECIPES[name]


def base_file(base: str) -> str | Path:
    """What `train` takes for this base: "half", "direct", or NAME-SEED, such as "half-1": recipe and pretraining seed."""
    recipe_of(base)
    if (checkpoint.FOLDER / f"{base}.safetensors").exists():
        return base
    file = KEPT / f"{base}.safetensors"
    if not file.exists():
        name, _, seed = base.rpartition("-")
        KEPT.mkdir(parents=True, exist_ok=True)
        print(f"pretraining {base} | 正在预训练 {base}", file=sys.stderr, flush=True)
        pretrain.make(name, int(seed), file)
    return file
