"""Parts of networks: linear layers, embeddings, dropout, padding, attention."""

from __future__ import annotations

from math import prod, sqrt
from typing import Any

import numpy as np

from ... import modes
from ..._tensor import dtypes
from ..._tensor.tensor import new_tensor, raw, wrap
from ...arrays.bfloat16_dtype import cast
from ...arrays.kernels.basics import add_at, all_samples, arange_like, asarray_like
from ...arrays.kernels.memory_order import keeps_channels_last
from ...errors import warn
from ...overrides.active_overrides import explaining, overridable
from ..dispatch import FUNCTIONS
from ..formulas import use, zeros_like_shape
from ..samples import edge, exact_index, exact_mask, ints, real, sample
from ..table import CONTRACTION, GENERAL, LINEAR, composite, op

# --- linear ---------------------------------------------------------------------------------------


def _fits(x: Any, weight: Any) -> None:
    if not x.ndim or weight.ndim != 2 or x.shape[-1] != weight.shape[1]:
        raise RuntimeError(
            f"linear: mat1 and mat2 shapes cannot be multiplied: the input has {list(x.shape)}, the weight"
            f" {list(weight.shape)}; the last size of both must be the same"
        )
    if x.dtype != weight.dtype:
        raise RuntimeError(
            f"linear: input and weight must have the same dtype, but got {x.dtype} and {weight.dtype}: convert one with"
            " x.to(weight.dtype), or the module with module.to(x.dtype)"
        )


def _linear(x: Any, weight: Any) -> Any:
    _fits(x, weight)
    return np.dot(x, weight.T)


def _affine(bias: Any, x: Any, weight: Any) -> Any:
    _fits(x, weight)
    if bias.dtype != x.dtype or bias.ndim > 1:
        raise RuntimeError(
            f"linear: expected a bias of one dimension and {x.dtype}, got {list(bias.shape)} of {bias.dtype}"
        )
    out = np.dot(x, weight.T)
    out += bias
    return out


_linear_op = op("linear_product", _linear, kind=CONTRACTION, public=False, method=False, node="MmBackward0",
    torch_name="-",
   vjp=dict(x=lambda g, weight: np.dot(g, weight.conj()), weight=lambda g, x: np.dot(g.T, x.conj())),
   numpy_vjp=dict(x=lambda g, weight: g.dot(weight.conj()), weight=lambda g, x: g.T.dot(x.conj())),
   jvp=dict(x=lambda t, weight: np.dot(t, weight.T), weight=lambda t, x: np.dot(x, t.T)),
   samples=(sample(real(3, 4), real(2, 4)),), doc="x @ weight.T")  # fmt: skip
_affine_op = op("linear_affine", _affine, kind=GENERAL, public=False, method=False, node="AddmmBackward0",
    torch_name="-",
   vjp=dict(bias=lambda g: g, x=lambda g, weight: np.dot(g, weight.conj()), weight=lambda g, x: np.dot(g.T, x.conj())),
   numpy_vjp=dict(x=lambda g, weight: g.dot(weight.conj()), weight=lambda g, x: g.T.dot(x.conj())),
   jvp=dict(bias=lambda t, out: np.broadcast_to(t, out.shape), x=lambda t, weight: np.dot(t, weight.T), weight=lambda t,
       x: np.dot(x, t.T)),
   samples=(sample(real(2), real(3, 4), real(2, 4)),), doc="x @ weight.T + bias")  # fmt: skip


@composite("linear", namespace="nn.functional", samples=(
    sample(real(3, 4), real(2, 4)), sample(real(3, 4), real(2, 4), real(2)), sample(real(4), real(2, 4), real(2)),
    sample(real(4), real(2, 4)),
    sample(real(2, 3, 4), real(5, 4), real(5)), sample(real(2, 3, 4), real(5, 4)), sample(real(3, 4), real(4)),
    sample(real(0, 4), real(2, 4), real(2)),
    sample(real(3, 4, layout="F"), real(2, 4, layout="strided"), real(2)),
))  # fmt: skip
def linear(input: Any, weight: Any, bias: Any = None) -> Any:
    """``input @ weight.T + bias``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.functional.linear(dt.tensor([[1.0, 2.0]]), dt.tensor([[3.0, 4.0]]), dt.tensor([0.5]))
    tensor([[11.5000]])
    """
    if weight.ndim == 1:
        out = FUNCTIONS["matmul"](input, weight)
        return out if bias is None else out + bias
    if weight.ndim != 2 or input.ndim == 0:
        raise RuntimeError(
            f"linear: expected a weight of 2 dimensions and an input of at least 1, got {list(weight.shape)} and"
            f" {list(input.shape)}"
        )
    if input.ndim == 2:
        return _linear_op(input, weight) if bias is None else _affine_op(bias, input, weight)
    lead = tuple(input.shape[:-1])
    flat = input.reshape((prod(lead), input.shape[-1]))
    out = _linear_op(flat, weight) if bias is None else _affine_op(bias, flat, weight)
    return out.reshape((*lead, weight.shape[0]))


@composite("bilinear", method=False, torch_name="nn.functional.bilinear", also=("nn.functional.bilinear",), samples=(
    sample(real(3, 4), real(3, 2), real(5, 4, 2), real(5)), sample(real(2, 3, 4), real(2, 3, 2), real(5, 4, 2)),
))  # fmt: skip
def bilinear(input1: Any, input2: Any, weight: Any, bias: Any = None) -> Any:
    """``input1 @ weight[k] @ input2`` for each k, plus a bias.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.functional.bilinear(dt.ones(1, 2), dt.ones(1, 3), dt.ones(1, 2, 3))
    tensor([[6.]])
    """
    out = FUNCTIONS["einsum"]("...i,kij,...j->...k", input1, weight, input2)
    return out if bias is None else out + bias


# --- look-ups -------------------------------------------------------------------------------------


def _embedding(
    weight: Any, indices: Any, padding_idx: int = -1, scale_grad_by_freq: bool = False, sparse: bool = False
) -> Any:
    if weight.ndim != 2:
        raise RuntimeError(f"embedding: 'weight' must be 2-D, got {list(weight.shape)}")
    if indices.dtype.kind not in "iu":
        raise RuntimeError(
            f"embedding: expected tensor for argument 'indices' to have an integer type, got {indices.dtype}"
        )
    seen = all_samples(indices)
    if seen.size and (seen.min() < 0 or seen.max() >= weight.shape[0]):
        raise IndexError(
            f"embedding: index out of range in self: indices are {seen.min()} to {seen.max()}, the table has"
            f" {weight.shape[0]} rows"
        )
    return weight[indices]


def _embedding_sum(x: Any, indices: Any, rows: int, padding_idx: int, scale_grad_by_freq: bool) -> Any:
    """Return the rows of ``x`` summed by their index."""
    width = x.shape[-1]
    out = zeros_like_shape((rows, width), x)
    flat, values = indices.reshape(-1), x.reshape(indices.size, width)
    if padding_idx >= 0:
        keep = flat != padding_idx
        if type(x) is np.ndarray:
            flat, values = flat[keep], values[keep]
        else:  # as many for each sample of a batch
            values = np.where(keep[:, None], values, 0)
    if not flat.size:
        return out
    if type(x) is not np.ndarray:
        add_at(out, flat, values)
        return (
            out / cast(np.maximum(np.bincount(flat, minlength=rows), 1), x.dtype)[:, None]
            if scale_grad_by_freq
            else out
        )
    order = np.argsort(flat, kind="stable")  # equal indices side by side: then each run is one sum
    flat = flat[order]
    starts = np.concatenate([np.zeros(1, np.intp), np.flatnonzero(flat[1:] != flat[:-1]) + 1])
    sums = np.add.reduceat(values[order], starts, axis=0)
    if scale_grad_by_freq:
        sums = sums / np.diff(np.append(starts, flat.size)).astype(x.dtype)[:, None]
    out[flat[starts]] = sums
    return out


def _embedding_rows(g: Any, indices: Any, padding_idx: int, scale_grad_by_freq: bool) -> Any:
    if scale_grad_by_freq:
        raise RuntimeError("embedding: double backward is not supported with scale_grad_by_freq=True")
    out = use("embedding")(g, indices)
    return np.where((indices == padding_idx).reshape((*indices.shape, 1)), 0, out) if padding_idx >= 0 else out


def _sparse_rows(g: Any, indices: Any, shape: tuple, padding_idx: int) -> Any:
    from ...sparse import coo

    return coo.rows(g, indices, shape, padding_idx)


_embedding_op = op("embedding", _embedding, kind=GENERAL, whole=True, method=False, constants=("indices",), jvp=LINEAR,
    complex=None,
   vjp=dict(weight=lambda g, indices, weight_shape, padding_idx, scale_grad_by_freq,
       sparse: _sparse_rows(g, indices, weight_shape, padding_idx) if sparse
                else use("embedding_sum")(g, indices, weight_shape[0], padding_idx, scale_grad_by_freq)),
   samples=(sample(real(4, 3), exact_index([1, 1, 3])), sample(real(4, 3), ints(2, 2, high=4)),
       sample(real(4, 3), ints(0, high=4)),
   sample(real(4, 3), exact_index(2))),
   doc="""The rows of a table that indices name.

   >>> import dualtape as dt
   >>> dt.embedding(dt.tensor([[1.0], [2.0]]), dt.tensor([1, 0, 1]))
   tensor([[2.],
           [1.],
           [2.]])
   """)  # fmt: skip
op("embedding_sum", _embedding_sum, kind=GENERAL, public=False, method=False, constants=("indices",), jvp=LINEAR,
    complex=None,
   node="EmbeddingBackwardBackward0",
   torch_name="-", vjp=dict(x=lambda g, indices, padding_idx, scale_grad_by_freq: _embedding_rows(g, indices, padding_idx, scale_grad_by_freq)),
   samples=(sample(real(3, 2), exact_index([1, 1, 3]), 4, -1, False),
       sample(real(3, 2), exact_index([1, 1, 3]), 4, 3, False)),
   doc="""Rows added up by index.""")  # fmt: skip


@composite("nn_embedding", method=False, public=False, complex=False, torch_name="nn.functional.embedding", also=("nn.functional.embedding",), samples=(
    sample(exact_index([1, 1, 3]), real(4, 3)), edge(ints(2, 3, high=4), real(4, 2), padding_idx=1),
    edge(exact_index([1, 1, 3]), real(4, 3), padding_idx=-1),
    edge(exact_index([1, 1, 3]), real(4, 3), scale_grad_by_freq=True),
))  # fmt: skip
def nn_embedding(
    input: Any, weight: Any, padding_idx: int | None = None, max_norm: float | None = None, norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Any:  # fmt: skip
    """The rows of ``weight`` that the indices in ``input`` name; the row ``padding_idx`` gets no gradient.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.functional.embedding(dt.tensor([1, 0]), dt.tensor([[1.0], [2.0]]))
    tensor([[2.],
            [1.]])
    """
    rows = weight.shape[0]
    if padding_idx is None:
        padding_idx = -1
    elif not -rows <= padding_idx < rows:
        raise AssertionError(f"Padding_idx must be within num_embeddings: {padding_idx} for {rows} rows")
    elif padding_idx < 0:
        padding_idx += rows
    if max_norm is not None:
        _renormalise(weight, input, max_norm, norm_type)
    return _embedding_op(weight, input, padding_idx, scale_grad_by_freq, sparse)


def _renormalise(weight: Any, indices: Any, max_norm: float, norm_type: float) -> None:
    """Scale the rows in use that are longer than ``max_norm``, in place."""
    used = np.unique(indices._array)
    with modes.no_grad():
        table = weight.detach()
        rows = table._array[used]
        size = np.absolute(rows)
        if size.dtype == np.float16:  # whose powers overflow
            size = size.astype(np.float32)
        if norm_type == np.inf:
            length = size.max(axis=1, keepdims=True)
        else:
            length = (size**norm_type).sum(axis=1, keepdims=True) ** (1 / norm_type)
        table[wrap(used)] = wrap(
            np.where(length > max_norm, rows * (max_norm / (length + 1e-7)), rows).astype(rows.dtype)
        )


@composite("one_hot", complex=False, namespace="nn.functional", samples=(
    edge(exact_index([0, 2])), edge(exact_index([[0], [1]]), 4), edge(exact_index(1), num_classes=2),
))  # fmt: skip
def one_hot(tensor: Any, num_classes: int = -1) -> Any:
    """Integers as rows of zeros with a single 1.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.functional.one_hot(dt.tensor([0, 2]))
    tensor([[1, 0, 0],
            [0, 0, 1]])
    """
    indices = tensor._array
    if indices.dtype.kind not in "iu":
        raise RuntimeError(f"one_hot is only applicable to index tensor of type int64, got {indices.dtype}")
    if not indices.size and num_classes <= 0:
        raise RuntimeError("one_hot: can not infer total number of classes from empty tensor; pass num_classes")
    if indices.size and indices.min() < 0:
        raise RuntimeError("one_hot: class values must be non-negative.")
    most = int(indices.max()) if indices.size else -1
    classes = most + 1 if num_classes == -1 else num_classes
    if most >= classes:
        raise RuntimeError(
            f"one_hot: class values must be smaller than num_classes, got {most} with num_classes={classes}"
        )
    return new_tensor((indices[..., None] == arange_like(classes, indices)).astype(np.int64))


# --- dropout --------------------------------------------------------------------------------------


def _kept(p: float, shape: tuple, like: Any) -> Any:
    """Return a mask of the entries to keep, scaled so that the mean is preserved."""
    from ...random import generator

    if p == 1.0:
        return wrap(zeros_like_shape(shape, like))
    dtype = like.dtype
    return wrap(asarray_like(cast(generator.source(None).random(shape) >= p, dtype) * dtype.type(1 / (1 - p)), like))


@composite("dropout", method=False, torch_name="nn.functional.dropout", also=("nn.functional.dropout",), samples=(
    sample(real(3, 4), 0.5, False), sample(real(3, 4), 0.0), sample(real(3, 4), 1.0),
))  # fmt: skip
def dropout(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """In training, entries set to zero with probability ``p``, the others divided by ``1 - p``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.functional.dropout(dt.ones(3), training=False)
    tensor([1., 1., 1.])
    """
    return _dropped("dropout", input, p, training, inplace, tuple(input.shape))


def _dropped(name: str, input: Any, p: float, training: bool, inplace: bool, shape: tuple) -> Any:
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"{name}: dropout probability has to be between 0 and 1, but got {p}")
    if not training or p == 0:
        return input
    mask = _kept(float(p), shape, input._array)
    return input.mul_(mask) if inplace else input * mask


def dropout_(input: Any, p: float, train: bool) -> Any:
    """In-place form of :func:`dropout`.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.dropout_(dt.ones(3), 1.0, True)
    tensor([0., 0., 0.])
    """
    return _dropped("dropout_", input, p, train, True, tuple(input.shape))


FUNCTIONS["dropout_"] = overridable(explaining(dropout_, "dropout_"))


@composite(
    "dropout2d",
    namespace="nn.functional",
    samples=(sample(real(2, 3, 2, 2), 0.5, False), sample(real(2, 3, 2, 2), 1.0)),
)
def dropout2d(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """In training, whole channels of images (N, C, H, W) set to zero with probability ``p``, the others divided by ``1
    - p``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.functional.dropout2d(dt.ones(1, 2, 1, 1), training=False).shape
    dualtape.Size([1, 2, 1, 1])
    """
    if input.ndim < 2 and training and p and input.numel():
        raise RuntimeError(
            f"dropout2d: Feature dropout requires at least 2 dimensions in the input, got {list(input.shape)}"
        )
    if input.ndim not in (3, 4):
        warn(f"dropout2d: expected channels of images, 3D or 4D input, but received a {input.ndim}D input: use dropout")
    elif input.ndim == 3:
        warn(
            "dropout2d: a 3D input is taken for signals (N, C, L), as PyTorch does: use dropout1d for them, and a batch"
            " of one for an image (C, H, W)"
        )
    return _dropped("dropout2d", input, p, training, inplace, (*input.shape[:2], *(1,) * (input.ndim - 2)))


# --- padding --------------------------------------------------------------------------------------


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


_take_op = op("take_axes", _take_axes, kind=GENERAL, public=False, method=False, jvp=LINEAR, torch_name="-",
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
    return _take_op(input, places, kinds.index(mode) * 3 + dims - 1)


def _shuffled(x: Any, upscale_factor: int) -> Any:
    *lead, c, h, w = x.shape
    r, n = upscale_factor, x.ndim - 3
    if c % (r * r):
        raise RuntimeError(
            "pixel_shuffle: expects its input's 'channel' dimension to be divisible by the square of upscale_factor,"
            f" got {c} and {r}"
        )
    split = x.reshape((*lead, c // (r * r), r, r, h, w))
    return (
        np.transpose(split, (*range(n), n, n + 3, n + 1, n + 4, n + 2))
        .copy()
        .reshape((*lead, c // (r * r), h * r, w * r))
    )


def _unshuffled(g: Any, x_shape: tuple, upscale_factor: int) -> Any:
    *lead, c, h, w = x_shape
    r, n = upscale_factor, len(lead)
    split = g.reshape((*lead, c // (r * r), h, r, w, r))
    return np.transpose(split, (*range(n), n, n + 2, n + 4, n + 1, n + 3)).reshape(x_shape)


op("pixel_shuffle", _shuffled, also=("nn.functional.pixel_shuffle",), kind=GENERAL, method=False, jvp=LINEAR, torch_name="nn.functional.pixel_shuffle",
   vjp=dict(x=_unshuffled), samples=(sample(real(2, 8, 2, 3), 2), sample(real(4, 2, 1), 2), sample(real(1, 9, 1, 2), 3)),
   doc="""Channels (C * r * r, H, W) rearranged into a finer image (C, H * r, W * r).

   >>> import dualtape as dt
   >>> dt.pixel_shuffle(dt.ones(1, 4, 2, 2), 2).shape
   dualtape.Size([1, 1, 4, 4])
   """)  # fmt: skip


# --- attention ------------------------------------------------------------------------------------


@composite("scaled_dot_product_attention", complex=False, namespace="nn.functional", samples=(
    sample(real(2, 3, 4), real(2, 5, 4), real(2, 5, 6)),
    sample(real(2, 2, 3, 4), real(2, 2, 3, 4), real(2, 2, 3, 4), is_causal=True),
    sample(real(2, 3, 4), real(2, 3, 4), real(2, 3, 4),
        exact_mask([[True, False, True], [False, False, False], [True, True, True]])),
    sample(real(3, 4), real(5, 4), real(5, 2), real(3, 5), scale=0.3),
))  # fmt: skip
def scaled_dot_product_attention(
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Any:
    """``softmax(query @ key.mT * scale + mask) @ value``; queries whose keys are all masked give zeros.

    Examples
    --------
    >>> import dualtape as dt
    >>> q = dt.zeros(1, 2)
    >>> dt.nn.functional.scaled_dot_product_attention(q, dt.ones(2, 2), dt.tensor([[1.0], [3.0]]))
    tensor([[2.]])
    """
    if is_causal and attn_mask is not None:
        raise RuntimeError("scaled_dot_product_attention: explicit attn_mask should not be set when is_causal=True")
    if enable_gqa:
        key = FUNCTIONS["repeat_interleave"](key, query.shape[-3] // key.shape[-3], -3)
        value = FUNCTIONS["repeat_interleave"](value, query.shape[-3] // value.shape[-3], -3)
    dtype = query.dtype
    if query._array.dtype.itemsize == 2:  # scores of half precision overflow, and are rounded once at the end
        query, key, value = query.float(), key.float(), value.float()
    factor = 1 / sqrt(max(query.shape[-1], 1)) if scale is None else scale
    scores = FUNCTIONS["matmul"](query * factor, key.mT)
    hidden = None
    if is_causal:
        hidden = wrap(asarray_like(np.triu(np.ones(scores.shape[-2:], np.bool_), 1), scores._array))
    elif attn_mask is not None and attn_mask._array.dtype == np.bool_:
        hidden = ~attn_mask
    elif attn_mask is not None:
        scores = scores + attn_mask
    if hidden is not None:
        # added and not filled in: a score that is NaN stays so
        scores = scores + FUNCTIONS["where"](hidden, float("-inf"), 0.0).to(scores.dtype)
    blind = (scores.detach() == float("-inf")).all(-1, keepdim=True)
    sees_nothing = bool(all_samples(blind._array).any())
    if sees_nothing:  # whose softmax would be NaN, and its gradient
        scores = FUNCTIONS["masked_fill"](scores, blind, 0.0)
    attention = FUNCTIONS["softmax"](scores, -1)
    if sees_nothing:
        attention = FUNCTIONS["masked_fill"](attention, blind, 0.0)
    return FUNCTIONS["matmul"](dropout(attention, dropout_p) if dropout_p else attention, value).to(dtype)
