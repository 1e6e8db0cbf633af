"""CAST's functions against the tables, the theorems and the points that its sources leave open, as the course settles them."""

import inspect
import math

import pytest
import torch

from advantagelab.algorithms.cast import asymmetric_weights, cast_base_advantages, cast_loss, cast_token_advantages, self_teacher_gap
from advantagelab.algorithms.grpo import group_relative_advantages, grpo_token_losses, reduce_token_losses
from lessons.cast import spec

SIX_PLACES = {"abs": 6e-7, "rel": 0}
POSITIVE, NEGATIVE = (0.8, 1.05), (0.95, 1.2)
NO_CLIP = {"limit": math.inf}
NO_FLIPS = {"flip_down": False, "flip_up": False}


def double(values) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64)


def by_reference(base, gaps, z="sign", lam=1.0, positive=POSITIVE, negative=NEGATIVE, **options) -> torch.Tensor:
    weights = asymmetric_weights(base, gaps, z, positive, negative)
    return cast_token_advantages(base, gaps, weights, lam, positive, negative, **options)


def by_spec(base, gaps, z="sign", lam=1.0, positive=POSITIVE, negative=NEGATIVE, flip_down=True, flip_up=True, limit=1.2) -> torch.Tensor:
    weights = torch.from_numpy(spec.asymmetric_weights(base, gaps, z, positive, negative))
    return torch.from_numpy(spec.cast_token_advantages(base, gaps, weights, lam, positive, negative, flip_down, flip_up, limit))


both_ways = pytest.mark.parametrize("shape", [by_reference, by_spec])


def on_tokens(shape, base: float, gaps, **options) -> list[float]:
    """Token advantages of one completion."""
    return shape(double([base]), double([gaps]), **options)[0].tolist()


def draws(seed: int, n: int = 100, length: int = 200) -> tuple[torch.Tensor, torch.Tensor]:
    """20 000 base advantages of both signs and gaps of all sizes, none of them 0."""
    generator = torch.Generator().manual_seed(seed)
    base = torch.randn(n, generator=generator, dtype=torch.float64)
    sizes = 10 ** torch.empty(n, length, dtype=torch.float64).uniform_(-6.0, 1.0, generator=generator)
    return base, sizes * torch.where(torch.randn(n, length, generator=generator) > 0, 1.0, -1.0)


# The truth table: B by gap, both readings of z

GAPS = [0.5, 0.1, 0.03, 0.0, -0.03, -0.1, -0.5]
# By the sign of B: z and w in the reading "sign", z and w in the reading "printed".
RATIOS = {
    1.0: ([1.648721, 1.105171, 1.030455, 1.0, 0.970446, 0.904837, 0.606531], [1.05, 1.05, 1.030455, 1.0, 0.970446, 0.904837, 0.8],
          [1.648721, 1.105171, 1.030455, 1.0, 0.970446, 0.904837, 0.606531], [1.05, 1.05, 1.030455, 1.0, 0.970446, 0.904837, 0.8]),
    -1.0: ([0.606531, 0.904837, 0.970446, 1.0, 1.030455, 1.105171, 1.648721], [0.95, 0.95, 0.970446, 1.0, 1.030455, 1.105171, 1.2],
           [1.648721, 1.105171, 1.030455, 1.0, 0.970446, 0.904837, 0.606531], [1.2, 1.105171, 1.030455, 1.0, 0.970446, 0.95, 0.95]),
}
# lam, B; in the reading "sign" the shaped, the flipped and the clipped advantage; in the reading "printed" the shaped and the flipped one.
TRUTH_TABLE = [
    (1.0, 1.0,
     [1.05, 1.05, 1.030455, 1.0, 0.970446, 0.904837, 0.8],
     [1.05, 1.05, 1.030455, 1.0, -1.030455, -1.105171, -1.2],
     [1.05, 1.05, 1.030455, 1.0, -1.030455, -1.105171, -1.2],
     [1.05, 1.05, 1.030455, 1.0, 0.970446, 0.904837, 0.8],
     [1.05, 1.05, 1.030455, 1.0, -1.030455, -1.105171, -1.2]),
    (1.0, -1.0,
     [-0.95, -0.95, -0.970446, -1.0, -1.030455, -1.105171, -1.2],
     [1.05, 1.05, 1.030455, -1.0, -1.030455, -1.105171, -1.2],
     [1.05, 1.05, 1.030455, -1.0, -1.030455, -1.105171, -1.2],
     [-1.2, -1.105171, -1.030455, -1.0, -0.970446, -0.95, -0.95],
     [1.05, 1.05, 1.030455, -1.0, -0.970446, -0.95, -0.95]),
    (1.0, 0.1,
     [0.105, 0.105, 0.103045, 0.1, 0.097045, 0.090484, 0.08],
     [0.105, 0.105, 0.103045, 0.1, -0.103045, -0.110517, -0.12],
     [0.105, 0.105, 0.103045, 0.1, -0.103045, -0.110517, -0.12],
     [0.105, 0.105, 0.103045, 0.1, 0.097045, 0.090484, 0.08],
     [0.105, 0.105, 0.103045, 0.1, -0.103045, -0.110517, -0.12]),
    (1.0, -0.1,
     [-0.095, -0.095, -0.097045, -0.1, -0.103045, -0.110517, -0.12],
     [0.105, 0.105, 0.103045, -0.1, -0.103045, -0.110517, -0.12],
     [0.105, 0.105, 0.103045, -0.1, -0.103045, -0.110517, -0.12],
     [-0.12, -0.110517, -0.103045, -0.1, -0.097045, -0.095, -0.095],
     [0.105, 0.105, 0.103045, -0.1, -0.097045, -0.095, -0.095]),
    (1.0, 7**0.5,
     [2.778039, 2.778039, 2.726326, 2.645751, 2.567558, 2.393975, 2.116601],
     [2.778039, 2.778039, 2.726326, 2.645751, -2.726326, -2.924007, -3.174902],
     [1.2, 1.2, 1.2, 1.2, -1.2, -1.2, -1.2],
     [2.778039, 2.778039, 2.726326, 2.645751, 2.567558, 2.393975, 2.116601],
     [2.778039, 2.778039, 2.726326, 2.645751, -2.726326, -2.924007, -3.174902]),
    (1.0, -(7**-0.5),
     [-0.359066, -0.359066, -0.366794, -0.377964, -0.389475, -0.417715, -0.453557],
     [0.396863, 0.396863, 0.389475, -0.377964, -0.389475, -0.417715, -0.453557],
     [0.396863, 0.396863, 0.389475, -0.377964, -0.389475, -0.417715, -0.453557],
     [-0.453557, -0.417715, -0.389475, -0.377964, -0.366794, -0.359066, -0.359066],
     [0.396863, 0.396863, 0.389475, -0.377964, -0.366794, -0.359066, -0.359066]),
    (0.5, 1.0,
     [1.025, 1.025, 1.015227, 1.0, 0.985223, 0.952419, 0.9],
     [1.025, 1.025, 1.015227, 1.0, -1.015227, -1.052585, -1.1],
     [1.025, 1.025, 1.015227, 1.0, -1.015227, -1.052585, -1.1],
     [1.025, 1.025, 1.015227, 1.0, 0.985223, 0.952419, 0.9],
     [1.025, 1.025, 1.015227, 1.0, -1.015227, -1.052585, -1.1]),
    (0.5, -1.0,
     [-0.975, -0.975, -0.985223, -1.0, -1.015227, -1.052585, -1.1],
     [1.025, 1.025, 1.015227, -1.0, -1.015227, -1.052585, -1.1],
     [1.025, 1.025, 1.015227, -1.0, -1.015227, -1.052585, -1.1],
     [-1.1, -1.052585, -1.015227, -1.0, -0.985223, -0.975, -0.975],
     [1.025, 1.025, 1.015227, -1.0, -0.985223, -0.975, -0.975]),
    (0.5, 0.1,
     [0.1025, 0.1025, 0.101523, 0.1, 0.098522, 0.095242, 0.09],
     [0.1025, 0.1025, 0.101523, 0.1, -0.101523, -0.105259, -0.11],
     [0.1025, 0.1025, 0.101523, 0.1, -0.101523, -0.105259, -0.11],
     [0.1025, 0.1025, 0.101523, 0.1, 0.098522, 0.095242, 0.09],
     [0.1025, 0.1025, 0.101523, 0.1, -0.101523, -0.105259, -0.11]),
    (0.5, -0.1,
     [-0.0975, -0.0975, -0.098522, -0.1, -0.101523, -0.105259, -0.11],
     [0.1025, 0.1025, 0.101523, -0.1, -0.101523, -0.105259, -0.11],
     [0.1025, 0.1025, 0.101523, -0.1, -0.101523, -0.105259, -0.11],
     [-0.11, -0.105259, -0.101523, -0.1, -0.098522, -0.0975, -0.0975],
     [0.1025, 0.1025, 0.101523, -0.1, -0.098522, -0.0975, -0.0975]),
    (0.5, 7**0.5,
     [2.711895, 2.711895, 2.686039, 2.645751, 2.606654, 2.519863, 2.381176],
     [2.711895, 2.711895, 2.686039, 2.645751, -2.686039, -2.784879, -2.910326],
     [1.2, 1.2, 1.2, 1.2, -1.2, -1.2, -1.2],
     [2.711895, 2.711895, 2.686039, 2.645751, 2.606654, 2.519863, 2.381176],
     [2.711895, 2.711895, 2.686039, 2.645751, -2.686039, -2.784879, -2.910326]),
    (0.5, -(7**-0.5),
     [-0.368515, -0.368515, -0.372379, -0.377964, -0.38372, -0.39784, -0.415761],
     [0.387414, 0.387414, 0.38372, -0.377964, -0.38372, -0.39784, -0.415761],
     [0.387414, 0.387414, 0.38372, -0.377964, -0.38372, -0.39784, -0.415761],
     [-0.415761, -0.39784, -0.38372, -0.377964, -0.372379, -0.368515, -0.368515],
     [0.387414, 0.387414, 0.38372, -0.377964, -0.372379, -0.368515, -0.368515]),
]


@pytest.mark.parametrize(("lam", "base", "shaped", "raw", "clipped", "printed_shaped", "printed_raw"), TRUTH_TABLE)
@both_ways
def test_truth_table(shape, lam, base, shaped, raw, clipped, printed_shaped, printed_raw):
    assert on_tokens(shape, base, GAPS, lam=lam, **NO_FLIPS, **NO_CLIP) == pytest.approx(shaped, **SIX_PLACES)
    assert on_tokens(shape, base, GAPS, lam=lam, **NO_CLIP) == pytest.approx(raw, **SIX_PLACES)
    assert on_tokens(shape, base, GAPS, lam=lam) == pytest.approx(clipped, **SIX_PLACES)
    assert on_tokens(shape, base, GAPS, lam=lam, z="printed", **NO_FLIPS, **NO_CLIP) == pytest.approx(printed_shaped, **SIX_PLACES)
    assert on_tokens(shape, base, GAPS, lam=lam, z="printed", **NO_CLIP) == pytest.approx(printed_raw, **SIX_PLACES)


@pytest.mark.parametrize("base", sorted({row[1] for row in TRUTH_TABLE}))
@pytest.mark.parametrize("weigh", [asymmetric_weights, spec.asymmetric_weights])
def test_ratios_and_weights_of_the_truth_table(weigh, base):
    z, w, printed_z, printed_w = RATIOS[math.copysign(1.0, base)]
    wide = (1e-3, 1e3)
    for reading, bounds, wanted in (("sign", (wide, wide), z), ("sign", (POSITIVE, NEGATIVE), w), ("printed", (wide, wide), printed_z),
                                    ("printed", (POSITIVE, NEGATIVE), printed_w)):
        assert weigh(double([base]), double([GAPS]), reading, *bounds)[0].tolist() == pytest.approx(wanted, **SIX_PLACES)


def test_truth_table_is_whole():
    bases = {1.0, -1.0, 0.1, -0.1, 7**0.5, -(7**-0.5)}
    assert {(lam, base) for lam, base, *_ in TRUTH_TABLE} == {(lam, base) for lam in (1.0, 0.5) for base in bases}
    assert all(len(column) == len(GAPS) for row in TRUTH_TABLE for column in row[2:])
    group = torch.zeros(8, dtype=torch.int64)
    assert cast_base_advantages(double([1.0] + [0.0] * 7), group)[:2].tolist() == pytest.approx([7**0.5, -(7**-0.5)], rel=4e-6)


# What follows from the algebra


def test_sign_of_a_token_advantage_is_the_sign_of_its_gap():
    base, gaps = draws(1)
    for lam in (0.0, 0.3, 1.0):
        assert torch.equal(by_reference(base, gaps, lam=lam).sign(), gaps.sign())
    at_zero = by_reference(base, torch.zeros_like(gaps), **NO_CLIP)
    assert torch.equal(at_zero, base.unsqueeze(-1).expand_as(gaps))


def test_size_of_a_token_advantage():
    base, gaps = draws(2)
    upper = torch.where(gaps > 0, double(1.05), double(1.2))
    for lam in (0.0, 0.3, 1.0):
        got = by_reference(base, gaps, lam=lam, **NO_CLIP).abs()
        sizes = base.abs().unsqueeze(-1)
        assert torch.allclose(got, sizes * (1 + lam * (torch.minimum(gaps.abs().exp(), upper) - 1)), rtol=1e-12, atol=0)
        assert (got >= sizes * (1 - 1e-15)).all()
    assert (math.log(1.05), math.log(1.2)) == pytest.approx((0.048790, 0.182322), abs=5e-7)


def test_lower_bounds_are_dead_while_both_flips_are_on():
    base, gaps = draws(3)
    whole = by_reference(base, gaps)
    for low in (0.01, 0.5, 1.0):
        assert torch.equal(by_reference(base, gaps, positive=(low, 1.05), negative=(low, 1.2)), whole)
    without_flips = by_reference(base, gaps, **NO_FLIPS)
    assert not torch.equal(by_reference(base, gaps, positive=(0.5, 1.05), **NO_FLIPS), without_flips)
    assert not torch.equal(by_reference(base, gaps, negative=(0.5, 1.2), **NO_FLIPS), without_flips)


def test_printed_reading_makes_the_negative_upper_bound_dead_where_nothing_flips():
    base, gaps = draws(4)
    kept = base.unsqueeze(-1) * gaps > 0
    for reading, dead in (("printed", True), ("sign", False)):
        narrow, wide = (by_reference(base, gaps, z=reading, negative=(0.95, high))[kept] for high in (1.1, 2.0))
        assert torch.equal(narrow, wide) == dead


def test_all_correct_and_all_wrong_groups_get_the_same_advantages():
    _, gaps = draws(5, n=1)
    correct, wrong = (by_reference(double([base]), gaps) for base in (1.0, -1.0))
    assert torch.equal(correct, wrong)
    for base in (1.0, -1.0):
        assert on_tokens(by_reference, base, [0.5, -0.5, 0.0]) == pytest.approx([1.05, -1.2, base])


def flat_gap(seed: int, dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
    """The gap right after a refresh, on a batch with padding of any kind; and the mask."""
    generator = torch.Generator().manual_seed(seed)
    mask = torch.rand(6, 9, generator=generator) > 0.3
    old = (-torch.rand(6, 9, generator=generator, dtype=torch.float64) * 30).to(dtype).masked_fill(~mask, -math.inf)
    return self_teacher_gap(old.clone(), old, mask), mask


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_after_a_refresh_the_gap_is_exactly_zero(dtype):
    gaps, _ = flat_gap(6, dtype)
    assert gaps.dtype == dtype and (gaps == 0).all()
    base = double([2.0, 0.1, -0.1, -2.0, 0.5, 0.0]).to(dtype)
    assert torch.equal(by_reference(base, gaps), base.clamp(-1.2, 1.2).unsqueeze(-1).expand_as(gaps))


def test_a_lagged_self_teacher_points_back():
    """A softmax over three tokens that moved from the teacher's to the old policy: what rose gets a negative advantage."""
    old, teacher = double([0.6285, 0.2312, 0.1402]), double([0.4822, 0.3572, 0.1605])
    gaps = (teacher / old).log().unsqueeze(0)
    for base in (1.0, -1.0):
        advantages = by_reference(double([base]), gaps)[0]
        assert advantages.tolist() == pytest.approx([-1.2, 1.05, 1.05])
        push = old * (advantages - (old * advantages).sum() / old.sum())  # the expected gradient with respect to the logits
        assert push.tolist() == pytest.approx([-0.5253, 0.3270, 0.1983], abs=1e-4)
        assert float(push @ (teacher / old).log()) == pytest.approx(0.3082, abs=5e-4) and float(push @ (old / teacher).log()) < 0


@pytest.mark.parametrize("size", [2, 3, 8])
@pytest.mark.parametrize("p", [0.05, 0.3, 0.5, 0.95])
def test_expected_gradient_of_the_zero_variance_branch(size, p):
    """By enumerating how many of the group are right; the gradient of one completion is that of log p or log (1 - p)."""
    delta_pos, delta_neg, group = 0.7, 0.2, torch.zeros(size, dtype=torch.int64)

    def total(**deltas) -> float:
        mean = 0.0
        for right in range(size + 1):
            rewards = double([1.0] * right + [0.0] * (size - right))
            slopes = double([1 / p] * right + [-1 / (1 - p)] * (size - right))  # over the gradient of p
            chance = math.comb(size, right) * p**right * (1 - p) ** (size - right)
            mean += chance * float((cast_base_advantages(rewards, group, **deltas) * slopes).mean())
        return mean

    added = total(delta_pos=delta_pos, delta_neg=delta_neg) - total(delta_pos=0.0, delta_neg=0.0)
    assert added == pytest.approx(delta_pos * p ** (size - 1) + delta_neg * (1 - p) ** (size - 1))
    if (size, p) == (8, 0.05):
        for delta, factor, share in ((1.0, 0.6983, 0.220), (0.1, 0.06983, 0.027)):
            whole, without = total(delta_pos=delta, delta_neg=delta), total(delta_pos=0.0, delta_neg=0.0)
            assert whole - without == pytest.approx(factor, abs=5e-5) and (whole - without) / whole == pytest.approx(share, abs=5e-4)


@pytest.mark.parametrize("right", range(1, 8))
def test_final_clip_hides_the_gap_in_hard_groups(right):
    rewards = double([1.0] * right + [0.0] * (8 - right))
    base = cast_base_advantages(rewards, torch.zeros(8, dtype=torch.int64))
    sizes = by_reference(base, double([GAPS]).expand(8, -1))[0].abs()
    assert bool((sizes == 1.2).all()) == (right <= 3)


# Where the sources are silent or differ


def test_defaults_are_the_contracts():
    wanted = {
        cast_base_advantages: {"delta_pos": 0.1, "delta_neg": 0.1},
        self_teacher_gap: {"dead_band": 0.0},
        asymmetric_weights: {"z": "sign", "positive_bounds": POSITIVE, "negative_bounds": NEGATIVE},
        cast_token_advantages: {"lam": 1.0, "positive_bounds": POSITIVE, "negative_bounds": NEGATIVE, "flip_down": True, "flip_up": True,
                                "limit": 1.2},
        cast_loss: {"epsilon_low": 0.2, "epsilon_high": 1.0, "reduction": "token_mean"},
    }
    for function, defaults in wanted.items():
        parameters = inspect.signature(function).parameters.values()
        assert {p.name: p.default for p in parameters if p.default is not p.empty} == defaults


@both_ways
def test_the_two_readings_of_z(shape):
    """A teacher-positive token of a wrong completion must take less of the blame, a teacher-negative one more."""
    assert on_tokens(shape, -1.0, [0.5, -0.5], z="printed", **NO_FLIPS) == pytest.approx([-1.2, -0.95])
    assert on_tokens(shape, -1.0, [0.5, -0.5], **NO_FLIPS) == pytest.approx([-0.95, -1.2])
    base, gaps = draws(7)
    differs = by_reference(base, gaps) != by_reference(base, gaps, z="printed")
    assert not differs[(base.unsqueeze(-1) > 0) | (gaps > 0)].any() and differs[(base.unsqueeze(-1) < 0) & (gaps < 0)].any()


@both_ways
def test_without_flips(shape):
    gaps = [0.5, -0.5, 0.03, -0.03]
    assert on_tokens(shape, 1.0, gaps, **NO_FLIPS) == pytest.approx([1.05, 0.8, 1.030455, 0.970446], **SIX_PLACES)
    assert on_tokens(shape, -1.0, gaps, **NO_FLIPS) == pytest.approx([-0.95, -1.2, -0.970446, -1.030455], **SIX_PLACES)
    assert on_tokens(shape, -1.0, gaps, z="printed", **NO_FLIPS) == pytest.approx([-1.2, -0.95, -1.030455, -0.970446], **SIX_PLACES)


@both_ways
def test_size_of_a_zero_variance_group(shape):
    group, ones = torch.zeros(4, dtype=torch.int64), torch.ones(4, dtype=torch.float64)
    for delta, wanted in ((1.0, -1.2), (0.1, -0.12)):
        base = float(cast_base_advantages(ones, group, delta_pos=delta)[0])
        assert on_tokens(shape, base, [-0.5]) == pytest.approx([wanted])


@both_ways
def test_mixed_group_with_the_standard_deviation_of_each_convention(shape):
    rewards, group = double([1.0] * 3 + [0.0] * 5), torch.zeros(8, dtype=torch.int64)
    for named, wanted in (({"eps": 0.0}, [1.290994, -0.774597]), ({"ddof": 1, "eps": 0.0}, [1.207615, -0.724569]),
                          ({"ddof": 1, "eps": 1e-4}, [1.207381, -0.724429])):
        assert group_relative_advantages(rewards, group, **named)[[0, -1]].tolist() == pytest.approx(wanted, **SIX_PLACES)
    assert cast_base_advantages(rewards, group).equal(group_relative_advantages(rewards, group))
    assert on_tokens(shape, 1.207381, [0.02, -0.02], **NO_CLIP) == pytest.approx([1.231772, -1.231772], abs=2e-6)
    assert on_tokens(shape, 1.207381, [0.02, -0.02]) == [1.2, -1.2]
    assert on_tokens(shape, -0.724429, [0.02, -0.02, 0.3, -0.3]) == pytest.approx([0.739063, -0.739063, 0.760650, -0.869315], abs=2e-6)


@both_ways
def test_a_base_of_zero_gives_zero(shape):
    assert on_tokens(shape, 0.0, [0.5, 0.0, -0.5, 1000.0, -1000.0], z="printed") == [0.0] * 5


@both_ways
def test_the_rule_jumps_at_zero(shape):
    for base in (1.0, -1.0):
        assert on_tokens(shape, base, [1e-9, 0.0, -1e-9]) == pytest.approx([1.0, base, -1.0])


def test_a_dead_band_repairs_the_jump():
    old, one = double([[-1.0, -1.0]]), torch.ones(1, 2, dtype=torch.bool)
    teacher = old + double([[-0.04, -0.06]])
    for dead_band, wanted in ((0.0, [-1.0408, -1.0618]), (0.05, [1.0, -1.0618])):
        gaps = self_teacher_gap(teacher, old, one, dead_band)
        assert by_reference(double([1.0]), gaps)[0].tolist() == pytest.approx(wanted, abs=5e-5)
    # The prototype's band is on exp(gap): 0.95 to 1.05 reaches a little further down than up.
    assert (math.log(0.95), math.log(1.05)) == pytest.approx((-0.051293, 0.048790), abs=5e-7)


def test_dead_band_has_two_sides_and_keeps_what_is_beyond():
    old, one = torch.zeros(1, 6), torch.ones(1, 6, dtype=torch.bool)
    teacher = torch.tensor([[0.25, -0.25, 0.5, -0.5, 0.75, -0.75]])
    assert self_teacher_gap(teacher, old, one, dead_band=0.5).tolist() == [[0.0, 0.0, 0.0, 0.0, 0.75, -0.75]]


def test_brackets_of_the_flips_weight():
    """clip(exp(-gap), max(1, l), u): the maximum belongs to the lower bound."""
    base, gaps = double([1.0]), double([[-0.05, -0.2, -0.9]])
    advantages = by_reference(base, gaps, negative=(1.1, 1.5), **NO_CLIP)
    assert advantages[0].tolist() == pytest.approx([-1.1, -math.exp(0.2), -1.5])


@pytest.mark.parametrize(("epsilon_high", "surrogate", "slope"), [(0.28, 1.344, 0.0), (1.0, 1.575, 1.575)])
def test_upper_bound_of_the_ratio(epsilon_high, surrogate, slope):
    old = double([[-1.0]])
    new = (old + math.log(1.5)).requires_grad_()
    loss = cast_loss(new, old, double([[1.05]]), torch.tensor([[True]]), epsilon_high=epsilon_high)
    assert float(loss.detach()) == pytest.approx(-surrogate)
    assert torch.autograd.grad(loss, new)[0].item() == pytest.approx(-slope)


def test_clip_side_follows_the_token():
    """Down-flipped token of a correct completion: the lower bound stops it."""
    old = double([[-1.0, -1.0]])
    new = (old + double([[0.7, 0.7]]).log()).requires_grad_()
    advantages = by_reference(double([1.0]), double([[-0.5, 0.5]]))
    loss = cast_loss(new, old, advantages, torch.ones(1, 2, dtype=torch.bool), reduction="sequence_sum")
    assert float(loss.detach()) == pytest.approx(0.96 - 0.7 * 1.05)
    assert torch.autograd.grad(loss, new)[0][0].tolist() == pytest.approx([0.0, -0.7 * 1.05])


def test_reductions_of_tokens():
    advantages = double([[1.05, -1.2, 0.0, 0.0], [-1.2, 1.05, -1.0, -1.0]])
    mask = torch.arange(4) < torch.tensor([[2], [4]])
    logps = torch.full((2, 4), -1.0, dtype=torch.float64)
    for reduction, wanted in (("sequence_mean", 0.30625), ("token_mean", 0.383333)):
        assert float(cast_loss(logps, logps, advantages, mask, reduction=reduction)) == pytest.approx(wanted, abs=5e-7)


# The whole chain


def batch(seed: int):
    """Rewards, groups and log-probabilities of 12 completions; -inf on the padding."""
    generator = torch.Generator().manual_seed(seed)
    group_ids = torch.tensor([5, -2, 9] * 4)
    rewards = torch.where(group_ids == 5, 1.0, (torch.rand(12, generator=generator) > 0.5).double())
    rewards[7] = math.nan
    mask = torch.rand(12, 7, generator=generator) > 0.2
    mask[3] = False
    old = -torch.rand(12, 7, generator=generator, dtype=torch.float64) - 0.1
    teacher, new = (old + 0.3 * torch.randn(12, 7, generator=generator, dtype=torch.float64) for _ in range(2))
    new, old, teacher = (values.masked_fill(~mask, -math.inf).requires_grad_() for values in (new, old, teacher))
    return rewards, group_ids, mask, new, old, teacher


@pytest.mark.parametrize("seed", range(5))
def test_reference_and_spec_agree_from_rewards_to_gradient(seed):
    rewards, group_ids, mask, new, old, teacher = batch(seed)
    base = cast_base_advantages(rewards, group_ids)
    gaps = self_teacher_gap(teacher, old, mask, dead_band=0.02)
    advantages = by_reference(base, gaps)
    loss = cast_loss(new, old, advantages, mask)
    slope = torch.autograd.grad(loss, new)[0]

    spec_base = torch.from_numpy(spec.cast_base_advantages(rewards, group_ids, 0.1, 0.1))
    spec_gaps = torch.from_numpy(spec.self_teacher_gap(teacher, old, mask, 0.02))
    spec_advantages = by_spec(spec_base, spec_gaps)
    spec_loss, spec_slope = spec.cast_loss(new, old, spec_advantages, mask, 0.2, 1.0, "token_mean")
    for got, wanted in ((base, spec_base), (gaps, spec_gaps), (advantages, spec_advantages), (slope, torch.from_numpy(spec_slope))):
        assert torch.allclose(got, wanted, rtol=1e-12, atol=1e-14)
    assert float(loss.detach()) == pytest.approx(float(spec_loss), rel=1e-12)


def test_only_the_new_policy_learns():
    rewards, group_ids, mask, new, old, teacher = batch(11)
    rewards.requires_grad_()
    base = cast_base_advantages(rewards, group_ids)
    gaps = self_teacher_gap(teacher, old, mask)
    weights = asymmetric_weights(base, gaps)
    advantages = cast_token_advantages(base, gaps, weights)
    assert not any(values.requires_grad for values in (base, gaps, weights, advantages))
    cast_loss(new, old, advantages, mask).backward()
    assert new.grad[mask].abs().sum() > 0 and (new.grad[~mask] == 0).all()
    assert all(values.grad is None or not values.grad.any() for values in (old, teacher, rewards))


def test_weights_and_token_advantages_are_frozen_whatever_comes_in():
    base, gaps, weights = (double(values).requires_grad_() for values in ([0.5, -0.5], [[0.01, -0.01]] * 2, [[1.0, 1.0]] * 2))
    for z in ("sign", "printed"):
        assert not asymmetric_weights(base, gaps, z).requires_grad
    assert not cast_token_advantages(base, gaps, weights).requires_grad


@pytest.mark.parametrize("reduction", ["token_mean", "sequence_mean", "sequence_sum"])
@pytest.mark.parametrize(("epsilon_low", "epsilon_high"), [(0.2, 0.2), (0.2, 0.28), (0.1, 1.0)])
def test_no_gap_and_group_bases_give_grpo(reduction, epsilon_low, epsilon_high):
    rewards, group_ids, mask, new, old, _ = batch(12)
    base = cast_base_advantages(rewards, group_ids, delta_pos=0.0, delta_neg=0.0)
    advantages = group_relative_advantages(rewards, group_ids)
    assert torch.equal(base, advantages) and (advantages != 0).any()
    gaps = self_teacher_gap(old.clone(), old, mask)
    token_advantages = by_reference(base, gaps, **NO_CLIP)
    loss = cast_loss(new, old, token_advantages, mask, epsilon_low, epsilon_high, reduction)
    losses = grpo_token_losses(new, old, advantages, mask, epsilon_low=epsilon_low, epsilon_high=epsilon_high)
    wanted = reduce_token_losses(losses, mask, reduction)
    assert float(loss.detach()) == pytest.approx(float(wanted.detach()), rel=1e-14)
    assert torch.equal(torch.autograd.grad(loss, new)[0], torch.autograd.grad(wanted, new)[0])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("z", ["sign", "printed"])
def test_huge_gaps_stay_between_the_bounds(z, dtype):
    gaps = torch.tensor([[1e4, -1e4, 3e38, -3e38]] * 3, dtype=dtype)
    base = torch.tensor([0.5, -0.5, 0.0], dtype=dtype)
    weights = asymmetric_weights(base, gaps, z)
    assert weights.dtype == dtype and ((weights >= 0.8 - 1e-6) & (weights <= 1.2 + 1e-6)).all()
    advantages = cast_token_advantages(base, gaps, weights)
    assert advantages[2].abs().max() == 0
    assert advantages[0].tolist() == pytest.approx([0.525, -0.6] * 2) and advantages[1, ::2].tolist() == pytest.approx([0.525] * 2)


def test_integer_rewards():
    got = cast_base_advantages(torch.tensor([1, 1, 0, 0, 1, 0]), torch.tensor([0, 0, 1, 1, 2, 2]))
    assert got.dtype == torch.float32 and got.tolist() == pytest.approx([0.1, 0.1, -0.1, -0.1, 1.0, -1.0], abs=3e-6)


def test_group_ids_are_integers_and_switches_bools():
    """Where torch would go on with a wrong number, or stop with an unclear error."""
    with pytest.raises(ValueError, match="int64"):
        cast_base_advantages(double([1.0, 0.0]), double([0.0, math.nan]))
    one = torch.ones(1, 2)
    for switch in ({"flip_down": 1}, {"flip_up": None}, {"flip_down": torch.tensor(True)}):
        with pytest.raises(ValueError, match="True or False"):
            cast_token_advantages(torch.ones(1), one, one, **switch)
