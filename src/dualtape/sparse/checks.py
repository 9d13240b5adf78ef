"""gradcheck of functions of sparse tensors: their values are perturbed."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from .._tensor.tensor import Tensor
from ..autograd.finite_differences import GradcheckError
from .compressed import CompressedTensor, compressed_of, to_layout
from .coo import SparseTensor, sparse_of
from .layouts import SparseLayout


def strided(func: Callable, inputs: Any, masked: bool) -> tuple[Callable, tuple]:
    """Return ``func`` and its arguments with dense tensors in place of sparse ones: all their elements, or, if
    ``masked``, the stored values.
    """
    given = inputs if isinstance(inputs, (tuple, list)) else (inputs,)
    ways = [_way(x, masked) if isinstance(x, SparseLayout) and x.requires_grad else (x, _itself) for x in given]

    def on_dense(*args: Any) -> Any:
        result = func(*[_observed(make(x)) for x, (_, make) in zip(args, ways, strict=True)])
        if isinstance(result, (tuple, list)):
            return type(result)(_dense(each) for each in result)
        return _dense(result)

    return on_dense, tuple(x for x, _ in ways)


def _observed(x: Any) -> Any:
    """A sparse input whose gradients, if they are sparse, must have its dimensions: values would not show it."""
    if isinstance(x, SparseTensor) and x.requires_grad:
        wanted = {"sparse_dim": x.sparse_dim(), "dense_dim": x.dense_dim()}

        def check(g: Any) -> None:
            for name, expected in wanted.items():
                found = getattr(g, name)() if isinstance(g, SparseTensor) else expected
                if found != expected:
                    raise GradcheckError(
                        f"grad is sparse tensor, but has incorrect {name} {found}, expected {expected}"
                    )

        x.register_hook(check)
    return x


def _itself(x: Any) -> Any:
    return x


def _dense(x: Any) -> Any:
    return x.to_dense() if isinstance(x, SparseLayout) else x


def _way(x: Any, masked: bool) -> tuple[Tensor, Callable]:
    """Return a dense leaf in place of a sparse one, and a function that converts it back."""
    if masked:
        x = x.detach()
        if isinstance(x, CompressedTensor):
            return _leaf(x.values()), lambda values: compressed_of(x._parts, values, x.shape, x._kind)
        x = x.coalesce()
        return _leaf(x.values()), lambda values: sparse_of(x._entries[0], values, x.shape, True)
    blocks = (x._blocksize() or None) if isinstance(x, CompressedTensor) else None
    kind, count = x.layout, x.sparse_dim()
    all_places = np.indices(tuple(x.shape[:count])).reshape(count, -1)

    def full(dense: Any) -> Any:
        entries: SparseTensor = sparse_of(all_places, dense.reshape(-1, *dense.shape[count:]), dense.shape, True)
        return to_layout(entries, kind, blocks)

    return _leaf(x.detach().to_dense()), full


def _leaf(x: Tensor) -> Tensor:
    return x.detach().clone().requires_grad_()


def as_sparse_gradcheck(gradcheck: Callable) -> Callable:
    """Return a gradcheck that takes sparse tensors, given one that does not: it sees dense ones in their place.

    Examples
    --------
    >>> import dualtape as dt
    >>> gradcheck = dt.sparse.as_sparse_gradcheck(dt.autograd.gradcheck)
    >>> x = dt.eye(2, dtype=dt.float64).to_sparse_coo().requires_grad_()
    >>> gradcheck(lambda x: x.to_sparse_csr(), x, masked=True)
    True
    """

    @wraps(gradcheck)
    def checked(func: Callable, inputs: Any, **options: Any) -> bool:
        return gradcheck(*strided(func, inputs, bool(options.pop("masked", False))), **options)

    return checked
