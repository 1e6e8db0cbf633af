"""A notebook beside the lessons: how course.toml says so, what it may hold and carry; and the one about the trainers, run alone."""

import importlib.metadata
import re
import subprocess
import sys
from dataclasses import replace
from types import SimpleNamespace

import nbformat
import pytest

import advantagelab.conformance.run  # noqa: F401  what the cell imports is loaded before versions are compared
import lessons._build.build as builder
import lessons._build.notebook as notebook_module
from autograder.__main__ import main as autograder
from autograder.intake.belongs import lesson_of_file
from autograder.submission import Ungradable
from lessons._build.course import LANGUAGES, read_course
from lessons._build.payload import TRAINERS, payload_files, unpack
from lessons._build.refusal import Refused
from lessons._build.source import read_cells
from tests import needs
from tests.test_learner_notebook import run_alone, text_of
from tests.tiny_course import CELL, COURSE_TOML, LESSON, PAIR, edit, write_course

EXTRA_IN_COURSE = '''
[[extra]]
name = "more"
title = ["More", "更多"]
environment = ["BASE-CPU", "BASE-CPU"]
audience = ["Tests", "测试"]
'''
PICTURE = "```{code-cell}\n---\nkey: picture\nwidget: picture\n---\nprint(1)\n```\n"
QUESTION = '+++ {"key": "written", "question": "written", "points": 1}\n\n*Write here | 在此作答*\n'


def write_extra(folder, *cells, entry=EXTRA_IN_COURSE):
    """The tiny course with an extra of these cells; gives the function that reads it."""
    read = write_course(folder)
    file = folder / COURSE_TOML
    file.write_text(file.read_text(encoding="utf-8") + entry, encoding="utf-8")
    (folder / "lessons" / "more").mkdir(exist_ok=True)
    (folder / "lessons" / "more" / "lesson.md").write_text(LESSON[:LESSON.index("+++")] + "".join(cells), encoding="utf-8")
    return read


@pytest.fixture
def one_payload(monkeypatch):
    """Cutting the font takes long. Gives the notebooks that asked to carry the trainers, by what their code says."""
    asked = []

    def no_files(code, with_trainers=False):
        asked.append((code, with_trainers))
        return {}

    monkeypatch.setattr(notebook_module, "payload_files", no_files)
    return asked


# ---- In the course -----------------------------------------------------------------------------------------------------


def test_it_is_no_lesson(tmp_path, one_payload):
    course = write_extra(tmp_path, PAIR, PICTURE)()
    assert [entry.name for entry in course.lessons] == ["tiny"] and [entry.name for entry in course.extras] == ["more"]
    with pytest.raises(Refused, match="there is no lesson 'more'"):
        course.lesson("more")
    files = {file.relative_to(tmp_path).as_posix() for file in builder.build(course, tmp_path)}
    assert {file for file in files if "more" in file} == {"notebooks/en/more.ipynb", "notebooks/zh/more.ipynb"} and len(files) == 6
    notebook = nbformat.read(tmp_path / "notebooks" / "zh" / "more.ipynb", 4)
    assert notebook.cells[0].source == "# More | 更多\n\n**选做**，不计分 · **环境**：BASE-CPU · **目标人群**：测试"
    assert not [cell for cell in notebook.cells if "nbgrader" in cell.metadata]
    assert {with_trainers for code, with_trainers in one_payload if code == "print(1)"} == {True}
    assert {with_trainers for code, with_trainers in one_payload if code != "print(1)"} == {False}


def test_its_outputs_are_held_to_their_kinds_and_its_text_to_the_source(tmp_path, one_payload):
    read = write_extra(tmp_path, PAIR, PICTURE)
    course = replace(read(), lessons=())
    (english, _) = builder.build(course, tmp_path)
    with pytest.raises(Refused, match=r"en/more\.ipynb: .*picture: a widget cell without a picture"):
        builder.check(course, tmp_path)
    shown = [nbformat.v4.new_output("display_data", data={"image/png": "iVBORw0KGgo="})]
    for language in LANGUAGES:
        file = tmp_path / "notebooks" / language / "more.ipynb"
        notebook = nbformat.read(file, 4)
        notebook.cells[1].outputs, notebook.cells[-1].outputs = [nbformat.v4.new_output("stream", text="lab")], shown
        nbformat.write(notebook, file)
    builder.build(course, tmp_path)
    assert len(builder.check(course, tmp_path)) == 2 and nbformat.read(english, 4).cells[-1].outputs == shown
    edit(tmp_path, "lessons/more/lesson.md", "Subtract the baseline", "Take away the baseline")
    with pytest.raises(Refused, match=r"en/more\.ipynb: \[step-1\] its text differs"):
        builder.check(course, tmp_path)
    english.unlink()
    with pytest.raises(Refused, match=r"en/more\.ipynb: not built"):
        builder.check(course, tmp_path)


@pytest.mark.parametrize("words, cells", [
    ("an extra has no exercise", CELL["centered"] + CELL["check-centered"]),
    ("an extra has no question", QUESTION),
    ("an extra has no given", CELL["require-rewards"]),
    ("an extra has no solved notebook", PICTURE.replace("widget: picture", "only: solution")),
    ("formula", PAIR.replace(r"\theta", r"\phi", 1)),
])
def test_refuses_what_would_count_and_what_differs(words, cells, tmp_path, one_payload):
    with pytest.raises(Refused, match=words):
        builder.build(write_extra(tmp_path, cells)(), tmp_path)
    assert not list((tmp_path / "notebooks").rglob("more.ipynb"))


@pytest.mark.parametrize("words, old, new", [
    ("extra more: these fields are missing or unknown: points", "audience", "points = 3\naudience"),
    ("extra more: these fields are missing or unknown: title", 'title = ["More", "更多"]\n', ""),
    ("extra more: title is a pair", '["More", "更多"]', '"More"'),
    ("the same name", '"more"', '"tiny"'),
])
def test_refuses_an_entry(words, old, new, tmp_path):
    with pytest.raises(Refused, match=words):
        write_extra(tmp_path, PAIR, entry=EXTRA_IN_COURSE.replace(old, new))()


# ---- What notebooks carry -----------------------------------------------------------------------------------------------


def carried(path) -> dict[str, bytes]:
    setup = nbformat.read(path, 4).cells[1].source
    return unpack(re.search(r'_advantagelab\("[^"]*", "[0-9a-f]{64}", "([^"]*)"\)', setup)[1])


def test_lessons_never_carry_the_reference_and_the_trainers_notebook_does():
    course = read_course()
    for folder in ("notebooks", "solutions"):
        for entry in course.lessons:
            files = carried(needs.ROOT / folder / "en" / f"{entry.notebook}.ipynb")
            assert not [name for name in files if re.match("advantagelab/(algorithms|trainers|methods)", name)], entry.name
            assert not [name for name, content in files.items() if b"BEGIN SOLUTION" in content], entry.name
    (extra,) = course.extras
    files = carried(needs.ROOT / "notebooks" / "en" / f"{extra.notebook}.ipynb")
    for part in TRAINERS:
        modules = [file.relative_to(needs.ROOT).as_posix() for file in (needs.ROOT / "advantagelab" / part).rglob("*.py")]
        assert set(modules) <= files.keys()
    assert not [name for name in files if re.search(r"^advantagelab/(methods|tinylm)/|/(checks|spec)\.py$", name)]


@pytest.mark.parametrize("part", ["algorithms", "trainers"])
def test_refuses_the_reference_and_the_trainers_in_a_lesson(part):
    with pytest.raises(Refused, match=f"{part}: a code cell imports this, but a lesson's notebook never carries it"):
        payload_files(f"import advantagelab.{part}")


# ---- The notebook about the trainers ------------------------------------------------------------------------------------

COURSE = read_course()
(ENTRY,) = COURSE.extras


def built(language: str) -> nbformat.NotebookNode:
    return nbformat.read(needs.ROOT / "notebooks" / language / f"{ENTRY.notebook}.ipynb", 4)


def test_the_autograder_neither_hands_it_out_nor_takes_it_in(tmp_path, capsys):
    assert autograder(["init", str(tmp_path / "one"), "--language", "en", "--lesson", ENTRY.name]) == 2
    assert ENTRY.name in capsys.readouterr().err and not (tmp_path / "one").exists()
    with pytest.raises(Ungradable, match="no lesson of the course"):
        lesson_of_file((needs.ROOT / "notebooks" / "en" / f"{ENTRY.notebook}.ipynb").read_bytes(), COURSE)


def test_it_says_at_its_top_what_was_run_where():
    for language, words in (("en", ("We ran these trainers on a CPU", "we have not run them")), ("zh", ("只在 CPU 上", "都没有跑过"))):
        top = built(language).cells[2].source
        assert all(part in top for part in (*words, "vLLM", "PEFT", "1 GB", "15 GB")), language


def test_without_a_gpu_it_runs_to_the_end_offline(tmp_path, monkeypatch):
    needs.trl()
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    notebook = run_alone(built("zh"), tmp_path)
    cells = {cell.id: cell for cell in notebook.cells}
    assert "No GPU found" in text_of(cells["device"]) and "没有找到 GPU" in text_of(cells["device"])
    tables = {}
    for method in ("om-grpo", "cast"):
        head, *rows = text_of(cells[method]).splitlines()
        tables[method] = [dict(zip(head.split(), map(float, row.split()), strict=True)) for row in rows]
        assert [row["step"] for row in tables[method]] == list(range(1, 21))
        (curves,) = cells[f"{method}-curves"].outputs
        assert curves.data["image/png"]
        assert re.match(r"right \| 答对：\d+ → \d+ / 11\n", text_of(cells[f"{method}-answers"]))
        assert text_of(cells[f"{method}-answers"]).count("\\boxed{") >= 2
    assert all(row["pool"] == 64 and 0 < row["masked"] < 1 for row in tables["om-grpo"])  # 8 completions and 56 comparisons
    gaps = [row["gap_size"] for row in tables["cast"]]
    assert gaps[0] == gaps[10] == 0 and min(gaps[1:10] + gaps[11:]) > 0  # the teacher is refreshed every ten steps
    assert not [cell.id for cell in notebook.cells for output in cell.get("outputs", []) if output.get("name") == "stderr"]


def chat_model(folder) -> str:
    """A random chat model with a token a byte, as small as can be."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    from advantagelab.conformance.tiny_model import build_model

    vocabulary = [*sorted(pre_tokenizers.ByteLevel.alphabet()), "<eos>", "<pad>"]
    tokenizer = Tokenizer(models.BPE({token: i for i, token in enumerate(vocabulary)}, []))
    tokenizer.pre_tokenizer, tokenizer.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False), decoders.ByteLevel()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<eos>", pad_token="<pad>")
    tokenizer.chat_template = "{% for m in messages %}{{ m['role'] + ': ' + m['content'] + '\\n' }}{% endfor %}assistant: "
    tokenizer.save_pretrained(folder)
    build_model(tokenizer, seed=0).save_pretrained(folder)
    return str(folder)


def test_what_it_does_on_a_gpu_runs_with_a_chat_model_on_a_cpu(tmp_path, monkeypatch):
    """The GPU's branch of every cell, with another model and fewer steps: no GPU is needed to see that it holds together."""
    needs.trl()
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")  # a real run fetches the model; here it lies in a folder
    notebook = built("en")
    cells = {cell.id: cell for cell in notebook.cells}
    for key, old, new in (
            ("device", "torch.cuda.is_available()", "True"),
            ("device", "torch.cuda.get_device_name()", "'a pretended GPU'"),
            ("device", '"Qwen/Qwen2.5-0.5B-Instruct"', repr(chat_model(tmp_path / "model"))),
            ("settings", "torch.cuda.get_device_capability()[0] >= 8", "True"),
            ("settings", '"max_steps": 30', '"max_steps": 2, "use_cpu": True'),
            ("settings", '"max_completion_length": 192', '"max_completion_length": 6')):
        assert old in cells[key].source
        cells[key].source = cells[key].source.replace(old, new)
    cells = {cell.id: cell for cell in run_alone(notebook, tmp_path / "run").cells}
    assert "256 questions to train on, 64 held out" in text_of(cells["questions"])
    assert "pretended" in text_of(cells["device"]) and "What is " in text_of(cells["om-grpo-answers"])
    for method in ("om-grpo", "cast"):
        head, *rows = [line for line in text_of(cells[method]).splitlines() if line.startswith(("step", "   "))]
        assert len(rows) == 2 and re.match(r"right \| 答对：0 → 0 / 64\n", text_of(cells[f"{method}-answers"]))
        assert cells[f"{method}-curves"].outputs[0].data["image/png"]
    assert "nan" in text_of(cells["om-grpo"])  # no comparisons, so no pool


@pytest.fixture
def trl_cell(monkeypatch):
    """Runs the cell that sees to TRL, on a machine where `versions` are installed; gives the commands that it ran."""
    (cell,) = [cell for cell in read_cells(COURSE.lessons_folder / ENTRY.name / "lesson.md") if cell.key == "trl"]

    def run(versions: dict, pip_gives: str | None = None, fails: bool = False) -> list:
        commands = []

        def version(name):
            if name not in versions:
                raise importlib.metadata.PackageNotFoundError(name)
            return versions[name]

        def pip(command, **_):
            commands.append(command)
            versions["trl"] = pip_gives
            return SimpleNamespace(returncode=int(fails), stderr="no such index")

        monkeypatch.setattr(importlib.metadata, "version", version)
        monkeypatch.setattr(subprocess, "run", pip)
        exec(cell.source, {})
        return commands

    return run


def loaded(**others) -> dict:
    """The versions of what this process has loaded, and others."""
    names = ("torch", "numpy", "huggingface_hub", "tokenizers", "transformers", "accelerate", "datasets")
    versions = {name: sys.modules[name].__version__ for name in names if name in sys.modules}
    return {"transformers": "5.0", **versions, **others}


def test_trl_is_installed_only_if_it_is_missing_and_replaces_neither_torch_nor_numpy(trl_cell, capsys):
    assert trl_cell(loaded(trl="1.16.0")) == []
    assert "trl 1.16.0" in capsys.readouterr().out
    versions = loaded()
    (command,) = trl_cell(versions, pip_gives="1.14.2")
    assert command[1:] == ["-m", "pip", "install", "--quiet", "trl>=1.10,!=1.15.0,<1.17", f"torch=={versions['torch']}",
                           f"numpy=={versions['numpy']}"]


@pytest.mark.parametrize("found", ["1.9.2", "1.15.0", "1.17.0"])
def test_a_version_that_does_not_fit_is_told_what_to_do(found, trl_cell):
    with pytest.raises(ImportError, match=re.escape(f'trl {found} does not fit: run !pip install "trl>=1.10,!=1.15.0,<1.17", restart')):
        trl_cell(loaded(trl=found))


def test_what_pip_replaced_under_a_running_kernel_asks_for_a_restart(trl_cell):
    with pytest.raises(ImportError, match=r"pip has replaced \['numpy'\] after they were loaded: restart the runtime"):
        trl_cell(loaded(trl="1.16.0", numpy="9.9"))
    with pytest.raises(ImportError, match="pip could not install TRL.*\n.*no such index"):
        trl_cell(loaded(), fails=True)
