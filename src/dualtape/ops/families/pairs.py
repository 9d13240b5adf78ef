"""Elementwise functions of two or more tensors, broadcast together: angles, lengths, interpolation, extremes that
ignore NaN.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...arrays.kernels.numbers import number_array
from ..dispatch import FUNCTIONS
from ..formulas import times
from ..samples import apart, edge, exact, positive, real, sample
from ..table import BROADCASTING, COMMON, FLOAT, UFUNCS, op
from .arithmetic import tensor_divisor

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

# --- angles and logarithms of two -----------------------------------------------------------------

op("atan2", np.arctan2, kind=BROADCASTING, promote=FLOAT, also=("arctan2",), complex=False,
   vjp=dict(x=lambda g, x, y: g * _over(y, x * x + y * y), y=lambda g, x, y: -g * _over(x, x * x + y * y)),
   jvp=dict(x=lambda t, x, y: t * _over(y, x * x + y * y), y=lambda t, x, y: -t * _over(x, x * x + y * y)),
   samples=(sample(apart(3, 4), positive(4)), sample(apart(), apart()),
       edge(exact([0.0, 0.0, 1.0]), exact([0.0, -1.0, 0.0]))),
   doc="""The angle of the point (y, x) as seen from the origin.

   >>> import dualtape as dt
   >>> dt.atan2(dt.tensor([1.0, 0.0]), dt.tensor([0.0, -1.0]))
   tensor([1.5708, 3.1416])
   """)  # fmt: skip


def _over(a: Any, b: Any) -> Any:
    """Return a / b, and 0 where b is 0: the derivative of the angle at the origin is taken as zero."""
    return a / np.where(b == 0, 1, b) * (b != 0)


def floats(name: str, *arrays: Any) -> tuple:
    """Return ``arrays``; raise if they are integers."""
    if arrays[0].dtype.kind in "biu":
        raise NotImplementedError(
            f"{name} is not implemented for {arrays[0].dtype}: convert the tensors with .to(...) first"
        )
    return arrays


op("hypot", lambda x, y: np.hypot(*floats("hypot", x, y)), kind=BROADCASTING, promote=COMMON, complex=False,
   vjp=dict(x=lambda g, x, out: g * (x / out), y=lambda g, y, out: g * (y / out)),
   jvp=dict(x=lambda t, x, out: t * (x / out), y=lambda t, y, out: t * (y / out)),
   samples=(sample(real(3, 4), real(4)), sample(real(), real())),
   doc="""The length of the hypotenuse, sqrt(x*x + y*y), without overflow.

   >>> import dualtape as dt
   >>> dt.hypot(dt.tensor([3.0]), dt.tensor([4.0]))
   tensor([5.])
   """)  # fmt: skip


def _weight(x: Any, y: Any) -> Any:
    """Return exp(x - logaddexp(x, y)), correct at infinities."""
    return 1 / (1 + np.exp(np.where(x == y, 0, y - x)))


def _logaddexp(x: Any, y: Any) -> Any:
    floats("logaddexp", x, y)
    if x.dtype.kind != "c":
        return np.logaddexp(x, y)
    larger = np.real(x) >= np.real(y)
    first, second = np.where(larger, x, y), np.where(larger, y, x)
    return first + np.log1p(np.exp(np.where(first == second, 0, second - first)))


op("logaddexp", _logaddexp, kind=BROADCASTING, promote=COMMON, inplace=False, numpy_forward=np.logaddexp,
   vjp=dict(x=lambda g, x, y: g * _weight(x, y).conjugate(), y=lambda g, x, y: g * _weight(y, x).conjugate()),
   jvp=dict(x=lambda t, x, y: t * _weight(x, y), y=lambda t, x, y: t * _weight(y, x)),
   samples=(sample(real(3, 4), real(4)), sample(real(), real())),
   doc="""log(exp(x) + exp(y)), without overflow.

   >>> import dualtape as dt
   >>> dt.logaddexp(dt.tensor([0.0]), dt.tensor([0.0]))
   tensor([0.6931])
   """)  # fmt: skip


def _lerp(x: Any, end: Any, weight: Any) -> Any:
    floats("lerp", x)
    for name, value in (("end", end), ("weight", weight)):
        if hasattr(value, "dtype") and value.dtype != x.dtype and (value.ndim or name == "end"):
            raise RuntimeError(f"lerp: expected dtype {x.dtype} for `{name}` but got dtype {value.dtype}")
    return x + (weight.astype(x.dtype) if hasattr(weight, "astype") else weight) * (end - x)


op("lerp", _lerp, kind=BROADCASTING,
    node=("LerpBackward0", "LerpBackward1"),
   variant=lambda x, end, weight: int(hasattr(weight, "dtype")),
   vjp=dict(x=lambda g, weight: g * np.conj(1 - weight), end=lambda g, weight: g * np.conj(weight),
            weight=lambda g, x, end: g * (end - x).conjugate()),
   jvp=dict(x=lambda t, weight: t * (1 - weight), end=lambda t, weight: t * weight, weight=lambda t, x,
       end: t * (end - x)),
   samples=(sample(real(3, 4), real(4), 0.3), sample(real(3), real(3), real(3))),
   doc="""x + weight * (end - x).

   >>> import dualtape as dt
   >>> dt.lerp(dt.tensor([0.0]), dt.tensor([10.0]), 0.3)
   tensor([3.])
   """)  # fmt: skip


def _scaled(combine: np.ufunc) -> Any:
    """Return a number times a tensor, times or divided by another: the same operations in the same order as in the
    forward, so the same bits, with the number as an array, which ufuncs take in half the time.
    """

    def change(x: np.ndarray, tensor1: np.ndarray, tensor2: np.ndarray, value: float) -> np.ndarray:
        found = np.multiply(number_array(value, x.dtype), tensor1)
        return combine(found, tensor2, found)

    return change


op("addcmul", lambda x, tensor1, tensor2, value=1: x + times(value, tensor1) * tensor2, kind=BROADCASTING, keywords=("value",), promote=COMMON,
   numpy_change=_scaled(np.multiply),
   vjp=dict(x=lambda g: g, tensor1=lambda g, tensor2, value: g * np.conj(value) * tensor2.conjugate(),
            tensor2=lambda g, tensor1, value: g * np.conj(value) * tensor1.conjugate()),
   jvp=dict(x=lambda t: t, tensor1=lambda t, tensor2, value: t * value * tensor2, tensor2=lambda t, tensor1,
       value: t * value * tensor1),
   samples=(sample(real(3, 4), real(4), real(3, 1), value=0.5), sample(real(3), real(3), real(3))),
   doc="""x + value * tensor1 * tensor2.

   >>> import dualtape as dt
   >>> dt.addcmul(dt.tensor([1.0]), dt.tensor([2.0]), dt.tensor([3.0]), value=10)
   tensor([61.])
   """)  # fmt: skip


def _addcdiv(x: Any, tensor1: Any, tensor2: Any, value: Any = 1) -> Any:
    if tensor1.dtype.kind in "biu" and tensor2.dtype.kind in "biu":
        raise RuntimeError("addcdiv: integer division with addcdiv is not supported: convert the tensors with .to(...)")
    return x + value * tensor1 / tensor2


op("addcdiv", _addcdiv, kind=BROADCASTING, keywords=("value",), promote=COMMON,
   numpy_change=_scaled(np.true_divide),
   vjp=dict(x=lambda g: g, tensor1=lambda g, tensor2, value: g * (value / tensor2).conjugate(),
            tensor2=lambda g, tensor1, tensor2, value: -g * (value * tensor1 / (tensor2 * tensor2)).conjugate()),
   jvp=dict(x=lambda t: t, tensor1=lambda t, tensor2, value: t * value / tensor2,
            tensor2=lambda t, tensor1, tensor2, value: -t * (value * tensor1 / (tensor2 * tensor2))),
   samples=(sample(real(3, 4), real(4), positive(3, 1), value=0.5), sample(real(3), real(3), positive(3))),
   doc="""x + value * tensor1 / tensor2.

   >>> import dualtape as dt
   >>> dt.addcdiv(dt.tensor([1.0]), dt.tensor([6.0]), dt.tensor([3.0]), value=10)
   tensor([21.])
   """)  # fmt: skip
UFUNCS.update({np.hypot: FUNCTIONS["hypot"], np.logaddexp: FUNCTIONS["logaddexp"]})
