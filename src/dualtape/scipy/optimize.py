"""``scipy.optimize`` for tensors: SciPy finds the solution, the implicit function theorem its derivatives.

Parameters to differentiate with respect to are passed in ``args=``. SciPy gets exact derivatives where it would use
differences. ``progress`` shows the state of the iteration; by default on a terminal, after one second.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import func as _func
from .._listing import listing
from .._progress import Bar, counter
from ..arrays.lazy import scipy_optimize as _optimize
from ..ops.numpy_entries.registry import tensor as _tensor
from ._arguments import Arguments, on_arrays, plain
from ._implicit import solution
from ._like import counting, has_tensor, like, scipys

__all__ = [
    "brentq",
    "fixed_point",
    "fsolve",
    "least_squares",
    "minimize",
    "root",
]


def __getattr__(name: str) -> Any:
    return scipys(_optimize, name, __name__)


def _tuple(args: Any) -> tuple:
    return args if isinstance(args, tuple) else (args,)


def _start(x0: Any) -> np.ndarray:
    return np.asarray(plain(x0), np.float64) if np.asarray(plain(x0)).dtype.kind in "iub" else np.asarray(plain(x0))


@counting
@like(_optimize)
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


@counting
@like(_optimize)
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
    return root(func, np.atleast_1d(_start(x0)), args, jac=fprime, options=options or None).x


@counting
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


@counting
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
    """Return the callback that SciPy calls after each iteration, with the signature of ``callback``, which SciPy
    inspects.
    """
    count = itertools.count(1)

    def counting(*args: Any, **kwargs: Any) -> Any:
        bar.reached(next(count))
        return None if callback is None else callback(*args, **kwargs)

    return counting if callback is None else functools.wraps(callback)(counting)


def minimize(
    fun: Callable,
    x0: Any,
    args: Any = (),
    method: Any = None,
    jac: Any = None,
    hess: Any = None,
    hessp: Any = None,
    bounds: Any = None,
    constraints: Any = (),
    tol: float | None = None,
    callback: Callable | None = None,
    options: dict | None = None,
    *,
    progress: bool | None = None,
) -> Any:
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
                fun,
                x0,
                args,
                method,
                jac,
                hess,
                hessp,
                bounds,
                constraints,
                tol,
                _counting(callback, bar),
                options,
                progress=False,
            )
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


_LOSSES: dict[str, Callable] = {  # of z = (residual / f_scale)**2, as SciPy has them
    "linear": lambda z: z,
    "soft_l1": lambda z: 2 * (np.sqrt(1 + z) - 1),
    "huber": lambda z: np.where(z <= 1, z, 2 * np.sqrt(np.where(z <= 1, 1.0, z)) - 1),
    "cauchy": np.log1p,
    "arctan": np.arctan,
}


def _held(found: Any, bounds: Any) -> np.ndarray:
    """Return which parameters are held by a bound: the cost would decrease beyond it, by more than the distance to the
    bound.

    SciPy's ``active_mask`` does not tell: its method stays inside, and counts some as free that end at 1e-9 of a bound.
    """
    low, high = (bounds.lb, bounds.ub) if hasattr(bounds, "lb") else bounds
    wall = np.where(found.grad > 0, low, high)
    away = np.abs(found.x - wall) / np.maximum(1, np.abs(wall, where=np.isfinite(wall), out=np.ones_like(found.x)))
    jac = found.jac if isinstance(found.jac, np.ndarray) else found.jac @ np.eye(len(found.x))
    weight = np.abs(jac).T @ np.abs(found.fun)
    with np.errstate(invalid="ignore"):  # where there is no bound, and no weight either
        return away * weight < np.abs(found.grad)


@counting
@like(_optimize)
def least_squares(
    fun: Callable,
    x0: Any,
    jac: Any = "2-point",
    bounds: Any = (-np.inf, np.inf),
    method: str = "trf",
    *,
    loss: str = "linear",
    f_scale: float = 1.0,
    args: Any = (),
    kwargs: dict | None = None,
    **options: Any,
) -> Any:
    """The parameters for which the residuals ``fun(x, *args, **kwargs)`` are smallest, as a function of the tensors in
    ``args``: ``x``, ``fun`` and ``cost`` of the result have history.

    SciPy gets the exact Jacobian, unless ``jac`` is a function. What ends on a bound stays there, and
    has no derivative but zero.

    Examples
    --------
    >>> import dualtape as dt, numpy as np
    >>> t = np.linspace(0.0, 1.0, 5)
    >>> data = dt.from_numpy(3 * np.exp(-2 * t)).requires_grad_()
    >>> found = dt.scipy.optimize.least_squares(lambda x, y: x[0] * np.exp(x[1] * t) - y, [1.0, 0.0], args=(data,))
    >>> found.x.detach().round(decimals=4)
    tensor([ 3., -2.], dtype=dualtape.float64)
    >>> found.x[1].backward()  # how the rate depends on each datum
    >>> data.grad.round(decimals=2)
    tensor([-0.6200,  0.3100,  0.6000,  0.6200,  0.5300], dtype=dualtape.float64)
    """
    if not isinstance(loss, str):
        raise TypeError(f"least_squares on tensors: loss is one of {', '.join(_LOSSES)}, not a function")
    if loss not in _LOSSES:
        raise ValueError(f"least_squares: loss must be one of {', '.join(_LOSSES)}, got {loss!r}")
    if has_tensor(bounds):
        raise TypeError("least_squares on tensors: bounds are numbers, there is no derivative with respect to them")
    named = dict(kwargs or {})
    if has_tensor(named):
        raise TypeError("least_squares on tensors: pass tensors in args=, not in kwargs=")
    arguments, start = Arguments(_tuple(args)), np.atleast_1d(_start(x0))

    def residuals(x: Any, *more: Any) -> Any:
        return np.atleast_1d(_tensor(fun(x, *more, **named)))

    def cost(x: Any, *more: Any) -> Any:
        return np.sum(_LOSSES[loss]((residuals(x, *more) / f_scale) ** 2)) * (0.5 * f_scale**2)

    exact = on_arrays(jac if callable(jac) else _func.jacrev(residuals), "least_squares")
    found = _optimize.least_squares(
        on_arrays(residuals, "least_squares"),
        start,
        exact,
        bounds,
        method,
        loss=loss,
        f_scale=f_scale,
        args=arguments.plain(),
        **options,
    )
    failure = "" if found.success else f"optimize.least_squares did not converge ({found.message})"
    slope, ends, held = _func.grad(cost), found.x, _held(found, bounds)

    def stationary(x: Any, *values: Any) -> Any:
        return np.where(held, x - ends, slope(x, *arguments.filled(values)))

    found.x = solution(ends, stationary, failure, arguments.tensors)
    found.fun = residuals(found.x, *arguments.filled(arguments.tensors))
    found.cost = cost(found.x, *arguments.filled(arguments.tensors))
    return found


__dir__ = listing(__name__)
