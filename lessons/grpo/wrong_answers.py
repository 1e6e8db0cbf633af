"""Mistakes that the checks of lesson GRPO must reject: name, the misconception, the check whose message speaks of it, the code.

The code replaces the TODO region; `function=` replaces the whole function where a mistake lies outside the region. Where a mistake is
one expression, it is told as the difference from a right answer: `but(RIGHT, "what stands there", "what stands there instead")`.
"""

from lessons._build.answers import equivalent, wrong


def but(code: str, *changes: str) -> str:
    """The code with changes[1] in place of changes[0], changes[3] in place of changes[2], …"""
    for old, new in zip(changes[::2], changes[1::2], strict=True):
        assert code.count(old) == 1, f"{old!r} stands {code.count(old)} times in\n{code}"
        code = code.replace(old, new)
    return code


# TODO 1: group_relative_advantages

ADVANTAGES = """
scored = (group_ids == group) & ~rewards.isnan()
values = rewards[scored]
if scored.any() and values.max() > values.min():
    advantages[scored] = values - values.mean()
    if scale == "std":
        advantages[scored] /= values.std(correction=ddof) + eps
"""

wrong("mean_minus_reward", "the advantage is the mean minus the reward | 优势是均值减奖励",
      caught_by="check_group_relative_advantages_sign",
      todo_1=but(ADVANTAGES, "values - values.mean()", "values.mean() - values"))

wrong("one_advantage_for_the_group", "the group shares one advantage | 整组共用一个优势",
      caught_by="check_group_relative_advantages_sign",
      todo_1=but(ADVANTAGES, "values - values.mean()", "(values - values.mean()).mean()"))

wrong("size_of_the_distance", "an advantage is a distance from the mean | 优势是与均值的距离",
      caught_by="check_group_relative_advantages_sign",
      todo_1=but(ADVANTAGES, "values - values.mean()", "(values - values.mean()).abs()"))

wrong("always_divided", "scale is only a name | scale 只是个名称",
      caught_by="check_group_relative_advantages_none_keeps_the_scale",
      todo_1=but(ADVANTAGES, 'scale == "std"', "scale"))

wrong("scale_reversed", '"none" divides and "std" does not | "none" 时除，"std" 时不除',
      caught_by="check_group_relative_advantages_none_keeps_the_scale",
      todo_1=but(ADVANTAGES, 'scale == "std"', 'scale != "std"'))

wrong("range_for_scale_none", "without the standard deviation the range normalizes | 不用标准差时用极差归一化",
      caught_by="check_group_relative_advantages_none_keeps_the_scale",
      todo_1=ADVANTAGES + """
    else:
        advantages[scored] /= values.max() - values.min()
""")

wrong("leave_one_out_mean", "the baseline is RLOO's mean of the others | 基线是 RLOO 的其他回答均值",
      caught_by="check_group_relative_advantages_centers_on_the_group_mean",
      todo_1=but(ADVANTAGES, "values.mean()", "(values.sum() - values) / (len(values) - 1)"))

wrong("median_baseline", "the median is the group's middle | 中位数才是组的中心",
      caught_by="check_group_relative_advantages_centers_on_the_group_mean",
      todo_1=but(ADVANTAGES, "values.mean()", "values.median()"))

wrong("worst_as_baseline", "the worst completion is the baseline | 以最差的回答作基线",
      caught_by="check_group_relative_advantages_centers_on_the_group_mean",
      todo_1=but(ADVANTAGES, "values.mean()", "values.min()"))

wrong("not_centered", "dividing by the standard deviation is all | 除以标准差就够了",
      caught_by="check_group_relative_advantages_centers_on_the_group_mean",
      todo_1=but(ADVANTAGES, "values - values.mean()", "values"))

wrong("only_better_ones_learn", "a negative advantage is dropped | 丢弃负优势",
      caught_by="check_group_relative_advantages_centers_on_the_group_mean",
      todo_1=but(ADVANTAGES, "values - values.mean()", "(values - values.mean()).clamp(min=0.0)"))

wrong("never_divided", "GRPO only centers, as Dr.GRPO does | GRPO 只减均值，像 Dr.GRPO 那样",
      caught_by="check_group_relative_advantages_std_removes_the_scale",
      todo_1=but(ADVANTAGES, 'scale == "std"', "False"))

wrong("divided_by_variance", "advantages are divided by the variance | 优势除以方差",
      caught_by="check_group_relative_advantages_std_removes_the_scale",
      todo_1=but(ADVANTAGES, "values.std", "values.var"))

wrong("divided_by_root_of_std", "a root more or less does no harm | 多开一次方也无妨",
      caught_by="check_group_relative_advantages_std_removes_the_scale",
      todo_1=but(ADVANTAGES, "values.std(correction=ddof)", "values.std(correction=ddof).sqrt()"))

wrong("multiplied_by_std", "scaling multiplies by the standard deviation | 缩放是乘以标准差",
      caught_by="check_group_relative_advantages_std_removes_the_scale",
      todo_1=but(ADVANTAGES, "/= values.std(correction=ddof) + eps", "*= values.std(correction=ddof) + eps"))

wrong("torch_std_by_default", "torch's std() divides by the number | torch 的 std() 除以个数",
      caught_by="check_group_relative_advantages_std_divides_by_the_number",
      todo_1=but(ADVANTAGES, "values.std(correction=ddof)", "values.std()"))

wrong("ddof_reversed", "correction=0 is Bessel's correction | correction=0 就是贝塞尔校正",
      caught_by="check_group_relative_advantages_std_divides_by_the_number",
      todo_1=but(ADVANTAGES, "correction=ddof", "correction=1 - ddof"))

wrong("mean_distance", "the mean distance from the mean is the standard deviation | 与均值的平均距离就是标准差",
      caught_by="check_group_relative_advantages_std_divides_by_the_number",
      todo_1=but(ADVANTAGES, "values.std(correction=ddof)", "(values - values.mean()).abs().sum() / (len(values) - ddof)"))

wrong("range_for_std", "the range is as good as the standard deviation | 极差与标准差一样好",
      caught_by="check_group_relative_advantages_std_divides_by_the_number",
      todo_1=but(ADVANTAGES, "values.std(correction=ddof)", "(values.max() - values.min())"))

wrong("root_of_the_mean_square", "the rewards' own mean square is their variance | 奖励平方的平均就是方差",
      caught_by="check_group_relative_advantages_std_divides_by_the_number",
      todo_1=but(ADVANTAGES, "values.std(correction=ddof)", "(values.square().sum() / (len(values) - ddof)).sqrt()"))

wrong("std_of_the_others", "each completion is measured by its siblings' standard deviation | 每条回答按同组其他回答的标准差衡量",
      caught_by="check_group_relative_advantages_std_divides_by_the_number",
      todo_1="""
      scored = (group_ids == group) & ~rewards.isnan()
      values = rewards[scored]
      if scored.any() and values.max() > values.min():
          centered = values - values.mean()
          if scale == "std":
              others = [torch.cat([values[:i], values[i + 1:]]) for i in range(len(values))]
              centered = centered / (torch.stack([rest.std(correction=0) for rest in others]) + eps)
          advantages[scored] = centered
      """)

wrong("advantages_clipped", "advantages are kept within -1.5 and 1.5 | 优势限制在 -1.5 与 1.5 之间",
      caught_by="check_group_relative_advantages_std_divides_by_the_number",
      todo_1=but(ADVANTAGES, "+ eps", "+ eps\n        advantages[scored] = advantages[scored].clamp(-1.5, 1.5)"))

wrong("ddof_ignored", "ddof is always 0 | ddof 总是 0",
      caught_by="check_group_relative_advantages_ddof",
      todo_1=but(ADVANTAGES, "correction=ddof", "correction=0"))

wrong("ddof_added", "ddof is added to the number | ddof 加在个数上",
      caught_by="check_group_relative_advantages_ddof",
      todo_1=but(ADVANTAGES, "correction=ddof", "correction=-ddof"))

wrong("eps_under_the_root", "eps goes to the variance, under the root | eps 加在根号内的方差上",
      caught_by="check_group_relative_advantages_eps_is_added_to_the_std",
      todo_1=but(ADVANTAGES, "values.std(correction=ddof) + eps", "(values.var(correction=ddof) + eps).sqrt()"))

wrong("eps_as_a_floor", "eps is the smallest standard deviation | eps 是标准差的下限",
      caught_by="check_group_relative_advantages_eps_is_added_to_the_std",
      todo_1=but(ADVANTAGES, "values.std(correction=ddof) + eps", "values.std(correction=ddof).clamp(min=eps)"))

wrong("eps_left_out", "without equal rewards no eps is needed | 奖励不全等时不需要 eps",
      caught_by="check_group_relative_advantages_eps_is_added_to_the_std",
      todo_1=but(ADVANTAGES, " + eps", ""))

wrong("eps_fixed", "eps is always 1e-6 | eps 总是 1e-6",
      caught_by="check_group_relative_advantages_eps_is_added_to_the_std",
      todo_1=but(ADVANTAGES, "+ eps", "+ 1e-6"))

wrong("eps_kept_from_zero_variance", "eps alone takes care of a zero-variance group | 有 eps 就不必处理零方差组",
      caught_by="check_group_relative_advantages_equal_rewards_give_exactly_zero",
      todo_1=but(ADVANTAGES, "scored.any() and values.max() > values.min()", "len(values) >= 2"))

wrong("std_compared_with_zero", "a zero-variance group has a standard deviation of 0 | 零方差组的标准差等于 0",
      caught_by="check_group_relative_advantages_equal_rewards_give_exactly_zero",
      todo_1=but(ADVANTAGES, "scored.any() and values.max() > values.min()", "len(values) >= 2 and values.std(correction=ddof) > 0"))

wrong("equal_to_the_mean", "equal rewards equal their mean | 全等的奖励等于它们的均值",
      caught_by="check_group_relative_advantages_equal_rewards_give_exactly_zero",
      todo_1=but(ADVANTAGES, "values.max() > values.min()", "bool((values != values.mean()).any())"))

wrong("equal_only_if_zero_or_one", "rewards are 0 or 1, so equal means all 0 or all 1 | 奖励只有 0 和 1，全等即全 0 或全 1",
      caught_by="check_group_relative_advantages_equal_rewards_give_exactly_zero",
      todo_1=but(ADVANTAGES, "scored.any() and values.max() > values.min()",
                 "len(values) >= 2 and not bool((values == 0).all() or (values == 1).all())"))

wrong("all_correct_group_keeps_one", "a group that is all correct deserves a positive advantage | 全对组理应得到正优势",
      caught_by="check_group_relative_advantages_equal_rewards_give_exactly_zero",
      todo_1=ADVANTAGES + """
elif scored.any() and values.min() >= 1:
    advantages[scored] = 1.0
""")

wrong("std_above_1e_6", "a standard deviation above 1e-6 is no rounding | 高于 1e-6 的标准差不会是舍入",
      caught_by="check_group_relative_advantages_equal_rewards_give_exactly_zero",
      todo_1="""
      scored = (group_ids == group) & ~rewards.isnan()
      values = rewards[scored]
      if len(values) > ddof:
          s = values.std(correction=ddof)
          if s > 1e-6:
              centered = values - values.mean()
              advantages[scored] = centered / (s + eps) if scale == "std" else centered
      """)

wrong("std_above_1e_8", "a standard deviation above 1e-8 is no rounding | 高于 1e-8 的标准差不会是舍入",
      caught_by="check_group_relative_advantages_equal_rewards_give_exactly_zero",
      todo_1=but(ADVANTAGES, "scored.any() and values.max() > values.min()", "len(values) > ddof and values.std(correction=ddof) > 1e-8"))

wrong("close_to_the_mean", "equal rewards are those closer to their mean than 1e-5 | 与均值相差不到 1e-5 的奖励就算相等",
      caught_by="check_group_relative_advantages_equal_rewards_give_exactly_zero",
      todo_1=but(ADVANTAGES, "values.max() > values.min()", "bool(((values - values.mean()).abs() > 1e-5).any())"))

wrong("tolerance_for_equal", "rewards that are close count as equal | 相近的奖励视为相等",
      caught_by="check_group_relative_advantages_small_differences_count",
      todo_1=but(ADVANTAGES, "values.max() > values.min()", "values.max() - values.min() > 1e-3"))

wrong("tolerance_of_allclose", "torch.allclose tells equal rewards | torch.allclose 能判断奖励是否相等",
      caught_by="check_group_relative_advantages_small_differences_count",
      todo_1=but(ADVANTAGES, "values.max() > values.min()", "not torch.allclose(values, values.mean().expand_as(values))"))

wrong("tolerance_of_isclose", "torch.isclose tells equal rewards | torch.isclose 能判断奖励是否相等",
      caught_by="check_group_relative_advantages_small_differences_count",
      todo_1=but(ADVANTAGES, "values.max() > values.min()", "not torch.isclose(values.max(), values.min())"))

wrong("tolerance_of_math_isclose", "two floats are compared with math.isclose | 两个浮点数用 math.isclose 比较",
      caught_by="check_group_relative_advantages_small_differences_count",
      todo_1=but(ADVANTAGES, "values.max() > values.min()",
                 "not math.isclose(values.max(), values.min(), rel_tol=1e-6, abs_tol=1e-9)"))

wrong("rounded_before_comparing", "digits after the fourth are noise | 第四位小数之后都是噪声",
      caught_by="check_group_relative_advantages_small_differences_count",
      todo_1=but(ADVANTAGES, "values.max() > values.min()", "len(values.round(decimals=4).unique()) > 1"))

wrong("range_above_1e_8", "a range below 1e-8 is rounding | 低于 1e-8 的极差是舍入",
      caught_by="check_group_relative_advantages_small_differences_count",
      todo_1=but(ADVANTAGES, "values.max() > values.min()", "values.max() - values.min() > 1e-8"))

wrong("small_std_dropped", "a standard deviation below 1e-4 is noise | 低于 1e-4 的标准差是噪声",
      caught_by="check_group_relative_advantages_small_differences_count",
      todo_1=but(ADVANTAGES, "values.max() > values.min()", "values.max() > values.min() and values.std(correction=0) > 1e-4"))

wrong("eps_of_trl", "the default eps is TRL's 1e-4 | 默认的 eps 是 TRL 的 1e-4",
      caught_by="check_group_relative_advantages_default_eps",
      function="""
      solved = group_relative_advantages

      def group_relative_advantages(rewards, group_ids, scale="std", ddof=0, eps=1e-4):
          return solved(rewards, group_ids, scale, ddof, eps)
      """)

wrong("eps_of_adam", "the default eps is 1e-8, as an optimizer's | 默认的 eps 是 1e-8，像优化器那样",
      caught_by="check_group_relative_advantages_default_eps",
      function="""
      solved = group_relative_advantages

      def group_relative_advantages(rewards, group_ids, scale="std", ddof=0, eps=1e-8):
          return solved(rewards, group_ids, scale, ddof, eps)
      """)

wrong("eps_never_zero", "an eps of 0 means the default | eps 为 0 就是用默认值",
      caught_by="check_group_relative_advantages_small_differences_count",
      todo_1=but(ADVANTAGES, "+ eps", "+ (eps or 1e-6)"))

wrong("ddof_of_trl", "the default ddof is TRL's 1 | 默认的 ddof 是 TRL 的 1",
      caught_by="check_group_relative_advantages_std_divides_by_the_number",
      function="""
      solved = group_relative_advantages

      def group_relative_advantages(rewards, group_ids, scale="std", ddof=1, eps=1e-6):
          return solved(rewards, group_ids, scale, ddof, eps)
      """)

wrong("scale_of_dr_grpo", "the default is Dr.GRPO's | 默认是 Dr.GRPO 的做法",
      caught_by="check_group_relative_advantages_std_removes_the_scale",
      function="""
      solved = group_relative_advantages

      def group_relative_advantages(rewards, group_ids, scale="none", ddof=0, eps=1e-6):
          return solved(rewards, group_ids, scale, ddof, eps)
      """)

wrong("advantages_within_5", "no advantage exceeds 5 | 优势不会超过 5",
      caught_by="check_group_relative_advantages_limits_nothing",
      todo_1=ADVANTAGES + "    advantages[scored] = advantages[scored].clamp(-5.0, 5.0)\n")

wrong("advantages_within_10", "no advantage exceeds 10 | 优势不会超过 10",
      caught_by="check_group_relative_advantages_limits_nothing",
      todo_1=ADVANTAGES + "    advantages[scored] = advantages[scored].clamp(-10.0, 10.0)\n")

wrong("advantages_within_20", "no advantage exceeds 20 | 优势不会超过 20",
      caught_by="check_group_relative_advantages_limits_nothing",
      todo_1=ADVANTAGES + "    advantages[scored] = advantages[scored].clamp(-20.0, 20.0)\n")

wrong("rewards_within_10", "a reward beyond 10 is an outlier | 超过 10 的奖励是异常值",
      caught_by="check_group_relative_advantages_limits_nothing",
      todo_1=but(ADVANTAGES, "rewards[scored]", "rewards[scored].clamp(-10.0, 10.0)",
                 "values.max() > values.min()", "rewards[scored].max() > rewards[scored].min()"))

wrong("groups_of_up_to_64", "a group has at most 64 completions | 一个组至多 64 条回答",
      caught_by="check_group_relative_advantages_limits_nothing",
      todo_1=but(ADVANTAGES, "values.mean()", "values[:64].mean()"))

wrong("batch_mean", "the mean is taken over the batch | 均值取自整批",
      caught_by="check_group_relative_advantages_each_group_on_its_own",
      todo_1=but(ADVANTAGES, "values.mean()", "rewards.nanmean()"))

wrong("batch_std", "the standard deviation is taken over the batch | 标准差取自整批",
      caught_by="check_group_relative_advantages_each_group_on_its_own",
      todo_1=but(ADVANTAGES, "values.std", "rewards[~rewards.isnan()].std"))

wrong("whole_batch", "a batch is one group | 整批就是一个组",
      caught_by="check_group_relative_advantages_each_group_on_its_own",
      todo_1=but(ADVANTAGES, "(group_ids == group) & ~rewards.isnan()", "~rewards.isnan()"))

wrong("first_group_only", "there is one prompt in a batch | 一批只有一个提示",
      caught_by="check_group_relative_advantages_each_group_on_its_own",
      todo_1=but(ADVANTAGES, "group_ids == group)", "group_ids == group_ids[0])"))

wrong("earlier_groups_lost", "each group starts a new result | 每个组都重新建立结果",
      caught_by="check_group_relative_advantages_each_group_on_its_own",
      todo_1="advantages = torch.zeros_like(rewards)\n" + ADVANTAGES.strip())

wrong("cut_into_blocks", "a batch is blocks of G completions, prompt by prompt | 一批就是逐个提示的 G 条回答",
      caught_by="check_group_relative_advantages_groups_may_interleave",
      todo_1="""
      size = int((group_ids == group_ids[0]).sum())
      start = int(group_ids.unique().tolist().index(int(group))) * size
      inside = torch.zeros_like(rewards, dtype=torch.bool)
      inside[start:start + size] = True
      scored = inside & ~rewards.isnan()
      values = rewards[scored]
      if scored.any() and values.max() > values.min():
          advantages[scored] = values - values.mean()
          if scale == "std":
              advantages[scored] /= values.std(correction=ddof) + eps
      """)

wrong("ids_count_from_zero", "group ids are 0, 1, 2 | 组编号是 0、1、2",
      caught_by="check_group_relative_advantages_groups_may_interleave",
      todo_1=but(ADVANTAGES, "& ~rewards.isnan()", "& ~rewards.isnan() & (group_ids >= 0) & (group_ids < len(group_ids.unique()))"))

wrong("one_group_size", "all groups are as large as the first | 所有组与第一组一样大",
      caught_by="check_group_relative_advantages_groups_may_interleave",
      todo_1=but(ADVANTAGES, "values.mean()", "values.sum() / (group_ids == group_ids[0]).sum()"))

wrong("ids_as_float", "ids may be compared as float | 编号可以转成浮点数比较",
      caught_by="check_group_relative_advantages_ids_may_be_any_integers",
      todo_1=but(ADVANTAGES, "group_ids == group)", "group_ids.float() == group.float())"))

wrong("ids_as_int8", "a batch has few groups, so int8 is enough | 一批的组不多，int8 足够",
      caught_by="check_group_relative_advantages_ids_may_be_any_integers",
      todo_1=but(ADVANTAGES, "group_ids == group)", "group_ids.to(torch.int8) == group.to(torch.int8))"))

wrong("ids_as_int32", "int32 holds any id | int32 装得下任何编号",
      caught_by="check_group_relative_advantages_ids_may_be_any_integers",
      todo_1=but(ADVANTAGES, "group_ids == group)", "group_ids.int() == group.int())"))

wrong("ids_without_sign", "an id has no sign | 编号没有正负",
      caught_by="check_group_relative_advantages_ids_may_be_any_integers",
      todo_1=but(ADVANTAGES, "group_ids == group)", "group_ids.abs() == group.abs())"))

wrong("minus_one_is_no_group", "id -1 means no group | 编号 -1 表示无组",
      caught_by="check_group_relative_advantages_ids_may_be_any_integers",
      todo_1=but(ADVANTAGES, "& ~rewards.isnan()", "& (group_ids != -1) & ~rewards.isnan()"))

wrong("ids_as_places", "an id is a place in a list | 编号就是列表下标",
      caught_by="check_group_relative_advantages_groups_may_interleave",
      todo_1="""
      members = [[] for _ in group_ids]
      for i, own in enumerate(group_ids.tolist()):
          if not rewards[i].isnan():
              members[own].append(i)
      scored = members[int(group)]
      values = rewards[scored]
      if scored and values.max() > values.min():
          centered = values - values.mean()
          advantages[scored] = centered / (values.std(correction=ddof) + eps) if scale == "std" else centered
      """)

wrong("missing_as_zero", "a missing reward is a reward of 0 | 缺失奖励就是 0",
      caught_by="check_group_relative_advantages_missing_is_not_counted",
      todo_1="""
      inside = group_ids == group
      values = rewards[inside].nan_to_num(nan=0.0)
      if values.max() > values.min():
          centered = values - values.mean()
          if scale == "std":
              centered = centered / (values.std(correction=ddof) + eps)
          advantages[inside] = torch.where(rewards[inside].isnan(), 0.0, centered)
      """)

wrong("missing_counted_in_the_number", "the divisor is the group size | 除数就是组大小",
      caught_by="check_group_relative_advantages_missing_is_not_counted",
      todo_1=but(ADVANTAGES, "values.mean()", "values.sum() / (group_ids == group).sum()"))

wrong("missing_narrows_the_std", "a missing reward is filled with the mean for the standard deviation | 求标准差时用均值填补缺失奖励",
      caught_by="check_group_relative_advantages_missing_is_not_counted",
      todo_1=but(ADVANTAGES, "values.std(correction=ddof)",
                 "((values - values.mean()).square().sum() / ((group_ids == group).sum() - ddof)).sqrt()"))

wrong("missing_spoils_the_group", "a group with a missing reward gives no signal | 含缺失奖励的组没有信号",
      caught_by="check_group_relative_advantages_missing_is_not_counted",
      todo_1=but(ADVANTAGES, "scored.any() and", "not rewards[group_ids == group].isnan().any() and"))

wrong("missing_makes_all_nan", "NaN needs no special care | NaN 不需要特别处理",
      caught_by="check_group_relative_advantages_missing_is_not_counted",
      todo_1=but(ADVANTAGES, " & ~rewards.isnan()", "", "values.max() > values.min()", "not values.max() == values.min()"))

wrong("missing_gets_minus_the_mean", "a completion without a reward is compared as 0 | 没有奖励的回答按 0 比较",
      caught_by="check_group_relative_advantages_missing_has_no_signal",
      todo_1=ADVANTAGES + """
    advantages[(group_ids == group) & rewards.isnan()] = -values.mean()
""")

wrong("missing_stays_nan", "a missing reward gives a missing advantage | 缺失奖励给出缺失的优势",
      caught_by="check_group_relative_advantages_missing_has_no_signal",
      todo_1=ADVANTAGES + "advantages[rewards.isnan()] = math.nan\n")

wrong("minus_one_is_missing", "a reward of -1 stands for a missing one | 奖励 -1 表示缺失",
      caught_by="check_group_relative_advantages_only_nan_is_missing",
      todo_1=but(ADVANTAGES, "~rewards.isnan()", "~rewards.isnan() & (rewards != -1)"))

wrong("zero_is_missing", "a reward of 0 is no reward | 奖励为 0 就是没有奖励",
      caught_by="check_group_relative_advantages_only_nan_is_missing",
      todo_1=but(ADVANTAGES, "~rewards.isnan()", "~rewards.isnan() & (rewards != 0)"))

wrong("negative_is_missing", "a negative reward is an error of the verifier | 负奖励是验证器的错误",
      caught_by="check_group_relative_advantages_only_nan_is_missing",
      todo_1=but(ADVANTAGES, "~rewards.isnan()", "(rewards >= 0)"))

wrong("alone_is_nan", "a single reward has a standard deviation | 单条奖励也有标准差",
      caught_by="check_group_relative_advantages_one_reward_gives_zero",
      todo_1=but(ADVANTAGES, "values.max() > values.min()", "(len(values) == 1 or values.max() > values.min())"))

wrong("alone_keeps_its_reward", "a completion without siblings keeps its reward | 没有同组其他回答时保留奖励",
      caught_by="check_group_relative_advantages_one_reward_gives_zero",
      todo_1=ADVANTAGES + "elif len(values) == 1:\n    advantages[scored] = values\n")

wrong("no_reward_crashes", "every group has a reward | 每个组都有奖励",
      caught_by="check_group_relative_advantages_one_reward_gives_zero",
      todo_1=but(ADVANTAGES, "scored.any() and ", ""))

wrong("break_at_a_small_group", "a group without signal ends the loop | 遇到没有信号的组就结束循环",
      caught_by="check_group_relative_advantages_goes_on_after_a_group_without_signal",
      todo_1="""
      scored = (group_ids == group) & ~rewards.isnan()
      if scored.sum() < 2:
          break
      values = rewards[scored]
      if values.max() > values.min():
          centered = values - values.mean()
          advantages[scored] = centered / (values.std(correction=ddof) + eps) if scale == "std" else centered
      """)

wrong("return_at_a_zero_variance_group", "a zero-variance group leaves nothing to do | 遇到零方差组就没什么可算了",
      caught_by="check_group_relative_advantages_goes_on_after_a_group_without_signal",
      todo_1="""
      scored = (group_ids == group) & ~rewards.isnan()
      values = rewards[scored]
      if len(values) > 0 and values.max() == values.min():
          return advantages
      if len(values) > 1:
          centered = values - values.mean()
          advantages[scored] = centered / (values.std(correction=ddof) + eps) if scale == "std" else centered
      """)

wrong("break_at_a_group_without_reward", "no reward in a group means no rewards at all | 一个组没有奖励，就是全都没有",
      caught_by="check_group_relative_advantages_goes_on_after_a_group_without_signal",
      todo_1="""
      scored = (group_ids == group) & ~rewards.isnan()
      if not scored.any():
          break
      values = rewards[scored]
      if values.max() > values.min():
          centered = values - values.mean()
          advantages[scored] = centered / (values.std(correction=ddof) + eps) if scale == "std" else centered
      """)

wrong("integers_kept", "0/1 rewards stay integers | 0/1 奖励保持为整数",
      caught_by="check_group_relative_advantages_takes_integer_rewards",
      function="""
      solved = group_relative_advantages

      def group_relative_advantages(rewards, group_ids, scale="std", ddof=0, eps=1e-6):
          return solved(rewards, group_ids, scale, ddof, eps).to(rewards.dtype)
      """)

wrong("missing_overwritten", "detach() makes a copy | detach() 会复制张量",
      caught_by="check_group_relative_advantages_leaves_rewards_alone",
      todo_1=ADVANTAGES + "rewards[(group_ids == group) & rewards.isnan()] = 0.0\n")

wrong("rewards_centered_in_place", "the rewards are not needed afterwards | 之后不再需要奖励",
      caught_by="check_group_relative_advantages_leaves_rewards_alone",
      todo_1=ADVANTAGES + "rewards[scored] -= 1.0\n")

wrong("advantage_carries_a_gradient", "advantages stay in the graph | 优势留在计算图中",
      caught_by="check_group_relative_advantages_is_frozen",
      function="""
      solved = group_relative_advantages

      def group_relative_advantages(rewards, group_ids, scale="std", ddof=0, eps=1e-6):
          advantages = solved(rewards, group_ids, scale, ddof, eps)
          return advantages + (rewards - rewards.detach()).nan_to_num() if rewards.is_floating_point() else advantages
      """)

wrong("advantage_in_float32", "float32 is always enough | float32 总是够用",
      caught_by="check_group_relative_advantages_keeps_float64",
      todo_1=but(ADVANTAGES, "values = rewards[scored]", "values = rewards[scored].float().to(rewards.dtype)"))

wrong("any_scale_taken", "an unknown scale means no scaling | 未知的 scale 就是不缩放",
      caught_by="check_group_relative_advantages_refuses_bad_input",
      function="""
      def group_relative_advantages(rewards, group_ids, scale="std", ddof=0, eps=1e-6):
          if rewards.ndim != 1 or rewards.numel() == 0 or group_ids.shape != rewards.shape or torch.isinf(rewards).any():
              raise ValueError("rewards and group_ids must be [N]")
          rewards = rewards.detach() if rewards.is_floating_point() else rewards.float()
          advantages = torch.zeros_like(rewards)
          for group in group_ids.unique():
              scored = (group_ids == group) & ~rewards.isnan()
              values = rewards[scored]
              if scored.any() and values.max() > values.min():
                  advantages[scored] = values - values.mean()
                  if scale == "std":
                      advantages[scored] /= values.std(correction=ddof) + eps
          return advantages
      """)

# TODO 2: k3_kl

K3 = """
log_ratios = (reference_token_logps.detach() - token_logps).masked_fill(~completion_mask, 0.0)
token_kl = torch.expm1(log_ratios) - log_ratios
"""

wrong("summed_over_tokens", "the KL of a completion is one number, as in RLOO | 一条回答的 KL 是一个数，像 RLOO 那样",
      caught_by="check_k3_kl_one_value_for_each_token",
      todo_2=K3 + "token_kl = token_kl.sum(dim=-1)\n")

wrong("averaged_over_the_batch", "k3 is an average already | k3 已经是平均值",
      caught_by="check_k3_kl_one_value_for_each_token",
      todo_2=K3 + "token_kl = (token_kl[completion_mask]).mean()\n")

wrong("average_on_every_token", "every token gets its completion's average | 每个 Token 都取整条回答的平均",
      caught_by="check_k3_kl_one_value_for_each_token",
      todo_2=K3 + "token_kl = token_kl.mean(dim=-1, keepdim=True).expand_as(token_kl).masked_fill(~completion_mask, 0.0)\n")

wrong("ratio_of_the_sequence", "the log-ratio is summed over the completion first | 先对整条回答求对数比率之和",
      caught_by="check_k3_kl_one_value_for_each_token",
      todo_2="""
      log_ratios = (reference_token_logps.detach() - token_logps).masked_fill(~completion_mask, 0.0)
      log_ratios = log_ratios.sum(dim=-1, keepdim=True).expand_as(token_logps).masked_fill(~completion_mask, 0.0)
      token_kl = torch.expm1(log_ratios) - log_ratios
      """)

wrong("softmax_over_time", "the token log-probabilities of a row are a distribution | 一行 Token 对数概率构成一个分布",
      caught_by="check_k3_kl_one_value_for_each_token",
      todo_2=but(K3, "reference_token_logps.detach() - token_logps",
                 "reference_token_logps.detach().log_softmax(-1) - token_logps.log_softmax(-1)"))

wrong("without_minus_one", "the constant does not matter | 常数无关紧要",
      caught_by="check_k3_kl_zero_where_the_policies_agree",
      todo_2=but(K3, "torch.expm1(log_ratios)", "torch.exp(log_ratios)"))

wrong("probability_ratio", "the KL is the ratio of the two probabilities | KL 就是两个概率之比",
      caught_by="check_k3_kl_zero_where_the_policies_agree",
      todo_2=but(K3, "torch.expm1(log_ratios) - log_ratios", "torch.exp(log_ratios).masked_fill(~completion_mask, 0.0)"))

wrong("logp_for_log_ratio", "x is the policy's own log-probability | x 就是策略自己的对数概率",
      caught_by="check_k3_kl_zero_where_the_policies_agree",
      todo_2=but(K3, "reference_token_logps.detach() - token_logps", "token_logps"))

wrong("minus_one_twice", "expm1 still needs its - 1 | expm1 之后还要减 1",
      caught_by="check_k3_kl_zero_where_the_policies_agree",
      todo_2=but(K3, "- log_ratios", "- log_ratios - 1.0"))

wrong("k1", "the KL is the difference of log-probabilities, as in RLOO | KL 是对数概率之差，像 RLOO 那样",
      caught_by="check_k3_kl_is_not_k1_or_k2",
      todo_2=but(K3, "torch.expm1(log_ratios) - log_ratios", "-log_ratios"))

wrong("absolute_k1", "a KL cannot be negative, so take the absolute value | KL 不会为负，所以取绝对值",
      caught_by="check_k3_kl_is_not_k1_or_k2",
      todo_2=but(K3, "torch.expm1(log_ratios) - log_ratios", "log_ratios.abs()"))

wrong("k2", "half the squared difference is the KL | 差的平方的一半就是 KL",
      caught_by="check_k3_kl_is_not_k1_or_k2",
      todo_2=but(K3, "torch.expm1(log_ratios) - log_ratios", "log_ratios.square() / 2"))

wrong("x_not_subtracted", "exp(x) - 1 is the estimate | exp(x) - 1 就是估计值",
      caught_by="check_k3_kl_is_not_k1_or_k2",
      todo_2=but(K3, " - log_ratios", ""))

wrong("x_added", "x is added to exp(x) - 1 | exp(x) - 1 再加上 x",
      caught_by="check_k3_kl_is_not_k1_or_k2",
      todo_2=but(K3, " - log_ratios", " + log_ratios"))

wrong("weighted_by_probability", "a sampled token is weighted by its probability once more | 已采样的 Token 还要再乘概率",
      caught_by="check_k3_kl_is_not_k1_or_k2",
      todo_2=but(K3, "torch.expm1(log_ratios) - log_ratios",
                 "(torch.expm1(log_ratios) - log_ratios) * token_logps.masked_fill(~completion_mask, 0.0).exp()"))

wrong("kl_by_kl_div", "F.kl_div takes two tensors of log-probabilities | F.kl_div 直接接收两个对数概率张量",
      caught_by="check_k3_kl_is_not_k1_or_k2",
      todo_2="""
      log_ratios = (reference_token_logps.detach() - token_logps).masked_fill(~completion_mask, 0.0)
      token_kl = torch.nn.functional.kl_div(log_ratios, torch.zeros_like(log_ratios), reduction="none", log_target=True)
      """)

wrong("reversed", "x is policy minus reference | x 是策略减参考策略",
      caught_by="check_k3_kl_direction",
      todo_2=but(K3, "reference_token_logps.detach() - token_logps", "token_logps - reference_token_logps.detach()"))

wrong("reversed_in_exp_only", "the sign inside exp does not matter | exp 内的符号无关紧要",
      caught_by="check_k3_kl_is_not_k1_or_k2",
      todo_2=but(K3, "torch.expm1(log_ratios)", "torch.expm1(-log_ratios)"))

wrong("symmetric", "a distance is the same in both directions | 距离在两个方向上相同",
      caught_by="check_k3_kl_is_not_k1_or_k2",
      todo_2=but(K3, "torch.expm1(log_ratios) - log_ratios", "torch.cosh(log_ratios) - 1.0"))

wrong("weighted_by_the_ratio", "samples of the policy must be reweighted to the reference policy | 策略的样本要重新加权到参考策略",
      caught_by="check_k3_kl_mean_is_the_kl_divergence",
      todo_2=but(K3, "torch.expm1(log_ratios) - log_ratios", "torch.exp(log_ratios) * log_ratios - torch.expm1(log_ratios)"))

wrong("mean_of_two_directions", "both directions are averaged to be fair | 两个方向取平均更公平",
      caught_by="check_k3_kl_mean_is_the_kl_divergence",
      todo_2=but(K3, "torch.expm1(log_ratios) - log_ratios",
                 "torch.where(log_ratios > 0, torch.expm1(log_ratios) - log_ratios, torch.expm1(-log_ratios) + log_ratios)"))

wrong("detached", "the penalty is a number, as in RLOO's reward | 惩罚只是一个数，像 RLOO 的奖励中那样",
      caught_by="check_k3_kl_gradient_reaches_the_policy",
      todo_2=but(K3, "- token_logps", "- token_logps.detach()"))

wrong("exp_detached", "the ratio inside is a constant weight | 其中的比率是常数权重",
      caught_by="check_k3_kl_gradient_reaches_the_policy",
      todo_2=but(K3, "torch.expm1(log_ratios)", "torch.expm1(log_ratios.detach())"))

wrong("x_detached", "only the exponential needs a gradient | 只有指数项需要梯度",
      caught_by="check_k3_kl_gradient_reaches_the_policy",
      todo_2=but(K3, "- log_ratios", "- log_ratios.detach()"))

wrong("gradient_of_k1", "k3 for the value, k1 for the gradient | 数值用 k3，梯度用 k1",
      caught_by="check_k3_kl_gradient_reaches_the_policy",
      todo_2=K3 + "token_kl = token_kl.detach() - (log_ratios - log_ratios.detach())\n")

wrong("reference_learns", "the reference policy's log-probabilities stay in the graph | 参考策略的对数概率留在计算图中",
      caught_by="check_k3_kl_reference_is_frozen",
      todo_2=but(K3, ".detach()", ""))

wrong("mask_ignored", "padding cancels in the difference | 填充在求差时会抵消",
      caught_by="check_k3_kl_leaves_padding_out",
      todo_2=but(K3, ".masked_fill(~completion_mask, 0.0)", ""))

wrong("mask_inverted", "True marks padding | True 表示填充",
      caught_by="check_k3_kl_leaves_padding_out",
      todo_2=but(K3, "~completion_mask", "completion_mask"))

wrong("prefix_by_length", "a completion is its first tokens, as many as the mask has | 回答就是最前面的若干 Token",
      caught_by="check_k3_kl_leaves_padding_out",
      todo_2="""
      prefix = torch.arange(completion_mask.shape[1]) < completion_mask.sum(dim=-1, keepdim=True)
      log_ratios = (reference_token_logps.detach() - token_logps).masked_fill(~prefix, 0.0)
      token_kl = torch.expm1(log_ratios) - log_ratios
      """)

wrong("filled_with_minus_infinity", "masked positions get -inf, as before a softmax | 掩码位置填 -inf，像 softmax 之前那样",
      caught_by="check_k3_kl_leaves_padding_out",
      todo_2=but(K3, "0.0", 'float("-inf")'))

wrong("multiplied_by_mask", "multiplying by 0 removes anything | 乘以 0 就能去掉任何值",
      caught_by="check_k3_kl_padding_may_be_infinite",
      todo_2="""
      log_ratios = reference_token_logps.detach() - token_logps
      token_kl = (torch.expm1(log_ratios) - log_ratios) * completion_mask
      """)

wrong("log_ratio_multiplied_by_mask", "multiplying x by the mask is enough | 把 x 乘以掩码就够了",
      caught_by="check_k3_kl_padding_may_be_infinite",
      todo_2="""
      log_ratios = (reference_token_logps.detach() - token_logps) * completion_mask
      token_kl = torch.expm1(log_ratios) - log_ratios
      """)

wrong("masked_at_the_end", "masking the result also masks its gradient | 对结果套用掩码，梯度也就被掩掉",
      caught_by="check_k3_kl_padding_has_no_gradient",
      todo_2="""
      log_ratios = reference_token_logps.detach() - token_logps
      token_kl = (torch.expm1(log_ratios) - log_ratios).masked_fill(~completion_mask, 0.0)
      """)

wrong("where_at_the_end", "where() hides what happened before it | where() 能掩盖之前的计算",
      caught_by="check_k3_kl_padding_has_no_gradient",
      todo_2="""
      log_ratios = reference_token_logps.detach() - token_logps
      token_kl = torch.where(completion_mask, torch.expm1(log_ratios) - log_ratios, 0.0)
      """)

wrong("exp_minus_one", "exp(x) - 1 is exact | exp(x) - 1 是精确的",
      caught_by="check_k3_kl_accurate_near_zero",
      todo_2=but(K3, "torch.expm1(log_ratios)", "torch.exp(log_ratios) - 1.0"))

wrong("quotient_of_probabilities", "the ratio is computed from two probabilities | 比率由两个概率相除得到",
      caught_by="check_k3_kl_accurate_near_zero",
      todo_2="""
      reference = reference_token_logps.detach().masked_fill(~completion_mask, 0.0).exp()
      ratios = reference / token_logps.masked_fill(~completion_mask, 0.0).exp()
      token_kl = ratios - ratios.log() - 1.0
      """)

wrong("near_zero_dropped", "a small x is noise | 很小的 x 是噪声",
      caught_by="check_k3_kl_accurate_near_zero",
      todo_2=K3 + "token_kl = torch.where(log_ratios.abs() < 0.05, 0.0, token_kl)\n")

wrong("log_ratio_clamped", "x is held within -20 and 20 to be safe | 为保险起见把 x 限制在 -20 与 20 之间",
      caught_by="check_k3_kl_has_no_limit",
      todo_2=but(K3, "masked_fill(~completion_mask, 0.0)", "masked_fill(~completion_mask, 0.0).clamp(-20.0, 20.0)"))

wrong("k3_clamped", "a token pays at most 10 | 一个 Token 最多付出 10",
      caught_by="check_k3_kl_has_no_limit",
      todo_2=but(K3, "torch.expm1(log_ratios) - log_ratios", "(torch.expm1(log_ratios) - log_ratios).clamp(max=10.0)"))

wrong("taylor_series", "two terms of the series are enough | 级数取两项就够了",
      caught_by="check_k3_kl_is_not_k1_or_k2",
      todo_2=but(K3, "torch.expm1(log_ratios) - log_ratios", "log_ratios.square() / 2 + log_ratios ** 3 / 6"))

wrong("inputs_overwritten", "the caller's padding may be set to 0 | 可以把调用者的填充改写为 0",
      caught_by="check_k3_kl_leaves_inputs_alone",
      todo_2="""
      with torch.no_grad():
          token_logps[~completion_mask] = 0.0
      log_ratios = (reference_token_logps.detach() - token_logps).masked_fill(~completion_mask, 0.0)
      token_kl = torch.expm1(log_ratios) - log_ratios
      """)

wrong("k3_in_float32", "float32 is always enough | float32 总是够用",
      caught_by="check_k3_kl_keeps_float64",
      todo_2=but(K3, "reference_token_logps.detach() - token_logps", "reference_token_logps.detach().float() - token_logps.float()"))

wrong("detached_for_one_completion", "a single completion needs no gradient | 只有一条回答时不需要梯度",
      caught_by="check_k3_kl_gradient_reaches_the_policy",
      todo_2=but(K3, "- token_logps", "- (token_logps.detach() if len(token_logps) == 1 else token_logps)"))

wrong("detached_for_one_position", "one position needs no gradient | 只有一个位置时不需要梯度",
      caught_by="check_k3_kl_gradient_reaches_the_policy",
      todo_2=but(K3, "- token_logps", "- (token_logps.detach() if token_logps.shape[1] == 1 else token_logps)"))

wrong("reference_learns_if_alone", "only in a batch does the reference policy matter | 有多条回答时才要管参考策略",
      caught_by="check_k3_kl_reference_is_frozen",
      todo_2=but(K3, "reference_token_logps.detach()",
                 "(reference_token_logps.detach() if len(token_logps) > 1 else reference_token_logps)"))

wrong("reference_learns_at_one_position", "only in a sequence does the reference policy matter | 有多个位置时才要管参考策略",
      caught_by="check_k3_kl_reference_is_frozen",
      todo_2=but(K3, "reference_token_logps.detach()",
                 "(reference_token_logps.detach() if token_logps.shape[1] > 1 else reference_token_logps)"))

wrong("log_ratio_within_5", "x is held within -5 and 5 to be safe | 为保险起见把 x 限制在 -5 与 5 之间",
      caught_by="check_k3_kl_has_no_limit",
      todo_2=but(K3, "masked_fill(~completion_mask, 0.0)", "masked_fill(~completion_mask, 0.0).clamp(-5.0, 5.0)"))

wrong("log_ratio_within_10", "x is held within -10 and 10 to be safe | 为保险起见把 x 限制在 -10 与 10 之间",
      caught_by="check_k3_kl_has_no_limit",
      todo_2=but(K3, "masked_fill(~completion_mask, 0.0)", "masked_fill(~completion_mask, 0.0).clamp(-10.0, 10.0)"))

wrong("k3_up_to_5", "a token pays at most 5 | 一个 Token 最多付出 5",
      caught_by="check_k3_kl_has_no_limit",
      todo_2=but(K3, "torch.expm1(log_ratios) - log_ratios", "(torch.expm1(log_ratios) - log_ratios).clamp(max=5.0)"))

wrong("k3_up_to_20", "a token pays at most 20 | 一个 Token 最多付出 20",
      caught_by="check_k3_kl_has_no_limit",
      todo_2=but(K3, "torch.expm1(log_ratios) - log_ratios", "(torch.expm1(log_ratios) - log_ratios).clamp(max=20.0)"))

wrong("k3_up_to_100", "a token pays at most 100 | 一个 Token 最多付出 100",
      caught_by="check_k3_kl_has_no_limit",
      todo_2=but(K3, "torch.expm1(log_ratios) - log_ratios", "(torch.expm1(log_ratios) - log_ratios).clamp(max=100.0)"))

wrong("gradient_within_10", "the value keeps its size, the gradient does not need to | 数值保持原样，梯度可以限制",
      caught_by="check_k3_kl_has_no_limit",
      todo_2=K3 + """
held = torch.expm1(log_ratios.clamp(-10.0, 10.0)) - log_ratios.clamp(-10.0, 10.0)
token_kl = held + (token_kl - held).detach()
""")

wrong("log_ratio_from_below", "very negative log-ratios are noise | 极小的对数比率是噪声",
      caught_by="check_k3_kl_has_no_limit",
      todo_2=but(K3, "masked_fill(~completion_mask, 0.0)", "masked_fill(~completion_mask, 0.0).clamp(min=-20.0)"))

wrong("empty_rows_taken_as_full", "a completion without a valid token has no padding | 没有有效 Token 的回答就没有填充",
      caught_by="check_k3_kl_leaves_padding_out",
      todo_2=but(K3, "~completion_mask", "~completion_mask & completion_mask.any(dim=1, keepdim=True)"))

wrong("stops_at_the_first_padding", "a completion ends at its first padding | 回答到第一个填充为止",
      caught_by="check_k3_kl_leaves_padding_out",
      todo_2=but(K3, "~completion_mask", "~completion_mask.cumprod(dim=1).bool()"))

wrong("first_token_always_valid", "the first token is never padding | 第一个 Token 不会是填充",
      caught_by="check_k3_kl_leaves_padding_out",
      todo_2=but(K3, "~completion_mask", "(~completion_mask).logical_and(torch.arange(completion_mask.shape[1]) > 0)"))

wrong("sixteen_completions", "a batch has at most 16 completions | 一批至多 16 条回答",
      caught_by="check_k3_kl_leaves_padding_out",
      todo_2=but(K3, "~completion_mask", "~completion_mask | (torch.arange(len(token_logps)) >= 16)[:, None]"))

wrong("any_mask_taken", "a mask of 0 and 1 is as good as a bool one | 0/1 掩码与布尔掩码一样",
      caught_by="check_k3_kl_refuses_bad_input",
      function="""
      def k3_kl(token_logps, reference_token_logps, completion_mask):
          log_ratios = (reference_token_logps.detach() - token_logps).masked_fill(~completion_mask.bool(), 0.0)
          return torch.expm1(log_ratios) - log_ratios
      """)

# TODO 3: grpo_token_losses

LOSSES = """
ratios = torch.exp((new_token_logps - old_token_logps.detach()).masked_fill(~completion_mask, 0.0))
clipped = ratios.clamp(1.0 - epsilon_low, 1.0 + epsilon_high)
fixed = advantages.detach()
policy_losses = -torch.minimum(ratios * fixed, clipped * fixed)
token_losses = (policy_losses + beta * token_kl).masked_fill(~completion_mask, 0.0)
"""

wrong("mean_loss", "the function returns the batch mean | 返回批均值",
      caught_by="check_grpo_token_losses_one_for_each_token",
      todo_3=LOSSES + "token_losses = token_losses.sum() / completion_mask.sum()\n")

wrong("loss_of_each_completion", "there is one loss for each completion, as in RLOO | 每条回答一个损失，像 RLOO 那样",
      caught_by="check_grpo_token_losses_one_for_each_token",
      todo_3=LOSSES + "token_losses = token_losses.sum(dim=-1)\n")

wrong("valid_tokens_only", "the valid tokens are returned as a list | 只返回有效 Token 组成的一列",
      caught_by="check_grpo_token_losses_one_for_each_token",
      todo_3=LOSSES + "token_losses = token_losses[completion_mask]\n")

wrong("objective_for_loss", "the surrogate objective is minimized | 最小化代理目标",
      caught_by="check_grpo_token_losses_minus_the_advantage_at_ratio_one",
      todo_3=but(LOSSES, "-torch.minimum", "torch.minimum"))

wrong("reinforce_loss", "the loss is minus advantage times log-probability | 损失是优势乘对数概率的相反数",
      caught_by="check_grpo_token_losses_minus_the_advantage_at_ratio_one",
      todo_3=but(LOSSES, "-torch.minimum(ratios * fixed, clipped * fixed)", "-fixed * new_token_logps"))

wrong("log_ratio_loss", "the surrogate is advantage times log-ratio | 代理目标是优势乘对数比率",
      caught_by="check_grpo_token_losses_minus_the_advantage_at_ratio_one",
      todo_3=but(LOSSES, "-torch.minimum(ratios * fixed, clipped * fixed)", "-torch.minimum(ratios.log() * fixed, clipped.log() * fixed)"))

wrong("divided_by_length", "each token's loss is divided by its completion's length already | 每个 Token 的损失先除以回答长度",
      caught_by="check_grpo_token_losses_minus_the_advantage_at_ratio_one",
      todo_3=LOSSES + "token_losses = token_losses / completion_mask.sum(dim=-1, keepdim=True).clamp(min=1)\n")

wrong("range_around_zero", "the clip range is around 0 | 裁剪范围以 0 为中心",
      caught_by="check_grpo_token_losses_minus_the_advantage_at_ratio_one",
      todo_3=but(LOSSES, "ratios.clamp(1.0 - epsilon_low, 1.0 + epsilon_high)", "ratios.clamp(-epsilon_low, epsilon_high)"))

wrong("advantages_whitened", "advantages are normalized over the batch before use | 使用前在批内归一化优势",
      caught_by="check_grpo_token_losses_advantage_belongs_to_its_completion",
      todo_3=but(LOSSES, "fixed = advantages.detach()",
                 "fixed = advantages.detach()\nif len(fixed) > 1:\n    fixed = (fixed - fixed.mean()) / (fixed.std() + 1e-6)"))

wrong("advantage_size_only", "only the size of the advantage matters | 只看优势的大小",
      caught_by="check_grpo_token_losses_advantage_belongs_to_its_completion",
      todo_3=but(LOSSES, "advantages.detach()", "advantages.detach().abs()"))

wrong("advantage_by_column", "[N] against [N, T] broadcasts by itself | [N] 与 [N, T] 会自动正确广播",
      caught_by="check_grpo_token_losses_advantage_belongs_to_its_completion",
      todo_3=but(LOSSES, "advantages.detach()",
                 "advantages.detach().T if len(advantages) == completion_mask.shape[1] else advantages.detach()"))

wrong("first_tokens_advantage", "a completion has one advantage, that of its first token | 一条回答只有第一个 Token 的优势",
      caught_by="check_grpo_token_losses_advantages_may_differ_within_a_completion",
      todo_3=but(LOSSES, "advantages.detach()", "advantages.detach()[:, :1]"))

wrong("mean_of_token_advantages", "token advantages are averaged over the completion | Token 优势按整条回答取平均",
      caught_by="check_grpo_token_losses_advantages_may_differ_within_a_completion",
      todo_3=but(LOSSES, "advantages.detach()",
                 "torch.where(completion_mask, advantages.detach(), math.nan).nanmean(dim=-1, keepdim=True).nan_to_num()"))

wrong("advantages_of_completions_only", "advantages are always [N] | 优势总是 [N]",
      caught_by="check_grpo_token_losses_advantages_may_differ_within_a_completion",
      todo_3=but(LOSSES, "advantages.detach()", "advantages.detach().squeeze(-1).unsqueeze(-1)[:, 0].reshape(len(advantages), -1)[:, :1]"))

wrong("ratio_detached", "a ratio is a weight, not a path for gradients | 比率只是权重，不传梯度",
      caught_by="check_grpo_token_losses_gradient_reaches_new_logps",
      todo_3=but(LOSSES, "(new_token_logps -", "(new_token_logps.detach() -"))

wrong("ratio_always_one", "on-policy the old log-probabilities are the new ones | 在线策略时旧对数概率就是新的",
      caught_by="check_grpo_token_losses_ratio_of_each_token",
      todo_3=but(LOSSES, "old_token_logps.detach()", "new_token_logps.detach()"))

wrong("ratio_inverted", "the ratio is old over new | 比率是旧比新",
      caught_by="check_grpo_token_losses_gradient_reaches_new_logps",
      todo_3=but(LOSSES, "new_token_logps - old_token_logps.detach()", "old_token_logps.detach() - new_token_logps"))

wrong("ratio_without_exp", "the ratio is 1 plus the difference of log-probabilities | 比率是 1 加对数概率之差",
      caught_by="check_grpo_token_losses_ratio_of_each_token",
      todo_3=but(LOSSES, "torch.exp((new", "1.0 + ((new"))

wrong("sequence_ratio", "the ratio is the completion's, as in RLOO | 比率是整条回答的，像 RLOO 那样",
      caught_by="check_grpo_token_losses_ratio_of_each_token",
      todo_3=but(LOSSES, "0.0))\nclipped", "0.0).sum(dim=-1, keepdim=True)).expand_as(new_token_logps)\nclipped"))

wrong("gspo_ratio", "the ratio is the completion's mean, as in GSPO | 比率取整条回答的平均，像 GSPO 那样",
      caught_by="check_grpo_token_losses_ratio_of_each_token",
      todo_3=but(LOSSES, "0.0))\nclipped",
                 "0.0).sum(dim=-1, keepdim=True) / completion_mask.sum(dim=-1, keepdim=True)).expand_as(new_token_logps)\nclipped"))

wrong("cumulative_ratio", "a token's ratio includes the tokens before it | Token 比率包含它之前的 Token",
      caught_by="check_grpo_token_losses_ratio_of_each_token",
      todo_3=but(LOSSES, "0.0))\nclipped", "0.0).cumsum(dim=-1))\nclipped"))

wrong("clipped_only", "the clipped surrogate is the objective | 裁剪后的代理目标就是目标",
      caught_by="check_grpo_token_losses_takes_the_smaller_surrogate",
      todo_3=but(LOSSES, "-torch.minimum(ratios * fixed, clipped * fixed)", "-clipped * fixed"))

wrong("larger_surrogate", "the larger surrogate counts | 取较大的代理目标",
      caught_by="check_grpo_token_losses_takes_the_smaller_surrogate",
      todo_3=but(LOSSES, "torch.minimum", "torch.maximum"))

wrong("sign_split", "minimum for good tokens, maximum for bad ones | 好的 Token 取最小，差的取最大",
      caught_by="check_grpo_token_losses_takes_the_smaller_surrogate",
      todo_3=but(LOSSES, "-torch.minimum(ratios * fixed, clipped * fixed)",
                 "-torch.where(fixed >= 0, torch.minimum(ratios * fixed, clipped * fixed),"
                 " torch.maximum(ratios * fixed, clipped * fixed))"))

wrong("smaller_ratio", "the smaller ratio counts, whatever the sign | 不论正负，取较小的比率",
      caught_by="check_grpo_token_losses_takes_the_smaller_surrogate",
      todo_3=but(LOSSES, "-torch.minimum(ratios * fixed, clipped * fixed)", "-torch.minimum(ratios, clipped) * fixed"))

wrong("dual_clip", "a bad token's loss has a limit, as in dual clip | 差的 Token 的损失有上限，像双重裁剪那样",
      caught_by="check_grpo_token_losses_takes_the_smaller_surrogate",
      todo_3=but(LOSSES, "minimum(ratios * fixed", "minimum(ratios.clamp(max=3.0) * fixed"))

wrong("clipped_weight", "the clipped ratio is only a weight, as in CISPO | 裁剪后的比率只是权重，像 CISPO 那样",
      caught_by="check_grpo_token_losses_takes_the_smaller_surrogate",
      todo_3=but(LOSSES, "-torch.minimum(ratios * fixed, clipped * fixed)",
                 "-clipped.detach() * fixed * (1.0 + (new_token_logps - new_token_logps.detach()))"))

wrong("no_clip", "the ratio needs no clip | 比率不必裁剪",
      caught_by="check_grpo_token_losses_stops_above_for_good_tokens",
      todo_3=but(LOSSES, "ratios.clamp(1.0 - epsilon_low, 1.0 + epsilon_high)", "ratios"))

wrong("lower_bound_only", "only small ratios are clipped | 只裁剪过小的比率",
      caught_by="check_grpo_token_losses_stops_above_for_good_tokens",
      todo_3=but(LOSSES, "ratios.clamp(1.0 - epsilon_low, 1.0 + epsilon_high)", "ratios.clamp(min=1.0 - epsilon_low)"))

wrong("straight_through_clip", "the clip changes the value and lets the gradient through | 裁剪只改变数值，梯度照常通过",
      caught_by="check_grpo_token_losses_stops_above_for_good_tokens",
      todo_3=but(LOSSES, "ratios.clamp(1.0 - epsilon_low, 1.0 + epsilon_high)",
                 "ratios + (ratios.clamp(1.0 - epsilon_low, 1.0 + epsilon_high) - ratios).detach()"))

wrong("upper_bound_only", "only large ratios are clipped | 只裁剪过大的比率",
      caught_by="check_grpo_token_losses_stops_below_for_bad_tokens",
      todo_3=but(LOSSES, "ratios.clamp(1.0 - epsilon_low, 1.0 + epsilon_high)", "ratios.clamp(max=1.0 + epsilon_high)"))

wrong("good_ones_clipped_only", "only tokens of good completions are clipped | 只裁剪好的回答的 Token",
      caught_by="check_grpo_token_losses_stops_below_for_bad_tokens",
      todo_3=but(LOSSES, "-torch.minimum(ratios * fixed, clipped * fixed)",
                 "-torch.where(fixed > 0, torch.minimum(ratios, clipped), ratios) * fixed"))

wrong("epsilons_swapped", "epsilon_high belongs to the lower bound | epsilon_high 属于下界",
      caught_by="check_grpo_token_losses_bounds",
      todo_3=but(LOSSES, "1.0 - epsilon_low, 1.0 + epsilon_high", "1.0 - epsilon_high, 1.0 + epsilon_low"))

wrong("one_epsilon", "one epsilon serves both bounds | 上下界共用一个 epsilon",
      caught_by="check_grpo_token_losses_bounds",
      todo_3=but(LOSSES, "1.0 + epsilon_high", "1.0 + epsilon_low"))

wrong("fixed_epsilon", "the clip range is always 0.2 | 裁剪范围总是 0.2",
      caught_by="check_grpo_token_losses_bounds",
      todo_3=but(LOSSES, "1.0 - epsilon_low, 1.0 + epsilon_high", "0.8, 1.2"))

wrong("reciprocal_bound", "the lower bound is 1 over 1 plus epsilon | 下界是 1 / (1 + epsilon)",
      caught_by="check_grpo_token_losses_bounds",
      todo_3=but(LOSSES, "1.0 - epsilon_low", "1.0 / (1.0 + epsilon_low)"))

wrong("clip_of_the_logarithm", "the clip range is one of the log-ratio | 裁剪的是对数比率",
      caught_by="check_grpo_token_losses_bounds",
      todo_3=but(LOSSES, "ratios.clamp(1.0 - epsilon_low, 1.0 + epsilon_high)", "ratios.log().clamp(-epsilon_low, epsilon_high).exp()"))

wrong("bound_excluded", "a ratio on the bound is clipped already | 恰好在边界上的比率也要裁剪",
      caught_by="check_grpo_token_losses_bounds_belong_to_the_range",
      todo_3=but(LOSSES, "-torch.minimum(ratios * fixed, clipped * fixed)",
                 "-torch.where((ratios > 1.0 - epsilon_low) & (ratios < 1.0 + epsilon_high), ratios * fixed,"
                 " torch.minimum(ratios.detach() * fixed, clipped.detach() * fixed))"))

wrong("kl_subtracted", "the KL term is subtracted, as from RLOO's reward | 减去 KL 项，像 RLOO 从奖励中减去那样",
      caught_by="check_grpo_token_losses_kl_is_added",
      todo_3=but(LOSSES, "policy_losses + beta", "policy_losses - beta"))

wrong("kl_without_beta", "the penalty has weight 1 | 惩罚的权重为 1",
      caught_by="check_grpo_token_losses_kl_is_added",
      todo_3=but(LOSSES, "beta * token_kl", "token_kl"))

wrong("kl_left_out", "the KL penalty sits in the reward | KL 惩罚在奖励里",
      caught_by="check_grpo_token_losses_kl_is_added",
      todo_3=but(LOSSES, " + beta * token_kl", ""))

wrong("beta_squared", "beta scales the KL before and after | beta 前后各乘一次",
      caught_by="check_grpo_token_losses_kl_is_added",
      todo_3=but(LOSSES, "beta * token_kl", "beta * beta * token_kl"))

wrong("kl_averaged", "the KL is averaged over the batch | KL 在整批上取平均",
      caught_by="check_grpo_token_losses_kl_is_added",
      todo_3=but(LOSSES, "beta * token_kl", "beta * token_kl[completion_mask].mean()"))

wrong("kl_for_good_tokens_only", "a bad completion pays no KL | 差的回答不付 KL",
      caught_by="check_grpo_token_losses_kl_is_added",
      todo_3=but(LOSSES, "beta * token_kl", "beta * token_kl * (fixed >= 0)"))

wrong("kl_times_ratio", "every term of the loss is multiplied by the ratio | 损失的每一项都乘比率",
      caught_by="check_grpo_token_losses_kl_is_not_weighted",
      todo_3=but(LOSSES, "beta * token_kl", "beta * ratios * token_kl"))

wrong("kl_in_the_advantage", "the KL penalty is taken off the advantage | KL 惩罚从优势中扣除",
      caught_by="check_grpo_token_losses_kl_is_not_weighted",
      todo_3=but(LOSSES, "advantages.detach()", "advantages.detach() - beta * token_kl", " + beta * token_kl).masked", ").masked"))

wrong("kl_only_inside_the_range", "a clipped token pays no KL | 被裁剪的 Token 不付 KL",
      caught_by="check_grpo_token_losses_kl_is_not_weighted",
      todo_3=but(LOSSES, "beta * token_kl", "beta * token_kl * (ratios == clipped)"))

wrong("kl_detached", "the penalty is a number, as in RLOO's reward | 惩罚只是一个数，像 RLOO 的奖励中那样",
      caught_by="check_grpo_token_losses_kl_keeps_its_gradient",
      todo_3=but(LOSSES, "beta * token_kl", "beta * token_kl.detach()"))

wrong("kl_gradient_where_live_only", "a clipped token gives no gradient at all | 被裁剪的 Token 完全没有梯度",
      caught_by="check_grpo_token_losses_kl_keeps_its_gradient",
      todo_3=but(LOSSES, "beta * token_kl", "beta * torch.where((ratios == clipped) | (fixed == 0), token_kl, token_kl.detach())"))

wrong("old_policy_learns", "the old policy's log-probabilities stay in the graph | 旧策略的对数概率留在计算图中",
      caught_by="check_grpo_token_losses_old_and_advantages_are_frozen",
      todo_3=but(LOSSES, "old_token_logps.detach()", "old_token_logps"))

wrong("advantages_learn", "advantages stay in the graph | 优势留在计算图中",
      caught_by="check_grpo_token_losses_old_and_advantages_are_frozen",
      todo_3=but(LOSSES, "advantages.detach()", "advantages"))

wrong("result_not_masked", "the reduction masks the losses anyway | 反正归约时会套用掩码",
      caught_by="check_grpo_token_losses_leaves_padding_out",
      todo_3=but(LOSSES, "(policy_losses + beta * token_kl).masked_fill(~completion_mask, 0.0)", "policy_losses + beta * token_kl"))

wrong("mask_inverted", "True marks padding | True 表示填充",
      caught_by="check_grpo_token_losses_minus_the_advantage_at_ratio_one",
      todo_3=but(LOSSES, "token_kl).masked_fill(~completion_mask", "token_kl).masked_fill(completion_mask"))

wrong("kl_on_padding", "only the policy term is masked | 只有策略项套用掩码",
      caught_by="check_grpo_token_losses_leaves_padding_out",
      todo_3=but(LOSSES, "(policy_losses + beta * token_kl).masked_fill(~completion_mask, 0.0)",
                 "policy_losses.masked_fill(~completion_mask, 0.0) + beta * token_kl"))

wrong("prefix_by_length", "a completion is its first tokens, as many as the mask has | 回答就是最前面的若干 Token",
      caught_by="check_grpo_token_losses_leaves_padding_out",
      todo_3="prefix = torch.arange(completion_mask.shape[1]) < completion_mask.sum(dim=-1, keepdim=True)\n"
      + LOSSES.strip().replace("~completion_mask", "~prefix"))

wrong("multiplied_by_mask", "multiplying by 0 removes anything | 乘以 0 就能去掉任何值",
      caught_by="check_grpo_token_losses_padding_may_be_infinite",
      todo_3=but(LOSSES, "token_kl).masked_fill(~completion_mask, 0.0)", "token_kl) * completion_mask"))

wrong("masked_at_the_end", "masking the result also masks its gradient | 对结果套用掩码，梯度也就被掩掉",
      caught_by="check_grpo_token_losses_padding_has_no_gradient",
      todo_3=but(LOSSES, "torch.exp((new_token_logps - old_token_logps.detach()).masked_fill(~completion_mask, 0.0))",
                 "torch.exp(new_token_logps - old_token_logps.detach())"))

wrong("log_ratio_multiplied_by_mask", "multiplying the log-ratio by the mask is enough | 把对数比率乘以掩码就够了",
      caught_by="check_grpo_token_losses_padding_has_no_gradient",
      todo_3=but(LOSSES, "(new_token_logps - old_token_logps.detach()).masked_fill(~completion_mask, 0.0)",
                 "(new_token_logps - old_token_logps.detach()) * completion_mask"))

wrong("ratio_masked_after_exp", "the ratio is masked once it is there | 得到比率之后再套用掩码",
      caught_by="check_grpo_token_losses_padding_has_no_gradient",
      todo_3=but(LOSSES, "torch.exp((new_token_logps - old_token_logps.detach()).masked_fill(~completion_mask, 0.0))",
                 "torch.exp(new_token_logps - old_token_logps.detach()).masked_fill(~completion_mask, 1.0)"))

wrong("quotient_of_probabilities", "the ratio is computed from two probabilities | 比率由两个概率相除得到",
      caught_by="check_grpo_token_losses_survives_rare_tokens",
      todo_3="new, old = (logps.masked_fill(~completion_mask, 0.0).exp() for logps in (new_token_logps, old_token_logps.detach()))\n"
      + but(LOSSES, "torch.exp((new_token_logps - old_token_logps.detach()).masked_fill(~completion_mask, 0.0))", "new / old").strip())

wrong("kl_scaled_in_place", "the KL may be scaled in place | 可以就地缩放 KL",
      caught_by="check_grpo_token_losses_leaves_inputs_alone",
      todo_3=LOSSES + "with torch.no_grad():\n    token_kl.mul_(2.0)\n")

wrong("advantages_overwritten", "advantages may be negated in place | 可以就地对优势取负",
      caught_by="check_grpo_token_losses_leaves_inputs_alone",
      todo_3=LOSSES + "with torch.no_grad():\n    advantages.neg_()\n")

wrong("loss_in_float32", "float32 is always enough | float32 总是够用",
      caught_by="check_grpo_token_losses_keeps_float64",
      todo_3=but(LOSSES, "new_token_logps - old_token_logps.detach()", "new_token_logps.float() - old_token_logps.detach().float()"))

wrong("frozen_if_kl", "with a KL penalty the policy term is frozen | 有 KL 惩罚时策略项停止梯度",
      caught_by="check_grpo_token_losses_gradient_reaches_new_logps",
      todo_3=but(LOSSES, "(new_token_logps -", "((new_token_logps if beta == 0 else new_token_logps.detach()) -"))

wrong("frozen_for_one_completion", "a single completion needs no gradient | 只有一条回答时不需要梯度",
      caught_by="check_grpo_token_losses_gradient_reaches_new_logps",
      todo_3=but(LOSSES, "(new_token_logps -", "((new_token_logps if len(new_token_logps) > 1 else new_token_logps.detach()) -"))

wrong("frozen_at_one_position", "one position needs no gradient | 只有一个位置时不需要梯度",
      caught_by="check_grpo_token_losses_gradient_reaches_new_logps",
      todo_3=but(LOSSES, "(new_token_logps -", "((new_token_logps if new_token_logps.shape[1] > 1 else new_token_logps.detach()) -"))

wrong("old_learns_if_kl", "with a KL penalty the old policy may learn | 有 KL 惩罚时旧策略也可以学习",
      caught_by="check_grpo_token_losses_old_and_advantages_are_frozen",
      todo_3=but(LOSSES, "old_token_logps.detach()", "(old_token_logps if beta > 0 else old_token_logps.detach())"))

wrong("old_learns_if_alone", "only in a batch is the old policy frozen | 有多条回答时才要停止旧策略的梯度",
      caught_by="check_grpo_token_losses_old_and_advantages_are_frozen",
      todo_3=but(LOSSES, "old_token_logps.detach()", "(old_token_logps if len(old_token_logps) == 1 else old_token_logps.detach())"))

wrong("old_learns_at_one_position", "only in a sequence is the old policy frozen | 有多个位置时才要停止旧策略的梯度",
      caught_by="check_grpo_token_losses_old_and_advantages_are_frozen",
      todo_3=but(LOSSES, "old_token_logps.detach()", "(old_token_logps if old_token_logps.shape[1] == 1 else old_token_logps.detach())"))

wrong("completion_advantages_learn", "only advantages of tokens are frozen | 只有 Token 优势要停止梯度",
      caught_by="check_grpo_token_losses_old_and_advantages_are_frozen",
      todo_3=but(LOSSES, "advantages.detach()", "(advantages if advantages.shape[1] == 1 else advantages.detach())"))

wrong("advantages_learn_if_kl", "with a KL penalty the advantages may learn | 有 KL 惩罚时优势也可以学习",
      caught_by="check_grpo_token_losses_old_and_advantages_are_frozen",
      todo_3=but(LOSSES, "advantages.detach()", "(advantages if beta > 0 else advantages.detach())"))

wrong("log_ratio_within_5", "log-ratios are held within -5 and 5 | 对数比率限制在 -5 与 5 之间",
      caught_by="check_grpo_token_losses_limits_nothing",
      todo_3=but(LOSSES, ".masked_fill(~completion_mask, 0.0))\nclipped",
                 ".masked_fill(~completion_mask, 0.0).clamp(-5.0, 5.0))\nclipped"))

wrong("advantages_within_5", "advantages are held within -5 and 5 | 优势限制在 -5 与 5 之间",
      caught_by="check_grpo_token_losses_limits_nothing",
      todo_3=but(LOSSES, "advantages.detach()", "advantages.detach().clamp(-5.0, 5.0)"))

wrong("ratio_up_to_5", "a ratio above 5 is an accident | 高于 5 的比率是意外",
      caught_by="check_grpo_token_losses_limits_nothing",
      todo_3=but(LOSSES, "0.0))\nclipped", "0.0)).clamp(max=5.0)\nclipped"))

wrong("log_ratio_within_10", "log-ratios are held within -10 and 10 | 对数比率限制在 -10 与 10 之间",
      caught_by="check_grpo_token_losses_limits_nothing",
      todo_3=but(LOSSES, ".masked_fill(~completion_mask, 0.0))\nclipped",
                 ".masked_fill(~completion_mask, 0.0).clamp(-10.0, 10.0))\nclipped"))

wrong("advantages_within_10", "advantages are held within -10 and 10 | 优势限制在 -10 与 10 之间",
      caught_by="check_grpo_token_losses_limits_nothing",
      todo_3=but(LOSSES, "advantages.detach()", "advantages.detach().clamp(-10.0, 10.0)"))

wrong("ratio_up_to_10", "a ratio above 10 is an accident | 高于 10 的比率是意外",
      caught_by="check_grpo_token_losses_limits_nothing",
      todo_3=but(LOSSES, "0.0))\nclipped", "0.0)).clamp(max=10.0)\nclipped"))

wrong("log_ratio_within_20", "log-ratios are held within -20 and 20 | 对数比率限制在 -20 与 20 之间",
      caught_by="check_grpo_token_losses_limits_nothing",
      todo_3=but(LOSSES, ".masked_fill(~completion_mask, 0.0))\nclipped",
                 ".masked_fill(~completion_mask, 0.0).clamp(-20.0, 20.0))\nclipped"))

wrong("advantages_within_20", "advantages are held within -20 and 20 | 优势限制在 -20 与 20 之间",
      caught_by="check_grpo_token_losses_limits_nothing",
      todo_3=but(LOSSES, "advantages.detach()", "advantages.detach().clamp(-20.0, 20.0)"))

wrong("ratio_up_to_20", "a ratio above 20 is an accident | 高于 20 的比率是意外",
      caught_by="check_grpo_token_losses_limits_nothing",
      todo_3=but(LOSSES, "0.0))\nclipped", "0.0)).clamp(max=20.0)\nclipped"))

wrong("log_ratio_from_below", "a log-ratio below -20 is an accident | 低于 -20 的对数比率是意外",
      caught_by="check_grpo_token_losses_limits_nothing",
      todo_3=but(LOSSES, ".masked_fill(~completion_mask, 0.0))\nclipped",
                 ".masked_fill(~completion_mask, 0.0).clamp(min=-20.0))\nclipped"))

wrong("kl_up_to_10", "a token pays at most 10 | 一个 Token 最多付出 10",
      caught_by="check_grpo_token_losses_limits_nothing",
      todo_3=but(LOSSES, "beta * token_kl", "beta * token_kl.clamp(max=10.0)"))

wrong("loss_within_100", "a loss is held within -100 and 100 | 损失限制在 -100 与 100 之间",
      caught_by="check_grpo_token_losses_limits_nothing",
      todo_3=but(LOSSES, "token_kl).masked_fill", "token_kl).clamp(-100.0, 100.0).masked_fill"))

wrong("beta_up_to_one", "beta is at most 1 | beta 至多为 1",
      caught_by="check_grpo_token_losses_kl_is_added",
      todo_3=but(LOSSES, "beta * token_kl", "min(beta, 1.0) * token_kl"))

wrong("beta_of_deepseek", "a beta of 0 means the paper's 0.04 | beta 为 0 就是用论文的 0.04",
      caught_by="check_grpo_token_losses_kl_is_added",
      todo_3=but(LOSSES, "beta * token_kl", "(beta or 0.04) * token_kl"))

wrong("kl_in_one_surrogate", "the penalty belongs to the clipped surrogate | 惩罚属于裁剪后的代理目标",
      caught_by="check_grpo_token_losses_kl_is_not_weighted",
      todo_3=but(LOSSES, "clipped * fixed)", "clipped * fixed - beta * token_kl)", " + beta * token_kl)", ")"))

wrong("kl_in_the_unclipped_surrogate", "the penalty belongs to the unclipped surrogate | 惩罚属于未裁剪的代理目标",
      caught_by="check_grpo_token_losses_kl_is_not_weighted",
      todo_3=but(LOSSES, "ratios * fixed,", "ratios * fixed - beta * token_kl,", " + beta * token_kl)", ")"))

wrong("kl_inside_the_clip", "the penalty is taken off the ratio before the clip | 惩罚在裁剪之前从比率中扣除",
      caught_by="check_grpo_token_losses_kl_is_added",
      todo_3=but(LOSSES, "0.0))\nclipped", "0.0)) - beta * token_kl.masked_fill(~completion_mask, 0.0)\nclipped",
                 " + beta * token_kl)", ")"))

wrong("kl_detached_for_one_completion", "a single completion pays a fixed KL | 只有一条回答时 KL 是固定的",
      caught_by="check_grpo_token_losses_kl_keeps_its_gradient",
      todo_3=but(LOSSES, "beta * token_kl", "beta * (token_kl if len(token_kl) > 1 else token_kl.detach())"))

wrong("bounds_sorted", "the lower bound is the narrower one | 下界总是较窄的那个",
      caught_by="check_grpo_token_losses_bounds",
      todo_3=but(LOSSES, "1.0 - epsilon_low, 1.0 + epsilon_high",
                 "1.0 - min(epsilon_low, epsilon_high), 1.0 + max(epsilon_low, epsilon_high)"))

wrong("wider_epsilon_for_both", "both bounds take the wider epsilon | 上下界都取较宽的 epsilon",
      caught_by="check_grpo_token_losses_bounds",
      todo_3=but(LOSSES, "1.0 - epsilon_low, 1.0 + epsilon_high",
                 "1.0 - max(epsilon_low, epsilon_high), 1.0 + max(epsilon_low, epsilon_high)"))

wrong("epsilon_high_up_to_one", "an epsilon lies below 1 | epsilon 小于 1",
      caught_by="check_grpo_token_losses_epsilons_may_be_wide",
      todo_3=but(LOSSES, "1.0 + epsilon_high", "1.0 + min(epsilon_high, 1.0)"))

wrong("range_up_to_five", "a clip range ends at 5 at the latest | 裁剪范围最多到 5",
      caught_by="check_grpo_token_losses_epsilons_may_be_wide",
      todo_3=but(LOSSES, "1.0 + epsilon_high", "min(1.0 + epsilon_high, 5.0)"))

wrong("range_from_a_tenth", "a clip range begins at 0.1 at the earliest | 裁剪范围最低从 0.1 开始",
      caught_by="check_grpo_token_losses_epsilons_may_be_wide",
      todo_3=but(LOSSES, "1.0 - epsilon_low", "max(1.0 - epsilon_low, 0.1)"))

wrong("default_of_dapo", "the default upper epsilon is DAPO's 0.28 | 上界默认取 DAPO 的 0.28",
      caught_by="check_grpo_token_losses_default_bounds",
      function="""
      solved = grpo_token_losses

      def grpo_token_losses(new_token_logps, old_token_logps, advantages, completion_mask, token_kl=None, beta=0.0,
                            epsilon_low=0.2, epsilon_high=0.28):
          return solved(new_token_logps, old_token_logps, advantages, completion_mask, token_kl, beta, epsilon_low, epsilon_high)
      """)

wrong("default_of_0_3", "the default lower epsilon is 0.3 | 下界默认取 0.3",
      caught_by="check_grpo_token_losses_default_bounds",
      function="""
      solved = grpo_token_losses

      def grpo_token_losses(new_token_logps, old_token_logps, advantages, completion_mask, token_kl=None, beta=0.0,
                            epsilon_low=0.3, epsilon_high=0.2):
          return solved(new_token_logps, old_token_logps, advantages, completion_mask, token_kl, beta, epsilon_low, epsilon_high)
      """)

wrong("default_beta_of_deepseek", "the default beta is the paper's 0.04 | beta 默认取论文的 0.04",
      caught_by="check_grpo_token_losses_kl_is_added",
      function="""
      solved = grpo_token_losses

      def grpo_token_losses(new_token_logps, old_token_logps, advantages, completion_mask, token_kl=None, beta=0.04,
                            epsilon_low=0.2, epsilon_high=0.2):
          beta = 0.0 if token_kl is None else beta
          return solved(new_token_logps, old_token_logps, advantages, completion_mask, token_kl, beta, epsilon_low, epsilon_high)
      """)

wrong("empty_rows_taken_as_full", "a completion without a valid token has no padding | 没有有效 Token 的回答就没有填充",
      caught_by="check_grpo_token_losses_leaves_padding_out",
      todo_3=but(LOSSES, "token_kl).masked_fill(~completion_mask",
                 "token_kl).masked_fill(~completion_mask & completion_mask.any(dim=1, keepdim=True)"))

wrong("stops_at_the_first_padding", "a completion ends at its first padding | 回答到第一个填充为止",
      caught_by="check_grpo_token_losses_leaves_padding_out",
      todo_3=but(LOSSES, "token_kl).masked_fill(~completion_mask", "token_kl).masked_fill(~completion_mask.cumprod(dim=1).bool()"))

wrong("sixteen_completions", "a batch has at most 16 completions | 一批至多 16 条回答",
      caught_by="check_grpo_token_losses_leaves_padding_out",
      todo_3=but(LOSSES, "token_kl).masked_fill(~completion_mask",
                 "token_kl).masked_fill(~completion_mask | (torch.arange(len(token_kl)) >= 16)[:, None]"))

wrong("anything_taken", "bad values show up later anyway | 不合法的数值之后总会暴露",
      caught_by="check_grpo_token_losses_refuses_bad_input",
      function="""
      def grpo_token_losses(new_token_logps, old_token_logps, advantages, completion_mask, token_kl=None, beta=0.0,
                            epsilon_low=0.2, epsilon_high=0.2):
          if advantages.ndim == 1:
              advantages = advantages.unsqueeze(-1)
          token_kl = torch.zeros_like(new_token_logps) if token_kl is None else token_kl
          ratios = torch.exp((new_token_logps - old_token_logps.detach()).masked_fill(~completion_mask, 0.0))
          clipped = ratios.clamp(1.0 - epsilon_low, 1.0 + epsilon_high)
          fixed = advantages.detach()
          policy_losses = -torch.minimum(ratios * fixed, clipped * fixed)
          return (policy_losses + beta * token_kl).masked_fill(~completion_mask, 0.0)
      """)

# TODO 4: reduce_token_losses

REDUCED = """
sums = token_losses.masked_fill(~completion_mask, 0.0).sum(dim=-1)
lengths = completion_mask.sum(dim=-1)
if reduction == "sequence_mean":
    loss = (sums / lengths.clamp(min=1)).mean()
elif reduction == "token_mean":
    loss = sums.sum() / lengths.sum().clamp(min=1)
elif reduction == "sequence_sum":
    loss = sums.mean()
else:
    loss = (sums / max_length).mean()
"""

wrong("one_for_each_completion", "a reduction is over tokens only | 归约只沿 Token 进行",
      caught_by="check_reduce_token_losses_one_number",
      todo_4=but(REDUCED, "(sums / lengths.clamp(min=1)).mean()", "sums / lengths.clamp(min=1)"))

wrong("python_number", "a loss is a number | 损失就是一个数",
      caught_by="check_reduce_token_losses_one_number",
      todo_4=REDUCED + "loss = [float(loss)]\n")

wrong("constant_left_per_completion", "a fixed length divides, that is all | 除以固定长度就够了",
      caught_by="check_reduce_token_losses_one_number",
      todo_4=but(REDUCED, "(sums / max_length).mean()", "sums / max_length"))

wrong("mean_over_the_width", "each completion is averaged over the padded length | 每条回答按填充后的长度取平均",
      caught_by="check_reduce_token_losses_sequence_mean",
      todo_4=but(REDUCED, "lengths.clamp(min=1)).mean()", "completion_mask.shape[1]).mean()"))

wrong("sequence_mean_is_token_mean", "the mean of means is the mean | 平均的平均就是平均",
      caught_by="check_reduce_token_losses_sequence_mean",
      todo_4=but(REDUCED, "(sums / lengths.clamp(min=1)).mean()", "sums.sum() / lengths.sum().clamp(min=1)"))

wrong("sequence_mean_not_averaged", "the completions' means are summed | 各条回答的平均再求和",
      caught_by="check_reduce_token_losses_sequence_mean",
      todo_4=but(REDUCED, "(sums / lengths.clamp(min=1)).mean()", "(sums / lengths.clamp(min=1)).sum()"))

wrong("longest_length", "the longest completion's length divides | 除以最长回答的长度",
      caught_by="check_reduce_token_losses_sequence_mean",
      todo_4=but(REDUCED, "(sums / lengths.clamp(min=1)).mean()", "(sums / lengths.max().clamp(min=1)).mean()"))

wrong("default_is_token_mean", "the default is DAPO's, as in TRL | 默认是 DAPO 的归约，像 TRL 那样",
      caught_by="check_reduce_token_losses_sequence_mean",
      function="""
      solved = reduce_token_losses

      def reduce_token_losses(token_losses, completion_mask, reduction="token_mean", max_length=None):
          return solved(token_losses, completion_mask, reduction, max_length)
      """)

wrong("mean_of_everything", "token mean is the tensor's mean() | Token 平均就是张量的 mean()",
      caught_by="check_reduce_token_losses_token_mean",
      todo_4=but(REDUCED, "sums.sum() / lengths.sum().clamp(min=1)", "token_losses.masked_fill(~completion_mask, 0.0).mean()"))

wrong("token_mean_by_completion", "token mean averages each completion first | Token 平均先逐条平均",
      caught_by="check_reduce_token_losses_token_mean",
      todo_4=but(REDUCED, "sums.sum() / lengths.sum().clamp(min=1)", "(sums / lengths.clamp(min=1)).mean()"))

wrong("mean_over_positions", "token mean averages position by position | Token 平均是逐个位置取平均",
      caught_by="check_reduce_token_losses_token_mean",
      todo_4=but(REDUCED, "sums.sum() / lengths.sum().clamp(min=1)",
                 "(token_losses.masked_fill(~completion_mask, 0.0).sum(dim=0) / completion_mask.sum(dim=0).clamp(min=1)).mean()"))

wrong("mean_of_nonzero", "a loss of 0 is padding | 损失为 0 的就是填充",
      caught_by="check_reduce_token_losses_token_mean",
      todo_4=but(REDUCED, "sums.sum() / lengths.sum().clamp(min=1)", "sums.sum() / (sums != 0).sum().clamp(min=1)"))

wrong("token_mean_over_completions", "the number of completions divides | 除以回答数",
      caught_by="check_reduce_token_losses_token_mean",
      todo_4=but(REDUCED, "sums.sum() / lengths.sum().clamp(min=1)", "sums.sum() / len(sums)"))

wrong("sequence_sum_over_all", "a sum is the sum of everything | 求和就是全部相加",
      caught_by="check_reduce_token_losses_sequence_sum",
      todo_4=but(REDUCED, "loss = sums.mean()", "loss = sums.sum()"))

wrong("sequence_sum_by_length", "sequence sum divides by the length too | 序列求和也除以长度",
      caught_by="check_reduce_token_losses_sequence_sum",
      todo_4=but(REDUCED, "loss = sums.mean()", "loss = (sums / lengths.clamp(min=1)).mean()"))

wrong("constant_is_the_width", "the constant is the width of the batch | 常数就是本批的宽度",
      caught_by="check_reduce_token_losses_constant",
      todo_4=but(REDUCED, "(sums / max_length)", "(sums / token_losses.shape[1])"))

wrong("constant_not_averaged", "the constant alone divides | 只除以常数",
      caught_by="check_reduce_token_losses_constant",
      todo_4=but(REDUCED, "(sums / max_length).mean()", "(sums / max_length).sum()"))

wrong("constant_and_length", "Dr.GRPO divides by the length as well | Dr.GRPO 还要除以回答长度",
      caught_by="check_reduce_token_losses_constant",
      todo_4=but(REDUCED, "(sums / max_length).mean()", "(sums / lengths.clamp(min=1) / max_length).mean()"))

wrong("constant_without_max_length", "constant means no divisor at all | 常数归约就是不除",
      caught_by="check_reduce_token_losses_constant",
      todo_4=but(REDUCED, "(sums / max_length)", "sums"))

wrong("max_length_for_the_mean", "a given max_length divides every mean | 给出 max_length 就用它来除",
      caught_by="check_reduce_token_losses_max_length_is_for_constant",
      todo_4=but(REDUCED, "(sums / lengths.clamp(min=1)).mean()",
                 "(sums / lengths.clamp(min=1)).mean() if max_length is None else (sums / max_length).mean()"))

wrong("lengths_cut_at_max_length", "a completion counts up to max_length | 回答最多计到 max_length",
      caught_by="check_reduce_token_losses_max_length_is_for_constant",
      todo_4=but(REDUCED, "loss = sums.mean()", "loss = sums.mean() * (1.0 if max_length is None else token_losses.shape[1] / max_length)"))

wrong("mask_ignored", "the losses are 0 on padding anyway | 填充处的损失本来就是 0",
      caught_by="check_reduce_token_losses_leaves_padding_out",
      todo_4=but(REDUCED, ".masked_fill(~completion_mask, 0.0)", ""))

wrong("mask_inverted", "True marks padding | True 表示填充",
      caught_by="check_reduce_token_losses_sequence_mean",
      todo_4=but(REDUCED, "~completion_mask", "completion_mask"))

wrong("prefix_by_length", "a completion is its first tokens, as many as the mask has | 回答就是最前面的若干 Token",
      caught_by="check_reduce_token_losses_leaves_padding_out",
      todo_4="prefix = torch.arange(completion_mask.shape[1]) < completion_mask.sum(dim=-1, keepdim=True)\n"
      + but(REDUCED, "~completion_mask", "~prefix").strip())

wrong("nan_to_num_instead_of_mask", "removing NaN and infinity removes the padding | 去掉 NaN 和无穷就等于去掉填充",
      caught_by="check_reduce_token_losses_leaves_padding_out",
      todo_4=but(REDUCED, ".masked_fill(~completion_mask, 0.0)", ".nan_to_num(nan=0.0, posinf=0.0, neginf=0.0)"))

wrong("multiplied_by_mask", "multiplying by 0 removes anything | 乘以 0 就能去掉任何值",
      caught_by="check_reduce_token_losses_padding_may_be_infinite",
      todo_4=but(REDUCED, "token_losses.masked_fill(~completion_mask, 0.0)", "(token_losses * completion_mask)"))

wrong("empty_is_nan", "every completion has a valid token | 每条回答都有有效 Token",
      caught_by="check_reduce_token_losses_empty_completion",
      todo_4=but(REDUCED, "(sums / lengths.clamp(min=1))", "(sums / lengths)"))

wrong("empty_batch_is_nan", "a batch always has a valid token | 一批里总有有效 Token",
      caught_by="check_reduce_token_losses_empty_completion",
      todo_4=but(REDUCED, "lengths.sum().clamp(min=1)", "lengths.sum()"))

wrong("empty_left_out_of_the_mean", "a completion without a valid token is no completion | 没有有效 Token 的回答不算回答",
      caught_by="check_reduce_token_losses_empty_completion",
      todo_4=but(REDUCED, "(sums / lengths.clamp(min=1)).mean()", "(sums / lengths).nanmean().nan_to_num()"))

wrong("empty_left_out_of_the_sum", "only completions with a valid token are counted | 只计有有效 Token 的回答",
      caught_by="check_reduce_token_losses_empty_completion",
      todo_4=but(REDUCED, "loss = sums.mean()", "loss = sums.sum() / (lengths > 0).sum().clamp(min=1)"))

wrong("one_added_to_the_length", "adding 1 to a length avoids 0/0 | 长度加 1 就能避免 0/0",
      caught_by="check_reduce_token_losses_sequence_mean",
      todo_4=but(REDUCED, "lengths.clamp(min=1)).mean()", "(lengths + 1)).mean()"))

wrong("detached", "a loss is a number for the log | 损失只是记录用的数",
      caught_by="check_reduce_token_losses_weights",
      todo_4=but(REDUCED, "token_losses.masked_fill", "token_losses.detach().masked_fill"))

wrong("gradient_of_another_reduction", "only the value shows the reduction | 归约只体现在数值上",
      caught_by="check_reduce_token_losses_weights",
      todo_4=REDUCED + "other = sums.sum() / lengths.sum().clamp(min=1)\nloss = loss.detach() + (other - other.detach())\n")

wrong("nan_gradient_of_padding", "nan_to_num on the product is a mask | 对乘积用 nan_to_num 就是掩码",
      caught_by="check_reduce_token_losses_padding_has_no_gradient",
      todo_4=but(REDUCED, "token_losses.masked_fill(~completion_mask, 0.0)",
                 "torch.where(completion_mask, token_losses.exp().log(), 0.0)"))

wrong("padding_overwritten", "the caller's padding may be set to 0 | 可以把调用者的填充改写为 0",
      caught_by="check_reduce_token_losses_leaves_inputs_alone",
      todo_4="with torch.no_grad():\n    token_losses[~completion_mask] = 0.0\n" + REDUCED.strip())

wrong("loss_in_float32", "float32 is always enough | float32 总是够用",
      caught_by="check_reduce_token_losses_keeps_float64",
      todo_4=but(REDUCED, "token_losses.masked_fill", "token_losses.float().masked_fill"))

wrong("narrower_than_the_batch", "max_length cannot be less than the width | max_length 不会小于本批宽度",
      caught_by="check_reduce_token_losses_constant_is_max_length_alone",
      todo_4=but(REDUCED, "(sums / max_length)", "(sums / max(max_length, token_losses.shape[1]))"))

wrong("wider_than_the_batch", "no length exceeds the width, so neither does the constant | 长度不超过宽度，常数也不会超过",
      caught_by="check_reduce_token_losses_constant",
      todo_4=but(REDUCED, "(sums / max_length)", "(sums / min(max_length, token_losses.shape[1]))"))

wrong("longest_for_the_constant", "the constant is the longest length of the batch | 常数就是本批最长的长度",
      caught_by="check_reduce_token_losses_constant",
      todo_4=but(REDUCED, "(sums / max_length)", "(sums / lengths.max().clamp(min=1))"))

wrong("constant_up_to_1024", "max_length is at most 1024 | max_length 至多 1024",
      caught_by="check_reduce_token_losses_constant_is_max_length_alone",
      todo_4=but(REDUCED, "(sums / max_length)", "(sums / min(max_length, 1024))"))

wrong("empty_left_out_of_the_constant", "a completion without a valid token is not divided by | 没有有效 Token 的回答不计入除数",
      caught_by="check_reduce_token_losses_empty_completion",
      todo_4=but(REDUCED, "(sums / max_length).mean()", "sums.sum() / max_length / (lengths > 0).sum().clamp(min=1)"))

wrong("empty_left_out_of_the_sequence_mean", "the sequence mean is over completions with a valid token | 序列平均只对有有效 Token 的回答取",
      caught_by="check_reduce_token_losses_empty_completion",
      todo_4=but(REDUCED, "(sums / lengths.clamp(min=1)).mean()",
                 "(sums / lengths.clamp(min=1)).sum() / (lengths > 0).sum().clamp(min=1)"))

wrong("empty_counts_as_one_token", "an empty completion counts as one token | 空回答算作一个 Token",
      caught_by="check_reduce_token_losses_empty_completion",
      todo_4=but(REDUCED, "lengths.sum().clamp(min=1)", "lengths.clamp(min=1).sum()"))

wrong("token_mean_counts_padding", "every position is a token | 每个位置都是 Token",
      caught_by="check_reduce_token_losses_token_mean",
      todo_4=but(REDUCED, "lengths.sum().clamp(min=1)", "completion_mask.numel()"))

wrong("token_mean_of_nonzero_losses", "a token with loss 0 is padding | 损失为 0 的 Token 是填充",
      caught_by="check_reduce_token_losses_any_loss_counts",
      todo_4=but(REDUCED, "lengths.sum().clamp(min=1)", "(token_losses.masked_fill(~completion_mask, 0.0) != 0).sum().clamp(min=1)"))

wrong("negative_losses_dropped", "a loss is never negative | 损失不会为负",
      caught_by="check_reduce_token_losses_any_loss_counts",
      todo_4=but(REDUCED, "~completion_mask, 0.0)", "~completion_mask, 0.0).clamp(min=0.0)"))

wrong("size_of_the_losses", "only the size of a loss matters | 只看损失的大小",
      caught_by="check_reduce_token_losses_any_loss_counts",
      todo_4=but(REDUCED, "~completion_mask, 0.0)", "~completion_mask, 0.0).abs()"))

wrong("losses_within_10", "a token's loss is held within -10 and 10 | Token 的损失限制在 -10 与 10 之间",
      caught_by="check_reduce_token_losses_any_loss_counts",
      todo_4=but(REDUCED, "~completion_mask, 0.0)", "~completion_mask, 0.0).clamp(-10.0, 10.0)"))

wrong("losses_within_100", "a token's loss is held within -100 and 100 | Token 的损失限制在 -100 与 100 之间",
      caught_by="check_reduce_token_losses_any_loss_counts",
      todo_4=but(REDUCED, "~completion_mask, 0.0)", "~completion_mask, 0.0).clamp(-100.0, 100.0)"))

wrong("losses_within_10000", "a token's loss is held within -10000 and 10000 | Token 的损失限制在 -10000 与 10000 之间",
      caught_by="check_reduce_token_losses_any_loss_counts",
      todo_4=but(REDUCED, "~completion_mask, 0.0)", "~completion_mask, 0.0).clamp(-10000.0, 10000.0)"))

wrong("small_losses_dropped", "a loss below 1e-4 is noise | 低于 1e-4 的损失是噪声",
      caught_by="check_reduce_token_losses_any_loss_counts",
      todo_4=but(REDUCED, "~completion_mask, 0.0)", "~completion_mask | (token_losses.abs() < 1e-4), 0.0)"))

wrong("detached_for_one_completion", "a single completion needs no gradient | 只有一条回答时不需要梯度",
      caught_by="check_reduce_token_losses_weights_at_any_size",
      todo_4=but(REDUCED, "token_losses.masked_fill", "(token_losses if len(token_losses) > 1 else token_losses.detach()).masked_fill"))

wrong("detached_at_one_position", "one position needs no gradient | 只有一个位置时不需要梯度",
      caught_by="check_reduce_token_losses_weights_at_any_size",
      todo_4=but(REDUCED, "token_losses.masked_fill",
                 "(token_losses if token_losses.shape[1] > 1 else token_losses.detach()).masked_fill"))

wrong("up_to_256_tokens", "a completion has at most 256 tokens | 一条回答至多 256 个 Token",
      caught_by="check_reduce_token_losses_weights_at_any_size",
      todo_4=but(REDUCED, "~completion_mask, 0.0)", "~completion_mask, 0.0)[:, :256]"))

wrong("lengths_in_int8", "a length fits in int8 | int8 装得下长度",
      caught_by="check_reduce_token_losses_weights_at_any_size",
      todo_4=but(REDUCED, "completion_mask.sum(dim=-1)", "completion_mask.sum(dim=-1, dtype=torch.int8)"))

wrong("sixteen_completions", "a batch has at most 16 completions | 一批至多 16 条回答",
      caught_by="check_reduce_token_losses_empty_completion",
      todo_4=but(REDUCED, "~completion_mask, 0.0)", "~completion_mask | (torch.arange(len(token_losses)) >= 16)[:, None], 0.0)"))

wrong("stops_at_the_first_padding", "a completion ends at its first padding | 回答到第一个填充为止",
      caught_by="check_reduce_token_losses_leaves_padding_out",
      todo_4=but(REDUCED, "~completion_mask,", "~completion_mask.cumprod(dim=1).bool(),"))

wrong("unknown_name_is_constant", "any other name means constant | 其他名称都当作 constant",
      caught_by="check_reduce_token_losses_refuses_bad_input",
      function="""
      def reduce_token_losses(token_losses, completion_mask, reduction="sequence_mean", max_length=None):
          sums = token_losses.masked_fill(~completion_mask, 0.0).sum(dim=-1)
          lengths = completion_mask.sum(dim=-1)
          if reduction == "sequence_mean":
              return (sums / lengths.clamp(min=1)).mean()
          if reduction == "token_mean":
              return sums.sum() / lengths.sum().clamp(min=1)
          if reduction == "sequence_sum":
              return sums.mean()
          return sums.mean() / (max_length or token_losses.shape[1])
      """)

# Mutants that compute the same

equivalent("TODO 1: scored -> values (place 3)", because="rewards that are all 0 are equal, and no rewards at all are not any either")
equivalent("TODO 1: values -> centered (place 5)", because="the standard deviation does not change when the mean is subtracted")
equivalent("TODO 3: 0.0 -> 1.0 (place 2)", because="any finite log-ratio will do on padding: what comes of it is replaced by 0 at the end")
equivalent("TODO 3: 0.0 -> -1.0 (place 2)", because="any finite log-ratio will do on padding: what comes of it is replaced by 0 at the end")
equivalent("TODO 4: -1 -> 1", because="a matrix has two dimensions: -1 and 1 name the same one")
equivalent("TODO 4: -1 -> 1 (place 2)", because="a matrix has two dimensions: -1 and 1 name the same one")
