"""Layers that multiply by a matrix."""

from __future__ import annotations

import math
from typing import Any

from ..._tensor.shaped import empty
from ..._tensor.tensor import Tensor
from .. import functional as F
from .. import init
from ..parameter import Parameter, UninitializedParameter
from .lazy import LazyModuleMixin
from .module import Module

__all__ = ["Bilinear", "Identity", "LazyLinear", "Linear"]


class Identity(Module):
    """Returns its input, whatever the arguments of the constructor.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.Identity(54, unused=True)(dt.ones(2))
    tensor([1., 1.])
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Tensor) -> Tensor:
        return input


class Linear(Module):
    """``input @ weight.T + bias``.

    Parameters
    ----------
    in_features, out_features : int
        The size of the last dimension of input and output.
    bias : bool
        Whether to add one.
    device, dtype : optional
        Of the parameters.

    Examples
    --------
    >>> import dualtape as dt
    >>> layer = dt.nn.Linear(3, 2)
    >>> layer(dt.ones(5, 3)).shape
    dualtape.Size([5, 2])
    """

    __constants__ = ["in_features", "out_features"]
    in_features: int
    out_features: int
    weight: Parameter

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.weight = Parameter(empty((out_features, in_features), device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(empty(out_features, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the parameters uniformly within ``1 / sqrt(in_features)`` of zero."""
        bound = 1 / math.sqrt(self.in_features) if self.in_features > 0 else 0
        if self.weight.numel():
            init.uniform_(self.weight, -bound, bound)
        else:
            init.warn_of_nothing()
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Tensor) -> Tensor:
        own = self.__dict__["_parameters"]
        try:  # without the search that an attribute of a module is
            weight, bias = own["weight"], own["bias"]
        except KeyError:  # parametrised, or an attribute of another kind
            weight, bias = self.weight, self.bias
        return F.linear(input, weight, bias)

    def extra_repr(self) -> str:
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


class NonDynamicallyQuantizableLinear(Linear):
    """A Linear that is the last step of an attention: PyTorch distinguishes it by its class."""


class Bilinear(Module):
    """``x1 @ weight[k] @ x2 + bias[k]`` for each k.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.Bilinear(2, 3, 4)(dt.ones(5, 2), dt.ones(5, 3)).shape
    dualtape.Size([5, 4])
    """

    __constants__ = ["in1_features", "in2_features", "out_features"]

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if in1_features <= 0:
            raise ValueError(f"in1_features must be > 0, but got {in1_features}")
        self.in1_features, self.in2_features, self.out_features = in1_features, in2_features, out_features
        self.weight = Parameter(empty((out_features, in1_features, in2_features), device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(empty(out_features, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the parameters uniformly within ``1 / sqrt(in1_features)`` of zero."""
        bound = 1 / math.sqrt(self.weight.size(1))
        for parameter in (self.weight,) if self.bias is None else (self.weight, self.bias):
            init.uniform_(parameter, -bound, bound)

    def forward(self, input1: Any, input2: Any) -> Any:
        return F.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        return (
            f"in1_features={self.in1_features}, in2_features={self.in2_features}, out_features={self.out_features},"
            f" bias={self.bias is not None}"
        )


class LazyLinear(LazyModuleMixin, Linear):
    """A :class:`Linear` that takes ``in_features`` from its first input.

    Examples
    --------
    >>> import dualtape as dt
    >>> layer = dt.nn.LazyLinear(2)
    >>> layer(dt.ones(5, 3)).shape
    dualtape.Size([5, 2])
    >>> layer
    Linear(in_features=3, out_features=2, bias=True)
    """

    cls_to_become = Linear
    weight: UninitializedParameter
    bias: Any

    def __init__(self, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None) -> None:
        super().__init__(0, 0, False, device, dtype)
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        self.out_features = out_features
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        """Reset as :class:`Linear` does, if the parameters are initialised."""
        if not self.has_uninitialized_params() and self.in_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input: Any) -> None:
        """Initialise the parameters for an input."""
        shapes = {"weight": (self.out_features, input.shape[-1]), "bias": (self.out_features,)}
        if self.has_uninitialized_params():
            for name, parameter in self.named_parameters(recurse=False):
                parameter.materialize(shapes[name])  # type: ignore[attr-defined]
            self.in_features = input.shape[-1]
            self.reset_parameters()
        self.in_features = self.in_features or self.weight.shape[-1]
