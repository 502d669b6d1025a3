"""Pooling and resampling over the dimensions after (N, C); one class serves any number of them."""
from .._errors import InvalidArgumentError
from . import functional as F
from ._check import check_one_of, check_positive, check_sizes, check_tensor
from .module import Module


class _Windows(Module):
    def __init__(self, kernel_size, stride, padding):
        super().__init__()
        where = type(self).__name__
        self.kernel_size = check_sizes(where, 'kernel_size', kernel_size, 1)
        self.stride = self.kernel_size if stride is None else check_sizes(where, 'stride', stride, 1)
        self.padding = check_sizes(where, 'padding', padding)


class MaxPool(_Windows):
    """The largest element of each window; `stride` defaults to the kernel's size.

    >>> tenon.nn.MaxPool(2)(tenon.ones((1, 3, 8, 8))).shape
    (1, 3, 4, 4)
    """

    def __init__(self, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False):
        super().__init__(kernel_size, stride, padding)
        self.dilation, self.ceil_mode = check_sizes('MaxPool', 'dilation', dilation, 1), ceil_mode

    def forward(self, x):
        return F.max_pool(x, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode)

    def extra_repr(self):
        return (f'kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, dilation={self.dilation}, '
                f'ceil_mode={self.ceil_mode}')


class AvgPool(_Windows):
    """The mean of each window; `stride` defaults to the kernel's size."""

    def __init__(self, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True):
        super().__init__(kernel_size, stride, padding)
        self.ceil_mode, self.count_include_pad = ceil_mode, count_include_pad

    def forward(self, x):
        return F.avg_pool(x, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad)

    def extra_repr(self):
        return f'kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}'


class AdaptiveAvgPool(Module):
    """The mean of each window; the windows are chosen to give `output_size` results."""

    def __init__(self, output_size):
        super().__init__()
        self.output_size = check_sizes(type(self).__name__, 'output_size', output_size, 1)

    def forward(self, x):
        return F.adaptive_avg_pool(x, self.output_size)

    def extra_repr(self):
        return f'output_size={self.output_size}'


class AdaptiveMaxPool(AdaptiveAvgPool):
    """The largest element of each window; the windows are chosen to give `output_size` results."""

    def forward(self, x):
        return F.adaptive_max_pool(x, self.output_size)


class Upsample(Module):
    """Resamples to a size, or by factors; mode is "nearest", "linear", "bilinear", "trilinear" or "bicubic".

    >>> tenon.nn.Upsample(scale_factor=2)(tenon.ones((1, 1, 3, 3))).shape
    (1, 1, 6, 6)
    """

    def __init__(self, size=None, scale_factor=None, mode='nearest', align_corners=None):
        super().__init__()
        if (size is None) == (scale_factor is None):
            raise InvalidArgumentError('[Upsample] give either size or scale_factor')
        self.size = size if size is None else check_sizes('Upsample', 'size', size, 1)
        self.scale_factor = tuple(scale_factor) if isinstance(scale_factor, (tuple, list)) else scale_factor
        if size is None:
            for factor in self.scale_factor if isinstance(self.scale_factor, tuple) else (self.scale_factor,):
                check_positive('Upsample', 'scale_factor', factor)
        self.mode = check_one_of('Upsample', 'mode', mode, ('nearest', 'linear', 'bilinear', 'trilinear', 'bicubic'))
        if mode == 'nearest' and align_corners is not None:
            raise InvalidArgumentError('[Upsample] align_corners is for the modes that interpolate, not "nearest"')
        self.align_corners = align_corners

    def forward(self, x):
        check_tensor('Upsample', x)
        return F.interpolate(x, self._size_of(x), self.mode, bool(self.align_corners))

    def _size_of(self, x):
        dims = x.ndim - 2
        if self.size is not None:
            return check_sizes('Upsample', 'size', self.size, 1, dims)
        factors = self.scale_factor if isinstance(self.scale_factor, tuple) else (self.scale_factor,) * dims
        if len(factors) != dims:
            raise InvalidArgumentError(f'[Upsample] {len(factors)} factors for {dims} dimensions')
        sizes = [n * factor for n, factor in zip(x.shape[2:], factors)]
        if not all(size < 1e18 for size in sizes):
            raise InvalidArgumentError(f'[Upsample] scale_factor is {self.scale_factor}, too large for a size')
        return [int(size) for size in sizes]

    def extra_repr(self):
        how = f'scale_factor={self.scale_factor}' if self.size is None else f'size={self.size}'
        return f'{how}, mode={self.mode!r}'


MaxPool1d = MaxPool2d = MaxPool3d = MaxPool
AvgPool1d = AvgPool2d = AvgPool3d = AvgPool
AdaptiveAvgPool1d = AdaptiveAvgPool2d = AdaptiveAvgPool3d = AdaptiveAvgPool
AdaptiveMaxPool1d = AdaptiveMaxPool2d = AdaptiveMaxPool3d = AdaptiveMaxPool
