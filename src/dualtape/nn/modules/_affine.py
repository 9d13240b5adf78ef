"""The scales and offsets of normalisation layers."""

from __future__ import annotations

from typing import Any

from ..._tensor.shaped import empty
from .. import init
from ..parameter import Parameter
from .module import Module


def register_affine(module: Module, shape: Any, scaled: bool, offset: bool, device: Any, dtype: Any) -> None:
    """Register ``weight`` and ``bias``, or None where there is none."""
    for name, wanted in (("weight", scaled), ("bias", scaled and offset)):
        made = Parameter(empty(shape, device=device, dtype=dtype)) if wanted else None
        module.register_parameter(name, made)


def reset_affine(module: Any) -> None:
    """Set the scales to one and the offsets to zero, where there are some."""
    for parameter, fill in ((module.weight, init.ones_), (module.bias, init.zeros_)):
        if parameter is not None:
            fill(parameter)
