"""NumPy's arrays and numbers in the pickles of torch.save: the state of a generator, or a curve, beside the tensors."""
import math
from typing import Any

from .errors import LoadError

_KINDS = 'biufcSU'  # bools, integers, floating and complex numbers, bytes, text
_MODULES = 'numpy._core.multiarray', 'numpy.core.multiarray'


def is_array(value):
    """Whether a value is an array or a number of NumPy, of a dtype that is written."""
    kind = type(value)
    if kind.__module__ != 'numpy' or not hasattr(value, 'dtype') or not hasattr(value, 'tobytes'):
        return False
    import numpy
    return (kind is numpy.ndarray or isinstance(value, numpy.generic)) and value.dtype.kind in _KINDS and value.dtype.fields is None


def _write_dtype(writer, dtype):
    writer.call('numpy', 'dtype', dtype.str[1:], False, True)
    order = dtype.str[0]
    size = (dtype.itemsize, dtype.alignment) if dtype.kind in 'SU' else (-1, -1)
    writer.sequence((3, order, None, None, None, *size, 0))
    writer.out += b'b'


def write_array(writer, value):
    """Writes it as Python's pickle does in protocol 2."""
    import numpy
    if isinstance(value, numpy.generic):
        writer.call(_MODULES[0], 'scalar', lambda: _write_dtype(writer, value.dtype), value.tobytes())
        return
    writer.call(_MODULES[0], '_reconstruct', lambda: writer.name('numpy', 'ndarray'), (0,), b'b')
    writer.remember(value)
    writer.sequence((1, value.shape, lambda: _write_dtype(writer, value.dtype), False, numpy.ascontiguousarray(value).tobytes()))
    writer.out += b'b'


def _dtype(reader, code, align=False, copy=False):
    import numpy
    if type(code) is not str or len(code) > 12 or code[:1] not in _KINDS or not code[1:].isdigit():
        raise LoadError(f'[torch.load] a NumPy array of dtype {code!r:.40}: numbers, bools, bytes and text are read')
    try:
        return numpy.dtype(code, copy=True)
    except TypeError:
        raise LoadError(f'[torch.load] NumPy has no dtype {code!r:.40}') from None


def _array(reader, kind, shape, code):
    import numpy
    if getattr(kind, 'name', None) != 'numpy.ndarray':
        raise LoadError('[torch.load] an array of an unknown type')
    return numpy.empty(0, numpy.int8)


def _number(reader, dtype, data):
    import numpy
    if not isinstance(dtype, numpy.dtype) or type(data) is not bytes or len(data) != dtype.itemsize or not data:
        raise LoadError('[torch.load] a NumPy number whose bytes do not fit its dtype')
    return numpy.frombuffer(data, dtype)[0]


def _no_array(reader, *arguments):
    raise LoadError('[torch.load] an array made in an unknown way')


def fills(target):
    """Whether the file may set the state of this value: an array or a dtype."""
    return type(target).__module__.partition('.')[0] == 'numpy'


def fill(reader, target, state):
    """Sets the elements of an array, or the order of bytes of a dtype, which the file has just made."""
    import numpy
    if type(state) is not tuple:
        raise LoadError('[torch.load] the state of a NumPy array is not a tuple')
    if isinstance(target, numpy.dtype):
        # Sizes that the file tells must be those of the dtype.
        plain = len(state) == 8 and state[0] == 3 and state[1] in ('<', '>', '|', '=') and state[2:5] == (None, None, None)
        if not plain or state[5] not in (-1, target.itemsize) or state[6] not in (-1, target.alignment):
            raise LoadError('[torch.load] a NumPy dtype of unknown state')
        size = (target.itemsize, target.alignment) if target.kind in 'SU' else (-1, -1)
        order: Any = target
        order.__setstate__((3, state[1], None, None, None, *size, target.flags))
        return
    if not isinstance(target, numpy.ndarray) or target.size or len(state) != 5:
        raise LoadError('[torch.load] a NumPy array that is filled twice')
    version, shape, dtype, by_columns, data = state
    sizes = type(shape) is tuple and len(shape) <= 32 and all(type(n) is int and 0 <= n < 1 << 62 for n in shape)
    if not sizes or version != 1 or not isinstance(dtype, numpy.dtype) or type(by_columns) is not bool or type(data) is not bytes:
        raise LoadError('[torch.load] a NumPy array of unknown state')
    if math.prod(shape) * dtype.itemsize != len(data):
        raise LoadError(f'[torch.load] a NumPy array of shape {shape} and dtype {dtype} with {len(data)} bytes')
    reader.spend(len(data))
    target.__setstate__(state)


GLOBALS = {'numpy.dtype': _dtype, 'numpy.ndarray': _no_array,
           **{f'{module}.{name}': make for module in _MODULES for name, make in (('_reconstruct', _array), ('scalar', _number))}}
