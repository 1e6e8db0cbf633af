"""Checks of lesson GRPO. Visible ones hold literals and properties; hidden ones compare with spec.py on random inputs.

A TODO's checks stand in the order in which they help: what fails along with something else comes after it.
Every check calls the function once on valid input before anything else, so an untouched skeleton says "TODO n".
"""

import math

import torch

from advantagelab.checking import expect_close, expect_error, expect_unchanged, gradient, message

from . import spec

# TODO 1: group_relative_advantages


def check_group_relative_advantages_sign(answers):
    got = answers.group_relative_advantages(torch.tensor([1.0, 0.0]), torch.tensor([0, 0]))
    expect_close(got > 0, torch.tensor([True, False]), message(
        en="The better completion gets the positive advantage, one value for each completion: reward minus the group's mean, not the mean "
           "minus the reward.",
        zh="较好的回答得到正优势，每条回答一个值：奖励减组均值，而不是组均值减奖励。"))


def check_group_relative_advantages_none_keeps_the_scale(answers):
    rewards, group_ids = torch.tensor([1.0, 2.0, 6.0]), torch.tensor([0, 0, 0])
    small = answers.group_relative_advantages(rewards, group_ids, scale="none")
    large = answers.group_relative_advantages(10 * rewards, group_ids, scale="none")
    expect_close(large, 10 * small, message(
        en='scale="none" only centers: rewards ten times as large must give advantages ten times as large.',
        zh='scale="none" 只减均值：奖励放大十倍，优势也应放大十倍。'))


def check_group_relative_advantages_centers_on_the_group_mean(answers):
    got = answers.group_relative_advantages(torch.tensor([1.0, 2.0, 6.0]), torch.tensor([0, 0, 0]), scale="none")
    expect_close(got, torch.tensor([-2.0, -1.0, 3.0]), message(  # the mean is 3
        en="The baseline is the mean of the whole group, the completion's own reward included: not RLOO's mean of the others, not a "
           "median, not the lowest or the highest reward.",
        zh="基线是整组的均值，包含这条回答自己的奖励：不是 RLOO 的同组其他回答均值，不是中位数，也不是最低或最高的奖励。"))


def check_group_relative_advantages_std_removes_the_scale(answers):
    rewards, group_ids = torch.tensor([1.0, 2.0, 6.0]), torch.tensor([0, 0, 0])
    small = answers.group_relative_advantages(rewards, group_ids, eps=0.0)
    large = answers.group_relative_advantages(16 * rewards, group_ids, eps=0.0)
    expect_close(large, small, message(
        en="GRPO measures in standard deviations of the group: rewards sixteen times as large must leave the advantages as they are. "
           "Dividing by nothing, or by the variance, does not do that.",
        zh="GRPO 以组的标准差为单位：奖励放大十六倍，优势应保持不变。什么都不除或除以方差都做不到这一点。"))


def check_group_relative_advantages_std_divides_by_the_number(answers):
    got = answers.group_relative_advantages(torch.tensor([1.0, 0.0, 0.0, 0.0]), torch.tensor([0, 0, 0, 0]))
    expect_close(got, torch.tensor([1.732051, -0.577350, -0.577350, -0.577350]), message(  # 0.75 / sqrt(3/16)
        en="The default ddof is 0: the variance is the mean of the squared distances from the group's mean. torch's std() takes ddof 1 "
           "unless it is told otherwise, and a range or a mean distance is no standard deviation.",
        zh="ddof 默认为 0：方差是与组均值之差的平方的平均。torch 的 std() 若不指定则取 ddof 1；极差或平均距离不是标准差。"))


def check_group_relative_advantages_ddof(answers):
    got = answers.group_relative_advantages(torch.tensor([1.0, 0.0, 0.0, 0.0]), torch.tensor([0, 0, 0, 0]), ddof=1)
    expect_close(got, torch.tensor([1.5, -0.5, -0.5, -0.5]), message(  # 0.75 / 0.5
        en="With ddof=1 the squared distances are divided by one less than the number of rewards. The argument has no effect here, or not "
           "this one.",
        zh="ddof=1 时，平方和除以奖励个数减一。这里该参数没有起作用，或作用不对。"))


def check_group_relative_advantages_eps_is_added_to_the_std(answers):
    rewards, group_ids = torch.tensor([1.0, 0.0, 0.0, 0.0]), torch.tensor([0, 0, 0, 0])
    got = answers.group_relative_advantages(rewards, group_ids, eps=0.5)
    expect_close(got, torch.tensor([0.803848, -0.267949, -0.267949, -0.267949]), message(  # 0.75 / (0.433013 + 0.5)
        en="eps is added to the standard deviation: not to the variance under the root, not a floor for the standard deviation, "
           "not left out.",
        zh="eps 加在标准差上：不是加在根号内的方差上，不是标准差的下限，也不能省略。"))


def check_group_relative_advantages_equal_rewards_give_exactly_zero(answers):
    # In float32 the mean of eight 0.7 is not 0.7, the std of six 0.3 is not 0, that of eight 100.7 or 1000.7 not even near 0.
    rewards = torch.tensor([0.7] * 8 + [0.3] * 6 + [1.0] * 3 + [100.7] * 8 + [1000.7] * 8)
    group_ids = torch.tensor([0] * 8 + [1] * 6 + [2] * 3 + [3] * 8 + [4] * 8)
    for ddof, scale, eps in ((0, "std", 1e-6), (1, "std", 0.0), (0, "none", 1e-6)):
        got = answers.group_relative_advantages(rewards, group_ids, scale=scale, ddof=ddof, eps=eps)
        expect_close(got == 0, torch.ones(33, dtype=torch.bool), message(
            en="A zero-variance group teaches nothing: its advantages are exactly 0. Rounding leaves a small distance from the mean and a "
               "small standard deviation, larger than any fixed threshold if the rewards are large, and their quotient is not small: "
               "compare the largest reward with the smallest.",
            zh="零方差组不提供任何信号：其优势恰好为 0。舍入会留下微小的均值偏离和微小的标准差，奖励大时它们会超过任何固定的阈值，"
               "而二者之商并不小：应比较最大奖励与最小奖励。"))


def check_group_relative_advantages_small_differences_count(answers):
    for low, high in ((0.5, 0.5001), (0.5, 0.5 + 1e-7), (0.0, 1e-7), (0.0, 1e-12)):
        rewards = torch.tensor([low, low, low, high], dtype=torch.float64)
        got = answers.group_relative_advantages(rewards, torch.tensor([0, 0, 0, 0]), eps=0.0)
        expect_close(got, torch.tensor([-0.577350, -0.577350, -0.577350, 1.732051]), message(
            en="Rewards that differ a little are not equal: a zero-variance group is one whose largest reward is its smallest, "
               "without a tolerance.",
            zh="相差很小的奖励并不相等：零方差组是指最大奖励等于最小奖励，没有容差。"))


def check_group_relative_advantages_default_eps(answers):
    rewards = torch.tensor([1e-6, 0.0, 0.0, 0.0])
    got = answers.group_relative_advantages(rewards, torch.tensor([0, 0, 0, 0]))
    expect_close(got, torch.tensor([0.523373, -0.174458, -0.174458, -0.174458]), message(  # 0.75e-6 / (0.433013e-6 + 1e-6)
        en="eps is 1e-6 unless the caller says otherwise, which shows where the standard deviation is as small: the default was changed.",
        zh="未指定时 eps 为 1e-6，标准差同样小时就看得出来：这里默认值被改动了。"))


def check_group_relative_advantages_limits_nothing(answers):
    rewards, group_ids = torch.tensor([1.0] + [0.0] * 599), torch.zeros(600, dtype=torch.int64)
    said = message(
        en="Rewards may be large, groups too, and so may advantages: the only success in 600 completions is worth 24 standard deviations, "
           "and nothing is cut off.",
        zh="奖励可以很大，组可以很大，优势也可以很大：600 条回答中唯一的成功高出 24 个标准差，一律不截断。")
    got = answers.group_relative_advantages(rewards, group_ids, eps=0.0)
    expect_close(got, torch.tensor([24.474477] + [-0.040859] * 599), said)  # sqrt(599), -1 / sqrt(599)
    expect_close(answers.group_relative_advantages(-rewards, group_ids, eps=0.0), -got, said)
    got = answers.group_relative_advantages(torch.tensor([1000.0, -2000.0, 7000.0]), torch.tensor([0, 0, 0]), scale="none")
    expect_close(got, torch.tensor([-1000.0, -4000.0, 5000.0]), said)


def check_group_relative_advantages_each_group_on_its_own(answers):
    got = answers.group_relative_advantages(torch.tensor([1.0, 3.0, 11.0, 19.0]), torch.tensor([0, 0, 1, 1]), eps=0.0)
    expect_close(got, torch.tensor([-1.0, 1.0, -1.0, 1.0]), message(
        en="Mean and standard deviation are those of the completion's own group: here another prompt's rewards took part, or one group's "
           "result was lost.",
        zh="均值与标准差都取自回答自己的组：这里混入了另一个提示的奖励，或丢失了某一组的结果。"))


def check_group_relative_advantages_groups_may_interleave(answers):
    rewards, group_ids = torch.tensor([1.0, 5.0, 3.0, 8.0, 2.0]), torch.tensor([42, -7, 42, -7, 42])
    got = answers.group_relative_advantages(rewards, group_ids, scale="none")
    # Group 42 holds 1, 3, 2; group -7 holds 5, 8.
    expect_close(got, torch.tensor([-1.0, -1.5, 1.0, 1.5, 0.0]), message(
        en="Group ids may come in any order, be any integers, and have groups of unequal size: compare ids, do not cut the batch "
           "into blocks.",
        zh="组编号可以是任意整数，顺序任意，组大小可以不等：要比较编号，而不是把整批切成等长的块。"))


def check_group_relative_advantages_ids_may_be_any_integers(answers):
    large = 1000 * 2**40  # float32 cannot tell it from large + 1; modulo 64, 1000 or 2**32 it is 0
    group_ids = torch.tensor([-1, large + 1, large, 1, -1, large + 1, large, 1])
    got = answers.group_relative_advantages(torch.tensor([9.0, 1.0, 5.0, 2.0, 1.0, 3.0, 8.0, 7.0]), group_ids, scale="none")
    expect_close(got, torch.tensor([4.0, -1.0, -1.5, -2.5, -4.0, 1.0, 1.5, 2.5]), message(
        en="A group id may be any int64, negative or very large: none means \"no group\", and ids are compared as they are, not as float, "
           "not as places in a list.",
        zh="组编号可以是任意 int64，可以为负，也可以很大：没有哪个编号表示“无组”；编号要按原样比较，不转成浮点数，也不当作列表下标。"))


def check_group_relative_advantages_missing_is_not_counted(answers):
    rewards, group_ids = torch.tensor([3.0, math.nan, 7.0]), torch.tensor([0, 0, 0])
    said = message(
        en="A missing reward took part in its group's mean or standard deviation: it counts neither as 0 nor as one of the number.",
        zh="缺失奖励参与了组均值或标准差：它既不能当作 0，也不能计入个数。")
    expect_close(answers.group_relative_advantages(rewards, group_ids, scale="none")[[0, 2]], [-2.0, 2.0], said)
    expect_close(answers.group_relative_advantages(rewards, group_ids, eps=0.0)[[0, 2]], [-1.0, 1.0], said)


def check_group_relative_advantages_missing_has_no_signal(answers):
    got = answers.group_relative_advantages(torch.tensor([3.0, math.nan, 7.0]), torch.tensor([0, 0, 0]))
    expect_close(got[1], torch.tensor(0.0), message(
        en="A completion without a reward gets advantage 0: not NaN, and not minus the group's mean.",
        zh="没有奖励的回答优势为 0：不是 NaN，也不是负的组均值。"))


def check_group_relative_advantages_only_nan_is_missing(answers):
    for rewards in ([0.0, 1.0], [-1.0, 0.0], [-2.0, -1.0]):
        got = answers.group_relative_advantages(torch.tensor(rewards), torch.tensor([0, 0]), scale="none")
        expect_close(got, torch.tensor([-0.5, 0.5]), message(
            en="0 and -1 are rewards like any other: only NaN says that a reward is missing.",
            zh="0 和 -1 也是奖励，与别的没有两样：只有 NaN 表示奖励缺失。"))


def check_group_relative_advantages_one_reward_gives_zero(answers):
    rewards = torch.tensor([5.0, 6.0, math.nan, math.nan, math.nan])  # alone; alone with a reward; no reward at all
    for ddof in (0, 1):
        got = answers.group_relative_advantages(rewards, torch.tensor([0, 1, 1, 2, 2]), ddof=ddof)
        expect_close(got, torch.zeros(5), message(
            en="With fewer than two rewards in a group there is nothing to compare with: the advantage is 0. With ddof=1 a single reward "
               "gives 0/0, and a group without any has no mean.",
            zh="组内奖励不足两条时无可比较：优势为 0。ddof=1 时单条奖励会得出 0/0，而一条奖励都没有的组没有均值。"))


def check_group_relative_advantages_goes_on_after_a_group_without_signal(answers):
    # Each group without signal stands before one with signal, in the batch and by its id: alone, no reward at all, all equal.
    for rewards in ([5.0], [math.nan, math.nan], [4.0, 4.0, 4.0]):
        batch = torch.tensor(rewards + [1.0, 3.0, 8.0])
        group_ids = torch.tensor([0] * len(rewards) + [1] * 3)
        got = answers.group_relative_advantages(batch, group_ids, scale="none")
        expect_close(got, torch.tensor([0.0] * len(rewards) + [-3.0, -1.0, 4.0]), message(
            en="A group without signal gets 0 and is passed over; the groups after it have their advantages all the same: `break` and "
               "`return` would leave them out.",
            zh="没有信号的组优势为 0，跳过即可；它之后的组照常计算优势：`break` 或 `return` 会把它们漏掉。"))


def check_group_relative_advantages_takes_integer_rewards(answers):
    got = answers.group_relative_advantages(torch.tensor([1, 0, 0, 0]), torch.tensor([0, 0, 0, 0]), scale="none")
    expect_close(got, torch.tensor([0.75, -0.25, -0.25, -0.25]), message(
        en="Rewards of a verifier are often the integers 0 and 1; a mean of 1/4 must not be rounded to 0.",
        zh="验证器给出的奖励常是整数 0 和 1；1/4 的均值不能被取整为 0。"))


def check_group_relative_advantages_leaves_rewards_alone(answers):
    rewards, group_ids = torch.tensor([3.0, math.nan, 7.0]), torch.tensor([0, 0, 0])
    before = rewards.clone(), group_ids.clone()
    answers.group_relative_advantages(rewards, group_ids)
    expect_unchanged(before, (rewards, group_ids), message(
        en="The caller's rewards or group ids were overwritten. rewards.detach() shares its memory with the original.",
        zh="调用者的奖励或组编号被改写了。rewards.detach() 与原张量共享内存。"))


def check_group_relative_advantages_is_frozen(answers):
    for values, scale in (([1.0, 2.0, 6.0], "std"), ([1.0, 2.0, 6.0], "none"), ([1.0, 6.0], "std"), ([1.0], "std")):
        rewards = torch.tensor(values, requires_grad=True)
        got = answers.group_relative_advantages(rewards, torch.zeros(len(values), dtype=torch.int64), scale=scale)
        expect_close(gradient(got[-1:], rewards), [0.0] * len(values), message(
            en="Advantages are constants of the update: no gradient may flow back into the rewards.",
            zh="优势对更新而言是常数：梯度不能流回奖励。"))


def check_group_relative_advantages_keeps_float64(answers):
    rewards = torch.tensor([1e8, 1e8 + 1], dtype=torch.float64)
    got = answers.group_relative_advantages(rewards, torch.tensor([0, 0]), scale="none")
    expect_close(got, torch.tensor([-0.5, 0.5]), message(
        en="float64 rewards were rounded to float32, in which 1e8 and 1e8 + 1 are one number.",
        zh="float64 奖励被舍入成了 float32，而在 float32 中 1e8 与 1e8 + 1 是同一个数。"))


def check_group_relative_advantages_refuses_bad_input(answers):
    rewards, group_ids = torch.tensor([1.0, 0.0]), torch.tensor([0, 0])
    said = message(
        en="The input check above the TODO must stay: ValueError for an infinite reward, shapes that differ, an empty batch, an unknown "
           "scale, a ddof other than 0 and 1, a negative eps.",
        zh="TODO 上方的输入检查要保留：奖励为无穷、形状不同、输入为空、scale 未知、ddof 不是 0 或 1、eps 为负时抛出 ValueError。")
    expect_close(answers.group_relative_advantages(rewards, group_ids, "none"), [0.5, -0.5], said)
    expect_error(lambda: answers.group_relative_advantages(rewards * math.inf, group_ids), said)
    expect_error(lambda: answers.group_relative_advantages(rewards, group_ids[:1]), said)
    expect_error(lambda: answers.group_relative_advantages(rewards[:0], group_ids[:0]), said)
    expect_error(lambda: answers.group_relative_advantages(rewards, group_ids, scale="batch"), said)
    expect_error(lambda: answers.group_relative_advantages(rewards, group_ids, ddof=2), said)
    expect_error(lambda: answers.group_relative_advantages(rewards, group_ids, eps=-1.0), said)


def hidden_group_relative_advantages_random(answers, rng):
    for scale, ddof, groups, size, dtype in (
            ("std", 0, 5, 1.0, torch.float32), ("std", 1, 5, 1.0, torch.float32), ("none", 0, 5, 1024.0, torch.float32),
            ("std", 0, 1, 1.0, torch.float64), ("std", 0, 2, 2.0**-12, torch.float32), ("std", 1, 9, 1024.0, torch.float32)):
        n, eps = rng.integer(17, 40), size * rng.uniform(0.01, 0.5)
        # Eighths are exact, so that rewards are either equal or clearly not.
        rewards = (size * (8 * rng.rewards(n, missing=0.2)).round() / 8).to(dtype)
        group_ids = rng.interleaved_groups(n, groups) + rng.integer(-(2**60), 2**60)
        got = answers.group_relative_advantages(rewards, group_ids, scale, ddof, eps)
        expect_close(got, spec.group_relative_advantages(rewards, group_ids, scale, ddof, eps), message(
            en="Random groups of unequal size, interleaved, some rewards missing, random eps: an advantage is wrong.",
            zh="随机的组，大小不等，顺序交错，部分奖励缺失，eps 随机：优势有误。"))


def hidden_group_relative_advantages_properties(answers, rng):
    n = rng.integer(12, 30)
    rewards, group_ids = (8 * rng.rewards(n, missing=0.2)).round() / 8, rng.interleaved_groups(n, groups=4)
    advantages = answers.group_relative_advantages(rewards, group_ids, eps=0.0)
    expect_close(advantages, spec.group_relative_advantages(rewards, group_ids, "std", 0, 0.0), message(
        en="Random groups: an advantage is wrong before any reward was shifted.",
        zh="随机的组：尚未平移奖励，优势就已有误。"))
    moved = 4.0 * rewards + 16.0 * (group_ids == group_ids[0])
    expect_close(answers.group_relative_advantages(moved, group_ids, eps=0.0), advantages, message(
        en="Rewards in another unit, or with a bonus for every completion of one prompt, must change no advantage.",
        zh="奖励换一个单位，或给同一提示的每条回答加上同样的奖励，优势不应改变。"))
    order = rng.normal(n).argsort()
    expect_close(answers.group_relative_advantages(rewards[order], group_ids[order], eps=0.0), advantages[order], message(
        en="The order of completions in the batch must change no advantage.",
        zh="回答在批中的顺序不应影响优势。"))


# TODO 2: k3_kl


def check_k3_kl_one_value_for_each_token(answers):
    token_logps, reference = torch.tensor([[-1.0, -2.0, -0.5], [-3.0, -1.5, -0.2]]), torch.full((2, 3), -1.0)
    together = answers.k3_kl(token_logps, reference, torch.ones(2, 3, dtype=torch.bool))
    one = torch.ones(1, 1, dtype=torch.bool)
    alone = [[float(answers.k3_kl(token_logps[i:i + 1, t:t + 1], reference[:1, :1], one)) for t in range(3)] for i in range(2)]
    expect_close(together, torch.tensor(alone), message(
        en="Each token has a k3 of its own, from its own two log-probabilities: no sum, no mean, no distribution over the tokens of a row.",
        zh="每个 Token 有自己的 k3，只由它自己的两个对数概率得出：不求和，不取平均，也不把一行 Token 当作分布。"))


def check_k3_kl_zero_where_the_policies_agree(answers):
    token_logps = torch.tensor([[-1.0, -2.0], [-0.5, -3.0]])
    got = answers.k3_kl(token_logps, token_logps.clone(), torch.ones(2, 2, dtype=torch.bool))
    expect_close(got, torch.zeros(2, 2), message(
        en="Where policy and reference policy agree, there is nothing to pay: exp(0) - 0 - 1 = 0. Here the 1 or a term was left out.",
        zh="策略与参考策略一致时没有代价：exp(0) - 0 - 1 = 0。这里漏了 1 或某一项。"))


def check_k3_kl_is_not_k1_or_k2(answers):
    token_logps, reference = torch.tensor([[-2.0, -2.0]]), torch.tensor([[-1.0, -3.0]])
    got = answers.k3_kl(token_logps, reference, torch.ones(1, 2, dtype=torch.bool))
    expect_close(got.sort().values, torch.tensor([[0.367879, 0.718282]]), message(  # exp(-1) + 1 - 1 and exp(1) - 1 - 1, in any order
        en="k3 is exp(x) - x - 1: not the difference x itself (k1), not its absolute value, not half its square (k2), not weighted by a "
           "probability.",
        zh="k3 是 exp(x) - x - 1：不是差 x 本身（k1），不是它的绝对值，不是它平方的一半（k2），也不按概率加权。"))


def check_k3_kl_direction(answers):
    token_logps, reference = torch.tensor([[-2.0, -2.0]]), torch.tensor([[-1.0, -3.0]])
    got = answers.k3_kl(token_logps, reference, torch.ones(1, 2, dtype=torch.bool))
    expect_close(got, torch.tensor([[0.718282, 0.367879]]), message(  # exp(1) - 1 - 1, exp(-1) + 1 - 1
        en="x is reference minus policy: k3 is steep where the reference policy is the surer one. Here the two were exchanged.",
        zh="x 是参考策略减策略：参考策略更确信时，k3 上升得更陡。这里两者颠倒了。"))


def check_k3_kl_mean_is_the_kl_divergence(answers):
    policy, reference = torch.tensor([[0.7, 0.2, 0.1]]), torch.tensor([[0.2, 0.3, 0.5]])
    got = answers.k3_kl(policy.log(), reference.log(), torch.ones(1, 3, dtype=torch.bool))
    # Three possible tokens, each weighted by how often the policy samples it.
    expect_close((policy * got).sum(), torch.tensor(0.634897), message(
        en="Averaged over the policy's samples, k3 must give the KL divergence from policy to reference policy, here 0.6349. With x "
           "reversed it gives 0.9684.",
        zh="对策略的样本取平均，k3 应给出策略到参考策略的 KL 散度，这里是 0.6349；x 取反则得到 0.9684。"))


def check_k3_kl_gradient_reaches_the_policy(answers):
    for n, length in ((1, 3), (3, 1), (1, 1)):
        token_logps = torch.full((n, length), -2.0, requires_grad=True)
        reference = torch.tensor([-1.0, -3.0, -2.0])[:n * length].reshape(n, length)
        got = answers.k3_kl(token_logps, reference, torch.ones(n, length, dtype=torch.bool))
        slopes = torch.tensor([-1.718282, 0.632121, 0.0])[:n * length].reshape(n, length)  # 1 - exp(x)
        expect_close(gradient(got, token_logps), slopes, message(
            en="In GRPO the KL penalty teaches through its own gradient, 1 - exp(x) on each token. Here it, or a part of it, was cut off.",
            zh="在 GRPO 中，KL 惩罚靠自身的梯度起作用：每个 Token 上是 1 - exp(x)。这里梯度的全部或一部分被切断了。"))


def check_k3_kl_reference_is_frozen(answers):
    for n, length in ((1, 2), (2, 1), (1, 1), (2, 2)):
        reference = torch.full((n, length), -1.0, requires_grad=True)
        got = answers.k3_kl(torch.full((n, length), -2.0), reference, torch.ones(n, length, dtype=torch.bool))
        expect_close(gradient(got, reference), torch.zeros(n, length), message(
            en="The reference policy is fixed: its log-probabilities may receive no gradient.",
            zh="参考策略是固定的：它的对数概率不能得到梯度。"))


def check_k3_kl_leaves_padding_out(answers):
    mask = torch.tensor([[True, False, True], [True, False, False], [False, True, True], [False, False, False]]).repeat(5, 1)
    token_logps, reference = torch.full((20, 3), -2.0), torch.full((20, 3), -1.0)
    got = answers.k3_kl(token_logps, reference, mask)
    expect_close(got, torch.where(mask, 0.718282, 0.0), message(
        en="k3 is 0 outside the mask, wherever that is, even where a completion has no valid token, and stays as it is inside.",
        zh="掩码之外的 k3 为 0，不论位置在哪里，哪怕整条回答都没有有效 Token；掩码之内保持原值。"))


def check_k3_kl_padding_may_be_infinite(answers):
    mask = torch.tensor([[True, False, False]])
    for policy_junk, reference_junk in ((-math.inf, -1.0), (-1.0, -math.inf), (-math.inf, -math.inf), (math.nan, 1e6)):
        token_logps = torch.full((1, 3), -2.0).masked_fill(~mask, policy_junk)
        reference = torch.full((1, 3), -1.0).masked_fill(~mask, reference_junk)
        expect_close(answers.k3_kl(token_logps, reference, mask), torch.tensor([[0.718282, 0.0, 0.0]]), message(
            en="Padding of -inf or NaN leaked into k3: multiplying by the mask does not remove it, since 0 · inf is NaN.",
            zh="填充处的 -inf 或 NaN 混入了 k3：乘以掩码去不掉它，因为 0 · inf 等于 NaN。"))


def check_k3_kl_padding_has_no_gradient(answers):
    mask = torch.tensor([[True, False, False]])
    for policy_junk, reference_junk in ((-math.inf, -1.0), (-1.0, -math.inf), (-math.inf, -math.inf), (math.nan, 1e6)):
        token_logps = torch.full((1, 3), -2.0).masked_fill(~mask, policy_junk).requires_grad_()
        reference = torch.full((1, 3), -1.0).masked_fill(~mask, reference_junk)
        got = answers.k3_kl(token_logps, reference, mask)
        expect_close(gradient(got, token_logps), [[-1.718282, 0.0, 0.0]], message(
            en="The value on padding is 0, but its gradient is not: what was computed before the mask was applied still counts backward, "
               "and 0 · inf is NaN there too. Mask x before exp.",
            zh="填充处的数值为 0，梯度却不是：套用掩码之前算出的部分在反向传播中仍然起作用，而那里 0 · inf 同样是 NaN。"
               "应在 exp 之前对 x 套用掩码。"))


def check_k3_kl_accurate_near_zero(answers):
    token_logps = torch.tensor([[-1.0, -1.0]])
    reference = token_logps + torch.tensor([[0.03125, -0.03125]])
    got = answers.k3_kl(token_logps, reference, torch.ones(1, 2, dtype=torch.bool))
    expect_close(got, torch.tensor([[0.000493407, 0.000483236]]), message(
        en="For a small x, exp(x) - 1 loses most of its digits, since exp(x) is rounded near 1; k3 may even come out negative. "
           "torch.expm1(x) does not round there.",
        zh="x 很小时，exp(x) 在 1 附近被舍入，exp(x) - 1 会丢失大部分有效数字，k3 甚至可能变成负数。torch.expm1(x) 没有这个问题。"))


def check_k3_kl_has_no_limit(answers):
    for gap, expected, slope in ((60.0, 1.142007e26, -1.142007e26), (12.0, 162741.79, -162753.79), (3.0, 16.085537, -19.085537),
                                 (-12.0, 11.000006, 0.999994), (-60.0, 59.0, 1.0)):
        token_logps = torch.tensor([[-61.0]], requires_grad=True)
        got = answers.k3_kl(token_logps, torch.tensor([[-61.0 + gap]]), torch.tensor([[True]]))
        expect_close((got, gradient(got, token_logps)), ([[expected]], [[slope]]), message(
            en="A token far from the reference policy pays its whole k3, with its whole gradient: in this course x is not "
               "held in any range.",
            zh="远离参考策略的 Token 要付出全部 k3，并保留全部梯度：本课程不把 x 限制在任何范围内。"))


def check_k3_kl_leaves_inputs_alone(answers):
    inputs = torch.tensor([[-1.0, -7.0]]), torch.tensor([[-1.5, -8.0]]), torch.tensor([[True, False]])
    before = tuple(values.clone() for values in inputs)
    answers.k3_kl(*inputs)
    expect_unchanged(before, inputs, message(
        en="The caller's log-probabilities or mask were overwritten: work on a copy.",
        zh="调用者的对数概率或掩码被改写了：请在副本上操作。"))


def check_k3_kl_keeps_float64(answers):
    token_logps, reference = torch.tensor([[-1e8]], dtype=torch.float64), torch.tensor([[-1e8 + 1.0]], dtype=torch.float64)
    got = answers.k3_kl(token_logps, reference, torch.tensor([[True]]))
    expect_close(got, torch.tensor([[0.718282]]), message(
        en="float64 log-probabilities were rounded to float32 before the difference was taken.",
        zh="在求差之前，float64 的对数概率被舍入成了 float32。"))


def check_k3_kl_refuses_bad_input(answers):
    logps, mask = torch.tensor([[-1.0, -2.0]]), torch.tensor([[True, True]])
    said = message(
        en="The input check above the TODO must stay: ValueError for a mask that is not bool, shapes that differ, a valid log-probability "
           "that is not finite.",
        zh="TODO 上方的输入检查要保留：掩码不是布尔张量、形状不同、有效位置的对数概率不是有限数时抛出 ValueError。")
    expect_close(answers.k3_kl(logps, logps, mask), [[0.0, 0.0]], said)
    expect_error(lambda: answers.k3_kl(logps, logps, mask.long()), said)
    expect_error(lambda: answers.k3_kl(logps, logps[:, :1], mask), said)
    expect_error(lambda: answers.k3_kl(logps * math.inf, logps, mask), said)


def hidden_k3_kl_random(answers, rng):
    for junk, n, length, dtype in (
            (-math.inf, rng.integer(4, 8), rng.integer(3, 12), torch.float32), (math.nan, rng.integer(17, 24), 1, torch.float32),
            (1e6, rng.integer(2, 4), rng.integer(60, 80), torch.float32), (-1e6, 1, rng.integer(3, 12), torch.float64)):
        mask = rng.normal(n, length) > 0
        mask[0, 0] = True
        if n > 1:
            mask[-1] = False  # one completion without a valid token
        token_logps = rng.token_logps(n, length).to(dtype).masked_fill(~mask, junk).requires_grad_()
        reference = rng.token_logps(n, length).to(dtype).masked_fill(~mask, rng.normal(1).item())
        got = answers.k3_kl(token_logps, reference, mask)
        estimates, slopes = spec.k3_kl(token_logps, reference, mask)
        expect_close(got, estimates, message(
            en="Random log-probabilities and masks: a token's k3 is wrong.",
            zh="随机的对数概率与掩码：某个 Token 的 k3 有误。"))
        expect_close(gradient(got, token_logps), slopes, message(
            en="Random log-probabilities and masks: the gradient of a token's k3 is wrong.",
            zh="随机的对数概率与掩码：某个 Token 的 k3 的梯度有误。"))


# TODO 3: grpo_token_losses


def check_grpo_token_losses_one_for_each_token(answers):
    logps = torch.full((2, 3), -1.0)
    got = answers.grpo_token_losses(logps, logps.clone(), torch.tensor([1.0, 1.0]), torch.ones(2, 3, dtype=torch.bool))
    expect_close(got != got, torch.zeros(2, 3, dtype=torch.bool), message(
        en="The result has a loss for each token, [N, T]: no mean and no sum yet. Reducing them is the next TODO.",
        zh="结果是每个 Token 一个损失，形状为 [N, T]：此时不取平均也不求和，归约是下一个 TODO。"))


def check_grpo_token_losses_minus_the_advantage_at_ratio_one(answers):
    logps = torch.tensor([[-2.0, -3.0, -0.5]])
    got = answers.grpo_token_losses(logps, logps.clone(), torch.tensor([1.5]), torch.ones(1, 3, dtype=torch.bool))
    expect_close(got, torch.full((1, 3), -1.5), message(
        en="Where old and new policy agree, each token ratio is 1 and each token's loss is minus the advantage, not divided by anything. "
           "Minimizing the loss must raise the surrogate objective.",
        zh="新旧策略一致时每个 Token 比率为 1，每个 Token 的损失等于优势的相反数，不除以任何数。最小化损失就是最大化代理目标。"))


def check_grpo_token_losses_advantage_belongs_to_its_completion(answers):
    logps = torch.full((2, 2), -1.0)
    got = answers.grpo_token_losses(logps, logps.clone(), torch.tensor([1.0, -2.0]), torch.ones(2, 2, dtype=torch.bool))
    expect_close(got, torch.tensor([[-1.0, -1.0], [2.0, 2.0]]), message(
        en="All tokens of a completion share its advantage, with its sign and size: row by row, not column by column, and not normalized "
           "once more.",
        zh="一条回答的全部 Token 共用它的优势，符号与大小都保留：按行而不是按列，也不再归一化。"))


def check_grpo_token_losses_advantages_may_differ_within_a_completion(answers):
    logps, advantages = torch.full((2, 2), -1.0), torch.tensor([[1.0, -3.0], [0.5, 2.0]])
    got = answers.grpo_token_losses(logps, logps.clone(), advantages, torch.ones(2, 2, dtype=torch.bool))
    expect_close(got, torch.tensor([[-1.0, 3.0], [-0.5, -2.0]]), message(
        en="Advantages may also be [N, T], one for each token: then each token takes its own.",
        zh="优势也可以是 [N, T]，每个 Token 一个：这时每个 Token 用自己的优势。"))


def check_grpo_token_losses_gradient_reaches_new_logps(answers):
    for n, length in ((2, 1), (1, 2), (1, 1), (2, 2)):
        new, mask, advantages = torch.full((n, length), -2.0, requires_grad=True), torch.ones(n, length, dtype=torch.bool), [1.5, -1.0][:n]
        for beta in (0.0, 0.5):
            got = answers.grpo_token_losses(new, new.detach().clone(), torch.tensor(advantages), mask, torch.full((n, length), 0.2), beta)
            expect_close(gradient(got, new), [[-advantage] * length for advantage in advantages], message(
                en="At ratio 1 the gradient with respect to new_token_logps is minus the advantage too: here it was cut off, and nothing "
                   "would be learned.",
                zh="比率为 1 时，损失对 new_token_logps 的梯度也等于优势的相反数：这里梯度被切断了，策略学不到任何东西。"))


def check_grpo_token_losses_ratio_of_each_token(answers):
    old = torch.tensor([[-1.0, -2.0, -0.5]])
    got = answers.grpo_token_losses(old + torch.tensor([[0.1, -0.1, 0.15]]), old, torch.tensor([1.0]), torch.ones(1, 3, dtype=torch.bool))
    expect_close(got, torch.tensor([[-1.105171, -0.904837, -1.161834]]), message(
        en="GRPO's ratio is exp(new - old) of the one token: not old over new, not without exp, not the sequence ratio (RLOO), not its "
           "length-normalized form (GSPO).",
        zh="GRPO 的比率是单个 Token 的 exp(new - old)：不是旧比新，不能省去 exp，不是序列比率（RLOO），也不是按长度归一化的形式（GSPO）。"))


def check_grpo_token_losses_takes_the_smaller_surrogate(answers):
    old = torch.full((2, 1), -2.0)
    new = (old + torch.tensor([[0.5], [4.0]]).log()).requires_grad_()
    got = answers.grpo_token_losses(new, old, torch.tensor([1.0, -1.0]), torch.ones(2, 1, dtype=torch.bool))
    # A token of a good completion that became half as likely, one of a bad completion four times as likely: both have to learn.
    expect_close((got, gradient(got, new)), ([[-0.5], [4.0]], [[-0.5], [4.0]]), message(
        en="Of the two surrogates the smaller one counts, for either sign of the advantage. Where the policy moved the wrong way that is "
           "the unclipped one, with its gradient and without a limit.",
        zh="无论优势正负，都取两个代理目标中较小的一个。策略朝错误方向移动时，较小的是未裁剪的那个：保留梯度，且没有上限。"))


def check_grpo_token_losses_stops_above_for_good_tokens(answers):
    old, new = torch.tensor([[-3.0]]), torch.tensor([[-2.0]], requires_grad=True)
    got = answers.grpo_token_losses(new, old, torch.tensor([1.0]), torch.tensor([[True]]))
    expect_close(gradient(got, new), [[0.0]], message(  # the ratio is 2.718
        en="A > 0 and a token ratio above 1 + epsilon_high: the token is already likelier by the whole clip range, so its gradient "
           "must be 0.",
        zh="A > 0 且 Token 比率高于 1 + epsilon_high：该 Token 已升到裁剪范围的上界，梯度必须为 0。"))


def check_grpo_token_losses_stops_below_for_bad_tokens(answers):
    old, new = torch.tensor([[-2.0]]), torch.tensor([[-3.0]], requires_grad=True)
    got = answers.grpo_token_losses(new, old, torch.tensor([-1.0]), torch.tensor([[True]]))
    expect_close(gradient(got, new), [[0.0]], message(  # the ratio is 0.368
        en="A < 0 and a token ratio below 1 - epsilon_low: the token is already rarer by the whole clip range, so its gradient must be 0.",
        zh="A < 0 且 Token 比率低于 1 - epsilon_low：该 Token 已降到裁剪范围的下界，梯度必须为 0。"))


def check_grpo_token_losses_bounds(answers):
    old = torch.full((4, 1), -2.0)
    new = old + torch.tensor([[2.0], [0.5], [1.25], [0.85]]).log()
    # Stopped above, stopped below; 1.25 and 0.85 lie outside the narrower of the two bounds and inside the wider.
    for low, high, losses in ((0.1, 0.3, [-1.3, 0.9, -1.25, 0.9]), (0.3, 0.1, [-1.1, 0.7, -1.1, 0.85])):
        got = answers.grpo_token_losses(new, old, torch.tensor([1.0, -1.0, 1.0, -1.0]), torch.ones(4, 1, dtype=torch.bool),
                                        epsilon_low=low, epsilon_high=high)
        expect_close(got, torch.tensor(losses).unsqueeze(-1), message(
            en="The ratio is held between 1 - epsilon_low and 1 + epsilon_high: each bound its own epsilon, around 1, and on the ratio, "
               "not on its logarithm.",
            zh="比率限制在 1 - epsilon_low 与 1 + epsilon_high 之间：上下界各用各的 epsilon，以 1 为中心，限制的是比率而不是它的对数。"))


def check_grpo_token_losses_epsilons_may_be_wide(answers):
    old = torch.full((3, 1), -2.0)
    new = old + torch.tensor([[2.4], [9.0], [0.02]]).log()
    got = answers.grpo_token_losses(new, old, torch.tensor([1.0, 1.0, -1.0]), torch.ones(3, 1, dtype=torch.bool),
                                    epsilon_low=0.95, epsilon_high=5.0)
    expect_close(got, torch.tensor([[-2.4], [-6.0], [0.05]]), message(  # inside; 1 + 5; 1 - 0.95
        en="epsilon_high may exceed 1, and epsilon_low may come near 1: the clip range is taken as it is given.",
        zh="epsilon_high 可以大于 1，epsilon_low 可以接近 1：裁剪范围按给定的取，不另加限制。"))


def check_grpo_token_losses_default_bounds(answers):
    old = torch.full((2, 1), -2.0)
    new = old + torch.tensor([[2.0], [0.5]]).log()
    got = answers.grpo_token_losses(new, old, torch.tensor([1.0, -1.0]), torch.ones(2, 1, dtype=torch.bool))
    expect_close(got, torch.tensor([[-1.2], [0.8]]), message(
        en="Unless the caller says otherwise, both epsilons are 0.2: a default was changed.",
        zh="未指定时两个 epsilon 都是 0.2：这里默认值被改动了。"))


def check_grpo_token_losses_bounds_belong_to_the_range(answers):
    old = torch.full((2, 1), -2.0, dtype=torch.float64)
    new = old.clone().requires_grad_()
    # 1 - 1e-17 and 1 + 1e-17 are 1 in float64: the ratio 1 stands on both bounds.
    got = answers.grpo_token_losses(new, old, torch.tensor([1.0, -1.0]), torch.ones(2, 1, dtype=torch.bool),
                                    epsilon_low=1e-17, epsilon_high=1e-17)
    expect_close(gradient(got, new) != 0, torch.ones(2, 1, dtype=torch.bool), message(
        en="A ratio exactly on a bound still lies inside the clip range and keeps its gradient: clip beyond the bound, not at it.",
        zh="恰好等于边界的比率仍在裁剪范围之内，梯度要保留：越过边界才裁剪。"))


def check_grpo_token_losses_kl_is_added(answers):
    logps, token_kl, mask = torch.tensor([[-1.0, -2.0]]), torch.tensor([[0.2, 0.4]]), torch.ones(1, 2, dtype=torch.bool)
    said = message(
        en="The loss grows by beta times each token's KL: added, not subtracted, and outside the minimum and the clip. With beta = 0, the "
           "default, nothing is added.",
        zh="损失增加 beta 乘每个 Token 的 KL：是加而不是减，且在取最小与裁剪之外。beta 默认为 0，此时什么都不加。")
    for advantage in (1.0, -1.0):
        for beta in (0.5, 2.5):
            got = answers.grpo_token_losses(logps, logps.clone(), torch.tensor([advantage]), mask, token_kl, beta=beta)
            expect_close(got, torch.tensor([[0.2 * beta - advantage, 0.4 * beta - advantage]]), said)
    expect_close(answers.grpo_token_losses(logps, logps.clone(), torch.tensor([1.0]), mask, token_kl), [[-1.0, -1.0]], said)


def check_grpo_token_losses_kl_is_not_weighted(answers):
    old, token_kl = torch.tensor([[-2.0, -2.0, -2.0]]), torch.tensor([[0.2, 0.2, 0.2]])
    new, mask = old + torch.tensor([[0.15, 1.0, -1.0]]), torch.ones(1, 3, dtype=torch.bool)
    for advantage in (0.0, 1.0, -1.0):
        with_kl = answers.grpo_token_losses(new, old, torch.tensor([advantage]), mask, token_kl, beta=0.5)
        without = answers.grpo_token_losses(new, old, torch.tensor([advantage]), mask)
        expect_close(with_kl - without, torch.full((1, 3), 0.1), message(
            en="The KL penalty is neither multiplied by the ratio nor dropped where the ratio leaves its clip range: it belongs to the "
               "loss, not to the advantage and not to one of the surrogates.",
            zh="KL 惩罚不乘比率，比率越出裁剪范围时也不去掉：它属于损失，不属于优势，也不属于某一个代理目标。"))


def check_grpo_token_losses_kl_keeps_its_gradient(answers):
    old, token_kl = torch.tensor([[-2.0, -2.0]]), torch.tensor([[0.2, 0.3]], requires_grad=True)
    got = answers.grpo_token_losses(old + torch.tensor([[1.0, 0.0]]), old, torch.tensor([1.0]), torch.ones(1, 2, dtype=torch.bool),
                                    token_kl, beta=0.5)
    expect_close(gradient(got, token_kl), [[0.5, 0.5]], message(
        en="token_kl must keep its gradient, beta on each token, also where the policy term is clipped: detached, the penalty would change "
           "the number and teach nothing.",
        zh="token_kl 要保留梯度，每个 Token 上是 beta，策略项被裁剪处也一样：若停止梯度，惩罚只改变数值，不起任何作用。"))


def check_grpo_token_losses_old_and_advantages_are_frozen(answers):
    for n, length in ((1, 4), (4, 1), (2, 2), (1, 1)):
        for beta in (0.0, 0.5):
            old = torch.full((n, length), -2.0, requires_grad=True)
            new = old.detach() + torch.tensor([0.1, 1.0, -1.0, -0.1])[:n * length].reshape(n, length)
            for advantages in (torch.tensor([1.0, 2.0, -1.0, -2.0])[:n * length].reshape(n, length), torch.ones(n)):
                advantages.requires_grad_()
                got = answers.grpo_token_losses(new, old, advantages, torch.ones(n, length, dtype=torch.bool),
                                                torch.full((n, length), 0.2), beta)
                expect_close((gradient(got, old), gradient(got, advantages)), (0.0 * old, 0.0 * advantages), message(
                    en="The old policy's log-probabilities and the advantages are constants of the update: neither may receive a gradient.",
                    zh="旧策略的对数概率与优势对更新而言都是常数：两者都不能得到梯度。"))


def check_grpo_token_losses_limits_nothing(answers):
    old = torch.full((5, 1), -40.0, dtype=torch.float64)
    new = (old + torch.tensor([[30.0], [4.0], [0.0], [-21.0], [0.0]])).requires_grad_()
    advantages, token_kl = torch.tensor([-1.0, -3.0, 5000.0, 1.0, -5000.0]), torch.tensor([[0.0], [0.0], [3000.0], [50.0], [0.0]])
    for row, loss, slope in ((0, 1.0686475e13, 1.0686475e13), (1, 163.79445, 163.79445), (2, -3500.0, -5000.0), (3, 25.0, -7.58256e-10),
                             (4, 5000.0, 5000.0)):
        got = answers.grpo_token_losses(new, old, advantages.double(), torch.ones(5, 1, dtype=torch.bool), token_kl.double(), beta=0.5)
        expect_close((got[row], gradient(got[row], new)[row]), ([loss], [slope]), message(
            en="Nothing but the ratio's clip range limits a loss: log-ratios, ratios that the minimum leaves unclipped, advantages and KL "
               "keep their size, however large or small they are.",
            zh="除了比率的裁剪范围，没有什么限制损失：对数比率、取最小后未裁剪的比率、优势和 KL，不论多大多小，一律保持原值。"))


def check_grpo_token_losses_leaves_padding_out(answers):
    mask = torch.tensor([[True, False, True], [False, True, False], [False, False, False]]).repeat(7, 1)
    old, new = torch.full((21, 3), -2.0), torch.full((21, 3), -1.9)
    got = answers.grpo_token_losses(new, old, torch.tensor([1.0, -1.0, 1.0] * 7), mask, torch.full((21, 3), 0.2), beta=0.5)
    expect_close(got, torch.tensor([[-1.005171, 0.0, -1.005171], [0.0, 1.205171, 0.0], [0.0, 0.0, 0.0]] * 7), message(
        en="Outside the mask the loss is 0, policy term and KL penalty alike; inside it stays as it is, wherever the valid tokens stand.",
        zh="掩码之外损失为 0，策略项与 KL 惩罚都一样；掩码之内保持原值，不论有效 Token 在哪里。"))


def check_grpo_token_losses_padding_may_be_infinite(answers):
    mask = torch.tensor([[True, False]])
    for junk in ((-math.inf, -math.inf, 1.0, 0.2), (-1.0, -math.inf, -1.0, math.inf), (math.nan, -1.0, 1.0, math.nan),
                 (1e6, -1.0, math.nan, 0.0)):
        new, old, advantages, token_kl = (torch.tensor([[valid, other]]) for valid, other in zip((-1.9, -2.0, 1.0, 0.2), junk))
        got = answers.grpo_token_losses(new, old, advantages, mask, token_kl, beta=0.5)
        expect_close(got, torch.tensor([[-1.005171, 0.0]]), message(
            en="Padding of -inf or NaN leaked into the losses: multiplying by the mask does not remove it, since 0 · inf is NaN.",
            zh="填充处的 -inf 或 NaN 混入了损失：乘以掩码去不掉它，因为 0 · inf 等于 NaN。"))


def check_grpo_token_losses_padding_has_no_gradient(answers):
    mask = torch.tensor([[True, False]])
    for junk in ((-math.inf, -math.inf, 1.0, 0.2), (-1.0, -math.inf, -1.0, math.inf), (math.nan, -1.0, 1.0, math.nan),
                 (1e6, -1.0, math.nan, 0.0)):
        new, old, advantages, token_kl = (torch.tensor([[valid, other]]) for valid, other in zip((-1.9, -2.0, 1.0, 0.2), junk))
        new.requires_grad_()
        token_kl.requires_grad_()
        got = answers.grpo_token_losses(new, old, advantages, mask, token_kl, beta=0.5)
        expect_close((gradient(got, new), gradient(got, token_kl)), ([[-1.105171, 0.0]], [[0.5, 0.0]]), message(
            en="The loss on padding is 0, but its gradient is not: what was computed before the mask was applied still counts backward, "
               "and 0 · inf is NaN there too. Mask the log-ratio before exp as well.",
            zh="填充处的损失为 0，梯度却不是：套用掩码之前算出的部分在反向传播中仍然起作用，而那里 0 · inf 同样是 NaN。"
               "对数比率在 exp 之前也要套用掩码。"))


def check_grpo_token_losses_survives_rare_tokens(answers):
    got = answers.grpo_token_losses(torch.tensor([[-200.0]]), torch.tensor([[-200.5]]), torch.tensor([-1.0]), torch.tensor([[True]]))
    expect_close(got, torch.tensor([[1.648721]]), message(  # exp(0.5)
        en="exp(-200) is 0 in float32, so a quotient of token probabilities is 0/0: subtract the log-probabilities first.",
        zh="exp(-200) 在 float32 中等于 0，Token 概率之商便成了 0/0：应先对对数概率求差。"))


def check_grpo_token_losses_leaves_inputs_alone(answers):
    mask = torch.tensor([[True, False]])
    inputs = torch.tensor([[-1.0, -2.0]]), torch.tensor([[-2.0, -1.0]]), torch.tensor([[1.0, -1.0]]), mask, torch.tensor([[0.2, 0.3]])
    before = tuple(values.clone() for values in inputs)
    answers.grpo_token_losses(*inputs, beta=0.5)
    expect_unchanged(before, inputs, message(
        en="The caller's log-probabilities, advantages, mask or KL were overwritten, and the next inner epoch needs them.",
        zh="调用者的对数概率、优势、掩码或 KL 被改写了，而下一轮内部更新还要用到它们。"))


def check_grpo_token_losses_keeps_float64(answers):
    new, old = torch.tensor([[-1e8 - 0.5]], dtype=torch.float64), torch.tensor([[-1e8]], dtype=torch.float64)
    got = answers.grpo_token_losses(new, old, torch.ones(1, dtype=torch.float64), torch.tensor([[True]]))
    expect_close(got, torch.tensor([[-0.606531]]), message(  # -exp(-0.5)
        en="float64 log-probabilities were rounded to float32 before the ratio was taken.",
        zh="在求比率之前，float64 的对数概率被舍入成了 float32。"))


def check_grpo_token_losses_refuses_bad_input(answers):
    logps, advantages, mask = torch.tensor([[-1.0, -2.0]]), torch.tensor([1.0]), torch.tensor([[True, True]])
    said = message(
        en="The input check above the TODO must stay: ValueError for shapes that differ, a valid value that is not finite, beta without "
           "token_kl, a beta or an epsilon out of range.",
        zh="TODO 上方的输入检查要保留：形状不同、有效位置的数值不是有限数、给出 beta 而没有 token_kl、"
           "beta 或 epsilon 越界时抛出 ValueError。")
    expect_close(answers.grpo_token_losses(logps, logps, advantages, mask), [[-1.0, -1.0]], said)
    expect_error(lambda: answers.grpo_token_losses(logps, logps, advantages, mask.long()), said)
    expect_error(lambda: answers.grpo_token_losses(logps, logps[:, :1], advantages, mask), said)
    expect_error(lambda: answers.grpo_token_losses(logps, logps, advantages[None, :], mask), said)
    expect_error(lambda: answers.grpo_token_losses(logps, logps, advantages * math.nan, mask), said)
    expect_error(lambda: answers.grpo_token_losses(logps * math.inf, logps, advantages, mask), said)
    expect_error(lambda: answers.grpo_token_losses(logps, logps, advantages, mask, beta=0.1), said)
    expect_error(lambda: answers.grpo_token_losses(logps, logps, advantages, mask, logps * math.nan, beta=0.1), said)
    expect_error(lambda: answers.grpo_token_losses(logps, logps, advantages, mask, -logps, beta=-0.1), said)
    expect_error(lambda: answers.grpo_token_losses(logps, logps, advantages, mask, epsilon_low=10.0), said)
    expect_error(lambda: answers.grpo_token_losses(logps, logps, advantages, mask, epsilon_high=0.0), said)


def hidden_grpo_token_losses_random(answers, rng):
    for junk, n, length, widths, beta, dtype in (
            (-math.inf, 6, 8, (0.1, 0.3, 0.35, 0.6), rng.uniform(0.1, 1.0), torch.float32),
            (math.nan, rng.integer(17, 24), 1, (0.35, 0.6, 0.1, 0.3), rng.uniform(1.5, 3.0), torch.float32),
            (1e6, 3, rng.integer(60, 80), (0.1, 0.3, 1.2, 1.8), rng.uniform(0.1, 1.0), torch.float32),
            (-1e6, 1, 8, (0.1, 0.3, 0.1, 0.3), 0.0, torch.float64)):
        low, high = rng.uniform(*widths[:2]), rng.uniform(*widths[2:])
        # Below, inside and above the clip range, and never so near a bound that rounding would decide. A row has one sign, or 0.
        parts = ((0.2, 0.95 - low), (1.05 - low, 1.0), (1.0, 0.95 + high), (1.05 + high, 3.0))
        ratios = torch.tensor([[rng.uniform(*parts[(t + rng.integer(0, 1)) % 4]) for t in range(length)] for _ in range(n)]).to(dtype)
        advantages = torch.tensor([1.0, -1.0, 0.0, 1.0, -1.0, -1.0] * 4)[:n].to(dtype) * (rng.normal(n).abs() + 0.1)
        mask = rng.normal(n, length) > -0.5
        mask[0, 0] = True
        if n > 1:
            mask[-1] = False  # the last completion has no valid token
        old = rng.token_logps(n, length).to(dtype)
        new = (old + ratios.log()).masked_fill(~mask, junk).requires_grad_()
        old = old.masked_fill(~mask, rng.normal(1).item()).requires_grad_()
        token_kl = rng.normal(n, length).to(dtype).square().masked_fill(~mask, junk).requires_grad_()
        by_token = advantages[:, None] * (rng.normal(n, length).abs() + 0.1) * torch.where(rng.normal(n, length) > 0, 1.0, -1.0)
        for given in (advantages, by_token.masked_fill(~mask, junk)):
            got = answers.grpo_token_losses(new, old, given, mask, token_kl, beta, low, high)
            losses, slopes = spec.grpo_token_losses(new, old, given, mask, token_kl, beta, low, high)
            expect_close(got, losses, message(
                en="Random ratios, bounds, masks and KL, both signs of the advantage: a token's loss is wrong.",
                zh="随机的比率、边界、掩码与 KL，优势有正有负：某个 Token 的损失有误。"))
            expect_close((gradient(got, new), gradient(got, old), gradient(got, token_kl)), (slopes, 0.0 * slopes, beta * mask), message(
                en="Random ratios, bounds, masks and KL, both signs of the advantage: a token's gradient is wrong.",
                zh="随机的比率、边界、掩码与 KL，优势有正有负：某个 Token 的梯度有误。"))


# TODO 4: reduce_token_losses


def check_reduce_token_losses_one_number(answers):
    losses, mask = torch.tensor([[8.0, 0.0, 0.0], [1.0, 2.0, 3.0]]), torch.tensor([[True, False, False], [True, True, True]])
    for reduction in ("sequence_mean", "token_mean", "sequence_sum", "constant"):
        got = answers.reduce_token_losses(losses, mask, reduction, max_length=5)
        expect_close(got != got, torch.tensor(False), message(
            en="Every reduction gives one number for the whole batch, as a tensor without dimensions: not one for each completion, not "
               "a list.",
            zh="每种归约都为整批给出一个数，即零维张量：不是每条回答一个，也不是列表。"))


def check_reduce_token_losses_sequence_mean(answers):
    losses, mask = torch.tensor([[8.0, 0.0, 0.0], [1.0, 2.0, 3.0]]), torch.tensor([[True, False, False], [True, True, True]])
    said = message(
        en="sequence_mean, the default: each completion's losses over its own number of valid tokens, then the mean over completions. "
           "(8/1 + 6/3) / 2 = 5.",
        zh="sequence_mean（默认）：每条回答的损失之和除以它自己的有效 Token 数，再对回答取平均。(8/1 + 6/3) / 2 = 5。")
    expect_close(answers.reduce_token_losses(losses, mask, "sequence_mean"), torch.tensor(5.0), said)
    expect_close(answers.reduce_token_losses(losses, mask), torch.tensor(5.0), said)


def check_reduce_token_losses_token_mean(answers):
    losses, mask = torch.tensor([[8.0, 0.0, 0.0], [1.0, 2.0, 3.0]]), torch.tensor([[True, False, False], [True, True, True]])
    expect_close(answers.reduce_token_losses(losses, mask, "token_mean"), torch.tensor(3.5), message(
        en="token_mean: all losses of the batch over the number of all its valid tokens, so that each token weighs the same: "
           "(8 + 6) / 4 = 3.5. Padding is not counted, and completions are not averaged first.",
        zh="token_mean：整批损失之和除以整批有效 Token 数，因此每个 Token 权重相同：(8 + 6) / 4 = 3.5。不计填充，也不先对每条回答取平均。"))


def check_reduce_token_losses_sequence_sum(answers):
    losses, mask = torch.tensor([[8.0, 0.0, 0.0], [1.0, 2.0, 3.0]]), torch.tensor([[True, False, False], [True, True, True]])
    expect_close(answers.reduce_token_losses(losses, mask, "sequence_sum"), torch.tensor(7.0), message(
        en="sequence_sum: each completion's losses are summed, then the mean over completions is taken: (8 + 6) / 2 = 7. No length divides "
           "here, but the number of completions does.",
        zh="sequence_sum：每条回答的损失求和，再对回答取平均：(8 + 6) / 2 = 7。这里不除以长度，但要除以回答数。"))


def check_reduce_token_losses_constant(answers):
    losses, mask = torch.tensor([[8.0, 0.0, 0.0], [1.0, 2.0, 3.0]]), torch.tensor([[True, False, False], [True, True, True]])
    got = answers.reduce_token_losses(losses, mask, "constant", max_length=5)
    expect_close(got, torch.tensor(1.4), message(
        en="constant: sequence_sum over max_length, the same divisor for every batch: (8 + 6) / (2 · 5) = 1.4. Neither a completion's own "
           "length nor the width of this batch divides.",
        zh="constant：sequence_sum 再除以 max_length，每一批的除数都相同：(8 + 6) / (2 · 5) = 1.4。"
           "不除以回答自己的长度，也不除以本批的宽度。"))


def check_reduce_token_losses_constant_is_max_length_alone(answers):
    losses, mask = torch.tensor([[8.0, 0.0, 0.0], [1.0, 2.0, 3.0]]), torch.tensor([[True, False, False], [True, True, True]])
    for max_length, loss in ((1, 7.0), (2, 3.5), (100, 0.07), (4096, 7 / 4096)):
        got = answers.reduce_token_losses(losses, mask, "constant", max_length=max_length)
        expect_close(got, torch.tensor(loss), message(
            en="max_length is a constant of the run, not of the batch: it divides as it is, even if it is less than the width of the "
               "batch or far more.",
            zh="max_length 是整个训练的常数，与这一批无关：不论它小于本批宽度还是大得多，都直接用它来除。"))


def check_reduce_token_losses_max_length_is_for_constant(answers):
    losses, mask = torch.tensor([[8.0, 0.0, 0.0], [1.0, 2.0, 3.0]]), torch.tensor([[True, False, False], [True, True, True]])
    got = [float(answers.reduce_token_losses(losses, mask, reduction, max_length=5))
           for reduction in ("sequence_mean", "token_mean", "sequence_sum")]
    expect_close(got, [5.0, 3.5, 7.0], message(
        en="max_length is used by the constant reduction only: the three others must give the same with and without it.",
        zh="max_length 只用于 constant（常数归约）：其余三种归约有没有它，结果都一样。"))


def check_reduce_token_losses_leaves_padding_out(answers):
    losses, mask = torch.tensor([[4.0, 90.0, 70.0], [90.0, 2.0, 6.0]]), torch.tensor([[True, False, False], [False, True, True]])
    got = [float(answers.reduce_token_losses(losses, mask, reduction, max_length=5))
           for reduction in ("sequence_mean", "token_mean", "sequence_sum", "constant")]
    expect_close(got, [4.0, 4.0, 6.0, 1.2], message(
        en="What stands outside the mask must add nothing, wherever it stands, and what stands inside must count: here padding was summed, "
           "or valid tokens were not.",
        zh="掩码之外的数值不论在哪里都不能计入，掩码之内的都要计入：这里计入了填充，或漏掉了有效 Token。"))


def check_reduce_token_losses_any_loss_counts(answers):
    losses, mask = torch.tensor([[0.0, -4.0, 0.0], [-6.0, 0.0, 9.0]]), torch.tensor([[True, True, False], [True, True, True]])
    for size in (1.0, 1e5, 1e-5):
        got = [float(answers.reduce_token_losses(size * losses, mask, reduction, max_length=5))
               for reduction in ("sequence_mean", "token_mean", "sequence_sum", "constant")]
        # Sums -4 and 3, lengths 2 and 3.
        expect_close(got, [-0.5 * size, -0.2 * size, -0.5 * size, -0.1 * size], message(
            en="A valid token's loss may be 0, negative, very large or very small: it counts with its value, and a loss of 0 is still one "
               "token.",
            zh="有效 Token 的损失可以为 0，可以为负，可以很大或很小：一律按原值计入，损失为 0 的也算一个 Token。"))


def check_reduce_token_losses_padding_may_be_infinite(answers):
    losses, mask = torch.tensor([[4.0, -math.inf, math.nan], [1e6, 2.0, 6.0]]), torch.tensor([[True, False, False], [False, True, True]])
    got = [float(answers.reduce_token_losses(losses, mask, reduction, max_length=5))
           for reduction in ("sequence_mean", "token_mean", "sequence_sum", "constant")]
    expect_close(got, [4.0, 4.0, 6.0, 1.2], message(
        en="Padding of -inf or NaN leaked into the reduced loss: multiplying by the mask does not remove it, since 0 · inf is NaN.",
        zh="填充处的 -inf 或 NaN 混入了归约后的损失：乘以掩码去不掉它，因为 0 · inf 等于 NaN。"))


def check_reduce_token_losses_empty_completion(answers):
    losses, mask = torch.tensor([[4.0, 2.0], [math.nan, 8.0]]), torch.tensor([[True, True], [False, False]])
    said = message(
        en="A completion without a valid token adds 0 and is still one of the completions: its mean is not 0/0, and the others are not "
           "averaged without it.",
        zh="没有有效 Token 的回答贡献 0，但仍算一条回答：它的平均不是 0/0，其余回答取平均时也要算上它。")
    got = [float(answers.reduce_token_losses(losses, mask, reduction, max_length=5))
           for reduction in ("sequence_mean", "token_mean", "sequence_sum", "constant")]
    expect_close(got, [1.5, 3.0, 3.0, 0.6], said)
    got = [float(answers.reduce_token_losses(losses.repeat(10, 1), mask.repeat(10, 1), reduction, max_length=5))
           for reduction in ("sequence_mean", "token_mean", "sequence_sum", "constant")]
    expect_close(got, [1.5, 3.0, 3.0, 0.6], said)  # ten times the same
    nothing = [float(answers.reduce_token_losses(losses, mask & False, reduction, max_length=5))
               for reduction in ("sequence_mean", "token_mean", "sequence_sum", "constant")]
    expect_close(nothing, [0.0] * 4, said)


def check_reduce_token_losses_weights(answers):
    mask = torch.arange(8) < torch.tensor([[2], [8]])
    for reduction, short, long in (("sequence_mean", 1 / 4, 1 / 16), ("token_mean", 1 / 10, 1 / 10), ("sequence_sum", 1 / 2, 1 / 2),
                                   ("constant", 1 / 20, 1 / 20)):
        losses = torch.ones(2, 8, requires_grad=True)
        got = answers.reduce_token_losses(losses, mask, reduction, max_length=10)
        expect_close(gradient(got, losses), [[short] * 2 + [0.0] * 6, [long] * 8], message(
            en="The gradient with respect to a token's loss is the weight of that token, here for completions of 2 and 8 tokens; it was "
               "cut off or spread differently.",
            zh="损失对某个 Token 损失的梯度就是该 Token 的权重，这里两条回答各有 2 个和 8 个 Token；梯度被切断了，或分配有误。"))


def check_reduce_token_losses_weights_at_any_size(answers):
    for n, length in ((1, 1), (1, 4), (4, 1), (3, 300)):
        for reduction, divisor in (("sequence_mean", n * length), ("token_mean", n * length), ("sequence_sum", n), ("constant", n * 10)):
            losses = torch.ones(n, length, requires_grad=True)
            got = answers.reduce_token_losses(losses, torch.ones(n, length, dtype=torch.bool), reduction, max_length=10)
            expect_close((got, gradient(got, losses)), (n * length / divisor, torch.full((n, length), 1 / divisor)), message(
                en="A batch may be one completion, one token wide, or long: loss and gradient follow the same rule at any size.",
                zh="一批可以只有一条回答，可以只有一个 Token 宽，也可以很长：不论大小，损失与梯度都遵循同一规则。"))


def check_reduce_token_losses_padding_has_no_gradient(answers):
    mask = torch.tensor([[True, False], [False, False]])
    for reduction, weight in (("sequence_mean", 0.5), ("token_mean", 1.0), ("sequence_sum", 0.5), ("constant", 0.1)):
        losses = torch.tensor([[4.0, -math.inf], [math.nan, 1e6]], requires_grad=True)
        got = answers.reduce_token_losses(losses, mask, reduction, max_length=5)
        expect_close(gradient(got, losses), [[weight, 0.0], [0.0, 0.0]], message(
            en="Padding and completions without a valid token must receive gradient 0, not NaN.",
            zh="填充处以及没有有效 Token 的回答，梯度必须为 0，而不是 NaN。"))


def check_reduce_token_losses_leaves_inputs_alone(answers):
    losses, mask = torch.tensor([[4.0, 9.0], [2.0, 3.0]]), torch.tensor([[True, False], [True, True]])
    before = losses.clone(), mask.clone()
    answers.reduce_token_losses(losses, mask)
    expect_unchanged(before, (losses, mask), message(
        en="The caller's token losses or mask were overwritten: work on a copy.",
        zh="调用者的 Token 损失或掩码被改写了：请在副本上操作。"))


def check_reduce_token_losses_keeps_float64(answers):
    losses = torch.tensor([[1e8 + 1.0, -1e8]], dtype=torch.float64)
    got = answers.reduce_token_losses(losses, torch.ones(1, 2, dtype=torch.bool), "sequence_sum")
    expect_close(got, torch.tensor(1.0), message(
        en="float64 losses were rounded to float32, in which 100000001 does not exist.",
        zh="float64 的损失被舍入成了 float32，而在 float32 中没有 100000001 这个数。"))


def check_reduce_token_losses_refuses_bad_input(answers):
    losses, mask = torch.tensor([[4.0, 2.0]]), torch.tensor([[True, True]])
    said = message(
        en="The input check above the TODO must stay: ValueError for an unknown reduction, constant without a max_length of at least 1, "
           "a mask that is not bool, a valid loss that is not finite.",
        zh="TODO 上方的输入检查要保留：归约名称未知、constant 没有给出不小于 1 的 max_length、掩码不是布尔张量、"
           "有效位置的损失不是有限数时抛出 ValueError。")
    expect_close(answers.reduce_token_losses(losses, mask), torch.tensor(3.0), said)
    expect_error(lambda: answers.reduce_token_losses(losses, mask, "mean"), said)
    expect_error(lambda: answers.reduce_token_losses(losses, mask, "constant"), said)
    expect_error(lambda: answers.reduce_token_losses(losses, mask, "constant", max_length=0), said)
    expect_error(lambda: answers.reduce_token_losses(losses, mask.long()), said)
    expect_error(lambda: answers.reduce_token_losses(losses[:, :1], mask), said)
    expect_error(lambda: answers.reduce_token_losses(losses * math.nan, mask), said)


def hidden_reduce_token_losses_random(answers, rng):
    for junk, n, length, max_length, sign, dtype in (
            (-math.inf, rng.integer(3, 8), rng.integer(3, 12), rng.integer(12, 40), 1.0, torch.float32),
            (math.nan, rng.integer(17, 24), 1, rng.integer(2, 6), -1e3, torch.float32),
            (1e6, rng.integer(3, 8), rng.integer(60, 80), rng.integer(1, 20), -1e-3, torch.float32),
            (-1e6, 2, rng.integer(3, 12), rng.integer(1, 2), -1.0, torch.float64)):
        mask = rng.normal(n, length) > 0
        mask[0, 0], mask[rng.integer(1, n - 1)] = True, False  # one completion without a valid token
        for reduction in ("sequence_mean", "token_mean", "sequence_sum", "constant"):
            losses = (sign * (1.0 + rng.normal(n, length).abs()).to(dtype)).masked_fill(~mask, junk).requires_grad_()
            got = answers.reduce_token_losses(losses, mask, reduction, max_length)
            loss, weights = spec.reduce_token_losses(losses, mask, reduction, max_length)
            expect_close(got, loss, message(
                en="Random losses and masks, one completion without a valid token: the reduced loss is wrong.",
                zh="随机的损失与掩码，其中一条回答没有有效 Token：归约后的损失有误。"))
            expect_close(gradient(got, losses), weights, message(
                en="Random losses and masks, one completion without a valid token: the weight of a token is wrong.",
                zh="随机的损失与掩码，其中一条回答没有有效 Token：某个 Token 的权重有误。"))
