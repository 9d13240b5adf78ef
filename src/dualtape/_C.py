"""PyTorch's names for switching overrides off, where its users look for them: ``torch._C``."""

from __future__ import annotations

from .subclass import DisableTorchFunction as DisableTorchFunction
from .subclass import DisableTorchFunctionSubclass as DisableTorchFunctionSubclass
from .subclass import disabled_dispatch as _disabled_torch_dispatch_impl
from .subclass import disabled_function as _disabled_torch_function_impl
from .tensor import Tensor as TensorBase

__all__ = ["DisableTorchFunction", "DisableTorchFunctionSubclass", "TensorBase", "_disabled_torch_dispatch_impl", "_disabled_torch_function_impl"]
