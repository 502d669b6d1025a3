"""Convolutions over (N, C, spatial…)."""
import math

from .._core import ops
from .._errors import InvalidArgumentError
from ._check import check_groups, check_size, check_sizes, check_tensor
from .init import _layer_default
from .module import Module, Parameter

_conv, _conv_transpose = ops['conv'], ops['conv_transpose']


class _ConvBase(Module):
    _dims = 0
    _transposed = False

    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, bias=True,
                 output_padding=0):
        super().__init__()
        where, dims = type(self).__name__, self._dims
        check_size(where, 'in_channels', in_channels)
        check_size(where, 'out_channels', out_channels)
        check_size(where, 'groups', groups, 1)
        check_groups(where, (in_channels, out_channels), groups)
        self.in_channels, self.out_channels, self.groups = in_channels, out_channels, groups
        self.kernel_size = check_sizes(where, 'kernel_size', kernel_size, 1, dims)
        self.stride = check_sizes(where, 'stride', stride, 1, dims)
        self.padding = check_sizes(where, 'padding', padding, 0, dims)
        self.dilation = check_sizes(where, 'dilation', dilation, 1, dims)
        self.output_padding = check_sizes(where, 'output_padding', output_padding, 0, dims)
        outer, inner = (in_channels, out_channels) if self._transposed else (out_channels, in_channels)
        shape = (outer, inner // groups, *self.kernel_size)
        fan_in = math.prod(shape[1:])
        self.weight = Parameter(_layer_default(shape, fan_in))
        self.bias = Parameter(_layer_default((out_channels,), fan_in)) if bias else None

    def _check(self, x):
        check_tensor(type(self).__name__, x)
        if x.ndim != self._dims + 2 or x.shape[1] != self.in_channels:
            raise InvalidArgumentError(f'[{type(self).__name__}] x has shape {x.shape}, must be (N, {self.in_channels}'
                                       + ', size' * self._dims + ')')

    def extra_repr(self):
        text = f'{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}'
        for name, usual in (('padding', 0), ('output_padding', 0), ('dilation', 1)):
            if any(size != usual for size in getattr(self, name)):
                text += f', {name}={getattr(self, name)}'
        text += f', groups={self.groups}' if self.groups != 1 else ''
        return text + ('' if self.bias is not None else ', bias=False')


class _Conv(_ConvBase):
    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, bias=True):
        super().__init__(in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias)

    def forward(self, x):
        self._check(x)
        return _conv(x, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups)


class _ConvTranspose(_ConvBase):
    _transposed = True

    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, output_padding=0, groups=1, bias=True,
                 dilation=1):
        super().__init__(in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, output_padding)

    def forward(self, x):
        self._check(x)
        return _conv_transpose(x, self.weight, self.bias, self.stride, self.padding, self.output_padding, self.dilation,
                               self.groups)


class Conv1d(_Conv):
    """Over (N, in_channels, L). weight: (out_channels, in_channels / groups, kernel); bias: (out_channels)."""

    _dims = 1


class Conv2d(_Conv):
    """Over (N, in_channels, H, W). weight: (out_channels, in_channels / groups, kernel…); bias: (out_channels).

    >>> tenon.nn.Conv2d(1, 4, 3, padding=1)(tenon.ones((2, 1, 5, 6))).shape
    (2, 4, 5, 6)
    """

    _dims = 2


class Conv3d(_Conv):
    """Over (N, in_channels, D, H, W). weight: (out_channels, in_channels / groups, kernel…); bias: (out_channels)."""

    _dims = 3


class ConvTranspose1d(_ConvTranspose):
    """The transpose of Conv1d. weight: (in_channels, out_channels / groups, kernel)."""

    _dims = 1


class ConvTranspose2d(_ConvTranspose):
    """The transpose of Conv2d. weight: (in_channels, out_channels / groups, kernel…).

    >>> tenon.nn.ConvTranspose2d(4, 1, 2, stride=2)(tenon.ones((2, 4, 3, 3))).shape
    (2, 1, 6, 6)
    """

    _dims = 2


class ConvTranspose3d(_ConvTranspose):
    """The transpose of Conv3d. weight: (in_channels, out_channels / groups, kernel…)."""

    _dims = 3
