"""Every picture that a lesson shows, and states of its panel that reach both ends of every control."""

import functools
from collections.abc import Callable, Iterator

import ipywidgets as W

from advantagelab import widgets
from advantagelab.widgets.panel import Panel, Picture
from lessons._build.course import read_course
from lessons._build.source import read_cells


@functools.cache
def pictures() -> dict[str, Callable[[], Picture]]:
    """lesson/cell → what draws it: all cells of the lessons that call `widgets`."""
    course = read_course()
    return {f"{entry.name}/{cell.key}": lambda source=cell.source: eval(source, {"widgets": widgets})
            for entry in course.lessons for cell in read_cells(course.lessons_folder / entry.name / "lesson.md")
            if cell.kind == "code" and cell.widget}


def in_every_state(picture: Picture) -> Iterator[dict]:
    """Moves the panel: the state it opens in, then each control at each end or choice, the others as at the start."""
    yield {}
    if not isinstance(picture, Panel):
        return
    start = picture.values()
    for name, control in picture.controls.items():
        for value in _values(control):
            if value != start[name]:
                control.value = value
                yield {name: value}
        _back(picture, start)


def _values(control: W.Widget) -> list:
    if isinstance(control, W.Checkbox):
        return [True, False]
    if hasattr(control, "options"):
        return [value for _, value in control.options]
    return [control.min, control.max]


def _back(picture: Panel, start: dict) -> None:
    for name, value in start.items():
        if picture.controls[name].value != value:
            picture.controls[name].value = value
