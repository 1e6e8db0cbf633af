"""python -m autograder init DIR --language en|zh [--lesson NAME] · python -m autograder demo [DIR] · python -m autograder intake DIR"""

import argparse
import sys
from pathlib import Path

from lessons._build.course import LANGUAGES, read_course
from lessons._build.refusal import Refused

from .course import CourseError, init_course, next_steps


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m autograder", description="Grade the course with nbgrader. | 用 nbgrader 评阅本课程。")
    commands = parser.add_subparsers(dest="command", required=True)
    init = commands.add_parser("init", help="make an nbgrader course from the lessons | 用课程内容建立 nbgrader 课程")
    init.add_argument("folder", metavar="DIR", type=Path, help="a new or an empty folder | 新的或空的文件夹")
    init.add_argument("--language", choices=LANGUAGES, required=True,
                      help="of the release; submissions may be in either | 发布所用的语言；两种语言的提交都可评阅")
    init.add_argument("--lesson", metavar="NAME", help="only this lesson, such as rloo | 只要这一课，例如 rloo")
    demo = commands.add_parser("demo", help="grade a made-up class and compare the scores | 评阅一个虚构的班级并核对分数")
    demo.add_argument("folder", metavar="DIR", type=Path, nargs="?", help="keep the course there | 课程留在此处")
    intake = commands.add_parser("intake", help="what can be graded, and what had to be put right | 哪些可评阅，修正了什么")
    intake.add_argument("folder", metavar="DIR", type=Path, help="an nbgrader course, or a folder of notebooks | nbgrader 课程或作业文件夹")
    options = parser.parse_args(arguments)
    try:
        if options.command == "demo":
            from .demo import run_demo

            return run_demo(options.folder)
        if options.command == "intake":
            from .intake import intake_command

            return intake_command(options.folder)
        course = read_course()
        lessons = [options.lesson] if options.lesson else [entry.name for entry in course.lessons]
        init_course(course, options.folder, options.language, lessons)
        print(next_steps(options.folder, [course.lesson(name).notebook for name in lessons]))
    except (CourseError, Refused) as error:
        print(error, file=sys.stderr)
        return 2
    except OSError as error:
        print(f"cannot make {options.folder}: {error} | 无法创建 {options.folder}：{error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
