"""Gradients that are not arrays: those of wrapper subclasses, and sparse ones.

The engine passes them on as tensors and calls this module to add and convert them. It does so only after its own
operations fail on them (their array is :class:`~dualtape.arrays.Absent`), so plain gradients never come here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import Absent, as_array

if TYPE_CHECKING:
    from .._tensor.tensor import Tensor
    from .._typing import Gradient


def raw_gradient(tensor: Gradient) -> Any:
    """Return a gradient as the engine passes it on: the array, or the tensor itself if it has none."""
    array = getattr(tensor, "_array", tensor)
    return tensor if isinstance(array, Absent) else array


_tensor_type: Any = None  # what the module ``tensor`` gives, which is built on this one
_wrap: Any = None


def shown_gradient(grad: object) -> Any:
    """Return a gradient as users see it: a tensor."""
    global _tensor_type, _wrap
    if _wrap is None:
        from .._tensor.tensor import Tensor, wrap

        _tensor_type, _wrap = Tensor, wrap
    if type(grad) is np.ndarray:
        return _wrap(grad)
    return grad if isinstance(grad, _tensor_type) else _wrap(as_array(grad))


def is_other(grad: object) -> bool:
    """Return whether a gradient is not an array."""
    return hasattr(grad, "_array")


def first_of(grad: Gradient) -> Any:
    """Return the first gradient of a leaf, one of which is not an array: a copy of a dense or sparse one, which may go
    to another leaf too, an alias of any other.
    """
    from .._tensor.tensor import Tensor, wrap

    if not isinstance(grad, Tensor):
        array = as_array(grad)
        return wrap(array.copy() if type(array) is np.ndarray else array)
    return grad.detach().clone() if grad.layout.name.startswith("sparse") else grad.detach()


def added(held: Tensor, grad: Gradient) -> Any:
    """Return the sum of a leaf's gradient and an arriving one, at least one of which is not an array."""
    from .._tensor.tensor import Tensor, wrap

    arriving = grad if isinstance(grad, Tensor) else wrap(as_array(grad))
    if not isinstance(held._array, Absent):
        return held.add_(arriving)
    if held.is_sparse:
        return held.add_(arriving) if arriving.is_sparse else arriving + held  # dense, from now on
    return held + arriving


def summed(held: Tensor, grad: Any) -> Any:
    """Return the recorded sum of two gradient tensors; a dense one comes first."""
    return grad + held if held.is_sparse and not grad.is_sparse else held + grad
