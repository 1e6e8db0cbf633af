"""nbgrader end to end: the course that `init` makes, a class graded in it by stock nbgrader and by ours, and what stock feedback shows."""

import html
import re
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import nbformat
import pytest
from nbgrader.preprocessors import ClearHiddenTests

from autograder import demo
from autograder.__main__ import main
from autograder.course import CourseError, run_nbgrader
from autograder.demo_class import WRITTEN, Score, Submission, demo_class, log_to_stderr, save_as_colab, solutions, submission
from autograder.preprocessors import CleanSubmission, HideHiddenChecks
from lessons._build.course import read_course
from lessons._build.lesson import Lesson, read_lesson
from lessons._build.notebook import build_notebook
from lessons._build.regions import regions

RLOO = "03_rloo"
OWN_KEYS = {"checksum", "cell_type"}  # of nbgrader, in a released cell's metadata


@pytest.fixture(scope="module")
def rloo() -> Lesson:
    return read_lesson(read_course(), "rloo")


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """The English course, as `python -m autograder init` makes it. A new folder."""
    folder = tmp_path_factory.mktemp("en") / "course"
    assert main(["init", str(folder), "--language", "en", "--lesson", "rloo"]) == 0
    return folder


@pytest.fixture(scope="module")
def chinese_course(tmp_path_factory):
    """The same in Chinese. An empty folder."""
    folder = tmp_path_factory.mktemp("zh")
    assert main(["init", str(folder), "--language", "zh", "--lesson", "rloo"]) == 0
    return folder


def read(folder: Path, step: str, assignment: str = RLOO) -> nbformat.NotebookNode:
    return nbformat.read(folder / step / assignment / f"{assignment}.ipynb", 4)


def hidden_lines(folder: Path, assignment: str = RLOO) -> set[str]:
    """Lines of the hidden checks that stand nowhere in the release."""
    released = "\n".join(cell.source for cell in read(folder, "release", assignment).cells)
    checks = [cell.source for cell in read(folder, "source", assignment).cells if "BEGIN HIDDEN TESTS" in cell.source]
    lines = {line.strip() for source in checks for line in source.splitlines()}
    return {line for line in lines if len(line) > 8 and line not in released}


def feedback(folder: Path, student: str, assignment: str = RLOO) -> str:
    """The text of a feedback page, as a reader sees it."""
    page = (folder / "feedback" / student / assignment / f"{assignment}.html").read_text(encoding="utf-8")
    return html.unescape(re.sub(r"<[^>]*>", "", re.sub(r"<(style|script)\b.*?</\1>", "", page, flags=re.S)))


def printed(notebook: nbformat.NotebookNode, key: str) -> str:
    """What a cell printed, without the times of its checks."""
    (cell,) = [cell for cell in notebook.cells if cell.metadata.get("nbgrader", {}).get("grade_id") == key]
    return re.sub(r"\d+ ms", "", "".join(output.text for output in cell.outputs if output.output_type == "stream"))


def lines_of(text: str) -> list[str]:
    return [line.lstrip("· ") for line in text.splitlines()]


# init


@pytest.mark.parametrize("make", [lambda folder: (folder / "old.txt").write_text("mine"), lambda folder: (folder / ".hidden").mkdir()])
def test_init_refuses_a_folder_that_is_not_empty(tmp_path, capsys, make):
    make(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    assert main(["init", str(tmp_path), "--language", "en"]) == 2
    assert sorted(tmp_path.rglob("*")) == before
    said = capsys.readouterr().err
    assert "is not empty" in said and "不是空文件夹" in said and str(tmp_path) in said


def test_init_refuses_a_file_and_an_unknown_lesson(tmp_path, capsys):
    file = tmp_path / "file"
    file.write_text("mine")
    assert main(["init", str(file), "--language", "zh"]) == 2 and file.read_text() == "mine"
    assert main(["init", str(tmp_path / "new"), "--language", "zh", "--lesson", "ppo"]) == 2
    assert not (tmp_path / "new").exists() and "the lessons are: " in capsys.readouterr().err


def test_without_a_lesson_every_lesson_becomes_an_assignment(tmp_path, capsys, monkeypatch):
    """nbgrader and the copies that notebooks carry take long, and are tried in one lesson: below."""
    released = []
    monkeypatch.setattr("lessons._build.notebook.payload_files", lambda code, **_: {})
    monkeypatch.setattr("autograder.course.run_nbgrader", lambda folder, *arguments: released.append(arguments))
    assert main(["init", str(tmp_path / "course"), "--language", "zh"]) == 0
    assignments = [entry.notebook for entry in read_course().lessons]
    assert capsys.readouterr().out.startswith("".join(f"{assignment} …\n" for assignment in assignments))  # each takes nbgrader a while
    assert released == [("generate_assignment", assignment) for assignment in assignments]
    assert sorted(path.name for path in (tmp_path / "course" / "source").iterdir()) == sorted(assignments)


def test_init_says_what_to_do_next_and_what_autograde_does(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("autograder.course.run_nbgrader", lambda *arguments: None)
    assert main(["init", str(tmp_path / "new"), "--language", "en", "--lesson", "start_here"]) == 0
    said, config = capsys.readouterr().out, (tmp_path / "new" / "nbgrader_config.py").read_text(encoding="utf-8")
    for text in (said, config):
        assert "python -m autograder grade" in text and "only for code that you trust" in text and "以你的身份运行学生代码" in text
    assert said.startswith("00_start_here …\n")
    assert [line[:2] for line in said.splitlines()[1:] if line[:1].isdigit()] == ["1.", "2.", "3."] * 2
    assert not re.search("WARNING_EN|WARNING_ZH|CHECKOUT", config)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_release_is_the_learners_notebook(language, request, rloo):
    folder = request.getfixturevalue({"en": "course", "zh": "chinese_course"}[language])
    release, learner = read(folder, "release"), build_notebook(rloo, language, "learner")
    only_learner = {cell.key for cell in rloo.cells if cell.only == "learner"}
    expected = [cell for cell in learner.cells if cell.id not in only_learner]
    assert only_learner and [cell.id for cell in release.cells] == [cell.id for cell in expected]
    for given, cell in zip(release.cells, expected, strict=True):
        assert given.source == cell.source, cell.id
        if "nbgrader" in cell.metadata:
            assert {key: value for key, value in given.metadata.nbgrader.items() if key not in OWN_KEYS} == cell.metadata.nbgrader
        assert {**given.metadata, "nbgrader": 0} == {**cell.metadata, "nbgrader": 0}
        assert not given.get("outputs")
    assert release.metadata == learner.metadata


def test_the_release_holds_no_solution_and_no_hidden_check(course, rloo):
    text = "\n".join(cell.source for cell in read(course, "release").cells)
    assert "BEGIN" not in text and "def hidden_" not in text and "def _spec" not in text
    assert len(hidden_lines(course)) > 60
    for region in regions(rloo.algorithm.text):
        assert f'raise NotImplementedError("TODO {region.number}: {region.title}")' in text
    source = "\n".join(cell.source for cell in read(course, "source").cells)
    assert source.count("BEGIN HIDDEN TESTS") == source.count("BEGIN SOLUTION") == 4


def test_the_gradebook_knows_one_assignment_whatever_the_language(course, chinese_course):
    """Same cells, same points, same text of every cell that nbgrader compares or puts back."""
    def cells(folder):
        with sqlite3.connect(folder / "gradebook.db") as database:
            return (database.execute("SELECT name, cell_type, source, checksum, locked FROM source_cell ORDER BY name").fetchall(),
                    database.execute("SELECT name, max_score FROM base_cell JOIN grade_cells USING (id) ORDER BY name").fetchall())

    source_cells, points = cells(course)
    assert (source_cells, points) == cells(chinese_course)
    assert len(source_cells) == 10 and sum(score for _, score in points) == 12


# Feedback


def leaky_notebook() -> nbformat.NotebookNode:
    """A graded notebook whose outputs show hidden code: in a traceback with colors, and in a line about an error."""
    source = "def check_a(answers): ...\n### BEGIN HIDDEN TESTS\ndef hidden_a(answers, rng):\n    expected = spec.a(rng.normal(3))\n" \
             "### END HIDDEN TESTS\nrun_checks(globals(), 'a')"
    red, plain = "\x1b[0;31m", "\x1b[0m"
    outputs = [
        nbformat.v4.new_output("stream", text="✗ hidden_a\n  TypeError  in line | 出错行: expected = spec.a(rng.normal(3))\n"),
        nbformat.v4.new_output("error", ename="KeyboardInterrupt", evalue="", traceback=[
            f"Cell In[1], line 6\n      5 {red}###{plain} END HIDDEN TESTS\n----> 6 run_checks(globals(), 'a')",
            f"File {red}/usr/lib/python3/advantagelab/checking/run.py:79{plain}, in judge\n---> 79 check(*arguments)",
            f"Cell In[1], line 4\n----> 4 {red}expected{plain} = {red}spec{plain}.a(rng.normal(3))",
            "Cell In[2], line 2\n----> 2 while True:", "KeyboardInterrupt: "]),
    ]
    metadata = {"nbgrader": {"grade": True, "grade_id": "check-a", "points": 1, "solution": False, "locked": True, "schema_version": 3}}
    return nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source, metadata=metadata, outputs=outputs)])


def test_feedback_keeps_the_learners_frames_and_drops_hidden_code_from_outputs():
    stock, _ = ClearHiddenTests().preprocess(leaky_notebook(), {})
    assert "rng.normal(3)" in str(stock.cells[0].outputs)  # nbgrader's own leaves it there
    cleaned, _ = HideHiddenChecks().preprocess(leaky_notebook(), {})
    stream, error = cleaned.cells[0].outputs
    assert stream.text == "✗ hidden_a\n  TypeError  in line | 出错行: …\n"
    assert error.traceback == ["Cell In[2], line 2\n----> 2 while True:", "KeyboardInterrupt: "]
    assert cleaned.cells[0].source == "def check_a(answers): ...\nrun_checks(globals(), 'a')"


def test_widgets_and_tags_of_graded_cells_are_dropped(rloo):
    notebook = build_notebook(rloo, "en", "learner")
    save_as_colab(notebook)
    assert "state" not in notebook.metadata.widgets["application/vnd.jupyter.widget-state+json"]
    cleaned, _ = CleanSubmission().preprocess(notebook, {})
    assert "widgets" not in cleaned.metadata and cleaned.metadata.advantagelab.language == "en"
    tagged = [cell for cell in cleaned.cells if "tags" in cell.metadata]
    assert tagged and not [cell for cell in tagged if "nbgrader" in cell.metadata]


# The stock flow


def tag_all_cells(notebook: nbformat.NotebookNode) -> None:
    """With the tags of cells that are not run: nbclient's own, and the one in the configuration."""
    for cell in notebook.cells:
        cell.metadata.tags = ["demo", "skip-execution"]


def without_a_check_cell(notebook: nbformat.NotebookNode) -> None:
    notebook.cells = [cell for cell in notebook.cells if cell.id != "check-leave-one-out-advantages"]


@pytest.fixture(scope="module")
def graded(course, rloo):
    """(submissions, scores) of a small class, by stock autograde and generate_feedback; the files lie in `course`."""
    right = solutions(rloo)

    learner = {language: build_notebook(rloo, language, "learner") for language in ("en", "zh")}

    def one(student, language, answers=right, **more):
        return submission(rloo, learner[language], student, "", answers, **more)

    submissions = [
        one("en-right", "en", written=WRITTEN), one("zh-学号", "zh", written=WRITTEN), one("en-untouched", "en", answers={}),
        one("zh-untouched", "zh", answers={}), one("zh-colab", "zh", written=WRITTEN, edit=save_as_colab),
        one("en-tagged", "en", answers={}, edit=tag_all_cells),
        one("en-no-check", "en", answers={**right, 1: "sequence_logps = token_logps.sum(dim=-1)"}, wrong=[1], edit=without_a_check_cell),
        one("zh-stderr", "zh", {**right, 3: f'logging.warning("group sizes")\n{right[3]}'}, written=WRITTEN, edit=log_to_stderr),
    ]
    demo.hand_in(course, RLOO, submissions)
    return submissions, autograde(course, submissions)


def autograde(folder: Path, submissions: list[Submission]) -> dict[str, Score]:
    """By stock nbgrader, half of the class in a process of its own, and its feedback."""
    def share(half: list[Submission]) -> None:
        others = ",".join(submission.student for submission in submissions if submission not in half)
        run_nbgrader(folder, "autograde", RLOO, f"--CourseDirectory.student_id_exclude={others}", "--Execute.timeout=60")

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(share, (submissions[0::2], submissions[1::2])))
    run_nbgrader(folder, "generate_feedback", RLOO)
    return demo.scores(f"sqlite:///{folder / 'gradebook.db'}", RLOO, submissions)


def test_scores_are_as_expected_in_both_languages(graded):
    submissions, scores = graded
    for handed_in in submissions:
        assert scores[handed_in.student] == handed_in.expected, handed_in.student
    # zh-stderr: by itself, nbgrader gives no points to a check cell that writes to stderr.
    names = ("en-right", "zh-学号", "zh-colab", "en-no-check", "zh-untouched", "en-tagged", "zh-stderr")
    assert [scores[name].total for name in names] == [10, 10, 10, 8, 0, 0, 10]


def test_untouched_is_the_same_in_both_languages_and_every_message_names_its_todo(course, graded, rloo):
    english, chinese = (read(course, f"autograded/{student}") for student in ("en-untouched", "zh-untouched"))
    for number, region in enumerate(regions(rloo.algorithm.text), 1):
        key = f"check-{region.function.replace('_', '-')}"
        words, english_lines, chinese_lines = region.title.split(" | "), *(lines_of(printed(one, key)) for one in (english, chinese))
        assert f"TODO {number}: {words[0]}." in english_lines[0] and f"TODO {number}：{words[1]}。" in english_lines[1]
        assert english_lines == chinese_lines[::-1]  # the learner's language comes first
    for notebook in (english, chinese):
        code = [cell for cell in notebook.cells if cell.cell_type == "code" and "demo" not in cell.metadata.get("tags", [])]
        assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))  # Run All went through
    assert graded[1]["zh-untouched"].untouched == graded[1]["en-untouched"].untouched != frozenset()


def test_a_chinese_submission_stays_chinese(course, graded, rloo):
    autograded = read(course, "autograded/zh-学号")
    prose = {cell.id: cell.source for cell in build_notebook(rloo, "zh", "learner").cells if cell.cell_type == "markdown"}
    kept = {cell.id: cell.source for cell in autograded.cells if cell.cell_type == "markdown"}
    assert kept == {**prose, "written-answer": WRITTEN}
    assert 'language = "zh"' in autograded.cells[1].source


def test_feedback_is_readable_and_shows_no_hidden_check(course, graded):
    hidden = hidden_lines(course)
    for handed_in in graded[0]:
        text = feedback(course, handed_in.student)
        assert f"{RLOO} (Score: {graded[1][handed_in.student].total:.1f} / 12.0)" in text
        assert not [line for line in hidden if line in text] and "HIDDEN TESTS" not in text and "def _spec" not in text
        prose = "\n".join(cell.source for cell in handed_in.notebook.cells if cell.cell_type == "markdown")
        headings = re.findall(r"^##+ ([^$`\n]+)$", prose, re.M)
        assert len(headings) > 10 and not [heading for heading in headings if heading not in text]
        assert "\x1b" not in text
    untouched, wrong = feedback(course, "zh-untouched"), feedback(course, "en-no-check")
    assert untouched.count("No response.") == 5 and "尚未完成：TODO 3：" in untouched
    assert "✗ check_aggregate_sequence_logps_leaves_padding_out" in wrong and "was missing from the submission" in wrong


@pytest.fixture(scope="module")
def graded_by_ours(chinese_course, graded):
    """The scores of the same class, by our grader: in the other course, whose gradebook is the same."""
    demo.hand_in(chinese_course, RLOO, graded[0])
    return demo.grade(chinese_course, "rloo", RLOO, graded[0])


def test_our_grader_gives_the_same_scores(graded, graded_by_ours):
    assert graded_by_ours == graded[1]


def test_colab_s_name_of_a_student_reaches_no_file(course, chinese_course, graded, graded_by_ours):
    """Colab writes it into each cell that was run: into what was handed in, and from there nowhere."""
    for folder in (course, chinese_course):
        places = {file: file.relative_to(folder).parts[0] for file in folder.rglob("*") if file.is_file()}
        named = {places[file] for file in places if re.search(b"Student Name|0123456789", file.read_bytes())}
        assert named == {"submitted"} and {"autograded", "feedback" if folder == course else "grading"} <= set(places.values())


# The demo


def test_the_demo_class_holds_every_case_once(rloo):
    submissions = demo_class(rloo)
    assert len({handed_in.student for handed_in in submissions}) == len(submissions) == 15
    assert {handed_in.language for handed_in in submissions} == {"en", "zh"}
    assert sorted(handed_in.expected.total for handed_in in submissions) == [0, 0, 5, 5, 7, 7, 8, 8, 8, 8, 10, 10, 10, 10, 10]


def test_the_demo_fails_when_a_score_differs(rloo, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(demo, "init_course", lambda *arguments: None)
    monkeypatch.setattr(demo, "hand_in", lambda *arguments: None)
    expected = {handed_in.student: handed_in.expected for handed_in in demo_class(rloo)}
    monkeypatch.setattr(demo, "grade", lambda *arguments: expected)
    assert demo.run_demo(tmp_path) == 0 and "DIFFERS" not in capsys.readouterr().out
    right = expected["en-right"]
    fewer_points, no_response = {**right.points, "check-rloo-policy-loss": 2}, frozenset({"written-answer"})
    for other in (Score(fewer_points, right.untouched), Score(right.points, no_response)):
        monkeypatch.setattr(demo, "grade", lambda *arguments, other=other: {**expected, "en-right": other})
        assert demo.run_demo(tmp_path) == 1
        said = capsys.readouterr().out
        assert said.count("DIFFERS") == 1 and "14 of 15 as expected" in said


def test_nbgraders_log_is_shown_when_it_fails(course):
    with pytest.raises(CourseError, match="No notebooks were matched"):
        run_nbgrader(course, "autograde", "04_no_such_lesson")
