"""Ops that users declare: what follows from the declaration, and what is refused."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dualtape as dt
import dualtape.autograd.forward_ad as fwAD
from dualtape.autograd.gradcheck import GradcheckError
from dualtape.errors import DeclarationError
from dualtape.library import check, op, positive, sample
from dualtape.ops.table import TABLE


def test_two_lines_give_gradients_of_any_order_forward_mode_and_vmap() -> None:
    cube = op("mine::cube", lambda x: x * x * x, derivative=lambda x: 3 * x * x)
    assert check(cube)
    x = dt.tensor([2.0, 3.0], requires_grad=True)
    y = cube(x)
    assert y.grad_fn.name() == "MineCubeBackward0" and str(inspect.signature(cube)) == "(input, *, out=None)"
    (g,) = dt.autograd.grad(y.sum(), x, create_graph=True)
    assert g.tolist() == [12.0, 27.0] and dt.autograd.grad(g.sum(), x)[0].tolist() == [12.0, 18.0]
    with fwAD.dual_level():
        assert fwAD.unpack_dual(cube(fwAD.make_dual(x.detach(), dt.ones(2)))).tangent.tolist() == [12.0, 27.0]
    assert dt.func.vmap(dt.func.grad(cube))(x.detach()).tolist() == [12.0, 27.0]
    assert dt.ops.mine.cube(x).tolist() == [8.0, 27.0]
    assert not hasattr(dt, "mine_cube") and not hasattr(x, "mine_cube")


def test_several_arguments_options_and_saved_results() -> None:
    scaled = op(
        "mine::scaled_quotient", lambda x, y, power=1: (x / y) ** power,
        vjp=dict(x=lambda g, y, out, x, power: g * power * out / x, y=lambda g, y, out, power: -g * power * out / y),
        samples=(sample(positive(3, 4), positive(3, 4)), sample(positive(3), positive(3), power=3)),
    )  # fmt: skip
    assert check(scaled)
    x, y = dt.tensor([2.0], requires_grad=True), dt.tensor([4.0], requires_grad=True)
    scaled(x, y, power=2).sum().backward()
    assert x.grad.tolist() == [0.25] and y.grad.tolist() == [-0.125]


def test_a_ufunc_becomes_an_entry_of_numpy() -> None:
    op("mine::cbrt", np.cbrt, derivative=lambda out: 1 / (3 * out * out), samples=(sample(positive(3)),))
    x = dt.tensor([8.0], requires_grad=True)
    np.cbrt(x).sum().backward()
    np.testing.assert_allclose(x.grad, [1 / 12], rtol=1e-6)


def test_check_finds_a_wrong_derivative_and_says_where() -> None:
    wrong = op("mine::wrong_sine", np.sin, kind="elementwise", derivative=lambda x: -np.cos(x))
    with pytest.raises(GradcheckError, match="mismatch"):
        check(wrong)
    with pytest.raises(TypeError, match="the function that library.op returned"):
        check(np.sin)
    with pytest.raises(ValueError, match="no argument requires grad"):
        check(wrong, dt.ones(3))


def test_a_name_may_be_declared_again_but_not_taken_from_the_library() -> None:
    first = op("mine::twice", lambda x: x * 2, derivative=lambda x: x * 0 + 2)
    second = op("mine::twice", lambda x: x * 3, derivative=lambda x: x * 0 + 3)
    assert second(dt.ones(1)).tolist() == [3.0] and dt.ops.mine.twice is second and first is not second
    with pytest.raises(DeclarationError, match="asks for 'z'"):
        op("mine::twice", lambda x: x, vjp=dict(x=lambda g, z: g))
    assert dt.ops.mine.twice(dt.ones(1)).tolist() == [3.0] and TABLE["mine_twice"].function is second
    for name in ("tanh", "cumsum", "linalg::solve"):
        with pytest.raises(DeclarationError, match="give yours a namespace"):
            op(name, lambda x: x, derivative=lambda x: x * 0 + 1)
    with pytest.raises(DeclarationError, match="identifiers"):
        op("my op", lambda x: x, derivative=lambda x: x)


# --- the page that explains how an op is added ------------------------------------------------------


def test_the_page_on_adding_an_op_does_what_it_says() -> None:
    page = (Path(__file__).parent.parent / "docs" / "architecture.md").read_text()
    row = re.search(r"One row, in the module of its family:\n\n(.*?)\n\nand one command", page, re.S)
    assert row is not None
    text = "\n".join(line[4:] for line in row.group(1).splitlines())
    name = re.search(r'op\("(\w+)"', text)
    assert name is not None and name.group(1) not in TABLE
    before = set(vars(dt.Tensor))
    space: dict[str, Any] = {}
    exec(
        "import numpy as np\nfrom dualtape.ops.samples import *\nfrom dualtape.ops.samples import edge, exact, probability, sample\n"
        "from dualtape.ops.table import ELEMENTWISE, FLOAT, op\n" + text,
        space,
    )
    new = TABLE[name.group(1)]
    try:
        assert check(new.function, dt.tensor([0.2, 0.7], dtype=dt.float64, requires_grad=True))
        x = dt.tensor([0.5])
        assert getattr(x, new.name)().tolist() == [0.0] and getattr(x, f"{new.name}_")() is x
        assert new.function(dt.tensor([0.5], requires_grad=True)).grad_fn.name() == "LogOddsBackward0"
    finally:
        del TABLE[new.name]
        for member in set(vars(dt.Tensor)) - before:
            delattr(dt.Tensor, member)
        dt.ops.FUNCTIONS.pop(new.name)
