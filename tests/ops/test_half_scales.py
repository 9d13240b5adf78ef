"""Half precision at small and large numbers: values and gradients are those of double precision, rounded, where these are
in its range. Squares of 300 overflow in float16, and squares of 2e-4 are 0.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dualtape as dt
from half_cases import KINDS, half_cases, torch
from op_cases import arrays, converted, leaves, oracle

F = dt.nn.functional
OPS: dict[str, Callable[[Any], Any]] = {
    "rms_norm": lambda x: F.rms_norm(x, (8,)),
    "rms_norm with a weight": lambda x: F.rms_norm(x, (8,), dt.ones(8, dtype=x.dtype) * 1.5, 1e-5),
    "layer_norm": lambda x: F.layer_norm(x, (8,)),
    "group_norm": lambda x: F.group_norm(x, 2),
    "batch_norm": lambda x: F.batch_norm(x, None, None, training=True),
    "normalize": lambda x: F.normalize(x),
    "cosine_similarity": lambda x: F.cosine_similarity(x, x.flip(0)),
    "division": lambda x: x / x.flip(0),
    "norm": lambda x: x.norm(dim=1),
    "mean": lambda x: x.mean(1),
    "log_softmax": lambda x: x.log_softmax(1),
    "cross_entropy": lambda x: F.cross_entropy(x, dt.tensor([0, 1, 2, 3])),
    "scaled_dot_product_attention": lambda x: F.scaled_dot_product_attention(x[None], x[None], x[None]),
    "gelu": lambda x: F.gelu(x),
    "gelu by tanh": lambda x: F.gelu(x, approximate="tanh"),
    "sinc": lambda x: dt.sinc(x),
    "mish": lambda x: F.mish(x),
    "softplus": lambda x: F.softplus(x),
    "lerp": lambda x: dt.lerp(x, x.flip(0), 0.3),
    "embedding of bounded norm": lambda x: F.embedding(dt.tensor([0, 1, 2, 3]), x.detach().clone(), max_norm=1.0),
    "logcumsumexp": lambda x: x.logcumsumexp(1),
    "cumsum": lambda x: x.cumsum(1),
}


@pytest.mark.parametrize("scale", [1e-2, 1.0, 30.0, 300.0, 5000.0])
@pytest.mark.parametrize(("dtype", "tolerance"), [("float16", 4e-3), ("bfloat16", 3e-2)])
@pytest.mark.parametrize("name", OPS)
def test_results_and_gradients_are_those_of_double_precision(
    name: str, dtype: str, tolerance: float, scale: float
) -> None:
    if name == "batch_norm" and scale < 1:
        tolerance *= 4
    base = dt.tensor(np.random.default_rng(0).standard_normal((4, 8)) * scale).to(getattr(dt, dtype))

    def computed(dtype: Any) -> list[np.ndarray]:
        x = base.to(dtype).requires_grad_()
        y = OPS[name](x)
        if not y.requires_grad:
            return [y.double().numpy()]
        weight = dt.tensor(np.random.default_rng(1).standard_normal(tuple(y.shape))).to(dtype)
        (gradient,) = dt.autograd.grad((y * weight).sum(), x)
        return [y.detach().double().numpy(), gradient.double().numpy()]

    largest = float(dt.finfo(getattr(dt, dtype)).max)
    for ours, exact in zip(computed(getattr(dt, dtype)), computed(dt.float64), strict=True):
        inside = np.abs(exact) < largest
        size = np.abs(exact[inside]).max(initial=0)
        np.testing.assert_allclose(ours[inside], exact[inside], rtol=tolerance, atol=max(tolerance * size, 1e-6))


@pytest.mark.parametrize(
    ("dtype", "value"), [("float32", 1e25), ("float32", 1e-25), ("float64", 1e200), ("float64", 1e-200)]
)
def test_the_gradient_of_a_divisor_has_no_square_that_overflows(dtype: str, value: float) -> None:
    for shape in ((), (3,)):
        x, y = (dt.full(shape, value, dtype=getattr(dt, dtype), requires_grad=True) for _ in range(2))
        for g in (
            dt.autograd.grad((x / y).sum(), y)[0],
            dt.autograd.grad((x / y).sum(), y, create_graph=True)[0],
            -dt.autograd.grad((x / y).sum(), x)[0],
        ):
            np.testing.assert_allclose(g.detach().numpy() * value, np.full(shape, -1.0), rtol=1e-6)


# What leaves the range of float16 inside where PyTorch does not, or has poles at these numbers.
LEAVES = {"grid_sample", "renorm", "polygamma_op", "digamma"}


def scaled(library: Any, function: Any, sample: Any, kind: str, scale: float) -> list[np.ndarray | None]:
    """Results and gradients of an op whose inputs are as large as ``scale``."""
    args, kwargs, inputs = arrays(sample, "float32")
    made = {}
    for each in inputs:
        tensor = library.tensor(each.copy())
        if each.dtype == np.float32:
            tensor = (tensor * (scale / (np.abs(each[np.isfinite(each)]).max(initial=0) or 1))).to(
                getattr(library, kind)
            )
        made[id(each)] = tensor.requires_grad_(tensor.is_floating_point())

    def convert(array: np.ndarray) -> Any:
        other = made.get(id(array))
        if other is None:
            other = library.tensor(array.copy())
            other = other.to(getattr(library, kind)) if other.dtype == library.float32 else other
        return other

    found = function(*(converted(a, convert) for a in args), **{k: converted(v, convert) for k, v in kwargs.items()})
    outs = [x for x in leaves(found) if isinstance(x, library.Tensor) and not x.is_complex()]
    floats = [x for x in outs if x.requires_grad]
    asked = [x for x in made.values() if x.requires_grad]
    ones = [library.ones_like(x) for x in floats]
    gradients = library.autograd.grad(floats, asked, ones, allow_unused=True) if floats else ()
    return [None if x is None else x.detach().double().numpy() for x in (*outs, *gradients)]


@pytest.mark.parametrize("scale", [2e4, 1e-4])
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_finite_in_pytorch_is_finite_at_every_scale(kind: str, scale: float) -> None:
    compared, wrong = 0, []
    for ident, row, sample in half_cases(3):
        if row.name in LEAVES:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                theirs = scaled(torch, oracle(row), sample, kind, scale)
            except (RuntimeError, TypeError, ValueError, IndexError):
                continue  # not there in this dtype, or not of such numbers
            try:
                ours = scaled(dt, row.function, sample, kind, scale)
            except NotImplementedError:
                continue  # views as complex numbers, which have no half type
        compared += 1
        for a, b in zip(theirs, ours, strict=True):
            if a is not None and b is not None and a.shape == b.shape and (np.isfinite(a) & ~np.isfinite(b)).any():
                wrong.append(f"{ident}: {b} where PyTorch has {a}")
    assert not wrong, "\n".join(wrong)
    assert compared > 200 or torch is None
