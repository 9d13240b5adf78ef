"""The gamma function and related functions: its logarithm and derivatives of that, the incomplete functions, the
Hurwitz zeta function.
"""

from __future__ import annotations

from math import factorial, inf, log, pi
from operator import index
from typing import Any

import numpy as np

from ...arrays.bfloat16_dtype import limits
from ...arrays.kernels import accurate
from ...arrays.lazy import special
from ..formulas import is_whole, use
from ..samples import above_one, edge, exact, positive, sample
from ..table import BROADCASTING, ELEMENTWISE, FLOAT, composite, op
from .elementwise import function_row
from .special import of_pair, of_scipy, scalar_variant

_POLES = edge(exact([0.0, -1.0, -2.0, np.inf, np.nan, -0.5, 1e3]))
_SAMPLES = (sample(positive(3, 4)), sample(positive()), sample(positive(0, 3)), sample(exact([-0.5, -2.3, 7.0])))


def _underived(name: str) -> Any:
    """Return the formula of a derivative that is not implemented: it raises."""

    def formula(g: Any) -> Any:
        raise NotImplementedError(f"the derivative for '{name}' is not implemented: detach() that argument")

    return formula


# --- the logarithm of gamma -----------------------------------------------------------------------


def _lgamma(x: Any) -> Any:
    # SciPy's overflows where 1 / x does; and there is no limit at -inf, PyTorch's is that of the poles
    size = np.absolute(x)
    small = size < limits(x.dtype if x.dtype.kind == "f" else np.float64).tiny
    return np.where(small, -np.log(size), np.where(np.isinf(x), np.inf, accurate.lgamma(x)))


function_row("lgamma", of_scipy(_lgamma), lambda x: use("digamma")(x),
    (*_SAMPLES, edge(exact([0.0, -0.0, -1.0, np.inf, np.nan, 5e-324]))),
   """The logarithm of the absolute value of the gamma function.

   >>> import dualtape as dt
   >>> dt.lgamma(dt.tensor([1.0, 0.5, 10.0]))
   tensor([ 0.0000,  0.5724, 12.8018])
   """, complex=False, also=("special.gammaln",))  # fmt: skip
function_row("digamma", of_scipy(lambda x: special.psi(x)), lambda x: use("polygamma_op")(x, 1),
    (*_SAMPLES, edge(exact([0.0, -0.0, np.inf, np.nan, 1e3]))),
   """The derivative of :func:`lgamma`.

   >>> import dualtape as dt
   >>> dt.digamma(dt.tensor([1.0, 2.0]))
   tensor([-0.5772,  0.4228])
   """, complex=False, also=("special.digamma", "special.psi"))  # fmt: skip


def _trigamma(x: Any) -> Any:
    """Return zeta(2, x); below a half by reflection, since zeta's sum from far below 0 takes long."""
    low = x < 0.5
    sine = np.sin(pi * np.where(low, x - np.rint(x), 0.5))
    there = special.zeta(2.0, np.where(low, 1 - x, x))
    return np.where(low, np.square(pi / sine) - there, there)


def _factorial(n: int) -> float:
    return float(factorial(n)) if n <= 170 else inf


def _polygamma(x: Any, n: int) -> Any:
    if n < 0:
        raise RuntimeError(f"polygamma(n, x) does not support negative n, got {n}")
    if n == 0:
        return of_scipy(special.psi)(x)
    if n == 1:
        return of_scipy(_trigamma)(x)
    return of_scipy(lambda x: (-1) ** (n + 1) * _factorial(n) * special.zeta(float(n + 1), x))(x)


_polygamma_op = op("polygamma_op", _polygamma, kind=ELEMENTWISE, promote=FLOAT, public=False, complex=False,
    also=("polygamma",), node="PolygammaBackward0", torch_name="Tensor.polygamma",
    derivative=lambda x, n: use("polygamma_op")(x, n + 1),
    samples=(sample(positive(3, 4), 1), sample(positive(), 2), sample(exact([-0.5, -2.3, 7.0]), 3),
        sample(positive(3), 0), sample(exact([-0.5, -2.3, 7.0, 0.4]), 1),
        edge(exact([0.0, np.nan, 1e3, -1e3 - 0.5]), 1), edge(exact([0.0, np.nan, -1.0, 1e3]), 2)),
   doc="""The n-th derivative of :func:`digamma`, as a method: ``x.polygamma(n)``.

   >>> import dualtape as dt
   >>> dt.tensor([1.0, 2.0]).polygamma(1)
   tensor([1.6449, 0.6449])
   """)  # fmt: skip


@composite("polygamma", method=False, complex=False, also=("special.polygamma",),
    samples=(sample(1, positive(3, 4)), sample(2, positive()), sample(0, positive(3)), sample(3, exact([-0.5, 7.0])),
))  # fmt: skip
def polygamma(n: int, input: Any) -> Any:
    """The n-th derivative of :func:`digamma`.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.polygamma(1, dt.tensor([1.0, 2.0]))
    tensor([1.6449, 0.6449])
    """
    if not is_whole(n) or isinstance(n, bool):
        raise TypeError(f"polygamma(): argument 'n' (position 1) must be int, not {type(n).__name__}")
    return _polygamma_op(input, index(n))


def _mvlgamma(x: Any, p: int) -> Any:
    if p < 1:
        raise RuntimeError(f"mvlgamma: p has to be greater than or equal to 1, got {p}")
    x = x if x.dtype.kind in "fc" else x.astype(np.float64)
    np.empty((p, *x.shape), np.float32)  # what holds all the terms: no memory is a reason not to begin
    parts = [of_scipy(_lgamma)(x - 0.5 * i) for i in range(p)]
    return sum(parts[1:], parts[0]) + 0.25 * p * (p - 1) * log(pi)


def _mvlgamma_derivative(x: Any, p: int) -> Any:
    parts = [use("digamma")(x - 0.5 * i) for i in range(p)]
    return sum(parts[1:], parts[0])


op("mvlgamma", _mvlgamma, kind=ELEMENTWISE, promote=FLOAT, derivative=_mvlgamma_derivative, complex=False,
    also=("special.multigammaln",),
    samples=(sample(above_one(3, 4), 2), sample(above_one(), 3), sample(above_one(3), 1),
        edge(exact([0.2, -1.0, np.nan, np.inf]), 2)),
   doc="""The logarithm of the multivariate gamma function of dimension ``p``.

   >>> import dualtape as dt
   >>> dt.mvlgamma(dt.tensor([1.0, 3.0]), 2)
   tensor([1.1447, 1.5502])
   """)  # fmt: skip

# --- incomplete -----------------------------------------------------------------------------------


def _incomplete(name: str, forward: Any, sign: int, doc: str) -> None:
    """Declare a regularised incomplete function of the order, which has no derivative here, and the bound."""

    def density(x: Any, y: Any) -> Any:
        return sign * np.exp(use("xlogy")(x - 1, y) - y - use("lgamma")(x))

    def of_floats(x: Any, y: Any) -> Any:
        if np.result_type(x, y).kind != "f":
            raise NotImplementedError(
                f"{name}: expected tensors of floating-point numbers, got {x.dtype} and {y.dtype}"
            )
        return of_pair(forward)(x, y)

    orders = np.array([0.5, 1.0, 2.5, 7.0])
    op(name, of_floats, kind=BROADCASTING, promote=FLOAT, complex=False, scalars=False,
       also=(f"special.gammainc{name[6:]}",),
       vjp=dict(x=_underived(f"{name}: input"), y=lambda g, x, y: g * density(x, y)),
       jvp=dict(x=lambda t: _underived(f"{name}: input")(t), y=lambda t, x, y: t * density(x, y)),
       samples=(sample(orders, positive(3, 4)), sample(np.array(2.0), positive()),
           edge(orders, exact([0.0, 1e3, 1e-3, 5.0])), edge(np.array([2.0, -1.0, 0.5]), exact([-1.0, 1.0, 0.0]))),
       doc=doc)  # fmt: skip


_incomplete("igamma", lambda x, y: special.gammainc(x, y), 1, """The regularised lower incomplete gamma function of an
order and a bound; it has no derivative with respect to the order.

   >>> import dualtape as dt
   >>> dt.igamma(dt.tensor([1.0, 2.0]), dt.tensor([1.0, 1.0]))
   tensor([0.6321, 0.2642])
   """)  # fmt: skip
_incomplete("igammac", lambda x, y: special.gammaincc(x, y), -1, """1 - igamma, exact where that is near 1.

   >>> import dualtape as dt
   >>> dt.igammac(dt.tensor([1.0, 2.0]), dt.tensor([1.0, 1.0]))
   tensor([0.3679, 0.7358])
   """)  # fmt: skip

# --- zeta -----------------------------------------------------------------------------------------

op("special_zeta", of_pair(lambda x, y: special.zeta(x, y)), kind=BROADCASTING, promote=FLOAT, complex=False,
    namespace="special", node=("SpecialZetaBackward0", "SpecialZetaBackward1", "SpecialZetaBackward2"),
    variant=scalar_variant,
   vjp=dict(x=_underived("zeta"), y=lambda g, x, y: g * (-x * use("special_zeta")(x + 1, y))),
   jvp=dict(x=lambda t: _underived("zeta")(t), y=lambda t, x, y: t * (-x * use("special_zeta")(x + 1, y))),
   samples=(sample(np.array([1.5, 2.0, 3.5, 7.0]), positive(3, 4)), sample(2.0, positive(3)),
       edge(np.array([1.0, 0.5, 2.0, 2.0]), exact([1.0, 1.0, -1.0, 0.0]))),
   doc="""The Hurwitz zeta function: the sum of ``(k + y) ** -x`` over k = 0, 1, ...; it has no derivative with respect
   to x.

   >>> import dualtape as dt
   >>> dt.special.zeta(dt.tensor([2.0, 4.0]), 1)
   tensor([1.6449, 1.0823])
   """)  # fmt: skip
