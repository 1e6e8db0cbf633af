"""The panels of the GRPO lesson: their numbers, against loops and against torch, their words and their drawings."""

import itertools

import numpy as np
import pytest
import torch

from advantagelab import set_language, widgets
from advantagelab.widgets.group_scale import advantages_by_count, difficulty_factor, group_advantages, zero_variance_share
from advantagelab.widgets.kl_estimators import ESTIMATORS, PLACEMENTS, POLICIES, estimate, kl, kl_gradients, moved_policy, whose_gradient
from advantagelab.widgets.loss_reduction import ADVANTAGES, MAX_LENGTH, REDUCTIONS, push
from advantagelab.widgets.panel import Panel
from advantagelab.widgets.variance import gradient_estimate
from tests.test_widgets import is_hanzi, layout_faults, move, open_figures, quiet  # noqa: F401  (quiet is used by every test)

# For each panel, states that reach every branch and every edge of its drawing: control → value.
STATES = {
    widgets.group_scale: [
        {"right": right, "divisor": divisor, "extra": extra, "chance": chance}
        for right, divisor in itertools.product(range(9), ("ddof_0", "ddof_1", "none"))
        for extra, chance in ((0.0, 0.02), (0.001, 0.5), (0.01, 0.98))
    ],
    widgets.kl_estimators: [
        {"policies": policies, "toward": toward, "placement": placement}
        for policies, toward, placement in itertools.product(POLICIES, (0.0, 0.5, 0.95, 1.0), PLACEMENTS)
    ],
    widgets.loss_reduction: [
        {"length_1": first, "length_2": second} for first, second in itertools.product((1, 2, 7, 10), (1, 3, 9, 10))
    ],
}
PANELS = tuple(STATES)


# --- numbers: the division by the standard deviation ---


@pytest.mark.parametrize(
    "right, ddof_0, ddof_1, leave_one_out, none",
    [
        (1, (2.645751, -0.377964), (2.474874, -0.353553), (1.000000, -0.142857), (0.875, -0.125)),
        (2, (1.732051, -0.577350), (1.620185, -0.540062), (0.857143, -0.285714), (0.75, -0.25)),
        (3, (1.290994, -0.774597), (1.207615, -0.724569), (0.714286, -0.428571), (0.625, -0.375)),
        (4, (1.000000, -1.000000), (0.935414, -0.935414), (0.571429, -0.571429), (0.5, -0.5)),
        (5, (0.774597, -1.290994), (0.724569, -1.207615), (0.428571, -0.714286), (0.375, -0.625)),
        (6, (0.577350, -1.732051), (0.540062, -1.620185), (0.285714, -0.857143), (0.25, -0.75)),
        (7, (0.377964, -2.645751), (0.353553, -2.474874), (0.142857, -1.000000), (0.125, -0.875)),
    ],
)
def test_advantages_of_right_and_wrong_completions(right, ddof_0, ddof_1, leave_one_out, none):
    for divisor, wanted in {"ddof_0": ddof_0, "ddof_1": ddof_1, "leave_one_out": leave_one_out, "none": none}.items():
        of_right, of_wrong, of_first = (values[right] for values in advantages_by_count(divisor))
        np.testing.assert_allclose((of_right, of_wrong), wanted, atol=1e-5)  # the epsilon of 1e-6 moves them by 8e-6 at most
        assert np.isnan(of_first)


@pytest.mark.parametrize("divisor", ["ddof_0", "ddof_1", "none", "leave_one_out"])
def test_equal_rewards_give_exactly_zero_and_unequal_ones_do_not(divisor):
    of_right, of_wrong, _ = advantages_by_count(divisor)
    assert of_wrong[0] == of_right[8] == 0 and np.isnan(of_right[0]) and np.isnan(of_wrong[8])
    assert (group_advantages(np.full(8, 0.7), divisor) == 0).all()
    assert not (group_advantages(np.array([0.7] * 7 + [0.7001]), divisor) == 0).any()


def test_a_tiny_extra_reward_is_blown_up_by_the_division_alone():
    for extra in (0.001, 0.01):
        for right in (0, 8):
            assert advantages_by_count("ddof_0", extra).first[right] == pytest.approx(2.645751, rel=5e-3)
            assert advantages_by_count("none", extra).first[right] == pytest.approx(0.875 * extra)
            assert advantages_by_count("leave_one_out", extra).first[right] == pytest.approx(extra)


@pytest.mark.parametrize(
    "chance, factor, share",
    [(0.02, 2.5732, 0.8508), (0.05, 2.4731, 0.6634), (0.1, 2.3277, 0.4305), (0.25, 2.0261, 0.1001), (0.5, 1.8557, 0.0078)],
)
def test_difficulty_factor(chance, factor, share):
    for mirrored in (chance, 1 - chance):
        assert difficulty_factor(mirrored, "ddof_0") == pytest.approx(factor, abs=6e-5)
        assert difficulty_factor(mirrored, "ddof_1") == pytest.approx(0.935414 * factor, abs=6e-5)
        assert difficulty_factor(mirrored, "none") == pytest.approx(0.875)
        assert difficulty_factor(mirrored, "leave_one_out") == pytest.approx(1)
        assert zero_variance_share(mirrored) == pytest.approx(share, abs=5e-5)


def test_difficulty_factor_is_what_enumerating_all_groups_gives():
    for chance, divisor in itertools.product((0.1, 0.7), ("ddof_0", "ddof_1", "none", "leave_one_out")):
        scores, rewards = np.array([1 - chance, -chance]), np.array([1.0, 0.0])  # by the logit of being right
        expected = 0.0
        for outcomes in itertools.product((0, 1), repeat=8):
            probability = np.prod([(chance, 1 - chance)[outcome] for outcome in outcomes])
            expected += probability * (group_advantages(rewards[list(outcomes)], divisor) * scores[list(outcomes)]).mean()
        assert difficulty_factor(chance, divisor) == pytest.approx(expected / (chance * (1 - chance)))
    assert difficulty_factor(0.3, "leave_one_out") == pytest.approx(gradient_estimate((0.3, 0.7), (1, 0), 5, "leave_one_out").relative)


# --- numbers: three KL estimators ---

NEAR, FAR = ((np.array(policy), np.array(reference)) for policy, reference in (POLICIES["near"], POLICIES["far"]))
TWO_TOKENS = np.array([0.5, 0.5]), np.array([0.45, 0.55])


@pytest.mark.parametrize(
    "policies, divergence, k1_variance, k2_bias, k2_variance, k3_variance",
    [
        (NEAR, 0.02526715, 0.04908639, -0.00040475, 0.00020548, 0.00025459),
        (FAR, 0.63489727, 0.98740543, 0.06035272, 0.11675510, 0.37314197),
        (TWO_TOKENS, 0.00502517, 0.01006718, 0.00002105, 2.5e-7, 1.1e-7),
    ],
)
def test_value_of_the_estimators(policies, divergence, k1_variance, k2_bias, k2_variance, k3_variance):
    assert kl(*policies) == pytest.approx(divergence, abs=5e-9)
    k1, k2, k3 = (estimate(*policies, name, "loss") for name in ESTIMATORS)
    np.testing.assert_allclose((k1.bias, k2.bias, k3.bias), (0, k2_bias, 0), atol=5e-9)
    np.testing.assert_allclose((k1.variance, k2.variance, k3.variance), (k1_variance, k2_variance, k3_variance), atol=6e-9)
    assert (k3.values >= 0).all() and k1.values.min() == pytest.approx(np.log(policies[0] / policies[1]).min())


def test_the_lowest_values_of_k1():
    assert estimate(*NEAR, "k1", "loss").values.min() == pytest.approx(-0.2877, abs=5e-5)
    assert estimate(*FAR, "k1", "loss").values.min() == pytest.approx(-1.6094, abs=5e-5)


GRADIENTS = {  # of the near pair, of the far one
    "zero": ((0, 0, 0), (0, 0, 0)),
    "policy_first": ((0.098938, -0.093885, -0.005053), (0.432506, -0.208072, -0.224434)),
    "reference_first": ((0.1, -0.1, 0), (0.5, -0.1, -0.4)),
    "other": ((-0.001062, 0.006115, -0.005053), (-0.067494, -0.108072, 0.175566)),
}


@pytest.mark.parametrize(
    "name, placement, whose",
    [
        ("k1", "loss", "zero"),
        ("k2", "loss", "policy_first"),
        ("k3", "loss", "reference_first"),
        ("k1", "loss_times_ratio", "policy_first"),
        ("k3", "loss_times_ratio", "policy_first"),
        ("k1", "reward", "policy_first"),
        ("k3", "reward", "other"),
    ],
)
def test_whose_gradient_an_estimator_has(name, placement, whose):
    for policies, wanted in zip((NEAR, FAR), GRADIENTS[whose], strict=True):
        gradient = estimate(*policies, name, placement).gradient
        np.testing.assert_allclose(gradient, wanted, atol=6e-7)
        assert whose_gradient(gradient, *policies) == whose


def test_gradients_agree_with_autograd():
    for policies, toward, name, placement in itertools.product(POLICIES, (0.0, 0.3, 1.0), ESTIMATORS, PLACEMENTS):
        policy, reference = (torch.tensor(values) for values in moved_policy(policies, toward))
        logits = policy.log().requires_grad_()
        logps = logits.log_softmax(-1)
        log_ratios = logps - reference.log()
        values = {"k1": log_ratios, "k2": log_ratios**2 / 2, "k3": (-log_ratios).exp() - 1 + log_ratios}[name]
        ratios = (logps - logps.detach()).exp()
        penalties = {"loss": values, "loss_times_ratio": ratios * values, "reward": ratios * values.detach()}[placement]
        (gradient,) = torch.autograd.grad((policy * penalties).sum(), logits)
        ours = estimate(policy.numpy(), reference.numpy(), name, placement)
        np.testing.assert_allclose(ours.gradient, gradient.numpy(), atol=1e-12)
        np.testing.assert_allclose(ours.values, values.detach().numpy(), atol=1e-12)


def test_gradients_of_both_divergences_agree_with_autograd():
    for policy, reference in (NEAR, FAR):
        logits, fixed = torch.tensor(policy).log().requires_grad_(), torch.tensor(reference)
        logps = logits.log_softmax(-1)
        divergences = (logps.exp() * (logps - fixed.log())).sum(), (fixed * (fixed.log() - logps)).sum()
        for divergence, ours in zip(divergences, kl_gradients(policy, reference), strict=True):
            (gradient,) = torch.autograd.grad(divergence, logits, retain_graph=True)
            np.testing.assert_allclose(ours, gradient.numpy(), atol=1e-12)


# --- numbers: four reductions ---


@pytest.mark.parametrize(
    "reduction, token, completion",
    [
        ("sequence_mean", (0.25, -0.0625), (0.5, -0.5)),
        ("token_mean", (0.1, -0.1), (0.2, -0.8)),
        ("sequence_sum", (0.5, -0.5), (1, -4)),
        ("constant", (0.05, -0.05), (0.1, -0.4)),
    ],
)
def test_push_on_lengths_2_and_8(reduction, token, completion):
    now = push(reduction, (2, 8))
    np.testing.assert_allclose(now.token, token, atol=1e-12)
    np.testing.assert_allclose(now.completion, completion, atol=1e-12)


def test_push_agrees_with_autograd():
    for lengths in ((2, 8), (1, 1), (10, 3)):
        mask = torch.arange(MAX_LENGTH) < torch.tensor(lengths)[:, None]
        for reduction in REDUCTIONS:
            logps = torch.zeros(2, MAX_LENGTH, dtype=torch.float64, requires_grad=True)
            losses = -(logps - logps.detach()).exp() * torch.tensor(ADVANTAGES)[:, None]
            loss = {
                "sequence_mean": torch.stack([row[valid].mean() for row, valid in zip(losses, mask, strict=True)]).mean(),
                "token_mean": losses[mask].mean(),
                "sequence_sum": torch.stack([row[valid].sum() for row, valid in zip(losses, mask, strict=True)]).mean(),
                "constant": losses[mask].sum() / (2 * MAX_LENGTH),
            }[reduction]
            (gradient,) = torch.autograd.grad(loss, logps)
            for i, length in enumerate(lengths):
                np.testing.assert_allclose(-gradient[i, :length].numpy(), push(reduction, lengths).token[i], atol=1e-12)
            np.testing.assert_allclose(-gradient.sum(-1).numpy(), push(reduction, lengths).completion, atol=1e-12)


# --- words and drawings ---


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("build", PANELS)
def test_every_state_is_described_and_no_label_is_cut_or_covered(build, language):
    set_language(language)
    panel = build()
    faults, seen = {"start": layout_faults(panel.figure)}, {}
    for state in STATES[build]:
        move(panel, state)
        faults[str(state)] = layout_faults(panel.figure)
        seen[panel.alt] = panel.caption
    assert {state: found for state, found in faults.items() if found} == {}
    assert len(seen) == len(STATES[build]) or build is widgets.kl_estimators  # where the policies meet, all placements are one
    for words in itertools.chain(*seen.items()):
        assert any(map(is_hanzi, words)) == (language == "zh"), words


@pytest.mark.parametrize(
    "build, name, value",
    [
        (widgets.group_scale, "right", 5),
        (widgets.group_scale, "divisor", "none"),
        (widgets.group_scale, "extra", 0.001),
        (widgets.group_scale, "chance", 0.5),
        (widgets.kl_estimators, "policies", "near"),
        (widgets.kl_estimators, "toward", 0.5),
        (widgets.kl_estimators, "placement", "reward"),
        (widgets.loss_reduction, "length_1", 5),
        (widgets.loss_reduction, "length_2", 5),
    ],
)
def test_every_control_changes_picture_and_alt_text(build, name, value):
    panel = build()
    before = panel.png, panel.alt
    panel.controls[name].value = value
    assert panel.png != before[0] and panel.alt != before[1]
    assert panel.png in panel.picture.value


@pytest.mark.parametrize("build", PANELS)
def test_labels_differ_and_controls_are_few(build):
    for language in ("en", "zh"):
        set_language(language)
        labels = [control.description for control in build().controls.values()]
        assert all(labels) and len(set(labels)) == len(labels) <= 4


def test_alt_text_and_caption_tell_the_answer():
    panel = widgets.group_scale()
    assert "right: +1.732, leave-one-out +0.857; wrong: −0.577, leave-one-out −0.286" in panel.alt
    assert "2.328 times the true one, and 43.0% of the groups give nothing" in panel.caption
    move(panel, {"right": 8})
    assert panel.caption.startswith("All are right: every advantage is exactly 0.")
    move(panel, {"extra": 0.002})
    assert panel.caption.startswith("All are right, and completion 1 has 0.002 more: it gets +2.642, the rest −0.377.")
    move(panel, {"divisor": "none"})
    assert "it gets +0.00175, the rest −0.00025. With p = 0.10 the expected gradient is 0.875 times" in panel.caption

    panel = widgets.kl_estimators()
    assert "k3: expectation 0.6349, bias 0.0000, variance 0.3731, expected gradient (0.5000, −0.1000, −0.4000)" in panel.alt
    assert "k1: zero; k2: that of KL(policy‖reference); k3: that of KL(reference‖policy)" in panel.caption
    move(panel, {"placement": "reward"})
    assert "k1: that of KL(policy‖reference); k2: that of neither KL; k3: that of neither KL" in panel.caption
    move(panel, {"toward": 1.0})
    assert panel.caption == "The policy is the reference policy: every value and every gradient is 0."

    panel = widgets.loss_reduction()
    assert "Sequence mean (GRPO): 0.25 and −0.0625 on each token, 0.5 and −0.5 on the whole completion" in panel.alt
    assert "a token of the shorter one 4 times one of the longer" in panel.caption
    move(panel, {"length_1": 8})
    assert panel.caption == "Equal lengths: the four differ in one common factor only."


@pytest.mark.parametrize(
    "build, state, said",
    [
        (widgets.group_scale, {"right": 4}, "right: +1.000, leave-one-out +0.571; wrong: −1.000"),
        (widgets.group_scale, {"right": 8, "extra": 0.001}, "completion 1 with the extra reward: +2.638, leave-one-out +0.001"),
        (widgets.group_scale, {"right": 8, "extra": 0.001, "divisor": "none"}, "completion 1 with the extra reward: +0.000875"),
        (widgets.group_scale, {"divisor": "ddof_1"}, "2.177 times the true one"),
        (widgets.group_scale, {"divisor": "none"}, "0.875 times the true one"),
        (widgets.kl_estimators, {}, "k2: expectation 0.6952, bias 0.0604, variance 0.1168"),
        (widgets.kl_estimators, {"toward": 0.5}, "k1: expectation 0.1661, bias 0.0000, variance 0.3549"),
        (widgets.kl_estimators, {"toward": 0.5}, "k3: expectation 0.1661, bias 0.0000, variance 0.0091"),
        (widgets.kl_estimators, {"policies": "near"}, "k3: expectation 0.0253, bias 0.0000, variance 0.0003"),
        (widgets.kl_estimators, {"policies": "near"}, "gradient (0.0989, −0.0939, −0.0051), that of KL(policy‖reference); k3"),
        (widgets.loss_reduction, {"length_2": 2}, "Token mean (DAPO): 0.25 and −0.25 on each token"),
        (widgets.loss_reduction, {"length_1": 1, "length_2": 10}, "Sequence mean (GRPO): 0.5 and −0.05 on each token, 0.5 and −0.5"),
    ],
)
def test_what_the_lesson_says_about_a_panel(build, state, said):
    panel = build()
    move(panel, state)
    assert said in panel.alt


@pytest.mark.parametrize("build", PANELS)
def test_static_picture_is_the_start_of_the_live_one(build, monkeypatch):
    live = build()
    monkeypatch.setenv("ADVANTAGELAB_STATIC", "1")
    static = build()
    assert not isinstance(static, Panel) and set(static._repr_mimebundle_()) == {"image/png", "text/html", "text/plain"}
    assert (static.png, static.alt, static.caption) == (live.png, live.alt, live.caption)


@pytest.mark.parametrize(
    "build, name", [(widgets.group_scale, "right"), (widgets.kl_estimators, "toward"), (widgets.loss_reduction, "length_2")]
)
def test_steps_leave_nothing_behind(build, name):
    panel = build()
    start = panel.values()
    figures, artists = open_figures(), len(panel.figure.findobj())
    slider = panel.controls[name]
    for step in range(16):
        slider.value = slider.min + (step % 8) * slider.step
    move(panel, start)
    assert open_figures() == figures and len(panel.figure.findobj()) == artists
