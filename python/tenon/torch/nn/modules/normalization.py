"""Normalisation of each example on its own."""
from functools import partial

import tenon

from .... import nn as _nn
from ...._errors import InvalidArgumentError
from .. import functional as F
from ._make import function_module, place

_module = partial(function_module, __name__, show='=size alpha beta k')


def _reset(module):
    with tenon.no_grad():
        for name, value in (('weight', 1.0), ('bias', 0.0)):
            if getattr(module, name, None) is not None:
                getattr(module, name).fill_(value)


def _cross_map(input, size, alpha=1e-4, beta=0.75, k=1):
    """x / (k + alpha · mean of the squares of `size` neighbouring channels)^beta; x (N, C, H, W).

    Unlike this, PyTorch's own keeps the first channel in the window for ever, and has the gradient of another window.
    """
    if input.ndim != 4:
        raise InvalidArgumentError(f'[CrossMapLRN2d] input has rank {input.ndim}, must be 4')
    return F.local_response_norm(input, size, alpha, beta, k)


LocalResponseNorm = _module('LocalResponseNorm', F.local_response_norm)
CrossMapLRN2d = _module('CrossMapLRN2d', _cross_map)
CrossMapLRN2d.__doc__ = _cross_map.__doc__


class LayerNorm(_nn.LayerNorm):
    """Zero mean and unit variance over the last dimensions, those of normalized_shape. weight and bias have that shape."""

    def __init__(self, normalized_shape, eps=1e-5, elementwise_affine=True, bias=True, device=None, dtype=None):
        super().__init__(normalized_shape, eps, elementwise_affine, bias)
        place(self, device, dtype)

    reset_parameters = _reset

    def extra_repr(self):
        return f'{super().extra_repr()}, bias={self.bias is not None}'


class RMSNorm(_nn.RMSNorm):
    """Divides by the root of the mean square over the last dimensions. weight has the shape normalized_shape."""

    def __init__(self, normalized_shape, eps=None, elementwise_affine=True, device=None, dtype=None):
        super().__init__(normalized_shape, eps, elementwise_affine)
        place(self, device, dtype)

    reset_parameters = _reset


class GroupNorm(_nn.GroupNorm):
    """Zero mean and unit variance for groups of channels of (N, num_channels, …). weight, bias (num_channels,)."""

    def __init__(self, num_groups, num_channels, eps=1e-5, affine=True, device=None, dtype=None, *, bias=True):
        super().__init__(num_groups, num_channels, eps, affine)
        if not bias:
            self.bias = None
        place(self, device, dtype)

    reset_parameters = _reset

    def extra_repr(self):
        return f'{super().extra_repr()}, bias={self.bias is not None}'
