"""Bessel functions and the Airy function, with derivatives of every order: those of order n are combinations of orders
n - 1 and n + 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...arrays.kernels import accurate
from ...arrays.lazy import special
from ..formulas import use
from ..samples import Sample, edge, exact, ours, positive, real, sample
from ..table import ELEMENTWISE, FLOAT, op
from .elementwise import PLAIN, function_row
from .special import _sinc_derivative, of_scipy

_REAL = (ours(real(3, 4)), ours(real()), ours(exact([0.0, 7.5, -20.0])))  # PyTorch's have no derivative
_POSITIVE = (ours(positive(3, 4)), ours(positive()), ours(exact([7.5, 20.0])))


def _of_order(name: str, function: Any, slope: Any, samples: tuple[Sample, ...]) -> None:
    """Declare the function of any integer order, of which the derivatives of the others are made."""
    op(name, lambda x, n: of_scipy(lambda x: function(float(n), x))(x), kind=ELEMENTWISE, promote=FLOAT, public=False,
       method=False, complex=False, torch_name="-", derivative=slope, samples=samples,
       doc="A Bessel function of a whole order.")  # fmt: skip


_j, _y, _i, _ie = use("bessel_jn"), use("bessel_yn"), use("bessel_in"), use("bessel_ine")
_k, _ke = use("bessel_kn"), use("bessel_kne")

_of_order("bessel_jn", lambda n, x: special.jv(n, x), lambda x, n: (_j(x, n - 1) - _j(x, n + 1)) * 0.5,
    (sample(real(3, 4), 2), sample(exact([0.0, 3.0]), 1)))  # fmt: skip
_of_order("bessel_yn", lambda n, x: special.yv(n, x), lambda x, n: (_y(x, n - 1) - _y(x, n + 1)) * 0.5,
    (sample(positive(3, 4), 2),))  # fmt: skip
_of_order("bessel_in", lambda n, x: special.iv(n, x), lambda x, n: (_i(x, n - 1) + _i(x, n + 1)) * 0.5,
    (sample(real(3, 4), 2), sample(exact([0.0, -3.0]), 1)))  # fmt: skip
_of_order("bessel_ine", lambda n, x: special.ive(n, x),
    lambda x, n: (_ie(x, n - 1) + _ie(x, n + 1)) * 0.5 - np.sign(x) * _ie(x, n),
    (sample(real(3, 4), 2),))  # fmt: skip
_of_order("bessel_kn", lambda n, x: special.kv(n, x), lambda x, n: (_k(x, n - 1) + _k(x, n + 1)) * -0.5,
    (sample(positive(3, 4), 2),))  # fmt: skip
_of_order("bessel_kne", lambda n, x: special.kve(n, x),
    lambda x, n: _ke(x, n) - (_ke(x, n - 1) + _ke(x, n + 1)) * 0.5,
    (sample(positive(3, 4), 2),))  # fmt: skip


# --- of the first and second kind -----------------------------------------------------------------


def _row(name: str, forward: Any, slope: Any, samples: Any, doc: str, **more: Any) -> None:
    function_row(name, of_scipy(forward), slope, samples, doc, namespace="special", complex=False, **more)


_row("special_bessel_j0", lambda x: special.j0(x), lambda x: -use("special_bessel_j1")(x), _REAL,
   """The Bessel function of the first kind of order 0.

   >>> import dualtape as dt
   >>> dt.special.bessel_j0(dt.tensor([0.0, 1.0]))
   tensor([1.0000, 0.7652])
   """)  # fmt: skip
_row("special_bessel_j1", lambda x: special.j1(x), lambda x: (_j(x, 0) - _j(x, 2)) * 0.5, _REAL,
   """The Bessel function of the first kind of order 1.

   >>> import dualtape as dt
   >>> dt.special.bessel_j1(dt.tensor([0.0, 1.0]))
   tensor([0.0000, 0.4401])
   """)  # fmt: skip
_row("special_bessel_y0", lambda x: special.y0(x), lambda x: -use("special_bessel_y1")(x), _POSITIVE,
   """The Bessel function of the second kind of order 0; -inf at 0, NaN below.

   >>> import dualtape as dt
   >>> dt.special.bessel_y0(dt.tensor([1.0, 2.0]))
   tensor([0.0883, 0.5104])
   """)  # fmt: skip
_row("special_bessel_y1", lambda x: special.y1(x), lambda x: (_y(x, 0) - _y(x, 2)) * 0.5, _POSITIVE,
   """The Bessel function of the second kind of order 1; -inf at 0, NaN below.

   >>> import dualtape as dt
   >>> dt.special.bessel_y1(dt.tensor([1.0, 2.0]))
   tensor([-0.7812, -0.1070])
   """)  # fmt: skip

# --- modified -------------------------------------------------------------------------------------

_MODIFIED = (*PLAIN, edge(exact([0.0, -0.0, 30.0, -30.0])), sample(exact([0.0, 1.0])))

function_row("i0", of_scipy(lambda x: special.i0(x)), lambda x: use("special_i1")(x), _MODIFIED,
   """The modified Bessel function of the first kind of order 0.

   >>> import dualtape as dt
   >>> dt.i0(dt.tensor([0.0, 1.0]))
   tensor([1.0000, 1.2661])
   """, complex=False, also=("special.i0", "special.modified_bessel_i0"))  # fmt: skip
_row("special_i1", lambda x: special.i1(x), lambda x: (_i(x, 0) + _i(x, 2)) * 0.5, _MODIFIED,
   """The modified Bessel function of the first kind of order 1.

   >>> import dualtape as dt
   >>> dt.special.i1(dt.tensor([0.0, 1.0]))
   tensor([0.0000, 0.5652])
   """, also=("special.modified_bessel_i1",))  # fmt: skip
_row("special_i0e", lambda x: special.i0e(x), lambda x, out: use("special_i1e")(x) - np.sign(x) * out,
    (*PLAIN, edge(exact([0.0, -0.0, 1e3, -1e3, np.inf]))),
   """exp(-\\\\|x\\\\|) * i0(x), without overflow.

   >>> import dualtape as dt
   >>> dt.special.i0e(dt.tensor([0.0, 1000.0]))
   tensor([1.0000, 0.0126])
   """, node="SpecialI0EBackward0")  # fmt: skip
_row("special_i1e", lambda x: special.i1e(x), lambda x, out: (_ie(x, 0) + _ie(x, 2)) * 0.5 - np.sign(x) * out,
    (*PLAIN, edge(exact([0.0, -0.0, 1e3, -1e3]))),
   """exp(-\\\\|x\\\\|) * i1(x), without overflow.

   >>> import dualtape as dt
   >>> dt.special.i1e(dt.tensor([0.0, 1000.0]))
   tensor([0.0000, 0.0126])
   """, node="SpecialI1EBackward0")  # fmt: skip
_row("special_modified_bessel_k0", lambda x: special.k0(x), lambda x: -_k(x, 1), _POSITIVE,
   """The modified Bessel function of the second kind of order 0; inf at 0, NaN below.

   >>> import dualtape as dt
   >>> dt.special.modified_bessel_k0(dt.tensor([1.0, 2.0]))
   tensor([0.4210, 0.1139])
   """)  # fmt: skip
_row("special_modified_bessel_k1", lambda x: special.k1(x), lambda x: (_k(x, 0) + _k(x, 2)) * -0.5, _POSITIVE,
   """The modified Bessel function of the second kind of order 1; inf at 0, NaN below.

   >>> import dualtape as dt
   >>> dt.special.modified_bessel_k1(dt.tensor([1.0, 2.0]))
   tensor([0.6019, 0.1399])
   """)  # fmt: skip
_row("special_scaled_modified_bessel_k0", lambda x: special.k0e(x), lambda x, out: out - _ke(x, 1), _POSITIVE,
   """exp(x) * modified_bessel_k0(x), without underflow.

   >>> import dualtape as dt
   >>> dt.special.scaled_modified_bessel_k0(dt.tensor([1.0, 1000.0]))
   tensor([1.1445, 0.0396])
   """)  # fmt: skip
_row("special_scaled_modified_bessel_k1", lambda x: special.k1e(x),
    lambda x, out: out - (_ke(x, 0) + _ke(x, 2)) * 0.5, _POSITIVE,
   """exp(x) * modified_bessel_k1(x), without underflow.

   >>> import dualtape as dt
   >>> dt.special.scaled_modified_bessel_k1(dt.tensor([1.0, 1000.0]))
   tensor([1.6362, 0.0396])
   """)  # fmt: skip

# --- spherical, and Airy's ------------------------------------------------------------------------


def _spherical(x: Any) -> Any:
    return np.where(np.isinf(x), 0, np.where(x == 0, 1, np.sin(x) / np.where(x == 0, 1, x)))


_row("special_spherical_bessel_j0", _spherical, lambda x: _sinc_derivative(x / np.pi) / np.pi, _REAL,
   """sin(x) / x, and 1 at 0.

   >>> import dualtape as dt
   >>> dt.special.spherical_bessel_j0(dt.tensor([0.0, 1.0]))
   tensor([1.0000, 0.8415])
   """)  # fmt: skip


def _airy(x: Any, k: int) -> Any:
    return np.where(x > _VANISHED, -0.0 if k else 0.0, special.airy(x)[1] if k else accurate.airy_ai(x))


# From here on the Airy function is 0 in every precision, and SciPy's is NaN from some x on.
_VANISHED = 200

_row("special_airy_ai", lambda x: _airy(x, 0), lambda x: use("airy_ai_slope")(x), _REAL,
   """The Airy function: the solution of ``y'' == x * y`` that vanishes at infinity.

   >>> import dualtape as dt
   >>> dt.special.airy_ai(dt.tensor([0.0, 1.0]))
   tensor([0.3550, 0.1353])
   """)  # fmt: skip
function_row("airy_ai_slope", of_scipy(lambda x: _airy(x, 1)), lambda x: x * use("special_airy_ai")(x),
    (sample(real(3, 4)), sample(exact([0.0]))), "The derivative of the Airy function.", public=False, method=False,
    complex=False, torch_name="-")  # fmt: skip
