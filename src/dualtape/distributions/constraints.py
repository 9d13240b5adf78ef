"""Constraints: the allowed values of a parameter or a sample. ``check(value)`` tests each event of a batch.

A constraint on events of ``event_dim`` dimensions returns a boolean tensor without them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import dualtape as dt

from .._tensor.tensor import Tensor
from ..arrays.kernels.basics import all_samples
from .utils import holds_everywhere

__all__ = [
    "Constraint",
    "boolean",
    "cat",
    "corr_cholesky",
    "dependent",
    "dependent_property",
    "greater_than",
    "greater_than_eq",
    "independent",
    "integer_interval",
    "interval",
    "half_open_interval",
    "is_dependent",
    "less_than",
    "lower_cholesky",
    "lower_triangular",
    "MixtureSameFamilyConstraint",
    "multinomial",
    "nonnegative",
    "nonnegative_integer",
    "one_hot",
    "positive",
    "positive_semidefinite",
    "positive_definite",
    "positive_integer",
    "real",
    "real_vector",
    "simplex",
    "square",
    "stack",
    "symmetric",
    "unit_interval",
]


class Constraint:
    """A set of values.

    Attributes
    ----------
    is_discrete : bool
    event_dim : int
        How many of the last dimensions are one event.

    Examples
    --------
    >>> import dualtape as dt
    >>> from dualtape.distributions import constraints
    >>> constraints.positive.check(dt.tensor([-1.0, 1.0]))
    tensor([False,  True])
    """

    is_discrete: Any = False
    event_dim: Any = 0

    def check(self, value: Any) -> Any:
        """Return whether each event of ``value`` satisfies the constraint."""
        raise NotImplementedError(f"{type(self).__name__} does not say what satisfies it")

    def _holds(self, value: Any) -> bool:
        """Return whether all events of ``value`` satisfy it, of every sample of a batch."""
        return holds_everywhere(self.check(value))

    def __repr__(self) -> str:
        return f"{type(self).__name__.removeprefix('_')}()"


# --- constraints that depend on other things ------------------------------------------------------


class _Dependent(Constraint):
    """A constraint that depends on other parameters, so that it cannot be checked alone."""

    def __init__(self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented) -> None:
        self._is_discrete, self._event_dim = is_discrete, event_dim

    @property
    def is_discrete(self) -> bool:
        return self._known("is_discrete")

    @property
    def event_dim(self) -> int:
        return self._known("event_dim")

    def _known(self, name: str) -> Any:
        value = getattr(self, f"_{name}")
        if value is NotImplemented:
            raise NotImplementedError(f"{name} depends on the instance: ask the constraint of one")
        return value

    def __call__(self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented) -> _Dependent:
        """Return the constraint with its properties set."""
        return type(self)(
            is_discrete=self._is_discrete if is_discrete is NotImplemented else is_discrete,
            event_dim=self._event_dim if event_dim is NotImplemented else event_dim,
        )

    def check(self, value: Any) -> Any:
        raise ValueError(
            "this constraint depends on an instance: check a value with the constraint that the instance has"
        )


def is_dependent(constraint: Any) -> bool:
    """Return whether a constraint can be checked only on an instance.

    Examples
    --------
    >>> from dualtape.distributions import constraints
    >>> constraints.is_dependent(constraints.dependent), constraints.is_dependent(constraints.real)
    (True, False)
    """
    return isinstance(constraint, _Dependent)


class _DependentProperty(property, _Dependent):
    """A property that is a constraint on an instance, and on the class stands for one that depends on it.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.distributions.constraints.is_dependent(dt.distributions.Uniform.support)
    True
    """

    def __init__(
        self, fn: Callable | None = None, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented
    ) -> None:
        super().__init__(fn)
        self._is_discrete, self._event_dim = is_discrete, event_dim

    def __call__(self, fn: Callable) -> _DependentProperty:  # type: ignore[override]
        return type(self)(fn, is_discrete=self._is_discrete, event_dim=self._event_dim)


# --- constraints made of others -------------------------------------------------------------------


class _Reshaped(Constraint):
    """A constraint that delegates its check to another."""

    def __init__(self, base_constraint: Constraint) -> None:
        if not isinstance(base_constraint, Constraint):
            raise AssertionError(f"base_constraint: expected a Constraint, got {type(base_constraint).__name__}")
        self.base_constraint = base_constraint

    @property
    def is_discrete(self) -> bool:
        return self.base_constraint.is_discrete


class _IndependentConstraint(_Reshaped):
    """A constraint with more dimensions in an event, all entries of which must satisfy it.

    Examples
    --------
    >>> import dualtape as dt
    >>> from dualtape.distributions import constraints
    >>> constraints.independent(constraints.positive, 1).check(dt.tensor([[1.0, 2.0], [1.0, -1.0]]))
    tensor([ True, False])
    """

    def __init__(self, base_constraint: Constraint, reinterpreted_batch_ndims: int) -> None:
        super().__init__(base_constraint)
        if not isinstance(reinterpreted_batch_ndims, int) or reinterpreted_batch_ndims < 0:
            raise AssertionError(
                f"reinterpreted_batch_ndims: expected an int that is not negative, got {reinterpreted_batch_ndims!r}"
            )
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    @property
    def event_dim(self) -> int:
        return self.base_constraint.event_dim + self.reinterpreted_batch_ndims

    def check(self, value: Any) -> Any:
        result = self.base_constraint.check(value)
        taken = self.reinterpreted_batch_ndims
        if result.dim() < taken:
            raise ValueError(f"{self!r}: an event has {self.event_dim} dimensions, got a value of {value.dim()}")
        return result.reshape(*result.shape[: result.dim() - taken], -1).all(-1) if taken else result.bool()

    def _holds(self, value: Any) -> bool:
        return self.base_constraint._holds(value) if value.dim() >= self.event_dim else super()._holds(value)

    def __repr__(self) -> str:
        return f"IndependentConstraint({self.base_constraint!r}, {self.reinterpreted_batch_ndims})"


class MixtureSameFamilyConstraint(_Reshaped):
    """The support of a mixture: a value is checked against each of the components' supports, all of which must hold.

    Examples
    --------
    >>> import dualtape as dt
    >>> from dualtape.distributions import constraints
    >>> constraints.MixtureSameFamilyConstraint(constraints.interval(dt.zeros(2), dt.tensor([1.0, 2.0]))).check(
    ...     dt.tensor([0.5, 1.5]))
    tensor([ True, False])
    """

    @property
    def event_dim(self) -> int:
        return self.base_constraint.event_dim

    def check(self, value: Any) -> Any:
        valid = self.base_constraint.check(value.unsqueeze(-1 - self.event_dim))
        return valid.all(-1)

    def __repr__(self) -> str:
        return f"MixtureSameFamilyConstraint({self.base_constraint!r})"


class _Joined(Constraint):
    """A constraint for each part of a dimension."""

    def __init__(self, cseq: Sequence[Constraint], dim: int = 0) -> None:
        if not all(isinstance(c, Constraint) for c in cseq):
            raise AssertionError("cseq: expected constraints")
        self.cseq, self.dim = list(cseq), dim

    @property
    def is_discrete(self) -> bool:
        return any(c.is_discrete for c in self.cseq)

    def _check_size(self, value: Any, expected: int) -> None:
        if not -value.dim() <= self.dim < value.dim():
            raise AssertionError(f"dim {self.dim} is outside of a value of {value.dim()} dimensions")
        if value.shape[self.dim] != expected:
            raise ValueError(
                f"{self!r} has constraints for {expected} elements of dim {self.dim}, got {value.shape[self.dim]}"
            )


class _Cat(_Joined):
    """Constraints for parts of given lengths, in order.

    Examples
    --------
    >>> import dualtape as dt
    >>> from dualtape.distributions import constraints
    >>> constraints.cat([constraints.real, constraints.positive], lengths=[1, 2]).check(dt.tensor([-1.0, -1.0, 1.0]))
    tensor([ True, False,  True])
    """

    def __init__(self, cseq: Sequence[Constraint], dim: int = 0, lengths: Sequence[int] | None = None) -> None:
        super().__init__(cseq, dim)
        self.lengths = [1] * len(self.cseq) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.cseq):
            raise AssertionError(f"{len(self.cseq)} constraints and {len(self.lengths)} lengths: expected one for each")

    @property
    def event_dim(self) -> int:
        return max(c.event_dim for c in self.cseq)

    def check(self, value: Any) -> Any:
        self._check_size(value, sum(self.lengths))
        checks, start = [], 0
        for constraint, length in zip(self.cseq, self.lengths, strict=True):
            checks.append(constraint.check(value.narrow(self.dim, start, length)))
            start += length
        return dt.cat(checks, self.dim)


class _Stack(_Joined):
    """One constraint for each index along a dimension.

    Examples
    --------
    >>> import dualtape as dt
    >>> from dualtape.distributions import constraints
    >>> constraints.stack([constraints.real, constraints.positive]).check(dt.tensor([-1.0, -1.0]))
    tensor([ True, False])
    """

    @property
    def event_dim(self) -> int:
        dim = max(c.event_dim for c in self.cseq)
        return dim + 1 if self.dim + dim < 0 else dim

    def check(self, value: Any) -> Any:
        self._check_size(value, len(self.cseq))
        checks = [constraint.check(value.select(self.dim, i)) for i, constraint in enumerate(self.cseq)]
        return dt.stack(checks, self.dim)


# --- numbers --------------------------------------------------------------------------------------


class _OfNumbers(Constraint):
    """A constraint on each number, whose ``check`` uses operators that arrays have too."""

    _bounds: tuple[str, ...] = ()

    def _holds(self, value: Any) -> bool:
        if type(value) is not Tensor or any([isinstance(getattr(self, bound), Tensor) for bound in self._bounds]):
            return super()._holds(value)
        return bool(self.check(all_samples(value._array)).all())


class _Bounded(_OfNumbers):
    """A constraint with bounds in its repr."""

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={getattr(self, name)}" for name in self._bounds)
        return f"{type(self).__name__.removeprefix('_')}({shown})"


class _Above(_Bounded):
    _bounds = ("lower_bound",)

    def __init__(self, lower_bound: Any) -> None:
        self.lower_bound = lower_bound


class _Below(_Bounded):
    _bounds = ("upper_bound",)

    def __init__(self, upper_bound: Any) -> None:
        self.upper_bound = upper_bound


class _Between(_Bounded):
    _bounds = ("lower_bound", "upper_bound")

    def __init__(self, lower_bound: Any, upper_bound: Any) -> None:
        self.lower_bound, self.upper_bound = lower_bound, upper_bound


class _Real(_OfNumbers):
    def check(self, value: Any) -> Any:
        return value == value  # all but NaN


class _Boolean(_OfNumbers):
    is_discrete = True

    def check(self, value: Any) -> Any:
        return (value == 0) | (value == 1)


class _GreaterThan(_Above):
    """Numbers above ``lower_bound``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.distributions.constraints.greater_than(1).check(dt.tensor([1.0, 2.0]))
    tensor([False,  True])
    """

    def check(self, value: Any) -> Any:
        return self.lower_bound < value


class _GreaterThanEq(_Above):
    """Numbers from ``lower_bound`` on.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.distributions.constraints.greater_than_eq(1).check(dt.tensor([0.0, 1.0]))
    tensor([False,  True])
    """

    def check(self, value: Any) -> Any:
        return self.lower_bound <= value


class _LessThan(_Below):
    """Numbers below ``upper_bound``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.distributions.constraints.less_than(1).check(dt.tensor([0.0, 1.0]))
    tensor([ True, False])
    """

    def check(self, value: Any) -> Any:
        return value < self.upper_bound


class _Interval(_Between):
    """Numbers from ``lower_bound`` to ``upper_bound``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.distributions.constraints.interval(0, 1).check(dt.tensor([1.0, 2.0]))
    tensor([ True, False])
    """

    def check(self, value: Any) -> Any:
        return (self.lower_bound <= value) & (value <= self.upper_bound)


class _HalfOpenInterval(_Between):
    """Numbers from ``lower_bound`` on and below ``upper_bound``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.distributions.constraints.half_open_interval(0, 1).check(dt.tensor([0.0, 1.0]))
    tensor([ True, False])
    """

    def check(self, value: Any) -> Any:
        return (self.lower_bound <= value) & (value < self.upper_bound)


class _IntegerInterval(_Between):
    """Integers from ``lower_bound`` to ``upper_bound``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.distributions.constraints.integer_interval(0, 2).check(dt.tensor([0.5, 2.0]))
    tensor([False,  True])
    """

    is_discrete = True

    def check(self, value: Any) -> Any:
        return (value % 1 == 0) & (self.lower_bound <= value) & (value <= self.upper_bound)


class _IntegerLessThan(_Below):
    is_discrete = True

    def check(self, value: Any) -> Any:
        return (value % 1 == 0) & (value <= self.upper_bound)


class _IntegerGreaterThan(_Above):
    is_discrete = True

    def check(self, value: Any) -> Any:
        return (value % 1 == 0) & (value >= self.lower_bound)


# --- vectors and matrices -------------------------------------------------------------------------


class _OneHot(Constraint):
    is_discrete = True
    event_dim = 1

    def check(self, value: Any) -> Any:
        return ((value == 0) | (value == 1)).all(-1) & value.sum(-1).eq(1)


class _Simplex(Constraint):
    event_dim = 1

    def check(self, value: Any) -> Any:
        return (value >= 0).all(-1) & ((value.sum(-1) - 1).abs() < 1e-6)


class _Multinomial(Constraint):
    """Counts that add up to ``upper_bound`` at most.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.distributions.constraints.multinomial(3).check(dt.tensor([[1.0, 2.0], [2.0, 2.0]]))
    tensor([ True, False])
    """

    is_discrete = True
    event_dim = 1

    def __init__(self, upper_bound: Any) -> None:
        self.upper_bound = upper_bound

    def check(self, value: Any) -> Any:
        return (value >= 0).all(-1) & (value.sum(-1) <= self.upper_bound)


class _Matrices(Constraint):
    event_dim = 2


def _is_lower(value: Any) -> Any:
    return (value.tril() == value).flatten(-2).all(-1)


class _LowerTriangular(_Matrices):
    def check(self, value: Any) -> Any:
        return _is_lower(value)


class _LowerCholesky(_Matrices):
    def check(self, value: Any) -> Any:
        return _is_lower(value) & (value.diagonal(dim1=-2, dim2=-1) > 0).all(-1)


class _CorrCholesky(_Matrices):
    """Cholesky factors whose rows have length one."""

    def check(self, value: Any) -> Any:
        # what rounding adds up to in a row
        tolerance = dt.finfo(value.dtype).eps * value.shape[-1] * 10
        unit = ((value.square().sum(-1) - 1).abs() < tolerance).all(-1)
        return unit & lower_cholesky.check(value)


class _Square(_Matrices):
    def check(self, value: Any) -> Any:
        return dt.full(value.shape[:-2], value.shape[-2] == value.shape[-1], dtype=dt.bool, device=value.device)


class _Symmetric(_Square):
    def check(self, value: Any) -> Any:
        square = super().check(value)
        if value.shape[-2] != value.shape[-1]:
            return square
        return dt.isclose(value, value.mT, atol=1e-6).all(-2).all(-1)


class _PositiveSemidefinite(_Symmetric):
    def check(self, value: Any) -> Any:
        symmetric = super().check(value)
        return dt.linalg.eigvalsh(value).ge(0).all(-1) if holds_everywhere(symmetric) else symmetric


class _PositiveDefinite(_Symmetric):
    def check(self, value: Any) -> Any:
        symmetric = super().check(value)
        return dt.linalg.cholesky_ex(value).info.eq(0) if holds_everywhere(symmetric) else symmetric


# --- names ----------------------------------------------------------------------------------------

dependent = _Dependent()
dependent_property = _DependentProperty
independent = _IndependentConstraint
boolean = _Boolean()
one_hot = _OneHot()
nonnegative_integer = _IntegerGreaterThan(0)
positive_integer = _IntegerGreaterThan(1)
integer_interval = _IntegerInterval
real: Constraint = _Real()
real_vector = independent(real, 1)
positive = _GreaterThan(0.0)
nonnegative = _GreaterThanEq(0.0)
greater_than = _GreaterThan
greater_than_eq = _GreaterThanEq
less_than = _LessThan
multinomial = _Multinomial
unit_interval = _Interval(0.0, 1.0)
interval = _Interval
half_open_interval = _HalfOpenInterval
simplex: Constraint = _Simplex()
lower_triangular = _LowerTriangular()
lower_cholesky: Constraint = _LowerCholesky()
corr_cholesky: Constraint = _CorrCholesky()
square = _Square()
symmetric = _Symmetric()
positive_semidefinite: Constraint = _PositiveSemidefinite()
positive_definite: Constraint = _PositiveDefinite()
cat = _Cat
stack = _Stack
