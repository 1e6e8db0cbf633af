"""TODO regions: what stands between BEGIN SOLUTION and END SOLUTION, and the stub that takes its place."""

import ast
import functools
import re
from typing import NamedTuple

from .refusal import Refused

BEGIN = re.compile(r"^(\s*)### BEGIN SOLUTION TODO (\d+): (\S.* \| .*\S)\s*$")
END = re.compile(r"^\s*### END SOLUTION\s*$")


class Region(NamedTuple):
    number: int
    title: str  # "English | 中文"
    begin: int  # index of the BEGIN line in source.splitlines()
    end: int  # index of the END line
    indent: str
    function: str  # the function that holds it


@functools.cache  # asked for again with every answer to a lesson
def regions(source: str, file: str = "<source>") -> tuple[Region, ...]:
    """The TODO regions of a Python source, in their order. A marker that is malformed, nested or unclosed is refused."""
    lines = source.splitlines()
    functions = [node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)]
    found, opened = [], None
    for index, line in enumerate(lines):
        if "BEGIN SOLUTION" in line:
            match = BEGIN.match(line)
            if not match or opened:
                raise Refused(file, "a region opens with `### BEGIN SOLUTION TODO n: English | 中文`, and regions do not nest", index + 1)
            opened = (index, match)
        elif "END SOLUTION" in line:
            if not opened or not END.match(line):
                raise Refused(file, "`### END SOLUTION` without its BEGIN", index + 1)
            begin, match = opened
            function = next((f.name for f in functions if f.lineno - 1 < begin < f.end_lineno), None)
            if function is None:
                raise Refused(file, "a TODO region stands inside a top-level function", begin + 1)
            found.append(Region(int(match[2]), match[3], begin, index, match[1], function))
            opened = None
    if opened:
        raise Refused(file, "BEGIN SOLUTION without `### END SOLUTION`", opened[0] + 1)
    return tuple(found)


def replace_regions(source: str, replacement) -> str:
    """The source with each region, markers included, replaced by the lines `replacement(region)`, put at its indent."""
    lines = source.splitlines()
    for region in reversed(regions(source)):
        new = [f"{region.indent}{line}" if line.strip() else "" for line in replacement(region)]
        lines[region.begin:region.end + 1] = new
    return "\n".join(lines) + ("\n" if source.endswith("\n") else "")


def stub_lines(region: Region) -> list[str]:
    """What a learner finds in place of a region."""
    return [f'raise NotImplementedError("TODO {region.number}: {region.title}")']


def stub(source: str) -> str:
    """The source as a learner gets it. | 学习者拿到的源码。"""
    return replace_regions(source, stub_lines)
