"""The notebook that an instructor opens in formgrader: the restored submission, with what came out when it was graded.

Formgrader shows it on the Jupyter server's own origin, so whatever a student wrote must arrive there as text: outputs are plain
streams, and in their prose no HTML is left.
"""

import html
import re
from copy import deepcopy

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell, new_output

from advantagelab.checking import Message
from advantagelab.checking.run import report

from .judge import CellOutcome, Judgement, QuestionResult

# What may open a tag or an entity. Other signs, as in "$a < b$" and "> quoted", stay what Markdown makes of them.
OPENS_HTML = re.compile(r"<(?=[A-Za-z/!?])|&(?=#|\w)")
SCRIPT_ADDRESS = re.compile(r"(javascript|vbscript|data)(\s*):", re.I)


def graded_notebook(notebook: NotebookNode, judgement: Judgement, released: dict[str, str]) -> NotebookNode:
    """released: the source of each released cell, by id; prose that differs from it is the student's."""
    graded = deepcopy(notebook)
    outcomes = {outcome.key: outcome for outcome in judgement.cells}
    results = {result.key: result for result in judgement.questions}
    for cell in graded.cells:
        if cell.cell_type != "code":
            if cell.source != released.get(cell.id):
                cell.source = as_text(cell.source)
        elif cell.id in results:
            cell.outputs = _outputs_of_question(results[cell.id])
        elif cell.id in outcomes:
            cell.outputs = _outputs_of_cell(outcomes[cell.id])
    return graded


def ungradable_notebook(release: NotebookNode, reason: Message, submitted: bytes) -> NotebookNode:
    """The release, so that points can be given by hand, under the reason and the beginning of what was handed in."""
    notebook = deepcopy(release)
    begin = submitted[:2000].decode("utf-8", errors="replace")
    shown = "\n".join(f"    {line}" for line in begin.splitlines())
    notebook.cells.insert(0, new_markdown_cell(f"**{reason.en}**\n\n**{reason.zh}**\n\n{as_text(shown)}", id="ungradable"))
    return notebook


def as_text(markdown: str) -> str:
    """A student's prose without HTML and script addresses; formulas and Markdown stay."""
    escaped = OPENS_HTML.sub(lambda match: html.escape(match[0]), markdown)
    return SCRIPT_ADDRESS.sub(r"\1\2：", escaped)


def _outputs_of_cell(outcome: CellOutcome) -> list[NotebookNode]:
    outputs = [new_output("stream", name="stdout", text=outcome.stdout)] if outcome.stdout else []
    if outcome.error or outcome.note:
        lines = [outcome.error or "", *([outcome.note.en, outcome.note.zh] if outcome.note else [])]
        name = (outcome.error or "stopped").partition(":")[0]
        outputs.append(new_output("error", ename=name, evalue="", traceback=[line for line in lines if line]))
    return outputs


def _outputs_of_question(result: QuestionResult) -> list[NotebookNode]:
    said = report(list(result.verdicts)) if result.verdicts else ""
    note = f"{result.note.en}\n{result.note.zh}\n" if result.note else ""
    outputs = [new_output("stream", name="stdout", text=f"{said}\n{note}")] if said or note else []
    if result.score < result.points:
        passed = sum(verdict.status == "passed" for verdict in result.verdicts)
        total = len(result.verdicts)
        line = f"{result.function}: {passed} of {total} checks passed | 通过 {passed} 项，共 {total} 项"
        outputs.append(new_output("error", ename="ChecksFailed", evalue=line, traceback=[f"ChecksFailed: {line}"]))
    return outputs


def dumps(notebook: NotebookNode) -> str:
    return nbformat.writes(notebook, indent=1, ensure_ascii=False) + "\n"
