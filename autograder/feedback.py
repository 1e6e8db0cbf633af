"""What a student gets back: one HTML page in their language that opens without a network.

A failed hidden check shows its name and what it is about, never its code or numbers. All that a student wrote is escaped and cut.
"""

import functools
import html
import re
from collections.abc import Mapping
from string import Template

import nbformat

from advantagelab.message import Message, message
from lessons._build.course import read_course
from lessons._build.lesson import read_lesson

from .record import GRADED, CheckResult, Marks, QuestionRecord, Record

LONGEST = 8_000  # characters of one answer or output
# Colors and other signs to a terminal, and signs that hide or turn text.
NOT_SHOWN = re.compile(r"\x1b\[[0-9;]*[A-Za-z]|[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
LEAD = re.compile(r"^\*\*(.+?)\*\*", re.M)
PAGE = Template("""<!doctype html>
<html lang="$lang"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>$title</title><style>
body{font:16px/1.6 system-ui,"Noto Sans CJK SC","Microsoft YaHei","PingFang SC",sans-serif;color:#1a1a1a;background:#fff;
max-width:54rem;margin:2rem auto;padding:0 1rem;overflow-wrap:anywhere}
pre{background:#f5f5f5;padding:.6rem .8rem;overflow-x:auto;white-space:pre-wrap;font-size:14px}
h1{font-size:1.5rem;line-height:1.3}h2{font-size:1.15rem;border-top:1px solid #bbb;padding-top:.8rem;margin-top:2rem}
table{border-collapse:collapse}td,th{text-align:left;padding:.15rem 1.2rem .15rem 0;vertical-align:top;white-space:pre-wrap}
ul{list-style:none;padding-left:0}.passed::before{content:"✓ "}.failed::before{content:"✗ "}.failed{color:#a33000}
.note{border-left:4px solid #d55e00;padding-left:.8rem}.comment{white-space:pre-wrap}.small{color:#555;font-size:14px}
</style></head><body>
$body
</body></html>
""")
WORDS = {
    "score": ("Score", "得分"), "waiting": ("{0} points wait for a person", "还有 {0} 分等待人工批改"),
    "late": ("late: −{0}", "迟交：−{0}"),
    "answer": ("Your answer", "你的答案"), "no_response": ("Not answered.", "未作答。"),
    "checks": ("{0} of {1} checks passed", "{1} 项检查通过 {0} 项"), "hidden": ("hidden check", "隐藏检查"),
    "expected": ("expected", "应为"), "got": ("got", "实得"), "repairs": ("Put right in your file before grading", "评阅前对文件做的修正"),
    "ungradable": ("This file could not be graded. It has no score yet, not a score of 0.", "这份文件无法评阅。目前没有分数，不是 0 分。"),
    "comment": ("Comment", "评语"), "output": ("What your cell printed", "单元的输出"), "question": ("Written answer", "问答题"),
    "by_person": ("given by a person", "人工评分"), "extra": ("{0} of them extra", "含附加分 {0}"),
    "first": ("Begin with the first one: the others often follow from it.", "先改第一项，其余的往往由它引起。"),
    "cut": ("… cut here", "……以下省略"), "graded": ("Graded with", "评阅环境"),
}
NO_MARKS = Marks(None)


def feedback_page(record: Record, notebook: nbformat.NotebookNode, marks: Mapping[str, Marks], comments: Mapping[str, str],
                  late_penalty: float = 0.0) -> str:
    """marks, comments: by grade id, as the gradebook has them: a person's word counts more than ours.

    The language is the one that the student's notebook is in; both if the file could not be read.
    """
    page = _Page(Wording(record.language), {cell.id: cell for cell in notebook.cells}, _leads(record.lesson))
    page.head(record, marks, late_penalty)
    for question in record.questions:
        page.question(question, marks.get(question.key, NO_MARKS), comments.get(question.answer_key), record.status == GRADED)
    page.foot(record)
    return PAGE.substitute(lang="zh-Hans" if record.language == "zh" else "en", title=_text(f"{record.assignment} · {record.student}"),
                           body="\n".join(page.parts))


def marks_of(record: Record) -> dict[str, Marks]:
    """What the gradebook would have for it, had no person looked at it yet."""
    return {question.key: Marks(question.score) for question in record.questions}


class Wording:
    """In a student's language, "en" or "zh"; in both if it is "", not known."""

    def __init__(self, language: str):
        self._language = language

    def word(self, name: str, *values: object) -> str:
        return self.choose(*WORDS[name]).format(*values)

    def choose(self, en: str, zh: str) -> str:
        return {"en": en, "zh": zh}.get(self._language, f"{en} | {zh}")

    def label(self, name: str) -> str:
        return self.word(name) + self.colon

    @property
    def colon(self) -> str:
        return "：" if self._language == "zh" else ": "

    def bracketed(self, name: str) -> str:
        return f"（{self.word(name)}）" if self._language == "zh" else f" ({self.word(name)})"

    def cut(self, text: str) -> str:
        """Text that anyone may have written: what would move a cursor is left out, and it ends somewhere."""
        shown = NOT_SHOWN.sub("", text[:LONGEST])
        return f"{shown}\n{self.word('cut')}" if len(text) > LONGEST else shown


class _Page:
    def __init__(self, wording: Wording, cells: dict, leads: dict[str, Message]):
        self.wording, self.word, self.cells, self.leads, self.parts = wording, wording.word, cells, leads, []

    def said(self, message: Message) -> str:
        return self.cut(self.wording.choose(message.en, message.zh))

    def head(self, record: Record, marks: Mapping[str, Marks], late_penalty: float) -> None:
        given = [marks.get(question.key, NO_MARKS).points for question in record.questions]
        total = sum(question.points for question in record.questions)
        open_points = sum(question.points for question, points in zip(record.questions, given, strict=True) if points is None)
        self.parts.append(f"<h1>{_text(self.wording.choose(*read_course().lesson(record.lesson).title))}</h1>")
        self.parts.append(f"<p>{_text(record.assignment)} · {_text(record.student)}</p>")
        if record.status != GRADED:
            self.parts.append(f'<div class="note"><p><b>{self.word("ungradable")}</b></p><p>{self.said(record.reason)}</p></div>')
        notes = [self.word("waiting", f"{open_points:g}")] if open_points else []
        notes += [self.word("late", f"{late_penalty:g}")] if late_penalty else []
        score = "–" if all(points is None for points in given) else f"{max(0.0, sum(points or 0 for points in given) - late_penalty):g}"
        self.parts.append(f"<p><b>{self.wording.label('score')}{score} / {total:g}</b>{''.join(f' · {note}' for note in notes)}</p>")
        if record.repairs:
            items = "".join(f"<li>{self.said(repair)}</li>" for repair in record.repairs)
            unfold = " open" if _may_have_cost(record, given) else ""
            self.parts.append(f'<details class="small"{unfold}><summary>{self.word("repairs")}</summary><ul>{items}</ul></details>')

    def written(self, key: str) -> str:
        """Of several written questions also which one it is."""
        lead = self.leads.get(key)
        return self.word("question") + (f" · {_text(self.wording.choose(lead.en, lead.zh))}" if lead else "")

    def question(self, question: QuestionRecord, marks: Marks, comment: str | None, graded: bool) -> None:
        name = f"<code>{_text(question.function)}</code>" if question.function else self.written(question.key)
        by_person = f" · {self.word('by_person')}" if marks.manual is not None else ""
        extra = f" · {self.word('extra', f'{marks.extra:g}')}" if marks.extra else ""
        points = "–" if marks.points is None else f"{marks.points:g}"
        self.parts.append(f"<h2>{name}{self.wording.colon}{points} / {question.points:g}{by_person}{extra}</h2>")
        if question.note:
            self.parts.append(f'<p class="note">{self.said(question.note)}</p>')
        if question.checks:
            self.checks(question.checks)
        if comment:
            self.parts.append(f'<p class="note comment"><b>{self.wording.label("comment")}</b>{_text(comment)}</p>')
        if question.untouched:
            self.parts.append(f"<p>{self.word('no_response')}</p>")
        elif graded and question.answer_key in self.cells:
            self.answer(self.cells[question.answer_key])

    def checks(self, checks: tuple[CheckResult, ...]) -> None:
        """A line a check. Only the first failed one is explained: one mistake fails several, and the later ones are often off the mark."""
        failed = [check for check in checks if check.status != "passed"]
        counted = self.word("checks", len(checks) - len(failed), len(checks))
        several = f"<br>{self.word('first')}" if len(failed) > 1 and failed[0].status != "missing" else ""
        self.parts.append(f"<p>{counted}{several}</p><ul>")
        for check in checks:
            hidden = "" if check.visible else f'<span class="small">{self.wording.bracketed("hidden")}</span>'
            state = "passed" if check.status == "passed" else "failed"
            self.parts.append(f'<li class="{state}"><code>{_text(check.check)}</code>{hidden}')
            if failed and check is failed[0]:
                self.explain(check)
            self.parts.append("</li>")
        self.parts.append("</ul>")

    def explain(self, check: CheckResult) -> None:
        if check.message:
            self.parts.append(f"<p>{self.said(check.message)}</p>")
        rows = [(self.word("expected"), check.expected), (self.word("got"), check.got)] if check.visible else []
        cells = "".join(f"<tr><th>{label}</th><td><code>{self.cut(value)}</code></td></tr>" for label, value in rows if value)
        if cells:
            self.parts.append(f"<table>{cells}</table>")

    def answer(self, cell: nbformat.NotebookNode) -> None:
        self.parts.append(f"<details open><summary>{self.word('answer')}</summary><pre>{self.cut(cell.source)}</pre></details>")
        printed = "\n".join(_printed(output) for output in cell.get("outputs", []))
        if printed.strip():
            self.parts.append(f"<details open><summary>{self.word('output')}</summary><pre>{self.cut(printed)}</pre></details>")

    def cut(self, text: str) -> str:
        return _text(self.wording.cut(text))

    def foot(self, record: Record) -> None:
        with_what = [f"Advantage Lab {record.grader}", record.isolation, record.graded_at, f"SHA-256 {record.sha256[:16]}"]
        self.parts.append(f'<p class="small">{self.wording.label("graded")}{_text(" · ".join(filter(None, with_what)))}</p>')


def _may_have_cost(record: Record, given: list[float | None]) -> bool:
    """Whether something was put right in an answer that did not get all its points."""
    short = [re.escape(question.answer_key) for question, points in zip(record.questions, given, strict=True)
             if points is not None and points < question.points]
    named = re.compile(rf"(?<![\w-])(?:{'|'.join(short)})(?![\w-])")
    return bool(short) and any(named.search(repair.en) for repair in record.repairs)


@functools.cache
def _leads(lesson_name: str) -> dict[str, Message]:
    """Of a lesson with several written questions: how each begins, in bold, by its key."""
    leads, last = {}, {}
    for cell in read_lesson(read_course(), lesson_name).cells:
        if cell.role == "question":
            leads[cell.key] = message(en=last.get("en", ""), zh=last.get("zh", ""))
        elif cell.lang and not cell.only:
            found = LEAD.findall(cell.source)
            last[cell.lang] = found[-1].rstrip(".。") if found else ""
    return {key: lead for key, lead in leads.items() if len(leads) > 1 and lead.en and lead.zh}


def _printed(output: nbformat.NotebookNode) -> str:
    return output.text if output.output_type == "stream" else "\n".join(output.get("traceback", []))


def _text(text: str) -> str:
    return html.escape(text, quote=True)
