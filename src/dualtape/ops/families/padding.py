"""Padding: constants, reflections, copies of the edge, or the other side around a tensor."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._tensor import dtypes
from ..._tensor.tensor import raw
from ...arrays.kernels.basics import add_at, asarray_like
from ...arrays.kernels.memory_order import keeps_channels_last
from ..formulas import use, zeros_like_shape
from ..samples import real, sample
from ..table import GENERAL, LINEAR, composite, op


def _sides(pad: Any, ndim: int) -> list[tuple[int, int]]:
    """Return, for each dimension, the padding before and after: PyTorch lists pairs from the last dimension to the
    first.
    """
    pairs = [(int(pad[i]), int(pad[i + 1])) for i in range(0, len(pad), 2)]
    return [(0, 0)] * (ndim - len(pairs)) + pairs[::-1]


def _constant_pad(x: Any, pad: Any, value: float = 0) -> Any:
    if len(pad) % 2 or len(pad) > 2 * x.ndim:
        raise RuntimeError(
            f"pad: length of pad should be even and no more than twice the number of dimensions ({x.ndim}), got"
            f" {list(pad)}"
        )
    sides = _sides(pad, x.ndim)
    shape = tuple(n + a + b for n, (a, b) in zip(x.shape, sides, strict=True))
    if min(shape, default=0) < 0:
        raise RuntimeError(
            f"pad: the input size {list(x.shape)}, plus padding {list(pad)}, resulted in a negative output size"
            f" {list(shape)}"
        )
    out = zeros_like_shape(shape, x)
    if value:
        out[...] = dtypes.number_as(value, x.dtype) if x.dtype.kind in "iu" else value
    target = tuple(slice(max(a, 0), max(n + a + min(b, 0), 0)) for n, (a, b) in zip(x.shape, sides, strict=True))
    source = tuple(slice(max(-a, 0), max(n + min(b, 0), 0)) for n, (a, b) in zip(x.shape, sides, strict=True))
    out[target] = x[source]
    return out


_constant_pad_op = op("constant_pad_nd", _constant_pad, kind=GENERAL, method=False,
   vjp=dict(x=lambda g, pad: use("constant_pad_nd")(g, [-n for n in pad])),
   jvp=dict(x=lambda t, pad: use("constant_pad_nd")(t, pad)),
   samples=(sample(real(3, 4), (1, 2)), sample(real(3, 4), (1, 2, 0, 1), 5.0), sample(real(3, 4), (-1, 2, 1, -1)),
       sample(real(2, 0), (1, 1))),
   doc="""A tensor with a constant around it; negative widths cut off. Pairs (before, after) go from the last dimension
   to the first.

   >>> import dualtape as dt
   >>> dt.constant_pad_nd(dt.ones(2), (1, 2), 9.0)
   tensor([9., 1., 1., 9., 9.])
   """)  # fmt: skip

_TAKE_NODES = tuple(
    f"{kind}Pad{n}DBackward0" for kind in ("Reflection", "Replication", "Circular") for n in (1, 2, 3)
) + tuple(f"UpsampleNearest{n}DBackward0" for n in (1, 2, 3))


@keeps_channels_last
def _take_axes(x: Any, places: tuple, node: int) -> Any:
    for axis, index in places:
        x = np.take(x, asarray_like(raw(index), x), axis)
    return x


def _take_axes_sum(x: Any, shape: tuple, places: tuple) -> Any:
    for axis, index in reversed(places):
        out = zeros_like_shape((*x.shape[:axis], shape[axis], *x.shape[axis + 1 :]), x)
        add_at(out, (slice(None),) * axis + (asarray_like(raw(index), x),), x)
        x = out
    return x


take_axes = op("take_axes", _take_axes, kind=GENERAL, public=False, method=False, jvp=LINEAR, torch_name="-",
    node=_TAKE_NODES, variant=lambda x,
   places, node: node,
   vjp=dict(x=lambda g, x_shape, places: use("take_axes_sum")(g, x_shape, places)),
   samples=(sample(real(2, 3, 4), ((1, np.array([1, 0, 1, 2])), (2, np.array([0, 3, 3]))), 1),),
   doc="""Entries along several dimensions, by index.""")  # fmt: skip
op("take_axes_sum", _take_axes_sum, kind=GENERAL, public=False, method=False, jvp=LINEAR, torch_name="-",
    node="TakeAxesBackwardBackward0",
   vjp=dict(x=lambda g, places: use("take_axes")(g, places, 0)),
   samples=(sample(real(2, 4, 3), (2, 3, 4), ((1, np.array([1, 0, 1, 2])), (2, np.array([0, 3, 3])))),),
   doc="""Entries added back where they were taken.""")  # fmt: skip


def _around(n: int, before: int, after: int, mode: str) -> np.ndarray:
    """Return which of ``n`` entries is at each position of the padded dimension."""
    if mode == "reflect" and (before >= n or after >= n):
        raise RuntimeError(
            f"pad: padding size should be less than the corresponding input dimension, but got padding ({before},"
            f" {after}) for size {n}"
        )
    if mode == "circular" and (before > n or after > n):
        raise RuntimeError(
            f"pad: padding value causes wrapping around more than once: ({before}, {after}) for size {n}"
        )
    if before + n + after > 2**60:  # near 2**63 NumPy makes an array without elements
        raise RuntimeError(f"pad: there is no memory for {before + n + after} elements")
    places = np.arange(-before, n + after)
    if mode == "replicate":
        return np.clip(places, 0, n - 1)
    if mode == "circular":
        return places % n
    last = n - 1
    return last - np.abs(last - np.abs(places))


@composite("pad", namespace="nn.functional", samples=(
    sample(real(3, 4), (1, 2)), sample(real(3, 4), (1, 2, 0, 1), value=5.0), sample(real(3, 4), (-1, 2)),
    sample(real(2, 3, 4), (1, 2), "reflect"),
    sample(real(2, 3, 4, 4), (1, 2, 2, 0), "reflect"), sample(real(2, 3, 4), (1, 2), "replicate"),
    sample(real(2, 3, 4, 4), (1, 2, 2, 3), "replicate"),
    sample(real(2, 3, 4), (1, 2), "circular"), sample(real(2, 3, 4, 4), (1, 2, 2, 3), "circular"),
    sample(real(3, 4), (1, 2), "reflect"),
))  # fmt: skip
def pad(input: Any, pad: Any, mode: str = "constant", value: float | None = None) -> Any:
    """A tensor with a border: constant, or of its own entries ("reflect", "replicate", "circular").

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.functional.pad(dt.tensor([[1.0, 2.0, 3.0]]), (2, 1), mode="reflect")
    tensor([[3., 2., 1., 2., 3., 2.]])
    """
    if mode == "constant":
        return _constant_pad_op(input, tuple(pad), 0 if value is None else value)
    kinds = ("reflect", "replicate", "circular")
    if mode not in kinds:
        raise NotImplementedError(
            f"pad: unrecognised padding mode {mode!r}; expected 'constant', {', '.join(map(repr, kinds))}"
        )
    dims = len(pad) // 2
    if len(pad) % 2 or dims not in (1, 2, 3) or input.ndim not in (dims + 1, dims + 2):
        raise NotImplementedError(
            f"pad: {mode} padding is for the last 1 to 3 dimensions of {dims + 1}D or {dims + 2}D input, got"
            f" {list(input.shape)} and {list(pad)}"
        )
    sides = _sides(pad, input.ndim)
    if any(n < 0 for side in sides for n in side):
        inner = [min(n, 0) for n in pad]
        input, sides = _constant_pad_op(input, inner), [(max(a, 0), max(b, 0)) for a, b in sides]
    places = tuple(
        (axis, _around(input.shape[axis], *sides[axis], mode)) for axis in range(input.ndim - dims, input.ndim)
    )
    return take_axes(input, places, kinds.index(mode) * 3 + dims - 1)
