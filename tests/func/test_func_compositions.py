"""Every composition of transforms to depth three, on ten functions, against finite differences.

By induction: a transform of ``g`` is checked against differences of ``g`` itself, where ``g`` is a composition one
shorter that was checked the same way. Directions and cotangents depend on the argument, too, so that an outer
transform differentiates with respect to them; in the transforms ``along`` and ``pull`` nothing else does. Some of
the functions use transforms inside, with tensors of the outside in their closures: the cases in which one
perturbation may be taken for another.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dualtape as dt
from dualtape.func import grad, jacfwd, jacrev, jvp, linearize, vjp, vmap

POINT = np.array([0.6, -0.4])
ELSEWHERE = np.array([-0.3, 0.8])
WEIGHTS = dt.tensor([[0.7, -0.2], [0.3, 0.9]], dtype=dt.float64)


def ramp(shape: Any) -> Any:
    """A direction of any shape."""
    return dt.linspace(0.5, -0.8, int(np.prod(shape)), dtype=dt.float64).reshape(tuple(shape))


def direction(x: Any) -> Any:
    return ramp(x.shape) + x.sin()


def cotangent(x: Any, shape: Any) -> Any:
    return ramp(shape) * x[0].exp() + x[1]


def written(x: Any) -> Any:
    y = x * 1.0
    y[0].mul_(x[1])
    y.add_(x.sin())
    return y


def kept(x: Any) -> Any:
    with dt.autograd.graph.saved_tensors_hooks(lambda t: (t,), lambda packed: packed[0]):
        return (x * x).exp() * x


class Cube(dt.autograd.Function):
    @staticmethod
    def forward(x: Any) -> Any:
        return x * x * x

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(inputs[0])

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return 3 * ctx.saved_tensors[0] ** 2 * g


FUNCTIONS: dict[str, Callable] = {
    "elementwise": lambda x: x.sin() * x.exp(),
    "matmul": lambda x: (WEIGHTS @ x).tanh() @ x,
    "softmax": lambda x: (x * x).softmax(0),
    "write": written,
    "hooks": kept,
    "custom": lambda x: Cube.apply(x) + x.roll(1, 0),
    "index": lambda x: x[[1, 0]] ** 2 * x[0].exp(),
    "grad inside": lambda x: x * grad(lambda y: (x * y * y).sum())(x.flip(0)),
    "forward inside": lambda x: x * jvp(lambda y: (x * y).sin(), (x.sum(),), (dt.ones((), dtype=dt.float64),))[1],
    "vmap inside": lambda x: vmap(lambda y: (x * y.sin()).sum())(x * x),
}

TRANSFORMS: dict[str, Callable] = {
    "grad": lambda f: lambda x: grad(lambda y: f(y).sum())(x),
    "jvp": lambda f: lambda x: jvp(f, (x,), (direction(x),))[1],
    "along": lambda f: lambda x: jvp(f, (dt.tensor(ELSEWHERE),), (direction(x),))[1],
    "linearize": lambda f: lambda x: linearize(f, x)[1](direction(x)),
    "vjp": lambda f: lambda x: (lambda out, back: back(cotangent(x, out.shape))[0])(*vjp(f, x)),
    "pull": lambda f: lambda x: (lambda out, back: back(cotangent(x, out.shape))[0])(*vjp(f, dt.tensor(ELSEWHERE))),
    "vmap": lambda f: lambda x: vmap(f)(dt.stack([x, 1.5 * x, x.cos()])),
    "jacfwd": jacfwd,
    "jacrev": jacrev,
}


def composed(names: tuple[str, ...], f: Callable) -> Callable:
    for name in reversed(names):
        f = TRANSFORMS[name](f)
    return f


def value(g: Callable, x: np.ndarray) -> np.ndarray:
    return g(dt.tensor(x)).numpy()


def differences(g: Callable, x: np.ndarray, h: float = 1e-4) -> np.ndarray:
    """The Jacobian of ``g`` by differences of fourth order."""
    columns = []
    for unit in np.eye(len(x)) * h:
        near, far = value(g, x + unit) - value(g, x - unit), value(g, x + 2 * unit) - value(g, x - 2 * unit)
        columns.append((8 * near - far) / (12 * h))
    return np.stack(columns, axis=-1)


def expected(name: str, g: Callable, x: np.ndarray, jacobian: np.ndarray) -> np.ndarray:
    if name == "grad":
        return jacobian.reshape(-1, len(x)).sum(0)
    if name in ("jvp", "along", "linearize"):
        return jacobian @ direction(dt.tensor(x)).numpy()
    if name in ("vjp", "pull"):
        return cotangent(dt.tensor(x), jacobian.shape[:-1]).numpy().reshape(-1) @ jacobian.reshape(-1, len(x))
    if name == "vmap":
        return np.stack([value(g, row) for row in (x, 1.5 * x, np.cos(x))])
    return jacobian


@pytest.mark.parametrize(
    "inner", [names for depth in range(3) for names in itertools.product(TRANSFORMS, repeat=depth)], ids="-".join
)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_compositions_to_depth_three(function: str, inner: tuple[str, ...]) -> None:
    g = composed(inner, FUNCTIONS[function])
    here, there = differences(g, POINT), differences(g, ELSEWHERE)
    for name in TRANSFORMS:
        jacobian = there if name in ("along", "pull") else here
        found = value(TRANSFORMS[name](g), POINT)
        np.testing.assert_allclose(
            found, expected(name, g, POINT, jacobian), rtol=1e-6, atol=1e-6, err_msg=f"{name} of {inner}"
        )
