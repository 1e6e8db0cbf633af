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

wrong("never_masked", "nothing is hidden | 什么都不遮", caught_by="check_answer_span_mask_glued_tokens",
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
