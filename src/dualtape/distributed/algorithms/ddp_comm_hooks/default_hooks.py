"""Communication hooks that average gradients: unchanged, or in half precision."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...._tensor import dtypes
from ....modes import no_grad
from ... import collectives
from ...futures import Future
from ...groups import default_group
from ...reduce_op import ReduceOp
from ...reducer import GradBucket

__all__ = [
    "allreduce_hook",
    "bf16_compress_hook",
    "bf16_compress_wrapper",
    "fp16_compress_hook",
    "fp16_compress_wrapper",
]


def allreduce_hook(process_group: Any, bucket: GradBucket) -> Future:
    """Average the gradients, as without a hook."""
    return _averaged(process_group, bucket.buffer())


def _averaged(process_group: Any, tensor: Any) -> Future:
    group = default_group() if process_group is None else process_group
    work = collectives.all_reduce(tensor, ReduceOp.AVG, group, async_op=True)
    assert work is not None
    return work.get_future().then(lambda future: future.value()[0])


def _compressed(dtype: Any, hook: Callable) -> Callable:
    """Return a hook whose bucket is converted to another dtype."""

    def narrow(state: Any, bucket: GradBucket) -> Future:
        wide = bucket.buffer()
        with no_grad():
            bucket.set_buffer(wide.to(dtype))
        return hook(state, bucket).then(lambda future: wide.copy_(future.value()))

    return narrow


def fp16_compress_hook(process_group: Any, bucket: GradBucket) -> Future:
    """Average the gradients as float16."""
    return _compressed(dtypes.float16, allreduce_hook)(process_group, bucket)


def bf16_compress_hook(process_group: Any, bucket: GradBucket) -> Future:
    """Average the gradients as bfloat16; over MPI these are sent as float32, rounded."""
    return _compressed(dtypes.bfloat16, allreduce_hook)(process_group, bucket)


def fp16_compress_wrapper(hook: Callable) -> Callable:
    """Return another hook with gradients as float16."""
    return _compressed(dtypes.float16, hook)


def bf16_compress_wrapper(hook: Callable) -> Callable:
    """Return another hook with gradients as bfloat16."""
    return _compressed(dtypes.bfloat16, hook)
