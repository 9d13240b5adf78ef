"""The memory of a tensor: shape, type and layout of its array."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import modes
from ..arrays import Absent
from ..arrays.kernels.basics import all_samples
from . import dtypes
from .device import CPU, channels_last, channels_last_3d, strided
from .device import of as device_of
from .size import Size

_tuple = tuple.__new__
_known = dtypes._BY_NUMPY.get

if TYPE_CHECKING:
    from .._typing import Array, MemoryFormat
    from .methods import Methods  # written by python -m tools.stubs
    from .tensor import Tensor
else:
    Methods = object


class Memory(Methods):
    """The properties of a tensor's array: a base of Tensor."""

    __slots__ = ()

    if TYPE_CHECKING:
        _array: Any
        _view: Any

    @property
    def shape(self) -> Size:
        """The sizes of the dimensions."""
        return _tuple(Size, self._array.shape)

    @property
    def dtype(self) -> dtypes.dtype:
        """The element type."""
        return _known(self._array.dtype) or dtypes.of(self._array.dtype)

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return self._array.ndim

    @property
    def itemsize(self) -> int:
        return self._array.itemsize

    @property
    def nbytes(self) -> int:
        return self._array.nbytes

    @property
    def device(self) -> Any:
        """Where the memory is."""
        return CPU if type(self._array) is np.ndarray else device_of(self._array)

    @property
    def layout(self) -> Any:
        return strided

    @property
    def is_cuda(self) -> bool:
        return type(self._array) is not np.ndarray and self.device.type == "cuda"

    @property
    def is_sparse(self) -> bool:
        return False

    @property
    def is_cpu(self) -> bool:
        return type(self._array) is np.ndarray or self.device.type == "cpu"

    def size(self, dim: int | None = None) -> Any:
        """The shape, or one dimension's size.

        Examples
        --------
        >>> import dualtape as dt
        >>> dt.ones(2, 3).size(), dt.ones(2, 3).size(-1)
        (dualtape.Size([2, 3]), 3)
        """
        return self.shape if dim is None else self._array.shape[_dim(dim, self._array.ndim)]

    def dim(self) -> int:
        """The number of dimensions.

        Examples
        --------
        >>> import dualtape as dt
        >>> dt.ones(2, 3).dim()
        2
        """
        return self._array.ndim

    ndimension = dim

    def numel(self) -> int:
        """The number of elements.

        Examples
        --------
        >>> import dualtape as dt
        >>> dt.ones(2, 3).numel()
        6
        """
        return self._array.size

    nelement = numel

    def element_size(self) -> int:
        """The bytes of one element.

        Examples
        --------
        >>> import dualtape as dt
        >>> dt.ones(2).element_size()
        4
        """
        return self._array.itemsize

    def stride(self, dim: int | None = None) -> Any:
        """Steps between neighbours along each dimension, in elements.

        Examples
        --------
        >>> import dualtape as dt
        >>> dt.ones(2, 3).stride(), dt.ones(2, 3).t().stride()
        ((3, 1), (1, 3))
        """
        array = self._array
        strides = _strides(array)
        return strides if dim is None else strides[_dim(dim, array.ndim)]

    def storage_offset(self) -> int:
        """Elements between the start of the memory the tensor lives in and its first element.

        Examples
        --------
        >>> import dualtape as dt
        >>> dt.ones(2, 3)[1].storage_offset()
        3
        """
        if type(self._array) is Absent:
            return 0
        base = self._base  # type: ignore[attr-defined]  # of the class that this is mixed into
        root = self._array if base is None else base._array
        return (_address(self._array) - _address(root)) // (self._array.itemsize or 1)

    def data_ptr(self) -> int:
        """The address of the first element.

        Examples
        --------
        >>> import dualtape as dt
        >>> x = dt.ones(2)
        >>> x.detach().data_ptr() == x.data_ptr(), x.clone().data_ptr() == x.data_ptr()
        (True, False)
        """
        array = self._array
        tracing = modes.current().tracing
        if tracing is not None:
            tracing.tape.fail("it looks at an address in memory")
        if type(array) is Absent:
            return 0
        if hasattr(array, "address"):
            return array.address
        shown = getattr(array, "__array_interface__", None)
        return array.data.ptr if shown is None else shown["data"][0]

    const_data_ptr = data_ptr

    def is_set_to(self, tensor: Tensor) -> bool:
        """Whether another tensor shows the same memory in the same way.

        Examples
        --------
        >>> import dualtape as dt
        >>> x = dt.ones(2)
        >>> x.is_set_to(x.detach()), x.is_set_to(x.clone())
        (True, False)
        """
        if not isinstance(tensor, Memory):
            raise TypeError(f"is_set_to(): argument 'tensor' must be Tensor, not {type(tensor).__name__}")
        a, b = self._array, tensor._array
        same = (a.shape, a.strides, a.dtype) == (b.shape, b.strides, b.dtype)
        return same and self.data_ptr() == tensor.data_ptr()

    def dim_order(self, ambiguity_check: bool = False) -> tuple[int, ...]:
        """The dimensions as they lie in memory, the outermost first.

        With ``ambiguity_check``, an order that sizes of 1 or strides of 0 leave open is refused.

        Examples
        --------
        >>> import dualtape as dt
        >>> dt.ones(2, 3).t().dim_order()
        (1, 0)
        """
        if not isinstance(ambiguity_check, bool):
            raise TypeError(f"dim_order(): ambiguity_check must be a bool, got {type(ambiguity_check).__name__}")
        strides = _strides(self._array)
        if ambiguity_check and len(set(strides)) < len(strides):
            raise RuntimeError(f"dim_order: the strides {strides} leave the order of the dimensions open")
        return tuple(sorted(range(len(strides)), key=lambda d: (-strides[d], d)))

    def is_contiguous(self, memory_format: MemoryFormat | None = None) -> bool:
        """Whether the elements lie in memory in row-major order without gaps; ``channels_last``: with the channels of
        images innermost.

        Examples
        --------
        >>> import dualtape as dt
        >>> dt.ones(2, 3).is_contiguous(), dt.ones(2, 3).t().is_contiguous()
        (True, False)
        """
        if memory_format is channels_last or memory_format is channels_last_3d:
            array = self._array
            rank = 4 if memory_format is channels_last else 5
            return array.ndim == rank and bool(array.transpose(0, *range(2, rank), 1).flags.c_contiguous)
        return bool(self._array.flags.c_contiguous)

    def is_floating_point(self) -> bool:
        """Whether the elements are real floating-point numbers.

        Examples
        --------
        >>> import dualtape as dt
        >>> dt.ones(1).is_floating_point()
        True
        """
        return self._array.dtype.kind == "f"

    def is_complex(self) -> bool:
        """Whether the elements are complex numbers.

        Examples
        --------
        >>> import dualtape as dt
        >>> dt.ones(1).is_complex()
        False
        """
        return self._array.dtype.kind == "c"

    def is_signed(self) -> bool:
        """Whether the dtype has negative numbers.

        Examples
        --------
        >>> import dualtape as dt
        >>> dt.ones(1).is_signed(), dt.tensor(True).is_signed()
        (True, False)
        """
        return self._array.dtype.kind in "ifc"


def _dim(dim: int, ndim: int) -> int:
    if not isinstance(dim, int) and not hasattr(dim, "__index__"):
        raise TypeError(f"argument 'dim' must be int, not {type(dim).__name__}")
    if not -max(ndim, 1) <= dim < max(ndim, 1):
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-max(ndim, 1)}, {max(ndim, 1) - 1}], but got {dim})"
        )
    if not ndim:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    return dim


def _address(array: Any) -> int:
    """Return the address of the first element."""
    array = all_samples(array)
    return array.address if hasattr(array, "address") else array.__array_interface__["data"][0]


def _strides(array: Array) -> tuple:
    size = array.itemsize or 1
    strides = tuple([s // size for s in array.strides])
    return _strides_of_nothing(array.shape, strides) if 0 in strides else strides


def _strides_of_nothing(shape: tuple, strides: tuple) -> tuple:
    """Return PyTorch's strides where NumPy's are 0: for empty tensors, and new dimensions of size 1."""
    found: list[int] = list(strides)
    empty, following = 0 in shape, 1
    for d in reversed(range(len(shape))):
        if empty or shape[d] == 1 and not strides[d]:
            found[d] = following
        following = max(shape[d], 1) * found[d]
    return tuple(found)
