"""Integrals of functions: SciPy finds the value, and in backward the integrals of the function's derivatives.

The derivative by a limit is the value of the function there. ``dblquad`` and the others of several dimensions are
integrals of integrals, each with its derivatives.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..._tensor.tensor import Tensor, wrap
from ...arrays.lazy import scipy_integrate as _integrate
from ...autograd.function import Function
from ...modes import no_grad
from .._arguments import Arguments, plain
from .._like import calling
from .._outside import Called, Held, pull
from .._tensors import alike, floating
from .._tensors import tensor as _tensor

__all__ = ["dblquad", "fixed_quad", "nquad", "quad", "quad_vec", "tplquad"]

Solver = Callable[[Callable, float, float], Any]


class _Integral(Function):
    """The integral of ``function(x, *parameters)``, whose value is given, from a to b.

    ``solver(function, a, b)`` finds integrals of vectors on arrays. The inputs are the limits, ``count`` parameters,
    and then tensors that the function uses without having them as arguments.
    """

    @staticmethod
    def forward(
        ctx: Any, found: Any, function: Callable, solver: Solver, count: int, outside: Held, *inputs: Tensor
    ) -> Tensor:
        ctx.save_for_backward(*inputs[: count + 2])
        ctx.function, ctx.solver, ctx.outside = function, solver, outside
        return wrap(np.array(found))

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> tuple:
        a, b, *parameters = ctx.saved_tensors
        outside, function = ctx.outside.unchanged(), ctx.function
        ends = np.cumsum([x.numel() for x in (*parameters, *outside)]).tolist()

        def derivative(x: Any, g: Any, *values: Any) -> Any:
            # The point is an input, too: a limit may have the history of a parameter.
            _, (_, *found), more = pull(function, [_tensor(x), *values], outside, g)
            return np.concatenate([np.reshape(part, (-1,)) for part in (*found, *more)])

        by_limits = []
        for limit, sign, wanted in ((a, -1.0, ctx.needs_input_grad[5]), (b, 1.0, ctx.needs_input_grad[6])):
            inside = wanted and bool(np.isfinite(plain(limit)))
            by_limits.append((gradient * function(limit, *parameters)).sum() * sign if inside else None)
        found: list = []
        if ends:
            flat = _integral(derivative, ctx.solver, a, b, [gradient, *parameters], outside)
            parts = zip([0, *ends[:-1]], ends, (*parameters, *outside), strict=True)
            found = [flat[i:j].reshape(tuple(x.shape)).to(x.dtype) for i, j, x in parts]
        return (None, None, None, None, None, *by_limits, *found)


def _integral(
    function: Callable, solver: Solver, a: Tensor, b: Tensor, parameters: list, outside: list, found: Any = None
) -> Tensor:
    if found is None:
        arrays = [p.detach() for p in parameters]
        with no_grad():
            found = solver(
                lambda x: plain(_tensor(function(_tensor(np.asarray(x)), *arrays))), float(plain(a)), float(plain(b))
            )
    return _Integral.apply(found, function, solver, len(parameters), Held(outside), a, b, *parameters, *outside)


def _started(func: Callable, arguments: Arguments, limits: Sequence[Any]) -> tuple[Called, Callable, Callable, list]:
    """Return the called function, it on tensors and on arrays, and the limits as tensors."""
    called = Called(func, next((end for end in limits if isinstance(end, Tensor)), None))
    constants = [x.detach() for x in arguments.tensors]

    def function(x: Any, *values: Any) -> Any:
        return _tensor(called(x, *arguments.filled(values)))

    def on_arrays(x: Any) -> Any:
        return called.on_arrays(np.asarray(x), *arguments.filled(constants))

    return called, function, on_arrays, [end.to(np.float64) for end in alike(*limits)]


@calling(_integrate)
def quad(
    func: Callable,
    a: Any,
    b: Any,
    args: Any = (),
    full_output: int = 0,
    epsabs: float = 1.49e-08,
    epsrel: float = 1.49e-08,
    limit: int = 50,
    points: Any = None,
    weight: Any = None,
    wvar: Any = None,
    wopts: Any = None,
    maxp1: int = 50,
    limlst: int = 50,
    complex_func: bool = False,
) -> tuple:
    """The integral of ``func(x, *args)`` from a to b, and an estimate of its error.

    Gradients reach the limits, tensors in ``args``, and those that the function uses otherwise.

    Examples
    --------
    >>> import dualtape as dt
    >>> rate = dt.tensor(2.0, dtype=dt.float64, requires_grad=True)
    >>> area, _ = dt.scipy.integrate.quad(lambda x: dt.exp(-rate * x), 0.0, float("inf"))
    >>> area.backward()
    >>> area.detach(), rate.grad
    (tensor(0.5000, dtype=dualtape.float64), tensor(-0.2500, dtype=dualtape.float64))
    """
    if full_output or weight is not None or complex_func or wvar is not None or wopts is not None:
        raise TypeError("quad on tensors takes no full_output, weight, wvar, wopts or complex_func")
    arguments = Arguments(args if isinstance(args, tuple) else (args,))
    called, function, on_arrays, (low, high) = _started(func, arguments, (a, b))

    def solver(integrand: Callable, start: float, end: float) -> Any:
        options = {} if points is None else {"points": [p for p in points if start < p < end or end < p < start]}
        return _integrate.quad_vec(
            integrand, start, end, epsabs=epsabs, epsrel=epsrel, limit=max(limit, 200), norm="max", **options
        )[0]

    found, error = _integrate.quad(
        lambda x: float(np.asarray(on_arrays(x)).reshape(())),
        float(plain(low)),
        float(plain(high)),
        epsabs=epsabs,
        epsrel=epsrel,
        limit=limit,
        points=points,
        maxp1=maxp1,
        limlst=limlst,
    )
    scalar = lambda x, *p: function(x, *p).reshape(())  # noqa: E731
    return _integral(scalar, solver, low, high, arguments.tensors, called.tensors(), found), error


@calling(_integrate)
def quad_vec(
    f: Callable,
    a: Any,
    b: Any,
    epsabs: float = 1e-200,
    epsrel: float = 1e-08,
    norm: str = "2",
    cache_size: float = 100e6,
    limit: float = 10000,
    workers: Any = 1,
    points: Any = None,
    quadrature: Any = None,
    full_output: bool = False,
    *,
    args: tuple = (),
) -> tuple:
    """The integral of a function with values of any shape, and an estimate of its error.

    Examples
    --------
    >>> import dualtape as dt
    >>> c = dt.tensor([1.0, 3.0], dtype=dt.float64, requires_grad=True)
    >>> area, _ = dt.scipy.integrate.quad_vec(lambda x: c * x, 0.0, 2.0)
    >>> area.sum().backward()
    >>> c.grad.round(decimals=4)
    tensor([2., 2.], dtype=dualtape.float64)
    """
    if full_output or workers != 1:
        raise TypeError("quad_vec on tensors takes no full_output or workers")
    arguments = Arguments(args)
    called, function, on_arrays, (low, high) = _started(f, arguments, (a, b))
    errors: list[float] = []

    def solver(integrand: Callable, start: float, end: float) -> Any:
        found, error = _integrate.quad_vec(
            integrand, start, end, epsabs, epsrel, norm, cache_size, limit, points=points, quadrature=quadrature
        )
        errors.append(error)
        return found

    found = solver(lambda x: np.asarray(on_arrays(x)), float(plain(low)), float(plain(high)))
    return _integral(function, solver, low, high, arguments.tensors, called.tensors(), found), errors[0]


@calling(_integrate, "func", "gfun", "hfun")
def dblquad(
    func: Callable,
    a: Any,
    b: Any,
    gfun: Any,
    hfun: Any,
    args: tuple = (),
    epsabs: float = 1.49e-08,
    epsrel: float = 1.49e-08,
) -> tuple:
    """The integral of ``func(y, x, *args)`` for y from ``gfun(x)`` to ``hfun(x)`` and x from a to b, and the error.

    Examples
    --------
    >>> import dualtape as dt
    >>> c = dt.tensor(3.0, dtype=dt.float64, requires_grad=True)
    >>> area, _ = dt.scipy.integrate.dblquad(lambda y, x: c * x * y, 0.0, 1.0, 0.0, 2.0)
    >>> area.backward()
    >>> c.grad.round(decimals=4)
    tensor(1., dtype=dualtape.float64)
    """
    return nquad(func, [_limits(gfun, hfun), [a, b]], args, {"epsabs": epsabs, "epsrel": epsrel})


@calling(_integrate, "func", "gfun", "hfun", "qfun", "rfun")
def tplquad(
    func: Callable,
    a: Any,
    b: Any,
    gfun: Any,
    hfun: Any,
    qfun: Any,
    rfun: Any,
    args: tuple = (),
    epsabs: float = 1.49e-08,
    epsrel: float = 1.49e-08,
) -> tuple:
    """The integral of ``func(z, y, x, *args)`` for z from ``qfun(x, y)`` to ``rfun(x, y)``, and y and x as in dblquad.

    Examples
    --------
    >>> import dualtape as dt
    >>> c = dt.tensor(3.0, dtype=dt.float64, requires_grad=True)
    >>> volume, _ = dt.scipy.integrate.tplquad(lambda z, y, x: c + 0 * z, 0, 1, 0, 1, 0, 2)  # doctest: +SKIP
    >>> volume.backward(); c.grad  # doctest: +SKIP
    tensor(2., dtype=dualtape.float64)
    """
    low, high = (end if callable(end) else (lambda x, y, end=end: end) for end in (qfun, rfun))
    inner = lambda y, x, *more: [low(x, y), high(x, y)]  # noqa: E731
    return nquad(func, [inner, _limits(gfun, hfun), [a, b]], args, {"epsabs": epsabs, "epsrel": epsrel})


def _limits(low: Any, high: Any) -> Callable:
    return lambda x, *more: [end(x) if callable(end) else end for end in (low, high)]


@calling(_integrate, "func", "ranges")
def nquad(func: Callable, ranges: Any, args: Any = (), opts: Any = None, full_output: bool = False) -> tuple:
    """The integral over several variables, the first of which is the innermost, and an estimate of its error.

    Examples
    --------
    >>> import dualtape as dt
    >>> c = dt.tensor(3.0, dtype=dt.float64, requires_grad=True)
    >>> area, _ = dt.scipy.integrate.nquad(lambda y, x: c * x * y, [[0, 2], [0, 1]])
    >>> area.backward()
    >>> c.grad.round(decimals=4)
    tensor(1., dtype=dualtape.float64)
    """
    if full_output:
        raise TypeError("nquad on tensors takes no full_output")
    depth = len(ranges)
    args = args if isinstance(args, tuple) else (args,)
    given = opts if isinstance(opts, (list, tuple)) else [opts] * depth
    worst = [0.0]

    def level(k: int, outer: tuple) -> Any:
        limits = ranges[k](*outer, *args) if callable(ranges[k]) else ranges[k]
        options = given[k](*outer, *args) if callable(given[k]) else given[k] or {}

        def integrand(x: Any) -> Any:
            return func(x, *outer, *args) if k == 0 else level(k - 1, (x, *outer))

        found, error = quad.__wrapped__(integrand, *limits, **options)
        worst[0] = max(worst[0], error)
        return found

    return level(depth - 1, ()), worst[0]


@calling(_integrate)
def fixed_quad(func: Callable, a: Any, b: Any, args: Any = (), n: int = 5) -> tuple:
    """The integral by Gauss' rule of order n, and None.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.integrate.fixed_quad(lambda x: x * x, 0.0, dt.tensor(3.0, dtype=dt.float64))[0]
    tensor(9., dtype=dualtape.float64)
    """
    nodes, weights = np.polynomial.legendre.leggauss(n)
    low, high = alike(a, b)
    if not bool(np.isfinite(plain(low)).all() and np.isfinite(plain(high)).all()):
        raise ValueError("Gaussian quadrature is only available for finite limits.")
    points = (high - low) * (nodes + 1) / 2 + low
    called = Called(func, next((end for end in (a, b) if isinstance(end, Tensor)), None))
    return (high - low) / 2 * np.sum(weights * floating(called(points, *args)), axis=-1), None
