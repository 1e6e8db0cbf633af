"""Every picture that a lesson shows, and states of its panel that reach both ends of every control."""

import functools
from collections.abc import Callable, Iterator

import ipywidgets as W

from advantagelab import widgets
from advantagelab.widgets.panel import Panel, Picture
from lessons._build.course import read_course
from lessons._build.source import read_cells
from tests.whole import ALL


@functools.cache
def pictures() -> dict[str, Callable[[], Picture]]:
    """lesson/cell → what draws it: all cells of the lessons that call `widgets`."""
    course = read_course()
    return {f"{entry.name}/{cell.key}": lambda source=cell.source: eval(source, {"widgets": widgets})
            for entry in course.lessons for cell in read_cells(course.lessons_folder / entry.name / "lesson.md")
            if cell.kind == "code" and cell.widget}


def in_every_state(picture: Picture) -> Iterator[dict]:
    """Moves the panel: as it opens, then all controls at the first of their values, and at the last; with ALL=1 at those between, too."""
    yield {}
    if not isinstance(picture, Panel):
        return
    values = {name: _values(control) for name, control in picture.controls.items()}
    for control in picture.controls.values():
        control.unobserve(picture._moved, names="value")  # one drawing for all of them
    most = max(map(len, values.values()))
    for number in range(most) if ALL else (0, most - 1):
        for name, choices in values.items():
            picture.controls[name].value = choices[min(number, len(choices) - 1)]
        picture.redraw(picture.values())
        yield picture.values()


def _values(control: W.Widget) -> list:
    if isinstance(control, W.Checkbox):
        return [True, False]
    if hasattr(control, "options"):
        return [value for _, value in control.options]
    return [control.min, control.max]
