"""The categorical distribution, relaxed by a temperature."""

from __future__ import annotations

import math
from typing import Any

import dualtape as dt

from .._tensor.tensor import Tensor
from . import constraints
from ._odds import OfCategories
from .categorical import Categorical
from .distribution import Distribution
from .transformed_distribution import TransformedDistribution
from .transforms import ExpTransform
from .utils import attribute, broadcast_all, clamp_probs

__all__ = ["ExpRelaxedCategorical", "RelaxedOneHotCategorical"]


class ExpRelaxedCategorical(OfCategories, Distribution):
    """The logarithms of a :class:`RelaxedOneHotCategorical` variable.

    Examples
    --------
    >>> import dualtape as dt
    >>> from dualtape.distributions.relaxed_categorical import ExpRelaxedCategorical
    >>> ExpRelaxedCategorical(dt.tensor(1.0), dt.ones(2)).log_prob(dt.tensor([0.5, 0.5]).log())
    tensor(-1.3863)
    """

    support = constraints.real_vector  # of which the exponentials add up to one
    has_rsample = True
    _dt_expands = ("_categorical",)
    _dt_shares = ("temperature",)

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        self._categorical = Categorical(probs, logits)
        self.temperature = temperature
        super().__init__(*self._dt_shapes(), validate_args=validate_args)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape, logits = self._extended_shape(sample_shape), self.logits
        uniform = clamp_probs(dt.rand(shape, dtype=logits.dtype, device=logits.device))
        scores = (logits - (-uniform.log()).log()) / self.temperature
        return scores - scores.logsumexp(-1, True)

    def log_prob(self, value: Any) -> Tensor:
        self._dt_check_value(value)
        n = self._event_shape[0]
        logits, value = broadcast_all(self.logits, value)
        score = (logits - value * self.temperature).log_softmax(-1).sum(-1)
        return score + math.lgamma(n) + (n - 1) * dt.as_tensor(self.temperature).log()


class RelaxedOneHotCategorical(TransformedDistribution):
    """Proportions that approach one-hot vectors as ``temperature`` falls, with gradients.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.distributions.RelaxedOneHotCategorical(dt.tensor(0.5), dt.ones(3)).rsample().sum().allclose(dt.tensor(1.0))
    True
    """

    arg_constraints = OfCategories.arg_constraints
    support = constraints.simplex
    has_rsample = True
    base_dist: ExpRelaxedCategorical
    _dt_expands = ()

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        base = ExpRelaxedCategorical(temperature, probs, logits, validate_args=validate_args)
        super().__init__(base, ExpTransform(), validate_args=validate_args)

    temperature = attribute("base_dist.temperature", "The distance of samples from the corners.")
    logits = attribute("base_dist.logits", "The logarithm of the probability of each class.")
    probs = attribute("base_dist.probs", "The probability of each class.")
