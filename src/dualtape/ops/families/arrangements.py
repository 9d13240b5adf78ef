"""Rearrangements composed of other ops: flips, splits, joins side by side, combinations of entries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain, combinations_with_replacement
from itertools import combinations as _combinations
from math import comb, prod
from operator import index
from typing import Any

import numpy as np

from ... import errors
from ..._tensor import dtypes
from ..._tensor.tensor import Tensor, new_tensor, wrap
from ...arrays import zeros
from ...arrays.kernels.basics import asarray_like, full_like_shape
from ..dispatch import FUNCTIONS
from ..formulas import is_whole, normal_dim, use
from ..samples import edge, exact_index, ints, ours, real, sample
from ..table import GENERAL, LINEAR, composite, op
from . import diagonals, joins, parts, shapes
from .indexing import index_at

# --- turned ---------------------------------------------------------------------------------------


@composite("fliplr", samples=(sample(real(2, 3)), sample(real(2, 3, 2))))
def fliplr(input: Any) -> Any:
    """The second dimension in reverse order.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.fliplr(dt.tensor([[1, 2], [3, 4]]))
    tensor([[2, 1],
            [4, 3]])
    """
    if input.ndim < 2:
        raise RuntimeError(f"fliplr: Input must be >= 2-d, got {input.ndim}-d")
    return FUNCTIONS["flip"](input, (1,))


@composite("flipud", samples=(sample(real(2, 3)), sample(real(3))))
def flipud(input: Any) -> Any:
    """The first dimension in reverse order.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.flipud(dt.tensor([1, 2]))
    tensor([2, 1])
    """
    if input.ndim < 1:
        raise RuntimeError("flipud: Input must be >= 1-d, got 0-d")
    return FUNCTIONS["flip"](input, (0,))


def _rot90(x: Any, k: int = 1, dims: Any = (0, 1)) -> Any:
    if len(dims) != 2 or x.ndim < 2:
        raise RuntimeError(f"rot90: expected 2 rotation dims of at least 2, got dims {list(dims)} of {x.ndim}")
    a, b = (normal_dim(d, x.ndim) for d in dims)
    if a == b:
        raise RuntimeError(
            f"rot90: expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}"
        )
    turns = k % 4
    if turns > 1:
        x = np.flip(x, a)
    if turns in (1, 2):
        x = np.flip(x, b)
    return (x.swapaxes(a, b) if turns % 2 else x).copy()


op("rot90", _rot90, kind=GENERAL, jvp=LINEAR, vjp=dict(x=lambda g, k, dims: use("rot90")(g, -k, dims)),
   samples=(sample(real(2, 3)), sample(real(2, 3), -1, (1, 0)), sample(real(2, 3), 2), sample(real(2, 3), 0),
            sample(real(2, 3, 4), 3, (0, -1))),
   doc="""The tensor turned by ``k`` quarters, from the first of ``dims`` towards the second.

   >>> import dualtape as dt
   >>> dt.rot90(dt.tensor([[1, 2], [3, 4]]))
   tensor([[2, 4],
           [1, 3]])
   """)  # fmt: skip

# --- diagonals and powers -------------------------------------------------------------------------


@composite("diagflat", samples=(sample(real(2, 2)), sample(real(3), 1), sample(real(), -1)))
def diagflat(input: Any, offset: int = 0) -> Any:
    """The matrix that has all entries of a tensor on its diagonal.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.diagflat(dt.tensor([[1, 2]]))
    tensor([[1, 0],
            [0, 2]])
    """
    return diagonals.diag_embed(input.reshape(-1), offset)


@composite("block_diag", method=False, samples=(
    sample(real(2, 3), real(2), real()), sample(real(2, 3)), ours(real(0), real(1, 1)),
))  # fmt: skip
def block_diag(*tensors: Any) -> Any:
    """The matrix that has these matrices on its diagonal; vectors are rows.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.block_diag(dt.tensor([[1, 2]]), dt.tensor(3))
    tensor([[1, 2, 0],
            [0, 0, 3]])
    """
    _tensors("block_diag", tensors)
    for place, tensor in enumerate(tensors):
        if tensor.ndim > 2:
            raise RuntimeError(
                f"block_diag: Input tensors must have 2 or fewer dimensions. Input {place} has {tensor.ndim} dimensions"
            )
    if not tensors:
        return new_tensor(np.zeros((1, 0), dtypes.default_float()))
    dtype = dtypes.result_dtype([t._array for t in tensors])
    blocks = [FUNCTIONS["atleast_2d"](t.to(dtypes.of(dtype))) for t in tensors]
    width, start, rows = sum(b._array.shape[1] for b in blocks), 0, []
    for block in blocks:
        height, columns = block._array.shape
        left, right = (wrap(zeros((height, n), dtype, block._array)) for n in (start, width - start - columns))
        rows.append(FUNCTIONS["cat"]([left, block, right], 1))
        start += columns
    return FUNCTIONS["cat"](rows, 0)


def _tensors(name: str, values: Sequence) -> None:
    for value in values:
        if not isinstance(value, Tensor):
            raise errors.not_a_tensor(name, "tensors", value)


@composite("vander", method=False, samples=(ours(real(3)), ours(real(3), 2, True), ours(real(2), N=0)))
def vander(x: Any, N: int | None = None, increasing: bool = False) -> Any:  # noqa: N803 - PyTorch's name
    """The powers of each entry, from N - 1 down to 0, or up.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.vander(dt.tensor([1, 2, 3]))
    tensor([[1, 1, 1],
            [4, 2, 1],
            [9, 3, 1]])
    """
    if x.ndim != 1:
        raise RuntimeError(f"vander: x must be a one-dimensional tensor, got {x.ndim} dimensions")
    count = x._array.size if N is None else index(N)
    if count < 0:
        raise RuntimeError(f"vander: N must be non-negative, got {N}")
    column = x.unsqueeze(-1)
    ones = wrap(full_like_shape((x._array.size, min(count, 1)), 1, x._array.dtype, x._array))
    factors = [ones, shapes.expand(column, (-1, max(count - 1, 0)))]
    powers = FUNCTIONS["cumprod"](FUNCTIONS["cat"](factors, 1), 1)
    return powers if increasing else FUNCTIONS["flip"](powers, (1,))


# --- cut ------------------------------------------------------------------------------------------


def _cut(name: str, axis: int, least: int) -> Callable:
    """Declare a split along one axis into equal sections, or at indices; tensors with too few dimensions are
    refused.
    """

    def function(input: Any, *indices_or_sections: Any) -> Any:
        if input.ndim < least:
            raise RuntimeError(f"{name} requires a tensor with at least {least} dimension, but got {input.ndim}")
        where = indices_or_sections[0] if len(indices_or_sections) == 1 else indices_or_sections
        dim = axis if input.ndim > 1 else 0
        size = input._array.shape[dim]
        if isinstance(where, int) and (where < 1 or size % where):
            raise RuntimeError(
                f"{name} attempted to split along dimension {dim}, but the size of the dimension {size} is not"
                f" divisible by the split_size {where}!"
            )
        return parts.tensor_split(input, where, dim)

    function.__name__ = function.__qualname__ = name
    return function


for _name, _axis, _least, _shape in (("hsplit", 1, 1, (3, 4)), ("vsplit", 0, 2, (4, 3)), ("dsplit", 2, 3, (2, 3, 4))):
    _function = _cut(_name, _axis, _least)
    _function.__doc__ = f"""The tensor cut along its {("first", "second", "third")[_axis]} dimension (a vector along its
    only one, where that is allowed): into as many equal pieces, or at indices.

    Examples
    --------
    >>> import dualtape as dt
    >>> [part.shape for part in dt.{_name}(dt.ones{_shape}, 2)] == 2 * [dt.{_name}(dt.ones{_shape}, (2,))[0].shape]
    True
    """
    composite(_name, samples=(sample(real(*_shape), 2), sample(real(*_shape), (1, 3))))(_function)


@composite("split_with_sizes", samples=(sample(real(5, 3), [1, 4]), sample(real(4, 3), [1, 0, 2], 1)))
def split_with_sizes(input: Any, split_sizes: Sequence[int], dim: int = 0) -> Any:
    """The tensor cut into pieces of the sizes given.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.split_with_sizes(dt.arange(3), [1, 2])
    (tensor([0]), tensor([1, 2]))
    """
    return parts.split(input, list(split_sizes), dim)


def _unsafe(name: str, safe: Callable, second: str, samples: Sequence) -> None:
    """Declare a split whose pieces have memory of their own and may be written; PyTorch's share memory without tracking
    it.
    """
    import inspect

    def function(*args: Any, **kwargs: Any) -> Any:
        return tuple([piece.clone() for piece in safe(*args, **kwargs)])

    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = [inspect.Parameter(p, kind) for p in ("input", second)]
    function.__signature__ = inspect.Signature([*parameters, inspect.Parameter("dim", kind, default=0)])  # type: ignore[attr-defined]
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""The pieces of :func:`{name.removeprefix("unsafe_")}`, in memory of their own.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.{name}(dt.arange(2), {"[1, 1]" if "sizes" in name else 2 if "chunk" in name else 1})
    (tensor([0]), tensor([1]))
    """
    composite(name, samples=samples)(function)


_unsafe("unsafe_split", parts.split, "split_size", (sample(real(5, 3), 2), sample(real(4, 3), 2, dim=1)))
_unsafe("unsafe_split_with_sizes", split_with_sizes, "split_sizes", (sample(real(5, 3), [1, 4]),))
_unsafe("unsafe_chunk", parts.chunk, "chunks", (sample(real(5, 3), 2), sample(real(4, 3), 3, 1)))

# --- side by side ---------------------------------------------------------------------------------


@composite("column_stack", method=False, samples=(
    sample([real(2), real(2, 3)]), sample([real(), real()]),
))  # fmt: skip
def column_stack(tensors: Any, *, out: Any = None) -> Any:
    """The tensors side by side; vectors are columns.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.column_stack((dt.tensor([1, 2]), dt.tensor([3, 4])))
    tensor([[1, 3],
            [2, 4]])
    """
    columns = [t.reshape(-1, 1) if t.ndim < 2 else t for t in joins.some("column_stack", tensors)]
    return FUNCTIONS["cat"](columns, 1, out=out)


@composite("dstack", method=False, samples=(
    sample([real(2), real(2)]), sample([real(2, 3), real(2, 3)]), sample([real(2, 3, 1), real(2, 3, 4)]),
))  # fmt: skip
def dstack(tensors: Any, *, out: Any = None) -> Any:
    """The tensors one behind the other, along a third dimension.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.dstack((dt.tensor([1, 2]), dt.tensor([3, 4])))
    tensor([[[1, 3],
             [2, 4]]])
    """
    return FUNCTIONS["cat"]([FUNCTIONS["atleast_3d"](t) for t in joins.some("dstack", tensors)], 2, out=out)


@composite("broadcast_tensors", method=False, samples=(
    sample(real(2, 1), real(3)), sample(real(), real(2)), sample(real(2, 3)),
))  # fmt: skip
def broadcast_tensors(*tensors: Any) -> tuple:
    """The tensors, each broadcast to their common shape, without copying; one that has it is returned itself.

    Examples
    --------
    >>> import dualtape as dt
    >>> [x.shape for x in dt.broadcast_tensors(dt.ones(2, 1), dt.ones(3))]
    [dualtape.Size([2, 3]), dualtape.Size([2, 3])]
    """
    _tensors("broadcast_tensors", tensors)
    try:
        shape = np.broadcast_shapes(*[t._array.shape for t in tensors])
    except ValueError:
        raise RuntimeError(
            f"broadcast_tensors: the sizes {', '.join([str(list(t.shape)) for t in tensors])} do not match at a dimension"
            " where none of them is 1"
        ) from None
    return tuple([t if t._array.shape == shape else shapes.expand(t, shape) for t in tensors])


@composite("sum_to_size", public=False, torch_name="Tensor.sum_to_size", samples=(
    sample(real(2, 3), (1, 3)), sample(real(2, 3), (3,)), sample(real(2, 3), ()), sample(real(2, 3), (2, 3)),
))  # fmt: skip
def sum_to_size(input: Any, *size: Any) -> Any:
    """The tensor summed to a shape that can be broadcast to its own.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.ones(2, 3).sum_to_size(1, 3)
    tensor([[2., 2., 2.]])
    """
    wanted = tuple(size[0]) if len(size) == 1 and not isinstance(size[0], int) else size
    shape = input._array.shape
    lead = len(shape) - len(wanted)
    if lead < 0 or any([n not in (1, m) for n, m in zip(wanted, shape[lead:], strict=True)]):
        raise RuntimeError(f"sum_to_size: size {list(wanted)} is not expandable to size {list(shape)}.")
    dims = tuple([d for d, n in enumerate(shape) if d < lead or wanted[d - lead] != n])
    return FUNCTIONS["sum"](input, dims, True).reshape(wanted) if dims else input


# --- combined -------------------------------------------------------------------------------------


@composite(
    "cartesian_prod",
    method=False,
    samples=(sample(real(2), real(3)), sample(real(2)), sample(real(2), real(1), real(2))),
)
def cartesian_prod(*tensors: Any) -> Any:
    """All tuples of one entry of each vector, as rows; of one vector, itself.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.cartesian_prod(dt.tensor([1, 2]), dt.tensor([3, 4]))
    tensor([[1, 3],
            [1, 4],
            [2, 3],
            [2, 4]])
    """
    _tensors("cartesian_prod", tensors)
    if not tensors:
        raise RuntimeError("cartesian_prod expects a non-empty list of tensors")
    for tensor in tensors:
        if tensor.ndim != 1:
            raise RuntimeError(f"cartesian_prod: Expect a 1D vector, but got shape {list(tensor.shape)}")
    if len(tensors) == 1:
        return tensors[0]
    if len({t._array.dtype for t in tensors}) > 1:
        raise RuntimeError("cartesian_prod expects all tensors to have the same dtype")
    grids = FUNCTIONS["meshgrid"](*tensors, indexing="ij")
    return FUNCTIONS["stack"]([grid.reshape(-1) for grid in grids], 1)


@composite(
    "combinations", samples=(sample(real(4)), sample(real(3), 2, True), sample(real(2), 3), sample(real(3), r=1))
)
def combinations(input: Any, r: int = 2, with_replacement: bool = False) -> Any:
    """All choices of ``r`` entries of a vector, as rows; with replacement, an entry may be chosen again.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.combinations(dt.tensor([1, 2, 3]))
    tensor([[1, 2],
            [1, 3],
            [2, 3]])
    """
    if input.ndim != 1:
        raise RuntimeError(f"combinations: Expect a 1D vector, but got shape {list(input.shape)}")
    if r < 0:
        raise RuntimeError(f"combinations: Expect a non-negative number, but got {r}")
    if r == 0:
        return input[:0].clone()
    choose = combinations_with_replacement if with_replacement else _combinations
    n = input._array.size
    count = comb(n + r - 1, r) if with_replacement and n else comb(n, r)
    if count * r >= 2**60:
        raise RuntimeError(f"combinations: {n} entries have more choices of {r} than fit in memory")
    # whose memory is there before the first choice is made
    entries = chain.from_iterable(choose(range(n), r))
    places = np.fromiter(entries, np.int64, count * r).reshape(-1, r)
    return index_at(input, (asarray_like(places, input._array),))


@composite("unravel_index", method=False, complex=False, samples=(
    edge(ints(3, high=6), (2, 3)), edge(exact_index(5), (2, 3)), edge(exact_index([[7, -1]]), (2, 3)),
    edge(ints(2, high=4), 4),
))  # fmt: skip
def unravel_index(indices: Any, shape: Any) -> tuple:
    """The coordinates, in a tensor of ``shape``, of flat indices in row-major order.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.unravel_index(dt.tensor([5, 0]), (2, 3))
    (tensor([1, 0]), tensor([2, 0]))
    """
    if indices._array.dtype.kind not in "iu":
        raise TypeError(f"unravel_index: expected 'indices' to be integer dtype, but got {indices.dtype!r}")
    sizes = (index(shape),) if is_whole(shape) else tuple([index(n) for n in shape])
    if min(sizes, default=0) < 0:
        raise ValueError(f"unravel_index: 'shape' cannot have negative values, but got {list(sizes)}")
    places = indices.long()
    return tuple([places // prod(sizes[d + 1 :]) % n for d, n in enumerate(sizes)])
