"""A transform for each part of a dimension."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import dualtape as dt

from .. import constraints
from ..utils import _sum_rightmost, lazy_property
from .base import Transform


class _Joined(Transform):
    """Transforms of the parts of a tensor along ``dim``."""

    transforms: list[Transform]
    dim: int

    def __init__(self, tseq: Sequence[Transform], dim: int = 0, cache_size: int = 0) -> None:
        if not all(isinstance(t, Transform) for t in tseq):
            raise AssertionError("tseq: expected transforms")
        super().__init__(cache_size=cache_size)
        self.transforms = [t.with_cache(cache_size) for t in tseq] if cache_size else list(tseq)
        self.dim = dim

    @property
    def bijective(self) -> bool:
        return all(t.bijective for t in self.transforms)

    def _dt_parts(self, x: Any) -> Sequence[Any]:
        raise NotImplementedError

    def _dt_check(self, x: Any, expected: int) -> None:
        if not -x.dim() <= self.dim < x.dim():
            raise AssertionError(f"dim {self.dim} is outside of a tensor of {x.dim()} dimensions")
        if x.shape[self.dim] != expected:
            raise AssertionError(f"expected {expected} elements of dim {self.dim}, got {x.shape[self.dim]}")

    def _dt_pairs(self, *values: Any) -> Iterator[tuple]:
        return zip(self.transforms, *[self._dt_parts(value) for value in values], strict=True)


class CatTransform(_Joined):
    """Each transform applied to its part of ``dim``, of the length in ``lengths`` (default: one each).

    Examples
    --------
    >>> import dualtape as dt
    >>> from dualtape.distributions import CatTransform, ExpTransform, identity_transform
    >>> CatTransform([ExpTransform(), identity_transform], lengths=[1, 2])(dt.zeros(3))
    tensor([1., 0., 0.])
    """

    def __init__(
        self, tseq: Sequence[Transform], dim: int = 0, lengths: Sequence[int] | None = None, cache_size: int = 0
    ) -> None:
        super().__init__(tseq, dim, cache_size)
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.transforms):
            raise AssertionError(f"{len(self.transforms)} transforms and {len(self.lengths)} lengths: one for each")

    @lazy_property
    def event_dim(self) -> int:
        return max(t.event_dim for t in self.transforms)

    @lazy_property
    def length(self) -> int:
        """The size of the dimension."""
        return sum(self.lengths)

    def with_cache(self, cache_size: int = 1) -> Any:
        if self._cache_size == cache_size:
            return self
        return CatTransform(self.transforms, self.dim, self.lengths, cache_size)

    def _dt_parts(self, x: Any) -> Sequence[Any]:
        self._dt_check(x, self.length)
        return x.split(self.lengths, self.dim)

    def _call(self, x: Any) -> Any:
        return dt.cat([t(part) for t, part in self._dt_pairs(x)], self.dim)

    def _inverse(self, y: Any) -> Any:
        return dt.cat([t.inv(part) for t, part in self._dt_pairs(y)], self.dim)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        terms = []
        for t, before, after in self._dt_pairs(x, y):
            term = t.log_abs_det_jacobian(before, after)
            terms.append(_sum_rightmost(term, self.event_dim - t.event_dim))
        dim = self.dim - x.dim() if self.dim >= 0 else self.dim
        dim += self.event_dim
        return dt.cat(terms, dim) if dim < 0 else sum(terms)

    @constraints.dependent_property
    def domain(self) -> Any:
        return constraints.cat([t.domain for t in self.transforms], self.dim, self.lengths)

    @constraints.dependent_property
    def codomain(self) -> Any:
        return constraints.cat([t.codomain for t in self.transforms], self.dim, self.lengths)


class StackTransform(_Joined):
    """Each transform applied to its index along ``dim``.

    Examples
    --------
    >>> import dualtape as dt
    >>> from dualtape.distributions import ExpTransform, StackTransform, identity_transform
    >>> StackTransform([ExpTransform(), identity_transform])(dt.zeros(2))
    tensor([1., 0.])
    """

    def with_cache(self, cache_size: int = 1) -> Any:
        return self if self._cache_size == cache_size else StackTransform(self.transforms, self.dim, cache_size)

    def _dt_parts(self, x: Any) -> Sequence[Any]:
        self._dt_check(x, len(self.transforms))
        return x.unbind(self.dim)

    def _call(self, x: Any) -> Any:
        return dt.stack([t(part) for t, part in self._dt_pairs(x)], self.dim)

    def _inverse(self, y: Any) -> Any:
        return dt.stack([t.inv(part) for t, part in self._dt_pairs(y)], self.dim)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return dt.stack([t.log_abs_det_jacobian(*parts) for t, *parts in self._dt_pairs(x, y)], self.dim)

    @constraints.dependent_property
    def domain(self) -> Any:
        return constraints.stack([t.domain for t in self.transforms], self.dim)

    @constraints.dependent_property
    def codomain(self) -> Any:
        return constraints.stack([t.codomain for t in self.transforms], self.dim)
