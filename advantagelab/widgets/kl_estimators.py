"""Right on average in value, and in gradient? k1, k2 and k3 over three tokens, everything enumerated."""

from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ..fonts import plot_text
from ..language import text
from .panel import Panel, Picture, Words, dropdown, is_static, question, slider
from .style import BLACK, BLUE, GRAY, ORANGE, VERMILLION, number

SIZE = (7.4, 4.1)
TOKENS = "abc"
ESTIMATORS = ("k1", "k2", "k3")
# Name → (policy, reference policy).
POLICIES = {
    "near": ((0.5, 0.3, 0.2), (0.4, 0.4, 0.2)),
    "far": ((0.7, 0.2, 0.1), (0.2, 0.3, 0.5)),
}
PLACEMENTS = ("loss", "loss_times_ratio", "reward")
START = {"policies": "far", "toward": 0.0, "placement": "loss"}

MARKS = {
    "k1": {"color": VERMILLION, "marker": "s"},
    "k2": {"color": ORANGE, "marker": "^"},
    "k3": {"color": BLUE, "marker": "o"},
}
NAMES_AT = {"k1": (-1.0, -1.45), "k2": (-1.38, 0.25), "k3": (-1.15, 1.35)}  # beside their curves
COLUMNS = (0.15, 0.3, 0.45)  # of the table below them
LINES = {"k1": ":", "k2": "--", "k3": "-"}
BARS = {
    "k1": {"facecolor": "white", "edgecolor": VERMILLION, "hatch": "...."},
    "k2": {"facecolor": "white", "edgecolor": ORANGE, "hatch": "////"},
    "k3": {"facecolor": BLUE, "edgecolor": BLUE},
}
POLICY_FIRST = {"color": BLACK, "marker": "|", "markersize": 11, "markeredgewidth": 2.5}
REFERENCE_FIRST = {"color": BLACK, "marker": "D", "markersize": 6, "markerfacecolor": "white"}
POLICY_FIRST_KL, REFERENCE_FIRST_KL = r"\mathrm{KL}(\pi_\theta\Vert\pi_{\mathrm{ref}})", r"\mathrm{KL}(\pi_{\mathrm{ref}}\Vert\pi_\theta)"
LOG_RATIOS = np.linspace(-1.7, 1.4, 200)


class Estimate(NamedTuple):
    """One estimator of KL(π‖π_ref), its token sampled from π."""

    values: np.ndarray  # [V], of each token
    expectation: float
    bias: float
    variance: float
    gradient: np.ndarray  # [V], expected gradient of the penalty with respect to the logits


def estimators(log_ratios: np.ndarray) -> dict[str, np.ndarray]:
    """log_ratios: log π − log π_ref, any shape."""
    return {"k1": log_ratios, "k2": log_ratios**2 / 2, "k3": np.expm1(-log_ratios) + log_ratios}


def kl(policy: np.ndarray, other: np.ndarray) -> float:
    return float(policy @ np.log(policy / other))


def kl_gradients(policy: np.ndarray, reference: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of KL(π‖π_ref) and of KL(π_ref‖π), with respect to the logits of π."""
    return policy * (np.log(policy / reference) - kl(policy, reference)), policy - reference


def estimate(policy: np.ndarray, reference: np.ndarray, name: str, placement: str) -> Estimate:
    log_ratios = np.log(policy / reference)
    values = estimators(log_ratios)[name]
    slopes = {"k1": np.ones(len(policy)), "k2": log_ratios, "k3": -np.expm1(-log_ratios)}[name]  # derivative by log π of the token
    # Weight of ∇log π of the token: what is in the loss is differentiated, what is in the reward only weighs the token.
    weights = {"loss": slopes, "loss_times_ratio": values + slopes, "reward": values}[placement]
    scores = np.eye(len(policy)) - policy  # ∇log π of each token
    expectation = float(policy @ values)
    variance = float(policy @ (values - expectation) ** 2)
    return Estimate(values, expectation, expectation - kl(policy, reference), variance, (policy * weights) @ scores)


def moved_policy(policies: str, toward: float) -> tuple[np.ndarray, np.ndarray]:
    policy, reference = (np.array(probabilities) for probabilities in POLICIES[policies])
    return (1 - toward) * policy + toward * reference, reference


def whose_gradient(gradient: np.ndarray, policy: np.ndarray, reference: np.ndarray) -> str:
    """"zero", "policy_first" (KL(π‖π_ref)), "reference_first" (KL(π_ref‖π)) or "other"."""
    policy_first, reference_first = kl_gradients(policy, reference)
    for name, candidate in (("zero", 0 * gradient), ("policy_first", policy_first), ("reference_first", reference_first)):
        if np.allclose(gradient, candidate, rtol=0, atol=1e-12):
            return name
    return "other"


def frame_kl(figure: Figure) -> None:
    left, right = figure.add_axes((0.055, 0.42, 0.4, 0.5)), figure.add_axes((0.525, 0.21, 0.465, 0.71))
    left.set(title=plot_text("Value on each token", "每个 Token 上的值"), xlim=(-1.7, 1.4), ylim=(-1.8, 2.7))
    left.set(xticks=(-1, 0, 1), yticks=(-1, 0, 1, 2))
    left.axhline(0, color=GRAY, linewidth=0.8)
    left.set_xlabel(r"$d=\log\pi_\theta-\log\pi_{\mathrm{ref}}$", labelpad=1)
    for name, values in estimators(LOG_RATIOS).items():
        left.plot(LOG_RATIOS, values, color=MARKS[name]["color"], linestyle=LINES[name], linewidth=1.5)
        left.text(*NAMES_AT[name], name)
        figure.text(0.02, table_line(name), name, va="bottom")
    for column, label in zip(COLUMNS, (("expectation", "期望"), ("bias", "偏差"), ("variance", "方差")), strict=True):
        figure.text(column, 0.235, plot_text(*label), ha="right", va="bottom", color=GRAY)
    right.set(title=plot_text("Expected gradient by logit", "对每个 logit 的期望梯度"), xlim=(-0.62, 0.78), ylim=(10.6, -0.9))
    right.axvline(0, color=GRAY, linewidth=0.8)
    right.set(xticks=(-0.5, -0.25, 0, 0.25, 0.5), xticklabels=("−0.5", "−0.25", "0", "0.25", "0.5"))
    right.set_yticks([row(name, token) for name in ESTIMATORS for token in range(3)], list(TOKENS) * 3)
    right.tick_params(axis="y", length=0)
    marks = [Line2D([], [], linestyle="", **POLICY_FIRST), Line2D([], [], linestyle="", **REFERENCE_FIRST)]
    labels = [f"$\\nabla {name}$" for name in (POLICY_FIRST_KL, REFERENCE_FIRST_KL)]
    figure.legend(marks, labels, loc="lower right", ncol=2, columnspacing=1.5, bbox_to_anchor=(1, 0))


def table_line(name: str) -> float:
    return 0.175 - 0.06 * ESTIMATORS.index(name)


def row(name: str, token: int) -> float:
    return ESTIMATORS.index(name) * 3.7 + token


def draw_kl(figure: Figure, policy: np.ndarray, reference: np.ndarray, estimates: dict[str, Estimate]) -> None:
    left, right = figure.axes
    policy_first, reference_first = kl_gradients(policy, reference)
    for name, now in estimates.items():
        left.plot(np.log(policy / reference), now.values, linestyle="", markersize=7, markeredgecolor="black", **MARKS[name])
        rows = np.array([row(name, token) for token in range(3)])
        right.barh(rows, now.gradient, 0.8, **BARS[name])
        right.plot(policy_first, rows, linestyle="", zorder=3, **POLICY_FIRST)
        right.plot(reference_first, rows, linestyle="", zorder=3, **REFERENCE_FIRST)
        right.text(0.77, rows[1], f"{name}\n{verdict(now.gradient, policy, reference)}", ha="right", va="center", linespacing=1.4)
    for name, now in estimates.items():
        for column, value in zip(COLUMNS, (now.expectation, now.bias, now.variance), strict=True):
            figure.text(column, table_line(name), number(value, 4), ha="right", va="bottom")


def verdict(gradient: np.ndarray, policy: np.ndarray, reference: np.ndarray) -> str:
    return {
        "zero": "$=0$",
        "policy_first": f"$=\\nabla {POLICY_FIRST_KL}$",
        "reference_first": f"$=\\nabla {REFERENCE_FIRST_KL}$",
        "other": plot_text("neither", "都不是"),
    }[whose_gradient(gradient, policy, reference)]


def describe_kl(policy: np.ndarray, reference: np.ndarray, placement: str, estimates: dict[str, Estimate]) -> Words:
    def listed(values: np.ndarray, digits: int) -> str:
        return text(", ", "，").join(number(value, digits) for value in values)

    gradients = {name: owner(whose_gradient(now.gradient, policy, reference)) for name, now in estimates.items()}
    each = text("; ", "；").join(
        text(
            f"{name}: expectation {number(now.expectation, 4)}, bias {number(now.bias, 4)}, variance {number(now.variance, 4)}, "
            f"expected gradient ({listed(now.gradient, 4)}), {gradients[name]}",
            f"{name}：期望 {number(now.expectation, 4)}，偏差 {number(now.bias, 4)}，方差 {number(now.variance, 4)}，"
            f"期望梯度（{listed(now.gradient, 4)}），{gradients[name]}",
        )
        for name, now in estimates.items()
    )
    policy_first, reference_first = kl_gradients(policy, reference)
    alt = text(
        f"Tokens a, b, c. Policy: {listed(policy, 3)}; reference policy: {listed(reference, 3)}; "
        f"KL(policy‖reference) = {number(kl(policy, reference), 4)}. Estimators {named(placement)}. {each}. "
        f"Gradient of KL(policy‖reference): ({listed(policy_first, 4)}); of KL(reference‖policy): ({listed(reference_first, 4)}).",
        f"Token a、b、c。策略：{listed(policy, 3)}；参考策略：{listed(reference, 3)}；"
        f"KL(策略‖参考策略) = {number(kl(policy, reference), 4)}。估计量{named(placement)}。{each}。"
        f"KL(策略‖参考策略) 的梯度：（{listed(policy_first, 4)}）；KL(参考策略‖策略) 的梯度：（{listed(reference_first, 4)}）。",
    )
    if np.allclose(policy, reference):
        return Words(alt, text(
            "The policy is the reference policy: every value and every gradient is 0.",
            "策略就是参考策略：所有的值和梯度都是 0。",
        ))
    found = text("; ", "；").join(text(f"{name}: {whose}", f"{name}：{whose}") for name, whose in gradients.items())
    return Words(alt, text(
        f"In value, k1 and k3 are right on average. Expected gradient, {named(placement)}: {found}.",
        f"就值而言，k1 和 k3 平均下来是对的。{named(placement)}，期望梯度：{found}。",
    ))


def owner(whose: str) -> str:
    return {
        "zero": text("zero", "恒为 0"),
        "policy_first": text("that of KL(policy‖reference)", "属于 KL(策略‖参考策略)"),
        "reference_first": text("that of KL(reference‖policy)", "属于 KL(参考策略‖策略)"),
        "other": text("that of neither KL", "不属于任何一个 KL"),
    }[whose]


def named(placement: str) -> str:
    return {
        "loss": text("in the loss", "放进损失"),
        "loss_times_ratio": text("in the loss, times the ratio", "乘以比率，放进损失"),
        "reward": text("in the reward, frozen", "放进奖励，冻结"),
    }[placement]


def _draw(figure: Figure, values: dict[str, Any]) -> Words:
    policy, reference = moved_policy(values["policies"], values["toward"])
    estimates = {name: estimate(policy, reference, name, values["placement"]) for name in ESTIMATORS}
    draw_kl(figure, policy, reference, estimates)
    return describe_kl(policy, reference, values["placement"], estimates)


def kl_estimators() -> Picture:
    """Three KL estimators by value and by gradient, enumerated exactly. | 精确枚举三种 KL 估计量的值与梯度。"""
    if is_static():
        return Picture(SIZE, frame_kl, _draw, START)
    policies = [
        (text("far: (0.7, 0.2, 0.1) and (0.2, 0.3, 0.5)", "相距远：(0.7, 0.2, 0.1) 与 (0.2, 0.3, 0.5)"), "far"),
        (text("near: (0.5, 0.3, 0.2) and (0.4, 0.4, 0.2)", "相距近：(0.5, 0.3, 0.2) 与 (0.4, 0.4, 0.2)"), "near"),
    ]
    placements = [(named(placement), placement) for placement in PLACEMENTS]
    controls = {
        "policies": dropdown(text("Policy and reference", "策略与参考策略"), policies, START["policies"]),
        "toward": slider(text("Move toward reference", "策略靠近参考策略"), START["toward"], 0, 1, 0.05),
        "placement": dropdown(text("The estimator stands", "估计量的位置"), placements, START["placement"]),
    }
    asked = question(
        text(
            "Which estimator is right on average in value? Which one has the gradient of KL(policy‖reference)?",
            "就值而言，哪个估计量平均下来是对的？哪个的梯度属于 KL(策略‖参考策略)？",
        )
    )
    return Panel(SIZE, frame_kl, _draw, controls, [asked, *controls.values()])
