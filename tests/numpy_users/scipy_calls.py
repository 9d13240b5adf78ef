"""Calls of SciPy's functions, run on arrays by SciPy and on tensors by ``dualtape.scipy``, and their comparison."""

from __future__ import annotations

import re
import warnings
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import numpy as np

import dualtape as dt
from dualtape.pytree import tree_leaves

RNG = np.random.default_rng(1)
VALUES: dict[str, Any] = {
    "x": np.array([0.3, 1.7, 2.4]),
    "y": np.array([1.2, 0.4, 3.3]),
    "p": np.array([0.2, 0.55, 0.9]),
    "r": np.array([-1.3, 0.4, 2.2]),
    "s": np.array(1.4),
    "A": RNG.normal(size=(3, 3)) + 3 * np.eye(3),
    "B": RNG.normal(size=(3, 2)),
    "W": RNG.normal(size=(3, 4, 2)),
    "V": RNG.normal(size=(2, 2, 3)),
    "S": np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 2.0]]),
    "Q": np.array([[1.0, 0.3, 0.1], [0.3, 1.5, 0.2], [0.1, 0.2, 3.0]]),
    "g": np.cumsum(RNG.uniform(0.4, 1.2, 8)),
    "h": RNG.normal(size=8),
    "H": RNG.normal(size=(8, 3)),
    "m": RNG.uniform(1.5, 5.0, 6),
    "w": RNG.uniform(0.5, 2.0, 8),
    "u": RNG.normal(size=40),
    "U": RNG.normal(size=(7, 9)),
    "P": RNG.normal(size=(9, 2)),
    "z": np.array([0.5, 1.3, 3.1, 5.2]),
}
FIXED: dict[str, Any] = {"k": np.array([0, 2, 5]), "v": np.array([0.5, 2.0, 3.5]), "np": np}
MODULES = "special stats linalg signal interpolate integrate optimize fft ndimage".split()


def names_in(root: str) -> dict[str, Any]:
    """Return the modules that calls name, of SciPy or of dualtape."""
    found = {name: import_module(f"{root}.{name}") for name in MODULES}
    sparse = SimpleNamespace(linalg=import_module(f"{root}.sparse.linalg"))
    return {**found, "sparse": sparse, "distance": import_module(f"{root}.spatial.distance")}


def run(call: str, root: str, values: dict[str, Any]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return eval(call, {**names_in(root), **FIXED, **values})


def leaves(result: Any) -> list:
    return [leaf for leaf in tree_leaves(result) if isinstance(leaf, (np.ndarray, np.generic, float, dt.Tensor))]


def used(call: str) -> list[str]:
    return [name for name in VALUES if re.search(rf"(?<![\w.\"']){name}(?![\w=\"'(])", call)]


def compare(call: str, kind: type = dt.Tensor, rtol: float = 1e-9, slope_rtol: float = 1e-5) -> None:
    """Compare values with SciPy's, and derivatives along a direction with differences of SciPy's values."""
    names = used(call)
    tensors = {
        name: dt.tensor(VALUES[name], requires_grad=True)
        if kind is dt.Tensor
        else dt.numpy.NumpyTensor(VALUES[name].copy(), requires_grad=True)
        for name in names
    }
    got, expected = leaves(run(call, "dualtape.scipy", tensors)), leaves(run(call, "scipy", VALUES))
    assert len(got) == len(expected), (len(got), len(expected))
    for mine, theirs in zip(got, expected, strict=True):
        assert type(mine) is kind and mine.shape == np.shape(theirs), (type(mine), mine.shape, np.shape(theirs))
        np.testing.assert_allclose(np.asarray(mine.detach()), theirs, rtol=rtol, atol=1e-10)
    places = [k for k, mine in enumerate(got) if mine.requires_grad]
    assert places, "no result has history"

    def weighed(results: list) -> Any:
        total: Any = 0.0
        for k in places:
            finite = np.isfinite(np.asarray(expected[k]))
            size = np.arange(finite.size) + 1.0
            for part, weights in ((np.real, np.cos(size)), (np.imag, np.sin(size))):
                if part is np.real or np.iscomplexobj(expected[k]):
                    total = total + np.sum(np.where(finite, part(results[k]), 0.0) * weights.reshape(finite.shape))
        return total

    gradients = dt.autograd.grad(weighed(got), list(tensors.values()), allow_unused=True, materialize_grads=True)
    for name, gradient in zip(names, gradients, strict=True):
        value = VALUES[name]
        direction = np.sin(np.arange(value.size) * 2.3 + 0.5).reshape(value.shape)
        direction = direction + direction.T if name in "SQ" else direction
        step = 1e-5
        ahead, behind = (
            weighed(leaves(run(call, "scipy", {**VALUES, name: value + sign * step * direction}))) for sign in (1, -1)
        )
        slope = (ahead - behind) / (2 * step)
        found = (np.asarray(gradient) * direction).sum()
        np.testing.assert_allclose(found, slope, rtol=slope_rtol, atol=1e-6, err_msg=name)
