"""The commands of an instructor: grade, feedback, export, try."""

import os
from collections import Counter
from pathlib import Path

import nbformat

from lessons._build.course import LessonEntry, read_course

from .course import CourseError
from .course_folder import CourseFolder, open_course
from .export import as_csv, table, write_xlsx
from .feedback import feedback_page
from .grade import Handed, Setup, grade
from .gradebook import GradebookReader
from .intake import read_file
from .record import GRADED, Record, read_record, write_whole
from .run import Executors, dask, grade_assignment, processes
from .submission import Ungradable


def grade_command(folder: Path, lesson: str | None, student: str | None, workers: int, executor: str | None, checks: Path | None,
                  seed: int | None, again: bool, unsafe: bool) -> int:
    """Exit status: 0 if every submission was graded, 1 if some are ungradable."""
    course = open_course(folder)
    setup = Setup(course.seed() if seed is None else seed, _source(checks), unsafe)
    executors = _executors(executor, workers)
    ungradable = 0
    for entry in _lessons_of(course, lesson):
        summary = grade_assignment(course, entry.name, setup, executors, student=student, again=again)
        ungradable += sum(record.status != GRADED for record in summary.graded)
        print(_summary(entry, summary.graded, summary.unchanged))
    print(f"next: python -m autograder feedback {folder} · export {folder} | 接下来：生成反馈、导出成绩")
    return 1 if ungradable else 0


def feedback_command(folder: Path, lesson: str | None, student: str | None) -> int:
    """A page for each graded submission, from its record and the gradebook as it is now."""
    course, made = open_course(folder), 0
    with GradebookReader(course) as gradebook:
        for entry in _lessons_of(course, lesson):
            for name, _ in course.submissions(entry.notebook):
                record = read_record(course.record_file(name, entry.notebook))
                if record is None or student not in (None, name):
                    continue
                graded = course.folder("autograded", name, entry.notebook) / f"{entry.notebook}.ipynb"
                page = feedback_page(record, nbformat.read(graded, 4), gradebook.scores(entry.notebook, name),
                                     gradebook.comments(entry.notebook, name))
                write_whole(course.folder("feedback", name, entry.notebook) / f"{entry.notebook}.html", page)
                made += 1
    print(f"{made} pages in {course.folder('feedback', 'STUDENT', 'ASSIGNMENT')} | 生成 {made} 份反馈")
    return 0 if made else 1


def export_command(folder: Path, lesson: str, form: str, output: Path | None) -> int:
    entry = read_course().lesson(lesson)
    if form == "gradescope":
        from .gradescope import write_autograder

        output = output or Path(f"{entry.notebook}-gradescope.zip")
        write_autograder(lesson, output)
    else:
        course = open_course(folder)
        lines, output = table(course, entry.notebook), output or folder / f"{entry.notebook}.{form}"
        if form == "csv":
            write_whole(output, as_csv(lines))
        else:
            write_xlsx(lines, output)
    print(output)
    return 0


def try_command(lesson: str, file: Path, output: Path, checks: Path | None, seed: int | None, unsafe: bool) -> int:
    """One file as its author would see it graded. Exit status: 0 if every check passes, 1 if not, 2 if it cannot be graded."""
    entry = read_course().lesson(lesson)
    try:
        data = read_file(file)
    except Ungradable as refused:
        raise CourseError(str(refused)) from None
    setup = Setup(seed if seed is not None else 0, _source(checks), unsafe)
    graded = grade(setup, Handed(file.stem, entry.notebook, lesson, file.name, data))
    record = graded.record
    write_whole(output, feedback_page(record, nbformat.reads(graded.notebook, 4), {}, {}))
    print(_told(record))
    print(output)
    if record.status != GRADED:
        return 2
    return 0 if all(question.score == question.points for question in record.questions if question.function) else 1


def _told(record: Record) -> str:
    lines = [str(record.reason)] if record.reason else []
    lines += [f"· {repair}" for repair in record.repairs]
    for question in record.questions:
        score = "–" if question.score is None else f"{question.score:g}"
        lines.append(f"{question.key}: {score} / {question.points:g}{f'  {question.note}' if question.note else ''}")
        failed = next((check for check in question.checks if check.status != "passed"), None)
        if failed:
            lines += [f"    {failed.check}", f"    {failed.message.en}", f"    {failed.message.zh}"]
    return "\n".join([*lines, f"isolation | 隔离: {record.isolation or '–'}"])


def _summary(entry: LessonEntry, graded: list[Record], unchanged: int) -> str:
    isolations = ", ".join(sorted({record.isolation for record in graded if record.isolation})) or "–"
    lines = [f"{entry.notebook}: {len(graded)} graded, {unchanged} unchanged; isolation: {isolations} | "
             f"评阅 {len(graded)} 份，{unchanged} 份无变化；隔离：{isolations}"]
    for record in sorted(graded, key=lambda record: record.student):
        if record.status != GRADED:
            lines.append(f"  {record.student}: ungradable | 无法评阅: {record.reason}")
        elif record.repairs or record.notes:
            lines.append(f"  {record.student}: {'; '.join(map(str, (*record.repairs, *record.notes)))}")
    errors = Counter(question.note for record in graded for question in record.questions if question.note)
    lines += [f"  {number} × {note}" for note, number in errors.most_common()]
    return "\n".join(lines)


def _lessons_of(course: CourseFolder, lesson: str | None) -> list[LessonEntry]:
    """The lesson named, or all that the course has released."""
    if lesson:
        return [read_course().lesson(lesson)]
    entries = [entry for entry in read_course().lessons if course.folder("source", ".", entry.notebook).is_dir()]
    if not entries:
        raise CourseError(f"{course.root} has no assignment of this course | {course.root} 中没有本课程的作业")
    return entries


def _executors(executor: str | None, workers: int) -> Executors:
    if executor is None:
        return lambda: processes(workers or os.cpu_count() or 1)
    kind, _, address = executor.partition("=")
    if kind != "dask" or not address:
        raise CourseError("--executor is dask=ADDRESS, such as dask=tcp://scheduler:8786 | --executor 的写法是 dask=地址")
    return lambda: dask(address)


def _source(checks: Path | None) -> str:
    """An instructor's own checks, and a word at once if they are not Python."""
    if checks is None:
        return ""
    try:
        source = checks.read_text(encoding="utf-8-sig")
        compile(source, str(checks), "exec")
    except (OSError, UnicodeDecodeError, SyntaxError) as error:
        raise CourseError(f"cannot read the checks in {checks}: {error} | 无法读取检查 {checks}：{error}") from None
    return source
