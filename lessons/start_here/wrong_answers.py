"""Mistakes that the checks of lesson 00 must reject: name, the misconception, the check whose message speaks of it, the code."""

from lessons._build.answers import wrong

wrong("sum", "the mean reward is the total reward | 平均奖励就是总奖励",
      caught_by="check_mean_reward_averages",
      todo_1="mean = rewards.nansum()")

wrong("median", "the middle reward will do | 取中间的奖励就行",
      caught_by="check_mean_reward_averages",
      todo_1="mean = rewards.nanmedian()")

wrong("middle_of_the_range", "the mean lies halfway between smallest and largest | 均值在最小与最大的正中间",
      caught_by="check_mean_reward_averages",
      todo_1="""
      known = rewards[~rewards.isnan()]
      mean = (known.min() + known.max()) / 2 if len(known) else rewards.nanmean()
      """)

wrong("divided_by_one_less", "a mean divides by N - 1, like a variance | 均值像方差一样除以 N - 1",
      caught_by="check_mean_reward_averages",
      todo_1="""
      scored = ~rewards.isnan()
      mean = rewards[scored].sum() / (scored.sum() - 1)
      """)

wrong("one_for_each_reward", "the mean is subtracted from each reward already | 均值已经从每个奖励中减去",
      caught_by="check_mean_reward_averages",
      todo_1="mean = rewards - rewards.nanmean()")

wrong("kept_dimension", "a mean keeps its dimension | 均值保留维度",
      caught_by="check_mean_reward_averages",
      todo_1="mean = rewards.nanmean(dim=0, keepdim=True)")

wrong("largest", "the best reward stands for all | 用最高的奖励代表全部",
      caught_by="check_mean_reward_averages",
      todo_1="mean = rewards.nan_to_num(nan=-1e9).max()")

wrong("nan_ignored", "mean() skips NaN by itself | mean() 会自己跳过 NaN",
      caught_by="check_mean_reward_missing_does_not_spread",
      todo_1="mean = rewards.mean()")

wrong("compared_with_nan", "NaN is found with != | 用 != 就能找到 NaN",
      caught_by="check_mean_reward_missing_does_not_spread",
      todo_1='mean = rewards[rewards != float("nan")].mean()')

wrong("multiplied_by_the_mask", "multiplying by 0 removes anything | 乘以 0 就能去掉任何值",
      caught_by="check_mean_reward_missing_does_not_spread",
      todo_1="""
      scored = ~rewards.isnan()
      mean = (rewards * scored).sum() / scored.sum()
      """)

wrong("mask_inverted", "the mask marks what is missing | 掩码标出的是缺失的位置",
      caught_by="check_mean_reward_averages",
      todo_1="""
      scored = rewards.isnan()
      mean = rewards[scored].mean()
      """)

wrong("filled_with_zero", "a missing reward counts as 0 | 缺失奖励算作 0",
      caught_by="check_mean_reward_missing_is_not_zero",
      todo_1="mean = rewards.nan_to_num(0.0).mean()")

wrong("divided_by_all", "leaving NaN out of the sum is enough | 求和时跳过 NaN 就够了",
      caught_by="check_mean_reward_missing_is_not_zero",
      todo_1="""
      mean = rewards.nansum() / len(rewards)
      if rewards.isnan().all():
          mean = rewards[0]
      """)

wrong("filled_with_one", "a missing reward is given the benefit of the doubt | 缺失奖励按满分算",
      caught_by="check_mean_reward_missing_is_not_zero",
      todo_1="mean = rewards.nan_to_num(1.0).mean()")

wrong("filled_with_the_one_before", "a missing reward repeats the one before it | 缺失奖励沿用前一个",
      caught_by="check_mean_reward_missing_is_not_zero",
      todo_1="""
      filled = rewards.clone()
      for i in range(1, len(filled)):
          if filled[i].isnan():
              filled[i] = filled[i - 1]
      mean = filled.mean()
      """)

wrong("stops_at_the_first_missing", "nothing comes after a missing reward | 缺失奖励之后什么也没有",
      caught_by="check_mean_reward_missing_is_not_zero",
      todo_1="""
      before = rewards.isnan().long().cumsum(0) == 0
      mean = rewards[before].mean()
      """)

wrong("positive_only", "a reward of 0 says nothing | 奖励为 0 等于没有奖励",
      caught_by="check_mean_reward_zero_is_a_reward",
      todo_1="""
      scored = ~rewards.isnan() & (rewards != 0)
      mean = rewards[scored].mean()
      """)

wrong("none_there_is_zero", "no reward at all is a mean of 0 | 一个奖励也没有，均值就是 0",
      caught_by="check_mean_reward_none_there_is_nan",
      todo_1="""
      scored = ~rewards.isnan()
      mean = rewards[scored].sum() / scored.sum().clamp(min=1)
      """)

wrong("none_there_is_an_error", "there is always a reward | 总会有奖励",
      caught_by="check_mean_reward_none_there_is_nan",
      todo_1="""
      known = [reward for reward in rewards.tolist() if reward == reward]
      mean = torch.tensor(sum(known) / len(known))
      """)

wrong("whole_numbers_in_whole_number_out", "the mean of integers is an integer | 整数的均值还是整数",
      caught_by="check_mean_reward_takes_integers",
      function="""
      def mean_reward(rewards):
          if rewards.ndim != 1 or rewards.numel() == 0 or torch.isinf(rewards).any():
              raise ValueError("rewards must be [N], finite or NaN")
          if not rewards.is_floating_point():
              return rewards.sum() // len(rewards)
          return rewards.nanmean()
      """)

wrong("conversion_removed", "rewards are floats anyway | 奖励总是浮点数",
      caught_by="check_mean_reward_takes_integers",
      function="""
      def mean_reward(rewards):
          if rewards.ndim != 1 or rewards.numel() == 0 or torch.isinf(rewards).any():
              raise ValueError("rewards must be [N], finite or NaN")
          return rewards[~rewards.isnan()].mean()
      """)

wrong("overwritten", "the caller's NaN may become 0 | 可以把调用者的 NaN 改成 0",
      caught_by="check_mean_reward_leaves_inputs_alone",
      todo_1="""
      scored = ~rewards.isnan()
      rewards[~scored] = 0.0
      mean = rewards.sum() / scored.sum()
      """)

wrong("infinite_taken_as_missing", "an infinite reward is missing, too | 无穷的奖励也算缺失",
      caught_by="check_mean_reward_refuses_bad_input",
      function="""
      def mean_reward(rewards):
          if rewards.ndim != 1 or rewards.numel() == 0:
              raise ValueError("rewards must be [N], N > 0")
          rewards = rewards.float()
          return rewards[rewards.isfinite()].mean()
      """)

wrong("any_shape_taken", "a mean is a mean, whatever the shape | 不管什么形状，均值就是均值",
      caught_by="check_mean_reward_refuses_bad_input",
      function="""
      def mean_reward(rewards):
          if torch.isinf(rewards).any():
              raise ValueError("a missing reward is NaN, never infinite")
          return rewards.float().nanmean()
      """)
