"""The build: what it refuses, each shown on a lesson that is good but for one edit; and what it makes of a good one."""

import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from fontTools.ttLib import TTFont

import lessons._build.build as builder
import lessons._build.notebook as notebook_module
import lessons._build.payload as payload_module
from advantagelab.checking import run_checks
from lessons.__main__ import main
from lessons._build.course import ROOT, read_course
from lessons._build.lesson import read_lesson
from lessons._build.notebook import build_notebook
from lessons._build.payload import pack, payload_files, unpack
from lessons._build.refusal import Refused
from tests.tiny_course import (
    ALGORITHM,
    ALGORITHM_PY,
    CELL,
    CHECKS,
    CHECKS_PY,
    CHINESE,
    COURSE_TOML,
    ENGLISH,
    GLOSSARY_MD,
    LESSON,
    LESSON_MD,
    PAIR,
    SPEC,
    STOP_HERE,
    TINY_IN_COURSE,
    edit,
    write_course,
)


@pytest.fixture(autouse=True, scope="module")
def one_payload():
    """Cutting the font takes most of a build's time, and the tiny lesson always carries the same files."""
    files = payload_files("")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(notebook_module, "payload_files", lambda code, **_: files)
        yield


# name: (file that the message names, "[key]" or ":line" or None, words of the message, old, new, old, new …)
SOURCE_EDITS = {
    "key without its pair": (LESSON_MD, "[step-1]", "pair", CHINESE, ""),
    "Chinese without English": (LESSON_MD, "[step-1]", "English comes first", ENGLISH, ""),
    "Chinese first": (LESSON_MD, "[step-1]", "English comes first", PAIR, CHINESE + ENGLISH),
    "pair apart": (LESSON_MD, "[step-1]", "pair", CHINESE, "", "+++ {\"key\": \"written\"", CHINESE + "+++ {\"key\": \"written\""),
    "pair shown to others": (LESSON_MD, "[why-centered]", "only", '"lang": "zh", "only": "solution"', '"lang": "zh"'),
    "key used twice": (LESSON_MD, "[picture]", "used by an earlier cell", "key: check-halved", "key: picture"),
    "key of a pair used by code": (LESSON_MD, "[step-1]", "used by an earlier cell", "key: use-it", "key: step-1"),
    "key of a built cell": (LESSON_MD, "[setup]", "the build", "key: use-it", "key: setup"),
    "key of a built hint": (LESSON_MD, "[centered-hints]", "the build", "key: use-it", "key: centered-hints"),
    "key-less prose": (LESSON_MD, ":", "needs a key", '+++ {"key": "step-1", "lang": "en"}', '+++ {"lang": "en"}'),
    "key-less code": (LESSON_MD, ":", "needs a key", "key: use-it\n", ""),
    "key not a string": (LESSON_MD, ":", "needs a key, a string", "key: use-it\n", "key: 7\n"),
    "key in capitals": (LESSON_MD, "[Use_it]", "lowercase", "key: use-it", "key: Use_it"),
    "unknown metadata": (LESSON_MD, "[use-it]", "unknown metadata dmeo", "demo: true", "dmeo: true"),
    "language unknown": (LESSON_MD, "[step-1]", "lang", '"lang": "zh"}', '"lang": "cn"}'),
    "metadata not JSON": (LESSON_MD, None, "metadata", '{"key": "step-1", "lang": "en"}', '{"key": "step-1", "lang": "en"'),
    "lost +++": (LESSON_MD, "[why-centered]", "stands inside this cell",
                 '+++ {"key": "why-centered", "lang": "zh"', '{"key": "why-centered", "lang": "zh"'),
    "+++ in a list": (LESSON_MD, "[step-1]", "stands inside this cell", "| 1 | $-1$ |\n\n+++", "| 1 | $-1$ |\n\n- +++"),
    "+++ in code": (LESSON_MD, "[use-it]", "stands inside this cell", "print(halved", "+++\n\nprint(halved"),
    "cell left out": (LESSON_MD, None, "16 cells are opened", "```{code-cell}\n---\nkey: halved", '+++ {"key": "gone", "lang": "en"}\n\n'
                      "```{code-cell}\n---\nkey: halved"),
    "fence that is not a cell": (LESSON_MD, "[step-1]", "```python", "## Step 1: Center\n", "## Step 1: Center\n\n```python\n1\n```\n"),
    "misspelt cell": (LESSON_MD, "[why-centered]", "{code-cel}", "```{code-cell}\n---\nkey: halved", "```{code-cel}\n---\nkey: halved"),
    "fence that never closes": (LESSON_MD, "[use-it]", "never closes", "torch.tensor([1.0, 3.0]))))\n```", "torch.tensor([1.0, 3.0]))))\n"),
    "empty cell": (LESSON_MD, "[use-it]", "empty", "# both together | 合在一起\nprint(halved(centered(torch.tensor([1.0, 3.0]))))\n", ""),
    "headings differ": (LESSON_MD, "[step-1]", "headings", "## 第 1 步", "### 第 1 步"),
    "formula differs": (LESSON_MD, "[step-1]", r"$$c_i = r_i - \phi$$", "- \\theta$$\n\n| 奖励", "- \\phi$$\n\n| 奖励"),
    "inline code differs": (LESSON_MD, "[step-1]", "`rewards.sum()`", "即 `rewards.mean()`", "即 `rewards.sum()`"),
    "link differs": (LESSON_MD, "[step-1]", "https://example.org/other", "出处](https://example.org/paper", "出处](https://example.org/other"),
    "table differs": (LESSON_MD, "[step-1]", "tables", "| 奖励 | 结果 |\n|---|---|\n", "| 奖励 | 结果 |\n|---|---|\n| 2 | 0 |\n"),
    "hanzi in English": (LESSON_MD, "[step-1]", "'基线'", "Subtract the baseline", "Subtract the baseline 基线"),
    "control character": (LESSON_MD, "[step-1]", r"\theta", "r_i - \\theta$$\n\n| reward", "r_i - \theta$$\n\n| reward"),
    "term with another translation": (LESSON_MD, "[step-1]", "baseline", "减去基线", "减去底线"),
    "two roles": (LESSON_MD, "[check-halved]", "one role", "check: halved\n", "check: halved\ngiven: halved\n"),
    "role without a name": (LESSON_MD, "[check-halved]", "check is a name", "check: halved\n", "check: true\n"),
    "points missing": (LESSON_MD, "[check-halved]", "points", "check: halved\npoints: 3\n", "check: halved\n"),
    "points of an exercise": (LESSON_MD, "[halved]", "points", "exercise: halved\n", "exercise: halved\npoints: 3\n"),
    "half a point": (LESSON_MD, "[check-halved]", "whole number", "points: 3\n", "points: 2.5\n"),
    "points do not add up": (LESSON_MD, None, "add up to 7, course.toml says 6", "points: 3\n", "points: 4\n"),
    "exercise without check": (LESSON_MD, "[halved]", "one check cell", CELL["check-halved"], ""),
    "check without exercise": (LESSON_MD, "[check-halved]", "no exercise cell", CELL["halved"], ""),
    "checks in another order": (LESSON_MD, None, "another order", CELL["check-centered"], "", CELL["check-halved"],
                                CELL["check-halved"] + CELL["check-centered"]),
    "check before its exercise": (LESSON_MD, "[check-halved]", "before", CELL["check-halved"], "", CELL["halved"],
                                  CELL["check-halved"] + CELL["halved"]),
    "name that opens another": (LESSON_MD, "[halved]", "opens that of halved_centered", "exercise: centered", "exercise: halved_centered",
                                "check: centered", "check: halved_centered"),
    "exercise with a body": (LESSON_MD, "[halved]", "leave the body empty", "乘以 0.5。\"]\n---\n", "乘以 0.5。\"]\n---\npass\n"),
    "exercise without hint": (LESSON_MD, "[halved]", "needs hint", 'hint:\n- ["Multiply by 0.5.", "乘以 0.5。"]\n', ""),
    "exercise without explained": (LESSON_MD, "[halved]", "needs explained", "explained:\n  step-1: [by_hand, of_zero]\n", ""),
    "explained by no cell": (LESSON_MD, "[halved]", "no prose cell step-9", "step-1: [by_hand, of_zero]", "step-9: [by_hand]"),
    "explained for no check": (LESSON_MD, "[halved]", "begins with by_foot", "step-1: [by_hand, of_zero]", "step-1: [by_foot]"),
    "no cell of all checks": (LESSON_MD, "[all-checks]", 'run_all_checks(globals(), "centered", "halved")', CELL["all-checks"], ""),
    "all checks but one": (LESSON_MD, "[all-checks]", 'in their order: run_all_checks(globals(), "centered", "halved")',
                           '"centered", "halved")', '"halved")'),
    "no way to the solution": (LESSON_MD, "[stop-here]", "links to {{solution}}", STOP_HERE, ""),
    "end without the solution": (LESSON_MD, "[stop-here]", "({{solution}})", "[solved notebook]({{solution}})", "solved notebook",
                                 "[参考答案 notebook]({{solution}})", "参考答案 notebook"),
    "solution shown to all": (LESSON_MD, "[stop-here]", "only: learner", '"lang": "en", "only": "learner"', '"lang": "en"',
                              '"lang": "zh", "only": "learner"', '"lang": "zh"'),
    "widget that is not there": (LESSON_MD, "[picture]", "there is no widget baseline; advantagelab/widgets has advantage_flip",
                                 "widgets.baselines()", "widgets.baseline()"),
    "no head of a notebook": (LESSON_MD, ":", "with these four lines:\n---\njupytext: ", LESSON[:LESSON.index("+++")], ""),
    "head without a kernel": (LESSON_MD, ":", "with these four lines", "kernelspec: {", "kernel: {"),
    "hint without pairs": (LESSON_MD, "[centered]", "hint", '["Then subtract it.", "再减去它。"]', '"Then subtract it."'),
    "hint on a check": (LESSON_MD, "[check-halved]", "hint", "check: halved\n", 'check: halved\nhint:\n- ["One.", "一。"]\n'),
    "hint that differs": (LESSON_MD, "[centered]", "`a`", "Take the mean first.", "Take `a` first."),
    "demo on a check": (LESSON_MD, "[check-halved]", "demo", "check: halved\n", "check: halved\ndemo: true\n"),
    "tags not a list": (LESSON_MD, None, "tags']: 'use'", "tags: [use]", "tags: use"),
    "only for nobody": (LESSON_MD, "[why-centered]", "only", '"only": "solution"', '"only": "teacher"'),
    "answer line in one language": (LESSON_MD, "[written]", "|", "*Write your answer here | 在此作答*", "*Write your answer here*"),
    "comment of a cell in one language": (LESSON_MD, "[use-it]", "合在一起", "# both together | 合在一起", "# 合在一起"),
    "file missing": (LESSON_MD, None, "missing", LESSON, None),

    "region opened twice": (ALGORITHM_PY, ":", "do not nest", "    mean_of_all", "    ### BEGIN SOLUTION TODO 3: In | 内\n    mean_of_all"),
    "region without a number": (ALGORITHM_PY, ":", "TODO n", "### BEGIN SOLUTION TODO 1: Center", "### BEGIN SOLUTION Center"),
    "region in one language": (ALGORITHM_PY, ":", "TODO n: English | 中文", "TODO 1: Center | 中心化", "TODO 1: Center"),
    "region never closed": (ALGORITHM_PY, ":", "END SOLUTION", "    result = rewards * 0.5\n    ### END SOLUTION\n", "    result = 0\n"),
    "region closed twice": (ALGORITHM_PY, ":", "without its BEGIN", "    return result\n", "    ### END SOLUTION\n    return result\n"),
    "region outside a function": (ALGORITHM_PY, ":", "inside a top-level function", "HALF = 0.5",
                                  "### BEGIN SOLUTION TODO 3: Out | 外\nHALF = 0.5\n### END SOLUTION"),
    "exercise without a region": (ALGORITHM_PY, None, "regions are TODO 1 in centered; the lesson's exercises need TODO 1 in centered",
                                  "    ### BEGIN SOLUTION TODO 2: Halve | 减半\n    result = rewards * 0.5\n"
                                  "    ### END SOLUTION\n", "    result = rewards * 0.5\n"),
    "two regions of one number": (ALGORITHM_PY, None, "TODO 1 in centered, TODO 1 in halved", "TODO 2: Halve", "TODO 1: Halve"),
    "two regions in one function": (ALGORITHM_PY, None, "TODO 1 in centered, TODO 2 in halved, TODO 3 in halved",
                                    "    result = rewards * 0.5\n    ### END SOLUTION\n",
                                    "    result = rewards\n    ### END SOLUTION\n    ### BEGIN SOLUTION TODO 3: Twice | 两次\n"
                                    "    result /= 2\n    ### END SOLUTION\n"),
    "exercise that is not there": (ALGORITHM_PY, None, "TODO 2 in half; the lesson's exercises need", "def halved(", "def half("),
    "given that is not there": (ALGORITHM_PY, "[require-rewards]", "given require_rewards, but here: none", "def require_", "def need_"),
    "constant that stays behind": (ALGORITHM_PY, "[halved]", "HALF", "rewards * 0.5", "rewards * HALF"),
    "import that stays behind": (ALGORITHM_PY, "[halved]", "Counter", "import torch\n", "from collections import Counter\n\nimport torch\n",
                                 "rewards * 0.5", "rewards * 0.5 + len(Counter())"),
    "helper that comes later": (ALGORITHM_PY, "[centered]", "halved", "rewards.mean()", "halved(rewards)"),
    "code that is not Python": (ALGORITHM_PY, ":", "not valid Python", "HALF = 0.5", "HALF ="),
    "comment in one language": (ALGORITHM_PY, ":", "和为 0", "# [N]: sums to 0 | 和为 0", "# 和为 0"),

    "visible check that uses spec": (CHECKS_PY, "[check-halved]", "uses spec", "[0.5, 1.5], message", "spec.halved([1.0, 3.0]), message"),
    "visible check that hands spec on": (CHECKS_PY, "[check-halved]", "uses spec", "[0.5, 1.5]", "vars(spec)['halved']([1.0, 3.0])"),
    "spec under another name": (CHECKS_PY, "[check-halved]", "from . import spec as oracle", "from . import spec\n",
                                "from . import spec\nfrom . import spec as oracle\n", "[0.5, 1.5]", "oracle.halved([1.0, 3.0])"),
    "helper of the lesson": (CHECKS_PY, "[check-halved]", "from .helper import three", "from . import spec\n",
                             "from . import spec\nfrom .helper import three\n", "[1.0, 3.0])), [0.5", "[1.0, three])), [0.5"),
    "no hidden check": (CHECKS_PY, "[check-halved]", "hidden_halved_", "def hidden_halved_random", "def random_halved"),
    "no visible check": (CHECKS_PY, "[check-halved]", "check_halved_", "def check_halved_by_hand", "def by_hand_halved",
                         "def check_halved_of_zero", "def of_zero_halved"),
    "two checks": (CHECKS_PY, "[check-halved]", "has 1 visible and 1 hidden check: a TODO needs three in all",
                   CHECKS[CHECKS.index("def check_halved_of_zero"):CHECKS.index("def hidden_halved_random")], ""),
    "helper of a check": (CHECKS_PY, "[check-halved]", "THREE", "def check_halved_by_hand", "THREE = 3.0\n\n\ndef check_halved_by_hand",
                          "halved(torch.tensor([1.0, 3.0]))", "halved(torch.tensor([1.0, THREE]))"),
    "message in one language": (CHECKS_PY, ":", "message(en=…, zh=…)", 'en="Half of each.", zh="每个的一半。"', 'en="Half."'),
    "message made at run time": (CHECKS_PY, ":", "plain strings", 'en="Half of each."', 'en="Half of " + "each."'),
    "message that differs": (CHECKS_PY, ":", "`x`", 'en="Half of each."', 'en="Half of each `x`."'),
    "message with another term": (CHECKS_PY, ":", "baseline", 'zh="基线是均值。"', 'zh="底线是均值。"'),
    "comment of a check": (CHECKS_PY, ":", "两个数", "# two numbers | 两个数", "# 两个数"),

    "term with two translations": (GLOSSARY_MD, None, "line 5", "| baseline | 基线 |", "| baseline | 基线、底线 |"),
    "glossary without a table": (GLOSSARY_MD, None, "a table", "| English | 中文 |", "| 中文 | English |"),

    "field missing": (COURSE_TOML, None, "minutes", "minutes = 5\n", ""),
    "field unknown": (COURSE_TOML, None, "hours", "minutes = 5\n", "minutes = 5\nhours = 1\n"),
    "number of one digit": (COURSE_TOML, None, "number has two digits", 'number = "04"', 'number = "4"'),
    "number that is no text": (COURSE_TOML, None, "number has two digits", 'number = "04"', "number = 14"),
    "field not a pair": (COURSE_TOML, None, "title is a pair", 'title = ["Tiny", "微型"]', 'title = ["Tiny"]'),
    "course without a branch": (COURSE_TOML, None, "branch", 'branch = "main"\n', ""),
    "not TOML": (COURSE_TOML, None, "line", "minutes = 5", "minutes = five"),
    "two lessons with one number": (COURSE_TOML, None, "number", TINY_IN_COURSE,
                                    TINY_IN_COURSE + TINY_IN_COURSE.replace('"tiny"\n', '"two"\n')),
}


@pytest.mark.parametrize("name", SOURCE_EDITS)
def test_refuses_source(name, tmp_path):
    file, place, words, *changes = SOURCE_EDITS[name]
    read = write_course(tmp_path)
    if changes[1] is None:
        (tmp_path / file).unlink()
    else:
        edit(tmp_path, file, *changes)
    with pytest.raises(Refused) as refused:
        builder.build(read(), tmp_path)
    said = str(refused.value)
    assert said.startswith(str(tmp_path / file)) and words in said
    if place == ":":
        assert re.match(rf"{re.escape(str(tmp_path / file))}:\d+: ", said), said
    elif place:
        assert place in said
    assert not (tmp_path / "notebooks").exists() and not (tmp_path / "solutions").exists()


def two_lessons(folder, *cells):
    """The good lesson and after it another, whose only TODO is halved; gives the function that reads the course."""
    read = write_course(folder)
    edit(folder, COURSE_TOML, TINY_IN_COURSE, TINY_IN_COURSE + TINY_IN_COURSE.replace('"tiny"\n', '"next"\n').replace("04", "05")
         .replace("T-TINY", "T-NEXT").replace("points = 6", "points = 3").replace('["tiny"]\n', '["next"]\n'))
    all_checks = CELL["all-checks"].replace('"centered", "halved"', '"halved"')
    lesson = LESSON[:LESSON.index("+++")] + "\n".join([PAIR, *cells, CELL["halved"], CELL["check-halved"], all_checks, STOP_HERE])
    algorithm = "import torch\n\n\n" + ALGORITHM[ALGORITHM.index("def halved"):].replace("TODO 2", "TODO 1")
    for name, content in {"lessons/next/lesson.md": lesson, "lessons/next/checks.py": CHECKS, "lessons/next/spec.py": SPEC,
                          "algorithms/next.py": algorithm}.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(content, encoding="utf-8")
    return read


def test_nothing_is_written_where_a_later_lesson_is_refused(tmp_path):
    read = two_lessons(tmp_path)
    assert len(builder.build(read(), tmp_path)) == 8
    before = {file: file.read_bytes() for file in tmp_path.rglob("*.ipynb")}
    edit(tmp_path, LESSON_MD, "Subtract the baseline", "Take away the baseline")
    edit(tmp_path, "algorithms/next.py", "rewards * 0.5", "rewards * HALF", "import torch\n", "import torch\n\nHALF = 0.5\n")
    with pytest.raises(Refused, match=r"next\.py: \[halved\] halved uses HALF"):
        builder.build(read(), tmp_path)
    assert before == {file: file.read_bytes() for file in tmp_path.rglob("*.ipynb")}


def test_line_is_that_of_the_cell(tmp_path):
    read = write_course(tmp_path)
    edit(tmp_path, LESSON_MD, "## 第 1 步", "### 第 1 步")
    with pytest.raises(Refused, match=rf"lesson\.md:{LESSON.splitlines().index(CHINESE.splitlines()[0]) + 1}: \[step-1\]"):
        builder.build(read(), tmp_path)


def test_lesson_of_another_name(tmp_path):
    with pytest.raises(Refused, match="course.toml: there is no lesson 'big'; the lessons are: tiny"):
        read_lesson(write_course(tmp_path)(), "big")


# What is built.

def picture(text="image"):
    return nbformat.v4.new_output("display_data", data={"image/png": "iVBORw0KGgo=", "text/html": f"<img alt={text!r}>"})


def printed(text, name="stdout"):
    return nbformat.v4.new_output("stream", name=name, text=text)


@pytest.fixture
def built(course_built_once, tmp_path):
    """The good course in tmp_path, built and run; gives the function that reads it."""
    shutil.copytree(course_built_once, tmp_path, dirs_exist_ok=True)
    return lambda: read_course(tmp_path / "lessons", tmp_path / "algorithms")


@pytest.fixture(scope="module")
def course_built_once(tmp_path_factory):
    """The good course, built, with outputs of the kinds that a run gives."""
    folder = tmp_path_factory.mktemp("built")
    read = write_course(folder)
    builder.build(read(), folder)
    outputs = {"setup": printed("Advantage Lab"), "picture": picture(), "check-centered": printed("✓ centered"),
               "check-halved": printed("✓ halved"), "all-checks": printed("2 of 2"), "use-it": printed("tensor([-0.5, 0.5])")}
    for language in ("en", "zh"):
        with opened(folder, "solutions", language) as solved:
            for cell in solved.cells:
                if cell.cell_type == "code":
                    cell.outputs = [outputs[cell.id]] if cell.id in outputs else []
    builder.build(read(), folder)
    return folder


class opened:
    """A built notebook, saved again as a person's editor would."""

    def __init__(self, folder, kind, language):
        self.file = folder / kind / language / "04_tiny.ipynb"

    def __enter__(self):
        self.notebook = nbformat.read(self.file, 4)
        return self.notebook

    def __exit__(self, *error):
        nbformat.write(self.notebook, self.file)


def cell_of(notebook, key):
    return next(cell for cell in notebook.cells if cell.id == key)


def test_check_accepts_what_build_gave(built, tmp_path):
    before = {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()}
    assert len(builder.check(built(), tmp_path)) == 4
    assert before == {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()}


def change_source(notebook):
    cell_of(notebook, "centered").source += "\n    # by hand | 手改"


def change_prose(notebook):
    cell_of(notebook, "step-1").source = cell_of(notebook, "step-1").source.replace("$$", "$")


def change_points(notebook):
    cell_of(notebook, "check-halved").metadata.nbgrader.points = 30


def unlock(notebook):
    cell_of(notebook, "check-halved").metadata.pop("editable")


def add_cell(notebook):
    notebook.cells.append(nbformat.v4.new_code_cell("1", id="scratch"))


def delete_cell(notebook):
    notebook.cells = [cell for cell in notebook.cells if cell.id != "use-it"]


def swap_cells(notebook):
    notebook.cells[-1], notebook.cells[-2] = notebook.cells[-2], notebook.cells[-1]


def retype_cell(notebook):
    index, cell = next((index, cell) for index, cell in enumerate(notebook.cells) if cell.id == "use-it")
    notebook.cells[index] = nbformat.v4.new_markdown_cell(cell.source, id="use-it", metadata=cell.metadata)


def attach(notebook):
    cell_of(notebook, "step-1").attachments = {"a.png": {"image/png": "iVBORw0KGgo="}}


def rename_kernel(notebook):
    notebook.metadata.kernelspec.name = "mine"


def damage_payload(notebook):
    setup = cell_of(notebook, "setup")
    middle = len(setup.source) // 2
    setup.source = setup.source[:middle] + ("0" if setup.source[middle] != "0" else "1") + setup.source[middle + 1:]


def damage_digest(notebook):
    setup = cell_of(notebook, "setup")
    setup.source = re.sub(r'"([0-9a-f]{64})"', '"' + "0" * 64 + '"', setup.source)


def change_language(notebook):
    setup = cell_of(notebook, "setup")
    setup.source = setup.source.replace('language = "en"', 'language = "zh"')


def output_into_an_answer(notebook):
    cell_of(notebook, "check-halved").outputs = [printed("✗ mine")]


def drop_pictures(notebook):
    cell_of(notebook, "picture").outputs = []


def no_verdicts(notebook):
    cell_of(notebook, "check-halved").outputs = []


def failed_verdict(notebook):
    cell_of(notebook, "check-halved").outputs = [printed("✓ one\n✗ two")]


def no_output(notebook):
    cell_of(notebook, "use-it").outputs = []


def error_output(notebook):
    cell_of(notebook, "use-it").outputs = [nbformat.v4.new_output("error", ename="E", evalue="", traceback=[])]


def stderr_output(notebook):
    cell_of(notebook, "use-it").outputs.append(printed("a warning", name="stderr"))


def widget_view(notebook):
    view = nbformat.v4.new_output("display_data", data={"application/vnd.jupyter.widget-view+json": {"model_id": "1"}})
    cell_of(notebook, "picture").outputs.append(view)


def widget_state(notebook):
    notebook.metadata.widgets = {"application/vnd.jupyter.widget-state+json": {"state": {}}}


# name: (folder, edit, key that the message names, words of the message)
BUILT_EDITS = {
    "source": ("notebooks", change_source, "[centered]", "line 8"),
    "source of a solution": ("solutions", change_source, "[centered]", "text differs"),
    "prose": ("notebooks", change_prose, "[step-1]", "line 5"),
    "points": ("notebooks", change_points, "[check-halved]", "30"),
    "lock": ("notebooks", unlock, "[check-halved]", "editable"),
    "cell added": ("notebooks", add_cell, "scratch", "not those of the source"),
    "cell deleted": ("notebooks", delete_cell, "use-it", "not those of the source"),
    "cells swapped": ("notebooks", swap_cells, "", "another order"),
    "cell of another type": ("notebooks", retype_cell, "[use-it]", "cell_type"),
    "attachment": ("notebooks", attach, "[step-1]", "attachments"),
    "kernel": ("notebooks", rename_kernel, "", "notebook metadata"),
    "payload": ("notebooks", damage_payload, "[setup]", "text differs"),
    "digest of the payload": ("notebooks", damage_digest, "[setup]", "text differs"),
    "language": ("notebooks", change_language, "[setup]", "line 3"),
    "output of a learner": ("notebooks", output_into_an_answer, "[check-halved]", "outputs"),
    "picture of a learner": ("notebooks", drop_pictures, "[picture]", "outputs"),
    "widget without a picture": ("solutions", drop_pictures, "picture: ", "without a picture"),
    "check without verdicts": ("solutions", no_verdicts, "check-halved: ", "without its verdicts"),
    "check that failed": ("solutions", failed_verdict, "check-halved: ", "verdicts"),
    "cell that shows nothing": ("solutions", no_output, "use-it: ", "shows nothing"),
    "cell that ends in an error": ("solutions", error_output, "use-it: ", "error"),
    "cell that warns": ("solutions", stderr_output, "use-it: ", "stderr"),
    "widget view": ("solutions", widget_view, "picture: ", "widget view"),
    "widget state": ("solutions", widget_state, "", "notebook metadata"),
}


@pytest.mark.parametrize("name", BUILT_EDITS)
def test_refuses_built_file(name, built, tmp_path):
    folder, change, key, words = BUILT_EDITS[name]
    with opened(tmp_path, folder, "en") as notebook:
        change(notebook)
    with pytest.raises(Refused) as refused:
        builder.check(built(), tmp_path)
    said = str(refused.value)
    assert said.startswith(str(tmp_path / folder / "en" / "04_tiny.ipynb")) and key in said and words in said


def test_refuses_missing_stray_and_broken_files(built, tmp_path):
    learner = tmp_path / "notebooks" / "zh" / "04_tiny.ipynb"
    stray = tmp_path / "solutions" / "en" / "05_gone.ipynb"
    stray.write_bytes(learner.read_bytes())
    with pytest.raises(Refused, match=r"05_gone\.ipynb: no lesson builds this file"):
        builder.check(built(), tmp_path)
    stray.unlink()
    text = learner.read_text(encoding="utf-8")
    learner.write_text(text[:len(text) // 2], encoding="utf-8")
    with pytest.raises(Refused, match=r"zh.04_tiny\.ipynb: not a notebook"):
        builder.check(built(), tmp_path)
    learner.unlink()
    with pytest.raises(Refused, match=r"zh.04_tiny\.ipynb: not built"):
        builder.check(built(), tmp_path)


def test_refuses_a_source_that_changed_since(built, tmp_path):
    edit(tmp_path, ALGORITHM_PY, "rewards * 0.5", "rewards / 2")
    with pytest.raises(Refused, match=r"solutions.en.04_tiny\.ipynb: \[halved\] .*line 6"):
        builder.check(built(), tmp_path)


def test_refusal_is_printed_and_the_exit_status_is_1(tmp_path, monkeypatch, capsys):
    read = write_course(tmp_path)
    edit(tmp_path, LESSON_MD, "demo: true", "dmeo: true")
    monkeypatch.setattr("lessons._build.course.read_course", read)
    assert main(["build", "--check"]) == 1
    assert "[use-it] unknown metadata dmeo" in capsys.readouterr().err


def test_outputs_stay_while_the_code_stays(built, tmp_path):
    edit(tmp_path, LESSON_MD, "Subtract the baseline", "Take away the baseline")
    builder.build(built(), tmp_path)
    with opened(tmp_path, "solutions", "en") as solved, opened(tmp_path, "notebooks", "en") as learner:
        assert "Take away" in cell_of(solved, "step-1").source
        assert cell_of(solved, "use-it").outputs and cell_of(solved, "picture").outputs == cell_of(learner, "picture").outputs != []
        assert not any(cell.outputs for cell in learner.cells if cell.cell_type == "code" and cell.id != "picture")
    edit(tmp_path, ALGORITHM_PY, "rewards * 0.5", "rewards / 2")
    builder.build(built(), tmp_path)
    with opened(tmp_path, "solutions", "en") as solved:
        assert not any(cell.outputs for cell in solved.cells if cell.cell_type == "code")
    with pytest.raises(Refused, match="make notebooks"):
        builder.check(built(), tmp_path)


@pytest.fixture(scope="module")
def notebooks(tmp_path_factory):
    """(language, kind) → notebook of the good lesson."""
    folder = tmp_path_factory.mktemp("course")
    lesson = read_lesson(write_course(folder)(), "tiny")
    return {(language, kind): build_notebook(lesson, language, kind)
            for language in ("en", "zh") for kind in ("learner", "solution", "source")}


@pytest.mark.parametrize("kind", ["learner", "solution", "source"])
def test_code_is_the_same_in_both_languages(notebooks, kind):
    english, chinese = ([cell for cell in notebooks[language, kind].cells if cell.cell_type == "code"] for language in ("en", "zh"))
    assert [(cell.id, cell.metadata) for cell in english] == [(cell.id, cell.metadata) for cell in chinese]
    assert [cell.id for cell in notebooks["en", kind].cells] == [cell.id for cell in notebooks["zh", kind].cells]
    different = [(a, b) for mine, other in zip(english, chinese, strict=True)
                 for a, b in zip(mine.source.split("\n"), other.source.split("\n"), strict=True) if a != b]
    assert different == [('language = "en"', 'language = "zh"')]
    answers = [[cell for cell in notebooks[language, kind].cells if cell.metadata.get("nbgrader")] for language in ("en", "zh")]
    assert answers[0] == answers[1]


@pytest.mark.parametrize("kind", ["learner", "solution", "source"])
def test_nbgrader_metadata(notebooks, kind):
    expected = {
        "require-rewards": {"grade": False, "solution": False, "locked": True},
        "centered": {"grade": False, "solution": True, "locked": False},
        "check-centered": {"grade": True, "solution": False, "locked": True, "points": 2},
        "halved": {"grade": False, "solution": True, "locked": False},
        "check-halved": {"grade": True, "solution": False, "locked": True, "points": 3},
        "written": {"grade": True, "solution": True, "locked": False, "points": 1},
    }
    found = {cell.id: cell.metadata.nbgrader for cell in notebooks["zh", kind].cells if "nbgrader" in cell.metadata}
    assert found == {key: {"grade_id": key, "schema_version": 3, "task": False, **values} for key, values in expected.items()}
    cells = {cell.id: cell for cell in notebooks["en", kind].cells}
    assert cells["written"].cell_type == "markdown" and cells["written"].source == "*Write your answer here | 在此作答*"
    for key in found:
        assert cells[key].metadata.get("editable", True) is not expected[key]["locked"]
        assert cells[key].metadata.deletable is False
    for key, function in (("check-centered", "centered"), ("check-halved", "halved")):  # nbgrader takes a last value as a partial score
        assert cells[key].source.splitlines()[-1] == f'run_checks(globals(), "{function}")'
    for key in ("centered", "check-centered", "require-rewards"):
        assert f"[{key}] " in cells[key].source.splitlines()[0]
    assert {key: cell.metadata.tags for key, cell in cells.items() if "tags" in cell.metadata} == {
        "check-centered": ["raises-exception"], "check-halved": ["raises-exception"], "use-it": ["demo", "raises-exception", "use"]}


def test_a_check_cell_has_no_value(capsys):
    """nbgrader would take a number for a part of the points."""
    def check_double_one(answers):
        return answers.double(1)

    assert run_checks({"double": lambda x: 2 * x, "check_double_one": check_double_one}, "double") is None
    assert "✓ check_double_one" in capsys.readouterr().out


def text_of(notebook):
    return "\n".join(cell.source for cell in notebook.cells if cell.id != "setup")


def test_hidden_checks_stand_only_in_the_source(notebooks):
    for language in ("en", "zh"):
        source = text_of(notebooks[language, "source"])
        assert source.count("### BEGIN HIDDEN TESTS") == source.count("### END HIDDEN TESTS") == 2
        assert "hidden_halved_random" in source and "secret_oracle" in source
        for kind in ("learner", "solution"):
            text = text_of(notebooks[language, kind])
            assert not re.search(r"HIDDEN TESTS|hidden_|secret_oracle|\b_spec\b", text) and "check_halved_by_hand" in text


def test_solutions_stand_never_in_the_learners_notebook(notebooks):
    for language in ("en", "zh"):
        text = text_of(notebooks[language, "learner"])
        assert not re.search("SOLUTION|mean_of_all|依据|Why", text)
        assert 'raise NotImplementedError("TODO 1: Center | 中心化")' in text and "# result = ???" in text
        assert "mean_of_all" in text_of(notebooks[language, "solution"])
        assert "stop-here" not in [cell.id for cell in notebooks[language, "solution"].cells]
        assert "stop-here" in [cell.id for cell in notebooks[language, "learner"].cells]


def test_a_given_function_of_an_earlier_lesson_stands_solved(tmp_path):
    given = "```{code-cell}\n---\nkey: centered\ngiven: centered\n---\n```\n"
    read = two_lessons(tmp_path, CELL["require-rewards"], given)
    assert cell_of(build_notebook(read_lesson(read(), "next"), "en", "learner"), "centered").source == (
        "# [centered] Given: run this cell as it is. | 已给出：直接运行。\ndef centered(rewards: torch.Tensor) -> torch.Tensor:\n"
        '    """Rewards minus their mean. | 奖励减去均值。"""\n    require_rewards(rewards)\n    mean_of_all = rewards.mean()\n'
        "    result = rewards - mean_of_all\n    return result")


def test_hints_fold_in_the_learners_language(notebooks):
    assert cell_of(notebooks["zh", "learner"], "centered-hints").source == (
        "<details><summary>提示 1</summary>\n\n先求均值。\n\n</details>\n\n<details><summary>提示 2</summary>\n\n再减去它。\n\n</details>")
    assert "Take the mean first." in cell_of(notebooks["en", "learner"], "centered-hints").source


def test_payload_holds_neither_reference_nor_hidden_checks(notebooks):
    for notebook in notebooks.values():
        setup = cell_of(notebook, "setup")
        files = unpack(re.search(r'_advantagelab\("[^"]*", "[0-9a-f]{64}", "([^"]*)"\)', setup.source)[1])
        assert {"advantagelab/__init__.py", "advantagelab/checking/run.py", "advantagelab/widgets/__init__.py"} <= files.keys()
        assert not [name for name in files if not name.startswith("advantagelab/") or re.search("algorithms|trainers|methods", name)]
        assert not [name for name, content in files.items() if b"BEGIN SOLUTION" in content or re.search(rb"^def hidden_", content, re.M)]
        assert len(setup.source) <= 450_000
        assert "nbgrader" not in setup.metadata and setup.metadata == {"jupyter": {"source_hidden": True}, "cellView": "form"}
        assert max(map(len, [line for line in setup.source.split("\n") if not line.startswith("advantagelab = ")])) < 200


def test_payload_carries_what_is_imported_not_what_is_mentioned():
    assert not [name for name in payload_files('print("conformance and tinylm")') if re.search("conformance|tinylm", name)]
    assert "advantagelab/conformance/__init__.py" in payload_files("from advantagelab import conformance")
    assert "advantagelab/conformance/__init__.py" in payload_files("import advantagelab.conformance as c")


def test_refuses_what_no_notebook_carries():
    with pytest.raises(Refused, match="algorithms: a code cell imports this, but a lesson's notebook never carries it"):
        payload_files("from advantagelab.algorithms.rloo import rloo_policy_loss")
    payload_files("from advantagelab import set_language, __version__")


def test_payload_carries_the_widgets_that_are_named_and_what_these_import():
    files = payload_files("widgets.reward_flow()")
    carried = {Path(name).stem for name in files if name.startswith("advantagelab/widgets/")}
    assert carried == {"__init__", "reward_flow", "flow", "panel", "access", "style"}
    assert "clip" not in files["advantagelab/widgets/__init__.py"].decode()


TRAINS = """
from advantagelab.tinylm import train
from advantagelab.tinylm.live import LiveRun
train(method, base="direct", watch=LiveRun("grpo"))
"""


def test_payload_carries_the_checkpoint_that_is_named_and_the_records_that_are_read():
    files = payload_files(TRAINS)
    data = {name for name in files if not name.endswith((".py", ".otf", ".txt"))}
    assert data == {"advantagelab/tinylm/checkpoints/direct.safetensors", "advantagelab/tinylm/recorded/bands.json"}
    assert len(files["advantagelab/tinylm/recorded/bands.json"]) <= 20_000
    assert {"advantagelab/tinylm/live.py", "advantagelab/widgets/panel.py", "advantagelab/widgets/style.py"} <= files.keys()
    assert not [name for name in files if re.search("algorithms|methods|trainers", name)]
    assert len(pack(files)[0]) < 440_000
    assert not [name for name in payload_files("widgets.reward_flow()") if "tinylm" in name]


def test_refuses_training_without_a_named_checkpoint():
    with pytest.raises(Refused, match="names no checkpoint"):
        payload_files(TRAINS.replace("direct", "dirct"))


def test_what_is_drawn_over_records_has_its_hanzi():
    files = payload_files(TRAINS)
    characters = TTFont(io.BytesIO(files["advantagelab/fonts/AdvantageLabSansSC.otf"])).getBestCmap()
    titles = "".join(band["title"][1] for band in json.loads(files["advantagelab/tinylm/recorded/bands.json"]).values())
    assert set(map(ord, titles + "你的训练快速模式步数留出集正确率")) <= characters.keys()


def test_the_set_up_cell_unpacks_every_file_as_it_was(tmp_path):
    """Binary files too: run from an empty folder, with no package installed, the cell's own copy is what is imported."""
    files = payload_files(TRAINS) | {"advantagelab/lesson.json": b'{"lesson": "none", "solved": false, "todos": [], "course": []}'}
    payload, digest = pack(files)
    source = notebook_module.SETUP_TEMPLATE
    for name, value in (("LANGUAGE", "zh"), ("VERSION", "0.0.test"), ("DIGEST", digest), ("PAYLOAD", payload)):
        source = source.replace(f'"{name}"', f'"{value}"')
    source += "\nimport pathlib\nfolder = pathlib.Path(advantagelab.__file__).parents[1]\n" + (
        "for file in sorted(folder.rglob('*')):\n    if file.is_file() and '__pycache__' not in file.parts:\n"
        "        print(hashlib.sha256(file.read_bytes()).hexdigest(), file.relative_to(folder).as_posix())\n")
    opening = ("import hashlib, sys\n"  # a package installed as editable also answers for a submodule that the copy lacks
               "sys.meta_path[:] = [finder for finder in sys.meta_path if 'Editable' not in getattr(finder, '__name__', '')]\n")
    (tmp_path / "cell.py").write_text(opening + source, encoding="utf-8")
    done = subprocess.run([sys.executable, "cell.py"], cwd=tmp_path, capture_output=True, text=True,
                          env={key: value for key, value in os.environ.items() if key != "PYTHONPATH"})
    assert done.returncode == 0, done.stderr
    listed = dict(reversed(line.split(" ", 1)) for line in done.stdout.splitlines()[1:])
    assert listed == {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}


def test_refuses_a_file_that_imports_what_is_not_carried(monkeypatch):
    monkeypatch.setattr(payload_module, "ALWAYS", tuple(part for part in payload_module.ALWAYS if part != "message.py"))
    with pytest.raises(Refused, match=r"advantagelab/checking/\w+\.py: it imports advantagelab/message, which the notebook does not carry"):
        payload_files("widgets.baselines()")


@pytest.mark.parametrize("line, path", [
    ("from . import here", "advantagelab/a/b/here"), ("from .here.there import x", "advantagelab/a/b/here/there"),
    ("from ..here import x", "advantagelab/a/here"), ("from ...here import x", "advantagelab/here")])
def test_refuses_an_import_from_any_folder_above_that_is_not_carried(line, path):
    files = {"advantagelab/a/b/file.py": line.encode()}
    with pytest.raises(Refused, match=f"advantagelab/a/b/file.py: it imports {path}, which"):
        payload_module._refuse_what_is_not_carried(files, payload_module.ROOT / "advantagelab")
    payload_module._refuse_what_is_not_carried(files | {f"{path}.py": b""}, payload_module.ROOT / "advantagelab")


def test_refuses_a_payload_over_its_limit(tmp_path, monkeypatch):
    read = write_course(tmp_path)
    monkeypatch.setattr(builder, "PAYLOAD_LIMIT_DEFAULT", 20_000)
    with pytest.raises(Refused, match=r"04_tiny\.ipynb: \[setup\] the set-up cell has \d+ bytes, the limit is 20000"):
        builder.build(read(), tmp_path)


def test_the_same_source_gives_the_same_bytes(tmp_path, monkeypatch):
    monkeypatch.setattr(notebook_module, "payload_files", payload_files)  # the payload is made anew, too
    contents = []
    for folder in (tmp_path / "one", tmp_path / "two"):
        files = builder.build(write_course(folder)(), folder)
        contents.append({file.relative_to(folder): file.read_bytes() for file in files})
    assert contents[0] == contents[1] and len(contents[0]) == 4


def test_badges_only_with_an_address(tmp_path):
    read = write_course(tmp_path)
    notebook = build_notebook(read_lesson(read(), "tiny"), "zh", "learner")
    header, stop = cell_of(notebook, "header").source, cell_of(notebook, "stop-here").source
    assert "badge" not in header and "http" not in header and "上传这一个文件" in header
    assert "[参考答案 notebook](../../solutions/zh/04_tiny.ipynb)" in stop

    edit(tmp_path, COURSE_TOML, 'owner = ""', 'owner = "someone"', 'repository = ""', 'repository = "lab"')
    lesson = read_lesson(read(), "tiny")
    notebook = build_notebook(lesson, "zh", "learner")
    path = "someone/lab/blob/main/notebooks/zh/04_tiny.ipynb"
    header, stop = cell_of(notebook, "header").source, cell_of(notebook, "stop-here").source
    assert f"(https://colab.research.google.com/assets/colab-badge.svg)](https://colab.research.google.com/github/{path})" in header
    assert ("(https://img.shields.io/badge/Open%20In-ModelScope-624aff?logo=alibabacloud)]"
            f"(https://modelscope.cn/notebook/share/github/{path})") in header
    assert "(https://github.com/someone/lab/blob/main/solutions/zh/04_tiny.ipynb)" in stop
    assert "/solutions/en/04_tiny.ipynb" in cell_of(build_notebook(lesson, "en", "solution"), "header").source


def test_header_says_what_course_toml_says(notebooks):
    assert cell_of(notebooks["en", "learner"], "header").source.startswith(
        "# T-TINY. Tiny | 微型\n\n**Difficulty**: Easy · **Environment**: BASE-CPU · **Audience**: Tests · **Tags**: tiny "
        "· **Time**: 5 minutes · **Points**: 6\n\n")
    assert "**难度**：简单" in cell_of(notebooks["zh", "learner"], "header").source


def test_the_course_is_built(tmp_path):
    """What stands in notebooks/ and solutions/ is what lessons/ gives."""
    done = subprocess.run([sys.executable, "-m", "lessons", "build", "--check"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(r"\d+ notebooks are as their sources give them\n", done.stdout)
