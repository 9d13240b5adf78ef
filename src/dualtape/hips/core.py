"""The two derivatives that HIPS autograd builds all others of, of functions of one argument at a point."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import make_jvp as _jvp
from . import make_vjp as _vjp

__all__ = ["make_jvp", "make_vjp"]


def make_vjp(fun: Callable, x: Any) -> tuple[Callable, Any]:
    """Return the function from gradients of ``fun(x)`` to those of ``x``, and the value.

    Examples
    --------
    >>> from dualtape.hips.core import make_vjp
    >>> vjp, value = make_vjp(lambda x: x**2, 3.0)
    >>> float(vjp(1.0)), float(value)
    (6.0, 9.0)
    """
    return _vjp(fun)(x)


def make_jvp(fun: Callable, x: Any) -> Callable:
    """Return the function from directions of ``x`` to the value and its derivative along them.

    Examples
    --------
    >>> from dualtape.hips.core import make_jvp
    >>> value, slope = make_jvp(lambda x: x**2, 3.0)(1.0)
    >>> float(value), float(slope)
    (9.0, 6.0)
    """
    return _jvp(fun)(x)
