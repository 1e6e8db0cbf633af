"""The teacher–student gap before training, of right and of wrong completions, for a teacher that reads no answer and one that does.

What CAST's section 3.1 observes on a large model, on the tiny one: the shares, sizes and histograms that its claims can be held against.
And how often a teacher is right itself, by what it reads: what a policy that imitates it can reach.
"""

import torch

from ..algorithms.cast import self_teacher_gap
from ..tinylm import HELD_OUT, load, prompt_tensor, roll_out, score
from ..tinylm.measure import right
from ..tinylm.pretrain import behavior
from ..tinylm.products import CONTEXTS
from ..tinylm.tokens import inside_box
from .bases import base_file
from .records import FOLDER, rounded, write_json

BASES = ("direct", "instructed-0")
TEACHERS = {"answer_free": "work", "privileged": "reference"}  # and the context that each reads
EDGES = [-8.0, -4.0, -2.0, -1.0, -0.5, -0.2, -0.1, -0.05, -0.02, 0.0, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 4.0, 8.0]
SMALL = 0.05  # a gap beyond it is more than a hair


def write_gap() -> None:
    content = {"samples": 4, "edges": EDGES, "small": SMALL, "bases": {base: gaps_of(base) for base in BASES},
               "teachers": {base: {context: accuracy_of(base, context) for context in CONTEXTS} for base in BASES}}
    write_json(FOLDER / "gap.json", rounded(content))


def accuracy_of(base: str, context: str) -> float:
    """On the held-out products, one completion each, as runs are evaluated."""
    return behavior(load(base_file(base)), HELD_OUT, context)["accuracy"]


@torch.no_grad()
def gaps_of(base: str) -> dict:
    """teacher → "right" or "wrong" → "all" or "answer" tokens → numbers, for four completions of each held-out product."""
    model = load(base_file(base))
    batch = roll_out(model, HELD_OUT, 4, torch.Generator().manual_seed(0))
    old_token_logps, _ = score(model, batch.prompts, batch.completions)
    is_right, boxed = right(batch), inside_box(batch.completions)
    result = {}
    for teacher, context in TEACHERS.items():
        teacher_token_logps, _ = score(model, prompt_tensor(batch.products, context), batch.completions)
        gaps = self_teacher_gap(teacher_token_logps, old_token_logps, batch.completion_mask)
        result[teacher] = {
            outcome: {"completions": int(of_outcome.sum()),
                      "all": numbers(gaps[of_outcome][batch.completion_mask[of_outcome]]),
                      "answer": numbers(gaps[of_outcome][boxed[of_outcome]])}
            for outcome, of_outcome in (("right", is_right), ("wrong", ~is_right))}
    return result


def numbers(gaps: torch.Tensor) -> dict:
    """gaps: [tokens]; a histogram over EDGES with one bin more at each end, and what it looks like in numbers."""
    bins = torch.bucketize(gaps, torch.tensor(EDGES), right=True)
    return {
        "tokens": len(gaps), "mean": gaps.mean().item(), "beyond_small": (gaps.abs() > SMALL).float().mean().item(),
        "positive": side(gaps, gaps > 0), "negative": side(gaps, gaps < 0),
        "histogram": torch.bincount(bins, minlength=len(EDGES) + 1).tolist(),
    }


def side(gaps: torch.Tensor, chosen: torch.Tensor) -> dict[str, float]:
    """How many gaps are on one side of 0, how large they are, and how far from alike (kurtosis; 3 for a normal distribution)."""
    values = gaps[chosen].double()
    centered = values - values.mean()
    return {"share": chosen.float().mean().item(), "mean": values.mean().item(), "median": values.median().item(),
            "std": values.std(correction=0).item(), "kurtosis": ((centered ** 4).mean() / (centered ** 2).mean() ** 2).item()}
