"""What does the answer mask keep out of the loss? A completion as a ribbon of tokens, with the gradient on the logits of each."""

from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle

from ..fonts import FAMILY, LATIN_FAMILY, plot_text, use_cjk
from ..language import text
from .panel import Panel, Picture, Words, dropdown, is_static, question, slider
from .style import BLACK, BLUE, GRAY, PAPER, VERMILLION, number

SIZE = (7.6, 3.45)  # all places below are in inches
BOX = "\\boxed{"
LEARNING_RATE = 0.5
REFERENCE_STEP = -0.3  # the reference policy's log-probability of each token, minus the policy's
PROMPT = "Q"
START = {"completion": "plain", "masked": "both", "beta": 0.0}

# Tokens of completions that each show one rule of the answer span.
COMPLETIONS = {
    "plain": ["3+4", " is", " \\boxed{", "7", "}"],
    "several": [" \\boxed{", "6", "}", " no,", " \\boxed{", "7", "}"],
    "nested": [" half:", " \\boxed{", "\\frac{", "1", "}{", "2", "}", "}"],
    "empty": [" \\boxed{", "7", "}", " or", " \\boxed{", "}"],
    "no_box": [" so", " the", " answer", " is", " 7", "."],
    "cut_off": [" so", " it", " is", " \\boxed{", "7"],
    "glued": ["3+4", " is", " \\boxed", "{4", "2}"],
    "chinese": ["答案", "是", "\\boxed{", "7", "}", "。"],
    "inside": [" so", " \\boxed{", "7", "}", ",", " 3+4=", "7", "."],
}
MASKED = ("nothing", "policy", "both", "off_by_one")


class Step(NamedTuple):
    norms: np.ndarray  # [T], of the gradient on the logits that predict each token
    before: float  # log-probability of the answer's tokens, together
    after: float  # the same after one step


def answer_span(completion: str) -> tuple[int, int]:
    r"""Characters of the answer: strictly inside the last \boxed{…} whose braces balance; (0, 0) if there is none."""
    first = last = 0
    opening = completion.find(BOX)
    while opening >= 0:
        inside = opening + len(BOX)
        closing = _closing_brace(completion, inside)
        if closing is not None:
            first, last = inside, closing
        opening = completion.find(BOX, inside)
    return first, last


def _closing_brace(completion: str, begin: int) -> int | None:
    depth, place = 1, begin
    while place < len(completion):
        if completion[place] == "\\":
            place += 1  # an escaped brace opens and closes nothing
        else:
            depth += {"{": 1, "}": -1}.get(completion[place], 0)
            if depth == 0:
                return place
        place += 1
    return None


def answer_tokens(tokens: list[str]) -> np.ndarray:
    """[T] bool: tokens that share a character with the answer."""
    first, last = answer_span("".join(tokens))
    ends = np.cumsum([len(token) for token in tokens])
    starts = ends - [len(token) for token in tokens]
    return np.maximum(starts, first) < np.minimum(ends, last)


def loss_masks(answer: np.ndarray, masked: str) -> tuple[np.ndarray, np.ndarray]:
    """[T] bool each: tokens in the policy term, tokens in the KL term."""
    everything = np.ones_like(answer)
    after = np.concatenate([[False], answer[:-1]])  # the logits at an answer token predict the token after it
    return {
        "nothing": (everything, everything),
        "policy": (~answer, everything),
        "both": (~answer, ~answer),
        "off_by_one": (~after, ~after),
    }[masked]


# --- one step of two small bigram models ---


class Table:
    """A row of logits for each token that may stand before."""

    def __init__(self, size: int):
        self._logits = np.zeros((size, size))

    def logits(self, contexts: np.ndarray) -> np.ndarray:
        return self._logits[contexts]

    def add(self, contexts: np.ndarray, changes: np.ndarray) -> None:
        """Ascend: changes [T, size] on the logits after each context."""
        np.add.at(self._logits, contexts, changes)


class Shared:
    """Logits E[context] U: every context uses the one U."""

    def __init__(self, size: int):
        rng = np.random.default_rng(5)
        self._embedding, self._output = rng.normal(0, 0.5, (size, 4)), rng.normal(0, 0.5, (4, size))

    def logits(self, contexts: np.ndarray) -> np.ndarray:
        return self._embedding[contexts] @ self._output

    def add(self, contexts: np.ndarray, changes: np.ndarray) -> None:
        of_output = self._embedding[contexts].T @ changes
        np.add.at(self._embedding, contexts, changes @ self._output.T)
        self._output += of_output


def token_logps(model: Table | Shared, contexts: np.ndarray, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """[T] log-probabilities of the targets, and [T, size] their gradients on the logits."""
    logits = model.logits(contexts)
    logps = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    return logps[np.arange(len(targets)), targets], np.eye(logits.shape[1])[targets] - np.exp(logps)


def one_step(tokens: list[str], masked: str, beta: float, kind: type) -> Step:
    """Advantage 1, all ratios 1: one step up on the sum over the tokens of the policy term minus beta times k3."""
    vocabulary = list(dict.fromkeys([PROMPT, *tokens]))
    ids = np.array([vocabulary.index(token) for token in [PROMPT, *tokens]])
    contexts, targets = ids[:-1], ids[1:]
    answer = answer_tokens(tokens)
    in_policy_term, in_kl_term = loss_masks(answer, masked)
    model = kind(len(vocabulary))
    logps, gradients = token_logps(model, contexts, targets)
    weights = in_policy_term - beta * in_kl_term * (1 - np.exp(REFERENCE_STEP))  # of each log-probability in the objective
    changes = weights[:, None] * gradients
    model.add(contexts, LEARNING_RATE * changes)
    after, _ = token_logps(model, contexts, targets)
    return Step(np.linalg.norm(changes, axis=1), logps[answer].sum(), after[answer].sum())


# --- the drawing ---

LEFT, CELL, HEIGHT = 1.3, 0.77, 0.3  # of the ribbon, of each token
TOKEN_ROW, POLICY_ROW, KL_ROW = 3.05, 2.6, 2.22
BARS, TALLEST = 1.1, 0.85  # where the bars of the gradients stand, and the height of norm 1
SCORES = 0.52  # the answer's log-probability

INSIDE = {"facecolor": "#dcecf7", "edgecolor": BLUE, "linewidth": 1.6}
OUTSIDE = {"facecolor": "white", "edgecolor": VERMILLION, "linewidth": 1.2, "hatch": "////"}
TOKEN = {"facecolor": "white", "edgecolor": GRAY, "linewidth": 1}
ANSWER = {"facecolor": "#fff3c4", "edgecolor": BLACK, "linewidth": 1.6}
BAR = {"facecolor": BLUE, "edgecolor": "white"}


def frame_mask(figure: Figure) -> None:
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, SIZE[0]), ylim=(0, SIZE[1]))
    axes.axis("off")
    rows = (
        (TOKEN_ROW + HEIGHT / 2, plot_text("tokens", "Token")),
        (POLICY_ROW + HEIGHT / 2, plot_text("policy term", "策略项")),
        (KL_ROW + HEIGHT / 2, plot_text("KL term", "KL 项")),
        (BARS + TALLEST / 2, plot_text("gradient on\nthe logits", "logits 上的\n梯度")),
        (SCORES, plot_text("log-prob. of\nthe answer", "答案的\n对数概率")),
    )
    for height, label in rows:
        axes.text(LEFT - 0.12, height, label, ha="right", va="center", linespacing=1.2)
    handles = [Patch(**ANSWER), Patch(**INSIDE), Patch(**OUTSIDE)]
    labels = [plot_text("answer token", "答案 Token"), plot_text("in the loss", "计入损失"), plot_text("left out", "不计入")]
    figure.legend(handles, labels, loc="lower center", ncol=3, bbox_to_anchor=(0.55, -0.015))


def label_of(token: str) -> str:
    """A token without its leading space; hanzi as numbers where they cannot be drawn."""
    return token.strip() if use_cjk() else token.strip().encode("ascii", "backslashreplace").decode()


def draw_mask(figure: Figure, tokens: list[str], masked: str, beta: float) -> None:
    axes, answer = figure.axes[0], answer_tokens(tokens)
    families = [FAMILY, LATIN_FAMILY] if use_cjk() else [LATIN_FAMILY]  # a completion may hold hanzi in either language
    for place, token in enumerate(tokens):
        _draw_cell(axes, place, TOKEN_ROW, ANSWER if answer[place] else TOKEN)
        axes.text(_middle(place), TOKEN_ROW + HEIGHT / 2, label_of(token), ha="center", va="center", family=families, parse_math=False)
    for bottom, mask in zip((POLICY_ROW, KL_ROW), loss_masks(answer, masked), strict=True):
        for place, inside in enumerate(mask):
            _draw_cell(axes, place, bottom, INSIDE if inside else OUTSIDE)
    steps = [one_step(tokens, masked, beta, kind) for kind in (Table, Shared)]
    for place, norm in enumerate(steps[0].norms):
        axes.add_patch(Rectangle((_middle(place) - 0.17, BARS), 0.34, TALLEST * norm, **BAR))
        axes.text(_middle(place), BARS + TALLEST * norm + 0.05, shown(norm), ha="center", va="bottom", fontsize=9)
    axes.plot([LEFT, LEFT + CELL * len(tokens)], [BARS, BARS], color=GRAY, linewidth=0.8)
    if not answer.any():
        axes.text(LEFT, SCORES, plot_text("no valid answer", "没有有效答案"), va="center", color=GRAY)
        return
    names = plot_text("table of logits", "logits 表"), plot_text("shared parameters", "共享参数")
    for left, name, step in zip((LEFT, LEFT + 3.1), names, steps, strict=True):
        axes.text(left, SCORES, f"{name}\n{moved(step)}", va="center", linespacing=1.3, bbox=PAPER)


def _middle(place: int) -> float:
    return LEFT + (place + 0.5) * CELL


def _draw_cell(axes: Axes, place: int, bottom: float, style: dict[str, Any]) -> None:
    axes.add_patch(Rectangle((LEFT + place * CELL + 0.02, bottom), CELL - 0.04, HEIGHT, **style))


def shown(norm: float) -> str:
    return number(norm, 4) if norm else "0"


def moved(step: Step) -> str:
    return f"{number(step.before, 4)} → {number(step.after, 4)}"


def listed(tokens: list[str], mask: np.ndarray) -> str:
    chosen = [label_of(token) for token, held in zip(tokens, mask, strict=True) if held]
    return " ".join(chosen) if chosen else text("none", "无")


def describe_mask(tokens: list[str], masked: str, beta: float) -> Words:
    answer = answer_tokens(tokens)
    of_table, of_shared = (one_step(tokens, masked, beta, kind) for kind in (Table, Shared))
    policy, kl = (listed(tokens, ~mask) for mask in loss_masks(answer, masked))
    norms = " ".join(shown(norm) for norm in of_table.norms)
    scores = text(
        f"Log-probability of the answer after one step: table of logits {moved(of_table)}, shared parameters {moved(of_shared)}.",
        f"一步之后答案的对数概率：logits 表 {moved(of_table)}，共享参数 {moved(of_shared)}。",
    )
    alt = text(
        f"Tokens: {' '.join(map(label_of, tokens))}. Answer tokens: {listed(tokens, answer)}. "
        f"Left out of the policy term: {policy}; of the KL term: {kl}. With beta {beta:g}, "
        f"norm of the gradient on the logits of each token: {norms}.",
        f"Token：{' '.join(map(label_of, tokens))}。答案 Token：{listed(tokens, answer)}。"
        f"策略项不计入：{policy}；KL 项不计入：{kl}。beta 为 {beta:g} 时，各 Token 的 logits 上梯度的范数：{norms}。",
    )
    if not answer.any():
        return Words(alt, _without_answer("".join(tokens)))
    return Words(f"{alt}{text(' ', '')}{scores}", _with_answer(masked, beta, answer, of_table, of_shared))


def _without_answer(completion: str) -> str:
    why = text("No box", "没有方框")
    if BOX in completion:
        last = completion[completion.rfind(BOX) + len(BOX) :]
        why = text("The last box is empty", "最后一个方框是空的") if last == "}" else text("The box never closes", "方框没有闭合")
    return text(
        f"{why}: no valid answer, so nothing is masked, and a vote neither counts nor rewards this completion.",
        f"{why}：没有有效答案，什么也没有掩住；投票既不计入这条回答，也不给它奖励。",
    )


def _with_answer(masked: str, beta: float, answer: np.ndarray, of_table: Step, of_shared: Step) -> str:
    first = shown(of_table.norms[answer.argmax()])
    if masked == "nothing":
        return text(
            f"The answer is trained like any other token: gradient {first}, and its log-probability goes {moved(of_table)} in the table.",
            f"答案和别的 Token 一样受训练：梯度 {first}，表中它的对数概率 {moved(of_table)}。",
        )
    if masked == "policy" and beta > 0:
        return text(
            f"The advantage no longer reaches the answer, but the KL term still does: gradient {first}.",
            f"优势推不到答案了，KL 项却还在推它：梯度 {first}。",
        )
    if masked == "off_by_one":
        return text(
            f"The logits at the answer predict the token after it. Those that predict the answer keep a gradient of {first}.",
            f"答案所在位置的 logits 预测的是下一个 Token；真正预测答案的 logits 还有 {first} 的梯度。",
        )
    if of_table.after != of_table.before:
        return text(
            f"No gradient on the answer's logits, and yet its log-probability goes {moved(of_table)} even in the table: "
            "the earlier box is still trained, and the same row predicts both answers.",
            f"答案的 logits 上没有梯度，可是连表中它的对数概率也变了，{moved(of_table)}："
            "前一个方框仍受训练，两处答案由同一行 logits 预测。",
        )
    return text(
        f"No gradient on the answer's logits: the table keeps its log-probability. Shared parameters move it anyway, "
        f"{moved(of_shared)}, because the other tokens train them.",
        f"答案的 logits 上没有梯度：表中它的对数概率不变。参数共享时还是会变，{moved(of_shared)}，因为其他 Token 也在训练这些参数。",
    )


def _draw(figure: Figure, values: dict[str, Any]) -> Words:
    state = {"tokens": COMPLETIONS[values["completion"]], "masked": values["masked"], "beta": round(values["beta"], 9)}
    draw_mask(figure, **state)
    return describe_mask(**state)


def answer_mask() -> Picture:
    """Tokens of a completion, and which of them the loss sees. | 一条回答的 Token，以及损失看得见哪些。"""
    if is_static():
        return Picture(SIZE, frame_mask, _draw, START)
    completions = {
        "plain": text("a plain box", "一个普通方框"),
        "several": text("several boxes", "多个方框"),
        "nested": text("braces inside the box", "方框内还有括号"),
        "empty": text("the last box is empty", "最后一个方框为空"),
        "no_box": text("no box", "没有方框"),
        "cut_off": text("cut off by the length limit", "被长度上限截断"),
        "glued": text("braces glued to the digits", "括号与数字粘在一起"),
        "chinese": text("Chinese around the box", "方框前后是中文"),
        "inside": text("a box inside the reasoning", "推理中间的方框"),
    }
    masks = {
        "nothing": text("nothing", "什么都不掩住"),
        "policy": text("answer, in the policy term only", "答案，只在策略项里"),
        "both": text("answer, in policy and KL term", "答案，策略项和 KL 项里都是"),
        "off_by_one": text("off by one: logits at the answer", "错位：答案所在位置的 logits"),
    }
    controls = {
        "completion": dropdown(text("Completion", "回答"), [(completions[name], name) for name in COMPLETIONS], START["completion"]),
        "masked": dropdown(text("What is masked", "掩住什么"), [(masks[name], name) for name in MASKED], START["masked"]),
        "beta": slider("beta", START["beta"], 0, 1, 0.05),
    }
    asked = question(
        text(
            "Which mask leaves no gradient on the answer?",
            "哪种掩码让答案上没有梯度？",
        )
    )
    return Panel(SIZE, frame_mask, _draw, controls, [asked, *controls.values()])
