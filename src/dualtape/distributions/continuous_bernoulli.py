"""The continuous Bernoulli distribution."""

from __future__ import annotations

import math
from typing import Any

import dualtape as dt

from .._tensor.tensor import Tensor
from . import constraints
from ._odds import Odds
from .distribution import batch_shape_of
from .exp_family import Canonical, ExponentialFamily
from .utils import broadcast_all, clamp_probs, lazy_property, logits_to_probs, shown

__all__ = ["ContinuousBernoulli"]


class ContinuousBernoulli(Odds, ExponentialFamily):
    """Continuous Bernoulli distributions: on ``[0, 1]``, with a density in proportion to ``p**x * (1-p)**(1-x)``.

    Near ``p = 1/2``, between ``lims``, the formulas' Taylor series are used.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.distributions.ContinuousBernoulli(0.5).mean
    tensor(0.5000)
    """

    support = constraints.unit_interval
    has_rsample = True
    _dt_expands = ("probs", "logits")
    _dt_shares = ("_lims",)

    def __init__(
        self,
        probs: Any = None,
        logits: Any = None,
        lims: tuple[float, float] = (0.499, 0.501),
        validate_args: bool | None = None,
    ) -> None:
        name, given = self._dt_given(probs, logits)
        (value,) = broadcast_all(given)
        if name == "probs":
            validate = self._validate_args if validate_args is None else validate_args
            if validate and not self.arg_constraints["probs"]._holds(value):
                raise ValueError(
                    "ContinuousBernoulli: parameter probs has to be between 0 and 1, got invalid values:\n"
                    f"{shown(value)}"
                )
            value = clamp_probs(value)
        self.__dict__[name] = value
        self._lims = lims
        super().__init__(batch_shape_of(given), validate_args=validate_args)

    @lazy_property
    def probs(self) -> Any:
        """The probabilities, bounded away from 0 and 1, where the formulas are infinite, by the resolution of their
        dtype.
        """
        return clamp_probs(logits_to_probs(self.logits, is_binary=True))

    def _dt_outside(self) -> Tensor:
        """Return where the formulas are used rather than their series."""
        return (self.probs <= self._lims[0]) | (self.probs > self._lims[1])

    def _cut_probs(self) -> Tensor:
        return dt.where(self._dt_outside(), self.probs, self._lims[0])

    def _dt_log_norm(self) -> Tensor:
        """Return the logarithm of the density's normalising factor, 2 atanh(1 - 2p) / (1 - 2p)."""
        cut = self._cut_probs()
        exact = ((-cut).log1p() - cut.log()).abs().log() - (1 - 2 * cut).abs().log()
        x = (self.probs - 0.5) ** 2
        return dt.where(self._dt_outside(), exact, math.log(2.0) + (4 / 3 + 104 / 45 * x) * x)

    @property
    def mean(self) -> Tensor:
        cut = self._cut_probs()
        exact = cut / (2 * cut - 1) + 1 / ((-cut).log1p() - cut.log())
        x = self.probs - 0.5
        return dt.where(self._dt_outside(), exact, 0.5 + (1 / 3 + 16 / 45 * x**2) * x)

    @property
    def variance(self) -> Tensor:
        cut = self._cut_probs()
        exact = cut * (cut - 1) / (1 - 2 * cut) ** 2 + 1 / ((-cut).log1p() - cut.log()) ** 2
        x = (self.probs - 0.5) ** 2
        return dt.where(self._dt_outside(), exact, 1 / 12 - (1 / 15 - 128 / 945 * x) * x)

    @property
    def stddev(self) -> Tensor:
        return self.variance.sqrt()

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with dt.no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        return self.icdf(dt.rand(shape, dtype=self.probs.dtype, device=self.probs.device))

    def log_prob(self, value: Any) -> Tensor:
        self._dt_check_value(value)
        logits, value = broadcast_all(self.logits, value)
        unnormalised = -dt.nn.functional.binary_cross_entropy_with_logits(logits, value, reduction="none")
        return unnormalised + self._dt_log_norm()

    def cdf(self, value: Any) -> Tensor:
        self._dt_check_value(value)
        cut = self._cut_probs()
        exact = (cut**value * (1 - cut) ** (1 - value) + cut - 1) / (2 * cut - 1)
        inside = dt.where(self._dt_outside(), exact, value)
        return dt.where(value <= 0, 0.0, dt.where(value >= 1, 1.0, inside))

    def icdf(self, value: Any) -> Tensor:
        cut = self._cut_probs()
        exact = ((-cut + value * (2 * cut - 1)).log1p() - (-cut).log1p()) / (cut.log() - (-cut).log1p())
        return dt.where(self._dt_outside(), exact, value)

    def entropy(self) -> Tensor:
        failure = (-self.probs).log1p()
        return self.mean * (failure - self.probs.log()) - self._dt_log_norm() - failure

    def _dt_canonical(self) -> Canonical:
        def log_normalizer(x: Any) -> Tensor:
            outside = (x <= self._lims[0] - 0.5) | (x > self._lims[1] - 0.5)
            cut = dt.where(outside, x, self._lims[0] - 0.5)
            exact = cut.expm1().abs().log() - cut.abs().log()
            return dt.where(outside, exact, 0.5 * x + x**2 / 24 - x**4 / 2880)

        return Canonical((self.logits,), log_normalizer, 0)
