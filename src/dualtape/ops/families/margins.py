"""Losses by margins, by distances and by likelihoods."""

from __future__ import annotations

from collections.abc import Callable
from math import log, pi
from typing import Any

import numpy as np

from ..._tensor import dtypes
from ..._tensor.tensor import new_tensor, raw
from ...arrays.kernels.basics import all_samples, asarray_like, full_like_shape
from ...autograd.underived import refuse_history
from ..dispatch import FUNCTIONS
from ..samples import apart, edge, exact, exact_index, ours, positive, real, sample
from ..table import TABLE, composite
from .linear import linear
from .losses import cross_entropy, reduce_tensor, reduction_of
from .normalisation import pairwise_distance

_F = "nn.functional"
_REDUCTIONS = ("none", "mean", "sum")


def _fits(name: str, input: Any, target: Any) -> None:
    if tuple(input.shape) != tuple(target.shape):
        raise RuntimeError(
            f"{name}: the input and target tensors must have the same size, got {list(input.shape)} and {list(target.shape)}"
        )


def _log_sigmoid(x: Any) -> Any:
    return TABLE["logsigmoid"].function(x)


def _above(x: Any) -> Any:
    return x.clamp(min=0)


def _lack(x: Any) -> Any:
    """Return values above 0, and 0 for the rest: also for NaN, which PyTorch's comparison in these losses passes
    over.
    """
    return FUNCTIONS["where"](x.detach() > 0, x, 0.0)


# --- of two classes -------------------------------------------------------------------------------

_SIGNS = exact_index([1, -1, 1])


@composite("soft_margin_loss", complex=False, namespace=_F, samples=(
    *(sample(real(3), _SIGNS, reduction=r) for r in _REDUCTIONS), edge(exact([40.0, -40.0]), exact_index([1, 1])),
))  # fmt: skip
def soft_margin_loss(
    input: Any, target: Any, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean"
) -> Any:
    """log(1 + exp(-target * input)), for targets of 1 and -1.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.functional.soft_margin_loss(dt.tensor([0.0]), dt.tensor([1.0]))
    tensor(0.6931)
    """
    refuse_history("soft_margin_loss", target=target)
    losses = (-target * input).exp().log1p()
    return reduce_tensor("soft_margin_loss", losses, reduction_of(size_average, reduce, reduction))


@composite("hinge_embedding_loss", complex=False, namespace=_F, samples=(
    *(sample(apart(3), _SIGNS, reduction=r) for r in _REDUCTIONS), sample(apart(3), _SIGNS, 0.5),
    edge(exact([1.0, 1.0]), exact_index([1, -1])),
))  # fmt: skip
def hinge_embedding_loss(
    input: Any, target: Any, margin: float = 1.0, size_average: bool | None = None, reduce: bool | None = None,
    reduction: str = "mean",
) -> Any:  # fmt: skip
    """The input where the target is 1; its shortfall below ``margin`` where that is -1.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.functional.hinge_embedding_loss(dt.tensor([0.3, 0.3]), dt.tensor([1, -1]), reduction="none")
    tensor([0.3000, 0.7000])
    """
    where = FUNCTIONS["where"]
    losses = where(target != 1, _above(margin - input), 0.0) + where(target != -1, input, 0.0)
    return reduce_tensor("hinge_embedding_loss", losses, reduction_of(size_average, reduce, reduction))


@composite("multilabel_soft_margin_loss", complex=False, namespace=_F, samples=(
    *(sample(real(2, 3), exact([[1.0, 0.0, 1.0], [0.0, 0.0, 1.0]]), reduction=r) for r in _REDUCTIONS),
    sample(real(2, 3), exact([[1.0, 0.0, 1.0], [0.0, 0.0, 1.0]]), positive(3)),
))  # fmt: skip
def multilabel_soft_margin_loss(
    input: Any, target: Any, weight: Any = None, size_average: bool | None = None, reduce: bool | None = None,
    reduction: str = "mean",
) -> Any:  # fmt: skip
    """The mean over classes of the logistic loss of each, for targets of 0 and 1.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.functional.multilabel_soft_margin_loss(dt.zeros(1, 2), dt.tensor([[1.0, 0.0]]))
    tensor(0.6931)
    """
    losses = -(target * _log_sigmoid(input) + (1 - target) * _log_sigmoid(-input))
    losses = losses if weight is None else losses * weight
    return reduce_tensor("multilabel_soft_margin_loss", losses.mean(-1), reduction_of(size_average, reduce, reduction))


# --- of several classes ---------------------------------------------------------------------------


@composite("multi_margin_loss", complex=False, namespace=_F, samples=(
    *(sample(apart(3, 4), exact_index([0, 3, 1]), reduction=r) for r in _REDUCTIONS),
    sample(apart(3, 4), exact_index([0, 3, 1]), 2, 0.7), sample(apart(4), exact_index(2)),
    ours(apart(3, 4), exact_index([0, 3, 1]), 1, 1.0, np.array([1.0, 2.0, 0.5, 1.0])),
))  # fmt: skip
def multi_margin_loss(
    input: Any, target: Any, p: int = 1, margin: float = 1.0, weight: Any = None, size_average: bool | None = None,
    reduce: bool | None = None, reduction: str = "mean",
) -> Any:  # fmt: skip
    """The mean over classes of the shortfall of the target's score below each other score plus ``margin``, to the power
    ``p``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.functional.multi_margin_loss(dt.tensor([[0.5, 0.0]]), dt.tensor([0]))
    tensor(0.2500)
    """
    name = "multi_margin_loss"
    refuse_history(name, weight=weight)
    if p not in (1, 2):
        raise ValueError(f"{name}: only p == 1 and p == 2 supported, got {p}")
    rows = input if input.ndim == 2 else input.unsqueeze(0)
    index = target.reshape(-1, 1)
    if input.ndim not in (1, 2) or index.shape[0] != rows.shape[0]:
        raise RuntimeError(
            f"{name}: expected scores (N, C) and targets (N), got {list(input.shape)} and {list(target.shape)}"
        )
    _in_range(name, target, rows.shape[-1])
    lacks = _lack(margin - rows.gather(1, index) + rows)
    lacks = lacks if p == 1 else lacks * lacks
    if weight is not None:
        if tuple(weight.shape) != (rows.shape[-1],):
            raise RuntimeError(
                f"{name}: inconsistent weight size, expected {rows.shape[-1]} but got {list(weight.shape)}"
            )
        lacks = lacks * weight[index].to(input.dtype)
    own = new_tensor(asarray_like(np.arange(rows.shape[-1]), raw(rows))) == index
    losses = FUNCTIONS["where"](own, 0.0, lacks).sum(1) / rows.shape[-1]
    losses = losses if input.ndim == 2 else losses.reshape(tuple(target.shape))
    return reduce_tensor(name, losses, reduction_of(size_average, reduce, reduction))


def _in_range(name: str, target: Any, classes: int, low: int = 0) -> None:
    seen = all_samples(raw(target))
    if seen.size and (seen.min() < low or seen.max() >= classes):
        raise RuntimeError(f"{name}: Target out of bounds: classes are from {low} to {classes - 1}")


@composite("multilabel_margin_loss", complex=False, namespace=_F, samples=(
    *(sample(apart(2, 4), exact_index([[3, 0, -1, 1], [1, -1, -1, -1]]), reduction=r) for r in _REDUCTIONS),
    sample(apart(4), exact_index([3, 0, -1, 1])), edge(apart(1, 3), exact_index([[-1, 0, 0]])),
))  # fmt: skip
def multilabel_margin_loss(
    input: Any, target: Any, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean"
) -> Any:
    """The shortfall of each class of the target, listed up to the first -1, below each other class plus 1, over their
    number.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.functional.multilabel_margin_loss(dt.tensor([0.5, 0.0]), dt.tensor([0, -1]))
    tensor(0.2500)
    """
    name = "multilabel_margin_loss"
    _fits(name, input, target)
    if input.ndim not in (1, 2):
        raise RuntimeError(f"{name}: expected scores (N, C) or (C), got {list(input.shape)}")
    classes = input.shape[-1]
    _in_range(name, target, classes, -1)
    listed = (target < 0).cumsum(-1) == 0
    index = FUNCTIONS["where"](listed, target, 0)
    numbers = new_tensor(asarray_like(np.arange(classes), raw(input)))
    meant = FUNCTIONS["logical_and"](index.unsqueeze(-1) == numbers, listed.unsqueeze(-1)).any(-2)
    lacks = _lack(1 - input.gather(-1, index).unsqueeze(-1) + input.unsqueeze(-2))
    counts = FUNCTIONS["logical_and"](listed.unsqueeze(-1), meant.logical_not().unsqueeze(-2))
    losses = FUNCTIONS["where"](counts, lacks, 0.0).sum((-2, -1)) / classes
    return reduce_tensor(name, losses, reduction_of(size_average, reduce, reduction))


# --- of pairs and triplets ------------------------------------------------------------------------


@composite("margin_ranking_loss", complex=False, namespace=_F, samples=(
    *(sample(apart(3), real(3), _SIGNS, 0.3, reduction=r) for r in _REDUCTIONS), edge(exact([1.0]), exact([1.0]), exact_index([1])),
))  # fmt: skip
def margin_ranking_loss(
    input1: Any, input2: Any, target: Any, margin: float = 0, size_average: bool | None = None,
    reduce: bool | None = None, reduction: str = "mean",
) -> Any:  # fmt: skip
    """The shortfall of the first input below the second plus ``margin``; exchanged where the target is -1.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.functional.margin_ranking_loss(dt.tensor([1.0]), dt.tensor([1.5]), dt.tensor([1]))
    tensor(0.5000)
    """
    if input1.ndim != input2.ndim or input1.ndim != target.ndim:
        raise RuntimeError(
            "margin_ranking_loss: All input tensors should have same dimension but got sizes:"
            f" {list(input1.shape)}, {list(input2.shape)}, {list(target.shape)}"
        )
    losses = _above(-target * (input1 - input2) + margin)
    return reduce_tensor("margin_ranking_loss", losses, reduction_of(size_average, reduce, reduction))


@composite("cosine_embedding_loss", complex=False, namespace=_F, samples=(
    *(sample(real(3, 4), real(3, 4), _SIGNS, reduction=r) for r in _REDUCTIONS),
    sample(real(4), real(4), exact_index(1), -0.5), sample(real(3, 4), real(3, 4), _SIGNS, 0.1),
))  # fmt: skip
def cosine_embedding_loss(
    input1: Any, input2: Any, target: Any, margin: float = 0, size_average: bool | None = None,
    reduce: bool | None = None, reduction: str = "mean",
) -> Any:  # fmt: skip
    """1 minus the cosine of the angle between vectors; where the target is -1, the excess of the cosine over
    ``margin``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.functional.cosine_embedding_loss(dt.tensor([1.0, 0.0]), dt.tensor([0.0, 1.0]), dt.tensor(1))
    tensor(1.)
    """
    name = "cosine_embedding_loss"
    if target.ndim not in (0, 1) or input1.ndim != target.ndim + 1 or input2.ndim != target.ndim + 1:
        raise RuntimeError(
            f"{name}: expected vectors (N, D) and targets (N), or one of each, got {list(input1.shape)},"
            f" {list(input2.shape)} and {list(target.shape)}"
        )
    tiny = 1e-12
    lengths = ((input1 * input1).sum(-1) + tiny) * ((input2 * input2).sum(-1) + tiny)
    cosine = (input1 * input2).sum(-1) / lengths.sqrt()
    where = FUNCTIONS["where"]
    losses = where(target == 1, 1 - cosine, 0.0) + where(target == -1, _above(cosine - margin), 0.0)
    return reduce_tensor(name, losses, reduction_of(size_average, reduce, reduction))


def _triplet(anchor: Any, positive: Any, negative: Any, distance: Callable, margin: float, swap: bool) -> Any:
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = FUNCTIONS["minimum"](far, distance(positive, negative))
    return _above(margin + near - far)


@composite("triplet_margin_loss", complex=False, namespace=_F, samples=(
    *(sample(real(3, 4), real(3, 4), real(3, 4), 3.0, reduction=r) for r in _REDUCTIONS),
    sample(real(3, 4), real(3, 4), real(3, 4), 3.0, 1.5, swap=True), sample(real(4), real(4), real(4), 3.0),
))  # fmt: skip
def triplet_margin_loss(
    anchor: Any, positive: Any, negative: Any, margin: float = 1.0, p: float = 2, eps: float = 1e-6, swap: bool = False,
    size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean",
) -> Any:  # fmt: skip
    """The shortfall of the negative's distance from the anchor below the positive's plus ``margin``; with ``swap``, of
    the smaller distance from either.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.functional.triplet_margin_loss(dt.zeros(1, 1), dt.ones(1, 1), dt.ones(1, 1))
    tensor(1.)
    """
    name = "triplet_margin_loss"
    if not anchor.ndim == positive.ndim == negative.ndim:
        raise RuntimeError(
            f"{name}: The anchor, positive, and negative tensors are expected to have the same number of dimensions"
        )
    if margin <= 0:
        raise ValueError(f"{name}: margin must be greater than 0, got {margin}")
    distance = lambda a, b: pairwise_distance(a, b, p, eps)
    losses = _triplet(anchor, positive, negative, distance, margin, swap)
    return reduce_tensor(name, losses, reduction_of(size_average, reduce, reduction))


@composite("triplet_margin_with_distance_loss", complex=False, namespace=_F, samples=(
    sample(real(3, 4), real(3, 4), real(3, 4), margin=3.0), sample(real(3, 4), real(3, 4), real(3, 4), margin=3.0, swap=True, reduction="sum"),
))  # fmt: skip
def triplet_margin_with_distance_loss(
    anchor: Any, positive: Any, negative: Any, *, distance_function: Callable | None = None, margin: float = 1.0,
    swap: bool = False, reduction: str = "mean",
) -> Any:  # fmt: skip
    """:func:`triplet_margin_loss` with a user-defined distance.

    Examples
    --------
    >>> import dualtape as dt
    >>> distance = lambda a, b: (a - b).abs().sum(-1)
    >>> zeros, ones = dt.zeros(1, 2), dt.ones(1, 2)
    >>> dt.nn.functional.triplet_margin_with_distance_loss(zeros, ones, ones, distance_function=distance)
    tensor(1.)
    """
    name = "triplet_margin_with_distance_loss"
    if margin <= 0:
        raise ValueError(f"{name}: margin must be greater than 0, got {margin}")
    if not anchor.ndim == positive.ndim == negative.ndim:
        raise RuntimeError(
            f"{name}: The anchor, positive, and negative tensors are expected to have the same number of dimensions"
        )
    losses = _triplet(anchor, positive, negative, distance_function or pairwise_distance, margin, swap)
    return reduce_tensor(name, losses, reduction)


# --- of likelihoods -------------------------------------------------------------------------------


@composite("poisson_nll_loss", complex=False, namespace=_F, samples=(
    *(sample(real(3), positive(3), reduction=r) for r in _REDUCTIONS), sample(positive(3), positive(3), False),
    sample(real(3), np.array([0.0, 0.5, 5.0]), full=True),
))  # fmt: skip
def poisson_nll_loss(
    input: Any, target: Any, log_input: bool = True, full: bool = False, size_average: bool | None = None,
    eps: float = 1e-8, reduce: bool | None = None, reduction: str = "mean",
) -> Any:  # fmt: skip
    """Minus the log-probability of ``target`` under a Poisson distribution, without terms that do not depend on the
    rate; ``full`` adds Stirling's approximation of those. The rate is exp(input), or the input.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.functional.poisson_nll_loss(dt.tensor([0.0]), dt.tensor([2.0]))
    tensor(1.)
    """
    losses = input.exp() - target * input if log_input else input - target * (input + eps).log()
    if full:
        many = FUNCTIONS["where"](target <= 1, 1.0, target)
        rest = many * many.log() - many + 0.5 * (2 * pi * many).log()
        losses = losses + FUNCTIONS["where"](target <= 1, 0.0, rest)
    return reduce_tensor("poisson_nll_loss", losses, reduction_of(size_average, reduce, reduction))


@composite("gaussian_nll_loss", complex=False, namespace=_F, samples=(
    *(sample(real(3, 4), real(3, 4), positive(3, 4), reduction=r) for r in _REDUCTIONS),
    sample(real(3, 4), real(3, 4), positive(3), True), sample(real(3, 4), real(3, 4), positive(3, 1)),
    edge(exact([1.0, 2.0]), exact([0.0, 0.0]), exact([0.0, 1.0]), eps=0.1), sample(real(3), real(3), 0.5),
))  # fmt: skip
def gaussian_nll_loss(
    input: Any, target: Any, var: Any, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
) -> Any:
    """Minus the logarithm of a normal distribution's density, of mean ``input`` and variance ``var``, at ``target``;
    ``full`` adds the constant.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.functional.gaussian_nll_loss(dt.tensor([0.0]), dt.tensor([1.0]), dt.tensor([1.0]))
    tensor(0.5000)
    """
    name = "gaussian_nll_loss"
    if isinstance(var, (int, float)):
        if var < 0:
            raise ValueError(f"{name}: var has negative entry/entries")
        dtype = raw(input).dtype if raw(input).dtype.kind in "fc" else dtypes.default_float()
        var = new_tensor(full_like_shape(tuple(input.shape), var, dtype, raw(input)))
    elif tuple(var.shape) != tuple(input.shape):
        if tuple(var.shape) == tuple(input.shape[:-1]):
            var = var.unsqueeze(-1)
        elif tuple(var.shape[:-1]) != tuple(input.shape[:-1]) or var.shape[-1] != 1:
            raise ValueError(f"{name}: var is of incorrect size: {list(var.shape)} for an input of {list(input.shape)}")
    if (all_samples(raw(var)) < 0).any():
        raise ValueError(f"{name}: var has negative entry/entries")
    # as in PyTorch, the gradient passes the bound
    var = var + (var.detach().clamp(min=eps) - var.detach())
    losses = 0.5 * (var.log() + (input - target) ** 2 / var)
    return reduce_tensor(name, losses + 0.5 * log(2 * pi) if full else losses, reduction)


@composite("linear_cross_entropy", complex=False, namespace=_F, samples=(
    *(sample(real(3, 4), real(5, 4), exact_index([0, 4, 2]), reduction=r) for r in _REDUCTIONS),
    sample(real(3, 4), real(5, 4), exact_index([0, -100, 2]), linear_bias=real(5), label_smoothing=0.1),
))  # fmt: skip
def linear_cross_entropy(
    input: Any, linear_weight: Any, target: Any, *, linear_bias: Any = None, weight: Any = None, reduction: str = "mean",
    ignore_index: int | None = None, label_smoothing: float = 0.0, options: Any = None,
) -> Any:  # fmt: skip
    """The cross entropy of a linear layer's results.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.functional.linear_cross_entropy(dt.zeros(1, 3), dt.ones(2, 3), dt.tensor([0]))
    tensor(0.6931)
    """
    if options is not None:
        raise NotImplementedError("linear_cross_entropy: options= says how PyTorch splits the work; leave it out")
    logits = linear(input, linear_weight, linear_bias)
    return cross_entropy(
        logits, target, weight, -100 if ignore_index is None else ignore_index, reduction, label_smoothing
    )
