"""The Bernoulli distribution, relaxed by a temperature."""

from __future__ import annotations

from typing import Any

import dualtape as dt

from .._tensor.tensor import Tensor
from . import constraints
from ._odds import Odds
from .distribution import Distribution, batch_shape_of
from .transformed_distribution import TransformedDistribution
from .transforms import SigmoidTransform
from .utils import broadcast_all, clamp_probs, softplus

__all__ = ["LogitRelaxedBernoulli", "RelaxedBernoulli"]


class LogitRelaxedBernoulli(Odds, Distribution):
    """The log-odds of a :class:`RelaxedBernoulli` variable.

    Examples
    --------
    >>> import dualtape as dt
    >>> from dualtape.distributions.relaxed_bernoulli import LogitRelaxedBernoulli
    >>> LogitRelaxedBernoulli(dt.tensor(1.0), dt.tensor(0.5)).log_prob(dt.tensor(0.0))
    tensor(-1.3863)
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.real

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        self.temperature = temperature
        name, given = self._given(probs, logits)
        (self.__dict__[name],) = broadcast_all(given)
        super().__init__(batch_shape_of(given), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> LogitRelaxedBernoulli:
        new = self._expanded(LogitRelaxedBernoulli, batch_shape, _instance, "probs", "logits")
        new.temperature = self.temperature
        return new

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape, probs = self._extended_shape(sample_shape), clamp_probs(self.probs)
        uniform = clamp_probs(dt.rand(shape, dtype=probs.dtype, device=probs.device))
        noise = uniform.log() - (-uniform).log1p()
        return (noise + probs.log() - (-probs).log1p()) / self.temperature

    def log_prob(self, value: Any) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        difference = logits - value * self.temperature
        return dt.as_tensor(self.temperature).log() + difference - 2 * softplus(difference)


class RelaxedBernoulli(TransformedDistribution):
    """Numbers between 0 and 1 that approach either as ``temperature`` falls, with gradients.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.distributions.RelaxedBernoulli(dt.tensor(1.0), dt.tensor(0.5)).log_prob(dt.tensor(0.5))
    tensor(0.)
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True
    base_dist: LogitRelaxedBernoulli

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        super().__init__(
            LogitRelaxedBernoulli(temperature, probs, logits), SigmoidTransform(), validate_args=validate_args
        )

    def expand(self, batch_shape: Any, _instance: Any = None) -> RelaxedBernoulli:
        new = self._get_checked_instance(RelaxedBernoulli, _instance)
        return super().expand(batch_shape, new)  # type: ignore[return-value]

    @property
    def temperature(self) -> Tensor:
        """The distance of samples from zero and one."""
        return self.base_dist.temperature

    @property
    def logits(self) -> Tensor:
        """The log-odds of one."""
        return self.base_dist.logits

    @property
    def probs(self) -> Tensor:
        """The probability of one."""
        return self.base_dist.probs
