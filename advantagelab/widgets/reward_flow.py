"""The data flow from reward components to a loss: without a critic, and what a critic adds."""

from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from ..fonts import plot_text
from ..language import text
from .flow import DPI, FROZEN, GRADIENT_PATH, VALUE_PATH, Box, draw_arrow, draw_box
from .panel import Picture, Words

SIZE = (7.6, 3.95)  # all places below are in inches
FIRST, SECOND, THIRD, LAST = (0.06, 1.55), (1.98, 1.5), (3.84, 1.7), (5.94, 1.6)  # columns: left, width
TOP, MIDDLE, BOTTOM = 3.02, 1.95, 0.88

BOXES = {
    "policy": Box(*FIRST, TOP, ("policy", "策略"), r"$\log\pi_\theta(y_{i,t})$", live=True),
    "components": Box(*FIRST, MIDDLE, ("reward components", "奖励分量"), r"$r_{i,k}$, $w_k$"),
    "critic": Box(*FIRST, BOTTOM, ("critic", "价值网络"), r"$V_\psi(s_t)$"),
    "reward": Box(*SECOND, MIDDLE, ("reward", "奖励"), r"$r_i=\sum_k w_k\,r_{i,k}$", 1),
    "steps": Box(*SECOND, BOTTOM, ("reward of each step", "每一步的奖励"), r"$r_{i,t}$"),
    "logps": Box(*THIRD, TOP, ("log-prob. of completion", "回答的对数概率"), r"$\sum_t\log\pi_\theta(y_{i,t})$", 4, live=True),
    "advantage": Box(*THIRD, MIDDLE, ("advantage", "优势"), r"$A_i=r_i-b$"),
    "return": Box(*THIRD, BOTTOM, ("discounted return", "折扣回报"), r"$\sum_l\gamma^l\,r_{i,t+l}$", 2),
    "loss": Box(*LAST, TOP, ("loss", "损失"), r"$-A_i\,\log\pi_\theta(y_i)$", 4, live=True),
    "gae": Box(*LAST, BOTTOM, ("advantage by GAE", "GAE 优势"), r"$\sum_l(\gamma\lambda)^l\,\delta_{t+l}$", 3),
}
GRADIENT = (("policy", "logps"), ("logps", "loss"))
VALUES = (("components", "reward"), ("reward", "advantage"), ("steps", "return"))


def frame_reward_flow(figure: Figure) -> None:
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, SIZE[0]), ylim=(0, SIZE[1]))
    axes.axis("off")
    for box in BOXES.values():
        draw_box(axes, box)
    for start, end in GRADIENT:
        draw_arrow(axes, BOXES[start].east, BOXES[end].west, GRADIENT_PATH)
    for start, end in VALUES:
        draw_arrow(axes, BOXES[start].east, BOXES[end].west, VALUE_PATH)
    draw_arrow(axes, BOXES["reward"].south, BOXES["steps"].north, VALUE_PATH)
    draw_arrow(axes, BOXES["advantage"].east, BOXES["loss"].south, VALUE_PATH, "angle,angleA=0,angleB=90")
    # Both meet below the row and enter GAE together.
    draw_arrow(axes, BOXES["critic"].south, BOXES["gae"].south, VALUE_PATH, "bar,fraction=0.04")
    draw_arrow(axes, BOXES["steps"].south, BOXES["gae"].south, VALUE_PATH, "bar,fraction=0.0585")
    handles = [Line2D([], [], **GRADIENT_PATH), Patch(**FROZEN)]
    labels = [plot_text("gradient returns along this path", "梯度沿此路径反传"), plot_text("frozen (stop gradient)", "停止梯度")]
    axes.legend(handles, labels, loc="lower center", ncol=2, bbox_to_anchor=(0.5, 0.0))


def describe_reward_flow() -> Words:
    return Words(
        text(
            "Data flow of the reward signal. Upper path, which the gradient takes back: log-probabilities of the policy, "
            "summed to the log-probability of the completion, then the loss (TODO 4). All else is frozen. "
            "Middle: the weighted sum of the reward components is the reward of a completion (TODO 1); "
            "minus a baseline it is the advantage, which multiplies the log-probability in the loss. "
            "Below: the same reward, laid on the steps of the completion, gives the discounted return of each step (TODO 2), "
            "and together with the critic's values the advantage of each step by GAE (TODO 3).",
            "奖励信号的数据流。上方一路是梯度反传的路径：策略的对数概率求和，得到回答的对数概率，再到损失（TODO 4）。其余全部停止梯度。"
            "中间：奖励分量的加权和是一条回答的奖励（TODO 1），减去基线就是优势，优势在损失中与对数概率相乘。"
            "下方：同一个奖励放到回答的各步上，得到每一步的折扣回报（TODO 2），再与价值网络的价值一起，由 GAE 给出每一步的优势（TODO 3）。",
        ),
        text(
            "Two ways from reward to advantage: one number for a completion, or, with a critic, one for each of its steps.",
            "从奖励到优势有两条路：整条回答一个数；有了价值网络，就每一步一个数。",
        ),
    )


def reward_flow() -> Picture:
    """The data flow of the lesson, without and with a critic. | 本课的数据流：不用价值网络，以及用价值网络。"""
    return Picture(SIZE, frame_reward_flow, lambda figure, values: describe_reward_flow(), {}, dpi=DPI)
