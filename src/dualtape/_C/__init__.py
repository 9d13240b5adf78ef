"""PyTorch's names for switching overrides off, where its users look for them: ``torch._C``."""

from __future__ import annotations

from ._tensor.tensor import Tensor as TensorBase
from .overrides.subclass import DisableTorchFunction as DisableTorchFunction
from .overrides.subclass import DisableTorchFunctionSubclass as DisableTorchFunctionSubclass
from .overrides.subclass import disabled_dispatch as _disabled_torch_dispatch_impl
from .overrides.subclass import disabled_function as _disabled_torch_function_impl

__all__ = [
    "DisableTorchFunction",
    "DisableTorchFunctionSubclass",
    "TensorBase",
    "_disabled_torch_dispatch_impl",
    "_disabled_torch_function_impl",
]
