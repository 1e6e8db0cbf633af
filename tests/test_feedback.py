"""What a student gets back: their language, their points, their text and nothing of the grader's, on a page that loads nothing."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_output

from advantagelab.checking import message
from autograder.feedback import LONGEST, WORDS, feedback_page, marks_of
from autograder.record import Marks, QuestionRecord, Record
from lessons._build.course import read_course
from lessons._build.lesson import read_lesson
from tests.grading import LOSS, POINTS, SUM, WRITTEN, answer_keys, check, make_record, ungradable_record

HOSTILE = "</pre></code><script>stolen()</script><img src=x onerror=stolen()> &lt;b&gt; \x1b[31mred\x1b[0m \x00\x07 ' \" ]]>"


class Page(HTMLParser):
    def __init__(self, text: str):
        super().__init__()
        self.tags, self.text, self._style = [], "", False
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        self._style = tag == "style"

    def handle_data(self, data):
        self.text += "" if self._style else data


def notebook(sources: dict[str, str] | None = None, outputs: dict[str, list] | None = None) -> nbformat.NotebookNode:
    """The answers of a graded notebook, by grade id."""
    cells = []
    for key, answer in answer_keys().items():
        source = (sources or {}).get(key, f"# answer to {key}")
        if key == WRITTEN:
            cells.append(new_markdown_cell(source, id=answer))
        else:
            cells += [new_code_cell(source, id=answer, outputs=(outputs or {}).get(key, [])),
                      new_code_cell("run_checks(...)", id=key, outputs=[new_output("stream", text="output of the check cell")])]
    return nbformat.v4.new_notebook(cells=cells)


def with_checks(record: Record, key: str, *checks, note=None) -> Record:
    return replace(record, questions=tuple(replace(question, checks=checks, note=note) if question.key == key else question
                                           for question in record.questions))


def page(record: Record, graded=None, marks=None, comments=None, late_penalty: float = 0.0) -> Page:
    text = feedback_page(record, graded or notebook(), marks if marks is not None else marks_of(record), comments or {}, late_penalty)
    made = Page(text)
    assert_loads_nothing(text, made)
    return made


def assert_loads_nothing(text: str, made: Page) -> None:
    assert {tag for tag, _ in made.tags} <= set(
        "html head meta title style body h1 h2 p b br code pre ul li div span details summary table tr th td".split())
    attributes = {name for _, given in made.tags for name in given}
    assert attributes <= {"lang", "charset", "name", "content", "http-equiv", "class", "open"}
    style = text[text.index("<style>"):text.index("</style>")]
    assert "url(" not in style and "@" not in style and "default-src 'none'" in text[:text.index("<style>")]


# Points


@pytest.mark.parametrize("language, line", [
    ("en", "Score: 10 / 12 · 2 points wait for a person"), ("zh", "得分：10 / 12 · 还有 2 分等待人工批改")])
def test_points_and_what_waits(language, line):
    made = page(make_record(language=language))
    assert line in made.text
    assert re.findall(r"[:：] ?([\d.–]+) / (\d+)", made.text) == [("10", "12"), ("2", "2"), ("2", "2"), ("3", "3"), ("3", "3"), ("–", "2")]


def test_a_person_s_points_and_words_count_more_than_ours():
    marks = {key: Marks(points) for key, points in POINTS.items()} | {WRITTEN: Marks(None, 1.5), LOSS: Marks(3.0, 1.0, 0.5)}
    comments = {WRITTEN: "well said\n<b>but</b>", answer_keys()[LOSS]: "用词不准"}
    made = page(make_record(), marks=marks, comments=comments)
    assert "Score: 10 / 12" in made.text and "wait" not in made.text
    assert "rloo_policy_loss: 1.5 / 3 · given by a person · 0.5 of them extra" in made.text
    assert "Comment: well said\n<b>but</b>" in made.text and "用词不准" in made.text


def test_lateness_is_shown():
    assert "Score: 7.5 / 12 · 2 points wait for a person · late: −2.5" in page(make_record(), late_penalty=2.5).text
    assert "迟交：−2.5" in page(make_record(language="zh"), late_penalty=2.5).text
    assert "Score: 0 / 12" in page(make_record(), late_penalty=99).text


@pytest.mark.parametrize("language", ["en", "zh"])
def test_of_several_written_questions_each_says_which_one_it_is(language):
    """In the words of the lesson. Where there is one, it needs none."""
    lesson = read_lesson(read_course(), "training_lab")
    keys = [cell.key for cell in lesson.cells if cell.role == "question"]
    leads = [re.match(r"\*\*(.+?)[.。]?\*\*", line)[1] for cell in lesson.cells if cell.lang == language and not cell.only
             for line in cell.source.splitlines() if re.match(r"\*\*\d", line)]
    questions = tuple(QuestionRecord(key, key, None, 2.0, None, False) for key in keys)
    record = make_record(assignment="07_training_lab", lesson="training_lab", language=language, questions=questions)
    text = feedback_page(record, nbformat.v4.new_notebook(), {keys[1]: Marks(None, 1.0)}, {})
    word, colon = WORDS["question"][language == "zh"], ": " if language == "en" else "："
    assert len(leads) == len(keys) == 5
    assert re.findall(r"<h2>(.*?)</h2>", text) == [
        f"{word} · {lead}{colon}" + (f"1 / 2 · {WORDS['by_person'][language == 'zh']}" if number == 1 else "– / 2")
        for number, lead in enumerate(leads)]
    assert f"<h2>{word}{colon}– / 2</h2>" in feedback_page(make_record(language=language), notebook(), {}, {})


@pytest.mark.parametrize("repair, score, unfolded", [
    (answer_keys()[SUM], 0.0, True), (answer_keys()[SUM], 2.0, False), (answer_keys()[LOSS], 0.0, False), (SUM, 0.0, False)])
def test_what_was_put_right_is_in_sight_where_it_may_have_cost_points(repair, score, unfolded):
    made = page(make_record(scores={SUM: score}, repairs=(message(en=f"Something: other, {repair}.", zh="某事。"),)))
    (fold,) = [given for tag, given in made.tags if tag == "details" and given.get("class") == "small"]
    assert ("open" in fold) == unfolded


def test_an_ungradable_file_is_no_zero_and_speaks_both_languages():
    made = page(ungradable_record())
    assert "Score | 得分: – / 12" in made.text and "not a score of 0" in made.text and "不是 0 分" in made.text
    assert "The file is empty. | 文件是空的。" in made.text and "# answer" not in made.text and "0 / " not in made.text.replace("10 / ", "")


def test_points_given_by_hand_to_an_ungradable_file_are_shown():
    marks = {**dict.fromkeys(POINTS, Marks(None, waits=True)), SUM: Marks(None, 2.0)}
    assert "Score | 得分: 2 / 12" in page(ungradable_record(), marks=marks).text


def test_an_answer_that_is_not_there():
    made = page(make_record(scores={SUM: 0.0, WRITTEN: 0.0}, untouched=(SUM, WRITTEN)))
    assert made.text.count("Not answered.") == 2 and f"# answer to {SUM}" not in made.text and f"# answer to {LOSS}" in made.text


# Checks


def test_the_first_failed_check_is_explained_and_the_others_are_named():
    checks = check("check_a", "passed"), check("check_b", "failed", "1.0", "2.0"), check("check_c", "failed", "3.0", "4.0")
    made = page(with_checks(make_record(scores={LOSS: 0.0}), LOSS, *checks))
    assert "1 of 3 checks passed" in made.text and "Begin with the first one" in made.text
    assert "check_b says why." in made.text and "expected1.0" in made.text and "got2.0" in made.text
    assert "check_c" in made.text and "check_c says why." not in made.text and "3.0" not in made.text
    classes = [given["class"] for tag, given in made.tags if tag == "li"]
    assert classes == ["passed", "failed", "failed"]


@pytest.mark.parametrize("status", ["failed", "error", "open", "missing"])
def test_a_hidden_check_is_a_name_and_a_hint(status):
    """Even a record that held its numbers would not show them."""
    checks = check("check_a", "passed"), check("hidden_b", status, "secret", "secret")
    made = page(with_checks(make_record(scores={LOSS: 0.0}), LOSS, *checks))
    assert "hidden_b (hidden check)" in made.text and "hidden_b says why." in made.text and "secret" not in made.text


def test_where_there_is_no_function_no_order_is_advised():
    made = page(with_checks(make_record(scores={LOSS: 0.0}), LOSS, check("check_a", "missing"), check("check_b", "missing")))
    assert "check_a says why." in made.text and "check_b says why." not in made.text and "Begin with" not in made.text


@pytest.mark.parametrize("language, title", [("en", "REINFORCE Leave-One-Out"), ("zh", "REINFORCE 留一法")])
def test_the_page_says_which_lesson_and_whose(language, title):
    made = page(make_record("学号 甲", language=language))
    assert f"{title}\n03_rloo · 学号 甲" in made.text


def test_chinese_is_chinese_throughout():
    record = with_checks(make_record(scores={LOSS: 0.0}, language="zh", repairs=(message(en="Repaired.", zh="已修正。"),)), LOSS,
                         check("check_a", "failed", "1", "2"), check("hidden_b"), note=message(en="Stopped.", zh="已中止。"))
    made = page(record)
    assert "check_a 说明原因。" in made.text and "已修正。" in made.text and "已中止。" in made.text and "隐藏检查" in made.text
    assert not [english for english, _ in WORDS.values() if english.partition("{")[0].strip() and english.partition("{")[0] in made.text]
    assert ("html", {"lang": "zh-Hans"}) in made.tags


def test_what_comes_from_the_grader_stays_with_it():
    """No seed, no path, no traceback, and no output of a check cell, where a hidden check's numbers may stand."""
    record = with_checks(make_record(seed=987654321, scores={LOSS: 0.0}), LOSS, check("hidden_b", "error", None, "/grader/checks.py"))
    text = page(record).text
    assert "987654321" not in text and "/grader" not in text and "output of the check cell" not in text and "Traceback" not in text
    assert "0.1.0+abc" in text and "bubblewrap" in text and "a" * 16 in text and "a" * 17 not in text


# What the student wrote


def test_all_that_a_student_wrote_is_text():
    outputs = {SUM: [new_output("stream", text=HOSTILE), new_output("error", ename="E", evalue="", traceback=[HOSTILE])]}
    record = with_checks(make_record(HOSTILE, scores={LOSS: 0.0}, file=HOSTILE, isolation=HOSTILE, grader=HOSTILE, graded_at=HOSTILE,
                                     repairs=(message(en=HOSTILE, zh=HOSTILE),)),
                         LOSS, check(f"check_{HOSTILE}", "failed", HOSTILE, HOSTILE), note=message(en=HOSTILE, zh=HOSTILE))
    made = page(record, notebook({SUM: HOSTILE, WRITTEN: HOSTILE}, outputs), comments={WRITTEN: HOSTILE})
    assert made.text.count("<script>stolen()</script>") > 10 and "&lt;b&gt;" in made.text


def test_signs_to_a_terminal_are_left_out():
    made = page(make_record(), notebook({SUM: "x = '\x1b[31mred\x1b[0m\x00\x07'\n\ty = 1"}))
    assert "x = 'red'\n\ty = 1" in made.text


@pytest.mark.parametrize("kind", ["answer", "output", "got", "note"])
def test_long_text_is_cut(kind):
    flood = "x" * 3_000_000
    graded = notebook({SUM: flood} if kind == "answer" else {}, {SUM: [new_output("stream", text=flood)]} if kind == "output" else {})
    record = with_checks(make_record(scores={LOSS: 0.0}), LOSS, check("check_a", "failed", None, flood if kind == "got" else ""),
                         note=message(en=flood, zh=flood) if kind == "note" else None)
    made = page(record, graded)
    assert "x" * LONGEST + "\n… cut here" in made.text and len(made.text) < LONGEST + 5_000


def test_a_notebook_without_the_cells_still_gives_a_page():
    made = page(make_record(), nbformat.v4.new_notebook())
    assert "Score: 10 / 12" in made.text and "Your answer" not in made.text
