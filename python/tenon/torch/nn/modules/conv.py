"""Convolutions of (N, C, …) or (C, …)."""
import inspect
import math
from typing import Any

from ...._errors import InvalidArgumentError
from ....nn.conv import _ConvBase
from .. import functional as F
from ._make import drawing, family, place
from .lazy import LazyModuleMixin, waiting
from .linear import draw_weights

_MODES = 'zeros', 'reflect', 'replicate', 'circular'


class _ConvNd(_ConvBase):
    """What all convolutions have."""

    transposed = property(lambda self: self._transposed)

    def __init__(self, in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, padding_mode, output_padding,
                 device, dtype):
        name, named = type(self).__name__, isinstance(padding, str)
        if named and padding not in ('same', 'valid'):
            raise InvalidArgumentError(f"[{name}] padding is 'same', 'valid' or numbers, not {padding!r}")
        if padding_mode not in _MODES:
            raise InvalidArgumentError(f"[{name}] padding_mode is 'zeros', 'reflect', 'replicate' or 'circular', not {padding_mode!r}")
        sizes: Any = 0 if named else padding
        with drawing(device):
            super().__init__(in_channels, out_channels, kernel_size, stride, sizes, dilation, groups, bias, output_padding)
        if padding == 'same' and any(step != 1 for step in self.stride):
            raise InvalidArgumentError(f"[{name}] padding='same' needs stride 1, not {stride}")
        self.padding_mode, self.padding = padding_mode, padding if named else self.padding
        place(self, device, dtype)

    def reset_parameters(self):
        """Draws weight and bias anew."""
        draw_weights(self, math.prod(self.weight.shape[1:]))

    def extra_repr(self):
        named = isinstance(self.padding, str)
        text = f'{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}'
        for name, usual in (('padding', 0), ('dilation', 1), ('output_padding', 0)):
            value = getattr(self, name)
            if named and name == 'padding' or any(size != usual for size in value):
                text += f', {name}={value}'
        text += f', groups={self.groups}' if self.groups != 1 else ''
        text += ', bias=False' if self.bias is None else ''
        return text + (f', padding_mode={self.padding_mode}' if self.padding_mode != 'zeros' else '')


class _ForwardNd(_ConvNd):
    """Convolution of (N, C, …) or (C, …); padding may be 'same' or 'valid'. weight (out, in / groups, kernel…), bias (out,)."""

    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, bias=True,
                 padding_mode='zeros', device=None, dtype=None):
        super().__init__(in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, padding_mode, 0, device, dtype)

    def _sides(self):
        """The amounts that padding_mode adds to the last dimensions, as pad() expects them."""
        if self.padding == 'valid':
            return [0] * (2 * self._dims)
        if self.padding == 'same':
            whole = [d * (k - 1) for d, k in zip(self.dilation, self.kernel_size)]
            return [side for n in reversed(whole) for side in (n // 2, n - n // 2)]
        return [side for n in reversed(self.padding) for side in (n, n)]

    def _conv_forward(self, input, weight, bias):
        padding = self.padding
        if self.padding_mode != 'zeros':
            input, padding = F.pad(input, self._sides(), self.padding_mode), 0
        return self._function(input, weight, bias, self.stride, padding, self.dilation, self.groups)

    def forward(self, input):
        if self.padding_mode != 'zeros':
            return self._conv_forward(input, self.weight, self.bias)
        return self._function(input, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups)


class _ConvTransposeNd(_ConvNd):
    """Transposed convolution of (N, C, …) or (C, …). weight (in, out / groups, kernel…), bias (out,)."""

    _transposed = True

    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, output_padding=0, groups=1, bias=True, dilation=1,
                 padding_mode='zeros', device=None, dtype=None):
        if padding_mode != 'zeros':
            raise InvalidArgumentError(f"[{type(self).__name__}] padding_mode is 'zeros', not {padding_mode!r}")
        super().__init__(in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, padding_mode, output_padding,
                         device, dtype)

    def _output_padding(self, shape, output_size):
        """The padding to add for an output of this size."""
        if output_size is None:
            return self.output_padding
        n, name = self._dims, type(self).__name__
        size = tuple(output_size)
        if len(size) not in (n, len(shape)):
            raise InvalidArgumentError(f'[{name}] output_size {size} must have {n} sizes, or {len(shape)}')
        least = [(m - 1) * s - 2 * p + d * (k - 1) + 1
                 for m, s, p, d, k in zip(shape[-n:], self.stride, self.padding, self.dilation, self.kernel_size)]
        if any(not low <= want < low + step for want, low, step in zip(size[-n:], least, self.stride)):
            most = [low + step - 1 for low, step in zip(least, self.stride)]
            raise InvalidArgumentError(f'[{name}] output_size {size[-n:]} must be between {least} and {most}')
        return tuple(want - low for want, low in zip(size[-n:], least))

    def forward(self, input, output_size=None):
        extra = self._output_padding(input.shape, output_size)
        return self._function(input, self.weight, self.bias, self.stride, self.padding, extra, self.groups, self.dilation)


class _LazyConvMixin(LazyModuleMixin):
    """A convolution that infers in_channels from its first input."""

    _dims: int

    def initialize_parameters(self, input, *args, **kwargs):
        n, name = self._dims, type(self).__name__
        if input.ndim not in (n + 1, n + 2):
            raise RuntimeError(f'[{name}] input has rank {input.ndim}, must be {n + 1} or {n + 2}')
        self.in_channels = input.shape[-n - 1]
        if self.in_channels % self.groups:
            raise InvalidArgumentError(f'[{name}] in_channels {self.in_channels} do not divide into {self.groups} groups')
        outer, inner = (self.in_channels, self.out_channels) if self.transposed else (self.out_channels, self.in_channels)
        self._materialize({'weight': (outer, inner // self.groups, *self.kernel_size), 'bias': (self.out_channels,)})

    def reset_parameters(self):
        if not self.has_uninitialized_params() and self.in_channels:
            super().reset_parameters()  # pyright: ignore[reportAttributeAccessIssue] that of the other base


def _lazy(base):
    """The class that turns into `base` with its first input; its constructor takes no in_channels."""
    own = inspect.signature(base)
    signature = own.replace(parameters=[each for name, each in own.parameters.items() if name != 'in_channels'])

    def __init__(self, *args, **kwargs):
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        given = bound.arguments
        out_channels, bias, device, dtype = map(given.pop, ('out_channels', 'bias', 'device', 'dtype'))
        _LazyConvMixin.__init__(self, 0, 0, bias=False, **given)
        self.out_channels = out_channels
        self.weight, self.bias = waiting(True, device, dtype), waiting(bias, device, dtype)
    return type('Lazy' + base.__name__, (_LazyConvMixin, base), {
        '__init__': __init__, '__signature__': signature, '__module__': __name__, 'cls_to_become': base,
        '__doc__': f'{base.__name__} that takes in_channels from its first input.'})


Conv1d, Conv2d, Conv3d = family(
    __name__, _ForwardNd, name='Conv', _function=lambda n: staticmethod(getattr(F, f'conv{n}d')))
ConvTranspose1d, ConvTranspose2d, ConvTranspose3d = family(
    __name__, _ConvTransposeNd, name='ConvTranspose', _function=lambda n: staticmethod(getattr(F, f'conv_transpose{n}d')))
LazyConv1d, LazyConv2d, LazyConv3d = map(_lazy, (Conv1d, Conv2d, Conv3d))
LazyConvTranspose1d, LazyConvTranspose2d, LazyConvTranspose3d = map(_lazy, (ConvTranspose1d, ConvTranspose2d, ConvTranspose3d))
