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
    **{
        name: getattr(F, name)
        for name in """sigmoid silu gelu softplus elu selu celu mish hardswish leaky_relu
       logsigmoid hardtanh relu6 hardsigmoid softshrink hardshrink threshold_""".split()
        if name != "threshold_"
    },
    "gelu by tanh": lambda x: F.gelu(x, approximate="tanh"),
    "softplus, steep": lambda x: F.softplus(x, 3.0, 2.0),
    "leaky relu, steep": lambda x: F.leaky_relu(x, 0.3),
    "softmax": lambda x: F.softmax(x, -1),
    "softmax of columns": lambda x: F.softmax(x, 0),
    "log_softmax": lambda x: F.log_softmax(x, -1),
    "log_softmax of columns": lambda x: F.log_softmax(x, 0),
}


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


@pytest.mark.parametrize("name", OPS)
def test_a_fused_kernel_of_what_is_not_finite_gives_it_in_the_same_places(name: str) -> None:
    array = np.random.default_rng(0).standard_normal((130, 301)).astype("f4")
    array[1, :3], array[2, 7], array[3] = [np.inf, 1.0, -2.0], np.nan, -np.inf
    array[4, 5] = -np.inf
    before = dt.compiler.fuse_eager(False)
    try:
        with np.errstate(all="ignore"):
            (expected, _) = outcome(OPS[name], array, 1)
            dt.compiler.fuse_eager(True)
            (found, _) = outcome(OPS[name], array, 6)
    finally:
        dt.compiler.fuse_eager(before)
    assert np.array_equal(np.isnan(found), np.isnan(expected))
    np.testing.assert_allclose(found, expected, 3e-6, 3e-6)


NORMS: dict[str, Any] = {
    "layer": ((130, 301), 301, lambda x, w, b: F.layer_norm(x, (301,), w, b)),
    "layer without weight": ((130, 301), 301, lambda x, w, b: F.layer_norm(x, (301,)) * w + b),
    "layer of planes": (
        (40, 30, 30),
        900,
        lambda x, w, b: F.layer_norm(x, (30, 30), w.reshape(30, 30), b.reshape(30, 30)),
    ),
    "batch": ((20, 8, 15, 15), 8, lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True)),
    "batch of vectors": ((300, 120), 120, lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True)),
    "group": ((20, 8, 15, 15), 8, lambda x, w, b: F.group_norm(x, 2, w, b)),
    "instance": ((20, 8, 15, 15), 8, lambda x, w, b: F.instance_norm(x, None, None, w, b)),
}


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


CONVOLUTIONS: dict[str, Any] = {  # images, weight, whether there is a bias, options
    "3x3": ((8, 16, 28, 28), (20, 16, 3, 3), True, {"padding": 1}),
    "without padding and bias": ((8, 16, 30, 33), (9, 16, 3, 3), False, {}),
    "5x3, dilated": ((4, 8, 40, 37), (40, 8, 5, 3), True, {"padding": (2, 3), "dilation": (1, 2)}),
    "groups": ((6, 12, 32, 32), (24, 4, 3, 3), True, {"padding": 1, "groups": 3}),
    "lines": ((10, 32, 700), (35, 32, 3), True, {"padding": 1}),
    "volumes": ((2, 8, 12, 20, 20), (8, 8, 3, 3, 3), True, {"padding": 1}),
    "volumes much larger with their padding": ((4, 8, 16, 16, 16), (8, 8, 3, 3, 3), True, {"padding": 1}),
    "a group for each channel, by single steps": ((4, 24, 40, 30), (24, 1, 3, 3), True, {"padding": 1, "groups": 24}),
    "lines, a group for each channel": ((4, 12, 997), (12, 1, 5), True, {"padding": 2, "groups": 12}),
    "volumes, a group for each channel": ((2, 6, 9, 14, 33), (6, 1, 3, 3, 3), True, {"padding": 1, "groups": 6}),
    "two of each group, by strides": ((3, 8, 70, 65), (16, 1, 3, 3), True, {"stride": 2, "padding": 1, "groups": 8}),
    "few terms": ((9, 3, 50, 44), (5, 3, 3, 3), False, {"padding": (0, 1)}),
    "one channel out, wide rows": ((4, 8, 24, 100), (1, 8, 3, 3), True, {"padding": 1}),
    "many terms": ((2, 64, 24, 24), (8, 64, 3, 3), True, {"padding": 1}),
    "too large for the stack": ((1, 96, 60, 60), (8, 96, 3, 3), True, {"padding": 1}),
    "long lines": ((2, 4, 5003), (9, 4, 9), True, {"padding": 4}),
    "strides": ((6, 3, 64, 64), (32, 3, 5, 5), True, {"stride": 2}),
    "strides of each dimension, dilated": (
        (4, 8, 45, 70),
        (20, 8, 3, 4),
        True,
        {"stride": (3, 2), "padding": (1, 5), "dilation": (2, 3)},
    ),
    "strides larger than the kernel": ((4, 8, 50, 91), (9, 8, 2, 3), False, {"stride": (4, 5), "padding": 2}),
    "strides and groups": ((3, 12, 41, 67), (15, 4, 3, 3), True, {"stride": 2, "padding": 1, "groups": 3}),
    "a group for each channel": ((3, 17, 41, 67), (17, 1, 3, 3), True, {"stride": 2, "padding": 1, "groups": 17}),
    "lines by strides of three": ((5, 16, 601), (10, 16, 5), True, {"stride": 3, "padding": 2}),
    "volumes by strides": ((2, 4, 13, 20, 37), (7, 4, 3, 2, 3), True, {"stride": (2, 1, 2), "padding": 1}),
    "a wide stride": ((4, 4, 40, 150), (6, 4, 3, 3), True, {"stride": (1, 9)}),
    "rows shorter than a vector, one image": ((1, 40, 30, 29), (70, 40, 3, 3), True, {"stride": 3, "padding": 1}),
    "strides in rows only": ((2, 16, 60, 50), (8, 16, 3, 3), True, {"stride": (2, 1), "padding": 1}),
    "padding wider than the kernel": ((2, 16, 40, 40), (8, 16, 2, 2), True, {"stride": 2, "padding": 5}),
}


def convolved(function: Any, arrays: list[np.ndarray], options: dict, library: Any = dt) -> list[np.ndarray]:
    """What a convolution gives, and all its gradients."""
    given = [library.tensor(a).requires_grad_() for a in arrays]
    out = function(*given, **options)
    g = library.tensor(np.cos(np.arange(out.numel())).reshape(tuple(out.shape)).astype(arrays[0].dtype))
    return [out.detach().numpy(), *(each.numpy() for each in library.autograd.grad(out, given, g))]


def check_convolution(name: str, arrays: list[np.ndarray], options: dict) -> None:
    """The same before there are kernels, by kernels, and in PyTorch."""
    kernels._convolutions.clear()  # there is an end to their number
    before = dt.compiler.fuse_eager(False)
    try:
        expected = convolved(getattr(F, name), arrays, options)
        dt.compiler.fuse_eager(True)
        for _ in range(5):
            found = convolved(getattr(F, name), arrays, options)
    finally:
        dt.compiler.fuse_eager(before)
    tolerance = 5e-6 if arrays[0].dtype == np.float32 else 1e-13
    for ours, theirs in zip(found, expected, strict=True):
        assert ours.dtype == theirs.dtype and ours.shape == theirs.shape
        np.testing.assert_allclose(ours, theirs, tolerance, tolerance * max(1.0, np.abs(theirs).max()))
    torch = pytest.importorskip("torch")
    theirs = convolved(getattr(torch.nn.functional, name), arrays, options, torch)
    for ours, other in zip(found, theirs, strict=True):
        np.testing.assert_allclose(ours, other, 4 * tolerance, 4 * tolerance * max(1.0, np.abs(other).max()))


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_a_convolutions_kernels_give_what_the_op_gives(name: str, dtype: str) -> None:
    shape, weight, biased, options = CONVOLUTIONS[name]
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(s).astype(dtype) for s in (shape, weight, weight[:1])[: 3 if biased else 2]]
    check_convolution(f"conv{len(shape) - 2}d", arrays, options)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize(
    "options",
    [{"stride": 2}, {"stride": 2, "padding": 1, "output_padding": 1}, {"stride": (3, 2), "dilation": 2, "groups": 2}],
)
def test_kernels_of_a_transposed_convolution_give_what_the_op_gives(options: dict, dtype: str) -> None:
    rng = np.random.default_rng(0)
    shapes = ((3, 16, 25, 31), (16, 10 // options.get("groups", 1), 3, 4), (10,))
    check_convolution("conv_transpose2d", [rng.standard_normal(s).astype(dtype) for s in shapes], options)


def test_a_convolution_by_strides_takes_images_as_they_lie_and_none() -> None:
    rng = np.random.default_rng(0)
    weight, bias = rng.standard_normal((12, 6, 3, 3)), rng.standard_normal(12)
    options = {"stride": 2, "padding": 1}
    x = rng.standard_normal((66, 50, 4, 6)).transpose(2, 3, 0, 1)
    check_convolution("conv2d", [x, weight, bias], options)
    check_convolution("conv2d", [rng.standard_normal((4, 12, 66, 50))[:, ::2], weight, bias], options)
    found = convolved(F.conv2d, [x[:0], weight, bias], options)
    assert [v.shape for v in found] == [(0, 12, 33, 25), (0, 6, 66, 50), (12, 6, 3, 3), (12,)]
    assert not any(v.any() for v in found)


def test_strides_have_kernels_for_a_convolution_and_both_its_gradients() -> None:
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(s).astype("f4") for s in ((5, 3, 65, 66), (11, 3, 4, 5), (11,))]
    before = dt.compiler.fuse_eager(True)
    kernels._convolutions.clear()
    try:
        for _ in range(5):
            convolved(F.conv2d, arrays, {"stride": (2, 3)})
    finally:
        dt.compiler.fuse_eager(before)
    made = {key[0]: run for key, run in kernels._convolutions.items()}
    from dualtape.compiler.native.maths import scales_vectors

    assert set(made) == {"forward", "images", "weight"}
    assert all(callable(run) == scales_vectors() for run in made.values())


@pytest.mark.parametrize("stride", [1, 2])
def test_a_convolution_of_what_is_not_finite_says_so_in_the_same_places(stride: int) -> None:
    rng = np.random.default_rng(0)
    x, w = (rng.standard_normal(s).astype("f4") for s in ((4, 16, 56, 56), (8, 16, 3, 3)))
    x[1, 3, 5, 27], x[2, 0, 0, 0] = np.inf, np.nan
    kernels._convolutions.clear()
    endless = w.copy()
    endless[3, 2, 0, 1] = np.inf  # which must not meet the zeros around gradients
    for weight in (w, endless):
        before = dt.compiler.fuse_eager(False)
        try:
            with np.errstate(all="ignore"):
                expected = convolved(F.conv2d, [x, weight], {"padding": 1, "stride": stride})
                dt.compiler.fuse_eager(True)
                for _ in range(5):
                    found = convolved(F.conv2d, [x, weight], {"padding": 1, "stride": stride})
        finally:
            dt.compiler.fuse_eager(before)
        for ours, theirs in zip(found, expected, strict=True):
            assert np.array_equal(np.isfinite(ours), np.isfinite(theirs))


STEPS: dict[str, Any] = {
    "momentum": {},
    "dampening": {"dampening": 0.3},
    "weight decay": {"weight_decay": 0.2, "dampening": 0.3},
    "nesterov": {"nesterov": True},
    "nesterov and weight decay, upwards": {"nesterov": True, "weight_decay": 0.2, "maximize": True},
    "upwards": {"dampening": 0.3, "maximize": True},
}


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("name", STEPS)
def test_steps_with_momentum_by_a_kernel_are_those_of_the_rule_and_of_pytorch(name: str, dtype: str) -> None:
    rng = np.random.default_rng(0)
    shapes = ((200, 300), (kernels._MANY + 37,), (100,))  # one without a rest, one with, one too small for a kernel
    starts = [rng.standard_normal(s).astype(dtype) for s in shapes]
    grads = [[rng.standard_normal(s).astype(dtype) for s in shapes] for _ in range(8)]

    def steps(library: Any) -> list[np.ndarray]:
        params = [library.tensor(a).requires_grad_() for a in starts]
        optimizer = library.optim.SGD(params, lr=0.1, momentum=0.9, **STEPS[name])
        for k, now in enumerate(grads):
            for p, g in zip(params, now, strict=True):
                p.grad = library.tensor(g)
            optimizer.param_groups[0]["lr"] = 0.1 / (k + 1)
            optimizer.step()
        kept = [optimizer.state[p]["momentum_buffer"].numpy() for p in params]
        return [*(p.detach().numpy() for p in params), *kept]

    kernels._steps.clear()
    before = dt.compiler.fuse_eager(False)
    try:
        expected = steps(dt)
        dt.compiler.fuse_eager(True)
        found = steps(dt)
    finally:
        dt.compiler.fuse_eager(before)
    assert sum(isinstance(made, tuple) for made in kernels._steps.values()) == 2
    tolerance = 2e-6 if dtype == "f4" else 1e-14
    theirs = steps(pytest.importorskip("torch"))
    for ours, rule, other in zip(found, expected, theirs, strict=True):
        np.testing.assert_allclose(ours, rule, tolerance, tolerance)
        np.testing.assert_allclose(ours, other, tolerance, tolerance)


def test_a_step_without_decay_leaves_what_is_not_finite_to_itself() -> None:
    start = np.ones(kernels._MANY, "f4")
    start[:2] = np.inf, np.nan
    p = dt.tensor(start).requires_grad_()
    optimizer = dt.optim.SGD([p], lr=0.5, momentum=0.5)
    before = dt.compiler.fuse_eager(True)
    try:
        for _ in range(6):
            p.grad = dt.ones(kernels._MANY)
            optimizer.step()
    finally:
        dt.compiler.fuse_eager(before)
    assert np.isinf(p.detach().numpy()[0]) and np.isnan(p.detach().numpy()[1])
    assert np.isfinite(p.detach().numpy()[2:]).all()
    assert np.isfinite(optimizer.state[p]["momentum_buffer"].numpy()).all()
