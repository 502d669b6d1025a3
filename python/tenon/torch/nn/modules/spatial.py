"""Resampling, moving pixels to channels, windows as columns, and changes of shape."""
from functools import partial

from ...._core import ops
from ....nn.module import Module
from .. import functional as F
from ._make import function_module, shown

_module = partial(function_module, __name__)

PixelShuffle = _module('PixelShuffle', F.pixel_shuffle, 'upscale_factor')
PixelUnshuffle = _module('PixelUnshuffle', F.pixel_unshuffle, 'downscale_factor')
ChannelShuffle = _module('ChannelShuffle', F.channel_shuffle, 'groups')
Fold = _module('Fold', F.fold, 'output_size kernel_size dilation padding stride')
Unfold = _module('Unfold', F.unfold, 'kernel_size dilation padding stride')


class Upsample(Module):
    """(N, C, …) resampled to another size, or to its size times scale_factor. See nn.functional.interpolate."""

    def __init__(self, size=None, scale_factor=None, mode='nearest', align_corners=None, recompute_scale_factor=None):
        super().__init__()
        self.size, self.mode, self.align_corners, self.recompute_scale_factor = size, mode, align_corners, recompute_scale_factor
        several = isinstance(scale_factor, (tuple, list))
        self.scale_factor = tuple(map(float, scale_factor)) if several else None if scale_factor is None else float(scale_factor)

    def forward(self, input):
        return F.interpolate(input, self.size, self.scale_factor, self.mode, self.align_corners, self.recompute_scale_factor)

    def extra_repr(self):
        return shown(self, ('size!' if self.scale_factor is None else 'scale_factor!') + ' mode!')


class UpsamplingNearest2d(Upsample):
    """Upsample by the nearest element."""

    def __init__(self, size=None, scale_factor=None):
        super().__init__(size, scale_factor, 'nearest')


class UpsamplingBilinear2d(Upsample):
    """Upsample with mode bilinear and align_corners."""

    def __init__(self, size=None, scale_factor=None):
        super().__init__(size, scale_factor, 'bilinear', True)


class Flatten(Module):
    """Joins dimensions start_dim to end_dim into one: (N, C, H, W) to (N, C·H·W)."""

    def __init__(self, start_dim=1, end_dim=-1):
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, input):
        return ops['flatten'](input, self.start_dim, self.end_dim)

    def extra_repr(self):
        return shown(self, 'start_dim end_dim')


class Unflatten(Module):
    """Splits dimension `dim` into sizes, one of which may be -1."""

    def __init__(self, dim, unflattened_size):
        super().__init__()
        if not isinstance(dim, int):
            raise TypeError(f'[Unflatten] dim must be an int, not {type(dim).__name__}: dimensions have no names')
        if not isinstance(unflattened_size, (tuple, list)) or not all(isinstance(n, int) for n in unflattened_size):
            raise TypeError(f'[Unflatten] unflattened_size must be a tuple of ints, not {unflattened_size!r}')
        self.dim, self.unflattened_size = dim, tuple(unflattened_size)

    def forward(self, input):
        from ...shape import unflatten
        return unflatten(input, self.dim, self.unflattened_size)

    def extra_repr(self):
        return shown(self, 'dim unflattened_size')
