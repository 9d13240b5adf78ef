"""Windows of a kernel that moves over images of any number of dimensions: gathered, and added back.

Windows are views where memory allows it, and copies where a product reads them. Whether they serve a convolution or a
pool does not matter here.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from ..protocol import zeros
from .basics import frozen, strided


def padded(x: Any, before: Sequence[int], after: Sequence[int], value: float = 0) -> Any:
    """Return ``x`` with the last dimensions extended on both sides by ``value``."""
    if not any(before) and not any(after):
        return x
    lead = x.ndim - len(before)
    sizes = x.shape[lead:]
    out = zeros((*x.shape[:lead], *[n + b + a for n, b, a in zip(sizes, before, after, strict=True)]), x.dtype, x)
    if value:
        out[...] = value
    out[(..., *[slice(b, b + n) for n, b in zip(sizes, before, strict=True)])] = x
    return out


def _windows(x: Any, kernel: Sequence[int], stride: Sequence[int], dilation: Sequence[int], out: Sequence[int]) -> Any:
    """Return a view of (lead..., kernel..., out...): the values under each kernel element."""
    dims = len(kernel)
    lead, steps = x.strides[: x.ndim - dims], x.strides[x.ndim - dims :]
    strides = (
        *lead,
        *[s * d for s, d in zip(steps, dilation, strict=True)],
        *[s * t for s, t in zip(steps, stride, strict=True)],
    )
    return strided(x, (*x.shape[: x.ndim - dims], *kernel, *out), strides)


KERNEL = 128  # kernel elements up to which their slices are cached


def places_of(kernel: tuple, stride: tuple, dilation: tuple, out: tuple) -> list[tuple]:
    """Return, for each element of a kernel, its index and the slices of the padded input under it."""
    return (_known_places if prod(kernel) <= KERNEL else _places)(kernel, stride, dilation, out)


def _places(kernel: tuple, stride: tuple, dilation: tuple, out: tuple) -> list[tuple]:
    return [
        (
            place,
            (
                ...,
                *(
                    slice(k * d, k * d + (n - 1) * s + 1, s)
                    for k, d, n, s in zip(place, dilation, out, stride, strict=True)
                ),
            ),
        )
        for place in np.ndindex(*kernel)
    ]


_known_places = lru_cache(maxsize=128)(_places)


@lru_cache(maxsize=64)
def _seen_places(sizes: tuple, kernel: tuple, stride: tuple, dilation: tuple, out: tuple) -> np.ndarray:
    """Return the values under all kernel elements, one element after the other, as flat indices into a small image of
    ``sizes``.
    """
    memory = np.arange(prod(sizes)).reshape(sizes)
    return frozen(np.concatenate([memory[where].reshape(-1) for _, where in _places(kernel, stride, dilation, out)]))


# Up to so many windows, all their entries are gathered, and added back, in one call.
_FEW = 256


def _out_sizes(
    sizes: Sequence[int],
    kernel: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    name: str,
) -> tuple[int, ...]:
    result = []
    for n, k, s, p, d in zip(sizes, kernel, stride, padding, dilation, strict=True):
        if n + 2 * p < d * (k - 1) + 1:
            raise RuntimeError(
                f"{name}: calculated padded input size per channel:"
                f" {[m + 2 * q for m, q in zip(sizes, padding, strict=True)]}. Kernel size:"
                f" {list(kernel)}. Kernel size can't be greater than actual input size"
            )
        result.append((n + 2 * p - d * (k - 1) - 1) // s + 1)
    return tuple(result)


def _columns(x: Any, kernel: tuple, stride: tuple, padding: tuple, dilation: tuple, out: tuple) -> Any:
    """Return (N, C, prod(kernel), prod(out)): the windows of a batch, a view if each is one element."""
    x = padded(x, padding, padding)
    shape = (*x.shape[:2], prod(kernel), prod(out))
    if prod(kernel) == 1 and x.shape[2:] == out:
        return x.reshape(shape)
    if type(x) is np.ndarray and x.shape[0] * x.shape[1] * shape[3] <= _FEW and shape[2] <= KERNEL and x.size:
        sizes = x.shape[2:]
        return x.reshape(-1, prod(sizes)).take(_seen_places(sizes, kernel, stride, dilation, out), 1).reshape(shape)
    return _windows(x, kernel, stride, dilation, out).reshape(shape)


def _batch_columns(x: Any, kernel: tuple, stride: tuple, padding: tuple, dilation: tuple, out: tuple) -> Any:
    """Return (C, kernel..., N, out...): the windows of a batch, with batch and positions last."""
    return np.moveaxis(_windows(padded(x, padding, padding), kernel, stride, dilation, out), 0, 1 + len(kernel))


def _from_columns(
    columns: Any, sizes: tuple, kernel: tuple, stride: tuple, padding: tuple, dilation: tuple, out: tuple
) -> Any:
    """Return the windows (lead..., prod(kernel), prod(out)) added back to the positions they came from."""
    lead = columns.shape[:-2]
    wide = tuple([n + 2 * p for n, p in zip(sizes, padding, strict=True)])
    full = zeros((*lead, *wide), columns.dtype, columns)
    count = columns.shape[-2]
    if type(columns) is np.ndarray and columns.size <= _FEW * count and count <= KERNEL and columns.size:
        starts = np.arange(0, full.size, prod(wide))[:, None]
        np.add.at(
            full.reshape(-1),
            (starts + _seen_places(wide, kernel, stride, dilation, out)).reshape(-1),
            columns.reshape(-1),
        )
    else:
        columns = columns.reshape(*lead, count, *out)
        for number, (_, where) in enumerate(places_of(kernel, stride, dilation, out)):
            full[where] += columns[:, :, number]
    return full[(..., *[slice(p, p + n) for n, p in zip(sizes, padding, strict=True)])] if any(padding) else full
