"""``scipy.optimize`` for tensors: SciPy finds the solution, the implicit function theorem its derivatives.

What is to be differentiated is passed in ``args=``. SciPy is given exact derivatives where it would take differences.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import func as _func
from .._progress import Bar, counter
from ..arrays.lazy import scipy_optimize as _optimize
from ..ops.numpy_entries.registry import tensor as _tensor
from ._arguments import Arguments, on_arrays, plain
from ._implicit import solution
from ._like import has_tensor, like, scipys

__all__ = [
    "brentq",
    "fixed_point",
    "fsolve",
    "minimize",
    "root",
]


def __getattr__(name: str) -> Any:
    return scipys(_optimize, name, __name__)


def _tuple(args: Any) -> tuple:
    return args if isinstance(args, tuple) else (args,)


def _start(x0: Any) -> np.ndarray:
    return np.asarray(plain(x0), np.float64) if np.asarray(plain(x0)).dtype.kind in "iub" else np.asarray(plain(x0))


@like(_optimize)
def root(
    fun: Callable, x0: Any, args: Any = (), method: str = "hybr", jac: Any = None, tol: float | None = None,
    callback: Callable | None = None, options: dict | None = None,
) -> Any:  # fmt: skip
    """A root of a vector function, as a function of the tensors in ``args``.

    Examples
    --------
    >>> import dualtape as dt
    >>> a = dt.tensor([4.0, 9.0], dtype=dt.float64, requires_grad=True)
    >>> found = dt.scipy.optimize.root(lambda x, a: x * x - a, [1.0, 1.0], args=(a,))
    >>> found.x.sum().backward()
    >>> a.grad
    tensor([0.2500, 0.1667], dtype=dualtape.float64)
    """
    arguments, start = Arguments(_tuple(args)), _start(x0)
    if jac is None and method in ("hybr", "lm"):
        jac = on_arrays(lambda x, *more: _func.jacrev(lambda v: _tensor(fun(v, *more)))(x), "root")
    values = on_arrays(fun, "root")
    found = _optimize.root(values, start, arguments.plain(), method, jac, tol, callback, options)
    failure = "" if found.success else f"optimize.root did not converge ({found.message})"
    found.x = solution(found.x, lambda x, *p: _tensor(fun(x, *arguments.filled(p))), failure, arguments.tensors)
    return found


@like(_optimize)
def fsolve(func: Callable, x0: Any, args: Any = (), fprime: Any = None, **options: Any) -> Any:
    """A root of a vector function, as :func:`root` finds it: an array alone.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.optimize.fsolve(lambda x, a: x * x - a, 1.0, args=(dt.tensor(9.0),)).round(decimals=4)
    tensor([3.], dtype=dualtape.float64)
    """
    unknown = set(options) - {"xtol", "maxfev", "band", "epsfcn", "factor", "diag"}
    if unknown:
        raise TypeError(f"fsolve on tensors does not take {', '.join(sorted(unknown))}")
    return root(func, np.atleast_1d(_start(x0)), args, jac=fprime, options=options or None).x


@like(_optimize)
def brentq(f: Callable, a: Any, b: Any, args: Any = (), **options: Any) -> Any:
    """The root of a function of a number between ``a`` and ``b``.

    Examples
    --------
    >>> import dualtape as dt
    >>> a = dt.tensor(9.0, dtype=dt.float64, requires_grad=True)
    >>> x = dt.scipy.optimize.brentq(lambda x, a: x * x - a, 0.0, 10.0, args=(a,))
    >>> x.backward()
    >>> a.grad
    tensor(0.1667, dtype=dualtape.float64)
    """
    if options.get("full_output"):
        raise TypeError("brentq on tensors: full_output=False only")
    arguments = Arguments(_tuple(args))
    found = _optimize.brentq(on_arrays(f, "brentq"), plain(a), plain(b), arguments.plain(), **options)
    residual = lambda x, *p: _tensor(f(x, *arguments.filled(p)))  # noqa: E731
    return solution(np.asarray(found), residual, "", arguments.tensors)


@like(_optimize)
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
    arguments = Arguments(_tuple(args))
    values = on_arrays(func, "fixed_point")
    found = _optimize.fixed_point(values, _start(x0), arguments.plain(), xtol, maxiter, method)
    residual = lambda x, *p: _tensor(func(x, *arguments.filled(p))) - x  # noqa: E731
    return solution(np.asarray(found), residual, "", arguments.tensors)


def _counting(callback: Callable | None, bar: Bar) -> Callable:
    """What SciPy calls after each iteration: it has the signature of ``callback``, at which SciPy looks."""
    count = itertools.count(1)

    def counting(*args: Any, **kwargs: Any) -> Any:
        bar.reached(next(count))
        return None if callback is None else callback(*args, **kwargs)

    return counting if callback is None else functools.wraps(callback)(counting)


def minimize(
    fun: Callable, x0: Any, args: Any = (), method: Any = None, jac: Any = None, hess: Any = None, hessp: Any = None,
    bounds: Any = None, constraints: Any = (), tol: float | None = None, callback: Callable | None = None,
    options: dict | None = None, *, progress: bool | None = None,
) -> Any:  # fmt: skip
    """A minimum of a scalar function, as a function of the tensors in ``args``: ``x`` and ``fun`` of the result have
    history.

    ``progress`` shows how many iterations are done; by default on a terminal, once it has taken a second.

    Examples
    --------
    >>> import dualtape as dt
    >>> a = dt.tensor([1.0, 2.0], dtype=dt.float64, requires_grad=True)
    >>> found = dt.scipy.optimize.minimize(lambda x, a: ((x - a) ** 2).sum(), [0.0, 0.0], args=(a,))
    >>> found.x.sum().backward()
    >>> a.grad
    tensor([1., 1.], dtype=dualtape.float64)
    """
    bar = counter("minimize: iterations", progress)
    if bar is not None:
        try:
            return minimize(
                fun, x0, args, method, jac, hess, hessp, bounds, constraints, tol, _counting(callback, bar), options,
                progress=False,
            )  # fmt: skip
        finally:
            bar.close()
    if not has_tensor((x0, args)):
        return _optimize.minimize(fun, x0, args, method, jac, hess, hessp, bounds, constraints, tol, callback, options)
    if bounds is not None or constraints:
        raise TypeError("minimize on tensors: a minimum on a bound or under constraints has no derivative here")
    arguments, start = Arguments(_tuple(args)), _start(x0)
    objective = (lambda *a: fun(*a)[0]) if jac is True else fun

    def scalar(x: Any, *more: Any) -> Any:
        return _tensor(objective(x, *more)).reshape(())

    if jac is None and method not in ("Nelder-Mead", "Powell", "COBYLA", "COBYQA", "nelder-mead", "powell"):
        jac = on_arrays(_func.grad(scalar), "minimize")
    found = _optimize.minimize(
        on_arrays(fun, "minimize"), start, arguments.plain(), method, jac, hess, hessp, None, (), tol, callback, options
    )
    failure = "" if found.success else f"optimize.minimize did not converge ({found.message})"
    slope = _func.grad(scalar)
    found.x = solution(found.x, lambda x, *p: slope(x, *arguments.filled(p)), failure, arguments.tensors)
    found.fun = scalar(found.x, *arguments.filled(arguments.tensors))
    return found
