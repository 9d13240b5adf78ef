"""``dualtape.numpy``: NumPy's namespace, whose creation functions see tensors."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import dualtape as dt
import dualtape.numpy as np
import dualtape.numpy.random as npr


def leaf() -> Any:
    return dt.tensor([1.0, 2.0], dtype=dt.float64, requires_grad=True)


def number() -> Any:
    return dt.tensor(3.0, dtype=dt.float64, requires_grad=True)


def test_every_public_name_of_numpy_is_there() -> None:
    for name in numpy.__all__:
        assert hasattr(np, name)
    assert {*numpy.__all__} <= {*dir(np)}


@pytest.mark.parametrize("name", ["tanh", "float64", "pi", "ndarray", "dtype", "newaxis", "errstate", "testing", "add"])
def test_what_needs_no_change_is_numpys_own_object(name: str) -> None:
    assert getattr(np, name) is getattr(numpy, name)
    assert npr.default_rng is numpy.random.default_rng


@pytest.mark.parametrize(
    "call",
    [
        lambda np, x, s: np.array([s * 2, 5.0]),
        lambda np, x, s: np.array([[s, 1], [2, s]]),
        lambda np, x, s: np.array((x, x)),
        lambda np, x, s: np.array(x, ndmin=2),
        lambda np, x, s: np.asarray([x[0], s]),
        lambda np, x, s: np.asarray(x, dtype=np.float32),
        lambda np, x, s: np.full((2, 3), s),
        lambda np, x, s: np.full(2, x),
        lambda np, x, s: np.arange(s, 8.1, s / 2),
        lambda np, x, s: np.arange(s, 6.5),
        lambda np, x, s: np.sum([s, x[0]]),
        lambda np, x, s: np.mean((s, s)),
        lambda np, x, s: np.stack([x, x]),
        lambda np, x, s: np.hstack([[s], x]),
        lambda np, x, s: np.hstack([[s], [s]]),
        lambda np, x, s: np.r_[x, 1.0, s],
        lambda np, x, s: np.r_[x, 0:2, s],
        lambda np, x, s: np.c_[x, x],
        lambda np, x, s: np.dot([s, s], x),
        lambda np, x, s: np.linalg.norm([s, s]),
        lambda np, x, s: np.fft.fft([s, s]).real,
        lambda np, x, s: np.vectorize(lambda v: v * v)(x),
        lambda np, x, s: np.asarray_chkfinite([s]),
        lambda np, x, s: np.where(np.array([True, False]), [s, s], x),
        lambda np, x, s: np.block([[x, x], [[s, s], x]][0]),
        lambda np, x, s: np.linspace(s, 5, 3),
        lambda np, x, s: np.zeros_like(x) + s,
    ],
)
def test_a_list_with_tensors_in_it_is_a_tensor_with_their_history(call: Any) -> None:
    x, s = leaf(), number()
    made = call(np, x, s)
    expected = call(numpy, x.detach().numpy(), s.detach().numpy())
    assert type(made) is dt.Tensor and made.requires_grad
    numpy.testing.assert_allclose(made.detach().numpy(), expected)
    gradient = dt.autograd.grad(made.sum(), (x, s), allow_unused=True, materialize_grads=True)
    step = 1e-6
    ahead, behind = (call(numpy, x.detach().numpy(), s.detach().numpy() + d).sum() for d in (step, -step))
    numpy.testing.assert_allclose(float(gradient[1]), (ahead - behind) / (2 * step), atol=1e-4)


@pytest.mark.parametrize(
    "call",
    [
        lambda np: np.array([1, 2]),
        lambda np: np.asarray([1.0]),
        lambda np: np.full(2, 7.0),
        lambda np: np.arange(3),
        lambda np: np.zeros(3),
        lambda np: np.r_[1:3, 5],
        lambda np: np.vectorize(lambda v: v + 1)([1, 2]),
        lambda np: np.stack([np.ones(2), np.ones(2)]),
        lambda np: np.linalg.inv(np.eye(2)),
        lambda np: np.sum([1, 2]),
    ],
)
def test_what_is_made_without_a_tensor_is_numpys(call: Any) -> None:
    made, expected = call(np), call(numpy)
    assert type(made) is type(expected) and made.dtype == expected.dtype
    numpy.testing.assert_array_equal(made, expected)


def test_array_copies_and_asarray_does_not() -> None:
    x = leaf()
    assert np.asarray(x) is x and np.array(x, copy=False) is x and np.array(x) is not x
    with pytest.raises(ValueError, match="avoid copy"):
        np.array([x], copy=False)


def test_what_has_no_meaning_beside_tensors_is_refused() -> None:
    with pytest.raises(TypeError, match="directives"):
        np.r_["0,2", leaf()]
    with pytest.raises(TypeError, match="signature"):
        np.vectorize(lambda v: v, signature="(n)->(n)")(leaf())
    with pytest.raises(ValueError, match="infs or NaNs"):
        np.asarray_chkfinite([number() / 0])


def test_submodules_are_modules() -> None:
    import dualtape.numpy.fft
    import dualtape.numpy.linalg

    assert dualtape.numpy.linalg is np.linalg and dualtape.numpy.fft is np.fft
    assert np.linalg.LinAlgError is numpy.linalg.LinAlgError
