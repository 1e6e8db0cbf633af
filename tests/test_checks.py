"""The checks are tested themselves: wrong answers fail at the check that names their mistake, right ones pass, mutants die.

Every lesson with a TODO goes through this.
"""

import ast
import functools
import importlib
import inspect
import itertools
import re
import sys
from collections import Counter
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import pytest
import torch

from advantagelab.checking import Verdict, judge
from advantagelab.checking.run import ERROR, FAILED, OPEN, PASSED, checks_of
from autograder.plain_data import pack
from lessons._build.answers import Answer, equivalent_mutants, reference, right_answers, skeleton, with_region, wrong_answers
from lessons._build.code_cells import Module
from lessons._build.course import read_course
from lessons._build.mutants import Mutant, mutants
from lessons._build.regions import Region, regions


class Lesson(NamedTuple):
    name: str
    folder: Path
    algorithm: Module
    checks: ModuleType
    todos: tuple[Region, ...]

    def checks_of(self, function: str) -> list:
        return checks_of(vars(self.checks), function)

    @property
    def every_check(self) -> list[tuple[Region, object]]:
        return [(todo, check) for todo in self.todos for check in self.checks_of(todo.function)]


def every_lesson() -> list[Lesson]:
    course, found = read_course(), []
    for entry in course.lessons:
        algorithm = Module(*course.algorithm_files(entry))
        todos = tuple(regions(algorithm.text))
        if todos:
            checks = importlib.import_module(f"lessons.{entry.name}.checks")
            found.append(Lesson(entry.name, course.lessons_folder / entry.name, algorithm, checks, todos))
    return found


LESSONS = every_lesson()
WRONG = [(lesson, answer) for lesson in LESSONS for answer in wrong_answers(lesson.folder)]
RIGHT = [(lesson, answer) for lesson in LESSONS for answer in right_answers(lesson.folder)]
each_lesson = pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.name)


def ids(pairs: list[tuple[Lesson, Answer]]) -> list[str]:
    return [f"{lesson.name}-{answer.todo(lesson.todos).number}-{answer.name}" for lesson, answer in pairs]


def judge_with_end(check, function: str, namespace: dict) -> Verdict:
    """judge(), for code that may never end, as a mutant's: it gets 200 000 lines a check, then RuntimeError. Steps, unlike seconds,
    do not depend on the machine."""
    steps = 0

    def line(frame, event, argument):
        nonlocal steps
        steps += 1
        if steps > 200_000:
            raise RuntimeError("this does not end")
        return line

    earlier = sys.gettrace()
    sys.settrace(lambda frame, event, argument: line if frame.f_code.co_filename.startswith("<") else None)  # an answer's file: <…>
    try:
        return judge(check, function, namespace)
    finally:
        sys.settrace(earlier)


@functools.cache
def verdicts_on(lesson_name: str, answer: int) -> tuple[Verdict, ...]:
    """All verdicts on the answer WRONG[answer]."""
    lesson, wrong = WRONG[answer]
    function, namespace = wrong.todo(lesson.todos).function, wrong.namespace(lesson.algorithm)
    return tuple(judge_with_end(check, function, namespace) for check in lesson.checks_of(function))


def rejected(lesson: Lesson, mutant: Mutant) -> bool:
    namespace = with_region(lesson.algorithm, mutant.todo, mutant.code)
    return any(judge_with_end(check, mutant.function, namespace).status != PASSED for check in lesson.checks_of(mutant.function))


def messages_of(check) -> list[tuple[str, str]]:
    """The (English, 中文) messages in a check's source."""
    calls = [node for node in ast.walk(ast.parse(inspect.getsource(check)))
             if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "message"]
    return [tuple(ast.literal_eval(next(word.value for word in call.keywords if word.arg == language)) for language in ("en", "zh"))
            for call in calls]


def too_few(lesson: Lesson, todo: Region, number: int, kind: str, needed: int) -> str:
    return f"TODO {todo.number} of {lesson.name}: {number} {kind} answers, {needed} are needed ({kind}_answers.py)"


# The form of checks.py


@each_lesson
def test_every_todo_has_visible_and_hidden_checks(lesson):
    names = [check.__name__ for _, check in lesson.every_check]
    for todo in lesson.todos:
        for prefix in ("check", "hidden"):
            assert any(name.startswith(f"{prefix}_{todo.function}_") for name in names), f"{prefix}_{todo.function}_…"


@each_lesson
def test_checks_hold_nothing_but_checks(lesson):
    """What the build copies into a notebook: imports that a cell can do by itself, and functions that stand alone."""
    tree = ast.parse(inspect.getsource(lesson.checks))
    known = {check.__name__ for _, check in lesson.every_check}
    for node in tree.body[1:]:
        if isinstance(node, ast.FunctionDef):
            assert node.name in known, f"{node.name} is no check of a TODO"
        elif isinstance(node, ast.ImportFrom):
            assert (node.level, node.module) in ((0, "advantagelab.checking"), (1, None)), ast.unparse(node)
        else:
            assert isinstance(node, ast.Import) and {alias.name for alias in node.names} <= {"torch", "math"}, ast.unparse(node)


@each_lesson
def test_a_check_calls_only_its_own_function(lesson):
    for todo, check in lesson.every_check:
        called = {node.attr for node in ast.walk(ast.parse(inspect.getsource(check)))
                  if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "answers"}
        assert called == {todo.function}, check.__name__


@each_lesson
def test_every_check_says_something_of_its_own_in_both_languages(lesson):
    said = Counter()
    for _, check in lesson.every_check:
        messages = messages_of(check)
        assert messages, check.__name__
        for english, chinese in messages:
            assert not re.search(r"[\u4e00-\u9fff]", english), english
            assert re.search(r"[\u4e00-\u9fff]", chinese), chinese
        said.update({text for pair in set(messages) for text in pair})
    assert [text for text, times in said.items() if times > 1] == []


@each_lesson
def test_arguments_and_results_are_plain_data(lesson):
    """Under the grader a check calls into another process."""
    for todo, check in lesson.every_check:
        solved = reference(lesson.algorithm)[todo.function]

        def plain(*arguments, solved=solved, **named):
            pack((arguments, named))
            result = solved(*arguments, **named)
            pack(result)
            return result

        verdict = judge(check, todo.function, {todo.function: plain})
        assert verdict.status == PASSED, (check.__name__, verdict.got)


# The skeleton, the reference and the oracle


@each_lesson
def test_untouched_skeleton_is_open_at_every_check(lesson):
    namespace = skeleton(lesson.algorithm)
    for todo, check in lesson.every_check:
        verdict = judge(check, todo.function, namespace)
        assert (verdict.status, verdict.got) == (OPEN, None), (check.__name__, verdict)
        english, chinese = todo.title.split(" | ")
        assert f"TODO {todo.number}: {english}." in verdict.message.en and f"TODO {todo.number}：{chinese}。" in verdict.message.zh


@each_lesson
def test_reference_passes_whatever_the_seed(lesson):
    """On random inputs the oracle and the reference are held equal here."""
    namespace = reference(lesson.algorithm)
    for todo, check in lesson.every_check:
        for seed in range(1 if check.__name__.startswith("check_") else 25):
            verdict = judge(check, todo.function, namespace, seed=seed)
            assert verdict.status == PASSED, (seed, verdict)


@each_lesson
def test_recorded_results_do_not_pass_the_hidden_checks(lesson):
    """What a function returned for one seed is no answer for another one."""
    for todo in lesson.todos:
        solved = reference(lesson.algorithm)[todo.function]
        hidden = [check for check in lesson.checks_of(todo.function) if check.__name__.startswith("hidden_")]
        statuses = []
        for check in hidden:
            recorded = []

            def record(*arguments, solved=solved, recorded=recorded, **named):
                recorded.append(solved(*arguments, **named))
                return recorded[-1]

            judge(check, todo.function, {todo.function: record}, seed=1)
            replay = itertools.cycle(recorded)
            statuses.append(judge(check, todo.function, {todo.function: lambda *_, replay=replay, **__: next(replay)}, seed=2).status)
        assert set(statuses) != {PASSED}, todo.function


# Wrong answers


@pytest.mark.parametrize("index", range(len(WRONG)), ids=ids(WRONG))
def test_wrong_answer_fails_at_the_check_that_names_it(index):
    lesson, answer = WRONG[index]
    assert len(answer.misconception.split(" | ")) == 2, "a misconception is told as `English | 中文`"
    (verdict,) = [verdict for verdict in verdicts_on(lesson.name, index) if verdict.check == answer.caught_by] or [None]
    assert verdict, f"{answer.caught_by} is no check of {answer.todo(lesson.todos).function}"
    assert verdict.status in (FAILED, ERROR), verdict
    if verdict.status == FAILED:
        assert tuple(verdict.message) in messages_of(getattr(lesson.checks, answer.caught_by))


@each_lesson
def test_each_todo_has_enough_wrong_answers_with_names_of_their_own(lesson):
    answers = [answer for owner, answer in WRONG if owner is lesson]
    per_todo = Counter(answer.todo(lesson.todos).number for answer in answers)
    few = [too_few(lesson, todo, per_todo[todo.number], "wrong", 10) for todo in lesson.todos if per_todo[todo.number] < 10]
    assert not few, "\n".join(few)
    names = Counter((answer.todo(lesson.todos).number, answer.name) for answer in answers)
    assert max(names.values()) == 1, names.most_common(1)


@each_lesson
def test_visible_checks_alone_reject_most_wrong_answers(lesson):
    caught = [any(verdict.status != PASSED for verdict in verdicts_on(lesson.name, index) if verdict.check.startswith("check_"))
              for index, (owner, _) in enumerate(WRONG) if owner is lesson]
    assert sum(caught) >= 0.85 * len(caught), f"{sum(caught)} of {len(caught)}"


@each_lesson
def test_a_wrong_answers_first_message_is_nearly_always_the_one_that_names_it(lesson):
    """A learner reads from the top."""
    elsewhere = []
    for index, (owner, answer) in enumerate(WRONG):
        if owner is lesson:
            first = next(verdict.check for verdict in verdicts_on(lesson.name, index) if verdict.status != PASSED)
            elsewhere += [] if first == answer.caught_by else [f"{answer.name}: {first} before {answer.caught_by}"]
    assert len(elsewhere) <= 0.1 * sum(owner is lesson for owner, _ in WRONG), elsewhere


@each_lesson
def test_every_visible_check_is_needed(lesson):
    """A check that no listed mistake belongs to is one that nobody can trust."""
    registered = {answer.caught_by for owner, answer in WRONG if owner is lesson}
    visible = [check.__name__ for _, check in lesson.every_check if check.__name__.startswith("check_")]
    unneeded = [name for name in visible if name not in registered]
    assert not unneeded, f"no wrong answer of {lesson.name} is caught_by (wrong_answers.py) {', '.join(unneeded)}"


# Right answers


@pytest.mark.parametrize(("lesson", "answer"), RIGHT, ids=ids(RIGHT))
def test_right_answer_passes_everything(lesson, answer):
    function, namespace = answer.todo(lesson.todos).function, answer.namespace(lesson.algorithm)
    for check in lesson.checks_of(function):
        for seed in range(1 if check.__name__.startswith("check_") else 5):
            verdict = judge(check, function, namespace, seed=seed)
            assert verdict.status == PASSED, verdict


@each_lesson
def test_each_todo_has_enough_right_answers(lesson):
    per_todo = Counter(answer.todo(lesson.todos).number for owner, answer in RIGHT if owner is lesson)
    few = [too_few(lesson, todo, per_todo[todo.number], "right", 4) for todo in lesson.todos if per_todo[todo.number] < 4]
    assert not few, "\n".join(few)


# Mutants


@each_lesson
def test_mutants_die_and_survivors_are_explained(lesson):
    everyone = mutants(lesson.algorithm)
    assert len({mutant.name for mutant in everyone}) == len(everyone)
    survivors = {mutant.name for mutant in everyone if not rejected(lesson, mutant)}
    explained = {entry.mutant for entry in equivalent_mutants(lesson.folder)}
    assert survivors - explained == set(), "survived without an `equivalent(…)` in wrong_answers.py"
    assert explained - survivors == set(), "listed as equivalent, but there is no such mutant or a check rejects it"
    assert len(survivors) <= 0.05 * len(everyone), f"{len(survivors)} of {len(everyone)} mutants of {lesson.name} survive, 5 % may"


def test_mutants_change_only_regions_and_cover_each():
    for lesson in LESSONS:
        everyone = mutants(lesson.algorithm)
        assert {mutant.todo for mutant in everyone} == {todo.number for todo in lesson.todos}
        for mutant in everyone[::10]:
            changed, whole = with_region(lesson.algorithm, mutant.todo, mutant.code), reference(lesson.algorithm)
            for name, function in whole.items():
                if inspect.isfunction(function) and function.__module__ == "answer" and name != mutant.function:
                    assert changed[name].__code__.co_code == function.__code__.co_code


def test_mutants_of_a_known_region(tmp_path):
    file = tmp_path / "small.py"
    file.write_text("import torch\n\n\ndef f(x, y):\n    ### BEGIN SOLUTION TODO 1: One | 一\n"
                    "    z = torch.minimum(x - y, x.detach())\n    ### END SOLUTION\n    return z\n", encoding="utf-8")
    names = {mutant.name.removeprefix("TODO 1: ") for mutant in mutants(Module(file))}
    assert {"x - y -> x + y", "x - y -> y - x", "x.detach() -> x", "z = torch.minimum(x - y, x.detach()) -> pass", "x -> y", "y -> x",
            "torch.minimum(x - y, x.detach()) -> torch.maximum(x - y, x.detach())",
            "torch.minimum(x - y, x.detach()) -> torch.minimum(x - y)",
            "torch.minimum(x - y, x.detach()) -> x - y"} <= names


def test_a_mutant_that_never_ends_is_rejected(tmp_path):
    file = tmp_path / "small.py"
    file.write_text("def f(x):\n    ### BEGIN SOLUTION TODO 1: One | 一\n    while x > 0:\n        x = x - 1\n"
                    "    ### END SOLUTION\n    return x\n", encoding="utf-8")

    def check_f_counts_down(answers):
        assert answers.f(3) == 0

    endless = [mutant for mutant in mutants(Module(file)) if "x = x - 1 -> pass" in mutant.name]
    verdict = judge_with_end(check_f_counts_down, "f", with_region(Module(file), 1, endless[0].code))
    assert verdict.status == ERROR and "this does not end" in verdict.got
    assert judge_with_end(check_f_counts_down, "f", reference(Module(file))).status == PASSED


# How answers are put in place


def test_an_answer_replaces_its_region_only(tmp_path):
    file = tmp_path / "small.py"
    file.write_text("def f(x):\n    for i in range(2):\n        ### BEGIN SOLUTION TODO 1: One | 一\n        x = x + 1\n"
                    "        ### END SOLUTION\n    return x\n\n\ndef g(x):\n    ### BEGIN SOLUTION TODO 2: Two | 二\n    y = 2 * x\n"
                    "    ### END SOLUTION\n    return y\n", encoding="utf-8")
    assert (reference(Module(file))["f"](1), reference(Module(file))["g"](1)) == (3, 2)
    changed = with_region(Module(file), 1, "if x:\n    x = 10 * x")
    assert (changed["f"](1), changed["g"](1)) == (100, 2)
    with pytest.raises(NotImplementedError, match=r"^TODO 2: Two \| 二$"):
        skeleton(Module(file))["g"](1)
    with pytest.raises(ValueError, match="no TODO"):
        with_region(Module(file), 3, "pass")


def test_an_answer_is_either_regions_or_a_function():
    from lessons._build.answers import wrong

    for bad in ({}, {"todo_1": "pass", "function": "def f(): pass"}, {"todo": "pass"}, {"todo_x": "pass"}):
        with pytest.raises(TypeError):
            wrong("name", "one | 一", caught_by="check_f_one", **bad)


def test_an_error_shows_the_answers_own_line():
    lesson = LESSONS[0]
    todo = lesson.todos[0]
    namespace = with_region(lesson.algorithm, todo.number, "1 / 0  # the mistake")
    verdict = judge(lesson.checks_of(todo.function)[0], todo.function, namespace)
    assert verdict.status == ERROR and "1 / 0  # the mistake" in verdict.got


def test_checks_leave_torch_as_it_was():
    before = torch.get_rng_state(), torch.get_default_dtype(), torch.is_grad_enabled()
    for lesson in LESSONS:
        namespace = reference(lesson.algorithm)
        for todo, check in lesson.every_check:
            judge(check, todo.function, namespace)
    assert torch.equal(torch.get_rng_state(), before[0]) and (torch.get_default_dtype(), torch.is_grad_enabled()) == before[1:]
