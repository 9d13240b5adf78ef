"""Indexing: reading and writing by position, by index tensors and by masks.

``x[key]`` is split as PyTorch splits it: integers, slices and None become views one after the other, index tensors and
masks one ``index``. Assignment writes through the same views.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._tensor import dtypes
from ..._tensor.creation import tensor
from ..._tensor.tensor import Tensor, new_tensor, raw, wrap
from ...arrays import Batched, as_array, is_array, zeros
from ...arrays.bfloat16_dtype import BFLOAT16, cast
from ...arrays.kernels.basics import add_at, all_samples, asarray_like, selected_ndim
from ...arrays.kernels.memory_order import copy_in_order, in_rows
from ...autograd.saved import raw_key
from ...autograd.views import check_write
from ...errors import not_a_tensor, warn, warn_of_lost_imaginary
from ...overrides.active_overrides import activate_for, active_overrides
from .. import basic_indexing as keys
from ..dispatch import FUNCTIONS
from ..formulas import use, zeros_like_shape
from ..samples import edge, exact, exact_mask, mask, real, sample
from ..table import GENERAL, LINEAR, TABLE, composite, op
from . import shapes
from .parts import select, slice_of

_long = np.dtype(np.int64)

# --- x[key] ---------------------------------------------------------------------------------------


def getitem(x: Tensor, key: Any) -> Tensor:
    """``x[key]``."""
    kind = type(key)
    if kind is int or kind is slice or kind is tuple:
        view = keys.view_at(x, key if kind is tuple else (key,), kind is slice)
        if view is not None:
            return view
    elif kind is Tensor and key._array.dtype is _long and key._array.ndim and x._array.ndim:
        return index_at(x, (key,))
    if kind is int:
        return select(x, 0, key)
    if kind is slice:
        return _sliced(x, 0, key, always=True)
    try:
        viewed, indices = _parse(x, key)
    except (TypeError, IndexError):
        if active_overrides or not activate_for((key,), {}):
            raise
        return x[key]
    if indices is not None:
        return index_at(viewed, indices)
    return viewed if viewed is not x else _alias(x)


def setitem(x: Tensor, key: Any, value: Any) -> None:
    """``x[key] = value``."""
    if keys.assign(x, key, value):
        return
    try:
        _assign(x, key, value)
    except (TypeError, IndexError):
        if active_overrides or not activate_for((key, value), {}):
            raise
        x[key] = value


def _assign(x: Tensor, key: Any, value: Any) -> None:
    """Assign ``x[key] = value`` on the reference path."""
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
        target.fill_(_as_value(value, target))
        return
    source = value if isinstance(value, Tensor) else _as_value(value, viewed)
    shape = source._array.shape
    wanted = target._array.shape
    # Leading dimensions of size one are dropped, and the rest is broadcast: both are recorded.
    if shape and shape != wanted:
        rest = shape[next((d for d, n in enumerate(shape) if n != 1), len(shape)) :]
        source = shapes._view_shape(source, rest)
        if rest != wanted and spreads(rest, wanted):
            source = source.expand(wanted)
    target.copy_(source)


def spreads(shape: tuple, wanted: tuple) -> bool:
    """Return whether an array of ``shape`` can be broadcast to the shape ``wanted``."""
    after = wanted[len(wanted) - len(shape) :]
    return len(shape) <= len(wanted) and all([n in (1, m) for n, m in zip(shape, after, strict=True)])


def _as_value(value: Any, x: Tensor) -> Tensor:
    if isinstance(value, (bool, int, float, complex)):
        return wrap(asarray_like(dtypes.number_as(value, x._array.dtype), x._array))
    if is_array(value):
        return wrap(as_array(value))
    raise TypeError(f"can't assign a {type(value).__name__} to a tensor: expected a number, an array or a Tensor")


def _step(key: slice) -> int:
    step = 1 if key.step is None else _integer(key.step)
    if step <= 0:
        raise ValueError("step must be greater than zero: use flip for the reverse order")
    return step


def _sliced(x: Tensor, dim: int, key: slice, always: bool = False) -> Tensor:
    """Return a slice along one dimension; a slice over a whole dimension is no view of its own, unless it is the whole
    key.
    """
    step = _step(key)
    if x.ndim == 0:
        raise IndexError("slice() cannot be applied to a 0-dim tensor.")
    start = None if key.start is None else _integer(key.start)
    end = None if key.stop is None else _integer(key.stop)
    n = x._array.shape[dim]
    if not always and step == 1 and start in (None, 0) and (end is None or end >= n):
        return x
    return slice_of(x, dim, start, end, step)


def _integer(value: Any) -> int:
    try:
        return value.__index__()
    except (AttributeError, TypeError):
        raise TypeError(
            f"slice indices must be integers or None or have an __index__ method, got {type(value).__name__}"
        ) from None


def _parse(x: Tensor, key: Any) -> tuple[Tensor, tuple | None]:
    """Apply the views that a key asks for, and return the result with the remaining index tensors (None: a whole
    dimension).
    """
    if type(key) is list and any(
        [k is None or k is ... or isinstance(k, slice) or isinstance(k, Tensor) and k._array.ndim for k in key]
    ):
        warn("a list that is more than numbers as an index is deprecated: it is read as a tuple, write x[tuple(key)]")
        key = tuple(key)
    parts = [_normal(k) for k in (key if isinstance(key, tuple) else (key,))]
    consumed = sum(_takes(k) for k in parts if k is not None and k is not ... and not isinstance(k, bool))
    if consumed > x.ndim:
        raise IndexError(f"too many indices for tensor of dimension {x.ndim}: the key {_shown(key)} takes {consumed}")
    parts = _without_further_ellipses(parts)
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
            x = select(x, dim, k)
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
    return x, tuple([slice(None) if i is None else i for i in indices if not (isinstance(i, tuple) and i == ())])


def _without_further_ellipses(parts: list) -> list:
    """``parts`` with one ellipsis at most: further ones at the end of a key stand for no dimension."""
    found = [position for position, k in enumerate(parts) if k is ...]
    if len(found) > 1:
        if any([k is not ... for k in parts[found[1] :]]):
            raise IndexError(
                "an index can only have a single ellipsis ('...') before an integer, a slice, a tensor or None"
            )
        return parts[: found[1]]
    return parts


def _takes(k: Any) -> int:
    """Return how many dimensions of the tensor one part of a key indexes."""
    return k._array.ndim if isinstance(k, Tensor) and k._array.dtype.kind == "b" else 1


def _check_mask(k: Tensor, x: Tensor, dim: int) -> None:
    have = x._array.shape[dim : dim + k._array.ndim]
    if have != k._array.shape:
        raise IndexError(
            f"The shape of the mask {list(k._array.shape)} at index {dim} does not match the shape of the indexed"
            f" tensor {list(x._array.shape)}"
        )


def _shown(key: Any) -> str:
    text = repr(key)
    return text if len(text) < 60 else text[:57] + "..."


def _normal(k: Any) -> Any:
    """Return one part of a key as None, ..., bool, int, slice, or a tensor of integers or booleans."""
    if k is None or k is ... or isinstance(k, (bool, int)):
        return k
    # A number of whatever width; an array of uint8 would be a mask.
    if isinstance(k, np.integer):
        return int(k)
    if isinstance(k, slice):
        _step(k)
        return k
    if isinstance(k, (list, tuple, range)):
        k = _listed_index(k) if len(k) else wrap(np.zeros(0, np.int64))
    if isinstance(k, Tensor) or is_array(k):
        tensor = k if isinstance(k, Tensor) else wrap(as_array(k))
        kind = tensor._array.dtype.kind
        if kind not in "biu":
            raise IndexError(
                f"tensors used as indices must be long, int, byte or bool tensors, got {tensor.dtype!r}: convert it"
                " with .long()"
            )
        if tensor._array.dtype == np.uint8:
            warn(
                "indexing with dtype uint8 is deprecated: it is read as a mask; use a mask of bool, or .long() indices"
            )
            tensor = wrap(tensor._array.astype(bool))
        elif tensor._array.ndim == 0 and kind != "b":
            return tensor if type(tensor._array) is Batched else int(tensor._array)
        return bool(tensor._array) if tensor._array.ndim == 0 else tensor
    try:
        return k.__index__()
    except (AttributeError, TypeError):
        kind = TypeError if isinstance(k, str) else IndexError
        raise kind(
            "only integers, slices (`:`), ellipsis (`...`), None, tensors, arrays and sequences of integers or booleans"
            " are valid indices"
            f" (got {type(k).__name__})"
        ) from None


def _listed_index(data: Any) -> Tensor:
    try:
        return tensor(data)
    except (RuntimeError, TypeError, ValueError) as error:
        raise IndexError(
            f"a {type(data).__name__} as an index holds integers or booleans: {error}; to index several dimensions give"
            " a tuple, x[tuple(key)]"
        ) from None


def _index_forward(x: Any, indices: Any) -> Any:
    # a list comes from those who call the op by PyTorch's name beneath
    indices = _raw_indices(indices) if type(indices) is list else raw_key(indices)
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
index_at = op("index", _index_forward, kind=GENERAL, whole=True, frees=True, key="indices", public=False, method=False, jvp=LINEAR,
   torch_name="-",
   vjp=dict(x=lambda g, x_shape, indices: use("index_zero")(g, x_shape, indices)),
   samples=(sample(real(4, 3), (np.array([0, 2, 2]),)), sample(real(4, 3), (slice(None), np.array([[0, 1], [1, 1]]))),
            sample(real(3, 4, 2), (np.array([0, 1]), slice(None), np.array([1, 1])))),
   doc="Entries at index arrays.")  # fmt: skip
op("index_zero", _index_zero, kind=GENERAL, whole=True, public=False, method=False, jvp=LINEAR, node="IndexPutBackward0",
    torch_name="-",
   vjp=dict(x=lambda g, indices: use("index")(g, _raw_indices(indices))),
   samples=(sample(real(3, 3), (4, 3), (np.array([0, 2, 2]),)),),
   doc="Zeros, with entries added at index arrays.")  # fmt: skip


def _index_put(x: Any, indices: Any, values: Any, accumulate: bool = False) -> Any:
    out = copy_in_order(x)
    indices = _raw_indices(indices) if not isinstance(indices, Tensor) else indices
    if values.ndim > selected_ndim(x, indices):
        raise RuntimeError(
            f"index_put: shape mismatch: value tensor of shape {list(values.shape)} cannot be broadcast to indexing"
            f" result of {selected_ndim(x, indices)} dimensions"
        )
    if (values.dtype is BFLOAT16) is not (out.dtype is BFLOAT16):  # which NumPy does not convert
        values = cast(values, out.dtype)
    if accumulate:
        add_at(out, indices, values)
    else:
        out[indices] = values
    return out


def _raw_indices(indices: Any) -> tuple:
    return tuple([slice(None) if i is None else _mask_of_bytes(raw(i)) for i in indices])


def _mask_of_bytes(index: Any) -> Any:
    """Return ``index``, as a boolean mask if it is of uint8: PyTorch's older dtype of masks."""
    return index.astype(bool) if hasattr(index, "dtype") and index.dtype.name == "uint8" else index


op("index_put", _index_put, kind=GENERAL, whole=True, frees=True, key="indices", inplace=True, jvp=LINEAR, promote=None,
   vjp=dict(x=lambda g, indices, accumulate: g if accumulate else use("index_put")(g, _raw_indices(indices), zeros_like_shape((), g)),
            values=lambda g, indices: g[_raw_indices(indices)]),
   samples=(sample(real(4, 3), (np.array([0, 2]),), real(2, 3)), sample(real(4, 3), (np.array([0, 2]),), real()),
            sample(real(4, 3), (np.array([1, 1]),), real(2, 3), accumulate=True),
            sample(real(4, 3), (np.array([0, 2]), np.array([1, 1])), real(2))),
   doc="""A copy with values put (or added) at index tensors.

   >>> import dualtape as dt
   >>> dt.index_put(dt.zeros(3), (dt.tensor([0, 2]),), dt.tensor([5.0, 7.0]))
   tensor([5., 0., 7.])
   """)  # fmt: skip


def _put(x: Tensor, indices: tuple, values: Tensor) -> None:
    arrays = raw_key(indices)
    while values.ndim and values.shape[0] == 1 and values.ndim > selected_ndim(x._array, arrays):
        values = values[0]
    if values._array.dtype != x._array.dtype:
        values = values.to(x._array.dtype)
    x.index_put_(indices, values)


# --- whole writes ---------------------------------------------------------------------------------


def _copied(x: Any, src: Any, non_blocking: bool = False) -> Any:
    if not hasattr(src, "dtype"):
        return np.full_like(x, dtypes.number_as(src, x.dtype))
    if src.dtype.kind == "c" and x.dtype.kind not in "cb":
        warn_of_lost_imaginary("copy_", x.dtype)
        src = src.real
    return np.broadcast_to(cast(src, x.dtype), x.shape)


def _filled(x: Any, value: Any) -> Any:
    if getattr(value, "ndim", 0):
        raise RuntimeError(f"fill_ only supports 0-dimension value tensor but got tensor with {value.ndim} dimensions.")
    if value is None:
        raise TypeError("fill_(): argument 'value' must be a number or a 0-d tensor, got NoneType")
    if isinstance(value, (int, float, complex)):
        value = dtypes.number_as(value, x.dtype)
    elif getattr(value, "dtype", x.dtype).kind == "c" and x.dtype.kind not in "cb":
        warn_of_lost_imaginary("fill_", x.dtype)
        value = value.real
    if hasattr(value, "dtype") and BFLOAT16 in (value.dtype, x.dtype) and value.dtype != x.dtype:
        value = cast(value, x.dtype)
    return np.full_like(x, value)


op("copy", _copied, kind=GENERAL, inplace=True, overwrites="array", scalars=True, public=False, method=False, node="CopyBackwards",
    torch_name="-",
   vjp=dict(x=lambda g: np.zeros_like(g), src=lambda g: g),
   jvp=dict(x=lambda t: np.zeros_like(t), src=lambda t, x_shape: np.broadcast_to(t, x_shape)),
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
# its nodes have names of their own
_declare_fill(
    "refill",
    ("FillBackward2", "FillBackward3"),
    inplace=True,
    overwrites="value",
    public=False,
    method=False,
    torch_name="-",
)
FUNCTIONS["fill_"] = Tensor.fill_ = Tensor.refill_  # type: ignore[method-assign]
op("zero", lambda x: np.zeros_like(x), kind=GENERAL, inplace=True, overwrites="zero", public=False, method=False,
    vjp=dict(x=lambda g: np.zeros_like(g)),
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
        view = view.diagonal(0, 0, 1).movedim(-1, 0)
    view.diagonal(0, 0, 1).fill_(fill_value)
    return self


def _check_source(x: Tensor, mask: Tensor, source: Tensor) -> None:
    for name, value in (("mask", mask), ("source", source)):
        if not isinstance(value, Tensor):
            raise not_a_tensor("masked_scatter", name, value)
    if mask._array.dtype.kind != "b":
        raise RuntimeError(f"masked_scatter: expected a boolean mask, got {mask.dtype!r}")
    if source.dtype != x.dtype:
        raise RuntimeError(
            f"masked_scatter: expected self and source to have same dtypes but got {x.dtype!r} and {source.dtype!r}"
        )


def _masked_scatter_(self: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """In-place form of :func:`masked_scatter`.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.zeros(3).masked_scatter_(dt.tensor([True, False, True]), dt.tensor([1.0, 2.0]))
    tensor([1., 0., 2.])
    """
    _check_source(self, mask, source)
    where = np.nonzero(np.broadcast_to(mask._array, self._array.shape))
    if source.numel() < where[0].size:
        raise RuntimeError(f"masked_scatter: expected at least {where[0].size} values in source, got {source.numel()}")
    return self.index_put_(where, source.reshape(-1)[: where[0].size])


Tensor.masked_scatter_ = _masked_scatter_  # type: ignore[method-assign, assignment]
Tensor.fill_diagonal_ = _fill_diagonal_  # type: ignore[method-assign, assignment]

# --- masks ----------------------------------------------------------------------------------------


def _masked_fill(x: Any, mask: Any, value: Any) -> Any:
    if mask.dtype.kind != "b":
        raise RuntimeError(f"masked_fill_ only supports boolean masks, but got mask with dtype {mask.dtype}")
    if getattr(value, "ndim", 0):
        raise RuntimeError(
            f"masked_fill only supports a 0-dimensional value tensor, but got tensor with {value.ndim} dimension(s)."
        )
    return in_rows(np.where(mask, element(value, x), x))


def element(value: Any, x: Any) -> Any:
    """Return a number or 0-d array as an element of the array ``x``; raise if the number does not fit its dtype."""
    if not hasattr(value, "astype"):
        return dtypes.number_as(value, x.dtype)
    if value.dtype.kind == "c" and x.dtype.kind != "c":
        if np.any(np.imag(all_samples(value))):
            raise RuntimeError(f"value cannot be converted to type {dtypes.of(x.dtype)!r} without overflow: {value}")
        value = np.real(value)
    return cast(value, x.dtype)


op("masked_fill", _masked_fill, kind=GENERAL, inplace=True, constants=("mask",), scalars=True,
    node=("MaskedFillBackward0", "MaskedFillBackward1"),
   variant=lambda x, mask, value: int(hasattr(value, "dtype")),
   vjp=dict(x=lambda g, mask: np.where(mask, 0, g), value=lambda g, mask: np.sum(np.where(mask, g, 0))),
   jvp=dict(x=lambda t, mask: np.where(mask, 0, t), value=lambda t, mask: np.where(mask, t, 0)),
   samples=(sample(real(3, 4), mask(3, 4), 0.5), sample(real(3, 4), mask(4), real()),
       sample(real(3, 4), mask(3, 1), -1.0)),
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
        raise RuntimeError(
            f"masked_select: the mask {list(mask.shape)} and the tensor {list(input.shape)} cannot be broadcast"
            " together"
        ) from None
    return getitem(shapes.expand(input, shape), shapes.expand(mask, shape))


@composite("masked_scatter", samples=(
    sample(real(3), exact_mask([True, False, True]), real(2)), sample(real(), exact_mask([True, False, True]), real(2)),
    sample(real(2, 1), exact_mask([True, False, True]), real(5)),
))  # fmt: skip
def masked_scatter(input: Any, mask: Any, source: Any) -> Any:
    """The tensor with the first entries of ``source`` where the mask holds.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.masked_scatter(dt.zeros(3), dt.tensor([True, False, True]), dt.tensor([1.0, 2.0]))
    tensor([1., 0., 2.])
    """
    _check_source(input, mask, source)
    shape = np.broadcast_shapes(input._array.shape, mask._array.shape)
    input, mask = input.expand(shape), mask.expand(shape)
    count = int(np.count_nonzero(mask._array))
    if source.numel() < count:
        raise RuntimeError(f"masked_scatter: expected at least {count} values in source, got {source.numel()}")
    return FUNCTIONS["index_put"](input, (mask,), source.reshape(-1)[:count])


@composite("nonzero", samples=(edge(exact([[0.0, 1.0], [2.0, 0.0]])), edge(exact([0.0, 1.0]), as_tuple=True)))
def nonzero(input: Any, *, as_tuple: bool = False) -> Any:
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
        return tuple(new_tensor(i) for i in np.nonzero(np.atleast_1d(array)))
    return new_tensor(np.argwhere(array) if array.ndim else zeros((int(array != 0), 0), np.int64, array))


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


setattr(Tensor, "__getitem__", getitem)  # noqa: B010 - mypy knows another one
setattr(Tensor, "__setitem__", setitem)  # noqa: B010
