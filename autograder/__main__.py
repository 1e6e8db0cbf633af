"""python -m autograder COMMAND …: make a course, look at what came in, grade it, give back and hand on the results."""

import argparse
import sys
from pathlib import Path

from lessons._build.course import LANGUAGES, read_course
from lessons._build.refusal import Refused

from .course_error import CourseError
from .os_errors import NOTHING_CHANGED, CannotWrite, in_words
from .processes import warm_up_for

COURSE = {"metavar": "COURSE", "type": Path, "help": "the nbgrader course | nbgrader 课程文件夹"}


def main(arguments: list[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    try:
        return _run(options)
    except (CourseError, Refused) as error:
        print(error, file=sys.stderr)
    except CannotWrite as error:
        print(error.but(NOTHING_CHANGED) if options.command in ("export", "try") else error, file=sys.stderr)  # these write one file
    except OSError as error:
        print(in_words(error, options.command), file=sys.stderr)
    except KeyboardInterrupt:
        print(_stopped(options), file=sys.stderr)
    return 2


def _stopped(options: argparse.Namespace) -> str:
    if options.command == "init":
        return f"stopped; remove {options.folder} before you run init again | 已停止；重新运行 init 前请删除 {options.folder}"
    if options.command != "grade":
        return "stopped | 已停止"
    if options.again:
        return ("stopped; what is graded is kept, but with --again the same command begins from the start | "
                "已停止；已评阅的都已保存，但带 --again 的命令会从头开始")
    return "stopped; the same command goes on from here | 已停止；再次运行同一命令即可继续"


def _run(options: argparse.Namespace) -> int:
    """Each command imports what it needs: `--help` and `init` need neither torch nor a gradebook."""
    if getattr(options, "lesson", None):
        options.lesson = _lesson_called(options.lesson)
    if options.command == "init":
        from .course import init_course, next_steps

        course = read_course()
        lessons = [options.lesson] if options.lesson else [entry.name for entry in course.lessons]
        init_course(course, options.folder, options.language, lessons)
        print(next_steps(options.folder, [course.lesson(name).notebook for name in lessons]))
        return 0
    if options.command == "demo":
        from .demo import run_demo

        return run_demo(options.folder)
    if options.command == "intake":
        from .intake.command import intake_command

        return intake_command(options.folder)
    if options.command == "doctor":
        from .doctor import doctor_command

        return doctor_command()
    if options.command == "grade" and options.executor is None:
        warm_up_for(options.folder)
    from . import commands

    if options.command == "grade":
        return commands.grade_command(options.folder, options.lesson, options.student, options.workers, options.executor, options.checks,
                                      options.seed, options.again, options.unsafe)
    if options.command == "feedback":
        return commands.feedback_command(options.folder, options.lesson, options.student)
    if options.command == "export":
        return commands.export_command(options.folder, options.lesson, options.format, options.output, options.checks, options.seed)
    return commands.try_command(options.lesson, options.file, options.output, options.checks, options.seed, options.unsafe)


def _lesson_called(name: str) -> str:
    """A lesson by its name, or by that of its assignment, which is what the folders are called."""
    entries = read_course().lessons
    for entry in entries:
        if name in (entry.name, entry.notebook):
            return entry.name
    known = ", ".join(entry.name for entry in entries)
    raise CourseError(f"there is no lesson {name}; the lessons are: {known} | 没有 {name} 这一课；可用的有：{known}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m autograder", description="Grade the course with nbgrader. | 用 nbgrader 评阅本课程。")
    commands = parser.add_subparsers(dest="command", required=True)

    init = commands.add_parser("init", help="make an nbgrader course from the lessons | 用课程内容建立 nbgrader 课程")
    init.add_argument("folder", metavar="DIR", type=Path, help="a new or an empty folder | 新的或空的文件夹")
    init.add_argument("--language", choices=LANGUAGES, required=True,
                      help="of the release; submissions may be in either | 发布所用的语言；两种语言的提交都可评阅")
    init.add_argument("--lesson", metavar="NAME", help="only this lesson, such as rloo | 只要这一课，例如 rloo")

    commands.add_parser("doctor", help="which isolation of student code works here, by trying | 实测本机可用的隔离方式")

    intake = commands.add_parser("intake", help="what can be graded, and what had to be put right | 哪些可评阅，修正了什么")
    intake.add_argument("folder", metavar="DIR", type=Path, help="an nbgrader course, or a folder of notebooks | nbgrader 课程或作业文件夹")

    grade = commands.add_parser("grade", help="grade what came in; a stopped run goes on | 评阅收到的作业；中断后可继续")
    grade.add_argument("folder", **COURSE)
    _choices(grade)
    grade.add_argument("--workers", metavar="N", type=_positive, default=0, help="grading processes (default: one a core) | 评阅进程数")
    grade.add_argument("--executor", metavar="dask=ADDRESS", help="grade on a Dask cluster | 在 Dask 集群上评阅")
    grade.add_argument("--again", action="store_true", help="also what is graded already | 已评阅的也重新评阅")
    _grading(grade, "the course's, in grading/seed; give it each time | 默认用课程的，即 grading/seed；指定时每次都要带上")

    feedback = commands.add_parser("feedback", help="a page for each student, as the gradebook is now | 按当前成绩册为每人生成反馈页")
    feedback.add_argument("folder", **COURSE)
    _choices(feedback)

    export = commands.add_parser("export", help="scores as a table, or an autograder for Gradescope | 导出成绩表，或 Gradescope 评分包")
    export.add_argument("folder", nargs="?", **COURSE)
    export.add_argument("--lesson", metavar="NAME", help="only this lesson (default: all, with a total) | 只要这一课（默认：各课及总分）")
    export.add_argument("--format", choices=("csv", "xlsx", "gradescope"), required=True,
                        help="gradescope needs no COURSE; with one it takes its seed | gradescope 无需 COURSE；给出则用其种子")
    export.add_argument("--output", metavar="FILE", type=Path,
                        help="(default: in the course; without one here | 默认放在课程文件夹中，没有给出时放在当前文件夹)")
    _private(export, "COURSE's, or drawn anew | 默认取 COURSE 的，没有则新抽")

    trial = commands.add_parser("try", help="grade one file and show what its author would see | 试评一份文件",
                                description="Grade one file outside any course, and write here the page that its author would see. Exit "
                                            "status: 0 every check passes, 1 one does not, 2 it cannot be graded: then there is no page. | "
                                            "在课程之外试评一份文件，并在当前文件夹生成作者会看到的反馈页。"
                                            "退出码：0 检查全部通过，1 有未通过的，2 无法评阅（不生成反馈页）。")
    trial.add_argument("lesson", metavar="LESSON", help="rloo or 03_rloo | rloo 或 03_rloo")
    trial.add_argument("file", metavar="FILE.ipynb", type=Path)
    trial.add_argument("--output", metavar="FILE", type=Path, help="the page | 反馈页 (default: NAME-feedback.html)")
    _grading(trial, "0")

    demo = commands.add_parser("demo", help="grade a made-up class and compare the scores | 评阅一个虚构的班级并核对分数")
    demo.add_argument("folder", metavar="DIR", type=Path, nargs="?", help="keep the course there | 课程留在此处")
    return parser


def _choices(command: argparse.ArgumentParser) -> None:
    command.add_argument("--lesson", metavar="NAME", help="only this lesson, such as rloo | 只要这一课，例如 rloo")
    command.add_argument("--student", metavar="ID", help="only this student | 只要这名学生")


def _private(command: argparse.ArgumentParser, seed: str) -> None:
    command.add_argument("--checks", metavar="FILE.py", type=Path, help="your own checks, beside the course's | 教师自己的检查")
    command.add_argument("--seed", metavar="N", type=int, help=f"of the hidden checks' inputs | 隐藏检查的种子 (default: {seed})")


def _grading(command: argparse.ArgumentParser, seed: str) -> None:
    _private(command, seed)
    command.add_argument("--unsafe", action="store_true",
                         help="grade also where no isolation works: student code then runs as you | 没有隔离也评阅：学生代码以你的身份运行")


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("at least 1 | 至少为 1")
    return number


if __name__ == "__main__":
    sys.exit(main())
