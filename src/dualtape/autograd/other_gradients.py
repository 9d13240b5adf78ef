"""Gradients that are no arrays: of wrapper subclasses, and sparse ones. The engine carries them as tensors, and asks
here what to do.

A plain gradient never comes here: the engine's own ways fail on these (their array is
:class:`~dualtape.arrays.Absent`), and only then it asks.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import Absent, as_array


def raw_gradient(tensor: Any) -> Any:
    """A gradient as the engine carries it: the array, or the tensor itself where there is none."""
    array = getattr(tensor, "_array", tensor)
    return tensor if isinstance(array, Absent) else array


_tensor_type: Any = None  # what the module ``tensor`` gives, which is built on this one
_wrap: Any = None


def shown_gradient(grad: Any) -> Any:
    """A gradient as users see it: a tensor."""
    global _tensor_type, _wrap
    if _wrap is None:
        from .._tensor.tensor import Tensor, wrap

        _tensor_type, _wrap = Tensor, wrap
    if type(grad) is np.ndarray:
        return _wrap(grad)
    return grad if isinstance(grad, _tensor_type) else _wrap(as_array(grad))


def is_other(grad: Any) -> bool:
    """Whether a gradient is no array."""
    return hasattr(grad, "_array")


def first_of(grad: Any) -> Any:
    """The first gradient of a leaf that is no array: the leaf keeps a copy of a sparse one, which may have gone to
    another leaf too, and an alias of any other.
    """
    from .._tensor.tensor import Tensor, wrap

    if not isinstance(grad, Tensor):
        return wrap(as_array(grad))
    return grad.detach().clone() if grad.is_sparse else grad.detach()


def added(held: Any, grad: Any) -> Any:
    """The sum of what a leaf holds and what arrives, which NumPy's ``add`` refuses to write into the first."""
    from .._tensor.tensor import Tensor, wrap

    arriving = grad if isinstance(grad, Tensor) else wrap(as_array(grad))
    if not isinstance(held._array, Absent):
        return held.add_(arriving)
    if held.is_sparse:
        return held.add_(arriving) if arriving.is_sparse else arriving + held  # dense, from now on
    return held + arriving


def summed(held: Any, grad: Any) -> Any:
    """The sum of two gradients that are tensors, recorded: a dense one, if there is one, comes first."""
    return grad + held if held.is_sparse and not grad.is_sparse else held + grad
