"""Transformer, its encoder and decoder, and their layers (Vaswani et al. 2017)."""
import copy
import math
from typing import Any

import tenon

from ..._core import ops
from ...nn import Module
from ...nn.container import ModuleList
from .._common import defaults
from . import functional as F
from .attention import MultiheadAttention
from .init import xavier_uniform_
from .modules import Dropout, LayerNorm, Linear

__all__ = ['Transformer', 'TransformerDecoder', 'TransformerDecoderLayer', 'TransformerEncoder', 'TransformerEncoderLayer']


def _get_activation_fn(activation):
    if callable(activation):
        return activation
    if activation not in ('relu', 'gelu'):
        raise RuntimeError(f"[Transformer] activation must be 'relu', 'gelu' or a function, not {activation!r}")
    return F.relu if activation == 'relu' else F.gelu


def _get_clones(module, N):
    return ModuleList([copy.deepcopy(module) for _ in range(N)])


def _is_causal(mask, is_causal, size):
    """Whether a mask forbids exactly what comes later, if the caller does not say."""
    if is_causal is not None:
        return bool(is_causal)
    if mask is None or mask.shape != (size, size) or tenon._core._traced(mask):
        return False
    later = ops['triu'](ops['full']((size, size), True, tenon.bool, mask.device), 1)
    forbidden = mask if mask.dtype is tenon.bool else ops['equal'](mask, -math.inf)
    allowed = True if mask.dtype is tenon.bool else bool(ops['all'](ops['logical_or'](ops['equal'](mask, 0.0), forbidden)).item())
    return allowed and bool(ops['all'](ops['equal'](forbidden, later)).item())


def _add_and_norm(norm, x, branch):
    """norm(x + branch), and the sum: a single op if the norm is a plain one."""
    if type(norm) is not LayerNorm or norm._hooked or x.shape != branch.shape:
        total = x + branch
        return norm(total), total
    found = ops['add_layer_norm'](x, branch, norm.normalized_shape, norm.weight, norm.bias, norm.eps)
    return found.y, found.sum


class _Layer(Module):
    """What both layers share: self-attention, the feed-forward part, and norms before or after each part."""

    self_attn: Any
    multihead_attn: Any
    norm1: Any
    norm2: Any
    norm3: Any
    dropout1: Any
    dropout2: Any
    dropout3: Any

    _attentions = ('self_attn',)

    def __init__(self, d_model, nhead, dim_feedforward=2048, dropout=0.1, activation=F.relu, layer_norm_eps=1e-5, batch_first=False,
                 norm_first=False, bias=True, device=None, dtype=None):
        super().__init__()
        place: dict[str, Any] = {'device': device, 'dtype': dtype}
        for name in self._attentions:
            setattr(self, name, MultiheadAttention(d_model, nhead, dropout, bias, batch_first=batch_first, **place))
        self.linear1 = Linear(d_model, dim_feedforward, bias, **place)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias, **place)
        self.norm_first = norm_first
        parts = len(self._attentions) + 1
        for i in range(1, parts + 1):
            setattr(self, f'norm{i}', LayerNorm(d_model, layer_norm_eps, bias=bias, **place))
        for i in range(1, parts + 1):
            setattr(self, f'dropout{i}', Dropout(dropout))
        self.activation = _get_activation_fn(activation)

    def _with(self, x, parts):
        """x with each (norm, part) added to it."""
        if not self.norm_first:
            for norm, part in parts:
                x, _ = _add_and_norm(norm, x, part(x))
            return x
        normed, branch = parts[0][0](x), None
        for i, (_, part) in enumerate(parts):
            branch = part(normed)
            if i + 1 < len(parts):
                normed, x = _add_and_norm(parts[i + 1][0], x, branch)
        return x + branch

    def _sa_block(self, x, attn_mask, key_padding_mask, is_causal=False):
        """Attention of x to itself; subclasses may replace it and the other blocks."""
        found = self.self_attn(x, x, x, attn_mask=attn_mask, key_padding_mask=key_padding_mask, need_weights=False, is_causal=is_causal)
        return self.dropout1(found[0])

    def _mha_block(self, x, mem, attn_mask, key_padding_mask, is_causal=False):
        """Attention of x to mem."""
        found = self.multihead_attn(x, mem, mem, attn_mask=attn_mask, key_padding_mask=key_padding_mask, need_weights=False,
                                    is_causal=is_causal)
        return self.dropout2(found[0])

    def _ff_block(self, x):
        """The feed-forward part."""
        return getattr(self, f'dropout{len(self._attentions) + 1}')(self.linear2(self.dropout(self.activation(self.linear1(x)))))


class TransformerEncoderLayer(_Layer):
    """Self-attention of a sequence and a feed-forward part; src (S, B, d_model), (B, S, d_model) if batch_first, or (S, d_model)."""

    def forward(self, src, src_mask=None, src_key_padding_mask=None, is_causal=False):
        return self._with(src, [(self.norm1, lambda x: self._sa_block(x, src_mask, src_key_padding_mask, is_causal)),
                                (self.norm2, self._ff_block)])


class TransformerDecoderLayer(_Layer):
    """An encoder layer that also attends to memory, the encoder's result."""

    _attentions = ('self_attn', 'multihead_attn')

    def forward(self, tgt, memory, tgt_mask=None, memory_mask=None, tgt_key_padding_mask=None, memory_key_padding_mask=None,
                tgt_is_causal=False, memory_is_causal=False):
        return self._with(tgt, [
            (self.norm1, lambda x: self._sa_block(x, tgt_mask, tgt_key_padding_mask, tgt_is_causal)),
            (self.norm2, lambda x: self._mha_block(x, memory, memory_mask, memory_key_padding_mask, memory_is_causal)),
            (self.norm3, self._ff_block)])


class TransformerEncoder(Module):
    """num_layers copies of an encoder layer in sequence, and a norm if given."""

    def __init__(self, encoder_layer, num_layers, norm=None, enable_nested_tensor=True, mask_check=True):
        super().__init__()
        self.layers, self.num_layers, self.norm = _get_clones(encoder_layer, num_layers), num_layers, norm
        self.enable_nested_tensor, self.mask_check = enable_nested_tensor, mask_check

    def forward(self, src, mask=None, src_key_padding_mask=None, is_causal=None):
        batch_first = self.layers[0].self_attn.batch_first if len(self.layers) else False
        causal = _is_causal(mask, is_causal, src.shape[1 if batch_first and src.ndim == 3 else 0])
        for layer in self.layers:
            src = layer(src, src_mask=mask, src_key_padding_mask=src_key_padding_mask, is_causal=causal)
        return src if self.norm is None else self.norm(src)


class TransformerDecoder(Module):
    """num_layers copies of a decoder layer in sequence, and a norm if given."""

    def __init__(self, decoder_layer, num_layers, norm=None):
        super().__init__()
        self.layers, self.num_layers, self.norm = _get_clones(decoder_layer, num_layers), num_layers, norm

    def forward(self, tgt, memory, tgt_mask=None, memory_mask=None, tgt_key_padding_mask=None, memory_key_padding_mask=None,
                tgt_is_causal=None, memory_is_causal=False):
        batch_first = self.layers[0].self_attn.batch_first if len(self.layers) else False
        causal = _is_causal(tgt_mask, tgt_is_causal, tgt.shape[1 if batch_first and tgt.ndim == 3 else 0])
        for layer in self.layers:
            tgt = layer(tgt, memory, tgt_mask=tgt_mask, memory_mask=memory_mask, tgt_key_padding_mask=tgt_key_padding_mask,
                        memory_key_padding_mask=memory_key_padding_mask, tgt_is_causal=causal, memory_is_causal=memory_is_causal)
        return tgt if self.norm is None else self.norm(tgt)


class Transformer(Module):
    """An encoder for src, and a decoder for tgt that attends to the encoder's result."""

    def __init__(self, d_model=512, nhead=8, num_encoder_layers=6, num_decoder_layers=6, dim_feedforward=2048, dropout=0.1,
                 activation=F.relu, custom_encoder=None, custom_decoder=None, layer_norm_eps=1e-5, batch_first=False, norm_first=False,
                 bias=True, device=None, dtype=None):
        super().__init__()
        place: dict[str, Any] = {'device': device, 'dtype': dtype}
        options = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias)

        def norm():
            return LayerNorm(d_model, layer_norm_eps, bias=bias, **place)
        self.encoder = custom_encoder if custom_encoder is not None else TransformerEncoder(
            TransformerEncoderLayer(*options, **place), num_encoder_layers, norm())
        self.decoder = custom_decoder if custom_decoder is not None else TransformerDecoder(
            TransformerDecoderLayer(*options, **place), num_decoder_layers, norm())
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first
        self._reset_parameters()

    def _reset_parameters(self):
        for parameter in self.parameters():
            if parameter.ndim > 1:
                xavier_uniform_(parameter)

    def forward(self, src, tgt, src_mask=None, tgt_mask=None, memory_mask=None, src_key_padding_mask=None, tgt_key_padding_mask=None,
                memory_key_padding_mask=None, src_is_causal=None, tgt_is_causal=None, memory_is_causal=False):
        dim = 0 if self.batch_first else 1
        if src.ndim == tgt.ndim == 3 and src.shape[dim] != tgt.shape[dim]:
            raise RuntimeError(f'[Transformer] batches of {src.shape[dim]} and {tgt.shape[dim]}, must be equal')
        if src.shape[-1] != self.d_model or tgt.shape[-1] != self.d_model:
            raise RuntimeError(f'[Transformer] the last dimensions are {src.shape[-1]} and {tgt.shape[-1]}, must be d_model {self.d_model}')
        memory = self.encoder(src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal)
        return self.decoder(tgt, memory, tgt_mask=tgt_mask, memory_mask=memory_mask, tgt_key_padding_mask=tgt_key_padding_mask,
                            memory_key_padding_mask=memory_key_padding_mask, tgt_is_causal=tgt_is_causal,
                            memory_is_causal=memory_is_causal)

    @staticmethod
    def generate_square_subsequent_mask(sz, device=None, dtype=None):
        """0 where a position may look, -inf for later ones: (sz, sz)."""
        return ops['triu'](ops['full']((sz, sz), -math.inf, dtype or defaults.dtype, device), 1)
