"""The notebook that an instructor opens in formgrader: the restored submission, with what came out when it was graded.

Formgrader shows it on the Jupyter server's own origin, where a script could do whatever the instructor can. nbconvert, which renders it,
leaves HTML, links of any kind and diagrams in prose alive. So in prose that is not the course's own there is none of that, and outputs
are plain text.
"""

import re
from copy import deepcopy

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_output

from advantagelab.checking.run import report
from advantagelab.message import Message

from .judge import CellOutcome, Judgement, QuestionResult

# A space after one of these signs takes its force and leaves a person, and a formula, the same text.
OPENS_HTML = re.compile(r"<(?=[A-Za-z/!?])|&(?=#|\w)")
OPENS_LINK = re.compile(r"\](?=[(\[:])")
OPENS_ADDRESS = re.compile(r"(?<=:)//(?=\S)")  # a bare one becomes a link
# Commands of MathJax that make links, styles, names that a page's own script looks for, and signs by their numbers, or load more such.
COMMAND = re.compile(r"\\(?=(?:href|url|style|class|cssId|data|require|unicode|bbox|mmlToken)(?![A-Za-z]))")
DIAGRAM = re.compile(r"(?<=[`~])([ \t]*)mermaid")  # nbconvert puts its text into the page as it is
NAME = re.compile(r"[\w.-]+")
PICTURE = re.compile(rf"(!\[[^\[\]\n]*\]\(attachment:{NAME.pattern}\))")
PICTURE_TYPES = ("image/png", "image/jpeg", "image/gif", "image/webp")
BASE64 = re.compile(r"[A-Za-z0-9+/=\s]{1,4000000}")
# Longer ones are nothing to read, such as the package that the set-up cell carries. Without their middle a page opens at once.
LONG_LINE, LONG_CELL = 10_000, 200_000


def graded_notebook(notebook: NotebookNode, judgement: Judgement, released: dict[str, str]) -> NotebookNode:
    """released: the source of each released cell, by id; prose that differs from it is the student's."""
    graded = deepcopy(notebook)
    outcomes = {outcome.key: outcome for outcome in judgement.cells}
    results = {result.key: result for result in judgement.questions}
    for cell in graded.cells:
        _shorten(cell)
        if cell.cell_type != "code":
            pictures = _pictures(cell.pop("attachments", {}))
            if pictures and cell.cell_type == "markdown":
                cell.attachments = pictures
            if cell.source != released.get(cell.id):
                cell.source = inert(cell.source, pictures)
        elif cell.id in results:
            cell.outputs = _outputs_of_question(results[cell.id])
        elif cell.id in outcomes:
            cell.outputs = _outputs_of_cell(outcomes[cell.id])
    return graded


def _shorten(cell: NotebookNode) -> None:
    """Of the set-up cell only its title. A cut line of code stays a line of code: what is left of a string is a string."""
    if cell.id == "setup":
        cell.source = cell.source.partition("\n")[0] + "\n# …"
    lines = [line if len(line) <= LONG_LINE else f"{line[:400]} … {line[-100:]}" for line in cell.source.split("\n")]
    text = "\n".join(lines)
    cell.source = text if len(text) <= LONG_CELL else f"{text[:LONG_CELL]}\n…"


def ungradable_notebook(release: NotebookNode, reason: Message, submitted: bytes) -> NotebookNode:
    """The release, so that points can be given by hand, under the reason and the beginning of what was handed in."""
    notebook = deepcopy(release)
    for cell in notebook.cells:
        _shorten(cell)
    text = f"{reason.en}\n{reason.zh}\n\n{submitted[:2000].decode('utf-8', errors='replace')}"
    notebook.cells.insert(0, new_code_cell("# ungradable | 无法评阅", id="ungradable", outputs=[new_output("stream", text=text)]))
    return notebook


def inert(markdown: str, pictures: dict) -> str:
    """Prose without HTML, links and diagrams. What stays: Markdown's other signs, formulas, and these pictures of the cell."""
    for opens in (OPENS_HTML, OPENS_ADDRESS, COMMAND):
        markdown = opens.sub(r"\g<0> ", markdown)
    parts = PICTURE.split(markdown)
    return "".join(part if number % 2 and part.rpartition("attachment:")[2][:-1] in pictures else _unlinked(part)
                   for number, part in enumerate(parts))


def _unlinked(markdown: str) -> str:
    return DIAGRAM.sub(r"\1Mermaid", OPENS_LINK.sub("] ", markdown))


def _pictures(attachments: dict) -> dict:
    """Those that can be nothing but pictures: nbconvert writes type and data into a page as they are."""
    found = {}
    for name, data in attachments.items():
        kept = {kind: data[kind] for kind in PICTURE_TYPES
                if isinstance(data, dict) and isinstance(data.get(kind), str) and BASE64.fullmatch(data[kind])}
        if kept and NAME.fullmatch(name):
            found[name] = kept
    return found


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
        line = f"{result.function}: {passed} of {total} checks passed | {total} 项检查通过 {passed} 项"
        outputs.append(new_output("error", ename="ChecksFailed", evalue=line, traceback=[f"ChecksFailed: {line}"]))
    return outputs


def dumps(notebook: NotebookNode) -> str:
    return nbformat.writes(notebook, indent=1, ensure_ascii=False) + "\n"
