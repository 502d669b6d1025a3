"""Padding of the last one, two or three dimensions, by one number for all sides or one for each."""
from ....nn.module import Module
from .. import functional as F
from ._make import family, shown


class _Padding(Module):
    """Entries before and after the last dimensions: (left, right, top, bottom, front, back), or one number for all."""

    _dims, _mode, _show = 0, '', '=padding'
    value = None

    def __init__(self, padding):
        super().__init__()
        self.padding = (padding,) * (2 * self._dims) if isinstance(padding, int) else tuple(padding)

    def forward(self, input):
        return F.pad(input, self.padding, self._mode, self.value)

    def extra_repr(self):
        return shown(self, self._show)


class _ConstantPadNd(_Padding):
    """A value before and after the last dimensions: (left, right, top, bottom, front, back), or one number for all."""

    _mode, _show = 'constant', 'padding value'
    value: float

    def __init__(self, padding, value):
        super().__init__(padding)
        self.value = value


class _ZeroPadNd(_ConstantPadNd):
    """Zeros before and after the last dimensions: (left, right, top, bottom, front, back), or one number for all."""

    _show = '=padding'

    def __init__(self, padding):
        super().__init__(padding, 0.0)


class _ReflectionPadNd(_Padding):
    """Entries mirrored at the edge; padding (left, right, top, bottom, front, back), or one number for all."""

    _mode = 'reflect'


class _ReplicationPadNd(_Padding):
    """The entry at the edge, repeated; padding (left, right, top, bottom, front, back), or one number for all."""

    _mode = 'replicate'


class _CircularPadNd(_Padding):
    """Entries from the opposite end; padding (left, right, top, bottom, front, back), or one number for all."""

    _mode = 'circular'


ConstantPad1d, ConstantPad2d, ConstantPad3d = family(__name__, _ConstantPadNd)
ZeroPad1d, ZeroPad2d, ZeroPad3d = family(__name__, _ZeroPadNd)
ReflectionPad1d, ReflectionPad2d, ReflectionPad3d = family(__name__, _ReflectionPadNd)
ReplicationPad1d, ReplicationPad2d, ReplicationPad3d = family(__name__, _ReplicationPadNd)
CircularPad1d, CircularPad2d, CircularPad3d = family(__name__, _CircularPadNd)
