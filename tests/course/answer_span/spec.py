r"""The oracle: character by character, as slowly as it is plain. It also writes the completions on which the answers are compared."""


def answer_span_mask(text, offsets):
    """[T] bools: a token counts if one of its characters is an answer character."""
    answer = answer_characters(text)
    return [any(position in answer for position in range(start, end)) for start, end in offsets]


def answer_characters(text):
    r"""Positions strictly inside the last \boxed{…} that balances: every place is tried, the last one that works stays."""
    answer = set()
    for begin in range(len(text)):
        if not text.startswith("\\boxed{", begin):
            continue
        depths = brace_depths(text, begin + 7)
        if 0 in depths:
            answer = set(range(begin + 7, begin + 7 + depths.index(0)))
    return answer


def brace_depths(text, begin):
    """Depth after each character from `begin`, starting inside one brace; a character after a backslash changes nothing."""
    depths, depth, escaped = [], 1, False
    for character in text[begin:]:
        if not escaped:
            depth += {"{": 1, "}": -1}.get(character, 0)
        escaped = character == "\\" and not escaped
        depths.append(depth)
    return depths


def random_completion(rng):
    """(text, offsets): reasoning with boxes of every kind, cut into tokens that glue, leave gaps between them, or have no width."""
    pieces = ["so ", "答案是", "42", " }", "{", "\n", "\\boxed{42}", "\\boxed{\\frac{1}{2}}", "\\boxed{\\{1, 2\\}}", "\\boxed{3\\}}",
              "\\boxed{", "\\boxed{}", "\\boxed{x=七}", "\\boxed{a\\boxed{b}c}"]
    text = "".join(pieces[rng.integer(0, len(pieces) - 1)] for _ in range(rng.integer(3, 9)))
    offsets, position = [], 0
    while position < len(text):
        end = min(len(text), position + rng.integer(0, 3))
        offsets.append((position, end))
        position = end + (rng.integer(0, 9) == 0)
    return text, offsets
