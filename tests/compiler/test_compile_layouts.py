"""Compiled results lie in memory as eager ones do: strides, views, and what shares memory with an argument."""

from __future__ import annotations

import functools
import importlib.util
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dualtape as dt
from layouts import LAYOUTS
from op_cases import DEEP, arrays, cases, converted, first_samples, leaves

# Internal helpers whose operands a user cannot choose.
INTERNAL = {"copy", "spread", "scan", "index", "recurrence"}
# Ops whose formulas for NumPy's arrays write into an array in the layout of the argument, where the formulas that are
# traced make a new one: their gradients may be ordered otherwise when the argument is not C-contiguous.
GRADIENTS_OTHERWISE = {
    "conv_transpose2d",
    "cross_entropy",
    "gaussian_nll_loss",
    "layer_norm",
    "log_softmax",
    "lp_pool1d",
    "lp_pool2d",
    "lp_pool3d",
    "matrix_exp",
    "scatter_reduce",
    "segment_reduce",
    "sigmoid",
    "tanh",
    *INTERNAL,
}


CASES = [case for case in cases() if case[1].name not in INTERNAL and "out" not in case[2].kwargs]


def layout_of(result: Any, inputs: list[dt.Tensor]) -> Any:
    """What can be seen of how a result lies in memory."""
    if not isinstance(result, dt.Tensor) or not isinstance(result._array, np.ndarray):
        return type(result)
    strides = tuple(s for s, n in zip(result.stride(), result.shape, strict=True) if n > 1) if result.numel() else ()
    shared = [k for k, x in enumerate(inputs) if result.numel() and np.may_share_memory(x._array, result._array)]
    return tuple(result.shape), result.dtype, strides, result.is_contiguous(), result._is_view(), shared


def made(sample: Any, row: Any, layout: Callable) -> tuple[tuple, dict, list[dt.Tensor]]:
    """The arguments of a sample with arrays in a layout, and the tensors among them."""
    args, kwargs, _ = arrays(sample, "complex64" if row.complex == "only" else "float32")
    tensors: list[dt.Tensor] = []

    def tensor(array: np.ndarray) -> dt.Tensor:
        tensors.append(dt.from_numpy(layout(array)))
        return tensors[-1]

    return tuple(converted(a, tensor) for a in args), {k: converted(v, tensor) for k, v in kwargs.items()}, tensors


def outcome(function: Callable, sample: Any, row: Any, layout: Callable) -> Any:
    """The layouts and the values of what a call gives, or the class of the error that it raises."""
    dt.manual_seed(1)
    args, kwargs, tensors = made(sample, row, layout)
    try:
        results = leaves(function(*args, **kwargs))
    except Exception as error:
        return type(error), []
    values = [r.numpy().copy() for r in results if isinstance(r, dt.Tensor) and isinstance(r._array, np.ndarray)]
    return [layout_of(r, tensors) for r in results], values


def compare(row: Any, sample: Any, layout: Callable, backend: str) -> None:
    expected, values = outcome(row.function, sample, row, layout)
    compiled = dt.compile(functools.partial(row.function), backend=backend)
    for call in ("traced", "replayed"):
        found, results = outcome(compiled, sample, row, layout)
        assert found == expected, call
        for ours, theirs in zip(results, values, strict=True):
            np.testing.assert_allclose(ours, theirs, 1e-4, 1e-5)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("row", "sample"), [pytest.param(*case[1:], id=case[0]) for case in first_samples(CASES, 1)])
def test_results_lie_in_memory_as_eager_ones_do(row: Any, sample: Any) -> None:
    chosen = LAYOUTS if DEEP else LAYOUTS[1:4:2] if sample is row.samples[0] else LAYOUTS[2::2]
    for layout in chosen:
        compare(row, sample, layout, "numpy")


NATIVE = [case for k, case in enumerate(first_samples(CASES, 1)) if DEEP or k % 4 == 0]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("row", "sample"), [pytest.param(*case[1:], id=case[0]) for case in NATIVE])
def test_results_of_native_programs_lie_in_memory_as_eager_ones_do(row: Any, sample: Any) -> None:
    pytest.importorskip("llvmlite")
    for layout in LAYOUTS if DEEP else LAYOUTS[1:4:2]:
        compare(row, sample, layout, "native")


def gradients(row: Any, sample: Any, layout: Callable) -> tuple[Callable, list[dt.Tensor]]:
    """A function that gives the gradients of an op's arguments, and those arguments."""
    args, kwargs, differentiable = arrays(sample, "complex64" if row.complex == "only" else "float32")
    leaf_of = {id(a): dt.from_numpy(layout(a)).requires_grad_() for a in differentiable}

    def gradient(*inputs: dt.Tensor) -> tuple:
        named = dict(zip(leaf_of, inputs, strict=True))
        convert = lambda a: named[id(a)] if id(a) in named else dt.from_numpy(layout(a))
        results = leaves(
            row.function(
                *(converted(a, convert) for a in args), **{k: converted(v, convert) for k, v in kwargs.items()}
            )
        )
        floats = [r.abs().sum() for r in results if isinstance(r, dt.Tensor) and r.requires_grad]
        return dt.autograd.grad(floats, inputs, allow_unused=True) if floats else ()

    return gradient, list(leaf_of.values())


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("row", "sample"),
    [pytest.param(*c[1:], id=c[0]) for c in first_samples(CASES, 1) if c[1].name not in GRADIENTS_OTHERWISE],
)
def test_gradients_lie_in_memory_as_eager_ones_do(row: Any, sample: Any) -> None:
    for layout in LAYOUTS[1:4] if DEEP else LAYOUTS[1:2]:
        function, inputs = gradients(row, sample, layout)
        try:
            dt.manual_seed(1)
            expected = function(*inputs)
        except Exception:  # the op has no gradient for these arguments
            continue
        compiled = dt.compile(function, backend="numpy")
        for _ in range(2):
            dt.manual_seed(1)
            for ours, theirs in zip(compiled(*inputs), expected, strict=True):
                assert (
                    layout_of(ours, inputs)[:4] == layout_of(theirs, inputs)[:4] if theirs is not None else ours is None
                )
                if theirs is not None:
                    np.testing.assert_allclose(ours.detach().numpy(), theirs.detach().numpy(), 1e-3, 1e-4)


BACKENDS = ("numpy", "native") if importlib.util.find_spec("llvmlite") else ("numpy",)
TURNED = [[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]]


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_view_that_eager_refuses_is_refused(backend: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compiled = dt.compile(lambda y: (y.view(-1)[::3].mul_(2), y + 0)[1], backend=backend)
        for _ in range(3):
            turned = dt.tensor(TURNED).t()
            with pytest.raises(RuntimeError, match="view size"):
                compiled(turned)
            assert turned.tolist() == dt.tensor(TURNED).t().tolist()


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_write_to_a_flattened_result_reaches_what_it_reaches_in_eager(backend: str) -> None:
    def cleared(y: dt.Tensor) -> dt.Tensor:
        z = dt.stack([y, y]).sum(0)
        z.flatten().zero_()
        return z

    compiled = dt.compile(cleared, backend=backend)
    for _ in range(3):
        assert compiled(dt.tensor(TURNED).t()).tolist() == [[0.0] * 3] * 2


# --- detached parts -------------------------------------------------------------------------------

PARTS: dict[str, Callable] = {
    "overlapping": lambda v: v.unfold(0, 2, 1),
    "overlapping in steps": lambda v: v.unfold(0, 3, 2),
    "expanded": lambda v: v.expand(2, 7),
    "every other": lambda v: v[::2],
    "a diagonal": lambda v: v.expand(7, 7).diagonal(),
    "as_strided": lambda v: v.as_strided((3, 3), (1, 1), 2),
    "a part": lambda v: v[2:5],
    "reversed axes": lambda v: v[:6].unflatten(0, (2, 3)).mT,
}


@pytest.mark.parametrize("backend", ["numpy", "native"])
@pytest.mark.parametrize("part", PARTS)
def test_detached_parts_of_what_was_computed_keep_their_strides(part: str, backend: str) -> None:
    if backend == "native":
        pytest.importorskip("llvmlite")
    for detached in (dt.Tensor.detach, lambda t: t.data):

        def function(t: Any, detached: Callable = detached) -> tuple:
            return detached(PARTS[part](t * 2 + 1)), t + 1

        x = dt.arange(7.0)
        expected = function(x)[0]
        compiled = dt.compile(function, backend=backend, fullgraph=True)
        for _ in range(3):
            found = compiled(x)[0]
            assert found.stride() == expected.stride() and found._is_view() == expected._is_view()
            assert dt.equal(found, expected) and found._version == 0
            if part == "expanded":
                with pytest.raises(RuntimeError, match="single memory location"):
                    found.add_(1)


@pytest.mark.filterwarnings("ignore:compile")
def test_expanded_arrays_become_bfloat16_in_a_trace_that_is_given_up() -> None:
    def function(a: Any) -> Any:
        for _ in range(2):
            v = dt.ones(a.shape, dtype=dt.bfloat16) * a
        return v

    for dtype in (dt.int32, dt.bool, dt.uint8):
        a = dt.ones(3, 4, dtype=dtype).expand(2, 3, 4)
        assert dt.equal(dt.compile(function)(a), function(a))


# --- traces that are given up ---------------------------------------------------------------------


def written(results: Any) -> list:
    """What comes of writing zeros to each result: the class of the error, or None."""
    found = []
    for result in leaves(results):
        try:
            result.zero_()
        except Exception as error:
            found.append(type(error))
        else:
            found.append(None)
    return found


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("layout", [LAYOUTS[0], LAYOUTS[-1]])
def test_ops_after_a_trace_was_given_up_are_eager_ones(layout: Callable) -> None:
    chosen = first_samples(CASES, 1)
    # many at a time, since it takes long to give up a trace
    for some in (chosen[k : k + 60] for k in range(0, len(chosen), 60)):
        functions = [row.function for _, row, _ in some]

        def run(given: list, functions: list = functions) -> list:
            dt.ones(2).numpy()[0] = 3.0
            results: list = []
            for function, (args, kwargs) in zip(functions, given, strict=True):
                try:
                    results.append(function(*args, **kwargs))
                except Exception as error:
                    results.append([type(error)])
            return results

        def observed(function: Callable, some: list = some) -> list:
            dt.manual_seed(1)
            arguments = [made(sample, row, layout) for _, row, sample in some]
            results = function([(args, kwargs) for args, kwargs, _ in arguments])
            lie = [
                [layout_of(r, tensors) for r in leaves(result) if isinstance(r, dt.Tensor)] or result
                for result, (_, _, tensors) in zip(results, arguments, strict=True)
            ]
            return [
                (row.name, each, written(result)) for (_, row, _), each, result in zip(some, lie, results, strict=True)
            ]

        for found, expected in zip(observed(dt.compile(run, backend="numpy")), observed(run), strict=True):
            assert repr(found) == repr(expected)


@pytest.mark.filterwarnings("ignore:compile")
@pytest.mark.parametrize("backend", ["numpy", "native"])
def test_one_of_several_views_is_refused_after_its_base_was_written(backend: str) -> None:
    if backend == "native":
        pytest.importorskip("llvmlite")
    makers: list[Callable] = [lambda b: b.unbind(0)[0], lambda b: b.split(2)[1], lambda b: b.chunk(2)[0]]
    for make in makers:

        def function(x: Any, make: Callable = make) -> Any:
            base = x * x
            part = make(base)
            base[None].mul_(2)
            return part, base

        compiled = dt.compile(function, backend=backend)
        for _ in range(3):
            x = dt.arange(4.0, requires_grad=True)
            with pytest.raises(RuntimeError, match="modified inplace"):
                compiled(x)[0] + 1
            assert dt.equal(compiled(x.detach())[0], function(x.detach())[0])


@pytest.mark.filterwarnings("ignore:compile")
def test_expanded_tensors_can_be_zeroed_after_an_error_was_caught() -> None:
    def function(a: Any, c: Any) -> Any:
        try:
            a = a**c
        except RuntimeError:
            pass
        a.expand(2, *a.shape).zero_()
        return a + 1

    for backend in ("numpy", "native"):
        assert dt.equal(dt.compile(function, backend=backend)(dt.ones(2, 4), dt.ones(3)), dt.ones(2, 4))
