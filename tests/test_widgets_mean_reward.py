"""The first panel that a learner moves: the mean of the rewards that are there, beside the mean that counts missing ones as 0."""

import html

import numpy as np
import pytest

from advantagelab import set_language, widgets
from advantagelab.widgets.mean_reward import REWARDS, means
from advantagelab.widgets.panel import Panel
from advantagelab.widgets.style import course_style
from tests.test_widgets import is_hanzi, layout_faults, move, open_figures, quiet  # noqa: F401 (quiet is a fixture for every test)

NAN = float("nan")
ALL_MISSING = {f"missing_{i}": True for i in range(1, 4)}
STATES = [
    {},
    {"missing_2": True},
    {"missing_1": True, "missing_2": True},
    ALL_MISSING,
    {f"reward_{i}": 2.0 for i in range(1, 4)},
    {"reward_1": -1.0, "missing_2": True, "reward_3": -1.0},
    {"reward_1": 1.0, "missing_2": True, "reward_3": -1.0},
    {"reward_1": 2.0, "reward_2": 2.0, "missing_3": True},
]


@pytest.mark.parametrize(
    "rewards, there, as_zero",
    [
        ([1, 0, 0.5], 0.5, 0.5),
        ([1, NAN, 0.5], 0.75, 0.5),
        ([NAN, NAN, 0.5], 0.5, 0.5 / 3),
        ([NAN, NAN, NAN], NAN, 0),
        ([-1, NAN, -1], -1, -2 / 3),
    ],
)
def test_both_means(rewards, there, as_zero):
    np.testing.assert_allclose(means(np.array(rewards, dtype=float)), (there, as_zero))


def test_what_the_lesson_saw():
    assert REWARDS == (1.0, 0.0, 0.5)
    panel = widgets.mean_reward()
    assert "there: 0.50." in panel.alt and "as 0: 0.50." in panel.alt
    move(panel, {"missing_2": True})
    assert "Rewards: 1.00, missing, 0.50." in panel.alt and "there: 0.75." in panel.alt and "as 0: 0.50." in panel.alt
    assert "from 0.75 to 0.50" in panel.caption
    move(panel, {"missing_1": True})
    assert "there: 0.50." in panel.alt and "as 0: 0.17." in panel.alt
    move(panel, {"missing_3": True})
    assert "there: none." in panel.alt and "as 0: 0.00." in panel.alt and "no mean" in panel.caption


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_state_has_a_picture_and_words_of_its_own(language):
    set_language(language)
    panel = widgets.mean_reward()
    start, pictures, alts = panel.values(), set(), set()
    for state in STATES:
        move(panel, start | state)
        assert f'<img alt="{html.escape(panel.alt)}" src="data:image/png;base64,{panel.png}"' in panel.picture.value
        assert layout_faults(panel.figure) == [], state
        assert any(map(is_hanzi, panel.alt)) == any(map(is_hanzi, panel.caption)) == (language == "zh")
        pictures.add(panel.png)
        alts.add(panel.alt)
    assert len(pictures) == len(alts) == len(STATES)


def test_the_slider_of_a_missing_reward_rests():
    panel = widgets.mean_reward()
    move(panel, {"missing_2": True})
    assert panel.controls["reward_2"].disabled and not panel.controls["reward_1"].disabled
    move(panel, {"missing_2": False})
    assert not panel.controls["reward_2"].disabled


def test_every_control_has_a_label_of_its_own():
    for language in ("en", "zh"):
        set_language(language)
        labels = [control.description for control in widgets.mean_reward().controls.values()]
        assert all(labels) and len(set(labels)) == len(labels)


def test_a_picture_is_what_matplotlib_itself_would_draw():
    panel = widgets.mean_reward()
    move(panel, {"missing_2": True})
    quick = np.asarray(panel.canvas.buffer_rgba()).astype(int)
    with course_style():
        panel.canvas.draw()
    full = np.asarray(panel.canvas.buffer_rgba()).astype(int)
    assert (np.abs(quick - full).max(axis=-1) > 16).mean() < 0.01


@pytest.mark.parametrize("variable, value", [("ADVANTAGELAB_STATIC", "1"), ("NBGRADER_EXECUTION", "autograde")])
def test_static_bundle(variable, value, monkeypatch):
    live = widgets.mean_reward()
    monkeypatch.setenv(variable, value)
    static = widgets.mean_reward()
    assert not isinstance(static, Panel)
    assert set(static._repr_mimebundle_()) == {"image/png", "text/html", "text/plain"}
    assert (static.png, static.alt, static.caption) == (live.png, live.alt, live.caption)


def test_many_steps_leave_nothing_behind():
    panel = widgets.mean_reward()
    start = panel.values()
    figures, artists = open_figures(), len(panel.figure.findobj())
    for step in range(16):
        before = panel.png
        panel.controls["reward_1"].value = -1 + (step % 12) * 0.25
        assert panel.png is not before
    move(panel, start)
    assert open_figures() == figures and len(panel.figure.findobj()) == artists
