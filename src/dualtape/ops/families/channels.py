"""Ops on the channels of images: shuffles, and normalisation over neighbouring channels."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..samples import real, sample
from ..table import GENERAL, LINEAR, composite, op
from .padding import pad
from .pooling import avg_pool2d

_F = "nn.functional"


def _pixel_shuffled(x: Any, upscale_factor: int) -> Any:
    *lead, c, h, w = x.shape
    r, n = upscale_factor, x.ndim - 3
    if c % (r * r):
        raise RuntimeError(
            "pixel_shuffle: expects its input's 'channel' dimension to be divisible by the square of upscale_factor,"
            f" got {c} and {r}"
        )
    split = x.reshape((*lead, c // (r * r), r, r, h, w))
    return (
        np.transpose(split, (*range(n), n, n + 3, n + 1, n + 4, n + 2))
        .copy()
        .reshape((*lead, c // (r * r), h * r, w * r))
    )


def _unshuffled(g: Any, x_shape: tuple, upscale_factor: int) -> Any:
    *lead, c, h, w = x_shape
    r, n = upscale_factor, len(lead)
    split = g.reshape((*lead, c // (r * r), h, r, w, r))
    return np.transpose(split, (*range(n), n, n + 2, n + 4, n + 1, n + 3)).reshape(x_shape)


op("pixel_shuffle", _pixel_shuffled, also=("nn.functional.pixel_shuffle",), kind=GENERAL, method=False, jvp=LINEAR, torch_name="nn.functional.pixel_shuffle",
   vjp=dict(x=_unshuffled), samples=(sample(real(2, 8, 2, 3), 2), sample(real(4, 2, 1), 2), sample(real(1, 9, 1, 2), 3)),
   doc="""Channels (C * r * r, H, W) rearranged into a finer image (C, H * r, W * r).

   >>> import dualtape as dt
   >>> dt.pixel_shuffle(dt.ones(1, 4, 2, 2), 2).shape
   dualtape.Size([1, 1, 4, 4])
   """)  # fmt: skip


def copied(result: Any, input: Any) -> Any:
    """Return ``result``, or a copy if it is a view of ``input``: rearrangements that change nothing copy, too."""
    return result.clone() if result._is_view() else result


@composite("pixel_unshuffle", method=False, torch_name=f"{_F}.pixel_unshuffle", also=(f"{_F}.pixel_unshuffle",),
    samples=(sample(real(2, 2, 4, 6), 2), sample(real(1, 3, 3), 3)))  # fmt: skip
def pixel_unshuffle(input: Any, downscale_factor: int) -> Any:
    """Images (C, H * r, W * r) rearranged into coarser ones of more channels (C * r * r, H, W).

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.pixel_unshuffle(dt.ones(1, 1, 4, 4), 2).shape
    dualtape.Size([1, 4, 2, 2])
    """
    r = downscale_factor
    if input.ndim < 3 or r <= 0 or input.shape[-1] % r or input.shape[-2] % r:
        raise RuntimeError(
            f"pixel_unshuffle: expects images whose height and width are divisible by a positive downscale_factor, got"
            f" {list(input.shape)} and {r}"
        )
    *lead, c, h, w = input.shape
    n = len(lead)
    split = input.reshape(*lead, c, h // r, r, w // r, r)
    order = (*range(n), n, n + 2, n + 4, n + 1, n + 3)
    return copied(split.permute(*order).reshape(*lead, c * r * r, h // r, w // r), input)


def _shuffled(name: str, input: Any, groups: int) -> Any:
    if input.ndim < 3:
        raise RuntimeError(f"{name}: expects input with > 2 dims, but got input with sizes {list(input.shape)}")
    if groups <= 0 or input.shape[1] % groups:
        raise RuntimeError(f"{name}: number of channels must be divisible by groups, got {input.shape[1]} and {groups}")
    n, c, *rest = input.shape
    return copied(input.reshape(n, groups, c // groups, *rest).transpose(1, 2).reshape(n, c, *rest), input)


def _shuffle(name: str) -> None:
    def function(input: Any, groups: int) -> Any:
        return _shuffled(name, input, groups)

    function.__name__ = name
    function.__doc__ = f"""Channels (N, C, ...) of each group in turn.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.{name}(dt.arange(4.0).reshape(1, 4, 1), 2).flatten()
    tensor([0., 2., 1., 3.])
    """
    composite(
        name, method=False, also=(f"{_F}.{name}",), samples=(sample(real(2, 6, 2), 3), sample(real(1, 4, 2, 2), 2))
    )(function)


_shuffle("channel_shuffle")
_shuffle("native_channel_shuffle")


@composite("local_response_norm", complex=False, namespace=_F, samples=(
    sample(real(2, 5, 3), 3), sample(real(1, 4, 2, 3), 2, 0.5, 0.5, 2.0), sample(real(1, 3, 2, 2, 2), 5),
))  # fmt: skip
def local_response_norm(input: Any, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Any:
    """Channels (N, C, ...) divided by a power of the mean square of ``size`` channels around each.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.functional.local_response_norm(dt.ones(1, 1, 1), 1, alpha=1.0, beta=1.0)
    tensor([[[0.5000]]])
    """
    if input.ndim < 3:
        raise ValueError(
            f"local_response_norm: Expected 3D or higher dimensionality input (got {input.ndim} dimensions)"
        )
    if not input.numel():
        return input
    squares = (input * input).reshape(input.shape[0], 1, input.shape[1], -1)
    mean = avg_pool2d(pad(squares, (0, 0, size // 2, (size - 1) // 2)), (size, 1), 1)
    return input / (mean.reshape(tuple(input.shape)) * alpha + k) ** beta
