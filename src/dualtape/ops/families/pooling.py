"""Pools: the largest entry or the average of each window, and averages over a given number of bins.

A pool loops over the elements of its kernel, not over its windows: one strided slice of the whole batch at a time.
"""

from __future__ import annotations

from functools import cached_property, lru_cache
from math import prod
from operator import index
from typing import Any

import numpy as np

from ...arrays import zeros
from ...arrays.bfloat16_dtype import in_single, made
from ...arrays.kernels.basics import added_up, all_samples, arange_like, asarray_like, contiguous, frozen
from ...arrays.kernels.memory_order import keeps_channels_last
from ...arrays.kernels.windows import KERNEL, padded, places_of
from ..formulas import is_whole, use, zeros_like_shape
from ..samples import apart, edge, exact, exact_index, real, sample
from ..table import GENERAL, LINEAR, composite, op
from .convolution import each


def _pooled_size(n: int, k: int, s: int, p: int, d: int, ceil: bool) -> int:
    result = (n + 2 * p - d * (k - 1) - 1 + (s - 1 if ceil else 0)) // s + 1
    if ceil and (result - 1) * s >= n + p:  # the last window must begin inside of the input or of the padding before it
        result -= 1
    return result


@lru_cache(maxsize=256)
def is_kernel(stride: Any) -> bool:
    """Whether windows begin one kernel after the other, for want of a stride."""
    return stride is None or isinstance(stride, (list, tuple)) and not stride


def check_batch(name: str, input: Any, dims: int) -> None:
    """Refuse what is no batch of signals of so many dimensions, nor a single one. A batch alone may be empty."""
    shape = input.shape
    if len(shape) not in (dims + 1, dims + 2):
        raise RuntimeError(
            f"{name}: expected {dims + 1}D (unbatched) or {dims + 2}D (batched) input, got {list(shape)}"
        )
    if 0 in shape[len(shape) - dims - 1 :]:
        raise RuntimeError(f"{name}: expected input to have non-zero size for non-batch dimensions, got {list(shape)}")


def _pooled_sizes(
    name: str, shape: tuple, kernel: tuple, stride: tuple, padding: tuple, dilation: tuple, ceil_mode: bool
) -> tuple:
    if any(p < 0 or 2 * p > k for p, k in zip(padding, kernel, strict=True)):
        raise RuntimeError(
            f"{name}: pad should be at most half of effective kernel size, but got pad={padding}, kernel_size={kernel}"
        )
    if min(kernel) < 1 or min(stride) < 1 or min(dilation) < 1:
        raise RuntimeError(
            f"{name}: kernel size, stride and dilation must be greater than zero, got {kernel}, {stride}, {dilation}"
        )
    out = tuple(
        _pooled_size(n, k, s, p, d, ceil_mode)
        for n, k, s, p, d in zip(shape[-2:], kernel, stride, padding, dilation, strict=True)
    )
    if min(out) < 1:
        raise RuntimeError(
            f"{name}: given input size {list(shape)}, the calculated output size {list(out)} is too small"
        )
    return out


class _Walk:
    """The windows of a kernel on an input: the padding, the padded sizes, the input's offset, and the slices under each
    kernel element.
    """

    def __init__(self, sizes: tuple, out: tuple, kernel: tuple, stride: tuple, padding: tuple, dilation: tuple) -> None:
        self.after = tuple(  # how far the last windows reach beyond the input
            max(0, (m - 1) * s + d * (k - 1) + 1 - n - p)
            for n, m, k, s, p, d in zip(sizes, out, kernel, stride, padding, dilation, strict=True)
        )
        self.sizes = tuple(n + p + a for n, p, a in zip(sizes, padding, self.after, strict=True))
        self.inside = (..., *(slice(p, p + n) for n, p in zip(sizes, padding, strict=True)))
        self.pads = self.sizes != sizes
        # every window ends within the padding that was asked for
        self.whole = all(a <= p for a, p in zip(self.after, padding, strict=True))
        self.places = places_of(kernel, stride, dilation, out)
        self.views = [where for _, where in self.places]
        # no two windows share an entry
        self.apart = all(d == 1 and s >= k or k == 1 for k, s, d in zip(kernel, stride, dilation, strict=True))
        self.seen = prod(out) * len(self.places)  # entries of all windows of an image
        self._settings = (sizes[1], out, kernel, stride, padding, dilation)

    @cached_property
    def windows(self) -> tuple:
        """Return (windows, kernel elements): the flat indices that each window covers, in the padded and in the given
        image; and the numbers before each window.
        """
        columns, out, kernel, stride, padding, dilation = self._settings
        if prod(out) > 2**60:  # near 2**63 NumPy makes an array without elements
            raise RuntimeError(f"there is no memory for an image of {' x '.join(map(str, out))} numbers")
        rows, cols = (
            np.arange(m)[:, None] * s + np.arange(k) * d
            for m, s, k, d in zip(out, stride, kernel, dilation, strict=True)
        )
        rows, shape = rows[:, None, :, None], (prod(out), prod(kernel))
        wide = (rows * self.sizes[1] + cols[:, None, :]).reshape(shape)
        given = ((rows - padding[0]) * columns + cols[:, None, :] - padding[1]).reshape(shape)
        return frozen(wide), frozen(given), frozen(np.arange(shape[0]) * shape[1])


_known_walk = lru_cache(maxsize=128)(_Walk)


def _walk(sizes: tuple, out: tuple, kernel: tuple, stride: tuple, padding: tuple, dilation: tuple) -> _Walk:
    return (_known_walk if prod(kernel) <= KERNEL else _Walk)(sizes, out, kernel, stride, padding, dilation)


# --- the largest ----------------------------------------------------------------------------------


_FEW = 4096  # entries of all windows together up to which they are gathered, and searched in one call


@keeps_channels_last
def _max_pool(x: Any, kernel_size: tuple, stride: tuple, padding: tuple, dilation: tuple, ceil_mode: bool) -> tuple:
    out = _pooled_sizes("max_pool2d", x.shape, kernel_size, stride, padding, dilation, ceil_mode)
    lowest = -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min
    rows, columns = x.shape[-2:]
    walk = _walk((rows, columns), out, kernel_size, stride, padding, dilation)
    wide = padded(x, padding, walk.after, lowest) if walk.pads else x
    places = walk.places
    if type(x) is np.ndarray and x.dtype.kind == "f" and 0 < x.size * walk.seen <= _FEW * rows * columns:
        spots, given, first = walk.windows
        seen = wide.reshape(-1, walk.sizes[0] * walk.sizes[1]).take(spots, 1)
        winner = seen.argmax(2)
        best = seen.reshape(-1).take(winner.reshape(-1) + np.arange(0, seen.size, len(places)))
        if best.dot(best) < np.inf:  # NaNs, and windows that no entry wins, are looked at below
            shape = (*x.shape[:-2], *out)
            return best.reshape(shape), given.take(winner + first).reshape(shape)
    best = wide[walk.views[0]].copy()
    winner = zeros(best.shape, np.uint8 if len(places) < 256 else np.intp, best)
    for number, where in enumerate(walk.views[1:], 1):
        seen = wide[where]
        winner = np.maximum(
            winner, (seen > best).astype(winner.dtype) * number
        )  # later kernel elements have larger numbers
        np.maximum(best, seen, out=best)
    if x.dtype.kind == "f" and np.isnan(all_samples(best)).any():
        for number, where in enumerate(walk.views):
            winner[np.isnan(wide[where])] = number
    steps = asarray_like([row * dilation[0] * columns + column * dilation[1] for (row, column), _ in places], x)
    start = (
        (arange_like(out[0], x)[:, None] * stride[0] - padding[0]) * columns
        + arange_like(out[1], x) * stride[1]
        - padding[1]
    )
    indices = np.take(steps, winner) + start
    if any(padding) and x.dtype.kind == "f" and (all_samples(best) == lowest).any():
        # nothing beats the padding: PyTorch names the first entry inside of the input
        first = [np.where(begin < 0, begin % d, begin) for begin, d in (
            (arange_like(m, x) * s - p, d) for m, s, p,
            d in zip(out, stride, padding, dilation, strict=True))]  # fmt: skip
        indices = np.where(best == lowest, first[0][:, None] * columns + first[1], indices)
    return best, indices


def _scattered(x: Any, indices: Any, shape: tuple) -> Any:
    """Return zeros of ``shape`` with the entries of ``x`` added at ``indices`` of the last two dimensions together."""
    plane, lead = prod(shape[-2:]), prod(shape[:-2])
    if not x.size:
        return zeros_like_shape(shape, x)
    if type(x) is type(indices) is np.ndarray:
        out = np.zeros(shape, x.dtype)
        starts = np.arange(0, lead * plane, plane)[:, None]
        np.add.at(out.reshape(-1), (indices.reshape(lead, -1) + starts).reshape(-1), x.reshape(-1))
        return out
    places = (indices.reshape(lead, -1) + (arange_like(lead, x) * plane)[:, None]).reshape(-1)
    return added_up(places, x.reshape(-1), lead * plane).reshape(shape)


def _picked(t: Any, indices: Any) -> Any:
    flat = t.reshape((*t.shape[:-2], prod(t.shape[-2:])))
    return np.take_along_axis(flat, indices.reshape((*indices.shape[:-2], prod(indices.shape[-2:]))), -1).reshape(
        indices.shape
    )


_max_pool_op = op("max_pool2d_with_indices", _max_pool, kind=GENERAL, whole=True, public=False, method=False,
    outputs=("values", "indices"), torch_name="-", complex=False,
   node="MaxPool2DWithIndicesBackward0",
   vjp=dict(x=lambda g_values, indices, x_shape: use("max_pool_scatter")(g_values, indices, x_shape)),
   numpy_vjp=dict(x=lambda g_values, indices, x_shape: _scattered(g_values, indices, x_shape)),
   samples=(sample(apart(2, 3, 4, 5), (2, 2), (1, 2), (1, 0), (1, 2), True),),
   doc="""The largest entry of each window, and where it is.""")  # fmt: skip
op("max_pool_scatter", _scattered, kind=GENERAL, whole=True, public=False, method=False, constants=("indices",), jvp=LINEAR,
    torch_name="-", complex=None,
   node="MaxPool2DWithIndicesBackwardBackward0", vjp=dict(x=lambda g, indices: _picked(g, indices)),
   samples=(sample(real(2, 1, 2), exact_index([[[0, 3]], [[3, 3]]]), (2, 2, 2)),),
   doc="The gradient of a max pool.")  # fmt: skip

_MAX_POOLS = (
    sample(apart(2, 3, 4, 6), 2), sample(apart(2, 5, 5), 3, 1),
    sample(apart(1, 2, 5, 6), (2, 3), 2, 1, return_indices=True),
    sample(apart(1, 2, 5, 5), 2, 2, 0, 1, True),
    sample(apart(1, 1, 7, 7), 3, 2, 1, 2), sample(apart(2, 3, 4, 4, layout="F"), 2),
    edge(exact(np.zeros((1, 1, 4, 4))), 3, 1, 1, return_indices=True),
    edge(exact([[[[1.0, np.nan], [-np.inf, 2.0]]]]), 2),
    edge(exact(np.full((1, 1, 2, 2), -np.inf)), 2, 1, 1, return_indices=True),
    sample(apart(0, 2, 4, 4), 2),
)  # fmt: skip


@composite(
    "max_pool2d",
    method=False,
    complex=False,
    torch_name="nn.functional.max_pool2d",
    also=("nn.functional.max_pool2d",),
    samples=_MAX_POOLS,
)
def max_pool2d(
    input: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The largest entry of each window of images (N, C, H, W).

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.functional.max_pool2d(dt.arange(16.0).reshape(1, 1, 4, 4), 2)
    tensor([[[[ 5.,  7.],
              [13., 15.]]]])
    """
    check_batch("max_pool2d", input, 2)
    kernel = each(kernel_size, 2, "max_pool2d", "kernel_size")
    steps = kernel if is_kernel(stride) else each(stride, 2, "max_pool2d", "stride")
    values, indices = _max_pool_op(
        input,
        kernel,
        steps,
        each(padding, 2, "max_pool2d", "padding"),
        each(dilation, 2, "max_pool2d", "dilation"),
        ceil_mode,
    )
    return (values, indices) if return_indices else values


@composite("max_pool1d", method=False, complex=False, torch_name="nn.functional.max_pool1d", also=("nn.functional.max_pool1d",), samples=(
    sample(apart(2, 3, 6), 2), sample(apart(2, 5), 3, 1, 1), sample(apart(1, 2, 5), 2, 2, return_indices=True),
))  # fmt: skip
def max_pool1d(
    input: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The largest entry of each window of signals (N, C, L).

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.functional.max_pool1d(dt.tensor([[1.0, 3.0, 2.0, 0.0]]), 2)
    tensor([[3., 2.]])
    """
    check_batch("max_pool1d", input, 1)
    (k,) = each(kernel_size, 1, "max_pool1d", "kernel_size")
    (s,) = (k,) if is_kernel(stride) else each(stride, 1, "max_pool1d", "stride")
    (p,), (d,) = each(padding, 1, "max_pool1d", "padding"), each(dilation, 1, "max_pool1d", "dilation")
    values, indices = _max_pool_op(input.unsqueeze(-2), (1, k), (1, s), (0, p), (1, d), ceil_mode)
    return (values.squeeze(-2), indices.squeeze(-2)) if return_indices else values.squeeze(-2)


# --- the average ----------------------------------------------------------------------------------


def _counts(n: int, m: int, k: int, s: int, p: int, include: bool) -> np.ndarray:
    """Return how many entries each of ``m`` windows counts."""
    start = np.arange(m) * s - p
    end = np.minimum(start + k, n + p)
    return end - start if include else np.minimum(end, n) - np.maximum(start, 0)


def _divisors(
    walk: _Walk,
    sizes: tuple,
    out: tuple,
    kernel: tuple,
    stride: tuple,
    padding: tuple,
    include: bool,
    override: int | None,
    x: Any,
) -> Any:
    """Return the divisors of sums over windows: a number where it is the same for all, else an array beside ``x``."""
    if override is not None:
        if override == 0:
            raise RuntimeError("avg_pool2d: divisor must be not zero")
        return override
    if not walk.pads or include and walk.whole:
        return prod(kernel)
    rows, columns = (_counts(*v, include) for v in zip(sizes, out, kernel, stride, padding, strict=True))
    return asarray_like(rows[:, None] * columns, x, x.dtype)


@keeps_channels_last
@in_single
def _avg_pool(
    x: Any,
    kernel_size: tuple,
    stride: tuple,
    padding: tuple,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
) -> Any:
    sizes = x.shape[-2:]
    out = _pooled_sizes("avg_pool2d", x.shape, kernel_size, stride, padding, (1, 1), ceil_mode)
    walk = _walk(sizes, out, kernel_size, stride, padding, (1, 1))
    wide = padded(x, padding, walk.after) if walk.pads else x
    if type(x) is np.ndarray and x.dtype.char in "fd" and 0 < x.size * walk.seen <= _FEW * sizes[0] * sizes[1]:
        spots = walk.windows[0]
        total = (
            wide.reshape(-1, walk.sizes[0] * walk.sizes[1])
            .take(spots, 1)
            .dot(np.ones(spots.shape[1], x.dtype))
            .reshape((*x.shape[:-2], *out))
        )
    else:
        total = zeros((*x.shape[:-2], *out), x.dtype, x)
        for where in walk.views:
            total += wide[where]
    by = _divisors(walk, sizes, out, kernel_size, stride, padding, count_include_pad, divisor_override, x)
    return total / by if x.dtype.kind not in "iu" else np.trunc(total / by).astype(x.dtype)


@in_single
def _avg_spread(
    x: Any,
    shape: tuple,
    kernel_size: tuple,
    stride: tuple,
    padding: tuple,
    count_include_pad: bool,
    divisor_override: int | None,
) -> Any:
    sizes, out = shape[-2:], x.shape[-2:]
    walk = _walk(sizes, out, kernel_size, stride, padding, (1, 1))
    share = x / _divisors(walk, sizes, out, kernel_size, stride, padding, count_include_pad, divisor_override, x)
    full = zeros((*shape[:-2], *walk.sizes), x.dtype, x)
    for where in walk.views:
        if walk.apart:
            full[where] = share
        else:
            full[where] += share
    return contiguous(full[walk.inside]) if walk.pads else full


_avg_pool_op = op("avg_pool2d_window", _avg_pool, kind=GENERAL, whole=True, frees=True, public=False, method=False, jvp=LINEAR,
    node="AvgPool2DBackward0", torch_name="-",
   vjp=dict(x=lambda g, x_shape, kernel_size, stride, padding, count_include_pad, divisor_override:
                use("avg_pool2d_spread")(g, x_shape, kernel_size, stride, padding, count_include_pad,
                    divisor_override)),
   numpy_vjp=dict(x=lambda g, x_shape, kernel_size, stride, padding, count_include_pad, divisor_override:
                _avg_spread(g, x_shape, kernel_size, stride, padding, count_include_pad, divisor_override)),
   samples=(sample(real(2, 3, 4, 5), (2, 2), (2, 1), (1, 0), False, True, None),),
   doc="The average of each window.")  # fmt: skip


def _avg_again(
    g: Any,
    x_shape: tuple,
    kernel_size: tuple,
    stride: tuple,
    padding: tuple,
    count_include_pad: bool,
    divisor_override: Any,
) -> Any:
    floor = tuple(
        _pooled_size(n, k, s, p, 1, False)
        for n, k, s, p in zip(g.shape[-2:], kernel_size, stride, padding, strict=True)
    )
    ceil = floor != tuple(x_shape[-2:])
    return use("avg_pool2d_window")(g, kernel_size, stride, padding, ceil, count_include_pad, divisor_override)


op("avg_pool2d_spread", _avg_spread, kind=GENERAL, whole=True, public=False, method=False, jvp=LINEAR,
    node="AvgPool2DBackwardBackward0", torch_name="-",
   vjp=dict(x=_avg_again), samples=(sample(real(2, 2, 2), (2, 4, 5), (2, 2), (2, 2), (0, 0), True, None),),
   doc="The gradient of an average pool.")  # fmt: skip


@composite("avg_pool2d", complex=False, namespace="nn.functional", samples=(
    sample(real(2, 3, 4, 6), 2), sample(real(2, 5, 5), 3, 1, 1), sample(real(1, 2, 5, 6), (2, 3), 2, 1, True),
    sample(real(1, 2, 5, 5), 2, 2, 1, True, False),
    sample(real(1, 2, 5, 5), 2, divisor_override=3), sample(real(2, 3, 4, 4, layout="F"), 2),
))  # fmt: skip
def avg_pool2d(
    input: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Any:
    """The average of each window of images (N, C, H, W).

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.functional.avg_pool2d(dt.arange(16.0).reshape(1, 1, 4, 4), 2)
    tensor([[[[ 2.5000,  4.5000],
              [10.5000, 12.5000]]]])
    """
    check_batch("avg_pool2d", input, 2)
    kernel = each(kernel_size, 2, "avg_pool2d", "kernel_size")
    steps = kernel if is_kernel(stride) else each(stride, 2, "avg_pool2d", "stride")
    return _avg_pool_op(
        input, kernel, steps, each(padding, 2, "avg_pool2d", "padding"), ceil_mode, count_include_pad, divisor_override
    )


@composite("avg_pool1d", method=False, complex=False, torch_name="nn.functional.avg_pool1d", also=("nn.functional.avg_pool1d",), samples=(
    sample(real(2, 3, 6), 2), sample(real(2, 5), 3, 1, 1), sample(real(1, 2, 5), 2, 2, 1, False, False),
))  # fmt: skip
def avg_pool1d(
    input: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Any:
    """The average of each window of signals (N, C, L).

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.functional.avg_pool1d(dt.tensor([[1.0, 3.0, 2.0, 0.0]]), 2)
    tensor([[2., 1.]])
    """
    check_batch("avg_pool1d", input, 1)
    (k,) = each(kernel_size, 1, "avg_pool1d", "kernel_size")
    (s,) = (k,) if is_kernel(stride) else each(stride, 1, "avg_pool1d", "stride")
    (p,) = each(padding, 1, "avg_pool1d", "padding")
    return _avg_pool_op(input.unsqueeze(-2), (1, k), (1, s), (0, p), ceil_mode, count_include_pad, None).squeeze(-2)


# --- as many windows as asked for -----------------------------------------------------------------


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
    return _weighted(rows, x, columns)


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
