"""NumPy's functions on tensors: ``np.tanh(x)`` of a tensor is a tensor with history.

A function either has an *entry*, which takes NumPy's arguments and computes with the ops; or its result is integers,
truth values or text, which have no derivative, and it is computed from the values; or its error says why it has
neither. ``vocabulary`` has the functions that formulas use; the other modules are imported when another function is
called.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from ..._tensor.tensor import Tensor, raw
from ...autograd.tangents import active, tangent
from ...modes import current
from .registry import BY_VALUE, CREATIONS, ENTRIES, OUT_PLACES, tensor
from .vocabulary import UFUNCS as UFUNCS

_MODULES = ("ufuncs", "reductions", "arrangements", "searching", "functions", "linalg", "fourier", "reasons")

__all__ = ["CREATIONS", "ENTRIES", "call_function", "call_ufunc", "load"]


def load() -> None:
    """Import the entries that are read on demand."""
    for name in _MODULES:
        import_module(f".{name}", __name__)


def call_ufunc(ufunc: np.ufunc, method: str, inputs: tuple, kwargs: dict) -> Any:
    """Run ``ufunc`` on tensors."""
    if method == "__call__" and not kwargs and ufunc in UFUNCS:
        try:
            return UFUNCS[ufunc](*inputs)
        except TypeError:
            if not any(type(value) in (list, tuple) for value in inputs):
                raise
    from .ufuncs import call

    if any(type(value) in (list, tuple) for value in inputs[:2]) and method != "at":
        inputs = (*(tensor(v) if type(v) in (list, tuple) else v for v in inputs[: ufunc.nin]), *inputs[ufunc.nin :])
    return call(ufunc, method, inputs, kwargs)


def call_function(like: Tensor, func: Callable, args: tuple, kwargs: dict) -> Any:
    """Run a NumPy function on tensors."""
    if func in CREATIONS:
        return CREATIONS[func](like, *args, **kwargs)
    if func not in ENTRIES:
        load()
    entry = ENTRIES.get(func)
    if entry is None:
        if func in BY_VALUE:
            return func(*_as_values(func, args), **_as_values(func, kwargs))
        return func(*as_arrays(func, args), **as_arrays(func, kwargs))
    place = OUT_PLACES.get(func, len(args))
    out = kwargs.pop("out", None) if place >= len(args) else args[place]
    if out is None:
        return entry(*args, **kwargs)
    return write(
        func.__name__, out, entry(*args[:place], *((None,) * (place < len(args))), *args[place + 1 :], **kwargs)
    )


def write(name: str, out: Any, result: Any) -> Any:
    """Write ``result`` into ``out`` by NumPy's rules: of the same shape, in a dtype of the same kind or a wider one."""
    if out.shape != result.shape:
        raise ValueError(f"np.{name}: out= has the shape {tuple(out.shape)}, the result {tuple(result.shape)}")
    if not np.can_cast(np.dtype(result.dtype), np.dtype(out.dtype), "same_kind"):
        raise TypeError(f"np.{name}: the result of type {result.dtype} cannot be cast to out= of type {out.dtype}")
    if isinstance(out, Tensor):
        return out.copy_(result)
    if isinstance(result, Tensor):
        if result.requires_grad or current().levels and is_moving(result):
            raise RuntimeError(
                f"np.{name}: an ndarray as out= cannot carry the history of a tensor that requires grad: make it by"
                " np.zeros_like(x), which gives a tensor, or leave out= away"
            )
        result = result.numpy()
    np.copyto(out, result, casting="same_kind")
    return out


def as_arrays(func: Callable, values: Any) -> Any:
    """Return the arguments of a function that takes arrays only, as arrays; raise if a derivative would be lost."""
    from .reasons import advice, full_name

    if isinstance(values, Tensor):
        name = full_name(func)
        if values.requires_grad:
            raise RuntimeError(
                f"{name}: Can't call numpy() on Tensor that requires grad: {name} has no derivative here."
                f" {advice(func)}"
            )
        if type(values._array) is not np.ndarray or current().levels and is_moving(values):
            raise TypeError(
                f"{name} has no entry for tensors with tangents, in vmap, or on a device: use the dualtape function"
                " for it, or call it on tensor.detach().numpy()"
            )
        return values._array
    return _mapped(as_arrays, func, values)


def _as_values(func: Callable, values: Any) -> Any:
    """Return the arguments of a function whose result has no derivative, as arrays."""
    if not isinstance(values, Tensor):
        return _mapped(_as_values, func, values)
    if type(values._array) is not np.ndarray:
        raise TypeError(f"np.{func.__name__} looks at values, which tensors in vmap or on a device do not show")
    return values._array


def _mapped(convert: Callable, func: Callable, values: Any) -> Any:
    if type(values) is dict:
        return {key: convert(func, value) for key, value in values.items()}
    return type(values)([convert(func, v) for v in values]) if type(values) in (list, tuple) else raw(values)


def is_moving(tensor: Tensor) -> bool:
    """Return whether a tensor has a tangent at an open level."""
    return any(tangent(tensor, level) is not None for level in active(current()))
