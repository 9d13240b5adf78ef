"""Solvers of ``dualtape.scipy``: tensors that functions use without having them as arguments get gradients."""

from __future__ import annotations

import functools
import os
from typing import Any

import numpy as np
import pytest
import scipy.integrate
import scipy.optimize

import dualtape as dt
from dualtape.scipy import integrate, interpolate, optimize


def leaf(values: Any) -> dt.Tensor:
    return dt.tensor(values, dtype=dt.float64, requires_grad=True)


def close(found: Any, expected: Any, rtol: float = 1e-6) -> None:
    np.testing.assert_allclose(np.asarray(found.detach()), expected, rtol=rtol, atol=1e-8)


GLOBAL = leaf(2.0)


class Model:
    def __init__(self, rate: dt.Tensor) -> None:
        self.rate = rate

    def slope(self, t: Any, y: Any) -> Any:
        return -self.rate * y

    def __call__(self, t: Any, y: Any) -> Any:
        return -self.rate * y


def by_global(t: Any, y: Any) -> Any:
    return -GLOBAL * y


WAYS = {
    "a cell": lambda rate: lambda t, y: -rate * y,
    "a default": lambda rate: lambda t, y, rate=rate: -rate * y,
    "a bound method": lambda rate: Model(rate).slope,
    "an object": lambda rate: Model(rate),
    "a partial": lambda rate: functools.partial(lambda rate, t, y: -rate * y, rate),
    "a list in a cell": lambda rate: (lambda held: lambda t, y: -held[0]["rate"] * y)([{"rate": rate}]),
    "a function that a function calls": lambda rate: (lambda inner: lambda t, y: -inner() * y)(lambda: rate),
}


@pytest.mark.parametrize("way", WAYS)
def test_tensors_that_a_function_uses_are_found_wherever_they_are(way: str) -> None:
    rate = leaf(0.7)
    found = integrate.solve_ivp(WAYS[way](rate), (0.0, 1.0), [2.0], rtol=1e-9, atol=1e-10)
    found.y[0, -1].backward()
    close(rate.grad, -2 * np.exp(-0.7))


def test_a_global_is_found() -> None:
    GLOBAL.grad = None
    integrate.solve_ivp(by_global, (0.0, 1.0), [2.0], rtol=1e-9, atol=1e-10).y[0, -1].backward()
    close(GLOBAL.grad, -2 * np.exp(-2.0))


@pytest.mark.parametrize("start", [[1.0, 0.5], np.array([1.0, 0.5]), dt.tensor([1.0, 0.5])])
@pytest.mark.parametrize("where", ["closed over", "in args"])
def test_a_module_as_the_right_hand_side_gets_gradients_of_its_parameters(start: Any, where: str) -> None:
    dt.manual_seed(0)
    net = dt.nn.Sequential(dt.nn.Linear(2, 3), dt.nn.Tanh(), dt.nn.Linear(3, 2))
    more = {} if where == "closed over" else {"args": (net,)}
    function = (lambda t, y: net(y)) if where == "closed over" else (lambda t, y, net: net(y))
    integrate.solve_ivp(function, (0.0, 1.0), start, t_eval=[1.0], **more).y.sum().backward()
    weight = net[0].weight
    found, step = weight.grad[1, 0].item(), 1e-2

    def end() -> float:
        with dt.no_grad():
            f = lambda t, y: net(dt.tensor(y, dtype=dt.float32)).numpy()  # noqa: E731
            return float(scipy.integrate.solve_ivp(f, (0.0, 1.0), [1.0, 0.5], t_eval=[1.0]).y.sum())

    with dt.no_grad():
        weight[1, 0] += step
        ahead = end()
        weight[1, 0] -= 2 * step
        behind = end()
    np.testing.assert_allclose(found, (ahead - behind) / (2 * step), rtol=1e-2)


def test_tensors_that_depend_on_each_other_are_not_counted_twice() -> None:
    def solved(w: Any) -> Any:
        v = w * w  # both are used, and v is not a leaf
        return integrate.odeint(lambda y, t: -w * v * y, [1.0], [0.0, 1.0], rtol=1e-10, atol=1e-10)[-1, 0]

    w = leaf(0.8)
    (slope,) = dt.autograd.grad(solved(w), w, create_graph=True)
    (curvature,) = dt.autograd.grad(slope, w)
    e = np.exp(-(0.8**3))
    close(slope, -3 * 0.64 * e)
    close(curvature, (-6 * 0.8 + 9 * 0.8**4) * e, rtol=1e-5)


def test_a_tensor_that_is_used_in_one_region_alone_is_found() -> None:
    early, late = leaf(1.0), leaf(2.0)
    function = lambda t, y: -early * y if t < 0.5 else -late * y  # noqa: E731
    integrate.solve_ivp(function, (0.0, 1.0), [1.0], rtol=1e-9, atol=1e-11, max_step=0.05).y[0, -1].backward()
    close(early.grad, -0.5 * np.exp(-1.5), rtol=1e-3)
    close(late.grad, -0.5 * np.exp(-1.5), rtol=1e-3)


def test_a_write_between_forward_and_backward_is_noticed() -> None:
    rate = leaf(0.7)
    y = integrate.solve_ivp(lambda t, y: -rate * y, (0.0, 1.0), [2.0]).y
    with dt.no_grad():
        rate += 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_a_function_gets_the_kind_of_tensor_that_its_start_is_of() -> None:
    scale = leaf(2.0)
    start = np.array([1.0, 4.0])
    of_array = optimize.root(lambda x: x - x.std() * scale - 1, start).x  # NumPy's std, of the array that entered
    expected = scipy.optimize.root(lambda x: x - x.std() * 2.0 - 1, start).x
    close(of_array, expected)
    of_tensor = optimize.root(lambda x: x - x.mean() * scale - 1, dt.tensor(start)).x
    assert of_tensor.requires_grad


def test_without_tensors_solvers_are_scipys() -> None:
    assert type(integrate.quad(lambda x: x * x, 0, 1)[0]) is float
    assert type(optimize.brentq(lambda x: x - 1, 0, 3)) is float
    assert isinstance(optimize.minimize(lambda x: (x**2).sum(), [1.0]).x, np.ndarray)
    with pytest.raises(ZeroDivisionError):
        integrate.quad(lambda x: 1 / 0, 0, 1)


# --- integrals ------------------------------------------------------------------------------------

INTEGRALS = {
    "quad": (lambda a: integrate.quad(lambda x: np.exp(-a * x), 0, a * a)[0], lambda a: (1 - np.exp(-(a**3))) / a),
    "quad to infinity": (lambda a: integrate.quad(lambda x: np.exp(-a * x), 0, np.inf)[0], lambda a: 1 / a),
    "quad with args": (lambda a: integrate.quad(lambda x, b: b * x, 0, 1, args=(a,))[0], lambda a: a / 2),
    "quad of a limit alone": (lambda a: integrate.quad(np.cos, 0, a)[0], np.sin),
    "quad_vec": (
        lambda a: integrate.quad_vec(lambda x: np.stack([a * x, a * a]), 0, 1)[0].sum(),
        lambda a: a / 2 + a * a,
    ),
    "dblquad": (lambda a: integrate.dblquad(lambda y, x: a * x * y, 0, 1, 0, lambda x: a * x)[0], lambda a: a**3 / 8),
    "tplquad": (lambda a: integrate.tplquad(lambda z, y, x: a * x + 0 * z, 0, 1, 0, 1, 0, 2)[0], lambda a: a),
    "nquad": (lambda a: integrate.nquad(lambda y, x: a * x * y, [[0, 2], [0, a]])[0], lambda a: a**3),
    "fixed_quad": (lambda a: integrate.fixed_quad(lambda x: a * x**2, 0, a)[0], lambda a: a**4 / 3),
}


DEEP = bool(os.environ.get("DUALTAPE_DEEP"))


@pytest.mark.parametrize("name", [name for name in INTEGRALS if DEEP or name != "tplquad"])  # half a minute
def test_integrals_have_values_and_derivatives_of_first_and_second_order(name: str) -> None:
    ours, exact = INTEGRALS[name]
    a, h = leaf(1.3), 1e-4
    value = ours(a)
    (slope,) = dt.autograd.grad(value, a, create_graph=True)
    close(value, exact(1.3), rtol=1e-8)
    close(slope, (exact(1.3 + h) - exact(1.3 - h)) / (2 * h), rtol=1e-5)
    if slope.requires_grad and name != "tplquad":  # as nquad's, which is checked, but a minute long
        (second,) = dt.autograd.grad(slope, a)
        close(second, (exact(1.3 + h) - 2 * exact(1.3) + exact(1.3 - h)) / h**2, rtol=1e-4)


POINTS = np.array([0.0, 0.4, 1.1, 1.5, 2.2, 3.0, 3.3])
SAMPLED = {
    "trapezoid": lambda m, y, x: m.trapezoid(y, x),
    "trapezoid along": lambda m, y, x: m.trapezoid(np.stack([y, y * y]), dx=0.5),
    "cumulative_trapezoid": lambda m, y, x: m.cumulative_trapezoid(y, x, initial=0),
    "simpson": lambda m, y, x: m.simpson(y, x=x),
    "simpson of an even number": lambda m, y, x: m.simpson(y[:6], x=x[:6]),
    "cumulative_simpson": lambda m, y, x: m.cumulative_simpson(y, x=x),
    "cumulative_simpson of an even number": lambda m, y, x: m.cumulative_simpson(y[:6], x=x[:6], initial=0),
    "romb": lambda m, y, x: m.romb(y[:5], dx=0.3),
}


@pytest.mark.parametrize("name", SAMPLED)
def test_integrals_of_samples_are_scipys_and_have_derivatives(name: str) -> None:
    y = np.cos(POINTS) + 0.3
    call = SAMPLED[name]
    close(call(integrate, leaf(y), leaf(POINTS)), call(scipy.integrate, y, POINTS), rtol=1e-12)
    assert dt.autograd.gradcheck(lambda y, x: call(integrate, y, x), (leaf(y), leaf(POINTS)))


def test_a_boundary_value_problem_has_derivatives() -> None:
    def middle(w: Any) -> Any:
        found = integrate.solve_bvp(
            lambda x, y: np.stack([y[1], -w * np.exp(y[0])]),
            lambda a, b: np.stack([a[0], b[0] - 0.1 * w]),
            np.linspace(0, 1, 5),
            np.zeros((2, 5)),
            tol=1e-8,
        )
        return found.sol(0.5)[0]

    w = leaf(1.0)
    middle(w).backward()
    found = w.grad.item()
    ahead, behind = (middle(leaf(1.0 + h)).item() for h in (1e-4, -1e-4))
    np.testing.assert_allclose(found, (ahead - behind) / 2e-4, rtol=1e-5)


# --- optimize -------------------------------------------------------------------------------------

T = np.linspace(0, 1, 6)
SEEN = np.array([1.0, 1.4, 1.7, 2.4, 2.5, 3.3])
A = np.array([[1.0, 1.0], [1.0, 2.0]])
SOLUTIONS = {
    "root": (lambda a: optimize.root(lambda x: x**3 + x - a * a - a, [1.0, 1.0], tol=1e-12).x, [2.0, 3.0]),
    "minimize": (lambda a: optimize.minimize(lambda x: ((x - a) ** 4).sum() + (x * x).sum(), [0.1, 0.3]).x, [2.0, 3.0]),
    "minimize within bounds": (
        lambda a: optimize.minimize(lambda x: ((x - a) ** 2).sum(), [0.1, 0.3], bounds=[(0, 1), (None, None)]).x,
        [2.0, 3.0],
    ),
    "minimize_scalar": (lambda a: optimize.minimize_scalar(lambda x: (x - a[0]) ** 2 + a[1] * x).x, [2.0, 3.0]),
    "bisect": (lambda a: optimize.bisect(lambda x: x**3 - a.sum(), 0.0, 9.0), [2.0, 3.0]),
    "brenth": (lambda a: optimize.brenth(lambda x: x**3 - a.sum(), 0.0, 9.0), [2.0, 3.0]),
    "ridder": (lambda a: optimize.ridder(lambda x: x**3 - a.sum(), 0.0, 9.0), [2.0, 3.0]),
    "toms748": (lambda a: optimize.toms748(lambda x: x**3 - a.sum(), 0.0, 9.0), [2.0, 3.0]),
    "newton": (lambda a: optimize.newton(lambda x: x**3 - a, [1.0, 1.0]), [2.0, 3.0]),
    "root_scalar": (lambda a: optimize.root_scalar(lambda x: x**3 - a[0], x0=1.0, method="newton").root, [2.0, 3.0]),
    "curve_fit": (lambda y: optimize.curve_fit(lambda t, a, b: a * np.exp(b * t), T, y), SEEN),
    "curve_fit by sigma": (lambda s: optimize.curve_fit(lambda t, a, b: a + b * t, T, SEEN, sigma=s)[0], T + 0.5),
    "leastsq": (lambda y: optimize.leastsq(lambda p: p[0] * T + p[1] - y, [0.0, 0.0])[0], SEEN),
    "least_squares": (lambda y: optimize.least_squares(lambda p: p[0] * T + p[1] - y, [0.0, 0.0]).x, SEEN),
    "linprog": (lambda b: optimize.linprog([-1.0, -1.5], A, b).x, [4.0, 6.0]),
    "value of linprog": (lambda c: optimize.linprog(c, A, [4.0, 6.0]).fun, [-1.0, -1.5]),
    "nnls": (lambda b: optimize.nnls(np.stack([T, T**2, -T], 1), b), SEEN),
    "lsq_linear": (lambda b: optimize.lsq_linear(np.stack([T, 1 + T**2], 1), b, bounds=(-9, 1.5)).x, SEEN),
    "isotonic_regression": (lambda y: optimize.isotonic_regression(y.flip(0)).x, SEEN),
    "rosen": (lambda x: optimize.rosen(x), SEEN),
    "rosen_der": (lambda x: optimize.rosen_der(x), SEEN),
    "rosen_hess": (lambda x: optimize.rosen_hess(x), SEEN),
    "rosen_hess_prod": (lambda x: optimize.rosen_hess_prod(x, SEEN), SEEN),
}


@pytest.mark.parametrize("name", SOLUTIONS)
def test_solutions_have_derivatives_by_what_the_functions_use(name: str) -> None:
    function, start = SOLUTIONS[name]
    assert dt.autograd.gradcheck(function, leaf(start), eps=1e-4, atol=3e-3, rtol=3e-3)


def test_curve_fit_has_scipys_parameters_and_covariance() -> None:
    model = lambda t, a, b: a * np.exp(b * t)  # noqa: E731
    for more in ({}, {"sigma": T + 0.5}, {"sigma": T + 0.5, "absolute_sigma": True}, {"bounds": (0, 3)}):
        found = optimize.curve_fit(model, T, leaf(SEEN), **more)
        for mine, theirs in zip(found, scipy.optimize.curve_fit(model, T, SEEN, **more), strict=True):
            close(mine, theirs, rtol=1e-4)


def test_a_fit_through_a_module_trains_its_parameters() -> None:
    net = dt.nn.Linear(2, 2).double()
    found = optimize.root(lambda x: x - 0.3 * dt.tanh(net(x)) - 1, dt.zeros(2, dtype=dt.float64))
    found.x.sum().backward()
    assert net.weight.grad is not None and bool((net.weight.grad != 0).all())


def test_a_spline_of_arrays_answers_tensors() -> None:
    spline = interpolate.CubicSpline(T, SEEN)
    at = leaf([0.25])
    spline(at).sum().backward()
    close(at.grad, scipy.interpolate.CubicSpline(T, SEEN)([0.25], 1))
    assert isinstance(spline(0.25), np.ndarray) and spline.c.shape == (4, 5)
