"""The registry of entries for NumPy's functions, and helpers that entries are written with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..._tensor.creation import as_tensor
from ..._tensor.tensor import Tensor, wrap
from ...arrays import is_array
from .. import load, namespace
from ..dispatch import FUNCTIONS, NAMESPACES
from ..table import TABLE

# Major and minor version of NumPy: some functions return different types in different versions.
NUMPY = tuple(map(int, np.__version__.split(".")[:2]))
ENTRIES: dict[Callable, Callable] = {}
OUT_PLACES: dict[Callable, int] = {}  # where an entry takes out=, by position
CREATIONS: dict[Callable, Callable] = {}  # called with the tensor given as like=
BY_VALUE: set[Callable] = set()  # answers without a derivative, computed from the values


def entry(*functions: Any) -> Callable[[Callable], Callable]:
    """Return a decorator that registers an entry for ``functions``, with NumPy's parameters.

    One that this NumPy does not have yet is None.
    """

    def register(translation: Callable) -> Callable:
        names = translation.__code__.co_varnames[: translation.__code__.co_argcount]
        for function in filter(None, functions):
            translation.__name__ = translation.__qualname__ = function.__name__
            ENTRIES[function] = translation
            if "out" in names:
                OUT_PLACES[function] = names.index("out")
        return translation

    return register


def by_value(*functions: Callable) -> None:
    """Register functions without a derivative that NumPy computes from the tensors' values."""
    BY_VALUE.update(functions)


def op(name: str) -> Callable:
    """Return the function of the op or composite ``name``; of ``linalg.name``, the one in that namespace."""
    space, _, short = name.rpartition(".")
    if space:
        return NAMESPACES.get(space, {}).get(short) or namespace(space)[short]
    if name not in FUNCTIONS and name not in TABLE:
        load(name)
    return TABLE[name].function if name in TABLE else FUNCTIONS[name]


def tensor(value: Any) -> Tensor:
    """Return anything that NumPy takes as an array, as a tensor; a list may contain tensors."""
    if isinstance(value, Tensor):
        return value
    if isinstance(value, (list, tuple)) and any(isinstance(v, (Tensor, list, tuple)) for v in value):
        return op("stack")([tensor(v) for v in value])
    return as_tensor(value if is_array(value) else np.asarray(value))


def floating(value: Any) -> Tensor:
    """``value`` as a tensor; integers as NumPy's functions of real numbers take them."""
    x = tensor(value)
    return x if x._array.dtype.kind in "fc" else x.to(np.float64)


def alike(*values: Any) -> list:
    """``values`` as tensors of floating-point numbers; a Python number is of the type that the others have."""
    numbers = [isinstance(v, (int, float)) for v in values]
    found = [None if number else floating(v) for v, number in zip(values, numbers, strict=True)]
    types = [x._array.dtype for x in found if x is not None]
    dtype = np.result_type(*types) if types else np.float64
    return [wrap(np.asarray(v, dtype)) if x is None else x for v, x in zip(values, found, strict=True)]


def plain(name: str, **given: tuple) -> None:
    """Refuse arguments that have another value than the one that has a meaning for tensors."""
    for parameter, (value, meant) in given.items():
        if value is not meant and value != meant:
            raise TypeError(f"np.{name} on tensors: {parameter}={value!r} is not supported, only {meant!r}")


def axes_of(axis: Any, ndim: int) -> tuple[int, ...]:
    """The axes that ``axis`` means, from 0; all, if None."""
    if axis is None:
        return tuple(range(ndim))
    given = tuple(axis) if isinstance(axis, (tuple, list)) else (axis,)
    for one in given:
        if not -ndim <= one < ndim:
            raise np.exceptions.AxisError(one, ndim)
    normal = tuple(int(one) % ndim for one in given)
    if len(set(normal)) != len(normal):
        raise ValueError("duplicate value in 'axis'")
    return normal
