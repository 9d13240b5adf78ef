"""Parameters given as probabilities or as logits: the other is computed on demand."""

from __future__ import annotations

from typing import Any

from .._tensor.size import Size
from .distribution import one_of
from .utils import lazy_property, logits_to_probs, probs_to_logits


class Odds:
    """A distribution with ``probs`` or ``logits``, of which one is set."""

    _is_binary = True

    @lazy_property
    def logits(self) -> Any:
        """The logits: log-odds, or normalised log-probabilities."""
        return probs_to_logits(self.probs, is_binary=self._is_binary)

    @lazy_property
    def probs(self) -> Any:
        """The probabilities."""
        return logits_to_probs(self.logits, is_binary=self._is_binary)

    @property
    def _param(self) -> Any:
        """The one that is set: both have the same shape and dtype."""
        return self.__dict__["probs" if "probs" in self.__dict__ else "logits"]

    @property
    def param_shape(self) -> Size:
        """The shape of ``probs`` and ``logits``."""
        return self._param.size()

    def _new(self, *args: Any, **kwargs: Any) -> Any:
        return self._param.new(*args, **kwargs)

    def _given(self, probs: Any, logits: Any) -> tuple[str, Any]:
        """Return the name and the value of the parameter that was given."""
        one_of(type(self).__name__, probs=probs, logits=logits)
        return ("probs", probs) if probs is not None else ("logits", logits)
