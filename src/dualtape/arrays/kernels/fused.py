"""Fused kernels: on large arrays, one native kernel in place of many passes over memory.

A function is written once, in NumPy calls. Where it is called repeatedly on large NumPy arrays of the same kind, and
llvmlite is installed, it is traced over arrays and compiled as compiled functions are (:mod:`dualtape.compiler`);
otherwise it runs as written.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from inspect import CO_VARARGS
from math import prod
from typing import Any

import numpy as np

_MANY = 1 << 15  # elements from which on a kernel pays
_TIMES = 3  # calls of one kind before it is compiled
_MOST = 64  # kinds of calls of one function
_ndarray = np.ndarray
_enabled: bool | None = None  # None: as llvmlite is there, or not


def enable(enabled: bool) -> bool:
    """Switch fused kernels on or off; return whether they were on."""
    global _enabled
    before = is_enabled()
    _enabled = enabled and _has_llvm()
    return before


def is_enabled() -> bool:
    """Return whether large arrays use fused kernels."""
    global _enabled
    if _enabled is None:
        _enabled = _has_llvm()
    return _enabled


def _has_llvm() -> bool:
    # Imported on demand: it takes a hundredth of the time that importing NumPy does.
    from importlib.util import find_spec

    return find_spec("llvmlite") is not None


def fused(function: Callable, traced: Callable | None = None) -> Any:
    """Return ``function`` (arrays first, plain values after them) such that it runs as one kernel where that pays;
    ``traced`` may be another form of it for tracing.
    """
    code = function.__code__
    names = code.co_varnames[: code.co_argcount]
    space: dict[str, Any] = {
        "_f": function,
        "_traced": traced or function,
        "_large": _large,
        "_programs": {},
        "_ndarray": _ndarray,
        "_MANY": _MANY,
    }
    given = "*args" if code.co_flags & CO_VARARGS else ", ".join(names)
    first = "args[0]" if code.co_flags & CO_VARARGS else names[0]
    taken = "args" if code.co_flags & CO_VARARGS else f"({given}, )"
    # written out, so that it has the parameters of the function: a row is read off them
    source = (
        f"def run({given}):\n"
        f"    if type({first}) is not _ndarray or {first}.size < _MANY:\n"
        f"        return _f({given})\n"
        f"    return _large(_f, _traced, _programs, {taken})\n"
    )
    exec(source, space)
    run: Any = functools.update_wrapper(space["run"], function)
    run.__defaults__ = function.__defaults__
    del run.__wrapped__
    run.kernel = traced or function  # what is traced for one
    return run


def _large(function: Callable, traced: Callable, programs: dict, args: tuple) -> Any:
    key = tuple([(a.shape, a.strides, a.dtype.char) if type(a) is _ndarray else a for a in args])
    try:
        known = programs.get(key, 0)
    except TypeError:  # an argument that is no key
        return function(*args)
    if type(known) is int and is_enabled():
        if known < _TIMES or len(programs) > _MOST:
            programs[key] = known + 1
            return function(*args)
        from ...compiler.eager import kernel

        known = programs[key] = kernel(traced, args)
    if known is None or type(known) is int or not is_enabled():
        return function(*args)
    return known(*[a for a in args if type(a) is _ndarray])


# --- convolutions -----------------------------------------------------------------------------------

_convolutions: dict[tuple, Any] = {}
# The number of kinds of convolutions that are kept: a network has one to three for each of its layers.
_KINDS = 256


def convolution_kernel(what: str, first: np.ndarray, second: np.ndarray, key: tuple, biased: bool = False) -> Any:
    """Return a kernel for a convolution (``"forward"``), or for the gradient of its ``"images"`` or ``"weight"``, after
    a few calls of one kind; None if there is none.

    ``key`` are the arguments of a :class:`~dualtape.compiler.native.convolutions.Geometry`.
    """
    images, groups, depth, _, sizes, *_ = key
    if images * groups * depth * prod(sizes) < _MANY or second.dtype != first.dtype or first.dtype.char not in "fd":
        return None
    if not is_enabled():
        return None
    whole = (what, first.dtype.char, key, biased)
    known = _convolutions.get(whole, 0)
    if type(known) is int:
        if known < _TIMES or len(_convolutions) > _KINDS:
            _convolutions[whole] = known + 1
            return None
        from ...compiler.eager import convolution

        known = _convolutions[whole] = convolution(what, f"f{first.itemsize}", key, biased)
    return None if known is None else known()


# --- steps with momentum ----------------------------------------------------------------------------

_steps: dict[tuple, Any] = {}
_SIZES = 1024  # of parameters


def momentum_kernel(like: np.ndarray, decays: bool, nesterov: bool) -> Any:
    """Return a kernel that updates a parameter of this size and dtype in place, after a few calls, and the number of
    elements that it updates; None if there is none.
    """
    if like.size < _MANY or like.dtype.char not in "fd" or not is_enabled():
        return None
    kind = (like.dtype.char, decays, nesterov)
    known = _steps.get((*kind, like.size))
    if known is None:
        make = _steps.get(kind, 0)
        if type(make) is int:
            if make < _TIMES:
                _steps[kind] = make + 1
                return None
            from ...compiler.eager import momentum

            make = _steps[kind] = momentum(f"f{like.itemsize}", decays, nesterov)
        if len(_steps) > _SIZES:
            return None
        known = _steps[(*kind, like.size)] = make(like.size)
    return known
