"""Losses: the difference of input and target, as a mean, a sum, or one value for each element."""

from __future__ import annotations

import math
from typing import Any

from ..._tensor.tensor import Tensor
from ...errors import warn
from .. import functional as F
from ._loss_bases import _Loss, _WeightedLoss
from .linear import Linear
from .similarity_loss import (
    CosineEmbeddingLoss,
    HingeEmbeddingLoss,
    MarginRankingLoss,
    TripletMarginLoss,
    TripletMarginWithDistanceLoss,
)

__all__ = [
    "BCELoss",
    "BCEWithLogitsLoss",
    "CTCLoss",
    "CosineEmbeddingLoss",
    "CrossEntropyLoss",
    "GaussianNLLLoss",
    "HingeEmbeddingLoss",
    "HuberLoss",
    "KLDivLoss",
    "L1Loss",
    "LinearCrossEntropyLoss",
    "MSELoss",
    "MarginRankingLoss",
    "MultiLabelMarginLoss",
    "MultiLabelSoftMarginLoss",
    "MultiMarginLoss",
    "NLLLoss",
    "NLLLoss2d",
    "PoissonNLLLoss",
    "SmoothL1Loss",
    "SoftMarginLoss",
    "TripletMarginLoss",
    "TripletMarginWithDistanceLoss",
]


class L1Loss(_Loss):
    """The absolute difference.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.L1Loss()(dt.tensor([1.0, 2.0]), dt.tensor([1.0, 4.0]))
    tensor(1.)
    """

    __constants__ = ["reduction"]

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.l1_loss(input, target, reduction=self.reduction)


class MSELoss(_Loss):
    """The squared difference.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.MSELoss()(dt.tensor([1.0, 2.0]), dt.tensor([1.0, 4.0]))
    tensor(2.)
    """

    __constants__ = ["reduction"]

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.mse_loss(input, target, reduction=self.reduction)


class SmoothL1Loss(_Loss):
    """The squared difference where it is below ``beta``, over ``2 * beta``; the absolute one elsewhere.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.SmoothL1Loss()(dt.tensor([1.0, 2.0]), dt.tensor([1.0, 4.0]))
    tensor(0.7500)
    """

    __constants__ = ["reduction"]

    def __init__(
        self, size_average: Any = None, reduce: Any = None, reduction: str = "mean", beta: float = 1.0
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.beta = beta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.smooth_l1_loss(input, target, reduction=self.reduction, beta=self.beta)


class HuberLoss(_Loss):
    """Half the squared difference where it is below ``delta``; ``delta`` times the absolute one elsewhere.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.HuberLoss()(dt.tensor([1.0, 2.0]), dt.tensor([1.0, 4.0]))
    tensor(0.7500)
    """

    __constants__ = ["reduction", "delta"]

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        super().__init__(reduction=reduction)
        self.delta = delta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.huber_loss(input, target, reduction=self.reduction, delta=self.delta)


class KLDivLoss(_Loss):
    """The divergence of a distribution, given by its logarithm, from the target.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.KLDivLoss(reduction="sum")(dt.tensor([0.5, 0.5]).log(), dt.tensor([0.5, 0.5]))
    tensor(0.)
    """

    __constants__ = ["reduction"]

    def __init__(
        self, size_average: Any = None, reduce: Any = None, reduction: str = "mean", log_target: bool = False
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_target = log_target

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.kl_div(input, target, reduction=self.reduction, log_target=self.log_target)


class PoissonNLLLoss(_Loss):
    """The negative log-likelihood of counts, given (the logarithm of) their expectation.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.PoissonNLLLoss()(dt.zeros(1), dt.ones(1))
    tensor(1.)
    """

    __constants__ = ["log_input", "full", "eps", "reduction"]

    def __init__(
        self,
        log_input: bool = True,
        full: bool = False,
        size_average: Any = None,
        eps: float = 1e-8,
        reduce: Any = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_input, self.full, self.eps = log_input, full, eps

    def forward(self, log_input: Any, target: Any) -> Any:
        return F.poisson_nll_loss(
            log_input, target, log_input=self.log_input, full=self.full, eps=self.eps, reduction=self.reduction
        )


class GaussianNLLLoss(_Loss):
    """The negative log-likelihood of a normal distribution with mean ``input`` and variance ``var``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.GaussianNLLLoss()(dt.zeros(1), dt.ones(1), dt.ones(1))
    tensor(0.5000)
    """

    __constants__ = ["full", "eps", "reduction"]

    def __init__(self, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> None:
        super().__init__(reduction=reduction)
        self.full, self.eps = full, eps

    def forward(self, input: Any, target: Any, var: Any) -> Any:
        return F.gaussian_nll_loss(input, target, var, full=self.full, eps=self.eps, reduction=self.reduction)


# --- classes --------------------------------------------------------------------------------------


class NLLLoss(_WeightedLoss):
    """The negative of the log-probability of the target's class.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.NLLLoss()(dt.tensor([[-1.0, -2.0]]), dt.tensor([1]))
    tensor(2.)
    """

    __constants__ = ["ignore_index", "reduction"]

    def __init__(
        self,
        weight: Any = None,
        size_average: Any = None,
        ignore_index: int = -100,
        reduce: Any = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.nll_loss(input, target, weight=self.weight, ignore_index=self.ignore_index, reduction=self.reduction)


class NLLLoss2d(NLLLoss):
    """A deprecated name of :class:`NLLLoss`.

    Examples
    --------
    >>> import warnings, dualtape as dt
    >>> with warnings.catch_warnings(action="ignore"):
    ...     loss = dt.nn.NLLLoss2d()
    >>> loss(dt.zeros(1, 2, 1, 1), dt.tensor([[[1]]])).item() == 0
    True
    """

    def __init__(
        self,
        weight: Any = None,
        size_average: Any = None,
        ignore_index: int = -100,
        reduce: Any = None,
        reduction: str = "mean",
    ) -> None:

        warn("NLLLoss2d has been deprecated: use NLLLoss, which is the same", FutureWarning)
        super().__init__(weight, size_average, ignore_index, reduce, reduction)


class CrossEntropyLoss(_WeightedLoss):
    """The negative log-probability of the target's class under the softmax of the input.

    Parameters
    ----------
    weight : Tensor, optional
        A weight for each class.
    ignore_index : int
        A target that counts for nothing.
    reduction : str
        ``"mean"``, ``"sum"`` or ``"none"``.
    label_smoothing : float
        How much of the target is spread evenly over all classes.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.CrossEntropyLoss()(dt.zeros(1, 2), dt.tensor([1]))
    tensor(0.6931)
    """

    __constants__ = ["ignore_index", "reduction", "label_smoothing"]

    def __init__(
        self,
        weight: Any = None,
        size_average: Any = None,
        ignore_index: int = -100,
        reduce: Any = None,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index, self.label_smoothing = ignore_index, label_smoothing

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.cross_entropy(
            input,
            target,
            weight=self.weight,
            ignore_index=self.ignore_index,
            reduction=self.reduction,
            label_smoothing=self.label_smoothing,
        )


class LinearCrossEntropyLoss(_WeightedLoss):
    """:class:`CrossEntropyLoss` of the output of a linear layer of its own.

    Examples
    --------
    >>> import dualtape as dt
    >>> loss = dt.nn.LinearCrossEntropyLoss(4, 3)
    >>> loss(dt.zeros(2, 4), dt.tensor([0, 2])).detach()
    tensor(1.0986)
    """

    __constants__ = ["num_classes", "out_features", "reduction", "ignore_index", "label_smoothing"]

    def __init__(
        self,
        in_features: int,
        num_classes: int,
        *,
        out_features: tuple[int, ...] = (),
        bias: bool = False,
        device: Any = None,
        dtype: Any = None,
        reduction: str = "mean",
        weight: Any = None,
        ignore_index: int | None = None,
        label_smoothing: float = 0.0,
        options: Any = None,
    ) -> None:
        if weight is not None and tuple(weight.shape) != (num_classes,):
            raise RuntimeError(
                f"weight must have one entry for each of the {num_classes} classes, got shape {tuple(weight.shape)}"
            )
        if not 0 <= label_smoothing <= 1:
            raise RuntimeError(f"label_smoothing must be from 0 to 1, got {label_smoothing}")
        super().__init__(weight, reduction=reduction)
        self.num_classes, self.out_features = num_classes, out_features
        self.ignore_index, self.label_smoothing, self.options = ignore_index, label_smoothing, options
        self.linear = Linear(in_features, math.prod(out_features, start=num_classes), bias, device, dtype)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        shape = (self.num_classes, *self.out_features)
        bias = None if self.linear.bias is None else self.linear.bias.reshape(shape)
        return F.linear_cross_entropy(
            input,
            self.linear.weight.reshape((*shape, self.linear.in_features)),
            target,
            linear_bias=bias,
            weight=self.weight,
            reduction=self.reduction,
            ignore_index=self.ignore_index,
            label_smoothing=self.label_smoothing,
            options=self.options,
        )

    def extra_repr(self) -> str:
        return (
            f"in_features={self.linear.in_features}, num_classes={self.num_classes}, out_features={self.out_features},"
            f" bias={self.linear.bias is not None}, reduction={self.reduction}, ignore_index={self.ignore_index},"
            f" label_smoothing={self.label_smoothing}, options={self.options}"
        )


class BCELoss(_WeightedLoss):
    """The cross entropy of probabilities and targets between zero and one.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.BCELoss()(dt.tensor([0.5]), dt.ones(1))
    tensor(0.6931)
    """

    __constants__ = ["reduction"]

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.binary_cross_entropy(input, target, weight=self.weight, reduction=self.reduction)


class BCEWithLogitsLoss(_Loss):
    """:class:`BCELoss` of the sigmoid of the input.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.BCEWithLogitsLoss()(dt.zeros(1), dt.ones(1))
    tensor(0.6931)
    """

    weight: Any
    pos_weight: Any

    def __init__(
        self,
        weight: Any = None,
        size_average: Any = None,
        reduce: Any = None,
        reduction: str = "mean",
        pos_weight: Any = None,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)
        self.register_buffer("pos_weight", pos_weight)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.binary_cross_entropy_with_logits(
            input, target, self.weight, pos_weight=self.pos_weight, reduction=self.reduction
        )


class MultiLabelMarginLoss(_Loss):
    """A margin between the classes of the target, which ends with -1, and the others.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.MultiLabelMarginLoss()(dt.tensor([[0.1, 0.2, 0.4, 0.8]]), dt.tensor([[3, 0, -1, 1]]))
    tensor(0.8500)
    """

    __constants__ = ["reduction"]

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.multilabel_margin_loss(input, target, reduction=self.reduction)


class MultiLabelSoftMarginLoss(_WeightedLoss):
    """The cross entropy of several yes-or-no targets.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.MultiLabelSoftMarginLoss()(dt.zeros(1, 2), dt.ones(1, 2))
    tensor(0.6931)
    """

    __constants__ = ["reduction"]

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.multilabel_soft_margin_loss(input, target, weight=self.weight, reduction=self.reduction)


class MultiMarginLoss(_WeightedLoss):
    """A margin between the class of the target and each other.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.MultiMarginLoss()(dt.zeros(1, 2), dt.tensor([0]))
    tensor(0.5000)
    """

    __constants__ = ["p", "margin", "reduction"]

    def __init__(
        self,
        p: int = 1,
        margin: float = 1.0,
        weight: Any = None,
        size_average: Any = None,
        reduce: Any = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        if p not in (1, 2):
            raise ValueError(f"only p == 1 and p == 2 supported, got {p}")
        if weight is not None and weight.dim() != 1:
            raise ValueError(
                f"MultiMarginLoss: weight has one dimension, an entry for each class; got {weight.dim()} dimensions"
            )
        self.p, self.margin = p, margin

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.multi_margin_loss(
            input, target, p=self.p, margin=self.margin, weight=self.weight, reduction=self.reduction
        )


class SoftMarginLoss(_Loss):
    """``log(1 + exp(-target * input))``, of targets 1 and -1.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.SoftMarginLoss()(dt.zeros(1), dt.ones(1))
    tensor(0.6931)
    """

    __constants__ = ["reduction"]

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.soft_margin_loss(input, target, reduction=self.reduction)


class CTCLoss(_Loss):
    """The negative log-probability of a sequence of labels over all alignments with the steps: connectionist temporal
    classification.

    Parameters
    ----------
    blank : int
        The class that means no label.
    reduction : str
    zero_infinity : bool
        Infinite losses, of inputs shorter than their targets, become zero, and so do their gradients.

    Examples
    --------
    >>> import dualtape as dt
    >>> steps = dt.full((2, 1, 2), 0.5).log()
    >>> dt.nn.CTCLoss()(steps, dt.tensor([[1]]), dt.tensor([2]), dt.tensor([1]))
    tensor(0.2877)
    """

    __constants__ = ["blank", "reduction"]

    def __init__(self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False) -> None:
        super().__init__(reduction=reduction)
        self.blank, self.zero_infinity = blank, zero_infinity

    def forward(self, log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any) -> Any:
        return F.ctc_loss(
            log_probs, targets, input_lengths, target_lengths, self.blank, self.reduction, self.zero_infinity
        )
