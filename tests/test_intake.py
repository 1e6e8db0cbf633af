"""What editors, platforms and students do to a notebook, case by case: the answers come back, or the reason is said."""

import json
import re
from copy import deepcopy
from dataclasses import dataclass, field

import nbformat
import pytest

from autograder.demo_class import WRITTEN, save_as_colab, solutions, submission
from autograder.intake import read_submission
from autograder.intake.release import release_of
from autograder.submission import Ungradable
from lessons._build.lesson import read_lesson
from lessons._build.notebook import build_notebook
from tests.intake_cases import (
    ANSWERS,
    CHECK,
    ESSAY,
    FIRST,
    FOURTH,
    GIVEN,
    SECOND,
    THIRD,
    assert_sound,
    cell,
    copy_of,
    encode,
    finished,
    insert_after,
    own,
    place,
    rloo,
    strip_metadata,
    text,
)

LESSON = rloo()
RELEASE = release_of(LESSON)
SOLVED = {key: text(cell(finished(), key)) for key in ANSWERS}
STUB = {key: RELEASE.cells[key].source for key in ANSWERS}
FUNCTION = {key: RELEASE.cells[key].function for key in ANSWERS}
MARKER = "# mine, once more"


def edited(key: str) -> str:
    """Another answer to the same TODO."""
    return f"{SOLVED[key]}\n\n{MARKER}\nseen = 1"


@dataclass
class Case:
    """A damage, and what comes out of it.

    changed: code that is not as the student's finished notebook has it, by key; None: the cell does not run
    added: the sources of the student's own cells that run; said: words of the repairs, none: the file is clean
    """

    damage: object
    changed: dict = field(default_factory=dict)
    added: list = field(default_factory=list)
    said: tuple = ()
    untouched: set = field(default_factory=set)
    ambiguous: set = field(default_factory=set)
    written: str = WRITTEN
    order: list | None = None  # of the keys that run


CASES: dict[str, Case] = {}


def case(**expected):
    def keep(damage):
        CASES[damage.__name__] = Case(damage, **expected)
        return damage
    return keep


# Nothing is wrong


@case()
def as_handed_out(notebook):
    pass


@case()
def run_in_jupyter_with_outputs_and_widget_state(notebook):
    for number, one in enumerate(notebook["cells"]):
        if one["cell_type"] == "code":
            one["execution_count"], one["outputs"] = number, [{"output_type": "stream", "name": "stdout", "text": ["ok\n"]}]
    notebook["metadata"]["widgets"] = {"application/vnd.jupyter.widget-state+json": {"state": {"a": {}}, "version_major": 2}}


@case()
def sources_as_lists_of_lines(notebook):
    for one in notebook["cells"]:
        one["source"] = text(one).splitlines(keepends=True)


@case()
def windows_line_ends(notebook):
    for one in notebook["cells"]:
        one["source"] = text(one).replace("\n", "\r\n")


@case()
def a_conda_kernel(notebook):
    notebook["metadata"]["kernelspec"] = {"display_name": "conda env:torch", "language": "python", "name": "conda-env-torch-py"}
    notebook["metadata"]["language_info"] = {"name": "python", "version": "3.12.1", "codemirror_mode": {"name": "ipython"}}


@case()
def vs_code(notebook):
    for one in notebook["cells"]:
        one["metadata"]["vscode"] = {"languageId": "python"}


@case()
def played_with_a_demo_and_a_widget(notebook):
    cell(notebook, "first-step")["source"] = "mask = 1\nprint(mask)"
    cell(notebook, "widget-baselines")["source"] = "widgets.baselines()  # again"


@case()
def deleted_prose_and_widgets(notebook):
    notebook["cells"] = [one for one in notebook["cells"] if one["id"] not in ("goals", "flow", "all-checks", "stop-here")]


@case()
def the_release_of_nbgrader(notebook):
    """With nbgrader's checksums, and without the cells that only the learner's notebook has."""
    notebook["cells"] = [one for one in notebook["cells"] if one["id"] != "stop-here"]
    for one in notebook["cells"]:
        one["metadata"].get("nbgrader", {}).update(checksum="0" * 32, cell_type=one["cell_type"])


@case(said=("format 4.4 was read as 4.5",))
def kaggle(notebook):
    """Its own marks in every cell, no ids."""
    notebook["metadata"]["kaggle"] = {"accelerator": "none", "dataSources": [], "isInternetEnabled": True}
    notebook["nbformat_minor"] = 4
    for number, one in enumerate(notebook["cells"]):
        one["source"] = text(one)
        one["metadata"].update(_uuid=f"{number:040x}", _cell_guid="b1076dfc", trusted=True, execution={"iopub.status.busy": "2026-11-30"})
        del one["id"]


@case()
def modelscope(notebook):
    notebook["metadata"].update(widgets={"application/vnd.jupyter.widget-state+json": {"state": {}}}, toc={"base_numbering": 1})
    for one in notebook["cells"]:
        one["metadata"].update(ExecutionIndicator={"show": True}, execution={"shell.execute_reply": "2026-11-30"}, tags=["skip-execution"])


@case()
def saved_to_github_by_colab(notebook):
    badge = own('<a href="https://colab.research.google.com/github/x"><img src="y"/></a>', "markdown")
    notebook["cells"].insert(0, {**badge, "id": "view-in-github", "metadata": {"id": "view-in-github", "colab_type": "text"}})


# Rows of the table of what breaks stock nbgrader


@case(changed=STUB, untouched={*ANSWERS, ESSAY}, written="*Write your answer here, in English or Chinese | 在此用中文或英文作答*")
def blank(notebook):
    for key in ANSWERS:
        cell(notebook, key)["source"] = STUB[key]
    cell(notebook, ESSAY)["source"] = RELEASE.cells[ESSAY].source


@case(changed={FIRST: SOLVED[FIRST] + "\n(", })
def a_syntax_error_in_one_answer(notebook):
    cell(notebook, FIRST)["source"] = SOLVED[FIRST] + "\n("


@case(said=("missing and were put back: " + CHECK,))
def a_deleted_check(notebook):
    del notebook["cells"][place(notebook, CHECK)]


@case(changed={SECOND: STUB[SECOND]}, untouched={SECOND}, said=("The answer cell is missing", "counted as not answered: " + SECOND))
def a_deleted_answer(notebook):
    del notebook["cells"][place(notebook, SECOND)]


@case(changed={SECOND: STUB[SECOND]}, untouched={SECOND}, said=("put back: check-" + SECOND, "counted as not answered: " + SECOND))
def a_deleted_answer_with_its_check(notebook):
    del notebook["cells"][place(notebook, SECOND)], notebook["cells"][place(notebook, f"check-{SECOND}")]


@case(said=("metadata was lost or wrong and was put back: " + CHECK,))
def a_renamed_grade_id(notebook):
    cell(notebook, CHECK)["metadata"]["nbgrader"]["grade_id"] = "test-1"


@case(said=("are as released again: " + CHECK,))
def an_edited_check(notebook):
    cell(notebook, CHECK)["source"] = "assert True"


@case(said=("are as released again: " + GIVEN,))
def an_edited_given_cell(notebook):
    cell(notebook, GIVEN)["source"] = f"def {GIVEN.replace('-', '_')}(*arguments):\n    pass"


@case(said=(f"changed back: {FIRST}, {CHECK}, {ESSAY}",))
def cells_of_another_type(notebook):
    cell(notebook, FIRST)["cell_type"], cell(notebook, CHECK)["cell_type"] = "markdown", "raw"
    cell(notebook, ESSAY)["cell_type"] = "code"


@case()
def duplicate_cell_ids(notebook):
    cell(notebook, FIRST)["id"], cell(notebook, SECOND)["id"] = "aaaa", "bbbb"
    for one in notebook["cells"]:
        if one["id"] in ("aaaa", "bbbb"):
            one["id"] = "same"


@case(said=("Unedited copies of the cell were left out: " + FIRST,))
def a_copied_answer_left_as_it_was_handed_out(notebook):
    insert_after(notebook, FIRST, copy_of(cell(notebook, FIRST), STUB[FIRST]))


@case(said=("Unedited copies of the cell were left out: " + FIRST,))
def the_copy_is_the_one_that_was_worked_in(notebook):
    insert_after(notebook, FIRST, copy_of(cell(notebook, FIRST)))
    cell(notebook, FIRST)["source"] = STUB[FIRST]


@case(said=("Unedited copies of the cell were left out: " + CHECK,))
def a_copied_check(notebook):
    insert_after(notebook, CHECK, copy_of(cell(notebook, CHECK)))


@case()
def foreign_schema_versions(notebook):
    cell(notebook, FIRST)["metadata"]["nbgrader"]["schema_version"] = 1
    cell(notebook, CHECK)["metadata"]["nbgrader"]["schema_version"] = 4


@case()
def an_extra_key_in_nbgraders_metadata(notebook):
    cell(notebook, FIRST)["metadata"]["nbgrader"]["bonus"] = 100


@case()
def points_removed_or_raised(notebook):
    del cell(notebook, CHECK)["metadata"]["nbgrader"]["points"]
    cell(notebook, f"check-{SECOND}")["metadata"]["nbgrader"]["points"] = 1000


@case()
def four_hundred_thousand_printed_lines(notebook):
    cell(notebook, FIRST)["outputs"] = [{"output_type": "stream", "name": "stdout", "text": ["spam\n"] * 400_000}]


@case()
def fifty_megabytes_of_output(notebook):
    cell(notebook, FIRST)["outputs"] = [{"output_type": "execute_result", "execution_count": 1, "metadata": {},
                                         "data": {"text/plain": '\\"' * 25_000_000}}]


@case(said=("format 4.0 was read as 4.5",))
def colab(notebook):
    node = nbformat.from_dict(notebook)
    save_as_colab(node)
    notebook.clear()
    notebook.update(json.loads(json.dumps(node)))


@case(said=("format 3.0 was read as 4.5", "metadata was lost"))
def notebook_format_3(notebook):
    cells = []
    for one in notebook.pop("cells"):
        source = text(one)
        if one["cell_type"] == "code":
            cells.append({"cell_type": "code", "input": source, "language": "python", "prompt_number": 1, "collapsed": False,
                          "metadata": {}, "outputs": []})
        elif source.startswith("## ") and "\n" not in source:
            cells.append({"cell_type": "heading", "level": 2, "source": source[3:], "metadata": {}})
        else:
            cells.append({"cell_type": "markdown", "source": source, "metadata": {}})
    notebook.update(nbformat=3, nbformat_minor=0, worksheets=[{"cells": cells[:20], "metadata": {}}, {"cells": cells[20:], "metadata": {}}])


@case(said=("metadata was lost or wrong and was put back",))
def all_metadata_lost(notebook):
    notebook["metadata"] = {}
    strip_metadata(notebook, ids=False)


@case(said=("metadata was lost or wrong and was put back",))
def all_metadata_and_ids_lost(notebook):
    notebook["metadata"] = {}
    strip_metadata(notebook)


@case(said=("metadata was lost",))
def prose_of_the_other_language(notebook):
    """The Chinese prose under an English set-up cell, without a single id: code is the same in both."""
    strip_metadata(notebook)
    chinese = json.loads(nbformat.writes(build_notebook(LESSON, "zh", "learner")))
    for one, other in zip(notebook["cells"], chinese["cells"]):
        if one["cell_type"] == "markdown" and text(one) != WRITTEN:
            one["source"] = other["source"]


# Copies


@case(changed={FIRST: edited(FIRST)}, said=("the one in the original cell counts; the others were not run: " + FIRST,))
def two_different_copies_one_in_the_original_cell(notebook):
    insert_after(notebook, FIRST, copy_of(cell(notebook, FIRST)))
    cell(notebook, FIRST)["source"] = edited(FIRST)


@case(changed={FIRST: edited(FIRST)}, said=("the one in the original cell counts", "format 4.4"))
def two_different_copies_without_ids_one_keeps_the_grade_id(notebook):
    notebook["nbformat_minor"] = 4
    insert_after(notebook, FIRST, copy_of(cell(notebook, FIRST), metadata={}))
    cell(notebook, FIRST)["source"] = edited(FIRST)
    for one in notebook["cells"]:
        del one["id"]


@case(changed={FIRST: STUB[FIRST]}, ambiguous={FIRST}, said=("not graded, the instructor has to choose: " + FIRST,))
def two_different_copies_and_no_original(notebook):
    insert_after(notebook, FIRST, copy_of(cell(notebook, FIRST), edited(FIRST)))
    for one in notebook["cells"]:
        one["metadata"].pop("nbgrader", None) if FIRST in text(one) else None
        one["id"] = f"x{id(one)}" if FIRST in text(one) and one["cell_type"] == "code" else one["id"]


@case(changed={FIRST: STUB[FIRST]}, ambiguous={FIRST}, said=("the instructor has to choose: " + FIRST,))
def two_different_copies_with_one_id(notebook):
    insert_after(notebook, FIRST, copy_of(cell(notebook, FIRST), edited(FIRST), id=FIRST))


@case(said=("Equal copies of the answer were left out: " + FIRST,))
def copies_that_differ_in_comments_only(notebook):
    insert_after(notebook, FIRST, copy_of(cell(notebook, FIRST), SOLVED[FIRST] + "\n\n# the same again"))


@case(changed={FIRST: STUB[FIRST]}, untouched={FIRST}, said=("Unedited copies of the cell were left out: " + FIRST,))
def copies_and_none_was_edited(notebook):
    cell(notebook, FIRST)["source"] = STUB[FIRST]
    insert_after(notebook, FIRST, copy_of(cell(notebook, FIRST)), copy_of(cell(notebook, FIRST)))


@case(added=["print(torch.ones(2))"])
def a_copy_that_became_a_scratch_cell(notebook):
    insert_after(notebook, FIRST, copy_of(cell(notebook, FIRST), "print(torch.ones(2))"))


@case(written="First thoughts.\n\n" + WRITTEN, said=("Several texts for one written answer: all count",))
def two_texts_for_the_written_answer(notebook):
    insert_after(notebook, ESSAY, copy_of(cell(notebook, ESSAY)))
    cell(notebook, ESSAY)["source"] = "First thoughts."


@case()
def a_copied_widget_does_not_run(notebook):
    insert_after(notebook, CHECK, copy_of(cell(notebook, "widget-baselines")))


# Moved, split, merged


@case(order=[SECOND, GIVEN, FIRST, THIRD, FOURTH])
def moved_answers_stay_where_they_are(notebook):
    notebook["cells"].insert(2, notebook["cells"].pop(place(notebook, SECOND)))


@case(said=("A split answer was put together: " + FIRST,))
def an_answer_split_within_the_function(notebook):
    head, tail = SOLVED[FIRST].rsplit("\n", 1)
    cell(notebook, FIRST)["source"] = head
    insert_after(notebook, FIRST, copy_of(cell(notebook, FIRST), tail))


@case(said=("A split answer was put together: " + FOURTH,))
def an_answer_split_in_three_whose_parts_lost_everything(notebook):
    lines = SOLVED[FOURTH].split("\n")
    cell(notebook, FOURTH)["source"] = "\n".join(lines[:-6])
    insert_after(notebook, FOURTH, own("\n".join(lines[-6:-2])), own("\n".join(lines[-2:])))


@case(added=["print(1)"])
def an_indented_cell_below_a_whole_answer(notebook):
    insert_after(notebook, FIRST, own("    print(1)"))


@case(changed={FIRST: SOLVED[FIRST].split("\n", 1)[1]}, added=["import math as mathematics"])
def helpers_split_off_above_the_function(notebook):
    key_comment, function = SOLVED[FIRST].split("\n", 1)
    cell(notebook, FIRST)["source"] = function
    insert_after(notebook, GIVEN, copy_of(cell(notebook, FIRST), "import math as mathematics"))


@case(said=(f"Merged cells were taken apart: {FIRST}, {SECOND}",))
def two_answers_merged(notebook):
    cell(notebook, FIRST)["source"] = f"{SOLVED[FIRST]}\n\n{SOLVED[SECOND]}"
    del notebook["cells"][place(notebook, SECOND)]


@case(said=(f"Merged cells were taken apart: {FIRST}, {CHECK}",))
def an_answer_merged_with_its_check(notebook):
    cell(notebook, FIRST)["source"] = f"{SOLVED[FIRST]}\n\n{text(cell(notebook, CHECK))}"
    del notebook["cells"][place(notebook, CHECK)]


@case(said=(f"Merged cells were taken apart: {THIRD}",))
def prose_merged_with_an_answer(notebook):
    cell(notebook, THIRD).update(cell_type="markdown", source="Some words of mine.\n\n" + SOLVED[THIRD])


@case(changed={FIRST: SOLVED[FIRST] + f'\nnote = """\n# [{SECOND}] see below\n"""'})
def a_key_comment_in_a_string_is_no_border(notebook):
    cell(notebook, FIRST)["source"] = SOLVED[FIRST] + f'\nnote = """\n# [{SECOND}] see below\n"""'


# Answers in other places


def without_key_comment(source: str) -> str:
    return source.split("\n", 1)[1]


@case(changed={FIRST: without_key_comment(SOLVED[FIRST])}, said=("found by its function's name: " + FIRST,))
def the_stub_was_left_and_the_answer_stands_below(notebook):
    cell(notebook, FIRST)["source"] = STUB[FIRST]
    insert_after(notebook, FIRST, own(without_key_comment(SOLVED[FIRST])))


@case(changed={FIRST: without_key_comment(SOLVED[FIRST])}, said=("found by its function's name: " + FIRST, "metadata"))
def every_mark_is_gone_but_the_function(notebook):
    cell(notebook, FIRST).update(id="zzz", metadata={}, source=without_key_comment(SOLVED[FIRST]))


@case(changed={FIRST: without_key_comment(SOLVED[FIRST]) + "\n((("}, said=("found by its function's name: " + FIRST,))
def every_mark_is_gone_and_it_does_not_parse(notebook):
    cell(notebook, FIRST).update(id="zzz", metadata={}, source=without_key_comment(SOLVED[FIRST]) + "\n(((")


ALL_IN_ONE = "\n\n".join(without_key_comment(SOLVED[key]) for key in ANSWERS)


@case(changed=dict.fromkeys(ANSWERS), added=[ALL_IN_ONE], said=(f"that definition counts: {FIRST} (added-1)",))
def all_functions_in_one_cell_of_ones_own_above_the_stubs(notebook):
    for key in ANSWERS:
        cell(notebook, key)["source"] = STUB[key]
    insert_after(notebook, "setup", own(ALL_IN_ONE))


@case(changed={SECOND: None, FIRST: SOLVED[FIRST] + "\n\n" + without_key_comment(SOLVED[SECOND])},
      said=(f"that definition counts: {SECOND} ({FIRST})",))
def two_functions_in_one_answer_cell(notebook):
    cell(notebook, FIRST)["source"] = SOLVED[FIRST] + "\n\n" + without_key_comment(SOLVED[SECOND])
    cell(notebook, SECOND)["source"] = STUB[SECOND]


@case(changed={FIRST: None}, added=[f"{FUNCTION[FIRST]} = lambda scores, mask: scores.sum(-1)"],
      said=(f"that definition counts: {FIRST} (added-1)",))
def the_function_is_assigned(notebook):
    cell(notebook, FIRST)["source"] = STUB[FIRST]
    insert_after(notebook, GIVEN, own(f"{FUNCTION[FIRST]} = lambda scores, mask: scores.sum(-1)"))


LATER = f"def {FUNCTION[FIRST]}(token_logps, completion_mask):\n    return token_logps.sum(-1)"


@case(added=[LATER], said=(f"the last definition counts, as with Run All: {FIRST} (added-1)",))
def defined_again_in_a_later_cell(notebook):
    insert_after(notebook, FOURTH, own(LATER))


@case(changed={FIRST: "# nothing here"}, added=[LATER], said=(f"that definition counts: {FIRST} (added-1)",))
def the_answer_cell_was_cleared_and_the_answer_stands_elsewhere(notebook):
    cell(notebook, FIRST)["source"] = "# nothing here"
    insert_after(notebook, "setup", own(LATER))


@case(added=[LATER])
def defined_before_in_an_earlier_cell(notebook):
    insert_after(notebook, "setup", own(LATER))


@case(changed={FIRST: without_key_comment(SOLVED[FIRST])},
      said=("as released again: " + CHECK, "count, as a cell of the student's own: " + CHECK))
def the_answer_was_written_into_the_check(notebook):
    cell(notebook, FIRST)["source"] = STUB[FIRST]
    cell(notebook, CHECK)["source"] = f"{text(cell(notebook, CHECK))}\n\n{without_key_comment(SOLVED[FIRST])}"


@case(said=("metadata was lost or wrong and was put back: " + FIRST, "missing and were put back: " + CHECK))
def an_answer_under_the_metadata_of_its_check(notebook):
    one, other = cell(notebook, FIRST), cell(notebook, CHECK)
    one["id"], one["metadata"] = other["id"], other["metadata"]
    notebook["cells"].remove(other)


@case(said=(f"metadata was lost or wrong and was put back: {FIRST}, {SECOND}",))
def two_answers_under_each_others_metadata(notebook):
    one, other = cell(notebook, FIRST), cell(notebook, SECOND)
    one["id"], one["metadata"], other["id"], other["metadata"] = other["id"], other["metadata"], one["id"], one["metadata"]


@case(added=["import numpy as np"], said=("as a cell of the student's own: setup",))
def a_shell_line_and_an_import_in_the_setup_cell(notebook):
    cell(notebook, "setup")["source"] = f"!pip install numpy\nimport numpy as np\n{text(cell(notebook, 'setup'))}"


@case(added=["import numpy as np\ndef helper(x):\n    return np.asarray(x)"],
      said=("changed; they are as released again: setup", "as a cell of the student's own: setup"))
def an_import_and_a_helper_in_the_setup_cell(notebook):
    cell(notebook, "setup")["source"] += "\nimport numpy as np\n\ndef helper(x):\n    return np.asarray(x)\n"


@case(added=["@torch.no_grad()\ndef helper(x):\n    return x"], said=("as a cell of the student's own: widget-baselines",))
def a_helper_in_a_widget_cell(notebook):
    cell(notebook, "widget-baselines")["source"] += "\n\n@torch.no_grad()\ndef helper(x):\n    return x"


@case(said=("written answer stood in a cell beside its own: " + ESSAY,))
def the_essay_in_a_cell_below(notebook):
    cell(notebook, ESSAY)["source"] = RELEASE.cells[ESSAY].source
    insert_after(notebook, ESSAY, own(WRITTEN, "markdown"))


@case(said=("written answer stood in a cell beside its own: " + ESSAY,))
def the_essay_in_a_code_cell(notebook):
    cell(notebook, ESSAY)["source"] = RELEASE.cells[ESSAY].source
    insert_after(notebook, ESSAY, own(WRITTEN))


@case(said=("written answer's cell had lost its metadata, which was put back: " + ESSAY,))
def the_essay_lost_every_mark(notebook):
    cell(notebook, ESSAY).update(id="zzz", metadata={})


@case(written="One.\n\nTwo.", said=("written answer stood in a cell beside its own: " + ESSAY,))
def the_essay_in_two_new_cells_and_its_own_deleted(notebook):
    del notebook["cells"][place(notebook, ESSAY)]
    insert_after(notebook, "written-question", own("One.", "markdown"), own("", "markdown"), own("Two.", "markdown"))


QUOTED = f"As I wrote:\n\n```python\ndef {FUNCTION[FIRST]}(token_logps, completion_mask):\n    ...\n```"


@case(written=QUOTED)
def the_essay_quotes_a_function(notebook):
    cell(notebook, ESSAY)["source"] = QUOTED


@case(written=RELEASE.cells[ESSAY].source, untouched={ESSAY})
def prose_of_the_course_copied_below_the_essay_is_none(notebook):
    cell(notebook, ESSAY)["source"] = RELEASE.cells[ESSAY].source
    insert_after(notebook, ESSAY, copy_of(cell(notebook, "goals")))


@case(said=("written answer's cell had lost its metadata, which was put back: " + ESSAY,))
def the_essay_lost_every_mark_and_its_question_is_gone(notebook):
    cell(notebook, ESSAY).update(id="zzz", metadata={})
    del notebook["cells"][place(notebook, "written-question")]


@case()
def the_essay_was_emptied_and_written_in_a_copy(notebook):
    insert_after(notebook, ESSAY, copy_of(cell(notebook, ESSAY)))
    cell(notebook, ESSAY)["source"] = ""


@case(written="  \n", untouched={ESSAY})
def the_essay_was_emptied(notebook):
    cell(notebook, ESSAY)["source"] = "  \n"


@case(changed={FIRST: ""}, untouched={FIRST})
def an_answer_was_emptied(notebook):
    cell(notebook, FIRST)["source"] = ""


# What only IPython runs


@case(changed={FIRST: "pass\n" + SOLVED[FIRST]}, added=["import math\npass\npass\nx = math.pi"],
      said=("only a notebook's kernel can run it: added-1: !pip install einops, added-1: %pinfo math, " + FIRST + ": %matplotlib inline",))
def magic_and_shell_lines(notebook):
    cell(notebook, FIRST)["source"] = "%matplotlib inline\n" + SOLVED[FIRST]
    insert_after(notebook, GIVEN, own("import math\n!pip install einops\nmath?\nx = math.pi"))


@case(added=["x = 1", "y = 2", "z = 3"], said=("%%time", "%%capture", "%%bash"))
def cell_magics(notebook):
    insert_after(notebook, GIVEN, own("%%time\nx = 1"), own("%%bash\nrm -rf /"), own("\n%%capture out\n%%time\ny = 2"), own("%time z = 3"))


@case(added=["if True:\n    pass\nx = 1", "pass"], said=("added-1: !ls, added-2: %timeit x",))
def calls_of_ipython_in_blocks_and_by_name(notebook):
    insert_after(notebook, GIVEN, own("if True:\n    !ls\nx = 1"), own("get_ipython().run_line_magic('timeit', 'x')"))


@case(added=["pass\nx = 1", "x = 1; get_ipython().system('ls')"], said=("added-1: print(",))
def what_ipython_quotes_and_what_shares_a_line(notebook):
    insert_after(notebook, GIVEN, own(",print a b\nx = 1"), own("x = 1; get_ipython().system('ls')"))


@case(added=["x = 1\nif x:\n    y = 2", "a = 1\nb = 2"])
def indented_and_prompted_cells(notebook):
    insert_after(notebook, GIVEN, own("    x = 1\n    if x:\n        y = 2"), own(">>> a = 1\n>>> b = 2"))


@case(added=['text = """\n%matplotlib inline\n!ls\n"""'])
def magics_in_a_string_are_text(notebook):
    insert_after(notebook, GIVEN, own('text = """\n%matplotlib inline\n!ls\n"""'))


# Odd files that can be read


@case(said=("Half characters",), changed={FIRST: SOLVED[FIRST] + "\n# \ufffd"})
def a_lone_surrogate(notebook):
    cell(notebook, FIRST)["source"] = SOLVED[FIRST] + "\n# \ud83d"


@case(changed={FIRST: SOLVED[FIRST] + "\n\0"})
def a_nul_character(notebook):
    cell(notebook, FIRST)["source"] = SOLVED[FIRST] + "\n\0"


@case()
def lines_without_their_ends(notebook):
    for one in notebook["cells"]:
        one["source"] = text(one).split("\n")


@case(said=("Entries without a text, so no cells, were left out: 5",))
def entries_that_are_no_cells(notebook):
    notebook["cells"][3:3] = [None, 7, {"cell_type": "code"}, {"cell_type": "code", "source": {"a": 1}}, {"source": ["x", 1]}]


@case()
def metadata_of_every_wrong_type(notebook):
    notebook["metadata"].update(kernelspec=7, language_info=[], widgets=None, colab="x")
    for one, odd in zip(notebook["cells"], [None, [], 7, "text", {"nbgrader": 3}, {"nbgrader": {"grade_id": 4}}, {"id": []}] * 10):
        if "nbgrader" not in one["metadata"]:
            one["metadata"] = odd


@case(said=("format ?.? was read as 4.5",))
def no_format_number(notebook):
    del notebook["nbformat"], notebook["nbformat_minor"]


@case(said=("format 5.1 was read as 4.5",))
def a_future_format(notebook):
    notebook.update(nbformat=5, nbformat_minor=1)


@case(said=("Made with version 0.0.1 of the course",))
def an_older_release(notebook):
    """Its set-up cell carries another copy of the package: that is no edit of the student's."""
    notebook["metadata"]["advantagelab"]["version"] = "0.0.1"
    setup = cell(notebook, "setup")
    loads = 'advantagelab = _advantagelab("0.0.1", "00", "abc")'
    setup["source"] = re.sub(r"^advantagelab = _advantagelab\(.*\)$", loads, text(setup), flags=re.M)
    assert len(text(setup)) < 10_000


@case()
def a_cell_type_nobody_knows(notebook):
    insert_after(notebook, GIVEN, {"cell_type": "sql", "metadata": {}, "source": "select 1"})


@case(added=["x = 1"])
def a_cell_without_a_type_but_with_outputs(notebook):
    insert_after(notebook, GIVEN, {"metadata": {}, "source": "x = 1", "outputs": []})


@case(added=["print(1)"])
def many_empty_cells(notebook):
    insert_after(notebook, GIVEN, *[own("") for _ in range(50)], own("print(1)"))


@pytest.mark.parametrize("name", CASES)
def test_answers_survive(name):
    expected, notebook = CASES[name], finished()
    expected.damage(notebook)
    data = encode(notebook)
    result = read_submission(data, LESSON)
    assert_sound(result, LESSON)
    code = {code.key: code.source for code in result.code}
    wanted = {GIVEN: RELEASE.cells[GIVEN].source, **SOLVED, **expected.changed}
    added = [code.source for code in result.code if code.role == "added"]
    assert {key: source for key, source in code.items() if not key.startswith("added-")} == {
        key: source for key, source in wanted.items() if source is not None}
    assert added == expected.added
    assert result.written == {ESSAY: expected.written}
    assert result.untouched == expected.untouched and result.ambiguous == expected.ambiguous
    said = " ".join(message.en for message in result.repairs)
    assert all(words in said for words in expected.said), said
    assert bool(said) == bool(expected.said), said
    assert result.language == "en" and result.lesson == "rloo"
    if expected.order:
        assert [code.key for code in result.code] == expected.order


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("entry", LESSON.course.lessons, ids=lambda entry: entry.name)
def test_every_lesson_comes_back_from_text_alone(entry, language):
    """Nothing left but cell types and sources, as a plain JSON writer might keep them."""
    lesson = read_lesson(LESSON.course, entry.name)
    learner = build_notebook(lesson, language, "learner")
    solved = submission(lesson, learner, "", "", solutions(lesson), written=WRITTEN).notebook
    cells = [{"cell_type": one.cell_type, "source": one.source} for one in solved.cells]
    result = read_submission(encode({"cells": cells}), lesson)
    assert_sound(result, lesson)
    assert (result.language, result.untouched, result.ambiguous) == (language, frozenset(), frozenset())
    assert [(one.id, one.source) for one in result.notebook.cells] == [(one.id, one.source) for one in solved.cells]
    sources = {one.id: one.source for one in solved.cells}
    roles = {one.key: one.role for one in lesson.cells if one.role in ("given", "exercise")}
    assert [(code.key, code.role, code.source) for code in result.code] == [(key, role, sources[key]) for key, role in roles.items()]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_restored_notebook_is_the_release_with_the_answers(language):
    notebook = finished(language)
    strip_metadata(notebook)
    result = read_submission(encode(notebook), LESSON)
    learner = build_notebook(LESSON, language, "learner")
    assert result.language == language and [one.id for one in result.notebook.cells] == [one.id for one in learner.cells]
    answers = {**SOLVED, ESSAY: WRITTEN}
    for one, released in zip(result.notebook.cells, learner.cells):
        assert one.source == answers.get(one.id, released.source)


def test_nbgraders_metadata_is_that_of_its_release():
    from nbgrader.preprocessors import ComputeChecksums

    released, _ = ComputeChecksums().preprocess(build_notebook(LESSON, "en", "learner"), {})
    expected = {one.id: one.metadata for one in released.cells}
    result = read_submission(encode(finished()), LESSON)
    assert all(one.metadata == expected[one.id] for one in result.notebook.cells)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_language_is_that_of_the_notebook(language):
    other = {"en": "zh", "zh": "en"}[language]
    notebook = finished(language)
    del notebook["cells"][place(notebook, "setup")]
    notebook["metadata"]["advantagelab"]["language"] = other  # prose is surer than this
    assert read_submission(encode(notebook), LESSON).language == language
    notebook = finished(other)
    cell(notebook, "setup")["source"] = text(cell(notebook, "setup")).replace(f'language = "{other}"', f"language = '{language}'")
    assert read_submission(encode(notebook), LESSON).language == language


def test_a_pasted_picture_stays_with_the_essay_and_nothing_else_does():
    notebook = finished()
    pictures = {"a.png": {"image/png": "aGk="}, "b.svg": {"image/svg+xml": "<svg onload=alert(1)>"}, "c": {"text/html": "<script>"}}
    cell(notebook, ESSAY).update(source="![a](attachment:a.png)", attachments=pictures)
    cell(notebook, ESSAY)["metadata"]["evil"] = "<script>"
    result = read_submission(encode(notebook), LESSON)
    (essay,) = [one for one in result.notebook.cells if one.id == ESSAY]
    assert essay.attachments == {"a.png": {"image/png": "aGk="}} and "evil" not in essay.metadata


def test_prose_that_names_a_function_is_not_taken_for_it():
    notebook = finished()
    insert_after(notebook, "goals", own(f"`{FUNCTION[FIRST]}` sums:\n\n```python\ndef {FUNCTION[FIRST]}(a, b): ...\n```", "markdown"))
    result = read_submission(encode(notebook), LESSON)
    assert not result.repairs and [one.id for one in result.notebook.cells][3] == "note-1"


def test_left_out_copies_can_still_be_seen():
    notebook = finished()
    insert_after(notebook, FIRST, copy_of(cell(notebook, FIRST), edited(FIRST)))
    result = read_submission(encode(notebook), LESSON)
    ids = [one.id for one in result.notebook.cells]
    assert result.notebook.cells[ids.index(FIRST) + 1].source == edited(FIRST) and "added-1" not in [code.key for code in result.code]


def test_a_students_text_in_a_message_is_short_and_harmless():
    notebook = finished()
    insert_after(notebook, GIVEN, own("!echo \x1b[31m\u202e" + "x" * 500))
    (said,) = read_submission(encode(notebook), LESSON).repairs
    assert "\x1b" not in said.en and "\u202e" not in said.en and len(said.en) < 200 and "…" in said.en


@pytest.mark.parametrize(("notebook", "reason"), [
    ({"hello": 1}, "it has no list of cells"),
    ({"cells": {}}, "it has no list of cells"),
    ({"worksheets": [{"cells": None}, 7]}, "it has no list of cells"),
    ({"cells": [], "nbformat": 4}, "Nothing of lesson 03_rloo"),
    ({"cells": [own("x = 1"), own("hello", "markdown")], "nbformat": 4, "nbformat_minor": 5}, "Nothing of lesson 03_rloo"),
    ({"cells": [own("x = 1\n" * 40_000)] * 5, "nbformat": 4, "nbformat_minor": 5}, "More than 1 MiB of code"),
])
def test_json_that_is_no_notebook_of_the_lesson(notebook, reason):
    with pytest.raises(Ungradable, match=reason) as refused:
        read_submission(encode(notebook), LESSON)
    assert refused.value.said.zh


@pytest.mark.parametrize("strip", [False, True])
def test_another_lessons_notebook_is_refused(strip):
    """GRPO gives the functions that RLOO asks for: they must not be taken for answers."""
    grpo = json.loads(nbformat.writes(build_notebook(read_lesson(LESSON.course, "grpo"), "en", "learner")))
    if strip:
        grpo["metadata"] = {}
        strip_metadata(grpo)
    with pytest.raises(Ungradable, match="notebook of another lesson: 04_grpo"):
        read_submission(encode(grpo), LESSON)


def test_cells_say_more_than_the_metadata():
    notebook = finished()
    notebook["metadata"]["advantagelab"]["lesson"] = "grpo"
    assert {code.key for code in read_submission(encode(notebook), LESSON).code} == {GIVEN, *ANSWERS}


def test_the_file_is_only_read():
    notebook = finished()
    before = deepcopy(notebook)
    result = read_submission(encode(notebook), LESSON)
    assert notebook == before
    result.notebook.cells[0].source = "changed"
    result.notebook.cells[8].metadata["changed"] = True
    again = read_submission(encode(notebook), LESSON)
    assert again.notebook.cells[0].source != "changed" and not [one for one in again.notebook.cells if "changed" in one.metadata]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_course_s_solved_notebook_is_known_and_graded_all_the_same(language):
    solved = build_notebook(LESSON, language, "solution")
    read = read_submission(nbformat.writes(solved).encode(), LESSON)
    assert [note.en for note in read.notes] == ["This is the course's solved notebook."] and not read.missing
    assert read_submission(encode(finished()), LESSON).notes == ()
    del solved.cells[next(number for number, cell in enumerate(solved.cells) if cell.id == "rubric")]
    assert read_submission(nbformat.writes(solved).encode(), LESSON).notes == ()
