"""The categorical distribution with one-hot vectors as values."""

from __future__ import annotations

from typing import Any

import dualtape as dt

from .._tensor.tensor import Tensor
from . import constraints
from ._odds import OfCategories
from .categorical import Categorical
from .distribution import Distribution
from .utils import attribute

__all__ = ["OneHotCategorical", "OneHotCategoricalStraightThrough"]


class OneHotCategorical(OfCategories, Distribution):
    """Categorical distributions whose values are one-hot vectors.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.distributions.OneHotCategorical(dt.tensor([0.0, 1.0])).sample()
    tensor([0., 1.])
    """

    support = constraints.one_hot
    has_enumerate_support = True
    _dt_expands = ("_categorical",)

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        self._categorical = Categorical(probs, logits)
        super().__init__(*self._dt_shapes(), validate_args=validate_args)

    mean = attribute("probs")

    @property
    def mode(self) -> Tensor:
        return dt.nn.functional.one_hot(self.probs.argmax(-1), self._event_shape[0]).to(self.probs)

    @property
    def variance(self) -> Tensor:
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        places = self._categorical.sample(sample_shape)
        return dt.nn.functional.one_hot(places, self._event_shape[0]).to(self.probs)

    def log_prob(self, value: Any) -> Tensor:
        self._dt_check_value(value)
        return self._categorical.log_prob(value.argmax(-1))

    def entropy(self) -> Tensor:
        return self._categorical.entropy()

    def enumerate_support(self, expand: bool = True) -> Tensor:
        n = self._event_shape[0]
        values = dt.eye(n, dtype=self._param.dtype, device=self._param.device)
        values = values.view(n, *[1] * len(self._batch_shape), n)
        return values.expand(n, *self._batch_shape, n) if expand else values


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """One-hot samples whose gradient is that of the probabilities.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.distributions.OneHotCategoricalStraightThrough(dt.tensor([0.0, 1.0])).rsample()
    tensor([0., 1.])
    """

    has_rsample = True

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self.sample(sample_shape) + (self.probs - self.probs.detach())
