"""The panels of the OM-GRPO lesson: their numbers, against the reference and against torch, their words and their drawings."""

import itertools
import sys

import numpy as np
import pytest
import torch

from advantagelab import set_language, widgets
from advantagelab.algorithms.grpo import group_relative_advantages, k3_kl
from advantagelab.algorithms.label_free import contrast_augmented_rewards, majority_vote_rewards, soft_consensus_rewards
from advantagelab.algorithms.om_grpo import answer_span_mask, om_grpo_loss, token_offsets
from advantagelab.widgets.answer_mask import COMPLETIONS, LEARNING_RATE, MASKED, PROMPT, REFERENCE_STEP, Shared, Table
from advantagelab.widgets.answer_mask import answer_tokens, loss_masks, one_step
from advantagelab.widgets.consensus import ANSWERS, GROUP_SIZE, NONE, consensus_of
from advantagelab.widgets.panel import Panel
from advantagelab.widgets.two_stages import RULES, STEPS, expected_advantages, train
from tests.test_widgets import is_hanzi, layout_faults, move, open_figures, quiet  # noqa: F401  (quiet is used by every test)

# A, B, C, D; the rest of the eight has no valid answer.
VOTES = [
    (4, 3, 1, 0), (8, 0, 0, 0), (0, 0, 0, 0), (0, 0, 0, 5), (2, 2, 2, 2), (5, 3, 0, 0),
    (3, 3, 1, 0), (4, 4, 0, 0), (1, 0, 4, 1), (3, 2, 2, 1), (1, 0, 0, 0), (7, 1, 0, 0),
]  # fmt: skip
# For each panel, states that reach every branch and every edge of its drawing: control → value.
STATES = {
    widgets.answer_mask: [
        {"completion": completion, "masked": masked, "beta": beta}
        for completion in COMPLETIONS
        for masked, beta in (itertools.product(MASKED, (0.0, 0.5, 1.0)) if completion == "plain" else (("both", 0.5), ("off_by_one", 0.0)))
    ],
    widgets.consensus: [
        {f"votes_{answer}": count for answer, count in zip(ANSWERS, votes, strict=True)} | {"preferred": "B", "preference": preference}
        for votes, preference in zip(VOTES, itertools.cycle((0.8, 0.0, 1.0)), strict=False)
    ],
    widgets.two_stages: [
        {"good": good, "right_if_good": right_if_good, "right_if_bad": right_if_bad}
        for good, right_if_good, right_if_bad in itertools.product((0.05, 0.95), (0.05, 0.6, 0.95), (0.05, 0.95))
    ],
}
PANELS = tuple(STATES)


def enter(panel: Panel, state: dict) -> None:
    """Votes go to 0 first, because a slider takes only what the others leave."""
    move(panel, {name: 0 for name in state if name.startswith("votes")})
    move(panel, state)


# --- numbers: the answer mask ---


@pytest.mark.parametrize("name", COMPLETIONS)
def test_answer_tokens_are_those_of_the_reference(name):
    tokens = COMPLETIONS[name]
    assert answer_tokens(tokens).tolist() == answer_span_mask("".join(tokens), token_offsets(tokens)).tolist()


@pytest.mark.parametrize("tokens", [
    ["\\boxed", "{", "42", "}"], ["\\boxed", "{4", "2}"], ["\\boxed{", "\\{", "1", "\\}", "}"],
    ["\\boxed{", "7", "}", "\\boxed{", "8"],
    ["\\boxed{", "\\boxed{", "1", "}", "}"], ["}", "{", "\\boxed{", "", "5", "}"], ["\\boxed ", "{", "1", "}"],
    ["\\boxed{", "1", "\\"], [""],
])  # fmt: skip
def test_answer_tokens_of_other_completions_are_those_of_the_reference(tokens):
    assert answer_tokens(tokens).tolist() == answer_span_mask("".join(tokens), token_offsets(tokens)).tolist()


def test_which_completions_have_an_answer():
    answers = {name: "|".join(token for token, held in zip(tokens, answer_tokens(tokens), strict=True) if held)
               for name, tokens in COMPLETIONS.items()}
    assert answers == {"plain": "7", "several": "7", "nested": "\\frac{|1|}{|2|}", "empty": "", "no_box": "", "cut_off": "",
                       "glued": "{4|2}", "chinese": "7", "inside": "7"}


@pytest.mark.parametrize(
    "masked, beta, norms, after",
    [
        ("both", 0.0, [0.9129, 0.9129, 0.9129, 0, 0.9129], -1.791759),
        ("nothing", 0.0, [0.9129] * 5, -1.394425),
        ("policy", 0.5, [0.7946, 0.7946, 0.7946, 0.1183, 0.7946], -1.846043),
        ("both", 0.5, [0.7946, 0.7946, 0.7946, 0, 0.7946], -1.791759),
        ("off_by_one", 0.0, [0.9129, 0.9129, 0.9129, 0.9129, 0], -1.394425),
    ],
)
def test_gradients_and_step_of_the_table(masked, beta, norms, after):
    step = one_step(COMPLETIONS["plain"], masked, beta, Table)
    np.testing.assert_allclose(step.norms, norms, atol=5e-5)
    assert step.before == pytest.approx(-1.791759, abs=5e-7) and step.after == pytest.approx(after, abs=5e-7)
    assert masked != "both" or step.norms[3] == 0


def test_shared_parameters_move_a_masked_answer_and_the_table_does_not():
    for name in ("plain", "glued", "inside", "chinese"):
        table, shared = (one_step(COMPLETIONS[name], "both", 0.0, kind) for kind in (Table, Shared))
        assert table.after == table.before and abs(shared.after - shared.before) > 0.01


def test_the_earlier_of_two_boxes_moves_the_answer_even_in_the_table():
    step = one_step(COMPLETIONS["several"], "both", 0.0, Table)
    assert step.norms[5] == 0 and step.after < step.before - 0.05


class TorchTable(torch.nn.Module):
    def __init__(self, size):
        super().__init__()
        self.rows = torch.nn.Parameter(torch.zeros(size, size, dtype=torch.float64))

    def forward(self, contexts):
        return self.rows[contexts]


class TorchShared(torch.nn.Module):
    def __init__(self, size):
        super().__init__()
        ours = Shared(size)
        self.embedding, self.output = torch.nn.Parameter(torch.tensor(ours._embedding)), torch.nn.Parameter(torch.tensor(ours._output))

    def forward(self, contexts):
        return self.embedding[contexts] @ self.output


@pytest.mark.parametrize("kind, of_torch", [(Table, TorchTable), (Shared, TorchShared)])
@pytest.mark.parametrize("name", COMPLETIONS)
def test_one_step_is_that_of_the_reference_loss(name, kind, of_torch):
    tokens = COMPLETIONS[name]
    vocabulary = list(dict.fromkeys([PROMPT, *tokens]))
    ids = torch.tensor([vocabulary.index(token) for token in [PROMPT, *tokens]])
    valid, answer = torch.ones(1, len(tokens), dtype=torch.bool), torch.tensor(answer_tokens(tokens))[None]
    for masked, beta in itertools.product(MASKED, (0.0, 0.5)):
        model = of_torch(len(vocabulary))
        logits = model(ids[:-1])
        logits.retain_grad()
        logps = logits.log_softmax(-1).gather(-1, ids[1:, None]).T
        left_out = torch.tensor(~loss_masks(answer_tokens(tokens), masked)[0])[None]
        om_grpo_loss(logps, logps.detach(), logps.detach() + REFERENCE_STEP, torch.ones(1), valid, left_out, beta=beta,
                     mask_kl=masked != "policy").backward()
        ours = one_step(tokens, masked, beta, kind)
        with torch.no_grad():
            before = logps[answer].sum()
            for parameter in model.parameters():
                parameter -= LEARNING_RATE * parameter.grad
            after = model(ids[:-1]).log_softmax(-1).gather(-1, ids[1:, None]).T[answer].sum()
        np.testing.assert_allclose(ours.norms, logits.grad.norm(dim=-1).numpy(), atol=1e-12)
        np.testing.assert_allclose((ours.before, ours.after), (before, after), atol=1e-12)


def test_the_kl_of_the_toy_is_k3():
    logps = torch.tensor([[-1.0]], dtype=torch.float64, requires_grad=True)
    k3_kl(logps, logps.detach() + REFERENCE_STEP, torch.tensor([[True]])).sum().backward()
    assert logps.grad.item() == pytest.approx(1 - np.exp(REFERENCE_STEP))


# --- numbers: consensus ---


def group_of(votes: tuple[int, ...]) -> list[str | None]:
    return [answer for answer, count in zip(ANSWERS, votes, strict=True) for _ in range(count)] + [None] * (GROUP_SIZE - sum(votes))


def with_rest(votes: tuple[int, ...]) -> np.ndarray:
    return np.array([*votes, GROUP_SIZE - sum(votes)])


def comparisons_of(answers: list[str | None], preferred: str, preference: float) -> list[tuple[int, int, str | None]]:
    """One for each ordered pair, those of two kinds in order of appearance: the first share of them to the preferred answer."""
    made, seen, totals = [], {}, {}
    pairs = [(i, j) for i in range(len(answers)) for j in range(len(answers)) if i != j]
    for i, j in pairs:
        kinds = frozenset((answers[i], answers[j]))
        totals[kinds] = totals.get(kinds, 0) + 1
    for i, j in pairs:
        a, b = answers[i], answers[j]
        kinds = frozenset((a, b))
        turn = seen[kinds] = seen.get(kinds, -1) + 1
        if a == b:
            answer = a
        elif None in kinds:
            answer = b if a is None else a
        elif preferred in kinds:
            (other,) = kinds - {preferred}
            answer = preferred if turn < int(np.floor(totals[kinds] * preference + 0.5)) else other
        else:
            answer = a  # solution 1 of the two, so each wins once
        made.append((i, j, answer))
    return made


@pytest.mark.parametrize("votes", VOTES)
def test_rewards_and_advantages_are_those_of_the_reference(votes):
    answers, groups = group_of(votes), torch.zeros(GROUP_SIZE, dtype=torch.int64)
    for preferred, preference in itertools.product(ANSWERS, (0.0, 0.25, 0.5, 0.8, 1.0)):
        comparisons = comparisons_of(answers, preferred, preference)
        voted, tied = majority_vote_rewards(answers, groups)
        wanted = {
            "majority": voted,
            "soft": soft_consensus_rewards(answers, groups),
            "contrast": contrast_augmented_rewards(answers, groups, comparisons),
        }
        now = consensus_of(with_rest(votes), ANSWERS.index(preferred), preference)
        pool = answers + [answer for _, _, answer in comparisons]
        assert now.pool.tolist() == [pool.count(answer) for answer in (*ANSWERS, None)] and now.pool.sum() == GROUP_SIZE**2
        assert now.tied == tied[0].item()
        kinds = np.repeat(np.arange(NONE + 1), now.votes)
        for method, rewards in wanted.items():
            np.testing.assert_allclose(now.rewards[method][kinds], rewards.numpy(), atol=1e-6)
            np.testing.assert_allclose(
                now.advantages[method][kinds], group_relative_advantages(rewards.double(), groups).numpy(), atol=1e-6)
            assert np.isnan(now.rewards[method][now.votes == 0]).all() and np.isnan(now.advantages[method][now.votes == 0]).all()


@pytest.mark.parametrize("majority, advantages", [(5, (0.7746, -1.2910)), (6, (0.5774, -1.7321)), (7, (0.3780, -2.6458))])
def test_with_two_answers_soft_consensus_is_the_majority_vote(majority, advantages):
    now = consensus_of(with_rest((majority, 8 - majority, 0, 0)), 0, 0.5)
    for method in ("majority", "soft"):
        np.testing.assert_allclose(now.advantages[method][:2], advantages, atol=1e-4)


def test_with_three_answers_they_differ():
    now = consensus_of(with_rest((3, 2, 2, 1)), 0, 0.5)
    np.testing.assert_allclose(now.advantages["majority"][:4], (1.2910, -0.7746, -0.7746, -0.7746), atol=5e-5)
    np.testing.assert_allclose(now.advantages["soft"][:4], (1.1339, -0.3780, -0.3780, -1.8898), atol=5e-5)


def test_a_tie_pays_the_first_under_the_vote_and_nobody_under_soft_consensus():
    now = consensus_of(with_rest((4, 4, 0, 0)), 0, 0.5)
    assert now.tied and now.rewards["majority"][:2].tolist() == [1, 0]
    assert now.advantages["majority"][:2] == pytest.approx([1, -1], abs=1e-5)
    assert now.advantages["soft"][:2].tolist() == [0, 0]


def test_comparisons_without_a_preference_change_nothing():
    for votes in itertools.product(range(9), repeat=4):
        if sum(votes) <= GROUP_SIZE:
            now = consensus_of(with_rest(votes), 1, 0.5)
            np.testing.assert_allclose(now.rewards["contrast"], now.rewards["soft"])


def test_comparisons_overturn_a_majority_or_do_not():
    votes = with_rest((5, 3, 0, 0))  # 30 comparisons between A and B; A begins with 25 in the pool, B with 9
    leads = {share: consensus_of(votes, 1, share).pool[:2].tolist() for share in (0.5, 0.75, 0.8, 1.0)}
    assert leads == {0.5: [40, 24], 0.75: [32, 32], 0.8: [31, 33], 1.0: [25, 39]}


# --- numbers: two stages ---


@pytest.mark.parametrize(
    "start, right, ends, good",
    [
        ((0.5, 0.9, 0.45), 0.675, (0.9977, 0.9976, 0.8981), 0.9957),
        ((0.3, 0.9, 0.2), 0.41, (0.9977, 0.0030, 0.2026), 0.0037),
        ((0.5, 0.6, 0.05), 0.325, (0.9970, 0.0024, 0.0517), None),
    ],
)
def test_where_the_two_stages_end(start, right, ends, good):
    course = train(*start)
    assert course.right.shape == (3, STEPS + 1)
    np.testing.assert_allclose(course.right[:, 0], right, atol=1e-12)
    np.testing.assert_allclose(course.right[:, -1], ends, atol=5e-5)
    assert good is None or course.good[2, -1] == pytest.approx(good, abs=5e-5)
    np.testing.assert_allclose(course.right_if_good[2], start[1], atol=1e-12)  # the mask keeps both
    np.testing.assert_allclose(course.right_if_bad[2], start[2], atol=1e-12)


def test_an_exact_tie_moves_nothing_but_the_ground_truth():
    course = train(0.5, 0.9, 0.1)
    np.testing.assert_allclose(course.right[1:], 0.5, atol=1e-9)
    assert course.right[0, -1] > 0.99


def outcomes(chances: tuple[float, float, float]):
    """(reasoning, answer, probability) of the four completions; 0 is good and right."""
    good, right_if_good, right_if_bad = chances
    for reasoning, of_reasoning in ((0, good), (1, 1 - good)):
        right = (right_if_good, right_if_bad)[reasoning]
        for answer, of_answer in ((0, right), (1, 1 - right)):
            yield reasoning, answer, of_reasoning * of_answer


@pytest.mark.parametrize("chances", [(0.5, 0.9, 0.45), (0.3, 0.9, 0.2), (0.8, 0.15, 0.7)])
def test_a_step_is_the_exact_expectation_over_all_groups_by_autograd(chances):
    """Every ordered group of four, its rewards and advantages by the reference, ties going to the first, and torch's gradient."""
    choices = list(outcomes(chances))
    groups = list(itertools.product(range(4), repeat=4))
    probabilities = torch.tensor([np.prod([choices[c][2] for c in group]) for group in groups])
    answers = [["AB"[choices[c][1]] for c in group] for group in groups]
    flat, ids = [answer for group in answers for answer in group], torch.arange(len(groups)).repeat_interleave(4)
    of_vote = group_relative_advantages(majority_vote_rewards(flat, ids)[0].double(), ids)
    of_truth = group_relative_advantages(torch.tensor([float(answer == "A") for answer in flat], dtype=torch.float64), ids)
    of_soft = group_relative_advantages(soft_consensus_rewards(flat, ids).double(), ids)
    course = train(*chances)
    for row, (advantages, trains_answers) in enumerate(((of_truth, True), (of_vote, True), (of_soft, False))):
        start = [torch.tensor([chance, 1 - chance], dtype=torch.float64).log().requires_grad_() for chance in chances]
        logps = [logits.log_softmax(-1) for logits in start]
        logps = [logps[0], *(part if trains_answers else part.detach() for part in logps[1:])]
        of_choice = torch.stack([logps[0][reasoning] + logps[1 + reasoning][answer] for reasoning, answer, _ in choices])
        of_groups = (advantages.reshape(-1, 4) * of_choice[torch.tensor(groups)]).mean(-1)
        gradients = torch.autograd.grad((probabilities * of_groups).sum(), start, allow_unused=True)
        for logits, gradient, ours in zip(start, gradients, course[1:], strict=True):
            after = (logits if gradient is None else logits + 0.5 * gradient).softmax(-1)[0]
            # Not closer, because soft consensus rewards are float32, and feel the epsilon more.
            assert ours[row, 1] == pytest.approx(after.item(), abs=1e-7), RULES[row]


def test_expected_advantages_cancel_over_both_answers():
    for right in (0.0, 0.2, 0.5, 0.9, 1.0):
        of_right, of_wrong = expected_advantages(np.full(3, right)).T
        np.testing.assert_allclose(right * of_right + (1 - right) * of_wrong, 0, atol=1e-12)


# --- words and drawings ---


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("build", PANELS)
def test_every_state_is_described_and_no_label_is_cut_or_covered(build, language):
    set_language(language)
    panel = build()
    faults, pictures, words = {"start": layout_faults(panel.figure)}, {}, set()
    for state in STATES[build]:
        enter(panel, state)
        faults[str(state)] = layout_faults(panel.figure)
        pictures.setdefault(panel.png, set()).add(panel.alt)
        words |= {panel.alt, panel.caption}
    assert {state: found for state, found in faults.items() if found} == {}
    if build is not widgets.consensus:  # whose preference may change nothing that is drawn
        assert all(len(alts) == 1 for alts in pictures.values())
    for sentence in words:
        own = "".join(token for token in COMPLETIONS["chinese"] if any(map(is_hanzi, token)))
        assert any(map(is_hanzi, set(sentence) - set(own))) == (language == "zh"), sentence


@pytest.mark.parametrize(
    "build, name, value",
    [
        (widgets.answer_mask, "completion", "nested"),
        (widgets.answer_mask, "masked", "policy"),
        (widgets.answer_mask, "beta", 0.5),
        (widgets.consensus, "votes_A", 2),
        (widgets.consensus, "votes_B", 1),
        (widgets.consensus, "votes_C", 0),
        (widgets.consensus, "preferred", "A"),
        (widgets.consensus, "preference", 0.3),
        (widgets.two_stages, "good", 0.3),
        (widgets.two_stages, "right_if_good", 0.6),
        (widgets.two_stages, "right_if_bad", 0.2),
    ],
)
def test_every_control_changes_picture_and_alt_text(build, name, value):
    panel = build()
    if name == "masked":
        panel.controls["beta"].value = 0.5
    before = panel.png, panel.alt
    panel.controls[name].value = value
    assert panel.png != before[0] and panel.alt != before[1]
    assert panel.png in panel.picture.value


def test_a_vote_slider_takes_only_what_the_others_leave():
    panel = widgets.consensus()
    panel.controls["votes_A"].value = 8
    assert panel.controls["votes_A"].value == 4 and "A 4, B 3, C 1, D 0, no valid answer 0" in panel.alt
    panel.controls["votes_B"].value = 1
    panel.controls["votes_D"].value = 8
    assert panel.controls["votes_D"].value == 2 and "A 4, B 1, C 1, D 2, no valid answer 0" in panel.alt
    assert panel.alt in panel.picture.value
    panel.controls["votes_C"].set_state({"value": 7})  # as a page does it
    assert panel.controls["votes_C"].value == 1


@pytest.mark.parametrize("build", PANELS)
def test_labels_differ_and_controls_are_few(build):
    for language in ("en", "zh"):
        set_language(language)
        labels = [control.description for control in build().controls.values()]
        assert all(labels) and len(set(labels)) == len(labels) <= 6


CAPTIONS = [
    (widgets.answer_mask, {}, "No gradient on the answer's logits: the table keeps its log-probability."),
    (widgets.answer_mask, {"masked": "nothing"}, "gradient 0.9129, and its log-probability goes −1.7918 → −1.3944 in the table."),
    (widgets.answer_mask, {"masked": "policy", "beta": 0.5}, "but the KL term still does: gradient 0.1183."),
    (widgets.answer_mask, {"masked": "off_by_one"}, "Those that predict the answer keep a gradient of 0.9129."),
    (widgets.answer_mask, {"completion": "several"}, "goes −1.7918 → −1.8944 even in the table: the earlier box is still trained"),
    (widgets.answer_mask, {"completion": "empty"}, "The last box is empty: no valid answer"),
    (widgets.answer_mask, {"completion": "no_box"}, "No box: no valid answer"),
    (widgets.answer_mask, {"completion": "cut_off"}, "The box never closes: no valid answer"),
    (widgets.consensus, {}, "The comparisons overturn the majority: B leads in the pool (A 22, B 36, C 6)."),
    (widgets.consensus, {"preference": 0.5}, "soft consensus the others too, by their share. The comparisons change nothing."),
    (widgets.consensus, {"votes_C": 0, "votes_A": 5}, "Two kinds of completions: soft consensus gives the advantages"),
    (widgets.consensus, {"votes_C": 0, "votes_B": 4}, "A, B are tied: the majority vote rewards A only because it came first"),
    (widgets.consensus, {"votes_C": 0, "votes_B": 4}, "The comparisons break the tie: B leads in the pool (A 19, B 45)."),
    (widgets.consensus, {"votes_C": 0, "votes_B": 3, "votes_A": 5, "preference": 0.75}, "A, B share the lead in the pool (A 32, B 32)."),
    (widgets.consensus, {"preference": 0.4}, "change the shares"),
    (widgets.consensus, {"votes_C": 0, "votes_B": 0, "votes_A": 8}, "All agree: whether they are right or wrong, every advantage is 0."),
    (widgets.consensus, {"votes_C": 0, "votes_B": 0, "votes_A": 0}, "No valid answer at all"),
    (widgets.two_stages, {}, "sharpens the answers themselves and ends at 0.9976; OM-GRPO only changes the reasoning and ends at"),
    (widgets.two_stages, {"good": 0.3, "right_if_bad": 0.2}, "ends at 0.0030. The mask does not repair that"),
    (widgets.two_stages, {"right_if_bad": 0.1}, "the votes cancel in expectation"),
    (widgets.two_stages, {"right_if_bad": 0.9}, "Good and bad reasoning are right equally often."),
]


@pytest.mark.parametrize("build, state, said", CAPTIONS)
def test_the_caption_says_what_happens(build, state, said):
    panel = build()
    move(panel, state)
    assert said in panel.caption


def test_hanzi_of_a_completion_are_drawn_in_english_too(monkeypatch):
    """By the course's font; without it, as numbers."""
    panel = widgets.answer_mask()
    panel.controls["completion"].value = "chinese"
    assert "Tokens: 答案 是" in panel.alt
    monkeypatch.setattr(sys.modules["advantagelab.widgets.answer_mask"], "use_cjk", lambda: False)
    panel.redraw(panel.values())
    assert "Tokens: \\u7b54\\u6848 \\u662f" in panel.alt


@pytest.mark.parametrize("build", PANELS)
def test_static_picture_is_the_start_of_the_live_one(build, monkeypatch):
    live = build()
    monkeypatch.setenv("ADVANTAGELAB_STATIC", "1")
    static = build()
    assert not isinstance(static, Panel) and set(static._repr_mimebundle_()) == {"image/png", "text/html", "text/plain"}
    assert (static.png, static.alt, static.caption) == (live.png, live.alt, live.caption)


@pytest.mark.parametrize("build, name", [(widgets.answer_mask, "beta"), (widgets.consensus, "preference"), (widgets.two_stages, "good")])
def test_steps_leave_nothing_behind(build, name):
    panel = build()
    start = panel.values()
    figures, artists = open_figures(), len(panel.figure.findobj())
    slider = panel.controls[name]
    for step in range(20):
        slider.value = slider.min + (step % 8) * slider.step
    move(panel, start)
    assert open_figures() == figures and len(panel.figure.findobj()) == artists
