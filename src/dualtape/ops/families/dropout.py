"""Dropout of entries and of channels."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np

from ..._tensor.tensor import new_tensor, raw, wrap
from ...arrays.bfloat16_dtype import cast
from ...arrays.kernels.basics import asarray_like
from ...errors import warn
from ...overrides.active_overrides import explaining, overridable
from ..dispatch import FUNCTIONS
from ..formulas import zeros_like_shape
from ..samples import real, sample
from ..table import composite


def _kept(p: float, shape: tuple, like: Any) -> Any:
    """Return a mask of the entries to keep, scaled so that the mean is preserved."""
    from ...random import generator

    if p == 1.0:
        return wrap(zeros_like_shape(shape, like))
    dtype = like.dtype
    return wrap(asarray_like(cast(generator.source(None).random(shape) >= p, dtype) * dtype.type(1 / (1 - p)), like))


@composite("dropout", method=False, torch_name="nn.functional.dropout", also=("nn.functional.dropout",), samples=(
    sample(real(3, 4), 0.5, False), sample(real(3, 4), 0.0), sample(real(3, 4), 1.0),
))  # fmt: skip
def dropout(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """In training, entries set to zero with probability ``p``, the others divided by ``1 - p``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.functional.dropout(dt.ones(3), training=False)
    tensor([1., 1., 1.])
    """
    return _dropped("dropout", input, p, training, inplace, tuple(input.shape))


def _dropped(name: str, input: Any, p: float, training: bool, inplace: bool, shape: tuple) -> Any:
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"{name}: dropout probability has to be between 0 and 1, but got {p}")
    if not training or p == 0:
        return input
    mask = _kept(float(p), shape, input._array)
    return input.mul_(mask) if inplace else input * mask


def dropout_(input: Any, p: float, train: bool) -> Any:
    """In-place form of :func:`dropout`.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.dropout_(dt.ones(3), 1.0, True)
    tensor([0., 0., 0.])
    """
    return _dropped("dropout_", input, p, train, True, tuple(input.shape))


FUNCTIONS["dropout_"] = overridable(explaining(dropout_, "dropout_"))


@composite(
    "dropout2d",
    namespace="nn.functional",
    samples=(sample(real(2, 3, 2, 2), 0.5, False), sample(real(2, 3, 2, 2), 1.0)),
)
def dropout2d(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """In training, whole channels of images (N, C, H, W) set to zero with probability ``p``, the others divided by ``1
    - p``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.functional.dropout2d(dt.ones(1, 2, 1, 1), training=False).shape
    dualtape.Size([1, 2, 1, 1])
    """
    if input.ndim < 2 and training and p and input.numel():
        raise RuntimeError(
            f"dropout2d: Feature dropout requires at least 2 dimensions in the input, got {list(input.shape)}"
        )
    if input.ndim not in (3, 4):
        warn(f"dropout2d: expected channels of images, 3D or 4D input, but received a {input.ndim}D input: use dropout")
    elif input.ndim == 3:
        warn(
            "dropout2d: a 3D input is taken for signals (N, C, L), as PyTorch does: use dropout1d for them, and a batch"
            " of one for an image (C, H, W)"
        )
    return _dropped("dropout2d", input, p, training, inplace, (*input.shape[:2], *(1,) * (input.ndim - 2)))


_F = "nn.functional"


@composite("dropout1d", namespace=_F, samples=(sample(real(2, 3, 4), 0.5, False), sample(real(2, 3, 4), 1.0)))
def dropout1d(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """In training, whole channels of signals (N, C, L) or (C, L) set to zero with probability ``p``, the others divided
    by ``1 - p``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.functional.dropout1d(dt.ones(1, 2, 3), training=False).shape
    dualtape.Size([1, 2, 3])
    """
    if input.ndim not in (2, 3):
        raise RuntimeError(f"dropout1d: Expected 2D or 3D input, but received a {input.ndim}D input")
    return _dropped("dropout1d", input, p, training, inplace, (*input.shape[:-1], 1))


@composite(
    "dropout3d", namespace=_F, samples=(sample(real(1, 2, 2, 2, 2), 0.5, False), sample(real(1, 2, 2, 2, 2), 1.0))
)
def dropout3d(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """In training, whole channels of volumes (N, C, D, H, W) or (C, D, H, W) set to zero with probability ``p``, the
    others divided by ``1 - p``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.functional.dropout3d(dt.ones(1, 1, 2, 2, 2), training=False).shape
    dualtape.Size([1, 1, 2, 2, 2])
    """
    if input.ndim not in (4, 5):
        warn(
            f"dropout3d: expected channels of volumes, 4D or 5D input, but received a {input.ndim}D input: use dropout"
        )
    if not training or not p or not input.numel():
        return _dropped("dropout3d", input, p, training, inplace, ())
    if input.ndim == 5:
        return _dropped("dropout3d", input, p, training, inplace, _channels("dropout3d", input))
    return _dropped("dropout3d", input, p, training, inplace, _channels("dropout3d", input.unsqueeze(0))[1:])


@composite(
    "feature_dropout", method=False, samples=(sample(real(2, 3, 4), 0.5, False), sample(real(2, 3, 4), 1.0, True))
)
def feature_dropout(input: Any, p: float, train: bool) -> Any:
    """In training, whole channels (N, C, ...) set to zero with probability ``p``, the others divided by ``1 - p``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.feature_dropout(dt.ones(1, 2, 3), 0.5, False).shape
    dualtape.Size([1, 2, 3])
    """
    return _dropped("feature_dropout", input, p, train, False, _channels("feature_dropout", input))


def _channels(name: str, input: Any) -> tuple:
    if input.ndim < 2:
        raise RuntimeError(
            f"{name}: Feature dropout requires at least 2 dimensions in the input, got {list(input.shape)}"
        )
    return (*input.shape[:2], *(1,) * (input.ndim - 2))


_SELU = 1.7580993408473766  # what selu goes to far below 0, negated


def _alpha_dropped(name: str, input: Any, p: float, training: bool, inplace: bool, shape: tuple) -> Any:
    """Return entries set to selu's lowest value, then all scaled so that mean 0 and variance 1 remain."""
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"{name}: dropout probability has to be between 0 and 1, but got {p}")
    if not training or p == 0:
        return input
    if p == 1:
        return input.mul_(0) if inplace else input * 0
    a = 1 / sqrt((1 - p) * (1 + p * _SELU * _SELU))
    kept = (
        _dropped(name, new_tensor(asarray_like(np.ones(shape), raw(input), raw(input).dtype)), p, True, False, shape)
        != 0
    )
    stays = kept.to(input.dtype)
    factor, shift = stays * a, (stays - 1) * (a * _SELU) + a * _SELU * p
    return input.mul_(factor).add_(shift) if inplace else input * factor + shift


@composite("alpha_dropout", method=False, public=False, torch_name=f"{_F}.alpha_dropout", also=(f"{_F}.alpha_dropout",), complex=False,
    samples=(sample(real(3, 4)), sample(real(3, 4), 1.0, True)))  # fmt: skip
def alpha_dropout(input: Any, p: float = 0.5, training: bool = False, inplace: bool = False) -> Any:
    """In training, entries set to selu's lowest value with probability ``p``, all scaled so that mean and variance stay.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.functional.alpha_dropout(dt.ones(3))
    tensor([1., 1., 1.])
    """
    return _alpha_dropped("alpha_dropout", input, p, training, inplace, tuple(input.shape))


@composite("feature_alpha_dropout", method=False, public=False, torch_name=f"{_F}.feature_alpha_dropout",
    also=(f"{_F}.feature_alpha_dropout",), complex=False, samples=(sample(real(2, 3, 4)), sample(real(2, 3, 4), 1.0, True)))  # fmt: skip
def feature_alpha_dropout(input: Any, p: float = 0.5, training: bool = False, inplace: bool = False) -> Any:
    """:func:`alpha_dropout` of whole channels (N, C, ...).

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.functional.feature_alpha_dropout(dt.ones(1, 1, 3))
    tensor([[[1., 1., 1.]]])
    """
    shape = _channels("feature_alpha_dropout", input) if training else ()
    return _alpha_dropped("feature_alpha_dropout", input, p, training, inplace, shape)
