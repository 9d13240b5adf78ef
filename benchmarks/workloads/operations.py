"""Single operations: what one call costs, and what recording and differentiating it adds, from 1 to a million
elements.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from . import LARGE, SMALL, WORKLOADS, Step, Workload, numbers


def single(operation: Callable[..., Any], inputs: tuple[np.ndarray, ...], mode: str) -> Callable[[Any], Step]:
    """The program of one operation.

    ``mode`` is "no grad" (plain inputs), "recorded" (inputs require grad, nothing is differentiated) or "backward"
    (forward and backward).
    """

    def program(torch: Any) -> Step:
        tensors = [
            torch.tensor(values, requires_grad=mode != "no grad" and values.dtype.kind == "f") for values in inputs
        ]
        if mode != "backward":
            return lambda: operation(torch, *tensors)
        leaves = [tensor for tensor in tensors if tensor.requires_grad]
        start = torch.tensor(np.ones(tuple(operation(torch, *tensors).shape), dtype=np.float32))

        def step() -> Any:
            for leaf in leaves:
                leaf.grad = None
            result = operation(torch, *tensors)
            result.backward(start)
            return result, *[leaf.grad for leaf in leaves]

        return step

    return program


def functional_single(operation: Callable[..., Any], inputs: tuple[np.ndarray, ...]) -> Callable[[Any], Step]:
    """Forward and backward of one operation for libraries that differentiate functions: the gradients of its sum."""

    def program(lib: Any) -> Step:
        arrays = [lib.array(values) for values in inputs]
        both = lib.compiled(
            lambda *a: (
                operation(lib.np, *a),
                lib.grad(lambda *b: lib.np.sum(operation(lib.np, *b)), tuple(range(len(a))))(*a),
            )
        )

        def step() -> Any:
            value, grads = both(*arrays)
            return value, *grads

        return step

    return program


# --- the same few, at all sizes -------------------------------------------------------------------

PAIR, ONE = 2, 1
EVERYWHERE: dict[str, tuple[Callable[..., Any], Callable[..., Any], int]] = {
    "mul": (lambda torch, x, y: x * y, lambda np, x, y: x * y, PAIR),
    "tanh": (lambda torch, x: torch.tanh(x), lambda np, x: np.tanh(x), ONE),
    "sum": (lambda torch, x: x.sum(), lambda np, x: np.sum(x), ONE),
    "matmul": (lambda torch, x, y: x @ y, lambda np, x, y: np.matmul(x, y), PAIR),
}

for _name, (_operation, _functional, _count) in EVERYWHERE.items():
    for _side in (1, 10, 100, 1000):
        if _name == "matmul" and _side == 1000:
            _side = 400  # a thousand takes a second
        _kind = SMALL if _side <= 10 else LARGE
        _inputs = tuple(numbers(_side, _side, seed=seed) for seed in range(_count))
        for _mode in ("no grad", "recorded", "backward") if _side == 10 else ("no grad", "backward"):
            _title = f"{_name} {_side}x{_side}, {_mode}"
            _added = WORKLOADS[_title] = Workload(_title, _kind, single(_operation, _inputs, _mode))
            if _mode == "backward" and _side in (10, 400, 1000):
                _added.functional = functional_single(_functional, _inputs)

# --- others, small: each a way through the library of its own -------------------------------------

_x, _y, _row, _number = numbers(10, 10), numbers(10, 10, seed=1), numbers(10, seed=2), numbers(seed=3)
_places = np.array([[0, 3, 3, 9]] * 10)

OTHERS: dict[str, tuple[Callable[..., Any], tuple[np.ndarray, ...]]] = {
    "x * 2.5 + 1": (lambda torch, x: x * 2.5 + 1, (_x,)),
    "1 / (1 + x * x)": (lambda torch, x: 1 / (1 + x * x), (_x,)),
    "x ** 2": (lambda torch, x: x**2, (_x,)),
    "0-d a * b + a": (lambda torch, a, b: a * b + a, (_number, numbers(seed=4))),
    "x + row": (lambda torch, x, row: x + row, (_x, _row)),
    "x * number": (lambda torch, x, number: x * number, (_x, _number)),
    "mean": (lambda torch, x: x.mean(), (_x,)),
    "sum over a dim": (lambda torch, x: x.sum(1), (_x,)),
    "max over a dim": (lambda torch, x: x.max(1).values, (_x,)),
    "softmax": (lambda torch, x: torch.softmax(x, 1), (_x,)),
    "x[3]": (lambda torch, x: x[3], (_x,)),
    "x[2:8, 1]": (lambda torch, x: x[2:8, 1], (_x,)),
    "x[index]": (lambda torch, x, index: x[index], (_x, np.array([0, 3, 3, 9]))),
    "gather": (lambda torch, x, index: x.gather(1, index), (_x, _places)),
    "reshape and t": (lambda torch, x: x.reshape(4, 25).t(), (_x,)),
    "expand": (lambda torch, row: row.expand(10, 10), (_row,)),
    "cat": (lambda torch, x, y: torch.cat([x, y], 1), (_x, _y)),
    "stack": (lambda torch, x, y: torch.stack([x, y]), (_x, _y)),
    "where": (lambda torch, x, y: torch.where(x > 0, x, y), (_x, _y)),
    "clamp": (lambda torch, x: x.clamp(-1, 1), (_x,)),
    "relu": (lambda torch, x: torch.relu(x), (_x,)),
    "linear": (lambda torch, x, w, row: torch.nn.functional.linear(x, w, row), (_x, _y, _row)),
    "einsum": (lambda torch, x, y: torch.einsum("ij,kj->ik", x, y), (_x, _y)),
    "cumsum": (lambda torch, x: x.cumsum(1), (_x,)),
    "norm": (lambda torch, x: x.norm(), (_x,)),
    "logsumexp": (lambda torch, x: x.logsumexp(1), (_x,)),
}

for _name, (_operation, _inputs) in OTHERS.items():
    _title = f"{_name}, backward"
    WORKLOADS[_title] = Workload(_title, SMALL, single(_operation, _inputs, "backward"))
