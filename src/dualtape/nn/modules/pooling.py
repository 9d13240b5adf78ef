"""Pools: the largest, mean or p-norm of the elements in each window."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import functional as F
from .module import Module
from .utils import _ntuple, _single

__all__ = [
    "AdaptiveAvgPool1d",
    "AdaptiveAvgPool2d",
    "AdaptiveAvgPool3d",
    "AdaptiveMaxPool1d",
    "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3d",
    "AvgPool1d",
    "AvgPool2d",
    "AvgPool3d",
    "FractionalMaxPool2d",
    "FractionalMaxPool3d",
    "LPPool1d",
    "LPPool2d",
    "LPPool3d",
    "MaxPool1d",
    "MaxPool2d",
    "MaxPool3d",
    "MaxUnpool1d",
    "MaxUnpool2d",
    "MaxUnpool3d",
]

# --- the largest ----------------------------------------------------------------------------------


class _MaxPoolNd(Module):
    __constants__ = ["kernel_size", "stride", "padding", "dilation", "return_indices", "ceil_mode"]
    _dt_function: Callable

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.kernel_size, self.stride = kernel_size, kernel_size if stride is None else stride
        self.padding, self.dilation = padding, dilation
        self.return_indices, self.ceil_mode = return_indices, ceil_mode

    def forward(self, input: Any) -> Any:
        return self._dt_function(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.dilation,
            ceil_mode=self.ceil_mode,
            return_indices=self.return_indices,
        )

    def extra_repr(self) -> str:
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, dilation={self.dilation},"
            f" ceil_mode={self.ceil_mode}"
        )


class MaxPool1d(_MaxPoolNd):
    """The largest element in each window of (N, C, L) or (C, L).

    Parameters
    ----------
    kernel_size : int or tuple
        The size of a window.
    stride : int or tuple, optional
        Steps between windows; default: their size.
    padding : int or tuple
        How far windows reach over both ends.
    dilation : int or tuple
        Steps between the elements of a window.
    return_indices : bool
        Also return the indices of the elements, for :class:`MaxUnpool1d`.
    ceil_mode : bool
        Windows may reach over the end.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.MaxPool1d(2)(dt.tensor([[1.0, 3.0, 2.0, 0.0]]))
    tensor([[3., 2.]])
    """

    _dt_function = staticmethod(F.max_pool1d)


class MaxPool2d(_MaxPoolNd):
    """The largest element in each window of (N, C, H, W) or (C, H, W); arguments as of :class:`MaxPool1d`.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.MaxPool2d(2)(dt.arange(16.0).reshape(1, 4, 4))
    tensor([[[ 5.,  7.],
             [13., 15.]]])
    """

    _dt_function = staticmethod(F.max_pool2d)


class MaxPool3d(_MaxPoolNd):
    """The largest element in each window of (N, C, D, H, W) or (C, D, H, W); arguments as of :class:`MaxPool1d`.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.MaxPool3d(2)(dt.ones(1, 4, 4, 4)).shape
    dualtape.Size([1, 2, 2, 2])
    """

    _dt_function = staticmethod(F.max_pool3d)


class _MaxUnpoolNd(Module):
    _dt_spatial: int
    _dt_function: Callable

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0) -> None:
        super().__init__()
        each = _ntuple(self._dt_spatial)
        self.kernel_size, self.padding = each(kernel_size), each(padding)
        self.stride = each(kernel_size if stride is None else stride)

    def forward(self, input: Any, indices: Any, output_size: Any = None) -> Any:
        return self._dt_function(input, indices, self.kernel_size, self.stride, self.padding, output_size)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxUnpool1d(_MaxUnpoolNd):
    """Elements at the indices that :class:`MaxPool1d` returned, zeros elsewhere.

    Examples
    --------
    >>> import dualtape as dt
    >>> pooled, indices = dt.nn.MaxPool1d(2, return_indices=True)(dt.tensor([[1.0, 3.0, 2.0, 0.0]]))
    >>> dt.nn.MaxUnpool1d(2)(pooled, indices)
    tensor([[0., 3., 2., 0.]])
    """

    _dt_spatial, _dt_function = 1, staticmethod(F.max_unpool1d)


class MaxUnpool2d(_MaxUnpoolNd):
    """Elements at the indices that :class:`MaxPool2d` returned, zeros elsewhere.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.MaxUnpool2d(2)(dt.ones(1, 1, 1), dt.tensor([[[3]]]))
    tensor([[[0., 0.],
             [0., 1.]]])
    """

    _dt_spatial, _dt_function = 2, staticmethod(F.max_unpool2d)


class MaxUnpool3d(_MaxUnpoolNd):
    """Elements at the indices that :class:`MaxPool3d` returned, zeros elsewhere.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.MaxUnpool3d(2)(dt.ones(1, 1, 1, 1), dt.tensor([[[[7]]]])).sum()
    tensor(1.)
    """

    _dt_spatial, _dt_function = 3, staticmethod(F.max_unpool3d)


class _FractionalMaxPoolNd(Module):
    __constants__ = ["kernel_size", "return_indices", "output_size", "output_ratio"]
    _random_samples: Any
    _dt_spatial: int
    _dt_function: Callable

    def __init__(
        self,
        kernel_size: Any,
        output_size: Any = None,
        output_ratio: Any = None,
        return_indices: bool = False,
        _random_samples: Any = None,
    ) -> None:
        super().__init__()
        each, name = _ntuple(self._dt_spatial), type(self).__name__
        if (output_size is None) == (output_ratio is None):
            raise ValueError(f"{name} requires specifying either an output size, or a pooling ratio, and not both")
        self.kernel_size, self.return_indices = each(kernel_size), return_indices
        self.output_size = each(output_size) if output_size is not None else None
        self.output_ratio = each(output_ratio) if output_ratio is not None else None
        if self.output_ratio is not None and not all(0 < ratio < 1 for ratio in self.output_ratio):
            raise ValueError(f"output_ratio must be greater than 0 and less than 1, got {output_ratio}")
        self.register_buffer("_random_samples", _random_samples)

    def forward(self, input: Any) -> Any:
        return self._dt_function(
            input,
            self.kernel_size,
            self.output_size,
            self.output_ratio,
            self.return_indices,
            _random_samples=self._random_samples,
        )


class FractionalMaxPool2d(_FractionalMaxPoolNd):
    """The largest element in each of ``output_size`` windows at random positions.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.FractionalMaxPool2d(2, output_ratio=0.5)(dt.ones(1, 1, 8, 8)).shape
    dualtape.Size([1, 1, 4, 4])
    """

    _dt_spatial, _dt_function = 2, staticmethod(F.fractional_max_pool2d)


class FractionalMaxPool3d(_FractionalMaxPoolNd):
    """:class:`FractionalMaxPool2d` of volumes.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.FractionalMaxPool3d(2, output_size=3)(dt.ones(1, 1, 8, 8, 8)).shape
    dualtape.Size([1, 1, 3, 3, 3])
    """

    _dt_spatial, _dt_function = 3, staticmethod(F.fractional_max_pool3d)


# --- means and norms ------------------------------------------------------------------------------


class _AvgPoolNd(Module):
    __constants__ = ["kernel_size", "stride", "padding", "ceil_mode", "count_include_pad", "divisor_override"]
    _dt_function: Callable

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size, self.stride = kernel_size, kernel_size if stride is None else stride
        self.padding, self.ceil_mode, self.count_include_pad = padding, ceil_mode, count_include_pad
        self.divisor_override = divisor_override

    def forward(self, input: Any) -> Any:
        return self._dt_function(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
            self.divisor_override,
        )

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool1d(_AvgPoolNd):
    """The mean of the elements in each window of (N, C, L) or (C, L).

    Parameters
    ----------
    kernel_size, stride, padding, ceil_mode
        As of :class:`MaxPool1d`.
    count_include_pad : bool
        The zeros added at the ends count as elements.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.AvgPool1d(2)(dt.tensor([[1.0, 3.0, 2.0, 0.0]]))
    tensor([[2., 1.]])
    """

    __constants__ = _AvgPoolNd.__constants__[:-1]

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        stride = kernel_size if stride is None else stride
        super().__init__(_single(kernel_size), _single(stride), _single(padding), ceil_mode, count_include_pad)

    def forward(self, input: Any) -> Any:
        return F.avg_pool1d(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad)


class AvgPool2d(_AvgPoolNd):
    """The mean of the elements in each window of (N, C, H, W) or (C, H, W); arguments as of :class:`AvgPool1d`, and
    ``divisor_override``, by which sums are divided instead of their number of elements.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.AvgPool2d(2)(dt.arange(4.0).reshape(1, 2, 2))
    tensor([[[1.5000]]])
    """

    _dt_function = staticmethod(F.avg_pool2d)


class AvgPool3d(_AvgPoolNd):
    """The mean of the elements in each window of (N, C, D, H, W) or (C, D, H, W); arguments as of
    :class:`AvgPool2d`.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.AvgPool3d(2)(dt.ones(1, 4, 4, 4)).shape
    dualtape.Size([1, 2, 2, 2])
    """

    _dt_function = staticmethod(F.avg_pool3d)


class _LPPoolNd(Module):
    __constants__ = ["norm_type", "kernel_size", "stride", "ceil_mode"]
    _dt_function: Callable

    def __init__(self, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> None:
        super().__init__()
        self.norm_type, self.kernel_size = norm_type, kernel_size
        self.stride, self.ceil_mode = stride, ceil_mode

    def forward(self, input: Any) -> Any:
        return self._dt_function(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)

    def extra_repr(self) -> str:
        return ", ".join(f"{name}={getattr(self, name)}" for name in self.__constants__)


class LPPool1d(_LPPoolNd):
    """The p-norm of the elements in each window of (N, C, L) or (C, L).

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.LPPool1d(2, 2)(dt.tensor([[3.0, 4.0]]))
    tensor([[5.]])
    """

    _dt_function = staticmethod(F.lp_pool1d)


class LPPool2d(_LPPoolNd):
    """The p-norm of the elements in each window of (N, C, H, W) or (C, H, W).

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.LPPool2d(2, 2)(dt.ones(1, 1, 2, 2)).item()
    2.0
    """

    _dt_function = staticmethod(F.lp_pool2d)


class LPPool3d(_LPPoolNd):
    """The p-norm of the elements in each window of (N, C, D, H, W) or (C, D, H, W).

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.LPPool3d(1, 2)(dt.ones(1, 1, 2, 2, 2)).item()
    8.0
    """

    _dt_function = staticmethod(F.lp_pool3d)


# --- windows by the size of the output ------------------------------------------------------------


class _AdaptiveMaxPoolNd(Module):
    __constants__ = ["output_size", "return_indices"]
    _dt_function: Callable

    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        super().__init__()
        self.output_size, self.return_indices = output_size, return_indices

    def forward(self, input: Any) -> Any:
        return self._dt_function(input, self.output_size, self.return_indices)

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd):
    """The largest element in each of ``output_size`` windows.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.AdaptiveMaxPool1d(2)(dt.arange(6.0).reshape(1, 6))
    tensor([[2., 5.]])
    """

    _dt_function = staticmethod(F.adaptive_max_pool1d)


class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd):
    """The largest element in each of ``output_size`` windows; None keeps the size of a dimension.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.AdaptiveMaxPool2d((None, 2))(dt.ones(1, 1, 5, 6)).shape
    dualtape.Size([1, 1, 5, 2])
    """

    _dt_function = staticmethod(F.adaptive_max_pool2d)


class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd):
    """The largest element in each of ``output_size`` windows; None keeps the size of a dimension.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.AdaptiveMaxPool3d(2)(dt.ones(1, 1, 5, 6, 7)).shape
    dualtape.Size([1, 1, 2, 2, 2])
    """

    _dt_function = staticmethod(F.adaptive_max_pool3d)


class _AdaptiveAvgPoolNd(Module):
    __constants__ = ["output_size"]
    _dt_function: Callable

    def __init__(self, output_size: Any) -> None:
        super().__init__()
        self.output_size = output_size

    def forward(self, input: Any) -> Any:
        return self._dt_function(input, self.output_size)

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveAvgPool1d(_AdaptiveAvgPoolNd):
    """The mean of each of ``output_size`` windows.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.AdaptiveAvgPool1d(2)(dt.arange(6.0).reshape(1, 6))
    tensor([[1., 4.]])
    """

    _dt_function = staticmethod(F.adaptive_avg_pool1d)


class AdaptiveAvgPool2d(_AdaptiveAvgPoolNd):
    """The mean of each of ``output_size`` windows; None keeps the size of a dimension.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.AdaptiveAvgPool2d(1)(dt.ones(2, 3, 5, 6)).shape
    dualtape.Size([2, 3, 1, 1])
    """

    _dt_function = staticmethod(F.adaptive_avg_pool2d)


class AdaptiveAvgPool3d(_AdaptiveAvgPoolNd):
    """The mean of each of ``output_size`` windows; None keeps the size of a dimension.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.AdaptiveAvgPool3d(2)(dt.ones(1, 1, 5, 6, 7)).shape
    dualtape.Size([1, 1, 2, 2, 2])
    """

    _dt_function = staticmethod(F.adaptive_avg_pool3d)
