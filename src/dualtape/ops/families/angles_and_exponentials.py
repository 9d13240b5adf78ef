"""Angles and lengths of two sides, degrees; powers, and logarithms of sums of exponentials."""

from __future__ import annotations

from math import pi
from typing import Any

import numpy as np

from ... import errors
from ..._tensor.tensor import Tensor
from ...overrides.active_overrides import overridable
from ..dispatch import FUNCTIONS
from ..samples import apart, edge, exact, positive, real, sample
from ..table import BROADCASTING, COMMON, ELEMENTWISE, FLOAT, LINEAR, composite, op
from .elementwise import PLAIN
from .representation import floats, real_only

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


def _angle(name: str, forward: Any, factor: float, node: str, what: str, example: str) -> None:
    op(name, real_only(name, forward), kind=ELEMENTWISE, promote=FLOAT, complex=False, jvp=LINEAR, samples=PLAIN,
       vjp=dict(x=lambda g: g * factor), node=node,
       doc=f"""Angles in {what}.

   >>> import dualtape as dt
   >>> dt.{name}({example}
   """)  # fmt: skip


_angle("deg2rad", np.deg2rad, pi / 180, "Deg2RadBackward0", "degrees, in radians",
       "dt.tensor([180.0, 90.0]))\n   tensor([3.1416, 1.5708])")  # fmt: skip
_angle("rad2deg", np.rad2deg, 180 / pi, "Rad2DegBackward0", "radians, in degrees",
       "dt.tensor([0.0, 1.0]))\n   tensor([ 0.0000, 57.2958])")  # fmt: skip


@composite("float_power", samples=(
    sample(positive(3, 4), real(4)), sample(real(3), 2), sample(2.0, real(3)), sample(positive(), real()),
    edge(exact([0.0, 1.0]), 0),
))  # fmt: skip
def float_power(input: Any, exponent: Any, *, out: Any = None) -> Any:
    """Each element to a power, in double precision whatever was given.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.float_power(dt.tensor([2, 3]), 2)
    tensor([4., 9.], dtype=dualtape.float64)
    """
    if not isinstance(input, Tensor) and not isinstance(exponent, Tensor):
        raise errors.not_a_tensor("float_power", "input", input)
    dtype = np.complex128 if _is_complex(input) or _is_complex(exponent) else np.float64
    base, power = (v.to(dtype) if isinstance(v, Tensor) else v for v in (input, exponent))
    return FUNCTIONS["pow"](base, power, out=out)


def _is_complex(value: Any) -> bool:
    return value.is_complex() if isinstance(value, Tensor) else isinstance(value, complex)


def _float_power_(self: Any, exponent: Any) -> Any:
    """In-place form of :func:`float_power`, for tensors of double precision.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.tensor([2.0, 3.0], dtype=dt.float64).float_power_(2)
    tensor([4., 9.], dtype=dualtape.float64)
    """
    dtype = np.complex128 if _is_complex(self) or _is_complex(exponent) else np.float64
    if self._array.dtype != dtype:
        raise RuntimeError(
            f"float_power_: the base has dtype {self.dtype!r} but the result requires dtype {np.dtype(dtype).name}"
        )
    return self.pow_(exponent.to(dtype) if isinstance(exponent, Tensor) else exponent)


_float_power_.__name__ = _float_power_.__qualname__ = "float_power_"
Tensor.float_power_ = overridable(_float_power_)  # type: ignore[method-assign]


def _weight2(x: Any, y: Any) -> Any:
    """Return 2**x / (2**x + 2**y), correct at infinities."""
    return 1 / (1 + np.exp2(np.where(x == y, 0, y - x)))


op("logaddexp2", lambda x, y: np.logaddexp2(*floats("logaddexp2", x, y)), kind=BROADCASTING, promote=COMMON,
   inplace=False, scalars=False, complex=False,
   vjp=dict(x=lambda g, x, y: g * _weight2(x, y), y=lambda g, x, y: g * _weight2(y, x)),
   jvp=dict(x=lambda t, x, y: t * _weight2(x, y), y=lambda t, x, y: t * _weight2(y, x)),
   samples=(sample(real(3, 4), real(4)), sample(real(), real())),
   doc="""log2(2**x + 2**y), without overflow.

   >>> import dualtape as dt
   >>> dt.logaddexp2(dt.tensor([3.0]), dt.tensor([3.0]))
   tensor([4.])
   """)  # fmt: skip
