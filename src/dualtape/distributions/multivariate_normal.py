"""The multivariate normal distribution."""

from __future__ import annotations

import math
from typing import Any

import dualtape as dt

from .._tensor.size import Size
from .._tensor.tensor import Tensor
from . import constraints
from .distribution import Distribution
from .utils import _standard_normal, attribute, lazy_property

__all__ = ["MultivariateNormal"]

# What holds for each of the matrices by which a covariance may be given.
OF_MATRICES: dict[str, constraints.Constraint] = {
    **dict.fromkeys(("covariance_matrix", "precision_matrix"), constraints.positive_definite),
    "scale_tril": constraints.lower_cholesky,
}


class MultivariateNormal(Distribution):
    """Normal distributions of vectors, of mean ``loc`` and one of: covariance matrix, precision matrix, the
    covariance's Cholesky factor.

    Examples
    --------
    >>> import dualtape as dt
    >>> d = dt.distributions.MultivariateNormal(dt.zeros(2), scale_tril=2 * dt.eye(2))
    >>> d.covariance_matrix
    tensor([[4., 0.],
            [0., 4.]])
    """

    arg_constraints = {"loc": constraints.real_vector, **OF_MATRICES}
    support = constraints.real_vector
    has_rsample = True
    _dt_expands = ("loc", "covariance_matrix", "scale_tril", "precision_matrix")
    _dt_shares = ("_unbroadcasted_scale_tril",)

    def __init__(
        self,
        loc: Any,
        covariance_matrix: Any = None,
        precision_matrix: Any = None,
        scale_tril: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        if loc.dim() < 1:
            raise ValueError("MultivariateNormal: loc needs a dimension for the vectors, got a number")
        name, matrix = one_matrix(
            covariance_matrix=covariance_matrix, precision_matrix=precision_matrix, scale_tril=scale_tril
        )
        batch = Size(dt.broadcast_shapes(matrix.shape[:-2], loc.shape[:-1]))
        self.__dict__[name] = matrix.expand(batch + (-1, -1))
        self.loc = loc.expand(batch + (-1,))
        super().__init__(batch, self.loc.shape[-1:], validate_args=validate_args)
        self._unbroadcasted_scale_tril = lower_factor(name, matrix)

    def _dt_broadcast(self, matrix: Any) -> Any:
        return matrix.expand(self._batch_shape + self._event_shape + self._event_shape)

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The Cholesky factor of the covariance matrix."""
        return self._dt_broadcast(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The covariance matrix."""
        return self._dt_broadcast(self._unbroadcasted_scale_tril @ self._unbroadcasted_scale_tril.mT)

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance matrix."""
        return self._dt_broadcast(dt.cholesky_inverse(self._unbroadcasted_scale_tril))

    mean = attribute("loc")
    mode = attribute("loc")

    @property
    def variance(self) -> Tensor:
        return self._unbroadcasted_scale_tril.square().sum(-1).expand(self._batch_shape + self._event_shape)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        noise = _standard_normal(self._extended_shape(sample_shape), self.loc.dtype, self.loc.device)
        return self.loc + (self._unbroadcasted_scale_tril @ noise.unsqueeze(-1)).squeeze(-1)

    def log_prob(self, value: Any) -> Tensor:
        self._dt_check_value(value)
        factor = self._unbroadcasted_scale_tril
        distance = squared_length(factor, value - self.loc)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + distance) - log_diagonal(factor)

    def entropy(self) -> Tensor:
        constant = 0.5 * self._event_shape[0] * (1.0 + math.log(2 * math.pi))
        return (constant + log_diagonal(self._unbroadcasted_scale_tril)).expand(self._batch_shape)


def one_matrix(**given: Any) -> tuple[str, Any]:
    """Return the name and the value of the only matrix that was given."""
    found = {name: matrix for name, matrix in given.items() if matrix is not None}
    if len(found) != 1:
        raise ValueError(f"expected exactly one of {', '.join(given)}, got {len(found)}")
    ((name, matrix),) = found.items()
    if matrix.dim() < 2:
        raise ValueError(f"{name} is a matrix or a batch of them, got {matrix.dim()} dimensions")
    return name, matrix


def lower_factor(name: str, matrix: Any) -> Any:
    """Return the Cholesky factor of the covariance, from the matrix of this name."""
    if name == "scale_tril":
        return matrix
    if name == "covariance_matrix":
        return dt.linalg.cholesky(matrix)
    # with its axes reversed, the inverse of a factor of the precision is lower triangular
    factor = dt.linalg.cholesky(matrix.flip((-2, -1))).flip((-2, -1)).mT
    identity = dt.eye(matrix.shape[-1], dtype=matrix.dtype, device=matrix.device)
    return dt.linalg.solve_triangular(factor, identity.expand(matrix.shape), upper=False)


def log_diagonal(factor: Any) -> Any:
    """Return half of the logarithm of the determinant of ``factor @ factor.mT``."""
    return factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)


def squared_length(factor: Any, x: Any) -> Any:
    """Return the squared length of ``inverse(factor) @ x``, for vectors ``x``."""
    if factor.dim() == 2:  # all at once
        solved = dt.linalg.solve_triangular(factor, x.reshape(-1, x.shape[-1]).mT, upper=False)
        return solved.square().sum(0).reshape(x.shape[:-1])
    return dt.linalg.solve_triangular(factor, x.unsqueeze(-1), upper=False).square().sum((-2, -1))
