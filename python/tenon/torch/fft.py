"""torch.fft: tenon.fft with PyTorch's arguments, and the transforms of two dimensions."""
from typing import Any

from .. import _core
from .. import fft as _fft
from .._core import ops
from .._errors import DtypeError, InvalidArgumentError, OutOfRangeError
from ._common import cast, check, defaults, dim_of, dims_of, floating, into, rank
from .create import finish


def _checked(x, name):
    x = floating(x)
    if not x.ndim:
        raise OutOfRangeError(f'[fft.{name}] needs at least one dimension')
    return x


def _one(name, real_only=False):
    transform = getattr(_fft, name)

    def call(input, n=None, dim=-1, norm=None, *, out=None):
        x = _checked(input, name)
        if real_only and rank(x.dtype) == 3:
            raise DtypeError(f'[fft.{name}] needs real numbers')
        return into(out, transform(x, n=n, axis=dim_of(dim, x.ndim), norm=norm or 'backward'))
    call.__name__ = call.__qualname__ = name
    call.__doc__ = f'tenon.fft.{name}() along `dim`.'
    return call


fft, ifft, irfft, hfft = (_one(name) for name in ('fft', 'ifft', 'irfft', 'hfft'))
rfft, ihfft = _one('rfft', True), _one('ihfft', True)


def _places(x, s, dim, name) -> Any:
    """(sizes or None, dims), counted from the front."""
    s = (s,) if isinstance(s, int) else s
    dim = (dim,) if isinstance(dim, int) else dim
    if dim is None:
        dim = range(x.ndim) if s is None else range(x.ndim - len(s), x.ndim)
        if s is not None and len(s) > x.ndim:
            raise InvalidArgumentError(f'[fft.{name}] {len(s)} sizes for a tensor of rank {x.ndim}')
    if dim and not x.ndim:
        raise OutOfRangeError(f'[fft.{name}] a tensor of rank 0 has no dims')
    return s, dims_of(tuple(dim), x.ndim) if dim else ()


def _many(name, real_only=False):
    transform = getattr(_fft, name)

    def call(input, s=None, dim=None, norm=None, *, out=None):
        x = floating(input)
        if real_only and rank(x.dtype) == 3:
            raise DtypeError(f'[fft.{name}] needs real numbers')
        s, dims = _places(x, s, dim, name)
        if not dims:
            if name in ('rfftn', 'irfftn'):
                raise InvalidArgumentError(f'[fft.{name}] needs at least one dimension')
            return into(out, cast(x, _core.complex128 if x.dtype is _core.float64 else _core.complex64) if rank(x.dtype) < 3 else ops['clone'](x))
        return into(out, transform(x, s=s, axes=dims, norm=norm or 'backward'))
    call.__name__ = call.__qualname__ = name
    call.__doc__ = f'tenon.fft.{name}() along `dim`, all dimensions or the last len(s) unless told.'
    return call


fftn, ifftn, irfftn, rfftn = _many('fftn'), _many('ifftn'), _many('irfftn'), _many('rfftn', True)


def _two(name, transform):
    def call(input, s=None, dim=(-2, -1), norm=None, *, out=None):
        return transform(input, s, dim, norm, out=out)
    call.__name__ = call.__qualname__ = name
    call.__doc__ = f'{name[:-1]}n() along the last two dimensions.'
    return call


fft2, ifft2, rfft2, irfft2 = _two('fft2', fftn), _two('ifft2', ifftn), _two('rfft2', rfftn), _two('irfft2', irfftn)


def _last_apart(input, s, dim, name):
    """x, sizes and dims of all dims but the last; then size or None and dim of the last."""
    x = floating(input)
    s, dims = _places(x, s, dim, name)
    if not dims:
        raise InvalidArgumentError(f'[fft.{name}] needs at least one dimension')
    return x, None if s is None else s[:-1], dims[:-1], None if s is None or s[-1] == -1 else s[-1], dims[-1]


def hfftn(input, s=None, dim=None, norm=None, *, out=None):
    """The real transform of a Hermitian input over several dimensions; the last one is halved."""
    x, sizes, dims, size, last = _last_apart(input, s, dim, 'hfftn')
    if dims:
        x = fftn(x, sizes, dims, norm)
    return into(out, hfft(x, size, last, norm))


def ihfftn(input, s=None, dim=None, norm=None, *, out=None):
    """The inverse of hfftn()."""
    x, sizes, dims, size, last = _last_apart(input, s, dim, 'ihfftn')
    x = ihfft(x, size, last, norm)
    return into(out, ifftn(x, sizes, dims, norm) if dims else x)


hfft2, ihfft2 = _two('hfft2', hfftn), _two('ihfft2', ihfftn)


def _shift(name):
    transform = getattr(_fft, name)

    def call(input, dim=None):
        x = check(input)
        if dim is not None:
            dim = dims_of(dim, x.ndim) if dim != () else ()
        return transform(x, axes=dim)
    call.__name__ = call.__qualname__ = name
    call.__doc__ = f'tenon.fft.{name}() along `dim`, all dimensions unless told.'
    return call


fftshift, ifftshift = _shift('fftshift'), _shift('ifftshift')


def _frequencies(function, n, d, out, dtype, device, requires_grad):
    dtype, device = defaults.settle(dtype, device)
    return finish(function(n, d=d, dtype=dtype, device=device), requires_grad, out)


def fftfreq(n, d=1.0, *, out=None, dtype=None, layout=None, device=None, requires_grad=False):
    """Frequencies of the entries of fft()."""
    return _frequencies(_fft.fftfreq, n, d, out, dtype, device, requires_grad)


def rfftfreq(n, d=1.0, *, out=None, dtype=None, layout=None, device=None, requires_grad=False):
    """Frequencies of the entries of rfft()."""
    return _frequencies(_fft.rfftfreq, n, d, out, dtype, device, requires_grad)
