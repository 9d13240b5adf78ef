"""The Pareto distribution."""

from __future__ import annotations

from typing import Any

from .._tensor.tensor import Tensor
from . import constraints
from .exponential import Exponential
from .transformed_distribution import TransformedDistribution
from .transforms import AffineTransform, ExpTransform, Transform
from .utils import attribute, broadcast_all

__all__ = ["Pareto"]


class Pareto(TransformedDistribution):
    """Pareto distributions: at least ``scale``, with a tail that falls as the power ``alpha``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.distributions.Pareto(1.0, 2.0).mean
    tensor(2.)
    """

    arg_constraints = {"alpha": constraints.positive, "scale": constraints.positive}
    _dt_expands = ("scale", "alpha")

    def __init__(self, scale: Any, alpha: Any, validate_args: bool | None = None) -> None:
        self.scale, self.alpha = broadcast_all(scale, alpha)
        base = Exponential(self.alpha, validate_args=validate_args)
        super().__init__(base, self._dt_made_transforms(), validate_args=validate_args)

    def _dt_made_transforms(self) -> list[Transform]:
        return [ExpTransform(), AffineTransform(0, self.scale)]

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        return constraints.greater_than_eq(self.scale)

    @property
    def mean(self) -> Tensor:
        a = self.alpha.clamp(min=1)  # where it is infinite
        return a * self.scale / (a - 1)

    mode = attribute("scale")

    @property
    def variance(self) -> Tensor:
        a = self.alpha.clamp(min=2)  # where it is infinite
        return self.scale**2 * a / ((a - 1) ** 2 * (a - 2))

    def entropy(self) -> Tensor:
        inverse = self.alpha.reciprocal()
        return (self.scale * inverse).log() + 1 + inverse
