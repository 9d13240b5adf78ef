"""Shapes: the views of a tensor (reshaping, permuting, slicing, expanding, splitting), all linear."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate, pairwise
from math import prod
from operator import index
from typing import Any

import numpy as np

from ... import errors
from ..._tensor import dtypes
from ..._tensor.device import channels_last, contiguous_format, preserve_format
from ..._tensor.tensor import Tensor
from ...arrays import Batched
from ...arrays.kernels.basics import add_reduce, contiguous
from ...arrays.kernels.sums import sum_axis
from ..dispatch import FUNCTIONS
from ..formulas import is_whole, normal_dim, normal_dims, use, zeros_like_shape
from ..samples import real, sample
from ..table import GENERAL, LINEAR, LISTED, composite, op


def resolve(shape: Any, size: int, name: str = "view") -> tuple[int, ...]:
    """``shape`` with its -1 filled in; raises if it does not hold ``size`` elements."""
    sizes = tuple(int(n) for n in ((shape,) if isinstance(shape, int) else shape))
    if sizes.count(-1) > 1:
        raise RuntimeError(f"{name}: only one dimension can be inferred, got shape {list(sizes)}")
    for n in sizes:
        if n < -1:
            raise RuntimeError(f"{name}: invalid shape dimension {n}")
    if -1 in sizes:
        rest = prod(n for n in sizes if n != -1)
        if rest == 0 or size % rest:
            why = " because the unspecified dimension size -1 can be any value and is ambiguous" if rest == 0 else ""
            if rest == 0 and size == 0:
                raise RuntimeError(f"{name}: cannot reshape tensor of 0 elements into shape {list(sizes)}{why}")
            raise RuntimeError(f"{name}: shape '{list(sizes)}' is invalid for input of size {size}")
        sizes = tuple(size // rest if n == -1 else n for n in sizes)
    if prod(sizes) != size:
        raise RuntimeError(f"{name}: shape '{list(sizes)}' is invalid for input of size {size}")
    return sizes


def _view(x: Any, shape: Any) -> Any:
    try:
        out = x.reshape(shape)
    except (ValueError, TypeError):
        out = x.reshape(resolve(shape, x.size))  # raises, in the right words
    if not x.flags.c_contiguous and x.size and isinstance(x, (np.ndarray, Batched)) and not np.may_share_memory(out, x):
        raise RuntimeError(
            f"view size {list(out.shape)} is not compatible with input tensor's size and stride (at least one dimension"
            " spans across two"
            " contiguous subspaces). Use .reshape(...) instead."
        )
    return out


_UNVIEW = dict(x=lambda g, x_shape: g.reshape(x_shape))

_view_shape = op("view_shape", _view, kind=GENERAL, view=True, varargs="shape", node="ViewBackward0", jvp=LINEAR,
    vjp=_UNVIEW, public=False,
   method=False, torch_name="Tensor.view",
   samples=(sample(real(3, 4), (2, 6)), sample(real(3, 4), (-1,)), sample(real(), (1, 1)), sample(real(0, 3), (3, 0)),
       sample(real(1), ())),
   doc="""The same memory in another shape.""")  # fmt: skip
_reshape_alias = op("reshape_alias", _view, kind=GENERAL, view=True, varargs="shape", jvp=LINEAR, vjp=_UNVIEW,
    public=False, method=False,
   torch_name="reshape", samples=(sample(real(3, 4, layout="F"), (3, 4, 1)),), doc="""The same memory, which has
   gaps, in another shape.
   """)  # fmt: skip
_unsafe_view = op("unsafe_view", lambda x, shape: x.reshape(resolve(shape, x.size, "reshape")), kind=GENERAL,
    varargs="shape", node="UnsafeViewBackward0",
   jvp=LINEAR, vjp=_UNVIEW, public=False, method=False, samples=(sample(real(3, 4), (2, 6)),), torch_name="reshape",
   doc="""A fresh array in another shape, not a view.""")  # fmt: skip
op("alias", lambda x: x.view() if type(x) is np.ndarray else x[...], kind=GENERAL, view=True, jvp=LINEAR,
    vjp=dict(x=lambda g: g), public=False, method=False,
   samples=(sample(real(3)),), torch_name="-", doc="""The same memory, as a view.""")  # fmt: skip


def _clone(x: Any, memory_format: Any = None) -> Any:
    if memory_format is channels_last:
        return _channels_last(x, "clone")
    if memory_format is contiguous_format or type(x) is np.ndarray and x.flags.c_contiguous:
        return x.copy()
    strides = getattr(x, "strides", None)
    expanded = strides and any([not s and n > 1 for s, n in zip(strides, x.shape, strict=True)])
    return _expanded_copy(x) if expanded else x.copy(order="K")


def _expanded_copy(x: Any) -> Any:
    """A copy whose axes lie as those of ``x`` do; those along which it was expanded tell nothing, and are passed over."""
    strides, order = x.strides, list(reversed(range(x.ndim)))  # the innermost first
    for start in range(1, x.ndim):
        place = start
        for at in reversed(range(start)):
            mine, other = strides[order[place]], strides[order[at]]
            if mine and other and mine > other:
                break
            if mine and other and mine < other:
                order[place], order[at] = order[at], order[place]
                place = at
    order.reverse()
    return x.transpose(tuple(order)).copy().transpose(tuple(sorted(range(x.ndim), key=order.__getitem__)))


def _channels_last(x: Any, name: str) -> Any:
    """A copy in which the channels of an image lie side by side."""
    if x.ndim != 4:
        raise RuntimeError(f"{name}: required rank 4 tensor to use channels_last format, got shape {list(x.shape)}")
    return x.transpose(0, 2, 3, 1).copy().transpose(0, 3, 1, 2)


op("clone", _clone, kind=GENERAL, keywords=("memory_format",), jvp=LINEAR,
   vjp=dict(x=lambda g: g), samples=(sample(real(3, 4)), sample(real()), sample(real(3, 4, layout="F"))),
   doc="""A copy in memory of its own.

   >>> import dualtape as dt
   >>> x = dt.ones(2)
   >>> y = dt.clone(x); y.add_(1); x
   tensor([2., 2.])
   tensor([1., 1.])
   """)  # fmt: skip


@composite("reshape", samples=(sample(real(3, 4), (2, 6)), sample(real(3, 4, layout="F"), (12,)), sample(real(3, 4, layout="F"), (-1, 2)),
                               sample(real(), (1,)), sample(real(0, 3), (0,))))  # fmt: skip
def reshape(input: Any, *shape: Any) -> Any:
    """The tensor in another shape: a view where the memory allows it, else a copy.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.arange(4).reshape(2, 2)
    tensor([[0, 1],
            [2, 3]])
    """
    if len(shape) == 1 and not isinstance(shape[0], int):
        shape = tuple(shape[0])
    array = input._array
    if type(array) is np.ndarray and array.flags.c_contiguous and shape:  # most are viewed without further question
        if shape == (-1,):
            return _view_shape(input, (array.size,))
        smallest, count = min(shape), prod(shape)
        if smallest > 0 and count == array.size:
            return _view_shape(input, shape)
        if smallest == -1 and count < 0 and not array.size % count and shape.count(-1) == 1:
            return _view_shape(input, tuple([array.size // -count if n == -1 else n for n in shape]))
    sizes = resolve(shape, array.size, "reshape")
    if (
        array.size == 0
        or not isinstance(array, (np.ndarray, Batched))
        or np.may_share_memory(array.reshape(sizes), array)
    ):
        return (_view_shape if array.size == 0 or array.flags.c_contiguous else _reshape_alias)(input, sizes)
    return _unsafe_view(FUNCTIONS["clone"](input), sizes)


def _permute(x: Any, dims: Any) -> Any:
    try:
        return x.transpose(dims)
    except (ValueError, TypeError):
        pass  # the checks below say what is wrong
    if len(dims) != x.ndim:
        raise RuntimeError(
            "permute: number of dimensions in the tensor input does not match the length of the desired ordering:"
            f" {x.ndim}"
            f" dimensions, ordering {list(dims)}"
        )
    axes = tuple(normal_dim(d, x.ndim) for d in dims)
    if len(set(axes)) != len(axes):
        raise RuntimeError(f"permute: duplicate dims are not allowed, got {list(dims)}")
    return x.transpose(axes)


def _inverse(dims: Any, ndim: int) -> tuple[int, ...]:
    axes = [d % ndim if ndim else 0 for d in dims]
    inverse = [0] * len(axes)
    for i, d in enumerate(axes):
        inverse[d] = i
    return tuple(inverse)


permute = op("permute", _permute, kind=GENERAL, view=True, varargs="dims", jvp=LINEAR,
    vjp=dict(x=lambda g, dims: np.transpose(g, _inverse(dims, len(dims)))),
   samples=(sample(real(2, 3, 4), (2, 0, 1)), sample(real(3, 4), (-1, 0)), sample(real(), ())),
   doc="""The dimensions in another order.

   >>> import dualtape as dt
   >>> dt.permute(dt.ones(2, 3, 4), (2, 0, 1)).shape
   dualtape.Size([4, 2, 3])
   """)  # fmt: skip


def _transpose(x: Any, dim0: int, dim1: int) -> Any:
    a, b = normal_dim(dim0, x.ndim), normal_dim(dim1, x.ndim)
    return x.swapaxes(a, b) if x.ndim else x[...]


transpose = op("transpose", _transpose, kind=GENERAL, view=True, node=("TransposeBackward0", "TransposeBackward1"), also=("swapaxes", "swapdims"), jvp=LINEAR,
    aliases={"axis0": "dim0", "axis1": "dim1"},
   vjp=dict(x=lambda g, dim0, dim1: np.swapaxes(g, dim0, dim1) if g.ndim else g),
   numpy_vjp=dict(x=lambda g, dim0, dim1: g.swapaxes(dim0, dim1) if g.ndim else g),
   samples=(sample(real(2, 3, 4), 0, 2), sample(real(3, 4), -1, -2), sample(real(), 0, -1)),
   doc="""Two dimensions exchanged.

   >>> import dualtape as dt
   >>> dt.transpose(dt.ones(2, 3), 0, 1).shape
   dualtape.Size([3, 2])
   """)  # fmt: skip


def _t(x: Any) -> Any:
    if x.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {x.ndim}D; use mT or transpose")
    return x.T


op("t", _t, kind=GENERAL, view=True, node=("TBackward0", "TBackward1"), jvp=LINEAR, vjp=dict(x=lambda g: np.transpose(g)), numpy_vjp=dict(x=lambda g: g.T),
   samples=(sample(real(3, 4)), sample(real(3)), sample(real())),
   doc="""The transpose of a matrix; vectors and scalars stay as they are.

   >>> import dualtape as dt
   >>> dt.t(dt.ones(2, 3)).shape
   dualtape.Size([3, 2])
   """)  # fmt: skip


def _squeeze(x: Any, dim: Any = None) -> Any:
    if dim is None and type(x) is np.ndarray:
        return x.view().squeeze()
    dims = range(x.ndim) if dim is None else normal_dims(dim, x.ndim) if dim != () else ()
    drop = {d for d in dims if x.ndim and x.shape[d] == 1}
    return x[tuple(0 if i in drop else slice(None) for i in range(x.ndim)) + (...,)]


op("squeeze", _squeeze, kind=GENERAL, view=True,
   node=tuple([f"SqueezeBackward{number}" for number in range(6)]),  # the last three in place
   variant=lambda x, dim: 0 if dim is None else 1 if isinstance(dim, int) else 2,
   jvp=LINEAR, vjp=_UNVIEW, samples=(sample(real(1, 3, 1)), sample(real(1, 3, 1), 0), sample(real(1, 3, 1), 1), sample(real(1, 3, 1), (0, -1)), sample(real())),
   doc="""The tensor without its dimensions of size 1, or without those named.

   >>> import dualtape as dt
   >>> dt.squeeze(dt.ones(1, 3, 1)).shape
   dualtape.Size([3])
   """)  # fmt: skip


def _unsqueeze(x: Any, dim: int) -> Any:
    d = normal_dim(dim, x.ndim + 1)
    return x[(slice(None),) * d + (None,)]


unsqueeze = op("unsqueeze", _unsqueeze, kind=GENERAL, view=True, node=("UnsqueezeBackward0", "UnsqueezeBackward1"), jvp=LINEAR,
    vjp=dict(x=lambda g, dim: np.squeeze(g, dim)),
   samples=(sample(real(3, 4), 0), sample(real(3, 4), -1), sample(real(), 0)),
   doc="""The tensor with a new dimension of size 1.

   >>> import dualtape as dt
   >>> dt.unsqueeze(dt.ones(3), 0).shape
   dualtape.Size([1, 3])
   """)  # fmt: skip


def _expand(x: Any, size: Any) -> Any:
    lead = len(size) - x.ndim
    if lead < 0:
        raise RuntimeError(
            f"expand: the number of sizes provided ({len(size)}) must be greater or equal to the number of dimensions"
            " in the tensor"
            f" ({x.ndim})"
        )
    shape: list[Any] = []
    for i, n in enumerate(size):
        old = x.shape[i - lead] if i >= lead else None
        if n == -1 and old is None:
            raise RuntimeError(
                f"expand: the expanded size of the tensor (-1) isn't allowed in a leading, non-existing dimension {i}"
            )
        if old is not None and n != -1 and old not in (1, n):
            raise RuntimeError(
                f"The expanded size of the tensor ({n}) must match the existing size ({old}) at non-singleton dimension"
                f" {i}. Target"
                f" sizes: {list(size)}. Tensor sizes: {list(x.shape)}"
            )
        shape.append(old if n == -1 else n)
    if type(x) is np.ndarray:
        steps = [
            0 if i < lead or (x.shape[i - lead] == 1 and n != 1) else x.strides[i - lead] for i, n in enumerate(shape)
        ]
        if x.flags.c_contiguous and x.size:
            return np.ndarray(shape, x.dtype, x, 0, steps)  # what as_strided comes to, at a tenth of its cost
        return np.lib.stride_tricks.as_strided(x, shape, steps)
    return np.broadcast_to(x, tuple(shape))


expand = op("expand", _expand, kind=GENERAL, view="overlapping", varargs="size", jvp=LINEAR,
    vjp=dict(x=lambda g, x_shape: _shrink(g, x_shape)), public=False,
   numpy_vjp=dict(x=lambda g, x_shape: sum_axis(g, 0) if x_shape and g.shape[1:] == x_shape else _shrink(g, x_shape)),
   torch_name="Tensor.expand",
   samples=(sample(real(3, 1), (3, 4)), sample(real(3), (2, -1)), sample(real(), (2, 3)), sample(real(1), (0,))),
   doc="""Dimensions of size 1 repeated without copying.

   >>> import dualtape as dt
   >>> dt.ones(3, 1).expand(3, 4).shape
   dualtape.Size([3, 4])
   """)  # fmt: skip


def _shrink(g: Any, shape: tuple) -> Any:
    lead = len(g.shape) - len(shape)
    axes = tuple(i for i, n in enumerate(g.shape) if i < lead or (shape[i - lead] == 1 and n != 1))
    return add_reduce(g, axis=axes, keepdims=True).reshape(shape) if axes else g.reshape(shape)


@composite("broadcast_to", samples=(sample(real(3, 1), (3, 4)), sample(real(), (2,))))
def broadcast_to(input: Any, *size: Any) -> Any:
    """The tensor broadcast to a shape, without copying.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.broadcast_to(dt.ones(3), (2, 3)).shape
    dualtape.Size([2, 3])
    """
    return expand(input, *size)


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


@composite("narrow", samples=(sample(real(5, 3), 0, 1, 2), sample(real(5, 3), 1, -2, 2)))
def narrow(input: Any, dim: int, start: int, length: int) -> Any:
    """``length`` entries along a dimension, from ``start``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.narrow(dt.arange(5), 0, 1, 2)
    tensor([1, 2])
    """
    if not input.ndim:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    n = input._array.shape[normal_dim(dim, input.ndim)]
    first = int(start) + n if start < 0 else int(start)
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
    """The keys of the pieces: to make slices takes as long as to take them."""
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
        small, more = divmod(n, indices_or_sections)
        bounds = [0]
        for i in range(indices_or_sections):
            bounds.append(bounds[-1] + small + (i < more))
    else:
        bounds = [0, *(int(i) for i in indices_or_sections), n]
    return tuple(slice_of(input, dim, a, b, 1) for a, b in zip(bounds[:-1], bounds[1:], strict=True))


# --- names for common reshapings ------------------------------------------------------------------


@composite(
    "flatten", samples=(sample(real(2, 3, 4)), sample(real(2, 3, 4), 1), sample(real(2, 3, 4), 0, 1), sample(real()))
)
def flatten(input: Any, start_dim: int = 0, end_dim: int = -1) -> Any:
    """A range of dimensions made one.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.flatten(dt.ones(2, 3)).shape
    dualtape.Size([6])
    """
    shape = input._array.shape
    if start_dim == 0 and end_dim == -1 and len(shape) > 1:
        return reshape(input, input._array.size)
    first, last = normal_dim(start_dim, len(shape)), normal_dim(end_dim, len(shape))
    if first > last:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if not shape:
        return input.reshape(1)
    if first == last:
        return input
    return input.reshape((*shape[:first], prod(shape[first : last + 1]), *shape[last + 1 :]))


@composite("ravel", samples=(sample(real(2, 3)), sample(real(3))))
def ravel(input: Any) -> Any:
    """The tensor in one dimension.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.ravel(dt.ones(2, 3)).shape
    dualtape.Size([6])
    """
    return _view_shape(input.contiguous(), (-1,))


@composite("unflatten", samples=(sample(real(2, 6), 1, (2, 3)), sample(real(2, 6), -1, (2, -1))))
def unflatten(input: Any, dim: int, sizes: Sequence[int]) -> Any:
    """One dimension made several.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.unflatten(dt.ones(2, 6), 1, (2, 3)).shape
    dualtape.Size([2, 2, 3])
    """
    shape = input._array.shape
    d = normal_dim(dim, len(shape))
    return input.view((*shape[:d], *resolve(sizes, shape[d], "unflatten"), *shape[d + 1 :]))


@composite("movedim", also=("moveaxis",), samples=(sample(real(2, 3, 4), 0, 2), sample(real(2, 3, 4), (0, 1), (1, 2))))
def movedim(input: Any, source: Any, destination: Any) -> Any:
    """Dimensions moved to other places, the rest kept in order.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.movedim(dt.ones(2, 3, 4), 0, -1).shape
    dualtape.Size([3, 4, 2])
    """
    ndim = input.ndim
    sources, targets = normal_dims(source, ndim), normal_dims(destination, ndim)
    if len(sources) != len(targets):
        raise RuntimeError(f"movedim: source {source} and destination {destination} must have as many dimensions")
    if len(set(sources)) != len(sources) or len(set(targets)) != len(targets):
        raise RuntimeError("movedim: repeated dim in source or destination")
    rest = iter(d for d in range(ndim) if d not in sources)
    order = [sources[targets.index(i)] if i in targets else next(rest) for i in range(ndim)]
    return permute(input, tuple(order))


@composite("adjoint", samples=(sample(real(2, 3)), sample(real(2, 3, 4))))
def adjoint(input: Any) -> Any:
    """The conjugate transpose of the last two dimensions.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.adjoint(dt.tensor([[1j]]))
    tensor([[0.-1.j]])
    """
    return _matrix(input, "adjoint()").conj()  # type: ignore[attr-defined]


def _contiguous(self: Tensor, memory_format: Any = None) -> Tensor:
    """The tensor itself if its memory is in row-major order without gaps, else a copy that is.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.ones(2, 3).t().contiguous().stride()
    (2, 1)
    """
    if memory_format is preserve_format and not self._array.flags.c_contiguous:
        raise RuntimeError("contiguous: preserve memory format is unsupported by the contiguous operator")
    if memory_format is channels_last:
        return self if self.is_contiguous(memory_format) else FUNCTIONS["clone"](self, memory_format)
    return self if self._array.flags.c_contiguous else _contiguous_copy(self)


_contiguous_copy = op("contiguous_copy", lambda x: contiguous(x).reshape(x.shape), kind=GENERAL,
   method=False, public=False, jvp=LINEAR, node="CloneBackward0", vjp=dict(x=lambda g: g),
   samples=(sample(real(3, 4, layout="F")),), torch_name="clone", doc="A copy in row-major order.")  # fmt: skip


# --- methods and properties -----------------------------------------------------------------------


def _view_method(self: Tensor, *shape: Any) -> Tensor:
    """The same memory in another shape, or (given a dtype) read as another type of the same size.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.arange(4).view(2, 2)
    tensor([[0, 1],
            [2, 3]])
    """
    if (
        len(shape) == 1
        and type(shape[0]) is not int
        and (type(shape[0]) is dtypes.dtype or isinstance(shape[0], (np.dtype, type)))
    ):
        wanted = dtypes.to_numpy(shape[0])
        if wanted.kind in "fc" or self._array.dtype.kind not in "fc":
            return view_dtype(self, wanted)
        bits = self.detach()  # integers have no history: not even a view's
        bits._array = bits._array.view(wanted)
        return bits
    return _view_shape(self, *shape)


view_dtype = op("view_dtype", lambda x, dtype: x.view(dtype), kind=GENERAL, view=True, public=False, method=False,
    constants=("x",), torch_name="-",
   samples=(sample(real(3), np.dtype(np.int64)),), doc="The same bytes read as another type.")  # fmt: skip


def _transposed_property(name: str, doc: str, view: Any) -> None:
    setattr(Tensor, name, property(view, doc=doc))


def _reversed(x: Tensor) -> Tensor:
    if x.ndim != 2:
        _warn_of_transpose("T", x.ndim)
    return permute(x, tuple(reversed(range(x.ndim))))


def _warn_of_transpose(name: str, ndim: int) -> None:
    if not ndim:
        instead = "it is the tensor itself" if name[-1] == "T" else "use x.conj()"
        errors.warn(f"x.{name} of a tensor without dimensions is deprecated: {instead}")
    else:
        errors.warn(
            f"The use of `x.T` on tensors of dimension other than 2 is deprecated, got {ndim}: use x.mT for batches of"
            " matrices, or x.permute(*range(x.ndim)[::-1]) for the dimensions in reverse order"
        )


def _conjugate_transpose(x: Tensor) -> Tensor:
    if x.ndim not in (0, 2):
        raise RuntimeError(
            f"tensor.H is only supported on matrices (2-D tensors). Got {x.ndim}-D tensor. For batches of matrices use"
            " tensor.mH"
        )
    return _matrix(x, "H").conj()  # type: ignore[attr-defined]


def _matrix(x: Tensor, name: str) -> Tensor:
    if x.ndim == 1:
        raise RuntimeError(
            f"tensor.{name} is only supported on matrices or batches of matrices. Got {x.ndim}-D tensor."
        )
    if not x.ndim:
        _warn_of_transpose(name, 0)
    return transpose(x, -2, -1) if x.ndim else x


_transposed_property("T", "The dimensions in reverse order.", _reversed)
_transposed_property("mT", "The last two dimensions exchanged.", lambda x: _matrix(x, "mT"))
_transposed_property("H", "The conjugate transpose of a matrix.", lambda x: _conjugate_transpose(x))
_transposed_property("mH", "The conjugate transpose of the last two dimensions.", lambda x: _matrix(x, "mH").conj())


def _shape_of(name: str, other: Any) -> Any:
    if not isinstance(other, Tensor):
        raise errors.not_a_tensor(name, "other", other)
    return other.shape


def _view_as(self: Tensor, other: Tensor) -> Tensor:
    """The same memory in the shape of another tensor.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.arange(2).view_as(dt.ones(2, 1)).shape
    dualtape.Size([2, 1])
    """
    return self.view(_shape_of("view_as", other))  # type: ignore[attr-defined]


def _reshape_as(self: Tensor, other: Tensor) -> Tensor:
    """The tensor in the shape of another.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.arange(2).reshape_as(dt.ones(2, 1)).shape
    dualtape.Size([2, 1])
    """
    return self.reshape(_shape_of("reshape_as", other))  # type: ignore[attr-defined]


def _expand_as(self: Tensor, other: Tensor) -> Tensor:
    """Dimensions of size 1 repeated to the shape of another tensor.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.arange(1).expand_as(dt.ones(2)).shape
    dualtape.Size([2])
    """
    return self.expand(_shape_of("expand_as", other))  # type: ignore[attr-defined]


Tensor.view = _view_method  # type: ignore[method-assign, assignment]
Tensor.contiguous = _contiguous  # type: ignore[method-assign, assignment]
Tensor.view_as = _view_as  # type: ignore[method-assign, assignment]
Tensor.reshape_as = _reshape_as  # type: ignore[method-assign, assignment]
Tensor.expand_as = _expand_as  # type: ignore[method-assign, assignment]
