"""Colouring: which columns (or rows) of a sparse matrix a single product can recover.

Columns of one colour have no row in common, so that the product with their sum shows every entry of each. In a
symmetric matrix each entry occurs twice, and it is enough that one of them can be read: that needs a star colouring,
and fewer colours. Both are greedy; the colours used by the neighbours of a vertex are the bits of one Python integer,
so that each nonzero is visited once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from .._typing import SparsePattern

__all__ = ["colour_columns", "star_colouring"]


def colour_columns(pattern: SparsePattern) -> np.ndarray:
    """Return colours of the columns of a sparse matrix: columns with a row in common have different ones.

    Parameters
    ----------
    pattern : sparse array
        Its stored entries are the nonzeros.

    Returns
    -------
    numpy.ndarray
        A colour for each column, from 0 up; -1 for columns without entries.

    Examples
    --------
    >>> import scipy.sparse
    >>> colour_columns(scipy.sparse.eye_array(4))
    array([0, 0, 0, 0])
    >>> colour_columns(scipy.sparse.diags_array([[1.0, 1, 1], [1.0, 1, 1, 1]], offsets=[-1, 0]))
    array([0, 1, 0, 1])
    """
    columns, rows = pattern.tocsc(), pattern.tocsr()
    lengths = np.diff(rows.indptr)
    least = int(lengths.max()) if lengths.size else 0  # the entries of one row need as many colours
    neighbours = np.zeros(columns.shape[1], np.int64)
    np.add.at(neighbours, rows.indices, np.repeat(lengths, lengths))
    return _best(columns.shape[1], least, neighbours, lambda order: _greedy_columns(columns, order))


def star_colouring(pattern: SparsePattern) -> np.ndarray:
    """Return colours of a symmetric matrix such that each entry can be read from one of its two positions in the
    compressed matrix.

    Neighbours differ; and two neighbours of a vertex share a colour only if it is higher than the vertex's own. So
    an entry can be read in the row of its end of higher colour.

    Parameters
    ----------
    pattern : sparse array
        Square and symmetric; its stored entries are the nonzeros.

    Returns
    -------
    numpy.ndarray
        A colour for each column, from 0 up; -1 for columns without entries.

    Examples
    --------
    >>> import numpy as np, scipy.sparse
    >>> arrow = np.eye(5); arrow[0] = arrow[:, 0] = 1
    >>> star_colouring(scipy.sparse.csr_array(arrow))
    array([0, 1, 1, 1, 1])
    """
    rows = pattern.tocsr()
    degrees = np.diff(rows.indptr)
    return _best(rows.shape[0], 0, degrees, lambda order: _greedy_star(rows, order))


def _best(count: int, least: int, degrees: np.ndarray, colour: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """Return the colouring with fewest colours among those of several orders."""
    best: np.ndarray | None = None
    for order in _orders(count, degrees):
        found = colour(order)
        if best is None or found.max(initial=-1) < best.max(initial=-1):
            best = found
        if best.max(initial=-1) + 1 <= max(least, 1):
            break
    assert best is not None
    return best


def _orders(count: int, degrees: np.ndarray) -> Iterator[np.ndarray]:
    """Yield orders to colour in: the given one for bands, else one with high degrees first."""
    natural = np.arange(count)
    busy = np.argsort(-degrees, kind="stable")
    if degrees.size and degrees.max() <= 4 * max(float(degrees.mean()), 1.0):
        yield natural
        if (degrees[1:] != degrees[:-1]).any():
            yield busy
    else:  # with a hub late in the order, all that surrounds it would need colours of their own
        yield busy


def _greedy_columns(columns: SparsePattern, order: np.ndarray) -> np.ndarray:
    starts, members = columns.indptr.tolist(), columns.indices.tolist()
    used = [0] * columns.shape[0]  # the colours in each row, as bits
    colours = [-1] * columns.shape[1]
    for column in order.tolist():
        rows = members[starts[column] : starts[column + 1]]
        if not rows:
            continue
        taken = 0
        for row in rows:
            taken |= used[row]
        bit = ~taken & (taken + 1)  # the lowest that is free
        for row in rows:
            used[row] |= bit
        colours[column] = bit.bit_length() - 1
    return np.array(colours, np.int64)


def _greedy_star(rows: SparsePattern, order: np.ndarray) -> np.ndarray:
    starts, members = rows.indptr.tolist(), rows.indices.tolist()
    around = [0] * rows.shape[0]  # the colours of each vertex's neighbours, as bits
    own = [0] * rows.shape[0]  # each vertex's colour, as a bit; 0: none yet
    for vertex in order.tolist():
        neighbours = members[starts[vertex] : starts[vertex + 1]]
        if not neighbours:
            continue
        taken = 0
        for other in neighbours:
            bit = own[other]
            # around a vertex with a colour, only higher ones may come twice; without one, none may
            taken |= bit | (around[other] & (bit - 1)) if bit else around[other] if other != vertex else 0
        bit = ~taken & (taken + 1)
        own[vertex] = bit
        for other in neighbours:
            if other != vertex:
                around[other] |= bit
    return np.array([bit.bit_length() - 1 for bit in own], np.int64)
