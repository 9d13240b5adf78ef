"""The seam to other array libraries: the same ops over arrays that refuse NumPy's, as CuPy's do, without a GPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dualtape as dt
from duck_array import DuckArray, asarray
from op_cases import cases, compared, pushed

# what CuPy itself has no counterpart for, with its reason
LACKING: dict[str, str] = {}


def over(kind: Any) -> Any:
    """A function that makes a tensor over one kind of array."""
    return lambda array: dt.as_tensor(kind(array.copy(order="K")))


def test_a_duck_refuses_numpy_arrays() -> None:
    x = asarray([1.0, 2.0])
    for wrong in (
        lambda: x + np.ones(2),
        lambda: np.where(x > 1, x, np.zeros(2)),
        lambda: x[np.array([0])],
        lambda: np.asarray(x),
    ):
        with pytest.raises(TypeError):
            wrong()
    with pytest.raises(NotImplementedError):
        np.maximum.reduce(x)
    assert isinstance(x.sum(), DuckArray) and float(x.sum() * np.float64(2)) == 6


@pytest.mark.parametrize(("row", "sample"), [c[1:] for c in cases()], ids=[c[0] for c in cases()])
def test_every_op_gives_over_other_arrays_what_it_gives_over_numpys(row: Any, sample: Any) -> None:
    if row.name in LACKING:
        pytest.xfail(LACKING[row.name])
    for ours, theirs in compared(row, sample, over(np.asarray), over(asarray)):
        assert type(theirs._array) is DuckArray or row.name == "to_device"
        np.testing.assert_allclose(theirs.cpu().numpy(), ours, rtol=1e-7, atol=1e-9, equal_nan=True)


@pytest.mark.parametrize(("row", "sample"), [c[1:] for c in cases()], ids=[c[0] for c in cases()])
def test_every_ops_tangent_over_other_arrays_is_what_it_is_over_numpys(row: Any, sample: Any) -> None:
    for ours, theirs in pushed(row, sample, over(np.asarray), over(asarray)):
        assert type(theirs._array) is DuckArray or row.name == "to_device"
        np.testing.assert_allclose(theirs.cpu().numpy(), ours, rtol=1e-7, atol=1e-9, equal_nan=True)


def test_transforms_over_other_arrays() -> None:
    x = dt.as_tensor(asarray([1.0, 2.0, 4.0]))
    f = lambda x: (x.sin() * x[0]).sum() * x.softmax(0)
    for transformed in (
        dt.func.jacrev(f),
        dt.func.jacfwd(f),
        dt.func.hessian(lambda x: f(x)[1]),
        lambda x: dt.func.vmap(lambda t: f(x * t))(x),
    ):
        found = transformed(x)
        assert type(found._array) is DuckArray
        np.testing.assert_allclose(found.cpu().numpy(), transformed(x.cpu()).numpy(), rtol=1e-9)


def test_second_derivatives_stay_over_other_arrays() -> None:
    x = dt.as_tensor(asarray([1.0, 2.0, 4.0])).requires_grad_()
    for function in (
        lambda: dt.add(x, x, alpha=2),
        lambda: dt.var(x[:1]),
        lambda: x.softmax(0),
        lambda: x.cumprod(0),
        lambda: dt.linalg.svdvals(x.outer(x) + 1),
    ):
        (g,) = dt.autograd.grad((function() ** 2).sum(), x, create_graph=True)
        (h,) = dt.autograd.grad((g**2).sum(), x)
        assert type(g._array) is DuckArray and type(h._array) is DuckArray


def test_numbers_of_numpys_may_stand_beside_other_arrays() -> None:
    x = dt.as_tensor(asarray([1.0, 2.0]))
    assert (x * dt.tensor(2.0, dtype=dt.float64)).tolist() == [2.0, 4.0]
    assert (x + np.float64(1)).tolist() == [2.0, 3.0]
    assert dt.where(x > 1, 1.0, 0.0).tolist() == [0.0, 1.0]


def test_reading_and_writing_by_index() -> None:
    x = dt.as_tensor(asarray([[1.0, 2.0], [3.0, 4.0]]))
    assert x[dt.as_tensor(asarray([1, 0]))].tolist() == [[3.0, 4.0], [1.0, 2.0]]
    assert x[asarray([1])].tolist() == [[3.0, 4.0]]
    x[x > 2] = 0
    x[0] = asarray([5.0, 6.0])
    x[1, 1] = 7
    assert x.tolist() == [[5.0, 6.0], [0.0, 7.0]] and type(x._array) is DuckArray
