"""Parameters: leaves that are learned; buffers, which are not; and both before their shape is known."""

from __future__ import annotations

import copy
from typing import Any

from .._listing import listing
from .._tensor import device as devices
from .._tensor import dtypes
from .._tensor.printing import tensor_repr
from .._tensor.shaped import empty
from .._tensor.tensor import Tensor, alias
from ..arrays.absent import Absent
from ..ops.codegen.source import plain_types
from ..overrides.active_overrides import silent
from ..overrides.subclass import disabled_function, make_subclass

__all__ = ["Buffer", "Parameter", "UninitializedBuffer", "UninitializedParameter", "factory_kwargs", "is_lazy"]


class _ParameterType(type):
    """The metaclass of Parameter: a tensor of another subclass is an instance if it was made a parameter."""

    def __instancecheck__(cls, instance: Any) -> bool:
        if cls is Parameter and isinstance(instance, Tensor) and instance.__dict__.get("_is_param", False):
            return True
        return super().__instancecheck__(instance)


class Parameter(Tensor, metaclass=_ParameterType):
    """A leaf over the memory of ``data`` that requires grad; operations on it return plain tensors.

    Parameters
    ----------
    data : Tensor, optional
        Default: an empty tensor.
    requires_grad : bool

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.Parameter(dt.ones(2))
    Parameter containing:
    tensor([1., 1.], requires_grad=True)
    >>> dt.nn.Parameter(dt.ones(2)) * 2
    tensor([2., 2.], grad_fn=<MulBackward0>)
    """

    __torch_function__ = disabled_function  # type: ignore[assignment]

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> Any:
        if data is None:
            data = empty(0)
        if not isinstance(data, Tensor):
            raise TypeError(f"Parameter takes a Tensor, got {type(data).__name__}; wrap it with dualtape.tensor(...)")
        if type(data) is Tensor or type(data) is Parameter:
            return make_subclass(cls, data, requires_grad)
        result = data.detach().requires_grad_(requires_grad)
        if type(result) is not type(data):
            raise RuntimeError(
                f"detach() of {type(data).__name__} gave a {type(result).__name__}: a parameter must keep its class"
            )
        result.__dict__["_is_param"] = True
        return result

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Nothing: all is done in ``__new__``, whose arguments are a subclass's own."""

    def __deepcopy__(self, memo: dict) -> Tensor:
        if id(self) not in memo:
            new = make_subclass(type(self), alias(self).clone(), self.requires_grad)
            memo[id(self)] = new
            new.__dict__.update(copy.deepcopy(self.__dict__, memo))
        return memo[id(self)]

    def __repr__(self, *, tensor_contents: str | None = None) -> str:  # type: ignore[override]
        return "Parameter containing:\n" + tensor_repr(self, tensor_contents=tensor_contents)


plain_types.add(Parameter)
silent.add(Parameter)


class _BufferType(type):
    """The metaclass of Buffer: a tensor is an instance if it was made a buffer."""

    def __instancecheck__(cls, instance: Any) -> bool:
        if cls is Buffer and isinstance(instance, Tensor) and instance.__dict__.get("_is_buffer", False):
            return True
        return super().__instancecheck__(instance)


class Buffer(Tensor, metaclass=_BufferType):
    """A tensor over the memory of ``data`` that a module registers as a buffer when it is assigned to an attribute.

    Parameters
    ----------
    data : Tensor, optional
        Default: an empty tensor.
    persistent : bool
        Whether it is part of the module's state dict.

    Examples
    --------
    >>> import dualtape as dt
    >>> module = dt.nn.Module()
    >>> module.mean = dt.nn.Buffer(dt.zeros(2))
    >>> dict(module.state_dict())
    {'mean': tensor([0., 0.])}
    """

    persistent: bool

    __torch_function__ = disabled_function  # type: ignore[assignment]

    def __new__(cls, data: Any = None, *, persistent: bool = True) -> Any:
        if data is None:
            data = empty(0)
        if not isinstance(data, Tensor):
            raise TypeError(f"Buffer takes a Tensor, got {type(data).__name__}; wrap it with dualtape.tensor(...)")
        result = data.detach().requires_grad_(data.requires_grad)
        result.__dict__.update(persistent=persistent, _is_buffer=True)
        return result


# --- before the shape is known --------------------------------------------------------------------


class Uninitialized(RuntimeError, ValueError):
    """Raised when code asks for the shape or the values of a tensor that has none yet."""


class Unshaped(Absent):
    """The array of a tensor whose shape is not known: it has a dtype and a device, and refuses everything else."""

    __slots__ = ()

    def __init__(self, dtype: Any, device: Any) -> None:
        self.dtype, self.device = dtype, device

    def _refuse(self, *args: Any, **kwargs: Any) -> Any:
        raise Uninitialized(
            "Can't access the shape of an uninitialized parameter or buffer, nor use it: call the lazy module's forward"
            " with a batch first, or materialize() it"
        )

    shape = ndim = size = nbytes = strides = flags = property(_refuse)
    item = tolist = get = astype = copy = _refuse
    __array__ = __getitem__ = __setitem__ = __dlpack__ = __dlpack_device__ = _refuse
    __array_ufunc__ = __array_function__ = _refuse

    def __reduce__(self) -> tuple:
        return (Unshaped, (self.dtype, self.device))


class UninitializedTensorMixin:
    """Common parts of parameters and buffers without a shape: they can be converted and materialised."""

    _array: Any
    requires_grad: bool
    cls_to_become: type

    def materialize(self, shape: Any, device: Any = None, dtype: Any = None) -> None:
        """Become a parameter or a buffer of that shape, in place; its values are arbitrary."""
        made = empty(shape, device=self._array.device if device is None else device, dtype=dtype or self.dtype)
        self._array = made._array
        self.__class__ = self.cls_to_become

    def to(self, *args: Any, **kwargs: Any) -> Any:
        """Return a copy with the given dtype and device."""
        from .modules._convert import parse_to

        device, dtype, _, _ = parse_to(*args, **kwargs)
        new = _unshaped(type(self), self.requires_grad, device or self._array.device, dtype or self.dtype)
        new.__dict__.update(self.__dict__)
        return new

    type = to

    def detach(self) -> Any:
        """Return itself without gradient."""
        new = self.to()
        new._requires_grad = False
        return new

    @property
    def data(self) -> Any:
        """Itself without gradient."""
        return self.detach()

    @data.setter
    def data(self, value: Any) -> None:
        self._array = value._array

    @property
    def dtype(self) -> Any:
        """The dtype that the tensor will have."""
        return dtypes.of(self._array.dtype)

    @property
    def device(self) -> Any:
        """The device on which the tensor will be."""
        return devices.device(self._array.device)

    def share_memory_(self) -> Any:
        """Refused: there is no memory yet."""
        raise RuntimeError(
            "Can't share memory on an uninitialized parameter or buffer: call forward before module.share_memory()"
        )

    def __repr__(self, *, tensor_contents: str | None = None) -> str:
        return f"<{self.__class__.__name__}>"

    def __deepcopy__(self, memo: dict) -> Any:
        if id(self) not in memo:
            memo[id(self)] = self.to()
            memo[id(self)].__dict__.update(copy.deepcopy(self.__dict__, memo))
        return memo[id(self)]

    def __reduce_ex__(self, protocol: Any) -> tuple:
        made = (self.__class__, self.requires_grad, self._array.device, self.dtype)
        return (_unshaped, made, self.__dict__ or None)


def _conversion(name: str) -> Any:
    def method(self: Any) -> Any:
        return self.to(**{"device" if name == "cpu" else "dtype": _TARGETS[name]})

    method.__name__, method.__doc__ = name, f"Convert as :meth:`Tensor.{name}` does."
    return method


_TARGETS = {
    "cpu": "cpu",
    "float": dtypes.NAMED["float32"],
    "double": dtypes.NAMED["float64"],
    "half": dtypes.NAMED["float16"],
    "bfloat16": dtypes.NAMED["bfloat16"],
}
for _name in _TARGETS:
    setattr(UninitializedTensorMixin, _name, _conversion(_name))


def _unshaped(cls: type, requires_grad: bool, device: Any, dtype: Any) -> Any:
    new = make_subclass(cls, empty(0, dtype=dtype), requires_grad)
    new._array = Unshaped(new._array.dtype, str(device or "cpu"))
    return new


class UninitializedParameter(UninitializedTensorMixin, Parameter):  # type: ignore[misc]
    """A parameter whose shape is determined later: it can be converted and materialised, and nothing else.

    Parameters
    ----------
    requires_grad : bool
    device, dtype : optional
        What it will have.

    Examples
    --------
    >>> import dualtape as dt
    >>> weight = dt.nn.UninitializedParameter()
    >>> weight
    <UninitializedParameter>
    >>> weight.materialize((2, 3))
    >>> type(weight).__name__, weight.shape
    ('Parameter', dualtape.Size([2, 3]))
    """

    cls_to_become = Parameter

    def __new__(cls, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> Any:
        return _unshaped(cls, requires_grad, device, dtype)


class UninitializedBuffer(UninitializedTensorMixin, Tensor):  # type: ignore[misc]
    """A buffer whose shape is determined later: it can be converted and materialised, and nothing else.

    Examples
    --------
    >>> import dualtape as dt
    >>> mean = dt.nn.UninitializedBuffer()
    >>> mean.materialize((3,))
    >>> mean.shape
    dualtape.Size([3])
    """

    __torch_function__ = disabled_function  # type: ignore[assignment]
    cls_to_become = Tensor

    def __new__(
        cls, requires_grad: bool = False, device: Any = None, dtype: Any = None, persistent: bool = True
    ) -> Any:
        new = _unshaped(cls, requires_grad, device, dtype)
        new.__dict__.update(persistent=persistent, _is_buffer=True)
        return new


def factory_kwargs(kwargs: dict[str, Any] | None) -> dict[str, Any]:
    """Return the arguments of a module that set how its tensors are created, given separately or as ``factory_kwargs``,
    as one dict.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.factory_kwargs({"dtype": dt.float64, "factory_kwargs": {"device": "cpu"}})
    {'device': 'cpu', 'dtype': dualtape.float64}
    """
    if kwargs is None:
        return {}
    simple = ("device", "dtype", "memory_format")
    unknown = kwargs.keys() - {*simple, "factory_kwargs"}
    if unknown:
        raise TypeError(f"unexpected kwargs {sorted(unknown)}: expected {[*simple, 'factory_kwargs']}")
    found = dict(kwargs.get("factory_kwargs", {}))
    for name in simple:
        if name in kwargs:
            if name in found:
                raise TypeError(f"{name} is given twice, by itself and in factory_kwargs: leave one out")
            found[name] = kwargs[name]
    return found


def is_lazy(param: Any) -> bool:
    """Return whether the shape of a parameter or buffer is not known yet.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.parameter.is_lazy(dt.nn.UninitializedParameter()), dt.nn.parameter.is_lazy(dt.ones(1))
    (True, False)
    """
    return isinstance(param, UninitializedTensorMixin)


__dir__ = listing(__name__)
