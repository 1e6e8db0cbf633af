"""The data flow of RLOO: which numbers make the loss, and along which of them the gradient returns."""

from typing import Any, NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import FancyBboxPatch, Patch

from ..fonts import plot_text
from ..language import text
from .panel import Picture, Words
from .style import BLACK, BLUE, GRAY, LIGHT_GRAY

SIZE = (7.6, 5.0)  # all places below are in inches
DPI = 150

LIVE = {"facecolor": "#dcecf7", "edgecolor": BLUE, "linewidth": 2}
FROZEN = {"facecolor": LIGHT_GRAY, "edgecolor": GRAY, "linewidth": 1.2, "linestyle": "--"}
GRADIENT_PATH = {"color": BLUE, "linewidth": 3}
ROUND = "round,pad=0,rounding_size=0.08"
VALUE_PATH = {"color": GRAY, "linewidth": 1.2}


class Box(NamedTuple):
    left: float
    width: float
    bottom: float
    title: tuple[str, str]
    formula: str
    todo: int = 0  # 0 = given
    live: bool = False  # the gradient passes
    height: float = 0.66

    @property
    def shape(self) -> tuple[tuple[float, float], float, float]:
        return (self.left, self.bottom), self.width, self.height

    @property
    def east(self) -> tuple[float, float]:
        return self.left + self.width, self.bottom + self.height / 2

    @property
    def west(self) -> tuple[float, float]:
        return self.left, self.bottom + self.height / 2

    @property
    def north(self) -> tuple[float, float]:
        return self.left + self.width / 2, self.bottom + self.height

    @property
    def south(self) -> tuple[float, float]:
        return self.left + self.width / 2, self.bottom


ROWS = (4.06, 2.99, 1.92, 0.85)
INPUT, SUM, BASELINE, LAST = (0.06, 1.2), (1.9, 1.76), (3.9, 1.78), (5.93, 1.6)  # columns: left, width
LOSS = "$L_i=-\\min(\\rho_iA_i,$\n$\\mathrm{clip}(\\rho_i)\\,A_i)$"
BOXES = {
    "policy": Box(*INPUT, ROWS[0], ("policy", "策略"), r"$\log\pi_\theta(y_{i,t})$", live=True),
    "old": Box(*INPUT, ROWS[1], ("old policy", "旧策略"), r"$\log\pi_{\mathrm{old}}(y_{i,t})$"),
    "reference": Box(*INPUT, ROWS[2], ("reference policy", "参考策略"), r"$\log\pi_{\mathrm{ref}}(y_{i,t})$"),
    "rewards": Box(*INPUT, ROWS[3], ("rewards", "奖励"), r"$r_i$"),
    "new_logps": Box(*SUM, ROWS[0], ("sequence log-prob.", "序列对数概率"), r"$\sum_t m_{i,t}\,\log\pi_\theta$", 1, live=True),
    "old_logps": Box(*SUM, ROWS[1], ("sequence log-prob.", "序列对数概率"), r"$\sum_t m_{i,t}\,\log\pi_{\mathrm{old}}$", 1),
    "kl": Box(*SUM, ROWS[2], ("KL estimator k1", "KL 估计量 k1"), r"$k_i=\sum_t m_{i,t}\,\log(\pi_{\mathrm{old}}/\pi_{\mathrm{ref}})$", 2),
    "shaped": Box(*SUM, ROWS[3], ("shaped reward", "塑形奖励"), r"$R_i=r_i-\beta k_i$", 2),
    "ratio": Box(*BASELINE, 3.52, ("sequence ratio", "序列比率"), r"$\rho_i=\pi_\theta(y_i)/\pi_{\mathrm{old}}(y_i)$", 4, live=True),
    "baseline": Box(*BASELINE, ROWS[3], ("leave-one-out baseline", "留一基线"), r"$b_{-i}=\mathrm{mean}_{j\neq i}\,R_j$", 3),
    "loss": Box(*LAST, 3.4, ("clipped loss", "裁剪损失"), LOSS, 4, live=True, height=0.9),
    "advantage": Box(*LAST, ROWS[3], ("advantage", "优势"), r"$A_i=R_i-b_{-i}$", 3),
}
GRADIENT = (("policy", "new_logps"), ("new_logps", "ratio"), ("ratio", "loss"))
VALUES = (
    ("old", "old_logps"),
    ("old_logps", "ratio"),
    ("old", "kl"),
    ("reference", "kl"),
    ("rewards", "shaped"),
    ("shaped", "baseline"),
    ("baseline", "advantage"),
)
MASK = Box(1.44, 0.24, ROWS[2], ("completion mask", "回答掩码"), "$m_{i,t}$", height=ROWS[0] - ROWS[2] + 0.66)


def draw_box(axes: Axes, box: Box) -> None:
    axes.add_patch(FancyBboxPatch(*box.shape, boxstyle=ROUND, **(LIVE if box.live else FROZEN)))
    x, top = box.north
    axes.text(x, top - 0.19, plot_text(*box.title), ha="center", va="center")
    axes.text(x, (box.bottom + top - 0.32) / 2 + 0.02, box.formula, ha="center", va="center", linespacing=1.3)
    if box.todo:
        axes.text(box.left + 0.04, top + 0.04, f"TODO {box.todo}", ha="left", va="bottom", fontsize=9, color=GRAY)


def draw_arrow(axes: Axes, start: tuple[float, float], end: tuple[float, float], style: dict[str, Any], through: str = "arc3") -> None:
    arrow = {"arrowstyle": "-|>", "mutation_scale": 14, "shrinkA": 2, "shrinkB": 2, "connectionstyle": through, **style}
    axes.annotate("", end, start, arrowprops=arrow)


def frame_flow(figure: Figure) -> None:
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, SIZE[0]), ylim=(0, SIZE[1]))
    axes.axis("off")
    for box in BOXES.values():
        draw_box(axes, box)
    for start, end in GRADIENT:
        draw_arrow(axes, BOXES[start].east, BOXES[end].west, GRADIENT_PATH)
    for start, end in VALUES:
        draw_arrow(axes, BOXES[start].east, BOXES[end].west, VALUE_PATH)
    draw_arrow(axes, BOXES["kl"].south, BOXES["shaped"].north, VALUE_PATH)
    draw_arrow(axes, BOXES["advantage"].north, BOXES["loss"].south, VALUE_PATH)
    draw_arrow(axes, BOXES["shaped"].south, BOXES["advantage"].south, VALUE_PATH, "bar,fraction=0.06")
    # The mask stands across the arrows of all token scores.
    strip = FancyBboxPatch(*MASK.shape, boxstyle=ROUND, facecolor="white", edgecolor=BLACK, zorder=3)
    axes.add_patch(strip)
    words = f"{plot_text(*MASK.title)} {MASK.formula}"
    axes.text(MASK.south[0], MASK.west[1], words, rotation=90, ha="center", va="center", zorder=4)
    handles = [Line2D([], [], **GRADIENT_PATH), Patch(**FROZEN)]
    labels = [plot_text("gradient returns along this path", "梯度沿此路径反传"), plot_text("frozen (stop gradient)", "停止梯度")]
    axes.legend(handles, labels, loc="lower center", ncol=2, bbox_to_anchor=(0.5, 0.0))


def describe_flow() -> Words:
    return Words(
        text(
            "Data flow of RLOO. Upper path, which the gradient takes back: token log-probabilities of the policy, "
            "summed over the completion mask to the sequence log-probability (TODO 1), then the sequence ratio, "
            "then the clipped loss (both TODO 4). All else is frozen: the old policy's log-probabilities, summed the same way, "
            "are what the ratio divides by; old minus reference, summed over the mask, is the KL estimator k1, "
            "and reward minus beta times k1 is the shaped reward (TODO 2); the mean shaped reward of the siblings is "
            "the leave-one-out baseline, and shaped reward minus baseline is the advantage (TODO 3), "
            "which multiplies the ratio in the loss.",
            "RLOO 的数据流。上方一路是梯度反传的路径：策略的 Token 对数概率按回答掩码求和得到序列对数概率（TODO 1），"
            "再得到序列比率和裁剪损失（均为 TODO 4）。其余全部停止梯度：旧策略的对数概率同样求和，作为比率的分母；"
            "旧策略减参考策略，按掩码求和得到 KL 估计量 k1，奖励减 β 乘 k1 得到塑形奖励（TODO 2）；"
            "同组其他回答塑形奖励的均值是留一基线，塑形奖励减基线得到优势（TODO 3），优势在损失中与比率相乘。",
        ),
        text(
            "Only the thick path carries a gradient: everything that makes the advantage is a fixed number.",
            "只有粗线路径传递梯度：构成优势的一切都是固定的数。",
        ),
    )


def rloo_flow() -> Picture:
    """The data flow of the lesson, with what is frozen. | 本课的数据流，以及哪些量停止梯度。"""
    return Picture(SIZE, frame_flow, lambda figure, values: describe_flow(), {}, dpi=DPI)
