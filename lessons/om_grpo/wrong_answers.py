r"""Mistakes that the checks of lesson OM-GRPO must reject: name, the misconception, the check whose message speaks of it, the code.

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


# TODO 1: answer_span_mask

BOXES = r'''
first = last = 0
opening = text.find("\\boxed{")
while opening >= 0:
    inside = opening + 7
    closing = closing_brace(text, inside)
    if closing is not None:
        first, last = inside, closing
    opening = text.find("\\boxed{", inside)
'''
OVERLAP = r'''
mask = torch.tensor([max(start, first) < min(end, last) for start, end in offsets], dtype=torch.bool)
'''


def wrong_box(name: str, misconception: str, caught_by: str, code: str) -> None:
    wrong(name, misconception, caught_by=f"check_answer_span_mask_{caught_by}", todo_1=code.strip("\n") + OVERLAP)


def wrong_tokens(name: str, misconception: str, caught_by: str, code: str) -> None:
    wrong(name, misconception, caught_by=f"check_answer_span_mask_{caught_by}", todo_1=BOXES + code.strip("\n"))


wrong_box("first_box", "the first box counts | 取第一个方框", "last_box", r'''
inside = text.find("\\boxed{") + 7
closing = closing_brace(text, inside) if inside > 6 else None
first, last = (0, 0) if closing is None else (inside, closing)
''')

wrong_box("first_closing_brace", "the first closing brace ends the box | 第一个右花括号结束方框", "nested_braces", r'''
first = last = 0
opening = text.find("\\boxed{")
while opening >= 0:
    inside = opening + 7
    if "}" in text[inside:]:
        first, last = inside, text.index("}", inside)
    opening = text.find("\\boxed{", inside)
''')

wrong_box("last_closing_brace", "the last closing brace of the text ends the box | 全文最后一个右花括号结束方框", "nested_braces", r'''
first = text.rfind("\\boxed{") + 7
last = text.rfind("}") if first > 6 else first
''')

wrong_box("escapes_ignored", "an escaped brace counts as a brace | 转义花括号也参与配对", "nested_braces", r'''
first = last = 0
for inside in [i for i in range(7, len(text) + 1) if text[i - 7:i] == "\\boxed{"]:
    depth = 1
    for position in range(inside, len(text)):
        depth += {"{": 1, "}": -1}.get(text[position], 0)
        if depth == 0:
            first, last = inside, position
            break
''')

wrong_box("unclosed_runs_on", "a box that never closes runs to the end | 未闭合的方框延伸到末尾", "cut_off", r'''
first = text.rfind("\\boxed{") + 7
closing = closing_brace(text, first) if first > 6 else first
last = len(text) if closing is None else closing
''')

wrong_box("unclosed_hides_all", "if the last box does not close, there is no answer | 最后的方框没闭合就没有答案", "cut_off", r'''
first = last = 0
inside = text.rfind("\\boxed{") + 7
if inside > 6 and closing_brace(text, inside) is not None:
    first, last = inside, closing_brace(text, inside)
''')

wrong_box("empty_falls_back", "an empty last box gives way to an earlier one | 最后的方框为空就用之前的", "empty_box",
          BOXES.replace("closing is not None", "closing is not None and closing > inside"))

wrong_box("braces_included", "the braces belong to the answer | 花括号属于答案", "glued_tokens",
          BOXES + "first, last = first - 1, last + 1\n")

wrong_box("command_included", "the box itself belongs to the answer | 方框命令也属于答案", "glued_tokens",
          BOXES + "first = max(0, first - 7)\n")

wrong_tokens("whole_token_inside", "a token counts only if it lies inside whole | 整个落在框内的 Token 才算", "glued_tokens", r'''
mask = torch.tensor([first <= start < end <= last for start, end in offsets], dtype=torch.bool)
''')

wrong_tokens("start_inside", "a token counts if it starts inside | 起点在框内的 Token 才算", "glued_tokens", r'''
mask = torch.tensor([first <= start < min(end, last) for start, end in offsets], dtype=torch.bool)
''')

wrong_tokens("touching_counts", "touching is overlapping | 相邻也算有交集", "glued_tokens", r'''
mask = torch.tensor([first < last and start < end and max(start, first) <= min(end, last) for start, end in offsets], dtype=torch.bool)
''')

wrong_tokens("zero_width", "a token of width 0 inside the box counts | 框内的零宽 Token 也算", "odd_tokens", r'''
mask = torch.tensor([first < last and start < last and (end > first or first <= start == end) for start, end in offsets], dtype=torch.bool)
''')

wrong_tokens("empty_box_glued", "a token around an empty box counts | 包住空方框的 Token 也算", "empty_box", r'''
mask = torch.tensor([start < last and end > first and start < end for start, end in offsets], dtype=torch.bool)
''')

wrong_tokens("loss_mask", "True on what stays in the loss | 留在损失里的为 True", "glued_tokens", r'''
mask = torch.tensor([max(start, first) >= min(end, last) for start, end in offsets], dtype=torch.bool)
''')

wrong_tokens("shifted", "the row that predicts the answer, one to the left | 左移一位，取预测答案的那一行", "glued_tokens", r'''
mask = torch.tensor([max(start, first) < min(end, last) for start, end in offsets], dtype=torch.bool).roll(-1)
''')

wrong_tokens("text_search", "every token that is part of the answer's text | 凡是答案文字的 Token", "last_box", r'''
mask = torch.tensor([start < end and first < last and (max(start, first) < min(end, last) or text[start:end] == text[first:last])
                     for start, end in offsets], dtype=torch.bool)
''')

wrong_tokens("bytes", "offsets count bytes | 偏移按字节计", "characters", r'''
first, last = len(text[:first].encode()), len(text[:last].encode())
mask = torch.tensor([max(start, first) < min(end, last) for start, end in offsets], dtype=torch.bool)
''')

wrong_tokens("integers", "0 and 1 make a mask | 0 和 1 就是掩码", "glued_tokens", r'''
mask = torch.tensor([int(max(start, first) < min(end, last)) for start, end in offsets])
''')

wrong_tokens("no_tokens_float", "torch knows the dtype of an empty list | torch 知道空列表的类型", "odd_tokens", r'''
mask = torch.tensor([max(start, first) < min(end, last) for start, end in offsets])
''')

wrong_tokens("tokens_touch", "a token ends where the next one starts | 每个 Token 止于下一个的起点", "odd_tokens", r'''
ends = [start for start, end in offsets[1:]] + [len(text)]
mask = torch.tensor([max(start, first) < min(end, stop, last) for (start, end), stop in zip(offsets, ends)], dtype=torch.bool)
''')

wrong("all_boxes", "every box holds an answer | 每个方框里都是答案", caught_by="check_answer_span_mask_last_box", todo_1=r'''
spans, opening = [], text.find("\\boxed{")
while opening >= 0:
    closing = closing_brace(text, opening + 7)
    spans += [] if closing is None else [(opening + 7, closing)]
    opening = text.find("\\boxed{", opening + 7)
mask = torch.tensor([any(max(start, first) < min(end, last) for first, last in spans) for start, end in offsets], dtype=torch.bool)
''')

wrong("never_masked", "nothing is hidden | 什么都不掩住", caught_by="check_answer_span_mask_glued_tokens",
      todo_1="mask = torch.zeros(len(offsets), dtype=torch.bool)")

wrong("no_validation", "offsets are taken as they come | 偏移照单全收", caught_by="check_answer_span_mask_refuses",
      function="def answer_span_mask(text, offsets):\n" + "".join(f"    {line}\n" for line in (BOXES + OVERLAP).splitlines())
               + "    return mask")

wrong("consumes_offsets", "the list of offsets may be used up | 可以边用边删偏移列表", caught_by="hidden_answer_span_mask_keeps_inputs",
      todo_1=BOXES + r'''
values = []
while offsets:
    start, end = offsets.pop(0)
    values.append(max(start, first) < min(end, last))
mask = torch.tensor(values, dtype=torch.bool)
''')

wrong_box("outer_box", "of nested boxes the outer one counts | 方框套方框时取外面的", "box_in_a_box", r'''
first = last = 0
opening = text.find("\\boxed{")
while opening >= 0:
    closing = closing_brace(text, opening + 7)
    if closing is not None:
        first, last = opening + 7, closing
    opening = text.find("\\boxed{", opening + 7 if closing is None else closing)
''')

wrong_box("braces_are_enough", "any braces hold the answer | 花括号里的就是答案", "no_box", r'''
first = last = 0
opening = text.find("{")
while opening >= 0:
    closing = closing_brace(text, opening + 1)
    if closing is not None and (text[:opening].endswith("boxed") or "boxed{" not in text):
        first, last = opening + 1, closing
    opening = text.find("{", opening + 1)
''')

wrong_box("no_box_is_all", "without a box the last token is the answer | 没有方框时最后一个 Token 就是答案", "no_box",
          BOXES + "if last == 0 and \"boxed{\" not in text:\n    first, last = offsets[-1] if offsets else (0, 0)\n")

for depth, inner in ((1, r"(?:\\.|[^{}\\])"), (2, r"(?:\\.|[^{}\\]|\{(?:\\.|[^{}\\])*\})")):
    wrong_box(f"pattern_of_depth_{depth}", f"a pattern matches braces, {depth} deep | 用正则匹配 {depth} 层花括号", "nested_braces", fr'''
import re

first = last = 0
for match in re.finditer(r"(?=\\boxed\{{((?:\\.|[^{{}}\\]|\{{{inner}*\}})*)\}})", text, re.DOTALL):
    first, last = match.start(1), match.end(1)
''')

wrong_box("backslash_before_a_brace", "a brace after a backslash is escaped | 反斜杠后的花括号就是转义的", "nested_braces", r'''
first = last = 0
for inside in [i for i in range(7, len(text) + 1) if text[i - 7:i] == "\\boxed{"]:
    depth = 1
    for position in range(inside, len(text)):
        if text[position - 1] != "\\":
            depth += {"{": 1, "}": -1}.get(text[position], 0)
        if depth == 0:
            first, last = inside, position
            break
''')

for name, misconception, pattern in (
        ("space_before_the_brace", "a space before the brace does no harm | 花括号前可以有空格", r"\\boxed\s*\{"),
        ("fbox", "\\\\fbox is a box as well | \\\\fbox 也是方框", r"\\(?:boxed|fbox)\{"),
        ("capitals", "\\\\Boxed is \\\\boxed | \\\\Boxed 就是 \\\\boxed", r"\\[bB]oxed\{"),
        ("any_command_ending_in_boxed", "any command that ends in boxed | 以 boxed 结尾的命令都是", r"\\[a-z]*boxed\{")):
    wrong_box(name, misconception, "no_box", f'''
import re

first = last = 0
for match in re.finditer(r"{pattern}", text):
    if closing_brace(text, match.end()) is not None:
        first, last = match.end(), closing_brace(text, match.end())
''')

wrong_box("two_boxes_tried", "if the last does not close, the one before does | 最后的没闭合，前一个总是闭合的", "cut_off", r'''
first = last = 0
opening = text.rfind("\\boxed{")
for _ in range(2):
    if opening >= 0 and last == 0 and closing_brace(text, opening + 7) is not None:
        first, last = opening + 7, closing_brace(text, opening + 7)
    opening = text.rfind("\\boxed{", 0, max(opening, 0))
''')

wrong_box("ten_boxes", "nobody writes more than ten boxes | 方框不会超过十个", "any_length",
          BOXES.replace("first = last = 0", "first = last = seen = 0")
          .replace("while opening >= 0:", "while opening >= 0 and seen < 10:\n    seen += 1"))
wrong_box("the_end_is_enough", "the box stands in the last 200 characters | 方框总在最后 200 个字符里", "any_length",
          BOXES.replace('text.find("\\\\boxed{")', 'text.find("\\\\boxed{", max(0, len(text) - 200))'))
wrong_box("an_answer_is_short", "an answer has at most 100 characters | 答案至多 100 个字符", "any_length",
          BOXES + "if last - first > 100:\n    first = last = 0\n")
wrong_box("spaces_stripped", "outer spaces are no answer | 首尾空格不算答案", "everything_inside",
          BOXES + "while first < last and text[first].isspace():\n    first += 1\n"
          "while first < last and text[last - 1].isspace():\n    last -= 1\n")
wrong_box("dollars_stripped", "$ only marks a formula | $ 只是公式记号", "everything_inside",
          BOXES + 'while first < last and text[first] == "$":\n    first += 1\n'
          'while first < last and text[last - 1] == "$":\n    last -= 1\n')
wrong_box("text_unwrapped", "\\\\text{…} is only its wrapping | \\\\text{…} 只是包装", "everything_inside",
          BOXES + 'if text[first:last].startswith("\\\\text{") and text[first:last].endswith("}"):\n'
          "    first, last = first + 6, last - 1\n")
wrong_box("after_the_equals_sign", "the answer follows the equals sign | 等号后面才是答案", "everything_inside",
          BOXES + 'if "=" in text[first:last]:\n    first = text.index("=", first, last) + 1\n')
wrong_box("blank_box_falls_back", "a box of spaces holds no answer | 只有空格的方框里没有答案", "everything_inside",
          BOXES.replace("closing is not None", "closing is not None and (closing == inside or text[inside:closing].strip())"))
wrong_box("utf_16", "offsets count UTF-16 units | 偏移按 UTF-16 计", "characters",
          BOXES + 'first, last = (len(text[:place].encode("utf-16-le")) // 2 for place in (first, last))\n')

wrong_tokens("inner_braces_left_out", "braces are never the answer | 花括号都不算答案", "nested_braces", r'''
mask = torch.tensor([max(start, first) < min(end, last) and text[start:end] not in ("{", "}", "}{") for start, end in offsets],
                    dtype=torch.bool)
''')

wrong_tokens("each_character_once", "a character belongs to one token | 一个字符只属于一个 Token", "shared_characters", r'''
mask = torch.zeros(len(offsets), dtype=torch.bool)
for position in range(first, last):
    for t, (start, end) in enumerate(offsets):
        if start <= position < end:
            mask[t] = True
            break
''')

wrong_tokens("last_owner_of_a_character", "a dict tells each character's token | 用字典记下每个字符的 Token", "shared_characters", r'''
owner = {position: t for t, (start, end) in enumerate(offsets) for position in range(start, end)}
mask = torch.zeros(len(offsets), dtype=torch.bool)
for position in range(first, last):
    if position in owner:
        mask[owner[position]] = True
''')

wrong_tokens("stops_after_the_answer", "tokens stand in order | Token 按顺序排列", "odd_tokens", r'''
mask = torch.zeros(len(offsets), dtype=torch.bool)
for t, (start, end) in enumerate(offsets):
    if start >= last:
        break
    mask[t] = max(start, first) < min(end, last)
''')

wrong_tokens("nothing_after_the_answer", "after the answer nothing more comes | 答案之后不再有答案", "odd_tokens", r'''
mask = torch.zeros(len(offsets), dtype=torch.bool)
for t, (start, end) in enumerate(offsets):
    if mask[:t].any() and start >= last:
        break
    mask[t] = max(start, first) < min(end, last)
''')

wrong_tokens("first_512_tokens", "512 tokens are enough | 512 个 Token 就够了", "any_length", OVERLAP + "mask[512:] = False\n")


# TODOs 2 to 4: mistakes that all three functions can make, each as what happens before the region's code

REWRITTEN = (
    ("normalized_again", "answers are normalized here | 答案在这里规范化", "normalize_answer(answer)"),
    ("stripped", "outer spaces do not matter | 首尾空格无关紧要", "answer.strip()"),
    ("spaces_removed", "spaces do not matter | 空格无关紧要", '"".join(answer.split())'),
    ("digits_to_int", "a number is an int | 数就是 int", "str(int(answer)) if answer.strip().isdigit() else answer"),
    ("compatible_characters", "NFKC makes characters equal | NFKC 让字符相同", 'unicodedata.normalize("NFKC", answer)'),
    ("ascii_only", "only ASCII counts | 只看 ASCII", 'answer.encode("ascii", "ignore").decode()'),
    ("dollars_stripped", "$ is no part of an answer | $ 不属于答案", 'answer.strip("$")'),
    ("full_stop_stripped", "a full stop ends an answer | 句点不属于答案", 'answer.rstrip(".")'),
    ("leading_zeros", "leading zeros do not matter | 前导零无关紧要", 'answer.lstrip("0") or answer'),
)
MERGED = (
    ("ids_to_int32", "a group id fits into 32 bits | 组编号不超过 32 位", "int(torch.tensor({}).int())"),
    ("ids_without_sign", "the sign of a group id does not matter | 组编号不分正负", "abs({})"),
    ("ids_as_double", "a double holds any id | double 放得下任何编号", "float({})"),
)
SKIPPED = (
    ("minus_one_is_no_group", "-1 means no group | -1 表示无组", "group == -1"),
    ("smallest_int64_is_no_group", "the smallest int64 means no group | 最小的 int64 表示无组", "group == -2**63"),
    ("eight_groups", "a batch has at most eight groups | 一批至多八个组", "group_ids.unique().tolist().index(group) >= 8"),
)


def wrong_in_all_three(told, code: str) -> None:
    """`told` is wrong_vote, wrong_soft or wrong_pool; `code` its right answer."""
    for name, misconception, rewritten in REWRITTEN:
        told(name, misconception, "answers_as_they_stand",
             f"import unicodedata\n\nanswers = [None if answer is None else {rewritten} for answer in answers]" + code)
    for name, misconception, number in MERGED:
        same = f"{number.format('other')} == {number.format('group')}"
        told(name, misconception, "every_int64_is_a_group",
             f"members = [i for i, other in enumerate(group_ids.tolist()) if {same}]" + code)
    for name, misconception, skipped in SKIPPED:
        told(name, misconception, "every_int64_is_a_group", f"if {skipped}:\n    continue" + code)


# TODO 2: majority_vote_rewards

VOTE = """
votes = [answers[i] for i in members if answers[i] is not None]
if votes:
    winner = max(votes, key=votes.count)
    leaders = {vote for vote in votes if votes.count(vote) == votes.count(winner)}
    for i in members:
        rewards[i] = answers[i] == winner
        tied[i] = len(leaders) > 1
"""


def wrong_vote(name: str, misconception: str, caught_by: str, *changes: str) -> None:
    """A mistake told as the difference from VOTE, or as code of its own."""
    code = but(VOTE, *changes) if len(changes) != 1 else changes[0]
    wrong(name, misconception, caught_by=f"check_majority_vote_rewards_{caught_by}", todo_2=code)


wrong_vote("share_of_the_votes", "the reward is the share of the votes | 奖励是得票比例", "winner_gets_one",
           "rewards[i] = answers[i] == winner", "rewards[i] = votes.count(answers[i]) / len(votes)")
wrong_vote("losers_get_minus_one", "losers are punished | 落选的受罚", "winner_gets_one",
           "rewards[i] = answers[i] == winner", "rewards[i] = 1.0 if answers[i] == winner else -1.0")
wrong_vote("first_answer_wins", "the first answer is the group's | 第一个答案就是本组的答案", "winner_gets_one",
           "max(votes, key=votes.count)", "votes[0]")
wrong_vote("largest_text_wins", "max() finds the most frequent one | max() 找的就是最多的", "winner_gets_one",
           ", key=votes.count", "")
wrong_vote("rarest_wins", "the rarest answer wins | 最少的答案当选", "winner_gets_one",
           "max(votes", "min(votes")
wrong_vote("losers_get_one", "who disagrees is rewarded | 奖励不一致的回答", "winner_gets_one",
           "answers[i] == winner", "answers[i] != winner")
wrong_vote("only_the_first_giver", "one completion stands for the winner | 只奖励一条给出当选答案的回答", "winner_gets_one", """
votes = [answers[i] for i in members if answers[i] is not None]
if votes:
    winner = max(votes, key=votes.count)
    leaders = {vote for vote in votes if votes.count(vote) == votes.count(winner)}
    rewards[members[[answers[i] for i in members].index(winner)]] = 1.0
    for i in members:
        tied[i] = len(leaders) > 1
""")
wrong_vote("everyone_is_rewarded", "the group shares its reward | 整组共享奖励", "winner_gets_one",
           "rewards[i] = answers[i] == winner", "rewards[i] = 1.0")
wrong_vote("more_than_half", "a majority is more than half | 多数就是过半数", "most_votes_are_enough",
           "rewards[i] = answers[i] == winner", "rewards[i] = answers[i] == winner and 2 * votes.count(winner) > len(votes)")
wrong_vote("half_at_least", "a majority is at least half | 多数至少要一半", "most_votes_are_enough",
           "rewards[i] = answers[i] == winner", "rewards[i] = answers[i] == winner and 2 * votes.count(winner) >= len(members)")
wrong_vote("at_least_three_votes", "fewer than three votes are noise | 不足三票只是噪声", "most_votes_are_enough",
           "if votes:", "if votes and max(map(votes.count, votes)) >= 3:")
wrong_vote("last_wins_a_tie", "the last one wins a tie | 平票取最后的", "first_wins_a_tie",
           "max(votes, key=votes.count)", "max(reversed(votes), key=votes.count)")
wrong_vote("smallest_text_wins_a_tie", "sorted text decides a tie | 平票取字符串最小的", "first_wins_a_tie",
           "max(votes, key=votes.count)", "max(sorted(votes), key=votes.count)")
wrong_vote("largest_text_wins_a_tie", "the largest text decides a tie | 平票取字符串最大的", "first_wins_a_tie",
           "max(votes, key=votes.count)", "max(votes, key=lambda vote: (votes.count(vote), vote))")
wrong_vote("shortest_text_wins_a_tie", "the shortest text decides a tie | 平票取最短的", "first_wins_a_tie",
           "max(votes, key=votes.count)", "min(votes, key=lambda vote: (-votes.count(vote), len(vote), vote))")
wrong_vote("first_to_reach_the_count", "who has the votes first wins | 先凑够票数的当选", "first_wins_a_tie", """
votes = [answers[i] for i in members if answers[i] is not None]
if votes:
    highest = max(map(votes.count, votes))
    winner = next(vote for place, vote in enumerate(votes) if votes[:place + 1].count(vote) == highest)
    leaders = {vote for vote in votes if votes.count(vote) == highest}
    for i in members:
        rewards[i], tied[i] = answers[i] == winner, len(leaders) > 1
""")
wrong_vote("all_leaders_win", "on a tie all leaders win | 平票时都当选", "first_wins_a_tie",
           "rewards[i] = answers[i] == winner", "rewards[i] = answers[i] in leaders")
wrong_vote("nobody_wins_a_tie", "on a tie nobody wins | 平票时无人当选", "first_wins_a_tie",
           "rewards[i] = answers[i] == winner", "rewards[i] = answers[i] == winner and len(leaders) == 1")
wrong_vote("none_is_a_vote", "None is an answer like any other | None 与其他答案一样", "invalid_never_wins",
           " if answers[i] is not None", "")
wrong_vote("none_rewarded_with_the_winner", "who says nothing does not disagree | 没作答不算反对", "invalid_never_wins",
           "answers[i] == winner", "answers[i] is None or answers[i] == winner")
wrong_vote("none_stops_the_group", "one None spoils the vote | 有 None 就作废", "invalid_never_wins",
           "if votes:", "if votes and len(votes) == len(members):")
wrong_vote("invalid_must_not_lead", "many Nones annul the vote | None 太多就作废", "invalid_never_wins",
           "if votes:", "if votes and len(votes) > len(members) - len(votes):")
wrong_vote("none_elected_if_alone", "without votes None is elected | 没有票时 None 当选", "no_valid_answer",
           VOTE + """
else:
    for i in members:
        rewards[i] = 1.0
""")
wrong_vote("no_votes_crash", "there are always votes | 总有选票", "no_valid_answer",
           "if votes:", "if True:")
wrong_vote("no_votes_tied", "no winner means a tie | 没有当选者就是平票", "no_valid_answer",
           VOTE + """
else:
    for i in members:
        tied[i] = True
""")
wrong_vote("tied_only_on_winners", "a tie concerns who was rewarded | 只在得奖的回答上报告平票", "tie_is_reported_to_the_whole_group",
           "tied[i] = len(leaders) > 1", "tied[i] = len(leaders) > 1 and answers[i] == winner")
wrong_vote("tied_only_on_leaders", "a tie concerns the leaders | 只在并列的回答上报告平票", "tie_is_reported_to_the_whole_group",
           "tied[i] = len(leaders) > 1", "tied[i] = len(leaders) > 1 and answers[i] in leaders")
wrong_vote("tied_only_on_valid", "without an answer there is no tie | 没作答的不算平票", "tie_is_reported_to_the_whole_group",
           "tied[i] = len(leaders) > 1", "tied[i] = len(leaders) > 1 and answers[i] is not None")
wrong_vote("tied_only_once", "one flag is enough for the group | 每组报告一次就够", "tie_is_reported_to_the_whole_group",
           "tied[i] = len(leaders) > 1", "tied[i] = len(leaders) > 1 and i == members[0]")
wrong_vote("tie_needs_three", "a tie needs three leaders | 三个并列才算平票", "tie_is_reported_to_the_whole_group",
           "len(leaders) > 1", "len(leaders) > 2")
wrong_vote("never_tied", "ties do not happen | 不会平票", "tie_is_reported_to_the_whole_group",
           "tied[i] = len(leaders) > 1", "tied[i] = False")
wrong_vote("tied_means_unanimous", "tied says that all agree | tied 表示全体一致", "tie_is_reported_to_the_whole_group",
           "tied[i] = len(leaders) > 1", "tied[i] = len(set(votes)) == 1")
wrong_vote("tie_anywhere", "any equal counts are a tie | 任意两个票数相等就算平票", "no_tie",
           "tied[i] = len(leaders) > 1", "tied[i] = len({votes.count(vote) for vote in votes}) < len(set(votes))")
wrong_vote("leaders_counted_as_votes", "two votes for the leader are a tie | 领先答案有两票就算平票", "no_tie",
           "{vote for vote in votes if votes.count(vote) == votes.count(winner)}",
           "[vote for vote in votes if votes.count(vote) == votes.count(winner)]")
wrong_vote("any_two_answers_tie", "two answers are a tie | 有两个答案就算平票", "no_tie",
           "len(leaders) > 1", "len(set(votes)) > 1")
wrong_vote("one_short_is_a_tie", "one vote less is as good as a tie | 差一票也算平票", "no_tie",
           "votes.count(vote) == votes.count(winner)", "votes.count(vote) >= votes.count(winner) - 1")
wrong_vote("nones_tie", "as many Nones as votes are a tie | None 与票数相等也算平票", "no_tie",
           "tied[i] = len(leaders) > 1", "tied[i] = len(leaders) > 1 or len(members) - len(votes) == votes.count(winner)")
wrong_vote("votes_of_the_batch", "all completions vote | 整批一起投票", "each_group_on_its_own",
           "answers[i] for i in members if answers[i] is not None", "answer for answer in answers if answer is not None")
wrong_vote("counted_in_the_batch", "counts are those of the batch | 在整批中计票", "each_group_on_its_own",
           "max(votes, key=votes.count)", "max(votes, key=answers.count)")
wrong_vote("winner_rewarded_everywhere", "a winner is right everywhere | 当选答案处处都对", "each_group_on_its_own",
           "for i in members:", "for i in range(len(answers)):")
wrong_vote("tie_spreads", "a tie concerns the batch | 平票影响整批", "each_group_on_its_own",
           "tied[i] = len(leaders) > 1", "tied[i] = len(leaders) > 1 or tied.any()")
wrong_vote("groups_are_blocks", "a group is a block of the batch | 组就是整批中连续的一段", "groups_may_interleave",
           "members = list(range(members[0], members[0] + len(members)))\n" + VOTE.strip())
wrong_vote("ids_as_float", "ids may be compared as float | 编号可以当浮点数比较", "groups_may_interleave",
           "members = [i for i in range(len(answers)) if group_ids.float()[i] == float(group)]\n" + VOTE.strip())
wrong_vote("negative_ids_skipped", "a negative id means no group | 负编号表示无组", "groups_may_interleave",
           "if votes:", "if votes and group >= 0:")
wrong_vote("break_at_a_group_without_votes", "no votes end the loop | 没有票就结束循环", "goes_on_after_a_group_without_votes",
           "votes = [answers[i] for i in members if answers[i] is not None]\nif not votes:\n    break\n"
           + VOTE.split("\n", 2)[2].strip())
wrong_vote("return_at_a_group_without_votes", "no votes end the function | 没有票就返回", "goes_on_after_a_group_without_votes",
           "votes = [answers[i] for i in members if answers[i] is not None]\nif not votes:\n    return rewards, tied\n"
           + VOTE.split("\n", 2)[2].strip())
wrong_vote("compared_by_in", "an answer that holds the winner agrees | 含有当选答案就算一致", "whole_answers_are_compared",
           "rewards[i] = answers[i] == winner", "rewards[i] = answers[i] is not None and winner in answers[i]")
wrong_vote("part_of_the_winner", "a part of the winner agrees | 当选答案的一部分也算一致", "whole_answers_are_compared",
           "rewards[i] = answers[i] == winner", "rewards[i] = answers[i] is not None and answers[i] in winner")
wrong_vote("counted_by_in", "a longer answer votes for its parts | 长答案也投给它的一部分", "whole_answers_are_compared",
           "max(votes, key=votes.count)", "max(votes, key=lambda vote: sum(vote in other for other in votes))")
wrong_vote("case_ignored", "upper and lower case are the same | 大小写不分", "whole_answers_are_compared",
           "votes = [answers[i] for i in members if answers[i] is not None]",
           "answers = [answer and answer.lower() for answer in answers]\nvotes = [answers[i] for i in members if answers[i] is not None]")
wrong_vote("none_as_text", "str(None) is an answer | str(None) 也是答案", "invalid_never_wins",
           "votes = [answers[i] for i in members if answers[i] is not None]",
           "answers = [str(answer) for answer in answers]\nvotes = [answers[i] for i in members]")
wrong_vote("the_word_none_is_invalid", "the word None is no answer | 单词 None 不是答案", "whole_answers_are_compared",
           "if answers[i] is not None]", 'if answers[i] not in (None, "None")]')
wrong_vote("digits_added", "the same digits are the same answer | 数字相同就是同一答案", "whole_answers_are_compared",
           "rewards[i] = answers[i] == winner", "rewards[i] = answers[i] is not None and sorted(answers[i]) == sorted(winner)")
wrong_vote("tie_of_exactly_two", "a tie is between two | 平票是两者之间的事", "tie_is_reported_to_the_whole_group",
           "len(leaders) > 1", "len(leaders) == 2")
wrong_vote("compared_by_the_beginning", "the beginning of an answer tells it | 答案看开头就够", "whole_answers_are_compared",
           "answers[i] == winner", "(answers[i] or '')[:100] == winner[:100]")
wrong_vote("one_alone_elects_nobody", "one vote is no vote | 一票不算投票", "any_group_size",
           "if votes:", "if votes and len(members) > 1:")
wrong_vote("only_the_first_hundred", "a hundred votes decide | 一百票就够了", "any_group_size",
           "winner = max(votes, key=votes.count)", "winner = max(votes[:100], key=votes[:100].count)")
wrong_vote("answers_sorted_in_place", "sorting a list does no harm | 给列表排序无妨", "leaves_answers_alone",
           VOTE + "\nif group == int(group_ids.max()):\n    answers.sort(key=str)")
wrong_vote("invalid_removed_in_place", "Nones may be replaced | 可以把 None 换掉", "leaves_answers_alone",
           VOTE + '\nfor i in members:\n    answers[i] = answers[i] or ""')
wrong_vote("at_most_four_tie", "a tie is among a few | 平票只在少数几个之间", "tie_is_reported_to_the_whole_group",
           "len(leaders) > 1", "1 < len(leaders) < 5")
wrong_vote("too_many_answers", "with seven different answers nobody wins | 答案有七种就无人当选", "first_wins_a_tie",
           "if votes:", "if votes and len(set(votes)) < 7:")
wrong_vote("both_ends_of_an_answer", "both ends of an answer tell it | 答案看两头就够", "answers_as_they_stand",
           "answers = [answer and (len(answer), answer[:50], answer[-50:]) for answer in answers]" + VOTE)
wrong_in_all_three(wrong_vote, VOTE)
wrong("no_validation_of_votes", "answers are taken as they come | 答案照单全收", caught_by="check_majority_vote_rewards_refuses_bad_input",
      function="def majority_vote_rewards(answers, group_ids):\n"
               "    rewards, tied = torch.zeros(len(answers)), torch.zeros(len(answers), dtype=torch.bool)\n"
               "    for group in group_ids.unique().tolist():\n"
               "        members = [i for i, other in enumerate(group_ids.tolist()) if other == group]\n"
               + "".join(f"        {line}\n" for line in VOTE.strip().splitlines()) + "    return rewards, tied")


# TODO 3: soft_consensus_rewards

SOFT = """
own = [answers[i] for i in members]
counts = [0 if answer is None else own.count(answer) for answer in own]
divisor = max(counts) if normalizer == "max" else len(members)
for i, count in zip(members, counts):
    if count > 0:
        rewards[i] = count / divisor + (1.0 if format_reward else 0.0)
"""


def wrong_soft(name: str, misconception: str, caught_by: str, *changes: str) -> None:
    """A mistake told as the difference from SOFT, or as code of its own."""
    code = but(SOFT, *changes) if len(changes) != 1 else changes[0]
    wrong(name, misconception, caught_by=f"check_soft_consensus_rewards_{caught_by}", todo_3=code)


wrong_soft("group_share_for_max", "the share of the group is the reward | 奖励就是组内比例", "count_over_the_highest",
           'max(counts) if normalizer == "max" else len(members)', "len(members)")
wrong_soft("normalizer_reversed", '"max" is the largest possible count | "max" 指可能的最大次数', "count_over_the_highest",
           'normalizer == "max"', 'normalizer != "max"')
wrong_soft("raw_count", "the count is the reward | 次数就是奖励", "count_over_the_highest",
           "count / divisor", "count")
wrong_soft("hard_vote", "the reward is 1 or 0 | 奖励只有 1 和 0", "count_over_the_highest",
           "count / divisor", "float(count == max(counts))")
wrong_soft("self_left_out", "the completion itself does not count | 不计自己", "count_over_the_highest",
           "count / divisor", "(count - 1) / divisor")
wrong_soft("divided_by_sum_of_counts", "counts are divided by their sum | 次数除以次数之和", "count_over_the_highest",
           'max(counts) if normalizer == "max"', 'sum(counts) if normalizer == "max"')
wrong_soft("divided_by_kinds", "counts are divided by the number of different answers | 除以不同答案的个数", "count_over_the_highest",
           'max(counts) if normalizer == "max"', 'len(set(own)) if normalizer == "max"')
wrong_soft("rank_for_count", "the rank is the frequency | 名次就是频次", "count_over_the_highest",
           "count / divisor", "(sorted(set(counts)).index(count) + 1) / len(set(counts))")
wrong_soft("squared", "agreement grows with the square | 一致程度按平方增长", "count_over_the_highest",
           "count / divisor", "(count / divisor) ** 2")
wrong_soft("rarity", "rare answers are rewarded | 奖励稀有的答案", "count_over_the_highest",
           "count / divisor", "min(counts) / count")
wrong_soft("max_for_group", '"group" is the highest count of the group | "group" 指组内最高次数', "count_over_the_group_size",
           'max(counts) if normalizer == "max" else len(members)', "max(counts)")
wrong_soft("group_without_self", "the group is the siblings | 组就是其他回答", "count_over_the_group_size",
           "else len(members)", "else max(len(members) - 1, 1)")
wrong_soft("kinds_for_group", '"group" counts different answers | "group" 计不同答案的个数', "count_over_the_group_size",
           "else len(members)", "else len(set(own))")
wrong_soft("tie_to_the_first", "a tie goes to the first answer | 平票归先出现的", "ties_are_harmless",
           "count / divisor", "(count - (count == max(counts) and answers[i] != own[counts.index(count)])) / divisor")
wrong_soft("tie_gives_zero", "a tie teaches nothing | 平票时没有信号", "ties_are_harmless",
           "if count > 0:", "if count > 0 and len({a for a, c in zip(own, counts) if c == max(counts)}) == 1:")
wrong_soft("none_matches_none", "Nones agree with each other | None 彼此一致", "invalid_gets_nothing",
           "0 if answer is None else own.count(answer)", "own.count(answer)")
wrong_soft("none_is_the_highest", "the highest count is that of any entry | 最高次数含 None", "invalid_gets_nothing",
           "max(counts) if", "max(own.count(answer) for answer in own) if")
wrong_soft("valid_only_denominator", "invalid ones are not of the group | 无效的不算组内", "invalid_gets_nothing",
           "else len(members)", "else len(members) - own.count(None)")
wrong_soft("invalid_gets_minus_one", "no answer is punished | 没有答案要受罚", "invalid_gets_nothing",
           SOFT + "    else:\n        rewards[i] = -1.0\n")
wrong_soft("invalid_spoils_the_group", "one None spoils the group | 有 None 整组作废", "invalid_gets_nothing",
           "if count > 0:", "if count > 0 and None not in own:")
wrong_soft("invalid_is_nan", "no answer is a missing reward | 没有答案就是缺失奖励", "invalid_gets_nothing",
           SOFT + '    else:\n        rewards[i] = float("nan")\n')
wrong_soft("zero_over_zero", "there is always a highest count | 总有最高次数", "no_valid_answer",
           "if count > 0:", "if answers[i] is not None or divisor == max(counts):")
wrong_soft("no_valid_answer_is_nan", "without answers the reward is missing | 没有答案时奖励缺失", "no_valid_answer",
           SOFT + 'if max(counts) == 0:\n    for i in members:\n        rewards[i] = float("nan")\n')
wrong_soft("all_invalid_agree", "all agree on nothing | 都没作答也是一致", "no_valid_answer",
           SOFT + "if max(counts) == 0:\n    for i in members:\n        rewards[i] = 1.0\n")
wrong_soft("format_reward_for_all", "everyone gets the format reward | 人人有格式奖励", "no_valid_answer",
           SOFT + "    elif format_reward:\n        rewards[i] = 1.0\n")
wrong_soft("format_reward_ignored", "the answer is all that counts | 只看答案", "format_reward",
           "(1.0 if format_reward else 0.0)", "0.0")
wrong_soft("format_reward_always", "a box is always worth something | 写了方框就加分", "count_over_the_highest",
           "(1.0 if format_reward else 0.0)", "1.0")
wrong_soft("format_reward_reversed", "format_reward=True is without it | format_reward=True 时不加", "count_over_the_highest",
           "if format_reward else", "if not format_reward else")
wrong_soft("format_reward_before_division", "the format reward is normalized as well | 格式奖励也要归一化", "format_reward",
           "count / divisor + (1.0 if format_reward else 0.0)", "(count + (1.0 if format_reward else 0.0)) / divisor")
wrong_soft("format_reward_half", "the format reward is a half | 格式奖励是一半", "format_reward",
           "1.0 if format_reward", "0.5 if format_reward")
wrong_soft("format_reward_averaged", "answer and format reward are averaged | 两种奖励取平均", "format_reward",
           "rewards[i] = count / divisor + (1.0 if format_reward else 0.0)",
           "rewards[i] = (count / divisor + 1.0) / 2 if format_reward else count / divisor")
wrong_soft("format_reward_to_the_best", "only the most frequent answer gets the format reward | 只有最多的答案得格式奖励", "format_reward",
           "if format_reward else", "if format_reward and count == max(counts) else")
wrong_soft("format_reward_for_max_only", 'the format reward belongs to "max" | 格式奖励只属于 "max"', "format_reward",
           "if format_reward else", 'if format_reward and normalizer == "max" else')
wrong_soft("counts_of_the_batch", "frequency is that of the batch | 频次是整批的", "each_group_on_its_own",
           "own.count(answer)", "answers.count(answer)")
wrong_soft("highest_of_the_batch", "the highest count is that of the batch | 最高次数是整批的", "each_group_on_its_own",
           "max(counts) if", "max(answers.count(answer) for answer in own if answer is not None) if any(counts) and")
wrong_soft("size_of_the_batch", "the share is that of the batch | 比例是整批的", "each_group_on_its_own",
           "else len(members)", "else len(answers)")
wrong_soft("mean_group_size", "all groups have one size | 各组大小相同", "each_group_on_its_own",
           "else len(members)", "else len(answers) / len(group_ids.unique())")
wrong_soft("only_the_last_group", "each group starts afresh | 每组重新开始", "each_group_on_its_own",
           "rewards = torch.zeros(len(answers))\n" + SOFT.strip())
wrong_soft("soft_groups_are_blocks", "members stand together | 同组回答相邻", "groups_may_interleave",
           "members = list(range(members[0], members[0] + len(members)))\n" + SOFT.strip())
wrong_soft("written_in_group_order", "rewards come group by group | 奖励按组排列", "groups_may_interleave",
           "start = sum(int((group_ids == other).sum()) for other in group_ids.unique().tolist() if other < group)\n"
           + but(SOFT, "zip(members, counts)", "enumerate(counts, start)").strip())
wrong_soft("soft_ids_as_float", "float ids are the same ids | 浮点编号也一样", "groups_may_interleave",
           "members = [i for i in range(len(answers)) if group_ids.float()[i] == float(group)]\n" + SOFT.strip())
wrong_soft("soft_negative_ids_skipped", "negative ids are padding | 负编号是填充", "groups_may_interleave",
           "if count > 0:", "if count > 0 and group >= 0:")
wrong_soft("soft_break", "an empty count ends the loop | 没有次数就结束循环", "goes_on_after_a_group_without_answers",
           "divisor = max(counts)", "if max(counts) == 0:\n    break\ndivisor = max(counts)")
wrong_soft("soft_return", "an empty count ends the function | 没有次数就返回", "goes_on_after_a_group_without_answers",
           "divisor = max(counts)", "if max(counts) == 0:\n    return rewards\ndivisor = max(counts)")
wrong_soft("soft_compared_by_in", "an answer counts where it is contained | 被包含也算出现", "whole_answers_are_compared",
           "own.count(answer)", "sum(other is not None and answer in other for other in own)")
wrong_soft("soft_case_ignored", "case does not matter | 大小写不分", "whole_answers_are_compared",
           "own = [answers[i] for i in members]", "own = [answers[i] and answers[i].lower() for i in members]")
wrong_soft("soft_digits_sorted", "the same characters are the same answer | 字符相同就是同一答案", "whole_answers_are_compared",
           "own = [answers[i] for i in members]", 'own = [answers[i] and "".join(sorted(answers[i])) for i in members]')
wrong_soft("soft_word_none", "the word None is None | 单词 None 就是 None", "whole_answers_are_compared",
           "0 if answer is None else", '0 if answer in (None, "None") else')
wrong_soft("soft_cut_to_length", "the beginning of an answer tells it | 答案看开头就够", "whole_answers_are_compared",
           "own = [answers[i] for i in members]", "own = [answers[i] and answers[i][:100] for i in members]")
wrong_soft("no_reward_below_a_hundredth", "a rare answer gets at least 0.01 | 稀有答案至少得 0.01", "large_groups",
           "count / divisor", "max(count / divisor, 0.01)")
wrong_soft("size_capped", "a group has at most 64 | 一组至多 64 条", "large_groups",
           "else len(members)", "else min(len(members), 64)")
wrong_soft("count_capped", "a hundred are enough | 一百就够了", "large_groups",
           "own.count(answer)", "min(own.count(answer), 100)")
wrong_soft("neighbors_only", "a group has at most a hundred | 一组至多一百条", "large_groups",
           "own.count(answer)", "own[:100].count(answer) + own[300:].count(answer)")
wrong_soft("soft_answers_emptied", "answers may be used up | 答案可以用完", "leaves_answers_alone",
           SOFT + "if group == int(group_ids.max()):\n    answers[members[-1]] = None\n")
wrong_soft("soft_ids_overwritten", "a finished group may be marked | 可以标记已完成的组", "leaves_answers_alone",
           SOFT + "if group == int(group_ids.max()):\n    group_ids[members] = -1\n")
wrong_soft("soft_both_ends_of_an_answer", "both ends of an answer tell it | 答案看两头就够", "answers_as_they_stand",
           "own = [answers[i] for i in members]",
           "own = [answers[i] and (len(answers[i]), answers[i][:50], answers[i][-50:]) for i in members]")
wrong_in_all_three(wrong_soft, SOFT)
wrong("no_validation_of_normalizer", "any other name means group | 其他名称都指组大小",
      caught_by="check_soft_consensus_rewards_refuses_bad_input",
      function='def soft_consensus_rewards(answers, group_ids, normalizer="max", format_reward=False):\n'
               "    rewards = torch.zeros(len(answers))\n"
               "    for group in group_ids.unique().tolist():\n"
               "        members = [i for i, other in enumerate(group_ids.tolist()) if other == group]\n"
               + "".join(f"        {line}\n" for line in SOFT.strip().splitlines()) + "    return rewards")


# TODO 4: contrast_augmented_rewards

POOL = """
own = [answers[i] for i in members]
pool = own + [answer for i, _, answer in comparisons if i in members]
counts = [0 if answer is None else pool.count(answer) for answer in own]
divisor = max(counts) if normalizer == "max" else len(pool)
for i, count in zip(members, counts):
    if count > 0:
        rewards[i] = count / divisor + (1.0 if format_reward else 0.0)
"""


def wrong_pool(name: str, misconception: str, caught_by: str, *changes: str) -> None:
    """A mistake told as the difference from POOL, or as code of its own."""
    code = but(POOL, *changes) if len(changes) != 1 else changes[0]
    wrong(name, misconception, caught_by=f"check_contrast_augmented_rewards_{caught_by}", todo_4=code)


wrong_pool("comparisons_ignored", "comparisons change nothing | 比较不起作用", "comparisons_join_the_pool",
           "own + [answer for i, _, answer in comparisons if i in members]", "own")
wrong_pool("comparisons_only", "the pool is the comparisons | 答案池只有比较的答案", "comparisons_join_the_pool",
           "own + [answer for i, _, answer in comparisons if i in members]",
           "[answer for i, _, answer in comparisons if i in members] or own")
wrong_pool("comparison_counts_twice", "a comparison is worth two votes | 一次比较算两票", "comparisons_join_the_pool",
           "own + [answer for i, _, answer in comparisons if i in members]",
           "own + 2 * [answer for i, _, answer in comparisons if i in members]")
wrong_pool("divided_by_the_group_only", "the highest count is that of the group | 最高次数只在组内数", "comparisons_join_the_pool",
           "max(counts) if", "max(map(own.count, own)) if")
wrong_pool("pool_share_for_max", "the share of the pool is the reward | 奖励就是池中比例", "without_comparisons",
           'max(counts) if normalizer == "max" else len(pool)', "len(pool)")
wrong_pool("pool_normalizer_reversed", '"max" and "group" change places | "max" 与 "group" 互换', "without_comparisons",
           'normalizer == "max"', 'normalizer != "max"')
wrong_pool("pool_raw_count", "counts are rewards | 次数就是奖励", "without_comparisons",
           "count / divisor", "count")
wrong_pool("comparison_votes_hard", "the pool elects one answer | 在池中选出一个答案", "without_comparisons",
           "count / divisor", "float(count == divisor) if normalizer == 'max' else count / divisor")
wrong_pool("loser_pays", "who loses a comparison pays | 比较中落选的要扣分", "comparisons_join_the_pool",
           "count / divisor", "(count - sum(i in (a, b) and z != answers[i] for a, b, z in comparisons)) / divisor")
wrong_pool("max_without_comparisons_zero", "without comparisons there is no reward | 没有比较就没有奖励", "without_comparisons",
           "if count > 0:", "if count > 0 and comparisons:")
wrong_pool("full_round_expected", "every pair was compared | 每一对都比较过", "without_comparisons",
           "else len(pool)", "else len(members) ** 2")
wrong_pool("group_size_for_pool_size", "the share is that of the group | 除以组大小", "pool_size",
           "else len(pool)", "else len(members)")
wrong_pool("comparisons_for_pool_size", "the share is that of the comparisons | 除以比较的个数", "pool_size",
           "else len(pool)", "else max(len(pool) - len(members), 1) if len(pool) > len(members) else len(pool)")
wrong_pool("max_for_pool_size", "the highest count divides in any case | 总是除以最高次数", "pool_size",
           'if normalizer == "max"', 'if normalizer == "max" or len(pool) > len(own)')
wrong_pool("upper_triangle", "(j, i) repeats (i, j) | (j, i) 与 (i, j) 重复", "ordered_pairs",
           "if i in members]", "if i in members and i < _]")
wrong_pool("unordered_pairs", "one answer for each pair | 每对只留一个答案", "ordered_pairs",
           "[answer for i, _, answer in comparisons if i in members]",
           "list({tuple(sorted((i, j))): answer for i, j, answer in comparisons if i in members}.values())")
wrong_pool("first_of_each_pair", "the first answer of a pair is the pair's | 每对取先给出的答案", "ordered_pairs",
           "[answer for i, _, answer in comparisons if i in members]",
           "list({tuple(sorted((i, j))): answer for i, j, answer in reversed(comparisons) if i in members}.values())")
wrong_pool("pairs_must_agree", "only what both orders agree on counts | 两个次序一致才算", "ordered_pairs",
           "if i in members]", "if i in members and dict(((a, b), z) for a, b, z in comparisons).get((_, i), answer) == answer]")
wrong_pool("one_for_each_first", "each completion is compared once | 每条回答只比较一次", "repetitions_count",
           "[answer for i, _, answer in comparisons if i in members]",
           "list({i: answer for i, _, answer in comparisons if i in members}.values())")
wrong_pool("set_of_answers", "the pool is a set | 答案池是集合", "repetitions_count",
           "[answer for i, _, answer in comparisons if i in members]",
           "list({answer for i, _, answer in comparisons if i in members})")
wrong_pool("set_of_everything", "no answer stands twice in the pool | 池中答案不重复", "without_comparisons",
           "own + [answer for i, _, answer in comparisons if i in members]",
           "list(set(own + [answer for i, _, answer in comparisons if i in members]))")
wrong_pool("highest_of_the_pool", "the highest count is that of the pool | 最高次数是整个池的", "nobody_gave_it",
           "max(counts) if", "max(pool.count(answer) for answer in pool if answer is not None) if any(counts) and")
wrong_pool("strangers_left_out", "answers that nobody gave are no part of the pool | 没人给过的答案不进池", "nobody_gave_it",
           "if i in members]", "if i in members and (answer is None or answer in own)]")
wrong_pool("strangers_reward_both", "a new answer rewards the two that were read | 新答案奖励被读的两条", "nobody_gave_it",
           "count / divisor", "(count + sum(i in (a, b) and z not in own + [None] for a, b, z in comparisons)) / divisor")
wrong_pool("both_compared_rewarded", "who was compared is rewarded | 被比较的都得奖励", "comparisons_join_the_pool",
           "count / divisor", "(count + sum(i in (a, b) for a, b, _ in comparisons)) / divisor")
wrong_pool("only_if_it_took_part", "only a compared completion's answer gains | 只有参与比较的答案才增加",
           "the_compared_get_nothing_for_it",
           "pool.count(answer) for answer in own",
           "own.count(answer) + sum(z == answer and answer in (answers[a], answers[b]) for a, b, z in comparisons) for answer in own")
wrong_pool("winner_of_a_comparison_only", "the completion that won is rewarded, not its answer | 奖励胜出的那条，而不是答案",
           "the_compared_get_nothing_for_it",
           "count / divisor", "(own.count(answers[i]) + sum(i in (a, b) and z == answers[i] for a, b, z in comparisons)) / divisor")
wrong_pool("first_solution_wins", "a comparison votes for its first solution | 比较投给解法 1", "the_compared_get_nothing_for_it",
           "[answer for i, _, answer in comparisons if i in members]", "[answers[i] for i, _, answer in comparisons if i in members]")
wrong_pool("none_comparisons_dropped", "an invalid comparison was not made | 无效的比较不算", "invalid_comparison",
           "if i in members]", "if i in members and answer is not None]")
wrong_pool("pool_none_matches", "None matches None in the pool | 池中 None 彼此相等", "invalid_comparison",
           "0 if answer is None else pool.count(answer)", "pool.count(answer)")
wrong_pool("pool_none_is_highest", "the highest count may be None's | 最高次数可以是 None 的", "invalid_comparison",
           "max(counts) if", "max(pool.count(answer) for answer in own) if")
wrong_pool("valid_pool_size", "the pool size counts valid answers | 池的大小只计有效答案", "invalid_comparison",
           "else len(pool)", "else len(pool) - pool.count(None)")
wrong_pool("invalid_completion_inherits", "a comparison answers for a silent completion | 比较替没作答的回答作答", "invalid_completion",
           "own = [answers[i] for i in members]",
           "own = [answers[i] or next((z for a, b, z in comparisons if a == i), None) for i in members]")
wrong_pool("pool_zero_over_zero", "somebody gave an answer | 总有人作答", "invalid_completion",
           "if count > 0:", "if answers[i] is not None or divisor == max(counts):")
wrong_pool("invalid_in_group_dropped", "the pool holds valid completions only | 池中只放有效的回答", "invalid_completion",
           "pool = own + ", "pool = [answer for answer in own if answer is not None] + ")
wrong_pool("pool_format_ignored", "format_reward is for soft consensus | 格式奖励只用于软共识", "format_reward",
           "(1.0 if format_reward else 0.0)", "0.0")
wrong_pool("pool_format_always", "a valid answer always adds 1 | 有效答案总是加 1", "without_comparisons",
           "(1.0 if format_reward else 0.0)", "1.0")
wrong_pool("pool_format_before_division", "the format reward is divided, too | 格式奖励也要除", "format_reward",
           "count / divisor + (1.0 if format_reward else 0.0)", "(count + (1.0 if format_reward else 0.0)) / divisor")
wrong_pool("pool_format_by_comparisons", "valid comparisons earn the format reward | 有效的比较得格式奖励", "format_reward",
           "(1.0 if format_reward else 0.0)", "(float(sum(i == a and z is not None for a, _, z in comparisons)) if format_reward else 0.0)")
wrong_pool("pool_format_for_max_only", 'only "max" has a format reward | 只有 "max" 有格式奖励', "format_reward",
           "if format_reward else", 'if format_reward and normalizer == "max" else')
wrong_pool("comparisons_of_all_groups", "all comparisons join every pool | 所有比较进入每个池", "each_group_on_its_own",
           " if i in members]", "]")
wrong_pool("group_of_the_first_comparison", "comparisons are of one group | 比较都属于同一组", "each_group_on_its_own",
           "if i in members]", "if comparisons[0][0] in members]")
wrong_pool("pool_of_the_batch", "the pool is the batch's | 池是整批的", "each_group_on_its_own",
           "pool = own + ", "pool = list(answers) + ")
wrong_pool("places_within_the_group", "i counts within the group | i 是组内的位置", "each_group_on_its_own",
           "if i in members]", "if i < len(members)]")
wrong_pool("block_of_the_group", "members stand together | 同组回答相邻", "groups_may_interleave",
           "if i in members]", "if members[0] <= i < members[0] + len(members)]")
wrong_pool("between_first_and_last", "what lies between belongs to the group | 首尾之间都属于本组", "groups_may_interleave",
           "if i in members]", "if members[0] <= i <= members[-1]]")
wrong_pool("pool_ids_as_float", "ids are compared as float | 编号按浮点数比较", "groups_may_interleave",
           "if i in members]", "if group_ids.float()[i] == group_ids.float()[members[0]]]")
wrong_pool("pool_ids_positive", "negative ids have no comparisons | 负编号没有比较", "groups_may_interleave",
           "if i in members]", "if i in members and group >= 0]")
wrong_pool("pool_break", "no count ends the loop | 没有次数就结束循环", "goes_on_after_a_group_without_answers",
           "divisor = max(counts)", "if max(counts) == 0:\n    break\ndivisor = max(counts)")
wrong_pool("pool_return", "no count ends the function | 没有次数就返回", "goes_on_after_a_group_without_answers",
           "divisor = max(counts)", "if max(counts) == 0:\n    return rewards\ndivisor = max(counts)")
wrong_pool("pool_compared_by_in", "an answer counts where it is contained | 被包含就算", "whole_answers_are_compared",
           "pool.count(answer)", "sum(other is not None and answer in other for other in pool)")
wrong_pool("pool_case_ignored", "case does not matter in the pool | 池中不分大小写", "whole_answers_are_compared",
           "pool.count(answer)", "sum(other is not None and answer.lower() == other.lower() for other in pool)")
wrong_pool("pool_none_as_text", "None is the word None | None 就是单词 None", "whole_answers_are_compared",
           "pool.count(answer)", "list(map(str, pool)).count(answer)")
wrong_pool("pool_digits_sorted", "the same digits are the same answer | 数字相同就是同一答案", "whole_answers_are_compared",
           "pool.count(answer)", "sum(other is not None and sorted(answer) == sorted(other) for other in pool)")
wrong_pool("pool_cut_to_length", "the beginning of an answer tells it | 答案看开头就够", "whole_answers_are_compared",
           "pool.count(answer)", "sum(other is not None and answer[:100] == other[:100] for other in pool)")
wrong_pool("pool_capped", "forty entries are enough | 四十个就够了", "full_round",
           "counts = [", "pool = pool[:40]\ncounts = [")
wrong_pool("pool_needs_a_pair", "one completion alone has no pool | 单独一条没有答案池", "full_round",
           "if count > 0:", "if count > 0 and len(members) > 1:")
wrong_pool("comparisons_reversed", "the order of comparisons does not matter | 比较的次序无所谓", "leaves_inputs_alone",
           POOL + "if group == int(group_ids.max()):\n    comparisons.reverse()\n")
wrong_pool("answers_extended", "the pool may be the answers themselves | 池可以就是答案列表", "leaves_inputs_alone",
           POOL + "if group == int(group_ids.max()):\n    answers.extend(answer for _, _, answer in comparisons)\n")
wrong_pool("silent_first_solution", "who has no answer cannot be compared | 没有答案的不能比较", "invalid_completions_compared",
           "if i in members]", "if i in members and answers[i] is not None]")
wrong_pool("silent_second_solution", "solution 2 needs an answer | 解法 2 要有答案", "invalid_completions_compared",
           "[answer for i, _, answer in comparisons if i in members]",
           "[answer for i, j, answer in comparisons if i in members and answers[j] is not None]")
wrong_pool("two_silent_solutions", "of two without an answer nothing comes | 两条都没有答案就比不出什么", "invalid_completions_compared",
           "[answer for i, _, answer in comparisons if i in members]",
           "[answer for i, j, answer in comparisons if i in members and (answers[i] or answers[j])]")
wrong_pool("highest_of_answers_given_anywhere", "who gave an answer does not matter | 谁给出的答案都一样", "each_group_on_its_own",
           "max(counts) if", "max([0] + [pool.count(answer) for answer in pool if answer in answers and answer is not None]) if")
wrong_pool("comparisons_stripped", "a comparison's answer is stripped | 比较的答案要去空格", "answers_as_they_stand",
           "[answer for i, _, answer", "[answer and answer.strip() for i, _, answer")
wrong_pool("comparisons_normalized", "a comparison's answer is raw | 比较的答案未经规范化", "answers_as_they_stand",
           "[answer for i, _, answer", "[answer and normalize_answer(answer) for i, _, answer")
wrong_in_all_three(wrong_pool, POOL)
UNCHECKED_POOL = ('def contrast_augmented_rewards(answers, group_ids, comparisons, normalizer="max", format_reward=False):\n'
                  "    rewards = torch.zeros(len(answers))\n"
                  "    for group in group_ids.unique().tolist():\n"
                  "        members = [i for i, other in enumerate(group_ids.tolist()) if other == group]\n"
                  + "".join(f"        {line}\n" for line in POOL.strip().splitlines()) + "    return rewards")
wrong("no_validation_of_answers", "only comparisons need a check | 只有比较要检查",
      caught_by="check_contrast_augmented_rewards_refuses_bad_input",
      function=but(UNCHECKED_POOL, "    rewards =", "    require_comparisons(comparisons, group_ids)\n"
                   "    if normalizer not in ('max', 'group'):\n        raise ValueError\n    rewards ="))
wrong("no_validation_of_comparisons", "comparisons are taken as they come | 比较照单全收",
      caught_by="check_contrast_augmented_rewards_refuses_bad_input",
      function=but(UNCHECKED_POOL, "    rewards =", "    require_answers(answers, group_ids)\n    rewards ="))


# TODO 5: om_grpo_loss

LOSS = """
loss_mask = completion_mask & ~answer_mask
policy_losses = grpo_token_losses(
    new_token_logps, old_token_logps, advantages, loss_mask, epsilon_low=epsilon_low, epsilon_high=epsilon_high)
kl_mask = loss_mask if mask_kl else completion_mask
token_kl = k3_kl(new_token_logps, reference_token_logps, kl_mask)
loss = reduce_token_losses(policy_losses, loss_mask, reduction) + beta * reduce_token_losses(token_kl, kl_mask, reduction)
"""
# The same, written out: for mistakes inside the given functions.
LONG_LOSS = """
loss_mask = completion_mask & ~answer_mask
ratios = (new_token_logps - old_token_logps.detach()).masked_fill(~loss_mask, 0.0).exp()
clipped = ratios.clamp(1 - epsilon_low, 1 + epsilon_high)
weights = advantages.detach()[:, None]
policy_losses = -torch.minimum(ratios * weights, clipped * weights)
kl_mask = loss_mask if mask_kl else completion_mask
gaps = (reference_token_logps.detach() - new_token_logps).masked_fill(~kl_mask, 0.0)
token_kl = torch.expm1(gaps) - gaps
loss = reduce_token_losses(policy_losses, loss_mask, reduction) + beta * reduce_token_losses(token_kl, kl_mask, reduction)
"""
DEFAULTS = """
def om_grpo_loss(new_token_logps, old_token_logps, reference_token_logps, advantages, completion_mask, answer_mask, beta=0.005,
                 epsilon_low=0.2, epsilon_high=0.2, mask_kl=True, reduction="sequence_sum"):
""" + "".join(f"    {line}\n" for line in LOSS.strip().splitlines()) + "    return loss\n"
BOTH_REDUCED = LOSS.strip().splitlines()[-1]


def wrong_loss(name: str, misconception: str, caught_by: str, *changes: str) -> None:
    """A mistake told as the difference from LOSS, or as code of its own."""
    code = but(LOSS, *changes) if len(changes) != 1 else changes[0]
    wrong(name, misconception, caught_by=f"check_om_grpo_loss_{caught_by}", todo_5=code)


def wrong_long(name: str, misconception: str, caught_by: str, *changes: str) -> None:
    """A mistake told as the difference from LONG_LOSS."""
    wrong(name, misconception, caught_by=f"check_om_grpo_loss_{caught_by}", todo_5=but(LONG_LOSS, *changes))


wrong_loss("one_for_each_completion", "each completion has its loss | 每条回答一个损失", "one_number",
           BOTH_REDUCED, "loss = (policy_losses + beta * token_kl).masked_fill(~kl_mask, 0.0).sum(dim=-1)")
wrong_loss("token_losses_returned", "the optimizer reduces | 由优化器归约", "one_number",
           BOTH_REDUCED, "loss = policy_losses + beta * token_kl")
wrong_loss("kl_not_reduced", "the KL penalty is added to each token | KL 惩罚逐 Token 相加", "one_number",
           "beta * reduce_token_losses(token_kl, kl_mask, reduction)", "beta * token_kl")
wrong_loss("objective_returned", "the objective is the loss | 目标就是损失", "nothing_masked",
           "reduce_token_losses(policy_losses, loss_mask, reduction) +", "-reduce_token_losses(policy_losses, loss_mask, reduction) +")
wrong_loss("sum_over_completions", "completions are summed, too | 对回答也求和", "nothing_masked",
           BOTH_REDUCED, BOTH_REDUCED + " * 1\nloss = loss * (len(advantages) if reduction == 'sequence_sum' else 1)")
wrong_loss("mean_always", "a loss is a mean over tokens | 损失是对 Token 取平均", "nothing_masked",
           "reduce_token_losses(policy_losses, loss_mask, reduction)",
           "reduce_token_losses(policy_losses, loss_mask, 'sequence_mean' if reduction == 'sequence_sum' else reduction)")
wrong_loss("divided_by_completion_length", "the sum is over the length of the completion | 和要除以回答长度", "nothing_masked",
           "reduce_token_losses(policy_losses, loss_mask, reduction)",
           "reduce_token_losses(policy_losses / completion_mask.sum(dim=-1, keepdim=True).clamp(min=1), loss_mask, reduction)")
wrong_loss("divided_by_width", "the sum is over the width of the batch | 和要除以批宽", "nothing_masked",
           "reduce_token_losses(policy_losses, loss_mask, reduction)",
           "reduce_token_losses(policy_losses / completion_mask.shape[1], loss_mask, reduction)")
wrong_loss("nothing_is_hidden", "this is GRPO | 这就是 GRPO", "answer_has_no_gradient",
           "completion_mask & ~answer_mask", "completion_mask")
wrong_loss("only_the_answer_learns", "the answer mask is the loss mask | 答案掩码就是损失掩码", "nothing_masked",
           "completion_mask & ~answer_mask", "completion_mask & answer_mask")
wrong_loss("answer_mask_as_loss_mask", "True stays in the loss | True 表示留在损失里", "nothing_masked",
           "completion_mask & ~answer_mask", "answer_mask")
wrong_loss("mask_or", "what is no answer is in the loss | 不是答案就在损失里", "nothing_masked",
           "completion_mask & ~answer_mask", "completion_mask | ~answer_mask")
wrong_loss("exclusive_or", "the masks differ on the loss | 两个掩码不同处就是损失", "padding_of_the_answer_mask",
           "completion_mask & ~answer_mask", "completion_mask ^ answer_mask")
wrong_loss("completions_with_an_answer_dropped", "who has a box is left out | 有方框的回答整条去掉", "answer_has_no_gradient",
           "completion_mask & ~answer_mask", "completion_mask & ~answer_mask.any(dim=-1, keepdim=True)")
wrong_loss("same_answer_place_everywhere", "the answer stands in one column | 答案都在同一列", "answer_costs_nothing",
           "completion_mask & ~answer_mask", "completion_mask & ~answer_mask.any(dim=0)")
wrong_loss("one_to_the_left", "the row that predicts the answer stands one before | 预测答案的那一行在前一位", "answer_has_no_gradient",
           "completion_mask & ~answer_mask", "completion_mask & ~answer_mask.roll(-1, dims=1)")
wrong_loss("one_to_the_right", "the answer's rows stand one after | 答案的行在后一位", "answer_has_no_gradient",
           "completion_mask & ~answer_mask", "completion_mask & ~answer_mask.roll(1, dims=1)")
wrong_loss("predicting_row_as_well", "answer and predicting row are masked | 答案与预测它的行都掩住", "answer_has_no_gradient",
           "completion_mask & ~answer_mask", "completion_mask & ~answer_mask & ~answer_mask.roll(-1, dims=1)")
wrong_loss("braces_as_well", "the box around the answer is masked, too | 方框也要掩住", "answer_has_no_gradient",
           "completion_mask & ~answer_mask", "completion_mask & ~(answer_mask | answer_mask.roll(1, dims=1))")
wrong_loss("everything_after_the_answer", "after the answer nothing counts | 答案之后都不算", "answer_has_no_gradient",
           "completion_mask & ~answer_mask", "completion_mask & (answer_mask.cumsum(dim=1) == 0)")
wrong_loss("everything_before_the_answer", "only what follows the answer learns | 只有答案之后的才学", "nothing_masked",
           "completion_mask & ~answer_mask", "completion_mask & (answer_mask.flip(1).cumsum(dim=1).flip(1) == 0)"
           " & answer_mask.any(dim=1, keepdim=True)")
wrong_loss("first_answer_token_only", "one token of the answer is enough | 掩住一个答案 Token 就够", "answer_has_no_gradient",
           "completion_mask & ~answer_mask", "completion_mask & ~(answer_mask & (answer_mask.cumsum(dim=1) == 1))")
wrong_loss("half_weight_on_the_answer", "the answer weighs half | 答案权重减半", "answer_has_no_gradient",
           "loss_mask = completion_mask & ~answer_mask", "loss_mask = completion_mask",
           "reduce_token_losses(policy_losses, loss_mask, reduction)",
           "reduce_token_losses(policy_losses * torch.where(answer_mask, 0.5, 1.0), loss_mask, reduction)")
wrong_loss("answer_value_kept", "only the gradient of the answer is stopped | 答案只停梯度", "answer_costs_nothing",
           "loss_mask = completion_mask & ~answer_mask",
           "loss_mask = completion_mask\nnew_token_logps = torch.where(answer_mask, new_token_logps.detach(), new_token_logps)")
wrong_loss("mask_into_advantages", "the mask thins the advantage before it is used | 先用掩码削减优势", "advantages_are_taken_as_they_are",
           "advantages, loss_mask, epsilon_low",
           "advantages * (loss_mask.sum(dim=-1) / completion_mask.sum(dim=-1)), loss_mask, epsilon_low")
wrong_loss("advantages_centered_again", "advantages are centered in the batch | 优势在批内再减均值", "nothing_masked",
           "advantages, loss_mask, epsilon_low", "advantages - advantages.mean(), loss_mask, epsilon_low")
wrong_loss("masked_mean_of_advantages", "the mask enters the group's mean | 掩码进入组均值", "advantages_are_taken_as_they_are",
           "advantages, loss_mask, epsilon_low",
           "(advantages[:, None] * loss_mask - ((advantages[:, None] * loss_mask).mean() - (advantages[:, None] * completion_mask).mean()))"
           ", loss_mask, epsilon_low")
wrong_loss("sign_of_the_advantage", "the sign of the advantage is enough | 只看优势的符号", "nothing_masked",
           "advantages, loss_mask, epsilon_low", "advantages.sign(), loss_mask, epsilon_low")
wrong_loss("columns_for_rows", "advantages belong to columns | 优势按列对应", "nothing_masked",
           "advantages, loss_mask, epsilon_low",
           "advantages.repeat(completion_mask.shape[1])[:completion_mask.shape[1]].expand(completion_mask.shape), loss_mask, epsilon_low")
wrong_loss("sequence_mean_over_whole_length", "a mean divides by the whole length | 平均除以整条长度", "sequence_mean",
           "reduce_token_losses(policy_losses, loss_mask, reduction)",
           "reduce_token_losses(policy_losses, completion_mask, reduction)")
wrong_loss("token_mean_over_all", "the token mean counts all tokens | Token 平均计入全部 Token", "token_mean",
           "reduce_token_losses(policy_losses, loss_mask, reduction)",
           "reduce_token_losses(policy_losses, completion_mask if reduction == 'token_mean' else loss_mask, reduction)")
wrong_loss("token_mean_first_in_rows", "token mean is the mean of the means | Token 平均就是平均的平均", "token_mean",
           "reduce_token_losses(policy_losses, loss_mask, reduction)",
           "reduce_token_losses(policy_losses, loss_mask, 'sequence_mean' if reduction == 'token_mean' else reduction)")
wrong("default_is_a_mean", "a loss averages by default | 损失默认取平均", caught_by="check_om_grpo_loss_sequence_sum_is_the_default",
      function=but(DEFAULTS, 'reduction="sequence_sum"', 'reduction="sequence_mean"'))
wrong_loss("reduction_ignored", "there is one reduction | 归约只有一种", "sequence_mean",
           BOTH_REDUCED, BOTH_REDUCED.replace("reduction)", "'sequence_sum')"))
wrong_loss("no_kl", "OM-GRPO has no KL | OM-GRPO 没有 KL", "kl_is_added",
           "beta * reduce_token_losses(token_kl, kl_mask, reduction)", "0.0")
wrong_loss("kl_subtracted", "the objective subtracts, so does the loss | 目标里是减，损失里也减", "kl_is_added",
           "+ beta *", "- beta *")
wrong_loss("kl_without_beta", "the KL penalty needs no coefficient | KL 惩罚不要系数", "kl_is_added",
           "beta * reduce_token_losses(token_kl", "reduce_token_losses(token_kl")
wrong_loss("kl_against_old", "the old policy is the reference | 旧策略就是参考策略", "kl_is_added",
           "k3_kl(new_token_logps, reference_token_logps, kl_mask)", "k3_kl(new_token_logps, old_token_logps, kl_mask)")
wrong_long("k3_reversed", "k3 of new minus reference | 取 new 减 reference 的 k3", "kl_is_added",
           "(reference_token_logps.detach() - new_token_logps)", "(new_token_logps - reference_token_logps.detach())")
wrong_long("k1_for_k3", "k1 is a KL estimator as well | k1 也是 KL 估计量", "kl_is_added",
           "torch.expm1(gaps) - gaps", "-gaps")
wrong_long("k2_for_k3", "k2 is nearly k3 | k2 与 k3 差不多", "kl_is_added",
           "torch.expm1(gaps) - gaps", "gaps ** 2 / 2")
wrong_loss("beta_twice", "beta counts in both places | beta 乘两次", "kl_is_added",
           "+ beta *", "+ beta * beta *")
wrong("default_beta_is_grpos", "beta is 0.04 as in GRPO | beta 与 GRPO 一样是 0.04", caught_by="check_om_grpo_loss_default_beta",
      function=but(DEFAULTS, "beta=0.005", "beta=0.04"))
wrong("default_beta_is_zero", "beta is 0 as in TRL | beta 与 TRL 一样是 0", caught_by="check_om_grpo_loss_default_beta",
      function=but(DEFAULTS, "beta=0.005", "beta=0.0"))
wrong_loss("kl_unmasked", "the mask is for the policy term | 掩码只管策略项", "kl_is_masked",
           "loss_mask if mask_kl else completion_mask", "completion_mask")
wrong_loss("kl_masked_but_divided_by_all", "the KL mean counts answer tokens | KL 的平均计入答案 Token", "kl_is_masked",
           "beta * reduce_token_losses(token_kl, kl_mask, reduction)", "beta * reduce_token_losses(token_kl, completion_mask, reduction)")
wrong_loss("mask_kl_reversed", "mask_kl=True keeps the answer | mask_kl=True 保留答案", "kl_is_masked",
           "loss_mask if mask_kl else completion_mask", "completion_mask if mask_kl else loss_mask")
wrong_loss("kl_on_the_answer_only", "the KL penalty holds the answer | KL 惩罚只管答案", "kl_is_added",
           "loss_mask if mask_kl else completion_mask", "completion_mask & answer_mask")
wrong_loss("kl_always_masked", "the KL penalty never sees the answer | KL 惩罚从不含答案", "kl_may_keep_the_answer",
           "loss_mask if mask_kl else completion_mask", "loss_mask")
wrong_loss("mask_kl_false_masks_nothing", "without mask_kl nothing is masked | mask_kl=False 时什么都不掩住", "kl_may_keep_the_answer",
           "loss_mask = completion_mask & ~answer_mask", "loss_mask = completion_mask & ~answer_mask if mask_kl else completion_mask")
wrong_loss("mask_kl_false_drops_kl", "without mask_kl there is no KL | mask_kl=False 时没有 KL", "kl_may_keep_the_answer",
           "+ beta *", "+ (beta if mask_kl else 0.0) *")
wrong_loss("kept_kl_without_gradient", "the answer's KL is only reported | 答案的 KL 只用于报告", "kl_may_keep_the_answer",
           "k3_kl(new_token_logps, reference",
           "k3_kl(torch.where(answer_mask, new_token_logps.detach(), new_token_logps), reference")
wrong_loss("kept_kl_on_padding", "unmasked means everywhere | 不掩住就是处处都算", "kl_may_keep_the_answer",
           "loss_mask if mask_kl else completion_mask", "loss_mask if mask_kl else torch.ones_like(completion_mask)")
wrong_loss("kept_kl_divided_by_loss_mask", "one divisor serves both terms | 两项共用一个除数", "kept_kl_has_its_own_divisor",
           BOTH_REDUCED,
           "lengths = loss_mask.sum(dim=-1)\n"
           "kl_sums = token_kl.sum(dim=-1)\n"
           "kl = {'sequence_sum': kl_sums.mean(), 'sequence_mean': (kl_sums / lengths.clamp(min=1)).mean(),\n"
           "      'token_mean': kl_sums.sum() / lengths.sum().clamp(min=1)}[reduction]\n"
           "loss = reduce_token_losses(policy_losses, loss_mask, reduction) + beta * kl")
wrong_loss("both_divided_by_kl_mask", "the larger mask divides both terms | 两项都除以较大的掩码", "kept_kl_has_its_own_divisor",
           "reduce_token_losses(policy_losses, loss_mask, reduction)", "reduce_token_losses(policy_losses, kl_mask, reduction)")
wrong_loss("kl_detached", "the KL penalty is a number | KL 惩罚只是一个数", "kl_teaches",
           "token_kl = k3_kl(new_token_logps,", "token_kl = k3_kl(new_token_logps.detach(),")
wrong_loss("kl_in_the_advantage", "the KL penalty lowers the advantage | KL 惩罚从优势里减", "kl_is_added",
           LOSS.replace("policy_losses = grpo", "kl_mask = loss_mask if mask_kl else completion_mask\n"
                        "token_kl = k3_kl(new_token_logps, reference_token_logps, kl_mask)\npolicy_losses = grpo")
           .replace("advantages, loss_mask", "advantages - beta * token_kl.sum(dim=-1), loss_mask", 1)
           .replace(" + beta * reduce_token_losses(token_kl, kl_mask, reduction)", ""))
wrong_loss("kl_times_ratio", "the KL penalty is weighted by the ratio | KL 惩罚要乘比率", "kl_is_not_weighted",
           "beta * reduce_token_losses(token_kl, kl_mask",
           "beta * reduce_token_losses(\n"
           "    token_kl * (new_token_logps - old_token_logps.detach()).masked_fill(~kl_mask, 0.0).exp(), kl_mask")
wrong_long("kl_inside_the_minimum", "KL belongs to the unclipped surrogate | KL 属于未裁剪的代理目标", "kl_is_not_weighted",
           "policy_losses = -torch.minimum(ratios * weights, clipped * weights)\n", "",
           "token_kl = torch.expm1(gaps) - gaps\n",
           "token_kl = torch.expm1(gaps) - gaps\n"
           "policy_losses = -torch.minimum(ratios * weights - beta * token_kl, clipped * weights)\n",
           " + beta * reduce_token_losses(token_kl, kl_mask, reduction)", "")
wrong_loss("loss_detached", "the loss is a number | 损失只是一个数", "policy_gradient",
           BOTH_REDUCED, BOTH_REDUCED + "\nloss = loss.detach()")
wrong_loss("policy_term_detached", "only the KL penalty needs a gradient | 只有 KL 惩罚要梯度", "policy_gradient",
           "reduce_token_losses(policy_losses, loss_mask, reduction)", "reduce_token_losses(policy_losses.detach(), loss_mask, reduction)")
wrong_long("old_over_new", "the ratio is old over new | 比率是旧比新", "policy_gradient",
           "(new_token_logps - old_token_logps.detach())", "(old_token_logps.detach() - new_token_logps)")
wrong_long("no_ratio", "at the first step the ratio is 1 | 第一步比率为 1", "policy_gradient",
           "(new_token_logps - old_token_logps.detach())", "(new_token_logps - new_token_logps.detach())")
wrong_long("log_ratio", "the log-ratio is the ratio | 对数比率就是比率", "nothing_masked",
           ".masked_fill(~loss_mask, 0.0).exp()", ".masked_fill(~loss_mask, 0.0)")
wrong_long("sequence_ratio", "the ratio is RLOO's | 用 RLOO 的序列比率", "policy_gradient",
           ".masked_fill(~loss_mask, 0.0).exp()", ".masked_fill(~loss_mask, 0.0).sum(dim=-1, keepdim=True).exp().expand(loss_mask.shape)")
wrong_loss("ratio_to_reference", "the ratio is to the reference policy | 比率对照参考策略", "policy_gradient",
           "new_token_logps, old_token_logps, advantages", "new_token_logps, reference_token_logps, advantages")
wrong_loss("epsilons_swapped", "epsilon_low bounds from above | epsilon_low 是上界", "bounds",
           "epsilon_low=epsilon_low, epsilon_high=epsilon_high", "epsilon_low=epsilon_high, epsilon_high=epsilon_low")
wrong_loss("one_epsilon", "one epsilon is enough | 一个 epsilon 就够", "bounds",
           "epsilon_high=epsilon_high", "epsilon_high=epsilon_low")
wrong_loss("epsilons_forgotten", "the defaults will do | 用默认值就行", "bounds",
           ", epsilon_low=epsilon_low, epsilon_high=epsilon_high", "")
wrong_loss("epsilons_held_below_one_half", "bounds stay near 1 | 边界总在 1 附近", "epsilons_as_given",
           "epsilon_low=epsilon_low", "epsilon_low=min(epsilon_low, 0.5)")
wrong_loss("epsilons_held_above_a_tenth", "bounds need some room | 边界要留些余地", "epsilons_as_given",
           "epsilon_low=epsilon_low, epsilon_high=epsilon_high", "epsilon_low=max(epsilon_low, 0.1), epsilon_high=max(epsilon_high, 0.1)")
wrong_loss("upper_epsilon_held_below_one", "a ratio never doubles | 比率不会翻倍", "epsilons_as_given",
           "epsilon_high=epsilon_high", "epsilon_high=min(epsilon_high, 1.0)")
wrong_loss("kept_kl_needs_a_token_in_the_loss", "who is out of the loss pays no KL | 不在损失中的回答不付 KL", "kl_may_keep_the_answer",
           "loss_mask if mask_kl else completion_mask",
           "loss_mask if mask_kl else completion_mask & loss_mask.any(dim=-1, keepdim=True)")
wrong_loss("beta_of_a_thousandth_at_least", "beta is at least 0.001 | beta 至少为 0.001", "kl_is_added",
           "+ beta *", "+ (beta and max(beta, 0.001)) *")
wrong_loss("beta_capped", "beta is at most 1 | beta 至多为 1", "kl_is_added",
           "+ beta *", "+ min(beta, 1.0) *")
wrong("default_clip_higher", "the upper bound is DAPO's | 上界与 DAPO 一样", caught_by="check_om_grpo_loss_default_bounds",
      function=but(DEFAULTS, "epsilon_high=0.2,", "epsilon_high=0.28,"))
wrong("default_lower_bound", "the lower bound is tighter | 下界更紧", caught_by="check_om_grpo_loss_default_bounds",
      function=but(DEFAULTS, "epsilon_low=0.2,", "epsilon_low=0.1,"))
wrong_long("always_clipped", "the clipped surrogate is the objective | 只用裁剪后的代理目标", "takes_the_smaller_surrogate",
           "torch.minimum(ratios * weights, clipped * weights)", "(clipped * weights)")
wrong_long("larger_surrogate", "of the surrogates the larger one counts | 取较大的代理目标", "bounds",
           "torch.minimum", "torch.maximum")
wrong_long("never_clipped", "small steps need no clip | 步子小就不用裁剪", "bounds",
           "torch.minimum(ratios * weights, clipped * weights)", "(ratios * weights)")
wrong_long("smaller_ratio", "the smaller ratio counts | 取较小的比率", "bounds",
           "torch.minimum(ratios * weights, clipped * weights)", "(torch.minimum(ratios, clipped) * weights)")
wrong_long("old_not_detached", "the old policy may learn | 旧策略也可以学", "only_new_learns",
           "old_token_logps.detach()", "old_token_logps")
wrong_long("reference_not_detached", "the reference policy may learn | 参考策略也可以学", "only_new_learns",
           "reference_token_logps.detach()", "reference_token_logps")
wrong_long("advantages_not_detached", "advantages carry a gradient | 优势带梯度", "only_new_learns",
           "advantages.detach()[:, None]", "advantages[:, None]")
wrong_long("policy_multiplied_by_mask", "0 times anything is 0 | 0 乘任何数都是 0", "what_is_left_out_may_be_infinite",
           "ratios = (new_token_logps - old_token_logps.detach()).masked_fill(~loss_mask, 0.0).exp()",
           "ratios = (new_token_logps - old_token_logps.detach()).exp()",
           "policy_losses = -torch.minimum(ratios * weights, clipped * weights)",
           "policy_losses = -torch.minimum(ratios * weights, clipped * weights) * loss_mask")
wrong_long("policy_masked_too_late", "the value is masked, that is enough | 掩住数值就够了", "what_is_left_out_may_be_infinite",
           "ratios = (new_token_logps - old_token_logps.detach()).masked_fill(~loss_mask, 0.0).exp()",
           "ratios = (new_token_logps - old_token_logps.detach()).exp()")
wrong_long("kl_masked_too_late", "the KL's value is masked, that is enough | 掩住 KL 的数值就够了", "what_is_left_out_may_be_infinite",
           "gaps = (reference_token_logps.detach() - new_token_logps).masked_fill(~kl_mask, 0.0)",
           "gaps = reference_token_logps.detach() - new_token_logps")
wrong_loss("weights_multiplied", "a mask multiplies the losses | 掩码乘到损失上", "what_is_left_out_may_be_infinite", """
loss_mask = completion_mask & ~answer_mask
gaps = reference_token_logps.detach() - new_token_logps
kl_mask = loss_mask if mask_kl else completion_mask
ratios, fixed = (new_token_logps - old_token_logps.detach()).exp(), advantages.detach()[:, None]
surrogates = torch.minimum(ratios * fixed, ratios.clamp(1 - epsilon_low, 1 + epsilon_high) * fixed)
terms = [(-surrogates * loss_mask, loss_mask), (beta * (gaps.exp() - 1 - gaps) * kl_mask, kl_mask)]
loss = 0.0
for values, mask in terms:
    sums, lengths = values.sum(dim=-1), mask.sum(dim=-1)
    loss = loss + {"sequence_sum": sums.mean(), "sequence_mean": (sums / lengths.clamp(min=1)).mean(),
                   "token_mean": sums.sum() / lengths.sum().clamp(min=1)}[reduction]
""")
wrong_long("kept_kl_padding_leaks", "only the answer can hold junk | 只有答案处可能有杂数", "kept_kl_padding_may_be_infinite",
           ".masked_fill(~kl_mask, 0.0)", ".masked_fill(~kl_mask, 0.0) if mask_kl else reference_token_logps.detach() - new_token_logps")
wrong_loss("empty_completions_left_out", "a completion without tokens is none | 没有 Token 的回答不算", "nothing_left",
           BOTH_REDUCED, "some = completion_mask.any(dim=-1) & ~(completion_mask & ~loss_mask).all(dim=-1) & loss_mask.any(dim=-1)\n"
           "some = some if some.any() else ~some\n"
           + BOTH_REDUCED.replace("policy_losses, loss_mask", "policy_losses[some], loss_mask[some]"))
wrong_loss("zero_over_zero_tokens", "each completion has a token left | 每条回答总有剩下的 Token", "nothing_left",
           BOTH_REDUCED, "sums, lengths = policy_losses.sum(dim=-1), loss_mask.sum(dim=-1)\n"
           "policy = {'sequence_sum': sums.mean(), 'sequence_mean': (sums / lengths).mean(),\n"
           "          'token_mean': sums.sum() / lengths.sum()}[reduction]\n"
           "loss = policy + beta * reduce_token_losses(token_kl, kl_mask, reduction)")
wrong_loss("first_512_columns", "512 tokens are enough | 512 个 Token 就够了", "answer_anywhere",
           "completion_mask & ~answer_mask", "completion_mask & ~answer_mask & (torch.arange(completion_mask.shape[1]) < 512)")
wrong_loss("last_answer_run_only", "the answer is one run of tokens | 答案是连续的一段", "answer_anywhere",
           "completion_mask & ~answer_mask",
           "completion_mask & ~(answer_mask & ((~answer_mask).flip(1).cumsum(dim=1).flip(1)"
           " == ((~answer_mask).flip(1).cumsum(dim=1).flip(1) + 999 * ~answer_mask).amin(dim=1, keepdim=True)))")
wrong_long("advantages_clamped", "large advantages are cut | 大优势要截断", "limits_nothing",
           "advantages.detach()[:, None]", "advantages.detach()[:, None].clamp(-10, 10)")
wrong_long("ratio_limited", "a ratio over 10 is an error | 比率超过 10 是错误", "limits_nothing",
           ".masked_fill(~loss_mask, 0.0).exp()", ".masked_fill(~loss_mask, 0.0).exp().clamp(max=10.0)")
wrong_long("kl_limited", "a KL over 10 is an error | KL 超过 10 是错误", "limits_nothing",
           "torch.expm1(gaps) - gaps", "(torch.expm1(gaps) - gaps).clamp(max=10.0)")
wrong_loss("mask_overwritten", "&= builds the loss mask | 用 &= 得到损失掩码", "leaves_inputs_alone",
           "loss_mask = completion_mask & ~answer_mask", "loss_mask = completion_mask\nloss_mask &= ~answer_mask")
wrong_loss("answer_mask_trimmed_in_place", "the answer mask may be trimmed | 可以就地修剪答案掩码", "leaves_inputs_alone",
           "loss_mask = completion_mask & ~answer_mask", "answer_mask &= completion_mask\nloss_mask = completion_mask & ~answer_mask")
wrong_loss("cut_to_float32", "float32 is exact enough | float32 够精确", "keeps_float64",
           "new_token_logps, old_token_logps, advantages", "new_token_logps.float(), old_token_logps.float(), advantages.float()")
wrong_loss("zero_advantages_left_out", "advantage 0 means no token | 优势为 0 就不算 Token", "zero_advantage_counts",
           "completion_mask & ~answer_mask", "completion_mask & ~answer_mask & (advantages != 0)[:, None]")
wrong_loss("given_losses_multiplied", "what is multiplied by 0 is gone | 乘以 0 就没有了", "what_is_left_out_may_be_infinite",
           "policy_losses = grpo_token_losses(\n    new_token_logps, old_token_logps, advantages, loss_mask, "
           "epsilon_low=epsilon_low, epsilon_high=epsilon_high)",
           "policy_losses = loss_mask * grpo_token_losses(\n    new_token_logps, old_token_logps, advantages, completion_mask, "
           "epsilon_low=epsilon_low, epsilon_high=epsilon_high)",
           "k3_kl(new_token_logps, reference_token_logps, kl_mask)",
           "kl_mask * k3_kl(new_token_logps, reference_token_logps, completion_mask)")
wrong_loss("given_kl_multiplied", "k3 of a masked token is 0 times something | 掩住的 Token 的 k3 乘 0", "what_is_left_out_may_be_infinite",
           "k3_kl(new_token_logps, reference_token_logps, kl_mask)",
           "kl_mask * k3_kl(new_token_logps, reference_token_logps, completion_mask)")
wrong_loss("kept_kl_of_all_answer_marks", "what the answer mask marks pays KL | 答案掩码标出的都付 KL", "padding_of_the_answer_mask",
           "loss_mask if mask_kl else completion_mask", "loss_mask if mask_kl else loss_mask | answer_mask")
wrong_loss("kept_kl_of_answers_on_padding", "the answer pays KL wherever it stands | 答案在哪里都付 KL", "padding_of_the_answer_mask",
           "loss_mask if mask_kl else completion_mask", "loss_mask if mask_kl else completion_mask | answer_mask")
wrong_loss("kl_over_zero_tokens", "some token always pays KL | 总有 Token 付 KL", "nothing_left",
           "beta * reduce_token_losses(token_kl, kl_mask, reduction)",
           "beta * (reduce_token_losses(token_kl, kl_mask, reduction) if mask_kl or reduction != 'token_mean'\n"
           "        else token_kl.sum() / kl_mask.sum())")
wrong_long("small_ratios_held_up", "a ratio under 0.05 is an error | 比率低于 0.05 是错误", "small_ratios",
           ".masked_fill(~loss_mask, 0.0).exp()", ".masked_fill(~loss_mask, 0.0).exp().clamp(min=0.05)")
wrong_long("log_ratios_held_up", "a log-ratio under -5 is an error | 对数比率低于 -5 是错误", "small_ratios",
           ".masked_fill(~loss_mask, 0.0).exp()", ".masked_fill(~loss_mask, 0.0).clamp(min=-5.0).exp()")
wrong_long("advantages_over_5000_clamped", "advantages end at 5000 | 优势到 5000 为止", "limits_nothing",
           "advantages.detach()[:, None]", "advantages.detach()[:, None].clamp(-5000, 5000)")
wrong_long("negative_advantages_clamped", "bad completions are punished gently | 差的回答要轻罚", "limits_nothing",
           "advantages.detach()[:, None]", "advantages.detach()[:, None].clamp(min=-5.0)")
wrong_long("kl_gap_clamped", "a gap over 20 is an error | 差超过 20 是错误", "limits_nothing",
           ".masked_fill(~kl_mask, 0.0)", ".masked_fill(~kl_mask, 0.0).clamp(max=20.0)")
for constant, frozen in (("old", "old_token_logps.detach()"), ("reference", "reference_token_logps.detach()"),
                         ("advantages", "advantages.detach()")):
    learning = frozen.removesuffix(".detach()")
    wrong_long(f"{constant}_frozen_without_answers", "without an answer there is nothing to learn | 没有答案才停梯度", "only_new_learns",
               frozen, f"({learning} if answer_mask.any() else {frozen})")
    wrong_long(f"{constant}_frozen_in_sums", "only the sum needs constants | 只有求和时停梯度", "only_new_learns",
               frozen, f"({frozen} if reduction == 'sequence_sum' else {learning})")
    wrong_long(f"{constant}_frozen_in_small_batches", "a small batch shows it | 小批量就能看出来", "only_new_learns",
               frozen, f"({frozen} if len(advantages) <= 3 else {learning})")
wrong_long("negative_advantages_carry_a_gradient", "good completions need constants | 好的回答才停梯度", "only_new_learns",
           "advantages.detach()", "torch.where(advantages > 0, advantages.detach(), advantages)")
CHECKED = but(DEFAULTS, "    loss_mask = completion_mask", """    require_token_values(completion_mask)
    if answer_mask.dtype != torch.bool or answer_mask.shape != completion_mask.shape:
        raise ValueError
    if not new_token_logps.shape == old_token_logps.shape == reference_token_logps.shape == completion_mask.shape:
        raise ValueError
    if advantages.shape != completion_mask.shape[:1] or not torch.isfinite(advantages).all():
        raise ValueError
    if not math.isfinite(beta) or beta < 0 or not 0 < epsilon_low < 1 or not 0 < epsilon_high < math.inf:
        raise ValueError
    if reduction not in ("sequence_sum", "sequence_mean", "token_mean"):
        raise ValueError
    loss_mask = completion_mask""")
for name, misconception, *changes in (
        ("advantages_for_each_token", "advantages may be [N, T] | 优势可以是 [N, T]",
         "advantages.shape != completion_mask.shape[:1] or ", ""),
        ("infinite_beta", "beta may be infinite | beta 可以是无穷", "not math.isfinite(beta) or beta < 0", "not beta >= 0")):
    wrong(name, misconception, caught_by="check_om_grpo_loss_refuses_bad_input", function=but(CHECKED, *changes))
wrong("no_validation_of_masks", "masks are taken as they come | 掩码照单全收", caught_by="check_om_grpo_loss_refuses_bad_input",
      function=DEFAULTS)

# Mutants that compute the same

for number in (1, -1):
    equivalent(f"TODO 1: 0 -> {number}", because="without an answer the interval is empty wherever it lies: `first` and `last` stay equal")
for todo in (3, 4):
    equivalent(f"TODO {todo}: zip(members, counts, strict=True) -> zip(members, counts)", because="both lists have one entry a member")
    equivalent(f"TODO {todo}: True -> False", because="the same: strict=False on lists of one length")
    equivalent(f"TODO {todo}: 0 -> -1", because="a count of None is passed over, and the highest only if nobody is rewarded")
equivalent("TODO 4: i -> _ (place 3)", because="both completions of a comparison are of one group, which the input check holds")
