"""Random programs, compiled and not: views, writes, broadcasts, reductions, products, branches on values."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

import dualtape as dt

COUNT = int(os.environ.get("DUALTAPE_EXAMPLES", "60"))
BACKENDS = ["numpy", "native"] if importlib.util.find_spec("llvmlite") else ["numpy"]
SHAPES = [(3, 4), (4,), (1,), (), (2, 3, 4), (40, 5), (5,), (7, 1), (1, 6), (64,), (33, 3), (32, 32), (2, 64), (96, 1)]


@pytest.fixture(autouse=True)
def small_arrays_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loops work in place also where that would not pay."""
    if len(BACKENDS) > 1:
        from dualtape.compiler.native import memory

        monkeypatch.setattr(memory, "_IN_PLACE", 1)


class Writer:
    """Writes a program: steps over a pool of tensors, chosen by numbers, so that it can be run again."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.dtype = dt.float64 if seed % 3 else dt.float32
        self.shapes = [SHAPES[k] for k in self.rng.integers(0, len(SHAPES), 3)]
        self.steps = [self.step() for _ in range(int(self.rng.integers(4, 25)))]

    def step(self) -> Callable[[list], Any]:
        a, b, c = (int(k) for k in self.rng.integers(0, 1000, 3))
        kind = int(self.rng.integers(0, 31))
        number = float(self.rng.integers(-3, 4)) / 2

        def pick(pool: list, k: int) -> Any:
            return pool[k % len(pool)]

        def alike(pool: list, x: Any, k: int) -> Any:
            """Another tensor that broadcasts with ``x``."""
            fits = [y for y in pool if broadcasts(x.shape, y.shape)]
            return fits[k % len(fits)]

        def run(pool: list) -> Any:
            x = pick(pool, a)
            y = alike(pool, x, b)
            if kind < 4:
                return [x + y, x * y, x - y * number, x / (y * y + 1)][kind]
            if kind < 9:
                return [x.tanh(), x.sin(), (x * 0.3).exp(), x.abs().sqrt(), x.sigmoid()][kind - 4]
            if kind == 9:
                return x.sum() if not x.ndim else x.sum(b % x.ndim, keepdim=bool(c % 2))
            if kind == 10:
                return x.mean() if not x.ndim else x.amax(b % x.ndim)
            if kind == 11:
                return x.T if x.ndim == 2 else x.reshape(-1)
            if kind == 12:
                return x[b % x.shape[0]] if x.ndim else x * 2
            if kind == 13:
                return x[:: 1 + b % 2] if x.ndim else x + 1
            if kind == 14:
                return dt.where(x > y, x, y * number)
            if kind == 15:
                return dt.cat([x, x * number]) if x.ndim else dt.stack([x, x])
            if kind == 16:
                return x @ x.T if x.ndim == 2 else x * x
            if kind == 17:
                return dt.maximum(x, y) + dt.minimum(x, y.detach())
            if kind == 18:  # a write to a copy
                z = x.clone()
                z.mul_(number)
                if z.ndim:
                    z[b % z.shape[0]] += 1
                return z
            if kind == 19:  # a write through a view
                z = x * 1
                if z.ndim:
                    z[:: 1 + c % 3].add_(y.sum())
                return z.sin()
            if kind == 20:
                return x * 2 if x.sum() > y.mean() + 0.0137 else x - 1  # no tie that rounding decides
            if kind == 21:
                return x.flip(0) if x.ndim else -x
            if kind == 22:
                return (x > number + 0.0137).to(x.dtype) * y  # no tie that rounding decides
            if kind == 24:
                return x.cumsum(0) if x.ndim else x.cumsum(0).sin()
            if kind == 25:
                return x.sort(-1).values if x.ndim else x
            if kind == 26:
                return x.gather(-1, x.argsort(-1)[..., :2]) if x.ndim else x * y
            if kind == 27:
                return x.max(-1).values if x.ndim else x.unsqueeze(0)
            if kind == 28:
                return x[[0, -1, 0]] if x.ndim else x.expand(3)
            if kind == 29:
                return x.softmax(-1) if x.ndim else x.log1p() if x > 0 else x
            if kind == 30:
                return x.unbind(0)[b % x.shape[0]] if x.ndim else x.view(1)
            z = dt.zeros(2, *x.shape, dtype=x.dtype)
            z[0] = x
            z[1] = z[0] * 2
            return z.sum(0)

        return run

    def program(self, *inputs: Any) -> Any:
        pool = list(inputs)
        for step in self.steps:
            made = step(pool)
            if made.numel() <= 4000:
                pool.append(made)
        last = pool[-4:]
        return last, sum((x.tanh() * 0.1).sum() for x in last)


def broadcasts(a: tuple, b: tuple) -> bool:
    try:
        return np.broadcast_shapes(a, b) is not None
    except ValueError:
        return False


def inputs(writer: Writer, seed: int) -> list:
    rng = np.random.default_rng(seed)
    tensors = [dt.tensor(rng.standard_normal(shape), dtype=writer.dtype) for shape in writer.shapes]
    return [t.requires_grad_() if k else t for k, t in enumerate(tensors)]


def same(outcomes: list[list], writer: Writer, seed: int) -> None:
    tolerance = 1e-8 if writer.dtype == dt.float64 else 2e-3
    assert len(outcomes[0]) == len(outcomes[1])
    for theirs, ours in zip(*outcomes, strict=True):
        assert ours.dtype == theirs.dtype and ours.shape == theirs.shape
        assert ours.requires_grad == theirs.requires_grad and ours.is_leaf == theirs.is_leaf
        here, there = ours.detach().numpy(), theirs.detach().numpy()
        size = max(1.0, float(np.abs(there[np.isfinite(there)]).max(initial=0)))
        np.testing.assert_allclose(here, there, tolerance, tolerance * size, err_msg=f"program {seed}")


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("part", range(6))
def test_a_random_program_compiled_does_what_it_does(part: int, backend: str) -> None:
    for seed in range(part, COUNT, 6):
        writer = Writer(seed)
        compiled = dt.compile(writer.program, backend=backend, fullgraph=True, recompile_limit=40)
        for other in range(3):
            outcomes = []
            for function in (writer.program, compiled):
                given = inputs(writer, 100 * seed + other)
                results, loss = function(*given)
                same_objects = [[k for k, x in enumerate(given) if x is r] for r in results]
                grads = dt.autograd.grad(loss, given[1:], allow_unused=True) if loss.requires_grad else ()
                outcomes.append([*results, loss, *[g for g in grads if g is not None], *given])
                shared = [[np.shares_memory(a._array, b._array) for a in (*results, *given)] for b in results]
                outcomes[-1].append(dt.tensor([len(each) for each in same_objects]))
                outcomes[-1].append(dt.tensor(shared))
            same(outcomes, writer, seed)


@pytest.mark.skipif("native" not in BACKENDS, reason="llvmlite is not installed")
@pytest.mark.parametrize("part", range(3))
def test_what_is_computed_again_is_what_it_was(part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whole steps, forward and back, in which every cheap array is computed again where it is read, and all loops that
    can be run row by row are.
    """
    monkeypatch.setattr("dualtape.compiler.native.rematerialize._LARGE", 1)
    for name in ("_SHORT", "_MANY"):
        monkeypatch.setattr(f"dualtape.compiler.native.row_fusion.{name}", 2)
    for seed in range(part, COUNT, 3):
        writer = Writer(seed)

        def step(*given: Any, writer: Writer = writer) -> list:
            own = [(x * 1.25).requires_grad_() for x in given]
            results, loss = writer.program(*own)
            grads = dt.autograd.grad(loss, own, allow_unused=True) if loss.requires_grad else ()
            return [x.detach() * 0.75 for x in (loss, *results, *grads) if x is not None]

        compiled = dt.compile(step, backend="native", fullgraph=True, recompile_limit=40)
        for other in range(3):
            given = [x.detach() for x in inputs(writer, 100 * seed + other)]
            outcomes = [f(*[x.clone() for x in given]) for f in (step, compiled)]
            same(outcomes, writer, seed)


@pytest.mark.parametrize("part", range(3))
def test_the_backward_of_a_random_program_is_what_the_engine_gives(part: int) -> None:
    for seed in range(part, COUNT, 3):
        writer = Writer(seed)
        context = dt.compiler.compiled_autograd(fullgraph=True, backend=BACKENDS[seed % len(BACKENDS)])
        for other in range(3):
            outcomes = []
            for where in (nullcontext(), context):
                given = inputs(writer, 100 * seed + other)
                with where:
                    _, loss = writer.program(*given)
                    if loss.requires_grad:
                        loss.backward()
                outcomes.append([*[x.grad for x in given if x.grad is not None], *given])
            same(outcomes, writer, seed)
