"""The legacy constructors: ``Tensor(2, 3)``, ``Tensor(data)``, ``FloatTensor([1, 2])`` and the same for each dtype."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._typing import DeviceLike
from ..arrays import is_array
from ..arrays.bfloat16_dtype import cast, made
from . import dtypes
from .creation import _inferred, as_class
from .device import device as Device
from .shaped import _sizes
from .size import Size
from .tensor import Tensor, wrap

if TYPE_CHECKING:
    from collections.abc import Callable


def construct(cls: type, data: tuple, device: DeviceLike | None = None, **kwargs: object) -> Tensor:
    """Return ``cls(2, 3)`` or ``cls(data)`` for the legacy class ``cls``."""
    if kwargs:
        raise TypeError(
            f"{cls.__name__}() takes sizes or data, got {', '.join(kwargs)}; use dualtape.tensor(data, dtype=...)"
        )
    _check_device(device)
    if len(data) == 1 and isinstance(data[0], Tensor):
        result = data[0].view_as(data[0])
    else:
        result = _made(data, dtypes.default_float())
    return result if cls is Tensor else as_class(result, cls)


def _check_device(device: DeviceLike | None) -> None:
    if device is not None and Device(device).type != "cpu":
        raise RuntimeError(
            f"legacy constructor expects device type: cpu but device type: {Device(device).type} was passed"
        )


def _made(data: tuple, dtype: np.dtype) -> Tensor:
    if len(data) != 1 or isinstance(data[0], (int, Size)):
        return wrap(made(np.empty, _sizes(data) if data else (0,), dtype))
    source = data[0]
    if isinstance(source, Tensor):
        return source.view_as(source) if source._array.dtype == dtype else source.to(dtype)
    if isinstance(source, (float, complex)) or not hasattr(source, "__len__"):
        raise TypeError(
            f"new(): data must be a sequence (got {type(source).__name__}): use dualtape.tensor for one number"
        )
    array = np.asarray(source) if is_array(source) else _inferred(source, dtype)
    return wrap(cast(array, dtype))


class _ByDtype(type):
    """The type of ``FloatTensor`` and the other legacy classes: every tensor of the dtype counts as an instance."""

    _dtype: dtypes.dtype

    def __call__(cls, *data: object, device: DeviceLike | None = None) -> Tensor:
        _check_device(device)
        return _made(data, cls._dtype.numpy)

    def __instancecheck__(cls, tensor: object) -> bool:
        return isinstance(tensor, Tensor) and tensor.dtype == cls._dtype


_DOC = """Tensors of {dtype!r}: an old way to make and to recognise them.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.{name}([1, 0]).dtype, isinstance(dt.ones(2, dtype=dt.{dtype.name}), dt.{name})
    ({dtype!r}, True)
    """
TYPES: dict[str, type] = {
    name: _ByDtype(
        name, (), {"_dtype": dtype, "__module__": "dualtape", "__doc__": _DOC.format(dtype=dtype, name=name)}
    )
    for name, dtype in (
        ("FloatTensor", dtypes.float32),
        ("DoubleTensor", dtypes.float64),
        ("HalfTensor", dtypes.float16),
        ("BFloat16Tensor", dtypes.bfloat16),
        ("LongTensor", dtypes.int64),
        ("IntTensor", dtypes.int32),
        ("ShortTensor", dtypes.int16),
        ("CharTensor", dtypes.int8),
        ("ByteTensor", dtypes.uint8),
        ("BoolTensor", dtypes.bool_),
    )
}
globals().update(TYPES)


class _Elsewhere(_ByDtype):
    """The same for tensors of another device or layout."""

    def __call__(cls, *data: Any, device: DeviceLike | None = None) -> Tensor:
        _check_device(device)
        return cls._make(cls._dtype, *data)  # type: ignore[attr-defined]

    def __instancecheck__(cls, tensor: Any) -> bool:
        return isinstance(tensor, Tensor) and tensor.dtype == cls._dtype and cls._holds(tensor)  # type: ignore[attr-defined]


_DOC_ELSEWHERE = """Tensors of {0!r} of dualtape.{1}: an old way to make and to recognise them.

    Examples
    --------
    >>> import dualtape as dt
    >>> isinstance(dt.ones(2), dt.{1}.{2})
    False
    """


def types_of(space: str, make: Callable, holds: Callable) -> dict[str, type]:
    """Return the legacy types of a namespace: ``make(dtype, *data)`` creates its tensors, ``holds(tensor)`` recognises
    them.
    """
    return {
        name: _Elsewhere(
            name,
            (),
            {
                "_dtype": kind._dtype,  # type: ignore[attr-defined]
                "_make": staticmethod(make),
                "_holds": staticmethod(holds),
                "__module__": f"dualtape.{space}",
                "__doc__": _DOC_ELSEWHERE.format(kind._dtype, space, name),  # type: ignore[attr-defined]
            },
        )
        for name, kind in TYPES.items()
    }
