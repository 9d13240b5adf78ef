"""Special functions whose values are SciPy's and whose derivatives are formulas in others of them.

A formula is a composition on tensors, so that derivatives have derivatives. Orders and degrees have none: a tensor that
requires grad is refused there.
"""

from __future__ import annotations

from collections.abc import Callable
from math import pi, sqrt
from typing import Any

import numpy as np

from ..._tensor.tensor import Tensor, wrap
from ...arrays.lazy import special
from ...autograd.function import Function
from ...modes import is_grad_enabled
from .registry import alike, floating
from .special import SPECIAL, function

Slope = Callable[..., Any]


class _Valued(Function):
    """Output number ``pick`` of SciPy's function at arrays of one shape; ``slopes`` are its partial derivatives."""

    @staticmethod
    def forward(name: str, pick: Any, slopes: tuple, *inputs: Tensor) -> Tensor:
        with np.errstate(all="ignore"):
            found = getattr(special, name)(*(x.detach().numpy() for x in inputs))
        return wrap(np.array(found if pick is None else found[pick]))

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple, output: Tensor) -> None:
        ctx.slopes = inputs[2]
        ctx.save_for_backward(*inputs[3:], output)
        ctx.save_for_forward(*inputs[3:], output)

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> tuple:
        *inputs, out = ctx.saved_tensors
        found = []
        for x, slope, wanted in zip(inputs, ctx.slopes, ctx.needs_input_grad[3:], strict=True):
            g = gradient * np.conj(slope(*inputs, out)) if wanted else None
            found.append(g.real if g is not None and g.is_complex() and not x.is_complex() else g)
        return None, None, None, *found

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        *inputs, out = ctx.saved_tensors
        parts = [t * slope(*inputs, out) for t, slope in zip(tangents[3:], ctx.slopes, strict=True) if t is not None]
        return sum(parts[1:], parts[0])

    @staticmethod
    def vmap(info: Any, in_dims: tuple, name: str, pick: Any, slopes: tuple, *inputs: Tensor) -> tuple:
        ahead = [
            x.expand(info.batch_size, *x.shape) if d is None else x.movedim(d, 0)
            for x, d in zip(inputs, in_dims[3:], strict=True)
        ]
        return _Valued.apply(name, pick, slopes, *ahead), 0


def valued(name: str, inputs: Any, slopes: Any, pick: Any = None) -> Any:
    """Return SciPy's values at tensors, with these derivatives; None is an input without one."""
    tensors: list[Any] = list(np.broadcast_arrays(*alike(*inputs)))
    for k, (x, slope) in enumerate(zip(tensors, slopes, strict=True)):
        if slope is None and x.requires_grad and is_grad_enabled():
            raise TypeError(f"scipy.special.{name} on tensors: there is no derivative with respect to argument {k + 1}")
    tensors = [x if slope is not None else x.detach() for x, slope in zip(tensors, slopes, strict=True)]
    return _Valued.apply(name, pick, tuple(slopes), *tensors)


def of(name: str) -> Callable:
    """Return SciPy's function of tensors: what is registered for it."""
    return lambda *inputs: SPECIAL[name](*inputs)


def derived(name: str, *slopes: Slope | None) -> None:
    """Register a function of one result."""
    SPECIAL[name] = lambda *inputs: valued(name, inputs, slopes)


def several(name: str, *outputs: tuple) -> None:
    """Register a function of several results, each with its derivatives."""
    SPECIAL[name] = lambda *inputs: tuple(valued(name, inputs, slopes, k) for k, slopes in enumerate(outputs))


def _where_zero(x: Any, limit: Any, formula: Callable) -> Any:
    """Return a formula, and its limit where x is 0."""
    zero = x.detach() == 0
    return np.where(zero, limit, formula(np.where(zero, 1.0, x)))


# --- hypergeometric and elliptic functions --------------------------------------------------------

derived("hyp0f1", None, lambda v, z, out: of("hyp0f1")(v + 1, z) / v)
derived("hyp1f1", None, None, lambda a, b, x, out: of("hyp1f1")(a + 1, b + 1, x) * a / b)
derived("hyp2f1", None, None, None, lambda a, b, c, z, out: of("hyp2f1")(a + 1, b + 1, c + 1, z) * a * b / c)
derived("hyperu", None, None, lambda a, b, x, out: -a * of("hyperu")(a + 1, b + 1, x))
derived("exprel", lambda x, out: of("hyp1f1")(2.0, 3.0, x) / 2)
derived("ellipk", lambda m, out: of("hyp2f1")(1.5, 1.5, 2.0, m) * (pi / 8))
derived("ellipe", lambda m, out: of("hyp2f1")(0.5, 1.5, 2.0, m) * (-pi / 8))
derived("ellipkm1", lambda p, out: -(of("ellipe")(1 - p) - p * out) / (2 * (1 - p) * p))


def _root(phi: Any, m: Any) -> Any:
    return np.sqrt(1 - m * np.sin(phi) ** 2)


def _half_sines(phi: Any) -> Any:
    return phi / 4 - np.sin(2 * phi) / 8


def _first_by_m(phi: Any, m: Any, out: Any) -> Any:
    def formula(m: Any) -> Any:
        second = of("ellipeinc")(phi, m)
        return second / (2 * m * (1 - m)) - out / (2 * m) - np.sin(2 * phi) / (4 * (1 - m) * _root(phi, m))

    return _where_zero(
        m, _half_sines(phi), lambda m: np.where(m.detach() == 1, np.nan, formula(np.where(m.detach() == 1, 0.5, m)))
    )


derived("ellipkinc", lambda phi, m, out: 1 / _root(phi, m), _first_by_m)
derived(
    "ellipeinc",
    lambda phi, m, out: _root(phi, m),
    lambda phi, m, out: _where_zero(m, -_half_sines(phi), lambda m: (out - of("ellipkinc")(phi, m)) / (2 * m)),
)


def _jacobi(u: Any, m: Any) -> tuple:
    """Return Jacobi's functions, and the derivative of the amplitude by m divided by dn."""
    sn, cn, dn, phase = SPECIAL["ellipj"](u, m)
    inner = ((1 - m) * u - of("ellipeinc")(phase, m) + m * sn * cn / dn) / (2 * m * (1 - m))
    return sn, cn, dn, inner


def _by_m(which: int) -> Slope:
    def slope(u: Any, m: Any, out: Any) -> Any:
        sn, cn, dn, inner = _jacobi(u, m)
        by_sn = cn * dn * inner
        return (by_sn, -sn * dn * inner, -(sn * sn + 2 * m * sn * by_sn) / (2 * dn), dn * inner)[which]

    return slope


several(
    "ellipj",
    (lambda u, m, out: _jacobi(u, m)[1] * _jacobi(u, m)[2], _by_m(0)),
    (lambda u, m, out: -_jacobi(u, m)[0] * _jacobi(u, m)[2], _by_m(1)),
    (lambda u, m, out: -m * _jacobi(u, m)[0] * _jacobi(u, m)[1], _by_m(2)),
    (lambda u, m, out: SPECIAL["ellipj"](u, m)[2], _by_m(3)),
)
derived("elliprd", None, None, None)  # a derivative of others, without one of its own
derived(
    "elliprf",
    lambda x, y, z, out: of("elliprd")(y, z, x) / -6,
    lambda x, y, z, out: of("elliprd")(x, z, y) / -6,
    lambda x, y, z, out: of("elliprd")(x, y, z) / -6,
)
derived("elliprc", lambda x, y, out: of("elliprd")(y, y, x) / -6, lambda x, y, out: of("elliprd")(x, y, y) / -3)


@function("agm")
def _agm(a: Any, b: Any) -> Any:
    a, b = alike(a, b)
    return pi / 4 * (a + b) / of("ellipk")(((a - b) / (a + b)) ** 2)


# --- Airy, Bessel, Kelvin, Struve -----------------------------------------------------------------


def _part(name: str, k: int) -> Callable:
    return lambda *inputs: SPECIAL[name](*inputs)[k]


several(
    "airy",
    (lambda z, out: _part("airy", 1)(z),),
    (lambda z, out: z * _part("airy", 0)(z),),
    (lambda z, out: _part("airy", 3)(z),),
    (lambda z, out: z * _part("airy", 2)(z),),
)
several(
    "airye",
    (lambda z, out: _part("airye", 1)(z) + np.sqrt(z) * out,),
    (lambda z, out: z * _part("airye", 0)(z) + np.sqrt(z) * out,),
    (lambda z, out: _part("airye", 3)(z) - np.sqrt(z) * out,),
    (lambda z, out: z * _part("airye", 2)(z) - np.sqrt(z) * out,),
)
several(
    "itairy",
    (lambda x, out: _part("airy", 0)(x),),
    (lambda x, out: _part("airy", 2)(x),),
    (lambda x, out: _part("airy", 0)(-x),),
    (lambda x, out: _part("airy", 2)(-x),),
)
for _name in ("hankel1", "hankel2"):
    derived(_name, None, lambda v, z, out, n=_name: (of(n)(v - 1, z) - of(n)(v + 1, z)) / 2)
derived("hankel1e", None, lambda v, z, out: (of("hankel1e")(v - 1, z) - of("hankel1e")(v + 1, z)) / 2 - 1j * out)
derived("hankel2e", None, lambda v, z, out: (of("hankel2e")(v - 1, z) - of("hankel2e")(v + 1, z)) / 2 + 1j * out)
for _first, _second in (("ber", "bei"), ("ker", "kei")):
    derived(_first, lambda x, out, n=_first: of(f"{n}p")(x))
    derived(_second, lambda x, out, n=_second: of(f"{n}p")(x))
    derived(f"{_first}p", lambda x, out, n=_second: -of(n)(x) - out / x)
    derived(f"{_second}p", lambda x, out, n=_first: of(n)(x) - out / x)


def _struve_term(v: Any, x: Any) -> Any:
    return (x / 2) ** v * special.rgamma(v.detach().numpy() + 1.5) / sqrt(pi)


derived("struve", None, lambda v, x, out: (of("struve")(v - 1, x) - of("struve")(v + 1, x) + _struve_term(v, x)) / 2)
derived(
    "modstruve",
    None,
    lambda v, x, out: (of("modstruve")(v - 1, x) + of("modstruve")(v + 1, x) + _struve_term(v, x)) / 2,
)
derived("itstruve0", lambda x, out: of("struve")(0.0, x))
derived("itmodstruve0", lambda x, out: of("modstruve")(0.0, x))
derived("it2struve0", lambda x, out: -of("struve")(0.0, x) / x)
several("itj0y0", (lambda x, out: of("j0")(x),), (lambda x, out: of("y0")(x),))
several("iti0k0", (lambda x, out: of("i0")(x),), (lambda x, out: of("k0")(x),))
several("it2j0y0", (lambda x, out: (1 - of("j0")(x)) / x,), (lambda x, out: -of("y0")(x) / x,))
several("it2i0k0", (lambda x, out: (of("i0")(x) - 1) / x,), (lambda x, out: -of("k0")(x) / x,))
derived("wright_bessel", None, None, lambda a, b, x, out: of("wright_bessel")(a, b + a, x))
for _name in ("pbdv", "pbvv"):
    several(
        _name,
        (None, lambda v, x, out, n=_name: _part(n, 1)(v, x)),
        (None, lambda v, x, out, n=_name: (x * x / 4 - v - 0.5) * _part(n, 0)(v, x)),
    )
several(
    "pbwa",
    (None, lambda a, x, out: _part("pbwa", 1)(a, x)),
    (None, lambda a, x, out: (a - x * x / 4) * _part("pbwa", 0)(a, x)),
)


def _mathieu(name: str, characteristic: str) -> None:
    def curvature(m: Any, q: Any, x: Any, out: Any) -> Any:
        a = getattr(special, characteristic)(m.detach().numpy(), q.detach().numpy())
        return (2 * q * np.cos(x * (pi / 90)) - a) * _part(name, 0)(m, q, x) * (pi / 180)

    several(name, (None, None, lambda m, q, x, out: _part(name, 1)(m, q, x) * (pi / 180)), (None, None, curvature))


_mathieu("mathieu_cem", "mathieu_a")
_mathieu("mathieu_sem", "mathieu_b")

# --- integrals and inverses -----------------------------------------------------------------------

derived("spence", lambda z, out: np.where(z.detach() == 1, -1.0, np.log(z) / np.where(z.detach() == 1, 1.0, 1 - z)))
derived("wrightomega", lambda z, out: out / (1 + out))
derived("wofz", lambda z, out: -2 * z * out + 2j / sqrt(pi))
several("shichi", (lambda x, out: _where_zero(x, 1.0, lambda x: np.sinh(x) / x),), (lambda x, out: np.cosh(x) / x,))
derived("owens_t",
        lambda h, a, out: -np.exp(-h * h / 2) * of("erf")(a * h / sqrt(2)) / (2 * sqrt(2 * pi)),
        lambda h, a, out: np.exp(-h * h * (1 + a * a) / 2) / (2 * pi * (1 + a * a)))  # fmt: skip
derived("ndtri_exp", lambda y, out: np.exp(y + out * out / 2) * sqrt(2 * pi))
derived("tklmbda", lambda x, lam, out: 1 / (out ** (lam - 1) + (1 - out) ** (lam - 1)), None)


@function("expn")
def _expn(n: Any, x: Any) -> Any:
    order = floating(n).detach()

    def slope(n: Any, x: Any, out: Any) -> Any:
        lower = np.where(n > 0, 1.0, 0.0)
        return np.where(n > 0, -_expn(np.maximum(n - lower, 0.0), x), -(x + 1) * np.exp(-x) / (x * x))

    return valued("expn", (order, x), (None, slope))


@function("lambertw")
def _lambertw(z: Any, k: Any = 0, tol: float = 1e-8) -> Any:
    z = floating(z)

    def slope(z: Any, out: Any) -> Any:
        return 1 / (np.exp(out) * (1 + out))

    branch = np.asarray(k.detach() if isinstance(k, Tensor) else k)
    return _branch(z, branch, slope)


class _Lambert(Function):
    @staticmethod
    def forward(ctx: Any, z: Tensor, branch: Any, slope: Any) -> Tensor:
        out = wrap(np.asarray(special.lambertw(z.detach().numpy(), branch)))
        ctx.save_for_backward(z, out)
        ctx.slope = slope
        return out

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> tuple:
        z, out = ctx.saved_tensors
        g = gradient * np.conj(ctx.slope(z, out))
        return (g if z.is_complex() else g.real), None, None


def _branch(z: Any, branch: Any, slope: Slope) -> Any:
    return _Lambert.apply(np.broadcast_to(z, np.broadcast_shapes(tuple(z.shape), branch.shape)), branch, slope)


@function("voigt_profile")
def _voigt(x: Any, sigma: Any, gamma: Any) -> Any:
    x, sigma, gamma = alike(x, sigma, gamma)
    if bool((sigma.detach() <= 0).any()):
        raise TypeError("scipy.special.voigt_profile on tensors: sigma is positive")
    return of("wofz")((x + 1j * gamma) / (sigma * sqrt(2))).real / (sigma * sqrt(2 * pi))


# --- orthogonal polynomials -----------------------------------------------------------------------


def _lower(n: Any, slope: Any) -> Any:
    return np.where(n == 0, 0.0, slope(np.where(n == 0, 1.0, n)))


def _polynomial(name: str, slope: Callable, orders: int) -> None:
    none = (None,) * orders
    derived(f"eval_{name}", *none, lambda n, *rest: _lower(n, lambda n: slope(n, *rest[:-1])))


_polynomial("jacobi", lambda n, a, b, x: (n + a + b + 1) / 2 * of("eval_jacobi")(n - 1, a + 1, b + 1, x), 3)
_polynomial("gegenbauer", lambda n, a, x: 2 * a * of("eval_gegenbauer")(n - 1, a + 1, x), 2)
_polynomial("genlaguerre", lambda n, a, x: -of("eval_genlaguerre")(n - 1, a + 1, x), 2)
_polynomial("legendre", lambda n, x: (n + 1) / 2 * of("eval_jacobi")(n - 1, 1.0, 1.0, x), 1)
_polynomial("laguerre", lambda n, x: -of("eval_genlaguerre")(n - 1, 1.0, x), 1)
_polynomial("chebyt", lambda n, x: n * of("eval_chebyu")(n - 1, x), 1)
_polynomial("chebyu", lambda n, x: 2 * of("eval_gegenbauer")(n - 1, 2.0, x), 1)
_polynomial("chebyc", lambda n, x: n * of("eval_chebyu")(n - 1, x / 2), 1)
_polynomial("chebys", lambda n, x: of("eval_gegenbauer")(n - 1, 2.0, x / 2), 1)
_polynomial("sh_legendre", lambda n, x: (n + 1) * of("eval_jacobi")(n - 1, 1.0, 1.0, 2 * x - 1), 1)
_polynomial("sh_chebyt", lambda n, x: 2 * n * of("eval_chebyu")(n - 1, 2 * x - 1), 1)
_polynomial("sh_chebyu", lambda n, x: 4 * of("eval_gegenbauer")(n - 1, 2.0, 2 * x - 1), 1)
_polynomial(
    "sh_jacobi",
    lambda n, p, q, x: (
        (n + p)
        * of("eval_jacobi")(n - 1, p - q + 1, q, 2 * x - 1)
        / wrap(special.binom((2 * n + p - 1).detach().numpy(), n.detach().numpy()))
    ),
    3,
)
for _name, _slope in (
    ("hermite", lambda n, x: 2 * n * SPECIAL["eval_hermite"](n - 1, x)),
    ("hermitenorm", lambda n, x: n * SPECIAL["eval_hermitenorm"](n - 1, x)),
):
    SPECIAL[f"eval_{_name}"] = lambda n, x, name=_name, slope=_slope: _hermite(name, slope, n, x)


class _Hermite(Function):
    @staticmethod
    def forward(ctx: Any, name: str, slope: Any, n: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        ctx.how = (name, slope, n)
        return wrap(np.asarray(getattr(special, f"eval_{name}")(n, x.detach().numpy())))

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> tuple:
        (x,) = ctx.saved_tensors
        _, slope, n = ctx.how
        return None, None, None, gradient * np.where(n == 0, 0.0, slope(np.maximum(n, 1), x))


def _hermite(name: str, slope: Slope, n: Any, x: Any) -> Any:
    order = np.asarray(n.detach() if isinstance(n, Tensor) else n).astype(np.int64)
    x = floating(x)
    shape = np.broadcast_shapes(order.shape, tuple(x.shape))
    return _Hermite.apply(name, slope, np.broadcast_to(order, shape), np.broadcast_to(x, shape))


derived(
    "lpmv",
    None,
    None,
    lambda m, v, x, out: ((v - m + 1) * of("lpmv")(m, v + 1, x) - (v + 1) * x * out) / (x * x - 1),
)


@function("sph_harm_y")
def _sph_harm_y(n: Any, m: Any, theta: Any, phi: Any) -> Any:
    def by_theta(n: Any, m: Any, theta: Any, phi: Any, out: Any) -> Any:
        raised = np.where(m + 1 > n, 0.0, _sph_harm_y(n, np.minimum(m + 1, n), theta, phi))
        return m / np.tan(theta) * out + np.sqrt((n - m) * (n + m + 1)) * np.exp(-1j * phi) * raised

    degree, order = (np.asarray(v.detach() if isinstance(v, Tensor) else v).astype(np.int64) for v in (n, m))
    theta, phi = alike(theta, phi)
    shape = np.broadcast_shapes(degree.shape, order.shape, tuple(theta.shape), tuple(phi.shape))
    inputs = [np.broadcast_to(x, shape) for x in (theta, phi)]
    return _Harmonic.apply(np.broadcast_to(degree, shape), np.broadcast_to(order, shape), by_theta, *inputs)


class _Harmonic(Function):
    @staticmethod
    def forward(ctx: Any, n: Any, m: Any, by_theta: Any, theta: Tensor, phi: Tensor) -> Tensor:
        out = wrap(np.asarray(special.sph_harm_y(n, m, theta.detach().numpy(), phi.detach().numpy())))
        ctx.save_for_backward(theta, phi, out)
        ctx.how = (n, m, by_theta)
        return out

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> tuple:
        theta, phi, out = ctx.saved_tensors
        n, m, by_theta = ctx.how
        slopes = by_theta(n, m, theta, phi, out), 1j * m * out
        return None, None, None, *((gradient * np.conj(slope)).real for slope in slopes)


# --- distribution functions -----------------------------------------------------------------------


def _beta_density(a: Any, b: Any, x: Any) -> Any:
    return np.exp(of("xlogy")(a - 1, x) + of("xlog1py")(b - 1, -x) - of("betaln")(a, b))


def _f_density(n: Any, d: Any, x: Any) -> Any:
    y = n * x / (n * x + d)
    return _beta_density(n / 2, d / 2, y) * n * d / (n * x + d) ** 2


derived("fdtr", None, None, lambda n, d, x, out: _f_density(n, d, x))
derived("fdtrc", None, None, lambda n, d, x, out: -_f_density(n, d, x))
derived("fdtri", None, None, lambda n, d, p, out: 1 / _f_density(n, d, out))


def _gamma_density(a: Any, x: Any) -> Any:
    return np.exp(of("xlogy")(a - 1, x) - x - of("gammaln")(a))


derived("chdtri", None, lambda v, p, out: -2 / _gamma_density(v / 2, out / 2))
derived(
    "gdtrix",
    lambda a, b, p, out: -out / a,
    None,
    lambda a, b, p, out: 1 / (a * _gamma_density(b, a * out)),
)


@function("bdtrc")
def _bdtrc(k: Any, n: Any, p: Any) -> Any:
    return 1 - of("bdtr")(k, n, p)


@function("bdtri")
def _bdtri(k: Any, n: Any, y: Any) -> Any:
    k, n = np.floor(floating(k).detach()), np.floor(floating(n).detach())
    return 1 - of("betaincinv")(n - k, k + 1, floating(y))


@function("pdtri")
def _pdtri(k: Any, y: Any) -> Any:
    return of("gammainccinv")(np.floor(floating(k).detach()) + 1, floating(y))


@function("nbdtr")
def _nbdtr(k: Any, n: Any, p: Any) -> Any:
    return of("betainc")(np.floor(floating(n).detach()), np.floor(floating(k).detach()) + 1, floating(p))


@function("nbdtrc")
def _nbdtrc(k: Any, n: Any, p: Any) -> Any:
    return of("betainc")(np.floor(floating(k).detach()) + 1, np.floor(floating(n).detach()), 1 - floating(p))


@function("nbdtri")
def _nbdtri(k: Any, n: Any, y: Any) -> Any:
    return of("betaincinv")(np.floor(floating(n).detach()), np.floor(floating(k).detach()) + 1, floating(y))


@function("betainccinv")
def _betainccinv(a: Any, b: Any, y: Any) -> Any:
    return 1 - of("betaincinv")(b, a, y)


def _chi2_density(x: Any, df: Any, nc: Any) -> Any:
    """Return the density of the noncentral chi-squared distribution, by a Bessel function."""
    root = np.sqrt(x * nc)
    order = df.detach().reshape(-1)[0] / 2 - 1 if df.numel() else df
    if bool((df.detach() != df.detach().reshape(-1)[0]).any()):
        raise TypeError("scipy.special.chndtr on tensors: its derivative needs one number of degrees of freedom")
    return np.exp(-((np.sqrt(x) - np.sqrt(nc)) ** 2) / 2) * (x / nc) ** (df / 4 - 0.5) * of("ive")(order, root) / 2


derived(
    "chndtr",
    lambda x, df, nc, out: _chi2_density(x, df, nc),
    None,
    lambda x, df, nc, out: (of("chndtr")(x, df + 2, nc) - out) / 2,
)


# --- compositions ---------------------------------------------------------------------------------


@function("inv_boxcox1p")
def _inv_boxcox1p(y: Any, lmbda: Any) -> Any:
    y, power = alike(y, lmbda)
    zero = power.detach() == 0
    safe = np.where(zero, 1.0, power)
    return np.expm1(np.where(zero, y, np.log1p(safe * y) / safe))


@function("powm1")
def _powm1(x: Any, y: Any) -> Any:
    x, y = alike(x, y)
    positive = x.detach() > 0
    return np.where(positive, np.expm1(y * np.log(np.where(positive, x, 1.0))), x**y - 1)


@function("softplus")
def _softplus(x: Any) -> Any:
    x = floating(x)
    return np.logaddexp(x, np.zeros_like(x))


@function("nrdtrimn")
def _nrdtrimn(p: Any, std: Any, x: Any) -> Any:
    p, std, x = alike(p, std, x)
    return x - std * of("ndtri")(p)


@function("nrdtrisd")
def _nrdtrisd(mn: Any, p: Any, x: Any) -> Any:
    mn, p, x = alike(mn, p, x)
    return (x - mn) / of("ndtri")(p)


@function("radian")
def _radian(d: Any, m: Any, s: Any) -> Any:
    d, m, s = alike(d, m, s)
    return (d + m / 60 + s / 3600) * (pi / 180)


_DEGREE = pi / 180
derived("sindg", lambda x, out: of("cosdg")(x) * _DEGREE)
derived("cosdg", lambda x, out: -of("sindg")(x) * _DEGREE)
derived("tandg", lambda x, out: (1 + out * out) * _DEGREE)
derived("cotdg", lambda x, out: -(1 + out * out) * _DEGREE)
