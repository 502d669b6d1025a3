"""torch.nn.attention.bias: causal masks of rectangles, for attn_mask of scaled_dot_product_attention()."""
from ..._core import bool as boolean
from ..._core import ops

__all__ = ['causal_lower_right', 'causal_upper_left']


def _mask(sizes, diagonal):
    if len(sizes) != 2:
        raise AssertionError(f'[bias] a causal mask has two sizes, not {sizes}')
    return ops['tril'](ops['full'](sizes, True, boolean), diagonal)


def causal_upper_left(*size):
    """(queries, keys): query i sees keys 0 to i."""
    return _mask(size, 0)


def causal_lower_right(*size):
    """(queries, keys): the last query sees all keys, each one before one fewer."""
    return _mask(size, size[-1] - size[0])
