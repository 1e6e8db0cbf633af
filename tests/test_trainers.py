"""advantagelab.trainers: a step is the lesson's functions; with nothing of their own they are GRPO; a checkpoint holds all they know."""

import math
import os
import subprocess
import sys
import warnings

import pytest
import torch

from advantagelab.algorithms import cast as cast_lesson
from advantagelab.algorithms.grpo import group_relative_advantages
from advantagelab.algorithms.label_free import contrast_augmented_rewards, majority_vote_rewards, soft_consensus_rewards
from advantagelab.algorithms.om_grpo import APPENDIX_B, om_grpo_loss
from tests import needs


def test_without_trl_the_import_says_what_is_missing_in_both_languages():
    code = ("import importlib.metadata as m, sys\n"
            "found = m.version\n"
            "def version(name):\n"
            "    if name == 'trl': raise m.PackageNotFoundError(name)\n"
            "    return found(name)\n"
            "m.version = version\n"
            "sys.modules['trl'] = None\n"
            "import advantagelab.conformance, advantagelab.algorithms.cast\n"
            "try: import advantagelab.trainers\n"
            "except ImportError as error: print(error)\n")
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=needs.ROOT,
                          env={**os.environ, "PYTHONPATH": str(needs.ROOT)})
    install = 'pip install "trl>=1.10,!=1.15.0,<1.17"'
    assert said.stdout.strip() == f"advantagelab.trainers needs TRL: {install} | advantagelab.trainers 需要 TRL：{install}", said.stderr


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """What the tests share: the module, a tokenizer, and the folder of a tiny policy."""
    needs.trl()
    os.environ.update(TRL_EXPERIMENTAL_SILENCE="1", HF_HUB_OFFLINE="1")
    from types import SimpleNamespace

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import trl
        from datasets import Dataset
        from transformers import AutoModelForCausalLM, ProgressCallback

        from advantagelab import trainers
        from advantagelab.trainers import answers, recipe, rewards, tiny

    folder = str(tmp_path_factory.mktemp("policy"))
    tokenizer = tiny.build_tokenizer()
    tiny.build_policy(tokenizer).save_pretrained(folder)

    def trainer(cls, config_class, *reward_funcs, recorded=None, output_dir=None, **settings):
        """A trainer of `cls` around the tiny policy. recorded: a list that gets every batch that a loss was computed of."""

        class Recording(cls):
            def compute_loss(self, model, inputs, *args, **kwargs):
                if recorded is not None:
                    recorded.append({key: value.clone() for key, value in inputs.items() if isinstance(value, torch.Tensor)})
                return super().compute_loss(model, inputs, *args, **kwargs)

        settings = {"per_device_train_batch_size": 24, "num_generations": 4, "max_completion_length": 10, "learning_rate": 1e-3,
                    "max_steps": 1, "logging_steps": 1, "save_strategy": "no", "report_to": "none", "use_cpu": True, "bf16": False,
                    "disable_tqdm": True, "seed": 3, "lr_scheduler_type": "constant", **settings}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            config = config_class(output_dir or str(tmp_path_factory.mktemp("run")), **settings)
            model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
            one = Recording(model, list(reward_funcs) or None, config, train_dataset=Dataset.from_list(tiny.sums()),
                            processing_class=tokenizer)
        one.remove_callback(ProgressCallback)
        return one

    return SimpleNamespace(trl=trl, module=trainers, answers=answers, rewards=rewards, recipe=recipe, tiny=tiny, tokenizer=tokenizer,
                           folder=folder, trainer=trainer)


def run(trainer, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        trainer.train(**options)
    return trainer


def curve(trainer) -> list[tuple]:
    """(step, loss, norm of the gradient, reward) of each logged step."""
    return [(entry["step"], entry["loss"], entry["grad_norm"], entry["reward"]) for entry in trainer.state.log_history if "loss" in entry]


def weights(trainer) -> torch.Tensor:
    return torch.cat([weight.detach().flatten() for weight in trainer.model.parameters()])


def plain_logps(model, prompts: list[list[int]], completions: list[list[int]], length: int) -> torch.Tensor:
    """[N, T] token log-probabilities, row by row without any padding; 0 beyond a completion's end."""
    rows = torch.zeros(len(prompts), length)
    for i, (prompt, completion) in enumerate(zip(prompts, completions, strict=True)):
        logits = model(input_ids=torch.tensor([prompt + completion])).logits[0, len(prompt) - 1:-1]
        logps = torch.log_softmax(logits, -1)[range(len(completion)), completion]
        rows = rows.index_put((torch.tensor([i] * len(completion)), torch.arange(len(completion))), logps)
    return rows


def unpadded(batch: dict, of: str) -> list[list[int]]:
    return [ids[mask.bool()].tolist() for ids, mask in zip(batch[f"{of}_ids"], batch[f"{of}_mask"], strict=True)]


def groups_of(prompts: list[list[int]]) -> torch.Tensor:
    return torch.tensor([prompts.index(prompt) for prompt in prompts])


def loss_and_gradient(loss: torch.Tensor, model) -> tuple[float, torch.Tensor]:
    gradients = torch.autograd.grad(loss, list(model.parameters()))
    return loss.item(), torch.cat([gradient.flatten() for gradient in gradients])


def assert_same_step(trainer, batch: dict, lesson_loss: torch.Tensor) -> None:
    """TRL's loss of the batch and its gradient on every parameter, against the lesson's."""
    trainer.model.eval()
    theirs, their_gradient = loss_and_gradient(trainer.compute_loss(trainer.model, batch), trainer.model)
    ours, our_gradient = loss_and_gradient(lesson_loss, trainer.model)
    assert ours == pytest.approx(theirs, abs=1e-5) and abs(theirs) > 1e-3
    assert their_gradient.abs().max() > 1e-2
    torch.testing.assert_close(our_gradient, their_gradient, rtol=0, atol=1e-5)


# ---- The answer of a completion --------------------------------------------------------------------------------------


def test_the_answer_is_what_the_lesson_masks(made):
    assert made.answers.boxed_answer(r"so \boxed{1}, no: \boxed{ \frac{1}{2} } done \boxed{3") == r"\frac{1}{2}"
    assert [made.answers.boxed_answer(text) for text in ("7", r"\boxed{}", r"\boxed{ }", "")] == [None] * 4
    assert made.answers.boxed_answer("x" * 60 + r"\boxed{" + "yz" * 100 + "}" + "x" * 60) == "yz" * 100
    ids = made.tokenizer(r"so \boxed{7}<eos>")["input_ids"]
    assert made.answers.answer_token_mask(made.tokenizer, ids).tolist() == [False] * 4 + [True, False, False]


@pytest.fixture(scope="module")
def byte_tokenizer(made):
    """A token a byte, and "42" as one token."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    model = models.BPE({token: i for i, token in enumerate([*alphabet, "42", "<eos>"])}, [("4", "2")])
    tokenizer = Tokenizer(model)
    tokenizer.pre_tokenizer, tokenizer.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<eos>", pad_token="<eos>")


def test_offsets_of_tokens_that_the_tokenizer_would_not_choose(made, byte_tokenizer):
    text = "答案 🙂 \\boxed{42é} 完<eos>"
    usual = byte_tokenizer(text)["input_ids"]
    at = usual.index(byte_tokenizer.convert_tokens_to_ids("42"))
    unusual = usual[:at] + byte_tokenizer.convert_tokens_to_ids(["4", "2"]) + usual[at + 1:]
    assert byte_tokenizer.decode(unusual) == text
    read_off, offsets = made.answers.text_and_offsets(byte_tokenizer, unusual)
    assert read_off == text and len(offsets) == len(unusual)
    assert ["".join(text[a:b] for a, b in offsets[at:at + 2]), text[slice(*offsets[-1])]] == ["42", "<eos>"]
    for ids, of_two in ((usual, 1), (unusual, 2)):
        mask = made.answers.answer_token_mask(byte_tokenizer, ids)
        assert mask.nonzero().flatten().tolist() == list(range(at, at + of_two + 2))  # é is two bytes, and two tokens
    # Both ways of reading offsets agree where both apply.
    assert made.answers._read_off(byte_tokenizer, usual) == made.answers.text_and_offsets(byte_tokenizer, usual)


def test_a_character_that_never_ends_is_text_too(made, byte_tokenizer):
    ids = byte_tokenizer("ok🙂")["input_ids"][:-1]
    text, offsets = made.answers._read_off(byte_tokenizer, ids)
    assert text == byte_tokenizer.decode(ids) and len(offsets) == len(ids) and offsets[-1][1] == len(text)


def test_equal_answers_are_one_string_within_their_group(made):
    groups = torch.tensor([0, 0, 0, 0, 1, 1])
    assert made.answers.unify_answers(["0.5", r"\frac{1}{2}", None, "x", "x ", "1,000"], groups) == ["1/2", "1/2", None, "x", "x", "1000"]


def test_math_verify_holds_expressions_equal(made):
    needs.math_verify()
    groups = torch.tensor([0, 0, 0, 1])
    unified = made.answers.unify_answers([r"\sqrt{12}", "7", r"2\sqrt{3}", r"2\sqrt{3}"], groups)
    assert unified == [r"\sqrt{12}", "7", r"\sqrt{12}", r"2\sqrt{3}"]
    assert made.rewards.accuracy_reward([r"\boxed{1+x}", r"\boxed{x}"], ["x+1", "x+1"]) == [1.0, 0.0]


# ---- Reward functions ------------------------------------------------------------------------------------------------

PROMPTS = ["p"] * 4 + ["q"] * 3
COMPLETIONS = [r"\boxed{3}", r"\boxed{3.0}", r"\boxed{5}", "3", r"\boxed{1}", r"\boxed{2}", r"\boxed{2}"]
UNIFIED, GROUPS = ["3", "3", "5", None, "1", "2", "2"], torch.tensor([0, 0, 0, 0, 1, 1, 1])


def test_rewards_are_the_lessons(made):
    logged = {}
    for normalizer, format_reward in (("max", False), ("group", True)):
        reward = made.module.get_soft_consensus_reward(normalizer, format_reward)
        expected = soft_consensus_rewards(UNIFIED, GROUPS, normalizer=normalizer, format_reward=format_reward)
        assert reward(prompts=PROMPTS, completions=COMPLETIONS, log_metric=logged.__setitem__, solution=None) == expected.tolist()
        messages = [[{"role": "assistant", "content": text}] for text in COMPLETIONS]
        assert reward(prompts=[[{"role": "user", "content": p}] for p in PROMPTS], completions=messages) == expected.tolist()
    assert logged == {"consensus/valid_ratio": 6 / 7, "consensus/unique_answers": 2.0, "consensus/majority_ratio": 4 / 7}
    got = made.module.majority_vote_reward(prompts=PROMPTS, completions=COMPLETIONS, log_metric=logged.__setitem__)
    assert got == majority_vote_rewards(UNIFIED, GROUPS)[0].tolist() == [1, 1, 0, 0, 0, 1, 1] and logged["consensus/tie_ratio"] == 0
    solutions = ["3", r"so \boxed{3}", "3", "3", "1", "1", "2"]
    assert made.module.accuracy_reward(completions=COMPLETIONS, solution=solutions) == [1, 1, 0, 0, 1, 0, 1]


def test_comparisons_join_the_pool(made):
    comparisons = [[(1, "5"), (2, "5.0")], [(0, "5")], [], [(2, None)], [], [(4, "9")], []]
    logged = {}
    got = made.module.get_soft_consensus_reward()(PROMPTS, COMPLETIONS, comparisons=comparisons, log_metric=logged.__setitem__)
    pairs = [(0, 1, "5"), (0, 2, "5"), (1, 0, "5"), (3, 2, None), (5, 4, "9")]
    assert got == contrast_augmented_rewards(UNIFIED, GROUPS, pairs).tolist() == [0.5, 0.5, 1.0, 0, 0.5, 1.0, 1.0]
    assert logged["comparison/pool_size"] == 6 and logged["comparison/valid_ratio"] == 0.8 and logged["comparison/new_answer_ratio"] == 0.2


# ---- OM-GRPO ---------------------------------------------------------------------------------------------------------


def om_grpo_step(made, **settings):
    """A trainer after one step that changed nothing, and its batch with log-ratios that reach both sides of the clip range."""
    recorded = []
    trainer = run(made.trainer(made.module.OMGRPOTrainer, made.module.OMGRPOConfig, recorded=recorded, learning_rate=0.0, **settings))
    batch, generator = recorded[0], torch.Generator().manual_seed(0)
    prompts, completions = unpadded(batch, "prompt"), unpadded(batch, "completion")
    new = plain_logps(trainer.model, prompts, completions, batch["completion_ids"].shape[1])
    batch["old_per_token_logps"] = new.detach() - 0.4 * torch.randn(new.shape, generator=generator)
    batch["ref_per_token_logps"] = new.detach() - 0.4 * torch.randn(new.shape, generator=generator)
    return trainer, batch, new, prompts, completions


@pytest.mark.parametrize("loss_type, reduction", [("luspo", "sequence_sum"), ("grpo", "sequence_mean"), ("dapo", "token_mean")])
def test_a_step_of_om_grpo_is_the_lessons(made, loss_type, reduction):
    trainer, batch, new, prompts, completions = om_grpo_step(made, loss_type=loss_type)
    # By hand: the answer is the tokens between the last box and the brace after it.
    box, brace = made.tokenizer.convert_tokens_to_ids([made.tiny.BOX, "}"])
    answer_mask, answers = torch.zeros(new.shape, dtype=torch.bool), []
    for i, ids in enumerate(completions):
        opened = len(ids) - 1 - ids[::-1].index(box) if box in ids else len(ids)
        closed = ids.index(brace, opened) if brace in ids[opened:] else opened
        answer_mask[i, opened + 1:closed] = True
        text = made.tokenizer.decode(ids[opened + 1:closed])
        answers.append(str(int(text)) if text.isdigit() else text or None)
    assert 10 < answer_mask.sum() and len({answer for answer in answers if answer}) > 4
    groups = groups_of(prompts)
    advantages = group_relative_advantages(soft_consensus_rewards(answers, groups), groups, ddof=1, eps=1e-4)  # TRL's way of dividing
    torch.testing.assert_close(batch["advantages"], advantages, rtol=0, atol=1e-5)
    completion_mask = batch["completion_mask"].bool()
    loss = om_grpo_loss(new, batch["old_per_token_logps"], batch["ref_per_token_logps"], advantages, completion_mask, answer_mask,
                        beta=APPENDIX_B["beta"], epsilon_low=APPENDIX_B["epsilon"], epsilon_high=APPENDIX_B["epsilon"], reduction=reduction)
    assert_same_step(trainer, batch, loss)


def test_om_grpo_with_nothing_masked_and_hard_rewards_is_grpo(made):
    same = {"loss_type": "luspo", "beta": 0.005, "use_bias_correction_kl": False, "max_steps": 3}
    vote = made.module.majority_vote_reward
    grpo = run(made.trainer(made.trl.GRPOTrainer, made.trl.GRPOConfig, vote, **same))
    ours = run(made.trainer(made.module.OMGRPOTrainer, made.module.OMGRPOConfig, vote, mask_answers=False, **same))
    masked = run(made.trainer(made.module.OMGRPOTrainer, made.module.OMGRPOConfig, vote, **same))
    assert curve(ours) == curve(grpo) and torch.equal(weights(ours), weights(grpo))
    assert curve(masked) != curve(grpo)


def test_om_grpo_runs_twenty_steps_with_comparisons_and_logs_them(made):
    trainer = made.trainer(made.module.OMGRPOTrainer, made.module.OMGRPOConfig, max_steps=20, per_device_train_batch_size=8,
                           contrast_augmented=True, comparison_max_new_tokens=4)
    before = weights(trainer)
    run(trainer)
    assert trainer.state.global_step == 20 and all(math.isfinite(loss) for _, loss, _, _ in curve(trainer))
    assert not torch.equal(before, weights(trainer))
    entry = trainer.state.log_history[0]
    assert entry["comparison/pool_size"] == 16 and 0 < entry["comparison/valid_ratio"] <= 1 and 0 < entry["answer_mask/ratio"] < 0.5
    assert {"consensus/valid_ratio", "consensus/unique_answers", "consensus/majority_ratio", "rewards/soft_consensus_reward/mean",
            "kl", "completions/mean_length", "frac_reward_zero_std"} <= entry.keys()


def test_comparisons_show_both_completions_in_both_orders_and_are_short(made, monkeypatch):
    trainer = made.trainer(made.module.OMGRPOTrainer, made.module.OMGRPOConfig)
    from advantagelab.trainers import comparisons

    asked = []

    def generate(_, prompt_ids, max_new_tokens):
        asked.extend(prompt_ids)
        assert max_new_tokens == 5
        return [made.tokenizer(text)["input_ids"] for text in ["7}so", " 8 } ", "9", "}"] * 3][:len(prompt_ids)]

    monkeypatch.setattr(comparisons, "generate", generate)
    written = [rf"\boxed{{{digit}}}" for digit in "1234"]
    prompts, ids = ([made.tokenizer(text)["input_ids"] for text in texts] for texts in (["3+4=", "3+4=", "1+1=", "1+1="], written))
    rows = comparisons.compare_completions(trainer, prompts, ids, group_size=2, max_new_tokens=5)
    assert rows == [[(1, "7")], [(0, "8")], [(3, None)], [(2, None)]]
    assert [question[:4] for question in asked] == prompts
    assert comparisons.comparison_turn("one", "two").endswith("the correct final answer is \\boxed{")
    assert asked[1][4:] == made.tokenizer(comparisons.comparison_turn(written[1], written[0]))["input_ids"]
    kept = trainer.generation_config.max_new_tokens
    assert all(len(row) <= 3 for row in made.module.om_grpo_trainer.generate_with_logps(trainer, prompts, 1, 3)[0])
    assert trainer.generation_config.max_new_tokens == kept == 10


# ---- CAST ------------------------------------------------------------------------------------------------------------


def scripted(*of_group):
    """A verifier that gives the completions of each prompt these rewards in turn, group after group."""
    return lambda completions, **_: [reward for i in range(len(completions) // 4) for reward in of_group[i % len(of_group)]]


MIXED, OTHER, RIGHT, WRONG = [1, 0, 0, 0], [0, 1, None, 1], [1, 1, 1, 1], [0, 0, None, 0]


AS_AUTHORS = {"z": "printed", "flip_down": False, "delta_pos": 0.3, "delta_neg": 0.2, "positive_bounds": [0.7, 1.1],
              "negative_bounds": [0.9, 1.15], "loss_type": "grpo", "epsilon": 0.1, "epsilon_high": 0.28, "limit": math.inf}


@pytest.mark.parametrize("instruction, chosen", [("9+9=so ", {"dead_band": 0.002, "limit": 1.3, "lam": 0.9}), (None, AS_AUTHORS)])
def test_a_step_of_cast_is_the_lessons(made, instruction, chosen):
    recorded, given = [], {}
    rewards_of_groups = scripted(MIXED, OTHER, RIGHT, WRONG)

    def verifier(prompts, completions, completion_ids, **_):
        rewards = rewards_of_groups(completions)
        for i, (prompt, ids) in enumerate(zip(prompts, completion_ids, strict=True)):  # of equal completions the first one counts
            rewards[i] = given.setdefault((prompt, tuple(ids)), rewards[i])
        return rewards

    trainer = made.trainer(made.module.CASTTrainer, made.module.CASTConfig, verifier, recorded=recorded, learning_rate=0.0,
                           teacher_kind="fixed", teacher_instruction=instruction, **chosen)

    def options(*names):
        return {name: tuple(chosen[name]) if name.endswith("bounds") else chosen[name] for name in names if name in chosen}

    start = {name: weight.detach().clone() for name, weight in trainer.model.named_parameters()}
    with torch.no_grad():  # a policy that has moved away from its teacher
        for i, weight in enumerate(trainer.model.parameters()):
            weight.add_(0.05 * torch.randn(weight.shape, generator=torch.Generator().manual_seed(i)))
    run(trainer)
    batch = recorded[0]
    prompts, completions = unpadded(batch, "prompt"), unpadded(batch, "completion")
    mask, length = batch["completion_mask"].bool(), batch["completion_ids"].shape[1]
    new = plain_logps(trainer.model, prompts, completions, length)
    teacher = type(trainer.model)(trainer.model.config).eval()
    teacher.load_state_dict(start, strict=False)
    read = made.tokenizer(instruction or "")["input_ids"]
    with torch.no_grad():
        gaps = cast_lesson.self_teacher_gap(
            plain_logps(teacher, [read + prompt for prompt in prompts], completions, length), new.detach(), mask, **options("dead_band"))
    rewards = torch.tensor([given[made.tokenizer.decode(prompt), tuple(ids)] if given[made.tokenizer.decode(prompt), tuple(ids)] is not None
                            else torch.nan for prompt, ids in zip(prompts, completions, strict=True)])
    groups = groups_of(prompts)
    base = cast_lesson.cast_base_advantages(rewards, groups, **options("delta_pos", "delta_neg"))
    mixed = group_relative_advantages(rewards, groups, ddof=1, eps=1e-4)  # TRL's way of dividing
    base = torch.where(mixed != 0, mixed, base)
    bounds = options("positive_bounds", "negative_bounds")
    shaped = cast_lesson.asymmetric_weights(base, gaps, **options("z"), **bounds)
    advantages = cast_lesson.cast_token_advantages(base, gaps, shaped, **options("lam", "flip_down", "flip_up", "limit"), **bounds)
    kinds = {(b > 0, a > 0) for b, a in zip(base[:, None].expand_as(mask)[mask].tolist(), advantages[mask].tolist(), strict=True) if a != 0}
    assert len(kinds) == (4 if chosen.get("flip_down", True) else 3) and chosen.get("delta_pos", 0.1) in base
    torch.testing.assert_close(torch.where(mask, batch["advantages"], 0.0), torch.where(mask, advantages, 0.0), rtol=0, atol=1e-5)

    batch["old_per_token_logps"] = new.detach() - 0.5 * torch.randn(new.shape, generator=torch.Generator().manual_seed(1))
    loss = cast_lesson.cast_loss(
        new, batch["old_per_token_logps"], advantages, mask, epsilon_low=chosen.get("epsilon", 0.2),
        epsilon_high=chosen.get("epsilon_high", 1.0), reduction="sequence_mean" if "loss_type" in chosen else "token_mean")
    assert_same_step(trainer, batch, loss)


def test_cast_without_a_gap_and_without_zero_variance_groups_is_grpo(made):
    same = {"loss_type": "dapo", "epsilon_high": 1.0, "max_steps": 3}
    verifier = scripted(MIXED, OTHER)
    grpo = run(made.trainer(made.trl.GRPOTrainer, made.trl.GRPOConfig, verifier, **same))
    ours = run(made.trainer(made.module.CASTTrainer, made.module.CASTConfig, verifier, teacher_refresh_steps=1, limit=math.inf, **same))
    assert curve(ours) == curve(grpo) and torch.equal(weights(ours), weights(grpo))
    assert all(entry["cast/gap_abs_mean"] == 0 for entry in ours.state.log_history if "loss" in entry)  # exactly: one code path
    for changed in ({"teacher_kind": "fixed"}, {"teacher_instruction": "so "}):  # from the second step on there is a gap
        other = run(made.trainer(made.module.CASTTrainer, made.module.CASTConfig, verifier, limit=math.inf, **same, **changed))
        assert curve(other)[0][:2] == curve(grpo)[0][:2] or changed.keys() == {"teacher_instruction"}
        assert curve(other) != curve(grpo) and other.state.log_history[1]["cast/gap_abs_mean"] > 0


def test_dropout_makes_no_gap(made):
    trainer = made.trainer(made.module.CASTTrainer, made.module.CASTConfig, scripted(MIXED), teacher_refresh_steps=1, max_steps=2)
    for module in trainer.model.modules():
        if hasattr(module, "attention_dropout"):
            module.attention_dropout = 0.5
    run(trainer)
    assert [entry["cast/gap_abs_mean"] for entry in trainer.state.log_history if "loss" in entry] == [0.0, 0.0]


def test_kinds_of_teacher(made):
    def after(steps, **settings):
        trainer = made.trainer(made.module.CASTTrainer, made.module.CASTConfig, scripted(MIXED), max_steps=steps, **settings)
        start = weights(trainer)
        run(trainer)
        teacher = torch.cat([weight.flatten() for weight in trainer.teacher.weights.values()])
        with trainer.teacher.in_place():
            assert torch.equal(weights(trainer), teacher)
        assert not torch.equal(weights(trainer), start)
        return start, teacher, weights(trainer)

    start, teacher, _ = after(3, teacher_kind="fixed")
    assert torch.equal(teacher, start)
    _, teacher, policy_2 = after(2, teacher_kind="refreshed", teacher_refresh_steps=2)
    assert torch.equal(teacher, policy_2)
    _, teacher, policy_3 = after(3, teacher_kind="refreshed", teacher_refresh_steps=2)
    assert not torch.equal(teacher, policy_3) and torch.equal(teacher, policy_2)
    start, teacher, policy_1 = after(1, teacher_kind="ema", teacher_ema_decay=0.75)
    torch.testing.assert_close(teacher, 0.75 * start + 0.25 * policy_1)


def test_cast_runs_twenty_steps_and_logs_its_statistics(made):
    trainer = run(made.trainer(made.module.CASTTrainer, made.module.CASTConfig, made.module.accuracy_reward, max_steps=20,
                               teacher_refresh_steps=3, num_iterations=2))
    entries = [entry for entry in trainer.state.log_history if "loss" in entry]
    assert len(entries) == 20 and all(math.isfinite(entry["loss"]) for entry in entries)
    names = {"gap_mean", "gap_abs_mean", "teacher_positive_ratio", "teacher_negative_ratio", "flip_down_ratio", "flip_up_ratio",
             "limit_ratio", "zero_variance_ratio"}
    generated = [entry for entry in entries if "cast/gap_mean" in entry]  # every second step samples anew
    assert len(generated) == 10 and all({f"cast/{name}" for name in names} <= entry.keys() for entry in generated)
    assert any(entry["cast/flip_up_ratio"] > 0 for entry in generated)
    for entry in generated:
        assert entry["cast/zero_variance_ratio"] == pytest.approx(entry["frac_reward_zero_std"])
        assert entry["cast/flip_up_ratio"] <= entry["cast/teacher_positive_ratio"] + 1e-6


@pytest.mark.parametrize("prompt, expected", [
    ("3+4=", "Think. 3+4="),
    ([{"role": "user", "content": "q"}], [{"role": "system", "content": "Think. "}, {"role": "user", "content": "q"}]),
    ([{"role": "system", "content": "s"}, {"role": "user", "content": "q"}],
     [{"role": "system", "content": "s\n\nThink. "}, {"role": "user", "content": "q"}]),
])
def test_the_instruction_reaches_the_teacher_only(made, prompt, expected):
    assert made.module.cast_trainer.with_instruction(prompt, "Think. ") == expected


def test_evaluation_scores_groups_of_its_own_size(made):
    rows = made.trainer(made.module.OMGRPOTrainer, made.module.OMGRPOConfig).train_dataset
    for name, reward, logged in (("OMGRPO", made.module.majority_vote_reward, "eval_answer_mask/ratio"),
                                 ("CAST", made.module.accuracy_reward, "eval_reward")):
        cls, config_class = getattr(made.module, f"{name}Trainer"), getattr(made.module, f"{name}Config")
        trainer = made.trainer(cls, config_class, reward, num_generations_eval=2)
        assert 0 < trainer.evaluate(rows.select(range(8)))[logged] < 1
        assert "eval_cast/gap_mean" not in trainer.state.log_history[-1]


# ---- Checkpoints -----------------------------------------------------------------------------------------------------


def resumed_runs(made, tmp_path, name, *rewards, **settings):
    """A run of six steps, and one that goes on from its third step."""
    cls, config = getattr(made.module, f"{name}Trainer"), getattr(made.module, f"{name}Config")
    settings |= {"save_strategy": "steps", "save_steps": 3, "output_dir": str(tmp_path), "max_steps": 6, "lr_scheduler_type": "linear"}
    whole = run(made.trainer(cls, config, *rewards, **settings))
    resumed = made.trainer(cls, config, *rewards, **settings)
    return whole, resumed, str(tmp_path / "checkpoint-3")


def test_om_grpo_resumes_on_the_same_curve(made, tmp_path):
    whole, resumed, checkpoint = resumed_runs(made, tmp_path, "OMGRPO", contrast_augmented=True)
    run(resumed, resume_from_checkpoint=checkpoint)
    assert len(curve(resumed)) == 6 and curve(resumed) == curve(whole) and torch.equal(weights(resumed), weights(whole))


@pytest.mark.parametrize("kind", [{"teacher_kind": "refreshed", "teacher_refresh_steps": 2}, {"teacher_kind": "ema"}])
def test_cast_resumes_on_the_same_curve_with_its_teacher(made, tmp_path, kind):
    whole, resumed, checkpoint = resumed_runs(made, tmp_path, "CAST", made.module.accuracy_reward, **kind)
    run(resumed, resume_from_checkpoint=checkpoint)
    assert len(curve(resumed)) == 6 and curve(resumed) == curve(whole) and torch.equal(weights(resumed), weights(whole))
    assert all(torch.equal(resumed.teacher.weights[name], value) for name, value in whole.teacher.weights.items())
    # Without its teacher the run takes another way: it is the teacher's file that the curve hangs on.
    forgetful = made.trainer(made.module.CASTTrainer, made.module.CASTConfig, made.module.accuracy_reward, max_steps=6,
                             output_dir=str(tmp_path / "other"), lr_scheduler_type="linear", **kind)
    forgetful.teacher.load = lambda checkpoint: None
    run(forgetful, resume_from_checkpoint=checkpoint)
    assert curve(forgetful)[:3] == curve(whole)[:3] and curve(forgetful) != curve(whole)


def test_a_checkpoint_without_its_teacher_is_refused(made, tmp_path):
    trainer = made.trainer(made.module.CASTTrainer, made.module.CASTConfig, scripted(MIXED))
    with pytest.raises(ValueError, match="not a checkpoint of CASTTrainer | 不是"):
        trainer.train(resume_from_checkpoint=str(tmp_path))


# ---- Refusals and recipes --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name, settings, said", [
    ("OMGRPO", {"comparison_max_new_tokens": 0}, "comparison_max_new_tokens must be >= 1"),
    ("OMGRPO", {"prompts_per_update": 5}, "must be a multiple of 8"),
    ("CAST", {"teacher_kind": "live"}, "teacher_kind must be one of refreshed, ema, fixed"),
    ("CAST", {"teacher_refresh_steps": 0}, "need teacher_refresh_steps >= 1"),
    ("CAST", {"teacher_ema_decay": 1.0}, "0 <= teacher_ema_decay < 1"),
    ("CAST", {"dead_band": -0.1}, "dead_band, delta_pos and delta_neg must be finite"),
    ("CAST", {"z": "exp"}, 'need z "sign" or "printed"'),
    ("CAST", {"lam": 2.0}, "0 <= lam <= 1"),
    ("CAST", {"positive_bounds": [1.1, 0.9]}, "bounds need 0 < low <= high"),
])
def test_a_setting_out_of_range_is_refused_in_both_languages(made, tmp_path, name, settings, said):
    with pytest.raises(ValueError) as refused:
        getattr(made.module, f"{name}Config")(str(tmp_path), use_cpu=True, bf16=False, num_generations=4, **settings)
    en, _, zh = str(refused.value).partition(" | ")
    assert said in en and any("一" <= character <= "鿿" for character in zh)


def test_what_a_trainer_cannot_do_is_refused_in_both_languages(made, tmp_path):
    om_grpo, cast = made.module.OMGRPOTrainer, made.module.CASTTrainer
    config = made.trl.GRPOConfig(str(tmp_path), use_cpu=True, bf16=False)
    for call, said in [
        (lambda: om_grpo(made.folder, args=config), "args must be an OMGRPOConfig"),
        (lambda: om_grpo(made.folder, rollout_func=print), "the answer mask takes the place of"),
        (lambda: cast(made.folder, [min, max]), "one reward function is needed"),
        (lambda: cast(made.folder, min, args=config), "args must be a CASTConfig"),
        (lambda: cast(made.folder, min, tools=[print]), "the teacher scores plain completions"),
        (lambda: made.module.get_soft_consensus_reward("mean"), 'normalizer must be "max" or "group"'),
        (lambda: run(made.trainer(cast, made.module.CASTConfig, scripted([0.5, 1, 0, 0]))), "a reward must be 0, 1 or NaN"),
    ]:
        with pytest.raises(ValueError) as refused:
            call()
        en, _, zh = str(refused.value).partition(" | ")
        assert said in en and any("一" <= character <= "鿿" for character in zh)


def test_prompts_per_update_sets_the_accumulation(made, tmp_path):
    config = made.module.OMGRPOConfig(str(tmp_path), use_cpu=True, bf16=False, per_device_train_batch_size=16, prompts_per_update=128)
    assert config.gradient_accumulation_steps == 64 and config.generation_batch_size == 1024 == 128 * config.num_generations


@pytest.mark.parametrize("name, logged", [("om_grpo", "consensus/majority_ratio"), ("cast", "cast/flip_up_ratio")])
def test_recipe_runs_on_a_tiny_model(made, name, logged, tmp_path, monkeypatch, capsys):
    from importlib import import_module

    extra = ["--contrast_augmented", "true"] if name == "om_grpo" else []
    options = ["--smoke", "--output_dir", str(tmp_path), "--max_steps", "2", *extra]
    monkeypatch.setattr(sys, "argv", [name, *options])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import_module(f"advantagelab.trainers.{name}").main()
    printed = capsys.readouterr().out
    assert logged in printed and "rewards/accuracy_reward/mean" in printed


def test_recipe_presets_are_appendix_b(made, tmp_path, monkeypatch):
    from advantagelab.trainers import om_grpo

    monkeypatch.setattr(sys, "argv", ["om_grpo", "--model", "m", "--dataset", "d", "--output_dir", str(tmp_path), "--bf16", "false",
                                      "--use_cpu", "true", "--num_train_epochs", "30"])
    arguments, config = made.recipe.parse(made.module.OMGRPOConfig, om_grpo.PRESET)
    assert (arguments.model, arguments.dataset) == ("m", "d")
    same = {"num_generations", "max_completion_length", "optim", "learning_rate", "adam_beta1", "adam_beta2", "adam_epsilon",
            "lr_scheduler_type", "beta", "epsilon", "temperature", "prompts_per_update"}
    assert {name: getattr(config, name) for name in same} == {name: APPENDIX_B[name] for name in same}
    assert config.num_train_epochs == 30 and config.warmup_steps == APPENDIX_B["warmup_ratio"]
    assert (config.loss_type, config.use_bias_correction_kl, config.mask_answers) == ("luspo", False, True)


def test_recipe_without_a_model_says_what_it_needs(made, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["cast", "--use_cpu", "true", "--bf16", "false"])
    with pytest.raises(SystemExit):
        made.recipe.parse(made.module.CASTConfig, {"output_dir": "x"})
    assert "--model and --dataset are needed, or --smoke | 需要" in capsys.readouterr().err
