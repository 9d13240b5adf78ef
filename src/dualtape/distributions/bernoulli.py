"""The Bernoulli distribution."""

from __future__ import annotations

import math
from typing import Any

import dualtape as dt

from .._tensor.tensor import Tensor
from . import constraints
from ._odds import Odds
from .exp_family import Canonical, ExponentialFamily
from .utils import attribute, broadcast_all, softplus

__all__ = ["Bernoulli"]


class Bernoulli(Odds, ExponentialFamily):
    """Bernoulli distributions: 1 with probability ``probs``, else 0.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.distributions.Bernoulli(0.25).log_prob(dt.tensor([0.0, 1.0]))
    tensor([-0.2877, -1.3863])
    """

    support = constraints.boolean
    has_enumerate_support = True
    _dt_expands = ("probs", "logits")

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        super().__init__(self._dt_set_odds(probs, logits), validate_args=validate_args)

    mean = attribute("probs")

    @property
    def mode(self) -> Tensor:
        return (self.probs >= 0.5).to(self.probs).masked_fill(self.probs == 0.5, math.nan)

    @property
    def variance(self) -> Tensor:
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with dt.no_grad():
            return dt.bernoulli(self.probs.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Any) -> Tensor:
        self._dt_check_value(value)
        logits, value = broadcast_all(self.logits, value)
        return -dt.nn.functional.binary_cross_entropy_with_logits(logits, value, reduction="none")

    def entropy(self) -> Tensor:
        return dt.nn.functional.binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")

    def enumerate_support(self, expand: bool = True) -> Tensor:
        values = dt.arange(2, dtype=self._param.dtype, device=self._param.device)
        values = values.view(-1, *[1] * len(self._batch_shape))
        return values.expand(-1, *self._batch_shape) if expand else values

    def _dt_canonical(self) -> Canonical:
        return Canonical((self.probs.logit(),), softplus, 0)
