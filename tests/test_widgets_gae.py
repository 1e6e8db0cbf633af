"""The panels of the reward signal lesson: their numbers, against loops and against torch, their words and their drawings."""

import base64
import itertools

import numpy as np
import pytest
import torch

from advantagelab import fonts, set_language, widgets
from advantagelab.widgets.bandit import best_baseline, one_draw, value
from advantagelab.widgets.gae import VALUES, generalized_advantages
from advantagelab.widgets.panel import Panel
from advantagelab.widgets.reward_flow import BOXES
from advantagelab.widgets.variance import BANDITS, gradient_estimate
from tests.test_widgets import WIDGET_VIEW, drawn_texts, inside, is_hanzi, layout_faults, move, quiet  # noqa: F401 (quiet is autouse)

PANELS = (widgets.gae, widgets.bandit_baseline)
PICTURES = (*PANELS, widgets.reward_flow)
STATES = {
    widgets.gae: [
        {"lam": lam, "gamma": gamma, "reward": reward, "terminated": terminated}
        for lam, gamma, reward, terminated in itertools.product((0.0, 0.5, 1.0), (0.5, 1.0), (0.0, 1.0), (True, False))
    ],
    widgets.bandit_baseline: [
        {"bandit": bandit, "baseline": baseline}
        for bandit, baseline in itertools.product(("uniform", "skewed"), (-0.25, 0.2, 0.5, 1.25))
    ],
}


# --- numbers ---


@pytest.mark.parametrize(
    "gamma, lam, advantages, returns",
    [
        (1, 0.95, [0.46575, 0.385, 0.3], [0.96575, 0.985, 1]),
        (1, 1, [0.5, 0.4, 0.3], [1, 1, 1]),
        (1, 0, [0.1, 0.1, 0.3], [0.6, 0.7, 1]),
        (1, 0.5, [0.225, 0.25, 0.3], [0.725, 0.85, 1]),
        (0.99, 0.95, [0.446829, 0.37515, 0.3], [0.946829, 0.97515, 1]),
    ],
)
def test_gae_of_the_lessons_three_steps(gamma, lam, advantages, returns):
    numbers = generalized_advantages([0, 0, 1], [0.5, 0.6, 0.7], 0, gamma, lam)
    np.testing.assert_allclose(numbers.advantages, advantages, atol=5e-7)
    np.testing.assert_allclose(numbers.returns, returns, atol=5e-7)


def test_gae_is_the_backward_recursion_whatever_the_numbers():
    rng = np.random.default_rng(0)
    for gamma, lam in itertools.product((0.5, 0.9, 1.0), (0.0, 0.3, 1.0)):
        rewards, values, next_value = rng.normal(size=6), rng.normal(size=6), rng.normal()
        advantage, expected = 0.0, []
        following = next_value
        for reward, state_value in zip(rewards[::-1], values[::-1], strict=True):
            advantage = reward + gamma * following - state_value + gamma * lam * advantage
            expected.insert(0, advantage)
            following = state_value
        np.testing.assert_allclose(generalized_advantages(rewards, values, next_value, gamma, lam).advantages, expected, atol=1e-12)


def test_a_weight_is_what_one_more_reward_adds_to_an_advantage():
    numbers = generalized_advantages(np.zeros(5), VALUES, 0.6, 0.9, 0.8)
    for step in range(5):
        rewards = np.eye(5)[step]
        added = generalized_advantages(rewards, VALUES, 0.6, 0.9, 0.8).advantages - numbers.advantages
        np.testing.assert_allclose(added, numbers.weights[:, step], atol=1e-12)


@pytest.mark.parametrize(
    "reward, next_value, gamma, lam, advantages",
    [
        (1, 0, 1, 0, [0.1, -0.3, 0.2, 0.3, 0.2]),
        (0, 0, 1, 0, [0.1, -0.3, 0.2, 0.3, -0.8]),
        (1, 0, 1, 1, [0.5, 0.4, 0.7, 0.5, 0.2]),
        (0, 0, 1, 1, [-0.5, -0.6, -0.3, -0.5, -0.8]),
        (0, 0.6, 1, 1, [0.1, 0, 0.3, 0.1, -0.2]),
    ],
)
def test_what_the_lesson_says_about_the_panels_five_steps(reward, next_value, gamma, lam, advantages):
    numbers = generalized_advantages([0, 0, 0, 0, reward], VALUES, next_value, gamma, lam)
    np.testing.assert_allclose(numbers.advantages, advantages, atol=1e-12)


def test_the_reward_reaches_step_1_by_the_weight_that_the_lesson_gives():
    assert generalized_advantages([0] * 5, VALUES, 0, 1, 0.5).weights[0, 4] == 0.0625
    np.testing.assert_allclose(generalized_advantages([0, 0, 0, 0, 1], VALUES, 0, 0.5, 1).returns[0], 0.0625)
    assert generalized_advantages([0] * 5, VALUES, 0, 1, 0.95).weights[0, 4] == pytest.approx(0.8145, abs=5e-5)


SKEWED, UNIFORM = BANDITS["skewed"], BANDITS["uniform"]


@pytest.mark.parametrize(
    "bandit, baseline, variance",
    [(SKEWED, 0, 0.1568), (SKEWED, 0.2, 0.1032), (SKEWED, 1, 0.3848), (UNIFORM, 0, 0.222222), (UNIFORM, 0.5, 0.055556)],
)
def test_variance_of_one_draw(bandit, baseline, variance):
    assert one_draw(*bandit, baseline).variance == pytest.approx(variance, abs=5e-7)


def test_the_best_baseline_and_the_value():
    assert value(*SKEWED) == pytest.approx(0.2) and value(*UNIFORM) == pytest.approx(0.5)
    assert best_baseline(*SKEWED) == pytest.approx(0.316129, abs=5e-7) and best_baseline(*UNIFORM) == pytest.approx(0.5)
    assert one_draw(*SKEWED, best_baseline(*SKEWED)).variance == pytest.approx(0.094839, abs=5e-7)
    for bandit in BANDITS.values():
        best = best_baseline(*bandit)
        assert one_draw(*bandit, best).variance < min(one_draw(*bandit, best + step).variance for step in (-0.01, 0.01))


def test_twice_the_best_baseline_is_as_bad_as_none():
    for bandit in BANDITS.values():
        assert one_draw(*bandit, 2 * best_baseline(*bandit)).variance == pytest.approx(one_draw(*bandit, 0).variance)


def test_a_constant_in_the_rewards_is_only_harmless_with_the_value_as_baseline():
    probabilities, rewards = SKEWED
    shifted = tuple(reward + 10 for reward in rewards)
    assert one_draw(probabilities, shifted, 0).variance == pytest.approx(66.0768)
    assert one_draw(probabilities, shifted, 10.2).variance == pytest.approx(0.1032)


def test_one_draw_agrees_with_autograd_and_with_the_enumerated_groups():
    for (probabilities, rewards), baseline in itertools.product(BANDITS.values(), (0.0, 0.3, -1.0)):
        now = one_draw(probabilities, rewards, baseline)
        logits = torch.tensor(probabilities, dtype=torch.float64).log().requires_grad_()
        for arm, reward in enumerate(rewards):
            (gradient,) = torch.autograd.grad((reward - baseline) * logits.log_softmax(-1)[arm], logits)
            np.testing.assert_allclose(now.gradients[arm], gradient.numpy(), atol=1e-12)
        (true,) = torch.autograd.grad(logits.softmax(-1) @ torch.tensor(rewards, dtype=torch.float64), logits)
        np.testing.assert_allclose(now.expectation, true.numpy(), atol=1e-12)
        shifted = tuple(reward - baseline for reward in rewards)
        groups = gradient_estimate(probabilities, shifted, 2, "none")
        assert groups.variance == pytest.approx(now.variance / 2)  # the mean of two draws


# --- words and drawings ---


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("build", PANELS)
def test_every_state_draws_and_says_something_else(build, language):
    set_language(language)
    panel = build()
    start = panel.values()
    seen = {}
    for state in [start, *(start | state for state in STATES[build])]:
        move(panel, state)
        assert f'src="data:image/png;base64,{panel.png}"' in panel.picture.value
        seen[tuple(state.values())] = panel.png, panel.alt
    assert len({png for png, _ in seen.values()}) == len({alt for _, alt in seen.values()}) == len(seen)


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


@pytest.mark.parametrize("build", PICTURES)
def test_both_languages(build):
    set_language("zh")
    chinese = build()
    set_language("en")
    english = build()
    assert any(is_hanzi(character) for character in chinese.alt) and any(is_hanzi(character) for character in chinese.caption)
    assert not any(is_hanzi(character) for character in english.alt + english.caption)
    assert chinese.png != english.png


def test_alt_text_and_caption_tell_the_answer():
    panel = widgets.gae()
    assert "Advantages: 0.42, 0.33, 0.67, 0.49, 0.20" in panel.alt and "(γλ)^4 = 0.81" in panel.caption
    move(panel, {"lam": 0.0})
    assert "Advantages: 0.10, −0.30, 0.20, 0.30, 0.20" in panel.alt and "step 5 only" in panel.caption
    move(panel, {"lam": 1.0, "reward": 0.0, "terminated": False})
    assert "cut off after step 5, value there 0.6" in panel.alt and "Returns: 0.60, 0.60, 0.60, 0.60, 0.60" in panel.alt
    panel = widgets.bandit_baseline()
    assert "mean 0.16, −0.06, −0.10. Variance 0.1568" in panel.alt and "smallest 0.0948 at b* = 0.3161" in panel.alt
    move(panel, {"baseline": 0.2})
    assert "mean 0.16, −0.06, −0.10. Variance 0.1032" in panel.alt and "0.66 times" in panel.caption


@pytest.mark.parametrize("build", PANELS)
def test_live_bundle_and_labels(build):
    panel = build()
    bundle = panel._repr_mimebundle_()
    assert bundle[WIDGET_VIEW]["model_id"] == panel.view.model_id and bundle["text/plain"] == panel.alt
    assert base64.b64decode(bundle["image/png"]).startswith(b"\x89PNG")
    labels = [control.description for control in panel.controls.values()]
    assert all(labels) and len(set(labels)) == len(labels)


@pytest.mark.parametrize("build", PICTURES)
def test_a_kept_output_is_the_picture_without_its_controls(build, monkeypatch):
    live = build()
    monkeypatch.setenv("ADVANTAGELAB_STATIC", "1")
    static = build()
    assert not isinstance(static, Panel)
    assert (static.png, static.alt, static.caption) == (live.png, live.alt, live.caption)


def test_words_stay_inside_the_boxes_of_the_flow():
    for language in ("en", "zh"):
        set_language(language)
        picture = widgets.reward_flow()
        boxes = dict(drawn_texts(picture.figure))
        for box in BOXES.values():
            left, right = 150 * box.left, 150 * (box.left + box.width)
            for label in (fonts.plot_text(*box.title), box.formula):
                extent = boxes[label]
                assert left <= extent.x0 and extent.x1 <= right and inside(extent, picture.figure.bbox), label


@pytest.mark.parametrize("build, name", [(widgets.gae, "lam"), (widgets.bandit_baseline, "baseline")])
def test_many_steps_leave_nothing_behind(build, name):
    panel = build()
    start = panel.values()
    artists = len(panel.figure.findobj())
    slider = panel.controls[name]
    for step in range(16):
        slider.value = slider.min + (step % 12 + 1) * slider.step
    move(panel, start)
    assert len(panel.figure.findobj()) == artists
