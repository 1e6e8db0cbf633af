"""The panels and pictures of the lessons: their numbers, their drawings, their alt texts, and that they leave nothing behind."""

import base64
import gc
import html
import itertools
import logging
import re
import threading
import warnings

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from advantagelab import fonts, set_language, widgets
from advantagelab.widgets.baselines import group_baselines
from advantagelab.widgets.clip import clip_objective, describe_clip
from advantagelab.widgets.panel import Panel
from advantagelab.widgets.style import course_style, number
from advantagelab.widgets.variance import BANDITS, gradient_estimate

NAN = float("nan")
PANELS = (widgets.baselines, widgets.baseline_variance, widgets.clip_region)
PICTURES = (*PANELS, widgets.rloo_flow)
# For each panel, states that reach every branch and every edge of its drawing: control → value.
STATES = {
    widgets.baselines: [
        {"reward_3": 1.0},
        {"missing_2": True},
        {"missing_1": True, "missing_2": True, "missing_4": True},
        {f"missing_{i}": True for i in range(1, 5)},
        {f"reward_{i}": 0.5 for i in range(1, 5)},
        {"reward_1": 2.0, "reward_2": -1.0, "reward_3": -1.0, "reward_4": -1.0},
        {"reward_1": -1.0, "reward_2": 2.0, "reward_3": 2.0, "reward_4": 2.0},
        {"reward_1": 2.0, "reward_2": -1.0, "missing_3": True, "missing_4": True},
    ],
    widgets.baseline_variance: [
        {"bandit": bandit, "group_size": size, "shift": shift}
        for bandit, size, shift in itertools.product(("uniform", "skewed"), (2, 5), (0.0, 1.0, 10.0))
    ],
    widgets.clip_region: [
        {"advantage": advantage, "ratio": ratio} for advantage, ratio in itertools.product((1, -1), (0.1, 0.8, 1.0, 1.2, 2.1))
    ]
    + [{"epsilon_low": 0.05, "epsilon_high": 0.05, "ratio": 1.0}, {"epsilon_low": 0.6, "epsilon_high": 1.0}],
}


@pytest.fixture(autouse=True)
def quiet(monkeypatch, caplog):
    """Every test starts in English and live, and ends without a warning or a line in the log (findfont's among them)."""
    monkeypatch.delenv("ADVANTAGELAB_STATIC", raising=False)
    monkeypatch.delenv("NBGRADER_EXECUTION", raising=False)
    set_language("en")
    with warnings.catch_warnings(), caplog.at_level(logging.WARNING):
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", DeprecationWarning)  # Python does not show a learner these
        warnings.simplefilter("ignore", ResourceWarning)  # what other tests left open is collected at any time
        yield
    set_language("en")
    assert not caplog.records


def move(panel: Panel, state: dict) -> None:
    for name, value in state.items():
        panel.controls[name].value = value


# --- numbers ---


@pytest.mark.parametrize(
    "rewards, leave_one_out, centered",
    [
        ([1, 2, 4], [-2, -0.5, 2.5], [-4 / 3, -1 / 3, 5 / 3]),
        ([3, NAN, 7], [-4, 0, 4], [-2, 0, 2]),
        ([1, 0, 0, 0], [1, -1 / 3, -1 / 3, -1 / 3], [0.75, -0.25, -0.25, -0.25]),
        ([0, 1, 1, 1], [-1, 1 / 3, 1 / 3, 1 / 3], [-0.75, 0.25, 0.25, 0.25]),
        ([2, 2, 2], [0, 0, 0], [0, 0, 0]),
        ([NAN, 5, NAN], [0, 0, 0], [0, 0, 0]),
        ([NAN, NAN], [0, 0], [0, 0]),
    ],
)
def test_advantages_of_a_group(rewards, leave_one_out, centered):
    numbers = group_baselines(np.array(rewards, dtype=float))
    np.testing.assert_allclose(numbers.leave_one_out_advantages, leave_one_out, atol=1e-12)
    np.testing.assert_allclose(numbers.group_mean_advantages, centered, atol=1e-12)


def test_baselines_of_a_group_leave_out_the_missing():
    numbers = group_baselines(np.array([1.0, NAN, 0.0, 0.5]))
    np.testing.assert_allclose(numbers.leave_one_out, [0.25, NAN, 0.75, 0.5])
    assert numbers.group_mean == 0.5


UNIFORM, SKEWED = BANDITS["uniform"], BANDITS["skewed"]


@pytest.mark.parametrize(
    "bandit, shift, group_size, estimator, relative, variance",
    [
        (UNIFORM, 0, 4, "none", 1, 0.055556),
        (UNIFORM, 0, 4, "group_mean", 0.75, 0.015625),
        (UNIFORM, 0, 4, "leave_one_out", 1, 0.027778),
        (SKEWED, 0, 2, "none", 1, 0.078400),
        (SKEWED, 0, 2, "group_mean", 0.5, 0.030200),
        (SKEWED, 0, 2, "leave_one_out", 1, 0.120800),
        (SKEWED, 0, 4, "none", 1, 0.039200),
        (SKEWED, 0, 4, "group_mean", 0.75, 0.021000),
        (SKEWED, 0, 4, "leave_one_out", 1, 0.037333),
        (SKEWED, 10, 4, "none", 1, 16.519200),
        (SKEWED, 10, 4, "group_mean", 0.75, 0.021000),
        (SKEWED, 10, 4, "leave_one_out", 1, 0.037333),
    ],
)
def test_expectation_and_variance_of_the_gradient(bandit, shift, group_size, estimator, relative, variance):
    probabilities, rewards = bandit
    estimate = gradient_estimate(probabilities, tuple(reward + shift for reward in rewards), group_size, estimator)
    policy, rewards = np.array(probabilities), np.array(rewards)
    true = policy * (rewards - policy @ rewards)
    np.testing.assert_allclose(estimate.expectation, relative * true, atol=1e-12)
    assert estimate.relative == pytest.approx(relative, abs=1e-12)
    assert estimate.variance == pytest.approx(variance, abs=5e-7)


@pytest.mark.parametrize(
    "ratio, advantage, epsilon_high, objective, gradient",
    [
        (0.5, 1, 0.28, 0.5, 0.5),
        (1.5, 1, 0.28, 1.28, 0),
        (0.5, -1, 0.28, -0.8, 0),
        (1.5, -1, 0.28, -1.5, -1.5),
        (1.5, 0, 0.28, 0, 0),
        (1.25, 1, 0.2, 1.2, 0),
        (1.25, 1, 0.28, 1.25, 1.25),
        (1.25, 1, 1.0, 1.25, 1.25),
    ],
)
def test_clipped_objective(ratio, advantage, epsilon_high, objective, gradient):
    assert clip_objective(ratio, advantage, 0.2, epsilon_high) == pytest.approx((objective, gradient))


def test_clipped_objective_agrees_with_autograd_on_the_bounds_too():
    for advantage, epsilon_low, epsilon_high in itertools.product((2.0, -1.5, 0.0), (0.25, 0.5), (0.25, 0.75)):
        logps = torch.linspace(-1.5, 1.0, 101, dtype=torch.float64)
        logps = torch.cat([logps, torch.tensor([1 - epsilon_low, 1 + epsilon_high], dtype=torch.float64).log()]).requires_grad_()
        ratios = logps.exp()
        ratios.data[-2:] = torch.tensor([1 - epsilon_low, 1 + epsilon_high], dtype=torch.float64)
        losses = torch.minimum(ratios * advantage, ratios.clamp(1 - epsilon_low, 1 + epsilon_high) * advantage)
        (gradients,) = torch.autograd.grad(losses.sum(), logps)
        ours = clip_objective(ratios.detach().numpy(), advantage, epsilon_low, epsilon_high)
        np.testing.assert_allclose(ours.objective, losses.detach().numpy(), atol=1e-12)
        np.testing.assert_allclose(ours.gradient, gradients.numpy(), atol=1e-12)


def test_numbers_are_written_for_readers():
    assert number(-0.001) == "0.00"
    assert number(-1 / 3, sign=True) == "−0.33"
    assert number(1, sign=True) == "+1.00"
    assert number(np.float64(0), sign=True) == "0.00"


# --- what a learner sees and hears ---


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("build", PANELS)
def test_a_moved_control_changes_picture_and_alt_text(build, language):
    set_language(language)
    panel = build()
    start = panel.values()
    seen = {}
    for state in [start, *(start | state for state in STATES[build])]:
        move(panel, state)
        assert f'<img alt="{html.escape(panel.alt)}" src="data:image/png;base64,{panel.png}"' in panel.picture.value
        seen[tuple(state.values())] = panel.png, panel.alt
    pictures, alts = zip(*seen.values(), strict=True)
    assert len(set(pictures)) == len(set(alts)) == len(seen)


@pytest.mark.parametrize("build", PICTURES)
def test_the_learners_language_is_used_throughout(build):
    set_language("zh")
    chinese = build()
    set_language("en")
    english = build()
    assert any(is_hanzi(character) for character in chinese.alt) and any(is_hanzi(character) for character in chinese.caption)
    assert not any(is_hanzi(character) for character in english.alt + english.caption)
    assert chinese.png != english.png


def is_hanzi(character: str) -> bool:
    return "\u4e00" <= character <= "\u9fff"


@pytest.mark.parametrize("build", PANELS)
def test_every_control_has_a_label_of_its_own(build):
    for language in ("en", "zh"):
        set_language(language)
        labels = [control.description for control in build().controls.values()]
        assert all(labels) and len(set(labels)) == len(labels)


def test_alt_text_and_caption_tell_the_answer():
    panel = widgets.baselines()
    assert "advantages: 1.00, −0.33, −0.33, −0.33" in panel.alt and "4/3" in panel.caption
    move(panel, {"missing_2": True})
    assert "Rewards: 1.00, missing, 0.00, 0.00" in panel.alt and "3/2" in panel.caption
    assert "Leave-one-out baselines: 0.00, none, 0.50, 0.50; advantages: 1.00, 0.00, −0.50, −0.50" in panel.alt
    panel = widgets.baseline_variance()
    assert "leave-one-out: expected gradient 1.00 times the true one, variance 0.1208" in panel.alt and "1.54 times" in panel.caption
    move(panel, {"group_size": 4, "shift": 10.0})
    assert "no baseline: expected gradient 1.00 times the true one, variance 16.52" in panel.alt and "1/442" in panel.caption
    panel = widgets.clip_region()
    assert "J = 1.20, gradient 0.00" in panel.alt and "stops pushing this completion up" in panel.caption
    move(panel, {"advantage": -1})
    assert "J = −1.35, gradient −1.35" in panel.alt and "without bound" in panel.caption


@pytest.mark.parametrize(
    "state, sentence",
    [
        ({f"missing_{i}": True for i in range(1, 5)}, "Every reward is missing: no advantage, no update."),
        ({"missing_1": True, "missing_2": True, "missing_4": True}, "Only completion 3 has a reward: there is nothing to compare it with"),
        ({"reward_1": 0.0}, "All rewards are equal: every advantage is 0"),
    ],
)
def test_degenerate_groups_get_a_plain_sentence(state, sentence):
    panel = widgets.baselines()
    move(panel, state)
    assert panel.caption.startswith(sentence)
    assert sentence in panel.picture.value


@pytest.mark.parametrize("state", STATES[widgets.baselines])
def test_the_line_of_the_group_mean_runs_through_no_number(state):
    panel = widgets.baselines()
    move(panel, state)
    left = panel.figure.axes[0]
    lines = [line.get_xdata()[0] for line in left.lines if line.get_linestyle() == "--"]
    across = [left.transData.transform((mean, 0))[0] for mean in lines if not np.isnan(mean)]
    numbers = [box for text, box in drawn_texts(panel.figure) if re.fullmatch(r"−?\d\.\d\d", text) and box.x1 < left.bbox.x1]
    assert len(numbers) == sum(not np.isnan(baseline) for baseline in group_baselines(rewards_of(panel)).leave_one_out)
    assert not [box for box in numbers for place in across if box.x0 - 1 <= place <= box.x1 + 1]


def rewards_of(panel: Panel) -> np.ndarray:
    values = panel.values()
    return np.array([NAN if values[f"missing_{i}"] else values[f"reward_{i}"] for i in range(1, 5)])


def test_the_flows_call_the_path_of_the_gradient_the_same():
    for language, words in (("en", "gradient returns along this path"), ("zh", "梯度沿此路径反传")):
        set_language(language)
        for build in (widgets.rloo_flow, widgets.reward_flow, widgets.cast_flow):
            assert words in [label for label, _ in drawn_texts(build().figure)]


def test_the_slider_of_a_missing_reward_rests():
    panel = widgets.baselines()
    move(panel, {"missing_2": True})
    assert panel.controls["reward_2"].disabled
    move(panel, {"missing_2": False})
    assert not panel.controls["reward_2"].disabled


def test_a_clip_bound_a_slider_can_reach_count_as_inside():
    for step in range(5, 61):
        low, high = (100 - step) / 100, (100 + step) / 100
        assert f"gradient ρA = −{low:.2f}" in describe_clip(-1, low, epsilon_low=step / 100, epsilon_high=0.2).caption
        assert f"gradient ρA = +{high:.2f}" in describe_clip(1, high, epsilon_low=0.2, epsilon_high=step / 100).caption


# --- the drawing ---


def drawn_texts(figure: Figure) -> list[tuple[str, Bbox]]:
    renderer = figure.canvas.get_renderer()
    texts = [text for text in figure.findobj(Text) if text.get_visible() and text.get_text().strip()]
    on = [text for text in texts if text.axes is None or text.axes.axison or text not in axis_texts(text.axes)]
    return [(text.get_text(), text.get_window_extent(renderer)) for text in on]


def axis_texts(axes) -> list[Text]:
    return axes.xaxis.findobj(Text) + axes.yaxis.findobj(Text)


def layout_faults(figure: Figure) -> list[str]:
    """Labels that leave the picture or cover each other."""
    boxes = drawn_texts(figure)
    faults = [f"{label!r} leaves the picture" for label, box in boxes if not inside(box, figure.bbox)]
    for (first, a), (second, b) in itertools.combinations(boxes, 2):
        overlap = Bbox.intersection(a, b)
        if overlap is not None and overlap.width > 1 and overlap.height > 1:
            faults.append(f"{first!r} covers {second!r}")
    return faults


def inside(box: Bbox, frame: Bbox) -> bool:
    return box.x0 >= frame.x0 and box.y0 >= frame.y0 and box.x1 <= frame.x1 and box.y1 <= frame.y1


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("build", PICTURES)
def test_no_label_is_cut_or_covered(build, language):
    set_language(language)
    picture = build()
    faults = {"start": layout_faults(picture.figure)}
    start = picture.values() if build in PANELS else {}
    for state in STATES.get(build, []):
        move(picture, start | state)
        faults[str(state)] = layout_faults(picture.figure)
    assert {state: found for state, found in faults.items() if found} == {}


def test_the_layout_test_sees_faults():
    figure = widgets.rloo_flow().figure
    figure.text(0.5, 0.5, "first")
    figure.text(0.5, 0.5, "second")
    figure.text(0.99, 0.1, "outside")
    faults = layout_faults(figure)
    assert "'first' covers 'second'" in faults and "'outside' leaves the picture" in faults


def test_words_stay_inside_the_boxes_of_the_flow():
    from advantagelab.widgets.flow import BOXES

    for language in ("en", "zh"):
        set_language(language)
        picture = widgets.rloo_flow()
        boxes = {label: extent for label, extent in drawn_texts(picture.figure)}
        for box in BOXES.values():
            left, bottom, right, top = (150 * inch for inch in (box.left, box.bottom, box.left + box.width, box.bottom + box.height))
            for label in (fonts.plot_text(*box.title), box.formula):
                assert inside(boxes[label], Bbox([[left, 0], [right, picture.figure.bbox.y1]])), label


def test_a_picture_is_what_matplotlib_itself_would_draw():
    """The quick redraw (what stays is drawn once) against a full drawing of the same figure."""
    for build in PANELS:
        panel = build()
        move(panel, STATES[build][0])
        quick = np.asarray(panel.canvas.buffer_rgba()).astype(int)
        with course_style():
            panel.canvas.draw()
        full = np.asarray(panel.canvas.buffer_rgba()).astype(int)
        # Only where something that moves crosses an axis does the order differ.
        assert (np.abs(quick - full).max(axis=-1) > 16).mean() < 0.01


def test_the_notebooks_own_settings_neither_change_nor_are_changed():
    before = widgets.clip_region().png
    settings = dict(matplotlib.rcParams)
    with plt.style.context("dark_background"), matplotlib.rc_context({"font.family": ["monospace"], "font.size": 20, "axes.grid": True}):
        inner = dict(matplotlib.rcParams)
        panel = widgets.clip_region()
        move(panel, {"ratio": 1.0})
        move(panel, {"ratio": 1.35})
        assert panel.png == before
        assert dict(matplotlib.rcParams) == inner
    assert dict(matplotlib.rcParams) == settings


def test_sliders_moved_in_other_threads_and_a_cell_that_draws_meanwhile_do_not_meet():
    """As with ipykernel 7, whose subshells run a widget's events while a cell draws."""
    set_language("zh")
    settings, flow, panel, faults = dict(matplotlib.rcParams), widgets.rloo_flow().png, widgets.clip_region(), []

    def events(name, values):
        try:
            for value in values:
                move(panel, {name: value})
        except Exception as fault:
            faults.append(fault)

    moves = {"ratio": [0.5, 0.8, 1.4] * 4 + [1.1], "epsilon_low": [0.1, 0.3, 0.5] * 4 + [0.4]}
    threads = [threading.Thread(target=events, args=entry) for entry in moves.items()]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        assert widgets.rloo_flow().png == flow
    assert not faults and dict(matplotlib.rcParams) == settings
    alone = widgets.clip_region()
    move(alone, {"ratio": 1.1, "epsilon_low": 0.4})
    assert panel.png == alone.png and panel.picture.value == alone.picture.value


# --- the output in a notebook ---

WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"


@pytest.mark.parametrize("build", PANELS)
def test_live_bundle(build):
    panel = build()
    bundle = panel._repr_mimebundle_()
    assert bundle[WIDGET_VIEW]["model_id"] == panel.view.model_id
    assert base64.b64decode(bundle["image/png"]).startswith(b"\x89PNG") and bundle["text/plain"] == panel.alt


@pytest.mark.parametrize("variable, value", [("ADVANTAGELAB_STATIC", "1"), ("NBGRADER_EXECUTION", "autograde")])
@pytest.mark.parametrize("build", PICTURES)
def test_static_bundle(build, variable, value, monkeypatch):
    live = build()
    monkeypatch.setenv(variable, value)
    static = build()
    bundle = static._repr_mimebundle_()
    assert set(bundle) == {"image/png", "text/html", "text/plain"}
    assert not isinstance(static, Panel)
    assert f'<img alt="{html.escape(static.alt)}"' in bundle["text/html"] and html.escape(static.caption) in bundle["text/html"]
    assert (static.png, static.alt, static.caption) == (live.png, live.alt, live.caption)


def test_pictures_carry_no_version_stamp():
    for build in PICTURES:
        assert b"Software" not in base64.b64decode(build().png)


# --- nothing is left behind ---


def open_figures() -> int:
    gc.collect()
    return sum(issubclass(type(thing), Figure) for thing in gc.get_objects())


def count_containers(panel: Panel) -> int:
    return sum(len(axes.containers) for axes in panel.figure.axes)


@pytest.mark.parametrize(
    "build, name", [(widgets.baselines, "reward_3"), (widgets.baseline_variance, "shift"), (widgets.clip_region, "ratio")]
)
def test_many_steps_leave_nothing_behind(build, name):
    panel = build()
    start = panel.values()
    figures, artists, containers = open_figures(), len(panel.figure.findobj()), count_containers(panel)
    slider = panel.controls[name]
    for step in range(24):
        before = panel.png
        slider.value = slider.min + (step % 12 + 1) * slider.step
        assert panel.png is not before
    move(panel, start)
    assert open_figures() == figures and plt.get_fignums() == []
    assert len(panel.figure.findobj()) == artists and count_containers(panel) == containers
