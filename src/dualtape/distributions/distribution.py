"""The base of distributions: batches of events, parameters with constraints, samples and log-densities."""

from __future__ import annotations

from typing import Any

import dualtape as dt

from .._tensor.size import Size
from .._tensor.tensor import Tensor
from ..errors import warn
from . import constraints
from .utils import lazy_property, shown

__all__ = ["Distribution"]

_SCALAR = Size()


class Distribution:
    """A batch of probability distributions.

    A sample has the shape ``sample_shape + batch_shape + event_shape``: how many, of which of the distributions, of
    what shape each.

    Parameters
    ----------
    batch_shape, event_shape : Size
    validate_args : bool, optional
        Whether parameters and values are checked. Default: :meth:`set_default_validate_args`.

    Examples
    --------
    >>> import dualtape as dt
    >>> from dualtape.distributions import Distribution, constraints
    >>> class Certain(Distribution):
    ...     arg_constraints = {"value": constraints.real}
    ...     support = constraints.real
    ...     def __init__(self, value, validate_args=None):
    ...         self.value = value
    ...         super().__init__(value.shape, validate_args=validate_args)
    ...     def rsample(self, sample_shape=()):
    ...         return self.value.expand(self._extended_shape(sample_shape))
    >>> Certain(dt.tensor(2.0)).sample((3,))
    tensor([2., 2., 2.])
    """

    has_rsample: Any = False
    has_enumerate_support: Any = False
    _validate_args: bool = __debug__
    # The attributes that expand() expands where they are set, and those that it shares: each class says so whose
    # constructor sets other attributes than that of its base.
    _dt_expands: tuple[str, ...]
    _dt_shares: tuple[str, ...] = ()

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Set whether distributions check their arguments by default."""
        if value not in (True, False):
            raise ValueError(f"set_default_validate_args takes True or False, got {value!r}")
        Distribution._validate_args = value

    def __init__(
        self, batch_shape: Size = _SCALAR, event_shape: Size = _SCALAR, validate_args: bool | None = None
    ) -> None:
        self._batch_shape, self._event_shape = batch_shape, event_shape
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._dt_check_parameters()
        super().__init__()

    def _dt_check_parameters(self) -> None:
        try:
            declared = self.arg_constraints.items()
        except NotImplementedError:
            warn(
                f"{type(self)} does not define `arg_constraints`: set it (to {{}} if there are none), or make the"
                " distribution with validate_args=False",
            )
            return
        for name, constraint in declared:
            if constraints.is_dependent(constraint):
                continue
            if name not in self.__dict__ and isinstance(_static(type(self), name), lazy_property):
                continue  # it follows from others, which are checked
            value = getattr(self, name)
            if not constraint._holds(value):
                raise ValueError(
                    f"{self!r}: parameter {name} ({_kind(value)}) has to satisfy the constraint {constraint!r}, got"
                    f" invalid values:\n{shown(value)}"
                )

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The distribution with its parameters expanded to ``batch_shape``, without copying."""
        declared = next((cls for cls in type(self).__mro__ if "_dt_expands" in vars(cls)), None)
        if declared is None:
            raise NotImplementedError(f"{type(self).__name__} has no expand")
        new, batch_shape = self._get_checked_instance(declared, _instance), Size(batch_shape)
        batch = len(self._batch_shape)
        for name in self._dt_expands:
            value = self.__dict__.get(name)
            if isinstance(value, Tensor):
                new.__dict__[name] = value.expand(batch_shape + value.shape[batch:])
            elif isinstance(value, Distribution):
                new.__dict__[name] = value.expand(batch_shape)
        new.__dict__.update({name: self.__dict__[name] for name in self._dt_shares})
        Distribution.__init__(new, batch_shape, self._event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    @property
    def batch_shape(self) -> Size:
        """The shape of the batch of distributions."""
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """The shape of a single sample."""
        return self._event_shape

    @property
    def arg_constraints(self) -> dict[str, constraints.Constraint]:
        """The constraint of each parameter, by its name."""
        raise NotImplementedError(f"{type(self).__name__} has no arg_constraints")

    @property
    def support(self) -> Any:
        """The constraint that samples satisfy."""
        raise NotImplementedError(f"{type(self).__name__} has no support")

    @property
    def mean(self) -> Tensor:
        """The mean of each distribution."""
        raise NotImplementedError(f"{type(self).__name__} has no mean")

    @property
    def mode(self) -> Tensor:
        """The most likely value of each distribution."""
        raise NotImplementedError(f"{type(self).__name__} has no mode")

    @property
    def variance(self) -> Tensor:
        """The variance of each distribution."""
        raise NotImplementedError(f"{type(self).__name__} has no variance")

    @property
    def stddev(self) -> Tensor:
        """The standard deviation of each distribution."""
        return self.variance.sqrt()

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """Samples without history."""
        with dt.no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """Samples that carry gradients to the parameters, where ``has_rsample``."""
        raise NotImplementedError(f"{type(self).__name__} has no rsample")

    def sample_n(self, n: int) -> Tensor:
        """``sample((n,))``."""
        warn("sample_n(n) is deprecated: use sample((n,))", FutureWarning)
        return self.sample(Size((n,)))

    def log_prob(self, value: Any) -> Tensor:
        """The logarithm of the probability (density) at ``value``."""
        raise NotImplementedError(f"{type(self).__name__} has no log_prob")

    def cdf(self, value: Any) -> Tensor:
        """The probability of at most ``value``."""
        raise NotImplementedError(f"{type(self).__name__} has no cdf")

    def icdf(self, value: Any) -> Tensor:
        """The quantile of the probability ``value``."""
        raise NotImplementedError(f"{type(self).__name__} has no icdf")

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All values of a discrete distribution, along a new first dimension; ``expand`` over the batch."""
        raise NotImplementedError(f"{type(self).__name__} has no enumerate_support")

    def entropy(self) -> Tensor:
        """The entropy of each distribution, in nats."""
        raise NotImplementedError(f"{type(self).__name__} has no entropy")

    def perplexity(self) -> Tensor:
        """The exponential of the entropy."""
        return self.entropy().exp()

    def _extended_shape(self, sample_shape: Any = ()) -> Size:
        """The shape of samples."""
        return Size((*sample_shape, *self._batch_shape, *self._event_shape))

    def _dt_check_value(self, value: Any) -> None:
        if self._validate_args:
            self._validate_sample(value)

    def _validate_sample(self, value: Any) -> None:
        """Raise unless ``value`` is a tensor of a fitting shape, inside the support."""
        if not isinstance(value, Tensor):
            raise ValueError(f"{self!r}: expected a Tensor as value, got {type(value).__name__}")
        events = len(self._event_shape)
        if value.shape[value.dim() - events :] != self._event_shape:
            raise ValueError(
                f"{self!r}: a value ends in the event_shape {tuple(self._event_shape)}, got {tuple(value.shape)}"
            )
        expected = (*self._batch_shape, *self._event_shape)
        for have, want in zip(reversed(value.shape), reversed(expected), strict=False):
            if have != want and have != 1 and want != 1:
                raise ValueError(
                    f"{self!r}: a value of shape {tuple(value.shape)} is not broadcastable with the batch_shape and"
                    f" event_shape {expected}"
                )
        try:
            support = self.support
        except NotImplementedError:
            warn(
                f"{type(self)} does not define `support`: define it, or make the distribution with validate_args=False",
            )
            return
        if not support._holds(value):
            raise ValueError(
                f"{self!r}: a value ({_kind(value)}) has to be within the support {support!r}, got invalid values:"
                f"\n{shown(value)}"
            )

    def _get_checked_instance(self, cls: type, _instance: Any = None) -> Any:
        """Return an instance for ``cls.expand`` to fill; raise for a subclass with another constructor."""
        if _instance is None and type(self).__init__ != cls.__init__:  # type: ignore[misc]
            raise NotImplementedError(
                f"{type(self).__name__} has an __init__ of its own: it needs an expand of its own too, that of"
                f" {cls.__name__} does not know how to make one"
            )
        return self.__new__(type(self)) if _instance is None else _instance

    def __repr__(self) -> str:
        parameters = [
            f"{name}: {shown(value) if value.numel() == 1 else value.size()}"
            for name in self.arg_constraints
            if (value := self.__dict__.get(name)) is not None
        ]
        return f"{type(self).__name__}({', '.join(parameters)})"


def _static(cls: type, name: str) -> Any:
    """Return an attribute of a class as it was defined, without calling descriptors."""
    return next((vars(c)[name] for c in cls.__mro__ if name in vars(c)), None)


def _kind(value: Any) -> str:
    return f"{type(value).__name__} of shape {tuple(value.shape)}"


def one_of(cls: str, **given: Any) -> None:
    """Raise unless exactly one of the parameters was given."""
    names = " or ".join(f"`{name}`" for name in given)
    if sum(value is not None for value in given.values()) != 1:
        raise ValueError(
            f"{cls}: expected exactly one of {names}, got {sum(value is not None for value in given.values())}"
        )


def batch_shape_of(*values: Any) -> Size:
    """Return the batch shape of such parameters: that of a number is empty."""
    return values[0].shape if isinstance(values[0], Tensor) else Size()
