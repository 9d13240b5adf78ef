"""The multivariate normal distribution whose covariance is a diagonal and a few directions."""

from __future__ import annotations

import math
from typing import Any

import dualtape as dt

from .._tensor.size import Size
from .._tensor.tensor import Tensor
from . import constraints
from .distribution import Distribution
from .multivariate_normal import log_diagonal, squared_length
from .utils import _standard_normal, attribute, lazy_property

__all__ = ["LowRankMultivariateNormal"]


class LowRankMultivariateNormal(Distribution):
    """Normal distributions of vectors of covariance ``cov_factor @ cov_factor.mT + diag(cov_diag)``.

    All is computed by factors of the size of the few columns of ``cov_factor``.

    Examples
    --------
    >>> import dualtape as dt
    >>> d = dt.distributions.LowRankMultivariateNormal(dt.zeros(2), dt.ones(2, 1), dt.ones(2))
    >>> d.covariance_matrix
    tensor([[2., 1.],
            [1., 2.]])
    """

    support = constraints.real_vector
    arg_constraints = {
        "loc": constraints.real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }
    has_rsample = True
    _dt_expands = ("loc", "cov_factor", "cov_diag")
    _dt_shares = ("_unbroadcasted_cov_factor", "_unbroadcasted_cov_diag", "_capacitance_tril")

    def __init__(self, loc: Any, cov_factor: Any, cov_diag: Any, validate_args: bool | None = None) -> None:
        if loc.dim() < 1:
            raise ValueError("LowRankMultivariateNormal: loc needs a dimension for the vectors, got a number")
        event = loc.shape[-1:]
        if cov_factor.dim() < 2:
            raise ValueError(f"cov_factor is a matrix or a batch of them, got {cov_factor.dim()} dimensions")
        if cov_factor.shape[-2:-1] != event:
            raise ValueError(
                f"cov_factor has a row for each of the {event[0]} elements of loc, got {cov_factor.shape[-2]}"
            )
        if cov_diag.shape[-1:] != event:
            raise ValueError(f"cov_diag has as many elements as loc, {event[0]}, got the shape {tuple(cov_diag.shape)}")
        try:
            batch = Size(dt.broadcast_shapes(loc.shape[:-1], cov_factor.shape[:-2], cov_diag.shape[:-1]))
        except RuntimeError as error:
            raise ValueError(
                f"the batches of loc {tuple(loc.shape)}, cov_factor {tuple(cov_factor.shape)} and cov_diag"
                f" {tuple(cov_diag.shape)} do not go together"
            ) from error
        self.loc = loc.expand(batch + event)
        self.cov_factor = cov_factor.expand(batch + cov_factor.shape[-2:])
        self.cov_diag = cov_diag.expand(batch + event)
        self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag = cov_factor, cov_diag
        self._capacitance_tril = capacitance_tril(cov_factor, cov_diag)
        super().__init__(batch, event, validate_args=validate_args)

    def _dt_broadcast(self, matrix: Any) -> Any:
        return matrix.expand(self._batch_shape + self._event_shape + self._event_shape)

    mean = attribute("loc")
    mode = attribute("loc")

    @lazy_property
    def variance(self) -> Tensor:
        own = self._unbroadcasted_cov_factor.square().sum(-1) + self._unbroadcasted_cov_diag
        return own.expand(self._batch_shape + self._event_shape)

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The Cholesky factor of the covariance matrix."""
        # that of D^-1/2 W W' D^-1/2 + 1 is well conditioned, and scaling its rows keeps it triangular
        root = self._unbroadcasted_cov_diag.sqrt().unsqueeze(-1)
        scaled = self._unbroadcasted_cov_factor / root
        identity = dt.eye(scaled.shape[-2], dtype=scaled.dtype, device=scaled.device)
        return self._dt_broadcast(root * dt.linalg.cholesky(scaled @ scaled.mT + identity))

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The covariance matrix."""
        factor = self._unbroadcasted_cov_factor
        return self._dt_broadcast(factor @ factor.mT + self._unbroadcasted_cov_diag.diag_embed())

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance matrix, by that of the capacitance matrix (Woodbury)."""
        diagonal = self._unbroadcasted_cov_diag
        scaled = self._unbroadcasted_cov_factor.mT / diagonal.unsqueeze(-2)
        inner = dt.linalg.solve_triangular(self._capacitance_tril, scaled, upper=False)
        return self._dt_broadcast(diagonal.reciprocal().diag_embed() - inner.mT @ inner)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        few = shape[:-1] + self.cov_factor.shape[-1:]
        directions = _standard_normal(few, self.loc.dtype, self.loc.device).unsqueeze(-1)
        own = _standard_normal(shape, self.loc.dtype, self.loc.device)
        along = (self._unbroadcasted_cov_factor @ directions).squeeze(-1)
        return self.loc + along + self._unbroadcasted_cov_diag.sqrt() * own

    def log_prob(self, value: Any) -> Tensor:
        self._dt_check_value(value)
        factor, diagonal = self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag
        distance = low_rank_distance(factor, diagonal, value - self.loc, self._capacitance_tril)
        log_det = low_rank_log_det(diagonal, self._capacitance_tril)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + log_det + distance)

    def entropy(self) -> Tensor:
        log_det = low_rank_log_det(self._unbroadcasted_cov_diag, self._capacitance_tril)
        entropy = 0.5 * (self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + log_det)
        return entropy.expand(self._batch_shape)


def capacitance_tril(factor: Any, diagonal: Any) -> Any:
    """The Cholesky factor of ``1 + W' D^-1 W``."""
    identity = dt.eye(factor.shape[-1], dtype=factor.dtype, device=factor.device)
    return dt.linalg.cholesky(factor.mT @ (factor / diagonal.unsqueeze(-1)) + identity)


def low_rank_log_det(diagonal: Any, capacitance: Any) -> Any:
    """``log det(W W' + D)``."""
    return 2 * log_diagonal(capacitance) + diagonal.log().sum(-1)


def low_rank_distance(factor: Any, diagonal: Any, x: Any, capacitance: Any) -> Any:
    """``x' (W W' + D)^-1 x``."""
    scaled = x / diagonal
    inner = (factor.mT @ scaled.unsqueeze(-1)).squeeze(-1)
    return (x * scaled).sum(-1) - squared_length(capacitance, inner)
