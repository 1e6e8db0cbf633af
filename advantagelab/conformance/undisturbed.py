"""Use a framework inside a learner's kernel without a trace: nothing is printed and nothing stays changed."""

import contextlib
import io
import logging
import os
import random
import warnings
from collections.abc import Iterator

import numpy as np
import torch


@contextlib.contextmanager
def importing() -> Iterator[None]:
    """No log record, no warning, and the random numbers of before. Stderr stays: log handlers made now will keep it."""
    disabled, python_rng, numpy_rng = logging.root.manager.disable, random.getstate(), np.random.get_state()
    gpus = range(torch.cuda.device_count()) if torch.cuda.is_initialized() else []
    logging.disable(logging.CRITICAL)
    try:
        with warnings.catch_warnings(), torch.random.fork_rng(devices=gpus):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(disabled)
        random.setstate(python_rng)
        np.random.set_state(numpy_rng)


@contextlib.contextmanager
def running() -> Iterator[None]:
    """Also no output, no telemetry, and the environment variables, progress bars and choice of device of before. Needs TRL's packages."""
    import accelerate.state
    from huggingface_hub import constants as hub
    from transformers.utils import logging as transformers_logging

    # Accelerate keeps its device for the whole process: ours is the CPU, the learner's may be a GPU.
    states = [vars(accelerate.state)[name]._shared_state for name in ("PartialState", "AcceleratorState", "GradientState")]
    saved, environment, bars = [dict(state) for state in states], dict(os.environ), transformers_logging.is_progress_bar_enabled()
    transformers_logging.disable_progress_bar()
    telemetry, hub.HF_HUB_DISABLE_TELEMETRY = hub.HF_HUB_DISABLE_TELEMETRY, True  # TRL's trainers report each start to the hub
    try:
        with importing(), contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()), torch.enable_grad():
            yield
    finally:
        hub.HF_HUB_DISABLE_TELEMETRY = telemetry
        if bars:
            transformers_logging.enable_progress_bar()
        os.environ.clear()
        os.environ.update(environment)
        for state, values in zip(states, saved, strict=True):
            state.clear()
            state.update(values)
