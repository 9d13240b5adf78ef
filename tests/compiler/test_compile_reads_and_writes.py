"""What a compiled function reads of its inputs, what it writes into them, and what happens where lowering fails."""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dualtape as dt
from op_cases import DEEP, arrays, cases, converted, first_samples, leaves

DTYPES = (
    "float16",
    "float32",
    "float64",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "bool",
    "complex64",
    "complex128",
)
BACKENDS = ("numpy", "native") if importlib.util.find_spec("llvmlite") else ("numpy",)


def traces(compiled: Any) -> int:
    return sum(len(specializations) for specializations in compiled._specializations.values())


def numbers(dtype: str) -> dt.Tensor:
    return dt.tensor([[0, 1, 2], [3, 4, 5]]).to(getattr(dt, dtype))


READS: dict[str, Callable[[dt.Tensor], Any]] = {
    "an element": lambda p: p[1, 2].item(),
    "a column": lambda p: sum(p[:, 1].tolist()),
    "a part": lambda p: sum(p[1, 1:].tolist()),
    "a part with gaps": lambda p: sum(p[1, ::2].tolist()),
    "the transpose": lambda p: p.t().tolist()[2][0],
    "backwards": lambda p: p.flip(0).tolist()[0][1],
    "a truth value": lambda p: 2 if bool(p[0, 0]) else 3,
    "what was just written": lambda p: p.clone().fill_(1)[0, 0].item(),
    "what was computed": lambda p: (p + p)[1, 1].item() if p.dtype is not dt.bool else p.any().item(),
    "nothing": lambda p: len(p[:0].tolist()),
}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("what", READS)
def test_what_is_read_is_checked_and_not_traced_again(what: str, dtype: str, backend: str) -> None:
    read = READS[what]

    def scaled(x: dt.Tensor, p: dt.Tensor) -> dt.Tensor:
        return x * read(p)

    compiled = dt.compile(scaled, backend=backend, fullgraph=True)
    x, p = dt.tensor([1.0, 2.0]), numbers(dtype)
    for _ in range(10):
        assert dt.equal(compiled(x, p), scaled(x, p))
    assert traces(compiled) == 1
    changed = p.logical_not() if dtype == "bool" else p * 2 + 1
    assert dt.equal(compiled(x, changed), scaled(x, changed))
    assert dt.equal(compiled(x, p), scaled(x, p))
    assert traces(compiled) <= 2


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dtype", ["int32", "int64", "uint8", "int8"])
def test_indices_that_are_read_are_those_of_the_call(dtype: str, backend: str) -> None:
    def picked(x: dt.Tensor, p: dt.Tensor) -> tuple:
        return x[int(p[1])], x[p[2].item()], x[int(p[0]) : int(p[2])], x * p[1:][0]

    compiled = dt.compile(picked, backend=backend, fullgraph=True)
    x = dt.arange(10.0)
    for places in ([1, 2, 3], [1, 2, 3], [0, 5, 4], [1, 2, 3], [3, 3, 3]):
        p = dt.tensor(places).to(getattr(dt, dtype))
        assert all(map(dt.equal, compiled(x, p), picked(x, p)))
    assert traces(compiled) == 3


WRITES: dict[str, Callable[[dt.Tensor], Any]] = {
    "add_": lambda z: z.add_(1) if z.dtype is not dt.bool else z.logical_not_(),
    "mul_ of a part": lambda z: z[:, 1:].mul_(z[:, :2]),
    "a row": lambda z: z.__setitem__(0, z[1]),
    "fill_": lambda z: z.fill_(1),
    "zero_ of a column": lambda z: z[:, 0].zero_(),
    "copy_": lambda z: z.copy_(z.flip(1)),
    "by a mask": lambda z: z.__setitem__(z == 1, 0),
    "by indices": lambda z: z.__setitem__((slice(None), dt.tensor([2, 0])), 1),
    "two writes": lambda z: (z.fill_(1), z[0].zero_())[0],
}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("what", WRITES)
def test_arguments_of_every_dtype_can_be_written_into(what: str, dtype: str, backend: str) -> None:
    write = WRITES[what]

    def written(z: dt.Tensor) -> tuple:
        write(z)
        return z * 1, z == 1

    compiled = dt.compile(written, backend=backend, fullgraph=True)
    for _ in range(3):
        ours, theirs = numbers(dtype), numbers(dtype)
        results, expected = compiled(ours), written(theirs)
        assert dt.equal(ours, theirs)
        assert ours._version == theirs._version
        assert all(map(dt.equal, results, expected))


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_row_of_an_expanded_tensor_can_be_written(backend: str) -> None:
    def written(y: dt.Tensor) -> tuple:
        z = (y * 2).expand(2, 3)
        z[0] = 5.0
        d = (y * 1).diag().diagonal()
        d[1] = 7.0
        return z, d

    compiled = dt.compile(written, backend=backend, fullgraph=True)
    for _ in range(3):
        assert all(map(dt.equal, compiled(dt.ones(3)), written(dt.ones(3))))


# Ops that draw random numbers give others in each call, and empty ones give what happens to be there.
FILLED = [
    case
    for case in first_samples(list(cases()), 1)
    if case[1].complex != "only" and "out" not in case[2].kwargs and not case[1].name.startswith(("empty", "new_empty"))
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("row", "sample"), [pytest.param(*case[1:], id=case[0]) for k, case in enumerate(FILLED) if DEEP or k % 3 == 0]
)
@pytest.mark.parametrize("value", [2.0, 0.0])
def test_ops_of_numbers_that_are_known_are_computed(row: Any, sample: Any, value: float) -> None:
    """Inputs that the program fills itself become numbers in its kernels."""
    pytest.importorskip("llvmlite")
    args, kwargs, differentiable = arrays(sample, "float32")
    inputs = [dt.from_numpy(a.copy()) for a in differentiable]

    def filled(*inputs: dt.Tensor) -> Any:
        known = {id(a): x.fill_(value) for a, x in zip(differentiable, inputs, strict=True)}
        convert = lambda a: known[id(a)] if id(a) in known else dt.from_numpy(a)
        return row.function(
            *(converted(a, convert) for a in args), **{k: converted(v, convert) for k, v in kwargs.items()}
        )

    try:
        dt.manual_seed(0)
        expected = [r for r in leaves(filled(*inputs)) if isinstance(r, dt.Tensor)]
    except Exception as error:
        with pytest.raises(type(error)):
            dt.compile(filled)(*inputs)
        return
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        compiled = dt.compile(filled)
        for _ in range(2):
            dt.manual_seed(0)
            results = [r for r in leaves(compiled(*inputs)) if isinstance(r, dt.Tensor)]
            for ours, theirs in zip(results, expected, strict=True):
                if isinstance(theirs._array, np.ndarray):
                    np.testing.assert_allclose(ours.numpy(), theirs.numpy(), 1e-5, 1e-6)
    assert not [w for w in told if "internal error" in str(w.message)]


def test_an_internal_error_of_lowering_falls_back_to_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("llvmlite")
    from dualtape.compiler.native.lower import Lowering

    def fails(*args: Any) -> None:
        raise KeyError("a defect")

    monkeypatch.setattr(Lowering, "_ufunc", fails)
    compiled = dt.compile(lambda x: (x * 2).sum())
    x = dt.ones(3, requires_grad=True)
    with pytest.warns(UserWarning, match="internal error.*a defect.*report"):
        result = compiled(x)
    result.backward()
    assert (result.item(), x.grad.tolist(), compiled(x).item()) == (6.0, [2.0] * 3, 6.0)


def test_an_internal_error_of_tracing_leaves_the_function_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    from dualtape.compiler import specialization

    def fails(*args: Any) -> None:
        raise ZeroDivisionError("a defect")

    monkeypatch.setattr(specialization, "sort_results", fails)
    compiled = dt.compile(lambda x: x.add_(1) * 2)
    x = dt.zeros(3)
    with pytest.warns(UserWarning, match="internal error.*a defect.*report"):
        assert compiled(x).tolist() == [2.0] * 3
    assert x.tolist() == [1.0] * 3
    assert compiled(x).tolist() == [4.0] * 3
    with pytest.raises(RuntimeError, match="internal error"):
        dt.compile(lambda x: x * 2, fullgraph=True)(x)
