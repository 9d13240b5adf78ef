"""The base of distributions: a few formulas in standard form, from which all others, location and scale follow."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ..._tensor.tensor import Tensor, wrap
from ...arrays.lazy import scipy_stats
from ...autograd.function import Function
from ...modes import is_grad_enabled
from ...ops.numpy_entries.registry import alike
from ...overrides.active_overrides import among_arrays
from .._arguments import plain
from .._like import has_tensor

Formula = Callable[..., Any]


class Distribution:
    """A distribution under SciPy's name; without a tensor among the arguments, SciPy's own is used."""

    functions: tuple[str, ...] = ()

    def __init__(self, name: str) -> None:
        self.name = name
        self.__doc__ = f"``scipy.stats.{name}`` for tensors: {', '.join(self.functions)}."

    @property
    def scipy(self) -> Any:
        return getattr(scipy_stats, self.name)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.scipy, name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The distribution with these parameters."""
        return Frozen(self, args, kwargs) if has_tensor(args) or has_tensor(kwargs) else self.scipy(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<distribution {self.name}>"


class Frozen:
    """A distribution with its parameters."""

    def __init__(self, distribution: Distribution, args: tuple, kwargs: dict) -> None:
        self.distribution, self.args, self.kwargs = distribution, args, kwargs

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        function = getattr(self.distribution, name)
        if name in ("mean", "median", "var", "std", "entropy", "interval", "support", "stats"):
            return lambda *first: function(*first, *self.args, **self.kwargs)
        return lambda x, *more: function(x, *self.args, *more, **self.kwargs)


def answering(function: str) -> Callable:
    """Return a method that computes with tensors, or calls SciPy."""

    def decorate(method: Callable) -> Callable:
        def either(self: Distribution, *args: Any, **kwargs: Any) -> Any:
            if has_tensor(args) or has_tensor(kwargs):
                return among_arrays(functools.partial(method, self), args, kwargs)
            return getattr(self.scipy, function)(*args, **kwargs)

        either.__name__ = function
        return either

    return decorate


class Univariate(Distribution):
    """A distribution of real numbers with shapes, a location and a scale.

    Formulas are of the standard form. ``log_density`` and ``cdf`` are asked inside of the support only.
    """

    functions: tuple[str, ...] = ("pdf", "logpdf", "cdf", "logcdf", "sf", "logsf", "ppf", "isf")

    def __init__(
        self,
        name: str,
        shapes: str,
        log_density: Formula,
        *,
        inside: Formula | None = None,
        middle: float = 0.5,
        cdf: Formula | None = None,
        sf: Formula | None = None,
        logcdf: Formula | None = None,
        logsf: Formula | None = None,
        ppf: Formula | None = None,
    ) -> None:
        super().__init__(name)
        self.shapes = tuple(shapes.split())
        self._log_density, self._inside, self._middle = log_density, inside, middle
        self._cdf, self._sf, self._logcdf, self._logsf, self._ppf = cdf, sf, logcdf, logsf, ppf

    has_scale = True

    def _bound(self, args: tuple, kwargs: dict) -> tuple[list, Any, Any]:
        """Return shapes, location and scale from the arguments, as SciPy reads them."""
        names = (*self.shapes, "loc", *(("scale",) if self.has_scale else ()))
        if len(args) > len(names):
            raise TypeError(f"{self.name}: too many arguments; it takes x, {', '.join(names)}")
        given = dict(zip(names, args, strict=False))
        for key, value in kwargs.items():
            if key not in names or key in given:
                raise TypeError(f"{self.name}: unexpected argument {key!r}; it takes x, {', '.join(names)}")
            given[key] = value
        missing = [name for name in self.shapes if name not in given]
        if missing:
            raise TypeError(f"{self.name}: missing {', '.join(missing)}; it takes x, {', '.join(names)}")
        return [given[name] for name in self.shapes], given.get("loc", 0), given.get("scale", 1)

    def _standard(self, x: Any, args: tuple, kwargs: dict) -> tuple[Any, list, Any, Any]:
        """Return x in standard form, moved to the middle of the support where it is outside, a mask of those, shapes,
        and scale.
        """
        shapes, loc, scale = self._bound(args, kwargs)
        x, loc, scale, *shapes = alike(x, loc, scale, *shapes)
        z = (x - loc) / scale
        inside = None
        if self._inside is not None:
            inside = self._inside(z, *shapes)
            z = np.where(inside, z, self._middle)
        return z, shapes, scale, inside

    def _side(self, x: Any, args: tuple, kwargs: dict) -> tuple[Any, Any]:
        """Return whether x, outside the support, is above it."""
        _, loc, scale = self._bound(args, kwargs)
        x, loc, scale = alike(x, loc, scale)
        return (x.detach() - loc.detach()) / scale.detach() > self._middle

    @answering("logpdf")
    def logpdf(self, x: Any, *args: Any, **kwargs: Any) -> Any:
        """The logarithm of the density."""
        z, shapes, scale, inside = self._standard(x, args, kwargs)
        found = self._log_density(z, *shapes) - np.log(scale)
        found = found if inside is None else np.where(inside, found, -np.inf)
        return np.where(scale > 0, found, np.nan)

    @answering("pdf")
    def pdf(self, x: Any, *args: Any, **kwargs: Any) -> Any:
        """The density."""
        return np.exp(self.logpdf(x, *args, **kwargs))

    def _cumulated(self, formula: Formula | None, what: str, below: float, above: float, call: tuple) -> Any:
        x, args, kwargs = call
        z, shapes, _, inside = self._standard(x, args, kwargs)
        found = self._by_scipy(what, z, shapes) if formula is None else formula(z, *shapes)
        return found if inside is None else np.where(inside, found, np.where(self._side(x, args, kwargs), above, below))

    @answering("cdf")
    def cdf(self, x: Any, *args: Any, **kwargs: Any) -> Any:
        """The probability of at most x."""
        return self._cumulated(self._cdf, "cdf", 0.0, 1.0, (x, args, kwargs))

    @answering("sf")
    def sf(self, x: Any, *args: Any, **kwargs: Any) -> Any:
        """The probability of more than x."""
        formula = self._sf or (self._cdf and (lambda z, *shapes: 1 - self._cdf(z, *shapes)))  # type: ignore[misc]
        return self._cumulated(formula, "sf", 1.0, 0.0, (x, args, kwargs))

    @answering("logcdf")
    def logcdf(self, x: Any, *args: Any, **kwargs: Any) -> Any:
        """The logarithm of :meth:`cdf`."""
        if self._logcdf is None:
            return np.log(self.cdf(x, *args, **kwargs))
        return self._cumulated(self._logcdf, "logcdf", -np.inf, 0.0, (x, args, kwargs))

    @answering("logsf")
    def logsf(self, x: Any, *args: Any, **kwargs: Any) -> Any:
        """The logarithm of :meth:`sf`."""
        if self._logsf is None:
            return np.log(self.sf(x, *args, **kwargs))
        return self._cumulated(self._logsf, "logsf", 0.0, -np.inf, (x, args, kwargs))

    @answering("ppf")
    def ppf(self, q: Any, *args: Any, **kwargs: Any) -> Any:
        """The inverse of :meth:`cdf`."""
        shapes, loc, scale = self._bound(args, kwargs)
        q, loc, scale, *shapes = alike(q, loc, scale, *shapes)
        z = self._by_scipy("ppf", q, shapes) if self._ppf is None else self._ppf(q, *shapes)
        return z * scale + loc

    def _by_scipy(self, what: str, x: Any, shapes: list) -> Any:
        """Return a function of the standard form without a formula: SciPy's value, with the density as its slope."""
        if is_grad_enabled() and any(s.requires_grad for s in shapes):
            raise NotImplementedError(
                f"{self.name}.{what} has no derivative by {', '.join(self.shapes)}: there is no closed form"
            )
        x, *shapes = np.broadcast_arrays(x, *(s.detach() for s in shapes))
        return _OfDensity.apply(self, what, x, *shapes)

    @answering("isf")
    def isf(self, q: Any, *args: Any, **kwargs: Any) -> Any:
        """The inverse of :meth:`sf`."""
        return self.ppf(1 - alike(q, *args, *kwargs.values())[0], *args, **kwargs)


class _OfDensity(Function):
    """A distribution function, or its inverse, that SciPy computes; its derivative is the density, or one over it."""

    @staticmethod
    def forward(ctx: Any, distribution: Univariate, what: str, x: Tensor, *shapes: Tensor) -> Tensor:
        found = getattr(distribution.scipy, what)(plain(x), *map(plain, shapes))
        out = wrap(np.asarray(found, x._array.dtype))
        ctx.save_for_backward(x, out, *shapes)
        ctx.how = (distribution, what)
        return out

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> tuple:
        x, out, *shapes = ctx.saved_tensors
        distribution, what = ctx.how
        at = out if what == "ppf" else x
        density = np.exp(distribution._log_density(at, *shapes))
        slope = {"cdf": density, "sf": -density}.get(what)
        if slope is None:
            slope = 1 / density
        return None, None, gradient * slope, *(None for _ in shapes)


class Discrete(Univariate):
    """A distribution of integers."""

    functions = ("pmf", "logpmf", "cdf", "logcdf", "sf", "logsf")
    has_scale = False

    def _whole(self, k: Any, args: tuple, kwargs: dict) -> tuple[Tensor, Any]:
        """Return k minus the location, and whether it is an integer."""
        _, loc, _ = self._bound(args, kwargs)
        k, loc = alike(k, loc)
        k = (k - loc).detach()  # probabilities of whole numbers do not move with them
        return k, k == np.floor(k)

    @answering("logpmf")
    def logpmf(self, k: Any, *args: Any, **kwargs: Any) -> Any:
        """The logarithm of the probability of k."""
        shapes = self._bound(args, kwargs)[0]
        whole, is_whole = self._whole(k, args, kwargs)
        whole, *shapes = alike(whole, *shapes)
        inside = is_whole & self._inside(whole, *shapes)  # type: ignore[misc]
        return np.where(inside, self._log_density(np.where(inside, whole, self._middle), *shapes), -np.inf)

    @answering("pmf")
    def pmf(self, k: Any, *args: Any, **kwargs: Any) -> Any:
        """The probability of k."""
        return np.exp(self.logpmf(k, *args, **kwargs))

    def _cumulated(self, formula: Formula | None, what: str, below: float, above: float, call: tuple) -> Any:
        if formula is None:
            raise NotImplementedError(f"{self.name}.{what} has no closed form, and no derivative here")
        k, args, kwargs = call
        whole, *shapes = alike(np.floor(self._whole(k, args, kwargs)[0]), *self._bound(args, kwargs)[0])
        inside = self._inside(whole, *shapes)  # type: ignore[misc]
        found = formula(np.where(inside, whole, self._middle), *shapes)
        return np.where(inside, found, np.where(whole > self._middle, above, below))
