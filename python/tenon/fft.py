"""Fourier transforms: the extension ``fft`` of the Array API (https://data-apis.org/array-api/2024.12/).

Elements are float32, float64, complex64 or complex128, and results have the same precision. `n` or `s` truncates a dimension or pads it
with zeros before the transform. `norm` says where the factor 1/n goes: 'backward' (the inverse), 'forward', or 'ortho' (its root in
both). Transforms run on the host, by pocketfft, in the plugin ``fft``, whose ops are ``fft.c2c``, ``fft.r2c`` and ``fft.c2r``. All have
gradients of any order.

Raises TypeError for arguments of other types, `tenon.InvalidArgumentError` or ValueError for dtypes, sizes and norms that do not fit,
and `tenon.OutOfRangeError` (an IndexError) for an axis that does not exist.
"""
from ._errors import InvalidArgumentError, UnsupportedDtypeError
from ._generous import others
from . import _core
from ._array_api.dtypes import kind_of
from ._array_api.shapes import dim_of
from ._core import ops
from ._creation import _check, _place
from ._names import accept_both_names
from ._plugin_ops import plugin_op

__all__ = ['fft', 'ifft', 'fftn', 'ifftn', 'rfft', 'irfft', 'rfftn', 'irfftn', 'hfft', 'ihfft', 'fftfreq', 'rfftfreq', 'fftshift',
           'ifftshift']

_COMPLEX = {_core.float32: _core.complex64, _core.float64: _core.complex128}
_REAL = tuple(_COMPLEX)
_ALL = (*_REAL, *_COMPLEX.values())


def _checked(x, name, dtypes=_ALL):
    """x, if the transform accepts its dtype; real numbers as complex ones where it needs those."""
    if not isinstance(x, _core.Tensor):
        _check(x, f'fft.{name}')
    dtype = x.dtype
    if dtype not in dtypes:
        raise UnsupportedDtypeError(f'[fft.{name}] x has dtype {dtype}; {", ".join(map(str, dtypes))} are possible: cast it first')
    return _place(x, _COMPLEX[dtype], None) if dtypes is _ALL and dtype in _COMPLEX else x


def _size(n, name):
    if isinstance(n, bool) or not hasattr(n, '__index__'):
        raise TypeError(f'[fft.{name}] a size must be an int, not {type(n).__name__}')
    n = n.__index__()
    if n < 1:
        raise InvalidArgumentError(f'[fft.{name}] a size must be at least 1, not {n}')
    return n


def _axes_of(x, s, axes, name):
    """Sizes (None if unchanged) and axes, counted from the front."""
    if s is None and type(axes) is tuple and len(axes) == 1:
        return (None,), (dim_of(axes[0], x.ndim, f'fft.{name}'),)
    for given, what in ((s, 's'), (axes, 'axes')):
        if given is not None and not isinstance(given, (tuple, list)):
            raise TypeError(f'[fft.{name}] {what} must be a sequence of ints, not {type(given).__name__}')
    if axes is None:
        count = x.ndim if s is None else len(s)
        if count > x.ndim:
            raise InvalidArgumentError(f'[fft.{name}] {count} sizes for a tensor of rank {x.ndim}')
        axes = range(x.ndim - count, x.ndim)
    axes = [dim_of(axis, x.ndim, f'fft.{name}') for axis in axes]
    if len(set(axes)) != len(axes):
        raise InvalidArgumentError(f'[fft.{name}] an axis is given twice in {tuple(axes)}')
    if not axes:
        raise InvalidArgumentError(f'[fft.{name}] a tensor of rank {x.ndim} and no axis: nothing to transform')
    if s is None:
        return [None] * len(axes), axes
    if len(s) != len(axes):
        raise InvalidArgumentError(f'[fft.{name}] {len(s)} sizes for {len(axes)} axes')
    return [None if n in (None, -1) else _size(n, name) for n in s], axes


def _resized(x, axis, n):
    """x with n entries along an axis: truncated or padded with zeros."""
    has = x.shape[axis]
    if n is None or n == has:
        return x
    if n < has:
        return ops['slice'](x, axis, 0, n)
    zeros = ops['full']((*x.shape[:axis], n - has, *x.shape[axis + 1:]), 0, x.dtype, x.device)
    return ops['concat']([x, zeros], axis)


def _scale(norm, count, inverse, name):
    if norm == ('forward', 'backward')[inverse]:
        return 1 / count
    if norm == 'ortho':
        return count ** -0.5
    if norm not in ('forward', 'backward'):
        raise InvalidArgumentError(f"[fft.{name}] norm is 'backward', 'ortho' or 'forward', not {norm!r}")
    return 1.0


def _product(x, axes):
    count = 1
    for axis in axes:
        count *= x.shape[axis]
    return max(count, 1)


def _to_complex(x, s, axes, norm, inverse, name):
    x = _checked(x, name)
    sizes, axes = _axes_of(x, s, axes, name)
    for axis, n in zip(axes, sizes):
        x = _resized(x, axis, n)
    return plugin_op('fft.c2c')(x, axes, not inverse, _scale(norm, _product(x, axes), inverse, name))


def _from_real(x, s, axes, norm, inverse, name):
    x = _checked(x, name, _REAL)
    sizes, axes = _axes_of(x, s, axes, name)
    for axis, n in zip(axes, sizes):
        x = _resized(x, axis, n)
    return plugin_op('fft.r2c')(x, axes, not inverse, _scale(norm, _product(x, axes), inverse, name))


def _to_real(x, s, axes, norm, inverse, name):
    x = _checked(x, name)
    sizes, axes = _axes_of(x, s, axes, name)
    last = sizes[-1]
    if last is None:
        last = _size(2 * (x.shape[axes[-1]] - 1), name)
    for axis, n in zip(axes[:-1], sizes):
        x = _resized(x, axis, n)
    x = _resized(x, axes[-1], last // 2 + 1)
    count = _product(x, axes[:-1]) * last
    return plugin_op('fft.c2r')(x, axes, last, not inverse, _scale(norm, count, inverse, name))


def _one(transform, x, n, axis, norm, inverse, name):
    if axis is None or isinstance(axis, (tuple, list)):
        raise TypeError(f'[fft.{name}] axis must be an int, not {type(axis).__name__}')
    return transform(x, None if n is None else (_size(n, name),), (axis,), norm, inverse, name)


def fft(x, /, *, n=None, axis=-1, norm='backward'):
    """The Fourier transform along an axis: X[k] = Σ x[j] exp(-2πi jk/n). Complex; real numbers are taken as complex ones.

    >>> tenon.fft.fft(tenon.asarray([1.0, 0.0, 0.0, 0.0]))
    tensor([1.+0.j, 1.+0.j, 1.+0.j, 1.+0.j], dtype=complex64)
    """
    return _one(_to_complex, x, n, axis, norm, False, 'fft')


def ifft(x, /, *, n=None, axis=-1, norm='backward'):
    """The inverse of fft().

    >>> tenon.fft.ifft(tenon.asarray([4.0, 0.0, 0.0, 0.0]))
    tensor([1.+0.j, 1.+0.j, 1.+0.j, 1.+0.j], dtype=complex64)
    """
    return _one(_to_complex, x, n, axis, norm, True, 'ifft')


def fftn(x, /, *, s=None, axes=None, norm='backward'):
    """The Fourier transform along several axes; by default all, or the last len(s).

    >>> tenon.fft.fftn(tenon.ones((2, 2)))
    tensor([[4.+0.j, 0.+0.j],
            [0.+0.j, 0.+0.j]], dtype=complex64)
    """
    return _to_complex(x, s, axes, norm, False, 'fftn')


def ifftn(x, /, *, s=None, axes=None, norm='backward'):
    """The inverse of fftn().

    >>> tenon.fft.ifftn(tenon.ones((2, 2)))
    tensor([[1.+0.j, 0.+0.j],
            [0.+0.j, 0.+0.j]], dtype=complex64)
    """
    return _to_complex(x, s, axes, norm, True, 'ifftn')


def rfft(x, /, *, n=None, axis=-1, norm='backward'):
    """The first n//2 + 1 entries of the transform of real numbers; the others are their conjugates.

    >>> tenon.fft.rfft(tenon.asarray([1.0, 2.0, 1.0, 2.0]))
    tensor([ 6.+0.j,  0.+0.j, -2.+0.j], dtype=complex64)
    """
    return _one(_from_real, x, n, axis, norm, False, 'rfft')


def irfft(x, /, *, n=None, axis=-1, norm='backward'):
    """The inverse of rfft(): n real numbers, by default 2(m - 1) for m entries.

    >>> tenon.fft.irfft(tenon.asarray([6.0 + 0j, 0.0, -2.0]))
    tensor([1., 2., 1., 2.])
    """
    return _one(_to_real, x, n, axis, norm, True, 'irfft')


def rfftn(x, /, *, s=None, axes=None, norm='backward'):
    """The transform of real numbers along several axes; the last is halved as in rfft().

    >>> tenon.fft.rfftn(tenon.ones((2, 2)))
    tensor([[4.+0.j, 0.+0.j],
            [0.+0.j, 0.+0.j]], dtype=complex64)
    """
    return _from_real(x, s, axes, norm, False, 'rfftn')


def irfftn(x, /, *, s=None, axes=None, norm='backward'):
    """The inverse of rfftn(); s gives the sizes of the result.

    >>> tenon.fft.irfftn(tenon.asarray([[4.0 + 0j, 0.0], [0.0, 0.0]]))
    tensor([[1., 1.],
            [1., 1.]])
    """
    return _to_real(x, s, axes, norm, True, 'irfftn')


def hfft(x, /, *, n=None, axis=-1, norm='backward'):
    """The real transform of a sequence whose second half is the conjugate of its first: n real numbers, by default 2(m - 1) for m
    entries.

    >>> tenon.fft.hfft(tenon.asarray([1.0 + 0j, 1.0, 1.0]))
    tensor([4., 0., 0., 0.])
    """
    return _one(_to_real, x, n, axis, norm, False, 'hfft')


def ihfft(x, /, *, n=None, axis=-1, norm='backward'):
    """The inverse of hfft(): the first n//2 + 1 entries.

    >>> tenon.real(tenon.fft.ihfft(tenon.asarray([4.0, 0.0, 0.0, 0.0])))
    tensor([1., 1., 1.])
    """
    return _one(_from_real, x, n, axis, norm, True, 'ihfft')


def _frequencies(n, d, dtype, device, count, start, name):
    n = _size(n, name)
    if isinstance(d, bool) or not isinstance(d, (int, float)):
        raise TypeError(f'[fft.{name}] d must be a number, not {type(d).__name__}')
    if d == 0:
        raise InvalidArgumentError(f'[fft.{name}] d is the distance of samples and cannot be 0')
    dtype = _core.float32 if dtype is None else _core.as_dtype(dtype)
    if kind_of(dtype) != 'real floating':
        raise InvalidArgumentError(f'[fft.{name}] dtype must be a real floating one, not {dtype}')
    k = ops['arange'](start(n), start(n) + count(n), 1, _core.float64, 'cpu')
    return _place(k / (n * d), dtype, device)


def fftfreq(n, /, *, d=1.0, dtype=None, device=None):
    """Frequencies of the entries of fft() for samples at a distance d: 0, 1, …, then the negative ones, divided by n·d.

    >>> tenon.fft.fftfreq(4)
    tensor([ 0.  ,  0.25, -0.5 , -0.25])
    """
    return ifftshift(_frequencies(n, d, dtype, device, lambda n: n, lambda n: -(n // 2), 'fftfreq'))


def rfftfreq(n, /, *, d=1.0, dtype=None, device=None):
    """Frequencies of the entries of rfft() for samples at a distance d.

    >>> tenon.fft.rfftfreq(4)
    tensor([0.  , 0.25, 0.5 ])
    """
    return _frequencies(n, d, dtype, device, lambda n: n // 2 + 1, lambda n: 0, 'rfftfreq')


def _shifted(x, axes, sign, name):
    _check(x, f'fft.{name}')
    if axes is None:
        axes = range(x.ndim)
    elif not isinstance(axes, (tuple, list)):
        axes = (axes,)
    axes = [dim_of(axis, x.ndim, f'fft.{name}') for axis in axes]
    if not axes:
        return ops['clone'](x)
    return ops['roll'](x, [x.shape[axis] // 2 if sign > 0 else -(x.shape[axis] // 2) for axis in axes], axes)


def fftshift(x, /, *, axes=None):
    """Moves frequency 0 from the front to the middle, by default along all axes.

    >>> tenon.fft.fftshift(tenon.asarray([0, 1, -2, -1]))
    tensor([-2, -1,  0,  1])
    """
    return _shifted(x, axes, 1, 'fftshift')


def ifftshift(x, /, *, axes=None):
    """The inverse of fftshift().

    >>> tenon.fft.ifftshift(tenon.asarray([-2, -1, 0, 1]))
    tensor([ 0,  1, -2, -1])
    """
    return _shifted(x, axes, -1, 'ifftshift')


accept_both_names(globals(), __all__)

__getattr__ = others(__name__)  # PyTorch's other names
