"""Mistakes that the checks of lesson rollout lifecycle must reject: name, misconception, the check whose message speaks of it, the code.

The code replaces the TODO region; `function=` replaces the whole function where a mistake lies outside the region.
"""

from lessons._build.answers import equivalent, wrong

# TODO 1: completion_mask_from_ids

wrong("zeros_and_ones", "a mask is made of 0 and 1 | 掩码由 0 和 1 组成",
      caught_by="check_completion_mask_from_ids_is_one_bool_for_each_id",
      todo_1="""
      is_eos = (completion_ids == eos_id).long()
      completion_mask = (is_eos.cumsum(dim=-1) - is_eos == 0).long()
      """)

wrong("lengths_instead_of_a_mask", "the number of valid tokens says as much | 有效 Token 的个数同样说明问题",
      caught_by="check_completion_mask_from_ids_is_one_bool_for_each_id",
      todo_1="""
      is_eos = (completion_ids == eos_id).long()
      completion_mask = (is_eos.cumsum(dim=-1) - is_eos == 0).sum(dim=-1)
      """)

wrong("ids_instead_of_a_mask", "the mask is applied to the ids at once | 直接把掩码用在 id 上",
      caught_by="check_completion_mask_from_ids_is_one_bool_for_each_id",
      todo_1="""
      is_eos = (completion_ids == eos_id).long()
      completion_mask = completion_ids * (is_eos.cumsum(dim=-1) - is_eos == 0)
      """)

wrong("true_marks_padding", "True marks padding, as in attention code | True 表示填充，像某些注意力代码那样",
      caught_by="check_completion_mask_from_ids_true_means_valid",
      todo_1="""
      is_eos = (completion_ids == eos_id).long()
      completion_mask = is_eos.cumsum(dim=-1) - is_eos != 0
      """)

wrong("everything_is_valid", "the model itself sees what is padding | 模型自己看得出哪些是填充",
      caught_by="check_completion_mask_from_ids_true_means_valid",
      todo_1="completion_mask = torch.ones_like(completion_ids, dtype=torch.bool)")

wrong("only_the_eos", "the mask marks where a completion ends | 掩码标出回答在哪里结束",
      caught_by="check_completion_mask_from_ids_true_means_valid",
      todo_1="completion_mask = completion_ids == eos_id")

wrong("only_the_eos_is_invalid", "the mask leaves the EOS out and nothing else | 掩码只去掉 EOS",
      caught_by="check_completion_mask_from_ids_true_means_valid",
      todo_1="completion_mask = completion_ids != eos_id")

wrong("eos_dropped", "the EOS is no part of the text | EOS 不属于正文",
      caught_by="check_completion_mask_from_ids_keeps_the_first_eos",
      todo_1="completion_mask = (completion_ids == eos_id).cumsum(dim=-1) == 0")

wrong("eos_and_padding_dropped_by_id", "special ids are no tokens of the completion | 特殊 id 都不算回答的 Token",
      caught_by="check_completion_mask_from_ids_keeps_the_first_eos",
      todo_1="completion_mask = (completion_ids != eos_id) & (completion_ids != 0)")

wrong("length_without_the_eos", "a completion is as long as the place of its EOS | 回答的长度就是 EOS 的下标",
      caught_by="check_completion_mask_from_ids_keeps_the_first_eos",
      todo_1="""
      is_eos = completion_ids == eos_id
      lengths = torch.where(is_eos.any(dim=-1), is_eos.int().argmax(dim=-1), completion_ids.shape[1])
      completion_mask = torch.arange(completion_ids.shape[1]) < lengths.unsqueeze(-1)
      """)

wrong("one_position_too_many", "the end is the position after the EOS, that one included | 结尾是 EOS 的后一个位置，并包含它",
      caught_by="check_completion_mask_from_ids_ends_with_the_eos",
      todo_1="""
      is_eos = (completion_ids == eos_id).long()
      completion_mask = torch.ones_like(completion_ids, dtype=torch.bool)
      completion_mask[:, 2:] = is_eos.cumsum(dim=-1)[:, :-2] == 0
      """)

wrong("mask_by_padding_id", "padding is what equals the padding id | 等于填充 id 的就是填充",
      caught_by="check_completion_mask_from_ids_padding_may_be_the_eos",
      todo_1="completion_mask = completion_ids != 0")

wrong("last_eos", "a completion ends with its last EOS | 回答到最后一个 EOS 为止",
      caught_by="check_completion_mask_from_ids_padding_may_be_the_eos",
      todo_1="""
      is_eos = (completion_ids == eos_id).long()
      from_here_on = is_eos.flip(-1).cumsum(dim=-1).flip(-1)
      completion_mask = (from_here_on > 0) | (is_eos.sum(dim=-1, keepdim=True) == 0)
      """)

wrong("padding_is_the_last_id", "padding is whatever the row ends with | 行末是什么 id，什么就是填充",
      caught_by="check_completion_mask_from_ids_padding_may_be_the_eos",
      todo_1="completion_mask = (completion_ids != completion_ids[:, -1:]) | (completion_ids == eos_id)")

wrong("a_first_eos_is_overlooked", "argmax 0 says that there is no EOS | argmax 为 0 表示没有 EOS",
      caught_by="check_completion_mask_from_ids_padding_may_be_the_eos",
      todo_1="""
      first = (completion_ids == eos_id).int().argmax(dim=-1, keepdim=True)
      first = torch.where(first == 0, completion_ids.shape[1], first)
      completion_mask = torch.arange(completion_ids.shape[1]) <= first
      """)

wrong("previous_is_no_eos", "only the position right after an EOS is padding | 只有紧跟 EOS 的位置是填充",
      caught_by="check_completion_mask_from_ids_true_means_valid",
      todo_1="""
      completion_mask = torch.ones_like(completion_ids, dtype=torch.bool)
      completion_mask[:, 1:] = completion_ids[:, :-1] != eos_id
      """)

wrong("ordinary_ids_stay_valid", "after the EOS only special ids are padding | EOS 之后只有特殊 id 是填充",
      caught_by="check_completion_mask_from_ids_nothing_is_valid_after_the_eos",
      todo_1="""
      is_eos = completion_ids == eos_id
      first_eos = is_eos & (is_eos.cumsum(dim=-1) == 1)
      completion_mask = first_eos | ((completion_ids != 0) & ~is_eos)
      """)

wrong("text_after_the_eos_is_a_new_turn", "an ordinary id after the EOS begins the completion again | EOS 之后的普通 id 让回答重新开始",
      caught_by="check_completion_mask_from_ids_nothing_is_valid_after_the_eos",
      todo_1="""
      valid, rows = True, []
      for row in completion_ids.tolist():
          valid, marks = True, []
          for token in row:
              valid = valid or token not in (0, eos_id)
              marks.append(valid)
              valid = valid and token != eos_id
          rows.append(marks)
      completion_mask = torch.tensor(rows)
      """)

wrong("no_eos_no_completion", "a completion without EOS is not finished, so it does not count | 没有 EOS 的回答没有写完，不算数",
      caught_by="check_completion_mask_from_ids_without_eos_all_is_valid",
      todo_1="""
      is_eos = (completion_ids == eos_id).long()
      completion_mask = (is_eos.cumsum(dim=-1) - is_eos == 0) & (is_eos.sum(dim=-1, keepdim=True) > 0)
      """)

wrong("argmax_of_no_eos", "argmax finds the EOS | argmax 能找到 EOS",
      caught_by="check_completion_mask_from_ids_without_eos_all_is_valid",
      todo_1="""
      first = (completion_ids == eos_id).int().argmax(dim=-1, keepdim=True)
      completion_mask = torch.arange(completion_ids.shape[1]) <= first
      """)

wrong("no_eos_loses_its_last_token", "the last position is always the EOS | 最后一个位置总是 EOS",
      caught_by="check_completion_mask_from_ids_without_eos_all_is_valid",
      todo_1="""
      is_eos = (completion_ids == eos_id).long()
      is_eos[:, -2] |= (is_eos.sum(dim=-1) == 0).long()
      completion_mask = is_eos.cumsum(dim=-1) - is_eos == 0
      """)

wrong("padding_id_where_no_eos", "without EOS the padding id says where a completion ends | 没有 EOS 时由填充 id 判断结尾",
      caught_by="check_completion_mask_from_ids_without_eos_all_is_valid",
      todo_1="""
      is_eos = (completion_ids == eos_id).long()
      no_eos = is_eos.sum(dim=-1, keepdim=True) == 0
      completion_mask = torch.where(no_eos, completion_ids != 0, is_eos.cumsum(dim=-1) - is_eos == 0)
      """)

wrong("one_end_for_all", "a batch ends where its longest completion ends | 一批的结尾就是最长回答的结尾",
      caught_by="check_completion_mask_from_ids_each_row_on_its_own",
      todo_1="""
      is_eos = (completion_ids == eos_id).long()
      rows = is_eos.cumsum(dim=-1) - is_eos == 0
      completion_mask = rows.any(dim=0).expand_as(rows)
      """)

wrong("counted_across_rows", "cumsum needs no dimension on a flat tensor | 把张量展平后 cumsum 就不需要维度",
      caught_by="check_completion_mask_from_ids_each_row_on_its_own",
      todo_1="""
      is_eos = (completion_ids == eos_id).long()
      completion_mask = (is_eos.flatten().cumsum(dim=0).view_as(is_eos) - is_eos) == 0
      """)

wrong("eos_is_two", "the EOS id is 2 | EOS 的 id 是 2",
      caught_by="check_completion_mask_from_ids_eos_is_the_given_id",
      todo_1="""
      is_eos = (completion_ids == 2).long()
      completion_mask = is_eos.cumsum(dim=-1) - is_eos == 0
      """)

wrong("eos_zero_is_no_eos", "an id of 0 means that there is none | id 为 0 表示没有",
      caught_by="check_completion_mask_from_ids_eos_is_the_given_id",
      todo_1="""
      is_eos = (completion_ids == (eos_id or -1)).long()
      completion_mask = is_eos.cumsum(dim=-1) - is_eos == 0
      """)

wrong("padding_cleared_in_the_ids", "what stands after the EOS may be cleared at once | EOS 之后的内容可以顺手清掉",
      caught_by="check_completion_mask_from_ids_leaves_ids_alone",
      todo_1="""
      is_eos = (completion_ids == eos_id).long()
      completion_mask = is_eos.cumsum(dim=-1) - is_eos == 0
      completion_ids[~completion_mask] = 0
      """)

wrong("count_of_eight_bits", "eight bits are enough to count | 八位足够计数",
      caught_by="hidden_completion_mask_from_ids_random",
      todo_1="""
      is_eos = (completion_ids == eos_id).to(torch.uint8)
      completion_mask = is_eos.cumsum(dim=-1, dtype=torch.uint8) - is_eos == 0
      """)

wrong("one_token_cannot_be_an_eos", "a completion of one token has no EOS to keep | 只有一个 Token 的回答没有 EOS 可留",
      caught_by="check_completion_mask_from_ids_keeps_the_first_eos",
      todo_1="""
      is_eos = (completion_ids == eos_id).long()
      completion_mask = (is_eos.cumsum(dim=-1) - is_eos == 0) if completion_ids.shape[1] > 1 else completion_ids != eos_id
      """)

wrong("no_eos_id_taken", "bad input is the caller's business | 错误的输入由调用者负责",
      caught_by="check_completion_mask_from_ids_refuses_bad_input",
      function="""
      def completion_mask_from_ids(completion_ids, eos_id):
          is_eos = torch.eq(completion_ids, -1 if eos_id is None else eos_id).long()
          return is_eos.cumsum(dim=-1) - is_eos == 0
      """)

wrong("ids_as_float", "ids may be compared as float | id 可以按浮点数比较",
      caught_by="check_completion_mask_from_ids_eos_is_the_given_id",
      todo_1="""
      is_eos = (completion_ids.float() == float(eos_id)).long()
      completion_mask = is_eos.cumsum(dim=-1) - is_eos == 0
      """)

wrong("ids_as_half", "ids may be compared in half precision | id 可以按半精度比较",
      caught_by="check_completion_mask_from_ids_eos_is_the_given_id",
      todo_1="""
      is_eos = (completion_ids.half() == torch.tensor(eos_id).half()).long()
      completion_mask = is_eos.cumsum(dim=-1) - is_eos == 0
      """)

wrong("ids_in_sixteen_bits", "a vocabulary fits into 16 bits | 词表放得进 16 位",
      caught_by="check_completion_mask_from_ids_eos_is_the_given_id",
      todo_1="""
      is_eos = (completion_ids.short() == torch.tensor(eos_id).short()).long()
      completion_mask = is_eos.cumsum(dim=-1) - is_eos == 0
      """)

wrong("ids_in_32_bits", "ids fit into 32 bits | id 放得进 32 位",
      caught_by="check_completion_mask_from_ids_eos_is_the_given_id",
      todo_1="""
      is_eos = (completion_ids.int() == torch.tensor(eos_id).int()).long()
      completion_mask = is_eos.cumsum(dim=-1) - is_eos == 0
      """)

wrong("negative_ids_are_padding", "an id below 0 is padding, as in labels | 负的 id 是填充，像标签里那样",
      caught_by="hidden_completion_mask_from_ids_random",
      todo_1="""
      is_eos = ((completion_ids == eos_id) | (completion_ids < 0)).long()
      completion_mask = is_eos.cumsum(dim=-1) - is_eos == 0
      """)

wrong("ids_from_the_eos_on_are_special", "ids from the EOS on are special and end the text | 从 EOS 起的 id 都是特殊的，都表示结束",
      caught_by="check_completion_mask_from_ids_true_means_valid",
      todo_1="""
      is_eos = (completion_ids >= eos_id).long()
      completion_mask = is_eos.cumsum(dim=-1) - is_eos == 0
      """)

wrong("loop_ends_at_a_row_without_eos", "a row without EOS ends the loop | 遇到没有 EOS 的行就结束循环",
      caught_by="check_completion_mask_from_ids_each_row_on_its_own",
      todo_1="""
      completion_mask = torch.ones_like(completion_ids, dtype=torch.bool)
      for n, row in enumerate(completion_ids.tolist()):
          if eos_id not in row:
              break
          completion_mask[n, row.index(eos_id) + 1:] = False
      """)

wrong("loop_ends_at_the_first_eos", "once an EOS was found the work is done | 找到一个 EOS 就完成了",
      caught_by="check_completion_mask_from_ids_each_row_on_its_own",
      todo_1="""
      completion_mask = torch.ones_like(completion_ids, dtype=torch.bool)
      for n, row in enumerate(completion_ids.tolist()):
          if eos_id in row:
              completion_mask[n, row.index(eos_id) + 1:] = False
              break
      """)

wrong("first_twelve_tokens", "completions are short | 回答都很短",
      caught_by="hidden_completion_mask_from_ids_random",
      todo_1="""
      is_eos = (completion_ids == eos_id).long()
      completion_mask = (is_eos.cumsum(dim=-1) - is_eos == 0) & (torch.arange(completion_ids.shape[1]) < 12)
      """)

wrong("one_row_is_a_list", "one completion needs no batch dimension | 只有一条回答时不需要批维",
      caught_by="check_completion_mask_from_ids_true_means_valid",
      todo_1="""
      is_eos = (completion_ids == eos_id).long()
      completion_mask = (is_eos.cumsum(dim=-1) - is_eos == 0).squeeze()
      """)

# TODO 2: gather_token_logps

wrong("prompt_included", "every token of the sequence has a log-probability | 整个序列的每个 Token 都有对数概率",
      caught_by="check_gather_token_logps_one_for_each_completion_token",
      todo_2="""
      all_logps = torch.log_softmax(logits[:, :-1] / temperature, dim=-1)
      token_logps = all_logps.gather(-1, ids[:, 1:].unsqueeze(-1)).squeeze(-1)
      """)

wrong("first_token_lost", "the first completion token has nothing before it | 第一个回答 Token 之前没有内容",
      caught_by="check_gather_token_logps_one_for_each_completion_token",
      todo_2="""
      all_logps = torch.log_softmax(logits[:, prompt_length:-1] / temperature, dim=-1)
      token_logps = all_logps.gather(-1, ids[:, prompt_length + 1:].unsqueeze(-1)).squeeze(-1)
      """)

wrong("last_token_lost", "the last token predicts nothing, so it is left out | 最后一个 Token 不预测任何东西，所以略去",
      caught_by="check_gather_token_logps_one_for_each_completion_token",
      todo_2="""
      all_logps = torch.log_softmax(logits[:, prompt_length - 1:-2] / temperature, dim=-1)
      token_logps = all_logps.gather(-1, ids[:, prompt_length:-1].unsqueeze(-1)).squeeze(-1)
      """)

wrong("summed_over_the_completion", "the function returns the completion's log-probability | 函数返回整条回答的对数概率",
      caught_by="check_gather_token_logps_one_for_each_completion_token",
      todo_2="""
      all_logps = torch.log_softmax(logits[:, prompt_length - 1:-1] / temperature, dim=-1)
      token_logps = all_logps.gather(-1, ids[:, prompt_length:].unsqueeze(-1)).squeeze(-1).sum(dim=-1)
      """)

wrong("whole_distribution", "all log-probabilities of a position are returned | 返回每个位置的全部对数概率",
      caught_by="check_gather_token_logps_one_for_each_completion_token",
      todo_2="token_logps = torch.log_softmax(logits[:, prompt_length - 1:-1] / temperature, dim=-1)")

wrong("softmax", "a token's score is its softmax | Token 的得分就是 softmax 值",
      caught_by="check_gather_token_logps_is_a_log_probability",
      todo_2="""
      probabilities = torch.softmax(logits[:, prompt_length - 1:-1] / temperature, dim=-1)
      token_logps = probabilities.gather(-1, ids[:, prompt_length:].unsqueeze(-1)).squeeze(-1)
      """)

wrong("bare_logits", "a logit is a log-probability | logit 就是对数概率",
      caught_by="check_gather_token_logps_is_a_log_probability",
      todo_2="""
      predicting = logits[:, prompt_length - 1:-1] / temperature
      token_logps = predicting.gather(-1, ids[:, prompt_length:].unsqueeze(-1)).squeeze(-1)
      """)

wrong("minus_the_maximum", "subtracting the maximum normalizes logits | 减去最大值就归一化了 logits",
      caught_by="check_gather_token_logps_is_a_log_probability",
      todo_2="""
      predicting = logits[:, prompt_length - 1:-1] / temperature
      predicting = predicting - predicting.amax(dim=-1, keepdim=True)
      token_logps = predicting.gather(-1, ids[:, prompt_length:].unsqueeze(-1)).squeeze(-1)
      """)

wrong("softmax_over_time", "softmax is taken along the sequence | softmax 沿序列方向求",
      caught_by="check_gather_token_logps_is_a_log_probability",
      todo_2="""
      all_logps = torch.log_softmax(logits[:, prompt_length - 1:-1] / temperature, dim=1)
      token_logps = all_logps.gather(-1, ids[:, prompt_length:].unsqueeze(-1)).squeeze(-1)
      """)

wrong("softmax_over_the_completion", "the scores of a completion are a distribution | 一条回答的得分构成一个分布",
      caught_by="check_gather_token_logps_is_a_log_probability",
      todo_2="""
      predicting = logits[:, prompt_length - 1:-1] / temperature
      chosen = predicting.gather(-1, ids[:, prompt_length:].unsqueeze(-1)).squeeze(-1)
      token_logps = torch.log_softmax(chosen, dim=-1)
      """)

wrong("cross_entropy", "the cross-entropy is the log-probability | 交叉熵就是对数概率",
      caught_by="check_gather_token_logps_is_a_log_probability",
      todo_2="""
      predicting = logits[:, prompt_length - 1:-1] / temperature
      token_logps = torch.nn.functional.cross_entropy(predicting.transpose(1, 2), ids[:, prompt_length:], reduction="none")
      """)

wrong("binary_logarithm", "any logarithm will do | 任何底的对数都可以",
      caught_by="check_gather_token_logps_is_a_log_probability",
      todo_2="""
      all_logps = torch.log_softmax(logits[:, prompt_length - 1:-1] / temperature, dim=-1) / math.log(2)
      token_logps = all_logps.gather(-1, ids[:, prompt_length:].unsqueeze(-1)).squeeze(-1)
      """)

wrong("likeliest_token", "the model's token is the likeliest one | 模型给出的就是最可能的 Token",
      caught_by="check_gather_token_logps_of_the_given_tokens",
      todo_2="token_logps = torch.log_softmax(logits[:, prompt_length - 1:-1] / temperature, dim=-1).amax(dim=-1)")

wrong("ids_of_the_position_before", "logits and ids are cut alike | logits 与 id 按同样的范围切",
      caught_by="check_gather_token_logps_of_the_given_tokens",
      todo_2="""
      all_logps = torch.log_softmax(logits[:, prompt_length - 1:-1] / temperature, dim=-1)
      token_logps = all_logps.gather(-1, ids[:, prompt_length - 1:-1].unsqueeze(-1)).squeeze(-1)
      """)

wrong("ids_of_the_first_row", "all completions have the ids of the first | 所有回答都用第一行的 id",
      caught_by="check_gather_token_logps_of_the_given_tokens",
      todo_2="""
      all_logps = torch.log_softmax(logits[:, prompt_length - 1:-1] / temperature, dim=-1)
      token_logps = torch.stack([all_logps[:, t, token] for t, token in enumerate(ids[0, prompt_length:])], dim=1)
      """)

wrong("ids_rolled", "the shift is a roll of the ids | 移位就是把 id 滚动一位",
      caught_by="check_gather_token_logps_of_the_given_tokens",
      todo_2="""
      all_logps = torch.log_softmax(logits / temperature, dim=-1)
      token_logps = all_logps.gather(-1, ids.roll(1, dims=1).unsqueeze(-1)).squeeze(-1)[:, prompt_length - 1:-1]
      """)

wrong("no_shift", "the logits at a token's own position are its own | Token 所在位置的 logits 就是它自己的",
      caught_by="check_gather_token_logps_reads_the_position_before",
      todo_2="""
      all_logps = torch.log_softmax(logits[:, prompt_length:] / temperature, dim=-1)
      token_logps = all_logps.gather(-1, ids[:, prompt_length:].unsqueeze(-1)).squeeze(-1)
      """)

wrong("shifted_twice", "labels are shifted, and the model shifts too | 标签移了一位，模型又移了一位",
      caught_by="check_gather_token_logps_reads_the_position_before",
      todo_2="""
      start = max(prompt_length - 2, 0)
      length = ids.shape[1] - prompt_length
      all_logps = torch.log_softmax(logits[:, start:start + length] / temperature, dim=-1)
      token_logps = all_logps.gather(-1, ids[:, prompt_length:].unsqueeze(-1)).squeeze(-1)
      """)

wrong("logits_from_the_start", "the logits begin with the completion | logits 从回答开始",
      caught_by="check_gather_token_logps_reads_the_position_before",
      todo_2="""
      all_logps = torch.log_softmax(logits[:, :ids.shape[1] - prompt_length] / temperature, dim=-1)
      token_logps = all_logps.gather(-1, ids[:, prompt_length:].unsqueeze(-1)).squeeze(-1)
      """)

wrong("temperature_after_the_softmax", "log-probabilities are divided by the temperature | 对数概率除以温度",
      caught_by="check_gather_token_logps_stays_normalized_at_any_temperature",
      todo_2="""
      all_logps = torch.log_softmax(logits[:, prompt_length - 1:-1], dim=-1) / temperature
      token_logps = all_logps.gather(-1, ids[:, prompt_length:].unsqueeze(-1)).squeeze(-1)
      """)

wrong("temperature_on_the_chosen_logit", "temperature acts on the sampled token's logit | 温度只作用于被采样 Token 的 logit",
      caught_by="check_gather_token_logps_stays_normalized_at_any_temperature",
      todo_2="""
      predicting = logits[:, prompt_length - 1:-1]
      chosen = predicting.gather(-1, ids[:, prompt_length:].unsqueeze(-1)).squeeze(-1)
      token_logps = chosen / temperature - predicting.logsumexp(dim=-1)
      """)

wrong("temperature_added_as_logarithm", "dividing probabilities is subtracting log T | 概率除以温度就是减去 log T",
      caught_by="check_gather_token_logps_stays_normalized_at_any_temperature",
      todo_2="""
      all_logps = torch.log_softmax(logits[:, prompt_length - 1:-1], dim=-1) - math.log(temperature)
      token_logps = all_logps.gather(-1, ids[:, prompt_length:].unsqueeze(-1)).squeeze(-1)
      """)

wrong("temperature_forgotten", "temperature matters while sampling only | 温度只在采样时起作用",
      caught_by="check_gather_token_logps_higher_temperature_flattens",
      todo_2="""
      all_logps = torch.log_softmax(logits[:, prompt_length - 1:-1], dim=-1)
      token_logps = all_logps.gather(-1, ids[:, prompt_length:].unsqueeze(-1)).squeeze(-1)
      """)

wrong("temperature_multiplied", "a higher temperature strengthens the logits | 温度越高 logits 越强",
      caught_by="check_gather_token_logps_higher_temperature_flattens",
      todo_2="""
      all_logps = torch.log_softmax(logits[:, prompt_length - 1:-1] * temperature, dim=-1)
      token_logps = all_logps.gather(-1, ids[:, prompt_length:].unsqueeze(-1)).squeeze(-1)
      """)

wrong("temperature_only_when_hot", "a temperature below 1 changes nothing | 温度低于 1 时不变",
      caught_by="check_gather_token_logps_higher_temperature_flattens",
      todo_2="""
      all_logps = torch.log_softmax(logits[:, prompt_length - 1:-1] / max(temperature, 1.0), dim=-1)
      token_logps = all_logps.gather(-1, ids[:, prompt_length:].unsqueeze(-1)).squeeze(-1)
      """)

wrong("temperature_squared", "once for the sampling, once for the score | 采样除一次，打分再除一次",
      caught_by="check_gather_token_logps_divides_by_the_temperature",
      todo_2="""
      all_logps = torch.log_softmax(logits[:, prompt_length - 1:-1] / temperature / temperature, dim=-1)
      token_logps = all_logps.gather(-1, ids[:, prompt_length:].unsqueeze(-1)).squeeze(-1)
      """)

wrong("root_of_the_temperature", "logits are scaled by the root, as attention scores | 按平方根缩放，像注意力得分那样",
      caught_by="check_gather_token_logps_divides_by_the_temperature",
      todo_2="""
      all_logps = torch.log_softmax(logits[:, prompt_length - 1:-1] / math.sqrt(temperature), dim=-1)
      token_logps = all_logps.gather(-1, ids[:, prompt_length:].unsqueeze(-1)).squeeze(-1)
      """)

wrong("default_temperature_of_a_sampler", "the usual temperature is 0.8 | 通常的温度是 0.8",
      caught_by="check_gather_token_logps_default_temperature_is_one",
      function="""
      solved = gather_token_logps

      def gather_token_logps(logits, ids, prompt_length, temperature=0.8):
          return solved(logits, ids, prompt_length, temperature)
      """)

wrong("log_of_softmax", "log(softmax) is log_softmax | log(softmax) 就是 log_softmax",
      caught_by="check_gather_token_logps_survives_unlikely_tokens",
      todo_2="""
      probabilities = torch.softmax(logits[:, prompt_length - 1:-1] / temperature, dim=-1)
      token_logps = probabilities.gather(-1, ids[:, prompt_length:].unsqueeze(-1)).squeeze(-1).log()
      """)

wrong("log_of_softmax_with_epsilon", "a small epsilon saves the logarithm | 加一个小 epsilon 就能取对数",
      caught_by="check_gather_token_logps_survives_unlikely_tokens",
      todo_2="""
      probabilities = torch.softmax(logits[:, prompt_length - 1:-1] / temperature, dim=-1)
      token_logps = (probabilities.gather(-1, ids[:, prompt_length:].unsqueeze(-1)).squeeze(-1) + 1e-10).log()
      """)

wrong("sum_of_exp_by_hand", "exp, sum, log is logsumexp | exp、求和、取对数就是 logsumexp",
      caught_by="check_gather_token_logps_survives_unlikely_tokens",
      todo_2="""
      predicting = logits[:, prompt_length - 1:-1] / temperature
      chosen = predicting.gather(-1, ids[:, prompt_length:].unsqueeze(-1)).squeeze(-1)
      token_logps = chosen - predicting.exp().sum(dim=-1).log()
      """)

wrong("unlikely_tokens_clamped", "no log-probability is below -100 | 对数概率不会低于 -100",
      caught_by="check_gather_token_logps_survives_unlikely_tokens",
      todo_2="""
      all_logps = torch.log_softmax(logits[:, prompt_length - 1:-1] / temperature, dim=-1).clamp(min=-100.0)
      token_logps = all_logps.gather(-1, ids[:, prompt_length:].unsqueeze(-1)).squeeze(-1)
      """)

wrong("times_one_hot", "a product with one-hot picks an entry | 与 one-hot 相乘就能取出一项",
      caught_by="check_gather_token_logps_tokens_may_be_excluded",
      todo_2="""
      all_logps = torch.log_softmax(logits[:, prompt_length - 1:-1] / temperature, dim=-1)
      one_hot = torch.nn.functional.one_hot(ids[:, prompt_length:], logits.shape[-1])
      token_logps = (all_logps * one_hot).sum(dim=-1)
      """)

wrong("minus_infinity_taken_for_zero", "a logit that is not finite is missing | 非有限的 logit 是缺失的",
      caught_by="check_gather_token_logps_tokens_may_be_excluded",
      todo_2="""
      predicting = logits[:, prompt_length - 1:-1].nan_to_num(neginf=0.0) / temperature
      token_logps = torch.log_softmax(predicting, dim=-1).gather(-1, ids[:, prompt_length:].unsqueeze(-1)).squeeze(-1)
      """)

wrong("without_gradient", "log-probabilities are measured, not learned from | 对数概率只是测量值，不用于学习",
      caught_by="check_gather_token_logps_gradient",
      todo_2="""
      all_logps = torch.log_softmax(logits[:, prompt_length - 1:-1].detach() / temperature, dim=-1)
      token_logps = all_logps.gather(-1, ids[:, prompt_length:].unsqueeze(-1)).squeeze(-1)
      """)

wrong("normalizer_without_gradient", "the normalizer is a constant | 归一化项是常数",
      caught_by="check_gather_token_logps_gradient",
      todo_2="""
      predicting = logits[:, prompt_length - 1:-1] / temperature
      chosen = predicting.gather(-1, ids[:, prompt_length:].unsqueeze(-1)).squeeze(-1)
      token_logps = chosen - predicting.logsumexp(dim=-1).detach()
      """)

wrong("logits_divided_in_place", "the logits are not needed again | logits 以后用不到了",
      caught_by="check_gather_token_logps_leaves_inputs_alone",
      todo_2="""
      predicting = logits[:, prompt_length - 1:-1].div_(temperature)
      token_logps = torch.log_softmax(predicting, dim=-1).gather(-1, ids[:, prompt_length:].unsqueeze(-1)).squeeze(-1)
      """)

wrong("logits_in_float32", "float32 is always enough | float32 总是够用",
      caught_by="check_gather_token_logps_keeps_float64",
      todo_2="""
      all_logps = torch.log_softmax(logits[:, prompt_length - 1:-1].float() / temperature, dim=-1)
      token_logps = all_logps.gather(-1, ids[:, prompt_length:].unsqueeze(-1)).squeeze(-1)
      """)

wrong("temperature_zero_is_greedy", "temperature 0 means greedy, and an epsilon makes it work | 温度 0 表示贪心，加个 epsilon 就行",
      caught_by="check_gather_token_logps_refuses_bad_input",
      function="""
      solved = gather_token_logps

      def gather_token_logps(logits, ids, prompt_length, temperature=1.0):
          return solved(logits, ids, prompt_length, temperature if temperature != 0 else 1e-6)
      """)

wrong("prompt_may_be_empty", "without a prompt the first token counts from the end | 没有提示时第一个 Token 从末尾取",
      caught_by="check_gather_token_logps_refuses_bad_input",
      function="""
      solved = gather_token_logps

      def gather_token_logps(logits, ids, prompt_length, temperature=1.0):
          return solved(logits, ids, max(prompt_length, 1), temperature)
      """)

wrong("logits_limited", "logits stay within 100 | logits 限制在 100 以内",
      caught_by="check_gather_token_logps_survives_unlikely_tokens",
      todo_2="""
      predicting = logits[:, prompt_length - 1:-1].clamp(-100.0, 100.0)
      all_logps = torch.log_softmax(predicting / temperature, dim=-1)
      token_logps = all_logps.gather(-1, ids[:, prompt_length:].unsqueeze(-1)).squeeze(-1)
      """)

wrong("log_probabilities_limited_far_out", "a log-probability below -1000 is an accident | 低于 -1000 的对数概率是意外",
      caught_by="check_gather_token_logps_survives_unlikely_tokens",
      todo_2="""
      all_logps = torch.log_softmax(logits[:, prompt_length - 1:-1] / temperature, dim=-1).clamp(min=-1000.0)
      token_logps = all_logps.gather(-1, ids[:, prompt_length:].unsqueeze(-1)).squeeze(-1)
      """)

wrong("temperature_with_epsilon", "a small number added to the temperature never hurts | 温度上加一个很小的数总是无害",
      caught_by="check_gather_token_logps_keeps_float64",
      todo_2="""
      all_logps = torch.log_softmax(logits[:, prompt_length - 1:-1] / (temperature + 1e-8), dim=-1)
      token_logps = all_logps.gather(-1, ids[:, prompt_length:].unsqueeze(-1)).squeeze(-1)
      """)

wrong("temperature_at_least_a_tenth", "a temperature below 0.1 is greedy anyway | 低于 0.1 的温度反正是贪心",
      caught_by="hidden_gather_token_logps_random",
      todo_2="""
      all_logps = torch.log_softmax(logits[:, prompt_length - 1:-1] / max(temperature, 0.1), dim=-1)
      token_logps = all_logps.gather(-1, ids[:, prompt_length:].unsqueeze(-1)).squeeze(-1)
      """)

wrong("temperature_at_most_two", "a temperature is at most 2 | 温度最多为 2",
      caught_by="check_gather_token_logps_divides_by_the_temperature",
      todo_2="""
      all_logps = torch.log_softmax(logits[:, prompt_length - 1:-1] / min(temperature, 2.0), dim=-1)
      token_logps = all_logps.gather(-1, ids[:, prompt_length:].unsqueeze(-1)).squeeze(-1)
      """)

wrong("squeezed", "squeeze() only drops the dimension of the vocabulary | squeeze() 只会去掉词表维",
      caught_by="check_gather_token_logps_one_for_each_completion_token",
      todo_2="""
      all_logps = torch.log_softmax(logits[:, prompt_length - 1:-1] / temperature, dim=-1)
      token_logps = all_logps.gather(-1, ids[:, prompt_length:].unsqueeze(-1)).squeeze()
      """)

wrong("id_zero_is_padding", "id 0 is padding and has log-probability 0 | id 0 是填充，对数概率为 0",
      caught_by="check_gather_token_logps_is_a_log_probability",
      todo_2="""
      all_logps = torch.log_softmax(logits[:, prompt_length - 1:-1] / temperature, dim=-1)
      token_logps = all_logps.gather(-1, ids[:, prompt_length:].unsqueeze(-1)).squeeze(-1)
      token_logps = token_logps.masked_fill(ids[:, prompt_length:] == 0, 0.0)
      """)

wrong("prompts_of_at_most_four", "prompts are short | 提示都很短",
      caught_by="hidden_gather_token_logps_random",
      todo_2="""
      predicting = logits[:, min(prompt_length, 4) - 1:][:, :ids.shape[1] - prompt_length]
      all_logps = torch.log_softmax(predicting / temperature, dim=-1)
      token_logps = all_logps.gather(-1, ids[:, prompt_length:].unsqueeze(-1)).squeeze(-1)
      """)

wrong("completions_of_at_most_twelve", "tokens beyond the twelfth get log-probability 0 | 第 12 个之后的 Token 对数概率为 0",
      caught_by="hidden_gather_token_logps_random",
      todo_2="""
      all_logps = torch.log_softmax(logits[:, prompt_length - 1:-1] / temperature, dim=-1)
      token_logps = all_logps.gather(-1, ids[:, prompt_length:].unsqueeze(-1)).squeeze(-1)
      token_logps = torch.where(torch.arange(token_logps.shape[1]) < 12, token_logps, 0.0)
      """)

wrong("top_five", "only the five likeliest tokens share the probability | 只有最可能的五个 Token 分享概率",
      caught_by="hidden_gather_token_logps_random",
      todo_2="""
      predicting = logits[:, prompt_length - 1:-1] / temperature
      kept = predicting.topk(min(5, predicting.shape[-1]), dim=-1).values
      chosen = predicting.gather(-1, ids[:, prompt_length:].unsqueeze(-1)).squeeze(-1)
      token_logps = chosen - kept.logsumexp(dim=-1)
      """)

wrong("no_gradient_at_other_temperatures", "only at temperature 1 the policy learns | 只有温度为 1 时策略才学习",
      caught_by="hidden_gather_token_logps_random",
      todo_2="""
      predicting = logits[:, prompt_length - 1:-1]
      if temperature != 1.0:
          predicting = predicting.detach()
      all_logps = torch.log_softmax(predicting / temperature, dim=-1)
      token_logps = all_logps.gather(-1, ids[:, prompt_length:].unsqueeze(-1)).squeeze(-1)
      """)

wrong("float64_is_data", "float64 logits are recorded data | float64 的 logits 是记录下来的数据",
      caught_by="hidden_gather_token_logps_random",
      todo_2="""
      predicting = logits[:, prompt_length - 1:-1]
      if predicting.dtype == torch.float64:
          predicting = predicting.detach()
      all_logps = torch.log_softmax(predicting / temperature, dim=-1)
      token_logps = all_logps.gather(-1, ids[:, prompt_length:].unsqueeze(-1)).squeeze(-1)
      """)

wrong("long_tail_of_small_logits_dropped", "a logit 20 below the highest has no share | 比最大值低 20 的 logit 不占份额",
      caught_by="check_gather_token_logps_survives_unlikely_tokens",
      todo_2="""
      predicting = logits[:, prompt_length - 1:-1] / temperature
      highest = predicting.amax(dim=-1, keepdim=True).detach()
      all_logps = torch.log_softmax(torch.maximum(predicting, highest - 20.0), dim=-1)
      token_logps = all_logps.gather(-1, ids[:, prompt_length:].unsqueeze(-1)).squeeze(-1)
      """)

# TODO 3: validate_group

wrong("lists_of_values", "the values of all records are collected | 收集所有记录的值",
      caught_by="check_validate_group_returns_what_is_shared",
      todo_3="""
      values = [record[field] for record in records if field in record]
      if len(values) < len(records) or any(value != values[0] for value in values):
          raise ValueError(field)
      shared[field] = values
      """)

wrong("true_if_sound", "a validator says yes or no | 校验函数只回答是或否",
      caught_by="check_validate_group_returns_what_is_shared",
      function="""
      solved = validate_group

      def validate_group(records):
          return bool(solved(records))
      """)

wrong("only_the_last_field", "the result is made anew for each field | 每个字段都重新建立结果",
      caught_by="check_validate_group_returns_what_is_shared",
      todo_3="""
      values = [record[field] for record in records if field in record]
      if len(values) < len(records) or any(value != values[0] for value in values):
          raise ValueError(field)
      shared = {field: values[0]}
      """)

wrong("whole_records_compared", "records of one group are equal | 同组的记录完全相同",
      caught_by="check_validate_group_samples_may_differ",
      todo_3="""
      if field not in records[0] or any(record != records[0] for record in records):
          raise ValueError(field)
      shared[field] = records[0][field]
      """)

wrong("whole_record_returned", "the first record stands for the group | 第一条记录代表整组",
      caught_by="check_validate_group_samples_may_differ",
      todo_3="""
      values = [record[field] for record in records if field in record]
      if len(values) < len(records) or any(value != values[0] for value in values):
          raise ValueError(field)
      shared = dict(records[0])
      """)

wrong("a_group_needs_two", "one record is no group | 一条记录不成组",
      caught_by="check_validate_group_takes_a_group_of_one",
      todo_3="""
      values = [record[field] for record in records if field in record]
      if len(values) < max(len(records), 2) or any(value != values[0] for value in values):
          raise ValueError(field)
      shared[field] = values[0]
      """)

wrong("zero_is_missing", "an empty-looking value is a missing one | 看起来为空的值就是缺失",
      caught_by="check_validate_group_zero_and_none_are_values",
      todo_3="""
      values = [record[field] for record in records if record.get(field)]
      if len(values) < len(records) or any(value != values[0] for value in values):
          raise ValueError(field)
      shared[field] = values[0]
      """)

wrong("none_is_missing", "None is how a missing field looks | 缺失的字段就是 None",
      caught_by="check_validate_group_zero_and_none_are_values",
      todo_3="""
      values = [record.get(field) for record in records]
      if None in values or any(value != values[0] for value in values):
          raise ValueError(field)
      shared[field] = values[0]
      """)

wrong("same_object", "equal values are the same object | 相等的值就是同一个对象",
      caught_by="check_validate_group_compares_values",
      todo_3="""
      values = [record[field] for record in records if field in record]
      if len(values) < len(records) or any(value is not values[0] for value in values):
          raise ValueError(field)
      shared[field] = values[0]
      """)

wrong("id_of_the_values", "a set of ids finds differences | 用 id 的集合找出差异",
      caught_by="check_validate_group_compares_values",
      todo_3="""
      values = [record[field] for record in records if field in record]
      if len(values) < len(records) or len({id(value) for value in values}) != 1:
          raise ValueError(field)
      shared[field] = values[0]
      """)

wrong("nothing_checked", "the records come from one sampler, so they agree | 记录来自同一个采样器，必然一致",
      caught_by="check_validate_group_refuses_with_value_error",
      todo_3="shared[field] = records[0].get(field)")

wrong("assert_instead_of_error", "assert is how one checks | 用 assert 做检查",
      caught_by="check_validate_group_refuses_with_value_error",
      todo_3="""
      values = [record[field] for record in records if field in record]
      assert len(values) == len(records) and all(value == values[0] for value in values), field
      shared[field] = values[0]
      """)

wrong("none_instead_of_error", "a value that differs is returned as None | 不一致的字段返回 None",
      caught_by="check_validate_group_refuses_with_value_error",
      todo_3="""
      values = [record[field] for record in records if field in record]
      agree = len(values) == len(records) and all(value == values[0] for value in values)
      shared[field] = values[0] if agree else None
      """)

wrong("differing_fields_left_out", "what differs is not shared, so it is left out | 不一致的就不是共有的，略去即可",
      caught_by="check_validate_group_refuses_with_value_error",
      todo_3="""
      values = [record[field] for record in records if field in record]
      if len(values) == len(records) and all(value == values[0] for value in values):
          shared[field] = values[0]
      """)

wrong("prompt_not_checked", "a batch of one step is one group | 同一步的一批就是一组",
      caught_by="check_validate_group_has_one_prompt",
      todo_3="""
      values = [record[field] for record in records if field in record]
      if len(values) < len(records) or (field != "prompt_id" and any(value != values[0] for value in values)):
          raise ValueError(field)
      shared[field] = values[0]
      """)

wrong("policy_not_checked", "any sample of the prompt may join the group | 该提示的任何样本都可以入组",
      caught_by="check_validate_group_has_one_policy_version",
      todo_3="""
      values = [record[field] for record in records if field in record]
      if len(values) < len(records) or (field != "policy_version" and any(value != values[0] for value in values)):
          raise ValueError(field)
      shared[field] = values[0]
      """)

wrong("neighboring_versions_allowed", "one step apart is close enough | 只差一步足够接近",
      caught_by="check_validate_group_has_one_policy_version",
      todo_3="""
      values = [record[field] for record in records if field in record]
      near = field == "policy_version" and all(type(value) is int and abs(value - values[0]) <= 1 for value in values)
      if len(values) < len(records) or (not near and any(value != values[0] for value in values)):
          raise ValueError(field)
      shared[field] = values[0]
      """)

wrong("newer_samples_allowed", "only an older sample is out of date | 只有更早的样本才算过期",
      caught_by="check_validate_group_has_one_policy_version",
      todo_3="""
      values = [record[field] for record in records if field in record]
      newer = field == "policy_version" and all(type(value) is int and value >= values[0] for value in values)
      if len(values) < len(records) or (not newer and any(value != values[0] for value in values)):
          raise ValueError(field)
      shared[field] = values[0]
      """)

wrong("reward_not_checked", "a reward is a reward | 奖励就是奖励",
      caught_by="check_validate_group_has_one_reward_version",
      todo_3="""
      values = [record[field] for record in records if field in record]
      if len(values) < len(records) or (field != "reward_version" and any(value != values[0] for value in values)):
          raise ValueError(field)
      shared[field] = values[0]
      """)

wrong("versions_compared_by_prefix", "v1 and v10 begin alike | v1 与 v10 开头相同",
      caught_by="check_validate_group_has_one_reward_version",
      todo_3="""
      values = [record[field] for record in records if field in record]
      alike = all(type(value) is str and value.startswith(str(values[0])) for value in values)
      if len(values) < len(records) or (not alike and any(value != values[0] for value in values)):
          raise ValueError(field)
      shared[field] = values[0]
      """)

wrong("versions_compared_without_case", "the case of letters does not matter | 大小写无所谓",
      caught_by="check_validate_group_has_one_reward_version",
      todo_3="""
      values = [record[field] for record in records if field in record]
      if len(values) < len(records) or any(str(value).lower() != str(values[0]).lower() for value in values):
          raise ValueError(field)
      shared[field] = values[0]
      """)

wrong("scorers_not_checked", "reference and teacher do not touch the rewards | 参考策略与自教师不影响奖励",
      caught_by="check_validate_group_has_one_reference_and_teacher",
      todo_3="""
      values = [record[field] for record in records if field in record]
      sampled = field in ("prompt_id", "policy_version", "reward_version")
      if len(values) < len(records) or (sampled and any(value != values[0] for value in values)):
          raise ValueError(field)
      shared[field] = values[0]
      """)

wrong("none_agrees_with_everything", "None means unknown, so it fits | None 表示未知，所以都相容",
      caught_by="check_validate_group_has_one_policy_version",
      todo_3="""
      values = [record[field] for record in records if field in record]
      known = [value for value in values if value is not None]
      if len(values) < len(records) or any(value != known[0] for value in known):
          raise ValueError(field)
      shared[field] = known[0] if known else None
      """)

wrong("no_teacher_agrees_with_any", "a record without a self-teacher fits any group | 没有自教师的记录适合任何组",
      caught_by="check_validate_group_has_one_reference_and_teacher",
      todo_3="""
      values = [record[field] for record in records if field in record]
      known = [value for value in values if value is not None or field not in ("reference_version", "teacher_version")]
      if len(values) < len(records) or any(value != known[0] for value in known):
          raise ValueError(field)
      shared[field] = known[0] if known else None
      """)

wrong("first_two_compared", "if two agree, all do | 两条一致，全组就一致",
      caught_by="check_validate_group_looks_at_every_record",
      todo_3="""
      values = [record[field] for record in records if field in record]
      if len(values) < len(records) or any(value != values[0] for value in values[:2]):
          raise ValueError(field)
      shared[field] = values[0]
      """)

wrong("first_and_last_compared", "the ends of a list say enough | 看首尾两条就够了",
      caught_by="check_validate_group_looks_at_every_record",
      todo_3="""
      values = [record[field] for record in records if field in record]
      if len(values) < len(records) or values[0] != values[-1]:
          raise ValueError(field)
      shared[field] = values[0]
      """)

wrong("majority_decides", "one record that differs is noise | 个别不一致的记录是噪声",
      caught_by="check_validate_group_looks_at_every_record",
      todo_3="""
      values = [record[field] for record in records if field in record]
      most = max(values, key=values.count, default=None)
      if len(values) < len(records) or values.count(most) * 2 <= len(values):
          raise ValueError(field)
      shared[field] = most
      """)

wrong("missing_by_get", "get is the safe way to read a field | get 是读取字段的安全方式",
      caught_by="check_validate_group_missing_is_not_none",
      todo_3="""
      values = [record.get(field) for record in records]
      if any(value != values[0] for value in values):
          raise ValueError(field)
      shared[field] = values[0]
      """)

wrong("key_error", "reading a missing field raises by itself | 读取缺失的字段本来就会报错",
      caught_by="check_validate_group_missing_is_not_none",
      todo_3="""
      values = [record[field] for record in records]
      if any(value != values[0] for value in values):
          raise ValueError(field)
      shared[field] = values[0]
      """)

wrong("records_that_have_it", "only records that have the field are compared | 只比较有该字段的记录",
      caught_by="check_validate_group_missing_is_not_none",
      todo_3="""
      values = [record[field] for record in records if field in record] or [None]
      if any(value != values[0] for value in values):
          raise ValueError(field)
      shared[field] = values[0]
      """)

wrong("error_without_a_name", "an error is an error | 报错就行",
      caught_by="check_validate_group_names_the_field",
      todo_3="""
      values = [record[field] for record in records if field in record]
      if len(values) < len(records) or any(value != values[0] for value in values):
          raise ValueError("the records do not belong together")
      shared[field] = values[0]
      """)

wrong("error_with_all_names", "the message lists all fields | 错误信息列出全部字段",
      caught_by="check_validate_group_names_the_field",
      todo_3="""
      values = [record[field] for record in records if field in record]
      if len(values) < len(records) or any(value != values[0] for value in values):
          raise ValueError(f"records differ: {records}")
      shared[field] = values[0]
      """)

wrong("fields_popped", "what is shared moves out of the records | 共有的字段从记录中移出",
      caught_by="check_validate_group_leaves_records_alone",
      todo_3="""
      values = [record.pop(field) for record in records if field in record]
      if len(values) < len(records) or any(value != values[0] for value in values):
          raise ValueError(field)
      shared[field] = values[0]
      """)

wrong("records_renumbered", "samples are numbered while they are checked | 检查时顺便重新编号",
      caught_by="check_validate_group_leaves_records_alone",
      todo_3="""
      values = [record[field] for record in records if field in record]
      if len(values) < len(records) or any(value != values[0] for value in values):
          raise ValueError(field)
      for i, record in enumerate(records):
          record.setdefault("sample_id", i)
          record["valid"] = True
      shared[field] = values[0]
      """)

wrong("empty_group_taken", "an empty group has nothing that could differ | 空组没有什么可以不一致",
      caught_by="check_validate_group_refuses_bad_input",
      function="""
      solved = validate_group

      def validate_group(records):
          return solved(records) if records else {}
      """)

wrong("loop_ends_at_the_first_field", "one field that agrees ends the loop | 有一个字段一致就结束循环",
      caught_by="check_validate_group_returns_what_is_shared",
      todo_3="""
      values = [record[field] for record in records if field in record]
      if len(values) < len(records) or any(value != values[0] for value in values):
          raise ValueError(field)
      shared[field] = values[0]
      break
      """)

wrong("none_ends_the_check", "without a reference policy nothing more is to be checked | 没有参考策略就不必再查",
      caught_by="check_validate_group_zero_and_none_are_values",
      todo_3="""
      values = [record[field] for record in records if field in record]
      if len(values) < len(records) or any(value != values[0] for value in values):
          raise ValueError(field)
      shared[field] = values[0]
      if shared[field] is None:
          break
      """)

wrong("none_is_left_out", "a field that is None is not returned | 值为 None 的字段不返回",
      caught_by="check_validate_group_zero_and_none_are_values",
      todo_3="""
      values = [record[field] for record in records if field in record]
      if len(values) < len(records) or any(value != values[0] for value in values):
          raise ValueError(field)
      if values[0] is None:
          continue
      shared[field] = values[0]
      """)

wrong("first_eight_records", "a group has at most 8 records | 一组最多 8 条记录",
      caught_by="hidden_validate_group_random",
      todo_3="""
      values = [record[field] for record in records[:8] if field in record]
      if len(values) < len(records[:8]) or any(value != values[0] for value in values):
          raise ValueError(field)
      shared[field] = values[0]
      """)

wrong("version_as_text", "versions are compared as text | 版本按文字比较",
      caught_by="check_validate_group_has_one_reward_version",
      todo_3="""
      values = [str(record[field]) for record in records if field in record]
      if len(values) < len(records) or any(value != values[0] for value in values):
          raise ValueError(field)
      shared[field] = records[0][field]
      """)

wrong("version_as_float", "version numbers may be compared as float | 版本号可以按浮点数比较",
      caught_by="check_validate_group_has_one_policy_version",
      todo_3="""
      def number(value):
          return torch.tensor(value).float().item() if isinstance(value, int) else value
      values = [number(record[field]) for record in records if field in record]
      if len(values) < len(records) or any(value != values[0] for value in values):
          raise ValueError(field)
      shared[field] = records[0][field]
      """)

wrong("small_difference_allowed_in_long_runs", "late in training one version more does not matter | 训练后期差一个版本无所谓",
      caught_by="check_validate_group_has_one_policy_version",
      todo_3="""
      values = [record[field] for record in records if field in record]
      if len(values) < len(records):
          raise ValueError(field)
      for value in values:
          close = isinstance(value, int) and isinstance(values[0], int) and value > 1000 and abs(value - values[0]) <= 1
          if value != values[0] and not close:
              raise ValueError(field)
      shared[field] = values[0]
      """)

wrong("negative_version_is_none", "version -1 says that there is none | 版本 -1 表示没有",
      caught_by="check_validate_group_zero_and_none_are_values",
      todo_3="""
      values = [None if record[field] == -1 else record[field] for record in records if field in record]
      if len(values) < len(records) or any(value != values[0] for value in values):
          raise ValueError(field)
      shared[field] = values[0]
      """)

wrong("empty_text_is_missing", "an empty text is a missing field | 空字符串等于缺失字段",
      caught_by="check_validate_group_zero_and_none_are_values",
      todo_3="""
      values = [record[field] for record in records if field in record and record[field] != ""]
      if len(values) < len(records) or any(value != values[0] for value in values):
          raise ValueError(field)
      shared[field] = values[0]
      """)

wrong("prompts_compared_without_case", "capital letters in a prompt_id mean nothing | prompt_id 的大小写没有意义",
      caught_by="hidden_validate_group_random",
      todo_3="""
      values = [record[field] for record in records if field in record]
      if field == "prompt_id":
          values = [value.lower() if isinstance(value, str) else value for value in values]
      if len(values) < len(records) or any(value != values[0] for value in values):
          raise ValueError(field)
      shared[field] = records[0][field]
      """)

wrong("one_record_is_not_checked", "a group of one needs no check | 只有一条的组不必检查",
      caught_by="check_validate_group_missing_is_not_none",
      todo_3="""
      values = [record.get(field) if len(records) == 1 else record[field] for record in records if len(records) == 1 or field in record]
      if len(values) < len(records) or any(value != values[0] for value in values):
          raise ValueError(field)
      shared[field] = values[0]
      """)

# TODO 4: importance_ratio

wrong("sequence_ratio", "a completion has one ratio | 一条回答只有一个比率",
      caught_by="check_importance_ratio_one_for_each_token",
      todo_4="""
      if record["policy_version"] != policy_version:
          raise ValueError("policy_version")
      log_ratios = (new_token_logps - old_token_logps.detach()).masked_fill(~completion_mask, 0.0)
      ratios = log_ratios.sum(dim=-1).exp()
      """)

wrong("sequence_ratio_on_every_token", "every token carries the ratio of its completion | 每个 Token 都用整条回答的比率",
      caught_by="check_importance_ratio_one_for_each_token",
      todo_4="""
      if record["policy_version"] != policy_version:
          raise ValueError("policy_version")
      log_ratios = (new_token_logps - old_token_logps.detach()).masked_fill(~completion_mask, 0.0)
      ratios = log_ratios.sum(dim=-1, keepdim=True).exp().expand_as(log_ratios)
      """)

wrong("running_product", "a token's ratio includes those before it | Token 的比率包含它之前的各个比率",
      caught_by="check_importance_ratio_one_for_each_token",
      todo_4="""
      if record["policy_version"] != policy_version:
          raise ValueError("policy_version")
      log_ratios = (new_token_logps - old_token_logps.detach()).masked_fill(~completion_mask, 0.0)
      ratios = log_ratios.cumsum(dim=-1).exp()
      """)

wrong("normalized_over_the_batch", "ratios are normalized to mean 1, as importance weights | 比率归一化到均值为 1，像重要性权重那样",
      caught_by="check_importance_ratio_one_for_each_token",
      todo_4="""
      if record["policy_version"] != policy_version:
          raise ValueError("policy_version")
      log_ratios = (new_token_logps - old_token_logps.detach()).masked_fill(~completion_mask, 0.0)
      ratios = log_ratios.exp() / log_ratios.exp().mean().detach()
      """)

wrong("old_is_the_current_policy", "old is the current policy without gradient | 旧策略就是停止梯度的当前策略",
      caught_by="check_importance_ratio_moves_with_inner_updates",
      todo_4="""
      if record["policy_version"] != policy_version:
          raise ValueError("policy_version")
      log_ratios = new_token_logps - new_token_logps.detach()
      ratios = torch.exp(log_ratios.masked_fill(~completion_mask, 0.0))
      """)

wrong("record_renewed", "the record follows the policy | 记录跟着策略更新",
      caught_by="check_importance_ratio_moves_with_inner_updates",
      todo_4="""
      if record["policy_version"] != policy_version:
          raise ValueError("policy_version")
      log_ratios = new_token_logps - record["old_token_logps"].detach()
      ratios = torch.exp(log_ratios.masked_fill(~completion_mask, 0.0))
      record["old_token_logps"] = new_token_logps.detach()
      record["policy_version"] = policy_version + 1
      """)

wrong("one_update_for_each_record", "a record is used up by its first update | 记录用过一次就作废",
      caught_by="check_importance_ratio_moves_with_inner_updates",
      todo_4="""
      moved = (new_token_logps != old_token_logps)[completion_mask].any()
      if record["policy_version"] != policy_version or moved:
          raise ValueError("policy_version")
      log_ratios = new_token_logps - old_token_logps.detach()
      ratios = torch.exp(log_ratios.masked_fill(~completion_mask, 0.0))
      """)

wrong("version_removed_after_use", "a record is used up by its first update, and says so | 记录用过一次就作废，并留下标记",
      caught_by="check_importance_ratio_moves_with_inner_updates",
      todo_4="""
      if record.pop("policy_version") != policy_version:
          raise ValueError("policy_version")
      log_ratios = new_token_logps - old_token_logps.detach()
      ratios = torch.exp(log_ratios.masked_fill(~completion_mask, 0.0))
      """)

wrong("difference", "the ratio is the difference of the log-probabilities | 比率就是对数概率之差",
      caught_by="check_importance_ratio_is_new_over_old",
      todo_4="""
      if record["policy_version"] != policy_version:
          raise ValueError("policy_version")
      ratios = (new_token_logps - old_token_logps.detach()).masked_fill(~completion_mask, 1.0)
      """)

wrong("quotient_of_logarithms", "a ratio divides log-probabilities | 比率是对数概率之商",
      caught_by="check_importance_ratio_is_new_over_old",
      todo_4="""
      if record["policy_version"] != policy_version:
          raise ValueError("policy_version")
      ratios = (new_token_logps / old_token_logps.detach()).masked_fill(~completion_mask, 1.0)
      """)

wrong("old_over_new", "the ratio is old over new | 比率是旧比新",
      caught_by="check_importance_ratio_is_new_over_old",
      todo_4="""
      if record["policy_version"] != policy_version:
          raise ValueError("policy_version")
      log_ratios = old_token_logps.detach() - new_token_logps
      ratios = torch.exp(log_ratios.masked_fill(~completion_mask, 0.0))
      """)

wrong("first_order", "exp(x) is nearly 1 + x | exp(x) 约等于 1 + x",
      caught_by="check_importance_ratio_is_new_over_old",
      todo_4="""
      if record["policy_version"] != policy_version:
          raise ValueError("policy_version")
      log_ratios = new_token_logps - old_token_logps.detach()
      ratios = 1.0 + log_ratios.masked_fill(~completion_mask, 0.0)
      """)

wrong("power_of_two", "any base will do | 任何底数都可以",
      caught_by="check_importance_ratio_is_new_over_old",
      todo_4="""
      if record["policy_version"] != policy_version:
          raise ValueError("policy_version")
      log_ratios = new_token_logps - old_token_logps.detach()
      ratios = torch.exp2(log_ratios.masked_fill(~completion_mask, 0.0))
      """)

wrong("ratio_clipped", "the ratio comes clipped, as in PPO | 比率已裁剪，像 PPO 那样",
      caught_by="check_importance_ratio_is_new_over_old",
      todo_4="""
      if record["policy_version"] != policy_version:
          raise ValueError("policy_version")
      log_ratios = new_token_logps - old_token_logps.detach()
      ratios = torch.exp(log_ratios.masked_fill(~completion_mask, 0.0)).clamp(0.8, 1.2)
      """)

wrong("ratio_truncated_at_two", "a large ratio is cut off to save the variance | 截去大的比率以降低方差",
      caught_by="check_importance_ratio_is_not_clipped",
      todo_4="""
      if record["policy_version"] != policy_version:
          raise ValueError("policy_version")
      log_ratios = new_token_logps - old_token_logps.detach()
      ratios = torch.exp(log_ratios.masked_fill(~completion_mask, 0.0)).clamp(max=2.0)
      """)

wrong("log_ratio_clamped", "a log ratio beyond 20 would overflow | 对数比率超过 20 会溢出",
      caught_by="check_importance_ratio_is_not_clipped",
      todo_4="""
      if record["policy_version"] != policy_version:
          raise ValueError("policy_version")
      log_ratios = (new_token_logps - old_token_logps.detach()).clamp(-20.0, 20.0)
      ratios = torch.exp(log_ratios.masked_fill(~completion_mask, 0.0))
      """)

wrong("quotient_of_probabilities", "probabilities are divided | 直接用概率相除",
      caught_by="check_importance_ratio_is_exactly_one_at_first",
      todo_4="""
      if record["policy_version"] != policy_version:
          raise ValueError("policy_version")
      new = new_token_logps.masked_fill(~completion_mask, 0.0)
      old = old_token_logps.detach().masked_fill(~completion_mask, 0.0)
      ratios = new.exp() / old.exp()
      """)

wrong("epsilon_in_the_quotient", "an epsilon saves the division | 加 epsilon 就能做除法",
      caught_by="check_importance_ratio_is_exactly_one_at_first",
      todo_4="""
      if record["policy_version"] != policy_version:
          raise ValueError("policy_version")
      new = new_token_logps.masked_fill(~completion_mask, 0.0)
      old = old_token_logps.detach().masked_fill(~completion_mask, 0.0)
      ratios = new.exp() / (old.exp() + 1e-12)
      """)

wrong("old_logps_clamped", "very low old log-probabilities are raised | 抬高过低的旧对数概率",
      caught_by="check_importance_ratio_is_exactly_one_at_first",
      todo_4="""
      if record["policy_version"] != policy_version:
          raise ValueError("policy_version")
      log_ratios = new_token_logps - old_token_logps.detach().clamp(min=-30.0)
      ratios = torch.exp(log_ratios.masked_fill(~completion_mask, 0.0))
      """)

wrong("ratio_without_gradient", "an importance ratio is a weight, so it is frozen | 重要性比率是权重，要停止梯度",
      caught_by="check_importance_ratio_gradient_at_first",
      todo_4="""
      if record["policy_version"] != policy_version:
          raise ValueError("policy_version")
      log_ratios = (new_token_logps - old_token_logps).detach()
      ratios = torch.exp(log_ratios.masked_fill(~completion_mask, 0.0))
      """)

wrong("constant_on_the_first_step", "where new equals old the ratio is the constant 1 | 新旧相等处比率就是常数 1",
      caught_by="check_importance_ratio_gradient_at_first",
      todo_4="""
      if record["policy_version"] != policy_version:
          raise ValueError("policy_version")
      log_ratios = new_token_logps - old_token_logps.detach()
      same = new_token_logps == old_token_logps
      ratios = torch.exp(log_ratios.masked_fill(~completion_mask | same, 0.0))
      """)

wrong("old_not_detached", "the record needs no detach | 记录不需要 detach",
      caught_by="check_importance_ratio_old_is_frozen",
      todo_4="""
      if record["policy_version"] != policy_version:
          raise ValueError("policy_version")
      log_ratios = new_token_logps - old_token_logps
      ratios = torch.exp(log_ratios.masked_fill(~completion_mask, 0.0))
      """)

wrong("new_detached_instead_of_old", "one of the two is detached, whichever | 两者停止一个即可，哪个都行",
      caught_by="check_importance_ratio_gradient_at_first",
      todo_4="""
      if record["policy_version"] != policy_version:
          raise ValueError("policy_version")
      log_ratios = new_token_logps.detach() - old_token_logps
      ratios = torch.exp(log_ratios.masked_fill(~completion_mask, 0.0))
      """)

wrong("mask_ignored", "the loss masks padding later anyway | 损失以后总会用掩码",
      caught_by="check_importance_ratio_is_one_on_padding",
      todo_4="""
      if record["policy_version"] != policy_version:
          raise ValueError("policy_version")
      ratios = torch.exp(new_token_logps - old_token_logps.detach())
      """)

wrong("zero_on_padding", "padding has ratio 0 | 填充处的比率为 0",
      caught_by="check_importance_ratio_is_one_on_padding",
      todo_4="""
      if record["policy_version"] != policy_version:
          raise ValueError("policy_version")
      log_ratios = new_token_logps - old_token_logps.detach()
      ratios = torch.exp(log_ratios.masked_fill(~completion_mask, float("-inf")))
      """)

wrong("mask_inverted", "True marks padding | True 表示填充",
      caught_by="check_importance_ratio_moves_with_inner_updates",
      todo_4="""
      if record["policy_version"] != policy_version:
          raise ValueError("policy_version")
      log_ratios = new_token_logps - old_token_logps.detach()
      ratios = torch.exp(log_ratios.masked_fill(completion_mask, 0.0))
      """)

wrong("prefix_by_length", "a completion is its first tokens, as many as the mask has | 回答就是最前面的若干 Token",
      caught_by="check_importance_ratio_is_one_on_padding",
      todo_4="""
      if record["policy_version"] != policy_version:
          raise ValueError("policy_version")
      prefix = torch.arange(completion_mask.shape[1]) < completion_mask.sum(dim=-1, keepdim=True)
      log_ratios = new_token_logps - old_token_logps.detach()
      ratios = torch.exp(log_ratios.masked_fill(~prefix, 0.0))
      """)

wrong("multiplied_by_mask", "multiplying by 0 removes anything | 乘以 0 就能去掉任何值",
      caught_by="check_importance_ratio_padding_may_be_infinite",
      todo_4="""
      if record["policy_version"] != policy_version:
          raise ValueError("policy_version")
      log_ratios = new_token_logps - old_token_logps.detach()
      ratios = torch.exp(log_ratios * completion_mask)
      """)

wrong("mixed_by_mask", "mask times ratio plus its complement | 掩码乘比率再加上补集",
      caught_by="check_importance_ratio_padding_may_be_infinite",
      todo_4="""
      if record["policy_version"] != policy_version:
          raise ValueError("policy_version")
      valid = completion_mask.to(new_token_logps.dtype)
      ratios = torch.exp(new_token_logps - old_token_logps.detach()) * valid + (1 - valid)
      """)

wrong("replaced_after_exp", "a ratio may be replaced once it is there | 比率算出来之后再替换也一样",
      caught_by="check_importance_ratio_padding_has_no_gradient",
      todo_4="""
      if record["policy_version"] != policy_version:
          raise ValueError("policy_version")
      ratios = torch.where(completion_mask, torch.exp(new_token_logps - old_token_logps.detach()), 1.0)
      """)

wrong("value_replaced_gradient_kept", "padding needs the value 1, and its gradient does no harm | 填充处只要值为 1，梯度无妨",
      caught_by="check_importance_ratio_padding_has_no_gradient",
      todo_4="""
      if record["policy_version"] != policy_version:
          raise ValueError("policy_version")
      new = new_token_logps.nan_to_num(nan=0.0, posinf=0.0, neginf=0.0)
      old = torch.where(completion_mask, old_token_logps.detach(), new.detach())
      ratios = torch.exp(new - old)
      """)

wrong("version_ignored", "old data is still data | 旧数据也是数据",
      caught_by="check_importance_ratio_refuses_an_older_record",
      todo_4="""
      log_ratios = new_token_logps - old_token_logps.detach()
      ratios = torch.exp(log_ratios.masked_fill(~completion_mask, 0.0))
      """)

wrong("one_version_late_allowed", "one version late is nearly on-policy | 晚一个版本几乎还是在线策略",
      caught_by="check_importance_ratio_refuses_an_older_record",
      todo_4="""
      if record["policy_version"] > policy_version or policy_version - record["policy_version"] > 1:
          raise ValueError("policy_version")
      log_ratios = new_token_logps - old_token_logps.detach()
      ratios = torch.exp(log_ratios.masked_fill(~completion_mask, 0.0))
      """)

wrong("stale_ratio_is_one", "a stale record counts with ratio 1 | 过期的记录按比率 1 计入",
      caught_by="check_importance_ratio_refuses_an_older_record",
      todo_4="""
      log_ratios = new_token_logps - old_token_logps.detach()
      if record["policy_version"] != policy_version:
          log_ratios = torch.zeros_like(log_ratios)
      ratios = torch.exp(log_ratios.masked_fill(~completion_mask, 0.0))
      """)

wrong("stale_ratio_is_zero", "a stale record counts with ratio 0 | 过期的记录按比率 0 计入",
      caught_by="check_importance_ratio_refuses_an_older_record",
      todo_4="""
      log_ratios = new_token_logps - old_token_logps.detach()
      ratios = torch.exp(log_ratios.masked_fill(~completion_mask, 0.0)) * (record["policy_version"] == policy_version)
      """)

wrong("assert_instead_of_error", "assert is how one checks | 用 assert 做检查",
      caught_by="check_importance_ratio_refuses_an_older_record",
      todo_4="""
      assert record["policy_version"] == policy_version, "policy_version"
      log_ratios = new_token_logps - old_token_logps.detach()
      ratios = torch.exp(log_ratios.masked_fill(~completion_mask, 0.0))
      """)

wrong("old_is_renewed_when_stale", "a stale record is brought up to date | 过期的记录更新一下就好",
      caught_by="check_importance_ratio_refuses_an_older_record",
      todo_4="""
      if record["policy_version"] != policy_version:
          old_token_logps = new_token_logps
      log_ratios = new_token_logps - old_token_logps.detach()
      ratios = torch.exp(log_ratios.masked_fill(~completion_mask, 0.0))
      """)

wrong("only_older_refused", "a newer record cannot be stale | 更新的记录不会过期",
      caught_by="check_importance_ratio_refuses_a_newer_record",
      todo_4="""
      if record["policy_version"] < policy_version:
          raise ValueError("policy_version")
      log_ratios = new_token_logps - old_token_logps.detach()
      ratios = torch.exp(log_ratios.masked_fill(~completion_mask, 0.0))
      """)

wrong("only_newer_refused", "a record may come from the past, not from the future | 记录可以来自过去，不能来自未来",
      caught_by="check_importance_ratio_refuses_an_older_record",
      todo_4="""
      if record["policy_version"] > policy_version:
          raise ValueError("policy_version")
      log_ratios = new_token_logps - old_token_logps.detach()
      ratios = torch.exp(log_ratios.masked_fill(~completion_mask, 0.0))
      """)

wrong("error_without_a_reason", "an error is an error | 报错就行",
      caught_by="check_importance_ratio_says_why_it_refuses",
      todo_4="""
      if record["policy_version"] != policy_version:
          raise ValueError("bad record")
      log_ratios = new_token_logps - old_token_logps.detach()
      ratios = torch.exp(log_ratios.masked_fill(~completion_mask, 0.0))
      """)

wrong("version_zero_is_none", "a version of 0 means that there is none | 版本为 0 表示没有版本",
      caught_by="check_importance_ratio_compares_version_values",
      todo_4="""
      if not record["policy_version"] or record["policy_version"] != policy_version:
          raise ValueError("policy_version")
      log_ratios = new_token_logps - old_token_logps.detach()
      ratios = torch.exp(log_ratios.masked_fill(~completion_mask, 0.0))
      """)

wrong("record_written_again_each_time", "the record holds the latest log-probabilities | 记录保存最新的对数概率",
      caught_by="check_importance_ratio_record_stays_frozen",
      todo_4="""
      if record["policy_version"] != policy_version:
          raise ValueError("policy_version")
      old = record.setdefault("first_logps", old_token_logps).detach()
      record["old_token_logps"] = new_token_logps.detach()
      ratios = torch.exp((new_token_logps - old).masked_fill(~completion_mask, 0.0))
      """)

wrong("record_padding_cleared", "padding in the record may be cleared in place | 记录里的填充可以就地清零",
      caught_by="check_importance_ratio_record_stays_frozen",
      todo_4="""
      if record["policy_version"] != policy_version:
          raise ValueError("policy_version")
      old = old_token_logps.detach()
      old[~completion_mask] = 0.0
      ratios = torch.exp((new_token_logps - old).masked_fill(~completion_mask, 0.0))
      """)

wrong("ratio_kept_in_the_record", "the record keeps what is computed from it | 记录保存由它算出的东西",
      caught_by="check_importance_ratio_record_stays_frozen",
      todo_4="""
      if record["policy_version"] != policy_version:
          raise ValueError("policy_version")
      log_ratios = new_token_logps - old_token_logps.detach()
      ratios = torch.exp(log_ratios.masked_fill(~completion_mask, 0.0))
      record["ratios"] = ratios.detach()
      """)

wrong("logps_in_float32", "float32 is always enough | float32 总是够用",
      caught_by="check_importance_ratio_keeps_float64",
      todo_4="""
      if record["policy_version"] != policy_version:
          raise ValueError("policy_version")
      log_ratios = new_token_logps.float() - old_token_logps.detach().float()
      ratios = torch.exp(log_ratios.masked_fill(~completion_mask, 0.0))
      """)

wrong("infinite_scores_taken", "bad input is the caller's business | 错误的输入由调用者负责",
      caught_by="check_importance_ratio_refuses_bad_input",
      function="""
      def importance_ratio(new_token_logps, record, policy_version):
          if record.get("policy_version", policy_version) != policy_version:
              raise ValueError("policy_version")
          mask = record["completion_mask"].bool()
          return torch.exp((new_token_logps - record["old_token_logps"].detach()).masked_fill(~mask, 0.0))
      """)

wrong("log_ratio_limited", "a log-ratio beyond 20 would overflow | 超过 20 的对数比率会溢出",
      caught_by="check_importance_ratio_is_not_clipped",
      todo_4="""
      if record["policy_version"] != policy_version:
          raise ValueError("policy_version")
      log_ratios = (new_token_logps - old_token_logps.detach()).masked_fill(~completion_mask, 0.0)
      ratios = torch.exp(log_ratios.clamp(-20.0, 20.0))
      """)

wrong("ratio_at_least_a_hundredth", "a ratio below 0.01 is cut off | 低于 0.01 的比率要截断",
      caught_by="check_importance_ratio_is_not_clipped",
      todo_4="""
      if record["policy_version"] != policy_version:
          raise ValueError("policy_version")
      log_ratios = (new_token_logps - old_token_logps.detach()).masked_fill(~completion_mask, 0.0)
      ratios = torch.exp(log_ratios).clamp(min=0.01)
      """)

wrong("old_learns_when_alone", "one completion needs no frozen record | 只有一条回答时记录不必固定",
      caught_by="check_importance_ratio_old_is_frozen",
      todo_4="""
      if record["policy_version"] != policy_version:
          raise ValueError("policy_version")
      old = old_token_logps.detach() if len(old_token_logps) > 1 else old_token_logps
      ratios = torch.exp((new_token_logps - old).masked_fill(~completion_mask, 0.0))
      """)

wrong("old_learns_in_batches", "only a lone completion's record is frozen | 只有单条回答的记录才固定",
      caught_by="check_importance_ratio_old_is_frozen",
      todo_4="""
      if record["policy_version"] != policy_version:
          raise ValueError("policy_version")
      old = old_token_logps if len(old_token_logps) > 1 else old_token_logps.detach()
      ratios = torch.exp((new_token_logps - old).masked_fill(~completion_mask, 0.0))
      """)

wrong("old_learns_on_the_first_step", "at the first update old and new are one policy | 第一次更新时新旧是同一个策略",
      caught_by="check_importance_ratio_old_is_frozen",
      todo_4="""
      if record["policy_version"] != policy_version:
          raise ValueError("policy_version")
      same = torch.equal(new_token_logps[completion_mask], old_token_logps[completion_mask])
      old = old_token_logps if same else old_token_logps.detach()
      ratios = torch.exp((new_token_logps - old).masked_fill(~completion_mask, 0.0))
      """)

wrong("version_as_float", "versions may be compared as float | 版本可以按浮点数比较",
      caught_by="check_importance_ratio_refuses_an_older_record",
      todo_4="""
      if torch.tensor(record["policy_version"]).float() != torch.tensor(policy_version).float():
          raise ValueError("policy_version")
      ratios = torch.exp((new_token_logps - old_token_logps.detach()).masked_fill(~completion_mask, 0.0))
      """)

wrong("version_modulo_1000", "versions repeat after 1000 | 版本每 1000 个重复一次",
      caught_by="check_importance_ratio_refuses_an_older_record",
      todo_4="""
      if record["policy_version"] % 1000 != policy_version % 1000:
          raise ValueError("policy_version")
      ratios = torch.exp((new_token_logps - old_token_logps.detach()).masked_fill(~completion_mask, 0.0))
      """)

wrong("version_without_sign", "the sign of a version means nothing | 版本的正负没有意义",
      caught_by="check_importance_ratio_refuses_an_older_record",
      todo_4="""
      if abs(record["policy_version"]) != abs(policy_version):
          raise ValueError("policy_version")
      ratios = torch.exp((new_token_logps - old_token_logps.detach()).masked_fill(~completion_mask, 0.0))
      """)

wrong("minus_one_is_any_version", "version -1 stands for any | 版本 -1 表示任意版本",
      caught_by="check_importance_ratio_refuses_an_older_record",
      todo_4="""
      if -1 not in (record["policy_version"], policy_version) and record["policy_version"] != policy_version:
          raise ValueError("policy_version")
      ratios = torch.exp((new_token_logps - old_token_logps.detach()).masked_fill(~completion_mask, 0.0))
      """)

wrong("first_twelve_tokens", "completions are short | 回答都很短",
      caught_by="hidden_importance_ratio_random",
      todo_4="""
      if record["policy_version"] != policy_version:
          raise ValueError("policy_version")
      valid = completion_mask & (torch.arange(completion_mask.shape[1]) < 12)
      ratios = torch.exp((new_token_logps - old_token_logps.detach()).masked_fill(~valid, 0.0))
      """)

wrong("small_moves_ignored", "a change below 0.001 is rounding | 小于 0.001 的变化是舍入误差",
      caught_by="check_importance_ratio_gradient_at_first",
      todo_4="""
      if record["policy_version"] != policy_version:
          raise ValueError("policy_version")
      log_ratios = (new_token_logps - old_token_logps.detach()).masked_fill(~completion_mask, 0.0)
      ratios = torch.exp(log_ratios.masked_fill(log_ratios.abs() < 1e-3, 0.0))
      """)

wrong("float64_is_data", "float64 log-probabilities are recorded data | float64 的对数概率是记录下来的数据",
      caught_by="hidden_importance_ratio_random",
      todo_4="""
      if record["policy_version"] != policy_version:
          raise ValueError("policy_version")
      new = new_token_logps.detach() if new_token_logps.dtype == torch.float64 else new_token_logps
      ratios = torch.exp((new - old_token_logps.detach()).masked_fill(~completion_mask, 0.0))
      """)

wrong("long_log_probabilities_limited", "log-probabilities below -1000 are limited | 低于 -1000 的对数概率要截断",
      caught_by="check_importance_ratio_is_not_clipped",
      todo_4="""
      if record["policy_version"] != policy_version:
          raise ValueError("policy_version")
      log_ratios = new_token_logps.clamp(min=-1000.0) - old_token_logps.detach().clamp(min=-1000.0)
      ratios = torch.exp(log_ratios.masked_fill(~completion_mask, 0.0))
      """)

# Mutants that compute the same

equivalent("TODO 1: is_eos.cumsum(dim=-1) - is_eos -> is_eos - is_eos.cumsum(dim=-1)",
           because="the negative of a count is 0 exactly where the count is")
equivalent("TODO 1: -1 -> 1", because="a matrix has two dimensions: -1 and 1 name the same one")
equivalent("TODO 3: 0 -> -1", because="all values are equal where it matters: the last is as good as the first to compare with")
equivalent("TODO 3: 0 -> -1 (place 2)", because="all values are equal by then: the last is as good as the first to return")
equivalent("TODO 3: ': missing or not the same in every record | 有记录缺失，或值不一致' -> ''", because="the rest of the message is free")
equivalent("TODO 3: ': missing or not the same in every record | 有记录缺失，或值不一致' -> "
           "': missing or not the same in every record | 有记录缺失，或值不一致x'", because="the rest of the message is free")
equivalent("TODO 4: \"stale record: its policy_version is not this round's | 记录已过期：policy_version 不是本轮的版本\" -> "
           "\"stale record: its policy_version is not this round's | 记录已过期：policy_version 不是本轮的版本x\"",
           because="the rest of the message is free")
