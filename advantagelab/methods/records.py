"""Records on disk: one JSON file for a method and a base, with all its seeds."""

import json
import platform
from dataclasses import asdict
from pathlib import Path

import torch

import advantagelab

from ..tinylm import Record, checkpoint
from . import METHODS
from .bases import base_file

FOLDER = Path(__file__).parent / "records"


def key_of(name: str, base: str) -> str:
    """How a method on a base is called: its name, and the base where that is not the method's own."""
    return name if METHODS[name].base == base else f"{name}.{base}"


def read_record(key: str) -> dict | None:
    """The record, None if there is none yet."""
    file = FOLDER / f"{key}.json"
    return json.loads(file.read_text(encoding="utf-8")) if file.exists() else None


def recorded_seeds(name: str, base: str) -> set[int]:
    record = read_record(key_of(name, base))
    return {int(seed) for seed in record["seeds"]} if record else set()


def configuration(name: str, base: str) -> dict:
    about = checkpoint.about(base_file(base))
    return configuration_of(name, base, int(about["seed"]), about["recipe"])


def configuration_of(name: str, base: str, pretraining_seed: int, recipe: str) -> dict:
    """What was run: all that decides the outcome but the seed and the versions."""
    entry = METHODS[name]
    return {
        "method": name, "title": list(entry.title), "group": entry.group,
        "function": entry.function.__name__, "arguments": entry.arguments,
        "base": base, "pretraining_seed": pretraining_seed, "recipe": recipe,
        "settings": asdict(entry.settings),
    }


def run_of(record: Record) -> dict:
    """One run, column by column, rounded."""
    versions = {"advantagelab": advantagelab.__version__, "torch": torch.__version__, "python": platform.python_version(),
                "cpu": torch.backends.cpu.get_cpu_capability()}
    return {"versions": versions, "cpu_seconds": rounded(record.cpu_seconds),
            "evaluations": rounded(columns(record.evaluations)), "steps": rounded(columns(record.steps))}


def add_run(name: str, base: str, seed: int, run: dict) -> None:
    """Write a run into its record. A record of another configuration is begun anew."""
    key, head = key_of(name, base), configuration(name, base)
    record = read_record(key)
    seeds = record["seeds"] if record and {**record, "seeds": None} == {**head, "seeds": None} else {}
    seeds[str(seed)] = run
    write_json(FOLDER / f"{key}.json", {**head, "seeds": dict(sorted(seeds.items(), key=lambda entry: int(entry[0])))})


def write_json(file: Path, content: dict) -> None:
    """Whole or not at all, so that a kill leaves no half-written record."""
    file.parent.mkdir(exist_ok=True)
    new = file.with_suffix(".new")
    new.write_text(json.dumps(content, ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8")
    new.replace(file)


def columns(rows: list[dict[str, float]]) -> dict[str, list[float]]:
    return {name: [row[name] for row in rows] for name in rows[0]}


def rounded(value, digits: int = 4):
    """Fractions to so many significant digits, whatever they stand in."""
    if isinstance(value, dict):
        return {name: rounded(part, digits) for name, part in value.items()}
    if isinstance(value, list):
        return [rounded(part, digits) for part in value]
    if isinstance(value, (int, str)):
        return value
    number = float(f"{value:.{digits}g}")
    return int(number) if number == int(number) else number
