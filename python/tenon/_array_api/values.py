"""Elementwise, searching, sorting, statistical and linear algebra functions of the Array API that are more than one op."""
import math
from collections import namedtuple

from .. import _core
from .._core import Tensor, ops
from .._creation import _check, _place
from .._errors import InvalidArgumentError
from .._names import accept_both_names
from .dtypes import kind_of
from .shapes import check_all, dim_of

_permute, _reshape = ops['permute'], ops['reshape']

unique_all_result = namedtuple('unique_all_result', 'values indices inverse_indices counts')
unique_counts_result = namedtuple('unique_counts_result', 'values counts')
unique_inverse_result = namedtuple('unique_inverse_result', 'values inverse_indices')


def positive(x, /):
    """A copy of x."""
    _check(x, 'positive')
    if x.dtype is _core.bool:
        raise InvalidArgumentError('[positive] not defined for bool')
    return ops['clone'](x)


def round(x, /):
    """Rounded to the nearest integer, halves to the even one; for complex numbers both parts."""
    if isinstance(x, Tensor) and kind_of(x.dtype) == 'complex floating':
        return ops['complex'](ops['round'](ops['real'](x)), ops['round'](ops['imag'](x)))
    return ops['round'](x)


round = _core.Shortcut(round, ops['round'], 'F', {})


def clip(x, /, min=None, max=None):
    """x limited to two bounds, numbers or tensors that broadcast; the dtype is that of x."""
    _check(x, 'clip')
    if not isinstance(min, Tensor) and not isinstance(max, Tensor):
        return ops['clamp'](x, min, max) if min is not None or max is not None else ops['clone'](x)
    out = x
    for bound, op in ((min, ops['maximum']), (max, ops['minimum'])):
        if bound is not None:
            out = op(out, _place(bound, x.dtype, None) if isinstance(bound, Tensor) else bound)
    return _place(out, x.dtype, None)


def nonzero(x, /):
    """The indices of the elements that are not 0: a vector of integers for each dimension."""
    _check(x, 'nonzero')
    if x.ndim == 0:
        raise InvalidArgumentError('[nonzero] needs at least one dimension')
    found = ops['nonzero'](x)
    return tuple(ops['select'](found, 1, i) for i in range(x.ndim))


def searchsorted(x1, x2, /, *, side='left', sorter=None, right=None):
    """Where in the sorted row x1 the elements of x2 belong: before equal ones ('left') or behind them ('right').

    The table's right=True is side='right'.
    """
    if right is not None:
        side = 'right' if right else 'left'
    if side not in ('left', 'right'):
        raise InvalidArgumentError(f"[searchsorted] side is 'left' or 'right', not {side!r}")
    if sorter is not None:
        x1 = ops['index_select'](x1, 0, sorter)
    return ops['searchsorted'](x1, x2, side == 'right')


def sort(x, /, axis=-1, descending=False, stable=True):
    """Sorted along an axis. The method x.sort(...) also returns the indices."""
    return ops['sort'](x, axis, descending, stable).values


def argsort(x, /, axis=-1, descending=False, stable=True):
    """The indices that sort along an axis."""
    return ops['argsort'](x, axis, descending, stable)


def _unique_complex(x):
    """The results of the op for complex numbers, ordered by real part, then by imaginary part."""
    x, n = _reshape(x.detach(), (x.size,)), x.size
    pick = ops['index_select']
    real, imag = ops['real'](x) + 0, ops['imag'](x) + 0  # -0 is 0
    order = ops['argsort'](imag)
    order = pick(order, 0, ops['argsort'](pick(real, 0, order)))
    real, imag = pick(real, 0, order), pick(imag, 0, order)
    first = ops['full']((n,), True, None, x.device)
    first[1:] = (real[1:] != real[:-1]) | (imag[1:] != imag[:-1])
    starts = ops['select'](ops['nonzero'](first), 1, 0)
    ends = ops['concat']([starts[1:], ops['full']((min(n, 1),), n, None, x.device)])
    indices = pick(order, 0, starts)
    inverse = ops['scatter'](order, 0, order, ops['cumsum'](first, 0) - 1)
    return pick(x, 0, indices), indices, inverse, ends - starts


def _unique(x):
    if not (isinstance(x, Tensor) and kind_of(x.dtype) == 'complex floating'):
        return ops['unique'](x)
    values, indices, inverse, counts = _unique_complex(x)
    return values, indices, _reshape(inverse, x.shape), counts


def unique_all(x, /):
    """Distinct values in order, where each first occurs, which of them each element is, and how often each occurs."""
    return unique_all_result(*_unique(x))


def unique_counts(x, /):
    """Distinct values in order, and how often each occurs."""
    values, _, _, counts = _unique(x)
    return unique_counts_result(values, counts)


def unique_inverse(x, /):
    """Distinct values in order, and which of them each element is."""
    values, _, inverse, _ = _unique(x)
    return unique_inverse_result(values, inverse)


def unique_values(x, /):
    """Distinct values in order."""
    return _unique(x)[0]


def var(x, /, axis=None, correction=0.0, keepdims=False):
    """Mean square of the distances from the mean, over N - correction. The method x.var(...) uses a correction of 1."""
    return ops['var'](x, axis, correction, keepdims)


def std(x, /, axis=None, correction=0.0, keepdims=False):
    """Square root of var(). The method x.std(...) uses a correction of 1."""
    return ops['std'](x, axis, correction, keepdims)


def _cumulative(op, first, x, axis, dtype, include_initial):
    name = 'cumulative_sum' if first == 0 else 'cumulative_prod'
    _check(x, name)
    if axis is None:
        if x.ndim != 1:
            raise InvalidArgumentError(f'[{name}] a tensor of rank {x.ndim} needs an axis')
        axis = 0
    axis = dim_of(axis, x.ndim, name)
    out = op(x, axis, dtype)
    if not include_initial:
        return out
    shape = (*x.shape[:axis], 1, *x.shape[axis + 1:])
    return ops['concat']([ops['full'](shape, first, out.dtype, out.device), out], axis)


def cumulative_sum(x, /, axis=None, dtype=None, include_initial=False):
    """Sums of the first 1, 2, … entries along an axis; include_initial starts with 0."""
    return _cumulative(ops['cumsum'], 0, x, axis, dtype, include_initial)


def cumulative_prod(x, /, axis=None, dtype=None, include_initial=False):
    """Products of the first 1, 2, … entries along an axis; include_initial starts with 1."""
    return _cumulative(ops['cumprod'], 1, x, axis, dtype, include_initial)


def diff(x, /, n=1, axis=-1, prepend=None, append=None):
    """Differences of neighbours along an axis, n times."""
    _check(x, 'diff')
    axis = dim_of(axis, x.ndim, 'diff')
    if isinstance(n, bool) or not isinstance(n, int):
        raise TypeError(f'[diff] n must be an int, not {type(n).__name__}')
    if n < 0:
        raise InvalidArgumentError(f'[diff] n is {n}, must be at least 0')
    parts = [each for each in (prepend, x, append) if each is not None]
    if len(parts) > 1:
        x = ops['concat'](check_all(parts, 'diff'), axis)
    cut = ops['slice']
    for _ in range(min(n, x.shape[axis])):
        size = x.shape[axis]
        x = ops['sub'](cut(x, axis, 1, size), cut(x, axis, 0, size - 1))
    return x


def matrix_transpose(x, /):
    """The last two dimensions exchanged; a view."""
    _check(x, 'matrix_transpose')
    return x.mT


def _axes_of(axes, x1, x2):
    if isinstance(axes, (tuple, list)):
        if len(axes) != 2:
            raise InvalidArgumentError(f'[tensordot] axes are an int or two sequences, not {len(axes)}')
        pairs = [[dim_of(axis, x.ndim, 'tensordot') for axis in each] for each, x in zip(axes, (x1, x2))]
    else:
        if isinstance(axes, bool) or not isinstance(axes, int):
            raise TypeError(f'[tensordot] axes must be an int or two sequences, not {type(axes).__name__}')
        if not 0 <= axes <= min(x1.ndim, x2.ndim):
            raise InvalidArgumentError(f'[tensordot] {axes} axes of tensors of rank {x1.ndim} and {x2.ndim}')
        pairs = [list(range(x1.ndim - axes, x1.ndim)), list(range(axes))]
    if [x1.shape[i] for i in pairs[0]] != [x2.shape[i] for i in pairs[1]]:
        raise InvalidArgumentError(f'[tensordot] axes {axes} of shapes {x1.shape} and {x2.shape} differ in size')
    return pairs


def tensordot(x1, x2, /, *, axes=2):
    """Products summed over the last axes of x1 and the first of x2, or over the axes of two sequences."""
    check_all((x1, x2), 'tensordot')
    first, second = _axes_of(axes, x1, x2)
    left = [i for i in range(x1.ndim) if i not in first]
    right = [i for i in range(x2.ndim) if i not in second]
    rows, inner = math.prod(x1.shape[i] for i in left), math.prod(x1.shape[i] for i in first)
    columns = math.prod(x2.shape[i] for i in right)
    out = ops['matmul'](_reshape(_permute(x1, left + first), (rows, inner)),
                        _reshape(_permute(x2, second + right), (inner, columns)))
    return _reshape(out, [x1.shape[i] for i in left] + [x2.shape[i] for i in right])


def vecdot(x1, x2, /, axis=-1):
    """Dot products along an axis, x1 conjugated; the other dimensions broadcast."""
    check_all((x1, x2), 'vecdot')
    low = min(x1.ndim, x2.ndim)
    axis = dim_of(axis, low, 'vecdot') - low
    if x1.shape[axis] != x2.shape[axis]:
        raise InvalidArgumentError(f'[vecdot] axis {axis} of shapes {x1.shape} and {x2.shape} differs in size')
    rows, columns = ([*range(x.ndim + axis), *range(x.ndim + axis + 1, x.ndim), x.ndim + axis] for x in (x1, x2))
    if kind_of(x1.dtype) == 'complex floating':
        x1 = ops['conj'](x1)
    left, right = ops['unsqueeze'](_permute(x1, rows), -2), ops['unsqueeze'](_permute(x2, columns), -1)
    return ops['squeeze'](ops['matmul'](left, right), (-2, -1))


__all__ = ['positive', 'round', 'clip', 'nonzero', 'searchsorted', 'sort', 'argsort', 'unique_all',
           'unique_counts', 'unique_inverse', 'unique_values', 'var', 'std', 'cumulative_sum', 'cumulative_prod', 'diff',
           'matrix_transpose', 'tensordot', 'vecdot']
accept_both_names(globals(), __all__)
