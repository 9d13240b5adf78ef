"""Clipping gradients: by their norm, or element by element."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from ..._tensor.creation import tensor
from ..._tensor.tensor import Tensor
from ...errors import warn
from ...modes import no_grad
from ...ops import FUNCTIONS

__all__ = ["clip_grad_norm", "clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "get_total_norm"]


def _listed(function: str, parameters: Tensor | Iterable[Tensor]) -> list[Tensor]:
    if isinstance(parameters, Tensor):
        return [parameters]
    listed = list(parameters)
    if not listed and not isinstance(parameters, (list, tuple)):
        warn(f"{function}: `parameters` is an empty generator, no gradient clipping will occur")
    return listed


@no_grad()
def get_total_norm(
    tensors: Any, norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach: bool | None = None
) -> Tensor:
    """The norm of all elements of several tensors, as if they were one vector.

    Parameters
    ----------
    tensors : Tensor or iterable of Tensor
    norm_type : float
        ``p`` of the p-norm; infinity is the largest.
    error_if_nonfinite : bool
        Raise if it is not finite.
    foreach : bool, optional
        How PyTorch launches its kernels; here the results are the same.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.utils.get_total_norm([dt.tensor([3.0]), dt.tensor([4.0])])
    tensor(5.)
    """
    listed = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    norm_type = float(norm_type)
    if not listed:
        return tensor(0.0)
    from ...linalg import vector_norm

    norms = [vector_norm(t, norm_type).to(listed[0].device) for t in listed]
    total = vector_norm(FUNCTIONS["stack"](norms), norm_type)
    if error_if_nonfinite and not math.isfinite(total.item()):
        raise RuntimeError(
            f"the gradients' norm of order {norm_type} is non-finite, so it cannot be clipped: look for an infinite"
            " or NaN gradient, or pass error_if_nonfinite=False to scale by it all the same"
        )
    return total


@no_grad()
def clip_grads_with_norm_(parameters: Any, max_norm: float, total_norm: Tensor, foreach: bool | None = None) -> None:
    """Scale the gradients of parameters by ``max_norm / total_norm``, if that is below one.

    Examples
    --------
    >>> import dualtape as dt
    >>> x = dt.ones(2, requires_grad=True)
    >>> (x * dt.tensor([3.0, 4.0])).sum().backward()
    >>> dt.nn.utils.clip_grads_with_norm_(x, 1.0, dt.tensor(5.0))
    >>> x.grad
    tensor([0.6000, 0.8000])
    """
    listed = [parameters] if isinstance(parameters, Tensor) else parameters
    scale = (float(max_norm) / (total_norm + 1e-6)).clamp(max=1.0)
    for parameter in listed:
        if parameter.grad is not None:
            parameter.grad.mul_(scale.to(parameter.grad.device))


@no_grad()
def clip_grad_norm_(
    parameters: Any,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Scale the gradients of parameters, together, so that their norm is at most ``max_norm``; return the norm before
    that.

    Parameters
    ----------
    parameters : Tensor or iterable of Tensor
    max_norm : float
    norm_type, error_if_nonfinite, foreach
        As of :func:`get_total_norm`.

    Examples
    --------
    >>> import dualtape as dt
    >>> x = dt.ones(2, requires_grad=True)
    >>> (x * dt.tensor([3.0, 4.0])).sum().backward()
    >>> dt.nn.utils.clip_grad_norm_(x, 1.0)
    tensor(5.)
    >>> x.grad
    tensor([0.6000, 0.8000])
    """
    listed = _listed("clip_grad_norm_", parameters)
    grads = [parameter.grad for parameter in listed if parameter.grad is not None]
    total = get_total_norm(grads, norm_type, error_if_nonfinite, foreach)
    clip_grads_with_norm_(listed, max_norm, total, foreach)
    return total


def clip_grad_norm(
    parameters: Any,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """A deprecated name of :func:`clip_grad_norm_`.

    Examples
    --------
    >>> import warnings, dualtape as dt
    >>> with warnings.catch_warnings(action="ignore"):
    ...     dt.nn.utils.clip_grad_norm([], 1.0)
    tensor(0.)
    """
    warn(
        "`nn.utils.clip_grad_norm` is now deprecated in favor of `nn.utils.clip_grad_norm_`.",
        FutureWarning,
    )
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)


@no_grad()
def clip_grad_value_(parameters: Any, clip_value: float, foreach: bool | None = None) -> None:
    """Clamp each element of the gradients to within ``clip_value`` of zero.

    Examples
    --------
    >>> import dualtape as dt
    >>> x = dt.ones(2, requires_grad=True)
    >>> (x * dt.tensor([3.0, -0.5])).sum().backward()
    >>> dt.nn.utils.clip_grad_value_(x, 1.0)
    >>> x.grad
    tensor([ 1.0000, -0.5000])
    """
    for parameter in _listed("clip_grad_value_", parameters):
        if parameter.grad is not None:
            parameter.grad.clamp_(-float(clip_value), float(clip_value))
