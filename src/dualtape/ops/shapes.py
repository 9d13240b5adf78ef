"""Shape ops: views (reshaping, permuting, slicing, expanding) and joins (cat, stack), all linear in their tensor."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from .. import dtypes
from ..arrays import module_of
from ..arrays.kernels import add_reduce, added_up, arange_like, asarray_like, contiguous, host
from ..device import contiguous_format
from ..tensor import Tensor, wrap
from .dispatch import FUNCTIONS
from .formulas import normal_dim, normal_dims, use, zeros_like_shape
from .samples import ints, real, sample
from .table import COMMON, GENERAL, LINEAR, LISTED, TABLE, composite, op


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
    if not x.flags.c_contiguous and x.size and type(x) is np.ndarray and not np.may_share_memory(out, x):
        raise RuntimeError(
            f"view size {list(out.shape)} is not compatible with input tensor's size and stride (at least one dimension spans across two"
            " contiguous subspaces). Use .reshape(...) instead."
        )
    return out


_UNVIEW = dict(x=lambda g, x_shape: g.reshape(x_shape))

_view_shape = op("view_shape", _view, kind=GENERAL, view=True, varargs="shape", node="ViewBackward0", jvp=LINEAR, vjp=_UNVIEW, public=False,
   method=False, torch_name="Tensor.view",
   samples=(sample(real(3, 4), (2, 6)), sample(real(3, 4), (-1,)), sample(real(), (1, 1)), sample(real(0, 3), (3, 0)), sample(real(1), ())),
   doc="""The same memory in another shape.""")  # fmt: skip
_unsafe_view = op("unsafe_view", lambda x, shape: x.reshape(resolve(shape, x.size, "reshape")), kind=GENERAL, varargs="shape", node="UnsafeViewBackward0",
   jvp=LINEAR, vjp=_UNVIEW, public=False, method=False, samples=(sample(real(3, 4), (2, 6)),), torch_name="reshape",
   doc="""A fresh array in another shape, not a view.""")  # fmt: skip
op("alias", lambda x: x.view() if type(x) is np.ndarray else x[...], kind=GENERAL, view=True, jvp=LINEAR, vjp=dict(x=lambda g: g), public=False, method=False,
   samples=(sample(real(3)),), torch_name="-", doc="""The same memory, as a view.""")  # fmt: skip
def _clone(x: Any, memory_format: Any = None) -> Any:
    dense = x.flags.c_contiguous or x.flags.f_contiguous
    return x.copy(order="K") if dense and memory_format is not contiguous_format else x.copy()


op("clone", _clone, kind=GENERAL, jvp=LINEAR,
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
    sizes = resolve(shape, array.size, "reshape")
    if array.size == 0 or type(array) is not np.ndarray or np.may_share_memory(array.reshape(sizes), array):
        return _view_shape(input, sizes)
    return _unsafe_view(FUNCTIONS["clone"](input), sizes)


def _permute(x: Any, dims: Any) -> Any:
    try:
        return x.transpose(dims)
    except (ValueError, TypeError):
        pass  # the checks below say what is wrong
    if len(dims) != x.ndim:
        raise RuntimeError(
            f"permute: number of dimensions in the tensor input does not match the length of the desired ordering: {x.ndim}"
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


permute = op("permute", _permute, kind=GENERAL, view=True, varargs="dims", jvp=LINEAR, vjp=dict(x=lambda g, dims: np.transpose(g, _inverse(dims, len(dims)))),
   samples=(sample(real(2, 3, 4), (2, 0, 1)), sample(real(3, 4), (-1, 0)), sample(real(), ())),
   doc="""The dimensions in another order.

   >>> import dualtape as dt
   >>> dt.permute(dt.ones(2, 3, 4), (2, 0, 1)).shape
   dualtape.Size([4, 2, 3])
   """)  # fmt: skip


def _transpose(x: Any, dim0: int, dim1: int) -> Any:
    a, b = normal_dim(dim0, x.ndim), normal_dim(dim1, x.ndim)
    return x.swapaxes(a, b) if x.ndim else x[...]


transpose = op("transpose", _transpose, kind=GENERAL, view=True, also=("swapaxes", "swapdims"), jvp=LINEAR, aliases={"axis0": "dim0", "axis1": "dim1"},
   vjp=dict(x=lambda g, dim0, dim1: np.swapaxes(g, dim0, dim1) if g.ndim else g),
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


op("t", _t, kind=GENERAL, view=True, jvp=LINEAR, vjp=dict(x=lambda g: np.transpose(g)), samples=(sample(real(3, 4)), sample(real(3)), sample(real())),
   doc="""The transpose of a matrix; vectors and scalars stay as they are.

   >>> import dualtape as dt
   >>> dt.t(dt.ones(2, 3)).shape
   dualtape.Size([3, 2])
   """)  # fmt: skip


def _squeeze(x: Any, dim: Any = None) -> Any:
    dims = range(x.ndim) if dim is None else normal_dims(dim, x.ndim) if dim != () else ()
    drop = {d for d in dims if x.ndim and x.shape[d] == 1}
    return x[tuple(0 if i in drop else slice(None) for i in range(x.ndim)) + (...,)]


op("squeeze", _squeeze, kind=GENERAL, view=True, node=("SqueezeBackward0", "SqueezeBackward1", "SqueezeBackward2"),
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


unsqueeze = op("unsqueeze", _unsqueeze, kind=GENERAL, view=True, jvp=LINEAR, vjp=dict(x=lambda g, dim: np.squeeze(g, dim)),
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
            f"expand: the number of sizes provided ({len(size)}) must be greater or equal to the number of dimensions in the tensor"
            f" ({x.ndim})"
        )
    shape: list[Any] = []
    for i, n in enumerate(size):
        old = x.shape[i - lead] if i >= lead else None
        if n == -1 and old is None:
            raise RuntimeError(f"expand: the expanded size of the tensor (-1) isn't allowed in a leading, non-existing dimension {i}")
        if old is not None and n != -1 and old not in (1, n):
            raise RuntimeError(
                f"The expanded size of the tensor ({n}) must match the existing size ({old}) at non-singleton dimension {i}. Target"
                f" sizes: {list(size)}. Tensor sizes: {list(x.shape)}"
            )
        shape.append(old if n == -1 else n)
    if type(x) is np.ndarray:
        out = np.lib.stride_tricks.as_strided(
            x, shape, [0 if i < lead or (x.shape[i - lead] == 1 and n != 1) else x.strides[i - lead] for i, n in enumerate(shape)]
        )
        return out
    return np.broadcast_to(x, tuple(shape))


expand = op("expand", _expand, kind=GENERAL, view="overlapping", varargs="size", jvp=LINEAR, vjp=dict(x=lambda g, x_shape: _shrink(g, x_shape)), public=False,
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


_slice_op = op("slice", _slice, kind=GENERAL, view=True, public=False, method=False, jvp=LINEAR, torch_name="-",
   vjp=dict(x=lambda g, x_shape, dim, start, end, step: _put_slice(g, x_shape, dim, start, end, step)),
   samples=(sample(real(5, 3), 0, 1, 4), sample(real(5, 3), 1, None, None, 2), sample(real(5), 0, -2, None), sample(real(5), 0, 3, 2)),
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
        raise IndexError(f"select(): index {index} out of range for dimension {dim} with size {n}")
    return int(index)


select = op("select", _select, kind=GENERAL, view=True, jvp=LINEAR,
   vjp=dict(x=lambda g, x_shape, dim, index: use("select_zero")(g, x_shape, dim, index)),
   samples=(sample(real(5, 3), 0, 1), sample(real(5, 3), 1, -1), sample(real(2), 0, 1)),
   doc="""One entry along a dimension, which goes away.

   >>> import dualtape as dt
   >>> dt.select(dt.eye(2), 0, 1)
   tensor([0., 1.])
   """)  # fmt: skip




def _slice_zero(x: Any, shape: tuple, dim: int, start: Any, end: Any, step: int) -> Any:
    out = zeros_like_shape(shape, x)
    out[_as_slice(out, dim, start, end, step)] = x
    return out


def _select_zero(x: Any, shape: tuple, dim: int, index: int) -> Any:
    out = zeros_like_shape(shape, x)
    out[(slice(None),) * normal_dim(dim, len(shape)) + (index,)] = x
    return out


op("slice_zero", _slice_zero, kind=GENERAL, public=False, method=False, jvp=LINEAR, node="SliceBackwardBackward0", torch_name="-",
   vjp=dict(x=lambda g, dim, start, end, step: use("slice")(g, dim, start, end, step)),
   samples=(sample(real(2, 3), (5, 3), 0, 1, 3, 1),), doc="Zeros, with x in a range along one dimension.")  # fmt: skip
op("select_zero", _select_zero, kind=GENERAL, public=False, method=False, jvp=LINEAR, node="SelectBackwardBackward0", torch_name="-",
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
    return _slice_op(input, dim, first, first + length, 1)


# --- several views of one tensor ------------------------------------------------------------------------------------------------


def _split_sizes(n: int, split_size: Any) -> list[int]:
    if isinstance(split_size, int):
        if split_size < 0 or (split_size == 0 and n):
            raise RuntimeError(f"split expects split_size be non-negative, and positive unless the dimension is empty, got {split_size}")
        count = max(1, -(-n // split_size)) if split_size else 1
        return [min(split_size, n - i * split_size) for i in range(count)] if split_size else [0]
    sizes = [int(s) for s in split_size]
    if sum(sizes) != n or any(s < 0 for s in sizes):
        raise RuntimeError(f"split_with_sizes expects split_sizes to sum exactly to {n}, but got split_sizes={sizes}")
    return sizes


def _split(x: Any, split_size: Any, dim: int = 0) -> Any:
    if not x.ndim:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    d = normal_dim(dim, x.ndim)
    parts, start = [], 0
    for size in _split_sizes(x.shape[d], split_size):
        parts.append(x[(slice(None),) * d + (slice(start, start + size),)])
        start += size
    return parts


split = op("split", _split, kind=GENERAL, view=True, outputs=LISTED, jvp=LINEAR, node=("SplitBackward0", "SplitWithSizesBackward0"),
   variant=lambda x, split_size, dim: int(not isinstance(split_size, int)), aliases={"split_size_or_sections": "split_size", "split_sizes": "split_size"},
   vjp=dict(x=lambda grads, dim: np.concatenate(grads, axis=dim)),
   samples=(sample(real(5, 3), 2), sample(real(5, 3), [1, 4]), sample(real(4, 3), 2, dim=1)),
   doc="""The tensor cut into pieces along a dimension: of one size, or of the sizes given.

   >>> import dualtape as dt
   >>> dt.split(dt.arange(5), 2)
   (tensor([0, 1]), tensor([2, 3]), tensor([4]))
   """)  # fmt: skip
unbind = op("unbind", lambda x, dim=0: [x[(slice(None),) * normal_dim(dim, x.ndim) + (i, ...)] for i in range(x.shape[dim])], kind=GENERAL, view=True,
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
    if not input.ndim:
        raise RuntimeError("chunk expects at least a 1-dimensional tensor")
    if chunks < 1:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    n = input._array.shape[normal_dim(dim, input.ndim)]
    size = -(-n // chunks)
    return split(input, size, dim) if size else split(input, [0] * chunks, dim)


@composite("tensor_split", samples=(sample(real(5, 3), 2), sample(real(5, 3), (1, 3))))
def tensor_split(input: Any, indices_or_sections: Any, dim: int = 0) -> Any:
    """The tensor cut into nearly equal sections, or at the indices given.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.tensor_split(dt.arange(5), 2)
    (tensor([0, 1, 2]), tensor([3, 4]))
    """
    n = input._array.shape[normal_dim(dim, input.ndim)]
    if isinstance(indices_or_sections, int):
        if indices_or_sections < 1:
            raise RuntimeError(f"number of sections must be larger than 0, got {indices_or_sections}")
        small, more = divmod(n, indices_or_sections)
        bounds = [0]
        for i in range(indices_or_sections):
            bounds.append(bounds[-1] + small + (i < more))
    else:
        bounds = [0, *(int(i) for i in indices_or_sections), n]
    return tuple(_slice_op(input, dim, a, b, 1) for a, b in zip(bounds[:-1], bounds[1:], strict=True))


# --- joins ------------------------------------------------------------------------------------------------------------------------


def _cat(tensors: Any, dim: int = 0) -> Any:
    if not tensors:
        raise RuntimeError("cat: expected a non-empty list of Tensors")
    kept = [t for t in tensors if t.shape != (0,)] or list(tensors)
    d = normal_dim(dim, kept[0].ndim)
    for t in kept:
        if t.ndim == 0:
            raise RuntimeError("cat: zero-dimensional tensor cannot be concatenated; use stack")
        if t.ndim != kept[0].ndim or any(a != b for i, (a, b) in enumerate(zip(t.shape, kept[0].shape, strict=False)) if i != d):
            raise RuntimeError(
                f"cat: Sizes of tensors must match except in dimension {d}. Expected {list(kept[0].shape)} but got {list(t.shape)}"
            )
    return np.concatenate(kept, axis=d)


def _uncat(g: Any, tensors_shape: list, dim: int) -> list:
    grads, start = [], 0
    d = normal_dim(dim, g.ndim)
    for shape in tensors_shape:
        if shape == (0,) and g.ndim != 1:
            grads.append(zeros_like_shape((0,), g))
            continue
        grads.append(g[(slice(None),) * d + (slice(start, start + shape[d]),)])
        start += shape[d]
    return grads


cat = op("cat", _cat, kind=GENERAL, listed="tensors", promote=COMMON, jvp=LINEAR, also=("concat", "concatenate"), method=False,
   vjp=dict(tensors=_uncat),
   samples=(sample([real(2, 3), real(1, 3)]), sample([real(2, 3), real(2, 1)], dim=1), sample([real(3), real(0), real(2)]), sample([real(2), real(2)], -1)),
   doc="""Tensors joined along a dimension they have.

   >>> import dualtape as dt
   >>> dt.cat([dt.tensor([1, 2]), dt.tensor([3])])
   tensor([1, 2, 3])
   """)  # fmt: skip


def _stack(tensors: Any, dim: int = 0) -> Any:
    if not tensors:
        raise RuntimeError("stack expects a non-empty TensorList")
    for t in tensors:
        if t.shape != tensors[0].shape:
            raise RuntimeError(f"stack expects each tensor to be equal size, but got {list(tensors[0].shape)} and {list(t.shape)}")
    return np.stack(tensors, axis=normal_dim(dim, tensors[0].ndim + 1))


stack = op("stack", _stack, kind=GENERAL, listed="tensors", promote=COMMON, jvp=LINEAR, method=False,
   vjp=dict(tensors=lambda g, tensors_shape, dim: [g[(slice(None),) * normal_dim(dim, g.ndim) + (i,)] for i in range(len(tensors_shape))]),
   samples=(sample([real(2, 3), real(2, 3)]), sample([real(2, 3), real(2, 3)], -1), sample([real(), real()])),
   doc="""Tensors of one shape joined along a new dimension.

   >>> import dualtape as dt
   >>> dt.stack([dt.tensor([1, 2]), dt.tensor([3, 4])])
   tensor([[1, 2],
           [3, 4]])
   """)  # fmt: skip

# --- order and repetition --------------------------------------------------------------------------------------------------------------

op("flip", lambda x, dims: np.flip(x, normal_dims(dims, x.ndim)) if x.ndim else x.copy(), kind=GENERAL, varargs="dims", jvp=LINEAR,
   vjp=dict(x=lambda g, dims: use("flip")(g, dims)), samples=(sample(real(3, 4), (0,)), sample(real(3, 4), (0, 1)), sample(real(3, 4), (-1,))),
   doc="""The order along dimensions reversed, as a copy.

   >>> import dualtape as dt
   >>> dt.flip(dt.arange(3), (0,))
   tensor([2, 1, 0])
   """)  # fmt: skip


def _roll(x: Any, shifts: Any, dims: Any = None) -> Any:
    return np.roll(x, shifts, dims if dims != () else None)


def _negated(shifts: Any) -> Any:
    return -shifts if isinstance(shifts, int) else tuple(-s for s in shifts)


op("roll", _roll, kind=GENERAL, jvp=LINEAR, vjp=dict(x=lambda g, shifts, dims: use("roll")(g, _negated(shifts), dims)),
   samples=(sample(real(3, 4), 1, 0), sample(real(3, 4), 2), sample(real(3, 4), (1, -1), (0, 1))),
   doc="""The entries moved along a dimension, those that fall off put in at the other end.

   >>> import dualtape as dt
   >>> dt.roll(dt.arange(3), 1)
   tensor([2, 0, 1])
   """)  # fmt: skip


def _repeat(x: Any, repeats: Any) -> Any:
    if len(repeats) < x.ndim:
        raise RuntimeError(
            "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor:"
            f" {len(repeats)} repeats for {x.ndim} dimensions"
        )
    return np.tile(x, repeats)


def _unrepeat(g: Any, x_shape: tuple, repeats: Any) -> Any:
    lead = len(repeats) - len(x_shape)
    shape: list = []
    axes: list = []
    for i, r in enumerate(repeats):
        axes.append(len(shape))
        shape.append(r)
        if i >= lead:
            shape.append(x_shape[i - lead])
    return np.sum(g.reshape(tuple(shape)), axis=tuple(axes)) if axes else g


op("repeat", _repeat, kind=GENERAL, varargs="repeats", jvp=LINEAR, vjp=dict(x=_unrepeat), public=False, torch_name="Tensor.repeat",
   samples=(sample(real(2, 3), (2, 1)), sample(real(3), (2, 2)), sample(real(), (3,)), sample(real(2), (0,))),
   doc="""The tensor repeated along each dimension.

   >>> import dualtape as dt
   >>> dt.arange(2).repeat(2, 2)
   tensor([[0, 1, 0, 1],
           [0, 1, 0, 1]])
   """)  # fmt: skip


@composite("tile", samples=(sample(real(2, 3), (2,)), sample(real(3), (2, 2))))
def tile(input: Any, *dims: Any) -> Any:
    """The tensor repeated, as :func:`numpy.tile` does.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.tile(dt.arange(2), (2,))
    tensor([0, 1, 0, 1])
    """
    if len(dims) == 1 and not isinstance(dims[0], int):
        dims = tuple(dims[0])
    return input.repeat((1,) * (input.ndim - len(dims)) + tuple(dims))


@composite("repeat_interleave", samples=(sample(real(2, 3), 2), sample(real(2, 3), 2, dim=1), sample(real(3), ints(3, low=1, high=3))))
def repeat_interleave(input: Any, repeats: Any, dim: int | None = None, *, output_size: int | None = None) -> Any:
    """Each entry repeated, one after the other.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.repeat_interleave(dt.tensor([1, 2]), 2)
    tensor([1, 1, 2, 2])
    """
    if dim is None:
        input, dim = input.reshape(-1), 0
    n = input._array.shape[normal_dim(dim, input.ndim)]
    counts = repeats._array if isinstance(repeats, Tensor) else repeats
    return input.index_select(dim, wrap(asarray_like(np.repeat(np.arange(n), host(counts)), input._array)))


# --- names for common reshapings ------------------------------------------------------------------------------------------------------


@composite("flatten", samples=(sample(real(2, 3, 4)), sample(real(2, 3, 4), 1), sample(real(2, 3, 4), 0, 1), sample(real())))
def flatten(input: Any, start_dim: int = 0, end_dim: int = -1) -> Any:
    """A range of dimensions made one.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.flatten(dt.ones(2, 3)).shape
    dualtape.Size([6])
    """
    shape = input._array.shape
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
    return input.reshape(-1)


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
    return transpose(input, -2, -1).conj()


def _atleast(n: int) -> Any:
    def function(*tensors: Any) -> Any:
        if len(tensors) != 1:
            return tuple(function(t) for t in tensors)
        x = tensors[0]
        if isinstance(x, (list, tuple)):
            return tuple(function(t) for t in x)
        if x.ndim == 0:
            return x.reshape((1,) * n)
        if x.ndim == 1 and n > 1:
            x = unsqueeze(x, 0)
        return unsqueeze(x, -1) if x.ndim == 2 and n > 2 else x

    function.__name__ = function.__qualname__ = f"atleast_{n}d"
    function.__doc__ = f"""The tensor with at least {n} dimension{"s" * (n > 1)}.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.atleast_{n}d(dt.tensor(1.0)).ndim
    {n}
    """
    return composite(function.__name__, samples=(sample(real()), sample(real(3)), sample(real(2, 3))), method=False)(function)


atleast_1d, atleast_2d, atleast_3d = (_atleast(n) for n in (1, 2, 3))


@composite("hstack", samples=(sample([real(2), real(3)]), sample([real(2, 1), real(2, 3)])), method=False)
def hstack(tensors: Any) -> Any:
    """Tensors joined side by side: along the second dimension, or the first of vectors.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.hstack([dt.tensor([1]), dt.tensor([2])])
    tensor([1, 2])
    """
    whole = atleast_1d(list(tensors))
    return cat(list(whole), 0 if whole[0].ndim == 1 else 1)


@composite("vstack", also=("row_stack",), samples=(sample([real(3), real(3)]), sample([real(2, 3), real(1, 3)])), method=False)
def vstack(tensors: Any) -> Any:
    """Tensors joined one below the other.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.vstack([dt.tensor([1]), dt.tensor([2])])
    tensor([[1],
            [2]])
    """
    return cat(list(atleast_2d(list(tensors))), 0)


@composite("meshgrid", samples=(sample(real(2), real(3), indexing="ij"), sample(real(2), real(3), indexing="xy")), method=False)
def meshgrid(*tensors: Any, indexing: str = "ij") -> tuple:
    """Coordinates of a grid, one tensor for each axis.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.meshgrid(dt.arange(2), dt.arange(3), indexing="ij")[0]
    tensor([[0, 0, 0],
            [1, 1, 1]])
    """
    if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)):
        tensors = tuple(tensors[0])
    if indexing not in ("ij", "xy"):
        raise RuntimeError(f"meshgrid: indexing must be one of 'xy' or 'ij', but received: {indexing}")
    swap = indexing == "xy" and len(tensors) > 1
    if swap:
        tensors = (tensors[1], tensors[0], *tensors[2:])
    shape = tuple(t.numel() for t in tensors)
    grids = [
        expand(t.reshape((1,) * i + (-1,) + (1,) * (len(shape) - i - 1)), shape) for i, t in enumerate(tensors)
    ]
    if swap:
        grids[0], grids[1] = grids[1], grids[0]
    return tuple(grids)


def _contiguous(self: Tensor, memory_format: Any = None) -> Tensor:
    """The tensor itself if its memory is in row-major order without gaps, else a copy that is.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.ones(2, 3).t().contiguous().stride()
    (2, 1)
    """
    return self if self._array.flags.c_contiguous else _contiguous_copy(self)


_contiguous_copy = op("contiguous_copy", lambda x: contiguous(x).reshape(x.shape), kind=GENERAL,
   method=False, public=False, jvp=LINEAR, node="CloneBackward0", vjp=dict(x=lambda g: g),
   samples=(sample(real(3, 4, layout="F")),), torch_name="clone", doc="A copy in row-major order.")  # fmt: skip


# --- diagonals, triangles, windows --------------------------------------------------------------------------------------------------


def _diagonal(x: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    a, b = normal_dim(dim1, x.ndim), normal_dim(dim2, x.ndim)
    if a == b:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    # NumPy's own diagonal is read-only
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
   samples=(sample(real(3, 4)), sample(real(3, 4), 1), sample(real(4, 3), -2), sample(real(2, 3, 4), 0, 1, 2), sample(real(3, 3), 5)),
   doc="""The diagonal of two dimensions, as a view.

   >>> import dualtape as dt
   >>> dt.diagonal(dt.eye(2))
   tensor([1., 1.])
   """)  # fmt: skip
op("diagonal_zero", _diagonal_zero, kind=GENERAL, public=False, method=False, jvp=LINEAR, node="DiagonalBackwardBackward0", torch_name="-",
   vjp=dict(x=lambda g, offset, dim1, dim2: use("diagonal")(g, offset, dim1, dim2)),
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


for _name, _what in (("tril", "lower"), ("triu", "upper")):
    op(_name, (lambda f: lambda x, diagonal=0: f(x, diagonal))(getattr(np, _name)), kind=GENERAL, jvp=LINEAR, inplace=True,
       vjp=dict(x=(lambda n: lambda g, diagonal: use(n)(g, diagonal))(_name)),
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
        raise RuntimeError(f"unfold: maximum size for tensor at dimension {d} is {n} but size is {size}, with step {step}")
    if not x.ndim:
        return x[None][:size]
    count, stride = (n - size) // step + 1, x.strides[d]
    shape = (*x.shape[:d], count, *x.shape[d + 1 :], size)
    return module_of(x).lib.stride_tricks.as_strided(x, shape, (*x.strides[:d], stride * step, *x.strides[d + 1 :], stride))  # type: ignore[attr-defined]


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
   samples=(sample(real(7), 0, 3, 2), sample(real(3, 6), 1, 2, 1), sample(real(), 0, 1, 1)),
   doc="""Windows along a dimension, as a view with the window last.

   >>> import dualtape as dt
   >>> dt.arange(5).unfold(0, 2, 2)
   tensor([[0, 1],
           [2, 3]])
   """)  # fmt: skip
op("unfold_sum", _unfold_sum, kind=GENERAL, public=False, method=False, jvp=LINEAR, node="UnfoldBackwardBackward0", torch_name="-",
   vjp=dict(x=lambda g, dimension, size, step: use("unfold")(g, dimension, size, step)),
   samples=(sample(real(3, 3), (7,), 0, 3, 2),), doc="Windows added back where they came from.")  # fmt: skip


def _as_strided(x: Any, size: Any, stride: Any, storage_offset: int | None = None) -> Any:
    offset = storage_offset or 0
    reach = offset + sum((n - 1) * s for n, s in zip(size, stride, strict=True)) if prod(size) else 0
    if offset < 0 or any(s < 0 for s in stride) or reach >= max(x.size, 1) or not x.flags.c_contiguous:
        raise RuntimeError(
            f"as_strided: size {list(size)}, stride {list(stride)}, offset {offset} reaches outside of the tensor's {x.size} elements, or"
            " the tensor is not contiguous: call contiguous() first"
        )
    flat = x.reshape(-1)[offset:]
    return module_of(x).lib.stride_tricks.as_strided(flat, tuple(size), tuple(s * x.itemsize for s in stride))  # type: ignore[attr-defined]


def _strided_sum(x: Any, shape: tuple, size: Any, stride: Any, storage_offset: Any) -> Any:
    places = _as_strided(arange_like(prod(shape), x), size, stride, storage_offset).reshape(-1)
    return added_up(places, x.reshape(-1), prod(shape)).reshape(shape)


op("as_strided", _as_strided, kind=GENERAL, view="overlapping", jvp=LINEAR,
   vjp=dict(x=lambda g, x_shape, size, stride, storage_offset: use("strided_sum")(g, x_shape, size, stride, storage_offset)),
   samples=(sample(real(3, 4), (2, 2), (4, 1)), sample(real(6), (3, 2), (1, 2), 1), sample(real(4), (3,), (0,), 2)),
   doc="""A view by size, stride and offset in elements of the tensor's own memory.

   >>> import dualtape as dt
   >>> dt.as_strided(dt.arange(4), (2, 2), (1, 1))
   tensor([[0, 1],
           [1, 2]])
   """)  # fmt: skip
op("strided_sum", _strided_sum, kind=GENERAL, public=False, method=False, jvp=LINEAR, node="AsStridedBackwardBackward0", torch_name="-",
   vjp=dict(x=lambda g, size, stride, storage_offset: use("as_strided")(g, size, stride, storage_offset)),
   samples=(sample(real(2, 2), (3, 4), (2, 2), (4, 1), 0),), doc="Strided entries added back where they came from.")  # fmt: skip

# --- methods and properties -----------------------------------------------------------------------------------------------------------


def _view_method(self: Tensor, *shape: Any) -> Tensor:
    """The same memory in another shape, or (given a dtype) read as another type of the same size.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.arange(4).view(2, 2)
    tensor([[0, 1],
            [2, 3]])
    """
    if len(shape) == 1 and type(shape[0]) is not int and (type(shape[0]) is dtypes.dtype or isinstance(shape[0], (np.dtype, type))):
        wanted = dtypes.to_numpy(shape[0])
        if wanted.kind in "fc" or self._array.dtype.kind not in "fc":
            return view_dtype(self, wanted)
        bits = self.detach()  # integers have no history: not even a view's
        bits._array = bits._array.view(wanted)
        return bits
    return _view_shape(self, *shape)


view_dtype = op("view_dtype", lambda x, dtype: x.view(dtype), kind=GENERAL, view=True, public=False, method=False, constants=("x",), torch_name="-",
   samples=(sample(real(3), np.dtype(np.int64)),), doc="The same bytes read as another type.")  # fmt: skip


def _transposed_property(name: str, doc: str, view: Any) -> None:
    setattr(Tensor, name, property(view, doc=doc))


def _reversed(x: Tensor) -> Tensor:
    return permute(x, tuple(reversed(range(x.ndim))))


def _conjugate_transpose(x: Tensor) -> Tensor:
    if x.ndim not in (0, 2):
        raise RuntimeError(f"tensor.H is only supported on matrices (2-D tensors). Got {x.ndim}-D tensor. For batches of matrices use tensor.mH")
    return _matrix(x, "H").conj()  # type: ignore[attr-defined]


def _matrix(x: Tensor, name: str) -> Tensor:
    if x.ndim == 1:
        raise RuntimeError(f"tensor.{name} is only supported on matrices or batches of matrices. Got {x.ndim}-D tensor.")
    return transpose(x, -2, -1) if x.ndim else x


_transposed_property("T", "The dimensions in reverse order.", _reversed)
_transposed_property("mT", "The last two dimensions exchanged.", lambda x: _matrix(x, "mT"))
_transposed_property("H", "The conjugate transpose of a matrix.", lambda x: _conjugate_transpose(x))
_transposed_property("mH", "The conjugate transpose of the last two dimensions.", lambda x: _matrix(x, "mH").conj())

def _view_as(self: Tensor, other: Tensor) -> Tensor:
    """The same memory in the shape of another tensor.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.arange(2).view_as(dt.ones(2, 1)).shape
    dualtape.Size([2, 1])
    """
    return self.view(other.shape)  # type: ignore[attr-defined]


def _reshape_as(self: Tensor, other: Tensor) -> Tensor:
    """The tensor in the shape of another.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.arange(2).reshape_as(dt.ones(2, 1)).shape
    dualtape.Size([2, 1])
    """
    return self.reshape(other.shape)  # type: ignore[attr-defined]


def _expand_as(self: Tensor, other: Tensor) -> Tensor:
    """Dimensions of size 1 repeated to the shape of another tensor.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.arange(1).expand_as(dt.ones(2)).shape
    dualtape.Size([2])
    """
    return self.expand(other.shape)  # type: ignore[attr-defined]


Tensor.view = _view_method  # type: ignore[attr-defined]
Tensor.contiguous = _contiguous  # type: ignore[attr-defined]
Tensor.view_as = _view_as  # type: ignore[attr-defined]
Tensor.reshape_as = _reshape_as  # type: ignore[attr-defined]
Tensor.expand_as = _expand_as  # type: ignore[attr-defined]
