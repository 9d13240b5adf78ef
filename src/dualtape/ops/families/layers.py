"""Dropout of channels, channel shuffles, bags of embeddings, local response norm, attention of several heads."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np

from ... import modes
from ..._tensor.tensor import new_tensor, raw
from ...arrays import zeros
from ...arrays.bfloat16_dtype import cast
from ...arrays.kernels.basics import asarray_like, host
from ...errors import warn
from ..dispatch import FUNCTIONS
from ..samples import apart, edge, exact_index, exact_mask, real, sample
from ..table import composite
from .convolution import _conv_transposed, conv1d
from .nn import _dropped, _renormalise, dropout, linear, nn_embedding, pad
from .pooling import avg_pool2d

_F = "nn.functional"

# --- dropout --------------------------------------------------------------------------------------


@composite("dropout1d", namespace=_F, samples=(sample(real(2, 3, 4), 0.5, False), sample(real(2, 3, 4), 1.0)))
def dropout1d(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """In training, whole channels of signals (N, C, L) or (C, L) set to zero with probability ``p``, the others divided
    by ``1 - p``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.functional.dropout1d(dt.ones(1, 2, 3), training=False).shape
    dualtape.Size([1, 2, 3])
    """
    if input.ndim not in (2, 3):
        raise RuntimeError(f"dropout1d: Expected 2D or 3D input, but received a {input.ndim}D input")
    return _dropped("dropout1d", input, p, training, inplace, (*input.shape[:-1], 1))


@composite(
    "dropout3d", namespace=_F, samples=(sample(real(1, 2, 2, 2, 2), 0.5, False), sample(real(1, 2, 2, 2, 2), 1.0))
)
def dropout3d(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """In training, whole channels of volumes (N, C, D, H, W) or (C, D, H, W) set to zero with probability ``p``, the
    others divided by ``1 - p``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.functional.dropout3d(dt.ones(1, 1, 2, 2, 2), training=False).shape
    dualtape.Size([1, 1, 2, 2, 2])
    """
    if input.ndim not in (4, 5):
        warn(
            f"dropout3d: expected channels of volumes, 4D or 5D input, but received a {input.ndim}D input: use dropout"
        )
    if not training or not p or not input.numel():
        return _dropped("dropout3d", input, p, training, inplace, ())
    if input.ndim == 5:
        return _dropped("dropout3d", input, p, training, inplace, _channels("dropout3d", input))
    return _dropped("dropout3d", input, p, training, inplace, _channels("dropout3d", input.unsqueeze(0))[1:])


@composite(
    "feature_dropout", method=False, samples=(sample(real(2, 3, 4), 0.5, False), sample(real(2, 3, 4), 1.0, True))
)
def feature_dropout(input: Any, p: float, train: bool) -> Any:
    """In training, whole channels (N, C, ...) set to zero with probability ``p``, the others divided by ``1 - p``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.feature_dropout(dt.ones(1, 2, 3), 0.5, False).shape
    dualtape.Size([1, 2, 3])
    """
    return _dropped("feature_dropout", input, p, train, False, _channels("feature_dropout", input))


def _channels(name: str, input: Any) -> tuple:
    if input.ndim < 2:
        raise RuntimeError(
            f"{name}: Feature dropout requires at least 2 dimensions in the input, got {list(input.shape)}"
        )
    return (*input.shape[:2], *(1,) * (input.ndim - 2))


_SELU = 1.7580993408473766  # what selu goes to far below 0, negated


def _alpha_dropped(name: str, input: Any, p: float, training: bool, inplace: bool, shape: tuple) -> Any:
    """Return entries set to selu's lowest value, then all scaled so that mean 0 and variance 1 remain."""
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"{name}: dropout probability has to be between 0 and 1, but got {p}")
    if not training or p == 0:
        return input
    if p == 1:
        return input.mul_(0) if inplace else input * 0
    a = 1 / sqrt((1 - p) * (1 + p * _SELU * _SELU))
    kept = (
        _dropped(name, new_tensor(asarray_like(np.ones(shape), raw(input), raw(input).dtype)), p, True, False, shape)
        != 0
    )
    stays = kept.to(input.dtype)
    factor, shift = stays * a, (stays - 1) * (a * _SELU) + a * _SELU * p
    return input.mul_(factor).add_(shift) if inplace else input * factor + shift


@composite("alpha_dropout", method=False, public=False, torch_name=f"{_F}.alpha_dropout", also=(f"{_F}.alpha_dropout",), complex=False,
    samples=(sample(real(3, 4)), sample(real(3, 4), 1.0, True)))  # fmt: skip
def alpha_dropout(input: Any, p: float = 0.5, training: bool = False, inplace: bool = False) -> Any:
    """In training, entries set to selu's lowest value with probability ``p``, all scaled so that mean and variance stay.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.functional.alpha_dropout(dt.ones(3))
    tensor([1., 1., 1.])
    """
    return _alpha_dropped("alpha_dropout", input, p, training, inplace, tuple(input.shape))


@composite("feature_alpha_dropout", method=False, public=False, torch_name=f"{_F}.feature_alpha_dropout",
    also=(f"{_F}.feature_alpha_dropout",), complex=False, samples=(sample(real(2, 3, 4)), sample(real(2, 3, 4), 1.0, True)))  # fmt: skip
def feature_alpha_dropout(input: Any, p: float = 0.5, training: bool = False, inplace: bool = False) -> Any:
    """:func:`alpha_dropout` of whole channels (N, C, ...).

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.functional.feature_alpha_dropout(dt.ones(1, 1, 3))
    tensor([[[1., 1., 1.]]])
    """
    shape = _channels("feature_alpha_dropout", input) if training else ()
    return _alpha_dropped("feature_alpha_dropout", input, p, training, inplace, shape)


@composite("nn_rrelu", method=False, public=False, torch_name=f"{_F}.rrelu", also=(f"{_F}.rrelu",), complex=False,
    samples=(sample(apart(3, 4)), sample(apart(3, 4), 0.1, 0.5), sample(apart(3), 0.2, 0.2, True)))  # fmt: skip
def rrelu(
    input: Any, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False, inplace: bool = False
) -> Any:
    """x above 0, below a fraction of it: in training a random one between two bounds for each entry, else their mean.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.functional.rrelu(dt.tensor([-1.0, 2.0]), 0.25, 0.75)
    tensor([-0.5000,  2.0000])
    """
    if not lower <= upper:
        raise RuntimeError(
            f"rrelu: Lower bound should be less than or equal to the upper bound, got {lower} and {upper}"
        )
    slope: Any = (lower + upper) / 2
    if training and lower != upper:
        from ...random import rand

        drawn = rand(*input.shape) if input.ndim else rand(1).reshape(())
        slope = new_tensor(asarray_like(raw(drawn * (upper - lower) + lower), raw(input), raw(input).dtype))
    above = (input.detach() > 0).to(input.dtype)
    factor = above + (1 - above) * slope
    return input.mul_(factor) if inplace else input * factor


_CERTAIN = np.array([[0.0, 1e4, 0.0], [1e4, 0.0, 0.0]])  # whatever is drawn


@composite(
    "gumbel_softmax",
    complex=False,
    namespace=_F,
    torch_name="-",
    samples=(edge(_CERTAIN), edge(_CERTAIN, hard=True)),
)
def gumbel_softmax(logits: Any, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Any:
    """A random choice among classes, smoothed by a temperature ``tau`` so that it has a gradient; ``hard`` gives the
    choice itself, with that gradient.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.functional.gumbel_softmax(dt.tensor([0.0, 1000.0]), hard=True)
    tensor([0., 1.])
    """
    if eps != 1e-10:
        warn("gumbel_softmax: the `eps` parameter is deprecated and has no effect: leave it out")
    from ...random import rand

    drawn = rand(*logits.shape, dtype=logits.dtype) if logits.ndim else rand(1, dtype=logits.dtype).reshape(())
    noise = new_tensor(asarray_like(-np.log(-np.log1p(-raw(drawn))), raw(logits)))
    soft = FUNCTIONS["softmax"]((logits + noise) / tau, dim)
    if not hard:
        return soft
    chosen = soft.detach().argmax(dim, keepdim=True)
    one = new_tensor(asarray_like(np.ones(tuple(chosen.shape)), raw(soft), raw(soft).dtype))
    nothing = new_tensor(zeros(tuple(soft.shape), raw(soft).dtype, raw(soft)))
    return nothing.scatter(dim, chosen, one) - soft.detach() + soft


# --- channels -------------------------------------------------------------------------------------


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


# --- convolutions ---------------------------------------------------------------------------------


@composite("conv_transpose3d", method=False, torch_name=f"{_F}.conv_transpose3d", also=(f"{_F}.conv_transpose3d",), samples=(
    sample(real(1, 2, 2, 3, 2), real(2, 2, 2, 2, 2), real(2)), sample(real(1, 2, 2, 2, 2), real(2, 1, 2, 3, 2), None, 2, 1, 1, 2),
))  # fmt: skip
def conv_transpose3d(
    input: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, output_padding: Any = 0,
    groups: int = 1, dilation: Any = 1,
) -> Any:  # fmt: skip
    """The transpose of :func:`conv3d`, weights (C, O / groups, KD, KH, KW).

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.functional.conv_transpose3d(dt.ones(1, 1, 1, 1, 1), dt.ones(1, 1, 2, 2, 2)).shape
    dualtape.Size([1, 1, 2, 2, 2])
    """
    return _conv_transposed(
        3, "conv_transpose3d", input, weight, bias, stride, padding, output_padding, groups, dilation
    )


@composite("conv_tbc", method=False, complex=False, torch_name=f"{_F}.conv_tbc", also=(f"{_F}.conv_tbc",), samples=(
    sample(real(5, 2, 3), real(2, 3, 4), real(4)), sample(real(5, 2, 3), real(3, 3, 2), real(2), 1),
))  # fmt: skip
def conv_tbc(input: Any, weight: Any, bias: Any, pad: int = 0) -> Any:
    """A convolution over time of sequences (T, N, C), weights (K, C, O).

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.functional.conv_tbc(dt.ones(4, 1, 1), dt.ones(2, 1, 1), dt.zeros(1)).flatten()
    tensor([2., 2., 2.])
    """
    if input.ndim != 3 or weight.ndim != 3 or bias.ndim != 1:
        raise RuntimeError(
            f"conv_tbc: expected input (T, N, C), weight (K, C, O) and bias (O), got {list(input.shape)},"
            f" {list(weight.shape)} and {list(bias.shape)}"
        )
    return conv1d(input.permute(1, 2, 0), weight.permute(2, 1, 0), bias, 1, pad).permute(2, 0, 1)


# --- bags of embeddings ---------------------------------------------------------------------------

_BAGS = (exact_index([1, 2, 4, 1, 3]), real(5, 3), exact_index([0, 2, 2]))


@composite("nn_embedding_bag", method=False, public=False, complex=False, torch_name=f"{_F}.embedding_bag", also=(f"{_F}.embedding_bag",), samples=(
    *(sample(*_BAGS, mode=m) for m in ("mean", "sum", "max")), *(sample(exact_index([[1, 2], [4, 1]]), real(5, 3), mode=m) for m in ("mean", "sum", "max")),
    sample(exact_index([[1, 2], [4, 1]]), real(5, 3), mode="sum", per_sample_weights=real(2, 2)),
    edge(*_BAGS, mode="sum", padding_idx=1), edge(*_BAGS, mode="mean", padding_idx=-4), edge(*_BAGS, mode="max", padding_idx=1),
    sample(exact_index([1, 2, 4]), real(5, 3), exact_index([0, 2, 3]), include_last_offset=True),
))  # fmt: skip
def embedding_bag(
    input: Any, weight: Any, offsets: Any = None, max_norm: float | None = None, norm_type: float = 2,
    scale_grad_by_freq: bool = False, mode: str = "mean", sparse: bool = False, per_sample_weights: Any = None,
    include_last_offset: bool = False, padding_idx: int | None = None,
) -> Any:  # fmt: skip
    """The mean, sum or maximum of the rows of ``weight`` that each bag of indices names: a row of ``input``, or the
    indices between two offsets.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.functional.embedding_bag(dt.tensor([[0, 1]]), dt.tensor([[1.0], [2.0]]), mode="sum")
    tensor([[3.]])
    """
    name = "embedding_bag"
    if raw(weight).dtype == np.int64 and raw(input).dtype.kind == "f":
        warn(
            "embedding_bag: the weight came before the indices, which is deprecated: embedding_bag(input, weight, ...)"
        )
        input, weight = weight, input
    if mode not in ("mean", "sum", "max"):
        raise ValueError(f"{name}: mode has to be one of sum, mean or max, got {mode!r}")
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError(f"{name}: per_sample_weights is only supported for mode='sum', got mode={mode!r}")
    if per_sample_weights is not None and tuple(per_sample_weights.shape) != tuple(input.shape):
        raise ValueError(f"{name}: If per_sample_weights is not None, it must have the same shape as the input")
    if mode == "max" and (scale_grad_by_freq or sparse):
        raise ValueError(f"{name}: max mode does not support scaling the gradient by the frequency or sparse weights")
    indices = np.asarray(host(raw(input)))
    starts = _bag_starts(name, indices, offsets, include_last_offset)
    rows = weight.shape[0]
    if padding_idx is not None:
        if not -rows <= padding_idx < rows:
            raise AssertionError(f"{name}: padding_idx must be within the {rows} rows, got {padding_idx}")
        padding_idx %= rows
    flat = input.reshape(-1)
    if max_norm is not None:
        _renormalise(weight, flat, max_norm, norm_type)
    vectors = nn_embedding(flat, weight, padding_idx, None, 2.0, scale_grad_by_freq, sparse)
    ends = np.append(starts[1:], indices.size)
    bag = np.repeat(np.arange(len(starts)), ends - starts)
    counted = np.ones(indices.size, bool) if padding_idx is None else indices.reshape(-1) != padding_idx
    beside = lambda array: new_tensor(asarray_like(array, raw(weight)))
    if mode == "max":
        return _bag_maximum(vectors, bag, counted, len(starts), beside)
    if per_sample_weights is not None:
        vectors = vectors * per_sample_weights.reshape(-1, 1)
    if not counted.all():
        vectors = FUNCTIONS["where"](beside(counted[:, None]), vectors, 0.0)
    nothing = new_tensor(zeros((len(starts), weight.shape[1]), raw(weight).dtype, raw(weight)))
    total = nothing.index_add(0, beside(bag), vectors)
    if mode == "sum":
        return total
    counts = cast(np.maximum(np.bincount(bag[counted], minlength=len(starts)), 1), raw(weight).dtype)
    return total / beside(counts[:, None])


def _bag_starts(name: str, indices: np.ndarray, offsets: Any, include_last_offset: bool) -> np.ndarray:
    if indices.ndim == 2:
        if offsets is not None:
            raise ValueError(
                f"{name}: if input is 2D, then offsets has to be None, as input is treated as a mini-batch"
            )
        return np.arange(indices.shape[0]) * indices.shape[1]
    if indices.ndim != 1:
        raise ValueError(f"{name}: input has to be 1D or 2D Tensor, but got Tensor of dimension {indices.ndim}")
    if offsets is None:
        raise ValueError(f"{name}: offsets has to be a 1D Tensor but got None")
    starts = np.asarray(host(raw(offsets)))
    if starts.ndim != 1:
        raise ValueError(f"{name}: offsets has to be a 1D Tensor, got {starts.ndim} dimensions")
    if starts.size and (starts[0] != 0 or starts[-1] > indices.size or (np.diff(starts) < 0).any()):
        raise RuntimeError(f"{name}: offsets must begin with 0, ascend, and end within the {indices.size} indices")
    return starts[:-1] if include_last_offset else starts


def _bag_maximum(vectors: Any, bag: np.ndarray, counted: np.ndarray, count: int, beside: Any) -> Any:
    sizes = np.bincount(bag[counted], minlength=count)
    longest = int(sizes.max(initial=0))
    places = np.zeros((count, max(longest, 1)), np.int64)
    there = np.arange(max(longest, 1)) < sizes[:, None]
    places[there] = np.flatnonzero(counted)
    if not longest:  # zeros, of which the weight has a gradient of zero
        nothing = new_tensor(zeros((count, vectors.shape[1]), raw(vectors).dtype, raw(vectors)))
        return nothing + vectors[:0].sum()
    chosen = vectors.index_select(0, beside(places.reshape(-1))).reshape(count, longest, vectors.shape[1])
    found = FUNCTIONS["where"](beside(there[..., None]), chosen, -np.inf).max(1).values
    return FUNCTIONS["where"](beside((sizes == 0)[:, None]), 0.0, found)


@composite(
    "embedding_renorm_", method=False, torch_name="-", samples=(edge(np.ones((3, 2)), exact_index([0, 2]), 1.0, 2.0),)
)
def embedding_renorm_(input: Any, indices: Any, max_norm: float, norm_type: float) -> Any:
    """Scale the rows that the indices name and that are longer than ``max_norm``, in place.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.embedding_renorm_(dt.tensor([[3.0, 4.0]]), dt.tensor([0]), 1.0, 2.0)
    tensor([[0.6000, 0.8000]])
    """
    with modes.no_grad():
        _renormalise(input, indices, max_norm, norm_type)
    return input


# --- attention ------------------------------------------------------------------------------------


def _as_added(mask: Any, like: Any) -> Any:
    """Return a mask of entries to exclude as numbers to add."""
    if raw(mask).dtype.kind != "b":
        return mask
    return FUNCTIONS["where"](mask, -np.inf, 0.0).to(like.dtype)


_MHA = (
    real(3, 2, 4),
    real(5, 2, 4),
    real(5, 2, 4),
    4,
    2,
    real(12, 4),
    real(12),
    None,
    None,
    False,
    0.0,
    real(4, 4),
    real(4),
)


@composite("multi_head_attention_forward", complex=False, namespace=_F, samples=(
    sample(*_MHA), sample(*_MHA, average_attn_weights=False),
    sample(*_MHA[:7], real(1, 1, 4), real(1, 1, 4), True, 0.0, real(4, 4), None,
        key_padding_mask=exact_mask([[False, False, True, False, True], [False] * 5])),
    sample(*_MHA, attn_mask=real(3, 5)), sample(real(3, 4), real(5, 4), real(5, 4), *_MHA[3:]),
    sample(real(3, 2, 4), real(5, 2, 3), real(5, 2, 6), 4, 2, None, real(12), None, None, False, 0.0, real(4, 4), real(4),
        use_separate_proj_weight=True, q_proj_weight=real(4, 4), k_proj_weight=real(4, 3), v_proj_weight=real(4, 6)),
))  # fmt: skip
def multi_head_attention_forward(
    query: Any, key: Any, value: Any, embed_dim_to_check: int, num_heads: int, in_proj_weight: Any, in_proj_bias: Any,
    bias_k: Any, bias_v: Any, add_zero_attn: bool, dropout_p: float, out_proj_weight: Any, out_proj_bias: Any,
    training: bool = True, key_padding_mask: Any = None, need_weights: bool = True, attn_mask: Any = None,
    use_separate_proj_weight: bool = False, q_proj_weight: Any = None, k_proj_weight: Any = None,
    v_proj_weight: Any = None, static_k: Any = None, static_v: Any = None, average_attn_weights: bool = True,
    is_causal: bool = False,
) -> Any:  # fmt: skip
    """Attention of several heads on sequences (L, N, E): projected, attended to, joined and projected again; and the
    weights of attention, averaged over heads, or None.

    Examples
    --------
    >>> import dualtape as dt
    >>> x, w = dt.ones(2, 1, 2), dt.ones(6, 2)
    >>> out, weights = dt.nn.functional.multi_head_attention_forward(
    ...     x, x, x, 2, 1, w, None, None, None, False, 0.0, dt.eye(2), None)
    >>> weights
    tensor([[[0.5000, 0.5000],
             [0.5000, 0.5000]]])
    """
    name = "multi_head_attention_forward"
    if query.ndim not in (2, 3) or key.ndim != query.ndim or value.ndim != query.ndim:
        raise AssertionError(f"{name}: query, key and value should be unbatched 2D or batched 3D tensors alike")
    if attn_mask is not None and key_padding_mask is not None and attn_mask.dtype != key_padding_mask.dtype:
        warn(
            f"{name}: Support for mismatched key_padding_mask and attn_mask is deprecated, got {key_padding_mask.dtype!r}"
            f" and {attn_mask.dtype!r}: give both the same dtype"
        )
    if is_causal and attn_mask is None:
        raise RuntimeError(f"{name}: Need attn_mask if specifying the is_causal hint.")
    batched = query.ndim == 3
    if not batched:
        query, key, value = (x.unsqueeze(1) for x in (query, key, value))
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    length, batch, size = query.shape
    if size != embed_dim_to_check or size % num_heads:
        raise AssertionError(
            f"{name}: was expecting embedding dimension of {embed_dim_to_check}, divisible by {num_heads} heads, but got {size}"
        )
    if use_separate_proj_weight:
        weights = (q_proj_weight, k_proj_weight, v_proj_weight)
    else:
        weights = tuple(in_proj_weight.chunk(3, 0))
    biases = (None,) * 3 if in_proj_bias is None else tuple(in_proj_bias.chunk(3, 0))
    q, k, v = (linear(x, w, b) for x, w, b in zip((query, key, value), weights, biases, strict=True))
    head = size // num_heads
    more = 0
    if bias_k is not None and bias_v is not None:
        k, v = (FUNCTIONS["cat"]([x, b.expand((1, batch, size))], 0) for x, b in ((k, bias_k), (v, bias_v)))
        more += 1
    split = lambda x: x.reshape(x.shape[0], batch * num_heads, head).transpose(0, 1)
    q, k, v = split(q), split(k) if static_k is None else static_k, split(v) if static_v is None else static_v
    if add_zero_attn:
        nothing = new_tensor(zeros((batch * num_heads, 1, head), raw(k).dtype, raw(k)))
        k, v = FUNCTIONS["cat"]([k, nothing], 1), FUNCTIONS["cat"]([v, nothing], 1)
        more += 1
    scores = (q * (1 / sqrt(head))) @ k.mT
    if attn_mask is not None:
        mask = _as_added(attn_mask, scores)
        scores = scores + (pad(mask, (0, more)) if more else mask)
    if key_padding_mask is not None:
        mask = _as_added(key_padding_mask, scores)
        mask = (pad(mask, (0, more)) if more else mask).reshape(batch, 1, 1, k.shape[1])
        shape = scores.shape
        scores = (scores.reshape(batch, num_heads, length, k.shape[1]) + mask).reshape(shape)
    attention = FUNCTIONS["softmax"](scores, -1)
    if dropout_p and training:
        attention = dropout(attention, dropout_p)
    out = (attention @ v).transpose(0, 1).reshape(length * batch, size)
    out = linear(out, out_proj_weight, out_proj_bias)
    out = out.reshape(length, batch, out.shape[-1])
    out = out if batched else out.squeeze(1)
    if not need_weights:
        return out, None
    shown = attention.reshape(batch, num_heads, length, k.shape[1])
    shown = shown.mean(1) if average_attn_weights else shown
    return out, shown if batched else shown.squeeze(0)
