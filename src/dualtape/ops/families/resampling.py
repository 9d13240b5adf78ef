"""Images at another resolution or at other points: interpolation in all of PyTorch's modes, sampling at the points of a
grid, grids of affine maps.

Interpolation processes one dimension at a time: each new entry is a weighted sum of a few old ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache
from math import floor, prod
from operator import index
from typing import Any

import numpy as np

from ..._tensor.tensor import new_tensor, raw
from ...arrays.bfloat16_dtype import in_single
from ...arrays.kernels.basics import asarray_like
from ...arrays.kernels.memory_order import keeps_channels_last
from ...errors import warn
from ..dispatch import FUNCTIONS
from ..formulas import is_whole, use
from ..samples import edge, exact, real, sample, unit
from ..table import GENERAL, LINEAR, composite, op
from .adaptive_pooling import adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d
from .padding import take_axes

_F = "nn.functional"
_LINEAR = {"linear": 1, "bilinear": 2, "bicubic": 2, "trilinear": 3}

# --- weights along a dimension --------------------------------------------------------------------


def _cubic(t: np.ndarray, a: float) -> np.ndarray:
    """Return the weight of an entry at a distance, for cubic convolution."""
    t = np.abs(t)
    near = ((a + 2) * t - (a + 3)) * t * t + 1
    far = ((a * t - 5 * a) * t + 8 * a) * t - 4 * a
    return np.where(t <= 1, near, np.where(t < 2, far, 0))


def _sources(n: int, m: int, scale: float, align_corners: bool, cubic: bool) -> np.ndarray:
    """Return the position of each of ``m`` new entries among ``n`` old ones."""
    k = np.arange(m, dtype=np.float64)
    if m == n and not cubic:  # whatever the scale that led there, as in PyTorch
        return k
    if align_corners:
        return k * ((n - 1) / (m - 1) if m > 1 else 0.0)
    at = (k + 0.5) * scale - 0.5
    return at if cubic else np.maximum(at, 0)


def _taps(n: int, m: int, scale: float, mode: str, align_corners: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return (taps, m): the old entries that each new one is made of, and their weights."""
    cubic = mode == "bicubic"
    at = _sources(n, m, scale, align_corners, cubic)
    first = np.floor(at).astype(np.int64)
    if cubic:
        places = first + np.arange(-1, 3)[:, None]
        return np.clip(places, 0, n - 1), _cubic(at - places, -0.75)
    first = np.minimum(first, n - 1)
    far = at - first
    return np.stack([first, np.minimum(first + 1, n - 1)]), np.stack([1 - far, far])


def _smooth_taps(n: int, m: int, scale: float, mode: str, align_corners: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return the same with windows as wide as the distance of new entries, so that no old entry is skipped."""
    ratio = (n - 1) / (m - 1) if align_corners and m > 1 else 0.0 if align_corners else scale
    reach = (2.0 if mode == "bicubic" else 1.0) * max(ratio, 1.0)
    center = ratio * (np.arange(m) + 0.5)
    first = np.maximum((center - reach + 0.5).astype(np.int64), 0)
    last = np.minimum((center + reach + 0.5).astype(np.int64), n)
    places = first + np.arange(int((last - first).max()))[:, None]
    distance = (places - center + 0.5) / max(ratio, 1.0)
    weights = _cubic(distance, -0.5) if mode == "bicubic" else np.maximum(1 - np.abs(distance), 0)
    weights = np.where(places < last, weights, 0)
    return np.minimum(places, n - 1), weights / weights.sum(0)


class Taps:
    """The entries that each entry of a line is made of: ``places`` among ``n`` others and their ``weights``, both
    (taps, entries).

    Where an entry has fewer taps than others, the last of its weights are 0; unless ``all_count``, then entries
    are multiplied by weights of 0 too, which shows if they are NaN.
    """

    def __init__(self, places: np.ndarray, weights: np.ndarray, n: int, all_count: bool = False) -> None:
        self.places, self.weights, self.n, self.all_count = places, weights, n, all_count

    @cached_property
    def transposed(self) -> Taps:
        """Return the taps of the gradient: for each source entry, the entries that read it."""
        taps, m = self.places.shape
        source, target = self.places.ravel(), np.tile(np.arange(m), taps)
        weight = self.weights.ravel()
        order = np.lexsort((target, source))
        order = order[weight[order] != 0]
        source, target, weight = source[order], target[order], weight[order]
        counts = np.bincount(source, minlength=self.n)
        rank = np.arange(source.size) - np.repeat(np.cumsum(counts) - counts, counts)
        places = np.zeros((max(1, counts.max(initial=0)), self.n), np.int64)
        weights = np.zeros(places.shape)
        places[rank, source], weights[rank, source] = target, weight
        return Taps(places, weights, m)

    @cached_property
    def parts(self) -> list[tuple]:
        """Yield, for each tap, the entries that have one (None: all), their indices and weights."""
        found: list[tuple] = []
        for place, weight in zip(self.places, self.weights, strict=True):
            there = np.flatnonzero(weight)
            if there.size == weight.size or not found or self.all_count:
                found.append((None, place, weight))
            elif there.size:
                within = there[-1] - there[0] + 1 == there.size
                rows = slice(int(there[0]), int(there[-1]) + 1) if within else there
                found.append((rows, place[rows], weight[rows]))
        return found

    def __repr__(self) -> str:
        return f"<{len(self.places)} taps of {self.n}>"


_NODES = ("linear1D", "bilinear2D", "bicubic2D", "trilinear3D", "bilinear2DAa", "bicubic2DAa")


@keeps_channels_last
@in_single
def _tapped(x: Any, dim: int, taps: Taps, node: int) -> Any:
    lead = (slice(None),) * dim
    shape = (-1,) + (1,) * (x.ndim - dim - 1)
    total: Any = None
    if type(x) is not np.ndarray:
        for place, weight in zip(taps.places, taps.weights, strict=True):
            part = np.take(x, asarray_like(place, x), axis=dim) * asarray_like(weight.reshape(shape), x, x.dtype)
            total = part if total is None else total + part
        return total
    for rows, place, weight in taps.parts:
        part = x.take(place, dim)
        part *= weight.reshape(shape).astype(x.dtype)
        if total is None:
            total = part
        elif rows is None:
            total += part
        else:
            total[(*lead, rows)] += part
    return total


_taps_op = op("taps", _tapped, kind=GENERAL, whole=True, public=False, method=False, jvp=LINEAR, torch_name="-",
   node=tuple(f"Upsample{name[0].upper()}{name[1:]}Backward0" for name in _NODES), variant=lambda x, dim, taps, node: node,
   vjp=dict(x=lambda g, dim, taps, node: use("taps")(g, dim, taps.transposed, node)),
   samples=(sample(real(2, 3, 4), 1, Taps(np.array([[0, 1, 1, 2], [1, 0, 2, 2]]), np.array([[0.5, 1, 2, 1], [1, 0, 3, 0]]), 3), 0),
       sample(real(2, 3), 1, Taps(np.array([[0, 0, 2], [0, 2, 1]]), np.array([[0.5, 1, 2], [0.25, 0, 0]]), 3), 1)),
   doc="""Weighted sums of entries along a dimension.""")  # fmt: skip


@lru_cache(256)
def _line(n: int, m: int, scale: float, mode: str, align_corners: bool, smooth: bool) -> Taps:
    return Taps(*(_smooth_taps if smooth else _taps)(n, m, scale, mode, align_corners), n, not smooth and n != m)


def _nearest(n: int, m: int, scale: float, exact: bool) -> np.ndarray:
    if not exact and m in (n, 2 * n):  # whatever the scale that led there, as in PyTorch
        return np.arange(m) // (m // n)
    k = np.arange(m, dtype=np.float32)
    at = (k + np.float32(0.5)) * np.float32(scale) if exact else k * np.float32(scale)
    return np.minimum(np.floor(at).astype(np.intp), n - 1)


# --- images of bytes ------------------------------------------------------------------------------

_MOST_BITS, _LARGEST_WEIGHT = 22, 1 << 15


@lru_cache(256)
def _byte_taps(*line: Any) -> tuple[np.ndarray, np.ndarray, int]:
    """Return indices, integer weights, and the number of bits by which those are scaled: taps for bytes.

    The scale is the largest at which the weights fit into 16 bits. Taps of one place are added up before they are
    rounded.
    """
    taps = _line(*line)
    places, weights = taps.places, taps.weights.copy()
    for later in range(1, len(places)):
        for earlier in range(later):
            same = places[earlier] == places[later]
            weights[earlier] += np.where(same, weights[later], 0)
            weights[later] = np.where(same, 0, weights[later])
    bits, largest = 0, weights.max(initial=0.0)
    while bits < _MOST_BITS and int(0.5 + largest * (1 << (bits + 1))) < _LARGEST_WEIGHT:
        bits += 1
    scaled = weights * (1 << bits)
    return places, np.trunc(scaled + np.where(scaled < 0, -0.5, 0.5)).astype(np.int64), bits


def _need_floats(mode: str, x: Any) -> None:
    if x.dtype.kind in "biu":
        raise NotImplementedError(
            f"interpolate: mode {mode!r} is not implemented for {x.dtype}: convert the tensor to a floating-point type"
        )


def _bytes_at(x: Any, mode: str, lines: Sequence[tuple]) -> Any:
    """Return images of bytes at another resolution, rounded to bytes after each dimension, as PyTorch's CPU code
    does.
    """
    if mode not in ("bilinear", "bicubic") or x.dtype != np.uint8:
        _need_floats(mode, x)
    x = x.astype(np.int64)
    for d in reversed(range(len(lines))):
        if lines[d][0] == lines[d][1]:
            continue  # whatever the scale that led there, as in PyTorch
        places, weights, bits = _byte_taps(*lines[d])
        shape = (-1,) + (1,) * (len(lines) - 1 - d)
        total: Any = 1 << (bits - 1) if bits else 0
        for place, weight in zip(places, weights, strict=True):
            total = total + np.take(x, asarray_like(place, x), axis=d + 2) * asarray_like(weight.reshape(shape), x)
        x = np.clip(total >> bits, 0, 255)
    return x.astype(np.uint8)


# --- interpolation --------------------------------------------------------------------------------


def _new_sizes(
    old: tuple, size: Any, scale_factor: Any, recompute: bool | None, mode: str
) -> tuple[tuple[int, ...], list[float]]:
    """Return the new sizes, and the width of a new entry in old ones."""
    dims = len(old)
    if (size is None) == (scale_factor is None):
        raise ValueError("interpolate: only one of size or scale_factor should be defined, and one must be")
    if size is not None:
        if recompute:
            raise ValueError("interpolate: recompute_scale_factor is not meaningful with an explicit size.")
        new = (index(size),) * dims if is_whole(size) else tuple(size)
        if len(new) != dims:
            raise ValueError(f"interpolate: size must have {dims} entries for this input, got {size}")
        factors = None
    else:
        factors = (
            (float(scale_factor),) * dims if isinstance(scale_factor, (int, float, np.number)) else tuple(scale_factor)
        )
        if len(factors) != dims:
            raise ValueError(f"interpolate: scale_factor must have {dims} entries for this input, got {scale_factor}")
        new = tuple(floor(n * float(f)) for n, f in zip(old, factors, strict=True))
    if any(m <= 0 for m in new) or any(n <= 0 for n in old):
        raise RuntimeError(f"interpolate: Input and output sizes should be greater than 0, got {old} and {new}")
    if factors is None or recompute:
        return new, [n / m for n, m in zip(old, new, strict=True)]
    return new, [1 / f for f in factors]


@composite("interpolate", complex=False, namespace=_F, samples=(
    sample(real(2, 3, 4), 6), sample(real(2, 3, 4, 5), scale_factor=2), sample(real(2, 3, 4, 5), (2, 7)),
    sample(real(1, 2, 4, 4), scale_factor=(0.5, 1.5)), sample(real(1, 2, 5, 5), scale_factor=2.085), sample(real(1, 2, 5), 3, mode="nearest-exact"),
    sample(real(1, 2, 4, 5), scale_factor=1.7, mode="nearest-exact"), sample(real(1, 1, 2, 3, 4), 3, mode="nearest"),
    sample(real(1, 2, 4), 7, mode="linear"), sample(real(1, 2, 4), 7, mode="linear", align_corners=True),
    sample(real(1, 2, 4, 5), (6, 3), mode="bilinear"), sample(real(1, 2, 4, 5), scale_factor=1.7, mode="bilinear"), sample(real(1, 2, 4, 5), scale_factor=1.2, mode="bilinear"),
    sample(real(1, 2, 4, 5), scale_factor=1.7, mode="bilinear", recompute_scale_factor=True),
    sample(real(1, 2, 4, 5), (6, 1), mode="bilinear", align_corners=True),
    sample(real(1, 2, 4, 5), (6, 3), mode="bicubic"), sample(real(1, 1, 4, 5), (7, 1), mode="bicubic", align_corners=True),
    sample(real(1, 1, 3, 4, 2), (5, 2, 3), mode="trilinear"), sample(real(1, 1, 3, 4, 2), 4, mode="trilinear", align_corners=True),
    sample(real(1, 2, 6), 4, mode="area"), sample(real(1, 2, 6, 5), (4, 2), mode="area"), sample(real(1, 1, 4, 4, 4), 3, mode="area"),
    sample(real(1, 1, 7, 9), (3, 4), mode="bilinear", antialias=True), sample(real(1, 1, 7, 9), (3, 12), mode="bicubic", antialias=True),
    sample(real(1, 1, 5, 6), (3, 9), mode="bilinear", antialias=True, align_corners=True),
))  # fmt: skip
def interpolate(
    input: Any, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None, antialias: bool = False,
) -> Any:  # fmt: skip
    """Images (N, C, ...) at another resolution.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.functional.interpolate(dt.tensor([[[1.0, 2.0]]]), scale_factor=2)
    tensor([[[1., 1., 2., 2.]]])
    >>> dt.nn.functional.interpolate(dt.tensor([[[1.0, 2.0]]]), 3, mode="linear", align_corners=True)
    tensor([[[1.0000, 1.5000, 2.0000]]])
    """
    dims = input.ndim - 2
    if mode in ("nearest", "area", "nearest-exact") and align_corners is not None:
        raise ValueError(
            "interpolate: align_corners option can only be set with the interpolating modes: linear | bilinear |"
            " bicubic | trilinear"
        )
    if antialias and mode not in ("bilinear", "bicubic"):
        raise ValueError("interpolate: Anti-alias option is restricted to bilinear and bicubic modes")
    if dims not in (1, 2, 3) or _LINEAR.get(mode, dims) != dims:
        raise NotImplementedError(
            f"interpolate: got {input.ndim}D input, but {mode!r} mode needs {_LINEAR.get(mode, 1) + 2}D input"
        )
    old = tuple(input.shape[2:])
    new, scales = _new_sizes(old, size, scale_factor, recompute_scale_factor, mode)
    if mode in ("nearest", "nearest-exact"):
        lines = zip(old, new, scales, strict=True)
        places = tuple((d + 2, _nearest(n, m, r, mode != "nearest")) for d, (n, m, r) in enumerate(lines))
        return take_axes(input, places, 9 + dims - 1)
    if mode == "area":
        _need_floats(mode, raw(input))
        return (adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d)[dims - 1](input, new)
    if mode not in _LINEAR:
        raise NotImplementedError(f"interpolate: there is no mode {mode!r}")
    each = [(old[d], new[d], scales[d], mode, bool(align_corners), bool(antialias)) for d in range(dims)]
    if not (input.is_floating_point() or input.is_complex()):
        return new_tensor(_bytes_at(raw(input), mode, each))
    x, node = input, _NODES.index(f"{mode}{dims}D{'Aa' if antialias else ''}")
    for d in reversed(range(dims)):
        x = _taps_op(x, d + 2, _line(*each[d]), node)
    return x


def _older(name: str, function: Any, doc: str) -> None:
    function.__name__ = name
    function.__doc__ = f"""{doc}

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.functional.{name}(dt.ones(1, 1, 2, 2), scale_factor=2).shape
    dualtape.Size([1, 1, 4, 4])
    """
    composite(name, complex=False, namespace=_F, samples=(sample(real(1, 2, 3, 4), (5, 2)), sample(real(1, 1, 2, 2), scale_factor=2)))(function)  # fmt: skip


def _warn_older(name: str) -> None:
    warn(f"`nn.functional.{name}` is deprecated: use nn.functional.interpolate")


def upsample(
    input: Any, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool | None = None
) -> Any:
    _warn_older("upsample")
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input: Any, size: Any = None, scale_factor: Any = None) -> Any:
    _warn_older("upsample_nearest")
    return interpolate(input, size, scale_factor)


def upsample_bilinear(input: Any, size: Any = None, scale_factor: Any = None) -> Any:
    _warn_older("upsample_bilinear")
    return interpolate(input, size, scale_factor, "bilinear", True)


_older("upsample", upsample, ":func:`interpolate` by its older name.")
_older("upsample_nearest", upsample_nearest, ":func:`interpolate` with each entry the nearest one's.")
_older("upsample_bilinear", upsample_bilinear, ":func:`interpolate` between four entries, corners on corners.")

# --- grids ----------------------------------------------------------------------------------------


def _warn_of_corners(name: str, align_corners: bool | None) -> None:
    if align_corners is None:
        warn(
            f"{name}: align_corners is not given, and False: -1 and 1 are the edges of images, not the middles of corners"
        )


def _lines(n: int, like: Any, align_corners: bool) -> Any:
    """Return the coordinates of ``n`` entries between -1 and 1: of their centres, or of the first and last."""
    x = np.linspace(-1, 1, n) if n > 1 else np.zeros(n)
    return new_tensor(asarray_like(x if align_corners else x * (n - 1) / n, raw(like), raw(like).dtype))


@composite("affine_grid", complex=False, namespace=_F, samples=(
    sample(real(2, 2, 3), (2, 1, 3, 4)), sample(real(2, 2, 3), (2, 1, 3, 1), True), sample(real(1, 3, 4), [1, 1, 2, 3, 2]),
))  # fmt: skip
def affine_grid(theta: Any, size: Sequence[int], align_corners: bool | None = None) -> Any:
    """The points to which affine maps (N, 2, 3) take those of images of a size (N, C, H, W), for :func:`grid_sample`; or
    of volumes.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.functional.affine_grid(dt.tensor([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]]), (1, 1, 1, 2))
    tensor([[[[-0.5000,  0.0000],
              [ 0.5000,  0.0000]]]])
    """
    if not theta.is_floating_point():
        raise ValueError(f"affine_grid: Expected theta to have floating point type, but got {theta.dtype!r}")
    dims = len(size) - 2
    if dims not in (2, 3):
        raise NotImplementedError(
            f"affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, got {size}"
        )
    if tuple(theta.shape) != (size[0], dims, dims + 1):
        raise ValueError(
            f"affine_grid: Expected a batch of affine matrices of shape {[size[0], dims, dims + 1]}, got {list(theta.shape)}"
        )
    if min(size) <= 0:
        raise ValueError(f"affine_grid: Expected non-zero, positive output size. Got {tuple(size)}")
    _warn_of_corners("affine_grid", align_corners)
    sizes = tuple(size[2:])
    if align_corners and 1 in sizes:
        warn("affine_grid: a size of 1 has no two corners to align: its one coordinate is 0, in the middle")
    axes = [_lines(n, theta, bool(align_corners)) for n in sizes]
    points = [a.reshape([-1 if d == e else 1 for e in range(dims)]).expand(sizes) for d, a in enumerate(axes)][::-1]
    base = FUNCTIONS["stack"](points, -1).reshape(1, prod(sizes), dims)
    moved = base @ theta[..., :dims].mT + theta[..., dims].unsqueeze(1)
    return moved.reshape(size[0], *sizes, dims)


def _unnormalised(x: Any, n: int, align_corners: bool) -> Any:
    return (x + 1) * ((n - 1) / 2) if align_corners else ((x + 1) * n - 1) / 2


def _reflected(x: Any, n: int, align_corners: bool) -> Any:
    """Return coordinates reflected at the border until they are inside."""
    low, span = (0.0, float(n - 1)) if align_corners else (-0.5, float(n))
    if span == 0:
        return x * 0
    away = (x - low).abs()
    times = (away / span).floor().detach()
    extra = away - times * span
    return FUNCTIONS["where"](FUNCTIONS["remainder"](times, 2) == 0, extra + low, span - extra + low)


def _placed(x: Any, n: int, padding_mode: str, align_corners: bool) -> Any:
    """Return coordinates inside the image, or unchanged where it is surrounded by zeros."""
    if padding_mode == "reflection":
        x = _reflected(x, n, align_corners)
    if padding_mode != "zeros":
        x = x.clamp(0, n - 1)
    return x


def _picked(flat: Any, places: Sequence[Any], sizes: tuple) -> Any:
    """Return (N, C, points): the entries at integer coordinates (N, points) for each dimension; 0 outside."""
    index: Any = None
    inside: Any = None
    for at, n in zip(places, sizes, strict=True):
        here = FUNCTIONS["logical_and"](at >= 0, at <= n - 1)
        inside = here if inside is None else FUNCTIONS["logical_and"](inside, here)
        whole = FUNCTIONS["where"](here, at, 0).long()
        index = whole if index is None else index * n + whole
    shape = (flat.shape[0], flat.shape[1], index.shape[-1])
    found = flat.gather(2, index.unsqueeze(1).expand(shape))
    return FUNCTIONS["where"](inside.unsqueeze(1), found, 0)


def _sampled(input: Any, grid: Any, mode: str, padding_mode: str, align_corners: bool) -> Any:
    dims = input.ndim - 2
    sizes, out = tuple(input.shape[2:]), tuple(grid.shape[1:-1])
    flat = input.reshape(*input.shape[:2], prod(sizes))
    points = grid.reshape(grid.shape[0], prod(out), dims)
    at = [_unnormalised(points[..., dims - 1 - d], n, align_corners) for d, n in enumerate(sizes)]
    if mode == "bicubic":
        result = _bicubic(flat, at, sizes, padding_mode, align_corners)
    else:
        at = [_placed(x, n, padding_mode, align_corners) for x, n in zip(at, sizes, strict=True)]
        if mode == "nearest":
            result = _picked(flat, [x.round().detach() for x in at], sizes)
        else:
            floors = [x.floor().detach() for x in at]
            result = None
            for corner in np.ndindex(*(2,) * dims):
                weight: Any = None
                for x, low, up in zip(at, floors, corner, strict=True):
                    part = x - low if up else low + 1 - x
                    weight = part if weight is None else weight * part
                term = _picked(
                    flat, [low + up for low, up in zip(floors, corner, strict=True)], sizes
                ) * weight.unsqueeze(1)
                result = term if result is None else result + term
    return result.reshape(*input.shape[:2], *out)


def _cubic_weights(t: Any, a: float = -0.75) -> list:
    """Return the weights of the entries at -1, 0, 1 and 2, for cubic convolution at a fraction ``t``."""
    outer = lambda v: ((a * v - 5 * a) * v + 8 * a) * v - 4 * a
    inner = lambda v: ((a + 2) * v - (a + 3)) * v * v + 1
    return [outer(t + 1), inner(t), inner(1 - t), outer(2 - t)]


def _bicubic(flat: Any, at: list, sizes: tuple, padding_mode: str, align_corners: bool) -> Any:
    floors = [x.floor().detach() for x in at]
    rows, columns = ([w.unsqueeze(1) for w in _cubic_weights(x - low)] for x, low in zip(at, floors, strict=True))
    result = None
    for i in range(4):
        for j in range(4):
            places = [
                _placed(low + k - 1, n, padding_mode, align_corners)
                for low, k, n in zip(floors, (i, j), sizes, strict=True)
            ]
            term = _picked(flat, [p.round() for p in places], sizes) * (rows[i] * columns[j])
            result = term if result is None else result + term
    return result


@composite("grid_sample", complex=False, namespace=_F, samples=(
    sample(real(2, 2, 4, 5), unit(2, 3, 2, 2)), sample(real(1, 2, 4, 5), real(1, 3, 3, 2), align_corners=True),
    sample(real(1, 2, 4, 5), real(1, 3, 3, 2), padding_mode="border"),
    sample(real(1, 2, 4, 5), real(1, 3, 3, 2), padding_mode="reflection"),
    sample(real(1, 2, 4, 5), real(1, 3, 3, 2), padding_mode="reflection", align_corners=True),
    sample(real(1, 2, 4, 5), real(1, 3, 3, 2), "nearest"), sample(real(1, 1, 4, 5), real(1, 3, 2, 2), "nearest", "reflection"),
    sample(real(1, 2, 4, 5), real(1, 3, 3, 2), "bicubic"), sample(real(1, 1, 4, 5), real(1, 3, 2, 2), "bicubic", "border", True),
    sample(real(1, 1, 4, 5), real(1, 3, 2, 2), "bicubic", "reflection"),
    sample(real(1, 2, 3, 4, 5), unit(1, 2, 2, 2, 3)), sample(real(1, 1, 3, 4, 5), real(1, 2, 2, 2, 3), "nearest", "border"),
    sample(real(1, 1, 3, 4, 5), real(1, 2, 2, 2, 3), "bilinear", "reflection", True),
    edge(exact([[[[1.0, 2.0], [3.0, 4.0]]]]), exact([[[[-1.0, -1.0], [1.0, 1.0], [0.0, 0.0], [5.0, -5.0]]]]), align_corners=True),
))  # fmt: skip
def grid_sample(
    input: Any, grid: Any, mode: str = "bilinear", padding_mode: str = "zeros", align_corners: bool | None = None
) -> Any:
    """Images (N, C, H, W) at points (N, H', W', 2), whose coordinates (x, y) go from -1 to 1; or volumes.

    Examples
    --------
    >>> import dualtape as dt
    >>> image = dt.tensor([[[[1.0, 2.0], [3.0, 4.0]]]])
    >>> dt.nn.functional.grid_sample(image, dt.tensor([[[[0.0, 0.0]]]]))
    tensor([[[[2.5000]]]])
    """
    if mode not in ("bilinear", "nearest", "bicubic"):
        raise ValueError(f"grid_sample: expected mode to be 'bilinear', 'nearest' or 'bicubic', but got: {mode!r}")
    if padding_mode not in ("zeros", "border", "reflection"):
        raise ValueError(
            f"grid_sample: expected padding_mode to be 'zeros', 'border', or 'reflection', but got: {padding_mode!r}"
        )
    dims = input.ndim - 2
    if dims not in (2, 3) or grid.ndim != input.ndim or grid.shape[0] != input.shape[0] or grid.shape[-1] != dims:
        raise RuntimeError(
            f"grid_sample: expected images and a grid of points for each, got {list(input.shape)} and {list(grid.shape)}"
        )
    if input.dtype != grid.dtype:
        raise RuntimeError(
            f"grid_sample: expected input and grid to have same dtype, got {input.dtype!r} and {grid.dtype!r}"
        )
    if 0 in input.shape[1:]:
        raise RuntimeError(f"grid_sample: expected input to have non-empty spatial dimensions, got {list(input.shape)}")
    if mode == "bicubic" and dims == 3:
        raise RuntimeError("grid_sample: bicubic interpolation only supports 4D input")
    _warn_of_corners("grid_sample", align_corners)
    return _sampled(input, grid, mode, padding_mode, bool(align_corners))


def _level(name: str, dims: str, what: str) -> None:
    """Declare the function of ATen, whose modes are numbers."""

    def function(input: Any, grid: Any, interpolation_mode: int, padding_mode: int, align_corners: bool) -> Any:
        modes, paddings = ("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection")
        if interpolation_mode not in range(3) or padding_mode not in range(3):
            raise RuntimeError(f"{name}: modes are 0, 1 or 2, got {interpolation_mode} and {padding_mode}")
        return grid_sample(input, grid, modes[interpolation_mode], paddings[padding_mode], align_corners)

    function.__name__ = name
    function.__doc__ = f""":func:`dualtape.nn.functional.grid_sample` of {what}, its modes as numbers.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.{name}(dt.ones(1, 1, {dims}), dt.zeros(1, {dims}, {len(dims.split(","))}), 0, 0, False).sum()
    tensor({2 ** len(dims.split(","))}.)
    """
    sizes = tuple(int(n) for n in dims.split(","))
    composite(name, method=False, complex=False, samples=(
        sample(real(1, 2, *sizes), unit(1, *sizes, len(sizes)), 0, 0, False), sample(real(1, 2, *sizes), unit(1, *sizes, len(sizes)), 1, 1, True),
    ))(function)  # fmt: skip


_level("grid_sampler_2d", "2, 2", "images")
_level("grid_sampler_3d", "2, 2, 2", "volumes")
_level("grid_sampler", "2, 2", "images or volumes")
