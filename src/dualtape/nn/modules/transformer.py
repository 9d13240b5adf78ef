"""Transformers: layers of attention and feed-forward networks, as encoders, decoders, and both."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from ..._tensor.shaped import full
from ...errors import warn
from ...modes import is_grad_enabled
from ...ops import FUNCTIONS
from .. import functional as F
from ..init import xavier_uniform_
from .activation import MultiheadAttention
from .container import ModuleList
from .dropout import Dropout
from .linear import Linear
from .module import Module
from .normalization import LayerNorm

__all__ = [
    "Transformer",
    "TransformerDecoder",
    "TransformerDecoderLayer",
    "TransformerEncoder",
    "TransformerEncoderLayer",
]


def _activation(activation: Any) -> Callable:
    if isinstance(activation, str):
        if activation not in ("relu", "gelu"):
            raise RuntimeError(f"unknown activation {activation!r}: expected 'relu', 'gelu' or a function")
        return getattr(F, activation)
    return activation


def _clones(layer: Module, count: int) -> ModuleList:
    return ModuleList([copy.deepcopy(layer) for _ in range(count)])


def _generate_square_subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> Any:
    return FUNCTIONS["triu"](full((sz, sz), float("-inf"), dtype=dtype, device=device), diagonal=1)


def _detect_is_causal_mask(mask: Any, is_causal: bool | None = None, size: int | None = None) -> bool:
    """Return whether a mask is the causal one, if ``is_causal`` does not say."""
    if is_causal is not None or mask is None:
        return is_causal is True
    kind = None if mask.dtype.kind == "b" else mask.dtype
    causal = _generate_square_subsequent_mask(mask.size(-2) if size is None else size, mask.device, kind)
    causal = causal if kind is not None else causal != 0
    return mask.shape == causal.shape and bool((mask == causal).all())


def _get_seq_len(src: Any, batch_first: bool) -> int | None:
    if src.is_nested:
        return None
    return src.shape[0] if src.dim() == 2 or not batch_first else src.shape[1]


# --- encoders -------------------------------------------------------------------------------------


class _Layer(Module):
    """Common parts of encoder and decoder layers: the feed-forward network and its settings."""

    norm_first: bool
    activation: Callable

    def _dt_make_network(
        self, d_model: int, dim_feedforward: int, dropout: float, bias: bool, factory: dict[str, Any]
    ) -> None:
        self.linear1 = Linear(d_model, dim_feedforward, bias, **factory)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias, **factory)

    def _dt_network(self, x: Any) -> Any:
        return self.linear2(self.dropout(self.activation(self.linear1(x))))

    def __setstate__(self, state: dict) -> None:
        super().__setstate__(state)
        self.__dict__.setdefault("activation", F.relu)


class TransformerEncoderLayer(_Layer):
    """Self-attention and a feed-forward network; each is added to its input and normalised.

    Parameters
    ----------
    d_model, nhead : int
        The number of features, and of heads.
    dim_feedforward : int
        The number of features inside the feed-forward network.
    dropout : float
    activation : str or callable
        ``"relu"``, ``"gelu"`` or a function.
    layer_norm_eps : float
    batch_first : bool
        Sequences are (N, L, features), and not (L, N, features).
    norm_first : bool
        Normalise before attention and network, and not after.
    bias : bool
        Whether linear layers and norms have one.

    Examples
    --------
    >>> import dualtape as dt
    >>> layer = dt.nn.TransformerEncoderLayer(8, 2, 16)
    >>> layer(dt.rand(5, 3, 8)).shape
    dualtape.Size([5, 3, 8])
    """

    __constants__ = ["norm_first"]

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Any = F.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        factory = {"device": device, "dtype": dtype}
        self.self_attn = MultiheadAttention(d_model, nhead, dropout, bias, batch_first=batch_first, **factory)
        self._dt_make_network(d_model, dim_feedforward, dropout, bias, factory)
        self.norm_first = norm_first
        self.norm1 = LayerNorm(d_model, layer_norm_eps, bias=bias, **factory)
        self.norm2 = LayerNorm(d_model, layer_norm_eps, bias=bias, **factory)
        self.dropout1, self.dropout2 = Dropout(dropout), Dropout(dropout)
        self.activation = _activation(activation)
        kinds = {"ReLU": 1, "GELU": 2}
        name = type(activation).__name__
        self.activation_relu_or_gelu = {F.relu: 1, F.gelu: 2}.get(self.activation, kinds.get(name, 0))

    def forward(self, src: Any, src_mask: Any = None, src_key_padding_mask: Any = None, is_causal: bool = False) -> Any:
        """The sequence after this layer; the masks are as of :class:`MultiheadAttention`."""
        x = src
        if self.norm_first:
            x = x + self._sa_block(self.norm1(x), src_mask, src_key_padding_mask, is_causal)
            return x + self._ff_block(self.norm2(x))
        x = self.norm1(x + self._sa_block(x, src_mask, src_key_padding_mask, is_causal))
        return self.norm2(x + self._ff_block(x))

    def _sa_block(self, x: Any, attn_mask: Any, key_padding_mask: Any, is_causal: bool = False) -> Any:
        x, _ = self.self_attn(
            x, x, x, attn_mask=attn_mask, key_padding_mask=key_padding_mask, need_weights=False, is_causal=is_causal
        )
        return self.dropout1(x)

    def _ff_block(self, x: Any) -> Any:
        return self.dropout2(self._dt_network(x))


class TransformerEncoder(Module):
    """Layers of an encoder, one after another.

    Parameters
    ----------
    encoder_layer : TransformerEncoderLayer
        Copied ``num_layers`` times.
    num_layers : int
    norm : Module, optional
        What comes last.
    enable_nested_tensor, mask_check : bool
        In evaluation, where no gradient is asked for, what is padding gives zeros; if ``mask_check``, only of masks
        that have their padding at the end.

    Examples
    --------
    >>> import dualtape as dt
    >>> layer = dt.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    >>> dt.nn.TransformerEncoder(layer, 2)(dt.rand(3, 5, 8)).shape
    dualtape.Size([3, 5, 8])
    """

    __constants__ = ["norm"]

    def __init__(
        self,
        encoder_layer: Any,
        num_layers: int,
        norm: Module | None = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:
        super().__init__()
        self.layers, self.num_layers, self.norm = _clones(encoder_layer, num_layers), num_layers, norm
        self.enable_nested_tensor, self.mask_check = enable_nested_tensor, mask_check
        reason = _why_not_nested(encoder_layer)
        self.use_nested_tensor = enable_nested_tensor and not reason
        if enable_nested_tensor and reason:
            warn(f"enable_nested_tensor=True has no effect: {reason}")

    def forward(
        self, src: Any, mask: Any = None, src_key_padding_mask: Any = None, is_causal: bool | None = None
    ) -> Any:
        """The sequence after all layers; with ``is_causal=None`` the mask is compared with the causal one."""
        first = self.layers[0]
        causal = _detect_is_causal_mask(mask, is_causal, _get_seq_len(src, first.self_attn.batch_first))
        output = src
        for layer in self.layers:
            output = layer(output, src_mask=mask, is_causal=causal, src_key_padding_mask=src_key_padding_mask)
        if mask is None and self._dt_drops_padding(src, src_key_padding_mask):
            output = output.masked_fill(_is_padding(src_key_padding_mask).unsqueeze(-1), 0)
        return output if self.norm is None else self.norm(output)

    def _dt_drops_padding(self, src: Any, padding: Any) -> bool:
        """Return whether PyTorch would compute with ragged sequences, after which padding is zero."""
        first = self.layers[0]
        if not self.use_nested_tensor or first.training or src.dim() != 3 or padding is None:
            return False
        if is_grad_enabled() and (src.requires_grad or any(p.requires_grad for p in first.parameters())):
            return False
        there = ~_is_padding(padding)
        return not self.mask_check or bool((there[:, 1:] <= there[:, :-1]).all())


def _is_padding(mask: Any) -> Any:
    return mask if mask.dtype.kind == "b" else mask != 0


def _why_not_nested(layer: Any) -> str:
    if not isinstance(layer, TransformerEncoderLayer):
        return "encoder_layer was not TransformerEncoderLayer"
    for reason, holds in (
        ("norm_first was True", layer.norm_first),
        ("the attention is not batch_first", not layer.self_attn.batch_first),
        ("the attention has no bias", layer.self_attn.in_proj_bias is None),
        ("the activation is neither relu nor gelu", not layer.activation_relu_or_gelu),
        ("the two norms differ in eps", layer.norm1.eps != layer.norm2.eps),
        ("self_attn.num_heads is odd", layer.self_attn.num_heads % 2 == 1),
    ):
        if holds:
            return f"of encoder_layer, {reason}"
    return ""


# --- decoders -------------------------------------------------------------------------------------


class TransformerDecoderLayer(_Layer):
    """As :class:`TransformerEncoderLayer`, with an attention to an encoder's output in between.

    Examples
    --------
    >>> import dualtape as dt
    >>> layer = dt.nn.TransformerDecoderLayer(8, 2, 16)
    >>> layer(dt.rand(4, 3, 8), dt.rand(5, 3, 8)).shape
    dualtape.Size([4, 3, 8])
    """

    __constants__ = ["norm_first"]

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Any = F.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        factory = {"device": device, "dtype": dtype}
        self.self_attn = MultiheadAttention(d_model, nhead, dropout, bias, batch_first=batch_first, **factory)
        self.multihead_attn = MultiheadAttention(d_model, nhead, dropout, bias, batch_first=batch_first, **factory)
        self._dt_make_network(d_model, dim_feedforward, dropout, bias, factory)
        self.norm_first = norm_first
        self.norm1 = LayerNorm(d_model, layer_norm_eps, bias=bias, **factory)
        self.norm2 = LayerNorm(d_model, layer_norm_eps, bias=bias, **factory)
        self.norm3 = LayerNorm(d_model, layer_norm_eps, bias=bias, **factory)
        self.dropout1, self.dropout2, self.dropout3 = Dropout(dropout), Dropout(dropout), Dropout(dropout)
        self.activation = _activation(activation)

    def forward(
        self,
        tgt: Any,
        memory: Any,
        tgt_mask: Any = None,
        memory_mask: Any = None,
        tgt_key_padding_mask: Any = None,
        memory_key_padding_mask: Any = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Any:
        """The sequence ``tgt`` after this layer, which attends to ``memory``; masks as of
        :class:`MultiheadAttention`.
        """
        x = tgt
        own = (tgt_mask, tgt_key_padding_mask, tgt_is_causal)
        other = (memory, memory_mask, memory_key_padding_mask, memory_is_causal)
        if self.norm_first:
            x = x + self._sa_block(self.norm1(x), *own)
            x = x + self._mha_block(self.norm2(x), *other)
            return x + self._ff_block(self.norm3(x))
        x = self.norm1(x + self._sa_block(x, *own))
        x = self.norm2(x + self._mha_block(x, *other))
        return self.norm3(x + self._ff_block(x))

    def _sa_block(self, x: Any, attn_mask: Any, key_padding_mask: Any, is_causal: bool = False) -> Any:
        x, _ = self.self_attn(
            x, x, x, attn_mask=attn_mask, key_padding_mask=key_padding_mask, is_causal=is_causal, need_weights=False
        )
        return self.dropout1(x)

    def _mha_block(self, x: Any, mem: Any, attn_mask: Any, key_padding_mask: Any, is_causal: bool = False) -> Any:
        x, _ = self.multihead_attn(
            x, mem, mem, attn_mask=attn_mask, key_padding_mask=key_padding_mask, is_causal=is_causal, need_weights=False
        )
        return self.dropout2(x)

    def _ff_block(self, x: Any) -> Any:
        return self.dropout3(self._dt_network(x))


class TransformerDecoder(Module):
    """Layers of a decoder, one after another.

    Examples
    --------
    >>> import dualtape as dt
    >>> decoder = dt.nn.TransformerDecoder(dt.nn.TransformerDecoderLayer(8, 2, 16), 2)
    >>> decoder(dt.rand(4, 3, 8), dt.rand(5, 3, 8)).shape
    dualtape.Size([4, 3, 8])
    """

    __constants__ = ["norm"]

    def __init__(self, decoder_layer: Any, num_layers: int, norm: Module | None = None) -> None:
        super().__init__()
        self.layers, self.num_layers, self.norm = _clones(decoder_layer, num_layers), num_layers, norm

    def forward(
        self,
        tgt: Any,
        memory: Any,
        tgt_mask: Any = None,
        memory_mask: Any = None,
        tgt_key_padding_mask: Any = None,
        memory_key_padding_mask: Any = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Any:
        """The sequence ``tgt`` after all layers."""
        length = _get_seq_len(tgt, self.layers[0].self_attn.batch_first)
        causal = _detect_is_causal_mask(tgt_mask, tgt_is_causal, length)
        output = tgt
        for layer in self.layers:
            output = layer(
                output,
                memory,
                tgt_mask=tgt_mask,
                memory_mask=memory_mask,
                tgt_key_padding_mask=tgt_key_padding_mask,
                memory_key_padding_mask=memory_key_padding_mask,
                tgt_is_causal=causal,
                memory_is_causal=memory_is_causal,
            )
        return output if self.norm is None else self.norm(output)


class Transformer(Module):
    """An encoder of one sequence and a decoder of another, which attends to the encoder's output.

    Parameters
    ----------
    d_model, nhead, num_encoder_layers, num_decoder_layers, dim_feedforward : int
    dropout, activation, layer_norm_eps, batch_first, norm_first, bias
        As of :class:`TransformerEncoderLayer`.
    custom_encoder, custom_decoder : Module, optional
        In the place of those that are made.

    Examples
    --------
    >>> import dualtape as dt
    >>> net = dt.nn.Transformer(8, 2, 1, 1, 16, batch_first=True)
    >>> net(dt.rand(3, 5, 8), dt.rand(3, 4, 8)).shape
    dualtape.Size([3, 4, 8])
    """

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Any = F.relu,
        custom_encoder: Any = None,
        custom_decoder: Any = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        factory = {"device": device, "dtype": dtype}
        settings = (dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias)
        if custom_encoder is not None:
            self.encoder = custom_encoder
        else:
            layer: Module = TransformerEncoderLayer(d_model, nhead, *settings, **factory)
            norm = LayerNorm(d_model, layer_norm_eps, bias=bias, **factory)
            self.encoder = TransformerEncoder(layer, num_encoder_layers, norm)
        if custom_decoder is not None:
            self.decoder = custom_decoder
        else:
            layer = TransformerDecoderLayer(d_model, nhead, *settings, **factory)
            norm = LayerNorm(d_model, layer_norm_eps, bias=bias, **factory)
            self.decoder = TransformerDecoder(layer, num_decoder_layers, norm)
        self._reset_parameters()
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first

    def forward(
        self,
        src: Any,
        tgt: Any,
        src_mask: Any = None,
        tgt_mask: Any = None,
        memory_mask: Any = None,
        src_key_padding_mask: Any = None,
        tgt_key_padding_mask: Any = None,
        memory_key_padding_mask: Any = None,
        src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Any:
        """The sequence ``tgt`` after the decoder, which attends to ``src`` after the encoder."""
        if src.dim() == tgt.dim() == 3:
            batch = 0 if self.batch_first else 1
            if src.size(batch) != tgt.size(batch):
                raise RuntimeError(
                    f"the batch number of src and tgt must be equal, got {src.size(batch)} and {tgt.size(batch)}"
                )
        if src.size(-1) != self.d_model or tgt.size(-1) != self.d_model:
            raise RuntimeError(
                f"the feature number of src and tgt must be equal to d_model, got {src.size(-1)}, {tgt.size(-1)} and"
                f" {self.d_model}"
            )
        memory = self.encoder(src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal)
        return self.decoder(
            tgt,
            memory,
            tgt_mask=tgt_mask,
            memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask,
            tgt_is_causal=tgt_is_causal,
            memory_is_causal=memory_is_causal,
        )

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> Any:
        """The mask under which each query attends to keys up to its own position: minus infinity above the diagonal."""
        return _generate_square_subsequent_mask(sz, device, dtype)

    def _reset_parameters(self) -> None:
        for parameter in self.parameters():
            if parameter.dim() > 1:
                xavier_uniform_(parameter)
