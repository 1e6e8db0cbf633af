"""The numbers that lesson GRPO prints, and those it rests on, computed with its functions."""

import inspect
from fractions import Fraction
from math import comb

import pytest
import torch

from advantagelab.algorithms import grpo, rloo
from advantagelab.algorithms.grpo import group_relative_advantages, grpo_token_losses, k3_kl, reduce_token_losses
from advantagelab.algorithms.rloo import leave_one_out_advantages
from advantagelab.widgets.group_scale import advantages_by_count, difficulty_factor, percent, zero_variance_share
from advantagelab.widgets.kl_estimators import estimate, moved_policy, whose_gradient
from advantagelab.widgets.loss_reduction import push as push_on
from tests.lesson_numbers import Numbers, brief

LESSON = Numbers("grpo")
SIX_PLACES = {"abs": 6e-7, "rel": 0}


def advantages_of(rewards, **named) -> list[float]:
    rewards = torch.tensor(rewards, dtype=torch.float64)
    return group_relative_advantages(rewards, torch.zeros(len(rewards), dtype=torch.int64), **named).tolist()


def right_of_eight(right: int, **named) -> tuple[float, float]:
    """The advantage of a right and of a wrong completion."""
    advantages = advantages_of([1.0] * right + [0.0] * (8 - right), **named)
    return advantages[0], advantages[-1]


# Step 1: group-relative advantages


def test_one_right_of_four_by_every_rule():
    rewards = [1.0, 0.0, 0.0, 0.0]
    for named, right, wrong in (({"scale": "none"}, 0.75, -0.25), ({}, 1.7320, -0.5773), ({"ddof": 1, "eps": 1e-4}, 1.4997, -0.4999),
                                ({"eps": 0.0}, 1.732051, -0.577350), ({"ddof": 1, "eps": 0.0}, 1.5, -0.5)):
        assert advantages_of(rewards, **named) == pytest.approx([right] + [wrong] * 3, abs=5e-5), named
    assert leave_one_out_advantages(torch.tensor(rewards), torch.zeros(4).long()).tolist() == pytest.approx([1, -1 / 3, -1 / 3, -1 / 3])


def test_step_1_prints_them():
    rewards = [1.0, 0.0, 0.0, 0.0]
    mean, std = torch.tensor(rewards).mean().item(), torch.tensor(rewards).std(correction=0).item()
    centered, divided = advantages_of(rewards, scale="none"), advantages_of(rewards)
    siblings = leave_one_out_advantages(torch.tensor(rewards), torch.zeros(4).long()).tolist()
    LESSON.printed("step-1", "1, 0, 0, 0", f"{mean:g}", rf"$\sqrt{{{std**2:g}}}\approx {std:.3f}$")
    LESSON.printed("step-1", f"${','.join(brief(centered))}$", f"${','.join(f'{advantage:.3f}' for advantage in divided)}$")
    LESSON.printed("step-1", "$1,-\\frac13,-\\frac13,-\\frac13$")
    assert [Fraction(value).limit_denominator(10) for value in siblings] == [1, *[Fraction(-1, 3)] * 3]
    rules = [centered, siblings, divided, advantages_of(rewards, ddof=1, eps=1e-4)]
    LESSON.table("step-1", *([f"{right:.4f}", f"{wrong:.4f}"] for right, wrong, *_ in rules))
    LESSON.printed("step-1", *(f"{((n - 1) / n) ** 0.5:.3f}" for n in (4, 2)))
    LESSON.printed("step-1", *[r"$\varepsilon_{\mathrm{std}}=10^{-6}$"] * 2, r"$\varepsilon_{\mathrm{std}}=10^{-4}$", r"$\mathrm{ddof}=0$")
    defaults = inspect.signature(group_relative_advantages).parameters
    assert (defaults["ddof"].default, defaults["eps"].default) == (0, 1e-6)
    four = [f"{advantage:.4f}" for advantage in divided]
    LESSON.printed("todo-1", "1, 0, 0, 0", f"${','.join(four)}$", f"${','.join(brief(centered))}$", "0.7")


def test_the_tables_of_easy_and_hard_prompts():
    def row(counts, advantage) -> list[str]:
        return [f"{advantage(right):.3f}" if round(advantage(right), 6) % 1 else f"{advantage(right):g}" for right in counts]

    counts, chances = (1, 2, 4, 6, 7), (0.02, 0.1, 0.5, 0.9, 0.98)
    rows = [row(counts, lambda right, place=place: round(right_of_eight(right, eps=0.0)[place], 6)) for place in (0, 1)]
    siblings = row(counts, lambda right: round(8 / 7 * right_of_eight(right, scale="none")[0], 6))
    factors = [f"{difficulty_factor(chance, 'ddof_0'):.3f}" for chance in chances]
    shares = [percent(zero_variance_share(chance)) for chance in chances]
    LESSON.table("zero-variance", [*map(str, counts)], *rows, siblings, [f"{chance:g}" for chance in chances], factors, shares)
    LESSON.printed("zero-variance", f"{difficulty_factor(0.3, 'none'):g}")


def test_the_panel_of_the_scale_tells_the_answers():
    extra = advantages_by_count("ddof_0", 0.001).first[8], advantages_by_count("none", 0.001).first[8]
    LESSON.printed("ask-scale", "0.001", "$p=0.1$", "0.5", "0.98")
    LESSON.printed("saw-scale", "4", r"$\pm1$", "0.001", f"${extra[0]:+.3f}$", f"{extra[1]:.4f}")
    assert advantages_by_count("ddof_0").right[4] == pytest.approx(1, abs=1e-5)
    factors = [f"{difficulty_factor(0.1, divisor):.3f}" for divisor in ("ddof_1", "ddof_0", "none")]
    LESSON.printed("saw-scale", *factors)
    for chance in (0.5, 0.98):
        LESSON.printed("saw-scale", f"{chance:g}", f"{difficulty_factor(chance, 'ddof_0'):.3f}", percent(zero_variance_share(chance)))


@pytest.mark.parametrize(("right", "ddof_0", "ddof_1", "leave_one_out", "centered"), [
    (1, (2.645751, -0.377964), (2.474874, -0.353553), (1.000000, -0.142857), (0.875, -0.125)),
    (2, (1.732051, -0.577350), (1.620185, -0.540062), (0.857143, -0.285714), (0.750, -0.250)),
    (3, (1.290994, -0.774597), (1.207615, -0.724569), (0.714286, -0.428571), (0.625, -0.375)),
    (4, (1.000000, -1.000000), (0.935414, -0.935414), (0.571429, -0.571429), (0.500, -0.500)),
    (5, (0.774597, -1.290994), (0.724569, -1.207615), (0.428571, -0.714286), (0.375, -0.625)),
    (6, (0.577350, -1.732051), (0.540062, -1.620185), (0.285714, -0.857143), (0.250, -0.750)),
    (7, (0.377964, -2.645751), (0.353553, -2.474874), (0.142857, -1.000000), (0.125, -0.875)),
])
def test_right_of_eight(right, ddof_0, ddof_1, leave_one_out, centered):
    assert right_of_eight(right, eps=0.0) == pytest.approx(ddof_0, **SIX_PLACES)
    assert right_of_eight(right, eps=0.0, ddof=1) == pytest.approx(ddof_1, **SIX_PLACES)
    assert right_of_eight(right, scale="none") == pytest.approx(centered, **SIX_PLACES)
    rewards = torch.tensor([1.0] * right + [0.0] * (8 - right), dtype=torch.float64)
    others = leave_one_out_advantages(rewards, torch.zeros(8).long())
    assert (float(others[0]), float(others[-1])) == pytest.approx(leave_one_out, **SIX_PLACES)
    share = right / 8
    assert ddof_0 == pytest.approx((((1 - share) / share) ** 0.5, -((share / (1 - share)) ** 0.5)), **SIX_PLACES)


@pytest.mark.parametrize("eps", [0.0, 1e-8, 1e-6])
@pytest.mark.parametrize("ddof", [0, 1])
@pytest.mark.parametrize("scale", ["std", "none"])
def test_equal_rewards_give_exactly_zero_though_float32_rounds(scale, ddof, eps):
    for reward, number in ((0.7, 8), (0.3, 6), (0.1, 3), (1.0, 1)):
        rewards = torch.full((number,), reward)
        assert group_relative_advantages(rewards, torch.zeros(number).long(), scale, ddof, eps).tolist() == [0.0] * number


def test_what_an_epsilon_alone_makes_of_equal_rewards():
    """Why the rewards are compared: torch's float32 mean and std of equal numbers are a little off."""
    sevens, threes = torch.full((8,), 0.7), torch.full((6,), 0.3)
    centered, std = sevens - sevens.mean(), sevens.std(correction=0)
    assert (centered.abs().max().item(), std.item()) == pytest.approx((5.96e-8, 5.96e-8), rel=1e-3)
    assert (centered / (std + 1e-8)).abs().max().item() == pytest.approx(0.856, abs=5e-4)
    assert (centered / (std + 1e-6)).abs().max().item() == pytest.approx(0.06, abs=5e-3)
    assert (centered / std.clamp_min(1e-6)).abs().max().item() == pytest.approx(0.0596, abs=5e-5)
    assert (centered / (std + 1e-4)).abs().max().item() == pytest.approx(6e-4, rel=0.01)
    assert ((threes - threes.mean()) / (threes.std(correction=0) + 1e-8)).abs().max().item() == pytest.approx(0.749, abs=5e-4)
    assert centered.min() > 0  # the mean came out too small
    made = [(centered / (std + eps)).abs().max().item() for eps in (1e-8, 1e-6)]
    LESSON.printed("zero-variance", "0.7", *[r"$6\cdot 10^{-8}$"] * 2, r"$\varepsilon_{\mathrm{std}}=10^{-8}$", "$10^{-6}$")
    LESSON.printed("zero-variance", *(f"{advantage:.2f}" for advantage in made))


def test_nearly_equal_rewards_are_not_equal():
    rewards = [0.5, 0.5, 0.5, 0.5001]
    assert advantages_of(rewards, eps=0.0) == pytest.approx([-0.577350] * 3 + [1.732051], **SIX_PLACES)
    assert advantages_of(rewards, ddof=1, eps=1e-4) == pytest.approx([-0.1667] * 3 + [0.5], abs=5e-5)
    assert advantages_of(rewards, scale="none")[-1] == pytest.approx(7.5e-5)


@pytest.mark.parametrize(("p", "factor", "zero_variance"), [
    (0.02, 2.5732, 0.8508), (0.05, 2.4731, 0.6634), (0.10, 2.3277, 0.4305), (0.25, 2.0261, 0.1001), (0.50, 1.8557, 0.0078),
    (0.90, 2.3277, 0.4305), (0.98, 2.5732, 0.8508),
])
def test_difficulty_bias(p, factor, zero_variance):
    """E[GRPO's gradient] over the true one, for completions right with probability p, by enumerating how many of 8 are right."""
    chances = {right: comb(8, right) * p ** right * (1 - p) ** (8 - right) for right in range(9)}

    def relative_gradient(advantages) -> float:
        total = 0.0
        for right in range(1, 8):
            good, bad = advantages(right)
            total += chances[right] * (right * good * (1 - p) - (8 - right) * bad * p) / 8
        return total / (p * (1 - p))

    assert relative_gradient(lambda right: right_of_eight(right, eps=0.0)) == pytest.approx(factor, abs=5e-5)
    assert relative_gradient(lambda right: right_of_eight(right, scale="none")) == pytest.approx(0.875)
    assert 8 / 7 * relative_gradient(lambda right: right_of_eight(right, scale="none")) == pytest.approx(1.0)  # leave-one-out
    assert chances[0] + chances[8] == pytest.approx(zero_variance, abs=5e-5)


# Step 2: KL estimators, token ratio


def logs(probabilities) -> torch.Tensor:
    return torch.tensor([probabilities], dtype=torch.float64).log()


def k3_of(policy: torch.Tensor, reference: torch.Tensor) -> torch.Tensor:
    return k3_kl(policy, reference, torch.ones_like(policy, dtype=torch.bool))


CASES = {
    "close": ((0.5, 0.3, 0.2), (0.4, 0.4, 0.2)),
    "far": ((0.7, 0.2, 0.1), (0.2, 0.3, 0.5)),
    "two": ((0.5, 0.5), (0.45, 0.55)),
}


def test_k3_of_the_three_tokens():
    policy, reference = (logs(p) for p in CASES["close"])
    k1 = policy - reference
    assert k1.tolist()[0] == pytest.approx([0.2231, -0.2877, 0], abs=5e-5)
    assert (k1 ** 2 / 2).tolist()[0] == pytest.approx([0.0249, 0.0414, 0], abs=5e-5)
    assert k3_of(policy, reference).tolist()[0] == pytest.approx([0.0231, 0.0457, 0], abs=5e-5)


@pytest.mark.parametrize(("case", "kl", "k1_variance", "k1_lowest", "k2_bias", "k2_variance", "k3_variance"), [
    ("close", 0.02526715, 0.04908639, -0.2877, -0.00040475, 0.00020548, 0.00025459),
    ("far", 0.63489727, 0.98740543, -1.6094, 0.06035272, 0.11675510, 0.37314197),
    ("two", 0.00502517, 0.01006718, -0.0953, 0.00002105, 2.5e-7, 1.1e-7),
])
def test_value_and_variance_of_the_estimators(case, kl, k1_variance, k1_lowest, k2_bias, k2_variance, k3_variance):
    policy, reference = (logs(p) for p in CASES[case])
    k1 = policy - reference
    k2, k3 = k1 ** 2 / 2, k3_of(policy, reference)

    def mean(values) -> float:
        return float((policy.exp() * values).sum())

    def variance(values) -> float:
        return mean((values - mean(values)) ** 2)

    assert [mean(k1), mean(k3)] == pytest.approx([kl, kl], abs=5e-9)
    assert mean(k2) - kl == pytest.approx(k2_bias, abs=1e-8)
    assert [variance(k1), variance(k2), variance(k3)] == pytest.approx([k1_variance, k2_variance, k3_variance], abs=1e-8)
    assert float(k1.min()) == pytest.approx(k1_lowest, abs=5e-5)
    assert (k3 >= 0).all()


def test_reversed_k3_is_far_off():
    policy, reference = (logs(p) for p in CASES["far"])
    mean, reverse = (float((policy.exp() * k3_of(*pair)).sum()) for pair in ((policy, reference), (reference, policy)))
    LESSON.printed("why-k3-kl", r"$\pi=(0.7,0.2,0.1)$", r"$\pi_{\mathrm{ref}}=(0.2,0.3,0.5)$", f"{mean:.4f}", f"{reverse:.4f}")


def test_the_tables_of_step_2():
    policy, reference = moved_policy("near", 0.0)
    in_loss = [estimate(policy, reference, name, "loss") for name in ("k1", "k2", "k3")]

    def four_places(numbers) -> list[str]:
        return ["0" if abs(number) < 1e-12 else f"{number:.4f}" for number in numbers]

    tokens = [[*brief([policy[token], reference[token]]), *four_places(one.values[token] for one in in_loss)] for token in range(3)]
    expectations, variances = (four_places(getattr(one, kind) for one in in_loss) for kind in ("expectation", "variance"))
    of_token = [*in_loss, estimate(policy, reference, "k3", "loss_times_ratio"), estimate(policy, reference, "k1", "reward")]
    gradients = [f"({','.join(brief([round(number, 4) for number in one.gradient]))})" for one in of_token]
    LESSON.table("step-2", *tokens, expectations, variances, *([gradient] for gradient in gradients))
    LESSON.printed("step-2", *[expectations[0]] * 3)  # in the table for k1 and k3, and as the divergence
    assert [whose_gradient(one.gradient, policy, reference) for one in of_token] == [
        "zero", "policy_first", "reference_first", "policy_first", "policy_first"]


def test_the_panel_of_the_estimators_tells_the_answers():
    far, half, near = moved_policy("far", 0.0), moved_policy("far", 0.5), moved_policy("near", 0.0)
    k1, k2, k3 = (estimate(*far, name, "loss") for name in ("k1", "k2", "k3"))
    LESSON.printed("saw-kl", f"{k2.bias:.4f}", f"{k1.variance:.4f}", f"{k3.variance:.4f}")
    LESSON.printed("saw-kl", *(f"{estimate(*half, name, 'loss').variance:.4f}" for name in ("k3", "k1")))
    assert whose_gradient(estimate(*far, "k3", "reward").gradient, *far) == "other"
    for name, placement in (("k1", "reward"), ("k1", "loss_times_ratio"), ("k3", "loss_times_ratio")):
        assert whose_gradient(estimate(*far, name, placement).gradient, *far) == "policy_first"
    LESSON.printed("saw-kl", *(f"{estimate(*near, name, 'loss').variance:.4f}" for name in ("k2", "k3", "k1")))


@pytest.mark.parametrize(("case", "of_policy", "of_reference", "k3_in_reward"), [
    ("close", (0.098938, -0.093885, -0.005053), (0.1, -0.1, 0.0), (-0.001062, 0.006115, -0.005053)),
    ("far", (0.432506, -0.208072, -0.224434), (0.5, -0.1, -0.4), (-0.067494, -0.108072, 0.175566)),
])
def test_expected_gradients_of_the_estimators(case, of_policy, of_reference, k3_in_reward):
    """By enumeration: the tokens are sampled, so their probabilities are weights without a gradient."""
    start, reference = (logs(p) for p in CASES[case])

    def gradient(loss) -> list[float]:
        logits = start.clone().requires_grad_()
        return torch.autograd.grad(loss(logits.log_softmax(dim=-1)), logits)[0][0].tolist()

    chances, old = start.exp(), start
    expected = {
        "KL(policy, reference)": (gradient(lambda new: (new.exp() * (new - reference)).sum()), of_policy),
        "KL(reference, policy)": (gradient(lambda new: (reference.exp() * (reference - new)).sum()), of_reference),
        "k1 in the loss": (gradient(lambda new: (chances * (new - reference)).sum()), (0, 0, 0)),
        "k2 in the loss": (gradient(lambda new: (chances * (new - reference) ** 2 / 2).sum()), of_policy),
        "k3 in the loss": (gradient(lambda new: (chances * k3_of(new, reference)).sum()), of_reference),
        "ratio times k1": (gradient(lambda new: (chances * (new - old).exp() * (new - reference)).sum()), of_policy),
        "ratio times k3": (gradient(lambda new: (chances * (new - old).exp() * k3_of(new, reference)).sum()), of_policy),
        "k1 in the reward": (gradient(lambda new: (chances * (old - reference) * new).sum()), of_policy),
        "k3 in the reward": (gradient(lambda new: (chances * k3_of(old, reference) * new).sum()), k3_in_reward),
    }
    for name, (got, wanted) in expected.items():
        assert got == pytest.approx(wanted, abs=1e-6), name


def test_k3_keeps_its_digits_near_zero_and_far_away():
    one = torch.ones(1, 1, dtype=torch.bool)
    for gap, wanted in ((1e-6, 5.000002e-13), (60.0, 1.142007389815684e26), (-60.0, 59.0)):
        logps = torch.tensor([[0.0]], dtype=torch.float64)
        assert float(k3_kl(logps, logps + gap, one)) == pytest.approx(wanted, rel=1e-6)
    gaps = torch.linspace(-1e-3, 1e-3, 20001)[None]
    assert (k3_of(torch.zeros_like(gaps), gaps) >= 0).all()
    assert (gaps.exp() - gaps - 1 < 0).any()  # without expm1


def losses_of(changes, advantage, **named) -> tuple[list[float], list[float]]:
    """Losses and gradients of one completion whose token log-probabilities changed so."""
    old = torch.full((1, len(changes)), -1.0, dtype=torch.float64)
    new = (old + torch.tensor([changes], dtype=torch.float64)).requires_grad_()
    losses = grpo_token_losses(new, old, torch.tensor([advantage]), torch.ones_like(old, dtype=torch.bool), **named)
    return losses[0].tolist(), torch.autograd.grad(losses.sum(), new)[0][0].tolist()


@pytest.mark.parametrize(("advantage", "ratio", "surrogate", "slope"), [
    (1.0, 0.5, 0.5, 0.5), (1.0, 1.1, 1.1, 1.1), (1.0, 1.25, 1.25, 1.25), (1.0, 1.5, 1.28, 0.0),
    (-1.0, 0.5, -0.8, 0.0), (-1.0, 0.9, -0.9, -0.9), (-1.0, 1.1, -1.1, -1.1), (-1.0, 1.5, -1.5, -1.5),
    (0.0, 0.5, 0.0, 0.0), (0.0, 1.1, 0.0, 0.0), (0.0, 1.5, 0.0, 0.0),
])
def test_clip_table(advantage, ratio, surrogate, slope):
    loss, gradient = losses_of([float(torch.tensor(ratio, dtype=torch.float64).log())], advantage, epsilon_high=0.28)
    assert (loss, gradient) == (pytest.approx([-surrogate]), pytest.approx([-slope]))


def test_clip_higher():
    change = [float(torch.tensor(1.25, dtype=torch.float64).log())]
    for epsilon_high, loss, gradient in ((0.2, -1.2, 0.0), (0.28, -1.25, -1.25), (1.0, -1.25, -1.25)):
        assert losses_of(change, 1.0, epsilon_high=epsilon_high) == (pytest.approx([loss]), pytest.approx([gradient]))


def test_token_ratios_and_sequence_ratio():
    for changes, tokens, sequence, mean in (((0.1, -0.2, 0.4), (1.105171, 0.818731, 1.491825), 1.349859, 1.105171),
                                            ((0.5, -0.5), (1.648721, 0.606531), 1.0, 1.0),
                                            ((-0.1,) * 3, (0.904837,) * 3, 0.740818, 0.904837)):
        losses, _ = losses_of(changes, 1.0, epsilon_low=0.9, epsilon_high=9.0)
        assert losses == pytest.approx([-ratio for ratio in tokens], **SIX_PLACES)
        ratio = torch.tensor(losses).prod().abs().item()
        assert (ratio, ratio ** (1 / len(changes))) == pytest.approx((sequence, mean), abs=1e-6)
    changes = torch.tensor([0.1, -0.2, 0.4], dtype=torch.float64)
    three, sequence, mean = [f"{ratio:.3f}" for ratio in changes.exp()], f"{changes.sum().exp():.3f}", f"{changes.mean().exp():.3f}"
    LESSON.printed("token-ratio", f"${','.join(brief(changes, sign=True))}$", sequence, *three, "0.8", "1.28", "$+0.5,-0.5$")
    LESSON.printed("token-ratio", "0.2", "0.28")
    LESSON.printed("token-ratio", *(f"{ratio:.3f}" for ratio in torch.tensor([0.5, -0.5]).exp()), "$A=+1$", r"$\rho=1.25$")
    LESSON.printed("relatives", rf"$e^{{0.3/3}}\approx {mean}$", sequence)


def test_example_of_todo_3():
    losses, gradients = losses_of((0.1, -0.2, 0.4), 1.0, epsilon_high=0.28)
    assert losses == pytest.approx([-1.1052, -0.8187, -1.28], abs=5e-5)
    assert gradients == pytest.approx([-1.1052, -0.8187, 0.0], abs=5e-5)
    with_kl, _ = losses_of((0.1, -0.2, 0.4), 1.0, epsilon_high=0.28, token_kl=torch.full((1, 3), 0.5), beta=0.1)
    assert with_kl == pytest.approx([loss + 0.05 for loss in losses])
    by_four = [",".join(brief([round(number, 4) for number in numbers])) for numbers in (losses, gradients)]
    LESSON.printed("todo-3", "0.2", "0.28", "$A=+1$", "$+0.1,-0.2,+0.4$", *(f"${listed}$" for listed in by_four))
    LESSON.printed("todo-3", "0.5", r"$\beta=0.1$", f"{with_kl[0] - losses[0]:.2f}")


def test_example_of_todo_2():
    policy, reference = logs((0.5, 0.3)).requires_grad_(), logs((0.4, 0.4))
    token_kl = k3_of(policy, reference)
    assert token_kl.tolist()[0] == pytest.approx([0.0231, 0.0457], abs=5e-5)
    first, second = torch.autograd.grad(token_kl.sum(), policy)[0][0].tolist()
    LESSON.printed("todo-2", *(rf"$\log {chance}$" for chance in (0.5, 0.3, 0.4)), *(f"{value:.4f}" for value in token_kl[0]))
    LESSON.printed("todo-2", rf"$1-\frac{{0.4}}{{0.5}}={first:g}$", rf"$1-\frac{{0.4}}{{0.3}}={second:.4f}$")


def test_kl_pulls_nothing_where_the_policies_agree():
    policy = logs((0.5, 0.3)).requires_grad_()
    token_kl = k3_of(policy, policy.detach())
    assert torch.autograd.grad(token_kl.sum(), policy)[0].tolist() == [[0.0, 0.0]]


# Step 3: reductions


@pytest.mark.parametrize(("reduction", "loss", "short", "long"), [
    ("sequence_mean", 0.0, 0.25, -0.0625), ("token_mean", 0.6, 0.1, -0.1), ("sequence_sum", 3.0, 0.5, -0.5), ("constant", 0.3, 0.05, -0.05),
])
def test_push_on_each_token(reduction, loss, short, long):
    mask = torch.arange(8) < torch.tensor([[2], [8]])
    logps = torch.full((2, 8), -1.0, requires_grad=True)
    losses = grpo_token_losses(logps, logps.detach(), torch.tensor([1.0, -1.0]), mask)
    reduced = reduce_token_losses(losses, mask, reduction, max_length=10)
    push = -torch.autograd.grad(reduced, logps)[0]
    assert float(reduced.detach()) == pytest.approx(loss)
    assert push[0].tolist() == pytest.approx([short] * 2 + [0.0] * 6) and push[1].tolist() == pytest.approx([long] * 8)
    assert push.sum(dim=1).tolist() == pytest.approx([2 * short, 8 * long])


def test_step_3_prints_the_pushes_and_the_losses():
    mask, names = torch.arange(8) < torch.tensor([[2], [8]]), ("sequence_mean", "token_mean", "sequence_sum", "constant")
    logps = torch.full((2, 8), -1.0)
    losses = grpo_token_losses(logps, logps, torch.tensor([1.0, -1.0]), mask)
    LESSON.table("step-3", *(brief([*push_on(name, (2, 8)).token, *push_on(name, (2, 8)).completion]) for name in names))
    reduced = brief([reduce_token_losses(losses, mask, name, max_length=10) for name in names])
    LESSON.printed("step-3", "10", ", ".join(reduced[:3]), reduced[3], "$A=+1$", "$A=-1$")
    LESSON.printed("todo-4", "$-1$", "$+1$", ", ".join(reduced[:3]), "10", reduced[3])


def test_the_panel_of_the_reductions_tells_the_answers():
    before, after = push_on("token_mean", (2, 8)), push_on("token_mean", (2, 2))
    assert [name for name in ("sequence_mean", "token_mean", "sequence_sum", "constant")
            if push_on(name, (2, 8)).token[0] != push_on(name, (2, 2)).token[0]] == ["token_mean"]
    LESSON.printed("saw-reduction", f"{before.token[0]:g}", f"{after.token[0]:g}")
    uneven = push_on("sequence_mean", (1, 10))
    LESSON.printed("saw-reduction", *[f"{uneven.token[0]:g}"] * 2, f"${uneven.token[1]:g}$", rf"$\pm{uneven.completion[0]:g}$")
    assert uneven.completion[0] == -uneven.completion[1]
    for name in ("token_mean", "sequence_sum", "constant"):
        one, ten = push_on(name, (1, 10)).completion
        assert ten == pytest.approx(-10 * one)


def test_whole_chain_on_the_batch_of_lesson_rloo():
    rewards, group_ids = torch.tensor([1, 0, 1, 0]), torch.zeros(4, dtype=torch.int64)
    old = torch.tensor([[-0.8, -0.4], [-0.5, -0.5], [-1.0, -0.3], [-0.2, -0.9]])
    new = old + torch.tensor([[0.1, 0.2], [0.0, 0.5], [-0.2, -0.1], [-0.05, 0.02]])
    mask = torch.tensor([[True, True], [True, False], [True, True], [True, True]])
    advantages = group_relative_advantages(rewards, group_ids)
    assert advantages.tolist() == pytest.approx([1, -1, 1, -1], abs=3e-6)
    losses = grpo_token_losses(new, old, advantages, mask, epsilon_low=0.2, epsilon_high=0.28)
    for reduction, wanted in (("sequence_mean", -0.0098), ("token_mean", -0.1541), ("constant", -0.1348)):
        assert float(reduce_token_losses(losses, mask, reduction, max_length=2)) == pytest.approx(wanted, abs=5e-5), reduction


def test_rloo_and_grpo_on_one_batch():
    """The cell "RLOO and GRPO on one batch" and what the lesson says of it."""
    seen = []
    watched = LESSON.cells["side-by-side", None].replace("loss.backward()", "loss.backward(); seen.append(0.0 - new.grad)")
    names = {"torch": torch, "seen": seen, **vars(rloo), **vars(grpo)}
    exec(watched, names)
    (first_rloo, first_grpo, later_rloo, later_grpo), mask = seen, names["mask"]
    assert first_rloo[mask][3:].tolist() == pytest.approx([float(first_rloo[1, 0])] * 7)
    LESSON.printed("saw-side-by-side", f"{-first_rloo[1, 0]:.4f}", r"$\frac13$", f"{-first_grpo[2, 0]:.4f}", f"{-first_grpo[3, 0]:.4f}")
    changes = torch.tensor([0.1, -0.2, 0.4])
    LESSON.printed("saw-side-by-side", rf"$e^{{{changes.sum():g}}}\approx {changes.sum().exp():.2f}$", "1.28", "0.8")
    LESSON.printed("use-it", "1, 0, 0, 0", "3, 2, 1", "0.8", "1.28", "$+0.1,-0.2,+0.4$", "$+0.5,-0.5$")
    assert later_rloo[0].tolist() == [0.0] * 4 and torch.equal(later_rloo[1], first_rloo[1])
    assert (later_grpo[0] > 0).tolist() == [True, True, False, False] and later_grpo[0, 2] == 0
    assert later_grpo[1, 0] < first_grpo[1, 0] and later_grpo[1, 1] == 0


def test_numbers_of_the_written_question():
    for right, factor in ((1, 2.646), (4, 1.75)):
        leave_one_out = right_of_eight(right, scale="none")[0] * 8 / 7
        assert right_of_eight(right, eps=0.0)[0] / leave_one_out == pytest.approx(factor, abs=5e-4)
    LESSON.printed("rubric", f"${right_of_eight(1, eps=0.0)[0]:.3f}/1$", f"$1/{right_of_eight(4, scale='none')[0] * 8 / 7:.3f}=1.75$")


def test_three_right_of_eight_and_the_training():
    LESSON.printed_of_the_training()
    LESSON.printed("saw-train", *(f"${advantage:+.3f}$" for advantage in right_of_eight(3)))


# GRPO's relatives


def test_cispo_keeps_the_gradient_that_the_clip_drops():
    """CISPO: minus the capped, frozen ratio times A log pi."""
    old = torch.tensor(-1.0, dtype=torch.float64)
    new = (old + torch.tensor(1.5, dtype=torch.float64).log()).requires_grad_()
    weight = (new - old).exp().clamp(max=1.28).detach()
    gradient = torch.autograd.grad(weight * new, new)[0].item()
    LESSON.printed("relatives", r"$\rho=1.5$", "$A=+1$", "0.8", *["1.28"] * 2, f"{gradient:g}")  # DAPO's range, the cap, the gradient
    assert losses_of([float((new - old).detach())], 1.0, epsilon_high=0.28)[1] == [0.0]


def test_dapo_overlong_penalty():
    limit, soft = 100, 20
    added = [min(0.0, max(-1.0, (limit - soft - length) / soft)) for length in (80, 90, 99, 100, 120)]
    assert added[-1] == -1
    LESSON.printed("relatives", *[str(limit)] * 2, str(soft), "80, 90, 99", *(f"${value:g}$" for value in added[1:3]), *["$-1$"] * 2)
