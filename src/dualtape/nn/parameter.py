"""Parameters: leaves that say of themselves that they are to be learned."""

from __future__ import annotations

import copy
from typing import Any

from .._tensor.creation import empty
from .._tensor.printing import tensor_repr
from .._tensor.tensor import Tensor, alias
from ..ops.codegen.source import plain_types
from ..overrides.subclass import disabled_function, make_subclass


class _ParameterType(type):
    """A tensor of a subclass of its own is a parameter if it was made one."""

    def __instancecheck__(cls, instance: Any) -> bool:
        if cls is Parameter and isinstance(instance, Tensor) and instance.__dict__.get("_is_param", False):
            return True
        return super().__instancecheck__(instance)


class Parameter(Tensor, metaclass=_ParameterType):
    """A leaf over the memory of ``data`` that requires grad; operations on it give plain tensors.

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
