"""A run as it happens, drawn over recorded runs: `train(method, watch=LiveRun("grpo"))`."""

import time
from typing import NamedTuple

import numpy as np
from IPython import get_ipython
from IPython.display import display
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ..fonts import plot_text
from ..language import text
from ..widgets.looks import looks_of
from ..widgets.panel import Picture, Words, is_static
from ..widgets.style import BLACK, PAPER, number
from .recorded import read
from .train import Record, Settings, print_progress

SIZE = (7.4, 2.9)
EVERY = 1.0  # seconds from one picture to the next: drawing takes a twentieth of the time
WINDOW = Settings().evaluate_every  # a point is the mean of so many steps, as in the records
OWN = {"color": BLACK, "linewidth": 1.6}


class Measure(NamedTuple):
    """What a panel of the picture shows."""

    title: tuple[str, str]
    limits: tuple[float, float]


MEASURES = {
    "held_out_accuracy": Measure(("held-out accuracy", "留出集正确率"), (0, 0.8)),
    "reward": Measure(("reward in training", "训练中的奖励"), (0, 1)),
    "majority_accuracy": Measure(("the majority is right", "多数答案正确的组"), (0, 1)),
    "zero_variance_wrong": Measure(("all-wrong groups", "全错组"), (0, 1)),
}


class LiveRun:
    """Draws the run so far over recorded ones, about once a second, in place. | 当前训练画在记录的训练之上，就地更新。

    recorded: names of runs, at most three; one without a record is left out | 最多三个名称；没有记录的略去
    measures: what the panels show, at most three of MEASURES | 各小图显示的量，最多三个
    Where nothing can be drawn in place, a line of progress stands for it; `picture` is the last one drawn.
    | 无法就地重画时，改为打印一行进度；`picture` 是最后画出的图。
    """

    def __init__(self, *recorded: str, measures: tuple[str, ...] = ("held_out_accuracy", "reward")):
        bands = read("bands")
        self._bands = {name: bands[name] for name in recorded if name in bands}
        self._measures = measures
        self._drawn = -EVERY
        self._handle = None
        self.picture: Picture | None = None

    def __call__(self, record: Record) -> None:
        in_place = hasattr(get_ipython(), "kernel")  # a Jupyter kernel, not a terminal
        if not in_place:
            print_progress(record)
        if record.ended or in_place and not is_static() and time.monotonic() - self._drawn >= EVERY:
            self._draw(record)
            if in_place and self._handle:
                self._handle.update(self.picture)
            elif in_place:
                self._handle = display(self.picture, display_id=True)
            self._drawn = time.monotonic()

    def _draw(self, record: Record) -> None:
        if self.picture:
            self.picture.redraw({"record": record})
        else:
            self.picture = Picture(SIZE, lambda figure: self._frame(figure, record.settings.steps), self._run, {"record": record})

    def _frame(self, figure: Figure, steps: int) -> None:
        """Axes, recorded runs and legend: what stays."""
        count, looks = len(self._measures), looks_of(list(self._bands))
        for place, name in enumerate(self._measures):
            axes = figure.add_axes(((place + 0.15) / count, 0.28, 0.8 / count, 0.61))
            measure = MEASURES[name]
            last = max(steps, Settings().steps)
            axes.set(title=plot_text(*measure.title), xlabel=plot_text("step", "步数"), ylim=measure.limits,
                     xlim=(0, last), xticks=range(0, last + 1, 15 * round(last / 60)))
            for band, look in zip(self._bands.values(), looks.values()):
                mean, low, high = (_numbers(band[name][part]) for part in ("mean", "low", "high"))
                axes.fill_between(band["steps"], low, high, color=look["color"], alpha=0.18, linewidth=0)
                axes.plot(band["steps"], mean, linewidth=1.2, markersize=3, **look)
        own = Line2D([], [], marker="o", markersize=4, **OWN)
        lines = [own, *(Line2D([], [], markersize=3, **look) for look in looks.values())]
        labels = [plot_text("your run", "你的训练"), *(plot_text(*band["title"]) for band in self._bands.values())]
        figure.legend(lines, labels, loc="lower center", ncols=len(labels), borderpad=0, handlelength=2.4)

    def _run(self, figure: Figure, values: dict) -> Words:
        """The run so far: what moves."""
        record = values["record"]
        for axes, name in zip(figure.axes, self._measures):
            steps, points = _curve(record, name)
            axes.plot(steps, np.clip(points, *MEASURES[name].limits), marker="o" if name in record.evaluations[0] else None,
                      markersize=4, clip_on=False, **OWN)
        if record.settings.steps < Settings().steps:
            words = plot_text(*_quick_mode(record))
            figure.axes[0].text(0.5, 0.91, words, transform=figure.axes[0].transAxes, ha="center", fontsize=8, bbox=PAPER)
        return self._words(record)

    def _words(self, record: Record) -> Words:
        alt = [text("Your run so far and recorded runs, by step.", "你的训练与记录的训练，随步数变化。")]
        if record.settings.steps < Settings().steps:
            alt[0] = text(*_quick_mode(record)).capitalize() + text(". ", "。") + alt[0]
        for name in self._measures:
            steps, points = _curve(record, name)
            said = [text(f"your run {number(points[0])} at step {steps[0]}, {number(points[-1])} at step {steps[-1]}",
                         f"你的训练，第 {steps[0]} 步 {number(points[0])}，第 {steps[-1]} 步 {number(points[-1])}")]
            said += [f"{text(*band['title'])} {_range(band, name, -1)}" for band in self._bands.values()]
            end = text("; recorded at the end: ", "；记录的终点：") if self._bands else ""
            alt.append(f"{text(*MEASURES[name].title)}{text(': ', '：')}{said[0]}{end}{text(', ', '、').join(said[1:])}{text('.', '。')}")
        return Words(text(" ", "").join(alt), self._caption(record) if record.ended else record.progress())

    def _caption(self, record: Record) -> str:
        done, total, last = len(record.steps), record.settings.steps, record.evaluations[-1]
        accuracy = number(last["held_out_accuracy"])
        caption = ""
        if record.stopped:
            caption = text(f"Stopped after step {done} of {total}; what was learned is in `record.policy`. ",
                           f"第 {done} 步（共 {total} 步）之后停止，已学到的在 `record.policy` 里。")
        caption += text(f"Held-out accuracy at step {last['step']}: your run {accuracy}",
                        f"第 {last['step']} 步的留出集正确率：你的训练 {accuracy}")
        for band in self._bands.values():
            if last["step"] in band["steps"]:
                place = band["steps"].index(last["step"])
                caption += text("; ", "；") + f"{text(*band['title'])} {_range(band, 'held_out_accuracy', place)}"
        return caption + text(".", "。")


def _quick_mode(record: Record) -> tuple[str, str]:
    done, usual = record.settings.steps, Settings().steps
    return f"quick mode: only {done} of {usual} steps", f"快速模式：只走了 {usual} 步中的 {done} 步"


def _curve(record: Record, name: str) -> tuple[list[int], list[float]]:
    """Steps and values: as evaluated, or the mean of the last steps up to each."""
    if name in record.evaluations[0]:
        return [row["step"] for row in record.evaluations], [row[name] for row in record.evaluations]
    values = [row[name] for row in record.steps]
    return list(range(1, len(values) + 1)), [float(np.mean(values[max(0, end - WINDOW):end])) for end in range(1, len(values) + 1)]


def _range(band: dict, name: str, place: int) -> str:
    mean, low, high = (band[name][part][place] for part in ("mean", "low", "high"))
    return text(f"{number(mean)} ({number(low)} to {number(high)})", f"{number(mean)}（{number(low)} 到 {number(high)}）")


def _numbers(values: list[float | None]) -> np.ndarray:
    return np.array(values, dtype=float)  # None, where a measure was not taken, becomes NaN
