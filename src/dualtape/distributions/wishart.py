"""The Wishart distribution."""

from __future__ import annotations

import math
from typing import Any

import dualtape as dt

from .._tensor.size import Size
from .._tensor.tensor import Tensor
from ..errors import warn
from . import constraints
from .chi2 import Chi2
from .exp_family import Canonical, ExponentialFamily
from .multivariate_normal import OF_MATRICES, log_diagonal, lower_factor, one_matrix
from .utils import _standard_normal, holds_everywhere, lazy_property, shown

__all__ = ["Wishart"]


class Wishart(ExponentialFamily):
    """Wishart distributions of positive definite matrices: sums of ``df`` outer products of normal vectors with
    themselves; their covariance is given by itself, its inverse, or its Cholesky factor.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.distributions.Wishart(3.0, dt.eye(2)).mean
    tensor([[3., 0.],
            [0., 3.]])
    """

    support = constraints.positive_definite
    has_rsample = True
    _dt_expands = ("df", "covariance_matrix", "scale_tril", "precision_matrix")
    _dt_shares = ("_unbroadcasted_scale_tril",)

    @property
    def arg_constraints(self) -> dict[str, constraints.Constraint]:
        return {**OF_MATRICES, "df": constraints.greater_than(self._event_shape[-1] - 1)}

    def __init__(
        self,
        df: Any,
        covariance_matrix: Any = None,
        precision_matrix: Any = None,
        scale_tril: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        name, matrix = one_matrix(
            covariance_matrix=covariance_matrix, precision_matrix=precision_matrix, scale_tril=scale_tril
        )
        df = df if isinstance(df, Tensor) else dt.tensor(df, dtype=matrix.dtype, device=matrix.device)
        batch, event = Size(dt.broadcast_shapes(matrix.shape[:-2], df.shape)), matrix.shape[-2:]
        least = event[-1] - 1
        if not holds_everywhere(df > least):
            raise ValueError(
                f"Wishart: df has to be greater than {least}, one less than the size of the matrices, got {shown(df)}"
            )
        if not holds_everywhere(df >= event[-1]):
            warn("Wishart: df is less than the size of the matrices: samples are likely to be singular")
        self.df = df.expand(batch)
        self.__dict__[name] = matrix.expand(batch + (-1, -1))
        super().__init__(batch, event, validate_args=validate_args)
        self._unbroadcasted_scale_tril = lower_factor(name, matrix)

    def _dt_broadcast(self, matrix: Any) -> Any:
        return matrix.expand(self._batch_shape + self._event_shape)

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The Cholesky factor of the vectors' covariance matrix."""
        return self._dt_broadcast(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The vectors' covariance matrix."""
        return self._dt_broadcast(self._unbroadcasted_scale_tril @ self._unbroadcasted_scale_tril.mT)

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the vectors' covariance matrix."""
        return self._dt_broadcast(dt.cholesky_inverse(self._unbroadcasted_scale_tril))

    def _dt_df(self, dims: int) -> Any:
        return self.df.reshape(*self._batch_shape, *[1] * dims)

    @property
    def mean(self) -> Tensor:
        return self._dt_df(2) * self.covariance_matrix

    @property
    def mode(self) -> Tensor:
        factor = self._dt_df(2) - self._event_shape[-1] - 1
        return factor.masked_fill(factor <= 0, math.nan) * self.covariance_matrix

    @property
    def variance(self) -> Tensor:
        covariance = self.covariance_matrix
        diagonal = covariance.diagonal(dim1=-2, dim2=-1)
        return self._dt_df(2) * (covariance**2 + diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2))

    def _bartlett_sampling(self, sample_shape: Any = ()) -> Tensor:
        """Return samples by the Cholesky factor of a standard one: chi variables on the diagonal, normal ones
        below it.
        """
        shape, like = self._extended_shape(sample_shape), self._unbroadcasted_scale_tril
        freedom = self._dt_df(1) - dt.arange(self._event_shape[-1], dtype=like.dtype, device=like.device)
        diagonal = Chi2(freedom, validate_args=False).rsample(sample_shape).sqrt()
        below = _standard_normal(shape, like.dtype, like.device).tril(-1)
        factor = like @ (below + diagonal.diag_embed())
        return factor @ factor.mT

    def rsample(self, sample_shape: Any = (), max_try_correction: int | None = None) -> Tensor:
        """Samples; those that rounding has made singular are drawn again, up to ``max_try_correction`` times.

        By default 3 times for single samples, 10 for batches.
        """
        if max_try_correction is None:
            max_try_correction = 3 if self._batch_shape else 10
        sample = self._bartlett_sampling(sample_shape)
        for _ in range(max_try_correction):
            singular = ~self.support.check(sample)
            if not bool(singular.any()):
                return sample
            again = self._bartlett_sampling(sample_shape)
            sample = dt.where(singular.unsqueeze(-1).unsqueeze(-1), again, sample)
        if bool((~self.support.check(sample)).any()):
            warn("Wishart: a sample is singular")
        return sample

    def log_prob(self, value: Any) -> Tensor:
        self._dt_check_value(value)
        nu, p, factor = self.df, self._event_shape[-1], self._unbroadcasted_scale_tril
        log_det = dt.linalg.slogdet(value).logabsdet
        trace = dt.cholesky_solve(value, factor).diagonal(dim1=-2, dim2=-1).sum(-1)
        normalizer = 0.5 * nu * p * math.log(2) + nu * log_diagonal(factor) + (nu / 2).mvlgamma(p)
        return 0.5 * (nu - p - 1) * log_det - 0.5 * trace - normalizer

    def entropy(self) -> Tensor:
        nu, p = self.df, self._event_shape[-1]
        steps = dt.arange(p, dtype=nu.dtype, device=nu.device)
        mean_log_det = ((nu.unsqueeze(-1) - steps) / 2).digamma().sum(-1)
        log_det = log_diagonal(self._unbroadcasted_scale_tril)
        volume = (p + 1) * (log_det + 0.5 * p * math.log(2)) + (nu / 2).mvlgamma(p)
        return volume - 0.5 * (nu - p - 1) * mean_log_det + 0.5 * nu * p

    def _dt_canonical(self) -> Canonical:
        def log_normalizer(x: Any, y: Any) -> Tensor:
            p = self._event_shape[-1]
            half = y + (p + 1) / 2
            return half * (-dt.linalg.slogdet(-2 * x).logabsdet + p * math.log(2)) + half.mvlgamma(p)

        return Canonical((-0.5 * self.precision_matrix, 0.5 * (self.df - self._event_shape[-1] - 1)), log_normalizer, 0)
