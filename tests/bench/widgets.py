"""What a step of a slider costs, and what it leaves behind."""

import gc
import itertools
import statistics
import time
from collections.abc import Callable, Iterator

import matplotlib.pyplot as plt
import psutil
from matplotlib.figure import Figure

from advantagelab import set_language, widgets
from advantagelab.widgets.panel import Panel

STEPS = 120
# The slider to move in each panel.
PANELS = {
    widgets.mean_reward: "reward_1",
    widgets.baselines: "reward_3",
    widgets.baseline_variance: "shift",
    widgets.bandit_baseline: "baseline",
    widgets.clip_region: "ratio",
    widgets.gae: "lam",
    widgets.timeline: "moment",
    widgets.token_shift: "temperature",
    widgets.group_scale: "right",
    widgets.kl_estimators: "toward",
    widgets.loss_reduction: "length_2",
    widgets.answer_mask: "beta",
    widgets.consensus: "preference",
    widgets.two_stages: "good",
    widgets.advantage_flip: "lam",
}


def take_steps(panel: Panel, slider_name: str, count: int) -> list[float]:
    """Milliseconds of each step, from the new value to the new picture in the page's model."""
    slider = panel.controls[slider_name]
    places = round((slider.max - slider.min) / slider.step)
    # There and back again, so that every step is a change.
    track = itertools.cycle([*range(places), *range(places, 0, -1)])
    slider.value = slider.max
    taken = []
    for place in itertools.islice(track, count):
        value = slider.min + place * slider.step
        start = time.perf_counter()
        slider.value = value
        taken.append((time.perf_counter() - start) * 1000)
    return taken


def open_figures() -> int:
    gc.collect()
    return sum(issubclass(type(thing), Figure) for thing in gc.get_objects()) + len(plt.get_fignums())


def megabytes() -> float:
    gc.collect()
    return psutil.Process().memory_info().rss / 2**20


def growth(panel: Panel, slider: str) -> tuple[int, float]:
    """(figures, megabytes) left behind by STEPS steps."""
    figures, memory = open_figures(), megabytes()
    take_steps(panel, slider, STEPS)
    return open_figures() - figures, megabytes() - memory


def lines() -> Iterator[tuple[str, str, str, bool]]:
    set_language("zh")  # the slower of the two: it draws from two fonts
    panels: list[tuple[Callable, Panel, str]] = [(build, build(), slider) for build, slider in PANELS.items()]
    for build, panel, slider in panels:
        median = statistics.median(take_steps(panel, slider, 40))
        yield f"{build.__name__} redraw per slider step (median)", f"{median:.1f} ms", "< 60 ms", median < 60
    for build, panel, slider in panels:
        take_steps(panel, slider, STEPS)  # caches fill first
        figures, memory = map(min, zip(*(growth(panel, slider) for _ in range(3))))  # a leak shows every time, the allocator's whims do not
        yield f"{build.__name__} figures left by {STEPS} steps", f"{figures:+d}", "+0", figures == 0
        yield f"{build.__name__} memory left by {STEPS} steps", f"{memory:+.2f} MB", "< 1 MB", memory < 1
