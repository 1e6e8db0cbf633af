"""How the shipped checkpoints were made: python -m advantagelab.tinylm pretrain NAME [--seed N] [--out FILE]. One to two minutes of CPU.

Shipped are `half --seed 0` and `direct --seed 1`. Seeds of `direct` differ in how deep the habit of answering at once lies: with the same
probability of showing work a teacher finds it in some after 40 steps, in others not in 75.

Ordinary next-token training on correct answers, in two styles. It is stopped early, before the learning rate has come down: an undertrained
model is what reinforcement learning needs, right in some of its samples and wrong in others.
"""

import random
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import torch
import torch.nn.functional as F

from . import checkpoint
from .batch import compare_neighbors, make_batch, prompt_tensor, roll_out
from .measure import right, worked
from .model import TinyLM, score
from .products import COMPARED_ANSWER_LENGTH, COMPLETION_LENGTH, CONTEXTS, HELD_OUT, TRAINING, Product, comparison_ids
from .sample import sample
from .tasks import TASKS, Problem
from .tokens import BOX, BOX_ID, END_ID, completion_mask, encode

BATCH = 128
LEARNING_RATE, WARMUP_STEPS = 3e-3, 100
PLANNED_STEPS = 1500  # where the learning rate would have come down to 0


@dataclass(frozen=True)
class Recipe:
    contexts: dict[str, float]  # how often each header is read
    worked: float  # how often the work is shown where the header does not say which style
    comparisons: int  # pairs of solutions per step, read to give the right answer: what CAR asks for
    steps: int  # where training stops
    direct_from: int | None = None  # from this step on the work is shown only where the header asks for it
    task: str = field(default="products", repr=False)  # of tasks.TASKS; a checkpoint says it beside its recipe


RECIPES = {
    # Both styles alike: the worked one is right far more often, so showing the work is worth finding, and easy to find.
    "half": Recipe({"none": 1.0}, worked=0.5, comparisons=32, steps=1200),
    # Shows its work where the header asks for it, and otherwise almost never: sampling does not find it, an instruction does.
    # It does so now and then for 900 steps and never in the last 100, which leaves a probability of a few in ten thousand.
    "direct": Recipe({"none": 0.32, "work": 0.38, "direct": 0.05, "noise": 0.10, "reference": 0.15},
                     worked=0.02, comparisons=0, steps=1000, direct_from=900),
    # Both styles alike without an instruction, and obeys one: what a wrong instruction does is seen here. Not shipped.
    "instructed": Recipe({"none": 0.40, "work": 0.20, "direct": 0.15, "noise": 0.10, "reference": 0.15},
                         worked=0.5, comparisons=0, steps=1050),
    # Tasks whose partial results are uncertain, stopped while the work goes wrong in about half of the completions: the limits of the
    # answer mask. Not shipped.
    "chains": Recipe({"none": 1.0}, worked=0.75, comparisons=0, steps=800, task="chains"),
    "scaled_sums": Recipe({"none": 1.0}, worked=0.5, comparisons=0, steps=500, task="scaled_sums"),
}


def pretrain(recipe: Recipe, seed: int) -> TinyLM:
    """A model trained from scratch by the recipe. | 按配方从零训练的模型。"""
    chance = random.Random(seed)
    task = TASKS[recipe.task]
    problems, _ = task.split()
    model = TinyLM(vocabulary=len(task.tokens))
    model.initialize(torch.Generator().manual_seed(seed))
    optimizer = torch.optim.AdamW(model.parameters(), lr=LEARNING_RATE, betas=(0.9, 0.98), weight_decay=0.01)
    start = time.monotonic()
    for step in range(recipe.steps):
        for group in optimizer.param_groups:
            group["lr"] = LEARNING_RATE * min(1.0, (step + 1) / WARMUP_STEPS) * (1 - step / PLANNED_STEPS)
        unlearned = recipe.direct_from is not None and step >= recipe.direct_from
        shown = [examples(recipe.contexts, 0.0 if unlearned else recipe.worked, chance, problems)]
        if recipe.comparisons:
            shown.append(comparison_examples(recipe.comparisons, chance))
        loss = next_token_loss(model, shown)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        left = (time.monotonic() - start) / (step + 1) * (recipe.steps - step - 1)
        print(f"\r{step + 1}/{recipe.steps} · loss | 损失 {loss.item():.3f} · {left:.0f} s left | 还需 {left:.0f} 秒 ",
              end="\n" if step + 1 == recipe.steps else "", file=sys.stderr, flush=True)
    return model


def next_token_loss(model: TinyLM, shown: list[tuple[torch.Tensor, torch.Tensor]]) -> torch.Tensor:
    """Mean over all tokens of the completions. Comparisons, a tenth of the tokens, count a tenth: more would delay the arithmetic."""
    losses = []
    for prompts, completions in shown:
        mask = completion_mask(completions)
        losses.append(F.cross_entropy(score(model, prompts, completions).token_logits[mask], completions[mask], reduction="none"))
    return torch.cat(losses).mean()


def examples(
    contexts: dict[str, float], worked: float, chance: random.Random, problems: list[Problem] = TRAINING,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Prompts and right completions, in the style that the header asks for, or worked with this probability."""
    prompts, completions = [], []
    for context in chance.choices(list(contexts), list(contexts.values()), k=BATCH):
        problem = chance.choice(problems)
        shows_work = {"work": True, "direct": False}.get(context, chance.random() < worked)
        prompts.append(problem.prompt_ids(context))
        completions.append(encode(problem.worked if shows_work else problem.direct, problem.completion_length, problem.tokens))
    return torch.tensor(prompts), torch.tensor(completions)


def comparison_examples(count: int, chance: random.Random) -> tuple[torch.Tensor, torch.Tensor]:
    """Pairs of solutions, wrong about as often as a policy's, and the right answer."""
    prompts, completions = [], []
    for product in chance.choices(TRAINING, k=count):
        prompts.append(comparison_ids(product, imitated_solution(product, chance), imitated_solution(product, chance)))
        completions.append(encode(product.direct.removeprefix(BOX), COMPARED_ANSWER_LENGTH))
    return torch.tensor(prompts), torch.tensor(completions)


def imitated_solution(product: Product, chance: random.Random) -> list[int]:
    """Worked or direct; wrong half the time if worked, nine times in ten if direct, in one or two digits of the answer."""
    worked = chance.random() < 0.5
    ids = encode(product.worked if worked else product.direct, COMPLETION_LENGTH)
    if chance.random() < (0.5 if worked else 0.9):
        end = ids.index(END_ID)
        for _ in range(chance.choice((1, 1, 2))):
            ids[end - chance.randint(1, 4)] = chance.randrange(10)
    return ids


def report(model: TinyLM, task: type[Problem] = Product) -> dict[str, dict[str, float]]:
    """What the model does with the held-out problems after each header, and how well it compares two of its own solutions."""
    if task is not Product:  # no headers, and nothing to compare
        return {"none": behavior(model, task.split()[1], "none")}
    figures = {context: behavior(model, HELD_OUT, context) for context in CONTEXTS}
    generator = torch.Generator().manual_seed(0)
    pairs = roll_out(model, HELD_OUT, 2, generator)
    known = right(pairs).view(-1, 2).sum(dim=-1).repeat_interleave(2)  # how many of the two are right
    answers = [answer for _, _, answer in compare_neighbors(model, pairs, 2, generator)]
    hits = torch.tensor([answer == correct for answer, correct in zip(answers, pairs.correct_answers)]).float()
    figures["comparison"] = {f"accuracy_{count}_right": hits[known == count].mean().item() for count in (0, 1, 2)}
    return figures


def behavior(model: TinyLM, problems: list[Problem], context: str) -> dict[str, float]:
    """What the model does with these problems after one header."""
    prompts = prompt_tensor(problems, context)
    completions = sample(model, prompts, torch.Generator().manual_seed(0), max_length=problems[0].completion_length)
    batch = make_batch(problems, prompts, completions, 1)
    with torch.no_grad():
        first = torch.softmax(model(prompts, last=1)[:, -1], dim=-1)
    is_right, is_worked = right(batch), worked(batch)
    return {
        "accuracy": is_right.float().mean().item(),
        "accuracy_worked": is_right[is_worked].float().mean().item(),  # nan if none is
        "accuracy_direct": is_right[~is_worked].float().mean().item(),
        "begins_with_work": 1 - first[:, BOX_ID].mean().item(),  # a probability, not a share of samples
    }


def make(name: str, seed: int, file: Path) -> None:
    """Pretrain by the recipe of this name, and write the checkpoint. | 按该名称的配方预训练，并写出检查点。"""
    torch.set_num_threads(1)
    recipe = RECIPES[name]
    about = {"recipe": repr(recipe), "seed": str(seed), "torch": torch.__version__}
    if recipe.task != "products":  # a checkpoint that names no task is theirs
        about["task"] = recipe.task
    checkpoint.save(pretrain(recipe, seed), file, about)
