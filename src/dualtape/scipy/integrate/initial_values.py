"""``scipy.integrate`` for tensors: SciPy solves the differential equation, and in backward the adjoint one.

Gradients reach the initial state, the times, and the tensors in ``args=``. They are as exact as the tolerances allow.
``progress`` shows how often the function was evaluated; by default on a terminal, after one second.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..._tensor.tensor import Tensor, wrap
from ...arrays.lazy import scipy_integrate as _integrate
from ...autograd.function import Function
from ...modes import is_grad_enabled, no_grad
from .._arguments import Arguments, plain
from .._like import calling, counting
from .._outside import Called, Held, pull
from .._tensors import floating, op
from .._tensors import tensor as _tensor

__all__ = [
    "odeint",
    "solve_ivp",
]


class _Path(Function):
    """The states at the times ``t``, one row each, which ``solver`` has found.

    ``slope(y, t, *parameters)`` is the differential equation; ``solver(slope, y0, t)`` solves it on arrays. The inputs
    are ``count`` parameters, and then tensors that the equation uses without having them as arguments.
    """

    @staticmethod
    def forward(
        ctx: Any, path: Any, slope: Callable, solver: Callable, count: int, outside: Held, *inputs: Tensor
    ) -> Tensor:
        _, t, *others = inputs
        states = wrap(np.array(path))
        ctx.save_for_backward(states, t, *others[:count])
        ctx.slope, ctx.solver, ctx.outside = slope, solver, outside
        return states

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> tuple:
        states, t, *parameters = ctx.saved_tensors
        outside = ctx.outside.unchanged()
        slope, size = ctx.slope, states.shape[1]
        known = [*parameters, *outside]
        ends = np.cumsum([size, size, *(p.numel() for p in known)]).tolist()
        count = len(parameters)

        def adjoint(s: Any, now: Any, *values: Any) -> Any:
            """Return the derivatives of state, gradient of the state and gradients of the parameters, backward in
            time.
            """
            y, a = s[:size], s[size : 2 * size]
            # The time is an input, too: it may have the history of a parameter.
            inputs = [y, _tensor(now).to(s.dtype), *values]
            value, (of_state, _, *found), more = pull(slope, inputs, outside, -a)
            parts: list[Any] = [value, of_state, *found, *more]
            return np.concatenate([part.reshape(-1).to(s.dtype) for part in parts])

        a = gradient[-1] * 0
        sums: list[Any] = [np.zeros(p.numel(), states._array.dtype) for p in known]
        times: list = [None] * len(t)
        for k in range(len(t) - 1, 0, -1):
            a = a + gradient[k]
            times[k] = (gradient[k] * _tensor(slope(states[k], t[k], *parameters))).sum()
            start: Any = np.concatenate([states[k], a, *map(_tensor, sums)])
            pair = op("stack")([t[k], t[k - 1]])
            back = _solved(adjoint, ctx.solver, start, pair, parameters, outside)[-1]
            _, a, *sums = (back[i:j] for i, j in zip([0, *ends[:-1]], ends, strict=True))
        times[0] = -(a * _tensor(slope(states[0], t[0], *parameters))).sum()
        found = [s.reshape(tuple(p.shape)) for s, p in zip(sums, known, strict=True)]
        if not is_grad_enabled():
            times = [x.detach() for x in times]
        return (None, None, None, None, None, a + gradient[0], op("stack")(times), *found[:count], *found[count:])


def _solved(
    slope: Callable, solver: Callable, y0: Tensor, t: Tensor, parameters: list, outside: list, path: Any = None
) -> Tensor:
    """Return the states at the times ``t``, solved for here or given as ``path``."""
    if path is None:
        arrays = [p.detach() for p in parameters]
        with no_grad():
            path = solver(lambda y, now: plain(_tensor(slope(_tensor(y), now, *arrays))), plain(y0), plain(t))
    return _Path.apply(path, slope, solver, len(parameters), Held(outside), y0, t, *parameters, *outside)


def _path(function: Callable, solver: Callable, y0: Any, t: Any, arguments: Arguments) -> Tensor:
    """Return the states for ``function(y, t, *args)``."""
    called = Called(function, y0)
    y0, t = floating(y0), floating(t)
    if y0.ndim != 1 or y0.is_complex() or t.ndim != 1:
        raise ValueError("on tensors the initial state is a vector of real numbers, and the times are a vector")
    constants = [x.detach() for x in arguments.tensors]

    def slope(y: Any, now: Any, *values: Any) -> Any:
        return _tensor(called(y, now, *arguments.filled(values)))

    def on_arrays(y: Any, now: Any) -> Any:
        return np.asarray(called.on_arrays(y, now, *arguments.filled(constants)))

    path = solver(on_arrays, plain(y0), plain(t))
    return _solved(slope, solver, y0, t, arguments.tensors, called.tensors(), path)


@counting
@calling(_integrate)
def odeint(
    func: Callable,
    y0: Any,
    t: Any,
    args: tuple = (),
    Dfun: Any = None,
    col_deriv: int = 0,
    full_output: int = 0,
    ml: Any = None,
    mu: Any = None,
    rtol: Any = None,
    atol: Any = None,
    tcrit: Any = None,
    h0: float = 0.0,
    hmax: float = 0.0,
    hmin: float = 0.0,
    ixpr: int = 0,
    mxstep: int = 0,
    mxhnil: int = 0,
    mxordn: int = 12,
    mxords: int = 5,
    printmessg: int = 0,
    tfirst: bool = False,
) -> Any:
    """The states of ``dy/dt = func(y, t, *args)`` at the times ``t``, from ``y0`` at the first.

    Examples
    --------
    >>> import dualtape as dt
    >>> rate = dt.tensor(-1.0, dtype=dt.float64, requires_grad=True)
    >>> path = dt.scipy.integrate.odeint(lambda y, t, rate: rate * y, [1.0], [0.0, 1.0], args=(rate,))
    >>> path[-1, 0].backward()
    >>> rate.grad
    tensor(0.3679, dtype=dualtape.float64)
    """
    if full_output or Dfun is not None or tcrit is not None or ml is not None or mu is not None:
        raise TypeError("odeint on tensors takes no Dfun, ml, mu, tcrit or full_output")
    options = dict(
        rtol=rtol,
        atol=atol,
        h0=h0,
        hmax=hmax,
        hmin=hmin,
        ixpr=ixpr,
        mxstep=mxstep,
        mxhnil=mxhnil,
        mxordn=mxordn,
        mxords=mxords,
        printmessg=printmessg,
    )

    def solver(slope: Callable, start: np.ndarray, times: np.ndarray) -> np.ndarray:
        return _integrate.odeint(slope, start, times, **options)

    slope = (lambda y, now, *more: func(now, y, *more)) if tfirst else func
    return _path(slope, solver, y0, t, Arguments(args))


@counting
@calling(_integrate)
def solve_ivp(
    fun: Callable,
    t_span: Any,
    y0: Any,
    method: Any = "RK45",
    t_eval: Any = None,
    dense_output: bool = False,
    events: Any = None,
    vectorized: bool = False,
    args: Any = None,
    **options: Any,
) -> Any:
    """The states of ``dy/dt = fun(t, y, *args)``: ``t`` and ``y`` of the result; ``y`` has history.

    Examples
    --------
    >>> import dualtape as dt
    >>> y0 = dt.tensor([1.0], dtype=dt.float64, requires_grad=True)
    >>> found = dt.scipy.integrate.solve_ivp(lambda t, y: -y, (0.0, 1.0), y0, rtol=1e-8)
    >>> found.y[0, -1].backward()
    >>> y0.grad
    tensor([0.3679], dtype=dualtape.float64)
    """
    if dense_output or events is not None or vectorized or "jac" in options:
        raise TypeError("solve_ivp on tensors takes no dense_output, events, vectorized or jac")
    arguments = Arguments(() if args is None else tuple(args))
    span = [float(plain(end)) for end in t_span]
    given = None if t_eval is None else np.asarray(plain(t_eval))
    called, constants = Called(fun, y0, 1), arguments.filled([x.detach() for x in arguments.tensors])
    values = lambda now, y: called.on_arrays(now, y, *constants)  # noqa: E731
    found = _integrate.solve_ivp(values, span, plain(floating(y0)), method, given, **options)
    if found.status < 0:
        raise RuntimeError(f"solve_ivp did not reach the end: {found.message}")

    def solver(slope: Callable, start: np.ndarray, times: np.ndarray) -> np.ndarray:
        steps = _integrate.solve_ivp(
            lambda now, y: slope(y, now), (times[0], times[-1]), start, method, times, **options
        )
        if steps.status < 0:
            raise RuntimeError(f"solve_ivp did not reach the end: {steps.message}")
        return steps.y.T

    times = _times(found.t if given is None else t_eval, t_span, given is None)
    inner = given is not None and span[0] != given[0]
    if inner:
        times = np.concatenate([_tensor(t_span[0]).reshape(1).to(times.dtype), times])
    path = _path(lambda y, now, *more: fun(now, y, *more), solver, y0, times, arguments)
    found.t, found.y = plain(times[1:] if inner else times), (path[1:] if inner else path).T
    return found


def _times(points: Any, span: Any, with_ends: bool) -> Any:
    """Return the times as a tensor; the ends, where SciPy chose the times between, with their own history."""
    times: Any = floating(points)
    if with_ends and any(isinstance(end, Tensor) for end in span):
        first, last = (_tensor(end).reshape(1).to(times.dtype) for end in span)
        times = np.concatenate([first, times[1:-1], last])
    return times
