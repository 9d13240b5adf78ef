"""Running sums, products and extremes along a dimension; differences and integrals.

Gradients of running products come from one linear recurrence, :func:`scan`, whose derivative is such a recurrence
again: no division, so zeros need no special case at any order.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from ...arrays import zeros
from ...arrays.kernels.basics import FEW, arange_like, small_grid
from ...arrays.kernels.basics import accumulate as running
from ...arrays.kernels.complex_logs import logaddexp
from ...arrays.kernels.sums import BLOCK, row_blocks
from ...arrays.kernels.updates import product
from ..dispatch import FUNCTIONS
from ..formulas import normal_dim, use, zeros_like_shape
from ..samples import apart, edge, exact, ints, mask, real, sample
from ..table import GENERAL, LINEAR, composite, op
from .reductions import HALF, LONG, SINGLE, cast, refuse_complex, shifted

# Up to so many columns, Python's own numbers are faster than a row of them at a time.
_FEW = 8

_ALONG = (
    sample(real(3, 4), 0), sample(real(3, 4), -1), sample(real(2, 3, 4), 1), sample(real(), 0), sample(real(0, 3), 0),
    sample(real(3, 0), 0),
    sample(real(3, 4, layout="F"), 0), sample(real(3, 4, layout="strided"), 1), sample(real(3, 9), 0),
)  # fmt: skip


# --- the recurrence -------------------------------------------------------------------------------


def _column(x: list, factor: list) -> list:
    y = x[0]
    out = [y]
    for value, by in zip(x[1:], factor[1:], strict=True):
        y = value + by * y
        out.append(y)
    return out


def _scan_by_doubling(x: Any, factor: Any) -> Any:
    """Return the recurrence computed in a few passes over all rows, each combining twice as many as the one before: for
    arrays whose operations are expensive.
    """
    dtype = np.result_type(x, factor)
    out, factor = x.astype(dtype), factor.astype(dtype)
    step = 1
    while step < len(out):
        out[step:] = out[step:] + factor[step:] * out[:-step]
        factor[step:] = factor[step:] * factor[:-step]
        step *= 2
    return out


def _scan(x: Any, factor: Any, dim: int) -> Any:
    if x.ndim == 0 or x.size == 0:
        return x.copy()
    d = normal_dim(dim, x.ndim)
    rows, factors = np.moveaxis(x, d, 0), np.moveaxis(factor, d, 0)
    n = len(rows)
    if type(x) is not np.ndarray:
        return np.moveaxis(_scan_by_doubling(rows, factors), 0, d)
    out = np.empty(rows.shape, np.result_type(x.dtype, factor.dtype))
    if x.size // n < _FEW:
        columns = zip(rows.reshape(n, -1).T.tolist(), factors.reshape(n, -1).T.tolist(), strict=True)
        out[...] = np.array([_column(*column) for column in columns]).T.reshape(rows.shape)
    else:
        out[0] = rows[0]
        for k in range(1, n):
            np.multiply(out[k - 1], factors[k], out=out[k])
            out[k] += rows[k]
    return np.moveaxis(out, 0, d)


scan = use("scan")


def scan_back(g: Any, factor: Any, dim: int) -> Any:
    """Return y[k] = g[k] + factor[k + 1] * y[k + 1]: the recurrence from the end."""
    if g.ndim == 0:
        return g
    d = normal_dim(dim, g.ndim)
    return np.flip(scan(np.flip(g, d), shifted(np.flip(factor, d), d, np.zeros_like), d), d)


def _previous(out: Any, dim: int, fill: Any) -> Any:
    return fill(out) if out.ndim == 0 else shifted(out, normal_dim(dim, out.ndim), fill)


op("scan", _scan, kind=GENERAL, public=False, method=False, torch_name="-",
   vjp=dict(x=lambda g, factor, dim: scan_back(g, factor.conj(), dim),
            factor=lambda g, factor, out,
            dim: scan_back(g, factor.conj(), dim) * _previous(out, dim, np.zeros_like).conj()),
   jvp=dict(x=lambda t, factor, dim: scan(t, factor, dim),
            factor=lambda t, factor, out, dim: scan(t * _previous(out, dim, np.zeros_like), factor, dim)),
   samples=(sample(real(4), real(4), 0), sample(real(3, 4), real(3, 4), 1), sample(real(3, 9), real(3, 9), 0),
       sample(real(), real(), 0),
            sample(real(0, 3), real(0, 3), 0), sample(real(4), exact([1.0, 0.0, 2.0, 0.0]), 0)),
   doc="The recurrence y[k] = x[k] + factor[k] * y[k - 1] along a dimension, from y[0] = x[0].")  # fmt: skip

# --- sums and products ----------------------------------------------------------------------------


def _accumulated(ufunc: np.ufunc, x: Any, dim: int, dtype: Any) -> Any:
    d = normal_dim(dim, x.ndim)
    x = cast(x, dtype)
    if x.dtype.kind in "biu" and dtype is None:
        x = x.astype(LONG)
    if x.dtype.kind == "b":
        raise NotImplementedError(
            f"{_CUMULATIVE[ufunc]}: not implemented for dtype=bool: leave it out, for the default int64"
        )
    if x.ndim == 0:
        return x.copy()
    if x.dtype == HALF:
        return running(ufunc, x.astype(SINGLE), d).astype(HALF)
    if type(x) is np.ndarray and x.size > _MANY:
        out = _by_triangles(x) if ufunc is np.add and d == x.ndim - 1 else None
        if out is not None:
            return out
        if x.size > _ABREAST * x.shape[d]:
            return _abreast(ufunc, x, d)
    if _is_single(x):
        return _in_double(ufunc, x, d, np.empty(x.shape, x.dtype))
    wide = np.float64 if x.dtype == SINGLE else np.complex128 if x.dtype == np.complex64 else None
    out = running(ufunc, x if wide is None else x.astype(wide), d)
    return out if out.dtype == x.dtype else out.astype(x.dtype)  # NumPy widens integers, too


_CUMULATIVE: dict[np.ufunc, str] = {np.add: "cumsum", np.multiply: "cumprod"}


def _is_single(x: Any) -> bool:
    return type(x) is np.ndarray and x.dtype.char in "fF"


def _in_double(ufunc: np.ufunc, x: np.ndarray, d: int, out: np.ndarray) -> np.ndarray:
    """Return ``ufunc.accumulate`` of single precision, computed in double: sequential rounding errors would add up."""
    return ufunc.accumulate(x, d, np.float64 if x.dtype.char == "f" else np.complex128, out)


_MANY, _ABREAST = 10_000, 128
# The side of the triangles: larger ones take longer, smaller ones leave more to add.
_SIDE = 20
# The multiplications in one product: with so few columns, BLAS's threads would mostly wait for each other.
_UNTHREADED = 250_000


@cache
def _triangle(n: int, dtype: Any, back: bool) -> np.ndarray:
    """Return ones where a number (by row) is part of a running sum (by column)."""
    return np.tri(n, dtype=dtype) if back else np.tri(n, dtype=dtype).T.copy()


def _times_triangle(v: np.ndarray, back: bool) -> np.ndarray:
    """Return the running sums of short rows."""
    n = v.shape[1]
    triangle, out = _triangle(n, v.dtype, back), np.empty(v.shape, v.dtype)
    step = max(1, _UNTHREADED // (n * n))
    for start in range(0, len(v), step):
        np.matmul(v[start : start + step], triangle, out[start : start + step])
    return out


def _triangular(v: np.ndarray, back: bool) -> np.ndarray:
    """Return running sums of the rows of a matrix: of :data:`_SIDE` numbers at a time by a product, each plus the
    running sum before it.
    """
    rows, n = v.shape
    if n <= 2 * _SIDE:
        return _times_triangle(v, back)
    chunks = -(-n // _SIDE)
    if n % _SIDE:
        whole = np.zeros((rows, chunks * _SIDE), v.dtype)
        whole[:, :n] = v
        v = whole
    out = _times_triangle(v.reshape(-1, _SIDE), back)
    sums = _triangular(out[:, 0 if back else -1].reshape(rows, chunks), back)
    before = np.zeros((rows, chunks), v.dtype)
    if back:
        before[:, :-1] = sums[:, 1:]
    else:
        before[:, 1:] = sums[:, :-1]
    before, ones = before.reshape(-1, 1), np.ones((1, _SIDE), v.dtype)
    for some in row_blocks(out.shape):
        product(out[some], before[some], ones, add=True)
    return out.reshape(rows, -1)[:, :n]


def _by_triangles(x: np.ndarray, back: bool = False) -> np.ndarray | None:
    """Return running sums along the last dimension, from its end if ``back``; None where products with zeros could have
    spread infinities or NaN.
    """
    if x.dtype.char not in "fd":
        return None
    out = _triangular(x.reshape(-1, x.shape[-1]), back)
    if not np.isfinite(out[:, 0 if back else -1]).all():  # what is not finite is so in all later sums
        return None
    return np.ascontiguousarray(out).reshape(x.shape)


# Rows that are a power of two apart in memory would evict each other from the cache.
_APART = 16


def _abreast(ufunc: np.ufunc, x: Any, d: int, back: bool = False) -> Any:
    """Return ``ufunc.accumulate`` of many columns, row by row: NumPy processes one column after the other.

    ``back`` goes from the last row to the first. Rows are brought together in a cache a few at a time, since they
    may lie across memory.
    """
    out = np.empty(x.shape, x.dtype)
    source, into = (np.moveaxis(v, d, 0)[:: -1 if back else 1] for v in (x, out))
    n, width = len(source), x.size // x.shape[d]
    block = max(8, min(n, BLOCK // width))
    wide = np.result_type(x, np.float64) if _is_single(x) else x.dtype  # as in _in_double
    buffer = np.empty((block + 1, width + _APART), wide)[:, :width].reshape(block + 1, *source.shape[1:])
    before = None
    for start in range(0, n, block):
        rows = buffer[: min(block, n - start)]
        rows[...] = source[start : start + block]
        for row in rows:
            if before is not None:
                ufunc(before, row, row)
            before = row
        into[start : start + block] = rows
        buffer[block] = before  # out of the way of the next rows
        before = buffer[block]
    return out


def _cumsum_back(g: Any, dim: int) -> Any:
    """Return :func:`_cumsum_gradient` of NumPy's arrays, from the last row to the first, in place."""
    if g.ndim == 0:
        return g
    d = normal_dim(dim, g.ndim)
    if g.size > _MANY and d == g.ndim - 1:
        out = _by_triangles(g, True)
        if out is not None:
            return out
    if g.size <= _MANY or g.size <= _ABREAST * g.shape[d]:
        out = np.empty_like(g)
        back = (slice(None),) * d + (slice(None, None, -1),)
        if _is_single(g):
            _in_double(np.add, g[back], d, out[back])
        else:
            np.add.accumulate(g[back], d, None, out[back])
        return out
    return _abreast(np.add, g, d, True)


def _cumsum_gradient(g: Any, dim: int) -> Any:
    if g.ndim == 0:
        return g
    d = normal_dim(dim, g.ndim)
    return np.flip(running(np.add, np.flip(g, d), d), d)


op("cumsum", lambda x, dim, dtype=None: _accumulated(np.add, x, dim, dtype), kind=GENERAL, whole=True, keywords=("dtype",), inplace=True, jvp=LINEAR,
    vjp=dict(x=_cumsum_gradient),
   numpy_vjp=dict(x=_cumsum_back),
   samples=(*_ALONG, edge(ints(3, 4, high=9), 0), edge(mask(5), 0)),
   doc="""The sums of the elements so far along ``dim``.

   >>> import dualtape as dt
   >>> dt.cumsum(dt.tensor([1.0, 2.0, 3.0]), 0)
   tensor([1., 3., 6.])
   """)  # fmt: skip


def _cumprod_back(g: Any, x: Any, out: Any, dim: int) -> Any:
    """Return the gradient of a running product for NumPy's arrays of few rows: the recurrence of :func:`scan_back`, in
    place.
    """
    if not g.ndim or g.dtype is not x.dtype or not 0 < g.shape[dim] <= _ROWS:
        return _cumprod_gradient(g, x, out, dim)
    result = g.copy()
    sums, factors, products = (v.swapaxes(0, dim) for v in (result, x.conj(), out.conj()))
    for k in range(len(sums) - 1, 0, -1):
        sums[k - 1] += factors[k] * sums[k]
    sums[1:] *= products[:-1]
    return result


def _cumprod_gradient(g: Any, x: Any, out: Any, dim: int) -> Any:
    return scan_back(g, x.conj(), dim) * _previous(out, dim, np.ones_like).conj()


# Up to so many rows, a step for each is faster than making lists of numbers.
_ROWS = 8

op("cumprod", lambda x, dim, dtype=None: _accumulated(np.multiply, x, dim, dtype), kind=GENERAL, whole=True, keywords=("dtype",), inplace=True,
   vjp=dict(x=_cumprod_gradient), numpy_vjp=dict(x=_cumprod_back),
   jvp=dict(x=lambda t, x, out, dim: scan(t * _previous(out, dim, np.ones_like), x, dim)),
   samples=(*_ALONG, sample(exact([2.0, 0.0, 3.0, 0.0, 1.0]), 0), sample(exact([[0.0, 2.0], [1.0, 0.0]]), 1),
       edge(ints(3, 4, high=3), 0), edge(mask(5), 0)),
   doc="""The products of the elements so far along ``dim``; derivatives of every order are right where factors are 0.

   >>> import dualtape as dt
   >>> dt.cumprod(dt.tensor([1.0, 2.0, 3.0]), 0)
   tensor([1., 2., 6.])
   """)  # fmt: skip


def _logcumsumexp(x: Any, dim: int) -> Any:
    d = normal_dim(dim, x.ndim)
    if x.dtype.kind not in "fc":
        raise NotImplementedError(
            f"logcumsumexp: not implemented for {x.dtype}; convert the tensor to a floating-point type"
        )
    if x.ndim == 0 or x.size == 0:
        return x.copy()
    # In double precision, since each rounding would count in all that follow.
    if x.dtype.kind == "f":
        short = x.dtype == SINGLE or x.dtype == HALF
        return running(np.logaddexp, x.astype(np.float64), d).astype(x.dtype) if short else running(np.logaddexp, x, d)
    rows = np.moveaxis(x.astype(np.complex128), d, 0).copy()
    rows[0] = logaddexp(np.full_like(rows[0], -np.inf), rows[0])
    for k in range(1, len(rows)):
        rows[k] = logaddexp(rows[k - 1], rows[k])
    return np.moveaxis(rows, 0, d).astype(x.dtype, copy=False)


def _shares(x: Any, out: Any, dim: int) -> tuple:
    """Return the two terms of the recurrence: the contributions of one element and of the sum before it to the sum up
    to it.
    """
    before = _previous(out, dim, lambda first: np.full_like(first, -np.inf))
    same = np.logical_and(before == out, np.isinf(out))
    return np.exp(x - out), np.exp(np.where(same, 0, before - out))


def _logcumsumexp_gradient(g: Any, x: Any, out: Any, dim: int) -> Any:
    own, earlier = _shares(x, out, dim)
    return own.conj() * scan_back(g, earlier.conj(), dim)


def _logcumsumexp_tangent(t: Any, x: Any, out: Any, dim: int) -> Any:
    own, earlier = _shares(x, out, dim)
    return scan(t * own, earlier, dim)


op("logcumsumexp", _logcumsumexp, kind=GENERAL, whole=True, vjp=dict(x=_logcumsumexp_gradient), jvp=dict(x=_logcumsumexp_tangent),
   samples=(*_ALONG, sample(exact([1000.0, 999.0, -1000.0, 1001.0]), 0),
       edge(exact([-np.inf, -np.inf, 1.0, np.inf, 2.0]), 0)),
   doc="""log(sum(exp(x))) of the elements so far along ``dim``, without overflow.

   >>> import dualtape as dt
   >>> dt.logcumsumexp(dt.tensor([0.0, 0.0, 0.0]), 0)
   tensor([0.0000, 0.6931, 1.0986])
   """)  # fmt: skip

# --- extremes -------------------------------------------------------------------------------------


def _running(name: str, ufunc: np.ufunc, x: Any, dim: int) -> tuple:
    refuse_complex(name, x)
    d = normal_dim(dim, x.ndim)
    if x.ndim == 0 or x.size == 0:
        return x.copy(), zeros(x.shape, LONG, x)
    values = running(ufunc, x, d)
    new = np.equal(x, values)
    if x.dtype.kind == "f":
        new = np.logical_or(new, np.isnan(x))
    places = arange_like(x.shape[d], x).reshape((-1,) + (1,) * (x.ndim - d - 1))
    return values, running(np.maximum, np.multiply(new, places), d)


def _running_back(g_values: Any, x_shape: tuple, dim: int, indices: Any) -> Any:
    """Return the gradient for NumPy's arrays; a small one takes a single call."""
    if not x_shape or indices.size > FEW:
        return use("scatter_add")(zeros_like_shape(x_shape, g_values), dim, indices, g_values)
    out = np.zeros(x_shape, g_values.dtype)
    np.add.at(out, small_grid(normal_dim(dim, len(x_shape)), indices), g_values)
    return out


for _name, _ufunc, _what in (("cummax", np.maximum, "largest"), ("cummin", np.minimum, "smallest")):
    op(_name, (lambda name, ufunc: lambda x, dim: _running(name, ufunc, x, dim))(_name, _ufunc), kind=GENERAL,
        outputs=("values", "indices"), complex=False,
       vjp=dict(x=lambda g_values, x_shape, dim,
           indices: use("scatter_add")(zeros_like_shape(x_shape, g_values), dim, indices, g_values)),
       numpy_vjp=dict(x=lambda g_values, x_shape, dim, indices: _running_back(g_values, x_shape, dim, indices)),
       jvp=dict(x=lambda t, dim, indices: (use("gather")(t, dim, indices), None)),
       samples=(sample(apart(3, 4), 0), sample(apart(3, 4), -1), sample(apart(2, 3, 4), 1), sample(apart(), 0),
           sample(apart(0, 3), 0),
                edge(exact([3.0, 1.0, 3.0, 2.0, 3.0]), 0), edge(exact([3.0, np.nan, 1.0, np.nan]), 0),
                edge(exact([[np.inf, 1.0], [-np.inf, -np.inf]]), 1)),
       doc=f"""The {_what} of the elements so far along ``dim``, and its index: the last of those that tie.

   >>> import dualtape as dt
   >>> dt.{_name}(dt.tensor([2.0, 1.0, 3.0]), 0).indices
   tensor([{"0, 0, 2" if _name == "cummax" else "0, 1, 1"}])
   """)  # fmt: skip

# --- differences and integrals --------------------------------------------------------------------


@composite("diff", samples=(sample(real(5)), sample(real(3, 4), 2), sample(real(3, 4), 1, 0), sample(real(3, 4), 9), sample(real(3, 4), prepend=real(3, 1)),
                            sample(real(3, 4), dim=0, append=real(2, 4)), edge(mask(5)),
                            sample(real(3), 0)))  # fmt: skip
def diff(input: Any, n: int = 1, dim: int = -1, prepend: Any = None, append: Any = None) -> Any:
    """Differences of neighbours along ``dim``, ``n`` times over.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.diff(dt.tensor([1.0, 4.0, 9.0]))
    tensor([3., 5.])
    """
    if input.ndim == 0:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    d = normal_dim(dim, input.ndim)
    parts = [t for t in (prepend, input, append) if t is not None]
    out = FUNCTIONS["cat"](parts, d) if len(parts) > 1 else input
    if n == 0:
        return out.clone()
    for _ in range(min(n, out._array.shape[d])):
        size = out._array.shape[d] - 1
        left, right = out.narrow(d, 0, size), out.narrow(d, 1, size)
        out = FUNCTIONS["logical_xor"](left, right) if out._array.dtype.kind == "b" else right - left
    return out


def _trapezoids(y: Any, x: Any, dx: float, dim: int) -> tuple[Any, int]:
    """Return the areas between neighbours along ``dim``, times 2."""
    if y.ndim == 0:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    d = normal_dim(dim, y.ndim)
    if y._array.dtype.kind in "iu" and y._array.dtype.itemsize < 8:
        y = y.long()  # sums of neighbours need not fit
    size = max(y._array.shape[d] - 1, 0)
    sums = y.narrow(d, min(1, y._array.shape[d]), size) + y.narrow(d, 0, size)
    if x is None:
        return sums * dx, d
    if x.ndim == 1:
        if x._array.shape[0] != y._array.shape[d]:
            raise RuntimeError(
                f"trapezoid: there must be one `x` value for each sample point, got {x._array.shape[0]} for"
                f" {y._array.shape[d]}"
            )
        x = x.reshape((-1,) + (1,) * (y.ndim - d - 1))
    elif not 0 < x.ndim <= y.ndim:
        raise RuntimeError(
            f"trapezoid: x must have one dimension, or those of y: got {list(x.shape)} for y of {list(y.shape)}"
        )
    at = d - y.ndim  # x may have fewer dimensions: they line up at the end
    points = x._array.shape[at]
    gaps = max(points - 1, 0)
    return sums * (x.narrow(at, min(1, points), gaps) - x.narrow(at, 0, gaps)), d


_INTEGRALS = (
    sample(real(5)), sample(real(3, 4), dx=0.5), sample(real(3, 4), dx=0.5, dim=0), sample(real(3, 4), real(4)),
    sample(real(3, 4), real(3), dim=0),
    sample(real(3, 4), real(3, 4)), sample(real(1)),
)  # fmt: skip


@composite("trapezoid", also=("trapz",), samples=_INTEGRALS, method=False)
def trapezoid(y: Any, x: Any = None, *, dx: float = 1, dim: int = -1) -> Any:
    """The integral along ``dim`` by the trapezoidal rule, at points ``x`` or ``dx`` apart.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.trapezoid(dt.tensor([1.0, 2.0, 3.0]))
    tensor(4.)
    """
    areas, d = _trapezoids(y, x, dx, dim)
    return areas.sum(d) / 2


@composite("cumulative_trapezoid", samples=_INTEGRALS, method=False)
def cumulative_trapezoid(y: Any, x: Any = None, *, dx: float = 1, dim: int = -1) -> Any:
    """The integrals up to each point along ``dim`` by the trapezoidal rule.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.cumulative_trapezoid(dt.tensor([1.0, 2.0, 3.0]))
    tensor([1.5000, 4.0000])
    """
    areas, d = _trapezoids(y, x, dx, dim)
    return areas.cumsum(d) / 2
