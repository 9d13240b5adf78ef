"""Indexing: reading and writing by position, by index tensors and by masks; gather and scatter.

``x[key]`` is taken apart as PyTorch does it: integers, slices and None become views one after the other, index tensors and
masks one ``index``. Assignment writes through the same views.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import dtypes, errors
from ..arrays import Batched, is_array, settle, zeros
from ..arrays.kernels import add_at, added_along_rows, all_samples, arange_like, asarray_like, full_like_shape, on_host, taken_along_rows
from ..autograd.views import check_write
from ..tensor import Tensor, made, raw, wrap
from . import keys, shapes
from .dispatch import FUNCTIONS
from .formulas import normal_dim, use, zeros_like_shape
from .samples import edge, exact, exact_index, exact_mask, ints, mask, ours, real, sample
from .table import GENERAL, LINEAR, TABLE, composite, op

_long, _unsigned = np.dtype(np.int64), np.dtype(np.uint64)

# --- x[key] ------------------------------------------------------------------------------------------------------------------------


def getitem(x: Tensor, key: Any) -> Tensor:
    """``x[key]``."""
    kind = type(key)
    if kind is int or kind is slice or kind is tuple:
        view = keys.view_at(x, key if kind is tuple else (key,), kind is slice)
        if view is not None:
            return view
    elif kind is Tensor and key._array.dtype is _long and key._array.ndim and x._array.ndim:
        return _index(x, (key._array,))
    if kind is int:
        return shapes.select(x, 0, key)
    if kind is slice:
        return _sliced(x, 0, key, always=True)
    viewed, indices = _parse(x, key)
    if indices is not None:
        return _index(viewed, indices)
    return viewed if viewed is not x else _alias(x)


def setitem(x: Tensor, key: Any, value: Any) -> None:
    """``x[key] = value``."""
    if keys.assign(x, key, value):
        return
    if key is False:
        return  # no place is selected
    viewed, indices = _parse(x, key)
    if isinstance(value, (list, tuple)) or isinstance(value, str):
        raise TypeError(f"can't assign a {type(value).__name__} to a tensor: wrap it with dualtape.tensor(...)")
    if indices is not None:
        _put(viewed, indices, value if isinstance(value, Tensor) else _as_value(value, viewed))
        return
    target = viewed if viewed is not x or not (isinstance(value, Tensor) and value is x) else x
    if isinstance(value, (bool, int, float, complex)):
        check_write(target, "setitem", False)
        target.fill_(_as_value(value, target))  # type: ignore[attr-defined]
        return
    source = value if isinstance(value, Tensor) else _as_value(value, viewed)
    shape = source._array.shape
    if shape and shape[0] == 1 and shape != target._array.shape:  # leading dimensions of size one go
        source = shapes._view_shape(source, shape[next((d for d, n in enumerate(shape) if n != 1), len(shape)) :])
    target.copy_(source)  # type: ignore[attr-defined]


def _as_value(value: Any, x: Tensor) -> Tensor:
    if isinstance(value, (bool, int, float, complex)):
        return wrap(asarray_like(dtypes.number_as(value, x._array.dtype), x._array))
    if is_array(value):
        return wrap(settle(value))
    raise TypeError(f"can't assign a {type(value).__name__} to a tensor: expected a number, an array or a Tensor")


def _step(key: slice) -> int:
    step = 1 if key.step is None else _integer(key.step)
    if step <= 0:
        raise ValueError("step must be greater than zero: use flip for the reverse order")
    return step


def _sliced(x: Tensor, dim: int, key: slice, always: bool = False) -> Tensor:
    """A slice along one dimension; a whole dimension is no view of its own, unless the slice is the whole key."""
    step = _step(key)
    if x.ndim == 0:
        raise IndexError("slice() cannot be applied to a 0-dim tensor.")
    start = None if key.start is None else _integer(key.start)
    end = None if key.stop is None else _integer(key.stop)
    n = x._array.shape[dim]
    if not always and step == 1 and start in (None, 0) and (end is None or end >= n):
        return x
    return shapes._slice_op(x, dim, start, end, step)


def _integer(value: Any) -> int:
    try:
        return value.__index__()
    except (AttributeError, TypeError):
        raise TypeError(f"slice indices must be integers or None or have an __index__ method, got {type(value).__name__}") from None


def _parse(x: Tensor, key: Any) -> tuple[Tensor, tuple | None]:
    """The views that a key asks for, applied, and the index tensors that remain (None: a whole dimension)."""
    parts = [_normal(k) for k in (key if isinstance(key, tuple) else (key,))]
    consumed = sum(_takes(k) for k in parts if k is not None and k is not ... and not isinstance(k, bool))
    if consumed > x.ndim:
        raise IndexError(f"too many indices for tensor of dimension {x.ndim}: the key {_shown(key)} takes {consumed}")
    if sum(k is ... for k in parts) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    indices: list = []
    dim = 0
    for position, k in enumerate(parts):
        if k is ...:
            after = parts[position + 1 :]
            dim = x.ndim - sum(_takes(k) for k in after if k is not None and not isinstance(k, bool))
        elif k is None:
            x = shapes.unsqueeze(x, dim)
            dim += 1
        elif isinstance(k, bool):
            x = shapes.unsqueeze(x, dim)
            indices.extend([None] * (dim - len(indices)))
            indices.append(wrap(zeros((int(k),), np.int64, x._array)))
            dim += 1
        elif isinstance(k, int):
            n = x._array.shape[dim]
            if not -n <= k < n:
                raise IndexError(f"index {k} is out of bounds for dimension {dim} with size {n}")
            x = shapes.select(x, dim, k)
        elif isinstance(k, slice):
            x = _sliced(x, dim, k)
            dim += 1
        else:
            indices.extend([None] * (dim - len(indices)))
            indices.append(k)
            if k._array.dtype.kind == "b":
                _check_mask(k, x, dim)
                indices.extend([()] * (k._array.ndim - 1))
                dim += k._array.ndim
            else:
                dim += 1
    if not any(isinstance(i, Tensor) for i in indices):
        return x, None
    return x, tuple(slice(None) if i is None else i._array for i in indices if not (isinstance(i, tuple) and i == ()))


def _takes(k: Any) -> int:
    """How many dimensions of the tensor one part of a key stands for."""
    return k._array.ndim if isinstance(k, Tensor) and k._array.dtype.kind == "b" else 1


def _check_mask(k: Tensor, x: Tensor, dim: int) -> None:
    have = x._array.shape[dim : dim + k._array.ndim]
    if have != k._array.shape:
        raise IndexError(
            f"The shape of the mask {list(k._array.shape)} at index {dim} does not match the shape of the indexed tensor {list(x._array.shape)}"
        )


def _shown(key: Any) -> str:
    text = repr(key)
    return text if len(text) < 60 else text[:57] + "..."


def _normal(k: Any) -> Any:
    """One part of a key: None, ..., bool, int, slice, or a tensor of integers or booleans."""
    if k is None or k is ... or isinstance(k, (bool, int)):
        return k
    if isinstance(k, slice):
        _step(k)
        return k
    if isinstance(k, (list, tuple, range)):
        k = _listed_index(k) if len(k) else wrap(np.zeros(0, np.int64))
    if isinstance(k, Tensor) or is_array(k):
        tensor = k if isinstance(k, Tensor) else wrap(settle(k))
        kind = tensor._array.dtype.kind
        if kind not in "biu":
            raise IndexError(
                f"tensors used as indices must be long, int, byte or bool tensors, got {tensor.dtype!r}: convert it with .long()"
            )
        if tensor._array.ndim == 0 and kind != "b":
            return tensor if type(tensor._array) is Batched else int(tensor._array)
        if tensor._array.dtype == np.uint8:
            tensor = wrap(tensor._array.astype(bool))
        return bool(tensor._array) if tensor._array.ndim == 0 else tensor
    try:
        return k.__index__()
    except (AttributeError, TypeError):
        kind = TypeError if isinstance(k, str) else IndexError
        raise kind(
            "only integers, slices (`:`), ellipsis (`...`), None, tensors, arrays and sequences of integers or booleans are valid indices"
            f" (got {type(k).__name__})"
        ) from None


def _listed_index(data: Any) -> Tensor:
    from ..creation import tensor

    try:
        return tensor(data)
    except (RuntimeError, TypeError, ValueError) as error:
        raise IndexError(
            f"a {type(data).__name__} as an index holds integers or booleans: {error}; to index several dimensions give a tuple, x[tuple(key)]"
        ) from None


def _index_forward(x: Any, indices: Any) -> Any:
    try:
        if type(x) is not np.ndarray:
            return x[_raw_indices(indices)]
        taken = [d for d, i in enumerate(indices) if not isinstance(i, slice)]
        if len(taken) == 1 and indices[taken[0]].dtype.kind != "b":
            return np.take(x, indices[taken[0]], axis=taken[0])
        out = x[indices]
        return out if out.flags.c_contiguous else out.copy()  # NumPy puts the indexed dimensions first in memory
    except IndexError as error:
        raise IndexError(f"index: {error}") from None


def _index_zero(x: Any, shape: tuple, indices: Any) -> Any:
    out = zeros_like_shape(shape, x)
    if len(indices) == 1 and indices[0].dtype.kind == "b":
        out[indices[0]] = x  # a mask never hits one place twice
    else:
        add_at(out, _raw_indices(indices), x)
    return out


_alias = TABLE["alias"].function
_index = op("index", _index_forward, kind=GENERAL, public=False, method=False, jvp=LINEAR, torch_name="-",
   vjp=dict(x=lambda g, x_shape, indices: use("index_zero")(g, x_shape, indices)),
   samples=(sample(real(4, 3), (np.array([0, 2, 2]),)), sample(real(4, 3), (slice(None), np.array([[0, 1], [1, 1]]))),
            sample(real(3, 4, 2), (np.array([0, 1]), slice(None), np.array([1, 1])))),
   doc="Entries at index arrays.")  # fmt: skip
op("index_zero", _index_zero, kind=GENERAL, public=False, method=False, jvp=LINEAR, node="IndexPutBackward0", torch_name="-",
   vjp=dict(x=lambda g, indices: use("index")(g, indices)),
   samples=(sample(real(3, 3), (4, 3), (np.array([0, 2, 2]),)),), doc="Zeros, with entries added at index arrays.")  # fmt: skip


def _index_put(x: Any, indices: Any, values: Any, accumulate: bool = False) -> Any:
    out = x.copy()
    indices = tuple(raw(i) if i is not None else slice(None) for i in indices) if not isinstance(indices, Tensor) else indices
    if accumulate:
        add_at(out, indices, values)
    else:
        out[indices] = values
    return out


def _put_shape(x: Any, indices: Any) -> int:
    """The number of dimensions of what index arrays select."""
    arrays = [i for i in indices if not isinstance(i, slice)]
    depth = max(1 if i.dtype.kind == "b" else i.ndim for i in arrays)
    return x.ndim - sum(i.ndim if i.dtype.kind == "b" else 1 for i in arrays) + depth


def _raw_indices(indices: Any) -> tuple:
    return tuple(slice(None) if i is None else raw(i) for i in indices)


op("index_put", _index_put, kind=GENERAL, inplace=True, jvp=LINEAR, promote=None,
   vjp=dict(x=lambda g, indices, accumulate: g if accumulate else use("index_put")(g, _raw_indices(indices), zeros_like_shape((), g)),
            values=lambda g, indices: g[_raw_indices(indices)]),
   samples=(sample(real(4, 3), (np.array([0, 2]),), real(2, 3)), sample(real(4, 3), (np.array([0, 2]),), real()),
            sample(real(4, 3), (np.array([1, 1]),), real(2, 3), accumulate=True), sample(real(4, 3), (np.array([0, 2]), np.array([1, 1])), real(2))),
   doc="""A copy with values put (or added) at index tensors.

   >>> import dualtape as dt
   >>> dt.index_put(dt.zeros(3), (dt.tensor([0, 2]),), dt.tensor([5.0, 7.0]))
   tensor([5., 0., 7.])
   """)  # fmt: skip


def _put(x: Tensor, indices: tuple, values: Tensor) -> None:
    while values.ndim and values.shape[0] == 1 and values.ndim > _put_shape(x._array, indices):
        values = values[0]
    if values._array.dtype != x._array.dtype:
        values = values.to(x._array.dtype)  # type: ignore[attr-defined]
    x.index_put_(indices, values)  # type: ignore[attr-defined]


# --- whole writes -----------------------------------------------------------------------------------------------------------------------


def _copied(x: Any, src: Any) -> Any:
    if not hasattr(src, "dtype"):
        return np.full_like(x, dtypes.number_as(src, x.dtype))
    if src.dtype.kind == "c" and x.dtype.kind != "c":
        src = src.real
    return np.broadcast_to(src.astype(x.dtype), x.shape)


def _filled(x: Any, value: Any) -> Any:
    if getattr(value, "ndim", 0):
        raise RuntimeError(f"fill_ only supports 0-dimension value tensor but got tensor with {value.ndim} dimensions.")
    if value is None:
        raise TypeError("fill_(): argument 'value' must be a number or a 0-d tensor, got NoneType")
    return np.full_like(x, value if hasattr(value, "dtype") else dtypes.number_as(value, x.dtype))


op("copy", _copied, kind=GENERAL, inplace=True, scalars=True, public=False, method=False, node="CopyBackwards", torch_name="-",
   vjp=dict(x=lambda g: np.zeros_like(g), src=lambda g: g), jvp=dict(x=lambda t: np.zeros_like(t), src=lambda t, x_shape: np.broadcast_to(t, x_shape)),
   samples=(sample(real(3, 4), real(3, 4)), sample(real(3, 4), real(4)), sample(real(2), real())),
   doc="""Write another tensor over this one, broadcast and converted to its dtype.

   >>> import dualtape as dt
   >>> dt.zeros(2, dtype=dt.int64).copy_(dt.tensor(1.7))
   tensor([1, 1])
   """)  # fmt: skip


def _declare_fill(name: str, nodes: tuple, **more: Any) -> None:
    op(name, _filled, kind=GENERAL, scalars=True, node=nodes, variant=lambda x, value: int(hasattr(value, "dtype")),
       vjp=dict(x=lambda g: np.zeros_like(g), value=lambda g: np.sum(g)),
       jvp=dict(x=lambda t: np.zeros_like(t), value=lambda t, x_shape: np.broadcast_to(t, x_shape)),
       samples=(sample(real(3, 4), 2.0), sample(real(3, 4), real())),
       doc="""One value everywhere.

   >>> import dualtape as dt
   >>> dt.fill(dt.zeros(2), 3.0)
   tensor([3., 3.])
   """, **more)  # fmt: skip


_declare_fill("fill", ("FillBackward0", "FillBackward1"))
_declare_fill("refill", ("FillBackward2", "FillBackward3"), inplace=True, public=False, method=False, torch_name="-")  # its nodes have names of their own
Tensor.fill_ = Tensor.refill_  # type: ignore[attr-defined]
op("zero", lambda x: np.zeros_like(x), kind=GENERAL, inplace=True, public=False, method=False, vjp=dict(x=lambda g: np.zeros_like(g)),
   jvp=dict(x=lambda t: np.zeros_like(t)), samples=(sample(real(3, 4)),), torch_name="-",
   doc="""Zeros in the shape of x.

   >>> import dualtape as dt
   >>> dt.ones(2).zero_()
   tensor([0., 0.])
   """)  # fmt: skip


def _fill_diagonal_(self: Tensor, fill_value: float, wrap: bool = False) -> Tensor:
    """Write one value on the main diagonal.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.zeros(2, 2).fill_diagonal_(3)
    tensor([[3., 0.],
            [0., 3.]])
    """
    if self.ndim < 2:
        raise RuntimeError("dimensions must larger than 1")
    if wrap and self.ndim == 2 and self.shape[0] > self.shape[1]:
        rows, columns = self._array.shape
        places = np.arange(0, rows * columns, columns + 1)
        self[places // columns, places % columns] = fill_value
        return self
    view = self
    while view.ndim > 2:
        view = view.diagonal(0, 0, 1).movedim(-1, 0)  # type: ignore[attr-defined]
    view.diagonal(0, 0, 1).fill_(fill_value)  # type: ignore[attr-defined]
    return self


def _masked_scatter_(self: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """In-place form of :func:`masked_scatter`.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.zeros(3).masked_scatter_(dt.tensor([True, False, True]), dt.tensor([1.0, 2.0]))
    tensor([1., 0., 2.])
    """
    where = np.nonzero(np.broadcast_to(mask._array, self._array.shape))
    if source.numel() < where[0].size:
        raise RuntimeError(f"masked_scatter: expected at least {where[0].size} values in source, got {source.numel()}")
    return self.index_put_(where, source.reshape(-1)[: where[0].size])


Tensor.masked_scatter_ = _masked_scatter_  # type: ignore[attr-defined]
Tensor.fill_diagonal_ = _fill_diagonal_  # type: ignore[attr-defined]

# --- masks -------------------------------------------------------------------------------------------------------------------------------


def _masked_fill(x: Any, mask: Any, value: Any) -> Any:
    if mask.dtype.kind != "b":
        raise RuntimeError(f"masked_fill_ only supports boolean masks, but got mask with dtype {mask.dtype}")
    if getattr(value, "ndim", 0):
        raise RuntimeError(f"masked_fill only supports a 0-dimensional value tensor, but got tensor with {value.ndim} dimension(s).")
    return np.where(mask, _element(value, x), x)


def _element(value: Any, x: Any) -> Any:
    """A number or 0-d array as an element of the array ``x``; a number that does not fit is refused."""
    return value.astype(x.dtype) if hasattr(value, "astype") else dtypes.number_as(value, x.dtype)


op("masked_fill", _masked_fill, kind=GENERAL, inplace=True, constants=("mask",), scalars=True, node=("MaskedFillBackward0", "MaskedFillBackward1"),
   variant=lambda x, mask, value: int(hasattr(value, "dtype")),
   vjp=dict(x=lambda g, mask: np.where(mask, 0, g), value=lambda g, mask: np.sum(np.where(mask, g, 0))),
   jvp=dict(x=lambda t, mask: np.where(mask, 0, t), value=lambda t, mask: np.where(mask, t, 0)),
   samples=(sample(real(3, 4), mask(3, 4), 0.5), sample(real(3, 4), mask(4), real()), sample(real(3, 4), mask(3, 1), -1.0)),
   doc="""One value where the mask holds.

   >>> import dualtape as dt
   >>> x = dt.tensor([1.0, -2.0])
   >>> dt.masked_fill(x, x < 0, 0.0)
   tensor([1., 0.])
   """)  # fmt: skip


@composite("masked_select", samples=(sample(real(3, 4), mask(3, 4)), sample(real(3, 4), mask(4))))
def masked_select(input: Any, mask: Any) -> Any:
    """The entries where the mask holds, in one dimension.

    Examples
    --------
    >>> import dualtape as dt
    >>> x = dt.tensor([1.0, -2.0])
    >>> dt.masked_select(x, x > 0)
    tensor([1.])
    """
    if mask._array.dtype.kind != "b":
        raise RuntimeError(f"masked_select: expected BoolTensor for mask, got {mask.dtype!r}")
    try:
        shape = np.broadcast_shapes(tuple(input.shape), tuple(mask.shape))
    except ValueError:
        raise RuntimeError(f"masked_select: the mask {list(mask.shape)} and the tensor {list(input.shape)} cannot be broadcast together") from None
    return getitem(shapes.expand(input, shape), shapes.expand(mask, shape))


@composite("masked_scatter", samples=(sample(real(3), exact_mask([True, False, True]), real(2)),))
def masked_scatter(input: Any, mask: Any, source: Any) -> Any:
    """The tensor with the first entries of ``source`` where the mask holds.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.masked_scatter(dt.zeros(3), dt.tensor([True, False, True]), dt.tensor([1.0, 2.0]))
    tensor([1., 0., 2.])
    """
    where = np.nonzero(np.broadcast_to(mask._array, input._array.shape))
    if source.numel() < where[0].size:
        raise RuntimeError(f"masked_scatter: expected at least {where[0].size} values in source, got {source.numel()}")
    return FUNCTIONS["index_put"](input, where, source.reshape(-1)[: where[0].size])


@composite("nonzero", samples=(edge(exact([[0.0, 1.0], [2.0, 0.0]])), edge(exact([0.0, 1.0]), as_tuple=True)))
def nonzero(input: Any, *, as_tuple: bool = False, out: Any = None) -> Any:
    """The indices of the entries that are not zero: rows of a matrix, or one tensor for each dimension.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nonzero(dt.tensor([0.0, 3.0, 0.0, 4.0]))
    tensor([[1],
            [3]])
    """
    array = input._array
    if as_tuple:
        return tuple(made(i) for i in np.nonzero(np.atleast_1d(array)))
    return made(np.argwhere(array) if array.ndim else zeros((int(array != 0), 0), np.int64, array))


@composite("argwhere", samples=(edge(exact([[0.0, 1.0], [2.0, 0.0]])),))
def argwhere(input: Any) -> Any:
    """The indices of the entries that are not zero, as rows.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.argwhere(dt.tensor([0.0, 3.0]))
    tensor([[1]])
    """
    return nonzero(input)


# --- along a dimension --------------------------------------------------------------------------------------------------------------------


def _bounded(name: str, index: Any, n: int) -> None:
    if index.dtype.kind not in "iu":
        raise RuntimeError(f"{name}(): expected dtype int64 for index, got {index.dtype}: convert it with .long()")
    if type(index) is np.ndarray and index.dtype is _long and index.size:
        if 0 <= index.item(index.view(_unsigned).argmax()) < n:  # as unsigned numbers, negative ones are the largest
            return
    index = all_samples(index)
    if index.size and (index.min() < -n if name == "take" else index.min() < 0):
        raise errors.IndexOutOfBounds(f"{name}: index {int(index.min())} is out of bounds for a dimension of size {n}")
    if index.size and index.max() >= n:
        raise errors.IndexOutOfBounds(f"{name}: index {int(index.max())} is out of bounds for a dimension of size {n}")


def _grid(shape: tuple, dim: int, index: Any) -> tuple:
    """Full index arrays that address ``index`` along ``dim`` and their own place along the others."""
    if len(shape) == 2:
        return (arange_like(shape[0], index)[:, None], index) if dim else (index, arange_like(shape[1], index))
    axes = [arange_like(n, index).reshape((1,) * i + (-1,) + (1,) * (len(shape) - i - 1)) for i, n in enumerate(shape)]
    axes[dim] = index
    return tuple(axes)


def _fitted(name: str, x: Any, dim: int, index: Any, src: Any = None) -> int:
    d = normal_dim(dim, x.ndim)
    if index.ndim != x.ndim and max(index.ndim, 1) != max(x.ndim, 1):
        raise RuntimeError(f"{name}(): Index tensor must have the same number of dimensions as input tensor: {index.ndim} and {x.ndim}")
    for i, n in enumerate(x.shape if index.ndim == x.ndim and index.size else ()):
        if index.shape[i] > n and i != d:
            raise RuntimeError(
                f"{name}(): Size does not match at dimension {i} expected index {list(index.shape)} to be no larger than self"
                f" {list(x.shape)} apart from dimension {d}"
            )
    _bounded(name, index, x.shape[d] if x.ndim else 1)
    return d


def _line(x: Any) -> Any:
    """A number as an array of length 1, which it counts as along a dimension."""
    return x if x.ndim else x.reshape(1)


def _memory(shape: tuple, dim: int, index: Any) -> Any:
    """The places in memory of the entries that ``index`` names along ``dim``: one list of integers is quicker than one for each dimension."""
    places, step = index, 1
    for i in range(len(shape) - 1, -1, -1):
        if i == dim:
            places = places if step == 1 else places + index * (step - 1)
        elif index.shape[i] > 1:
            starts = np.arange(0, index.shape[i] * max(step, 1), max(step, 1))
            places = places + (starts if i == len(shape) - 1 else starts.reshape((-1,) + (1,) * (len(shape) - i - 1)))
        step *= shape[i]
    return places


def _by_rows(shape: tuple, dim: int, index: Any) -> bool:
    """Whether ``index`` is one of NumPy's arrays that names many entries in each row of an array of this shape."""
    return dim == len(shape) - 1 and index.size > _MANY and type(index) is np.ndarray and index.dtype is _long and index.shape[:-1] == shape[:-1]


_FEW = 128  # numbers up to which an index for each dimension is quicker than their places in memory
_MANY = 10_000  # numbers from which going by blocks of rows, or making a sparse matrix, pays


def _gather_back(g: Any, x_shape: tuple, dim: int, index: Any, sparse_grad: bool) -> Any:
    """The gradient of :func:`_gather` for NumPy's arrays; the index was checked on the way there."""
    if sparse_grad or not x_shape or type(index) is not np.ndarray:
        return _gather_gradient(g, x_shape, dim, index, sparse_grad)
    d = normal_dim(dim, len(x_shape))
    if g.dtype.char in "fdFD" and _by_rows(x_shape, d, index):
        return added_along_rows(index, g, x_shape[d])
    out = np.zeros(x_shape, g.dtype)
    if index.ndim and index.size <= _FEW:
        np.add.at(out, _grid(index.shape, d, index), g)
        return out
    np.add.at(out.reshape(-1), _memory(x_shape, d, index).ravel(), g.ravel())
    return out


def _gather_gradient(g: Any, x_shape: tuple, dim: int, index: Any, sparse_grad: bool) -> Any:
    return _sparse_gathered(g, x_shape, dim, index) if sparse_grad else use("scatter_add")(zeros_like_shape(x_shape, g), dim, index, g)


def _gather(x: Any, dim: int, index: Any, sparse_grad: bool = False) -> Any:
    d = _fitted("gather", x, dim, index)
    if not x.ndim or not index.ndim:
        return _gather(_line(x), 0, _line(index)).reshape(index.shape)
    if type(x) is np.ndarray and index.size > _FEW and x.flags.c_contiguous:
        if _by_rows(x.shape, d, index):
            return taken_along_rows(x, index)
        return x.reshape(-1).take(_memory(x.shape, d, index), mode="wrap")  # there is nothing to wrap, and nothing to check again
    return x[_grid(index.shape, d, index)]


def _scatter_add(x: Any, dim: int, index: Any, src: Any) -> Any:
    d = _fitted("scatter_add", x, dim, index)
    if x.ndim < 2 and not (x.ndim and index.ndim and src.ndim):
        return _scatter_add(_line(x), 0, _line(index), _line(src)).reshape(x.shape)
    _check_src("scatter_add", index, src)
    out = x.copy()
    add_at(out, _grid(index.shape, d, index), src[tuple(slice(0, n) for n in index.shape)])
    return out


def _check_src(name: str, index: Any, src: Any) -> None:
    if src.ndim and any(n > m for n, m in zip(index.shape, src.shape, strict=True)):
        raise RuntimeError(f"{name}(): Expected index {list(index.shape)} to be no larger than src {list(src.shape)}")


def _scatter(x: Any, dim: int, index: Any, src: Any) -> Any:
    d = _fitted("scatter", x, dim, index)
    if not x.ndim or not index.ndim:
        return _scatter(_line(x), 0, _line(index), src).reshape(x.shape)
    if getattr(src, "ndim", 0):
        _check_src("scatter", index, src)
        src = src[tuple(slice(0, n) for n in index.shape)]
    elif not hasattr(src, "dtype"):
        src = dtypes.number_as(src, x.dtype)
    out = x.copy()
    out[_grid(index.shape, d, index)] = src
    return out


def _scatter_multiply(x: Any, dim: int, index: Any, src: Any) -> Any:
    d = _fitted("scatter", x, dim, index)
    _check_src("scatter", index, src)
    if type(x) is not np.ndarray:
        return on_host(lambda *arrays: _scatter_multiply(arrays[0], dim, *arrays[1:]), x, index, src)
    out = x.copy()
    np.multiply.at(out, _grid(index.shape, d, index) if x.ndim else (), src[tuple(slice(0, n) for n in index.shape)])
    return out


def _padded(g: Any, shape: tuple) -> Any:
    """``g`` in the corner of zeros of ``shape``: the gradient of the entries that were not read is zero."""
    if tuple(g.shape) == tuple(shape):
        return g
    if len(shape) != g.ndim:  # a number stands for an array of length 1, or the other way round
        return _padded(g.reshape(1), shape) if shape else g.sum().reshape(shape)
    for dim, (n, m) in enumerate(zip(g.shape, shape, strict=True)):
        if n != m:
            g = use("slice_zero")(g, (*g.shape[:dim], m, *g.shape[dim + 1 :]), dim, 0, n, 1)
    return g


def _sparse_gathered(g: Any, shape: tuple, dim: int, index: Any) -> Any:
    from ..sparse import gathered

    places = index._array if isinstance(index, Tensor) else index
    return gathered(g, _grid(places.shape, normal_dim(dim, len(shape)), places) if shape else (), shape)


_GATHERED = (sample(real(3, 4), 1, ints(3, 2, high=4)), sample(real(3, 4), 0, ints(2, 4, high=3)), sample(real(4), -1, ints(3, high=4)))
op("gather", _gather, kind=GENERAL, constants=("index",), jvp=LINEAR,
   vjp=dict(x=_gather_gradient), quick=dict(x=_gather_back),
   samples=(*_GATHERED, sample(real(3, 4), 1, ints(2, 2, high=4)), sample(real(), 0, ints(high=1))),
   doc="""Entries picked along a dimension by an index tensor.

   >>> import dualtape as dt
   >>> dt.gather(dt.tensor([[1, 2], [3, 4]]), 1, dt.tensor([[0], [1]]))
   tensor([[1],
           [4]])
   """)  # fmt: skip
op("scatter_add", _scatter_add, kind=GENERAL, inplace=True, constants=("index",), jvp=LINEAR,
   vjp=dict(x=lambda g: g, src=lambda g, dim, index, src_shape: _padded(use("gather")(g, dim, index), src_shape)),
   samples=(sample(real(3, 4), 1, ints(3, 2, high=4), real(3, 2)), sample(real(4), 0, exact_index([1, 1, 0]), real(3)),
            ours(real(3, 4), 0, ints(2, 3, high=3), real(3, 4))),
   doc="""The tensor with values added at an index along a dimension.

   >>> import dualtape as dt
   >>> dt.scatter_add(dt.zeros(3), 0, dt.tensor([0, 0, 2]), dt.ones(3))
   tensor([2., 0., 1.])
   """)  # fmt: skip
_scatter_op = op("scatter_set", _scatter, kind=GENERAL, public=False, method=False, inplace=True, constants=("index",), jvp=LINEAR, scalars=True,
   torch_name="scatter",
   node=("ScatterBackward0", "ScatterBackward1"), variant=lambda x, dim, index, src: int(not hasattr(src, "dtype")),
   vjp=dict(x=lambda g, dim, index: use("scatter_set")(g, dim, index, 0),
            src=lambda g, dim, index, src_shape: _padded(use("gather")(g, dim, index), src_shape)),
   samples=(sample(real(3, 4), 0, exact_index([[0, 1, 2, 0], [1, 2, 0, 1]]), real(2, 4)), sample(real(4), 0, exact_index([1, 0]), 2.0)),
   doc="""The tensor with values written at an index along a dimension.

   >>> import dualtape as dt
   >>> dt.zeros(3).scatter_(0, dt.tensor([2]), 5.0)
   tensor([0., 0., 5.])
   """)  # fmt: skip


@composite("scatter", samples=(sample(real(4), 0, exact_index([1, 0]), real(2)), ours(real(4), 0, exact_index([1, 1]), real(2), reduce="add")))
def scatter(input: Any, dim: int, index: Any, src: Any = None, *, value: Any = None, reduce: str | None = None) -> Any:
    """The tensor with values written (or added, or multiplied) at an index along a dimension.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scatter(dt.zeros(3), 0, dt.tensor([2, 0]), dt.tensor([5.0, 7.0]))
    tensor([7., 0., 5.])
    """
    if src is None:
        src = value
    if reduce is None:
        return _scatter_op(input, dim, index, src)
    if reduce not in ("add", "multiply"):
        raise RuntimeError(f"scatter: reduce argument must be either add or multiply, got {reduce!r}")
    values = src if isinstance(src, Tensor) else wrap(full_like_shape(index._array.shape, src, input._array.dtype, input._array))
    if reduce == "add":
        return FUNCTIONS["scatter_add"](input, dim, index, values)
    if input.requires_grad or values.requires_grad:
        raise RuntimeError("scatter with reduce='multiply' has no derivative: multiply by a scattered tensor instead")
    return made(_scatter_multiply(input._array, dim, index._array, values._array))


def _scatter_(self: Tensor, dim: int, index: Any, src: Any = None, *, value: Any = None, reduce: str | None = None) -> Tensor:
    """In-place form of :func:`scatter`.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.zeros(3).scatter_(0, dt.tensor([2]), 5.0)
    tensor([0., 0., 5.])
    """
    src = value if src is None else src
    if reduce is None:
        return self.scatter_set_(dim, index, src)  # type: ignore[attr-defined]
    return self.copy_(scatter(self, dim, index, src, reduce=reduce))  # type: ignore[attr-defined]


Tensor.scatter_ = _scatter_  # type: ignore[attr-defined]


def _index_select(x: Any, dim: int, index: Any) -> Any:
    d = normal_dim(dim, x.ndim)
    if index.ndim > 1:
        raise IndexError("index_select(): Index is supposed to be a vector")
    _bounded("index_select", index, x.shape[d] if x.ndim else 1)
    return np.take(x, index.reshape(-1), axis=d) if x.ndim else x.copy()


def _index_add(x: Any, dim: int, index: Any, source: Any, alpha: Any = 1) -> Any:
    d = normal_dim(dim, x.ndim)
    _bounded("index_add", index, x.shape[d])
    if source.shape[d] != index.size:
        raise RuntimeError(f"index_add_(): Number of indices ({index.size}) should be equal to source.size(dim) ({source.shape[d]})")
    out = x.copy()
    add_at(out, (slice(None),) * d + (_line(index),), source if alpha == 1 else source * alpha)
    return out


def _index_copy(x: Any, dim: int, index: Any, source: Any) -> Any:
    d = normal_dim(dim, x.ndim)
    _bounded("index_copy", index, x.shape[d])
    out = x.copy()
    out[(slice(None),) * d + (index,)] = source
    return out


op("index_select", _index_select, kind=GENERAL, constants=("index",), jvp=LINEAR,
   vjp=dict(x=lambda g, x_shape, dim, index: use("index_add")(zeros_like_shape(x_shape, g), dim, index, g) if x_shape else g),
   samples=(sample(real(3, 4), 0, ints(5, high=3)), sample(real(3, 4), -1, ints(2, high=4)), sample(real(3), 0, ints(0, high=3))),
   doc="""Entries along a dimension, by a vector of indices.

   >>> import dualtape as dt
   >>> dt.index_select(dt.arange(4), 0, dt.tensor([3, 1]))
   tensor([3, 1])
   """)  # fmt: skip
op("index_add", _index_add, kind=GENERAL, inplace=True, constants=("index",), jvp=LINEAR,
   vjp=dict(x=lambda g: g, source=lambda g, dim, index, alpha: use("index_select")(g, dim, index) * np.conj(alpha)),
   samples=(sample(real(3, 4), 0, ints(5, high=3), real(5, 4)), sample(real(3, 4), 1, ints(2, high=4), real(3, 2), alpha=2)),
   doc="""The tensor with entries of ``source`` added at indices along a dimension.

   >>> import dualtape as dt
   >>> dt.index_add(dt.zeros(3), 0, dt.tensor([0, 0]), dt.tensor([1.0, 2.0]))
   tensor([3., 0., 0.])
   """)  # fmt: skip
op("index_copy", _index_copy, kind=GENERAL, inplace=True, constants=("index",), jvp=LINEAR,
   vjp=dict(x=lambda g, dim, index: use("index_fill")(g, dim, index, 0), source=lambda g, dim, index: use("index_select")(g, dim, index)),
   samples=(sample(real(3, 4), 0, exact_index([2, 0]), real(2, 4)),),
   doc="""The tensor with entries of ``source`` written at indices along a dimension.

   >>> import dualtape as dt
   >>> dt.index_copy(dt.zeros(3), 0, dt.tensor([2]), dt.tensor([5.0]))
   tensor([0., 0., 5.])
   """)  # fmt: skip


def _index_fill(x: Any, dim: int, index: Any, value: Any) -> Any:
    d = normal_dim(dim, x.ndim)
    out = _line(x).copy()
    out[(slice(None),) * d + (index,)] = _element(value, x)
    return out.reshape(x.shape)


op("index_fill", _index_fill, kind=GENERAL, inplace=True, node=("IndexFillBackward0", "IndexFillBackward1"),
   variant=lambda x, dim, index, value: int(hasattr(value, "dtype")), constants=("index",), jvp=LINEAR, scalars=True,
   vjp=dict(x=lambda g, dim, index: use("index_fill")(g, dim, index, 0), value=lambda g, dim, index: np.sum(use("index_select")(g, dim, index))),
   samples=(sample(real(3, 4), 0, exact_index([2, 0]), 1.5), sample(real(3, 4), 1, exact_index([2]), real())),
   doc="""The tensor with one value at indices along a dimension.

   >>> import dualtape as dt
   >>> dt.index_fill(dt.zeros(3), 0, dt.tensor([1]), 7.0)
   tensor([0., 7., 0.])
   """)  # fmt: skip


@composite("take", samples=(sample(real(3, 4), ints(2, 2, low=-3, high=12)),))
def take(input: Any, index: Any) -> Any:
    """Entries by their place in the flattened tensor.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.take(dt.eye(2), dt.tensor([0, 3]))
    tensor([1., 1.])
    """
    return _index(input.reshape(-1), (index._array,))


@composite("take_along_dim", samples=(sample(real(3, 4), ints(3, 2, high=4), 1), sample(real(3, 4), ints(1, 4, high=3), 0), sample(real(3), ints(2, high=3))))
def take_along_dim(input: Any, indices: Any, dim: int | None = None) -> Any:
    """Entries picked along a dimension, input and indices broadcast against each other.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.take_along_dim(dt.tensor([[3.0, 1.0]]), dt.tensor([[1, 0]]), 1)
    tensor([[1., 3.]])
    """
    index = indices if isinstance(indices, Tensor) else wrap(np.asarray(indices))
    if dim is None:
        return FUNCTIONS["gather"](input.reshape(-1), 0, index.reshape(-1))
    d = normal_dim(dim, input.ndim)
    a, b = list(input._array.shape), list(index._array.shape)
    a[d] = b[d] = 1
    common = list(np.broadcast_shapes(tuple(a), tuple(b)))
    common[d] = input._array.shape[d]
    wide = shapes.expand(input, tuple(common))
    common[d] = index._array.shape[d]
    return FUNCTIONS["gather"](wide, d, shapes.expand(index, tuple(common)))


setattr(Tensor, "__getitem__", getitem)  # noqa: B010 - mypy knows another one
setattr(Tensor, "__setitem__", setitem)  # noqa: B010
