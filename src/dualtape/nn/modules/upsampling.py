"""Signals, images and volumes made larger."""

from __future__ import annotations

from typing import Any

from ..._tensor.tensor import Tensor
from .. import functional as F
from .module import Module

__all__ = ["Upsample", "UpsamplingBilinear2d", "UpsamplingNearest2d"]


class Upsample(Module):
    """The input at a given ``size``, or ``scale_factor`` times as large.

    Parameters
    ----------
    size : int or tuple, optional
    scale_factor : float or tuple, optional
        One of the two is given.
    mode : str
        ``"nearest"``, ``"linear"`` (of one dimension), ``"bilinear"``, ``"bicubic"`` (two), ``"trilinear"`` (three).
    align_corners : bool, optional
        Whether the outermost elements of input and output coincide, or the outer edges of these.
    recompute_scale_factor : bool, optional
        Compute with the ratio of the sizes, and not with the given factor.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.Upsample(scale_factor=2)(dt.tensor([[[1.0, 2.0]]]))
    tensor([[[1., 1., 2., 2.]]])
    """

    __constants__ = ["size", "scale_factor", "mode", "align_corners", "name", "recompute_scale_factor"]

    def __init__(
        self,
        size: Any = None,
        scale_factor: Any = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ) -> None:
        super().__init__()
        if scale_factor:
            scale_factor = tuple(map(float, scale_factor)) if isinstance(scale_factor, tuple) else float(scale_factor)
        self.scale_factor: Any = scale_factor or None
        self.name, self.size, self.mode = type(self).__name__, size, mode
        self.align_corners, self.recompute_scale_factor = align_corners, recompute_scale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.interpolate(
            input,
            self.size,
            self.scale_factor,
            self.mode,
            self.align_corners,
            recompute_scale_factor=self.recompute_scale_factor,
        )

    def extra_repr(self) -> str:
        shown = f"scale_factor={self.scale_factor!r}" if self.scale_factor is not None else f"size={self.size!r}"
        return f"{shown}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """:class:`Upsample` of images by the nearest pixel.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.UpsamplingNearest2d(scale_factor=2)(dt.ones(1, 1, 2, 2)).shape
    dualtape.Size([1, 1, 4, 4])
    """

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, mode="nearest")


class UpsamplingBilinear2d(Upsample):
    """:class:`Upsample` of images by linear interpolation, with corners that coincide.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.UpsamplingBilinear2d(size=3)(dt.tensor([[[[0.0, 2.0]]]]))[0, 0, 0]
    tensor([0., 1., 2.])
    """

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, mode="bilinear", align_corners=True)
