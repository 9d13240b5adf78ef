"""The op table: a wrong row is refused when it is read, formulas keep to the vocabulary."""

from __future__ import annotations

import dis
import re
import subprocess
import sys
import types
from typing import Any

import numpy as np
import pytest

import dualtape as dt
from dualtape.arrays.vocabulary import ATTRIBUTES, LINALG, VOCABULARY
from dualtape.errors import DeclarationError
from dualtape.ops.numpy_entries import CREATIONS, ENTRIES
from dualtape.ops.samples import real, sample
from dualtape.ops.table import ELEMENTWISE, GENERAL, LINEAR, TABLE, UFUNCS, op
from op_cases import rows

ONE = (sample(real(3)),)


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (dict(forward=lambda x: x, vjp=dict(y=lambda g: g)), "'y' is not a parameter"),
        (dict(forward=lambda x: x, vjp=dict(x=lambda g, z: g)), "asks for 'z'"),
        (dict(forward=lambda x: x, vjp=dict(x=lambda x: x)), "takes no gradient"),
        (dict(forward=lambda x: x, vjp=dict(x=lambda g: g), jvp="quadratic"), "jvp is LINEAR"),
        (dict(forward=lambda x: x, vjp=dict(x=lambda g: g), jvp=dict(x=lambda t, q: t)), "asks for 'q'"),
        (dict(forward=lambda x: x, vjp=dict(x=lambda g: g), jvp=dict(w=lambda t: t)), "jvp names 'w'"),
        (dict(forward=lambda x: x, vjp=dict(x=lambda g: g), samples=()), "no samples"),
        (dict(forward=lambda x: x, vjp=dict(x=lambda g: g), constants=("k",)), "'k' is not a parameter"),
        (dict(forward=lambda x: x, vjp=dict(x=lambda g: g), derivative=lambda x: x), "not both"),
        (dict(forward=lambda x, y: x, vjp=dict(x=lambda g: g, y=lambda g: g), listed="x"), "only differentiable one"),
        (dict(forward=len, vjp=dict(x=lambda g: g)), "give params="),
        (dict(name="tanh", forward=lambda x: x, vjp=dict(x=lambda g: g)), "declared twice"),
    ],
)
def test_a_wrong_row_is_refused_with_what_is_wrong(row: dict, words: str) -> None:
    before = set(TABLE), set(dir(dt.Tensor))
    arguments = {"name": "not_an_op", "kind": GENERAL, "samples": ONE, **row}
    name, forward = arguments.pop("name"), arguments.pop("forward")
    with pytest.raises(DeclarationError, match=words):
        op(name, forward, **arguments)
    assert (set(TABLE), set(dir(dt.Tensor))) == before


def test_one_row_gives_function_method_in_place_form_and_gradients() -> None:
    function = op(
        "test_cube",
        lambda x: x * x * x,
        kind=ELEMENTWISE,
        derivative=lambda x: 3 * x * x,
        samples=ONE,
        public=False,
        doc="x cubed.",
    )
    try:
        x = dt.tensor([2.0, 3.0], requires_grad=True)
        y = function(x)
        assert y.grad_fn.name() == "TestCubeBackward0" and y.tolist() == [8.0, 27.0]
        (g,) = dt.autograd.grad(y.sum(), x, create_graph=True)
        assert g.tolist() == [12.0, 27.0]
        assert dt.autograd.grad(g.sum(), x)[0].tolist() == [12.0, 18.0]
        z = x.detach().clone()
        assert z.test_cube_() is z and z.tolist() == [8.0, 27.0]
    finally:
        del TABLE["test_cube"], dt.Tensor.test_cube, dt.Tensor.test_cube_


def test_only_what_a_formula_names_is_saved_and_only_if_its_input_needs_it() -> None:
    x, y = dt.ones(2, requires_grad=True), dt.ones(2)
    node = (x * y).grad_fn
    assert node._saved_self is None and node._saved_other is y
    both = (x * y.clone().requires_grad_()).grad_fn
    assert both._saved_self is x
    assert x.exp().grad_fn._saved_result.tolist() == x.exp().tolist()
    with pytest.raises(AttributeError, match="no attribute ._saved_nothing"):
        node._saved_nothing  # noqa: B018


# --- the vocabulary -------------------------------------------------------------------------------


def formulas(row: Any) -> list[Any]:
    found = [formula for formula, _ in getattr(row, "formulas", ())]
    jvp = getattr(row, "jvp", None)
    return found + (list(jvp.values()) if isinstance(jvp, dict) else [])


def numpy_names(function: Any, seen: set) -> set[str]:
    """The names of NumPy that a formula uses, itself or through the helpers it calls."""
    if not isinstance(function, types.FunctionType) or function in seen:
        return set()
    seen.add(function)
    names: set[str] = set()
    codes = [function.__code__]
    for code in codes:
        codes.extend(c for c in code.co_consts if isinstance(c, types.CodeType))
        previous = None
        for instruction in dis.get_instructions(code):
            if previous == "np" and instruction.opname in ("LOAD_ATTR", "LOAD_METHOD"):
                names.add(instruction.argval)
            previous = instruction.argval if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME") else None
            helper = function.__globals__.get(previous)
            if (
                isinstance(helper, types.FunctionType)
                and helper.__module__.startswith("dualtape.ops.")
                and not is_op(helper)
            ):
                names |= numpy_names(helper, seen)
    for cell in function.__closure__ or ():
        names |= numpy_names(cell.cell_contents, seen)
    return names


def is_op(helper: Any) -> bool:
    """An op called in a formula (through ``use``, or by its function) takes care of itself."""
    return (
        helper.__qualname__.startswith("use.")
        or helper.__globals__["__name__"] == "dualtape.ops.codegen.source"
        or helper.__name__ in TABLE
    )


@pytest.mark.parametrize("row", [r for r in rows() if formulas(r)], ids=lambda r: r.name)
def test_formulas_use_the_vocabulary_and_nothing_else_of_numpy(row: Any) -> None:
    used: set[str] = set()
    for formula in formulas(row):
        used |= numpy_names(formula, set())
    assert used <= VOCABULARY | ATTRIBUTES, (
        f"{row.name}: {sorted(used - VOCABULARY - ATTRIBUTES)} are not in the vocabulary"
    )


@pytest.mark.parametrize("name", sorted(VOCABULARY))
def test_every_word_of_the_vocabulary_has_an_entry_for_tensors(name: str) -> None:
    function = getattr(np, name)
    assert function in UFUNCS or function in ENTRIES or function in CREATIONS


@pytest.mark.parametrize("name", sorted(LINALG))
def test_every_word_of_linear_algebra_has_one_too(name: str) -> None:
    assert getattr(np.linalg, name) in ENTRIES


# --- families read on demand ------------------------------------------------------------------------


def test_the_index_of_names_is_up_to_date() -> None:
    program = "from dualtape.ops import reindex; print(reindex.text() == (reindex.FOLDER / 'index.py').read_text())"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True", "run make generate"


def test_every_method_of_a_family_read_on_demand_is_announced() -> None:
    program = (
        "import dualtape as dt; from dualtape.ops import load_all;"
        "T = dt.Tensor; before = set(vars(T)); load_all();"
        "print(set(vars(T)) - before, [name for name, member in vars(T).items() if type(member).__name__ == 'Later'])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["set()", "[]"]


def test_a_method_read_on_demand_reads_its_family_alone() -> None:
    program = (
        "import sys, dualtape as dt; assert dt.ones(3).cumsum(0).tolist() == [1, 2, 3]; assert dt.Tensor.diag is"
        " dt.Tensor.diag;"
        "print([f for f in ('cumulative', 'diagonals', 'linalg') if f'dualtape.ops.families.{f}' in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['cumulative', 'diagonals']"


def test_linear_ops_declare_it_only_where_it_holds() -> None:
    rng = np.random.default_rng(0)
    for row in rows():
        if getattr(row, "jvp", None) == LINEAR and row.kind == ELEMENTWISE:
            a, b = rng.normal(size=(2, 3))
            np.testing.assert_allclose(
                row.forward(a + b), row.forward(a) + row.forward(b), rtol=1e-12, err_msg=row.name
            )


def test_the_page_of_what_each_op_does_lists_every_op():
    from tools import coverage

    text = coverage.PAGE.read_text()
    listed = set(re.findall(r"^\| `([^`]+)`", text, re.M))
    assert listed == {row.name for row in coverage.rows()}, "run python -m tools.coverage"
    lines = {line.split("`")[1]: line for line in text.splitlines() if line.startswith("| `")}
    for name in ("sin", "matmul", "sort", "all", "clone"):
        assert coverage.facts({row.name: row for row in coverage.rows()}[name])[1:] == [
            part.strip() for part in lines[name].split("|")[4:8]
        ]
