"""SciPy's special functions on tensors: ``scipy.special.gammaln(x)`` of a tensor is a tensor with history.

They are ufuncs, and ask tensors as NumPy's do. Derivatives with respect to an order, without closed form, are refused.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..._tensor.tensor import Tensor
from ...arrays.lazy import special
from ..dispatch import FUNCTIONS
from ..table import UFUNCS
from .registry import alike, floating, op, tensor

SPECIAL: dict[str, Callable] = {}


def function(*names: str) -> Callable[[Callable], Callable]:
    """Register what stands for SciPy's ufuncs of these names."""

    def register(translation: Callable) -> Callable:
        SPECIAL.update(dict.fromkeys(names, translation))
        return translation

    return register


def register() -> None:
    """Let SciPy's ufuncs lead here: called when one of them meets a tensor."""
    for name, translation in SPECIAL.items():
        ufunc = getattr(special, name, None)
        if isinstance(ufunc, np.ufunc):
            UFUNCS.setdefault(ufunc, translation)


def _same(name: str, target: str) -> None:
    SPECIAL[name] = lambda *inputs: op(target)(*alike(*inputs))


for _name in "erf erfc erfinv expit:sigmoid logit psi:digamma digamma gammaln:lgamma expm1 log1p exp2 sinc i0".split():
    _same(*(_name.split(":") if ":" in _name else (_name, _name)))
for _name in (
    "erfcx ndtr ndtri log_ndtr entr i0e i1 i1e j0:bessel_j0 j1:bessel_j1 y0:bessel_y0 y1:bessel_y1 xlogy xlog1py"
    " k0:modified_bessel_k0 k1:modified_bessel_k1 k0e:scaled_modified_bessel_k0 k1e:scaled_modified_bessel_k1"
    " gammainc gammaincc"
).split():
    _name, _, _target = _name.partition(":")
    _same(_name, f"special.{_target or _name}")
for _name in (
    "gamma rgamma erfcinv erfi dawsn exp1 expi beta betaln gammaincinv gammainccinv stdtr stdtrit betainc betaincinv"
).split():
    _same(_name, f"scipy_{_name}")
_same("cbrt", "cbrt")
_same("log_expit", "nn.functional.logsigmoid")

# --- compositions ---------------------------------------------------------------------------------


@function("exp10")
def _exp10(x: Any) -> Any:
    return FUNCTIONS["pow"](10.0, floating(x))


@function("cosm1")
def _cosm1(x: Any) -> Any:
    return FUNCTIONS["square"](FUNCTIONS["sin"](floating(x) * 0.5)) * -2


@function("loggamma")
def _loggamma(x: Any) -> Any:
    x = floating(x)
    if x.is_complex():
        raise TypeError("scipy.special.loggamma on tensors takes real numbers")
    return FUNCTIONS["where"](x < 0, np.nan, op("lgamma")(x))


@function("fresnel")
def _fresnel(x: Any) -> tuple:
    return op("scipy_fresnel_s")(floating(x)), op("scipy_fresnel_c")(floating(x))


@function("sici")
def _sici(x: Any) -> tuple:
    return op("scipy_si")(floating(x)), op("scipy_ci")(floating(x))


@function("rel_entr")
def _rel_entr(x: Any, y: Any) -> Any:
    x, y = alike(x, y)
    xlogy = op("special.xlogy")
    inside = (x >= 0) & (y >= 0)
    return FUNCTIONS["where"](inside, xlogy(x, x) - xlogy(x, y), np.inf)


@function("kl_div")
def _kl_div(x: Any, y: Any) -> Any:
    return _rel_entr(x, y) - floating(x) + floating(y)


@function("huber")
def _huber(delta: Any, r: Any) -> Any:
    delta, size = floating(delta), FUNCTIONS["abs"](floating(r))
    loss = FUNCTIONS["where"](size <= delta, size * size * 0.5, delta * (size - delta * 0.5))
    return FUNCTIONS["where"](delta < 0, np.inf, loss)


@function("pseudo_huber")
def _pseudo_huber(delta: Any, r: Any) -> Any:
    delta, r = alike(delta, r)
    safe = FUNCTIONS["where"](delta == 0, 1, delta)
    loss = delta * delta * (FUNCTIONS["sqrt"](1 + FUNCTIONS["square"](r / safe)) - 1)
    return FUNCTIONS["where"](delta < 0, np.inf, loss)


@function("boxcox")
def _boxcox(x: Any, lmbda: Any) -> Any:
    x, power = alike(x, lmbda)
    safe = FUNCTIONS["where"](power == 0, 1, power)
    return FUNCTIONS["where"](power == 0, FUNCTIONS["log"](x), FUNCTIONS["expm1"](safe * FUNCTIONS["log"](x)) / safe)


@function("boxcox1p")
def _boxcox1p(x: Any, lmbda: Any) -> Any:
    x, power = alike(x, lmbda)
    safe, log = FUNCTIONS["where"](power == 0, 1, power), FUNCTIONS["log1p"](x)
    return FUNCTIONS["where"](power == 0, log, FUNCTIONS["expm1"](safe * log) / safe)


@function("inv_boxcox")
def _inv_boxcox(y: Any, lmbda: Any) -> Any:
    y, power = alike(y, lmbda)
    safe = FUNCTIONS["where"](power == 0, 1, power)
    return FUNCTIONS["exp"](FUNCTIONS["where"](power == 0, y, FUNCTIONS["log1p"](safe * y) / safe))


@function("poch")
def _poch(z: Any, m: Any) -> Any:
    z, m = alike(z, m)
    return op("scipy_gamma")(z + m) * op("scipy_rgamma")(z)


@function("binom")
def _binom(n: Any, k: Any) -> Any:
    n, k = alike(n, k)
    return 1 / ((n + 1) * op("scipy_beta")(n - k + 1, k + 1))


# --- distributions --------------------------------------------------------------------------------


@function("chdtr")
def _chdtr(v: Any, x: Any) -> Any:
    return op("special.gammainc")(*(half / 2 for half in alike(v, x)))


@function("chdtrc")
def _chdtrc(v: Any, x: Any) -> Any:
    return op("special.gammaincc")(*(half / 2 for half in alike(v, x)))


@function("gdtr")
def _gdtr(a: Any, b: Any, x: Any) -> Any:
    return op("special.gammainc")(floating(b), floating(a) * floating(x))


@function("gdtrc")
def _gdtrc(a: Any, b: Any, x: Any) -> Any:
    return op("special.gammaincc")(floating(b), floating(a) * floating(x))


@function("pdtr")
def _pdtr(k: Any, m: Any) -> Any:
    return op("special.gammaincc")(_whole(k) + 1, floating(m))


@function("pdtrc")
def _pdtrc(k: Any, m: Any) -> Any:
    return op("special.gammainc")(_whole(k) + 1, floating(m))


@function("bdtr")
def _bdtr(k: Any, n: Any, p: Any) -> Any:
    k, n, p = _whole(k), _whole(n), floating(p)
    inside = op("scipy_betainc")(FUNCTIONS["clamp"](n - k, min=1), k + 1, 1 - p)
    return FUNCTIONS["where"](k >= n, 1.0, inside)


@function("betaincc")
def _betaincc(a: Any, b: Any, x: Any) -> Any:
    return op("scipy_betainc")(floating(b), floating(a), 1 - floating(x))


def _whole(value: Any) -> Tensor:
    return FUNCTIONS["floor"](floating(value).detach())


# --- Bessel functions, of a fixed order -----------------------------------------------------------


def _of_order(name: str, row: str) -> None:
    def bessel(v: Any, z: Any) -> Any:
        order = tensor(v)
        if order.requires_grad or order.numel() != 1:
            raise TypeError(f"scipy.special.{name} on tensors: the order is one number, without a derivative")
        return op(row)(floating(z), float(order.item()))

    SPECIAL[name] = bessel


for _name, _row in (
    ("jv", "bessel_jn"),
    ("jn", "bessel_jn"),
    ("yv", "bessel_yn"),
    ("yn", "bessel_yn"),
    ("iv", "bessel_in"),
    ("ive", "bessel_ine"),
    ("kv", "bessel_kn"),
    ("kn", "bessel_kn"),
    ("kve", "bessel_kne"),
):
    _of_order(_name, _row)

from . import special_slopes as special_slopes  # noqa: E402 - it adds to what is registered above
