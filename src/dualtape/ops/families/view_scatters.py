"""Values written over a part of a tensor, out of place: the part is a view of it."""

from __future__ import annotations

from operator import index as integer
from typing import Any

import numpy as np

from ... import errors
from ...arrays.bfloat16_dtype import BFLOAT16, cast
from ...arrays.kernels.memory_order import copy_in_order
from ...autograd.views import disjoint
from ..formulas import use, zeros_like_shape
from ..samples import ours, real, sample
from ..table import GENERAL, LINEAR, TABLE, composite, op
from .diagonals import storage_start


def _over(name: str, x: Any, src: Any, part: str, *values: Any) -> Any:
    """Return a copy of x with ``src`` written over the view that the op ``part`` gives of it."""
    view = TABLE[part]
    out = copy_in_order(x)
    place = view.forward(out, *values)
    if place.shape != src.shape:
        raise RuntimeError(
            f"{name}: expected src to have a size equal to the slice of self. src size = {list(src.shape)}, slice"
            f" size = {list(place.shape)}"
        )
    if view.view == "overlapping" and type(place) is np.ndarray and not disjoint(place):
        raise errors.internal_overlap(name)
    place[...] = cast(src, x.dtype) if src.dtype is BFLOAT16 and x.dtype is not BFLOAT16 else src
    return out


op("select_scatter", lambda x, src, dim, index: _over("select_scatter", x, src, "select", dim, index), kind=GENERAL,
   jvp=LINEAR,
   vjp=dict(x=lambda g, src_shape, dim, index: use("select_scatter")(g, zeros_like_shape(src_shape, g), dim, index),
            src=lambda g, dim, index: use("select")(g, dim, index)),
   samples=(sample(real(3, 4), real(4), 0, 1), sample(real(3, 4), real(3), 1, -1), sample(real(2), real(), 0, 0)),
   doc="""The tensor with ``src`` as one entry along a dimension.

   >>> import dualtape as dt
   >>> dt.select_scatter(dt.zeros(2, 2), dt.ones(2), 0, 1)
   tensor([[0., 0.],
           [1., 1.]])
   """)  # fmt: skip
op("slice_scatter", lambda x, src, dim=0, start=None, end=None, step=1:
       _over("slice_scatter", x, src, "slice", dim, start, end, step), kind=GENERAL, jvp=LINEAR,
   vjp=dict(x=lambda g, src_shape, dim, start, end, step:
                use("slice_scatter")(g, zeros_like_shape(src_shape, g), dim, start, end, step),
            src=lambda g, dim, start, end, step: use("slice")(g, dim, start, end, step)),
   samples=(sample(real(3, 4), real(2, 4), 0, 1), sample(real(3, 4), real(3, 2), 1, 0, 4, 2),
            sample(real(3), real(0), 0, 2, 1), sample(real(3), real(3))),
   doc="""The tensor with ``src`` over a range along a dimension.

   >>> import dualtape as dt
   >>> dt.slice_scatter(dt.zeros(4), dt.ones(2), 0, 1, 3)
   tensor([0., 1., 1., 0.])
   """)  # fmt: skip
op("diagonal_scatter", lambda x, src, offset=0, dim1=0, dim2=1:
       _over("diagonal_scatter", x, src, "diagonal", offset, dim1, dim2), kind=GENERAL, jvp=LINEAR,
   vjp=dict(x=lambda g, src_shape, offset, dim1, dim2:
                use("diagonal_scatter")(g, zeros_like_shape(src_shape, g), offset, dim1, dim2),
            src=lambda g, offset, dim1, dim2: use("diagonal")(g, offset, dim1, dim2)),
   samples=(sample(real(3, 4), real(3)), sample(real(3, 4), real(2), 2), sample(real(2, 3, 4), real(2, 3), 0, 1, 2)),
   doc="""The tensor with ``src`` over its diagonal.

   >>> import dualtape as dt
   >>> dt.diagonal_scatter(dt.zeros(2, 2), dt.ones(2))
   tensor([[1., 0.],
           [0., 1.]])
   """)  # fmt: skip
_strided_scatter = op("strided_scatter", lambda x, src, size, stride, offset:
       _over("as_strided_scatter", x, src, "strided_view", size, stride, offset), kind=GENERAL, jvp=LINEAR,
   public=False, method=False, node="AsStridedScatterBackward0", torch_name="as_strided_scatter",
   vjp=dict(x=lambda g, src_shape, size, stride, offset:
                use("strided_scatter")(g, zeros_like_shape(src_shape, g), size, stride, offset),
            src=lambda g, size, stride, offset: use("strided_view")(g, size, stride, offset)),
   samples=(ours(real(3, 4), real(2, 2), (2, 2), (1, 4), 1), ours(real(6), real(3), (3,), (2,), 0)),
   doc="A copy with values over what a size, a stride and an offset show of it.")  # fmt: skip


@composite("as_strided_scatter", samples=(
    ours(real(3, 4), real(2, 2), (2, 2), (1, 4), 1), ours(real(6), real(3), (3,), (2,)),
))  # fmt: skip
def as_strided_scatter(input: Any, src: Any, size: Any, stride: Any, storage_offset: int | None = None) -> Any:
    """The tensor with ``src`` over what :func:`as_strided` shows of it.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.as_strided_scatter(dt.zeros(4), dt.ones(2), (2,), (2,))
    tensor([1., 0., 1., 0.])
    """
    start = storage_start(input)
    offset = 0 if storage_offset is None else integer(storage_offset) - start
    return _strided_scatter(input, src, tuple(map(integer, size)), tuple(map(integer, stride)), offset)
