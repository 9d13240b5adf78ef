"""The distribution of Lewandowski, Kurowicka and Joe over correlation matrices, by their Cholesky factors."""

from __future__ import annotations

import math
from typing import Any

import dualtape as dt

from .._tensor.size import Size
from .._tensor.tensor import Tensor
from . import constraints
from .beta import Beta
from .distribution import Distribution
from .utils import _standard_normal, broadcast_all

__all__ = ["LKJCholesky"]


class LKJCholesky(Distribution):
    """Cholesky factors of correlation matrices of size ``dim``, with a density in proportion to
    ``det(correlation) ** (concentration - 1)``.

    Examples
    --------
    >>> import dualtape as dt
    >>> d = dt.distributions.LKJCholesky(3, 0.5)
    >>> d.sample().square().sum(-1).allclose(dt.ones(3))
    True
    """

    arg_constraints = {"concentration": constraints.positive}
    support = constraints.corr_cholesky
    _dt_expands = ("concentration",)
    _dt_shares = ("dim",)

    def __init__(self, dim: int, concentration: Any = 1.0, validate_args: bool | None = None) -> None:
        if dim < 2:
            raise ValueError(f"LKJCholesky: a correlation matrix has a size of at least 2, got dim={dim}")
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        batch = self.concentration.shape
        # The squared length of row i without its diagonal: the onion method, from which rows grow one by one.
        kept = dt.arange(dim - 1, dtype=self.concentration.dtype, device=self.concentration.device)
        rows = dt.cat([kept.new_zeros(1), kept])
        marginal = self.concentration.unsqueeze(-1) + 0.5 * (dim - 2)
        self._beta = Beta(0.5 * (rows + 1), marginal - 0.5 * rows, validate_args=False)
        super().__init__(batch, Size((dim, dim)), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> LKJCholesky:
        new = super().expand(batch_shape, _instance)
        new._beta = self._beta.expand(Size(batch_shape) + (self.dim,))
        return new

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with dt.no_grad():
            length = self._beta.sample(sample_shape).unsqueeze(-1)
            shape, like = self._extended_shape(sample_shape), self.concentration
            direction = _standard_normal(shape, like.dtype, like.device).tril(-1)
            norm = dt.linalg.norm(direction, dim=-1, keepdim=True)
            rows = length.sqrt() * direction / norm.masked_fill(norm == 0, 1)  # the first has no direction
            rest = (1 - rows.square().sum(-1)).clamp(min=dt.finfo(rows.dtype).tiny)
            return rows + rest.sqrt().diag_embed()

    def log_prob(self, value: Any) -> Tensor:
        self._dt_check_value(value)
        # the determinant, and that of the map from the factor to the correlations, as powers of the diagonal
        diagonal = value.diagonal(dim1=-2, dim2=-1)[..., 1:]
        row = dt.arange(2, self.dim + 1, device=self.concentration.device)
        power = 2 * (self.concentration - 1).unsqueeze(-1) + self.dim - row
        others = self.dim - 1
        alpha = self.concentration + 0.5 * others
        normalizer = 0.5 * others * math.log(math.pi) + (alpha - 0.5).mvlgamma(others) - alpha.lgamma() * others
        return (power * diagonal.log()).sum(-1) - normalizer
