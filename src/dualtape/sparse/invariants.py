"""Checks of the indices of sparse layouts: ``check_sparse_tensor_invariants``.

Indices outside a tensor are always refused; order and distinctness are checked on request.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

import numpy as np

from .._contextlib import decorate

_enabled: ContextVar[bool] = ContextVar("check_sparse_tensor_invariants", default=False)


class check_sparse_tensor_invariants:
    """Check that indices are in order and distinct whenever a sparse tensor is created: as a context, as a decorator,
    or from now on by :meth:`enable`.

    Examples
    --------
    >>> import dualtape as dt
    >>> with dt.sparse.check_sparse_tensor_invariants():
    ...     dt.sparse_csr_tensor([0, 2], [1, 0], [1.0, 2.0], (1, 2))
    Traceback (most recent call last):
    RuntimeError: the indices of each row of a sparse_csr tensor must be sorted and distinct, got [1, 0]
    """

    def __init__(self, enable: bool = True) -> None:
        self._state = bool(enable)
        self._before: list[bool] = []

    @staticmethod
    def is_enabled() -> bool:
        """Whether tensors that are made now are checked."""
        return _enabled.get()

    @staticmethod
    def enable() -> None:
        """Check from now on."""
        _enabled.set(True)

    @staticmethod
    def disable() -> None:
        """Check no more."""
        _enabled.set(False)

    def __enter__(self) -> None:
        self._before.append(_enabled.get())
        _enabled.set(self._state)

    def __exit__(self, *exception: object) -> None:
        _enabled.set(self._before.pop())

    def __call__(self, function: Callable) -> Callable:
        return decorate(lambda: type(self)(self._state), function)


def _wanted(check: bool | None) -> bool:
    return _enabled.get() if check is None else check


def check_coo(indices: np.ndarray, shape: tuple, coalesced: bool, check: bool | None) -> None:
    """Raise if indices are outside ``shape``; on request, also if they are said to be coalesced and are not."""
    for row, n in zip(indices, shape, strict=False):
        if row.size and (row.min() < 0 or row.max() >= n):
            raise RuntimeError(
                f"size is inconsistent with indices: an index of {row.min()} to {row.max()} where the size is {n}"
            )
    if coalesced and _wanted(check) and indices.shape[1] > 1:
        flat = np.ravel_multi_index(tuple(indices), shape[: indices.shape[0]]) if len(indices) else np.zeros(2)
        if (np.diff(flat) <= 0).any():
            raise RuntimeError(
                "cannot set is_coalesced to true if indices correspond to uncoalesced COO tensor: an index is there"
                " twice, or they are out of order"
            )


def check_compressed(name: str, compressed: np.ndarray, plain: np.ndarray, rows: int, width: int, check: Any) -> None:
    """Raise if the indices of a compressed layout do not fit ``rows`` of ``width``; on request, also if those of a row
    are not in order or not distinct.
    """
    if compressed.shape != (rows + 1,) or compressed[0] != 0 or compressed[-1] != plain.size:
        raise RuntimeError(
            f"the compressed indices of a {name} tensor of {rows} rows (columns) and {plain.size} entries must be"
            f" {rows + 1} numbers from 0 to {plain.size}, got {compressed.tolist()}"
        )
    # bounds before differences, which overflow for numbers that are far apart
    if compressed.min() < 0 or compressed.max() > plain.size or (np.diff(compressed) < 0).any():
        raise RuntimeError(f"the compressed indices of a {name} tensor must not fall, got {compressed.tolist()}")
    if plain.size and (plain.min() < 0 or plain.max() >= width):
        raise RuntimeError(
            f"the plain indices of a {name} tensor must be at least 0 and less than {width}, got {plain.min()} to"
            f" {plain.max()}"
        )
    if _wanted(check):
        rising = np.diff(plain) > 0
        rising[compressed[1:-1][(0 < compressed[1:-1]) & (compressed[1:-1] < plain.size)] - 1] = True
        if not rising.all():
            raise RuntimeError(
                f"the indices of each row of a {name} tensor must be sorted and distinct, got {plain.tolist()}"
            )
