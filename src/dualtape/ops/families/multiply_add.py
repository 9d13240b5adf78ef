"""A product or quotient added to a tensor in one op, and interpolation."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...arrays.kernels.numbers import number_array
from ..dispatch import FUNCTIONS
from ..formulas import times
from ..samples import positive, real, sample
from ..table import BROADCASTING, COMMON, UFUNCS, op
from .representation import floats


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
