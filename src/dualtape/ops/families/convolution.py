"""Convolutions of any number of spatial dimensions, their transposes, and windows as columns.

The three products of a convolution (output, gradient of the input, gradient of the weight) are each bilinear in two
of its three arrays, and each is the gradient of the others: three ops, closed under differentiation. How they are
computed is in ``arrays/kernels/convolutions.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from math import prod
from operator import index
from typing import Any

import numpy as np

from ...arrays.kernels.basics import add_reduce, contiguous
from ...arrays.kernels.blas import one_thread
from ...arrays.kernels.convolutions import _convolution, _transposed, _weight
from ...arrays.kernels.memory_order import channels_lie_last, with_channels_last
from ...arrays.kernels.windows import _from_columns, _out_sizes, _windows, padded
from ..dispatch import FUNCTIONS
from ..formulas import is_whole, use
from ..samples import real, sample
from ..table import BILINEAR, GENERAL, LINEAR, composite, op

_F = "nn.functional"


def each(value: Any, dims: int, name: str, what: str) -> tuple[int, ...]:
    """Return ``value`` for each of ``dims`` dimensions: an int applies to all."""
    if isinstance(value, int):
        return (value,) * dims
    if is_whole(value):
        return (index(value),) * dims
    values = tuple(int(v) for v in value)
    if len(values) == 1:
        return values * dims
    if len(values) != dims:
        raise RuntimeError(
            f"{name}: expected {what} to be a single integer or a list of {dims} values, got {list(values)}"
        )
    return values


def settings(name: str, dims: int, **values: Any) -> list[tuple[int, ...]]:
    """Return the values of arguments for each of ``dims`` dimensions, in order."""
    return [each(value, dims, name, what) for what, value in values.items()]


def _channel_sum(g: Any) -> Any:
    return np.sum(g, axis=(0, *range(2, len(g.shape))))


def _channel_sum_arrays(g: Any) -> Any:
    """Return :func:`_channel_sum`, summed first over the pixels of each image."""
    return add_reduce(add_reduce(g, axis=tuple(range(2, g.ndim))), axis=0)


def _cut(v: Any, shape: tuple) -> Any:
    """Return ``v`` without the windows that exist because of an output padding alone."""
    return v if tuple(v.shape) == tuple(shape) else v[(..., *(slice(n) for n in shape[2:]))]


def _along_channels(t: Any, ndim: int) -> Any:
    return t.reshape(-1, *(1,) * (ndim - 2))


_transposed_alone, _weight_alone = one_thread(_transposed), one_thread(_weight)


def _images_in_order(forward: Callable) -> Callable:
    """Return ``forward`` with its result's channels last in memory if those of the input or the weight are."""

    run = one_thread(forward)

    @wraps(forward)
    def ordered(x: Any, weight: Any, *args: Any) -> Any:
        result = run(x, weight, *args)
        if type(x) is np.ndarray and x.flags.c_contiguous and weight.flags.c_contiguous:
            return result
        return with_channels_last(result) if channels_lie_last(x) or channels_lie_last(weight) else result

    return ordered


_convolve = op("convolution", _images_in_order(_convolution), kind=GENERAL, whole=True, public=False, method=False, node="ConvolutionBackward0",
    torch_name="-",
   vjp=dict(x=lambda g, weight, x_shape, stride, padding, dilation, groups:
                use("convolution_transposed")(g, weight.conj(), None, tuple(x_shape[2:]), stride, padding, dilation,
                    groups),
            weight=lambda g, x, weight_shape, stride, padding, dilation, groups:
                use("convolution_weight")(g, x.conj(), weight_shape, stride, padding, dilation, groups),
            bias=lambda g: _channel_sum(g)),
   numpy_vjp=dict(x=lambda g, weight, x_shape, stride, padding, dilation, groups:
                 _transposed_alone(g, weight.conj(), None, x_shape[2:], stride, padding, dilation, groups),
              weight=lambda g, x, weight_shape, stride, padding, dilation,
              groups: _weight_alone(g, x.conj(), weight_shape, stride, padding, dilation, groups),
              bias=_channel_sum_arrays),
   jvp=dict(x=lambda t, weight, stride, padding, dilation,
       groups: use("convolution")(t, weight, None, stride, padding, dilation, groups),
            weight=lambda t, x, stride, padding, dilation,
            groups: use("convolution")(x, t, None, stride, padding, dilation, groups),
            bias=lambda t, out: np.broadcast_to(_along_channels(t, len(out.shape)), out.shape)),
   samples=(sample(real(2, 3, 5), real(4, 3, 2), real(4), (1,), (0,), (1,), 1),
       sample(real(2, 4, 5, 4), real(4, 2, 2, 3), None, (2, 1), (1, 1), (1, 1), 2),
            sample(real(1, 1, 3, 3, 3), real(2, 1, 2, 2, 2), real(2), (1, 1, 1), (0, 0, 0), (1, 1, 1), 1)),
   doc="""The convolution (cross-correlation) of a batch with a weight.""")  # fmt: skip
_deconvolve = op("convolution_transposed", _images_in_order(_transposed), kind=GENERAL, whole=True, public=False, method=False,
    node="ConvolutionBackward0", torch_name="-",
   vjp=dict(x=lambda g, weight, x_shape, stride, padding, dilation, groups:
                _cut(use("convolution")(g, weight.conj(), None, stride, padding, dilation, groups), x_shape),
            weight=lambda g, x, weight_shape, stride, padding, dilation, groups:
                use("convolution_weight")(x.conj(), g, weight_shape, stride, padding, dilation, groups),
            bias=lambda g: _channel_sum(g)),
   jvp=dict(x=lambda t, weight, sizes, stride, padding, dilation, groups:
                use("convolution_transposed")(t, weight, None, sizes, stride, padding, dilation, groups),
            weight=lambda t, x, sizes, stride, padding, dilation, groups:
                use("convolution_transposed")(x, t, None, sizes, stride, padding, dilation, groups),
            bias=lambda t, out: np.broadcast_to(_along_channels(t, len(out.shape)), out.shape)),
   samples=(sample(real(2, 4, 3), real(4, 3, 2), real(3), (6,), (2,), (0,), (1,), 1),
       sample(real(2, 4, 2, 3), real(4, 2, 2, 3), None, (4, 5), (2, 1),
   (0, 0), (1, 1), 2)),
   doc="""The convolution's transpose: each entry adds its multiple of the weight.""")  # fmt: skip
op("convolution_weight", _weight, kind=GENERAL, whole=True, public=False, method=False, node="ConvolutionBackwardBackward0",
    torch_name="-", jvp=BILINEAR,
   vjp=dict(grad=lambda g, x, grad_shape, stride, padding, dilation, groups:
                _cut(use("convolution")(x.conj(), g, None, stride, padding, dilation, groups), grad_shape),
            x=lambda g, grad, x_shape, stride, padding, dilation, groups:
                use("convolution_transposed")(grad.conj(), g, None, tuple(x_shape[2:]), stride, padding, dilation,
                    groups)),
   samples=(sample(real(2, 4, 3), real(2, 3, 5), (4, 3, 3), (1,), (0,), (1,), 1),
       sample(real(2, 4, 2, 2), real(2, 4, 5, 4), (4, 2, 3, 3), (2, 1),
   (0, 0), (1, 1), 2)),
   doc="""The gradient of a convolution's weight.""")  # fmt: skip


# --- the user's functions -------------------------------------------------------------------------


def _same(kernel: Sequence[int], dilation: Sequence[int]) -> tuple[list[int], list[int]]:
    total = [d * (k - 1) for k, d in zip(kernel, dilation, strict=True)]
    return [t // 2 for t in total], [t - t // 2 for t in total]


def _check_steps(name: str, kernel: Sequence[int], stride: tuple, dilation: tuple, groups: int = 1) -> None:
    if min(stride) < 1 or min(dilation) < 1 or groups < 1:
        raise RuntimeError(
            f"{name}: stride, dilation and groups should be greater than zero, got {stride}, {dilation} and {groups}"
        )
    if min(kernel) < 1:
        raise RuntimeError(f"{name}: kernel size should be greater than zero, but got {tuple(kernel)}")


def _check_ranks(name: str, dims: int, input: Any, weight: Any) -> None:
    if input.ndim not in (dims + 1, dims + 2) or weight.ndim != dims + 2:
        raise RuntimeError(
            f"{name}: expected a {dims + 1}D (unbatched) or {dims + 2}D (batched) input and a {dims + 2}D weight, got"
            f" input of size {list(input.shape)} and weight of size {list(weight.shape)}"
        )


def _batched(dims: int, convolve: Any, input: Any, *rest: Any) -> Any:
    """Return the result for a batch, or for the only sample."""
    return convolve(input, *rest) if input.ndim > dims + 1 else convolve(input.unsqueeze(0), *rest).squeeze(0)


def _check_padding(name: str, padding: tuple, what: str = "padding") -> None:
    if min(padding) < 0:
        raise RuntimeError(f"{name}: negative {what} is not supported, got {padding}")


def _conv(
    dims: int, name: str, input: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, groups: int
) -> Any:
    _check_ranks(name, dims, input, weight)
    if not weight.shape[0]:
        raise RuntimeError(
            f"{name}: expected weight to be at least 1 at dimension 0, but got weight of size {list(weight.shape)}"
        )
    stride, dilation = settings(name, dims, stride=stride, dilation=dilation)
    _check_steps(name, weight.shape[2:], stride, dilation, groups)
    if padding == "same":
        if any(s != 1 for s in stride):
            raise RuntimeError(f"{name}: padding='same' is not supported for strided convolutions, got stride {stride}")
        before, after = _same(weight.shape[2:], dilation)
        padding = tuple(before)
        if before != after:
            extra = [(0, a - b) for a, b in zip(after, before, strict=True)]
            input = FUNCTIONS["constant_pad_nd"](input, [n for pair in reversed(extra) for n in pair])
    elif padding == "valid":
        padding = (0,) * dims
    elif isinstance(padding, str):
        raise RuntimeError(f"{name}: invalid padding string {padding!r}: expected 'valid' or 'same'")
    padding = each(padding, dims, name, "padding")
    _check_padding(name, padding)
    return _batched(dims, _convolve, input, weight, bias, stride, padding, dilation, groups)


def _conv_transposed(
    dims: int,
    name: str,
    input: Any,
    weight: Any,
    bias: Any,
    stride: Any,
    padding: Any,
    output_padding: Any,
    groups: int,
    dilation: Any,
) -> Any:
    _check_ranks(name, dims, input, weight)
    stride, dilation = settings(name, dims, stride=stride, dilation=dilation)
    padding, extra = settings(name, dims, padding=padding, output_padding=output_padding)
    _check_steps(name, weight.shape[2:], stride, dilation, groups)
    _check_padding(name, padding)
    _check_padding(name, extra, "output_padding")
    if any(e >= max(s, d) for e, s, d in zip(extra, stride, dilation, strict=True)):
        raise RuntimeError(
            f"{name}: output padding must be smaller than either stride or dilation, but got output_padding: {extra}"
        )
    sizes = tuple(
        (n - 1) * s - 2 * p + d * (k - 1) + e + 1
        for n, s, p, d, k, e in zip(
            input.shape[-dims:], stride, padding, dilation, weight.shape[2:], extra, strict=True
        )
    )
    if bias is not None and tuple(bias.shape) != (weight.shape[1] * groups,):
        raise RuntimeError(
            f"{name}: expected bias to be 1-dimensional with {weight.shape[1] * groups} elements, but got"
            f" {list(bias.shape)}"
        )
    if min(sizes) < 1:
        raise RuntimeError(
            f"{name}: given input size per channel {list(input.shape[-dims:])}, the calculated output size per channel"
            f" {list(sizes)} is too small"
        )
    return _batched(dims, _deconvolve, input, weight, bias, sizes, stride, padding, dilation, groups)


@composite("conv1d", method=False, torch_name="nn.functional.conv1d", also=("nn.functional.conv1d",), samples=(
    sample(real(2, 3, 6), real(4, 3, 3), real(4)), sample(real(2, 4, 7), real(2, 2, 3), stride=2, padding=1, groups=2),
    sample(real(3, 6), real(4, 3, 2), dilation=2),
    sample(real(2, 3, 6), real(4, 3, 4), padding="same"), sample(real(2, 3, 6), real(4, 3, 1)),
))  # fmt: skip
def conv1d(
    input: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> Any:
    """The convolution of signals (N, C, L) with weights (O, C / groups, K).

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.functional.conv1d(dt.tensor([[[1.0, 2.0, 4.0]]]), dt.tensor([[[-1.0, 1.0]]]))
    tensor([[[1., 2.]]])
    """
    return _conv(1, "conv1d", input, weight, bias, stride, padding, dilation, groups)


@composite("conv2d", method=False, torch_name="nn.functional.conv2d", also=("nn.functional.conv2d",), samples=(
    sample(real(2, 3, 5, 6), real(4, 3, 3, 2), real(4)),
    sample(real(2, 4, 5, 5), real(6, 2, 3, 3), real(6), stride=2, padding=1, groups=2),
    sample(real(1, 2, 6, 5), real(2, 2, 2, 2), None, 1, (1, 0), (2, 3)), sample(real(2, 5, 5), real(3, 2, 3, 3)),
    sample(real(2, 2, 4, 5), real(2, 2, 2, 4), padding="same"),
    sample(real(2, 2, 4, 4), real(3, 2, 3, 3), padding="valid"), sample(real(2, 3, 4, 4), real(2, 3, 1, 1)),
    sample(real(0, 2, 4, 4), real(3, 2, 3, 3)),
    sample(real(2, 3, 5, 5, layout="F"), real(4, 3, 3, 3, layout="strided")),
    sample(real(2, 3, 4, 4), real(3, 1, 2, 2), groups=3, stride=(2, 1)),
))  # fmt: skip
def conv2d(
    input: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> Any:
    """The convolution of images (N, C, H, W) with weights (O, C / groups, KH, KW).

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.functional.conv2d(dt.ones(1, 1, 3, 3), dt.ones(1, 1, 2, 2))
    tensor([[[[4., 4.],
              [4., 4.]]]])
    """
    return _conv(2, "conv2d", input, weight, bias, stride, padding, dilation, groups)


@composite(
    "conv3d",
    method=False,
    torch_name="nn.functional.conv3d",
    also=("nn.functional.conv3d",),
    samples=(sample(real(1, 2, 3, 4, 3), real(2, 2, 2, 2, 2), real(2), padding=(0, 1, 0)),),
)
def conv3d(
    input: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> Any:
    """The convolution of volumes (N, C, D, H, W) with weights (O, C / groups, KD, KH, KW).

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.functional.conv3d(dt.ones(1, 1, 2, 2, 2), dt.ones(1, 1, 2, 2, 2)).item()
    8.0
    """
    return _conv(3, "conv3d", input, weight, bias, stride, padding, dilation, groups)


@composite("conv_transpose1d", method=False, torch_name="nn.functional.conv_transpose1d", also=("nn.functional.conv_transpose1d",), samples=(
    sample(real(2, 3, 4), real(3, 2, 3), real(2)), sample(real(2, 4, 3), real(4, 2, 3), None, 2, 1, 1, 2),
    sample(real(3, 4), real(3, 2, 2), dilation=2),
))  # fmt: skip
def conv_transpose1d(
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Any:
    """The transpose of :func:`conv1d`, weights (C, O / groups, K).

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.functional.conv_transpose1d(dt.tensor([[[1.0, 2.0]]]), dt.tensor([[[1.0, 10.0]]]))
    tensor([[[ 1., 12., 20.]]])
    """
    return _conv_transposed(
        1, "conv_transpose1d", input, weight, bias, stride, padding, output_padding, groups, dilation
    )


@composite("conv_transpose2d", method=False, torch_name="nn.functional.conv_transpose2d", also=("nn.functional.conv_transpose2d",), samples=(
    sample(real(2, 3, 3, 4), real(3, 2, 3, 2), real(2)),
    sample(real(2, 4, 3, 3), real(4, 2, 3, 3), real(4), 2, 1, 1, 2),
    sample(real(2, 2, 3, 4), real(2, 1, 2, 2), None, 1, 1, 1, 1, 2),
))  # fmt: skip
def conv_transpose2d(
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Any:
    """The transpose of :func:`conv2d`, weights (C, O / groups, KH, KW).

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.functional.conv_transpose2d(dt.ones(1, 1, 1, 1), dt.ones(1, 1, 2, 2)).shape
    dualtape.Size([1, 1, 2, 2])
    """
    return _conv_transposed(
        2, "conv_transpose2d", input, weight, bias, stride, padding, output_padding, groups, dilation
    )


# --- windows as columns ---------------------------------------------------------------------------


def _im2col(x: Any, kernel_size: tuple, dilation: tuple, padding: tuple, stride: tuple) -> Any:
    out = _out_sizes(x.shape[2:], kernel_size, stride, padding, dilation, "unfold")
    windows = _windows(padded(x, padding, padding), kernel_size, stride, dilation, out).copy()
    return windows.reshape(x.shape[0], x.shape[1] * prod(kernel_size), prod(out))


def _col2im(x: Any, output_size: tuple, kernel_size: tuple, dilation: tuple, padding: tuple, stride: tuple) -> Any:
    out = _out_sizes(output_size, kernel_size, stride, padding, dilation, "fold")
    if x.shape[1] % prod(kernel_size) or x.shape[2] != prod(out):
        raise RuntimeError(
            f"fold: expected an input of (N, C * {prod(kernel_size)}, {prod(out)}) for output_size={output_size},"
            f" kernel_size={kernel_size},"
            f" dilation={dilation}, padding={padding}, stride={stride}, got {list(x.shape)}"
        )
    columns = x.reshape(x.shape[0], x.shape[1] // prod(kernel_size), prod(kernel_size), prod(out))
    return contiguous(_from_columns(columns, output_size, kernel_size, stride, padding, dilation, out))


_im2col_op = op("im2col", _im2col, kind=GENERAL, whole=True, public=False, method=False, jvp=LINEAR, node="Im2ColBackward0",
    torch_name="-",
   vjp=dict(x=lambda g, x_shape, kernel_size, dilation, padding,
       stride: use("col2im")(g, tuple(x_shape[2:]), kernel_size, dilation, padding, stride)),
   numpy_vjp=dict(x=lambda g, x_shape, kernel_size, dilation, padding,
       stride: _col2im(g, x_shape[2:], kernel_size, dilation, padding, stride)),
   samples=(sample(real(2, 2, 4, 5), (2, 3), (1, 1), (1, 0), (2, 1)),),
   doc="The windows of images, as columns.")  # fmt: skip
_col2im_op = op("col2im", _col2im, kind=GENERAL, whole=True, public=False, method=False, jvp=LINEAR, node="Col2ImBackward0",
    torch_name="-",
   vjp=dict(x=lambda g, kernel_size, dilation, padding,
       stride: use("im2col")(g, kernel_size, dilation, padding, stride)),
   numpy_vjp=dict(x=lambda g, kernel_size, dilation, padding, stride: _im2col(g, kernel_size, dilation, padding, stride)),
   samples=(sample(real(2, 8, 12), (4, 5), (2, 2), (1, 1), (0, 0), (1, 1)),),
   doc="Columns added back as windows of images.")  # fmt: skip


@composite("nn_unfold", method=False, public=False, torch_name="nn.functional.unfold", also=("nn.functional.unfold",), samples=(
    sample(real(2, 2, 4, 5), 2), sample(real(2, 4, 5), (2, 3), padding=1, stride=2), sample(real(1, 2, 5, 5), 2, 2),
))  # fmt: skip
def nn_unfold(input: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Any:
    """The sliding windows of images (N, C, H, W) as columns (N, C * KH * KW, windows).

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.functional.unfold(dt.ones(1, 3, 4, 4), 2).shape
    dualtape.Size([1, 12, 9])
    """
    if input.ndim not in (3, 4):
        raise RuntimeError(f"unfold: expected 3D or 4D (batch mode) tensor, but got input of size {list(input.shape)}")
    how = settings("unfold", 2, kernel_size=kernel_size, dilation=dilation, padding=padding, stride=stride)
    _check_steps("unfold", how[0], how[3], how[1])
    _check_padding("unfold", how[2])
    return _im2col_op(input, *how) if input.ndim == 4 else _im2col_op(input.unsqueeze(0), *how).squeeze(0)


@composite("nn_fold", method=False, public=False, torch_name="nn.functional.fold", also=("nn.functional.fold",), samples=(
    sample(real(2, 8, 12), (4, 5), 2), sample(real(8, 4), (4, 4), 2, stride=2),
))  # fmt: skip
def nn_fold(
    input: Any, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
) -> Any:
    """Columns added back as windows of images: the transpose of :func:`unfold`.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.functional.fold(dt.ones(1, 12, 9), (4, 4), 2).shape
    dualtape.Size([1, 3, 4, 4])
    """
    if input.ndim not in (2, 3):
        raise RuntimeError(f"fold: expected 2D or 3D (batch mode) tensor, but got input of size {list(input.shape)}")
    (size,) = settings("fold", 2, output_size=output_size)
    how = settings("fold", 2, kernel_size=kernel_size, dilation=dilation, padding=padding, stride=stride)
    _check_steps("fold", how[0], how[3], how[1])
    _check_padding("fold", how[2])
    return _col2im_op(input, size, *how) if input.ndim == 3 else _col2im_op(input.unsqueeze(0), size, *how).squeeze(0)


# --- transposed over volumes, and over time -------------------------------------------------------


@composite("conv_transpose3d", method=False, torch_name=f"{_F}.conv_transpose3d", also=(f"{_F}.conv_transpose3d",), samples=(
    sample(real(1, 2, 2, 3, 2), real(2, 2, 2, 2, 2), real(2)), sample(real(1, 2, 2, 2, 2), real(2, 1, 2, 3, 2), None, 2, 1, 1, 2),
))  # fmt: skip
def conv_transpose3d(
    input: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, output_padding: Any = 0,
    groups: int = 1, dilation: Any = 1,
) -> Any:  # fmt: skip
    """The transpose of :func:`conv3d`, weights (C, O / groups, KD, KH, KW).

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.functional.conv_transpose3d(dt.ones(1, 1, 1, 1, 1), dt.ones(1, 1, 2, 2, 2)).shape
    dualtape.Size([1, 1, 2, 2, 2])
    """
    return _conv_transposed(
        3, "conv_transpose3d", input, weight, bias, stride, padding, output_padding, groups, dilation
    )


@composite("conv_tbc", method=False, complex=False, torch_name=f"{_F}.conv_tbc", also=(f"{_F}.conv_tbc",), samples=(
    sample(real(5, 2, 3), real(2, 3, 4), real(4)), sample(real(5, 2, 3), real(3, 3, 2), real(2), 1),
))  # fmt: skip
def conv_tbc(input: Any, weight: Any, bias: Any, pad: int = 0) -> Any:
    """A convolution over time of sequences (T, N, C), weights (K, C, O).

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.functional.conv_tbc(dt.ones(4, 1, 1), dt.ones(2, 1, 1), dt.zeros(1)).flatten()
    tensor([2., 2., 2.])
    """
    if input.ndim != 3 or weight.ndim != 3 or bias.ndim != 1:
        raise RuntimeError(
            f"conv_tbc: expected input (T, N, C), weight (K, C, O) and bias (O), got {list(input.shape)},"
            f" {list(weight.shape)} and {list(bias.shape)}"
        )
    return conv1d(input.permute(1, 2, 0), weight.permute(2, 1, 0), bias, 1, pad).permute(2, 0, 1)
