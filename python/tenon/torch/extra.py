"""Rarely used functions of torch: older spellings, copies, numbers and shapes."""
import math
from typing import Any

from .. import _core
from .._core import ops
from .._creation import from_dlpack
from .._errors import InvalidArgumentError
from ._common import arange, broken, cast, check, dim_of, full, into, number_dtype
from .create import arange as _arange
from .join import split as _split
from .linalg import householder_product as orgqr
from .linalg import matrix_norm
from .nn.functional import affine_grid as _affine_grid
from .nn.functional import channel_shuffle as native_channel_shuffle
from .nn.functional import conv_tbc
from .nn.functional import grid_sampler as grid_sampler_2d
from .nn.functional import adaptive_max_pool1d_with_indices as adaptive_max_pool1d
from .nn.functional import max_pool1d_with_indices
from .pointwise import view_as_complex as view_as_complex_copy
from .pointwise import view_as_real as view_as_real_copy
from .reduce import norm as _norm
from .shape import select as _select

grid_sampler_3d = grid_sampler_2d

__all__ = ['adaptive_max_pool1d', 'affine_grid_generator', 'conv_tbc', 'detach', 'detach_copy', 'frobenius_norm', 'from_dlpack', 'get_device',
           'grid_sampler_2d', 'grid_sampler_3d', 'max_pool1d_with_indices', 'native_channel_shuffle', 'norm_except_dim', 'nuclear_norm', 'orgqr', 'range',
           'segment_reduce', 'select_copy', 'slice_copy', 'split_copy', 'sym_float', 'sym_int', 'sym_ite', 'sym_max',
           'sym_min', 'sym_not', 'sym_sqrt', 'sym_sum', 'to_dlpack', 'view_as_complex_copy', 'view_as_real_copy']


def detach(input):
    """input without its history; shares its memory."""
    return check(input).detach()


def detach_copy(input, *, out=None):
    """A copy of input without its history."""
    return into(out, ops['clone'](check(input).detach()))


def select_copy(input, dim, index, *, out=None):
    """select() as a copy."""
    return into(out, ops['clone'](_select(input, dim, index)))


def split_copy(input, split_size, dim=0, *, out=None):
    """split() as copies."""
    return into(out, tuple(map(ops['clone'], _split(input, split_size, dim))))


def slice_copy(input, dim=0, start=None, end=None, step=1, *, out=None):
    """input[start:end:step] along a dimension, as a copy."""
    return into(out, ops['clone'](ops['slice'](check(input), dim_of(dim, input.ndim), start, end, step)))


def range(start=0, end=None, step=1, *, out=None, dtype=None, layout=None, device=None, requires_grad=False):
    """start, start + step, … up to and including end, which arange() leaves out."""
    if end is None:
        start, end = 0, start
    count = math.floor((end - start) / step)
    return _arange(start, start + (count + 0.5) * step, step, out=out, dtype=dtype or (number_dtype(1.0) if out is None else out.dtype), device=device,
                   requires_grad=requires_grad)


def nuclear_norm(input, dim=(-2, -1), keepdim=False, *, out=None):
    """The sum of the singular values."""
    return matrix_norm(input, 'nuc', dim, keepdim, out=out)


def frobenius_norm(input, dim, keepdim=False, *, out=None):
    """The root of the sum of squares over dimensions."""
    return _norm(input, 2, dim, keepdim, out=out)


def norm_except_dim(v, pow=2, dim=0):
    """Norms over all dimensions but one; over all of them for dim -1."""
    if dim == -1:
        return _norm(v, pow)
    others = tuple(d for d in _places(v) if d != dim)
    return _norm(v, pow, others, True) if others else abs(v)


def _places(x):
    from builtins import range as numbers
    return numbers(x.ndim)


def affine_grid_generator(theta, size, align_corners):
    """nn.functional.affine_grid()."""
    return _affine_grid(theta, size, align_corners)


def get_device(input):
    """The index of the device; -1 for the host."""
    return -1 if check(input).device.type == 'cpu' else input.device.index


def to_dlpack(input):
    """A DLPack capsule; from_dlpack() also accepts the tensor itself."""
    x: Any = check(input)
    return x.__dlpack__()


_SEGMENTS = {'sum': 'sum', 'mean': 'mean', 'max': 'amax', 'min': 'amin', 'prod': 'prod'}
_STARTS = {'sum': 0.0, 'mean': math.nan, 'max': -math.inf, 'min': math.inf, 'prod': 1.0}  # the results of parts without elements


def segment_reduce(data, reduce, *, lengths=None, indices=None, offsets=None, axis=0, unsafe=False, initial=None):
    """Sums, means, maxima, minima or products of consecutive parts along the last dimension of lengths or offsets."""
    from .index import reduced_rows, scatter_reduce
    if reduce not in _SEGMENTS:
        raise InvalidArgumentError(f'[segment_reduce] reduce is one of {tuple(_SEGMENTS)}, not {reduce!r}')
    if (lengths is None) == (offsets is None) or indices is not None:
        raise InvalidArgumentError('[segment_reduce] give lengths or offsets')
    if axis != check(lengths if offsets is None else offsets).ndim - 1:
        raise InvalidArgumentError(f'[segment_reduce] axis {axis} must be the last dimension of lengths or offsets')
    if offsets is None:
        offsets = ops['pad'](ops['cumsum'](cast(lengths, _core.int64), -1), (1, 0))
    count, size = offsets.shape[-1] - 1, check(data).shape[axis]
    # Elements after the last part go to an extra part, which is dropped.
    if not unsafe and broken(ops['select'](offsets, -1, count) != size):
        raise InvalidArgumentError(f'[segment_reduce] lengths must add up to {size}')
    # The number of part ends before an element is the number of its part.
    ends = ops['slice'](offsets, -1, 1, count + 1)
    part = ops['searchsorted'](ends, ops['expand'](arange(size, data), (*ends.shape[:-1], size)), True)
    index = ops['expand'](ops['reshape'](part, (*part.shape, *(1,) * (data.ndim - axis - 1))), data.shape)
    start = _STARTS[reduce] if initial is None else float(initial)
    shape = (*data.shape[:axis], count + 1, *data.shape[axis + 1:])
    if reduce != 'mean' and axis == 0:
        found = reduced_rows(full(shape, start, data), part, data, _SEGMENTS[reduce], initial is not None)
        return ops['slice'](found, 0, 0, count)
    if reduce != 'mean':
        found = scatter_reduce(full(shape, start, data), axis, index, data, _SEGMENTS[reduce], include_self=initial is not None)
        return ops['slice'](found, axis, 0, count)
    total = scatter_reduce(full(shape, 0.0 if initial is None else start, data), axis, index, data, 'sum')
    total = ops['slice'](total, axis, 0, count)
    number = cast(ops['slice'](offsets, -1, 1, count + 1) - ops['slice'](offsets, -1, 0, count), data.dtype)
    number = ops['reshape'](number, (*number.shape, *(1,) * (data.ndim - axis - 1)))
    return ops['where'](number == 0, start, total / ops['where'](number == 0, 1, number))


def sym_float(a):
    """float(a)."""
    return float(a)


def sym_int(a):
    """int(a)."""
    return int(a)


def sym_not(a):
    """not a."""
    return not a


def sym_ite(b, t, f):
    """t if b else f."""
    return t if b else f


def sym_max(a, b):
    """max(a, b); a float if either is one."""
    return float(max(a, b)) if isinstance(a, float) or isinstance(b, float) else max(a, b)


def sym_min(a, b):
    """min(a, b); a float if either is one."""
    return float(min(a, b)) if isinstance(a, float) or isinstance(b, float) else min(a, b)


def sym_sqrt(a):
    """math.sqrt(a)."""
    return math.sqrt(a)


def sym_sum(args):
    """sum(args)."""
    return sum(args)
