"""What does a vote reward? Majority vote, soft consensus and contrast-augmented rewards of one group, and their advantages."""

from typing import Any, NamedTuple

import ipywidgets as W
import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle

from ..fonts import plot_text
from ..language import text
from .group_scale import group_advantages
from .panel import Panel, Picture, Words, dropdown, is_static, question, slider, whole_slider
from .style import BLACK, BLUE, GRAY, ORANGE, VERMILLION, number

SIZE = (7.4, 4.6)
GROUP_SIZE = 8
ANSWERS = ("A", "B", "C", "D")
VOTES = tuple(f"votes_{answer}" for answer in ANSWERS)  # the sliders
NONE = len(ANSWERS)  # the last kind of completion: no valid answer
START = {"votes_A": 4, "votes_B": 3, "votes_C": 1, "votes_D": 0, "preferred": "B", "preference": 0.9}

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
            wins = pairs if second == NONE else pairs // 2  # of first
            if second != NONE and preferred in (first, second):
                preferred_wins = int(np.floor(pairs * preference + 0.5))
                wins = preferred_wins if preferred == first else pairs - preferred_wins
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
    "contrast": {"facecolor": ORANGE, "edgecolor": BLACK, "linewidth": 1.2},
}
OFFSETS = {"majority": -0.32, "soft": 0.0, "contrast": 0.32}
WIDTH = 0.28  # of a bar
COUNTS = {"y": -0.17, "va": "top", "linespacing": 1.7}  # below the advantages, in parts of their axes: votes, and the pool


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
        axes.set_xlim(-0.6, NONE + 0.5)
        axes.set_xticks([])
        axes.spines["bottom"].set_visible(axes is rewards)
    for place, kind in enumerate(kinds):
        advantages.text(place, -0.05, kind, transform=advantages.get_xaxis_transform(), ha="center", va="top")
    below = advantages.get_xaxis_transform()
    counted = plot_text("votes\npool", "票数\n答案池")
    advantages.text(-0.3, s=counted, transform=below, ha="right", color=GRAY, **COUNTS)
    labels = [named(method, plot_text) for method in METHODS]
    figure.legend([Patch(**BARS[method]) for method in METHODS], labels, loc="lower center", ncol=3, bbox_to_anchor=(0.53, -0.01))


def draw_consensus(figure: Figure, now: Consensus) -> None:
    rewards, advantages = figure.axes
    for axes, of_methods, sign in ((rewards, now.rewards, False), (advantages, now.advantages, True)):
        gap = 0.03 * np.ptp(axes.get_ylim())
        for method in METHODS:
            for place in np.flatnonzero(now.votes):
                value, x = of_methods[method][place], place + OFFSETS[method]
                above = value >= 0
                if value:
                    axes.add_patch(Rectangle((x - WIDTH / 2, 0), WIDTH, value, **BARS[method]))  # quicker than axes.bar
                axes.text(x, value + gap if above else value - gap, number(value, sign=sign), ha="center",
                          va="bottom" if above else "top", fontsize=9)
    for place, (votes, pool) in enumerate(zip(now.votes, now.pool, strict=True)):
        advantages.text(place, s=f"{votes}\n{pool}", transform=advantages.get_xaxis_transform(), ha="center", **COUNTS)


def describe_consensus(now: Consensus, preferred: int, preference: float) -> Words:
    kinds = [*ANSWERS, text("no valid answer", "没有有效答案")]
    given = np.flatnonzero(now.votes)

    def each(values: np.ndarray, sign: bool) -> str:
        return text(", ", "，").join(f"{kinds[place]} {number(values[place], sign=sign)}" for place in given)

    def counts(values: np.ndarray) -> str:
        return text(", ", "，").join(f"{kind} {count}" for kind, count in zip(kinds, values, strict=True))

    methods = text("; ", "；").join(
        text(
            f"{named(method)}: rewards {each(now.rewards[method], False)}, advantages {each(now.advantages[method], True)}",
            f"{named(method)}：奖励 {each(now.rewards[method], False)}，优势 {each(now.advantages[method], True)}",
        )
        for method in METHODS
    )
    alt = text(
        f"Votes of {GROUP_SIZE} completions: {counts(now.votes)}. Comparisons prefer {ANSWERS[preferred]} in {preference:.0%} of cases. "
        f"Pool of {now.pool.sum()}: {counts(now.pool)}. {methods}.",
        f"{GROUP_SIZE} 条回答的票数：{counts(now.votes)}。比较有 {preference:.0%} 偏好 {ANSWERS[preferred]}。"
        f"答案池共 {now.pool.sum()} 个：{counts(now.pool)}。{methods}。",
    )
    if not now.votes[:NONE].any():
        return Words(alt, text(
            "No valid answer at all: every reward is 0, and so is every advantage.",
            "没有一个有效答案：奖励全是 0，优势也全是 0。",
        ))
    if len(given) == 1:
        return Words(alt, text(
            "All agree: whether they are right or wrong, every advantage is 0.",
            "全都一致：不管是对是错，优势全是 0。",
        ))
    return Words(alt, _vote_words(now) + text(" ", "") + _comparison_words(now))


def _leaders(counts: np.ndarray) -> list[int]:
    return np.flatnonzero(counts[:NONE] == counts[:NONE].max()).tolist()


def _joined(places: list[int]) -> str:
    return text(", ", "、").join(ANSWERS[place] for place in places)


def _vote_words(now: Consensus) -> str:
    leaders = _leaders(now.votes)
    if now.tied:
        return text(
            f"{_joined(leaders)} are tied: the majority vote rewards {ANSWERS[leaders[0]]} only because it came first, "
            "soft consensus rewards them alike.",
            f"{_joined(leaders)} 平票：多数投票只奖励 {ANSWERS[leaders[0]]}，仅仅因为它先出现；软共识一视同仁。",
        )
    if np.count_nonzero(now.votes) == 2:
        return text(
            "Two kinds of completions: soft consensus gives the advantages of the majority vote.",
            "只有两种回答：软共识的优势与多数投票相同。",
        )
    return text(
        f"The majority vote rewards {ANSWERS[leaders[0]]} alone, soft consensus the others too, by their share.",
        f"多数投票只奖励 {ANSWERS[leaders[0]]}；软共识按票数多少，别的答案也给。",
    )


def _comparison_words(now: Consensus) -> str:
    given = np.flatnonzero(now.votes[:NONE])
    of_votes, of_pool = _leaders(now.votes), _leaders(np.where(now.votes > 0, now.pool, 0))
    numbers = text(", ", "，").join(f"{ANSWERS[place]} {now.pool[place]}" for place in given)
    if np.allclose(now.rewards["contrast"][given], now.rewards["soft"][given]):
        return text("The comparisons change nothing.", "比较没有改变什么。")
    if of_pool == of_votes:
        return text(
            f"The comparisons change the shares ({numbers} in the pool), not who leads.",
            f"比较改变了份额（答案池中 {numbers}），没有改变谁领先。",
        )
    if len(of_pool) == 1 and len(of_votes) == 1:
        return text(
            f"The comparisons overturn the majority: {ANSWERS[of_pool[0]]} leads in the pool ({numbers}).",
            f"比较推翻了多数：答案池中 {ANSWERS[of_pool[0]]} 领先（{numbers}）。",
        )
    if len(of_pool) == 1:
        return text(
            f"The comparisons break the tie: {ANSWERS[of_pool[0]]} leads in the pool ({numbers}).",
            f"比较打破了平局：答案池中 {ANSWERS[of_pool[0]]} 领先（{numbers}）。",
        )
    return text(
        f"With the comparisons {_joined(of_pool)} share the lead in the pool ({numbers}).",
        f"加上比较，答案池中 {_joined(of_pool)} 并列领先（{numbers}）。",
    )


def votes_of(values: dict[str, Any]) -> np.ndarray:
    given = [values[name] for name in VOTES]
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
        name: whole_slider(text(f"Completions that say {name[-1]}", f"答 {name[-1]} 的条数"), START[name], 0, GROUP_SIZE)
        for name in VOTES
    }
    keep_to_group(list(votes.values()))  # before the panel listens, so that it never sees more than the group holds
    controls = votes | {
        "preferred": dropdown(text("Comparisons prefer", "比较时偏好"), [(answer, answer) for answer in ANSWERS], START["preferred"]),
        "preference": slider(text("… in this share of cases", "……所占的比例"), START["preference"], 0, 1, 0.05),
    }
    asked = question(
        text(
            "Eight completions; those that are left have no valid answer. When do comparisons overturn a majority?",
            "共八条回答，余下的没有有效答案。比较何时推翻多数？",
        )
    )
    return Panel(SIZE, frame_consensus, _draw, controls, [asked, *controls.values()])
