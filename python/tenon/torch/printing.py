"""Prints tensors, sizes, dtypes and devices as PyTorch does, in processes whose program imports tenon.torch."""
import math
from contextlib import contextmanager

from .. import _core
from .._core import Tensor
from .._errors import InvalidArgumentError
from ._backward_names import node
from ._common import defaults

__all__ = ['get_printoptions', 'printoptions', 'set_printoptions']

_PROFILES = {'default': (4, 1000, 3, 80), 'short': (2, 1000, 2, 80), 'full': (4, math.inf, 3, 80)}
_NAMES = 'precision', 'threshold', 'edgeitems', 'linewidth'
_options = {**dict(zip(_NAMES, _PROFILES['default'], strict=True)), 'sci_mode': None}


def set_printoptions(precision=None, threshold=None, edgeitems=None, linewidth=None, profile=None, sci_mode=None):
    """Sets how tensors are printed: digits after the point, the number of elements beyond which only edges are shown, how many of
    those, characters in a line, and whether numbers have exponents (None: if they differ widely). profile: 'default', 'short' or
    'full'. From here on tensors print as in PyTorch, if they did not already."""
    if profile is not None:
        if profile not in _PROFILES:
            raise InvalidArgumentError(f'[set_printoptions] profile {profile!r} is not one of {", ".join(_PROFILES)}')
        _options.update(zip(_NAMES, _PROFILES[profile], strict=True))
    given = zip(_NAMES, (precision, threshold, edgeitems, linewidth), strict=True)
    _options.update({name: value for name, value in given if value is not None}, sci_mode=sci_mode)
    install()


def get_printoptions():
    """The options, as set_printoptions() takes them."""
    return dict(_options)


@contextmanager
def printoptions(**options):
    """set_printoptions() for a scope."""
    before = get_printoptions()
    set_printoptions(**options)
    try:
        yield
    finally:
        set_printoptions(**before)


class _Format:
    """How numbers of one tensor are written, all with the same width."""

    def __init__(self, numbers, floating):
        self._floating, self._whole, self._exponents, self.width = floating, True, False, 1
        if not floating:
            self.width = max([1, *(len(str(number)) for number in numbers)])
            return
        shown = [number for number in numbers if number and math.isfinite(number)]
        if not shown:
            return
        least, most = min(map(abs, shown)), max(map(abs, shown))
        self._whole = all(number == math.ceil(number) for number in shown)
        wide = most / least > 1000 or most > 1e8 or least < 1e-4
        self._exponents = wide if _options['sci_mode'] is None else _options['sci_mode']
        self.width = max([1, *(len(self._number(number)) for number in shown)])

    def _number(self, number):
        if not self._floating:
            return str(number)
        if self._exponents:
            return f'{number:.{_options["precision"]}e}'
        if self._whole:
            return f'{number:.0f}.' if math.isfinite(number) else f'{number:.0f}'
        return f'{number:.{_options["precision"]}f}'

    def __call__(self, number):
        return self._number(number).rjust(self.width)


class _Complex:
    """The same for complex numbers, with a width for each part."""

    def __init__(self, numbers):
        self._real, self._imaginary = _Format([x.real for x in numbers], True), _Format([x.imag for x in numbers], True)
        self.width = self._real.width + self._imaginary.width + 1

    def __call__(self, number):
        imaginary = (self._imaginary(number.imag) + 'j').lstrip()
        return self._real(number.real) + ('' if imaginary[0] in '+-' else '+') + imaginary


def _flat(items, ndim):
    return items if ndim == 1 else [x for part in items for x in _flat(part, ndim - 1)]


def _edges(x):
    """x with the items that a summary shows, and which dimensions have dots between them."""
    few, dots = _options['edgeitems'], []
    for dim, size in enumerate(x.shape):
        dots.append(size > 2 * few)
        if dots[-1]:
            x = _core.ops['concat']([_core.ops['slice'](x, dim, 0, few), _core.ops['slice'](x, dim, size - few, size)], dim)
    return x, dots


def _rows(items, dots, indent, written):
    """Nested lists as text; `dots` says for each dimension whether some of it was left out."""
    few, more, summarised = _options['edgeitems'], len(dots) - 1, dots[0]
    if more:
        parts = [_rows(item, dots[1:], indent + 1, written) for item in items]
    else:
        parts = [written(item) for item in items]
    if summarised:
        parts.insert(few, '...' if more else ' ...')
    if more:
        return '[' + (',' + '\n' * more + ' ' * (indent + 1)).join(parts) + ']'
    count = max(1, (_options['linewidth'] - indent) // (written.width + 2))
    lines = [', '.join(parts[i:i + count]) for i in range(0, len(parts), count)]
    return '[' + (',\n' + ' ' * (indent + 1)).join(lines) + ']'


def elements_text(x, indent):
    """The elements of a tensor as text, after `indent` characters."""
    if x.numel() == 0:
        return '[]'
    x = x.detach()
    dots = [False] * x.ndim
    if x.numel() > _options['threshold']:
        if not _options['edgeitems']:
            return '[' * x.ndim + '...' + ']' * x.ndim
        x, dots = _edges(x)
    items = x.tolist()
    flat = _flat(items, x.ndim) if x.ndim else [items]
    written = _Complex(flat) if x.dtype.is_complex else _Format(flat, x.dtype.is_floating_point)
    return _rows(items, dots, indent, written) if x.ndim else written(items)


def is_usual(dtype):
    """Whether the elements reveal the dtype, provided that there are any."""
    return dtype in (defaults.dtype, defaults.complex, _core.int64, _core.bool)


def _without_elements(x):
    """A tensor of meta."""
    yield "device='meta'"
    yield f'size={tuple(x.shape)}'
    if x.dtype is not defaults.dtype:
        yield f'dtype={x.dtype}'
    yield from history(x)


def _told(x):
    """What follows the elements: device, dtype and history if they are not the usual ones."""
    usual = _core.device('cpu') if defaults.device is None else defaults.device
    if x.device.type != usual.type or x.device.index != usual.index:
        yield f"device='{x.device}'"
    if x.numel() == 0:
        if x.ndim != 1:
            yield f'size={tuple(x.shape)}'
        if x.dtype is not defaults.dtype:
            yield f'dtype={x.dtype}'
    else:
        if not _options['edgeitems']:
            yield f'size={tuple(x.shape)}'
        if not is_usual(x.dtype):
            yield f'dtype={x.dtype}'
    yield from history(x)


def history(x):
    """grad_fn=… for the result of an op, requires_grad=True for a leaf; tangent=… in forward mode."""
    if x.grad_fn is not None:
        yield f'grad_fn=<{x.grad_fn.name()}>'
    elif x.requires_grad:
        yield 'requires_grad=True'
    if _core._has_tangents():
        from .autograd.forward_ad import unpack_dual
        tangent = unpack_dual(x).tangent
        if tangent is not None:
            yield f'tangent={tensor_text(tangent)}'


def joined(text, told, indent, apart=False):
    """A text and what follows it, in lines of the usual width; apart: on a line of its own."""
    last = len(text) - text.rfind('\n') + 1
    for one in told:
        if apart or last + len(one) + 2 > _options['linewidth']:
            text += ',\n' + ' ' * indent + one
            last, apart = indent + len(one), False
        else:
            text += ', ' + one
            last += len(one) + 2
    return text + ')'


def tensor_text(x):
    """A tensor as PyTorch prints it."""
    batch = _core._behind(x)
    if batch.ndim != x.ndim:
        return f'entries of a batch({tensor_text(batch)})'
    kind = type(x)
    head = 'tensor(' if kind.__module__.split('.')[0] == 'tenon' else kind.__name__ + '('
    if x.device.type == 'meta':
        return joined(head + '...', _without_elements(x), len(head))
    return joined(head + elements_text(x, len(head)), _told(x), len(head))


_ALONE = 'cpu', 'meta'  # kinds with one device, which is printed without its number


def _device_text(device):
    index = '' if device.type in _ALONE else f', index={device.index}'
    return f"device(type='{device.type}'{index})"


def _formatted(x, spec):
    """Formats as PyTorch does: a tensor without dimensions as its one element."""
    if x.ndim == 0 and x.device.type != 'meta':
        return format(x.item(), spec)
    return _before[Tensor, '__format__'](x, spec) if spec else str(x)


_before: dict = {}


def _grad_fn(x):
    """The last step of the history of a tensor that an op made, or None."""
    return node(_before[Tensor, 'grad_fn'].__get__(x), x)


def install():
    """From here on tensors, shapes, dtypes and devices print as in PyTorch."""
    from .modes import Size
    if _before:
        return
    ours = {
        Tensor: {'grad_fn': property(_grad_fn), '__repr__': tensor_text, '__str__': lambda self: repr(self), '__format__': _formatted},
        _core.dtype: {'__repr__': lambda self: f'torch.{self.name}', '__str__': lambda self: f'torch.{self.name}'},
        _core.Device: {'__repr__': _device_text,
                       '__str__': lambda self: self.type if self.type in _ALONE else f'{self.type}:{self.index}'},
    }
    for kind, methods in ours.items():
        for name, method in methods.items():
            _before[kind, name] = kind.__dict__.get(name)
            setattr(kind, name, method)
    _core._set_shape_type(Size)


def uninstall():
    """Tensors print in tenon's format again."""
    for (kind, name), method in _before.items():
        delattr(kind, name) if method is None else setattr(kind, name, method)
    _before.clear()
    _core._set_shape_type(None)
