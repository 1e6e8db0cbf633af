"""The training lab's pictures, on made-up runs whose numbers are known: what is drawn, what is said, and in which language."""

import html
import sys

import numpy as np
import pytest

from advantagelab import set_language, widgets
from advantagelab.widgets import runs as drawing
from advantagelab.widgets.gap_histograms import beyond
from advantagelab.widgets.looks import LOOKS, looks_of
from advantagelab.widgets.panel import Panel
from advantagelab.widgets.runs import PAIRS, Measure, Run, describe_runs, read_runs, span
from tests.test_widgets import is_hanzi, layout_faults, move, open_figures, quiet  # noqa: F401 (quiet is a fixture for every test)

STEPS = [0, 15, 30]
MEASURES = {measure.name for pair in PAIRS.values() for measure in pair} | {"flips"}
NAMES = ("grpo", "majority_vote", "om_grpo", "cast")
SERIES = sys.modules["advantagelab.widgets.cast_runs"].SERIES


def entry(name: str, base: str, end: float, seeds: int = 3) -> dict:
    """Every measure goes straight from .4 to `end`; seed s ends .1 · s higher."""
    curves = [[0.4, (0.4 + end + 0.1 * seed) / 2, end + 0.1 * seed] for seed in range(seeds)]
    return {"title": [f"the {name}", f"方法 {name}"], "group": "main", "base": base, "pretraining_seed": 0, "seeds": list(range(seeds)),
            "steps": STEPS, **{measure: curves for measure in MEASURES}}


RUNS = {name: entry(name, "half", 0.2 + 0.1 * place) for place, name in enumerate(NAMES)}
RUNS |= {"grpo.half-1": entry("grpo", "half-1", 0.7, seeds=2)}
RUNS |= {name: entry(name, "direct", 0.1, seeds=2) for series in SERIES.values() for name in series.runs}
RUNS |= {name: entry(name, "direct", 0.1) for series in SERIES.values() for name in series.beside}
RUNS["cast"]["teacher_accuracy"], RUNS["cast_reference"]["teacher_accuracy"], RUNS["cast_noise"]["teacher_accuracy"] = 0.63, 0.997, 0.04
RUNS["two"] = entry("two", "half", 0.3, seeds=2)
RUNS["far"] = entry("far", "half", 0.3) | {"reward": [[10.0, 10.5, 11.0]] * 3, "kl": [[0.0, 2.0, 9.0]] * 3}

NUMBERS = {"tokens": 100, "negative": {"share": 0.45, "mean": -0.3}, "positive": {"share": 0.5, "mean": 0.2},
           "histogram": [10, 5, 30, 35, 20]}
EDGES = [-1.0, -0.1, 0.0, 0.1]
SIDE = {"all": NUMBERS, "answer": {**NUMBERS, "histogram": [0, 0, 50, 50, 0]}}
GAP = {"edges": EDGES, "bases": {base: {teacher: {"right": SIDE, "wrong": SIDE} for teacher in ("answer_free", "privileged")}
                                 for base in ("direct", "instructed-0")}}


@pytest.fixture(autouse=True)
def recorded(monkeypatch):
    files = {"runs": RUNS, "gap": GAP}
    monkeypatch.setattr(drawing, "read", files.get)
    monkeypatch.setattr(sys.modules["advantagelab.widgets.gap_histograms"], "read", files.get)


def test_a_run_has_a_row_for_each_seed_and_the_second_model_where_it_was_run():
    runs = read_runs(["grpo", "om_grpo"])
    assert runs["grpo"].seeds == [0, 1, 2] and runs["grpo"].title == ("the grpo", "方法 grpo")
    np.testing.assert_allclose(runs["grpo"].measures["reward"][:, -1], [0.2, 0.3, 0.4])
    np.testing.assert_allclose(runs["grpo"].second["reward"][:, -1], [0.7, 0.8])
    assert runs["om_grpo"].second == {}


def test_mean_and_range_are_told():
    assert span(np.array([0.2, 0.3, 0.43])) == "0.31 (0.20 to 0.43)"
    assert span(np.array([0.2])) == "0.20"
    set_language("zh")
    assert span(np.array([-0.2, 0.4]), 1) == "0.1（−0.2 到 0.4）"


def test_the_words_are_the_numbers():
    words = describe_runs(read_runs(["grpo", "om_grpo"]), PAIRS["accuracy"])
    assert words.caption == "At the end (3 seeds), accuracy, held out: the grpo at 0.30 (0.20 to 0.40); the om_grpo at 0.50 (0.40 to 0.60)."
    assert "over 3 seeds" in words.alt
    assert "Accuracy, trained on: the grpo from 0.40 to 0.30 (0.20 to 0.40), on the second model to 0.75 (0.70 to 0.80)" in words.alt
    mixed = {name: Run((name, name), list(range(count)), np.array(STEPS), {"x": np.zeros((count, 3))}, {})
             for name, count in (("two", 2), ("five", 5))}
    pair = Measure("x", ("x", "某")), Measure("x", ("x", "某"))
    assert "over 2–5 seeds" in describe_runs(mixed, pair).alt
    assert describe_runs(mixed, pair).caption == "At the end, x: two at 0.00 (0.00 to 0.00), 2 seeds; five at 0.00 (0.00 to 0.00), 5 seeds."
    set_language("zh")
    assert "five：0.00（0.00 到 0.00），5 个种子。" in describe_runs(mixed, pair).caption


def test_methods_are_compared_on_seeds_that_all_of_them_have():
    panel = widgets.recorded_runs(["grpo"], more=["two"])
    assert panel.caption == "At the end (3 seeds), accuracy, held out: the grpo at 0.30 (0.20 to 0.40)."
    move(panel, {"two": True})
    assert panel.caption == ("At the end (2 seeds), accuracy, held out: the grpo at 0.25 (0.20 to 0.30); the two at 0.35 (0.30 to 0.40). "
                             "Only the seeds that all of these have.")


@pytest.mark.parametrize("measure", ["reward", "kl"])
def test_a_run_far_above_the_others_does_not_flatten_them(measure):
    panel = widgets.recorded_runs(["grpo", "majority_vote"], more=["far"], measure=measure)
    curves = {len(line.get_xdata()): line for line in panel.figure.axes[0].lines}
    before, caption = curves[len(STEPS)].get_ydata().copy(), panel.caption
    move(panel, {"far": True})
    lines = [line for line in panel.figure.axes[0].lines if len(line.get_xdata()) == len(STEPS)]
    assert len(lines) == 3 and any(np.allclose(line.get_ydata(), before) for line in lines)
    assert "Above the left chart: the far." in panel.caption and "Above" not in caption
    move(panel, {"grpo": False, "majority_vote": False})
    assert "Above" not in panel.caption


@pytest.mark.parametrize("language, axis", [("en", "step"), ("zh", "步数")])
def test_steps_are_marked_where_runs_were_measured_and_called_as_in_the_live_picture(language, axis):
    set_language(language)
    below = [words.get_text() for words in widgets.recorded_runs(["om_grpo"]).figure.axes[0].texts if words.get_position()[1] < 0]
    assert below == ["0", "30", axis]


def test_a_method_looks_the_same_everywhere_and_no_two_in_a_picture_look_alike():
    names = ["cast_no_flips", "grpo.direct", "om_grpo_masked_kl", "om_grpo_pool_64"]
    looks = looks_of(names)
    assert looks["grpo.direct"] == LOOKS["grpo"] and looks["om_grpo_pool_64"] == LOOKS["om_grpo"] == looks_of(["cast"])["cast"]
    assert len({str(look) for look in looks.values()}) == len(names)
    for part in ("color", "marker"):
        assert len({look[part] for look in LOOKS.values()}) == len(LOOKS)


def test_lines_bands_and_the_second_model_stand_where_the_numbers_are():
    picture = widgets.recorded_runs(["grpo"])
    left = picture.figure.axes[0]
    (line,) = [line for line in left.lines if len(line.get_xdata()) == len(STEPS)]
    np.testing.assert_allclose(line.get_xdata(), STEPS)
    np.testing.assert_allclose(line.get_ydata(), [0.4, 0.35, 0.3])  # the chart's own unit is the share of its height
    band = left.collections[0].get_paths()[0].vertices
    at_end = band[np.isclose(band[:, 0], STEPS[-1]), 1]
    np.testing.assert_allclose([at_end.min(), at_end.max()], [0.2, 0.4])
    beyond_the_end = [line.get_ydata() for line in left.lines if line.get_xdata()[0] > STEPS[-1]]
    np.testing.assert_allclose(sorted(np.concatenate(beyond_the_end)), [0.7, 0.75, 0.8])
    no_second = widgets.recorded_runs(["om_grpo"]).figure.axes[0]
    assert not [line for line in no_second.lines if line.get_xdata()[0] > STEPS[-1]]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_measure_and_choice_of_methods_has_a_picture_and_words_of_its_own(language):
    set_language(language)
    panel = widgets.recorded_runs(["grpo", "majority_vote"], more=["om_grpo", "cast"])
    states = [{"measure": pair} for pair in PAIRS] + [{"om_grpo": True, "cast": True}, {"grpo": False}, {name: False for name in NAMES}]
    start, pictures, alts = panel.values(), set(), set()
    for state in states:
        move(panel, start | state)
        assert f'<img alt="{html.escape(panel.alt)}" src="data:image/png;base64,{panel.png}"' in panel.picture.value
        assert layout_faults(panel.figure) == [], state
        assert any(map(is_hanzi, panel.alt)) == any(map(is_hanzi, panel.caption)) == (language == "zh")
        pictures.add(panel.png)
        alts.add(panel.alt)
    assert len(pictures) == len(alts) == len(states)
    labels = [control.description for control in panel.controls.values()]
    assert all(labels) and len(set(labels)) == len(labels)


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("series", SERIES)
def test_every_run_of_a_series_is_drawn_beside_grpo_and_cast(series, language):
    set_language(language)
    panel = widgets.cast_runs(series)
    for name in SERIES[series].runs:
        move(panel, {"runs": (name,)})
        drawn = {name, *SERIES[series].beside}
        assert all(RUNS[each]["title"][language == "zh"] in panel.caption for each in drawn)
        lines = [line for line in panel.figure.axes[0].lines if len(line.get_xdata()) == len(STEPS)]
        assert len(lines) == len(drawn) == len({line.get_color() for line in lines})
        assert layout_faults(panel.figure) == []


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("series", SERIES)
def test_the_first_picture_has_what_the_lesson_asks_about_beside_what_it_is_compared_with(series, language):
    set_language(language)
    panel, chosen = widgets.cast_runs(series), SERIES[series]
    assert chosen.first and set(chosen.first) <= set(chosen.runs) - set(chosen.beside)
    drawn = [line for line in panel.figure.axes[0].lines if len(line.get_xdata()) == len(STEPS)]
    looks = {(line.get_color(), line.get_marker()) for line in drawn}
    assert len(looks) == len(drawn) == len(chosen.first) + len(chosen.beside) and len({line.get_linewidth() for line in drawn}) == 1
    assert all(RUNS[name]["title"][language == "zh"] in panel.caption for name in (*chosen.beside, *chosen.first))
    assert layout_faults(panel.figure) == []


def test_a_marker_at_the_edge_is_whole_and_a_run_that_leaves_the_chart_is_cut_there():
    panel = widgets.recorded_runs(["grpo", "far"], measure="reward")
    left, right = ([line for line in axes.lines if len(line.get_xdata()) == len(STEPS)] for axes in panel.figure.axes)
    assert [line.get_clip_on() for line in left] == [False, True] and [line.get_clip_on() for line in right] == [False, False]


@pytest.mark.parametrize("language, words", [("en", "teacher 0.63"), ("zh", "教师 0.63")])
def test_what_a_fixed_teacher_reaches_is_drawn_where_the_record_says_it(language, words):
    set_language(language)
    panel = widgets.cast_runs("refresh")
    move(panel, {"runs": ("cast",)})
    axes = panel.figure.axes[0]
    assert words in [each.get_text() for each in axes.texts] and 0.63 in [line.get_ydata()[0] for line in axes.lines]
    assert "0.63" in panel.caption and "0.63" in panel.alt
    move(panel, {"runs": ("cast_refresh_1",)})
    assert words not in [each.get_text() for each in axes.texts] and "0.63" not in panel.caption


def test_work_is_shown_where_advantages_do_not_tell_what_is_pushed():
    panel = widgets.cast_runs("parts")
    titles = {}
    for name in SERIES["parts"].runs:
        move(panel, {"runs": (name,)})
        titles[name] = panel.figure.axes[1].texts[0].get_text()
    for name, title in titles.items():
        assert ("show work" in title) == (name in ("distillation", "grpo_teacher")) != ("advantage opposes" in title)


def test_shares_beyond_a_gap():
    edges = np.array(EDGES)
    assert beyond(NUMBERS, edges, 0.0) == {-1: 0.45, 1: 0.5}  # as counted: the bin that begins at 0 holds gaps of 0 too
    assert beyond(NUMBERS, edges, 0.1) == pytest.approx({-1: 0.15, 1: 0.2})


@pytest.mark.parametrize("language", ["en", "zh"])
def test_gaps_left_out_change_the_numbers(language):
    set_language(language)
    panel = widgets.gap_histograms()
    assert "45.0%" in panel.alt and "50.0%" in panel.alt and "−0.300" in panel.caption
    before = panel.png, panel.alt
    move(panel, {"least": 0.1})
    assert "15.0%" in panel.alt and "20.0%" in panel.alt and (panel.png, panel.alt) != before
    assert layout_faults(panel.figure) == [] and any(map(is_hanzi, panel.alt)) == (language == "zh")
    move(panel, {"tokens": "answer"})
    assert "0.0%" in panel.alt


@pytest.mark.parametrize("build", [lambda: widgets.recorded_runs(["grpo"]), lambda: widgets.cast_runs("context"), widgets.gap_histograms])
def test_static_bundle(build, monkeypatch):
    live = build()
    monkeypatch.setenv("ADVANTAGELAB_STATIC", "1")
    static = build()
    assert not isinstance(static, Panel) and (static.png, static.alt, static.caption) == (live.png, live.alt, live.caption)
    assert set(static._repr_mimebundle_()) == {"image/png", "text/html", "text/plain"}


def test_many_choices_leave_nothing_behind():
    panel = widgets.recorded_runs(["grpo", "majority_vote"], more=["om_grpo"])
    start, pairs = panel.values(), list(PAIRS)
    figures, artists = open_figures(), len(panel.figure.findobj())
    for step in range(30):
        move(panel, {"measure": pairs[step % len(pairs)], "om_grpo": bool(step % 2)})
    move(panel, start)
    assert open_figures() == figures and len(panel.figure.findobj()) == artists
