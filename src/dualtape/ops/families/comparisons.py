"""Comparisons, logic on truth values and on bits, tests of numbers, equality of tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._tensor.tensor import new_tensor
from ...arrays import as_array
from ..dispatch import FUNCTIONS
from ..samples import edge, exact, ints, mask, real
from ..table import BROADCASTING, COMMON, ELEMENTWISE, UFUNCS, composite, op
from .arithmetic import refuse_bools

# --- comparison and logic -------------------------------------------------------------------------

_COMPARED = (
    edge(exact([1.0, 2.0, 3.0]), exact([1.0, 3.0, 2.0])), edge(real(3, 4), real(4)), edge(exact([1.0, np.nan]), 1.0),
    edge(real(0), 1.0),
)  # fmt: skip


def _comparison(name: str, forward: Any, symbol: str, also: tuple = (), complex: bool = False) -> None:
    op(name, forward, kind=BROADCASTING, promote=COMMON, samples=_COMPARED, also=also, inplace=False, complex=complex,
       doc=f"""Where x {symbol} y, as booleans.

   >>> import dualtape as dt
   >>> dt.{name}(dt.tensor([1.0, 2.0]), 2).dtype
   dualtape.bool
   """)  # fmt: skip


_comparison("eq", np.equal, "==", complex=True)
_comparison("ne", np.not_equal, "!=", ("not_equal",), complex=True)
_comparison("lt", np.less, "<", ("less",))
_comparison("le", np.less_equal, "<=", ("less_equal",))
_comparison("gt", np.greater, ">", ("greater",))
_comparison("ge", np.greater_equal, ">=", ("greater_equal",))

_BITS = (edge(ints(3, 4, high=8), ints(4, high=8)), edge(mask(3), mask(3)))


def _bitwise(name: str, forward: Any, what: str, samples: Any = _BITS) -> None:
    op(name, forward, kind=BROADCASTING, promote=COMMON, samples=samples, complex=False, inplace=True,
        constants=("x", "y"),
       doc=f"""{what} of integers, or of booleans.

   >>> import dualtape as dt
   >>> dt.{name}(dt.tensor([6]), dt.tensor([3])).shape
   dualtape.Size([1])
   """)  # fmt: skip


_bitwise("bitwise_and", np.bitwise_and, "The bitwise and")
_bitwise("bitwise_or", np.bitwise_or, "The bitwise or")
_bitwise("bitwise_xor", np.bitwise_xor, "The bitwise exclusive or")


def _left_shift(x: Any, y: Any) -> Any:
    refuse_bools("bitwise_left_shift", x)
    return np.left_shift(x, y)


def _right_shift(x: Any, y: Any) -> Any:
    refuse_bools("bitwise_right_shift", x)
    return np.right_shift(x, y)


_bitwise("bitwise_left_shift", _left_shift, "The left shift", _BITS[:1])
_bitwise("bitwise_right_shift", _right_shift, "The right shift", _BITS[:1])
UFUNCS[np.left_shift] = FUNCTIONS["bitwise_left_shift"]
UFUNCS[np.right_shift] = FUNCTIONS["bitwise_right_shift"]
op("bitwise_not", np.invert, kind=ELEMENTWISE, samples=(edge(ints(3, high=8)), edge(mask(3))), complex=False,
    inplace=True,
   doc="""The bitwise complement of integers, or of booleans.

   >>> import dualtape as dt
   >>> ~dt.tensor([True, False])
   tensor([False,  True])
   """)  # fmt: skip


def _logical(name: str, forward: Any, what: str) -> None:
    op(name, forward, kind=BROADCASTING, samples=(edge(mask(3), mask(3)), edge(real(3), mask(3))), inplace=False,
        constants=("x", "y"),
       doc=f"""{what} of the elements' truth.

   >>> import dualtape as dt
   >>> dt.{name}(dt.tensor([1.0]), dt.tensor([0.0])).dtype
   dualtape.bool
   """)  # fmt: skip


_logical("logical_and", np.logical_and, "The conjunction")
_logical("logical_or", np.logical_or, "The disjunction")
_logical("logical_xor", np.logical_xor, "The exclusive disjunction")
op("logical_not", np.logical_not, kind=ELEMENTWISE, samples=(edge(mask(3)), edge(exact([0.0, 2.0]))), inplace=False,
   doc="""The negation of the elements' truth.

   >>> import dualtape as dt
   >>> dt.logical_not(dt.tensor([0.0, 2.0]))
   tensor([ True, False])
   """)  # fmt: skip


def _test(name: str, forward: Any, what: str) -> None:
    op(name, forward, kind=ELEMENTWISE, samples=(edge(exact([0.0, np.nan, np.inf, -np.inf])), edge(real(3, 4))),
        inplace=False,
       doc=f"""Where an element is {what}.

   >>> import dualtape as dt
   >>> dt.{name}(dt.tensor([1.0])).dtype
   dualtape.bool
   """)  # fmt: skip


_test("isnan", np.isnan, "not a number")
_test("isinf", np.isinf, "infinite")
_test("isfinite", np.isfinite, "finite")
op("signbit", np.signbit, kind=ELEMENTWISE, samples=(edge(exact([0.0, -0.0, -1.0])),), inplace=False, complex=False,
   doc="""Where the sign bit is set, that of -0 included.

   >>> import dualtape as dt
   >>> dt.signbit(dt.tensor([-0.0, 1.0]))
   tensor([ True, False])
   """)  # fmt: skip


@composite("isclose", samples=(edge(exact([1.0, 2.0, np.nan]), exact([1.0 + 1e-7, 2.1, np.nan])),))
def isclose(input: Any, other: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Any:
    """Where ``|input - other| <= atol + rtol * |other|``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.isclose(dt.tensor([1.0]), dt.tensor([1.0 + 1e-7]))
    tensor([True])
    """
    return new_tensor(as_array(np.isclose(input._array, other._array, float(rtol), float(atol), equal_nan)))


@composite("allclose", samples=(edge(exact([1.0, 2.0]), exact([1.0 + 1e-7, 2.0])),))
def allclose(input: Any, other: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> bool:
    """Whether all elements are close.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.allclose(dt.tensor([1.0]), dt.tensor([1.0 + 1e-7]))
    True
    """
    return bool(isclose(input, other, rtol, atol, equal_nan).all())


@composite("equal", samples=(edge(exact([1.0, 2.0]), exact([1.0, 2.0])),))
def equal(input: Any, other: Any) -> bool:
    """Whether two tensors have the same shape and values.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.equal(dt.ones(2), dt.ones(2))
    True
    """
    return input.shape == other.shape and bool((input._array == other._array).all())
