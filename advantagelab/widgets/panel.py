"""A picture with alt text, and a panel: the same picture below the controls that move it."""

import base64
import html
import io
import os
from collections.abc import Callable
from typing import Any, NamedTuple

import ipywidgets as W
import numpy as np
from matplotlib.artist import Artist
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image  # matplotlib needs it too

from .access import accessible
from .style import DRAWING, course_style

DPI = 100


class Words(NamedTuple):
    """What a drawing says, in the learner's language."""

    alt: str  # the picture for who cannot see it, with its numbers
    caption: str  # one sentence on what happens, shown below the picture


Frame = Callable[[Figure], None]
Draw = Callable[[Figure, dict[str, Any]], Words]


def is_static() -> bool:
    """True where outputs are made to be kept (built notebooks, grading): a picture there, no widget without its kernel."""
    return os.environ.get("ADVANTAGELAB_STATIC") == "1" or bool(os.environ.get("NBGRADER_EXECUTION"))


class Picture:
    """One Figure for good, because a new one for each step leaks: frame draws what stays, draw what moves with the values."""

    def __init__(self, size: tuple[float, float], frame: Frame, draw: Draw, values: dict[str, Any], dpi: int = DPI):
        self._draw = draw
        self.width = round(size[0] * DPI)
        with DRAWING:
            with course_style():
                self.figure = Figure(figsize=size, dpi=dpi)
                self.canvas = FigureCanvasAgg(self.figure)
                frame(self.figure)
                self.canvas.draw()
            # Axes, ticks and legends take most of the time of a redraw, and stay.
            self._background = self.canvas.copy_from_bbox(self.figure.bbox)
            self._fixed = set(self._artists())
            self.redraw(values)

    def _artists(self) -> list[Artist]:
        return [artist for part in (self.figure, *self.figure.axes) for artist in part.get_children()]

    def redraw(self, values: dict[str, Any]) -> None:
        with DRAWING:
            self._redraw(values)

    def _redraw(self, values: dict[str, Any]) -> None:
        for artist in self._artists():
            if artist not in self._fixed:
                artist.remove()
        for axes in self.figure.axes:
            axes.containers.clear()  # where bars stay on record after they are removed
        with course_style():
            self.alt, self.caption = self._draw(self.figure, values)
            moving = [artist for artist in self._artists() if artist not in self._fixed]
            self.canvas.restore_region(self._background)
            for artist in sorted(moving, key=Artist.get_zorder):
                self.figure.draw_artist(artist)
        # Few colors are in use: a palette gives a third of the bytes in half the time.
        pixels = Image.fromarray(np.asarray(self.canvas.buffer_rgba())).convert("RGB")
        buffer = io.BytesIO()
        pixels.quantize(128, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE).save(buffer, format="PNG")
        self.png = base64.b64encode(buffer.getvalue()).decode("ascii")

    @property
    def html(self) -> str:
        # max-width keeps it inside narrow pages
        return (
            f'<img alt="{html.escape(self.alt)}" src="data:image/png;base64,{self.png}" '
            f'style="width:{self.width}px;max-width:100%;height:auto">'
            f'<p style="max-width:{self.width}px;margin:0;line-height:1.5">{html.escape(self.caption)}</p>'
        )

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict[str, Any]:
        return {"image/png": self.png, "text/html": self.html, "text/plain": self.alt}


class Panel(Picture):
    """controls: name → widget, whose values are what draw gets; layout: how they stand above the picture."""

    def __init__(self, size: tuple[float, float], frame: Frame, draw: Draw, controls: dict[str, W.Widget], layout: list[W.Widget]):
        self.controls = controls
        super().__init__(size, frame, draw, self.values())
        self.picture = W.HTML(self.html)
        self.view = accessible(W.VBox([*layout, self.picture], layout=W.Layout(max_width="100%")))
        for control in controls.values():
            control.observe(self._moved, names="value")

    def values(self) -> dict[str, Any]:
        return {name: control.value for name, control in self.controls.items()}

    def _moved(self, change) -> None:
        with DRAWING:  # or an older event could have the last word
            self.redraw(self.values())
            self.picture.value = self.html

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict[str, Any]:
        # Written out, because ipywidgets 7 has no _repr_mimebundle_ of its own.
        # The PNG is what a page shows that has no kernel: GitHub, nbviewer, an untrusted notebook.
        widget_view = {"version_major": 2, "version_minor": 0, "model_id": self.view.model_id}
        return {"application/vnd.jupyter.widget-view+json": widget_view, "image/png": self.png, "text/plain": self.alt}


LABEL = {"description_width": "175px"}
WIDE = {"width": "460px", "max_width": "100%"}


def slider(label: str, value: float, low: float, high: float, step: float, digits: int = 2) -> W.FloatSlider:
    return W.FloatSlider(
        description=label, value=value, min=low, max=high, step=step, readout_format=f".{digits}f", style=LABEL, layout=W.Layout(**WIDE)
    )


def whole_slider(label: str, value: int, low: int, high: int) -> W.IntSlider:
    return W.IntSlider(description=label, value=value, min=low, max=high, style=LABEL, layout=W.Layout(**WIDE))


def toggle(label: str, options: list[tuple[str, Any]], value: Any) -> W.ToggleButtons:
    style = {**LABEL, "button_width": "70px"}
    return W.ToggleButtons(description=label, options=options, value=value, style=style, layout=W.Layout(**WIDE))


def dropdown(label: str, options: list[tuple[str, Any]], value: Any) -> W.Dropdown:
    return W.Dropdown(description=label, options=options, value=value, style=LABEL, layout=W.Layout(**WIDE))


def checkbox(label: str, value: bool = False) -> W.Checkbox:
    return W.Checkbox(description=label, value=value, indent=False, layout=W.Layout(width="auto"))


def question(words: str) -> W.HTML:
    return W.HTML(f'<p style="margin:0;line-height:1.5"><b>{html.escape(words)}</b></p>')
