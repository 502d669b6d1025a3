"""Methods whose arguments differ from those of the function of their name."""
import functools

import tenon.torch

from ..._core import ops
from ..._errors import DtypeError, InvalidArgumentError
from .._common import shape_of
from ..arithmetic import where
from ..create import new_empty, new_ones, new_zeros
from ..join import split
from ..shape import adjoint, expand, flip, permute, repeat, squeeze, sum_to_size, tile


def _spread(function, name, listed=False):
    """The function as a method that takes its numbers one by one, as a tuple, or by name; listed: the function takes them as a
    tuple."""
    others = frozenset(('axis', 'axes')) if name == 'dims' else ()

    @functools.wraps(function)
    def method(self, *numbers, **named):
        for each in named.keys() & {name, *others}:
            if numbers:
                raise TypeError(f'[{function.__name__}] got argument {name} twice')
            numbers = (named.pop(each),)
        if not numbers:
            raise TypeError(f'[{function.__name__}] argument {name} is missing')
        return function(self, shape_of(numbers), **named) if listed else function(self, *numbers, **named)
    return method


class Shapes:
    """Methods by name."""

    permute, flip, tile = (_spread(function, 'dims', listed=True) for function in (permute, flip, tile))
    repeat, expand, sum_to_size = _spread(repeat, 'repeats'), _spread(expand, 'size'), _spread(sum_to_size, 'size')
    new_empty, new_zeros, new_ones = (_spread(function, 'size') for function in (new_empty, new_zeros, new_ones))

    def squeeze(self, *dims, dim=None):
        """This tensor without its dimensions of size 1: all of them, or those named."""
        return squeeze(self, dim if not dims else dims[0] if len(dims) == 1 else dims)

    def split(self, split_size, dim=0):
        """Parts of a size along a dimension, or of the sizes in a list: a tuple."""
        return split(self, split_size, dim)

    def where(self, condition, other):
        """self where condition is true, other elsewhere."""
        return where(condition, self, other)

    def polygamma(self, n):
        """The n-th derivative of digamma()."""
        return tenon.torch.special.polygamma(n, self)

    def orgqr(self, input2):
        """The columns of the Q that geqrf() left in self, with input2 as its tau."""
        return tenon.torch.linalg.householder_product(self, input2)

    H = property(lambda self: _matrix_adjoint(self), doc='A matrix with its dimensions exchanged, and conjugated.')
    mH = property(adjoint, doc='The last two dimensions exchanged, and conjugated.')
    real = property(lambda self: _part(self, 'real'), lambda self, value: _set_part(self, 'real', value), doc='The real part.')
    imag = property(lambda self: _part(self, 'imag'), lambda self, value: _set_part(self, 'imag', value), doc='The imaginary part of complex numbers.')


def _matrix_adjoint(x):
    if x.ndim not in (0, 2):
        raise InvalidArgumentError(f'[H] needs a matrix, not rank {x.ndim}: mH exchanges the last two dimensions')
    return adjoint(x) if x.ndim else tenon.torch.conj(x)


def _part(x, name):
    return getattr(tenon.torch, name)(x)


def _set_part(x, name, value):
    if not x.dtype.is_complex:
        if name == 'imag':
            raise DtypeError('[imag] needs complex numbers')
        x.copy_(value)
        return
    parts = {part: ops[part](x) for part in ('real', 'imag')}
    parts[name] = ops['expand'](value, x.shape) if hasattr(value, 'shape') else ops['full_like'](parts[name], value)
    x.copy_(ops['complex'](parts['real'], parts['imag']))
