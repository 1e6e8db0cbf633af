"""The numbers that lesson rollout prints, computed with its functions and its panels and looked up in its text."""

import math

import pytest
import torch

from advantagelab.algorithms import rollout
from advantagelab.algorithms.rollout import completion_mask_from_ids, gather_token_logps, importance_ratio
from advantagelab.widgets.timeline import play, true_ratios
from advantagelab.widgets.token_shift import IDS, LOGITS, PROMPT_LENGTH
from tests.lesson_numbers import Numbers, brief

LESSON = Numbers("rollout")


def scores(temperature: float = 1.0) -> list[float]:
    """Of the two tokens of Step 2."""
    return gather_token_logps(torch.tensor(LOGITS)[None], torch.tensor([IDS]), PROMPT_LENGTH, temperature)[0].tolist()


def test_two_rewards_of_two_versions():
    rewards = torch.tensor([1.0, 2.0])
    LESSON.printed("groups", f"{rewards.mean():g}", *(f"${advantage}$" for advantage in brief(rewards - rewards.mean(), sign=True)))


def test_the_record_of_step_1_is_the_first_two_of_step_2():
    first, second = scores()
    LESSON.printed("step-1", f"${first:.2f},{second:.2f},")


def test_log_probabilities_of_two_tokens():
    (first, second), own = scores(), torch.tensor(LOGITS).log_softmax(dim=-1)
    LESSON.printed("shift", *(f"$({','.join(brief(row))})$" for row in LOGITS[1:]))
    assert (first, second) == pytest.approx((2 - math.log(math.e**2 + 1 + 1), 0 - math.log(2 * math.e + 1)))
    LESSON.printed("shift", rf"$$2-\log(e^2+1+1)\approx{first:.3f}$$", rf"$0-\log(2e+1)\approx{second:.3f}$")
    LESSON.printed("shift", f"${own[2, IDS[2]]:.3f}$", f"${own[3, IDS[3]]:.3f}$")
    LESSON.printed("todo-2", f"${','.join(f'({listed})' for listed in (','.join(brief(row)) for row in LOGITS))}$")
    LESSON.printed("todo-2", f"${first:.3f},{second:.3f}$", f"${','.join(f'{score:.3f}' for score in scores(2.0))}$")


def test_temperatures():
    (first, second), (flat_first, flat_second) = scores(), scores(2.0)
    LESSON.printed("temperature", "0.5", f"${flat_first:.3f}$", f"${flat_second:.3f}$")
    LESSON.printed("saw-token-shift", *(f"${score:.3f}$" for score in (first, flat_first, second, flat_second)))
    sharp = scores(0.5)[1]
    LESSON.printed("saw-token-shift", rf"$e^{{{second:.3f}+{-sharp:.3f}}}\approx {math.exp(second - sharp):.2f}$")


def test_ratios_of_two_tokens():
    mask = torch.tensor([[True, True, False]])
    record = {"policy_version": 3, "old_token_logps": torch.tensor([[-1.2, -1.2, -5.0]]), "completion_mask": mask}
    ratios = importance_ratio(torch.tensor([[-1.0, -1.5, -9.0]]), record, 3)[0].tolist()
    LESSON.printed("step-3", "$-1.2$", "$-1.0$", "$-1.2$", "$-1.5$")
    LESSON.printed("step-3", rf"$e^{{0.2}}\approx {ratios[0]:.2f}$", rf"$e^{{-0.3}}\approx {ratios[1]:.2f}$")
    LESSON.printed("todo-4", "$(-1.2,-1.2,-5)$", "$(-1.0,-1.5,-9)$", f"${ratios[0]:.2f},{ratios[1]:.2f},{ratios[2]:g}$")


def test_weighted_by_its_ratios_the_old_policy_earns_what_the_policy_earns():
    old, policy, rewards = torch.tensor([0.5, 0.5]), torch.tensor([0.8, 0.2]), torch.tensor([1.0, 0.0])
    first, second = brief(policy / old)
    LESSON.printed("step-3", *["0.5"] * 3, *["0.8"] * 2, "0.2", *[first] * 2, *[second] * 2)  # in words and in the formula
    LESSON.printed("step-3", rf"$0.5\cdot{first}\cdot1+0.5\cdot{second}\cdot0={policy @ rewards:g}$")
    torch.testing.assert_close(old @ (policy / old * rewards), policy @ rewards)


def test_a_loss_of_zero_has_a_gradient():
    record = {"policy_version": 0, "old_token_logps": torch.zeros(1, 2), "completion_mask": torch.ones(1, 2, dtype=torch.bool)}
    new = torch.zeros(1, 2, requires_grad=True)
    loss = -(importance_ratio(new, record, 0) * torch.tensor([0.5, -0.5])).mean()
    loss.backward()
    assert loss == 0
    LESSON.printed("zero-loss", "$A=(+0.5,-0.5)$", r"$-\frac{1}{2}(0.5-0.5)=0$", f"$({','.join(brief(new.grad[0], sign=True))})$")


def test_what_the_panel_of_the_timeline_shows():
    two, once, four = play(2), play(1), play(4)
    first = two.moments[2]
    LESSON.printed("saw-timeline", f"{first.ratios[0]:.2f}", f"{abs(first.loss):.2f}", f"{(first.gradient**2).sum() ** 0.5:.2f}")
    assert first.phase == "update" and (first.ratios == 1).all()
    fifth = two.moments[4]
    LESSON.printed("saw-timeline", *(f"{ratio:.2f}" for ratio in true_ratios(two.records[0], fifth.policy)))
    counts = [sum(moment.phase == "update" for moment in played.moments) for played in (once, four)]
    assert all((moment.ratios == 1).all() for moment in once.moments) and len(once.records) == 2 * len(four.records)
    LESSON.printed("saw-timeline", "1.00", "1.00", "1.00", *map(str, counts))
    fourth, after = four.moments[5], four.moments[6]
    assert (fourth.updates, fourth.version, after.version) == (3, 0, 1)
    LESSON.printed("saw-timeline", *(f"{ratio:.2f}" for ratio in (*fourth.ratios, *true_ratios(four.records[0], after.policy))))
    LESSON.printed("ask-timeline", str(len(two.moments)))


def test_the_masks_of_todo_1():
    for ids in ([7, 4, 2, 2, 2], [5, 8, 7, 3, 6]):
        mask = completion_mask_from_ids(torch.tensor([ids]), eos_id=2)[0].tolist()
        LESSON.printed("todo-1", ", ".join(map(str, ids)), *([", ".join(map(str, mask))] if not all(mask) else []))


def test_the_last_cell():
    seen = []
    watched = LESSON.cells["first-update", None].replace(
        "loss.backward()", "loss.backward(); seen.append((ratios.detach(), loss.item(), now.grad.norm().item()))")
    names = {"torch": torch, "seen": seen, **vars(rollout)}
    exec(watched, names)
    (first, loss, length), (changed, *_), (forgot, *_) = seen
    assert (first == 1).all() and loss == 0
    likelier = changed[names["ids"][:, 2:] == 4]
    assert len(likelier) == 1 and (changed[names["mask"]] > 1).sum() == 1 and changed[1, 2] == 1
    valid = forgot[names["mask"]]
    LESSON.printed("saw-first-update", f"{length:.2f}", f"{likelier.item():.2f}", f"{valid.min():.2f}", f"{valid.max():.2f}")
    LESSON.printed("use-it", "$+1$", "$-1$", "0.7", "4", "4")
    LESSON.printed("rubric", "1.5")
