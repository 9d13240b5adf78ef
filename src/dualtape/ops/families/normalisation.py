"""Normalisations: layer, batch and group norm as one op with different averages; and those by a vector's length.

The op returns mean and variance as outputs beside the result: its gradient needs them, and they are then computed once,
and differentiated like other outputs.
"""

from __future__ import annotations

from functools import lru_cache
from math import prod
from operator import index
from typing import Any

import numpy as np

from ... import modes
from ..._tensor import dtypes
from ...arrays.bfloat16_dtype import cast, limits
from ...arrays.kernels.basics import add_reduce
from ...arrays.kernels.fused import fused
from ...arrays.kernels.memory_order import channels_lie_last, in_rows
from ...arrays.kernels.numbers import number_array
from ...arrays.kernels.sums import BLOCK, WIDTH, row_blocks, row_step, sum_axis
from ...arrays.kernels.updates import add_outer, add_rows, product
from ...autograd.underived import refuse_history
from ..dispatch import FUNCTIONS
from ..formulas import is_whole
from ..samples import edge, exact, real, sample
from ..table import GENERAL, composite, op

_KINDS = ("layer", "batch", "group")


def _statistics(x: Any, axes: tuple, n: int) -> tuple:
    mean = add_reduce(x, axis=axes, keepdims=True) / n
    centred = x - mean
    return mean, centred, _inner(centred, centred, axes) / n


def _inner(x: Any, y: Any, axes: tuple) -> Any:
    """Return the sum of x * y over axes, which are kept."""
    if type(x) is np.ndarray and axes == (x.ndim - 1,) and x.size:
        return np.vecdot(x, y)[..., None]
    return add_reduce(x * y, axis=axes, keepdims=True)


# --- many rows, each normalised by itself ---------------------------------------------------------

# numbers in all, and in a row, from which the updates of :mod:`dualtape.arrays.kernels.updates` are worth their calls
_FEWEST, _LONG = (
    16_384,
    64,
)


def _as_rows(arrays: tuple, shape: tuple, view: tuple, axes: tuple) -> tuple[int, int] | None:
    """Return (rows, numbers in a row) if these arrays (weight and bias may be missing) are NumPy's and contiguous, and
    the weight is for the numbers in a row; else None.
    """
    first = len(shape) - len(axes)
    if view != shape[first:] or axes[0] != first or axes[-1] != len(shape) - 1:
        return None
    dtype = arrays[0].dtype
    if dtype.char not in "fd":
        return None
    for a in arrays:
        if a is not None and (type(a) is not np.ndarray or a.dtype is not dtype or not a.flags.c_contiguous):
            return None
    return prod(shape[:first]), prod(view)


def _many(size: tuple[int, int] | None) -> bool:
    return size is not None and size[1] >= _LONG and size[0] * size[1] >= _FEWEST


def _few(size: tuple[int, int] | None) -> bool:
    return size is not None and 0 < size[1] <= WIDTH and 0 < size[0] * size[1] < _FEWEST


def _far(mean: Any, variance: Any) -> bool:
    """Return whether means are so far from 0 that a difference of squares or products would lose its digits."""
    return not (mean * mean <= 4 * variance).all()


def _norm_rows(x: Any, weight: Any, bias: Any, eps: float, size: tuple) -> tuple:
    """Return x * (scale * weight) + (bias - mean * scale * weight), row by row: two outer products and a
    multiplication.
    """
    n = size[1]
    v, out, buffer = x.reshape(size), np.empty(x.shape, x.dtype), np.empty((row_step(size), n), x.dtype)
    mean = add_reduce(v, 1) / n
    variance = np.vecdot(v, v) / n - mean * mean
    shift = -mean
    if _far(mean, variance):
        v = v - mean[:, None]
        variance = np.vecdot(v, v) / n
        shift[:] = 0
    columns = np.zeros((2, n), x.dtype)
    columns[0] = 1 if weight is None else weight.reshape(n)
    columns[1] = 0 if bias is None else bias.reshape(n)
    scale = 1 / np.sqrt(variance + eps)
    factors = np.ones((size[0], 2), x.dtype)
    factors[:, 0] = shift * scale
    into = out.reshape(size)
    for rows in row_blocks(size):
        part, result = v[rows], into[rows]
        np.multiply(product(buffer[: len(part)], scale[rows, None], columns[:1]), part, result)
        product(result, factors[rows], columns, add=True)
    return out, mean, variance


def _gradient_rows(
    g: Any, g_mean: Any, g_variance: Any, v: Any, weight: Any, mean: Any, variance: Any, eps: float, change: Any
) -> None:
    """Write into change g * (scale * weight) + v * along + level, where along and level are numbers for each row."""
    n = v.shape[1]
    ones = np.ones(n, v.dtype)
    w = ones[None] if weight is None else weight.reshape(1, n)
    scale = 1 / np.sqrt(variance + eps)
    square, g_mean, g_variance = scale * scale / n, g_mean / n, 2 * g_variance / n
    buffer = np.empty((row_step(v.shape), n), v.dtype)
    for rows in row_blocks(v.shape):
        part, result, m, s = v[rows], change[rows], mean[rows], scale[rows]
        np.multiply(product(buffer[: len(m)], s[:, None], w), g[rows], result)
        sums = result.dot(ones)
        along = g_variance[rows] - square[rows] * (np.vecdot(result, part) - m * sums)
        level = g_mean[rows] - sums / n - along * m
        add_outer(result, level, ones)
        add_rows(result, along, part)


def _weight_rows(g: Any, v: Any, mean: Any, variance: Any, eps: float) -> Any:
    """Return the sum over rows of g * (v - mean) * scale."""
    scale = 1 / np.sqrt(variance + eps)
    shift = -mean * scale
    total = np.zeros(v.shape[1], v.dtype)
    buffer = np.empty((row_step(v.shape, WIDTH), v.shape[1]), v.dtype)
    for rows in row_blocks(v.shape, WIDTH):
        part = g[rows]
        total += scale[rows].dot(np.multiply(part, v[rows], buffer[: len(part)]))
        total += shift[rows].dot(part)
    return total


def _from_rows(g_out: Any, x: Any, mean: Any, variance: Any, size: tuple) -> tuple:
    """Return the gradient, the numbers, their means and variances by rows; means far from 0 are subtracted from the
    numbers.
    """
    v, mean, variance = x.reshape(size), mean.reshape(-1), variance.reshape(-1)
    if _far(mean, variance):
        v, mean = v - mean[:, None], np.zeros_like(mean)
    return g_out.reshape(size), v, mean, variance


# --- few rows: as few calls of NumPy as there can be ----------------------------------------------


@lru_cache(maxsize=64)
def _averaging(n: int, dtype: np.dtype) -> np.ndarray:
    """Return the vector by which a row of ``n`` numbers is multiplied to give its mean."""
    return np.full(n, 1 / n, dtype)


def _scale(variance: Any, eps: float) -> Any:
    """Return 1 / sqrt(variance + eps)."""
    scale = np.add(variance, number_array(eps, variance.dtype))
    return np.divide(number_array(1, variance.dtype), np.sqrt(scale, scale), scale)


def _norm_few(x: Any, weight: Any, bias: Any, eps: float, size: tuple) -> tuple:
    v, n = x.reshape(size), size[1]
    mean = v.dot(_averaging(n, v.dtype))
    out = np.subtract(v, mean[:, None])
    variance = np.vecdot(out, out)
    np.multiply(variance, number_array(1 / n, v.dtype), variance)
    np.multiply(out, _scale(variance, eps)[:, None], out)
    if weight is not None:
        np.multiply(out, weight.reshape(n), out)
    if bias is not None:
        np.add(out, bias.reshape(n), out)
    return out if out.shape == x.shape else out.reshape(x.shape), mean, variance


def _normal_few(x: Any, mean: Any, variance: Any, eps: float, size: tuple) -> tuple:
    """Return the normalised rows, and the columns they were multiplied by."""
    scale = _scale(variance.reshape(-1, 1), eps)
    normal = np.subtract(x.reshape(size), mean.reshape(-1, 1))
    return np.multiply(normal, scale, normal), scale


def _gradient_few(g_out: Any, x: Any, weight: Any, mean: Any, variance: Any, eps: float, size: tuple) -> Any:
    """Return (g - mean of g - normal * mean of g * normal) * scale, where g is the gradient times the weight."""
    normal, scale = _normal_few(x, mean, variance, eps, size)
    n, g = size[1], g_out.reshape(size)
    change = g.copy() if weight is None else np.multiply(g, weight.reshape(n))
    level = change.dot(_averaging(n, change.dtype))
    along = np.vecdot(change, normal)
    np.multiply(along, number_array(1 / n, change.dtype), along)
    np.multiply(normal, along[:, None], normal)
    np.add(normal, level[:, None], normal)
    np.subtract(change, normal, change)
    np.multiply(change, scale, change)
    return change if change.shape == x.shape else change.reshape(x.shape)


# --- large arrays: one kernel each, where kernels can be made --------------------------------------


def _nothing(*args: Any) -> None:
    """Placeholder for a kernel that does not exist."""


def _whole_norm(v: Any, weight: Any, bias: Any, axes: tuple, n: int, eps: float) -> tuple:
    mean = v.sum(axis=axes, keepdims=True) / n
    centred = v - mean
    variance = (centred * centred).sum(axis=axes, keepdims=True) / n
    out = centred * (1 / np.sqrt(variance + eps))
    if weight is not None:
        out = out * weight
    return out if bias is None else out + bias, mean, variance


def _whole_gradient(g: Any, v: Any, weight: Any, mean: Any, variance: Any, axes: tuple, n: int, eps: float) -> Any:
    scale = 1 / np.sqrt(variance + eps)
    normal = (v - mean) * scale
    if weight is not None:
        g = g * weight
    along = (g * normal).sum(axis=axes, keepdims=True) / n
    return (g - g.sum(axis=axes, keepdims=True) / n - normal * along) * scale


def _whole_weight(g: Any, v: Any, mean: Any, variance: Any, axes: tuple, eps: float) -> Any:
    return (g * ((v - mean) * (1 / np.sqrt(variance + eps)))).sum(axis=axes)


def _whole_joint(
    g: Any, v: Any, weight: Any, mean: Any, variance: Any, axes: tuple, summed: tuple, n: int, eps: float
) -> tuple:
    """Return the gradients of the numbers, the weight and the bias, with common sums computed once."""
    scale = 1 / np.sqrt(variance + eps)
    normal = (v - mean) * scale
    both = tuple([a for a in axes if a in summed])
    level, along = _left(g, both), _left(g * normal, both)
    of_bias, of_weight = (_left(each, tuple([a for a in summed if a not in both])) for each in (level, along))
    rest = tuple([a for a in axes if a not in both])
    level, along = (_left(each * weight, rest) / n for each in (level, along))
    return (g * weight - level - normal * along) * scale, of_weight, of_bias


def _left(x: Any, axes: tuple) -> Any:
    return x.sum(axis=axes, keepdims=True) if axes else x


_norm_kernel = fused(_nothing, _whole_norm)
_gradient_kernel = fused(_nothing, _whole_gradient)
_weight_kernel = fused(_nothing, _whole_weight)
_joint_kernel = fused(_nothing, _whole_joint)
_bias_kernel = fused(_nothing, lambda g, axes: g.sum(axis=axes))


def _viewed(parameter: Any, view: tuple) -> Any:
    return None if parameter is None else parameter.reshape(view)


# --- the op, over any dimensions ------------------------------------------------------------------


def _norm(x: Any, weight: Any, bias: Any, shape: tuple, view: tuple, axes: tuple, eps: float, kind: str) -> tuple:
    if type(x) is np.ndarray:
        n = max(1, prod([shape[a] for a in axes]))
        done = _norm_kernel(x.reshape(shape), _viewed(weight, view), _viewed(bias, view), axes, n, eps)
        if done is not None:
            return done[0].reshape(x.shape), done[1], done[2]
    size: Any = _as_rows((x, weight, bias), shape, view, axes) if type(x) is np.ndarray else None
    few = _few(size)
    if few or _many(size) and (weight is None or np.isfinite(weight).all()):
        out, mean, variance = (_norm_few if few else _norm_rows)(x, weight, bias, eps, size)
        kept = shape[: -len(axes)] + (1,) * len(axes)
        return out, mean.reshape(kept), variance.reshape(kept)
    v = x.reshape(shape)
    if v.dtype.itemsize == 2:  # the sums of half precision overflow
        v = v.astype(np.float32)
    mean, centred, variance = _statistics(v, axes, max(1, prod(shape[a] for a in axes)))
    centred *= 1 / np.sqrt(variance + eps)
    if weight is not None:
        centred *= weight.reshape(view)
    if bias is not None:
        centred += bias.reshape(view)
    out = centred.reshape(x.shape)
    if kind == "layer" or not channels_lie_last(x):
        out = in_rows(out)
    return out if out.dtype == x.dtype else cast(out, x.dtype), mean, variance


def _norm_gradient(
    g_out: Any,
    g_mean: Any,
    g_variance: Any,
    x: Any,
    weight: Any,
    mean: Any,
    variance: Any,
    shape: tuple,
    view: tuple,
    axes: tuple,
    eps: float,
    x_shape: tuple,
) -> Any:
    g = g_out.reshape(shape)
    if weight is not None:
        g = g * weight.reshape(view)
    n = max(1, prod(shape[a] for a in axes))
    scale = 1 / np.sqrt(variance + eps)
    centred = x.reshape(shape) - mean
    # per group: what the three outputs together send along the deviation, and along the mean
    along = 2 * g_variance - scale * scale * scale * add_reduce(g * centred, axis=axes, keepdims=True)
    level = g_mean - scale * add_reduce(g, axis=axes, keepdims=True)
    return (g * scale + centred * (along / n) + level / n).reshape(x_shape)


def _norm_gradient_arrays(
    g_out: Any,
    g_mean: Any,
    g_variance: Any,
    x: Any,
    weight: Any,
    mean: Any,
    variance: Any,
    shape: tuple,
    view: tuple,
    axes: tuple,
    eps: float,
    x_shape: tuple,
) -> Any:
    """Return :func:`_norm_gradient`, allocating a single array, some rows at a time so that intermediates stay in a
    cache.

    Gradients that did not come are None.
    """
    if g_out is None:
        g_out = np.zeros(x_shape, x.dtype)
    if g_mean is None and g_variance is None:
        n = max(1, prod([shape[a] for a in axes]))
        g, v = g_out.reshape(shape), x.reshape(shape)
        done = _gradient_kernel(g, v, _viewed(weight, view), mean, variance, axes, n, eps)
        if done is not None:
            return done.reshape(x_shape)
    size: Any = _as_rows((x, g_out, weight, mean), shape, view, axes)
    if g_mean is None and g_variance is None and _few(size):
        return _gradient_few(g_out, x, weight, mean, variance, eps, size)
    if _many(size):
        g_mean, g_variance = (np.zeros_like(mean) if each is None else each for each in (g_mean, g_variance))
        g, v, mean, variance = _from_rows(g_out, x, mean, variance, size)
        change = np.empty(x_shape, x.dtype)  # the leaf takes over what owns its memory
        _gradient_rows(
            g, g_mean.reshape(-1), g_variance.reshape(-1), v, weight, mean, variance, eps, change.reshape(size)
        )
        return change
    g, v, w = g_out.reshape(shape), x.reshape(shape), None if weight is None else weight.reshape(view)
    n = max(1, prod([shape[a] for a in axes]))
    scale = 1 / np.sqrt(variance + eps)
    change = np.empty(shape, v.dtype if v.dtype is mean.dtype else np.result_type(v, mean))
    for rows in [slice(None)] if 0 in axes or v.size < BLOCK else row_blocks(shape):
        part = np.subtract(v[rows], mean[rows], change[rows])
        scaled = g[rows] * scale[rows]
        if w is not None:
            scaled *= w
        along = scale[rows] * scale[rows] * _inner(scaled, part, axes)
        level = add_reduce(scaled, axis=axes, keepdims=True)
        if g_variance is not None:
            along -= 2 * g_variance[rows]
        if g_mean is not None:
            level -= g_mean[rows]
        part *= along / -n
        part -= level / n
        part += scaled
    return change if shape == x_shape else change.reshape(x_shape)


def _summed(shape: tuple, view: tuple) -> tuple:
    """Return the dimensions along which a parameter that is viewed as ``view`` was broadcast to ``shape``."""
    lead = len(shape) - len(view)
    return (*range(lead), *(lead + i for i, n in enumerate(view) if n == 1))


def _to_parameter(v: Any, view: tuple, shape: tuple) -> Any:
    """Return ``v`` summed over the dimensions along which a parameter of ``shape``, viewed as ``view``, was
    broadcast.
    """
    axes = _summed(v.shape, view)
    return add_reduce(v, axis=axes).reshape(shape) if axes else v.reshape(shape)


def _weight_gradient(
    g_out: Any, x: Any, mean: Any, variance: Any, shape: tuple, view: tuple, eps: float, weight_shape: tuple
) -> Any:
    normal = (x.reshape(shape) - mean) * (1 / np.sqrt(variance + eps))
    return _to_parameter(g_out.reshape(shape) * normal, view, weight_shape)


def _weight_gradient_arrays(
    g_out: Any, x: Any, mean: Any, variance: Any, shape: tuple, view: tuple, eps: float, weight_shape: tuple
) -> Any:
    """Return :func:`_weight_gradient`, computed in place, and some rows at a time where there are many."""
    if g_out is None:
        return np.zeros(weight_shape, x.dtype)
    done = _weight_kernel(g_out.reshape(shape), x.reshape(shape), mean, variance, _summed(shape, view), eps)
    if done is not None:
        return done.reshape(weight_shape)
    size: Any = _as_rows((x, g_out, mean), shape, view, tuple(range(len(shape) - len(view), len(shape))))
    if mean.shape != (*shape[: -len(view)], *(1,) * len(view)):  # it is one for each column
        size = None
    if _few(size):
        normal = _normal_few(x, mean, variance, eps, size)[0]
        normal *= g_out.reshape(size)
        return sum_axis(normal, 0).reshape(weight_shape)
    if _many(size):
        g, v, *moments = _from_rows(g_out, x, mean, variance, size)
        total = _weight_rows(g, v, moments[0], moments[1], eps)
        # Otherwise an infinite gradient may have met one of the other sign.
        if np.isfinite(total).all():
            return total.reshape(weight_shape)
    normal = x.reshape(shape) - mean
    normal *= 1 / np.sqrt(variance + eps)
    normal *= g_out.reshape(shape)
    return _to_parameter(normal, view, weight_shape)


def _bias_gradient_arrays(g_out: Any, shape: tuple, view: tuple, bias_shape: tuple) -> Any:
    if g_out is None:
        return None
    done = _bias_kernel(g_out.reshape(shape), _summed(shape, view))
    if done is not None:
        return done.reshape(bias_shape)
    if len(view) == 1 and len(shape) == 2:
        return sum_axis(g_out.reshape(shape), 0).reshape(bias_shape)
    return _to_parameter(g_out.reshape(shape), view, bias_shape)


def _gradients_jointly(
    g_out: Any, g_mean: Any, g_variance: Any, x: Any, weight: Any, mean: Any, variance: Any, shape: tuple, view: tuple,
    axes: tuple, eps: float, x_shape: tuple, weight_shape: tuple, bias_shape: tuple,
) -> tuple | None:  # fmt: skip
    """Return all three gradients by one kernel, or None if there is none."""
    if g_out is None or g_mean is not None or g_variance is not None or weight is None:
        return None
    n, viewed = max(1, prod([shape[a] for a in axes])), (1,) * (len(shape) - len(view)) + view
    done = _joint_kernel(
        g_out.reshape(shape),
        x.reshape(shape),
        weight.reshape(viewed),
        mean,
        variance,
        axes,
        _summed(shape, view),
        n,
        eps,
    )
    if done is None:
        return None
    return done[0].reshape(x_shape), done[1].reshape(weight_shape), done[2].reshape(bias_shape)


_native_norm = op("native_norm", _norm, kind=GENERAL, public=False, method=False, outputs=("out", "mean", "variance"),
    torch_name="-", complex=False,
   node=("NativeLayerNormBackward0", "NativeBatchNormBackward0", "NativeGroupNormBackward0"),
   variant=lambda x, weight, bias, shape, view, axes, eps, kind: _KINDS.index(kind),
   vjp=dict(x=_norm_gradient, weight=_weight_gradient, bias=lambda g_out, shape, view,
       bias_shape: _to_parameter(g_out.reshape(shape), view, bias_shape)),
   numpy_vjp=dict(x=_norm_gradient_arrays, weight=_weight_gradient_arrays, bias=_bias_gradient_arrays),
   numpy_joint=_gradients_jointly,
   samples=(sample(real(3, 4), real(4), real(4), (3, 4), (4,), (1,), 1e-5, "layer"),
       sample(real(2, 4, 3), real(4), real(4), (2, 2, 2, 3),
   (1, 2, 2, 1), (2, 3), 1e-5, "group")),
   doc="""Deviations from the mean in units of the standard deviation, scaled and shifted; the mean; the variance.
   """)  # fmt: skip


@composite("layer_norm", method=False, complex=False, torch_name="nn.functional.layer_norm", also=("nn.functional.layer_norm",), samples=(
    sample(real(3, 4), (4,)), sample(real(2, 3, 4), (3, 4), real(3, 4), real(3, 4)), sample(real(3, 4), [4], real(4)),
    sample(real(3, 4), (4,), None, real(4)),
    sample(real(3, 4, layout="F"), (4,), eps=0.1), sample(real(0, 4), (4,), real(4), real(4)),
))  # fmt: skip
def layer_norm(input: Any, normalized_shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    """The last dimensions brought to mean 0 and variance 1, then scaled and shifted.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.functional.layer_norm(dt.tensor([[1.0, 3.0]]), (2,))
    tensor([[-1.0000,  1.0000]])
    """
    tail = (index(normalized_shape),) if is_whole(normalized_shape) else tuple(normalized_shape)
    shape = tuple(input.shape)
    if not tail or shape[len(shape) - len(tail) :] != tail or len(tail) > len(shape):
        raise RuntimeError(
            f"layer_norm: given normalized_shape={list(tail)}, expected input with shape [*, {tail}], got {list(shape)}"
        )
    for name, value in (("weight", weight), ("bias", bias)):
        if value is not None and tuple(value.shape) != tail:
            raise RuntimeError(
                f"layer_norm: expected {name} to be of the same shape as normalized_shape {list(tail)}, got"
                f" {list(value.shape)}"
            )
    return _native_norm(
        input, weight, bias, shape, tail, tuple(range(len(shape) - len(tail), len(shape))), eps, "layer"
    )[0]


@composite("group_norm", method=False, complex=False, torch_name="nn.functional.group_norm", also=("nn.functional.group_norm",), samples=(
    sample(real(2, 4, 3), 2), sample(real(2, 6, 2, 2), 3, real(6), real(6)), sample(real(2, 4), 2, real(4)),
))  # fmt: skip
def group_norm(input: Any, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    """Groups of channels brought to mean 0 and variance 1, then each channel scaled and shifted.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.functional.group_norm(dt.tensor([[1.0, 3.0, 2.0, 2.0]]), 2)
    tensor([[-1.0000,  1.0000,  0.0000,  0.0000]])
    """
    if input.ndim < 2 or num_groups < 1 or input.shape[1] % num_groups:
        raise RuntimeError(
            "group_norm: expected number of channels in input to be divisible by num_groups, but got input of shape"
            f" {list(input.shape)}"
            f" and num_groups={num_groups}"
        )
    n, c, *rest = input.shape
    shape, view = (n, num_groups, c // num_groups, prod(rest)), (1, num_groups, c // num_groups, 1)
    return _native_norm(input, weight, bias, shape, view, (2, 3), eps, "group")[0]


def _running(x: Any, weight: Any, bias: Any, mean: Any, variance: Any, view: tuple, eps: float) -> Any:
    out = (x - mean.reshape(view)) * (1 / np.sqrt(variance.reshape(view) + eps))
    if weight is not None:
        out = out * weight.reshape(view)
    out = out if bias is None else out + bias.reshape(view)
    return out if out.dtype == x.dtype else cast(out, x.dtype)


def _running_scale(weight: Any, variance: Any, view: tuple, eps: float) -> Any:
    scale = 1 / np.sqrt(variance.reshape(view) + eps)
    return scale if weight is None else scale * weight.reshape(view)


def _running_normal(x: Any, mean: Any, variance: Any, view: tuple, eps: float) -> Any:
    return (x - mean.reshape(view)) * _running_scale(None, variance, view, eps)


_batch_norm_eval = op("batch_norm_eval", _running, kind=GENERAL, public=False, method=False, torch_name="-",
    complex=False, node="NativeBatchNormBackward0",
   constants=("mean", "variance"),
   vjp=dict(x=lambda g, weight, variance, view, eps: g * _running_scale(weight, variance, view, eps),
            weight=lambda g, x, mean, variance, view, eps,
            weight_shape: _to_parameter(g * _running_normal(x, mean, variance, view, eps), view, weight_shape),
            bias=lambda g, view, bias_shape: _to_parameter(g, view, bias_shape)),
   jvp=dict(x=lambda t, weight, variance, view, eps: t * _running_scale(weight, variance, view, eps),
            weight=lambda t, x, mean, variance, view,
            eps: t.reshape(view) * _running_normal(x, mean, variance, view, eps),
            bias=lambda t, out, view: np.broadcast_to(t.reshape(view), out.shape)),
   samples=(sample(real(2, 3, 2), real(3), real(3), np.array([0.1, 0.2, -0.3]), np.array([1.0, 0.5, 2.0]), (3, 1),
       1e-5),),
   doc="""Batch norm with fixed mean and variance.""")  # fmt: skip


@composite("batch_norm", method=False, complex=False, torch_name="nn.functional.batch_norm", also=("nn.functional.batch_norm",), samples=(
    sample(real(4, 3), None, None, training=True),
    sample(real(2, 3, 2, 2), None, None, real(3), real(3), training=True),
    sample(real(3, 2, 4), None, None, real(2), training=True),
))  # fmt: skip
def batch_norm(
    input: Any,
    running_mean: Any,
    running_var: Any,
    weight: Any = None,
    bias: Any = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Any:
    """Each channel brought to mean 0 and variance 1, then scaled and shifted.

    In training, by the batch's own mean and variance, which also move the running ones; else by the running ones.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.functional.batch_norm(dt.tensor([[1.0], [3.0]]), None, None, training=True)
    tensor([[-1.0000],
            [ 1.0000]])
    """
    if input.ndim < 2:
        raise RuntimeError(f"batch_norm: expected an input of at least 2 dimensions, got {list(input.shape)}")
    shape = tuple(input.shape)
    c = shape[1]
    for name, value in (
        ("running_mean", running_mean),
        ("running_var", running_var),
        ("weight", weight),
        ("bias", bias),
    ):
        if value is not None and tuple(value.shape) != (c,):
            raise RuntimeError(f"batch_norm: {name} should contain {c} elements not {value.numel()}")
    refuse_history("batch_norm", running_mean=running_mean, running_var=running_var)
    view = (c,) + (1,) * (len(shape) - 2)
    if not training:
        if running_mean is None or running_var is None:
            raise RuntimeError("batch_norm: expected running_mean and running_var to be defined when training=False")
        return _batch_norm_eval(input, weight, bias, running_mean.detach(), running_var.detach(), view, eps)
    n = input.numel() // c if c else 0
    if not input.numel():
        # nothing to normalise, and nothing to learn of; weight and bias get gradients of zero
        scaled = input if weight is None else input * weight.reshape(view)
        return scaled.clone() if bias is None else scaled + bias.reshape(view)
    if n <= 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {list(shape)}")
    out, mean, variance = _native_norm(input, weight, bias, shape, view, (0, *range(2, len(shape))), eps, "batch")
    with modes.no_grad():
        for running, value, share in ((running_mean, mean, momentum), (running_var, variance, momentum * n / (n - 1))):
            if running is not None:
                running.mul_(1 - momentum).add_(value.reshape(c), alpha=share)
    return out


@composite("instance_norm", complex=False,
    namespace="nn.functional", samples=(
    sample(real(2, 3, 4)), sample(real(2, 3, 2, 2), None, None, real(3), real(3)),
))  # fmt: skip
def instance_norm(
    input: Any, running_mean: Any = None, running_var: Any = None, weight: Any = None, bias: Any = None,
    use_input_stats: bool = True, momentum: float = 0.1,
    eps: float = 1e-5,
) -> Any:  # fmt: skip
    """Each channel of each sample brought to mean 0 and variance 1, then scaled and shifted.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.functional.instance_norm(dt.tensor([[[1.0, 3.0]]]))
    tensor([[[-1.0000,  1.0000]]])
    """
    n, c = input.shape[:2]
    if not use_input_stats or not input.numel():
        return batch_norm(input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps)
    repeated = [None if v is None else v.repeat(n) for v in (running_mean, running_var, weight, bias)]
    out = batch_norm(input.reshape((1, n * c, *input.shape[2:])), *repeated, True, momentum, eps)
    with modes.no_grad():
        running: Any
        for running, many in ((running_mean, repeated[0]), (running_var, repeated[1])):
            if running is not None and many is not None:
                running.copy_(many.reshape(n, c).mean(0))
    return out.reshape(input.shape)


@composite("rms_norm", method=False, torch_name="nn.functional.rms_norm", complex=False, also=("nn.functional.rms_norm",), samples=(
    sample(real(3, 4), (4,)), sample(real(2, 3, 4), (3, 4), real(3, 4)), sample(real(3, 4), (4,), real(4), 0.1),
))  # fmt: skip
def rms_norm(input: Any, normalized_shape: Any, weight: Any = None, eps: float | None = None) -> Any:
    """The last dimensions divided by the root of their mean square, then scaled.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.functional.rms_norm(dt.tensor([[1.0, 7.0]]), (2,))
    tensor([[0.2000, 1.4000]])
    """
    tail = (index(normalized_shape),) if is_whole(normalized_shape) else tuple(normalized_shape)
    if tuple(input.shape[input.ndim - len(tail) :]) != tail:
        raise RuntimeError(
            f"rms_norm: given normalized_shape={list(tail)}, expected input with shape [*, {tail}], got"
            f" {list(input.shape)}"
        )
    input = input.contiguous()
    # the squares of half precision overflow in it, and its eps would be larger than many means
    wide = input.float() if input._array.dtype.itemsize == 2 else input
    small = float(limits(wide._array.dtype).eps) if eps is None else eps
    out = wide * ((wide * wide).mean(tuple(range(-len(tail), 0)), keepdim=True) + small).rsqrt()
    return (out if weight is None else out * weight).type_as(input)


# --- by a vector's length -------------------------------------------------------------------------


@composite("normalize", namespace="nn.functional", samples=(
    sample(real(3, 4)), sample(real(3, 4), 1.0, 0), sample(real(4), 2.0, 0), sample(real(2, 3, 2), dim=-1),
    edge(exact([[3.0, 4.0], [1e-13, 0.0]])),
))  # fmt: skip
def normalize(input: Any, p: float = 2.0, dim: Any = 1, eps: float = 1e-12) -> Any:
    """Vectors along ``dim`` divided by their norm, or by ``eps`` if that is larger.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.functional.normalize(dt.tensor([[3.0, 4.0]]))
    tensor([[0.6000, 0.8000]])
    """
    length = input.norm(p, dim, keepdim=True)
    return input / FUNCTIONS["clamp"](length, eps).expand_as(input)


@composite("cosine_similarity", method=False, torch_name="nn.functional.cosine_similarity", complex=False, also=("nn.functional.cosine_similarity",), samples=(
    sample(real(3, 4), real(3, 4)), sample(real(3, 4), real(4), dim=-1), sample(real(4), real(4), 0),
))  # fmt: skip
def cosine_similarity(x1: Any, x2: Any, dim: int = 1, eps: float = 1e-8) -> Any:
    """The cosines of the angles between vectors along ``dim``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.cosine_similarity(dt.tensor([3.0, 4.0]), dt.tensor([4.0, 3.0]), dim=0)
    tensor(0.9600)
    """
    shape = np.broadcast_shapes(tuple(x1.shape), tuple(x2.shape))
    dtype = dtypes.of(dtypes.result_dtype([x1._array, x2._array]))
    x1, x2 = x1.expand(shape).to(dtype), x2.expand(shape).to(dtype)
    units = [x / FUNCTIONS["clamp"](FUNCTIONS["norm"](x, 2, dim, keepdim=True), eps) for x in (x1, x2)]
    return (units[0] * units[1]).sum(dim)


@composite("pairwise_distance", method=False, torch_name="nn.functional.pairwise_distance", complex=False, also=("nn.functional.pairwise_distance",), samples=(
    sample(real(3, 4), real(3, 4)), sample(real(3, 4), real(4), p=1.0, keepdim=True),
))  # fmt: skip
def pairwise_distance(x1: Any, x2: Any, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Any:
    """The norm of the difference of vectors along the last dimension.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.pairwise_distance(dt.tensor([[3.0, 4.0]]), dt.zeros(1, 2))
    tensor([5.0000])
    """
    return FUNCTIONS["norm"](x1 - x2 + eps, p, -1, keepdim=keepdim)
