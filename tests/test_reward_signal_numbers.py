"""The numbers that the reward signal lesson prints, computed with its functions and its panels and looked up in its text."""

import math
import re

import pytest
import torch

from advantagelab.algorithms import reward_signal
from advantagelab.algorithms.reward_signal import combine_reward_components, discounted_returns, gae_advantages, policy_gradient_loss
from advantagelab.widgets.bandit import best_baseline, one_draw, value
from advantagelab.widgets.gae import START, VALUE_AFTER_CUT, VALUES, Estimates, generalized_advantages
from advantagelab.widgets.variance import BANDITS
from tests.lesson_numbers import Numbers, brief

LESSON = Numbers("reward_signal")
NAN = math.nan
THREE = torch.ones(1, 3, dtype=torch.bool)
CRITIC = torch.tensor([[0.5, 0.6, 0.7]], dtype=torch.float64)
BANDIT = BANDITS["skewed"]


def double(values) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64)


def listed(values, sign: bool = False) -> str:
    return ", ".join(brief(values, sign))


def in_formula(values, sign: bool = False) -> str:
    return f"({','.join(brief(values, sign))})"


# Step 1


def test_log_probability_of_two_tokens():
    LESSON.printed("step-1", *["0.5", "0.4"] * 2, rf"$\log 0.5+\log 0.4\approx{math.log(0.5) + math.log(0.4):.2f}$")


PROXIES = double([[1, 1], [0, 3], [0, 0]])


def test_rewards_with_a_proxy():
    rewards = [combine_reward_components(PROXIES, double([1, weight])) for weight in (0.2, 0.6)]
    LESSON.table("proxies", *(brief([*PROXIES[row], rewards[0][row], rewards[1][row]]) for row in range(3)))
    assert [one.argmax().item() for one in rewards] == [0, 1]
    best = [f"**{one.max():g}**" for one in rewards]
    LESSON.printed("proxies", *best, "0.2", *["0.6"] * 3)


def test_missing_components():
    components, weights = double([[1, 1], [NAN, 1], [NAN, NAN]]), double([1, 0.5])
    skipped, propagated = (combine_reward_components(components, weights, missing=rule) for rule in ("skip", "propagate"))
    rows = [[*components[row], skipped[row], propagated[row]] for row in range(3)]
    LESSON.table("components", *(["NaN" if value.isnan() else f"{value:g}" for value in row] for row in rows))
    wrong_but_well_formatted = combine_reward_components(double([[0, 1]]), weights)
    assert wrong_but_well_formatted == skipped[1]
    LESSON.printed("components", *brief(weights[1:]), *brief(skipped[1:2]), *brief(wrong_but_well_formatted))
    one = double([[1, NAN]])
    LESSON.printed("todo-1", *brief(combine_reward_components(one, weights)), "0.5")
    assert combine_reward_components(one, weights, missing="propagate").isnan().all()


# Step 2


def test_the_value_of_the_bandit():
    expected, arms = value(*BANDIT), list(zip(*BANDIT, strict=True))
    rows = [[str(arm), f"{chance:g}", f"{reward:g}", f"{reward - expected:+g}"] for arm, (chance, reward) in enumerate(arms, 1)]
    LESSON.table("step-2", *rows)
    terms = "+".join(rf"{chance:g}\cdot {reward:g}" for chance, reward in arms)
    LESSON.printed("step-2", f"${terms}={expected:g}$")


def test_scores_of_the_bandit_average_to_zero():
    policy = double(BANDIT[0])
    scores = torch.eye(3, dtype=torch.float64) - policy
    LESSON.printed("baseline", *(f"${in_formula(score)}$" for score in scores), f"${in_formula(policy @ scores)}$")


def test_what_the_panel_of_the_bandit_shows():
    def variance(baseline: float) -> str:
        return f"{one_draw(*BANDIT, baseline).variance:.4f}"

    best, expected, key = best_baseline(*BANDIT), value(*BANDIT), "saw-bandit"
    mean = one_draw(*BANDIT, 0.0).expectation
    LESSON.printed(key, f"$({mean[0]:.2f},{mean[1]:.2f},{mean[2]:.2f})$", f"$b={expected:g}$", rf"$b^{{*}}={best:.3f}$")
    LESSON.printed(key, variance(expected), variance(0), variance(best), variance(1))
    uniform = BANDITS["uniform"]
    assert best_baseline(*uniform) == pytest.approx(value(*uniform))
    halves = [f"{one_draw(*BANDIT, baseline).variance / 2:.4f}" for baseline in (0, expected, best)]
    LESSON.printed(key, "$N=2$", *halves)
    richer = BANDIT[0], tuple(reward + 10 for reward in BANDIT[1])
    moved = one_draw(*richer, value(*richer)).variance
    LESSON.printed(key, "10", *[variance(0)] * 2, f"{one_draw(*richer, 0).variance:.2f}", f"{value(*richer):g}", *[f"{moved:.4f}"] * 2)
    LESSON.printed("rubric", variance(0), variance(expected))
    LESSON.printed("ask-bandit", f"$b={expected:g}$", f"$b=V={expected:g}$")


# Step 3


def estimates(rewards, last_value=NAN, terminated=True, **named) -> tuple[torch.Tensor, torch.Tensor]:
    advantages, returns = gae_advantages(double([rewards]), CRITIC, double([last_value]), torch.tensor([terminated]), THREE, **named)
    return advantages[0], returns[0]


def test_the_tables_of_step_3():
    (one, two, three), returns = CRITIC[0], discounted_returns(double([[0, 0, 1]]), THREE, 1.0)[0]
    steps = [[str(step + 1), f"{reward:g}", f"{returns[step]:g}", f"{CRITIC[0, step]:g}", f"{returns[step] - CRITIC[0, step]:+g}"]
             for step, reward in enumerate((0, 0, 1))]
    rows = [[f"{lam:g}", *(listed(numbers) for numbers in estimates([0, 0, 1], lam=lam))] for lam in (0, 0.5, 0.95, 1)]
    LESSON.table("step-3", *steps, *rows)
    discounted = listed(discounted_returns(double([[0, 0, 1]]), THREE, 0.9)[0])
    LESSON.printed("step-3", r"$\gamma=0.9$", discounted, f"${two:g}-{one:g}={two - one:.1f}$", f"${three:g}-{two:g}={three - two:.1f}$")
    LESSON.printed("step-3", f"$1-{three:g}={1 - three:.1f}$")
    LESSON.printed("todo-2", "0, 0, 1", r"$\gamma=0.9$", discounted)


def test_ended_and_cut_off():
    (*_, ended), _ = estimates([0, 0, 0], lam=0.0)
    (*_, cut), _ = estimates([0, 0, 0], 0.8, terminated=False, lam=0.0)
    LESSON.printed("ended", *["0.8"] * 2, rf"$\delta_3=0-0.7={ended:g}$", f"$0.8-0.7={cut:+g}$")
    LESSON.printed("todo-3", "0, 0, 1", listed(CRITIC[0]), "0, 0, 0", "0.8", r"$\lambda=0.95$")
    LESSON.printed("todo-3", listed(estimates([0, 0, 0], 0.8, terminated=False, lam=0.95)[0]))


def test_what_the_panel_of_gae_shows():
    def shown(reward: float, lam: float, next_value: float = 0.0, gamma: float = 1.0) -> Estimates:
        return generalized_advantages([0, 0, 0, 0, reward], VALUES, next_value, gamma, lam)

    key, last = "saw-gae", f"{VALUE_AFTER_CUT:g}"
    LESSON.printed("ask-gae", listed(VALUES), *[last] * 2, r"$\gamma=0.5$")
    (negative,) = (step for step in range(5) if shown(1, 0).advantages[step] < 0)
    fall = [f"{VALUES[negative]:g}", f"{VALUES[negative + 1]:g}"]
    LESSON.printed(key, f"${shown(1, 0).advantages[negative]:g}$", str(negative + 1))
    assert [step for step in range(5) if shown(1, 0).weights[step, -1]] == [4]
    assert (shown(1, 1).advantages > 0).all() and shown(1, 1).advantages.argmax() == 2
    LESSON.printed(key, listed(shown(1, 1).advantages), f"${in_formula(shown(0, 1).advantages)[1:-1]}$")
    cut = shown(0, 1, VALUE_AFTER_CUT)
    LESSON.printed(key, f"${in_formula(cut.advantages)[1:-1]}$", *brief(cut.returns[:1]), fall[0], *[fall[1]] * 2)
    assert cut.returns == pytest.approx([VALUE_AFTER_CUT] * 5)
    LESSON.printed(key, f"$0.5^{{4}}={shown(1, 1, gamma=0.5).returns[0]:g}$")
    LESSON.printed(key, f"{shown(START['reward'], START['lam'], gamma=START['gamma']).weights[0, -1]:.2f}")


# The TODOs, and the cell that a learner runs


def test_policy_gradient_loss_of_two_completions():
    logps = torch.tensor([[-1, -0.5], [-2, 0]], requires_grad=True)
    loss = policy_gradient_loss(logps, torch.tensor([1, -0.5]), torch.tensor([[True, True], [True, False]]))
    loss.backward()
    (first, same), (second, _) = logps.grad
    assert first == same
    LESSON.printed("todo-4", "$-1,-0.5$", "$+1$", "$-2$", "$-0.5$", f"${first:g}$", f"${second:+g}$")
    LESSON.printed("todo-4", rf"$-\frac{{1}}{{2}}(-1.5+1)={loss:g}$")


def test_training_on_a_proxy():
    text = LESSON.output_of("proxy-training", {"torch": torch, **vars(reward_signal)})
    policies = [[float(chance) for chance in re.search(r"\[(.*)\]", line)[1].split(",")] for line in text.splitlines()]
    (small, alone, large), (pays, _, pays_more) = policies, (line.rsplit(" ", 1)[1] for line in text.splitlines())
    assert small == alone and [max(range(3), key=policy.__getitem__) for policy in (small, large)] == [0, 1]
    LESSON.printed("saw-proxy-training", f"{small[0]}", f"{large[1]}", pays_more, pays)
    LESSON.printed("use-it", "0.2, 0.3, 0.5", "300", *["0.2"] * 2, "0.6")
