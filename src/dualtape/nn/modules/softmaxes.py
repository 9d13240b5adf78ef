"""Softmaxes: exponentials along a dimension, divided by their sum."""

from __future__ import annotations

from ..._tensor.tensor import Tensor
from .. import functional as F
from .module import Module

__all__ = ["LogSoftmax", "Softmax", "Softmax2d", "Softmin"]


class Softmin(Module):
    """The softmax of the negative input.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.Softmin(0)(dt.zeros(2))
    tensor([0.5000, 0.5000])
    """

    __constants__ = ["dim"]

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        return F.softmin(input, self.dim)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class Softmax(Module):
    """Exponentials along ``dim``, divided by their sum.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.Softmax(0)(dt.zeros(2))
    tensor([0.5000, 0.5000])
    """

    __constants__ = ["dim"]

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        return F.softmax(input, self.dim)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class Softmax2d(Module):
    """The softmax over the channels of images, (N, C, H, W) or (C, H, W).

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.Softmax2d()(dt.zeros(2, 1, 1)).flatten()
    tensor([0.5000, 0.5000])
    """

    def forward(self, input: Tensor) -> Tensor:
        if input.dim() not in (3, 4):
            raise ValueError(f"Softmax2d takes an input of 3 dimensions, or 4 with a batch, got {input.dim()}")
        return F.softmax(input, -3)


class LogSoftmax(Module):
    """The logarithm of the softmax along ``dim``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.LogSoftmax(0)(dt.zeros(2))
    tensor([-0.6931, -0.6931])
    """

    __constants__ = ["dim"]

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        return F.log_softmax(input, self.dim)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"
