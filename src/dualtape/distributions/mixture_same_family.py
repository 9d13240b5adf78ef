"""Mixtures of distributions of one family."""

from __future__ import annotations

from typing import Any

import dualtape as dt

from .._tensor.size import Size
from .._tensor.tensor import Tensor
from . import constraints
from .categorical import Categorical
from .distribution import Distribution

__all__ = ["MixtureSameFamily"]


class MixtureSameFamily(Distribution):
    """Mixtures: a component, along the last batch dimension of ``component_distribution``, is chosen by
    ``mixture_distribution``.

    Examples
    --------
    >>> import dualtape as dt
    >>> from dualtape.distributions import Categorical, MixtureSameFamily, Normal
    >>> MixtureSameFamily(Categorical(dt.ones(2)), Normal(dt.tensor([-1.0, 3.0]), 1.0)).mean
    tensor(1.)
    """

    arg_constraints: Any = {}
    has_rsample = False
    _dt_expands = ("_mixture_distribution",)
    _dt_shares = ("_num_component",)

    def __init__(
        self, mixture_distribution: Categorical, component_distribution: Distribution, validate_args: bool | None = None
    ) -> None:
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(
                f"MixtureSameFamily: expected a Categorical to choose, got {type(mixture_distribution).__name__}"
            )
        if not isinstance(component_distribution, Distribution):
            raise ValueError(
                f"MixtureSameFamily: expected a Distribution of components, got {type(component_distribution).__name__}"
            )
        batch, events = component_distribution.batch_shape[:-1], component_distribution.event_shape
        for mine, other in zip(reversed(mixture_distribution.batch_shape), reversed(batch), strict=False):
            if mine != 1 and other != 1 and mine != other:
                raise ValueError(
                    f"MixtureSameFamily: the batch {tuple(mixture_distribution.batch_shape)} of what chooses and"
                    f" {tuple(batch)} of the components do not go together"
                )
        chosen, components = mixture_distribution.logits.shape[-1], component_distribution.batch_shape[-1]
        if chosen != components:
            raise ValueError(f"MixtureSameFamily: {chosen} are to choose from, but there are {components} components")
        self._mixture_distribution = mixture_distribution
        self._component_distribution = component_distribution
        self._num_component = chosen
        super().__init__(batch, events, validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> MixtureSameFamily:
        new = super().expand(batch_shape, _instance)
        new._component_distribution = self._component_distribution.expand(Size(batch_shape) + (self._num_component,))
        return new

    @constraints.dependent_property
    def support(self) -> Any:
        return constraints.MixtureSameFamilyConstraint(self._component_distribution.support)

    @property
    def mixture_distribution(self) -> Categorical:
        """The distribution of the component's index."""
        return self._mixture_distribution

    @property
    def component_distribution(self) -> Distribution:
        """The components."""
        return self._component_distribution

    def _dt_weights(self) -> Any:
        """Return the probabilities of the components, with dimensions for the event."""
        return self._mixture_distribution.probs.reshape(
            self._mixture_distribution.param_shape + (1,) * len(self._event_shape)
        )

    def _pad(self, x: Any) -> Any:
        """Return ``x`` with a dimension for the components."""
        return x.unsqueeze(-1 - len(self._event_shape))

    @property
    def mean(self) -> Tensor:
        return (self._dt_weights() * self._component_distribution.mean).sum(-1 - len(self._event_shape))

    @property
    def variance(self) -> Tensor:
        component = self._component_distribution
        spread = component.variance + (component.mean - self._pad(self.mean)) ** 2
        return (self._dt_weights() * spread).sum(-1 - len(self._event_shape))

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with dt.no_grad():
            values = self._component_distribution.sample(sample_shape)
            events = len(self._event_shape)
            dim = values.dim() - 1 - events
            chosen = self._mixture_distribution.sample(sample_shape)
            shape = (*values.shape[:dim], 1, *self._event_shape)
            places = chosen.expand(values.shape[:dim]).reshape(*values.shape[:dim], *[1] * (events + 1))
            return values.gather(dim, places.expand(shape)).squeeze(dim)

    def log_prob(self, x: Any) -> Tensor:
        if self._validate_args:
            self._validate_sample(x)
        log_weights = self._mixture_distribution.logits.log_softmax(-1)
        return (self._component_distribution.log_prob(self._pad(x)) + log_weights).logsumexp(-1)

    def cdf(self, x: Any) -> Tensor:
        cdf = self._component_distribution.cdf(self._pad(x))
        return (cdf * self._mixture_distribution.probs).sum(-1)

    def __repr__(self) -> str:
        return f"MixtureSameFamily(\n  {self._mixture_distribution!r},\n  {self._component_distribution!r})"
