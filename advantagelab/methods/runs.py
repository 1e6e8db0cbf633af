"""Running: one method, or all of the plan in several processes."""

import multiprocessing
import os
import signal
import threading
import time

import torch

from ..tinylm import Method, Record, train
from . import METHODS, PLAN, records
from .bases import base_file, recipe_of
from .records import add_run, key_of, recorded_seeds, run_of

Job = tuple[str, str, int]  # method, base, seed


def run(name: str, base: str, seed: int) -> None:
    entry, method = METHODS[name], METHODS[name].method()
    require_base(method, base)
    record = train(method, base_file(base), seed, entry.settings, watch=print_progress)
    if record.stopped:
        raise SystemExit("\nstopped: nothing is recorded | 已停止，未写入记录")
    before = recorded_seeds(name, base)
    add_run(name, base, seed, run_of(record))
    replaced = sorted(before & {seed} | before - recorded_seeds(name, base))  # all, where they were of another configuration
    seeds = ", ".join(map(str, replaced))
    file = records.FOLDER / f"{key_of(name, base)}.json"
    print(f"recorded in {file}{f' (replaced seed {seeds})' if replaced else ''} | "
          f"已写入 {file}{f'（替换了种子 {seeds}）' if replaced else ''}")


def require_base(method: Method, base: str) -> None:
    """Refuse a base that was never shown what the method asks of it: its answers to that would be noise."""
    recipe = recipe_of(base)
    if method.teacher and method.teacher.context not in recipe.contexts:
        context = method.teacher.context
        raise SystemExit(f"the teacher's prompt says {context!r}, which {base} never saw in pretraining: try --base direct | "
                         f"教师的提示是 {context!r}，而 {base} 预训练时没有见过：请改用 --base direct")
    if method.compare and not recipe.comparisons:
        raise SystemExit(f"this method compares completions, which {base} never saw in pretraining: try --base half | "
                         f"这种方法要比较回答，而 {base} 预训练时没有见过比较：请改用 --base half")


def print_progress(record: Record) -> None:
    """One line in both languages, short enough not to be broken in a terminal of 80 columns."""
    left = f"{record.seconds_left():.0f}"
    accuracy = f"held-out accuracy | 留出集正确率 {record.evaluations[-1]['held_out_accuracy']:.2f}"
    print(f"\r{len(record.steps)}/{record.settings.steps} · {accuracy} · {left} s left | 还需 {left} 秒 ",
          end="\n" if record.ended else "", flush=True)


def sweep(processes: int) -> None:
    parts = [[(name, base, seed) for seed in seeds for name in names] for names, base, seeds in PLAN]
    todo = [[job for job in part if job[2] not in recorded_seeds(job[0], job[1])] for part in parts]
    total, left = sum(map(len, parts)), sum(map(len, todo))
    print(f"{total - left} of {total} runs are recorded | 共 {total} 次训练，已记录 {total - left} 次", flush=True)
    start, done = time.monotonic(), 0
    with multiprocessing.get_context("spawn").Pool(processes, _prepare_worker) as pool:
        for part in filter(None, todo):
            base_file(part[0][1])  # pretrained here if it must be, not by every worker
            for (name, base, seed), result in pool.imap_unordered(_run_job, part):
                add_run(name, base, seed, result)
                done, left = done + 1, left - 1
                minutes = (time.monotonic() - start) / done * left / 60
                end = result["evaluations"]["held_out_accuracy"][-1]
                print(f"{total - left}/{total} · {key_of(name, base)} seed | 种子 {seed} · held-out accuracy | 留出集正确率 {end:.3f} · "
                      f"{minutes:.0f} min left | 还需 {minutes:.0f} 分钟", flush=True)


def _prepare_worker() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl+C ends the sweep, and with it its workers
    threading.Thread(target=_end_with_the_sweep, daemon=True).start()
    torch.set_num_threads(1)


def _end_with_the_sweep() -> None:
    multiprocessing.parent_process().join()
    os._exit(1)


def _run_job(job: Job) -> tuple[Job, dict]:
    name, base, seed = job
    entry = METHODS[name]
    return job, run_of(train(entry.method(), base_file(base), seed, entry.settings, watch=lambda record: None))
