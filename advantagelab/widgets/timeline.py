"""What is frozen when? A rollout through sampling, scoring and its inner updates, played with a policy of three probabilities."""

from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle

from ..fonts import plot_text
from ..language import text
from .panel import Panel, Picture, Words, is_static, question, whole_slider
from .style import BLACK, BLUE, GRAY, LIGHT_GRAY, PALE_GRAY, PAPER, VERMILLION, number

SIZE = (7.6, 4.5)
MOMENTS = 12
MOST_UPDATES = 4
START = {"inner_updates": 2, "moment": 4}

# The prompt has three possible completions of one token each; the first is right.
REWARDS = np.array([1.0, 0.0, 0.0])
# Where the sampler's random numbers fall, one pair for each rollout: fixed, so that settings can be compared.
DRAWS = ((0.1, 0.5), (0.2, 0.95), (0.3, 0.85), (0.25, 0.9))
LEARNING_RATE = 1.0

SAMPLED = {"facecolor": "#dcecf7", "edgecolor": BLUE, "linewidth": 1.2}
SCORED = {"facecolor": "#8fc3e6", "edgecolor": BLUE, "hatch": "..", "linewidth": 1.2}
PLANNED = {"facecolor": "none", "edgecolor": PALE_GRAY, "linewidth": 0.8, "linestyle": ":"}
STALE = {"facecolor": LIGHT_GRAY, "edgecolor": GRAY, "hatch": "////", "linewidth": 0.8}
NOW = {"facecolor": "#fff3c4", "edgecolor": "none"}
RATIO_LINES = (
    {"color": BLUE, "marker": "o", "linestyle": "-", "linewidth": 1.5, "markersize": 7},
    {"color": VERMILLION, "marker": "s", "linestyle": "--", "linewidth": 1.5, "markersize": 4.5},  # seen on top of the other
)
PHASES = {"sample": ("sample", "采样"), "score": ("score", "打分"), "update": ("update", "更新")}


class Record(NamedTuple):
    old_policy: np.ndarray  # [3], what sampled it; the record of round n is of version n
    completions: np.ndarray  # [2] int
    advantages: np.ndarray  # [2], reward minus the mean of the two


class Moment(NamedTuple):
    version: int  # that this round samples with, and so the record in use; counted from 0
    phase: str  # "sample", "score" or "update"
    updates: int  # inner updates since the sampling
    policy: np.ndarray  # [3] probabilities at this moment, before its update
    ratios: np.ndarray  # [2], policy over old policy
    loss: float
    gradient: np.ndarray  # [3], of the loss with respect to the logits


class Play(NamedTuple):
    moments: list[Moment]
    records: list[Record]


def softmax(logits: np.ndarray) -> np.ndarray:
    powers = np.exp(logits - logits.max())
    return powers / powers.sum()


def play(inner_updates: int) -> Play:
    """The first moments of a training run that samples, scores, and makes the given number of updates in each round."""
    logits = np.zeros(len(REWARDS))
    moments, records = [], []
    while len(moments) < MOMENTS:
        version, old_policy = len(records), softmax(logits)
        completions = np.searchsorted(old_policy.cumsum(), DRAWS[version])
        rewards = REWARDS[completions]
        advantages = rewards - rewards.mean()
        records.append(Record(old_policy, completions, advantages))
        updates = 0
        for phase in ["sample", "score", *["update"] * inner_updates][: MOMENTS - len(moments)]:
            policy = softmax(logits)
            ratios = policy[completions] / old_policy[completions]
            loss = -(ratios * advantages).mean()
            gradient = -((ratios * advantages)[:, None] * (np.eye(len(logits))[completions] - policy)).mean(axis=0)
            moments.append(Moment(version, phase, updates, policy, ratios, loss, gradient))
            if phase == "update":
                logits = logits - LEARNING_RATE * gradient
                updates += 1
    return Play(moments, records)


def true_ratios(record: Record, policy: np.ndarray) -> np.ndarray:
    """How much likelier a policy makes the completions of a record than the old policy that sampled them."""
    return policy[record.completions] / record.old_policy[record.completions]


# --- the drawing: one column for each moment ---

TOP_ROW, POLICY_ROW, RECORD_ROWS = 0, 1, 2  # the records' rows follow one another
RECORDS = len(DRAWS)
HEIGHT = 0.78  # of a bar; the rows are 1 apart


def frame_timeline(figure: Figure) -> None:
    lanes, ratios = figure.add_axes((0.13, 0.485, 0.86, 0.505)), figure.add_axes((0.13, 0.185, 0.86, 0.235))
    lanes.set(xlim=(0.5, MOMENTS + 0.5), ylim=(RECORD_ROWS + RECORDS - 0.4, -0.5), xticks=[])
    lanes.set_yticks([POLICY_ROW], [plot_text("policy", "策略")])
    lanes.tick_params(axis="y", length=0)
    ratios.set(xlim=(0.5, MOMENTS + 0.5), ylim=(-0.25, 2.35), yticks=(0, 0.5, 1, 1.5, 2), xticks=range(1, MOMENTS + 1))
    ratios.set_ylabel(plot_text("ratio", "比率"))
    ratios.axhline(1, color=GRAY, linestyle=":", linewidth=1)
    lanes.spines[["left", "bottom"]].set_visible(False)
    bars = [Patch(**SAMPLED), Patch(**SCORED), Patch(**STALE), *(Line2D([], [], **line) for line in RATIO_LINES)]
    labels = [
        plot_text("frozen: tokens, old log-prob.", "冻结：Token、旧对数概率"),
        plot_text("also frozen: rewards, advantages", "另有奖励、优势也已冻结"),
        plot_text("stale", "过期"),
        plot_text("ratio, $A=+0.5$", "比率，$A=+0.5$"),
        plot_text("ratio, $A=-0.5$", "比率，$A=-0.5$"),
    ]
    below = {"loc": "lower left", "borderpad": 0, "columnspacing": 1.4, "handletextpad": 0.6}
    figure.legend(bars[:3], labels[:3], ncol=3, bbox_to_anchor=(0.02, 0.06), **below)
    figure.legend(bars[3:], labels[3:], ncol=2, bbox_to_anchor=(0.02, 0.0), **below)
    figure.text(0.99, 0.01, plot_text("moment →", "时刻 →"), ha="right", va="bottom", color=GRAY)


def draw_bar(axes: Axes, row: int, first: int, last: int, style: dict[str, Any]) -> None:
    """Over the moments first to last, counted from 0."""
    axes.add_patch(Rectangle((first + 0.5, row - HEIGHT / 2), last - first + 1, HEIGHT, **style))


def policy_name(moment: Moment) -> str:
    return f"v{moment.version}+{moment.updates}" if moment.updates else f"v{moment.version}"


def draw_timeline(figure: Figure, played: Play, now: int) -> None:
    lanes, ratios = figure.axes
    for axes in (lanes, ratios):
        axes.axvspan(now + 0.5, now + 1.5, zorder=0, **NOW)
    for place, moment in enumerate(played.moments):
        shade = BLACK if place <= now else GRAY
        lanes.text(place + 1, TOP_ROW, plot_text(*PHASES[moment.phase]), ha="center", va="center", fontsize=9, color=shade)
        if place <= now:
            lanes.text(place + 1, POLICY_ROW, policy_name(moment), ha="center", va="center")
    for version in range(len(played.records)):
        places = [place for place, moment in enumerate(played.moments) if moment.version == version]
        draw_record(lanes, version, places[0], places[-1], now)
        updates = [(place + 1, played.moments[place].ratios) for place in places[2:] if place <= now]
        if updates:
            draw_ratios(ratios, updates)


def draw_record(axes: Axes, version: int, first: int, last: int, now: int) -> None:
    row = RECORD_ROWS + version
    draw_bar(axes, row, first, last, PLANNED)
    if first > now:
        return
    axes.text(0.4, row, plot_text(f"record {version + 1}", f"记录 {version + 1}"), ha="right", va="center", fontsize=9)
    draw_bar(axes, row, first, first, SAMPLED)
    if first < now:
        draw_bar(axes, row, first + 1, min(last, now), SCORED)
    if last < now:
        draw_bar(axes, row, last + 1, now, STALE)
    axes.text(first + 1, row, f"v{version}", ha="center", va="center")


def draw_ratios(axes: Axes, updates: list[tuple[int, np.ndarray]]) -> None:
    places = [place for place, _ in updates]
    for which, line in enumerate(RATIO_LINES):
        axes.plot(places, [both[which] for _, both in updates], zorder=3 + which, **line)
    for place, (above, below) in updates:
        axes.text(place, above + 0.2, number(above), ha="center", va="bottom", fontsize=9, bbox=PAPER)
        if below != above:
            axes.text(place, below - 0.2, number(below), ha="center", va="top", fontsize=9, bbox=PAPER)


def describe_timeline(played: Play, now: int) -> Words:
    moment = played.moments[now]
    version, updates = moment.version, moment.updates
    first, second = (number(ratio) for ratio in moment.ratios)
    stale = text(", ", "、").join(str(record + 1) for record in range(version)) or text("none", "无")
    scored = text(", rewards and advantages", "、奖励和优势") if moment.phase != "sample" else ""
    inner_updates = sum(other.version == 0 and other.phase == "update" for other in played.moments)
    alt = text(
        f"{inner_updates} inner updates in each round. Moment {now + 1} of {MOMENTS}: {moment.phase}. "
        f"Policy: version {version} plus {updates} updates. Record {version + 1}, sampled by version {version}, "
        f"holds these frozen: tokens and old log-probabilities{scored}. "
        f"Ratios of its two completions: {first}, {second}. Stale records: {stale}.",
        f"每轮 {inner_updates} 次内部更新。第 {now + 1} 个时刻，共 {MOMENTS} 个：{text(*PHASES[moment.phase])}。"
        f"策略：版本 {version} 加 {updates} 次更新。记录 {version + 1} 由版本 {version} 采样，"
        f"其中冻结的有：Token 和旧对数概率{scored}。两条回答的比率：{first}，{second}。过期的记录：{stale}。",
    )
    return Words(alt, what_happens(played, moment))


def what_happens(played: Play, moment: Moment) -> str:
    version, first, second = moment.version, *(number(ratio) for ratio in moment.ratios)
    if moment.phase == "sample" and version == 0:
        return text(
            "Version 0 writes two completions; their tokens and log-probabilities are recorded, and frozen from here on.",
            "版本 0 写出两条回答；Token 和对数概率记录下来，从此冻结。",
        )
    if moment.phase == "sample":
        true = [number(ratio) for ratio in true_ratios(played.records[version - 1], moment.policy)]
        return text(
            f"Record {version} is stale: with version {version} as the old policy its ratios would read 1.00 and 1.00, "
            f"but against version {version - 1}, which sampled it, they are {true[0]} and {true[1]}.",
            f"记录 {version} 过期了：拿版本 {version} 当旧策略，它的比率会是 1.00 和 1.00；"
            f"可是相对采样它的版本 {version - 1}，比率是 {true[0]} 和 {true[1]}。",
        )
    if moment.phase == "score":
        record = played.records[version]
        rewards = [number(reward, 0) for reward in REWARDS[record.completions]]
        advantages = [number(advantage, 1, sign=True) for advantage in record.advantages]
        return text(
            f"The rewards {rewards[0]} and {rewards[1]} arrive, and with them the advantages {advantages[0]} and {advantages[1]}: "
            f"they join record {version + 1}, and are frozen too.",
            f"奖励 {rewards[0]} 和 {rewards[1]} 到了，优势也就有了：{advantages[0]} 和 {advantages[1]}。"
            f"它们写进记录 {version + 1}，同样冻结。",
        )
    loss, length = number(moment.loss), number(np.linalg.norm(moment.gradient))
    return text(
        f"Inner update {moment.updates + 1}, on version {version} plus {moment.updates} updates: ratios {first} and {second}, "
        f"loss {loss}, length of its gradient {length}.",
        f"第 {moment.updates + 1} 次内部更新，此时策略是版本 {version} 加 {moment.updates} 次更新：比率 {first} 和 {second}，"
        f"损失 {loss}，梯度的长度 {length}。",
    )


def _draw(figure: Figure, values: dict[str, Any]) -> Words:
    played = play(values["inner_updates"])
    draw_timeline(figure, played, values["moment"] - 1)
    return describe_timeline(played, values["moment"] - 1)


def timeline() -> Picture:
    """Rollouts through sampling, scoring and inner updates. | 采样轨迹经过采样、打分与内部更新的过程。"""
    if is_static():
        return Picture(SIZE, frame_timeline, _draw, START)
    controls = {
        "inner_updates": whole_slider(text("Inner updates per round", "每轮的内部更新次数"), START["inner_updates"], 1, MOST_UPDATES),
        "moment": whole_slider(text("Moment", "时刻"), START["moment"], 1, MOMENTS),
    }
    asked = question(
        text(
            "At which moments is the policy the one that sampled the record in use? What is the ratio there?",
            "在哪些时刻，策略正是采样当前记录的那个策略？那时比率是多少？",
        )
    )
    return Panel(SIZE, frame_timeline, _draw, controls, [asked, *controls.values()])
