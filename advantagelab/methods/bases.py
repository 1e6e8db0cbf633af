"""The models that runs begin from: shipped ones by name, others pretrained on first use and kept out of the repository."""

import sys
from pathlib import Path

from ..tinylm import checkpoint, pretrain

KEPT = Path("artifacts") / "checkpoints"  # below the folder in which the command runs; git ignores it


def base_file(base: str) -> str | Path:
    """What `train` takes for this base: "half", "direct", or NAME-SEED, such as "half-1": recipe and pretraining seed."""
    if (checkpoint.FOLDER / f"{base}.safetensors").exists():
        return base
    file = KEPT / f"{base}.safetensors"
    if not file.exists():
        name, _, seed = base.rpartition("-")
        if name not in pretrain.RECIPES or not seed.isdecimal():
            raise SystemExit(f"no base called {base}; there are half, direct and NAME-SEED with a NAME of {', '.join(pretrain.RECIPES)}")
        KEPT.mkdir(parents=True, exist_ok=True)
        print(f"pretraining {base}", file=sys.stderr, flush=True)
        pretrain.make(name, int(seed), file)
    return file
