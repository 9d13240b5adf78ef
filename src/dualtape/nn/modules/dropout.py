"""Dropout: in training, elements or whole channels are dropped at random, so that the network does not rely on any one
of them.
"""

from __future__ import annotations

from collections.abc import Callable

from ..._tensor.tensor import Tensor
from .. import functional as F
from .module import Module

__all__ = ["AlphaDropout", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "FeatureAlphaDropout"]


class _DropoutNd(Module):
    """Base of dropouts: a function of the input, a probability, the training mode, and whether to work in place."""

    __constants__ = ["p", "inplace"]
    p: float
    inplace: bool
    _dt_function: Callable

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if p < 0 or p > 1:
            raise ValueError(f"p, the probability that an entry is dropped, must be from 0 to 1, got {p}")
        self.p, self.inplace = p, inplace

    def forward(self, input: Tensor) -> Tensor:
        return self._dt_function(input, self.p, self.training, self.inplace)

    def extra_repr(self) -> str:
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_DropoutNd):
    """In training, elements become zero with probability ``p``, and the others are scaled up by ``1 / (1 - p)``.

    Examples
    --------
    >>> import dualtape as dt
    >>> layer = dt.nn.Dropout(1.0)
    >>> layer(dt.ones(2)), layer.eval()(dt.ones(2))
    (tensor([0., 0.]), tensor([1., 1.]))
    """

    _dt_function = staticmethod(F.dropout)


class Dropout1d(_DropoutNd):
    """In training, whole channels of (N, C, L) or (C, L) become zero.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.Dropout1d(1.0)(dt.ones(1, 2, 1)).flatten()
    tensor([0., 0.])
    """

    _dt_function = staticmethod(F.dropout1d)


class Dropout2d(_DropoutNd):
    """In training, whole channels of (N, C, H, W) or (N, C, L) become zero.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.Dropout2d(1.0)(dt.ones(1, 2, 1, 1)).flatten()
    tensor([0., 0.])
    """

    _dt_function = staticmethod(F.dropout2d)


class Dropout3d(_DropoutNd):
    """In training, whole channels of (N, C, D, H, W) or (C, D, H, W) become zero.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.Dropout3d(1.0)(dt.ones(1, 2, 1, 1, 1)).flatten()
    tensor([0., 0.])
    """

    _dt_function = staticmethod(F.dropout3d)


class AlphaDropout(_DropoutNd):
    """In training, elements become the least value of a selu, and all are scaled so that mean and variance are
    preserved.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.AlphaDropout().eval()(dt.ones(2))
    tensor([1., 1.])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.alpha_dropout(input, self.p, self.training)


class FeatureAlphaDropout(_DropoutNd):
    """:class:`AlphaDropout` of whole channels.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.FeatureAlphaDropout().eval()(dt.ones(2, 1, 1))
    tensor([[[1.]],
    <BLANKLINE>
            [[1.]]])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.feature_alpha_dropout(input, self.p, self.training)
