"""What the site shows of ops, differences and measurements, without building it."""

from __future__ import annotations

import re
import xml.etree.ElementTree as tree

import pytest

from tools import site
from tools.formulas import mathml

DIFFERS = site.differences("- **`mul(x)` and more.** PyTorch: one\n  thing. Here: another.\n- **`other`.** No.\n")


def test_a_page_of_an_op_has_its_formula_its_node_and_its_differences():
    page = site.op_page("mul", DIFFERS, {"mul": "| `mul` | row |"})
    assert "lambda g, y: g * y.conjugate()" in page
    assert "| node | `MulBackward0` |" in page
    assert "| saves | `x`, `y` |" in page
    assert "- **`mul(x)` and more.** PyTorch: one thing. Here: another." in page and "`other`" not in page
    assert "| `mul` | row |" in page


@pytest.mark.parametrize("name", ["tanh", "logsumexp", "var"])
def test_pages_of_declared_and_composed_ops_begin_with_their_signature(name):
    page = site.op_page(name, DIFFERS, {})
    assert f"# {name}\n\n```python\n{name}(" in page
    assert "Where PyTorch differs" not in page


def test_measurements_become_a_picture_ordered_by_ratio():
    times = {"dualtape": 1e-6, "torch": 2e-6}
    ratios = {"slow": 2.0, "quick": 0.5, "failed": None, "long": 4.0}
    workloads = [
        {"name": name, "ratio": r, "kind": "large" if name == "long" else "small", "minimum": times}
        for name, r in ratios.items()
    ]
    page = site.benchmarks_page({"machine": {"cores": 2}, "versions": {"numpy": "2"}, "workloads": workloads})
    assert "cores 2, numpy 2." in page and "| slow | 1.0 µs | 2.0 µs |" in page
    assert "## Small programs\n\n1.00 in geometric mean over 2." in page and "4.00 in geometric mean over 1." in page
    assert page.index(">quick<") < page.index(">slow<") < page.index(">long<") and "failed" not in page
    assert "without measurements" in site.benchmarks_page(None)


def test_every_namespace_has_names_with_something_to_say():
    import importlib

    assert [n for n in site.NAMESPACES if not site.public(importlib.import_module(f"dualtape.{n}"))] == []


@pytest.mark.parametrize(
    ("formula", "shown"),
    [
        ("lambda g, out: g * conj(1 - out * out)", "g·(1−out2)∗"),
        ("lambda g, x, y: -g * (x - (y - 1)) / np.sqrt(x)", "−g·(x−(y−1))x"),
        ("lambda g, x: np.where(x <= 1, g, 0)", "{g\u2003if\u2002x≤10\u2003otherwise"),
        ("lambda g, x: g * np.exp(-x ** 2) * use('digamma')(x)", "g·e−x2·ψ(x)"),
        ("lambda g, A: A.mH @ g", "AHg"),
        ("lambda g, x: (g + x) ** 2 * np.abs(x)", "(g+x)2·|x|"),
        ("lambda g, dim: helper(g, dim)", ""),
        ("lambda g, x: g[x]", ""),
        ("lambda g, x: g * _SECRET", ""),
        ("lambda g: g.sum(axis=0)", ""),
        ("def f(g): ...", ""),
    ],
)
def test_formulas_become_mathematics_or_nothing(formula, shown):
    drawn = mathml(formula)
    assert re.sub("<[^>]*>", "", drawn) == shown
    if drawn:
        tree.fromstring(drawn)


def test_a_page_of_an_op_shows_its_derivative_and_its_graph():
    page = site.op_page("tanh", DIFFERS, {})
    assert "lambda g, out: g * conj(1 - out * out)" in page and "<math" in page and '<div class="graph"><svg' in page
    assert "Examples\n---" not in site.op_page("layer_norm", DIFFERS, {})
