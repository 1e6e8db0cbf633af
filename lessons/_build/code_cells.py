"""The code that the build puts into exercise, given and check cells."""

import ast
import re
from pathlib import Path

from .refusal import Refused
from .regions import regions, replace_regions

RUN = "run_checks"
GIVEN = "Given: run this cell as it is. | 已给出：直接运行。"
# After a restart of the kernel a learner often runs the check first.
NEEDS_SETUP = (
    "import sys",
    'assert "advantagelab" in sys.modules, "Run the set-up cell at the top first. | 请先运行最上面的准备单元。"',
)


class Module:
    """A Python file as text and syntax: its top-level functions and imports. Several files are read as one, in their order."""

    def __init__(self, *files: Path):
        self.files, self.file = files, files[0]
        self.text = "\n\n".join(_source(file) for file in files)
        self.tree = ast.parse(self.text)
        self.functions = {node.name: node for node in self.tree.body if isinstance(node, ast.FunctionDef)}
        self.defines = {name for node in self.tree.body for name in _names_bound(node)}

    def function(self, name: str) -> str:
        if name not in self.functions:
            raise Refused(self.file, f"there is no function {name}")
        node = self.functions[name]
        first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
        return "\n".join(self.text.splitlines()[first - 1:node.end_lineno])

    def check_names(self, code: str, known: set[str], key: str, function: str) -> None:
        """Refuse code that leans on a name of this file which the notebook will not have."""
        used = {node.id for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Name)}
        lacking = sorted(used & self.defines - known)
        if lacking:
            raise Refused(self.file, f"{function} uses {', '.join(lacking)}, which this file defines but the notebook lacks there", key=key)

    def imports_for(self, code: str, leave_out: tuple[str, ...] = ()) -> list[str]:
        """The file's top-level imports of names that occur in `code`, a line a module."""
        used = {node.id for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Name)} - set(leave_out)
        lines = []
        for node in self.tree.body:
            if not isinstance(node, (ast.Import, ast.ImportFrom)):
                continue
            names = [alias for alias in node.names if (alias.asname or alias.name.split(".")[0]) in used]
            if names and isinstance(node, ast.Import):
                lines += [ast.unparse(ast.Import([alias])) for alias in names]
            elif names:
                lines.append(ast.unparse(ast.ImportFrom(node.module, names, node.level)))
        return lines


def _source(file: Path) -> str:
    try:
        text = file.read_text(encoding="utf-8")
        ast.parse(text)
    except FileNotFoundError:
        raise Refused(file, "this file is missing") from None
    except SyntaxError as error:
        raise Refused(file, f"not valid Python: {error.msg}", error.lineno) from error
    return text


def names_bound(code: str) -> set[str]:
    """The names that a cell of plain Python defines or imports."""
    return {name for node in ast.parse(code).body for name in _names_bound(node)}


def _names_bound(node: ast.stmt) -> list[str]:
    """The names that a top-level statement defines or imports."""
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return [node.name]
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return [alias.asname or alias.name.split(".")[0] for alias in node.names]
    return [name.id for name in ast.walk(node) if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)]


def exercise_source(key: str, function: str, algorithm: Module, known: set[str]) -> str:
    """The function with its TODO region, under the key comment by which a notebook that lost its metadata is put together.

    known: what the notebook has by then, this function included; the same for `given_source`
    """
    source = algorithm.function(function)
    algorithm.check_names(source, known, key, function)
    number = regions(source)[0].number
    return f"# [{key}] Your code goes where TODO {number} stands. | 在 TODO {number} 处写你的代码。\n{source}"


def given_source(key: str, functions: list[str], algorithms: list[Module], known: set[str]) -> str:
    """Functions of this or an earlier lesson, solved. A cell of several is folded, has a title for Colab, and imports what it needs."""
    owners = {function: _owner(key, function, algorithms) for function in functions}
    if len(functions) == 1:
        return f"# [{key}] {GIVEN}\n{_solved(key, functions[0], owners[functions[0]], known)}"
    code = "\n".join(owner.function(function) for function, owner in owners.items())
    # What comes from the reference itself, the notebook holds in cells of its own.
    imports = dict.fromkeys(line for owner in dict.fromkeys(owners.values()) for line in owner.imports_for(code)
                            if not line.startswith("from advantagelab.algorithms"))
    known = known | names_bound("\n".join(imports))
    solved = "\n\n\n".join(_solved(key, function, owner, known) for function, owner in owners.items())
    return "\n".join([f"#@title [{key}] {GIVEN}", *imports, "", "", solved])


def _owner(key: str, function: str, algorithms: list[Module]) -> Module:
    owners = [module for module in algorithms if function in module.functions]
    if len(owners) != 1:
        files = ", ".join(module.file.name for module in owners) or "none"
        raise Refused(algorithms[0].file, f"one file of this or an earlier lesson defines the given {function}, but here: {files}", key=key)
    return owners[0]


def _solved(key: str, function: str, owner: Module, known: set[str]) -> str:
    """The function without the marks of an exercise."""
    source = owner.function(function)
    owner.check_names(source, known, key, function)
    lines = source.splitlines()
    solved = replace_regions(source, lambda region: [line.removeprefix(region.indent) for line in lines[region.begin + 1:region.end]])
    return "\n".join(line for line in solved.splitlines() if not re.match(r"\s*# .*\?\?\?", line))


def check_source(key: str, function: str, checks: Module, spec: Module, with_hidden: bool) -> str:
    """A TODO's visible checks and the call that runs them; for the grader also the hidden ones, with their spec."""
    visible = [checks.function(name) for name in checks.functions if name.startswith(f"check_{function}_")]
    hidden = [checks.function(name) for name in checks.functions if name.startswith(f"hidden_{function}_")]
    if not visible or not hidden:
        raise Refused(checks.file, f"{function} needs at least one check_{function}_… and one hidden_{function}_…", key=key)
    if len(visible) + len(hidden) < 3:
        raise Refused(checks.file, f"{function} has {len(visible)} visible and {len(hidden)} hidden check: a TODO needs three in all", key=key)
    imported = {name for node in checks.tree.body if isinstance(node, (ast.Import, ast.ImportFrom)) for name in _names_bound(node)}
    for line in checks.imports_for("\n".join([*visible, *hidden])):
        if line.startswith("from .") and line != "from . import spec":
            raise Refused(checks.file, f"a check of {function} needs `{line}`, which a notebook lacks: of the lesson only "
                                       "`from . import spec`, in hidden checks", key=key)
    for source in [*visible, *hidden]:
        checks.check_names(source, imported, key, f"a check of {function}")
    run = f'{RUN}(globals(), "{function}")'
    body = "\n\n\n".join(visible)
    if "from . import spec" in checks.imports_for(body):
        raise Refused(checks.file, f"a visible check of {function} uses spec: visible checks hold literals and properties only", key=key)
    title = f"#@title [{key}] Run this cell after yours. | 写完后运行本单元。"
    parts = ["\n".join([title, *NEEDS_SETUP, *_with_run(checks.imports_for(body))]), body]
    if with_hidden:
        body = "\n\n\n".join(hidden)
        imports = checks.imports_for(body, leave_out=("spec",))
        region = ["### BEGIN HIDDEN TESTS", *imports]
        if "from . import spec" in checks.imports_for(body):
            region += ["", "", _spec_namespace(spec)]
        # Without the lines from BEGIN to END, which nbgrader takes out, the cell is the learner's to the letter.
        parts.append("\n".join(region) + f"\n\n\n{body}\n\n\n### END HIDDEN TESTS\n{run}")
    else:
        parts.append(run)
    return "\n\n\n".join(parts)


def _with_run(imports: list[str]) -> list[str]:
    """The imports of a check cell, run_checks among them: the cell works without the set-up cell."""
    shared = "from advantagelab.checking import "
    for index, line in enumerate(imports):
        if line.startswith(shared):
            names = sorted({*line.removeprefix(shared).split(", "), RUN})
            return [*imports[:index], shared + ", ".join(names), *imports[index + 1:]]
    return [*imports, shared + RUN]


def _spec_namespace(spec: Module) -> str:
    """spec.py as a local namespace: its functions bear the learner's names, and must not replace the learner's."""
    start = spec.tree.body[1].lineno - 1 if ast.get_docstring(spec.tree) else 0
    lines = [f"    {line}" if line.strip() else "" for line in spec.text.splitlines()[start:]]
    return "\n".join(["def _spec():", "    from types import SimpleNamespace", *lines, "    return SimpleNamespace(**locals())",
                      "", "", "spec = _spec()"])
