"""Parameters as one vector, and back."""

from __future__ import annotations

from collections.abc import Iterable

from ..._tensor.tensor import Tensor
from ...ops import FUNCTIONS

__all__ = ["parameters_to_vector", "vector_to_parameters"]


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """All elements of the parameters, concatenated.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.utils.parameters_to_vector([dt.ones(2), dt.zeros(1, 2)])
    tensor([1., 1., 0., 0.])
    """
    listed = list(parameters)
    _check_device(listed)
    return FUNCTIONS["cat"]([parameter.view(-1) for parameter in listed])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Make slices of a vector the values of the parameters; memory is shared.

    Examples
    --------
    >>> import dualtape as dt
    >>> layer = dt.nn.Linear(1, 1)
    >>> dt.nn.utils.vector_to_parameters(dt.tensor([2.0, 5.0]), layer.parameters())
    >>> layer(dt.ones(1)).item()
    7.0
    """
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected a Tensor, but got: {type(vec)}")
    listed = list(parameters)
    _check_device(listed)
    place = 0
    for parameter in listed:
        count = parameter.numel()
        parameter.data = vec[place : place + count].view_as(parameter).data
        place += count


def _check_device(parameters: list[Tensor]) -> None:
    devices = {str(parameter.device) for parameter in parameters}
    if len(devices) > 1:
        raise TypeError(f"Found parameters on different devices, this is not supported: {sorted(devices)}")
