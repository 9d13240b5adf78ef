"""Calls whose arguments have wrong shapes, sizes or kinds: made from the samples of every op, they compute or are refused
in words, and never end as an error from inside of the library.
"""

from __future__ import annotations

import itertools
import random
import re
import warnings
import zlib
from typing import Any

import numpy as np
import pytest

import dualtape as dt
from op_cases import DEEP, arrays, converted, leaves, rows
from same_program import needs_torch, programs, same

CALLS = 60 if DEEP else 14  # of each op
SHAPES = [
    (),
    (0,),
    (1,),
    (2,),
    (3,),
    (5,),
    (2, 0),
    (0, 3),
    (2, 3),
    (3, 2),
    (3, 3),
    (1, 4),
    (2, 3, 4),
    (4, 1, 2),
    (0, 2, 2),
    (1, 1, 2, 2),
    (2, 3, 4, 5),
    (1, 2, 3, 4, 5),
    (2, 1, 1, 1, 1, 1),
]
INTEGERS = [0, 1, -1, 2, 3, -2, 7, -7, 100, -100]
RAW = re.compile(
    r"^(tuple|list) index|^index -?\d+ is out of bounds for axis|^axis|^too many indices for array|^invalid index"
    "|^boolean index|^only integers"
)  # what NumPy and Python say of their own arguments


def changed(value: Any, draw: random.Random) -> Any:
    """Another argument in the place of ``value``: of another shape or size, or of another kind."""
    if isinstance(value, np.ndarray):
        shape = draw.choice(SHAPES)
        if draw.random() < 0.5 and value.ndim:
            sizes, k = list(value.shape), draw.randrange(value.ndim)
            sizes[k : k + draw.randrange(2)] = draw.choice([[], [0], [1], [2], [value.shape[k] + 1]])
            shape = tuple(sizes)
        other = np.resize(value if value.size else np.zeros(1, value.dtype), shape).astype(value.dtype)
        if value.dtype.kind in "iu" and draw.random() < 0.3:
            other = np.asarray(other + draw.choice([5, -9, 100])).astype(value.dtype)
        return np.asarray(other)
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return draw.choice([*INTEGERS, 1.5, "a", None, (1,), True])
    if isinstance(value, float):
        return draw.choice([0.0, -1.0, float("nan"), float("inf"), "a", None, 3, 2j])
    if type(value) in (list, tuple):
        k = draw.randrange(len(value) + 1)
        parts = [draw.choice(INTEGERS)] if k == len(value) else draw.choice([[], [changed(value[k], draw)]])
        return type(value)([*value[:k], *parts, *value[k + 1 :]])
    return draw.choice(["bogus", "", 3, -1, None, (0, 1)])


def wrong_calls(row: Any) -> Any:
    """Arguments of an op, made from its samples with one or two of them changed; and whether they require grad."""
    draw = random.Random(zlib.crc32(row.name.encode()))
    for _ in range(CALLS):
        sample = draw.choice(row.samples)
        args, kwargs, _ = arrays(sample, "complex64" if row.complex == "only" else draw.choice(["f4", "f8"]))
        values: dict[Any, Any] = {**dict(enumerate(args)), **kwargs}
        for _ in range(draw.choice([1, 1, 2])):
            if values:
                key = draw.choice(list(values))
                values[key] = changed(values[key], draw)
        yield [values.pop(k) for k in range(len(args))], values, draw.random() < 0.5


def is_worded(error: Exception) -> bool:
    """Whether an error is one that the library words: of a class of PyTorch's, and not what Python or NumPy says."""
    if isinstance(error, (IndexError, AssertionError)):  # as PyTorch, of some indices and of modules' arguments
        return type(error) is not np.exceptions.AxisError and " " in str(error) and not RAW.search(str(error))
    known = type(error).__module__.partition(".")[0] in ("builtins", "dualtape")
    if isinstance(error, np.linalg.LinAlgError):
        return True
    return known and isinstance(error, (RuntimeError, TypeError, ValueError))


ROWS = [row for row in rows() if row.samples and getattr(row, "torch_name", "") != "-"]


@pytest.mark.parametrize("row", ROWS, ids=[row.name for row in ROWS])
def test_wrong_arguments_are_computed_with_or_refused_in_words(row: Any) -> None:
    for args, kwargs, differentiated in wrong_calls(row):

        def tensor(array: Any, differentiated: bool = differentiated) -> Any:
            made = dt.from_numpy(np.array(array))
            return made.requires_grad_() if differentiated and made.dtype.is_floating_point else made

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                found = row.function(
                    *[converted(a, tensor) for a in args], **{k: converted(v, tensor) for k, v in kwargs.items()}
                )
            except Exception as error:
                assert is_worded(error), f"{type(error).__name__}: {error} for {args}, {kwargs}"
            else:
                for result in [r for r in leaves(found) if isinstance(r, dt.Tensor) and r.requires_grad][:1]:
                    try:
                        result.backward(dt.ones_like(result))
                    except Exception as error:  # whoever has no derivative says so
                        known = isinstance(error, (RuntimeError, np.linalg.LinAlgError))
                        assert known, f"{type(error).__name__}: {error} for {args}, {kwargs}"


PYTORCHS = programs(
    """
    torch.linalg.cond(torch.ones(2, 3, 0)), torch.linalg.cond(torch.ones(0, 3)), torch.linalg.cond(torch.ones(2, 0, 0), -2)
    torch.softmax(torch.ones(2, 2), True)
    torch.log_softmax(torch.ones(2, 2), True)
    torch.ones(3, 3).select(1, True)
    torch.ones(3, 3).select(0, True)
    torch.ones(3, 3).select(1, 1.5)
    torch.cummax(torch.ones(0, 3), 1.5)
    torch.nn.functional.fractional_max_pool2d(torch.ones(2, 2, 5, 6), 3, (2, 3), _random_samples=torch.ones(2, 2, 3))
    torch.nn.functional.fractional_max_pool2d(torch.ones(2, 2, 5, 6), 3, (2, 3), _random_samples=torch.ones(1, 2, 2))
    torch.nn.functional.fractional_max_pool2d(torch.ones(2, 2, 5, 6), 3, (2, 3), _random_samples=torch.rand(3, 2, 2)).shape
    torch.nn.functional.conv_transpose1d(torch.ones(2, 3, 4), torch.ones(3, 2, 3), torch.ones(1, 2))
    torch.rnn_relu(torch.ones(3, 2, 4), torch.ones(1, 1, 3), [torch.ones(3, 4), torch.ones(3, 3)], False, 1, 0.0, False, False, True)
    torch.nn.functional.conv2d(torch.ones(1, 2, 5, 5), torch.ones(0, 2, 3, 3))
    x = torch.ones(1, 2, 4, 5, 3, requires_grad=True); y = torch.nn.functional.adaptive_max_pool3d(x, (2, 0, 2)); y
    w = torch.ones(2, 0, requires_grad=True); y = torch.nn.functional.embedding(torch.tensor([0, 1]), w); y.sum().backward(); y, w.grad
    """
)


def _stays_inside(pivots: tuple[int, ...], n: int) -> bool:
    """Whether LAPACK, which goes over the pivots from the first to the last and back, stays inside of n rows."""
    for order in (pivots, pivots[::-1]):
        k = 0
        while k < n:
            if order[k] < 0 and not (k + 1 < n and order[k + 1] < 0):
                return False
            k += 1 if order[k] > 0 else 2
    return all(1 <= abs(p) <= n for p in pivots)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_pivots_that_lead_outside_of_the_matrix_are_refused(n: int) -> None:
    for pivots in itertools.product(range(-n - 1, n + 2), repeat=n):
        try:
            dt.linalg.ldl_solve(dt.eye(n), dt.tensor(pivots, dtype=dt.int32), dt.ones(n, 2))
        except RuntimeError as error:
            assert "pivots must be" in str(error)
            assert not _stays_inside(pivots, n)
        else:
            assert _stays_inside(pivots, n)


@pytest.mark.parametrize("program", PYTORCHS)
@needs_torch
def test_what_was_refused_or_accepted_without_need_is_as_in_pytorch(program: str) -> None:
    same(program)
