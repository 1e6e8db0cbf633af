"""Mistakes that the checks of lesson RLOO must reject: name, the misconception, the check whose message speaks of it, the code.

The code replaces the TODO region; `function=` replaces the whole function where a mistake lies outside the region.
"""

from lessons._build.answers import equivalent, wrong

# TODO 1: aggregate_sequence_logps

wrong("mean_over_valid_tokens", "a sequence's score is its average token log-probability | 序列得分是 Token 对数概率的平均",
      caught_by="check_aggregate_sequence_logps_sums_over_tokens",
      todo_1="sequence_logps = token_logps.masked_fill(~completion_mask, 0.0).sum(dim=-1) / completion_mask.sum(dim=-1)")

wrong("mean_over_all_positions", "averaging over the padded length is harmless | 按填充后的长度取平均无妨",
      caught_by="check_aggregate_sequence_logps_sums_over_tokens",
      todo_1="sequence_logps = token_logps.masked_fill(~completion_mask, 0.0).mean(dim=-1)")

wrong("mask_ignored", "padding has log-probability 0 anyway | 填充的对数概率本来就是 0",
      caught_by="check_aggregate_sequence_logps_leaves_padding_out",
      todo_1="sequence_logps = token_logps.sum(dim=-1)")

wrong("mask_inverted", "True marks padding, as in attention code | True 表示填充，像某些注意力代码那样",
      caught_by="check_aggregate_sequence_logps_leaves_padding_out",
      todo_1="sequence_logps = token_logps.masked_fill(completion_mask, 0.0).sum(dim=-1)")

wrong("filled_with_minus_infinity", "masked positions get -inf, as before a softmax | 掩码位置填 -inf，像 softmax 之前那样",
      caught_by="check_aggregate_sequence_logps_leaves_padding_out",
      todo_1='sequence_logps = token_logps.masked_fill(~completion_mask, float("-inf")).sum(dim=-1)')

wrong("nan_to_num_instead_of_mask", "removing NaN and infinity removes the padding | 去掉 NaN 和无穷就等于去掉填充",
      caught_by="check_aggregate_sequence_logps_leaves_padding_out",
      todo_1="sequence_logps = token_logps.nan_to_num(nan=0.0, posinf=0.0, neginf=0.0).sum(dim=-1)")

wrong("multiplied_by_mask", "multiplying by 0 removes anything | 乘以 0 就能去掉任何值",
      caught_by="check_aggregate_sequence_logps_padding_may_be_infinite",
      todo_1="sequence_logps = (token_logps * completion_mask).sum(dim=-1)")

wrong("einsum_with_mask", "an einsum with the mask removes anything | 与掩码做 einsum 就能去掉任何值",
      caught_by="check_aggregate_sequence_logps_padding_may_be_infinite",
      todo_1='sequence_logps = torch.einsum("nt,nt->n", token_logps, completion_mask.to(token_logps.dtype))')

wrong("prefix_by_length", "a completion is its first tokens, as many as the mask has | 回答就是最前面的若干 Token",
      caught_by="check_aggregate_sequence_logps_mask_may_have_holes",
      todo_1="""
      lengths = completion_mask.sum(dim=-1, keepdim=True)
      prefix = torch.arange(token_logps.shape[1]) < lengths
      sequence_logps = token_logps.masked_fill(~prefix, 0.0).sum(dim=-1)
      """)

wrong("stops_at_first_hole", "everything after the first masked position is padding | 第一个被掩码的位置之后全是填充",
      caught_by="check_aggregate_sequence_logps_mask_may_have_holes",
      todo_1="""
      unbroken = completion_mask.long().cumprod(dim=-1).bool()
      sequence_logps = token_logps.masked_fill(~unbroken, 0.0).sum(dim=-1)
      """)

wrong("up_to_last_valid", "everything before the last valid token is valid | 最后一个有效 Token 之前全部有效",
      caught_by="check_aggregate_sequence_logps_mask_may_have_holes",
      todo_1="""
      until_last = completion_mask.flip(-1).long().cummax(dim=-1).values.flip(-1).bool()
      sequence_logps = token_logps.masked_fill(~until_last, 0.0).sum(dim=-1)
      """)

wrong("end_token_dropped", "the end-of-sequence token is no part of the completion | 结束 Token 不属于回答",
      caught_by="check_aggregate_sequence_logps_sums_over_tokens",
      todo_1="sequence_logps = token_logps.masked_fill(~completion_mask, 0.0)[:, :-1].sum(dim=-1)")

wrong("shifted_twice", "log-probabilities must be shifted against the mask here | 这里还要把对数概率相对掩码移一位",
      caught_by="check_aggregate_sequence_logps_sums_over_tokens",
      todo_1="sequence_logps = token_logps[:, 1:].masked_fill(~completion_mask[:, 1:], 0.0).sum(dim=-1)")

wrong("summed_over_completions", "the sum runs over the batch | 沿批求和",
      caught_by="check_aggregate_sequence_logps_sums_over_tokens",
      todo_1="sequence_logps = token_logps.masked_fill(~completion_mask, 0.0).sum(dim=0)")

wrong("one_score_for_the_batch", "one number for the whole batch | 整批只有一个数",
      caught_by="check_aggregate_sequence_logps_sums_over_tokens",
      todo_1="sequence_logps = token_logps[completion_mask].sum()")

wrong("column_of_scores", "scores stay a column | 得分保持为一列",
      caught_by="check_aggregate_sequence_logps_sums_over_tokens",
      todo_1="sequence_logps = token_logps.masked_fill(~completion_mask, 0.0).sum(dim=-1, keepdim=True)")

wrong("product_of_probabilities", "the score is the probability of the sequence | 得分是序列的概率",
      caught_by="check_aggregate_sequence_logps_sums_over_tokens",
      todo_1="sequence_logps = token_logps.masked_fill(~completion_mask, 0.0).exp().prod(dim=-1)")

wrong("log_sum_exp", "log-probabilities are joined by logsumexp | 对数概率用 logsumexp 合并",
      caught_by="check_aggregate_sequence_logps_sums_over_tokens",
      todo_1='sequence_logps = token_logps.masked_fill(~completion_mask, float("-inf")).logsumexp(dim=-1)')

wrong("score_detached", "log-probabilities are data, not part of the graph | 对数概率只是数据，不在计算图中",
      caught_by="check_aggregate_sequence_logps_gradient",
      todo_1="sequence_logps = token_logps.detach().masked_fill(~completion_mask, 0.0).sum(dim=-1)")

wrong("score_rebuilt_from_numbers", "a tensor of Python numbers still learns | 由 Python 数字重建的张量仍能学习",
      caught_by="check_aggregate_sequence_logps_gradient",
      todo_1="sequence_logps = torch.tensor([s[m].sum().item() for s, m in zip(token_logps, completion_mask)], dtype=token_logps.dtype)")

wrong("nan_gradient_through_where", "where() hides what happened before it | where() 能掩盖之前的计算",
      caught_by="check_aggregate_sequence_logps_gradient",
      todo_1="sequence_logps = torch.where(completion_mask, -(-token_logps).sqrt().square(), 0.0).sum(dim=-1)")

wrong("padding_overwritten", "the caller's padding may be set to 0 | 可以把调用者的填充改写为 0",
      caught_by="check_aggregate_sequence_logps_leaves_inputs_alone",
      todo_1="""
      with torch.no_grad():
          token_logps[~completion_mask] = 0.0
      sequence_logps = token_logps.sum(dim=-1)
      """)

wrong("score_in_float32", "float32 is always enough | float32 总是够用",
      caught_by="check_aggregate_sequence_logps_keeps_float64",
      todo_1="sequence_logps = token_logps.float().masked_fill(~completion_mask, 0.0).sum(dim=-1)")

wrong("any_mask_taken", "a mask of 0 and 1 is as good as a bool one | 0/1 掩码与布尔掩码一样",
      caught_by="check_aggregate_sequence_logps_refuses_bad_input",
      function="""
      def aggregate_sequence_logps(token_logps, completion_mask):
          return token_logps.masked_fill(~completion_mask.bool(), 0.0).sum(dim=-1)
      """)

wrong("token_scores_limited", "a log-probability below -100 is a numerical accident | 低于 -100 的对数概率是数值意外",
      caught_by="check_aggregate_sequence_logps_sums_over_tokens",
      todo_1="sequence_logps = token_logps.masked_fill(~completion_mask, 0.0).clamp(min=-100.0).sum(dim=-1)")

wrong("sum_limited", "a sequence log-probability below -1000 is as good as -1000 | 序列对数概率低于 -1000 就当作 -1000",
      caught_by="check_aggregate_sequence_logps_sums_over_tokens",
      todo_1="sequence_logps = token_logps.masked_fill(~completion_mask, 0.0).sum(dim=-1).clamp(min=-1000.0)")

wrong("squeezed", "squeeze() only drops the token dimension | squeeze() 只会去掉 Token 维",
      caught_by="check_aggregate_sequence_logps_sums_over_tokens",
      todo_1="sequence_logps = token_logps.masked_fill(~completion_mask, 0.0).sum(dim=-1, keepdim=True).squeeze()")

wrong("one_token_needs_no_sum", "with one token there is nothing to sum | 只有一个 Token 时不必求和",
      caught_by="check_aggregate_sequence_logps_sums_over_tokens",
      todo_1="""
      clean = token_logps.masked_fill(~completion_mask, 0.0)
      sequence_logps = clean if clean.shape[1] == 1 else clean.sum(dim=-1)
      """)

wrong("first_twelve_tokens", "completions are short | 回答都很短",
      caught_by="hidden_aggregate_sequence_logps_random",
      todo_1="sequence_logps = token_logps.masked_fill(~completion_mask, 0.0)[:, :12].sum(dim=-1)")

wrong("small_scores_dropped", "a log-probability near 0 adds nothing | 接近 0 的对数概率没有贡献",
      caught_by="hidden_aggregate_sequence_logps_random",
      todo_1="""
      clean = token_logps.masked_fill(~completion_mask, 0.0)
      sequence_logps = clean.masked_fill(clean.abs() < 1e-3, 0.0).sum(dim=-1)
      """)

wrong("float64_is_data", "float64 scores are recorded data | float64 的得分是记录下来的数据",
      caught_by="hidden_aggregate_sequence_logps_random",
      todo_1="""
      scores = token_logps.detach() if token_logps.dtype == torch.float64 else token_logps
      sequence_logps = scores.masked_fill(~completion_mask, 0.0).sum(dim=-1)
      """)

# TODO 2: shape_rloo_rewards

wrong("kl_reference_minus_old", "KL is reference minus old | KL 是参考策略减旧策略",
      caught_by="check_shape_rloo_rewards_kl_direction",
      todo_2="""
      token_kl = reference_token_logps.detach() - old_token_logps.detach()
      sequence_kl = token_kl.masked_fill(~completion_mask, 0.0).sum(dim=-1)
      shaped_rewards = external_rewards.detach() - beta * sequence_kl
      """)

wrong("penalty_added", "the KL term is added to the reward | KL 项加到奖励上",
      caught_by="check_shape_rloo_rewards_penalty_is_subtracted",
      todo_2="""
      token_kl = old_token_logps.detach() - reference_token_logps.detach()
      sequence_kl = token_kl.masked_fill(~completion_mask, 0.0).sum(dim=-1)
      shaped_rewards = external_rewards.detach() + beta * sequence_kl
      """)

wrong("kl_k3", "RLOO uses GRPO's k3 | RLOO 使用 GRPO 的 k3",
      caught_by="check_shape_rloo_rewards_kl_is_k1",
      todo_2="""
      difference = (reference_token_logps - old_token_logps).detach().masked_fill(~completion_mask, 0.0)
      sequence_kl = (difference.exp() - difference - 1).sum(dim=-1)
      shaped_rewards = external_rewards.detach() - beta * sequence_kl
      """)

wrong("kl_k2", "KL is half the squared difference | KL 是差的平方的一半",
      caught_by="check_shape_rloo_rewards_kl_is_k1",
      todo_2="""
      difference = (old_token_logps - reference_token_logps).detach().masked_fill(~completion_mask, 0.0)
      sequence_kl = (difference ** 2 / 2).sum(dim=-1)
      shaped_rewards = external_rewards.detach() - beta * sequence_kl
      """)

wrong("kl_absolute", "a KL cannot be negative, so take the absolute value | KL 不会为负，所以取绝对值",
      caught_by="check_shape_rloo_rewards_kl_is_k1",
      todo_2="""
      difference = (old_token_logps - reference_token_logps).detach().masked_fill(~completion_mask, 0.0)
      sequence_kl = difference.abs().sum(dim=-1)
      shaped_rewards = external_rewards.detach() - beta * sequence_kl
      """)

wrong("kl_clamped_per_token", "a token's KL below 0 is noise | 单个 Token 的负 KL 是噪声",
      caught_by="check_shape_rloo_rewards_kl_is_k1",
      todo_2="""
      difference = (old_token_logps - reference_token_logps).detach().masked_fill(~completion_mask, 0.0)
      sequence_kl = difference.clamp(min=0.0).sum(dim=-1)
      shaped_rewards = external_rewards.detach() - beta * sequence_kl
      """)

wrong("kl_clamped_per_sequence", "a sequence's KL below 0 must not pay a bonus | 序列 KL 为负时不应给奖励",
      caught_by="check_shape_rloo_rewards_kl_is_k1",
      todo_2="""
      token_kl = old_token_logps.detach() - reference_token_logps.detach()
      sequence_kl = token_kl.masked_fill(~completion_mask, 0.0).sum(dim=-1).clamp(min=0.0)
      shaped_rewards = external_rewards.detach() - beta * sequence_kl
      """)

wrong("kl_weighted_by_probability", "a sampled token is weighted by its probability once more | 已采样的 Token 还要再乘概率",
      caught_by="check_shape_rloo_rewards_kl_is_k1",
      todo_2="""
      token_kl = old_token_logps.exp() * (old_token_logps - reference_token_logps)
      sequence_kl = token_kl.detach().masked_fill(~completion_mask, 0.0).sum(dim=-1)
      shaped_rewards = external_rewards.detach() - beta * sequence_kl
      """)

wrong("kl_of_probabilities", "KL is the difference of probabilities | KL 是概率之差",
      caught_by="check_shape_rloo_rewards_kl_is_k1",
      todo_2="""
      token_kl = (old_token_logps.exp() - reference_token_logps.exp()).detach()
      sequence_kl = token_kl.masked_fill(~completion_mask, 0.0).sum(dim=-1)
      shaped_rewards = external_rewards.detach() - beta * sequence_kl
      """)

wrong("kl_softmax_over_time", "the token log-probabilities of a row are a distribution | 一行 Token 对数概率构成一个分布",
      caught_by="check_shape_rloo_rewards_kl_direction",
      todo_2="""
      old = old_token_logps.masked_fill(~completion_mask, float("-inf")).log_softmax(dim=-1)
      reference = reference_token_logps.masked_fill(~completion_mask, float("-inf")).log_softmax(dim=-1)
      sequence_kl = (old.exp() * (old - reference).masked_fill(~completion_mask, 0.0)).sum(dim=-1).detach()
      shaped_rewards = external_rewards.detach() - beta * sequence_kl
      """)

wrong("kl_by_kl_div", "F.kl_div takes two tensors of log-probabilities | F.kl_div 直接接收两个对数概率张量",
      caught_by="check_shape_rloo_rewards_kl_direction",
      todo_2="""
      token_kl = torch.nn.functional.kl_div(reference_token_logps, old_token_logps, reduction="none").detach()
      sequence_kl = token_kl.masked_fill(~completion_mask, 0.0).sum(dim=-1)
      shaped_rewards = external_rewards.detach() - beta * sequence_kl
      """)

wrong("kl_averaged_over_tokens", "KL is an average over tokens | KL 按 Token 取平均",
      caught_by="check_shape_rloo_rewards_kl_is_summed",
      todo_2="""
      token_kl = old_token_logps.detach() - reference_token_logps.detach()
      sequence_kl = token_kl.masked_fill(~completion_mask, 0.0).sum(dim=-1) / completion_mask.sum(dim=-1)
      shaped_rewards = external_rewards.detach() - beta * sequence_kl
      """)

wrong("kl_of_last_token", "only the last token carries the penalty | 只有最后一个 Token 承担惩罚",
      caught_by="check_shape_rloo_rewards_kl_is_summed",
      todo_2="""
      token_kl = (old_token_logps - reference_token_logps).detach()
      last = (completion_mask * torch.arange(completion_mask.shape[1])).argmax(dim=-1)
      sequence_kl = token_kl[torch.arange(len(last)), last]
      shaped_rewards = external_rewards.detach() - beta * sequence_kl
      """)

wrong("kl_left_per_token", "the penalty is returned per token | 惩罚按 Token 返回",
      caught_by="check_shape_rloo_rewards_kl_direction",
      todo_2="""
      sequence_kl = (old_token_logps - reference_token_logps).detach().masked_fill(~completion_mask, 0.0)
      shaped_rewards = external_rewards.detach() - beta * sequence_kl.sum(dim=-1)
      """)

wrong("kl_mask_ignored", "padding cancels in the difference | 填充在求差时会抵消",
      caught_by="check_shape_rloo_rewards_leaves_padding_out",
      todo_2="""
      sequence_kl = (old_token_logps - reference_token_logps).detach().sum(dim=-1)
      shaped_rewards = external_rewards.detach() - beta * sequence_kl
      """)

wrong("kl_multiplied_by_mask", "multiplying by 0 removes anything | 乘以 0 就能去掉任何值",
      caught_by="check_shape_rloo_rewards_leaves_padding_out",
      todo_2="""
      sequence_kl = ((old_token_logps - reference_token_logps).detach() * completion_mask).sum(dim=-1)
      shaped_rewards = external_rewards.detach() - beta * sequence_kl
      """)

wrong("kl_filled_with_minus_infinity", "both policies get -inf on padding, which cancels | 两个策略的填充都填 -inf，相减抵消",
      caught_by="check_shape_rloo_rewards_leaves_padding_out",
      todo_2="""
      old = old_token_logps.masked_fill(~completion_mask, float("-inf"))
      reference = reference_token_logps.masked_fill(~completion_mask, float("-inf"))
      sequence_kl = (old - reference).sum(dim=-1).detach()
      shaped_rewards = external_rewards.detach() - beta * sequence_kl
      """)

wrong("kl_of_the_prefix", "a completion is its first tokens, as many as the mask has | 回答就是最前面的若干 Token",
      caught_by="check_shape_rloo_rewards_leaves_padding_out",
      todo_2="""
      prefix = torch.arange(completion_mask.shape[1]) < completion_mask.sum(dim=-1, keepdim=True)
      token_kl = (old_token_logps - reference_token_logps).detach()
      sequence_kl = token_kl.masked_fill(~prefix, 0.0).sum(dim=-1)
      shaped_rewards = external_rewards.detach() - beta * sequence_kl
      """)

wrong("beta_ignored", "the penalty has weight 1 | 惩罚的权重为 1",
      caught_by="check_shape_rloo_rewards_beta_scales_only_the_penalty",
      todo_2="""
      token_kl = old_token_logps.detach() - reference_token_logps.detach()
      sequence_kl = token_kl.masked_fill(~completion_mask, 0.0).sum(dim=-1)
      shaped_rewards = external_rewards.detach() - sequence_kl
      """)

wrong("beta_inside_kl", "the returned KL is the penalty itself | 返回的 KL 就是惩罚本身",
      caught_by="check_shape_rloo_rewards_beta_scales_only_the_penalty",
      todo_2="""
      token_kl = beta * (old_token_logps.detach() - reference_token_logps.detach())
      sequence_kl = token_kl.masked_fill(~completion_mask, 0.0).sum(dim=-1)
      shaped_rewards = external_rewards.detach() - sequence_kl
      """)

wrong("convex_mixture", "beta mixes reward and KL | beta 在奖励与 KL 之间加权平均",
      caught_by="check_shape_rloo_rewards_beta_scales_only_the_penalty",
      todo_2="""
      token_kl = old_token_logps.detach() - reference_token_logps.detach()
      sequence_kl = token_kl.masked_fill(~completion_mask, 0.0).sum(dim=-1)
      shaped_rewards = (1 - beta) * external_rewards.detach() - beta * sequence_kl
      """)

wrong("no_kl_without_beta", "with beta 0 the KL need not be computed | beta 为 0 时不必计算 KL",
      caught_by="check_shape_rloo_rewards_beta_scales_only_the_penalty",
      todo_2="""
      sequence_kl = torch.zeros_like(old_token_logps[:, 0])
      if beta > 0:
          token_kl = old_token_logps.detach() - reference_token_logps.detach()
          sequence_kl = token_kl.masked_fill(~completion_mask, 0.0).sum(dim=-1)
      shaped_rewards = external_rewards.detach() - beta * sequence_kl
      """)

wrong("default_beta_of_trl", "beta is 0.05 unless told otherwise | 未给出时 beta 为 0.05",
      caught_by="check_shape_rloo_rewards_beta_scales_only_the_penalty",
      function="""
      solved = shape_rloo_rewards

      def shape_rloo_rewards(external_rewards, old_token_logps, reference_token_logps, completion_mask, beta=0.05):
          return solved(external_rewards, old_token_logps, reference_token_logps, completion_mask, beta)
      """)

wrong("batch_mean_kl", "one KL for the whole batch | 整批只用一个 KL",
      caught_by="check_shape_rloo_rewards_each_completion_pays_its_own",
      todo_2="""
      token_kl = old_token_logps.detach() - reference_token_logps.detach()
      sequence_kl = token_kl.masked_fill(~completion_mask, 0.0).sum(dim=-1)
      shaped_rewards = external_rewards.detach() - beta * sequence_kl.mean()
      """)

wrong("rewards_clipped", "rewards are kept within 0 and 1 | 奖励限制在 0 与 1 之间",
      caught_by="check_shape_rloo_rewards_beta_scales_only_the_penalty",
      todo_2="""
      token_kl = old_token_logps.detach() - reference_token_logps.detach()
      sequence_kl = token_kl.masked_fill(~completion_mask, 0.0).sum(dim=-1)
      shaped_rewards = (external_rewards.detach() - beta * sequence_kl).clamp(0.0, 1.0)
      """)

wrong("rewards_clipped_below", "a reward cannot be negative | 奖励不能为负",
      caught_by="check_shape_rloo_rewards_each_completion_pays_its_own",
      todo_2="""
      token_kl = old_token_logps.detach() - reference_token_logps.detach()
      sequence_kl = token_kl.masked_fill(~completion_mask, 0.0).sum(dim=-1)
      shaped_rewards = (external_rewards.detach() - beta * sequence_kl).clamp(min=0.0)
      """)

wrong("rewards_centered_first", "rewards are normalized over the batch first | 先在批内归一化奖励",
      caught_by="check_shape_rloo_rewards_each_completion_pays_its_own",
      todo_2="""
      token_kl = old_token_logps.detach() - reference_token_logps.detach()
      sequence_kl = token_kl.masked_fill(~completion_mask, 0.0).sum(dim=-1)
      rewards = external_rewards.detach()
      shaped_rewards = rewards - beta * sequence_kl
      if len(rewards) > 2:
          shaped_rewards = shaped_rewards - rewards.nanmean()
      """)

wrong("missing_reward_is_zero", "a missing reward is a reward of 0 | 把缺失奖励当作 0",
      caught_by="check_shape_rloo_rewards_missing_stays_missing",
      todo_2="""
      token_kl = old_token_logps.detach() - reference_token_logps.detach()
      sequence_kl = token_kl.masked_fill(~completion_mask, 0.0).sum(dim=-1)
      shaped_rewards = external_rewards.detach().nan_to_num(nan=0.0) - beta * sequence_kl
      """)

wrong("no_kl_where_missing", "a completion without a reward has no KL | 没有奖励的回答没有 KL",
      caught_by="check_shape_rloo_rewards_missing_stays_missing",
      todo_2="""
      token_kl = old_token_logps.detach() - reference_token_logps.detach()
      sequence_kl = token_kl.masked_fill(~completion_mask, 0.0).sum(dim=-1)
      shaped_rewards = external_rewards.detach() - beta * sequence_kl
      sequence_kl = sequence_kl.masked_fill(external_rewards.isnan(), 0.0)
      """)

wrong("integer_arithmetic", "shaped rewards keep the type of the rewards | 塑形奖励保持奖励的类型",
      caught_by="check_shape_rloo_rewards_takes_integer_rewards",
      function="""
      solved = shape_rloo_rewards

      def shape_rloo_rewards(external_rewards, *arguments, **named):
          shaped_rewards, sequence_kl = solved(external_rewards, *arguments, **named)
          return shaped_rewards.to(external_rewards.dtype), sequence_kl
      """)

wrong("kl_carries_a_gradient", "the KL in the reward is differentiated, as in GRPO's loss | 奖励中的 KL 要求导，像 GRPO 的损失那样",
      caught_by="check_shape_rloo_rewards_is_frozen",
      todo_2="""
      token_kl = old_token_logps - reference_token_logps.detach()
      sequence_kl = token_kl.masked_fill(~completion_mask, 0.0).sum(dim=-1)
      shaped_rewards = external_rewards.detach() - beta * sequence_kl
      """)

wrong("reference_carries_a_gradient", "the reference policy learns too | 参考策略也参与学习",
      caught_by="check_shape_rloo_rewards_is_frozen",
      todo_2="""
      token_kl = old_token_logps.detach() - reference_token_logps
      sequence_kl = token_kl.masked_fill(~completion_mask, 0.0).sum(dim=-1)
      shaped_rewards = external_rewards.detach() - beta * sequence_kl
      """)

wrong("reward_carries_a_gradient", "rewards are part of the graph | 奖励是计算图的一部分",
      caught_by="check_shape_rloo_rewards_is_frozen",
      todo_2="""
      token_kl = old_token_logps.detach() - reference_token_logps.detach()
      sequence_kl = token_kl.masked_fill(~completion_mask, 0.0).sum(dim=-1)
      shaped_rewards = external_rewards - beta * sequence_kl
      """)

wrong("only_the_reward_detached", "it is enough to freeze the shaped reward | 只冻结塑形奖励就够了",
      caught_by="check_shape_rloo_rewards_is_frozen",
      todo_2="""
      token_kl = old_token_logps - reference_token_logps
      sequence_kl = token_kl.masked_fill(~completion_mask, 0.0).sum(dim=-1)
      shaped_rewards = (external_rewards - beta * sequence_kl).detach()
      """)

wrong("rewards_overwritten", "the penalty may be taken off in place | 可以就地扣除惩罚",
      caught_by="check_shape_rloo_rewards_leaves_inputs_alone",
      todo_2="""
      token_kl = old_token_logps.detach() - reference_token_logps.detach()
      sequence_kl = token_kl.masked_fill(~completion_mask, 0.0).sum(dim=-1)
      shaped_rewards = external_rewards.detach().sub_(beta * sequence_kl)
      """)

wrong("kl_in_float32", "float32 is always enough | float32 总是够用",
      caught_by="check_shape_rloo_rewards_keeps_float64",
      todo_2="""
      token_kl = old_token_logps.detach().float() - reference_token_logps.detach().float()
      sequence_kl = token_kl.masked_fill(~completion_mask, 0.0).sum(dim=-1)
      shaped_rewards = external_rewards.detach() - beta * sequence_kl
      """)

wrong("minus_one_is_missing", "a reward of -1 stands for a missing one | 奖励 -1 表示缺失",
      caught_by="check_shape_rloo_rewards_missing_stays_missing",
      todo_2="""
      token_kl = old_token_logps.detach() - reference_token_logps.detach()
      sequence_kl = token_kl.masked_fill(~completion_mask, 0.0).sum(dim=-1)
      shaped_rewards = (external_rewards.detach() - beta * sequence_kl).masked_fill(external_rewards == -1, float("nan"))
      """)

wrong("rewards_in_float32", "rewards are small, so float32 is enough | 奖励不大，float32 足够",
      caught_by="check_shape_rloo_rewards_keeps_float64",
      todo_2="""
      token_kl = old_token_logps.detach() - reference_token_logps.detach()
      sequence_kl = token_kl.masked_fill(~completion_mask, 0.0).sum(dim=-1)
      shaped_rewards = external_rewards.detach().float() - beta * sequence_kl
      """)

wrong("infinite_reward_taken", "bad input is the caller's business | 错误的输入由调用者负责",
      caught_by="check_shape_rloo_rewards_refuses_bad_input",
      function="""
      def shape_rloo_rewards(external_rewards, old_token_logps, reference_token_logps, completion_mask, beta=0.0):
          require_token_scores(completion_mask, old_token_logps, reference_token_logps)
          token_kl = old_token_logps.detach() - reference_token_logps.detach()
          sequence_kl = token_kl.masked_fill(~completion_mask, 0.0).sum(dim=-1)
          return external_rewards.detach() - beta * sequence_kl, sequence_kl
      """)

wrong("untouched_without_beta", "with beta 0 the rewards are returned as they came | beta 为 0 时原样返回奖励",
      caught_by="check_shape_rloo_rewards_is_frozen",
      todo_2="""
      token_kl = old_token_logps.detach() - reference_token_logps.detach()
      sequence_kl = token_kl.masked_fill(~completion_mask, 0.0).sum(dim=-1)
      shaped_rewards = external_rewards if beta == 0 else external_rewards.detach() - beta * sequence_kl
      """)

wrong("kl_learns_without_beta", "with beta 0 the KL is only a metric and may keep its graph | beta 为 0 时 KL 只是指标，不必停止梯度",
      caught_by="check_shape_rloo_rewards_is_frozen",
      todo_2="""
      token_kl = old_token_logps - reference_token_logps
      sequence_kl = token_kl.masked_fill(~completion_mask, 0.0).sum(dim=-1)
      shaped_rewards = external_rewards.detach() - beta * sequence_kl.detach()
      sequence_kl = sequence_kl if beta == 0 else sequence_kl.detach()
      """)

wrong("long_completions_learn", "only a bandit's KL is a constant | 只有一步的 KL 才是常数",
      caught_by="check_shape_rloo_rewards_is_frozen",
      todo_2="""
      token_kl = old_token_logps - reference_token_logps
      token_kl = token_kl.detach() if token_kl.shape[1] == 1 else token_kl
      sequence_kl = token_kl.masked_fill(~completion_mask, 0.0).sum(dim=-1)
      shaped_rewards = external_rewards.detach() - beta * sequence_kl
      """)

wrong("lone_completion_learns", "one completion has no batch to be a constant of | 只有一条回答时不必停止梯度",
      caught_by="check_shape_rloo_rewards_is_frozen",
      todo_2="""
      token_kl = old_token_logps - reference_token_logps
      token_kl = token_kl.detach() if len(token_kl) > 1 else token_kl
      sequence_kl = token_kl.masked_fill(~completion_mask, 0.0).sum(dim=-1)
      shaped_rewards = external_rewards.detach() - beta * sequence_kl
      """)

wrong("large_rewards_limited", "a reward beyond 10 is an outlier | 超过 10 的奖励是异常值",
      caught_by="check_shape_rloo_rewards_limits_nothing",
      todo_2="""
      token_kl = old_token_logps.detach() - reference_token_logps.detach()
      sequence_kl = token_kl.masked_fill(~completion_mask, 0.0).sum(dim=-1)
      shaped_rewards = external_rewards.detach().clamp(-10.0, 10.0) - beta * sequence_kl
      """)

wrong("large_token_kl_limited", "a token's KL beyond 10 is an outlier | 单个 Token 的 KL 超过 10 是异常值",
      caught_by="check_shape_rloo_rewards_limits_nothing",
      todo_2="""
      token_kl = (old_token_logps.detach() - reference_token_logps.detach()).clamp(-10.0, 10.0)
      sequence_kl = token_kl.masked_fill(~completion_mask, 0.0).sum(dim=-1)
      shaped_rewards = external_rewards.detach() - beta * sequence_kl
      """)

wrong("large_kl_limited", "a completion's KL beyond 10 is an outlier | 整条回答的 KL 超过 10 是异常值",
      caught_by="check_shape_rloo_rewards_limits_nothing",
      todo_2="""
      token_kl = old_token_logps.detach() - reference_token_logps.detach()
      sequence_kl = token_kl.masked_fill(~completion_mask, 0.0).sum(dim=-1).clamp(-10.0, 10.0)
      shaped_rewards = external_rewards.detach() - beta * sequence_kl
      """)

wrong("large_shaped_rewards_limited", "a shaped reward stays within 10 | 塑形奖励限制在 10 以内",
      caught_by="check_shape_rloo_rewards_limits_nothing",
      todo_2="""
      token_kl = old_token_logps.detach() - reference_token_logps.detach()
      sequence_kl = token_kl.masked_fill(~completion_mask, 0.0).sum(dim=-1)
      shaped_rewards = (external_rewards.detach() - beta * sequence_kl).clamp(-10.0, 10.0)
      """)

wrong("beta_limited", "beta is at most 2 | beta 最多为 2",
      caught_by="check_shape_rloo_rewards_limits_nothing",
      todo_2="""
      token_kl = old_token_logps.detach() - reference_token_logps.detach()
      sequence_kl = token_kl.masked_fill(~completion_mask, 0.0).sum(dim=-1)
      shaped_rewards = external_rewards.detach() - min(beta, 2.0) * sequence_kl
      """)

wrong("kl_rounded", "five decimals of a KL are enough | KL 保留五位小数就够了",
      caught_by="hidden_shape_rloo_rewards_random",
      todo_2="""
      token_kl = old_token_logps.detach() - reference_token_logps.detach()
      sequence_kl = token_kl.masked_fill(~completion_mask, 0.0).sum(dim=-1).round(decimals=5)
      shaped_rewards = external_rewards.detach() - beta * sequence_kl
      """)

wrong("log_probabilities_limited", "log-probabilities below -20 are limited before the difference | 求差之前把低于 -20 的对数概率截断",
      caught_by="check_shape_rloo_rewards_limits_nothing",
      todo_2="""
      token_kl = old_token_logps.detach().clamp(min=-20.0) - reference_token_logps.detach().clamp(min=-20.0)
      sequence_kl = token_kl.masked_fill(~completion_mask, 0.0).sum(dim=-1)
      shaped_rewards = external_rewards.detach() - beta * sequence_kl
      """)

# TODO 3: leave_one_out_advantages

wrong("baseline_minus_reward", "a completion above the baseline is pushed down | 高于基线的回答被压低",
      caught_by="check_leave_one_out_advantages_sign",
      todo_3="""
      scored = (group_ids == group) & ~rewards.isnan()
      count = int(scored.sum())
      if count >= 2:
          advantages[scored] = (rewards[scored].sum() - rewards[scored]) / (count - 1) - rewards[scored]
      """)

wrong("one_advantage_for_the_batch", "all completions share one advantage | 所有回答共用一个优势",
      caught_by="check_leave_one_out_advantages_sign",
      todo_3="advantages = (rewards - rewards.nanmean()).nanmean()")

wrong("group_mean", "the group mean is the baseline, as in GRPO | 用组均值作基线，像 GRPO 那样",
      caught_by="check_leave_one_out_advantages_excludes_self",
      todo_3="""
      scored = (group_ids == group) & ~rewards.isnan()
      if scored.any():
          advantages[scored] = rewards[scored] - rewards[scored].mean()
      """)

wrong("correction_inverted", "the group mean is turned into leave-one-out by (G - 1)/G | 组均值乘 (G - 1)/G 就成了留一",
      caught_by="check_leave_one_out_advantages_excludes_self",
      todo_3="""
      scored = (group_ids == group) & ~rewards.isnan()
      count = int(scored.sum())
      if count >= 2:
          advantages[scored] = (rewards[scored] - rewards[scored].mean()) * (count - 1) / count
      """)

wrong("divided_by_std", "advantages are divided by the group's standard deviation | 优势除以组的标准差",
      caught_by="check_leave_one_out_advantages_keeps_the_scale",
      todo_3="""
      scored = (group_ids == group) & ~rewards.isnan()
      count = int(scored.sum())
      if count >= 2:
          baselines = (rewards[scored].sum() - rewards[scored]) / (count - 1)
          advantages[scored] = (rewards[scored] - baselines) / (rewards[scored].std() + 1e-4)
      """)

wrong("divided_by_sibling_std", "each advantage is divided by its siblings' standard deviation | 每个优势除以同组其他回答的标准差",
      caught_by="check_leave_one_out_advantages_keeps_the_scale",
      todo_3="""
      scored = (group_ids == group) & ~rewards.isnan()
      places = scored.nonzero().flatten().tolist()
      for i in places:
          siblings = rewards[[j for j in places if j != i]]
          if len(siblings) >= 1:
              advantages[i] = (rewards[i] - siblings.mean()) / (siblings.std(unbiased=False) + 1e-6)
      """)

wrong("normalized_over_the_batch", "advantages are whitened over the batch | 在整批上白化优势",
      caught_by="check_leave_one_out_advantages_keeps_the_scale",
      function="""
      solved = leave_one_out_advantages

      def leave_one_out_advantages(rewards, group_ids):
          advantages = solved(rewards, group_ids)
          return (advantages - advantages.mean()) / (advantages.std(unbiased=False) + 1e-8)
      """)

wrong("advantages_clipped", "advantages are kept within -1 and 1 | 优势限制在 -1 与 1 之间",
      caught_by="check_leave_one_out_advantages_keeps_the_scale",
      todo_3="""
      scored = (group_ids == group) & ~rewards.isnan()
      count = int(scored.sum())
      if count >= 2:
          baselines = (rewards[scored].sum() - rewards[scored]) / (count - 1)
          advantages[scored] = (rewards[scored] - baselines).clamp(-1.0, 1.0)
      """)

wrong("divided_by_group_size", "the others' sum is divided by G | 其他回答之和除以 G",
      caught_by="check_leave_one_out_advantages_averages_the_siblings",
      todo_3="""
      scored = (group_ids == group) & ~rewards.isnan()
      count = int(scored.sum())
      if count >= 2:
          advantages[scored] = rewards[scored] - (rewards[scored].sum() - rewards[scored]) / count
      """)

wrong("sum_of_siblings", "the baseline is the others' sum | 基线是其他回答之和",
      caught_by="check_leave_one_out_advantages_averages_the_siblings",
      todo_3="""
      scored = (group_ids == group) & ~rewards.isnan()
      if int(scored.sum()) >= 2:
          advantages[scored] = rewards[scored] - (rewards[scored].sum() - rewards[scored])
      """)

wrong("best_sibling", "the baseline is the best of the others | 基线是其他回答中最好的",
      caught_by="check_leave_one_out_advantages_averages_the_siblings",
      todo_3="""
      scored = (group_ids == group) & ~rewards.isnan()
      places = scored.nonzero().flatten().tolist()
      for i in places:
          siblings = [rewards[j] for j in places if j != i]
          if siblings:
              advantages[i] = rewards[i] - max(siblings)
      """)

wrong("next_sibling", "one other completion is baseline enough | 用另一条回答作基线就够了",
      caught_by="check_leave_one_out_advantages_averages_the_siblings",
      todo_3="""
      scored = (group_ids == group) & ~rewards.isnan()
      if int(scored.sum()) >= 2:
          advantages[scored] = rewards[scored] - rewards[scored].roll(1)
      """)

wrong("no_baseline", "the advantage is the reward itself, as in plain REINFORCE | 优势就是奖励本身，像朴素 REINFORCE 那样",
      caught_by="check_leave_one_out_advantages_averages_the_siblings",
      todo_3="""
      scored = (group_ids == group) & ~rewards.isnan()
      if int(scored.sum()) >= 2:
          advantages[scored] = rewards[scored]
      """)

wrong("only_better_ones_learn", "a negative advantage is dropped | 丢弃负优势",
      caught_by="check_leave_one_out_advantages_averages_the_siblings",
      todo_3="""
      scored = (group_ids == group) & ~rewards.isnan()
      count = int(scored.sum())
      if count >= 2:
          baselines = (rewards[scored].sum() - rewards[scored]) / (count - 1)
          advantages[scored] = (rewards[scored] - baselines).clamp(min=0.0)
      """)

wrong("batch_leave_one_out", "the baseline is taken over the whole batch | 在整批上取基线",
      caught_by="check_leave_one_out_advantages_each_group_on_its_own",
      todo_3="""
      scored = ~rewards.isnan()
      count = int(scored.sum())
      if count >= 2:
          baselines = (rewards[scored].sum() - rewards[scored]) / (count - 1)
          advantages[scored] = rewards[scored] - baselines
      """)

wrong("batch_sum_group_count", "sum over the batch, count over the group | 对整批求和，却按组计数",
      caught_by="check_leave_one_out_advantages_each_group_on_its_own",
      todo_3="""
      scored = (group_ids == group) & ~rewards.isnan()
      count = int(scored.sum())
      if count >= 2:
          baselines = (rewards.nansum() - rewards[scored]) / (count - 1)
          advantages[scored] = rewards[scored] - baselines
      """)

wrong("earlier_groups_lost", "each group starts a new result | 每个组都重新建立结果",
      caught_by="check_leave_one_out_advantages_each_group_on_its_own",
      todo_3="""
      advantages = torch.zeros_like(rewards)
      scored = (group_ids == group) & ~rewards.isnan()
      count = int(scored.sum())
      if count >= 2:
          baselines = (rewards[scored].sum() - rewards[scored]) / (count - 1)
          advantages[scored] = rewards[scored] - baselines
      """)

wrong("cut_into_blocks", "a batch is blocks of G completions, prompt by prompt | 一批就是逐个提示的 G 条回答",
      caught_by="check_leave_one_out_advantages_groups_may_interleave",
      todo_3="""
      size = int((group_ids == group_ids[0]).sum())
      if len(rewards) % size == 0 and size > 1:
          blocks = rewards.view(-1, size)
          counts = (~blocks.isnan()).sum(dim=1, keepdim=True)
          baselines = (blocks.nansum(dim=1, keepdim=True) - blocks) / (counts - 1)
          advantages = (blocks - baselines).flatten().nan_to_num(nan=0.0, posinf=0.0, neginf=0.0)
      """)

wrong("ids_are_positions", "group g starts at position g times G | 第 g 组从位置 g 乘 G 开始",
      caught_by="check_leave_one_out_advantages_groups_may_interleave",
      todo_3="""
      size = int((group_ids == group).sum())
      places = torch.arange(len(rewards))
      inside = (places >= int(group) * size) & (places < (int(group) + 1) * size)
      scored = inside & ~rewards.isnan()
      count = int(scored.sum())
      if count >= 2:
          baselines = (rewards[scored].sum() - rewards[scored]) / (count - 1)
          advantages[scored] = rewards[scored] - baselines
      """)

wrong("ids_count_from_zero", "group ids are 0, 1, 2 | 组编号是 0、1、2",
      caught_by="check_leave_one_out_advantages_groups_may_interleave",
      todo_3="""
      known = torch.arange(len(group_ids.unique()))
      scored = (group_ids == group) & ~rewards.isnan() & torch.isin(group_ids, known)
      count = int(scored.sum())
      if count >= 2:
          baselines = (rewards[scored].sum() - rewards[scored]) / (count - 1)
          advantages[scored] = rewards[scored] - baselines
      """)

wrong("one_group_size", "all groups are as large as the first | 所有组与第一组一样大",
      caught_by="check_leave_one_out_advantages_groups_may_interleave",
      todo_3="""
      scored = (group_ids == group) & ~rewards.isnan()
      first = int(((group_ids == group_ids[0]) & ~rewards.isnan()).sum())
      if int(scored.sum()) >= 2:
          baselines = (rewards[scored].sum() - rewards[scored]) / (first - 1)
          advantages[scored] = rewards[scored] - baselines
      """)

wrong("missing_as_zero", "a missing reward is a reward of 0 for its siblings | 对同组回答而言缺失奖励就是 0",
      caught_by="check_leave_one_out_advantages_missing_is_not_zero",
      todo_3="""
      inside = group_ids == group
      scored = inside & ~rewards.isnan()
      count = int(inside.sum())
      if int(scored.sum()) >= 2:
          filled = rewards.nan_to_num(nan=0.0)
          advantages[scored] = filled[scored] - (filled[inside].sum() - filled[scored]) / (count - 1)
      """)

wrong("missing_spoils_the_group", "a group with a missing reward gives no signal | 含缺失奖励的组没有信号",
      caught_by="check_leave_one_out_advantages_missing_is_not_zero",
      todo_3="""
      scored = group_ids == group
      count = int(scored.sum())
      if count >= 2 and not rewards[scored].isnan().any():
          baselines = (rewards[scored].sum() - rewards[scored]) / (count - 1)
          advantages[scored] = rewards[scored] - baselines
      """)

wrong("missing_makes_all_nan", "NaN needs no special care | NaN 不需要特别处理",
      caught_by="check_leave_one_out_advantages_missing_is_not_zero",
      todo_3="""
      scored = group_ids == group
      count = int(scored.sum())
      if count >= 2:
          baselines = (rewards[scored].sum() - rewards[scored]) / (count - 1)
          advantages[scored] = rewards[scored] - baselines
      """)

wrong("missing_replaced_by_the_mean", "a missing reward is filled with the group's mean and counted | 用组均值填补缺失奖励并计数",
      caught_by="check_leave_one_out_advantages_missing_is_not_zero",
      todo_3="""
      inside = group_ids == group
      filled = torch.where(rewards.isnan(), rewards[inside].nanmean(), rewards)
      count = int(inside.sum())
      if count >= 2 and int((inside & ~rewards.isnan()).sum()) >= 2:
          advantages[inside] = filled[inside] - (filled[inside].sum() - filled[inside]) / (count - 1)
      """)

wrong("missing_gets_minus_baseline", "a completion without a reward is compared as 0 | 没有奖励的回答按 0 比较",
      caught_by="check_leave_one_out_advantages_missing_has_no_signal",
      todo_3="""
      inside = group_ids == group
      scored = inside & ~rewards.isnan()
      count = int(scored.sum())
      if count >= 2:
          baselines = (rewards[scored].sum() - rewards[scored]) / (count - 1)
          advantages[scored] = rewards[scored] - baselines
          advantages[inside & rewards.isnan()] = -rewards[scored].mean()
      """)

wrong("missing_stays_nan", "a missing reward gives a missing advantage | 缺失奖励给出缺失的优势",
      caught_by="check_leave_one_out_advantages_missing_has_no_signal",
      todo_3="""
      inside = group_ids == group
      scored = inside & ~rewards.isnan()
      count = int(scored.sum())
      advantages[inside & rewards.isnan()] = float("nan")
      if count >= 2:
          baselines = (rewards[scored].sum() - rewards[scored]) / (count - 1)
          advantages[scored] = rewards[scored] - baselines
      """)

wrong("alone_is_nan", "a group of one needs no special care | 只有一条回答的组不需要特别处理",
      caught_by="check_leave_one_out_advantages_needs_a_sibling",
      todo_3="""
      scored = (group_ids == group) & ~rewards.isnan()
      baselines = (rewards[scored].sum() - rewards[scored]) / (scored.sum() - 1)
      advantages[scored] = rewards[scored] - baselines
      """)

wrong("alone_keeps_its_reward", "without siblings the baseline is 0 | 没有同组回答时基线为 0",
      caught_by="check_leave_one_out_advantages_needs_a_sibling",
      todo_3="""
      scored = (group_ids == group) & ~rewards.isnan()
      count = int(scored.sum())
      baselines = (rewards[scored].sum() - rewards[scored]) / max(count - 1, 1)
      advantages[scored] = rewards[scored] - baselines
      """)

wrong("size_counts_the_missing", "a group of two always has a sibling to compare with | 两条回答的组总有可比的同组回答",
      caught_by="check_leave_one_out_advantages_needs_a_sibling",
      todo_3="""
      scored = (group_ids == group) & ~rewards.isnan()
      count = int(scored.sum())
      if int((group_ids == group).sum()) >= 2:
          baselines = (rewards[scored].sum() - rewards[scored]) / (count - 1)
          advantages[scored] = rewards[scored] - baselines
      """)

wrong("integer_division", "0/1 rewards stay integers | 0/1 奖励保持为整数",
      caught_by="check_leave_one_out_advantages_takes_integer_rewards",
      function="""
      solved = leave_one_out_advantages

      def leave_one_out_advantages(rewards, group_ids):
          advantages = solved(rewards, group_ids)
          return advantages if rewards.is_floating_point() else advantages.to(rewards.dtype)
      """)

wrong("integer_rewards_crash", "rewards are always float | 奖励总是浮点数",
      caught_by="check_leave_one_out_advantages_takes_integer_rewards",
      function="""
      def leave_one_out_advantages(rewards, group_ids):
          if rewards.ndim != 1 or rewards.numel() == 0 or group_ids.shape != rewards.shape or torch.isinf(rewards).any():
              raise ValueError("rewards and group_ids must be [N]")
          rewards = rewards.detach()
          advantages = torch.zeros_like(rewards)
          for group in group_ids.unique():
              scored = (group_ids == group) & ~rewards.isnan()
              count = int(scored.sum())
              if count >= 2:
                  advantages[scored] = rewards[scored] - (rewards[scored].sum() - rewards[scored]) / (count - 1)
          return advantages
      """)

wrong("missing_overwritten", "detach() makes a copy | detach() 会复制张量",
      caught_by="check_leave_one_out_advantages_leaves_rewards_alone",
      todo_3="""
      scored = (group_ids == group) & ~rewards.isnan()
      count = int(scored.sum())
      if count >= 2:
          baselines = (rewards[scored].sum() - rewards[scored]) / (count - 1)
          advantages[scored] = rewards[scored] - baselines
      rewards[(group_ids == group) & rewards.isnan()] = 0.0
      """)

wrong("advantage_carries_a_gradient", "advantages stay in the graph | 优势留在计算图中",
      caught_by="check_leave_one_out_advantages_is_frozen",
      function="""
      solved = leave_one_out_advantages

      def leave_one_out_advantages(rewards, group_ids):
          advantages = solved(rewards, group_ids)
          return advantages + (rewards - rewards.detach()).nan_to_num() if rewards.requires_grad else advantages
      """)

wrong("advantage_in_float32", "float32 is always enough | float32 总是够用",
      caught_by="check_leave_one_out_advantages_keeps_float64",
      todo_3="""
      scored = (group_ids == group) & ~rewards.isnan()
      count = int(scored.sum())
      if count >= 2:
          values = rewards[scored].float()
          advantages[scored] = (values - (values.sum() - values) / (count - 1)).to(rewards.dtype)
      """)

wrong("infinite_reward_compared", "an infinite reward is a very good one | 无穷奖励就是非常好的奖励",
      caught_by="check_leave_one_out_advantages_refuses_bad_input",
      function="""
      def leave_one_out_advantages(rewards, group_ids):
          rewards = rewards.detach() if rewards.is_floating_point() else rewards.float()
          advantages = torch.zeros_like(rewards)
          for group in group_ids.unique():
              scored = (group_ids == group) & ~rewards.isnan()
              count = int(scored.sum())
              if count >= 2:
                  advantages[scored] = rewards[scored] - (rewards[scored].sum() - rewards[scored]) / (count - 1)
          return advantages
      """)

wrong("divisor_with_epsilon", "a small number in the divisor never hurts | 除数里加一个很小的数总是无害",
      caught_by="check_leave_one_out_advantages_keeps_float64",
      todo_3="""
      scored = (group_ids == group) & ~rewards.isnan()
      count = int(scored.sum())
      if count >= 2:
          baselines = (rewards[scored].sum() - rewards[scored]) / (count - 1 + 1e-8)
          advantages[scored] = rewards[scored] - baselines
      """)

wrong("stops_at_a_small_group", "a group that is too small ends the loop | 遇到过小的组就结束循环",
      caught_by="check_leave_one_out_advantages_needs_a_sibling",
      todo_3="""
      scored = (group_ids == group) & ~rewards.isnan()
      count = int(scored.sum())
      if count < 2:
          break
      baselines = (rewards[scored].sum() - rewards[scored]) / (count - 1)
      advantages[scored] = rewards[scored] - baselines
      """)

wrong("returns_at_a_small_group", "a group that is too small ends the function | 遇到过小的组就返回",
      caught_by="check_leave_one_out_advantages_needs_a_sibling",
      todo_3="""
      scored = (group_ids == group) & ~rewards.isnan()
      count = int(scored.sum())
      if count < 2:
          return advantages
      baselines = (rewards[scored].sum() - rewards[scored]) / (count - 1)
      advantages[scored] = rewards[scored] - baselines
      """)

wrong("ids_as_float", "ids may be compared as float | 编号可以按浮点数比较",
      caught_by="check_leave_one_out_advantages_ids_may_be_any_integers",
      todo_3="""
      scored = (group_ids.float() == group.float()) & ~rewards.isnan()
      count = int(scored.sum())
      if count >= 2:
          baselines = (rewards[scored].sum() - rewards[scored]) / (count - 1)
          advantages[scored] = rewards[scored] - baselines
      """)

wrong("ids_as_double", "ids may be compared as float64 | 编号可以按 float64 比较",
      caught_by="hidden_leave_one_out_advantages_random",
      todo_3="""
      scored = (group_ids.double() == group.double()) & ~rewards.isnan()
      count = int(scored.sum())
      if count >= 2:
          baselines = (rewards[scored].sum() - rewards[scored]) / (count - 1)
          advantages[scored] = rewards[scored] - baselines
      """)

wrong("ids_in_eight_bits", "ids fit into a byte | 编号放得进一个字节",
      caught_by="check_leave_one_out_advantages_ids_may_be_any_integers",
      todo_3="""
      scored = (group_ids.to(torch.int8) == group.to(torch.int8)) & ~rewards.isnan()
      count = int(scored.sum())
      if count >= 2:
          baselines = (rewards[scored].sum() - rewards[scored]) / (count - 1)
          advantages[scored] = rewards[scored] - baselines
      """)

wrong("ids_in_32_bits", "ids fit into 32 bits | 编号放得进 32 位",
      caught_by="check_leave_one_out_advantages_ids_may_be_any_integers",
      todo_3="""
      scored = (group_ids.int() == group.int()) & ~rewards.isnan()
      count = int(scored.sum())
      if count >= 2:
          baselines = (rewards[scored].sum() - rewards[scored]) / (count - 1)
          advantages[scored] = rewards[scored] - baselines
      """)

wrong("ids_without_sign", "the sign of an id means nothing | 编号的正负没有意义",
      caught_by="check_leave_one_out_advantages_ids_may_be_any_integers",
      todo_3="""
      scored = (group_ids.abs() == group.abs()) & ~rewards.isnan()
      count = int(scored.sum())
      if count >= 2:
          baselines = (rewards[scored].sum() - rewards[scored]) / (count - 1)
          advantages[scored] = rewards[scored] - baselines
      """)

wrong("ids_modulo_1000", "ids repeat after 1000 | 编号每 1000 个重复一次",
      caught_by="check_leave_one_out_advantages_ids_may_be_any_integers",
      todo_3="""
      scored = (group_ids % 1000 == group % 1000) & ~rewards.isnan()
      count = int(scored.sum())
      if count >= 2:
          baselines = (rewards[scored].sum() - rewards[scored]) / (count - 1)
          advantages[scored] = rewards[scored] - baselines
      """)

wrong("negative_id_is_no_group", "group -1 stands for padding | 编号 -1 表示填充",
      caught_by="check_leave_one_out_advantages_ids_may_be_any_integers",
      todo_3="""
      scored = (group_ids == group) & (group_ids != -1) & ~rewards.isnan()
      count = int(scored.sum())
      if count >= 2:
          baselines = (rewards[scored].sum() - rewards[scored]) / (count - 1)
          advantages[scored] = rewards[scored] - baselines
      """)

wrong("minus_one_is_missing", "a reward of -1 stands for a missing one | 奖励 -1 表示缺失",
      caught_by="check_leave_one_out_advantages_only_nan_is_missing",
      todo_3="""
      scored = (group_ids == group) & ~rewards.isnan() & (rewards != -1)
      count = int(scored.sum())
      if count >= 2:
          baselines = (rewards[scored].sum() - rewards[scored]) / (count - 1)
          advantages[scored] = rewards[scored] - baselines
      """)

wrong("zero_is_missing", "a reward of 0 stands for a missing one | 奖励 0 表示缺失",
      caught_by="check_leave_one_out_advantages_only_nan_is_missing",
      todo_3="""
      scored = (group_ids == group) & ~rewards.isnan() & (rewards != 0)
      count = int(scored.sum())
      if count >= 2:
          baselines = (rewards[scored].sum() - rewards[scored]) / (count - 1)
          advantages[scored] = rewards[scored] - baselines
      """)

wrong("large_advantages_limited", "an advantage beyond 100 is an outlier | 超过 100 的优势是异常值",
      caught_by="check_leave_one_out_advantages_keeps_the_scale",
      todo_3="""
      scored = (group_ids == group) & ~rewards.isnan()
      count = int(scored.sum())
      if count >= 2:
          baselines = (rewards[scored].sum() - rewards[scored]) / (count - 1)
          advantages[scored] = (rewards[scored] - baselines).clamp(-100.0, 100.0)
      """)

wrong("equal_rewards_skipped", "rewards that hardly differ give no signal | 相差很小的奖励没有信号",
      caught_by="check_leave_one_out_advantages_keeps_the_scale",
      todo_3="""
      scored = (group_ids == group) & ~rewards.isnan()
      count = int(scored.sum())
      if count >= 2 and rewards[scored].std() > 1e-3:
          baselines = (rewards[scored].sum() - rewards[scored]) / (count - 1)
          advantages[scored] = rewards[scored] - baselines
      """)

wrong("outliers_winsorized", "the best and the worst reward of a large group are outliers | 大组里最好和最差的奖励是异常值",
      caught_by="hidden_leave_one_out_advantages_random",
      todo_3="""
      scored = (group_ids == group) & ~rewards.isnan()
      count = int(scored.sum())
      if count >= 2:
          values = rewards[scored]
          if count >= 8:
              values = values.clamp(values.quantile(0.05), values.quantile(0.95))
          advantages[scored] = values - (values.sum() - values) / (count - 1)
      """)

wrong("median_in_a_large_group", "a large group is compared with its median | 大组与中位数比较",
      caught_by="hidden_leave_one_out_advantages_random",
      todo_3="""
      scored = (group_ids == group) & ~rewards.isnan()
      count = int(scored.sum())
      if count >= 12:
          advantages[scored] = rewards[scored] - rewards[scored].median()
      elif count >= 2:
          baselines = (rewards[scored].sum() - rewards[scored]) / (count - 1)
          advantages[scored] = rewards[scored] - baselines
      """)

wrong("groups_of_at_most_eight", "a group has at most 8 completions | 一组最多 8 条回答",
      caught_by="hidden_leave_one_out_advantages_random",
      todo_3="""
      places = ((group_ids == group) & ~rewards.isnan()).nonzero().flatten()[:8]
      if len(places) >= 2:
          baselines = (rewards[places].sum() - rewards[places]) / (len(places) - 1)
          advantages[places] = rewards[places] - baselines
      """)

# TODO 4: rloo_policy_loss

wrong("ratio_inverted", "the ratio is old over new | 比率是旧比新",
      caught_by="check_rloo_policy_loss_ratio",
      todo_4="""
      ratios = torch.exp(old_logps.detach() - new_logps)
      clipped = ratios.clamp(1.0 - epsilon_low, 1.0 + epsilon_high)
      losses = -torch.minimum(ratios * advantages.detach(), clipped * advantages.detach())
      """)

wrong("ratio_without_exp", "the ratio is the difference of log-probabilities | 比率是对数概率之差",
      caught_by="check_rloo_policy_loss_ratio",
      todo_4="""
      ratios = new_logps - old_logps.detach()
      clipped = ratios.clamp(1.0 - epsilon_low, 1.0 + epsilon_high)
      losses = -torch.minimum(ratios * advantages.detach(), clipped * advantages.detach())
      """)

wrong("ratio_of_logps", "the ratio is a quotient of log-probabilities | 比率是对数概率之商",
      caught_by="check_rloo_policy_loss_ratio",
      todo_4="""
      ratios = new_logps / old_logps.detach()
      clipped = ratios.clamp(1.0 - epsilon_low, 1.0 + epsilon_high)
      losses = -torch.minimum(ratios * advantages.detach(), clipped * advantages.detach())
      """)

wrong("ratio_returned_clipped", "the ratio that is reported is the clipped one | 返回的是裁剪后的比率",
      caught_by="check_rloo_policy_loss_ratio",
      todo_4="""
      unclipped = torch.exp(new_logps - old_logps.detach())
      ratios = unclipped.clamp(1.0 - epsilon_low, 1.0 + epsilon_high)
      losses = -torch.minimum(unclipped * advantages.detach(), ratios * advantages.detach())
      """)

wrong("ratio_always_one", "on-policy the old log-probabilities are the new ones | 在线策略时旧对数概率就是新的",
      caught_by="check_rloo_policy_loss_ratio",
      todo_4="""
      ratios = torch.exp(new_logps - new_logps.detach())
      clipped = ratios.clamp(1.0 - epsilon_low, 1.0 + epsilon_high)
      losses = -torch.minimum(ratios * advantages.detach(), clipped * advantages.detach())
      """)

wrong("quotient_of_probabilities", "the ratio is computed from two probabilities | 比率由两个概率相除得到",
      caught_by="check_rloo_policy_loss_survives_long_completions",
      todo_4="""
      ratios = new_logps.exp() / old_logps.detach().exp()
      clipped = ratios.clamp(1.0 - epsilon_low, 1.0 + epsilon_high)
      losses = -torch.minimum(ratios * advantages.detach(), clipped * advantages.detach())
      """)

wrong("mean_loss", "the function returns the batch mean | 返回批均值",
      caught_by="check_rloo_policy_loss_one_for_each_completion",
      todo_4="""
      ratios = torch.exp(new_logps - old_logps.detach())
      clipped = ratios.clamp(1.0 - epsilon_low, 1.0 + epsilon_high)
      losses = -torch.minimum(ratios * advantages.detach(), clipped * advantages.detach()).mean()
      """)

wrong("divided_by_batch_size", "each loss is divided by N already | 每个损失先除以 N",
      caught_by="check_rloo_policy_loss_one_for_each_completion",
      todo_4="""
      ratios = torch.exp(new_logps - old_logps.detach())
      clipped = ratios.clamp(1.0 - epsilon_low, 1.0 + epsilon_high)
      losses = -torch.minimum(ratios * advantages.detach(), clipped * advantages.detach()) / len(ratios)
      """)

wrong("advantages_whitened", "advantages are normalized over the batch before use | 使用前在批内归一化优势",
      caught_by="check_rloo_policy_loss_one_for_each_completion",
      todo_4="""
      ratios = torch.exp(new_logps - old_logps.detach())
      clipped = ratios.clamp(1.0 - epsilon_low, 1.0 + epsilon_high)
      fixed = advantages.detach()
      fixed = (fixed - fixed.mean()) / (fixed.std(unbiased=False) + 1e-8)
      losses = -torch.minimum(ratios * fixed, clipped * fixed)
      """)

wrong("objective_for_loss", "the surrogate objective is minimized | 最小化代理目标",
      caught_by="check_rloo_policy_loss_is_minus_the_advantage_at_ratio_one",
      todo_4="""
      ratios = torch.exp(new_logps - old_logps.detach())
      clipped = ratios.clamp(1.0 - epsilon_low, 1.0 + epsilon_high)
      losses = torch.minimum(ratios * advantages.detach(), clipped * advantages.detach())
      """)

wrong("negated_twice", "both the surrogates and their minimum are negated | 代理目标与最小值都取负",
      caught_by="check_rloo_policy_loss_is_minus_the_advantage_at_ratio_one",
      todo_4="""
      ratios = torch.exp(new_logps - old_logps.detach())
      clipped = ratios.clamp(1.0 - epsilon_low, 1.0 + epsilon_high)
      losses = -torch.maximum(-ratios * advantages.detach(), -clipped * advantages.detach())
      """)

wrong("reinforce_loss", "the loss is minus advantage times log-probability | 损失是优势乘对数概率的相反数",
      caught_by="check_rloo_policy_loss_is_minus_the_advantage_at_ratio_one",
      todo_4="""
      ratios = torch.exp(new_logps - old_logps.detach())
      losses = -advantages.detach() * new_logps
      """)

wrong("log_ratio_loss", "the surrogate is advantage times log-ratio | 代理目标是优势乘对数比率",
      caught_by="check_rloo_policy_loss_is_minus_the_advantage_at_ratio_one",
      todo_4="""
      ratios = torch.exp(new_logps - old_logps.detach())
      losses = -advantages.detach() * (new_logps - old_logps.detach())
      """)

wrong("clipped_weight_reinforce", "the clipped ratio is only a weight, as in CISPO | 裁剪后的比率只是权重，像 CISPO 那样",
      caught_by="check_rloo_policy_loss_is_minus_the_advantage_at_ratio_one",
      todo_4="""
      ratios = torch.exp(new_logps - old_logps.detach())
      clipped = ratios.clamp(1.0 - epsilon_low, 1.0 + epsilon_high)
      losses = -clipped.detach() * advantages.detach() * new_logps
      """)

wrong("advantage_size_only", "only the size of the advantage matters | 只看优势的大小",
      caught_by="check_rloo_policy_loss_is_minus_the_advantage_at_ratio_one",
      todo_4="""
      ratios = torch.exp(new_logps - old_logps.detach())
      clipped = ratios.clamp(1.0 - epsilon_low, 1.0 + epsilon_high)
      losses = -torch.minimum(ratios * advantages.detach().abs(), clipped * advantages.detach().abs())
      """)

wrong("advantage_sign_only", "only the sign of the advantage matters | 只看优势的正负",
      caught_by="check_rloo_policy_loss_is_minus_the_advantage_at_ratio_one",
      todo_4="""
      ratios = torch.exp(new_logps - old_logps.detach())
      clipped = ratios.clamp(1.0 - epsilon_low, 1.0 + epsilon_high)
      losses = -torch.minimum(ratios * advantages.detach().sign(), clipped * advantages.detach().sign())
      """)

wrong("range_around_zero", "the clip range is around 0 | 裁剪范围以 0 为中心",
      caught_by="check_rloo_policy_loss_bounds",
      todo_4="""
      ratios = torch.exp(new_logps - old_logps.detach())
      clipped = ratios.clamp(-epsilon_low, epsilon_high)
      losses = -torch.minimum(ratios * advantages.detach(), clipped * advantages.detach())
      """)

wrong("ratio_detached", "a ratio is a weight, not a path for gradients | 比率只是权重，不传梯度",
      caught_by="check_rloo_policy_loss_gradient_reaches_new_logps",
      todo_4="""
      ratios = torch.exp(new_logps - old_logps).detach()
      clipped = ratios.clamp(1.0 - epsilon_low, 1.0 + epsilon_high)
      losses = -torch.minimum(ratios * advantages.detach(), clipped * advantages.detach())
      """)

wrong("kl_in_the_loss", "the KL term is added to the loss as well | 损失里再加一次 KL",
      caught_by="check_rloo_policy_loss_gradient_reaches_new_logps",
      todo_4="""
      ratios = torch.exp(new_logps - old_logps.detach())
      clipped = ratios.clamp(1.0 - epsilon_low, 1.0 + epsilon_high)
      losses = -torch.minimum(ratios * advantages.detach(), clipped * advantages.detach()) + 0.05 * (new_logps - old_logps.detach())
      """)

wrong("clipped_only", "the clipped surrogate is the objective | 裁剪后的代理目标就是目标",
      caught_by="check_rloo_policy_loss_takes_the_smaller_surrogate",
      todo_4="""
      ratios = torch.exp(new_logps - old_logps.detach())
      clipped = ratios.clamp(1.0 - epsilon_low, 1.0 + epsilon_high)
      losses = -clipped * advantages.detach()
      """)

wrong("larger_surrogate", "the larger surrogate counts | 取较大的代理目标",
      caught_by="check_rloo_policy_loss_takes_the_smaller_surrogate",
      todo_4="""
      ratios = torch.exp(new_logps - old_logps.detach())
      clipped = ratios.clamp(1.0 - epsilon_low, 1.0 + epsilon_high)
      losses = -torch.maximum(ratios * advantages.detach(), clipped * advantages.detach())
      """)

wrong("smaller_of_the_negated", "the smaller of the two negated surrogates is the loss | 损失取两个取负代理目标中较小的",
      caught_by="check_rloo_policy_loss_takes_the_smaller_surrogate",
      todo_4="""
      ratios = torch.exp(new_logps - old_logps.detach())
      clipped = ratios.clamp(1.0 - epsilon_low, 1.0 + epsilon_high)
      losses = torch.minimum(-ratios * advantages.detach(), -clipped * advantages.detach())
      """)

wrong("sign_split", "minimum for good completions, maximum for bad ones | 好的回答取最小，差的回答取最大",
      caught_by="check_rloo_policy_loss_takes_the_smaller_surrogate",
      todo_4="""
      ratios = torch.exp(new_logps - old_logps.detach())
      clipped = ratios.clamp(1.0 - epsilon_low, 1.0 + epsilon_high)
      first, second = ratios * advantages.detach(), clipped * advantages.detach()
      losses = -torch.where(advantages >= 0, torch.minimum(first, second), torch.maximum(first, second))
      """)

wrong("smaller_ratio", "the smaller ratio counts, whatever the sign | 不论正负，取较小的比率",
      caught_by="check_rloo_policy_loss_takes_the_smaller_surrogate",
      todo_4="""
      ratios = torch.exp(new_logps - old_logps.detach())
      clipped = ratios.clamp(1.0 - epsilon_low, 1.0 + epsilon_high)
      losses = -torch.minimum(ratios, clipped) * advantages.detach()
      """)

wrong("dual_clip", "a bad completion's loss has a limit, as in dual clip | 差的回答的损失有上限，像双重裁剪那样",
      caught_by="check_rloo_policy_loss_takes_the_smaller_surrogate",
      todo_4="""
      ratios = torch.exp(new_logps - old_logps.detach())
      clipped = ratios.clamp(1.0 - epsilon_low, 1.0 + epsilon_high)
      fixed = advantages.detach()
      surrogate = torch.minimum(ratios * fixed, clipped * fixed)
      losses = -torch.where(fixed < 0, torch.maximum(surrogate, 3.0 * fixed), surrogate)
      """)

wrong("no_clip", "the ratio needs no clip | 比率不必裁剪",
      caught_by="check_rloo_policy_loss_stops_above_for_good_completions",
      todo_4="""
      ratios = torch.exp(new_logps - old_logps.detach())
      losses = -ratios * advantages.detach()
      """)

wrong("lower_bound_only", "only small ratios are clipped | 只裁剪过小的比率",
      caught_by="check_rloo_policy_loss_stops_above_for_good_completions",
      todo_4="""
      ratios = torch.exp(new_logps - old_logps.detach())
      clipped = ratios.clamp(min=1.0 - epsilon_low)
      losses = -torch.minimum(ratios * advantages.detach(), clipped * advantages.detach())
      """)

wrong("straight_through_clip", "the clip changes the value and lets the gradient through | 裁剪只改变数值，梯度照常通过",
      caught_by="check_rloo_policy_loss_stops_above_for_good_completions",
      todo_4="""
      ratios = torch.exp(new_logps - old_logps.detach())
      clipped = ratios + (ratios.clamp(1.0 - epsilon_low, 1.0 + epsilon_high) - ratios).detach()
      losses = -torch.minimum(ratios * advantages.detach(), clipped * advantages.detach())
      """)

wrong("upper_bound_only", "only large ratios are clipped | 只裁剪过大的比率",
      caught_by="check_rloo_policy_loss_stops_below_for_bad_completions",
      todo_4="""
      ratios = torch.exp(new_logps - old_logps.detach())
      clipped = ratios.clamp(max=1.0 + epsilon_high)
      losses = -torch.minimum(ratios * advantages.detach(), clipped * advantages.detach())
      """)

wrong("good_ones_clipped_only", "only good completions are clipped | 只对好的回答裁剪",
      caught_by="check_rloo_policy_loss_stops_below_for_bad_completions",
      todo_4="""
      ratios = torch.exp(new_logps - old_logps.detach())
      clipped = torch.where(advantages > 0, ratios.clamp(1.0 - epsilon_low, 1.0 + epsilon_high), ratios)
      losses = -torch.minimum(ratios * advantages.detach(), clipped * advantages.detach())
      """)

wrong("epsilons_swapped", "epsilon_high belongs to the lower bound | epsilon_high 属于下界",
      caught_by="check_rloo_policy_loss_bounds",
      todo_4="""
      ratios = torch.exp(new_logps - old_logps.detach())
      clipped = ratios.clamp(1.0 - epsilon_high, 1.0 + epsilon_low)
      losses = -torch.minimum(ratios * advantages.detach(), clipped * advantages.detach())
      """)

wrong("one_epsilon", "one epsilon serves both bounds | 上下界共用一个 epsilon",
      caught_by="check_rloo_policy_loss_bounds",
      todo_4="""
      ratios = torch.exp(new_logps - old_logps.detach())
      clipped = ratios.clamp(1.0 - epsilon_low, 1.0 + epsilon_low)
      losses = -torch.minimum(ratios * advantages.detach(), clipped * advantages.detach())
      """)

wrong("fixed_epsilon", "the clip range is always 0.2 | 裁剪范围总是 0.2",
      caught_by="check_rloo_policy_loss_bounds",
      todo_4="""
      ratios = torch.exp(new_logps - old_logps.detach())
      clipped = ratios.clamp(0.8, 1.2)
      losses = -torch.minimum(ratios * advantages.detach(), clipped * advantages.detach())
      """)

wrong("reciprocal_bound", "the lower bound is 1 over 1 plus epsilon | 下界是 1 / (1 + epsilon)",
      caught_by="check_rloo_policy_loss_bounds",
      todo_4="""
      ratios = torch.exp(new_logps - old_logps.detach())
      clipped = ratios.clamp(1.0 / (1.0 + epsilon_low), 1.0 + epsilon_high)
      losses = -torch.minimum(ratios * advantages.detach(), clipped * advantages.detach())
      """)

wrong("clip_of_the_logarithm", "the clip range is one of the log-ratio | 裁剪的是对数比率",
      caught_by="check_rloo_policy_loss_bounds",
      todo_4="""
      log_ratios = new_logps - old_logps.detach()
      ratios = log_ratios.exp()
      clipped = log_ratios.clamp(-epsilon_low, epsilon_high).exp()
      losses = -torch.minimum(ratios * advantages.detach(), clipped * advantages.detach())
      """)

wrong("bound_excluded", "a ratio on the bound is clipped already | 恰好在边界上的比率也要裁剪",
      caught_by="check_rloo_policy_loss_bounds_belong_to_the_range",
      todo_4="""
      ratios = torch.exp(new_logps - old_logps.detach())
      fixed = advantages.detach()
      stopped = torch.where(fixed > 0, ratios >= 1.0 + epsilon_high, (fixed < 0) & (ratios <= 1.0 - epsilon_low))
      bounds = torch.where(fixed > 0, 1.0 + epsilon_high, 1.0 - epsilon_low)
      losses = -torch.where(stopped, bounds * fixed, ratios * fixed)
      """)

wrong("old_policy_learns", "the old policy's log-probabilities stay in the graph | 旧策略的对数概率留在计算图中",
      caught_by="check_rloo_policy_loss_only_new_logps_learn",
      todo_4="""
      ratios = torch.exp(new_logps - old_logps)
      clipped = ratios.clamp(1.0 - epsilon_low, 1.0 + epsilon_high)
      losses = -torch.minimum(ratios * advantages.detach(), clipped * advantages.detach())
      """)

wrong("advantages_learn", "advantages stay in the graph | 优势留在计算图中",
      caught_by="check_rloo_policy_loss_only_new_logps_learn",
      todo_4="""
      ratios = torch.exp(new_logps - old_logps.detach())
      clipped = ratios.clamp(1.0 - epsilon_low, 1.0 + epsilon_high)
      losses = -torch.minimum(ratios * advantages, clipped * advantages)
      """)

wrong("clipped_advantages_learn", "only the unclipped surrogate needs a frozen advantage | 只有未裁剪的代理目标需要固定优势",
      caught_by="check_rloo_policy_loss_only_new_logps_learn",
      todo_4="""
      ratios = torch.exp(new_logps - old_logps.detach())
      clipped = ratios.clamp(1.0 - epsilon_low, 1.0 + epsilon_high)
      losses = -torch.minimum(ratios * advantages.detach(), clipped * advantages)
      """)

wrong("advantages_overwritten", "advantages may be negated in place | 可以就地对优势取负",
      caught_by="check_rloo_policy_loss_leaves_inputs_alone",
      todo_4="""
      ratios = torch.exp(new_logps - old_logps.detach())
      clipped = ratios.clamp(1.0 - epsilon_low, 1.0 + epsilon_high)
      negative = advantages.detach().clone()
      losses = torch.maximum(-ratios * negative, -clipped * negative)
      advantages.detach().neg_()
      """)

wrong("loss_in_float32", "float32 is always enough | float32 总是够用",
      caught_by="check_rloo_policy_loss_keeps_float64",
      todo_4="""
      ratios = torch.exp(new_logps.float() - old_logps.detach().float())
      clipped = ratios.clamp(1.0 - epsilon_low, 1.0 + epsilon_high)
      fixed = advantages.detach().float()
      losses = -torch.minimum(ratios * fixed, clipped * fixed)
      """)

wrong("advantages_in_float32", "advantages are small, so float32 is enough | 优势不大，float32 足够",
      caught_by="check_rloo_policy_loss_keeps_float64",
      todo_4="""
      ratios = torch.exp(new_logps - old_logps.detach())
      clipped = ratios.clamp(1.0 - epsilon_low, 1.0 + epsilon_high)
      fixed = advantages.detach().float()
      losses = -torch.minimum(ratios * fixed, clipped * fixed)
      """)

wrong("any_epsilon_taken", "an epsilon of 10 is fine: the lower bound is then -9 | epsilon 取 10 也可以：下界为 -9",
      caught_by="check_rloo_policy_loss_refuses_bad_input",
      function="""
      def rloo_policy_loss(new_logps, old_logps, advantages, epsilon_low=0.2, epsilon_high=0.2):
          if not new_logps.shape == old_logps.shape == advantages.shape or not torch.isfinite(advantages).all():
              raise ValueError("new_logps, old_logps and advantages must be [N] and finite")
          ratios = torch.exp(new_logps - old_logps.detach())
          clipped = ratios.clamp(1.0 - epsilon_low, 1.0 + epsilon_high)
          return -torch.minimum(ratios * advantages.detach(), clipped * advantages.detach()), ratios
      """)

wrong("log_ratio_limited", "a log-ratio beyond 20 would overflow | 超过 20 的对数比率会溢出",
      caught_by="check_rloo_policy_loss_limits_nothing_else",
      todo_4="""
      ratios = torch.exp((new_logps - old_logps.detach()).clamp(-20.0, 20.0))
      clipped = ratios.clamp(1.0 - epsilon_low, 1.0 + epsilon_high)
      losses = -torch.minimum(ratios * advantages.detach(), clipped * advantages.detach())
      """)

wrong("log_ratio_limited_to_two", "a log-ratio stays within 2 | 对数比率限制在 2 以内",
      caught_by="check_rloo_policy_loss_limits_nothing_else",
      todo_4="""
      ratios = torch.exp((new_logps - old_logps.detach()).clamp(-2.0, 2.0))
      clipped = ratios.clamp(1.0 - epsilon_low, 1.0 + epsilon_high)
      losses = -torch.minimum(ratios * advantages.detach(), clipped * advantages.detach())
      """)

wrong("log_ratio_limited_above", "only a large log-ratio would overflow | 只有很大的对数比率会溢出",
      caught_by="check_rloo_policy_loss_limits_nothing_else",
      todo_4="""
      ratios = torch.exp((new_logps - old_logps.detach()).clamp(max=5.0))
      clipped = ratios.clamp(1.0 - epsilon_low, 1.0 + epsilon_high)
      losses = -torch.minimum(ratios * advantages.detach(), clipped * advantages.detach())
      """)

wrong("ratio_limited_above", "a ratio above 4 is cut off, whatever the advantage | 不论优势，比率超过 4 就截断",
      caught_by="check_rloo_policy_loss_limits_nothing_else",
      todo_4="""
      ratios = torch.exp(new_logps - old_logps.detach()).clamp(max=4.0)
      clipped = ratios.clamp(1.0 - epsilon_low, 1.0 + epsilon_high)
      losses = -torch.minimum(ratios * advantages.detach(), clipped * advantages.detach())
      """)

wrong("ratio_limited_below", "a ratio below 0.1 is cut off, whatever the advantage | 不论优势，比率低于 0.1 就截断",
      caught_by="check_rloo_policy_loss_limits_nothing_else",
      todo_4="""
      ratios = torch.exp(new_logps - old_logps.detach()).clamp(min=0.1)
      clipped = ratios.clamp(1.0 - epsilon_low, 1.0 + epsilon_high)
      losses = -torch.minimum(ratios * advantages.detach(), clipped * advantages.detach())
      """)

wrong("dual_clip_far_out", "a bad completion's loss has a limit of 10 times its advantage | 差的回答的损失以优势的 10 倍为上限",
      caught_by="check_rloo_policy_loss_limits_nothing_else",
      todo_4="""
      ratios = torch.exp(new_logps - old_logps.detach())
      clipped = ratios.clamp(1.0 - epsilon_low, 1.0 + epsilon_high)
      fixed = advantages.detach()
      surrogate = torch.minimum(ratios * fixed, clipped * fixed)
      losses = -torch.where(fixed < 0, torch.maximum(surrogate, 10.0 * fixed), surrogate)
      """)

wrong("large_advantages_limited", "advantages beyond 10 are outliers | 超过 10 的优势是异常值",
      caught_by="check_rloo_policy_loss_limits_nothing_else",
      todo_4="""
      ratios = torch.exp(new_logps - old_logps.detach())
      clipped = ratios.clamp(1.0 - epsilon_low, 1.0 + epsilon_high)
      fixed = advantages.detach().clamp(-10.0, 10.0)
      losses = -torch.minimum(ratios * fixed, clipped * fixed)
      """)

wrong("small_advantages_dropped", "an advantage near 0 is noise | 接近 0 的优势是噪声",
      caught_by="check_rloo_policy_loss_limits_nothing_else",
      todo_4="""
      ratios = torch.exp(new_logps - old_logps.detach())
      clipped = ratios.clamp(1.0 - epsilon_low, 1.0 + epsilon_high)
      fixed = advantages.detach().masked_fill(advantages.abs() < 0.05, 0.0)
      losses = -torch.minimum(ratios * fixed, clipped * fixed)
      """)

wrong("large_batch_whitened", "a large batch is whitened | 批大的时候要白化",
      caught_by="hidden_rloo_policy_loss_random",
      todo_4="""
      ratios = torch.exp(new_logps - old_logps.detach())
      clipped = ratios.clamp(1.0 - epsilon_low, 1.0 + epsilon_high)
      fixed = advantages.detach()
      if len(fixed) > 12:
          fixed = (fixed - fixed.mean()) / (fixed.std() + 1e-8)
      losses = -torch.minimum(ratios * fixed, clipped * fixed)
      """)

wrong("epsilons_sorted", "epsilon_high is the larger of the two | epsilon_high 是两者中较大的",
      caught_by="check_rloo_policy_loss_bounds",
      todo_4="""
      ratios = torch.exp(new_logps - old_logps.detach())
      low, high = sorted((epsilon_low, epsilon_high))
      clipped = ratios.clamp(1.0 - low, 1.0 + high)
      losses = -torch.minimum(ratios * advantages.detach(), clipped * advantages.detach())
      """)

wrong("upper_bound_at_least_as_wide", "the upper bound is at least as wide as the lower one | 上界至少与下界一样宽",
      caught_by="check_rloo_policy_loss_bounds",
      todo_4="""
      ratios = torch.exp(new_logps - old_logps.detach())
      clipped = ratios.clamp(1.0 - epsilon_low, 1.0 + max(epsilon_low, epsilon_high))
      losses = -torch.minimum(ratios * advantages.detach(), clipped * advantages.detach())
      """)

wrong("upper_bound_at_most_two", "an epsilon is below 1 | epsilon 小于 1",
      caught_by="check_rloo_policy_loss_bounds",
      todo_4="""
      ratios = torch.exp(new_logps - old_logps.detach())
      clipped = ratios.clamp(1.0 - epsilon_low, 1.0 + min(epsilon_high, 1.0))
      losses = -torch.minimum(ratios * advantages.detach(), clipped * advantages.detach())
      """)

wrong("default_epsilons_of_dapo", "epsilon_high is 0.28 unless told otherwise | 未给出时 epsilon_high 为 0.28",
      caught_by="check_rloo_policy_loss_default_epsilons",
      function="""
      solved = rloo_policy_loss

      def rloo_policy_loss(new_logps, old_logps, advantages, epsilon_low=0.2, epsilon_high=0.28):
          return solved(new_logps, old_logps, advantages, epsilon_low, epsilon_high)
      """)

wrong("default_epsilon_replaced", '0.2 stands for "not given" | 0.2 表示“没有给出”',
      caught_by="check_rloo_policy_loss_default_epsilons",
      todo_4="""
      ratios = torch.exp(new_logps - old_logps.detach())
      low = 0.1 if epsilon_low == 0.2 else epsilon_low
      clipped = ratios.clamp(1.0 - low, 1.0 + epsilon_high)
      losses = -torch.minimum(ratios * advantages.detach(), clipped * advantages.detach())
      """)

wrong("old_learns_when_alone", "one completion needs no frozen old policy | 只有一条回答时旧策略不必固定",
      caught_by="check_rloo_policy_loss_only_new_logps_learn",
      todo_4="""
      old = old_logps.detach() if len(old_logps) > 1 else old_logps
      ratios = torch.exp(new_logps - old)
      clipped = ratios.clamp(1.0 - epsilon_low, 1.0 + epsilon_high)
      losses = -torch.minimum(ratios * advantages.detach(), clipped * advantages.detach())
      """)

wrong("long_sequences_limited", "sequence log-probabilities below -10000 are limited | 低于 -10000 的序列对数概率要截断",
      caught_by="check_rloo_policy_loss_survives_long_completions",
      todo_4="""
      ratios = torch.exp(new_logps.clamp(min=-1e4) - old_logps.detach().clamp(min=-1e4))
      clipped = ratios.clamp(1.0 - epsilon_low, 1.0 + epsilon_high)
      losses = -torch.minimum(ratios * advantages.detach(), clipped * advantages.detach())
      """)

# Mutants that no check can reject

equivalent("TODO 1: -1 -> 1", because="a matrix has two dimensions: -1 and 1 name the same one")
equivalent("TODO 2: -1 -> 1", because="a matrix has two dimensions: -1 and 1 name the same one")
equivalent("TODO 3: int(scored.sum()) -> scored.sum()", because="a tensor of one integer compares and divides like the integer")
