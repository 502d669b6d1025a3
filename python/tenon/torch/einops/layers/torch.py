"""einops.layers.torch: modules that rearrange, reduce and mix, as layers of a network.

>>> import tenon.torch as torch
>>> from tenon.torch.einops.layers.torch import Rearrange
>>> torch.nn.Sequential(Rearrange('b c h w -> b (c h w)'), torch.nn.Linear(12, 2))(torch.ones(5, 3, 2, 2)).shape
torch.Size([5, 2])
"""
from einops.layers import RearrangeMixin, ReduceMixin
from einops.layers._einmix import _EinmixMixin

import tenon.torch as torch

__all__ = ['EinMix', 'Rearrange', 'Reduce']


class Rearrange(RearrangeMixin, torch.nn.Module):
    """rearrange() with this pattern."""

    def forward(self, input):
        return self._apply_recipe(input)


class Reduce(ReduceMixin, torch.nn.Module):
    """reduce() with this pattern and reduction."""

    def forward(self, input):
        return self._apply_recipe(input)


class EinMix(_EinmixMixin, torch.nn.Module):
    """A linear layer whose pattern says which dimensions it mixes."""

    def _create_parameters(self, weight_shape, weight_bound, bias_shape, bias_bound):
        self.weight = torch.nn.Parameter(torch.zeros(weight_shape).uniform_(-weight_bound, weight_bound))
        self.bias = None if bias_shape is None else torch.nn.Parameter(torch.zeros(bias_shape).uniform_(-bias_bound, bias_bound))

    def _create_rearrange_layers(self, pre_reshape_pattern, pre_reshape_lengths, post_reshape_pattern, post_reshape_lengths):
        self.pre_rearrange = None if pre_reshape_pattern is None else Rearrange(pre_reshape_pattern, **dict(pre_reshape_lengths or {}))
        self.post_rearrange = None if post_reshape_pattern is None else Rearrange(post_reshape_pattern, **dict(post_reshape_lengths or {}))

    def forward(self, input):
        """The mixed input."""
        x = input if self.pre_rearrange is None else self.pre_rearrange(input)
        x = torch.einsum(self.einsum_pattern, x, self.weight)
        x = x if self.bias is None else x + self.bias
        return x if self.post_rearrange is None else self.post_rearrange(x)
