"""Jacobians, Hessians and Hessian-vector products of small functions: by backward passes one after the other, and
by transforms of functions.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import Step, numbers, workload


def rosenbrock(point: Any) -> Any:
    """Rosenbrock's function in the words that tensors and arrays share."""
    head, tail = point[:-1], point[1:]
    return (100 * (tail - head**2) ** 2 + (1 - head) ** 2).sum()


@workload("Jacobian 10x10, by rows")
def jacobian(torch: Any) -> Step:
    """One backward pass for each component of a function of ten variables."""
    point = torch.tensor(numbers(10, dtype=np.float64), requires_grad=True)
    matrix = torch.tensor(numbers(10, 10, dtype=np.float64, seed=1))

    def step() -> Any:
        value = torch.tanh(matrix @ point) * torch.sin(point)
        return torch.stack([torch.autograd.grad(value[k], point, retain_graph=True)[0] for k in range(10)])

    return step


@workload("Hessian by double backward, 10 variables")
def hessian(torch: Any) -> Step:
    """The Hessian of Rosenbrock's function: a gradient with a graph, then one backward pass per row."""
    point = torch.tensor(numbers(10, dtype=np.float64), requires_grad=True)

    def step() -> Any:
        (gradient,) = torch.autograd.grad(rosenbrock(point), point, create_graph=True)
        rows = [torch.autograd.grad(gradient[k], point, retain_graph=True)[0] for k in range(10)]
        return torch.stack(rows)

    return step


@workload("Hessian-vector product, 10 variables")
def hessian_vector(torch: Any) -> Step:
    """Backward over backward, once."""
    point = torch.tensor(numbers(10, dtype=np.float64), requires_grad=True)
    vector = torch.tensor(numbers(10, dtype=np.float64, seed=1))

    def step() -> Any:
        (gradient,) = torch.autograd.grad(rosenbrock(point), point, create_graph=True)
        return torch.autograd.grad(gradient, point, vector)

    return step


@hessian_vector.for_functions
def _(lib: Any) -> Step:
    point, vector = lib.array(numbers(10, dtype=np.float64)), lib.array(numbers(10, dtype=np.float64, seed=1))

    def function(x: Any) -> Any:
        head, tail = x[:-1], x[1:]
        return lib.np.sum(100 * (tail - head**2) ** 2 + (1 - head) ** 2)

    gradient = lib.grad(function)
    product = lib.compiled(lib.grad(lambda x: lib.np.sum(gradient(x) * vector)))
    return lambda: (product(point),)


# --- by transforms --------------------------------------------------------------------------------


def _transformed(name: str, transform: Any) -> None:
    """A workload that runs ``transform(torch.func, f, x)`` on a function of ten variables."""

    @workload(name)
    def program(torch: Any) -> Step:
        point = torch.tensor(numbers(10, dtype=np.float64))
        matrix = torch.tensor(numbers(10, 10, dtype=np.float64, seed=1))
        vector = lambda x: torch.tanh(matrix @ x) * torch.sin(x)
        return lambda: (transform(torch.func, vector, point),)


_transformed("func.grad, 10 variables", lambda func, f, x: func.grad(lambda y: f(y).sum())(x))
_transformed("func.jvp, 10 variables", lambda func, f, x: func.jvp(f, (x,), (x,))[1])
_transformed("func.jacrev, 10x10", lambda func, f, x: func.jacrev(f)(x))
_transformed("func.jacfwd, 10x10", lambda func, f, x: func.jacfwd(f)(x))
_transformed("func.hessian, 10 variables", lambda func, f, x: func.hessian(lambda y: f(y).sum())(x))
_transformed(
    "func.vmap of func.grad, 10 samples", lambda func, f, x: func.vmap(func.grad(lambda y: f(y).sum()))(x.outer(x))
)
