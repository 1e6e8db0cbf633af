"""Wrong answers of lesson CAST, each with the misconception behind it and the check whose message must name it.

`todo_1=` is what a learner writes in place of the TODO region; `function=` replaces the whole function where a mistake lies outside the
region. Where a mistake is one expression, it is told as the difference from a right answer: `but(RIGHT, "what stands there", "instead")`.
"""

from lessons._build.answers import equivalent, wrong


def but(code: str, *changes: str) -> str:
    """The code with changes[1] in place of changes[0], changes[3] in place of changes[2], …"""
    for old, new in zip(changes[::2], changes[1::2], strict=True):
        assert code.count(old) == 1, f"{old!r} stands {code.count(old)} times in\n{code}"
        code = code.replace(old, new)
    return code


# TODO 1: cast_base_advantages

BASE = """
scored = (group_ids == group) & ~rewards.isnan()
values = rewards[scored]
if (values == 1).all():
    base_advantages[scored] = delta_pos
elif (values == 0).all():
    base_advantages[scored] = -delta_neg
else:
    base_advantages[scored] = group_relative_advantages(values, group_ids[scored])
"""
BASE_FUNCTION = """
def cast_base_advantages(rewards, group_ids, delta_pos=0.1, delta_neg=0.1):
    if rewards.ndim != 1 or rewards.numel() == 0 or group_ids.shape != rewards.shape or group_ids.dtype != torch.int64:
        raise ValueError
    if not ((rewards == 0) | (rewards == 1) | rewards.isnan()).all():
        raise ValueError
    if not 0 <= delta_pos < math.inf or not 0 <= delta_neg < math.inf:
        raise ValueError
    rewards = rewards.detach() if rewards.is_floating_point() else rewards.float()
    base_advantages = torch.zeros_like(rewards)
    for group in group_ids.unique():
        scored = (group_ids == group) & ~rewards.isnan()
        values = rewards[scored]
        if (values == 1).all():
            base_advantages[scored] = delta_pos
        elif (values == 0).all():
            base_advantages[scored] = -delta_neg
        else:
            base_advantages[scored] = group_relative_advantages(values, group_ids[scored])
    return base_advantages
"""

wrong("grpo_as_it_was", "a zero-variance group gives no signal, as in GRPO | 零方差组没有信号，像 GRPO 那样",
      caught_by="check_cast_base_advantages_all_correct_group",
      todo_1="base_advantages = group_relative_advantages(rewards, group_ids)")

wrong("all_correct_is_done", "an all-correct group has nothing left to learn | 全对组没什么可学的了",
      caught_by="check_cast_base_advantages_all_correct_group",
      todo_1=but(BASE, "= delta_pos", "= 0.0"))

wrong("all_correct_gets_one", "an all-correct group keeps its reward | 全对组保留它的奖励",
      caught_by="check_cast_base_advantages_all_correct_group",
      todo_1=but(BASE, "= delta_pos", "= values"))

wrong("delta_shared", "the group shares one delta | 整组分一个 delta",
      caught_by="check_cast_base_advantages_all_correct_group",
      todo_1=but(BASE, "= delta_pos", "= delta_pos / len(values)"))

wrong("delta_times_group_size", "a larger group gets a larger delta | 组越大，delta 越大",
      caught_by="check_cast_base_advantages_all_correct_group",
      todo_1=but(BASE, "= delta_pos", "= delta_pos * len(values)"))

wrong("all_correct_pushed_down", "an all-correct group is overconfident | 全对组过于自信，要压一压",
      caught_by="check_cast_base_advantages_all_correct_group",
      todo_1=but(BASE, "= delta_pos", "= -delta_pos"))

wrong("both_signs_exchanged", "a zero-variance group is pushed toward variance | 零方差组要推向有方差的一边",
      caught_by="check_cast_base_advantages_all_correct_group",
      todo_1=but(BASE, "= delta_pos", "= -delta_pos", "= -delta_neg", "= delta_neg"))

wrong("first_of_an_all_correct_group", "one completion of an all-correct group is enough | 全对组只需一条回答",
      caught_by="check_cast_base_advantages_all_correct_group",
      todo_1=but(BASE, "base_advantages[scored] = delta_pos", "base_advantages[scored.nonzero()[:1]] = delta_pos"))

wrong("all_wrong_positive", "delta_neg is negative already | delta_neg 本来就是负数",
      caught_by="check_cast_base_advantages_all_wrong_group",
      todo_1=but(BASE, "= -delta_neg", "= delta_neg"))

wrong("all_wrong_is_lost", "an all-wrong group teaches nothing | 全错组什么也教不了",
      caught_by="check_cast_base_advantages_all_wrong_group",
      todo_1=but(BASE, "= -delta_neg", "= 0.0"))

wrong("all_wrong_gets_minus_one", "wrong is minus one | 答错就是负一",
      caught_by="check_cast_base_advantages_all_wrong_group",
      todo_1=but(BASE, "= -delta_neg", "= -1.0"))

wrong("all_wrong_shared", "the all-wrong group shares one delta | 全错组分一个 delta",
      caught_by="check_cast_base_advantages_all_wrong_group",
      todo_1=but(BASE, "= -delta_neg", "= -delta_neg / len(values)"))

wrong("zero_is_missing", "a reward of 0 is no reward | 奖励为 0 就是没有奖励",
      caught_by="check_cast_base_advantages_all_wrong_group",
      todo_1=but(BASE, "~rewards.isnan()", "(rewards > 0)"))

wrong("delta_times_reward", "a delta is weighted by the reward | delta 按奖励加权",
      caught_by="check_cast_base_advantages_all_wrong_group",
      todo_1=but(BASE, "= -delta_neg", "= -delta_neg * values"))

wrong("deltas_exchanged", "delta_neg is for correct groups | delta_neg 用于全对组",
      caught_by="check_cast_base_advantages_two_deltas",
      todo_1=but(BASE, "= delta_pos", "= delta_neg", "= -delta_neg", "= -delta_pos"))

wrong("one_delta_for_both", "the deltas are one number with two signs | 两个 delta 是同一个数，只差符号",
      caught_by="check_cast_base_advantages_two_deltas",
      todo_1=but(BASE, "= -delta_neg", "= -delta_pos"))

wrong("mean_of_the_deltas", "both sides are treated alike | 两侧一视同仁",
      caught_by="check_cast_base_advantages_two_deltas",
      todo_1=but(BASE, "= delta_pos", "= (delta_pos + delta_neg) / 2", "= -delta_neg", "= -(delta_pos + delta_neg) / 2"))

wrong("whole_batch_decides", "a batch is all correct, all wrong or mixed | 由整批决定是全对、全错还是混合",
      caught_by="check_cast_base_advantages_two_deltas",
      todo_1=but(BASE, "(values == 1).all()", "(rewards[~rewards.isnan()] == 1).all()",
                 "(values == 0).all()", "(rewards[~rewards.isnan()] == 0).all()"))

wrong("earlier_groups_lost", "each group starts a new result | 每个组都重新建立结果",
      caught_by="check_cast_base_advantages_two_deltas",
      todo_1="base_advantages = torch.zeros_like(rewards)\n" + BASE.strip())

wrong("first_reward_decides", "the batch is sorted by reward | 一批按奖励排好了序",
      caught_by="check_cast_base_advantages_two_deltas",
      todo_1=but(BASE, "(values == 1).all()", "(values == values[0]).all() and rewards[0] == 1",
                 "(values == 0).all()", "(values == values[0]).all()"))

wrong("deltas_of_the_code", "the defaults are those of the prototype, 1 | 默认值是原型代码里的 1",
      caught_by="check_cast_base_advantages_default_deltas",
      function=but(BASE_FUNCTION, "delta_pos=0.1, delta_neg=0.1", "delta_pos=1.0, delta_neg=1.0"))

wrong("harder_on_wrong_groups", "wrong groups weigh more by default | 默认对全错组更重",
      caught_by="check_cast_base_advantages_default_deltas",
      function=but(BASE_FUNCTION, "delta_neg=0.1", "delta_neg=0.2"))

wrong("no_delta_by_default", "without an argument it is GRPO | 不传参数就是 GRPO",
      caught_by="check_cast_base_advantages_default_deltas",
      function=but(BASE_FUNCTION, "delta_pos=0.1, delta_neg=0.1", "delta_pos=0.0, delta_neg=0.0"))

wrong("deltas_everywhere", "every completion gets a delta by its own reward | 每条回答都按自己的奖励得到 delta",
      caught_by="check_cast_base_advantages_mixed_group_is_group_relative",
      todo_1=but(BASE, "group_relative_advantages(values, group_ids[scored])", "torch.where(values == 1, delta_pos, -delta_neg)"))

wrong("deltas_added_in_mixed_groups", "the deltas are added to every advantage | delta 加在每个优势上",
      caught_by="check_cast_base_advantages_mixed_group_is_group_relative",
      todo_1=but(BASE, "group_relative_advantages(values, group_ids[scored])",
                 "group_relative_advantages(values, group_ids[scored]) + torch.where(values == 1, delta_pos, -delta_neg)"))

wrong("mixed_centered_only", "a mixed group is only centered, as in Dr.GRPO | 混合组只减均值，像 Dr.GRPO 那样",
      caught_by="check_cast_base_advantages_mixed_group_is_group_relative",
      todo_1=but(BASE, "group_ids[scored])", 'group_ids[scored], scale="none")'))

wrong("mixed_with_ddof_1", "the standard deviation divides by the number minus one | 标准差除以个数减一",
      caught_by="check_cast_base_advantages_mixed_group_is_group_relative",
      todo_1=but(BASE, "group_ids[scored])", "group_ids[scored], ddof=1)"))

wrong("mixed_as_in_trl", "the standard deviation is TRL's | 标准差用 TRL 的",
      caught_by="check_cast_base_advantages_mixed_group_is_group_relative",
      todo_1=but(BASE, "group_ids[scored])", "group_ids[scored], ddof=1, eps=1e-4)"))

wrong("mixed_leave_one_out", "the baseline is RLOO's | 基线用 RLOO 的",
      caught_by="check_cast_base_advantages_mixed_group_is_group_relative",
      todo_1=but(BASE, "group_relative_advantages(values, group_ids[scored])", "values - (values.sum() - values) / (len(values) - 1)"))

wrong("mixed_plus_minus_one", "correct is +1 and wrong is -1 | 答对是 +1，答错是 -1",
      caught_by="check_cast_base_advantages_mixed_group_is_group_relative",
      todo_1=but(BASE, "group_relative_advantages(values, group_ids[scored])", "2 * values - 1"))

wrong("one_correct_makes_all_correct", "any correct completion makes the group correct | 有一条答对就算全对组",
      caught_by="check_cast_base_advantages_mixed_group_is_group_relative",
      todo_1=but(BASE, "(values == 1).all()", "(values == 1).any()"))

wrong("one_wrong_makes_all_wrong", "any wrong completion makes the group wrong | 有一条答错就算全错组",
      caught_by="check_cast_base_advantages_mixed_group_is_group_relative",
      todo_1=but(BASE, "(values == 0).all()", "(values == 0).any()"))

wrong("majority_decides", "a group is what most of its completions are | 多数回答怎样，组就怎样",
      caught_by="check_cast_base_advantages_mixed_group_is_group_relative",
      todo_1=but(BASE, "(values == 1).all()", "values.mean() > 0.7", "(values == 0).all()", "values.mean() < 0.3"))

wrong("mixed_groups_left_out", "CAST is about zero-variance groups | CAST 只处理零方差组",
      caught_by="check_cast_base_advantages_mixed_group_is_group_relative",
      todo_1=but(BASE, "group_relative_advantages(values, group_ids[scored])", "0.0"))

wrong("deltas_as_lower_bound", "no advantage is smaller than its delta | 优势不小于 delta",
      caught_by="check_cast_base_advantages_deltas_leave_mixed_groups_alone",
      todo_1=BASE + """
    base_advantages[scored] = torch.where(
        values == 1, base_advantages[scored].clamp(min=delta_pos), base_advantages[scored].clamp(max=-delta_neg))
""")

wrong("mixed_grows_with_a_large_delta", "a large delta makes mixed groups weigh more too | 大的 delta 也加重混合组",
      caught_by="check_cast_base_advantages_deltas_leave_mixed_groups_alone",
      todo_1=but(BASE, "group_ids[scored])", "group_ids[scored]) * max(1.0, delta_pos)"))

wrong("std_below_a_tenth", "a standard deviation below 0.1 is none | 低于 0.1 的标准差不算方差",
      caught_by="check_cast_base_advantages_one_success_is_mixed",
      todo_1="""
      scored = (group_ids == group) & ~rewards.isnan()
      values = rewards[scored]
      if len(values) and values.std(correction=0) < 0.1:
          base_advantages[scored] = delta_pos if values.mean() > 0.5 else -delta_neg
      elif len(values):
          base_advantages[scored] = group_relative_advantages(values, group_ids[scored])
      """)

wrong("std_below_a_twentieth", "a standard deviation below 0.05 is none | 低于 0.05 的标准差不算方差",
      caught_by="check_cast_base_advantages_one_success_is_mixed",
      todo_1="""
      scored = (group_ids == group) & ~rewards.isnan()
      values = rewards[scored]
      if len(values) and values.std(correction=0) + 1e-6 < 0.05:
          base_advantages[scored] = torch.where(values == 1, delta_pos, -delta_neg)
      elif len(values):
          base_advantages[scored] = group_relative_advantages(values, group_ids[scored])
      """)

wrong("success_rate_rounded", "a success rate below 1 % is 0 | 成功率低于 1% 就是 0",
      caught_by="check_cast_base_advantages_one_success_is_mixed",
      todo_1=but(BASE, "(values == 0).all()", "values.mean().round(decimals=2) == 0"))

wrong("mean_is_close_to_zero", "a mean within 0.01 of 0 is 0 | 与 0 相差不到 0.01 的均值就是 0",
      caught_by="check_cast_base_advantages_one_success_is_mixed",
      todo_1=but(BASE, "(values == 0).all()", "values.mean() < 0.01"))

wrong("first_64_decide", "a group has at most 64 completions | 一个组至多 64 条回答",
      caught_by="check_cast_base_advantages_one_success_is_mixed",
      todo_1=but(BASE, "(values == 0).all()", "(values[:64] == 0).all()"))

wrong("advantage_at_most_20", "an advantage beyond 20 is an outlier | 超过 20 的优势是异常值",
      caught_by="check_cast_base_advantages_one_success_is_mixed",
      todo_1=but(BASE, "group_ids[scored])", "group_ids[scored]).clamp(max=20.0)"))

wrong("mean_above_nine_tenths", "a mean above 0.9 is all correct | 均值高于 0.9 就算全对",
      caught_by="check_cast_base_advantages_one_failure_is_mixed",
      todo_1=but(BASE, "(values == 1).all()", "len(values) == 0 or values.mean() > 0.9"))

wrong("failure_rate_rounded", "a success rate above 99.5 % is 1 | 成功率高于 99.5% 就是 1",
      caught_by="check_cast_base_advantages_one_failure_is_mixed",
      todo_1=but(BASE, "(values == 1).all()", "len(values) == 0 or values.mean().round(decimals=2) == 1"))

wrong("std_below_a_tenth_if_correct", "a standard deviation below 0.1 among correct ones is none | 大多答对时，低于 0.1 的标准差不算方差",
      caught_by="check_cast_base_advantages_one_failure_is_mixed",
      todo_1=but(BASE, "(values == 1).all()", "len(values) == 0 or values.std(correction=0) < 0.1 and values.mean() > 0.5"))

wrong("advantage_at_least_minus_two", "a negative advantage below -2 is an outlier | 低于 -2 的优势是异常值",
      caught_by="check_cast_base_advantages_one_failure_is_mixed",
      todo_1=but(BASE, "group_ids[scored])", "group_ids[scored]).clamp(min=-2.0)"))

wrong("no_epsilon", "a mixed group has a standard deviation, so no epsilon is needed | 混合组必有标准差，不必加 epsilon",
      caught_by="check_cast_base_advantages_divisor",
      todo_1=but(BASE, "group_ids[scored])", "group_ids[scored], eps=0.0)"))

wrong("smaller_epsilon", "the epsilon is 1e-8 | epsilon 是 1e-8",
      caught_by="check_cast_base_advantages_divisor",
      todo_1=but(BASE, "group_ids[scored])", "group_ids[scored], eps=1e-8)"))

wrong("epsilon_as_a_floor", "the standard deviation is at least 1e-6 | 标准差至少取 1e-6",
      caught_by="check_cast_base_advantages_divisor",
      todo_1=but(BASE, "group_relative_advantages(values, group_ids[scored])",
                 "(values - values.mean()) / values.std(correction=0).clamp(min=1e-6)"))

wrong("epsilon_in_the_root", "the epsilon is added to the variance | epsilon 加在方差上",
      caught_by="check_cast_base_advantages_divisor",
      todo_1=but(BASE, "group_relative_advantages(values, group_ids[scored])",
                 "(values - values.mean()) / (values.var(correction=0) + 1e-12).sqrt()"))

wrong("ddof_1_in_large_groups", "in a large group ddof makes no difference | 组大时 ddof 无所谓",
      caught_by="check_cast_base_advantages_divisor",
      todo_1=but(BASE, "group_ids[scored])", "group_ids[scored], ddof=0 if len(values) < 100 else 1)"))

wrong("mean_of_the_batch", "a mixed group is compared with the whole batch | 混合组与整批比较",
      caught_by="check_cast_base_advantages_groups_may_interleave",
      todo_1=but(BASE, "group_relative_advantages(values, group_ids[scored])",
                 "group_relative_advantages(rewards, torch.zeros_like(group_ids))[scored]"))

wrong("ids_count_from_zero", "group ids are 0, 1, 2 | 组编号是 0、1、2",
      caught_by="check_cast_base_advantages_groups_may_interleave",
      todo_1=but(BASE, "& ~rewards.isnan()", "& ~rewards.isnan() & (group_ids >= 0) & (group_ids < len(group_ids.unique()))"))

wrong("cut_into_blocks", "a batch is blocks of G completions, prompt by prompt | 一批就是逐个提示的 G 条回答",
      caught_by="check_cast_base_advantages_groups_may_interleave",
      todo_1=but(BASE, "(group_ids == group)", "(group_ids.sort().values == group)"))

wrong("break_at_a_zero_variance_group", "a zero-variance group ends the loop | 遇到零方差组就结束循环",
      caught_by="check_cast_base_advantages_two_deltas",
      todo_1=but(BASE, "= delta_pos", "= delta_pos\n    break", "= -delta_neg", "= -delta_neg\n    break"))

wrong("break_after_an_all_wrong_group", "after an all-wrong group there is nothing to learn | 全错组之后没什么可学的",
      caught_by="check_cast_base_advantages_groups_may_interleave",
      todo_1=but(BASE, "= -delta_neg", "= -delta_neg\n    break"))

wrong("negative_ids_left_out", "a negative id means no group | 负的编号表示无组",
      caught_by="check_cast_base_advantages_groups_may_interleave",
      todo_1=but(BASE, "& ~rewards.isnan()", "& ~rewards.isnan() & (group_ids >= 0)"))

wrong("whole_result_replaced", "group_relative_advantages gives the whole batch | group_relative_advantages 直接给出整批的结果",
      caught_by="check_cast_base_advantages_groups_write_their_own_places",
      todo_1=but(BASE, "base_advantages[scored] = group_relative_advantages(values, group_ids[scored])",
                 "base_advantages = group_relative_advantages(rewards, group_ids)"))

wrong("ids_as_float", "ids may be compared as float | 编号可以转成浮点数比较",
      caught_by="check_cast_base_advantages_ids_may_be_any_integers",
      todo_1=but(BASE, "(group_ids == group)", "(group_ids.float() == group.float())"))

wrong("ids_as_int32", "int32 holds any id | int32 装得下任何编号",
      caught_by="check_cast_base_advantages_ids_may_be_any_integers",
      todo_1=but(BASE, "(group_ids == group)", "(group_ids.int() == group.int())"))

wrong("ids_as_int8", "a batch has few groups, so int8 is enough | 一批的组不多，int8 足够",
      caught_by="check_cast_base_advantages_ids_may_be_any_integers",
      todo_1=but(BASE, "(group_ids == group)", "(group_ids.to(torch.int8) == group.to(torch.int8))"))

wrong("ids_without_sign", "an id has no sign | 编号没有正负",
      caught_by="check_cast_base_advantages_ids_may_be_any_integers",
      todo_1=but(BASE, "(group_ids == group)", "(group_ids.abs() == group.abs())"))

wrong("minus_one_is_no_group", "id -1 means no group | 编号 -1 表示无组",
      caught_by="check_cast_base_advantages_ids_may_be_any_integers",
      todo_1=but(BASE, "& ~rewards.isnan()", "& (group_ids != -1) & ~rewards.isnan()"))

wrong("missing_as_wrong", "a missing reward is a wrong answer | 缺失奖励就是答错",
      caught_by="check_cast_base_advantages_missing_is_not_a_wrong_answer",
      todo_1="""
      inside = group_ids == group
      values = rewards[inside].nan_to_num(nan=0.0)
      if (values == 1).all():
          base_advantages[inside] = delta_pos
      elif (values == 0).all():
          base_advantages[inside] = -delta_neg
      else:
          base_advantages[inside] = group_relative_advantages(values, group_ids[inside])
      """)

wrong("missing_as_wrong_in_the_kind_of_group", "an all-correct group is one whose rewards sum to its size | 奖励之和等于组大小才是全对组",
      caught_by="check_cast_base_advantages_missing_is_not_a_wrong_answer",
      todo_1=but(BASE, "(values == 1).all()", "values.sum() == (group_ids == group).sum()"))

wrong("missing_as_correct", "what was not scored was not wrong | 没有评分就不算错",
      caught_by="check_cast_base_advantages_missing_is_not_a_wrong_answer",
      todo_1="""
      inside = group_ids == group
      values = rewards[inside].nan_to_num(nan=1.0)
      if (values == 1).all():
          base_advantages[inside] = delta_pos
      elif (values == 0).all():
          base_advantages[inside] = -delta_neg
      else:
          base_advantages[inside] = group_relative_advantages(values, group_ids[inside])
      base_advantages[rewards.isnan()] = 0.0
      """)

wrong("missing_spoils_the_group", "a group with a missing reward gives no signal | 含缺失奖励的组没有信号",
      caught_by="check_cast_base_advantages_missing_is_not_a_wrong_answer",
      todo_1=but(BASE, "if (values == 1).all()", "if rewards[group_ids == group].isnan().any():\n    pass\nelif (values == 1).all()"))

wrong("nan_compared", "NaN is neither 0 nor 1, so the group is mixed | NaN 既不是 0 也不是 1，所以是混合组",
      caught_by="check_cast_base_advantages_missing_is_not_a_wrong_answer",
      todo_1=but(BASE, "(values == 1).all()", "(rewards[group_ids == group] == 1).all()",
                 "(values == 0).all()", "(rewards[group_ids == group] == 0).all()"))

wrong("delta_for_the_whole_group", "the delta is the group's, so everyone gets it | delta 属于整组，人人有份",
      caught_by="check_cast_base_advantages_missing_has_no_signal",
      todo_1=but(BASE, "base_advantages[scored] = delta_pos", "base_advantages[group_ids == group] = delta_pos",
                 "base_advantages[scored] = -delta_neg", "base_advantages[group_ids == group] = -delta_neg"))

wrong("missing_stays_nan", "a missing reward gives a missing advantage | 缺失奖励给出缺失的优势",
      caught_by="check_cast_base_advantages_missing_has_no_signal",
      todo_1=BASE + "base_advantages[rewards.isnan()] = math.nan\n")

wrong("missing_gets_minus_delta", "without a reward there is at least no success | 没有奖励至少不算成功",
      caught_by="check_cast_base_advantages_missing_has_no_signal",
      todo_1=BASE + "base_advantages[rewards.isnan()] = -delta_neg\n")

wrong("alone_is_zero", "a single completion cannot be compared | 单独一条回答无从比较",
      caught_by="check_cast_base_advantages_one_completion_is_a_zero_variance_group",
      todo_1=but(BASE, "if (values == 1).all()", "if len(values) < 2:\n    pass\nelif (values == 1).all()"))

wrong("std_of_one", "the standard deviation tells a zero-variance group | 由标准差判断零方差组",
      caught_by="check_cast_base_advantages_one_completion_is_a_zero_variance_group",
      todo_1="""
      scored = (group_ids == group) & ~rewards.isnan()
      values = rewards[scored]
      if values.std() == 0:
          base_advantages[scored] = delta_pos if values[0] == 1 else -delta_neg
      elif len(values):
          base_advantages[scored] = group_relative_advantages(values, group_ids[scored])
      """)

wrong("group_of_one_by_size", "a group of size one is left out | 大小为一的组不参与",
      caught_by="check_cast_base_advantages_one_completion_is_a_zero_variance_group",
      todo_1=but(BASE, "if (values == 1).all()", "if (group_ids == group).sum() == 1:\n    pass\nelif (values == 1).all()"))

wrong("one_scored_is_zero", "two rewards make a group | 两条奖励才成组",
      caught_by="check_cast_base_advantages_one_completion_is_a_zero_variance_group",
      todo_1=but(BASE, "(values == 1).all()", "len(values) != 1 and (values == 1).all()",
                 "(values == 0).all()", "len(values) != 1 and (values == 0).all()"))

wrong("no_reward_crashes", "every group has a reward | 每个组都有奖励",
      caught_by="check_cast_base_advantages_group_without_any_reward",
      todo_1=but(BASE, "(values == 1).all()", "values.min() == 1", "(values == 0).all()", "values.max() == 0"))

wrong("mean_of_no_reward", "the mean tells the kind of group | 由均值判断组的种类",
      caught_by="check_cast_base_advantages_group_without_any_reward",
      todo_1=but(BASE, "(values == 1).all()", "values.mean() == 1", "(values == 0).all()", "values.mean() == 0"))

wrong("break_at_a_group_without_reward", "no reward in a group means no rewards at all | 一个组没有奖励，就是全都没有",
      caught_by="check_cast_base_advantages_group_without_any_reward",
      todo_1=but(BASE, "if (values == 1).all()", "if len(values) == 0:\n    break\nif (values == 1).all()"))

wrong("return_at_a_group_without_reward", "a group without reward leaves nothing to do | 遇到没有奖励的组就没什么可算了",
      caught_by="check_cast_base_advantages_group_without_any_reward",
      todo_1=but(BASE, "if (values == 1).all()", "if len(values) == 0:\n    return base_advantages\nif (values == 1).all()"))

wrong("delta_within_the_final_clip", "base advantages lie within 1.2 already | 基础优势已在 1.2 之内",
      caught_by="check_cast_base_advantages_deltas_have_no_limit",
      todo_1=but(BASE, "= delta_pos", "= min(delta_pos, 1.2)", "= -delta_neg", "= -min(delta_neg, 1.2)"))

wrong("delta_within_ten", "a delta beyond 10 is a mistake | 超过 10 的 delta 一定是写错了",
      caught_by="check_cast_base_advantages_deltas_have_no_limit",
      todo_1=but(BASE, "= -delta_neg", "= -min(delta_neg, 10.0)"))

wrong("zero_delta_is_the_default", "a delta of 0 means the default | delta 为 0 就是用默认值",
      caught_by="check_cast_base_advantages_deltas_have_no_limit",
      todo_1=but(BASE, "= delta_pos", "= delta_pos or 0.1", "= -delta_neg", "= -(delta_neg or 0.1)"))

wrong("integers_kept", "0/1 rewards stay integers | 0/1 奖励保持为整数",
      caught_by="check_cast_base_advantages_takes_integer_rewards",
      function=but(BASE_FUNCTION, "torch.zeros_like(rewards)", "torch.zeros_like(given)",
                   "    rewards = rewards.detach()", "    given = rewards\n    rewards = rewards.detach()"))

wrong("float_rewards_only", "a reward is a float | 奖励是浮点数",
      caught_by="check_cast_base_advantages_takes_integer_rewards",
      function=but(BASE_FUNCTION, "rewards.detach() if rewards.is_floating_point() else rewards.float()", "rewards.detach()"))

wrong("always_float32", "an advantage is a float32 | 优势都是 float32",
      caught_by="check_cast_base_advantages_keeps_float64",
      function=but(BASE_FUNCTION, "rewards.detach() if rewards.is_floating_point() else rewards.float()", "rewards.detach().float()"))

wrong("missing_overwritten", "detach() makes a copy | detach() 会复制张量",
      caught_by="check_cast_base_advantages_leaves_rewards_alone",
      todo_1="missing = rewards.isnan()\n" + but(BASE, "~rewards.isnan()", "~missing").strip()
             + "\nrewards[missing & (group_ids == group)] = 0.0\n")

wrong("marks_what_is_done", "a reward that was used may be marked | 用过的奖励可以做上记号",
      caught_by="check_cast_base_advantages_leaves_rewards_alone",
      todo_1=BASE + "rewards[scored] = -1.0\n")

wrong("advantage_carries_a_gradient", "base advantages stay in the graph | 基础优势留在计算图中",
      caught_by="check_cast_base_advantages_is_frozen",
      function=but(BASE_FUNCTION, "rewards.detach() if", "rewards if",
                   "group_relative_advantages(values, group_ids[scored])",
                   "(values - values.mean()) / (values.std(correction=0) + 1e-6)"))

wrong("any_reward_taken", "a reward above one half is correct | 奖励高于一半就算答对",
      caught_by="check_cast_base_advantages_refuses_bad_input",
      function=but(BASE_FUNCTION, "    if not ((rewards == 0) | (rewards == 1) | rewards.isnan()).all():\n        raise ValueError\n", ""))

wrong("any_delta_taken", "a negative delta is the caller's affair | delta 为负是调用者的事",
      caught_by="check_cast_base_advantages_refuses_bad_input",
      function=but(BASE_FUNCTION, "    if not 0 <= delta_pos < math.inf or not 0 <= delta_neg < math.inf:\n        raise ValueError\n", ""))

wrong("rewards_above_one_taken", "a reward of 2 is correct as well | 奖励为 2 也算答对",
      caught_by="check_cast_base_advantages_refuses_bad_input",
      function=but(BASE_FUNCTION, "if not ((rewards == 0) | (rewards == 1) | rewards.isnan()).all():",
                   "if not ((rewards == 0) | (rewards >= 1) | rewards.isnan()).all():"))

wrong("one_end_of_each_delta_checked", "delta_pos is never infinite, delta_neg never negative | delta_pos 不会无穷，delta_neg 不会为负",
      caught_by="check_cast_base_advantages_refuses_bad_input",
      function=but(BASE_FUNCTION, "if not 0 <= delta_pos < math.inf or not 0 <= delta_neg < math.inf:",
                   "if not 0 <= delta_pos or not delta_neg < math.inf:"))

wrong("nan_delta_taken", "NaN is neither negative nor infinite | NaN 既不是负数也不是无穷",
      caught_by="check_cast_base_advantages_refuses_bad_input",
      function=but(BASE_FUNCTION, "if not 0 <= delta_pos < math.inf or not 0 <= delta_neg < math.inf:",
                   "if delta_pos < 0 or delta_neg < 0 or math.inf in (delta_pos, delta_neg):"))

wrong("any_number_of_dimensions_taken", "rewards may be a table of groups | 奖励可以是按组排列的表",
      caught_by="check_cast_base_advantages_refuses_bad_input",
      function=but(BASE_FUNCTION, "rewards.ndim != 1 or ", ""))

wrong("any_group_ids_taken", "a group id may be a float | 组编号可以是浮点数",
      caught_by="check_cast_base_advantages_refuses_bad_input",
      function=but(BASE_FUNCTION, " or group_ids.dtype != torch.int64", ""))

# TODO 2: self_teacher_gap

GAP = """
differences = (teacher_token_logps - old_token_logps).detach()
gaps = differences.masked_fill(~completion_mask | (differences.abs() <= dead_band), 0.0)
"""
GAP_FUNCTION = """
def self_teacher_gap(teacher_token_logps, old_token_logps, completion_mask, dead_band=0.0):
    require_token_values(completion_mask, teacher_token_logps, old_token_logps)
    if not 0 <= dead_band < math.inf:
        raise ValueError
    differences = (teacher_token_logps - old_token_logps).detach()
    return differences.masked_fill(~completion_mask | (differences.abs() <= dead_band), 0.0)
"""

wrong("old_minus_teacher", "the gap is what the student is ahead | 间隙是学生领先多少",
      caught_by="check_self_teacher_gap_sign",
      todo_2=but(GAP, "teacher_token_logps - old_token_logps", "old_token_logps - teacher_token_logps"))

wrong("distance", "a gap is a distance | 间隙是距离",
      caught_by="check_self_teacher_gap_sign",
      todo_2=but(GAP, "(teacher_token_logps - old_token_logps)", "(teacher_token_logps - old_token_logps).abs()"))

wrong("student_alone", "the gap is the student's surprise | 间隙就是学生的意外程度",
      caught_by="check_self_teacher_gap_sign",
      todo_2=but(GAP, "(teacher_token_logps - old_token_logps)", "old_token_logps"))

wrong("gap_is_always_zero", "a teacher of the same weights has no gap | 权重相同的自教师没有间隙",
      caught_by="check_self_teacher_gap_sign",
      todo_2="gaps = torch.zeros_like(old_token_logps)")

wrong("k3_of_the_teacher", "the gap is the KL from the teacher | 间隙就是与自教师的 KL",
      caught_by="check_self_teacher_gap_sign",
      todo_2=but(GAP, "(teacher_token_logps - old_token_logps)",
                 "(torch.expm1(teacher_token_logps - old_token_logps) - (teacher_token_logps - old_token_logps))"))

wrong("ratio_for_gap", "the gap is the ratio of the two probabilities | 间隙是两个概率之比",
      caught_by="check_self_teacher_gap_sign",
      todo_2=but(GAP, "(teacher_token_logps - old_token_logps)", "torch.exp(teacher_token_logps - old_token_logps)"))

wrong("ratio_minus_one", "the gap is the ratio minus 1 | 间隙是比率减 1",
      caught_by="check_self_teacher_gap_is_a_difference_of_logs",
      todo_2=but(GAP, "(teacher_token_logps - old_token_logps)", "torch.expm1(teacher_token_logps - old_token_logps)"))

wrong("squeezed", "a dimension of size 1 is superfluous | 大小为 1 的维度是多余的",
      caught_by="check_self_teacher_gap_sign",
      todo_2=GAP + "gaps = gaps.squeeze()\n")

wrong("difference_of_probabilities", "the gap is the difference of the two probabilities | 间隙是两个概率之差",
      caught_by="check_self_teacher_gap_is_a_difference_of_logs",
      todo_2=but(GAP, "(teacher_token_logps - old_token_logps)", "(teacher_token_logps.exp() - old_token_logps.exp())"))

wrong("weighted_by_the_teacher", "a gap is weighted by the teacher's probability | 间隙按自教师的概率加权",
      caught_by="check_self_teacher_gap_is_a_difference_of_logs",
      todo_2=but(GAP, "(teacher_token_logps - old_token_logps)",
                 "(teacher_token_logps.exp() * (teacher_token_logps - old_token_logps))"))

wrong("teacher_alone", "the gap is the teacher's log-probability | 间隙就是自教师的对数概率",
      caught_by="check_self_teacher_gap_sign",
      todo_2=but(GAP, "(teacher_token_logps - old_token_logps)", "teacher_token_logps"))

wrong("sign_of_the_gap", "only the gap's sign matters | 只看间隙的符号",
      caught_by="check_self_teacher_gap_is_a_difference_of_logs",
      todo_2=but(GAP, "(teacher_token_logps - old_token_logps)", "(teacher_token_logps - old_token_logps).sign()"))

wrong("half_the_gap", "teacher and student meet halfway | 自教师与学生各让一半",
      caught_by="check_self_teacher_gap_is_a_difference_of_logs",
      todo_2=but(GAP, "(teacher_token_logps - old_token_logps)", "(0.5 * (teacher_token_logps - old_token_logps))"))

wrong("gap_within_one", "a gap beyond 1 is an outlier | 超过 1 的间隙是异常值",
      caught_by="check_self_teacher_gap_is_a_difference_of_logs",
      todo_2=but(GAP, ".detach()", ".detach().clamp(-1.0, 1.0)"))

wrong("mean_gap_of_the_completion", "gaps are averaged over the tokens of a completion | 间隙对一条回答的 Token 取平均",
      caught_by="check_self_teacher_gap_one_for_each_token",
      todo_2=but(GAP, ".detach()", ".detach()\n"
                 "means = differences.masked_fill(~completion_mask, 0.0).sum(-1, keepdim=True) / completion_mask.sum(-1, keepdim=True)\n"
                 "differences = means.expand_as(completion_mask)"))

wrong("sum_of_gaps", "a completion has one gap, the sum | 一条回答只有一个间隙，即总和",
      caught_by="check_self_teacher_gap_one_for_each_token",
      todo_2=but(GAP, ".detach()", ".detach()\n"
                 "differences = differences.masked_fill(~completion_mask, 0.0).sum(-1, keepdim=True).expand_as(completion_mask)"))

wrong("gaps_so_far", "a token's gap holds those before it | 一个 Token 的间隙包含它之前的",
      caught_by="check_self_teacher_gap_one_for_each_token",
      todo_2=but(GAP, ".detach()", ".detach().masked_fill(~completion_mask, 0.0).cumsum(-1)"))

wrong("centered_gaps", "gaps are relative to their completion's mean | 间隙要减去所在回答的平均",
      caught_by="check_self_teacher_gap_one_for_each_token",
      todo_2=but(GAP, ".detach()", ".detach()\n"
                 "if differences.shape[1] > 1:\n    differences = differences - differences.mean(-1, keepdim=True)"))

wrong("shifted_teacher", "the teacher's scores are one position ahead | 自教师的对数概率要错开一位",
      caught_by="check_self_teacher_gap_one_for_each_token",
      todo_2=but(GAP, "teacher_token_logps -", "teacher_token_logps.roll(1, dims=1) -"))

wrong("quotient_of_probabilities", "the gap is the log of a quotient of probabilities | 间隙是概率之商的对数",
      caught_by="check_self_teacher_gap_zero_after_a_refresh",
      todo_2=but(GAP, "(teacher_token_logps - old_token_logps)", "(teacher_token_logps.exp() / old_token_logps.exp()).log()"))

wrong("epsilon_inside_the_logs", "an epsilon keeps the logarithm safe | 加一个 epsilon 使对数安全",
      caught_by="check_self_teacher_gap_zero_after_a_refresh",
      todo_2=but(GAP, "(teacher_token_logps - old_token_logps)", "(teacher_token_logps - old_token_logps + 1e-6)"))

wrong("old_in_half_precision", "old log-probabilities may be stored in half precision | 旧策略的对数概率可以用半精度保存",
      caught_by="check_self_teacher_gap_zero_after_a_refresh",
      todo_2=but(GAP, "old_token_logps)", "old_token_logps.half().to(teacher_token_logps.dtype))"))

wrong("teacher_learns", "the teacher is trained along with the student | 自教师与学生一起训练",
      caught_by="check_self_teacher_gap_teacher_is_frozen",
      todo_2=but(GAP, "(teacher_token_logps - old_token_logps).detach()", "teacher_token_logps - old_token_logps.detach()"))

wrong("gap_in_the_graph", "the gap is a loss term with a gradient | 间隙是带梯度的损失项",
      caught_by="check_self_teacher_gap_teacher_is_frozen",
      todo_2=but(GAP, ".detach()", ""))

wrong("teacher_learns_beyond_the_dead_band", "what the dead band lets through may learn | 死区放行的就可以学习",
      caught_by="check_self_teacher_gap_teacher_is_frozen",
      todo_2="""
      differences = teacher_token_logps - old_token_logps
      if dead_band == 0:
          differences = differences.detach()
      gaps = differences.masked_fill(~completion_mask | (differences.abs() <= dead_band), 0.0)
      """)

wrong("old_policy_learns", "the student of the gap is the policy being updated | 间隙中的学生是正在更新的策略",
      caught_by="check_self_teacher_gap_old_policy_is_frozen",
      todo_2=but(GAP, "(teacher_token_logps - old_token_logps).detach()", "teacher_token_logps.detach() - old_token_logps"))

wrong("old_policy_learns_if_alone", "a single completion needs no detach | 只有一条回答时不必停止梯度",
      caught_by="check_self_teacher_gap_old_policy_is_frozen",
      todo_2="""
      old = old_token_logps.detach() if len(old_token_logps) > 1 else old_token_logps
      differences = teacher_token_logps.detach() - old
      gaps = differences.masked_fill(~completion_mask | (differences.abs() <= dead_band), 0.0)
      """)

wrong("mask_ignored", "padding cancels in the difference | 填充在求差时会抵消",
      caught_by="check_self_teacher_gap_leaves_padding_out",
      todo_2=but(GAP, "~completion_mask | ", ""))

wrong("mask_inverted", "True marks padding | True 表示填充",
      caught_by="check_self_teacher_gap_sign",
      todo_2=but(GAP, "~completion_mask", "completion_mask"))

wrong("prefix_by_length", "a completion is its first tokens, as many as the mask has | 回答就是最前面的若干 Token",
      caught_by="check_self_teacher_gap_leaves_padding_out",
      todo_2=but(GAP, "~completion_mask",
                 "(torch.arange(completion_mask.shape[1]) >= completion_mask.sum(dim=1, keepdim=True))"))

wrong("stops_at_the_first_padding", "a completion ends at its first padding | 回答到第一个填充为止",
      caught_by="check_self_teacher_gap_leaves_padding_out",
      todo_2=but(GAP, "~completion_mask", "~completion_mask.cumprod(dim=1).bool()"))

wrong("padding_gets_minus_infinity", "masked positions get -inf, as before a softmax | 掩码位置填 -inf，像 softmax 之前那样",
      caught_by="check_self_teacher_gap_leaves_padding_out",
      todo_2=GAP + "gaps = gaps.masked_fill(~completion_mask, -math.inf)\n")

wrong("sixteen_completions", "a batch has at most 16 completions | 一批至多 16 条回答",
      caught_by="check_self_teacher_gap_leaves_padding_out",
      todo_2=but(GAP, "~completion_mask", "~completion_mask | (torch.arange(len(completion_mask)) >= 16)[:, None]"))

wrong("empty_rows_taken_as_full", "a completion without a valid token has no padding | 没有有效 Token 的回答就没有填充",
      caught_by="check_self_teacher_gap_leaves_padding_out",
      todo_2=but(GAP, "~completion_mask", "(~completion_mask & completion_mask.any(dim=1, keepdim=True))"))

wrong("multiplied_by_mask", "multiplying by 0 removes anything | 乘以 0 就能去掉任何值",
      caught_by="check_self_teacher_gap_padding_may_be_infinite",
      todo_2="""
      differences = (teacher_token_logps - old_token_logps).detach() * completion_mask
      gaps = differences * (differences.abs() > dead_band)
      """)

wrong("kept_by_multiplying", "what counts is multiplied by 1, the rest by 0 | 算数的乘以 1，其余乘以 0",
      caught_by="check_self_teacher_gap_padding_may_be_infinite",
      todo_2=but(GAP, "differences.masked_fill(~completion_mask | (differences.abs() <= dead_band), 0.0)",
                 "differences * (completion_mask & (differences.abs() > dead_band))"))

wrong("nan_left_in_padding", "a NaN in the padding is caught later | 填充处的 NaN 以后再处理",
      caught_by="check_self_teacher_gap_padding_may_be_infinite",
      todo_2=but(GAP, "~completion_mask |", "(~completion_mask & ~differences.isnan()) |"))

wrong("dead_band_ignored", "the dead band is switched off | 死区没有打开",
      caught_by="check_self_teacher_gap_dead_band_has_two_sides",
      todo_2=but(GAP, " | (differences.abs() <= dead_band)", ""))

wrong("dead_band_above_only", "small positive gaps are noise | 小的正间隙是噪声",
      caught_by="check_self_teacher_gap_dead_band_has_two_sides",
      todo_2=but(GAP, "(differences.abs() <= dead_band)", "((differences >= 0) & (differences <= dead_band))"))

wrong("dead_band_below_only", "small negative gaps are noise | 小的负间隙是噪声",
      caught_by="check_self_teacher_gap_dead_band_has_two_sides",
      todo_2=but(GAP, "(differences.abs() <= dead_band)", "((differences <= 0) & (differences >= -dead_band))"))

wrong("dead_band_drops_the_rest", "the dead band is what passes | 死区之内的才通过",
      caught_by="check_self_teacher_gap_dead_band_has_two_sides",
      todo_2="""
      differences = (teacher_token_logps - old_token_logps).detach()
      outside = differences.abs() > dead_band if dead_band > 0 else torch.zeros_like(completion_mask)
      gaps = differences.masked_fill(~completion_mask | outside, 0.0)
      """)

wrong("dead_band_on_the_mean", "a completion lies in the dead band as a whole | 整条回答一起落在死区内",
      caught_by="check_self_teacher_gap_dead_band_has_two_sides",
      todo_2=but(GAP, "differences.abs() <= dead_band",
                 "differences.masked_fill(~completion_mask, 0.0).abs().mean(dim=1, keepdim=True) <= dead_band"))

wrong("dead_band_on_the_square", "the dead band is compared with the square | 死区与平方相比",
      caught_by="check_self_teacher_gap_dead_band_is_on_the_gap",
      todo_2=but(GAP, "differences.abs() <= dead_band", "differences.square() <= dead_band"))

wrong("dead_band_on_the_ratio", "the dead band is around the ratio 1, as in the prototype | 死区围绕比率 1，像原型代码那样",
      caught_by="check_self_teacher_gap_dead_band_is_on_the_gap",
      todo_2=but(GAP, "differences.abs() <= dead_band", "torch.expm1(differences).abs() <= dead_band"))

wrong("dead_band_as_a_log", "the dead band is a ratio, so its logarithm counts | 死区是比率，要取对数",
      caught_by="check_self_teacher_gap_dead_band_is_on_the_gap",
      todo_2=but(GAP, "<= dead_band", "<= math.log1p(dead_band)"))

wrong("dead_band_relative", "a gap is small against its log-probability | 间隙的大小要相对于对数概率来看",
      caught_by="check_self_teacher_gap_dead_band_is_on_the_gap",
      todo_2=but(GAP, "<= dead_band", "<= dead_band * old_token_logps.abs() / 5.0"))

wrong("dead_band_is_the_whole_width", "half of the dead band lies on each side | 死区两侧各占一半",
      caught_by="check_self_teacher_gap_dead_band_is_on_the_gap",
      todo_2=but(GAP, "<= dead_band", "<= dead_band / 2"))

wrong("soft_threshold", "the dead band is taken off every gap | 每个间隙都减去死区",
      caught_by="check_self_teacher_gap_dead_band_does_not_shrink",
      todo_2="""
      differences = (teacher_token_logps - old_token_logps).detach().masked_fill(~completion_mask, 0.0)
      gaps = differences.sign() * (differences.abs() - dead_band).clamp(min=0.0)
      """)

wrong("shrunk_above_only", "positive gaps are counted from the edge of the dead band | 正间隙从死区的边缘算起",
      caught_by="check_self_teacher_gap_dead_band_does_not_shrink",
      todo_2=GAP + "gaps = torch.where(gaps > 0, gaps - dead_band, gaps)\n")

wrong("beyond_the_dead_band_it_is_the_sign", "beyond the dead band only the sign counts | 死区之外只看符号",
      caught_by="check_self_teacher_gap_dead_band_does_not_shrink",
      todo_2=GAP + "gaps = gaps.sign() if dead_band > 0 else gaps\n")

wrong("edge_left_out", "the edge does not belong to the dead band | 边缘不属于死区",
      caught_by="check_self_teacher_gap_dead_band_includes_its_edge",
      todo_2=but(GAP, "differences.abs() <= dead_band", "differences.abs() < dead_band"))

wrong("edge_on_one_side", "the lower edge does not belong to the dead band | 下边缘不属于死区",
      caught_by="check_self_teacher_gap_dead_band_includes_its_edge",
      todo_2=but(GAP, "(differences.abs() <= dead_band)", "((differences <= dead_band) & (differences > -dead_band))"))

wrong("edge_on_the_other_side", "the upper edge does not belong to the dead band | 上边缘不属于死区",
      caught_by="check_self_teacher_gap_dead_band_includes_its_edge",
      todo_2=but(GAP, "(differences.abs() <= dead_band)", "((differences < dead_band) & (differences >= -dead_band))"))

wrong("dead_band_of_the_code", "the default dead band is 0.05, as in later configurations | 死区默认 0.05，像后来的配置那样",
      caught_by="check_self_teacher_gap_no_dead_band_by_default",
      function=but(GAP_FUNCTION, "dead_band=0.0", "dead_band=0.05"))

wrong("gaps_below_1e_5_are_noise", "a gap below 1e-5 is rounding | 低于 1e-5 的间隙是舍入误差",
      caught_by="check_self_teacher_gap_no_dead_band_by_default",
      todo_2=but(GAP, "<= dead_band", "<= max(dead_band, 1e-5)"))

wrong("gaps_rounded", "digits after the fourth are noise | 第四位小数之后都是噪声",
      caught_by="check_self_teacher_gap_no_dead_band_by_default",
      todo_2=but(GAP, ".detach()", ".detach().round(decimals=4)"))

wrong("close_counts_as_equal", "torch.isclose tells where the two agree | torch.isclose 能判断两者是否一致",
      caught_by="check_self_teacher_gap_no_dead_band_by_default",
      todo_2=but(GAP, "(differences.abs() <= dead_band)",
                 "(differences.abs() <= dead_band) | torch.isclose(teacher_token_logps, old_token_logps)"))

wrong("gap_within_20", "a gap is held within -20 and 20 to be safe | 为保险起见把间隙限制在 -20 与 20 之间",
      caught_by="check_self_teacher_gap_has_no_limit",
      todo_2=but(GAP, ".detach()", ".detach().clamp(-20.0, 20.0)"))

wrong("gap_within_50", "a gap beyond 50 cannot be | 间隙不可能超过 50",
      caught_by="check_self_teacher_gap_has_no_limit",
      todo_2=but(GAP, ".detach()", ".detach().clamp(-50.0, 50.0)"))

wrong("teacher_at_least_minus_10", "a log-probability below -10 is noise | 低于 -10 的对数概率是噪声",
      caught_by="check_self_teacher_gap_zero_after_a_refresh",
      todo_2=but(GAP, "(teacher_token_logps -", "(teacher_token_logps.clamp(min=-10.0) -"))

wrong("dead_band_at_most_one", "a dead band beyond 1 makes no sense | 超过 1 的死区没有意义",
      caught_by="check_self_teacher_gap_has_no_limit",
      todo_2=but(GAP, "<= dead_band", "<= min(dead_band, 1.0)"))

wrong("inputs_overwritten", "the caller's padding may be set to 0 | 可以把调用者的填充改写为 0",
      caught_by="check_self_teacher_gap_leaves_inputs_alone",
      todo_2="""
      teacher, old = teacher_token_logps.detach(), old_token_logps.detach()
      differences = teacher.masked_fill_(~completion_mask, 0.0) - old.masked_fill_(~completion_mask, 0.0)
      gaps = differences.masked_fill(differences.abs() <= dead_band, 0.0)
      """)

wrong("subtracted_in_place", "the teacher's scores are not needed afterwards | 之后不再需要自教师的对数概率",
      caught_by="check_self_teacher_gap_leaves_inputs_alone",
      todo_2="""
      differences = teacher_token_logps.detach().sub_(old_token_logps.detach())
      gaps = differences.masked_fill(~completion_mask | (differences.abs() <= dead_band), 0.0)
      """)

wrong("overwritten_without_a_dead_band", "without a dead band there is nothing to compute afterwards | 没有死区，之后就没什么要算的了",
      caught_by="check_self_teacher_gap_leaves_inputs_alone",
      todo_2="""
      teacher = teacher_token_logps.detach()
      if dead_band == 0:
          teacher.masked_fill_(~completion_mask, 0.0)
      differences = teacher - old_token_logps.detach()
      gaps = differences.masked_fill(~completion_mask | (differences.abs() <= dead_band), 0.0)
      """)

wrong("gap_stored_in_float32", "a gap needs no more than float32 | 间隙用 float32 就够了",
      caught_by="check_self_teacher_gap_keeps_float64",
      todo_2=GAP + "gaps = gaps.float()\n")

wrong("gap_in_float32", "float32 is always enough | float32 总是够用",
      caught_by="check_self_teacher_gap_keeps_float64",
      todo_2=but(GAP, "teacher_token_logps - old_token_logps", "teacher_token_logps.float() - old_token_logps.float()"))

wrong("any_mask_taken", "a mask of 0 and 1 is as good as a bool one | 0/1 掩码与布尔掩码一样",
      caught_by="check_self_teacher_gap_refuses_bad_input",
      function=but(GAP_FUNCTION, "    require_token_values(completion_mask, teacher_token_logps, old_token_logps)\n", "",
                   "~completion_mask", "(completion_mask == 0)"))

wrong("any_dead_band_taken", "a negative dead band is no dead band | 负的死区就是没有死区",
      caught_by="check_self_teacher_gap_refuses_bad_input",
      function=but(GAP_FUNCTION, "    if not 0 <= dead_band < math.inf:\n        raise ValueError\n", ""))

wrong("any_old_policy_taken", "the old policy sampled the token, so this is finite | Token 由旧策略采样，对数概率必为有限数",
      caught_by="check_self_teacher_gap_refuses_bad_input",
      function=but(GAP_FUNCTION, "require_token_values(completion_mask, teacher_token_logps, old_token_logps)",
                   "require_token_values(completion_mask, teacher_token_logps)\n"
                   "    if old_token_logps.shape != completion_mask.shape:\n        raise ValueError"))

wrong("nan_dead_band_taken", "NaN is neither negative nor infinite | NaN 既不是负数也不是无穷",
      caught_by="check_self_teacher_gap_refuses_bad_input",
      function=but(GAP_FUNCTION, "if not 0 <= dead_band < math.inf:", "if dead_band < 0 or dead_band == math.inf:"))

# TODO 3: asymmetric_weights

WEIGHTS = """
directions = base.sign() if z == "sign" else 1.0
z_values = torch.exp(directions * gaps)
weights = torch.where(base > 0, z_values.clamp(*positive_bounds), z_values.clamp(*negative_bounds)).detach()
"""
WEIGHTS_FUNCTION = """
def asymmetric_weights(base_advantages, gaps, z="sign", positive_bounds=(0.8, 1.05), negative_bounds=(0.95, 1.2)):
    require_base_and_token_values(base_advantages, gaps)
    require_bounds(positive_bounds, negative_bounds)
    if z not in ("sign", "printed"):
        raise ValueError
    base = base_advantages.unsqueeze(-1)
    directions = base.sign() if z == "sign" else 1.0
    z_values = torch.exp(directions * gaps)
    return torch.where(base > 0, z_values.clamp(*positive_bounds), z_values.clamp(*negative_bounds)).detach()
"""

wrong("gap_is_the_weight", "the gap itself is clipped | 直接裁剪间隙",
      caught_by="check_asymmetric_weights_one_where_there_is_no_gap",
      todo_3=but(WEIGHTS, "torch.exp(directions * gaps)", "directions * gaps"))

wrong("ratio_minus_one", "a weight is what is added, exp(gap) - 1 | 权重是增量，exp(gap) - 1",
      caught_by="check_asymmetric_weights_one_where_there_is_no_gap",
      todo_3=but(WEIGHTS, "torch.exp(", "torch.expm1("))

wrong("weight_with_a_sign", "the weight carries the sign of B | 权重带有 B 的符号",
      caught_by="check_asymmetric_weights_one_where_there_is_no_gap",
      todo_3=but(WEIGHTS, ".detach()", ".detach() * base.sign()"))

wrong("sign_outside_exp", "sign(B) multiplies exp(gap) | sign(B) 乘在 exp(gap) 外面",
      caught_by="check_asymmetric_weights_one_where_there_is_no_gap",
      todo_3=but(WEIGHTS, "torch.exp(directions * gaps)", "directions * torch.exp(gaps)"))

wrong("sigmoid", "a weight lies between 0 and 1 | 权重在 0 与 1 之间",
      caught_by="check_asymmetric_weights_one_where_there_is_no_gap",
      todo_3=but(WEIGHTS, "torch.exp(directions * gaps)", "torch.sigmoid(directions * gaps)"))

wrong("softmax_over_tokens", "weights of a completion sum to 1 | 一条回答的权重之和为 1",
      caught_by="check_asymmetric_weights_one_where_there_is_no_gap",
      todo_3=but(WEIGHTS, "torch.exp(directions * gaps)", "torch.softmax(directions * gaps, dim=1)"))

wrong("positive_reversed", "the teacher's favorites need less weight | 自教师看好的 Token 权重要小",
      caught_by="check_asymmetric_weights_positive_base",
      todo_3=but(WEIGHTS, "torch.exp(directions * gaps)", "torch.exp(-directions * gaps)"))

wrong("linear", "exp(gap) is about 1 + gap | exp(gap) 约等于 1 + gap",
      caught_by="check_asymmetric_weights_positive_base",
      todo_3=but(WEIGHTS, "torch.exp(directions * gaps)", "1.0 + directions * gaps"))

wrong("size_of_the_gap", "the larger the gap, the larger the weight | 间隙越大权重越大",
      caught_by="check_asymmetric_weights_positive_base",
      todo_3=but(WEIGHTS, "torch.exp(directions * gaps)", "torch.exp((directions * gaps).abs())"))

wrong("base_two", "the ratio is a power of two | 比率是 2 的幂",
      caught_by="check_asymmetric_weights_positive_base",
      todo_3=but(WEIGHTS, "torch.exp(", "torch.exp2("))

wrong("no_weighting", "flips are all there is | 有翻转就够了",
      caught_by="check_asymmetric_weights_positive_base",
      todo_3=but(WEIGHTS, "directions * gaps", "0.0 * gaps"))

wrong("only_positive_gaps_weigh", "a teacher-negative token keeps its weight | 教师负向 Token 权重不变",
      caught_by="check_asymmetric_weights_positive_base",
      todo_3=but(WEIGHTS, "directions * gaps", "(directions * gaps).clamp(min=0.0)"))

wrong("printed_under_sign", "z is exp(gap), as the equation says | z 就是 exp(gap)，公式这样写",
      caught_by="check_asymmetric_weights_negative_base",
      todo_3=but(WEIGHTS, 'base.sign() if z == "sign" else 1.0', "1.0"))

wrong("readings_exchanged", "the printed equation has the sign | 公式里带符号",
      caught_by="check_asymmetric_weights_negative_base",
      todo_3=but(WEIGHTS, 'z == "sign"', 'z == "printed"'))

wrong("printed_by_default", "the default is the printed equation | 默认用印出来的公式",
      caught_by="check_asymmetric_weights_negative_base",
      function=but(WEIGHTS_FUNCTION, 'z="sign"', 'z="printed"'))

wrong("wrong_completions_keep_one", "in a wrong completion the teacher has no say | 在错误的回答中自教师不起作用",
      caught_by="check_asymmetric_weights_negative_base",
      todo_3=but(WEIGHTS, "base.sign()", "(base > 0).to(gaps.dtype)"))

wrong("mirrored_at_one", "the reverse of a weight is 2 minus it | 权重反过来就是 2 减它",
      caught_by="check_asymmetric_weights_negative_base",
      todo_3="""
      z_values = torch.exp(gaps)
      if z == "sign":
          z_values = torch.where(base < 0, 2.0 - z_values, z_values)
      weights = torch.where(base > 0, z_values.clamp(*positive_bounds), z_values.clamp(*negative_bounds)).detach()
      """)

wrong("sign_under_printed", "z has only one reading | z 只有一种读法",
      caught_by="check_asymmetric_weights_printed_reading",
      todo_3=but(WEIGHTS, 'base.sign() if z == "sign" else 1.0', "base.sign()"))

wrong("printed_reverses_all", "the printed reading reverses every gap | 印出来的读法把间隙都取反",
      caught_by="check_asymmetric_weights_printed_reading",
      todo_3=but(WEIGHTS, "else 1.0", "else -1.0"))

wrong("printed_reverses_the_sign", "the printed reading reverses the sign of B | 印出来的读法把 B 的符号取反",
      caught_by="check_asymmetric_weights_printed_reading",
      todo_3=but(WEIGHTS, "else 1.0", "else -base.sign()"))

wrong("scaled_by_the_base", "a larger advantage counts the gap more | 优势越大，间隙越算数",
      caught_by="check_asymmetric_weights_only_the_sign_of_the_base_counts",
      todo_3=but(WEIGHTS, "base.sign()", "base"))

wrong("divided_by_the_base", "the gap is measured in base advantages | 间隙以基础优势为单位",
      caught_by="check_asymmetric_weights_only_the_sign_of_the_base_counts",
      todo_3=but(WEIGHTS, "base.sign()", "(1.0 / base)"))

wrong("tanh_for_sign", "tanh(B) is a smooth sign | tanh(B) 是平滑的符号",
      caught_by="check_asymmetric_weights_only_the_sign_of_the_base_counts",
      todo_3=but(WEIGHTS, "base.sign()", "(base / 0.05).tanh()"))

wrong("small_base_is_zero", "a base advantage of 0.1 has no sign | 0.1 的基础优势没有符号",
      caught_by="check_asymmetric_weights_only_the_sign_of_the_base_counts",
      todo_3=but(WEIGHTS, "base.sign()", "base.round().sign()"))

wrong("below_minus_a_twentieth", "a base advantage above -0.05 is not negative | 高于 -0.05 的基础优势不算负",
      caught_by="check_asymmetric_weights_only_the_sign_of_the_base_counts",
      todo_3=but(WEIGHTS, "base.sign()", "torch.where(base < -0.05, -1.0, 1.0)"))

wrong("sign_of_the_batch", "the batch has one sign | 整批只有一个符号",
      caught_by="check_asymmetric_weights_only_the_sign_of_the_base_counts",
      todo_3=but(WEIGHTS, "base.sign()", "base.mean().sign()"))

wrong("sign_of_the_first", "all completions share the first one's sign | 所有回答与第一条同号",
      caught_by="check_asymmetric_weights_only_the_sign_of_the_base_counts",
      todo_3=but(WEIGHTS, "base.sign()", "base[0].sign()"))

wrong("base_by_column", "[N] against [N, T] broadcasts by itself | [N] 与 [N, T] 会自动正确广播",
      caught_by="check_asymmetric_weights_only_the_sign_of_the_base_counts",
      todo_3=but(WEIGHTS, "base.sign()", "base_advantages.sign()"))

wrong("mean_gap", "a completion has one weight, from its mean gap | 一条回答只有一个权重，由平均间隙得出",
      caught_by="check_asymmetric_weights_each_token_its_own",
      todo_3=but(WEIGHTS, "directions * gaps", "directions * gaps.mean(dim=1, keepdim=True).expand_as(gaps)"))

wrong("product_so_far", "a token's ratio holds those before it | 一个 Token 的比率包含它之前的",
      caught_by="check_asymmetric_weights_each_token_its_own",
      todo_3=but(WEIGHTS, "directions * gaps", "directions * gaps.cumsum(dim=1)"))

wrong("weights_with_mean_one", "weights are scaled to a mean of 1 | 权重缩放到平均为 1",
      caught_by="check_asymmetric_weights_each_token_its_own",
      todo_3=but(WEIGHTS, ".detach()", ".detach()\nweights = weights / weights.mean(dim=1, keepdim=True)"))

wrong("next_tokens_gap", "a gap speaks of the token before it | 间隙说的是前一个 Token",
      caught_by="check_asymmetric_weights_each_token_its_own",
      todo_3=but(WEIGHTS, "directions * gaps", "directions * gaps.roll(-1, dims=1)"))

wrong("bounds_exchanged", "(0.8, 1.05) is for wrong completions | (0.8, 1.05) 用于错误的回答",
      caught_by="check_asymmetric_weights_bounds_of_each_sign",
      todo_3=but(WEIGHTS, "base > 0", "base < 0"))

wrong("positive_bounds_for_all", "there is one pair of bounds | 上下界只有一组",
      caught_by="check_asymmetric_weights_bounds_of_each_sign",
      todo_3=but(WEIGHTS, "negative_bounds", "positive_bounds"))

wrong("negative_bounds_for_all", "the later bounds hold | 以后面的上下界为准",
      caught_by="check_asymmetric_weights_bounds_of_each_sign",
      todo_3=but(WEIGHTS, "*positive_bounds", "*negative_bounds"))

wrong("tiny_base_takes_the_negative_bounds", "a base advantage below 1e-6 is 0 | 低于 1e-6 的基础优势就是 0",
      caught_by="check_asymmetric_weights_bounds_of_each_sign",
      todo_3=but(WEIGHTS, "base > 0", "base > 1e-6"))

wrong("bounds_by_the_gap", "the sign of the gap chooses the bounds | 由间隙的符号选择上下界",
      caught_by="check_asymmetric_weights_bounds_of_each_sign",
      todo_3=but(WEIGHTS, "base > 0", "gaps > 0"))

wrong("not_clipped", "a weight has no bounds | 权重没有上下界",
      caught_by="check_asymmetric_weights_bounds_of_each_sign",
      todo_3=but(WEIGHTS, "torch.where(base > 0, z_values.clamp(*positive_bounds), z_values.clamp(*negative_bounds))", "z_values"))

wrong("clipped_above_only", "only large weights are dangerous | 只有大的权重才危险",
      caught_by="check_asymmetric_weights_bounds_of_each_sign",
      todo_3=but(WEIGHTS, "clamp(*positive_bounds)", "clamp(max=positive_bounds[1])",
                 "clamp(*negative_bounds)", "clamp(max=negative_bounds[1])"))

wrong("clipped_below_only", "only small weights are dangerous | 只有小的权重才危险",
      caught_by="check_asymmetric_weights_bounds_of_each_sign",
      todo_3=but(WEIGHTS, "clamp(*positive_bounds)", "clamp(min=positive_bounds[0])",
                 "clamp(*negative_bounds)", "clamp(min=negative_bounds[0])"))

wrong("clipped_before_reversing", "exp(gap) is clipped, then inverted for wrong completions | 先裁剪 exp(gap)，再对错误的回答取倒数",
      caught_by="check_asymmetric_weights_bounds_of_each_sign",
      todo_3="""
      z_values = torch.exp(gaps)
      weights = torch.where(base > 0, z_values.clamp(*positive_bounds), z_values.clamp(*negative_bounds)).detach()
      if z == "sign":
          weights = torch.where(base < 0, 1.0 / weights, weights)
      """)

wrong("widest_bounds", "both pairs together are the bounds | 两组上下界合在一起用",
      caught_by="check_asymmetric_weights_bounds_of_each_sign",
      todo_3="""
      directions = base.sign() if z == "sign" else 1.0
      low, high = min(positive_bounds[0], negative_bounds[0]), max(positive_bounds[1], negative_bounds[1])
      weights = torch.exp(directions * gaps).clamp(low, high).detach()
      """)

wrong("min_and_max_exchanged", "clamp takes the upper bound first | clamp 先写上界",
      caught_by="check_asymmetric_weights_one_where_there_is_no_gap",
      todo_3=but(WEIGHTS, "clamp(*positive_bounds)", "clamp(*positive_bounds[::-1])",
                 "clamp(*negative_bounds)", "clamp(*negative_bounds[::-1])"))

wrong("taylor_series", "two terms of the series are enough | 级数取两项就够了",
      caught_by="check_asymmetric_weights_truth_table",
      todo_3=but(WEIGHTS, "torch.exp(directions * gaps)", "1.0 + directions * gaps + gaps.square() / 2"))

wrong("printed_without_negative_bounds", "the printed reading knows no sign of B | 印出来的读法不看 B 的符号",
      caught_by="check_asymmetric_weights_truth_table",
      todo_3=but(WEIGHTS, "base > 0", '(base > 0) | torch.tensor(z == "printed")'))

wrong("printed_bounds_by_the_gap", "in the printed reading the gap chooses the bounds | 印出来的读法由间隙选择上下界",
      caught_by="check_asymmetric_weights_truth_table",
      todo_3=but(WEIGHTS, "base > 0", '(base > 0) if z == "sign" else (gaps > 0)'))

wrong("bounds_fixed", "the bounds are 0.8, 1.05, 0.95 and 1.2 | 上下界就是 0.8、1.05、0.95、1.2",
      caught_by="check_asymmetric_weights_bounds_as_given",
      todo_3=but(WEIGHTS, "*positive_bounds", "0.8, 1.05", "*negative_bounds", "0.95, 1.2"))

wrong("positive_bounds_fixed", "only wrong completions have bounds to choose | 只有错误回答的上下界可选",
      caught_by="check_asymmetric_weights_bounds_as_given",
      todo_3=but(WEIGHTS, "*positive_bounds", "0.8, 1.05"))

wrong("negative_bounds_fixed", "only correct completions have bounds to choose | 只有正确回答的上下界可选",
      caught_by="check_asymmetric_weights_bounds_as_given",
      todo_3=but(WEIGHTS, "*negative_bounds", "0.95, 1.2"))

wrong("bounds_narrowed", "given bounds may only narrow the default ones | 传入的上下界只能收窄默认值",
      caught_by="check_asymmetric_weights_bounds_as_given",
      todo_3=but(WEIGHTS, "clamp(*positive_bounds)", "clamp(max(0.8, positive_bounds[0]), min(1.05, positive_bounds[1]))",
                 "clamp(*negative_bounds)", "clamp(max(0.95, negative_bounds[0]), min(1.2, negative_bounds[1]))"))

wrong("gap_within_one", "a gap is held within -1 and 1 first | 先把间隙限制在 -1 与 1 之间",
      caught_by="check_asymmetric_weights_bounds_as_given",
      todo_3=but(WEIGHTS, "directions * gaps", "directions * gaps.clamp(-1.0, 1.0)"))

wrong("gap_within_three", "a gap is held within -3 and 3 first | 先把间隙限制在 -3 与 3 之间",
      caught_by="check_asymmetric_weights_bounds_as_given",
      todo_3=but(WEIGHTS, "directions * gaps", "directions * gaps.clamp(-3.0, 3.0)"))

wrong("gap_within_five", "a gap is held within -5 and 5 first | 先把间隙限制在 -5 与 5 之间",
      caught_by="check_asymmetric_weights_bounds_as_given",
      todo_3=but(WEIGHTS, "directions * gaps", "(directions * gaps).clamp(-5.0, 5.0)"))

wrong("weight_at_least_a_hundredth", "a weight below 0.01 is none | 低于 0.01 的权重不算权重",
      caught_by="check_asymmetric_weights_bounds_as_given",
      todo_3=but(WEIGHTS, "z_values.clamp(*negative_bounds)", "z_values.clamp(max(0.01, negative_bounds[0]), negative_bounds[1])"))

wrong("weight_at_most_a_thousand", "a weight beyond 1000 is an overflow | 超过 1000 的权重是溢出",
      caught_by="check_asymmetric_weights_bounds_as_given",
      todo_3=but(WEIGHTS, "z_values.clamp(*positive_bounds)", "z_values.clamp(positive_bounds[0], min(1000.0, positive_bounds[1]))"))

wrong("weights_rounded", "digits after the fifth are noise | 第五位小数之后都是噪声",
      caught_by="check_asymmetric_weights_bounds_as_given",
      todo_3=but(WEIGHTS, ".detach()", ".detach().round(decimals=5)"))

wrong("bounds_around_one", "bounds are distances from 1 | 上下界是与 1 的距离",
      caught_by="check_asymmetric_weights_bounds_as_given",
      todo_3=but(WEIGHTS, "clamp(*positive_bounds)", "clamp(positive_bounds[0], min(positive_bounds[1], 2 - positive_bounds[0] + 0.2))",
                 "clamp(*negative_bounds)", "clamp(negative_bounds[0], min(negative_bounds[1], 2 - negative_bounds[0] + 0.2))"))

wrong("lower_bound_at_most_one", "a lower bound is below 1 | 下界小于 1",
      caught_by="check_asymmetric_weights_bounds_need_not_hold_one",
      todo_3=but(WEIGHTS, "clamp(*positive_bounds)", "clamp(min(1.0, positive_bounds[0]), positive_bounds[1])"))

wrong("negative_lower_bound_at_most_one", "the lower bound of wrong completions is below 1 | 错误回答的下界小于 1",
      caught_by="check_asymmetric_weights_bounds_need_not_hold_one",
      todo_3=but(WEIGHTS, "clamp(*negative_bounds)", "clamp(min(1.0, negative_bounds[0]), negative_bounds[1])"))

wrong("equal_positive_bounds_mean_no_clip", "equal bounds of correct completions switch the clip off | 正确回答的上下界相等表示不裁剪",
      caught_by="check_asymmetric_weights_bounds_need_not_hold_one",
      todo_3=but(WEIGHTS, "z_values.clamp(*positive_bounds)",
                 "z_values if positive_bounds[0] == positive_bounds[1] else z_values.clamp(*positive_bounds)"))

wrong("no_gap_is_always_one", "where there is no gap the weight is 1 | 没有间隙时权重就是 1",
      caught_by="check_asymmetric_weights_bounds_need_not_hold_one",
      todo_3=but(WEIGHTS, ".detach()", ".detach().masked_fill(gaps == 0, 1.0)"))

wrong("equal_bounds_mean_no_clip", "equal bounds switch the clip off | 上下界相等表示不裁剪",
      caught_by="check_asymmetric_weights_bounds_need_not_hold_one",
      todo_3=but(WEIGHTS, "z_values.clamp(*negative_bounds)",
                 "z_values if negative_bounds[0] == negative_bounds[1] else z_values.clamp(*negative_bounds)"))

wrong("clipped_by_subtraction", "what exceeds the bounds is subtracted | 减去超出上下界的部分",
      caught_by="check_asymmetric_weights_survive_huge_gaps",
      todo_3=but(WEIGHTS, "z_values.clamp(*positive_bounds)",
                 "z_values - (z_values - positive_bounds[1]).clamp(min=0) + (positive_bounds[0] - z_values).clamp(min=0)",
                 "z_values.clamp(*negative_bounds)",
                 "z_values - (z_values - negative_bounds[1]).clamp(min=0) + (negative_bounds[0] - z_values).clamp(min=0)"))

wrong("selected_by_multiplying", "0 times a ratio is 0 | 0 乘比率等于 0",
      caught_by="check_asymmetric_weights_survive_huge_gaps",
      todo_3="""
      directions = base.sign() if z == "sign" else 1.0
      z_values = torch.exp(directions * gaps)
      positive = (base > 0).to(gaps.dtype)
      correct, wrong = positive * z_values, (1.0 - positive) * z_values
      weights = (positive * correct.clamp(*positive_bounds) + (1.0 - positive) * wrong.clamp(*negative_bounds)).detach()
      """)

wrong("exp_of_python", "math.exp is as good as torch.exp | math.exp 与 torch.exp 一样",
      caught_by="check_asymmetric_weights_survive_huge_gaps",
      todo_3="""
      weights = torch.ones_like(gaps)
      for i, sign in enumerate(base_advantages.sign().tolist()):
          low, high = positive_bounds if sign > 0 else negative_bounds
          for t, gap in enumerate(gaps[i].tolist()):
              ratio = math.exp(sign * gap if z == "sign" else gap)
              weights[i, t] = min(max(ratio, low), high)
      """)

wrong("ratio_as_quotient", "the ratio comes from two exponentials | 比率由两个指数相除",
      caught_by="check_asymmetric_weights_survive_huge_gaps",
      todo_3=but(WEIGHTS, "torch.exp(directions * gaps)", "torch.exp(2 * directions * gaps) / torch.exp(directions * gaps)"))

wrong("nan_to_one", "an overflow counts as no gap | 溢出就当作没有间隙",
      caught_by="check_asymmetric_weights_survive_huge_gaps",
      todo_3=but(WEIGHTS, "torch.exp(directions * gaps)",
                 "torch.exp(directions * gaps)\nz_values = torch.where(z_values.isinf(), 1.0, z_values)"))

wrong("zero_counts_as_positive", "0 is not negative | 0 不是负数",
      caught_by="check_asymmetric_weights_zero_base",
      todo_3=but(WEIGHTS, "base > 0", "base >= 0"))

wrong("sign_by_division", "B over its size is its sign | B 除以自己的大小就是符号",
      caught_by="check_asymmetric_weights_zero_base",
      todo_3=but(WEIGHTS, "base.sign()", "(base / base.abs())"))

wrong("zero_gets_weight_zero", "a completion with B = 0 has weight 0 | B = 0 的回答权重为 0",
      caught_by="check_asymmetric_weights_zero_base",
      todo_3=but(WEIGHTS, ".detach()", ".detach().masked_fill(base == 0, 0.0)"))

wrong("weights_in_the_graph", "a weight learns through the gap | 权重通过间隙学习",
      caught_by="check_asymmetric_weights_are_frozen",
      todo_3=but(WEIGHTS, ".detach()", ""))

wrong("only_the_base_is_frozen", "the base advantage is the constant | 常数只有基础优势",
      caught_by="check_asymmetric_weights_are_frozen",
      todo_3=but(WEIGHTS, "base.sign()", "base.detach().sign()", ".detach()\n", "\n"))

wrong("negative_rows_in_the_graph", "only good completions are frozen | 只冻结好的回答",
      caught_by="check_asymmetric_weights_are_frozen",
      todo_3=but(WEIGHTS, "z_values.clamp(*positive_bounds)", "z_values.clamp(*positive_bounds).detach()", ").detach()\n", ")\n"))

wrong("frozen_unless_alone", "a single completion has nothing to freeze | 只有一条回答时没有什么要停止梯度",
      caught_by="check_asymmetric_weights_are_frozen",
      todo_3=but(WEIGHTS, ".detach()", "") + "weights = weights.detach() if len(base) > 1 else weights\n")

wrong("frozen_unless_one_token", "a single token has nothing to freeze | 只有一个 Token 时没有什么要停止梯度",
      caught_by="check_asymmetric_weights_are_frozen",
      todo_3=but(WEIGHTS, ".detach()", "") + "weights = weights.detach() if gaps.shape[1] > 1 else weights\n")

wrong("frozen_with_default_bounds", "bounds of one's own are there to learn | 自己给的上下界就是用来学习的",
      caught_by="check_asymmetric_weights_are_frozen",
      todo_3=but(WEIGHTS, ".detach()", "") + "weights = weights.detach() if positive_bounds == (0.8, 1.05) else weights\n")

wrong("gaps_overwritten", "the gaps are not needed afterwards | 之后不再需要间隙",
      caught_by="check_asymmetric_weights_leaves_inputs_alone",
      todo_3=but(WEIGHTS, "torch.exp(directions * gaps)", "gaps.detach().mul_(directions).exp_()"))

wrong("base_overwritten", "only the sign of B is needed from now on | 今后只需要 B 的符号",
      caught_by="check_asymmetric_weights_leaves_inputs_alone",
      todo_3=but(WEIGHTS, "base.sign()", "base.detach().mul_(2.0).sign()"))

wrong("any_z_taken", "an unknown z means the printed reading | 未知的 z 就按印出来的读法",
      caught_by="check_asymmetric_weights_refuses_bad_input",
      function=but(WEIGHTS_FUNCTION, '    if z not in ("sign", "printed"):\n        raise ValueError\n', ""))

wrong("any_bounds_taken", "exchanged bounds are sorted by clamp | clamp 会把颠倒的上下界排好",
      caught_by="check_asymmetric_weights_refuses_bad_input",
      function=but(WEIGHTS_FUNCTION, "    require_bounds(positive_bounds, negative_bounds)\n", ""))

wrong("nan_base_taken", "a NaN base advantage is not positive, so it is negative | 基础优势为 NaN 就不是正的，即为负",
      caught_by="check_asymmetric_weights_refuses_bad_input",
      function=but(WEIGHTS_FUNCTION, "require_base_and_token_values(base_advantages, gaps)",
                   "require_base_and_token_values(base_advantages.nan_to_num(nan=0.0, posinf=math.inf, neginf=-math.inf), gaps)"))

wrong("infinite_gaps_taken", "an infinite gap ends at a bound | 无穷的间隙停在边界上",
      caught_by="check_asymmetric_weights_refuses_bad_input",
      function=but(WEIGHTS_FUNCTION, "require_base_and_token_values(base_advantages, gaps)",
                   "require_base_and_token_values(base_advantages, gaps.masked_fill(gaps.isinf(), 0.0))"))

wrong("upper_bounds_below_one_taken", "bounds only need an order | 上下界只要有先后",
      caught_by="check_asymmetric_weights_refuses_bad_input",
      function=but(WEIGHTS_FUNCTION, "    require_bounds(positive_bounds, negative_bounds)\n",
                   "    for low, high in (positive_bounds, negative_bounds):\n"
                   "        if not 0 < low <= high < math.inf:\n            raise ValueError\n"))

wrong("half_of_the_bounds_checked", "one fault of each pair is enough to look for | 每组上下界查一种错就够了",
      caught_by="check_asymmetric_weights_refuses_bad_input",
      function=but(WEIGHTS_FUNCTION, "    require_bounds(positive_bounds, negative_bounds)\n",
                   "    if positive_bounds[0] > positive_bounds[1] or negative_bounds[0] <= 0:\n        raise ValueError\n"))

# TODO 4: cast_token_advantages

TOKENS = """
kept = base * (1.0 + lam * (weights - 1.0))
down_weights = torch.exp(-gaps).clamp(max(1.0, negative_bounds[0]), negative_bounds[1])
up_weights = torch.exp(gaps).clamp(max(1.0, positive_bounds[0]), positive_bounds[1])
down = flip_down & (base > 0) & (gaps < 0)
up = flip_up & (base < 0) & (gaps > 0)
raw = torch.where(down, -base.abs() * (1.0 + lam * (down_weights - 1.0)), kept)
raw = torch.where(up, base.abs() * (1.0 + lam * (up_weights - 1.0)), raw)
token_advantages = raw.clamp(-limit, limit).detach()
"""
TOKENS_FUNCTION = """
def cast_token_advantages(base_advantages, gaps, weights, lam=1.0, positive_bounds=(0.8, 1.05), negative_bounds=(0.95, 1.2),
                          flip_down=True, flip_up=True, limit=1.2):
    require_base_and_token_values(base_advantages, gaps, weights)
    require_bounds(positive_bounds, negative_bounds)
    if not 0 <= lam <= 1 or not limit > 0:
        raise ValueError
    if not isinstance(flip_down, bool) or not isinstance(flip_up, bool):
        raise ValueError
    base = base_advantages.unsqueeze(-1)
""" + TOKENS.replace("\n", "\n    ").rstrip() + "\n    return token_advantages\n"

wrong("flip_down_at_zero", "no gap counts as negative | 没有间隙算作负",
      caught_by="check_cast_token_advantages_one_for_each_token",
      todo_4=but(TOKENS, "gaps < 0", "gaps <= 0"))

wrong("flip_up_at_zero", "no gap counts as positive | 没有间隙算作正",
      caught_by="check_cast_token_advantages_one_for_each_token",
      todo_4=but(TOKENS, "gaps > 0", "gaps >= 0"))

wrong("sign_of_the_gap_everywhere", "the sign of the gap is the sign of the advantage | 间隙的符号就是优势的符号",
      caught_by="check_cast_token_advantages_one_for_each_token",
      todo_4=but(TOKENS, "token_advantages = raw", "token_advantages = (gaps.sign() * raw.abs())"))

wrong("one_for_each_completion", "an advantage belongs to a completion | 优势属于一条回答",
      caught_by="check_cast_token_advantages_one_for_each_token",
      todo_4=but(TOKENS, ".detach()", ".detach().mean(dim=1)"))

wrong("base_by_column", "[N] against [N, T] broadcasts by itself | [N] 与 [N, T] 会自动正确广播",
      caught_by="check_cast_token_advantages_one_for_each_token",
      todo_4="base = base_advantages\n" + TOKENS.strip())

wrong("size_only", "an advantage is a size | 优势只是大小",
      caught_by="check_cast_token_advantages_one_for_each_token",
      todo_4=but(TOKENS, "raw.clamp", "raw.abs().clamp"))

wrong("shared_among_tokens", "a completion's advantage is shared among its tokens | 一条回答的优势由它的 Token 平分",
      caught_by="check_cast_token_advantages_one_for_each_token",
      todo_4=but(TOKENS, "kept = base", "base = base / gaps.shape[1]\nkept = base"))

wrong("weights_ignored", "weights are for flipped tokens | 权重用于翻转的 Token",
      caught_by="check_cast_token_advantages_kept_tokens_are_weighted",
      todo_4=but(TOKENS, "kept = base * (1.0 + lam * (weights - 1.0))", "kept = base.expand_as(gaps)"))

wrong("weights_added", "the weight is added to the base advantage | 权重加在基础优势上",
      caught_by="check_cast_token_advantages_kept_tokens_are_weighted",
      todo_4=but(TOKENS, "kept = base * (1.0 + lam * (weights - 1.0))", "kept = base + lam * (weights - 1.0)"))

wrong("divided_by_weights", "a weight divides | 权重是除数",
      caught_by="check_cast_token_advantages_kept_tokens_are_weighted",
      todo_4=but(TOKENS, "kept = base * (1.0 + lam * (weights - 1.0))", "kept = base / (1.0 + lam * (weights - 1.0))"))

wrong("kept_tokens_positive", "a kept token is encouraged | 保留的 Token 受到鼓励",
      caught_by="check_cast_token_advantages_one_for_each_token",
      todo_4=but(TOKENS, "kept = base *", "kept = base.abs() *"))

wrong("weighted_twice", "the weight counts for token and completion | 权重对 Token 与回答各算一次",
      caught_by="check_cast_token_advantages_kept_tokens_are_weighted",
      todo_4=but(TOKENS, "(1.0 + lam * (weights - 1.0))", "(1.0 + lam * (weights - 1.0)) * weights"))

wrong("weights_averaged", "a completion has one weight | 一条回答只有一个权重",
      caught_by="check_cast_token_advantages_kept_tokens_are_weighted",
      todo_4=but(TOKENS, "(weights - 1.0)", "(weights.mean(dim=1, keepdim=True) - 1.0)"))


wrong("neighbors_weight", "weights are one position ahead | 权重要错开一位",
      caught_by="check_cast_token_advantages_kept_tokens_are_weighted",
      todo_4=but(TOKENS, "(weights - 1.0)", "(weights.roll(1, dims=1) - 1.0)"))

wrong("first_tokens_weight", "a completion has its first token's weight | 一条回答用第一个 Token 的权重",
      caught_by="check_cast_token_advantages_kept_tokens_are_weighted",
      todo_4=but(TOKENS, "(weights - 1.0)", "(weights[:, :1] - 1.0)"))

wrong("first_completions_weights", "all completions share one row of weights | 所有回答共用一行权重",
      caught_by="check_cast_token_advantages_kept_tokens_are_weighted",
      todo_4=but(TOKENS, "(weights - 1.0)", "(weights[:1] - 1.0)"))

wrong("weights_computed_again", "the weight is exp of the gap's size | 权重是间隙大小的 exp",
      caught_by="check_cast_token_advantages_uses_the_weights_given",
      todo_4=but(TOKENS, "(weights - 1.0)", "(gaps.abs().exp().clamp(max=1.2) - 1.0)"))

wrong("weights_at_least_one", "a kept token is never weakened | 保留的 Token 不会变弱",
      caught_by="check_cast_token_advantages_uses_the_weights_given",
      todo_4=but(TOKENS, "(weights - 1.0)", "(weights.clamp(min=1.0) - 1.0)"))

wrong("weights_at_least_a_half", "a weight below 0.5 is a mistake | 低于 0.5 的权重一定是算错了",
      caught_by="check_cast_token_advantages_uses_the_weights_given",
      todo_4=but(TOKENS, "(weights - 1.0)", "(weights.clamp(min=0.5) - 1.0)"))

wrong("weights_at_most_three", "a weight beyond 3 is a mistake | 超过 3 的权重一定是算错了",
      caught_by="check_cast_token_advantages_uses_the_weights_given",
      todo_4=but(TOKENS, "(weights - 1.0)", "(weights.clamp(max=3.0) - 1.0)"))

wrong("no_flip_down", "a correct completion has no bad token | 正确的回答没有坏 Token",
      caught_by="check_cast_token_advantages_flips_down",
      todo_4=but(TOKENS, "raw = torch.where(down, -base.abs() * (1.0 + lam * (down_weights - 1.0)), kept)", "raw = kept"))

wrong("flipped_with_the_kept_weight", "a flip only changes the sign of what is kept | 翻转只是把保留值变号",
      caught_by="check_cast_token_advantages_flips_down",
      todo_4=but(TOKENS, "-base.abs() * (1.0 + lam * (down_weights - 1.0))", "-kept",
                 "base.abs() * (1.0 + lam * (up_weights - 1.0)), raw", "-kept, raw"))

wrong("flipped_down_to_zero", "a bad token of a correct completion is left out | 正确回答中的坏 Token 不参与",
      caught_by="check_cast_token_advantages_flips_down",
      todo_4=but(TOKENS, "-base.abs() * (1.0 + lam * (down_weights - 1.0))", "0.0 * kept"))

wrong("down_flip_of_the_whole_completion", "one bad token flips its completion | 一个坏 Token 翻转整条回答",
      caught_by="check_cast_token_advantages_flips_down",
      todo_4=but(TOKENS, "(gaps < 0)", "(gaps < 0).any(dim=1, keepdim=True)"))

wrong("flips_by_the_mean_gap", "the mean gap decides for the completion | 由平均间隙决定整条回答",
      caught_by="check_cast_token_advantages_flips_down",
      todo_4=but(TOKENS, "(gaps < 0)", "(gaps.mean(dim=1, keepdim=True) < 0)", "(gaps > 0)", "(gaps.mean(dim=1, keepdim=True) > 0)"))

wrong("down_flip_keeps_its_sign", "|B| already says how much | |B| 已经说明了大小",
      caught_by="check_cast_token_advantages_flips_down",
      todo_4=but(TOKENS, "-base.abs()", "base.abs()"))

wrong("down_weight_of_the_gap", "the down flip's weight is exp(gap) | 向下翻转的权重是 exp(gap)",
      caught_by="check_cast_token_advantages_flips_down",
      todo_4=but(TOKENS, "torch.exp(-gaps)", "torch.exp(gaps)"))

wrong("flips_where_they_agree", "a flip happens where teacher and verifier agree | 自教师与验证器一致时才翻转",
      caught_by="check_cast_token_advantages_kept_tokens_are_weighted",
      todo_4=but(TOKENS, "gaps < 0", "gaps > 0", "(base < 0) & (gaps > 0)", "(base < 0) & (gaps < 0)"))

wrong("no_flip_up", "a wrong completion has no good token | 错误的回答没有好 Token",
      caught_by="check_cast_token_advantages_flips_up",
      todo_4=but(TOKENS, "raw = torch.where(up, base.abs() * (1.0 + lam * (up_weights - 1.0)), raw)\n", ""))

wrong("up_flip_with_b", "the up flip multiplies B | 向上翻转乘的是 B",
      caught_by="check_cast_token_advantages_flips_up",
      todo_4=but(TOKENS, "torch.where(up, base.abs()", "torch.where(up, base"))

wrong("flipped_up_to_zero", "a good token of a wrong completion is spared | 错误回答中的好 Token 免于惩罚",
      caught_by="check_cast_token_advantages_flips_up",
      todo_4=but(TOKENS, "base.abs() * (1.0 + lam * (up_weights - 1.0)), raw", "0.0 * kept, raw"))

wrong("up_flip_of_the_whole_completion", "one good token saves its completion | 一个好 Token 挽救整条回答",
      caught_by="check_cast_token_advantages_flips_up",
      todo_4=but(TOKENS, "(gaps > 0)", "(gaps > 0).any(dim=1, keepdim=True)"))

wrong("up_weight_reversed", "the up flip's weight is exp(-gap) | 向上翻转的权重是 exp(-gap)",
      caught_by="check_cast_token_advantages_flips_up",
      todo_4=but(TOKENS, "torch.exp(gaps)", "torch.exp(-gaps)"))

wrong("down_flip_without_size", "a flipped token gets minus its weight | 翻转的 Token 得到负的权重",
      caught_by="check_cast_token_advantages_flips_down",
      todo_4=but(TOKENS, "-base.abs() *", "-1.0 *"))

wrong("up_flip_without_size", "a flipped token gets its weight | 翻转的 Token 得到权重本身",
      caught_by="check_cast_token_advantages_flips_up",
      todo_4=but(TOKENS, "torch.where(up, base.abs() *", "torch.where(up, 1.0 *"))

wrong("square_of_the_base", "the size of B is its square | B 的大小就是平方",
      caught_by="check_cast_token_advantages_flips_down",
      todo_4=but(TOKENS, "-base.abs()", "-base.square()", "torch.where(up, base.abs()", "torch.where(up, base.square()"))

wrong("zero_variance_groups_do_not_flip", "a small base advantage does not flip | 小的基础优势不翻转",
      caught_by="check_cast_token_advantages_flips_keep_the_size_of_the_base",
      todo_4=but(TOKENS, "(base > 0)", "(base > 0.1)", "(base < 0)", "(base < -0.1)"))

wrong("tiny_base_does_not_flip", "a base advantage below 0.001 has no sign | 低于 0.001 的基础优势没有符号",
      caught_by="check_cast_token_advantages_flips_keep_the_size_of_the_base",
      todo_4=but(TOKENS, "(base > 0)", "(base > 1e-3)", "(base < 0)", "(base < -1e-3)"))

wrong("mean_size_of_the_bases", "a flip has the batch's mean size | 翻转的大小取整批的平均",
      caught_by="check_cast_token_advantages_flips_keep_the_size_of_the_base",
      todo_4=but(TOKENS, "-base.abs() *", "-base.abs().mean() *", "torch.where(up, base.abs() *", "torch.where(up, base.abs().mean() *"))

wrong("flips_at_delta_size", "a flip has the size of the delta | 翻转的大小就是 delta",
      caught_by="check_cast_token_advantages_flips_down",
      todo_4=but(TOKENS, "-base.abs()", "-0.1", "torch.where(up, base.abs()", "torch.where(up, 0.1"))

wrong("down_flip_with_positive_bounds", "B > 0 has the positive bounds, flipped or not | B > 0 就用正侧上下界，翻转与否都一样",
      caught_by="check_cast_token_advantages_down_flip_takes_the_negative_bounds",
      todo_4=but(TOKENS, "torch.exp(-gaps).clamp(max(1.0, negative_bounds[0]), negative_bounds[1])",
                 "torch.exp(-gaps).clamp(max(1.0, positive_bounds[0]), positive_bounds[1])"))

wrong("both_flips_with_the_bounds_of_b", "each flip uses the bounds of its completion | 翻转用所在回答的上下界",
      caught_by="check_cast_token_advantages_down_flip_takes_the_negative_bounds",
      todo_4="positive_bounds, negative_bounds = negative_bounds, positive_bounds\n" + TOKENS.strip())

wrong("down_flip_without_bound", "a flip is bounded by the final clip | 翻转由最终裁剪限制",
      caught_by="check_cast_token_advantages_down_flip_takes_the_negative_bounds",
      todo_4=but(TOKENS, ".clamp(max(1.0, negative_bounds[0]), negative_bounds[1])", ""))

wrong("inverse_of_the_kept_weight", "the flip's weight is 1 over the kept one | 翻转的权重是保留权重的倒数",
      caught_by="check_cast_token_advantages_down_flip_takes_the_negative_bounds",
      todo_4=but(TOKENS, "torch.exp(-gaps).clamp(max(1.0, negative_bounds[0]), negative_bounds[1])", "1.0 / weights"))

wrong("flips_unweighted", "a flip has the size of B | 翻转的大小就是 |B|",
      caught_by="check_cast_token_advantages_flips_down",
      todo_4=but(TOKENS, "-base.abs() * (1.0 + lam * (down_weights - 1.0))", "-base.abs().expand_as(gaps)"))

wrong("up_flip_with_negative_bounds", "B < 0 has the negative bounds, flipped or not | B < 0 就用负侧上下界，翻转与否都一样",
      caught_by="check_cast_token_advantages_up_flip_takes_the_positive_bounds",
      todo_4=but(TOKENS, "torch.exp(gaps).clamp(max(1.0, positive_bounds[0]), positive_bounds[1])",
                 "torch.exp(gaps).clamp(max(1.0, negative_bounds[0]), negative_bounds[1])"))

wrong("up_flip_without_bound", "a token that the teacher likes has no bound | 自教师看好的 Token 没有上限",
      caught_by="check_cast_token_advantages_up_flip_takes_the_positive_bounds",
      todo_4=but(TOKENS, ".clamp(max(1.0, positive_bounds[0]), positive_bounds[1])", ""))

wrong("up_flip_inverse_weight", "what was 0.95 becomes 1/0.95 | 0.95 反过来就是 1/0.95",
      caught_by="check_cast_token_advantages_up_flip_takes_the_positive_bounds",
      todo_4=but(TOKENS, "torch.exp(gaps).clamp(max(1.0, positive_bounds[0]), positive_bounds[1])",
                 "torch.where(weights > 0.95, 1.0 / weights, 1.0 / 0.95)"))

wrong("lam_times_weight", "lam multiplies the weight | lam 直接乘权重",
      caught_by="check_cast_token_advantages_lam_on_kept_tokens",
      todo_4=but(TOKENS, "kept = base * (1.0 + lam * (weights - 1.0))", "kept = base * (lam * weights)"))

wrong("lam_twice", "lam counts in the weight and in the factor | lam 在权重和因子里各算一次",
      caught_by="check_cast_token_advantages_lam_on_kept_tokens",
      todo_4=but(TOKENS, "kept = base * (1.0 + lam * (weights - 1.0))", "kept = base * (1.0 + lam * lam * (weights - 1.0))"))

wrong("lam_ignored", "weights always count in full | 权重总是全部起作用",
      caught_by="check_cast_token_advantages_lam_on_kept_tokens",
      todo_4=but(TOKENS, "kept = base * (1.0 + lam * (weights - 1.0))", "kept = base * weights"))

wrong("lam_reversed", "lam is the share of the base advantage | lam 是基础优势所占的份额",
      caught_by="check_cast_token_advantages_kept_tokens_are_weighted",
      todo_4=but(TOKENS, "(1.0 + lam * (weights - 1.0))", "(weights + lam * (1.0 - weights))"))

wrong("lam_as_exponent", "lam is the weight's exponent | lam 是权重的指数",
      caught_by="check_cast_token_advantages_lam_on_kept_tokens",
      todo_4=but(TOKENS, "(1.0 + lam * (weights - 1.0))", "weights ** lam"))

wrong("lam_on_the_base", "lam scales the base advantage | lam 缩放基础优势",
      caught_by="check_cast_token_advantages_lam_on_kept_tokens",
      todo_4=but(TOKENS, "kept = base * (1.0 + lam * (weights - 1.0))", "kept = lam * base * weights"))

wrong("down_flip_forgets_lam", "a flip counts in full | 翻转全部起作用",
      caught_by="check_cast_token_advantages_lam_on_flipped_tokens",
      todo_4=but(TOKENS, "(1.0 + lam * (down_weights - 1.0))", "down_weights"))

wrong("up_flip_forgets_lam", "an up flip counts in full | 向上翻转全部起作用",
      caught_by="check_cast_token_advantages_lam_on_flipped_tokens",
      todo_4=but(TOKENS, "(1.0 + lam * (up_weights - 1.0))", "up_weights"))

wrong("flips_with_lam_twice", "a flip is shaped twice | 翻转受两次调整",
      caught_by="check_cast_token_advantages_lam_on_flipped_tokens",
      todo_4=but(TOKENS, "lam * (down_weights", "lam * lam * (down_weights", "lam * (up_weights", "lam * lam * (up_weights"))

wrong("lam_blends_in_the_flip", "lam says how far a token flips | lam 决定翻转到什么程度",
      caught_by="check_cast_token_advantages_lam_on_flipped_tokens",
      todo_4="""
      kept = base * (1.0 + lam * (weights - 1.0))
      down_weights = torch.exp(-gaps).clamp(max(1.0, negative_bounds[0]), negative_bounds[1])
      up_weights = torch.exp(gaps).clamp(max(1.0, positive_bounds[0]), positive_bounds[1])
      down = flip_down & (base > 0) & (gaps < 0)
      up = flip_up & (base < 0) & (gaps > 0)
      raw = torch.where(down, base + lam * (-base * down_weights - base), kept)
      raw = torch.where(up, base + lam * (-base * up_weights - base), raw)
      token_advantages = raw.clamp(-limit, limit).detach()
      """)

wrong("no_flip_without_lam", "lam = 0 switches the flips off | lam = 0 就不翻转",
      caught_by="check_cast_token_advantages_lam_on_flipped_tokens",
      todo_4=but(TOKENS, "down = flip_down &", "down = (flip_down and lam > 0) &", "up = flip_up &", "up = (flip_up and lam > 0) &"))

wrong("default_lam_of_one_half", "the default lam is 0.5, as in RLSD | lam 默认 0.5，像 RLSD 那样",
      caught_by="check_cast_token_advantages_default_lam",
      function=but(TOKENS_FUNCTION, "lam=1.0", "lam=0.5"))

wrong("default_lam_of_nine_tenths", "lam starts a little below 1 | lam 从略低于 1 开始",
      caught_by="check_cast_token_advantages_default_lam",
      function=but(TOKENS_FUNCTION, "lam=1.0", "lam=0.9"))

wrong("switches_exchanged", "flip_down is for wrong completions | flip_down 用于错误的回答",
      caught_by="check_cast_token_advantages_flip_switches",
      todo_4=but(TOKENS, "down = flip_down", "down = flip_up", "up = flip_up", "up = flip_down"))

wrong("flip_down_ignored", "the down flip is always on | 向下翻转总是打开",
      caught_by="check_cast_token_advantages_flip_switches",
      todo_4=but(TOKENS, "down = flip_down & ", "down = "))

wrong("flip_up_ignored", "the up flip is always on | 向上翻转总是打开",
      caught_by="check_cast_token_advantages_flip_switches",
      todo_4=but(TOKENS, "up = flip_up & ", "up = "))

wrong("one_switch_for_both", "flips are on only together | 两种翻转一起开关",
      caught_by="check_cast_token_advantages_flip_switches",
      todo_4=but(TOKENS, "down = flip_down &", "down = (flip_down and flip_up) &", "up = flip_up &", "up = (flip_down and flip_up) &"))

wrong("either_switch_for_both", "one switch turns both flips on | 任何一个开关都打开两种翻转",
      caught_by="check_cast_token_advantages_flip_switches",
      todo_4=but(TOKENS, "down = flip_down &", "down = (flip_down or flip_up) &", "up = flip_up &", "up = (flip_down or flip_up) &"))

wrong("switched_off_is_zero", "a flip that is off leaves its token out | 关掉翻转，该 Token 就不参与",
      caught_by="check_cast_token_advantages_flip_switches",
      todo_4=TOKENS + """
if not flip_down:
    token_advantages = token_advantages.masked_fill((base > 0) & (gaps < 0), 0.0)
if not flip_up:
    token_advantages = token_advantages.masked_fill((base < 0) & (gaps > 0), 0.0)
""")

wrong("switched_off_is_unweighted", "a flip that is off leaves the base advantage | 关掉翻转就剩下基础优势",
      caught_by="check_cast_token_advantages_flip_switches",
      todo_4=TOKENS + """
if not flip_down:
    token_advantages = torch.where((base > 0) & (gaps < 0), base, token_advantages)
if not flip_up:
    token_advantages = torch.where((base < 0) & (gaps > 0), base, token_advantages)
""")

wrong("down_bounds_fixed", "a down flip weighs at most 1.2 | 向下翻转的权重至多 1.2",
      caught_by="check_cast_token_advantages_flip_bounds_as_given",
      todo_4=but(TOKENS, "clamp(max(1.0, negative_bounds[0]), negative_bounds[1])", "clamp(1.0, 1.2)"))

wrong("up_bounds_fixed", "an up flip weighs at most 1.05 | 向上翻转的权重至多 1.05",
      caught_by="check_cast_token_advantages_flip_bounds_as_given",
      todo_4=but(TOKENS, "clamp(max(1.0, positive_bounds[0]), positive_bounds[1])", "clamp(1.0, 1.05)"))

wrong("flip_gap_within_three", "a gap is held within -3 and 3 first | 先把间隙限制在 -3 与 3 之间",
      caught_by="check_cast_token_advantages_flip_bounds_as_given",
      todo_4=but(TOKENS, "torch.exp(-gaps)", "torch.exp(-gaps.clamp(-3.0, 3.0))", "torch.exp(gaps)", "torch.exp(gaps.clamp(-3.0, 3.0))"))

wrong("down_weights_within_the_limit", "a flip's weight is held within the limit | 翻转的权重限制在 limit 之内",
      caught_by="check_cast_token_advantages_flip_bounds_as_given",
      todo_4=but(TOKENS, "negative_bounds[1])", "min(limit, negative_bounds[1]))"))

wrong("flip_bounds_mirrored", "a flip's upper bound is 1 over the lower one | 翻转的上界是下界的倒数",
      caught_by="check_cast_token_advantages_down_flip_takes_the_negative_bounds",
      todo_4=but(TOKENS, "clamp(max(1.0, negative_bounds[0]), negative_bounds[1])", "clamp(1.0, 1.0 / negative_bounds[0])"))

wrong("down_flip_at_least_one", "a flip's weight is at least 1, whatever the bound | 不论下界，翻转的权重只要不小于 1",
      caught_by="check_cast_token_advantages_flip_lower_bound",
      todo_4=but(TOKENS, "max(1.0, negative_bounds[0])", "1.0"))

wrong("up_flip_at_least_one", "an up flip's weight is at least 1, whatever the bound | 不论下界，向上翻转的权重只要不小于 1",
      caught_by="check_cast_token_advantages_flip_lower_bound",
      todo_4=but(TOKENS, "max(1.0, positive_bounds[0])", "1.0"))

wrong("min_for_max", "the lower bound is at most 1 | 下界至多为 1",
      caught_by="check_cast_token_advantages_flip_lower_bound",
      todo_4=but(TOKENS, "max(1.0, negative_bounds[0])", "min(1.0, negative_bounds[0])",
                 "max(1.0, positive_bounds[0])", "min(1.0, positive_bounds[0])"))

wrong("no_final_clip", "the weights are clipped already | 权重已经裁剪过了",
      caught_by="check_cast_token_advantages_final_clip",
      todo_4=but(TOKENS, ".clamp(-limit, limit)", ""))

wrong("clipped_above_only", "only positive advantages explode | 只有正优势会过大",
      caught_by="check_cast_token_advantages_final_clip",
      todo_4=but(TOKENS, ".clamp(-limit, limit)", ".clamp(max=limit)"))

wrong("clipped_below_only", "only negative advantages explode | 只有负优势会过大",
      caught_by="check_cast_token_advantages_final_clip",
      todo_4=but(TOKENS, ".clamp(-limit, limit)", ".clamp(min=-limit)"))

wrong("clipped_before_the_flip", "what is flipped was clipped already | 翻转之前已经裁剪过",
      caught_by="check_cast_token_advantages_final_clip",
      todo_4=but(TOKENS, "kept = base", "base = base.clamp(-limit, limit)\nkept = base", ".clamp(-limit, limit).detach()", ".detach()"))

wrong("kept_tokens_clipped_only", "flipped tokens have bounds of their own | 翻转的 Token 另有上下界",
      caught_by="check_cast_token_advantages_final_clip",
      todo_4=but(TOKENS,
                 "kept = base * (1.0 + lam * (weights - 1.0))", "kept = (base * (1.0 + lam * (weights - 1.0))).clamp(-limit, limit)",
                 "raw.clamp(-limit, limit)", "raw"))

wrong("flipped_tokens_clipped_only", "kept tokens are what GRPO gives | 保留的 Token 就是 GRPO 给的",
      caught_by="check_cast_token_advantages_final_clip",
      todo_4=but(TOKENS, "raw.clamp(-limit, limit)", "torch.where(down | up, raw.clamp(-limit, limit), raw)"))

wrong("scaled_into_the_limit", "a completion beyond the limit is scaled down | 超出 limit 的回答整体缩小",
      caught_by="check_cast_token_advantages_final_clip",
      todo_4=but(TOKENS, "raw.clamp(-limit, limit)", "(raw * (limit / raw.abs().amax(dim=1, keepdim=True).clamp(min=limit)))"))

wrong("limit_on_the_weights", "the limit is for the weights | limit 用来限制权重",
      caught_by="check_cast_token_advantages_final_clip",
      todo_4=but(TOKENS, "kept = base * (1.0 + lam * (weights - 1.0))", "kept = base * (1.0 + lam * (weights.clamp(-limit, limit) - 1.0))",
                 "raw.clamp(-limit, limit)", "raw"))

wrong("limit_times_the_base", "the limit is measured in base advantages | limit 以基础优势为单位",
      caught_by="check_cast_token_advantages_final_clip",
      todo_4=but(TOKENS, "raw.clamp(-limit, limit)", "torch.maximum(torch.minimum(raw, limit * base.abs()), -limit * base.abs())"))

wrong("clipped_to_one", "advantages lie within -1 and 1 | 优势在 -1 与 1 之间",
      caught_by="check_cast_token_advantages_final_clip",
      todo_4=but(TOKENS, ".clamp(-limit, limit)", ".clamp(-1.0, 1.0)"))

wrong("default_limit_of_one", "the default limit is 1 | 默认的 limit 是 1",
      caught_by="check_cast_token_advantages_final_clip",
      function=but(TOKENS_FUNCTION, "limit=1.2", "limit=1.0"))

wrong("default_limit_of_two", "the default limit is 2 | 默认的 limit 是 2",
      caught_by="check_cast_token_advantages_final_clip",
      function=but(TOKENS_FUNCTION, "limit=1.2", "limit=2.0"))

wrong("lam_on_the_limit", "a smaller lam makes the limit smaller | lam 越小，limit 越小",
      caught_by="check_cast_token_advantages_final_clip_comes_last",
      todo_4=but(TOKENS, "raw.clamp(-limit, limit)", "raw.clamp(-1.0 - lam * (limit - 1.0), 1.0 + lam * (limit - 1.0))"))

wrong("lam_after_the_clip", "lam counts how far the clip goes | lam 决定裁剪到什么程度",
      caught_by="check_cast_token_advantages_final_clip_comes_last",
      todo_4=but(TOKENS, "raw.clamp(-limit, limit)", "(raw + lam * (raw.clamp(-limit, limit) - raw))"))

wrong("near_the_limit_is_the_limit", "what is near the limit becomes the limit | 接近 limit 就取 limit",
      caught_by="check_cast_token_advantages_final_clip_comes_last",
      todo_4=but(TOKENS, "raw.clamp(-limit, limit)", "torch.where(raw.abs() > 0.96 * limit, raw.sign() * limit, raw)"))

wrong("limit_fixed", "the limit is 1.2 | limit 就是 1.2",
      caught_by="check_cast_token_advantages_limit_as_given",
      todo_4=but(TOKENS, ".clamp(-limit, limit)", ".clamp(-1.2, 1.2)"))

wrong("limit_only_narrows", "a limit beyond 1.2 is not allowed | limit 不能超过 1.2",
      caught_by="check_cast_token_advantages_limit_as_given",
      todo_4=but(TOKENS, ".clamp(-limit, limit)", ".clamp(-min(limit, 1.2), min(limit, 1.2))"))

wrong("limit_upward_only", "the limit is given for positive advantages | limit 只针对正优势",
      caught_by="check_cast_token_advantages_limit_as_given",
      todo_4=but(TOKENS, ".clamp(-limit, limit)", ".clamp(-1.2, limit)"))

wrong("limit_downward_only", "the limit is given for negative advantages | limit 只针对负优势",
      caught_by="check_cast_token_advantages_limit_as_given",
      todo_4=but(TOKENS, ".clamp(-limit, limit)", ".clamp(-limit, 1.2)"))

wrong("limit_at_least_one", "a limit below 1 would cut the base advantage | 小于 1 的 limit 会切到基础优势",
      caught_by="check_cast_token_advantages_limit_as_given",
      todo_4=but(TOKENS, ".clamp(-limit, limit)", ".clamp(-max(limit, 1.0), max(limit, 1.0))"))

wrong("limit_at_least_a_tenth", "a limit below 0.1 is a mistake | 小于 0.1 的 limit 一定是写错了",
      caught_by="check_cast_token_advantages_limit_as_given",
      todo_4=but(TOKENS, ".clamp(-limit, limit)", ".clamp(-max(limit, 0.1), max(limit, 0.1))"))

wrong("limit_at_most_three", "a limit beyond 3 means none, unless infinite | 超过 3 的 limit 没有意义，除非是无穷",
      caught_by="check_cast_token_advantages_limit_as_given",
      todo_4=but(TOKENS, "raw.clamp(-limit, limit)", "(raw if limit == math.inf else raw.clamp(-min(limit, 3.0), min(limit, 3.0)))"))

wrong("flips_selected_by_multiplying", "0 times a flip is no flip | 0 乘翻转就是不翻转",
      caught_by="check_cast_token_advantages_survive_huge_gaps",
      todo_4="""
      down = flip_down & (base > 0) & (gaps < 0)
      up = flip_up & (base < 0) & (gaps > 0)
      kept = base * (1.0 + lam * (weights - 1.0)) * (~down & ~up)
      down_weights = (torch.exp(-gaps) * down).clamp(max(1.0, negative_bounds[0]), negative_bounds[1])
      up_weights = (torch.exp(gaps) * up).clamp(max(1.0, positive_bounds[0]), positive_bounds[1])
      raw = kept + base.abs() * (up * (1.0 + lam * (up_weights - 1.0)) - down * (1.0 + lam * (down_weights - 1.0)))
      token_advantages = raw.clamp(-limit, limit).detach()
      """)

wrong("flip_weights_clipped_by_subtraction", "what exceeds the bound is subtracted | 减去超出上界的部分",
      caught_by="check_cast_token_advantages_survive_huge_gaps",
      todo_4=but(TOKENS, "torch.exp(-gaps).clamp(max(1.0, negative_bounds[0]), negative_bounds[1])",
                 "torch.exp(-gaps).clamp(min=max(1.0, negative_bounds[0]))\n"
                 "down_weights = down_weights - (down_weights - negative_bounds[1]).clamp(min=0.0)"))

wrong("exp_of_python", "math.exp is as good as torch.exp | math.exp 与 torch.exp 一样",
      caught_by="check_cast_token_advantages_survive_huge_gaps",
      todo_4=but(TOKENS, "torch.exp(-gaps)", "torch.tensor([[math.exp(-gap) for gap in row] for row in gaps.tolist()], dtype=gaps.dtype)"))

wrong("zero_base_gets_delta", "a completion with B = 0 is a wrong one | B = 0 的回答算答错",
      caught_by="check_cast_token_advantages_zero_base",
      todo_4="base = torch.where(base == 0, -0.1, base)\n" + TOKENS.strip())

wrong("zero_base_follows_the_teacher", "without a verdict the teacher decides | 没有评分时由自教师决定",
      caught_by="check_cast_token_advantages_zero_base",
      todo_4=but(TOKENS, "token_advantages = raw", "token_advantages = torch.where(base == 0, gaps, raw)"))

wrong("divided_by_the_base", "sign(B) is B over its size | sign(B) 就是 B 除以自己的大小",
      caught_by="check_cast_token_advantages_zero_base",
      todo_4=but(TOKENS, "kept = base *", "kept = base / base.abs() * base.abs() *"))

wrong("small_gaps_do_not_flip", "a gap below 1e-6 is rounding | 低于 1e-6 的间隙是舍入误差",
      caught_by="check_cast_token_advantages_any_gap_flips",
      todo_4=but(TOKENS, "gaps < 0", "gaps < -1e-6", "gaps > 0", "gaps > 1e-6"))

wrong("gaps_below_a_hundredth_do_not_flip", "a gap below 0.01 is noise | 低于 0.01 的间隙是噪声",
      caught_by="check_cast_token_advantages_any_gap_flips",
      todo_4=but(TOKENS, "gaps < 0", "gaps < -0.01", "gaps > 0", "gaps > 0.01"))

wrong("flips_by_the_ratio", "a token flips where exp(gap) differs from 1 | exp(gap) 不等于 1 时才翻转",
      caught_by="check_cast_token_advantages_any_gap_flips",
      todo_4=but(TOKENS, "gaps < 0", "gaps.exp() < 1", "gaps > 0", "gaps.exp() > 1"))

wrong("lam_where_the_weight_exceeds_one", "lam tames what is amplified | lam 只抑制放大的部分",
      caught_by="check_cast_token_advantages_truth_table",
      todo_4=but(TOKENS, "kept = base * (1.0 + lam * (weights - 1.0))",
                 "kept = base * torch.where(weights > 1, 1.0 + lam * (weights - 1.0), weights)"))

wrong("weights_in_the_graph", "the weights learn through the advantage | 权重通过优势学习",
      caught_by="check_cast_token_advantages_are_frozen",
      todo_4=but(TOKENS, "limit).detach()", "limit)", "kept = base", "base, gaps = base.detach(), gaps.detach()\nkept = base"))

wrong("gaps_in_the_graph", "the gap of a flipped token learns | 翻转的 Token 通过间隙学习",
      caught_by="check_cast_token_advantages_are_frozen",
      todo_4=but(TOKENS, "limit).detach()", "limit)", "kept = base", "base, weights = base.detach(), weights.detach()\nkept = base"))

wrong("base_in_the_graph", "the base advantage is a function of the rewards | 基础优势是奖励的函数",
      caught_by="check_cast_token_advantages_are_frozen",
      todo_4=but(TOKENS, "limit).detach()", "limit)", "kept = base", "gaps, weights = gaps.detach(), weights.detach()\nkept = base"))

wrong("all_in_the_graph", "advantages stay in the graph | 优势留在计算图中",
      caught_by="check_cast_token_advantages_are_frozen",
      todo_4=but(TOKENS, ".detach()", ""))

wrong("frozen_by_the_clip", "what is clipped is constant, the rest may learn | 裁剪过的是常数，其余可以学习",
      caught_by="check_cast_token_advantages_are_frozen",
      todo_4=but(TOKENS, ".detach()", "") + "if limit < math.inf:\n    token_advantages = token_advantages.detach()\n")

wrong("frozen_with_lam", "without lam there is nothing to freeze | lam 为 0 就没有什么要停止梯度",
      caught_by="check_cast_token_advantages_are_frozen",
      todo_4=but(TOKENS, ".detach()", "") + "if lam > 0:\n    token_advantages = token_advantages.detach()\n")

wrong("frozen_with_the_down_flip", "what flips is constant | 翻转的才是常数",
      caught_by="check_cast_token_advantages_are_frozen",
      todo_4=but(TOKENS, ".detach()", "") + "if flip_down:\n    token_advantages = token_advantages.detach()\n")

wrong("frozen_with_the_up_flip", "what flips up is constant | 向上翻转的才是常数",
      caught_by="check_cast_token_advantages_are_frozen",
      todo_4=but(TOKENS, ".detach()", "") + "if flip_up:\n    token_advantages = token_advantages.detach()\n")

wrong("frozen_unless_alone", "a single completion has nothing to freeze | 只有一条回答时没有什么要停止梯度",
      caught_by="check_cast_token_advantages_are_frozen",
      todo_4=but(TOKENS, ".detach()", "") + "if len(base) > 1:\n    token_advantages = token_advantages.detach()\n")

wrong("frozen_unless_one_token", "a single token has nothing to freeze | 只有一个 Token 时没有什么要停止梯度",
      caught_by="check_cast_token_advantages_are_frozen",
      todo_4=but(TOKENS, ".detach()", "") + "if gaps.shape[1] > 1:\n    token_advantages = token_advantages.detach()\n")

wrong("early_return_without_lam", "without lam and the down flip nothing is done | lam 为 0 又不向下翻转，就什么也不做",
      caught_by="check_cast_token_advantages_are_frozen",
      todo_4="if lam == 0 and not flip_down:\n    return base.expand_as(gaps).clamp(-limit, limit)\n" + TOKENS.strip())

wrong("early_return_without_flips", "without flips the weighted base advantage is the result | 不翻转时，加权的基础优势就是结果",
      caught_by="check_cast_token_advantages_without_flips",
      todo_4="if not flip_down and not flip_up:\n    return base * (1.0 + lam * (weights - 1.0))\n" + TOKENS.strip())

wrong("no_lam_without_flips", "lam is the flips' | lam 是翻转的参数",
      caught_by="check_cast_token_advantages_without_flips",
      todo_4=TOKENS + """
if not flip_down and not flip_up:
    token_advantages = (base * weights).clamp(-limit, limit).detach()
""")

wrong("no_limit_without_flips", "what does not flip needs no final clip | 不翻转就不必最终裁剪",
      caught_by="check_cast_token_advantages_without_flips",
      todo_4=TOKENS + """
if not flip_down and not flip_up:
    token_advantages = raw.detach()
""")

wrong("no_detach_without_flips", "what does not flip may learn | 不翻转的可以学习",
      caught_by="check_cast_token_advantages_without_flips",
      todo_4=but(TOKENS, ".detach()", "") + "if flip_down or flip_up:\n    token_advantages = token_advantages.detach()\n")

wrong("base_clipped_in_place", "the base advantage is clipped where it stands | 就地裁剪基础优势",
      caught_by="check_cast_token_advantages_leaves_inputs_alone",
      todo_4=TOKENS + "base.detach().clamp_(-limit, limit)\n")

wrong("weights_overwritten", "weights are not needed afterwards | 之后不再需要权重",
      caught_by="check_cast_token_advantages_leaves_inputs_alone",
      todo_4=but(TOKENS, "lam * (weights - 1.0)", "lam * weights.detach().sub_(1.0)"))

wrong("any_lam_taken", "lam may be any number | lam 可以是任何数",
      caught_by="check_cast_token_advantages_refuses_bad_input",
      function=but(TOKENS_FUNCTION, "    if not 0 <= lam <= 1 or not limit > 0:\n        raise ValueError\n", ""))

wrong("any_shape_taken", "shapes broadcast | 形状会广播",
      caught_by="check_cast_token_advantages_refuses_bad_input",
      function=but(TOKENS_FUNCTION, "    require_base_and_token_values(base_advantages, gaps, weights)\n", ""))

wrong("nan_weights_taken", "a weight was checked where it was computed | 权重在算出时已经检查过",
      caught_by="check_cast_token_advantages_refuses_bad_input",
      function=but(TOKENS_FUNCTION, "require_base_and_token_values(base_advantages, gaps, weights)",
                   "require_base_and_token_values(base_advantages, gaps)\n    if weights.shape != gaps.shape:\n        raise ValueError"))

wrong("negative_limit_taken", "only a limit of 0 leaves nothing | 只有 limit 为 0 才什么也不剩",
      caught_by="check_cast_token_advantages_refuses_bad_input",
      function=but(TOKENS_FUNCTION, "not limit > 0", "limit == 0"))

wrong("nan_lam_and_limit_taken", "NaN is not out of range | NaN 不算越界",
      caught_by="check_cast_token_advantages_refuses_bad_input",
      function=but(TOKENS_FUNCTION, "if not 0 <= lam <= 1 or not limit > 0:", "if lam < 0 or lam > 1 or limit <= 0:"))

wrong("negative_bounds_checked_only", "positive bounds were checked before | 正侧上下界之前检查过了",
      caught_by="check_cast_token_advantages_refuses_bad_input",
      function=but(TOKENS_FUNCTION, "require_bounds(positive_bounds, negative_bounds)", "require_bounds(negative_bounds)"))

wrong("any_switch_taken", "1 is as good as True | 1 与 True 一样",
      caught_by="check_cast_token_advantages_refuses_bad_input",
      function=but(TOKENS_FUNCTION, "    if not isinstance(flip_down, bool) or not isinstance(flip_up, bool):\n        raise ValueError\n",
                   "    flip_down, flip_up = bool(flip_down), bool(flip_up)\n"))

# TODO 5: cast_loss

LOSS = """
token_losses = grpo_token_losses(
    new_token_logps, old_token_logps, token_advantages, completion_mask, epsilon_low=epsilon_low, epsilon_high=epsilon_high)
loss = reduce_token_losses(token_losses, completion_mask, reduction)
"""
OWN_LOSS = """
ratios = torch.exp((new_token_logps - old_token_logps.detach()).masked_fill(~completion_mask, 0.0))
advantages = token_advantages.detach().masked_fill(~completion_mask, 0.0)
clipped = ratios.clamp(1.0 - epsilon_low, 1.0 + epsilon_high)
surrogates = torch.minimum(ratios * advantages, clipped * advantages)
loss = reduce_token_losses(-surrogates, completion_mask, reduction)
"""
LOSS_FUNCTION = """
def cast_loss(new_token_logps, old_token_logps, token_advantages, completion_mask,
              epsilon_low=0.2, epsilon_high=1.0, reduction="token_mean"):
    require_token_values(completion_mask, new_token_logps, old_token_logps, token_advantages)
    if not 0 < epsilon_low < 1 or not 0 < epsilon_high < math.inf:
        raise ValueError
    if reduction not in ("token_mean", "sequence_mean", "sequence_sum"):
        raise ValueError
""" + LOSS.replace("\n", "\n    ").rstrip() + "\n    return loss\n"

wrong("loss_of_each_token", "reducing is the trainer's affair | 归约是训练器的事",
      caught_by="check_cast_loss_one_number",
      todo_5=but(LOSS, "loss = reduce_token_losses(token_losses, completion_mask, reduction)", "loss = token_losses"))

wrong("loss_of_each_completion", "there is one loss for each completion | 每条回答一个损失",
      caught_by="check_cast_loss_one_number",
      todo_5=but(LOSS, "loss = reduce_token_losses(token_losses, completion_mask, reduction)", "loss = token_losses.sum(dim=-1)"))

wrong("objective_for_loss", "the surrogate objective is minimized | 最小化代理目标",
      caught_by="check_cast_loss_minus_the_advantage_at_ratio_one",
      todo_5=but(LOSS, "loss = reduce", "loss = -reduce"))

wrong("summed_over_tokens", "a loss is a sum | 损失是总和",
      caught_by="check_cast_loss_minus_the_advantage_at_ratio_one",
      todo_5=but(LOSS, "reduce_token_losses(token_losses, completion_mask, reduction)", "token_losses.sum()"))

wrong("reinforce_loss", "the loss is minus advantage times log-probability | 损失是优势乘对数概率的相反数",
      caught_by="check_cast_loss_minus_the_advantage_at_ratio_one",
      todo_5=but(OWN_LOSS, "surrogates = torch.minimum(ratios * advantages, clipped * advantages)",
                 "surrogates = advantages * new_token_logps.masked_fill(~completion_mask, 0.0)"))

wrong("advantages_whitened", "token advantages are normalized over the batch | 在批内归一化 Token 优势",
      caught_by="check_cast_loss_minus_the_advantage_at_ratio_one",
      todo_5=but(OWN_LOSS, "clipped = ratios",
                 "advantages = (advantages - advantages.mean()) / (advantages.std(correction=0) + 1e-6)\nclipped = ratios"))

wrong("advantage_size_only", "only the size of the advantage matters | 只看优势的大小",
      caught_by="check_cast_loss_token_mean_by_default",
      todo_5=but(LOSS, "token_advantages,", "token_advantages.abs(),"))

wrong("sequence_mean_by_default", "the default reduction is GRPO's sequence mean | 默认归约是 GRPO 的序列平均",
      caught_by="check_cast_loss_token_mean_by_default",
      function=but(LOSS_FUNCTION, 'reduction="token_mean"', 'reduction="sequence_mean"'))

wrong("sequence_mean_always", "the loss is averaged by completion first | 损失先在每条回答内平均",
      caught_by="check_cast_loss_token_mean_by_default",
      todo_5=but(LOSS, "completion_mask, reduction)", 'completion_mask, "sequence_mean")'))

wrong("reduction_left_out", "reduce_token_losses knows CAST's default | reduce_token_losses 知道 CAST 的默认归约",
      caught_by="check_cast_loss_token_mean_by_default",
      todo_5=but(LOSS, "completion_mask, reduction)", "completion_mask)"))

wrong("mean_over_all_positions", "the mean is over the whole tensor | 对整个张量取平均",
      caught_by="check_cast_loss_token_mean_by_default",
      todo_5=but(LOSS, "reduce_token_losses(token_losses, completion_mask, reduction)", "token_losses.mean()"))

wrong("divided_by_completions", "the sum is divided by the number of completions | 总和除以回答数",
      caught_by="check_cast_loss_token_mean_by_default",
      todo_5=but(LOSS, "reduce_token_losses(token_losses, completion_mask, reduction)", "token_losses.sum() / len(token_losses)"))

wrong("advantages_within_one", "advantages lie within -1 and 1 | 优势在 -1 与 1 之间",
      caught_by="check_cast_loss_minus_the_advantage_at_ratio_one",
      todo_5=but(LOSS, "token_advantages,", "token_advantages.clamp(-1.0, 1.0),"))

wrong("token_mean_always", "CAST has one reduction | CAST 只有一种归约",
      caught_by="check_cast_loss_reductions",
      todo_5=but(LOSS, "completion_mask, reduction)", 'completion_mask, "token_mean")'))

wrong("sums_and_means_exchanged", "sequence_sum and sequence_mean are the same for CAST | 对 CAST 来说 sequence_sum 与 sequence_mean 一样",
      caught_by="check_cast_loss_reductions",
      todo_5=but(LOSS, "completion_mask, reduction)", 'completion_mask, reduction.replace("sum", "mean"))'))

wrong("ratio_inverted", "the ratio is old over new | 比率是旧比新",
      caught_by="check_cast_loss_ratio_of_each_token",
      todo_5=but(LOSS, "new_token_logps, old_token_logps", "old_token_logps, new_token_logps"))

wrong("ratio_without_exp", "the ratio is 1 plus the difference of log-probabilities | 比率是 1 加对数概率之差",
      caught_by="check_cast_loss_ratio_of_each_token",
      todo_5=but(OWN_LOSS, "torch.exp((new_token_logps - old_token_logps.detach()).masked_fill(~completion_mask, 0.0))",
                 "1.0 + (new_token_logps - old_token_logps.detach()).masked_fill(~completion_mask, 0.0)"))

wrong("sequence_ratio", "the ratio belongs to the completion, as in RLOO | 比率属于整条回答，像 RLOO 那样",
      caught_by="check_cast_loss_ratio_of_each_token",
      todo_5=but(OWN_LOSS, "(~completion_mask, 0.0))\nadv",
                 "(~completion_mask, 0.0).sum(dim=-1, keepdim=True)).expand_as(completion_mask)\nadv"))

wrong("geometric_mean_ratio", "the ratio is a mean over the completion, as in GSPO | 比率是整条回答的平均，像 GSPO 那样",
      caught_by="check_cast_loss_ratio_of_each_token",
      todo_5=but(OWN_LOSS, "(~completion_mask, 0.0))\nadv",
                 "(~completion_mask, 0.0).mean(dim=-1, keepdim=True)).expand_as(completion_mask)\nadv"))

wrong("ratio_to_the_current_policy", "the old policy is the current one, frozen | 旧策略就是停止梯度的当前策略",
      caught_by="check_cast_loss_ratio_of_each_token",
      todo_5=but(LOSS, "new_token_logps, old_token_logps", "new_token_logps, new_token_logps.detach()"))

wrong("ratio_detached", "a ratio is a weight, not a path for gradients | 比率只是权重，不传梯度",
      caught_by="check_cast_loss_gradient_reaches_new_logps",
      todo_5=but(LOSS, "new_token_logps, old", "new_token_logps.detach(), old"))

wrong("loss_detached", "the loss is a number to look at | 损失只是用来看的数",
      caught_by="check_cast_loss_gradient_reaches_new_logps",
      todo_5=but(LOSS, "completion_mask, reduction)", "completion_mask, reduction).detach()"))

wrong("detached_for_one_completion", "a single completion needs no gradient | 只有一条回答时不需要梯度",
      caught_by="check_cast_loss_gradient_reaches_new_logps",
      todo_5=but(LOSS, "new_token_logps, old", "new_token_logps if len(new_token_logps) > 1 else new_token_logps.detach(), old"))

wrong("mean_of_token_advantages", "a completion's tokens share their mean advantage | 一条回答的 Token 共用平均优势",
      caught_by="check_cast_loss_advantage_of_each_token",
      todo_5=but(OWN_LOSS, "clipped = ratios",
                 "advantages = advantages.sum(dim=1, keepdim=True) / completion_mask.sum(dim=1, keepdim=True).clamp(min=1)\n"
                 "advantages = advantages.expand_as(completion_mask)\nclipped = ratios"))

wrong("clipped_once_more", "advantages are clipped to 1.2 here too | 这里也把优势裁剪到 1.2",
      caught_by="check_cast_loss_advantage_of_each_token",
      todo_5=but(LOSS, "token_advantages,", "token_advantages.clamp(-1.2, 1.2),"))

wrong("advantages_within_three", "advantages beyond 3 are outliers | 超过 3 的优势是异常值",
      caught_by="check_cast_loss_advantage_of_each_token",
      todo_5=but(LOSS, "token_advantages,", "token_advantages.clamp(-3.0, 3.0),"))

wrong("zero_advantages_left_out", "a token with advantage 0 does not count | 优势为 0 的 Token 不算数",
      caught_by="check_cast_loss_zero_advantage_counts",
      todo_5="completion_mask = completion_mask & (token_advantages != 0)\n" + LOSS.strip())

wrong("completions_without_advantage_left_out", "a completion without advantages does not count | 没有优势的回答不算数",
      caught_by="check_cast_loss_zero_advantage_counts",
      todo_5=but(LOSS, "loss = reduce_token_losses(token_losses, completion_mask, reduction)",
                 "keep = ((token_advantages != 0) & completion_mask).any(dim=1) | ~completion_mask.any(dim=1)\n"
                 "loss = reduce_token_losses(token_losses[keep], completion_mask[keep], reduction)"))

wrong("sign_by_division", "the sign of an advantage is A over its size | 优势的符号是 A 除以自己的大小",
      caught_by="check_cast_loss_zero_advantage_counts",
      todo_5=but(OWN_LOSS, "torch.minimum(ratios * advantages, clipped * advantages)",
                 "torch.minimum(ratios * advantages / advantages.abs(), clipped * advantages / advantages.abs()) * advantages.abs()"))

wrong("kl_for_bad_tokens", "bad tokens pay a KL penalty | 坏 Token 要付 KL 惩罚",
      caught_by="check_cast_loss_equal_advantages_give_grpo",
      todo_5=but(OWN_LOSS, "torch.minimum(ratios * advantages, clipped * advantages)",
                 "torch.minimum(ratios * advantages, clipped * advantages) - 0.1 * (ratios - 1 - ratios.log()) * (advantages < 0)"))

wrong("bad_completions_weigh_half", "bad completions weigh less | 坏的回答权重更小",
      caught_by="check_cast_loss_equal_advantages_give_grpo",
      todo_5=but(OWN_LOSS, "torch.minimum(ratios * advantages, clipped * advantages)",
                 "torch.minimum(ratios * advantages, clipped * advantages)\n"
                 "surrogates = torch.where((advantages <= 0).all(dim=1, keepdim=True), 0.5 * surrogates, surrogates)"))

wrong("side_of_the_completion", "the completion's sign decides which bound stops its tokens | 由整条回答的符号决定用哪一侧边界",
      caught_by="check_cast_loss_flipped_token_stops_at_the_lower_bound",
      todo_5=but(OWN_LOSS, "torch.minimum(ratios * advantages, clipped * advantages)",
                 "torch.where(advantages.sum(dim=1, keepdim=True) > 0, ratios.clamp(max=1.0 + epsilon_high), "
                 "ratios.clamp(min=1.0 - epsilon_low)) * advantages"))

wrong("side_of_the_first_token", "a completion has one sign, that of its last token | 一条回答只有一个符号，取自最后一个 Token",
      caught_by="check_cast_loss_flipped_token_stops_at_the_lower_bound",
      todo_5=but(OWN_LOSS, "torch.minimum(ratios * advantages, clipped * advantages)",
                 "torch.where(advantages[:, -1:] > 0, ratios.clamp(max=1.0 + epsilon_high), "
                 "ratios.clamp(min=1.0 - epsilon_low)) * advantages"))

wrong("never_clipped", "the advantages are clipped, so the ratio need not be | 优势已经裁剪，比率就不必了",
      caught_by="check_cast_loss_flipped_token_stops_at_the_lower_bound",
      todo_5=but(OWN_LOSS, "clipped * advantages", "ratios * advantages"))

wrong("larger_surrogate", "of the two surrogates the larger one counts | 取两个代理目标中较大的一个",
      caught_by="check_cast_loss_flipped_token_stops_at_the_lower_bound",
      todo_5=but(OWN_LOSS, "torch.minimum", "torch.maximum"))

wrong("clipped_above_only", "only a growing ratio is dangerous | 只有变大的比率才危险",
      caught_by="check_cast_loss_flipped_token_stops_at_the_lower_bound",
      todo_5=but(OWN_LOSS, "ratios.clamp(1.0 - epsilon_low, 1.0 + epsilon_high)", "ratios.clamp(max=1.0 + epsilon_high)"))

wrong("clipped_below_only", "only a shrinking ratio is dangerous | 只有变小的比率才危险",
      caught_by="check_cast_loss_flipped_token_stops_at_the_upper_bound",
      todo_5=but(OWN_LOSS, "ratios.clamp(1.0 - epsilon_low, 1.0 + epsilon_high)", "ratios.clamp(min=1.0 - epsilon_low)"))

wrong("tokens_flipped_up_not_clipped", "a wrong completion is clipped below only | 错误的回答只在下侧裁剪",
      caught_by="check_cast_loss_flipped_token_stops_at_the_upper_bound",
      todo_5=but(OWN_LOSS, "torch.minimum(ratios * advantages, clipped * advantages)",
                 "torch.where(advantages.sum(dim=1, keepdim=True) < 0, ratios.clamp(min=1.0 - epsilon_low) * advantages, "
                 "torch.minimum(ratios * advantages, clipped * advantages))"))

wrong("always_clipped", "the clipped surrogate is the loss | 裁剪后的代理目标就是损失",
      caught_by="check_cast_loss_takes_the_smaller_surrogate",
      todo_5=but(OWN_LOSS, "torch.minimum(ratios * advantages, clipped * advantages)", "clipped * advantages"))

wrong("dual_clip", "a bad token's ratio is held below 3 | 坏 Token 的比率限制在 3 以下",
      caught_by="check_cast_loss_takes_the_smaller_surrogate",
      todo_5=but(OWN_LOSS, "clipped * advantages)", "clipped * advantages)\n"
                 "surrogates = torch.where(advantages < 0, torch.maximum(surrogates, 3.0 * advantages), surrogates)"))

wrong("epsilons_exchanged", "epsilon_high belongs to the lower bound | epsilon_high 属于下界",
      caught_by="check_cast_loss_bounds_as_given",
      todo_5=but(LOSS, "epsilon_low=epsilon_low, epsilon_high=epsilon_high",
                 "epsilon_low=min(epsilon_high, 0.9), epsilon_high=epsilon_low"))

wrong("epsilon_high_left_out", "grpo_token_losses knows CAST's bounds | grpo_token_losses 知道 CAST 的边界",
      caught_by="check_cast_loss_bounds_as_given",
      todo_5=but(LOSS, ", epsilon_high=epsilon_high", ""))

wrong("epsilon_low_left_out", "the lower bound is always 0.8 | 下界总是 0.8",
      caught_by="check_cast_loss_bounds_as_given",
      todo_5=but(LOSS, "epsilon_low=epsilon_low, ", ""))

wrong("epsilons_fixed", "the epsilons are 0.2 and 1 | 两个 epsilon 就是 0.2 和 1",
      caught_by="check_cast_loss_bounds_as_given",
      todo_5=but(LOSS, "epsilon_low=epsilon_low, epsilon_high=epsilon_high", "epsilon_low=0.2, epsilon_high=1.0"))

wrong("one_epsilon", "one epsilon is enough | 一个 epsilon 就够了",
      caught_by="check_cast_loss_bounds_as_given",
      todo_5=but(LOSS, "epsilon_high=epsilon_high", "epsilon_high=epsilon_low"))

wrong("bounds_on_the_log_ratio", "the epsilons bound the log-ratio | epsilon 限制的是对数比率",
      caught_by="check_cast_loss_bounds_as_given",
      todo_5=but(OWN_LOSS, "ratios.clamp(1.0 - epsilon_low, 1.0 + epsilon_high)",
                 "ratios.clamp(math.exp(-epsilon_low), math.exp(epsilon_high))"))

wrong("epsilon_high_at_most_two", "an epsilon_high beyond 2 clips nothing | 超过 2 的 epsilon_high 什么也不裁",
      caught_by="check_cast_loss_bounds_wide_and_narrow",
      todo_5=but(OWN_LOSS, "1.0 + epsilon_high", "1.0 + min(epsilon_high, 2.0)"))

wrong("epsilon_low_at_most_six_tenths", "an epsilon_low beyond 0.6 clips nothing | 超过 0.6 的 epsilon_low 什么也不裁",
      caught_by="check_cast_loss_bounds_wide_and_narrow",
      todo_5=but(OWN_LOSS, "1.0 - epsilon_low", "1.0 - min(epsilon_low, 0.6)"))

wrong("epsilon_high_at_least_a_tenth", "an epsilon_high below 0.1 stops learning | 小于 0.1 的 epsilon_high 会让学习停滞",
      caught_by="check_cast_loss_bounds_wide_and_narrow",
      todo_5=but(OWN_LOSS, "1.0 + epsilon_high", "1.0 + max(epsilon_high, 0.1)"))

wrong("epsilon_low_at_least_a_tenth", "an epsilon_low below 0.1 stops learning | 小于 0.1 的 epsilon_low 会让学习停滞",
      caught_by="check_cast_loss_bounds_wide_and_narrow",
      todo_5=but(OWN_LOSS, "1.0 - epsilon_low", "1.0 - max(epsilon_low, 0.1)"))

wrong("epsilon_high_of_grpo", "the upper bound is GRPO's, 0.2 | 上界是 GRPO 的 0.2",
      caught_by="check_cast_loss_default_bounds",
      function=but(LOSS_FUNCTION, "epsilon_high=1.0", "epsilon_high=0.2"))

wrong("epsilon_high_of_the_code", "the upper bound is the prototype's, 0.28 | 上界是原型代码的 0.28",
      caught_by="check_cast_loss_default_bounds",
      function=but(LOSS_FUNCTION, "epsilon_high=1.0", "epsilon_high=0.28"))

wrong("epsilon_low_of_one_tenth", "the lower bound is 0.9 | 下界是 0.9",
      caught_by="check_cast_loss_default_bounds",
      function=but(LOSS_FUNCTION, "epsilon_low=0.2", "epsilon_low=0.28"))

wrong("log_ratio_within_10", "a log-ratio is held within -10 and 10 to be safe | 为保险起见把对数比率限制在 -10 与 10 之间",
      caught_by="check_cast_loss_limits_nothing",
      todo_5=but(OWN_LOSS, "(~completion_mask, 0.0))\nadv", "(~completion_mask, 0.0).clamp(-10.0, 10.0))\nadv"))

wrong("log_ratio_within_20", "a log-ratio is held within -20 and 20 to be safe | 为保险起见把对数比率限制在 -20 与 20 之间",
      caught_by="check_cast_loss_limits_nothing",
      todo_5=but(OWN_LOSS, "(~completion_mask, 0.0))\nadv", "(~completion_mask, 0.0).clamp(-20.0, 20.0))\nadv"))

wrong("ratio_within_10", "a ratio beyond 10 is an outlier | 超过 10 的比率是异常值",
      caught_by="check_cast_loss_limits_nothing",
      todo_5=but(OWN_LOSS, "(~completion_mask, 0.0))\nadv", "(~completion_mask, 0.0)).clamp(max=10.0)\nadv"))

wrong("advantages_within_100", "an advantage beyond 100 is a mistake | 超过 100 的优势一定是算错了",
      caught_by="check_cast_loss_limits_nothing",
      todo_5=but(LOSS, "token_advantages,", "token_advantages.clamp(-100.0, 100.0),"))

wrong("advantages_at_most_five", "a positive advantage beyond 5 is an outlier | 超过 5 的正优势是异常值",
      caught_by="check_cast_loss_limits_nothing",
      todo_5=but(LOSS, "token_advantages,", "token_advantages.clamp(max=5.0),"))

wrong("small_advantages_are_zero", "an advantage below 0.001 is noise | 小于 0.001 的优势是噪声",
      caught_by="check_cast_loss_limits_nothing",
      todo_5=but(LOSS, "token_advantages,", "token_advantages * (token_advantages.abs() >= 1e-3),"))

wrong("old_policy_learns", "both policies are in the graph | 两个策略都在计算图中",
      caught_by="check_cast_loss_old_and_advantages_are_frozen",
      todo_5=but(OWN_LOSS, "old_token_logps.detach()", "old_token_logps"))

wrong("advantages_learn", "token advantages stay in the graph | Token 优势留在计算图中",
      caught_by="check_cast_loss_old_and_advantages_are_frozen",
      todo_5=but(OWN_LOSS, "token_advantages.detach()", "token_advantages"))

wrong("both_in_the_graph", "only the new policy is trained, so nothing needs freezing | 只训练新策略，所以不必停止梯度",
      caught_by="check_cast_loss_old_and_advantages_are_frozen",
      todo_5=but(OWN_LOSS, "old_token_logps.detach()", "old_token_logps", "token_advantages.detach()", "token_advantages"))

wrong("padding_counted", "every position is a token | 每个位置都是 Token",
      caught_by="check_cast_loss_token_mean_by_default",
      todo_5=but(LOSS, "token_losses, completion_mask, reduction)", "token_losses, torch.ones_like(completion_mask), reduction)"))

wrong("stops_at_the_first_padding", "a completion ends at its first padding | 回答到第一个填充为止",
      caught_by="check_cast_loss_leaves_padding_out",
      todo_5="completion_mask = completion_mask.cumprod(dim=1).bool()\n" + LOSS.strip())

wrong("empty_completions_left_out", "a completion without a valid token is no completion | 没有有效 Token 的回答不算回答",
      caught_by="check_cast_loss_leaves_padding_out",
      todo_5=but(LOSS, "reduce_token_losses(token_losses, completion_mask, reduction)",
                 "reduce_token_losses(token_losses[completion_mask.any(dim=1)], completion_mask[completion_mask.any(dim=1)], reduction)"))

wrong("masked_at_the_end", "masking the loss also masks its gradient | 对损失套用掩码，梯度也就被掩掉",
      caught_by="check_cast_loss_padding_may_be_infinite",
      todo_5="""
      ratios = torch.exp(new_token_logps - old_token_logps.detach())
      advantages = token_advantages.detach()
      clipped = ratios.clamp(1.0 - epsilon_low, 1.0 + epsilon_high)
      losses = -torch.minimum(ratios * advantages, clipped * advantages)
      loss = reduce_token_losses(losses, completion_mask, reduction)
      """)

wrong("advantages_times_mask", "0 times the padding is 0 | 0 乘填充等于 0",
      caught_by="check_cast_loss_padding_may_be_infinite",
      todo_5=but(OWN_LOSS, "token_advantages.detach().masked_fill(~completion_mask, 0.0)", "token_advantages.detach() * completion_mask",
                 "reduce_token_losses(-surrogates, completion_mask, reduction)",
                 "-surrogates.sum() / completion_mask.sum() if reduction == 'token_mean' "
                 "else reduce_token_losses(-surrogates, completion_mask, reduction)"))

wrong("log_ratio_times_mask", "the log-ratio times the mask is 0 on padding | 对数比率乘掩码，填充处就是 0",
      caught_by="check_cast_loss_padding_may_be_infinite",
      todo_5=but(OWN_LOSS, "(new_token_logps - old_token_logps.detach()).masked_fill(~completion_mask, 0.0)",
                 "(new_token_logps - old_token_logps.detach()) * completion_mask"))

wrong("divided_by_no_token", "a batch always has a valid token | 一批中总有有效 Token",
      caught_by="check_cast_loss_no_valid_token",
      todo_5=LOSS + 'if reduction == "token_mean":\n    loss = token_losses.sum() / completion_mask.sum()\n')

wrong("mean_of_the_valid_tokens", "token_mean is the mean of what the mask selects | token_mean 就是对掩码选出的取平均",
      caught_by="check_cast_loss_no_valid_token",
      todo_5=LOSS + 'if reduction == "token_mean":\n    loss = token_losses[completion_mask].mean()\n')

wrong("padding_overwritten", "the caller's padding may be set to 0 | 可以把调用者的填充改写为 0",
      caught_by="check_cast_loss_leaves_inputs_alone",
      todo_5="token_advantages.detach().masked_fill_(~completion_mask, 0.0)\n" + LOSS.strip())

wrong("old_brought_up_to_date", "after the loss the new policy is the old one | 算完损失，新策略就成了旧策略",
      caught_by="check_cast_loss_leaves_inputs_alone",
      todo_5=LOSS + "old_token_logps.detach().copy_(new_token_logps.detach())\n")

wrong("loss_in_float32", "float32 is always enough | float32 总是够用",
      caught_by="check_cast_loss_keeps_float64",
      todo_5=but(OWN_LOSS, "(new_token_logps - old_token_logps.detach())", "(new_token_logps.float() - old_token_logps.detach().float())"))

wrong("advantages_of_completions_taken", "[N] advantages are as good as [N, T] | [N] 的优势与 [N, T] 一样",
      caught_by="check_cast_loss_refuses_bad_input",
      function=but(LOSS_FUNCTION, "old_token_logps, token_advantages)", "old_token_logps)"))

wrong("any_reduction_taken", "an unknown reduction is the default | 未知的归约就用默认的",
      caught_by="check_cast_loss_refuses_bad_input",
      function=but(LOSS_FUNCTION, "        raise ValueError\n\n", '        reduction = "token_mean"\n\n'))

# Mutants that compute the same

equivalent("TODO 4: base < 0 -> base <= 0", because="where B is 0 the flipped advantage is |0| times something, 0 like the kept one")
equivalent("TODO 4: base > 0 -> base >= 0", because="where B is 0 the flipped advantage is |0| times something, 0 like the kept one")
equivalent("TODO 4: max(1.0, negative_bounds[0]) -> negative_bounds[0]",
           because="exp(-gap) is above 1 wherever the token flips down, so a lower bound below 1 never holds it")
equivalent("TODO 4: max(1.0, positive_bounds[0]) -> positive_bounds[0]",
           because="exp(gap) is above 1 wherever the token flips up, so a lower bound below 1 never holds it")
equivalent("TODO 4: 1.0 -> 0.0 (place 2)", because="exp(-gap) is above 1 wherever the token flips down, so max(0, low) does as well")
equivalent("TODO 4: 1.0 -> 0.0 (place 3)", because="exp(gap) is above 1 wherever the token flips up, so max(0, low) does as well")
