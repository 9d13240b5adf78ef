"""Parameters given as probabilities or as logits: the other is computed on demand; distributions made of them."""

from __future__ import annotations

from typing import Any

from .._tensor.size import Size
from . import constraints
from .distribution import batch_shape_of, one_of
from .utils import attribute, broadcast_all, lazy_property, logits_to_probs, probs_to_logits


class Odds:
    """A distribution with ``probs`` or ``logits``, of which one is set."""

    arg_constraints: Any = {"probs": constraints.unit_interval, "logits": constraints.real}
    _dt_is_binary = True
    total_count: Any  # where there are several trials

    @lazy_property
    def logits(self) -> Any:
        """The logits: log-odds, or normalised log-probabilities."""
        return probs_to_logits(self.probs, is_binary=self._dt_is_binary)

    @lazy_property
    def probs(self) -> Any:
        """The probabilities."""
        return logits_to_probs(self.logits, is_binary=self._dt_is_binary)

    @property
    def _param(self) -> Any:
        """The one that is set: both have the same shape and dtype."""
        return self.__dict__["probs" if "probs" in self.__dict__ else "logits"]

    @property
    def param_shape(self) -> Size:
        """The shape of ``probs`` and ``logits``."""
        return self._param.size()

    def _dt_new(self, *args: Any, **kwargs: Any) -> Any:
        return self._param.new(*args, **kwargs)

    def _dt_set_odds(self, probs: Any, logits: Any) -> Size:
        """Set the parameter that was given, as a tensor, and return the batch shape."""
        name, given = self._dt_given(probs, logits)
        (self.__dict__[name],) = broadcast_all(given)
        return batch_shape_of(given)

    def _dt_set_counted_odds(self, total_count: Any, probs: Any, logits: Any) -> Size:
        """Set the number of trials and the parameter that was given, and return the batch shape."""
        name, given = self._dt_given(probs, logits)
        count, value = broadcast_all(total_count, given)
        self.__dict__.update({"total_count": count.type_as(value), name: value})
        return value.shape

    def _dt_given(self, probs: Any, logits: Any) -> tuple[str, Any]:
        """Return the name and the value of the parameter that was given."""
        one_of(type(self).__name__, probs=probs, logits=logits)
        return ("probs", probs) if probs is not None else ("logits", logits)


class OfCategories:
    """A distribution made of a categorical one, which has the parameters."""

    arg_constraints: Any = {"probs": constraints.simplex, "logits": constraints.real_vector}
    _categorical: Any

    probs = attribute("_categorical.probs", "The probability of each class.")
    logits = attribute("_categorical.logits", "The logarithm of the probability of each class.")
    param_shape = attribute("_categorical.param_shape", "The shape of ``probs`` and ``logits``.")
    _param = attribute("_categorical._param", "The one that is set.")
    _dt_new = attribute("_categorical._new", "A constructor of tensors of the parameters' dtype.")

    def _dt_shapes(self) -> tuple[Size, Size]:
        """Return the batch shape and the event shape, of which the events are vectors."""
        return self._categorical.batch_shape, self._categorical.param_shape[-1:]
