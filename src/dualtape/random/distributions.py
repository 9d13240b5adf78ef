"""Draws from distributions with a parameter for each element, and their gradients where they are known."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import modes
from .._tensor import dtypes
from .._tensor.tensor import Tensor, new_tensor, raw
from ..arrays.bfloat16_dtype import BFLOAT16, SINGLE, cast
from ..arrays.kernels.basics import all_samples, on_host
from ..autograd.function import Function
from ..autograd.underived import underived
from .generator import Generator, source
from .implicit_gradients import beta_slope, gamma_slope


def _drawn(name: str, generator: Generator | None, draw: str, *parameters: Any) -> Tensor:
    """Return draws of NumPy's generator, for each of the parameters, in the dtype of the last."""
    rng: Any = source(generator)
    if (tracing := modes.current().tracing) is not None:
        from ..arrays.traced.array import plain

        tracing.tape.fail(f"it draws from a distribution whose shapes vary ({name})")
        parameters = plain(parameters)
    if modes.current().batches:
        given = tuple([p.astype(SINGLE) if p.dtype is BFLOAT16 else p for p in parameters])
        return new_tensor(rng.beside(draw, given).astype(parameters[-1].dtype))
    if any(type(p) is not np.ndarray and p.dtype is not BFLOAT16 for p in parameters):
        raise NotImplementedError(f"{name}: the parameters must be NumPy's arrays")
    shape = np.broadcast_shapes(*[p.shape for p in parameters])
    values = getattr(rng, draw)(*[cast(p, SINGLE) if p.dtype is BFLOAT16 else p for p in parameters], shape)
    return new_tensor(cast(np.asarray(values), parameters[-1].dtype))


def _probable(prob: Any) -> bool:
    return bool(np.all((prob >= 0) & (prob <= 1)))


def _floats(name: str, *tensors: Tensor) -> None:
    for tensor in tensors:
        if tensor._array.dtype.kind != "f":
            kind = ValueError if name == "binomial" else NotImplementedError
            raise kind(f"{name} only supports floating-point dtypes, got {dtypes.of(tensor._array.dtype)!r}")


class Poisson(Function):
    """The node of Poisson draws, which are piecewise constant: their gradient is zero."""

    @staticmethod
    def forward(ctx: Any, input: Any, generator: Any) -> Any:
        return _drawn("poisson", generator, "poisson", input._array)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * 0, None


def poisson(input: Tensor, generator: Generator | None = None) -> Tensor:
    """Return numbers of events, each from a Poisson distribution with the rate in ``input``; the gradient is zero.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.poisson(dt.zeros(2))
    tensor([0., 0.])
    """
    _floats("poisson", input)
    if not np.all(all_samples(raw(input)) >= 0):
        raise RuntimeError("invalid Poisson rate, expected rate to be non-negative")
    return Poisson.apply(input, generator)


def binomial(count: Tensor, prob: Tensor, generator: Generator | None = None) -> Tensor:
    """Return numbers of successes in ``count`` trials of probability ``prob`` each; the derivative is not implemented.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.binomial(dt.tensor([5.0]), dt.ones(1))
    tensor([5.])
    """
    _floats("binomial", count, prob)
    if count.dtype != prob.dtype:
        raise RuntimeError(f"binomial: expected one dtype, got {count.dtype!r} and {prob.dtype!r}")
    if not (np.all(all_samples(raw(count)) >= 0) and _probable(all_samples(raw(prob)))):
        raise RuntimeError("binomial: counts must not be negative, and probabilities lie between 0 and 1")
    drawn = _drawn("binomial", generator, "binomial", count._array.astype(np.int64), prob._array)
    return underived("binomial", drawn, count, prob)


class StandardGamma(Function):
    """The node of draws from gamma distributions; the gradient is taken at a fixed quantile."""

    @staticmethod
    def forward(ctx: Any, input: Any, generator: Any) -> Any:
        out = _drawn("_standard_gamma", generator, "standard_gamma", input._array)
        ctx.save_for_backward(input, out)
        return out

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        input, out = ctx.saved_tensors
        slope = new_tensor(on_host(gamma_slope, input._array, out._array).astype(out._array.dtype))
        return g * underived("_standard_gamma_grad", slope, input, out), None


def _standard_gamma(input: Tensor, generator: Generator | None = None) -> Tensor:
    """Return draws from gamma distributions of the shapes in ``input`` and rate 1, differentiable at a fixed quantile.

    Examples
    --------
    >>> import dualtape as dt
    >>> bool((dt._standard_gamma(dt.ones(3)) >= 0).all())
    True
    """
    _floats("_standard_gamma", input)
    if not np.all(all_samples(raw(input)) >= 0):
        raise RuntimeError("_standard_gamma: shapes must not be negative")
    return StandardGamma.apply(input, generator)


class Dirichlet(Function):
    """The node of draws from Dirichlet distributions: with its concentration a component changes at a fixed quantile,
    and the others shrink in proportion.
    """

    @staticmethod
    def forward(ctx: Any, input: Any, generator: Any) -> Any:
        alpha = input._array
        # of small concentrations, the logarithms of gamma variables: they themselves would be zero
        gammas = _drawn("_sample_dirichlet", generator, "standard_gamma", alpha.astype(np.float64) + 1)._array
        uniform = source(generator).random(alpha.shape)
        logs = np.log(gammas) + np.log1p(-uniform) / alpha
        parts = np.exp(logs - logs.max(-1, keepdims=True))
        limits = np.finfo(alpha.dtype)
        drawn = np.clip((parts / parts.sum(-1, keepdims=True)).astype(alpha.dtype), limits.tiny, 1 - limits.epsneg)
        out = new_tensor(drawn)
        ctx.save_for_backward(input, out)
        return out

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        input, out = ctx.saved_tensors
        alpha, x = input._array, out._array
        others = alpha.sum(-1, keepdims=True) - alpha
        slope = new_tensor((x * on_host(beta_slope, alpha, others, x)).astype(x.dtype))
        slope = underived("_dirichlet_grad", slope, input, out)
        return slope * (g - (out * g).sum(-1, keepdim=True)), None


def _sample_dirichlet(input: Tensor, generator: Generator | None = None) -> Tensor:
    """Return draws from Dirichlet distributions of the concentrations in the last dimension, with their gradient.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt._sample_dirichlet(dt.ones(3)).sum()
    tensor(1.)
    """
    _floats("_sample_dirichlet", input)
    if not input.dim() or not np.all(all_samples(raw(input)) > 0):
        raise RuntimeError("_sample_dirichlet: expected positive concentrations along the last dimension")
    return Dirichlet.apply(input, generator)


def von_mises(loc: Tensor, concentration: Tensor, generator: Generator | None = None) -> Tensor:
    """Return angles between -pi and pi from von Mises distributions."""
    return _drawn("von_mises", generator, "vonmises", loc._array, concentration._array)
