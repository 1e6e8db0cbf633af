"""The laboratory's other tasks: chains of sums and scaled sums, and that nothing of a run asks which task it is."""

import dataclasses
import random
import re

import pytest
import torch

from advantagelab.algorithms.om_grpo import answer_span_mask
from advantagelab.tinylm import Method, Settings, checkpoint, pretrain, products, prompt_tensor, roll_out, train
from advantagelab.tinylm.batch import make_batch
from advantagelab.tinylm.measure import describe, right, worked
from advantagelab.tinylm.model import POSITIONS, TinyLM
from advantagelab.tinylm.sums import Chain, ScaledSum
from advantagelab.tinylm.tasks import TASKS, task_of
from advantagelab.tinylm.tokens import BOX_ID, COMMA_ID, COMMON, END_ID, PAD, PAD_ID, decode, encode, inside_box, token_offsets

CHAIN, SCALED_SUM = Chain((9, 5, -2, -9, 6, -9)), ScaledSum((7, 6, -4), 8)
SUMS = {"chains": Chain, "scaled_sums": ScaledSum}
of_each_task = pytest.mark.parametrize("task", SUMS.values(), ids=SUMS)


@pytest.fixture(scope="module")
def splits():
    return {task: task.split() for task in SUMS.values()}


def question(problem) -> str:
    return decode(problem.prompt_ids(), problem.tokens)


def completed(problem, text: str) -> torch.Tensor:
    return torch.tensor(encode(text, problem.completion_length, problem.tokens))


# ---- tokens and texts

@pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)
def test_every_task_has_the_common_tokens_under_the_same_numbers(task):
    assert task.tokens[:16] == COMMON and len(set(task.tokens)) == len(task.tokens)
    assert [task.tokens[index] for index in (BOX_ID, END_ID, COMMA_ID, PAD_ID)] == ["\\boxed{", "}", ",", " "]


def test_the_texts_of_a_chain():
    assert question(CHAIN) == "9+5-2-9+6-9="
    assert (CHAIN.answer, CHAIN.direct, CHAIN.worked) == ("0", "\\boxed{00}", "14,12,03,09,\\boxed{00}")


def test_the_texts_of_a_scaled_sum():
    assert question(SCALED_SUM) == "(7+6-4)*8="
    assert (SCALED_SUM.answer, SCALED_SUM.direct, SCALED_SUM.worked) == ("72", "\\boxed{072}", "13,09,00,72,\\boxed{072}")
    assert ScaledSum((9, 9, 9), 9).worked == "18,27,18,63,\\boxed{243}"


@of_each_task
def test_texts_survive_their_tokens(task, splits):
    for problem in splits[task][0][::97]:
        for text in (problem.direct, problem.worked):
            ids = encode(text, task.completion_length, task.tokens)
            assert decode(ids, task.tokens).rstrip(PAD) == text
            assert all(decode([index], task.tokens) == decode(ids, task.tokens)[start:end]
                       for index, (start, end) in zip(ids, token_offsets(ids, task.tokens)))


@of_each_task
def test_what_the_task_does_not_know_is_refused(task, splits):
    with pytest.raises(ValueError, match="known tokens"):
        encode("<work>", 5, task.tokens)
    with pytest.raises(ValueError, match="known tokens"):
        encode("7+6", 5, products.Product.tokens)
    with pytest.raises(ValueError, match="context"):
        splits[task][0][0].prompt_ids("work")


@of_each_task
def test_prompts_and_worked_answers_have_one_length_that_the_model_has_room_for(task, splits):
    training, held_out = splits[task]
    assert len({len(problem.prompt_ids()) for problem in training + held_out}) == 1 and PAD not in question(training[0])
    assert {len(encode(problem.worked, task.completion_length, task.tokens)) for problem in training} == {task.completion_length}
    assert not any(PAD_ID in encode(problem.worked, task.completion_length, task.tokens) for problem in training)
    assert len(training[0].prompt_ids()) + task.completion_length <= POSITIONS


# ---- the arithmetic, by Python's own

@of_each_task
def test_answers_are_right(task, splits):
    for problem in splits[task][0] + splits[task][1]:
        correct = eval(question(problem).rstrip("="))  # digits, signs and brackets, which decode has just put together
        assert problem.answer == str(correct)
        assert products.boxed_answer(problem.direct) == products.boxed_answer(problem.worked) == str(correct)


def test_the_work_of_a_chain_is_its_running_sums(splits):
    for problem in splits[Chain][1]:
        parts = re.findall(r"[+-]?\d", question(problem))
        sums = [eval("".join(parts[:count])) for count in range(2, 6)]
        assert problem.worked == "".join(f"{total:02d}," for total in sums) + problem.direct and min(sums) >= 0


def test_the_work_of_a_scaled_sum_is_its_sums_and_the_two_products(splits):
    for problem in splits[ScaledSum][1]:
        a, b, c, d = (int(number) for number in re.findall(r"[+-]?\d", question(problem)))
        first, second, tens, units = (int(number) for number in problem.worked.split(",")[:-1])
        assert (first, second) == (a + b, a + b + c) and 10 * tens + units == int(problem.answer)
        assert tens == second // 10 * d and units == second % 10 * d


# ---- the split

@of_each_task
def test_held_out_problems_are_a_seventh_and_in_no_training_set_in_any_order(task, splits):
    training, held_out = splits[task]
    assert all(problem.held_out for problem in held_out) and not any(problem.held_out for problem in training)
    assert len(held_out) == 1024 and len(training) > 10_000
    assert task.split() == splits[task]
    turned = [problem._replace(terms=(problem.terms[0], *reversed(problem.terms[1:]))) for problem in held_out]
    assert set(held_out + turned).isdisjoint(training)


@pytest.mark.parametrize("name", SUMS)
def test_neither_pretraining_nor_the_pool_contains_held_out_problems(name, splits, tmp_path):
    task, recipe = SUMS[name], pretrain.RECIPES[name]
    training, held_out = splits[task]
    unseen = {question(problem) for problem in held_out}
    of_text = {question(problem): problem for problem in training}
    prompts, completions = pretrain.examples(recipe.contexts, recipe.worked, random.Random(0), training)
    for prompt, completion in zip(prompts.tolist(), completions.tolist()):
        problem = of_text[decode(prompt, task.tokens)]
        assert decode(completion, task.tokens).rstrip(PAD) in (problem.direct, problem.worked)
    assert unseen.isdisjoint(of_text)
    seen = []
    record = train(dataclasses.replace(METHOD, rewards=lambda batch: seen.extend(batch.products) or truth(batch)),
                   small_base(name, tmp_path), settings=QUICK, watch=lambda record: None)
    assert seen and unseen.isdisjoint(question(problem) for problem in seen) and len(record.steps) == QUICK.steps


# ---- a run

def truth(batch):
    return right(batch).float()


def loss(batch):
    losses = -(batch.new_token_logps * batch.advantages.unsqueeze(-1))
    return losses.masked_fill(~batch.completion_mask | batch.answer_mask, 0.0).sum(dim=-1).mean()


METHOD = Method(truth, lambda batch: batch.rewards - batch.rewards.mean(), loss, answer_mask=answer_span_mask)
QUICK = Settings(steps=2, prompts=4, warmup=1, evaluate_every=2)


def small_base(name: str, folder):
    """A checkpoint of this recipe that has seen three batches."""
    recipe = dataclasses.replace(pretrain.RECIPES[name], steps=3)
    file = folder / f"{name}.safetensors"
    checkpoint.save(pretrain.pretrain(recipe, 0), file, {"task": recipe.task})
    return file


@pytest.mark.parametrize("name", SUMS)
def test_a_checkpoint_says_its_task_and_training_follows(name, monkeypatch, tmp_path):
    monkeypatch.setitem(pretrain.RECIPES, name, dataclasses.replace(pretrain.RECIPES[name], steps=3))
    file = tmp_path / "base.safetensors"
    pretrain.make(name, 0, file)
    assert task_of(file) is SUMS[name] and checkpoint.load(file).head.weight.shape == (len(SUMS[name].tokens), 64)
    batches = []
    record = train(dataclasses.replace(METHOD, rewards=lambda batch: batches.append(batch) or truth(batch)),
                   file, settings=QUICK, watch=lambda record: None)
    assert [row["step"] for row in record.evaluations] == [0, 2]
    assert {type(problem) for batch in batches for problem in batch.products} == {SUMS[name]}
    assert batches[0].completions.shape == (32, SUMS[name].completion_length)


def test_the_shipped_checkpoints_name_no_task_and_are_those_of_the_products():
    for name in ("half", "direct"):
        assert "task" not in checkpoint.about(name) and task_of(name) is products.Product
        assert len(checkpoint.load(name).head.weight) == len(products.Product.tokens)


@of_each_task
def test_the_answer_mask_of_the_lessons_fits_sampled_texts(task, splits):
    model = TinyLM(vocabulary=len(task.tokens))
    model.initialize(torch.Generator().manual_seed(0))
    batch = roll_out(model, splits[task][1][:64], 4, torch.Generator().manual_seed(0))  # an untrained model writes every kind of nonsense
    boxed = inside_box(batch.completions)
    for i, (text, offsets) in enumerate(zip(batch.texts, batch.offsets)):
        if text.endswith("}"):
            assert torch.equal(boxed[i, :len(offsets)], answer_span_mask(text, offsets))
        masked = decode(batch.completions[i][boxed[i]].tolist(), task.tokens)
        assert batch.answers[i] is None or int(masked) == int(batch.answers[i])


@pytest.mark.parametrize("problem", [CHAIN, SCALED_SUM])
def test_the_numbers_of_a_step_know_the_work_of_each_task(problem):
    wrong = problem.worked.replace(problem.direct, "") + "\\boxed{99}"
    texts = [problem.worked, problem.direct, wrong, wrong]
    batch = make_batch([problem], prompt_tensor([problem]), torch.stack([completed(problem, text) for text in texts]), 4)
    assert right(batch).tolist() == [True, True, False, False] and worked(batch).tolist() == [True, False, True, True]
    masks = [answer_span_mask(text, offsets) for text, offsets in zip(batch.texts, batch.offsets)]
    digits = len(problem.direct.removeprefix("\\boxed{")) - 1
    assert [mask.sum().item() for mask in masks] == [digits, digits, 2, 2]
    batch.rewards, batch.advantages = truth(batch), torch.zeros(4)
    batch.old_token_logps = torch.where(inside_box(batch.completions), -2.0, -0.5)
    batch.reference_token_logps = batch.old_token_logps
    row = describe(batch)
    assert (row["accuracy"], row["worked"], row["answer_logp"], row["reasoning_logp"]) == (0.5, 0.75, -2.0, -0.5)
