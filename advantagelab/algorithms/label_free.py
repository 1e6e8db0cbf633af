r"""Rewards without labels: what a group of completions says about its own answers, and the oracle to hold it against.

Answers are strings that are compared as they stand: `normalize_answer` first, then count. None is a completion without a valid answer.
Sources: majority vote: TTRL (arXiv 2504.16084), Shafayat et al. (2505.21444); self-certainty: Intuitor (2505.19590);
soft consensus and contrast-augmented rewards: OM-GRPO (2608.03119). What the papers leave open is a course convention, and said so.
"""

import math

import torch


def exact_value(number: str) -> tuple[int, int] | None:
    """Numerator and denominator of an integer or a decimal. | 整数或小数的分子与分母。

    number: such as "42", "-0.5", "+.25", "1,000"; commas only as thousands separators | 逗号只能是千位分隔符
    returns: (numerator, power of ten), not reduced; None for anything else, and beyond 1000 characters
             | 未约分；其他写法或超过 1000 个字符时为 None
    """
    unsigned = number[1:] if number.startswith(("+", "-")) else number
    whole, _, decimals = unsigned.partition(".")
    first, *thousands = whole.split(",")
    if thousands and (not 1 <= len(first) <= 3 or any(len(digits) != 3 for digits in thousands)):
        return None
    digits = whole.replace(",", "") + decimals
    if not (digits.isascii() and digits.isdigit()) or len(digits) > 1000:
        return None
    return int(digits) * (-1 if number.startswith("-") else 1), 10 ** len(decimals)


def normalize_answer(answer: str) -> str:
    r"""One way of writing a number, so that equal numbers are equal strings. | 数的统一写法：相等的数写成相等的字符串。

    answer: the text inside the box | 方框内的文字
    returns: for an integer, a decimal, a/b or \frac{a}{b}, with thousands commas, outer spaces and $ allowed: the exact value in
             lowest terms, "1/2" for 0.5, "3" for 6/2; anything else: the text without outer spaces
             | 整数、小数、a/b 或 \frac{a}{b}（可带千位逗号、首尾空格与 $）：最简形式的精确值；其他：去掉首尾空格的原文
    Source: course convention
    """
    text = answer.strip().strip("$").strip()
    if text.startswith(("\\frac{", "-\\frac{")) and text.endswith("}"):
        text = text.replace("\\frac{", "", 1)[:-1].replace("}{", "/", 1)
    above, slash, below = text.partition("/")
    numerator, denominator = exact_value(above), exact_value(below) if slash else (1, 1)
    if numerator is None or denominator is None or denominator[0] == 0:
        return answer.strip()
    top, bottom = numerator[0] * denominator[1], numerator[1] * denominator[0]
    divisor = math.gcd(top, bottom) * (1 if bottom > 0 else -1)
    return f"{top // divisor}" if bottom == divisor else f"{top // divisor}/{bottom // divisor}"


def require_answers(answers: list[str | None], group_ids: torch.Tensor) -> None:
    """Refuse answers that cannot be counted in groups. | 拒绝无法按组计数的答案。

    answers: N strings or None, None = no valid answer; an empty string is refused: an empty box is None
             | N 个字符串或 None，None 表示没有有效答案；空字符串会被拒绝：空方框应写作 None
    group_ids: [N] int64, in any order, groups of any size | 顺序与组大小任意
    ValueError: no answers, another length, group_ids not int64, an answer that is neither None nor a string with a visible character
                | 没有答案、长度不同、group_ids 不是 int64、答案既不是 None 也不是含可见字符的字符串
    """
    if not answers or group_ids.shape != (len(answers),) or group_ids.dtype != torch.int64:
        raise ValueError("need N > 0 answers and group_ids [N], int64 | 需要 N > 0 个答案与 [N] 的 int64 group_ids")
    if not all(answer is None or isinstance(answer, str) and answer.strip() for answer in answers):
        raise ValueError("an answer is a string that is not empty, or None | 答案须为非空字符串或 None")


def require_comparisons(comparisons: list[tuple[int, int, str | None]], group_ids: torch.Tensor) -> None:
    """Refuse comparisons that belong to no group or that come twice. | 拒绝不属于任何一组或重复出现的比较。

    comparisons: triples (i, j, answer), i and j int; answer: what the policy answered after it read completion i as solution 1 and j as
                 solution 2; None = no valid answer | 三元组；策略读过回答 i（解法 1）与 j（解法 2）之后给出的答案；None 表示没有有效答案
    ValueError: no triple, i or j not int or no completion, i == j, two groups, an ordered pair twice, an empty answer
                | 不是三元组、i 或 j 不是 int 或不是回答的编号、i == j、分属两组、同一有序对出现两次、答案为空
    """
    if not all(type(comparison) in (tuple, list) and [type(part) for part in comparison[:-1]] == [int, int] for comparison in comparisons):
        raise ValueError("a comparison is a triple (i, j, answer), i and j int | 比较须为三元组 (i, j, answer)，i 与 j 为 int")
    pairs = [(i, j) for i, j, _ in comparisons]
    if not all(0 <= i < len(group_ids) and 0 <= j < len(group_ids) and i != j and group_ids[i] == group_ids[j] for i, j in pairs):
        raise ValueError("a comparison is of two different completions of one group | 比较的必须是同一组的两条不同回答")
    if len(set(pairs)) < len(pairs):
        raise ValueError("each ordered pair may be compared once | 每个有序对只能比较一次")
    if not all(answer is None or isinstance(answer, str) and answer.strip() for _, _, answer in comparisons):
        raise ValueError("a comparison's answer is a string that is not empty, or None | 比较得到的答案须为非空字符串或 None")


def ground_truth_rewards(answers: list[str | None], correct_answers: list[str]) -> torch.Tensor:
    """1 for the correct answer, 0 otherwise: what label-free training lacks. | 答对为 1，否则为 0：无标签训练没有这样的奖励。

    answers: N strings or None; correct_answers: N strings, one for each completion, written as answers are | 每条回答一个，写法与答案相同
    returns: [N] float, 0 or 1; 0 where there is no valid answer | 没有有效答案时为 0
    ValueError: no answers, another length, an empty correct answer | 没有答案、长度不同、正确答案为空
    Source: the supervised baseline of OM-GRPO (2608.03119), without a format reward
    """
    if not answers or len(answers) != len(correct_answers):
        raise ValueError("need N > 0 answers and as many correct answers | 需要 N > 0 个答案与同样多的正确答案")
    if not all(isinstance(correct, str) and correct.strip() for correct in correct_answers):
        raise ValueError("a correct answer is a string that is not empty | 正确答案须为非空字符串")
    return torch.tensor([float(answer == correct) for answer, correct in zip(answers, correct_answers, strict=True)])


def self_certainty_rewards(token_logits: torch.Tensor, completion_mask: torch.Tensor) -> torch.Tensor:
    """How far the policy's next-token distributions are from the uniform one. | 策略的下一 Token 分布离均匀分布有多远。

    token_logits: [N, T, V] float, the logits that predict each completion token; outside the mask anything | 掩码之外可以是任何值
    completion_mask: [N, T] bool, True = valid, at least one in each completion | 每条回答至少一个有效 Token
    returns: [N] float, >= 0, detached: mean over valid tokens of the KL divergence from the uniform distribution to the policy's
             | 停止梯度；有效 Token 上“均匀分布到策略分布的 KL 散度”的平均
    ValueError: other shapes, mask not bool, a completion without a valid token, a valid logit that is not finite
                | 形状不符、掩码不是布尔张量、某条回答没有有效 Token、有效位置的 logit 不是有限数
    Source: Intuitor (2505.19590), whose code leaves out the constant log V, which no advantage feels
    """
    if token_logits.ndim != 3 or token_logits.numel() == 0 or token_logits.shape[:2] != completion_mask.shape:
        raise ValueError("token_logits must be [N, T, V], the mask [N, T] | token_logits 必须是 [N, T, V]，掩码必须是 [N, T]")
    if completion_mask.dtype != torch.bool or not completion_mask.any(dim=-1).all():
        raise ValueError("the mask must be bool, with a valid token in each row | 掩码必须是布尔张量，且每行有有效 Token")
    if not torch.isfinite(token_logits[completion_mask]).all():
        raise ValueError("valid logits must be finite | 有效位置的 logit 必须是有限数")
    logits = token_logits.detach()
    divergences = logits.logsumexp(dim=-1) - logits.mean(dim=-1) - math.log(logits.shape[-1])  # KL(uniform, policy) | 均匀分布到策略
    return divergences.masked_fill(~completion_mask, 0.0).sum(dim=-1) / completion_mask.sum(dim=-1)


def majority_vote_rewards(answers: list[str | None], group_ids: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """1 for the group's most frequent answer, 0 for any other. | 答案为组内最多者的回答得 1，其余得 0。

    answers: N strings, compared as they stand, already through normalize_answer, or None = no valid answer: never elected, never rewarded
             | 按原样比较；调用之前已用 normalize_answer 统一写法。None 表示没有有效答案：不当选，也不得奖励
    group_ids: [N] int64, in any order, groups of any size | 顺序与组大小任意
    returns: rewards [N] float, 0 or 1; tied [N] bool, True on every completion of a group where two answers share the highest count.
             Of tied answers the one that came first wins; a group without a valid answer: all 0, not tied
             | 票数最高的答案不止一个时，整组的 tied 为 True，先出现的当选；没有有效答案的组全为 0，不算平票
    ValueError: see require_answers | 见 require_answers
    Source: TTRL (2504.16084); Shafayat et al. (2505.21444); first occurrence on a tie: course convention
    """
    require_answers(answers, group_ids)
    rewards, tied = torch.zeros(len(answers)), torch.zeros(len(answers), dtype=torch.bool)
    for group in group_ids.unique().tolist():
        members = [i for i, other in enumerate(group_ids.tolist()) if other == group]  # their indices, in order | 组内编号，按顺序
        # votes = ???       # list: the members' valid answers, repetitions kept, possibly none | 组内的有效答案，重复的也保留，可能没有
        # winner = ???      # str: the most frequent of them, on a tie the first | 其中出现最多者，平票取先出现的
        # leaders = ???     # the different answers that are as frequent as the winner | 与当选者次数相同的各个不同答案
        # rewards[i] = ???  # for each member i: did it give the winner? | 组内每条回答 i：是否给出当选答案
        # tied[i] = ???     # for each member i: is there more than one leader? | 组内每条回答 i：领先的答案是否不止一个
        ### BEGIN SOLUTION TODO 2: Majority vote | 多数投票
        votes = [answers[i] for i in members if answers[i] is not None]
        if votes:
            winner = max(votes, key=votes.count)
            leaders = {vote for vote in votes if votes.count(vote) == votes.count(winner)}
            for i in members:
                rewards[i] = answers[i] == winner
                tied[i] = len(leaders) > 1
        ### END SOLUTION
    return rewards, tied


def soft_consensus_rewards(
    answers: list[str | None],
    group_ids: torch.Tensor,
    normalizer: str = "max",
    format_reward: bool = False,
) -> torch.Tensor:
    """How frequent each completion's answer is in its group. | 每条回答的答案在组内所占的份额。

    answers: N strings, compared as they stand, already through normalize_answer, or None = no valid answer: reward 0, equal to nothing
             | 按原样比较；调用之前已用 normalize_answer 统一写法。None 表示没有有效答案：奖励为 0，与谁都不相等
    group_ids: [N] int64, in any order, groups of any size | 顺序与组大小任意
    normalizer: "max" divides the count by the highest count of the group, "group" by the group size, completions without a valid answer
                included | "max" 除以组内最高的次数；"group" 除以组大小，没有有效答案的回答也计入
                (default "max", as the translation prints it; the paper, by its readers: "group")
    format_reward: adds 1 for a valid answer (default False) | 有效答案再加 1
    returns: [N] float
    ValueError: another normalizer; see require_answers | normalizer 取其他值；另见 require_answers
    Source: OM-GRPO (2608.03119)
    """
    require_answers(answers, group_ids)
    if normalizer not in ("max", "group"):
        raise ValueError('normalizer must be "max" or "group" | normalizer 只能取 "max" 或 "group"（即组大小）')
    rewards = torch.zeros(len(answers))
    for group in group_ids.unique().tolist():
        members = [i for i, other in enumerate(group_ids.tolist()) if other == group]  # their indices, in order | 组内编号，按顺序
        # own = ???         # list: the members' answers, None included | 组内各条回答的答案，含 None
        # counts = ???      # list: how often each of them was given; 0 for None | 各自出现的次数；None 为 0
        # divisor = ???     # number: what normalizer says; all counts may be 0 | 由 normalizer 决定；次数可能全为 0
        # rewards[i] = ???  # for each member i with a valid answer: its share, plus the format reward | 有有效答案时：所占份额加格式奖励
        ### BEGIN SOLUTION TODO 3: Soft consensus reward | 软共识奖励
        own = [answers[i] for i in members]
        counts = [0 if answer is None else own.count(answer) for answer in own]
        divisor = max(counts) if normalizer == "max" else len(members)
        for i, count in zip(members, counts, strict=True):
            if count > 0:
                rewards[i] = count / divisor + (1.0 if format_reward else 0.0)
        ### END SOLUTION
    return rewards


def contrast_augmented_rewards(
    answers: list[str | None],
    group_ids: torch.Tensor,
    comparisons: list[tuple[int, int, str | None]],
    normalizer: str = "max",
    format_reward: bool = False,
) -> torch.Tensor:
    """Soft consensus in a pool that also holds the answers given after comparing pairs. | 答案池加入两两比较所得答案之后的软共识奖励。

    answers: N strings, compared as they stand, already through normalize_answer, or None = no valid answer: reward 0, equal to nothing
             | 按原样比较；调用之前已用 normalize_answer 统一写法。None 表示没有有效答案：奖励为 0，与谁都不相等
    group_ids: [N] int64, in any order, groups of any size | 顺序与组大小任意
    comparisons: (i, j, answer), i and j indices of two completions of one group, each ordered pair at most once, possibly none at all;
                 answer as in answers | i、j 是同组两条回答的编号，每个有序对至多一次，也可以一个都没有；answer 的写法同 answers
    normalizer: "max" divides the count in the pool by the highest such count of an answer that the group's own completions gave,
                "group" by the pool size, entries without a valid answer included (default "max")
                | "max" 除以本组回答所给答案在池中的最高次数；"group" 除以池的大小，没有有效答案的也计入
    format_reward: adds 1 for a valid answer of the completion (default False) | 回答有有效答案时再加 1
    returns: [N] float; without comparisons that of soft_consensus_rewards | 没有比较时与 soft_consensus_rewards 相同
    ValueError: another normalizer; see require_answers and require_comparisons | normalizer 取其他值；另见这两个函数
    Source: OM-GRPO (2608.03119), CAR: the pool is a multiset, pairs are ordered, a comparison is never trained on
    """
    require_answers(answers, group_ids)
    require_comparisons(comparisons, group_ids)
    if normalizer not in ("max", "group"):
        raise ValueError('normalizer must be "max" or "group" | normalizer 只能取 "max" 或 "group"（即组大小）')
    rewards = torch.zeros(len(answers))
    for group in group_ids.unique().tolist():
        members = [i for i, other in enumerate(group_ids.tolist()) if other == group]  # their indices, in order | 组内编号，按顺序
        # own = ???         # list: the members' answers, None included | 组内各条回答的答案，含 None
        # pool = ???        # list: these and this group's comparison answers, repetitions kept | 再加上本组比较的答案，重复的也保留
        # counts = ???      # list: how often each member's answer stands in the pool; 0 for None | 各条回答的答案在池中的次数；None 为 0
        # divisor = ???     # number: what normalizer says; all counts may be 0 | 由 normalizer 决定；次数可能全为 0
        # rewards[i] = ???  # for each member i with a valid answer: its share, plus the format reward | 有有效答案时：所占份额加格式奖励
        ### BEGIN SOLUTION TODO 4: Contrast-augmented reward | 对比增强奖励
        own = [answers[i] for i in members]
        pool = own + [answer for i, _, answer in comparisons if i in members]
        counts = [0 if answer is None else pool.count(answer) for answer in own]
        divisor = max(counts) if normalizer == "max" else len(pool)
        for i, count in zip(members, counts, strict=True):
            if count > 0:
                rewards[i] = count / divisor + (1.0 if format_reward else 0.0)
        ### END SOLUTION
    return rewards


def chain_of_thought_prompt(question: str) -> str:
    r"""The prompt of a group: think step by step, the final answer in a box. | 一组回答的提示：逐步推理，最终答案写入方框。

    returns: a chat in ChatML that ends where the completion begins | ChatML 格式的对话，止于回答开始之处
    Source: OM-GRPO (2608.03119), appendix A, which takes each model's own chat template
    """
    return ("<|im_start|>system\nLet's think step by step and output the final answer within \\boxed{}.<|im_end|>\n"
            f"<|im_start|>user\n{question}<|im_end|>\n<|im_start|>assistant\n")


def comparison_prompt(question: str, solution_1: str, solution_2: str) -> str:
    r"""The prompt that compares two completions; it ends inside the box. | 比较两条回答的提示，止于方框之内。

    solution_1, solution_2: completions i and j of a comparison (i, j, answer), in this order | 比较 (i, j, answer) 中的两条回答，次序有别
    returns: chain_of_thought_prompt(question) with the beginning of the assistant's turn, which ends in \boxed{
             | 在其后接上助手一轮的开头，以 \boxed{ 结尾
    Source: OM-GRPO (2608.03119), figure 7, as the translation quotes it
    """
    return (f"{chain_of_thought_prompt(question)}Here are two possible solutions:\n[Solution 1] {solution_1}\n[Solution 2] {solution_2}\n"
            "Based on the reasoning in the solutions above, the correct final answer is \\boxed{")
