"""A made-up class for lesson RLOO: what its students hand in, and what each file should score."""

from collections.abc import Callable, Iterable
from copy import deepcopy
from dataclasses import dataclass
from textwrap import dedent, indent

import nbformat

from lessons._build.answers import wrong_answers
from lessons._build.course import LANGUAGES
from lessons._build.lesson import Lesson
from lessons._build.notebook import build_notebook
from lessons._build.regions import Region, regions, stub_lines

WRITTEN = "+1, 0, -1: a completion without a reward is compared with nobody. | 优势为 +1、0、-1：没有奖励的回答不与任何回答比较。"
ENDLESS = "while True:\n    pass"
BROKEN = "sequence_logps = token_logps.masked_fill(~completion_mask, 0.0"


@dataclass(frozen=True)
class Score:
    """points: by grade id, None where a person has to grade; untouched: the answer cells that nbgrader calls "No response."."""

    points: dict[str, float | None]
    untouched: frozenset[str]

    @property
    def total(self) -> float:
        return sum(points or 0 for points in self.points.values())


@dataclass(frozen=True)
class Submission:
    student: str
    language: str
    case: str  # "English | 中文"
    notebook: nbformat.NotebookNode
    expected: Score


def solutions(lesson: Lesson) -> dict[int, str]:
    """What the course writes in place of each TODO."""
    lines = lesson.algorithm.text.splitlines()
    return {region.number: dedent("\n".join(lines[region.begin + 1:region.end])) for region in regions(lesson.algorithm.text)}


def submission(lesson: Lesson, learner: nbformat.NotebookNode, student: str, case: str, answers: dict[int, str], wrong: Iterable[int] = (),
               written: str | None = None, edit: Callable | None = None) -> Submission:
    """A copy of the learner's notebook with these answers: code by number of the TODO.

    wrong: the answers that must get no points; written: what stands in the cells of written questions; edit: what else was done to the file
    """
    notebook, points, untouched = deepcopy(learner), {}, set()
    built = {cell.id: cell for cell in notebook.cells}
    todos = {region.function: region for region in regions(lesson.algorithm.text)}
    for cell in lesson.cells:
        if cell.role == "exercise":
            todo = todos[cell.exercise]
            if todo.number in answers:
                built[cell.key].source = _fill(built[cell.key].source, todo, answers[todo.number])
            else:
                untouched.add(cell.key)
        elif cell.role == "check":
            number = todos[cell.check].number
            points[cell.key] = cell.points if number in answers and number not in wrong else 0
        elif cell.role == "question":
            points[cell.key] = 0 if written is None else None
            if written is None:
                untouched.add(cell.key)
            else:
                built[cell.key].source = written
    if edit:
        edit(notebook)
    return Submission(student, notebook.metadata.advantagelab.language, case, notebook, Score(points, frozenset(untouched)))


def _fill(source: str, todo: Region, code: str) -> str:
    """Put code where the stub of this TODO stands."""
    stub, answer = (indent("\n".join(lines), todo.indent) for lines in (stub_lines(todo), code.splitlines()))
    if stub not in source:
        raise ValueError(f"the stub of TODO {todo.number} is not in this cell:\n{source}")
    return source.replace(stub, answer)


def demo_class(lesson: Lesson) -> list[Submission]:
    """The first one takes as long as ten others."""
    right = solutions(lesson)
    mistakes = {answer.name: answer for answer in wrong_answers(lesson.folder)}
    learner = {language: build_notebook(lesson, language, "learner") for language in LANGUAGES}

    def one(student, language, case, answers, **more):
        return submission(lesson, learner[language], student, case, answers, **more)

    def mistaken(student, language, name):
        answer = mistakes[name]
        case = f"{name} | {answer.misconception.split(' | ')[1]}"
        return one(student, language, case, {**right, **answer.todos}, wrong=answer.todos, written=WRITTEN)

    return [
        one("zh-endless-loop", "zh", "an endless loop in TODO 2 | TODO 2 死循环", {**right, 2: ENDLESS}, wrong=[2], written=WRITTEN),
        one("en-right", "en", "right | 正确", right, written=WRITTEN),
        one("zh-right", "zh", "right | 正确", right, written=WRITTEN),
        one("中文学号-01", "zh", "right, under a Chinese id | 正确，学号为中文", right, written=WRITTEN),
        one("en-two-todos", "en", "two TODOs done | 完成两个 TODO", {number: right[number] for number in (1, 3)}),
        one("zh-two-todos", "zh", "two TODOs done | 完成两个 TODO", {number: right[number] for number in (2, 4)}),
        one("en-untouched", "en", "untouched | 未作答", {}),
        one("zh-untouched", "zh", "untouched | 未作答", {}),
        mistaken("en-token-mean", "en", "mean_over_valid_tokens"),
        mistaken("zh-missing-zero", "zh", "missing_reward_is_zero"),
        mistaken("en-group-mean", "en", "group_mean"),
        mistaken("zh-negated-loss", "zh", "objective_for_loss"),
        one("en-syntax-error", "en", "a syntax error in TODO 1 | TODO 1 有语法错误", {**right, 1: BROKEN}, wrong=[1], written=WRITTEN),
        one("en-colab", "en", "right, saved by Colab | 正确，由 Colab 保存", right, written=WRITTEN, edit=save_as_colab),
        one("zh-stderr", "zh", "right, but writes to stderr | 正确，但向 stderr 输出",
            {**right, 3: f'logging.warning("group sizes")\n{right[3]}'}, written=WRITTEN, edit=log_to_stderr),
    ]


def save_as_colab(notebook: nbformat.NotebookNode) -> None:
    """What Colab does to a file: ids in the metadata, its own keys, another kernel name, widgets without their state."""
    notebook.nbformat_minor = 0
    notebook.metadata = nbformat.from_dict({
        **notebook.metadata, "kernelspec": {"name": "python3", "display_name": "Python 3"}, "language_info": {"name": "python"},
        "colab": {"provenance": [], "toc_visible": True}, "accelerator": "GPU",
        "widgets": {"application/vnd.jupyter.widget-state+json": {"abc123": {"model_module": "@jupyter-widgets/controls"}}},
    })
    for number, cell in enumerate(notebook.cells):
        cell.metadata["id"] = cell.pop("id")
        if cell.cell_type == "code":
            who = {"displayName": "Student Name", "userId": "0123456789"}
            ran = {"status": "ok", "elapsed": 12, "timestamp": 1767225600000, "user": who}
            cell.metadata.update(outputId=f"output-{number}", executionInfo=ran,
                                 colab={"base_uri": "https://localhost:8080/", "height": 35})


def log_to_stderr(notebook: nbformat.NotebookNode) -> None:
    """A cell of the student's own, after which messages of the functions reach stderr, also from within a check."""
    cell = nbformat.v4.new_code_cell("import logging\n\nlogging.basicConfig()", id="my-own-cell")
    notebook.cells.insert(2, cell)

