"""Orthogonal polynomials: Chebyshev's four, also on [0, 1], Hermite's two, Laguerre's and Legendre's.

Each kind is a recurrence of three terms; differentiated k times it is one for the k-th derivative, so that every
derivative with respect to x is exact. The degree is truncated to an integer, so that its derivative is zero.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ...arrays.bfloat16_dtype import cast
from ...arrays.kernels.basics import all_samples, asarray_like
from ..formulas import use
from ..samples import exact, ours, real
from ..table import BROADCASTING, FLOAT, op
from .elementwise import nothing


class _Kind(NamedTuple):
    """The recurrence p[1] = slope * x + offset; p[k + 1] = (a * x + b) * p[k] - c * p[k - 1], with a, b and c depending
    on k.
    """

    slope: float
    offset: float
    step: Callable[[int], tuple[float, float, float]]


def _chebyshev(k: int) -> tuple[float, float, float]:
    return 2.0, 0.0, 1.0


_KINDS = {
    "chebyshev_polynomial_t": _Kind(1.0, 0.0, _chebyshev),
    "chebyshev_polynomial_u": _Kind(2.0, 0.0, _chebyshev),
    "chebyshev_polynomial_v": _Kind(2.0, -1.0, _chebyshev),
    "chebyshev_polynomial_w": _Kind(2.0, 1.0, _chebyshev),
    "hermite_polynomial_h": _Kind(2.0, 0.0, lambda k: (2.0, 0.0, 2.0 * k)),
    "hermite_polynomial_he": _Kind(1.0, 0.0, lambda k: (1.0, 0.0, float(k))),
    "laguerre_polynomial_l": _Kind(-1.0, 1.0, lambda k: (-1 / (k + 1), (2 * k + 1) / (k + 1), k / (k + 1))),
    "legendre_polynomial_p": _Kind(1.0, 0.0, lambda k: ((2 * k + 1) / (k + 1), 0.0, k / (k + 1))),
}  # fmt: skip


# Steps of the recurrence, each a few passes over the array: seconds for a number.
_MOST_STEPS = 1_000_000


def _value(x: Any, n: Any, kind: str, order: int = 0) -> Any:
    """Return the derivative of an order of the polynomials of degrees ``n``: 0 below degree 0."""
    dtype = np.result_type(x, n)
    if dtype.kind == "c":
        raise NotImplementedError(f"{kind}: expected tensors of real numbers, got {dtype}: it has no complex form here")
    narrow = dtype.kind == "f" and dtype.itemsize == 2
    work = np.float32 if narrow else dtype if dtype.kind == "f" else np.float64
    x, degree = (
        asarray_like(x, n, work) if isinstance(x, (int, float)) else x.astype(work),
        np.trunc(asarray_like(n, x)),
    )
    scale = 1.0
    if kind.startswith("shifted_"):
        kind, x, scale = kind.removeprefix("shifted_"), 2 * x - 1, 2.0**order
    slope, offset, step = _KINDS[kind]
    seen = all_samples(degree)
    known = seen[np.isfinite(seen)]
    last = int(known.max()) if known.size else 0
    if kind.startswith("hermite"):  # of greater degrees PyTorch gives NaN, too: their values have no place in the dtype
        last = min(last, 128 if work is np.float32 or work == np.float32 else 512)
    zero, one = x * 0, x * 0 + 1
    # the polynomials of degrees k - 1 and k with their first derivatives
    before, now = [one] + [zero] * order, [slope * x + offset] + [zero] * order
    if order:
        now[1] = zero + slope
    constant = 1.0 if order == 0 else 0.0  # of degree 0, also where x is not finite
    out = np.where(degree == 0, constant, np.where(degree == 1, now[order], np.where(degree < 0, 0.0, np.nan)))
    if last > _MOST_STEPS:
        raise RuntimeError(f"a polynomial of degree {last}: degrees above {_MOST_STEPS} are not computed, step by step")
    for k in range(1, last):
        a, b, c = step(k)
        factor = a * x + b
        after = [
            factor * now[d] + (d * a) * now[d - 1] - c * before[d] if d else factor * now[0] - c * before[0]
            for d in range(order + 1)
        ]
        before, now = now, after
        out = np.where(degree == k + 1, now[order], out)
    return cast(out * scale, dtype) if narrow else (out * scale).astype(work, copy=False)


op("orthogonal_polynomial", _value, kind=BROADCASTING, promote=FLOAT, public=False, method=False, inplace=False,
    complex=False, torch_name="-",
    vjp=dict(x=lambda g, x, n, kind, order: g * use("orthogonal_polynomial")(x, n, kind, order + 1), n=lambda g: nothing(g)),
    jvp=dict(x=lambda t, x, n, kind, order: t * use("orthogonal_polynomial")(x, n, kind, order + 1), n=lambda t: nothing(t)),
    samples=(ours(real(3, 4), np.array([0.0, 1.0, 4.0, 7.0]), "legendre_polynomial_p", 1),),
    doc="A derivative of an orthogonal polynomial.")  # fmt: skip


def _row(name: str, what: str, example: str) -> None:
    slope = lambda x, n: use("orthogonal_polynomial")(x, n, name, 1)
    op(f"special_{name}", lambda x, n: _value(x, n, name), kind=BROADCASTING, promote=FLOAT, namespace="special",
       complex=False, aliases={"input": "x"},
       vjp=dict(x=lambda g, x, n: g * slope(x, n), n=lambda g: nothing(g)),
       jvp=dict(x=lambda t, x, n: t * slope(x, n), n=lambda t: nothing(t)),
       samples=(ours(real(3, 4), np.array([0.0, 1.0, 2.0, 5.0])), ours(real(), np.array(3.0)), ours(real(3), 4),
           ours(exact([-1.0, 0.0, 1.0]), 6), ours(real(2), np.array([-1.0, 2.7]))),
       doc=f"""{what} of degree n, 0 for a negative one.

       >>> import dualtape as dt
       >>> dt.special.{name}(dt.tensor([0.0, 0.5, 2.0]), 2)
       {example}
       """)  # fmt: skip


_row("chebyshev_polynomial_t", "Chebyshev's polynomial of the first kind", "tensor([-1.0000, -0.5000,  7.0000])")
_row("chebyshev_polynomial_u", "Chebyshev's polynomial of the second kind", "tensor([-1.,  0., 15.])")
_row("chebyshev_polynomial_v", "Chebyshev's polynomial of the third kind", "tensor([-1., -1., 11.])")
_row("chebyshev_polynomial_w", "Chebyshev's polynomial of the fourth kind", "tensor([-1.,  1., 19.])")
_row("hermite_polynomial_h", "The physicist's Hermite polynomial", "tensor([-2., -1., 14.])")
_row("hermite_polynomial_he", "The probabilist's Hermite polynomial", "tensor([-1.0000, -0.7500,  3.0000])")
_row("laguerre_polynomial_l", "Laguerre's polynomial", "tensor([ 1.0000,  0.1250, -1.0000])")
_row("legendre_polynomial_p", "Legendre's polynomial", "tensor([-0.5000, -0.1250,  5.5000])")
for _letter, _number, _example in (
    ("t", "first", "tensor([ 1., -1., 17.])"), ("u", "second", "tensor([ 3., -1., 35.])"),
    ("v", "third", "tensor([ 5., -1., 29.])"), ("w", "fourth", "tensor([ 1., -1., 41.])"),
):  # fmt: skip
    _row(f"shifted_chebyshev_polynomial_{_letter}", f"Chebyshev's polynomial of the {_number} kind, of 2 * x - 1, ",
         _example)  # fmt: skip
