"""Distances between rows, gradients of sampled functions, histograms of points."""

from __future__ import annotations

from math import isfinite, prod
from operator import index
from typing import Any

import numpy as np

from ..._tensor.tensor import Tensor, new_tensor, raw, wrap
from ...arrays.kernels.basics import all_samples, asarray_like, host
from ...autograd.underived import refuse_history
from ..dispatch import FUNCTIONS
from ..formulas import is_whole, normal_dims, transposed
from ..samples import Sample, apart, edge, exact, ours, real, sample
from ..table import GENERAL, _result_type, composite, op
from .indexing import index_at
from .norms import vector_norm

# --- distances ------------------------------------------------------------------------------------

_BLOCK = 1 << 20  # differences that are held at a time


def _euclidean(x1: Any, x2: Any, by_product: bool) -> Any:
    """Return Euclidean distances of rows: by differences, or faster, and less exact, from a product of matrices."""
    if by_product:
        squares = [np.sum(x * x, axis=-1) for x in (x1, x2)]
        found = squares[0][..., :, None] + squares[1][..., None, :] - 2 * np.matmul(x1, transposed(x2))
        return np.sqrt(np.maximum(found, 0))
    rows = max(1, _BLOCK // max(1, prod(x2.shape)))
    parts = []
    for start in range(0, max(1, x1.shape[-2]), rows):
        change = x1[..., start : start + rows, None, :] - x2[..., None, :, :]
        parts.append(np.sqrt(np.sum(change * change, axis=-1)))
    return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=-2)


def _pull(g: Any, x1: Any, x2: Any, out: Any) -> Any:
    """Return the gradient of the first rows: unit vectors from each other row, zero where two coincide."""
    weight = np.where(out == 0, 0, g / np.where(out == 0, 1, out))
    return x1 * np.sum(weight, axis=-1)[..., None] - np.matmul(weight, x2)


euclidean = op("cdist_euclidean", _euclidean, kind=GENERAL, public=False, method=False, node="CdistBackward0",
   torch_name="-", complex=None,
   vjp=dict(x1=lambda g, x1, x2, out: _pull(g, x1, x2, out),
            x2=lambda g, x1, x2, out: _pull(transposed(g), x2, x1, transposed(out))),
   samples=(sample(real(3, 2), real(4, 2), False), sample(real(2, 3, 2), real(4, 2), True),
            sample(real(0, 2), real(4, 2), False)),
   doc="Euclidean distances of the rows of two matrices.")  # fmt: skip

_MODES = {
    "use_mm_for_euclid_dist_if_necessary": lambda x1, x2: max(x1.shape[-2], x2.shape[-2]) > 25,
    "use_mm_for_euclid_dist": lambda x1, x2: True,
    "donot_use_mm_for_euclid_dist": lambda x1, x2: False,
}


@composite("cdist", method=False, complex=False, samples=(
    *[sample(apart(3, 2), real(4, 2), p) for p in (2.0, 1.0, 1.5, 3.0, np.inf)], sample(real(2, 1, 3, 2), real(4, 2)),
    edge(apart(3, 2), real(4, 2), 0.0), sample(real(2, 0), real(3, 0)),
    sample(real(3, 2), real(4, 2), compute_mode="use_mm_for_euclid_dist"),
    *[edge(exact([[1.0, 2.0], [1.0, 2.0]]), exact([[1.0, 2.0]]), p) for p in (2.0, 1.0, 3.0)],
))  # fmt: skip
def cdist(x1: Any, x2: Any, p: float = 2.0, compute_mode: str = "use_mm_for_euclid_dist_if_necessary") -> Any:
    """The distances, in the norm of order ``p``, of each row of ``x1`` and each of ``x2``; batches are broadcast.

    Euclidean distances of more than 25 rows are computed from a product of matrices, which is quick and less exact;
    ``compute_mode`` may ask for it always ("use_mm_for_euclid_dist") or never ("donot_use_mm_for_euclid_dist").

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.cdist(dt.tensor([[3.0, 4.0]]), dt.zeros(2, 2))
    tensor([[5., 5.]])
    """
    for name, x in (("x1", x1), ("x2", x2)):
        if x._array.dtype.kind != "f" or x.ndim < 2:
            raise RuntimeError(
                f"cdist only supports floating-point dtypes and at least 2D tensors, {name} got: {x.dtype!r}, {x.ndim}D"
            )
    if x1._array.dtype != x2._array.dtype:
        raise RuntimeError(f"cdist: expected one dtype, got {x1.dtype!r} and {x2.dtype!r}: convert one with .to(...)")
    if x1._array.shape[-1] != x2._array.shape[-1]:
        raise RuntimeError(
            f"cdist: X1 and X2 must have the same number of columns. X1: {x1.shape[-1]} X2: {x2.shape[-1]}"
        )
    if p < 0:
        raise RuntimeError(f"cdist only supports non-negative p values, got {p}")
    if compute_mode not in _MODES:
        raise ValueError(f"{compute_mode} is not a valid value for compute_mode: it is one of {', '.join(_MODES)}")
    if p == 2:
        return euclidean(x1, x2, _MODES[compute_mode](x1, x2))
    change = x1.unsqueeze(-2) - x2.unsqueeze(-3)
    # The largest of the numbers: PyTorch's comparison ignores NaN here, but not in pdist.
    if p == np.inf:
        change = change.masked_fill(change.isnan(), 0.0)
    return _length(change, p)


def _length(change: Any, p: float) -> Any:
    """Return the norm of order ``p`` along the last dimension; for NaN it is NaN, with NaN gradients."""
    if p == 1:
        raised = np.where(raw(change) > 0, 1, -1)
        direction = asarray_like(np.where(raw(change) == 0, 0, raised), raw(change), raw(change).dtype)
        lost = np.isnan(raw(change))
        if all_samples(lost).any():
            direction = np.where(lost, np.asarray(np.nan, direction.dtype), direction)
        return (change * new_tensor(direction)).sum(-1)
    if p == 0:
        count = vector_norm(change.detach(), p, -1).masked_fill(change.isnan().any(-1), np.nan)
        # A count has a gradient of zero, which PyTorch gives to the rows.
        return count + change.masked_fill(new_tensor(np.isnan(raw(change)) | True), 0.0).sum(-1)
    if p == np.inf and not change._array.shape[-1]:
        return FUNCTIONS["sum"](change, -1)
    return vector_norm(change, p, -1)


@composite("pdist", method=False, complex=False, also=("nn.functional.pdist",), samples=(
    *[sample(apart(4, 2), p) for p in (2.0, 1.0, 3.0)], sample(apart(1, 2)), edge(apart(4, 2), 0.0),
    ours(apart(4, 2), np.inf), edge(exact([[1.0, 2.0], [1.0, 2.0]])),
))  # fmt: skip
def pdist(input: Any, p: float = 2) -> Any:
    """The distances, in the norm of order ``p``, of each two rows.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.pdist(dt.tensor([[0.0, 0.0], [3.0, 4.0], [0.0, 1.0]]))
    tensor([5.0000, 1.0000, 4.2426])
    """
    if input.ndim != 2 or input._array.dtype.kind != "f":
        raise RuntimeError(
            f"pdist only supports 2D tensors of floating-point dtypes, got: {input.ndim}D of {input.dtype!r}"
        )
    if p < 0:
        raise RuntimeError(f"pdist only supports non-negative p values, got {p}")
    first, second = (asarray_like(i, input._array) for i in np.triu_indices(input._array.shape[0], 1))
    return _length(index_at(input, (first,)) - index_at(input, (second,)), p)


# --- slopes ---------------------------------------------------------------------------------------


@composite("gradient", method=False, samples=(
    sample(real(4)), sample(real(3, 4)), sample(real(3, 4), dim=1, spacing=2.0), sample(real(3, 4), spacing=[2.0, 0.5]),
    sample(real(4), edge_order=2), sample(real(4, 3), spacing=(exact([0.0, 1.0, 3.0, 3.5]),), dim=0, edge_order=2),
))  # fmt: skip
def gradient(input: Any, *, spacing: Any = None, dim: Any = None, edge_order: int = 1) -> tuple:
    """The derivatives of a sampled function along each dimension: by differences to both sides inside, of
    ``edge_order`` at the edges.

    Parameters
    ----------
    spacing : number, or a list of numbers or of tensors
        How far apart the samples are: everywhere, along each dimension, or where they are.
    dim : int or sequence of int, optional
        The dimensions; all by default.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.gradient(dt.tensor([1.0, 4.0, 9.0]))
    (tensor([3., 4., 5.]),)
    """
    if edge_order not in (1, 2):
        raise RuntimeError(f"gradient only supports edge_order=1 and edge_order=2, got {edge_order}")
    if input._array.dtype == np.uint8:
        raise RuntimeError("gradient does not support uint8 input: convert it with .to(...)")
    dims = () if isinstance(dim, (tuple, list)) and not dim else normal_dims(dim, input.ndim)
    if len(set(dims)) != len(dims):
        raise RuntimeError(f"gradient: a dim appears multiple times in the list of dims {list(dims)}")
    many = isinstance(spacing, (list, tuple))
    if many and len(spacing) != len(dims):
        raise RuntimeError(
            f"gradient expected spacing to be unspecified, a scalar, or a list of length equal to the {len(dims)}"
            f" dimensions, got {len(spacing)}"
        )
    if any(input._array.shape[d] <= edge_order for d in dims):
        raise RuntimeError("gradient expected each dimension size to be at least edge_order+1")
    found = []
    for place, d in enumerate(dims):
        step = spacing[place] if many else 1 if spacing is None else spacing
        if isinstance(step, Tensor) and step.ndim:
            if step._array.shape != (input._array.shape[d],):
                raise RuntimeError(
                    f"gradient: dimension {d} has size {input.shape[d]}, its coordinates {list(step.shape)}"
                )
            step = FUNCTIONS["diff"](step).reshape((-1,) + (1,) * (input.ndim - d - 1))
        found.append(_slopes(input, d, step, edge_order))
    return tuple(found)


def _slopes(x: Any, d: int, step: Any, edge_order: int) -> Any:
    """Return the derivatives at the samples from those between them: weighted by the gaps inside, extrapolated at the
    edges.
    """
    between = FUNCTIONS["diff"](x, dim=d) / step
    n = between._array.shape[d]
    part = lambda values, start, stop: FUNCTIONS["narrow"](values, d, start % (n + 1), stop - start)
    gap = lambda start, stop: step[start:stop] if isinstance(step, Tensor) and step.ndim else 1
    left, right = gap(0, n - 1), gap(1, n)
    if isinstance(step, Tensor) and step.ndim:
        inside = (part(between, 1, n) * left + part(between, 0, n - 1) * right) / (left + right)
    else:  # what lies between cancels, also if it is infinite
        inside = (part(x, 2, n + 1) - part(x, 0, n - 1)) / (2 * step)
    first, last = part(between, 0, 1), part(between, n - 1, n)
    if edge_order == 2:
        first = first + (first - part(between, 1, 2)) * (gap(0, 1) / (gap(0, 1) + gap(1, 2)))
        last = last + (last - part(between, n - 2, n - 1)) * (gap(n - 1, n) / (gap(n - 1, n) + gap(n - 2, n - 1)))
    return FUNCTIONS["cat"]([first, inside, last], d)


# --- counts ---------------------------------------------------------------------------------------

_Histogram, _HistogramDD = (_result_type(name, ("hist", "bin_edges")) for name in ("histogram", "histogramdd"))


def _edges(name: str, values: Tensor, bins: Any, limits: Any) -> Tensor:
    """Return the edges of the intervals along one dimension; those computed from the values have their history."""
    if isinstance(bins, Tensor):
        if bins.dtype != values.dtype:
            raise RuntimeError(f"{name}: input tensor and bins tensors should have the same dtype")
        return bins.clone()
    if bins <= 0:
        raise RuntimeError(f"{name}(): bins must be > 0, but got {bins}")
    low, high = limits or ((values.min(), values.max()) if values.numel() else (0.0, 1.0))
    start, end = float(low), float(high)
    if not (isfinite(start) and isfinite(end)):
        raise RuntimeError(f"{name}: dimension's range [{start}, {end}] is not finite")
    if start > end:
        raise RuntimeError(f"{name}: min should not exceed max, but got min {start} max {end}")
    if start == end:
        low, high = low - 0.5, high + 0.5
    places = wrap(asarray_like(np.arange(bins + 1) / bins, values._array, values._array.dtype))
    return low * (1 - places) + high * places


def _counted(name: str, input: Any, bins: list, limits: list, weight: Any, density: bool) -> tuple:
    if input._array.dtype.kind != "f":
        raise NotImplementedError(f"{name}: not implemented for {input.dtype!r}: convert the tensor with .to(...)")
    refuse_history(name, weight=weight)
    if weight is not None and (weight.shape != input.shape[:-1] or weight.dtype != input.dtype):
        raise RuntimeError(
            f"{name}: if weight tensor is provided it should have the shape of the input, excluding its innermost"
            f" dimension in histogramdd, and its dtype; got {list(weight.shape)} of {weight.dtype!r}"
        )
    points = input.reshape(-1, len(bins))
    edges = [_edges(name, points[:, d], bins[d], limits[d]) for d in range(len(bins))]
    arrays = [host(t._array) for t in (points, *edges)]
    weights = None if weight is None else host(weight._array).reshape(-1)
    hist = np.histogramdd(arrays[0], arrays[1:], density=density, weights=weights)[0]
    return new_tensor(asarray_like(hist.astype(arrays[0].dtype), input._array)), tuple(edges)


def _case(*args: Any, **kwargs: Any) -> Sample:
    """Return a sample of a function without derivative, where PyTorch's derivative is not implemented."""
    return Sample(args, kwargs, check=False, torch=False)


@composite("histogram", complex=False, samples=(
    _case(exact([1.0, 2.0, 1.0]), 4, range=(0.0, 3.0)), _case(exact([1.0, 2.0, 1.0]), 2, density=True),
    _case(exact([[1.0, 2.0], [1.5, np.inf]]), exact([0.0, 1.5, 3.0])), _case(exact([2.0, 2.0]), 2),
))  # fmt: skip
def histogram(input: Any, bins: Any = 100, *, range: Any = None, weight: Any = None, density: bool = False) -> Any:
    """How many elements, or how much weight, fall into each of ``bins`` equal intervals, or between edges given.

    Counts have no gradient; edges that the data set have one.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.histogram(dt.tensor([1.0, 2.0, 1.0]), 2, range=(0.0, 3.0)).hist
    tensor([2., 1.])
    """
    flat = input.reshape(-1, 1)
    weight = weight if weight is None else weight.reshape(-1)
    if isinstance(bins, Tensor) and range is not None:
        raise TypeError("histogram() takes edges, or a number of bins and a range")
    hist, edges = _counted("histogram", flat, [bins], [range], weight, density)
    return _Histogram((hist, edges[0]))


@composite("histogramdd", method=False, complex=False, samples=(
    _case(real(5, 2), [2, 3]), _case(real(5, 2), 2, range=[-1.0, 1.0, -2.0, 2.0], density=True),
    _case(real(5, 1), [exact([-1.0, 0.0, 1.0])]),
))  # fmt: skip
def histogramdd(input: Any, bins: Any, range: Any = None, weight: Any = None, density: bool = False) -> Any:
    """How many points, the rows of ``input``, fall into each box of a grid: of ``bins`` equal intervals along each
    dimension (a number, or one for each), or between edges given. ``range`` holds two limits for each dimension.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.histogramdd(dt.tensor([[0.0, 0.0], [1.0, 1.0], [1.0, 0.9]]), [2, 2]).hist
    tensor([[1., 0.],
            [0., 2.]])
    """
    if input.ndim < 2:
        raise RuntimeError(f"histogramdd: input tensor should have at least 2 dimensions, got {input.ndim}")
    n = input._array.shape[-1]
    each = [index(bins)] * n if is_whole(bins) else list(bins)
    if len(each) != n:
        raise RuntimeError("histogramdd: The size of bins must be equal to the innermost dimension of the input.")
    if range is not None and len(range) != 2 * n:
        raise RuntimeError(
            f"histogramdd: for a {n}-dimensional histogram range should have {2 * n} elements, but got {len(range)}"
        )
    limits = [None] * n if range is None else list(zip(range[::2], range[1::2], strict=True))
    return _HistogramDD(_counted("histogramdd", input, each, limits, weight, density))
