"""PyTorch's names for what lies beneath, where its users look for them: ``torch._C``."""

from __future__ import annotations

import weakref

from .._tensor.tensor import Tensor as TensorBase
from ..library.overloads import BelowAutograd as _AutoDispatchBelowAutograd
from ..ops.linalg_error import LinAlgError as _LinAlgError
from ..overrides.subclass import DisableTorchFunction as DisableTorchFunction
from ..overrides.subclass import DisableTorchFunctionSubclass as DisableTorchFunctionSubclass
from ..overrides.subclass import disabled_dispatch as _disabled_torch_dispatch_impl
from ..overrides.subclass import disabled_function as _disabled_torch_function_impl
from . import _autograd as _autograd
from . import _fft as _fft
from . import _functions as _functions
from . import _linalg as _linalg
from . import _nn as _nn
from . import _special as _special

__all__ = [
    "_AutoDispatchBelowAutograd",
    "_LinAlgError",
    "_get_tracing_state",
    "_log_api_usage_once",
    "DisableTorchFunction",
    "DisableTorchFunctionSubclass",
    "TensorBase",
    "_WeakTensorRef",
    "_autograd",
    "_disabled_torch_dispatch_impl",
    "_disabled_torch_function_impl",
    "_functions",
    "_nn",
]


def _get_tracing_state() -> None:
    """Return None: no script is being traced.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt._C._get_tracing_state() is None
    True
    """


def _log_api_usage_once(event: str) -> None:
    """Do nothing: nobody is told which functions a program uses.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt._C._log_api_usage_once("mine")
    """


class _WeakTensorRef:
    """Tells whether a tensor is still there.

    Examples
    --------
    >>> import dualtape as dt
    >>> x = dt.ones(1)
    >>> ref = dt._C._WeakTensorRef(x)
    >>> ref.expired()
    False
    >>> del x
    >>> ref.expired()
    True
    """

    __slots__ = ("_ref",)

    def __init__(self, tensor: TensorBase) -> None:
        if not isinstance(tensor, TensorBase):
            raise TypeError(f"_WeakTensorRef takes a Tensor, got {type(tensor).__name__}")
        self._ref = weakref.ref(tensor)

    def expired(self) -> bool:
        """Whether the tensor is gone."""
        return self._ref() is None
