"""How far back does a reward reach? TD residuals, GAE and returns on a short completion."""

from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from ..fonts import plot_text
from ..language import text
from .panel import Panel, Picture, Words, is_static, question, slider, toggle
from .style import BLACK, BLUE, GRAY, ORANGE, VERMILLION, number

SIZE = (7.4, 3.5)
VALUES = (0.5, 0.6, 0.3, 0.5, 0.8)  # the critic expects a mistake after step 2 to cost much, and the rest to mend it
VALUE_AFTER_CUT = 0.6
STEPS = len(VALUES)
START = {"lam": 0.95, "gamma": 1.0, "reward": 1.0, "terminated": True}

RESIDUAL = {"facecolor": "white", "edgecolor": ORANGE, "hatch": "////"}
ADVANTAGE = {"color": BLUE}
VALUE = {"marker": "o", "markersize": 7, "color": BLACK, "markerfacecolor": "white"}
RETURN = {"marker": "D", "markersize": 6, "color": VERMILLION}
BELOW = {"loc": "upper left", "borderpad": 0, "columnspacing": 1.2, "handletextpad": 0.5}


class Estimates(NamedTuple):
    residuals: np.ndarray  # [T]: r_t + γ V(s_t+1) − V(s_t)
    weights: np.ndarray  # [T, T], row t: what a reward at each step counts in the advantage of step t
    advantages: np.ndarray  # [T]
    returns: np.ndarray  # [T]: advantage + value, what the critic is trained towards


def generalized_advantages(rewards: np.ndarray, values: np.ndarray, next_value: float, gamma: float, lam: float) -> Estimates:
    """rewards, values: [T]; next_value: the value after the last step, 0 if the completion has ended there."""
    rewards, values = np.asarray(rewards, dtype=float), np.asarray(values, dtype=float)
    residuals = rewards + gamma * np.append(values[1:], next_value) - values
    later = np.arange(len(rewards)) - np.arange(len(rewards))[:, None]
    weights = np.where(later >= 0, (gamma * lam) ** np.maximum(later, 0), 0.0)
    advantages = weights @ residuals
    return Estimates(residuals, weights, advantages, advantages + values)


def frame_gae(figure: Figure) -> None:
    reach, bars, dots = (figure.add_axes((left, 0.26, width, 0.6)) for left, width in ((0.075, 0.305), (0.425, 0.3), (0.77, 0.215)))
    steps = range(1, STEPS + 1)
    for axes in (reach, bars, dots):
        axes.set(ylim=(STEPS + 0.5, 0.5), yticks=steps)
        axes.tick_params(axis="y", length=0)
    reach.set(title=plot_text("Weight of each reward", "各步奖励的权重"), xlim=(0.5, STEPS + 0.5), xticks=steps)
    reach.set_xlabel(plot_text("reward of step", "第几步的奖励"))
    reach.set_ylabel(plot_text("advantage of step", "第几步的优势"))
    bars.set(title=plot_text("TD residual and advantage", "TD 残差与优势"), xlim=(-1.45, 1.95), xticks=(-1, 0, 1))
    bars.axvline(0, color=GRAY, linewidth=0.8)
    dots.set(title=plot_text("Value and return", "价值与回报"), xlim=(-0.35, 1.85), xticks=(0, 0.5, 1, 1.5))
    labels = [plot_text("TD residual", "TD 残差"), plot_text("advantage", "优势")]
    bars.legend([Patch(**RESIDUAL), Patch(**ADVANTAGE)], labels, ncol=2, bbox_to_anchor=(-0.02, -0.19), **BELOW)
    handles = [Line2D([], [], linestyle="", **VALUE), Line2D([], [], linestyle="", **RETURN)]
    labels = [plot_text("value", "价值"), plot_text("return", "回报")]
    dots.legend(handles, labels, ncol=2, bbox_to_anchor=(-0.02, -0.19), **BELOW)


def draw_gae(figure: Figure, values: np.ndarray, numbers: Estimates) -> None:
    reach, bars, dots = figure.axes
    extent = (0.5, STEPS + 0.5, STEPS + 0.5, 0.5)
    reach.imshow(numbers.weights, cmap="Blues", vmin=0, vmax=1.7, extent=extent, aspect="auto", zorder=0)
    for row, weight in enumerate(numbers.weights[:, -1], 1):  # only the last reward is not 0
        reach.text(STEPS, row, number(weight), ha="center", va="center_baseline", fontsize=8)
    rows = np.arange(1, STEPS + 1)
    for offset, lengths, bar in ((-0.2, numbers.residuals, RESIDUAL), (0.2, numbers.advantages, ADVANTAGE)):
        bars.barh(rows + offset, lengths, 0.36, **bar)
        for row, length in zip(rows + offset, lengths, strict=True):
            side = 1 if length >= 0 else -1
            place = {"ha": "left" if side > 0 else "right", "va": "center_baseline", "fontsize": 8}
            bars.text(length + 0.06 * side, row, number(length, sign=True), **place)
    dots.hlines(rows, values, numbers.returns, color=GRAY, linewidth=1)
    dots.plot(values, rows, linestyle="", **VALUE)
    dots.plot(numbers.returns, rows, linestyle="", **RETURN)
    for row, reached in zip(rows, numbers.returns, strict=True):
        dots.text(reached, row - 0.2, number(reached), ha="center", va="bottom", color=VERMILLION, fontsize=8)


def describe_gae(gamma: float, lam: float, reward: float, terminated: bool, numbers: Estimates) -> Words:
    def listed(row: np.ndarray) -> str:
        return text(", ", "，").join(number(value) for value in row)

    end = text("the completion ends after step 5", "回答在第 5 步之后终止")
    if not terminated:
        end = text(
            f"the completion is cut off after step 5, value there {VALUE_AFTER_CUT}",
            f"回答在第 5 步之后被截断，那里的价值是 {VALUE_AFTER_CUT}",
        )
    alt = text(
        f"Steps 1 to {STEPS}, γ = {number(gamma)}, λ = {number(lam)}, reward {number(reward)} at step {STEPS} and 0 before; {end}. "
        f"Values: {listed(VALUES)}. TD residuals: {listed(numbers.residuals)}. "
        f"Advantages: {listed(numbers.advantages)}. Returns: {listed(numbers.returns)}. "
        f"Weight of the last reward in the advantages: {listed(numbers.weights[:, -1])}.",
        f"第 1 到 {STEPS} 步，γ = {number(gamma)}，λ = {number(lam)}，第 {STEPS} 步奖励 {number(reward)}，之前为 0；{end}。"
        f"价值：{listed(VALUES)}。TD 残差：{listed(numbers.residuals)}。"
        f"优势：{listed(numbers.advantages)}。回报：{listed(numbers.returns)}。"
        f"最后的奖励在各步优势中的权重：{listed(numbers.weights[:, -1])}。",
    )
    if lam == 0:
        caption = text(
            "λ = 0: the advantage is the TD residual, so the reward at the end reaches step 5 only; before that, the critic alone decides.",
            "λ = 0：优势就是 TD 残差，末尾的奖励只到第 5 步，之前全由价值网络说了算。",
        )
    elif lam == 1:
        caption = text(
            "λ = 1: the values in between cancel, and the advantage is the discounted return minus the step's own value.",
            "λ = 1：中间的价值全部抵消，优势就是折扣回报减去这一步自己的价值。",
        )
    else:
        weight = number(numbers.weights[0, -1])
        caption = text(
            f"The reward at the end counts (γλ)^4 = {weight} in the advantage of step 1: one factor γλ for each step back.",
            f"末尾的奖励在第 1 步的优势里系数是 (γλ)^4 = {weight}：每往回一步，就乘一次 γλ。",
        )
    return Words(alt, caption)


def _draw(figure: Figure, values: dict[str, Any]) -> Words:
    gamma, lam = values["gamma"], values["lam"]
    rewards = np.append(np.zeros(STEPS - 1), values["reward"])
    next_value = 0.0 if values["terminated"] else VALUE_AFTER_CUT
    numbers = generalized_advantages(rewards, VALUES, next_value, gamma, lam)
    draw_gae(figure, np.array(VALUES), numbers)
    return describe_gae(gamma, lam, values["reward"], values["terminated"], numbers)


def gae() -> Picture:
    """GAE on five steps: λ, γ, the last reward, and whether the end is one. | 五步上的 GAE：λ、γ、最后的奖励、是否真的结束。"""
    if is_static():
        return Picture(SIZE, frame_gae, _draw, START)
    ends = [(text("ended", "终止"), True), (text("cut off", "截断"), False)]
    controls = {
        "lam": slider(text("GAE's λ", "GAE 的 λ"), START["lam"], 0, 1, 0.05),
        "gamma": slider(text("Discount γ", "折扣 γ"), START["gamma"], 0.5, 1, 0.05),
        "reward": slider(text("Reward of step 5", "第 5 步的奖励"), START["reward"], 0, 1, 0.25),
        "terminated": toggle(text("After step 5", "第 5 步之后"), ends, START["terminated"]),
    }
    asked = question(
        text(
            "How far back does the reward of step 5 reach, and which setting lets the critic decide alone?",
            "第 5 步的奖励能传回多远？哪种设置让价值网络独自说了算？",
        )
    )
    return Panel(SIZE, frame_gae, _draw, controls, [asked, *controls.values()])
