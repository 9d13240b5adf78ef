"""``scipy.optimize`` for tensors: SciPy finds the solution, the implicit function theorem its derivatives.

Parameters to differentiate with respect to are passed in ``args=``. SciPy gets exact derivatives where it would use
differences. ``progress`` shows the state of the iteration; by default on a terminal, after one second.
"""

from __future__ import annotations

import functools
import inspect
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from ... import func as _func
from ..._progress import Bar, counter
from ...arrays.lazy import scipy_optimize as _optimize
from ...modes import enable_grad, is_grad_enabled
from .._arguments import Arguments, plain
from .._implicit import solution
from .._like import calling, counting, has_tensor
from .._outside import Called, Met, watched
from .._tensors import op
from .._tensors import tensor as _tensor

__all__ = ["curve_fit", "least_squares", "leastsq", "minimize", "minimize_scalar"]


def as_tuple(args: Any) -> tuple:
    return args if isinstance(args, tuple) else (args,)


def start_of(x0: Any) -> np.ndarray:
    return np.asarray(plain(x0), np.float64) if np.asarray(plain(x0)).dtype.kind in "iub" else np.asarray(plain(x0))


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
        try:
            functions = (watched(f) if callable(f) else f for f in (fun, jac, hess, hessp))
            seen, *derivatives = functions
            return _optimize.minimize(seen, x0, args, method, *derivatives, bounds, constraints, tol, callback, options)
        except Met as met:
            cause = met.__cause__
        try:
            return _minimize(fun, x0, args, method, jac, hess, hessp, bounds, constraints, tol, callback, options)
        except Exception:
            if cause is not None:
                raise cause from None
            raise
    return _minimize(fun, x0, args, method, jac, hess, hessp, bounds, constraints, tol, callback, options)


_WITHOUT_DERIVATIVES = ("nelder-mead", "powell", "cobyla", "cobyqa")


def _minimize(
    fun: Callable,
    x0: Any,
    args: Any,
    method: Any,
    jac: Any,
    hess: Any,
    hessp: Any,
    bounds: Any,
    constraints: Any,
    tol: float | None,
    callback: Callable | None,
    options: dict | None,
) -> Any:
    if constraints:
        raise TypeError("minimize on tensors: a minimum under constraints has no derivative here; bounds are taken")
    if has_tensor(bounds):
        raise TypeError("minimize on tensors: bounds are numbers, there is no derivative with respect to them")
    arguments, start = Arguments(as_tuple(args)), start_of(x0)
    called = Called((lambda *a: fun(*a)[0]) if jac is True else fun, x0)
    constants = arguments.filled([x.detach() for x in arguments.tensors])
    scalar = scalar_of(called)
    slope = _func.grad(scalar)
    values = lambda x: float(np.asarray(called.on_arrays(x, *constants)).reshape(()))  # noqa: E731
    exact: Any = None
    if callable(jac):
        exact = lambda x: np.asarray(plain(_tensor(jac(x, *arguments.plain()))))  # noqa: E731
    elif isinstance(jac, str):
        exact = jac
    elif not (isinstance(method, str) and method.lower() in _WITHOUT_DERIVATIVES):
        exact = lambda x: plain(slope(_tensor(x.copy()), *constants))  # noqa: E731
    second = [
        (lambda *given, f=f: np.asarray(plain(_tensor(f(*given, *arguments.plain()))))) if callable(f) else f
        for f in (hess, hessp)
    ]
    found = _optimize.minimize(values, start, (), method, exact, *second, bounds, (), tol, callback, options)
    failure = "" if found.success else f"optimize.minimize did not converge ({found.message})"
    finish(found, scalar, called, arguments, failure, bounds)
    return found


def scalar_of(called: Called) -> Callable:
    """Return the function as one whose results are 0-d tensors."""
    return lambda x, *more: _tensor(called(x, *more)).reshape(())


def finish(
    found: Any, scalar: Callable, called: Called, arguments: Arguments, failure: str, bounds: Any = None
) -> None:
    """Give the minimum that SciPy has found its history: ``x`` and ``fun`` of the result."""
    slope, ends = _func.grad(scalar), np.asarray(found.x)
    constants = arguments.filled([x.detach() for x in arguments.tensors])
    held = None
    if bounds is not None:
        low, high = _both(bounds, ends.size)
        away = plain(slope(_tensor(ends.copy()), *constants))
        near = 1e-8 * np.maximum(1, np.abs(ends))
        held = ((ends <= low + near) & (away > 0)) | ((ends >= high - near) & (away < 0))

    def stationary(x: Any, *values: Any) -> Any:
        away = slope(x, *arguments.filled(values))
        return away if held is None or not held.any() else np.where(held, x - ends, away)

    found.x = solution(ends, stationary, failure, arguments.tensors, called.tensors())
    found.fun = scalar(found.x, *arguments.filled(arguments.tensors))


def _both(bounds: Any, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Return lower and upper bounds, of any form that SciPy takes."""
    if hasattr(bounds, "lb"):
        low, high = bounds.lb, bounds.ub
    else:
        pairs = [(-np.inf if a is None else a, np.inf if b is None else b) for a, b in bounds]
        low, high = np.array(pairs, float).T
    return np.broadcast_to(low, size), np.broadcast_to(high, size)


@calling(_optimize)
def minimize_scalar(
    fun: Callable,
    bracket: Any = None,
    bounds: Any = None,
    args: Any = (),
    method: Any = None,
    tol: float | None = None,
    options: dict | None = None,
) -> Any:
    """The minimum of a function of a number, as a function of the tensors that it uses: ``x`` and ``fun`` have history.

    Examples
    --------
    >>> import dualtape as dt
    >>> a = dt.tensor(2.0, dtype=dt.float64, requires_grad=True)
    >>> found = dt.scipy.optimize.minimize_scalar(lambda x: (x - a * a) ** 2)
    >>> found.x.backward()
    >>> a.grad.round(decimals=4)
    tensor(4., dtype=dualtape.float64)
    """
    arguments = Arguments(as_tuple(args))
    called = Called(fun)
    constants = arguments.filled([x.detach() for x in arguments.tensors])
    values = lambda x: float(np.asarray(called.on_arrays(np.asarray(x), *constants)).reshape(()))  # noqa: E731
    found = _optimize.minimize_scalar(values, bracket, bounds, (), method, tol, options)
    failure = "" if found.success else f"optimize.minimize_scalar did not converge ({found.message})"
    finish(found, scalar_of(called), called, arguments, failure, None if bounds is None else [tuple(bounds)])
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
@calling(_optimize)
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
    arguments, start = Arguments(as_tuple(args)), np.atleast_1d(start_of(x0))

    called = Called(lambda x, *more: fun(x, *more, **named), x0)
    constants = arguments.filled([x.detach() for x in arguments.tensors])

    def residuals(x: Any, *more: Any) -> Any:
        return np.atleast_1d(_tensor(called(x, *more)))

    def cost(x: Any, *more: Any) -> Any:
        return np.sum(_LOSSES[loss]((residuals(x, *more) / f_scale) ** 2)) * (0.5 * f_scale**2)

    derivative = _func.jacrev(residuals)

    def exact(x: np.ndarray) -> Any:
        return plain(jac(x, *arguments.plain()) if callable(jac) else derivative(_tensor(x.copy()), *constants))

    found = _optimize.least_squares(
        lambda x: np.atleast_1d(called.on_arrays(x, *constants)),
        start,
        exact,
        bounds,
        method,
        loss=loss,
        f_scale=f_scale,
        **options,
    )
    failure = "" if found.success else f"optimize.least_squares did not converge ({found.message})"
    slope, ends, held = _func.grad(cost), found.x, _held(found, bounds)

    def stationary(x: Any, *values: Any) -> Any:
        return np.where(held, x - ends, slope(x, *arguments.filled(values)))

    found.x = solution(ends, stationary, failure, arguments.tensors, called.tensors())
    found.fun = residuals(found.x, *arguments.filled(arguments.tensors))
    found.cost = cost(found.x, *arguments.filled(arguments.tensors))
    return found


@calling(_optimize)
def leastsq(
    func: Callable, x0: Any, args: Any = (), Dfun: Any = None, full_output: bool = False, **options: Any
) -> Any:
    """The parameters with the least sum of squares, and a flag, as by :func:`least_squares` with ``method="lm"``.

    Examples
    --------
    >>> import dualtape as dt
    >>> y = dt.tensor([1.0, 3.0], dtype=dt.float64, requires_grad=True)
    >>> dt.scipy.optimize.leastsq(lambda x: x - y, [0.0])[0].detach().round(decimals=4)
    tensor([2.], dtype=dualtape.float64)
    """
    if full_output or Dfun is not None:
        raise TypeError("leastsq on tensors takes no full_output or Dfun: least_squares takes a Jacobian")
    unknown = set(options) - {"ftol", "xtol", "gtol"}
    if unknown:
        raise TypeError(f"leastsq on tensors does not take {', '.join(sorted(unknown))}")
    tight = {"ftol": 1.49012e-8, "xtol": 1.49012e-8, **options}
    found = least_squares.__wrapped__.__wrapped__(func, x0, method="lm", args=as_tuple(args), **tight)
    return found.x, found.status


@calling(_optimize)
def curve_fit(
    f: Callable,
    xdata: Any,
    ydata: Any,
    p0: Any = None,
    sigma: Any = None,
    absolute_sigma: bool = False,
    check_finite: bool | None = None,
    bounds: Any = (-np.inf, np.inf),
    method: str | None = None,
    jac: Any = None,
    *,
    full_output: bool = False,
    nan_policy: str | None = None,
    **kwargs: Any,
) -> tuple:
    """The parameters with which ``f(xdata, *parameters)`` is nearest to ``ydata``, and their covariance.

    Gradients reach the data, ``sigma``, and the tensors that f uses.

    Examples
    --------
    >>> import dualtape as dt, numpy as np
    >>> t = np.array([0.0, 1.0, 2.0])
    >>> y = dt.tensor([1.0, 2.0, 3.0], dtype=dt.float64, requires_grad=True)
    >>> parameters, covariance = dt.scipy.optimize.curve_fit(lambda t, a, b: a + b * t, t, y)
    >>> parameters[1].backward()
    >>> y.grad.abs().round(decimals=4)
    tensor([0.5000, 0.0000, 0.5000], dtype=dualtape.float64)
    """
    if full_output or nan_policy is not None or callable(jac):
        raise TypeError("curve_fit on tensors takes no full_output, nan_policy or jac: the Jacobian is exact")
    low, high = (bounds.lb, bounds.ub) if hasattr(bounds, "lb") else bounds
    bounded = bool(np.any(np.isfinite(low)) or np.any(np.isfinite(high)))
    if p0 is None:
        taken = [p for p in inspect.signature(f).parameters.values() if p.kind <= p.POSITIONAL_OR_KEYWORD]
        if len(taken) < 2:
            raise ValueError("Unable to determine number of fit parameters.")
        p0 = _feasible(np.broadcast_to(low, len(taken) - 1), np.broadcast_to(high, len(taken) - 1))
    p0 = np.atleast_1d(start_of(p0))
    data = _tensor(ydata)
    xdata = _tensor(xdata) if has_tensor(xdata) else xdata

    def residuals(p: Any, y: Any, x: Any, sigma: Any) -> Any:
        away = _tensor(f(x, *[p[k] for k in range(len(p0))])) - y
        if sigma is None:
            return away
        if np.ndim(sigma) < 2:
            return away / sigma
        return op("linalg.solve_triangular")(
            np.linalg.cholesky(_tensor(sigma)), away.unsqueeze(-1), upper=False
        ).squeeze(-1)

    scale = None if sigma is None else _tensor(sigma)
    given = (data, xdata, scale)
    tight = {} if method in ("trf", "dogbox") or bounded else {"ftol": 1.49012e-8, "xtol": 1.49012e-8}
    found = least_squares.__wrapped__.__wrapped__(
        residuals, p0, bounds=bounds, method=method or ("trf" if bounded else "lm"), args=given, **{**tight, **kwargs}
    )
    if not found.success:
        raise RuntimeError(f"Optimal parameters not found: {found.message}")
    with enable_grad():
        matrix = _func.jacrev(lambda p: _tensor(residuals(p, *given)))(found.x)
    matrix = matrix if is_grad_enabled() else matrix.detach()
    covariance = op("linalg.pinv")(matrix.mT @ matrix)
    if not absolute_sigma:
        free = data.numel() - len(p0)
        covariance = covariance * (2 * found.cost / free if free > 0 else np.inf)
    return found.x, covariance


def _feasible(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return a start inside of bounds."""
    start = np.ones(len(low))
    both, above, below = np.isfinite(low) & np.isfinite(high), np.isfinite(low), np.isfinite(high)
    start[above] = low[above] + 1
    start[below] = high[below] - 1
    start[both] = (low[both] + high[both]) / 2
    return start
