"""Functions of ``dualtape.scipy`` over samples: values as SciPy's, derivatives as of differences of SciPy's values."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest
import scipy_calls
from scipy_samples import SAMPLES

import dualtape as dt
from dualtape.numpy import NumpyTensor
from dualtape.scipy._left_out import LEFT_OUT

CALLS = [call for calls in SAMPLES.values() for call in calls.split()]

# No derivative of the second order: the first is SciPy's number, or its formula needs one that there is not.
FIRST_ORDER = (
    "elliprf",
    "elliprc",
    "mathieu_cem",
    "mathieu_sem",
    "differential_entropy",
    "pinvh",
    "chndtr",
    "subspace_angles",
)


@pytest.mark.parametrize("call", CALLS)
def test_a_function_has_scipys_values_and_the_derivatives_of_differences(call: str) -> None:
    scipy_calls.compare(call)


@pytest.mark.parametrize("call", CALLS[::9])
def test_a_function_of_arrays_that_entered_a_transform_gives_tensors_of_numpys_kind(call: str) -> None:
    scipy_calls.compare(call, NumpyTensor)


@pytest.mark.parametrize("call", [c for c in CALLS[::7] if not any(name in c for name in FIRST_ORDER)])
def test_derivatives_have_derivatives(call: str) -> None:
    names = scipy_calls.used(call)

    def slopes(values: dict) -> tuple[list, list]:
        tensors = [dt.tensor(values[name], requires_grad=True) for name in names]
        found = scipy_calls.leaves(scipy_calls.run(call, "dualtape.scipy", dict(zip(names, tensors, strict=True))))
        total = sum(
            np.sum(np.sin(np.where(plain_finite(x), np.real(x), 0.0)))
            for x in found
            if isinstance(x, dt.Tensor) and x.requires_grad
        )
        return tensors, list(
            dt.autograd.grad(total, tensors, create_graph=True, allow_unused=True, materialize_grads=True)
        )

    values = {name: scipy_calls.VALUES[name] for name in names}
    tensors, first = slopes(values)
    weights = [np.cos(np.arange(x.numel()) + 0.3).reshape(tuple(x.shape)) for x in tensors]
    weighed = sum((g * w).sum() for g, w in zip(first, weights, strict=True))
    if not weighed.requires_grad:
        return
    second = dt.autograd.grad(weighed, tensors, allow_unused=True, materialize_grads=True)
    step = 1e-5
    for name, found in zip(names, second, strict=True):
        direction = np.sin(np.arange(values[name].size) * 2.3 + 0.5).reshape(values[name].shape)
        ahead, behind = (
            sum(
                float((g.detach() * w).sum())
                for g, w in zip(
                    slopes({**values, name: values[name] + sign * step * direction})[1], weights, strict=True
                )
            )
            for sign in (1, -1)
        )
        expected = (ahead - behind) / (2 * step)
        np.testing.assert_allclose((found.numpy() * direction).sum(), expected, rtol=1e-4, atol=1e-5, err_msg=name)


def plain_finite(x: dt.Tensor) -> np.ndarray:
    return np.isfinite(x.detach().numpy())


def test_arrays_give_what_scipy_gives() -> None:
    for call in CALLS[::5]:
        mine, theirs = (
            scipy_calls.leaves(scipy_calls.run(call, root, scipy_calls.VALUES)) for root in ("dualtape.scipy", "scipy")
        )
        assert [type(x) for x in mine] == [type(x) for x in theirs], call
        for one, other in zip(mine, theirs, strict=True):
            np.testing.assert_array_equal(one, other, err_msg=call)


# Solvers and what takes functions are called in test_scipy_closures.py, the older ones in test_scipy.py.
ELSEWHERE = ("integrate", "optimize", "sparse.linalg")


@pytest.mark.parametrize("module", [name for name in LEFT_OUT if name not in ELSEWHERE])
def test_every_function_of_a_module_is_called_by_a_sample(module: str) -> None:
    import test_scipy

    short = {"spatial.distance": "distance"}.get(module, module)
    every = [*CALLS, *test_scipy.CALLS]
    for name in import_module(f"dualtape.scipy.{module}").__all__:
        if (module, name) not in UNCALLED:
            assert any(f"{short}.{name}" in call for call in every), f"{module}.{name}"


UNCALLED = {
    ("linalg", "LinAlgError"): "an error",
    ("linalg", "solve_lyapunov"): "solve_continuous_lyapunov, which is called",
    ("signal", "windows"): "a module",
    ("signal", "sosfreqz"): "freqz_sos, which is called",
    ("interpolate", "KroghInterpolator"): "called",
    ("special", "itairy"): "SciPy's values are exact to four digits, differences of them are not",
    ("special", "elliprd"): "only a derivative of others: it has none itself",
}
