"""Reductions: sums, products, extremes and truth along dimensions, and the helpers of their gradients.

A reduction takes ``dim`` (None, an int or several) and ``keepdim``. Result types are PyTorch's: integers are summed as
int64, half precision is accumulated in single. Order statistics, norms, deviations and softmax have modules of their
own.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod as product
from operator import index
from typing import Any

import numpy as np

from ..._tensor import dtypes
from ..._tensor.tensor import Tensor
from ...arrays import is_array, zeros
from ...arrays.bfloat16_dtype import cast as in_type
from ...arrays.kernels.basics import accumulate as running
from ...arrays.kernels.basics import add_reduce, reduce
from ...arrays.kernels.memory_order import reduces_in_rows
from ...arrays.kernels.sums import sum_all, sum_axis, sum_point
from ...errors import warn_of_lost_imaginary
from ..dispatch import FUNCTIONS
from ..formulas import normal_dim, normal_dims, restore, use, zeros_like_shape
from ..samples import apart, edge, exact, exact_index, ints, mask, real, sample
from ..table import GENERAL, LINEAR, REDUCTION, TABLE, composite, op

HALF, SINGLE, LONG = np.dtype(np.float16), np.dtype(np.float32), np.dtype(np.int64)
# Up to so many elements, writing an array out is faster than making a broadcast view of it.
_SMALL = 4096


def axes(dim: Any, ndim: int) -> tuple[int, ...]:
    """Return the axes that ``dim`` stands for; none for a 0-d array, whose only element is its own reduction."""
    dims = normal_dims(dim, ndim)
    if len(set(dims)) != len(dims):
        raise RuntimeError(f"dim {max(dims, key=dims.count)} appears multiple times in the list of dims")
    return dims if ndim else ()


def count(shape: tuple, dim: Any) -> int:
    """Return how many elements go into each result."""
    return product(shape[d] for d in axes(dim, len(shape)))


def total(x: Any, dim: Any, keepdim: bool) -> Any:
    """Return the sum, in the form that formulas use."""
    return add_reduce(x, axis=axes(dim, x.ndim), keepdims=keepdim)


def numpy_names(function: Callable) -> Callable:
    """Return ``function`` with NumPy's keywords: ``axis`` for ``dim``, ``keepdims`` for ``keepdim``."""

    def translated(*args: Any, **kwargs: Any) -> Any:
        if kwargs:
            kwargs = {{"axis": "dim", "keepdims": "keepdim"}.get(key, key): value for key, value in kwargs.items()}
            if isinstance(kwargs.get("dim"), Tensor):  # by name it is a dimension, and not another operand
                kwargs["dim"] = index(kwargs["dim"])
        return function(*args, **kwargs)

    translated.__name__ = translated.__qualname__ = function.__name__
    translated.__doc__, translated.__module__ = function.__doc__, "dualtape"
    translated.__wrapped__ = function  # type: ignore[attr-defined]
    return translated


def refuse_complex(name: str, x: Any, error: type[Exception] = NotImplementedError) -> None:
    """Raise for complex numbers, which have no order."""
    if x.dtype.kind == "c":
        raise error(f"{name}: not implemented for {x.dtype}: complex numbers have no order; take abs() or real first")


def need_elements(name: str, x: Any, dim: Any, error: type[Exception] = RuntimeError) -> None:
    """Raise if a reduction without identity has no elements."""
    if x.size:
        return
    if dim is None or dim == ():
        raise error(
            f"{name}(): Expected reduction dim to be specified for input.numel() == 0: an empty tensor has no extreme"
        )
    for d in axes(dim, x.ndim):
        if x.shape[d] == 0:
            raise IndexError(f"{name}(): Expected reduction dim {d} to have non-zero size, got shape {list(x.shape)}")


def cast(x: Any, dtype: Any) -> Any:
    """Return ``x`` in the type of a ``dtype=`` argument, or unchanged."""
    if dtype is None:
        return x
    target = dtypes.to_numpy(dtype)
    if x.dtype == target:
        return x
    if x.dtype.kind == "c" and target.kind not in "cb":
        warn_of_lost_imaginary("dtype=", target)
        x = x.real
    return in_type(x, target)


def accumulate(ufunc: Any, x: Any, dim: Any, keepdim: bool, dtype: Any) -> Any:
    """Return ``ufunc`` reduced over ``dim``, with PyTorch's result type."""
    if dtype is not None:
        x = cast(x, dtype)
        target = x.dtype
    else:
        target = LONG if x.dtype.kind in "biu" else x.dtype
    axis = axes(dim, x.ndim)
    if target == HALF:
        return reduce(ufunc, x, axis, SINGLE, keepdim).astype(HALF)
    if ufunc is np.add and x.dtype == target and target.kind == "f":
        return add_reduce(x, axis, None, None, keepdim)
    return reduce(ufunc, x, axis, target, keepdim)


# --- what gradients share -------------------------------------------------------------------------


def _spread(x: Any, shape: tuple, dim: Any, keepdim: bool) -> Any:
    kept = restore(x, shape, dim, keepdim)
    if isinstance(x, (np.ndarray, np.generic)) and product(shape) <= _SMALL:
        out = np.empty(shape, x.dtype)
        out[...] = kept
        return out
    out = np.broadcast_to(kept, shape)
    return out.copy() if product(shape) <= _SMALL else out  # the layout that NumPy's arrays get above


op("spread", _spread, kind=GENERAL, public=False, method=False, jvp=LINEAR, node="ExpandBackward0", torch_name="-",
   vjp=dict(x=lambda g, dim, keepdim: total(g, dim, keepdim)),
   samples=(sample(real(3), (3, 4), 1, False), sample(real(), (3, 4), None, False), sample(real(1, 4), (3, 4), 0, True),
       sample(real(), (), 0, False)),
   doc="A reduced array repeated over the dimensions it was reduced over.")  # fmt: skip
spread = use("spread")


def _spread_out(g: Any, x_shape: tuple, dim: Any, keepdim: bool) -> Any:
    """Return :func:`_spread` of NumPy's arrays; small ones are copied, since a broadcast view of them is more
    expensive.
    """
    if product(x_shape) > _SMALL:
        return np.broadcast_to(restore(g, x_shape, dim, keepdim), x_shape)
    out = np.empty(x_shape, g.dtype)
    if dim is None and not keepdim:
        out.fill(g)
    else:
        out[...] = restore(g, x_shape, dim, keepdim)
    return out


def _ties(x: Any, out: Any, dim: Any, keepdim: bool, nan: bool) -> Any:
    """Return 1 / n at the n positions where ``x`` is the result, 0 elsewhere."""
    kept = restore(out, x.shape, dim, keepdim)
    hit = np.equal(x, kept)
    if nan:
        hit = np.logical_or(hit, np.logical_and(np.isnan(x), np.isnan(kept)))
    weights = in_type(hit, x.dtype)
    return np.true_divide(weights, add_reduce(weights, axes(dim, x.ndim), None, None, True))


op("ties", _ties, kind=GENERAL, public=False, method=False, constants=("x", "out"), torch_name="-", complex=None,
   samples=(edge(exact([1.0, 3.0, 3.0]), exact(3.0), None, False, False),
       edge(exact([np.nan, 3.0]), exact(np.nan), None, False, True)),
   doc="How the gradient of an extreme is shared among the places that attain it.")  # fmt: skip
ties = use("ties")


pick: Callable = use("pick")
place: Callable = use("place")


def _memory(shape: tuple, d: int, indices: Any) -> Any:
    """Return the flat indices of the entries at ``indices`` along axis ``d`` of an array of ``shape``."""
    if not indices.size:
        return indices.reshape(-1)
    if d == 1 and len(shape) == 2 and indices.size == shape[0]:
        return indices.reshape(-1) + np.arange(0, shape[0] * shape[1], max(shape[1], 1))
    lead, tail = product(shape[:d]), product(shape[d + 1 :])
    each = indices.size // max(lead * tail, 1)
    if tail == 1:
        starts = np.arange(0, lead * shape[d], max(shape[d], 1))
        return (indices.reshape(lead, each) + starts[:, None]).ravel() if each != 1 else indices.reshape(lead) + starts
    starts = np.arange(0, lead * shape[d] * tail, max(shape[d] * tail, 1))
    return (indices.reshape(lead, each, tail) * tail + starts[:, None, None] + np.arange(tail)).ravel()


def _pick(x: Any, dim: int, indices: Any, keepdim: bool) -> Any:
    if x.ndim == 0:
        return x
    d = normal_dim(dim, x.ndim)
    if (
        type(x) is np.ndarray
        and type(indices) is np.ndarray
        and x.flags.c_contiguous
        and (keepdim or indices.ndim == x.ndim - 1)
    ):
        return x.reshape(-1)[_memory(x.shape, d, indices)].reshape(indices.shape)
    return (
        np.take_along_axis(x, indices, axis=d)
        if keepdim
        else np.take_along_axis(x, np.expand_dims(indices, d), axis=d).reshape(indices.shape)
    )


def _place(x: Any, shape: tuple, dim: int, indices: Any, keepdim: bool) -> Any:
    if not shape:
        return x
    d = normal_dim(dim, len(shape))
    if type(indices) is np.ndarray and type(x) is np.ndarray:
        out = np.zeros(shape, x.dtype)
        if not indices.size:
            return out
        out.reshape(-1)[_memory(shape, d, indices)] = x.reshape(-1)
        return out
    out = zeros_like_shape(shape, x)
    np.put_along_axis(
        out, indices if keepdim else np.expand_dims(indices, d), x if keepdim else np.expand_dims(x, d), axis=d
    )
    return out


op("pick", _pick, kind=GENERAL, public=False, method=False, constants=("indices",), jvp=LINEAR, node="GatherBackward0",
    torch_name="-",
   vjp=dict(x=lambda g, x_shape, dim, indices, keepdim: place(g, x_shape, dim, indices, keepdim)),
   samples=(sample(real(3, 4), 1, exact_index([0, 3, 3]), False),
       sample(real(3, 4), 0, exact_index([[0, 1, 2, 0]]), True),
            sample(real(), 0, exact_index(0), False)),
   doc="The entries at indices along a dimension, which goes away unless it is kept.")  # fmt: skip
op("place", _place, kind=GENERAL, public=False, method=False, constants=("indices",), jvp=LINEAR,
    node="ScatterBackward0", torch_name="-",
   vjp=dict(x=lambda g, dim, indices, keepdim: pick(g, dim, indices, keepdim)),
   samples=(sample(real(3), (3, 4), 1, exact_index([0, 3, 3]), False),
       sample(real(1, 4), (3, 4), 0, exact_index([[0, 1, 2, 0]]), True)),
   doc="Zeros, with entries at indices along a dimension, no index twice.")  # fmt: skip

# The row of an op that reduces a dimension to one of its entries, and returns its index, too.
SELECTING: dict[str, Any] = dict(
    outputs=("values", "indices"), complex=False, whole=True,
    vjp=dict(x=lambda g_values, x_shape, dim, keepdim, indices: place(g_values, x_shape, dim, indices, keepdim)),
    numpy_vjp=dict(x=lambda g_values, x_shape, dim, keepdim, indices: _place(g_values, x_shape, dim, indices, keepdim)),
    jvp=dict(x=lambda t, dim, keepdim, indices: (pick(t, dim, indices, keepdim), None)),
)  # fmt: skip

_DIMS = (
    sample(real(3, 4)), sample(real(3, 4), 1), sample(real(3, 4), -2, True), sample(real(2, 3, 4), (0, 2)),
    sample(real(2, 3, 4), (-1, 0), keepdim=True),
    sample(real()), sample(real(), 0), sample(real(0, 3)), sample(real(0, 3), 0), sample(real(0, 3), 1),
    sample(real(3, 4, layout="F"), 0),
    sample(real(3, 4, layout="strided"), (0, 1)), sample(real(3, 4), dim=()),
)  # fmt: skip

# --- sums and products ----------------------------------------------------------------------------


def _sum(x: Any, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Any:
    if dtype is None and x.dtype.kind in "fc" and x.dtype is not HALF:
        if type(x) is np.ndarray and not keepdim:
            if dim is None:
                return sum_all(x)
            if type(dim) is int and -x.ndim <= dim < x.ndim:
                return sum_axis(x, dim % x.ndim)
        if dim is None:
            return add_reduce(x, None, None, None, keepdim)
    return accumulate(np.add, x, dim, keepdim, dtype)


op("sum", _sum, kind=REDUCTION, keywords=("dtype",), jvp=LINEAR, quiet=False, node=("SumBackward0", "SumBackward1"), variant=lambda x, dim,
    keepdim, dtype: int(dim is not None),
   vjp=dict(x=lambda g, x_shape, dim, keepdim: spread(g, x_shape, dim, keepdim)),
   numpy_forward=sum_point, numpy_vjp=dict(x=_spread_out),
   samples=(*_DIMS, edge(ints(3, 4, high=9)), edge(mask(5), 0)),
   doc="""The sum over ``dim``; integers and booleans are summed as int64.

   >>> import dualtape as dt
   >>> dt.sum(dt.tensor([[1.0, 2.0], [3.0, 4.0]]), 0)
   tensor([4., 6.])
   """)  # fmt: skip


def _mean(x: Any, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Any:
    if dtype is not None:
        if dtypes.to_numpy(dtype).kind not in "fc":
            raise RuntimeError(
                "mean(): could not infer output dtype. Optional dtype must be either a floating point or complex"
                f" dtype. Got: {dtype}"
            )
        x = cast(x, dtype)
    if x.dtype.kind not in "fc":
        raise RuntimeError(
            "mean(): could not infer output dtype. Input dtype must be either a floating point or complex dtype. Got:"
            f" {x.dtype}; convert"
            " the tensor, or give dtype="
        )
    if dim is None and not keepdim and type(x) is np.ndarray and x.dtype is not HALF:
        return sum_all(x) / x.dtype.type(x.size)
    axis = axes(dim, x.ndim)
    n = product(x.shape[d] for d in axis)
    if x.dtype == HALF:
        return (add_reduce(x, axis, SINGLE, None, keepdim) / n).astype(HALF)
    return np.true_divide(add_reduce(x, axis, None, None, keepdim), n)


op("mean", _mean, kind=REDUCTION, keywords=("dtype",), jvp=LINEAR, quiet=False, node=("MeanBackward0", "MeanBackward1"), variant=lambda x,
    dim, keepdim, dtype: int(dim is not None),
   vjp=dict(x=lambda g, x_shape, dim, keepdim: spread(g / max(count(x_shape, dim), 1), x_shape, dim, keepdim)),
   numpy_forward=lambda x: np.asarray(sum_all(x) / x.dtype.type(x.size)),
   numpy_vjp=dict(x=lambda g, x_shape, dim, keepdim: _spread_out(g / g.dtype.type(max(count(x_shape, dim), 1)), x_shape, dim, keepdim)),
   samples=_DIMS,
   doc="""The mean over ``dim``.

   >>> import dualtape as dt
   >>> dt.mean(dt.tensor([[1.0, 2.0], [3.0, 4.0]]), 1)
   tensor([1.5000, 3.5000])
   """)  # fmt: skip


def _nansum(x: Any, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Any:
    refuse_complex("nansum", x, RuntimeError)
    if getattr(dtype, "kind", "") == "c":
        raise NotImplementedError(f"nansum: not implemented for {dtype}: use sum, or take real or imag first")
    return accumulate(np.add, np.where(np.isnan(x), 0, x) if x.dtype.kind == "f" else x, dim, keepdim, dtype)


op("nansum", _nansum, kind=REDUCTION, keywords=("dtype",), complex=False,
   vjp=dict(x=lambda g, x, dim, keepdim: np.where(np.isnan(x), 0, restore(g, x.shape, dim, keepdim))),
   jvp=dict(x=lambda t, x, dim, keepdim: total(np.where(np.isnan(x), 0, t), dim, keepdim)),
   samples=(*_DIMS, edge(exact([[1.0, np.nan], [np.nan, np.inf]]), 1)),
   doc="""The sum over ``dim`` of what is a number.

   >>> import dualtape as dt
   >>> dt.nansum(dt.tensor([1.0, float("nan"), 2.0]))
   tensor(3.)
   """)  # fmt: skip


@composite("nanmean", samples=(*_DIMS[:6], edge(exact([[1.0, np.nan], [2.0, 3.0]]), 1)), complex=False)
@numpy_names
def nanmean(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The mean over ``dim`` of what is a number.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nanmean(dt.tensor([1.0, float("nan"), 2.0]))
    tensor(1.5000)
    """
    if input._array.dtype.kind not in "fc":
        raise RuntimeError(f"nanmean(): expected input to have floating point or complex dtype but got {input.dtype!r}")
    numbers = FUNCTIONS["sum"](FUNCTIONS["isnan"](input).logical_not(), dim, keepdim)
    return FUNCTIONS["nansum"](input, dim, keepdim, dtype) / numbers


def _prod(x: Any, dim: int | None = None, keepdim: bool = False, dtype: Any = None) -> Any:
    if isinstance(dim, (tuple, list)):
        raise TypeError(f"prod(): argument 'dim' must be int, not {type(dim).__name__}")
    return accumulate(np.multiply, x, dim, keepdim, dtype)


def shifted(x: Any, dim: int, fill: Callable) -> Any:
    """Return the entries moved one forward along ``dim``, the first made by ``fill`` (np.zeros_like, np.ones_like)."""
    whole = (slice(None),) * dim
    return (
        np.concatenate([fill(x[(*whole, slice(0, 1))]), x[(*whole, slice(0, x.shape[dim] - 1))]], axis=dim)
        if x.shape[dim]
        else x
    )


def others(x: Any, dim: int | None) -> Any:
    """Return the product of all other entries, for each: from both sides and without division, so that zeros need no
    special case.
    """
    if x.ndim == 0:
        return np.ones_like(x)
    if dim is None:
        return others(x.reshape((product(x.shape),)), 0).reshape(x.shape)
    d = normal_dim(dim, x.ndim)
    before = running(np.multiply, shifted(x, d, np.ones_like), d)
    after = np.flip(running(np.multiply, shifted(np.flip(x, d), d, np.ones_like), d), d)
    return before * after


_PRODUCTS = (
    sample(real(3, 4)), sample(real(3, 4), 1), sample(real(3, 4), -2, True), sample(real(2, 3, 4), 1, keepdim=True),
    sample(real()), sample(real(), 0),
    sample(real(0, 3)), sample(real(0, 3), 0), sample(real(0, 3), 1), sample(real(3, 4, layout="F"), 0),
    sample(real(3, 4, layout="strided")),
    sample(exact([0.0, 2.0, 3.0])), sample(exact([0.0, 2.0, 0.0])),
    sample(exact([[0.0, 2.0, 0.0], [1.0, 0.0, -2.0]]), 1),
)  # fmt: skip

op("prod", _prod, kind=REDUCTION, keywords=("dtype",), quiet=False, node=("ProdBackward0", "ProdBackward1"), variant=lambda x, dim, keepdim,
    dtype: int(dim is not None),
   vjp=dict(x=lambda g, x, dim, keepdim: restore(g, x.shape, dim, keepdim) * others(x, dim).conj()),
   jvp=dict(x=lambda t, x, dim, keepdim: total(t * others(x, dim), dim, keepdim)),
   samples=(*_PRODUCTS, edge(ints(3, 4, high=3)), edge(mask(5), 0)),
   doc="""The product over ``dim``; derivatives of every order are right where factors are 0.

   >>> import dualtape as dt
   >>> dt.prod(dt.tensor([[1.0, 2.0], [3.0, 4.0]]), 1)
   tensor([ 2., 12.])
   """)  # fmt: skip


def _trace(x: Any) -> Any:
    if x.ndim != 2:
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {x.ndim}")
    return accumulate(np.add, np.diagonal(x), None, False, None)


op("trace", _trace, kind=GENERAL, jvp=LINEAR,
   vjp=dict(x=lambda g, x_shape: use("diagonal_zero")(np.broadcast_to(g, (min(x_shape),)), x_shape, 0, 0, 1)),
   samples=(sample(real(3, 3)), sample(real(3, 4)), sample(real(4, 2)), sample(real(0, 3)), edge(ints(3, 3, high=9))),
   doc="""The sum of a matrix's diagonal.

   >>> import dualtape as dt
   >>> dt.trace(dt.tensor([[1.0, 2.0], [3.0, 4.0]]))
   tensor(5.)
   """)  # fmt: skip

# --- extremes -------------------------------------------------------------------------------------


def _reduced(name: str, ufunc: Any, x: Any, dim: Any, keepdim: bool) -> Any:
    refuse_complex(name, x)
    axis = axes(dim, x.ndim)
    need_elements(name, x, dim)
    return reduce(ufunc, x, axis, None, keepdim)


def _shared(nan: bool) -> dict[str, Any]:
    """Return the derivatives of an extreme: elements that tie share the gradient evenly."""
    return dict(
        vjp=dict(x=lambda g, x, out, dim, keepdim: restore(g, x.shape, dim, keepdim) * ties(x, out, dim, keepdim, nan)),
        jvp=dict(x=lambda t, x, out, dim, keepdim: total(t * ties(x, out, dim, keepdim, nan), dim, keepdim)),
        complex=False,
    )


_APART = (
    sample(apart(3, 4)), sample(apart(3, 4), 1), sample(apart(3, 4), -2, True), sample(apart(2, 3, 4), (0, 2)),
    sample(apart()), sample(apart(), 0),
    sample(apart(0, 3), 1), sample(apart(3, 4, layout="F"), 0), sample(apart(3, 4), dim=()),
    edge(exact([3.0, 1.0, 3.0, 2.0, 3.0])),
    edge(exact([[1.0, 1.0, 0.0], [2.0, 2.0, 2.0]]), 1), edge(exact([1.0, np.nan, 2.0])),
    edge(exact([[np.inf, 1.0], [-np.inf, -np.inf]]), 1, True),
)  # fmt: skip
_SELECTED = (
    sample(apart(3, 4), 1), sample(apart(3, 4), -2, True), sample(apart(2, 3, 4), 1), sample(apart(), 0),
    sample(apart(0, 3), 1),
    sample(apart(3, 4, layout="F"), 0), edge(exact([3.0, 1.0, 3.0, 2.0, 3.0]), 0),
    edge(exact([[1.0, 1.0, 0.0], [2.0, 2.0, 2.0]]), 1),
    edge(exact([1.0, np.nan, 2.0, np.nan]), 0), edge(exact([[np.inf, 1.0], [-np.inf, -np.inf]]), 1, True),
)  # fmt: skip
_WHOLE = (
    sample(apart(3, 4)), sample(apart()), sample(apart(3, 4, layout="strided")), _APART[9],
    edge(exact([1.0, np.nan, 2.0, np.nan])),
    edge(ints(3, 4, high=9)),
)  # fmt: skip


_max: Any = np.maximum.reduce
_min: Any = np.minimum.reduce


def _selected(name: str, arg: Callable, x: Any, dim: int, keepdim: bool) -> tuple:
    if type(x) is np.ndarray and type(dim) is int and -x.ndim <= dim < x.ndim and x.size and x.dtype.kind != "c":
        value, place_of = (_max, x.argmax) if arg is np.argmax else (_min, x.argmin)
        return value(x, dim, None, None, keepdim), place_of(dim, None, keepdims=True) if keepdim else place_of(dim)
    refuse_complex(name, x)
    if isinstance(dim, (tuple, list)):
        raise TypeError(f"{name}(): argument 'dim' must be int, not {type(dim).__name__}; a{name} takes several")
    d = normal_dim(dim, x.ndim)
    need_elements(name, x, dim)
    if x.ndim == 0:
        return x.copy(), zeros((), LONG, x)
    indices = np.expand_dims(arg(x, axis=d), d)
    values = np.take_along_axis(x, indices, axis=d)
    return (values, indices) if keepdim else (np.squeeze(values, d), np.squeeze(indices, d))


def _extreme(name: str, what: str, ufunc: np.ufunc, arg: Callable) -> tuple[Callable, Callable]:
    """Declare the ops of one extreme: ``amax``, and the two forms of ``max`` that are not ``maximum``; the same for
    min.
    """
    camel = name.capitalize()
    op(f"a{name}", lambda x, dim=None, keepdim=False: _reduced(f"a{name}", ufunc, x, dim, keepdim), kind=REDUCTION,
       samples=(*_APART, edge(ints(3, 4, high=9)), edge(mask(5), 0)), **_shared(False),
       doc=f"""The {what} over ``dim``; those that tie share the gradient evenly.

   >>> import dualtape as dt
   >>> dt.a{name}(dt.tensor([[1.0, 2.0], [4.0, 3.0]]), 1)
   tensor([{"2., 4." if name == "max" else "1., 3."}])
   """)  # fmt: skip
    whole = op(f"{name}_all", lambda x, dim=None, keepdim=False: _reduced(name, ufunc, x, None, False), kind=REDUCTION,
        public=False, method=False,
       node=f"{camel}Backward1", torch_name=name, samples=_WHOLE, **_shared(True),
       numpy_forward=lambda x: np.asarray(ufunc.reduce(x, None)), doc=f"The {what} of all elements.")  # fmt: skip
    along = op(f"{name}_dim", lambda x, dim, keepdim=False: _selected(name, arg, x, dim, keepdim), kind=REDUCTION,
        public=False, method=False,
       node=f"{camel}Backward0", torch_name=name, samples=_SELECTED, **SELECTING,
       doc=f"The {what} along a dimension, and its index.")  # fmt: skip
    TABLE[f"{name}_dim"].result_type.__name__ = name  # type: ignore[union-attr]
    return whole, along


_max_all, _max_dim = _extreme("max", "largest element", np.maximum, np.argmax)
_min_all, _min_dim = _extreme("min", "smallest element", np.minimum, np.argmin)
_FORMS = (
    *_WHOLE[:2],
    *_SELECTED[:3],
    sample(apart(3, 4), dim=-1),
    sample(apart(3, 4), real(4)),
    edge(exact([1.0, 2.0]), exact([1.0, 3.0])),
)


def _forms(
    whole: Callable, along: Callable, pairwise: str, input: Any, dim: Any, keepdim: bool, other: Any, out: dict
) -> Any:
    """Call one of the three functions that PyTorch has under one name."""
    if other is None and not out:
        if dim is None:
            return whole(input)
        if type(dim) is int:
            return along(input, dim, keepdim)
    if isinstance(dim, Tensor) or (is_array(dim) and not isinstance(dim, np.generic)):
        dim, other = None, dim
    if other is not None:
        return FUNCTIONS[pairwise](input, other, **out)
    return whole(input, **out) if dim is None else along(input, dim, keepdim, **out)


@composite("max", samples=_FORMS, complex=False)
@numpy_names
def max_(input: Any, dim: Any = None, keepdim: bool = False, *, other: Any = None, **out: Any) -> Any:
    """The largest element; along ``dim`` also its index; with a tensor, the larger of each pair (:func:`maximum`).

    Without ``dim`` those that tie share the gradient evenly; along ``dim`` the one at the index gets it.

    Examples
    --------
    >>> import dualtape as dt
    >>> x = dt.tensor([[1.0, 2.0], [4.0, 3.0]])
    >>> dt.max(x)
    tensor(4.)
    >>> values, indices = dt.max(x, 1); values, indices
    (tensor([2., 4.]), tensor([1, 0]))
    """
    return _forms(_max_all, _max_dim, "maximum", input, dim, keepdim, other, out)


@composite("min", samples=_FORMS, complex=False)
@numpy_names
def min_(input: Any, dim: Any = None, keepdim: bool = False, *, other: Any = None, **out: Any) -> Any:
    """The smallest element; along ``dim`` also its index; with a tensor, the smaller of each pair (:func:`minimum`).

    Without ``dim`` those that tie share the gradient evenly; along ``dim`` the one at the index gets it.

    Examples
    --------
    >>> import dualtape as dt
    >>> x = dt.tensor([[1.0, 2.0], [4.0, 3.0]])
    >>> dt.min(x)
    tensor(1.)
    >>> values, indices = dt.min(x, 1); values, indices
    (tensor([1., 3.]), tensor([0, 1]))
    """
    return _forms(_min_all, _min_dim, "minimum", input, dim, keepdim, other, out)


def _aminmax(x: Any, dim: int | None = None, keepdim: bool = False) -> tuple:
    if x.size == 0 and dim is None:
        raise RuntimeError(
            "aminmax(): cannot compute aminmax over an empty dimension as the operation has no identity."
        )
    return _reduced("aminmax", np.minimum, x, dim, keepdim), _reduced("aminmax", np.maximum, x, dim, keepdim)


op("aminmax", _aminmax, kind=REDUCTION, keywords=("dim", "keepdim"), outputs=("min", "max"), complex=False,
   vjp=dict(x=lambda g_min, g_max, x, min, max, dim,
       keepdim: restore(g_min, x.shape, dim, keepdim) * ties(x, min, dim, keepdim, False)
            + restore(g_max, x.shape, dim, keepdim) * ties(x, max, dim, keepdim, False)),
   jvp=dict(x=lambda t, x, min, max, dim, keepdim: (total(t * ties(x, min, dim, keepdim, False), dim, keepdim),
                                                    total(t * ties(x, max, dim, keepdim, False), dim, keepdim))),
   samples=(sample(apart(3, 4)), sample(apart(3, 4), dim=1), sample(apart(3, 4), dim=-2, keepdim=True), sample(apart()),
       sample(apart(), dim=0),
            edge(exact([3.0, 1.0, 3.0, 1.0])), edge(exact([1.0, np.nan]))),
   doc="""The smallest and the largest element over ``dim``.

   >>> import dualtape as dt
   >>> dt.aminmax(dt.tensor([3.0, 1.0, 2.0])).max
   tensor(3.)
   """)  # fmt: skip


def _arg(name: str, find: Callable) -> Callable:
    def forward(x: Any, dim: int | None = None, keepdim: bool = False) -> Any:
        if (
            type(x) is np.ndarray
            and x.dtype.kind == "f"
            and x.size
            and not keepdim
            and (dim is None or type(dim) is int and -x.ndim <= dim < x.ndim)
        ):
            return x.argmax(dim) if find is np.argmax else x.argmin(dim)
        refuse_complex(name, x, RuntimeError)
        if x.dtype.kind == "b":
            raise RuntimeError(f"{name}(): does not support bool input; convert it with .to(dualtape.uint8)")
        axes(dim, x.ndim)
        need_elements(name, x, dim, IndexError)
        if dim is None or x.ndim == 0:
            flat = find(x)
            return np.reshape(flat, (1,) * x.ndim) if keepdim else flat
        return find(x, axis=dim, keepdims=keepdim)

    return forward


for _name, _find, _what in (("argmax", np.argmax, "largest"), ("argmin", np.argmin, "smallest")):
    op(_name, _arg(_name, _find), kind=REDUCTION, complex=False,
       samples=(*(edge(*s.args, **s.kwargs) for s in (*_SELECTED, *_WHOLE)), edge(apart(3, 4), None, True)),
       doc=f"""The index of the {_what} element: along ``dim``, or of all in row-major order; the first of those that
       tie.

   >>> import dualtape as dt
   >>> dt.{_name}(dt.tensor([1.0, 5.0, 0.0]))
   tensor({1 if _name == "argmax" else 2})
   """)  # fmt: skip

# --- truth ----------------------------------------------------------------------------------------


def _truth(ufunc: Any, x: Any, dim: Any, keepdim: bool) -> Any:
    if dim is None and not keepdim and type(x) is np.ndarray and x.dtype.kind == "b":
        return ufunc.reduce(x, None)
    if dim == ():  # nothing is reduced
        out = (x != 0).copy()
        return out.astype(x.dtype) if x.dtype == np.uint8 else out
    out = reduce(ufunc, x, () if dim == () else axes(dim, x.ndim), None, keepdim)
    return out.astype(x.dtype) if x.dtype == np.uint8 else out


_TRUTHS = (
    edge(mask(3, 4)), edge(mask(3, 4), 1), edge(mask(3, 4), -2, True), edge(mask(2, 3, 4), (0, 2)), edge(mask()),
    edge(mask(0, 3), 0), edge(mask(0, 3)),
    edge(exact([[0.0, np.nan], [0.0, 0.0]]), 1), edge(mask(3, 4), ()),
)  # fmt: skip
op("any", lambda x, dim=None, keepdim=False: _truth(np.logical_or, x, dim, keepdim), kind=REDUCTION, samples=_TRUTHS,
   doc="""Whether any element over ``dim`` is true (not zero).

   >>> import dualtape as dt
   >>> dt.any(dt.tensor([[True, False], [False, False]]), 1)
   tensor([ True, False])
   """)  # fmt: skip
op("all", lambda x, dim=None, keepdim=False: _truth(np.logical_and, x, dim, keepdim), kind=REDUCTION, samples=_TRUTHS,
   doc="""Whether all elements over ``dim`` are true (not zero).

   >>> import dualtape as dt
   >>> dt.all(dt.tensor([[True, True], [False, True]]), 1)
   tensor([ True, False])
   """)  # fmt: skip


def _nonzeros(x: Any, dim: Any = None) -> Any:
    return np.count_nonzero(x, axis=axes(dim, x.ndim)) if x.ndim else np.count_nonzero(x)


op("count_nonzero", reduces_in_rows(_nonzeros),
    kind=GENERAL,
   samples=(edge(exact([[0.0, 1.0], [np.nan, 0.0]])), edge(exact([[0.0, 1.0], [2.0, 0.0]]), 1),
       edge(mask(2, 3, 4), (0, 2)), edge(mask()), edge(real(0, 3), 0)),
   constants=("x",),
   doc="""How many elements over ``dim`` are not zero.

   >>> import dualtape as dt
   >>> dt.count_nonzero(dt.tensor([0.0, 1.0, 2.0]))
   tensor(2)
   """)  # fmt: skip
