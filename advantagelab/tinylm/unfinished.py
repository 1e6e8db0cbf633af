"""A method that cannot run yet, because the learner has not written one of its functions: one sentence instead of a traceback."""


class Unfinished(Exception):
    """A TODO is still open, or a function is not defined. Shown as one line. | 还有 TODO 未完成，或函数尚未定义；只显示一行。"""

    def _render_traceback_(self) -> list[str]:
        return [f"Unfinished: {self}"]


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
    # In the cell that builds the method a name is a function of an earlier cell; anywhere else it is the learner's slip, shown as such.
    own_cells = {part.__code__.co_filename for part in (method.rewards, method.advantages, method.loss) if hasattr(part, "__code__")}
    if isinstance(error, NameError) and place.tb_frame.f_code.co_filename in own_cells:
        return Unfinished(f"`{error.name}` is not defined: run its cell first | `{error.name}` 还没有定义：请先运行它所在的单元")
    return None
