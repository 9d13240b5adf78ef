"""Questions about tensors as functions: ``is_floating_point(x)``, ``numel(x)``, ``result_type(x, y)``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import errors
from ..arrays import is_array
from . import dtypes
from .size import Size
from .tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .._typing import Number

__all__ = [
    "broadcast_shapes",
    "detach",
    "detach_",
    "detach_copy",
    "is_complex",
    "is_conj",
    "is_floating_point",
    "is_inference",
    "is_neg",
    "is_nonzero",
    "is_same_size",
    "is_signed",
    "is_tensor",
    "numel",
    "result_type",
]


def _array(input: Tensor, name: str) -> Any:
    if not isinstance(input, Tensor):
        raise errors.not_a_tensor(name, "input", input)
    return input._array


def is_tensor(obj: object) -> bool:
    """Whether ``obj`` is a Tensor.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.is_tensor(dt.ones(1)), dt.is_tensor(np.ones(1))
    (True, False)
    """
    return isinstance(obj, Tensor)


def detach(input: Tensor) -> Tensor:
    """The same memory without history.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.detach(dt.ones(1, requires_grad=True)).requires_grad
    False
    """
    _array(input, "detach")
    return input.detach()


def detach_(input: Tensor) -> Tensor:
    """Remove a tensor's history.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.detach_(dt.ones(1, requires_grad=True) * 2).requires_grad
    False
    """
    _array(input, "detach_")
    return input.detach_()


def detach_copy(input: Tensor) -> Tensor:
    """A copy without history.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.detach_copy(dt.ones(1, requires_grad=True)).requires_grad
    False
    """
    _array(input, "detach_copy")
    return input.detach().clone()


def is_floating_point(input: Tensor) -> bool:
    """Whether the elements are real floating-point numbers.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.is_floating_point(dt.ones(1)), dt.is_floating_point(dt.tensor(1))
    (True, False)
    """
    return _array(input, "is_floating_point").dtype.kind == "f"


def is_complex(input: Tensor) -> bool:
    """Whether the elements are complex numbers.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.is_complex(dt.tensor(1j))
    True
    """
    return _array(input, "is_complex").dtype.kind == "c"


def is_signed(input: Tensor) -> bool:
    """Whether the dtype has negative numbers.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.is_signed(dt.tensor(1)), dt.is_signed(dt.tensor(True))
    (True, False)
    """
    return _array(input, "is_signed").dtype.kind in "ifc"


def is_nonzero(input: Tensor) -> bool:
    """Whether a tensor of one element is not zero.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.is_nonzero(dt.tensor([2.0]))
    True
    """
    _array(input, "is_nonzero")
    return bool(input)


def is_same_size(input: Tensor, other: Tensor) -> bool:
    """Whether two tensors have the same shape.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.is_same_size(dt.ones(2), dt.ones(2, 1))
    False
    """
    return _array(input, "is_same_size").shape == _array(other, "is_same_size").shape


def is_inference(input: Tensor) -> bool:
    """Whether a tensor was made in inference mode.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.is_inference(dt.ones(1))
    False
    """
    _array(input, "is_inference")
    return input.is_inference()


def is_conj(input: Tensor) -> bool:
    """False: conjugation is never pending here, it is carried out at once.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.is_conj(dt.tensor([1j]).conj())
    False
    """
    _array(input, "is_conj")
    return False


def is_neg(input: Tensor) -> bool:
    """False: negation is never pending here, it is carried out at once.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.is_neg(-dt.ones(1))
    False
    """
    _array(input, "is_neg")
    return False


def numel(input: Tensor) -> int:
    """The number of elements.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.numel(dt.ones(2, 3))
    6
    """
    return _array(input, "numel").size


def broadcast_shapes(*shapes: int | Sequence[int]) -> Size:
    """The common shape to which tensors of these shapes broadcast; an integer stands for a shape of one dimension.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.broadcast_shapes((2, 1), (3,))
    dualtape.Size([2, 3])
    """
    sizes = [(shape,) if isinstance(shape, int) else tuple(shape) for shape in shapes]
    if any(n < 0 for shape in sizes for n in shape):
        raise ValueError("broadcast_shapes: a dimension has negative length")
    try:
        return Size(np.broadcast_shapes(*sizes))
    except ValueError as error:
        raise RuntimeError(f"broadcast_shapes: {error}") from None


def result_type(tensor1: Tensor | Number, tensor2: Tensor | Number) -> dtypes.dtype:
    """The dtype that arithmetic on two tensors or numbers gives.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.result_type(dt.tensor([1, 2]), 1.5), dt.result_type(dt.ones(2), dt.tensor(1.0, dtype=dt.float64))
    (dualtape.float32, dualtape.float32)
    """
    operands = [t._array if isinstance(t, Tensor) else t for t in (tensor1, tensor2)]
    for operand in operands:
        if not isinstance(operand, (bool, int, float, complex)) and not is_array(operand):
            raise TypeError(f"result_type() takes tensors and numbers, got {type(operand).__name__}")
    return dtypes.of(dtypes.result_dtype(operands))


def _get_device(self: Tensor) -> int:
    """The number of the GPU the tensor is on, -1 for the CPU.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.ones(1).get_device()
    -1
    """
    return -1 if isinstance(self._array, np.ndarray) else self._array.device.id


def _never(self: Tensor) -> bool:
    """Return False: tensors of this library have no such memory.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.ones(1).is_shared(), dt.ones(1).is_pinned()
    (False, False)
    """
    return False


for _name, _method in (
    ("is_nonzero", is_nonzero),
    ("is_same_size", is_same_size),
    ("is_conj", is_conj),
    ("is_neg", is_neg),
    ("get_device", _get_device),
    ("is_shared", _never),
    ("is_pinned", _never),
):
    setattr(Tensor, _name, _method)
