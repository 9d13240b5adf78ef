"""Padding around signals, images and volumes."""

from __future__ import annotations

from typing import Any

from ..._tensor.tensor import Tensor
from .. import functional as F
from .module import Module
from .utils import _ntuple

__all__ = [
    "CircularPad1d",
    "CircularPad2d",
    "CircularPad3d",
    "ConstantPad1d",
    "ConstantPad2d",
    "ConstantPad3d",
    "ReflectionPad1d",
    "ReflectionPad2d",
    "ReflectionPad3d",
    "ReplicationPad1d",
    "ReplicationPad2d",
    "ReplicationPad3d",
    "ZeroPad1d",
    "ZeroPad2d",
    "ZeroPad3d",
]


class _Pad(Module):
    """Padding before and after each dimension, the last first; a single number applies to all."""

    __constants__ = ["padding"]
    _dt_spatial: int
    _dt_mode: str

    def __init__(self, padding: Any) -> None:
        super().__init__()
        self.padding = _ntuple(2 * self._dt_spatial)(padding)

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, self._dt_mode)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _CircularPadNd(_Pad):
    _dt_mode = "circular"

    def _check_input_dim(self, input: Any) -> None:
        alone = self._dt_spatial + 1
        if input.dim() not in (alone, alone + 1):
            raise ValueError(f"expected {alone}D or {alone + 1}D input (got {input.dim()}D input)")

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        return super().forward(input)


class _ReflectionPadNd(_Pad):
    _dt_mode = "reflect"


class _ReplicationPadNd(_Pad):
    _dt_mode = "replicate"


class _ConstantPadNd(_Pad):
    __constants__ = ["padding", "value"]

    def __init__(self, padding: Any, value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class CircularPad1d(_CircularPadNd):
    """(N, C, L) or (C, L) with values from the other side around it.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.CircularPad1d(1)(dt.tensor([[1.0, 2.0, 3.0]]))
    tensor([[3., 1., 2., 3., 1.]])
    """

    _dt_spatial = 1


class CircularPad2d(_CircularPadNd):
    """(N, C, H, W) or (C, H, W) with values from the other side around it.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.CircularPad2d(1)(dt.ones(1, 3, 3)).shape
    dualtape.Size([1, 5, 5])
    """

    _dt_spatial = 2


class CircularPad3d(_CircularPadNd):
    """(N, C, D, H, W) or (C, D, H, W) with values from the other side around it.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.CircularPad3d(1)(dt.ones(1, 3, 3, 3)).shape
    dualtape.Size([1, 5, 5, 5])
    """

    _dt_spatial = 3


class ReflectionPad1d(_ReflectionPadNd):
    """(N, C, L) or (C, L) with a reflection of what is inside around it.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.ReflectionPad1d(1)(dt.tensor([[1.0, 2.0, 3.0]]))
    tensor([[2., 1., 2., 3., 2.]])
    """

    _dt_spatial = 1


class ReflectionPad2d(_ReflectionPadNd):
    """(N, C, H, W) or (C, H, W) with a reflection of what is inside around it.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.ReflectionPad2d(1)(dt.ones(1, 3, 3)).shape
    dualtape.Size([1, 5, 5])
    """

    _dt_spatial = 2


class ReflectionPad3d(_ReflectionPadNd):
    """(N, C, D, H, W) or (C, D, H, W) with a reflection of what is inside around it.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.ReflectionPad3d(1)(dt.ones(1, 3, 3, 3)).shape
    dualtape.Size([1, 5, 5, 5])
    """

    _dt_spatial = 3


class ReplicationPad1d(_ReplicationPadNd):
    """(N, C, L) or (C, L) with the outermost values around it.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.ReplicationPad1d(1)(dt.tensor([[1.0, 2.0, 3.0]]))
    tensor([[1., 1., 2., 3., 3.]])
    """

    _dt_spatial = 1


class ReplicationPad2d(_ReplicationPadNd):
    """(N, C, H, W) or (C, H, W) with the outermost values around it.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.ReplicationPad2d(1)(dt.ones(1, 3, 3)).shape
    dualtape.Size([1, 5, 5])
    """

    _dt_spatial = 2


class ReplicationPad3d(_ReplicationPadNd):
    """(N, C, D, H, W) or (C, D, H, W) with the outermost values around it.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.ReplicationPad3d(1)(dt.ones(1, 3, 3, 3)).shape
    dualtape.Size([1, 5, 5, 5])
    """

    _dt_spatial = 3


class ConstantPad1d(_ConstantPadNd):
    """(N, C, L) or (C, L) with ``value`` around it.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.ConstantPad1d(1, 5.0)(dt.tensor([[1.0, 2.0, 3.0]]))
    tensor([[5., 1., 2., 3., 5.]])
    """

    _dt_spatial = 1


class ConstantPad2d(_ConstantPadNd):
    """(N, C, H, W) or (C, H, W) with ``value`` around it.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.ConstantPad2d(1, 5.0)(dt.ones(1, 3, 3)).shape
    dualtape.Size([1, 5, 5])
    """

    _dt_spatial = 2


class ConstantPad3d(_ConstantPadNd):
    """(N, C, D, H, W) or (C, D, H, W) with ``value`` around it.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.ConstantPad3d(1, 5.0)(dt.ones(1, 3, 3, 3)).shape
    dualtape.Size([1, 5, 5, 5])
    """

    _dt_spatial = 3


class ZeroPad1d(ConstantPad1d):
    """(N, C, L) or (C, L) with zeros around it.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.ZeroPad1d(1)(dt.tensor([[1.0, 2.0, 3.0]]))
    tensor([[0., 1., 2., 3., 0.]])
    """

    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ZeroPad2d(ConstantPad2d):
    """(N, C, H, W) or (C, H, W) with zeros around it.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.ZeroPad2d(1)(dt.ones(1, 3, 3)).shape
    dualtape.Size([1, 5, 5])
    """

    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ZeroPad3d(ConstantPad3d):
    """(N, C, D, H, W) or (C, D, H, W) with zeros around it.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.ZeroPad3d(1)(dt.ones(1, 3, 3, 3)).shape
    dualtape.Size([1, 5, 5, 5])
    """

    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"
