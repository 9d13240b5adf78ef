"""Attention of several heads, with its projections."""

from __future__ import annotations

from typing import Any

from ..._tensor.shaped import empty
from .. import functional as F
from .. import init
from ..parameter import Parameter
from .linear import NonDynamicallyQuantizableLinear
from .module import Module

__all__ = ["MultiheadAttention"]


class MultiheadAttention(Module):
    """Several attentions, each over a part of the features, and a linear layer over all of them.

    Parameters
    ----------
    embed_dim : int
        The number of features of queries and outputs, ``num_heads`` times that of a head.
    num_heads : int
    dropout : float
        With what probability a weight becomes zero, in training.
    bias : bool
        Whether the projections have one.
    add_bias_kv, add_zero_attn : bool
        Add a learned key and value to each sequence, or a zero one.
    kdim, vdim : int, optional
        The number of features of keys and values; default: ``embed_dim``.
    batch_first : bool
        Sequences are (N, L, features), and not (L, N, features).

    Examples
    --------
    >>> import dualtape as dt
    >>> attention = dt.nn.MultiheadAttention(8, 2, batch_first=True)
    >>> x = dt.rand(3, 5, 8)
    >>> output, weights = attention(x, x, x)
    >>> output.shape, weights.shape
    (dualtape.Size([3, 5, 8]), dualtape.Size([3, 5, 5]))
    """

    __constants__ = ["batch_first"]
    in_proj_weight: Any
    q_proj_weight: Any
    k_proj_weight: Any
    v_proj_weight: Any
    in_proj_bias: Any
    bias_k: Any
    bias_v: Any

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(f"embed_dim and num_heads must be 1 or more, got {embed_dim=} and {num_heads=}")
        super().__init__()
        if embed_dim % num_heads:
            raise AssertionError(f"embed_dim must be divisible by num_heads, got {embed_dim} and {num_heads}")
        self.embed_dim, self.num_heads, self.head_dim = embed_dim, num_heads, embed_dim // num_heads
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self._qkv_same_embed_dim = self.kdim == self.vdim == embed_dim
        self.dropout, self.batch_first, self.add_zero_attn = dropout, batch_first, add_zero_attn
        same = self._qkv_same_embed_dim
        for name, shape in (
            ("in_proj_weight", (3 * embed_dim, embed_dim) if same else None),
            ("q_proj_weight", None if same else (embed_dim, embed_dim)),
            ("k_proj_weight", None if same else (embed_dim, self.kdim)),
            ("v_proj_weight", None if same else (embed_dim, self.vdim)),
            ("in_proj_bias", (3 * embed_dim,) if bias else None),
        ):
            made = None if shape is None else Parameter(empty(shape, device=device, dtype=dtype))
            self.register_parameter(name, made)
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias, device, dtype)
        self.bias_k = self.bias_v = None
        if add_bias_kv:
            self.bias_k = Parameter(empty((1, 1, embed_dim), device=device, dtype=dtype))
            self.bias_v = Parameter(empty((1, 1, embed_dim), device=device, dtype=dtype))
        self._reset_parameters()

    def _reset_parameters(self) -> None:
        for weight in (self.in_proj_weight, self.q_proj_weight, self.k_proj_weight, self.v_proj_weight):
            if weight is not None:
                init.xavier_uniform_(weight)
        if self.in_proj_bias is not None:
            init.zeros_(self.in_proj_bias)
            init.zeros_(self.out_proj.bias)
        for bias in (self.bias_k, self.bias_v):
            if bias is not None:
                init.xavier_normal_(bias)

    def forward(
        self,
        query: Any,
        key: Any,
        value: Any,
        key_padding_mask: Any = None,
        need_weights: bool = True,
        attn_mask: Any = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Any, Any]:
        """Return the output, and the weights if ``need_weights`` (averaged over the heads, or of each).

        Parameters
        ----------
        query, key, value : Tensor
        key_padding_mask : Tensor, optional
            (N, S): True, or added minus infinity, where a key is padding.
        attn_mask : Tensor, optional
            (L, S) or (N * heads, L, S): True where a query may not see a key, or numbers to add.
        is_causal : bool
            A hint that ``attn_mask`` lets each query see the keys up to its own place.
        """
        if query.is_nested or key.is_nested or value.is_nested:
            raise AssertionError(
                "MultiheadAttention does not support NestedTensor: project with nn.Linear, which does, and use"
                " F.scaled_dot_product_attention"
            )
        turned = self.batch_first and query.dim() == 3
        # A tensor that is given twice stays one tensor: its projections are then computed in one product.
        if turned:
            same_key, same_value = key is query, value is key
            query = query.transpose(0, 1)
            key = query if same_key else key.transpose(0, 1)
            value = key if same_value else value.transpose(0, 1)
        separate = not self._qkv_same_embed_dim
        weights = (
            {
                "use_separate_proj_weight": True,
                "q_proj_weight": self.q_proj_weight,
                "k_proj_weight": self.k_proj_weight,
                "v_proj_weight": self.v_proj_weight,
            }
            if separate
            else {}
        )
        output, attention = F.multi_head_attention_forward(
            query,
            key,
            value,
            self.embed_dim,
            self.num_heads,
            self.in_proj_weight,
            self.in_proj_bias,
            self.bias_k,
            self.bias_v,
            self.add_zero_attn,
            self.dropout,
            self.out_proj.weight,
            self.out_proj.bias,
            training=self.training,
            key_padding_mask=key_padding_mask,
            need_weights=need_weights,
            attn_mask=attn_mask,
            average_attn_weights=average_attn_weights,
            is_causal=is_causal,
            **weights,
        )
        return (output.transpose(0, 1) if turned else output), attention

    def merge_masks(self, attn_mask: Any, key_padding_mask: Any, query: Any) -> tuple[Any, int | None]:
        """Return both masks as one of (N, heads, L, S), and its kind: 1 of keys alone, 2 of queries too; None if there
        is none.
        """
        if attn_mask is None:
            return key_padding_mask, None if key_padding_mask is None else 1
        count, length, _ = query.shape
        merged = attn_mask.view(count if attn_mask.dim() == 3 else 1, -1, length, length)
        merged = merged.expand(count, self.num_heads, -1, -1)
        if key_padding_mask is not None:
            merged = merged + key_padding_mask.view(count, 1, 1, length).expand(-1, self.num_heads, -1, -1)
        return merged, 2
