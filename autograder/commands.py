"""The commands of an instructor: grade, feedback, export, try."""

import contextlib
import importlib.util
import os
import re
import types
from collections.abc import Iterator
from pathlib import Path

import nbformat

from advantagelab.message import message
from lessons._build.course import LessonEntry, read_course
from lessons._build.lesson import read_lesson

from .course_error import CourseError
from .course_folder import CourseFolder, open_course
from .export import is_graded, write_tables
from .feedback import feedback_page, marks_of
from .gradebook import GradebookReader, GradebookWriter
from .intake import read_file
from .intake.repairs import shown
from .record import GRADED, Record, read_record, write_whole
from .os_errors import NOTHING_CHANGED, CannotWrite
from .processes import Crew, Executors, dask, processes
from .run import grade_assignment, only_run
from .sandbox import SandboxError
from .submission import Ungradable
from .submitted import Astray
from .task import Handed, Setup

NAMED = 5  # students of whom the same is said, before the others are only counted
TRIED = "<!-- python -m autograder try -->\n"  # how `try` ends its pages, and knows them again


def grade_command(folder: Path, lesson: str | None, student: str | None, workers: int, executor: str | None, checks: Path | None,
                  seed: int | None, again: bool, unsafe: bool) -> int:
    """Exit status: 0 if everything that lies in `submitted` is graded, 1 if not."""
    course = open_course(folder)
    setup = Setup(course.seed() if seed is None else seed, checks_source(checks), unsafe)
    entries = course.lessons(lesson)
    if student is not None:
        entries = [entry for entry in entries if any(name == student for name, _ in course.submitted.of(entry.notebook))]
        if not entries:
            there = "".join(f"\n{work}" for work in _astray(course, student, lesson))
            raise CourseError(f"nothing was handed in by {student} | 没有 {student} 提交的作业{there}")
    ungradable, waiting, handed_in = 0, 0, 0
    with only_run(course), Crew(_executors(executor, workers)) as crew:
        for entry in entries:
            with _sandbox_needed():
                summary = grade_assignment(course, entry.name, setup, crew, student=student, again=again)
            records = [record for record in _records(course, entry.notebook) if student in (None, record.student)]
            with GradebookWriter(course) as gradebook:
                gradebook.store_late_penalties(entry.notebook)
                waits = gradebook.waiting(entry.notebook)
            refused = [record for record in records if record.status != GRADED]
            if summary.graded or summary.unchanged:
                print(_summary(entry, summary.graded, summary.unchanged, refused))
            handed_in += len(summary.graded) + summary.unchanged
            ungradable += len(refused)
            waiting += sum(waits.get(record.student, 0) for record in records if record.status == GRADED)
    astray = _astray(course, student, lesson)
    for work in astray:
        print(work)
    if not handed_in:
        print(f"nothing was handed in: {course.submitted.folder} | 没有提交的作业：{course.submitted.folder}")
        return 1 if astray else 0
    print(_next(course, waiting, folder))
    return 1 if ungradable or astray else 0


def feedback_command(folder: Path, lesson: str | None, student: str | None) -> int:
    """A page for each graded submission, from its record and the gradebook as it is now. Exit status: 1 if there is none."""
    course, made, unmarked, ungradable, stale = open_course(folder), 0, 0, 0, []
    with GradebookReader(course) as gradebook:
        for entry in course.lessons(lesson):
            assignment, waits = entry.notebook, gradebook.waiting(entry.notebook)
            for name, handed_in in course.submitted.of(assignment):
                if student not in (None, name):
                    continue
                record = read_record(course.record_file(name, assignment))
                if not record or not is_graded(record, handed_in):
                    stale.append(name)
                if record:
                    page = _page(course, gradebook, record)
                    try:
                        write_whole(course.folder("feedback", name, assignment) / f"{assignment}.html", page)
                    except CannotWrite as error:
                        before = message(en=f"pages made before: {made}", zh=f"此前已生成 {made} 份")
                        raise error.but(before if made else NOTHING_CHANGED) from error
                    made += 1
                    unmarked += name in waits and record.status == GRADED
                    ungradable += name in waits and record.status != GRADED
    if stale:
        names = ", ".join(map(shown, stale[:4])) + (" …" if len(stale) > 4 else "")
        print(f"not graded as they are now: {len(stale)} ({names}); first: python -m autograder grade {folder} | "
              f"现有文件尚未评阅：{len(stale)} 份（{names}）；请先运行 python -m autograder grade {folder}")
    for work in _astray(course, student, lesson):
        print(work)
    place = course.folder("feedback", "STUDENT", "ASSIGNMENT")
    print(f"pages: {made} in {place}; with answers that nobody has marked yet: {unmarked}; of ungradable files: {ungradable} | "
          f"生成 {made} 份反馈，位于 {place}；其中有未批改答案的 {unmarked} 份，无法评阅的 {ungradable} 份")
    return 0 if made else 1


def export_command(folder: Path | None, lesson: str | None, form: str, output: Path | None, checks: Path | None, seed: int | None) -> int:
    if form != "gradescope" and (checks, seed) != (None, None):
        raise CourseError("--checks and --seed of an export are for --format gradescope | "
                          "导出时只有 --format gradescope 用到 --checks 和 --seed")
    if form == "gradescope":
        from .gradescope import write_autograder

        if lesson is None:
            raise CourseError("an autograder for which lesson? export --lesson … --format gradescope | "
                              "导出哪一课的评分包？export --lesson … --format gradescope")
        output = output or (folder or Path()) / f"{read_course().lesson(lesson).notebook}-gradescope.zip"
        if seed is None and folder is not None:
            seed = open_course(folder).seed()
        write_autograder(lesson, output, seed, checks_source(checks))
    elif folder is None:
        raise CourseError(f"the scores of which course? export COURSE --format {form} | "
                          f"导出哪个课程的成绩？export COURSE --format {form}")
    else:
        course = open_course(folder)
        assignments = [entry.notebook for entry in course.lessons(lesson)]
        output = output or folder / f"{assignments[0] if lesson else 'all_lessons'}.{form}"
        write_tables(course, assignments, form, output)
        for work in _astray(course, None, lesson):
            print(work)
    print(output)
    return 0


def try_command(lesson: str, file: Path, output: Path | None, checks: Path | None, seed: int | None, unsafe: bool) -> int:
    """One file as its author would see it graded. Exit status: 0 if every check passes, 1 if not, 2 if it cannot be graded.

    The page of a file that is graded is written here, over an earlier one of this command, never over any other file.
    """
    from .grade import grade

    entry = read_course().lesson(lesson)
    output = output or Path(re.split(r"\.ipynb", file.name, maxsplit=1, flags=re.IGNORECASE)[0] + "-feedback.html")
    if os.path.lexists(output) and not (output.is_file() and output.read_bytes().endswith(TRIED.encode())):
        raise CourseError(f"{output} is there already, and `try` did not write it: name another with --output; nothing was changed | "
                          f"{output} 已存在，且不是 try 写的：请用 --output 另取文件名；没有改动任何内容")
    try:
        data = read_file(file)
    except Ungradable as refused:
        raise CourseError(f"{file}: {refused}") from None
    setup = Setup(seed if seed is not None else 0, checks_source(checks), unsafe)
    with _sandbox_needed():
        graded = grade(setup, Handed(file.stem, entry.notebook, lesson, file.name, data))
    record = graded.record
    print(_told(record))
    if record.status != GRADED:
        return 2
    write_whole(output, feedback_page(record, nbformat.reads(graded.notebook, 4), marks_of(record), {}) + TRIED)
    print(output)
    return 0 if all(question.score == question.points for question in record.questions if question.function) else 1


def checks_source(file: Path | None) -> str:
    """An instructor's own checks. CourseError at once if they are no Python, or none is for a function of the course."""
    if file is None:
        return ""
    module = types.ModuleType("private_checks")
    try:
        source = file.read_text(encoding="utf-8-sig")
        exec(compile(source, str(file), "exec"), vars(module))
    except Exception as error:
        raise CourseError(f"cannot read the checks in {file}: {type(error).__name__}: {error} | "
                          f"无法读取检查 {file}：{type(error).__name__}: {error}") from error
    course = read_course()
    functions = [function for entry in course.lessons for function in read_lesson(course, entry.name).functions]
    names = [name for name in vars(module) if name.startswith(("check_", "hidden_"))]
    unknown = [name for name in names if not name.partition("_")[2].startswith(tuple(f"{function}_" for function in functions))]
    if unknown or not names:
        found = ", ".join(unknown) or "–"
        raise CourseError(f"{file}: a check is called check_FUNCTION_WHAT or hidden_FUNCTION_WHAT, not: {found} | "
                          f"{file}：检查应名为 check_函数名_内容 或 hidden_函数名_内容，而不是：{found}")
    return source


def _page(course: CourseFolder, gradebook: GradebookReader, record: Record) -> str:
    assignment, student = record.assignment, record.student
    file = course.folder("autograded", student, assignment) / f"{assignment}.ipynb"
    if not file.is_file():
        raise CourseError(f"{file} is missing: python -m autograder grade {course.root} --again --student {student} | "
                          f"缺少 {file}：请运行 python -m autograder grade {course.root} --again --student {student}")
    return feedback_page(record, nbformat.read(file, 4), gradebook.marks(assignment, student), gradebook.comments(assignment, student),
                         gradebook.late_penalty(assignment, student))


def _records(course: CourseFolder, assignment: str) -> Iterator[Record]:
    for student, _ in course.submitted.of(assignment):
        record = read_record(course.record_file(student, assignment))
        if record:
            yield record


def _told(record: Record) -> str:
    lines = [str(record.reason)] if record.reason else []
    lines += [f"· {repair}" for repair in record.repairs]
    for question in record.questions:
        score = "–" if question.score is None else f"{question.score:g}"
        lines.append(f"{question.key}: {score} / {question.points:g}{f'  {question.note}' if question.note else ''}")
        failed = next((check for check in question.checks if check.status != "passed"), None)
        if failed:
            lines += [f"    {failed.check}", f"    {failed.message.en}", f"    {failed.message.zh}"]
    if record.isolation:
        lines.append(f"isolation: {record.isolation} | 隔离方式：{record.isolation}")
    return "\n".join("".join(sign if sign.isprintable() else " " for sign in line) for line in lines)  # a student's words among them


def _summary(entry: LessonEntry, records: list[Record], unchanged: int, refused: list[Record]) -> str:
    """records: of this run; refused: the ungradable ones, also of earlier runs."""
    graded = sum(record.status == GRADED for record in records)
    counts = (f"{graded} graded, {len(records) - graded} ungradable, {unchanged} unchanged",
              f"评阅 {graded} 份，无法评阅 {len(records) - graded} 份，{unchanged} 份无变化")
    names = ", ".join(sorted({record.isolation for record in records if record.isolation}))
    isolation = (f"; isolation: {names}", f"；隔离方式：{names}") if names else ("", "")
    lines = [f"{entry.notebook}: {counts[0]}{isolation[0]} | {counts[1]}{isolation[1]}"]
    for record in sorted(records, key=lambda record: record.student):
        if record.repairs or record.notes:
            lines.append(f"  {record.student}: {'; '.join(map(str, (*record.repairs, *record.notes)))}")
    lines += [f"  {record.student}: ungradable: {record.reason.en} | 无法评阅：{record.reason.zh}" for record in refused]
    notes = {}
    for record in records:
        for question in record.questions:
            if question.note:
                notes.setdefault(question.note, []).append(f"{shown(record.student)}: {question.function or question.key}")
    for note, whose in sorted(notes.items(), key=lambda item: -len(item[1])):
        lines += [f"  {one}: {note}" for one in sorted(whose)[:NAMED]]
        lines += [f"  + {len(whose) - NAMED}: {note}"] if len(whose) > NAMED else []
    return "\n".join(lines)


def _astray(course: CourseFolder, student: str | None, lesson: str | None) -> list[Astray]:
    found = course.submitted.astray(lesson and read_course().lesson(lesson).notebook)
    return [work for work in found if student in (None, work.student)]


def _next(course: CourseFolder, waiting: int, folder: Path) -> str:
    """waiting: answers in graded files that a person has to mark."""
    feedback, export = (f"python -m autograder {command} {folder}" for command in ("feedback", "export"))
    if not waiting:
        return f"next: {feedback}; {export} --format xlsx | 接下来：{feedback}；{export} --format xlsx"
    return (f"next: answers to mark by hand: {waiting}. In {course.root} start `jupyter lab`, open nbgrader → Formgrader → Manual Grading; "
            f"then {feedback} | 接下来：有 {waiting} 个答案待人工批改：在 {course.root} 中启动 jupyter lab，"
            f"打开 nbgrader → Formgrader → Manual Grading；然后 {feedback}")


@contextlib.contextmanager
def _sandbox_needed() -> Iterator[None]:
    try:
        yield
    except SandboxError as error:
        raise CourseError(f"{error}\npython -m autograder doctor") from error


def _executors(executor: str | None, workers: int) -> Executors:
    if executor is None:
        return lambda: processes(workers or os.cpu_count() or 1)
    kind, _, address = executor.partition("=")
    if kind != "dask" or not address:
        raise CourseError("--executor is dask=ADDRESS, such as dask=tcp://scheduler:8786 | --executor 的写法是 dask=地址")
    if importlib.util.find_spec("distributed") is None:
        raise CourseError("Dask is not installed: pip install distributed | 未安装 Dask：pip install distributed")
    return lambda: dask(address)
