"""python -m lessons check LESSON ANSWERS.py: a lesson's visible and hidden checks on the functions in a file."""

import argparse
import contextlib
import importlib
import io
import json
import linecache
import math
import sys
import traceback
from pathlib import Path

import torch

from advantagelab.checking import Message, Verdict, judge, message
from advantagelab.checking.run import PASSED, checks_of

from .code_cells import Module
from .course import read_course
from .refusal import Refused
from .regions import Region, regions


class BadFile(Exception):
    """The command cannot start; the message says why, in both languages."""

    def __init__(self, said: Message):
        super().__init__(str(said))
        self.said = said


def main(arguments: list[str]) -> int:
    """0 if every check passes, 1 if one does not, 2 if the checks could not be run."""
    options = _parser().parse_args(arguments)
    quiet = contextlib.redirect_stdout(io.StringIO()) if options.json else contextlib.nullcontext()
    try:
        with quiet:  # what the file prints would spoil the JSON document
            todos = lesson_todos(options.lesson)
            results = run(options.lesson, todos, load(Path(options.answers)))
    except BadFile as error:
        if options.json:
            print(json.dumps({"error": error.said._asdict()}, ensure_ascii=False))
        else:
            print(f"{error.said.en}\n{error.said.zh}", file=sys.stderr)
        return 2
    passed = sum(verdict.status == PASSED for _, verdict in results)
    if options.json:
        print(json.dumps(_document(options, results, passed), ensure_ascii=False, indent=1))
    else:
        print(_text(results, passed))
    return 0 if passed == len(results) else 1


def lesson_todos(lesson: str) -> list[Region]:
    course = read_course()
    try:
        todos = regions(Module(*course.algorithm_files(course.lesson(lesson))).text)
    except Refused as error:
        known = ", ".join(entry.name for entry in course.lessons)
        raise BadFile(message(en=f"There is no lesson {lesson!r}. Lessons: {known}",
                              zh=f"没有名为 {lesson!r} 的课程。现有课程：{known}")) from error
    if not todos:
        raise BadFile(message(en=f"Lesson {lesson!r} has no TODOs: there is nothing to check.", zh=f"{lesson!r} 这一课没有 TODO，没有可检查的内容。"))
    return todos


def load(file: Path) -> dict:
    """The names that a Python file defines, run with `torch` and `math` given, as in a learner's notebook."""
    if file.suffix == ".ipynb":
        raise BadFile(message(en=f"{file} is a notebook: export its code first, jupyter nbconvert --to script {file}",
                              zh=f"{file} 是 notebook：请先导出其中的代码，jupyter nbconvert --to script {file}"))
    try:
        source = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise BadFile(message(en=f"Cannot read {file}: {error}", zh=f"无法读取 {file}：{error}")) from error
    namespace = {"__name__": "answers", "__file__": str(file), "torch": torch, "math": math}
    linecache.cache[str(file)] = (len(source), None, source.splitlines(keepends=True), str(file))
    try:
        exec(compile(source, str(file), "exec"), namespace)
    except (Exception, SystemExit) as error:
        line, what = _last_line_in(file, error), f"{type(error).__name__}: {error}"
        raise BadFile(message(en=f"{file} cannot be run (line {line}): {what}", zh=f"{file} 无法运行（第 {line} 行）：{what}")) from error
    return namespace


def run(lesson: str, todos: list[Region], answers: dict) -> list[tuple[Region, Verdict]]:
    checks = vars(importlib.import_module(f"lessons.{lesson}.checks"))
    return [(todo, judge(check, todo.function, answers)) for todo in todos for check in checks_of(checks, todo.function)]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m lessons check",
        description="Run a lesson's visible and hidden checks on the functions in a Python file. "
                    "Exit status: 0 all pass, 1 some do not, 2 the file cannot be run.",
        epilog="The file is run as it is, in this process, with all your rights and without a time limit. It is for your own code: "
               "what others hand in belongs in the grader (python -m autograder).")
    parser.add_argument("lesson", help="a lesson's name, such as rloo")
    parser.add_argument("answers", metavar="ANSWERS.py", help="defines some or all of the lesson's functions; torch and math are given")
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of text")
    return parser


def _last_line_in(file: Path, error: BaseException) -> int | str:
    """The last line of the file that led to the error."""
    if isinstance(error, SyntaxError) and error.filename == str(file):
        return error.lineno
    numbers = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(file)]
    return numbers[-1] if numbers else "?"


def _text(results: list[tuple[Region, Verdict]], passed: int) -> str:
    lines, last_todo, last_message = [], None, None
    for todo, verdict in results:
        if todo != last_todo:
            lines += ["", f"TODO {todo.number}: {todo.title}  ({todo.function})"]
        lines.append(f"  {verdict.status:<8}{verdict.check}  {verdict.seconds * 1000:.1f} ms")
        repeated, last_todo, last_message = verdict.message == last_message, todo, verdict.message
        if verdict.message and not repeated:  # that a function is missing is said once
            lines += [f"          {verdict.message.en}", f"          {verdict.message.zh}"]
        for label, value in (("expected | 应为", verdict.expected), ("got      | 得到", verdict.got)):
            if value is not None:
                lines.append(f"          {label}  {value}")
    return "\n".join([*lines[1:], "", f"{passed} of {len(results)} checks pass | 共 {len(results)} 项检查，通过 {passed} 项"])


def _document(options: argparse.Namespace, results: list[tuple[Region, Verdict]], passed: int) -> dict:
    return {
        "lesson": options.lesson, "file": options.answers, "passed": passed, "total": len(results),
        "seconds": round(sum(verdict.seconds for _, verdict in results), 6),
        "checks": [{
            "todo": todo.number, "function": todo.function, "check": verdict.check,
            "visible": verdict.check.startswith("check_"), "status": verdict.status,
            "message": verdict.message and verdict.message._asdict(),
            "expected": verdict.expected, "got": verdict.got, "seconds": round(verdict.seconds, 6),
        } for todo, verdict in results],
    }
