"""Pools into a given number of windows: as equal as they can be, or random."""

from __future__ import annotations

from functools import lru_cache
from math import prod
from operator import index
from typing import Any

import numpy as np

from ..._tensor.tensor import new_tensor, raw
from ...arrays.bfloat16_dtype import made
from ...arrays.kernels.basics import all_samples, arange_like, asarray_like, frozen
from ...arrays.kernels.memory_order import in_rows, keeps_channels_last
from ...autograd.underived import refuse_history
from ..dispatch import FUNCTIONS
from ..formulas import is_whole, use
from ..samples import apart, ours, real, sample
from ..table import GENERAL, LINEAR, composite, op
from .convolution import each
from .pooling import check_signals
from .shapes import in_format_of

_F = "nn.functional"


# --- averages -------------------------------------------------------------------------------------


@lru_cache(maxsize=256)
def _bins(n: int, m: int, dtype: np.dtype) -> np.ndarray:
    """Return the matrix that averages ``n`` entries in ``m`` bins of nearly equal size; bins may share entries."""
    result = made(np.zeros, (m, n), dtype)
    for i in range(m):
        start, end = i * n // m, -(-(i + 1) * n // m)
        result[i, start:end] = 1 / (end - start)
    return frozen(result)


@keeps_channels_last
def _adaptive(x: Any, output_size: tuple) -> Any:
    rows, columns = (_bins(n, m, x.dtype) for n, m in zip(x.shape[-2:], output_size, strict=True))
    return in_rows(_weighted(rows, x, columns))


def _adaptive_spread(x: Any, sizes: tuple) -> Any:
    rows, columns = (_bins(n, m, x.dtype) for n, m in zip(sizes, x.shape[-2:], strict=True))
    return _weighted(rows.T, x, columns.T)


def _weighted(rows: np.ndarray, x: Any, columns: np.ndarray) -> Any:
    """Return ``rows @ x @ columns.T``, where weights of 0 exclude infinities and NaN, too."""
    out = np.matmul(np.matmul(asarray_like(rows, x), x), asarray_like(columns.T, x))
    if not np.isnan(all_samples(out)).any():
        return out
    lines = [np.matmul(asarray_like(w[w != 0], x), x[..., np.flatnonzero(w), :]) for w in rows]
    x = np.stack(lines, axis=-2)
    return np.stack([np.matmul(x[..., np.flatnonzero(w)], asarray_like(w[w != 0], x)) for w in columns], axis=-1)


_adaptive_op = op("adaptive_avg_pool2d_window", _adaptive, kind=GENERAL, whole=True, frees=True, public=False, method=False, jvp=LINEAR,
    node="AdaptiveAvgPool2DBackward0",
   torch_name="-",
   vjp=dict(x=lambda g, x_shape: use("adaptive_avg_pool2d_spread")(g, tuple(x_shape[-2:]))),
   samples=(sample(real(2, 5, 4), (2, 3)),),
   doc="Averages over a fixed number of bins.")  # fmt: skip
op("adaptive_avg_pool2d_spread", _adaptive_spread, kind=GENERAL, whole=True, public=False, method=False, jvp=LINEAR,
    node="AdaptiveAvgPool2DBackwardBackward0",
   torch_name="-",
   vjp=dict(x=lambda g, x_shape: use("adaptive_avg_pool2d_window")(g, tuple(x_shape[-2:]))),
   samples=(sample(real(2, 2, 3), (5, 4)),),
   doc="The gradient of averages over a fixed number of bins.")  # fmt: skip


@composite("adaptive_avg_pool2d", complex=False, namespace="nn.functional", samples=(
    sample(real(2, 3, 5, 6), (2, 3)), sample(real(2, 5, 7), 3), sample(real(2, 3, 4, 5), 1),
    sample(real(2, 3, 4, 5), (None, 2)), sample(real(1, 1, 2, 2), 3),
))  # fmt: skip
def adaptive_avg_pool2d(input: Any, output_size: Any) -> Any:
    """The averages of images (N, C, H, W) over a given number of bins; None keeps a dimension's size.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.functional.adaptive_avg_pool2d(dt.arange(4.0).reshape(1, 1, 2, 2), 1)
    tensor([[[[1.5000]]]])
    """
    sizes = (output_size, output_size) if output_size is None or is_whole(output_size) else tuple(output_size)
    if input.ndim not in (3, 4) or len(sizes) != 2:
        raise RuntimeError(
            f"adaptive_avg_pool2d: expected a 3D or 4D input and two sizes, got {list(input.shape)} and {sizes}"
        )
    sizes = tuple(n if m is None else index(m) for n, m in zip(input.shape[-2:], sizes, strict=True))
    if min(sizes) < 0:
        raise RuntimeError(
            f"adaptive_avg_pool2d: elements of output_size must be greater than or equal to 0, got {sizes}"
        )
    return input.mean((-2, -1), keepdim=True) if sizes == (1, 1) else _adaptive_op(input, sizes)


# --- bins as equal as they can be -----------------------------------------------------------------


def _sizes(name: str, input: Any, output_size: Any, dims: int) -> tuple[int, ...]:
    check_signals(name, input, dims)
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
    check_signals(name, input, dims)
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

    drawn = np.array([[[0.1, 0.7, 0.4][:dims], [0.9, 0.3, 0.6][:dims]]] * 2)
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
