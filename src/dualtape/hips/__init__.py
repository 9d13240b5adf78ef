"""Derivatives under HIPS autograd's names: ``from autograd import grad`` becomes ``from dualtape.hips import grad``.

Its conventions: ``grad(fun, argnum)`` gives a function; numbers and arrays in, numbers and arrays out; a function that
does not depend on its argument has the derivative zero; gradients with respect to complex arguments are the conjugates
of PyTorch's.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import errors, func
from .._listing import listing
from .._tensor.tensor import Tensor
from ..autograd.checkpoint import checkpoint as _checkpoint
from ..func import scope
from ..ops.numpy_entries.registry import tensor as _tensor
from ..pytree import tree_map

__all__ = [
    "checkpoint",
    "deriv",
    "elementwise_grad",
    "grad",
    "grad_and_aux",
    "grad_named",
    "hessian",
    "hessian_tensor_product",
    "hessian_vector_product",
    "holomorphic_grad",
    "jacobian",
    "make_ggnvp",
    "make_hvp",
    "make_jvp",
    "make_jvp_reversemode",
    "make_vjp",
    "multigrad_dict",
    "tensor_jacobian_product",
    "value_and_grad",
    "vector_jacobian_product",
]

Argnum = int | Sequence[int]


# --- between numbers, arrays and tensors ----------------------------------------------------------


def _as_tensor(value: Any) -> Any:
    return value if isinstance(value, Tensor) else _tensor(value)


def _plain(tree: Any) -> Any:
    """``tree`` with numbers for arrays without dimensions."""
    return tree_map(lambda leaf: leaf[()] if isinstance(leaf, np.ndarray) and not leaf.ndim else leaf, tree)


def _conjugate(tree: Any) -> Any:
    """What is complex in ``tree`` conjugated: to HIPS autograd's convention and back."""
    return tree_map(lambda leaf: leaf.conj() if np.iscomplexobj(leaf) else leaf, tree)


def _chosen(fun: Callable, argnum: Argnum, args: tuple, kwargs: dict) -> tuple[Callable, tuple]:
    """``fun`` as a function of the arguments at ``argnum`` alone, and these, as what can be differentiated."""
    places = (argnum,) if isinstance(argnum, int) else tuple(argnum)
    of_chosen = scope.with_chosen(fun, args, kwargs, places)
    chosen = tuple(args[place] for place in places)
    for value in chosen:
        if isinstance(value, (int, np.integer)):
            raise TypeError(f"Can't differentiate w.r.t. type {type(value)}: give a floating-point number, {value}.0")
    return (lambda *values: tree_map(_as_tensor, of_chosen(*values))), chosen


def _one(results: tuple, argnum: Argnum) -> Any:
    return results[0] if isinstance(argnum, int) else results


def _pulled(fun: Callable, argnum: Argnum, args: tuple, kwargs: dict) -> tuple[Any, Callable]:
    """The value of ``fun``, and the function from gradients of the value to gradients of its arguments."""
    of_chosen, chosen = _chosen(fun, argnum, args, kwargs)
    value, vjp_fn = func.vjp(of_chosen, *chosen)

    def vjp(cotangent: Any) -> Any:
        return _plain(_one(_conjugate(vjp_fn(_conjugate(tree_map(_as_tensor, cotangent)))), argnum))

    return _plain(value), vjp


def _ones(value: Any, who: str) -> Any:
    if np.size(value) != 1 or np.iscomplexobj(value):
        raise TypeError(
            f"{who} only applies to real scalar-output functions, got shape {tuple(np.shape(value))}: use jacobian,"
            " elementwise_grad or holomorphic_grad"
        )
    return np.ones_like(value)


# --- gradients ------------------------------------------------------------------------------------


def grad(fun: Callable, argnum: Argnum = 0) -> Callable:
    """The gradient of a scalar function with respect to its argument at ``argnum``; of several, a tuple.

    Examples
    --------
    >>> from dualtape.hips import grad
    >>> float(grad(lambda x, y: x * x * y)(3.0, 2.0))
    12.0
    """

    @scope.named_as(fun)
    def gradient(*args: Any, **kwargs: Any) -> Any:
        value, vjp = _pulled(fun, argnum, args, kwargs)
        return vjp(_ones(value, "grad"))

    return gradient


def value_and_grad(fun: Callable, argnum: Argnum = 0) -> Callable:
    """The function that computes value and gradient, as SciPy's optimizers take them.

    Examples
    --------
    >>> from dualtape.hips import value_and_grad
    >>> [float(v) for v in value_and_grad(lambda x: x ** 3)(2.0)]
    [8.0, 12.0]
    """

    @scope.named_as(fun)
    def both(*args: Any, **kwargs: Any) -> tuple:
        value, vjp = _pulled(fun, argnum, args, kwargs)
        return value, vjp(_ones(value, "value_and_grad"))

    return both


def grad_and_aux(fun: Callable, argnum: Argnum = 0) -> Callable:
    """The gradient of the first of two results of ``fun``, and the second as it is.

    Examples
    --------
    >>> from dualtape.hips import grad_and_aux
    >>> gradient, aux = grad_and_aux(lambda x: (x * x, "seen"))(3.0)
    >>> float(gradient), aux
    (6.0, 'seen')
    """

    @scope.named_as(fun)
    def gradient(*args: Any, **kwargs: Any) -> tuple:
        beside: list = []

        def first(*inner: Any, **options: Any) -> Any:
            value, aux = fun(*inner, **options)
            beside.append(aux)
            return value

        value, vjp = _pulled(first, argnum, args, kwargs)
        aux = tree_map(lambda leaf: leaf.detach().numpy() if isinstance(leaf, Tensor) else leaf, beside[0])
        return vjp(_ones(value, "grad_and_aux")), _plain(aux)

    return gradient


def elementwise_grad(fun: Callable, argnum: Argnum = 0) -> Callable:
    """The sum of each column of the Jacobian: of a function of each element, its derivative there.

    Examples
    --------
    >>> import dualtape.numpy as np
    >>> from dualtape.hips import elementwise_grad
    >>> elementwise_grad(np.square)(np.array([1.0, 3.0]))
    array([2., 6.])
    """

    @scope.named_as(fun)
    def gradient(*args: Any, **kwargs: Any) -> Any:
        value, vjp = _pulled(fun, argnum, args, kwargs)
        if np.iscomplexobj(value):
            raise TypeError("elementwise_grad only applies to real-output functions")
        return vjp(np.ones_like(value))

    return gradient


def holomorphic_grad(fun: Callable, argnum: Argnum = 0) -> Callable:
    """The complex derivative of a function that has one.

    Examples
    --------
    >>> from dualtape.hips import holomorphic_grad
    >>> complex(holomorphic_grad(lambda z: z ** 2)(1 + 2j))
    (2+4j)
    """
    return grad(lambda *args, **kwargs: np.real(fun(*args, **kwargs)), argnum)


def grad_named(fun: Callable, argname: str) -> Callable:
    """The gradient with respect to the argument of this name.

    Examples
    --------
    >>> from dualtape.hips import grad_named
    >>> float(grad_named(lambda x, y: x * y * y, "y")(2.0, 3.0))
    12.0
    """
    return grad(fun, list(inspect.signature(fun).parameters).index(argname))


def multigrad_dict(fun: Callable) -> Callable:
    """The gradients with respect to all arguments, by their names.

    Examples
    --------
    >>> from dualtape.hips import multigrad_dict
    >>> {name: float(g) for name, g in multigrad_dict(lambda x, y: x * y)(2.0, 3.0).items()}
    {'x': 3.0, 'y': 2.0}
    """
    signature = inspect.signature(fun)

    @scope.named_as(fun)
    def gradients(*args: Any, **kwargs: Any) -> dict:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()

        def of_all(arguments: dict) -> Any:
            bound.arguments.update(arguments)
            return fun(*bound.args, **bound.kwargs)

        return grad(of_all)(dict(bound.arguments))

    return gradients


# --- matrices of derivatives ----------------------------------------------------------------------


def jacobian(fun: Callable, argnum: int = 0) -> Callable:
    """The derivatives of all results: of the shape of the result, followed by that of the argument.

    Examples
    --------
    >>> import dualtape.numpy as np
    >>> from dualtape.hips import jacobian
    >>> jacobian(lambda x: np.array([x[0] * x[1], x[0]]))(np.array([2.0, 3.0]))
    array([[3., 2.],
           [1., 0.]])
    """

    @scope.named_as(fun)
    def matrix(*args: Any, **kwargs: Any) -> Any:
        of_chosen, chosen = _chosen(fun, argnum, args, kwargs)
        return _plain(func.jacrev(of_chosen)(*chosen))

    return matrix


def hessian(fun: Callable, argnum: int = 0) -> Callable:
    """The second derivatives.

    Examples
    --------
    >>> import dualtape.numpy as np
    >>> from dualtape.hips import hessian
    >>> hessian(lambda x: x[0] * x[1] ** 2)(np.array([2.0, 3.0]))
    array([[0., 6.],
           [6., 4.]])
    """
    return jacobian(jacobian(fun, argnum), argnum)


def hessian_tensor_product(fun: Callable, argnum: int = 0) -> Callable:
    """The function of ``(*args, tensor)`` that gives the Hessian times the tensor.

    Examples
    --------
    >>> import dualtape.numpy as np
    >>> from dualtape.hips import hessian_vector_product
    >>> hessian_vector_product(lambda x: np.sum(x ** 3))(np.array([1.0, 2.0]), np.array([1.0, 1.0]))
    array([ 6., 12.])
    """
    gradient = grad(fun, argnum)

    def along(*args: Any, **kwargs: Any) -> Any:
        *inner, vector = args
        return np.sum(gradient(*inner, **kwargs) * vector)

    return grad(along, argnum)


def tensor_jacobian_product(fun: Callable, argnum: int = 0) -> Callable:
    """The function of ``(*args, tensor)`` that gives the tensor times the Jacobian.

    Examples
    --------
    >>> import dualtape.numpy as np
    >>> from dualtape.hips import vector_jacobian_product
    >>> vector_jacobian_product(lambda x: x ** 2)(np.array([1.0, 2.0]), np.array([1.0, 10.0]))
    array([ 2., 40.])
    """

    def along(*args: Any, **kwargs: Any) -> Any:
        *inner, vector = args
        return np.tensordot(vector, fun(*inner, **kwargs), axes=np.ndim(vector))

    return jacobian(along, argnum)


hessian_vector_product = hessian_tensor_product
vector_jacobian_product = tensor_jacobian_product


# --- products with them ---------------------------------------------------------------------------


def make_vjp(fun: Callable, argnum: Argnum = 0) -> Callable:
    """The function that gives, at its arguments, the pull-back of gradients and the value.

    Examples
    --------
    >>> from dualtape.hips import make_vjp
    >>> vjp, value = make_vjp(lambda x: x ** 2)(3.0)
    >>> float(vjp(1.0)), float(value)
    (6.0, 9.0)
    """

    @scope.named_as(fun)
    def at(*args: Any, **kwargs: Any) -> tuple:
        value, vjp = _pulled(fun, argnum, args, kwargs)
        return vjp, value

    return at


def make_jvp(fun: Callable, argnum: int = 0) -> Callable:
    """The function that gives, at its arguments, what takes a tangent to the value and its tangent.

    Examples
    --------
    >>> from dualtape.hips import make_jvp
    >>> [float(v) for v in make_jvp(lambda x: x ** 2)(3.0)(1.0)]
    [9.0, 6.0]
    """

    @scope.named_as(fun)
    def at(*args: Any, **kwargs: Any) -> Callable:
        of_chosen, chosen = _chosen(fun, argnum, args, kwargs)
        return lambda tangent: _plain(func.jvp(of_chosen, chosen, (tangent,)))

    return at


def make_jvp_reversemode(fun: Callable, argnum: int = 0) -> Callable:
    """As :func:`make_jvp`, the tangent alone.

    Examples
    --------
    >>> from dualtape.hips import make_jvp_reversemode
    >>> float(make_jvp_reversemode(lambda x: x ** 2)(3.0)(1.0))
    6.0
    """
    pushed = make_jvp(fun, argnum)
    return lambda *args, **kwargs: lambda tangent: pushed(*args, **kwargs)(tangent)[1]


def deriv(fun: Callable, argnum: int = 0) -> Callable:
    """The derivative of ``fun`` as all elements of its argument grow, in forward mode.

    Examples
    --------
    >>> from dualtape.hips import deriv
    >>> float(deriv(lambda x: x ** 3)(2.0))
    12.0
    """
    pushed = make_jvp(fun, argnum)
    return lambda *args, **kwargs: pushed(*args, **kwargs)(np.ones_like(args[argnum]))[1]


def make_hvp(fun: Callable, argnum: int = 0) -> Callable:
    """The function that gives, at its arguments, the product with the Hessian, and the gradient.

    Examples
    --------
    >>> from dualtape.hips import make_hvp
    >>> hvp, gradient = make_hvp(lambda x: x ** 3)(2.0)
    >>> float(hvp(1.0)), float(gradient)
    (12.0, 12.0)
    """
    return make_vjp(grad(fun, argnum), argnum)


def _half_square(x: Any) -> Any:
    return np.sum(x * x, axis=-1) / 2


def make_ggnvp(f: Callable, g: Callable = _half_square, f_argnum: int = 0) -> Callable:
    """The function that gives, at its arguments, the product with the Gauss-Newton matrix of ``g(f(x))``.

    Examples
    --------
    >>> import dualtape.numpy as np
    >>> from dualtape.hips import make_ggnvp
    >>> make_ggnvp(lambda x: x ** 2)(np.array([1.0, 2.0]))(np.ones(2))
    array([ 4., 16.])
    """

    def at(*args: Any, **kwargs: Any) -> Callable:
        vjp, value = make_vjp(f, f_argnum)(*args, **kwargs)
        push = make_jvp(f, f_argnum)(*args, **kwargs)
        hvp, _ = make_hvp(g)(value)
        return lambda v: vjp(hvp(push(v)[1]))

    return at


def checkpoint(fun: Callable) -> Callable:
    """``fun`` without what it computes on the way being kept: it is computed again in the backward.

    Examples
    --------
    >>> from dualtape.hips import checkpoint, grad
    >>> float(grad(checkpoint(lambda x: x ** 2))(3.0))
    6.0
    """

    @scope.named_as(fun)
    def kept_short(*args: Any, **kwargs: Any) -> Any:
        return _checkpoint(fun, *args, use_reentrant=False, **kwargs)

    return kept_short


def __getattr__(name: str) -> Any:
    if name in ("dict", "isinstance", "list", "tuple"):  # which autograd has types of its own for
        from . import builtins

        return getattr(builtins, name)
    raise errors.missing(__name__, name, __all__)


__dir__ = listing(__name__)
