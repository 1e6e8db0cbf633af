"""The numbers that lesson CAST prints outside its checks, computed with its functions."""

import math
import re
from math import comb

import pytest
import torch

from advantagelab.algorithms import cast
from advantagelab.algorithms.cast import asymmetric_weights, cast_base_advantages, cast_loss, cast_token_advantages, self_teacher_gap
from advantagelab.widgets.token_ribbon import RIGHT, WRONG
from lessons._build.course import ROOT

FOUR_PLACES = {"abs": 6e-5, "rel": 0}
PROSE = (ROOT / "lessons" / "cast" / "lesson.md").read_text(encoding="utf-8")


def double(values) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64)


def base_of(*rewards, **deltas) -> list[float]:
    return cast_base_advantages(double(rewards), torch.zeros(len(rewards), dtype=torch.int64), **deltas).tolist()


def right_of_eight(right: int) -> tuple[float, float]:
    """The base advantage of a right and of a wrong completion."""
    advantages = base_of(*[1.0] * right, *[0.0] * (8 - right))
    return advantages[0], advantages[-1]


def on_tokens(base: float, gaps, z: str = "sign", **options) -> list[float]:
    """Token advantages of one completion; without flips and final clip they are its shaped advantages."""
    base, gaps = double([base]), double([gaps])
    return cast_token_advantages(base, gaps, asymmetric_weights(base, gaps, z=z), **options)[0].tolist()


SHAPED = {"flip_down": False, "flip_up": False, "limit": math.inf}


# Step 1: base advantages and gap


def test_three_groups_of_four():
    assert base_of(1, 0, 0, 0) == pytest.approx([1.7320] + [-0.5773] * 3, abs=6e-5)
    assert base_of(1, 1, 1, 1) == [0.1] * 4 and base_of(0, 0, 0, 0) == [-0.1] * 4
    assert base_of(1, math.nan, 1) == [0.1, 0.0, 0.1] and base_of(0, 0) == [-0.1, -0.1]


FACTORS = {  # p: of GRPO, of GRPO after the final clip, added by constants of 0.1 and of 1
    0.05: (2.4731, 1.3229, 0.0698, 0.6983), 0.25: (2.0261, 1.6373, 0.0134, 0.1335), 0.5: (1.8557, 1.7450, 0.0016, 0.0156),
    0.75: (2.0261, 1.6373, 0.0134, 0.1335), 0.95: (2.4731, 1.3229, 0.0698, 0.6983),
}


@pytest.mark.parametrize("p", FACTORS)
def test_what_the_constants_add_to_the_expected_gradient_and_the_final_clip_takes(p):
    grpo, clipped, small, large = FACTORS[p]

    def factor(delta: float, limit: float = math.inf) -> float:
        # Of E[mean of B · grad log pi] = factor · grad p: a right completion has grad p / p, a wrong one minus grad p / (1 - p).
        total = 0.0
        for right in range(9):
            chance = comb(8, right) * p**right * (1 - p) ** (8 - right)
            base = base_of(*[1.0] * right, *[0.0] * (8 - right), delta_pos=delta, delta_neg=delta)
            base = [max(-limit, min(limit, value)) for value in base]
            total += chance * (sum(base[:right]) / p - sum(base[right:]) / (1 - p)) / 8
        return total

    without = factor(0.0)
    assert without == pytest.approx(grpo, abs=2e-4)  # the table is computed without the epsilon
    assert factor(0.0, limit=1.2) == pytest.approx(clipped, **FOUR_PLACES)
    assert factor(0.1, limit=1.2) - factor(0.0, limit=1.2) == pytest.approx(small, **FOUR_PLACES)
    assert factor(0.1) - without == pytest.approx(small, **FOUR_PLACES)
    assert factor(1.0) - without == pytest.approx(large, **FOUR_PLACES)
    assert factor(1.0) - without == pytest.approx(p**7 + (1 - p) ** 7)


def test_the_rows_of_factors_are_printed_in_both_languages():
    for row in zip(*FACTORS.values(), strict=True):
        assert PROSE.count("| " + " | ".join(f"{value:.4f}" for value in row) + " |") == 2


def test_the_gaps_of_three_tokens():
    teacher, old, mask = double([[0.5, 0.3, 0.2]]).log(), double([[0.4, 0.4, 0.2]]).log(), torch.ones(1, 3, dtype=torch.bool)
    assert self_teacher_gap(teacher, old, mask)[0].tolist() == pytest.approx([0.2231, -0.2877, 0.0], **FOUR_PLACES)
    assert self_teacher_gap(teacher, old, mask, dead_band=0.25)[0].tolist() == pytest.approx([0.0, -0.2877, 0.0], **FOUR_PLACES)


# Step 2: the reading exercise, flips, final clip


def test_the_reading_exercise():
    base, gaps = double([-1.0]), double([[0.5, -0.5]])
    for z, weights in (("printed", [1.2, 0.95]), ("sign", [0.95, 1.2])):
        assert asymmetric_weights(base, gaps, z=z)[0].tolist() == weights
        assert on_tokens(-1.0, [0.5, -0.5], z, **SHAPED) == pytest.approx([-weight for weight in weights])
    assert on_tokens(1.0, [0.5, -0.5], "printed", **SHAPED) == on_tokens(1.0, [0.5, -0.5], "sign", **SHAPED)


def test_rlsd_has_the_same_convex_form():
    weights = double([[0.8, 1.0, 1.2]])
    for base in (2.0, -2.0):
        ours = cast_token_advantages(double([base]), torch.zeros(1, 3), weights, lam=0.4, **SHAPED)
        assert torch.allclose(ours, base * (1 - 0.4 + 0.4 * weights))
        assert (ours.sign() == math.copysign(1, base)).all()


TABLE = {  # gap: shaped and token advantage for B = +1, the same for B = -1, and the last once more as printed
    0.5: (1.05, 1.05, -0.95, 1.05, 1.05),
    0.03: (1.0305, 1.0305, -0.9704, 1.0305, 1.0305),
    0.0: (1, 1, -1, -1, -1),
    -0.03: (0.9704, -1.0305, -1.0305, -1.0305, -0.9704),
    -0.5: (0.8, -1.2, -1.2, -1.2, -0.95),
}


@pytest.mark.parametrize("gap", TABLE)
def test_the_table_of_step_2(gap):
    row = [on_tokens(1.0, [gap], **SHAPED), on_tokens(1.0, [gap]), on_tokens(-1.0, [gap], **SHAPED), on_tokens(-1.0, [gap]),
           on_tokens(-1.0, [gap], "printed")]
    assert [value for (value,) in row] == pytest.approx(list(TABLE[gap]), **FOUR_PLACES)
    signed = f"{gap:+g}" if gap else "0"
    printed = " | ".join(f"${value:g}$" for value in TABLE[gap])
    assert PROSE.count(f"| ${signed}$ | {printed} |") == 2, "once in each language"


def test_the_final_clip_hides_the_size_of_the_gap_up_to_three_right():
    gaps = torch.linspace(-1, 1, 41).tolist()
    assert right_of_eight(1)[0] == pytest.approx(2.646, abs=6e-4)
    for right in range(1, 5):
        sizes = {abs(value) for value in on_tokens(right_of_eight(right)[0], gaps)}
        assert (sizes == {1.2}) == (right <= 3), right


def test_what_the_widget_shows():
    nothing = 1e-9
    for base in (1.0, -1.0):
        assert on_tokens(base, [nothing, 0.0, -nothing]) == pytest.approx([1.0, base, -1.0])
    assert on_tokens(1.0, [-0.6], **SHAPED) == [0.8] and on_tokens(-1.0, [0.6], **SHAPED) == [-0.95]
    assert on_tokens(1.0, [0.5, -0.5], lam=0.0) == on_tokens(-1.0, [0.5, -0.5], lam=0.0) == [1.0, -1.0]
    right, _ = right_of_eight(1)
    assert {abs(value) for value in on_tokens(right, RIGHT.gaps.tolist())} == {1.2}
    assert on_tokens(1.0, [0.6], **SHAPED) == [1.05] and on_tokens(-1.0, [-0.6], **SHAPED) == [-1.2]
    wide = on_tokens(right, RIGHT.gaps.tolist(), limit=3.0)
    assert (min(wide), max(wide)) == pytest.approx((-3.0, 2.778), abs=6e-4)
    assert right_of_eight(4) == pytest.approx((1.0, -1.0), abs=1e-5)


def test_two_tokens_flip_back_in_a_dead_band_of_005():
    back = []
    for base, completion in ((1.0, RIGHT), (-1.0, WRONG)):
        for token, gap in zip(completion.tokens, completion.gaps.tolist(), strict=True):
            (value,) = on_tokens(base, [gap])
            if value * base < 0 and abs(gap) <= 0.05:
                back.append((completion.name[0], token, gap))
    assert back == [("right", "3*4", -0.01), ("wrong", "=", 0.02)]


@pytest.mark.parametrize("bound, dead", [("l₊", True), ("l₋", True), ("u₊", False), ("u₋", False)])
def test_with_both_flips_the_lower_bounds_are_dead(bound, dead):
    gaps, moved = torch.linspace(-0.6, 0.6, 25).tolist(), {"l₊": (0.6, 1.05), "u₊": (0.8, 1.1), "l₋": (0.6, 1.2), "u₋": (0.95, 1.1)}
    name = "positive_bounds" if "₊" in bound else "negative_bounds"

    def all_advantages(**options) -> list[float]:
        bounds = {key: value for key, value in options.items() if key.endswith("bounds")}
        found = []
        for base in (double([1.0]), double([-1.0])):
            tokens = double([gaps])
            found += cast_token_advantages(base, tokens, asymmetric_weights(base, tokens, **bounds), **options)[0].tolist()
        return found

    assert (all_advantages() == all_advantages(**{name: moved[bound]})) == dead
    assert all_advantages(flip_down=False, flip_up=False) != all_advantages(flip_down=False, flip_up=False, **{name: moved[bound]})


def test_as_printed_it_is_the_upper_bound_that_no_unflipped_token_meets():
    gaps = torch.linspace(-0.6, 0.0, 25).tolist()  # B < 0 flips the others
    base, tokens = double([-1.0]), double([gaps])
    usual, wide, low = (asymmetric_weights(base, tokens, z="printed", negative_bounds=bounds) for bounds in
                        ((0.95, 1.2), (0.95, 2.0), (0.6, 1.2)))
    assert torch.equal(usual, wide) and not torch.equal(usual, low)


# Step 3: the loss


def lone_token(ratio: float, advantage: float, **options) -> tuple[float, float]:
    """(loss, its gradient) of one token."""
    new = double([[math.log(ratio)]]).requires_grad_()
    loss = cast_loss(new, double([[0.0]]), double([[advantage]]), torch.ones(1, 1, dtype=torch.bool), **options)
    loss.backward()
    return loss.item(), new.grad.item()


def test_each_token_has_its_own_side_of_the_clip():
    assert lone_token(0.7, 1.0) == pytest.approx((-0.7, -0.7))
    assert lone_token(0.7, -1.2) == pytest.approx((0.96, 0.0))
    assert lone_token(1.5, 1.05) == pytest.approx((-1.575, -1.575))
    assert lone_token(1.5, 1.05, epsilon_high=0.28) == pytest.approx((-1.344, 0.0))


def test_two_reductions_of_six_tokens():
    advantages, mask = double([[1.05, -1.2, 0, 0], [-1.2, 1.05, -1, -1]]), torch.tensor([[True, True, False, False], [True] * 4])
    losses = [cast_loss(torch.zeros(2, 4), torch.zeros(2, 4), advantages, mask, reduction=name) for name in ("token_mean", "sequence_mean")]
    assert [loss.item() for loss in losses] == pytest.approx([0.3833, 0.3063], **FOUR_PLACES)


# What the algebra says


def test_the_sign_is_the_gaps_and_the_size_has_a_closed_form():
    gaps = [gap for gap in torch.linspace(-1, 1, 41).tolist() if abs(gap) > 1e-6]
    for base in (2.6, 1.0, 0.1, -0.1, -1.0, -2.6):
        for lam in (0.0, 0.5, 1.0):
            expected = [math.copysign(abs(base) * (1 + lam * (min(math.exp(abs(gap)), 1.05 if gap > 0 else 1.2) - 1)), gap) for gap in gaps]
            assert on_tokens(base, gaps, lam=lam, limit=math.inf) == pytest.approx(expected)


def test_all_correct_and_all_wrong_groups_get_the_same():
    assert on_tokens(0.1, [0.5, -0.5]) == pytest.approx([0.105, -0.12])
    assert on_tokens(-0.1, [0.5, -0.5]) == pytest.approx([0.105, -0.12])
    assert on_tokens(0.1, [0.0]) == [0.1] and on_tokens(-0.1, [0.0]) == [-0.1]


def test_the_update_follows_the_self_teacher():
    old, teacher = (torch.softmax(double(logits), dim=0) for logits in ([1.5, 0.5, 0.0], [1.1, 0.8, 0.0]))
    assert old.tolist() == pytest.approx([0.6285, 0.2312, 0.1402], **FOUR_PLACES)
    assert teacher.tolist() == pytest.approx([0.4822, 0.3572, 0.1605], **FOUR_PLACES)
    for base in (1.0, -1.0):
        advantages = double(on_tokens(base, (teacher / old).log().tolist()))
        assert advantages.tolist() == pytest.approx([-1.2, 1.05, 1.05])
        push = old * (advantages - (old * advantages).sum())  # expected gradient of advantage · log-probability, on the logits
        assert push.tolist() == pytest.approx([-0.5253, 0.3270, 0.1983], **FOUR_PLACES)
        assert push @ double([1.1 - 1.5, 0.8 - 0.5, 0.0]) > 0


def test_a_lower_bound_above_1_is_a_floor():
    for bound, moves in ((0.8, False), (1.0, False), (1.1, True)):
        bounds = {"positive_bounds": (bound, 1.15), "negative_bounds": (bound, 1.2)}
        floor = [max(1.01, bound if moves else 0.0)] * 2
        gaps = [math.log(1.01), -math.log(1.01)]
        for base in (1.0, -1.0):
            weights = asymmetric_weights(double([base]), double([gaps]), **bounds)
            found = cast_token_advantages(double([base]), double([gaps]), weights, **bounds)[0].abs().tolist()
            assert found == pytest.approx(floor), (bound, base)


def test_the_jump_at_0_and_the_dead_band():
    assert on_tokens(1.0, [1e-9, 0.0, -1e-9]) == pytest.approx([1.0, 1.0, -1.0])
    assert on_tokens(1.0, [-0.04, -0.06]) == pytest.approx([-1.0408, -1.0618], **FOUR_PLACES)
    gaps = self_teacher_gap(double([[-0.04, -0.06]]), double([[0.0, 0.0]]), torch.ones(1, 2, dtype=torch.bool), dead_band=0.05)
    assert on_tokens(1.0, gaps[0].tolist()) == pytest.approx([1.0, -1.0618], **FOUR_PLACES)


def test_where_the_sources_disagree():
    assert on_tokens(1.0, [-0.5], lam=0.5) == pytest.approx([-1.1])
    assert on_tokens(1.0, [-0.5], lam=0.5, flip_down=False) == pytest.approx([0.9])
    assert math.sqrt(7 / 8) == pytest.approx(0.935, abs=6e-4)
    assert base_of(1, 1, 1, 1, delta_pos=1.0)[0] == pytest.approx(right_of_eight(4)[0], abs=1e-5)
    assert on_tokens(2.6458, [0.5, -0.5]) == [1.2, -1.2]


# The cell that runs all five


def test_the_demo_cell_prints_what_the_lesson_says_of_it(capsys):
    cell = re.search(r"key: one-batch\n.*?---\n(.*?)```", PROSE, re.DOTALL)[1]
    exec(cell, {"torch": torch, **vars(cast)})
    older, refreshed, rounded, banded = capsys.readouterr().out.strip().split("\n\n")
    assert [re.search(r"(\d+) / (\d+)", part).groups() for part in (older, refreshed, rounded, banded)] == [
        ("8", "21"), ("0", "21"), ("10", "21"), ("0", "21")]
    rows = re.findall(r"\[+([-\d., ]+)\]", older)[:6]
    values = [[float(value) for value in row.split(",")] for row in rows]
    assert values[0][:2] == values[1][:2] == [1.05, -1.0305]
    for row in values[2:]:
        assert row[:2] == [0.105, -0.103] and abs(row[2]) == 0.1 and row[3] in (-0.12, 0.0)
    assert "tensor([0.0500, 0.0500, 0.0050, 0.0050, 0.0050, 0.0050])" in older and 1.05 / 21 == pytest.approx(0.05)
    assert refreshed.split("\n", 1)[1] == banded.split("\n", 1)[1]
    losses = [re.search(r"损失: (-?[\d.]+)", part)[1] for part in (refreshed, rounded)]
    assert losses[0] != losses[1]
