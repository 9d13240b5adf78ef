"""Instance normalisation: each channel of each sample is normalised to mean zero and variance one."""

from __future__ import annotations

from typing import Any

from ..._tensor.tensor import Tensor
from ...errors import warn
from .. import functional as F
from .batchnorm import _LazyNormBase, _NormBase

__all__ = [
    "InstanceNorm1d",
    "InstanceNorm2d",
    "InstanceNorm3d",
    "LazyInstanceNorm1d",
    "LazyInstanceNorm2d",
    "LazyInstanceNorm3d",
]


class _InstanceNorm(_NormBase):
    """Instance normalisation of inputs with a batch dimension or without one."""

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)

    def _get_no_batch_dim(self) -> int:
        return self._dt_dims[0]

    def _apply_instance_norm(self, input: Any) -> Any:
        return F.instance_norm(
            input,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            self.training or not self.track_running_stats,
            0.0 if self.momentum is None else self.momentum,
            self.eps,
        )

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        place = input.dim() - self._get_no_batch_dim()
        if input.size(place) != self.num_features:
            wrong = f"input's size at dim={place} is {input.size(place)}, and num_features {self.num_features}"
            if self.affine:
                raise ValueError(f"expected input's size at dim={place} to match num_features: {wrong}")
            warn(f"{wrong}, which is not used because affine=False")
        if place == 0:
            return self._apply_instance_norm(input.unsqueeze(0)).squeeze(0)
        return self._apply_instance_norm(input)

    def _load_from_state_dict(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: dict,
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        if local_metadata.get("version", None) is None and not self.track_running_stats:
            old = [prefix + name for name in ("running_mean", "running_var") if prefix + name in state_dict]
            if old:  # once they were always kept
                names = " and ".join(f'"{key}"' for key in old)
                error_msgs.append(
                    f"Unexpected running stats buffer(s) {names} for {type(self).__name__} with"
                    " track_running_stats=False: remove them from the state dict, or set track_running_stats=True"
                )
                for key in old:
                    state_dict.pop(key)
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
        )


class InstanceNorm1d(_InstanceNorm):
    """Instance normalisation of (N, C, L) or (C, L).

    Parameters
    ----------
    num_features : int
        The number of channels C.
    eps : float
        Added to the variance.
    momentum : float
        The weight of a batch in the running statistics.
    affine : bool
        Whether each channel learns a scale and, if ``bias``, an offset.
    track_running_stats : bool
        Whether to keep the statistics of the past, for evaluation.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.InstanceNorm1d(1)(dt.tensor([[[1.0, 3.0]]]))
    tensor([[[-1.0000,  1.0000]]])
    """

    _dt_dims = (2, 3)


class InstanceNorm2d(_InstanceNorm):
    """Instance normalisation of (N, C, H, W) or (C, H, W); arguments as of :class:`InstanceNorm1d`.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.InstanceNorm2d(3)(dt.rand(2, 3, 4, 4)).shape
    dualtape.Size([2, 3, 4, 4])
    """

    _dt_dims = (3, 4)


class InstanceNorm3d(_InstanceNorm):
    """Instance normalisation of (N, C, D, H, W) or (C, D, H, W); arguments as of :class:`InstanceNorm1d`.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.InstanceNorm3d(3)(dt.rand(2, 3, 4, 4, 4)).shape
    dualtape.Size([2, 3, 4, 4, 4])
    """

    _dt_dims = (4, 5)


class LazyInstanceNorm1d(_LazyNormBase, _InstanceNorm):
    """An :class:`InstanceNorm1d` that takes the number of channels from its first input.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.LazyInstanceNorm1d()(dt.rand(2, 3, 4)).shape
    dualtape.Size([2, 3, 4])
    """

    cls_to_become = InstanceNorm1d
    _dt_dims = (2, 3)


class LazyInstanceNorm2d(_LazyNormBase, _InstanceNorm):
    """An :class:`InstanceNorm2d` that takes the number of channels from its first input.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.LazyInstanceNorm2d()(dt.rand(2, 3, 4, 4)).shape
    dualtape.Size([2, 3, 4, 4])
    """

    cls_to_become = InstanceNorm2d
    _dt_dims = (3, 4)


class LazyInstanceNorm3d(_LazyNormBase, _InstanceNorm):
    """An :class:`InstanceNorm3d` that takes the number of channels from its first input.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.LazyInstanceNorm3d()(dt.rand(2, 3, 4, 4, 4)).shape
    dualtape.Size([2, 3, 4, 4, 4])
    """

    cls_to_become = InstanceNorm3d
    _dt_dims = (4, 5)
