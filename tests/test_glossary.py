"""The glossary: each term with a sentence that is right in both languages, and what the build refuses in it."""

from pathlib import Path

import pytest

from lessons._build.glossary import COLUMNS, GlossaryError, read_glossary

GLOSSARY = read_glossary(Path(__file__).parents[1] / "lessons" / "glossary.md")
TERMS = {term.english: term for term in GLOSSARY.terms}

SENTENCES = {
    "prompt": ("One prompt is sampled four times.", "同一提示采样四次。"),
    "completion": ("Each completion ends with EOS.", "每条回答都以 EOS 结尾。"),
    "final answer": ("The final answer stands in the box.", "最终答案写在方框里。"),
    "token": ("Tokens after EOS do not count.", "EOS 之后的 Token 不计入。"),
    "group": ("Compare only within a group.", "只在组内比较。"),
    "group size": ("Raise the group size to 8.", "把组大小加到 8。"),
    "sibling": ("Its siblings stay as they are.", "同组其他回答保持不变。"),
    "rollout": ("A rollout keeps its records.", "采样轨迹保存自己的记录。"),
    "policy": ("Two policies are compared.", "比较两个策略。"),
    "old policy": ("The old policy wrote them.", "它们由旧策略写出。"),
    "reference policy": ("The reference policy is fixed.", "参考策略固定不变。"),
    "self-teacher": ("The self-teacher is refreshed.", "自教师定期刷新。"),
    "reinforcement learning": ("Reinforcement learning needs a signal.", "强化学习需要信号。"),
    "language model": ("A tiny language model is enough.", "一个很小的语言模型就够了。"),
    "tiny model": ("A tiny model learns it.", "小模型能学会。"),
    "policy gradient": ("A policy-gradient step follows.", "接着走一步策略梯度。"),
    "on-policy": ("The first step is on-policy.", "第一步是在线策略的。"),
    "off-policy": ("Later steps are off-policy.", "之后的步是异策略的。"),
    "log-probability": ("The log-probability rises.", "对数概率上升。"),
    "token log-probability": ("Token log-probabilities are summed.", "Token 对数概率相加。"),
    "sequence log-probability": ("The sequence log-probability is a sum.", "序列对数概率是一个和。"),
    "temperature": ("The temperature is 1.", "温度为 1。"),
    "mask": ("The mask is bool.", "掩码是布尔张量。"),
    "completion mask": ("The completion mask covers EOS.", "回答掩码包含 EOS。"),
    "answer mask": ("The answer mask covers the box.", "答案掩码覆盖方框。"),
    "loss mask": ("The loss mask leaves it out.", "损失掩码把它去掉。"),
    "padding": ("Padding may hold NaN.", "填充处可能是 NaN。"),
    "reward": ("The rewards are 1 and 0.", "奖励是 1 和 0。"),
    "reward component": ("One reward component is absent.", "少了一个奖励分量。"),
    "missing reward": ("A missing reward is NaN.", "缺失奖励是 NaN。"),
    "shaped reward": ("The shaped reward is lower.", "塑形奖励更低。"),
    "verifiable reward": ("Verifiable rewards need a rule.", "可验证奖励需要规则。"),
    "verifier": ("The verifier reads the box.", "验证器读取方框。"),
    "return": ("The return adds them up.", "回报把它们加起来。"),
    "discounted return": ("The discounted return is smaller.", "折扣回报更小。"),
    "value": ("The value is learned.", "价值是学出来的。"),
    "critic": ("RLOO has no critic.", "RLOO 没有价值网络。"),
    "baseline": ("The baseline is 0.5.", "基线是 0.5。"),
    "benchmark": ("No benchmark is run here.", "这里不跑基准测试。"),
    "leave-one-out": ("Leave-one-out needs two.", "留一法至少要两条。"),
    "leave-one-out baseline": ("Its leave-one-out baseline is 3.", "它的留一基线是 3。"),
    "advantage": ("The advantages sum to 0.", "优势之和为 0。"),
    "base advantage": ("The base advantage has a sign.", "基础优势有正负。"),
    "group-relative advantage": ("GRPO uses the group-relative advantage.", "GRPO 用的是组相对优势。"),
    "zero-variance group": ("A zero-variance group teaches nothing.", "零方差组学不到东西。"),
    "all-correct group": ("In an all-correct group it is 0.", "在全对组里它是 0。"),
    "all-wrong group": ("In an all-wrong group it is 0.", "在全错组里它是 0。"),
    "mixed group": ("A mixed group has a signal.", "混合组有信号。"),
    "ratio": ("The ratio is 1.", "比率为 1。"),
    "importance ratio": ("The importance ratio is 1.35.", "重要性比率是 1.35。"),
    "importance sampling": ("Importance sampling corrects it.", "重要性采样可以修正它。"),
    "token ratio": ("A token ratio moves less.", "Token 比率变动更小。"),
    "sequence ratio": ("The sequence ratio is a product.", "序列比率是一个乘积。"),
    "clip": ("The clip stops it.", "裁剪让它停下。"),
    "clip range": ("It leaves the clip range.", "它越出裁剪范围。"),
    "asymmetric clipping": ("CAST uses asymmetric clipping.", "CAST 使用非对称裁剪。"),
    "surrogate": ("Take the smaller surrogate.", "取较小的代理目标。"),
    "surrogate objective": ("The surrogate objective is maximized.", "最大化代理目标。"),
    "loss": ("The losses are averaged.", "损失取平均。"),
    "gradient": ("The gradient is not 0.", "梯度不是 0。"),
    "stop gradient": ("A stop-gradient copy is kept.", "保留一份停止梯度的副本。"),
    "KL penalty": ("KL penalties are summed.", "KL 惩罚相加。"),
    "KL divergence": ("The KL divergence is never negative.", "KL 散度不会为负。"),
    "KL estimator": ("This KL estimator is k1.", "这个 KL 估计量是 k1。"),
    "estimator": ("The estimator is a rule.", "估计量是一条规则。"),
    "unbiased": ("An unbiased estimate follows.", "得到的是无偏估计。"),
    "bias": ("Its bias shrinks.", "它的偏差变小。"),
    "variance": ("The variance falls.", "方差下降。"),
    "standard deviation": ("The standard deviation is 2.", "标准差是 2。"),
    "bandit": ("On a small bandit it is exact.", "在小老虎机上它是精确的。"),
    "learning rate": ("The learning rate is small.", "学习率很小。"),
    "majority vote": ("The majority vote is 7.", "多数投票的结果是 7。"),
    "majority voting": ("Majority voting needs no label.", "多数投票不需要标签。"),
    "pseudo-label": ("The pseudo-label may be wrong.", "伪标签可能是错的。"),
    "soft consensus reward": ("The soft consensus reward is graded.", "软共识奖励是分级的。"),
    "contrast-augmented reward": ("The contrast-augmented reward costs more.", "对比增强奖励更贵。"),
    "answer pool": ("The answer pool is a multiset.", "答案池是多重集。"),
    "self-certainty": ("Self-certainty needs no label.", "自确信度不需要标签。"),
    "test-time training": ("Test-time training has no labels.", "测试时训练没有标签。"),
    "collapse": ("The collapse comes late.", "坍塌来得晚。"),
    "teacher–student gap": ("The teacher-student gap is positive.", "教师—学生间隙为正。"),
    "teacher-positive token": ("A teacher-positive token gets more.", "教师正向 Token 得到更多。"),
    "teacher-negative token": ("A teacher-negative token gets less.", "教师负向 Token 得到更少。"),
    "advantage flip": ("An advantage flip is rare.", "优势翻转很少见。"),
    "reduction": ("The reduction decides the weight.", "归约方式决定权重。"),
    "sequence mean": ("The sequence mean comes first.", "先取序列平均。"),
    "token mean": ("The token mean weighs them alike.", "Token 平均给它们同样的权重。"),
    "sequence sum": ("The sequence sum grows with length.", "序列求和随长度增长。"),
    "constant reduction": ("The constant reduction divides by a length.", "常数归约除以一个固定长度。"),
    "visible check": ("The visible check passes.", "可见检查通过。"),
    "hidden check": ("The hidden check fails.", "隐藏检查未通过。"),
    "optional": ("The notebook is optional.", "这份 notebook 是选做的。"),
    "TRL cell": ("The TRL cell is skipped.", "TRL 核对单元已跳过。"),
    "wrong answer": ("This wrong answer is caught.", "这个错误答案被抓住。"),
    "proxy reward": ("A proxy reward is easy to measure.", "代理奖励容易测量。"),
    "reward hacking": ("The curve does not show reward hacking.", "奖励作弊在曲线上看不出来。"),
    "reward model": ("A reward model can err.", "奖励模型会出错。"),
    "expected gradient": ("The expected gradient stays.", "期望梯度不变。"),
    "TD residual": ("The TD residual of step 3 is 0.3.", "第 3 步的 TD 残差是 0.3。"),
    "generalized advantage estimation": ("GAE is generalized advantage estimation.", "GAE 即广义优势估计。"),
    "discount": ("The discount is 1.", "折扣是 1。"),
    "terminated": ("It terminated by itself.", "它自行终止。"),
    "truncated": ("It was truncated at the limit.", "它在上限处截断。"),
    "record": ("The record is frozen.", "记录已经冻结。"),
    "stale": ("A stale record is refused.", "过期的记录被拒绝。"),
    "inner update": ("Inner updates follow one another.", "内部更新一次接一次。"),
    "EOS": ("The first EOS counts.", "第一个 EOS 算数。"),
    "mini-batch": ("The second mini-batch meets another policy.", "第二个小批量遇到的策略已经不同。"),
    "group mean": ("The group mean is 0.5.", "组均值是 0.5。"),
    "difficulty bias": ("The divisor brings a difficulty bias.", "除数带来难度偏差。"),
    "length bias": ("A sequence mean has a length bias.", "序列平均有长度偏差。"),
    "dynamic sampling": ("DAPO's dynamic sampling drops the group.", "DAPO 的动态采样会丢掉这一组。"),
    "overlong penalty": ("The overlong penalty is −0.5.", "超长惩罚是 −0.5。"),
    "geometric mean": ("It is the geometric mean of the ratios.", "它是这些比率的几何平均。"),
    "label-free": ("A label-free reward needs no verifier.", "无标签奖励不需要验证器。"),
    "ground truth": ("The ground truth is 42.", "真实答案是 42。"),
    "answer span": ("The answer span is empty.", "答案片段是空的。"),
    "format reward": ("The format reward is 1.", "格式奖励是 1。"),
    "multiset": ("A multiset keeps repetitions.", "多重集保留重复的元素。"),
    "hyperparameter": ("The hyperparameters are the same.", "超参数相同。"),
    "flip": ("The flip is undone.", "翻转撤销了。"),
    "shaped advantage": ("The shaped advantage is 0.8.", "塑形优势是 0.8。"),
    "token advantage": ("The token advantages are ±1.2.", "Token 优势是 ±1.2。"),
    "final clip": ("The final clip comes last.", "最终裁剪放在最后。"),
    "answer-free": ("The self-teacher is answer-free.", "这个自教师是无答案的。"),
    "privileged teacher": ("A privileged teacher reads the solution.", "特权教师能读到解答。"),
    "refresh": ("Every refresh sets the gaps to 0.", "每次刷新都让间隙归零。"),
    "dead band": ("The dead band is 0.05.", "死区是 0.05。"),
    "distillation": ("Distillation is imitation.", "蒸馏就是模仿。"),
    "negative feedback": ("A lag means negative feedback.", "落后意味着负反馈。"),
    "mask (verb)": ("What to do with an answer: mask (verb) it.", "对答案要做的是：掩住它。"),
}

INNOCENT = {
    "truncated is 截断": ("A completion is truncated at the limit.", "回答在上限处截断。"),
    "补全 of code": ("Complete the function and print what it returns.", "补全这个函数，打印返回值。"),
    "响应 of a slider": ("The slider does not respond.", "滑块没有响应。"),
    "在 + 策略": ("After the policy update, it drifts from the policy.", "在策略更新之后，它偏离策略。"),
    "a benchmark is not a baseline": ("A benchmark has a baseline.", "基准测试有基线。"),
    "everyday words": ("Return the two values; the cell may collapse.", "返回两个数，单元格可能折叠。"),
    "shaping as a verb": ("The KL penalty shapes it.", "用 KL 惩罚塑造它。"),
    "other forms are no terms": ("Clipped, rewarded, tokenizer, masked, biased, grouped.", "只是别的词。"),
    "term in code only": ("See `baseline` and `policy`.", "见 `baseline` 与 `policy`。"),
    "term in a formula only": (r"See $\text{policy}$.", r"见 $\text{policy}$。"),
    "term in a fence only": ("```\npolicy = token\n```", "```\npolicy = token\n```"),
    "term in an address only": ("See [this](https://x.org/policy).", "见[这里](https://x.org/policy)。"),
    "name in a bare address": ("See https://x.org/token.", "见 https://x.org/token。"),
    "full name kept": ("GRPO, Group Relative Policy Optimization", "GRPO（Group Relative Policy Optimization）"),
    "title kept": ("Kool “Buy 4 REINFORCE samples, get a baseline for free!”", "Kool “Buy 4 REINFORCE samples, get a baseline for free!”"),
    "title with a refused word": ("“What every token learns”", "“What every token learns”"),
    "no white space": ("A token log-probability and a KL penalty", "Token对数概率与KL惩罚"),
    "wrapped line": ("The leave-one-out baseline", "留一\n基线"),
    "spaces for hyphens": ("The leave one out baseline of a zero variance group", "零方差组的留一基线"),
    "hyphenated with other words": ("A per-token, sequence-level, policy-only rule", "逐 Token、序列级、只看策略的规则"),
    "bold": ("The **baseline** and *advantage*", "**基线** 与 *优势*"),
    "term in a heading, a list and a table": ("# Policy\n\n- reward\n\n| loss |\n|---|\n| token |",
                                              "# 策略\n\n- 奖励\n\n| 损失 |\n|---|\n| Token |"),
    "nothing": ("", ""),
}

REFUSED = {
    "missing": ("The baseline is 3.", "它是 3。", '"baseline" is 基线, which the Chinese lacks'),
    "only in code": ("The baseline is 3.", "`基线` 是 3。", '"baseline" is 基线, which the Chinese lacks'),
    "capital": ("Baselines differ.", "它们不同。", '"baseline" is 基线, which the Chinese lacks'),
    "plural in -ies": ("KL penalties add up.", "它们累加。", '"KL penalty" is KL 惩罚, which the Chinese lacks'),
    "plural in -es": ("The losses add up.", "它们累加。", '"loss" is 损失, which the Chinese lacks'),
    "only part of the longer term": ("Its leave-one-out baseline is 3.", "它的基线是 3。", '"leave-one-out baseline" is 留一基线'),
    "in a link's words": ("See [the baseline](a.html).", "见[这里](a.html)。", '"baseline" is 基线, which the Chinese lacks'),
    "in a table": ("| policy |\n|---|\n| 1 |", "| 甲 |\n|---|\n| 1 |", '"policy" is 策略, which the Chinese lacks'),
    "in a summary": ("<details>\n<summary>The policy</summary>\n\nx\n\n</details>",
                     "<details>\n<summary>它</summary>\n\nx\n\n</details>", '"policy" is 策略, which the Chinese lacks'),
    "left in English": ("The old policy wrote it.", "它由 old policy 写出。", '"old policy" is 旧策略, which the Chinese lacks'),
    "refused beside the right one": ("The policy moves.", "策略移动，政策也动。", '政策 is not used for "policy", write 策略'),
    "refused without the English": ("It moves.", "政策会动。", '政策 is not used for "policy", write 策略'),
    "small letters": ("Each token counts.", "每个token（Token）都算。", 'token is not used for "token", write Token'),
    "longer than the right one": ("Two prompts", "两个提示词", '提示词 is not used for "prompt", write 提示'),
    "in alt text": ("![x](a.png)", "![两个政策](a.png)", "政策 is not used"),
}


def test_each_term_has_a_sentence():
    assert list(SENTENCES) == list(TERMS)


@pytest.mark.parametrize("term", TERMS)
def test_the_right_sentence_passes_and_the_wrong_ones_are_refused(term):
    en, zh = SENTENCES[term]
    row = TERMS[term]
    assert row.chinese in zh
    assert GLOSSARY.differences(en, zh) == GLOSSARY.message_differences(en, zh) == []
    if not row.everyday:
        missing = f'"{term}" is {row.chinese}, which the Chinese lacks'
        assert missing in GLOSSARY.differences(en, zh.replace(row.chinese, "它"))
    for word in row.refused:
        found = GLOSSARY.differences(en, zh.replace(row.chinese, word))
        assert any(difference.startswith(f'{word} is not used for "{term}"') for difference in found), (word, found)


@pytest.mark.parametrize("en, zh", INNOCENT.values(), ids=INNOCENT)
def test_what_only_looks_wrong_passes(en, zh):
    assert GLOSSARY.differences(en, zh) == []


@pytest.mark.parametrize("en, zh, message", REFUSED.values(), ids=REFUSED)
def test_a_difference_is_named(en, zh, message):
    assert any(message in difference for difference in GLOSSARY.differences(en, zh)), GLOSSARY.differences(en, zh)


@pytest.mark.parametrize("en, zh", [
    ("rewards and group_ids must be [N], N > 0", "rewards 与 group_ids 必须是同形非空一维张量"),
    ("new_logps, old_logps and advantages must be [N], N > 0", "三者必须是同形非空一维张量"),
    ("completion_mask must be bool", "completion_mask 必须是布尔张量"),
    ("# ratios = ???  # [N]: ratio of two", "两者的比率"),
    ("    `policy` must be 1", "`policy` 必须是 1"),
    ("Expected 2 * x * 3 < 4 and a_b_c", "应为 2 * x * 3 < 4"),
    ("", ""),
])
def test_names_in_code_in_a_message_are_no_terms(en, zh):
    assert GLOSSARY.message_differences(en, zh) == []


@pytest.mark.parametrize("en, zh, message", [
    ("The baseline holds its own reward.", "基准含有自己的奖励。", "基准 is not used"),
    ("The final answer is missing.", "没有答案。", '"final answer" is 最终答案'),
    ("    # an indented policy", "方案", '"policy" is 策略'),
])
def test_a_message_is_compared_too(en, zh, message):
    assert any(message in difference for difference in GLOSSARY.message_differences(en, zh))


HEADER = "| English | 中文 | symbol / name in code | note | not \\| 不用 |\n|---|---|---|---|---|\n"


def read(tmp_path, rows, header=HEADER):
    (tmp_path / "glossary.md").write_text("# Glossary\n\n" + header + rows, encoding="utf-8")
    return read_glossary(tmp_path / "glossary.md")


def test_the_longest_term_is_read_first(tmp_path):
    glossary = read(tmp_path, "| log | 对数 | | | |\n| log file | 日志 | | | |\n")
    assert glossary.differences("the log files", "日志") == []
    assert glossary.differences("the log files and a log", "日志") == ['"log" is 对数, which the Chinese lacks']


def test_everyday_words_and_pipes_are_read(tmp_path):
    (term,) = read(tmp_path, "| value | 价值 | `a\\|b` · `values` | everyday; a number | 值钱, 价钱 |").terms
    assert (term.everyday, term.names_in_code, term.refused) == (True, ("values",), ("值钱", "价钱"))
    assert COLUMNS[-1] == "not | 不用"


@pytest.mark.parametrize("rows, message", [
    ("| policy | 策略 | | |\n", "line 5: 4 cells instead of 5"),
    ("| policy | | | | |\n", "line 5: a term needs English and Chinese"),
    ("| policy | 策略 | | | |\n| Policy | 方案 | | | |\n", "line 6: Policy has a row already, with 策略"),
    ("| log-file | 日志 | | | |\n| log file | 日志 | | | |\n", "line 6: log file has a row already, with 日志"),
    ("| policy | 策略, 方案 | | | |\n", "line 5: one term and one translation a row"),
    ("| policy, plan | 策略 | | | |\n", "line 5: one term and one translation a row"),
    ("| a | 甲 | | | 丙 |\n| b | 乙 | | | 丙 |\n", "丙 is refused twice, for a and for b"),
    ("| a | 甲 | | | 乙 |\n| b | 乙 | | | |\n", "乙 is refused for a and is the translation of b"),
    ("| a | 甲 | | | |\n\n| b | 乙 | | | |\n", "the table is broken"),
    ("", "a table with the columns"),
])
def test_a_malformed_table_is_refused(tmp_path, rows, message):
    with pytest.raises(GlossaryError, match="glossary.md") as error:
        read(tmp_path, rows)
    assert message in str(error.value)


def test_another_header_is_refused(tmp_path):
    with pytest.raises(GlossaryError, match="a table with the columns"):
        read(tmp_path, "| a | 甲 | | |\n", header="| English | 中文 | symbol | note |\n|---|---|---|---|\n")
