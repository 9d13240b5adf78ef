"""Convolutions of any number of spatial dimensions: windows gathered into a matrix, then one matrix product.

NumPy's arrays go through in blocks of a few images, so that their windows stay in a cache. Where a kernel moves by
single steps, images are taken as flat lines of numbers, and what a place of the kernel sees is the same line,
shifted (:class:`_Flat`). Large arrays go through native kernels, after a few calls.

The three products of a convolution (output, gradient of the input, gradient of the weight) are each bilinear in two
of its three arrays, and each is the gradient of the others: three ops, closed under differentiation.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from math import prod
from operator import index
from typing import Any

import numpy as np

from ...arrays import zeros
from ...arrays.kernels.basics import add_reduce, contiguous, frozen, strided
from ...arrays.kernels.fused import convolution_kernel
from ...arrays.kernels.sums import BLOCK, row_blocks
from ..dispatch import FUNCTIONS
from ..formulas import is_whole, use
from ..samples import real, sample
from ..table import BILINEAR, GENERAL, LINEAR, composite, op


def each(value: Any, dims: int, name: str, what: str) -> tuple[int, ...]:
    """``value`` for each of ``dims`` dimensions: an int stands for all."""
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


# --- windows --------------------------------------------------------------------------------------


def padded(x: Any, before: Sequence[int], after: Sequence[int], value: float = 0) -> Any:
    """The last dimensions extended on both sides."""
    if not any(before) and not any(after):
        return x
    lead = x.ndim - len(before)
    sizes = x.shape[lead:]
    out = zeros((*x.shape[:lead], *[n + b + a for n, b, a in zip(sizes, before, after, strict=True)]), x.dtype, x)
    if value:
        out[...] = value
    out[(..., *[slice(b, b + n) for n, b in zip(sizes, before, strict=True)])] = x
    return out


def _windows(x: Any, kernel: Sequence[int], stride: Sequence[int], dilation: Sequence[int], out: Sequence[int]) -> Any:
    """A view of (lead..., kernel..., out...): what each place of a kernel sees."""
    dims = len(kernel)
    lead, steps = x.strides[: x.ndim - dims], x.strides[x.ndim - dims :]
    strides = (
        *lead,
        *[s * d for s, d in zip(steps, dilation, strict=True)],
        *[s * t for s, t in zip(steps, stride, strict=True)],
    )
    return strided(x, (*x.shape[: x.ndim - dims], *kernel, *out), strides)


KERNEL = 128  # places of a kernel up to which what they see is remembered


def places_of(kernel: tuple, stride: tuple, dilation: tuple, out: tuple) -> list[tuple]:
    """For each place of a kernel, its index and the slices of the padded input that it sees."""
    return (_known_places if prod(kernel) <= KERNEL else _places)(kernel, stride, dilation, out)


def _places(kernel: tuple, stride: tuple, dilation: tuple, out: tuple) -> list[tuple]:
    return [
        (
            place,
            (
                ...,
                *(
                    slice(k * d, k * d + (n - 1) * s + 1, s)
                    for k, d, n, s in zip(place, dilation, out, stride, strict=True)
                ),
            ),
        )
        for place in np.ndindex(*kernel)
    ]


_known_places = lru_cache(maxsize=128)(_places)


@lru_cache(maxsize=64)
def _seen_places(sizes: tuple, kernel: tuple, stride: tuple, dilation: tuple, out: tuple) -> np.ndarray:
    """What the places of a kernel see, one after the other, as places in the memory of a small image of ``sizes``."""
    memory = np.arange(prod(sizes)).reshape(sizes)
    return frozen(np.concatenate([memory[where].reshape(-1) for _, where in _places(kernel, stride, dilation, out)]))


_FEW = 256  # windows up to which all their entries are taken, and added back, in one go


def _out_sizes(
    sizes: Sequence[int],
    kernel: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    name: str,
) -> tuple[int, ...]:
    result = []
    for n, k, s, p, d in zip(sizes, kernel, stride, padding, dilation, strict=True):
        if n + 2 * p < d * (k - 1) + 1:
            raise RuntimeError(
                f"{name}: calculated padded input size per channel:"
                f" {[m + 2 * q for m, q in zip(sizes, padding, strict=True)]}. Kernel size:"
                f" {list(kernel)}. Kernel size can't be greater than actual input size"
            )
        result.append((n + 2 * p - d * (k - 1) - 1) // s + 1)
    return tuple(result)


def _columns(x: Any, kernel: tuple, stride: tuple, padding: tuple, dilation: tuple, out: tuple) -> Any:
    """(N, C, prod(kernel), prod(out)): the windows of a batch, a view where each is one element."""
    x = padded(x, padding, padding)
    shape = (*x.shape[:2], prod(kernel), prod(out))
    if prod(kernel) == 1 and x.shape[2:] == out:
        return x.reshape(shape)
    if type(x) is np.ndarray and x.shape[0] * x.shape[1] * shape[3] <= _FEW and shape[2] <= KERNEL and x.size:
        sizes = x.shape[2:]
        return x.reshape(-1, prod(sizes)).take(_seen_places(sizes, kernel, stride, dilation, out), 1).reshape(shape)
    return _windows(x, kernel, stride, dilation, out).reshape(shape)


def _batch_columns(x: Any, kernel: tuple, stride: tuple, padding: tuple, dilation: tuple, out: tuple) -> Any:
    """(C, kernel..., N, out...): the windows of a batch, batch and places together last."""
    return np.moveaxis(_windows(padded(x, padding, padding), kernel, stride, dilation, out), 0, 1 + len(kernel))


def _from_columns(
    columns: Any, sizes: tuple, kernel: tuple, stride: tuple, padding: tuple, dilation: tuple, out: tuple
) -> Any:
    """The windows (lead..., prod(kernel), prod(out)) added back where they came from."""
    lead = columns.shape[:-2]
    wide = tuple([n + 2 * p for n, p in zip(sizes, padding, strict=True)])
    full = zeros((*lead, *wide), columns.dtype, columns)
    count = columns.shape[-2]
    if type(columns) is np.ndarray and columns.size <= _FEW * count and count <= KERNEL and columns.size:
        starts = np.arange(0, full.size, prod(wide))[:, None]
        np.add.at(
            full.reshape(-1),
            (starts + _seen_places(wide, kernel, stride, dilation, out)).reshape(-1),
            columns.reshape(-1),
        )
    else:
        columns = columns.reshape(*lead, count, *out)
        for number, (_, where) in enumerate(places_of(kernel, stride, dilation, out)):
            full[where] += columns[:, :, number]
    return full[(..., *[slice(p, p + n) for n, p in zip(sizes, padding, strict=True)])] if any(padding) else full


# --- images as flat lines -------------------------------------------------------------------------


class _Flat:
    """Padded images as flat lines of numbers: where the windows of a kernel that moves by single steps begin, and which
    of them are asked for.

    A window that begins near the end of a row runs on into the next. Nobody asks for those, but with them what one
    place of the kernel sees is one slice of the line: copied, multiplied and added up in one go, where the rows by
    themselves are short.
    """

    def __init__(self, sizes: tuple, kernel: tuple, padding: tuple, dilation: tuple, out: tuple) -> None:
        self.kernel, self.out, self.dilation = kernel, out, dilation
        self.padded = tuple(n + 2 * p for n, p in zip(sizes, padding, strict=True))
        self.steps = tuple(prod(self.padded[d + 1 :]) for d in range(len(sizes)))
        self.strides = tuple(s * d for s, d in zip(self.steps, dilation, strict=True))
        self.rows = (out[0], *self.padded[1:])
        self.asked: Any = (..., *(slice(n) for n in out))
        # from the first that is asked for to the last
        self.span = 1 + sum((n - 1) * s for n, s in zip(out, self.steps, strict=True))

    def key(self, x: np.ndarray, groups: int, result: int, padding: tuple) -> tuple:
        """What a kernel for it depends on."""
        depth = x.shape[1] // groups
        steps = (1,) * len(self.out)
        return (len(x), groups, depth, result, x.shape[2:], padding, self.kernel, self.dilation, self.out, steps)

    def windows(self, images: np.ndarray) -> np.ndarray:
        """(N, C, kernel..., span): a view of what each place of the kernel sees."""
        lines = np.ascontiguousarray(images)
        strides = (*lines.strides[:2], *(s * lines.itemsize for s in self.strides), lines.itemsize)
        return np.lib.stride_tricks.as_strided(lines, (*lines.shape[:2], *self.kernel, self.span), strides)


# how long a line pays, how much longer than what is asked for it may be, and of how many the windows must be
_LONG, _LONGER, _DEEP = (
    512,
    1.25,
    32,
)


def _flat(
    arrays: tuple, weight: tuple, sizes: tuple, stride: tuple, padding: tuple, dilation: tuple, out: tuple
) -> _Flat | None:
    """The images as flat lines, if these arrays are NumPy's and that pays for a weight of this shape."""
    if prod(out) < _LONG:
        return None
    _, depth, *kernel = weight
    if any(type(a) is not np.ndarray for a in arrays if a is not None) or any(s != 1 for s in stride):
        return None
    if prod(kernel) == 1 or depth * prod(kernel) < _DEEP:
        return None
    flat = _Flat(sizes, tuple(kernel), padding, dilation, out)
    return flat if prod(flat.rows) <= _LONGER * prod(out) else None


def _column_blocks(windows: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
    """The windows of a few images at a time, copied; the memory of the copy is used again for the next ones."""
    buffer = None
    for some in row_blocks(windows.shape):
        part = windows[some]
        if buffer is None:
            buffer = np.empty(part.shape, part.dtype)
        columns = buffer[: len(part)]
        columns[...] = part
        yield some, columns


# multiplications up to which OpenBLAS takes matrices as they lie; it packs larger ones, which costs much where one
# side is short
_SMALL = 1_000_000
_PART = 64  # columns of such a matrix, or half as many


def _thin_product(matrix: np.ndarray, columns: np.ndarray, out: np.ndarray) -> None:
    """``np.matmul(matrix, columns, out)`` with the many columns in parts that make small products."""
    part = next((p for p in (_PART, _PART // 2) if matrix.shape[-2] * matrix.shape[-1] * p <= _SMALL), 0)
    whole = columns.shape[-1] // part * part if part else 0
    if whole:
        parts = [v[..., :whole].reshape(*v.shape[:-1], -1, part).swapaxes(-2, -3) for v in (columns, out)]
        np.matmul(matrix[..., None, :, :], parts[0], parts[1])
    np.matmul(matrix, columns[..., whole:], out[..., whole:])


def _long_product(columns: np.ndarray, lines: np.ndarray) -> np.ndarray:
    """``columns @ lines.T``, which sums over long lines, with the rows of columns in parts that make small products."""
    inner, length = columns.shape[-2:]
    most = _SMALL // (lines.shape[-2] * length)
    part = next((p for p in range(min(most, inner), 3, -1) if inner % p == 0), inner)
    parts = np.matmul(
        columns.reshape(*columns.shape[:-2], inner // part, part, length), lines[..., None, :, :].swapaxes(-1, -2)
    )
    return parts.reshape(*columns.shape[:-1], lines.shape[-2])


def _flat_convolution(x: np.ndarray, matrix: np.ndarray, bias: Any, padding: tuple, flat: _Flat) -> np.ndarray:
    groups, output, inner = matrix.shape
    result = np.empty((len(x), groups * output, *flat.out), x.dtype)
    run = convolution_kernel("forward", x, matrix, flat.key(x, groups, output, padding), bias is not None)
    if run is not None:
        run(*[contiguous(a) for a in (x, matrix, bias) if a is not None], result)
        return result
    wide: Any = None
    for some, columns in _column_blocks(flat.windows(padded(x, padding, padding))):
        n = len(columns)
        wide = np.empty((n, groups, output, prod(flat.rows)), x.dtype) if wide is None else wide[:n]
        _thin_product(matrix, columns.reshape(n, groups, inner, flat.span), wide[..., : flat.span])
        asked = wide.reshape(n, groups * output, *flat.rows)[flat.asked]
        if bias is None:
            result[some] = asked
        else:
            np.add(asked, bias.reshape(-1, *(1,) * len(flat.out)), result[some])
    return result


def _flat_weight(grad: np.ndarray, x: np.ndarray, shape: tuple, padding: tuple, groups: int, flat: _Flat) -> np.ndarray:
    """The gradient of the weight; windows that nobody asks for are multiplied by zero."""
    result, inner = shape[0] // groups, prod(shape[1:])
    total = np.zeros((groups, inner, result), x.dtype)
    run = convolution_kernel("weight", x, grad, flat.key(x, groups, result, padding))
    if run is not None:
        run(contiguous(x), contiguous(grad), total)
        return total.swapaxes(1, 2).reshape(shape)
    wide: Any = None
    for some, columns in _column_blocks(flat.windows(padded(x, padding, padding))):
        n = len(columns)
        wide = np.zeros((n, groups * result, *flat.rows), x.dtype) if wide is None else wide[:n]
        wide[flat.asked] = grad[some]
        lines = wide.reshape(n, groups, result, -1)[..., : flat.span]
        total += np.add.reduce(_long_product(columns.reshape(n, groups, inner, flat.span), lines))
    return total.swapaxes(1, 2).reshape(shape)


# --- kernels for other windows ---------------------------------------------------------------------

_LANES = 8  # numbers of a row of results from which on vectors along it pay
_FEW = 4  # places of a kernel, which see so little that it is not turned round


def _window_kernel(
    what: str, arrays: tuple, images: tuple, weight: tuple, stride: tuple, padding: tuple, dilation: tuple,
    groups: int, out: tuple,
) -> Any:  # fmt: skip
    """A kernel for images and a weight of these shapes, where these are no flat lines; None: none.

    ``arrays`` are what it is given: NumPy's, and a bias or None last.
    """
    if any([type(a) is not np.ndarray for a in arrays if a is not None]):
        return None
    if prod(weight[2:]) == 1 or (out[-1] < _LANES and what != "weight") or not prod(weight):
        return None
    key = (images[0], groups, weight[1], weight[0] // groups, images[2:], padding, weight[2:], dilation, out, stride)
    return convolution_kernel(what, arrays[0], arrays[1], key, arrays[2] is not None)


# --- the three products of a convolution ----------------------------------------------------------


def _convolution(x: Any, weight: Any, bias: Any, stride: tuple, padding: tuple, dilation: tuple, groups: int) -> Any:
    if x.dtype != weight.dtype or (bias is not None and bias.dtype != x.dtype):
        raise RuntimeError(
            f"convolution: input type ({x.dtype}) and weight type ({weight.dtype}) and bias type should be the same"
        )
    if x.shape[1] != weight.shape[1] * groups or weight.shape[0] % groups:
        raise RuntimeError(
            f"convolution: given groups={groups}, weight of size {list(weight.shape)}, expected input{list(x.shape)} to"
            " have"
            f" {weight.shape[1] * groups} channels, but got {x.shape[1]} channels instead"
        )
    if bias is not None and bias.shape != weight.shape[:1]:
        raise RuntimeError(
            f"convolution: expected bias to be 1-dimensional with {weight.shape[0]} elements, but got"
            f" {list(bias.shape)}"
        )
    kernel = weight.shape[2:]
    out = _out_sizes(x.shape[2:], kernel, stride, padding, dilation, "convolution")
    n, output = x.shape[0], weight.shape[0]
    inner, seen = weight.shape[1] * prod(kernel), prod(out)
    matrix = weight.reshape(groups, output // groups, inner)
    flat = _flat((x, weight, bias), weight.shape, x.shape[2:], stride, padding, dilation, out)
    if flat is not None:
        return _flat_convolution(x, matrix, bias, padding, flat)
    run = _window_kernel(
        "forward", (x, weight, bias), x.shape, weight.shape, stride, padding, dilation, groups, out
    )  # fmt: skip
    if run is not None:
        result = np.empty((n, output, *out), x.dtype)
        run(*[contiguous(a) for a in (x, weight, bias) if a is not None], result)
        return result
    if output // groups <= seen:
        columns = _columns(x, kernel, stride, padding, dilation, out).reshape(n, groups, inner, seen)
        result = np.matmul(matrix, columns).reshape(n, output, *out)
    else:  # few places: one product for the whole batch
        result = np.matmul(
            matrix, _batch_columns(x, kernel, stride, padding, dilation, out).reshape(groups, inner, n * seen)
        )
        result = contiguous(result.reshape(output, n, *out).swapaxes(0, 1))
    if bias is not None:
        result += bias.reshape(-1, *(1,) * len(out))
    return result


def _transposed(
    x: Any, weight: Any, bias: Any, sizes: tuple, stride: tuple, padding: tuple, dilation: tuple, groups: int
) -> Any:
    """The gradient of a convolution's input, of spatial ``sizes``, from the gradient of its output."""
    if x.dtype != weight.dtype:
        raise RuntimeError(f"convolution: input type ({x.dtype}) and weight type ({weight.dtype}) should be the same")
    if x.shape[1] != weight.shape[0]:
        raise RuntimeError(
            f"convolution: given transposed=1, weight of size {list(weight.shape)}, expected input{list(x.shape)} to"
            " have"
            f" {weight.shape[0]} channels, but got {x.shape[1]} channels instead"
        )
    kernel, out, n = weight.shape[2:], x.shape[2:], x.shape[0]
    output = weight.shape[1]
    w = weight.reshape(groups, weight.shape[0] // groups, output * prod(kernel))
    around = tuple(d * (k - 1) - p for d, k, p in zip(dilation, kernel, padding, strict=True))
    turnable = (
        type(x) is type(weight) is np.ndarray
        and (bias is None or bias.dtype == x.dtype)
        and all([s == 1 for s in stride])
        and prod(kernel) > _FEW
        and min(around, default=0) >= 0
        and all([m == n + a - p for m, n, a, p in zip(sizes, out, around, padding, strict=True)])
    )
    # a convolution with the kernel turned round; the zeros around x must not meet infinities
    if turnable and np.isfinite(weight).all():
        turned = w.reshape(groups, -1, output, *kernel)[(..., *(slice(None, None, -1) for _ in kernel))].swapaxes(1, 2)
        return _convolution(x, turned.reshape(-1, w.shape[1], *kernel), bias, stride, around, dilation, groups)
    shape = (n, groups * output, *sizes)
    run = _window_kernel("images", (x, weight, bias), shape, weight.shape, stride, padding, dilation, groups, out)
    if run is not None and np.isfinite(weight).all():
        result = np.empty(shape, x.dtype)
        run(*[contiguous(a) for a in (x, weight, bias) if a is not None], result)
        return result
    columns = np.matmul(w.swapaxes(1, 2), x.reshape(n, groups, w.shape[1], prod(out)))
    result = _from_columns(
        columns.reshape(n, groups * output, prod(kernel), prod(out)), sizes, kernel, stride, padding, dilation, out
    )
    result = contiguous(result)
    if bias is not None:
        result += bias.reshape(-1, *(1,) * len(sizes))
    return result


def _weight(grad: Any, x: Any, shape: tuple, stride: tuple, padding: tuple, dilation: tuple, groups: int) -> Any:
    """The gradient of a convolution's weight from the gradient of its output, and its input."""
    kernel, out, n = shape[2:], grad.shape[2:], x.shape[0]
    seen, inner, result = prod(out), shape[1] * prod(kernel), shape[0] // groups
    flat = _flat((x, grad), shape, x.shape[2:], stride, padding, dilation, out)
    found: Any = None
    run = _window_kernel("weight", (x, grad, None), x.shape, shape, stride, padding, dilation, groups, out)
    if flat is not None:
        found = _flat_weight(grad, x, shape, padding, groups, flat)
    elif run is not None:
        total = np.zeros((groups, inner, result), x.dtype)
        run(contiguous(x), contiguous(grad), total)
        found = total.swapaxes(1, 2).reshape(shape)
    if found is not None and np.isfinite(found).all():  # else zero may have met what is not finite
        return found
    if result <= seen:  # a product for each of the batch, summed: the sum is smaller than the windows
        if type(x) is type(grad) is np.ndarray and prod(kernel) > 1 and n * groups * inner * seen > BLOCK:
            blocks = _column_blocks(_windows(padded(x, padding, padding), kernel, stride, dilation, out))
            return (
                np.add.reduce(
                    [_weight_part(grad[some], columns, groups, result, inner, seen) for some, columns in blocks]
                )
                .swapaxes(1, 2)
                .reshape(shape)
            )
        columns = _columns(x, kernel, stride, padding, dilation, out)
        return _weight_part(grad, columns, groups, result, inner, seen).swapaxes(1, 2).reshape(shape)
    columns = _batch_columns(x, kernel, stride, padding, dilation, out).reshape(groups, inner, n * seen)
    rows = grad.swapaxes(0, 1).reshape(groups, result, n * seen)
    return np.matmul(rows, columns.swapaxes(1, 2)).reshape(shape)


def _weight_part(grad: Any, columns: Any, groups: int, result: int, inner: int, seen: int) -> Any:
    """(groups, inner, made), what some images give: windows times gradients, which is the quicker order."""
    n = grad.shape[0]
    products = np.matmul(columns.reshape(n, groups, inner, seen), grad.reshape(n, groups, result, seen).swapaxes(2, 3))
    return add_reduce(products, axis=0)


def _channel_sum(g: Any) -> Any:
    return np.sum(g, axis=(0, *range(2, len(g.shape))))


def _channel_sum_arrays(g: Any) -> Any:
    """:func:`_channel_sum`, first over the pixels of each image."""
    return add_reduce(add_reduce(g, axis=tuple(range(2, g.ndim))), axis=0)


def _cut(v: Any, shape: tuple) -> Any:
    """``v`` without the windows that only an output padding has made room for."""
    return v if tuple(v.shape) == tuple(shape) else v[(..., *(slice(n) for n in shape[2:]))]


def _along_channels(t: Any, ndim: int) -> Any:
    return t.reshape(-1, *(1,) * (ndim - 2))


_convolve = op("convolution", _convolution, kind=GENERAL, whole=True, public=False, method=False, node="ConvolutionBackward0",
    torch_name="-",
   vjp=dict(x=lambda g, weight, x_shape, stride, padding, dilation, groups:
                use("convolution_transposed")(g, weight.conj(), None, tuple(x_shape[2:]), stride, padding, dilation,
                    groups),
            weight=lambda g, x, weight_shape, stride, padding, dilation, groups:
                use("convolution_weight")(g, x.conj(), weight_shape, stride, padding, dilation, groups),
            bias=lambda g: _channel_sum(g)),
   numpy_vjp=dict(x=lambda g, weight, x_shape, stride, padding, dilation, groups:
                 _transposed(g, weight.conj(), None, x_shape[2:], stride, padding, dilation, groups),
              weight=lambda g, x, weight_shape, stride, padding, dilation,
              groups: _weight(g, x.conj(), weight_shape, stride, padding, dilation, groups),
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
_deconvolve = op("convolution_transposed", _transposed, kind=GENERAL, whole=True, public=False, method=False,
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


def _check_padding(name: str, padding: tuple, what: str = "padding") -> None:
    if min(padding) < 0:
        raise RuntimeError(f"{name}: negative {what} is not supported, got {padding}")


def _conv(
    dims: int, name: str, input: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, groups: int
) -> Any:
    if input.ndim not in (dims + 1, dims + 2) or weight.ndim != dims + 2:
        raise RuntimeError(
            f"{name}: expected a {dims + 1}D (unbatched) or {dims + 2}D (batched) input and a {dims + 2}D weight, got"
            " input of size"
            f" {list(input.shape)} and weight of size {list(weight.shape)}"
        )
    stride, dilation = each(stride, dims, name, "stride"), each(dilation, dims, name, "dilation")
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
    if input.ndim == dims + 1:
        return _convolve(input.unsqueeze(0), weight, bias, stride, padding, dilation, groups).squeeze(0)
    return _convolve(input, weight, bias, stride, padding, dilation, groups)


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
    if input.ndim not in (dims + 1, dims + 2) or weight.ndim != dims + 2:
        raise RuntimeError(
            f"{name}: expected a {dims + 1}D (unbatched) or {dims + 2}D (batched) input and a {dims + 2}D weight, got"
            " input of size"
            f" {list(input.shape)} and weight of size {list(weight.shape)}"
        )
    stride, dilation = each(stride, dims, name, "stride"), each(dilation, dims, name, "dilation")
    padding, extra = each(padding, dims, name, "padding"), each(output_padding, dims, name, "output_padding")
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
    if min(sizes) < 1:
        raise RuntimeError(
            f"{name}: given input size per channel {list(input.shape[-dims:])}, the calculated output size per channel"
            f" {list(sizes)} is too small"
        )
    if input.ndim == dims + 1:
        return _deconvolve(input.unsqueeze(0), weight, bias, sizes, stride, padding, dilation, groups).squeeze(0)
    return _deconvolve(input, weight, bias, sizes, stride, padding, dilation, groups)


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
    settings = [
        each(v, 2, "unfold", what)
        for v, what in ((kernel_size, "kernel_size"), (dilation, "dilation"), (padding, "padding"), (stride, "stride"))
    ]
    _check_steps("unfold", settings[0], settings[3], settings[1])
    _check_padding("unfold", settings[2])
    return _im2col_op(input, *settings) if input.ndim == 4 else _im2col_op(input.unsqueeze(0), *settings).squeeze(0)


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
    settings = [each(v, 2, "fold", what) for v, what in (
        (output_size, "output_size"), (kernel_size, "kernel_size"), (dilation, "dilation"), (padding, "padding"),
        (stride, "stride"))]  # fmt: skip
    _check_steps("fold", settings[1], settings[4], settings[2])
    _check_padding("fold", settings[3])
    return _col2im_op(input, *settings) if input.ndim == 3 else _col2im_op(input.unsqueeze(0), *settings).squeeze(0)
