"""Functions with user-defined derivatives: ``primitive`` and ``defvjp``, as HIPS autograd has them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._tensor.tensor import Tensor
from ..autograd.function import Function
from ..func import scope
from ..ops.numpy_entries.registry import tensor as _tensor
from ..ops.numpy_tensor import as_plain

__all__ = ["defvjp", "primitive"]


class Primitive:
    """A function of arrays that is differentiated by what :func:`defvjp` gives."""

    def __init__(self, fun: Callable) -> None:
        self.fun = fun
        self.vjps: dict[int, Callable | None] = {}
        scope.named_as(fun)(self)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        places = [k for k, a in enumerate(args) if isinstance(a, Tensor)]
        if not places:
            return self.fun(*args, **kwargs)
        result = _Called.apply(self, args, kwargs, places, *(args[k] for k in places))
        return scope.of_kind(result, next((args[k] for k in places if type(args[k]) is not Tensor), None))


def _plain(value: Any) -> Any:
    """Return a gradient as a plain tensor."""
    return as_plain(_tensor(value))


class _Called(Function):
    @staticmethod
    def forward(ctx: Any, primitive: Primitive, args: tuple, kwargs: dict, places: list, *tensors: Tensor) -> Any:
        plain = list(args)
        for place, x in zip(places, tensors, strict=True):
            plain[place] = x.detach().numpy()
        result = _tensor(primitive.fun(*plain, **kwargs))
        ctx.save_for_backward(result, *tensors)
        ctx.call = (primitive, args, kwargs, places)
        return result

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> tuple:
        primitive, args, kwargs, places = ctx.call
        result, *tensors = ctx.saved_tensors
        values = list(args)
        for place, x in zip(places, tensors, strict=True):
            values[place] = scope.entered(x)
        result, gradient = scope.entered(result), scope.entered(gradient)
        found: list = []
        for number, place in enumerate(places):
            if not ctx.needs_input_grad[4 + number]:
                found.append(None)
                continue
            if place not in primitive.vjps:
                raise NotImplementedError(f"VJP of {primitive.fun.__name__} wrt argnum {place} not defined: use defvjp")
            make = primitive.vjps[place]
            found.append(None if make is None else _plain(make(result, *values, **kwargs)(gradient)))
        return (None, None, None, None, *found)


def primitive(fun: Callable) -> Primitive:
    """Declare a function of NumPy's arrays, to be differentiated by what :func:`defvjp` gives.

    Examples
    --------
    >>> import numpy as np
    >>> from dualtape.hips import grad
    >>> from dualtape.hips.extend import defvjp, primitive
    >>> cube = primitive(lambda x: np.power(x, 3))
    >>> defvjp(cube, lambda result, x: lambda g: g * 3 * x * x)
    >>> float(grad(cube)(2.0)), float(grad(grad(cube))(2.0))
    (12.0, 12.0)
    """
    return Primitive(fun)


def defvjp(fun: Primitive, *vjpmakers: Callable | None, argnums: Any = None) -> None:
    """Give the derivatives of a :func:`primitive`: for each argument a function of the result and the arguments, which
    gives the function from the gradient of the result to that of the argument; or None where it is zero.

    Examples
    --------
    >>> from dualtape.hips import grad
    >>> from dualtape.hips.extend import defvjp, primitive
    >>> product = primitive(lambda x, y: x * y)
    >>> defvjp(product, lambda result, x, y: lambda g: g * x, argnums=[1])
    >>> float(grad(product, 1)(2.0, 5.0))
    2.0
    """
    places = range(len(vjpmakers)) if argnums is None else argnums
    fun.vjps.update(zip(places, vjpmakers, strict=True))
