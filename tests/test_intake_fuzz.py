"""Random damage, seeded: nothing but Ungradable is ever raised, no line of code comes from elsewhere, and no answer is lost."""

import random
import sys

import pytest

import IPython.core.inputtransformer2  # noqa: F401 · loaded before anything is watched
from autograder.demo_class import WRITTEN
from autograder.intake import read_submission
from autograder.intake.decode import read_json
from autograder.submission import Ungradable
from tests.intake_cases import ANSWERS, ESSAY, assert_sound, cell, encode, finished, own, rloo, strip_metadata, text

LESSON = rloo()
SOLVED = {key: text(cell(finished(), key)) for key in ANSWERS}
STUBS = {key: text(one) for key, one in ((one["id"], one) for one in finished()["cells"]) if key in ANSWERS}
ODD = (None, True, 0, -1, 10**30, 1.5, "", "x", "setup", "\ud800", "# [rloo-policy-loss] x", "%%time\n!ls", [], ["a", 1], {}, {"id": 1},
       {"nbgrader": []})
CELLS = ("%ls", "x = 1", "!ls\n?x", "%%bash\nls", "def rloo_policy_loss(", "\0", "  a")


def rough(notebook: dict, rng: random.Random) -> None:
    """One thing that may happen to a file, gentle or absurd."""
    cells = notebook["cells"]
    if not cells or not all(isinstance(one, dict) and isinstance(one.get("source"), (str, list)) for one in cells):
        return
    one, other = rng.choice(cells), rng.choice(cells)
    source, kind = "".join(map(str, one["source"])), rng.randrange(14)
    if kind == 0:
        cells.remove(one)
    elif kind == 1:
        cells.insert(rng.randrange(len(cells)), dict(one))
    elif kind == 2:
        cells.insert(rng.randrange(len(cells)), cells.pop(rng.randrange(len(cells))))
    elif kind == 3:
        one["cell_type"] = rng.choice(["code", "markdown", "raw", "heading", "html", "x", 3])
    elif kind == 4:
        one["id"], other["id"] = other.get("id"), one.get("id")
    elif kind == 5:
        one["metadata"] = other.get("metadata")
    elif kind == 6:
        one.pop(rng.choice(sorted(one)))
    elif kind == 7:
        at = rng.randrange(len(source) + 1)
        one["source"] = source[:at]
        cells.insert(cells.index(one) + 1, {**one, "source": source[at:]})
    elif kind == 8:
        one["source"] = source + "\n\n" + "".join(map(str, other["source"]))
        cells.remove(other)
    elif kind == 9:
        lines = source.split("\n")
        rng.shuffle(lines)
        one["source"] = lines
    elif kind == 10:
        cells.insert(rng.randrange(len(cells)), own(rng.choice(CELLS)))
    elif kind == 11:
        where = rng.choice([notebook, notebook.get("metadata"), one, one.get("metadata")])
        if isinstance(where, dict) and where:
            where[rng.choice(sorted(where))] = rng.choice(ODD)
    elif kind == 12:
        strip_metadata(notebook, ids=rng.random() < 0.5)
    else:
        for each in rng.sample(cells, len(cells) // 2):
            each["source"] = "".join(map(str, each["source"])).splitlines(keepends=rng.random() < 0.5)


@pytest.mark.parametrize("seed", range(8))
def test_random_damage(seed):
    rng = random.Random(seed)
    outcomes = {"read": 0, "refused": 0}
    for _ in range(40):
        notebook = finished(rng.choice(["en", "zh"]))
        for _ in range(rng.randrange(1, 12)):
            if isinstance(notebook.get("cells"), list):
                rough(notebook, rng)
        data = encode(notebook)
        try:
            result = read_submission(data, LESSON)
        except Ungradable as refused:
            assert refused.said.en and refused.said.zh
            outcomes["refused"] += 1
        else:
            assert_sound(result, LESSON, read_json(data)[0])
            outcomes["read"] += 1
    assert outcomes["read"] > 20


@pytest.mark.parametrize("seed", range(4))
def test_random_bytes(seed):
    rng = random.Random(seed)
    good = encode(finished("zh"))
    for _ in range(40):
        data = bytearray(good)
        for _ in range(rng.choice([1, 3, 30, 3000])):
            data[rng.randrange(len(data))] = rng.randrange(256)
        data = bytes(data)[:rng.choice([len(data), rng.randrange(len(data))])]
        try:
            result = read_submission(data, LESSON)
        except Ungradable:
            continue
        assert_sound(result, LESSON, read_json(data)[0])


def gentle(notebook: dict, rng: random.Random) -> None:
    """What platforms do to a file without touching anybody's work."""
    cells = notebook["cells"]
    one, kind = rng.choice(cells), rng.randrange(8)
    if kind == 0:
        one["metadata"] = {}
    elif kind == 1 and "written" not in text(one) and text(one) != WRITTEN:
        one.pop("id", None)
    elif kind == 2:
        one["metadata"]["id"] = one.pop("id", f"r{rng.random()}")
    elif kind == 3:
        cells.insert(rng.randrange(len(cells)), {**one, "id": f"c{rng.random()}"})
    elif kind == 4:
        one["cell_type"] = "raw" if text(one).startswith("# [") else one["cell_type"]
    elif kind == 5 and text(one) not in (*SOLVED.values(), WRITTEN):
        cells.remove(one)
    elif kind == 6:
        cells.insert(rng.randrange(len(cells)), own(rng.choice(["", "x = 1", "%matplotlib inline", "print(2)"])))
    elif kind == 7:
        one["source"] = text(one).splitlines(keepends=True)


@pytest.mark.parametrize("seed", range(8))
def test_gentle_damage_loses_no_answer(seed):
    rng = random.Random(seed)
    for _ in range(30):
        notebook = finished(rng.choice(["en", "zh"]))
        for _ in range(rng.randrange(1, 40)):
            gentle(notebook, rng)
        rng.random() < 0.3 and notebook["metadata"].clear()
        data = encode(notebook)
        result = read_submission(data, LESSON)
        assert_sound(result, LESSON, read_json(data)[0])
        assert {code.key: code.source for code in result.code if code.role == "exercise"} == SOLVED
        assert result.written == {ESSAY: WRITTEN} and not result.untouched and not result.ambiguous


_watched: list[str] | None = None


def _watch(event: str, arguments: tuple) -> None:
    events = ("exec", "open", "import", "os.system", "subprocess.Popen", "socket.__new__", "pickle.find_class")
    looks_for_the_line_of_a_syntax_error = event == "open" and arguments[0] == "<unknown>"  # as Python's parser does
    if _watched is not None and event in events and not looks_for_the_line_of_a_syntax_error:
        _watched.append(event)


def test_nothing_in_the_file_is_executed():
    global _watched
    code = "__import__('os').system('touch /tmp/executed')"
    notebook = finished()
    notebook["metadata"].update(kernelspec={"name": code, "argv": [code]}, widgets=code, jupytext=code)
    for one in notebook["cells"]:
        one["metadata"].update(eval=code, nbgrader={**one["metadata"].get("nbgrader", {}), "points": code})
    notebook["cells"] += [own(code), own(f"%time {code}\n!{code}\n%run x.py\n%load_ext evil"), own(f"%%python\n{code}"),
                          own(f"`{code}`", "markdown")]
    data = encode(notebook)
    sys.addaudithook(_watch)
    read_submission(data, LESSON)
    _watched = []
    try:
        exec("pass")
        assert _watched == ["exec"]  # the watch is on
        _watched.clear()
        result = read_submission(data, LESSON)
        assert _watched == []
    finally:
        _watched = None
    assert_sound(result, LESSON)
    assert [one.source for one in result.code if one.role == "added"] == [code, f"{code}\npass\npass\npass"]
