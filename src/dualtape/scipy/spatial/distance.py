"""``scipy.spatial.distance`` for tensors: distances between vectors, and of all pairs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..._tensor.tensor import wrap
from ...arrays.lazy import scipy_distance as _distance
from .._arguments import plain
from .._like import like, names_of, scipys
from .._tensors import alike, floating, op
from .._tensors import tensor as _tensor

__all__ = [
    "braycurtis",
    "canberra",
    "cdist",
    "chebyshev",
    "cityblock",
    "correlation",
    "cosine",
    "directed_hausdorff",
    "euclidean",
    "jensenshannon",
    "mahalanobis",
    "minkowski",
    "pdist",
    "seuclidean",
    "sqeuclidean",
    "squareform",
]


def __getattr__(name: str) -> Any:
    return scipys(_distance, name, __name__)


__dir__ = names_of(_distance, __name__)

# --- of vectors along the last axis, broadcast ----------------------------------------------------


def _weighed(values: Any, w: Any) -> Any:
    return values if w is None else values * w


def _norm(values: Any) -> Any:
    """Return the Euclidean length, with derivative 0 at 0."""
    square = np.sum(values * values, axis=-1)
    zero = plain(square) == 0
    return np.where(zero, 0.0, np.sqrt(np.where(zero, 1.0, square)))


def _minkowski(u: Any, v: Any, w: Any = None, p: float = 2) -> Any:
    if not p > 0:
        raise ValueError("p must be greater than 0")
    gap = np.abs(u - v)
    if p == 1:
        return np.sum(_weighed(gap, w), axis=-1)
    if p == np.inf:
        return np.max(gap if w is None else np.where(plain(_tensor(w)) != 0, gap, 0.0), axis=-1)
    if p == 2:
        return _norm(gap if w is None else gap * np.sqrt(w))
    zero = plain(gap) == 0
    powers = np.where(zero, 0.0, np.where(zero, 1.0, gap) ** p)
    total = np.sum(_weighed(powers, w), axis=-1)
    none = plain(total) == 0
    return np.where(none, 0.0, np.where(none, 1.0, total) ** (1.0 / p))


def _sqeuclidean(u: Any, v: Any, w: Any = None) -> Any:
    return np.sum(_weighed((u - v) * (u - v), w), axis=-1)


def _cityblock(u: Any, v: Any, w: Any = None) -> Any:
    return np.sum(_weighed(np.abs(u - v), w), axis=-1)


def _chebyshev(u: Any, v: Any, w: Any = None) -> Any:
    return _minkowski(u, v, w, np.inf)


def _braycurtis(u: Any, v: Any, w: Any = None) -> Any:
    return np.sum(_weighed(np.abs(u - v), w), axis=-1) / np.sum(_weighed(np.abs(u + v), w), axis=-1)


def _canberra(u: Any, v: Any, w: Any = None) -> Any:
    total = np.abs(u) + np.abs(v)
    zero = plain(total) == 0
    return np.sum(_weighed(np.where(zero, 0.0, np.abs(u - v) / np.where(zero, 1.0, total)), w), axis=-1)


def _cosine(u: Any, v: Any, w: Any = None, centered: bool = False) -> Any:
    weight = None if w is None else w / np.sum(w, axis=-1, keepdims=True)

    def mean(values: Any) -> Any:
        return np.mean(values, axis=-1, keepdims=True) if weight is None else np.sum(values * weight, -1, keepdims=True)

    if centered:
        u, v = u - mean(u), v - mean(v)
    uv, uu, vv = (np.squeeze(mean(product), axis=-1) for product in (u * v, u * u, v * v))
    return 1.0 - uv / np.sqrt(uu * vv)


def _correlation(u: Any, v: Any, w: Any = None) -> Any:
    return _cosine(u, v, w, centered=True)


def _jensenshannon(p: Any, q: Any, base: Any = None, axis: int = -1, keepdims: bool = False) -> Any:
    p = p / np.sum(p, axis=axis, keepdims=True)
    q = q / np.sum(q, axis=axis, keepdims=True)
    m = (p + q) / 2.0
    xlogy = op("special.xlogy")
    total = np.sum(xlogy(p, p) - xlogy(p, m) + xlogy(q, q) - xlogy(q, m), axis=axis, keepdims=keepdims)
    if base is not None:
        total = total / np.log(base)
    zero = plain(total) <= 0
    return np.where(zero, 0.0, np.sqrt(np.where(zero, 1.0, total) / 2.0))


def _mahalanobis(u: Any, v: Any, VI: Any) -> Any:
    gap = u - v
    square = np.sum((gap @ VI) * gap, axis=-1)
    zero = plain(square) == 0
    return np.where(zero, 0.0, np.sqrt(np.where(zero, 1.0, square)))


def _seuclidean(u: Any, v: Any, V: Any) -> Any:
    return _norm((u - v) / np.sqrt(V))


_METRICS: dict[str, Callable] = {
    "braycurtis": _braycurtis,
    "canberra": _canberra,
    "chebyshev": _chebyshev,
    "cityblock": _cityblock,
    "correlation": _correlation,
    "cosine": _cosine,
    "euclidean": _minkowski,
    "jensenshannon": _jensenshannon,
    "mahalanobis": _mahalanobis,
    "minkowski": _minkowski,
    "seuclidean": _seuclidean,
    "sqeuclidean": _sqeuclidean,
}
_SHORT = {
    "cblock": "cityblock",
    "cb": "cityblock",
    "c": "cityblock",
    "chebychev": "chebyshev",
    "cheby": "chebyshev",
    "cheb": "chebyshev",
    "ch": "chebyshev",
    "co": "correlation",
    "cos": "cosine",
    "euclid": "euclidean",
    "eu": "euclidean",
    "e": "euclidean",
    "js": "jensenshannon",
    "mahal": "mahalanobis",
    "mah": "mahalanobis",
    "mi": "minkowski",
    "m": "minkowski",
    "pnorm": "minkowski",
    "se": "seuclidean",
    "s": "seuclidean",
    "sqe": "sqeuclidean",
    "sqeuclid": "sqeuclidean",
}


def _vectors(*values: Any) -> list:
    found = alike(*values)
    for x in found[:2]:
        if x.ndim != 1:
            raise ValueError("Input vector should be 1-D.")
    if found[0].shape != found[1].shape:
        raise ValueError(f"vectors of different lengths: {found[0].shape[0]} and {found[1].shape[0]}")
    return found


def _between_vectors(name: str) -> Callable:
    def distance(u: Any, v: Any, w: Any = None) -> Any:
        u, v, *more = _vectors(u, v, *(() if w is None else (w,)))
        return _METRICS[name](u, v, *more)

    distance.__name__ = distance.__qualname__ = name
    distance.__doc__ = f"""The distance of two vectors that SciPy has by this name; ``w`` are weights.

    Examples
    --------
    >>> import dualtape as dt
    >>> u = dt.tensor([1.0, 2.0, 4.0], requires_grad=True)
    >>> dt.scipy.spatial.distance.{name}(u, [1.0, 0.0, 3.0]).backward()
    >>> u.grad.shape
    dualtape.Size([3])
    """
    return like(_distance)(distance)


braycurtis, canberra, chebyshev, cityblock, euclidean, sqeuclidean, correlation = map(
    _between_vectors,
    ("braycurtis", "canberra", "chebyshev", "cityblock", "euclidean", "sqeuclidean", "correlation"),
)
cosine = _between_vectors("cosine")


@like(_distance)
def minkowski(u: Any, v: Any, p: float = 2, w: Any = None) -> Any:
    """The distance of Minkowski, ``sum(w * abs(u - v)**p) ** (1 / p)``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.spatial.distance.minkowski(dt.tensor([3.0, 0.0]), dt.tensor([0.0, 4.0]))
    tensor(5.)
    """
    u, v, *more = _vectors(u, v, *(() if w is None else (w,)))
    return _minkowski(u, v, more[0] if more else None, p)


@like(_distance)
def mahalanobis(u: Any, v: Any, VI: Any) -> Any:
    """The distance of Mahalanobis, with the inverse of the covariance.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.spatial.distance.mahalanobis(dt.tensor([3.0, 0.0]), dt.tensor([0.0, 4.0]), dt.eye(2))
    tensor(5.)
    """
    return _mahalanobis(*_vectors(u, v, VI))


@like(_distance)
def seuclidean(u: Any, v: Any, V: Any) -> Any:
    """The Euclidean distance of coordinates divided by their standard deviations, the roots of ``V``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.spatial.distance.seuclidean(dt.tensor([3.0, 0.0]), dt.tensor([0.0, 4.0]), [1.0, 1.0])
    tensor(5., dtype=dualtape.float64)
    """
    return _seuclidean(*_vectors(u, v, V))


@like(_distance)
def jensenshannon(p: Any, q: Any, base: Any = None, *, axis: int = 0, keepdims: bool = False) -> Any:
    """The root of the Jensen-Shannon divergence of two distributions.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.spatial.distance.jensenshannon(dt.tensor([1.0, 0.0]), dt.tensor([0.0, 1.0]), 2.0)
    tensor(1.)
    """
    p, q = alike(p, q)
    return _jensenshannon(p, q, base, axis, keepdims)


# --- of all pairs ---------------------------------------------------------------------------------


def _metric(metric: Any, given: list, options: dict) -> Callable:
    """Return the distance of broadcast vectors for a name or a function, and the arguments that are estimated."""
    if callable(metric):
        name = getattr(metric, "__name__", "")
        if globals().get(name) is not metric:

            def of_rows(u: Any, v: Any) -> Any:
                u, v = np.broadcast_arrays(u, v)
                rows = zip(u.reshape(-1, u.shape[-1]), v.reshape(-1, v.shape[-1]), strict=True)
                return op("stack")([_tensor(metric(a, b, **options)) for a, b in rows]).reshape(tuple(u.shape[:-1]))

            return of_rows
        metric = name
    name = _SHORT.get(metric.lower(), metric.lower())
    if name not in _METRICS:
        raise TypeError(
            f"{metric!r} on tensors: it counts, and has no derivative; metrics with one: {sorted(_METRICS)}"
        )
    options = {key: value for key, value in options.items() if value is not None}
    together = np.concatenate(given) if len(given) > 1 else given[0]
    if name == "seuclidean" and "V" not in options:
        options["V"] = np.var(together, axis=0, ddof=1)
    if name == "mahalanobis" and "VI" not in options:
        options["VI"] = np.linalg.inv(np.atleast_2d(np.cov(together.mT))).mT
    return lambda u, v: _METRICS[name](u, v, **options)


def _rows(*values: Any) -> list:
    found = alike(*values)
    for x in found:
        if x.ndim != 2:
            raise ValueError("A 2-dimensional array must be passed.")
    return found


@like(_distance)
def cdist(XA: Any, XB: Any, metric: Any = "euclidean", *, out: Any = None, **kwargs: Any) -> Any:
    """The distances of each row of ``XA`` to each of ``XB``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.spatial.distance.cdist(dt.tensor([[0.0, 0.0]]), dt.tensor([[3.0, 4.0], [0.0, 1.0]]))
    tensor([[5., 1.]])
    """
    if out is not None:
        raise TypeError("cdist on tensors takes no out")
    a, b = _rows(XA, XB)
    if a.shape[1] != b.shape[1]:
        raise ValueError("XA and XB must have the same number of columns (i.e. feature dimension.)")
    return _metric(metric, [a, b], kwargs)(a[:, None, :], b[None, :, :])


@like(_distance)
def pdist(X: Any, metric: Any = "euclidean", *, out: Any = None, **kwargs: Any) -> Any:
    """The distances of all pairs of rows, as a vector.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.spatial.distance.pdist(dt.tensor([[0.0, 0.0], [3.0, 4.0], [0.0, 1.0]])).round(decimals=4)
    tensor([5.0000, 1.0000, 4.2426])
    """
    if out is not None:
        raise TypeError("pdist on tensors takes no out")
    (x,) = _rows(X)
    first, second = np.triu_indices(x.shape[0], 1)
    return _metric(metric, [x], kwargs)(x[wrap(first)], x[wrap(second)])


@like(_distance)
def squareform(X: Any, force: str = "no", checks: bool = True) -> Any:
    """The matrix of a vector of distances, or the vector of a matrix.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.spatial.distance.squareform(dt.tensor([5.0]))
    tensor([[0., 5.],
            [5., 0.]])
    """
    x = _tensor(X)
    _distance.squareform(plain(x), force, checks)
    if x.ndim == 1:
        size = int(np.ceil(np.sqrt(x.shape[0] * 2)))
        where = np.zeros((size, size), int)
        where[np.triu_indices(size, 1)] = np.arange(x.shape[0])
        found = x[wrap(where + where.T)] if x.shape[0] else op("zeros")(size, size)
        return np.where(np.eye(size, dtype=bool), 0, found)
    first, second = np.triu_indices(x.shape[0], 1)
    return x[wrap(first), wrap(second)]


@like(_distance)
def directed_hausdorff(u: Any, v: Any, rng: Any = 0, *, seed: Any = None) -> tuple:
    """The largest of the distances of rows of ``u`` to their nearest in ``v``, and the indices of that pair.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.spatial.distance.directed_hausdorff(dt.tensor([[0.0, 0.0]]), dt.tensor([[3.0, 4.0]]))
    (tensor(5.), 0, 0)
    """
    u, v = _rows(u, v)
    _, first, second = _distance.directed_hausdorff(plain(u), plain(v))
    return _norm(floating(u[int(first)] - v[int(second)])), int(first), int(second)
