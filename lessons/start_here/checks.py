"""Checks of lesson 00. Visible ones hold literals; hidden ones compare with spec.py on random inputs.

They stand in the order in which they help, and the first call of each is on valid input, so an untouched skeleton says "TODO 1".
"""

import math

import torch

from advantagelab.checking import expect_close, expect_error, expect_unchanged, message

from . import spec


def check_mean_reward_averages(answers):
    expect_close(answers.mean_reward(torch.tensor([2.0, 3.0, 10.0])), 5.0, message(
        en="Nothing is missing here, so the result is the plain mean: the sum of all rewards divided by how many there are, one number.",
        zh="这里没有缺失，结果就是普通的均值：全部奖励之和除以个数，只有一个数。"))


def check_mean_reward_missing_does_not_spread(answers):
    got = answers.mean_reward(torch.tensor([1.0, math.nan, 0.5]))
    if got != got:  # true of NaN alone
        expect_close(got, 0.75, message(
            en="One missing reward turned the mean into NaN. Leave it out before you add up; `==` does not find it, since NaN equals "
               "nothing.",
            zh="一个缺失奖励让均值变成了 NaN。求和之前先排除它；`==` 找不到它，因为 NaN 不等于任何数。"))


def check_mean_reward_missing_is_not_zero(answers):
    expect_close(answers.mean_reward(torch.tensor([1.0, math.nan, 0.5])), 0.75, message(
        en="Two rewards are there, 1 and 0.5, and their mean is 0.75: the missing one adds nothing to the sum, "
           "and nothing to the number you divide by.",
        zh="现有的奖励有两个：1 和 0.5，均值是 0.75。缺失的那个既不进总和，也不进除数。"))


def check_mean_reward_zero_is_a_reward(answers):
    expect_close(answers.mean_reward(torch.tensor([1.0, 0.0, 0.0, -0.5])), 0.125, message(
        en="A reward of 0, or below 0, was left out: only NaN is missing.",
        zh="为 0 或为负的奖励被排除了：只有 NaN 才是缺失。"))


def check_mean_reward_none_there_is_nan(answers):
    said = message(
        en="With every reward missing nobody knows the mean: return NaN, not a number that was never measured, and no error.",
        zh="奖励全部缺失时，谁也不知道均值：应返回 NaN，而不是一个没人测过的数，也不要报错。")
    expect_close(answers.mean_reward(torch.tensor([4.0])), 4.0, said)
    expect_close(answers.mean_reward(torch.tensor([math.nan, math.nan])), math.nan, said)


def check_mean_reward_takes_integers(answers):
    expect_close(answers.mean_reward(torch.tensor([1, 0, 0, 1, 1])), 0.6, message(
        en="Rewards may be integers, and their mean need not be one: keep the conversion to float above the TODO.",
        zh="奖励可以是整数，均值却不一定是：TODO 上方转成浮点数的那一行要保留。"))


def check_mean_reward_leaves_inputs_alone(answers):
    rewards = torch.tensor([1.0, math.nan, 0.5])
    before = rewards.clone()
    answers.mean_reward(rewards)
    expect_unchanged(before, rewards, message(
        en="The caller's rewards were overwritten: work on a copy.",
        zh="调用者的奖励被改写了：请在副本上操作。"))


def check_mean_reward_refuses_bad_input(answers):
    said = message(
        en="The input check above the TODO must stay: ValueError for an infinite reward, or rewards that are not [N].",
        zh="TODO 上方的输入检查要保留：奖励为无穷或不是 [N] 时抛出 ValueError。")
    expect_close(answers.mean_reward(torch.tensor([1.0, 0.0])), 0.5, said)
    expect_error(lambda: answers.mean_reward(torch.tensor([1.0, -math.inf])), said)
    expect_error(lambda: answers.mean_reward(torch.tensor([[1.0, 0.0]])), said)
    expect_error(lambda: answers.mean_reward(torch.tensor([])), said)


def hidden_mean_reward_random(answers, rng):
    said = message(
        en="Random rewards: the result is not the mean of those that are there.",
        zh="随机的奖励：结果不是现有奖励的均值。")
    for missing in (0.0, 0.3, 0.7, 1.0):
        rewards = rng.rewards(rng.integer(4, 20), missing)
        expect_close(answers.mean_reward(rewards), spec.mean_reward(rewards), said)


def hidden_mean_reward_random_integers(answers, rng):
    rewards = torch.tensor([rng.integer(-3, 3) for _ in range(rng.integer(5, 12))])
    expect_close(answers.mean_reward(rewards), spec.mean_reward(rewards), message(
        en="Random integer rewards: the result is not their mean.",
        zh="随机的整数奖励：结果不是它们的均值。"))
