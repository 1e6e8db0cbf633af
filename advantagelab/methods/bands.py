"""From the records, the thin files that notebooks draw: bands.json for the training cells, runs.json and gap.json for the training lab.

Numbers of single steps are noisy and many, so each evaluation gets the mean of the steps since the one before it; the first, at step 0,
gets step 0, whose completions are the start model's.
"""

from ..tinylm.recorded import FOLDER as RECORDED
from . import METHODS
from .records import FOLDER, read_record, rounded, write_json

# The methods that the training cells of lessons 03–07 name, and what their pictures show.
IN_LESSONS = ("grpo", "rloo", "majority_vote", "soft_consensus", "om_grpo", "om_grpo_car", "grpo.direct", "cast", "cast_no_flips",
              "cast_flip_down", "cast_flip_up", "cast_no_verifier", "cast_none", "cast_lagged", "cast_refresh_10", "cast_dead_band_0.3",
              "cast_delta_1", "grpo_pool_64", "majority_vote_pool_64", "om_grpo_pool_64")
MEASURES = ("held_out_accuracy", "reward", "majority_accuracy", "zero_variance_wrong")


def write_bands() -> None:
    records = {file.stem: read_record(file.stem) for file in sorted(FOLDER.glob("*.json"))}
    teachers = records["gap"]["teachers"]
    runs = {key: thin(record) | teacher_accuracy(record, teachers) for key, record in records.items() if "seeds" in record}
    bands = {key: band(runs[key]) for key in IN_LESSONS if key in runs}
    for name, content in (("runs", runs), ("bands", bands), ("gap", records["gap"])):
        write_json(RECORDED / f"{name}.json", rounded(content, 3))
        print(f"{name}.json: {(RECORDED / f'{name}.json').stat().st_size / 1000:.1f} kB")
    print(f"{len(runs)} methods, {len(bands)} of them in the lessons")


def thin(record: dict) -> dict:
    """A record at its evaluations only: {…, "seeds": [0, 1, …], "steps": [0, 15, …], measure: [[of seed 0, at each step], …]}."""
    steps = next(iter(record["seeds"].values()))["evaluations"]["step"]
    runs = [at_evaluations(run, steps) for run in record["seeds"].values()]
    about = {name: record[name] for name in ("title", "group", "base", "pretraining_seed")}
    return {**about, "seeds": [int(seed) for seed in record["seeds"]], "steps": steps,
            **{measure: [run[measure] for run in runs] for measure in runs[0]}}


def teacher_accuracy(record: dict, teachers: dict[str, dict[str, float]]) -> dict[str, float]:
    """What the teacher is right in by itself, where it stays the model that training started from."""
    teacher = METHODS[record["method"]].method().teacher
    return {"teacher_accuracy": teachers[record["base"]][teacher.context]} if teacher and teacher.refresh is None else {}


def at_evaluations(run: dict, steps: list[int]) -> dict[str, list[float]]:
    evaluations = {measure: values for measure, values in run["evaluations"].items() if measure != "step"}
    spans = [(0, 1), *zip(steps, steps[1:])]
    return {**evaluations, **{measure: [sum(values[first:end]) / (end - first) for first, end in spans]
                              for measure, values in run["steps"].items()}}


def band(runs: dict) -> dict:
    """Mean and range over the seeds."""
    of_steps = {measure: list(zip(*runs[measure])) for measure in MEASURES}  # [steps] tuples of all seeds
    return {"base": runs["base"], "title": runs["title"], "seeds": runs["seeds"], "steps": runs["steps"],
            **{measure: {"mean": [sum(values) / len(values) for values in columns], "low": [min(values) for values in columns],
                         "high": [max(values) for values in columns]} for measure, columns in of_steps.items()}}
