"""The programs that are measured, each written once as a function of the library.

A workload is called with the library (`dualtape` or `torch`), sets up its inputs, and returns a `step`: a
function without arguments that does the work and returns the tensors to compare. Inputs come from NumPy with
a fixed seed, so that both libraries see the same numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["WORKLOADS", "Step", "Workload"]

Step = Callable[[], Any]
Workload = Callable[[Any], Step]

WORKLOADS: dict[str, Workload] = {}


def workload(name: str) -> Callable[[Workload], Workload]:
    """Register a workload under the name that the table shows."""

    def register(function: Workload) -> Workload:
        if name in WORKLOADS:
            raise ValueError(f"workload: the name {name!r} is taken; choose another")
        WORKLOADS[name] = function
        return function

    return register


def numbers(*shape: int, dtype: Any = np.float32, seed: int = 0) -> np.ndarray:
    """Return random numbers that are the same for every library."""
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


# ------------------------------------------------------------------------------------------
# single operations: what one call costs, and what recording and differentiating it adds


def single(operation: Callable[..., Any], size: int, arguments: int, mode: str) -> Workload:
    """Make the workload of one operation on `size` x `size` matrices.

    `mode` is "no grad" (plain inputs), "forward" (inputs require grad, nothing is differentiated) or
    "backward" (forward and backward).
    """

    def program(torch: Any) -> Step:
        tracked = mode != "no grad"
        inputs = [
            torch.tensor(numbers(size, size, seed=seed), requires_grad=tracked) for seed in range(arguments)
        ]
        if mode != "backward":
            return lambda: operation(torch, *inputs)
        seed_gradient = torch.tensor(np.ones(operation(torch, *inputs).shape, dtype=np.float32))

        def step() -> Any:
            for tensor in inputs:
                tensor.grad = None
            result = operation(torch, *inputs)
            result.backward(seed_gradient)
            return result, *[tensor.grad for tensor in inputs]

        return step

    return program


OPERATIONS: dict[str, tuple[Callable[..., Any], int]] = {
    "mul": (lambda torch, x, y: x * y, 2),
    "tanh": (lambda torch, x: torch.tanh(x), 1),
    "sum": (lambda torch, x: x.sum(), 1),
    "matmul": (lambda torch, x, y: x @ y, 2),
}

for _name, (_operation, _arguments) in OPERATIONS.items():
    for _size in (10, 300):
        for _mode in ("no grad", "forward", "backward"):
            WORKLOADS[f"{_name} {_size}x{_size}, {_mode}"] = single(_operation, _size, _arguments, _mode)


# ------------------------------------------------------------------------------------------
# programs


@workload("chain of 200 ops 10x10, forward")
def chain_forward(torch: Any) -> Step:
    """A long chain of cheap operations: the cost per node, without its gradient."""
    start = torch.tensor(numbers(10, 10), requires_grad=True)
    factor = torch.tensor(numbers(10, 10, seed=1))

    def step() -> Any:
        value = start
        for _ in range(100):
            value = torch.tanh(value * factor)
        return value

    return step


@workload("chain of 200 ops 10x10, backward")
def chain_backward(torch: Any) -> Step:
    """The same chain, forward and backward."""
    start = torch.tensor(numbers(10, 10), requires_grad=True)
    factor = torch.tensor(numbers(10, 10, seed=1))

    def step() -> Any:
        value = start
        for _ in range(100):
            value = torch.tanh(value * factor)
        return torch.autograd.grad(value.sum(), start)

    return step


@workload("MLP training step, batch 32")
def mlp_step(torch: Any) -> Step:
    """Forward, cross entropy, backward and one step of gradient descent on three layers."""
    sizes = (16, 32, 32, 4)
    weights = [
        torch.tensor(numbers(rows, columns, seed=rows) * np.float32(0.3), requires_grad=True)
        for rows, columns in zip(sizes, sizes[1:], strict=False)
    ]
    biases = [torch.tensor(np.zeros(columns, dtype=np.float32), requires_grad=True) for columns in sizes[1:]]
    inputs = torch.tensor(numbers(32, sizes[0], seed=5))
    labels = torch.tensor(np.arange(32) % sizes[-1])
    parameters = [*weights, *biases]

    def step() -> Any:
        hidden = inputs
        for weight, bias in zip(weights[:-1], biases[:-1], strict=True):
            hidden = torch.tanh(hidden @ weight + bias)
        loss = torch.nn.functional.cross_entropy(hidden @ weights[-1] + biases[-1], labels)
        loss.backward()
        with torch.no_grad():
            for parameter in parameters:
                parameter -= 1e-3 * parameter.grad
                parameter.grad = None
        return loss

    return step


@workload("orbit, 100 leapfrog steps")
def orbit(torch: Any) -> Step:
    """A simulation on states of two numbers, differentiated by its start: overhead and nothing else."""
    start = torch.tensor(np.array([1.0, 0.0]))
    launch = torch.tensor(np.array([0.1, 1.1]), requires_grad=True)

    def pull(position: Any) -> Any:
        return -position * (position * position).sum() ** -1.5

    def step() -> Any:
        position, velocity = start, launch
        force = pull(position)
        for _ in range(100):
            half = velocity + 0.005 * force
            position = position + 0.01 * half
            force = pull(position)
            velocity = half + 0.005 * force
        return torch.autograd.grad((position * position).sum(), launch)

    return step


@workload("indexing and views")
def views(torch: Any) -> Step:
    """Rows, slices, reshapes, transposes and a gather of a 10x12 matrix, forward and backward."""
    matrix = torch.tensor(numbers(10, 12), requires_grad=True)
    picks = torch.tensor(np.array([0, 3, 3, 9]))

    def step() -> Any:
        total = matrix[picks].sum()
        for k in range(10):
            block = matrix[k].reshape(3, 4).t()
            total = total + block[1:, 0].sum() * block[0, 2]
        return torch.autograd.grad(total, matrix)

    return step


@workload("in-place writes")
def in_place(torch: Any) -> Step:
    """In-place arithmetic on a tensor and on views of it, forward and backward."""
    start = torch.tensor(numbers(10, 10), requires_grad=True)
    row = torch.tensor(numbers(10, seed=1))

    def step() -> Any:
        state = start.clone()
        for k in range(10):
            state.mul_(0.9).add_(0.1)
            state[k].mul_(row)
            state[:, k] = row
        return torch.autograd.grad(state.sum(), start)

    return step


@workload("Hessian by double backward, 10 variables")
def hessian(torch: Any) -> Step:
    """The Hessian of Rosenbrock's function: a gradient with a graph, then one backward pass per row."""
    point = torch.tensor(numbers(10, dtype=np.float64), requires_grad=True)

    def step() -> Any:
        head, tail = point[:-1], point[1:]
        value = (100 * (tail - head**2) ** 2 + (1 - head) ** 2).sum()
        (gradient,) = torch.autograd.grad(value, point, create_graph=True)
        rows = [torch.autograd.grad(gradient[k], point, retain_graph=True)[0] for k in range(10)]
        return torch.stack(rows)

    return step
