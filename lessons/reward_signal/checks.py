"""Checks of lesson reward signal. Visible ones hold literals and properties; hidden ones compare with spec.py on random inputs.

A TODO's checks stand in the order in which they help: what fails along with something else comes after it.
Every check calls the function once on valid input before anything else, so an untouched skeleton says "TODO n".
"""

import math

import torch

from advantagelab.checking import expect_close, expect_error, expect_unchanged, gradient, message

from . import spec

# TODO 1: combine_reward_components


def check_combine_reward_components_is_a_weighted_sum(answers):
    for n in (2, 1):
        components = torch.tensor([[1.0, 0.5, 2.0], [3.0, 1.0, 0.0]])[:n]
        got = answers.combine_reward_components(components, torch.tensor([2.0, 1.0, 0.5]))
        expect_close(got, torch.tensor([3.5, 7.0][:n]), message(  # 2·1 + 1·0.5 + 0.5·2, 2·3 + 1·1 + 0.5·0
            en="The reward is the sum of weight times component, one number for each completion, [N]: the weights are neither left out nor "
               "normalized, and nothing is averaged.",
            zh="奖励是各分量乘权重之和，每条回答一个数，形状 [N]：权重不能漏掉，也不归一化，什么都不取平均。"))


def check_combine_reward_components_weight_may_be_negative(answers):
    got = answers.combine_reward_components(torch.tensor([[1.0, 4.0], [1.0, -4.0]]), torch.tensor([1.0, -0.5]))
    expect_close(got, torch.tensor([-1.0, 3.0]), message(
        en="A negative weight makes a component a penalty, and the reward itself may be negative: keep both signs.",
        zh="权重为负，分量就成了惩罚，奖励本身也可以为负：两处的符号都要保留。"))


def check_combine_reward_components_skips_what_is_missing(answers):
    components = torch.tensor([[1.0, math.nan], [math.nan, 0.5], [0.5, 0.25]])
    got = answers.combine_reward_components(components, torch.tensor([1.0, 2.0]))
    expect_close(got, torch.tensor([1.0, 1.0, 1.0]), message(
        en="By default a missing component is skipped: the others of its completion are added up with their own weights, not "
           "rescaled, and no other completion loses anything.",
        zh="默认跳过缺失的分量：同一条回答的其他分量照各自的权重相加，不重新缩放，也不影响其他回答。"))


def check_combine_reward_components_nothing_scored_is_missing(answers):
    components = torch.tensor([[math.nan, math.nan], [0.5, 0.25]])
    got = answers.combine_reward_components(components, torch.tensor([1.0, 2.0]))
    expect_close(got, torch.tensor([math.nan, 1.0]), message(
        en="A completion whose components are all missing has a missing reward, NaN: an empty sum would say 0, a bad score that nobody "
           "gave.",
        zh="分量全部缺失的回答得到缺失奖励，即 NaN：空的和是 0，等于打了一个谁也没给过的低分。"))


def check_combine_reward_components_zero_is_a_score(answers):
    components = torch.tensor([[0.0, 0.0], [math.nan, 3.0], [2.0, -1.0], [-1.0, -1.0]])
    got = answers.combine_reward_components(components, torch.tensor([1.0, 0.0]))
    expect_close(got, torch.tensor([0.0, 0.0, 2.0, -1.0]), message(
        en="A component of 0 or -1, or one with weight 0, is present: only NaN means missing, and a reward of 0 is not NaN.",
        zh="值为 0 或 -1、或权重为 0 的分量仍算存在：只有 NaN 表示缺失，奖励为 0 也不是 NaN。"))


def check_combine_reward_components_limits_nothing(answers):
    components = torch.tensor([[1000.0, 2000.0], [-3000.0, 0.0]])
    got = answers.combine_reward_components(components, torch.tensor([50.0, -4.0]))
    expect_close(got, torch.tensor([42000.0, -150000.0]), message(  # 50 · 1000 - 4 · 2000, 50 · -3000
        en="Components, weights and rewards may be large, and nothing is cut off.", zh="分量、权重和奖励都可能很大，一律不截断。"))


def check_combine_reward_components_propagate(answers):
    components = torch.tensor([[1.0, math.nan], [math.nan, math.nan], [0.5, 0.25]])
    got = answers.combine_reward_components(components, torch.tensor([1.0, 2.0]), missing="propagate")
    expect_close(got, torch.tensor([math.nan, math.nan, 1.0]), message(
        en='missing="propagate" asks for more: one missing component makes the reward of that completion NaN, and of that one only.',
        zh='missing="propagate" 更严格：只要缺一个分量，这条回答的奖励就是 NaN，且只影响这一条。'))


def check_combine_reward_components_takes_integers(answers):
    for components, weights in ((torch.tensor([[1, 0], [1, 1]]), torch.tensor([0.5, 0.25])),
                                (torch.tensor([[0.5, 0.0], [0.5, 0.25]]), torch.tensor([1, 1]))):
        expect_close(answers.combine_reward_components(components, weights), torch.tensor([0.5, 0.75]), message(
            en="Components of a verifier are often the integers 0 and 1, and weights may be integers: no fraction may be cut off.",
            zh="验证器给出的分量常是整数 0 和 1，权重也可以是整数：小数不能被截去。"))


def check_combine_reward_components_is_frozen(answers):
    components = torch.tensor([[1.0, 2.0]], requires_grad=True)
    weights = torch.tensor([1.0, 2.0], requires_grad=True)
    got = answers.combine_reward_components(components, weights)
    expect_close(torch.stack([gradient(got, components)[0], gradient(got, weights)]), torch.zeros(2, 2), message(
        en="A reward is a constant of the update: no gradient may flow back into whatever gave the components, nor into the weights.",
        zh="奖励对更新而言是常数：梯度不能流回给出分量的模型，也不能流回权重。"))


def check_combine_reward_components_leaves_inputs_alone(answers):
    components, weights = torch.tensor([[1.0, math.nan], [0.5, 0.25]]), torch.tensor([1.0, 2.0])
    before = components.clone(), weights.clone()
    answers.combine_reward_components(components, weights)
    expect_unchanged(before, (components, weights), message(
        en="The caller's components or weights were overwritten: whoever reads them next no longer sees what was missing.",
        zh="调用者的分量或权重被改写了：之后再读，就看不出哪些缺失。"))


def check_combine_reward_components_keeps_float64(answers):
    for components, weights in (([[1e8, 0.5]], [1.0, 1.0]), ([[1.0, 0.0]], [1e8 + 0.5, 1.0])):
        got = answers.combine_reward_components(torch.tensor(components, dtype=torch.float64), torch.tensor(weights, dtype=torch.float64))
        expect_close(got - 1e8, [0.5], message(
            en="float64 components or weights were rounded to float32, which cannot hold 100000000.5.",
            zh="float64 的分量或权重被舍入成了 float32，而 float32 存不下 100000000.5。"))


def check_combine_reward_components_refuses_bad_input(answers):
    components, weights = torch.tensor([[1.0, 0.5]]), torch.tensor([1.0, 2.0])
    said = message(
        en="The input check above the TODO must stay: ValueError for an infinite component, weights that are not [K] or not finite, "
           "components that are not [N, K], and another word for `missing`.",
        zh="TODO 上方的输入检查要保留：分量为无穷、权重不是 [K] 或不是有限数、分量不是二维、`missing` 是别的词时抛出 ValueError。")
    answers.combine_reward_components(components, weights)
    expect_error(lambda: answers.combine_reward_components(components * math.inf, weights), said)
    expect_error(lambda: answers.combine_reward_components(components, weights[:1]), said)
    expect_error(lambda: answers.combine_reward_components(components, weights * math.nan), said)
    expect_error(lambda: answers.combine_reward_components(components[0], weights), said)
    expect_error(lambda: answers.combine_reward_components(components, weights, missing="zero"), said)


def hidden_combine_reward_components_random(answers, rng):
    for missing, n, k, scale, dtype in (
            ("skip", rng.integer(8, 16), rng.integer(2, 4), 1.0, torch.float32), ("propagate", rng.integer(17, 20), 2, 1e3, torch.float32),
            ("skip", rng.integer(8, 16), rng.integer(5, 9), 1e-4, torch.float32), ("propagate", 1, rng.integer(2, 4), 1.0, torch.float64),
            ("skip", 1, 1, 1e-4, torch.float64), ("propagate", rng.integer(8, 16), 1, 1.0, torch.float32)):
        components, weights = scale * rng.rewards(n * k, missing=0.4).to(dtype).reshape(n, k), rng.normal(k)
        got = answers.combine_reward_components(components, weights, missing)
        expect_close(got, spec.combine_reward_components(components, weights, missing), message(
            en="Random components and weights, some components missing: a reward is wrong.",
            zh="随机的分量与权重，部分分量缺失：奖励有误。"))


def hidden_combine_reward_components_order(answers, rng):
    n, k = rng.integer(8, 16), rng.integer(3, 5)
    components, weights = rng.rewards(n * k, missing=0.4).reshape(n, k), rng.normal(k)
    got = answers.combine_reward_components(components, weights)
    expect_close(got, spec.combine_reward_components(components, weights, "skip"), message(
        en="Random components: a reward is wrong before anything was reordered.",
        zh="随机的分量：尚未改变顺序，奖励就已有误。"))
    order, columns = rng.normal(n).argsort(), rng.normal(k).argsort()
    expect_close(answers.combine_reward_components(components[order][:, columns], weights[columns]), got[order], message(
        en="The order of completions, or of components with their weights, must change no reward.",
        zh="回答的顺序，或分量连同权重的顺序，都不应影响奖励。"))


# TODO 2: discounted_returns


def check_discounted_returns_sums_what_is_to_come(answers):
    got = answers.discounted_returns(torch.tensor([[1.0, 2.0, 4.0]]), torch.ones(1, 3, dtype=torch.bool), gamma=1.0)
    expect_close(got, torch.tensor([[7.0, 6.0, 4.0]]), message(
        en="The return of a step is its own reward plus all later ones: one number for each step, and what came before does not count.",
        zh="一步的回报是这一步的奖励加上之后的全部奖励：每一步一个数，之前的奖励不算。"))


def check_discounted_returns_discounts_once_a_step(answers):
    got = answers.discounted_returns(torch.tensor([[0.0, 0.0, 8.0]]), torch.ones(1, 3, dtype=torch.bool), gamma=0.5)
    expect_close(got, torch.tensor([[2.0, 4.0, 8.0]]), message(
        en="A reward k steps ahead counts gamma to the power k: gamma once for each step in between, and not at all at its own step.",
        zh="k 步之后的奖励要乘 gamma 的 k 次方：每往后一步乘一次，自己这一步不乘。"))


def check_discounted_returns_default_gamma(answers):
    got = answers.discounted_returns(torch.tensor([[0.0, 0.0, 0.0, 1.0]]), torch.ones(1, 4, dtype=torch.bool))
    expect_close(got, torch.ones(1, 4), message(
        en="gamma was left out and a reward was discounted all the same: its default in this course is 1.",
        zh="没有给出 gamma，奖励却仍被打了折扣：本课程中它的默认值是 1。"))


def check_discounted_returns_gamma_may_be_zero(answers):
    got = answers.discounted_returns(torch.tensor([[3.0, 5.0, 7.0]]), torch.ones(1, 3, dtype=torch.bool), gamma=0.0)
    expect_close(got, torch.tensor([[3.0, 5.0, 7.0]]), message(
        en="With gamma = 0 only the reward of the step itself is left: dividing by a power of gamma gives NaN here, and overflows on "
           "long completions.",
        zh="gamma = 0 时只剩这一步自己的奖励：除以 gamma 的幂，在这里会得到 NaN，回答一长还会溢出。"))


def check_discounted_returns_each_completion_on_its_own(answers):
    rewards = torch.tensor([[0.0, 1.0], [0.0, 10.0], [2.0, 0.0]])
    got = answers.discounted_returns(rewards, torch.ones(3, 2, dtype=torch.bool), gamma=0.5)
    expect_close(got, torch.tensor([[0.5, 1.0], [5.0, 10.0], [2.0, 0.0]]), message(
        en="Every completion has returns of its own: here the reward of another one took part, or a mean or scale of the batch.",
        zh="每条回答各算各的回报：这里混入了另一条回答的奖励，或用了整批的均值与尺度。"))


def check_discounted_returns_limits_nothing(answers):
    rewards = torch.tensor([[-1000.0, -2000.0], [500.0, 0.0]])
    got = answers.discounted_returns(rewards, torch.ones(2, 2, dtype=torch.bool), gamma=0.5)
    expect_close(got, torch.tensor([[-2000.0, -2000.0], [500.0, 0.0]]), message(
        en="Rewards may be negative and may be large, and so may returns: nothing is cut off.",
        zh="奖励可以为负，也可以很大，回报也一样：一律不截断。"))


def check_discounted_returns_leaves_padding_out(answers):
    rewards = torch.tensor([[1.0, 2.0, 50.0, 60.0, 70.0], [1.0, 2.0, 4.0, 8.0, 70.0]])
    mask = torch.tensor([[True, True, False, False, False], [True, True, True, True, False]])
    got = answers.discounted_returns(rewards, mask, gamma=0.5)
    expect_close(got, torch.tensor([[2.0, 2.0, 0.0, 0.0, 0.0], [4.0, 6.0, 8.0, 8.0, 0.0]]), message(
        en="The return of a completion ends at its last valid step: padding adds nothing, takes no discount and has return 0, and the "
           "steps before it are computed even if a whole column is padding.",
        zh="回答的回报到最后一个有效步为止：填充没有贡献，不占一次折扣，自己的回报为 0；即使整列都是填充，之前的各步也要照常计算。"))


def check_discounted_returns_padding_may_be_infinite(answers):
    mask = torch.tensor([[True, True, False], [True, False, False]])
    for junk in (math.nan, math.inf):
        rewards = torch.tensor([[1.0, 2.0, 0.0], [4.0, 0.0, 0.0]]).masked_fill(~mask, junk)
        got = answers.discounted_returns(rewards, mask, gamma=0.5)
        expect_close(got, torch.tensor([[2.0, 2.0, 0.0], [4.0, 0.0, 0.0]]), message(
            en="NaN or infinity in the padding leaked into a return: multiplying by the mask does not remove it, since 0 · inf is NaN.",
            zh="填充处的 NaN 或无穷混入了回报：乘以掩码去不掉它，因为 0 · inf 等于 NaN。"))


def check_discounted_returns_takes_integers(answers):
    got = answers.discounted_returns(torch.tensor([[0, 1]]), torch.ones(1, 2, dtype=torch.bool), gamma=0.5)
    expect_close(got, torch.tensor([[0.5, 1.0]]), message(
        en="Rewards may be the integers 0 and 1; the fraction that gamma makes must not be cut off.",
        zh="奖励可以是整数 0 和 1；乘 gamma 得到的小数不能被截去。"))


def check_discounted_returns_is_frozen(answers):
    rewards = torch.tensor([[1.0, 2.0]], requires_grad=True)
    got = answers.discounted_returns(rewards, torch.ones(1, 2, dtype=torch.bool))
    expect_close(gradient(got, rewards), torch.zeros(1, 2), message(
        en="Returns are constants of the update: no gradient may flow back into the rewards of the steps.",
        zh="回报对更新而言是常数：梯度不能流回各步的奖励。"))


def check_discounted_returns_leaves_inputs_alone(answers):
    rewards, mask = torch.tensor([[1.0, 2.0, 9.0]]), torch.tensor([[True, True, False]])
    before = rewards.clone(), mask.clone()
    answers.discounted_returns(rewards, mask, gamma=0.5)
    expect_unchanged(before, (rewards, mask), message(
        en="The caller's rewards or mask were overwritten. rewards.detach() shares its memory with the original: write into a tensor "
           "of your own.",
        zh="调用者的奖励或掩码被改写了。rewards.detach() 与原张量共享内存：请写进自己的张量。"))


def check_discounted_returns_keeps_float64(answers):
    rewards = torch.tensor([[0.5, 1e8]], dtype=torch.float64)
    got = answers.discounted_returns(rewards, torch.ones(1, 2, dtype=torch.bool))
    expect_close(got - 1e8, [[0.5, 0.0]], message(
        en="float64 rewards were rounded to float32: the return 100000000.5 lost its fraction.",
        zh="float64 的奖励被舍入成了 float32：回报 100000000.5 丢了小数部分。"))


def check_discounted_returns_refuses_bad_input(answers):
    rewards, mask = torch.tensor([[1.0, 2.0]]), torch.tensor([[True, True]])
    said = message(
        en="The input check above the TODO must stay: ValueError for a gamma outside [0, 1], a mask that is not bool, shapes that "
           "differ, padding before a valid step, a valid reward that is not finite.",
        zh="TODO 上方的输入检查要保留：gamma 不在 [0, 1] 内、掩码不是布尔张量、形状不同、填充排在有效步之前、有效步的奖励不是有限数时"
           "抛出 ValueError。")
    answers.discounted_returns(rewards, mask)
    for gamma in (-0.1, 1.1, math.nan):
        expect_error(lambda gamma=gamma: answers.discounted_returns(rewards, mask, gamma), said)
    expect_error(lambda: answers.discounted_returns(rewards, mask.long()), said)
    expect_error(lambda: answers.discounted_returns(rewards[:, :1], mask), said)
    expect_error(lambda: answers.discounted_returns(rewards, torch.tensor([[False, True]])), said)
    expect_error(lambda: answers.discounted_returns(rewards * math.nan, mask), said)


def hidden_discounted_returns_random(answers, rng):
    for junk, n, length, gamma, scale, dtype in (
            (-math.inf, rng.integer(2, 8), rng.integer(9, 12), rng.uniform(0.5, 1.0), 1.0, torch.float32),
            (math.nan, rng.integer(9, 20), rng.integer(13, 20), rng.uniform(0.9, 1.0), 1e-4, torch.float32),
            (1e6, rng.integer(4, 8), rng.integer(13, 20), 1.0, 1e3, torch.float32),
            (-1e6, 1, rng.integer(9, 12), rng.uniform(0.01, 0.5), 1.0, torch.float64)):
        mask = rng.completion_mask(n, length)
        mask[0] = True  # one completion of full length
        rewards = (scale * rng.normal(n, length).to(dtype)).masked_fill(~mask, junk)
        got = answers.discounted_returns(rewards, mask, gamma)
        expect_close(got, spec.discounted_returns(rewards, mask, gamma), message(
            en="Random rewards, lengths and gamma: a return is wrong.",
            zh="随机的奖励、长度与 gamma：回报有误。"))


def hidden_discounted_returns_one_step(answers, rng):
    rewards = rng.normal(rng.integer(3, 6), 1)
    got = answers.discounted_returns(rewards, torch.ones(len(rewards), 1, dtype=torch.bool), rng.uniform(0.0, 1.0))
    expect_close(got, rewards, message(
        en="A bandit has one step: its return is its reward, whatever gamma is.",
        zh="老虎机只有一步：不论 gamma 是多少，回报就是奖励。"))


# TODO 3: gae_advantages


def check_gae_advantages_residual(answers):
    rewards, values = torch.tensor([[0.0, 0.0, 1.0]]), torch.tensor([[0.5, 0.6, 0.7]])
    advantages, _ = answers.gae_advantages(rewards, values, torch.zeros(1), torch.tensor([True]), torch.ones(1, 3, dtype=torch.bool),
                                           gamma=1.0, lam=0.0)
    expect_close(advantages, torch.tensor([[0.1, 0.1, 0.3]]), message(
        en="With lam = 0 the advantage is the TD residual: the reward of the step, plus the value after it, minus the value before it.",
        zh="lam = 0 时，优势就是 TD 残差：这一步的奖励，加上之后的价值，减去之前的价值。"))


def check_gae_advantages_discounts_the_next_value(answers):
    # 0.5·0.6 - 0.5, 0.5·0.7 - 0.6, 1 - 0.7; without a future 0 - 0.5, 0 - 0.6, 1 - 0.7
    for gamma, residuals in ((0.5, [[-0.2, -0.25, 0.3]]), (0.0, [[-0.5, -0.6, 0.3]])):
        rewards, values = torch.tensor([[0.0, 0.0, 1.0]]), torch.tensor([[0.5, 0.6, 0.7]])
        advantages, _ = answers.gae_advantages(rewards, values, torch.zeros(1), torch.tensor([True]), torch.ones(1, 3, dtype=torch.bool),
                                               gamma=gamma, lam=0.0)
        expect_close(advantages, torch.tensor(residuals), message(
            en="In the TD residual gamma stands at the value after the step, and only there: neither the reward nor the value before it is "
               "discounted. It may be 0.",
            zh="TD 残差里，gamma 只乘这一步之后的价值：奖励与之前的价值都不打折扣。gamma 可以为 0。"))


def check_gae_advantages_lam_one_sums_all(answers):
    rewards, values = torch.tensor([[0.0, 0.0, 1.0]]), torch.tensor([[0.5, 0.6, 0.7]])
    advantages, _ = answers.gae_advantages(rewards, values, torch.zeros(1), torch.tensor([True]), torch.ones(1, 3, dtype=torch.bool),
                                           gamma=1.0, lam=1.0)
    expect_close(advantages, torch.tensor([[0.5, 0.4, 0.3]]), message(
        en="With lam = 1 all residuals from this step on are added up, and what is left is the return minus the value: here later "
           "residuals were lost, or earlier ones counted.",
        zh="lam = 1 时，从这一步起的残差全部相加，结果等于回报减价值：这里丢了之后的残差，或把之前的算了进来。"))


def check_gae_advantages_weighs_residuals_by_gamma_lam(answers):
    rewards, values = torch.tensor([[0.0, 0.0, 1.0]]), torch.tensor([[0.5, 0.5, 0.5]])
    advantages, _ = answers.gae_advantages(rewards, values, torch.zeros(1), torch.tensor([True]), torch.ones(1, 3, dtype=torch.bool),
                                           gamma=0.8, lam=0.5)
    expect_close(advantages, torch.tensor([[-0.06, 0.1, 0.5]]), message(  # residuals -0.1, -0.1, 0.5; each step back times 0.4
        en="A residual k steps ahead counts (gamma · lam) to the power k: both factors, once for each step, and no (1 - lam).",
        zh="k 步之后的残差要乘 (gamma · lam) 的 k 次方：两个因子都要，每一步乘一次，没有 (1 - lam)。"))


def check_gae_advantages_keeps_the_scale(answers):
    rewards, values = torch.tensor([[0.0, 0.0, 1.0]]), torch.tensor([[0.5, 0.6, 0.7]])
    end = torch.zeros(1), torch.tensor([True]), torch.ones(1, 3, dtype=torch.bool)
    advantages, _ = answers.gae_advantages(rewards, values, *end, gamma=1.0, lam=0.5)
    expect_close(advantages, torch.tensor([[0.225, 0.25, 0.3]]), message(
        en="The advantages are returned as they are: no mean is subtracted, no standard deviation divides them, nothing is cut off. "
           "Whitening is a step of its own.",
        zh="优势按原样返回：不减均值，不除以标准差，也不截断。白化是另外一步。"))


def check_gae_advantages_each_completion_on_its_own(answers):
    rewards, values = torch.tensor([[0.0, 1.0], [0.0, 0.0], [0.0, 4.0]]), torch.tensor([[0.5, 0.5], [0.25, 0.5], [1.0, 2.0]])
    advantages, _ = answers.gae_advantages(rewards, values, torch.zeros(3), torch.ones(3).bool(), torch.ones(3, 2).bool(),
                                           gamma=1.0, lam=0.5)
    expect_close(advantages, torch.tensor([[0.25, 0.5], [0.0, -0.5], [2.0, 2.0]]), message(
        en="Every completion has advantages of its own: here the residuals of another one took part.",
        zh="每条回答各算各的优势：这里混入了另一条回答的残差。"))


def check_gae_advantages_terminated_has_no_future(answers):
    rewards, values, mask = torch.tensor([[0.0, 1.0], [0.0, 1.0]]), torch.tensor([[0.5, 0.75], [0.5, 0.75]]), torch.ones(2, 2).bool()
    advantages, _ = answers.gae_advantages(rewards, values, torch.tensor([8.0, math.nan]), torch.tensor([True, True]), mask,
                                           gamma=1.0, lam=0.5)
    expect_close(advantages, torch.tensor([[0.375, 0.25], [0.375, 0.25]]), message(
        en="After a completion that ended by itself comes nothing: there the value is 0, whatever last_values holds. NaN times 0 is NaN, "
           "so replace it.",
        zh="自行终止的回答之后什么都没有：那里的价值是 0，不管 last_values 里是什么。NaN 乘 0 还是 NaN，所以要替换掉。"))


def check_gae_advantages_truncated_is_bootstrapped(answers):
    rewards, values, mask = torch.tensor([[0.0, 1.0], [0.0, 1.0]]), torch.tensor([[0.5, 0.75], [0.5, 0.75]]), torch.ones(2, 2).bool()
    advantages, _ = answers.gae_advantages(rewards, values, torch.tensor([0.5, 0.5]), torch.tensor([False, True]), mask,
                                           gamma=0.5, lam=0.5)
    expect_close(advantages, torch.tensor([[0.0, 0.5], [-0.0625, 0.25]]), message(  # the last residuals: 1 + 0.5·0.5 - 0.75, 1 - 0.75
        en="A truncated completion would have gone on: its last residual takes last_values, with gamma, as the value after the step. "
           "True in `terminated` means that it did end.",
        zh="被截断的回答本来还没写完：最后一个残差把 last_values 乘 gamma，当作之后的价值。`terminated` 为 True 才表示已经结束。"))


def check_gae_advantages_leaves_padding_out(answers):
    mask = torch.tensor([[True, True, False, False], [True, False, False, False]])
    for junk in (50.0, math.nan, -math.inf):
        rewards = torch.tensor([[0.0, 1.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0]]).masked_fill(~mask, junk)
        values = torch.tensor([[0.5, 0.75, 0.0, 0.0], [0.25, 0.0, 0.0, 0.0]]).masked_fill(~mask, junk)
        advantages, _ = answers.gae_advantages(rewards, values, torch.zeros(2), torch.tensor([True, True]), mask, gamma=1.0, lam=1.0)
        expect_close(advantages, torch.tensor([[0.5, 0.25, 0.0, 0.0], [0.75, 0.0, 0.0, 0.0]]), message(
            en="Padding changed an advantage: rewards and values there may be anything, NaN and infinity included, and the steps before "
               "it are computed even if a whole column is padding.",
            zh="填充改变了优势：那里的奖励和价值可以是任何值，包括 NaN 和无穷；即使整列都是填充，之前的各步也要照常计算。"))


def check_gae_advantages_ends_at_the_last_valid_step(answers):
    mask = torch.tensor([[True, True, False, False], [True, True, True, True]])
    rewards = torch.tensor([[0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0]])
    values = torch.tensor([[0.5, 0.75, 0.0, 0.0], [0.5, 0.5, 0.5, 0.5]])
    advantages, _ = answers.gae_advantages(rewards, values, torch.tensor([0.5, 0.5]), torch.tensor([False, False]), mask,
                                           gamma=0.5, lam=1.0)
    expect_close(advantages, torch.tensor([[0.125, 0.5, 0.0, 0.0], [-0.34375, -0.1875, 0.125, 0.75]]), message(
        en="last_values belongs behind the last valid step of each completion, not behind the last column, and padding has advantage 0.",
        zh="last_values 接在每条回答的最后一个有效步之后，而不是最后一列之后；填充处的优势为 0。"))


def check_gae_advantages_returns(answers):
    rewards, values = torch.tensor([[0.0, 0.0, 1.0, 9.0]]), torch.tensor([[0.5, 0.6, 0.7, math.nan]])
    got = answers.gae_advantages(rewards, values, torch.zeros(1), torch.tensor([True]), torch.tensor([[True, True, True, False]]),
                                 gamma=1.0, lam=0.5)
    expect_close(got, (torch.tensor([[0.225, 0.25, 0.3, 0.0]]), torch.tensor([[0.725, 0.85, 1.0, 0.0]])), message(
        en="The returns, what the critic learns from, are advantages plus values, and 0 in the padding: not the bare sum of rewards, not "
           "the TD target of one step.",
        zh="供价值网络学习的回报是优势加价值，填充处为 0：不是单纯的奖励之和，也不是一步的 TD 目标。"))


def check_gae_advantages_limits_nothing(answers):
    rewards, values, mask = torch.tensor([[-1000.0, 2000.0]]), torch.tensor([[0.0, -500.0]]), torch.ones(1, 2, dtype=torch.bool)
    got = answers.gae_advantages(rewards, values, torch.tensor([3000.0]), torch.tensor([False]), mask, gamma=0.5, lam=0.5)
    expect_close(got, ([[-250.0, 4000.0]], [[-250.0, 3500.0]]), message(  # residuals -1000 - 250 - 0 and 2000 + 1500 + 500
        en="Rewards and values may be negative, 0 or large, and so may residuals, advantages and returns: nothing is cut off, and a "
           "value of 0 is a value.",
        zh="奖励和价值可以为负，可以为 0，也可以很大，残差、优势和回报也一样：一律不截断，价值为 0 也是价值。"))


def check_gae_advantages_defaults(answers):
    rewards, values = torch.tensor([[0.0, 0.0, 1.0]]), torch.tensor([[0.5, 0.6, 0.7]])
    got = answers.gae_advantages(rewards, values, torch.zeros(1), torch.tensor([True]), torch.ones(1, 3, dtype=torch.bool))
    expect_close(got, (torch.tensor([[0.46575, 0.385, 0.3]]), torch.tensor([[0.96575, 0.985, 1.0]])), message(
        en="gamma and lam were left out: their defaults in this course are 1 and 0.95.",
        zh="没有给出 gamma 和 lam：本课程中它们的默认值是 1 和 0.95。"))


def check_gae_advantages_takes_integers(answers):
    values = torch.tensor([[0.5, 0.75]])
    advantages, _ = answers.gae_advantages(torch.tensor([[0, 1]]), values, torch.zeros(1), torch.tensor([True]),
                                           torch.ones(1, 2, dtype=torch.bool), gamma=1.0, lam=1.0)
    expect_close(advantages, torch.tensor([[0.5, 0.25]]), message(
        en="Rewards may be the integers 0 and 1; the fractions that the values bring must not be cut off.",
        zh="奖励可以是整数 0 和 1；价值带来的小数不能被截去。"))


def check_gae_advantages_is_frozen(answers):
    rewards, values = torch.tensor([[0.0, 1.0]], requires_grad=True), torch.tensor([[0.5, 0.75]], requires_grad=True)
    last_values = torch.tensor([0.5], requires_grad=True)
    got = answers.gae_advantages(rewards, values, last_values, torch.tensor([False]), torch.ones(1, 2, dtype=torch.bool))
    leaks = [gradient(output[:, :1], source).sum() for output in got for source in (rewards, values, last_values)]
    expect_close(leaks, [0.0] * 6, message(
        en="Advantages and returns are constants of the update: the critic learns from its own loss, so no gradient may flow back into "
           "its values or into the rewards.",
        zh="优势和回报对更新而言是常数：价值网络由自己的损失来训练，所以梯度不能流回它给出的价值，也不能流回奖励。"))


def check_gae_advantages_leaves_inputs_alone(answers):
    inputs = torch.tensor([[0.0, 1.0, 9.0]]), torch.tensor([[0.5, 0.75, 9.0]]), torch.tensor([0.5])
    flags = torch.tensor([True]), torch.tensor([[True, True, False]])
    before = tuple(values.clone() for values in (*inputs, *flags))
    answers.gae_advantages(*inputs, *flags)
    expect_unchanged(before, (*inputs, *flags), message(
        en="The caller's rewards, values or last_values were overwritten: the value loss would then compare with other numbers.",
        zh="调用者的奖励、价值或 last_values 被改写了：之后的价值损失就会与别的数比较。"))


def check_gae_advantages_keeps_float64(answers):
    values = torch.tensor([[1e8, 1e8 + 0.5]], dtype=torch.float64)
    advantages, returns = answers.gae_advantages(torch.zeros_like(values), values, values[:, 1] + 1.0, torch.tensor([False]),
                                                 torch.ones(1, 2, dtype=torch.bool), gamma=1.0, lam=0.0)
    expect_close((advantages, returns - 1e8), ([[0.5, 1.0]], [[0.5, 1.5]]), message(
        en="float64 values were rounded to float32 before the difference was taken, in which 1e8 and 1e8 + 0.5 are one number.",
        zh="在求差之前，float64 的价值被舍入成了 float32，而在 float32 中 1e8 与 1e8 + 0.5 是同一个数。"))


def check_gae_advantages_refuses_bad_input(answers):
    rewards, values, last, ended = torch.tensor([[0.0, 1.0]]), torch.tensor([[0.5, 0.75]]), torch.zeros(1), torch.tensor([False])
    mask = torch.tensor([[True, True]])
    said = message(
        en="The input check above the TODO must stay: ValueError for gamma or lam outside [0, 1], a last value that is used and not "
           "finite, `terminated` or a mask that is not bool, shapes that differ, a valid value that is not finite.",
        zh="TODO 上方的输入检查要保留：gamma 或 lam 不在 [0, 1] 内、用到的 last_values 不是有限数、`terminated` 或掩码不是布尔张量、"
           "形状不同、有效步的价值不是有限数时抛出 ValueError。")
    answers.gae_advantages(rewards, values, last, ended, mask, 1.0, 1.0)
    expect_error(lambda: answers.gae_advantages(rewards, values, last, ended, mask, 1.1, 1.0), said)
    expect_error(lambda: answers.gae_advantages(rewards, values, last, ended, mask, 1.0, -0.1), said)
    expect_error(lambda: answers.gae_advantages(rewards, values, last * math.nan, ended, mask), said)
    expect_error(lambda: answers.gae_advantages(rewards, values, last, ended.long(), mask), said)
    expect_error(lambda: answers.gae_advantages(rewards, values, last, ended, mask.long()), said)
    expect_error(lambda: answers.gae_advantages(rewards, values, last[:0], ended, mask), said)
    expect_error(lambda: answers.gae_advantages(rewards, values * math.nan, last, ended, mask), said)


def hidden_gae_advantages_random(answers, rng):
    for junk, n, length, gamma, lam, scale, dtype in (
            (-math.inf, rng.integer(4, 8), rng.integer(9, 12), rng.uniform(0.6, 1.0), rng.uniform(0.3, 0.9), 1.0, torch.float32),
            (math.nan, rng.integer(9, 20), rng.integer(13, 20), rng.uniform(0.9, 1.0), rng.uniform(0.9, 1.0), 1e-4, torch.float32),
            (1e6, rng.integer(4, 8), 1, rng.uniform(0.6, 1.0), rng.uniform(0.3, 0.9), 1e3, torch.float32),
            (-1e6, 1, rng.integer(9, 12), rng.uniform(0.6, 1.0), rng.uniform(0.3, 0.9), 1.0, torch.float64)):
        mask = rng.completion_mask(n, length)
        mask[0] = True  # one completion of full length
        rewards, values = ((scale * rng.normal(n, length).to(dtype)).masked_fill(~mask, junk) for _ in range(2))
        terminated = rng.normal(n) > 0
        last_values = (scale * rng.normal(n).to(dtype)).masked_fill(terminated, junk)
        got = answers.gae_advantages(rewards, values, last_values, terminated, mask, gamma, lam)
        expect_close(got, spec.gae_advantages(rewards, values, last_values, terminated, mask, gamma, lam), message(
            en="Random completions, some terminated, some truncated, random gamma and lam: an advantage or a return is wrong.",
            zh="随机的回答，有的自行终止，有的被截断，gamma 与 lam 随机：优势或回报有误。"))


def hidden_gae_advantages_lam_one(answers, rng):
    n, length = rng.integer(4, 8), rng.integer(3, 6)
    mask, rewards, values = rng.completion_mask(n, length), rng.normal(n, length), rng.normal(n, length)
    terminated = torch.ones(n, dtype=torch.bool)
    advantages, returns = answers.gae_advantages(rewards, values, rng.normal(n), terminated, mask, 0.9, 1.0)
    expect_close(advantages, spec.discounted_returns(rewards, mask, 0.9) - values.masked_fill(~mask, 0.0).double().numpy(), message(
        en="With lam = 1 and every completion terminated, the advantage is the discounted return minus the value: the two differ.",
        zh="lam = 1 且回答都自行终止时，优势等于折扣回报减价值：这里两者不等。"))
    expect_close(returns, spec.discounted_returns(rewards, mask, 0.9), message(
        en="With lam = 1 and every completion terminated, the returns are the discounted returns, and the values drop out.",
        zh="lam = 1 且回答都自行终止时，回报就是折扣回报，与价值无关。"))


# TODO 4: policy_gradient_loss


def check_policy_gradient_loss_sign(answers):
    slopes = []
    for advantage in (1.0, -1.0):  # a bandit: one completion of one step
        token_logps = torch.tensor([[-2.0]], requires_grad=True)
        loss = answers.policy_gradient_loss(token_logps, torch.tensor([advantage]), torch.ones(1, 1, dtype=torch.bool))
        slopes.append(gradient(loss, token_logps).item())
    # A loss that falls as the log-probability rises has a gradient below 0.
    expect_close(torch.tensor(slopes).sign(), torch.tensor([-1.0, 1.0]), message(
        en="Minimizing the loss must make a completion with a positive advantage likelier and one with a negative advantage rarer: here "
           "the sign is turned around, or the gradient is cut off.",
        zh="最小化损失，应当让优势为正的回答概率升高，优势为负的降低：这里符号反了，或梯度被切断了。"))


def check_policy_gradient_loss_uses_log_probabilities(answers):
    loss = answers.policy_gradient_loss(torch.tensor([[-2.0]]), torch.tensor([3.0]), torch.ones(1, 1, dtype=torch.bool))
    expect_close(loss, torch.tensor(6.0), message(
        en="One completion, one step: the loss is minus the advantage times the log-probability, a single number. Not the probability, "
           "not the ratio, no logarithm on top.",
        zh="一条回答，只有一步：损失是优势乘对数概率，再取负，只有一个数。不是概率，不是比率，也不再取对数。"))


def check_policy_gradient_loss_sums_over_steps(answers):
    token_logps = torch.tensor([[-1.0, -2.0, -4.0]])
    loss = answers.policy_gradient_loss(token_logps, torch.tensor([1.0]), torch.ones(1, 3, dtype=torch.bool))
    expect_close(loss, torch.tensor(7.0), message(
        en="The log-probability of a completion is the sum over its steps: a mean would push each step of a long completion less.",
        zh="一条回答的对数概率是各步之和：取平均的话，回答越长，每一步受到的推动越小。"))


def check_policy_gradient_loss_averages_over_completions(answers):
    token_logps, advantages = torch.tensor([[-1.0, -1.0], [-3.0, -1.0]]), torch.tensor([1.0, 1.0])
    loss = answers.policy_gradient_loss(token_logps, advantages, torch.ones(2, 2, dtype=torch.bool))
    expect_close(loss, torch.tensor(3.0), message(  # (2 + 4) / 2
        en="Over completions the mean is taken: the sum of all divided by their number N, not by the number of tokens, and not left "
           "undivided.",
        zh="对回答取平均：总和除以回答条数 N，不是除以 Token 数，也不是不除。"))


def check_policy_gradient_loss_each_its_own_advantage(answers):
    token_logps, advantages = torch.tensor([[-1.0], [-2.0], [-4.0]]), torch.tensor([2.0, 1.0, -1.0])
    loss = answers.policy_gradient_loss(token_logps, advantages, torch.ones(3, 1, dtype=torch.bool))
    expect_close(loss, torch.tensor(0.0), message(  # (2 + 2 - 4) / 3
        en="Each completion is weighted by its own advantage before the mean: neither by a mean of advantages, nor by every completion's, "
           "nor by its absolute value.",
        zh="每条回答先乘自己的优势，再取平均：不是乘优势的均值，不是乘所有回答的优势，也不取绝对值。"))


def check_policy_gradient_loss_takes_advantages_as_they_are(answers):
    token_logps, advantages = torch.tensor([[-1.0], [-2.0], [-1.0], [-4.0]]), torch.tensor([3.0, 1.0, 0.0, 1.0])
    loss = answers.policy_gradient_loss(token_logps, advantages, torch.ones(4, 1, dtype=torch.bool))
    expect_close(loss, torch.tensor(2.25), message(  # (3 + 2 + 0 + 4) / 4
        en="The advantages come with their baseline: nothing more is subtracted here, divided or limited, and a completion with "
           "advantage 0 counts in N.",
        zh="优势里已经减过基线：这里不再减，不除，不限幅；优势为 0 的回答也计入 N。"))


def check_policy_gradient_loss_limits_nothing(answers):
    for logp, advantage in ((-1000.0, 500.0), (-2.0, -500.0), (-2.0, 0.001)):
        loss = answers.policy_gradient_loss(torch.tensor([[logp]]), torch.tensor([advantage]), torch.ones(1, 1, dtype=torch.bool))
        expect_close(loss, torch.tensor(-logp * advantage), message(
            en="Log-probabilities and advantages may be very large or very small: neither is cut off, and the loss is not either.",
            zh="对数概率和优势可以很大，也可以很小：两者都不截断，损失也不截断。"))


def check_policy_gradient_loss_leaves_padding_out(answers):
    token_logps = torch.tensor([[-1.0, -2.0, -50.0], [-4.0, -60.0, -70.0]])
    mask = torch.tensor([[True, True, False], [True, False, False]])
    loss = answers.policy_gradient_loss(token_logps, torch.tensor([1.0, 1.0]), mask)
    expect_close(loss, torch.tensor(3.5), message(  # (3 + 4) / 2
        en="Only valid steps belong to a completion, and all of them: here padding was counted, or a valid step was not.",
        zh="只有有效步属于回答，且要全部算上：这里计入了填充，或漏掉了有效步。"))


def check_policy_gradient_loss_padding_may_be_infinite(answers):
    token_logps = torch.tensor([[-1.0, -2.0, -math.inf], [-4.0, math.nan, 1e6]])
    mask = torch.tensor([[True, True, False], [True, False, False]])
    loss = answers.policy_gradient_loss(token_logps, torch.tensor([1.0, 1.0]), mask)
    expect_close(loss, torch.tensor(3.5), message(
        en="Padding of -inf or NaN leaked into the loss: multiplying by the mask keeps it, since 0 · inf is NaN.",
        zh="填充处的 -inf 或 NaN 混入了损失：乘以掩码留住了它，因为 0 · inf 等于 NaN。"))


def check_policy_gradient_loss_gradient(answers):
    token_logps = torch.tensor([[-1.0, -2.0, -math.inf], [-4.0, math.nan, 1e6]], requires_grad=True)
    mask = torch.tensor([[True, True, False], [True, False, False]])
    loss = answers.policy_gradient_loss(token_logps, torch.tensor([1.0, -3.0]), mask)
    expect_close(gradient(loss, token_logps), torch.tensor([[-0.5, -0.5, 0.0], [1.5, 0.0, 0.0]]), message(
        en="The gradient with respect to every valid step's log-probability is minus the advantage over N, and 0 in the padding, however "
           "likely the step was.",
        zh="对每个有效步的对数概率，梯度等于优势的相反数除以 N，与这一步的概率大小无关；填充处为 0。"))


def check_policy_gradient_loss_advantages_are_frozen(answers):
    for n, length in ((2, 1), (1, 2)):
        token_logps, advantages = torch.full((n, length), -2.0, requires_grad=True), torch.ones(n, requires_grad=True)
        loss = answers.policy_gradient_loss(token_logps, advantages, torch.ones(n, length, dtype=torch.bool))
        expect_close(gradient(loss, advantages), torch.zeros(n), message(
            en="The advantages are weights, not something to learn: no gradient may reach them, or the critic would be trained by this "
               "loss.",
            zh="优势只是权重，不是要学的东西：梯度不能传到它，否则价值网络会被这个损失训练。"))


def check_policy_gradient_loss_takes_integers(answers):
    loss = answers.policy_gradient_loss(torch.tensor([[-0.5], [-0.25]]), torch.tensor([1, -1]), torch.ones(2, 1, dtype=torch.bool))
    expect_close(loss, torch.tensor(0.125), message(
        en="Advantages may be integers; neither they nor the log-probabilities may be rounded for that.",
        zh="优势可以是整数；优势与对数概率都不能因此被取整。"))


def check_policy_gradient_loss_leaves_inputs_alone(answers):
    token_logps, advantages, mask = torch.tensor([[-1.0, -50.0], [-2.0, -3.0]]), torch.tensor([1.0, 2.0]), torch.tensor(
        [[True, False], [True, True]])
    before = token_logps.clone(), advantages.clone(), mask.clone()
    answers.policy_gradient_loss(token_logps, advantages, mask)
    expect_unchanged(before, (token_logps, advantages, mask), message(
        en="The caller's log-probabilities, advantages or mask were overwritten.",
        zh="调用者的对数概率、优势或掩码被改写了。"))


def check_policy_gradient_loss_keeps_float64(answers):
    mask = torch.ones(1, 2, dtype=torch.bool)
    loss = answers.policy_gradient_loss(torch.tensor([[-1.0, -2.0]], dtype=torch.float64), torch.ones(1, dtype=torch.float64), mask)
    expect_close(1e9 * (loss.double() - 3.0), 0.0, message(
        en="A small number was added to a divisor, and the loss of one completion shows it: N is at least 1 and needs none.",
        zh="除数上加了一个很小的数，一条回答的损失看得出来：N 至少是 1，不需要加。"))
    for logps, advantage in (([[-1e8, -0.5]], 1.0), ([[-0.5, -0.5]], 1e8 + 0.5)):
        token_logps, advantages = torch.tensor(logps, dtype=torch.float64), torch.tensor([advantage], dtype=torch.float64)
        loss = answers.policy_gradient_loss(token_logps, advantages, mask)
        expect_close(loss - 1e8, 0.5, message(
            en="float64 log-probabilities or advantages were rounded to float32: the loss 100000000.5 lost its fraction.",
            zh="float64 的对数概率或优势被舍入成了 float32：损失 100000000.5 丢了小数部分。"))


def check_policy_gradient_loss_refuses_bad_input(answers):
    token_logps, advantages, mask = torch.tensor([[-1.0, -2.0]]), torch.tensor([1.0]), torch.tensor([[True, True]])
    said = message(
        en="The input check above the TODO must stay: ValueError for an advantage that is not finite, advantages that are not [N], a mask "
           "that is not bool, a completion without a valid step, a valid log-probability that is not finite.",
        zh="TODO 上方的输入检查要保留：优势不是有限数、优势不是 [N]、掩码不是布尔张量、回答没有有效步、有效步的对数概率不是有限数时"
           "抛出 ValueError。")
    answers.policy_gradient_loss(token_logps, advantages, mask)
    expect_error(lambda: answers.policy_gradient_loss(token_logps, advantages * math.nan, mask), said)
    expect_error(lambda: answers.policy_gradient_loss(token_logps, advantages[None], mask), said)
    expect_error(lambda: answers.policy_gradient_loss(token_logps, advantages, mask.long()), said)
    expect_error(lambda: answers.policy_gradient_loss(token_logps, advantages, mask & False), said)
    expect_error(lambda: answers.policy_gradient_loss(token_logps * math.inf, advantages, mask), said)


def hidden_policy_gradient_loss_random(answers, rng):
    for junk, n, length, size, weight, dtype in (
            (-math.inf, rng.integer(3, 8), rng.integer(9, 12), 1.0, 1.0, torch.float32),
            (math.nan, rng.integer(9, 20), rng.integer(13, 20), 1.0, 1e-3, torch.float32),
            (1e6, rng.integer(3, 8), 1, 1e3, 1e2, torch.float32), (-1e6, 1, rng.integer(9, 12), 1e-3, 1.0, torch.float64)):
        mask = rng.completion_mask(n, length)
        mask[0] = True  # one completion of full length
        token_logps = (size * rng.token_logps(n, length).to(dtype)).masked_fill(~mask, junk).requires_grad_()
        advantages = (weight * rng.normal(n).to(dtype)).requires_grad_()
        loss, slopes = spec.policy_gradient_loss(token_logps, advantages, mask)
        got = answers.policy_gradient_loss(token_logps, advantages, mask)
        # Compared with the largest term, since the mean itself may come out near 0.
        largest = float((advantages.detach() * token_logps.detach().masked_fill(~mask, 0.0).sum(dim=1)).abs().max())
        expect_close(torch.stack([got.detach().double(), torch.tensor(largest)]), [float(loss), largest], message(
            en="Random completions and advantages: the loss is wrong.",
            zh="随机的回答与优势：损失有误。"))
        expect_close([gradient(got, token_logps), gradient(got, advantages)], [slopes, [0.0] * n], message(
            en="Random completions and advantages: the gradient is wrong.",
            zh="随机的回答与优势：梯度有误。"))


def hidden_policy_gradient_loss_bandit(answers, rng):
    for baseline in (0.0, rng.uniform(-2.0, 2.0)):
        logits = rng.normal(3).requires_grad_()
        logps = torch.log_softmax(logits, dim=0)
        chances, rewards = logps.exp().detach(), rng.normal(3)
        # Every arm once, weighted by its chance: three times the mean is the expectation over the policy.
        loss = answers.policy_gradient_loss(logps[:, None], 3.0 * chances * (rewards - baseline), torch.ones(3, 1, dtype=torch.bool))
        exact = chances * (rewards - (chances * rewards).sum())  # the gradient of the expected reward by the logits
        expect_close(-gradient(loss, logits), exact, message(
            en="A bandit with three arms, averaged over all that it may draw: the gradient is not that of the expected reward, with any "
               "baseline.",
            zh="三个臂的老虎机，对所有可能的选择取期望：梯度不等于期望奖励的梯度；不论基线是多少，都应相等。"))
