"""Parts of a tensor, as views: a range or an entry along one dimension, or the whole in several pieces; all linear.

The gradient of a part is surrounded by zeros, which is an op of its own; that of pieces is their join. Views of all
elements are in ``shapes``, keys of several dimensions in ``indexing``.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import accumulate, pairwise
from operator import index
from typing import Any

import numpy as np

from ..._tensor.tensor import raw
from ...arrays import as_array
from ..formulas import is_whole, normal_dim, use, zeros_like_shape
from ..samples import real, sample
from ..table import GENERAL, LINEAR, LISTED, composite, op


def _as_slice(x: Any, dim: int, start: int | None, end: int | None, step: int) -> tuple:
    d = normal_dim(dim, x.ndim)
    return (slice(None),) * d + (slice(start, end, step),)


def _slice(x: Any, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> Any:
    if step <= 0:
        raise ValueError(f"slice step must be positive, got {step}; use flip for the reverse order")
    return x[_as_slice(x, dim, start, end, step)]


def _put_slice(g: Any, shape: tuple, dim: int, start: Any, end: Any, step: int) -> Any:
    return use("slice_zero")(g, shape, dim, start, end, step)


slice_of = op("slice", _slice, kind=GENERAL, view=True, public=False, method=False, jvp=LINEAR, torch_name="-",
   vjp=dict(x=lambda g, x_shape, dim, start, end, step: _put_slice(g, x_shape, dim, start, end, step)),
   numpy_vjp=dict(x=lambda g, x_shape, dim, start, end,
       step: _slice_into(np.zeros(x_shape, g.dtype), g, dim, start, end, step)),
   samples=(sample(real(5, 3), 0, 1, 4), sample(real(5, 3), 1, None, None, 2), sample(real(5), 0, -2, None),
       sample(real(5), 0, 3, 2)),
   doc="""A range along one dimension.""")  # fmt: skip


def _select(x: Any, dim: int, index: int) -> Any:
    if type(index) is not int:
        if isinstance(index, bool) or not hasattr(index, "__index__"):
            raise TypeError(f"select(): argument 'index' must be int, not {type(index).__name__}")
        index = index.__index__()
    if dim == 0 and x.ndim and -x.shape[0] <= index < x.shape[0]:
        return x[index, ...]
    return x[(slice(None),) * normal_dim(dim, x.ndim) + (_checked(index, x, dim), ...)]


def _checked(index: int, x: Any, dim: int) -> int:
    n = x.shape[normal_dim(dim, x.ndim)] if x.ndim else None
    if n is None:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    if not -n <= index < n:
        raise IndexError(
            f"select(): index {index} out of range for tensor of size {list(x.shape)} at dimension {dim}: index {index}"
            f" is out of bounds for dimension {dim} with size {n}"
        )
    return int(index)


select = op("select", _select, kind=GENERAL, view=True, jvp=LINEAR,
   vjp=dict(x=lambda g, x_shape, dim, index: use("select_zero")(g, x_shape, dim, index)),
   numpy_vjp=dict(x=lambda g, x_shape, dim, index: _select_into(np.zeros(x_shape, g.dtype), g, dim, index)),
   samples=(sample(real(5, 3), 0, 1), sample(real(5, 3), 1, -1), sample(real(2), 0, 1)),
   doc="""One entry along a dimension, which goes away.

   >>> import dualtape as dt
   >>> dt.select(dt.eye(2), 0, 1)
   tensor([0., 1.])
   """)  # fmt: skip


def _slice_zero(x: Any, shape: tuple, dim: int, start: Any, end: Any, step: int) -> Any:
    return _slice_into(zeros_like_shape(shape, x), x, dim, start, end, step)


def _slice_into(out: Any, x: Any, dim: int, start: Any, end: Any, step: int) -> Any:
    out[slice(start, end, step) if dim == 0 else _as_slice(out, dim, start, end, step)] = x
    return out


def _select_zero(x: Any, shape: tuple, dim: int, index: int) -> Any:
    return _select_into(zeros_like_shape(shape, x), x, dim, index)


def _select_into(out: Any, x: Any, dim: int, index: int) -> Any:
    if dim == 0 and out.shape:
        out[index] = x
    else:
        out[(slice(None),) * normal_dim(dim, out.ndim) + (index,)] = x
    return out


op("slice_zero", _slice_zero, kind=GENERAL, public=False, method=False, jvp=LINEAR, node="SliceBackwardBackward0",
    torch_name="-",
   vjp=dict(x=lambda g, dim, start, end, step: use("slice")(g, dim, start, end, step)),
   samples=(sample(real(2, 3), (5, 3), 0, 1, 3, 1),), doc="Zeros, with x in a range along one dimension.")  # fmt: skip
op("select_zero", _select_zero, kind=GENERAL, public=False, method=False, jvp=LINEAR, node="SelectBackwardBackward0",
    torch_name="-",
   vjp=dict(x=lambda g, dim, index: use("select")(g, dim, index)),
   samples=(sample(real(3), (5, 3), 0, 1),), doc="Zeros, with x as one entry along a dimension.")  # fmt: skip


def _sliced_back(x: Any, dim: int, start: int | None, end: int | None, step: int) -> Any:
    return x[_as_slice(x, dim, start, end, step)]


slice_back = op("slice_back", _sliced_back, kind=GENERAL, view=True, public=False, method=False, jvp=LINEAR,
   node="SliceBackward0", torch_name="-",
   vjp=dict(x=lambda g, x_shape, dim, start, end, step: use("slice_back_zero")(g, x_shape, dim, start, end, step)),
   samples=(sample(real(5, 3), 0, None, None, -1), sample(real(5, 3), 1, -1, 0, -2)),
   doc="""A range along one dimension with a negative step, which arrays of NumPy's kind have.""")  # fmt: skip
op("slice_back_zero", _slice_zero, kind=GENERAL, public=False, method=False, jvp=LINEAR,
   node="SliceBackwardBackward0", torch_name="-",
   vjp=dict(x=lambda g, dim, start, end, step: use("slice_back")(g, dim, start, end, step)),
   samples=(sample(real(3, 3), (5, 3), 0, None, None, -2),),
   doc="Zeros, with x in a range with a negative step.")  # fmt: skip


def _element(x: Any, index: tuple) -> Any:
    return as_array(x[(*index, ...)]).copy()


def _element_zero(x: Any, shape: tuple, index: tuple) -> Any:
    out = zeros_like_shape(shape, x)
    out[(*index, ...)] = x
    return out


op("element", _element, kind=GENERAL, public=False, method=False, jvp=LINEAR, node="SelectBackward0", torch_name="-",
   vjp=dict(x=lambda g, x_shape, index: use("element_zero")(g, x_shape, index)),
   samples=(sample(real(5, 3), (1, -2)), sample(real(5), (0,))),
   doc="""A copy of the element at an index of integers, with no dimension.""")  # fmt: skip
op("element_zero", _element_zero, kind=GENERAL, public=False, method=False, jvp=LINEAR, node="SelectBackwardBackward0",
   torch_name="-",
   vjp=dict(x=lambda g, index: use("element")(g, index)),
   samples=(sample(real(), (5, 3), (1, -2)),), doc="Zeros, with x at an index of integers.")  # fmt: skip


@composite("narrow", samples=(sample(real(5, 3), 0, 1, 2), sample(real(5, 3), 1, -2, 2)))
def narrow(input: Any, dim: int, start: Any, length: int) -> Any:
    """``length`` entries along a dimension, from ``start``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.narrow(dt.arange(5), 0, 1, 2)
    tensor([1, 2])
    """
    if not input.ndim:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    if hasattr(start, "ndim") and (start.ndim or raw(start).dtype.kind not in "iu"):
        raise RuntimeError(
            f"narrow: start must be a 0-dim integral tensor, got shape {list(start.shape)} of {start.dtype}"
        )
    n = input._array.shape[normal_dim(dim, input.ndim)]
    start, length = int(start), index(length)  # integers of NumPy's may be too narrow for their sum
    first = start + n if start < 0 else start
    if length < 0 or first < 0 or first + length > n:
        raise RuntimeError(f"narrow: start ({start}) + length ({length}) exceeds dimension size ({n})")
    return slice_of(input, dim, first, first + length, 1)


# --- several views of one tensor ------------------------------------------------------------------


def _split_sizes(n: int, split_size: Any) -> list[int]:
    if isinstance(split_size, int):
        if split_size < 0 or (split_size == 0 and n):
            raise RuntimeError(
                "split expects split_size be non-negative, and positive unless the dimension is empty, got"
                f" {split_size}"
            )
        count = max(1, -(-n // split_size)) if split_size else 1
        return [min(split_size, n - i * split_size) for i in range(count)] if split_size else [0]
    sizes = list(split_size)
    if sum(sizes) != n or any(s < 0 for s in sizes):
        raise RuntimeError(f"split_with_sizes expects split_sizes to sum exactly to {n}, but got split_sizes={sizes}")
    return sizes


@lru_cache(maxsize=256)
def _cuts(n: int, split_size: Any, d: int) -> tuple:
    """Return the keys of the pieces, cached: making slices takes as long as applying them."""
    ends = list(accumulate(_split_sizes(n, split_size), initial=0))
    return tuple((slice(None),) * d + (slice(start, end),) for start, end in pairwise(ends))


def _split(x: Any, split_size: Any, dim: int = 0) -> Any:
    if not x.ndim:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    d = normal_dim(dim, x.ndim)
    return [
        x[key]
        for key in _cuts(
            x.shape[d], split_size if isinstance(split_size, int) else tuple([int(n) for n in split_size]), d
        )
    ]


@lru_cache(maxsize=256)
def _places(n: int, d: int) -> tuple:
    return tuple((slice(None),) * d + (i, ...) for i in range(n))


split = op("split", _split, kind=GENERAL, view=True, outputs=LISTED, jvp=LINEAR,
    node=("SplitBackward0", "SplitWithSizesBackward0"),
   variant=lambda x, split_size, dim: int(not isinstance(split_size, int)),
   aliases={"split_size_or_sections": "split_size", "split_sizes": "split_size", "tensor": "x"},
   vjp=dict(x=lambda grads, dim: np.concatenate(grads, axis=dim)),
   samples=(sample(real(5, 3), 2), sample(real(5, 3), [1, 4]), sample(real(4, 3), 2, dim=1)),
   doc="""The tensor cut into pieces along a dimension: of one size, or of the sizes given.

   >>> import dualtape as dt
   >>> dt.split(dt.arange(5), 2)
   (tensor([0, 1]), tensor([2, 3]), tensor([4]))
   """)  # fmt: skip


def _unbind(x: Any, dim: int = 0) -> list:
    d = normal_dim(dim, x.ndim)
    if not x.ndim:
        raise IndexError(f"unbind: Dimension specified as {dim} but tensor has no dimensions")
    return [x[key] for key in _places(x.shape[d], d)]


unbind = op("unbind", _unbind, kind=GENERAL,
    view=True,
   outputs=LISTED, jvp=LINEAR, vjp=dict(x=lambda grads, dim: np.stack(grads, axis=dim)),
   samples=(sample(real(3, 4)), sample(real(3, 4), 1), sample(real(2))),
   doc="""The entries along a dimension.

   >>> import dualtape as dt
   >>> dt.unbind(dt.eye(2))
   (tensor([1., 0.]), tensor([0., 1.]))
   """)  # fmt: skip


@composite("chunk", samples=(sample(real(5, 3), 2), sample(real(4, 3), 3, 1)))
def chunk(input: Any, chunks: int, dim: int = 0) -> Any:
    """The tensor cut into at most ``chunks`` equal pieces.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.chunk(dt.arange(4), 2)
    (tensor([0, 1]), tensor([2, 3]))
    """
    shape = input._array.shape
    if not shape:
        raise RuntimeError("chunk expects at least a 1-dimensional tensor")
    if chunks < 1:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    n = shape[normal_dim(dim, len(shape))]
    size = -(-n // chunks)
    return split(input, size, dim) if size else split(input, [0] * chunks, dim)


_MOST_PARTS = 2**27  # beyond which PyTorch has no memory for the tensors either


@composite("tensor_split", samples=(sample(real(5, 3), 2), sample(real(5, 3), (1, 3))))
def tensor_split(
    input: Any,
    indices_or_sections: Any = None,
    dim: int = 0,
    *,
    sections: Any = None,
    indices: Any = None,
    axis: int = 0,
) -> Any:
    """The tensor cut into nearly equal sections, or at the indices given.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.tensor_split(dt.arange(5), 2)
    (tensor([0, 1, 2]), tensor([3, 4]))
    """
    dim = dim or axis
    given = [v for v in (indices_or_sections, sections, indices) if v is not None]
    if len(given) != 1:
        raise TypeError("tensor_split() takes one of indices_or_sections, sections and indices")
    (indices_or_sections,) = given
    if not input.ndim:
        raise RuntimeError("tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims")
    n = input._array.shape[normal_dim(dim, input.ndim)]
    if is_whole(indices_or_sections):
        indices_or_sections = index(indices_or_sections)
        if indices_or_sections < 1:
            raise RuntimeError(f"number of sections must be larger than 0, got {indices_or_sections}")
        if indices_or_sections > _MOST_PARTS:
            raise RuntimeError(f"tensor_split: {indices_or_sections} sections are more than memory has a place for")
        small, more = divmod(n, indices_or_sections)
        bounds = [0]
        for i in range(indices_or_sections):
            bounds.append(bounds[-1] + small + (i < more))
    else:
        bounds = [0, *(int(i) for i in indices_or_sections), n]
    return tuple(slice_of(input, dim, a, b, 1) for a, b in zip(bounds[:-1], bounds[1:], strict=True))
