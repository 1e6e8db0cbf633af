"""What can be said of a cell's code from its text: what it defines, and what of it only IPython could run. Nothing is executed."""

import ast
import functools
import re
import warnings
from dataclasses import dataclass
from functools import cached_property

from .cells import MAX_CELL, length_of

KEEP_BODY = ("time", "capture", "prun")  # cell magics that run the rest of the cell as it stands
NESTED = 5  # cell magics, one under the other
PROMPT = re.compile(r"\s*In \[\d+\]: ")  # which would parse, as an annotation
PROMPT_SIGNS = re.compile(r"^(>>> ?|\.\.\. ?|In \[\d+\]: |\.{3,}: ?)")
SPECIAL = re.compile(r"^[ \t]*[%!?,;/]|[%!?][ \t]*$|=[ \t]*[%!]", re.M)
FOR_IPYTHON = re.compile(r"^([ \t]*+)(?:[^\n=#]*+=[ \t]*+)?get_ipython\(\)\.")
TIMED = re.compile(r"^([ \t]*)get_ipython\(\)\.run_line_magic\('time', (['\"].*['\"])\)$")
BANG = re.compile(r"^([ \t]*)!(.*)$", re.M)
IPYTHON_CALL = re.compile(r"get_ipython\(\)\.(run_line_magic|system|getoutput)(\(.*\))$")
DEFINITION = re.compile(r"^(?:async[ \t]+)?def[ \t]+(\w+)[ \t]*\(", re.M)
WORK = 200_000  # characters that may be read for one submission in this way: IPython reads a cell again for each special line
# Characters of a cell whose syntax is looked at, ten times the longest answer: Python takes quadratic time for some texts. The payload of a
# set-up cell is not counted.
MAX_PARSED = 2**15
LONG_LINE = 1000  # characters; IPython's patterns take quadratic time in them


@functools.lru_cache(2)  # one cell is asked about several times in a row; what is kept stays in memory
def parse(code: str) -> ast.Module | None:
    """The syntax tree, or None if it is no Python or far too much of it."""
    if length_of(code) > MAX_PARSED:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError):
        return None


@dataclass(frozen=True)
class Python:
    """A cell's code for the worker, and what was dropped from it: lines, as they were typed, or the first line of a cell magic."""

    code: str
    dropped: tuple[str, ...] = ()

    @cached_property
    def _facts(self) -> tuple[bool, frozenset[str], frozenset[str]]:
        tree = parse(self.code)
        if tree is None:
            functions = frozenset(DEFINITION.findall(self.code))
            return False, functions, functions
        functions = frozenset(node.name for node in tree.body if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)))
        return True, functions, frozenset(bound_names(tree))

    @property
    def parses(self) -> bool:
        return self._facts[0]

    @property
    def functions(self) -> frozenset[str]:
        """Defined at the top level; of code that does not parse, what looks like it."""
        return self._facts[1]

    @property
    def bound(self) -> frozenset[str]:
        """Every name that the code gives a value at the top level."""
        return self._facts[2]


class Transformer:
    """IPython's input transformation as text, for the cells of one submission.

    A line that IPython makes for its kernel, or that calls it by name, gives way to `pass`: every other line is one that was typed.
    """

    def __init__(self):
        self.work = WORK

    def __call__(self, source: str) -> Python:
        if length_of(source) > MAX_CELL or not PROMPT.match(source) and "get_ipython" not in source and parse(source) is not None:
            return Python(source)
        dropped = []
        while source.lstrip().startswith("%%") and len(dropped) < NESTED:
            first, _, source = source.lstrip().partition("\n")
            dropped.append(first)
            if re.match(r"%%\s*(\S*)", first)[1] not in KEEP_BODY:
                return Python("", tuple(dropped))
        typed = {PROMPT_SIGNS.sub("", line.strip()) for line in source.split("\n")} | {line.strip() for line in source.split("\n")}
        lines = [_timed(line) for line in self._transform(source).split("\n")]
        made = [(number, number) for number, (line, timed) in enumerate(lines) if line.strip() not in typed and not timed]
        lines = [line for line, _ in lines]
        for first_line, last_line in sorted({*made, *_for_ipython(lines)}):
            indent = re.match(r"[ \t]*", lines[first_line])[0]
            dropped.append(_as_typed(lines[first_line].strip()))
            lines[first_line:last_line + 1] = [indent + "pass"] * (last_line + 1 - first_line)
        return Python("\n".join(lines), tuple(dropped))

    def _transform(self, source: str) -> str:
        if parse(source) is not None and not PROMPT.match(source):
            return source
        if max(map(len, source.split("\n"))) > LONG_LINE or not self._spend(len(source) * (2 + len(SPECIAL.findall(source)))):
            return BANG.sub(lambda line: f"{line[1]}get_ipython().system({line[2]!r})", source)
        try:
            return _ipython().transform_cell(source).removesuffix("\n")
        except Exception:  # whatever another library makes of hostile text, the text is then left as it is
            return source

    def is_python(self, prose: str) -> bool:
        """Whether all of a prose cell is Python: an answer cell that was turned into prose."""
        return self._spend(len(prose)) and parse(prose) is not None

    def _spend(self, characters: int) -> bool:
        self.work -= characters
        return self.work >= 0


@functools.cache
def _ipython():
    from IPython.core.inputtransformer2 import TransformerManager  # few submissions need it

    return TransformerManager()


def _as_typed(line: str) -> str:
    """`get_ipython().system('ls')` as the student wrote it, `!ls`; anything else as it is."""
    match = IPYTHON_CALL.search(line)
    tree = parse(match[2]) if match else None
    if tree is None or not tree.body:
        return line
    parts = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    return f"{'%' if match[1] == 'run_line_magic' else '!'}{' '.join(parts).strip()}"


def _timed(line: str) -> tuple[str, bool]:
    """`%time statement` runs the statement: it stays. The line, and whether it was one."""
    match = TIMED.match(line)
    tree = parse(match[2]) if match else None
    statement = getattr(tree.body[0], "value", None) if tree else None
    if isinstance(statement, ast.Constant) and isinstance(statement.value, str):
        return match[1] + statement.value, True
    return line, False


def _for_ipython(lines: list[str]) -> list[tuple[int, int]]:
    """(first, last) line of each statement that calls get_ipython() and stands alone on its lines."""
    tree = parse("\n".join(lines))
    if tree is None:
        return [(number, number) for number, line in enumerate(lines) if FOR_IPYTHON.match(line)]
    found = []
    for node in ast.walk(tree):
        if isinstance(node, (ast.Expr, ast.Assign)) and _calls_ipython(node.value):
            first, last = lines[node.lineno - 1].encode(), lines[node.end_lineno - 1].encode()
            if not first[:node.col_offset].strip() and not last[node.end_col_offset:].split(b"#")[0].strip():
                found.append((node.lineno - 1, node.end_lineno - 1))
    return sorted(found)


def _calls_ipython(value: ast.expr) -> bool:
    while isinstance(value, (ast.Call, ast.Attribute)):
        value = value.func if isinstance(value, ast.Call) else value.value
    return isinstance(value, ast.Name) and value.id == "get_ipython"


def bound_names(tree: ast.Module) -> set[str]:
    """Names that statements at the top level bind, also within `if`, `for`, `with` and `try`."""
    names, waiting = set(), list(tree.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            names.update(alias.asname or alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        else:
            waiting.extend(ast.iter_child_nodes(node))
    return names


def shape(code: str) -> str:
    """Equal for two codes that differ in layout and comments only."""
    tree = parse(code)
    try:
        return ast.dump(tree) if tree else code
    except RecursionError:
        return code


def new_definitions(code: str, released: str) -> str:
    """The imports, functions and classes in `code` of names that the released cell does not bind, as they stand there."""
    tree, known = parse(code), bound_names(parse(released) or ast.Module([], []))
    if tree is None:
        return ""
    lines, kept = code.split("\n"), []
    for node in tree.body:
        if isinstance(node, (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            if bound_names(ast.Module([node], [])) - known:
                first = min([node.lineno, *(decorator.lineno for decorator in getattr(node, "decorator_list", []))])
                kept += lines[first - 1:node.end_lineno]
    return "\n".join(kept)
