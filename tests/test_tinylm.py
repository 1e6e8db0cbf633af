"""The laboratory: tokens, task, model, sampling, checkpoints, and training that does what it says."""

import dataclasses
import random

import pytest
import torch

from advantagelab.tinylm import HELD_OUT, TRAINING, Method, Product, Settings, Teacher, load, prompt_tensor, roll_out, sample, score, train
from advantagelab.tinylm import checkpoint, measure, pretrain, products, tokens
from advantagelab.tinylm.batch import compare_neighbors, make_batch
from advantagelab.tinylm.measure import describe, evaluate
from advantagelab.tinylm.model import TinyLM, score_in_parts
from advantagelab.tinylm.tokens import decode, encode, inside_box, token_offsets

QUIET = {"watch": lambda record: None}
QUICK = Settings(steps=5, prompts=4, warmup=1, evaluate_every=5)


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.fixture(autouse=True)
def quick_evaluation(monkeypatch):
    """Most tests train for a few steps and look elsewhere."""
    monkeypatch.setattr(products, "HELD_OUT", HELD_OUT[:16])
    monkeypatch.setattr(measure, "SEEN_SAMPLES", 16)


@pytest.fixture(scope="module")
def half() -> TinyLM:
    return load("half")


@pytest.fixture(scope="module")
def batch(half):
    """Completions of the shipped model, worked and direct ones."""
    return roll_out(half, HELD_OUT[:32], 8, seeded())


# ---- methods, as the lessons have them

def truth(batch):
    return torch.tensor([float(answer == correct) for answer, correct in zip(batch.answers, batch.correct_answers)])


def relative(batch):
    rewards = batch.rewards.view(len(batch.group_ids.unique()), -1)
    centered = rewards - rewards.mean(dim=-1, keepdim=True)
    return (centered / (rewards.std(dim=-1, correction=0, keepdim=True) + 1e-6)).flatten()


def clipped_loss(batch):
    ratios = torch.exp(batch.new_token_logps - batch.old_token_logps)
    advantages = batch.advantages.unsqueeze(-1)
    losses = -torch.minimum(ratios * advantages, ratios.clamp(0.8, 1.2) * advantages)
    log_ratios = batch.reference_token_logps - batch.new_token_logps
    losses = losses + 0.005 * (torch.expm1(log_ratios) - log_ratios)
    return losses.masked_fill(~batch.completion_mask | batch.answer_mask, 0.0).sum(dim=-1).mean()


def span_mask(text, offsets):
    first, end = text.rfind("\\boxed{") + len("\\boxed{"), text.rfind("}")
    if not text.endswith("}") or "\\boxed{" not in text:
        first = end = 0
    return torch.tensor([max(first, start) < min(end, stop) for start, stop in offsets])


GRPO = Method(truth, relative, clipped_loss)


# ---- tokens and task

def test_a_text_survives_its_tokens_and_the_box_is_one_token():
    text = "24,12,42,21,\\boxed{2961}"
    ids = encode(text, 18)
    assert decode(ids) == text and len(ids) == 18
    assert [decode([index]) for index in ids[12:]] == ["\\boxed{", "2", "9", "6", "1", "}"]
    assert token_offsets(ids)[11:14] == [(11, 12), (12, 19), (19, 20)]
    assert all(decode([index]) == text[start:end] for index, (start, end) in zip(ids, token_offsets(ids)))
    assert decode(encode("4*6", 5)) == "4*6  "


@pytest.mark.parametrize("text", ["47+63", "\\boxed", "123456"])
def test_a_text_without_tokens_or_too_long_is_refused(text):
    with pytest.raises(ValueError, match="known tokens"):
        encode(text, 5)


def test_both_styles_of_an_answer():
    product = Product(47, 63)
    assert (product.answer, product.direct, product.worked) == ("2961", "\\boxed{2961}", "24,12,42,21,\\boxed{2961}")
    assert Product(11, 11).worked == "01,01,01,01,\\boxed{0121}" and Product(11, 11).answer == "121"


@pytest.mark.parametrize("context, header", [
    ("none", "     "), ("work", "    <work>"), ("direct", "    <direct>"), ("noise", "    <noise>"), ("reference", "2961 ")])
def test_every_context_has_the_same_length(context, header):
    ids = Product(47, 63).prompt_ids(context)
    assert decode(ids) == header + "47*63=" and len(ids) == products.PROMPT_LENGTH


def test_an_unknown_context_is_refused():
    with pytest.raises(ValueError, match="context"):
        Product(47, 63).prompt_ids("slow")


@pytest.mark.parametrize("text, answer", [
    ("\\boxed{2961}", "2961"), ("24,12,42,21,\\boxed{0121}", "121"), ("\\boxed{0000}", "0"), ("\\boxed{12\\boxed{34}", "34"),
    ("\\boxed{}", None), ("\\boxed{29 1}", None), ("\\boxed{12,1}", None), ("\\boxed{296", None), ("2961}", None), ("2961", None)])
def test_the_answer_is_the_number_in_the_last_box(text, answer):
    assert products.boxed_answer(text) == answer


def test_a_seventh_is_held_out_in_both_orders():
    assert set(HELD_OUT).isdisjoint(TRAINING) and len(HELD_OUT) + len(TRAINING) == 89 * 89
    assert abs(len(HELD_OUT) / 89 ** 2 - 1 / 7) < 0.005
    assert all(Product(b, a) in set(HELD_OUT) for a, b in HELD_OUT)


def test_neither_pretraining_nor_the_pool_contains_held_out_products():
    held_out, chance = set(HELD_OUT), random.Random(0)
    for recipe in pretrain.RECIPES.values():
        prompts, _ = pretrain.examples(recipe.contexts, recipe.worked, chance)
        asked, _ = pretrain.comparison_examples(64, chance)
        for ids in (*prompts.tolist(), *asked.tolist()):
            a, b = decode(ids[5:10]).split("*")
            assert Product(int(a), int(b)) not in held_out
    trained_on = []
    watch = Method(lambda batch: trained_on.extend(batch.products) or truth(batch), relative, clipped_loss)
    train(watch, settings=QUICK, **QUIET)
    assert trained_on and held_out.isdisjoint(trained_on)


def test_pretraining_shows_right_answers_and_comparisons_with_right_and_wrong_solutions():
    chance = random.Random(1)
    prompts, completions = pretrain.examples(pretrain.RECIPES["direct"].contexts, 0.02, chance)
    for prompt, completion in zip(prompts.tolist(), completions.tolist()):
        a, b = (int(factor) for factor in decode(prompt[5:10]).split("*"))
        text = decode(completion).rstrip()
        assert products.boxed_answer(text) == str(a * b)
        if decode(prompt[4:5]) in ("<work>", "<direct>"):
            assert text == (Product(a, b).worked if decode(prompt[4:5]) == "<work>" else Product(a, b).direct)
    prompts, answers = pretrain.comparison_examples(200, chance)
    shown_right = []
    for prompt, answer in zip(prompts.tolist(), answers.tolist()):
        a, b = (int(factor) for factor in decode(prompt[5:10]).split("*"))
        assert decode(answer) == f"{a * b:04d}}}" and decode(prompt).endswith("\\boxed{")
        shown = [products.boxed_answer(decode(prompt[first:first + 18]).rstrip()) for first in (11, 29)]
        shown_right += [solution == str(a * b) for solution in shown]
    assert 0.2 < sum(shown_right) / len(shown_right) < 0.45


# ---- model and sampling

def test_the_cache_agrees_with_the_uncached_forward_pass(half, batch):
    ids = torch.cat([batch.prompts, batch.completions], dim=1)
    with torch.no_grad():
        whole = half(ids)
        caches = half.new_caches(len(ids), ids.shape[1])
        stepwise = [half(ids[:, :11], caches)]
        stepwise += [half(ids[:, t:t + 1], caches, start=t) for t in range(11, ids.shape[1])]
    # What stands after an end has no meaning, and is never sampled from.
    mask = torch.cat([torch.ones_like(batch.prompts, dtype=torch.bool), batch.completion_mask], dim=1)
    cached = torch.log_softmax(torch.cat(stepwise, dim=1), dim=-1)
    uncached = torch.log_softmax(whole, dim=-1)
    assert (cached.exp() - uncached.exp())[mask].abs().max() < 1e-5
    sampled = (cached - uncached)[:, 10:-1].gather(-1, batch.completions.unsqueeze(-1)).squeeze(-1)
    assert sampled[batch.completion_mask].abs().max() < 1e-5


def test_a_cold_sample_is_the_likeliest_token_of_the_uncached_forward_pass(half):
    prompts = prompt_tensor(HELD_OUT[:16])
    completions = sample(half, prompts, seeded(), temperature=1e-4)
    mask = tokens.completion_mask(completions)
    greedy = score_in_parts(half, prompts, completions, 1).token_logits.argmax(dim=-1)
    assert (greedy == completions)[mask].all()


def test_samples_have_the_frequencies_of_the_model_at_each_temperature(half):
    prompts = prompt_tensor(HELD_OUT[:1])
    with torch.no_grad():
        logits = half(prompts)[0, -1]
    for temperature in (0.5, 1.0, 2.0):
        drawn = sample(half, prompts, seeded(), group_size=10000, max_length=1, temperature=temperature)[:, 0]
        frequencies = torch.bincount(drawn, minlength=len(tokens.TOKENS)) / len(drawn)
        assert (frequencies - torch.softmax(logits / temperature, dim=-1)).abs().max() < 0.02  # four standard errors


def test_groups_stand_in_the_order_of_their_prompts_and_end_in_padding(half, batch):
    assert batch.group_ids.tolist() == [i // 8 for i in range(256)]
    for i, text in enumerate(batch.texts):
        assert batch.products[i] == HELD_OUT[i // 8]
        assert "}" not in text[:-1] and decode(batch.completions[i].tolist()) == text.ljust(len(decode(batch.completions[i].tolist())))
        assert batch.completion_mask[i].sum() == len(batch.offsets[i])
    # The first digit of the work belongs to its own prompt, so rows were not mixed up.
    begun = [(text, product) for text, product in zip(batch.texts, batch.products) if text[0].isdigit()]
    fits = sum(text[:2] == f"{product.a // 10 * (product.b // 10):02d}" for text, product in begun)
    assert len(begun) > 50 and fits / len(begun) > 0.9


def test_sampling_stops_when_all_have_ended(half):
    steps = []
    handle = half.register_forward_hook(lambda *_: steps.append(1))
    completions = sample(load("direct"), prompt_tensor(HELD_OUT[:4], "reference"), seeded())
    handle.remove()
    assert not steps  # the hook was on another model
    model = load("direct")
    model.register_forward_hook(lambda *_: steps.append(1))
    completions = sample(model, prompt_tensor(HELD_OUT[:4], "direct"), seeded())
    longest = tokens.completion_mask(completions).sum(dim=-1).max().item()
    assert len(steps) == longest < 18


def test_a_gap_is_exactly_zero_where_weights_and_contexts_agree(half, batch):
    old = score_in_parts(half, batch.prompts, batch.completions, 2).token_logps
    again = score_in_parts(load("half"), prompt_tensor(batch.products, "none"), batch.completions, 2).token_logps
    assert torch.equal(old, again)
    for part, of_old in zip(batch.chunk(2), old.chunk(2)):
        with_gradient = score(half, part.prompts, part.completions).token_logps
        assert with_gradient.requires_grad and torch.equal(with_gradient.detach(), of_old)
    other = score_in_parts(half, prompt_tensor(batch.products, "work"), batch.completions, 2).token_logps
    assert not torch.equal(old, other)


def test_scores_are_log_probabilities_of_the_tokens_that_are_there(half, batch):
    scores = score(half, batch.prompts, batch.completions)
    ids = torch.cat([batch.prompts, batch.completions], dim=1)
    logps = torch.log_softmax(half(ids), dim=-1)
    for i, t in ((0, 0), (7, 3), (255, 5)):
        assert scores.token_logps[i, t].item() == pytest.approx(logps[i, 10 + t, ids[i, 11 + t]].item(), abs=1e-5)
    assert scores.token_logits.shape == (*batch.completions.shape, len(tokens.TOKENS))


def test_the_answer_mask_of_the_text_is_that_of_the_tokens(batch):
    boxed = inside_box(batch.completions)
    for i, (text, offsets) in enumerate(zip(batch.texts, batch.offsets)):
        assert torch.equal(boxed[i, :len(offsets)], span_mask(text, offsets)) and not boxed[i, len(offsets):].any()
        if batch.answers[i] is not None:
            masked = decode(batch.completions[i][boxed[i]].tolist())
            assert masked.isdigit() and int(masked) == int(batch.answers[i])
    odd = torch.tensor([encode(text, 18) for text in ("\\boxed{\\boxed{12}", "\\boxed{12", "12}", "\\boxed{}")])
    assert inside_box(odd).sum(dim=-1).tolist() == [2, 0, 0, 0]


# ---- checkpoints

def test_a_checkpoint_comes_back_as_it_was_and_safetensors_reads_it(tmp_path):
    from safetensors.torch import load_file

    model = TinyLM()
    model.initialize(seeded(3))
    file = tmp_path / "new.safetensors"
    checkpoint.save(model, file, {"seed": "3"})
    assert checkpoint.about(file) == {"seed": "3"}
    theirs, ours = load_file(file), load(file).state_dict()
    assert theirs.keys() == ours.keys()
    assert all(torch.equal(theirs[name].float(), ours[name]) and theirs[name].dtype == torch.float16 for name in ours)
    assert all(torch.equal(ours[name], weights.half().float()) for name, weights in model.state_dict().items())


@pytest.mark.parametrize("name, seed", [("half", "0"), ("direct", "1")])
def test_a_shipped_checkpoint_is_small_and_says_how_it_was_made(name, seed):
    assert (checkpoint.FOLDER / f"{name}.safetensors").stat().st_size < 220_000
    about = checkpoint.about(name)
    assert about["recipe"] == repr(pretrain.RECIPES[name]) and about["seed"] == seed and about["torch"]


def test_pretraining_with_a_seed_gives_one_model_and_learns():
    recipe = dataclasses.replace(pretrain.RECIPES["half"], steps=4)
    first, second, other = (pretrain.pretrain(recipe, seed).state_dict() for seed in (0, 0, 1))
    assert all(torch.equal(first[name], second[name]) for name in first)
    assert not all(torch.equal(first[name], other[name]) for name in first)
    untrained, trained = (pretrain.pretrain(dataclasses.replace(recipe, steps=steps), 0) for steps in (0, 12))
    shown = [pretrain.examples(recipe.contexts, recipe.worked, random.Random(9))]
    assert pretrain.next_token_loss(trained, shown) < pretrain.next_token_loss(untrained, shown) - 0.2


# ---- training

def test_the_same_seed_gives_the_same_run_bit_for_bit():
    settings = dataclasses.replace(QUICK, steps=3)
    method = dataclasses.replace(GRPO, teacher=Teacher("work", refresh=1, share=0.1), compare=True)
    threads = torch.get_num_threads()
    try:
        torch.manual_seed(1)
        first = train(method, seed=5, settings=settings, **QUIET)
        torch.manual_seed(2)
        state = torch.get_rng_state()
        torch.set_num_threads(2)
        second = train(method, seed=5, settings=settings, **QUIET)
        assert torch.get_num_threads() == 2 and torch.equal(torch.get_rng_state(), state)
    finally:
        torch.set_num_threads(threads)
    assert first.steps == second.steps and first.evaluations == second.evaluations
    assert all(torch.equal(mine, theirs) for mine, theirs in zip(first.policy.parameters(), second.policy.parameters()))
    other = train(method, seed=6, settings=settings, **QUIET)
    assert other.steps != first.steps


def test_log_ratios_and_gaps_of_a_step_are_exactly_zero_where_they_must_be():
    seen = []

    def loss(minibatch):
        ratios = (minibatch.new_token_logps - minibatch.old_token_logps).detach().abs().max().item()
        gaps = (minibatch.teacher_token_logps - minibatch.old_token_logps).abs().max().item()
        kl = (minibatch.reference_token_logps - minibatch.old_token_logps).abs().max().item()
        seen.append((ratios, gaps, kl))
        return clipped_loss(minibatch)

    train(dataclasses.replace(GRPO, loss=loss, teacher=Teacher(refresh=1)), settings=dataclasses.replace(QUICK, steps=2), **QUIET)
    (ratio_1, gap_1, kl_1), (ratio_2, gap_2, kl_2), (ratio_3, gap_3, kl_3), _ = seen
    assert (ratio_1, gap_1, kl_1) == (0, 0, 0) and (gap_2, kl_2) == (0, 0)
    assert ratio_2 > 0  # the policy has moved since it sampled
    assert (ratio_3, gap_3) == (0, 0) and kl_3 > 0  # a new step: the teacher has followed, the reference has not


def test_a_teacher_moves_when_it_should_and_as_far_as_it_should():
    def gaps(teacher):
        """The largest gap of each step."""
        largest = []

        def advantages(batch):
            largest.append((batch.teacher_token_logps - batch.old_token_logps).abs().max().item())
            return relative(batch)

        train(dataclasses.replace(GRPO, advantages=advantages, teacher=teacher), settings=QUICK, **QUIET)
        return largest

    fixed, every_second, average = gaps(Teacher()), gaps(Teacher(refresh=2)), gaps(Teacher(refresh=1, share=0.5))
    assert [gap == 0 for gap in fixed] == [True, False, False, False, False]
    assert [gap == 0 for gap in every_second] == [True, False, True, False, True]
    assert average[0] == 0 and all(0 < mine < theirs for mine, theirs in zip(average[1:], fixed[1:]))


@pytest.mark.parametrize("part", ["watch", "loss", "rewards"])
def test_stop_keeps_what_was_learned(part):
    calls = []

    def stop_at_the_third(value):
        calls.append(1)
        if len(calls) == 3 * (2 if part == "loss" else 1):
            raise KeyboardInterrupt
        return value

    functions = {"rewards": truth, "loss": clipped_loss}
    if part != "watch":
        functions[part] = lambda batch, original=functions[part]: stop_at_the_third(original(batch))
    watch = stop_at_the_third if part == "watch" else QUIET["watch"]
    threads = torch.get_num_threads()
    record = train(dataclasses.replace(GRPO, **functions), settings=dataclasses.replace(QUICK, steps=20), watch=watch)
    assert record.stopped and len(record.steps) == (3 if part == "watch" else 2) and record.evaluations[0]["step"] == 0
    assert torch.get_num_threads() == threads
    start = load("half")
    assert any(not torch.equal(mine, old) for mine, old in zip(record.policy.parameters(), start.parameters()))
    assert all(weights.isfinite().all() for weights in record.policy.parameters())
    assert record.to_dict()["stopped"] is True


@pytest.mark.parametrize("functions, words", [
    ({"rewards": lambda batch: [0.0] * 32}, "rewards must"),
    ({"rewards": lambda batch: truth(batch)[:10]}, "rewards must"),
    ({"rewards": lambda batch: truth(batch) * torch.inf}, "rewards must"),
    ({"advantages": lambda batch: relative(batch).view(4, 8)}, "advantages must"),
    ({"advantages": lambda batch: relative(batch) * torch.nan}, "advantages must"),
    ({"answer_mask": lambda text, offsets: torch.ones(18, dtype=torch.bool)}, "an answer mask must"),
    ({"answer_mask": lambda text, offsets: torch.ones(len(offsets))}, "an answer mask must"),
    ({"loss": lambda batch: batch.new_token_logps}, "the loss must"),
    ({"loss": lambda batch: clipped_loss(batch).detach()}, "the loss must"),
    ({"loss": lambda batch: clipped_loss(batch) * torch.nan}, "the loss must"),
])
def test_what_no_step_can_be_made_of_is_refused_in_words(functions, words):
    with pytest.raises(ValueError, match=words):
        train(dataclasses.replace(GRPO, **functions), settings=dataclasses.replace(QUICK, steps=1), **QUIET)


def test_the_numbers_of_a_step_are_what_they_say():
    product = Product(47, 63)
    texts = [product.worked, product.direct, "\\boxed{0001}", "\\boxed{0001}",  # two right, two wrong alike: a tie, the first wins
             "\\boxed{0002}", "\\boxed{0003}", "24,12,42,21,", "\\boxed{}",  # all wrong, rewards all 0
             product.direct, product.direct, product.direct, product.direct]  # all right, rewards all 1
    completions = torch.tensor([encode(text, 18) for text in texts])
    batch = make_batch([product] * 3, prompt_tensor([product] * 3), completions, 4)
    assert batch.answers == ["2961", "2961", "1", "1", "2", "3", None, None, "2961", "2961", "2961", "2961"]
    # A completion without an end is valid to its last token.
    assert batch.completion_mask.sum(dim=-1).tolist() == [18, 6, 6, 6, 6, 6, 18, 2, 6, 6, 6, 6]
    batch.rewards = truth(batch)
    batch.old_token_logps = torch.where(inside_box(completions), -2.0, -0.5)
    batch.reference_token_logps = batch.old_token_logps - 1.0
    batch.advantages = torch.tensor([1.0, -1.0, 1.0, -1.0, 0, 0, 0, 0, 1.0, 1.0, 1.0, 1.0])
    row = describe(batch)
    expected = {
        "reward": 6 / 12, "accuracy": 6 / 12, "majority_accuracy": 2 / 3, "unique_answers": 5 / 3, "zero_variance": 2 / 3,
        "zero_variance_right": 1 / 3, "zero_variance_wrong": 1 / 3, "all_right": 1 / 3, "all_wrong": 1 / 3, "answer_logp": -2.0,
        "reasoning_logp": -0.5, "kl": torch.e ** -1, "length": 92 / 12, "worked": 2 / 12, "flips": 12 / 92,
    }
    assert row == pytest.approx(expected)


def test_neighbors_are_compared_in_a_ring_and_the_answer_is_read(half, batch):
    comparisons = compare_neighbors(half, batch, 8, seeded())
    assert [(i, j) for i, j, _ in comparisons] == [(i, i + 1 if i % 8 < 7 else i - 7) for i in range(256)]
    answers = [answer for _, _, answer in comparisons]
    assert sum(answer is not None for answer in answers) > 250
    # Better than answering at once, and far better where at least one of the two is right.
    right = truth(batch).bool().tolist()
    judged = [(right[i] + right[j], answer == batch.correct_answers[i]) for i, j, answer in comparisons]
    assert sum(hit for known, hit in judged if known == 2) / sum(known == 2 for known, _ in judged) > 0.8
    assert sum(hit for known, hit in judged if known == 1) / sum(known == 1 for known, _ in judged) > 0.3


def test_comparisons_reach_the_rewards_and_only_if_asked_for():
    seen = []

    def rewards(batch):
        seen.append(len(batch.comparisons))
        return truth(batch)

    for compare in (False, True):
        train(dataclasses.replace(GRPO, rewards=rewards, compare=compare), settings=dataclasses.replace(QUICK, steps=1), **QUIET)
    assert seen == [0, 32]


def test_a_pool_smaller_than_a_step_is_visited_again():
    pool = HELD_OUT[:3]  # test-time training
    visited = []
    method = dataclasses.replace(GRPO, rewards=lambda batch: visited.extend(batch.products[::8]) or truth(batch))
    record = train(method, settings=dataclasses.replace(QUICK, steps=3), pool=pool, **QUIET)
    assert len(visited) == 12 and all(visited.count(product) == 4 for product in pool)
    assert record.evaluations[-1]["step"] == 3


def test_progress_says_what_is_left_in_the_learners_language(capsys):
    from advantagelab import set_language

    try:
        train(GRPO, settings=dataclasses.replace(QUICK, steps=1))
        set_language("zh")
        train(GRPO, settings=dataclasses.replace(QUICK, steps=1))
    finally:
        set_language("en")
    printed = capsys.readouterr().out
    assert "step 1/1 · held-out accuracy 0." in printed and "0 s left" in printed and "第 1/1 步 · 留出集正确率 0." in printed


def test_evaluation_uses_the_same_random_numbers_every_time(half):
    assert evaluate(half, TRAINING[:8], HELD_OUT[:16]) == evaluate(half, TRAINING[:8], HELD_OUT[:16])


# ---- the shipped models, and what a few steps do to them

@pytest.fixture()
def fair_evaluation(monkeypatch):
    """A standard error of .025 on 378 samples, where the effects are beyond .1."""
    monkeypatch.setattr(products, "HELD_OUT", HELD_OUT[::3])
    monkeypatch.setattr(measure, "SEEN_SAMPLES", 378)


def test_the_half_model_is_right_two_times_in_five_and_shows_its_work_half_of_the_time(half, fair_evaluation):
    figures = evaluate(half, TRAINING[::18], HELD_OUT[::3])
    assert 0.30 < figures["held_out_accuracy"] < 0.48 and 0.45 < figures["held_out_worked"] < 0.70


def test_the_direct_model_works_only_where_it_is_told_to(monkeypatch):
    monkeypatch.setattr(pretrain, "HELD_OUT", HELD_OUT[::3])
    figures = pretrain.report(load("direct"))
    assert figures["none"]["accuracy"] < 0.12 and figures["none"]["begins_with_work"] < 0.002
    assert 0.53 < figures["work"]["accuracy"] < 0.73 and figures["work"]["begins_with_work"] > 0.98
    assert figures["direct"]["accuracy"] < 0.12 and figures["noise"]["accuracy"] < 0.12
    assert figures["reference"]["accuracy"] > 0.9


def test_five_steps_with_the_verifier_find_the_work_and_with_it_the_answer(fair_evaluation):
    record = train(GRPO, settings=Settings(steps=5, warmup=1, evaluate_every=5), **QUIET)
    start, end = record.evaluations
    assert end["held_out_accuracy"] > start["held_out_accuracy"] + 0.05 and end["seen_accuracy"] > start["seen_accuracy"] + 0.05
    assert end["held_out_worked"] > start["held_out_worked"] + 0.15
    assert record.steps[-1]["kl"] > 0 == record.steps[0]["kl"] and record.steps[-1]["flips"] == 0


def test_five_steps_against_the_verifier_do_the_opposite(fair_evaluation):
    against = dataclasses.replace(GRPO, rewards=lambda batch: 1 - truth(batch))
    record = train(against, settings=Settings(steps=5, warmup=1, evaluate_every=5), **QUIET)
    start, end = record.evaluations
    assert end["held_out_accuracy"] < start["held_out_accuracy"] - 0.05 and end["held_out_worked"] < start["held_out_worked"] - 0.15
    assert record.steps[0]["flips"] > 0.5
