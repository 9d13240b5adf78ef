"""Python's and NumPy's protocols for tensors: conversions, iteration, truth, printing, copying, pickling."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import errors
from .._typing import DeviceLike, DTypeLike
from ..arrays import Absent, Batched
from ..arrays.bfloat16_dtype import BFLOAT16
from ..autograd.tangents import check_exportable
from ..modes import current
from .exchange import exported

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import SupportsIndex

    from .methods import Methods  # written by python -m tools.stubs
else:
    Methods = object


class Elsewhere:
    """A member of NumPy's arrays that tensors have under another name: reading it raises, and says which."""

    __slots__ = ("name", "instead")

    def __init__(self, instead: str) -> None:
        self.instead = instead

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, tensor: object, owner: object) -> Any:
        if tensor is None:  # what looks through the class finds what dir() says
            return self
        raise AttributeError(
            f"'Tensor' object has no attribute {self.name!r}, which is NumPy's: use {self.instead}", name=self.name
        )


class Protocols(Methods):
    """The protocol methods of tensors: a base of Tensor."""

    __slots__ = ()

    copy = Elsewhere("x.clone()")
    compress = Elsewhere("x[mask]")
    flat = Elsewhere("x.flatten()")
    ptp = Elsewhere("np.ptp(x)")
    searchsorted = Elsewhere("dualtape.searchsorted(x, values)")
    tobytes = Elsewhere("x.numpy().tobytes()")

    if TYPE_CHECKING:
        _array: Any
        requires_grad: bool

    def numpy(self: Any, *, force: bool = False) -> np.ndarray:
        """The array behind the tensor, sharing its memory; of a tensor that requires grad only under ``no_grad``.

        Examples
        --------
        >>> import dualtape as dt
        >>> dt.ones(2).numpy()
        array([1., 1.], dtype=float32)
        """
        if not force:
            if self.requires_grad and current().grad:
                raise errors.needs_detach()
            check_exportable(self)
            if type(self._array) is Batched:
                return self._array.get()  # refuses
            if hasattr(self._array, "shared"):
                return self._array.shared()  # while a program is traced
            if not isinstance(self._array, np.ndarray) and type(self._array) is not Absent:
                if self._array.dtype is BFLOAT16:
                    raise TypeError("Got unsupported ScalarType BFloat16: NumPy has no such type, call .float() first")
                raise TypeError(f"can't convert a tensor on {self.device} to numpy: call .cpu() first")
        return self._array if isinstance(self._array, np.ndarray) else self._array.get()

    def item(self) -> Any:
        """The value of a one-element tensor as a Python number.

        Examples
        --------
        >>> import dualtape as dt
        >>> dt.tensor([2.5]).item()
        2.5
        """
        if self._array.size != 1:
            raise RuntimeError(f"a Tensor with {self._array.size} elements cannot be converted to Scalar; use tolist()")
        return self._array.item()

    def tolist(self) -> Any:
        """The values as nested Python lists.

        Examples
        --------
        >>> import dualtape as dt
        >>> dt.eye(2).tolist()
        [[1.0, 0.0], [0.0, 1.0]]
        """
        return self._array.tolist()

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> np.ndarray:
        array = self.numpy()
        return np.asarray(array, dtype=dtype) if copy is None else np.array(array, dtype=dtype, copy=copy)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: object, **kwargs: object) -> Any:
        from ..ops.numpy_entries import call_ufunc

        return call_ufunc(ufunc, method, inputs, kwargs)

    def __array_function__(self: Any, func: Callable, types: Iterable[type], args: tuple, kwargs: dict) -> Any:
        from ..ops.numpy_entries import call_function

        return call_function(self, func, args, kwargs)

    def __array_namespace__(self, /, *, api_version: str | None = None) -> Any:
        from ..array_api import for_version

        return for_version(api_version)

    def to_device(self, device: DeviceLike | None, /, *, stream: int | None = None) -> Any:
        """The tensor on a device: the array API standard's name for ``x.to(device)``.

        Examples
        --------
        >>> import dualtape as dt
        >>> x = dt.ones(1)
        >>> x.to_device(x.device) is x
        True
        """
        if stream is not None:
            raise ValueError("to_device takes no stream: work is queued on the one that is current")
        return self.to(device)

    def __dlpack__(
        self,
        *,
        stream: int | None = -1,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        return exported(self, stream, max_version, dl_device, copy)

    def __dlpack_device__(self) -> Any:
        return self._array.__dlpack_device__()

    def __len__(self) -> int:
        if self._array.ndim == 0:
            raise TypeError("len() of a 0-d tensor")
        return self._array.shape[0]

    def __iter__(self) -> Iterator[Any]:
        if self._array.ndim == 0:
            raise TypeError("iteration over a 0-d tensor")
        return iter(self.unbind(0))

    def __contains__(self, element: object) -> bool:
        if isinstance(element, Protocols):
            element = element._array
        elif not isinstance(element, (int, float, complex, bool)):
            raise RuntimeError(
                f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(element).__name__}"
            )
        if type(self._array) is Absent:
            return bool((self == element).any())
        return bool((self._array == element).any())

    def __bool__(self) -> bool:
        if self._array.size != 1:
            if self._array.size == 0:
                raise RuntimeError(
                    "Boolean value of Tensor with no values is ambiguous: use numel() to ask whether it is empty"
                )
            raise errors.ambiguous_bool(self._array.shape)
        array = self._array
        return bool(array.item() if type(array) is np.ndarray else array if type(array) is Batched else self.item())

    def __float__(self) -> float:
        return float(self._one_number(float))

    def __int__(self) -> int:
        return int(self._one_number(int))

    def __complex__(self) -> complex:
        return complex(self._one_number(complex))

    def _one_number(self, kind: type) -> Any:
        if self._array.size != 1:
            raise ValueError(
                f"only one element tensors can be converted to Python scalars, this one has {self._array.size}; use"
                " tolist()"
            )
        if kind is not int and self.requires_grad and current().grad:
            errors.warn_of_lost_history(kind)
        value = self.item()
        if isinstance(value, complex) and kind is not complex:
            if value.imag:
                raise errors.number_overflow(value, kind)
            return value.real
        return value

    def __index__(self) -> int:
        if self._array.dtype.kind not in "iub" or self._array.size != 1:
            raise TypeError(f"only integer tensors of a single element can be converted to an index, got {self!r}")
        return int(self.item())

    def __format__(self, spec: str) -> str:
        return format(self.item(), spec) if self._array.ndim == 0 else object.__format__(self, spec)

    def __repr__(self: Any, *, tensor_contents: str | None = None) -> str:
        from .printing import tensor_repr

        return tensor_repr(self, tensor_contents=tensor_contents)

    def __str__(self) -> str:
        return repr(self)

    def _repr_html_(self: Any) -> str:  # what a notebook shows
        from ..draw.notebook import of_tensor

        return of_tensor(self)

    def __dir__(self: Any) -> list[str]:
        from ..ops import load_all

        load_all()
        absent = {name for name, member in vars(Protocols).items() if type(member) is Elsewhere}
        absent |= set() if self.is_cuda else {"__cuda_array_interface__"}
        absent |= {
            name for name in ("device_mesh", "placements") if not hasattr(self, name)
        }  # of sharded tensors alone
        return sorted(set(super().__dir__()) - absent)

    def __copy__(self: Any) -> Any:
        from .copying import shallow

        return shallow(self)

    def __deepcopy__(self: Any, memo: dict) -> Any:
        from .copying import deepcopy

        return deepcopy(self, memo)

    def __reduce_ex__(self: Any, protocol: SupportsIndex) -> tuple:
        from .copying import reduce

        return reduce(self)

    def __setstate__(self, state: dict) -> None:
        self.__dict__.update(state)
