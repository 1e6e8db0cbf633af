"""How did training go, method by method? Any of the recorded measures, for any of the methods that the panel offers."""

from typing import Any

import ipywidgets as W
from matplotlib.figure import Figure

from ..language import text
from .looks import looks_of
from .panel import Panel, Picture, Words, checkbox, dropdown, is_static, question
from .runs import PAIRS, SIZE, describe_runs, draw_runs, frame_runs, pair_name, read_runs, same_seeds


def recorded_runs(shown: list[str], more: list[str] = (), measure: str = "accuracy") -> Picture:
    """Recorded runs of these methods, mean and range over seeds. | 这些方法的训练记录：各种子的均值与范围。

    shown: drawn at once; more: can be added; measure: a key of runs.PAIRS | 先画出的方法；可添加的方法；测量项
    """
    names = [*shown, *more]
    runs = read_runs(names)
    looks = looks_of(names)
    start = {"measure": measure} | {name: name in shown for name in names}

    def draw(figure: Figure, values: dict[str, Any]) -> Words:
        asked, pair = {name: runs[name] for name in names if values[name]}, PAIRS[values["measure"]]
        chosen = same_seeds(asked)
        if chosen:
            draw_runs(figure, chosen, looks, pair)
        words = describe_runs(chosen, pair)
        if any(len(chosen[name].seeds) < len(run.seeds) for name, run in asked.items()):
            words = words._replace(caption=words.caption + text(" Only the seeds that all of these have.", "只画它们共有的种子。"))
        return words

    if is_static():
        return Picture(SIZE, frame_runs, draw, start)
    controls = {"measure": dropdown(text("Measure", "测量项"), [(pair_name(pair), pair) for pair in PAIRS], measure)}
    controls |= {name: checkbox(text(*runs[name].title), start[name]) for name in names}
    boxes = W.HBox([controls[name] for name in names], layout=W.Layout(flex_flow="row wrap"))
    asked = question(text("What rises while the accuracy falls?", "正确率下降时，什么在上升？"))
    return Panel(SIZE, frame_runs, draw, controls, [asked, controls["measure"], boxes])
