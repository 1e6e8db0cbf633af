"""Running: one method, or all of the plan in several processes."""

import multiprocessing
import os
import signal
import threading
import time

import torch

from ..tinylm import train
from . import METHODS, PLAN
from .bases import base_file
from .records import add_run, key_of, recorded_seeds, run_of

Job = tuple[str, str, int]  # method, base, seed


def run(name: str, base: str, seed: int) -> None:
    entry = METHODS[name]
    record = train(entry.method(), base_file(base), seed, entry.settings)
    if record.stopped:
        raise SystemExit("\nstopped: nothing is recorded | 已停止，未写入记录")
    add_run(name, base, seed, run_of(record))


def sweep(processes: int) -> None:
    parts = [[(name, base, seed) for seed in seeds for name in names] for names, base, seeds in PLAN]
    todo = [[job for job in part if job[2] not in recorded_seeds(job[0], job[1])] for part in parts]
    total, left = sum(map(len, parts)), sum(map(len, todo))
    print(f"{total - left} of {total} runs are recorded", flush=True)
    start, done = time.monotonic(), 0
    with multiprocessing.get_context("spawn").Pool(processes, _prepare_worker) as pool:
        for part in filter(None, todo):
            base_file(part[0][1])  # pretrained here if it must be, not by every worker
            for (name, base, seed), result in pool.imap_unordered(_run_job, part):
                add_run(name, base, seed, result)
                done, left = done + 1, left - 1
                minutes = (time.monotonic() - start) / done * left / 60
                end = result["evaluations"]["held_out_accuracy"][-1]
                print(f"{total - left}/{total} · {key_of(name, base)} seed {seed} · held-out accuracy {end:.3f} · {minutes:.0f} min left",
                      flush=True)


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
