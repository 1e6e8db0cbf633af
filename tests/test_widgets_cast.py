"""The panel and the picture of the CAST lesson: their numbers, against the reference and the printed table, words and drawings."""

import html
import itertools

import numpy as np
import pytest
import torch
from matplotlib.transforms import Bbox

from advantagelab import fonts, set_language, widgets
from advantagelab.algorithms import cast
from advantagelab.widgets.cast_flow import BOXES, HOW
from advantagelab.widgets.panel import Panel
from advantagelab.widgets.style import course_style, number
from advantagelab.widgets.token_ribbon import COMPLETIONS
from advantagelab.widgets.token_shaping import BOUNDS, END, MIXED, START, ZERO_VARIANCE, base_advantages, shape_advantages
from tests.test_widgets import drawn_texts, inside, is_hanzi, layout_faults, move, open_figures, quiet  # noqa: F401

KNOBS = {name: value for name, value in START.items() if name != "group"}
NO_FLIPS = KNOBS | {"flip_down": False, "flip_up": False}
GAPS = np.concatenate([-np.linspace(1e-6, END, 200)[::-1], np.linspace(1e-6, END, 200)])
STATES = [
    {**START, "group": group, "flip_down": down, "flip_up": up, "z": z, "limit": limit}
    for group, (down, up, z, limit) in itertools.product(
        ((MIXED, 1), (MIXED, 5), (ZERO_VARIANCE, 0.1)),
        ((True, True, "sign", 1.2), (True, True, "printed", 3.0), (True, False, "printed", 1.2), (False, True, "sign", 3.0),
         (False, False, "sign", 1.2), (False, False, "printed", 3.0)),
    )
] + [
    {**START, **changes}
    for changes in (
        {"lam": 0.0}, {"lam": 0.5}, {"dead_band": 0.01}, {"dead_band": 0.3}, {"limit": 0.1}, {"limit": 3.0, "upper_minus": 1.6},
        {"lower_plus": 0.6, "lower_minus": 0.6, "upper_plus": 1.6, "upper_minus": 1.6, "flip_up": False, "limit": 3.0, "group": (MIXED, 7)},
        {"lower_plus": 1.0, "lower_minus": 1.0, "upper_plus": 1.0, "upper_minus": 1.0},
        {"group": (MIXED, 7), "limit": 3.0, "dead_band": 0.1},
        {"group": (ZERO_VARIANCE, 0.0), "dead_band": 0.3},
    )
]


def by_reference(bases: torch.Tensor, gaps: torch.Tensor, knobs: dict) -> torch.Tensor:
    """gaps: [N, T], which the reference takes apart into teacher and old policy again."""
    bounds = {f"{sign}_bounds": (knobs[f"lower_{side}"], knobs[f"upper_{side}"])
              for sign, side in (("positive", "plus"), ("negative", "minus"))}
    gaps = cast.self_teacher_gap(gaps, torch.zeros_like(gaps), torch.ones_like(gaps, dtype=torch.bool), knobs["dead_band"])
    weights = cast.asymmetric_weights(bases, gaps, knobs["z"], **bounds)
    switches = {name: knobs[name] for name in ("lam", "flip_down", "flip_up", "limit")}
    return cast.cast_token_advantages(bases, gaps, weights, **bounds, **switches)


# --- numbers ---


def test_token_advantages_are_those_of_the_reference():
    draw = np.random.default_rng(6)
    for _ in range(200):
        knobs = {
            "z": str(draw.choice(["sign", "printed"])), "flip_down": bool(draw.integers(2)), "flip_up": bool(draw.integers(2)),
            "lam": draw.uniform(0, 1), "dead_band": draw.choice([0.0, 0.1]), "limit": draw.uniform(0.1, 3),
            "lower_plus": draw.uniform(0.6, 1), "lower_minus": draw.uniform(0.6, 1),
            "upper_plus": draw.uniform(1, 1.6), "upper_minus": draw.uniform(1, 1.6),
        }
        bases = np.array([1.0, -1.0, 0.1, -0.1, 7**0.5, -(7**-0.5), 0.0])
        gaps = draw.choice([0.0, 0.1, -0.1, *draw.normal(0, 0.3, 12)], (len(bases), 30))
        ours = np.array([shape_advantages(base, row, knobs).advantages for base, row in zip(bases, gaps, strict=True)])
        np.testing.assert_allclose(ours, by_reference(torch.tensor(bases), torch.tensor(gaps), knobs).numpy(), atol=1e-12)


@pytest.mark.parametrize(
    "base, gap, sign, printed, unflipped, unflipped_printed",
    [
        (1, 0.5, 1.05, 1.05, 1.05, 1.05),
        (1, 0.03, 1.030455, 1.030455, 1.030455, 1.030455),
        (1, 0, 1, 1, 1, 1),
        (1, -0.03, -1.030455, -1.030455, 0.970446, 0.970446),
        (1, -0.5, -1.2, -1.2, 0.8, 0.8),
        (-1, 0.5, 1.05, 1.05, -0.95, -1.2),
        (-1, 0.03, 1.030455, 1.030455, -0.970446, -1.030455),
        (-1, 0, -1, -1, -1, -1),
        (-1, -0.03, -1.030455, -0.970446, -1.030455, -0.970446),
        (-1, -0.1, -1.105171, -0.95, -1.105171, -0.95),
        (-1, -0.5, -1.2, -0.95, -1.2, -0.95),
        (0.1, -0.1, -0.110517, -0.110517, 0.090484, 0.090484),
        (7**0.5, 0.03, 1.2, 1.2, 1.2, 1.2),
    ],
)
def test_the_table_of_the_two_readings_with_and_without_flips(base, gap, sign, printed, unflipped, unflipped_printed):
    got = [
        shape_advantages(base, np.array([gap]), knobs | {"z": z}).advantages[0] for knobs in (KNOBS, NO_FLIPS) for z in ("sign", "printed")
    ]
    np.testing.assert_allclose(got, [sign, printed, unflipped, unflipped_printed], atol=6e-7)


@pytest.mark.parametrize("right", range(1, 8))
def test_base_advantages_are_those_of_the_reference(right):
    rewards = (torch.arange(8) < right).double()
    reference = cast.cast_base_advantages(rewards, torch.zeros(8, dtype=torch.long))
    np.testing.assert_allclose(base_advantages(MIXED, right), reference[[0, -1]].numpy(), atol=1e-5)


def test_base_advantages_of_zero_variance_groups():
    group = torch.zeros(8, dtype=torch.long)
    reference = [cast.cast_base_advantages(torch.full((8,), reward), group)[0].item() for reward in (1.0, 0.0)]
    assert base_advantages(ZERO_VARIANCE, 0.1) == pytest.approx(reference)


def test_with_both_flips_the_curves_are_one_and_jump_at_zero():
    for size in (0.1, 1.0):
        above, below = (shape_advantages(base, GAPS, KNOBS).advantages for base in (size, -size))
        np.testing.assert_array_equal(above, below)
        assert (np.sign(above) == np.sign(GAPS)).all()
        assert above[200] - above[199] == pytest.approx(2 * size, rel=1e-4)
        assert [shape_advantages(base, np.zeros(1), KNOBS).advantages[0] for base in (size, -size)] == [size, -size]


def test_the_readings_differ_only_where_the_base_is_negative_and_not_flipped():
    for knobs, differs in ((KNOBS, GAPS < 0), (NO_FLIPS, np.ones(400, dtype=bool)), (KNOBS | {"flip_up": False}, np.ones(400, dtype=bool))):
        for base in (1.0, -1.0):
            sign, printed = (shape_advantages(base, GAPS, knobs | {"z": z}).advantages for z in ("sign", "printed"))
            np.testing.assert_array_equal(sign != printed, differs if base < 0 else False)


@pytest.mark.parametrize("z", ["sign", "printed"])
@pytest.mark.parametrize("flip_down, flip_up", [(True, True), (True, False), (False, True), (False, False)])
@pytest.mark.parametrize("lam, limit", [(1.0, 3.0), (0.5, 3.0), (0.0, 3.0), (1.0, 0.7)])
def test_a_bound_is_said_to_hold_where_moving_it_changes_the_result(z, flip_down, flip_up, lam, limit):
    knobs = KNOBS | {"z": z, "flip_down": flip_down, "flip_up": flip_up, "lam": lam, "limit": limit}
    for base, knob in itertools.product((1.0, -1.0), BOUNDS):
        shaped = shape_advantages(base, GAPS, knobs)
        inward = shape_advantages(base, GAPS, knobs | {knob: knobs[knob] + (0.001 if knob.startswith("lower") else -0.001)})
        np.testing.assert_array_equal((shaped.held_by == knob).any(), (shaped.advantages != inward.advantages).any())
    if flip_down and flip_up and z == "sign":
        held_by = {knob for base in (1.0, -1.0) for knob in shape_advantages(base, GAPS, knobs).held_by}
        assert not held_by & {"lower_plus", "lower_minus"}


# --- words and drawings ---


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_state_is_described_and_no_label_is_cut_or_covered(language):
    set_language(language)
    panel = widgets.advantage_flip()
    faults, seen = {"start": layout_faults(panel.figure)}, {}
    for state in STATES:
        panel.redraw(state)
        faults[str(state)] = layout_faults(panel.figure)
        seen[panel.alt] = panel.caption
    assert {state: found for state, found in faults.items() if found} == {}
    assert len(seen) == len(STATES)
    for words in itertools.chain(*seen.items()):
        assert any(map(is_hanzi, words)) == (language == "zh"), words


@pytest.mark.parametrize(
    "name, value",
    [
        ("group", (ZERO_VARIANCE, 0.1)), ("z", "printed"), ("flip_down", False), ("flip_up", False), ("lam", 0.5), ("dead_band", 0.1),
        ("limit", 1.1), ("upper_plus", 1.1), ("upper_minus", 1.1),
    ],
)
def test_every_control_changes_picture_and_alt_text(name, value):
    panel = widgets.advantage_flip()
    before = panel.png, panel.alt
    move(panel, {name: value})
    assert panel.png != before[0] and panel.alt != before[1]
    assert f'<img alt="{html.escape(panel.alt)}" src="data:image/png;base64,{panel.png}"' in panel.picture.value


@pytest.mark.parametrize("name", ["lower_plus", "lower_minus"])
def test_a_lower_bound_moves_the_picture_only_without_flips(name):
    panel = widgets.advantage_flip()
    tokens = ribbon(panel.alt)
    move(panel, {name: 0.9})
    assert ribbon(panel.alt) == tokens and "never reached: l₊, l₋" in panel.caption
    move(panel, {"flip_down": False, "flip_up": False, name: START[name]})
    tokens, picture = ribbon(panel.alt), panel.png
    move(panel, {name: 0.9})
    assert ribbon(panel.alt) != tokens and panel.png != picture and "never reached: none" in panel.caption


def ribbon(alt: str) -> str:
    return alt.partition("Token advantages: ")[2]


def test_the_ribbon_shows_what_the_reference_gives():
    panel = widgets.advantage_flip()
    for state, bases in (
        ({}, (1, -1)),
        ({"group": (MIXED, 1), "limit": 3.0}, (7**0.5, -(7**-0.5))),
        ({"group": (ZERO_VARIANCE, 0.1), "z": "printed"}, (0.1, -0.1)),
        ({"flip_down": False, "lam": 0.4}, (1, -1)),
    ):
        move(panel, START | state)
        bases = torch.tensor(bases, dtype=torch.float64)
        gaps = torch.tensor(np.array([completion.gaps for completion in COMPLETIONS]))
        rows = by_reference(bases, gaps, panel.values())
        wanted = "; ".join(
            f"{completion.name[0]}: " + ", ".join(f"{token} {number(value, 3, sign=True)}" for token, value in zip(completion.tokens, row))
            for completion, row in zip(COMPLETIONS, rows.tolist(), strict=True)
        )
        assert ribbon(panel.alt) == wanted + "."
        labels = [label for label, _ in drawn_texts(panel.figure)]
        for value in rows.flatten().tolist():
            assert number(value, 3, sign=True) in labels


def test_completions_have_every_kind_of_gap():
    for completion in COMPLETIONS:
        assert len(completion.tokens) == len(completion.gaps)
        assert (completion.gaps == 0).any() and (completion.gaps > 0.1).any() and (completion.gaps < -0.1).any()
        assert ((completion.gaps != 0) & (np.abs(completion.gaps) < 0.05)).any()


@pytest.mark.parametrize(
    "state, sentence",
    [
        ({}, "Both flips: the sign of the token advantage is that of g, and B decides it only at g = 0; elsewhere the two curves are one."),
        ({"group": (MIXED, 2)}, "Both flips: the sign of the token advantage is that of g, and B decides it only at g = 0."),
        ({"dead_band": 0.05}, "and B decides it only in the dead band; elsewhere the two curves are one."),
        ({}, "Bounds that are reached: u₊, u₋; never reached: l₊, l₋. The two readings of z differ for B < 0, g < 0."),
        ({"z": "printed"}, "Bounds that are reached: u₊, l₋, u₋; never reached: l₊."),
        ({"flip_up": False}, "Down flip only: below 0 both curves are negative, above 0 the sign is that of B."),
        ({"flip_down": False}, "Up flip only: above 0 both curves are positive, below 0 the sign is that of B."),
        ({"flip_down": False, "flip_up": False}, "No flip: the sign is that of B everywhere, and g only changes the size."),
        ({"flip_up": False}, "The two readings of z differ for B < 0, any g ≠ 0."),
        ({"limit": 0.5}, "The final clip is at work. The two readings of z give the same here."),
        ({"group": (ZERO_VARIANCE, 0.0)}, "δ = 0: a zero-variance group gives nothing, as in GRPO."),
    ],
)
def test_the_caption_says_what_is_to_be_seen(state, sentence):
    panel = widgets.advantage_flip()
    move(panel, state)
    assert sentence in panel.caption and sentence in html.unescape(panel.picture.value)


def test_every_control_has_a_label_of_its_own_and_stands_above_the_picture():
    for language in ("en", "zh"):
        set_language(language)
        panel = widgets.advantage_flip()
        labels = [control.description for control in panel.controls.values()]
        assert all(labels) and len(set(labels)) == len(labels)
        shown = [control for row in panel.view.children[1:-2] for control in row.children]  # a question, rows, picture, script
        assert len(shown) == len(panel.controls) and set(shown) == set(panel.controls.values())


# --- the drawing, the data flow, and what is left behind ---


def test_the_panel_is_what_matplotlib_itself_would_draw():
    panel = widgets.advantage_flip()
    move(panel, {"group": (MIXED, 2), "flip_up": False})
    quick = np.asarray(panel.canvas.buffer_rgba()).astype(int)
    with course_style():
        panel.canvas.draw()
    full = np.asarray(panel.canvas.buffer_rgba()).astype(int)
    # Only where something that moves crosses an axis does the order differ.
    assert (np.abs(quick - full).max(axis=-1) > 16).mean() < 0.01


@pytest.mark.parametrize("build", [widgets.advantage_flip, widgets.cast_flow])
def test_static_bundle(build, monkeypatch):
    live = build()
    monkeypatch.setenv("ADVANTAGELAB_STATIC", "1")
    static = build()
    bundle = static._repr_mimebundle_()
    assert set(bundle) == {"image/png", "text/html", "text/plain"} and not isinstance(static, Panel)
    assert (static.png, static.alt, static.caption) == (live.png, live.alt, live.caption)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_words_stay_inside_the_boxes_of_the_flow(language):
    set_language(language)
    picture = widgets.cast_flow()
    assert layout_faults(picture.figure) == []
    assert any(map(is_hanzi, picture.alt)) == any(map(is_hanzi, picture.caption)) == (language == "zh")
    extents = {label: extent for label, extent in drawn_texts(picture.figure)}
    for box in BOXES.values():
        left, bottom, right, top = (150 * inch for inch in (box.left, box.bottom, box.left + box.width, box.bottom + box.height))
        how = [fonts.plot_text(*HOW)] if box is BOXES["advantage"] else []
        for label in (fonts.plot_text(*box.title), box.formula, *how):
            assert inside(extents[label], Bbox([[left, bottom], [right, top]])), label


def test_many_steps_leave_nothing_behind():
    panel = widgets.advantage_flip()
    start = panel.values()
    figures, artists = open_figures(), len(panel.figure.findobj())
    slider = panel.controls["upper_plus"]
    for step in range(24):
        before = panel.png
        slider.value = slider.min + (step % 12 + 1) * slider.step
        assert panel.png is not before
    move(panel, start)
    assert open_figures() == figures and len(panel.figure.findobj()) == artists
