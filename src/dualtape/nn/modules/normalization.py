"""Normalisation of each sample: over its last dimensions, groups of channels, or neighbouring channels."""

from __future__ import annotations

from numbers import Integral
from typing import Any

from ..._tensor.shaped import empty
from ..._tensor.tensor import Tensor
from .. import functional as F
from .. import init
from ..parameter import Parameter
from ._affine import register_affine, reset_affine
from .module import Module

__all__ = ["CrossMapLRN2d", "GroupNorm", "LayerNorm", "LocalResponseNorm", "RMSNorm"]


class LocalResponseNorm(Module):
    """Each element divided by a power of the mean square of its ``size`` neighbouring channels.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.LocalResponseNorm(2)(dt.ones(1, 3, 2)).shape
    dualtape.Size([1, 3, 2])
    """

    __constants__ = ["size", "alpha", "beta", "k"]

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> None:
        super().__init__()
        self.size, self.alpha, self.beta, self.k = size, alpha, beta, k

    def forward(self, input: Tensor) -> Tensor:
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


class CrossMapLRN2d(Module):
    """:class:`LocalResponseNorm` of images by an odd number of neighbours, an even ``size`` counting as one less.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.CrossMapLRN2d(3)(dt.ones(1, 3, 2, 2)).shape
    dualtape.Size([1, 3, 2, 2])
    """

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1) -> None:
        super().__init__()
        self.size, self.alpha, self.beta, self.k = size, alpha, beta, k

    def forward(self, input: Tensor) -> Tensor:
        if input.dim() != 4:
            raise ValueError(
                f"CrossMapLRN2d takes an input (batch, channels, height, width), got {input.dim()} dimensions"
            )
        odd = self.size - (self.size % 2 == 0)
        return F.local_response_norm(input, odd, self.alpha * odd / self.size, self.beta, self.k)

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


class LayerNorm(Module):
    """The last dimensions of each sample normalised to mean zero and variance one.

    Parameters
    ----------
    normalized_shape : int or sequence of int
        The sizes of these dimensions.
    eps : float
        Added to the variance.
    elementwise_affine : bool
        Whether each element learns a scale and, if ``bias``, an offset.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.LayerNorm(2)(dt.tensor([[1.0, 3.0]])).detach()
    tensor([[-1.0000,  1.0000]])
    """

    __constants__ = ["normalized_shape", "eps", "elementwise_affine"]
    weight: Any
    bias: Any

    def __init__(
        self,
        normalized_shape: Any,
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _shape(normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        register_affine(self, self.normalized_shape, elementwise_affine, bias, device, dtype)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Scales become one, offsets zero."""
        reset_affine(self)

    def forward(self, input: Tensor) -> Tensor:
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine},"
            f" bias={self.bias is not None}"
        )


class GroupNorm(Module):
    """The channels of each sample in groups, each normalised to mean zero and variance one.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.GroupNorm(2, 4)(dt.rand(1, 4, 3)).shape
    dualtape.Size([1, 4, 3])
    """

    __constants__ = ["num_groups", "num_channels", "eps", "affine"]
    weight: Any
    bias: Any

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if num_channels % num_groups:
            raise ValueError(
                f"the channels are cut into groups of equal size: {num_channels=} is no multiple of {num_groups=}"
            )
        self.num_groups, self.num_channels, self.eps, self.affine = num_groups, num_channels, eps, affine
        register_affine(self, num_channels, affine, bias, device, dtype)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Scales become one, offsets zero."""
        reset_affine(self)

    def forward(self, input: Tensor) -> Tensor:
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine},"
            f" bias={self.bias is not None}"
        )


class RMSNorm(Module):
    """The last dimensions of each sample divided by the root of their mean square.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.RMSNorm(2)(dt.tensor([[2.0, -2.0]])).detach()
    tensor([[ 1., -1.]])
    """

    __constants__ = ["normalized_shape", "eps", "elementwise_affine"]
    weight: Any

    def __init__(
        self,
        normalized_shape: Any,
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _shape(normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        made = Parameter(empty(self.normalized_shape, device=device, dtype=dtype)) if elementwise_affine else None
        self.register_parameter("weight", made)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Scales become one."""
        if self.elementwise_affine:
            init.ones_(self.weight)

    def forward(self, x: Any) -> Any:
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


def _shape(sizes: Any) -> tuple[int, ...]:
    return (sizes,) if isinstance(sizes, Integral) else tuple(sizes)  # type: ignore[return-value]
