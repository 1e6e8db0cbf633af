"""An instructor's path: formgrader over a small graded class, a submission marked by hand, and the page that its student gets."""

import re

import pytest
from nbformat.v4 import new_output

from advantagelab.checking import message
from autograder.commands import feedback_command
from autograder.course import init_course
from autograder.demo import grade, hand_in
from autograder.demo_class import demo_class
from autograder.feedback import feedback_page, marks_of
from lessons._build.answers import wrong_answers
from lessons._build.course import LANGUAGES, read_course
from lessons._build.lesson import read_lesson
from tests.browser.accessibility import assert_accessible
from tests.browser.jupyter import PATIENCE, TOKEN, screenshot, server
from tests.grading import LOSS, SHAPE, SUM, answer_keys, check, make_record, ungradable_record
from tests.needs import chromium, cjk_font
from tests.test_feedback import notebook, with_checks

CLASS = ("en-right", "zh-missing-zero", "en-two-todos")
MARKED, MISTAKE, COMMENT = "zh-missing-zero", "missing_reward_is_zero", "NaN 不是 0：再想想。"


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """A course of one lesson, graded: (folder, assignment, submissions)."""
    chromium()
    cjk_font()
    folder = tmp_path_factory.mktemp("course") / "course"
    lessons = read_course()
    lesson = read_lesson(lessons, "rloo")
    submissions = [each for each in demo_class(lesson) if each.student in CLASS]
    init_course(lessons, folder, "en", ["rloo"])
    hand_in(folder, lesson.entry.notebook, submissions)
    given = grade(folder, "rloo", lesson.entry.notebook, submissions)
    assert given == {each.student: each.expected for each in submissions}
    return folder, lesson.entry.notebook, submissions


def test_from_the_list_of_assignments_to_a_student_s_feedback(course, new_page):
    folder, assignment, submissions = course
    page = new_page("en")
    with server(folder) as address:
        page.goto(f"{address}/formgrader?token={TOKEN}")
        row = page.locator("tr", has=page.get_by_role("link", name=assignment, exact=True))
        row.wait_for(timeout=PATIENCE)
        assert row.locator(".num-submissions").inner_text().strip() == str(len(CLASS))
        screenshot(page, "formgrader-assignments")

        row.locator(".num-submissions a").click()
        for submission in submissions:
            line = page.locator("tr", has=page.locator(".student-id", has_text=submission.student))
            line.wait_for(timeout=PATIENCE)
            assert line.locator(".score").inner_text() == f"{submission.expected.total:g} / 12"
        screenshot(page, "formgrader-submissions")

        page.goto(f"{address}/formgrader/gradebook/{assignment}/{assignment}")
        page.get_by_role("link", name="Submission #1").wait_for(timeout=PATIENCE)
        page.get_by_role("button", name="Show All Names").click()
        page.get_by_role("link", name=MARKED).click()
        page.locator("#written-answer").wait_for(timeout=PATIENCE)
        assert page.locator(".tabbable.score").count() == 5
        (mistake,) = [answer for answer in wrong_answers(read_lesson(read_course(), "rloo").folder) if answer.name == MISTAKE]
        assert f"✗ {mistake.caught_by}" in page.locator("body").inner_text()
        with page.expect_response(lambda answer: "/api/grade/" in answer.url and answer.request.method == "PUT"):
            page.locator("#written-answer").fill("1.5")
            page.locator("#written-answer").press("Tab")
        with page.expect_response(lambda answer: "/api/comment/" in answer.url and answer.request.method == "PUT"):
            page.locator("#written-answer-comment").fill(COMMENT)
            page.locator("#written-answer-comment").press("Tab")
        page.locator("#written-answer").scroll_into_view_if_needed()
        screenshot(page, "formgrader-submission")

    assert feedback_command(folder, None, None) == 0
    for submission in submissions:
        page.goto((folder / "feedback" / submission.student / assignment / f"{assignment}.html").as_uri())
        said = page.locator("body").inner_text()
        total = submission.expected.total + (1.5 if submission.student == MARKED else 0)
        assert re.search(rf"(?:Score: |得分：){total:g} / 12", said)
        assert (COMMENT in said) == (submission.student == MARKED)
        assert_accessible(page, "body")
        screenshot(page, f"feedback-{submission.student}")


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_page_with_all_that_a_page_can_say_is_accessible(new_page, language):
    checks = check("check_a", "passed"), check("check_b", "failed", "1.0", "2.0"), check("hidden_c", "error")
    repairs = (message(en="Repaired.", zh="已修正。"),)
    record = make_record(scores={LOSS: 0.0}, untouched=(SUM,), language=language, repairs=repairs)
    record = with_checks(record, LOSS, *checks, note=message(en="Stopped.", zh="已中止。"))
    printed = notebook(outputs={SHAPE: [new_output("stream", text="printed")]})
    full = feedback_page(record, printed, marks_of(record), {answer_keys()[LOSS]: "A comment. 评语。"}, late_penalty=2.0)
    ungradable = feedback_page(ungradable_record(), notebook(), marks_of(ungradable_record()), {})
    page = new_page(language)
    for made in (full, ungradable):
        page.set_content(made)
        page.locator("details").evaluate_all("all => all.forEach(each => each.open = true)")
        assert_accessible(page, "body")
