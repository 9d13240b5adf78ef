"""Attention by scaled products, and with several heads."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np

from ..._tensor.tensor import new_tensor, raw, wrap
from ...arrays import zeros
from ...arrays.kernels.basics import all_samples, asarray_like
from ...errors import warn
from ..dispatch import FUNCTIONS
from ..samples import exact_mask, real, sample
from ..table import composite
from .dropout import dropout
from .linear import linear
from .padding import pad

_F = "nn.functional"


@composite("scaled_dot_product_attention", complex=False, namespace="nn.functional", samples=(
    sample(real(2, 3, 4), real(2, 5, 4), real(2, 5, 6)),
    sample(real(2, 2, 3, 4), real(2, 2, 3, 4), real(2, 2, 3, 4), is_causal=True),
    sample(real(2, 3, 4), real(2, 3, 4), real(2, 3, 4),
        exact_mask([[True, False, True], [False, False, False], [True, True, True]])),
    sample(real(3, 4), real(5, 4), real(5, 2), real(3, 5), scale=0.3),
))  # fmt: skip
def scaled_dot_product_attention(
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Any:
    """``softmax(query @ key.mT * scale + mask) @ value``; queries whose keys are all masked give zeros.

    Examples
    --------
    >>> import dualtape as dt
    >>> q = dt.zeros(1, 2)
    >>> dt.nn.functional.scaled_dot_product_attention(q, dt.ones(2, 2), dt.tensor([[1.0], [3.0]]))
    tensor([[2.]])
    """
    if is_causal and attn_mask is not None:
        raise RuntimeError("scaled_dot_product_attention: explicit attn_mask should not be set when is_causal=True")
    if enable_gqa:
        key = FUNCTIONS["repeat_interleave"](key, query.shape[-3] // key.shape[-3], -3)
        value = FUNCTIONS["repeat_interleave"](value, query.shape[-3] // value.shape[-3], -3)
    dtype = query.dtype
    # Scores of half precision would overflow; this way they are rounded once, at the end.
    if query._array.dtype.itemsize == 2:
        query, key, value = query.float(), key.float(), value.float()
    factor = 1 / sqrt(max(query.shape[-1], 1)) if scale is None else scale
    scores = FUNCTIONS["matmul"](query * factor, key.mT)
    hidden = None
    if is_causal:
        hidden = wrap(asarray_like(np.triu(np.ones(scores.shape[-2:], np.bool_), 1), scores._array))
    elif attn_mask is not None and attn_mask._array.dtype == np.bool_:
        hidden = ~attn_mask
    elif attn_mask is not None:
        scores = scores + attn_mask
    if hidden is not None:
        # added and not filled in: a score that is NaN stays so
        scores = scores + FUNCTIONS["where"](hidden, float("-inf"), 0.0).to(scores.dtype)
    blind = (scores.detach() == float("-inf")).all(-1, keepdim=True)
    sees_nothing = bool(all_samples(blind._array).any())
    if sees_nothing:  # whose softmax would be NaN, and its gradient
        scores = FUNCTIONS["masked_fill"](scores, blind, 0.0)
    attention = FUNCTIONS["softmax"](scores, -1)
    if sees_nothing:
        attention = FUNCTIONS["masked_fill"](attention, blind, 0.0)
    return FUNCTIONS["matmul"](dropout(attention, dropout_p) if dropout_p else attention, value).to(dtype)


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
