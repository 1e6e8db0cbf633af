"""What lesson 07 says of its pictures beyond tests/test_records.py, held against the records that they are drawn from."""

import re

import numpy as np
import pytest
import torch

from advantagelab.algorithms.label_free import majority_vote_rewards
from advantagelab.tinylm import HELD_OUT, TRAINING, Product, Settings, TinyLM, load, prompt_tensor, roll_out, sample
from advantagelab.tinylm.batch import make_batch
from advantagelab.tinylm.measure import right
from advantagelab.tinylm.recorded import read
from advantagelab.tinylm.tokens import TOKENS
from advantagelab.widgets.runs import PAIRS
from lessons._build.course import read_course
from lessons._build.source import read_cells

RUNS, GAP = read("runs"), read("gap")
CELLS = read_cells(read_course().lessons_folder / "training_lab" / "lesson.md")


def values(name: str, measure: str = "held_out_accuracy") -> np.ndarray:
    """[seeds, evaluations]"""
    return np.array(RUNS[name][measure], dtype=float)


def curve(name: str, measure: str = "held_out_accuracy") -> np.ndarray:
    return values(name, measure).mean(axis=0)


def start(name: str, measure: str = "held_out_accuracy") -> float:
    return float(curve(name, measure)[0])


def end(name: str, measure: str = "held_out_accuracy") -> float:
    return float(curve(name, measure)[-1])


def test_every_run_that_a_cell_names_is_recorded():
    for cell in (cell for cell in CELLS if cell.widget == "recorded-runs"):
        names = [name for name in re.findall(r'"([^"]+)"', cell.source) if name not in PAIRS]
        assert names and set(names) <= RUNS.keys(), cell.key


# Steps 1 and 2


def test_the_model_and_the_task():
    assert 104_000 < sum(weights.numel() for weights in TinyLM().parameters()) < 106_000 and len(TOKENS) == 19
    assert abs(len(HELD_OUT) / (len(HELD_OUT) + len(TRAINING)) - 1 / 7) < 0.01
    settings = Settings()
    assert (settings.steps, settings.prompts, settings.pool, settings.group_size) == (105, 32, 512, 8)
    assert (settings.minibatches, settings.learning_rate) == (2, 0.0002)


def test_the_vote_elects_the_wrong_answer_of_the_sample():
    batch = roll_out(load("half"), [Product(47, 63)], 8, torch.Generator().manual_seed(0))
    assert batch.answers.count("2961") == batch.answers.count("3061") == 3
    rewards, tied = majority_vote_rewards(batch.answers, batch.group_ids)
    assert tied.all() and [answer for answer, reward in zip(batch.answers, rewards) if reward] == ["3061"] * 3


# Step 3


def test_there_are_five_seeds_and_three_on_the_second_model_and_two_or_three_where_one_thing_is_changed():
    for name, run in RUNS.items():
        main = "." not in name and (run["group"] == "main" or name in ("cast", "cast_no_flips", "cast_no_verifier", "distillation",
                                                                     "grpo_teacher"))
        counts = {5} if main or name == "grpo.direct" else {3} if name.endswith("half-1") else {2, 3}
        assert len(run["seeds"]) in counts, name


def test_all_rise_at_first_by_showing_work():
    for name in ("grpo", "majority_vote", "om_grpo"):
        assert curve(name)[1] > start(name) + 0.1 and curve(name, "held_out_worked")[1] > 0.9
    assert end("majority_vote") < start("majority_vote") - 0.05


def test_on_its_own_products_too_the_vote_loses_what_it_had_gained():
    seen = curve("majority_vote", "seen_accuracy")
    assert seen[-1] < seen[0] + 0.02 and seen[0] < seen.max() - 0.1
    apart = [end("grpo", measure) - end("om_grpo", measure) for measure in ("held_out_accuracy", "seen_accuracy")]
    assert apart[1] > apart[0] + 0.1


def test_rloo_goes_with_grpo_and_self_certainty_becomes_sure_of_nonsense():
    assert abs(end("rloo") - end("grpo")) < 0.02
    assert end("self_certainty") < 0.005 and end("self_certainty", "reward") > start("self_certainty", "reward")
    assert end("self_certainty", "answer_logp") > start("self_certainty", "answer_logp") + 0.2


def test_certainty_does_not_tell_right_from_wrong():
    for name in ("grpo", "majority_vote", "om_grpo"):
        assert end(name, "reasoning_logp") > -0.01
        assert end(name, "unique_answers") < 0.6 * start(name, "unique_answers")
    answer = {name: curve(name, "answer_logp") for name in ("grpo", "majority_vote", "om_grpo")}
    assert abs(answer["grpo"][-1] - answer["majority_vote"][-1]) < 0.03
    assert np.ptp(answer["om_grpo"][2:]) < 0.02 < 0.04 < np.ptp(answer["grpo"][2:])  # a plateau, and none
    assert end("majority_vote", "reward") > end("grpo", "reward")


def test_half_of_the_votes_groups_that_agree_are_all_wrong():
    shares = {name: [end(name, f"zero_variance_{kind}") for kind in ("wrong", "right")] for name in ("grpo", "majority_vote")}
    assert shares["grpo"][0] / sum(shares["grpo"]) < 0.05 and 0.45 < shares["majority_vote"][0] / sum(shares["majority_vote"]) < 0.6
    assert end("majority_vote", "kl") > 2 * max(end("grpo", "kl"), end("om_grpo", "kl"))


# Step 5


def test_the_larger_the_pool_the_further_the_vote_falls():
    pools = ["majority_vote_pool_64", "majority_vote", f"majority_vote_pool_{len(TRAINING)}"]
    assert end(pools[0]) > end(pools[1]) + 0.05 > end(pools[2]) + 0.1
    agreed = [end(name, "zero_variance_right") + end(name, "zero_variance_wrong") for name in pools]
    assert agreed[0] > 0.8 and max(agreed[1:]) < 0.6
    assert end("om_grpo_beta_0") < end("om_grpo") - 0.1


def test_at_two_and_a_half_times_the_learning_rate_only_grpo_holds():
    assert end("grpo_rate_0.0005") > start("grpo") + 0.05
    assert max(end("om_grpo_rate_0.0005"), end("majority_vote_rate_0.0005")) < start("grpo") - 0.1


def test_what_test_time_training_gains_and_loses():
    names = ("grpo_pool_64", "majority_vote_pool_64", "om_grpo_pool_64")
    grpo, vote, om_grpo = (end(name, "seen_accuracy") for name in names)
    assert grpo > 0.95 and abs(vote - om_grpo) < 0.02 and vote > start(names[1], "seen_accuracy") + 0.2
    lost = [curve(name).max() - end(name) for name in names]
    gained = [curve(name).max() - start(name) for name in names]
    assert lost[1] > gained[1] / 2 and lost[0] > 0.4 * gained[0] and lost[2] < 0.3 * gained[2]


def test_where_the_work_is_uncertain_om_grpo_falls_with_the_vote():
    for task in ("chains-0", "scaled_sums-0"):
        vote, om_grpo, grpo = (f"{name}.{task}" for name in ("majority_vote", "om_grpo", "grpo"))
        assert values(om_grpo)[:, -1].max() < start(om_grpo) - 0.1 and end(om_grpo) < end(vote) + 0.1
        assert values(grpo)[:, -1].min() > start(grpo) + 0.05


# Step 6


def test_the_teachers_accuracy_is_what_cast_reaches():
    model, generator = load("direct"), torch.Generator().manual_seed(0)
    shown = make_batch(HELD_OUT, prompt_tensor(HELD_OUT), sample(model, prompt_tensor(HELD_OUT, "work"), generator), 1)
    assert 0.60 < right(shown).float().mean() < 0.66
    assert right(shown).float().mean().item() == pytest.approx(RUNS["cast"]["teacher_accuracy"], abs=0.01)  # a CPU's rounding apart
    for name in ("cast", "cast_dead_band_0.3", "distillation", "cast_no_verifier"):
        assert 0.56 < end(name) < 0.66
    assert 0.0003 < start("cast", "held_out_worked") < 0.002


def test_half_of_all_tokens_go_against_right_and_wrong_and_with_the_dead_band_hardly_any():
    assert 0.45 < end("cast", "flips") < 0.55 and end("cast_dead_band_0.3", "flips") < 0.02


def test_refreshed_every_ten_steps_it_learns_and_is_then_destroyed():
    assert values("cast_refresh_10").max(axis=1).min() > 0.15 and values("cast_refresh_10")[:, -1].max() < 0.01
    assert end("cast_refresh_40") > end("cast") - 0.06 and end("cast_average") > end("cast") - 0.03


def test_where_grpo_can_explore_cast_as_specified_gains_nothing():
    lagged, wrong, grpo = "cast_lagged.instructed-0", "cast_direct.instructed-0", "grpo.instructed-0"
    assert abs(end(lagged) - start(lagged)) < 0.03 and curve(grpo)[1] > start(grpo) + 0.2
    assert values(wrong, "held_out_worked")[:, 1].max() < 0.05 and 0.4 < start(wrong, "held_out_worked") < 0.6


def test_the_size_of_a_hair():
    negative = {base: of["privileged"]["right"]["all"]["negative"] for base, of in GAP["bases"].items()}
    assert 0.28 < negative["direct"]["share"] < 1 / 3 and 0.48 < negative["instructed-0"]["share"] < 0.55
    assert all(-0.009 <= side["mean"] <= -0.0075 for side in negative.values())
    contrast = {base: [abs(of[teacher]["right"]["all"]["mean"] - of[teacher]["wrong"]["all"]["mean"])
                       for teacher in ("answer_free", "privileged")] for base, of in GAP["bases"].items()}
    assert all(answer_free < privileged / 2 for answer_free, privileged in contrast.values())


@pytest.mark.parametrize("name", ["cast", "cast_lagged", "cast_none", "cast_noise", "cast_direct"])
def test_the_cast_runs_begin_where_hardly_any_answer_is_right(name):
    assert start(name) < 0.06
