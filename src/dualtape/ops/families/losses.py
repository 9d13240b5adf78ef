"""Losses: the difference between prediction and target, for each element, summed, or averaged."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ...arrays import zeros
from ...arrays.bfloat16_dtype import cast, in_single
from ...arrays.kernels.basics import add_reduce, all_samples, arange_like, full_like_shape
from ...autograd.underived import refuse_history
from ...errors import ArgumentError, warn
from ..dispatch import FUNCTIONS
from ..formulas import use
from ..samples import edge, exact, exact_index, ints, probability, real, sample
from ..table import COMMON, GENERAL, LINEAR, composite, formula_names, named, op

_REDUCTIONS = ("none", "mean", "sum")


def _check(name: str, reduction: str) -> None:
    if reduction not in _REDUCTIONS:
        raise ArgumentError(
            f"{name}: {reduction!r} is not a valid value for reduction; expected one of {', '.join(_REDUCTIONS)}"
        )


def _reduced(name: str, values: Any, reduction: str) -> Any:
    """Return the reduction of a loss's elements."""
    _check(name, reduction)
    if reduction == "none":
        return values
    return _summed(values, reduction)


@in_single
def _summed(values: Any, reduction: str) -> Any:
    total = add_reduce(values, axis=None)
    return total if reduction == "sum" else total / values.dtype.type(values.size)


def _share(g: Any, difference: Any, reduction: str) -> Any:
    """Return the gradient of each element of a loss."""
    return g / prod(difference.shape) if reduction == "mean" else g


def _total(values: Any, reduction: str) -> Any:
    """Return the same reduction of a tangent."""
    if reduction == "none":
        return values
    return np.sum(values) if reduction == "sum" else np.sum(values) / prod(values.shape)


def _pairs(*more: Any) -> tuple:
    return (
        tuple(
            s
            for r in _REDUCTIONS
            for s in (sample(real(3, 4), real(3, 4), reduction=r), sample(real(2, 3), real(3), reduction=r))
        )
        + more
    )


def _difference_loss(
    name: str, forward: Any, slope: Any, samples: Any, doc: str, promote: Any = COMMON, factor: int = 1
) -> None:
    """Declare a loss of x - target: ``factor * slope(d, ...)`` is its derivative; the target's gradient is the negative
    of the input's.
    """
    extra = formula_names(slope)[1:]
    asked = ("x", "target", "reduction", *extra)

    def gradient(g: Any, x: Any, target: Any, reduction: str, *settings: Any) -> Any:
        d = x - target
        return _share(g if factor == 1 else factor * g, d, reduction) * slope(d, *settings)

    def tangent(t: Any, x: Any, target: Any, reduction: str, *settings: Any) -> Any:
        return _total((t if factor == 1 else factor * t) * slope(x - target, *settings), reduction)

    op(name, forward, namespace="nn.functional", kind=GENERAL, promote=promote, complex=False, samples=samples, doc=doc,
       vjp=dict(x=named(lambda *v: gradient(*v), ("g", *asked)),
           target=named(lambda g, *v: gradient(-g, *v), ("g", *asked))),
       jvp=dict(x=named(lambda *v: tangent(*v), ("t", *asked)),
           target=named(lambda t, *v: tangent(-t, *v), ("t", *asked))))  # fmt: skip


def _mse(x: Any, target: Any, reduction: str = "mean") -> Any:
    d = x - target
    return _reduced("mse_loss", d * d, reduction)


_difference_loss("mse_loss", _mse, lambda d: d,
    _pairs(sample(real(), real()), sample(real(0, 2), real(0, 2), reduction="sum")),
   """The squared difference.

   >>> import dualtape as dt
   >>> dt.nn.functional.mse_loss(dt.tensor([1.0, 2.0]), dt.tensor([1.0, 4.0]))
   tensor(2.)
   """, factor=2)  # fmt: skip


def _smooth_l1(x: Any, target: Any, reduction: str = "mean", beta: float = 1.0) -> Any:
    if beta < 0:
        raise RuntimeError(f"smooth_l1_loss does not support negative values for beta, got {beta}")
    d = np.absolute(x - target)
    return _reduced(
        "smooth_l1_loss", d if beta == 0 else np.where(d < beta, 0.5 * d * d / beta, d - 0.5 * beta), reduction
    )


def _smooth_l1_slope(d: Any, beta: float) -> Any:
    return np.sign(np.where(d == d, d, 0)) if beta == 0 else np.where(np.absolute(d) < beta, d / beta, np.sign(d))


_difference_loss("smooth_l1_loss", _smooth_l1, _smooth_l1_slope, _pairs(sample(real(3, 4), real(3, 4), beta=0.3),
    edge(exact([1.0, 2.0, -1.0]), exact([0.0, 2.0, 0.0]))),
   """The squared difference near 0, the absolute difference from ``beta`` on.

   >>> import dualtape as dt
   >>> dt.nn.functional.smooth_l1_loss(dt.tensor([0.5, 3.0]), dt.tensor([0.0, 0.0]), reduction="none")
   tensor([0.1250, 2.5000])
   """)  # fmt: skip


def _huber(x: Any, target: Any, reduction: str = "mean", delta: float = 1.0) -> Any:
    if delta <= 0:
        raise RuntimeError(f"huber_loss does not support non-positive values for delta, got {delta}")
    d = np.absolute(x - target)
    loss = _reduced("huber_loss", np.where(d <= delta, 0.5 * d * d, delta * (d - 0.5 * delta)), reduction)
    return loss if loss.dtype == x.dtype or x.dtype.kind != "f" else cast(loss, x.dtype)


_difference_loss("huber_loss", _huber, lambda d, delta: np.where(np.absolute(d) <= delta, d, np.sign(d) * delta),
   _pairs(sample(real(3, 4), real(3, 4), delta=0.3), edge(exact([1.0, 2.0, -1.0]), exact([0.0, 2.0, 0.0]))),
   """Half the squared difference near 0, linear from ``delta`` on.

   >>> import dualtape as dt
   >>> dt.nn.functional.huber_loss(dt.tensor([0.5, 3.0]), dt.tensor([0.0, 0.0]), reduction="none", delta=2.0)
   tensor([0.1250, 4.0000])
   """, promote=None)  # fmt: skip


@composite(
    "l1_loss",
    namespace="nn.functional",
    samples=_pairs(edge(exact([1.0, 2.0]), exact([1.0, 0.0]))),
)
def l1_loss(input: Any, target: Any, reduction: str = "mean") -> Any:
    """The absolute difference.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.functional.l1_loss(dt.tensor([1.0, 2.0]), dt.tensor([1.0, 4.0]))
    tensor(1.)
    """
    return reduce_tensor("l1_loss", abs(input - target), reduction)


def reduce_tensor(name: str, values: Any, reduction: str) -> Any:
    """Return a tensor of losses unchanged, averaged, or summed."""
    _check(name, reduction)
    return values if reduction == "none" else values.mean() if reduction == "mean" else values.sum()


# --- probabilities of two classes -----------------------------------------------------------------


def reduction_of(size_average: bool | None, reduce: bool | None, reduction: str) -> str:
    """Return the reduction that two deprecated arguments stand for, if they are given, as PyTorch does."""
    if size_average is None and reduce is None:
        if reduction != "elementwise_mean":
            return reduction
        warn("reduction='elementwise_mean' is deprecated: it is called 'mean' now")
        return "mean"
    averages, reduces = (flag is None or bool(flag) for flag in (size_average, reduce))
    reduction = "none" if not reduces else "mean" if averages else "sum"
    warn(
        f"size_average and reduce args will be deprecated, please use reduction={reduction!r} instead.",
        UserWarning,
    )
    return reduction


def _scaled(values: Any, weight: Any) -> Any:
    return values if weight is None else values * weight


def _bce(x: Any, target: Any, weight: Any = None, reduction: str = "mean") -> Any:
    if x.shape != target.shape:
        raise ArgumentError(
            f"binary_cross_entropy: using a target size ({list(target.shape)}) that is different to the input size"
            f" ({list(x.shape)}) is"
            " deprecated. Please ensure they have the same size."
        )
    seen = all_samples(x)
    if x.size and not ((seen >= 0) & (seen <= 1)).all():
        raise RuntimeError(
            "binary_cross_entropy: all elements of input should be between 0 and 1; apply sigmoid, or use the form"
            " with_logits"
        )
    wanted = all_samples(target)
    if wanted.size and not ((wanted >= 0) & (wanted <= 1)).all():
        raise RuntimeError("binary_cross_entropy: all elements of target should be between 0 and 1")
    values = (target - 1) * np.maximum(np.log1p(-x), -100) - target * np.maximum(np.log(x), -100)
    return _reduced("binary_cross_entropy", _scaled(values, weight), reduction)


def _bce_slope(x: Any, target: Any, weight: Any) -> Any:
    return _scaled((x - target) / np.maximum((1 - x) * x, 1e-12), weight)


def _bce_target_slope(x: Any, weight: Any) -> Any:
    return _scaled(np.log1p(-x) - np.log(x), weight)


op("binary_cross_entropy", _bce, kind=GENERAL, public=False, method=False, complex=False, constants=("weight",),
   torch_name="nn.functional.binary_cross_entropy",
   vjp=dict(x=lambda g, x, target, weight, reduction: _share(g, x, reduction) * _bce_slope(x, target, weight),
            target=lambda g, x, weight, reduction: _share(g, x, reduction) * _bce_target_slope(x, weight)),
   jvp=dict(x=lambda t, x, target, weight, reduction: _total(t * _bce_slope(x, target, weight), reduction),
            target=lambda t, x, weight, reduction: _total(t * _bce_target_slope(x, weight), reduction)),
   samples=(*(sample(probability(3, 4), probability(3, 4), reduction=r) for r in _REDUCTIONS),
       edge(exact([0.0, 1.0, 0.0]), exact([0.0, 1.0, 1.0]))),
   doc="""-(target * log(x) + (1 - target) * log(1 - x)), the logarithms at least -100.

   >>> import dualtape as dt
   >>> dt.nn.functional.binary_cross_entropy(dt.tensor([0.5]), dt.tensor([1.0]))
   tensor(0.6931)
   """)  # fmt: skip


def _log_sigmoid(x: Any) -> Any:
    return -np.logaddexp(-x, 0)


def _bce_logits(x: Any, target: Any, weight: Any = None, pos_weight: Any = None, reduction: str = "mean") -> Any:
    if x.shape != target.shape:
        raise ArgumentError(
            f"binary_cross_entropy_with_logits: target size ({list(target.shape)}) must be the same as input size"
            f" ({list(x.shape)})"
        )
    inside = _log_sigmoid(x) if pos_weight is None else _log_sigmoid(x) * (1 + (pos_weight - 1) * target)
    return _reduced("binary_cross_entropy_with_logits", _scaled((1 - target) * x - inside, weight), reduction)


def _logits_slope(x: Any, target: Any, weight: Any, pos_weight: Any) -> Any:
    s = use("sigmoid")(x)
    slope = s - target if pos_weight is None else (1 - target) - (1 + (pos_weight - 1) * target) * (1 - s)
    return _scaled(slope, weight)


def _logits_target_slope(x: Any, weight: Any, pos_weight: Any) -> Any:
    return _scaled(-x if pos_weight is None else -x - (pos_weight - 1) * _log_sigmoid(x), weight)


op("binary_cross_entropy_with_logits", _bce_logits, kind=GENERAL, public=False, method=False, complex=False,
    constants=("weight", "pos_weight"),
   torch_name="nn.functional.binary_cross_entropy_with_logits",
   vjp=dict(x=lambda g, x, target, weight, pos_weight,
       reduction: _share(g, x, reduction) * _logits_slope(x, target, weight, pos_weight),
            target=lambda g, x, weight, pos_weight,
            reduction: _share(g, x, reduction) * _logits_target_slope(x, weight, pos_weight)),
   jvp=dict(x=lambda t, x, target, weight, pos_weight,
       reduction: _total(t * _logits_slope(x, target, weight, pos_weight), reduction),
            target=lambda t, x, weight, pos_weight,
            reduction: _total(t * _logits_target_slope(x, weight, pos_weight), reduction)),
   samples=(*(sample(real(3, 4), probability(3, 4), reduction=r) for r in _REDUCTIONS),
       edge(exact([200.0, -200.0, 0.0]), exact([0.0, 1.0, 1.0]))),
   doc="""The binary cross entropy of the sigmoid of x, without overflow.

   >>> import dualtape as dt
   >>> dt.nn.functional.binary_cross_entropy_with_logits(dt.tensor([0.0]), dt.tensor([1.0]))
   tensor(0.6931)
   """)  # fmt: skip

# --- probabilities of many classes ----------------------------------------------------------------


def _chosen(
    name: str, x_shape: tuple, target: Any, weight: Any, ignore_index: int, reduction: str, dtype: Any
) -> tuple:
    """Return the classes to pick (0 where ignored), and the weight of each pick."""
    _check(name, reduction)
    axis = 1 if len(x_shape) > 1 else 0
    if not len(x_shape) or target.shape != (*x_shape[:axis], *x_shape[axis + 1 :]):
        raise (ArgumentError if x_shape and target.shape[:1] != x_shape[:axis] else RuntimeError)(
            f"{name}: expected a target of shape {[*x_shape[:axis], *x_shape[axis + 1 :]]} for an input of shape"
            f" {list(x_shape)}, got {list(target.shape)}"
        )
    if target.dtype.kind not in "iu":
        raise RuntimeError(
            f"{name}: expected target to be of an integer type, got {target.dtype}; probabilities go to cross_entropy"
        )
    if weight is not None and weight.shape != (x_shape[axis],):
        raise RuntimeError(
            f"{name}: weight tensor should be defined either for all {x_shape[axis]} classes or no classes, got"
            f" {list(weight.shape)}"
        )
    keep = target != ignore_index
    classes = np.where(keep, target, 0)
    every = all_samples(classes)
    wrong = (every < 0) | (every >= x_shape[axis])
    if wrong.any():
        raise IndexError(f"{name}: Target {every[wrong].flat[0]} is out of bounds for {x_shape[axis]} classes.")
    counts = cast(keep if weight is None else np.where(keep, weight[classes], 0), dtype)
    if reduction == "mean":
        counts = counts / add_reduce(counts, axis=None)
    return np.expand_dims(classes, axis), keep, counts, axis


def _usual(shape: tuple, target: Any, weight: Any, ignore_index: int, reduction: str) -> bool:
    """Return whether there are rows of classes, without weights or ignored entries, all in range: the usual case."""
    if (
        weight is not None
        or len(shape) != 2
        or target.shape != shape[:1]
        or target.dtype.kind != "i"
        or not target.size
        or reduction not in _REDUCTIONS
    ):
        return False
    if 0 <= ignore_index < shape[1]:
        return False
    if type(target) is np.ndarray and target.dtype is _long:  # as unsigned numbers, negative ones are the largest
        return 0 <= target.item(target.view(_unsigned).argmax()) < shape[1]
    every = all_samples(target)
    return 0 <= every.min() and every.max() < shape[1]


_long, _unsigned = np.dtype(np.int64), np.dtype(np.uint64)


def _nll(x: Any, target: Any, weight: Any = None, ignore_index: int = -100, reduction: str = "mean") -> Any:
    if _usual(x.shape, target, weight, ignore_index, reduction):
        losses = -x[arange_like(target.size, target), target]
        return (
            losses
            if reduction == "none"
            else add_reduce(losses) / (losses.dtype.type(losses.size) if reduction == "mean" else 1)
        )
    places, keep, counts, axis = _chosen("nll_loss", x.shape, target, weight, ignore_index, reduction, x.dtype)
    picked = np.take_along_axis(x, places, axis).reshape(keep.shape)
    losses = np.where(keep, -picked * counts, 0).astype(x.dtype, copy=False)
    if reduction == "none":
        return losses
    total = add_reduce(losses, axis=None)
    if reduction == "sum":
        return total
    return np.where(np.any(keep), total, full_like_shape((), np.nan, x.dtype, x))


def _zeros_of_both(shape: tuple, x: Any, target: Any) -> Any:
    """Return zeros in the dtype of ``x`` that are batched if either of the two is."""
    if type(x) is np.ndarray is type(target):
        return np.zeros(shape, x.dtype)
    return zeros(shape, x.dtype, x.reshape(-1)[:0].sum() + target.reshape(-1)[:0].sum())


def _nll_spread(x: Any, target: Any, shape: tuple, weight: Any, ignore_index: int, reduction: str) -> Any:
    if _usual(shape, target, weight, ignore_index, reduction):
        out = _zeros_of_both(shape, x, target)
        out[arange_like(target.size, target), target] = -x / (target.size if reduction == "mean" else 1)
        return out
    places, keep, counts, axis = _chosen("nll_loss", shape, target, weight, ignore_index, reduction, x.dtype)
    out = _zeros_of_both(shape, x, keep)
    np.put_along_axis(
        out, places, np.expand_dims(np.where(keep, -counts * x, 0), axis).astype(x.dtype, copy=False), axis
    )
    return out


_nll_loss = op("nll_loss", _nll, kind=GENERAL, public=False, method=False, complex=False,
    constants=("target", "weight"), jvp=LINEAR,
   torch_name="nn.functional.nll_loss", node=("NllLossBackward0", "NllLoss2DBackward0"), variant=lambda x, target,
   weight, ignore_index,
   reduction: int(x.ndim > 2),
   vjp=dict(x=lambda g, target, x_shape, weight, ignore_index,
       reduction: use("nll_loss_spread")(g, target, x_shape, weight, ignore_index, reduction)),
   samples=(*(sample(real(4, 3), exact_index([0, 2, 1, 2]), reduction=r) for r in _REDUCTIONS),
       sample(real(4, 3), exact_index([0, -100, 1, -100])),
            sample(real(2, 3, 2, 2), ints(2, 2, 2, high=3)),
            sample(real(2, 3, 2), ints(2, 2, high=3), reduction="none"), sample(real(3), exact_index(1)),
            sample(real(4, 3), exact_index([0, 1, 1, 2]), ignore_index=1), edge(real(2, 3), exact_index([-100, -100]))),
   doc="""The negative of each row's entry at its target class: the loss of log-probabilities.

   >>> import dualtape as dt
   >>> dt.nn.functional.nll_loss(dt.tensor([[-0.5, -1.0]]), dt.tensor([1]))
   tensor(1.)
   """)  # fmt: skip
op("nll_loss_spread", _nll_spread, kind=GENERAL, public=False, method=False, complex=False,
    constants=("target", "weight"), jvp=LINEAR, torch_name="-",
   node="NllLossBackwardBackward0", vjp=dict(x=lambda g, target, weight, ignore_index, reduction: use("nll_loss")(g, target, weight, ignore_index, reduction)),
   samples=(sample(real(), exact_index([0, 1]), (2, 3), None, -100, "mean"),
       sample(real(2), exact_index([0, 1]), (2, 3), None, -100, "none")),
   doc="""The gradient of nll_loss.""")  # fmt: skip


@composite("cross_entropy", complex=False,
    namespace="nn.functional", samples=(
    *(sample(real(4, 3), exact_index([0, 2, 1, 2]), reduction=r) for r in _REDUCTIONS),
    sample(real(4, 3), exact_index([0, -100, 1, 2]), label_smoothing=0.1),
    *(sample(real(4, 3), probability(4, 3), reduction=r) for r in _REDUCTIONS),
    sample(real(2, 3, 2, 2), ints(2, 2, 2, high=3)),
    sample(real(3), exact_index(1)),
    sample(real(3), probability(3)), sample(real(4, 3), exact_index([0, 2, 1, 2]), label_smoothing=0.2, reduction="none"),
    sample(real(4, 3), probability(4, 3), label_smoothing=0.2),
    sample(real(4, 3), exact_index([0, 2, 1, 2]), label_smoothing=0.2, reduction="sum"),
))  # fmt: skip
def cross_entropy(
    input: Any,
    target: Any,
    weight: Any = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Any:
    """The cross entropy of the softmax of ``input`` with target classes (integers) or target probabilities.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.functional.cross_entropy(dt.tensor([[0.0, 0.0]]), dt.tensor([1]))
    tensor(0.6931)
    """
    if weight is not None:
        refuse_history("cross_entropy", weight=weight)
    dim = 0 if input.ndim == 1 else 1
    logs = FUNCTIONS["log_softmax"](input, dim)
    if not label_smoothing and target._array.dtype.kind in "iu":
        return _nll_loss(logs, target, weight, ignore_index, reduction)
    _check("cross_entropy", reduction)
    if not 0.0 <= label_smoothing <= 1.0:
        raise RuntimeError(f"cross_entropy: label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}")
    classes = input.shape[dim]
    scaled = logs if weight is None else logs * weight.reshape((-1,) + (1,) * (input.ndim - 1 - dim))
    if target._array.dtype.kind == "f":
        if tuple(target.shape) != tuple(input.shape):
            raise RuntimeError(
                "cross_entropy: expected floating point type for target with class probabilities of shape"
                f" {list(input.shape)}, got {list(target.shape)}"
            )
        if label_smoothing:
            target = target * (1 - label_smoothing) + label_smoothing / classes
        losses = -(scaled * target)
        if reduction == "none":
            return losses.sum(dim)
        return losses.sum() / (input.numel() // max(1, classes)) if reduction == "mean" else losses.sum()
    sharp = _nll_loss(logs, target, weight, ignore_index, reduction)
    smooth = FUNCTIONS["masked_fill"](-scaled.sum(dim), target == ignore_index, 0.0)
    if reduction == "mean":
        kept = target != ignore_index
        count = kept.sum() if weight is None else (weight.detach()[FUNCTIONS["where"](kept, target, 0)] * kept).sum()
        smooth = smooth.sum() / count
    elif reduction == "sum":
        smooth = smooth.sum()
    return sharp * (1 - label_smoothing) + smooth * (label_smoothing / classes)


# --- between distributions ------------------------------------------------------------------------


@composite("kl_div", method=False, complex=False, torch_name="nn.functional.kl_div", also=("nn.functional.kl_div",), samples=(
    *(sample(real(3, 4), probability(3, 4), reduction=r) for r in ("none", "sum", "batchmean")),
    sample(real(3, 4), real(3, 4), log_target=True,
    reduction="sum"),
    edge(exact([1.0, 2.0]), exact([0.0, 1.0]), reduction="sum"),
    sample(real(), probability(3, 4), reduction="batchmean"),
))  # fmt: skip
def kl_div(input: Any, target: Any, reduction: str = "mean", log_target: bool = False) -> Any:
    """The Kullback-Leibler divergence of probabilities ``target`` from log-probabilities ``input``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.functional.kl_div(dt.tensor([0.5]).log(), dt.tensor([1.0]), reduction="sum")
    tensor(0.6931)
    """
    if log_target:
        losses = target.exp() * (target - input)
    else:
        losses = FUNCTIONS["xlogy"](target, target) - target * input
    if reduction == "batchmean":
        return losses.sum() / (input.shape[0] if input.ndim else 1)
    return reduce_tensor("kl_div", losses, reduction)
