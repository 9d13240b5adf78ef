"""Random programs over tensors of all dtypes and in all layouts, with writes to their inputs, compiled and not.

A deep run: ``DUALTAPE_EXAMPLES=20000 python -m pytest tests/compiler/test_compile_mixed_programs.py``.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dualtape as dt

COUNT = int(os.environ.get("DUALTAPE_EXAMPLES", "60"))
BACKENDS = ["numpy", "native"] if importlib.util.find_spec("llvmlite") else ["numpy"]
FLOATS = [dt.float64, dt.float32, dt.float16, dt.bfloat16]
DTYPES = [*FLOATS, dt.complex128, dt.complex64, dt.int64, dt.int32, dt.int16, dt.int8, dt.uint8, dt.bool]
SHAPES = [(3, 4), (4,), (1,), (), (2, 3, 4), (1, 4), (3, 1), (0, 4), (6, 4)]
TOLERANCES = {dt.float64: 1e-9, dt.complex128: 1e-9, dt.float32: 1e-3, dt.complex64: 1e-3}


def values(rng: np.random.Generator, shape: tuple, dtype: Any) -> np.ndarray:
    """Return random values that a dtype holds, as NumPy's array of a dtype that holds them, too."""
    if dtype is dt.bool:
        return rng.integers(0, 2, shape).astype(bool)
    if not dtype.is_floating_point and not dtype.is_complex:
        return rng.integers(0 if dtype is dt.uint8 else -6, 7, shape)
    real = rng.integers(-12, 13, shape) / 8  # which all floating-point dtypes hold
    return real + 1j * rng.integers(-12, 13, shape) / 8 if dtype.is_complex else real


def in_layout(kind: int, array: np.ndarray, dtype: Any) -> dt.Tensor:
    """Return a tensor with the values of an array, in one of the layouts of memory."""
    whole = dt.tensor(array, dtype=dtype)
    if kind == 1 and array.ndim > 1:
        return dt.tensor(array.T.copy(), dtype=dtype).T if array.ndim == 2 else whole.mT.contiguous().mT
    if kind == 2 and array.ndim:  # every other element of something larger
        larger = dt.zeros(*array.shape[:-1], 2 * array.shape[-1], dtype=dtype)
        larger[..., ::2] = whole
        return larger[..., ::2]
    if kind == 3 and array.ndim:  # not from the beginning
        larger = dt.zeros(array.shape[0] + 2, *array.shape[1:], dtype=dtype)
        larger[1:-1] = whole
        return larger[1:-1]
    if kind == 4 and array.ndim and array.shape[0] > 1:  # one row, over and over
        return whole[:1].expand(*array.shape)
    return whole


class Writer:
    """A program: steps over a pool of tensors, each of which has run once without an error."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.shapes = [SHAPES[k] for k in self.rng.integers(0, len(SHAPES), 3)]
        main = DTYPES[int(self.rng.integers(0, len(DTYPES)))]
        self.dtypes = [main, DTYPES[int(self.rng.integers(0, len(DTYPES)))], main]
        self.layouts = [int(k) for k in self.rng.integers(0, 5, 3)]
        self.steps: list[Callable[[list], Any]] = []
        pool = list(self.inputs(seed))
        with dt.no_grad():
            for _ in range(int(self.rng.integers(4, 16))):
                step = self.step()
                try:
                    made = step(pool)
                except (RuntimeError, IndexError, TypeError, ValueError, ZeroDivisionError):
                    continue
                if made.numel() <= 400:
                    self.steps.append(step)
                    pool.append(made)
        self.tolerance = max(TOLERANCES.get(x.dtype, 3e-2 if x.is_floating_point() else 0) for x in pool)

    def inputs(self, seed: int) -> list[dt.Tensor]:
        """Return tensors to begin with; those whose dtype allows it require grad, the first one does not."""
        rng = np.random.default_rng(seed)
        made = []
        for k, (shape, dtype, layout) in enumerate(zip(self.shapes, self.dtypes, self.layouts, strict=True)):
            tensor = in_layout(layout, values(rng, shape, dtype), dtype)
            may = k and (dtype.is_floating_point or dtype.is_complex)
            made.append(tensor.detach().requires_grad_() if may else tensor)
        return made

    def step(self) -> Callable[[list], Any]:
        a, b, c = (int(k) for k in self.rng.integers(0, 1000, 3))
        kind = int(self.rng.integers(0, len(STEPS)))
        number = [2, -1, 0.5, 3, 1.5][c % 5]
        return lambda pool: STEPS[kind](pool[a % len(pool)], pool[b % len(pool)], number, c)

    def program(self, *given: Any) -> Any:
        pool = list(given)
        for step in self.steps:
            pool.append(step(pool))
        last = pool[-4:]
        loss = sum((x.abs() * 0.125).sum().double() for x in last if x.requires_grad)
        return last, loss


def _written(x: Any, y: Any, number: Any, c: int) -> Any:
    z = x.clone()
    z.mul_(number)
    if z.ndim:
        z[c % z.shape[0]] += 1
    return z


def _first_written(x: Any, y: Any, number: Any, c: int) -> Any:
    """Write to what need not be a copy, unless its history forbids that."""
    z = x if not x.requires_grad else x * 1
    z.add_(1)
    return z * 1


def _filled(x: Any, y: Any, number: Any, c: int) -> Any:
    z = dt.zeros(2, *x.shape, dtype=x.dtype)
    z[0] = x
    z[1] = z[0]
    return z


STEPS: list[Callable[[Any, Any, Any, int], Any]] = [
    lambda x, y, number, c: x + y,
    lambda x, y, number, c: x * y,
    lambda x, y, number, c: x - y * number,
    lambda x, y, number, c: x / (y * y + 1),
    lambda x, y, number, c: x // (abs(number) + 1) if not x.is_floating_point() else x + number,
    lambda x, y, number, c: x * number,
    lambda x, y, number, c: number - x,
    lambda x, y, number, c: x**2,
    lambda x, y, number, c: -x,
    lambda x, y, number, c: x.abs(),
    lambda x, y, number, c: x.sin(),
    lambda x, y, number, c: x.tanh(),
    lambda x, y, number, c: (x * 0.25).exp(),
    lambda x, y, number, c: x.sum(),
    lambda x, y, number, c: x.sum(c % x.ndim, keepdim=bool(c % 2)),
    lambda x, y, number, c: x.mean(-1),
    lambda x, y, number, c: x.amax(0),
    lambda x, y, number, c: x.prod(-1),
    lambda x, y, number, c: x.T,
    lambda x, y, number, c: x.reshape(-1),
    lambda x, y, number, c: x.contiguous(),
    lambda x, y, number, c: x[c % x.shape[0]],
    lambda x, y, number, c: x[..., ::2],
    lambda x, y, number, c: x.flip(-1),
    lambda x, y, number, c: x.expand(2, *x.shape),
    lambda x, y, number, c: x.clone(memory_format=dt.preserve_format),
    lambda x, y, number, c: dt.where(x > y, x, y),
    lambda x, y, number, c: dt.where(x == y, x, number),
    lambda x, y, number, c: dt.maximum(x, y),
    lambda x, y, number, c: x.clamp(min=-1),
    lambda x, y, number, c: dt.cat([x, x]),
    lambda x, y, number, c: dt.cat([x, y]),
    lambda x, y, number, c: dt.stack([x, y]),
    lambda x, y, number, c: x @ y,
    lambda x, y, number, c: x @ x.mT,
    lambda x, y, number, c: x > 0,
    lambda x, y, number, c: x == y,
    lambda x, y, number, c: ~(x > 0),
    lambda x, y, number, c: x & 3,
    lambda x, y, number, c: (x != 0) | (y != 0),
    lambda x, y, number, c: x.to(dt.float32),
    lambda x, y, number, c: x.to(dt.float64),
    lambda x, y, number, c: x.half() if not x.is_complex() else x,
    lambda x, y, number, c: (x > 0).to(y.dtype),
    lambda x, y, number, c: x.cumsum(-1),
    lambda x, y, number, c: x[[0, -1]],
    lambda x, y, number, c: x[x[..., 0] == x[..., 0]],
    lambda x, y, number, c: x.masked_fill(x > 1, 1),
    lambda x, y, number, c: x.real if x.is_complex() else dt.complex(x, x),
    lambda x, y, number, c: x.conj() * y,
    lambda x, y, number, c: dt.view_as_real(x) if x.is_complex() else x.sign(),
    lambda x, y, number, c: x.roll(1, -1),
    lambda x, y, number, c: x.unsqueeze(c % 2),
    lambda x, y, number, c: x.squeeze(),
    lambda x, y, number, c: x.softmax(-1),
    lambda x, y, number, c: x.nan_to_num(),
    _written,
    _first_written,
    _filled,
]


def compare(outcomes: list[list], seed: int, results: int, tolerance: float) -> None:
    """Compare two rows of tensors: their dtypes, history and values; of the first few, the results, their strides."""
    assert len(outcomes[0]) == len(outcomes[1]), f"program {seed}"
    for k, (theirs, ours) in enumerate(zip(*outcomes, strict=True)):
        there = theirs.dtype, theirs.shape, theirs.requires_grad, theirs.is_leaf, theirs.is_conj()
        assert (ours.dtype, ours.shape, ours.requires_grad, ours.is_leaf, ours.is_conj()) == there, f"program {seed}"
        if ours.numel() and k < results:
            strides = [[s for s, n in zip(x.stride(), x.shape, strict=True) if n > 1] for x in (ours, theirs)]
            assert strides[0] == strides[1], f"program {seed}"
        right, mine = (x.detach().resolve_conj() for x in (theirs, ours))
        if right.dtype in (dt.float16, dt.bfloat16):
            right, mine = right.float(), mine.float()
        here, there = mine.numpy(), right.numpy()
        exact = here.dtype.kind in "biu"
        size = 1 if exact else max(1.0, float(np.abs(there[np.isfinite(there)]).max(initial=0)))
        near = 0 if exact else tolerance
        np.testing.assert_allclose(here, there, near, near * size, err_msg=f"program {seed}")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("part", range(4))
def test_a_program_of_all_dtypes_and_layouts_compiled_does_what_it_does(part: int, backend: str) -> None:
    programs = 0
    for seed in range(part, COUNT, 4):
        writer = Writer(seed)
        compiled = dt.compile(writer.program, backend=backend, recompile_limit=20)
        for other in range(3):
            outcomes: list[list] = []
            for function in (writer.program, compiled):
                given = writer.inputs(100 * seed + other)
                results, loss = function(*given)
                row = [*results, *given]
                if isinstance(loss, dt.Tensor):
                    wanted = [x for x in given if x.requires_grad]
                    try:
                        row += [g for g in dt.autograd.grad(loss, wanted, allow_unused=True) if g is not None]
                    except RuntimeError as error:  # of a saved tensor that a later step has written to
                        assert "modified by an inplace operation" in str(error)
                row.append(dt.tensor([x._version for x in given]))
                row.append(dt.tensor([[np.shares_memory(a._array, b._array) for a in row[:-1]] for b in results]))
                outcomes.append(row)
            compare(outcomes, seed, len(results), writer.tolerance)
        programs += bool(compiled._specializations)
    assert programs >= len(range(part, COUNT, 4)) // 2  # the others run as they are
