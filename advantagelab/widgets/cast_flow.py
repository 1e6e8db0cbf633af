"""The data flow of CAST: how rewards, self-teacher and old policy make an advantage for each token, and where the gradient stops."""

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from ..fonts import plot_text
from ..language import text
from .flow import FROZEN, GRADIENT_PATH, VALUE_PATH, Box, draw_arrow, draw_box
from .panel import Picture, Words

SIZE = (7.6, 4.75)  # all places below are in inches
DPI = 150

INPUT, FIRST, SECOND, LAST = (0.06, 1.2), (1.85, 1.62), (3.9, 1.45), (5.8, 1.74)  # columns: left, width
LOSS = "$-\\min(\\rho_{i,t}\\,\\tilde{A}_{i,t},$\n$\\mathrm{clip}(\\rho_{i,t})\\,\\tilde{A}_{i,t})$"
BOXES = {
    "policy": Box(*INPUT, 3.86, ("policy", "策略"), r"$\log\pi_\theta(y_{i,t})$", live=True),
    "old": Box(*INPUT, 2.86, ("old policy", "旧策略"), r"$\log\pi_{\mathrm{old}}(y_{i,t})$"),
    "teacher": Box(*INPUT, 1.86, ("self-teacher", "自教师"), r"$\log\pi_\phi(y_{i,t})$"),
    "rewards": Box(*INPUT, 0.6, ("verifier", "验证器"), r"$r_i=1,\ 0$"),
    "gap": Box(*FIRST, 2.36, ("teacher–student gap", "教师—学生间隙"), r"$g_{i,t}=\log(\pi_\phi/\pi_{\mathrm{old}})$", 2),
    "base": Box(*FIRST, 0.6, ("base advantage", "基础优势"), r"$B_i=A_i,\ +\delta,\ -\delta$", 1),
    "ratio": Box(*SECOND, 3.5, ("token ratio", "Token 比率"), r"$\rho_{i,t}=\pi_\theta/\pi_{\mathrm{old}}$", live=True),
    "weight": Box(*SECOND, 2.36, ("weight", "权重"), r"$w_{i,t}=\mathrm{clip}(z_{i,t})$", 3),
    "loss": Box(*LAST, 3.38, ("clipped loss", "裁剪损失"), LOSS, 5, live=True, height=0.9),
    "advantage": Box(*LAST, 0.6, ("token advantage", "Token 优势"), r"$|\tilde{A}_{i,t}|\leq 1.2$", 4, height=1.3),
}
HOW = ("weighted or flipped,\nthen clipped", "加权或翻转，\n再裁剪")  # what the box of the token advantage does
GRADIENT = (("policy", "ratio"), ("ratio", "loss"))
VALUES = (("old", "ratio"), ("old", "gap"), ("teacher", "gap"), ("gap", "weight"), ("rewards", "base"))
# Where weight, gap and base advantage enter the token advantage, and where the sign of B turns off to the weight.
ENTRIES = {"weight": 1.68, "gap": 1.41, "base": 0.93}
TURN = 4.25


def draw_bent(axes: Axes, places: list[tuple[float, float]]) -> None:
    """An arrow with corners."""
    axes.plot(*zip(*places[:-1], strict=True), solid_capstyle="butt", **VALUE_PATH)
    draw_arrow(axes, places[-2], places[-1], {**VALUE_PATH, "shrinkA": 0})


def frame_flow(figure: Figure) -> None:
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, SIZE[0]), ylim=(0, SIZE[1]))
    axes.axis("off")
    for box in BOXES.values():
        draw_box(axes, box)
    x, top = BOXES["advantage"].north
    axes.text(x, top - 0.5, plot_text(*HOW), ha="center", va="center", fontsize=8.5, linespacing=1.2)
    for start, end in GRADIENT:
        draw_arrow(axes, BOXES[start].east, BOXES[end].west, GRADIENT_PATH)
    for start, end in VALUES:
        draw_arrow(axes, BOXES[start].east, BOXES[end].west, VALUE_PATH)
    draw_arrow(axes, BOXES["advantage"].north, BOXES["loss"].south, VALUE_PATH)
    for name in ("weight", "gap"):
        x, y = BOXES[name].south
        draw_bent(axes, [(x, y - 0.02), (x, ENTRIES[name]), (LAST[0], ENTRIES[name])])
    draw_arrow(axes, BOXES["base"].east, (LAST[0], ENTRIES["base"]), VALUE_PATH)
    draw_arrow(axes, (TURN, ENTRIES["base"]), (TURN, BOXES["weight"].bottom), {**VALUE_PATH, "shrinkA": 0})
    handles = [Line2D([], [], **GRADIENT_PATH), Patch(**FROZEN)]
    labels = [plot_text("gradient returns along this path", "梯度沿此路径反传"), plot_text("frozen (stop gradient)", "停止梯度")]
    axes.legend(handles, labels, loc="lower center", ncol=2, bbox_to_anchor=(0.5, 0.0))


def describe_flow() -> Words:
    return Words(
        text(
            "Data flow of CAST. Upper path, which the gradient takes back: token log-probabilities of the policy, "
            "then the token ratio (given), then the clipped loss (TODO 5). All else is frozen: the old policy's log-probabilities "
            "are what the ratio divides by; the self-teacher's minus the old policy's are the teacher–student gap (TODO 2); "
            "the verifier's rewards make the base advantage of each completion (TODO 1); the gap and the sign of the base advantage "
            "make the weight (TODO 3); base advantage, weight and gap make the token advantage (TODO 4), "
            "weighted or flipped, then clipped, which multiplies the ratio in the loss.",
            "CAST 的数据流。上方一路是梯度反传的路径：策略的 Token 对数概率，再到 Token 比率（给定）和裁剪损失（TODO 5）。"
            "其余全部停止梯度：旧策略的对数概率作为比率的分母；自教师的对数概率减旧策略的，得到教师—学生间隙（TODO 2）；"
            "验证器的奖励给出每条回答的基础优势（TODO 1）；间隙与基础优势的符号给出权重（TODO 3）；"
            "基础优势、权重和间隙给出 Token 优势（TODO 4），加权或翻转，再裁剪；它在损失中与比率相乘。",
        ),
        text(
            "Only the thick path carries a gradient: self-teacher and verifier reach the loss through fixed numbers.",
            "只有粗线路径传递梯度：自教师和验证器只通过固定的数影响损失。",
        ),
    )


def cast_flow() -> Picture:
    """The data flow of the lesson, with what is frozen. | 本课的数据流，以及哪些量停止梯度。"""
    return Picture(SIZE, frame_flow, lambda figure, values: describe_flow(), {}, dpi=DPI)
