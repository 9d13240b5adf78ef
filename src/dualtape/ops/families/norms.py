"""Vector norms and distances. Where a norm has no derivative (at zero, at ties of the largest) the subgradient is
PyTorch's; unlike PyTorch's it stays finite in derivatives of every order.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._tensor import dtypes
from ...arrays.kernels.basics import add_reduce, reduce
from ..dispatch import FUNCTIONS
from ..formulas import in_dtype_of, restore
from ..publish import publish_inplace
from ..samples import apart, edge, exact, real, sample
from ..table import COMMON, COMPOSITES, GENERAL, REDUCTION, composite, op
from .elementwise import direction as complex_direction
from .reductions import HALF, SINGLE, axes, cast, numpy_names, ties, total


def _powers(size: Any, ord: float, axis: Any, keepdim: bool) -> Any:
    """Return the norm of nonnegative numbers."""
    if ord == 2:
        return np.sqrt(add_reduce(size * size, axis, None, None, keepdim))
    if ord == 1:
        return add_reduce(size, axis, None, None, keepdim)
    if ord == 0:
        return add_reduce(size != 0, axis, size.dtype, None, keepdim)
    if ord == np.inf:
        return reduce(np.maximum, size, axis, None, keepdim)
    if ord == -np.inf:
        return reduce(np.minimum, size, axis, None, keepdim)
    return np.power(add_reduce(np.power(size, ord), axis, None, None, keepdim), 1 / ord)


def _vector_norm(x: Any, ord: float = 2, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Any:
    if x.dtype.kind not in "fc":
        raise RuntimeError(f"linalg.vector_norm: Expected a floating point or complex tensor as input. Got {x.dtype}")
    if dtype is not None and dtypes.to_numpy(dtype).kind != x.dtype.kind:
        raise RuntimeError(
            f"linalg.vector_norm: dtype should be {'complex' if x.dtype.kind == 'c' else 'floating point'} for such"
            f" inputs, but got {dtype}"
        )
    if not isinstance(ord, (int, float)):
        raise TypeError(f"linalg.vector_norm: ord must be a number, got {ord!r}")
    x = cast(x, dtype)
    axis = axes(dim, x.ndim)
    if x.size == 0 and (ord < 0 or ord == np.inf) and (not axis or any(x.shape[d] == 0 for d in axis)):
        raise RuntimeError(
            f"linalg.vector_norm cannot compute the {ord} norm on an empty tensor because the operation does not have"
            " an identity"
        )
    if x.dtype == HALF:
        return _powers(np.absolute(x).astype(SINGLE), ord, axis, keepdim).astype(HALF)
    if ord == 2 and x.dtype.kind == "f":
        if len(axis) == x.ndim and not keepdim and x.flags.c_contiguous:
            flat = x.reshape(-1)
            return np.sqrt(flat.dot(flat))
        return _powers(x, 2, axis, keepdim)
    return _powers(np.absolute(x), ord, axis, keepdim)


def _direction(x: Any) -> Any:
    """Return x / |x|, and 0 at 0 and at NaN."""
    return complex_direction(x) if x.dtype.kind == "c" else np.sign(np.where(np.isnan(x), 0, x))


def _slope(x: Any, out: Any, ord: float, dim: Any, keepdim: bool) -> Any:
    """Return the derivative of the norm with respect to each element.

    r |r|^(ord - 2) with r = x / norm: a polynomial where ``ord`` is even; elsewhere the zeros are cut out before
    the power, so that its derivatives there are 0 and not infinite.
    """
    if ord == 1:
        return _direction(x)
    if ord == np.inf or ord == -np.inf:
        return _direction(x) * ties(np.absolute(x), out, dim, keepdim, True)
    norm = restore(out, x.shape, dim, keepdim)
    flat = norm == 0
    r = np.where(flat, 0, x / np.where(flat, 1, norm))
    if ord == 2:
        return r
    if ord > 2 and ord % 2 == 0:
        return r * np.power(np.real(r * r.conj()), ord // 2 - 1)
    zero = r == 0
    return np.where(zero, 0, r * np.power(np.absolute(np.where(zero, 1, r)), ord - 2))


def _norm_gradient(g: Any, x: Any, out: Any, ord: float, dim: Any, keepdim: bool) -> Any:
    if ord == 0:
        # The number of elements that are not zero has no gradient, as in PyTorch.
        return None
    return restore(g, x.shape, dim, keepdim) * _slope(x, out, ord, dim, keepdim)


def _norm_tangent(t: Any, x: Any, out: Any, ord: float, dim: Any, keepdim: bool) -> Any:
    slope = _slope(x, out, ord, dim, keepdim) if ord else np.zeros_like(x)
    return total(np.real(t * slope.conj()), dim, keepdim)


_ORDERS = (2, 1, 3, 4, 1.5, 0.5, -1, np.inf, -np.inf)
_ZEROS = ([0.0, 0.0, 0.0], [0.0, 2.0, -1.0], [3.0, -3.0, 1.0], [1.0, np.nan, 2.0], [np.inf, 1.0, -2.0])
_NORMS = (
    *(sample(apart(3, 4), p) for p in _ORDERS), sample(apart(3, 4), 2, 1), sample(apart(3, 4), 3, -2, True),
    sample(apart(2, 3, 4), 1.5, (0, 2)),
    sample(apart(3, 4), np.inf, 0), sample(apart()), sample(apart(), 3, 0), sample(real(0, 3)),
    sample(real(0, 3), 2, 0), sample(real(3, 4, layout="F")),
    sample(real(3, 4, layout="strided"), 2, (0, 1), True), edge(apart(3, 4), 0),
    *(edge(exact(z), p) for z in _ZEROS for p in (2, 1, 3, 1.5, np.inf,
        -np.inf) if not (np.isinf(z[0]) and p in (3, 1.5))),
)  # fmt: skip

vector_norm = op("linalg_vector_norm", _vector_norm, namespace="linalg", kind=REDUCTION, keywords=("dtype",),
   vjp=dict(x=_norm_gradient), jvp=dict(x=_norm_tangent), samples=_NORMS,
   doc="""The norm of order ``ord`` of the elements over ``dim``: the root of the sum of their powers.

   The gradient is 0 at 0; for ``inf`` those that tie share it evenly.

   >>> import dualtape as dt
   >>> dt.linalg.vector_norm(dt.tensor([3.0, 4.0]))
   tensor(5.)
   """)  # fmt: skip


@composite(
    "norm",
    samples=(
        *_NORMS,
        sample(real(3, 4), "fro"),
        sample(real(3, 4), "fro", (0, 1)),
        sample(real(3, 4), None, 0),
        sample(real(3, 4), "nuc"),
    ),
)
@numpy_names
def norm(input: Any, p: Any = "fro", dim: Any = None, keepdim: bool = False, out: Any = None, dtype: Any = None) -> Any:
    """The vector norm of order ``p`` over ``dim``; "fro" is 2, "nuc" the sum of a matrix's singular values.

    Examples
    --------
    >>> import dualtape as dt
    >>> x = dt.tensor([3.0, 4.0], requires_grad=True)
    >>> dt.norm(x)
    tensor(5., grad_fn=<LinalgVectorNormBackward0>)
    """
    more = {} if out is None else {"out": out}
    if p == "nuc":
        return COMPOSITES["linalg_matrix_norm"].function(
            input, p, (-2, -1) if dim is None else dim, keepdim, dtype=dtype, **more
        )
    if isinstance(p, str) and p != "fro":
        raise RuntimeError(f"norm: order {p!r} is not supported: it is a number, 'fro' or 'nuc'")
    return vector_norm(input, 2 if p is None or p == "fro" else p, dim, keepdim, dtype, **more)


def _distance(x: Any, y: Any, p: float = 2) -> Any:
    return _vector_norm(np.subtract(x, y), p)


def _dist_gradient(g: Any, x: Any, y: Any, out: Any, p: float) -> Any:
    return None if p == 0 else g * _slope(in_dtype_of(x, g) - in_dtype_of(y, g), out, p, None, False)


def _dist_tangent(t: Any, x: Any, y: Any, out: Any, p: float) -> Any:
    difference = in_dtype_of(x, out) - in_dtype_of(y, out)
    return _norm_tangent(t * np.ones_like(difference), difference, out, p, None, False)


op("dist", _distance, kind=GENERAL, promote=COMMON,
   vjp=dict(x=_dist_gradient, y=lambda g, x, y, out, p: None if p == 0 else -_dist_gradient(g, x, y, out, p)),
   jvp=dict(x=_dist_tangent, y=lambda t, x, y, out, p: -_dist_tangent(t, x, y, out, p)),
   samples=(sample(apart(3, 4), real(3, 4)), sample(apart(3, 4), real(4), 3), sample(apart(3, 4), real(4), 1.5),
       sample(apart(3), real(), np.inf),
            sample(real(), real()), edge(exact([1.0, 2.0]), exact([1.0, 2.0])),
            edge(exact([1.0, 2.0]), exact([1.0, 2.0]), 1.5),
            edge(exact([1.0, 4.0]), exact([1.0, 2.0]), 1)),
   doc="""The norm of order ``p`` of x - y.

   >>> import dualtape as dt
   >>> dt.dist(dt.tensor([3.0, 4.0]), dt.zeros(2))
   tensor(5.)
   """)  # fmt: skip


@composite("renorm", samples=(
    sample(real(3, 4), 2, 0, 1.0), sample(real(2, 3, 4), 1, -1, 0.5), sample(real(3, 4), 3, 1, 100.0),
    edge(exact([[0.0, 0.0], [3.0, 4.0]]), 2, 0, 1.0),
))  # fmt: skip
def renorm(input: Any, p: float, dim: int, maxnorm: float) -> Any:
    """Each part along ``dim`` scaled so that its norm of order ``p`` is at most ``maxnorm``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.renorm(dt.tensor([[3.0, 4.0], [0.3, 0.4]]), 2, 0, 1.0)
    tensor([[0.6000, 0.8000],
            [0.3000, 0.4000]])
    """
    if input.ndim < 2:
        raise RuntimeError(f"renorm: input needs at least 2 dimensions, got {input.ndim} dimensions")
    input, kept = input.contiguous(), axes(dim, input.ndim)
    others = tuple(d for d in range(input.ndim) if d not in kept)
    large = vector_norm(input.detach(), p, others, True) > maxnorm
    # parts that stay as they are have no norm here: it may be NaN, and so would be their gradient
    size = vector_norm(FUNCTIONS["where"](large, input, 1.0), p, others, True)
    return FUNCTIONS["where"](large, input * (maxnorm / (size + 1e-7)), input)


publish_inplace(renorm)


@composite("frobenius_norm", method=False, samples=(sample(real(3, 4), (0, 1)), sample(real(3, 4), 1, True)))
def frobenius_norm(input: Any, dim: Any, keepdim: bool = False, *, out: Any = None) -> Any:
    """The root of the sum of squares over ``dim``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.frobenius_norm(dt.tensor([[3.0, 4.0]]), (0, 1))
    tensor(5.)
    """
    return vector_norm(input, 2, dim, keepdim, out=out)


@composite("nuclear_norm", method=False, samples=(sample(real(3, 4)), sample(real(2, 3, 4), (0, 2), True)))
def nuclear_norm(input: Any, dim: Any = (-2, -1), keepdim: bool = False) -> Any:
    """The sum of the singular values of the matrices in two dimensions.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nuclear_norm(dt.eye(3))
    tensor(3.)
    """
    if isinstance(dim, bool):
        dim, keepdim = (-2, -1), dim
    return COMPOSITES["linalg_matrix_norm"].function(input, "nuc", tuple(dim), keepdim)


@composite("norm_except_dim", method=False, samples=(
    sample(real(3, 4)), sample(real(2, 3, 4), 2, 1), sample(real(3, 4), 2, -1), sample(apart(3, 4), 3, 1),
    sample(apart(3), 2, 0),
))  # fmt: skip
def norm_except_dim(v: Any, pow: int = 2, dim: int = 0) -> Any:
    """The norm of order ``pow`` of each part along ``dim``, in a shape that broadcasts; with -1, of the whole.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.norm_except_dim(dt.tensor([[3.0, 4.0]]))
    tensor([[5.]])
    """
    if dim == -1:
        return vector_norm(v, pow)
    kept = axes(dim, v.ndim)
    others = tuple([d for d in range(v.ndim) if d not in kept])
    if others:
        return vector_norm(v, pow, others, True)
    return v.abs() if pow else (v != 0).to(v.dtype)
