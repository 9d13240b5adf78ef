"""Boundary value problems: SciPy finds a mesh and a solution; the equations of collocation give its derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..._tensor.tensor import Tensor
from ...arrays.lazy import scipy_integrate as _integrate
from .._arguments import plain
from .._implicit import solution
from .._like import calling
from .._outside import Called
from .._tensors import tensor as _tensor

__all__ = ["solve_bvp"]


@calling(_integrate, "fun", "bc")
def solve_bvp(
    fun: Callable,
    bc: Callable,
    x: Any,
    y: Any,
    p: Any = None,
    S: Any = None,
    fun_jac: Any = None,
    bc_jac: Any = None,
    tol: float = 0.001,
    max_nodes: int = 1000,
    verbose: int = 0,
    bc_tol: float | None = None,
) -> Any:
    """The solution of ``dy/dx = fun(x, y, p)`` with ``bc(y(a), y(b), p) == 0``: ``y``, ``yp`` and ``p`` have history.

    Gradients reach the tensors that ``fun`` and ``bc`` use. They are those of the collocation equations on the mesh
    that SciPy has chosen; ``sol`` is a spline with history.

    Examples
    --------
    >>> import dualtape as dt, numpy as np
    >>> pull = dt.tensor(2.0, dtype=dt.float64, requires_grad=True)
    >>> found = dt.scipy.integrate.solve_bvp(
    ...     lambda x, y: np.stack([y[1], pull + 0 * y[0]]),
    ...     lambda ya, yb: np.stack([ya[0], yb[0]]),
    ...     np.linspace(0, 1, 3), np.zeros((2, 3)))
    >>> found.y[1, 0].backward()
    >>> pull.grad
    tensor(-0.5000, dtype=dualtape.float64)
    """
    if S is not None:
        raise TypeError("solve_bvp on tensors takes no singular term S")
    model = y if isinstance(y, Tensor) else None
    slopes, ends = Called(fun, model, 1, 2), Called(bc, model, 0, 1, 2)
    found = _integrate.solve_bvp(
        slopes.on_arrays,
        ends.on_arrays,
        plain(_tensor(x)),
        plain(_tensor(y)),
        None if p is None else plain(_tensor(p)),
        None,
        fun_jac,
        bc_jac,
        tol,
        max_nodes,
        verbose,
        bc_tol,
    )
    mesh, shape, count = found.x, found.y.shape, found.y.size
    steps, unknown = np.diff(mesh), found.p is not None

    def residual(state: Any) -> Any:
        values = state[:count].reshape(shape)
        more = () if not unknown else (state[count:],)
        slope = _tensor(slopes(mesh, values, *more))
        first, last = values[:, :-1], values[:, 1:]
        middle = (first + last) / 2 - steps / 8 * (slope[:, 1:] - slope[:, :-1])
        inner = _tensor(slopes(mesh[:-1] + steps / 2, middle, *more))
        gaps = last - first - steps / 6 * (slope[:, :-1] + slope[:, 1:] + 4 * inner)
        return np.concatenate([gaps.reshape(-1), _tensor(ends(first[:, 0], last[:, -1], *more)).reshape(-1)])

    state = found.y.reshape(-1) if found.p is None else np.concatenate([found.y.reshape(-1), found.p])
    outside = {**slopes.outside, **ends.outside}
    slopes.outside = outside
    failure = "" if found.success else f"integrate.solve_bvp did not converge ({found.message})"
    whole = solution(state, residual, failure, [], slopes.tensors())
    found.y = whole[:count].reshape(shape)
    if found.p is not None:
        found.p = whole[count:]
    found.yp = _tensor(slopes(mesh, found.y, *(() if found.p is None else (found.p,))))
    from ..interpolate import CubicHermiteSpline

    found.sol = CubicHermiteSpline(mesh, found.y, found.yp, axis=1)
    return found
