"""Nested tensors from samples, from packed values, and from parts of dense tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._tensor import dtypes
from .._tensor.creation import as_tensor
from .._tensor.device import device as Device
from .._tensor.device import jagged
from .._tensor.tensor import Tensor, raw, wrap
from ..ops.dispatch import FUNCTIONS
from .ragged import NestedTensor, Ragged, _ends, pack


def nested_tensor(
    tensor_list: Any,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> NestedTensor:
    """A batch of these samples, copied: a leaf.

    Parameters
    ----------
    tensor_list : sequence of Tensor or of nested sequences
        Of one dtype and number of dimensions, and of the same sizes but for one dimension.
    layout : layout
        ``jagged``, which is the only one here, and the default.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nested.nested_tensor([[1.0, 2.0], [3.0]]).unbind()
    (tensor([1., 2.]), tensor([3.]))
    """
    if pin_memory:
        raise NotImplementedError("there is no pinned memory for nested tensors: leave out pin_memory")
    samples = [as_tensor(sample, dtype=dtype).detach() for sample in _listed("nested_tensor", tensor_list)]
    return _joined(samples, dtype, device, layout).detach().requires_grad_(requires_grad)


def as_nested_tensor(ts: Any, dtype: Any = None, device: Any = None, layout: Any = None) -> NestedTensor:
    """A batch of these samples, with their history; of a dense tensor: its rows.

    Examples
    --------
    >>> import dualtape as dt
    >>> x, y = dt.ones(1, requires_grad=True), dt.ones(2)
    >>> dt.nested.as_nested_tensor([x, y]).sum().backward()
    >>> x.grad
    tensor([1.])
    """
    if isinstance(ts, NestedTensor):
        return ts if dtype is None else ts.to(dtype)  # type: ignore[return-value]
    if isinstance(ts, Tensor):
        ts = list(ts.unbind(0))
    return _joined([as_tensor(t, dtype=dtype) for t in _listed("as_nested_tensor", ts)], dtype, device, layout)


def _listed(name: str, samples: Any) -> list:
    if not isinstance(samples, (list, tuple)):
        raise TypeError(f"{name}(): expected a list of tensors, got {type(samples).__name__}")
    if not samples:
        raise RuntimeError("Cannot construct a nested tensor from an empty tensor list")
    return list(samples)


def _joined(samples: list, dtype: Any, device: Any, layout: Any) -> NestedTensor:
    if layout is not None and layout is not jagged:
        raise NotImplementedError(f"nested tensors are of layout jagged here, got {layout!r}")
    if device is not None and Device(device).type != "cpu":
        raise NotImplementedError(f"nested tensors are in the memory of the CPU, got device={device!r}")
    first = samples[0]
    for what, found in (("dim", {s.ndim for s in samples}), ("dtype", {s.dtype for s in samples})):
        if len(found) > 1:
            raise RuntimeError(f"When constructing a nested tensor, all tensors in list must have the same {what}")
    if not first.ndim:
        raise RuntimeError("Cannot construct a nested tensor from a list of zero-dim tensors")
    differ = [d for d in range(first.ndim) if len({s.shape[d] for s in samples}) > 1]
    if len(differ) > 1:
        raise RuntimeError(f"samples may differ in the size of one dimension, got {[list(s.shape) for s in samples]}")
    dim = differ[0] if differ else 0
    lengths = np.array([s.shape[dim] for s in samples], np.int64)
    return pack(FUNCTIONS["cat"](samples, dim), Ragged(_ends(lengths), None, dim + 1))


def nested_tensor_from_jagged(
    values: Tensor,
    offsets: Any = None,
    lengths: Any = None,
    jagged_dim: int | None = None,
    min_seqlen: int | None = None,
    max_seqlen: int | None = None,
) -> NestedTensor:
    """Packed values as a batch, with their history.

    Parameters
    ----------
    values : Tensor
        All samples, one after the other.
    offsets : Tensor, optional
        Where each begins, and the end.
    lengths : Tensor, optional
        How long each is; with `offsets`, there may be gaps between them.
    jagged_dim : int, optional
        The ragged dimension of the result. Default: 1.
    min_seqlen, max_seqlen : int, optional
        The shortest and the longest length: checked.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nested.nested_tensor_from_jagged(dt.arange(3), dt.tensor([0, 1, 3])).unbind()
    (tensor([0]), tensor([1, 2]))
    """
    if not isinstance(values, Tensor):
        raise TypeError(f"nested_tensor_from_jagged(): argument 'values' must be Tensor, not {type(values).__name__}")
    if offsets is None and lengths is None:
        raise RuntimeError("nested_tensor_from_jagged(): At least one of offsets or lengths is required.")
    dim = 1 if jagged_dim is None else jagged_dim
    if not 1 <= dim <= values.ndim:
        raise RuntimeError(f"nested_tensor_from_jagged(): jagged_dim must be 1 to {values.ndim}, got {dim}")
    gaps = None if lengths is None or offsets is None else _whole("lengths", lengths)
    ends = _ends(_whole("lengths", lengths)) if offsets is None else _whole("offsets", offsets)
    ragged = Ragged(ends, gaps, dim)
    room = values.shape[dim - 1]
    if ends.size < 1 or (ragged.counts < 0).any() or ragged.counts.shape != (ends.size - 1,) or ends.min() < 0:
        raise RuntimeError(f"offsets must not fall, and lengths be one for each sample: got {ends} and {gaps}")
    furthest = max(int(ends.max()), int(ragged.counts.max(initial=0)))  # before the sum, which overflows
    if furthest > room or (ends[:-1] + ragged.counts > room).any():
        raise RuntimeError(f"samples end at {furthest}, beyond the {room} values that are there")
    if offsets is None and ends[-1] != room:
        raise RuntimeError(f"lengths add up to {ends[-1]}, but there are {room} values")
    for what, given, found in (
        ("min", min_seqlen, ragged.counts.min(initial=room)),
        ("max", max_seqlen, ragged.longest),
    ):
        if given is not None and ragged.batch and given != found:
            raise RuntimeError(f"{what}_seqlen={given}, but the lengths are {ragged.counts.tolist()}")
    return pack(values, ragged)


def _whole(name: str, given: Any) -> np.ndarray:
    array = np.asarray(raw(as_tensor(given)))
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise RuntimeError(f"{name} must be a vector of integers, got {dtypes.of(array.dtype)!r} {list(array.shape)}")
    return array.astype(np.int64)


def narrow(tensor: Tensor, dim: int, start: Any, length: Any, layout: Any = jagged) -> NestedTensor:
    """Of each row of a dense tensor, ``length`` elements from ``start``, as a view.

    Parameters
    ----------
    tensor : Tensor
    dim : int
        The dimension that becomes ragged: 1.
    start, length : int or Tensor
        One for all rows, or one for each.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nested.narrow(dt.arange(6).reshape(2, 3), 1, 0, dt.tensor([1, 2])).unbind()
    (tensor([0]), tensor([3, 4]))
    """
    if layout is not jagged:
        raise NotImplementedError(f"nested tensors are of layout jagged here, got {layout!r}")
    if dim != 1 or tensor.ndim < 2:
        raise RuntimeError(f"narrow() is for dimension 1 of a batch, got dim={dim} of {list(tensor.shape)}")
    rows, width = tensor.shape[:2]
    begins, lengths = (np.broadcast_to(raw(as_tensor(given)), rows).astype(np.int64) for given in (start, length))
    if (begins < 0).any() or (lengths < 0).any() or (begins + lengths > width).any():
        raise RuntimeError(f"narrow(): rows have {width} elements, got start {begins} and length {lengths}")
    places = np.arange(rows) * width + begins
    ends = np.append(places, places[-1] + lengths[-1]) if rows else np.zeros(1, np.int64)
    return pack(tensor.flatten(0, 1), Ragged(ends, lengths))


def masked_select(tensor: Tensor, mask: Tensor) -> NestedTensor:
    """Of each row of a matrix, the elements where ``mask`` is True.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nested.masked_select(dt.ones(2, 2), dt.tensor([[True, False], [True, True]])).unbind()
    (tensor([1.]), tensor([1., 1.]))
    """
    if tensor.layout is jagged or mask.layout is jagged:
        raise RuntimeError("nested.masked_select takes dense tensors")
    kept = np.broadcast_to(raw(mask), np.broadcast_shapes(tensor.shape, mask.shape))
    if kept.ndim != 2 or kept.dtype != bool:
        raise NotImplementedError(f"nested.masked_select is for a matrix and a boolean mask, got {list(kept.shape)}")
    return pack(tensor.masked_select(mask), Ragged(_ends(kept.sum(1))))


def to_padded_tensor(input: NestedTensor, padding: float, output_size: Any = None, out: Any = None) -> Tensor:
    """``input.to_padded_tensor(padding, output_size)``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nested.to_padded_tensor(dt.nested.nested_tensor([[1.0], [2.0, 3.0]]), -1.0)
    tensor([[ 1., -1.],
            [ 2.,  3.]])
    """
    if not isinstance(input, NestedTensor):
        raise RuntimeError(f"to_padded_tensor(): expected a nested tensor, got {type(input).__name__}")
    found = input.to_padded_tensor(padding, output_size)
    return found if out is None else wrap(out._array).copy_(found)
