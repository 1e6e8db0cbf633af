"""What was put right in a submission, in words: one message a kind, whatever the number of cells."""

from dataclasses import dataclass, field

from advantagelab.message import Message, message

SHOWN = 4  # names in one message
LENGTH = 60  # characters of a student's text in one


def shown(text: str) -> str:
    """A student's text as part of a line: short, and without anything that moves the cursor or hides text."""
    text = "".join(sign if sign.isprintable() else " " for sign in text[:LENGTH + 1])
    return text if len(text) <= LENGTH else text[:LENGTH] + "…"


@dataclass
class Repairs:
    """Lists of cell keys, but for `first`, messages said before the cells were looked at, and `dropped`, lines of code."""

    first: list[Message] = field(default_factory=list)
    metadata: list[str] = field(default_factory=list)
    written: list[str] = field(default_factory=list)
    retyped: list[str] = field(default_factory=list)
    merged: list[str] = field(default_factory=list)
    split: list[str] = field(default_factory=list)
    unedited: list[str] = field(default_factory=list)
    equal: list[str] = field(default_factory=list)
    other_copies: list[str] = field(default_factory=list)
    ambiguous: list[str] = field(default_factory=list)
    by_definition: list[str] = field(default_factory=list)
    joined: list[str] = field(default_factory=list)
    beside: list[str] = field(default_factory=list)
    locked: list[str] = field(default_factory=list)
    missing_locked: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    salvaged: list[str] = field(default_factory=list)
    elsewhere: list[str] = field(default_factory=list)
    again: list[str] = field(default_factory=list)
    dropped: list[str] = field(default_factory=list)
    too_long: list[str] = field(default_factory=list)

    def messages(self) -> tuple[Message, ...]:
        said = list(self.first)
        for name, en, zh in WORDS:
            items = list(dict.fromkeys(getattr(self, name)))
            if items:
                said.append(message(en=f"{en}: {_names(items, ', ')}.", zh=f"{zh}：{_names(items, '、')}。"))
        return tuple(said)


WORDS = (
    ("metadata", "The cell's nbgrader metadata was lost or wrong and was put back", "单元的 nbgrader 元数据丢失或有误，已恢复"),
    ("written", "The written answer's cell had lost its metadata, which was put back", "问答题单元的元数据丢失，已恢复"),
    ("retyped", "The type of the cell was changed back", "单元类型已改回"),
    ("merged", "Merged cells were taken apart", "合并的单元已拆开"),
    ("split", "A split answer was put together", "被拆开的答案已合并"),
    ("unedited", "Unedited copies of the cell were left out", "未编辑的副本已略去"),
    ("equal", "Equal copies of the answer were left out", "相同的答案副本已略去"),
    ("other_copies", "Of several different copies, the one in the original cell counts; the others were not run",
     "有多个不同的副本：以原单元中的为准，其余没有运行"),
    ("ambiguous", "Several different copies, none of them in the original cell: not graded, the instructor has to choose",
     "有多个不同的副本，且都不在原单元中：未评阅，需由教师选定"),
    ("by_definition", "The answer was found by its function's name", "答案按函数名找到"),
    ("joined", "Several texts for one written answer: all count, one below the other", "一道问答题有多段文字：全部有效，依次相接"),
    ("beside", "The written answer stood in a cell beside its own", "问答题的答案写在了相邻的单元里"),
    ("locked", "Read-only cells were changed; they are as released again", "只读单元有改动，已恢复为发布时的内容"),
    ("missing_locked", "Read-only cells were missing and were put back", "缺失的只读单元已补回"),
    ("missing", "The answer cell is missing: counted as not answered", "缺少答案单元，按未作答计"),
    ("salvaged", "Definitions added to a cell of the course count, as a cell of the student's own",
     "写在课程单元里的定义有效，已移入学生自己的单元"),
    ("elsewhere", "The function is defined in another cell: that definition counts", "函数定义在别的单元中：以该定义为准"),
    ("again", "The function is defined again in a later cell: the last definition counts, as with Run All",
     "函数在后面的单元中重新定义：以最后的定义为准，与“全部运行”相同"),
    ("dropped", "Left out, since only a notebook's kernel can run it", "只有 notebook 内核能运行，已略去"),
    ("too_long", "Code longer than a cell may be was not run", "超过长度上限的代码没有运行"),
)


def _names(items: list[str], separator: str) -> str:
    more = len(items) - SHOWN
    return separator.join(map(shown, items[:SHOWN])) + (f" (+{more})" if more > 0 else "")
