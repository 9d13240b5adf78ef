"""Batching rules of products and of linear algebra: the same functions on the arrays inside, with a batch of matrices
in place of one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from .array import RULES, Batched, BatchLevel, per_sample
from .rules import CORE, front, mine, rule, wrapped

np: Any = numpy  # its stubs know nothing of other kinds of arrays

_WHOLE = slice(None)

# --- products -------------------------------------------------------------------------------------


def _matmul(level: BatchLevel, a: Any, b: Any, **kwargs: Any) -> Any:
    if not a.ndim or not b.ndim:
        raise ValueError("matmul: Input operand does not have enough dimensions")
    left, right = front(a, level), front(b, level)
    row, column = a.ndim == 1, b.ndim == 1
    # one matrix for all samples: their vectors are the rows of another
    if column and a.ndim == 2 and left.shape[0] == 1 and not kwargs:
        return Batched(np.matmul(right, left[0, ...].T), level)
    if row and b.ndim == 2 and right.shape[0] == 1 and not kwargs:
        return Batched(np.matmul(left, right[0, ...]), level)
    if row:
        left = left[:, None, :]
    if column:
        right = right[..., None]
    rank = max(left.ndim, right.ndim)
    left, right = (v[(_WHOLE, *(None,) * (rank - v.ndim))] for v in (left, right))
    result = np.matmul(left, right, **kwargs)
    if row:
        result = result[..., 0, :]
    if column:
        result = result[..., 0]
    return Batched(result, level)


CORE["matmul"] = _matmul
CORE["vecdot"] = lambda level, a, b: np.sum(np.conj(a) * b, axis=-1)


@rule(np.einsum)
def _einsum(level: BatchLevel, subscripts: Any, *operands: Any, **kwargs: Any) -> Any:
    kwargs.pop("out", None)
    if not isinstance(subscripts, str):
        return per_sample(np.einsum, level, (subscripts, *operands), kwargs, "numpy.einsum")
    text = subscripts.replace(" ", "")
    terms, arrow, result = text.partition("->")
    if not arrow:
        names = terms.replace(",", "").replace("...", "")
        result = ("..." if "..." in terms else "") + "".join(sorted(c for c in set(names) if names.count(c) == 1))
    fresh = next(c for c in "ZYXWVUTSRQPONMLKJIHGFEDCBAzyxwvutsrqponmlkjihgfedcba" if c not in text)
    parts, inner = [], []
    for term, operand in zip(terms.split(","), operands, strict=True):
        if mine(operand, level) and operand.values.shape[0] != 1:
            parts.append(fresh + term)
            inner.append(operand.values)
        else:  # the same for all samples
            parts.append(term)
            inner.append(operand.values[0, ...] if mine(operand, level) else operand)
    if not any(p.startswith(fresh) for p in parts):
        return Batched(np.einsum(f"{','.join(parts)}->{result}", *inner, **kwargs)[None], level)
    return Batched(np.einsum(f"{','.join(parts)}->{fresh}{result}", *inner, **kwargs), level)


@rule(np.tensordot)
def _tensordot(level: BatchLevel, a: Any, b: Any, axes: Any = 2) -> Any:
    if isinstance(axes, (int, np.integer)):
        left, right = list(range(a.ndim - int(axes), a.ndim)), list(range(int(axes)))
    else:
        left, right = ([*p] if hasattr(p, "__iter__") else [p] for p in axes)
    left, right = [d % a.ndim for d in left], [d % b.ndim for d in right]
    letters = iter("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVW")
    first = [next(letters) for _ in range(a.ndim)]
    second = [next(letters) for _ in range(b.ndim)]
    for d, e in zip(left, right, strict=True):
        if a.shape[d] != b.shape[e]:
            raise ValueError("shape-mismatch for sum")
        second[e] = first[d]
    kept = [c for d, c in enumerate(first) if d not in left] + [c for e, c in enumerate(second) if e not in right]
    return np.einsum(f"{''.join(first)},{''.join(second)}->{''.join(kept)}", a, b, optimize=True)


@rule(np.dot)
def _dot(level: BatchLevel, a: Any, b: Any, out: Any = None) -> Any:
    ranks = getattr(a, "ndim", 0), getattr(b, "ndim", 0)
    if not all(ranks):
        return np.multiply(a, b)
    if max(ranks) <= 2:
        return _matmul(level, a, b)
    return np.tensordot(a, b, ((a.ndim - 1,), (max(b.ndim - 2, 0),)))


RULES[np.inner] = lambda level, a, b: (
    np.multiply(a, b) if not np.ndim(a) or not np.ndim(b) else np.tensordot(a, b, ((a.ndim - 1,), (b.ndim - 1,)))
)
RULES[np.outer] = lambda level, a, b, out=None: np.multiply(np.ravel(a)[:, None], np.ravel(b))

# --- linear algebra -------------------------------------------------------------------------------


def _matrices(function: Callable) -> None:
    """Return the rule of a function of one matrix or many: NumPy's own functions allow further axes in front."""

    def answer(level: BatchLevel, a: Any, *args: Any, **kwargs: Any) -> Any:
        if a.ndim < 2:
            raise np.linalg.LinAlgError(f"{a.ndim}-dimensional array given. Array must be at least two-dimensional")
        return wrapped(function(front(a, level), *args, **kwargs), level)

    RULES[function] = answer


for _function in (
    np.linalg.inv,
    np.linalg.cholesky,
    np.linalg.det,
    np.linalg.slogdet,
    np.linalg.eigh,
    np.linalg.eigvalsh,
    np.linalg.eig,
    np.linalg.eigvals,
    np.linalg.svd,
    np.linalg.qr,
    np.linalg.pinv,
    np.linalg.matrix_power,
    np.linalg.matrix_rank,
):
    _matrices(_function)


@rule(np.linalg.solve)
def _solve(level: BatchLevel, a: Any, b: Any) -> Any:
    column = b.ndim == 1
    left, right = front(a, level), front(b, level)
    if column:
        right = right[..., None]
    rank = max(left.ndim, right.ndim)
    left, right = (v[(_WHOLE, *(None,) * (rank - v.ndim))] for v in (left, right))
    shape = np.broadcast_shapes(left.shape[:-2], right.shape[:-2])
    left, right = (np.broadcast_to(v, (*shape, *v.shape[-2:])) for v in (left, right))
    result = np.linalg.solve(left, right) if right.size else right.copy()  # CuPy divides by the size of a batch
    return Batched(result[..., 0] if column else result, level)
