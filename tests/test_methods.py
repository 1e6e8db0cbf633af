"""The comparison table: one source, grown lesson by lesson, the same in both languages."""

import pytest

from lessons._build.course import LANGUAGES, ROOT, read_course
from lessons._build.methods import method_table, read_methods
from lessons._build.refusal import Refused

FILE = ROOT / "lessons" / "methods.toml"
GOOD = """
[aspects]
critic = ["critic", "价值网络"]
[[method]]
name = "RLOO"
lesson = "rloo"
critic = ["no", "无"]
[[method]]
name = "GRPO"
lesson = "grpo"
critic = ["no", "无"]
"""


@pytest.fixture
def methods(tmp_path):
    file = tmp_path / "methods.toml"
    file.write_text(GOOD, encoding="utf-8")
    return file


def test_a_lesson_shows_the_methods_taught_so_far(methods):
    assert method_table(methods, "en", ["rloo"]) == "|  | RLOO |\n| --- | --- |\n| critic | no |"
    assert method_table(methods, "zh", ["rloo", "grpo"]) == "|  | RLOO | GRPO |\n| --- | --- | --- |\n| 价值网络 | 无 | 无 |"


@pytest.mark.parametrize("old, new, says", [
    ('critic = ["no", "无"]\n[[method]]', "[[method]]", "method RLOO: these fields are missing or unknown: critic"),
    ('lesson = "grpo"', 'lesson = "grpo"\nspeed = ["fast", "快"]', "method GRPO: these fields are missing or unknown: speed"),
    ('critic = ["critic", "价值网络"]', 'critic = ["critic"]', "critic is a pair [English, 中文]"),
    ("[aspects]", "[aspects", "methods.toml"),
])
def test_a_malformed_table_is_refused(methods, old, new, says):
    methods.write_text(GOOD.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(Refused) as refusal:
        read_methods(methods)
    assert says in str(refusal.value) and str(methods) in str(refusal.value)


def test_a_missing_table_or_an_empty_one_is_refused(methods):
    with pytest.raises(Refused, match="no method belongs to rollout"):
        method_table(methods, "en", ["rollout"])
    with pytest.raises(Refused, match="this file is missing"):
        read_methods(methods.with_name("absent.toml"))


def test_every_method_of_the_course_belongs_to_a_lesson_and_no_cell_breaks_the_table():
    aspects, methods = read_methods(FILE)
    names = [entry.name for entry in read_course().lessons]
    for language in LANGUAGES:
        rows = method_table(FILE, language, [method["lesson"] for method in methods]).splitlines()
        assert {row.count("|") for row in rows} == {len(methods) + 2} and len(rows) == len(aspects) + 2
    assert {method["lesson"] for method in methods} <= set(names)
