"""The categorical distribution."""

from __future__ import annotations

import math
from typing import Any

import dualtape as dt

from .._tensor.size import Size
from .._tensor.tensor import Tensor
from . import constraints
from ._odds import Odds
from .distribution import Distribution
from .utils import attribute

__all__ = ["Categorical"]


class Categorical(Odds, Distribution):
    """Distributions over 0, 1, ..., as many as the last dimension of ``probs`` (in any proportion) or ``logits`` has.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.distributions.Categorical(dt.tensor([1.0, 3.0])).probs
    tensor([0.2500, 0.7500])
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    has_enumerate_support = True
    _dt_is_binary = False
    _dt_expands = ("probs", "logits")
    _dt_shares = ("_num_events",)

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        name, given = self._dt_given(probs, logits)
        if given.dim() < 1:
            raise ValueError(f"Categorical: {name} needs a dimension for the categories, got a number")
        normalised = given / given.sum(-1, keepdim=True) if probs is not None else given - given.logsumexp(-1, True)
        self.__dict__[name] = normalised
        self._num_events = normalised.shape[-1]
        super().__init__(normalised.shape[:-1], validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        return constraints.integer_interval(0, self._num_events - 1)

    @property
    def mean(self) -> Tensor:
        return dt.full(self._extended_shape(), math.nan, dtype=self.probs.dtype, device=self.probs.device)

    @property
    def mode(self) -> Tensor:
        return self.probs.argmax(-1)

    variance = attribute("mean")

    def sample(self, sample_shape: Any = ()) -> Tensor:
        count = Size(sample_shape).numel()
        with dt.no_grad():
            rows = self.probs.reshape(-1, self._num_events)
            drawn = dt.multinomial(rows, count, True) if count else rows.new_empty((len(rows), 0), dtype=dt.int64)
            return drawn.T.reshape(self._extended_shape(sample_shape))

    def log_prob(self, value: Any) -> Tensor:
        self._dt_check_value(value)
        places, logits = value.long().unsqueeze(-1), self.logits
        if value.shape != self._batch_shape:
            places, logits = dt.broadcast_tensors(places, logits)
            places = places[..., :1]
        return logits.gather(-1, places).squeeze(-1)

    def entropy(self) -> Tensor:
        logits = self.logits.clamp(min=dt.finfo(self.logits.dtype).min)  # what cannot happen adds nothing
        return -(logits * self.probs).sum(-1)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        values = dt.arange(self._num_events, device=self._param.device).view(-1, *[1] * len(self._batch_shape))
        return values.expand(-1, *self._batch_shape) if expand else values
