"""What a student gets back: one HTML page in their language that opens without a network.

A failed hidden check shows its name and what it is about, never its code or numbers. All that a student wrote is escaped and cut.
"""

import html
from string import Template

import nbformat

from advantagelab.checking import Message

from .record import GRADED, CheckResult, QuestionRecord, Record

LONGEST = 8_000  # characters of one answer or output
PAGE = Template("""<!doctype html>
<html lang="$lang"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>$title</title><style>
body{font:16px/1.6 system-ui,"Noto Sans CJK SC","Microsoft YaHei","PingFang SC",sans-serif;color:#1a1a1a;background:#fff;
max-width:54rem;margin:2rem auto;padding:0 1rem}
pre{background:#f5f5f5;padding:.6rem .8rem;overflow-x:auto;white-space:pre-wrap;overflow-wrap:anywhere;font-size:14px}
h1{font-size:1.5rem;line-height:1.3}h2{font-size:1.15rem;border-top:1px solid #bbb;padding-top:.8rem;margin-top:2rem}
table{border-collapse:collapse}td,th{text-align:left;padding:.15rem 1.2rem .15rem 0;vertical-align:top}
ul{list-style:none;padding-left:0}.passed::before{content:"✓ "}.failed::before{content:"✗ "}.failed{color:#a33000}
.note{border-left:4px solid #d55e00;padding-left:.8rem}.small{color:#555;font-size:14px}
</style></head><body>
$body
</body></html>
""")
WORDS = {
    "score": ("Score", "得分"), "waiting": ("{} points wait for a person", "还有 {} 分等待人工批改"),
    "answer": ("Your answer", "你的答案"), "no_response": ("Not answered.", "未作答。"),
    "checks": ("{} of {} checks passed", "通过 {} 项检查，共 {} 项"), "hidden": ("hidden check", "隐藏检查"),
    "expected": ("expected", "应为"), "got": ("got", "得到"), "repairs": ("Put right in your file before grading", "评阅前对文件做的修正"),
    "ungradable": ("This file could not be graded. It has no score yet, not a score of 0.", "这份文件无法评阅。目前没有分数，不是 0 分。"),
    "comment": ("Comment", "评语"), "output": ("What your cell printed", "单元的输出"), "question": ("Written answer", "问答题"),
    "by_person": ("given by a person", "人工评分"), "first": ("Begin with the first one: the others often follow from it.",
                                                           "先改第一个：其余的常由它引起。"),
    "cut": ("… cut here", "……以下省略"), "graded": ("Graded with", "评阅环境"), "points": ("points", "分"),
}


def feedback_page(record: Record, notebook: nbformat.NotebookNode, scores: dict[str, tuple], comments: dict[str, str]) -> str:
    """scores, comments: by grade id, as the gradebook has them: a person's word counts more than ours.

    The language is the one that the student's notebook is in; English if the file could not be read.
    """
    page = _Page(record.language or "en", {cell.id: cell for cell in notebook.cells})
    page.head(record, scores)
    for question in record.questions:
        page.question(question, scores.get(question.key), comments.get(question.answer_key), record.status == GRADED)
    page.foot(record)
    return PAGE.substitute(lang={"en": "en", "zh": "zh-Hans"}[page.language], title=_text(f"{record.assignment}: {record.student}"),
                           body="\n".join(page.parts))


class _Page:
    def __init__(self, language: str, cells: dict):
        self.language, self.cells, self.parts = language, cells, []

    def word(self, name: str) -> str:
        return WORDS[name][self.language == "zh"]

    def said(self, message: Message) -> str:
        return _text(message[self.language == "zh"])

    def head(self, record: Record, scores: dict[str, tuple]) -> None:
        given = [_score(question, scores.get(question.key)) for question in record.questions]
        total = sum(question.points for question in record.questions)
        open_points = sum(question.points for question, score in zip(record.questions, given, strict=True) if score is None)
        self.parts.append(f"<h1>{_text(record.assignment)}</h1>")
        if record.status != GRADED:
            self.parts.append(f'<div class="note"><p><b>{self.word("ungradable")}</b></p><p>{self.said(record.reason)}</p></div>')
        waiting = f" ({self.word('waiting').format(f'{open_points:g}')})" if open_points else ""
        points = sum(score or 0 for score in given)
        self.parts.append(f"<p><b>{self.word('score')}: {points:g} / {total:g}</b>{waiting}</p>")
        if record.repairs:
            items = "".join(f"<li>{self.said(repair)}</li>" for repair in record.repairs)
            self.parts.append(f'<details class="small"><summary>{self.word("repairs")}</summary><ul>{items}</ul></details>')

    def question(self, question: QuestionRecord, score: tuple | None, comment: str | None, graded: bool) -> None:
        name = f"<code>{_text(question.function)}</code>" if question.function else self.word("question")
        points = _score(question, score)
        by_person = f" · {self.word('by_person')}" if score and score[1] is not None else ""
        self.parts.append(f"<h2>{name}: {'–' if points is None else f'{points:g}'} / {question.points:g}{by_person}</h2>")
        if question.note:
            self.parts.append(f'<p class="note">{self.said(question.note)}</p>')
        if question.checks:
            self.checks(question.checks)
        if comment:
            self.parts.append(f'<p class="note"><b>{self.word("comment")}:</b> {_text(comment)}</p>')
        if question.untouched:
            self.parts.append(f"<p>{self.word('no_response')}</p>")
        elif graded and question.answer_key in self.cells:
            self.answer(self.cells[question.answer_key])

    def checks(self, checks: tuple[CheckResult, ...]) -> None:
        """A line a check. Only the first failed one is explained: one mistake fails several, and the later ones often say what is untrue."""
        failed = [check for check in checks if check.status != "passed"]
        passed = len(checks) - len(failed)
        self.parts.append(f"<p>{self.word('checks').format(passed, len(checks))}"
                          f"{'. ' if len(failed) > 1 and self.language == 'en' else '。' if len(failed) > 1 else ''}"
                          f"{self.word('first') if len(failed) > 1 else ''}</p><ul>")
        for check in checks:
            hidden = "" if check.visible else f' <span class="small">({self.word("hidden")})</span>'
            state = "passed" if check.status == "passed" else "failed"
            self.parts.append(f'<li class="{state}"><code>{_text(check.check)}</code>{hidden}')
            if failed and check is failed[0] and check.message:
                self.parts.append(f"<p>{self.said(check.message)}</p>")
                rows = [(self.word("expected"), check.expected), (self.word("got"), check.got)]
                cells = "".join(f"<tr><th>{label}</th><td><code>{_text(value)}</code></td></tr>" for label, value in rows if value)
                if check.visible and cells:
                    self.parts.append(f"<table>{cells}</table>")
            self.parts.append("</li>")
        self.parts.append("</ul>")

    def answer(self, cell: nbformat.NotebookNode) -> None:
        source = html.unescape(cell.source) if cell.cell_type == "markdown" else cell.source  # autograded.as_text, undone
        self.parts.append(f"<details open><summary>{self.word('answer')}</summary><pre>{self.cut(source)}</pre></details>")
        printed = "\n".join(_printed(output) for output in cell.get("outputs", []))
        if printed.strip():
            self.parts.append(f"<details open><summary>{self.word('output')}</summary><pre>{self.cut(printed)}</pre></details>")

    def cut(self, text: str) -> str:
        return _text(text[:LONGEST]) + (f"\n{self.word('cut')}" if len(text) > LONGEST else "")

    def foot(self, record: Record) -> None:
        self.parts.append(f'<p class="small">{self.word("graded")}: Advantage Lab {_text(record.grader)} · '
                          f"{_text(record.isolation or '–')} · {_text(record.graded_at)} · SHA-256 {_text(record.sha256[:16])}</p>")


def _score(question: QuestionRecord, score: tuple | None) -> float | None:
    automatic, manual = (score[0], score[1]) if score else (question.score, None)
    return automatic if manual is None else manual


def _printed(output: nbformat.NotebookNode) -> str:
    return output.text if output.output_type == "stream" else "\n".join(output.get("traceback", []))


def _text(text: str) -> str:
    return html.escape(str(text), quote=True)
