"""What lesson 07 says of its pictures, held against the records that they are drawn from."""

import numpy as np
import pytest
import torch

from advantagelab.algorithms.label_free import majority_vote_rewards
from advantagelab.tinylm import HELD_OUT, TRAINING, Product, TinyLM, load, roll_out
from advantagelab.tinylm.recorded import read
from advantagelab.tinylm.tokens import TOKENS

RUNS, GAP = read("runs"), read("gap")
MAIN = ("grpo", "rloo", "majority_vote", "self_certainty", "soft_consensus", "masked_vote", "om_grpo", "om_grpo_masked_kl", "om_grpo_car")


def curve(name: str, measure: str = "held_out_accuracy") -> np.ndarray:
    """Mean over the seeds at each evaluation."""
    return np.array(RUNS[name][measure], dtype=float).mean(axis=0)


def end(name: str, measure: str = "held_out_accuracy") -> float:
    return float(curve(name, measure)[-1])


def start(name: str, measure: str = "held_out_accuracy") -> float:
    return float(curve(name, measure)[0])


def ends(name: str, measure: str = "held_out_accuracy") -> list[float]:
    return [values[-1] for values in RUNS[name][measure]]


# Steps 1 and 2


def test_the_model_and_the_task():
    assert 104_000 < sum(weights.numel() for weights in TinyLM().parameters()) < 106_000 and len(TOKENS) == 19
    assert abs(len(HELD_OUT) / (len(HELD_OUT) + len(TRAINING)) - 1 / 7) < 0.01


def test_the_vote_elects_the_wrong_answer_of_the_sample():
    batch = roll_out(load("half"), [Product(47, 63)], 8, torch.Generator().manual_seed(0))
    assert batch.answers.count("2961") == batch.answers.count("3061") == 3
    rewards, tied = majority_vote_rewards(batch.answers, batch.group_ids)
    assert tied.all() and [answer for answer, reward in zip(batch.answers, rewards) if reward] == ["3061"] * 3


def test_there_are_five_seeds_and_two_models():
    for name in MAIN:
        assert RUNS[name]["seeds"] == [0, 1, 2, 3, 4] and len(RUNS[f"{name}.half-1"]["seeds"]) >= 3, name


# Step 3


def test_all_rise_at_first_and_then_the_vote_falls_below_its_start():
    for name in ("grpo", "majority_vote", "om_grpo"):
        assert curve(name)[1] > start(name) + 0.1 and curve(name, "held_out_worked")[1] > 0.9
        assert curve(f"{name}.half-1")[1] > start(f"{name}.half-1") + 0.05
    for name in ("grpo", "om_grpo"):
        assert end(name) > start(name) + 0.15
    assert end("majority_vote") < start("majority_vote") and max(ends("majority_vote")) < curve("majority_vote").max() - 0.1


def test_the_vote_collapses_on_the_products_trained_on_too():
    seen = curve("majority_vote", "seen_accuracy")
    assert seen[-1] < seen[0] + 0.02 and seen[0] < seen.max() - 0.1
    apart = [end("grpo", measure) - end("om_grpo", measure) for measure in ("held_out_accuracy", "seen_accuracy")]
    assert apart[0] < 0.06 and apart[1] > apart[0] + 0.05


def test_the_other_methods():
    assert abs(end("rloo") - end("grpo")) < 0.03
    assert end("soft_consensus") < end("om_grpo") - 0.1 and end("soft_consensus") < curve("soft_consensus").max() - 0.1
    assert end("self_certainty") < 0.01 and end("self_certainty", "reward") > start("self_certainty", "reward")
    assert end("self_certainty", "held_out_unique_answers") < 0.5 * start("self_certainty", "held_out_unique_answers")


def test_the_reward_says_how_much_the_group_agrees():
    assert end("majority_vote", "reward") > end("grpo", "reward") - 0.02
    assert end("majority_vote", "majority_accuracy") < start("majority_vote", "majority_accuracy") - 0.2
    assert end("grpo", "majority_accuracy") > start("grpo", "majority_accuracy") + 0.1


def test_only_the_mask_keeps_answer_tokens_from_becoming_certain():
    for name in ("grpo", "majority_vote", "om_grpo"):
        assert end(name, "reasoning_logp") > -0.01
    answer = {name: curve(name, "answer_logp") for name in ("grpo", "majority_vote", "om_grpo")}
    assert abs(answer["grpo"][-1] - answer["majority_vote"][-1]) < 0.03
    assert answer["om_grpo"][-1] < max(answer["grpo"][-1], answer["majority_vote"][-1]) - 0.05
    assert np.ptp(answer["om_grpo"][2:]) < 0.03 and np.ptp(answer["grpo"][2:]) > 0.03


def test_groups_that_agree():
    assert end("grpo", "zero_variance_wrong") < 0.05 < end("grpo", "zero_variance_right") - 0.3
    wrong, right = (end("majority_vote", f"zero_variance_{kind}") for kind in ("wrong", "right"))
    assert 0.4 < wrong / (wrong + right) < 0.6
    for name in ("grpo", "majority_vote", "om_grpo"):
        assert end(name, "unique_answers") < 0.6 * start(name, "unique_answers")
    assert end("majority_vote", "kl") > 2 * max(end("grpo", "kl"), end("om_grpo", "kl"))


# Step 5


def test_the_mask_is_what_holds():
    assert end("soft_consensus") < end("om_grpo") - 0.1 and end("majority_vote") < end("masked_vote") - 0.1
    assert min(ends("om_grpo")) < max(ends("masked_vote"))  # soft or hard: the ranges overlap
    assert end("om_grpo_masked_kl") < end("om_grpo") - 0.1
    assert abs(end("om_grpo_group") - end("om_grpo")) < 0.05


def test_strong_settings():
    assert end("majority_vote_rate_0.0001") > end("majority_vote") + 0.05
    for name in ("grpo", "majority_vote", "om_grpo"):
        assert end(f"{name}_rate_0.001") < start(name)
    assert end("majority_vote_beta_0.1") < curve("majority_vote_beta_0.1").max() - 0.05


# Step 6


def test_gap_claims():
    for base, share in (("direct", (0.28, 0.34)), ("instructed-0", (0.48, 0.55))):
        right, wrong = (GAP["bases"][base]["privileged"][outcome]["all"] for outcome in ("right", "wrong"))
        assert share[0] < right["negative"]["share"] < share[1]
        assert -0.009 < right["negative"]["mean"] < -0.0075 and wrong["negative"]["mean"] < -2
        contrast = [abs(of["right"]["all"]["mean"] - of["wrong"]["all"]["mean"]) for of in GAP["bases"][base].values()]
        assert contrast[0] < 0.5 * contrast[1]  # answer-free, privileged
    spread = {base: [of["privileged"][outcome]["all"]["positive"]["std"] for outcome in ("right", "wrong")]
              for base, of in GAP["bases"].items()}
    assert spread["direct"][0] > spread["direct"][1] and spread["instructed-0"][0] < spread["instructed-0"][1]


@pytest.mark.parametrize("name", [name for name in RUNS if RUNS[name]["group"] == "cast"])
def test_cast_runs_begin_alike(name):
    if RUNS[name]["base"] == "direct":
        assert start(name) < 0.06
