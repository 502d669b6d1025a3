"""Attention."""
from ...._core import ops
from ...._errors import InvalidArgumentError
from ....nn import functional as _functional
from ..._common import check
from ...shape import broadcast_shapes, repeat_interleave


def scaled_dot_product_attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
    """softmax(scale · query · keyᵀ + attn_mask) · value; enable_gqa: one key and value for each group of query heads."""
    for x in (query, key, value):
        check(x)
    if min(query.ndim, key.ndim, value.ndim) < 2:
        raise InvalidArgumentError(f'[scaled_dot_product_attention] ranks {query.ndim}, {key.ndim} and {value.ndim}')
    if attn_mask is not None and is_causal:
        raise InvalidArgumentError('[scaled_dot_product_attention] attn_mask and is_causal exclude each other')
    if enable_gqa:
        key, value = (repeat_interleave(x, query.shape[-3] // x.shape[-3], -3) for x in (key, value))
    lead = broadcast_shapes(*(x.shape[:-2] for x in (query, key, value)))
    query, key, value = (ops['expand'](x, (*lead, *x.shape[-2:])) for x in (query, key, value))
    return _functional.scaled_dot_product_attention(query, key, value, attn_mask, dropout_p, is_causal, scale)
