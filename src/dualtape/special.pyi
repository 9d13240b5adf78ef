"""The names of ``dualtape.special``. Written by ``python -m tools.stubs``."""

# ruff: noqa - written by a tool, one signature a line
from builtins import bool as _bool, complex as _complex, float as _float, int as _int
from typing import Any, NamedTuple

from . import Tensor

def airy_ai(input: Any, *, out: Any = ...) -> Tensor:
    """The Airy function: the solution of ``y'' == x * y`` that vanishes at infinity."""
def bessel_j0(input: Any, *, out: Any = ...) -> Tensor:
    """The Bessel function of the first kind of order 0."""
def bessel_j1(input: Any, *, out: Any = ...) -> Tensor:
    """The Bessel function of the first kind of order 1."""
def bessel_y0(input: Any, *, out: Any = ...) -> Tensor:
    """The Bessel function of the second kind of order 0; -inf at 0, NaN below."""
def bessel_y1(input: Any, *, out: Any = ...) -> Tensor:
    """The Bessel function of the second kind of order 1; -inf at 0, NaN below."""
def chebyshev_polynomial_t(input: Any, n: Any, *, out: Any = ...) -> Tensor:
    """Chebyshev's polynomial of the first kind of degree n, 0 for a negative one."""
def chebyshev_polynomial_u(input: Any, n: Any, *, out: Any = ...) -> Tensor:
    """Chebyshev's polynomial of the second kind of degree n, 0 for a negative one."""
def chebyshev_polynomial_v(input: Any, n: Any, *, out: Any = ...) -> Tensor:
    """Chebyshev's polynomial of the third kind of degree n, 0 for a negative one."""
def chebyshev_polynomial_w(input: Any, n: Any, *, out: Any = ...) -> Tensor:
    """Chebyshev's polynomial of the fourth kind of degree n, 0 for a negative one."""
def digamma(input: Any, *, out: Any = ...) -> Tensor:
    """The derivative of :func:`lgamma`."""
def entr(input: Any, *, out: Any = ...) -> Tensor:
    """-x * log(x), the share of each probability in an entropy; 0 at 0 and -inf below."""
def erf(input: Any, *, out: Any = ...) -> Tensor:
    """The error function."""
def erfc(input: Any, *, out: Any = ...) -> Tensor:
    """1 - erf(x), exact for large x."""
def erfcx(input: Any, *, out: Any = ...) -> Tensor:
    """exp(x**2) * erfc(x), without overflow for large x."""
def erfinv(input: Any, *, out: Any = ...) -> Tensor:
    """The inverse of the error function; NaN outside of [-1, 1]."""
def exp2(input: Any, *, out: Any = ...) -> Tensor:
    """2 to the power of each element."""
def expit(input: Any, *, out: Any = ...) -> Tensor:
    """1 / (1 + exp(-x))."""
def expm1(input: Any, *, out: Any = ...) -> Tensor:
    """exp(x) - 1, exact for small x."""
def gammainc(input: Any, other: Any, *, out: Any = ...) -> Tensor:
    """The regularised lower incomplete gamma function of an order and a bound; it has no derivative with respect to the order."""
def gammaincc(input: Any, other: Any, *, out: Any = ...) -> Tensor:
    """1 - igamma, exact where that is near 1."""
def gammaln(input: Any, *, out: Any = ...) -> Tensor:
    """The logarithm of the absolute value of the gamma function."""
def hermite_polynomial_h(input: Any, n: Any, *, out: Any = ...) -> Tensor:
    """The physicist's Hermite polynomial of degree n, 0 for a negative one."""
def hermite_polynomial_he(input: Any, n: Any, *, out: Any = ...) -> Tensor:
    """The probabilist's Hermite polynomial of degree n, 0 for a negative one."""
def i0(input: Any, *, out: Any = ...) -> Tensor:
    """The modified Bessel function of the first kind of order 0."""
def i0e(input: Any, *, out: Any = ...) -> Tensor:
    """exp(-\\\\|x\\\\|) * i0(x), without overflow."""
def i1(input: Any, *, out: Any = ...) -> Tensor:
    """The modified Bessel function of the first kind of order 1."""
def i1e(input: Any, *, out: Any = ...) -> Tensor:
    """exp(-\\\\|x\\\\|) * i1(x), without overflow."""
def laguerre_polynomial_l(input: Any, n: Any, *, out: Any = ...) -> Tensor:
    """Laguerre's polynomial of degree n, 0 for a negative one."""
def legendre_polynomial_p(input: Any, n: Any, *, out: Any = ...) -> Tensor:
    """Legendre's polynomial of degree n, 0 for a negative one."""
def log1p(input: Any, *, out: Any = ...) -> Tensor:
    """log(1 + x), exact for small x."""
def log_ndtr(input: Any, *, out: Any = ...) -> Tensor:
    """The logarithm of :func:`ndtr`, also where that is too small to have one."""
def log_softmax(input: Any, dim: Any, dtype: Any = ..., *, out: Any = ...) -> Tensor:
    """The logarithm of :func:`softmax`, exact where that underflows."""
def logit(input: Any, eps: Any = ..., *, out: Any = ...) -> Tensor:
    """log(x / (1 - x)); with ``eps``, of x kept between eps and 1 - eps."""
def logsumexp(input: Any, dim: Any, keepdim: _bool = ..., *, out: Any = ...) -> Tensor:
    """log(sum(exp(x))) over ``dim``, without overflow."""
def modified_bessel_i0(input: Any, *, out: Any = ...) -> Tensor:
    """The modified Bessel function of the first kind of order 0."""
def modified_bessel_i1(input: Any, *, out: Any = ...) -> Tensor:
    """The modified Bessel function of the first kind of order 1."""
def modified_bessel_k0(input: Any, *, out: Any = ...) -> Tensor:
    """The modified Bessel function of the second kind of order 0; inf at 0, NaN below."""
def modified_bessel_k1(input: Any, *, out: Any = ...) -> Tensor:
    """The modified Bessel function of the second kind of order 1; inf at 0, NaN below."""
def multigammaln(input: Any, p: Any, *, out: Any = ...) -> Tensor:
    """The logarithm of the multivariate gamma function of dimension ``p``."""
def ndtr(input: Any, *, out: Any = ...) -> Tensor:
    """The probability that a normally distributed number is less than each element."""
def ndtri(input: Any, *, out: Any = ...) -> Tensor:
    """The inverse of :func:`ndtr`."""
def polygamma(n: _int, input: Any, *, out: Any = ...) -> Tensor:
    """The n-th derivative of :func:`digamma`."""
def psi(input: Any, *, out: Any = ...) -> Tensor:
    """The derivative of :func:`lgamma`."""
def round(input: Any, *, decimals: Any = ..., out: Any = ...) -> Tensor:
    """The nearest integer (the even one of two), or the nearest number of ``decimals`` digits."""
def scaled_modified_bessel_k0(input: Any, *, out: Any = ...) -> Tensor:
    """exp(x) * modified_bessel_k0(x), without underflow."""
def scaled_modified_bessel_k1(input: Any, *, out: Any = ...) -> Tensor:
    """exp(x) * modified_bessel_k1(x), without underflow."""
def shifted_chebyshev_polynomial_t(input: Any, n: Any, *, out: Any = ...) -> Tensor:
    """Chebyshev's polynomial of the first kind, of 2 * x - 1, of degree n, 0 for a negative one."""
def shifted_chebyshev_polynomial_u(input: Any, n: Any, *, out: Any = ...) -> Tensor:
    """Chebyshev's polynomial of the second kind, of 2 * x - 1, of degree n, 0 for a negative one."""
def shifted_chebyshev_polynomial_v(input: Any, n: Any, *, out: Any = ...) -> Tensor:
    """Chebyshev's polynomial of the third kind, of 2 * x - 1, of degree n, 0 for a negative one."""
def shifted_chebyshev_polynomial_w(input: Any, n: Any, *, out: Any = ...) -> Tensor:
    """Chebyshev's polynomial of the fourth kind, of 2 * x - 1, of degree n, 0 for a negative one."""
def sinc(input: Any, *, out: Any = ...) -> Tensor:
    """sin(pi x) / (pi x), and 1 at 0."""
def softmax(input: Any, dim: Any, dtype: Any = ..., *, out: Any = ...) -> Tensor:
    """Exponentials along ``dim``, scaled so that they sum to 1."""
def spherical_bessel_j0(input: Any, *, out: Any = ...) -> Tensor:
    """sin(x) / x, and 1 at 0."""
def xlog1py(input: Any, other: Any, *, out: Any = ...) -> Tensor:
    """x * log(1 + y), and 0 where x is 0."""
def xlogy(input: Any, other: Any, *, out: Any = ...) -> Tensor:
    """x * log(y), and 0 where x is 0."""
def zeta(input: Any, other: Any, *, out: Any = ...) -> Tensor:
    """The Hurwitz zeta function: the sum of ``(k + y) ** -x`` over k = 0, 1, ...; it has no derivative with respect to x."""
