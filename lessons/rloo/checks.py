"""Checks of lesson RLOO. Visible ones hold literals and properties; hidden ones compare with spec.py on random inputs.

A TODO's checks stand in the order in which they help: what fails along with something else comes after it.
Every check calls the function once on valid input before anything else, so an untouched skeleton says "TODO n".
"""

import math

import torch

from advantagelab.checking import expect_close, expect_error, expect_unchanged, gradient, message

from . import spec

# TODO 1: aggregate_sequence_logps


def check_aggregate_sequence_logps_sums_over_tokens(answers):
    for scores, sums in (([[-1.0, -2.0, -4.0], [-3.0, -0.5, -0.5]], [-7.0, -4.0]),
                         ([[-2.0], [-5.0]], [-2.0, -5.0]), ([[-1e6, -3e6]], [-4e6])):
        token_logps = torch.tensor(scores)
        got = answers.aggregate_sequence_logps(token_logps, torch.ones_like(token_logps, dtype=torch.bool))
        expect_close(got, torch.tensor(sums), message(
            en="A completion's score is the sum of all its token log-probabilities, one number for each completion, however long it is: no "
               "average, no limit.",
            zh="一条回答的得分是它全部 Token 对数概率之和，不论长短，每条回答一个数：不取平均，也不设界限。"))


def check_aggregate_sequence_logps_leaves_padding_out(answers):
    token_logps = torch.tensor([[-1.0, -2.0, -50.0], [-4.0, -60.0, -70.0]])
    got = answers.aggregate_sequence_logps(token_logps, torch.tensor([[True, True, False], [True, False, False]]))
    expect_close(got, torch.tensor([-3.0, -4.0]), message(
        en="Padding adds nothing to the score, and every valid token counts in full: here positions outside the mask "
           "were counted, or valid ones were not.",
        zh="填充对得分没有贡献，有效 Token 全部计入：这里计入了掩码之外的位置，或漏掉了有效位置。"))


def check_aggregate_sequence_logps_padding_may_be_infinite(answers):
    token_logps = torch.tensor([[-1.0, -2.0, -math.inf], [-4.0, math.nan, 1e6]])
    got = answers.aggregate_sequence_logps(token_logps, torch.tensor([[True, True, False], [True, False, False]]))
    expect_close(got, torch.tensor([-3.0, -4.0]), message(
        en="Padding of -inf or NaN leaked into the score: multiplying by the mask does not remove it, since 0 · inf is NaN.",
        zh="填充处的 -inf 或 NaN 混入了得分：乘以掩码去不掉它，因为 0 · inf 等于 NaN。"))


def check_aggregate_sequence_logps_mask_may_have_holes(answers):
    token_logps = torch.tensor([[-1.0, -50.0, -2.0]])
    got = answers.aggregate_sequence_logps(token_logps, torch.tensor([[True, False, True]]))
    expect_close(got, torch.tensor([-3.0]), message(
        en="Valid tokens need not come first or side by side: use the mask itself, not the completion's length.",
        zh="有效 Token 不一定排在最前，也不一定相邻：要用掩码本身，而不是回答的长度。"))


def check_aggregate_sequence_logps_leaves_inputs_alone(answers):
    token_logps, mask = torch.tensor([[-1.0, -50.0], [-2.0, -3.0]]), torch.tensor([[True, False], [True, True]])
    before = token_logps.clone(), mask.clone()
    answers.aggregate_sequence_logps(token_logps, mask)
    expect_unchanged(before, (token_logps, mask), message(
        en="The caller's token log-probabilities or mask were overwritten: work on a copy.",
        zh="调用者的 Token 对数概率或掩码被改写了：请在副本上操作。"))


def check_aggregate_sequence_logps_gradient(answers):
    token_logps = torch.tensor([[-1.0, -2.0, -math.inf], [-4.0, math.nan, 1e6]], requires_grad=True)
    got = answers.aggregate_sequence_logps(token_logps, torch.tensor([[True, True, False], [True, False, False]]))
    expect_close(gradient(got, token_logps), [[1.0, 1.0, 0.0], [1.0, 0.0, 0.0]], message(
        en="The gradient of the score is 1 on every valid token and 0 elsewhere; without it the policy learns nothing.",
        zh="得分对每个有效 Token 的梯度为 1，其余位置为 0；没有它，策略学不到任何东西。"))


def check_aggregate_sequence_logps_keeps_float64(answers):
    token_logps = torch.tensor([[-1e8, -0.5], [-1e8, -2.5]], dtype=torch.float64)
    got = answers.aggregate_sequence_logps(token_logps, torch.ones(2, 2, dtype=torch.bool))
    expect_close(got + 1e8, [-0.5, -2.5], message(
        en="float64 log-probabilities were rounded to float32, which cannot hold 100000000.5.",
        zh="float64 的对数概率被舍入成了 float32，而 float32 存不下 100000000.5。"))


def check_aggregate_sequence_logps_refuses_bad_input(answers):
    token_logps, mask = torch.tensor([[-1.0, -2.0], [-3.0, -4.0]]), torch.tensor([[True, True], [True, False]])
    said = message(
        en="The input check above the TODO must stay: ValueError for a mask that is not bool, shapes that differ, "
           "a completion without a valid token, a valid score that is not finite.",
        zh="TODO 上方的输入检查要保留：掩码不是布尔张量、形状不同、回答没有有效 Token、有效得分不是有限数时抛出 ValueError。")
    answers.aggregate_sequence_logps(token_logps, mask)
    expect_error(lambda: answers.aggregate_sequence_logps(token_logps, mask.long()), said)
    expect_error(lambda: answers.aggregate_sequence_logps(token_logps[:, :1], mask), said)
    expect_error(lambda: answers.aggregate_sequence_logps(token_logps, mask & (token_logps > -3.0)), said)
    expect_error(lambda: answers.aggregate_sequence_logps(token_logps * math.nan, mask), said)


def hidden_aggregate_sequence_logps_random(answers, rng):
    for junk, n, length, scale, dtype in (
            (-math.inf, rng.integer(2, 8), rng.integer(3, 12), 1.0, torch.float32), (math.nan, rng.integer(9, 20), 1, 1e3, torch.float32),
            (1e6, rng.integer(9, 20), rng.integer(15, 20), 1e-4, torch.float32), (-1e6, 1, rng.integer(3, 12), 1.0, torch.float64)):
        mask = rng.normal(n, length) > 0
        mask[:, rng.integer(0, length - 1)] = True
        token_logps = (scale * rng.token_logps(n, length).to(dtype)).masked_fill(~mask, junk).requires_grad_()
        got = answers.aggregate_sequence_logps(token_logps, mask)
        expect_close(got, spec.aggregate_sequence_logps(token_logps, mask), message(
            en="Random completions and masks: a score is not the sum of the valid token log-probabilities.",
            zh="随机的回答与掩码：得分不等于有效 Token 对数概率之和。"))
        expect_close(gradient(got, token_logps), mask.float(), message(
            en="Random completions and masks: the gradient is not 1 on valid tokens and 0 elsewhere.",
            zh="随机的回答与掩码：梯度在有效 Token 上不是 1，或在其余位置不是 0。"))


# TODO 2: shape_rloo_rewards


def check_shape_rloo_rewards_kl_direction(answers):
    mask = torch.tensor([[True]])
    # The old policy finds this token more likely than the reference policy does.
    _, sequence_kl = answers.shape_rloo_rewards(torch.tensor([1.0]), torch.tensor([[-0.5]]), torch.tensor([[-0.9]]), mask, beta=1.0)
    expect_close(sequence_kl > 0, torch.tensor([True]), message(
        en="The KL term is old minus reference, so it is positive where the old policy is more sure than the reference policy.",
        zh="KL 项是旧策略减参考策略，因此旧策略比参考策略更确信时为正。"))


def check_shape_rloo_rewards_penalty_is_subtracted(answers):
    mask = torch.tensor([[True]])
    shaped, _ = answers.shape_rloo_rewards(torch.tensor([1.0]), torch.tensor([[-0.5]]), torch.tensor([[-0.9]]), mask, beta=1.0)
    expect_close(shaped < 1.0, torch.tensor([True]), message(
        en="Moving away from the reference policy must cost reward: beta times the KL term is subtracted, not added.",
        zh="偏离参考策略要付出代价：beta 乘 KL 项应从奖励中减去，而不是加上。"))


def check_shape_rloo_rewards_kl_is_k1(answers):
    old, reference = torch.tensor([[-0.5], [-0.9]]), torch.tensor([[-0.9], [-0.5]])
    _, sequence_kl = answers.shape_rloo_rewards(torch.zeros(2), old, reference, torch.ones(2, 1, dtype=torch.bool), beta=1.0)
    expect_close(sequence_kl, torch.tensor([0.4, -0.4]), message(
        en="The KL term is k1, the plain difference of log-probabilities. On one sample it may be negative: no absolute value, "
           "no clamp, not k2 or k3, not weighted by the probability.",
        zh="KL 项是 k1，即对数概率之差。它在单个样本上可以为负：不取绝对值，不截断，不是 k2 或 k3，也不按概率加权。"))


def check_shape_rloo_rewards_kl_is_summed(answers):
    old, reference = torch.tensor([[-1.0, -1.0, -1.0]]), torch.tensor([[-1.5, -1.25, -1.25]])
    _, sequence_kl = answers.shape_rloo_rewards(torch.zeros(1), old, reference, torch.ones(1, 3, dtype=torch.bool), beta=1.0)
    expect_close(sequence_kl, torch.tensor([1.0]), message(  # 0.5 + 0.25 + 0.25
        en="The KL of a completion is the sum over all its tokens, one number: not an average, not one token's value.",
        zh="一条回答的 KL 是它全部 Token 之和，只有一个数：不是平均，也不是某一个 Token 的值。"))


def check_shape_rloo_rewards_leaves_padding_out(answers):
    mask = torch.tensor([[True, False, True], [True, False, False]])
    for old_junk, reference_junk in ((-1.0, -9.0), (-math.inf, -math.inf), (math.nan, 1e6)):
        old = torch.full((2, 3), -1.0).masked_fill(~mask, old_junk)
        reference = torch.full((2, 3), -1.5).masked_fill(~mask, reference_junk)
        _, sequence_kl = answers.shape_rloo_rewards(torch.tensor([2.0, 2.0]), old, reference, mask, beta=1.0)
        expect_close(sequence_kl, torch.tensor([1.0, 0.5]), message(  # 0.5 for each valid token
            en="Padding reached the KL term: only positions inside the mask count, wherever they stand, and neither 0 · inf "
               "nor inf - inf is 0.",
            zh="填充混入了 KL 项：只有掩码之内的位置计入，不论它们在哪里；0 · inf 与 inf - inf 都不等于 0。"))


def check_shape_rloo_rewards_beta_scales_only_the_penalty(answers):
    old, reference, mask = torch.tensor([[-1.0]]), torch.tensor([[-1.5]]), torch.tensor([[True]])
    for beta, shaped in ((0.0, 3.0), (0.5, 2.75), (2.0, 2.0)):
        got = answers.shape_rloo_rewards(torch.tensor([3.0]), old, reference, mask, beta=beta)
        expect_close(got, ([shaped], [0.5]), message(
            en="beta scales the penalty and nothing else: with beta = 0 the reward stays as it is, and the KL is returned "
               "without beta.",
            zh="beta 只缩放惩罚：beta = 0 时奖励保持原样，返回的 KL 不含 beta。"))
    expect_close(answers.shape_rloo_rewards(torch.tensor([3.0]), old, reference, mask), ([3.0], [0.5]), message(
        en="beta was left out and a penalty was taken all the same: its default in this course is 0.",
        zh="没有给出 beta，却仍然扣了惩罚：本课程中它的默认值是 0。"))


def check_shape_rloo_rewards_each_completion_pays_its_own(answers):
    old = torch.tensor([[-0.8, -0.4], [-0.5, -0.5], [-1.0, -0.3], [-0.2, -0.9]])
    reference = torch.tensor([[-1.0, -0.5], [-0.4, -0.7], [-0.9, -0.3], [-0.4, -0.8]])
    mask = torch.tensor([[True, True], [True, False], [True, True], [True, True]])
    shaped, _ = answers.shape_rloo_rewards(torch.tensor([1.0, 0.0, 1.0, 0.0]), old, reference, mask, beta=0.5)
    # The sequence KLs are 0.3, -0.1, -0.1, 0.1.
    expect_close(shaped, torch.tensor([0.85, 0.05, 1.05, -0.05]), message(
        en="Each completion pays beta times its own KL, off its own reward: nothing is averaged, centered or clipped across "
           "the batch.",
        zh="每条回答从自己的奖励中扣除 beta 乘自己的 KL：不在批内取平均、中心化或截断。"))


def check_shape_rloo_rewards_limits_nothing(answers):
    rewards, mask = torch.tensor([1000.0, -1000.0]), torch.ones(2, 1, dtype=torch.bool)
    got = answers.shape_rloo_rewards(rewards, torch.tensor([[-1.0], [-300.0]]), torch.tensor([[-200.0], [-1.0]]), mask, beta=3.0)
    expect_close(got, ([403.0, -103.0], [199.0, -299.0]), message(  # 1000 - 3 · 199, -1000 + 3 · 299
        en="Rewards, KL terms and beta may be large, and nothing is cut off: neither a reward, a token's KL or a completion's, nor beta "
           "itself.",
        zh="奖励、KL 项和 beta 都可能很大，一律不截断：奖励、单个 Token 的 KL、整条回答的 KL 和 beta 本身都不设界限。"))


def check_shape_rloo_rewards_missing_stays_missing(answers):
    old, reference = torch.full((3, 1), -1.0), torch.full((3, 1), -1.5)
    got = answers.shape_rloo_rewards(torch.tensor([math.nan, 1.0, -1.0]), old, reference, torch.ones(3, 1, dtype=torch.bool), beta=1.0)
    expect_close(got, ([math.nan, 0.5, -1.5], [0.5, 0.5, 0.5]), message(
        en="A missing reward is NaN, not 0 and not -1: its shaped reward stays NaN, while its KL and the other completions stay as they "
           "are.",
        zh="缺失奖励是 NaN，不是 0，也不是 -1：它的塑形奖励仍为 NaN，而它的 KL 与其他回答不受影响。"))


def check_shape_rloo_rewards_takes_integer_rewards(answers):
    old, reference = torch.tensor([[-1.0], [-1.0]]), torch.tensor([[-1.25], [-1.25]])
    shaped, _ = answers.shape_rloo_rewards(torch.tensor([1, 0]), old, reference, torch.ones(2, 1, dtype=torch.bool), beta=1.0)
    expect_close(shaped, torch.tensor([0.75, -0.25]), message(
        en="Rewards of a verifier are often the integers 0 and 1; the penalty's fraction must not be cut off.",
        zh="验证器给出的奖励常是整数 0 和 1；惩罚的小数部分不能被截去。"))


def check_shape_rloo_rewards_is_frozen(answers):
    for beta, n, length in ((1.0, 2, 2), (0.0, 2, 2), (1.0, 1, 1)):
        rewards = torch.ones(n, requires_grad=True)
        old, reference = (torch.full((n, length), logp, requires_grad=True) for logp in (-1.0, -1.5))
        shaped, sequence_kl = answers.shape_rloo_rewards(rewards, old, reference, torch.ones(n, length, dtype=torch.bool), beta)
        leaks = [gradient(output, source).sum() for output in (shaped, sequence_kl) for source in (rewards, old, reference)]
        expect_close(leaks, [0.0] * 6, message(
            en="The KL penalty is part of the reward, a constant for the update: no gradient may flow back through the rewards or "
               "either policy's log-probabilities, whatever beta is.",
            zh="KL 惩罚是奖励的一部分，对更新而言是常数：不论 beta 是多少，梯度都不能经奖励或任一策略的对数概率流回。"))


def check_shape_rloo_rewards_leaves_inputs_alone(answers):
    mask = torch.tensor([[True, False]])
    inputs = torch.tensor([1.0]), torch.tensor([[-1.0, -7.0]]), torch.tensor([[-1.5, -8.0]])
    before = tuple(values.clone() for values in inputs)
    answers.shape_rloo_rewards(*inputs, mask, beta=1.0)
    expect_unchanged(before, inputs, message(
        en="The caller's rewards or log-probabilities were overwritten: the next epoch would pay the penalty twice.",
        zh="调用者的奖励或对数概率被改写了：下一轮会重复扣除惩罚。"))


def check_shape_rloo_rewards_keeps_float64(answers):
    old, reference = torch.tensor([[-1e8]], dtype=torch.float64), torch.tensor([[-1e8 - 0.5]], dtype=torch.float64)
    rewards = torch.tensor([1e8 + 1.0], dtype=torch.float64)
    shaped, sequence_kl = answers.shape_rloo_rewards(rewards, old, reference, torch.tensor([[True]]), beta=1.0)
    expect_close((shaped - 1e8, sequence_kl), ([0.5], [0.5]), message(
        en="float64 rewards or log-probabilities were rounded to float32 before the difference was taken.",
        zh="在求差之前，float64 的奖励或对数概率被舍入成了 float32。"))


def check_shape_rloo_rewards_refuses_bad_input(answers):
    rewards, old, reference = torch.tensor([1.0]), torch.tensor([[-1.0]]), torch.tensor([[-1.5]])
    mask = torch.tensor([[True]])
    said = message(
        en="The input check above the TODO must stay: ValueError for an infinite reward, rewards that are not [N], a beta below 0 "
           "or not finite, a mask that is not bool.",
        zh="TODO 上方的输入检查要保留：奖励为无穷、奖励不是 [N]、beta 为负或不是有限数、掩码不是布尔张量时抛出 ValueError。")
    answers.shape_rloo_rewards(rewards, old, reference, mask, 1.0)
    expect_error(lambda: answers.shape_rloo_rewards(rewards * math.inf, old, reference, mask, 1.0), said)
    expect_error(lambda: answers.shape_rloo_rewards(rewards[None], old, reference, mask, 1.0), said)
    expect_error(lambda: answers.shape_rloo_rewards(rewards, old, reference, mask, -1.0), said)
    expect_error(lambda: answers.shape_rloo_rewards(rewards, old, reference, mask, math.inf), said)
    expect_error(lambda: answers.shape_rloo_rewards(rewards, old, reference, mask.long(), 1.0), said)


def hidden_shape_rloo_rewards_random(answers, rng):
    for junk, n, length, scale, beta, dtype in (
            (-math.inf, rng.integer(4, 8), rng.integer(3, 12), 1.0, rng.uniform(0.1, 1.0), torch.float32),
            (math.nan, rng.integer(9, 20), rng.integer(13, 20), 1e-4, 0.0, torch.float32),
            (1e6, rng.integer(4, 8), 1, 1e3, rng.uniform(2.0, 9.0), torch.float32),
            (-1e6, 1, rng.integer(3, 12), 1e-4, rng.uniform(0.1, 1.0), torch.float64)):
        mask = rng.normal(n, length) > 0
        mask[:, rng.integer(0, length - 1)] = True
        old, reference = ((scale * rng.token_logps(n, length).to(dtype)).masked_fill(~mask, junk).requires_grad_() for _ in range(2))
        rewards = (scale * rng.rewards(n, missing=0.2).to(dtype)).requires_grad_()
        got = answers.shape_rloo_rewards(rewards, old, reference, mask, beta)
        expect_close(got, spec.shape_rloo_rewards(rewards, old, reference, mask, beta), message(
            en="Random rewards, masks and beta, some rewards missing: the shaped reward or the KL is wrong.",
            zh="随机的奖励、掩码与 beta，部分奖励缺失：塑形奖励或 KL 有误。"))
        leaks = [gradient(output, source).sum() for output in got for source in (rewards, old, reference)]
        expect_close(leaks, [0.0] * 6, message(
            en="Random rewards, masks and beta: a gradient flows back.", zh="随机的奖励、掩码与 beta：有梯度流回。"))


# TODO 3: leave_one_out_advantages


def check_leave_one_out_advantages_sign(answers):
    got = answers.leave_one_out_advantages(torch.tensor([1.0, -2.0]), torch.tensor([0, 0]))
    expect_close(got > 0, torch.tensor([True, False]), message(
        en="The better completion gets the positive advantage, one value for each completion: reward minus baseline, not baseline "
           "minus reward.",
        zh="较好的回答得到正优势，每条回答一个值：奖励减基线，而不是基线减奖励。"))


def check_leave_one_out_advantages_keeps_the_scale(answers):
    rewards, group_ids = torch.tensor([1.0, 2.0, 4.0]), torch.tensor([0, 0, 0])
    before = answers.leave_one_out_advantages(rewards, group_ids)
    for factor in (1e4, 1e-4):
        expect_close(answers.leave_one_out_advantages(factor * rewards, group_ids), factor * before, message(
            en="Rewards ten thousand times as large, or as small, must give advantages as many times as large or small: RLOO divides by no "
               "standard deviation, as GRPO does, and limits nothing.",
            zh="奖励放大或缩小一万倍，优势也应放大或缩小一万倍：RLOO 不除以标准差（除的是 GRPO），也不截断。"))


def check_leave_one_out_advantages_excludes_self(answers):
    before = answers.leave_one_out_advantages(torch.tensor([1.0, 2.0, 4.0]), torch.tensor([0, 0, 0]))
    after = answers.leave_one_out_advantages(torch.tensor([1.0, 2.0, 7.0]), torch.tensor([0, 0, 0]))
    # Only the last reward rose, by 3. Its own baseline does not know it, so its advantage rises by all of the 3.
    expect_close(after[2] - before[2], torch.tensor(3.0), message(
        en="The baseline still contains the completion's own reward: part of the reward is subtracted from itself.",
        zh="基线里仍含有这条回答自己的奖励：奖励的一部分被它自己抵消了。"))


def check_leave_one_out_advantages_averages_the_siblings(answers):
    got = answers.leave_one_out_advantages(torch.tensor([1.0, 2.0, 4.0]), torch.tensor([0, 0, 0]))
    # 1 - (2 + 4)/2, 2 - (1 + 4)/2, 4 - (1 + 2)/2
    expect_close(got, torch.tensor([-2.0, -0.5, 2.5]), message(
        en="The baseline is the mean of the other completions: their sum over G - 1, not over G, and not their sum, maximum, median "
           "or any one of them.",
        zh="基线是其他回答奖励的均值：它们的和除以 G - 1，而不是除以 G，也不是和、最大值、中位数或其中某一条。"))


def check_leave_one_out_advantages_each_group_on_its_own(answers):
    got = answers.leave_one_out_advantages(torch.tensor([1.0, 3.0, 11.0, 15.0]), torch.tensor([0, 0, 1, 1]))
    expect_close(got, torch.tensor([-2.0, 2.0, -4.0, 4.0]), message(
        en="A completion is compared with its own group only: here another prompt's rewards took part, or one group's result was lost.",
        zh="一条回答只与自己的组比较：这里混入了另一个提示的奖励，或丢失了某一组的结果。"))


def check_leave_one_out_advantages_groups_may_interleave(answers):
    rewards, group_ids = torch.tensor([1.0, 5.0, 3.0, 8.0, 2.0]), torch.tensor([42, -7, 42, -7, 42])
    got = answers.leave_one_out_advantages(rewards, group_ids)
    # Group 42 holds 1, 3, 2; group -7 holds 5, 8.
    expect_close(got, torch.tensor([-1.5, -3.0, 1.5, 3.0, 0.0]), message(
        en="Groups may interleave and be of unequal size, and their ids are only names: compare ids, do not cut the batch into blocks.",
        zh="各组可以交错，大小可以不等，编号只是名字：要比较编号，而不是把整批切成等长的块。"))


def check_leave_one_out_advantages_ids_may_be_any_integers(answers):
    large = 1000 * 2**40  # float32 cannot tell it from large + 1; modulo 64, 1000 or 2**32 it is 0
    group_ids = torch.tensor([-1, large + 1, large, 1, -1, large + 1, large, 1])
    got = answers.leave_one_out_advantages(torch.tensor([9.0, 1.0, 5.0, 2.0, 1.0, 3.0, 8.0, 7.0]), group_ids)
    expect_close(got, torch.tensor([8.0, -2.0, -3.0, -5.0, -8.0, 2.0, 3.0, 5.0]), message(
        en="A group id may be any int64, negative or very large: none means \"no group\", and ids are compared as they are, not as float, "
           "not as places in a list.",
        zh="组编号可以是任意 int64，可以为负，也可以很大：没有哪个编号表示“无组”；编号要按原样比较，不转成浮点数，也不当作列表下标。"))


def check_leave_one_out_advantages_missing_is_not_zero(answers):
    got = answers.leave_one_out_advantages(torch.tensor([3.0, math.nan, 7.0]), torch.tensor([0, 0, 0]))
    expect_close(got[[0, 2]], torch.tensor([-4.0, 4.0]), message(
        en="A missing reward took part in a sibling's baseline: it counts neither as 0 in the sum nor as one in the number of siblings.",
        zh="缺失奖励参与了同组回答的基线：它既不能在求和时当作 0，也不能计入同组回答的条数。"))


def check_leave_one_out_advantages_missing_has_no_signal(answers):
    got = answers.leave_one_out_advantages(torch.tensor([3.0, math.nan, 7.0]), torch.tensor([0, 0, 0]))
    expect_close(got[1], torch.tensor(0.0), message(
        en="A completion without a reward gets advantage 0: not NaN, and not minus the baseline.",
        zh="没有奖励的回答优势为 0：不是 NaN，也不是负的基线。"))


def check_leave_one_out_advantages_only_nan_is_missing(answers):
    for rewards in ([0.0, 1.0], [-1.0, 0.0]):
        got = answers.leave_one_out_advantages(torch.tensor(rewards), torch.tensor([0, 0]))
        expect_close(got, torch.tensor([-1.0, 1.0]), message(
            en="0 and -1 are rewards like any other: only NaN says that a reward is missing.",
            zh="0 和 -1 也是奖励，与别的没有两样：只有 NaN 表示奖励缺失。"))


def check_leave_one_out_advantages_needs_a_sibling(answers):
    # Alone; alone with a reward; no reward at all; and a group of two, which has nothing to do with the others.
    rewards = torch.tensor([5.0, 6.0, math.nan, math.nan, math.nan, 1.0, 3.0])
    got = answers.leave_one_out_advantages(rewards, torch.tensor([0, 1, 1, 2, 2, 3, 3]))
    expect_close(got, torch.tensor([0.0, 0.0, 0.0, 0.0, 0.0, -2.0, 2.0]), message(
        en="With fewer than two rewards in a group there is nothing to compare with: the advantage is 0, not NaN and not the reward, and "
           "the next group is computed all the same.",
        zh="组内奖励不足两条时无可比较：优势为 0，既不是 NaN，也不是奖励本身；之后的组照常计算。"))


def check_leave_one_out_advantages_takes_integer_rewards(answers):
    got = answers.leave_one_out_advantages(torch.tensor([1, 0, 0, 0]), torch.tensor([0, 0, 0, 0]))
    expect_close(got, torch.tensor([1.0, -1 / 3, -1 / 3, -1 / 3]), message(
        en="Rewards of a verifier are often the integers 0 and 1; a baseline of 1/3 must not be rounded to 0.",
        zh="验证器给出的奖励常是整数 0 和 1；1/3 的基线不能被取整为 0。"))


def check_leave_one_out_advantages_leaves_rewards_alone(answers):
    rewards, group_ids = torch.tensor([3.0, math.nan, 7.0]), torch.tensor([0, 0, 0])
    before = rewards.clone(), group_ids.clone()
    answers.leave_one_out_advantages(rewards, group_ids)
    expect_unchanged(before, (rewards, group_ids), message(
        en="The caller's rewards or group ids were overwritten. rewards.detach() shares its memory with the original.",
        zh="调用者的奖励或组编号被改写了。rewards.detach() 与原张量共享内存。"))


def check_leave_one_out_advantages_is_frozen(answers):
    rewards = torch.tensor([1.0, 2.0, 4.0], requires_grad=True)
    got = answers.leave_one_out_advantages(rewards, torch.tensor([0, 0, 0]))
    expect_close(gradient(got[2:], rewards), [0.0, 0.0, 0.0], message(
        en="Advantages are constants of the update: no gradient may flow back into the rewards.",
        zh="优势对更新而言是常数：梯度不能流回奖励。"))


def check_leave_one_out_advantages_keeps_float64(answers):
    got = answers.leave_one_out_advantages(torch.tensor([1.0, 3.0], dtype=torch.float64), torch.tensor([0, 0]))
    expect_close(1e9 * (got.double() - torch.tensor([-2.0, 2.0])), [0.0, 0.0], message(
        en="A small number was added to a divisor, and a group of two shows it: count - 1 is at least 1 where it divides and needs none.",
        zh="除数上加了一个很小的数，两条回答的组看得出来：count - 1 作除数时至少是 1，不需要加。"))
    got = answers.leave_one_out_advantages(torch.tensor([1e8, 1e8 + 1], dtype=torch.float64), torch.tensor([0, 0]))
    expect_close(got, torch.tensor([-1.0, 1.0]), message(
        en="float64 rewards were rounded to float32, in which 1e8 and 1e8 + 1 are one number.",
        zh="float64 奖励被舍入成了 float32，而在 float32 中 1e8 与 1e8 + 1 是同一个数。"))


def check_leave_one_out_advantages_refuses_bad_input(answers):
    rewards, group_ids = torch.tensor([1.0, 0.0]), torch.tensor([0, 0])
    said = message(
        en="The input check above the TODO must stay: ValueError for an infinite reward, shapes that differ, an empty batch.",
        zh="TODO 上方的输入检查要保留：奖励为无穷、形状不同、输入为空时抛出 ValueError。")
    answers.leave_one_out_advantages(rewards, group_ids)
    expect_error(lambda: answers.leave_one_out_advantages(rewards * math.inf, group_ids), said)
    expect_error(lambda: answers.leave_one_out_advantages(rewards, group_ids[:1]), said)
    expect_error(lambda: answers.leave_one_out_advantages(rewards[:0], group_ids[:0]), said)


def hidden_leave_one_out_advantages_random(answers, rng):
    for groups, scale in ((5, 1.0), (5, 1e3), (1, 1e-4), (2, 1.0)):
        n = rng.integer(16, 30)
        rewards = (scale * rng.rewards(n, missing=0.2)).requires_grad_()
        group_ids = rng.interleaved_groups(n, groups) + rng.integer(-(2**60), 2**60)
        got = answers.leave_one_out_advantages(rewards, group_ids)
        expect_close(got, spec.leave_one_out_advantages(rewards, group_ids), message(
            en="Random groups of unequal size, interleaved, some rewards missing: an advantage is wrong.",
            zh="随机的组，大小不等，顺序交错，部分奖励缺失：优势有误。"))
        expect_close(gradient(got, rewards), torch.zeros(n), message(
            en="Random groups: a gradient flows back.", zh="随机的组：有梯度流回。"))


def hidden_leave_one_out_advantages_properties(answers, rng):
    n = rng.integer(12, 30)
    rewards, group_ids = rng.rewards(n, missing=0.2), rng.interleaved_groups(n, groups=4)
    advantages = answers.leave_one_out_advantages(rewards, group_ids)
    expect_close(advantages, spec.leave_one_out_advantages(rewards, group_ids), message(
        en="Random groups: an advantage is wrong before any reward was shifted.",
        zh="随机的组：尚未平移奖励，优势就已有误。"))
    shifted = rewards + 16.0 * (group_ids == group_ids[0])
    expect_close(answers.leave_one_out_advantages(shifted, group_ids), advantages, message(
        en="A bonus for every completion of one prompt must change no advantage.",
        zh="给同一提示的每条回答加上同样的奖励，优势不应改变。"))
    order = rng.normal(n).argsort()
    expect_close(answers.leave_one_out_advantages(rewards[order], group_ids[order]), advantages[order], message(
        en="The order of completions in the batch must change no advantage.",
        zh="回答在批中的顺序不应影响优势。"))


# TODO 4: rloo_policy_loss


def check_rloo_policy_loss_ratio(answers):
    new, old = torch.tensor([-2.0, -3.0]), torch.tensor([-2.5, -2.0])
    _, ratios = answers.rloo_policy_loss(new, old, torch.tensor([1.0, 1.0]))
    expect_close(ratios, torch.tensor([1.648721, 0.367879]), message(  # exp(0.5), exp(-1)
        en="The ratio is exp(new - old), and it is returned as it is: not a difference or quotient of log-probabilities, not old over "
           "new, not the clipped one.",
        zh="比率是 exp(new - old)，并原样返回：不是对数概率的差或商，不是旧比新，也不是裁剪后的值。"))


def check_rloo_policy_loss_one_for_each_completion(answers):
    new, old, advantages = torch.tensor([-1.0, -2.0, -3.0]), torch.tensor([-1.1, -2.0, -2.9]), torch.tensor([2.0, 1.0, -1.0])
    together, _ = answers.rloo_policy_loss(new, old, advantages)
    alone = [float(answers.rloo_policy_loss(new[i:i + 1], old[i:i + 1], advantages[i:i + 1])[0]) for i in range(3)]
    expect_close(together, torch.tensor(alone), message(
        en="Each completion has a loss of its own, the same in any batch: no mean, no sum, no normalizing of advantages across the batch.",
        zh="每条回答有自己的损失，与同批的其他回答无关：不取平均，不求和，也不在批内归一化优势。"))


def check_rloo_policy_loss_is_minus_the_advantage_at_ratio_one(answers):
    logps = torch.tensor([-2.0, -3.0])
    losses, _ = answers.rloo_policy_loss(logps, logps.clone(), torch.tensor([1.0, -2.0]))
    expect_close(losses, torch.tensor([-1.0, 2.0]), message(
        en="Where old and new policy agree, the ratio is 1 and the loss is minus the advantage. Minimizing the loss must raise the "
           "surrogate objective.",
        zh="新旧策略一致时比率为 1，损失等于优势的相反数。最小化损失就是最大化代理目标。"))


def check_rloo_policy_loss_gradient_reaches_new_logps(answers):
    new = torch.tensor([-2.0, -3.0], requires_grad=True)
    losses, _ = answers.rloo_policy_loss(new, new.detach().clone(), torch.tensor([1.0, -2.0]))
    expect_close(gradient(losses, new), [-1.0, 2.0], message(
        en="At ratio 1 the gradient by new_logps is minus the advantage too: here it was cut off, or another term was added to the loss.",
        zh="比率为 1 时，损失对 new_logps 的梯度也等于优势的相反数：这里梯度被切断了，或损失里多了别的项。"))


def check_rloo_policy_loss_takes_the_smaller_surrogate(answers):
    old = torch.tensor([-2.0, -2.0])
    new = (old + torch.tensor([0.5, 4.0]).log()).requires_grad_()
    losses, _ = answers.rloo_policy_loss(new, old, torch.tensor([1.0, -1.0]))
    # A good completion that became half as likely, a bad one that became four times as likely: both still have to learn.
    expect_close((losses, gradient(losses, new)), ([-0.5, 4.0], [-0.5, 4.0]), message(
        en="Of the two surrogates the smaller one counts, for either sign of the advantage. Where the policy moved the wrong way that is "
           "the unclipped one, with its gradient and without a limit.",
        zh="无论优势正负，都取两个代理目标中较小的一个。策略朝错误方向移动时，较小的是未裁剪的那个：保留梯度，且没有上限。"))


def check_rloo_policy_loss_limits_nothing_else(answers):
    for change, advantage in ((25.0, -1.0), (-22.0, 40.0), (0.0, -0.001)):
        old = torch.tensor([-50.0], dtype=torch.float64)
        new = (old + change).requires_grad_()
        losses, ratios = answers.rloo_policy_loss(new, old, torch.tensor([advantage], dtype=torch.float64))
        expected = -advantage * math.exp(change)
        expect_close((ratios, losses, gradient(losses, new)), ([math.exp(change)], [expected], [expected]), message(
            en="Where the clip leaves the gradient alone, nothing else may limit it: log-ratios, ratios, advantages and losses may be "
               "very large or very small.",
            zh="裁剪不截断梯度的地方，也不能有别的限制：对数比率、比率、优势和损失都可以很大，也可以很小。"))


def check_rloo_policy_loss_stops_above_for_good_completions(answers):
    old, new = torch.tensor([-3.0]), torch.tensor([-2.0], requires_grad=True)
    losses, _ = answers.rloo_policy_loss(new, old, torch.tensor([1.0]))
    expect_close(gradient(losses, new), [0.0], message(  # the ratio is 2.718
        en="A > 0 and a ratio above 1 + epsilon_high: the good completion is already likelier by the whole clip range, so its gradient "
           "must be 0.",
        zh="A > 0 且比率高于 1 + epsilon_high：好的回答已升到裁剪范围的上界，梯度必须为 0。"))


def check_rloo_policy_loss_stops_below_for_bad_completions(answers):
    old, new = torch.tensor([-2.0]), torch.tensor([-3.0], requires_grad=True)
    losses, _ = answers.rloo_policy_loss(new, old, torch.tensor([-1.0]))
    expect_close(gradient(losses, new), [0.0], message(  # the ratio is 0.368
        en="A < 0 and a ratio below 1 - epsilon_low: the bad completion is already rarer by the whole clip range, so its gradient must "
           "be 0.",
        zh="A < 0 且比率低于 1 - epsilon_low：差的回答已降到裁剪范围的下界，梯度必须为 0。"))


def check_rloo_policy_loss_bounds(answers):
    old = torch.tensor([-2.0, -2.0, -2.0, -2.0])
    new = old + torch.tensor([3.0, 0.3, 1.15, 0.95]).log()
    for low, high in ((0.1, 0.3), (0.4, 0.2), (0.5, 1.5)):
        losses, _ = answers.rloo_policy_loss(new, old, torch.tensor([1.0, -1.0, 1.0, -1.0]), epsilon_low=low, epsilon_high=high)
        expect_close(losses, torch.tensor([-(1 + high), 1 - low, -1.15, 0.95]), message(
            en="The ratio is held between 1 - epsilon_low and 1 + epsilon_high: each bound its own epsilon, whichever is larger, around 1, "
               "and on the ratio, not on its logarithm.",
            zh="比率限制在 1 - epsilon_low 与 1 + epsilon_high 之间：上下界各用各的 epsilon，不管哪个更大；以 1 为中心，"
               "限制的是比率而不是它的对数。"))


def check_rloo_policy_loss_default_epsilons(answers):
    old = torch.tensor([-2.0, -2.0])
    losses, _ = answers.rloo_policy_loss(old + torch.tensor([1.5, 0.5]).log(), old, torch.tensor([1.0, -1.0]))
    expect_close(losses, torch.tensor([-1.2, 0.8]), message(
        en="Both epsilons were left out: their defaults in this course are 0.2, so the clip range is 0.8 to 1.2.",
        zh="没有给出两个 epsilon：本课程中它们的默认值都是 0.2，裁剪范围是 0.8 到 1.2。"))


def check_rloo_policy_loss_bounds_belong_to_the_range(answers):
    old = torch.full((4,), -2.0)
    new = (old + torch.tensor([0.25, 0.25, -0.25, -0.25])).requires_grad_()
    advantages = torch.tensor([1.0, -1.0, 1.0, -1.0])
    _, ratios = answers.rloo_policy_loss(new, old, advantages)
    expect_close(ratios, torch.tensor([1.284025, 1.284025, 0.778801, 0.778801]), message(
        en="exp(0.25) and exp(-0.25) are the ratios here.", zh="这里的比率应为 exp(0.25) 与 exp(-0.25)。"))
    # Now the bounds are put exactly on the ratios. In float32, so that they are exact in any way to write them.
    losses, _ = answers.rloo_policy_loss(new, old, advantages, 1.0 - float(ratios[2]), float(ratios[0]) - 1.0)
    expect_close(gradient(losses, new) != 0, torch.ones(4, dtype=torch.bool), message(
        en="A ratio exactly on a bound still lies inside the clip range and keeps its gradient: clip beyond the bound, not at it.",
        zh="恰好等于边界的比率仍在裁剪范围之内，梯度要保留：越过边界才裁剪。"))


def check_rloo_policy_loss_only_new_logps_learn(answers):
    for n in (4, 1):
        old = torch.tensor([-2.0, -2.0, -2.0, -2.0][:n], requires_grad=True)
        new = old.detach() + torch.tensor([0.1, 1.0, -1.0, -0.1][:n])
        advantages = torch.tensor([1.0, 2.0, -1.0, -2.0][:n], requires_grad=True)
        losses, ratios = answers.rloo_policy_loss(new, old, advantages)
        leaks = [gradient(losses, old), gradient(losses, advantages), gradient(ratios, old)]
        expect_close(leaks, [[0.0] * n] * 3, message(
            en="Only new_logps may receive a gradient: the old policy's log-probabilities and the advantages are constants.",
            zh="只有 new_logps 可以得到梯度：旧策略的对数概率与优势都是常数。"))


def check_rloo_policy_loss_survives_long_completions(answers):
    for score in (-800.0, -1e6):
        losses, ratios = answers.rloo_policy_loss(torch.tensor([score]), torch.tensor([score - 0.5]), torch.tensor([-1.0]))
        expect_close((losses, ratios), ([1.648721], [1.648721]), message(  # exp(0.5)
            en="exp(-800) is 0, so a quotient of sequence probabilities is 0/0, and with a limit on sequence log-probabilities all long "
               "completions look alike: subtract them as they are.",
            zh="exp(-800) 等于 0，序列概率之商便成了 0/0；给序列对数概率设下限，长回答就不再有区别：应直接对它们求差。"))


def check_rloo_policy_loss_leaves_inputs_alone(answers):
    inputs = torch.tensor([-1.0, -2.0]), torch.tensor([-2.0, -1.0]), torch.tensor([1.0, -1.0])
    before = tuple(values.clone() for values in inputs)
    answers.rloo_policy_loss(*inputs)
    expect_unchanged(before, inputs, message(
        en="The caller's log-probabilities or advantages were overwritten, and the next inner epoch needs them.",
        zh="调用者的对数概率或优势被改写了，而下一轮内部更新还要用到它们。"))


def check_rloo_policy_loss_keeps_float64(answers):
    new, old = torch.tensor([-1e8 - 0.5], dtype=torch.float64), torch.tensor([-1e8], dtype=torch.float64)
    losses, _ = answers.rloo_policy_loss(new, old, torch.ones(1, dtype=torch.float64))
    expect_close(losses, torch.tensor([-0.606531]), message(  # -exp(-0.5)
        en="float64 sequence log-probabilities were rounded to float32 before the ratio was taken.",
        zh="在求比率之前，float64 的序列对数概率被舍入成了 float32。"))
    losses, _ = answers.rloo_policy_loss(new, new.clone(), torch.tensor([1e8 + 0.5], dtype=torch.float64))
    expect_close(losses + 1e8, torch.tensor([-0.5]), message(
        en="float64 advantages were rounded to float32: at ratio 1 the loss -100000000.5 lost its fraction.",
        zh="float64 的优势被舍入成了 float32：比率为 1 时，损失 -100000000.5 丢了小数部分。"))


def check_rloo_policy_loss_refuses_bad_input(answers):
    logps, advantages = torch.tensor([-1.0, -2.0]), torch.tensor([1.0, -1.0])
    said = message(
        en="The input check above the TODO must stay: ValueError for shapes that differ, a value that is not finite, an epsilon_low "
           "outside (0, 1), an epsilon_high that is not positive and finite.",
        zh="TODO 上方的输入检查要保留：形状不同、存在非有限数、epsilon_low 不在 (0, 1) 内、epsilon_high 不是正有限数时抛出 ValueError。")
    answers.rloo_policy_loss(logps, logps, advantages)
    expect_error(lambda: answers.rloo_policy_loss(logps, logps, advantages[:1]), said)
    expect_error(lambda: answers.rloo_policy_loss(logps, logps, advantages * math.nan), said)
    expect_error(lambda: answers.rloo_policy_loss(logps, logps, advantages, epsilon_low=10.0), said)
    expect_error(lambda: answers.rloo_policy_loss(logps, logps, advantages, epsilon_high=0.0), said)
    expect_error(lambda: answers.rloo_policy_loss(logps, logps, advantages, epsilon_high=math.inf), said)


def hidden_rloo_policy_loss_random(answers, rng):
    for copies, scale in ((3, 1.0), (6, 1e-4), (1, 1e2), (2, 1.0)):
        low, high = rng.uniform(0.1, 0.7), rng.uniform(0.1, 5.0)
        # Below, inside and above the clip range, and never so near a bound that rounding would decide.
        ratios = torch.tensor([rng.uniform(*part) for part in
                               ((0.01, 0.95 - low), (1.02 - low, 1.0), (1.0, 0.98 + high), (1.05 + high, 20.0)) for _ in range(3 * copies)])
        size = scale * (rng.normal(4, copies).abs() + 0.1)
        advantages = torch.stack([size, -size, torch.zeros_like(size)], dim=1).flatten()  # each part meets each sign, and 0
        old = (-rng.uniform(1.0, 1e3) * rng.normal(len(ratios)).abs()).double().requires_grad_()
        new = (old.detach() + ratios.log()).requires_grad_()
        advantages = advantages.double().requires_grad_()
        got = answers.rloo_policy_loss(new, old, advantages, low, high)
        expected_losses, expected_ratios, slopes = spec.rloo_policy_loss(new, old, advantages, low, high)
        expect_close(got, (expected_losses, expected_ratios), message(
            en="Random ratios and bounds, both signs of the advantage: a loss or ratio is wrong.",
            zh="随机的比率与边界，优势有正有负：损失或比率有误。"))
        expect_close(gradient(got[0], new), slopes, message(
            en="Random ratios and bounds, both signs of the advantage: a gradient is wrong.",
            zh="随机的比率与边界，优势有正有负：梯度有误。"))
        expect_close([gradient(got[0], old), gradient(got[0], advantages)], [[0.0] * len(ratios)] * 2, message(
            en="Random ratios and bounds: a gradient reaches what is fixed.", zh="随机的比率与边界：梯度传到了应当固定的输入。"))


def hidden_rloo_policy_loss_one_completion(answers, rng):
    for low, high, sign in ((0.05, 0.7, -1.0), (0.05, 0.7, 1.0), (1.3, 9.0, -1.0), (1.3, 9.0, 1.0)):
        new = torch.tensor([-2.0 + math.log(rng.uniform(low, high))], requires_grad=True)
        old, advantages = torch.tensor([-2.0], requires_grad=True), torch.tensor([sign * rng.uniform(0.01, 20.0)], requires_grad=True)
        losses, ratios = answers.rloo_policy_loss(new, old, advantages)
        expected_losses, expected_ratios, slopes = spec.rloo_policy_loss(new, old, advantages, 0.2, 0.2)
        expect_close((losses, ratios), (expected_losses, expected_ratios), message(
            en="One random completion at the default bounds: its loss or ratio is wrong.",
            zh="一条随机的回答，边界取默认值：损失或比率有误。"))
        leaks = [gradient(losses, source) for source in (new, old, advantages)]
        expect_close(leaks, [slopes, [0.0], [0.0]], message(
            en="One random completion at the default bounds: a gradient is wrong, or reaches what is fixed.",
            zh="一条随机的回答，边界取默认值：梯度有误，或传到了应当固定的输入。"))
