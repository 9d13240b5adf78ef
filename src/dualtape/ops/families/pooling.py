"""Pools: the largest entry, the average or the norm of each window, over one to three dimensions.

A pool loops over the elements of its kernel, not over its windows: one strided slice of the whole batch at a time. A
pool of volumes is one of planes followed by one along the remaining dimension. Pools into a given number of windows are
in ``adaptive_pooling``.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache
from math import prod
from typing import Any

import numpy as np

from ...arrays import zeros
from ...arrays.bfloat16_dtype import in_single
from ...arrays.kernels.basics import added_up, all_samples, arange_like, asarray_like, contiguous, frozen
from ...arrays.kernels.memory_order import keeps_channels_last
from ...arrays.kernels.windows import KERNEL, padded, places_of
from ..dispatch import FUNCTIONS
from ..formulas import use, zeros_like_shape
from ..samples import apart, edge, exact, exact_index, positive, real, sample
from ..table import GENERAL, LINEAR, composite, op
from .convolution import each, settings
from .shapes import in_format_of

_F = "nn.functional"


def _pooled_size(n: int, k: int, s: int, p: int, d: int, ceil: bool) -> int:
    result = (n + 2 * p - d * (k - 1) - 1 + (s - 1 if ceil else 0)) // s + 1
    # The last window must begin inside the input or the padding before it.
    if ceil and (result - 1) * s >= n + p:
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


def check_signals(name: str, input: Any, dims: int) -> None:
    """As :func:`check_batch` but, as in PyTorch, what has no channels is taken for an empty batch of signals."""
    if input.ndim not in (dims + 1, dims + 2):
        raise RuntimeError(
            f"{name}: Expected {dims + 1}D (unbatched) or {dims + 2}D (batched) tensor, got {list(input.shape)}"
        )
    if 0 in input.shape[-dims if name == "adaptive_avg_pool1d" else 1 :]:
        raise RuntimeError(
            f"{name}: expected input to have non-zero size for non-batch dimensions, got {list(input.shape)}"
        )


def or_kernel(name: str, stride: Any, kernel: tuple) -> tuple:
    return kernel if is_kernel(stride) else each(stride, len(kernel), name, "stride")


def _how(name: str, input: Any, dims: int, kernel_size: Any, stride: Any, **more: Any) -> list[tuple[int, ...]]:
    """Check the batch; return the kernel, the stride and further arguments for each of ``dims`` dimensions."""
    check_batch(name, input, dims)
    (kernel,) = settings(name, dims, kernel_size=kernel_size)
    return [kernel, or_kernel(name, stride, kernel), *settings(name, dims, **more)]


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

# Up to so many entries in all windows together, they are gathered and searched in one call.
_FEW = 4096


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
    how = _how("max_pool2d", input, 2, kernel_size, stride, padding=padding, dilation=dilation)
    values, indices = _max_pool_op(input, *how, ceil_mode)
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
    (k,), (s,), (p,), (d,) = _how("max_pool1d", input, 1, kernel_size, stride, padding=padding, dilation=dilation)
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
    how = _how("avg_pool2d", input, 2, kernel_size, stride, padding=padding)
    return _avg_pool_op(input, *how, ceil_mode, count_include_pad, divisor_override)


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
    (k,), (s,), (p,) = _how("avg_pool1d", input, 1, kernel_size, stride, padding=padding)
    return _avg_pool_op(input.unsqueeze(-2), (1, k), (1, s), (0, p), ceil_mode, count_include_pad, None).squeeze(-2)


# --- volumes --------------------------------------------------------------------------------------


def _max_pool3d(
    input: Any, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool
) -> tuple[Any, Any]:
    kernel, steps, pads, gaps = _how("max_pool3d", input, 3, kernel_size, stride, padding=padding, dilation=dilation)
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
    kernel, steps, pads = _how("avg_pool3d", input, 3, kernel_size, stride, padding=padding)
    whole = None if divisor_override is None else 1  # sums, divided at the end
    planes = _avg_pool_op(input, kernel[1:], steps[1:], pads[1:], ceil_mode, count_include_pad, divisor_override)
    *lead, depth, rows, columns = planes.shape
    flat = planes.reshape(*lead, depth, rows * columns)
    out = _avg_pool_op(flat, (kernel[0], 1), (steps[0], 1), (pads[0], 0), ceil_mode, count_include_pad, whole)
    return out.reshape(*lead, out.shape[-2], rows, columns).contiguous()


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
