"""The source text of formulas: of a lambda its own text, not the line of the table that contains it."""

from __future__ import annotations

import ast
import functools
import inspect
import linecache
import textwrap
from collections.abc import Callable
from typing import Any

_MOST = 12  # lines of a function that are shown


def written(function: Any) -> str:
    """Return the source of a function or lambda; for a NumPy function its name.

    Examples
    --------
    >>> written(lambda x: x * 2 + 1)
    'lambda x: x * 2 + 1'
    """
    code = getattr(function, "__code__", None)
    if code is None:
        return f"numpy.{getattr(function, '__name__', function)}"
    if code.co_name == "<lambda>" and (found := _lambda(code)):
        return found
    try:
        lines = textwrap.dedent(inspect.getsource(function)).strip().splitlines()
    except (OSError, TypeError):
        return "(written by the generator)"
    return "\n".join(lines[:_MOST] + ["..."] * (len(lines) > _MOST))


def declared(file: str, name: str) -> int | None:
    """Return the line of a file with the row of an op: a call, or a decorator, that begins with its name; if there is
    none, a list of such names.
    """
    tree = _tree(file)
    if tree is None:
        return None
    calls = [node.args[0] for node in ast.walk(tree) if isinstance(node, ast.Call) and node.args]
    names = [node for node in (*calls, *ast.walk(tree)) if isinstance(node, ast.Constant) and node.value == name]
    return names[0].lineno if names else None


@functools.lru_cache(maxsize=16)
def _tree(file: str) -> ast.Module | None:
    try:
        return ast.parse("".join(linecache.getlines(file)))
    except SyntaxError:
        return None


def gradient(formula: Callable) -> str:
    """Return the formula of a gradient; if a row gives the derivative alone, the formula that follows from it."""
    derivative = _derivative_behind(formula)
    if derivative is None:
        return written(formula)
    text = written(derivative)
    if text.startswith("lambda "):
        parameters, _, body = text.removeprefix("lambda ").partition(":")
        return f"lambda g, {parameters}: g * conj({body.strip()})"
    return f"g * conj(derivative)\n{text}"


def _derivative_behind(formula: Any) -> Callable | None:
    """Return the derivative from which :func:`dualtape.ops.table.op` made a formula."""
    code = getattr(formula, "__code__", None)
    if code is None or "derivative" not in code.co_freevars or not hasattr(formula, "formula_names"):
        return None
    return formula.__closure__[code.co_freevars.index("derivative")].cell_contents


@functools.lru_cache(maxsize=8)
def _lambdas(file: str) -> tuple[list[str], list[ast.Lambda]]:
    tree = _tree(file)
    found = [] if tree is None else [node for node in ast.walk(tree) if isinstance(node, ast.Lambda)]
    return linecache.getlines(file), found


def _lambda(code: Any) -> str:
    """Return the text of the lambda that a code object was compiled from; several may begin on one line."""
    lines, found = _lambdas(code.co_filename)
    parameters = list(code.co_varnames[: code.co_argcount])
    near = [n for n in found if n.lineno == code.co_firstlineno and [a.arg for a in n.args.args] == parameters]
    if len(near) > 1:
        places = {(line, column) for line, _, column, _ in code.co_positions()}
        near = [n for n in near if (n.body.lineno, n.body.col_offset) in places] or near
    if not near:
        return ""
    return " ".join((ast.get_source_segment("".join(lines), near[0]) or "").split())
