"""What autograd offers beside derivatives: making tensors, views, in-place writes, custom functions, hooks, forward
mode, several threads.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from . import Step, numbers, workload


@workload("making small tensors")
def creation(torch: Any) -> Step:
    """Tensors of numbers, of lists, of shapes, and like one another; converted, and asked what they are."""
    like = torch.tensor(numbers(10, 10))

    def step() -> Any:
        result = [
            torch.tensor(1.5),
            torch.tensor([1.0, 2.0, 3.0]),
            torch.tensor([1, 2, 3]),
            torch.zeros(10),
            torch.ones(3, 3),
            torch.arange(5),
        ]
        result += [
            torch.zeros_like(like),
            torch.full((3,), 2.0),
            like.clone(),
            like.detach(),
            result[2].double(),
            like.reshape(-1),
        ]
        sizes = [t.shape[0] for t in result[1:] if t.dtype is torch.float32 and t.device.type == "cpu"]
        return *result, torch.tensor(sizes)

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


@workload("in-place arithmetic")
def in_place_chain(torch: Any) -> Step:
    """In-place arithmetic on a whole tensor, which records and saves."""
    start = torch.tensor(numbers(10, 10), requires_grad=True)
    other = torch.tensor(numbers(10, 10, seed=1), requires_grad=True)

    def step() -> Any:
        state = start * 1.0
        for _ in range(20):
            state.add_(other).mul_(0.5)
        return torch.autograd.grad(state.sum(), (start, other))

    return step


@workload("optimizer steps without grad")
def optimizer(torch: Any) -> Step:
    """Adam's arithmetic on four small parameters, in place, nothing recorded."""
    parameters = [torch.tensor(numbers(10, 10, seed=k)) for k in range(4)]
    grads = [torch.tensor(numbers(10, 10, seed=k + 4)) for k in range(4)]
    firsts, seconds = [p * 0 for p in parameters], [p * 0 for p in parameters]

    def step() -> Any:
        with torch.no_grad():
            for p, g, m, v in zip(parameters, grads, firsts, seconds, strict=True):
                m.mul_(0.9).add_(g, alpha=0.1)
                v.mul_(0.999).addcmul_(g, g, value=0.001)
                p.addcdiv_(m, v.sqrt().add_(1e-8), value=-1e-3)
        return tuple(parameters)

    return step


@workload("dual numbers in forward mode")
def duals(torch: Any) -> Step:
    """A level opened and closed, a dual tensor made, a few ops, its tangent taken out."""
    start, direction = torch.tensor(numbers(10)), torch.tensor(numbers(10, seed=1))
    forward_ad = torch.autograd.forward_ad

    def step() -> Any:
        with forward_ad.dual_level():
            x = forward_ad.make_dual(start, direction)
            y = (x.sin() * x + 1.0).exp() * x
            return tuple(forward_ad.unpack_dual(y))

    return step


@workload("custom Function, 20 in a chain")
def custom(torch: Any) -> Step:
    """A user's own derivative: forward and backward in Python."""

    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x * x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            return 3 * x * x * g

    start = torch.tensor(numbers(10, 10, scale=0.1), requires_grad=True)

    def step() -> Any:
        value = start
        for _ in range(20):
            value = torch.sin(Cube.apply(value)) + start
        return torch.autograd.grad(value.sum(), start)

    return step


@workload("hooks on 20 tensors")
def hooks(torch: Any) -> Step:
    """A hook on every second tensor of a chain, and one on the leaf."""
    start = torch.tensor(numbers(10, 10), requires_grad=True)

    def step() -> Any:
        handle = start.register_hook(lambda g: g * 0.5)
        value = start
        for _ in range(20):
            value = torch.tanh(value * 1.1)
            value.register_hook(lambda g: None)
        (gradient,) = torch.autograd.grad(value.sum(), start)
        handle.remove()
        return gradient

    return step


@workload("saved-tensor hooks on 20 tensors")
def saved_hooks(torch: Any) -> Step:
    """Every saved tensor goes through a pair of hooks."""
    start = torch.tensor(numbers(10, 10), requires_grad=True)

    def step() -> Any:
        with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
            value = start
            for _ in range(20):
                value = torch.tanh(value * 1.1)
        return torch.autograd.grad(value.sum(), start)

    return step


@workload("backward from 4 threads")
def threads(torch: Any) -> Step:
    """Four threads, each ten times forward and backward onto one leaf."""
    leaf = torch.tensor(numbers(10, 10), requires_grad=True)

    def work() -> None:
        for _ in range(10):
            (torch.tanh(leaf) * leaf).sum().backward()

    def step() -> Any:
        leaf.grad = None
        team = [threading.Thread(target=work) for _ in range(4)]
        for thread in team:
            thread.start()
        for thread in team:
            thread.join()
        return leaf.grad

    return step
