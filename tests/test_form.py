"""The form of a lesson holds for text and lists of pairs, too: the lesson of tests/course, from its source to a graded submission."""

import sqlite3
from pathlib import Path

import nbformat
import pytest
import torch

from advantagelab.checking import Rng, judge
from advantagelab.checking.run import ChecksFailed, checks_of
from autograder.course import init_course, run_nbgrader
from autograder.plain_data import pack, unpack
from lessons._build.answers import reference, right_answers, wrong_answers
from lessons._build.course import LANGUAGES, read_course
from lessons._build.lesson import read_lesson
from lessons._build.notebook import KINDS, build_notebook
from lessons._build.prose_gate import check_words
from lessons._build.regions import regions, stub_lines
from lessons._build.run import output_faults, run_notebook
from tests.course.answer_span import checks, spec

pytestmark = pytest.mark.xdist_group("form")  # its module fixtures are dear: one worker has them all

FOLDER = Path(__file__).parent / "course"
COURSE = read_course(FOLDER, FOLDER / "algorithms")
LESSON = read_lesson(COURSE, "answer_span")
ALGORITHM = LESSON.algorithm
FUNCTION = "answer_span_mask"


@pytest.fixture(scope="module")
def notebooks():
    """(language, kind) → notebook."""
    check_words(LESSON)
    return {(language, kind): build_notebook(LESSON, language, kind) for language in LANGUAGES for kind in KINDS}


def cell_of(notebook, key):
    return next(cell for cell in notebook.cells if cell.id == key)


def with_answer(learner, code):
    """The learner's notebook with `code` in the place of the stub, as a learner writes it."""
    answered = nbformat.from_dict(learner)
    cell = cell_of(answered, "answer-span-mask")
    (region,) = regions(LESSON.algorithm.text)
    stub, written = (f"\n{region.indent}".join(["", *lines]) for lines in (stub_lines(region), code.splitlines()))
    assert stub in cell.source
    cell.source = cell.source.replace(stub, written)
    return answered


def solved_region():
    (region,) = regions(LESSON.algorithm.text)
    return "\n".join(line.removeprefix(region.indent) for line in LESSON.algorithm.text.splitlines()[region.begin + 1:region.end])


def run_cells(notebook, *keys):
    """The cells, one after the other, as a notebook runs them, in a namespace that holds torch and nothing of the set-up cell."""
    namespace = {"torch": torch}
    for key in keys:
        exec(cell_of(notebook, key).source, namespace)
    return namespace


def test_a_learner_finds_the_stub_below_its_scaffolding(notebooks):
    for language in LANGUAGES:
        learner = notebooks[language, "learner"]
        answer_span_mask = run_cells(learner, "closing-brace", "answer-span-mask")[FUNCTION]
        with pytest.raises(NotImplementedError, match=r"^TODO 1: Answer mask \| 答案掩码$"):
            answer_span_mask("\\boxed{42}", [(0, 10)])
        with pytest.raises(ValueError, match="偏移须满足"):  # the skeleton refuses what the checks want refused
            answer_span_mask("\\boxed{42}", [(0, 11)])
        source = cell_of(learner, "answer-span-mask").source
        assert source.index("# first, last = ???") < source.index("# mask = ???") < source.index("raise NotImplementedError")
        assert cell_of(learner, "closing-brace").source == cell_of(notebooks[language, "solution"], "closing-brace").source


@pytest.mark.parametrize("kind", KINDS)
def test_check_cell_prints_a_verdict_a_check(notebooks, kind, capsys):
    keys = ("closing-brace", "answer-span-mask", "check-answer-span-mask")
    if kind == "learner":
        with pytest.raises(ChecksFailed, match="answer_span_mask: 0 of 6 checks passed"):
            run_cells(notebooks["zh", kind], *keys)
        assert capsys.readouterr().out == (
        "· Still open: TODO 1: Answer mask. Written already? Then delete the line `raise NotImplementedError(…)`.\n"
        "  尚未完成：TODO 1：答案掩码。已经写好了？请删掉 `raise NotImplementedError(…)` 那一行。\n")
        return
    namespace = run_cells(notebooks["en", kind], *keys)
    printed = capsys.readouterr().out.splitlines()
    assert [line.split()[1] for line in printed] == [check.__name__ for check in checks_of(namespace, FUNCTION)]
    assert all(line.startswith("✓ ") for line in printed) and len(printed) == (8 if kind == "source" else 6)


def test_check_cell_names_the_mistake_in_both_languages(notebooks, capsys):
    wrong = next(answer for answer in wrong_answers(LESSON.folder) if answer.name == "first_closing_brace")
    with pytest.raises(ChecksFailed, match="5 of 6 checks passed"):
        run_cells(with_answer(notebooks["zh", "learner"], wrong.todos[1]), "closing-brace", "answer-span-mask", "check-answer-span-mask")
    printed = capsys.readouterr().out
    assert "✗ check_answer_span_mask_nested_braces" in printed
    assert "The box ends at the brace that closes it" in printed and "方框止于与它配对的花括号" in printed
    assert "[False, True, True, True, True, False, False] bool [7]" in printed  # expected
    assert "[False, True, True, False, False, False, False] bool [7]" in printed  # got


def test_solved_notebook_runs_and_shows_what_each_cell_should(notebooks, tmp_path):
    ran = run_notebook(notebooks["zh", "solution"], tmp_path)
    assert output_faults(ran, LESSON) == []
    assert cell_of(ran, "use-it").outputs[0].text == "tensor([False, False, False, False,  True,  True])\n"


def test_nbgrader_releases_the_learners_notebook_and_grades_both_languages(notebooks, tmp_path):
    course = tmp_path / "course"
    init_course(COURSE, course, "zh", ["answer_span"])
    released = nbformat.read(course / "release" / "01_answer_span" / "01_answer_span.ipynb", 4)
    learner = [cell for cell in notebooks["zh", "learner"].cells if cell.id != "stop-here"]
    for cell, mine in zip(released.cells, learner, strict=True):
        assert (cell.id, cell.cell_type, cell.source) == (mine.id, mine.cell_type, mine.source)
        theirs = cell.metadata.get("nbgrader", {})  # nbgrader adds a checksum and the cell's type
        assert theirs == {**theirs, **mine.metadata.get("nbgrader", {})}
        assert all(cell.metadata[key] == value for key, value in mine.metadata.items() if key != "nbgrader")

    submissions = {"right": with_answer(notebooks["en", "learner"], solved_region()), "untouched": notebooks["zh", "learner"]}
    for student, notebook in submissions.items():
        file = course / "submitted" / student / "01_answer_span" / "01_answer_span.ipynb"
        file.parent.mkdir(parents=True)
        nbformat.write(notebook, file)
    run_nbgrader(course, "autograde", "01_answer_span")
    assert scores(course / "gradebook.db") == {
        ("right", "check-answer-span-mask"): (3.0, False), ("right", "written-answer"): (0.0, False),
        ("untouched", "check-answer-span-mask"): (0.0, False), ("untouched", "written-answer"): (0.0, False)}


def scores(gradebook: Path) -> dict:
    """(student, cell) → (automatic score, must a person look at it)."""
    with sqlite3.connect(gradebook) as database:
        rows = database.execute(
            "SELECT submitted_assignment.student_id, base_cell.name, grade.auto_score, grade.needs_manual_grade FROM grade "
            "JOIN base_cell ON base_cell.id = grade.cell_id JOIN submitted_notebook ON submitted_notebook.id = grade.notebook_id "
            "JOIN submitted_assignment ON submitted_assignment.id = submitted_notebook.assignment_id").fetchall()
    return {(student, cell): (score, bool(manual)) for student, cell, score, manual in rows}


def through_the_pipe(function):
    """`function` as a grader calls it: what goes in and what comes out crosses to another process as plain data."""
    def call(*arguments, **named):
        there, named_there = unpack(pack((arguments, named)))
        assert repr((there, named_there)) == repr((arguments, named))  # a pair stays a tuple, a list a list
        return unpack(pack(function(*there, **named_there)))
    return call


def test_checks_judge_the_same_through_a_pipe():
    answers = [*right_answers(LESSON.folder), *wrong_answers(LESSON.folder)]
    seen = set()
    for namespace in [reference(ALGORITHM), *(answer.namespace(ALGORITHM) for answer in answers)]:
        for check in checks_of(vars(checks), FUNCTION):
            if check.__name__ == "hidden_answer_span_mask_keeps_inputs":
                continue  # a copy cannot be changed from there: the grader is told which inputs were
            here, there = (judge(check, FUNCTION, {FUNCTION: function}) for function in
                           (namespace[FUNCTION], through_the_pipe(namespace[FUNCTION])))
            assert here[:3] == there[:3]
            seen.add(here.status)
    assert {"passed", "failed"} <= seen


def test_random_completions_hold_every_kind_of_box_and_token():
    """The oracle's inputs enter every branch: else a hidden check proves little."""
    texts, kinds = [], set()
    for seed in range(40):
        text, offsets = spec.random_completion(Rng(seed))
        texts.append(text)
        answer = spec.answer_characters(text)
        for start, end in offsets:
            inside = sum(position in answer for position in range(start, end))
            kinds.add("empty" if start == end else "out" if not inside else "in" if inside == end - start else "glued")
        kinds |= {"gap"} if any(end < start for (_, end), (start, _) in zip(offsets, offsets[1:], strict=False)) else set()
        kinds |= {"no answer"} if not answer else set()
        kinds |= {"unclosed last box"} if answer and max(answer) < text.rfind("\\boxed{") else set()
        kinds |= {"answer with a brace"} if any(text[position] in "{}" for position in answer) else set()
    assert kinds == {"empty", "out", "in", "glued", "gap", "no answer", "unclosed last box", "answer with a brace"}
    assert len(set(texts)) == len(texts)
