"""Formulas of the op table as mathematics: Python expressions become MathML, which browsers show without any script.

What has no sign of its own (a helper, an index, a branch) is not guessed at: there is no picture of it then, and the
page shows the formula as it is written, and nothing else.
"""

from __future__ import annotations

import ast
from html import escape

_SUMS, _PRODUCTS, _SIGNS, _POWERS, _ATOMS = range(1, 6)  # what binds more than what
_OPERATORS: dict[type, tuple[str, int]] = {
    ast.Add: ("+", _SUMS),
    ast.Sub: ("−", _SUMS),
    ast.Mult: ("·", _PRODUCTS),
    ast.MatMult: ("", _PRODUCTS),
}
_COMPARISONS: dict[type, str] = {ast.Lt: "<", ast.LtE: "≤", ast.Gt: ">", ast.GtE: "≥", ast.Eq: "=", ast.NotEq: "≠"}
_FUNCTIONS = {
    **{name: name for name in "sin cos tan sinh cosh tanh exp log max min erf".split()},
    "arcsin": "arcsin",
    "arccos": "arccos",
    "arctan": "arctan",
    "arcsinh": "arsinh",
    "arccosh": "arcosh",
    "arctanh": "artanh",
    "log2": "log₂",
    "log10": "log₁₀",
    "sign": "sgn",
    "digamma": "ψ",
    "lgamma": "ln Γ",
    "sinc": "sinc",
    "expm1": "expm1",
    "log1p": "log1p",
    "erfc": "erfc",
    "sigmoid": "σ",
}
_NAMES = {"alpha": "α", "beta": "β", "eps": "ε", "lambd": "λ", "pi": "π", "_PI": "π"}
_PLAIN = {"square": 2, "reciprocal": -1}


class _NoSign(Exception):
    """An expression for which mathematics has no sign here."""


def mathml(formula: str) -> str:
    """A lambda as MathML: its body; empty where that has no form in mathematics.

    Examples
    --------
    >>> mathml("lambda g, out: g * conj(1 - out * out)").count("<msup>")
    2
    >>> mathml("lambda g, dim: helper(g, dim)")
    ''
    """
    try:
        tree = ast.parse(formula.strip(), mode="eval").body
        body = tree.body if isinstance(tree, ast.Lambda) else tree
        return f'<math display="block">{_shown(body)[0]}</math>'
    except (SyntaxError, _NoSign):
        return ""


def _row(*parts: str) -> str:
    return f"<mrow>{''.join(parts)}</mrow>"


def _sign(text: str) -> str:
    return f"<mo>{escape(text)}</mo>"


def _within(node: ast.expr, level: int) -> str:
    """An operand, in parentheses where it binds less."""
    text, own = _shown(node)
    return text if own >= level else _row(_sign("("), text, _sign(")"))


def _shown(node: ast.expr) -> tuple[str, int]:
    """The MathML of an expression, and how much it binds."""
    if isinstance(node, ast.Name):
        return f"<mi>{escape(_name(node.id))}</mi>", _ATOMS
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)) and not isinstance(node.value, bool):
        return f"<mn>{node.value:g}</mn>", _ATOMS
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return _row(_sign("−"), _within(node.operand, _PRODUCTS)), _SIGNS if _is_simple(node.operand) else _SUMS
    if isinstance(node, ast.BinOp):
        return _binary(node)
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _COMPARISONS:
        sign = _sign(_COMPARISONS[type(node.ops[0])])
        return _row(_within(node.left, _SUMS), sign, _within(node.comparators[0], _SUMS)), 0
    if isinstance(node, ast.Call):
        return _call(node)
    if isinstance(node, ast.Attribute):
        if node.attr in ("T", "mT", "mH"):
            return f"<msup>{_within(node.value, _ATOMS)}<mi>{'H' if node.attr == 'mH' else 'T'}</mi></msup>", _POWERS
        if node.attr == "pi":
            return "<mi>π</mi>", _ATOMS
    raise _NoSign


def _name(name: str) -> str:
    if name.startswith("_") and name not in _NAMES:
        raise _NoSign  # a constant of the module, whose name says nothing here
    return _NAMES.get(name, name)


def _is_simple(node: ast.expr) -> bool:
    return isinstance(node, (ast.Name, ast.Constant, ast.Call))


def _binary(node: ast.BinOp) -> tuple[str, int]:
    if isinstance(node.op, ast.Div):
        return f"<mfrac>{_shown(node.left)[0]}{_shown(node.right)[0]}</mfrac>", _POWERS
    if isinstance(node.op, ast.Pow):
        return f"<msup>{_within(node.left, _ATOMS)}{_shown(node.right)[0]}</msup>", _POWERS
    if isinstance(node.op, ast.Mult) and ast.dump(node.left) == ast.dump(node.right):
        return f"<msup>{_within(node.left, _ATOMS)}<mn>2</mn></msup>", _POWERS
    if type(node.op) not in _OPERATORS:
        raise _NoSign
    sign, level = _OPERATORS[type(node.op)]
    right = level + (not isinstance(node.op, (ast.Add, ast.Mult)))
    return _row(_within(node.left, level), _sign(sign) if sign else "", _within(node.right, right)), level


def _call(node: ast.Call) -> tuple[str, int]:
    if node.keywords:
        raise _NoSign
    function, args = node.func, node.args
    if isinstance(function, ast.Attribute) and function.attr in ("conj", "conjugate") and not args:
        return _conjugate(function.value)
    name = _called(function)
    if name in ("conj", "conjugate") and len(args) == 1:
        return _conjugate(args[0])
    if name == "sqrt" and len(args) == 1:
        return f"<msqrt>{_shown(args[0])[0]}</msqrt>", _ATOMS
    if name in ("abs", "absolute") and len(args) == 1:
        return _row(_sign("|"), _shown(args[0])[0], _sign("|")), _ATOMS
    if name in _PLAIN and len(args) == 1:
        return f"<msup>{_within(args[0], _ATOMS)}<mn>{_PLAIN[name]}</mn></msup>", _POWERS
    if name == "exp" and len(args) == 1:
        return f"<msup><mi>e</mi>{_shown(args[0])[0]}</msup>", _POWERS
    if name == "where" and len(args) == 3:
        cases = "".join(
            f"<mtr><mtd>{_shown(value)[0]}</mtd><mtd><mtext>{word}</mtext>{test}</mtd></mtr>"
            for value, word, test in (
                (args[1], "\u2003if\u2002", _shown(args[0])[0]),
                (args[2], "\u2003otherwise", ""),
            )
        )
        return _row(_sign("{"), f'<mtable columnalign="left">{cases}</mtable>'), 0
    if name in _FUNCTIONS and args:
        inner = _sign(",").join(_shown(arg)[0] for arg in args)
        return _row(f"<mi>{_FUNCTIONS[name]}</mi>", _sign("("), inner, _sign(")")), _ATOMS
    raise _NoSign


def _conjugate(node: ast.expr) -> tuple[str, int]:
    """With an asterisk: a bar above would need a font that stretches it, and mislead where there is none."""
    return f"<msup>{_within(node, _ATOMS)}<mo>∗</mo></msup>", _POWERS


def _called(function: ast.expr) -> str:
    """The name of a function of NumPy's, or of an op that a formula uses."""
    if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name) and function.value.id == "np":
        return function.attr
    if isinstance(function, ast.Name):
        return function.id
    if isinstance(function, ast.Call) and _called(function.func) == "use" and len(function.args) == 1:
        used = function.args[0]
        return str(used.value) if isinstance(used, ast.Constant) else ""
    raise _NoSign
