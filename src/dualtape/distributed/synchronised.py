"""Batch normalisation over the batches of several processes: the training mode of :class:`dualtape.nn.SyncBatchNorm`.

The processes sum, for each channel, the number of values, the values, and their squares about the common mean. The sums
have derivatives of any order, so that the gradients, too, are those of one process with all batches.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._tensor import dtypes
from .._tensor.tensor import Tensor
from ..arrays.bfloat16_dtype import BFLOAT16
from ..modes import no_grad
from ..ops import FUNCTIONS
from . import groups
from .agreement import on_host, transportable
from .collectives import all_reduce
from .groups import ProcessGroup
from .nn import functional

__all__ = ["group_of", "normalised"]


def group_of(process_group: Any) -> ProcessGroup | None:
    """Return the group whose processes exchange statistics; None if there is a single process."""
    if process_group is None and not groups.is_initialized():
        return None
    found = groups.member(process_group)
    if found is None:
        raise ValueError("SyncBatchNorm: this process is not in process_group")
    return found if found.size() > 1 else None


def _count(input: Tensor, group: ProcessGroup) -> int:
    """Return how many values each channel has, on all processes together."""
    size = input.numel() // max(input.shape[1], 1)
    count = transportable(np.array([size], np.int64), group)
    all_reduce(count, group=group)
    return int(on_host(count)[0])


def normalised(layer: Any, input: Tensor, group: ProcessGroup, factor: float) -> Tensor:
    """Return the input of a layer in training, normalised by the statistics of all processes of the group.

    Parameters
    ----------
    layer : SyncBatchNorm
        Its running statistics are updated.
    input : Tensor
        (batch, channels, ...); the batch may be empty here.
    group : ProcessGroup
    factor : float
        The weight of this batch in the running statistics.
    """
    count = _count(input, group)
    if count <= 1:  # which all processes see
        raise ValueError(
            f"Expected more than 1 value per channel when training, got {count} on all processes together: input size"
            f" {list(input.shape)} here"
        )
    half = input._array.dtype is BFLOAT16 or input._array.dtype == np.float16
    x = input.to(dtypes.float32) if half else input
    dims = [d for d in range(input.dim()) if d != 1]
    shape = [1, -1] + [1] * (input.dim() - 2)
    mean = functional.all_reduce(x.sum(dims), group=group) / count
    centred = x - mean.reshape(shape)
    variance = functional.all_reduce((centred * centred).sum(dims), group=group) / count
    if layer.running_mean is not None and layer.track_running_stats:
        _remember(layer.running_mean, mean, factor)
        _remember(layer.running_var, variance * (count / (count - 1)), factor)
    out = centred * FUNCTIONS["rsqrt"](variance + layer.eps).reshape(shape)
    if layer.weight is not None:
        out = out * layer.weight.reshape(shape)
    if layer.bias is not None:
        out = out + layer.bias.reshape(shape)
    return out.to(input.dtype) if half else out


def _remember(running: Tensor, new: Tensor, factor: float) -> None:
    with no_grad():
        running.copy_(running * (1 - factor) + new.detach() * factor)
