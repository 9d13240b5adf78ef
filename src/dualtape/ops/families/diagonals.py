"""Diagonals, triangles and windows: views and copies of entries selected by their position in memory."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import prod
from operator import index
from typing import Any

import numpy as np

from ..._tensor.tensor import new_tensor
from ...arrays import Batched, module_of
from ...arrays.bfloat16_dtype import in_single
from ...arrays.kernels.basics import added_up, all_samples, arange_like, asarray_like, frozen, in_parts, strided
from ...arrays.kernels.memory_order import in_rows
from ..dispatch import FUNCTIONS
from ..formulas import normal_dim, use, zeros_like_shape
from ..samples import real, sample
from ..table import GENERAL, LINEAR, TABLE, composite, op


def _diagonal(x: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    a, b = normal_dim(dim1, x.ndim), normal_dim(dim2, x.ndim)
    if a == b:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    if type(x) is np.ndarray:
        found = x.diagonal(offset, a, b)
        found.flags.writeable = x.flags.writeable  # NumPy makes it read-only
        return found
    if in_parts(x):
        return np.diagonal(x, offset, a, b)
    start = x[(slice(None),) * a + (slice(max(0, -offset), None),)]
    start = start[(slice(None),) * b + (slice(max(0, offset), None),)]
    rest = [i for i in range(x.ndim) if i not in (a, b)]
    shape = [x.shape[i] for i in rest] + [min(start.shape[a], start.shape[b])]
    strides = [x.strides[i] for i in rest] + [x.strides[a] + x.strides[b]]
    return module_of(x).lib.stride_tricks.as_strided(start, shape, strides)


def _diagonal_zero(x: Any, shape: tuple, offset: int, dim1: int, dim2: int) -> Any:
    out = zeros_like_shape(shape, x)
    _diagonal(out, offset, dim1, dim2)[...] = x
    return out


op("diagonal", _diagonal, kind=GENERAL, view=True, jvp=LINEAR,
   vjp=dict(x=lambda g, x_shape, offset, dim1, dim2: use("diagonal_zero")(g, x_shape, offset, dim1, dim2)),
   numpy_vjp=dict(x=lambda g, x_shape, offset, dim1, dim2: _diagonal_zero(g, x_shape, offset, dim1, dim2)),
   samples=(sample(real(3, 4)), sample(real(3, 4), 1), sample(real(4, 3), -2), sample(real(2, 3, 4), 0, 1, 2),
       sample(real(3, 3), 5)),
   doc="""The diagonal of two dimensions, as a view.

   >>> import dualtape as dt
   >>> dt.diagonal(dt.eye(2))
   tensor([1., 1.])
   """)  # fmt: skip
op("diagonal_zero", _diagonal_zero, kind=GENERAL, public=False, method=False, jvp=LINEAR,
    node="DiagonalBackwardBackward0", torch_name="-",
   vjp=dict(x=lambda g, offset, dim1, dim2: use("diagonal")(g, offset, dim1, dim2)),
   numpy_vjp=dict(x=lambda g, offset, dim1, dim2: _diagonal(g, offset, dim1, dim2)),
   samples=(sample(real(3), (3, 4), 0, 0, 1),), doc="Zeros, with x on a diagonal.")  # fmt: skip


@composite("diag_embed", samples=(sample(real(3)), sample(real(2, 3)), sample(real(3), 1), sample(real(3), -1)))
def diag_embed(input: Any, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:
    """Matrices that have the last dimension on their diagonal, zeros elsewhere.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.diag_embed(dt.tensor([1.0, 2.0]))
    tensor([[1., 0.],
            [0., 2.]])
    """
    shape = input._array.shape
    if not shape:
        raise IndexError("diag_embed: Dimension out of range: the input must have at least 1 dimension, got 0")
    n = shape[-1] + abs(offset)
    a, b = normal_dim(dim1, len(shape) + 1), normal_dim(dim2, len(shape) + 1)
    full = list(shape[:-1])
    for d in sorted((a, b)):
        full.insert(d, n)
    return TABLE["diagonal_zero"].function(input, tuple(full), offset, a, b)


@composite("diag", samples=(sample(real(3)), sample(real(3, 4)), sample(real(3), 1)))
def diag(input: Any, diagonal: int = 0) -> Any:
    """The matrix that has a vector on its diagonal, or the diagonal of a matrix.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.diag(dt.tensor([1.0, 2.0]))
    tensor([[1., 0.],
            [0., 2.]])
    """
    if input.ndim not in (1, 2):
        raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {input.ndim}D")
    return diag_embed(input, diagonal) if input.ndim == 1 else FUNCTIONS["diagonal"](input, diagonal).clone()


def _kept(whole: Callable, x: Any, diagonal: int) -> Any:
    """Return a triangle by NumPy's function; for a small array by a cached mask."""
    if x.ndim < 2:
        raise RuntimeError(f"{whole.__name__}: input tensor must have at least 2 dimensions, got shape {list(x.shape)}")
    if type(x) is np.ndarray and x.ndim > 1 and x.size <= _SMALL:
        found = np.where(_triangle(whole, *x.shape[-2:], diagonal), x, x.dtype.type(0))
    else:
        found = whole(x, diagonal)
    return in_rows(found)


@lru_cache(maxsize=128)
def _triangle(whole: Callable, rows: int, columns: int, diagonal: int) -> np.ndarray:
    return frozen(whole(np.ones((rows, columns), bool), diagonal))


_SMALL = 1000  # numbers up to which the mask of a triangle is remembered

for _name, _what in (("tril", "lower"), ("triu", "upper")):
    op(_name, (lambda f: lambda x, diagonal=0: _kept(f, x, diagonal))(getattr(np, _name)), kind=GENERAL, jvp=LINEAR,
        inplace=True,
       vjp=dict(x=(lambda n: lambda g, diagonal: use(n)(g, diagonal))(_name)),
       numpy_vjp=dict(x=(lambda f: lambda g, diagonal: _kept(f, g, diagonal))(getattr(np, _name))),
       samples=(sample(real(3, 4)), sample(real(3, 3), 1), sample(real(2, 3, 3), -1)),
       doc=f"""The {_what} triangle of the last two dimensions, zeros elsewhere.

   >>> import dualtape as dt
   >>> dt.{_name}(dt.ones(2, 2)).sum()
   tensor(3.)
   """)  # fmt: skip


def _unfold(x: Any, dimension: int, size: int, step: int) -> Any:
    d = normal_dim(dimension, x.ndim)
    n = x.shape[d] if x.ndim else 1
    if size > n or size < 0 or step <= 0:
        raise RuntimeError(
            f"unfold: maximum size for tensor at dimension {d} is {n} but size is {size}, with step {step}"
        )
    if not x.ndim:
        return x[None][:size]
    count, stride = (n - size) // step + 1, x.strides[d]
    shape = (*x.shape[:d], count, *x.shape[d + 1 :], size)
    return strided(x, shape, (*x.strides[:d], stride * step, *x.strides[d + 1 :], stride))


@in_single
def _unfold_sum(x: Any, shape: tuple, dimension: int, size: int, step: int) -> Any:
    d = normal_dim(dimension, len(shape))
    out = zeros_like_shape(shape, x)
    if not shape:
        return out + x.sum()
    for k in range(size):  # a window position at a time: these never overlap
        last = k + step * (x.shape[d] - 1) + 1
        out[(slice(None),) * d + (slice(k, last, step),)] += x[..., k]
    return out


op("unfold", _unfold, kind=GENERAL, view="overlapping", public=False, jvp=LINEAR, torch_name="Tensor.unfold",
   vjp=dict(x=lambda g, x_shape, dimension, size, step: use("unfold_sum")(g, x_shape, dimension, size, step)),
   numpy_vjp=dict(x=lambda g, x_shape, dimension, size, step: _unfold_sum(g, x_shape, dimension, size, step)),
   samples=(sample(real(7), 0, 3, 2), sample(real(3, 6), 1, 2, 1), sample(real(), 0, 1, 1)),
   doc="""Windows along a dimension, as a view with the window last.

   >>> import dualtape as dt
   >>> dt.arange(5).unfold(0, 2, 2)
   tensor([[0, 1],
           [2, 3]])
   """)  # fmt: skip
op("unfold_sum", _unfold_sum, kind=GENERAL, public=False, method=False, jvp=LINEAR, node="UnfoldBackwardBackward0",
    torch_name="-",
   vjp=dict(x=lambda g, dimension, size, step: use("unfold")(g, dimension, size, step)),
   samples=(sample(real(3, 3), (7,), 0, 3, 2),), doc="Windows added back where they came from.")  # fmt: skip


def _reach(size: tuple, stride: tuple, offset: int) -> int:
    """Return how many elements from the start of the memory on are addressed."""
    if len(size) != len(stride):
        raise RuntimeError(
            f"as_strided: mismatch in length of strides and shape: size {list(size)}, stride {list(stride)}"
        )
    if min((*size, *stride, offset)) < 0:
        raise RuntimeError(
            "as_strided: negative sizes, strides and offsets are not supported, got"
            f" size {list(size)}, stride {list(stride)}, storage_offset {offset}; use flip for the reverse order"
        )
    return offset + 1 + sum([(n - 1) * s for n, s in zip(size, stride, strict=True)]) if prod(size) else 0


def _strided_view(x: Any, size: tuple, stride: tuple, offset: int) -> Any:
    if _reach(size, stride, offset) > x.size or not x.flags.c_contiguous:
        raise RuntimeError(
            f"as_strided: size {list(size)}, stride {list(stride)} and storage_offset {offset} are out of bounds for"
            f" storage of size {x.size} (in elements)"
        )
    return strided(x.reshape(-1)[offset:], size, tuple([s * x.itemsize for s in stride]))


def _strided_sum(x: Any, shape: tuple, size: tuple, stride: tuple, offset: int) -> Any:
    places = _strided_view(arange_like(prod(shape), x), size, stride, offset).reshape(-1)
    return added_up(places, x.reshape(-1), prod(shape)).reshape(shape)


_SIZES = ((real(3, 4), (2, 2), (4, 1)), (real(6), (3, 2), (1, 2), 1), (real(4), (3,), (0,), 2))


@composite("as_strided", samples=tuple(sample(*case) for case in _SIZES))
def as_strided(input: Any, size: Any, stride: Any, storage_offset: int | None = None) -> Any:
    """A view by size, stride and offset in elements of the memory that the tensor, or the base it views, lives in.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.as_strided(dt.arange(4), (2, 2), (1, 1))
    tensor([[0, 1],
            [1, 2]])
    """
    size, stride = tuple([index(n) for n in size]), tuple([index(n) for n in stride])
    if type(input._array) is Batched:
        return _sample_strided(input, size, stride, storage_offset)
    if storage_offset is None and input._array.flags.c_contiguous and _reach(size, stride, 0) <= input._array.size:
        return _strided_op(input, size, stride, 0)
    start = storage_start(input)
    offset = start if storage_offset is None else index(storage_offset)
    inside = start <= offset and _reach(size, stride, offset) <= start + input._array.size
    storage = input if inside and input._array.flags.c_contiguous else _storage(input)
    return _strided_op(storage, size, stride, offset - start if storage is input else offset)


def _sample_strided(x: Any, size: tuple, stride: tuple, storage_offset: int | None) -> Any:
    """Return the view of each sample of a batch; strides are those of the memory of the whole batch.

    A sample may show its own elements alone: those between its first and its last in memory.
    """
    array = x._array
    start = storage_start(x) if storage_offset is None else index(storage_offset)
    steps = [step // array.itemsize for step in array.strides]
    last = sum([(n - 1) * step for n, step in zip(array.shape, steps, strict=True)])
    if min(steps, default=0) < 0 or _reach(size, stride, start) > last + 1:
        raise RuntimeError(
            f"as_strided: size {list(size)}, stride {list(stride)} and storage_offset {start} can access memory outside of"
            f" the sample of shape {list(array.shape)} and strides {steps}"
        )
    if array.flags.c_contiguous:
        return _strided_op(x, size, stride, start)
    # each place is an element of the sample: its index along each dimension, from the largest step to the smallest
    rest = np.ascontiguousarray(_strided_view(np.arange(last + 1), size, stride, start))
    places = np.zeros(rest.shape, np.intp)
    scale = {d: prod(array.shape[d + 1 :]) for d in range(len(steps))}
    for d in sorted(range(len(steps)), key=lambda d: -steps[d]):
        if array.shape[d] > 1:
            places, rest = places + rest // steps[d] * scale[d], rest % steps[d]
    if rest.any():
        raise RuntimeError(f"as_strided: stride {list(stride)} shows memory between the elements of a sample")
    return x.reshape(-1)[new_tensor(asarray_like(places, array))]


def storage_start(x: Any) -> int:
    """Return the offset of a tensor in its memory, in elements."""
    array = all_samples(x._array)
    placed = hasattr(array, "address") or hasattr(array, "__array_interface__")  # others have no addresses
    return x.storage_offset() if placed and x._base is not None else 0


def _storage(x: Any) -> Any:
    """Return the whole memory behind a tensor, in its order."""
    base = x if x._base is None else x._base
    if x.requires_grad and not base.requires_grad:
        raise RuntimeError(
            "as_strided: this view requires grad and its base does not, so that what lies in memory beside it has no"
            " history: call contiguous() first"
        )
    lying = sorted(range(base.ndim), key=lambda d: (-base._array.strides[d], d))
    storage = base if base._array.flags.c_contiguous else FUNCTIONS["permute"](base, lying)
    if not storage._array.flags.c_contiguous:
        raise RuntimeError("as_strided: the memory behind this tensor has gaps: call contiguous() first")
    return storage


_strided_op = op("strided_view", _strided_view, kind=GENERAL, view="overlapping", jvp=LINEAR, public=False,
   method=False, node=("AsStridedBackward0", "AsStridedBackward1"), torch_name="as_strided",
   vjp=dict(x=lambda g, x_shape, size, stride,
       offset: use("strided_sum")(g, x_shape, size, stride, offset)),
   numpy_vjp=dict(x=lambda g, x_shape, size, stride,
       offset: _strided_sum(g, x_shape, size, stride, offset)),
   samples=tuple(sample(*case, *(0,) * (4 - len(case))) for case in _SIZES),
   doc="""A view by size, stride and offset in elements of a contiguous tensor.""")  # fmt: skip
op("strided_sum", _strided_sum, kind=GENERAL, public=False, method=False, jvp=LINEAR, node="AsStridedBackwardBackward0",
    torch_name="-",
   vjp=dict(x=lambda g, size, stride, offset: use("strided_view")(g, size, stride, offset)),
   samples=(sample(real(2, 2), (3, 4), (2, 2), (4, 1), 0),),
   doc="Strided entries added back where they came from.")  # fmt: skip
