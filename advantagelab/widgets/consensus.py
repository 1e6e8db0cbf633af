"""What does a vote reward? Majority vote, soft consensus and contrast-augmented rewards of one group, and their advantages."""

from typing import Any, NamedTuple

import ipywidgets as W
import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from ..fonts import plot_text
from ..language import text
from .group_scale import group_advantages
from .panel import Panel, Picture, Words, dropdown, is_static, question, slider, whole_slider
from .style import BLUE, GRAY, ORANGE, VERMILLION, number

SIZE = (7.4, 4.6)
GROUP_SIZE = 8
ANSWERS = ("A", "B", "C", "D")
NONE = len(ANSWERS)  # the last kind of completion: no valid answer
START = {"votes_A": 4, "votes_B": 3, "votes_C": 1, "votes_D": 0, "preferred": "B", "preference": 0.5}

METHODS = ("majority", "soft", "contrast")


class Consensus(NamedTuple):
    """Each row: A, B, C, D, no valid answer. NaN: no completion gave it."""

    votes: np.ndarray  # [5] int, completions
    pool: np.ndarray  # [5] int, the votes and the answers of all comparisons
    rewards: dict[str, np.ndarray]  # method → [5]
    advantages: dict[str, np.ndarray]  # method → [5]
    tied: bool  # the highest count of votes is shared


def answer_pool(votes: np.ndarray, preferred: int, preference: float) -> np.ndarray:
    """[5] int: the votes, and the answer of one comparison for each ordered pair of two completions.

    Two that agree give their common answer; one valid answer beats none; `preferred` wins this share of its comparisons
    with other answers (rounded to whole comparisons); two other answers win once each.
    """
    pool = votes * votes  # each vote, and its comparisons with the others that agree
    for first in range(len(votes)):
        for second in range(first + 1, len(votes)):
            pairs = 2 * votes[first] * votes[second]
            share = 1.0 if second == NONE else 0.5
            if second != NONE and preferred in (first, second):
                share = preference if preferred == first else 1 - preference
            wins = int(np.floor(pairs * share + 0.5))
            pool[first] += wins
            pool[second] += pairs - wins
    return pool


def consensus_of(votes: np.ndarray, preferred: int, preference: float) -> Consensus:
    """votes: [5] int, A, B, C, D and no valid answer. The first completions say A, the next B, and so on."""
    pool = answer_pool(votes, preferred, preference)
    given = np.flatnonzero(votes[:NONE])
    rewards = {method: np.zeros(len(votes)) for method in METHODS}
    highest = votes[:NONE].max()
    if highest > 0:
        rewards["majority"][votes[:NONE].argmax()] = 1.0  # the first of those that share the highest count
        rewards["soft"][:NONE] = votes[:NONE] / highest
        rewards["contrast"][given] = pool[given] / pool[given].max()
    completions = np.repeat(np.arange(len(votes)), votes)
    advantages = {}
    for method in METHODS:
        of_each = group_advantages(rewards[method][completions], "ddof_0")
        rewards[method][votes == 0] = np.nan
        advantages[method] = np.full(len(votes), np.nan)
        advantages[method][completions] = of_each
    return Consensus(votes, pool, rewards, advantages, bool((votes[:NONE] == highest).sum() > 1 and highest > 0))


# --- the drawing ---

BARS = {
    "majority": {"facecolor": "white", "edgecolor": VERMILLION, "hatch": "////"},
    "soft": {"facecolor": BLUE, "edgecolor": "white"},
    "contrast": {"facecolor": "white", "edgecolor": ORANGE, "hatch": "...", "linewidth": 1.5},
}
OFFSETS = {"majority": -0.29, "soft": 0.0, "contrast": 0.29}
COUNT_ROWS = (-0.2, -0.36)  # below the advantages, in parts of their axes


def named(method: str, words=text) -> str:
    return {
        "majority": words("majority vote", "多数投票"),
        "soft": words("soft consensus", "软共识"),
        "contrast": words("contrast-augmented", "对比增强"),
    }[method]


def frame_consensus(figure: Figure) -> None:
    rewards, advantages = figure.add_axes((0.075, 0.705, 0.91, 0.235)), figure.add_axes((0.075, 0.235, 0.91, 0.365))
    rewards.set(title=plot_text("Reward", "奖励"), ylim=(0, 1.25), yticks=(0, 0.5, 1))
    advantages.set(title=plot_text("Group-relative advantage", "组相对优势"), ylim=(-3.4, 3.4), yticks=(-2, 0, 2))
    advantages.axhline(0, color=GRAY, linewidth=0.8)
    kinds = [*ANSWERS, plot_text("no valid answer", "没有有效答案")]
    for axes in (rewards, advantages):
        axes.set_xlim(-0.9, NONE + 0.5)
        axes.set_xticks([])
        axes.spines["bottom"].set_visible(axes is rewards)
    for place, kind in enumerate(kinds):
        advantages.text(place, -0.05, kind, transform=advantages.get_xaxis_transform(), ha="center", va="top")
    for height, label in zip(COUNT_ROWS, (plot_text("votes", "票数"), plot_text("pool", "答案池")), strict=True):
        advantages.text(-0.85, height, label, transform=advantages.get_xaxis_transform(), va="center", color=GRAY)
    labels = [named(method, plot_text) for method in METHODS]
    figure.legend([Patch(**BARS[method]) for method in METHODS], labels, loc="lower center", ncol=3, bbox_to_anchor=(0.53, -0.01))


def draw_consensus(figure: Figure, now: Consensus) -> None:
    rewards, advantages = figure.axes
    for axes, of_methods, sign in ((rewards, now.rewards, False), (advantages, now.advantages, True)):
        gap = 0.03 * np.ptp(axes.get_ylim())
        for method in METHODS:
            for place in np.flatnonzero(now.votes):
                value, x = of_methods[method][place], place + OFFSETS[method]
                axes.bar(x, value, 0.25, **BARS[method])
                above = value >= 0
                axes.text(x, value + gap if above else value - gap, number(value, sign=sign), ha="center",
                          va="bottom" if above else "top", fontsize=9)
    for height, counts in zip(COUNT_ROWS, (now.votes, now.pool), strict=True):
        for place, count in enumerate(counts):
            advantages.text(place, height, str(count), transform=advantages.get_xaxis_transform(), ha="center", va="center")


def describe_consensus(now: Consensus, preferred: int, preference: float) -> Words:
    return Words(text("…", "…"), text("…", "…"))


def votes_of(values: dict[str, Any]) -> np.ndarray:
    given = [values[f"votes_{answer}"] for answer in ANSWERS]
    return np.array([*given, GROUP_SIZE - sum(given)])


def _draw(figure: Figure, values: dict[str, Any]) -> Words:
    preferred, preference = ANSWERS.index(values["preferred"]), round(values["preference"], 9)
    now = consensus_of(votes_of(values), preferred, preference)
    draw_consensus(figure, now)
    return describe_consensus(now, preferred, preference)


def keep_to_group(sliders: list[W.IntSlider]) -> None:
    """A slider that asks for more completions than are left goes back to what there is."""

    def hold(change) -> None:
        over = sum(other.value for other in sliders) - GROUP_SIZE
        if over > 0:
            change["owner"].value -= over

    for one in sliders:
        one.observe(hold, names="value")


def consensus() -> Picture:
    """Votes of a group, and the rewards they make. | 一组回答的投票，以及由此得到的奖励。"""
    if is_static():
        return Picture(SIZE, frame_consensus, _draw, START)
    votes = {
        f"votes_{answer}": whole_slider(text(f"Completions that say {answer}", f"答 {answer} 的条数"), START[f"votes_{answer}"], 0, GROUP_SIZE)
        for answer in ANSWERS
    }
    keep_to_group(list(votes.values()))  # before the panel listens, so that it never sees more than the group holds
    controls = votes | {
        "preferred": dropdown(text("Comparisons prefer", "比较时偏好"), [(answer, answer) for answer in ANSWERS], START["preferred"]),
        "preference": slider(text("… in this share of cases", "……所占的比例"), START["preference"], 0, 1, 0.05),
    }
    asked = question(
        text(
            "Eight completions; those that are left have no valid answer. When do votes and soft consensus differ? "
            "When do comparisons overturn a majority?",
            "共八条回答，余下的没有有效答案。投票与软共识何时不同？比较何时推翻多数？",
        )
    )
    return Panel(SIZE, frame_consensus, _draw, controls, [asked, *controls.values()])
