"""Constraints: the allowed values of a parameter or a sample. ``check(value)`` tests each event of a batch.

A constraint on events of ``event_dim`` dimensions returns a boolean tensor without them. Most are declared by a
condition (:func:`_events`), whose parameters after the value are the bounds that the constraint is made with.
"""

from __future__ import annotations

import inspect
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


# The classes by the names that PyTorch gives them: reprs show these, and pickles find the classes by them.
_CLASSES: dict[str, type[Constraint]] = {}


def __getattr__(name: str) -> Any:
    if name.startswith("_") and name[1:] in _CLASSES:
        return _CLASSES[name[1:]]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _shown_as(name: str) -> Callable[[type[Constraint]], Any]:
    """Enter a class into the table under a name, and return it."""

    def enter(cls: type[Constraint]) -> Any:
        cls.__name__ = cls.__qualname__ = f"_{name}"
        _CLASSES[name] = cls
        return cls

    return enter


# --- constraints that depend on other things ------------------------------------------------------


class _OfInstances(Constraint):
    """A constraint that only an instance has; ``known`` are the properties that are the same for all instances."""

    def __init__(self, **known: Any) -> None:
        self._known = {name: value for name, value in known.items() if value is not NotImplemented}

    def _ask(self, name: str) -> Any:
        if name not in self._known:
            raise NotImplementedError(f"{name} depends on the instance: ask the constraint of one")
        return self._known[name]

    is_discrete = property(lambda self: self._ask("is_discrete"))
    event_dim = property(lambda self: self._ask("event_dim"))

    def check(self, value: Any) -> Any:
        raise ValueError(
            "this constraint depends on an instance: check a value with the constraint that the instance has"
        )


@_shown_as("Dependent")
class _Dependent(_OfInstances):
    def __call__(self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented) -> Any:
        """Return the constraint with its properties set."""
        new = type(self)(is_discrete=is_discrete, event_dim=event_dim)
        new._known = {**self._known, **new._known}
        return new


@_shown_as("DependentProperty")
class dependent_property(property, _OfInstances):
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
        property.__init__(self, fn)
        _OfInstances.__init__(self, is_discrete=is_discrete, event_dim=event_dim)

    def __call__(self, fn: Callable) -> Any:
        return type(self)(fn, **self._known)


dependent = _Dependent()


def is_dependent(constraint: Any) -> bool:
    """Return whether a constraint can be checked only on an instance.

    Examples
    --------
    >>> from dualtape.distributions import constraints
    >>> constraints.is_dependent(constraints.dependent), constraints.is_dependent(constraints.real)
    (True, False)
    """
    return isinstance(constraint, _OfInstances)


# --- constraints made of others -------------------------------------------------------------------


class _Around(Constraint):
    """A constraint on larger events than those of ``base_constraint``."""

    base_constraint: Constraint
    _more_dims = 0

    def _hold(self, base_constraint: Any) -> None:
        if not isinstance(base_constraint, Constraint):
            raise AssertionError(f"base_constraint: expected a Constraint, got {type(base_constraint).__name__}")
        self.base_constraint = base_constraint

    is_discrete = property(lambda self: self.base_constraint.is_discrete)
    event_dim = property(lambda self: self.base_constraint.event_dim + self._more_dims)


@_shown_as("IndependentConstraint")
class independent(_Around):
    """A constraint with more dimensions in an event, all entries of which must satisfy it.

    Examples
    --------
    >>> import dualtape as dt
    >>> from dualtape.distributions import constraints
    >>> constraints.independent(constraints.positive, 1).check(dt.tensor([[1.0, 2.0], [1.0, -1.0]]))
    tensor([ True, False])
    """

    def __init__(self, base_constraint: Constraint, reinterpreted_batch_ndims: int) -> None:
        self._hold(base_constraint)
        if not isinstance(reinterpreted_batch_ndims, int) or reinterpreted_batch_ndims < 0:
            raise AssertionError(
                f"reinterpreted_batch_ndims: expected an int that is not negative, got {reinterpreted_batch_ndims!r}"
            )
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    _more_dims = property(lambda self: self.reinterpreted_batch_ndims)

    def check(self, value: Any) -> Any:
        each = self.base_constraint.check(value)
        if each.dim() < self._more_dims:
            raise ValueError(f"{self!r}: an event has {self.event_dim} dimensions, got a value of {value.dim()}")
        return each.flatten(-self._more_dims).all(-1) if self._more_dims else each.bool()

    def _holds(self, value: Any) -> bool:
        return self.base_constraint._holds(value) if value.dim() >= self.event_dim else super()._holds(value)

    def __repr__(self) -> str:
        return f"IndependentConstraint({self.base_constraint!r}, {self.reinterpreted_batch_ndims})"


class MixtureSameFamilyConstraint(_Around):
    """The support of a mixture: a value is checked against each of the components' supports, all of which must hold.

    Examples
    --------
    >>> import dualtape as dt
    >>> from dualtape.distributions import constraints
    >>> constraints.MixtureSameFamilyConstraint(constraints.interval(dt.zeros(2), dt.tensor([1.0, 2.0]))).check(
    ...     dt.tensor([0.5, 1.5]))
    tensor([ True, False])
    """

    def __init__(self, base_constraint: Constraint) -> None:
        self._hold(base_constraint)

    def check(self, value: Any) -> Any:
        return self.base_constraint.check(value.unsqueeze(-1 - self.event_dim)).all(-1)

    def __repr__(self) -> str:
        return f"MixtureSameFamilyConstraint({self.base_constraint!r})"


class _Along(Constraint):
    """A constraint for each of the parts of a value along a dimension."""

    cseq: list[Constraint]
    dim: int

    def _hold(self, cseq: Any, dim: int) -> None:
        if not all(isinstance(c, Constraint) for c in cseq):
            raise AssertionError("cseq: expected constraints")
        self.cseq, self.dim = list(cseq), dim

    is_discrete = property(lambda self: any(c.is_discrete for c in self.cseq))
    event_dim = property(lambda self: max(c.event_dim for c in self.cseq))

    def _dt_checked(self, value: Any, expected: int, parts: Callable) -> list:
        """Return the results for the parts, after a check of how long the value is in all."""
        if not -value.dim() <= self.dim < value.dim():
            raise AssertionError(f"dim {self.dim} is outside of a value of {value.dim()} dimensions")
        if value.shape[self.dim] != expected:
            raise ValueError(
                f"{self!r} has constraints for {expected} elements of dim {self.dim}, got {value.shape[self.dim]}"
            )
        return [constraint.check(part) for constraint, part in zip(self.cseq, parts(), strict=True)]


@_shown_as("Cat")
class cat(_Along):
    """Constraints for parts of given lengths, in order.

    Examples
    --------
    >>> import dualtape as dt
    >>> from dualtape.distributions import constraints
    >>> constraints.cat([constraints.real, constraints.positive], lengths=[1, 2]).check(dt.tensor([-1.0, -1.0, 1.0]))
    tensor([ True, False,  True])
    """

    def __init__(self, cseq: Sequence[Constraint], dim: int = 0, lengths: Sequence[int] | None = None) -> None:
        self._hold(cseq, dim)
        self.lengths = [1] * len(self.cseq) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.cseq):
            raise AssertionError(f"{len(self.cseq)} constraints and {len(self.lengths)} lengths: expected one for each")

    def check(self, value: Any) -> Any:
        return dt.cat(self._dt_checked(value, sum(self.lengths), lambda: value.split(self.lengths, self.dim)), self.dim)


@_shown_as("Stack")
class stack(_Along):
    """One constraint for each index along a dimension.

    Examples
    --------
    >>> import dualtape as dt
    >>> from dualtape.distributions import constraints
    >>> constraints.stack([constraints.real, constraints.positive]).check(dt.tensor([-1.0, -1.0]))
    tensor([ True, False])
    """

    def __init__(self, cseq: Sequence[Constraint], dim: int = 0) -> None:
        self._hold(cseq, dim)

    @property
    def event_dim(self) -> int:
        of_parts = super().event_dim
        return of_parts + (self.dim + of_parts < 0)

    def check(self, value: Any) -> Any:
        return dt.stack(self._dt_checked(value, len(self.cseq), lambda: value.unbind(self.dim)), self.dim)


# --- constraints by a condition -------------------------------------------------------------------


class _Conditional(Constraint):
    """A constraint that is declared by a condition on values and bounds."""

    __signature__: inspect.Signature
    _bounds: tuple[str, ...]
    _condition: Callable

    def __init__(self, *given: Any, **named: Any) -> None:
        if named or len(given) != len(self._bounds):
            given = self.__signature__.bind(*given, **named).args
        self.__dict__.update(zip(self._bounds, given, strict=True))

    def _values(self) -> list:
        return [getattr(self, bound) for bound in self._bounds]

    def check(self, value: Any) -> Any:
        return self._condition(value, *self._values())

    def _holds(self, value: Any) -> bool:
        bounds = self._values()
        if self.event_dim or type(value) is not Tensor or any([isinstance(bound, Tensor) for bound in bounds]):
            return super()._holds(value)
        # conditions on numbers use operators alone, which arrays have too
        return bool(self._condition(all_samples(value._array), *bounds).all())

    def __repr__(self) -> str:
        # PyTorch shows the bounds of numbers, and not those of counts
        bounds = () if self.event_dim else self._bounds
        shown = ", ".join([f"{name}={getattr(self, name)}" for name in bounds])
        return f"{type(self).__name__.removeprefix('_')}({shown})"


def _events(shown: str, condition: Callable, doc: str = "", *, event_dim: int = 0, is_discrete: bool = False) -> Any:
    """Return a class of constraints; the condition's parameters after the value are the constructor's."""
    bounds = list(inspect.signature(condition).parameters.values())[1:]
    members = {
        "__doc__": doc or None,
        "__module__": __name__,
        "__signature__": inspect.Signature(bounds),
        "_bounds": tuple([bound.name for bound in bounds]),
        "_condition": staticmethod(condition),
        "event_dim": event_dim,
        "is_discrete": is_discrete,
    }
    return _shown_as(shown)(type(shown, (_Conditional,), members))


# Equal to itself is every number but NaN.
real: Constraint = _events("Real", lambda x: x == x)()
real_vector: Constraint = independent(real, 1)
boolean: Constraint = _events("Boolean", lambda x: (x == 0) | (x == 1), is_discrete=True)()

greater_than: Any = _events(
    "GreaterThan",
    lambda x, lower_bound: lower_bound < x,
    """Numbers above ``lower_bound``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.distributions.constraints.greater_than(1).check(dt.tensor([1.0, 2.0]))
    tensor([False,  True])
    """,
)
greater_than_eq: Any = _events(
    "GreaterThanEq",
    lambda x, lower_bound: lower_bound <= x,
    """Numbers from ``lower_bound`` on.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.distributions.constraints.greater_than_eq(1).check(dt.tensor([0.0, 1.0]))
    tensor([False,  True])
    """,
)
less_than: Any = _events(
    "LessThan",
    lambda x, upper_bound: x < upper_bound,
    """Numbers below ``upper_bound``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.distributions.constraints.less_than(1).check(dt.tensor([0.0, 1.0]))
    tensor([ True, False])
    """,
)
interval: Any = _events(
    "Interval",
    lambda x, lower_bound, upper_bound: (lower_bound <= x) & (x <= upper_bound),
    """Numbers from ``lower_bound`` to ``upper_bound``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.distributions.constraints.interval(0, 1).check(dt.tensor([1.0, 2.0]))
    tensor([ True, False])
    """,
)
half_open_interval: Any = _events(
    "HalfOpenInterval",
    lambda x, lower_bound, upper_bound: (lower_bound <= x) & (x < upper_bound),
    """Numbers from ``lower_bound`` on and below ``upper_bound``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.distributions.constraints.half_open_interval(0, 1).check(dt.tensor([0.0, 1.0]))
    tensor([ True, False])
    """,
)
integer_interval: Any = _events(
    "IntegerInterval",
    lambda x, lower_bound, upper_bound: (x % 1 == 0) & (lower_bound <= x) & (x <= upper_bound),
    """Integers from ``lower_bound`` to ``upper_bound``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.distributions.constraints.integer_interval(0, 2).check(dt.tensor([0.5, 2.0]))
    tensor([False,  True])
    """,
    is_discrete=True,
)
_integers_from: Any = _events(
    "IntegerGreaterThan", lambda x, lower_bound: (x % 1 == 0) & (x >= lower_bound), is_discrete=True
)
# PyTorch has no name for this one but that of its class.
_events("IntegerLessThan", lambda x, upper_bound: (x % 1 == 0) & (x <= upper_bound), is_discrete=True)

nonnegative_integer: Constraint = _integers_from(0)
positive_integer: Constraint = _integers_from(1)
nonnegative: Constraint = greater_than_eq(0.0)
positive: Constraint = greater_than(0.0)
unit_interval: Constraint = interval(0.0, 1.0)

# --- vectors --------------------------------------------------------------------------------------

simplex: Constraint = _events("Simplex", lambda x: (x >= 0).all(-1) & ((x.sum(-1) - 1).abs() < 1e-6), event_dim=1)()
one_hot: Constraint = _events(
    "OneHot", lambda x: boolean.check(x).all(-1) & x.sum(-1).eq(1), event_dim=1, is_discrete=True
)()
multinomial: Any = _events(
    "Multinomial",
    lambda x, upper_bound: (x >= 0).all(-1) & (x.sum(-1) <= upper_bound),
    """Counts that add up to ``upper_bound`` at most.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.distributions.constraints.multinomial(3).check(dt.tensor([[1.0, 2.0], [2.0, 2.0]]))
    tensor([ True, False])
    """,
    event_dim=1,
    is_discrete=True,
)

# --- matrices -------------------------------------------------------------------------------------


def _is_square(x: Any) -> Any:
    return dt.full(x.shape[:-2], x.shape[-2] == x.shape[-1], dtype=dt.bool, device=x.device)


def _is_symmetric(x: Any) -> Any:
    return dt.isclose(x, x.mT, atol=1e-6).all(-2).all(-1) if x.shape[-2] == x.shape[-1] else _is_square(x)


def _if_symmetric(condition: Callable) -> Callable:
    """Return a condition that is asked only where all matrices are symmetric: its algorithm reads one triangle."""

    def check(x: Any) -> Any:
        is_symmetric = _is_symmetric(x)
        return condition(x) if holds_everywhere(is_symmetric) else is_symmetric

    return check


def _is_lower(x: Any) -> Any:
    return (x.tril() == x).flatten(-2).all(-1)


def _is_cholesky_factor(x: Any) -> Any:
    return _is_lower(x) & (x.diagonal(dim1=-2, dim2=-1) > 0).all(-1)


def _is_correlation_factor(x: Any) -> Any:
    # the rows have length one, up to what rounding adds up to in a row
    tolerance = dt.finfo(x.dtype).eps * x.shape[-1] * 10
    return ((x.square().sum(-1) - 1).abs() < tolerance).all(-1) & _is_cholesky_factor(x)


def _matrices(shown: str, condition: Callable) -> Constraint:
    return _events(shown, condition, event_dim=2)()


square: Constraint = _matrices("Square", _is_square)
symmetric: Constraint = _matrices("Symmetric", _is_symmetric)
lower_triangular: Constraint = _matrices("LowerTriangular", _is_lower)
lower_cholesky: Constraint = _matrices("LowerCholesky", _is_cholesky_factor)
corr_cholesky: Constraint = _matrices("CorrCholesky", _is_correlation_factor)
positive_semidefinite: Constraint = _matrices(
    "PositiveSemidefinite", _if_symmetric(lambda x: dt.linalg.eigvalsh(x).ge(0).all(-1))
)
positive_definite: Constraint = _matrices(
    "PositiveDefinite", _if_symmetric(lambda x: dt.linalg.cholesky_ex(x).info.eq(0))
)
