"""The functions of ``torch`` below those of ``torch.nn.functional``: modes and reductions are numbers, and statistics,
masks and indices are returned.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from .._listing import listing
from ..ops import FUNCTIONS
from ..overrides.active_overrides import overridable
from . import functional

F: Any = functional  # whose names come from the table
_REDUCTIONS = ("none", "mean", "sum")  # the default is none, whatever PyTorch's schema says
_public = partial(overridable, composite="native")


def _named(name: str, reduction: int) -> str:
    if reduction not in range(3):
        raise RuntimeError(f"{name}: reduction is 0 (none), 1 (mean) or 2 (sum), got {reduction!r}")
    return _REDUCTIONS[reduction]


# --- losses ---------------------------------------------------------------------------------------


@_public
def binary_cross_entropy_with_logits(
    input: Any, target: Any, weight: Any = None, pos_weight: Any = None, reduction: int = 0
) -> Any:
    """:func:`dualtape.nn.functional.binary_cross_entropy_with_logits`, its reduction a number.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.binary_cross_entropy_with_logits(dt.tensor([0.0]), dt.tensor([1.0]))
    tensor([0.6931])
    """
    how = _named("binary_cross_entropy_with_logits", reduction)
    return F.binary_cross_entropy_with_logits(input, target, weight, reduction=how, pos_weight=pos_weight)


@_public
def cosine_embedding_loss(input1: Any, input2: Any, target: Any, margin: float = 0.0, reduction: int = 0) -> Any:
    """:func:`dualtape.nn.functional.cosine_embedding_loss`, its reduction a number.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.cosine_embedding_loss(dt.tensor([1.0, 0.0]), dt.tensor([0.0, 1.0]), dt.tensor(1))
    tensor(1.)
    """
    return F.cosine_embedding_loss(input1, input2, target, margin, reduction=_named("cosine_embedding_loss", reduction))


@_public
def ctc_loss(
    log_probs: Any,
    targets: Any,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: int = 0,
    zero_infinity: bool = False,
) -> Any:
    """:func:`dualtape.nn.functional.ctc_loss`, its reduction a number.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.ctc_loss(dt.full((2, 1, 2), 0.5).log(), dt.tensor([[1]]), (2,), (1,))
    tensor([0.2877])
    """
    how = _named("ctc_loss", reduction)
    return F.ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, how, zero_infinity)


@_public
def hinge_embedding_loss(input: Any, target: Any, margin: float = 1.0, reduction: int = 0) -> Any:
    """:func:`dualtape.nn.functional.hinge_embedding_loss`, its reduction a number.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.hinge_embedding_loss(dt.tensor([0.5]), dt.tensor([1]))
    tensor([0.5000])
    """
    return F.hinge_embedding_loss(input, target, margin, reduction=_named("hinge_embedding_loss", reduction))


@_public
def margin_ranking_loss(input1: Any, input2: Any, target: Any, margin: float = 0.0, reduction: int = 0) -> Any:
    """:func:`dualtape.nn.functional.margin_ranking_loss`, its reduction a number.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.margin_ranking_loss(dt.tensor([1.0]), dt.tensor([1.5]), dt.tensor([1]))
    tensor([0.5000])
    """
    return F.margin_ranking_loss(input1, input2, target, margin, reduction=_named("margin_ranking_loss", reduction))


@_public
def poisson_nll_loss(input: Any, target: Any, log_input: bool, full: bool, eps: float, reduction: int) -> Any:
    """:func:`dualtape.nn.functional.poisson_nll_loss`, its reduction a number.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.poisson_nll_loss(dt.tensor([0.0]), dt.tensor([2.0]), True, False, 1e-8, 1)
    tensor(1.)
    """
    how = _named("poisson_nll_loss", reduction)
    return F.poisson_nll_loss(input, target, log_input, full, eps=eps, reduction=how)


@_public
def triplet_margin_loss(
    anchor: Any,
    positive: Any,
    negative: Any,
    margin: float = 1.0,
    p: float = 2.0,
    eps: float = 1e-6,
    swap: bool = False,
    reduction: int = 0,
) -> Any:
    """:func:`dualtape.nn.functional.triplet_margin_loss`, its reduction a number.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.triplet_margin_loss(dt.zeros(1, 1), dt.ones(1, 1), dt.ones(1, 1))
    tensor([1.])
    """
    how = _named("triplet_margin_loss", reduction)
    return F.triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, reduction=how)


# --- dropout and activations ----------------------------------------------------------------------


@_public
def alpha_dropout(input: Any, p: float, train: bool) -> Any:
    """:func:`dualtape.nn.functional.alpha_dropout`, with all arguments.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.alpha_dropout(dt.ones(2), 0.5, False)
    tensor([1., 1.])
    """
    return F.alpha_dropout(input, p, train)


@_public
def alpha_dropout_(input: Any, p: float, train: bool) -> Any:
    """:func:`alpha_dropout` in place.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.alpha_dropout_(dt.ones(2), 0.5, False)
    tensor([1., 1.])
    """
    return F.alpha_dropout(input, p, train, True)


@_public
def feature_alpha_dropout(input: Any, p: float, train: bool) -> Any:
    """:func:`dualtape.nn.functional.feature_alpha_dropout`, with all arguments.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.feature_alpha_dropout(dt.ones(1, 2), 0.5, False)
    tensor([[1., 1.]])
    """
    return F.feature_alpha_dropout(input, p, train)


@_public
def feature_alpha_dropout_(input: Any, p: float, train: bool) -> Any:
    """:func:`feature_alpha_dropout` in place.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.feature_alpha_dropout_(dt.ones(1, 2), 0.5, False)
    tensor([[1., 1.]])
    """
    return F.feature_alpha_dropout(input, p, train, True)


@_public
def feature_dropout_(input: Any, p: float, train: bool) -> Any:
    """:func:`dualtape.feature_dropout` in place.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.feature_dropout_(dt.ones(1, 2), 1.0, True)
    tensor([[0., 0.]])
    """
    dropped = FUNCTIONS["feature_dropout"](input, p, train)
    return input if dropped is input else input.copy_(dropped)


@_public
def dropout_(input: Any, p: float, train: bool) -> Any:
    """:func:`dualtape.nn.functional.dropout` in place.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.dropout_(dt.ones(2), 1.0, True)
    tensor([0., 0.])
    """
    return F.dropout(input, p, train, True)


@_public
def native_dropout(input: Any, p: float, train: bool | None) -> Any:
    """The input after dropout, and the mask of the elements that were kept.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.native_dropout(dt.ones(2), 0.0, True)
    (tensor([1., 1.]), tensor([True, True]))
    """
    if train is False or p == 0:
        return input.clone(), input.new_ones(tuple(input.shape)).bool()
    mask = F.dropout(input.new_ones(tuple(input.shape)), p)
    return input * mask, mask != 0


@_public
def rrelu(
    input: Any, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False, generator: Any = None
) -> Any:
    """:func:`dualtape.nn.functional.rrelu`.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.rrelu(dt.tensor([-1.0, 2.0]), 0.25, 0.75)
    tensor([-0.5000,  2.0000])
    """
    if generator is not None:
        raise NotImplementedError("rrelu: generator= is not there; set the seed with manual_seed")
    return F.rrelu(input, lower, upper, training)


# --- pools and grids ------------------------------------------------------------------------------


@_public
def adaptive_max_pool1d(input: Any, output_size: Any) -> Any:
    """The largest entries of signals in a given number of bins, and their indices.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.adaptive_max_pool1d(dt.tensor([[1.0, 3.0]]), 1)
    (tensor([[3.]]), tensor([[1]]))
    """
    return F.adaptive_max_pool1d(input, output_size, True)


@_public
def affine_grid_generator(theta: Any, size: Any, align_corners: bool) -> Any:
    """:func:`dualtape.nn.functional.affine_grid`, with all arguments.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.affine_grid_generator(dt.zeros(1, 2, 3), (1, 1, 2, 2), False).shape
    dualtape.Size([1, 2, 2, 2])
    """
    return F.affine_grid(theta, size, align_corners)


@_public
def convolution(
    input: Any,
    weight: Any,
    bias: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: bool,
    output_padding: Any,
    groups: int,
) -> Any:
    """A convolution of as many dimensions as the input has beside two, or the transpose of one.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.convolution(dt.ones(1, 1, 3), dt.ones(1, 1, 2), None, [1], [0], [1], False, [0], 1)
    tensor([[[2., 2.]]])
    """
    dims = input.ndim - 2
    if dims not in (1, 2, 3):
        raise RuntimeError(f"convolution: expected an input of 3 to 5 dimensions, got {list(input.shape)}")
    if transposed:
        function = (F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d)[dims - 1]
        return function(input, weight, bias, stride, padding, output_padding, groups, dilation)
    return (F.conv1d, F.conv2d, F.conv3d)[dims - 1](input, weight, bias, stride, padding, dilation, groups)


# --- norms ----------------------------------------------------------------------------------------


def _statistics(x: Any, dims: tuple, eps: float) -> tuple:
    """Return the mean, and one over the standard deviation, over dimensions that are kept."""
    mean = x.mean(dims, keepdim=True)
    return mean, ((x - mean) ** 2).mean(dims, keepdim=True).add(eps).rsqrt()


@_public
def native_layer_norm(input: Any, normalized_shape: Any, weight: Any, bias: Any, eps: float) -> Any:
    """The result of a layer norm, the means, and one over the standard deviations.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.native_layer_norm(dt.tensor([[1.0, 3.0]]), [2], None, None, 0.0)[1]
    tensor([[2.]])
    """
    out = F.layer_norm(input, normalized_shape, weight, bias, eps)
    return (out, *_statistics(input, tuple(range(-len(normalized_shape), 0)), eps))


@_public
def native_group_norm(input: Any, weight: Any, bias: Any, N: int, C: int, HxW: int, group: int, eps: float) -> Any:
    """The result of a group norm, the means of groups (N, group), and one over their standard deviations.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.native_group_norm(dt.ones(1, 2, 3), None, None, 1, 2, 3, 2, 1e-5)[1]
    tensor([[1., 1.]])
    """
    if input.numel() != N * C * HxW or C % group:
        raise RuntimeError(
            f"native_group_norm: expected {N} * {C} * {HxW} elements in {group} groups, got {list(input.shape)}"
        )
    out = F.group_norm(input, group, weight, bias, eps)
    mean, scale = _statistics(input.reshape(N, group, C // group * HxW), (-1,), eps)
    return out, mean.squeeze(-1), scale.squeeze(-1)


@_public
def native_batch_norm(
    input: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any, training: bool, momentum: float, eps: float
) -> Any:
    """The result of a batch norm, and in training the means and one over the standard deviations, else empty tensors.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.native_batch_norm(dt.tensor([[1.0], [3.0]]), None, None, None, None, True, 0.1, 0.0)[1]
    tensor([2.])
    """
    out = F.batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)
    if not training:
        return out, input.new_empty((0,)), input.new_empty((0,))
    dims = (0, *range(2, input.ndim))
    mean, scale = (s.detach().reshape(-1) for s in _statistics(input, dims, eps))
    return out, mean, scale


@_public
def instance_norm(
    input: Any,
    weight: Any,
    bias: Any,
    running_mean: Any,
    running_var: Any,
    use_input_stats: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool,
) -> Any:
    """:func:`dualtape.nn.functional.instance_norm`, with all arguments; ``cudnn_enabled`` is for GPUs.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.instance_norm(dt.tensor([[[1.0, 3.0]]]), None, None, None, None, True, 0.1, 0.0, False)
    tensor([[[-1.,  1.]]])
    """
    return F.instance_norm(input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps)


__all__ = [
    "adaptive_max_pool1d",
    "affine_grid_generator",
    "alpha_dropout",
    "alpha_dropout_",
    "binary_cross_entropy_with_logits",
    "convolution",
    "cosine_embedding_loss",
    "ctc_loss",
    "dropout_",
    "feature_alpha_dropout",
    "feature_alpha_dropout_",
    "feature_dropout_",
    "hinge_embedding_loss",
    "instance_norm",
    "margin_ranking_loss",
    "native_batch_norm",
    "native_dropout",
    "native_group_norm",
    "native_layer_norm",
    "poisson_nll_loss",
    "rrelu",
    "triplet_margin_loss",
]

__dir__ = listing(__name__)
