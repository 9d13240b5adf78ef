"""The dtypes in which a sharded module computes and reduces, and the location of its parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["CPUOffloadPolicy", "MixedPrecisionPolicy", "OffloadPolicy"]


@dataclass(frozen=True)
class MixedPrecisionPolicy:
    """The dtypes of a module's forward and backward; its shards and the optimizer state keep theirs.

    Parameters
    ----------
    param_dtype : dtype, optional
        Of the gathered parameters, and with them of the products; as the parts by default.
    reduce_dtype : dtype, optional
        In which gradients are averaged; that of the gradients by default.
    output_dtype : dtype, optional
        To which floating-point outputs are converted.
    cast_forward_inputs : bool
        Whether floating-point inputs are converted to ``param_dtype``.

    Examples
    --------
    >>> import dualtape as dt
    >>> from dualtape.distributed.fsdp import MixedPrecisionPolicy
    >>> MixedPrecisionPolicy(param_dtype=dt.bfloat16).reduce_dtype
    """

    param_dtype: Any = None
    reduce_dtype: Any = None
    output_dtype: Any = None
    cast_forward_inputs: bool = True


@dataclass
class OffloadPolicy:
    """Parameters stay on their device."""


@dataclass
class CPUOffloadPolicy(OffloadPolicy):
    """Shards in the memory of the host, copied to a GPU to compute; here they are where they compute, and
    :func:`fully_shard` refuses it.
    """

    pin_memory: bool = True
