"""An nbgrader course from the lessons: configuration, source and release, in one language; it takes submissions in both."""

import os
import subprocess
import sys
from pathlib import Path

import nbformat

from lessons._build.course import ROOT, Course
from lessons._build.lesson import read_lesson
from lessons._build.notebook import build_notebook
from lessons._build.prose_gate import check_words

from .course_error import CourseError

WARNING = ("Grade with `python -m autograder grade`: it locks students' code up. `nbgrader autograde` runs it as you, with your files and "
           "the checks in reach: only for code that you trust.",
           "请用 `python -m autograder grade` 评阅：它把学生代码关在隔离环境里。`nbgrader autograde` 以你的身份运行学生代码，"
           "它能碰到你的文件和检查：只用于你信任的代码。")
TEMPLATE = Path(__file__).parent / "config_template.py"


def init_course(course: Course, folder: Path, language: str, lessons: list[str]) -> None:
    """Make `folder`, new or empty, an nbgrader course with an assignment for each of `lessons`, released."""
    if folder.exists() and not folder.is_dir():
        raise CourseError(f"{folder} is a file: give a new or an empty folder | {folder} 是文件：请给出新的或空的文件夹")
    if folder.exists() and any(folder.iterdir()):
        raise CourseError(f"{folder} is not empty: give a new or an empty folder; nothing was changed | "
                          f"{folder} 不是空文件夹：请给出新的或空的文件夹；没有改动任何内容")
    notebooks = {}
    for name in lessons:
        lesson = read_lesson(course, name)
        check_words(lesson)
        notebooks[lesson.entry.notebook] = build_notebook(lesson, language, "source")
    for assignment, notebook in notebooks.items():
        file = folder / "source" / assignment / f"{assignment}.ipynb"
        file.parent.mkdir(parents=True)
        file.write_text(nbformat.writes(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    (folder / "nbgrader_config.py").write_text(_configuration(), encoding="utf-8")
    for assignment in notebooks:
        print(f"{assignment} …", flush=True)  # each takes nbgrader a while
        run_nbgrader(folder, "generate_assignment", assignment)


def run_nbgrader(folder: Path, *arguments: str) -> None:
    """`nbgrader …` in the course's folder, as an instructor types it; its log is shown only if it fails."""
    programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # nbgrader calls alembic by its bare name
    run = subprocess.run([sys.executable, "-m", "nbgrader", *arguments], cwd=folder, env={**os.environ, "PATH": programs},
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if run.returncode:
        log = run.stdout.decode("utf-8", errors="replace")
        raise CourseError(f"nbgrader {arguments[0]} failed | nbgrader {arguments[0]} 失败\n{log}")


def next_steps(folder: Path, assignments: list[str]) -> str:
    """What an instructor does with the new course, in each language, and the warning."""
    first = assignments[0]
    command = f"python -m autograder {{}} {folder}".format
    return "\n".join([
        f"1. Hand out {folder}/release/{first}/, or the learner notebooks in notebooks/, in either language.",
        f"2. Put what comes back into {folder}/submitted/STUDENT/{first}/, one notebook each, whatever it is called.",
        f"3. Grade: {command('grade')}; mark the written answers in formgrader (nbgrader, in jupyter lab); {command('feedback')}.",
        f"{WARNING[0]} More: docs/grading.md", "",
        f"1. 发放 {folder}/release/{first}/，或 notebooks/ 中的学习版，两种语言都可以。",
        f"2. 收回的文件放到 {folder}/submitted/学号/{first}/，每人一个 notebook，文件名不限。",
        f"3. 评阅：{command('grade')}；在 jupyter lab 的 formgrader（nbgrader）中批改问答题；{command('feedback')}。",
        f"{WARNING[1]}详见 docs/grading.zh.md",
    ])


def _configuration() -> str:
    text = TEMPLATE.read_text(encoding="utf-8")
    return text.replace("WARNING_EN", WARNING[0]).replace("WARNING_ZH", WARNING[1]).replace("CHECKOUT", repr(str(ROOT)))
