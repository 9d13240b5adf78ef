"""Roots of functions and fixed points: SciPy finds them, the implicit function theorem has their derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ... import func as _func
from ..._tensor.tensor import Tensor
from ...arrays.lazy import scipy_optimize as _optimize
from .._arguments import Arguments, plain
from .._implicit import solution
from .._like import calling, counting
from .._outside import Called
from .._tensors import tensor as _tensor
from .minima import as_tuple, start_of

__all__ = [
    "bisect",
    "brenth",
    "brentq",
    "fixed_point",
    "fsolve",
    "newton",
    "ridder",
    "root",
    "root_scalar",
    "toms748",
]


class _Equation:
    """``function(x, *args) == 0``, for SciPy to solve on arrays, and to differentiate."""

    def __init__(self, function: Callable, model: Any, args: Any) -> None:
        self.arguments = Arguments(as_tuple(args))
        self.called = Called(function, model)
        self.constants = self.arguments.filled([x.detach() for x in self.arguments.tensors])

    def values(self, x: Any) -> Any:
        """Return the values at an array."""
        return np.asarray(self.called.on_arrays(np.asarray(x), *self.constants))

    def value(self, x: float) -> float:
        """Return the value at a number."""
        return float(self.values(x).reshape(()))

    def residual(self, x: Any, *values: Any) -> Any:
        """Return the values at a tensor, with history."""
        return _tensor(self.called(x, *self.arguments.filled(values)))

    def jacobian(self, x: np.ndarray) -> Any:
        """Return the derivatives at an array."""
        return plain(_func.jacrev(lambda v: _tensor(self.called(v, *self.constants)))(_tensor(x.copy())))

    def solved(self, x: Any, failure: str = "") -> Tensor:
        """Return a root that was found, with its history."""
        residual = lambda x, *p: self.residual(x, *p).reshape(tuple(x.shape))  # noqa: E731
        return solution(np.asarray(x), residual, failure, self.arguments.tensors, self.called.tensors())


@counting
@calling(_optimize, "fun", "jac")
def root(
    fun: Callable,
    x0: Any,
    args: Any = (),
    method: str = "hybr",
    jac: Any = None,
    tol: float | None = None,
    callback: Callable | None = None,
    options: dict | None = None,
) -> Any:
    """A root of a vector function, as a function of the tensors that it uses, in ``args`` or otherwise.

    Examples
    --------
    >>> import dualtape as dt
    >>> a = dt.tensor([4.0, 9.0], dtype=dt.float64, requires_grad=True)
    >>> found = dt.scipy.optimize.root(lambda x: x * x - a, [1.0, 1.0])
    >>> found.x.sum().backward()
    >>> a.grad
    tensor([0.2500, 0.1667], dtype=dualtape.float64)
    """
    equation = _Equation((lambda *given: fun(*given)[0]) if jac is True else fun, x0, args)
    exact: Any = None
    if callable(jac):
        exact = lambda x: np.asarray(plain(_tensor(jac(x, *equation.arguments.plain()))))  # noqa: E731
    elif method in ("hybr", "lm"):
        exact = equation.jacobian
    found = _optimize.root(equation.values, start_of(x0), (), method, exact, tol, callback, options)
    failure = "" if found.success else f"optimize.root did not converge ({found.message})"
    found.x = equation.solved(found.x, failure)
    return found


@counting
@calling(_optimize, "func", "fprime")
def fsolve(func: Callable, x0: Any, args: Any = (), fprime: Any = None, **options: Any) -> Any:
    """A root of a vector function, found as by :func:`root`, as an array alone.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.optimize.fsolve(lambda x, a: x * x - a, 1.0, args=(dt.tensor(9.0),)).round(decimals=4)
    tensor([3.], dtype=dualtape.float64)
    """
    unknown = set(options) - {"xtol", "maxfev", "band", "epsfcn", "factor", "diag"}
    if unknown:
        raise TypeError(f"fsolve on tensors does not take {', '.join(sorted(unknown))}")
    start = x0 if isinstance(x0, Tensor) and x0.ndim else np.atleast_1d(start_of(x0))
    return root.__wrapped__.__wrapped__(func, start, args, jac=fprime, options=options or None).x


def _bracketed(name: str) -> Callable:
    def solve(f: Callable, a: Any, b: Any, args: Any = (), **options: Any) -> Any:
        if options.get("full_output"):
            raise TypeError(f"{name} on tensors: full_output=False only")
        equation = _Equation(f, None, args)
        return equation.solved(getattr(_optimize, name)(equation.value, plain(a), plain(b), **options))

    solve.__name__ = solve.__qualname__ = name
    solve.__doc__ = f"""The root of a function of a number between ``a`` and ``b``.

    Examples
    --------
    >>> import dualtape as dt
    >>> a = dt.tensor(9.0, dtype=dt.float64, requires_grad=True)
    >>> x = dt.scipy.optimize.{name}(lambda x: x * x - a, 0.0, 10.0)
    >>> x.backward()
    >>> a.grad
    tensor(0.1667, dtype=dualtape.float64)
    """
    return counting(calling(_optimize)(solve))


bisect, brenth, brentq, ridder, toms748 = map(_bracketed, ("bisect", "brenth", "brentq", "ridder", "toms748"))


@counting
@calling(_optimize, "func", "fprime", "fprime2")
def newton(
    func: Callable,
    x0: Any,
    fprime: Any = None,
    args: Any = (),
    tol: float = 1.48e-08,
    maxiter: int = 50,
    fprime2: Any = None,
    x1: Any = None,
    rtol: float = 0.0,
    full_output: bool = False,
    disp: bool = True,
) -> Any:
    """The root of a function of a number, or of each of several, by the methods of Newton, Halley, or secants.

    Examples
    --------
    >>> import dualtape as dt
    >>> a = dt.tensor(9.0, dtype=dt.float64, requires_grad=True)
    >>> dt.scipy.optimize.newton(lambda x: x * x - a, 1.0).backward()
    >>> a.grad
    tensor(0.1667, dtype=dualtape.float64)
    """
    if full_output:
        raise TypeError("newton on tensors: full_output=False only")
    equation = _Equation(func, x0, args)
    slopes = [
        None if f is None else (lambda x, f=f: np.asarray(plain(_tensor(f(x, *equation.arguments.plain())))))
        for f in (fprime, fprime2)
    ]
    start = start_of(x0)
    found = _optimize.newton(
        equation.values if start.ndim else equation.value,
        start if start.ndim else float(start),
        slopes[0],
        (),
        tol,
        maxiter,
        slopes[1],
        plain(x1),
        rtol,
        disp=disp,
    )
    return equation.solved(found)


@counting
@calling(_optimize, "f", "fprime", "fprime2")
def root_scalar(
    f: Callable,
    args: Any = (),
    method: str | None = None,
    bracket: Any = None,
    fprime: Any = None,
    fprime2: Any = None,
    x0: Any = None,
    x1: Any = None,
    xtol: float | None = None,
    rtol: float | None = None,
    maxiter: int | None = None,
    options: dict | None = None,
) -> Any:
    """The root of a function of a number: ``root`` of the result has history.

    Examples
    --------
    >>> import dualtape as dt
    >>> a = dt.tensor(9.0, dtype=dt.float64, requires_grad=True)
    >>> dt.scipy.optimize.root_scalar(lambda x: x * x - a, bracket=[0, 10]).root.backward()
    >>> a.grad
    tensor(0.1667, dtype=dualtape.float64)
    """
    equation = _Equation((lambda *given: fun_of(f(*given))) if fprime is True else f, None, args)
    fun_of = lambda results: results[0]  # noqa: E731
    first, second = (
        (lambda x, g=g: float(plain(_tensor(g(x, *equation.arguments.plain()))))) if callable(g) else None
        for g in (fprime, fprime2)
    )
    if first is None and (fprime is True or (method in ("newton", "halley") and bracket is None)):
        first = lambda x: float(equation.jacobian(np.asarray(x, float)))  # type: ignore[assignment] # noqa: E731
    ends = None if bracket is None else [float(plain(end)) for end in bracket]
    start, other = (None if x is None else float(plain(x)) for x in (x0, x1))
    found = _optimize.root_scalar(
        equation.value, (), method, ends, first, second, start, other, xtol, rtol, maxiter, options
    )
    found.root = equation.solved(found.root, "" if found.converged else "optimize.root_scalar did not converge")
    return found


@counting
@calling(_optimize)
def fixed_point(
    func: Callable, x0: Any, args: Any = (), xtol: float = 1e-08, maxiter: int = 500, method: str = "del2"
) -> Any:
    """The x with ``func(x, *args) == x``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.optimize.fixed_point(lambda x, a: (x + a / x) / 2, 1.0, args=(dt.tensor(9.0),)).round(decimals=4)
    tensor(3., dtype=dualtape.float64)
    """
    equation = _Equation(func, x0, args)
    found = _optimize.fixed_point(equation.values, start_of(x0), (), xtol, maxiter, method)
    inner = equation.residual
    equation.residual = lambda x, *p: inner(x, *p) - x  # type: ignore[method-assign]
    return equation.solved(found)
