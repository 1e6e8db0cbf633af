"""Mutants of a lesson's TODO regions: the reference with one thing changed. Checks that let one live are too weak.

Only the code inside the regions is changed, one node of its syntax tree at a time, by rules that know nothing of a lesson.
"""

import ast
from collections.abc import Iterator
from copy import deepcopy
from textwrap import dedent
from typing import NamedTuple

from .code_cells import Module
from .regions import regions


class Mutant(NamedTuple):
    name: str  # "TODO 3: count >= 2 -> count > 2", unique in its lesson; how `equivalent` refers to it
    todo: int
    function: str
    code: str  # what stands in the place of the region


OPERATORS = {
    ast.Add: (ast.Sub,), ast.Sub: (ast.Add,), ast.Mult: (ast.Div,), ast.Div: (ast.Mult,), ast.FloorDiv: (ast.Div,),
    ast.Mod: (ast.FloorDiv,), ast.Pow: (ast.Mult,), ast.BitAnd: (ast.BitOr,), ast.BitOr: (ast.BitAnd,),
    ast.BitXor: (ast.BitOr,), ast.MatMult: (),
}
COMPARISONS = {
    ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,), ast.Is: (ast.IsNot,), ast.IsNot: (ast.Is,), ast.In: (ast.NotIn,), ast.NotIn: (ast.In,),
    ast.Lt: (ast.LtE, ast.Gt), ast.LtE: (ast.Lt, ast.GtE), ast.Gt: (ast.GtE, ast.Lt), ast.GtE: (ast.Gt, ast.LtE),
}
RENAMED = {
    "sum": "mean", "mean": "sum", "nansum": "nanmean", "nanmean": "nansum", "minimum": "maximum", "maximum": "minimum", "min": "max",
    "max": "min", "amin": "amax", "amax": "amin", "any": "all", "all": "any", "exp": "log", "log": "exp", "isnan": "isfinite",
    "isfinite": "isnan", "zeros_like": "ones_like", "ones_like": "zeros_like", "zeros": "ones", "ones": "zeros",
    "logical_and": "logical_or", "logical_or": "logical_and", "argmin": "argmax", "argmax": "argmin", "floor": "ceil", "ceil": "floor",
    "sqrt": "square", "softmax": "log_softmax", "log_softmax": "softmax", "startswith": "endswith", "endswith": "startswith",
    "find": "rfind", "rfind": "find",
}
SYMMETRIC = ("min", "max", "minimum", "maximum", "logical_and", "logical_or", "isclose")
COMMUTATIVE = (ast.Add, ast.Mult, ast.BitAnd, ast.BitOr, ast.BitXor)


def mutants(algorithm: Module) -> list[Mutant]:
    """Every mutant of every TODO region that compiles and differs from the region."""
    lines, found = algorithm.text.splitlines(), []
    for region in regions(algorithm.text):
        code = dedent("\n".join(lines[region.begin + 1:region.end]))
        kinds = _names_of_a_kind(algorithm.functions[region.function], ast.parse(code))
        seen, names = {ast.unparse(ast.parse(code))}, {}
        for label, tree in _changed_trees(code, kinds):
            mutated = ast.unparse(ast.fix_missing_locations(tree))
            try:
                compile(f"def region():\n{_indented(mutated)}", "<mutant>", "exec")
            except (SyntaxError, ValueError):
                continue
            if mutated in seen:
                continue
            seen.add(mutated)
            names[label] = names.get(label, 0) + 1
            place = f" (place {names[label]})" if names[label] > 1 else ""
            found.append(Mutant(f"TODO {region.number}: {label}{place}", region.number, region.function, mutated))
    return found


def _changed_trees(code: str, kinds: dict[str, set[str]]) -> Iterator[tuple[str, ast.Module]]:
    """(label, tree) for each single change. The label shows the changed node before and after."""
    original = ast.parse(code)
    for index, node in enumerate(ast.walk(original)):
        if isinstance(node, ast.stmt):
            changes = [("", replacement) for replacement in _changed_statement(node)]
        elif isinstance(node, ast.expr):
            changes = [(ast.unparse(replacement), replacement) for replacement in _changed_expression(node, kinds)]
        else:
            continue
        for after, replacement in changes:
            before = ast.unparse(node).splitlines()[0]
            after = after or ast.unparse(replacement).splitlines()[0]
            yield f"{before} -> {after}", _with_node(original, index, replacement)


def _with_node(tree: ast.Module, index: int, replacement: ast.AST) -> ast.Module:
    """A copy of the tree whose index-th node (in the order of ast.walk) is the replacement."""
    tree = deepcopy(tree)
    target = next(node for i, node in enumerate(ast.walk(tree)) if i == index)

    class Swap(ast.NodeTransformer):
        def visit(self, node):
            return replacement if node is target else self.generic_visit(node)

    return Swap().visit(tree)


def _changed_statement(node: ast.stmt) -> Iterator[ast.stmt]:
    yield ast.Pass()
    if isinstance(node, (ast.If, ast.While)):
        for test in (ast.UnaryOp(ast.Not(), node.test), ast.Constant(True), ast.Constant(False)):
            if not (isinstance(node, ast.While) and isinstance(test, ast.Constant) and test.value):  # it would never end
                yield _copy(node, test=test)
    if isinstance(node, ast.AugAssign):
        for operator in OPERATORS.get(type(node.op), ()):
            yield _copy(node, op=operator())
        yield ast.copy_location(ast.Assign([_stored(node.target)], node.value), node)
    if isinstance(node, ast.For):
        yield _copy(node, iter=ast.Subscript(ast.Call(ast.Name("list", ast.Load()), [node.iter], []),
                                             ast.Slice(ast.Constant(1)), ast.Load()))


def _changed_expression(node: ast.expr, kinds: dict[str, set[str]]) -> Iterator[ast.expr]:
    if isinstance(getattr(node, "ctx", None), (ast.Store, ast.Del)):
        return
    if isinstance(node, ast.BinOp):
        for operator in OPERATORS.get(type(node.op), ()):
            yield _copy(node, op=operator())
        yield from (node.left, node.right)
        if not isinstance(node.op, COMMUTATIVE):
            yield _copy(node, left=node.right, right=node.left)
    elif isinstance(node, ast.BoolOp):
        yield _copy(node, op=ast.And() if isinstance(node.op, ast.Or) else ast.Or())
        yield from node.values
    elif isinstance(node, ast.UnaryOp):
        yield node.operand
    elif isinstance(node, ast.Compare):
        for operator in COMPARISONS[type(node.ops[0])]:
            yield _copy(node, ops=[operator(), *node.ops[1:]])
    elif isinstance(node, ast.IfExp):
        yield from (node.body, node.orelse)
    elif isinstance(node, ast.Constant):
        yield from map(ast.Constant, _other_constants(node.value))
    elif isinstance(node, ast.Name):
        yield from (ast.Name(other, ast.Load()) for other in sorted(kinds.get(node.id, ())))
    elif isinstance(node, ast.Subscript):
        yield node.value
    elif isinstance(node, ast.Call):
        yield from _changed_call(node)


def _changed_call(node: ast.Call) -> Iterator[ast.expr]:
    if isinstance(node.func, ast.Attribute):
        if node.func.attr in RENAMED:
            yield _copy(node, func=_copy(node.func, attr=RENAMED[node.func.attr]))
        if not isinstance(node.func.value, ast.Name) or node.func.value.id not in ("torch", "math"):
            yield node.func.value  # the method is not called at all: `.detach()`, `.clamp(…)` dropped
    elif isinstance(node.func, ast.Name) and node.func.id in RENAMED:
        yield _copy(node, func=ast.Name(RENAMED[node.func.id], ast.Load()))
    for argument in node.args:
        if not isinstance(argument, (ast.Starred, ast.GeneratorExp)):
            yield argument  # the function is not called at all: `torch.exp(x)` becomes `x`
    for i in range(len(node.args)):
        yield _copy(node, args=node.args[:i] + node.args[i + 1:])
    name = getattr(node.func, "attr", None) or getattr(node.func, "id", "")
    for i in range(0 if name in SYMMETRIC else len(node.args) - 1):
        yield _copy(node, args=[*node.args[:i], node.args[i + 1], node.args[i], *node.args[i + 2:]])
    for i in range(len(node.keywords)):
        yield _copy(node, keywords=node.keywords[:i] + node.keywords[i + 1:])


def _other_constants(value) -> tuple:
    if isinstance(value, bool):
        return (not value,)
    if isinstance(value, (int, float)):
        return (value + 1, value - 1)
    if isinstance(value, str):
        return ("", value + "x") if value else ("x",)
    return ()


def _names_of_a_kind(function: ast.FunctionDef, region: ast.Module) -> dict[str, set[str]]:
    """For each name what it may be mistaken for: a parameter of the same annotation, a variable set in the region."""
    parameters = function.args.posonlyargs + function.args.args + function.args.kwonlyargs
    families: dict[str, set[str]] = {}
    for parameter in parameters:
        families.setdefault(ast.unparse(parameter.annotation) if parameter.annotation else "", set()).add(parameter.arg)
    variables = {node.id for node in ast.walk(region) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    kinds: dict[str, set[str]] = {}
    for family in (*families.values(), variables):
        for name in family:
            kinds.setdefault(name, set()).update(family - {name})
    return kinds


def _copy(node: ast.AST, **changed) -> ast.AST:
    copied = type(node)(**{**{field: getattr(node, field, None) for field in node._fields}, **changed})
    return ast.copy_location(copied, node)  # unparse() asks a `for` for its line


def _stored(node: ast.expr) -> ast.expr:
    node = deepcopy(node)
    node.ctx = ast.Store()
    return node


def _indented(code: str) -> str:
    return "\n".join(f"    {line}" for line in code.splitlines())
