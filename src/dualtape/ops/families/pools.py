"""Pools of volumes, into a given number of bins, of random bins, of norms; and unpooling.

A pool of volumes is one of planes followed by one along the remaining dimension.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from operator import index
from typing import Any

import numpy as np

from ..._tensor.tensor import new_tensor, raw
from ...arrays import zeros
from ...arrays.kernels.basics import all_samples, arange_like, asarray_like
from ...autograd.underived import refuse_history
from ..dispatch import FUNCTIONS
from ..formulas import is_whole
from ..samples import apart, constant, edge, exact_index, ours, positive, real, sample
from ..table import composite
from .convolution import each
from .pooling import (
    _adaptive_op,
    _avg_pool_op,
    _max_pool_op,
    avg_pool1d,
    avg_pool2d,
    check_batch,
    is_kernel,
    max_pool1d,
    max_pool2d,
)
from .shapes import in_format_of

_F = "nn.functional"


def _batched(name: str, input: Any, dims: int) -> None:
    """As :func:`check_batch` but, as in PyTorch, what has no channels is taken for an empty batch of signals."""
    if input.ndim not in (dims + 1, dims + 2):
        raise RuntimeError(
            f"{name}: Expected {dims + 1}D (unbatched) or {dims + 2}D (batched) tensor, got {list(input.shape)}"
        )
    if 0 in input.shape[-dims if name == "adaptive_avg_pool1d" else 1 :]:
        raise RuntimeError(
            f"{name}: expected input to have non-zero size for non-batch dimensions, got {list(input.shape)}"
        )


def _or_kernel(name: str, stride: Any, kernel: tuple) -> tuple:
    return kernel if is_kernel(stride) else each(stride, len(kernel), name, "stride")


# --- volumes --------------------------------------------------------------------------------------


def _max_pool3d(
    input: Any, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool
) -> tuple[Any, Any]:
    name = "max_pool3d"
    check_batch(name, input, 3)
    kernel = each(kernel_size, 3, name, "kernel_size")
    steps, pads, gaps = (
        _or_kernel(name, stride, kernel),
        each(padding, 3, name, "padding"),
        each(dilation, 3, name, "dilation"),
    )
    planes, inside = _max_pool_op(input, kernel[1:], steps[1:], pads[1:], gaps[1:], ceil_mode)
    *lead, depth, rows, columns = planes.shape
    flat = planes.reshape(*lead, depth, rows * columns)
    values, chosen = _max_pool_op(flat, (kernel[0], 1), (steps[0], 1), (pads[0], 0), (gaps[0], 1), ceil_mode)
    shape = (*lead, values.shape[-2], rows, columns)
    if not values.numel():
        return values.reshape(shape), chosen.reshape(shape)
    count = values.shape[-2] * rows * columns
    chosen = chosen.reshape(*lead, count)
    indices = inside.reshape(*lead, depth * rows * columns).gather(-1, chosen)
    indices = indices + FUNCTIONS["floor_divide"](chosen, rows * columns) * (input.shape[-2] * input.shape[-1])
    return in_format_of(values.reshape(shape), input), in_format_of(indices.reshape(shape), input)


_MAX3 = (
    sample(apart(2, 2, 4, 4, 5), 2), sample(apart(2, 4, 5, 4), 3, 1, 1), sample(apart(1, 2, 5, 4, 6), (2, 1, 3), 2, (1, 0, 1)),
    sample(apart(1, 1, 5, 5, 5), 2, 2, 0, 2, True), sample(apart(0, 2, 4, 4, 4), 2),
)  # fmt: skip


@composite("max_pool3d", method=False, complex=False, torch_name=f"{_F}.max_pool3d", also=(f"{_F}.max_pool3d",),
    samples=(*_MAX3, sample(apart(1, 2, 4, 4, 4), 2, return_indices=True)))  # fmt: skip
def max_pool3d(
    input: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:  # fmt: skip
    """The largest entry of each window of volumes (N, C, D, H, W).

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.functional.max_pool3d(dt.arange(8.0).reshape(1, 1, 2, 2, 2), 2)
    tensor([[[[[7.]]]]])
    """
    values, indices = _max_pool3d(input, kernel_size, stride, padding, dilation, ceil_mode)
    return (values, indices) if return_indices else values


@composite("max_pool3d_with_indices", method=False, public=False, complex=False, also=(f"{_F}.max_pool3d_with_indices",),
    torch_name=f"{_F}.max_pool3d_with_indices", samples=_MAX3)  # fmt: skip
def max_pool3d_with_indices(
    input: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:  # fmt: skip
    """The largest entry of each window of volumes, and its index in the volume.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.functional.max_pool3d_with_indices(dt.arange(8.0).reshape(1, 1, 2, 2, 2), 2)[1]
    tensor([[[[[7]]]]])
    """
    return _max_pool3d(input, kernel_size, stride, padding, dilation, ceil_mode)


@composite("nn_max_pool2d_with_indices", method=False, public=False, complex=False, torch_name=f"{_F}.max_pool2d_with_indices",
    also=(f"{_F}.max_pool2d_with_indices",), samples=(sample(apart(2, 3, 4, 6), 2), sample(apart(2, 5, 5), 3, 1, 1)))  # fmt: skip
def max_pool2d_with_indices(
    input: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:  # fmt: skip
    """The largest entry of each window of images, and its index in the image.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.functional.max_pool2d_with_indices(dt.arange(4.0).reshape(1, 1, 2, 2), 2)[1]
    tensor([[[[3]]]])
    """
    return max_pool2d(input, kernel_size, stride, padding, dilation, ceil_mode, True)


@composite("max_pool1d_with_indices", method=False, complex=False, torch_name=f"{_F}.max_pool1d_with_indices",
    also=(f"{_F}.max_pool1d_with_indices",), samples=(sample(apart(2, 3, 6), 2), sample(apart(2, 5), 3, 1, 1)))  # fmt: skip
def max_pool1d_with_indices(
    input: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:  # fmt: skip
    """The largest entry of each window of signals, and its index in the signal.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.functional.max_pool1d_with_indices(dt.tensor([[1.0, 3.0, 2.0, 0.0]]), 2)[1]
    tensor([[1, 2]])
    """
    return max_pool1d(input, kernel_size, stride, padding, dilation, ceil_mode, True)


@composite("avg_pool3d", complex=False, namespace=_F, samples=(
    sample(real(2, 2, 4, 4, 5), 2), sample(real(2, 4, 5, 4), 3, 1, 1), sample(real(1, 2, 5, 4, 6), (2, 1, 3), 2, (1, 0, 1), True),
    sample(real(1, 1, 5, 5, 5), 2, 2, 1, True, False), sample(real(1, 1, 4, 4, 4), 2, divisor_override=3),
))  # fmt: skip
def avg_pool3d(
    input: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,
    count_include_pad: bool = True, divisor_override: int | None = None,
) -> Any:  # fmt: skip
    """The average of each window of volumes (N, C, D, H, W).

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.functional.avg_pool3d(dt.arange(8.0).reshape(1, 1, 2, 2, 2), 2)
    tensor([[[[[3.5000]]]]])
    """
    name = "avg_pool3d"
    check_batch(name, input, 3)
    kernel = each(kernel_size, 3, name, "kernel_size")
    steps, pads = _or_kernel(name, stride, kernel), each(padding, 3, name, "padding")
    whole = None if divisor_override is None else 1  # sums, divided at the end
    planes = _avg_pool_op(input, kernel[1:], steps[1:], pads[1:], ceil_mode, count_include_pad, divisor_override)
    *lead, depth, rows, columns = planes.shape
    flat = planes.reshape(*lead, depth, rows * columns)
    out = _avg_pool_op(flat, (kernel[0], 1), (steps[0], 1), (pads[0], 0), ceil_mode, count_include_pad, whole)
    return out.reshape(*lead, out.shape[-2], rows, columns).contiguous()


# --- bins as equal as they can be -----------------------------------------------------------------


def _sizes(name: str, input: Any, output_size: Any, dims: int) -> tuple[int, ...]:
    _batched(name, input, dims)
    single = output_size is None or is_whole(output_size)
    asked = (output_size,) * dims if single else tuple(output_size) * (dims if len(output_size) == 1 else 1)
    if len(asked) != dims:
        raise ValueError(f"{name}: output_size must have {dims} entries, got {output_size}")
    sizes = tuple(n if m is None else index(m) for n, m in zip(input.shape[-dims:], asked, strict=True))
    if min(sizes) < 0:
        raise RuntimeError(f"{name}: elements of output_size must be greater than or equal to 0, got {sizes}")
    return sizes


@composite("adaptive_avg_pool1d", method=False, complex=False, torch_name=f"{_F}.adaptive_avg_pool1d",
    also=(f"{_F}.adaptive_avg_pool1d",), samples=(sample(real(2, 3, 5), 2), sample(real(2, 5), 3), sample(real(2, 3, 2), 3),
))  # fmt: skip
def adaptive_avg_pool1d(input: Any, output_size: Any) -> Any:
    """The averages of signals (N, C, L) over a given number of bins.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.functional.adaptive_avg_pool1d(dt.tensor([[1.0, 3.0, 2.0, 0.0]]), 2)
    tensor([[2., 1.]])
    """
    (size,) = _sizes("adaptive_avg_pool1d", input, output_size, 1)
    return _adaptive_op(input.unsqueeze(-2), (1, size)).squeeze(-2)


@composite("adaptive_avg_pool3d", complex=False, namespace=_F, samples=(
    sample(real(2, 2, 4, 5, 3), (2, 3, 2)), sample(real(2, 5, 4, 3), 2), sample(real(1, 2, 3, 4, 5), (None, 2, 1)),
))  # fmt: skip
def adaptive_avg_pool3d(input: Any, output_size: Any) -> Any:
    """The averages of volumes (N, C, D, H, W) over a given number of bins; None keeps a dimension's size.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.functional.adaptive_avg_pool3d(dt.arange(8.0).reshape(1, 1, 2, 2, 2), 1)
    tensor([[[[[3.5000]]]]])
    """
    depth, *plane = _sizes("adaptive_avg_pool3d", input, output_size, 3)
    out = _adaptive_op(input, tuple(plane))
    *lead, before, rows, columns = out.shape
    out = _adaptive_op(out.reshape(*lead, before, rows * columns), (depth, rows * columns))
    return out.reshape(*lead, depth, rows, columns).contiguous()


def _bin_places(n: int, m: int) -> np.ndarray:
    """Return (m, longest): the indices of the entries of each of ``m`` bins of ``n``, the last of a shorter one
    repeated.
    """
    if m > 2**60:  # near 2**63 NumPy makes an array without elements
        raise RuntimeError(f"there is no memory for {m} bins")
    first = np.arange(m) * n // m
    last = -(-(np.arange(m) + 1) * n // m) - 1
    return np.minimum(first[:, None] + np.arange(int((last - first).max(initial=0)) + 1), last[:, None])


def _largest_along(x: Any, indices: Any, places: Any, dim: int) -> tuple[Any, Any]:
    """Return the largest of each row of ``places`` along a dimension, and its entry of ``indices``."""
    m, k = places.shape
    index = new_tensor(asarray_like(places.reshape(-1), raw(x)))
    split = (*x.shape[:dim], m, k, *x.shape[dim + 1 :])
    values, chosen = x.index_select(dim, index).reshape(split).max(dim + 1, keepdim=True)
    found = indices.index_select(dim, index).reshape(split).gather(dim + 1, chosen)
    return values.squeeze(dim + 1), found.squeeze(dim + 1)


def _adaptive_max(name: str, input: Any, output_size: Any, dims: int) -> tuple[Any, Any]:
    sizes = _sizes(name, input, output_size, dims)
    shape = tuple(input.shape)
    indices = new_tensor(arange_like(prod(shape[-dims:]), raw(input)).reshape(shape[-dims:])).expand(shape)
    values = input
    for dim in reversed(range(input.ndim - dims, input.ndim)):
        places = _bin_places(shape[dim], sizes[dim - input.ndim])
        values, indices = _largest_along(values, indices, places, dim)
    if dims != 2:  # of volumes the reference form is in row-major order
        return values.contiguous(), indices.contiguous()
    return in_format_of(values, input), in_format_of(indices, input)


_ADAPTIVE = {
    1: (sample(apart(2, 3, 5), 2), sample(apart(2, 5), 3), sample(apart(2, 3, 2), 3)),
    2: (sample(apart(2, 3, 5, 6), (2, 3)), sample(apart(2, 5, 7), 3), sample(apart(1, 1, 2, 2), (3, None))),
    3: (sample(apart(1, 2, 4, 5, 3), (2, 3, 2)), sample(apart(2, 5, 4, 3), 2)),
}


def _adaptive_pair(dims: int, shape: str, example: str) -> None:
    name = f"adaptive_max_pool{dims}d"

    def values(input: Any, output_size: Any, return_indices: bool = False) -> Any:
        found = _adaptive_max(name, input, output_size, dims)
        return found if return_indices else found[0]

    def both(input: Any, output_size: Any, return_indices: bool = False) -> Any:
        return _adaptive_max(name, input, output_size, dims)

    for suffix, function, what in (("", values, ""), ("_with_indices", both, ", and where they are")):
        function.__name__, close = name + suffix, "]" * (dims + 1) + ")"
        function.__doc__ = f"""The largest entries {shape} in as many bins as asked for{what}.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.functional.{name}{suffix}(dt.arange({2**dims}.0).reshape(1, {", ".join(["2"] * dims)}), 1)
    {f"({example}.{close}, {example}{close})" if suffix else f"{example}.{close}"}
    """
        composite(f"nn_{name}{suffix}", method=False, public=False, complex=False, torch_name=f"{_F}.{name}{suffix}",
            also=(f"{_F}.{name}{suffix}",), samples=_ADAPTIVE[dims])(function)  # fmt: skip


_adaptive_pair(1, "of signals (N, C, L)", "tensor([[1")
_adaptive_pair(2, "of images (N, C, H, W)", "tensor([[[3")
_adaptive_pair(3, "of volumes (N, C, D, H, W)", "tensor([[[[7")

# --- random bins ----------------------------------------------------------------------------------


def _starts(u: Any, n: int, m: int, k: int) -> Any:
    """Return (N, C, m): where windows of ``k`` begin, at distances that vary around (n - k) / (m - 1)."""
    if m == 1:
        return u.unsqueeze(-1).long() * 0 + (n - k)
    alpha = (n - k) / (m - 1)
    steps = new_tensor(arange_like(m, raw(u), raw(u).dtype))
    starts = ((u.unsqueeze(-1) + steps) * alpha).floor() - (u.unsqueeze(-1) * alpha).floor()
    last = new_tensor(asarray_like(np.arange(m) == m - 1, raw(u)))
    return FUNCTIONS["where"](last, n - k, starts.long())


def _fractional(
    name: str, input: Any, kernel_size: Any, output_size: Any, output_ratio: Any, samples: Any, dims: int
) -> Any:
    _batched(name, input, dims)
    if (output_size is None) == (output_ratio is None):
        raise ValueError(f"{name} requires specifying either an output_size or an output_ratio")
    kernel = each(kernel_size, dims, name, "kernel_size")
    sizes = tuple(input.shape[-dims:])
    if output_size is None:
        ratios = (output_ratio,) * dims if isinstance(output_ratio, (int, float)) else tuple(output_ratio)
        output_size = tuple(int(n * r) for n, r in zip(sizes, ratios, strict=True))
    new = each(output_size, dims, name, "output_size")
    if any(m + k - (dims == 2) > n or m < 1 or k < 1 for n, m, k in zip(sizes, new, kernel, strict=True)):
        raise RuntimeError(f"{name}: pool of {kernel} into {new} too large relative to input of {sizes}")
    x = input if input.ndim == dims + 2 else input.unsqueeze(0)
    refuse_history(name, random_samples=samples)
    if samples is None:
        from ...random import rand

        samples = rand(x.shape[0], x.shape[1], dims, dtype=input.dtype)
    elif (
        samples.ndim != 3
        or samples.shape[0] < x.shape[0]
        or samples.shape[1:] != (x.shape[1], dims)
        or samples.dtype != x.dtype
    ):
        raise RuntimeError(
            f"{name}: Expect _random_samples to have shape {[x.shape[0], x.shape[1], dims]} and dtype {x.dtype!r}, got"
            f" {list(samples.shape)} and {samples.dtype!r}"
        )
    else:
        samples = samples[: x.shape[0]]
    values = x
    indices = new_tensor(arange_like(prod(sizes), raw(x)).reshape(sizes)).expand(tuple(x.shape))
    for d in reversed(range(dims)):
        dim = d + 2
        # PyTorch draws for planes in the order (width, height)
        u = samples[..., dims - 1 - d] if dims == 2 else samples[..., d]
        starts = _starts(u, sizes[d], new[d], kernel[d])
        steps = new_tensor(arange_like(kernel[d], raw(x)))
        count = starts.shape[-1] * kernel[d]
        shape = list(values.shape)
        shape[dim] = count
        places = starts.unsqueeze(-1) + steps
        places = places.reshape(*shape[:2], *(count if e == dim else 1 for e in range(2, values.ndim))).expand(shape)
        split = (*shape[:dim], new[d], kernel[d], *shape[dim + 1 :])
        values, chosen = values.gather(dim, places).reshape(split).max(dim + 1, keepdim=True)
        indices = indices.gather(dim, places).reshape(split).gather(dim + 1, chosen).squeeze(dim + 1)
        values = values.squeeze(dim + 1)
    return (values, indices) if input.ndim == dims + 2 else (values.squeeze(0), indices.squeeze(0))


def _fractional_pair(dims: int, example: str) -> None:
    name = f"fractional_max_pool{dims}d"

    def values(
        input: Any, kernel_size: Any, output_size: Any = None, output_ratio: Any = None, return_indices: bool = False,
        _random_samples: Any = None,
    ) -> Any:  # fmt: skip
        found = _fractional(name, input, kernel_size, output_size, output_ratio, _random_samples, dims)
        return found if return_indices else found[0]

    def both(
        input: Any, kernel_size: Any, output_size: Any = None, output_ratio: Any = None, return_indices: bool = False,
        _random_samples: Any = None,
    ) -> Any:  # fmt: skip
        return _fractional(name, input, kernel_size, output_size, output_ratio, _random_samples, dims)

    drawn = constant([[[0.1, 0.7, 0.4][:dims], [0.9, 0.3, 0.6][:dims]]] * 2)
    shape = (5, 6, 5)[:dims]
    for suffix, function, what in (("", values, ""), ("_with_indices", both, ", and where they are")):
        function.__name__ = name + suffix
        function.__doc__ = f"""The largest entries of windows that lie at random distances{what}; their number is given, or
    its ratio to the input's.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.functional.{name}(dt.ones({", ".join("1" * 2 + "4" * dims)}), 2, 1)
    {example}
    """
        composite(f"nn_{name}{suffix}", method=False, public=False, complex=False, torch_name=f"{_F}.{name}{suffix}",
            also=(f"{_F}.{name}{suffix}",), samples=(
                ours(apart(2, 2, *shape), 2, 3, None, False, drawn),
                ours(apart(2, 2, *shape), (2, 3, 1)[:dims], None, (0.5,) * dims, True, drawn),
            ))(function)  # fmt: skip


_fractional_pair(2, "tensor([[[[1.]]]])")
_fractional_pair(3, "tensor([[[[[1.]]]]])")

# --- norms ----------------------------------------------------------------------------------------


def _powers(out: Any, count: int, p: float) -> Any:
    return (out.sign() * out.abs().relu() * count).pow(1.0 / p)


def _lp(dims: int, pool: Any, samples: Sequence, example: str, what: str) -> None:
    name = f"lp_pool{dims}d"

    def function(input: Any, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Any:
        kernel = each(kernel_size, dims, name, "kernel_size")
        return _powers(pool(input.pow(norm_type), kernel_size, stride, 0, ceil_mode), prod(kernel), float(norm_type))

    function.__name__ = name
    function.__doc__ = f"""The norm of order ``norm_type`` of each window of {what}: of powers, which keep their sign.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.functional.{name}(dt.ones(1, {", ".join(["2"] * dims)}), 2, 2)
    {example}
    """
    composite(name, complex=False, namespace=_F, samples=samples)(function)


_lp(
    1,
    avg_pool1d,
    (sample(positive(2, 3, 6), 2, 2), sample(positive(2, 5), 3.0, 3, 1)),
    "tensor([[1.4142]])",
    "signals (N, C, L)",
)
_lp(2, avg_pool2d, (sample(positive(2, 3, 4, 6), 2, 2), sample(positive(2, 5, 5), 3.0, (2, 3), 1, True)), "tensor([[[2.]]])",
    "images (N, C, H, W)")  # fmt: skip
_lp(3, avg_pool3d, (sample(positive(1, 2, 4, 4, 4), 2, 2), sample(positive(2, 3, 3, 3), 1.5, 2, 1)), "tensor([[[[2.8284]]]])",
    "volumes (N, C, D, H, W)")  # fmt: skip

# --- back -----------------------------------------------------------------------------------------


def _unpooled(
    name: str, input: Any, indices: Any, kernel_size: Any, stride: Any, padding: Any, output_size: Any, dims: int
) -> Any:
    _batched(name, input, dims)
    if tuple(indices.shape) != tuple(input.shape):
        raise RuntimeError(
            f"{name}: Expected shape of indices to be same as that of the input, got {list(indices.shape)}"
        )
    kernel = each(kernel_size, dims, name, "kernel_size")
    steps, pads = _or_kernel(name, stride, kernel), each(padding, dims, name, "padding")
    usual = tuple((n - 1) * s - 2 * p + k for n, s, p, k in zip(input.shape[-dims:], steps, pads, kernel, strict=True))
    if output_size is None:
        sizes = usual
    else:
        sizes = tuple(output_size)[-dims:]
        if len(output_size) not in (dims, dims + 2) or any(
            abs(a - b) >= s for a, b, s in zip(sizes, usual, steps, strict=True)
        ):
            raise ValueError(f"{name}: invalid output_size {output_size}: it must be near {usual}")
    lead, plane = tuple(input.shape[:-dims]), prod(sizes)
    size = prod(input.shape[-dims:])
    flat = indices.reshape(*lead, size)
    seen = all_samples(raw(flat))
    if seen.size and (seen.min() < 0 or seen.max() >= plane):
        raise RuntimeError(f"{name}: found an invalid max index: indices must be from 0 to {plane - 1}")
    nothing = new_tensor(zeros((*lead, plane), raw(input).dtype, raw(input)))
    return nothing.scatter(-1, flat, input.reshape(*lead, size)).reshape(*lead, *sizes)


def _unpool(dims: int, indices: Any, shape: tuple) -> None:
    name = f"max_unpool{dims}d"

    def function(
        input: Any, indices: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None
    ) -> Any:
        return _unpooled(name, input, indices, kernel_size, stride, padding, output_size, dims)

    function.__name__ = name
    function.__doc__ = f"""What :func:`max_pool{dims}d` took back in its places, zeros elsewhere.

    Examples
    --------
    >>> import dualtape as dt
    >>> values, indices = dt.nn.functional.max_pool{dims}d(dt.ones(1, {", ".join(["2"] * dims)}), 2, return_indices=True)
    >>> dt.nn.functional.{name}(values, indices, 2).sum()
    tensor(1.)
    """
    composite(name, complex=False, namespace=_F, samples=(
        sample(real(*shape), exact_index(indices), 2), edge(real(*shape), exact_index(indices), 2, output_size=(5,) * dims),
    ))(function)  # fmt: skip


_unpool(1, [[[0, 3], [1, 2]]], (1, 2, 2))
_unpool(2, [[[[0, 3], [9, 15]]]], (1, 1, 2, 2))
_unpool(3, [[[[[0, 3], [9, 15]], [[40, 50], [60, 63]]]]], (1, 1, 2, 2, 2))
