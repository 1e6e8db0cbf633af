"""The picture of a run as it happens: when it is drawn, what it says, and what is left of it."""

import base64
import dataclasses
import html
import io
import random

import pytest
from PIL import Image

from advantagelab import set_language
from advantagelab.tinylm import HELD_OUT, TRAINING, Method, Settings, live, measure, products, train
from advantagelab.tinylm.live import MEASURES, LiveRun
from advantagelab.tinylm.recorded import read
from advantagelab.tinylm.train import QUICK, Record, usual_settings
from advantagelab.tinylm.unfinished import Unfinished
from tests.test_tinylm import GRPO
from tests.test_widgets import is_hanzi, layout_faults, quiet  # noqa: F401 (quiet is a fixture for every test)

BOTH = pytest.mark.parametrize("language", ["en", "zh"])
WHOLE = Settings()
FAST = Settings(steps=3, prompts=2, warmup=1, evaluate_every=3)


@pytest.fixture(autouse=True)
def quick_evaluation(monkeypatch):
    monkeypatch.setattr(products, "HELD_OUT", HELD_OUT[:16])
    monkeypatch.setattr(measure, "SEEN_SAMPLES", 16)


class Notebook:
    """Stands for a Jupyter kernel: what was shown, and how often it was replaced."""

    kernel = True

    def __init__(self):
        self.shown, self.replaced = [], []

    def display(self, picture, display_id):
        assert display_id is True
        self.shown.append(picture.alt)
        return self

    def update(self, picture):
        self.replaced.append(picture.alt)


@pytest.fixture()
def notebook(monkeypatch):
    notebook = Notebook()
    monkeypatch.setattr(live, "get_ipython", lambda: notebook)
    monkeypatch.setattr(live, "display", notebook.display)
    return notebook


@pytest.fixture()
def clock(monkeypatch):
    """Seconds pass only when a test says so."""
    now = [0.0]
    monkeypatch.setattr(live.time, "monotonic", lambda: now[0])
    return now


def record_after(steps: int, settings: Settings = WHOLE, stopped: bool = False) -> Record:
    """A run so far, with numbers that are easy to tell apart."""
    row = {name: 0.25 for name in MEASURES if name != "held_out_accuracy"}
    rows = [{name: value + 0.005 * step for name, value in row.items()} for step in range(steps)]
    evaluated = list(range(0, steps if steps < settings.steps else steps + 1, settings.evaluate_every))
    return Record("half", 0, settings, None, rows, [{"step": step, "held_out_accuracy": 0.4 + step / 1000} for step in evaluated],
                  stopped=stopped)


# ---- when it is drawn

def test_it_is_drawn_at_once_then_about_once_a_second_and_at_the_end(notebook, clock):
    watch = LiveRun("grpo")
    for step in range(1, 101):
        clock[0] = step * 0.3  # a step takes 0.3 s
        watch(record_after(step))
    assert len(notebook.shown) == 1 and len(notebook.replaced) == pytest.approx(99 * 0.3, abs=8)
    before = len(notebook.replaced)
    watch(record_after(105))  # no time has passed, but it has ended
    assert len(notebook.replaced) == before + 1 and "0.51 at step 105" in notebook.replaced[-1]


@pytest.mark.parametrize("variable, value", [("ADVANTAGELAB_STATIC", "1"), ("NBGRADER_EXECUTION", "autograde")])
def test_where_outputs_are_kept_one_picture_is_left(notebook, monkeypatch, variable, value):
    monkeypatch.setenv(variable, value)
    train(GRPO, settings=FAST, watch=LiveRun("grpo"))
    assert len(notebook.shown) == 1 and not notebook.replaced and "at step 3" in notebook.shown[0]


def test_without_a_notebook_there_is_a_line_of_progress_and_a_picture_to_ask_for(capsys):
    watch = LiveRun("grpo")
    train(GRPO, settings=FAST, watch=watch)
    printed = capsys.readouterr().out
    assert printed.count("\r") == 4 and printed.count("\n") == 1 and "step 3/3" in printed
    assert Image.open(io.BytesIO(base64.b64decode(watch.picture.png))).size == (740, 290)


def test_stop_leaves_the_picture_of_what_was_learned(notebook):
    calls = []

    def rewards(batch):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return GRPO.rewards(batch)

    watch = LiveRun("grpo")
    record = train(dataclasses.replace(GRPO, rewards=rewards), settings=dataclasses.replace(FAST, steps=20), watch=watch)
    assert record.stopped and len(record.steps) == 2
    assert "Stopped after step 2 of 20; what was learned is in `record.policy`. Held-out accuracy at step 2: " in watch.picture.caption
    assert "at step 2" in (notebook.shown + notebook.replaced)[-1]


def stop_at(step: int, monkeypatch, again: bool):
    """A run that is stopped in this step, and again while it is evaluated."""
    calls, evaluate = [], train.__globals__["evaluate"]

    def rewards(batch):
        calls.append("step")
        if calls.count("step") == step:
            raise KeyboardInterrupt
        return GRPO.rewards(batch)

    def evaluated(*arguments):
        if again and calls.count("step") == step:
            raise KeyboardInterrupt
        return evaluate(*arguments)

    monkeypatch.setitem(train.__globals__, "evaluate", evaluated)
    settings = dataclasses.replace(FAST, steps=20, evaluate_every=2)
    return train(dataclasses.replace(GRPO, rewards=rewards), settings=settings, watch=lambda record: None)


def test_a_stopped_run_is_evaluated_as_it_is_kept(monkeypatch):
    record = stop_at(4, monkeypatch, again=False)
    assert [row["step"] for row in record.evaluations] == [0, 2, 3]
    pool = random.Random(0).sample(TRAINING, 512)
    assert record.evaluations[-1] == {"step": 3, **measure.evaluate(record.policy, pool, products.HELD_OUT)}
    assert [row["step"] for row in stop_at(3, monkeypatch, again=False).evaluations] == [0, 2]  # just evaluated


def test_a_second_stop_still_returns_the_record(monkeypatch):
    record = stop_at(4, monkeypatch, again=True)
    assert record.stopped and len(record.steps) == 3 and [row["step"] for row in record.evaluations] == [0, 2]


def test_stop_before_the_first_step_draws_nothing(notebook):
    def rewards(batch):
        raise KeyboardInterrupt

    record = train(dataclasses.replace(GRPO, rewards=rewards), settings=FAST, watch=LiveRun("grpo"))
    assert record.stopped and not record.steps and not notebook.shown


# ---- what it says

@BOTH
@pytest.mark.parametrize("measures", [("held_out_accuracy", "reward"), ("held_out_accuracy", "reward", "majority_accuracy"),
                                      ("held_out_accuracy", "zero_variance_wrong")])
def test_every_picture_lies_well_and_has_words(language, measures, capsys):
    set_language(language)
    alts = set()
    small_pool = ("grpo_pool_64", "majority_vote_pool_64", "om_grpo_pool_64")
    for recorded in ((), ("grpo",), ("grpo", "majority_vote", "soft_consensus"), small_pool):
        for record in (record_after(1), record_after(37, stopped=True), record_after(105), record_after(4, QUICK)):
            watch = LiveRun(*recorded, measures=measures)
            watch._draw(record)
            picture = watch.picture
            assert layout_faults(picture.figure) == []
            assert any(map(is_hanzi, picture.alt)) == any(map(is_hanzi, picture.caption)) == (language == "zh")
            assert html.escape(picture.alt) in picture.html and html.escape(picture.caption) in picture.html
            alts.add(picture.alt)
    assert len(alts) == 16


def test_alt_text_and_caption_give_the_numbers_of_both():
    band = read("bands")["grpo"]["held_out_accuracy"]
    watch = LiveRun("grpo")
    watch._draw(record_after(105))
    mean, low, high = (f"{band[part][-1]:.2f}" for part in ("mean", "low", "high"))
    assert f"your run 0.40 at step 0, 0.51 at step 105; recorded at the end: GRPO {mean} ({low} to {high})" in watch.picture.alt
    assert watch.picture.caption == f"Held-out accuracy at step 105: your run 0.51; GRPO {mean} ({low} to {high})."


def test_a_noisy_measure_is_the_mean_of_the_last_steps_as_in_the_records():
    steps, points = live._curve(record_after(30), "reward")
    assert steps[14] == 15 and points[14] == pytest.approx(0.25 + 0.005 * 7) and points[29] == pytest.approx(0.25 + 0.005 * 22)


def test_a_picture_is_redrawn_and_does_not_grow():
    watch = LiveRun("grpo")
    for step in (20, 40, 60):
        watch._draw(record_after(step))
    once = LiveRun("grpo")
    once._draw(record_after(60))
    assert watch.picture.png == once.picture.png and len(watch.picture.figure.axes) == 2


def test_what_is_off_the_scale_is_drawn_at_its_edge():
    watch = LiveRun("grpo")
    record = record_after(30)
    record.evaluations[-1]["held_out_accuracy"] = 0.95
    watch._draw(record)
    assert layout_faults(watch.picture.figure) == [] and "0.95 at step" in watch.picture.alt


@BOTH
def test_quick_mode_is_told_on_the_picture(language):
    set_language(language)
    watch = LiveRun("grpo", measures=("held_out_accuracy", "reward", "majority_accuracy"))
    watch._draw(record_after(4, QUICK))
    left = watch.picture.figure.axes[0]
    words = [text.get_text() for text in left.texts]
    box = left.texts[0].get_window_extent(watch.picture.canvas.get_renderer())
    assert left.bbox.x0 + 2 < box.x0 and box.x1 < left.bbox.x1  # the axis is not hidden
    assert words == [{"en": "quick mode: only 4 of 105 steps", "zh": "快速模式：只走了 105 步中的 4 步"}[language]]
    assert watch.picture.alt.lower().startswith(words[0])
    watch = LiveRun("grpo")
    watch._draw(record_after(105))
    assert not watch.picture.figure.axes[0].texts and "uick mode" not in watch.picture.alt and "快速模式" not in watch.picture.alt


def test_quick_mode_is_for_those_who_ask_and_for_graders(monkeypatch):
    monkeypatch.delenv("ADVANTAGELAB_QUICK", raising=False)
    assert usual_settings() == Settings()
    monkeypatch.setenv("ADVANTAGELAB_QUICK", "0")
    assert usual_settings() == Settings()
    monkeypatch.setenv("ADVANTAGELAB_QUICK", "1")
    assert usual_settings() == QUICK and len(train(GRPO, watch=lambda record: None).steps) == QUICK.steps
    assert len(train(GRPO, settings=FAST, watch=lambda record: None).steps) == 3  # what is asked for is done
    monkeypatch.delenv("ADVANTAGELAB_QUICK")
    monkeypatch.setenv("NBGRADER_EXECUTION", "autograde")
    assert usual_settings() == QUICK


# ---- a method that cannot run yet

def open_todo(*arguments):
    raise NotImplementedError("TODO 3: Leave-one-out advantages | 留一优势")


@pytest.mark.parametrize("part", ["rewards", "advantages", "loss"])
def test_an_open_todo_is_told_in_one_sentence(part):
    method = dataclasses.replace(GRPO, **{part: lambda batch: open_todo(batch)})
    with pytest.raises(Unfinished) as told:
        train(method, settings=FAST, watch=lambda record: None)
    said = "Unfinished: `open_todo` is still open (TODO 3: Leave-one-out advantages): write it, then run this cell again | " \
           "`open_todo` 尚未完成（TODO 3：留一优势）：写好之后再运行本单元"
    assert told.value._render_traceback_() == [said]


def test_a_function_that_is_not_there_is_named_and_a_slip_inside_one_is_not_hidden():
    with pytest.raises(Unfinished, match="`reduce_it` is not defined: run its cell first"):
        train(Method(lambda batch: reduce_it(batch), GRPO.advantages, GRPO.loss), settings=FAST)  # noqa: F821
    learner = {"__name__": "learner"}
    exec(compile("def reward(batch):\n    return bacth", "another cell", "exec"), learner)
    with pytest.raises(NameError, match="bacth") as slip:
        train(Method(lambda batch: learner["reward"](batch), GRPO.advantages, GRPO.loss), settings=FAST)
    assert not isinstance(slip.value, Unfinished)


def test_other_errors_of_a_learners_function_stay_what_they_are():
    def rewards(batch):
        raise NotImplementedError("not one of the course's TODOs")

    with pytest.raises(NotImplementedError, match="not one of"):
        train(dataclasses.replace(GRPO, rewards=rewards), settings=FAST)
