"""What a live run of the laboratory costs on one thread: CPU time per step, split into sampling and update, and memory."""

import resource
import sys
import time
from collections.abc import Callable, Iterator

import torch

from advantagelab.tinylm import HELD_OUT, Method, Settings, Teacher, load, prompt_tensor, sample, train
from advantagelab.tinylm.products import COMPLETION_LENGTH
from tests.test_tinylm import clipped_loss, relative, span_mask, truth

STEPS = 12
METHODS = {
    "GRPO": Method(truth, relative, clipped_loss),
    "with answer mask and comparisons": Method(truth, relative, clipped_loss, span_mask, compare=True),
    "with a teacher": Method(truth, relative, clipped_loss, teacher=Teacher("work")),
}


def cpu_milliseconds(function: Callable[[], object], times: int) -> float:
    function()  # warm-up
    start = time.process_time()
    for _ in range(times):
        function()
    return (time.process_time() - start) / times * 1000


def sample_without_cache(model: torch.nn.Module, prompts: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Eight completions of each prompt, the whole sequence read again for each token."""
    ids = prompts.repeat_interleave(8, dim=0)
    with torch.no_grad():
        for _ in range(COMPLETION_LENGTH):
            probabilities = torch.softmax(model(ids, last=1)[:, -1], dim=-1)
            ids = torch.cat([ids, torch.multinomial(probabilities, 1, generator=generator)], dim=1)
    return ids


def lines() -> Iterator[tuple[str, str, str, bool]]:
    torch.set_num_threads(1)
    for name, method in METHODS.items():
        record = train(method, settings=Settings(steps=STEPS, evaluate_every=STEPS), watch=lambda record: None)
        sampling, update = (record.cpu_seconds[part] / STEPS for part in ("sampling", "update"))
        evaluation = record.cpu_seconds["evaluation"] / len(record.evaluations)
        settings = Settings()
        run = settings.steps * (sampling + update) + (settings.steps // settings.evaluate_every + 1) * evaluation
        yield (f"{name}: CPU of a step {1000 * (sampling + update):.0f} ms, sampling {1000 * sampling:.0f}, update {1000 * update:.0f}, "
               f"of an evaluation {1000 * evaluation:.0f} ms; of a run", f"{run:.0f} s", "< 45 s", run < 45)

    model, prompts, generator = load("half"), prompt_tensor(HELD_OUT[:32]), torch.Generator().manual_seed(0)
    cached = cpu_milliseconds(lambda: sample(model, prompts, generator, 8), 10)
    uncached = cpu_milliseconds(lambda: sample_without_cache(model, prompts, generator), 3)
    longer = uncached / cached
    yield f"sampling 256 completions, {cached:.0f} ms; without the cache", f"{longer:.1f} times as long", "> 3 times", longer > 3

    # Kilobytes on Linux, bytes on macOS; the peak of this process, imports included.
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**10 if sys.platform == "linux" else 2**20)
    yield "memory, peak", f"{peak:.0f} MB", "< 600 MB", peak < 600
