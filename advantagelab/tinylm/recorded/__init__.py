"""Runs made beforehand, to draw a live one over: written by `python -m advantagelab.methods bands`, never by hand."""

import json
from pathlib import Path

FOLDER = Path(__file__).parent


def read(name: str) -> dict[str, dict]:
    """A file of recorded runs: method → what it showed. | 读取预先记录的训练：方法 → 各项数值。

    name: "bands": mean, lowest and highest over the seeds; "runs": each seed by itself | "bands" 为各种子的均值与范围，"runs" 为逐个种子
    returns: {method: {"base", "title": [English, 中文], "seeds", "steps", measure: …}}
    """
    return json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
