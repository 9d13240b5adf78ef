"""Fusing a batch norm, in evaluation, into the layer before it."""

from __future__ import annotations

import copy
from typing import Any

from ..._tensor.shaped import ones_like, zeros_like
from ..parameter import Parameter

__all__ = ["fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights"]


def _check_eval(layer: Any, bn: Any) -> None:
    if layer.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError("a batch norm without running statistics cannot be fused: it needs those of the batch")


def fuse_conv_bn_eval(conv: Any, bn: Any, transpose: bool = False) -> Any:
    """A copy of a convolution that computes what it and the batch norm after it do, in evaluation.

    Examples
    --------
    >>> import dualtape as dt
    >>> conv, norm = dt.nn.Conv2d(1, 2, 3).eval(), dt.nn.BatchNorm2d(2).eval()
    >>> x = dt.rand(1, 1, 4, 4)
    >>> dt.allclose(dt.nn.utils.fuse_conv_bn_eval(conv, norm)(x), norm(conv(x)), atol=1e-6)
    True
    """
    _check_eval(conv, bn)
    fused = copy.deepcopy(conv)
    fused.weight, fused.bias = fuse_conv_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias, transpose
    )
    return fused


def fuse_conv_bn_weights(
    conv_w: Any, conv_b: Any, bn_rm: Any, bn_rv: Any, bn_eps: float, bn_w: Any, bn_b: Any, transpose: bool = False
) -> tuple[Parameter, Parameter]:
    """Weight and bias of a convolution and the batch norm after it, as one.

    Examples
    --------
    >>> import dualtape as dt
    >>> one = dt.ones(1)
    >>> w, b = dt.nn.utils.fuse_conv_bn_weights(dt.ones(1, 1, 1, 1), None, one, one, 0.0, 2 * one, one)
    >>> w.flatten().detach(), b.detach()
    (tensor([2.]), tensor([-1.]))
    """
    bn_w = ones_like(bn_rm) if bn_w is None else bn_w
    shape = (1, -1) if transpose else (-1, 1)
    scale = bn_w * (bn_rv + bn_eps).rsqrt()
    return _fused(conv_w, conv_b, scale, scale.reshape(shape + (1,) * (conv_w.dim() - 2)), bn_rm, bn_b)


def fuse_linear_bn_eval(linear: Any, bn: Any) -> Any:
    """A copy of a linear layer that computes what it and the batch norm after it do, in evaluation.

    Examples
    --------
    >>> import dualtape as dt
    >>> linear, norm = dt.nn.Linear(3, 2).eval(), dt.nn.BatchNorm1d(2).eval()
    >>> x = dt.rand(4, 3)
    >>> dt.allclose(dt.nn.utils.fuse_linear_bn_eval(linear, norm)(x), norm(linear(x)), atol=1e-6)
    True
    """
    _check_eval(linear, bn)
    if linear.out_features != bn.num_features and bn.num_features != 1:
        raise AssertionError(
            "To fuse, linear.out_features == bn.num_features or bn.num_features == 1, got"
            f" {linear.out_features} and {bn.num_features}"
        )
    fused = copy.deepcopy(linear)
    fused.weight, fused.bias = fuse_linear_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias
    )
    return fused


def fuse_linear_bn_weights(
    linear_w: Any, linear_b: Any, bn_rm: Any, bn_rv: Any, bn_eps: float, bn_w: Any, bn_b: Any
) -> tuple[Parameter, Parameter]:
    """Weight and bias of a linear layer and the batch norm after it, as one.

    Examples
    --------
    >>> import dualtape as dt
    >>> one = dt.ones(1)
    >>> w, b = dt.nn.utils.fuse_linear_bn_weights(dt.ones(1, 1), None, one, one, 0.0, 2 * one, one)
    >>> w.detach(), b.detach()
    (tensor([[2.]]), tensor([-1.]))
    """
    bn_w = ones_like(bn_rm) if bn_w is None else bn_w
    scale = bn_w * (bn_rv + bn_eps).rsqrt()
    return _fused(linear_w, linear_b, scale, scale.unsqueeze(-1), bn_rm, bn_b)


def _fused(weight: Any, bias: Any, scale: Any, of_weight: Any, mean: Any, offset: Any) -> tuple[Parameter, Parameter]:
    before = zeros_like(mean) if bias is None else bias
    after = (before - mean) * scale + (0 if offset is None else offset)
    new = (weight * of_weight).to(weight.dtype).detach()
    wanted = weight.requires_grad
    return Parameter(new, wanted), Parameter(after.to(weight.dtype).detach(), before.requires_grad or wanted)
