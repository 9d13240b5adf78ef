"""Contractions of tensors by name (einsum) and by axis, the vector product, products of many matrices.

``einsum`` is split into contractions of two operands, in the order that NumPy's path finder chooses; each of them is a
matrix product.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, reduce
from math import prod
from operator import index
from typing import Any

import numpy as np

from ..._tensor import dtypes
from ..._tensor.tensor import Tensor
from ...arrays.kernels import blas
from ...arrays.kernels.basics import contiguous
from ...errors import warn
from ..dispatch import FUNCTIONS
from ..formulas import is_whole, normal_dim, use
from ..publish import publish_inplace
from ..samples import real, sample
from ..table import BILINEAR, GENERAL, TABLE, composite, op
from .products import as_tensor, dot, mismatch, mm, same_dtype

# --- contraction by name --------------------------------------------------------------------------

_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


@lru_cache(maxsize=1024)
def _pair_plan(equation: str) -> tuple:
    """Return how two operands become one (batched) matrix product: axes to permute each by, sizes of their groups, axes
    of the result.

    Every label stands once in an operand, and in the other operand or the result.
    """
    left, _, target = equation.partition("->")
    a, _, b = left.partition(",")
    batch = [c for c in target if c in a and c in b]
    summed = [c for c in a if c in b and c not in target]
    rows = [c for c in target if c in a and c not in b]
    columns = [c for c in target if c in b and c not in a]
    result = [*batch, *rows, *columns]
    return (
        tuple(a.index(c) for c in (*batch, *rows, *summed)), tuple(b.index(c) for c in (*batch, *summed, *columns)),
        len(batch), len(rows), len(summed), tuple(result.index(c) for c in target),
    )  # fmt: skip


def _pair(x: Any, y: Any, equation: str) -> Any:
    first, second, batch, rows, summed, order = _pair_plan(equation)
    a, b = x.transpose(first), y.transpose(second)
    lead = a.shape[:batch]
    shape = (*a.shape[: batch + rows], *b.shape[batch + summed :])
    if not summed and not rows:
        out = np.multiply(a.reshape((*lead, *(1,) * (b.ndim - batch))), b)
    elif not summed:
        out = np.multiply(
            a.reshape((*a.shape, *(1,) * (b.ndim - batch))), b.reshape((*lead, *(1,) * rows, *b.shape[batch:]))
        )
    else:
        inner = prod(a.shape[batch + rows :])
        a = a.reshape(*lead, prod(a.shape[batch : batch + rows]), inner)
        b = b.reshape(*lead, inner, prod(b.shape[batch + summed :]))
        out = blas.matmul(a, b).reshape(shape)
    return out if order == tuple(range(out.ndim)) else contiguous(out.transpose(order))


def _swapped(equation: str, wanted: int) -> str:
    """Return the equation of the gradient of operand 0 or 1: the result's labels with the other operand's, to its
    own.
    """
    left, _, target = equation.partition("->")
    operands = left.split(",")
    return f"{target},{operands[1 - wanted]}->{operands[wanted]}"


_einsum_pair = op("einsum_pair", _pair, kind=GENERAL, public=False, method=False, jvp=BILINEAR, node="EinsumBackward0",
    torch_name="-",
   vjp=dict(x=lambda g, y, equation: use("einsum_pair")(g, y.conj(), _swapped(equation, 0)),
            y=lambda g, x, equation: use("einsum_pair")(g, x.conj(), _swapped(equation, 1))),
   samples=(sample(real(3, 4), real(4, 2), "ab,bc->ac"), sample(real(3), real(2), "a,b->ba"),
       sample(real(2, 3), real(2, 3), "ab,ab->a"),
            sample(real(2, 3), real(3, 2), "ab,ba->"), sample(real(2, 3, 4), real(4, 2, 5), "abc,cad->dab"),
            sample(real(), real(2), ",a->a"),
            sample(real(2, 3), real(2), "ab,a->ab"), sample(real(2, 0), real(0, 3), "ab,bc->ca")),
   doc="""The product of two tensors, summed over the labels that the result does not have.""")  # fmt: skip


@lru_cache(maxsize=1024)
def _einsum_labels(equation: str, ndims: tuple[int, ...]) -> tuple[list[str], str]:
    """Return the operands' and the result's labels: the ellipsis expanded, the result's inferred if it is not given."""
    text = equation.replace(" ", "")
    left, arrow, target = text.partition("->")
    operands = left.split(",")
    if len(operands) != len(ndims):
        raise RuntimeError(
            f"einsum(): the equation {equation!r} has {len(operands)} operands, but {len(ndims)} tensors were given"
        )
    used = set(text)
    spare = [c for c in _LETTERS if c not in used]
    widths = []
    for i, (labels, ndim) in enumerate(zip(operands, ndims, strict=True)):
        named = labels.replace("...", "", 1)
        for c in named:
            if c not in _LETTERS:
                raise RuntimeError(
                    f"einsum(): invalid subscript given at operand {i}: {c!r} in {equation!r}; subscripts are letters"
                )
        width = ndim - len(named)
        if width < 0 or (width and "..." not in labels):
            raise RuntimeError(
                f"einsum(): the number of subscripts in the equation ({len(named)}) does not match the number of"
                f" dimensions ({ndim})"
                f" of operand {i} in {equation!r}"
            )
        widths.append(width)
    widest = max((w for w, labels in zip(widths, operands, strict=True) if "..." in labels), default=0)
    if widest > len(spare):
        raise RuntimeError(f"einsum(): {equation!r} needs more than {len(_LETTERS)} labels")
    dots = "".join(spare[:widest])
    spelled = [labels.replace("...", dots[widest - w :]) for labels, w in zip(operands, widths, strict=True)]
    if not arrow:
        letters = "".join(operands).replace(".", "")
        target = "..." * ("..." in left) + "".join(sorted(c for c in set(letters) if letters.count(c) == 1))
    target = target.replace("...", dots, 1)
    known = set("".join(spelled))
    for c in target:
        if c not in known:
            raise RuntimeError(
                f"einsum(): output subscript {c!r} does not appear in the equation for any input operand: {equation!r}"
            )
        if target.count(c) > 1:
            raise RuntimeError(f"einsum(): output subscript {c!r} appears more than once in the output of {equation!r}")
    return spelled, target


def _einsum_sizes(equation: str, operands: list, labels: list[str]) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for i, (tensor, names) in enumerate(zip(operands, labels, strict=True)):
        for c, n in zip(names, tensor._array.shape, strict=True):
            if sizes.setdefault(c, n) != n:
                if 1 not in (n, sizes[c]):
                    raise RuntimeError(
                        f"einsum(): subscript {c!r} has size {n} for operand {i} which does not broadcast with"
                        f" previously seen size {sizes[c]} in {equation!r}"
                    )
                sizes[c] = max(n, sizes[c]) if n and sizes[c] else 0
    return sizes


def _simplified(tensor: Any, labels: str, keep: set, sizes: dict[str, int]) -> tuple[Any, str]:
    """Return an operand with each label once (diagonals taken), without labels that no other operand has (summed), at
    full size.
    """
    shape = tensor._array.shape
    if any(n != sizes[c] for c, n in zip(labels, shape, strict=True)):
        tensor = tensor.expand(tuple(sizes[c] for c in labels))
    while len(set(labels)) < len(labels):
        c = next(c for c in labels if labels.count(c) > 1)
        i = labels.index(c)
        j = labels.index(c, i + 1)
        tensor = FUNCTIONS["diagonal"](tensor, 0, i, j)
        labels = labels[:i] + labels[i + 1 : j] + labels[j + 1 :] + c
    alone = tuple(i for i, c in enumerate(labels) if c not in keep)
    if alone:
        tensor = FUNCTIONS["sum"](tensor, alone)
        labels = "".join(c for c in labels if c in keep)
    return tensor, labels


@lru_cache(maxsize=1024)
def _einsum_path(labels: tuple[str, ...], target: str, sizes: tuple) -> list:
    """Return the order in which to contract more than two operands."""
    size = dict(sizes)
    shapes = [np.broadcast_to(np.float32(0), tuple(size[c] for c in names)) for names in labels]
    return np.einsum_path(f"{','.join(labels)}->{target}", *shapes, optimize="greedy")[0][1:]


@composite("einsum", method=False, samples=(
    sample("ij,jk->ik", real(3, 4), real(4, 2)), sample("ij,jk", real(3, 4), real(4, 2)), sample("ii->i", real(3, 3)),
    sample("ii", real(3, 3)),
    sample("ij->ji", real(3, 4)), sample("ij->", real(3, 4)), sample("i,i->i", real(3), real(3)),
    sample("i,j->ij", real(3), real(4)),
    sample("bij,bjk->bik", real(2, 3, 4), real(2, 4, 2)), sample("...ij,...jk->...ik", real(2, 3, 4), real(4, 2)),
    sample("...i->...", real(2, 3)),
    sample("ij,jk,kl->il", real(2, 3), real(3, 4), real(4, 2)),
    sample("ij,ik,il->jkl", real(2, 3), real(2, 2), real(2, 4)),
    sample("iij,jk->ki", real(3, 3, 2), real(2, 4)), sample("i,j->", real(3), real(4)),
    sample("ij,ij->ij", real(1, 4), real(3, 1)),
    sample("ba,ba->b", real(3, 4, layout="F"), real(3, 4)), sample("ij,jk->ik", real(0, 4), real(4, 2)),
    sample("iii->", real(3, 3, 3)),
    sample("bn,anm,bm->ba", real(2, 3), real(4, 3, 2), real(2, 2)), sample("i->", real(3)),
    sample(",i->i", real(), real(3)),
))  # fmt: skip
def einsum(equation: str, *operands: Any) -> Any:
    """Products of tensors summed over named dimensions, in Einstein's notation.

    Examples
    --------
    >>> import dualtape as dt
    >>> a = dt.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> dt.einsum("ij,jk->ik", a, a)
    tensor([[ 7., 10.],
            [15., 22.]])
    >>> dt.einsum("ii", a)
    tensor(5.)
    """
    if not isinstance(equation, str):
        equation, operands = _from_sublists(equation, operands)
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = tuple(operands[0])
    if not operands:
        raise RuntimeError("einsum(): must provide at least one operand")
    tensors = [as_tensor("einsum", f"operands[{i}]", t) for i, t in enumerate(operands)]
    labels, target = _einsum_labels(equation, tuple(t._array.ndim for t in tensors))
    labels = list(labels)
    if any(t._array.dtype != tensors[0]._array.dtype for t in tensors):
        if not {*target}.issuperset("".join(labels)):  # a sum of products, as mm's are; products alone are as mul's
            for tensor in tensors[1:]:
                same_dtype("einsum", tensors[0]._array, tensor._array)
        common = dtypes.of(reduce(dtypes.promote_numpy, [t._array.dtype for t in tensors]))
        tensors = [t.to(common) for t in tensors]
    sizes = _einsum_sizes(equation, tensors, labels)
    for i, names in enumerate(labels):
        keep = {*target}.union(*(labels[:i] + labels[i + 1 :]))
        tensors[i], labels[i] = _simplified(tensors[i], names, keep, sizes)
    if len(tensors) > 2:
        path = _einsum_path(tuple(labels), target, tuple(sizes.items()))
    else:
        path = [(0, 1)] * (len(tensors) - 1)
    for group in path:
        while len(group) > 1:  # the path may put several together
            j, i = sorted(group[:2], reverse=True)
            y, b = tensors.pop(j), labels.pop(j)
            x, a = tensors.pop(i), labels.pop(i)
            keep = {*target}.union(*labels)
            x, a = _simplified(x, a, keep | set(b), sizes)
            y, b = _simplified(y, b, keep | set(a), sizes)
            if not labels:
                result = target
            else:
                result = "".join(c for c in dict.fromkeys(a + b) if c in keep)
            tensors.append(_einsum_pair(x, y, f"{a},{b}->{result}"))
            labels.append(result)
            rest = [k - (k > i) - (k > j) for k in group[2:]]
            group = [*rest, len(tensors) - 1] if rest else ()
    order = tuple(labels[0].index(c) for c in target)
    return (
        tensors[0] if order == tuple(range(len(order))) and tensors[0] is not operands[0] else tensors[0].permute(order)
    )


def _from_sublists(first: Any, rest: tuple) -> tuple[str, tuple]:
    """Return ``einsum(x, [0, 1], y, [1, 2], [0, 2])`` in the form with an equation."""
    everything = [first, *rest]

    def letters(labels: Sequence) -> str:
        return "".join("..." if c is Ellipsis else _LETTERS[c] for c in labels)

    target = f"->{letters(everything.pop())}" if len(everything) % 2 else ""
    return ",".join(letters(labels) for labels in everything[1::2]) + target, tuple(everything[::2])


# --- contraction by axis --------------------------------------------------------------------------


@composite("tensordot", method=False, samples=(
    sample(real(3, 4), real(4, 2), 1), sample(real(2, 3, 4), real(3, 4, 2)), sample(real(2, 3), real(4, 2), ([0], [1])),
    sample(real(3), real(4), 0),
    sample(real(2, 3, 4), real(4, 3, 2), ([1, 2], [1, 0])), sample(real(3, 4), real(3, 4), 2),
))  # fmt: skip
def tensordot(a: Any, b: Any, dims: Any = 2, *, axes: Any = None) -> Any:
    """The product of two tensors summed over the last ``dims`` of one and the first of the other, or over the
    dimensions listed; ``axes`` is NumPy's name for them.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.tensordot(dt.ones(2, 3), dt.ones(3, 4), 1).shape
    dualtape.Size([2, 4])
    """
    a, b = as_tensor("tensordot", "a", a), as_tensor("tensordot", "b", b)
    dims = dims if axes is None else axes
    if isinstance(dims, Tensor):
        dims = dims.tolist()
    if is_whole(dims):
        dims = index(dims)
        if dims < 0 or dims > min(a.ndim, b.ndim):
            raise RuntimeError(f"tensordot expects dims >= 0 and at most the number of dimensions, but got dims={dims}")
        dims = (range(a.ndim - dims, a.ndim), range(dims))
    left, right = ([index(d)] if is_whole(d) else list(d) for d in dims)
    if len(left) != len(right):
        raise RuntimeError(f"tensordot: both dimension lists should have same length, got {left} and {right}")
    left, right = [normal_dim(d, a.ndim) for d in left], [normal_dim(d, b.ndim) for d in right]
    for i, j in zip(left, right, strict=True):
        if a.shape[i] == 1 != b.shape[j]:
            b = b.sum(j, keepdim=True)
        elif b.shape[j] == 1 != a.shape[i]:
            a = a.sum(i, keepdim=True)
        elif a.shape[i] != b.shape[j]:
            raise RuntimeError(
                f"contracted dimensions need to match, but first has size {a.shape[i]} in dim {i} and second has size"
                f" {b.shape[j]} in dim {j}"
            )
    rows, columns = [i for i in range(a.ndim) if i not in left], [j for j in range(b.ndim) if j not in right]
    inner = prod(a.shape[i] for i in left)
    shape = (*(a.shape[i] for i in rows), *(b.shape[j] for j in columns))
    first = a.permute((*rows, *left)).reshape(prod(a.shape[i] for i in rows), inner)
    second = b.permute((*right, *columns)).reshape(inner, prod(b.shape[j] for j in columns))
    return mm(first, second).reshape(shape)


@composite(
    "inner",
    samples=(
        sample(real(4), real(4)),
        sample(real(2, 3), real(4, 3)),
        sample(real(2, 3), real(3)),
        sample(real(), real(3)),
    ),
)
def inner(input: Any, other: Any) -> Any:
    """The sums of products over the last dimension of both.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.inner(dt.tensor([1.0, 2.0]), dt.tensor([3.0, 4.0]))
    tensor(11.)
    """
    if 0 in (input.ndim, other.ndim):
        return input * other
    if input.shape[-1] != other.shape[-1]:
        raise mismatch("inner", "the last dimension must match on both input tensors", input, other)
    return dot(input, other) if input.ndim == other.ndim == 1 else tensordot(input, other, ([-1], [-1]))


@composite(
    "kron",
    samples=(
        sample(real(2, 3), real(4, 2)),
        sample(real(2), real(3)),
        sample(real(2, 2), real(3)),
        sample(real(), real(2)),
    ),
)
def kron(input: Any, other: Any) -> Any:
    """The Kronecker product: each entry of the one times the whole other.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.kron(dt.tensor([1.0, 2.0]), dt.tensor([1.0, 10.0]))
    tensor([ 1., 10.,  2., 20.])
    """
    ndim = max(input.ndim, other.ndim)
    a = (1,) * (ndim - input.ndim) + tuple(input.shape)
    b = (1,) * (ndim - other.ndim) + tuple(other.shape)
    first = input.reshape(tuple(n for size in a for n in (size, 1)))
    second = other.reshape(tuple(n for size in b for n in (1, size)))
    return TABLE["unsafe_view"].function(first * second, tuple(m * n for m, n in zip(a, b, strict=True)))


# --- the vector product ---------------------------------------------------------------------------


_NEXT, _LAST = np.array([1, 2, 0]), np.array([2, 0, 1])  # for each axis of space, the next and the one after that
# Up to so many numbers, a few products of whole arrays are faster than many of their parts.
_SMALL = 3000


def _cross(x: Any, y: Any, dim: int = -1) -> Any:
    if x.ndim != y.ndim:
        raise RuntimeError(f"linalg.cross: inputs must have the same number of dimensions, got {x.ndim} and {y.ndim}")
    d = normal_dim(dim, x.ndim)
    if x.ndim == 0 or x.shape[d] != 3 or y.shape[d] != 3:
        raise mismatch("linalg.cross", f"inputs dimension {dim} must have length 3", x, y)
    if type(x) is type(y) is np.ndarray and x.size <= _SMALL and y.size <= _SMALL:
        return x.take(_NEXT, d) * y.take(_LAST, d) - x.take(_LAST, d) * y.take(_NEXT, d)
    x, y = np.moveaxis(x, d, 0), np.moveaxis(y, d, 0)
    (a, b, c), (u, v, w) = x, y
    return np.stack([b * w - c * v, c * u - a * w, a * v - b * u], d)


linalg_cross = op("linalg_cross", _cross, namespace="linalg", kind=GENERAL, keywords=("dim",), jvp=BILINEAR,
   vjp=dict(x=lambda g, y, dim: use("linalg_cross")(y.conj(), g, dim), y=lambda g, x,
       dim: use("linalg_cross")(g, x.conj(), dim)),
   numpy_vjp=dict(x=lambda g, y, dim: _cross(y.conj(), g, dim), y=lambda g, x, dim: _cross(g, x.conj(), dim)),
   samples=(sample(real(2, 3), real(2, 3)), sample(real(3, 2), real(3, 2), dim=0), sample(real(3), real(3)),
       sample(real(4, 3), real(1, 3))),
   doc="""The vector product along a dimension of size 3.

   >>> import dualtape as dt
   >>> dt.linalg.cross(dt.tensor([1.0, 0.0, 0.0]), dt.tensor([0.0, 1.0, 0.0]))
   tensor([0., 0., 1.])
   """)  # fmt: skip


@composite(
    "cross", samples=(sample(real(2, 3), real(2, 3), dim=1), sample(real(3, 2), real(3, 2)), sample(real(3), real(3)))
)
def cross(input: Any, other: Any, dim: int | None = None) -> Any:
    """The vector product along a dimension of size 3; without ``dim``, along the first such.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.cross(dt.tensor([1.0, 0.0, 0.0]), dt.tensor([0.0, 1.0, 0.0]), dim=0)
    tensor([0., 0., 1.])
    """
    if dim is None:
        dim = next((d for d, n in enumerate(input.shape) if n == 3), None)
        if dim is None:
            raise RuntimeError(f"cross: no dimension of size 3 in input of shape {list(input.shape)}")
        warn(
            f"Using cross without specifying the dim arg is deprecated: it is the first of size 3, here {dim}; pass it, or"
            " use linalg.cross, which takes the last dimension"
        )
    return linalg_cross(input, other, dim)


# --- products of many -----------------------------------------------------------------------------


def _best_order(sizes: list[int]) -> list[list[int]]:
    """Return where to split each run of matrices (i to j) for the fewest multiplications."""
    n = len(sizes) - 1
    cost = [[0] * n for _ in range(n)]
    split = [[0] * n for _ in range(n)]
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            costs = [cost[i][k] + cost[k + 1][j] + sizes[i] * sizes[k + 1] * sizes[j + 1] for k in range(i, j)]
            cost[i][j] = min(costs)
            split[i][j] = i + costs.index(cost[i][j])
    return split


def _product(tensors: list, split: list[list[int]], i: int, j: int) -> Any:
    if i == j:
        return tensors[i]
    k = split[i][j]
    return mm(_product(tensors, split, i, k), _product(tensors, split, k + 1, j))


@composite("linalg_multi_dot", namespace="linalg", samples=(
    sample([real(2, 3), real(3, 4)]), sample([real(2, 3), real(3, 4), real(4, 2), real(2, 5)]),
    sample([real(3), real(3, 4), real(4)]),
    sample([real(2, 3), real(3, 1), real(1)]),
))  # fmt: skip
def multi_dot(tensors: Sequence) -> Any:
    """The product of two or more matrices, in the order that multiplies least; the first and the last may be vectors.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.linalg.multi_dot([dt.ones(2, 3), dt.ones(3, 4), dt.ones(4, 1)]).shape
    dualtape.Size([2, 1])
    """
    parts = [as_tensor("multi_dot", f"tensors[{i}]", t) for i, t in enumerate(tensors)]
    if len(parts) < 2:
        raise RuntimeError(f"multi_dot(): expected at least 2 tensors but got {len(parts)}")
    shape: tuple = ()
    if parts[0].ndim == 1:
        parts[0] = parts[0].unsqueeze(0)
    else:
        shape = (parts[0].shape[0],)
    if parts[-1].ndim == 1:
        parts[-1] = parts[-1].unsqueeze(-1)
    else:
        shape = (*shape, parts[-1].shape[-1])
    for i, part in enumerate(parts):
        if part.ndim != 2:
            raise RuntimeError(f"multi_dot(): tensor {i} must be 2D, but got {part.ndim}D")
    split = _best_order([parts[0].shape[0], *(part.shape[1] for part in parts)])
    return _product(parts, split, 0, len(parts) - 1).view(shape)


@composite("chain_matmul", method=False, samples=(sample(real(2, 3), real(3, 4), real(4, 2)),))
def chain_matmul(*matrices: Any) -> Any:
    """The product of matrices; see :func:`dualtape.linalg.multi_dot`.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.chain_matmul(dt.ones(2, 3), dt.ones(3, 1)).shape
    dualtape.Size([2, 1])
    """
    warn("chain_matmul is deprecated in favor of linalg.multi_dot, which takes a list of matrices")
    return matrices[0].clone() if len(matrices) == 1 else multi_dot(matrices)


@composite("addbmm", samples=(
    sample(real(3, 5), real(2, 3, 4), real(2, 4, 5)), sample(real(5), real(2, 3, 4), real(2, 4, 5), beta=2, alpha=0.5),
))  # fmt: skip
def addbmm(input: Any, batch1: Any, batch2: Any, *, beta: Any = 1, alpha: Any = 1, out: Any = None) -> Any:
    """beta * input + alpha * the sum of the products of the matrices of two batches.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.addbmm(dt.ones(1, 1), dt.ones(2, 1, 3), dt.ones(2, 3, 1))
    tensor([[7.]])
    """
    if batch1.ndim != 3 or batch2.ndim != 3:
        raise RuntimeError(f"addbmm: batch1 and batch2 must be 3D tensors, got {batch1.ndim}D and {batch2.ndim}D")
    (count, rows, inner), (other, height, columns) = batch1._array.shape, batch2._array.shape
    if count != other or inner != height:
        raise RuntimeError(
            f"addbmm: batch1 {list(batch1.shape)} and batch2 {list(batch2.shape)} must have same number of batches, and"
            " matrices that can be multiplied"
        )
    wide = batch1.transpose(0, 1).reshape(rows, count * inner)
    return FUNCTIONS["addmm"](input, wide, batch2.reshape(count * inner, columns), beta=beta, alpha=alpha, out=out)


publish_inplace(addbmm)
