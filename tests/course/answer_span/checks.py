r"""Checks of answer_span_mask. Visible ones hold literals and properties; hidden ones compare with spec.py on random completions."""

import torch

from advantagelab.checking import expect_close, expect_error, message

from . import spec


def check_answer_span_mask_glued_tokens(answers):
    text = "\\boxed{42}"
    apart = answers.answer_span_mask(text, [(0, 6), (6, 7), (7, 9), (9, 10)])
    expect_close(apart, torch.tensor([False, False, True, False]), message(
        en="The box and its braces are not the answer: only tokens with a character between the braces are True, as bool.",
        zh="方框和花括号不是答案：只有含花括号之间字符的 Token 为 True，类型为 bool。"))
    glued = answers.answer_span_mask(text, [(0, 6), (6, 8), (8, 10)])
    expect_close(glued, torch.tensor([False, True, True]), message(
        en="A token that glues a brace to an answer character belongs to the answer.",
        zh="把花括号和答案字符粘在一起的 Token 属于答案。"))


def check_answer_span_mask_last_box(answers):
    text = "\\boxed{1}, no: \\boxed{2} is 2"
    got = answers.answer_span_mask(text, [(0, 7), (7, 8), (8, 15), (15, 22), (22, 23), (23, 28), (28, 29)])
    expect_close(got, torch.tensor([False, False, False, False, True, False, False]), message(
        en="Only the last box holds the answer: an earlier box, or the same digit elsewhere, is not masked.",
        zh="只有最后一个方框里是答案：之前的方框、别处出现的同一数字都不遮。"))


def check_answer_span_mask_nested_braces(answers):
    got = answers.answer_span_mask("\\boxed{\\frac{1}{2}}}", [(0, 7), (7, 13), (13, 14), (14, 15), (15, 18), (18, 19), (19, 20)])
    expect_close(got, torch.tensor([False, True, True, True, True, False, False]), message(
        en="The box ends at the brace that closes it: not at the first one, not at the last one of the text.",
        zh="方框止于与它配对的花括号：既不是第一个，也不是全文最后一个。"))
    escaped = answers.answer_span_mask("\\boxed{0,1\\}} {}", [(0, 7), (7, 10), (10, 11), (11, 12), (12, 13), (13, 16)])
    expect_close(escaped, torch.tensor([False, True, True, True, False, False]), message(
        en="An escaped brace is part of the answer and closes nothing.",
        zh="转义的花括号是答案的一部分，不闭合任何东西。"))


def check_answer_span_mask_no_answer(answers):
    for text in ["the answer is 42", "\\boxed{42", "\\boxed{}", "\\boxed{1} or \\boxed{}"]:
        got = answers.answer_span_mask(text, [(0, 7), (7, len(text))])
        expect_close(got, torch.tensor([False, False]), message(
            en="No box, a last box that is empty, or none that closes: nothing is the answer.",
            zh="没有方框、最后的方框为空、或没有一个能闭合：谁都不是答案。"))
    got = answers.answer_span_mask("\\boxed{1} or \\boxed{2", [(0, 7), (7, 8), (8, 20), (20, 21)])
    expect_close(got, torch.tensor([False, True, False, False]), message(
        en="A last box that never closes does not count: the one before it does.",
        zh="最后的方框没有闭合，就不算数：取它之前的那个。"))


def check_answer_span_mask_odd_tokens(answers):
    got = answers.answer_span_mask("甲\\boxed{二十}", [(0, 0), (0, 1), (1, 8), (8, 8), (8, 9), (9, 9), (9, 10), (10, 11)])
    expect_close(got, torch.tensor([False, False, False, False, True, False, True, False]), message(
        en="Offsets count characters, not bytes, and a token of width 0 holds no answer.",
        zh="偏移按字符计，不按字节计；零宽 Token 不含答案。"))
    got = answers.answer_span_mask("\\boxed{42}", [(8, 9), (0, 3)])
    expect_close(got, torch.tensor([True, False]), message(
        en="Tokens need neither touch each other nor stand in order: each offset speaks for itself.",
        zh="Token 不必相连，也不必按顺序：各按自己的偏移判断。"))
    expect_close(answers.answer_span_mask("\\boxed{42}", []), torch.zeros(0, dtype=torch.bool), message(
        en="Without tokens the mask is empty, and still bool.", zh="没有 Token 时掩码为空，类型仍是 bool。"))


def check_answer_span_mask_refuses(answers):
    got = answers.answer_span_mask("\\boxed{42}", [(0, 10), (10, 10)])
    expect_close(got, torch.tensor([True, False]), message(
        en="Offsets may reach both ends of the text.", zh="偏移可以到达文本两端。"))
    for offset in [(3, 2), (0, 11), (-1, 2)]:
        expect_error(lambda offset=offset: answers.answer_span_mask("\\boxed{42}", [(0, 1), offset]), message(
            en="An offset that is reversed or leaves the text must raise a ValueError.",
            zh="起止颠倒或超出文本的偏移必须抛出 ValueError。"))


def hidden_answer_span_mask_random(answers, rng):
    for _ in range(60):
        text, offsets = spec.random_completion(rng)
        expected = torch.tensor(spec.answer_span_mask(text, offsets), dtype=torch.bool)
        expect_close(answers.answer_span_mask(text, offsets), expected, message(
            en="A random completion: boxes of every kind, tokens that glue, skip or have no width.",
            zh="随机回答：各种方框，Token 有粘连、有间隔、有零宽。"))


def hidden_answer_span_mask_keeps_inputs(answers, rng):
    text, offsets = spec.random_completion(rng)
    before = list(offsets)
    answers.answer_span_mask(text, offsets)
    expect_close(offsets, before, message(en="The list of offsets was changed.", zh="偏移列表被改动了。"))
