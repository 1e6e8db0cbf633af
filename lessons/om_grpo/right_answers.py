r"""Other correct ways, which the checks must accept."""

from lessons._build.answers import right

right("from_the_right", todo_1=r'''
first = last = 0
opening = text.rfind("\\boxed{")
while opening >= 0:
    closing = closing_brace(text, opening + 7)
    if closing is not None:
        first, last = opening + 7, closing
        break
    opening = text.rfind("\\boxed{", 0, opening)
mask = torch.zeros(len(offsets), dtype=torch.bool)
for t, (start, end) in enumerate(offsets):
    mask[t] = start < end and first < last and start < last and first < end
''')

right("vectorized", todo_1=r'''
first = last = 0
for piece in range(7, len(text)):
    if text[piece - 7:piece] == "\\boxed{" and closing_brace(text, piece) is not None:
        first, last = piece, closing_brace(text, piece)
pairs = torch.tensor(offsets, dtype=torch.long).reshape(-1, 2)
mask = pairs[:, 0].clamp(min=first) < pairs[:, 1].clamp(max=last)
''')

right("character_by_character", todo_1=r'''
inside = [False] * len(text)
for begin in range(len(text)):
    if text.startswith("\\boxed{", begin) and closing_brace(text, begin + 7) is not None:
        inside = [begin + 7 <= position < closing_brace(text, begin + 7) for position in range(len(text))]
mask = torch.tensor([any(inside[start:end]) for start, end in offsets], dtype=torch.bool)
''')

right("split_at_boxes", todo_1=r'''
import re

first = last = 0
for match in re.finditer(r"\\boxed\{", text):
    closing = closing_brace(text, match.end())
    first, last = (first, last) if closing is None else (match.end(), closing)
mask = torch.tensor([len(set(range(start, end)) & set(range(first, last))) > 0 for start, end in offsets], dtype=torch.bool)
''')
