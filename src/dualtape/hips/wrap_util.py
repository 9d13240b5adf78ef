"""Operators on functions of one argument, made into ones on functions of several, as HIPS autograd has them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..func import scope

__all__ = ["unary_to_nary"]


def unary_to_nary(unary_operator: Callable) -> Callable:
    """Return an operator ``(fun, argnum=0)`` on functions of several arguments.

    Parameters
    ----------
    unary_operator : callable
        Takes a function of one argument, and the value of this argument; of several, as a tuple.

    Examples
    --------
    >>> from dualtape.hips.core import make_vjp
    >>> from dualtape.hips.wrap_util import unary_to_nary
    >>> slope = unary_to_nary(lambda fun, x: float(make_vjp(fun, x)[0](1.0)))
    >>> slope(lambda x, y: x * y, 1)(2.0, 5.0)
    2.0
    """

    @scope.named_as(unary_operator)
    def operator(fun: Callable, argnum: Any = 0, *more: Any, **options: Any) -> Callable:
        if not isinstance(argnum, (int, tuple, list)):
            raise TypeError(f"argnum must be an int or several, got {argnum!r}")

        @scope.named_as(fun)
        def of_arguments(*args: Any, **kwargs: Any) -> Any:
            places = (argnum,) if isinstance(argnum, int) else tuple(argnum)
            chosen = scope.with_chosen(fun, args, kwargs, places)
            if isinstance(argnum, int):
                return unary_operator(chosen, args[argnum], *more, **options)
            return unary_operator(lambda values: chosen(*values), tuple(args[k] for k in places), *more, **options)

        return of_arguments

    return operator
