"""Elementwise activations; those along a dimension are in ``softmaxes.py``."""

from __future__ import annotations

from typing import Any

from ..._tensor.shaped import empty
from ..._tensor.tensor import Tensor
from ...errors import warn
from .. import functional as F
from .. import init as initial
from ..parameter import Parameter
from .attention import MultiheadAttention as MultiheadAttention
from .module import Module
from .softmaxes import LogSoftmax, Softmax, Softmax2d, Softmin

__all__ = [
    "CELU",
    "ELU",
    "GELU",
    "GLU",
    "Hardshrink",
    "Hardsigmoid",
    "Hardswish",
    "Hardtanh",
    "LeakyReLU",
    "LogSigmoid",
    "LogSoftmax",
    "Mish",
    "MultiheadAttention",
    "PReLU",
    "RReLU",
    "ReLU",
    "ReLU6",
    "SELU",
    "SiLU",
    "Sigmoid",
    "Softmax",
    "Softmax2d",
    "Softmin",
    "Softplus",
    "Softshrink",
    "Softsign",
    "Tanh",
    "Tanhshrink",
    "Threshold",
]


def _settings(module: Module, *names: str) -> str:
    """Return the settings of an activation, and whether it works in place, for its repr."""
    shown = [f"{name}={getattr(module, name)}" for name in names]
    return ", ".join([*shown, "inplace=True"] if getattr(module, "inplace", False) else shown)


class Threshold(Module):
    """The input where it is above ``threshold``, ``value`` elsewhere.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.Threshold(0.0, 5.0)(dt.tensor([-1.0, 2.0]))
    tensor([5., 2.])
    """

    __constants__ = ["threshold", "value", "inplace"]

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__()
        self.threshold, self.value, self.inplace = threshold, value, inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.threshold(input, self.threshold, self.value, self.inplace)

    def extra_repr(self) -> str:
        return _settings(self, "threshold", "value")


class ReLU(Module):
    """``max(0, x)``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.ReLU()(dt.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """

    __constants__ = ["inplace"]

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.relu(input, self.inplace)

    def extra_repr(self) -> str:
        return _settings(self)


class RReLU(Module):
    """A leaky relu whose slope is drawn between ``lower`` and ``upper`` in training, and their mean else.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.RReLU(0.5, 0.5)(dt.tensor([-1.0, 2.0]))
    tensor([-0.5000,  2.0000])
    """

    __constants__ = ["lower", "upper", "inplace"]

    def __init__(self, lower: float = 1.0 / 8, upper: float = 1.0 / 3, inplace: bool = False) -> None:
        super().__init__()
        self.lower, self.upper, self.inplace = lower, upper, inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)

    def extra_repr(self) -> str:
        return _settings(self, "lower", "upper")


class Hardtanh(Module):
    """The input, clamped between ``min_val`` and ``max_val``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.Hardtanh()(dt.tensor([-3.0, 0.5]))
    tensor([-1.0000,  0.5000])
    """

    __constants__ = ["min_val", "max_val", "inplace"]

    def __init__(
        self,
        min_val: float = -1.0,
        max_val: float = 1.0,
        inplace: bool = False,
        min_value: float | None = None,
        max_value: float | None = None,
    ) -> None:
        super().__init__()
        for old, new in (("min_value", min_value), ("max_value", max_value)):
            if new is not None:
                warn(f"keyword argument `{old}` is deprecated: use {old[:-2]}", FutureWarning)
        self.min_val = min_val if min_value is None else min_value
        self.max_val = max_val if max_value is None else max_value
        self.inplace = inplace
        if self.max_val <= self.min_val:
            raise AssertionError(f"max_val must be larger than min_val, got {self.max_val} and {self.min_val}")

    def forward(self, input: Tensor) -> Tensor:
        return F.hardtanh(input, self.min_val, self.max_val, self.inplace)

    def extra_repr(self) -> str:
        return _settings(self, "min_val", "max_val")


class ReLU6(Hardtanh):
    """``min(max(0, x), 6)``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.ReLU6()(dt.tensor([-1.0, 7.0]))
    tensor([0., 6.])
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)

    def extra_repr(self) -> str:
        return _settings(self)


class Sigmoid(Module):
    """``1 / (1 + exp(-x))``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.Sigmoid()(dt.zeros(1))
    tensor([0.5000])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.sigmoid(input)


class Hardsigmoid(Module):
    """The piecewise linear sigmoid: ``relu6(x + 3) / 6``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.Hardsigmoid()(dt.zeros(1))
    tensor([0.5000])
    """

    __constants__ = ["inplace"]

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.hardsigmoid(input, self.inplace)


class Tanh(Module):
    """The hyperbolic tangent.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.Tanh()(dt.zeros(1))
    tensor([0.])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.tanh(input)


class SiLU(Module):
    """``x * sigmoid(x)``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.SiLU()(dt.zeros(1))
    tensor([0.])
    """

    __constants__ = ["inplace"]

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.silu(input, self.inplace)

    def extra_repr(self) -> str:
        return _settings(self)


class Mish(Module):
    """``x * tanh(softplus(x))``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.Mish()(dt.zeros(1))
    tensor([0.])
    """

    __constants__ = ["inplace"]

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.mish(input, self.inplace)

    def extra_repr(self) -> str:
        return _settings(self)


class Hardswish(Module):
    """``x * relu6(x + 3) / 6``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.Hardswish()(dt.tensor([-4.0, 4.0]))
    tensor([-0., 4.])
    """

    __constants__ = ["inplace"]

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.hardswish(input, self.inplace)


class ELU(Module):
    """The input where it is positive, ``alpha * (exp(x) - 1)`` elsewhere.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.ELU()(dt.tensor([-1.0, 2.0]))
    tensor([-0.6321,  2.0000])
    """

    __constants__ = ["alpha", "inplace"]

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha, self.inplace = alpha, inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.elu(input, self.alpha, self.inplace)

    def extra_repr(self) -> str:
        return _settings(self, "alpha")


class CELU(Module):
    """The input where it is positive, ``alpha * (exp(x / alpha) - 1)`` elsewhere.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.CELU()(dt.tensor([-1.0, 2.0]))
    tensor([-0.6321,  2.0000])
    """

    __constants__ = ["alpha", "inplace"]

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha, self.inplace = alpha, inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.celu(input, self.alpha, self.inplace)

    def extra_repr(self) -> str:
        return _settings(self, "alpha")


class SELU(Module):
    """A scaled elu that preserves means and variances of layers.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.SELU()(dt.tensor([-1.0, 2.0]))
    tensor([-1.1113,  2.1014])
    """

    __constants__ = ["inplace"]

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.selu(input, self.inplace)

    def extra_repr(self) -> str:
        return _settings(self)


class GLU(Module):
    """The first half of the input times the sigmoid of the second.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.GLU()(dt.tensor([4.0, 0.0]))
    tensor([2.])
    """

    __constants__ = ["dim"]

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        return F.glu(input, self.dim)

    def extra_repr(self) -> str:
        return _settings(self, "dim")


class GELU(Module):
    """``x`` times the normal distribution function of it; ``approximate='tanh'`` by a tanh.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.GELU()(dt.tensor([-1.0, 2.0]))
    tensor([-0.1587,  1.9545])
    """

    __constants__ = ["approximate"]

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = approximate

    def forward(self, input: Tensor) -> Tensor:
        return F.gelu(input, approximate=self.approximate)

    def extra_repr(self) -> str:
        return f"approximate={self.approximate!r}"


class Hardshrink(Module):
    """The input where it is further than ``lambd`` from zero, zero elsewhere.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.Hardshrink()(dt.tensor([0.4, 2.0]))
    tensor([0., 2.])
    """

    __constants__ = ["lambd"]

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def forward(self, input: Tensor) -> Tensor:
        return F.hardshrink(input, self.lambd)

    def extra_repr(self) -> str:
        return f"{self.lambd}"


class LeakyReLU(Module):
    """The input where it is positive, ``negative_slope`` times it elsewhere.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.LeakyReLU(0.5)(dt.tensor([-1.0, 2.0]))
    tensor([-0.5000,  2.0000])
    """

    __constants__ = ["inplace", "negative_slope"]

    def __init__(self, negative_slope: float = 1e-2, inplace: bool = False) -> None:
        super().__init__()
        self.negative_slope, self.inplace = negative_slope, inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.leaky_relu(input, self.negative_slope, self.inplace)

    def extra_repr(self) -> str:
        return _settings(self, "negative_slope")


class LogSigmoid(Module):
    """The logarithm of the sigmoid.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.LogSigmoid()(dt.zeros(1))
    tensor([-0.6931])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.logsigmoid(input)


class Softplus(Module):
    """``log(1 + exp(beta * x)) / beta``; the input where ``beta * x`` is above ``threshold``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.Softplus()(dt.zeros(1))
    tensor([0.6931])
    """

    __constants__ = ["beta", "threshold"]

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__()
        self.beta, self.threshold = beta, threshold

    def forward(self, input: Tensor) -> Tensor:
        return F.softplus(input, self.beta, self.threshold)

    def extra_repr(self) -> str:
        return _settings(self, "beta", "threshold")


class Softshrink(Module):
    """The input moved towards zero by ``lambd``, without crossing it.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.Softshrink()(dt.tensor([-1.0, 2.0]))
    tensor([-0.5000,  1.5000])
    """

    __constants__ = ["lambd"]

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def forward(self, input: Tensor) -> Tensor:
        return F.softshrink(input, self.lambd)

    def extra_repr(self) -> str:
        return f"{self.lambd}"


class PReLU(Module):
    """A leaky relu whose slope is learned: one for all channels, or one for each.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.PReLU()(dt.tensor([-1.0, 2.0])).detach()
    tensor([-0.2500,  2.0000])
    """

    __constants__ = ["num_parameters"]

    def __init__(self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        self.num_parameters, self.init = num_parameters, init
        self.weight = Parameter(empty(num_parameters, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Give the slopes their initial value."""
        initial.constant_(self.weight, self.init)

    def forward(self, input: Tensor) -> Tensor:
        return F.prelu(input, self.weight)

    def extra_repr(self) -> str:
        return f"num_parameters={self.num_parameters}"


class Softsign(Module):
    """``x / (1 + abs(x))``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.Softsign()(dt.ones(1))
    tensor([0.5000])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.softsign(input)


class Tanhshrink(Module):
    """``x - tanh(x)``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.Tanhshrink()(dt.zeros(1))
    tensor([0.])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.tanhshrink(input)
