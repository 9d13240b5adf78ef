"""Replays that end early, since a value or a shape is another one, and what they may leave behind: nothing."""

from __future__ import annotations

import contextlib
import importlib.util
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dualtape as dt

BACKENDS = ["numpy", "native"] if importlib.util.find_spec("llvmlite") else ["numpy"]


def indexed(x: Any) -> None:
    x[x.shape[0] // 2] = 7


def through_two_views(x: Any) -> None:
    x[::2].mul_(2)
    x[1:].add_(1)


def counted_alone(x: Any) -> None:
    if x.ndim == 2:
        x.t_().t_()


WRITES: dict[str, Callable[[Any], Any]] = {
    "all": lambda x: x.mul_(2),
    "every other element": lambda x: x[::2].mul_(2),
    "a row": lambda x: x[0].add_(1),
    "a part": lambda x: x.chunk(2)[0].mul_(3),
    "flattened": lambda x: x.view(-1)[1:].add_(1),
    "transposed": lambda x: x.mT.mul_(2),
    "no elements": lambda x: x[1:1].mul_(2),
    "diagonal": lambda x: x.reshape(3, 4).diagonal().add_(1),
    "copied into": lambda x: x[:1].copy_(x[-1:] * 2),
    "an index": indexed,
    "two views": through_two_views,
    "a count": counted_alone,
    "out=": lambda x: dt.mul(x, 2, out=x),
}
ENDS: dict[str, Callable[[Any, Any], Any]] = {
    "a number": lambda x, p: int(p[1]) + p,
    "a comparison": lambda x, p: p * 2 if p.sum() > 3 else p + 1,
    "what was written": lambda x, p: p * float(x.sum()),
    "a shape": lambda x, p: dt.zeros(p[p > 1].shape[0]),
    "an index that is out of range": lambda x, p: dt.arange(4.0)[p],
    "a power": lambda x, p: dt.tensor([2, 3, 4]) ** (p - 2 if int(p.sum()) > -100 else p),
}


def outcome(function: Callable, x: dt.Tensor, p: dt.Tensor) -> tuple:
    try:
        found: Any = function(x, p).tolist()
    except (RuntimeError, IndexError) as error:
        found = type(error)
    return found, x.tolist(), x._version


@pytest.mark.filterwarnings("ignore:compile")
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("write", WRITES)
def test_what_a_run_that_ends_early_has_written_is_written_once(write: str, end: str, backend: str) -> None:
    def function(x: Any, p: Any) -> Any:
        WRITES[write](x)
        return ENDS[end](x, p)

    shape = (3, 4) if write in ("transposed", "a count") else (12,)
    compiled = dt.compile(function, backend=backend)
    for numbers in ([1, 2, 3], [2, 2, 3], [0, 3, 0], [1, 2, 3], [3, 5, 2], [0, 3, 0]):
        outcomes = []
        for f in (function, compiled):
            x = dt.arange(12.0).reshape(shape) + sum(numbers)
            outcomes.append(outcome(f, x, dt.tensor(numbers)))
        assert outcomes[0] == outcomes[1]


@pytest.mark.filterwarnings("ignore:compile")
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_trace_that_ends_by_an_error_has_counted_writes_once(backend: str) -> None:
    def function(x: Any, s: float) -> Any:
        x[1:].t_()
        return dt.ones(3)[5 if s > 4 else 1] * s

    compiled = dt.compile(function, backend=backend)
    for s in (1.0, 2.0, 5.0, 7.0):
        x, y = dt.ones(3, 4), dt.ones(3, 4)
        for f, given in ((function, x), (compiled, y)):
            with contextlib.suppress(IndexError):
                f(given, s)
        assert x._version == y._version == 1


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dtype", ["bool", "float32", "int8", "complex64"])
def test_the_shape_of_what_a_mask_chooses_is_checked_though_nothing_reads_it(dtype: str, backend: str) -> None:
    function = lambda x: dt.linspace(0, 1, x[x != 0].shape[-1])
    compiled = dt.compile(function, backend=backend)
    for k in range(4):
        x = dt.tensor(np.random.default_rng(k).integers(0, 2, 24), dtype=getattr(dt, dtype))
        assert compiled(x).shape == function(x).shape


MADE: dict[str, Callable[[Any], Any]] = {
    "zeros_like": lambda x: dt.zeros_like(x).fill_(1.5),
    "full_like": lambda x: dt.full_like(x, 1.5).add_(0),
    "zeros": lambda x: dt.zeros(x.shape).fill_(1.5),
    "computed": lambda x: (x * 0).fill_(1.5),
}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("view", ["T", "whole", "part"])
@pytest.mark.parametrize("made", MADE)
def test_memory_that_a_view_looks_at_is_not_written_over(made: str, view: str, backend: str) -> None:
    def function(x: Any, returned: bool) -> Any:
        whole = MADE[made](x)
        seen = whole.T if view == "T" else whole[:] if view == "whole" else whole[5:]
        twice = seen * 2
        return (seen, twice) if returned else (whole * 3, twice)

    for returned in (True, False):
        compiled = dt.compile(function, backend=backend)
        for k in range(3):
            x = dt.full((20, 20), float(k))
            for ours, right in zip(compiled(x, returned), function(x, returned), strict=True):
                assert ours.tolist() == right.tolist()


@pytest.mark.filterwarnings("ignore:compile")
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("view", [lambda z: z[1:], lambda z: z[:, ::2], lambda z: z.T])
def test_a_write_through_another_view_gives_an_argument_its_history_at_each_call(view: Callable, backend: str) -> None:
    def function(x: Any, y: Any) -> Any:
        x[None].mul_(y)
        return y * 2

    compiled = dt.compile(function, backend=backend)
    for _ in range(3):
        x, y = view(dt.ones(4, 4)), dt.ones((), requires_grad=True)
        compiled(x, y)
        assert x.requires_grad and not x.is_leaf


# --- what results are ---------------------------------------------------------------------------------

TWICE: dict[str, Callable[[Any], Any]] = {
    "new": lambda x: x * 2,
    "a part of something new": lambda x: (x * 2)[0],
    "a view of an argument": lambda x: x.view(-1),
    "a part of one": lambda x: x.chunk(2, -1)[1],
    "an argument": lambda x: x,
    "detached": lambda x: x.detach(),
}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", TWICE)
def test_a_tensor_that_is_returned_twice_is_one_tensor(name: str, backend: str) -> None:
    def function(x: Any) -> Any:
        made = TWICE[name](x)
        return made, [x + 1, made], {"again": made}

    compiled = dt.compile(function, backend=backend)
    for _ in range(3):
        first, (_, second), words = compiled(dt.ones(2, 4))
        assert first is second is words["again"]
    assert compiled._specializations


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dtype", ["bool", "uint8", "int8", "int64", "float16", "float32", "complex64"])
@pytest.mark.parametrize("name", ["all", "any", "sum", "prod", "count_nonzero", "nansum", "mean", "amax", "norm"])
def test_reductions_of_nothing_to_reduce_have_the_dtype_of_reductions(name: str, dtype: str, backend: str) -> None:
    for value, dims in itertools.product((0, 1), ((), (0,), (-1,), ((),))):
        x = dt.tensor(value, dtype=getattr(dt, dtype))
        function = lambda x: getattr(dt, name)(x, *dims)  # noqa: B023
        try:
            right = function(x)
        except (RuntimeError, NotImplementedError, TypeError, IndexError):
            continue
        ours = dt.compile(function, backend=backend)(x)
        assert ours.dtype is right.dtype and ours.tolist() == right.tolist()


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_output_that_is_resized_is_so_at_each_call(backend: str) -> None:
    def function(x: Any) -> Any:
        part = x.chunk(2)[0].contiguous()
        dt.sum(x, out=part)
        return part

    compiled = dt.compile(function, backend=backend)
    for _ in range(3):
        with pytest.warns(UserWarning):
            assert compiled(dt.ones(2)).shape == ()


@pytest.mark.filterwarnings("ignore:compile")
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "complex64"])
def test_as_strided_counts_from_the_beginning_of_the_memory(dtype: str, backend: str) -> None:
    functions: list[Callable] = [
        lambda x: (x * 1)[2:].as_strided((2,), (1,), 1),
        lambda x: (x * 1)[2:].as_strided((2,), (1,)),
        lambda x: x.reshape(3, 4)[1:, :2].as_strided((2,), (1,)),
        lambda x: x.reshape(3, 4).T[1:].as_strided((2, 2), (4, 1)),
        lambda x: x[1:].as_strided((3,), (2,)),
    ]
    right = [[1, 2], [2, 3], [4, 5], [[1, 2], [5, 6]], [1, 3, 5]]
    for function, expected in zip(functions, right, strict=True):
        x = dt.arange(12).to(getattr(dt, dtype))
        assert function(x).tolist() == expected
        compiled = dt.compile(function, backend=backend)
        for start in (0, 1, 0, 2):  # an argument that begins elsewhere in its memory
            own = dt.cat([dt.zeros(start, dtype=x.dtype), x])[start:]
            assert compiled(own).tolist() == function(own).tolist()


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("layout", [lambda z: z, lambda z: z.mT.contiguous().mT, lambda z: z.mT.expand(2, 3, 4, 2)])
def test_logarithms_of_complex_numbers_are_as_exact_and_lie_as_without_compile(layout: Callable, backend: str) -> None:
    x = layout(dt.full((3, 2, 4), 1e-20 + 1e-18j, dtype=dt.complex64))
    compiled = dt.compile(lambda x: x.log1p(), backend=backend)
    for _ in range(2):
        assert compiled(x).tolist() == x.log1p().tolist() and compiled(x).stride() == (x + 1).stride()
    assert x.log1p().stride() == (x + 1).stride()
    assert dt.vmap(dt.log1p)(x).tolist() == x.log1p().tolist() == x.tolist()


NUMBERS: list[Callable] = [
    lambda x, s: dt.tensor(s),
    lambda x, s: dt.tensor([s, s]),
    lambda x, s: dt.as_tensor(s),
    lambda x, s: dt.asarray(s),
    lambda x, s: x.new_tensor(s),
    lambda x, s: dt.tensor(s + 1) * x,
]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("number", range(len(NUMBERS)))
def test_tensors_of_numbers_that_change_have_the_dtype_of_numbers(number: int, backend: str) -> None:
    function = NUMBERS[number]
    compiled = dt.compile(function, backend=backend)
    for s in (1.5, -0.5, 2.25, 3.0):
        right, ours = function(dt.ones(2), s), compiled(dt.ones(2), s)
        assert ours.dtype is right.dtype and ours.tolist() == right.tolist()


IN_BFLOAT16: list[Callable] = [
    lambda x: dt.full_like(x, 1.5, dtype=dt.bfloat16),
    lambda x: dt.zeros_like(x, dtype=dt.bfloat16).add_(x),
    lambda x: dt.ones_like(x, dtype=dt.bfloat16) * x,
    lambda x: dt.empty_like(x, dtype=dt.bfloat16).fill_(2),
    lambda x: dt.zeros(3, dtype=dt.bfloat16) + x,
    lambda x: dt.tensor([1, 2, 3], dtype=dt.bfloat16) * x,
    lambda x: x.new_ones(3, dtype=dt.bfloat16) - x,
    lambda x: x.cumsum(0, dtype=dt.bfloat16),
    lambda x: x.sum(dtype=dt.bfloat16),
]


@pytest.mark.filterwarnings("ignore:compile")
@pytest.mark.parametrize("number", range(len(IN_BFLOAT16)))
def test_bfloat16_inside_a_compiled_function_is_computed_as_without_compile(number: int) -> None:
    compiled = dt.compile(IN_BFLOAT16[number])
    for _ in range(2):
        x = dt.tensor([1.0, 2.5, 3.25])
        right, ours = IN_BFLOAT16[number](x), compiled(x)
        assert ours.dtype is right.dtype and ours.tolist() == right.tolist()
