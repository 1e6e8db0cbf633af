"""A lesson as a notebook: for the learner, solved, or as nbgrader's source; in English or Chinese."""

from pathlib import Path

import nbformat

import advantagelab

from .code_cells import check_source, exercise_source, given_source, names_bound
from .course import LANGUAGES, ExtraEntry
from .learn_data import NAME, learn_data
from .lesson import Lesson
from .methods import PLACEHOLDER, method_table
from .payload import pack, payload_files, widget_homes, widgets_named
from .regions import stub
from .source import Cell

# learner: what is handed out. solution: solved, explained, without hidden checks. source: what nbgrader starts from; with TodoStub
# and ClearHiddenTests it becomes the learner's notebook without its link to the solution.
KINDS = ("learner", "solution", "source")
SETUP_TEMPLATE = (Path(__file__).parent / "setup_template.py").read_text(encoding="utf-8")
NBGRADER = {
    "exercise": {"grade": False, "solution": True, "locked": False},
    "given": {"grade": False, "solution": False, "locked": True},
    "check": {"grade": True, "solution": False, "locked": True},
    "question": {"grade": True, "solution": True, "locked": False},
}

# Jupyter's and Colab's word for a cell whose code is folded away; one click opens it.
COLLAPSED = {"jupyter": {"source_hidden": True}, "cellView": "form"}


def build_notebook(lesson: Lesson, language: str, kind: str) -> nbformat.NotebookNode:
    """The notebook without outputs. Cell id, grade id and key are one and the same name."""
    code, known, drawn = {}, {"torch", "math"}, widget_homes()
    for cell in lesson.cells:
        if cell.kind == "code":
            if unknown := [name for name in widgets_named(cell.source) if name not in drawn]:
                raise cell.refuse(f"there is no widget {', '.join(unknown)}; advantagelab/widgets has {', '.join(sorted(drawn))}")
            known |= set(_functions(cell)) | names_bound(cell.source)
            code[cell.key] = _code(cell, lesson, kind, known)
    cells = [_markdown("header", _header(lesson, language, kind)), _setup(lesson, language, kind, "\n".join(code.values()))]
    for cell in lesson.cells:
        if cell.lang not in (None, language) or cell.only not in (None, kind):
            continue
        if cell.kind == "code":
            cells.append(nbformat.v4.new_code_cell(code[cell.key], id=cell.key, metadata=_metadata(cell)))
        else:
            cells.append(_markdown(cell.key, _fill(cell.source, lesson, language), _metadata(cell)))
        if cell.hint:
            cells.append(_markdown(f"{cell.key}-hints", _hints(cell.hint, language)))
    notebook = nbformat.v4.new_notebook(cells=cells, metadata={
        "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
        "advantagelab": {"lesson": lesson.entry.name, "language": language, "version": advantagelab.__version__},
    })
    nbformat.validate(notebook)
    return notebook


def _functions(cell: Cell) -> list[str]:
    """What the build puts into the cell: of an earlier lesson's functions there may be several."""
    return (cell.exercise or cell.given or "").split()


def _code(cell: Cell, lesson: Lesson, kind: str, known: set[str]) -> str:
    if cell.role == "exercise":
        source = exercise_source(cell.key, cell.exercise, lesson.algorithm, known)
        return stub(source) if kind == "learner" else source
    if cell.role == "given":
        return given_source(cell.key, _functions(cell), [lesson.algorithm, *lesson.earlier_algorithms], known)
    if cell.role == "check":
        return check_source(cell.key, cell.check, lesson.checks, lesson.spec, with_hidden=kind == "source")
    return cell.source


def _metadata(cell: Cell) -> dict:
    metadata = {}
    tags = [*(cell.tags or []), *(["raises-exception"] if cell.role == "check" or cell.demo else []), *(["demo"] if cell.demo else [])]
    if tags:
        metadata["tags"] = sorted(set(tags))
    if cell.role == "check" or len(_functions(cell)) > 1:
        metadata |= COLLAPSED  # a page of checks, or of functions seen before, would push what comes next out of sight
    if cell.role in NBGRADER:
        metadata["nbgrader"] = {"grade_id": cell.key, "schema_version": 3, "task": False, **NBGRADER[cell.role]}
        if "points" in cell.metadata:
            metadata["nbgrader"]["points"] = cell.points
        if cell.role in ("given", "check"):
            metadata["editable"] = False
        metadata["deletable"] = False
    return metadata


def _markdown(key: str, source: str, metadata: dict | None = None) -> nbformat.NotebookNode:
    return nbformat.v4.new_markdown_cell(source, id=key, metadata=metadata or {})


def _setup(lesson: Lesson, language: str, kind: str, code: str) -> nbformat.NotebookNode:
    """Collapsed in Jupyter and Colab; the payload is one line, for editors that collapse nothing."""
    files = payload_files(code, with_trainers=isinstance(lesson.entry, ExtraEntry))
    payload, digest = pack(files | {NAME: learn_data(lesson, solved=kind == "solution")})
    source = SETUP_TEMPLATE.rstrip()
    for name, value in (("LANGUAGE", language), ("VERSION", advantagelab.__version__), ("DIGEST", digest), ("PAYLOAD", payload)):
        source = source.replace(f'"{name}"', f'"{value}"')
    return nbformat.v4.new_code_cell(source, id="setup", metadata=dict(COLLAPSED))


def _header(lesson: Lesson, language: str, kind: str) -> str:
    entry, place = lesson.entry, LANGUAGES.index(language)
    if isinstance(entry, ExtraEntry):
        return _extra_header(lesson, place)
    names = (("Difficulty", "Environment", "Audience", "Tags", "Time", "Points"),
             ("难度", "环境", "目标人群", "标签", "用时", "分值"))[place]
    values = (entry.difficulty[place], entry.environment[place], entry.audience[place], (", ", "、")[place].join(entry.tags[place]),
              (f"{entry.minutes} minutes", f"{entry.minutes} 分钟")[place], str(entry.points))
    colon, separator = (": ", " · ") if language == "en" else ("：", " · ")
    facts = separator.join(f"**{name}**{colon}{value}" for name, value in zip(names, values, strict=True))
    return f"# {entry.code}. {' | '.join(entry.title)}\n\n{facts}\n\n{_badges(lesson, language, kind)}"


def _extra_header(lesson: Lesson, place: int) -> str:
    """Its prose says how to upload it: what it needs there is its own."""
    entry, language = lesson.entry, LANGUAGES[place]
    facts = (f"**Optional**, not graded · **Environment**: {entry.environment[0]} · **Audience**: {entry.audience[0]}",
             f"**选做**，不计分 · **环境**：{entry.environment[1]} · **目标人群**：{entry.audience[1]}")[place]
    badges = f"\n\n{_badges(lesson, language, 'learner')}" if lesson.course.address("") else ""
    return f"# {' | '.join(entry.title)}\n\n{facts}{badges}"


def _badges(lesson: Lesson, language: str, kind: str) -> str:
    folder = "solutions" if kind == "solution" else "notebooks"
    address = lesson.course.address(f"{folder}/{language}/{lesson.entry.notebook}.ipynb")
    if address is None:
        return {"en": "In Colab or ModelScope: upload this one file. It needs nothing else from the course, "
                      "and no network once it is open.",
                "zh": "在 Colab 或魔搭（ModelScope）中：上传这一个文件即可，不需要课程的其他文件，打开后也不需要网络。"}[language]
    colab = ("[![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)]"
             f"(https://colab.research.google.com/github/{address})")
    modelscope = ("[![Open in ModelScope](https://img.shields.io/badge/Open%20In-ModelScope-624aff?logo=alibabacloud)]"
                  f"(https://modelscope.cn/notebook/share/github/{address})")
    return f"{colab} {modelscope}"


def _fill(prose: str, lesson: Lesson, language: str) -> str:
    """`{{solution}}` in prose is the address of the solved notebook: public if the course has an address, else inside the checkout.

    `{{methods}}` is the comparison table of the methods taught so far.
    """
    path = f"solutions/{language}/{lesson.entry.notebook}.ipynb"
    address = lesson.course.address(path)
    prose = prose.replace("{{solution}}", f"https://github.com/{address}" if address else f"../../{path}")
    if PLACEHOLDER in prose:
        so_far = [entry.name for entry in lesson.course.lessons[:lesson.course.lessons.index(lesson.entry) + 1]]
        prose = prose.replace(PLACEHOLDER, method_table(lesson.course.lessons_folder / "methods.toml", language, so_far))
    return prose


def _hints(steps: list, language: str) -> str:
    word = {"en": "Hint", "zh": "提示"}[language]
    return "\n\n".join(f"<details><summary>{word} {number}</summary>\n\n{step[LANGUAGES.index(language)]}\n\n</details>"
                       for number, step in enumerate(steps, 1))
