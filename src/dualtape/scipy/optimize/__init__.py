"""``scipy.optimize`` for tensors: SciPy finds the solution, the implicit function theorem its derivatives.

Gradients reach tensors in ``args=`` and whatever tensors the functions use without having them as arguments. SciPy gets
exact derivatives where it would use differences. ``progress`` shows the state of the iteration; by default on a
terminal, after one second.
"""

from __future__ import annotations

from typing import Any

from ...arrays.lazy import scipy_optimize as _optimize
from .._like import names_of, scipys
from .linear import isotonic_regression, linprog, lsq_linear, nnls, rosen, rosen_der, rosen_hess, rosen_hess_prod
from .minima import curve_fit, least_squares, leastsq, minimize, minimize_scalar
from .roots import bisect, brenth, brentq, fixed_point, fsolve, newton, ridder, root, root_scalar, toms748

__all__ = [
    "bisect",
    "brenth",
    "brentq",
    "curve_fit",
    "fixed_point",
    "fsolve",
    "isotonic_regression",
    "least_squares",
    "leastsq",
    "linprog",
    "lsq_linear",
    "minimize",
    "minimize_scalar",
    "newton",
    "nnls",
    "ridder",
    "root",
    "root_scalar",
    "rosen",
    "rosen_der",
    "rosen_hess",
    "rosen_hess_prod",
    "toms748",
]


def __getattr__(name: str) -> Any:
    return scipys(_optimize, name, __name__)


__dir__ = names_of(_optimize, __name__)
