"""MultiheadAttention, and torch.nn.attention's choice of kernels."""
import contextlib
import enum

from ..._core import ops
from ..._errors import InvalidArgumentError
from ...nn import Module, Parameter
from .._common import absent, defaults
from . import functional as F
from .functional.multihead import UnevenHeads
from .init import constant_, xavier_normal_, xavier_uniform_
from .modules.linear import NonDynamicallyQuantizableLinear

__all__ = ['MultiheadAttention', 'SDPBackend', 'sdpa_kernel']
__path__ = []  # `import torch.nn.attention.flex_attention`: _places.py


class SDPBackend(enum.Enum):
    """The ways to compute scaled_dot_product_attention(); here the backend chooses its own."""

    ERROR, MATH, FLASH_ATTENTION, EFFICIENT_ATTENTION, CUDNN_ATTENTION, OVERRIDEABLE = -1, 0, 1, 2, 3, 4


@contextlib.contextmanager
def sdpa_kernel(backends, set_priority=False):
    """A scope without effect: the backend chooses the kernel, and all kernels agree."""
    yield


class MultiheadAttention(Module):
    """Attention over several parts of embed_dim at a time (Vaswani et al. 2017, section 3.2.2).

    query (L, B, embed_dim), key (S, B, kdim), value (S, B, vdim), (B, L, ...) if batch_first, or without a batch; returns the result
    and, if need_weights, the weights, (B, L, S) or for each head (B, num_heads, L, S). For masks see
    functional.multi_head_attention_forward.
    """

    def __init__(self, embed_dim, num_heads, dropout=0.0, bias=True, add_bias_kv=False, add_zero_attn=False, kdim=None, vdim=None,
                 batch_first=False, device=None, dtype=None):
        super().__init__()
        if embed_dim <= 0 or num_heads <= 0:
            raise InvalidArgumentError(f'[MultiheadAttention] embed_dim {embed_dim} and num_heads {num_heads} must be above 0')
        if embed_dim % num_heads:
            raise UnevenHeads(f'[MultiheadAttention] embed_dim {embed_dim} must be a multiple of num_heads {num_heads}')
        self.embed_dim, self.num_heads, self.head_dim = embed_dim, num_heads, embed_dim // num_heads
        self.kdim, self.vdim = embed_dim if kdim is None else kdim, embed_dim if vdim is None else vdim
        self.dropout, self.batch_first, self.add_zero_attn = dropout, batch_first, add_zero_attn
        self._qkv_same_embed_dim = self.kdim == self.vdim == embed_dim

        def parameter(there, *shape):
            return Parameter(ops['full'](shape, 0.0, *defaults.settle(dtype, device))) if there else None
        same = self._qkv_same_embed_dim
        self.in_proj_weight = parameter(same, 3 * embed_dim, embed_dim)
        self.q_proj_weight = parameter(not same, embed_dim, embed_dim)
        self.k_proj_weight = parameter(not same, embed_dim, self.kdim)
        self.v_proj_weight = parameter(not same, embed_dim, self.vdim)
        self.in_proj_bias = parameter(bias, 3 * embed_dim)
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias=bias, device=device, dtype=dtype)
        self.bias_k, self.bias_v = parameter(add_bias_kv, 1, 1, embed_dim), parameter(add_bias_kv, 1, 1, embed_dim)
        self._reset_parameters()

    def _reset_parameters(self):
        for weight in (self.in_proj_weight, self.q_proj_weight, self.k_proj_weight, self.v_proj_weight):
            if weight is not None:
                xavier_uniform_(weight)
        if self.in_proj_bias is not None:
            constant_(self.out_proj.bias, 0.0)
        for bias in (self.bias_k, self.bias_v):
            if bias is not None:
                xavier_normal_(bias)

    def forward(self, query, key, value, key_padding_mask=None, need_weights=True, attn_mask=None, average_attn_weights=True,
                is_causal=False):
        swap = self.batch_first and query.ndim == 3
        if swap:
            first = ops['transpose'](query, 0, 1)
            second = first if key is query else ops['transpose'](key, 0, 1)
            third = second if value is key else ops['transpose'](value, 0, 1)
            query, key, value = first, second, third
        found, weights = F.multi_head_attention_forward(
            query, key, value, self.embed_dim, self.num_heads, self.in_proj_weight, self.in_proj_bias, self.bias_k, self.bias_v,
            self.add_zero_attn, self.dropout, self.out_proj.weight, self.out_proj.bias, self.training, key_padding_mask, need_weights,
            attn_mask, not self._qkv_same_embed_dim, self.q_proj_weight, self.k_proj_weight, self.v_proj_weight,
            average_attn_weights=average_attn_weights, is_causal=is_causal)
        return ops['transpose'](found, 0, 1) if swap else found, weights


__getattr__ = absent(__name__, {})
