"""``scipy.integrate`` for tensors: integrals of functions and of samples, initial and boundary value problems.

Gradients reach tensors in ``args=``, limits, initial states and times, and whatever tensors the functions use without
having them as arguments. They are as exact as the tolerances allow. ``progress`` shows how often the function was
evaluated; by default on a terminal, after one second.
"""

from __future__ import annotations

from typing import Any

from ...arrays.lazy import scipy_integrate as _integrate
from .._like import names_of, scipys
from .boundary import solve_bvp
from .initial_values import odeint, solve_ivp
from .integrals import dblquad, fixed_quad, nquad, quad, quad_vec, tplquad
from .sampled import cumulative_simpson, cumulative_trapezoid, romb, simpson, trapezoid

__all__ = [
    "cumulative_simpson",
    "cumulative_trapezoid",
    "dblquad",
    "fixed_quad",
    "nquad",
    "odeint",
    "quad",
    "quad_vec",
    "romb",
    "simpson",
    "solve_bvp",
    "solve_ivp",
    "tplquad",
    "trapezoid",
]


def __getattr__(name: str) -> Any:
    return scipys(_integrate, name, __name__)


__dir__ = names_of(_integrate, __name__)
