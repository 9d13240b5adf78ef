"""The distribution of a transformed random variable."""

from __future__ import annotations

import math
from typing import Any

import dualtape as dt

from .._tensor.size import Size
from .._tensor.tensor import Tensor
from . import constraints
from .distribution import Distribution
from .independent import Independent
from .transforms import ComposeTransform, Transform
from .utils import _sum_rightmost

__all__ = ["TransformedDistribution"]


class TransformedDistribution(Distribution):
    """The distribution of ``f(x)``, for ``x`` from a base distribution and a composition ``f`` of transforms.

    Examples
    --------
    >>> import dualtape as dt
    >>> from dualtape.distributions import ExpTransform, Normal, TransformedDistribution
    >>> TransformedDistribution(Normal(0.0, 1.0), [ExpTransform()]).log_prob(dt.tensor(1.0))
    tensor(-0.9189)
    """

    arg_constraints: Any = {}
    _dt_expands: tuple[str, ...] = ()
    _dt_shares = ("transforms",)

    def __init__(self, base_distribution: Distribution, transforms: Any, validate_args: bool | None = None) -> None:
        self.transforms = [transforms] if isinstance(transforms, Transform) else transforms
        if not isinstance(self.transforms, list) or not all(isinstance(t, Transform) for t in self.transforms):
            raise ValueError(f"TransformedDistribution: expected a Transform or a list of them, got {transforms!r}")
        whole = ComposeTransform(self.transforms)
        shape = base_distribution.batch_shape + base_distribution.event_shape
        events, needed = len(base_distribution.event_shape), whole.domain.event_dim
        if len(shape) < needed:
            raise ValueError(
                f"TransformedDistribution: transforms of {needed} dimensions, but a base of the shape {tuple(shape)}"
            )
        # transforms with parameters of their own may have a larger batch
        forward = whole.forward_shape(shape)
        expanded = Size(whole.inverse_shape(forward))
        if shape != expanded:
            base_distribution = base_distribution.expand(expanded[: len(expanded) - events])
        if needed > events:
            base_distribution = Independent(base_distribution, needed - events)
        self.base_dist = base_distribution
        after = max(whole.codomain.event_dim, events + whole.codomain.event_dim - needed)
        cut = len(forward) - after
        super().__init__(Size(forward[:cut]), Size(forward[cut:]), validate_args=validate_args)

    def _dt_made_transforms(self) -> list[Transform]:
        """Return the transforms; a subclass makes them of its own parameters."""
        return self.transforms

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = super().expand(batch_shape, _instance)
        shape = ComposeTransform(self.transforms).inverse_shape(Size(batch_shape) + self._event_shape)
        new.base_dist = self.base_dist.expand(shape[: len(shape) - len(self.base_dist.event_shape)])
        new.transforms = new._dt_made_transforms()
        return new

    @constraints.dependent_property(is_discrete=False)
    def support(self) -> Any:
        if not self.transforms:
            return self.base_dist.support
        support = self.transforms[-1].codomain
        more = len(self._event_shape) - support.event_dim
        return constraints.independent(support, more) if more > 0 else support

    @property
    def has_rsample(self) -> bool:
        return self.base_dist.has_rsample

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with dt.no_grad():
            return self._dt_forward(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self._dt_forward(self.base_dist.rsample(sample_shape))

    def _dt_forward(self, x: Any) -> Any:
        for transform in self.transforms:
            x = transform(x)
        return x

    def log_prob(self, value: Any) -> Tensor:
        self._dt_check_value(value)
        events, log_prob, y = len(self._event_shape), 0.0, value
        for transform in reversed(self.transforms):
            x = transform.inv(y)
            events += transform.domain.event_dim - transform.codomain.event_dim
            term = transform.log_abs_det_jacobian(x, y)
            log_prob = log_prob - _sum_rightmost(term, events - transform.domain.event_dim)
            y = x
        return log_prob + _sum_rightmost(self.base_dist.log_prob(y), events - len(self.base_dist.event_shape))

    def _monotonize_cdf(self, value: Any) -> Any:
        """Return a probability, or one minus it where the transforms decrease."""
        sign = math.prod(transform.sign for transform in self.transforms)
        return value if isinstance(sign, int) and sign == 1 else sign * (value - 0.5) + 0.5

    def cdf(self, value: Any) -> Tensor:
        for transform in reversed(self.transforms):
            value = transform.inv(value)
        if self._validate_args:
            self.base_dist._validate_sample(value)
        return self._monotonize_cdf(self.base_dist.cdf(value))

    def icdf(self, value: Any) -> Tensor:
        return self._dt_forward(self.base_dist.icdf(self._monotonize_cdf(value)))
