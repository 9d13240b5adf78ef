"""Unpooling: the largest entries of windows put back where they were found, by their indices."""

from __future__ import annotations

from math import prod
from typing import Any

from ..._tensor.tensor import new_tensor, raw
from ...arrays import zeros
from ...arrays.kernels.basics import all_samples
from ..samples import edge, exact_index, real, sample
from ..table import composite
from .convolution import each
from .pooling import check_signals, or_kernel

_F = "nn.functional"


def _unpooled(
    name: str, input: Any, indices: Any, kernel_size: Any, stride: Any, padding: Any, output_size: Any, dims: int
) -> Any:
    check_signals(name, input, dims)
    if tuple(indices.shape) != tuple(input.shape):
        raise RuntimeError(
            f"{name}: Expected shape of indices to be same as that of the input, got {list(indices.shape)}"
        )
    kernel = each(kernel_size, dims, name, "kernel_size")
    steps, pads = or_kernel(name, stride, kernel), each(padding, dims, name, "padding")
    usual = tuple((n - 1) * s - 2 * p + k for n, s, p, k in zip(input.shape[-dims:], steps, pads, kernel, strict=True))
    if output_size is None:
        sizes = usual
    else:
        sizes = tuple(output_size)[-dims:]
        if len(output_size) not in (dims, dims + 2) or any(
            abs(a - b) >= s for a, b, s in zip(sizes, usual, steps, strict=True)
        ):
            raise ValueError(f"{name}: invalid output_size {output_size}: it must be near {usual}")
    lead, plane = tuple(input.shape[:-dims]), prod(sizes)
    size = prod(input.shape[-dims:])
    flat = indices.reshape(*lead, size)
    seen = all_samples(raw(flat))
    if seen.size and (seen.min() < 0 or seen.max() >= plane):
        raise RuntimeError(f"{name}: found an invalid max index: indices must be from 0 to {plane - 1}")
    nothing = new_tensor(zeros((*lead, plane), raw(input).dtype, raw(input)))
    return nothing.scatter(-1, flat, input.reshape(*lead, size)).reshape(*lead, *sizes)


def _unpool(dims: int, indices: Any, shape: tuple) -> None:
    name = f"max_unpool{dims}d"

    def function(
        input: Any, indices: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None
    ) -> Any:
        return _unpooled(name, input, indices, kernel_size, stride, padding, output_size, dims)

    function.__name__ = name
    function.__doc__ = f"""What :func:`max_pool{dims}d` took back in its places, zeros elsewhere.

    Examples
    --------
    >>> import dualtape as dt
    >>> values, indices = dt.nn.functional.max_pool{dims}d(dt.ones(1, {", ".join(["2"] * dims)}), 2, return_indices=True)
    >>> dt.nn.functional.{name}(values, indices, 2).sum()
    tensor(1.)
    """
    composite(name, complex=False, namespace=_F, samples=(
        sample(real(*shape), exact_index(indices), 2), edge(real(*shape), exact_index(indices), 2, output_size=(5,) * dims),
    ))(function)  # fmt: skip


_unpool(1, [[[0, 3], [1, 2]]], (1, 2, 2))
_unpool(2, [[[[0, 3], [9, 15]]]], (1, 1, 2, 2))
_unpool(3, [[[[[0, 3], [9, 15]], [[40, 50], [60, 63]]]]], (1, 1, 2, 2, 2))
