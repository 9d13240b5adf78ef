"""Convolutions and their transposes, of 1, 2 and 3 dimensions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..._tensor.shaped import empty
from ..._tensor.tensor import Tensor
from .. import functional as F
from .. import init
from ..parameter import Parameter, UninitializedParameter
from .lazy import LazyModuleMixin
from .module import Module
from .utils import _ntuple, _reverse_repeat_tuple

__all__ = [
    "Conv1d",
    "Conv2d",
    "Conv3d",
    "ConvTranspose1d",
    "ConvTranspose2d",
    "ConvTranspose3d",
    "LazyConv1d",
    "LazyConv2d",
    "LazyConv3d",
    "LazyConvTranspose1d",
    "LazyConvTranspose2d",
    "LazyConvTranspose3d",
]

_MODES = ("zeros", "reflect", "replicate", "circular")


class _ConvNd(Module):
    """The parameters and settings of a convolution of any number of dimensions."""

    __constants__ = [
        "stride",
        "padding",
        "dilation",
        "groups",
        "padding_mode",
        "output_padding",
        "in_channels",
        "out_channels",
        "kernel_size",
    ]
    weight: Any
    bias: Any

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: tuple[int, ...],
        stride: tuple[int, ...],
        padding: Any,
        dilation: tuple[int, ...],
        transposed: bool,
        output_padding: tuple[int, ...],
        groups: int,
        bias: bool,
        padding_mode: str,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if groups <= 0:
            raise ValueError(f"groups must be a positive integer, got {groups}")
        for name, channels in (("in_channels", in_channels), ("out_channels", out_channels)):
            if channels % groups:
                raise ValueError(f"{name} must be divisible by groups, got {channels} and {groups}")
        if isinstance(padding, str):
            if padding not in ("same", "valid"):
                raise ValueError(f"Invalid padding string {padding!r}, should be one of 'same', 'valid'")
            if padding == "same" and any(s != 1 for s in stride):
                raise ValueError("padding='same' keeps the size, which a stride other than 1 does not: pass a number")
        if padding_mode not in _MODES:
            raise ValueError(f"unknown padding_mode {padding_mode!r}: expected one of {_MODES}")
        self.in_channels, self.out_channels, self.kernel_size = in_channels, out_channels, kernel_size
        self.stride, self.padding, self.dilation = stride, padding, dilation
        self.transposed, self.output_padding, self.groups = transposed, output_padding, groups
        self.padding_mode = padding_mode
        self._reversed_padding_repeated_twice = self._dt_amounts()
        shape = (in_channels, out_channels // groups) if transposed else (out_channels, in_channels // groups)
        self.weight = Parameter(empty((*shape, *kernel_size), device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(empty(out_channels, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def _dt_amounts(self) -> Any:
        """Return the padding before and after, from the last dimension to the first, as ``F.pad`` takes it."""
        if not isinstance(self.padding, str):
            return _reverse_repeat_tuple(self.padding, 2)
        if self.padding == "valid":
            return [0, 0] * len(self.kernel_size)
        totals = [d * (k - 1) for d, k in zip(self.dilation, self.kernel_size, strict=True)]
        return [half for total in reversed(totals) for half in (total // 2, total - total // 2)]

    def reset_parameters(self) -> None:
        """Draw the parameters uniformly within ``1 / sqrt(inputs of each output)`` of zero."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
            if fan_in:
                init.uniform_(self.bias, -1 / math.sqrt(fan_in), 1 / math.sqrt(fan_in))

    def _conv_forward(self, input: Any, weight: Any, bias: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} must define _conv_forward(input, weight, bias)")

    def extra_repr(self) -> str:
        shown = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        for name, usual in (("padding", 0), ("dilation", 1), ("output_padding", 0)):
            value = getattr(self, name)
            if value != (usual,) * len(value):
                shown += f", {name}={value}"
        shown += f", groups={self.groups}" if self.groups != 1 else ""
        shown += ", bias=False" if self.bias is None else ""
        return shown + (f", padding_mode={self.padding_mode}" if self.padding_mode != "zeros" else "")

    def __setstate__(self, state: dict) -> None:
        super().__setstate__(state)
        self.__dict__.setdefault("padding_mode", "zeros")


class _Conv(_ConvNd):
    """A convolution; subclasses set the number of dimensions and the function."""

    _dt_spatial: int
    _dt_function: Callable

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        each = _ntuple(self._dt_spatial)
        padding = padding if isinstance(padding, str) else each(padding)
        super().__init__(
            in_channels,
            out_channels,
            each(kernel_size),
            each(stride),
            padding,
            each(dilation),
            False,
            each(0),
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )

    def _conv_forward(self, input: Any, weight: Any, bias: Any) -> Any:
        padding = self.padding
        if self.padding_mode != "zeros":
            input = F.pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode)
            padding = 0
        return self._dt_function(input, weight, bias, self.stride, padding, self.dilation, self.groups)

    def forward(self, input: Tensor) -> Tensor:
        return self._conv_forward(input, self.weight, self.bias)


class Conv1d(_Conv):
    """A convolution of (N, C, L) or (C, L).

    Parameters
    ----------
    in_channels, out_channels : int
        The number of channels of input and output.
    kernel_size : int or tuple
    stride, dilation : int or tuple
        Steps between the positions of the kernel, and between its elements.
    padding : int, tuple or str
        How much to add on both sides; ``"same"``: as much as keeps the size, ``"valid"``: nothing.
    groups : int
        The channels are split into so many groups, which do not see each other.
    bias : bool
    padding_mode : str
        What to add: ``"zeros"``, ``"reflect"``, ``"replicate"``, ``"circular"``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.Conv1d(2, 3, 5, padding="same")(dt.ones(1, 2, 8)).shape
    dualtape.Size([1, 3, 8])
    """

    _dt_spatial, _dt_function = 1, staticmethod(F.conv1d)


class Conv2d(_Conv):
    """A convolution of (N, C, H, W) or (C, H, W); arguments as of :class:`Conv1d`.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.Conv2d(3, 8, 3, padding=1)(dt.ones(1, 3, 6, 6)).shape
    dualtape.Size([1, 8, 6, 6])
    """

    _dt_spatial, _dt_function = 2, staticmethod(F.conv2d)


class Conv3d(_Conv):
    """A convolution of (N, C, D, H, W) or (C, D, H, W); arguments as of :class:`Conv1d`.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.Conv3d(1, 2, 3)(dt.ones(1, 1, 5, 5, 5)).shape
    dualtape.Size([1, 2, 3, 3, 3])
    """

    _dt_spatial, _dt_function = 3, staticmethod(F.conv3d)


# --- transposed -----------------------------------------------------------------------------------


class _ConvTransposeNd(_ConvNd):
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any,
        padding: Any,
        dilation: Any,
        transposed: bool,
        output_padding: Any,
        groups: int,
        bias: bool,
        padding_mode: str,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}, got {padding_mode!r}')
        super().__init__(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            dilation,
            transposed,
            output_padding,
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )

    def _output_padding(
        self,
        input: Any,
        output_size: Any,
        stride: Any,
        padding: Any,
        kernel_size: Any,
        num_spatial_dims: int,
        dilation: Any = None,
    ) -> Any:
        """Return the padding at the end of each dimension that gives the requested output size."""
        if output_size is None:
            return self.output_padding
        before = 2 if input.dim() == num_spatial_dims + 2 else 1
        wanted = list(output_size)
        if len(wanted) == before + num_spatial_dims:
            wanted = wanted[before:]
        if len(wanted) != num_spatial_dims:
            raise ValueError(
                f"output_size has a number for each of the {num_spatial_dims} spatial dimensions, or for all"
                f" {before + num_spatial_dims}; got {len(wanted)}"
            )
        dilation = dilation or (1,) * num_spatial_dims
        smallest = [
            (n - 1) * s - 2 * p + d * (k - 1) + 1
            for n, s, p, d, k in zip(input.shape[before:], stride, padding, dilation, kernel_size, strict=True)
        ]
        largest = [n + s - 1 for n, s in zip(smallest, stride, strict=True)]
        if not all(low <= n <= high for low, n, high in zip(smallest, wanted, largest, strict=True)):
            raise ValueError(
                f"an input of {list(input.shape[before:])} gives output sizes from {smallest} to {largest}, and"
                f" output_size={wanted}"
            )
        return [n - low for n, low in zip(wanted, smallest, strict=True)]


class _ConvTranspose(_ConvTransposeNd):
    """A transposed convolution; subclasses set the number of dimensions and the function."""

    _dt_spatial: int
    _dt_function: Callable

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Any = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        each = _ntuple(self._dt_spatial)
        super().__init__(
            in_channels,
            out_channels,
            each(kernel_size),
            each(stride),
            each(padding),
            each(dilation),
            True,
            each(output_padding),
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )

    def forward(self, input: Any, output_size: Any = None) -> Any:
        extra = self._output_padding(
            input, output_size, self.stride, self.padding, self.kernel_size, self._dt_spatial, self.dilation
        )
        return self._dt_function(
            input, self.weight, self.bias, self.stride, self.padding, extra, self.groups, self.dilation
        )


class ConvTranspose1d(_ConvTranspose):
    """The transpose of a :class:`Conv1d`, as a gradient with respect to its input.

    Parameters
    ----------
    in_channels, out_channels : int
        The number of channels of input and output.
    kernel_size, stride, padding, dilation, groups
        Those of the convolution.
    output_padding : int or tuple
        Added at the end: several sizes of input have one size of output, and this says which it was.
    bias : bool

    Examples
    --------
    >>> import dualtape as dt
    >>> layer = dt.nn.ConvTranspose1d(2, 3, 4, stride=2)
    >>> layer(dt.ones(1, 2, 5)).shape, layer(dt.ones(1, 2, 5), output_size=[13]).shape
    (dualtape.Size([1, 3, 12]), dualtape.Size([1, 3, 13]))
    """

    _dt_spatial, _dt_function = 1, staticmethod(F.conv_transpose1d)


class ConvTranspose2d(_ConvTranspose):
    """The transpose of a :class:`Conv2d`; arguments as of :class:`ConvTranspose1d`.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.ConvTranspose2d(2, 3, 4, stride=2)(dt.ones(1, 2, 5, 5)).shape
    dualtape.Size([1, 3, 12, 12])
    """

    _dt_spatial, _dt_function = 2, staticmethod(F.conv_transpose2d)


class ConvTranspose3d(_ConvTranspose):
    """The transpose of a :class:`Conv3d`; arguments as of :class:`ConvTranspose1d`.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.ConvTranspose3d(1, 2, 2)(dt.ones(1, 1, 3, 3, 3)).shape
    dualtape.Size([1, 2, 4, 4, 4])
    """

    _dt_spatial, _dt_function = 3, staticmethod(F.conv_transpose3d)


# --- that learn the number of channels ------------------------------------------------------------


class _LazyConvXdMixin(LazyModuleMixin):
    weight: Any
    bias: Any

    def _dt_postpone(self, out_channels: int, bias: bool, device: Any, dtype: Any) -> None:
        """Instead of the parameters for no channels, those for an unknown number."""
        self.out_channels = out_channels
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        """As of the convolution, once the parameters are there."""
        if not self.has_uninitialized_params() and self.in_channels != 0:
            super().reset_parameters()  # type: ignore[misc]

    def initialize_parameters(self, input: Any, *args: Any, **kwargs: Any) -> None:
        """Make the parameters for an input."""
        if not self.has_uninitialized_params():
            return
        self.in_channels = self._get_in_channels(input)
        groups, kernel = self.groups, self.kernel_size  # type: ignore[attr-defined]
        if self.in_channels % groups:
            raise ValueError(f"in_channels must be divisible by groups, got {self.in_channels} and {groups}")
        ends = (self.out_channels, self.in_channels)
        first, second = reversed(ends) if self.transposed else ends  # type: ignore[attr-defined]
        self.weight.materialize((first, second // groups, *kernel))
        if self.bias is not None:
            self.bias.materialize((self.out_channels,))
        self.reset_parameters()

    def _get_in_channels(self, input: Any) -> int:
        alone = self._get_num_spatial_dims() + 1
        if input.dim() not in (alone, alone + 1):
            raise RuntimeError(
                f"{type(self).__name__} takes {alone} dimensions, or {alone + 1} with a batch, got an input of shape"
                f" {tuple(input.shape)}"
            )
        return input.shape[-alone]

    def _get_num_spatial_dims(self) -> int:
        return self._dt_spatial  # type: ignore[attr-defined]


class _LazyConv(_LazyConvXdMixin):
    def __init__(
        self,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(0, 0, kernel_size, stride, padding, dilation, groups, False, padding_mode, device, dtype)
        self._dt_postpone(out_channels, bias, device, dtype)


class _LazyConvTranspose(_LazyConvXdMixin):
    def __init__(
        self,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Any = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            0, 0, kernel_size, stride, padding, output_padding, groups, False, dilation, padding_mode, device, dtype
        )
        self._dt_postpone(out_channels, bias, device, dtype)


def _lazy(base: type, mixin: type, shape: str) -> Any:
    """Return the class that becomes ``base`` with its first input."""
    name = f"Lazy{base.__name__}"
    doc = f"""A :class:`{base.__name__}` that learns ``in_channels`` from its first input.

    Examples
    --------
    >>> import dualtape as dt
    >>> layer = dt.nn.{name}(2, 1)
    >>> layer(dt.ones({shape})).shape, layer.in_channels
    (dualtape.Size([{shape.replace(", 3", ", 2", 1)}]), 3)
    """
    return type(name, (mixin, base), {"cls_to_become": base, "__doc__": doc, "__module__": __name__})


LazyConv1d = _lazy(Conv1d, _LazyConv, "1, 3, 4")
LazyConv2d = _lazy(Conv2d, _LazyConv, "1, 3, 4, 4")
LazyConv3d = _lazy(Conv3d, _LazyConv, "1, 3, 4, 4, 4")
LazyConvTranspose1d = _lazy(ConvTranspose1d, _LazyConvTranspose, "1, 3, 4")
LazyConvTranspose2d = _lazy(ConvTranspose2d, _LazyConvTranspose, "1, 3, 4, 4")
LazyConvTranspose3d = _lazy(ConvTranspose3d, _LazyConvTranspose, "1, 3, 4, 4, 4")
