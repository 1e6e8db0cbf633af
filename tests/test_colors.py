"""Colors of every picture in the states that its panel reaches: words 4.5:1 and lines 3:1 (WCAG 2.2), and never color alone."""

import itertools
from collections import defaultdict

import numpy as np
import pytest
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection
from matplotlib.colors import to_hex, to_rgba
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.text import Text

from advantagelab import set_language
from advantagelab.widgets import style
from advantagelab.widgets.looks import LOOKS
from tests.every_picture import in_every_state, pictures

WHITE = (1.0, 1.0, 1.0)
WORDS, LINES = 4.5, 3.0
# Okabe and Ito's own; ours are these, some of them darker.
OKABE_ITO = ("#E69F00", "#56B4E9", "#009E73", "#0072B2", "#D55E00", "#CC79A7")


def luminance(color) -> float:
    channels = np.array(color[:3])
    return float(np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4) @ (0.2126, 0.7152, 0.0722))


def contrast(one, other=WHITE) -> float:
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def on_white(color, alpha=None) -> tuple[float, ...]:
    """What is seen of a color that lets the white paper through."""
    *channels, opacity = to_rgba(color, alpha)
    return tuple(opacity * channel + 1 - opacity for channel in channels)


def test_contrast_is_that_of_the_standard():
    assert contrast((0, 0, 0)) == pytest.approx(21) and contrast(WHITE) == 1
    assert contrast(to_rgba("#767676")) == pytest.approx(4.54, abs=0.01) and contrast(to_rgba("#777777")) == pytest.approx(4.48, abs=0.01)


def word_faults(figure: Figure) -> set[str]:
    """Words against the color that most of their place has, on the picture as it was drawn."""
    pixels, found = np.asarray(figure.canvas.buffer_rgba()).view(np.uint32)[..., 0], set()
    for text in figure.findobj(Text):
        if not (text.get_visible() and text.get_text().strip()) or text.axes and not text.axes.axison and text in _ticks(text.axes):
            continue
        box = text.get_window_extent(figure.canvas.get_renderer())
        left, right = round(box.x0), round(box.x1)
        top, bottom = round(len(pixels) - box.y1), round(len(pixels) - box.y0)
        colors, counts = np.unique(pixels[max(top, 0):bottom, max(left, 0):right], return_counts=True)
        paper = tuple(colors[counts.argmax():].view(np.uint8)[:3] / 255)
        if contrast(on_white(text.get_color(), text.get_alpha()), paper) < WORDS:
            found.add(f"{text.get_text()!r}: {to_hex(text.get_color())} on {to_hex(paper)}")
    return found


def _ticks(axes: Axes) -> list[Text]:
    return axes.xaxis.findobj(Text) + axes.yaxis.findobj(Text)


def drawn(figure: Figure) -> list[Artist]:
    """Without zorder 0: what lies behind all, such as a grid or a shade, repeats what ticks or marks say."""
    return [artist for artist in figure.findobj(lambda each: each.get_visible()) if artist.get_zorder() != 0]


def line_faults(figure: Figure) -> set[str]:
    found = set()
    for artist in drawn(figure):
        if isinstance(artist, Line2D) and len(artist.get_xdata()):
            seen = {"line": artist.get_color()} if has_line(artist) else {}
            if has_marker(artist):  # its rim or its inside has to stand out
                seen["marker"] = strongest(artist.get_markeredgecolor(), artist.get_markerfacecolor())
        elif isinstance(artist, LineCollection):
            seen = {f"line {number}": color for number, color in enumerate(artist.get_edgecolor())}
        elif isinstance(artist, Patch) and (artist.get_facecolor()[3] or artist.get_edgecolor()[3]) and not is_paper(artist):
            rim = [artist.get_edgecolor()] if artist.get_linewidth() or artist.get_hatch() else []
            seen = {"patch": strongest(artist.get_facecolor(), *rim)}
        else:
            continue
        found |= {f"{kind}: {to_hex(color)}" for kind, color in seen.items() if contrast(on_white(color, artist.get_alpha())) < LINES}
    return found


def strongest(*colors):
    return max(colors, key=lambda color: contrast(on_white(color)))


def has_line(line: Line2D) -> bool:
    return line.get_linestyle() not in ("None", " ", "") and line.get_linewidth() > 0 and len(line.get_xdata()) > 1


def has_marker(line: Line2D) -> bool:
    return line.get_marker() not in (None, "None", " ", "")


def is_paper(patch: Patch) -> bool:
    """The white behind a figure, its axes, or a number."""
    return on_white(patch.get_facecolor()) == WHITE and not (patch.get_linewidth() and patch.get_edgecolor()[3])


def alike(figure: Figure) -> set[str]:
    """Two curves, or two kinds of area, of one drawing that only their color tells apart."""
    found = set()
    for axes in figure.axes:
        ours = [artist for artist in drawn(axes) if artist.axes is axes and artist not in _frame(axes)]
        curves = defaultdict(set)  # color → how it is drawn: line styles and markers
        for line in ours:
            if isinstance(line, Line2D):
                curves[color_of(line)] |= {f"{line._unscaled_dash_pattern} {is_wide(line)}"} if has_line(line) else set()
                curves[color_of(line)] |= {str(line.get_marker())} if has_marker(line) else set()
        found |= {f"curves {one} and {other}" for one, other in itertools.combinations(sorted(filter(is_chromatic, curves)), 2)
                  if curves[one] == curves[other]}
        areas = {(f"{patch.get_hatch()} {patch._dash_pattern} {is_wide(patch)}", to_hex(patch.get_facecolor()), to_hex(rim_of(patch)))
                 for patch in ours if isinstance(patch, Patch) and not is_paper(patch)}
        found |= {f"areas {one[1:]} and {other[1:]}" for one, other in itertools.combinations(sorted(areas), 2)
                  if one[0] == other[0] and all(contrast(to_rgba(mine), to_rgba(its)) < LINES for mine, its in zip(one[1:], other[1:]))}
    return found


def color_of(line: Line2D) -> str:
    inside, rim = on_white(line.get_markerfacecolor()), line.get_markeredgecolor()
    return to_hex(line.get_color() if has_line(line) else rim if inside == WHITE else line.get_markerfacecolor())


def is_wide(artist: Line2D | Patch) -> bool:
    return artist.get_linewidth() >= (3 if isinstance(artist, Line2D) else 1.5)


def rim_of(patch: Patch):
    return on_white(patch.get_edgecolor()) if patch.get_linewidth() else WHITE


def is_chromatic(color: str) -> bool:
    return bool(np.ptp(to_rgba(color)[:3]) > 0.05)


def _frame(axes: Axes) -> list[Artist]:
    return [axes.patch, *axes.spines.values(), *axes.xaxis.findobj(Line2D), *axes.yaxis.findobj(Line2D)]


@pytest.mark.parametrize("name", pictures())
def test_words_and_lines_stand_out_and_color_is_never_alone(name):
    set_language("en")
    picture = pictures()[name]()
    faults = {str(state): found for state in in_every_state(picture)
              if (found := word_faults(picture.figure) | line_faults(picture.figure) | alike(picture.figure))}
    assert faults == {}


def test_the_faults_are_seen():
    figure = Figure(facecolor="white")
    axes = figure.add_axes((0.1, 0.1, 0.8, 0.8))
    axes.plot([0, 1], [0, 1], color="#E69F00")
    axes.plot([0, 1], [1, 0], color="#0072B2")
    axes.text(0.5, 0.9, "faint", color="#D55E00")
    axes.bar([0.5], [0.2], color="#dddddd")
    FigureCanvasAgg(figure).draw()
    assert word_faults(figure) == {"'faint': #d55e00 on #ffffff"}
    assert line_faults(figure) == {"line: #e69f00", "patch: #dddddd"}
    assert len(alike(figure)) == 1


def test_the_palette_keeps_okabe_and_ito_s_hues():
    """Darker, but no hue is mixed: color-blind readers tell them apart by hue and by lightness as before."""
    ours = (style.ORANGE, style.SKY, style.GREEN, style.BLUE, style.VERMILLION, style.PURPLE)
    for color, original in zip(ours, OKABE_ITO):
        ratio = np.array(to_rgba(color)[:3]) / np.maximum(to_rgba(original)[:3], 1e-9)
        assert np.ptp(ratio[np.array(to_rgba(original)[:3]) > 0]) < 0.02 and ratio.max() <= 1.001, color


def test_no_two_methods_have_the_same_marker_or_color():
    for mark in ("marker", "color"):
        assert len({look[mark] for look in LOOKS.values()}) == len(LOOKS)
