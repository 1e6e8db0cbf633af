"""The pictures of the rollout lifecycle: the timeline, the completion mask, the shift. And the numbers that lesson 02 prints."""

import html
import itertools
import math
import re
from pathlib import Path

import numpy as np
import pytest
import torch

from advantagelab import set_language, widgets
from advantagelab.algorithms import rollout
from advantagelab.widgets.mask_ribbon import EOS, IDS, not_padding, up_to_eos
from advantagelab.widgets.timeline import LEARNING_RATE, MOMENTS, MOST_UPDATES, play, true_ratios
from advantagelab.widgets.token_shift import IDS as SHIFTED_IDS
from advantagelab.widgets.token_shift import LOGITS, PROMPT_LENGTH, token_scores
from tests.test_widgets import is_hanzi, layout_faults, move, open_figures, quiet  # noqa: F401 (quiet is a fixture for every test)

PANELS = (widgets.timeline, widgets.token_shift)
PICTURES = (*PANELS, widgets.mask_ribbon)
STATES = {
    widgets.timeline: [
        {"inner_updates": updates, "moment": moment}
        for updates, moment in itertools.product(range(1, MOST_UPDATES + 1), (1, 2, 3, 5, 6, MOMENTS))
    ],
    widgets.token_shift: [{"temperature": temperature} for temperature in (0.5, 1.0, 1.05, 2.0)],
}
LESSON = Path(__file__).parent.parent / "lessons" / "rollout" / "lesson.md"


# --- the numbers of the timeline ---


@pytest.mark.parametrize("inner_updates", range(1, MOST_UPDATES + 1))
def test_a_round_samples_scores_and_updates(inner_updates):
    played = play(inner_updates)
    assert len(played.moments) == MOMENTS and len(played.records) == math.ceil(MOMENTS / (inner_updates + 2))
    once = ["sample", "score", *["update"] * inner_updates]
    assert [moment.phase for moment in played.moments] == (once * MOMENTS)[: MOMENTS]
    assert [moment.version for moment in played.moments] == [place // len(once) for place in range(MOMENTS)]
    for record in played.records:
        np.testing.assert_allclose(record.advantages, [0.5, -0.5])  # as the legend says


@pytest.mark.parametrize("inner_updates", range(1, MOST_UPDATES + 1))
def test_the_ratio_is_exactly_one_until_the_second_update(inner_updates):
    for moment in play(inner_updates).moments:
        if moment.updates == 0:
            assert (moment.ratios == 1).all() and moment.loss == 0 and np.linalg.norm(moment.gradient) > 0.3
        else:
            assert moment.ratios[0] > 1 > moment.ratios[1] and moment.loss < 0


def test_the_updates_are_those_of_autograd():
    """The whole run once more, in torch, on the surrogate as it is written."""
    for inner_updates in range(1, MOST_UPDATES + 1):
        played = play(inner_updates)
        logits = torch.zeros(3, dtype=torch.float64, requires_grad=True)
        for moment in played.moments:
            policy = logits.softmax(dim=-1)
            np.testing.assert_allclose(moment.policy, policy.detach().numpy(), atol=1e-12)
            if moment.phase == "sample":
                old_policy = policy.detach()
                np.testing.assert_allclose(played.records[moment.version].old_policy, old_policy.numpy(), atol=1e-12)
            record = played.records[moment.version]
            completions = torch.tensor(record.completions)
            ratios = (policy.log() - old_policy.log()).exp()[completions]
            loss = -(ratios * torch.tensor(record.advantages)).mean()
            (gradient,) = torch.autograd.grad(loss, logits)
            np.testing.assert_allclose(moment.ratios, ratios.detach().numpy(), atol=1e-12)
            np.testing.assert_allclose(moment.gradient, gradient.numpy(), atol=1e-12)
            assert moment.loss == pytest.approx(loss.item(), abs=1e-12)
            if moment.phase == "update":
                logits = (logits.detach() - LEARNING_RATE * gradient).requires_grad_()


def test_a_stale_record_has_moved_away_from_its_sampler():
    played = play(2)
    fifth = played.moments[4]
    assert fifth.phase == "sample" and fifth.version == 1
    np.testing.assert_allclose(true_ratios(played.records[0], fifth.policy), [1.539, 0.575], atol=5e-4)
    np.testing.assert_allclose(true_ratios(played.records[0], played.records[0].old_policy), [1, 1])


# --- what is seen and heard ---


def test_the_timeline_tells_the_answers_of_the_lesson():
    panel = widgets.timeline()
    move(panel, {"moment": 3})
    assert panel.caption == "Inner update 1, on version 0 plus 0 updates: ratios 1.00 and 1.00, loss 0.00, length of its gradient 0.35."
    move(panel, {"moment": 5})
    assert panel.caption.endswith("read 1.00 and 1.00, but against version 0, which sampled it, they are 1.54 and 0.58.")
    assert "Stale records: 1." in panel.alt
    move(panel, {"inner_updates": 4, "moment": 6})
    assert "ratios 1.82 and 0.43" in panel.caption
    move(panel, {"moment": 2})
    assert "The rewards 1 and 0 arrive, and with them the advantages +0.5 and −0.5" in panel.caption
    counts = [sum(moment.phase == "update" for moment in play(updates).moments) for updates in (1, 4)]
    assert counts == [4, 8] and [len(play(updates).records) for updates in (1, 4)] == [4, 2]
    assert all((moment.ratios == 1).all() for moment in play(1).moments)


def test_the_shift_tells_the_answers_of_the_lesson():
    panel = widgets.token_shift()
    assert "−0.240 and −1.862" in panel.caption
    move(panel, {"temperature": 2.0})
    assert "−0.551 and −1.458" in panel.alt and "factors of 1.37 and 0.67" in panel.caption
    move(panel, {"temperature": 0.5})
    assert "factors of 0.82 and 2.45" in panel.caption


def test_the_pictures_compute_what_the_lessons_functions_compute():
    ids, logits = torch.tensor([SHIFTED_IDS]), torch.tensor(LOGITS).unsqueeze(0)
    for temperature in (0.5, 1.0, 1.7):
        expected = rollout.gather_token_logps(logits, ids, PROMPT_LENGTH, temperature)
        np.testing.assert_allclose(token_scores(temperature), expected[0].numpy(), atol=1e-12)
    mask = rollout.completion_mask_from_ids(torch.tensor(IDS), EOS)
    np.testing.assert_array_equal(up_to_eos(IDS), mask.numpy())
    assert up_to_eos(IDS).sum(axis=1).tolist() == [3, 2, 5]
    assert not_padding(IDS).sum(axis=1).tolist() == [2, 1, 5]
    assert "3, 2, 5" in widgets.mask_ribbon().alt and "2, 1, 5" in widgets.mask_ribbon().alt


@pytest.mark.parametrize("build", PICTURES)
def test_the_learners_language_is_used_throughout(build):
    set_language("zh")
    chinese = build()
    set_language("en")
    english = build()
    assert any(is_hanzi(character) for character in chinese.alt) and any(is_hanzi(character) for character in chinese.caption)
    assert not any(is_hanzi(character) for character in english.alt + english.caption)
    assert chinese.png != english.png


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("build", PANELS)
def test_every_state_has_its_own_picture_and_words_and_no_label_is_cut_or_covered(build, language):
    set_language(language)
    panel = build()
    labels = [control.description for control in panel.controls.values()]
    assert all(labels) and len(set(labels)) == len(labels)
    seen, faults = {}, {}
    for state in STATES[build]:
        move(panel, state)
        assert f'<img alt="{html.escape(panel.alt)}" src="data:image/png;base64,{panel.png}"' in panel.picture.value
        seen[tuple(state.values())] = panel.png, panel.alt
        if found := layout_faults(panel.figure):
            faults[str(state)] = found
    assert faults == {}
    pictures, alts = zip(*seen.values(), strict=True)
    assert len(set(pictures)) == len(set(alts)) == len(seen)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_no_label_of_the_mask_is_cut_or_covered(language):
    set_language(language)
    assert layout_faults(widgets.mask_ribbon().figure) == []


@pytest.mark.parametrize("build", PICTURES)
def test_a_static_picture_is_the_first_state(build, monkeypatch):
    live = build()
    monkeypatch.setenv("ADVANTAGELAB_STATIC", "1")
    static = build()
    assert set(static._repr_mimebundle_()) == {"image/png", "text/html", "text/plain"}
    assert (static.png, static.alt, static.caption) == (live.png, live.alt, live.caption)


@pytest.mark.parametrize("build, name", [(widgets.timeline, "moment"), (widgets.token_shift, "temperature")])
def test_many_steps_leave_nothing_behind(build, name):
    panel = build()
    start = panel.values()
    figures, artists = open_figures(), len(panel.figure.findobj())
    slider = panel.controls[name]
    for step in range(36):
        slider.value = slider.min + step % 12 * getattr(slider, "step", 1)
    move(panel, start)
    assert open_figures() == figures and len(panel.figure.findobj()) == artists


# --- the numbers that the lesson prints ---


def test_the_examples_of_the_lesson():
    logits, ids = torch.tensor(LOGITS).unsqueeze(0), torch.tensor([SHIFTED_IDS])
    assert rollout.gather_token_logps(logits, ids, 2)[0].tolist() == pytest.approx([-0.240, -1.862], abs=5e-4)
    assert rollout.gather_token_logps(logits, ids, 2, 2.0)[0].tolist() == pytest.approx([-0.551, -1.458], abs=5e-4)
    own = logits.log_softmax(dim=-1)[0]
    assert [own[2, 0].item(), own[3, 2].item()] == pytest.approx([-0.862, -0.000], abs=5e-4)
    assert 2 - math.log(math.e**2 + 2) == pytest.approx(-0.240, abs=5e-4) and -math.log(2 * math.e + 1) == pytest.approx(-1.862, abs=5e-4)
    assert math.exp(-1.862 + 2.759) == pytest.approx(2.45, abs=5e-3)
    record = {
        "policy_version": 3,
        "old_token_logps": torch.tensor([[-1.2, -1.2, -5.0]]),
        "completion_mask": torch.tensor([[True, True, False]]),
    }
    new = torch.tensor([[-1.0, -1.5, -9.0]])
    assert rollout.importance_ratio(new, record, 3)[0].tolist() == pytest.approx([1.22, 0.74, 1], abs=5e-3)
    with pytest.raises(ValueError, match="stale"):
        rollout.importance_ratio(new, record, 4)
    old, policy, rewards = np.array([0.5, 0.5]), np.array([0.8, 0.2]), np.array([1, 0])
    np.testing.assert_allclose(policy / old, [1.6, 0.4])
    assert old @ (policy / old * rewards) == pytest.approx(policy @ rewards) == pytest.approx(0.8)


def test_a_loss_of_zero_has_a_gradient():
    logps = torch.tensor([-1.0, -2.0], requires_grad=True)
    loss = -((logps - logps.detach()).exp() * torch.tensor([0.5, -0.5])).mean()
    loss.backward()
    assert loss.item() == 0 and logps.grad.tolist() == [-0.25, 0.25]
    assert torch.autograd.grad((logps - logps).exp().sum(), logps)[0].tolist() == [0, 0]  # without detach


def test_the_last_cell_of_the_lesson_prints_what_its_answer_says(capsys):
    text = LESSON.read_text(encoding="utf-8")
    code = re.search(r"key: first-update\ndemo: true\n---\n(.*?)```", text, re.DOTALL)[1]
    assert len(code.splitlines()) <= 15
    shown = []
    watched = code.replace("loss.backward()", "loss.backward(); shown.append((ratios.detach(), loss.item(), now.grad.norm().item()))")
    exec(watched, {"torch": torch, "shown": shown, **vars(rollout)})
    (first, loss, length), (changed, *_), (forgot, *_) = shown
    assert (first == 1).all() and loss == 0 and length == pytest.approx(0.67, abs=5e-3)
    assert changed[0, 1].item() == pytest.approx(2.01, abs=5e-3)
    assert all(changed[place].item() < 1 for place in ((0, 0), (0, 2), (1, 0), (1, 1))) and changed[1, 2] == 1
    valid = torch.cat([forgot[0], forgot[1, :2]])
    assert [valid.min().item(), valid.max().item()] == pytest.approx([0.99, 1.90], abs=5e-3)
    assert "比率" in capsys.readouterr().out
