"""What makes CAST learn where GRPO cannot begin? Runs with one thing changed, beside GRPO and CAST on the same base."""

from typing import Any, NamedTuple

from matplotlib.figure import Figure

from ..fonts import plot_text
from ..language import text
from .looks import CAST, LOOKS
from .panel import Panel, Picture, Words, dropdown, is_static, question
from .runs import HELD_OUT, SHARE, SIZE, Measure, describe_runs, draw_runs, frame_runs, read_runs
from .style import GRAY, number

WORKED = Measure("held_out_worked", ("held-out completions that show work", "留出集上写出过程的回答"), SHARE)
FLIPS = Measure("flips", ("tokens whose advantage opposes right or wrong", "优势与对错相反的 Token"), SHARE)

NO_TOKEN_ADVANTAGES = ("distillation", "grpo_teacher")  # their loss has a part that is no advantage: what they push is not seen there
CHANGED = [LOOKS[name] for name in ("majority_vote", "rloo", "soft_consensus", "om_grpo_car")]  # methods that are never in these pictures


class Series(NamedTuple):
    """A choice, and the recorded run of each of its values."""

    label: tuple[str, str]
    question: tuple[str, str]
    runs: dict[str, tuple[str, str]]  # name of the run → what the choice calls it
    first: tuple[str, ...]  # what is drawn at first: what the lesson asks about
    right: Measure  # of the right chart
    beside: tuple[str, ...] = ("grpo.direct", "cast")  # always drawn


SERIES = {
    "context": Series(
        ("What the teacher reads", "教师读到的"), ("Which teacher teaches?", "哪个教师教得会？"),
        {"cast_lagged": ("the same prompt; an older copy of the policy", "同样的提示；策略较旧的副本"),
         "cast_noise": ("a token that means nothing", "一个没有含义的 Token"),
         "cast_direct": ("“answer at once”", "“直接作答”"),
         "cast": ("“show your work”", "“写出过程”"),
         "cast_reference": ("the correct answer", "正确答案")}, ("cast_lagged", "cast_reference"), WORKED),
    "refresh": Series(
        ("Teacher refreshed", "教师刷新"), ("How often should the teacher follow the policy?", "教师该多久跟上一次策略？"),
        {"cast": ("never", "从不"), "cast_refresh_40": ("every 40 steps", "每 40 步"),
         "cast_refresh_10": ("every 10 steps", "每 10 步"), "cast_refresh_1": ("every step", "每步"),
         "cast_average": ("a little at every step (moving average)", "每步一点点（滑动平均）")},
        ("cast_refresh_10",), WORKED),
    "dead_band": Series(
        ("Dead band", "死区"), ("What does the dead band give back to the verifier?", "死区把什么还给了验证器？"),
        {"cast": ("0", "0"), "cast_dead_band_0.05": ("0.05", "0.05"), "cast_dead_band_0.3": ("0.3", "0.3")},
        ("cast_dead_band_0.3",), FLIPS),
    "parts": Series(
        ("What is changed", "改动"), ("Which part of CAST cannot be taken away?", "CAST 的哪一部分拿不掉？"),
        {"cast": ("nothing", "无"), "cast_flip_down": ("flips down only", "只向下翻转"), "cast_flip_up": ("flips up only", "只向上翻转"),
         "cast_no_flips": ("no flips", "不翻转"), "cast_no_verifier": ("no verifier: every reward is 1", "没有验证器：奖励全为 1"),
         "distillation": ("distillation alone, no rewards", "只做蒸馏，没有奖励"),
         "grpo_teacher": ("GRPO with a KL to the same teacher", "GRPO，加上对同一教师的 KL")},
        ("cast_no_flips", "cast_no_verifier", "distillation", "grpo_teacher"), FLIPS),
    "instruction": Series(
        ("What the teacher reads", "教师读到的"), ("Verifier against teacher: who wins?", "验证器与教师相争，谁赢？"),
        {"cast_lagged.instructed-0": ("the same prompt; an older copy of the policy", "同样的提示；策略较旧的副本"),
         "cast_direct.instructed-0": ("“answer at once”", "“直接作答”")},
        ("cast_lagged.instructed-0", "cast_direct.instructed-0"), WORKED, beside=("grpo.instructed-0",)),
}


def cast_runs(series: str) -> Picture:
    """Recorded runs of CAST with one thing changed. | CAST 的训练记录，每次只改一处。

    series: a key of SERIES: what is changed | SERIES 的键：改动的是什么
    """
    chosen = SERIES[series]
    runs = read_runs([*chosen.beside, *chosen.runs])

    def draw(figure: Figure, values: dict[str, Any]) -> Words:
        names = values["runs"]
        shown = {name: runs[name] for name in dict.fromkeys((*chosen.beside, *names))}
        looks = {**dict(zip(names, CHANGED)), chosen.beside[0]: LOOKS["grpo"], "cast": CAST}
        pair = (HELD_OUT, WORKED if set(names) & set(NO_TOKEN_ADVANTAGES) else chosen.right)
        draw_runs(figure, shown, looks, pair)
        words = describe_runs(shown, pair)
        teachers = {runs[name].teacher for name in names}
        return _draw_teacher(figure, teachers.pop(), words) if len(teachers) == 1 and None not in teachers else words

    if is_static():
        return Picture(SIZE, frame_runs, draw, {"runs": chosen.first})
    options = [(text(*words), (name,)) for name, words in chosen.runs.items()]
    if len(chosen.first) > 1:
        options.insert(0, (text("what is asked about, together", "题目问到的，一起看"), chosen.first))
    control = dropdown(text(*chosen.label), options, chosen.first)
    return Panel(SIZE, frame_runs, draw, {"runs": control}, [question(text(*chosen.question)), control])


def _draw_teacher(figure: Figure, accuracy: float, words: Words) -> Words:
    """A line at the accuracy of the teacher of the runs that are chosen, in the chart of accuracy."""
    axes = figure.axes[0]
    axes.axhline(accuracy, color=GRAY, linewidth=0.9, linestyle=(0, (1, 1.5)))
    high = accuracy > 0.9  # no room above the line
    axes.text(0, accuracy + (-0.025 if high else 0.025), f"{plot_text('teacher', '教师')} {number(accuracy)}", ha="left",
              va="top" if high else "bottom", fontsize=9)
    said = text(f" Held-out accuracy of the teacher: {number(accuracy)}.", f"教师的留出集正确率：{number(accuracy)}。")
    return Words(words.alt + said, words.caption + said)
