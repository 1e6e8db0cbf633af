"""What does masking the answer prevent, and what not? A world of two stages, reasoning and answer, trained in exact expectation."""

from math import comb
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ..fonts import plot_text
from ..language import text
from .group_scale import group_advantages
from .panel import Panel, Picture, Words, is_static, question, slider
from .style import BLUE, GRAY, GREEN, VERMILLION, number

SIZE = (7.6, 4.2)
GROUP_SIZE, LEARNING_RATE, STEPS = 4, 0.5, 400
START = {"good": 0.5, "right_if_good": 0.9, "right_if_bad": 0.45}

RULES = ("ground_truth", "majority_vote", "om_grpo")
TRAINS_ANSWERS = np.array([True, True, False])
LINES = {
    "ground_truth": {"color": GREEN, "linestyle": "-", "linewidth": 4},  # below the others, which may cover it
    "majority_vote": {"color": VERMILLION, "linestyle": "--", "linewidth": 2, "zorder": 3},  # seen on top of OM-GRPO's
    "om_grpo": {"color": BLUE, "linestyle": "-", "linewidth": 2},
}
CAP = {"color": GRAY, "linestyle": ":", "linewidth": 1.2}


class Course(NamedTuple):
    """Each [3, STEPS + 1]: one row for each of RULES."""

    right: np.ndarray  # p(right), the share of right answers
    good: np.ndarray  # p(good), the share of good reasoning
    right_if_good: np.ndarray  # p(right | good)
    right_if_bad: np.ndarray  # p(right | bad)


def advantages_by_siblings(rule: str) -> np.ndarray:
    """[2, 4]: advantage of a completion that is right, of one that is wrong, by how many of its three siblings are right."""
    table = np.zeros((2, GROUP_SIZE))
    for siblings in range(GROUP_SIZE):
        for row, says_right in enumerate((True, False)):
            # The completion itself comes first.
            right = np.array([says_right, *(place < siblings for place in range(GROUP_SIZE - 1))])
            others = 2 * right.sum() - GROUP_SIZE
            if rule == "ground_truth":
                rewards = right
            elif others == 0:
                rewards = np.zeros(GROUP_SIZE)  # a tie: whoever came first wins, each as often, and the two cases cancel
            else:
                rewards = right == (others > 0)
            table[row, siblings] = group_advantages(rewards.astype(float), "ddof_0")[0]
    return table


# With two answers, soft consensus rewards give the advantages of the majority vote.
ADVANTAGES = np.stack([advantages_by_siblings(rule) for rule in ("ground_truth", "majority_vote", "majority_vote")])
COUNTS = np.arange(GROUP_SIZE)
WAYS = np.array([comb(GROUP_SIZE - 1, count) for count in COUNTS])


def expected_advantages(right: np.ndarray) -> np.ndarray:
    """[3, 2]: expected advantage of a completion that is right, of one that is wrong, if each sibling is right with chance right [3]."""
    chances = WAYS * right[:, None] ** COUNTS * (1 - right[:, None]) ** COUNTS[::-1]
    return (ADVANTAGES * chances[:, None, :]).sum(axis=-1)


def logit(chance: float) -> float:
    return float(np.log(chance / (1 - chance)))


def train(good: float, right_if_good: float, right_if_bad: float) -> Course:
    """All three rules from the same start, each logit moved by the expected gradient of one group of four."""
    # The difference of the two logits of each choice: [reasoning, answer after good, answer after bad] × rules.
    gaps = np.repeat([[logit(good)], [logit(right_if_good)], [logit(right_if_bad)]], len(RULES), axis=1)
    rows = []
    for _ in range(STEPS + 1):
        p_good, after_good, after_bad = chances = 1 / (1 + np.exp(-gaps))
        right = p_good * after_good + (1 - p_good) * after_bad
        rows.append((right, *chances))
        # An exact tie stays one: no rounding decides it.
        of_right, of_wrong = expected_advantages(right.round(12)).T
        reasoning = p_good * (after_good * of_right + (1 - after_good) * of_wrong)
        sharpening = (of_right - of_wrong) * TRAINS_ANSWERS
        answers = p_good * after_good * (1 - after_good) * sharpening, (1 - p_good) * after_bad * (1 - after_bad) * sharpening
        # Twice, because what raises one logit of a choice lowers the other.
        gaps = gaps + 2 * LEARNING_RATE * np.stack([reasoning, *answers])
    return Course(*np.moveaxis(np.array(rows), 0, -1))


# --- the drawing: two charts, and below them a row of numbers for each rule ---

COLUMNS = (0.41, 0.56, 0.71, 0.86)  # of the four quantities of Course, in parts of the width
FIRST_ROW, ROW = 0.135, 0.055


def named(rule: str, words=text) -> str:
    return {
        "ground_truth": words("ground truth", "用真实答案奖励"),
        "majority_vote": words("majority vote", "多数投票"),
        "om_grpo": words("OM-GRPO", "OM-GRPO"),
    }[rule]


def frame_stages(figure: Figure) -> None:
    ends = plot_text("p(right|good)", "p(答对|好)"), plot_text("p(right|bad)", "p(答对|差)")
    right, good = figure.add_axes((0.065, 0.385, 0.42, 0.54)), figure.add_axes((0.555, 0.385, 0.42, 0.54))
    right.set(title=plot_text("p(right): share of right answers", "p(答对)：答对的比例"))
    good.set(title=plot_text("p(good): share of good reasoning", "p(好)：好推理的比例"))
    for axes in (right, good):
        axes.set(xlim=(0, STEPS), ylim=(-0.02, 1.02), xticks=range(0, STEPS + 1, 100), yticks=(0, 0.25, 0.5, 0.75, 1))
        axes.set_xlabel(plot_text("step", "步数"))
    heads = plot_text("p(right)", "p(答对)"), plot_text("p(good)", "p(好)"), *ends
    for column, head in zip(COLUMNS, heads, strict=True):
        figure.text(column, FIRST_ROW + ROW, head, va="center")
    rows = [(CAP, plot_text("start of p(right|good), p(right|bad)", "p(答对|好)、p(答对|差) 的初值"))]
    rows += [(LINES[rule], named(rule, plot_text)) for rule in RULES]
    for row, (line, label) in enumerate(rows, -1):
        height = FIRST_ROW - row * ROW
        figure.add_artist(Line2D([0.02, 0.07], [height, height], **line))
        figure.text(0.085, height, label, va="center")


def draw_stages(figure: Figure, course: Course) -> None:
    right, good = figure.axes
    for cap in (course.right_if_good[0, 0], course.right_if_bad[0, 0]):
        right.axhline(cap, **CAP)
    for row, rule in enumerate(RULES):
        right.plot(course.right[row], **LINES[rule])
        good.plot(course.good[row], **LINES[rule])
        for column, quantity in zip(COLUMNS, course, strict=True):
            figure.text(column, FIRST_ROW - row * ROW, moved(quantity[row]), va="center")


def moved(values: np.ndarray) -> str:
    return f"{number(values[0], 3)} → {number(values[-1], 4)}"


def describe_stages(course: Course) -> Words:
    rows = text("; ", "；").join(
        text(
            f"{named(rule)}: p(right) {moved(course.right[row])}, p(good) {moved(course.good[row])}, "
            f"p(right|good) {moved(course.right_if_good[row])}, p(right|bad) {moved(course.right_if_bad[row])}",
            f"{named(rule)}：p(答对) {moved(course.right[row])}，p(好) {moved(course.good[row])}，"
            f"p(答对|好) {moved(course.right_if_good[row])}，p(答对|差) {moved(course.right_if_bad[row])}",
        )
        for row, rule in enumerate(RULES)
    )
    alt = text(
        f"Probabilities from step 0 to step {STEPS} along the expected gradient, in groups of {GROUP_SIZE}. {rows}.",
        f"每组 {GROUP_SIZE} 条回答，直接按期望梯度训练，从第 0 步到第 {STEPS} 步的概率。{rows}。",
    )
    start = round(course.right[0, 0], 12)
    voted, masked = number(course.right[1, -1], 4), number(course.right[2, -1], 4)
    low, high = (number(cap) for cap in sorted((course.right_if_good[2, 0], course.right_if_bad[2, 0])))
    if start == 0.5:
        return Words(alt, text(
            "Both answers are equally common: the votes cancel in expectation, and only the ground truth moves anything.",
            "两个答案一样常见：投票的作用在期望上抵消，只有用真实答案奖励才能推动训练。",
        ))
    if low == high:
        return Words(alt, text(
            f"Good and bad reasoning are right equally often. With the answer masked nothing can move p(right): it stays {masked}, "
            f"while the majority vote takes it to {voted}.",
            f"好、差两种推理答对的概率相同。答案掩住后，没有什么能推动 p(答对)：它停在 {masked}；多数投票则把它带到 {voted}。",
        ))
    if start > 0.5:
        return Words(alt, text(
            f"The consensus is right. The majority vote sharpens the answers themselves and ends at {voted}; "
            f"OM-GRPO only changes the reasoning and ends at {masked}, held between {low} and {high}.",
            f"共识是对的。多数投票让答案本身也越来越集中，终点是 {voted}；"
            f"OM-GRPO 只改变推理，终点是 {masked}，出不了 {low} 与 {high} 之间。",
        ))
    return Words(alt, text(
        f"The consensus is wrong. The majority vote ends at {voted}. The mask does not repair that: OM-GRPO drifts to the reasoning "
        f"that supports the wrong answer and ends at {masked}, held between {low} and {high}.",
        f"共识是错的。多数投票的终点是 {voted}。掩码修不好它：OM-GRPO 也偏向支持错误答案的推理，终点是 {masked}，"
        f"出不了 {low} 与 {high} 之间。",
    ))


def _draw(figure: Figure, values: dict[str, Any]) -> Words:
    course = train(**{name: round(value, 9) for name, value in values.items()})
    draw_stages(figure, course)
    return describe_stages(course)


def two_stages() -> Picture:
    """Reasoning and answer under three training rules. | 三种训练规则下的推理与答案。"""
    if is_static():
        return Picture(SIZE, frame_stages, _draw, START)
    controls = {
        "good": slider(text("p(good), good reasoning", "p(好)，好推理的比例"), START["good"], 0.05, 0.95, 0.05),
        "right_if_good": slider(text("p(right|good)", "p(答对|好)，好推理后答对"), START["right_if_good"], 0.05, 0.95, 0.05),
        "right_if_bad": slider(text("p(right|bad)", "p(答对|差)，差推理后答对"), START["right_if_bad"], 0.05, 0.95, 0.05),
    }
    asked = question(
        text(
            "What can OM-GRPO not exceed?",
            "OM-GRPO 超不过什么？",
        )
    )
    return Panel(SIZE, frame_stages, _draw, controls, [asked, *controls.values()])
