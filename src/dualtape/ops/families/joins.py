"""Joining tensors (cat, stack, grids) and reordering or repeating their entries; all linear."""

from __future__ import annotations

from operator import index
from typing import Any

import numpy as np

from ..._tensor.tensor import Tensor, raw, wrap
from ...arrays.kernels.basics import asarray_like, host
from ...arrays.kernels.memory_order import copy_in_order, in_rows
from ...arrays.kernels.repeats import check_repeats, check_tile
from ...errors import ArgumentError, not_a_list, warn
from ..formulas import normal_dim, normal_dims, use, zeros_like_shape
from ..samples import ints, real, sample
from ..table import COMMON, GENERAL, LINEAR, composite, op
from .shapes import expand, unsqueeze


def _cat(tensors: Any, dim: int = 0) -> Any:
    if not tensors:
        raise ArgumentError("cat: expected a non-empty list of Tensors")
    if type(dim) is int and type(tensors[0]) is np.ndarray:
        try:
            return _in_rows(np.concatenate(tensors, dim))
        except ValueError:
            # There is an empty tensor to leave out, or an error to raise.
            pass
    kept = [t for t in tensors if t.shape != (0,)] or list(tensors)
    d = normal_dim(dim, kept[0].ndim)
    for k, t in enumerate(kept):
        if t.ndim == 0:
            raise RuntimeError("cat: zero-dimensional tensor cannot be concatenated; use stack")
        if t.ndim != kept[0].ndim or any(
            a != b for i, (a, b) in enumerate(zip(t.shape, kept[0].shape, strict=False)) if i != d
        ):
            raise RuntimeError(
                f"cat: Sizes of tensors must match except in dimension {d}. Expected size {list(kept[0].shape)} but got"
                f" size {list(t.shape)} for tensor number {k} in the list"
            )
    return _in_rows(np.concatenate(kept, axis=d))


def _in_rows(result: Any) -> Any:
    """Return a joined array, contiguous: NumPy lays it out as its parts are."""
    return result if result.flags.c_contiguous else result.copy()


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


cat = op("cat", _cat, kind=GENERAL, listed="tensors", promote=COMMON, jvp=LINEAR, also=("concat", "concatenate"),
    method=False,
   vjp=dict(tensors=_uncat),
   samples=(sample([real(2, 3), real(1, 3)]), sample([real(2, 3), real(2, 1)], dim=1),
       sample([real(3), real(0), real(2)]), sample([real(2), real(2)], -1)),
   doc="""Tensors joined along a dimension they have.

   >>> import dualtape as dt
   >>> dt.cat([dt.tensor([1, 2]), dt.tensor([3])])
   tensor([1, 2, 3])
   """)  # fmt: skip


# Up to so many arrays are put in place one by one faster than np.stack makes views of them.
_FEW = 16


def _stack(tensors: Any, dim: int = 0) -> Any:
    if not tensors:
        raise RuntimeError("stack expects a non-empty TensorList")
    first = tensors[0]
    shape, plain = first.shape, dim == 0 and len(tensors) <= _FEW and type(first) is np.ndarray
    for k, t in enumerate(tensors):
        if t is not first:
            if t.shape != shape:
                raise RuntimeError(
                    f"stack expects each tensor to be equal size, but got {list(shape)} at entry 0 and"
                    f" {list(t.shape)} at entry {k}"
                )
            plain = plain and type(t) is np.ndarray
    if plain:
        if not shape:
            return np.array(tensors, first.dtype)
        out = np.empty((len(tensors), *shape), first.dtype)
        i = 0
        for t in tensors:
            out[i] = t
            i += 1
        return out
    return _in_rows(np.stack(tensors, axis=normal_dim(dim, tensors[0].ndim + 1)))


def _unstack(g: Any, tensors_shape: list, dim: int) -> list:
    lead = (slice(None),) * normal_dim(dim, g.ndim)
    return [g[(*lead, i)] for i in range(len(tensors_shape))]


stack = op("stack", _stack, kind=GENERAL, listed="tensors", promote=COMMON, jvp=LINEAR, method=False,
   vjp=dict(tensors=_unstack),
   samples=(sample([real(2, 3), real(2, 3)]), sample([real(2, 3), real(2, 3)], -1), sample([real(), real()])),
   doc="""Tensors of one shape joined along a new dimension.

   >>> import dualtape as dt
   >>> dt.stack([dt.tensor([1, 2]), dt.tensor([3, 4])])
   tensor([[1, 2],
           [3, 4]])
   """)  # fmt: skip

# --- order and repetition -------------------------------------------------------------------------


def _flipped(x: Any, dims: Any) -> Any:
    return copy_in_order(np.flip(x, normal_dims(dims, x.ndim)) if x.ndim and dims not in ((), []) else x)


op("flip", lambda x, dims: _flipped(x, dims), kind=GENERAL,
    varargs="dims", jvp=LINEAR,
   vjp=dict(x=lambda g, dims: use("flip")(g, dims)),
   samples=(sample(real(3, 4), (0,)), sample(real(3, 4), (0, 1)), sample(real(3, 4), (-1,))),
   doc="""The order along dimensions reversed, as a copy.

   >>> import dualtape as dt
   >>> dt.flip(dt.arange(3), (0,))
   tensor([2, 1, 0])
   """)  # fmt: skip


def _roll(x: Any, shifts: Any, dims: Any = None) -> Any:
    moves, along = (1 if isinstance(v, int) else len(v) for v in (shifts, () if dims is None else dims))
    if moves != (along or 1):
        raise RuntimeError(f"roll: shifts and dimensions must align. shifts: {moves}, dims: {along}")
    return in_rows(np.roll(x, shifts, dims if dims != () else None))


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
    repeats = tuple([index(n) for n in repeats])
    check_tile("repeat", x.shape, repeats)
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


op("repeat", _repeat, kind=GENERAL, varargs="repeats", jvp=LINEAR, vjp=dict(x=_unrepeat), public=False,
    torch_name="Tensor.repeat",
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


@composite(
    "repeat_interleave",
    samples=(sample(real(2, 3), 2), sample(real(2, 3), 2, dim=1), sample(real(3), ints(3, low=1, high=3))),
)
def repeat_interleave(
    input: Any = None, repeats: Any = None, dim: int | None = None, *, output_size: int | None = None
) -> Any:
    """Each entry repeated in order; given the counts alone, the indices of the entries.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.repeat_interleave(dt.tensor([1, 2]), 2)
    tensor([1, 1, 2, 2])
    """
    if input is None or repeats is None:
        counts = raw(repeats if input is None else input)
        if counts.ndim != 1 or counts.dtype.kind not in "iu":
            raise RuntimeError(
                f"repeat_interleave only accepts a 1D vector of integers as repeats, got {list(counts.shape)} of"
                f" {counts.dtype}"
            )
        repeated = _repeated(counts.shape[0], counts)
        _check_size(repeated, output_size)
        return wrap(asarray_like(repeated, counts))
    if dim is None:
        input, dim = input.reshape(-1), 0
    n = input._array.shape[normal_dim(dim, input.ndim)]
    repeated = _repeated(n, repeats._array if isinstance(repeats, Tensor) else repeats)
    _check_size(repeated, output_size)
    return input.index_select(dim, wrap(asarray_like(repeated, input._array)))


def _repeated(n: int, counts: Any) -> np.ndarray:
    """Return the indices 0 to n - 1, each repeated by its count."""
    check_repeats("repeat_interleave", n, counts)
    counts = np.asarray(host(counts))
    if (counts < 0).any():
        raise RuntimeError("repeat_interleave: repeats can not be negative")
    if counts.size not in (1, n):
        raise RuntimeError(
            f"repeat_interleave: repeats must have the same size as input along dim, but got {counts.size} for {n}"
        )
    return np.repeat(np.arange(n), counts)


def _check_size(repeated: np.ndarray, output_size: int | None) -> None:
    if output_size is not None and output_size != repeated.size:
        raise RuntimeError(f"repeat_interleave: Invalid output_size, expected {repeated.size} but got {output_size}")


# --- joins by name --------------------------------------------------------------------------------


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
    return composite(function.__name__, samples=(sample(real()), sample(real(3)), sample(real(2, 3))), method=False)(
        function
    )


atleast_1d, atleast_2d, atleast_3d = (_atleast(n) for n in (1, 2, 3))


def some(name: str, tensors: Any) -> list:
    """Return the tensors to join as a list; raise if there are none."""
    if not isinstance(tensors, (list, tuple)):
        raise not_a_list(name, "tensors", tensors)
    if not len(tensors):
        raise RuntimeError(f"{name} expects a non-empty TensorList")
    return list(tensors)


@composite("hstack", samples=(sample([real(2), real(3)]), sample([real(2, 1), real(2, 3)])), method=False)
def hstack(tensors: Any) -> Any:
    """Tensors joined side by side: along the second dimension, or the first of vectors.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.hstack([dt.tensor([1]), dt.tensor([2])])
    tensor([1, 2])
    """
    whole = atleast_1d(some("hstack", tensors))
    return cat(list(whole), 0 if whole[0].ndim == 1 else 1)


@composite(
    "vstack", also=("row_stack",), samples=(sample([real(3), real(3)]), sample([real(2, 3), real(1, 3)])), method=False
)
def vstack(tensors: Any) -> Any:
    """Tensors joined one below the other.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.vstack([dt.tensor([1]), dt.tensor([2])])
    tensor([[1],
            [2]])
    """
    return cat(list(atleast_2d(some("vstack", tensors))), 0)


@composite(
    "meshgrid", samples=(sample(real(2), real(3), indexing="ij"), sample(real(2), real(3), indexing="xy")), method=False
)
def meshgrid(*tensors: Any, indexing: str | None = None) -> tuple:
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
    if indexing is None:
        warn("meshgrid: indexing is not given, and 'ij': pass it, since PyTorch announces that it will be required")
        indexing = "ij"
    if indexing not in ("ij", "xy"):
        raise RuntimeError(f"meshgrid: indexing must be one of 'xy' or 'ij', but received: {indexing}")
    for t in tensors:
        if t.ndim > 1:
            raise RuntimeError(f"meshgrid: Expected 0D or 1D tensor in the tensor list but got: {list(t.shape)}")
    swap = indexing == "xy" and len(tensors) > 1
    if swap:
        tensors = (tensors[1], tensors[0], *tensors[2:])
    shape = tuple(t.numel() for t in tensors)
    grids = [expand(t.reshape((1,) * i + (-1,) + (1,) * (len(shape) - i - 1)), shape) for i, t in enumerate(tensors)]
    if swap:
        grids[0], grids[1] = grids[1], grids[0]
    return tuple(grids)
