"""Methods that take their arguments in another way than the function of their name."""
import tenon.torch

from ..._core import ops
from .._common import shape_of
from ..arithmetic import where
from ..join import split
from ..shape import adjoint, flip, permute, squeeze, tile


class Shapes:
    """Methods by name."""

    def permute(self, *dims):
        """Dimensions in another order: permute(1, 0) or permute((1, 0))."""
        return permute(self, shape_of(dims))

    def flip(self, *dims):
        """Elements in reversed order along dimensions: flip(0, 1) or flip((0, 1))."""
        return flip(self, shape_of(dims))

    def tile(self, *dims):
        """The whole tensor so often along each dimension: tile(2, 3) or tile((2, 3))."""
        return tile(self, shape_of(dims))

    def squeeze(self, *dim):
        """Without dimensions of size 1: all of them, or those named."""
        return squeeze(self, *(dim if len(dim) < 2 else (dim,)))

    def split(self, split_size, dim=0):
        """Parts of a size along a dimension, or of the sizes in a list: a tuple."""
        return split(self, split_size, dim)

    def where(self, condition, other):
        """self where condition is true, other elsewhere."""
        return where(condition, self, other)

    def polygamma(self, n):
        """The n-th derivative of digamma()."""
        return tenon.torch.polygamma(n, self)

    def orgqr(self, input2):
        """The columns of Q that geqrf() left in self and input2, its tau."""
        return tenon.torch.linalg.householder_product(self, input2)

    H = property(lambda self: _matrix_adjoint(self), doc='A matrix with its dimensions exchanged, and conjugated.')
    mH = property(adjoint, doc='The last two dimensions exchanged, and conjugated.')
    real = property(lambda self: _part(self, 'real'), lambda self, value: _set_part(self, 'real', value), doc='The real part.')
    imag = property(lambda self: _part(self, 'imag'), lambda self, value: _set_part(self, 'imag', value), doc='The imaginary part of complex numbers.')


def _matrix_adjoint(x):
    if x.ndim not in (0, 2):
        raise RuntimeError(f'[H] needs a matrix, not rank {x.ndim}: mH exchanges the last two dimensions')
    return adjoint(x) if x.ndim else tenon.torch.conj(x)


def _part(x, name):
    return getattr(tenon.torch, name)(x)


def _set_part(x, name, value):
    if not x.dtype.is_complex:
        if name == 'imag':
            raise RuntimeError('[imag] needs complex numbers')
        x.copy_(value)
        return
    parts = {part: ops[part](x) for part in ('real', 'imag')}
    parts[name] = ops['expand'](value, x.shape) if hasattr(value, 'shape') else ops['full_like'](parts[name], value)
    x.copy_(ops['complex'](parts['real'], parts['imag']))
