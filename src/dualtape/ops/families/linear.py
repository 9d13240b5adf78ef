"""Affine and bilinear maps of the last dimension."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ...arrays.kernels import blas
from ..dispatch import FUNCTIONS
from ..samples import real, sample
from ..table import CONTRACTION, GENERAL, composite, op


def _fits(x: Any, weight: Any) -> None:
    if not x.ndim or weight.ndim != 2 or x.shape[-1] != weight.shape[1]:
        raise RuntimeError(
            f"linear: mat1 and mat2 shapes cannot be multiplied: the input has {list(x.shape)}, the weight"
            f" {list(weight.shape)}; the last size of both must be the same"
        )
    if x.dtype != weight.dtype:
        raise RuntimeError(
            f"linear: input and weight must have the same dtype, but got {x.dtype} and {weight.dtype}: convert one with"
            " x.to(weight.dtype), or the module with module.to(x.dtype)"
        )


def _linear(x: Any, weight: Any) -> Any:
    _fits(x, weight)
    return blas.dot(x, weight.T)


def _affine(bias: Any, x: Any, weight: Any) -> Any:
    _fits(x, weight)
    if bias.dtype != x.dtype or bias.ndim > 1:
        raise RuntimeError(
            f"linear: expected a bias of one dimension and {x.dtype}, got {list(bias.shape)} of {bias.dtype}"
        )
    out = blas.dot(x, weight.T)
    out += bias
    return out


_linear_op = op("linear_product", _linear, kind=CONTRACTION, public=False, method=False, node="MmBackward0",
    torch_name="-",
   vjp=dict(x=lambda g, weight: np.dot(g, weight.conj()), weight=lambda g, x: np.dot(g.T, x.conj())),
   numpy_vjp=dict(x=lambda g, weight: blas.dot(g, weight.conj()), weight=lambda g, x: blas.dot(g.T, x.conj())),
   jvp=dict(x=lambda t, weight: np.dot(t, weight.T), weight=lambda t, x: np.dot(x, t.T)),
   samples=(sample(real(3, 4), real(2, 4)),), doc="x @ weight.T")  # fmt: skip
_affine_op = op("linear_affine", _affine, kind=GENERAL, public=False, method=False, node="AddmmBackward0",
    torch_name="-",
   vjp=dict(bias=lambda g: g, x=lambda g, weight: np.dot(g, weight.conj()), weight=lambda g, x: np.dot(g.T, x.conj())),
   numpy_vjp=dict(x=lambda g, weight: blas.dot(g, weight.conj()), weight=lambda g, x: blas.dot(g.T, x.conj())),
   jvp=dict(bias=lambda t, out: np.broadcast_to(t, out.shape), x=lambda t, weight: np.dot(t, weight.T), weight=lambda t,
       x: np.dot(x, t.T)),
   samples=(sample(real(2), real(3, 4), real(2, 4)),), doc="x @ weight.T + bias")  # fmt: skip


@composite("linear", namespace="nn.functional", samples=(
    sample(real(3, 4), real(2, 4)), sample(real(3, 4), real(2, 4), real(2)), sample(real(4), real(2, 4), real(2)),
    sample(real(4), real(2, 4)),
    sample(real(2, 3, 4), real(5, 4), real(5)), sample(real(2, 3, 4), real(5, 4)), sample(real(3, 4), real(4)),
    sample(real(0, 4), real(2, 4), real(2)),
    sample(real(3, 4, layout="F"), real(2, 4, layout="strided"), real(2)),
))  # fmt: skip
def linear(input: Any, weight: Any, bias: Any = None) -> Any:
    """``input @ weight.T + bias``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.functional.linear(dt.tensor([[1.0, 2.0]]), dt.tensor([[3.0, 4.0]]), dt.tensor([0.5]))
    tensor([[11.5000]])
    """
    if weight.ndim == 1:
        out = FUNCTIONS["matmul"](input, weight)
        return out if bias is None else out + bias
    if weight.ndim != 2 or input.ndim == 0:
        raise RuntimeError(
            f"linear: expected a weight of 2 dimensions and an input of at least 1, got {list(weight.shape)} and"
            f" {list(input.shape)}"
        )
    if input.ndim == 2:
        return _linear_op(input, weight) if bias is None else _affine_op(bias, input, weight)
    lead = tuple(input.shape[:-1])
    flat = input.reshape((prod(lead), input.shape[-1]))
    out = _linear_op(flat, weight) if bias is None else _affine_op(bias, flat, weight)
    return out.reshape((*lead, weight.shape[0]))


@composite("bilinear", method=False, torch_name="nn.functional.bilinear", also=("nn.functional.bilinear",), samples=(
    sample(real(3, 4), real(3, 2), real(5, 4, 2), real(5)), sample(real(2, 3, 4), real(2, 3, 2), real(5, 4, 2)),
))  # fmt: skip
def bilinear(input1: Any, input2: Any, weight: Any, bias: Any = None) -> Any:
    """``input1 @ weight[k] @ input2`` for each k, plus a bias.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.functional.bilinear(dt.ones(1, 2), dt.ones(1, 3), dt.ones(1, 2, 3))
    tensor([[6.]])
    """
    out = FUNCTIONS["einsum"]("...i,kij,...j->...k", input1, weight, input2)
    return out if bias is None else out + bias
