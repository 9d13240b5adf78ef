"""Changing the memory order of convolution weights."""

from __future__ import annotations

from typing import Any

from ..modules.conv import Conv2d, Conv3d, ConvTranspose2d, ConvTranspose3d
from ..modules.module import Module


def _convert(module: Any, memory_format: Any, kinds: Any) -> Any:
    for each in module.modules():
        if isinstance(each, kinds):
            each.weight.data = each.weight.detach().clone(memory_format=memory_format)
    return module


def convert_conv2d_weight_memory_format(module: Module, memory_format: Any) -> Module:
    """Give the weights of the 2-dimensional convolutions of a module a memory format.

    Examples
    --------
    >>> import dualtape as dt
    >>> conv = dt.nn.utils.convert_conv2d_weight_memory_format(dt.nn.Conv2d(2, 2, 3), dt.channels_last)
    >>> conv.weight.is_contiguous(memory_format=dt.channels_last)
    True
    """
    return _convert(module, memory_format, (Conv2d, ConvTranspose2d))


def convert_conv3d_weight_memory_format(module: Module, memory_format: Any) -> Module:
    """Give the weights of the 3-dimensional convolutions of a module a memory format.

    Examples
    --------
    >>> import dualtape as dt
    >>> conv = dt.nn.utils.convert_conv3d_weight_memory_format(dt.nn.Conv3d(1, 1, 2), dt.contiguous_format)
    >>> conv.weight.is_contiguous()
    True
    """
    return _convert(module, memory_format, (Conv3d, ConvTranspose3d))
