"""Functions that SciPy has and PyTorch lacks: related to the gamma and error functions, integrals, inverses of
distribution functions, functions of matrices.

They have no public names here: SciPy's functions call them for tensors.
"""

from __future__ import annotations

from math import pi, sqrt
from typing import Any

import numpy as np

from ...arrays.kernels.basics import on_host
from ...arrays.lazy import scipy_linalg, special
from ..formulas import use
from ..samples import apart, invertible, positive, probability, real, sample, spd
from ..table import BROADCASTING, FLOAT, GENERAL, op
from .elementwise import function_row
from .gamma import _underived
from .special import computed, of_pair, of_scipy

_QUIET: dict[str, Any] = dict(public=False, method=False, complex=False, torch_name="-")
_POSITIVE = (sample(positive(3, 4)), sample(positive()))
_REAL = (sample(real(3, 4)), sample(apart(5)))


def _function(name: str, derivative: Any, samples: tuple, doc: str, forward: Any = None) -> None:
    function_row(
        f"scipy_{name}", of_scipy(forward or (lambda x: getattr(special, name)(x))), derivative, samples, doc, **_QUIET
    )


_function("gamma", lambda x, out: out * use("digamma")(x), _POSITIVE, "The gamma function.")
_function("rgamma", lambda x, out: -out * use("digamma")(x), _POSITIVE, "One over the gamma function.")
_function(
    "erfcinv", lambda out: (-0.5 * sqrt(pi)) * np.exp(out * out), (sample(probability(3, 4)),), "The inverse of erfc."
)
_function("erfi", lambda x: (2 / sqrt(pi)) * np.exp(x * x), _REAL, "The imaginary error function.")
_function("dawsn", lambda x, out: 1 - 2 * x * out, _REAL, "Dawson's integral.")
_function("exp1", lambda x: -np.exp(-x) / x, _POSITIVE, "The integral of exp(-t) / t from x to infinity.")
_function("expi", lambda x: np.exp(x) / x, _POSITIVE, "The integral of exp(t) / t up to x.")
_function(
    "fresnel_s", lambda x: np.sin(0.5 * pi * x * x), _REAL, "Fresnel's sine integral.", lambda x: special.fresnel(x)[0]
)
_function(
    "fresnel_c",
    lambda x: np.cos(0.5 * pi * x * x),
    _REAL,
    "Fresnel's cosine integral.",
    lambda x: special.fresnel(x)[1],
)
_function("si", lambda x: use("sinc")(x * (1 / pi)), _REAL, "The sine integral.", lambda x: special.sici(x)[0])
_function("ci", lambda x: np.cos(x) / x, _POSITIVE, "The cosine integral.", lambda x: special.sici(x)[1])


# --- of several arguments -------------------------------------------------------------------------


def _psi(x: Any) -> Any:
    return use("digamma")(x)


op("scipy_betaln", lambda x, y: of_pair(lambda x, y: special.betaln(x, y))(x, y), kind=BROADCASTING, promote=FLOAT,
   vjp=dict(x=lambda g, x, y: g * (_psi(x) - _psi(x + y)), y=lambda g, x, y: g * (_psi(y) - _psi(x + y))),
   samples=(sample(positive(3, 4), positive(4)), sample(positive(), positive())),
   doc="The logarithm of the beta function.", **_QUIET)  # fmt: skip
op("scipy_beta", lambda x, y: of_pair(lambda x, y: special.beta(x, y))(x, y), kind=BROADCASTING, promote=FLOAT,
   vjp=dict(x=lambda g, x, y, out: g * out * (_psi(x) - _psi(x + y)),
            y=lambda g, x, y, out: g * out * (_psi(y) - _psi(x + y))),
   samples=(sample(positive(3, 4), positive(4)), sample(positive(), positive())),
   doc="The beta function.", **_QUIET)  # fmt: skip


def _gamma_density(a: Any, x: Any) -> Any:
    return np.exp(use("xlogy")(a - 1, x) - x - use("lgamma")(a))


def _student_density(df: Any, t: Any) -> Any:
    scale = use("lgamma")((df + 1) * 0.5) - use("lgamma")(df * 0.5) - 0.5 * np.log(df * pi)
    return np.exp(scale - (df + 1) * 0.5 * np.log1p(t * t / df))


def _beta_density(a: Any, b: Any, x: Any) -> Any:
    return np.exp(use("xlogy")(a - 1, x) + use("special_xlog1py")(b - 1, -x) - use("scipy_betaln")(a, b))


def _bound(name: str, slope: Any, orders: Any, samples: Any, doc: str) -> None:
    """Declare a function of an order, for which there is no derivative, and a bound."""
    op(f"scipy_{name}", lambda x, y: of_pair(lambda x, y: getattr(special, name)(x, y))(x, y), kind=BROADCASTING,
       promote=FLOAT, scalars=False, vjp=dict(x=_underived(f"{name}: its first argument"), y=slope),
       samples=(sample(orders, samples), sample(np.array(2.5), probability())), doc=doc, **_QUIET)  # fmt: skip


_ORDERS = np.array([0.5, 1.0, 2.5, 7.0])
_bound("gammaincinv", lambda g, x, out: g / _gamma_density(x, out), _ORDERS, probability(3, 4),
       "The inverse of the incomplete gamma function.")  # fmt: skip
_bound("gammainccinv", lambda g, x, out: -g / _gamma_density(x, out), _ORDERS, probability(3, 4),
       "The inverse of the upper incomplete gamma function.")  # fmt: skip
_bound("stdtr", lambda g, x, y: g * _student_density(x, y), _ORDERS, real(3, 4), "Student's distribution function.")
_bound("stdtrit", lambda g, x, out: g / _student_density(x, out), _ORDERS, probability(3, 4),
       "The inverse of Student's distribution function.")  # fmt: skip


def _of_three(name: str, slope: Any, doc: str) -> None:
    def forward(a: Any, b: Any, x: Any) -> Any:
        return computed(lambda a, b, x: getattr(special, name)(a, b, x), a, b, x).astype(x.dtype, copy=False)

    op(f"scipy_{name}", forward, kind=BROADCASTING, promote=FLOAT, scalars=False,
       vjp=dict(a=_underived(f"{name}: a"), b=_underived(f"{name}: b"), x=slope),
       samples=(sample(_ORDERS, np.array(1.5), probability(3, 4)),), doc=doc, **_QUIET)  # fmt: skip


_of_three("betainc", lambda g, a, b, x: g * _beta_density(a, b, x), "The regularised incomplete beta function.")
_of_three("betaincinv", lambda g, a, b, out: g / _beta_density(a, b, out), "Its inverse.")


# --- of matrices ----------------------------------------------------------------------------------


def _adjoint(x: Any) -> Any:
    return np.conj(np.swapaxes(x, -1, -2))


def _slope(function: Any, x: Any, t: Any) -> Any:
    """Return the derivative of a matrix function at ``x`` along ``t``: a block of that function of a matrix of twice
    the size.
    """
    join = use("cat")
    return function(join([join([x, t], -1), join([np.zeros_like(x), x], -1)], -2))[..., : t.shape[-2], t.shape[-1] :]


def _on_each(function: Any, x: np.ndarray) -> np.ndarray:
    if not x.size:
        return np.zeros_like(x)
    exact = np.result_type(x.dtype, np.float64)  # SciPy warns of the rounding of smaller types
    found = np.stack([function(one) for one in x.astype(exact).reshape(-1, *x.shape[-2:])]).reshape(x.shape)
    return found.astype(np.result_type(x.dtype, np.complex64) if found.dtype.kind == "c" else x.dtype, copy=False)


def _of_matrices(name: str, doc: str, samples: tuple) -> None:
    op(f"scipy_{name}", lambda x: on_host(lambda x: _on_each(getattr(scipy_linalg, name), x), x), kind=GENERAL, promote=FLOAT,
       vjp=dict(x=lambda g, x: _slope(use(f"scipy_{name}"), _adjoint(x), g)),
       jvp=dict(x=lambda t, x: _slope(use(f"scipy_{name}"), x, t)), samples=samples, doc=doc,
       public=False, method=False, torch_name="-", complex=False)  # fmt: skip


_of_matrices("sqrtm", "The square root of matrices.", (sample(spd(3, 3)), sample(spd(2, 2, 2))))
_of_matrices("logm", "The logarithm of matrices.", (sample(spd(3, 3)), sample(spd(2, 2, 2))))


def _sylvester(a: Any, b: Any, q: Any) -> Any:
    dtype = np.result_type(a.dtype, b.dtype, q.dtype)
    if a.ndim == q.ndim == b.ndim == 2:
        if a.shape != (q.shape[0],) * 2 or b.shape != (q.shape[1],) * 2:
            raise RuntimeError(
                f"solve_sylvester: expected square matrices that fit Q of shape {list(q.shape)} from both sides, got"
                f" {list(a.shape)} and {list(b.shape)}"
            )
        return on_host(lambda *m: scipy_linalg.solve_sylvester(*m).astype(dtype, copy=False), a, b, q)
    raise RuntimeError(f"solve_sylvester: expected three matrices, got {a.ndim}, {b.ndim} and {q.ndim} dimensions")


def _pulled(g: Any, a: Any, b: Any) -> Any:
    return use("scipy_solve_sylvester")(_adjoint(a), _adjoint(b), g)


op("scipy_solve_sylvester", _sylvester, kind=GENERAL, promote=FLOAT,
   vjp=dict(a=lambda g, a, b, out: -(_pulled(g, a, b) @ _adjoint(out)),
            b=lambda g, a, b, out: -(_adjoint(out) @ _pulled(g, a, b)),
            q=lambda g, a, b: _pulled(g, a, b)),
   samples=(sample(spd(3, 3), spd(2, 2), real(3, 2)), sample(invertible(2, 2), spd(2, 2), real(2, 2))),
   doc="The X of A X + X B = Q.", public=False, method=False, torch_name="-")  # fmt: skip
