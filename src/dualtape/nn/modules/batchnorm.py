"""Batch normalisation: each channel is normalised to mean zero and variance one, by the statistics of the batch or by
running ones.
"""

from __future__ import annotations

import sys
from typing import Any

from ..._tensor.creation import tensor
from ..._tensor.dtypes import NAMED
from ..._tensor.shaped import ones, zeros
from ..._tensor.tensor import Tensor
from .. import functional as F
from ..parameter import UninitializedBuffer, UninitializedParameter
from ._affine import register_affine, reset_affine
from .lazy import LazyModuleMixin
from .module import Module

__all__ = [
    "BatchNorm1d",
    "BatchNorm2d",
    "BatchNorm3d",
    "LazyBatchNorm1d",
    "LazyBatchNorm2d",
    "LazyBatchNorm3d",
    "SyncBatchNorm",
]


class _NormBase(Module):
    """Scale and offset of each channel, if ``affine``; running statistics, if they are tracked."""

    _version = 2
    __constants__ = ["track_running_stats", "momentum", "eps", "num_features", "affine"]
    num_features: int
    weight: Any
    bias: Any
    running_mean: Any
    running_var: Any
    num_batches_tracked: Any
    _dt_dims: tuple[int, ...] = ()  # of its inputs

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        register_affine(self, num_features, affine, bias, device, dtype)
        tracked = track_running_stats
        self.register_buffer("running_mean", zeros(num_features, device=device, dtype=dtype) if tracked else None)
        self.register_buffer("running_var", ones(num_features, device=device, dtype=dtype) if tracked else None)
        count = tensor(0, dtype=NAMED["int64"], device=device) if tracked else None
        self.register_buffer("num_batches_tracked", count)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Reset the running statistics."""
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        """Reset the running statistics; scales become one, offsets zero."""
        self.reset_running_stats()
        reset_affine(self)

    def _check_input_dim(self, input: Any) -> None:
        if not self._dt_dims:
            raise NotImplementedError(f"{type(self).__name__} must define _check_input_dim(input)")
        if input.dim() not in self._dt_dims:
            wanted = " or ".join(f"{n}D" for n in self._dt_dims)
            raise ValueError(f"expected {wanted} input (got {input.dim()}D input)")

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine},"
            f" bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        )

    def _load_from_state_dict(self, state_dict: Any, prefix: str, local_metadata: dict, *others: Any) -> None:
        version = local_metadata.get("version", None)
        key = prefix + "num_batches_tracked"
        if (version is None or version < 2) and self.track_running_stats and key not in state_dict:
            # version 1 did not count
            counted = self.num_batches_tracked
            state_dict[key] = tensor(0, dtype=NAMED["int64"]) if counted is None else counted
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *others)


class _BatchNorm(_NormBase):
    """Batch normalisation of inputs of any number of dimensions that :meth:`_check_input_dim` lets pass."""

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        factor = self._dt_counted()
        mean, var = self.running_mean, self.running_var
        by_batch = self.training or (mean is None and var is None)
        seen = not self.training or self.track_running_stats
        return F.batch_norm(
            input, mean if seen else None, var if seen else None, self.weight, self.bias, by_batch, factor, self.eps
        )

    def _dt_counted(self) -> float:
        """Count a batch in training, and return its weight in the running statistics."""
        factor = 0.0 if self.momentum is None else self.momentum
        count = self.num_batches_tracked
        if self.training and self.track_running_stats and count is not None:
            count.copy_(count + 1)  # quicker than add_, of whole numbers
            if self.momentum is None:
                factor = 1.0 / float(count)
        return factor


# imported with a process group, without which there is nothing to exchange
_SYNCHRONISED = f"{__name__.partition('.')[0]}.distributed.synchronised"


class _LazyNormBase(LazyModuleMixin, _NormBase):
    weight: Any
    bias: Any

    def __init__(
        self,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(0, eps, momentum, False, False, device, dtype, bias=bias)
        self.affine, self.track_running_stats = affine, track_running_stats
        if affine:
            self.weight = UninitializedParameter(device=device, dtype=dtype)
            if bias:
                self.bias = UninitializedParameter(device=device, dtype=dtype)
        if track_running_stats:
            self.running_mean = UninitializedBuffer(device=device, dtype=dtype)
            self.running_var = UninitializedBuffer(device=device, dtype=dtype)
            self.num_batches_tracked = tensor(0, dtype=NAMED["int64"], device=device)

    def reset_parameters(self) -> None:
        """As of the other norms, once there is something."""
        if not self.has_uninitialized_params() and self.num_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input: Any) -> None:
        """Make one scale, offset and statistic for each channel of an input."""
        if self.has_uninitialized_params():
            self.num_features = input.shape[1]
            for made in (self.weight, self.bias, self.running_mean, self.running_var):
                if made is not None:
                    made.materialize((self.num_features,))
            self.reset_parameters()


class BatchNorm1d(_BatchNorm):
    """Batch normalisation of (N, C) or (N, C, L).

    Parameters
    ----------
    num_features : int
        The number of channels C.
    eps : float
        Added to the variance.
    momentum : float or None
        The weight of a batch in the running statistics; None: their plain mean.
    affine : bool
        Whether each channel learns a scale and, if ``bias``, an offset.
    track_running_stats : bool
        Whether to keep the statistics of the past, for evaluation; else those of the batch are always used.

    Examples
    --------
    >>> import dualtape as dt
    >>> norm = dt.nn.BatchNorm1d(2)
    >>> norm(dt.tensor([[0.0, 1.0], [2.0, 5.0]])).detach()
    tensor([[-1.0000, -1.0000],
            [ 1.0000,  1.0000]])
    >>> norm.running_mean
    tensor([0.1000, 0.3000])
    """

    _dt_dims = (2, 3)


class BatchNorm2d(_BatchNorm):
    """Batch normalisation of (N, C, H, W); arguments as of :class:`BatchNorm1d`.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.BatchNorm2d(3)(dt.rand(2, 3, 4, 4)).shape
    dualtape.Size([2, 3, 4, 4])
    """

    _dt_dims = (4,)


class BatchNorm3d(_BatchNorm):
    """Batch normalisation of (N, C, D, H, W); arguments as of :class:`BatchNorm1d`.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.BatchNorm3d(3)(dt.rand(2, 3, 4, 4, 4)).shape
    dualtape.Size([2, 3, 4, 4, 4])
    """

    _dt_dims = (5,)


class LazyBatchNorm1d(_LazyNormBase, _BatchNorm):
    """A :class:`BatchNorm1d` that takes the number of channels from its first input.

    Examples
    --------
    >>> import dualtape as dt
    >>> norm = dt.nn.LazyBatchNorm1d()
    >>> norm(dt.rand(2, 3)).shape, norm.num_features
    (dualtape.Size([2, 3]), 3)
    """

    cls_to_become = BatchNorm1d
    _dt_dims = (2, 3)


class LazyBatchNorm2d(_LazyNormBase, _BatchNorm):
    """A :class:`BatchNorm2d` that takes the number of channels from its first input.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.LazyBatchNorm2d()(dt.rand(2, 3, 4, 4)).shape
    dualtape.Size([2, 3, 4, 4])
    """

    cls_to_become = BatchNorm2d
    _dt_dims = (4,)


class LazyBatchNorm3d(_LazyNormBase, _BatchNorm):
    """A :class:`BatchNorm3d` that takes the number of channels from its first input.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.LazyBatchNorm3d()(dt.rand(2, 3, 4, 4, 4)).shape
    dualtape.Size([2, 3, 4, 4, 4])
    """

    cls_to_become = BatchNorm3d
    _dt_dims = (5,)


class SyncBatchNorm(_BatchNorm):
    """Batch normalisation whose statistics, in training, are those of the joint batch of a group of processes.

    All of them must call it, and run its backward; batches may have different sizes, or be empty on some. In
    evaluation, and where there is one process, it is a :class:`BatchNorm1d` of any number of dimensions.

    Parameters
    ----------
    num_features, eps, momentum, affine, track_running_stats
        As of :class:`BatchNorm1d`.
    process_group : ProcessGroup, optional
        The processes; all by default.

    Examples
    --------
    >>> import dualtape as dt
    >>> net = dt.nn.SyncBatchNorm.convert_sync_batchnorm(dt.nn.Sequential(dt.nn.BatchNorm1d(2)))
    >>> type(net[0]).__name__
    'SyncBatchNorm'
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_group: Any = None,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)
        self.process_group = process_group

    def _check_input_dim(self, input: Any) -> None:
        if input.dim() < 2:
            raise ValueError(f"expected at least 2D input (got {input.dim()}D input)")

    def forward(self, input: Tensor) -> Tensor:
        """The normalised input; its statistics are exchanged with the other processes."""
        by_batch = self.training or (self.running_mean is None and self.running_var is None)
        module = sys.modules.get(_SYNCHRONISED) if by_batch else None
        if by_batch and module is None and self.process_group is not None:
            raise ValueError("SyncBatchNorm: process_group is no group of dualtape.distributed, which is not imported")
        group = None if module is None else module.group_of(self.process_group)
        if group is None:
            return super().forward(input)
        self._check_input_dim(input)
        if input.shape[1] != self.num_features:
            raise ValueError(
                f"SyncBatchNorm: expected an input of {self.num_features} channels, got shape {list(input.shape)}"
            )
        return module.normalised(self, input, group, self._dt_counted())  # type: ignore[union-attr]

    @classmethod
    def convert_sync_batchnorm(cls, module: Module, process_group: Any = None) -> Module:
        """Return ``module`` with its batch norms replaced by synchronised ones."""
        result: Module = module
        if isinstance(module, _BatchNorm):
            names = ("num_features", "eps", "momentum", "affine", "track_running_stats")
            settings: dict[str, Any] = {name: getattr(module, name) for name in names}
            result = cls(**settings, process_group=process_group, bias=module.bias is not None)
            result._parameters.update(module._parameters)
            result._buffers.update(module._buffers)
            result.training = module.training
        for name, child in module.named_children():
            result.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return result
