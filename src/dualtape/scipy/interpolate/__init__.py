"""``scipy.interpolate`` for tensors: interpolants with derivatives by points, values and knots.

Made of arrays alone, an interpolant holds SciPy's own, which answers for arrays; tensors among the points are answered
with history all the same.
"""

from __future__ import annotations

from typing import Any

from ...arrays.lazy import scipy_interpolate as _interpolate
from .._like import names_of, scipys
from .bsplines import BSpline, make_interp_spline, make_lsq_spline, splantider, splder, splev, splint
from .grids import RectBivariateSpline, RegularGridInterpolator, interp1d, interpn
from .piecewise import (
    Akima1DInterpolator,
    CubicHermiteSpline,
    CubicSpline,
    PchipInterpolator,
    PPoly,
    pchip_interpolate,
)
from .scattered import (
    BarycentricInterpolator,
    KroghInterpolator,
    LinearNDInterpolator,
    NearestNDInterpolator,
    RBFInterpolator,
    barycentric_interpolate,
    griddata,
    krogh_interpolate,
)

__all__ = [
    "Akima1DInterpolator",
    "BSpline",
    "BarycentricInterpolator",
    "CubicHermiteSpline",
    "CubicSpline",
    "KroghInterpolator",
    "LinearNDInterpolator",
    "NearestNDInterpolator",
    "PPoly",
    "PchipInterpolator",
    "RBFInterpolator",
    "RectBivariateSpline",
    "RegularGridInterpolator",
    "barycentric_interpolate",
    "griddata",
    "interp1d",
    "interpn",
    "krogh_interpolate",
    "make_interp_spline",
    "make_lsq_spline",
    "pchip_interpolate",
    "splantider",
    "splder",
    "splev",
    "splint",
]


def __getattr__(name: str) -> Any:
    return scipys(_interpolate, name, __name__)


__dir__ = names_of(_interpolate, __name__)
