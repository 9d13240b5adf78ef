"""Fused kernels of eager ops: on large arrays, after a few calls, and with the same results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dualtape as dt
from dualtape.arrays.kernels import fused as kernels

pytest.importorskip("llvmlite")
F = dt.nn.functional

OPS: dict[str, Any] = {
    **{name: getattr(F, name) for name in """sigmoid silu gelu softplus elu selu celu mish hardswish leaky_relu
       logsigmoid hardtanh relu6 hardsigmoid softshrink hardshrink threshold_""".split() if name != "threshold_"},
    "gelu by tanh": lambda x: F.gelu(x, approximate="tanh"),
    "softplus, steep": lambda x: F.softplus(x, 3.0, 2.0),
    "leaky relu, steep": lambda x: F.leaky_relu(x, 0.3),
    "softmax": lambda x: F.softmax(x, -1),
    "softmax of columns": lambda x: F.softmax(x, 0),
    "log_softmax": lambda x: F.log_softmax(x, -1),
    "log_softmax of columns": lambda x: F.log_softmax(x, 0),
}  # fmt: skip


def outcome(function: Any, array: np.ndarray, times: int) -> list[np.ndarray]:
    for _ in range(times):
        x = dt.tensor(array, requires_grad=True)
        y = function(x)
        (g,) = dt.autograd.grad(y, x, dt.tensor(np.cos(array)))
    return [y.detach().numpy(), g.numpy()]


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("name", OPS)
def test_a_fused_kernel_gives_what_the_op_gives(name: str, dtype: str) -> None:
    rng = np.random.default_rng(0)
    array = (rng.standard_normal((130, 301)) * 4).astype(dtype)
    array[0, :6] = [0.0, -0.0, 60.0, -60.0, 3.0, -3.0]
    before = dt.compiler.fuse_eager(False)
    try:
        expected = outcome(OPS[name], array, 1)
        dt.compiler.fuse_eager(True)
        found = outcome(OPS[name], array, 6)
    finally:
        dt.compiler.fuse_eager(before)
    tolerance = 3e-6 if dtype == "f4" else 1e-13
    for ours, theirs in zip(found, expected, strict=True):
        assert ours.dtype == theirs.dtype
        np.testing.assert_allclose(ours, theirs, tolerance, tolerance)


NORMS: dict[str, Any] = {
    "layer": ((130, 301), 301, lambda x, w, b: F.layer_norm(x, (301,), w, b)),
    "layer without weight": ((130, 301), 301, lambda x, w, b: F.layer_norm(x, (301,)) * w + b),
    "layer of planes": ((40, 30, 30), 900, lambda x, w, b: F.layer_norm(x, (30, 30), w.reshape(30, 30), b.reshape(30, 30))),
    "batch": ((20, 8, 15, 15), 8, lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True)),
    "batch of vectors": ((300, 120), 120, lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True)),
    "group": ((20, 8, 15, 15), 8, lambda x, w, b: F.group_norm(x, 2, w, b)),
    "instance": ((20, 8, 15, 15), 8, lambda x, w, b: F.instance_norm(x, None, None, w, b)),
}  # fmt: skip


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("far", [0.0, 30.0])
@pytest.mark.parametrize("name", NORMS)
def test_a_fused_normalisation_gives_what_the_op_gives(name: str, far: float, dtype: str) -> None:
    shape, count, function = NORMS[name]
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(shape) + far, rng.random(count), rng.random(count)]
    g = dt.tensor(rng.standard_normal(shape).astype(dtype))

    def once() -> list[np.ndarray]:
        given = [dt.tensor(a.astype(dtype), requires_grad=True) for a in arrays]
        out = function(*given)
        return [out.detach().numpy(), *(each.numpy() for each in dt.autograd.grad(out, given, g))]

    before = dt.compiler.fuse_eager(False)
    try:
        expected = once()
        dt.compiler.fuse_eager(True)
        for _ in range(6):
            found = once()
    finally:
        dt.compiler.fuse_eager(before)
    tolerance = (2e-5 if far else 5e-6) if dtype == "f4" else 1e-12
    for ours, theirs in zip(found, expected, strict=True):
        assert ours.dtype == theirs.dtype and ours.shape == theirs.shape
        np.testing.assert_allclose(ours, theirs, tolerance, tolerance * max(1.0, np.abs(theirs).max()))


def test_a_kernel_is_made_after_a_few_calls_of_one_kind_and_only_for_large_arrays() -> None:
    made = []

    def double(x: Any, k: float = 2.0) -> Any:
        made.append(type(x).__name__)
        return x * k + 1

    run = kernels.fused(double)
    small, large = np.ones(100), np.ones(kernels._MANY)
    for _ in range(6):
        assert (run(small) == 3).all()
    assert made == ["ndarray"] * 6
    made.clear()
    before = kernels.enable(True)
    try:
        for _ in range(8):
            assert (run(large, 3.0) == 4).all()
        assert made == ["ndarray"] * 3 + ["Traced"]  # then by the kernel
        assert (run(large[::-1], 3.0) == 4).all() and (run(large, 5.0) == 6).all() and made[-2:] == ["ndarray"] * 2
        kernels.enable(False)
        assert (run(large, 3.0) == 4).all() and made[-1] == "ndarray"
    finally:
        kernels.enable(before)


def test_what_cannot_be_a_kernel_runs_as_it_is() -> None:
    before = kernels.enable(True)
    try:
        for function in (lambda x: x if x.sum() > 0 else -x, np.sort, lambda x: x[x > 0]):
            run = kernels.fused(lambda x, f=function: f(x))
            for _ in range(6):
                assert np.array_equal(run(np.arange(1.0, 40000.0)), np.arange(1.0, 40000.0))
    finally:
        kernels.enable(before)
