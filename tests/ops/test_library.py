"""Ops that users declare: what follows from the declaration, and what is refused."""

from __future__ import annotations

import inspect
import re
import warnings
from contextlib import nullcontext
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
        "mine::scaled_quotient",
        lambda x, y, power=1: (x / y) ** power,
        vjp=dict(x=lambda g, y, out, x, power: g * power * out / x, y=lambda g, y, out, power: -g * power * out / y),
        samples=(sample(positive(3, 4), positive(3, 4)), sample(positive(3), positive(3), power=3)),
    )
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
    page = (Path(__file__).parents[2] / "docs" / "architecture.md").read_text()
    row = re.search(r"Write one row in the module of its family:\n\n(.*?)\n\nand run two commands", page, re.S)
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


def test_a_view_of_one_of_two_tensors_shares_its_memory_and_history() -> None:
    like = op(
        "mine::like",
        lambda x, y: x.reshape(y.shape),
        vjp=dict(x=lambda g, x_shape: g.reshape(x_shape)),
        constants=("y",),
        view=True,
    )
    x = dt.ones(2, 3, requires_grad=True)
    b = x * 1
    v = like(b, dt.zeros(3, 2))
    v[0].mul_(2.0)
    assert v._base is b and b.tolist() == [[2.0, 2.0, 1.0], [1.0, 1.0, 1.0]]
    assert dt.autograd.grad(b.sum(), x, retain_graph=True)[0].tolist() == b.tolist()
    b.mul_(3.0)
    assert dt.autograd.grad(v.sum(), x)[0].tolist() == b.tolist()


def test_one_of_several_views_is_not_written_to() -> None:
    halves = op(
        "mine::halves",
        lambda x, y: (x[: len(y)], x[len(y) :]),
        view=True,
        constants=("y",),
        outputs=("first", "second"),
        vjp=dict(x=lambda g_first, g_second: np.concatenate([g_first, g_second])),
    )
    x = dt.ones(3, requires_grad=True)
    first, second = halves(x * 1, dt.zeros(2))
    assert first.shape == (2,) and second.shape == (1,)
    with pytest.raises(RuntimeError, match="returns multiple views"):
        first.mul_(2.0)


def test_integers_are_promoted_by_an_op_without_derivatives() -> None:
    root = op("mine::root", np.sqrt, kind="elementwise", promote="float")
    assert root(dt.tensor([4, 9])).dtype is dt.float32 and root(dt.tensor([4, 9])).tolist() == [2.0, 3.0]


def test_integers_are_promoted_by_an_op_of_several_tensors() -> None:
    share = op(
        "mine::share",
        lambda x, y: x / (x + y),
        promote="float",
        vjp=dict(x=lambda g, x, y: g * y / (x + y) ** 2, y=lambda g, x, y: -g * x / (x + y) ** 2),
    )
    for kind in (dt.int64, dt.float32):
        assert share(dt.tensor([1, 2], dtype=kind), dt.tensor([3, 2], dtype=kind)).dtype is dt.float32
    assert share(*dt.ones(2, 2, dtype=dt.float64)).dtype is dt.float64


def test_a_formula_may_name_the_gradient_last() -> None:
    cube = op("mine::last", lambda x: x * x * x, vjp=dict(x=lambda x, g: g * 3 * x * x))
    x = dt.tensor([2.0, 3.0], requires_grad=True)
    assert dt.autograd.grad(cube(x).sum(), x)[0].tolist() == [12.0, 27.0]
    assert dt.func.vmap(dt.func.grad(lambda t: cube(t).sum()))(dt.ones(2, 2)).tolist() == [[3.0, 3.0]] * 2
    both = dt.autograd.grad(cube(x), x, dt.eye(2), is_grads_batched=True)[0]
    assert both.tolist() == [[12.0, 0.0], [0.0, 27.0]]


@pytest.mark.parametrize("create_graph", [False, True])
def test_hooks_unpack_arguments_before_results_whatever_the_formula_names_first(create_graph: bool) -> None:
    power = op("mine::power", lambda x: x * x, vjp=dict(x=lambda g, out, x: g * 2 * out / x))
    seen: list = []
    x = dt.tensor([3.0], requires_grad=True)
    note = lambda t: seen.append(t.item()) or t
    with dt.autograd.graph.saved_tensors_hooks(note, note):
        y = power(x)
    dt.autograd.grad(y, x, dt.ones(1), create_graph=create_graph)
    assert seen == [3.0, 9.0, 3.0, 9.0]


# --- tangents whose formulas are a user's -------------------------------------------------------------

GIVEN = {  # what a formula may give as the tangent of a result of two rows and two columns
    "the tangent itself": lambda t: t,
    "a view of it": lambda t: t[...],
    "a view of it that lies otherwise": lambda t: t.T,
    "what lies otherwise": lambda t: t.T * 2,
    "a number": lambda t: 2.0,
    "rows in another order": lambda t: np.flip(t, 0),
    "one number for all": lambda t: t.sum(),
    "one row for all": lambda t: t.sum(0),
    "one row of a matrix": lambda t: t[:1] * 2,
    "whole numbers": lambda t: (t * 2).astype("int32") if hasattr(t, "astype") else (t * 2).int(),
    "a view of something else": lambda t: (t * np.ones((2, 1, 1), "f4"))[1],
    "one row, spread": lambda t, x_shape: np.broadcast_to(t[0] * 2, x_shape),
    "an axis too many": lambda t: (t * 2)[None][0],
    "more digits": lambda t: t * np.full((2, 2), 2.0),
    "more digits for all": lambda t: t.sum() * np.full((2, 2), 2.0),
    "complex numbers": lambda t: t * (2 + 3j),
}


@pytest.mark.parametrize("batched", [False, True])
@pytest.mark.parametrize("grad", [False, True])
@pytest.mark.parametrize("owned", [False, True])
@pytest.mark.parametrize("what", GIVEN)
def test_a_tangent_is_as_its_result_is_whatever_its_formula_gives(
    what: str, owned: bool, grad: bool, batched: bool
) -> None:
    formula = GIVEN[what]
    odd = op("mine::odd", lambda x: x * 1, vjp=dict(x=lambda g: g), jvp=dict(x=formula), complex=True)
    x, directions = dt.ones(2, 2, requires_grad=grad), dt.arange(1.0, 13.0).reshape(3, 2, 2)
    lies: list = []

    def written(t: dt.Tensor) -> dt.Tensor:
        with fwAD.dual_level():
            dual = fwAD.make_dual(x, t * 1.0 if owned else t)  # in memory of its own, or of all samples
            y = odd(dual)
            tangent = fwAD.unpack_dual(y).tangent
            assert tangent is not None and tangent.dtype is dt.float32
            lies.append(tangent.stride())
            y.mul_(3.0)  # which shows in y's tangent alone
            y[0].mul_(2.0)
            return dt.stack([fwAD.unpack_dual(y).tangent, fwAD.unpack_dual(dual).tangent])

    found = (dt.vmap(written)(directions) if batched else dt.stack([written(t) for t in directions])).detach().numpy()
    given = {"t": None, "x_shape": (2, 2)}
    for n, t in enumerate(directions.numpy()):
        names = inspect.signature(formula).parameters
        wanted = np.broadcast_to(np.asarray(formula(**{k: t if k == "t" else given[k] for k in names})).real, (2, 2))
        np.testing.assert_array_equal(found[n, 0], wanted.astype("f4") * [[6], [3]])
        np.testing.assert_array_equal(found[n, 1], t)
    assert set(lies) == {(2, 1)}


@pytest.mark.parametrize("batched", [False, True])
def test_the_tangent_of_a_complex_result_keeps_its_imaginary_part_however_it_lies(batched: bool) -> None:
    odd = op(
        "mine::odd_complex", lambda x: x * 1, vjp=dict(x=lambda g: g), jvp=dict(x=lambda t: t.T * 2j), complex=True
    )
    x, directions = dt.ones(2, 2, dtype=dt.complex64), dt.arange(12.0).reshape(3, 2, 2) * (1 + 1j)
    one = lambda t: dt.func.jvp(odd, (x,), (t,))[1]
    found = dt.vmap(one)(directions) if batched else dt.stack([one(t) for t in directions])
    np.testing.assert_array_equal(found.numpy(), directions.numpy().transpose(0, 2, 1) * 2j)


def test_formulas_of_tangents_see_arguments_that_were_brought_together() -> None:
    times = op(
        "mine::times",
        lambda x, y: x * x * y,
        promote="float",
        kind="broadcasting",
        vjp=dict(x=lambda g, x, y: 2 * g * x * y, y=lambda g, x: g * (x * x)),
        jvp=dict(x=lambda t, x, y: 2 * t * x * y, y=lambda t, x: t * (x * x)),
    )
    small = dt.tensor([100], dtype=dt.int8)  # whose square is not
    with fwAD.dual_level():
        y = times(small, fwAD.make_dual(dt.ones(1), dt.ones(1)))
        assert fwAD.unpack_dual(y).tangent.tolist() == [10000.0]
    assert (
        dt.vmap(lambda t: dt.func.jvp(lambda y: times(small, y), (dt.ones(1),), (t,))[1])(dt.eye(1)).item() == 10000.0
    )


@pytest.mark.parametrize("kind", ["general", "elementwise"])
def test_an_op_with_a_tangent_warns_as_it_does_without(kind: str) -> None:
    share = op(
        "mine::share_of", lambda x: x / x, vjp=dict(x=lambda g, x: g * 0 * x), jvp=dict(x=lambda t: t * 0), kind=kind
    )
    zero = dt.zeros(2)
    with warnings.catch_warnings(record=True) as without:
        warnings.simplefilter("always")
        share(zero)
    with warnings.catch_warnings(record=True) as seen, fwAD.dual_level():
        warnings.simplefilter("always")
        share(fwAD.make_dual(zero, zero))
    assert [str(w.message) for w in seen] == [str(w.message) for w in without]
    assert bool(seen) == (kind == "elementwise")


def test_a_tensor_that_the_declaration_does_not_name_is_refused() -> None:
    ratio = op("mine::ratio", lambda x, y: x / y, vjp=dict(x=lambda g, y: g / y))
    for x in (dt.ones(2), dt.ones(2, requires_grad=True)):
        with pytest.raises(TypeError, match="mine_ratio: 'y' is a tensor.*in vjp, or name it in constants"):
            ratio(x, dt.ones(2))
        with fwAD.dual_level(), pytest.raises(TypeError, match="'y' is a tensor"):
            ratio(fwAD.make_dual(x, dt.ones(2)), dt.ones(2))
    assert ratio(dt.ones(2), 2.0).tolist() == [0.5, 0.5]


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("batched", [False, True])
def test_the_formula_of_a_gradient_that_nobody_asked_for_does_not_run(
    batched: bool, packed: bool, create_graph: bool
) -> None:
    def refuse(g: Any, x: Any) -> Any:
        raise AssertionError("this gradient was not asked for")

    product = op("mine::one_sided", lambda x, y: x * y, vjp=dict(x=lambda g, y: g * y, y=refuse), kind="broadcasting")
    x, y = (dt.tensor([v, 2 * v], requires_grad=True) for v in (1.0, 3.0))
    start = dt.eye(2) if batched else dt.ones(2)
    with dt.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t) if packed else nullcontext():
        out = product(x, y)
    (g,) = dt.autograd.grad(out, x, start, True, is_grads_batched=batched, create_graph=create_graph)
    assert g.tolist() == ([[3.0, 0.0], [0.0, 6.0]] if batched else [3.0, 6.0])
    with pytest.raises(AssertionError, match="not asked for"):
        dt.autograd.grad(out, y, start, is_grads_batched=batched)
