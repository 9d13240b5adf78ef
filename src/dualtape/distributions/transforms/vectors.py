"""Transforms of vectors and matrices."""

from __future__ import annotations

import math
from typing import Any

import dualtape as dt

from ..._tensor.size import Size
from .. import constraints
from ..utils import softplus, tril_matrix_to_vec, vec_to_tril_matrix
from .base import SameClass, Transform, check_dims
from .elementwise import _clipped_sigmoid


class ReshapeTransform(Transform):
    """Events of the shape ``in_shape`` to events of ``out_shape``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.distributions.ReshapeTransform((2, 3), (6,))(dt.ones(5, 2, 3)).shape
    dualtape.Size([5, 6])
    """

    bijective = True

    def __init__(self, in_shape: Any, out_shape: Any, cache_size: int = 0) -> None:
        self.in_shape, self.out_shape = Size(in_shape), Size(out_shape)
        if self.in_shape.numel() != self.out_shape.numel():
            raise ValueError(f"ReshapeTransform: {tuple(in_shape)} and {tuple(out_shape)} do not have as many elements")
        super().__init__(cache_size=cache_size)

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:
        return constraints.independent(constraints.real, len(self.in_shape))

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Any:
        return constraints.independent(constraints.real, len(self.out_shape))

    def with_cache(self, cache_size: int = 1) -> Any:
        if self._cache_size == cache_size:
            return self
        return ReshapeTransform(self.in_shape, self.out_shape, cache_size=cache_size)

    def _call(self, x: Any) -> Any:
        return x.reshape(x.shape[: x.dim() - len(self.in_shape)] + self.out_shape)

    def _inverse(self, y: Any) -> Any:
        return y.reshape(y.shape[: y.dim() - len(self.out_shape)] + self.in_shape)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return x.new_zeros(x.shape[: x.dim() - len(self.in_shape)])

    def forward_shape(self, shape: Any) -> Any:
        return _reshaped(shape, self.in_shape, self.out_shape)

    def inverse_shape(self, shape: Any) -> Any:
        return _reshaped(shape, self.out_shape, self.in_shape)


def _reshaped(shape: Any, before: Size, after: Size) -> Any:
    check_dims(len(shape), len(before))
    batch = len(shape) - len(before)
    if tuple(shape[batch:]) != before:
        raise ValueError(f"ReshapeTransform: expected events of the shape {tuple(before)}, got {tuple(shape[batch:])}")
    return Size(shape[:batch]) + after


class SoftmaxTransform(SameClass):
    """``y = exp(x)``, normalised; its inverse gives logarithms.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.distributions.SoftmaxTransform()(dt.zeros(2))
    tensor([0.5000, 0.5000])
    """

    domain = constraints.real_vector
    codomain = constraints.simplex

    def _call(self, x: Any) -> Any:
        return x.softmax(-1)

    def _inverse(self, y: Any) -> Any:
        return y.log()

    def forward_shape(self, shape: Any) -> Any:
        check_dims(len(shape), 1)
        return shape

    inverse_shape = forward_shape


def _pieces_left(x: Any, count: int) -> Any:
    """Return ``count``, ``count - 1``, ...: the number of pieces that share the rest of the stick, at each break."""
    return count - dt.arange(x.shape[-1], dtype=x.dtype, device=x.device)


class StickBreakingTransform(SameClass):
    """Real numbers to proportions, one more: each determines the part of the rest of a stick that is broken off.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.distributions.StickBreakingTransform()(dt.zeros(3))
    tensor([0.2500, 0.2500, 0.2500, 0.2500])
    """

    domain = constraints.real_vector
    codomain = constraints.simplex
    bijective = True

    def _call(self, x: Any) -> Any:
        part = _clipped_sigmoid(x - _pieces_left(x, x.shape[-1]).log())
        rest = (1 - part).cumprod(-1)
        pad = dt.nn.functional.pad
        return pad(part, [0, 1], value=1) * pad(rest, [1, 0], value=1)

    def _inverse(self, y: Any) -> Any:
        first = y[..., :-1]
        rest = (1 - first.cumsum(-1)).clamp(min=dt.finfo(y.dtype).tiny)
        return first.log() - rest.log() + _pieces_left(first, y.shape[-1] - 1).log()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        x = x - _pieces_left(x, x.shape[-1]).log()
        return (-softplus(x) + y[..., :-1].log()).sum(-1)

    def forward_shape(self, shape: Any) -> Any:
        check_dims(len(shape), 1)
        return (*shape[:-1], shape[-1] + 1)

    def inverse_shape(self, shape: Any) -> Any:
        check_dims(len(shape), 1)
        return (*shape[:-1], shape[-1] - 1)


class CorrCholeskyTransform(Transform):
    """Real numbers to the Cholesky factor of a correlation matrix: partial correlations, of which each row breaks a
    stick.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.distributions.CorrCholeskyTransform()(dt.tensor([0.5493]))
    tensor([[1.0000, 0.0000],
            [0.5000, 0.8660]])
    """

    domain = constraints.real_vector
    codomain = constraints.corr_cholesky
    bijective = True

    def _call(self, x: Any) -> Any:
        eps = dt.finfo(x.dtype).eps
        partial = vec_to_tril_matrix(x.tanh().clamp(min=-1 + eps, max=1 - eps), diag=-1)
        rest = (1 - partial**2).sqrt().cumprod(-1)
        unit = partial + dt.eye(partial.shape[-1], dtype=x.dtype, device=x.device)
        return unit * dt.nn.functional.pad(rest[..., :-1], [1, 0], value=1)

    def _inverse(self, y: Any) -> Any:
        rest = dt.nn.functional.pad((1 - (y * y).cumsum(-1))[..., :-1], [1, 0], value=1)
        partial = tril_matrix_to_vec(y, diag=-1) / tril_matrix_to_vec(rest, diag=-1).sqrt()
        return (partial.log1p() - (-partial).log1p()) / 2

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        rest = tril_matrix_to_vec(1 - (y * y).cumsum(-1), diag=-2)
        stick = 0.5 * rest.log().sum(-1)
        return stick - 2 * (x + softplus(-2 * x) - math.log(2.0)).sum(-1)

    def forward_shape(self, shape: Any) -> Any:
        check_dims(len(shape), 1)
        n = round((0.25 + 2 * shape[-1]) ** 0.5 + 0.5)
        if n * (n - 1) // 2 != shape[-1]:
            raise ValueError(f"CorrCholeskyTransform: {shape[-1]} numbers fill no triangle")
        return (*shape[:-1], n, n)

    def inverse_shape(self, shape: Any) -> Any:
        check_dims(len(shape), 2)
        if shape[-2] != shape[-1]:
            raise ValueError(f"CorrCholeskyTransform: expected square matrices, got the shape {tuple(shape)}")
        return (*shape[:-2], shape[-1] * (shape[-1] - 1) // 2)


class LowerCholeskyTransform(SameClass):
    """Matrices to lower triangular ones with a positive diagonal, by its exponential.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.distributions.LowerCholeskyTransform()(dt.zeros(2, 2))
    tensor([[1., 0.],
            [0., 1.]])
    """

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.lower_cholesky

    def _call(self, x: Any) -> Any:
        return x.tril(-1) + x.diagonal(dim1=-2, dim2=-1).exp().diag_embed()

    def _inverse(self, y: Any) -> Any:
        return y.tril(-1) + y.diagonal(dim1=-2, dim2=-1).log().diag_embed()


class PositiveDefiniteTransform(SameClass):
    """Matrices to positive definite ones, by their Cholesky factors.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.distributions.PositiveDefiniteTransform()(dt.zeros(2, 2))
    tensor([[1., 0.],
            [0., 1.]])
    """

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.positive_definite

    def _call(self, x: Any) -> Any:
        factor = LowerCholeskyTransform()(x)
        return factor @ factor.mT

    def _inverse(self, y: Any) -> Any:
        return LowerCholeskyTransform().inv(dt.linalg.cholesky(y))
