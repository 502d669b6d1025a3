"""Multi-head attention, with its projections and masks."""
import math

from ...._core import ops
from ...._errors import DtypeError, InvalidArgumentError
from ..._common import cast, check, full
from .attention import scaled_dot_product_attention
from .dropout import dropout
from .spatial import pad


class UnevenHeads(InvalidArgumentError, AssertionError):
    """Features that cannot be shared among the heads equally; PyTorch asserts that they can."""

_linear, _reshape, _transpose = ops['linear'], ops['reshape'], ops['transpose']


def additive_mask(mask, dtype, name='attn_mask'):
    """A mask in the form that is added to scores; in a bool mask True forbids."""
    if mask is None or mask.dtype.is_floating_point:
        return mask if mask is None else cast(mask, dtype)
    if mask.dtype.name != 'bool':
        raise DtypeError(f'[multi_head_attention] {name} must be bool or floating, not {mask.dtype}')
    return ops['masked_fill'](full(mask.shape, 0.0, mask, dtype), mask, -math.inf)


def _projected(query, key, value, weight, bias):
    """The three projections: one product if all come from one tensor, two if keys and values do."""
    width = query.shape[-1]
    if key is value:
        if query is key:
            return _split(_linear(query, weight, bias), 3, width)
        first, rest = (ops['slice'](weight, 0, 0, width), ops['slice'](weight, 0, width, 3 * width))
        b0, b1 = (None, None) if bias is None else (ops['slice'](bias, 0, 0, width), ops['slice'](bias, 0, width, 3 * width))
        return [_linear(query, first, b0), *_split(_linear(key, rest, b1), 2, width)]
    return _separately((query, key, value), [ops['slice'](weight, 0, i * width, (i + 1) * width) for i in range(3)], bias, width)


def _split(x, count, width):
    return [ops['slice'](x, -1, i * width, (i + 1) * width) for i in range(count)]


def _separately(xs, weights, bias, width):
    biases = [None] * 3 if bias is None else [ops['slice'](bias, 0, i * width, (i + 1) * width) for i in range(3)]
    return [_linear(*each) for each in zip(xs, weights, biases)]


def _merged(attn_mask, padding, batch, heads):
    """Both masks as one that is added to scores (B, heads, L, S)."""
    if attn_mask is not None and attn_mask.ndim == 3:
        attn_mask = _reshape(attn_mask, (batch, heads, *attn_mask.shape[1:]))
    if padding is not None:
        padding = _reshape(padding, (batch, 1, 1, padding.shape[-1]))
    if attn_mask is None or padding is None:
        return padding if attn_mask is None else attn_mask
    return attn_mask + padding


def _attend_packed(x, weight, bias, heads, attn_mask, key_padding_mask, is_causal, out_weight, out_bias):
    """Attention of x (L, B, E) to itself: query, key and value stay in the tensor that one product produces."""
    length, batch, width = x.shape
    steps_first = x.is_contiguous()  # otherwise a view of a (B, L, E)
    qkv = _linear(x if steps_first else _transpose(x, 0, 1), weight, bias)
    qkv = _reshape(qkv, (*qkv.shape[:2], 3, heads, width // heads))
    mask = _merged(additive_mask(attn_mask, qkv.dtype), additive_mask(key_padding_mask, qkv.dtype, 'key_padding_mask'), batch, heads)
    y = ops['attention_packed'](_transpose(qkv, 0, 1) if steps_first else qkv, mask, is_causal).y
    if steps_first:
        return _linear(_reshape(_transpose(y, 0, 1), (length, batch, width)), out_weight, out_bias)
    return _transpose(_linear(_reshape(y, (batch, length, width)), out_weight, out_bias), 0, 1)


def _check_masks(attn_mask, key_padding_mask, length, source, batch, heads):
    """batch is () if there is none."""
    name = '[multi_head_attention]'
    if attn_mask is not None:
        if attn_mask.ndim not in (2, 3):
            raise InvalidArgumentError(f'{name} attn_mask has rank {attn_mask.ndim}, must be 2 or 3')
        shape = (length, source) if attn_mask.ndim == 2 else (math.prod(batch) * heads, length, source)
        if tuple(attn_mask.shape) != shape:
            raise RuntimeError(f'{name} attn_mask has shape {attn_mask.shape}, must be {shape}')
    if key_padding_mask is not None and tuple(key_padding_mask.shape) != (*batch, source):
        raise InvalidArgumentError(f'{name} key_padding_mask has shape {key_padding_mask.shape}, must be {(*batch, source)}')


def _check(query, key, value, embed_dim, heads, key_padding_mask, attn_mask, is_causal):
    name = '[multi_head_attention]'
    if query.ndim not in (2, 3) or not query.ndim == key.ndim == value.ndim:
        raise InvalidArgumentError(f'{name} query, key and value have ranks {query.ndim}, {key.ndim} and {value.ndim}, must be all 3 or all 2')
    if is_causal and attn_mask is None:
        raise RuntimeError(f'{name} is_causal describes attn_mask: give attn_mask, too')
    if query.shape[-1] != embed_dim:
        raise InvalidArgumentError(f'{name} the last dimension of query is {query.shape[-1]}, must be {embed_dim}')
    if embed_dim % heads:
        raise UnevenHeads(f'{name} embed_dim {embed_dim} must be a multiple of num_heads {heads}')
    if key.shape[:-1] != value.shape[:-1]:
        raise InvalidArgumentError(f'{name} key and value have shapes {key.shape} and {value.shape}: lengths and batches must agree')
    batch = tuple(query.shape[1:-1])
    if tuple(key.shape[1:-1]) != batch:
        raise InvalidArgumentError(f'{name} batches of {query.shape[1]} and {key.shape[1]} in query and key, must be equal')
    _check_masks(attn_mask, key_padding_mask, query.shape[0], key.shape[0], batch, heads)


def multi_head_attention_forward(query, key, value, embed_dim_to_check, num_heads, in_proj_weight, in_proj_bias, bias_k, bias_v,
                                 add_zero_attn, dropout_p, out_proj_weight, out_proj_bias, training=True, key_padding_mask=None,
                                 need_weights=True, attn_mask=None, use_separate_proj_weight=False, q_proj_weight=None,
                                 k_proj_weight=None, v_proj_weight=None, static_k=None, static_v=None, average_attn_weights=True,
                                 is_causal=False):
    """(attention of query (L, B, E) over key and value (S, B, ...), projected and combined; its weights or None).

    Without a batch (L, E). attn_mask (L, S) or (B · num_heads, L, S), key_padding_mask (B, S): bool, True forbids, or added to scores.
    Vaswani et al. 2017, section 3.2.2.
    """
    for x in (query, key, value):
        check(x)
    _check(query, key, value, embed_dim_to_check, num_heads, key_padding_mask, attn_mask, is_causal)
    single = query.ndim == 2
    if single:
        same_key, same_value = key is query, value is key
        query = ops['unsqueeze'](query, 1)
        key = query if same_key else ops['unsqueeze'](key, 1)
        value = key if same_value else ops['unsqueeze'](value, 1)
        key_padding_mask = None if key_padding_mask is None else ops['unsqueeze'](key_padding_mask, 0)
    (length, batch, width), heads = query.shape, num_heads
    dropout_p = dropout_p if training else 0.0
    is_causal = is_causal and key_padding_mask is None and bias_k is None and not add_zero_attn and not need_weights
    attn_mask = None if is_causal else attn_mask
    if (query is key is value and bias_k is bias_v is static_k is static_v is None and dropout_p == 0
            and not (need_weights or add_zero_attn or use_separate_proj_weight)):
        found = _attend_packed(query, in_proj_weight, in_proj_bias, heads, attn_mask, key_padding_mask, is_causal, out_proj_weight, out_proj_bias)
        return ops['squeeze'](found, 1) if single else found, None
    if use_separate_proj_weight:
        q, k, v = _separately((query, key, value), (q_proj_weight, k_proj_weight, v_proj_weight), in_proj_bias, width)
    else:
        q, k, v = _projected(query, key, value, in_proj_weight, in_proj_bias)
    attn_mask = additive_mask(attn_mask, q.dtype)
    padding = additive_mask(key_padding_mask, q.dtype, 'key_padding_mask')
    grown = 0  # keys and values appended to the others, which no mask forbids
    if bias_k is not None and bias_v is not None:
        k, v = (ops['concat']([x, ops['expand'](bias, (1, batch, width))], 0) for x, bias in ((k, bias_k), (v, bias_v)))
        grown += 1

    def by_head(x):
        return _transpose(_reshape(x, (x.shape[0], batch * heads, width // heads)), 0, 1)
    q = by_head(q)
    k, v = (by_head(x) if static is None else static for x, static in ((k, static_k), (v, static_v)))
    if add_zero_attn:
        k, v = (ops['concat']([x, full((batch * heads, 1, width // heads), 0.0, x)], 1) for x in (k, v))
        grown += 1
    if grown:
        attn_mask, padding = (None if x is None else pad(x, (0, grown)) for x in (attn_mask, padding))
    q, k, v = (_reshape(x, (batch, heads, *x.shape[1:])) for x in (q, k, v))
    mask = _merged(attn_mask, padding, batch, heads)
    weights = None
    if need_weights:
        scores = ops['matmul'](q * (1 / math.sqrt(width // heads)), _transpose(k, -2, -1))
        weights = dropout(ops['softmax'](scores if mask is None else scores + mask, -1), dropout_p)
        found = ops['matmul'](weights, v)
    else:
        found = scaled_dot_product_attention(q, k, v, mask, dropout_p, is_causal)
    found = _linear(_reshape(ops['permute'](found, (2, 0, 1, 3)), (length, batch, width)), out_proj_weight, out_proj_bias)
    if weights is not None and average_attn_weights:
        weights = ops['mean'](weights, 1)
    if single:
        found, weights = ops['squeeze'](found, 1), None if weights is None else ops['squeeze'](weights, 0)
    return found, weights

