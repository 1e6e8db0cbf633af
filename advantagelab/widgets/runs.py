"""Recorded runs of the tiny model: their numbers, and the drawing that the lab's panels share.

Two charts side by side, mean and range over the seeds of a run, and framed at the right edge of each the same method on a second
pretrained model, where it was run.
"""

from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from ..fonts import plot_text
from ..language import text
from ..tinylm.recorded import read
from .panel import Words
from .style import GRAY, LIGHT_GRAY, number

SIZE = (7.6, 3.8)
CHARTS = ((0.065, 0.315, 0.415, 0.575), (0.57, 0.315, 0.415, 0.575))
FAR = 8  # a run that goes so many times as high as any other would flatten them all


class Run(NamedTuple):
    """One method on one base: a row of every measure for each seed, a column for each point of `steps`."""

    title: tuple[str, str]
    seeds: list[int]
    steps: np.ndarray
    measures: dict[str, np.ndarray]
    second: dict[str, np.ndarray]  # the same, on the second pretrained model; empty if it was not run there
    teacher: float | None = None  # held-out accuracy of its teacher, if that stays as it is

    def of_seeds(self, seeds: list[int]) -> "Run":
        rows = [self.seeds.index(seed) for seed in seeds]
        return self._replace(seeds=seeds, measures={name: values[rows] for name, values in self.measures.items()})


# Of an entry of runs.json; the rest are measures.
ABOUT = ("title", "group", "base", "pretraining_seed", "seeds", "steps", "teacher_accuracy")
SECOND = "half-1"  # the base that was pretrained with another seed


def read_runs(names: list[str]) -> dict[str, Run]:
    """names: keys of runs.json, such as "grpo", or "grpo.direct" on another base than its own."""
    recorded = read("runs")
    return {name: Run(tuple(recorded[name]["title"]), recorded[name]["seeds"], np.array(recorded[name]["steps"]),
                      _measures(recorded[name]), _measures(recorded.get(f"{name}.{SECOND}", {})), recorded[name].get("teacher_accuracy"))
            for name in names}


def same_seeds(runs: dict[str, Run]) -> dict[str, Run]:
    """Seeds that all of them have: two of one beside five of another would show a difference that is only the seeds'."""
    common = sorted(set.intersection(*(set(run.seeds) for run in runs.values()))) if runs else []
    return {name: run.of_seeds(common) for name, run in runs.items()}


def _measures(entry: dict) -> dict[str, np.ndarray]:
    return {name: np.array(values, dtype=float) for name, values in entry.items() if name not in ABOUT}


class Measure(NamedTuple):
    name: str
    title: tuple[str, str]
    limits: tuple[float, float] | None = None  # None: as far as the runs go
    digits: int = 2


SHARE = (0.0, 1.0)
HELD_OUT = Measure("held_out_accuracy", ("accuracy, held out", "留出集正确率"), SHARE)
# What the two charts show together.
PAIRS = {
    "accuracy": (HELD_OUT, Measure("seen_accuracy", ("accuracy, trained on", "训练集正确率"), SHARE)),
    "reward": (
        Measure("reward", ("mean reward in training", "训练中的平均奖励")),
        Measure("majority_accuracy", ("groups whose majority is right", "多数答案正确的组"), SHARE),
    ),
    "logps": (
        Measure("answer_logp", ("log-probability of an answer token", "答案 Token 的对数概率"), digits=3),
        Measure("reasoning_logp", ("log-probability of any other token", "其他 Token 的对数概率"), digits=3),
    ),
    "answers": (
        Measure("unique_answers", ("different answers in a group of 8", "一组 8 条中不同答案的个数"), (1, 8)),
        Measure("held_out_unique_answers", ("different answers to all held-out problems", "留出集上不同答案的个数"), digits=0),
    ),
    "zero_variance": (
        Measure("zero_variance_right", ("zero-variance groups, all right", "零方差组，全对"), SHARE),
        Measure("zero_variance_wrong", ("zero-variance groups, all wrong", "零方差组，全错"), SHARE),
    ),
    "kl": (
        Measure("kl", ("KL from the start, per token", "与起点的 KL，每个 Token"), digits=3),
        Measure("held_out_worked", ("held-out completions that show work", "留出集上写出过程的回答"), SHARE),
    ),
}


def pair_name(pair: str) -> str:
    return {
        "accuracy": text("accuracy, held out and trained on", "正确率：留出集与训练集"),
        "reward": text("reward, and whether the majority is right", "奖励，与多数答案是否正确"),
        "logps": text("log-probability of answer and other tokens", "答案与其他 Token 的对数概率"),
        "answers": text("different answers", "不同答案的个数"),
        "zero_variance": text("zero-variance groups: right, wrong", "零方差组：全对、全错"),
        "kl": text("KL, and work shown", "KL，与写出过程的比例"),
    }[pair]


def frame_runs(figure: Figure) -> None:
    for place in CHARTS:
        axes = figure.add_axes(place)
        axes.set(ylim=(0, 1), yticks=[], xticks=[])
        for spine in axes.spines.values():
            spine.set_visible(False)


def draw_runs(figure: Figure, runs: dict[str, Run], looks: dict[str, dict], pair: tuple[Measure, Measure]) -> None:
    for axes, measure in zip(figure.axes, pair, strict=True):
        _chart(axes, runs, looks, measure)
    handles = [Line2D([], [], **{"markersize": 5, **looks[name]}) for name in runs]
    figure.legend(handles, [plot_text(*run.title) for run in runs.values()], loc="upper center", bbox_to_anchor=(0.5, 0.175), ncol=3,
                  handlelength=2.8, columnspacing=1.4, borderpad=0)


def _chart(axes: Axes, runs: dict[str, Run], looks: dict[str, dict], measure: Measure) -> None:
    low, high = _limits(runs, measure)
    last = max(run.steps[-1] for run in runs.values())
    second = any(measure.name in run.second for run in runs.values())
    edge = last * (1.22 if second else 1.03)
    axes.set_xlim(-0.02 * last, edge)
    axes.text(0, 1.05, plot_text(*measure.title), transform=axes.transAxes, va="bottom", fontsize=9.5)
    for tick in MaxNLocator(5, steps=[1, 2, 5, 10]).tick_values(low, high):
        if low - 1e-9 <= tick <= high + 1e-9:
            place = (tick - low) / (high - low)
            axes.plot([0, last], [place, place], color=LIGHT_GRAY, linewidth=0.8, zorder=0)
            axes.text(-0.02 * last, place, f"{round(tick, 6):g} ".replace("-", "−"), ha="right", va="center", fontsize=9)
    for step in range(0, last + 1, 30):
        axes.text(step, -0.03, str(step), ha="center", va="top", fontsize=9)
    axes.text(last / 2, -0.125, plot_text("step", "步数"), ha="center", va="top", fontsize=9)
    if second:
        axes.axvspan(1.05 * last, edge, facecolor="none", edgecolor=GRAY, linewidth=0.8, zorder=0, clip_on=False)
        axes.text(edge, -0.125, plot_text("2nd model", "第二模型"), ha="right", va="top", fontsize=9)
    far = far_above(runs, measure)
    places = np.linspace(1.075, 1.195, len(runs)) * last if len(runs) > 1 else [1.135 * last]
    for place, (name, run) in zip(places, runs.items(), strict=True):
        values = (run.measures[measure.name] - low) / (high - low)
        look = looks[name]
        axes.fill_between(run.steps, values.min(axis=0), values.max(axis=0), color=look["color"], alpha=0.18, linewidth=0)
        # A marker at the edge is drawn whole; only a run that leaves the chart ends there.
        axes.plot(run.steps, values.mean(axis=0), clip_on=name == far, **{"markersize": 4, "linewidth": 1.8, **look})
        if measure.name in run.second:
            ends = (run.second[measure.name][:, -1] - low) / (high - low)
            axes.plot([place, place], [ends.min(), ends.max()], color=look["color"], linewidth=2.2, solid_capstyle="butt")
            axes.plot([place], [ends.mean()], color=look["color"], marker=look["marker"], markersize=4.5, clip_on=name == far)


def _limits(runs: dict[str, Run], measure: Measure) -> tuple[float, float]:
    if measure.limits:
        return measure.limits
    far = far_above(runs, measure)
    values = np.concatenate([part[measure.name].ravel() for name, run in runs.items() for part in (run.measures, run.second)
                             if part and name != far])
    low, high = min(values.min(), 0.0), max(values.max(), 0.0)
    margin = 0.05 * (high - low) or 1.0
    return low - margin * (low < 0), high + margin * (high > 0)


def far_above(runs: dict[str, Run], measure: Measure) -> str | None:
    """The run that goes far above all others, which would flatten them: the chart ends below it."""
    if measure.limits or len(runs) < 2:
        return None
    *_, second, first = sorted(runs, key=lambda name: runs[name].measures[measure.name].max())
    highest, next_to_it = (runs[name].measures[measure.name].max() for name in (first, second))
    return first if highest > FAR * next_to_it > 0 else None


def span(values: np.ndarray, digits: int = 2) -> str:
    """ "0.59 (0.57 to 0.61)": mean and range of the seeds; a single seed's number alone."""
    if len(values) == 1:
        return number(values[0], digits)
    low, high = number(values.min(), digits), number(values.max(), digits)
    return f"{number(values.mean(), digits)}{text(f' ({low} to {high})', f'（{low} 到 {high}）')}"


def describe_runs(runs: dict[str, Run], pair: tuple[Measure, Measure]) -> Words:
    """Ends in the caption; starts, ends and the second base in the alternative text."""
    if not runs:
        return Words(text("No method is chosen.", "没有选中任何方法。"), text("Choose a method.", "请选一种方法。"))
    measure = pair[0]
    seeds = {len(run.seeds) for run in runs.values()}
    counted = str(max(seeds)) if len(seeds) == 1 else f"{min(seeds)}–{max(seeds)}"
    ends = text("; ", "；").join(
        f"{text(*run.title)}{text(' at ', '：')}{span(run.measures[measure.name][:, -1], measure.digits)}"
        + (text(f", {len(run.seeds)} seeds", f"，{len(run.seeds)} 个种子") if len(seeds) > 1 else "") for run in runs.values())
    each = text(f" ({counted} seeds)", f"（{counted} 个种子）") if len(seeds) == 1 else ""
    caption = text(f"At the end{each}, {measure.title[0]}: {ends}.", f"结束时{each}，{measure.title[1]}——{ends}。")
    for shown, place in zip(pair, (("left", "左"), ("right", "右")), strict=True):
        if far := far_above(runs, shown):
            caption += text(f" Above the {place[0]} chart: {runs[far].title[0]}.", f"{runs[far].title[1]}在{place[1]}图上方之外。")
    parts = [_measure_words(runs, measure) for measure in pair]
    alt = text(f"Two charts over the steps of training, mean and range over {counted} seeds. ",
               f"两幅随训练步数变化的图，为 {counted} 个种子的均值与范围。") + text(" ", "").join(parts)
    return Words(alt, caption)


def _measure_words(runs: dict[str, Run], measure: Measure) -> str:
    said = []
    for run in runs.values():
        values = run.measures[measure.name]
        start, end = number(values[:, 0].mean(), measure.digits), span(values[:, -1], measure.digits)
        words = text(f"{run.title[0]} from {start} to {end}", f"{run.title[1]}：从 {start} 到 {end}")
        if measure.name in run.second:
            other = span(run.second[measure.name][:, -1], measure.digits)
            words += text(f", on the second model to {other}", f"，在第二模型上到 {other}")
        said.append(words)
    title = measure.title[0]
    return text(f"{title[0].upper()}{title[1:]}: {'; '.join(said)}.", f"{measure.title[1]}——{'；'.join(said)}。")

