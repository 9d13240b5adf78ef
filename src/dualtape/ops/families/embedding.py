"""Rows looked up by index, and bags of them; one-hot vectors."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import modes
from ..._tensor.tensor import new_tensor, raw, wrap
from ...arrays import zeros
from ...arrays.bfloat16_dtype import cast
from ...arrays.kernels.basics import add_at, all_samples, arange_like, asarray_like, host
from ...errors import warn
from ..dispatch import FUNCTIONS
from ..formulas import use, zeros_like_shape
from ..samples import edge, exact_index, ints, real, sample
from ..table import GENERAL, LINEAR, composite, op

_F = "nn.functional"


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
    every = all_samples(indices)
    if indices.size and every.min() < 0:
        raise RuntimeError("one_hot: class values must be non-negative.")
    # Without a number of classes each sample of a batch has its own: a batch refuses to tell its largest entry.
    most = int((indices if num_classes == -1 else every).max()) if indices.size else -1
    classes = most + 1 if num_classes == -1 else num_classes
    if most >= classes:
        raise RuntimeError(
            f"one_hot: class values must be smaller than num_classes, got {most} with num_classes={classes}"
        )
    return new_tensor((indices[..., None] == arange_like(classes, indices)).astype(np.int64))


# --- bags of embeddings ---------------------------------------------------------------------------

_BAGS = (exact_index([1, 2, 4, 1, 3]), real(5, 3), exact_index([0, 2, 2]))


@composite("nn_embedding_bag", method=False, public=False, complex=False, torch_name=f"{_F}.embedding_bag", also=(f"{_F}.embedding_bag",), samples=(
    *(sample(*_BAGS, mode=m) for m in ("mean", "sum", "max")), *(sample(exact_index([[1, 2], [4, 1]]), real(5, 3), mode=m) for m in ("mean", "sum", "max")),
    sample(exact_index([[1, 2], [4, 1]]), real(5, 3), mode="sum", per_sample_weights=real(2, 2)),
    edge(*_BAGS, mode="sum", padding_idx=1), edge(*_BAGS, mode="mean", padding_idx=-4), edge(*_BAGS, mode="max", padding_idx=1),
    sample(exact_index([1, 2, 4]), real(5, 3), exact_index([0, 2, 3]), include_last_offset=True),
))  # fmt: skip
def embedding_bag(
    input: Any, weight: Any, offsets: Any = None, max_norm: float | None = None, norm_type: float = 2,
    scale_grad_by_freq: bool = False, mode: str = "mean", sparse: bool = False, per_sample_weights: Any = None,
    include_last_offset: bool = False, padding_idx: int | None = None,
) -> Any:  # fmt: skip
    """The mean, sum or maximum of the rows of ``weight`` that each bag of indices names: a row of ``input``, or the
    indices between two offsets.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.functional.embedding_bag(dt.tensor([[0, 1]]), dt.tensor([[1.0], [2.0]]), mode="sum")
    tensor([[3.]])
    """
    name = "embedding_bag"
    if raw(weight).dtype == np.int64 and raw(input).dtype.kind == "f":
        warn(
            "embedding_bag: the weight came before the indices, which is deprecated: embedding_bag(input, weight, ...)"
        )
        input, weight = weight, input
    if mode not in ("mean", "sum", "max"):
        raise ValueError(f"{name}: mode has to be one of sum, mean or max, got {mode!r}")
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError(f"{name}: per_sample_weights is only supported for mode='sum', got mode={mode!r}")
    if per_sample_weights is not None and tuple(per_sample_weights.shape) != tuple(input.shape):
        raise ValueError(f"{name}: If per_sample_weights is not None, it must have the same shape as the input")
    if mode == "max" and (scale_grad_by_freq or sparse):
        raise ValueError(f"{name}: max mode does not support scaling the gradient by the frequency or sparse weights")
    indices = np.asarray(host(raw(input)))
    starts = _bag_starts(name, indices, offsets, include_last_offset)
    rows = weight.shape[0]
    if padding_idx is not None:
        if not -rows <= padding_idx < rows:
            raise AssertionError(f"{name}: padding_idx must be within the {rows} rows, got {padding_idx}")
        padding_idx %= rows
    flat = input.reshape(-1)
    if max_norm is not None:
        _renormalise(weight, flat, max_norm, norm_type)
    vectors = nn_embedding(flat, weight, padding_idx, None, 2.0, scale_grad_by_freq, sparse)
    ends = np.append(starts[1:], indices.size)
    bag = np.repeat(np.arange(len(starts)), ends - starts)
    counted = np.ones(indices.size, bool) if padding_idx is None else indices.reshape(-1) != padding_idx
    beside = lambda array: new_tensor(asarray_like(array, raw(weight)))
    if mode == "max":
        return _bag_maximum(vectors, bag, counted, len(starts), beside)
    if per_sample_weights is not None:
        vectors = vectors * per_sample_weights.reshape(-1, 1)
    if not counted.all():
        vectors = FUNCTIONS["where"](beside(counted[:, None]), vectors, 0.0)
    nothing = new_tensor(zeros((len(starts), weight.shape[1]), raw(weight).dtype, raw(weight)))
    total = nothing.index_add(0, beside(bag), vectors)
    if mode == "sum":
        return total
    counts = cast(np.maximum(np.bincount(bag[counted], minlength=len(starts)), 1), raw(weight).dtype)
    return total / beside(counts[:, None])


def _bag_starts(name: str, indices: np.ndarray, offsets: Any, include_last_offset: bool) -> np.ndarray:
    if indices.ndim == 2:
        if offsets is not None:
            raise ValueError(
                f"{name}: if input is 2D, then offsets has to be None, as input is treated as a mini-batch"
            )
        return np.arange(indices.shape[0]) * indices.shape[1]
    if indices.ndim != 1:
        raise ValueError(f"{name}: input has to be 1D or 2D Tensor, but got Tensor of dimension {indices.ndim}")
    if offsets is None:
        raise ValueError(f"{name}: offsets has to be a 1D Tensor but got None")
    starts = np.asarray(host(raw(offsets)))
    if starts.ndim != 1:
        raise ValueError(f"{name}: offsets has to be a 1D Tensor, got {starts.ndim} dimensions")
    if starts.size and (starts[0] != 0 or starts[-1] > indices.size or (np.diff(starts) < 0).any()):
        raise RuntimeError(f"{name}: offsets must begin with 0, ascend, and end within the {indices.size} indices")
    return starts[:-1] if include_last_offset else starts


def _bag_maximum(vectors: Any, bag: np.ndarray, counted: np.ndarray, count: int, beside: Any) -> Any:
    sizes = np.bincount(bag[counted], minlength=count)
    longest = int(sizes.max(initial=0))
    places = np.zeros((count, max(longest, 1)), np.int64)
    there = np.arange(max(longest, 1)) < sizes[:, None]
    places[there] = np.flatnonzero(counted)
    if not longest:  # zeros, of which the weight has a gradient of zero
        nothing = new_tensor(zeros((count, vectors.shape[1]), raw(vectors).dtype, raw(vectors)))
        return nothing + vectors[:0].sum()
    chosen = vectors.index_select(0, beside(places.reshape(-1))).reshape(count, longest, vectors.shape[1])
    found = FUNCTIONS["where"](beside(there[..., None]), chosen, -np.inf).max(1).values
    return FUNCTIONS["where"](beside((sizes == 0)[:, None]), 0.0, found)


@composite(
    "embedding_renorm_", method=False, torch_name="-", samples=(edge(np.ones((3, 2)), exact_index([0, 2]), 1.0, 2.0),)
)
def embedding_renorm_(input: Any, indices: Any, max_norm: float, norm_type: float) -> Any:
    """Scale the rows that the indices name and that are longer than ``max_norm``, in place.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.embedding_renorm_(dt.tensor([[3.0, 4.0]]), dt.tensor([0]), 1.0, 2.0)
    tensor([[0.6000, 0.8000]])
    """
    with modes.no_grad():
        _renormalise(input, indices, max_norm, norm_type)
    return input
