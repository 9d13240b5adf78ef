"""The representation and order of numbers: mantissas, signs, neighbours, divisors, extremes that ignore NaN, tests.

Those for integers only, or with truth values as results, have no derivative.
"""

from __future__ import annotations

from math import log
from typing import Any

import numpy as np

from ... import errors
from ..._tensor.tensor import Tensor, new_tensor
from ...arrays.kernels.basics import asarray_like, on_host
from ..formulas import in_dtype_of, use
from ..samples import apart, edge, exact, exact_index, ints, ours, positive, real, sample
from ..table import BROADCASTING, COMMON, ELEMENTWISE, FLOAT, GENERAL, composite, op
from .arithmetic import tensor_divisor
from .elementwise import STILL, direction, sign_of

# --- extremes and signs ---------------------------------------------------------------------------


def _finite_extreme(name: str, forward: Any, wins: Any, what: str) -> None:
    """Declare the larger or smaller of two elements, where NaN counts as missing; at ties the first gets the
    gradient.
    """

    def first(x: Any, y: Any) -> Any:
        return np.logical_or(wins(x, y), np.isnan(y))

    op(name, forward, kind=BROADCASTING, promote=COMMON, inplace=False, complex=False,
       vjp=dict(x=lambda g, x, y: np.where(first(x, y), g, 0), y=lambda g, x, y: np.where(first(x, y), 0, g)),
       jvp=dict(x=lambda t, x, y: np.where(first(x, y), t, 0), y=lambda t, x, y: np.where(first(x, y), 0, t)),
       samples=(sample(apart(3, 4), real(4)), edge(exact([1.0, 2.0, 3.0]), exact([1.0, 3.0, 2.0])),
                edge(exact([np.nan, 1.0, np.inf]), exact([1.0, np.nan, np.inf]))),
       doc=f"""The {what} of each pair, the other one if one is NaN.

   >>> import dualtape as dt
   >>> dt.{name}(dt.tensor([float("nan")]), dt.tensor([3.0]))
   tensor([3.])
   """)  # fmt: skip


_finite_extreme("fmax", np.fmax, lambda x, y: x >= y, "larger")
_finite_extreme("fmin", np.fmin, lambda x, y: x <= y, "smaller")


def _turned(g: Any, x: Any, out: Any) -> Any:
    """Return the gradient with the sign that the value was given; zero at zero."""
    return np.where(x == 0, 0, g * np.sign(x) * np.sign(out))


op("copysign", np.copysign, kind=BROADCASTING, promote=FLOAT, complex=False,
   node=("CopysignBackward1", "CopysignBackward0"), variant=tensor_divisor, vjp=dict(x=_turned, y=lambda g: g * 0),
   jvp=dict(x=lambda t, x, out: _turned(t, x, out), y=lambda t: t * 0),
   samples=(sample(apart(3, 4), apart(4)), sample(apart(3), -1.0),
       edge(exact([0.0, -0.0, 1.0]), exact([1.0, -1.0, -0.0]))),
   doc="""The size of x with the sign of y.

   >>> import dualtape as dt
   >>> dt.copysign(dt.tensor([1.0, -2.0]), dt.tensor([-0.0, 3.0]))
   tensor([-1.,  2.])
   """)  # fmt: skip


def floats(name: str, *arrays: Any) -> tuple:
    """Return ``arrays``; raise if they are integers."""
    if arrays[0].dtype.kind in "biu":
        raise NotImplementedError(
            f"{name} is not implemented for {arrays[0].dtype}: convert the tensors with .to(...) first"
        )
    return arrays


# --- parts ----------------------------------------------------------------------------------------


def _frexp(x: Any) -> Any:
    if x.dtype.kind != "f":
        raise RuntimeError(f"frexp() only supports floating-point dtypes, got {x.dtype}: convert it with .to(...)")
    return np.frexp(x)


op("frexp", _frexp, kind=GENERAL, outputs=("mantissa", "exponent"), complex=False,
   vjp=dict(x=lambda g_mantissa, exponent: use("ldexp")(g_mantissa, in_dtype_of(-exponent, g_mantissa))),
   samples=(sample(apart(3, 4)), sample(positive()), sample(real(0, 3)),
            edge(exact([0.0, -0.0, 1.0, -3.5, np.inf, np.nan]))),
   doc="""Mantissas, between 0.5 and 1 in size, and exponents: ``x = mantissa * 2 ** exponent``.

   >>> import dualtape as dt
   >>> dt.frexp(dt.tensor([6.0]))
   dualtape.return_types.frexp(
   mantissa=tensor([0.7500]),
   exponent=tensor([3], dtype=dualtape.int32))
   """)  # fmt: skip


def _ldexp(x: Any, y: Any) -> Any:
    """Return x * 2**y, in two steps: 2**y alone may overflow where the product does not."""
    if x.dtype.kind == "c":
        return x * np.power(2.0, y)
    steps = np.where(np.isfinite(y), np.floor(np.minimum(np.maximum(y, -5000), 5000)), 0)
    return np.ldexp(x * np.exp2(y - steps), steps.astype(np.int32))


op("ldexp", _ldexp, kind=BROADCASTING, promote=FLOAT, scalars=False,
   vjp=dict(x=lambda g, y: use("ldexp")(g, in_dtype_of(y, g).conj()), y=lambda g, out: g * (out * log(2.0)).conj()),
   jvp=dict(x=lambda t, y: use("ldexp")(t, in_dtype_of(y, t)), y=lambda t, out: t * (out * log(2.0))),
   samples=(sample(real(3, 4), real(4)), sample(real(3), exact_index([1, 2, 0])), ours(real(3), exact_index([-1, -2, -3])), sample(real(), real()),
            edge(exact([0.0, 1.0, np.inf, 2.0]), exact([np.inf, -np.inf, 1.0, np.nan]))),
   doc="""x times 2 to the power of y.

   >>> import dualtape as dt
   >>> dt.ldexp(dt.tensor([1.0, 3.0]), dt.tensor([4, -1]))
   tensor([16.0000,  1.5000])
   """)  # fmt: skip


# --- signs and neighbours -------------------------------------------------------------------------


def _sgn(x: Any) -> Any:
    return direction(x) if x.dtype.kind == "c" else sign_of(x)


def _sgn_change(t: Any, x: Any, out: Any) -> Any:
    """Return the change of x / |x|: the component of ``t`` across x, divided by |x|."""
    if x.dtype.kind != "c":
        return STILL["jvp"]["x"](t)
    size = np.absolute(x)
    return np.where(size == 0, 0, (t - np.real(t * out.conj()) * out) / np.where(size == 0, 1, size))


op("sgn", _sgn, kind=ELEMENTWISE, vjp=dict(x=lambda g, x, out: _sgn_change(g, x, out)),
   jvp=dict(x=lambda t, x, out: _sgn_change(t, x, out)),
   samples=(sample(apart(3, 4)), sample(apart()), edge(exact([0.0, -0.0, np.nan, -np.inf]))),
   doc="""The sign of each element; of a complex one, its direction: itself divided by its size.

   >>> import dualtape as dt
   >>> dt.sgn(dt.tensor([3 + 4j, 0j]))
   tensor([0.6000+0.8000j, 0.0000+0.0000j])
   """)  # fmt: skip
op("nextafter", lambda x, y: np.nextafter(*floats("nextafter", x, y)), kind=BROADCASTING, promote=COMMON, scalars=False,
   complex=False,
   vjp=dict(x=lambda g, x, y: np.where(x == y, 0, g), y=lambda g: np.zeros_like(g)),
   jvp=dict(x=lambda t, x, y: np.where(x == y, 0, t), y=lambda t, out: np.zeros_like(out)),
   samples=(edge(exact([1.0, 0.0, np.nan, np.inf]), exact([1.0, -1.0, 1.0, 0.0])), edge(real(3, 4), real(4))),
   doc="""The floating-point number after x, towards y.

   >>> import dualtape as dt
   >>> dt.nextafter(dt.tensor([1.0]), dt.tensor([2.0])) - 1
   tensor([1.1921e-07])
   """)  # fmt: skip


def _heaviside(x: Any, values: Any) -> Any:
    if x.dtype.kind == "c" or x.dtype != values.dtype:
        raise RuntimeError(f"heaviside: two real tensors of one dtype are needed, got {x.dtype} and {values.dtype}")
    return np.where(x == 0, values, sign_of(x if x.dtype.kind == "b" else np.maximum(x, 0)))


op("heaviside", _heaviside, kind=BROADCASTING, scalars=False, complex=False,
   vjp=dict(x=lambda g: STILL["vjp"]["x"](g), values=lambda g, x: np.where(x == 0, g, 0)),
   jvp=dict(x=lambda t, out: np.zeros_like(out), values=lambda t, x: np.where(x == 0, t, 0)),
   samples=(sample(apart(3, 4), real(4)), edge(exact([-1.0, 0.0, 2.0, np.nan, -0.0]), exact([0.5]))),
   doc="""0 below zero, 1 above, and ``values`` at zero.

   >>> import dualtape as dt
   >>> dt.heaviside(dt.tensor([-1.5, 0.0, 2.0]), dt.tensor([0.5]))
   tensor([0.0000, 0.5000, 1.0000])
   """)  # fmt: skip


# --- divisors -------------------------------------------------------------------------------------


def _whole(name: str, forward: Any, what: str, example: int) -> None:
    def of_integers(x: Any, y: Any) -> Any:
        if x.dtype.kind not in "iu":
            raise NotImplementedError(f"{name} is not implemented for {x.dtype}: it is for integers")
        return forward(x, y)

    op(name, of_integers, kind=BROADCASTING, promote=COMMON, scalars=False, constants=("x", "y"), inplace=True,
       complex=False, samples=(edge(ints(3, 4, low=-9, high=9), ints(4, high=9)), edge(ints(high=9), ints(2, high=9))),
       doc=f"""The {what} of each pair of integers, never negative.

   >>> import dualtape as dt
   >>> dt.{name}(dt.tensor([4]), dt.tensor([-6]))
   tensor([{example}])
   """)  # fmt: skip


_whole("gcd", np.gcd, "greatest common divisor", 2)
_whole("lcm", np.lcm, "least common multiple", 12)


def real_only(name: str, forward: Any) -> Any:
    def checked(x: Any) -> Any:
        if x.dtype.kind == "c":
            raise RuntimeError(f"{name} is not supported for complex tensors: take .real first")
        return forward(x)

    return checked


# --- tests ----------------------------------------------------------------------------------------


def _test(name: str, forward: Any, what: str, complex: bool = False) -> None:
    op(name, forward, kind=ELEMENTWISE, inplace=False, complex=complex,
       samples=(edge(exact([0.0, np.nan, np.inf, -np.inf])), edge(real(3, 4)), edge(ints(3))),
       doc=f"""Where an element is {what}.

   >>> import dualtape as dt
   >>> dt.{name}(dt.tensor([1.0])).dtype
   dualtape.bool
   """)  # fmt: skip


_test("isposinf", real_only("isposinf", lambda x: np.equal(x, np.inf)), "infinite and positive")
_test("isneginf", real_only("isneginf", lambda x: np.equal(x, -np.inf)), "infinite and negative")
_test("isreal", lambda x: np.equal(np.imag(x), 0), "a real number", complex=True)


@composite("isin", method=False, complex=False, samples=(
    edge(exact([1.0, 2.0, np.nan]), exact([[2.0, 5.0], [np.nan, 1.5]])), edge(ints(3, 4, high=5), ints(2, high=5)),
    edge(exact([1.0, 2.0]), 2), edge(2, exact([1.0, 2.0])), edge(exact([1.0, 2.0]), exact([2.0]), invert=True),
))  # fmt: skip
def isin(
    elements: Any = None, test_elements: Any = None, *, assume_unique: bool = False, invert: bool = False,
    element: Any = None, test_element: Any = None,
) -> Any:  # fmt: skip
    """Where an element is one of ``test_elements``; with ``invert``, where it is none of them.

    ``assume_unique`` is a promise that nothing is there twice; the answer does not depend on it.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.isin(dt.tensor([1, 2, 3]), dt.tensor([2, 3]))
    tensor([False,  True,  True])
    """
    elements = element if elements is None else elements
    test_elements = test_element if test_elements is None else test_elements
    given = [v._array if isinstance(v, Tensor) else v for v in (elements, test_elements)]
    if not isinstance(elements, Tensor) and not isinstance(test_elements, Tensor):
        raise errors.not_a_tensor("isin", "elements", elements)
    if any(np.result_type(v).kind not in "iuf" for v in given):
        raise RuntimeError("isin: unsupported input type: it is for integers and real numbers")
    like = elements if isinstance(elements, Tensor) else test_elements
    dtype = like._array.dtype if like._array.dtype.kind == "f" else None  # in which a number is compared
    arrays = [v if hasattr(v, "dtype") else asarray_like(v, like._array, dtype) for v in given]
    return new_tensor(on_host(lambda some, those: np.asarray(np.isin(some, those, invert=invert)), *arrays))
