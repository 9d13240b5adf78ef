"""The three products of a convolution on arrays: its output, the gradient of its input, the gradient of its weight.

NumPy's arrays are processed in blocks of a few images, so that their windows stay in a cache. For a kernel with stride
1, images are flattened, and the values under one kernel element are the flat image, shifted (:class:`_Flat`). Large
arrays use native kernels after a few calls. The rows in ``ops/families/convolution.py`` declare the three as each
other's derivatives.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any

import numpy as np

from .basics import add_reduce, contiguous
from .fused import convolution_kernel
from .sums import BLOCK, row_blocks
from .windows import _batch_columns, _columns, _from_columns, _out_sizes, _windows, padded

# --- images as flat lines -------------------------------------------------------------------------


class _Flat:
    """Padded images, flattened: where the windows of a kernel with stride 1 begin, and which of them belong to the
    result.

    A window that begins near the end of a row continues in the next. Such windows are not part of the result, but with
    them the values under one kernel element are one slice of the line, which is copied, multiplied and summed in one
    call, while single rows are short.
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
        """Return the values that determine a kernel for it."""
        depth = x.shape[1] // groups
        steps = (1,) * len(self.out)
        return (len(x), groups, depth, result, x.shape[2:], padding, self.kernel, self.dilation, self.out, steps)

    def windows(self, images: np.ndarray) -> np.ndarray:
        """Return a view (N, C, kernel..., span) of the values under each kernel element."""
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
    """Return the images flattened, if these are NumPy's arrays and it pays for a weight of this shape; else None."""
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
    """Yield copies of the windows of a few images at a time; all copies use one buffer."""
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
    """Compute ``np.matmul(matrix, columns, out)`` with the many columns split so that the products are small."""
    part = next((p for p in (_PART, _PART // 2) if matrix.shape[-2] * matrix.shape[-1] * p <= _SMALL), 0)
    whole = columns.shape[-1] // part * part if part else 0
    if whole:
        parts = [v[..., :whole].reshape(*v.shape[:-1], -1, part).swapaxes(-2, -3) for v in (columns, out)]
        np.matmul(matrix[..., None, :, :], parts[0], parts[1])
    np.matmul(matrix, columns[..., whole:], out[..., whole:])


def _long_product(columns: np.ndarray, lines: np.ndarray) -> np.ndarray:
    """Return ``columns @ lines.T``, which sums over long lines, with the rows of columns split so that the products are
    small.
    """
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
    """Return the gradient of the weight; windows outside the result are multiplied by zero."""
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

# From so many numbers in a row of results on, vectors along it pay.
_LANES = 8
_FEW = 4  # kernel elements up to which the kernel is not flipped


def _window_kernel(
    what: str,
    arrays: tuple,
    images: tuple,
    weight: tuple,
    stride: tuple,
    padding: tuple,
    dilation: tuple,
    groups: int,
    out: tuple,
) -> Any:
    """Return a native kernel for images and a weight of these shapes that cannot be flattened; None if there is none.

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
    run = _window_kernel("forward", (x, weight, bias), x.shape, weight.shape, stride, padding, dilation, groups, out)
    if run is not None:
        result = np.empty((n, output, *out), x.dtype)
        run(*[contiguous(a) for a in (x, weight, bias) if a is not None], result)
        return result
    if output // groups <= seen:
        columns = _columns(x, kernel, stride, padding, dilation, out).reshape(n, groups, inner, seen)
        result = np.matmul(matrix, columns).reshape(n, output, *out)
    else:  # few kernel elements: one product for the whole batch
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
    """Return the gradient of a convolution's input, of spatial ``sizes``, given that of its output."""
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
    """Return the gradient of a convolution's weight, given that of its output, and its input."""
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
    # One product for each sample, summed: the sum is smaller than the windows.
    if result <= seen:
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
    """Return (groups, inner, made), the contribution of some images: windows times gradients, in the faster order."""
    n = grad.shape[0]
    products = np.matmul(columns.reshape(n, groups, inner, seen), grad.reshape(n, groups, result, seen).swapaxes(2, 3))
    return add_reduce(products, axis=0)
