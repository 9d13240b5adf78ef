"""Large arrays: passes over memory, reductions, sorting, factorisations, forward and backward."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from . import LARGE, WORKLOADS, Step, Workload, numbers, workload
from .operations import single

_table = numbers(1000, 1000)
_images = numbers(8, 16, 32, 32)

OPERATIONS: dict[str, tuple[Callable[..., Any], tuple[np.ndarray, ...]]] = {
    "x + row 1000x1000": (lambda torch, x, row: x + row, (_table, numbers(1000, seed=1))),
    "sum over rows 1000x1000": (lambda torch, x: x.sum(0), (_table,)),
    "sum over columns 1000x1000": (lambda torch, x: x.sum(1), (_table,)),
    "exp(x) * sin(x) 1000x1000": (lambda torch, x: torch.exp(x) * torch.sin(x), (_table,)),
    "softmax 10000x1000": (lambda torch, x: torch.softmax(x, 1), (numbers(10000, 1000),)),
    "log_softmax 1000x1000": (lambda torch, x: torch.log_softmax(x, 1), (_table,)),
    "layer_norm 1000x1000": (
        lambda torch, x, w, b: torch.nn.functional.layer_norm(x, (1000,), w, b),
        (_table, numbers(1000, seed=1), numbers(1000, seed=2)),
    ),
    "cumsum 1000x1000": (lambda torch, x: x.cumsum(1), (_table,)),
    "sort 1000x1000": (lambda torch, x: x.sort(1).values, (_table,)),
    "topk 10 of 1000x1000": (lambda torch, x: x.topk(10, 1).values, (_table,)),
    "max over columns 1000x1000": (lambda torch, x: x.max(1).values, (_table,)),
    "x[index] 1000x1000": (
        lambda torch, x, index: x[index],
        (_table, np.random.default_rng(0).integers(0, 1000, 2000)),
    ),
    "gather 1000x1000": (
        lambda torch, x, index: x.gather(1, index),
        (_table, np.random.default_rng(0).integers(0, 1000, (1000, 300))),
    ),
    "cat 1000x1000": (lambda torch, x, y: torch.cat([x, y], 1), (_table, numbers(1000, 1000, seed=1))),
    "transpose and copy 1000x1000": (lambda torch, x: x.t().contiguous(), (_table,)),
    "where 1000x1000": (lambda torch, x, y: torch.where(x > 0, x, y), (_table, numbers(1000, 1000, seed=1))),
    "conv2d 8x16x32x32": (
        lambda torch, x, k: torch.nn.functional.conv2d(x, k, padding=1),
        (_images, numbers(32, 16, 3, 3, seed=1, scale=0.1)),
    ),
    "max_pool2d 8x16x32x32": (lambda torch, x: torch.nn.functional.max_pool2d(x, 2), (_images,)),
    "avg_pool2d 8x16x32x32": (lambda torch, x: torch.nn.functional.avg_pool2d(x, 2), (_images,)),
}

for _name, (_operation, _inputs) in OPERATIONS.items():
    _title = f"{_name}, backward"
    WORKLOADS[_title] = Workload(_title, LARGE, single(_operation, _inputs, "backward"))


@workload("Cholesky likelihood, n = 500", LARGE)
def likelihood(torch: Any) -> Step:
    """The marginal likelihood of a Gaussian process, and its gradient with respect to three parameters."""
    places = np.linspace(0, 10, 500)
    distances = torch.tensor((places[:, None] - places) ** 2)
    values = torch.tensor(np.sin(places)[:, None])
    unit = torch.tensor(np.eye(500))
    logs = torch.tensor(np.array([0.1, -0.2, -1.0]), requires_grad=True)

    def step() -> Any:
        amplitude, length, noise = logs.exp()
        covariance = amplitude * torch.exp(-0.5 * distances / (length * length)) + noise * unit
        factor = torch.linalg.cholesky(covariance)
        solved = torch.linalg.solve_triangular(factor, values, upper=False)
        loss = 0.5 * (solved * solved).sum() + factor.diagonal().log().sum()
        return loss, *torch.autograd.grad(loss, logs)

    return step


@workload("chain of 20 ops on 1000000 numbers", LARGE)
def long_vectors(torch: Any) -> Step:
    """Elementwise work on vectors that do not fit into a cache: how often memory is passed over."""
    start = torch.tensor(numbers(1_000_000), requires_grad=True)
    factor = torch.tensor(numbers(1_000_000, seed=1))

    def step() -> Any:
        value = start
        for _ in range(10):
            value = value * factor + start
        return torch.autograd.grad(value.sum(), start)

    return step


@workload("sparse matrix (20000 x 20000, 5 a row) times 16 columns", LARGE, threaded=True)
def sparse_product(torch: Any) -> Step:
    """A product and its gradients: of the values, which have the pattern, and of the dense matrix."""
    n, each = 20_000, 5
    rng = np.random.default_rng(0)
    columns = torch.tensor((rng.integers(0, n // each, (n, each)) + np.arange(each) * (n // each)).reshape(-1))
    begins = torch.tensor(np.arange(n + 1) * each)
    values = torch.tensor(numbers(n * each, seed=1), requires_grad=True)
    dense = torch.tensor(numbers(n, 16, seed=2), requires_grad=True)

    def step() -> Any:
        values.grad = dense.grad = None
        matrix = torch.sparse_csr_tensor(begins, columns, values, (n, n))
        torch.sparse.mm(matrix, dense).pow(2).sum().backward()
        return values.grad, dense.grad

    return step
