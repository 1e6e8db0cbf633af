"""Checks of lesson CAST. Visible ones hold literals and properties; hidden ones compare with spec.py on random inputs.

A TODO's checks stand in the order in which they help: what fails along with something else comes after it.
Every check calls the function once on valid input before anything else, so an untouched skeleton says "TODO n".
"""

import math

import torch

from advantagelab.checking import expect_close, expect_error, expect_unchanged, gradient, message

from . import spec

# TODO 1: cast_base_advantages


def check_cast_base_advantages_all_correct_group(answers):
    got = answers.cast_base_advantages(torch.tensor([1.0, 1.0, 1.0]), torch.tensor([0, 0, 0]), delta_pos=0.25, delta_neg=0.25)
    expect_close(got, torch.tensor([0.25, 0.25, 0.25]), message(
        en="An all-correct group gets +delta_pos on each of its completions: not 0 as in GRPO, not 1, not a share of it, and positive.",
        zh="全对组的每条回答都得到 +delta_pos：不是 GRPO 的 0，不是 1，不是平分，而且为正。"))


def check_cast_base_advantages_all_wrong_group(answers):
    got = answers.cast_base_advantages(torch.tensor([0.0, 0.0, 0.0]), torch.tensor([0, 0, 0]), delta_pos=0.25, delta_neg=0.25)
    expect_close(got, torch.tensor([-0.25, -0.25, -0.25]), message(
        en="An all-wrong group gets minus delta_neg on each of its completions: the base advantage keeps the verifier's sign, and 0 is a "
           "reward like any other.",
        zh="全错组的每条回答都得到负的 delta_neg：基础优势保持验证器给出的符号，而 0 也是奖励，不是缺失。"))


def check_cast_base_advantages_two_deltas(answers):
    got = answers.cast_base_advantages(torch.tensor([1.0, 1.0, 0.0, 0.0]), torch.tensor([0, 0, 1, 1]), delta_pos=0.3, delta_neg=0.7)
    expect_close(got, torch.tensor([0.3, 0.3, -0.7, -0.7]), message(
        en="delta_pos belongs to the all-correct group, delta_neg to the all-wrong one, each group looked at on its own: here they were "
           "exchanged, one was used for both, or the whole batch decided.",
        zh="delta_pos 用于全对组，delta_neg 用于全错组，每个组单独判断：这里两者用反了、只用了其中一个，或由整批决定。"))


def check_cast_base_advantages_default_deltas(answers):
    got = answers.cast_base_advantages(torch.tensor([1.0, 1.0, 0.0, 0.0]), torch.tensor([0, 0, 1, 1]))
    expect_close(got, torch.tensor([0.1, 0.1, -0.1, -0.1]), message(
        en="Unless the caller says otherwise, both deltas are 0.1 in this course: a default was changed.",
        zh="未指定时，本课程的两个 delta 都是 0.1：这里默认值被改动了。"))


def check_cast_base_advantages_mixed_group_is_group_relative(answers):
    got = answers.cast_base_advantages(torch.tensor([1.0, 0.0, 0.0, 0.0]), torch.tensor([0, 0, 0, 0]))
    expect_close(got, torch.tensor([1.732047, -0.577349, -0.577349, -0.577349]), message(  # 0.75 / (sqrt(3/16) + 1e-6)
        en="A mixed group gets group-relative advantages as in the lesson on GRPO: minus the group's mean, divided by its standard "
           "deviation with ddof 0, and nothing added.",
        zh="混合组用 GRPO 一课的组相对优势：减去组均值，再除以 ddof 为 0 的标准差，不另加任何量。"))


def check_cast_base_advantages_deltas_leave_mixed_groups_alone(answers):
    rewards, group_ids = torch.tensor([1.0, 0.0, 0.0]), torch.tensor([0, 0, 0])
    small = answers.cast_base_advantages(rewards, group_ids, delta_pos=0.0, delta_neg=0.0)
    large = answers.cast_base_advantages(rewards, group_ids, delta_pos=5.0, delta_neg=7.0)
    expect_close((small, large), ([1.414211, -0.707105, -0.707105],) * 2, message(
        en="In a mixed group the deltas play no part: neither added, nor a lower bound, nor in place of the advantage.",
        zh="混合组与 delta 无关：不相加，不作下限，也不取代优势。"))


def check_cast_base_advantages_one_success_is_mixed(answers):
    n = 600  # no more: a correct answer may be a loop over pairs of completions
    rewards = torch.zeros(n)
    rewards[n // 2] = 1.0
    got = answers.cast_base_advantages(rewards, torch.zeros(n, dtype=torch.int64))
    expect_close(((got[n // 2] / (n - 1) ** 0.5 - 1).abs() < 0.02, (got[0] < 0) & (got[0] > -0.09)), (torch.tensor(True),) * 2, message(
        en="One success among hundreds makes a mixed group, though its standard deviation is small: a zero-variance group is one "
           "whose rewards are all equal, without a tolerance. Its advantage is about sqrt(n - 1), without a limit.",
        zh="几百条回答中只要有一条正确就是混合组，尽管标准差很小：零方差组是指奖励全部相等，没有容差。"
           "它的优势约为 sqrt(n - 1)，不设上限。"))


def check_cast_base_advantages_one_failure_is_mixed(answers):
    n = 600
    rewards = torch.ones(n)
    rewards[n // 2] = 0.0
    got = answers.cast_base_advantages(rewards, torch.zeros(n, dtype=torch.int64))
    expect_close(((got[n // 2] / (n - 1) ** 0.5 + 1).abs() < 0.02, (got[0] > 0) & (got[0] < 0.09)), (torch.tensor(True),) * 2, message(
        en="One failure among hundreds makes a mixed group as well, and its advantage, about -sqrt(n - 1), has no limit either.",
        zh="几百条回答中只要有一条答错，也是混合组；它的优势约为 -sqrt(n - 1)，同样不设下限。"))


def check_cast_base_advantages_divisor(answers):
    n = 600
    rewards = torch.zeros(n)
    rewards[0] = 1.0
    got = answers.cast_base_advantages(rewards, torch.zeros(n, dtype=torch.int64))
    expect_close(got[0], torch.tensor((1 - 1 / n) / ((1 / n * (1 - 1 / n)) ** 0.5 + 1e-6)), message(
        en="The divisor is the standard deviation plus 1e-6.",
        zh="除数是标准差加 1e-6。"))


def check_cast_base_advantages_groups_may_interleave(answers):
    rewards = torch.tensor([1.0, 0.0, 1.0, 1.0, 0.0, 1.0, 0.0, 0.0])
    group_ids = torch.tensor([42, 7, -5, 42, -5, 42, 7, -5])
    got = answers.cast_base_advantages(rewards, group_ids, delta_pos=0.5, delta_neg=0.25)
    # Group 42 is all correct, 7 all wrong, -5 mixed.
    expect_close(got, torch.tensor([0.5, -0.25, 1.414211, 0.5, -0.707105, 0.5, -0.25, -0.707105]), message(
        en="Each group is judged on its own, whatever its id, its size and its place in the batch: compare ids, do not cut the batch into "
           "blocks and do not stop early.",
        zh="不论编号、大小和在批中的位置，每个组都单独判断：要比较编号，不要把整批切成等长的块，也不要提前结束。"))


def check_cast_base_advantages_groups_write_their_own_places(answers):
    rewards, group_ids = torch.tensor([1.0, 1.0, 0.0, 0.0, 1.0, 0.0, 1.0, 1.0]), torch.tensor([0, 0, 1, 1, 2, 2, 3, 3])
    got = answers.cast_base_advantages(rewards, group_ids)
    expect_close(got, torch.tensor([0.1, 0.1, -0.1, -0.1, 1.0, -1.0, 0.1, 0.1]), message(
        en="A group writes its own places only: here one group's result wiped out another's.",
        zh="每个组只写自己的位置：这里一个组的结果盖掉了另一个组的。"))


def check_cast_base_advantages_ids_may_be_any_integers(answers):
    large = 1000 * 2**40  # float32 cannot tell it from large + 1; modulo 64, 1000 or 2**32 it is 0
    group_ids = torch.tensor([-1, large + 1, large, 1, -1, large + 1, large, 1])
    got = answers.cast_base_advantages(torch.tensor([1.0, 0.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0]), group_ids)
    expect_close(got, torch.tensor([0.1, -0.1, 1.0, 1.0, 0.1, -0.1, -1.0, -1.0]), message(
        en="A group id may be any int64, negative or very large, and is compared as it is: not as float, not without its sign.",
        zh="组编号可以是任意 int64，可以为负，也可以很大，按原样比较：不转成浮点数，也不去掉正负号。"))


def check_cast_base_advantages_missing_is_not_a_wrong_answer(answers):
    rewards = torch.tensor([1.0, math.nan, 1.0, 0.0, math.nan, 0.0, 1.0, math.nan, 0.0])
    got = answers.cast_base_advantages(rewards, torch.tensor([0, 0, 0, 1, 1, 1, 2, 2, 2]))
    expect_close(got[[0, 2, 3, 5, 6, 8]], torch.tensor([0.1, 0.1, -0.1, -0.1, 1.0, -1.0]), message(
        en="A missing reward has no part in its group: with it left out the first group is all-correct, the second all-wrong, the third "
           "half and half. It is neither a wrong answer nor a reason to give up the group.",
        zh="缺失奖励不参与本组：去掉它之后，第一组是全对组，第二组是全错组，第三组对错各半。它既不算答错，也不是放弃整组的理由。"))


def check_cast_base_advantages_missing_has_no_signal(answers):
    got = answers.cast_base_advantages(torch.tensor([1.0, math.nan, math.nan, 0.0, 1.0, math.nan]), torch.tensor([0, 0, 1, 1, 2, 2]))
    expect_close(got[[1, 2, 5]], torch.zeros(3), message(
        en="A completion without a reward gets base advantage 0: neither its group's delta nor NaN.",
        zh="没有奖励的回答，基础优势为 0：既不是本组的 delta，也不是 NaN。"))


def check_cast_base_advantages_one_completion_is_a_zero_variance_group(answers):
    rewards = torch.tensor([1.0, 0.0, 1.0, math.nan, math.nan, 0.0])
    got = answers.cast_base_advantages(rewards, torch.tensor([0, 1, 2, 2, 3, 3]))
    expect_close(got, torch.tensor([0.1, -0.1, 0.1, 0.0, 0.0, -0.1]), message(
        en="A group with a single scored completion has no variance either: it gets its delta, not 0 and not NaN.",
        zh="只有一条回答有奖励的组同样没有方差：它得到自己的 delta，既不是 0 也不是 NaN。"))


def check_cast_base_advantages_group_without_any_reward(answers):
    rewards = torch.tensor([math.nan, math.nan, 1.0, 1.0, 0.0, 1.0])
    got = answers.cast_base_advantages(rewards, torch.tensor([0, 0, 1, 1, 2, 2]))
    expect_close(got, torch.tensor([0.0, 0.0, 0.1, 0.1, -1.0, 1.0]), message(
        en="A group without any reward gets 0 and is passed over; the groups after it have their advantages all the same.",
        zh="一条奖励都没有的组得到 0，跳过即可；它之后的组照常计算。"))


def check_cast_base_advantages_deltas_have_no_limit(answers):
    rewards, group_ids = torch.tensor([1.0, 1.0, 0.0, 0.0]), torch.tensor([0, 0, 1, 1])
    said = message(
        en="The deltas are used as they are given: 0 stays 0, and a large one is not cut off. The final clip is another function's.",
        zh="delta 按给定的值使用：0 就是 0，大的也不截断。最终裁剪由另一个函数负责。")
    expect_close(answers.cast_base_advantages(rewards, group_ids, delta_pos=3.0, delta_neg=20.0), [3.0, 3.0, -20.0, -20.0], said)
    expect_close(answers.cast_base_advantages(rewards, group_ids, delta_pos=0.0, delta_neg=0.0), [0.0] * 4, said)


def check_cast_base_advantages_takes_integer_rewards(answers):
    got = answers.cast_base_advantages(torch.tensor([1, 1, 0, 0, 1, 0]), torch.tensor([0, 0, 1, 1, 2, 2]), delta_pos=0.5, delta_neg=0.25)
    expect_close(got, torch.tensor([0.5, 0.5, -0.25, -0.25, 1.0, -1.0]), message(
        en="A verifier often gives the integers 0 and 1; a delta of 0.5 must not be rounded to 0 with them.",
        zh="验证器给出的常是整数 0 和 1；0.5 的 delta 不能随之取整为 0。"))


def check_cast_base_advantages_keeps_float64(answers):
    for rewards in ([1.0, 1.0], [1.0, 0.0]):
        got = answers.cast_base_advantages(torch.tensor(rewards, dtype=torch.float64), torch.tensor([0, 0]))
        expect_close(got.dtype == torch.float64, True, message(
            en="float64 rewards give float64 base advantages: here they were rounded to another type.",
            zh="奖励是 float64，基础优势也是 float64：这里被舍入成了别的类型。"))


def check_cast_base_advantages_leaves_rewards_alone(answers):
    rewards, group_ids = torch.tensor([1.0, math.nan, 0.0, 1.0]), torch.tensor([0, 0, 1, 1])
    before = rewards.clone(), group_ids.clone()
    answers.cast_base_advantages(rewards, group_ids)
    expect_unchanged(before, (rewards, group_ids), message(
        en="The caller's rewards or group ids were overwritten: rewards.detach() shares its memory with the original.",
        zh="调用者的奖励或组编号被改写了：rewards.detach() 与原张量共享内存。"))


def check_cast_base_advantages_is_frozen(answers):
    rewards = torch.tensor([1.0, 0.0, 0.0, 1.0, 1.0], requires_grad=True)
    got = answers.cast_base_advantages(rewards, torch.tensor([0, 0, 0, 1, 1]))
    expect_close(gradient(got[::2], rewards), [0.0] * 5, message(
        en="Base advantages are constants of the update: no gradient may flow back into the rewards.",
        zh="基础优势对更新而言是常数：梯度不能流回奖励。"))


def check_cast_base_advantages_refuses_bad_input(answers):
    rewards, group_ids = torch.tensor([1.0, 0.0]), torch.tensor([0, 0])
    said = message(
        en="The input check above the TODO must stay: ValueError for a reward other than 0, 1 and NaN, rewards that are not [N], shapes "
           "that differ, an empty batch, group ids that are not int64, a delta that is negative or not finite.",
        zh="TODO 上方的输入检查要保留：奖励不是 0、1 或 NaN、奖励不是一维、形状不同、输入为空、组编号不是 int64、"
           "delta 为负或不是有限数时抛出 ValueError。")
    expect_close(answers.cast_base_advantages(rewards, group_ids), [1.0, -1.0], said)
    for factor in (0.5, -1.0, 2.0, math.inf):
        expect_error(lambda factor=factor: answers.cast_base_advantages(torch.tensor([1.0]) * factor, group_ids[:1]), said)
    expect_error(lambda: answers.cast_base_advantages(rewards, group_ids[:1]), said)
    expect_error(lambda: answers.cast_base_advantages(rewards[:0], group_ids[:0]), said)
    expect_error(lambda: answers.cast_base_advantages(rewards[None], group_ids[None]), said)
    expect_error(lambda: answers.cast_base_advantages(rewards, torch.tensor([0.0, math.nan])), said)
    for delta in (-0.1, math.inf, math.nan):
        expect_error(lambda delta=delta: answers.cast_base_advantages(rewards, group_ids, delta_pos=delta), said)
        expect_error(lambda delta=delta: answers.cast_base_advantages(rewards, group_ids, delta_neg=delta), said)


def hidden_cast_base_advantages_random(answers, rng):
    for dtype in (torch.float32, torch.float64, torch.float32, torch.float32):
        n = rng.integer(30, 60)
        group_ids = rng.interleaved_groups(n, groups=9)
        # By its id a group is all correct, all wrong, mixed, or without any reward; some rewards are missing anywhere.
        kind = (group_ids // 7) % 4
        rewards = torch.where(kind == 0, 1.0, torch.where(kind == 1, 0.0, (rng.normal(n) > 0).to(dtype)))
        rewards = rewards.masked_fill((kind == 3) | (rng.normal(n) > 1.2), math.nan).to(dtype)
        group_ids = group_ids + rng.integer(-(2**60), 2**60)
        delta_pos, delta_neg = rng.uniform(0.05, 2.0), rng.uniform(0.05, 2.0)
        got = answers.cast_base_advantages(rewards, group_ids, delta_pos, delta_neg)
        expect_close(got, spec.cast_base_advantages(rewards, group_ids, delta_pos, delta_neg), message(
            en="Random groups of every kind, interleaved, some rewards missing, random deltas: a base advantage is wrong.",
            zh="随机的组，各种情况都有，顺序交错，部分奖励缺失，delta 随机：某个基础优势有误。"))


# TODO 2: self_teacher_gap


def check_self_teacher_gap_sign(answers):
    teacher, old = torch.tensor([[-1.0], [-2.0]]), torch.tensor([[-1.5], [-1.0]])
    got = answers.self_teacher_gap(teacher, old, torch.tensor([[True], [True]]))
    expect_close(got.sign(), torch.tensor([[1.0], [-1.0]]), message(
        en="The gap is positive where the self-teacher gives the token a higher probability than the old policy, negative where it gives a "
           "lower one. An exp is never negative, a log-probability alone never positive.",
        zh="自教师给该 Token 的概率比旧策略高，间隙为正；低，间隙为负。取 exp 不会为负，单独一个对数概率不会为正。"))


def check_self_teacher_gap_is_a_difference_of_logs(answers):
    teacher, old = torch.tensor([[-1.0], [-2.0], [-0.25]]), torch.tensor([[-1.5], [-1.0], [-4.25]])
    got = answers.self_teacher_gap(teacher, old, torch.ones(3, 1, dtype=torch.bool))
    expect_close(got, torch.tensor([[0.5], [-1.0], [4.0]]), message(
        en="The gap is the difference itself: no exp (that is the ratio z, in the next TODO), no difference of probabilities, not weighted "
           "by one.",
        zh="间隙就是差本身：不取 exp（那是下一个 TODO 的比率 z），不是概率之差，也不按概率加权。"))


def check_self_teacher_gap_one_for_each_token(answers):
    teacher, old = torch.tensor([[-1.0, -2.0], [-3.0, -0.5]]), torch.tensor([[-1.5, -1.0], [-1.0, -1.5]])
    got = answers.self_teacher_gap(teacher, old, torch.ones(2, 2, dtype=torch.bool))
    expect_close(got, torch.tensor([[0.5, -1.0], [-2.0, 1.0]]), message(
        en="Each token has a gap of its own: no sum or mean over the tokens of a completion, none over the batch, and nothing centered or "
           "scaled.",
        zh="每个 Token 有自己的间隙：不对一条回答的 Token 求和或取平均，也不对整批取平均，不居中，不缩放。"))


def check_self_teacher_gap_zero_after_a_refresh(answers):
    old = torch.tensor([[-0.1, -7.3, -123.456], [-1e-6, -33.3, -0.7]])
    got = answers.self_teacher_gap(old.clone(), old, torch.ones(2, 3, dtype=torch.bool))
    expect_close(got == 0, torch.ones(2, 3, dtype=torch.bool), message(
        en="Just refreshed, the self-teacher is the old policy: every gap is exactly 0, for rounding would flip tokens.",
        zh="刚刷新时自教师就是旧策略：所有间隙都恰好为 0，否则舍入误差就会翻转 Token。"))


def check_self_teacher_gap_teacher_is_frozen(answers):
    for n, length in ((1, 2), (2, 1), (1, 1), (2, 2)):
        for dead_band in (0.0, 0.25):
            teacher = torch.full((n, length), -1.0, requires_grad=True)
            got = answers.self_teacher_gap(teacher, torch.full((n, length), -2.0), torch.ones(n, length, dtype=torch.bool), dead_band)
            expect_close(gradient(got, teacher), torch.zeros(n, length), message(
                en="The self-teacher is a stop-gradient snapshot: its log-probabilities may receive no gradient.",
                zh="自教师是停止梯度的快照：它的对数概率不能得到梯度。"))


def check_self_teacher_gap_old_policy_is_frozen(answers):
    for n, length in ((1, 2), (2, 1), (1, 1), (2, 2)):
        for dead_band in (0.0, 0.25):
            old = torch.full((n, length), -2.0, requires_grad=True)
            got = answers.self_teacher_gap(torch.full((n, length), -1.0), old, torch.ones(n, length, dtype=torch.bool), dead_band)
            expect_close(gradient(got, old), torch.zeros(n, length), message(
                en="The student of the gap is the frozen old policy, not the one being updated: no gradient may flow into its "
                   "log-probabilities.",
                zh="间隙中的学生是冻结的旧策略，不是正在更新的策略：梯度不能流入它的对数概率。"))


def check_self_teacher_gap_leaves_padding_out(answers):
    mask = torch.tensor([[True, False, True], [False, True, False], [False, False, False]]).repeat(7, 1)
    got = answers.self_teacher_gap(torch.full((21, 3), -1.0), torch.full((21, 3), -3.0), mask)
    expect_close(got, torch.where(mask, 2.0, 0.0), message(
        en="The gap is 0 outside the mask, wherever that is, and stays as it is inside; a completion may have no valid token at all.",
        zh="掩码之外间隙为 0，不论位置在哪里，掩码之内保持原值；一条回答也可能没有任何有效 Token。"))


def check_self_teacher_gap_dead_band_has_two_sides(answers):
    teacher, old = torch.tensor([[-4.9, -5.1, -2.0, -8.0]]), torch.full((1, 4), -5.0)
    got = answers.self_teacher_gap(teacher, old, torch.ones(1, 4, dtype=torch.bool), dead_band=0.5)
    expect_close(got != 0, torch.tensor([[False, False, True, True]]), message(
        en="The dead band takes small gaps of either sign to exactly 0, and only the small ones: compare the size of the gap.",
        zh="死区把正负两侧的小间隙都置为恰好 0，而且只动小的：要比较间隙的绝对值。"))


def check_self_teacher_gap_dead_band_is_on_the_gap(answers):
    teacher, old = torch.tensor([[-1.55, -2.55, -1.45, -2.45]]), torch.full((1, 4), -2.0)
    got = answers.self_teacher_gap(teacher, old, torch.ones(1, 4, dtype=torch.bool), dead_band=0.5)
    # exp of these gaps: 1.568, 0.577, 1.733, 0.638
    expect_close(got != 0, torch.tensor([[False, True, True, False]]), message(
        en="The dead band is measured on the gap, not on its exp and not on a share of the log-probability: 0.45 and -0.45 lie within 0.5, "
           "0.55 and -0.55 do not.",
        zh="死区按间隙衡量，不是按间隙的 exp，也不是按对数概率的比例：0.45 与 -0.45 在 0.5 之内，0.55 与 -0.55 不在。"))


def check_self_teacher_gap_dead_band_does_not_shrink(answers):
    teacher, old = torch.tensor([[-1.25, -2.75, -1.0, -6.0]]), torch.full((1, 4), -2.0)
    got = answers.self_teacher_gap(teacher, old, torch.ones(1, 4, dtype=torch.bool), dead_band=0.5)
    expect_close(got, torch.tensor([[0.75, -0.75, 1.0, -4.0]]), message(
        en="A gap beyond the dead band keeps its whole value: the band decides, it is not subtracted.",
        zh="超出死区的间隙保持全部数值：死区只作判断，不从中减去。"))


def check_self_teacher_gap_dead_band_includes_its_edge(answers):
    teacher, old = torch.tensor([[-1.5, -2.5, -1.25, -2.75]]), torch.full((1, 4), -2.0)
    got = answers.self_teacher_gap(teacher, old, torch.ones(1, 4, dtype=torch.bool), dead_band=0.5)
    expect_close(got, torch.tensor([[0.0, 0.0, 0.75, -0.75]]), message(
        en="A gap of exactly the dead band's size is still 0, on either side: the docstring says this size or smaller.",
        zh="大小恰好等于死区宽度的间隙仍是 0，两侧都一样：文档字符串写的是不超过。"))


def check_self_teacher_gap_no_dead_band_by_default(answers):
    old = torch.full((1, 4), -2.0, dtype=torch.float64)
    teacher = old + torch.tensor([[0.04, -1e-3, 1e-6, -1e-9]], dtype=torch.float64)
    got = answers.self_teacher_gap(teacher, old, torch.ones(1, 4, dtype=torch.bool))
    expect_close(got.sign(), torch.tensor([[1.0, -1.0, 1.0, -1.0]]), message(
        en="Without a dead band every gap counts, however small: only exactly 0 is 0, and nothing is rounded.",
        zh="不设死区时，再小的间隙也算数：只有恰好为 0 才是 0，不做舍入。"))


def check_self_teacher_gap_padding_may_be_infinite(answers):
    mask = torch.tensor([[True, False], [False, True]])
    for teacher_junk, old_junk in ((-math.inf, -1.0), (-1.0, -math.inf), (-math.inf, -math.inf), (math.nan, 1e6), (math.inf, math.nan)):
        for dead_band in (0.0, 0.25):
            teacher = torch.full((2, 2), -1.0).masked_fill(~mask, teacher_junk)
            old = torch.full((2, 2), -3.0).masked_fill(~mask, old_junk)
            expect_close(answers.self_teacher_gap(teacher, old, mask, dead_band), torch.tensor([[2.0, 0.0], [0.0, 2.0]]), message(
                en="Padding of -inf or NaN leaked into the gaps: multiplying by the mask does not remove it, since 0 · inf is NaN.",
                zh="填充处的 -inf 或 NaN 混入了间隙：乘以掩码去不掉它，因为 0 · inf 等于 NaN。"))


def check_self_teacher_gap_has_no_limit(answers):
    teacher, old = torch.tensor([[-40.0, -0.01, -1.0]]), torch.tensor([[-0.5, -60.01, -13.0]])
    said = message(
        en="A gap may be large, and so may the dead band: both are used as they are. What bounds a gap's effect is the clip of the weight.",
        zh="间隙可以很大，死区也可以很大：都按原值使用。限制间隙作用的是权重的裁剪。")
    expect_close(answers.self_teacher_gap(teacher, old, torch.ones(1, 3, dtype=torch.bool)), [[-39.5, 60.0, 12.0]], said)
    expect_close(answers.self_teacher_gap(teacher, old, torch.ones(1, 3, dtype=torch.bool), dead_band=20.0), [[-39.5, 60.0, 0.0]], said)


def check_self_teacher_gap_leaves_inputs_alone(answers):
    inputs = torch.tensor([[-1.0, -7.0]]), torch.tensor([[-1.5, -8.0]]), torch.tensor([[True, False]])
    before = tuple(values.clone() for values in inputs)
    for dead_band in (0.0, 0.1):
        answers.self_teacher_gap(*inputs, dead_band)
        expect_unchanged(before, inputs, message(
            en="The caller's log-probabilities or mask were overwritten: detach() makes no copy, so do not write into it.",
            zh="调用者的对数概率或掩码被改写了：detach() 不会复制，不要往里写。"))


def check_self_teacher_gap_keeps_float64(answers):
    teacher, old = torch.tensor([[-1e8]], dtype=torch.float64), torch.tensor([[-1e8 - 0.5]], dtype=torch.float64)
    got = answers.self_teacher_gap(teacher, old, torch.tensor([[True]]))
    expect_close(got, torch.tensor([[0.5]]), message(
        en="float64 log-probabilities were rounded to float32 before the gap was taken.",
        zh="在求间隙之前，float64 的对数概率被舍入成了 float32。"))
    expect_close(got.dtype == torch.float64, True, message(
        en="Gaps of float64 log-probabilities are float64: here the result was rounded.",
        zh="float64 对数概率的间隙也是 float64：这里结果被舍入了。"))


def check_self_teacher_gap_refuses_bad_input(answers):
    logps, mask = torch.tensor([[-1.0, -2.0]]), torch.tensor([[True, True]])
    said = message(
        en="The input check above the TODO must stay: ValueError for a mask that is not bool, shapes that differ, a valid log-probability "
           "that is not finite, a dead band that is negative or not finite.",
        zh="TODO 上方的输入检查要保留：掩码不是布尔张量、形状不同、有效位置的对数概率不是有限数、死区为负或不是有限数时抛出 ValueError。")
    expect_close(answers.self_teacher_gap(logps, logps, mask), [[0.0, 0.0]], said)
    expect_error(lambda: answers.self_teacher_gap(logps, logps, mask.long()), said)
    expect_error(lambda: answers.self_teacher_gap(logps, logps[:, :1], mask), said)
    expect_error(lambda: answers.self_teacher_gap(logps * math.inf, logps, mask), said)
    expect_error(lambda: answers.self_teacher_gap(logps, logps * math.inf, mask), said)
    for dead_band in (-0.1, math.inf, math.nan):
        expect_error(lambda dead_band=dead_band: answers.self_teacher_gap(logps, logps, mask, dead_band), said)


def hidden_self_teacher_gap_random(answers, rng):
    for junk, n, length, dead_band, dtype in (
            (-math.inf, rng.integer(4, 8), rng.integer(3, 12), 0.0, torch.float32), (math.nan, rng.integer(17, 24), 1, 0.3, torch.float32),
            (1e6, rng.integer(2, 4), rng.integer(60, 80), rng.uniform(0.5, 1.0), torch.float32), (-1e6, 1, 8, 0.0, torch.float64)):
        mask = rng.normal(n, length) > -0.5
        mask[0, 0] = True
        old = rng.token_logps(n, length).to(dtype)
        # Never so near the edge of the dead band that rounding would decide.
        sizes = torch.where(rng.normal(n, length) > 0, dead_band + 0.01 + rng.normal(n, length).abs(), 0.9 * dead_band)
        teacher = old + torch.where(rng.normal(n, length) > 0, sizes, -sizes).to(dtype)
        teacher = teacher.masked_fill(~mask, junk).requires_grad_()
        old = old.masked_fill(~mask, rng.normal(1).item()).requires_grad_()
        got = answers.self_teacher_gap(teacher, old, mask, dead_band)
        expect_close(got, spec.self_teacher_gap(teacher, old, mask, dead_band), message(
            en="Random log-probabilities, masks and dead bands: a gap is wrong.",
            zh="随机的对数概率、掩码与死区：某个间隙有误。"))
        expect_close((gradient(got, teacher), gradient(got, old)), (torch.zeros(n, length), torch.zeros(n, length)), message(
            en="Random log-probabilities, masks and dead bands: a gap carries a gradient.",
            zh="随机的对数概率、掩码与死区：某个间隙带有梯度。"))


# TODO 3: asymmetric_weights


def check_asymmetric_weights_one_where_there_is_no_gap(answers):
    got = answers.asymmetric_weights(torch.tensor([1.0, -1.0]), torch.zeros(2, 3))
    expect_close(got, torch.ones(2, 3), message(
        en="Without a gap nothing is reweighted: every token has weight 1, since exp(0) = 1 lies within both pairs of bounds. A weight "
           "has no sign and no base advantage in it.",
        zh="没有间隙就不调整：每个 Token 的权重都是 1，因为 exp(0) = 1 落在两组上下界之内。权重不带符号，也不含基础优势。"))


def check_asymmetric_weights_positive_base(answers):
    got = answers.asymmetric_weights(torch.tensor([1.0, 1.0]), torch.tensor([[0.03], [-0.03]]))
    expect_close(got, torch.tensor([[1.030455], [0.970446]]), message(
        en="Where B > 0 the weight is exp(gap): a teacher-positive token weighs more, a teacher-negative one less. Not 1 + gap, not the "
           "other way round.",
        zh="B > 0 时权重是 exp(gap)：教师正向 Token 更重，教师负向 Token 更轻。不是 1 + gap，也不是反过来。"))


def check_asymmetric_weights_negative_base(answers):
    got = answers.asymmetric_weights(torch.tensor([-1.0, -1.0]), torch.tensor([[0.03], [-0.03]]))
    expect_close(got, torch.tensor([[0.970446], [1.030455]]), message(
        en='Where B < 0 and z is "sign", the default, the gap counts with its sign reversed: a token that the teacher likes takes less of '
           "the blame, one that it dislikes more. exp(gap) alone does the opposite.",
        zh='B < 0 且 z 取默认的 "sign" 时，间隙要变号：自教师看好的 Token 少承担一些惩罚，不看好的多承担一些。只用 exp(gap) 则恰好相反。'))


def check_asymmetric_weights_printed_reading(answers):
    base, gaps = torch.tensor([1.0, 1.0, -1.0, -1.0]), torch.tensor([[0.03], [-0.03], [0.03], [-0.03]])
    got = answers.asymmetric_weights(base, gaps, z="printed")
    expect_close(got, torch.tensor([[1.030455], [0.970446], [1.030455], [0.970446]]), message(
        en='With z="printed" the ratio is exp(gap) whatever the sign of B, as the equation has it: the argument has no effect here, or the '
           "two readings were exchanged.",
        zh='z="printed" 时，不论 B 的符号，比率都是 exp(gap)，与公式一致：这里该参数没有起作用，或两种读法用反了。'))


def check_asymmetric_weights_only_the_sign_of_the_base_counts(answers):
    base = torch.tensor([0.1, 2.645751, 1e-6, 1e-12, -0.1, -0.377964, -30.0, -1e-6, -1e-12])
    got = answers.asymmetric_weights(base, torch.full((9, 1), 0.03))
    expect_close(got, torch.tensor([[1.030455]] * 4 + [[0.970446]] * 5), message(
        en="Of the base advantage only the sign goes into the weight, row by row: a completion with B = 0.1 has the same weights as one "
           "with B = 2.6.",
        zh="基础优势只有符号进入权重，逐行判断：B = 0.1 的回答与 B = 2.6 的回答权重相同。"))


def check_asymmetric_weights_each_token_its_own(answers):
    got = answers.asymmetric_weights(torch.tensor([1.0, -1.0]), torch.tensor([[0.03, 0.0], [0.02, -0.03]]))
    expect_close(got, torch.tensor([[1.030455, 1.0], [0.980199, 1.030455]]), message(
        en="Each token is weighted by its own gap, with the sign of its own completion: by row and by token, no mean over either, and "
           "weights are not made to sum to anything.",
        zh="每个 Token 由自己的间隙决定权重，符号取自它所在的回答：逐行、逐 Token，不取平均，权重也不归一化。"))


def check_asymmetric_weights_bounds_of_each_sign(answers):
    base = torch.tensor([1.0, 1e-6, 1e-12, -1.0, -1e-6, -1e-12])
    got = answers.asymmetric_weights(base, torch.tensor([[0.5, -0.5]] * 6))
    expect_close(got, torch.tensor([[1.05, 0.8]] * 3 + [[0.95, 1.2]] * 3), message(
        en="The ratio is clipped to (0.8, 1.05) where B > 0 and to (0.95, 1.2) where B < 0: which pair applies is decided by the sign of "
           "B, however small B is, and not by the sign of the gap.",
        zh="B > 0 时比率裁剪到 (0.8, 1.05)，B < 0 时裁剪到 (0.95, 1.2)：用哪一组由 B 的符号决定，B 再小也一样，不由间隙的符号决定。"))


def check_asymmetric_weights_truth_table(answers):
    gaps = torch.tensor([[0.5, 0.1, 0.03, 0.0, -0.03, -0.1, -0.5]])
    for z, base, weights in (
            ("sign", 1.0, [1.05, 1.05, 1.030455, 1.0, 0.970446, 0.904837, 0.8]),
            ("sign", -1.0, [0.95, 0.95, 0.970446, 1.0, 1.030455, 1.105171, 1.2]),
            ("printed", 1.0, [1.05, 1.05, 1.030455, 1.0, 0.970446, 0.904837, 0.8]),
            ("printed", -1.0, [1.2, 1.105171, 1.030455, 1.0, 0.970446, 0.95, 0.95])):
        expect_close(answers.asymmetric_weights(torch.tensor([base]), gaps, z=z), torch.tensor([weights]), message(
            en="The lesson's table, both readings of z, seven gaps, both signs of B: a weight differs.",
            zh="本课的表：z 的两种读法，七个间隙，B 的两种符号：某个权重不符。"))


def check_asymmetric_weights_bounds_as_given(answers):
    said = message(
        en="Bounds that are passed count, all four of them: within them the ratio is used as it is, outside it becomes the nearer bound.",
        zh="传入的上下界要起作用，四个都要：范围之内比率保持原值，范围之外取较近的边界。")
    base, gaps = torch.tensor([1.0, -1.0]), torch.tensor([[3.0, -3.0, 0.6, -0.6], [3.0, -3.0, 0.6, -0.6]])
    got = answers.asymmetric_weights(base, gaps, positive_bounds=(0.25, 4.0), negative_bounds=(0.5, 8.0))
    expect_close(got, torch.tensor([[4.0, 0.25, 1.822119, 0.548812], [0.5, 8.0, 0.548812, 1.822119]]), said)
    got = answers.asymmetric_weights(base, torch.tensor([[4.0], [-4.5]]), positive_bounds=(0.01, 100.0), negative_bounds=(0.01, 100.0))
    expect_close(got, torch.tensor([[54.598150], [90.017131]]), said)
    for gap, weight in ((8.0, 2980.957987), (-8.0, 3.354626e-4)):
        got = answers.asymmetric_weights(base, torch.tensor([[gap], [-gap]]), "sign", (1e-4, 1e4), (1e-4, 1e4))
        expect_close(got, torch.tensor([[weight], [weight]]), said)


def check_asymmetric_weights_bounds_need_not_hold_one(answers):
    base, gaps = torch.tensor([1.0, -1.0]), torch.tensor([[0.3, 0.0, -2.0], [0.3, 0.0, -2.0]])
    said = message(
        en="A lower bound may be 1 or more, and both may be equal: the ratio is clipped to what is given, nothing else.",
        zh="下界可以不小于 1，上下界也可以相等：比率只按给定的范围裁剪，别无其他。")
    got = answers.asymmetric_weights(base, gaps, positive_bounds=(1.25, 1.5), negative_bounds=(1.0, 1.0))
    expect_close(got, torch.tensor([[1.349859, 1.25, 1.25], [1.0, 1.0, 1.0]]), said)
    got = answers.asymmetric_weights(base, gaps, z="printed", positive_bounds=(1.0, 1.0), negative_bounds=(1.25, 1.5))
    expect_close(got, torch.tensor([[1.0, 1.0, 1.0], [1.349859, 1.25, 1.25]]), said)


def check_asymmetric_weights_survive_huge_gaps(answers):
    for z in ("sign", "printed"):
        for size in (40.0, 1000.0, 1e30):
            gaps = torch.tensor([[size, -size], [size, -size]])
            got = answers.asymmetric_weights(torch.tensor([1.0, -1.0]), gaps, z=z)
            expect_close(got, torch.tensor([[1.05, 0.8], [0.95, 1.2] if z == "sign" else [1.2, 0.95]]), message(
                en="However large the gap, the weight is one of its bounds: exp overflows to inf, and inf - inf or 0 · inf is NaN.",
                zh="间隙再大，权重也只是上下界之一：exp 会溢出成 inf，而 inf - inf 或 0 · inf 等于 NaN。"))


def check_asymmetric_weights_zero_base(answers):
    got = answers.asymmetric_weights(torch.tensor([0.0]), torch.tensor([[0.1, 0.5, -0.5]]), z="printed")
    said = message(
        en="B = 0 takes the bounds of B < 0, as the else of Algorithm 1 does. It does not matter to the advantage, but must not fail.",
        zh="B = 0 使用 B < 0 的上下界，与算法 1 的 else 分支一致。这不影响优势，但不能出错。")
    expect_close(got, torch.tensor([[1.105171, 1.2, 0.95]]), said)
    got = answers.asymmetric_weights(torch.tensor([0.0]), torch.tensor([[0.1, 0.5, -0.5]]))
    expect_close((got > 0.949) & (got < 1.201), torch.ones(1, 3, dtype=torch.bool), said)


def check_asymmetric_weights_are_frozen(answers):
    for n, length in ((2, 2), (1, 1), (1, 3), (3, 1)):
        for bounds in ({}, {"positive_bounds": (0.01, 100.0), "negative_bounds": (0.01, 100.0)}):
            for z in ("sign", "printed"):
                base = torch.tensor([1.0, -1.0, 0.5][:n], requires_grad=True)
                gaps = torch.full((n, length), 0.02, requires_grad=True)
                got = answers.asymmetric_weights(base, gaps, z, **bounds)
                expect_close((gradient(got, base), gradient(got, gaps)), (torch.zeros(n), torch.zeros(n, length)), message(
                    en="Weights are constants of the update: no gradient may flow back into the gaps or the base advantages, whatever the "
                       "reading, the bounds and the number of completions or tokens.",
                    zh="权重对更新而言是常数：不论读法、上下界、回答数与 Token 数，梯度都不能流回间隙或基础优势。"))


def check_asymmetric_weights_leaves_inputs_alone(answers):
    inputs = torch.tensor([1.0, -1.0]), torch.tensor([[0.5, -0.5], [0.5, -0.5]])
    before = tuple(values.clone() for values in inputs)
    answers.asymmetric_weights(*inputs)
    expect_unchanged(before, inputs, message(
        en="The caller's base advantages or gaps were overwritten, and the flips need them next.",
        zh="调用者的基础优势或间隙被改写了，而接下来的翻转还要用到它们。"))


def check_asymmetric_weights_refuses_bad_input(answers):
    base, gaps = torch.tensor([1.0]), torch.tensor([[0.0, 0.0]])
    said = message(
        en="The input check above the TODO must stay: ValueError for shapes that do not fit, a value that is not finite, an unknown z, "
           "bounds that are exchanged, not positive or not finite, an upper bound below 1.",
        zh="TODO 上方的输入检查要保留：形状不相配、数值不是有限数、z 未知、上下界颠倒、不为正或不是有限数、上界小于 1 时抛出 ValueError。")
    expect_close(answers.asymmetric_weights(base, gaps), [[1.0, 1.0]], said)
    expect_error(lambda: answers.asymmetric_weights(base, gaps[0]), said)
    expect_error(lambda: answers.asymmetric_weights(torch.ones(2), gaps), said)
    expect_error(lambda: answers.asymmetric_weights(base, gaps, z="exp"), said)
    for value in (math.inf, math.nan):
        expect_error(lambda value=value: answers.asymmetric_weights(base * value, gaps), said)
        expect_error(lambda value=value: answers.asymmetric_weights(base, gaps + value), said)
    for bounds in ((1.05, 0.8), (1.2, 1.1), (0.0, 1.1), (0.5, 0.9), (0.9, math.inf)):
        expect_error(lambda bounds=bounds: answers.asymmetric_weights(base, gaps, positive_bounds=bounds), said)
        expect_error(lambda bounds=bounds: answers.asymmetric_weights(base, gaps, negative_bounds=bounds), said)


def hidden_asymmetric_weights_random(answers, rng):
    for z, n, length, size, dtype in (("sign", 6, 8, 0.3, torch.float32), ("printed", rng.integer(17, 24), 1, 0.1, torch.float32),
                                      ("sign", 1, rng.integer(60, 80), 1.0, torch.float64), ("printed", 3, 9, 100.0, torch.float32)):
        signs = torch.where(rng.normal(n) > 0, 1.0, -1.0)
        base = (signs * (0.05 + rng.normal(n).abs())).to(dtype)
        gaps = rng.normal(n, length, scale=size).to(dtype)
        drawn = [(rng.uniform(0.3, 0.9), rng.uniform(1.1, 3.0)) for _ in range(2)]
        for positive_bounds, negative_bounds in (((0.8, 1.05), (0.95, 1.2)), drawn):
            got = answers.asymmetric_weights(base, gaps, z, positive_bounds, negative_bounds)
            expect_close(got, spec.asymmetric_weights(base, gaps, z, positive_bounds, negative_bounds), message(
                en="Random base advantages, gaps and bounds: a weight is wrong.",
                zh="随机的基础优势、间隙与上下界：某个权重有误。"))


# TODO 4: cast_token_advantages


def check_cast_token_advantages_one_for_each_token(answers):
    got = answers.cast_token_advantages(torch.tensor([0.5, -0.25]), torch.zeros(2, 3), torch.ones(2, 3))
    expect_close(got, torch.tensor([[0.5, 0.5, 0.5], [-0.25, -0.25, -0.25]]), message(
        en="Without a gap, gap = 0, every token keeps its completion's base advantage, sign and size: nothing is flipped at 0, [N] goes "
           "against [N, T] row by row, and the result has a value for each token.",
        zh="没有间隙（gap = 0）时，每个 Token 保持所在回答的基础优势，符号与大小都不变：等于 0 时不翻转，[N] 与 [N, T] 按行相配，"
           "结果是每个 Token 一个值。"))


def check_cast_token_advantages_kept_tokens_are_weighted(answers):
    gaps, weights = torch.tensor([[0.03, 0.01], [-0.1, -0.02]]), torch.tensor([[1.030455, 1.010050], [1.105171, 1.020201]])
    got = answers.cast_token_advantages(torch.tensor([0.5, -0.5]), gaps, weights, lam=1.0)
    expect_close(got, torch.tensor([[0.515227, 0.505025], [-0.552585, -0.510101]]), message(
        en="Where gap and base advantage agree in sign nothing is flipped: the token gets the base advantage times its own weight, not a "
           "mean and not a neighbor's.",
        zh="间隙与基础优势同号时不翻转：Token 得到基础优势乘以它自己的权重，不取平均，也不用别的 Token 的。"))


def check_cast_token_advantages_uses_the_weights_given(answers):
    said = message(
        en="The weights come from the caller, in whichever reading of z: they are neither computed again nor clipped again here.",
        zh="权重由调用者给出，不论取 z 的哪种读法：这里既不重算，也不再裁剪。")
    got = answers.cast_token_advantages(torch.tensor([0.5, -0.5]), torch.tensor([[0.03], [-0.1]]), torch.tensor([[1.01], [0.95]]), lam=1.0)
    expect_close(got, torch.tensor([[0.505], [-0.475]]), said)
    gaps, weights = torch.tensor([[0.5, 0.5], [-0.5, -0.5]]), torch.tensor([[0.1, 9.0], [0.1, 9.0]])
    got = answers.cast_token_advantages(torch.tensor([0.1, -0.1]), gaps, weights, lam=1.0, limit=20.0)
    expect_close(got, torch.tensor([[0.01, 0.9], [-0.01, -0.9]]), said)


def check_cast_token_advantages_flips_down(answers):
    got = answers.cast_token_advantages(torch.tensor([0.5]), torch.tensor([[-0.03, 0.03]]), torch.tensor([[0.970446, 1.030455]]), lam=1.0)
    expect_close(got, torch.tensor([[-0.515227, 0.515227]]), message(
        en="In a correct completion (B > 0) a teacher-negative token flips down: minus |B| times exp(-gap), a push away that grows with "
           "the gap. Only that token is flipped.",
        zh="在正确的回答中（B > 0），教师负向 Token 向下翻转：负的 |B| 乘以 exp(-gap)，间隙越大压得越重。只翻转这一个 Token。"))


def check_cast_token_advantages_flips_up(answers):
    got = answers.cast_token_advantages(torch.tensor([-0.5]), torch.tensor([[0.03, -0.03]]), torch.tensor([[0.970446, 1.030455]]), lam=1.0)
    expect_close(got, torch.tensor([[0.515227, -0.515227]]), message(
        en="In a wrong completion (B < 0) a teacher-positive token flips up: |B| times exp(gap), a positive number, since it is |B| and "
           "not B. Only that token is flipped.",
        zh="在错误的回答中（B < 0），教师正向 Token 向上翻转：|B| 乘以 exp(gap)，是正数，因为用的是 |B| 而不是 B。只翻转这一个 Token。"))


def check_cast_token_advantages_flips_keep_the_size_of_the_base(answers):
    base, gaps = torch.tensor([0.1, 0.9, -0.1, -0.9]), torch.tensor([[-0.03], [-0.03], [0.03], [0.03]])
    got = answers.cast_token_advantages(base, gaps, torch.full((4, 1), 0.970446), lam=1.0)
    said = message(
        en="A flip changes the sign, not the size: it is |B| that is weighted, 0.1 in a zero-variance group as well as 0.9, and smaller "
           "ones alike.",
        zh="翻转只改变符号，不改变大小：加权的是 |B|，零方差组的 0.1 与 0.9 一样处理，更小的也一样。")
    expect_close(got, torch.tensor([[-0.103045], [-0.927409], [0.103045], [0.927409]]), said)
    for size in (1e-4, 1e-9):
        got = answers.cast_token_advantages(torch.tensor([size, -size]), torch.tensor([[-0.03], [0.03]]), torch.full((2, 1), 0.970446), 1.0)
        expect_close(got, torch.tensor([[-1.030455 * size], [1.030455 * size]]), said)


def check_cast_token_advantages_down_flip_takes_the_negative_bounds(answers):
    got = answers.cast_token_advantages(torch.tensor([0.5]), torch.tensor([[-0.1, -0.5]]), torch.tensor([[0.904837, 0.8]]), lam=1.0)
    expect_close(got, torch.tensor([[-0.552585, -0.6]]), message(
        en="A token flipped down is treated as in a wrong completion: exp(-gap) is clipped with the negative bounds, up to 1.2, and not "
           "with the positive ones, up to 1.05. Without a bound it would be 1.65.",
        zh="向下翻转的 Token 按错误回答处理：exp(-gap) 用负侧上下界裁剪，上限 1.2，而不是正侧的 1.05。不设上限就成了 1.65。"))


def check_cast_token_advantages_up_flip_takes_the_positive_bounds(answers):
    got = answers.cast_token_advantages(torch.tensor([-0.5]), torch.tensor([[0.1, 0.5]]), torch.tensor([[0.95, 0.95]]), lam=1.0)
    expect_close(got, torch.tensor([[0.525, 0.525]]), message(
        en="A token flipped up is treated as in a correct completion: exp(gap) is clipped with the positive bounds, up to 1.05, and not "
           "with the negative ones, up to 1.2.",
        zh="向上翻转的 Token 按正确回答处理：exp(gap) 用正侧上下界裁剪，上限 1.05，而不是负侧的 1.2。"))


def check_cast_token_advantages_lam_on_kept_tokens(answers):
    base, gaps, weights = torch.tensor([0.5, -0.5]), torch.tensor([[0.03], [-0.1]]), torch.tensor([[1.04], [1.2]])
    for lam, expected in ((0.5, [[0.51], [-0.55]]), (0.25, [[0.505], [-0.525]]), (0.0, [[0.5], [-0.5]])):
        got = answers.cast_token_advantages(base, gaps, weights, lam=lam)
        expect_close(got, torch.tensor(expected), message(
            en="lam says how far a weight counts: the factor is 1 + lam * (weight - 1), so 0 leaves the base advantage and 1 takes the "
               "whole weight. Not lam * weight, not lam twice.",
            zh="lam 决定权重起多大作用：因子是 1 + lam * (weight - 1)，0 保留基础优势，1 取全部权重。"
               "不是 lam * weight，也不能乘两次 lam。"))


def check_cast_token_advantages_lam_on_flipped_tokens(answers):
    base, gaps, weights = torch.tensor([0.5, -0.5]), torch.tensor([[-0.1], [0.03]]), torch.tensor([[0.904837], [0.970446]])
    for lam, expected in ((0.5, [[-0.526293], [0.507614]]), (0.25, [[-0.513146], [0.503807]]), (0.0, [[-0.5], [0.5]])):
        got = answers.cast_token_advantages(base, gaps, weights, lam=lam)
        expect_close(got, torch.tensor(expected), message(
            en="lam counts in both flips as it does in kept tokens, 1 + lam * (weight - 1) with the flip's own weight. With lam 0 a token "
               "still flips, at full |B|.",
            zh="两种翻转与保留的 Token 一样按 lam 计：1 + lam * (weight - 1)，其中用翻转自己的权重。lam 为 0 时照样翻转，大小是整个 |B|。"))


def check_cast_token_advantages_default_lam(answers):
    got = answers.cast_token_advantages(torch.tensor([0.5, 0.5, -0.5]), torch.tensor([[0.1], [-0.1], [0.1]]),
                                        torch.tensor([[1.05], [0.904837], [0.95]]))
    expect_close(got, torch.tensor([[0.525], [-0.552585], [0.525]]), message(
        en="Unless the caller says otherwise lam is 1, and weights count in full: the default was changed.",
        zh="未指定时 lam 为 1，权重全部起作用：这里默认值被改动了。"))


def check_cast_token_advantages_flip_switches(answers):
    base, gaps = torch.tensor([0.5, -0.5]), torch.tensor([[-0.1], [0.03]])
    weights = torch.tensor([[0.9], [0.97]])
    for flip_down, flip_up, expected in ((False, True, [[0.45], [0.515227]]), (True, False, [[-0.552585], [-0.485]]),
                                         (False, False, [[0.45], [-0.485]]), (True, True, [[-0.552585], [0.515227]])):
        got = answers.cast_token_advantages(base, gaps, weights, flip_down=flip_down, flip_up=flip_up)
        expect_close(got, torch.tensor(expected), message(
            en="flip_down and flip_up switch one flip each; with its flip off, a token keeps its sign and its weight. Here a switch has no "
               "effect, the two were exchanged, or the token became 0.",
            zh="flip_down 与 flip_up 各管一种翻转；关掉之后，Token 保留符号与权重。这里开关不起作用、两者用反了，或 Token 变成了 0。"))


def check_cast_token_advantages_flip_bounds_as_given(answers):
    said = message(
        en="Bounds that are passed count in the flips too: within them the flip's weight is exp of the gap's size, beyond them the upper "
           "bound.",
        zh="传入的上下界在翻转中同样起作用：范围之内翻转的权重是间隙大小的 exp，超出则取上界。")
    base, gaps = torch.tensor([0.5, -0.5]), torch.tensor([[-0.4, -3.0], [0.6, 3.0]])
    got = answers.cast_token_advantages(base, gaps, torch.ones(2, 2), positive_bounds=(0.5, 2.0), negative_bounds=(0.25, 1.75))
    expect_close(got, torch.tensor([[-0.745912, -0.875], [0.911059, 1.0]]), said)
    base, gaps = torch.tensor([0.01, -0.01]), torch.tensor([[-4.0], [4.5]])
    got = answers.cast_token_advantages(base, gaps, torch.ones(2, 1), positive_bounds=(0.5, 100.0), negative_bounds=(0.5, 100.0))
    expect_close(got, torch.tensor([[-0.545982], [0.900171]]), said)


def check_cast_token_advantages_flip_lower_bound(answers):
    base, gaps = torch.tensor([0.5, -0.5]), torch.tensor([[-0.05, -0.5], [0.05, 0.5]])
    got = answers.cast_token_advantages(base, gaps, torch.ones(2, 2), positive_bounds=(1.25, 2.0), negative_bounds=(1.5, 2.0))
    expect_close(got, torch.tensor([[-0.75, -0.824361], [0.625, 0.824361]]), message(
        en="A flip's weight is at least the lower bound where that is above 1: clip to max(1, low) and high, not to 1 and high.",
        zh="下界大于 1 时，翻转的权重不小于下界：裁剪到 max(1, low) 与 high 之间，而不是 1 与 high 之间。"))


def check_cast_token_advantages_final_clip(answers):
    base, gaps = torch.tensor([2.645751, -2.645751]), torch.tensor([[0.1, -0.1, 0.0], [-0.1, 0.1, 0.0]])
    got = answers.cast_token_advantages(base, gaps, torch.ones(2, 3))
    expect_close(got, torch.tensor([[1.2, -1.2, 1.2], [-1.2, 1.2, -1.2]]), message(
        en="Last of all, the token advantage is clipped to [-1.2, 1.2], kept and flipped tokens alike, on both sides. Clipped before the "
           "flip, the flip's weight would lift it above 1.2 again.",
        zh="最后把 Token 优势裁剪到 [-1.2, 1.2]，保留的与翻转的都一样，上下两侧都裁。若在翻转之前裁剪，翻转的权重又会把它抬到 1.2 以上。"))


def check_cast_token_advantages_final_clip_comes_last(answers):
    base, gaps = torch.tensor([1.25, -1.25, 1.15, 1.25]), torch.tensor([[-0.1], [0.1], [0.02], [0.1]])
    weights = torch.tensor([[0.9], [0.95], [1.02], [1.05]])
    for lam, expected in ((1.0, [[-1.2], [1.2], [1.173], [1.2]]), (0.5, [[-1.2], [1.2], [1.1615], [1.2]])):
        got = answers.cast_token_advantages(base, gaps, weights, lam=lam)
        expect_close(got, torch.tensor(expected), message(
            en="The clip is the last step and knows nothing of lam or the weights: what is inside the limit is left as it is, what is "
               "outside becomes the limit itself.",
            zh="裁剪是最后一步，与 lam 和权重都无关：范围之内保持原样，范围之外就取 limit 本身。"))


def check_cast_token_advantages_limit_as_given(answers):
    base, gaps, weights = torch.tensor([0.9, -0.9, 30.0]), torch.tensor([[0.0, -0.1], [0.0, 0.1], [0.0, 0.1]]), torch.ones(3, 2)
    for limit, expected in ((0.5, [[0.5, -0.5], [-0.5, 0.5], [0.5, 0.5]]), (2.0, [[0.9, -0.994654], [-0.9, 0.945], [2.0, 2.0]]),
                            (0.01, [[0.01, -0.01], [-0.01, 0.01], [0.01, 0.01]]), (20.0, [[0.9, -0.994654], [-0.9, 0.945], [20.0, 20.0]]),
                            (math.inf, [[0.9, -0.994654], [-0.9, 0.945], [30.0, 30.0]])):
        got = answers.cast_token_advantages(base, gaps, weights, limit=limit)
        expect_close(got, torch.tensor(expected), message(
            en="limit counts as it is given, on both sides, smaller or larger than 1.2; math.inf switches the clip off.",
            zh="limit 按给定的值使用，两侧都裁，可以小于也可以大于 1.2；math.inf 表示不裁剪。"))


def check_cast_token_advantages_survive_huge_gaps(answers):
    for size in (40.0, 1000.0, 1e30):
        gaps = torch.tensor([[size, -size], [size, -size]])
        got = answers.cast_token_advantages(torch.tensor([0.5, -0.5]), gaps, torch.ones(2, 2))
        expect_close(got, torch.tensor([[0.5, -0.6], [0.525, -0.5]]), message(
            en="However large the gap, a flip's weight is its upper bound: exp overflows to inf, and inf - inf or 0 · inf is NaN.",
            zh="间隙再大，翻转的权重也只是上界：exp 会溢出成 inf，而 inf - inf 或 0 · inf 等于 NaN。"))


def check_cast_token_advantages_zero_base(answers):
    gaps = torch.tensor([[0.5, -0.5, 0.0, 1000.0, -1000.0], [0.5, -0.5, 0.0, 1000.0, -1000.0]])
    got = answers.cast_token_advantages(torch.tensor([0.0, 1.0]), gaps, torch.ones(2, 5))
    expect_close(got, torch.tensor([[0.0] * 5, [1.0, -1.2, 1.0, 1.0, -1.2]]), message(
        en="A completion with B = 0, for one without a reward, teaches nothing: every token gets 0, whatever its gap, and never NaN from "
           "0 · inf.",
        zh="B = 0 的回答（例如没有奖励的）不提供信号：不论间隙如何，每个 Token 都是 0，更不能因 0 · inf 变成 NaN。"))


def check_cast_token_advantages_any_gap_flips(answers):
    base = torch.tensor([0.5, -0.5, 0.5, -0.5], dtype=torch.float64)
    for size in (1e-3, 1e-9, 1e-30):
        gaps = torch.tensor([[-size], [size], [size], [-size]], dtype=torch.float64)
        got = answers.cast_token_advantages(base, gaps, torch.ones(4, 1, dtype=torch.float64))
        expect_close(got.sign(), torch.tensor([[-1.0], [1.0], [1.0], [-1.0]]), message(
            en="Any gap but 0 decides the sign, however small: the rule is discontinuous at 0. Leaving small gaps out is the dead band's "
               "work, in another function.",
            zh="除了 0，再小的间隙也决定符号：该规则在 0 处不连续。忽略小间隙是死区的事，由另一个函数负责。"))


def check_cast_token_advantages_truth_table(answers):
    gaps = torch.tensor([[0.5, 0.1, 0.03, 0.0, -0.03, -0.1, -0.5]])
    correct = [1.05, 1.05, 1.030455, 1.0, 0.970446, 0.904837, 0.8]  # weights where B > 0, in either reading of z
    wrong = [0.95, 0.95, 0.970446, 1.0, 1.030455, 1.105171, 1.2]  # B < 0, z = "sign"
    printed = [1.2, 1.105171, 1.030455, 1.0, 0.970446, 0.95, 0.95]  # B < 0, z = "printed"
    for lam, base, weights, expected in (
            (1.0, 1.0, correct, [1.05, 1.05, 1.030455, 1.0, -1.030455, -1.105171, -1.2]),
            (1.0, -1.0, wrong, [1.05, 1.05, 1.030455, -1.0, -1.030455, -1.105171, -1.2]),
            (1.0, -1.0, printed, [1.05, 1.05, 1.030455, -1.0, -0.970446, -0.95, -0.95]),
            (1.0, 0.1, correct, [0.105, 0.105, 0.103045, 0.1, -0.103045, -0.110517, -0.12]),
            (1.0, -0.1, printed, [0.105, 0.105, 0.103045, -0.1, -0.097045, -0.095, -0.095]),
            (1.0, 2.645751, correct, [1.2, 1.2, 1.2, 1.2, -1.2, -1.2, -1.2]),
            (1.0, -0.377964, wrong, [0.396863, 0.396863, 0.389475, -0.377964, -0.389475, -0.417715, -0.453557]),
            (0.5, 1.0, correct, [1.025, 1.025, 1.015227, 1.0, -1.015227, -1.052585, -1.1]),
            (0.5, -1.0, wrong, [1.025, 1.025, 1.015227, -1.0, -1.015227, -1.052585, -1.1]),
            (0.5, -1.0, printed, [1.025, 1.025, 1.015227, -1.0, -0.985223, -0.975, -0.975])):
        got = answers.cast_token_advantages(torch.tensor([base]), gaps, torch.tensor([weights]), lam)
        expect_close(got, torch.tensor([expected]), message(
            en="The lesson's table, ten base advantages with seven gaps each, lam 1 and 0.5: a token advantage differs.",
            zh="本课的表：十个基础优势，各配七个间隙，lam 为 1 与 0.5：某个 Token 优势不符。"))


def check_cast_token_advantages_are_frozen(answers):
    for n, length in ((2, 2), (1, 1), (1, 3), (3, 1)):
        for options in ({}, {"limit": math.inf}, {"lam": 0.0}, {"lam": 0.5}, {"flip_down": False}, {"flip_up": False},
                        {"lam": 0.0, "flip_down": False}, {"lam": 0.0, "flip_up": False}):
            base, weights = torch.tensor([0.5, -0.5, 0.3][:n], requires_grad=True), torch.ones(n, length, requires_grad=True)
            gaps = torch.tensor([-0.03, 0.02, 0.03, -0.02])[:n * length].reshape(n, length).requires_grad_()
            got = answers.cast_token_advantages(base, gaps, weights, **options)
            said = message(
                en="Token advantages are constants of the update: no gradient may flow back into base advantages, gaps or weights, "
                   "whatever the options and the number of completions or tokens.",
                zh="Token 优势对更新而言是常数：不论各选项、回答数与 Token 数，梯度都不能流回基础优势、间隙或权重。")
            expect_close((gradient(got, base), gradient(got, gaps)), (torch.zeros(n), torch.zeros(n, length)), said)
            expect_close(gradient(got, weights), torch.zeros(n, length), said)


def check_cast_token_advantages_without_flips(answers):
    for lam, limit, expected in ((1.0, 1.2, [[1.2], [-0.4]]), (0.5, 1.2, [[1.2], [-0.45]]), (0.5, 3.0, [[1.9], [-0.45]])):
        base = torch.tensor([2.0, -0.5], requires_grad=True)
        gaps, weights = torch.tensor([[-0.1], [0.03]]), torch.tensor([[0.9], [0.8]], requires_grad=True)
        got = answers.cast_token_advantages(base, gaps, weights, lam, flip_down=False, flip_up=False, limit=limit)
        expect_close((got, gradient(got, base), gradient(got, weights)), (expected, [0.0, 0.0], [[0.0], [0.0]]), message(
            en="With both flips off, lam, the limit and the detach still apply.",
            zh="两种翻转都关掉时，lam、limit 与停止梯度仍然有效。"))


def check_cast_token_advantages_leaves_inputs_alone(answers):
    inputs = torch.tensor([2.0, -2.0]), torch.tensor([[0.5, -0.5], [0.5, -0.5]]), torch.tensor([[1.05, 0.8], [0.95, 1.2]])
    before = tuple(values.clone() for values in inputs)
    answers.cast_token_advantages(*inputs)
    expect_unchanged(before, inputs, message(
        en="The caller's base advantages, gaps or weights were overwritten: fill a new tensor.",
        zh="调用者的基础优势、间隙或权重被改写了：请写入新的张量。"))


def check_cast_token_advantages_refuses_bad_input(answers):
    base, gaps, weights = torch.tensor([0.5]), torch.tensor([[0.0, 0.0]]), torch.tensor([[1.0, 1.0]])
    said = message(
        en="The input check above the TODO must stay: ValueError for shapes that do not fit, a value that is not finite, lam outside [0, "
           "1], bad bounds, a limit that is not positive, a flip that is neither True nor False.",
        zh="TODO 上方的输入检查要保留：形状不相配、数值不是有限数、lam 不在 [0, 1] 内、上下界不合要求、limit 不为正、"
           "翻转开关不是 True 或 False 时抛出 ValueError。")
    expect_close(answers.cast_token_advantages(base, gaps, weights), [[0.5, 0.5]], said)
    expect_error(lambda: answers.cast_token_advantages(base, gaps[0], weights[0]), said)
    expect_error(lambda: answers.cast_token_advantages(base, gaps, weights[:, :1]), said)
    for value in (math.nan, math.inf):
        expect_error(lambda value=value: answers.cast_token_advantages(base * value, gaps, weights), said)
        expect_error(lambda value=value: answers.cast_token_advantages(base, gaps + value, weights), said)
        expect_error(lambda value=value: answers.cast_token_advantages(base, gaps, weights * value), said)
    for lam in (1.5, -0.5, math.nan):
        expect_error(lambda lam=lam: answers.cast_token_advantages(base, gaps, weights, lam), said)
    for limit in (0.0, -1.0, math.nan):
        expect_error(lambda limit=limit: answers.cast_token_advantages(base, gaps, weights, limit=limit), said)
    expect_error(lambda: answers.cast_token_advantages(base, gaps, weights, positive_bounds=(1.05, 0.8)), said)
    expect_error(lambda: answers.cast_token_advantages(base, gaps, weights, negative_bounds=(1.2, 0.95)), said)
    expect_error(lambda: answers.cast_token_advantages(base, gaps, weights, flip_down=1), said)
    expect_error(lambda: answers.cast_token_advantages(base, gaps, weights, flip_up=None), said)


def hidden_cast_token_advantages_random(answers, rng):
    for n, length, size, dtype in ((6, 8, 0.3, torch.float32), (rng.integer(17, 24), 1, 0.1, torch.float32),
                                   (1, rng.integer(60, 80), 1.0, torch.float64), (3, 9, 100.0, torch.float32)):
        base = torch.where(rng.normal(n) > -1.2, 1.0, 0.0) * (torch.where(rng.normal(n) > 0, 1.0, -1.0) * (0.05 + rng.normal(n).abs()))
        gaps = torch.where(rng.normal(n, length) > -1.0, rng.normal(n, length, scale=size), 0.0)
        weights = 0.5 + rng.normal(n, length).abs()
        base, gaps, weights = base.to(dtype), gaps.to(dtype), weights.to(dtype)
        for lam, limit in ((1.0, 1.2), (rng.uniform(0.1, 0.9), rng.uniform(0.3, 3.0))):
            for flip_down, flip_up in ((True, True), (False, True), (True, False), (False, False)):
                positive_bounds = rng.uniform(0.3, 1.1), rng.uniform(1.2, 3.0)
                negative_bounds = rng.uniform(0.3, 1.1), rng.uniform(1.2, 3.0)
                arguments = base, gaps, weights, lam, positive_bounds, negative_bounds, flip_down, flip_up, limit
                expect_close(answers.cast_token_advantages(*arguments), spec.cast_token_advantages(*arguments), message(
                    en="Random base advantages, gaps, weights, bounds, lam, limit and switches: a token advantage is wrong.",
                    zh="随机的基础优势、间隙、权重、上下界、lam、limit 与开关：某个 Token 优势有误。"))


def hidden_cast_token_advantages_sign_is_the_gaps(answers, rng):
    n, length = rng.integer(4, 8), rng.integer(8, 20)
    base = torch.where(rng.normal(n) > 0, 1.0, -1.0) * (0.05 + rng.normal(n).abs())
    gaps = rng.normal(n, length, scale=0.2)
    got = answers.cast_token_advantages(base, gaps, torch.ones(n, length))
    expect_close(got.sign(), gaps.sign(), message(
        en="With both flips on, the sign of a token's advantage is the sign of its gap, in correct and wrong completions alike.",
        zh="两种翻转都打开时，Token 优势的符号就是间隙的符号，正确的回答与错误的回答都一样。"))


# TODO 5: cast_loss


def check_cast_loss_one_number(answers):
    logps = torch.full((2, 3), -1.0)
    got = answers.cast_loss(logps, logps.clone(), torch.ones(2, 3), torch.ones(2, 3, dtype=torch.bool))
    expect_close(got != got, torch.tensor(False), message(
        en="The result is one number for the whole batch, a tensor without dimensions: not one for each token or completion.",
        zh="结果是整批一个数，即零维张量：不是每个 Token 或每条回答一个。"))


def check_cast_loss_minus_the_advantage_at_ratio_one(answers):
    logps = torch.tensor([[-2.0, -3.0]])
    got = answers.cast_loss(logps, logps.clone(), torch.tensor([[1.05, 1.05]]), torch.ones(1, 2, dtype=torch.bool))
    expect_close(got, torch.tensor(-1.05), message(
        en="Where old and new policy agree each ratio is 1, and the loss is minus the advantage: minimizing it raises the surrogate "
           "objective.",
        zh="新旧策略一致时每个比率为 1，损失等于优势的相反数：最小化它就是提高代理目标。"))


def check_cast_loss_token_mean_by_default(answers):
    advantages = torch.tensor([[1.05, -1.2, 0.0, 0.0], [-1.2, 1.05, -1.0, -1.0]])
    mask = torch.tensor([[True, True, False, False], [True, True, True, True]])
    logps = torch.full((2, 4), -1.0)
    got = answers.cast_loss(logps, logps.clone(), advantages, mask)
    expect_close(got, torch.tensor(0.383333), message(  # 2.3 / 6
        en="token_mean is CAST's default here: the sum over all valid tokens divided by their number, so that each token weighs the same. "
           "The mean of the two completions' means would be 0.30625.",
        zh="这里 CAST 默认用 token_mean（Token 平均）：全部有效 Token 的损失之和除以其个数，每个 Token 权重相同。"
           "若先对两条回答分别取平均再平均，则是 0.30625。"))


def check_cast_loss_reductions(answers):
    advantages = torch.tensor([[1.05, -1.2, 0.0, 0.0], [-1.2, 1.05, -1.0, -1.0]])
    mask = torch.tensor([[True, True, False, False], [True, True, True, True]])
    logps = torch.full((2, 4), -1.0)
    got = [float(answers.cast_loss(logps, logps.clone(), advantages, mask, reduction=reduction))
           for reduction in ("token_mean", "sequence_mean", "sequence_sum")]
    expect_close(got, [0.383333, 0.30625, 1.15], message(
        en="reduction is passed on: token_mean, sequence_mean and sequence_sum differ on completions of unequal length.",
        zh="reduction 要传下去：回答长度不等时，token_mean、sequence_mean 与 sequence_sum 的结果各不相同。"))


def check_cast_loss_ratio_of_each_token(answers):
    old = torch.tensor([[-1.0, -2.0, -0.5]])
    got = answers.cast_loss(old + torch.tensor([[0.1, -0.1, 0.15]]), old, torch.ones(1, 3), torch.ones(1, 3, dtype=torch.bool))
    expect_close(got, torch.tensor(-1.057281), message(  # 1.105171, 0.904837, 1.161834
        en="The ratio is exp(new - old) of the one token: not old over new, not without exp, not the sequence ratio.",
        zh="比率是单个 Token 的 exp(new - old)：不是旧比新，不能省去 exp，也不是序列比率。"))


def check_cast_loss_gradient_reaches_new_logps(answers):
    for n, length in ((2, 1), (1, 2), (1, 1), (2, 2)):
        new = torch.full((n, length), -2.0, requires_grad=True)
        got = answers.cast_loss(new, new.detach().clone(), torch.full((n, length), 1.1), torch.ones(n, length, dtype=torch.bool))
        expect_close(gradient(got, new), torch.full((n, length), -1.1 / (n * length)), message(
            en="At ratio 1 the gradient with respect to new_token_logps is minus the advantage over the number of tokens: here it was cut "
               "off, and nothing would be learned.",
            zh="比率为 1 时，损失对 new_token_logps 的梯度等于优势的相反数除以 Token 数：这里梯度被切断了，策略学不到任何东西。"))


def check_cast_loss_advantage_of_each_token(answers):
    logps, mask = torch.full((2, 2), -1.0, requires_grad=True), torch.ones(2, 2, dtype=torch.bool)
    got = answers.cast_loss(logps, logps.detach().clone(), torch.tensor([[1.0, -0.5], [0.25, 5.0]]), mask)
    expect_close(gradient(got, logps), [[-0.25, 0.125], [-0.0625, -1.25]], message(
        en="Each token is pushed by its own advantage, with its sign and size: not by its completion's mean, not normalized and not "
           "clipped once more.",
        zh="每个 Token 由自己的优势推动，符号与大小都保留：不取所在回答的平均，不再归一化，也不再裁剪一次。"))


def check_cast_loss_zero_advantage_counts(answers):
    logps, mask = torch.full((2, 2), -1.0), torch.ones(2, 2, dtype=torch.bool)
    for reduction, loss in (("token_mean", -0.25), ("sequence_mean", -0.25), ("sequence_sum", -0.5)):
        new = logps.clone().requires_grad_()
        got = answers.cast_loss(new, logps, torch.tensor([[1.0, 0.0], [0.0, 0.0]]), mask, reduction=reduction)
        slopes = gradient(got, new)
        expect_close((got.isnan(), slopes.isnan().any()), (torch.tensor(False), torch.tensor(False)), message(
            en="A token with advantage 0 has loss 0: its sign as A / |A| is 0/0, and the NaN spreads to the whole loss.",
            zh="优势为 0 的 Token 损失为 0：若用 A / |A| 求符号，就是 0/0，得到的 NaN 会传到整个损失。"))
        expect_close((got, slopes), (loss, [[loss, 0.0], [0.0, 0.0]]), message(
            en="A token with advantage 0 adds nothing to the sum but is still one of the tokens: leaving it out of the divisor makes the "
               "others count more.",
            zh="优势为 0 的 Token 对总和没有贡献，但仍是一个 Token：把它从除数中去掉，其余 Token 的权重就变大了。"))


def check_cast_loss_equal_advantages_give_grpo(answers):
    old = torch.tensor([[-1.0, -2.0, -0.5], [-1.5, -1.0, -3.0]])
    new = (old + torch.tensor([[0.1, -0.2, 0.15], [0.15, -0.1, 0.0]])).requires_grad_()
    mask = torch.tensor([[True, True, True], [True, True, False]])
    got = answers.cast_loss(new, old, torch.tensor([[1.0] * 3, [-0.5] * 3]), mask, reduction="sequence_mean")
    # GRPO of advantages (1, -0.5): (-(1.105171 + 0.818731 + 1.161834) / 3 + 0.5 * (1.161834 + 0.904837) / 2) / 2
    expect_close((got, gradient(got, new)), (-0.255956, [[-0.184195, -0.136455, -0.193639], [0.145229, 0.113105, 0.0]]), message(
        en="With one advantage on all tokens of a completion, and GRPO's reduction, CAST's loss is GRPO's: no KL or other term is added to "
           "good or bad tokens, and none is left out.",
        zh="一条回答的全部 Token 取同一优势，归约也取 GRPO 的，这时 CAST 的损失就是 GRPO 的损失：不论好坏 Token，都不另加 KL 等项，"
           "也不少一项。"))


def check_cast_loss_flipped_token_stops_at_the_lower_bound(answers):
    old = torch.full((1, 3), -1.0)
    new = (old + torch.tensor([[0.3, 1.0, 1.0]]).log()).requires_grad_()
    got = answers.cast_loss(new, old, torch.tensor([[-1.2, 1.05, 1.05]]), torch.ones(1, 3, dtype=torch.bool), 0.5, 0.5)
    expect_close(gradient(got, new), [[0.0, -0.35, -0.35]], message(
        en="A token flipped down inside a correct completion has a negative advantage, so the lower bound stops it: at ratio 0.3 its "
           "gradient is 0. The sign of the token decides, not that of its completion.",
        zh="正确回答中向下翻转的 Token 优势为负，由下界来拦：比率为 0.3 时梯度为 0。由 Token 自己的符号决定，而不是所在回答的符号。"))


def check_cast_loss_flipped_token_stops_at_the_upper_bound(answers):
    old = torch.full((1, 3), -1.0)
    new = (old + torch.tensor([[2.5, 1.0, 1.0]]).log()).requires_grad_()
    got = answers.cast_loss(new, old, torch.tensor([[1.05, -1.2, -1.2]]), torch.ones(1, 3, dtype=torch.bool), 0.5, 0.5)
    expect_close(gradient(got, new), [[0.0, 0.4, 0.4]], message(
        en="A token flipped up inside a wrong completion has a positive advantage, so the upper bound stops it: at ratio 2.5 its gradient "
           "is 0. The completion's own sign has no say here.",
        zh="错误回答中向上翻转的 Token 优势为正，由上界来拦：比率为 2.5 时梯度为 0。所在回答的符号在这里不起作用。"))


def check_cast_loss_takes_the_smaller_surrogate(answers):
    old = torch.full((1, 2), -2.0)
    new = (old + torch.tensor([[0.5, 4.0]]).log()).requires_grad_()
    got = answers.cast_loss(new, old, torch.tensor([[1.0, -1.2]]), torch.ones(1, 2, dtype=torch.bool))
    expect_close((got, gradient(got, new)), (2.15, [[-0.25, 2.4]]), message(
        en="A good token that became rarer and a bad one that became likelier still have to learn: the smaller surrogate is the unclipped "
           "one there, without a limit.",
        zh="变少见的好 Token 与变常见的坏 Token 仍需学习：此时较小的代理目标是未裁剪的那个，且没有上限。"))


def check_cast_loss_bounds_as_given(answers):
    old = torch.full((4, 1), -2.0)
    new = old + torch.tensor([[2.0], [0.5], [1.25], [0.85]]).log()
    for low, high, loss in ((0.1, 0.3, -0.1875), (0.3, 0.1, -0.1625)):
        got = answers.cast_loss(new, old, torch.tensor([[1.0], [-1.0], [1.0], [-1.0]]), torch.ones(4, 1, dtype=torch.bool), low, high)
        # J: 1.3, -0.9, 1.25, -0.9 and 1.1, -0.7, 1.1, -0.85
        expect_close(got, torch.tensor(loss), message(
            en="The ratio is held between 1 - epsilon_low and 1 + epsilon_high: each bound its own epsilon, as it was given.",
            zh="比率限制在 1 - epsilon_low 与 1 + epsilon_high 之间：上下界各用各的 epsilon，按给定的取。"))


def check_cast_loss_bounds_wide_and_narrow(answers):
    old = torch.full((1, 1), -2.0)
    for low, high, ratio, advantage, loss in ((0.95, 5.0, 9.0, 1.0, -6.0), (0.95, 5.0, 0.02, -1.0, 0.05),
                                              (0.01, 0.01, 1.04, 1.0, -1.01), (0.01, 0.01, 0.96, -1.0, 0.99)):
        got = answers.cast_loss(old + math.log(ratio), old, torch.tensor([[advantage]]), torch.tensor([[True]]), low, high)
        expect_close(got, torch.tensor(loss), message(
            en="An epsilon may be small or large: neither bound is held within a range of its own.",
            zh="epsilon 可小可大：两侧边界都没有自己的取值范围。"))


def check_cast_loss_default_bounds(answers):
    old = torch.full((4, 1), -2.0)
    new = (old + torch.tensor([[1.5], [1.9], [2.2], [0.75]]).log()).requires_grad_()
    got = answers.cast_loss(new, old, torch.tensor([[1.05], [1.0], [1.0], [-1.0]]), torch.ones(4, 1, dtype=torch.bool))
    # J: 1.575, 1.9, 2.0, -0.8
    expect_close((got, gradient(got, new)), (-1.16875, [[-0.39375], [-0.475], [0.0], [0.0]]), message(
        en="Unless the caller says otherwise, epsilon_low is 0.2 and epsilon_high is 1.0 in CAST: a ratio of 1.5 keeps its gradient. 0.2 "
           "or 0.28 above would stop it.",
        zh="未指定时，CAST 的 epsilon_low 为 0.2，epsilon_high 为 1.0：比率 1.5 仍有梯度。若上侧取 0.2 或 0.28，它就被拦下了。"))


def check_cast_loss_limits_nothing(answers):
    old = torch.full((6, 1), -40.0, dtype=torch.float64)
    new = (old + torch.tensor([[30.0], [12.0], [0.0], [-21.0], [0.0], [0.0]])).requires_grad_()
    advantages = torch.tensor([[-1.0], [-3.0], [-5000.0], [1.0], [5000.0], [1e-4]], dtype=torch.float64)
    for row, loss in ((0, 1.0686475e13), (1, 488264.37), (2, 5000.0), (3, -7.58256e-10), (4, -5000.0), (5, -1e-4)):
        one = slice(row, row + 1)
        got = answers.cast_loss(new[one], old[one], advantages[one], torch.ones(1, 1, dtype=torch.bool))
        expect_close((got, gradient(got, new)[row]), (loss, [loss]), message(
            en="Nothing but the ratio's clip range limits the loss: log-ratios, ratios that the minimum leaves unclipped and advantages "
               "keep their size, however large or small.",
            zh="除了比率的裁剪范围，没有什么限制损失：对数比率、取最小后未裁剪的比率和优势，不论多大多小，一律保持原值。"))


def check_cast_loss_old_and_advantages_are_frozen(answers):
    for n, length in ((1, 4), (4, 1), (2, 2), (1, 1)):
        old = torch.full((n, length), -2.0, requires_grad=True)
        new = old.detach() + torch.tensor([0.1, 1.0, -1.0, -0.1])[:n * length].reshape(n, length)
        advantages = torch.tensor([1.0, 0.5, -1.0, -0.5])[:n * length].reshape(n, length).clone().requires_grad_()
        got = answers.cast_loss(new, old, advantages, torch.ones(n, length, dtype=torch.bool))
        expect_close((gradient(got, old), gradient(got, advantages)), (0.0 * old, 0.0 * advantages), message(
            en="The old policy's log-probabilities and the token advantages are constants of the update: neither may receive a gradient.",
            zh="旧策略的对数概率与 Token 优势对更新而言都是常数：两者都不能得到梯度。"))


def check_cast_loss_leaves_padding_out(answers):
    mask = torch.tensor([[True, False, True], [False, True, False], [False, False, False]])
    old, new = torch.full((3, 3), -2.0), torch.full((3, 3), -1.9)
    advantages = torch.tensor([[1.0, 7.0, 1.0], [7.0, -0.5, 7.0], [7.0, 7.0, 7.0]])
    got = [float(answers.cast_loss(new, old, advantages, mask, reduction=reduction)) for reduction in ("token_mean", "sequence_mean")]
    expect_close(got, [-0.552585, -0.184195], message(  # exp(0.1) * 1.5 / 3 and exp(0.1) * 0.5 / 3
        en="What stands outside the mask adds nothing, neither to the sum nor to the number of tokens, wherever it stands.",
        zh="掩码之外的数值不论在哪里都不计入，既不计入总和，也不计入 Token 数。"))


def check_cast_loss_padding_may_be_infinite(answers):
    mask = torch.tensor([[True, False]])
    for junk in ((-math.inf, -math.inf, 1.0), (-1.0, -math.inf, -1.0), (math.nan, -1.0, math.nan), (1e6, -1.0, math.inf)):
        new, old, advantages = (torch.tensor([[valid, other]]) for valid, other in zip((-1.9, -2.0, 1.0), junk))
        new.requires_grad_()
        got = answers.cast_loss(new, old, advantages, mask)
        expect_close((got, gradient(got, new)), (-1.105171, [[-1.105171, 0.0]]), message(
            en="Padding of -inf or NaN leaked into the loss or its gradient: what was computed before the mask was applied still counts "
               "backward, and 0 · inf is NaN.",
            zh="填充处的 -inf 或 NaN 混入了损失或梯度：套用掩码之前算出的部分在反向传播中仍然起作用，而 0 · inf 等于 NaN。"))


def check_cast_loss_no_valid_token(answers):
    mask = torch.zeros(2, 2, dtype=torch.bool)
    for reduction in ("token_mean", "sequence_mean", "sequence_sum"):
        new = torch.full((2, 2), math.nan, requires_grad=True)
        got = answers.cast_loss(new, new.detach(), new.detach(), mask, reduction=reduction)
        expect_close((got, gradient(got, new)), (0.0, [[0.0, 0.0], [0.0, 0.0]]), message(
            en="A batch without a valid token has loss 0, not 0/0.",
            zh="整批没有有效 Token 时损失为 0，而不是 0/0。"))


def check_cast_loss_leaves_inputs_alone(answers):
    inputs = torch.tensor([[-1.0, -2.0]]), torch.tensor([[-2.0, -1.0]]), torch.tensor([[1.0, -1.0]]), torch.tensor([[True, False]])
    before = tuple(values.clone() for values in inputs)
    answers.cast_loss(*inputs)
    expect_unchanged(before, inputs, message(
        en="The caller's log-probabilities, advantages or mask were overwritten, and the next inner update needs them.",
        zh="调用者的对数概率、优势或掩码被改写了，而下一次内部更新还要用到它们。"))


def check_cast_loss_keeps_float64(answers):
    old = torch.tensor([[-1e8]], dtype=torch.float64)
    got = answers.cast_loss(old + 0.1, old, torch.ones(1, 1, dtype=torch.float64), torch.tensor([[True]]))
    expect_close(got, torch.tensor(-1.105171), message(
        en="float64 log-probabilities were rounded to float32 before their difference was taken.",
        zh="求差之前，float64 的对数概率被舍入成了 float32。"))


def check_cast_loss_refuses_bad_input(answers):
    logps, advantages, mask = torch.tensor([[-1.0, -2.0]]), torch.tensor([[1.0, 0.5]]), torch.tensor([[True, True]])
    said = message(
        en="The input check above the TODO must stay: ValueError for advantages that are not [N, T], a mask that is not bool, a valid "
           "value that is not finite, an unknown reduction, an epsilon out of range.",
        zh="TODO 上方的输入检查要保留：优势不是 [N, T]、掩码不是布尔张量、有效位置的数值不是有限数、归约名称未知、"
           "epsilon 越界时抛出 ValueError。")
    expect_close(answers.cast_loss(logps, logps, advantages, mask), torch.tensor(-0.75), said)
    expect_error(lambda: answers.cast_loss(logps, logps, torch.tensor([1.0]), mask), said)
    expect_error(lambda: answers.cast_loss(logps, logps, advantages, mask.long()), said)
    expect_error(lambda: answers.cast_loss(logps, logps, advantages * math.nan, mask), said)
    expect_error(lambda: answers.cast_loss(logps, logps, advantages, mask, reduction="mean"), said)
    expect_error(lambda: answers.cast_loss(logps, logps, advantages, mask, epsilon_low=1.0), said)
    expect_error(lambda: answers.cast_loss(logps, logps, advantages, mask, epsilon_high=0.0), said)


def hidden_cast_loss_random(answers, rng):
    for junk, n, length, widths, dtype in (
            (-math.inf, 6, 8, (0.1, 0.3, 0.8, 1.2), torch.float32),
            (math.nan, rng.integer(17, 24), 1, (0.35, 0.6, 0.1, 0.3), torch.float32),
            (1e6, 3, rng.integer(60, 80), (0.1, 0.3, 1.2, 1.8), torch.float32),
            (-1e6, 1, 8, (0.1, 0.3, 0.1, 0.3), torch.float64)):
        low, high = rng.uniform(*widths[:2]), rng.uniform(*widths[2:])
        # Below, inside and above the clip range, and never so near a bound that rounding would decide.
        parts = ((0.2, 0.95 - low), (1.05 - low, 1.0), (1.0, 0.95 + high), (1.05 + high, 3.5))
        ratios = torch.tensor([[rng.uniform(*parts[(t + rng.integer(0, 1)) % 4]) for t in range(length)] for _ in range(n)]).to(dtype)
        advantages = torch.where(rng.normal(n, length) > 0, 1.0, -1.0).to(dtype) * (0.1 + rng.normal(n, length).abs())
        mask = rng.normal(n, length) > -0.5
        mask[0, 0] = True
        if n > 1:
            mask[-1] = False  # the last completion has no valid token
        old = rng.token_logps(n, length).to(dtype)
        new = (old + ratios.log()).masked_fill(~mask, junk).requires_grad_()
        old = old.masked_fill(~mask, rng.normal(1).item()).requires_grad_()
        advantages = advantages.masked_fill(~mask, junk).requires_grad_()
        for reduction in ("token_mean", "sequence_mean", "sequence_sum"):
            got = answers.cast_loss(new, old, advantages, mask, low, high, reduction)
            loss, slopes = spec.cast_loss(new, old, advantages, mask, low, high, reduction)
            # The advantages may cancel: what is left is compared with 1.
            expect_close(torch.stack((got.double(), torch.ones((), dtype=torch.float64))), [float(loss), 1.0], message(
                en="Random ratios, bounds, masks and token advantages of both signs: the loss is wrong.",
                zh="随机的比率、边界与掩码，Token 优势有正有负：损失有误。"))
            expect_close((gradient(got, new), gradient(got, old), gradient(got, advantages)), (slopes, 0.0 * slopes, 0.0 * slopes), message(
                en="Random ratios, bounds, masks and token advantages of both signs: a gradient is wrong.",
                zh="随机的比率、边界与掩码，Token 优势有正有负：某个梯度有误。"))
