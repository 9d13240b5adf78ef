"""The Bernoulli distribution, relaxed by a temperature."""

from __future__ import annotations

from typing import Any

import dualtape as dt

from .._tensor.tensor import Tensor
from . import constraints
from ._odds import Odds
from .distribution import Distribution
from .transformed_distribution import TransformedDistribution
from .transforms import SigmoidTransform
from .utils import attribute, broadcast_all, clamp_probs, softplus

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

    support = constraints.real
    _dt_expands = ("probs", "logits")
    _dt_shares = ("temperature",)

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        self.temperature = temperature
        super().__init__(self._dt_set_odds(probs, logits), validate_args=validate_args)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape, probs = self._extended_shape(sample_shape), clamp_probs(self.probs)
        uniform = clamp_probs(dt.rand(shape, dtype=probs.dtype, device=probs.device))
        noise = uniform.log() - (-uniform).log1p()
        return (noise + probs.log() - (-probs).log1p()) / self.temperature

    def log_prob(self, value: Any) -> Tensor:
        self._dt_check_value(value)
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

    arg_constraints = Odds.arg_constraints
    support = constraints.unit_interval
    has_rsample = True
    base_dist: LogitRelaxedBernoulli
    _dt_expands = ()

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        super().__init__(
            LogitRelaxedBernoulli(temperature, probs, logits), SigmoidTransform(), validate_args=validate_args
        )

    temperature = attribute("base_dist.temperature", "The distance of samples from zero and one.")
    logits = attribute("base_dist.logits", "The log-odds of one.")
    probs = attribute("base_dist.probs", "The probability of one.")
