"""NumPy's namespace for programs whose arrays may be tensors: ``import dualtape.numpy as np``.

NumPy's own functions take tensors already (``numpy.tanh(x)`` is a tensor with history), but NumPy does not ask tensors
where they are inside of a list or are not the array of a function: ``array([x, y])``, ``full(3, x)``, ``sum([x, y])``.
Here it does. Everything else is NumPy's own object; what is made without a tensor is NumPy's array.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as _numpy

from .. import errors
from .._tensor.tensor import Tensor
from ..ops.numpy_entries import vocabulary as _vocabulary
from ..ops.numpy_entries.registry import tensor as _tensor
from ..ops.numpy_tensor import NumpyTensor, marked_tree

__all__ = list(_numpy.__all__)  # noqa: PLE0605 - those of the NumPy that is installed

_PARTS = ("linalg", "fft", "random")
# Functions whose first argument is a list of arrays, and what else has one.
_JOINING = frozenset(
    """
    concatenate concat stack hstack vstack dstack column_stack block select choose lexsort multi_dot einsum_path
    """.split()
)


def _has_tensor(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any(map(_has_tensor, value))
    return isinstance(value, Tensor)


def _joined(value: Any) -> Any:
    """A list that has tensors in it as a tensor; anything else as it is."""
    return _of_kind(_tensor(value), value) if isinstance(value, (list, tuple)) and _has_tensor(value) else value


def _of_kind(result: Any, *given: Any) -> Any:
    """Return new tensors in ``result`` as ones with NumPy's methods if one among ``given`` has them."""
    return marked_tree(result, given) if any(map(_has_kind, given)) else result


def _has_kind(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any(map(_has_kind, value))
    return type(value) is NumpyTensor


def seeing_lists(function: Callable) -> Callable:
    """``function`` for which a list with tensors in it is an array."""
    joins = function.__name__ in _JOINING

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        if any(type(a) in (list, tuple) for a in args):
            if joins:
                args = tuple(type(a)(map(_joined, a)) if type(a) in (list, tuple) else a for a in args)
            else:
                args = tuple(map(_joined, args))
        return function(*args, **kwargs)

    return wrapper


@functools.cache  # and not in globals(): NumPy has an any, a sum and a max of its own
def looked_up(module: Any, name: str, where: str) -> Any:
    """NumPy's object ``name``; of a function of arrays, one that sees tensors in lists."""
    try:
        value = getattr(module, name)
    except AttributeError:
        raise errors.missing(where, name, dir(module), f"NumPy {_numpy.__version__} has none either") from None
    return seeing_lists(value) if hasattr(value, "_implementation") else value


def __getattr__(name: str) -> Any:
    return import_module(f".{name}", __name__) if name in _PARTS else looked_up(_numpy, name, __name__)


def __dir__() -> list[str]:
    return dir(_numpy)


# --- creation -------------------------------------------------------------------------------------


def _creation(made: Callable, *names: str) -> None:
    for name in names:
        globals()[name] = _of_tensors(getattr(_numpy, name), made)


def _of_tensors(numpy: Callable, made: Callable) -> Callable:
    @functools.wraps(numpy)
    def create(*args: Any, **kwargs: Any) -> Any:
        if any(map(_has_tensor, args)) or any(map(_has_tensor, kwargs.values())):
            return _of_kind(made(*args, **kwargs), *args, *kwargs.values())
        return numpy(*args, **kwargs)

    return create


def _full(shape: Any, fill_value: Any, dtype: Any = None, order: str = "C", *, device: Any = None) -> Tensor:
    return _vocabulary._full_like(_tensor(fill_value), _tensor(fill_value), dtype, "K", True, shape, device=device)


def _arange(*bounds: Any, dtype: Any = None, **more: Any) -> Any:
    """``start + step * k``, with the history of both; the end moves none of them."""
    values = [b.detach().item() if isinstance(b, Tensor) else b for b in bounds]
    points = _numpy.arange(*values, dtype=dtype, **more)
    moving = [b - b.detach() for b in (bounds[:1] if len(bounds) > 1 else ()) if isinstance(b, Tensor)]
    moving += [(b - b.detach()) * _numpy.arange(len(points)) for b in bounds[2:] if isinstance(b, Tensor)]
    return sum(moving, points) if moving else points


def _chkfinite(a: Any, dtype: Any = None, order: str | None = None) -> Tensor:
    made = _vocabulary.asarray(a, dtype, order)
    if not bool(made.detach().isfinite().all()):
        raise ValueError("array must not contain infs or NaNs")
    return made


_creation(_vocabulary.array, "array")
_creation(_vocabulary.asarray, "asarray", "asanyarray", "ascontiguousarray")
_creation(_full, "full")
_creation(_arange, "arange")
_creation(_chkfinite, "asarray_chkfinite")


class vectorize(_numpy.vectorize):
    """``numpy.vectorize``; of tensors, function by function on their elements, with history."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not any(map(_has_tensor, (*args, *kwargs.values()))):
            return super().__call__(*args, **kwargs)
        if kwargs or self.signature or self.excluded:
            raise TypeError("vectorize on tensors takes positional arguments, no signature= and no excluded=")
        spread: Any = _numpy.broadcast_arrays(*map(_tensor, args))
        shape = tuple(spread[0].shape)
        results = [self.pyfunc(*elements) for elements in zip(*(x.reshape(-1).unbind(0) for x in spread), strict=True)]
        if results and isinstance(results[0], tuple):
            return tuple(_of_kind(_tensor(list(each)).reshape(shape), args) for each in zip(*results, strict=True))
        return _of_kind(_tensor(results).reshape(shape), args)


class _Concatenating:
    """``np.r_`` and ``np.c_`` whose parts may be tensors."""

    def __init__(self, numpy: Any, join: Callable) -> None:
        self._numpy, self._join = numpy, join

    def __getitem__(self, key: Any) -> Any:
        parts = key if isinstance(key, tuple) else (key,)
        if not any(map(_has_tensor, parts)):
            return self._numpy[key]
        if isinstance(parts[0], str):
            raise TypeError(f"directives like {parts[0]!r} are not supported beside tensors: use np.concatenate")
        return self._join(
            [self._numpy[p] if isinstance(p, slice) else _numpy.atleast_1d(_of_kind(_tensor(p), p)) for p in parts]
        )


r_ = _Concatenating(_numpy.r_, _numpy.concatenate)
c_ = _Concatenating(_numpy.c_, _numpy.column_stack)
