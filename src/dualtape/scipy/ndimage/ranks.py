"""Extremes and ranks of windows, and the morphology of grey images: each result is one element of its window."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..._tensor.tensor import wrap
from ...arrays.lazy import scipy_ndimage as _ndimage
from .._arguments import plain
from .._like import like
from .._tensors import floating
from ._common import chosen, image, per_axis, windows

__all__ = [
    "black_tophat",
    "grey_closing",
    "grey_dilation",
    "grey_erosion",
    "grey_opening",
    "maximum_filter",
    "maximum_filter1d",
    "median_filter",
    "minimum_filter",
    "minimum_filter1d",
    "morphological_gradient",
    "morphological_laplace",
    "percentile_filter",
    "rank_filter",
    "white_tophat",
]


def _neighbours(
    x: Any, size: Any, footprint: Any, mode: Any, cval: Any, origin: Any, axes: Any, structure: Any = None
) -> Any:
    """Return the elements of each window, along the last axis; with ``structure``, plus its values."""
    axes = chosen(axes, x.ndim)
    if footprint is None:
        if size is None:
            raise RuntimeError("no footprint or filter size provided")
        footprint = np.ones(tuple(int(n) for n in per_axis(size, len(axes))), bool)
    footprint = np.asarray(plain(footprint)).astype(bool)
    if not footprint.any():
        raise ValueError("All-zero footprint is not supported.")
    seen = windows(x, axes, footprint.shape, per_axis(origin, len(axes)), mode, cval)
    inside = wrap(np.flatnonzero(footprint))
    found = seen.reshape(*x.shape, -1)[..., inside]
    return found if structure is None else found + floating(structure).reshape(-1)[inside]


def _index(where: np.ndarray) -> Any:
    return wrap(where[..., None])


def _extreme(elements: Any, largest: bool) -> Any:
    known = plain(elements)
    where = (np.argmax if largest else np.argmin)(known, axis=-1)
    return np.take_along_axis(elements, _index(where), axis=-1)[..., 0]


def _of_rank(elements: Any, rank: int) -> Any:
    where = np.argsort(plain(elements), axis=-1, kind="stable")[..., rank]
    return np.take_along_axis(elements, _index(where), axis=-1)[..., 0]


def _filter(name: str, choose: Callable, what: str) -> Callable:
    def filtered(
        input: Any,
        size: Any = None,
        footprint: Any = None,
        output: Any = None,
        mode: Any = "reflect",
        cval: Any = 0.0,
        origin: Any = 0,
        *,
        axes: Any = None,
    ) -> Any:
        return choose(_neighbours(image(input, output), size, footprint, mode, cval, origin, axes))

    filtered.__name__ = filtered.__qualname__ = name
    filtered.__doc__ = f"""The {what} of each window.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.ndimage.{name}(dt.tensor([2.0, 2.0, 2.0]), 3)
    tensor([2., 2., 2.])
    """
    return like(_ndimage)(filtered)


maximum_filter = _filter("maximum_filter", lambda e: _extreme(e, True), "largest element")
minimum_filter = _filter("minimum_filter", lambda e: _extreme(e, False), "smallest element")
median_filter = _filter("median_filter", lambda e: _of_rank(e, e.shape[-1] // 2), "median")


def _along(name: str, largest: bool) -> Callable:
    def filtered(
        input: Any,
        size: int,
        axis: int = -1,
        output: Any = None,
        mode: str = "reflect",
        cval: Any = 0.0,
        origin: int = 0,
    ) -> Any:
        return _extreme(_neighbours(image(input, output), [size], None, mode, cval, [origin], axis), largest)

    filtered.__name__ = filtered.__qualname__ = name
    filtered.__doc__ = f"""The {"largest" if largest else "smallest"} element of windows along one axis.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.ndimage.{name}(dt.tensor([2.0, 2.0, 2.0]), 3)
    tensor([2., 2., 2.])
    """
    return like(_ndimage)(filtered)


maximum_filter1d, minimum_filter1d = _along("maximum_filter1d", True), _along("minimum_filter1d", False)


@like(_ndimage)
def rank_filter(
    input: Any,
    rank: int,
    size: Any = None,
    footprint: Any = None,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Any:
    """The element of this rank of each window.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.ndimage.rank_filter(dt.tensor([1.0, 2.0, 4.0]), -1, 3)
    tensor([2., 4., 4.])
    """
    elements = _neighbours(image(input, output), size, footprint, mode, cval, origin, axes)
    if not -elements.shape[-1] <= rank < elements.shape[-1]:
        raise RuntimeError("rank not within filter footprint size")
    return _of_rank(elements, rank)


@like(_ndimage)
def percentile_filter(
    input: Any,
    percentile: float,
    size: Any = None,
    footprint: Any = None,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Any:
    """The element at this percentile of each window.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.ndimage.percentile_filter(dt.tensor([1.0, 2.0, 4.0]), 100, 3)
    tensor([2., 4., 4.])
    """
    elements = _neighbours(image(input, output), size, footprint, mode, cval, origin, axes)
    percentile = percentile + 100.0 if percentile < 0 else percentile
    count = elements.shape[-1]
    return _of_rank(elements, count - 1 if percentile == 100.0 else int(float(count) * percentile / 100.0))


# --- morphology -----------------------------------------------------------------------------------


def _shape_of(size: Any, footprint: Any, structure: Any, ndim: int) -> tuple[Any, Any]:
    """Return footprint and structure."""
    if structure is not None:
        structure = floating(structure)
        return (np.ones(tuple(structure.shape), bool) if footprint is None else footprint), structure
    if footprint is None and size is None:
        raise ValueError("size, footprint, or structure must be specified")
    if footprint is None:
        footprint = np.ones(tuple(int(n) for n in per_axis(size, ndim)), bool)
    return np.asarray(plain(footprint)).astype(bool), None


def _eroded(x: Any, shape: tuple, mode: Any, cval: Any, origin: Any, axes: Any) -> Any:
    footprint, structure = shape
    structure = None if structure is None else -structure
    return _extreme(_neighbours(x, None, footprint, mode, cval, origin, axes, structure), False)


def _dilated(x: Any, shape: tuple, mode: Any, cval: Any, origin: Any, axes: Any) -> Any:
    footprint, structure = shape
    footprint = np.flip(footprint)
    structure = None if structure is None else np.flip(structure)
    origins = [-o - (0 if n % 2 else 1) for n, o in zip(footprint.shape, per_axis(origin, footprint.ndim), strict=True)]
    return _extreme(_neighbours(x, None, footprint, mode, cval, origins, axes, structure), True)


def _opened(x: Any, *how: Any) -> Any:
    return _dilated(_eroded(x, *how), *how)


def _closed(x: Any, *how: Any) -> Any:
    return _eroded(_dilated(x, *how), *how)


def _morphology(name: str, compute: Callable, what: str) -> Callable:
    def transformed(
        input: Any,
        size: Any = None,
        footprint: Any = None,
        structure: Any = None,
        output: Any = None,
        mode: Any = "reflect",
        cval: Any = 0.0,
        origin: Any = 0,
        *,
        axes: Any = None,
    ) -> Any:
        x = image(input, output)
        shape = _shape_of(size, footprint, structure, len(chosen(axes, x.ndim)))
        return compute(x, shape, mode, cval, origin, axes)

    transformed.__name__ = transformed.__qualname__ = name
    transformed.__doc__ = f"""{what} of a grey image.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.ndimage.{name}(dt.tensor([1.0, 2.0, 4.0]), 3).shape
    dualtape.Size([3])
    """
    return like(_ndimage)(transformed)


grey_erosion = _morphology("grey_erosion", _eroded, "The erosion")
grey_dilation = _morphology("grey_dilation", _dilated, "The dilation")
grey_opening = _morphology("grey_opening", _opened, "The opening")
grey_closing = _morphology("grey_closing", _closed, "The closing")
morphological_gradient = _morphology(
    "morphological_gradient", lambda x, *how: _dilated(x, *how) - _eroded(x, *how), "The morphological gradient"
)
morphological_laplace = _morphology(
    "morphological_laplace",
    lambda x, *how: _dilated(x, *how) + _eroded(x, *how) - 2 * x,
    "The morphological Laplace operator",
)
white_tophat = _morphology("white_tophat", lambda x, *how: x - _opened(x, *how), "What the opening removes")
black_tophat = _morphology("black_tophat", lambda x, *how: _closed(x, *how) - x, "What the closing adds")
