"""Mistakes that the checks of lesson reward signal must reject: name, the misconception, the check whose message speaks of it, the code.

The code replaces the TODO region; `function=` replaces the whole function where a mistake lies outside the region.
"""

from lessons._build.answers import equivalent, wrong

# TODO 1: combine_reward_components

wrong("weights_left_out", "every component counts the same | 每个分量同样重要",
      caught_by="check_combine_reward_components_is_a_weighted_sum",
      todo_1="""
      absent = components.isnan()
      unscored = absent.all(dim=1) if missing == "skip" else absent.any(dim=1)
      rewards = components.nansum(dim=1).masked_fill(unscored, math.nan)
      """)

wrong("weights_normalized", "weights are shares that add up to 1 | 权重是加起来为 1 的份额",
      caught_by="check_combine_reward_components_is_a_weighted_sum",
      todo_1="""
      absent = components.isnan()
      unscored = absent.all(dim=1) if missing == "skip" else absent.any(dim=1)
      rewards = (components * weights / weights.sum()).nansum(dim=1).masked_fill(unscored, math.nan)
      """)

wrong("softmax_of_weights", "weights go through a softmax first | 权重先过一遍 softmax",
      caught_by="check_combine_reward_components_is_a_weighted_sum",
      todo_1="""
      absent = components.isnan()
      unscored = absent.all(dim=1) if missing == "skip" else absent.any(dim=1)
      rewards = (components * weights.softmax(dim=0)).nansum(dim=1).masked_fill(unscored, math.nan)
      """)

wrong("mean_of_components", "the reward is the average of its components | 奖励是各分量的平均",
      caught_by="check_combine_reward_components_is_a_weighted_sum",
      todo_1="""
      absent = components.isnan()
      unscored = absent.all(dim=1) if missing == "skip" else absent.any(dim=1)
      rewards = (components * weights).nanmean(dim=1).masked_fill(unscored, math.nan)
      """)

wrong("summed_over_completions", "the sum runs over the batch | 沿批求和",
      caught_by="check_combine_reward_components_is_a_weighted_sum",
      todo_1="rewards = (components * weights).nansum(dim=0)")

wrong("column_of_rewards", "rewards stay a column | 奖励保持为一列",
      caught_by="check_combine_reward_components_is_a_weighted_sum",
      todo_1="""
      unscored = components.isnan().all(dim=1, keepdim=True)
      rewards = (components * weights).nansum(dim=1, keepdim=True).masked_fill(unscored, math.nan)
      """)

wrong("components_multiplied", "all components must be good at once, so they are multiplied | 各分量要同时好，所以相乘",
      caught_by="check_combine_reward_components_is_a_weighted_sum",
      todo_1="""
      absent = components.isnan()
      unscored = absent.all(dim=1) if missing == "skip" else absent.any(dim=1)
      rewards = (components * weights).masked_fill(absent, 1.0).prod(dim=1).masked_fill(unscored, math.nan)
      """)

wrong("components_standardized", "components are brought to one scale first | 分量要先统一尺度",
      caught_by="check_combine_reward_components_is_a_weighted_sum",
      todo_1="""
      absent = components.isnan()
      unscored = absent.all(dim=1) if missing == "skip" else absent.any(dim=1)
      scaled = components / (components.nan_to_num().std(dim=0) + 1e-6)
      rewards = (scaled * weights).nansum(dim=1).masked_fill(unscored, math.nan)
      """)

wrong("penalty_becomes_bonus", "a weight is a size, its sign means nothing | 权重只看大小，符号没有意义",
      caught_by="check_combine_reward_components_weight_may_be_negative",
      todo_1="""
      absent = components.isnan()
      unscored = absent.all(dim=1) if missing == "skip" else absent.any(dim=1)
      rewards = (components * weights.abs()).nansum(dim=1).masked_fill(unscored, math.nan)
      """)

wrong("reward_never_negative", "a reward cannot be below 0 | 奖励不会低于 0",
      caught_by="check_combine_reward_components_weight_may_be_negative",
      todo_1="""
      absent = components.isnan()
      unscored = absent.all(dim=1) if missing == "skip" else absent.any(dim=1)
      rewards = (components * weights).nansum(dim=1).clamp(min=0.0).masked_fill(unscored, math.nan)
      """)

wrong("one_missing_spoils_all", "NaN anywhere in a completion makes its reward NaN | 只要有 NaN，奖励就是 NaN",
      caught_by="check_combine_reward_components_skips_what_is_missing",
      todo_1="rewards = (components * weights).sum(dim=1)")

wrong("modes_swapped", '"skip" skips the completion, not the component | "skip" 跳过的是回答，不是分量',
      caught_by="check_combine_reward_components_skips_what_is_missing",
      todo_1="""
      absent = components.isnan()
      unscored = absent.any(dim=1) if missing == "skip" else absent.all(dim=1)
      rewards = (components * weights).nansum(dim=1).masked_fill(unscored, math.nan)
      """)

wrong("rescaled_to_what_is_present", "the weights present must make up for the missing ones | 剩下的权重要补足缺失的",
      caught_by="check_combine_reward_components_skips_what_is_missing",
      todo_1="""
      absent = components.isnan()
      unscored = absent.all(dim=1) if missing == "skip" else absent.any(dim=1)
      share = weights.sum() / (weights * ~absent).sum(dim=1)
      rewards = ((components * weights).nansum(dim=1) * share).masked_fill(unscored, math.nan)
      """)

wrong("filled_with_the_batch_mean", "a missing component is guessed from the other completions | 缺失的分量用其他回答的均值填补",
      caught_by="check_combine_reward_components_skips_what_is_missing",
      todo_1="""
      absent = components.isnan()
      unscored = absent.all(dim=1) if missing == "skip" else absent.any(dim=1)
      filled = torch.where(absent, components.nanmean(dim=0), components)
      rewards = (filled * weights).nansum(dim=1).masked_fill(unscored, math.nan)
      """)

wrong("component_dropped_for_all", "a component missing once is used for nobody | 有一次缺失的分量，谁都不用",
      caught_by="check_combine_reward_components_skips_what_is_missing",
      todo_1="""
      absent = components.isnan()
      complete = ~absent.any(dim=0)
      unscored = absent.all(dim=1) if missing == "skip" else absent.any(dim=1)
      rewards = (components[:, complete] * weights[complete]).sum(dim=1).masked_fill(unscored, math.nan)
      """)

wrong("missing_is_zero", "an unscored completion gets 0 | 没有打分的回答得 0",
      caught_by="check_combine_reward_components_nothing_scored_is_missing",
      todo_1="""
      unscored = components.isnan().any(dim=1) & (missing == "propagate")
      rewards = (components * weights).nansum(dim=1).masked_fill(unscored, math.nan)
      """)

wrong("unscored_left_out", "an unscored completion is dropped from the batch | 没有打分的回答从批中删去",
      caught_by="check_combine_reward_components_nothing_scored_is_missing",
      todo_1="""
      absent = components.isnan()
      unscored = absent.all(dim=1) if missing == "skip" else absent.any(dim=1)
      rewards = (components * weights).nansum(dim=1)[~unscored]
      """)

wrong("zero_is_missing", "a reward of 0 means that nobody scored | 奖励为 0 说明没有打分",
      caught_by="check_combine_reward_components_zero_is_a_score",
      todo_1="""
      rewards = (components * weights).nansum(dim=1)
      unscored = rewards == 0 if missing == "skip" else components.isnan().any(dim=1)
      rewards = rewards.masked_fill(unscored, math.nan)
      """)

wrong("weight_zero_is_missing", "a component with weight 0 is not there | 权重为 0 的分量等于不存在",
      caught_by="check_combine_reward_components_zero_is_a_score",
      todo_1="""
      absent = components.isnan() | (weights == 0)
      unscored = absent.all(dim=1) if missing == "skip" else absent.any(dim=1)
      rewards = (components * weights).nansum(dim=1).masked_fill(unscored, math.nan)
      """)

wrong("propagate_ignored", "both modes are the same | 两种模式是一样的",
      caught_by="check_combine_reward_components_propagate",
      todo_1="rewards = (components * weights).nansum(dim=1).masked_fill(components.isnan().all(dim=1), math.nan)")

wrong("propagates_to_the_batch", "one missing component spoils the whole batch | 缺一个分量，整批作废",
      caught_by="check_combine_reward_components_propagate",
      todo_1="""
      absent = components.isnan()
      unscored = absent.all(dim=1) if missing == "skip" else absent.any().expand(len(components))
      rewards = (components * weights).nansum(dim=1).masked_fill(unscored, math.nan)
      """)

wrong("rewards_as_integers", "integer components give integer rewards | 整数分量得到整数奖励",
      caught_by="check_combine_reward_components_takes_integers",
      function="""
      def combine_reward_components(components, weights, missing="skip"):
          if components.ndim != 2 or weights.shape != components.shape[1:] or missing not in ("skip", "propagate"):
              raise ValueError("components must be [N, K] and weights [K]")
          absent = components.isnan()
          unscored = absent.all(dim=1) if missing == "skip" else absent.any(dim=1)
          rewards = torch.zeros(len(components), dtype=components.dtype)
          rewards.copy_((components * weights).nansum(dim=1).detach())
          return rewards.masked_fill(unscored, math.nan) if unscored.any() else rewards
      """)

wrong("reward_model_learns", "the reward stays connected with what gave it | 奖励与打分的模型保持相连",
      caught_by="check_combine_reward_components_is_frozen",
      function="""
      def combine_reward_components(components, weights, missing="skip"):
          if components.ndim != 2 or components.numel() == 0 or weights.shape != components.shape[1:]:
              raise ValueError("components must be [N, K] and weights [K]")
          if torch.isinf(components).any() or not torch.isfinite(weights).all() or missing not in ("skip", "propagate"):
              raise ValueError("not infinite, and missing is skip or propagate")
          absent = components.isnan()
          unscored = absent.all(dim=1) if missing == "skip" else absent.any(dim=1)
          return (components * weights).nansum(dim=1).masked_fill(unscored, math.nan)
      """)

wrong("components_overwritten", "missing components may be set to 0 in place | 可以就地把缺失的分量改成 0",
      caught_by="check_combine_reward_components_leaves_inputs_alone",
      todo_1="""
      absent = components.isnan()
      unscored = absent.all(dim=1) if missing == "skip" else absent.any(dim=1)
      components[absent] = 0.0
      rewards = (components * weights).sum(dim=1).masked_fill(unscored, math.nan)
      """)

wrong("sum_in_float32", "float32 is always enough | float32 总是够用",
      caught_by="check_combine_reward_components_keeps_float64",
      todo_1="""
      absent = components.isnan()
      unscored = absent.all(dim=1) if missing == "skip" else absent.any(dim=1)
      rewards = (components.float() * weights.float()).nansum(dim=1).masked_fill(unscored, math.nan)
      """)

wrong("weights_in_float32", "weights are round numbers, so float32 is enough | 权重都是整齐的数，float32 足够",
      caught_by="check_combine_reward_components_keeps_float64",
      todo_1="""
      absent = components.isnan()
      unscored = absent.all(dim=1) if missing == "skip" else absent.any(dim=1)
      rewards = (components * weights.float()).nansum(dim=1).masked_fill(unscored, math.nan)
      """)

wrong("any_word_propagates", "every other word means propagate | 别的词都当作 propagate",
      caught_by="check_combine_reward_components_refuses_bad_input",
      function="""
      def combine_reward_components(components, weights, missing="skip"):
          components, weights = components.detach().double(), weights.detach().double()
          absent = components.isnan()
          unscored = absent.all(dim=1) if missing == "skip" else absent.any(dim=1)
          return (components * weights).nansum(dim=1).masked_fill(unscored, math.nan)
      """)

wrong("large_components_limited", "a component beyond 10 is an outlier | 超过 10 的分量是异常值",
      caught_by="check_combine_reward_components_limits_nothing",
      todo_1="""
      absent = components.isnan()
      unscored = absent.all(dim=1) if missing == "skip" else absent.any(dim=1)
      rewards = (components.clamp(-10.0, 10.0) * weights).nansum(dim=1).masked_fill(unscored, math.nan)
      """)

wrong("large_rewards_limited", "a reward stays within 100 | 奖励限制在 100 以内",
      caught_by="check_combine_reward_components_limits_nothing",
      todo_1="""
      absent = components.isnan()
      unscored = absent.all(dim=1) if missing == "skip" else absent.any(dim=1)
      rewards = (components * weights).nansum(dim=1).clamp(-100.0, 100.0).masked_fill(unscored, math.nan)
      """)

wrong("large_weights_limited", "a weight is at most 10 | 权重最多为 10",
      caught_by="check_combine_reward_components_limits_nothing",
      todo_1="""
      absent = components.isnan()
      unscored = absent.all(dim=1) if missing == "skip" else absent.any(dim=1)
      rewards = (components * weights.clamp(max=10)).nansum(dim=1).masked_fill(unscored, math.nan)
      """)

wrong("large_component_is_missing", "a component beyond 999 stands for a missing one | 超过 999 的分量表示缺失",
      caught_by="check_combine_reward_components_limits_nothing",
      todo_1="""
      components = torch.where(components.abs() > 999, math.nan, components)
      absent = components.isnan()
      unscored = absent.all(dim=1) if missing == "skip" else absent.any(dim=1)
      rewards = (components * weights).nansum(dim=1).masked_fill(unscored, math.nan)
      """)

wrong("minus_one_is_missing", "a component of -1 stands for a missing one | 分量 -1 表示缺失",
      caught_by="check_combine_reward_components_zero_is_a_score",
      todo_1="""
      components = torch.where(components == -1, math.nan, components)
      absent = components.isnan()
      unscored = absent.all(dim=1) if missing == "skip" else absent.any(dim=1)
      rewards = (components * weights).nansum(dim=1).masked_fill(unscored, math.nan)
      """)

wrong("four_components_at_most", "there are at most 4 components | 分量最多 4 个",
      caught_by="hidden_combine_reward_components_random",
      todo_1="""
      absent = components.isnan()
      unscored = absent.all(dim=1) if missing == "skip" else absent.any(dim=1)
      rewards = (components * weights)[:, :4].nansum(dim=1).masked_fill(unscored, math.nan)
      """)

wrong("reward_rounded", "four decimals of a reward are enough | 奖励保留四位小数就够了",
      caught_by="hidden_combine_reward_components_random",
      todo_1="""
      absent = components.isnan()
      unscored = absent.all(dim=1) if missing == "skip" else absent.any(dim=1)
      rewards = (components * weights).nansum(dim=1).round(decimals=4).masked_fill(unscored, math.nan)
      """)

wrong("squeezed", "squeeze() only drops the dimension of components | squeeze() 只会去掉分量维",
      caught_by="check_combine_reward_components_is_a_weighted_sum",
      todo_1="""
      absent = components.isnan()
      unscored = absent.all(dim=1) if missing == "skip" else absent.any(dim=1)
      rewards = (components * weights).nansum(dim=1).masked_fill(unscored, math.nan).squeeze()
      """)

wrong("one_component_needs_no_weight", "a single component needs no weight | 只有一个分量就不需要权重",
      caught_by="hidden_combine_reward_components_random",
      todo_1="""
      absent = components.isnan()
      unscored = absent.all(dim=1) if missing == "skip" else absent.any(dim=1)
      weighted = components if components.shape[1] == 1 else components * weights
      rewards = weighted.nansum(dim=1).masked_fill(unscored, math.nan)
      """)

wrong("default_is_propagate", "a missing component spoils the reward unless told otherwise | 未说明时，缺一个分量奖励就作废",
      caught_by="check_combine_reward_components_skips_what_is_missing",
      function="""
      solved = combine_reward_components

      def combine_reward_components(components, weights, missing="propagate"):
          return solved(components, weights, missing)
      """)

wrong("stops_at_the_first_missing", "nothing counts after the first missing component | 第一个缺失分量之后的都不算",
      caught_by="check_combine_reward_components_skips_what_is_missing",
      todo_1="""
      rewards = torch.full((len(components),), math.nan, dtype=components.dtype)
      for i, row in enumerate(components):
          for weight, component in zip(weights, row):
              if component.isnan():
                  if missing == "propagate":
                      rewards[i] = math.nan
                  break
              rewards[i] = weight * component + (0.0 if rewards[i].isnan() else rewards[i])
      """)

wrong("loop_ends_at_an_unscored_completion", "an unscored completion ends the loop | 遇到没有打分的回答就结束循环",
      caught_by="check_combine_reward_components_nothing_scored_is_missing",
      todo_1="""
      rewards = torch.full((len(components),), math.nan, dtype=components.dtype)
      for i, row in enumerate(components):
          present = ~row.isnan()
          if not present.any():
              break
          if missing == "skip" or present.all():
              rewards[i] = (row[present] * weights[present]).sum()
      """)

# TODO 2: discounted_returns

wrong("sum_of_the_past", "the return adds up what was earned so far | 回报是到目前为止的奖励之和",
      caught_by="check_discounted_returns_sums_what_is_to_come",
      todo_2="""
      valid_rewards = rewards.masked_fill(~completion_mask, 0.0)
      later = 0.0
      for t in range(rewards.shape[1]):
          later = valid_rewards[:, t] + gamma * later
          returns[:, t] = later
      """)

wrong("total_at_every_step", "every step gets the whole reward of the completion | 每一步都得到整条回答的奖励",
      caught_by="check_discounted_returns_sums_what_is_to_come",
      todo_2="""
      total = rewards.masked_fill(~completion_mask, 0.0).sum(dim=1, keepdim=True)
      returns = total.expand_as(rewards).masked_fill(~completion_mask, 0.0)
      """)

wrong("one_return_for_each_completion", "a completion has one return | 一条回答只有一个回报",
      caught_by="check_discounted_returns_sums_what_is_to_come",
      todo_2="""
      powers = gamma ** torch.arange(rewards.shape[1], dtype=rewards.dtype)
      returns = (rewards.masked_fill(~completion_mask, 0.0) * powers).sum(dim=1)
      """)

wrong("own_reward_left_out", "a step's own reward is already in the past | 这一步自己的奖励已成过去",
      caught_by="check_discounted_returns_sums_what_is_to_come",
      todo_2="""
      valid_rewards = rewards.masked_fill(~completion_mask, 0.0)
      later = 0.0
      for t in reversed(range(rewards.shape[1])):
          returns[:, t] = gamma * later
          later = valid_rewards[:, t] + gamma * later
      """)

wrong("rewards_returned", "the return of a step is its reward | 一步的回报就是它的奖励",
      caught_by="check_discounted_returns_sums_what_is_to_come",
      todo_2="returns = rewards.masked_fill(~completion_mask, 0.0)")

wrong("two_steps_only", "only the next reward is added | 只加下一步的奖励",
      caught_by="check_discounted_returns_sums_what_is_to_come",
      todo_2="""
      returns = rewards.masked_fill(~completion_mask, 0.0)
      returns[:, :-1] += gamma * returns[:, 1:].clone()
      """)

wrong("first_step_forgotten", "range(T - 1, 0, -1) reaches every step | range(T - 1, 0, -1) 会走到每一步",
      caught_by="check_discounted_returns_sums_what_is_to_come",
      todo_2="""
      valid_rewards = rewards.masked_fill(~completion_mask, 0.0)
      later = 0.0
      for t in range(rewards.shape[1] - 1, 0, -1):
          later = valid_rewards[:, t] + gamma * later
          returns[:, t] = later
      """)

wrong("gamma_left_out", "discounting changes nothing that matters | 打不打折扣无所谓",
      caught_by="check_discounted_returns_discounts_once_a_step",
      todo_2="""
      valid_rewards = rewards.masked_fill(~completion_mask, 0.0)
      returns = valid_rewards.flip(1).cumsum(dim=1).flip(1).masked_fill(~completion_mask, 0.0)
      """)

wrong("own_reward_discounted", "a step's own reward is discounted too | 这一步自己的奖励也要打折扣",
      caught_by="check_discounted_returns_discounts_once_a_step",
      todo_2="""
      valid_rewards = rewards.masked_fill(~completion_mask, 0.0)
      later = 0.0
      for t in reversed(range(rewards.shape[1])):
          later = gamma * (valid_rewards[:, t] + later)
          returns[:, t] = later
      """)

wrong("discounted_from_the_prompt", "time is counted from the beginning of the completion | 时间从回答开头算起",
      caught_by="check_discounted_returns_discounts_once_a_step",
      todo_2="""
      powers = gamma ** torch.arange(rewards.shape[1], dtype=rewards.dtype)
      discounted = rewards.masked_fill(~completion_mask, 0.0) * powers
      returns = discounted.flip(1).cumsum(dim=1).flip(1).masked_fill(~completion_mask, 0.0)
      """)

wrong("discounted_once_for_all", "everything later is multiplied by gamma once | 之后的全部只乘一次 gamma",
      caught_by="check_discounted_returns_discounts_once_a_step",
      todo_2="""
      valid_rewards = rewards.masked_fill(~completion_mask, 0.0)
      following = valid_rewards.flip(1).cumsum(dim=1).flip(1) - valid_rewards
      returns = (valid_rewards + gamma * following).masked_fill(~completion_mask, 0.0)
      """)

wrong("averaged_like_a_moving_mean", "new and old are mixed by 1 - gamma and gamma | 新旧按 1 - gamma 与 gamma 混合",
      caught_by="check_discounted_returns_sums_what_is_to_come",
      todo_2="""
      valid_rewards = rewards.masked_fill(~completion_mask, 0.0)
      later = 0.0
      for t in reversed(range(rewards.shape[1])):
          later = (1.0 - gamma) * valid_rewards[:, t] + gamma * later
          returns[:, t] = later
      """)

wrong("default_of_games", "gamma is 0.99, as in games | gamma 取 0.99，像游戏里那样",
      caught_by="check_discounted_returns_default_gamma",
      function="""
      def discounted_returns(rewards, completion_mask, gamma=0.99):
          require_steps(completion_mask, rewards)
          if not 0 <= gamma <= 1:
              raise ValueError("gamma must lie in [0, 1]")
          rewards = rewards.detach() if rewards.is_floating_point() else rewards.float()
          returns, later = torch.zeros_like(rewards), 0.0
          valid_rewards = rewards.masked_fill(~completion_mask, 0.0)
          for t in reversed(range(rewards.shape[1])):
              later = valid_rewards[:, t] + gamma * later
              returns[:, t] = later
          return returns
      """)

wrong("divided_by_powers_of_gamma", "a cumulative sum over gamma^t, divided by gamma^t | 用 gamma^t 加权累加，再除以 gamma^t",
      caught_by="check_discounted_returns_gamma_may_be_zero",
      todo_2="""
      powers = gamma ** torch.arange(rewards.shape[1], dtype=rewards.dtype)
      discounted = rewards.masked_fill(~completion_mask, 0.0) * powers
      returns = (discounted.flip(1).cumsum(dim=1).flip(1) / powers).masked_fill(~completion_mask, 0.0)
      """)

wrong("gamma_zero_means_none", "gamma = 0 switches discounting off | gamma = 0 就是不打折扣",
      caught_by="check_discounted_returns_gamma_may_be_zero",
      todo_2="""
      valid_rewards = rewards.masked_fill(~completion_mask, 0.0)
      later = 0.0
      for t in reversed(range(rewards.shape[1])):
          later = valid_rewards[:, t] + (gamma or 1.0) * later
          returns[:, t] = later
      """)

wrong("carried_into_the_next_row", "the batch is one long sequence | 整批是一条长序列",
      caught_by="check_discounted_returns_each_completion_on_its_own",
      todo_2="""
      flat = rewards.masked_fill(~completion_mask, 0.0).flatten()
      sums, later = torch.zeros_like(flat), 0.0
      for t in reversed(range(len(flat))):
          later = flat[t] + gamma * later
          sums[t] = later
      returns = sums.reshape(rewards.shape).masked_fill(~completion_mask, 0.0)
      """)

wrong("along_the_batch", "steps run along the first dimension | 步沿第一维排列",
      caught_by="check_discounted_returns_each_completion_on_its_own",
      todo_2="""
      valid_rewards = rewards.masked_fill(~completion_mask, 0.0)
      later = 0.0
      for t in reversed(range(rewards.shape[0])):
          later = valid_rewards[t] + gamma * later
          returns[t] = later
      """)

wrong("batch_mean_subtracted", "returns are centered over the batch | 回报在批内减去均值",
      caught_by="check_discounted_returns_each_completion_on_its_own",
      todo_2="""
      valid_rewards = rewards.masked_fill(~completion_mask, 0.0)
      later = 0.0
      for t in reversed(range(rewards.shape[1])):
          later = valid_rewards[:, t] + gamma * later
          returns[:, t] = later
      returns = returns - returns.mean(dim=0)
      """)

wrong("mask_ignored", "padding has reward 0 anyway | 填充的奖励本来就是 0",
      caught_by="check_discounted_returns_leaves_padding_out",
      todo_2="""
      later = 0.0
      for t in reversed(range(rewards.shape[1])):
          later = rewards[:, t] + gamma * later
          returns[:, t] = later
      """)

wrong("padding_zeroed_at_the_end", "it is enough to clear the padding of the result | 只清掉结果里的填充就够了",
      caught_by="check_discounted_returns_leaves_padding_out",
      todo_2="""
      later = 0.0
      for t in reversed(range(rewards.shape[1])):
          later = rewards[:, t] + gamma * later
          returns[:, t] = later
      returns = returns.masked_fill(~completion_mask, 0.0)
      """)

wrong("padding_takes_a_discount", "every column costs one discount | 每一列都要打一次折扣",
      caught_by="check_discounted_returns_leaves_padding_out",
      todo_2="""
      valid_rewards = rewards.masked_fill(~completion_mask, 0.0)
      lengths = completion_mask.sum(dim=1)
      later = 0.0
      for t in reversed(range(rewards.shape[1])):
          later = valid_rewards[:, t] + gamma * later
          returns[:, t] = later * gamma ** (rewards.shape[1] - lengths)
      """)

wrong("last_return_repeated", "after the end the last return stays | 结束之后保持最后的回报",
      caught_by="check_discounted_returns_leaves_padding_out",
      todo_2="""
      valid_rewards = rewards.masked_fill(~completion_mask, 0.0)
      later = 0.0
      for t in reversed(range(rewards.shape[1])):
          later = valid_rewards[:, t] + gamma * later
          returns[:, t] = later
      last = returns.gather(1, completion_mask.sum(dim=1, keepdim=True) - 1)
      returns = torch.where(completion_mask, returns, last)
      """)

wrong("multiplied_by_mask", "multiplying by 0 removes anything | 乘以 0 就能去掉任何值",
      caught_by="check_discounted_returns_padding_may_be_infinite",
      todo_2="""
      valid_rewards = rewards * completion_mask
      later = 0.0
      for t in reversed(range(rewards.shape[1])):
          later = valid_rewards[:, t] + gamma * later
          returns[:, t] = later
      """)

wrong("returns_as_integers", "integer rewards give integer returns | 整数奖励得到整数回报",
      caught_by="check_discounted_returns_takes_integers",
      function="""
      def discounted_returns(rewards, completion_mask, gamma=1.0):
          require_steps(completion_mask, rewards)
          if not 0 <= gamma <= 1:
              raise ValueError("gamma must lie in [0, 1]")
          returns, later = torch.zeros_like(rewards.detach()), 0
          valid_rewards = rewards.detach().masked_fill(~completion_mask, 0)
          for t in reversed(range(rewards.shape[1])):
              later = valid_rewards[:, t] + gamma * later
              returns[:, t] = later
          return returns
      """)

wrong("returns_learn", "returns stay in the graph | 回报留在计算图中",
      caught_by="check_discounted_returns_is_frozen",
      function="""
      def discounted_returns(rewards, completion_mask, gamma=1.0):
          require_steps(completion_mask, rewards)
          if not 0 <= gamma <= 1:
              raise ValueError("gamma must lie in [0, 1]")
          valid_rewards = rewards.float().masked_fill(~completion_mask, 0.0) if not rewards.is_floating_point() else torch.where(
              completion_mask, rewards, 0.0)
          returns, later = [], 0.0
          for t in reversed(range(rewards.shape[1])):
              later = valid_rewards[:, t] + gamma * later
              returns.insert(0, later)
          return torch.stack(returns, dim=1)
      """)

wrong("rewards_overwritten", "the returns may be written over the rewards | 回报可以直接写进奖励里",
      caught_by="check_discounted_returns_leaves_inputs_alone",
      todo_2="""
      returns = rewards
      returns[~completion_mask] = 0.0
      for t in reversed(range(rewards.shape[1] - 1)):
          returns[:, t] += gamma * returns[:, t + 1]
      """)

wrong("returns_in_float32", "float32 is always enough | float32 总是够用",
      caught_by="check_discounted_returns_keeps_float64",
      todo_2="""
      valid_rewards = rewards.float().masked_fill(~completion_mask, 0.0)
      later = 0.0
      for t in reversed(range(rewards.shape[1])):
          later = valid_rewards[:, t] + gamma * later
          returns[:, t] = later
      """)

wrong("any_gamma_taken", "a gamma above 1 is harmless | gamma 大于 1 也无妨",
      caught_by="check_discounted_returns_refuses_bad_input",
      function="""
      def discounted_returns(rewards, completion_mask, gamma=1.0):
          require_steps(completion_mask, rewards)
          rewards = rewards.detach() if rewards.is_floating_point() else rewards.float()
          returns, later = torch.zeros_like(rewards), 0.0
          valid_rewards = rewards.masked_fill(~completion_mask, 0.0)
          for t in reversed(range(rewards.shape[1])):
              later = valid_rewards[:, t] + gamma * later
              returns[:, t] = later
          return returns
      """)

wrong("large_returns_limited", "a return stays within 100 | 回报限制在 100 以内",
      caught_by="check_discounted_returns_limits_nothing",
      todo_2="""
      valid_rewards = rewards.masked_fill(~completion_mask, 0.0)
      later = torch.zeros_like(rewards[:, 0])
      for t in reversed(range(rewards.shape[1])):
          later = (valid_rewards[:, t] + gamma * later).clamp(-100.0, 100.0)
          returns[:, t] = later
      """)

wrong("rewards_limited_to_ten", "a reward beyond 10 is an outlier | 超过 10 的奖励是异常值",
      caught_by="check_discounted_returns_limits_nothing",
      todo_2="""
      valid_rewards = rewards.masked_fill(~completion_mask, 0.0).clamp(-10.0, 10.0)
      later = 0.0
      for t in reversed(range(rewards.shape[1])):
          later = valid_rewards[:, t] + gamma * later
          returns[:, t] = later
      """)

wrong("negative_rewards_dropped", "a reward cannot be negative | 奖励不能为负",
      caught_by="check_discounted_returns_limits_nothing",
      todo_2="""
      valid_rewards = rewards.masked_fill(~completion_mask, 0.0).clamp(min=0.0)
      later = 0.0
      for t in reversed(range(rewards.shape[1])):
          later = valid_rewards[:, t] + gamma * later
          returns[:, t] = later
      """)

wrong("reset_at_a_reward", "a reward marks the end of a game, so the sum starts again | 有奖励就是一局结束，重新累加",
      caught_by="check_discounted_returns_sums_what_is_to_come",
      todo_2="""
      valid_rewards = rewards.masked_fill(~completion_mask, 0.0)
      later = torch.zeros_like(rewards[:, 0])
      for t in reversed(range(rewards.shape[1])):
          later = torch.where(valid_rewards[:, t] != 0, valid_rewards[:, t], gamma * later)
          returns[:, t] = later
      """)

wrong("stops_at_a_column_of_padding", "a column of padding ends the loop | 遇到整列填充就结束循环",
      caught_by="check_discounted_returns_leaves_padding_out",
      todo_2="""
      valid_rewards = rewards.masked_fill(~completion_mask, 0.0)
      later = 0.0
      for t in reversed(range(rewards.shape[1])):
          if not completion_mask[:, t].any():
              break
          later = valid_rewards[:, t] + gamma * later
          returns[:, t] = later
      """)

wrong("horizon_of_twelve", "what lies more than 12 steps ahead does not matter | 12 步以外的奖励无关紧要",
      caught_by="hidden_discounted_returns_random",
      todo_2="""
      valid_rewards = rewards.masked_fill(~completion_mask, 0.0)
      for t in range(rewards.shape[1]):
          for k in range(t, min(t + 12, rewards.shape[1])):
              returns[:, t] += gamma ** (k - t) * valid_rewards[:, k]
      """)

wrong("small_returns_dropped", "a return near 0 is 0 | 接近 0 的回报就是 0",
      caught_by="hidden_discounted_returns_random",
      todo_2="""
      valid_rewards = rewards.masked_fill(~completion_mask, 0.0)
      later = 0.0
      for t in reversed(range(rewards.shape[1])):
          later = valid_rewards[:, t] + gamma * later
          returns[:, t] = torch.where(later.abs() < 1e-3, 0.0, later)
      """)

wrong("large_batch_centered", "in a large batch returns are centered | 批大的时候回报要减均值",
      caught_by="hidden_discounted_returns_random",
      todo_2="""
      valid_rewards = rewards.masked_fill(~completion_mask, 0.0)
      later = 0.0
      for t in reversed(range(rewards.shape[1])):
          later = valid_rewards[:, t] + gamma * later
          returns[:, t] = later
      if len(returns) > 8:
          returns = (returns - returns[completion_mask].mean()).masked_fill(~completion_mask, 0.0)
      """)

wrong("gamma_zero_by_or", "a gamma of 0 was not given | gamma 为 0 等于没有给出",
      caught_by="check_discounted_returns_gamma_may_be_zero",
      todo_2="""
      gamma = gamma or 1.0
      valid_rewards = rewards.masked_fill(~completion_mask, 0.0)
      later = 0.0
      for t in reversed(range(rewards.shape[1])):
          later = valid_rewards[:, t] + gamma * later
          returns[:, t] = later
      """)

wrong("gamma_kept_below_one", "gamma must stay below 1 | gamma 必须小于 1",
      caught_by="check_discounted_returns_sums_what_is_to_come",
      todo_2="""
      gamma = min(gamma, 0.99)
      valid_rewards = rewards.masked_fill(~completion_mask, 0.0)
      later = 0.0
      for t in reversed(range(rewards.shape[1])):
          later = valid_rewards[:, t] + gamma * later
          returns[:, t] = later
      """)

wrong("small_gamma_is_zero", "a gamma below one half is no discount worth computing | 小于一半的 gamma 不值得计算",
      caught_by="hidden_discounted_returns_random",
      todo_2="""
      gamma = gamma if gamma >= 0.5 else 0.0
      valid_rewards = rewards.masked_fill(~completion_mask, 0.0)
      later = 0.0
      for t in reversed(range(rewards.shape[1])):
          later = valid_rewards[:, t] + gamma * later
          returns[:, t] = later
      """)

# TODO 3: gae_advantages

wrong("value_not_subtracted", "the residual is reward plus next value | 残差就是奖励加之后的价值",
      caught_by="check_gae_advantages_residual",
      todo_3="""
      next_values = last_values.masked_fill(terminated, 0.0)
      for t in reversed(range(values.shape[1])):
          valid = completion_mask[:, t]
          deltas = rewards[:, t] + gamma * next_values
          next_advantages = torch.where(valid, deltas + gamma * lam * next_advantages, next_advantages)
          next_values = torch.where(valid, values[:, t], next_values)
          advantages[:, t] = next_advantages
      returns = (advantages + values).masked_fill(~completion_mask, 0.0)
      """)

wrong("next_value_left_out", "the residual is reward minus value | 残差就是奖励减价值",
      caught_by="check_gae_advantages_residual",
      todo_3="""
      for t in reversed(range(values.shape[1])):
          valid = completion_mask[:, t]
          deltas = rewards[:, t] - values[:, t]
          next_advantages = torch.where(valid, deltas + gamma * lam * next_advantages, next_advantages)
          advantages[:, t] = next_advantages
      returns = (advantages + values).masked_fill(~completion_mask, 0.0)
      """)

wrong("residual_turned_around", "the residual is what the critic missed by, value minus target | 残差是价值减目标",
      caught_by="check_gae_advantages_residual",
      todo_3="""
      next_values = last_values.masked_fill(terminated, 0.0)
      for t in reversed(range(values.shape[1])):
          valid = completion_mask[:, t]
          deltas = values[:, t] - rewards[:, t] - gamma * next_values
          next_advantages = torch.where(valid, deltas + gamma * lam * next_advantages, next_advantages)
          next_values = torch.where(valid, values[:, t], next_values)
          advantages[:, t] = next_advantages
      returns = (advantages + values).masked_fill(~completion_mask, 0.0)
      """)

wrong("value_of_the_step_before", "the value after a step is values[:, t - 1] | 之后的价值是 values[:, t - 1]",
      caught_by="check_gae_advantages_residual",
      todo_3="""
      for t in reversed(range(values.shape[1])):
          valid = completion_mask[:, t]
          before = values[:, t - 1] if t > 0 else torch.zeros_like(last_values)
          deltas = rewards[:, t] + gamma * before - values[:, t]
          next_advantages = torch.where(valid, deltas + gamma * lam * next_advantages, next_advantages)
          advantages[:, t] = next_advantages
      returns = (advantages + values).masked_fill(~completion_mask, 0.0)
      """)

wrong("monte_carlo_always", "the advantage is return minus value, whatever lam is | 不管 lam 是多少，优势就是回报减价值",
      caught_by="check_gae_advantages_residual",
      todo_3="""
      later = last_values.masked_fill(terminated, 0.0)
      for t in reversed(range(values.shape[1])):
          valid = completion_mask[:, t]
          later = torch.where(valid, rewards[:, t] + gamma * later, later)
          advantages[:, t] = torch.where(valid, later - values[:, t], 0.0)
      returns = (advantages + values).masked_fill(~completion_mask, 0.0)
      """)

wrong("gamma_not_on_the_next_value", "gamma belongs to the advantages only | gamma 只用在优势上",
      caught_by="check_gae_advantages_discounts_the_next_value",
      todo_3="""
      next_values = last_values.masked_fill(terminated, 0.0)
      for t in reversed(range(values.shape[1])):
          valid = completion_mask[:, t]
          deltas = rewards[:, t] + next_values - values[:, t]
          next_advantages = torch.where(valid, deltas + gamma * lam * next_advantages, next_advantages)
          next_values = torch.where(valid, values[:, t], next_values)
          advantages[:, t] = next_advantages
      returns = (advantages + values).masked_fill(~completion_mask, 0.0)
      """)

wrong("gamma_on_the_reward_too", "the reward comes later as well, so it is discounted | 奖励也在之后，所以也打折扣",
      caught_by="check_gae_advantages_discounts_the_next_value",
      todo_3="""
      next_values = last_values.masked_fill(terminated, 0.0)
      for t in reversed(range(values.shape[1])):
          valid = completion_mask[:, t]
          deltas = gamma * (rewards[:, t] + next_values) - values[:, t]
          next_advantages = torch.where(valid, deltas + gamma * lam * next_advantages, next_advantages)
          next_values = torch.where(valid, values[:, t], next_values)
          advantages[:, t] = next_advantages
      returns = (advantages + values).masked_fill(~completion_mask, 0.0)
      """)

wrong("gamma_on_the_difference", "gamma multiplies the change of value | gamma 乘价值的变化",
      caught_by="check_gae_advantages_discounts_the_next_value",
      todo_3="""
      next_values = last_values.masked_fill(terminated, 0.0)
      for t in reversed(range(values.shape[1])):
          valid = completion_mask[:, t]
          deltas = rewards[:, t] + gamma * (next_values - values[:, t])
          next_advantages = torch.where(valid, deltas + gamma * lam * next_advantages, next_advantages)
          next_values = torch.where(valid, values[:, t], next_values)
          advantages[:, t] = next_advantages
      returns = (advantages + values).masked_fill(~completion_mask, 0.0)
      """)

wrong("residual_only", "the TD residual is the advantage | TD 残差就是优势",
      caught_by="check_gae_advantages_lam_one_sums_all",
      todo_3="""
      next_values = last_values.masked_fill(terminated, 0.0)
      for t in reversed(range(values.shape[1])):
          valid = completion_mask[:, t]
          advantages[:, t] = torch.where(valid, rewards[:, t] + gamma * next_values - values[:, t], 0.0)
          next_values = torch.where(valid, values[:, t], next_values)
      returns = (advantages + values).masked_fill(~completion_mask, 0.0)
      """)

wrong("one_residual_ahead", "only the next residual is added | 只加下一个残差",
      caught_by="check_gae_advantages_lam_one_sums_all",
      todo_3="""
      next_values, next_deltas = last_values.masked_fill(terminated, 0.0), torch.zeros_like(last_values)
      for t in reversed(range(values.shape[1])):
          valid = completion_mask[:, t]
          deltas = torch.where(valid, rewards[:, t] + gamma * next_values - values[:, t], 0.0)
          advantages[:, t] = deltas + gamma * lam * next_deltas
          next_deltas = deltas
          next_values = torch.where(valid, values[:, t], next_values)
      returns = (advantages + values).masked_fill(~completion_mask, 0.0)
      """)

wrong("forward_in_time", "advantages are carried from the first step to the last | 优势从第一步向后传",
      caught_by="check_gae_advantages_lam_one_sums_all",
      todo_3="""
      after = torch.cat([values[:, 1:], last_values[:, None]], dim=1)
      lengths = completion_mask.sum(dim=1)
      after[torch.arange(len(values)), lengths - 1] = last_values.masked_fill(terminated, 0.0)
      for t in range(values.shape[1]):
          deltas = torch.where(completion_mask[:, t], rewards[:, t] + gamma * after[:, t] - values[:, t], 0.0)
          next_advantages = deltas + gamma * lam * next_advantages
          advantages[:, t] = torch.where(completion_mask[:, t], next_advantages, 0.0)
      returns = (advantages + values).masked_fill(~completion_mask, 0.0)
      """)

wrong("lam_without_gamma", "residuals are weighted by lam alone | 残差只用 lam 加权",
      caught_by="check_gae_advantages_weighs_residuals_by_gamma_lam",
      todo_3="""
      next_values = last_values.masked_fill(terminated, 0.0)
      for t in reversed(range(values.shape[1])):
          valid = completion_mask[:, t]
          deltas = rewards[:, t] + gamma * next_values - values[:, t]
          next_advantages = torch.where(valid, deltas + lam * next_advantages, next_advantages)
          next_values = torch.where(valid, values[:, t], next_values)
          advantages[:, t] = next_advantages
      returns = (advantages + values).masked_fill(~completion_mask, 0.0)
      """)

wrong("mixed_by_one_minus_lam", "lam mixes the residual with what follows | lam 把残差与之后的混合起来",
      caught_by="check_gae_advantages_weighs_residuals_by_gamma_lam",
      todo_3="""
      next_values = last_values.masked_fill(terminated, 0.0)
      for t in reversed(range(values.shape[1])):
          valid = completion_mask[:, t]
          deltas = rewards[:, t] + gamma * next_values - values[:, t]
          next_advantages = torch.where(valid, (1.0 - lam) * deltas + gamma * lam * next_advantages, next_advantages)
          next_values = torch.where(valid, values[:, t], next_values)
          advantages[:, t] = next_advantages
      returns = (advantages + values).masked_fill(~completion_mask, 0.0)
      """)

wrong("factors_averaged", "gamma and lam are averaged | gamma 与 lam 取平均",
      caught_by="check_gae_advantages_weighs_residuals_by_gamma_lam",
      todo_3="""
      next_values = last_values.masked_fill(terminated, 0.0)
      for t in reversed(range(values.shape[1])):
          valid = completion_mask[:, t]
          deltas = rewards[:, t] + gamma * next_values - values[:, t]
          next_advantages = torch.where(valid, deltas + (gamma + lam) / 2 * next_advantages, next_advantages)
          next_values = torch.where(valid, values[:, t], next_values)
          advantages[:, t] = next_advantages
      returns = (advantages + values).masked_fill(~completion_mask, 0.0)
      """)

wrong("advantages_whitened", "GAE ends with whitening | GAE 最后要做白化",
      caught_by="check_gae_advantages_keeps_the_scale",
      todo_3="""
      next_values = last_values.masked_fill(terminated, 0.0)
      for t in reversed(range(values.shape[1])):
          valid = completion_mask[:, t]
          deltas = rewards[:, t] + gamma * next_values - values[:, t]
          next_advantages = torch.where(valid, deltas + gamma * lam * next_advantages, next_advantages)
          next_values = torch.where(valid, values[:, t], next_values)
          advantages[:, t] = next_advantages
      returns = (advantages + values).masked_fill(~completion_mask, 0.0)
      inside = advantages[completion_mask]
      advantages = ((advantages - inside.mean()) / (inside.std() + 1e-8)).masked_fill(~completion_mask, 0.0)
      """)

wrong("terminated_ignored", "there is always a value after the last step | 最后一步之后总有价值",
      caught_by="check_gae_advantages_terminated_has_no_future",
      todo_3="""
      next_values = last_values
      for t in reversed(range(values.shape[1])):
          valid = completion_mask[:, t]
          deltas = rewards[:, t] + gamma * next_values - values[:, t]
          next_advantages = torch.where(valid, deltas + gamma * lam * next_advantages, next_advantages)
          next_values = torch.where(valid, values[:, t], next_values)
          advantages[:, t] = next_advantages
      returns = (advantages + values).masked_fill(~completion_mask, 0.0)
      """)

wrong("terminated_times_value", "multiplying by 0 removes any last value | 乘以 0 就能去掉任何 last_values",
      caught_by="check_gae_advantages_terminated_has_no_future",
      todo_3="""
      next_values = last_values * ~terminated
      for t in reversed(range(values.shape[1])):
          valid = completion_mask[:, t]
          deltas = rewards[:, t] + gamma * next_values - values[:, t]
          next_advantages = torch.where(valid, deltas + gamma * lam * next_advantages, next_advantages)
          next_values = torch.where(valid, values[:, t], next_values)
          advantages[:, t] = next_advantages
      returns = (advantages + values).masked_fill(~completion_mask, 0.0)
      """)

wrong("terminated_turned_around", "True means that the completion goes on | True 表示回答还在继续",
      caught_by="check_gae_advantages_terminated_has_no_future",
      todo_3="""
      next_values = last_values.masked_fill(~terminated, 0.0)
      for t in reversed(range(values.shape[1])):
          valid = completion_mask[:, t]
          deltas = rewards[:, t] + gamma * next_values - values[:, t]
          next_advantages = torch.where(valid, deltas + gamma * lam * next_advantages, next_advantages)
          next_values = torch.where(valid, values[:, t], next_values)
          advantages[:, t] = next_advantages
      returns = (advantages + values).masked_fill(~completion_mask, 0.0)
      """)

wrong("never_bootstrapped", "nothing comes after the last step, truncated or not | 截断与否，最后一步之后都没有价值",
      caught_by="check_gae_advantages_truncated_is_bootstrapped",
      todo_3="""
      next_values = torch.zeros_like(last_values)
      for t in reversed(range(values.shape[1])):
          valid = completion_mask[:, t]
          deltas = rewards[:, t] + gamma * next_values - values[:, t]
          next_advantages = torch.where(valid, deltas + gamma * lam * next_advantages, next_advantages)
          next_values = torch.where(valid, values[:, t], next_values)
          advantages[:, t] = next_advantages
      returns = (advantages + values).masked_fill(~completion_mask, 0.0)
      """)

wrong("bootstrap_as_an_advantage", "last_values is the advantage after the end | last_values 是结束之后的优势",
      caught_by="check_gae_advantages_truncated_is_bootstrapped",
      todo_3="""
      next_values, next_advantages = torch.zeros_like(last_values), last_values.masked_fill(terminated, 0.0)
      for t in reversed(range(values.shape[1])):
          valid = completion_mask[:, t]
          deltas = rewards[:, t] + gamma * next_values - values[:, t]
          next_advantages = torch.where(valid, deltas + gamma * lam * next_advantages, next_advantages)
          next_values = torch.where(valid, values[:, t], next_values)
          advantages[:, t] = next_advantages.masked_fill(~valid, 0.0)
      returns = (advantages + values).masked_fill(~completion_mask, 0.0)
      """)

wrong("bootstrap_added_to_the_reward", "last_values is part of the last reward, not discounted | last_values 算进最后的奖励，不打折扣",
      caught_by="check_gae_advantages_truncated_is_bootstrapped",
      todo_3="""
      rewards = rewards.clone()
      rewards[torch.arange(len(rewards)), completion_mask.sum(dim=1) - 1] += last_values.masked_fill(terminated, 0.0)
      next_values = torch.zeros_like(last_values)
      for t in reversed(range(values.shape[1])):
          valid = completion_mask[:, t]
          deltas = rewards[:, t] + gamma * next_values - values[:, t]
          next_advantages = torch.where(valid, deltas + gamma * lam * next_advantages, next_advantages)
          next_values = torch.where(valid, values[:, t], next_values)
          advantages[:, t] = next_advantages
      returns = (advantages + values).masked_fill(~completion_mask, 0.0)
      """)

wrong("bootstrap_behind_the_last_column", "every completion ends in the last column | 每条回答都在最后一列结束",
      caught_by="check_gae_advantages_ends_at_the_last_valid_step",
      todo_3="""
      clean = values.masked_fill(~completion_mask, 0.0)
      next_values = last_values.masked_fill(terminated, 0.0)
      for t in reversed(range(values.shape[1])):
          valid = completion_mask[:, t]
          deltas = torch.where(valid, rewards[:, t] + gamma * next_values - clean[:, t], 0.0)
          next_advantages = deltas + gamma * lam * next_advantages
          next_values = clean[:, t]
          advantages[:, t] = next_advantages
      returns = (advantages + values).masked_fill(~completion_mask, 0.0)
      """)

wrong("padding_is_discounted_through", "the bootstrap travels through the padding | last_values 要穿过填充传回来",
      caught_by="check_gae_advantages_ends_at_the_last_valid_step",
      todo_3="""
      clean_rewards, clean_values = rewards.masked_fill(~completion_mask, 0.0), values.masked_fill(~completion_mask, 0.0)
      next_values = last_values.masked_fill(terminated, 0.0)
      for t in reversed(range(values.shape[1])):
          deltas = clean_rewards[:, t] + gamma * next_values - clean_values[:, t]
          next_advantages = deltas + gamma * lam * next_advantages
          next_values = clean_values[:, t]
          advantages[:, t] = next_advantages
      advantages = advantages.masked_fill(~completion_mask, 0.0)
      returns = advantages + clean_values
      """)

wrong("mask_only_at_the_end", "it is enough to clear the padding of the result | 只清掉结果里的填充就够了",
      caught_by="check_gae_advantages_leaves_padding_out",
      todo_3="""
      next_values = last_values.masked_fill(terminated, 0.0)
      for t in reversed(range(values.shape[1])):
          deltas = rewards[:, t] + gamma * next_values - values[:, t]
          next_advantages = deltas + gamma * lam * next_advantages
          next_values = values[:, t]
          advantages[:, t] = next_advantages
      advantages = advantages.masked_fill(~completion_mask, 0.0)
      returns = (advantages + values).masked_fill(~completion_mask, 0.0)
      """)

wrong("values_cleaned_rewards_not", "only the critic writes into the padding | 只有价值网络会往填充里写",
      caught_by="check_gae_advantages_leaves_padding_out",
      todo_3="""
      clean_values = values.masked_fill(~completion_mask, 0.0)
      next_values = last_values.masked_fill(terminated, 0.0)
      for t in reversed(range(values.shape[1])):
          deltas = rewards[:, t] + gamma * next_values - clean_values[:, t]
          next_advantages = deltas + gamma * lam * next_advantages
          next_values = torch.where(completion_mask[:, t], clean_values[:, t], next_values)
          advantages[:, t] = next_advantages
      advantages = advantages.masked_fill(~completion_mask, 0.0)
      returns = advantages + clean_values
      """)

wrong("first_ending_for_all", "a batch ends as its first completion does | 整批都像第一条那样结束",
      caught_by="check_gae_advantages_truncated_is_bootstrapped",
      todo_3="""
      next_values = torch.zeros_like(last_values) if terminated.any() else last_values
      for t in reversed(range(values.shape[1])):
          valid = completion_mask[:, t]
          deltas = rewards[:, t] + gamma * next_values - values[:, t]
          next_advantages = torch.where(valid, deltas + gamma * lam * next_advantages, next_advantages)
          next_values = torch.where(valid, values[:, t], next_values)
          advantages[:, t] = next_advantages
      returns = (advantages + values).masked_fill(~completion_mask, 0.0)
      """)

wrong("residuals_averaged_over_the_batch", "what follows is shared by the batch | 之后的优势由整批共享",
      caught_by="check_gae_advantages_each_completion_on_its_own",
      todo_3="""
      next_values = last_values.masked_fill(terminated, 0.0)
      for t in reversed(range(values.shape[1])):
          valid = completion_mask[:, t]
          deltas = rewards[:, t] + gamma * next_values - values[:, t]
          next_advantages = torch.where(valid, deltas + gamma * lam * next_advantages.mean(), next_advantages)
          next_values = torch.where(valid, values[:, t], next_values)
          advantages[:, t] = next_advantages
      returns = (advantages + values).masked_fill(~completion_mask, 0.0)
      """)

wrong("critic_learns_from_rewards_alone", "the critic's target is the sum of rewards | 价值网络的目标是奖励之和",
      caught_by="check_gae_advantages_returns",
      todo_3="""
      next_values = last_values.masked_fill(terminated, 0.0)
      returns, later = torch.zeros_like(values), next_values
      for t in reversed(range(values.shape[1])):
          valid = completion_mask[:, t]
          deltas = rewards[:, t] + gamma * next_values - values[:, t]
          next_advantages = torch.where(valid, deltas + gamma * lam * next_advantages, next_advantages)
          next_values = torch.where(valid, values[:, t], next_values)
          advantages[:, t] = next_advantages
          later = torch.where(valid, rewards[:, t] + gamma * later, later)
          returns[:, t] = torch.where(valid, later, 0.0)
      """)

wrong("critic_learns_from_one_step", "the critic's target is reward plus next value | 价值网络的目标是奖励加之后的价值",
      caught_by="check_gae_advantages_returns",
      todo_3="""
      next_values = last_values.masked_fill(terminated, 0.0)
      returns = torch.zeros_like(values)
      for t in reversed(range(values.shape[1])):
          valid = completion_mask[:, t]
          returns[:, t] = torch.where(valid, rewards[:, t] + gamma * next_values, 0.0)
          deltas = rewards[:, t] + gamma * next_values - values[:, t]
          next_advantages = torch.where(valid, deltas + gamma * lam * next_advantages, next_advantages)
          next_values = torch.where(valid, values[:, t], next_values)
          advantages[:, t] = next_advantages
      """)

wrong("returns_minus_values", "returns are advantages minus values | 回报是优势减价值",
      caught_by="check_gae_advantages_returns",
      todo_3="""
      next_values = last_values.masked_fill(terminated, 0.0)
      for t in reversed(range(values.shape[1])):
          valid = completion_mask[:, t]
          deltas = rewards[:, t] + gamma * next_values - values[:, t]
          next_advantages = torch.where(valid, deltas + gamma * lam * next_advantages, next_advantages)
          next_values = torch.where(valid, values[:, t], next_values)
          advantages[:, t] = next_advantages
      returns = (advantages - values).masked_fill(~completion_mask, 0.0)
      """)

wrong("returns_keep_the_padding", "returns need no mask | 回报不需要掩码",
      caught_by="check_gae_advantages_returns",
      todo_3="""
      next_values = last_values.masked_fill(terminated, 0.0)
      for t in reversed(range(values.shape[1])):
          valid = completion_mask[:, t]
          deltas = rewards[:, t] + gamma * next_values - values[:, t]
          next_advantages = torch.where(valid, deltas + gamma * lam * next_advantages, next_advantages)
          next_values = torch.where(valid, values[:, t], next_values)
          advantages[:, t] = next_advantages
      returns = advantages + values
      """)

wrong("defaults_of_games", "gamma and lam are 0.99 and 0.95, as in games | gamma 与 lam 取 0.99 和 0.95，像游戏里那样",
      caught_by="check_gae_advantages_defaults",
      function="""
      def gae_advantages(rewards, values, last_values, terminated, completion_mask, gamma=0.99, lam=0.95):
          require_steps(completion_mask, rewards, values)
          values = values.detach()
          rewards, last_values = rewards.detach().to(values.dtype), last_values.detach().to(values.dtype)
          advantages, next_advantages = torch.zeros_like(values), torch.zeros_like(last_values)
          next_values = last_values.masked_fill(terminated, 0.0)
          for t in reversed(range(values.shape[1])):
              valid = completion_mask[:, t]
              deltas = rewards[:, t] + gamma * next_values - values[:, t]
              next_advantages = torch.where(valid, deltas + gamma * lam * next_advantages, next_advantages)
              next_values = torch.where(valid, values[:, t], next_values)
              advantages[:, t] = next_advantages
          return advantages, (advantages + values).masked_fill(~completion_mask, 0.0)
      """)

wrong("advantages_as_integers", "integer rewards give integer advantages | 整数奖励得到整数优势",
      caught_by="check_gae_advantages_takes_integers",
      function="""
      def gae_advantages(rewards, values, last_values, terminated, completion_mask, gamma=1.0, lam=0.95):
          require_steps(completion_mask, rewards, values)
          if terminated.dtype != torch.bool or not 0 <= gamma <= 1 or not 0 <= lam <= 1 or last_values.shape != terminated.shape:
              raise ValueError("terminated must be bool, gamma and lam in [0, 1]")
          if not torch.isfinite(last_values[~terminated]).all():
              raise ValueError("last values must be finite")
          rewards, values, last_values = rewards.detach(), values.detach(), last_values.detach()
          advantages, returns = torch.zeros_like(rewards), torch.zeros_like(rewards)
          next_values, next_advantages = last_values.masked_fill(terminated, 0.0), torch.zeros_like(last_values)
          for t in reversed(range(values.shape[1])):
              valid = completion_mask[:, t]
              deltas = rewards[:, t] + gamma * next_values - values[:, t]
              next_advantages = torch.where(valid, deltas + gamma * lam * next_advantages, next_advantages)
              next_values = torch.where(valid, values[:, t], next_values)
              advantages[:, t] = next_advantages
              returns[:, t] = torch.where(valid, next_advantages + values[:, t], 0.0)
          return advantages, returns
      """)

wrong("critic_learns_through_the_advantage", "values stay in the graph | 价值留在计算图中",
      caught_by="check_gae_advantages_is_frozen",
      function="""
      def gae_advantages(rewards, values, last_values, terminated, completion_mask, gamma=1.0, lam=0.95):
          require_steps(completion_mask, rewards, values)
          rewards, last_values = rewards.detach().to(values.dtype), last_values.detach().to(values.dtype)
          next_values, next_advantages = last_values.masked_fill(terminated, 0.0), torch.zeros_like(last_values)
          columns = []
          for t in reversed(range(values.shape[1])):
              valid = completion_mask[:, t]
              deltas = rewards[:, t] + gamma * next_values - values[:, t]
              next_advantages = torch.where(valid, deltas + gamma * lam * next_advantages, next_advantages)
              next_values = torch.where(valid, values[:, t], next_values)
              columns.insert(0, next_advantages)
          advantages = torch.stack(columns, dim=1)
          return advantages, (advantages + values).masked_fill(~completion_mask, 0.0)
      """)

wrong("values_overwritten", "the returns may be written over the values | 回报可以直接写进价值里",
      caught_by="check_gae_advantages_leaves_inputs_alone",
      todo_3="""
      next_values = last_values.masked_fill(terminated, 0.0)
      for t in reversed(range(values.shape[1])):
          valid = completion_mask[:, t]
          deltas = rewards[:, t] + gamma * next_values - values[:, t]
          next_advantages = torch.where(valid, deltas + gamma * lam * next_advantages, next_advantages)
          next_values = torch.where(valid, values[:, t], next_values)
          advantages[:, t] = next_advantages
      values[~completion_mask] = 0.0
      returns = values.add_(advantages)
      """)

wrong("residuals_in_float32", "float32 is always enough | float32 总是够用",
      caught_by="check_gae_advantages_keeps_float64",
      todo_3="""
      rewards, values, last_values = rewards.float(), values.float(), last_values.float()
      next_values, next_advantages = last_values.masked_fill(terminated, 0.0), torch.zeros_like(last_values)
      for t in reversed(range(values.shape[1])):
          valid = completion_mask[:, t]
          deltas = rewards[:, t] + gamma * next_values - values[:, t]
          next_advantages = torch.where(valid, deltas + gamma * lam * next_advantages, next_advantages)
          next_values = torch.where(valid, values[:, t], next_values)
          advantages[:, t] = next_advantages
      returns = (advantages + values).masked_fill(~completion_mask, 0.0)
      """)

wrong("any_flag_taken", "flags of 0 and 1, and any gamma, are as good | 0/1 标志与任意 gamma 也可以",
      caught_by="check_gae_advantages_refuses_bad_input",
      function="""
      def gae_advantages(rewards, values, last_values, terminated, completion_mask, gamma=1.0, lam=0.95):
          completion_mask, terminated, values = completion_mask.bool(), terminated.bool(), values.detach()
          rewards, last_values = rewards.detach().to(values.dtype), last_values.detach().to(values.dtype)
          advantages, next_advantages = torch.zeros_like(values), torch.zeros_like(last_values)
          next_values = last_values.masked_fill(terminated, 0.0)
          for t in reversed(range(values.shape[1])):
              valid = completion_mask[:, t]
              deltas = rewards[:, t] + gamma * next_values - values[:, t]
              next_advantages = torch.where(valid, deltas + gamma * lam * next_advantages, next_advantages)
              next_values = torch.where(valid, values[:, t], next_values)
              advantages[:, t] = next_advantages
          return advantages, (advantages + values).masked_fill(~completion_mask, 0.0)
      """)

wrong("large_residuals_limited", "a residual beyond 10 is an outlier | 超过 10 的残差是异常值",
      caught_by="check_gae_advantages_limits_nothing",
      todo_3="""
      next_values = last_values.masked_fill(terminated, 0.0)
      for t in reversed(range(values.shape[1])):
          valid = completion_mask[:, t]
          deltas = (rewards[:, t] + gamma * next_values - values[:, t]).clamp(-10.0, 10.0)
          next_advantages = torch.where(valid, deltas + gamma * lam * next_advantages, next_advantages)
          next_values = torch.where(valid, values[:, t], next_values)
          advantages[:, t] = torch.where(valid, next_advantages, 0.0)
      returns = (advantages + values).masked_fill(~completion_mask, 0.0)
      """)

wrong("large_advantages_limited", "an advantage stays within 10 | 优势限制在 10 以内",
      caught_by="check_gae_advantages_limits_nothing",
      todo_3="""
      next_values = last_values.masked_fill(terminated, 0.0)
      for t in reversed(range(values.shape[1])):
          valid = completion_mask[:, t]
          deltas = rewards[:, t] + gamma * next_values - values[:, t]
          next_advantages = torch.where(valid, deltas + gamma * lam * next_advantages, next_advantages)
          next_values = torch.where(valid, values[:, t], next_values)
          advantages[:, t] = torch.where(valid, next_advantages.clamp(-10.0, 10.0), 0.0)
      returns = (advantages + values).masked_fill(~completion_mask, 0.0)
      """)

wrong("negative_values_dropped", "a value cannot be negative | 价值不能为负",
      caught_by="check_gae_advantages_limits_nothing",
      todo_3="""
      next_values = last_values.masked_fill(terminated, 0.0)
      values = values.clamp(min=0.0)
      for t in reversed(range(values.shape[1])):
          valid = completion_mask[:, t]
          deltas = rewards[:, t] + gamma * next_values - values[:, t]
          next_advantages = torch.where(valid, deltas + gamma * lam * next_advantages, next_advantages)
          next_values = torch.where(valid, values[:, t], next_values)
          advantages[:, t] = torch.where(valid, next_advantages, 0.0)
      returns = (advantages + values).masked_fill(~completion_mask, 0.0)
      """)

wrong("value_zero_is_padding", "a value of 0 marks padding | 价值为 0 表示填充",
      caught_by="check_gae_advantages_limits_nothing",
      todo_3="""
      next_values = last_values.masked_fill(terminated, 0.0)
      for t in reversed(range(values.shape[1])):
          valid = completion_mask[:, t] & (values[:, t] != 0)
          deltas = rewards[:, t] + gamma * next_values - values[:, t]
          next_advantages = torch.where(valid, deltas + gamma * lam * next_advantages, next_advantages)
          next_values = torch.where(valid, values[:, t], next_values)
          advantages[:, t] = torch.where(valid, next_advantages, 0.0)
      returns = (advantages + values).masked_fill(~completion_mask, 0.0)
      """)

wrong("stops_at_a_column_of_padding", "a column of padding ends the loop | 遇到整列填充就结束循环",
      caught_by="check_gae_advantages_leaves_padding_out",
      todo_3="""
      next_values = last_values.masked_fill(terminated, 0.0)
      for t in reversed(range(values.shape[1])):
          valid = completion_mask[:, t]
          if not valid.any():
              break
          deltas = rewards[:, t] + gamma * next_values - values[:, t]
          next_advantages = torch.where(valid, deltas + gamma * lam * next_advantages, next_advantages)
          next_values = torch.where(valid, values[:, t], next_values)
          advantages[:, t] = torch.where(valid, next_advantages, 0.0)
      returns = (advantages + values).masked_fill(~completion_mask, 0.0)
      """)

wrong("lam_zero_by_or", "a lam of 0 was not given | lam 为 0 等于没有给出",
      caught_by="check_gae_advantages_residual",
      todo_3="""
      lam = lam or 0.95
      next_values = last_values.masked_fill(terminated, 0.0)
      for t in reversed(range(values.shape[1])):
          valid = completion_mask[:, t]
          deltas = rewards[:, t] + gamma * next_values - values[:, t]
          next_advantages = torch.where(valid, deltas + gamma * lam * next_advantages, next_advantages)
          next_values = torch.where(valid, values[:, t], next_values)
          advantages[:, t] = torch.where(valid, next_advantages, 0.0)
      returns = (advantages + values).masked_fill(~completion_mask, 0.0)
      """)

wrong("gamma_zero_by_or", "a gamma of 0 was not given | gamma 为 0 等于没有给出",
      caught_by="check_gae_advantages_discounts_the_next_value",
      todo_3="""
      gamma = gamma or 1.0
      next_values = last_values.masked_fill(terminated, 0.0)
      for t in reversed(range(values.shape[1])):
          valid = completion_mask[:, t]
          deltas = rewards[:, t] + gamma * next_values - values[:, t]
          next_advantages = torch.where(valid, deltas + gamma * lam * next_advantages, next_advantages)
          next_values = torch.where(valid, values[:, t], next_values)
          advantages[:, t] = torch.where(valid, next_advantages, 0.0)
      returns = (advantages + values).masked_fill(~completion_mask, 0.0)
      """)

wrong("residuals_of_twelve_steps", "what lies more than 12 steps ahead does not matter | 12 步以外的残差无关紧要",
      caught_by="hidden_gae_advantages_random",
      todo_3="""
      n, length = values.shape
      clean = values.masked_fill(~completion_mask, 0.0)
      after = torch.cat([clean[:, 1:], torch.zeros(n, 1, dtype=values.dtype)], dim=1)
      after[torch.arange(n), completion_mask.sum(dim=1) - 1] = last_values.masked_fill(terminated, 0.0)
      deltas = (rewards + gamma * after - clean).masked_fill(~completion_mask, 0.0)
      for t in range(length):
          for k in range(min(12, length - t)):
              advantages[:, t] += (gamma * lam) ** k * deltas[:, t + k]
      advantages = advantages.masked_fill(~completion_mask, 0.0)
      returns = advantages + clean
      """)

wrong("large_batch_whitened", "a large batch is whitened at once | 批大的时候立即白化",
      caught_by="hidden_gae_advantages_random",
      todo_3="""
      next_values = last_values.masked_fill(terminated, 0.0)
      for t in reversed(range(values.shape[1])):
          valid = completion_mask[:, t]
          deltas = rewards[:, t] + gamma * next_values - values[:, t]
          next_advantages = torch.where(valid, deltas + gamma * lam * next_advantages, next_advantages)
          next_values = torch.where(valid, values[:, t], next_values)
          advantages[:, t] = torch.where(valid, next_advantages, 0.0)
      returns = (advantages + values).masked_fill(~completion_mask, 0.0)
      if len(advantages) > 8:
          advantages = (advantages / (advantages[completion_mask].std() + 1e-8)).masked_fill(~completion_mask, 0.0)
      """)

wrong("small_residuals_dropped", "a residual near 0 is noise | 接近 0 的残差是噪声",
      caught_by="hidden_gae_advantages_random",
      todo_3="""
      next_values = last_values.masked_fill(terminated, 0.0)
      for t in reversed(range(values.shape[1])):
          valid = completion_mask[:, t]
          deltas = rewards[:, t] + gamma * next_values - values[:, t]
          deltas = deltas.masked_fill(deltas.abs() < 1e-3, 0.0)
          next_advantages = torch.where(valid, deltas + gamma * lam * next_advantages, next_advantages)
          next_values = torch.where(valid, values[:, t], next_values)
          advantages[:, t] = torch.where(valid, next_advantages, 0.0)
      returns = (advantages + values).masked_fill(~completion_mask, 0.0)
      """)

wrong("short_ones_have_ended", "a completion shorter than the batch has ended by itself | 比别的短的回答都是自行终止的",
      caught_by="check_gae_advantages_ends_at_the_last_valid_step",
      todo_3="""
      next_values = last_values.masked_fill(terminated | ~completion_mask[:, -1], 0.0)
      for t in reversed(range(values.shape[1])):
          valid = completion_mask[:, t]
          deltas = rewards[:, t] + gamma * next_values - values[:, t]
          next_advantages = torch.where(valid, deltas + gamma * lam * next_advantages, next_advantages)
          next_values = torch.where(valid, values[:, t], next_values)
          advantages[:, t] = torch.where(valid, next_advantages, 0.0)
      returns = (advantages + values).masked_fill(~completion_mask, 0.0)
      """)

wrong("one_step_needs_no_critic", "a bandit has no value to subtract | 只有一步时没有价值可减",
      caught_by="hidden_gae_advantages_random",
      todo_3="""
      next_values = last_values.masked_fill(terminated, 0.0)
      for t in reversed(range(values.shape[1])):
          valid = completion_mask[:, t]
          before = values[:, t] if values.shape[1] > 1 else 0.0
          deltas = rewards[:, t] + gamma * next_values - before
          next_advantages = torch.where(valid, deltas + gamma * lam * next_advantages, next_advantages)
          next_values = torch.where(valid, values[:, t], next_values)
          advantages[:, t] = torch.where(valid, next_advantages, 0.0)
      returns = (advantages + values).masked_fill(~completion_mask, 0.0)
      """)

# TODO 4: policy_gradient_loss

wrong("objective_instead_of_loss", "the objective may be minimized as it is | 目标可以原样拿去最小化",
      caught_by="check_policy_gradient_loss_sign",
      todo_4="""
      completion_logps = token_logps.masked_fill(~completion_mask, 0.0).sum(dim=1)
      loss = (advantages.detach() * completion_logps).mean()
      """)

wrong("nothing_learns", "log-probabilities are data, not part of the graph | 对数概率只是数据，不在计算图中",
      caught_by="check_policy_gradient_loss_sign",
      todo_4="""
      completion_logps = token_logps.detach().masked_fill(~completion_mask, 0.0).sum(dim=1)
      loss = -(advantages.detach() * completion_logps).mean()
      """)

wrong("absolute_advantage", "every completion is worth learning from, by the size of its advantage | 优势只看大小，每条都值得学",
      caught_by="check_policy_gradient_loss_sign",
      todo_4="""
      completion_logps = token_logps.masked_fill(~completion_mask, 0.0).sum(dim=1)
      loss = -(advantages.detach().abs() * completion_logps).mean()
      """)

wrong("advantage_left_out", "good and bad alike are imitated | 好坏一律模仿",
      caught_by="check_policy_gradient_loss_sign",
      todo_4="loss = -token_logps.masked_fill(~completion_mask, 0.0).sum(dim=1).mean()")

wrong("probability_instead_of_log", "the expected reward is advantage times probability | 期望奖励是优势乘概率",
      caught_by="check_policy_gradient_loss_uses_log_probabilities",
      todo_4="""
      completion_logps = token_logps.masked_fill(~completion_mask, 0.0).sum(dim=1)
      loss = -(advantages.detach() * completion_logps.exp()).mean()
      """)

wrong("ratio_instead_of_log", "the loss is a ratio times the advantage | 损失是比率乘优势",
      caught_by="check_policy_gradient_loss_uses_log_probabilities",
      todo_4="""
      completion_logps = token_logps.masked_fill(~completion_mask, 0.0).sum(dim=1)
      loss = -(advantages.detach() * (completion_logps - completion_logps.detach()).exp()).mean()
      """)

wrong("one_loss_for_each_completion", "the mean is left to the caller | 平均留给调用者",
      caught_by="check_policy_gradient_loss_uses_log_probabilities",
      todo_4="""
      completion_logps = token_logps.masked_fill(~completion_mask, 0.0).sum(dim=1)
      loss = -(advantages.detach() * completion_logps)
      """)

wrong("mean_over_steps", "a completion's score is the average over its steps | 回答的得分是各步的平均",
      caught_by="check_policy_gradient_loss_sums_over_steps",
      todo_4="""
      completion_logps = token_logps.masked_fill(~completion_mask, 0.0).sum(dim=1) / completion_mask.sum(dim=1)
      loss = -(advantages.detach() * completion_logps).mean()
      """)

wrong("mean_over_all_positions", "one mean over the whole table | 对整张表取一个平均",
      caught_by="check_policy_gradient_loss_sums_over_steps",
      todo_4="loss = -(advantages.detach()[:, None] * token_logps.masked_fill(~completion_mask, 0.0)).mean()")

wrong("last_step_only", "only the step that got the reward learns | 只有拿到奖励的那一步学习",
      caught_by="check_policy_gradient_loss_sums_over_steps",
      todo_4="""
      last = completion_mask.sum(dim=1, keepdim=True) - 1
      loss = -(advantages.detach() * token_logps.gather(1, last)[:, 0]).mean()
      """)

wrong("sum_over_completions", "losses of a batch are added up | 一批的损失相加",
      caught_by="check_policy_gradient_loss_averages_over_completions",
      todo_4="""
      completion_logps = token_logps.masked_fill(~completion_mask, 0.0).sum(dim=1)
      loss = -(advantages.detach() * completion_logps).sum()
      """)

wrong("divided_by_all_tokens", "a mean is taken over tokens | 平均是对 Token 取的",
      caught_by="check_policy_gradient_loss_averages_over_completions",
      todo_4="""
      completion_logps = token_logps.masked_fill(~completion_mask, 0.0).sum(dim=1)
      loss = -(advantages.detach() * completion_logps).sum() / completion_mask.sum()
      """)

wrong("divided_by_n_minus_one", "a mean over N completions divides by N - 1 | N 条回答的平均除以 N - 1",
      caught_by="check_policy_gradient_loss_averages_over_completions",
      todo_4="""
      completion_logps = token_logps.masked_fill(~completion_mask, 0.0).sum(dim=1)
      loss = -(advantages.detach() * completion_logps).sum() / max(len(advantages) - 1, 1)
      """)

wrong("every_advantage_with_every_completion", "[N, 1] times [N] pairs them up | [N, 1] 乘 [N] 会逐个配对",
      caught_by="check_policy_gradient_loss_each_its_own_advantage",
      todo_4="""
      completion_logps = token_logps.masked_fill(~completion_mask, 0.0).sum(dim=1)
      loss = -(advantages.detach()[:, None] * completion_logps).mean()
      """)

wrong("mean_of_advantages", "the batch is pushed by its mean advantage | 整批由平均优势推动",
      caught_by="check_policy_gradient_loss_each_its_own_advantage",
      todo_4="""
      completion_logps = token_logps.masked_fill(~completion_mask, 0.0).sum(dim=1)
      loss = -advantages.detach().float().mean() * completion_logps.mean()
      """)

wrong("bad_completions_dropped", "only good completions are learned from | 只从好的回答学习",
      caught_by="check_policy_gradient_loss_sign",
      todo_4="""
      completion_logps = token_logps.masked_fill(~completion_mask, 0.0).sum(dim=1)
      loss = -(advantages.detach().clamp(min=0) * completion_logps).mean()
      """)

wrong("advantages_centered_again", "the loss subtracts the mean advantage | 损失里再减一次优势的均值",
      caught_by="check_policy_gradient_loss_takes_advantages_as_they_are",
      todo_4="""
      completion_logps = token_logps.masked_fill(~completion_mask, 0.0).sum(dim=1)
      fixed = advantages.detach().to(token_logps.dtype)
      loss = -((fixed - fixed.mean()) * completion_logps).mean()
      """)

wrong("advantages_limited", "large advantages are cut to 1 for safety | 保险起见，把大的优势截到 1",
      caught_by="check_policy_gradient_loss_uses_log_probabilities",
      todo_4="""
      completion_logps = token_logps.masked_fill(~completion_mask, 0.0).sum(dim=1)
      loss = -(advantages.detach().clamp(-1, 1) * completion_logps).mean()
      """)

wrong("zero_advantage_not_counted", "the mean is over completions that teach something | 只对有信号的回答取平均",
      caught_by="check_policy_gradient_loss_takes_advantages_as_they_are",
      todo_4="""
      completion_logps = token_logps.masked_fill(~completion_mask, 0.0).sum(dim=1)
      loss = -(advantages.detach() * completion_logps).sum() / (advantages != 0).sum().clamp(min=1)
      """)

wrong("mask_ignored", "padding has log-probability 0 anyway | 填充的对数概率本来就是 0",
      caught_by="check_policy_gradient_loss_leaves_padding_out",
      todo_4="loss = -(advantages.detach() * token_logps.sum(dim=1)).mean()")

wrong("mask_turned_around", "True marks padding | True 表示填充",
      caught_by="check_policy_gradient_loss_leaves_padding_out",
      todo_4="loss = -(advantages.detach() * token_logps.masked_fill(completion_mask, 0.0).sum(dim=1)).mean()")

wrong("multiplied_by_mask", "multiplying by 0 removes anything | 乘以 0 就能去掉任何值",
      caught_by="check_policy_gradient_loss_padding_may_be_infinite",
      todo_4="loss = -(advantages.detach() * (token_logps * completion_mask).sum(dim=1)).mean()")

wrong("nan_gradient_through_where", "where() hides what happened before it | where() 能掩盖之前的计算",
      caught_by="check_policy_gradient_loss_gradient",
      todo_4="""
      completion_logps = torch.where(completion_mask, -(-token_logps).sqrt().square(), 0.0).sum(dim=1)
      loss = -(advantages.detach() * completion_logps).mean()
      """)

wrong("unlikely_steps_count_less", "a step is weighted by its probability | 每一步按自己的概率加权",
      caught_by="check_policy_gradient_loss_gradient",
      todo_4="""
      scores = token_logps.masked_fill(~completion_mask, 0.0)
      weighted = scores.detach() + scores.exp() - scores.exp().detach()
      loss = -(advantages.detach() * weighted.sum(dim=1)).mean()
      """)

wrong("critic_learns_here", "advantages stay in the graph | 优势留在计算图中",
      caught_by="check_policy_gradient_loss_advantages_are_frozen",
      todo_4="""
      completion_logps = token_logps.masked_fill(~completion_mask, 0.0).sum(dim=1)
      loss = -(advantages * completion_logps).mean()
      """)

wrong("scores_cast_to_the_advantages", "both must have the type of the advantages | 两者都要用优势的类型",
      caught_by="check_policy_gradient_loss_takes_integers",
      todo_4="""
      completion_logps = token_logps.masked_fill(~completion_mask, 0.0).sum(dim=1)
      loss = -(advantages.detach() * completion_logps.to(advantages.dtype)).sum() / len(advantages)
      """)

wrong("padding_overwritten", "the caller's padding may be set to 0 | 可以把调用者的填充改写为 0",
      caught_by="check_policy_gradient_loss_leaves_inputs_alone",
      todo_4="""
      with torch.no_grad():
          token_logps[~completion_mask] = 0.0
      loss = -(advantages.detach() * token_logps.sum(dim=1)).mean()
      """)

wrong("loss_in_float32", "float32 is always enough | float32 总是够用",
      caught_by="check_policy_gradient_loss_keeps_float64",
      todo_4="""
      completion_logps = token_logps.float().masked_fill(~completion_mask, 0.0).sum(dim=1)
      loss = -(advantages.detach() * completion_logps).mean()
      """)

wrong("any_mask_taken", "a mask of 0 and 1 is as good as a bool one | 0/1 掩码与布尔掩码一样",
      caught_by="check_policy_gradient_loss_refuses_bad_input",
      function="""
      def policy_gradient_loss(token_logps, advantages, completion_mask):
          completion_logps = token_logps.masked_fill(~completion_mask.bool(), 0.0).sum(dim=1)
          return -(advantages.detach() * completion_logps).mean()
      """)

wrong("log_probabilities_limited", "a log-probability below -20 is limited | 低于 -20 的对数概率要截断",
      caught_by="check_policy_gradient_loss_limits_nothing",
      todo_4="""
      completion_logps = token_logps.masked_fill(~completion_mask, 0.0).clamp(min=-20.0).sum(dim=1)
      loss = -(advantages.detach() * completion_logps).mean()
      """)

wrong("large_advantages_limited", "an advantage beyond 10 is an outlier | 超过 10 的优势是异常值",
      caught_by="check_policy_gradient_loss_limits_nothing",
      todo_4="""
      completion_logps = token_logps.masked_fill(~completion_mask, 0.0).sum(dim=1)
      loss = -(advantages.detach().clamp(-10, 10) * completion_logps).mean()
      """)

wrong("small_advantages_dropped", "an advantage near 0 is noise | 接近 0 的优势是噪声",
      caught_by="check_policy_gradient_loss_limits_nothing",
      todo_4="""
      completion_logps = token_logps.masked_fill(~completion_mask, 0.0).sum(dim=1)
      fixed = advantages.detach().masked_fill(advantages.abs() < 0.05, 0)
      loss = -(fixed * completion_logps).mean()
      """)

wrong("divisor_with_epsilon", "a small number in the divisor never hurts | 除数里加一个很小的数总是无害",
      caught_by="check_policy_gradient_loss_keeps_float64",
      todo_4="""
      completion_logps = token_logps.masked_fill(~completion_mask, 0.0).sum(dim=1)
      loss = -(advantages.detach() * completion_logps).sum() / (len(advantages) + 1e-8)
      """)

wrong("advantage_learns_when_alone", "one completion needs no frozen advantage | 只有一条回答时优势不必固定",
      caught_by="check_policy_gradient_loss_advantages_are_frozen",
      todo_4="""
      completion_logps = token_logps.masked_fill(~completion_mask, 0.0).sum(dim=1)
      fixed = advantages.detach() if len(advantages) > 1 else advantages
      loss = -(fixed * completion_logps).mean()
      """)

wrong("advantage_learns_in_long_ones", "only a bandit's advantage is frozen | 只有一步时优势才固定",
      caught_by="check_policy_gradient_loss_advantages_are_frozen",
      todo_4="""
      completion_logps = token_logps.masked_fill(~completion_mask, 0.0).sum(dim=1)
      fixed = advantages.detach() if token_logps.shape[1] == 1 else advantages
      loss = -(fixed * completion_logps).mean()
      """)

wrong("first_twelve_steps", "completions are short | 回答都很短",
      caught_by="hidden_policy_gradient_loss_random",
      todo_4="""
      completion_logps = token_logps.masked_fill(~completion_mask, 0.0)[:, :12].sum(dim=1)
      loss = -(advantages.detach() * completion_logps).mean()
      """)

wrong("large_batch_whitened", "a large batch is whitened | 批大的时候要白化",
      caught_by="hidden_policy_gradient_loss_random",
      todo_4="""
      completion_logps = token_logps.masked_fill(~completion_mask, 0.0).sum(dim=1)
      fixed = advantages.detach()
      if len(fixed) > 8:
          fixed = (fixed - fixed.mean()) / (fixed.std() + 1e-8)
      loss = -(fixed * completion_logps).mean()
      """)

wrong("float64_is_data", "float64 log-probabilities are recorded data | float64 的对数概率是记录下来的数据",
      caught_by="hidden_policy_gradient_loss_random",
      todo_4="""
      scores = token_logps.detach() if token_logps.dtype == torch.float64 else token_logps
      completion_logps = scores.masked_fill(~completion_mask, 0.0).sum(dim=1)
      loss = -(advantages.detach() * completion_logps).mean()
      """)

wrong("loss_limited", "a loss beyond 100 is an accident | 超过 100 的损失是意外",
      caught_by="check_policy_gradient_loss_limits_nothing",
      todo_4="""
      completion_logps = token_logps.masked_fill(~completion_mask, 0.0).sum(dim=1)
      loss = -(advantages.detach() * completion_logps).mean().clamp(-100.0, 100.0)
      """)

# Mutants that no check can reject

equivalent("TODO 2: rewards -> completion_mask (place 2)", because="the mask has as many columns as the rewards")
equivalent("TODO 3: values -> completion_mask (place 4)", because="the mask has as many columns as the values")
equivalent("TODO 3: values -> rewards (place 4)", because="the rewards have as many columns as the values")
equivalent("TODO 3: next_advantages -> valid (place 2)", because="where it is taken, in the padding, both are 0")
