"""Checks of lesson rollout lifecycle. Visible ones hold literals and properties; hidden ones compare with spec.py on random inputs.

A TODO's checks stand in the order in which they help: what fails along with something else comes after it.
Every check calls the function once on valid input before anything else, so an untouched skeleton says "TODO n".
"""

import math

import torch

from advantagelab.checking import expect_close, expect_error, expect_unchanged, gradient, message

from . import spec

# TODO 1: completion_mask_from_ids. In the literals 2 is the EOS, unless the check says otherwise.


def check_completion_mask_from_ids_is_one_bool_for_each_id(answers):
    got = answers.completion_mask_from_ids(torch.tensor([[5, 6, 2, 0], [7, 2, 0, 0]]), 2)
    expect_close([str(got.dtype), list(got.shape)], ["torch.bool", [2, 4]], message(
        en="A completion mask is a bool tensor with one entry for each id: no 0/1 numbers, no lengths, no list of the valid ids.",
        zh="回答掩码是布尔张量，每个 id 对应一项：不是 0/1 数字，不是长度，也不是有效 id 的列表。"))


def check_completion_mask_from_ids_true_means_valid(answers):
    got = answers.completion_mask_from_ids(torch.tensor([[5, 6, 2, 0, 0]]), 2)
    expect_close(got[0, [0, 1, 4]], torch.tensor([True, True, False]), message(
        en="True marks a valid token, False marks padding: here text was marked as padding, or padding as valid.",
        zh="True 表示有效 Token，False 表示填充：这里把正文标成了填充，或把填充标成了有效。"))


def check_completion_mask_from_ids_keeps_the_first_eos(answers):
    for ids, place in (([5, 6, 2, 0, 0], 2), ([2], 0)):
        got = answers.completion_mask_from_ids(torch.tensor([ids]), 2)
        expect_close(got[0, place], torch.tensor(True), message(
            en="The first EOS was dropped. The policy sampled it, so it is a valid token: without it the policy never learns when to stop.",
            zh="第一个 EOS 被丢掉了。它也是策略采样出来的，属于有效 Token；没有它，策略学不会何时停止。"))


def check_completion_mask_from_ids_ends_with_the_eos(answers):
    got = answers.completion_mask_from_ids(torch.tensor([[5, 6, 2, 0, 0]]), 2)
    expect_close(got, torch.tensor([[True, True, True, False, False]]), message(
        en="The completion ends with its EOS: the very next position is already padding.",
        zh="回答到 EOS 为止：紧跟其后的位置已经是填充。"))


def check_completion_mask_from_ids_padding_may_be_the_eos(answers):
    for ids, valid in (([5, 6, 2, 2, 2], [True, True, True, False, False]), ([2, 2, 2], [True, False, False])):
        expect_close(answers.completion_mask_from_ids(torch.tensor([ids]), 2), torch.tensor([valid]), message(
            en="Many tokenizers pad with the EOS id. Then the first EOS is valid and each later one is padding, even if the EOS comes "
               "first: a comparison with a padding id cannot tell them apart.",
            zh="许多分词器用 EOS 的 id 作填充。此时第一个 EOS 有效，之后的都是填充，哪怕 EOS 排在最前：与填充 id 比较分不清两者。"))


def check_completion_mask_from_ids_nothing_is_valid_after_the_eos(answers):
    got = answers.completion_mask_from_ids(torch.tensor([[5, 2, 7, 8, 2, 9]]), 2)
    expect_close(got, torch.tensor([[True, True, False, False, False, False]]), message(
        en="Whatever stands after the first EOS is no part of the completion, ordinary ids and another EOS included.",
        zh="第一个 EOS 之后无论是什么都不属于回答，普通 id 和又一个 EOS 也不例外。"))


def check_completion_mask_from_ids_without_eos_all_is_valid(answers):
    got = answers.completion_mask_from_ids(torch.tensor([[5, 6, 7, 0]]), 2)
    expect_close(got, torch.tensor([[True, True, True, True]]), message(
        en="A completion that was cut off at the length limit has no EOS. All of its tokens were sampled, so all are valid, the last one "
           "and id 0 too.",
        zh="因长度上限而中断的回答没有 EOS。它的每个 Token 都是采样出来的，因此全部有效，最后一个和 id 0 也不例外。"))


def check_completion_mask_from_ids_each_row_on_its_own(answers):
    got = answers.completion_mask_from_ids(torch.tensor([[5, 2, 2, 2], [5, 6, 7, 8], [5, 6, 2, 2]]), 2)
    expect_close(got, torch.tensor([[True, True, False, False], [True, True, True, True], [True, True, True, False]]), message(
        en="Each completion ends at its own EOS: here one row decided where another ends.",
        zh="每条回答在自己的 EOS 处结束：这里某一行决定了另一行的结尾。"))


def check_completion_mask_from_ids_eos_is_the_given_id(answers):
    large = 1000 * 2**40  # float32 cannot tell it from large + 1; modulo 1000 or 2**32 it is 0
    for ids, eos_id in (([2, 7, 0, 2], 0), ([0, 7, 151645, 0], 151645), ([1, large, large + 1, 1], large + 1)):
        expect_close(answers.completion_mask_from_ids(torch.tensor([ids]), eos_id), torch.tensor([[True, True, True, False]]), message(
            en="The EOS is whatever id the caller says: each tokenizer has its own, it may be 0 or very large, and ids are compared as "
               "integers, not as float.",
            zh="EOS 是调用者给出的那个 id：每个分词器各有自己的，可能是 0，也可能很大；id 要按原样比较，不转成浮点数。"))


def check_completion_mask_from_ids_leaves_ids_alone(answers):
    ids = torch.tensor([[5, 2, 7, 2], [5, 6, 7, 8]])
    before = ids.clone()
    answers.completion_mask_from_ids(ids, 2)
    expect_unchanged(before, ids, message(
        en="The caller's ids were overwritten, and they are needed again for every log-probability.",
        zh="调用者的 id 被改写了，而之后每次求对数概率都还要用到它们。"))


def check_completion_mask_from_ids_refuses_bad_input(answers):
    ids = torch.tensor([[5, 2, 0]])
    said = message(
        en="The input check above the TODO must stay: ValueError for ids that are not [N, T] int64, an empty batch, an eos_id that is "
           "missing or negative.",
        zh="TODO 上方的输入检查要保留：id 不是 [N, T] 的 int64 张量、输入为空、没有 eos_id 或 eos_id 为负时抛出 ValueError。")
    answers.completion_mask_from_ids(ids, 2)
    expect_error(lambda: answers.completion_mask_from_ids(ids[0], 2), said)
    expect_error(lambda: answers.completion_mask_from_ids(ids.float(), 2), said)
    expect_error(lambda: answers.completion_mask_from_ids(ids[:0], 2), said)
    expect_error(lambda: answers.completion_mask_from_ids(ids, None), said)
    expect_error(lambda: answers.completion_mask_from_ids(ids, -1), said)


def hidden_completion_mask_from_ids_random(answers, rng):
    for length, rows, first_id in ((1, 6, 0), (7, 1, 0), (12, 6, 2**60), (20, 12, -5), (300, 6, 0)):
        eos_id = max(first_id, 0) + rng.integer(0, 9)
        ids = torch.tensor([[first_id + rng.integer(0, 14) for _ in range(min(length, 20))] for _ in range(rows)])
        # Cut off, without an EOS; and padded with the EOS to a length at which a counter of 8 bits starts again.
        ids = torch.cat([ids.where(ids != eos_id, eos_id + 1), ids])
        ids = torch.cat([ids, torch.full((2 * rows, length - ids.shape[1]), eos_id)], dim=1)
        expect_close(answers.completion_mask_from_ids(ids, eos_id), spec.completion_mask_from_ids(ids, eos_id), message(
            en="Random ids, with no, one or many EOS in a row: the mask is not True exactly up to the first one.",
            zh="随机的 id，一行中没有、有一个或有多个 EOS：掩码不是恰好到第一个 EOS 为 True。"))


# TODO 2: gather_token_logps


def check_gather_token_logps_one_for_each_completion_token(answers):
    logits, ids = torch.zeros(2, 6, 4), torch.tensor([[0, 1, 2, 3, 0, 1], [3, 2, 1, 0, 3, 2]])
    shapes = [list(answers.gather_token_logps(logits[:n], ids[:n], prompt_length).shape) for n, prompt_length in ((2, 1), (2, 4), (1, 5))]
    expect_close(shapes, [[2, 5], [2, 2], [1, 1]], message(
        en="One number for each completion token, [N, T]: no prompt token, no completion token left out, no sum or average over the row, "
           "no whole distribution.",
        zh="每个回答 Token 一个数，形状 [N, T]：不含提示的 Token，不漏掉回答的 Token，不按行求和或取平均，也不是整个分布。"))


def check_gather_token_logps_is_a_log_probability(answers):
    got = answers.gather_token_logps(torch.zeros(2, 3, 4), torch.tensor([[0, 1, 2], [3, 2, 0]]), 1)
    expect_close(got, torch.full((2, 2), -1.386294), message(  # -log 4
        en="All 4 tokens are equally likely here, so each has log-probability -log 4, the natural logarithm: a log-softmax over the "
           "vocabulary. Not a softmax, not a bare logit, not a softmax over another dimension, not the positive sign of a cross-entropy.",
        zh="这里 4 个 Token 等可能，各自的对数概率都是 -log 4（自然对数）：在词表维上做 log-softmax。不是 softmax，不是 logit 本身，"
           "不是在别的维上做 softmax，也不是交叉熵的正号。"))


def check_gather_token_logps_leaves_inputs_alone(answers):
    inputs = torch.tensor([[[0.0, 1.0], [2.0, 3.0], [4.0, 6.0]]]), torch.tensor([[1, 0, 1]])
    before = tuple(values.clone() for values in inputs)
    answers.gather_token_logps(*inputs, 1, 0.5)
    expect_unchanged(before, inputs, message(
        en="The caller's logits or ids were overwritten: a slice shares its memory with the original.",
        zh="调用者的 logits 或 id 被改写了：切片与原张量共享内存。"))


def check_gather_token_logps_of_the_given_tokens(answers):
    logits = torch.tensor([0.5, 0.3, 0.2]).log().expand(2, 4, 3)  # one and the same distribution at every position
    got = answers.gather_token_logps(logits, torch.tensor([[0, 2, 1, 0], [1, 0, 0, 2]]), 2, 1.0)
    expect_close(got, torch.tensor([[0.3, 0.5], [0.5, 0.2]]).log(), message(
        en="It is the sampled token's log-probability: each completion token of each row looked up under its own id, not the likeliest "
           "token, not the neighbor's id, not another row's.",
        zh="求的是被采样 Token 的对数概率：每行的每个回答 Token 都按自己的 id 取值，而不是最可能的 Token、相邻位置的 id 或别的行的 id。"))


def check_gather_token_logps_reads_the_position_before(answers):
    logits = torch.tensor([[[0.5, 0.5], [0.6, 0.4], [0.7, 0.3], [0.8, 0.2], [0.9, 0.1]]]).log()
    got = answers.gather_token_logps(logits, torch.tensor([[0, 0, 0, 0, 0]]), 2, 1.0)
    expect_close(got, torch.tensor([[0.6, 0.7, 0.8]]).log(), message(
        en="Off by one: the logits at position t - 1 predict the token at position t. So the first completion token is read from the last "
           "prompt position, and the last position predicts nothing that was sampled.",
        zh="错了一位：位置 t - 1 的 logits 预测位置 t 的 Token。第一个回答 Token 要从提示的最后一个位置读，最后一个位置的预测用不到。"))


def check_gather_token_logps_stays_normalized_at_any_temperature(answers):
    logits = torch.tensor([0.8, 0.2]).log().expand(2, 2, 2)
    for temperature in (0.5, 2.0):
        got = answers.gather_token_logps(logits, torch.tensor([[0, 0], [0, 1]]), 1, temperature)
        expect_close(got.exp().sum(), torch.tensor(1.0), message(
            en="At this temperature the probabilities of the two tokens do not add up to 1: temperature acts on the logits, before the "
               "softmax, not on the log-probabilities.",
            zh="在这个温度下，两个 Token 的概率之和不等于 1：温度作用于 softmax 之前的 logits，而不是对数概率。"))


def check_gather_token_logps_higher_temperature_flattens(answers):
    logits, ids = torch.tensor([0.8, 0.2]).log().expand(1, 2, 2), torch.tensor([[0, 0]])
    cold, plain, hot = (float(answers.gather_token_logps(logits, ids, 1, temperature)) for temperature in (0.5, 1.0, 2.0))
    expect_close([cold > plain, plain > hot], [True, True], message(
        en="Temperature above 1 makes the likeliest token less likely, below 1 more likely: the logits are divided by it. Here it was "
           "ignored, or multiplied.",
        zh="温度高于 1 时最可能的 Token 变得不那么可能，低于 1 时更可能：logits 要除以温度。这里忽略了温度，或乘以了温度。"))


def check_gather_token_logps_divides_by_the_temperature(answers):
    logits, ids = torch.tensor([0.8, 0.2]).log().expand(2, 2, 2), torch.tensor([[0, 0], [0, 1]])
    # 0.8 and 0.2 are 4 to 1. Their squares are 16 to 1, their square roots 2 to 1.
    for temperature, odds in ((0.5, 16.0), (2.0, 2.0), (10.0, 4.0**0.1)):
        got = answers.gather_token_logps(logits, ids, 1, temperature)
        expect_close(got, [[-math.log1p(1 / odds)], [-math.log1p(odds)]], message(
            en="The logits are divided by the temperature itself, once, however low or high it is: not by its square or its root.",
            zh="logits 除以温度本身，且只除一次，不论温度多低多高：不是它的平方或平方根。"))


def check_gather_token_logps_default_temperature_is_one(answers):
    got = answers.gather_token_logps(torch.tensor([0.8, 0.2]).log().expand(1, 2, 2), torch.tensor([[0, 0]]), 1)
    expect_close(got, torch.tensor([[0.8]]).log(), message(
        en="No temperature was given, and the logits were changed all the same: its default is 1.",
        zh="没有给出温度，logits 却仍然被改动了：它的默认值是 1。"))


def check_gather_token_logps_survives_unlikely_tokens(answers):
    got = answers.gather_token_logps(torch.tensor([[[0.0, 200.0], [5000.0, 0.0], [0.0, 0.0]]]), torch.tensor([[0, 0, 1]]), 1)
    expect_close(got, torch.tensor([[-200.0, -5000.0]]), message(
        en="exp(-200) is 0 and exp(5000) is infinite in float32: take the log-softmax in one step, not the logarithm of a softmax, and "
           "clamp nothing.",
        zh="在 float32 中 exp(-200) 等于 0，exp(5000) 是无穷：要一步求 log-softmax，而不是先 softmax 再取对数，也不要截断。"))


def check_gather_token_logps_tokens_may_be_excluded(answers):
    logits = torch.tensor([[[-1.0, -1.0, -math.inf], [0.0, 0.0, 0.0]]])
    got = answers.gather_token_logps(logits, torch.tensor([[0, 1]]), 1, 0.5)
    expect_close(got, torch.tensor([[-0.693147]]), message(  # log(1/2)
        en="A logit of -inf excludes a token; the others share its probability. Pick the sampled token out: in a product with zeros "
           "0 · inf is NaN, and a large finite number in place of -inf is not needed.",
        zh="logit 为 -inf 表示该 Token 被排除，概率由其余 Token 分享。要直接取出被采样的 Token：与零相乘时 0 · inf 等于 NaN，"
           "也不必用很大的有限数代替 -inf。"))


def check_gather_token_logps_gradient(answers):
    logits = torch.tensor([0.5, 0.3, 0.2]).log().repeat(1, 3, 1).requires_grad_()
    got = answers.gather_token_logps(logits, torch.tensor([[0, 1, 2]]), 2, 1.0)
    expect_close(gradient(got, logits), [[[0.0, 0.0, 0.0], [-0.5, -0.3, 0.8], [0.0, 0.0, 0.0]]], message(
        en="The gradient by the logits is 1 - p at the sampled token and -p at all others, and 0 at positions that predict no completion "
           "token. Here it was cut off, in whole or in part.",
        zh="对 logits 的梯度在被采样的 Token 处为 1 - p，在其余 Token 处为 -p，在不预测回答 Token 的位置为 0。"
           "这里梯度被全部或部分切断了。"))


def check_gather_token_logps_keeps_float64(answers):
    logits = torch.tensor([[[0.0, 1000.0], [0.0, 0.0]]], dtype=torch.float64)
    got = answers.gather_token_logps(logits, torch.tensor([[0, 0]]), 1)
    expect_close(1e6 * (got.double() + 1000.0), [[0.0]], message(
        en="A small number was added to the temperature, and a log-probability of -1000 shows it: the temperature is above 0, so it needs "
           "none.",
        zh="温度上加了一个很小的数，对数概率 -1000 看得出来：温度大于 0，不需要加。"))
    logits = torch.tensor([[[1e8, 1e8 + 0.5], [0.0, 0.0]]], dtype=torch.float64)
    got = answers.gather_token_logps(logits, torch.tensor([[0, 1]]), 1)
    expect_close(got, [[-0.474077]], message(  # -log(1 + exp(-0.5))
        en="float64 logits were rounded to float32, in which 1e8 and 1e8 + 0.5 are one number.",
        zh="float64 的 logits 被舍入成了 float32，而在 float32 中 1e8 与 1e8 + 0.5 是同一个数。"))


def check_gather_token_logps_refuses_bad_input(answers):
    logits, ids = torch.zeros(1, 3, 2), torch.tensor([[0, 1, 1]])
    said = message(
        en="The input check above the TODO must stay: ValueError for a temperature that is 0, negative or not finite, a prompt_length "
           "below 1 or without a completion, ids outside the vocabulary, shapes that do not belong together.",
        zh="TODO 上方的输入检查要保留：温度为 0、为负或不是有限数，prompt_length 小于 1 或没有回答，id 超出词表，形状不对应时抛出 "
           "ValueError。")
    answers.gather_token_logps(logits, ids, 1)
    for temperature in (0.0, -1.0, math.inf, math.nan):
        expect_error(lambda temperature=temperature: answers.gather_token_logps(logits, ids, 1, temperature), said)
    for prompt_length in (0, 3):
        expect_error(lambda prompt_length=prompt_length: answers.gather_token_logps(logits, ids, prompt_length), said)
    expect_error(lambda: answers.gather_token_logps(logits, ids + 1, 1), said)
    expect_error(lambda: answers.gather_token_logps(logits, ids - 1, 1), said)
    expect_error(lambda: answers.gather_token_logps(logits, ids[:, :2], 1), said)
    expect_error(lambda: answers.gather_token_logps(logits[0], ids, 1), said)


def hidden_gather_token_logps_random(answers, rng):
    for n, prompt_length, length, size, temperature, scale, dtype in (
            (rng.integer(2, 5), rng.integer(1, 4), rng.integer(2, 6), rng.integer(3, 8), rng.uniform(0.4, 2.5), 3.0, torch.float32),
            (rng.integer(2, 5), rng.integer(5, 9), rng.integer(13, 20), rng.integer(3, 8), rng.uniform(0.02, 0.09), 0.1, torch.float32),
            (1, 1, rng.integer(2, 6), rng.integer(30, 50), rng.uniform(3.0, 30.0), 20.0, torch.float64),
            (rng.integer(9, 20), rng.integer(2, 4), 1, 2, 1.0, 3.0, torch.float32)):
        logits = (scale * rng.normal(n, prompt_length + length, size).to(dtype)).requires_grad_()
        ids = torch.tensor([[rng.integer(0, size - 1) for _ in range(prompt_length + length)] for _ in range(n)])
        got = answers.gather_token_logps(logits, ids, prompt_length, temperature)
        expected, slopes = spec.gather_token_logps(logits, ids, prompt_length, temperature)
        expect_close(got, expected, message(
            en="Random logits, lengths and temperatures: a token log-probability is wrong.",
            zh="随机的 logits、长度与温度：Token 对数概率有误。"))
        expect_close(gradient(got, logits), slopes, message(
            en="Random logits, lengths and temperatures: a gradient is wrong.",
            zh="随机的 logits、长度与温度：梯度有误。"))


# TODO 3: validate_group


def check_validate_group_returns_what_is_shared(answers):
    shared = {"prompt_id": "sum-7", "policy_version": 4, "reward_version": 2, "reference_version": 1, "teacher_version": 3}
    expect_close(answers.validate_group([dict(shared) for _ in range(3)]), shared, message(
        en="A sound group gives back a dict of the five fields, each with the one value that all its records have: no lists, no single "
           "field, no True.",
        zh="合格的一组应返回含五个字段的字典，每个字段是全部记录共有的那个值：不是列表，不只是一个字段，也不是 True。"))


def check_validate_group_samples_may_differ(answers):
    shared = {"prompt_id": "sum-7", "policy_version": 4, "reward_version": 2, "reference_version": 1, "teacher_version": 3}
    records = [{"sample_id": 0, "reward": 1.0, "finish_reason": "eos", **shared},
               {"sample_id": 1, "reward": 0.0, "finish_reason": "length", **shared}, {"sample_id": 2, **shared}]
    expect_close(answers.validate_group(records), shared, message(
        en="Only the five fields must agree, and only they are returned. Sample, reward and the rest are each completion's own, and may "
           "even be absent.",
        zh="只有这五个字段必须一致，也只返回它们。样本编号、奖励等是每条回答自己的，甚至可以没有。"))


def check_validate_group_takes_a_group_of_one(answers):
    shared = {"prompt_id": "sum-7", "policy_version": 4, "reward_version": 2, "reference_version": 1, "teacher_version": 3}
    expect_close(answers.validate_group([dict(shared)]), shared, message(
        en="One record cannot contradict itself: a group of one is small, but sound.",
        zh="一条记录不会与自己矛盾：只有一条的组虽小，但合格。"))


def check_validate_group_zero_and_none_are_values(answers):
    for prompt_id, reward_version in ((0, 0), ("", -1)):
        shared = {"prompt_id": prompt_id, "policy_version": 0, "reward_version": reward_version, "reference_version": None,
                  "teacher_version": None}
        expect_close(answers.validate_group([dict(shared), dict(shared)]), shared, message(
            en="0, -1 and an empty text are values, and None says that there is no reference policy or no self-teacher: a field with such "
               "a value is not missing, and it is returned.",
            zh="0、-1 和空字符串都是值，None 表示没有参考策略或自教师：取这些值的字段并不是缺失，也要返回。"))


def check_validate_group_compares_values(answers):
    records = [{"prompt_id": f"sum-{number}", "policy_version": int("1000"), "reward_version": 2, "reference_version": int("2000"),
                "teacher_version": 3} for number in (7, 7)]
    shared = {"prompt_id": "sum-7", "policy_version": 1000, "reward_version": 2, "reference_version": 2000, "teacher_version": 3}
    expect_close(answers.validate_group(records), shared, message(
        en="Records that were read from two files hold equal values, not the same objects: compare with == or !=, not with `is`.",
        zh="从两个文件读出的记录值相等，却不是同一个对象：要用 == 或 != 比较，而不是 `is`。"))


def check_validate_group_leaves_records_alone(answers):
    shared = {"prompt_id": "sum-7", "policy_version": 4, "reward_version": 2, "reference_version": 1, "teacher_version": 3}
    records = [{"sample_id": 0, **shared}, {"sample_id": 1, **shared}]
    got = answers.validate_group(records)
    expect_unchanged([{"sample_id": 0, **shared}, {"sample_id": 1, **shared}], records, message(
        en="The caller's records were changed: a record is frozen, and its fields are needed again.",
        zh="调用者的记录被改动了：记录是冻结的，它的字段以后还要用。"))
    expect_close(got, shared, message(
        en="The records stayed as they were, but the shared fields are not the five.", zh="记录没有被改动，但返回的共同字段不是那五个。"))


def check_validate_group_refuses_with_value_error(answers):
    records = [{"prompt_id": "sum-7", "policy_version": 4, "reward_version": 2, "reference_version": 1, "teacher_version": 3},
               {"prompt_id": "sum-8", "policy_version": 5, "reward_version": 3, "reference_version": 2, "teacher_version": 4}]
    said = message(
        en="Two records that share nothing are no group: raise ValueError. An assert is skipped under python -O, and a returned value "
           "is easily overlooked.",
        zh="两条毫无共同之处的记录不成一组：要抛出 ValueError。assert 在 python -O 下会被跳过，而返回值容易被忽略。")
    answers.validate_group(records[:1])
    expect_error(lambda: answers.validate_group(records), said)


def check_validate_group_has_one_prompt(answers):
    shared = {"policy_version": 4, "reward_version": 2, "reference_version": 1, "teacher_version": 3}
    said = message(
        en="Completions of two prompts went through as one group: an easy and a hard prompt cannot be compared, so prompt_id must agree.",
        zh="两个提示的回答被当作一组放行：难易不同的提示无法比较，因此 prompt_id 必须一致。")
    answers.validate_group([{"prompt_id": 7, **shared}])
    expect_error(lambda: answers.validate_group([{"prompt_id": 7, **shared}, {"prompt_id": 8, **shared}]), said)


def check_validate_group_has_one_policy_version(answers):
    shared = {"prompt_id": "sum-7", "reward_version": 2, "reference_version": 1, "teacher_version": 3}
    said = message(
        en="Samples of two policy versions went through as one group, one older or newer by a single step: policy_version must agree "
           "exactly.",
        zh="两个策略版本的样本被当作一组放行，哪怕只早一步或晚一步：policy_version 必须完全一致。")
    answers.validate_group([{"policy_version": 4, **shared}])
    for version, other in ((4, 3), (4, 5), (4, -4), (4, None), (2**60, 2**60 + 1)):
        records = [{"policy_version": version, **shared}, {"policy_version": other, **shared}]
        expect_error(lambda records=records: answers.validate_group(records), said)


def check_validate_group_has_one_reward_version(answers):
    shared = {"prompt_id": "sum-7", "policy_version": 4, "reference_version": 1, "teacher_version": 3}
    said = message(
        en="Rewards of two verifiers went through as one group: a corrected verifier gives other rewards, so reward_version must agree.",
        zh="两个验证器的奖励被当作一组放行：修正后的验证器会给出不同的奖励，因此 reward_version 必须一致。")
    answers.validate_group([{"reward_version": "v1", **shared}])
    for other in ("v2", "v10", "V1", None):
        records = [{"reward_version": "v1", **shared}, {"reward_version": other, **shared}]
        expect_error(lambda records=records: answers.validate_group(records), said)
    expect_error(lambda: answers.validate_group([{"reward_version": 2, **shared}, {"reward_version": "2", **shared}]), message(
        en='The number 2 and the text "2" are two values: compare them as they are, not as text.',
        zh='数字 2 与文字 "2" 是两个值：要按原样比较，不转成文字。'))


def check_validate_group_has_one_reference_and_teacher(answers):
    shared = {"prompt_id": "sum-7", "policy_version": 4, "reward_version": 2, "reference_version": 1, "teacher_version": 3}
    said = message(
        en="Records scored by two reference policies or two self-teachers, or by one and none, went through as one group: "
           "reference_version and teacher_version must agree too.",
        zh="由两个参考策略或两个自教师打分的记录（或一条有、一条没有）被当作一组放行：reference_version 与 teacher_version 也必须一致。")
    answers.validate_group([shared, shared])
    for field in ("reference_version", "teacher_version"):
        for other in (9, None):
            expect_error(lambda field=field, other=other: answers.validate_group([shared, {**shared, field: other}]), said)


def check_validate_group_looks_at_every_record(answers):
    shared = {"prompt_id": "sum-7", "policy_version": 4, "reward_version": 2, "reference_version": 1, "teacher_version": 3}
    said = message(
        en="One record among five has another version, and the group went through: every record must be looked at, and a majority is not "
           "enough.",
        zh="五条记录中有一条版本不同，整组却被放行：每条记录都要看，多数一致还不够。")
    answers.validate_group([shared] * 5)
    for place in range(5):
        for field in shared:
            records = [{**shared, field: 6} if i == place else shared for i in range(5)]
            expect_error(lambda records=records: answers.validate_group(records), said)


def check_validate_group_missing_is_not_none(answers):
    shared = {"prompt_id": "sum-7", "policy_version": 4, "reward_version": 2, "reference_version": None, "teacher_version": None}
    said = message(
        en="A record that lacks a field was taken as agreeing, or something other than ValueError was raised. Nobody knows what it was "
           "sampled or scored by: missing is not None, and not what the others have.",
        zh="缺少字段的记录被当作一致，或抛出了 ValueError 以外的错误。没有人知道它由谁采样、由谁打分：缺失不等于 None，"
           "也不等于其他记录的值。")
    answers.validate_group([shared, shared, shared])
    for field in shared:
        lacking = {name: value for name, value in shared.items() if name != field}
        for records in ([lacking, shared, shared], [shared, shared, lacking], [lacking, lacking], [lacking]):
            expect_error(lambda records=records: answers.validate_group(records), said)


def check_validate_group_names_the_field(answers):
    shared = {"prompt_id": "sum-7", "policy_version": 4, "reward_version": 2, "reference_version": 1, "teacher_version": 3}
    said = message(
        en="The message of the error must name the field that is missing or differs, before any other of the five: a log must tell "
           "at once what is wrong.",
        zh="错误信息要写出缺失或不一致的那个字段，并且写在其余四个之前：看日志时要能立刻知道错在哪里。")
    answers.validate_group([shared, shared])
    for field in shared:
        for record in ({**shared, field: 9}, {name: value for name, value in shared.items() if name != field}):
            try:
                answers.validate_group([shared, record])
                text = "nothing was raised"
            except ValueError as error:
                text = str(error)
            expect_close(min((name for name in shared if name in text), key=text.index, default="no field is named"), field, said)


def check_validate_group_refuses_bad_input(answers):
    record = {"prompt_id": "sum-7", "policy_version": 4, "reward_version": 2, "reference_version": 1, "teacher_version": 3}
    said = message(
        en="The input check above the TODO must stay: ValueError for a group without records.",
        zh="TODO 上方的输入检查要保留：组内没有记录时抛出 ValueError。")
    answers.validate_group([record])
    expect_error(lambda: answers.validate_group([]), said)


def hidden_validate_group_random(answers, rng):
    fields = ("prompt_id", "policy_version", "reward_version", "reference_version", "teacher_version")
    for _ in range(40):
        shared = {field: f"v{rng.integer(10, 99)}" if rng.integer(0, 1) else rng.integer(0, 99) for field in fields}
        records = [{"sample_id": i, **shared} for i in range(rng.integer(1, 20))]
        record, field, change = records[rng.integer(0, len(records) - 1)], fields[rng.integer(0, 4)], rng.integer(0, 4)
        if change == 1:
            record[field] = rng.integer(100, 199)
        elif change == 2:
            record[field] = None
        elif change == 3:
            del record[field]
        elif change == 4:
            record[field] = record[field].upper() if isinstance(record[field], str) else str(record[field])
        try:
            got = answers.validate_group(records)
        except ValueError as error:
            text = str(error)
            got = min((name for name in fields if name in text), key=text.index, default="no field is named")
        expect_close(got, spec.validate_group(records), message(
            en="Random groups, some with one record that differs or lacks a field: a sound one was refused, an unsound one went through, "
               "or another field was named.",
            zh="随机的组，有的含一条字段不同或缺失的记录：合格的组被拒绝，不合格的组被放行，或写错了字段。"))


# TODO 4: importance_ratio


def check_importance_ratio_one_for_each_token(answers):
    old = torch.tensor([[-1.0, -2.0], [-0.5, -3.0]])
    record = {"policy_version": 3, "old_token_logps": old, "completion_mask": torch.ones(2, 2, dtype=torch.bool)}
    before = answers.importance_ratio(old, dict(record), 3)
    after = answers.importance_ratio(old + torch.tensor([[0.5, 0.0], [0.0, 0.0]]), dict(record), 3)
    expect_close(list(after.shape), [2, 2], message(
        en="There is one ratio for each token, [N, T]: nothing is summed or averaged over the completion.",
        zh="每个 Token 一个比率，形状 [N, T]：不对回答求和或取平均。"))
    expect_close([after[0, 1], after[1, 0], after[1, 1]], [before[0, 1], before[1, 0], before[1, 1]], message(
        en="Only the first token's log-probability changed, and other tokens' ratios changed with it: a token ratio knows nothing of the "
           "rest of its completion or batch.",
        zh="只有第一个 Token 的对数概率变了，其他 Token 的比率却跟着变：Token 比率与回答或批中的其余部分无关。"))


def check_importance_ratio_moves_with_inner_updates(answers):
    old = torch.tensor([[-1.0, -2.0]])
    record = {"policy_version": 3, "old_token_logps": old.clone(), "completion_mask": torch.ones(1, 2, dtype=torch.bool)}
    answers.importance_ratio(old, record, 3)
    later = answers.importance_ratio(old + torch.tensor([[0.25, -0.25]]), record, 3)
    expect_close(later != 1.0, torch.tensor([[True, True]]), message(
        en="At the second inner update the policy has moved and the record has not, so the ratios leave 1: the old log-probabilities "
           "come from the record, not from the current policy, and a frozen record may be used for several updates of its round.",
        zh="到第二次内部更新时，策略变了而记录没变，比率便离开 1：旧的对数概率来自记录而不是当前策略，"
           "同一轮内冻结的记录可以用于多次更新。"))


def check_importance_ratio_is_new_over_old(answers):
    old, new = torch.tensor([[0.2, 0.4]]).log(), torch.tensor([[0.3, 0.1]]).log()
    record = {"policy_version": 3, "old_token_logps": old, "completion_mask": torch.ones(1, 2, dtype=torch.bool)}
    expect_close(answers.importance_ratio(new, record, 3), torch.tensor([[1.5, 0.25]]), message(  # 0.3 / 0.2, 0.1 / 0.4
        en="The ratio of the new probability to the old one is exp(new - old): not the difference or quotient of the log-probabilities, "
           "and not old over new.",
        zh="新概率对旧概率的比率是 exp(new - old)：不是对数概率的差或商，也不是旧比新。"))


def check_importance_ratio_is_exactly_one_at_first(answers):
    old = torch.tensor([[-0.1, -3.0, -12.0, -40.0, -200.0]])
    record = {"policy_version": 3, "old_token_logps": old, "completion_mask": torch.ones(1, 5, dtype=torch.bool)}
    expect_close(answers.importance_ratio(old.clone(), record, 3) == 1.0, torch.ones(1, 5, dtype=torch.bool), message(
        en="At the first inner update new and old are equal, so every ratio is exactly 1, even for tokens so rare that their probability "
           "is 0 in float32: subtract first, then exp, and add no epsilon.",
        zh="第一次内部更新时新旧相等，每个比率都恰好是 1，哪怕 Token 罕见到概率在 float32 中为 0：先相减再取 exp，不加 epsilon。"))


def check_importance_ratio_is_not_clipped(answers):
    for change in (3.0, -3.0, 25.0, -22.0):
        old = torch.tensor([[-5000.0]], dtype=torch.float64)
        record = {"policy_version": 3, "old_token_logps": old, "completion_mask": torch.tensor([[True]])}
        expect_close(answers.importance_ratio(old + change, record, 3), torch.tensor([[math.exp(change)]]), message(
            en="The ratio is returned as it is, however far from 1 and however rare the token: nothing is cut off, no log-probability "
               "either. Clipping belongs to the loss, which needs the unclipped ratio as well.",
            zh="比率原样返回，无论离 1 多远，无论 Token 多罕见：什么都不截断，对数概率也不截断。裁剪是损失的事，"
               "而损失也需要未裁剪的比率。"))


def check_importance_ratio_gradient_at_first(answers):
    old = torch.tensor([[-1.0, -2.0]])
    new = old.clone().requires_grad_()
    record = {"policy_version": 3, "old_token_logps": old, "completion_mask": torch.ones(1, 2, dtype=torch.bool)}
    expect_close(gradient(answers.importance_ratio(new, record, 3), new), [[1.0, 1.0]], message(
        en="A ratio of 1 is no constant: its gradient by the new log-probability is 1, and from it the policy learns although the loss "
           "shows nothing. Here the gradient was cut off.",
        zh="比率等于 1 不等于是常数：它对新对数概率的梯度为 1，损失看似不动时，策略正是由此学习的。这里梯度被切断了。"))


def check_importance_ratio_old_is_frozen(answers):
    for n, changes, ratios in ((1, [-0.5, 1.0], [0.606531, 2.718282]), (2, [-0.5, 1.0], [0.606531, 2.718282]), (1, [0.0, 0.0], [1.0, 1.0])):
        old = torch.tensor([[-1.0, -2.0]] * n, requires_grad=True)
        new = (old.detach() + torch.tensor(changes)).requires_grad_()
        record = {"policy_version": 3, "old_token_logps": old, "completion_mask": torch.ones(n, 2, dtype=torch.bool)}
        got = answers.importance_ratio(new, record, 3)
        expect_close((gradient(got, old), gradient(got, new)), ([[0.0, 0.0]] * n, [ratios] * n), message(
            en="The old log-probabilities are a constant of the record, at the first inner update too: no gradient may flow into them, and "
               "all of it into the new ones.",
            zh="旧的对数概率是记录里的常数，第一次内部更新时也是：梯度不能流入它们，应全部流入新的对数概率。"))


def check_importance_ratio_is_one_on_padding(answers):
    old, new = torch.tensor([[-1.0, -7.0, -5.0], [-1.0, -4.0, -2.0]]), torch.tensor([[-1.0, -2.0, -9.0], [-0.5, -8.0, -2.0]])
    mask = torch.tensor([[True, False, False], [True, False, True]])
    record = {"policy_version": 3, "old_token_logps": old, "completion_mask": mask}
    expect_close(answers.importance_ratio(new, record, 3), torch.tensor([[1.0, 1.0, 1.0], [1.648721, 1.0, 1.0]]), message(
        en="Outside the mask the ratio is 1, wherever the mask has its gaps: not 0, and not a ratio of padding.",
        zh="掩码之外的比率为 1，不论掩码的空缺在哪里：不是 0，也不是填充处的比率。"))


def check_importance_ratio_padding_may_be_infinite(answers):
    old, new = torch.tensor([[-1.0, -math.inf, math.nan, -500.0]]), torch.tensor([[-1.0, -math.inf, -2.0, 1e6]])
    record = {"policy_version": 3, "old_token_logps": old, "completion_mask": torch.tensor([[True, False, False, False]])}
    expect_close(answers.importance_ratio(new, record, 3), torch.ones(1, 4), message(
        en="Padding of -inf, NaN or a huge number leaked into the ratios: multiplying by the mask does not remove it.",
        zh="填充处的 -inf、NaN 或极大的数混入了比率：乘以掩码去不掉它们。"))


def check_importance_ratio_padding_has_no_gradient(answers):
    old = torch.tensor([[-1.0, -math.inf, math.nan, -500.0, -2.0]])
    new = torch.tensor([[-1.0, -math.inf, -2.0, 1e6, -3.0]], requires_grad=True)
    record = {"policy_version": 3, "old_token_logps": old, "completion_mask": torch.tensor([[True, False, False, False, False]])}
    expect_close(gradient(answers.importance_ratio(new, record, 3), new), [[1.0, 0.0, 0.0, 0.0, 0.0]], message(
        en="Padding received a gradient, perhaps NaN. A ratio replaced after exp still sends 0 · inf back: put the mask on before exp.",
        zh="填充处得到了梯度，可能是 NaN。在 exp 之后才替换比率，反向传播时仍会得到 0 · inf：掩码要用在 exp 之前。"))


def check_importance_ratio_refuses_an_older_record(answers):
    logps = torch.tensor([[-1.0]])
    record = {"policy_version": 1000, "old_token_logps": logps, "completion_mask": torch.tensor([[True]])}
    said = message(
        en="A stale record went through, or something other than ValueError came of it. This round samples with a newer version, so a "
           "record of an earlier one must be refused, even of the one just before.",
        zh="过期的记录被放行，或得到的不是 ValueError。本轮用更新的版本采样，更早版本的记录必须拒绝，哪怕只早一个版本。")
    answers.importance_ratio(logps, record, int("1000"))
    for sampled, version in ((1000, 1001), (1000, 1007), (1000, 2000), (-1, 0), (-7, 7), (2**60, 2**60 + 1)):
        expect_error(lambda sampled=sampled, version=version: answers.importance_ratio(
            logps, {**record, "policy_version": sampled}, version), said)


def check_importance_ratio_refuses_a_newer_record(answers):
    logps = torch.tensor([[-1.0]])
    record = {"policy_version": 7, "old_token_logps": logps, "completion_mask": torch.tensor([[True]])}
    said = message(
        en="A record of a newer version than this round's went through: the versions must be equal, in either direction.",
        zh="版本比本轮更新的记录被放行：两个版本必须相等，无论哪个更大。")
    answers.importance_ratio(logps, record, 7)
    for version in (6, 1, 0):
        expect_error(lambda version=version: answers.importance_ratio(logps, record, version), said)


def check_importance_ratio_says_why_it_refuses(answers):
    logps = torch.tensor([[-1.0]])
    record = {"policy_version": 3, "old_token_logps": logps, "completion_mask": torch.tensor([[True]])}
    said = message(
        en="The message of the error must name policy_version, so that a stale record is told from any other bad input.",
        zh="错误信息要写明 policy_version，才能把过期的记录与其他错误输入区分开。")
    answers.importance_ratio(logps, record, 3)
    try:
        answers.importance_ratio(logps, record, 4)
        text = "nothing was raised"
    except ValueError as error:
        text = str(error)
    expect_close("policy_version" in text, True, said)


def check_importance_ratio_compares_version_values(answers):
    for version in ("0", "1", "-1", "1000"):
        logps = torch.tensor([[-1.0]])
        record = {"policy_version": int(version), "old_token_logps": logps, "completion_mask": torch.tensor([[True]])}
        try:
            answers.importance_ratio(logps, record, int(version))
            refused = False
        except ValueError:
            refused = True
        expect_close(refused, False, message(
            en="A record of this round's version was refused: any version may be this round's, 0 too, and equal versions need not be the "
               "same object.",
            zh="属于本轮版本的记录被拒绝了：本轮可以是任何版本，包括 0；相等的版本不必是同一个对象。"))


def check_importance_ratio_record_stays_frozen(answers):
    old, mask = torch.tensor([[-1.0, -9.0]]), torch.tensor([[True, False]])
    new = torch.tensor([[-2.0, -5.0]])
    record = {"policy_version": 3, "old_token_logps": old, "completion_mask": mask}
    answers.importance_ratio(new, record, 3)
    said = message(
        en="The record or the new log-probabilities were overwritten. The record is frozen: the next inner update starts from it again.",
        zh="记录或新的对数概率被改写了。记录是冻结的：下一次内部更新还要从它出发。")
    expect_unchanged(["completion_mask", "old_token_logps", "policy_version"], sorted(record), said)
    expect_unchanged(3, record["policy_version"], said)
    expect_unchanged((torch.tensor([[-1.0, -9.0]]), torch.tensor([[True, False]]), torch.tensor([[-2.0, -5.0]])),
                     (record["old_token_logps"], record["completion_mask"], new), said)


def check_importance_ratio_keeps_float64(answers):
    new, old = torch.tensor([[-1e8 - 0.5]], dtype=torch.float64), torch.tensor([[-1e8]], dtype=torch.float64)
    record = {"policy_version": 3, "old_token_logps": old, "completion_mask": torch.tensor([[True]])}
    expect_close(answers.importance_ratio(new, record, 3), torch.tensor([[0.606531]]), message(  # exp(-0.5)
        en="float64 log-probabilities were rounded to float32 before their difference was taken.",
        zh="在求差之前，float64 的对数概率就被舍入成了 float32。"))


def check_importance_ratio_refuses_bad_input(answers):
    logps, mask = torch.tensor([[-1.0, -2.0]]), torch.tensor([[True, True]])
    record = {"policy_version": 3, "old_token_logps": logps, "completion_mask": mask}
    said = message(
        en="The input check above the TODO must stay: ValueError for a record that lacks a field, a mask that is not bool, shapes that "
           "differ, a valid log-probability that is not finite.",
        zh="TODO 上方的输入检查要保留：记录缺少字段、掩码不是布尔张量、形状不同、有效位置的对数概率不是有限数时抛出 ValueError。")
    answers.importance_ratio(logps, record, 3)
    for field in record:
        lacking = {name: value for name, value in record.items() if name != field}
        expect_error(lambda lacking=lacking: answers.importance_ratio(logps, lacking, 3), said)
    expect_error(lambda: answers.importance_ratio(logps, {**record, "completion_mask": mask.long()}, 3), said)
    expect_error(lambda: answers.importance_ratio(logps[:, :1], record, 3), said)
    expect_error(lambda: answers.importance_ratio(logps * math.nan, record, 3), said)
    expect_error(lambda: answers.importance_ratio(logps, {**record, "old_token_logps": logps * math.inf}, 3), said)


def hidden_importance_ratio_random(answers, rng):
    for junk, n, length, scale, dtype in (
            (-math.inf, rng.integer(2, 8), rng.integer(3, 12), 0.5, torch.float32), (math.nan, rng.integer(9, 20), 1, 3.0, torch.float32),
            (1e6, rng.integer(4, 8), rng.integer(15, 20), 1.0, torch.float32), (-1e6, 1, rng.integer(3, 12), 0.5, torch.float64)):
        version = rng.integer(-99, 99)
        mask = rng.normal(n, length) > 0
        mask[:, rng.integer(0, length - 1)] = True
        old = rng.token_logps(n, length).to(dtype)
        new = (old + rng.normal(n, length, scale=scale)).masked_fill(~mask, junk)
        record = {"policy_version": version, "old_token_logps": old.masked_fill(~mask, junk), "completion_mask": mask}
        for update in (old.masked_fill(~mask, junk), new):
            update.requires_grad_()
            got = answers.importance_ratio(update, record, version)
            expected, slopes = spec.importance_ratio(update, record["old_token_logps"], mask)
            expect_close(got, expected, message(
                en="Random records and inner updates: a token ratio is wrong.",
                zh="随机的记录与内部更新：Token 比率有误。"))
            expect_close(gradient(got, update), slopes, message(
                en="Random records and inner updates: a gradient is wrong.",
                zh="随机的记录与内部更新：梯度有误。"))
        for other in (version - rng.integer(1, 9), version + rng.integer(1, 9)):
            expect_error(lambda update=update, record=record, other=other: answers.importance_ratio(update, record, other), message(
                en="Random versions: a record of another version went through.",
                zh="随机的版本：其他版本的记录被放行了。"))
