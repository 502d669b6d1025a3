"""einops, for scripts that name it in their import lines: tenon.torch.einops for einops, tenon.torch.einops.layers.torch for its layers.

The functions are those of the package einops, which has to be installed. It knows tensors of tenon once tenon.torch is imported, so that its
own functions may stay as they are.

>>> import tenon.torch as torch
>>> from tenon.torch.einops import rearrange
>>> rearrange(torch.arange(6), '(a b) -> b a', a=2).tolist()
[[0, 3], [1, 4], [2, 5]]
"""
from einops import EinopsError, asnumpy, einsum, pack, parse_shape, rearrange, reduce, repeat, unpack

__all__ = ['EinopsError', 'asnumpy', 'einsum', 'pack', 'parse_shape', 'rearrange', 'reduce', 'repeat', 'unpack']
