"""Higher derivatives where libraries are known to go wrong, by every mixture of forward and reverse mode."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dualtape as dt
from dualtape.func import grad, hessian, jacfwd, jacrev, jvp, vjp

F64, functional = dt.float64, dt.nn.functional


def along(f: Callable) -> Callable:
    """The derivative of a function of one number, forward."""
    return lambda t: jvp(f, (t,), (dt.ones_like(t),))[1]


def derivatives(f: Callable, order: int, t: float = 0.0) -> list[float]:
    """The ``order``-th derivative of a function of one number, by every sequence of forward and reverse."""
    found = []
    for ways in itertools.product((grad, along), repeat=order):
        g = f
        for way in ways:
            g = way(g)
        found.append(g(dt.tensor(t, dtype=F64)).item())
    return found


def agree(f: Callable, order: int, expected: float, t: float = 0.0, **close: Any) -> None:
    np.testing.assert_allclose(derivatives(f, order, t), expected, **{"rtol": 1e-9, "atol": 1e-9, **close})


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("p", [1, 2, 3, float("inf")])
def test_norm_at_zero_has_the_zero_subgradient_at_every_order(p: float, order: int) -> None:
    agree(lambda t: dt.linalg.vector_norm(t * dt.tensor([1.0, 2.0], dtype=F64), p), order, 0.0)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_std_of_equal_values(order: int) -> None:
    agree(lambda t: dt.std(t * dt.ones(4, dtype=F64)), order, 0.0)


def test_layer_normalisation_to_third_order() -> None:
    x, d = dt.tensor([0.3, -1.2, 0.8], dtype=F64), dt.tensor([1.0, 0.5, -0.7], dtype=F64)
    w = dt.tensor([0.2, 1.0, -0.4], dtype=F64)
    layer = lambda t: (dt.nn.functional.layer_norm(x + t * d, (3,)) * w).sum()
    plain = lambda t: (lambda y: (((y - y.mean()) / ((y - y.mean()) ** 2).mean().add(1e-5).sqrt()) * w).sum())(
        x + t * d
    )
    for order in (1, 2, 3):
        agree(layer, order, derivatives(plain, order)[0], rtol=1e-7)


def test_batch_and_group_normalisation_to_second_order() -> None:
    draw = dt.Generator().manual_seed(3)  # of numbers that lie close together a difference quotient is not exact enough
    x, d = (dt.randn(4, 2, 3, dtype=F64, generator=draw) for _ in range(2))
    for f in (
        lambda t: (dt.nn.functional.batch_norm(x + t * d, None, None, training=True) ** 3).sum(),
        lambda t: (dt.nn.functional.group_norm(x + t * d, 2) ** 3).sum(),
    ):
        found = derivatives(f, 2, 0.1)
        h = 1e-4
        slope = lambda t, f=f: grad(f)(dt.tensor(t, dtype=F64)).item()
        np.testing.assert_allclose(found, (slope(0.1 + h) - slope(0.1 - h)) / (2 * h), rtol=1e-5)


@pytest.mark.parametrize("values", [[0.0, 2.0, 3.0], [0.0, 0.0, 3.0], [0.0, 0.0, 0.0]])
def test_prod_with_zeros(values: list[float]) -> None:
    x = dt.tensor(values, dtype=F64)
    d = dt.tensor([1.0, 2.0, -1.0], dtype=F64)
    # the product of (v + t d) is a polynomial in t: its coefficients are the derivatives
    poly = np.poly1d([1.0])
    for v, slope in zip(values, d.tolist(), strict=True):
        poly = poly * np.poly1d([slope, v])
    for order in (1, 2, 3):
        agree(lambda t: (x + t * d).prod(), order, np.polyder(poly, order)(0.0))
        agree(lambda t: (x + t * d).cumprod(0)[-1], order, np.polyder(poly, order)(0.0))
    expected = np.array([[0 if i == j else values[3 - i - j] for j in range(3)] for i in range(3)])
    for outer, inner in itertools.product((jacfwd, jacrev), repeat=2):
        np.testing.assert_allclose(outer(inner(lambda x: x.prod()))(x).numpy(), expected)


def test_where_guards_what_it_does_not_take() -> None:
    def guarded(x: Any) -> Any:
        safe = dt.where(x > 0, x, dt.ones_like(x))
        return dt.where(x > 0, safe.sqrt(), dt.zeros_like(x)).sum()

    x = dt.tensor([0.0, 4.0], dtype=F64)
    for f in (
        grad(guarded),
        lambda x: jvp(guarded, (x,), (dt.ones_like(x),))[1],
        hessian(guarded),
        jacrev(jacrev(guarded)),
    ):
        assert not f(x).isnan().any()
    np.testing.assert_allclose(grad(guarded)(x).numpy(), [0, 0.25])
    np.testing.assert_allclose(hessian(guarded)(x).numpy(), [[0, 0], [0, -1 / 32]])


def test_logsumexp_of_nothing_but_minus_infinity() -> None:
    x = dt.full((3,), -np.inf, dtype=F64)
    assert dt.logsumexp(x, 0).item() == -np.inf
    for f in (
        grad(lambda x: dt.logsumexp(x, 0)),
        lambda x: jvp(lambda x: dt.logsumexp(x, 0), (x,), (dt.ones_like(x),))[1],
    ):
        assert f(x).isnan().all() or f(x).isfinite().all()
    mixed = dt.tensor([-np.inf, 1.0, 2.0], dtype=F64)
    soft = np.exp([0.0, 1.0]) / np.exp([0.0, 1.0]).sum()
    np.testing.assert_allclose(grad(lambda x: dt.logsumexp(x, 0))(mixed).numpy(), [0, *soft])
    expected = np.zeros((3, 3))
    expected[1:, 1:] = np.diag(soft) - np.outer(soft, soft)
    for outer, inner in itertools.product((jacfwd, jacrev), repeat=2):
        np.testing.assert_allclose(outer(inner(lambda x: dt.logsumexp(x, 0)))(mixed).numpy(), expected, atol=1e-12)


@pytest.mark.parametrize(("order", "value"), [(1, 0.0), (2, -(np.pi**2) / 3), (3, 0.0)])
def test_sinc_at_zero(order: int, value: float) -> None:
    agree(dt.sinc, order, value)
    agree(dt.sinc, order, derivatives(lambda t: (np.pi * t).sin() / (np.pi * t), order, 0.7)[0], t=0.7)


@pytest.mark.parametrize("exponent", [0, 1, 2, 3, 2.0])
def test_integer_powers_at_zero(exponent: float) -> None:
    for order in (1, 2, 3):
        falling = float(np.prod([exponent - k for k in range(order)]))
        agree(lambda t: t**exponent, order, falling if exponent == order else 0.0)


def test_a_function_with_a_branch_of_its_own() -> None:
    for f, order, value in [
        (dt.relu, 2, 0.0),
        (dt.abs, 2, 0.0),
        (lambda t: dt.maximum(t, t * 0), 1, 0.5),
        (lambda t: dt.clamp(t, min=0.0), 2, 0.0),
    ]:
        agree(f, order, value)


# --- matrices -------------------------------------------------------------------------------------

BASE = np.array([[2.0, 0.4, -0.3], [0.4, 1.0, 0.2], [-0.3, 0.2, -0.5]])
STEP = np.array([[0.3, -0.2, 0.5], [-0.2, 0.7, 0.1], [0.5, 0.1, -0.4]])


def along_matrix(f: Callable, dtype: Any = F64) -> Callable:
    base, step = dt.tensor(BASE, dtype=dtype), dt.tensor(STEP, dtype=dtype)
    if dtype is dt.complex128:
        skew = dt.tensor(np.triu(STEP, 1) - np.triu(STEP, 1).T, dtype=dtype) * 1j
        base, step = base + skew, step - 0.5 * skew
    return lambda t: f(base + t * step)


@pytest.mark.parametrize("dtype", [dt.float64, dt.complex128], ids=str)
@pytest.mark.parametrize(
    "function",
    [
        lambda a: dt.linalg.eigvalsh(a)[0],
        lambda a: (dt.linalg.eigh(a)[1].abs() ** 2)[0, 1],
        lambda a: dt.linalg.svdvals(a)[1],
        lambda a: (dt.linalg.svd(a)[0].abs() ** 2)[1, 0],
        lambda a: dt.linalg.det(a).real,
        lambda a: dt.linalg.slogdet(a)[1],
        lambda a: dt.linalg.inv(a)[0, 1].real,
        lambda a: dt.linalg.cholesky(a @ a.mH + dt.eye(3, dtype=F64))[2, 1].real,
        lambda a: dt.linalg.solve(a, a @ a + dt.eye(3, dtype=F64))[1, 2].real,
        lambda a: dt.linalg.pinv(a)[1, 0].real,
        lambda a: (dt.linalg.qr(a)[0].abs() ** 2)[2, 0],
    ],
    ids=[
        "eigenvalue",
        "eigenvector",
        "singular value",
        "singular vector",
        "det",
        "slogdet",
        "inv",
        "cholesky",
        "solve",
        "pinv",
        "qr",
    ],
)
def test_matrix_functions_to_second_order(function: Callable, dtype: Any) -> None:
    f = along_matrix(function, dtype)
    value = lambda t: f(dt.tensor(t, dtype=F64)).item()
    h = 1e-3
    first = (8 * (value(h) - value(-h)) - value(2 * h) + value(-2 * h)) / (12 * h)
    second = (16 * (value(h) + value(-h)) - value(2 * h) - value(-2 * h) - 30 * value(0.0)) / (12 * h * h)
    agree(f, 1, first, rtol=1e-6, atol=1e-7)
    agree(f, 2, second, rtol=1e-4, atol=1e-5)


# --- complex --------------------------------------------------------------------------------------


def test_complex_functions_of_a_real_variable() -> None:
    z = dt.tensor(0.3 + 0.4j, dtype=dt.complex128)
    for f in (
        dt.exp,
        dt.sin,
        dt.tanh,
        lambda w: w**3,
        lambda w: 1 / (1 + w),
        lambda w: w.conj() * w * w,
        lambda w: w.abs() * w,
        dt.sqrt,
        dt.log,
    ):
        real = lambda t, f=f: f(z + t * (1 + 2j)).real
        value = lambda t, real=real: real(dt.tensor(t, dtype=F64)).item()
        h = 1e-3
        second = (16 * (value(h) + value(-h)) - value(2 * h) - value(-2 * h) - 30 * value(0.0)) / (12 * h * h)
        agree(real, 2, second, rtol=1e-6, atol=1e-6)


def test_gradients_of_complex_arguments_are_pytorchs() -> None:
    z = dt.tensor([0.3 + 0.4j, -1.0 + 0.2j], dtype=dt.complex128)
    np.testing.assert_allclose(grad(lambda z: (z.abs() ** 2).sum())(z).numpy(), 2 * z.numpy())
    out, back = vjp(lambda z: z**2, z)
    np.testing.assert_allclose(back(dt.ones_like(out))[0].numpy(), np.conj(2 * z.numpy()))
    np.testing.assert_allclose(jvp(lambda z: z**2, (z,), (z,))[1].numpy(), 2 * z.numpy() ** 2)


@pytest.mark.parametrize("moments", [dt.var_mean, dt.std_mean])
@pytest.mark.parametrize("create_graph", [False, True])
def test_the_mean_of_one_number_has_a_gradient_though_the_variance_beside_it_has_none(
    moments: Callable, create_graph: bool
) -> None:
    x = dt.tensor([[1.0, 2.0]], requires_grad=True)
    spread, mean = moments(x, 0)
    (g,) = dt.autograd.grad(mean.sum(), x, create_graph=create_graph)
    assert spread.isnan().all() and g.tolist() == [[1.0, 1.0]]


KINKED: dict[str, Any] = {
    "abs": lambda x: x.abs(),
    "relu": dt.relu,
    "leaky_relu": functional.leaky_relu,
    "hardtanh": functional.hardtanh,
    "relu6": functional.relu6,
    "threshold": lambda x: functional.threshold(x, 0.1, 2.0),
    "hardshrink": functional.hardshrink,
    "softshrink": functional.softshrink,
    "hardsigmoid": functional.hardsigmoid,
    "prelu": lambda x: functional.prelu(x, dt.tensor([0.25])),
    "l1_loss": lambda x: functional.l1_loss(x, dt.ones(4)),
}


@pytest.mark.parametrize("name", KINKED)
def test_the_second_derivative_of_straight_pieces_is_zero_and_not_missing(name: str) -> None:
    x = dt.tensor([-1.5, -0.3, 0.4, 2.0], requires_grad=True)
    (slope,) = dt.autograd.grad(KINKED[name](x).sum(), x, create_graph=True)
    assert slope.requires_grad
    (curvature,) = dt.autograd.grad(slope.sum(), x)
    assert curvature.tolist() == [0.0] * 4
