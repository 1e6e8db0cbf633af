"""A slip in a training cell, or a cell that was not run yet: one sentence instead of a traceback."""

from ..one_line import OneLine


class Unfinished(OneLine):
    """A TODO is still open, or a function is not defined. | 还有 TODO 未完成，或函数尚未定义。"""


class UnknownName(OneLine):
    """A choice that there is not. | 没有这个选项。"""


def choose(choices: dict, name: str):
    """The choice of this name. | 取这个名称所指的选项。

    UnknownName: there is none; it says which there are | 没有这个名称；说明有哪些
    """
    if name not in choices:
        raise UnknownName(f"there is no {name!r}, but {', '.join(choices)} | 没有 {name!r}，可选：{'、'.join(choices)}")
    return choices[name]


def needs(namespace: dict, names: str, en: str, zh: str) -> None:
    """What a cell needs of others, by name, and where they stand. | 本单元所需的名称，以及它们在哪里定义。

    Unfinished: one of the names is not defined yet | 其中某个名称尚未定义
    """
    for name in names.split():
        if name not in namespace:
            raise Unfinished(f"`{name}` is not defined: run {en} first | `{name}` 还没有定义：请先运行{zh}")


def unfinished(error: NotImplementedError | NameError, method) -> Unfinished | None:
    """Which function is still to be written, by what an error says; None if it says nothing of that. | 哪个函数尚未写好；无关则为 None。"""
    place = error.__traceback__
    while place.tb_next:
        place = place.tb_next
    en, _, zh = str(error).partition(" | ")
    if isinstance(error, NotImplementedError) and en.startswith("TODO"):
        name, number = place.tb_frame.f_code.co_name, en.partition(":")[0]
        return Unfinished(f"`{name}` is still open ({en}): write it, then run this cell again | "
                          f"`{name}` 尚未完成（{number}：{zh}）：写好之后再运行本单元")
    # In the cell that builds the method a name is a function of an earlier cell, and so is what a given cell defines for the exercises;
    # any other name is the learner's slip, shown as such.
    own_cells = {part.__code__.co_filename for part in (method.rewards, method.advantages, method.loss) if hasattr(part, "__code__")}
    given = isinstance(error, NameError) and (error.name or "").startswith(("require_", "closing_brace"))
    if isinstance(error, NameError) and (given or place.tb_frame.f_code.co_filename in own_cells):
        return Unfinished(f"`{error.name}` is not defined: run its cell first | `{error.name}` 还没有定义：请先运行它所在的单元")
    return None
