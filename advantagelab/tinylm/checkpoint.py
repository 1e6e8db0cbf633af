"""Checkpoints in the safetensors format, float16, read and written here: a learner's machine need not have the library.

The format: eight bytes with the length of a JSON header, the header, and the tensors' bytes one after another.
"""

import json
from pathlib import Path

import torch

from .model import TinyLM

FOLDER = Path(__file__).parent / "checkpoints"


def save(model: TinyLM, file: Path, about: dict[str, str]) -> None:
    """Write the weights as float16, with words about them. | 以 float16 写出权重，并附说明。"""
    header, content = {"__metadata__": about}, b""
    for name, weights in model.state_dict().items():
        data = weights.half().contiguous().numpy().tobytes()
        header[name] = {"dtype": "F16", "shape": list(weights.shape), "data_offsets": [len(content), len(content) + len(data)]}
        content += data
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)  # the tensors begin at a multiple of eight
    file.write_bytes(len(text).to_bytes(8, "little") + text + content)


def load(name: str | Path) -> TinyLM:
    """A model with the weights of a shipped checkpoint, or of a file. | 载入随课程提供的检查点，或某个文件中的权重。

    name: "half" or "direct", see tinylm.pretrain, or the path of a .safetensors file | 名称见 tinylm.pretrain，或文件路径
    """
    header, content = _read(name)
    header.pop("__metadata__")
    weights = {}
    for key, entry in header.items():
        first, last = entry["data_offsets"]
        weights[key] = torch.frombuffer(content, dtype=torch.float16, offset=first, count=(last - first) // 2).view(entry["shape"]).float()
    with torch.device("meta"):  # no weights of its own: they would be drawn from torch's global random state
        model = TinyLM(vocabulary=len(weights["token_embedding.weight"]))
    model.load_state_dict(weights, assign=True)
    return model


def about(name: str | Path) -> dict[str, str]:
    """What a checkpoint says of itself: recipe, seed, versions, accuracies. | 检查点自带的说明：配方、种子、版本与正确率。"""
    return _read(name)[0]["__metadata__"]


def _read(name: str | Path) -> tuple[dict, bytearray]:
    file = FOLDER / f"{name}.safetensors" if isinstance(name, str) and "." not in name else Path(name)
    data = bytearray(file.read_bytes())
    start = 8 + int.from_bytes(data[:8], "little")
    return json.loads(data[8:start]), data[start:]
