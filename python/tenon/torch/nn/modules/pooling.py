"""Pooling and its inverse."""
from functools import partial

from ...._errors import InvalidArgumentError
from ....nn.module import Module
from .. import functional as F
from ._make import family, function_module, shown
from .utils import _single, _tuple_of

_module = partial(function_module, __name__)


def _stride(module):
    if module.stride is None:
        module.stride = module.kernel_size


def _singles(module):
    _stride(module)
    module.kernel_size, module.stride, module.padding = map(_single, (module.kernel_size, module.stride, module.padding))


_max_pool = partial(_module, show='kernel_size stride padding dilation ceil_mode', settle=_stride,
                    order='kernel_size stride padding dilation return_indices ceil_mode')
MaxPool1d = _max_pool('MaxPool1d', F.max_pool1d)
MaxPool2d = _max_pool('MaxPool2d', F.max_pool2d)
MaxPool3d = _max_pool('MaxPool3d', F.max_pool3d)

_avg_pool = partial(_module, show='kernel_size stride padding')
AvgPool1d = _avg_pool('AvgPool1d', F.avg_pool1d, settle=_singles)
AvgPool2d = _avg_pool('AvgPool2d', F.avg_pool2d, settle=_stride)
AvgPool3d = _avg_pool('AvgPool3d', F.avg_pool3d, settle=_stride)

_adaptive = partial(_module, show='output_size')
AdaptiveAvgPool1d = _adaptive('AdaptiveAvgPool1d', F.adaptive_avg_pool1d)
AdaptiveAvgPool2d = _adaptive('AdaptiveAvgPool2d', F.adaptive_avg_pool2d)
AdaptiveAvgPool3d = _adaptive('AdaptiveAvgPool3d', F.adaptive_avg_pool3d)
AdaptiveMaxPool1d = _adaptive('AdaptiveMaxPool1d', F.adaptive_max_pool1d)
AdaptiveMaxPool2d = _adaptive('AdaptiveMaxPool2d', F.adaptive_max_pool2d)
AdaptiveMaxPool3d = _adaptive('AdaptiveMaxPool3d', F.adaptive_max_pool3d)

_lp_pool = partial(_module, show='norm_type kernel_size stride ceil_mode')
LPPool1d = _lp_pool('LPPool1d', F.lp_pool1d)
LPPool2d = _lp_pool('LPPool2d', F.lp_pool2d)
LPPool3d = _lp_pool('LPPool3d', F.lp_pool3d)


class _MaxUnpoolNd(Module):
    """Elements put back where a max pooling found them, 0 elsewhere."""

    _dims = 0

    def __init__(self, kernel_size, stride=None, padding=0):
        super().__init__()
        parse = _tuple_of(self._dims)
        self.kernel_size, self.padding = parse(kernel_size), parse(padding)
        self.stride = self.kernel_size if stride is None else parse(stride)

    def forward(self, input, indices, output_size=None):
        return self._function(input, indices, self.kernel_size, self.stride, self.padding, output_size)

    def extra_repr(self):
        return shown(self, 'kernel_size stride padding')


class _FractionalMaxPoolNd(Module):
    """The largest element of windows at random, fractional distances (Graham 2014); output_size or output_ratio."""

    _dims = 0

    def __init__(self, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None):
        super().__init__()
        parse, name = _tuple_of(self._dims), type(self).__name__
        if (output_size is None) == (output_ratio is None):
            raise InvalidArgumentError(f'[{name}] give either output_size or output_ratio')
        self.kernel_size, self.return_indices = parse(kernel_size), return_indices
        self.output_size = None if output_size is None else parse(output_size)
        self.output_ratio = None if output_ratio is None else parse(output_ratio)
        self.register_buffer('_random_samples', _random_samples)
        if self.output_ratio is not None and not all(0 < part < 1 for part in self.output_ratio):
            raise InvalidArgumentError(f'[{name}] output_ratio {output_ratio} must be between 0 and 1')

    def forward(self, input):
        return getattr(F, f'fractional_max_pool{self._dims}d')(input, self.kernel_size, self.output_size, self.output_ratio,
                                                               self.return_indices, self._random_samples)


MaxUnpool1d, MaxUnpool2d, MaxUnpool3d = family(__name__, _MaxUnpoolNd, _function=lambda n: staticmethod(getattr(F, f'max_unpool{n}d')))
FractionalMaxPool2d, FractionalMaxPool3d = family(__name__, _FractionalMaxPoolNd, (2, 3))
