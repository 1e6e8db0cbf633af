"""What breaks stock nbgrader, a case a row of the table of its failures: the file that is handed in, and the points it must get."""

import json
from collections.abc import Callable
from dataclasses import dataclass

from tests.grading import POINTS, RLOO, SHAPE, SUM, WRITTEN
from tests.intake_cases import FIRST, GIVEN, SECOND, cell, encode, finished, insert_after, own
from tests.test_intake import CASES

RIGHT = {**POINTS, WRITTEN: None}  # the written answer waits for a person
UNGRADABLE = dict.fromkeys(POINTS)


@dataclass(frozen=True)
class Malformed:
    """points: by grade id; None where a person has to look."""

    content: Callable[[], bytes]
    points: dict[str, float | None]
    file: str = f"{RLOO}.ipynb"


def without(*questions: str) -> dict[str, float | None]:
    return RIGHT | dict.fromkeys(questions, 0.0)


def damaged(name: str, language: str = "en") -> Callable[[], bytes]:
    """By one of the damages that the tests of the intake know."""
    def content() -> bytes:
        notebook = finished(language)
        CASES[name].damage(notebook)
        return encode(notebook)
    return content


def with_cell(source: str) -> Callable[[], bytes]:
    def content() -> bytes:
        notebook = finished()
        insert_after(notebook, GIVEN, own(source))
        return encode(notebook)
    return content


def with_lines_in(key: str, lines: str) -> Callable[[], bytes]:
    """Below an answer."""
    def content() -> bytes:
        notebook = finished()
        answer = cell(notebook, key)
        answer["source"] = "".join(answer["source"]) + f"\n\n{lines}"
        return encode(notebook)
    return content


def wrapped(function: str, line: str) -> str:
    """A function that does something else first."""
    return f"_right = {function}\ndef {function}(*arguments, **named):\n    {line}\n    return _right(*arguments, **named)"


IGNORES_INTERRUPTS = "import signal\nfor number in (signal.SIGINT, signal.SIGALRM): signal.signal(number, signal.SIG_IGN)\nwhile True: pass"
SWALLOWS = "while True:\n        try:\n            while True: pass\n        except BaseException: pass"
WARNS = "import sys, warnings; warnings.warn('slow'); print('x', file=sys.stderr)"
AGGREGATE = FIRST.replace("-", "_")

OFTEN = {
    "right": Malformed(lambda: encode(finished()), RIGHT),
    "syntax error": Malformed(damaged("a_syntax_error_in_one_answer"), without(SUM)),
    "deleted check": Malformed(damaged("a_deleted_check"), RIGHT),
    "UTF-16": Malformed(lambda: encode(finished("zh")).decode().encode("utf-16"), RIGHT),
    "copied answer": Malformed(damaged("a_copied_answer_left_as_it_was_handed_out"), RIGHT),
    "copies that differ": Malformed(damaged("two_different_copies_and_no_original"), RIGHT | {SUM: None}),
    "foreign schema versions": Malformed(damaged("foreign_schema_versions"), RIGHT),
    "points removed": Malformed(damaged("points_removed_or_raised"), RIGHT),
    "sys.exit": Malformed(with_cell("import sys\nsys.exit()"), RIGHT),
    "os._exit": Malformed(with_cell("import os\nos._exit(0)"), RIGHT),
    "os._exit in a function": Malformed(with_lines_in(FIRST, wrapped(AGGREGATE, "import os; os._exit(0)")), without(SUM)),
    "warnings": Malformed(with_lines_in(FIRST, wrapped(AGGREGATE, WARNS)), RIGHT),
    "notebook format 3": Malformed(damaged("notebook_format_3"), RIGHT),
    "metadata and ids lost": Malformed(damaged("all_metadata_and_ids_lost"), RIGHT),
    "other file name": Malformed(lambda: encode(finished("zh")), RIGHT, file="rloo.zh.ipynb"),
    "empty": Malformed(lambda: b"", UNGRADABLE),
    "cut": Malformed(lambda: encode(finished())[:-4000], UNGRADABLE),
    "other JSON": Malformed(lambda: json.dumps({"hello": 1}).encode(), UNGRADABLE),
}
# Those that wait for time limits, and those of which the tests of the intake know more.
SELDOM = {
    "blank": Malformed(damaged("blank"), dict.fromkeys(POINTS, 0.0)),
    "partial": Malformed(damaged("a_deleted_answer"), without(SHAPE)),
    "endless loop in a cell": Malformed(with_cell("while True: pass"), RIGHT),
    "endless loop in a function": Malformed(with_lines_in(FIRST, wrapped(AGGREGATE, "while True: pass")), without(SUM)),
    "loop that swallows interrupts": Malformed(with_lines_in(FIRST, wrapped(AGGREGATE, SWALLOWS)), without(SUM)),
    "loop that no interrupt reaches": Malformed(with_cell(IGNORES_INTERRUPTS), RIGHT),
    "deleted answer and check": Malformed(damaged("a_deleted_answer_with_its_check"), without(SHAPE)),
    "renamed grade id": Malformed(damaged("a_renamed_grade_id"), RIGHT),
    "edited check": Malformed(damaged("an_edited_check"), RIGHT),
    "cells of another type": Malformed(damaged("cells_of_another_type"), RIGHT),
    "byte order mark": Malformed(lambda: b"\xef\xbb\xbf" + encode(finished()), RIGHT),
    "duplicate cell ids": Malformed(damaged("duplicate_cell_ids"), RIGHT),
    "copied answer that was worked in": Malformed(damaged("the_copy_is_the_one_that_was_worked_in"), RIGHT),
    "copied check": Malformed(damaged("a_copied_check"), RIGHT),
    "extra key": Malformed(damaged("an_extra_key_in_nbgraders_metadata"), RIGHT),
    "printed lines": Malformed(with_cell("for number in range(400_000): print(number)"), RIGHT),
    "printed lines in the file": Malformed(damaged("four_hundred_thousand_printed_lines"), RIGHT),
    "fifty megabytes of output": Malformed(damaged("fifty_megabytes_of_output"), RIGHT),
    "three gigabytes": Malformed(with_cell("large = torch.empty(3 * 2**28)\nlarge[:: 2**20] = 1"), RIGHT),
    "sys.exit in a function": Malformed(with_lines_in(FIRST, wrapped(AGGREGATE, "raise SystemExit")), without(SUM)),
    "Colab": Malformed(damaged("colab"), RIGHT),
    "conda kernel": Malformed(damaged("a_conda_kernel"), RIGHT),
    "metadata lost": Malformed(damaged("all_metadata_lost"), RIGHT),
    "Chinese": Malformed(lambda: encode(finished("zh")), RIGHT),
    "Chinese prose": Malformed(damaged("prose_of_the_other_language"), RIGHT),
    "value above the points": Malformed(lambda: encode(_with_value_in_check()), RIGHT),
    "VS Code": Malformed(damaged("vs_code"), RIGHT),
    "Kaggle": Malformed(damaged("kaggle", "zh"), RIGHT),
    "moved answers": Malformed(damaged("moved_answers_stay_where_they_are"), RIGHT),
    "split answer": Malformed(damaged("an_answer_split_within_the_function"), RIGHT),
    "merged answers": Malformed(damaged("two_answers_merged"), RIGHT),
}


def _with_value_in_check() -> dict:
    notebook = finished()
    cell(notebook, f"check-{SECOND}")["source"] = "100"
    return notebook

