"""Initial values of parameters. Each function writes into its argument, unrecorded."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import wraps
from typing import Any

from .._listing import listing
from .._tensor.dtypes import float32
from .._tensor.shaped import empty
from .._tensor.tensor import Tensor
from ..errors import warn
from ..modes import no_grad
from ..random import randperm

__all__ = [
    "calculate_gain",
    "uniform_",
    "normal_",
    "trunc_normal_",
    "constant_",
    "ones_",
    "zeros_",
    "eye_",
    "dirac_",
    "xavier_uniform_",
    "xavier_normal_",
    "kaiming_uniform_",
    "kaiming_normal_",
    "orthogonal_",
    "sparse_",
    "uniform",
    "normal",
    "constant",
    "eye",
    "dirac",
    "xavier_uniform",
    "xavier_normal",
    "kaiming_uniform",
    "kaiming_normal",
    "orthogonal",
    "sparse",
]

_LINEAR = ("linear", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d")


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """The factor that keeps the variance of values through a nonlinearity.

    Parameters
    ----------
    nonlinearity : str
        The name of its function: ``"linear"`` and the convolutions, ``"sigmoid"``, ``"tanh"``, ``"relu"``,
        ``"leaky_relu"``, ``"selu"``.
    param : float, optional
        The slope of ``"leaky_relu"``; default 0.01.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.init.calculate_gain("tanh")
    1.6666666666666667
    """
    if nonlinearity == "leaky_relu":
        slope = 0.01 if param is None else param
        if isinstance(slope, bool) or not isinstance(slope, (int, float)):
            raise ValueError(f"negative_slope must be a number, got {param!r}")
        return math.sqrt(2.0 / (1 + slope**2))
    gains = {**dict.fromkeys((*_LINEAR, "sigmoid"), 1), "tanh": 5 / 3, "relu": math.sqrt(2), "selu": 3 / 4}
    if nonlinearity not in gains:
        raise ValueError(f"Unsupported nonlinearity {nonlinearity}: expected one of {[*gains, 'leaky_relu']}")
    return gains[nonlinearity]


# --- one distribution -----------------------------------------------------------------------------


def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Any = None) -> Tensor:
    """Fill with numbers drawn uniformly between ``a`` and ``b``.

    Examples
    --------
    >>> import dualtape as dt
    >>> w = dt.nn.init.uniform_(dt.empty(100), -1, 1)
    >>> bool((w.abs() <= 1).all())
    True
    """
    with no_grad():
        return tensor.uniform_(a, b, generator=generator)


def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Any = None) -> Tensor:
    """Fill with numbers of a normal distribution.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.init.normal_(dt.empty(2), 3.0, 0.0)
    tensor([3., 3.])
    """
    with no_grad():
        return tensor.normal_(mean, std, generator=generator)


def trunc_normal_(
    tensor: Tensor, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0, generator: Any = None
) -> Tensor:
    """Fill with numbers of a normal distribution that lie between ``a`` and ``b``.

    Examples
    --------
    >>> import dualtape as dt
    >>> w = dt.nn.init.trunc_normal_(dt.empty(1000))
    >>> bool((w.abs() <= 2).all())
    True
    """
    if mean < a - 2 * std or mean > b + 2 * std:
        warn(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. Values may be distributed wrongly.",
        )
    # Computed in single precision: in half precision each step would round to few distinct values.
    if tensor.dtype.itemsize == 2:
        single = empty(tuple(tensor.shape), dtype=float32, device=tensor.device)
        with no_grad():
            tensor.copy_(trunc_normal_(single, mean, std, a, b, generator))
            return tensor.clamp_(a, b)
    lowest, highest = (math.erf((end - mean) / (std * math.sqrt(2))) for end in (a, b))
    with no_grad():
        tensor.uniform_(lowest, highest, generator=generator)  # what erf gives of the values
        return tensor.erfinv_().mul_(std * math.sqrt(2)).add_(mean).clamp_(a, b)


def constant_(tensor: Tensor, val: float) -> Tensor:
    """Fill with one number.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.init.constant_(dt.empty(2), 0.3)
    tensor([0.3000, 0.3000])
    """
    with no_grad():
        return tensor.fill_(val)


def ones_(tensor: Tensor) -> Tensor:
    """Fill with ones.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.init.ones_(dt.empty(2))
    tensor([1., 1.])
    """
    return constant_(tensor, 1.0)


def zeros_(tensor: Tensor) -> Tensor:
    """Fill with zeros.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.init.zeros_(dt.empty(2))
    tensor([0., 0.])
    """
    return constant_(tensor, 0.0)


# --- identities -----------------------------------------------------------------------------------


def eye_(tensor: Tensor) -> Tensor:
    """Fill a matrix with the identity.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.init.eye_(dt.empty(2, 3))
    tensor([[1., 0., 0.],
            [0., 1., 0.]])
    """
    if tensor.dim() != 2:
        raise ValueError(f"Only tensors with 2 dimensions are supported, got {tensor.dim()}")
    with no_grad():
        tensor.zero_().diagonal().fill_(1)
    return tensor


def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Fill the weight of a convolution with the identity of as many channels as it can preserve.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.init.dirac_(dt.empty(2, 2, 3))
    tensor([[[0., 1., 0.],
             [0., 0., 0.]],
    <BLANKLINE>
            [[0., 0., 0.],
             [0., 1., 0.]]])
    """
    if tensor.dim() not in (3, 4, 5):
        raise ValueError(f"Only tensors with 3, 4, or 5 dimensions are supported, got {tensor.dim()}")
    rows, columns = tensor.shape[:2]
    if rows % groups:
        raise ValueError(f"dim 0 must be divisible by groups: it is {rows}, and groups {groups}")
    middle = tuple(n // 2 for n in tensor.shape[2:])
    with no_grad():
        tensor.zero_()
        for group in range(groups):
            for k in range(min(rows // groups, columns)):
                tensor[(group * (rows // groups) + k, k, *middle)] = 1
    return tensor


# --- by the number of inputs and outputs ----------------------------------------------------------


def _calculate_fan_in_and_fan_out(tensor: Tensor) -> tuple[int, int]:
    if tensor.dim() < 2:
        raise ValueError(
            f"Fan in and fan out can not be computed for tensor with fewer than 2 dimensions, got {tensor.dim()}"
        )
    field = math.prod(tensor.shape[2:])
    return tensor.shape[1] * field, tensor.shape[0] * field


def _calculate_correct_fan(tensor: Tensor, mode: str) -> int:
    if mode.lower() not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    return _calculate_fan_in_and_fan_out(tensor)[mode.lower() == "fan_out"]


def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    """Fill uniformly within ``gain * sqrt(6 / (inputs + outputs))`` of zero: Glorot initialisation.

    Examples
    --------
    >>> import dualtape as dt
    >>> w = dt.nn.init.xavier_uniform_(dt.empty(4, 2))
    >>> bool((w.abs() <= 1).all())
    True
    """
    std = gain * math.sqrt(2.0 / sum(_calculate_fan_in_and_fan_out(tensor)))
    return uniform_(tensor, -math.sqrt(3.0) * std, math.sqrt(3.0) * std, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    """Fill normally, with a standard deviation of ``gain * sqrt(2 / (inputs + outputs))``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.init.xavier_normal_(dt.empty(4, 2)).shape
    dualtape.Size([4, 2])
    """
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / sum(_calculate_fan_in_and_fan_out(tensor))), generator)


def warn_of_nothing() -> None:
    warn("the tensor has no elements: nothing is initialised")


def _kaiming(tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float | None:
    """Return the standard deviation of He initialisation; None if there is nothing to fill."""
    if 0 in tensor.shape:
        warn_of_nothing()
        return None
    return calculate_gain(nonlinearity, a) / math.sqrt(_calculate_correct_fan(tensor, mode))


def kaiming_uniform_(
    tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: Any = None
) -> Tensor:
    """Fill uniformly within ``gain * sqrt(3 / inputs)`` of zero: He initialisation.

    Parameters
    ----------
    tensor : Tensor
    a : float
        The slope of the leaky relu that follows.
    mode : str
        ``"fan_in"`` keeps the spread of the forward, ``"fan_out"`` that of the backward.
    nonlinearity : str
        What follows, as :func:`calculate_gain` names it.
    generator : Generator, optional

    Examples
    --------
    >>> import dualtape as dt
    >>> w = dt.nn.init.kaiming_uniform_(dt.empty(4, 6), nonlinearity="relu")
    >>> bool((w.abs() <= 1).all())
    True
    """
    std = _kaiming(tensor, a, mode, nonlinearity)
    return tensor if std is None else uniform_(tensor, -math.sqrt(3.0) * std, math.sqrt(3.0) * std, generator)


def kaiming_normal_(
    tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: Any = None
) -> Tensor:
    """Fill normally, with a standard deviation of ``gain / sqrt(inputs)``; arguments as of :func:`kaiming_uniform_`.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.init.kaiming_normal_(dt.empty(4, 2), mode="fan_out").shape
    dualtape.Size([4, 2])
    """
    std = _kaiming(tensor, a, mode, nonlinearity)
    return tensor if std is None else normal_(tensor, 0.0, std, generator)


# --- matrices -------------------------------------------------------------------------------------


def orthogonal_(tensor: Tensor, gain: float = 1, generator: Any = None) -> Tensor:
    """Fill with ``gain`` times a matrix of orthonormal rows, or columns if there are fewer of them.

    Dimensions after the first are taken as one.

    Examples
    --------
    >>> import dualtape as dt
    >>> w = dt.nn.init.orthogonal_(dt.empty(2, 3))
    >>> dt.allclose(w @ w.T, dt.eye(2), atol=1e-6)
    True
    """
    if tensor.dim() < 2:
        raise ValueError(f"Only tensors with 2 or more dimensions are supported, got {tensor.dim()}")
    if tensor.numel() == 0:
        return tensor
    from .. import linalg

    with no_grad():
        rows, columns = tensor.shape[0], tensor.numel() // tensor.shape[0]
        matrix = tensor.new_empty((max(rows, columns), min(rows, columns))).normal_(0, 1, generator=generator)
        q, r = linalg.qr(matrix)
        # Otherwise the signs would be those of the algorithm, and not evenly distributed.
        q = q * r.diagonal().sign()
        return tensor.copy_((q.T if rows < columns else q).reshape(tensor.shape)).mul_(gain)


def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01, generator: Any = None) -> Tensor:
    """Fill a matrix normally, with a fraction ``sparsity`` of each column set to zero.

    Examples
    --------
    >>> import dualtape as dt
    >>> w = dt.nn.init.sparse_(dt.empty(4, 3), sparsity=0.5)
    >>> (w == 0).sum(0)
    tensor([2, 2, 2])
    """
    if tensor.dim() != 2:
        raise ValueError(f"Only tensors with 2 dimensions are supported, got {tensor.dim()}")
    rows, columns = tensor.shape
    zeros = math.ceil(sparsity * rows)
    with no_grad():
        tensor.normal_(0, std, generator=generator)
        for column in range(columns):
            tensor[randperm(rows)[:zeros], column] = 0
    return tensor


# --- older names ----------------------------------------------------------------------------------


def _older(function: Callable) -> Callable:
    new, old = function.__name__, function.__name__[:-1]

    @wraps(function)
    def deprecated(*args: Any, **kwargs: Any) -> Any:
        warn(f"`nn.init.{old}` is now deprecated in favor of `nn.init.{new}`.", FutureWarning)
        return function(*args, **kwargs)

    deprecated.__name__ = old
    return deprecated


uniform, normal, constant = _older(uniform_), _older(normal_), _older(constant_)
eye, dirac = _older(eye_), _older(dirac_)
xavier_uniform, xavier_normal = _older(xavier_uniform_), _older(xavier_normal_)
kaiming_uniform, kaiming_normal = _older(kaiming_uniform_), _older(kaiming_normal_)
orthogonal, sparse = _older(orthogonal_), _older(sparse_)

__dir__ = listing(__name__)
