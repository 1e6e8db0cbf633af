"""How the shipped checkpoints were made: python -m advantagelab.tinylm.pretrain NAME [--seed N] [--out FILE]. About a minute of CPU.

Ordinary next-token training on correct answers, in two styles. It is stopped early, before the learning rate has come down: an undertrained
model is what reinforcement learning needs, right in some of its samples and wrong in others.
"""

import argparse
import random
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.nn.functional as F

from . import checkpoint
from .model import TinyLM, score
from .products import (
    COMPARED_ANSWER_LENGTH, COMPLETION_LENGTH, CONTEXTS, HELD_OUT, TRAINING, Product, boxed_answer, comparison_ids, prompt_ids,
)
from .sample import sample
from .tokens import BOX, COMMA_ID, END, ID, completion_mask, decode, encode

BATCH = 128
LEARNING_RATE, WARMUP_STEPS = 3e-3, 100


@dataclass(frozen=True)
class Recipe:
    contexts: dict[str, float]  # how often each header is read
    worked: float  # how often the work is shown where the header does not say which style
    comparisons: int  # pairs of solutions per step, read to give the right answer: what CAR asks for
    steps: int  # where training stops
    planned_steps: int = 1500  # where the learning rate would have come down to 0


RECIPES = {
    # Both styles alike: the worked one is right far more often, so showing the work is worth finding, and easy to find.
    "half": Recipe({"none": 1.0}, worked=0.5, comparisons=32, steps=1200),
    # Shows its work where the header asks for it, and otherwise almost never: sampling does not find it, an instruction does.
    "direct": Recipe({"none": 0.32, "work": 0.38, "direct": 0.05, "noise": 0.10, "reference": 0.15}, worked=0.0005, comparisons=0, steps=1000),
}


def pretrain(recipe: Recipe, seed: int) -> TinyLM:
    """A model trained from scratch by the recipe. | 按配方从零训练的模型。"""
    chance = random.Random(seed)
    model = TinyLM()
    model.initialize(torch.Generator().manual_seed(seed))
    optimizer = torch.optim.AdamW(model.parameters(), lr=LEARNING_RATE, betas=(0.9, 0.98), weight_decay=0.01)
    start = time.monotonic()
    for step in range(recipe.steps):
        for group in optimizer.param_groups:
            group["lr"] = LEARNING_RATE * min(1.0, (step + 1) / WARMUP_STEPS) * (1 - step / recipe.planned_steps)
        loss = next_token_loss(model, *examples(recipe, chance))
        if recipe.comparisons:
            loss = loss + next_token_loss(model, *comparison_examples(recipe.comparisons, chance))
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if (step + 1) % 50 == 0:
            left = (time.monotonic() - start) / (step + 1) * (recipe.steps - step - 1)
            print(f"step {step + 1}/{recipe.steps} · loss {loss.item():.3f} · {left:.0f} s left", file=sys.stderr, flush=True)
    return model


def next_token_loss(model: TinyLM, prompts: torch.Tensor, completions: torch.Tensor) -> torch.Tensor:
    mask = completion_mask(completions)
    return F.cross_entropy(score(model, prompts, completions).token_logits[mask], completions[mask])


def examples(recipe: Recipe, chance: random.Random) -> tuple[torch.Tensor, torch.Tensor]:
    """Prompts and right completions."""
    prompts, completions = [], []
    for context in chance.choices(list(recipe.contexts), list(recipe.contexts.values()), k=BATCH):
        product = chance.choice(TRAINING)
        worked = {"work": True, "direct": False}.get(context, chance.random() < recipe.worked)
        prompts.append(prompt_ids(product, context))
        completions.append(encode(product.worked if worked else product.direct, COMPLETION_LENGTH))
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
        end = ids.index(ID[END])
        for _ in range(chance.choice((1, 1, 2))):
            ids[end - chance.randint(1, 4)] = chance.randrange(10)
    return ids


@torch.no_grad()
def report(model: TinyLM) -> dict[str, str]:
    """Accuracy on products that were held out, and the share of worked completions, after each header."""
    lines = {}
    for context in CONTEXTS:
        prompts = torch.tensor([prompt_ids(product, context) for product in HELD_OUT])
        completions = sample(model, prompts, torch.Generator().manual_seed(0))
        right = torch.tensor([boxed_answer(decode(ids)[:decode(ids).find(END) + 1]) == product.answer
                              for product, ids in zip(HELD_OUT, completions.tolist())])
        worked = (completions == COMMA_ID).sum(dim=-1) == 4
        first = torch.softmax(model(prompts, last=1)[:, -1], dim=-1)
        digit_first = first[:, [ID[digit] for digit in "0123456789"]].sum(dim=-1).mean()
        lines[context] = (f"accuracy {right.float().mean():.3f}, worked {worked.float().mean():.3f}, right if worked "
                          f"{right[worked].float().mean():.3f}, if not {right[~worked].float().mean():.3f}, p(begins with work) {digit_first:.5f}")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", choices=RECIPES)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, help="default: the shipped checkpoint of this name")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    recipe = RECIPES[arguments.name]
    model = pretrain(recipe, arguments.seed)
    file = arguments.out or checkpoint.FOLDER / f"{arguments.name}.safetensors"
    about = {"recipe": repr(recipe), "seed": str(arguments.seed), "torch": torch.__version__}
    checkpoint.save(model, file, about)
    for context, line in report(checkpoint.load(file)).items():
        print(f"{context}: {line}")


if __name__ == "__main__":
    main()
