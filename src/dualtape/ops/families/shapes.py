"""Shapes: the views of a tensor that keep all its elements (reshaping, permuting, expanding), and copies; all linear.

Views of a part, or of several, are in ``parts``.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from math import prod
from typing import Any

import numpy as np

from ... import errors
from ..._tensor import dtypes
from ..._tensor.creation import check_rank
from ..._tensor.device import channels_last, channels_last_3d, contiguous_format, preserve_format
from ..._tensor.tensor import Tensor
from ...arrays.bfloat16_dtype import BFLOAT16
from ...arrays.kernels.basics import add_reduce, contiguous
from ...arrays.kernels.memory_order import channels_lie_last
from ...arrays.kernels.sums import sum_axis
from ..dispatch import FUNCTIONS
from ..formulas import normal_dim, normal_dims
from ..samples import real, sample
from ..table import GENERAL, LINEAR, composite, op


def resolve(shape: Any, size: int, name: str = "view") -> tuple[int, ...]:
    """Return ``shape`` with its -1 filled in; raise if it does not fit ``size`` elements."""
    sizes = tuple(int(n) for n in islice((shape,) if isinstance(shape, int) else shape, 65))
    if len(sizes) > 64:  # whoever gives it may have no end
        raise RuntimeError(f"{name}: a shape may have 64 dimensions at most")
    if sizes.count(-1) > 1:
        raise RuntimeError(f"{name}: only one dimension can be inferred, got shape {list(sizes)}")
    for n in sizes:
        if n < -1:
            raise RuntimeError(f"{name}: invalid shape dimension {n}")
    if -1 in sizes:
        rest = prod(n for n in sizes if n != -1)
        if rest == 0 or size % rest:
            why = " because the unspecified dimension size -1 can be any value and is ambiguous" if rest == 0 else ""
            if rest == 0 and size == 0:
                raise RuntimeError(f"{name}: cannot reshape tensor of 0 elements into shape {list(sizes)}{why}")
            raise RuntimeError(f"{name}: shape '{list(sizes)}' is invalid for input of size {size}")
        sizes = tuple(size // rest if n == -1 else n for n in sizes)
    if prod(sizes) != size:
        raise RuntimeError(f"{name}: shape '{list(sizes)}' is invalid for input of size {size}")
    return sizes


def _view(x: Any, shape: Any) -> Any:
    try:
        out = x.reshape(shape)
    except (ValueError, TypeError):
        out = x.reshape(resolve(shape, x.size))  # raises, in the right words
    if type(shape) is tuple and out.shape != shape and min(shape) < -1:
        resolve(shape, x.size)  # NumPy takes every negative size for -1
    if not x.flags.c_contiguous and x.size and not np.may_share_memory(out, x):
        raise RuntimeError(
            f"view size {list(out.shape)} is not compatible with input tensor's size and stride (at least one dimension"
            " spans across two"
            " contiguous subspaces). Use .reshape(...) instead."
        )
    return out


_UNVIEW = dict(x=lambda g, x_shape: g.reshape(x_shape))

_view_shape = op("view_shape", _view, kind=GENERAL, view=True, varargs="shape", node="ViewBackward0", jvp=LINEAR,
    vjp=_UNVIEW, public=False,
   method=False, torch_name="Tensor.view",
   samples=(sample(real(3, 4), (2, 6)), sample(real(3, 4), (-1,)), sample(real(), (1, 1)), sample(real(0, 3), (3, 0)),
       sample(real(1), ())),
   doc="""The same memory in another shape.""")  # fmt: skip
_reshape_alias = op("reshape_alias", _view, kind=GENERAL, view=True, varargs="shape", jvp=LINEAR, vjp=_UNVIEW,
    public=False, method=False,
   torch_name="reshape", samples=(sample(real(3, 4, layout="F"), (3, 4, 1)),), doc="""The same memory, which has
   gaps, in another shape.
   """)  # fmt: skip
_unsafe_view = op("unsafe_view", lambda x, shape: x.reshape(resolve(shape, x.size, "reshape")), kind=GENERAL,
    varargs="shape", node="UnsafeViewBackward0",
   jvp=LINEAR, vjp=_UNVIEW, public=False, method=False, samples=(sample(real(3, 4), (2, 6)),), torch_name="reshape",
   doc="""A fresh array in another shape, not a view.""")  # fmt: skip
op("alias", lambda x: x.view() if type(x) is np.ndarray else x[...], kind=GENERAL, view=True, jvp=LINEAR,
    vjp=dict(x=lambda g: g), public=False, method=False,
   samples=(sample(real(3)),), torch_name="-", doc="""The same memory, as a view.""")  # fmt: skip


def _clone(x: Any, memory_format: Any = None) -> Any:
    if memory_format is channels_last or memory_format is channels_last_3d:
        return _channels_last(x, "clone", memory_format)
    if memory_format is contiguous_format or type(x) is np.ndarray and x.flags.c_contiguous:
        return x.copy()
    strides = getattr(x, "strides", None)
    expanded = strides and any([not s and n > 1 for s, n in zip(strides, x.shape, strict=True)])
    return _expanded_copy(x) if expanded else x.copy(order="K")


def _expanded_copy(x: Any) -> Any:
    """Return a copy in the memory order of ``x``, without regard to axes along which it was expanded."""
    strides, order = x.strides, list(reversed(range(x.ndim)))  # the innermost first
    for start in range(1, x.ndim):
        place = start
        for at in reversed(range(start)):
            mine, other = strides[order[place]], strides[order[at]]
            if mine and other and mine > other:
                break
            if mine and other and mine < other:
                order[place], order[at] = order[at], order[place]
                place = at
    order.reverse()
    return x.transpose(tuple(order)).copy().transpose(tuple(sorted(range(x.ndim), key=order.__getitem__)))


def _channels_last(x: Any, name: str, memory_format: Any) -> Any:
    """Return a copy with the channels of an image or a volume innermost."""
    check_rank(name, x.ndim, memory_format)
    last = x.ndim - 1
    return x.transpose(0, *range(2, last + 1), 1).copy().transpose(0, last, *range(1, last))


op("clone", _clone, kind=GENERAL, keywords=("memory_format",), jvp=LINEAR,
   vjp=dict(x=lambda g: g), samples=(sample(real(3, 4)), sample(real()), sample(real(3, 4, layout="F"))),
   doc="""A copy in memory of its own.

   >>> import dualtape as dt
   >>> x = dt.ones(2)
   >>> y = dt.clone(x); y.add_(1); x
   tensor([2., 2.])
   tensor([1., 1.])
   """)  # fmt: skip


@composite("reshape", samples=(sample(real(3, 4), (2, 6)), sample(real(3, 4, layout="F"), (12,)), sample(real(3, 4, layout="F"), (-1, 2)),
                               sample(real(), (1,)), sample(real(0, 3), (0,))))  # fmt: skip
def reshape(input: Any, *shape: Any) -> Any:
    """The tensor in another shape: a view where the memory allows it, else a copy.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.arange(4).reshape(2, 2)
    tensor([[0, 1],
            [2, 3]])
    """
    if len(shape) == 1 and not isinstance(shape[0], (int, np.integer)):
        shape = tuple(shape[0])
    array = input._array
    if type(array) is np.ndarray and array.flags.c_contiguous and shape:  # most are viewed without further question
        if shape == (-1,):
            return _view_shape(input, (array.size,))
        smallest, count = min(shape), prod(shape)
        if smallest > 0 and count == array.size:
            return _view_shape(input, shape)
        if smallest == -1 and count < 0 and not array.size % count and shape.count(-1) == 1:
            return _view_shape(input, tuple([array.size // -count if n == -1 else n for n in shape]))
    sizes = resolve(shape, array.size, "reshape")
    without_memory = not hasattr(array, "reshape")  # of a tensor that its class computes with
    if array.size == 0 or without_memory or np.may_share_memory(array.reshape(sizes), array):
        return (_view_shape if array.size == 0 or array.flags.c_contiguous else _reshape_alias)(input, sizes)
    return _unsafe_view(FUNCTIONS["clone"](input), sizes)


def _permute(x: Any, dims: Any) -> Any:
    try:
        return x.transpose(dims)
    except (ValueError, TypeError):
        pass  # the checks below say what is wrong
    if len(dims) != x.ndim:
        raise RuntimeError(
            "permute: number of dimensions in the tensor input does not match the length of the desired ordering:"
            f" {x.ndim}"
            f" dimensions, ordering {list(dims)}"
        )
    axes = tuple(normal_dim(d, x.ndim) for d in dims)
    if len(set(axes)) != len(axes):
        raise RuntimeError(f"permute: duplicate dims are not allowed, got {list(dims)}")
    return x.transpose(axes)


def _inverse(dims: Any, ndim: int) -> tuple[int, ...]:
    axes = [d % ndim if ndim else 0 for d in dims]
    inverse = [0] * len(axes)
    for i, d in enumerate(axes):
        inverse[d] = i
    return tuple(inverse)


permute = op("permute", _permute, kind=GENERAL, view=True, varargs="dims", jvp=LINEAR,
    vjp=dict(x=lambda g, dims: np.transpose(g, _inverse(dims, len(dims)))),
   samples=(sample(real(2, 3, 4), (2, 0, 1)), sample(real(3, 4), (-1, 0)), sample(real(), ())),
   doc="""The dimensions in another order.

   >>> import dualtape as dt
   >>> dt.permute(dt.ones(2, 3, 4), (2, 0, 1)).shape
   dualtape.Size([4, 2, 3])
   """)  # fmt: skip


def _transpose(x: Any, dim0: int, dim1: int) -> Any:
    a, b = normal_dim(dim0, x.ndim), normal_dim(dim1, x.ndim)
    return x.swapaxes(a, b) if x.ndim else x[...]


transpose = op("transpose", _transpose, kind=GENERAL, view=True, node=("TransposeBackward0", "TransposeBackward1"), also=("swapaxes", "swapdims"), jvp=LINEAR,
    aliases={"axis0": "dim0", "axis1": "dim1"},
   vjp=dict(x=lambda g, dim0, dim1: np.swapaxes(g, dim0, dim1) if g.ndim else g),
   numpy_vjp=dict(x=lambda g, dim0, dim1: g.swapaxes(dim0, dim1) if g.ndim else g),
   samples=(sample(real(2, 3, 4), 0, 2), sample(real(3, 4), -1, -2), sample(real(), 0, -1)),
   doc="""Two dimensions exchanged.

   >>> import dualtape as dt
   >>> dt.transpose(dt.ones(2, 3), 0, 1).shape
   dualtape.Size([3, 2])
   """)  # fmt: skip


def _t(x: Any) -> Any:
    if x.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {x.ndim}D; use mT or transpose")
    return x.T


op("t", _t, kind=GENERAL, view=True, node=("TBackward0", "TBackward1"), jvp=LINEAR, vjp=dict(x=lambda g: np.transpose(g)), numpy_vjp=dict(x=lambda g: g.T),
   samples=(sample(real(3, 4)), sample(real(3)), sample(real())),
   doc="""The transpose of a matrix; vectors and scalars stay as they are.

   >>> import dualtape as dt
   >>> dt.t(dt.ones(2, 3)).shape
   dualtape.Size([3, 2])
   """)  # fmt: skip


def _squeeze(x: Any, dim: Any = None) -> Any:
    if dim is None and type(x) is np.ndarray:
        return x.view().squeeze()
    dims = range(x.ndim) if dim is None else normal_dims(dim, x.ndim) if dim != () else ()
    drop = {d for d in dims if x.ndim and x.shape[d] == 1}
    return x[tuple(0 if i in drop else slice(None) for i in range(x.ndim)) + (...,)]


op("squeeze", _squeeze, kind=GENERAL, view=True,
   node=tuple([f"SqueezeBackward{number}" for number in range(6)]),  # the last three in place
   variant=lambda x, dim: 0 if dim is None else 1 if isinstance(dim, int) else 2,
   jvp=LINEAR, vjp=_UNVIEW, samples=(sample(real(1, 3, 1)), sample(real(1, 3, 1), 0), sample(real(1, 3, 1), 1), sample(real(1, 3, 1), (0, -1)), sample(real())),
   doc="""The tensor without its dimensions of size 1, or without those named.

   >>> import dualtape as dt
   >>> dt.squeeze(dt.ones(1, 3, 1)).shape
   dualtape.Size([3])
   """)  # fmt: skip


def _unsqueeze(x: Any, dim: int) -> Any:
    d = normal_dim(dim, x.ndim + 1)
    return x[(slice(None),) * d + (None,)]


unsqueeze = op("unsqueeze", _unsqueeze, kind=GENERAL, view=True, node=("UnsqueezeBackward0", "UnsqueezeBackward1"), jvp=LINEAR,
    vjp=dict(x=lambda g, dim: np.squeeze(g, dim)),
   samples=(sample(real(3, 4), 0), sample(real(3, 4), -1), sample(real(), 0)),
   doc="""The tensor with a new dimension of size 1.

   >>> import dualtape as dt
   >>> dt.unsqueeze(dt.ones(3), 0).shape
   dualtape.Size([1, 3])
   """)  # fmt: skip


def _expand(x: Any, size: Any) -> Any:
    lead = len(size) - x.ndim
    if lead < 0:
        raise RuntimeError(
            f"expand: the number of sizes provided ({len(size)}) must be greater or equal to the number of dimensions"
            " in the tensor"
            f" ({x.ndim})"
        )
    shape: list[Any] = []
    for i, n in enumerate(size):
        old = x.shape[i - lead] if i >= lead else None
        if n == -1 and old is None:
            raise RuntimeError(
                f"expand: the expanded size of the tensor (-1) isn't allowed in a leading, non-existing dimension {i}"
            )
        if old is not None and n != -1 and old not in (1, n):
            raise RuntimeError(
                f"The expanded size of the tensor ({n}) must match the existing size ({old}) at non-singleton dimension"
                f" {i}. Target"
                f" sizes: {list(size)}. Tensor sizes: {list(x.shape)}"
            )
        shape.append(old if n == -1 else n)
    if type(x) is np.ndarray:
        steps = [
            0 if i < lead or (x.shape[i - lead] == 1 and n != 1) else x.strides[i - lead] for i, n in enumerate(shape)
        ]
        if x.flags.c_contiguous and x.size:
            return np.ndarray(shape, x.dtype, x, 0, steps)  # what as_strided comes to, at a tenth of its cost
        return np.lib.stride_tricks.as_strided(x, shape, steps)
    return np.broadcast_to(x, tuple(shape))


expand = op("expand", _expand, kind=GENERAL, view="overlapping", varargs="size", jvp=LINEAR,
    vjp=dict(x=lambda g, x_shape: _shrink(g, x_shape)), public=False,
   numpy_vjp=dict(x=lambda g, x_shape: sum_axis(g, 0) if x_shape and g.shape[1:] == x_shape else _shrink(g, x_shape)),
   torch_name="Tensor.expand",
   samples=(sample(real(3, 1), (3, 4)), sample(real(3), (2, -1)), sample(real(), (2, 3)), sample(real(1), (0,))),
   doc="""Dimensions of size 1 repeated without copying.

   >>> import dualtape as dt
   >>> dt.ones(3, 1).expand(3, 4).shape
   dualtape.Size([3, 4])
   """)  # fmt: skip


def _shrink(g: Any, shape: tuple) -> Any:
    lead = len(g.shape) - len(shape)
    axes = tuple(i for i, n in enumerate(g.shape) if i < lead or (shape[i - lead] == 1 and n != 1))
    return add_reduce(g, axis=axes, keepdims=True).reshape(shape) if axes else g.reshape(shape)


@composite("broadcast_to", samples=(sample(real(3, 1), (3, 4)), sample(real(), (2,))))
def broadcast_to(input: Any, *size: Any) -> Any:
    """The tensor broadcast to a shape, without copying.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.broadcast_to(dt.ones(3), (2, 3)).shape
    dualtape.Size([2, 3])
    """
    return expand(input, *size)


# --- names for common reshapings ------------------------------------------------------------------


@composite(
    "flatten", samples=(sample(real(2, 3, 4)), sample(real(2, 3, 4), 1), sample(real(2, 3, 4), 0, 1), sample(real()))
)
def flatten(input: Any, start_dim: int = 0, end_dim: int = -1) -> Any:
    """A range of dimensions made one.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.flatten(dt.ones(2, 3)).shape
    dualtape.Size([6])
    """
    shape = input._array.shape
    if start_dim == 0 and end_dim == -1 and len(shape) > 1:
        return reshape(input, input._array.size)
    first, last = normal_dim(start_dim, len(shape)), normal_dim(end_dim, len(shape))
    if first > last:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if not shape:
        return input.reshape(1)
    if first == last:
        return input
    return input.reshape((*shape[:first], prod(shape[first : last + 1]), *shape[last + 1 :]))


@composite("ravel", samples=(sample(real(2, 3)), sample(real(3))))
def ravel(input: Any) -> Any:
    """The tensor in one dimension.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.ravel(dt.ones(2, 3)).shape
    dualtape.Size([6])
    """
    return _view_shape(input.contiguous(), (-1,))


@composite("unflatten", samples=(sample(real(2, 6), 1, (2, 3)), sample(real(2, 6), -1, (2, -1))))
def unflatten(input: Any, dim: int, sizes: Sequence[int]) -> Any:
    """One dimension made several.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.unflatten(dt.ones(2, 6), 1, (2, 3)).shape
    dualtape.Size([2, 2, 3])
    """
    shape = input._array.shape
    d = normal_dim(dim, len(shape))
    return input.view((*shape[:d], *resolve(sizes, shape[d], "unflatten"), *shape[d + 1 :]))


@composite("movedim", also=("moveaxis",), samples=(sample(real(2, 3, 4), 0, 2), sample(real(2, 3, 4), (0, 1), (1, 2))))
def movedim(input: Any, source: Any, destination: Any) -> Any:
    """Dimensions moved to other positions, the rest kept in order.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.movedim(dt.ones(2, 3, 4), 0, -1).shape
    dualtape.Size([3, 4, 2])
    """
    ndim = input.ndim
    sources, targets = normal_dims(source, ndim), normal_dims(destination, ndim)
    if len(sources) != len(targets):
        raise RuntimeError(f"movedim: source {source} and destination {destination} must have as many dimensions")
    if len(set(sources)) != len(sources) or len(set(targets)) != len(targets):
        raise RuntimeError("movedim: repeated dim in source or destination")
    rest = iter(d for d in range(ndim) if d not in sources)
    order = [sources[targets.index(i)] if i in targets else next(rest) for i in range(ndim)]
    return permute(input, tuple(order))


@composite("adjoint", samples=(sample(real(2, 3)), sample(real(2, 3, 4))))
def adjoint(input: Any) -> Any:
    """The conjugate transpose of the last two dimensions.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.adjoint(dt.tensor([[1j]]))
    tensor([[0.-1.j]])
    """
    return _matrix(input, "adjoint()").conj()


def in_format_of(result: Tensor, input: Tensor) -> Tensor:
    """Return ``result`` in channels-last order if ``input`` is: for composites."""
    if result.ndim != input.ndim or not channels_lie_last(input._array):
        return result
    return _contiguous(result, channels_last if result.ndim == 4 else channels_last_3d)


def _contiguous(self: Tensor, memory_format: Any = None) -> Tensor:
    """The tensor itself if its memory is in row-major order without gaps, else a copy that is.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.ones(2, 3).t().contiguous().stride()
    (2, 1)
    """
    if memory_format is preserve_format and not self._array.flags.c_contiguous:
        raise RuntimeError("contiguous: preserve memory format is unsupported by the contiguous operator")
    if memory_format is channels_last or memory_format is channels_last_3d:
        return self if self.is_contiguous(memory_format) else FUNCTIONS["clone"](self, memory_format)
    return self if self._array.flags.c_contiguous else _contiguous_copy(self)


_contiguous_copy = op("contiguous_copy", lambda x: contiguous(x).reshape(x.shape), kind=GENERAL,
   method=False, public=False, jvp=LINEAR, node="CloneBackward0", vjp=dict(x=lambda g: g),
   samples=(sample(real(3, 4, layout="F")),), torch_name="clone", doc="A copy in row-major order.")  # fmt: skip


# --- methods and properties -----------------------------------------------------------------------


def _view_method(self: Tensor, *shape: Any) -> Tensor:
    """The same memory in another shape, or (given a dtype) read as another type of the same size.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.arange(4).view(2, 2)
    tensor([[0, 1],
            [2, 3]])
    """
    if (
        len(shape) == 1
        and type(shape[0]) is not int
        and (type(shape[0]) is dtypes.dtype or isinstance(shape[0], (np.dtype, type)))
    ):
        wanted = dtypes.to_numpy(shape[0])
        if wanted is BFLOAT16 and self._array.dtype is not BFLOAT16:
            raise NotImplementedError(
                f"view: the bits of {self.dtype!r} cannot be seen as bfloat16, whose arrays have float32 in memory:"
                " convert the tensor with .to(bfloat16), or read bits with frombuffer"
            )
        if wanted.kind in "fc" or self._array.dtype.kind not in "fc":
            return view_dtype(self, wanted)
        bits = self.detach()  # integers have no history: not even a view's
        bits._array = bits._array.view(wanted)
        return bits
    return _view_shape(self, *shape)


view_dtype = op("view_dtype", lambda x, dtype: x.view(dtype), kind=GENERAL, view=True, public=False, method=False,
    constants=("x",), torch_name="-",
   samples=(sample(real(3), np.dtype(np.int64)),), doc="The same bytes read as another type.")  # fmt: skip


def _transposed_property(name: str, doc: str, view: Any) -> None:
    setattr(Tensor, name, property(view, doc=doc))


def _reversed(x: Tensor) -> Tensor:
    if x.ndim != 2:
        _warn_of_transpose("T", x.ndim)
    return permute(x, tuple(reversed(range(x.ndim))))


def _warn_of_transpose(name: str, ndim: int) -> None:
    if not ndim:
        instead = "it is the tensor itself" if name[-1] == "T" else "use x.conj()"
        errors.warn(f"x.{name} of a tensor without dimensions is deprecated: {instead}")
    else:
        errors.warn(
            f"The use of `x.T` on tensors of dimension other than 2 is deprecated, got {ndim}: use x.mT for batches of"
            " matrices, or x.permute(*range(x.ndim)[::-1]) for the dimensions in reverse order"
        )


def _conjugate_transpose(x: Tensor) -> Tensor:
    if x.ndim not in (0, 2):
        raise RuntimeError(
            f"tensor.H is only supported on matrices (2-D tensors). Got {x.ndim}-D tensor. For batches of matrices use"
            " tensor.mH"
        )
    return _matrix(x, "H").conj()


def _matrix(x: Tensor, name: str) -> Tensor:
    if x.ndim == 1:
        raise RuntimeError(
            f"tensor.{name} is only supported on matrices or batches of matrices. Got {x.ndim}-D tensor."
        )
    if not x.ndim:
        _warn_of_transpose(name, 0)
    return transpose(x, -2, -1) if x.ndim else x


_transposed_property("T", "The dimensions in reverse order.", _reversed)
_transposed_property("mT", "The last two dimensions exchanged.", lambda x: _matrix(x, "mT"))
_transposed_property("H", "The conjugate transpose of a matrix.", lambda x: _conjugate_transpose(x))
_transposed_property("mH", "The conjugate transpose of the last two dimensions.", lambda x: _matrix(x, "mH").conj())


def _shape_of(name: str, other: Any) -> Any:
    if not isinstance(other, Tensor):
        raise errors.not_a_tensor(name, "other", other)
    return other.shape


def _view_as(self: Tensor, other: Tensor) -> Tensor:
    """The same memory in the shape of another tensor.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.arange(2).view_as(dt.ones(2, 1)).shape
    dualtape.Size([2, 1])
    """
    return self.view(_shape_of("view_as", other))


def _reshape_as(self: Tensor, other: Tensor) -> Tensor:
    """The tensor in the shape of another.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.arange(2).reshape_as(dt.ones(2, 1)).shape
    dualtape.Size([2, 1])
    """
    return self.reshape(_shape_of("reshape_as", other))


def _expand_as(self: Tensor, other: Tensor) -> Tensor:
    """Dimensions of size 1 repeated to the shape of another tensor.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.arange(1).expand_as(dt.ones(2)).shape
    dualtape.Size([2])
    """
    return self.expand(_shape_of("expand_as", other))


Tensor.view = _view_method  # type: ignore[method-assign, assignment]
Tensor.contiguous = _contiguous  # type: ignore[method-assign, assignment]
Tensor.view_as = _view_as  # type: ignore[method-assign, assignment]
Tensor.reshape_as = _reshape_as  # type: ignore[method-assign, assignment]
Tensor.expand_as = _expand_as  # type: ignore[method-assign, assignment]
