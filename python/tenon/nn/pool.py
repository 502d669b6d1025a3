"""Pooling and resampling over the dimensions behind (N, C); one class serves every number of them."""
from . import functional as F
from ._check import check_tensor
from .module import Module


class MaxPool(Module):
    """The largest element of each window; `stride` is the kernel's size where it is None.

    >>> tenon.nn.MaxPool(2)(tenon.ones((1, 3, 8, 8))).shape
    (1, 3, 4, 4)
    """

    def __init__(self, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False):
        super().__init__()
        self.kernel_size, self.stride = kernel_size, kernel_size if stride is None else stride
        self.padding, self.dilation, self.ceil_mode = padding, dilation, ceil_mode

    def forward(self, x):
        return F.max_pool(x, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode)

    def extra_repr(self):
        return (f'kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, dilation={self.dilation}, '
                f'ceil_mode={self.ceil_mode}')


class AvgPool(Module):
    """The mean of each window; `stride` is the kernel's size where it is None."""

    def __init__(self, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True):
        super().__init__()
        self.kernel_size, self.stride = kernel_size, kernel_size if stride is None else stride
        self.padding, self.ceil_mode, self.count_include_pad = padding, ceil_mode, count_include_pad

    def forward(self, x):
        return F.avg_pool(x, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad)

    def extra_repr(self):
        return f'kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}'


class AdaptiveAvgPool(Module):
    """The means of as many windows as `output_size` says."""

    def __init__(self, output_size):
        super().__init__()
        self.output_size = output_size

    def forward(self, x):
        return F.adaptive_avg_pool(x, self.output_size)

    def extra_repr(self):
        return f'output_size={self.output_size}'


class AdaptiveMaxPool(AdaptiveAvgPool):
    """The largest elements of as many windows as `output_size` says."""

    def forward(self, x):
        return F.adaptive_max_pool(x, self.output_size)


class Upsample(Module):
    """Resamples by whole factors; mode is "nearest" or "linear".

    >>> tenon.nn.Upsample(2)(tenon.ones((1, 1, 3, 3))).shape
    (1, 1, 6, 6)
    """

    def __init__(self, scale_factor, mode='nearest', align_corners=False):
        super().__init__()
        self.scale_factor, self.mode, self.align_corners = scale_factor, mode, align_corners

    def forward(self, x):
        check_tensor('Upsample', x)
        dims = x.ndim - 2
        factors = self.scale_factor if isinstance(self.scale_factor, (tuple, list)) else (self.scale_factor,) * dims
        if len(factors) != dims:
            raise ValueError(f'[Upsample] {len(factors)} factors for x of shape {x.shape}')
        try:
            size = [int(n * factor) for n, factor in zip(x.shape[2:], factors)]
        except OverflowError as error:
            raise ValueError(f'[Upsample] scale_factor {self.scale_factor} makes no size: {error}') from None
        return F.interpolate(x, size, self.mode, self.align_corners)

    def extra_repr(self):
        return f'scale_factor={self.scale_factor}, mode={self.mode!r}'


MaxPool1d = MaxPool2d = MaxPool3d = MaxPool
AvgPool1d = AvgPool2d = AvgPool3d = AvgPool
AdaptiveAvgPool1d = AdaptiveAvgPool2d = AdaptiveAvgPool3d = AdaptiveAvgPool
AdaptiveMaxPool1d = AdaptiveMaxPool2d = AdaptiveMaxPool3d = AdaptiveMaxPool
