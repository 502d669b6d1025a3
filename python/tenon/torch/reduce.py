"""Sums, extrema and norms over dimensions, and cumulative ones along a dimension."""
import builtins
import math
from typing import Any

from .. import _core
from .._core import ops
from .._errors import InvalidArgumentError, OutOfRangeError, UnsupportedDtypeError
from ._backward_names import named
from ._common import Tensor, at_least_1d, cast, check, dim_of, dims_of, floating, full, into, rank
from ._shortcuts import short
from .arithmetic import maximum, minimum
from .return_types import returned

_where, _gather, _slice = ops['where'], ops['gather'], ops['slice']
_MinMax = returned('aminmax')


def _over(op, x, dim, keepdim, *more):
    """op over dims; rank 0 accepts dims too."""
    if x.ndim and (dim is None or type(dim) is int):  # the op itself reports such a dim if it is out of range
        return op(x, dim, keepdim, *more)
    dims = dims_of(dim, x.ndim)
    return op(x, dims, keepdim, *more) if x.ndim else op(x, None, False, *more)


def _wide(x, dtype, out=None):
    """The dtype to add up in: of `out=`, or int64 for integers."""
    return dtype or (out.dtype if isinstance(out, Tensor) and rank(out.dtype) else None) or (_core.int64 if rank(check(x).dtype) < 2 else None)


@short
def sum(input, dim=None, keepdim=False, *, dtype=None, out=None):
    """The sum over dimensions, by default over all elements; integers give int64."""
    return into(out, _over(ops['sum'], check(input), dim, keepdim, _wide(input, dtype, out)))


def nansum(input, dim=None, keepdim=False, *, dtype=None, out=None):
    """sum() with NaN counted as 0."""
    if rank(check(input).dtype) == 3:
        raise UnsupportedDtypeError('[nansum] is not defined for complex numbers')
    if rank(input.dtype) < 2:
        return sum(input, dim, keepdim, dtype=dtype, out=out)
    x = cast(input, dtype) if dtype and rank(dtype) == 2 else input
    return into(out, cast(_over(ops['nansum'], x, dim, keepdim), dtype))


@short
def prod(input, dim=None, keepdim=False, *, dtype=None, out=None):
    """The product over a dimension, by default over all elements; integers give int64."""
    if dim is not None:
        dim = dim_of(dim, check(input).ndim)
    return into(out, _over(ops['prod'], check(input), dim, keepdim, _wide(input, dtype, out)))


@short
def mean(input, dim=None, keepdim=False, *, dtype=None, out=None):
    """The mean over dimensions of floating or complex numbers."""
    x = cast(check(input), dtype)
    if rank(x.dtype) < 2:
        raise UnsupportedDtypeError(f'[mean] needs floating or complex numbers, not {x.dtype}: give dtype=')
    return into(out, _over(ops['mean'], x, dim, keepdim))


def nanmean(input, dim=None, keepdim=False, *, dtype=None, out=None):
    """mean() of the elements that are not NaN."""
    x = cast(check(input), dtype)
    if rank(x.dtype) != 2:
        raise UnsupportedDtypeError(f'[nanmean] needs floating numbers, not {x.dtype}')
    return into(out, nansum(x, dim, keepdim) / sum(x == x, dim, keepdim))  # how many are not NaN


def _filled(x, dims, name):
    if not x.size and (not dims or builtins.any(x.shape[d] == 0 for d in dims)):
        raise OutOfRangeError(f'[{name}] over no elements has no result: shape {x.shape}')
    if rank(x.dtype) == 3:
        raise UnsupportedDtypeError(f'[{name}] is not defined for complex numbers')


@short
def amax(input, dim=(), keepdim=False, *, out=None):
    """The largest elements over dimensions; equal ones share the gradient."""
    _filled(check(input), dims_of(dim, input.ndim), 'amax')
    return into(out, _over(ops['max'], input, dim, keepdim), True)


@short
def amin(input, dim=(), keepdim=False, *, out=None):
    """The smallest elements over dimensions; equal ones share the gradient."""
    _filled(check(input), dims_of(dim, input.ndim), 'amin')
    return into(out, _over(ops['min'], input, dim, keepdim), True)


def aminmax(input, *, dim=None, keepdim=False, out=None):
    """(min, max) over a dimension, by default over all elements."""
    if dim is not None:
        dim = dim_of(dim, check(input).ndim)
    dim = () if dim is None else dim
    return into(out, _MinMax(amin(input, dim, keepdim), amax(input, dim, keepdim)), True)


def _at(kind, x, index, dim, keepdim):
    """Elements at an index along dim; the index has that dim."""
    found = _gather(x, dim, index)
    return kind(found, index) if keepdim else kind(ops['squeeze'](found, dim), ops['squeeze'](index, dim))


def _extreme(name, op, arg, elementwise):
    kind, step = returned(name), f'{name.capitalize()}Backward0'

    def call(input, dim=None, keepdim=False, *, other=None, out=None):
        if other is not None or isinstance(dim, Tensor):
            return elementwise(input, dim if other is None else other, out=out)
        if dim is None:
            _filled(check(input), (), name)
            return into(out, op(input))
        dim = dim_of(dim, check(input).ndim)
        if not input.ndim:
            return into(out, kind(ops['clone'](input), full((), 0, input, _core.int64)))
        _filled(input, (dim,), name)
        found = _at(kind, input, arg(input, dim, True), dim, keepdim)
        named(found[0], step, input)
        return into(out, found)
    call.__name__ = call.__qualname__ = name
    call.__doc__ = f'{name}(input): of all elements; {name}(input, dim): (values, indices); {name}(input, other): of two.'
    return short(call)


max = _extreme('max', ops['max'], ops['argmax'], maximum)
min = _extreme('min', ops['min'], ops['argmin'], minimum)


def _arg(name, op):
    def call(input, dim=None, keepdim=False, *, out=None):
        check(input)
        if dim is not None and not input.ndim:
            dim_of(dim, 0)
            return into(out, full((), 0, input, _core.int64))
        if dim is None:
            _filled(input, (), name)
            index = op(ops['reshape'](input, (-1,)) if input.size else input)
            return into(out, ops['reshape'](index, (1,) * input.ndim) if keepdim else index)
        _filled(input, (dim_of(dim, input.ndim),), name)
        return into(out, op(input, dim, keepdim))
    call.__name__ = call.__qualname__ = name
    call.__doc__ = f'The index of {name[3:]}() along a dimension, or among all elements.'
    return short(call)


argmax, argmin = _arg('argmax', ops['argmax']), _arg('argmin', ops['argmin'])


def all(input, dim=None, keepdim=False, *, out=None):
    """Whether all elements are not 0."""
    return into(out, _logical(ops['all'], check(input), dim, keepdim))


def any(input, dim=None, keepdim=False, *, out=None):
    """Whether any element is not 0."""
    return into(out, _logical(ops['any'], check(input), dim, keepdim))


def _logical(op, x, dim, keepdim):
    found = op(x, None, keepdim) if dim is None else op(x, (), keepdim) if dim == () else _over(op, x, dim, keepdim)
    return cast(found, _core.uint8) if x.dtype is _core.uint8 else found


def count_nonzero(input, dim=None, *more):
    """How many elements are not 0."""
    dim = (dim, *more) if more else dim
    return _over(ops['count_nonzero'], check(input), dim, False)


def _spread(op, input, dim, unbiased, correction, keepdim, name):
    if rank(check(input).dtype) < 2:
        raise UnsupportedDtypeError(f'[{name}] needs floating or complex numbers, not {input.dtype}')
    if isinstance(dim, bool):  # var(x, unbiased)
        dim, unbiased = None, dim
    if unbiased is not None and correction is not None:
        raise TypeError(f'[{name}] takes unbiased or correction')
    if correction is None:
        correction = 1 if unbiased is None else int(unbiased)
    if rank(input.dtype) == 3:
        mean_ = _over(ops['mean'], input, dim, True)
        gap = ops['abs'](input - mean_) ** 2
        count = math.prod(input.shape[d] for d in dims_of(dim, input.ndim))
        left = count - correction
        found = sum(gap, dim, keepdim) / (left if left > 0 else 0.0)
        return found if op is ops['var'] else ops['sqrt'](found)
    dims = dims_of(dim, input.ndim)
    return op(input, dims, correction, keepdim) if input.ndim else op(ops['reshape'](input, (1,)), None, correction)


def var(input, dim=None, unbiased=None, keepdim=False, *, correction=None, out=None):
    """The variance over N - correction, by default 1."""
    return into(out, _spread(ops['var'], input, dim, unbiased, correction, keepdim, 'var'))


def std(input, dim=None, unbiased=None, keepdim=False, *, correction=None, out=None):
    """The root of var()."""
    return named(into(out, _spread(ops['std'], input, dim, unbiased, correction, keepdim, 'std')), 'StdBackward0', input)


def var_mean(input, dim=None, unbiased=None, keepdim=False, *, correction=None, out=None):
    """(var, mean)."""
    found = named(var(input, dim, unbiased, keepdim, correction=correction), 'VarMeanBackward0', input)
    return into(out, (found, mean(input, None if isinstance(dim, bool) else dim, keepdim)))


def std_mean(input, dim=None, unbiased=None, keepdim=False, *, correction=None, out=None):
    """(std, mean)."""
    found = named(std(input, dim, unbiased, keepdim, correction=correction), 'StdMeanBackward0', input)
    return into(out, (found, mean(input, None if isinstance(dim, bool) else dim, keepdim)))


@short
def logsumexp(input, dim, keepdim=False, *, out=None):
    """log Σ exp(x), without overflow."""
    x = floating(input)
    if rank(x.dtype) == 3:
        peak = _over(ops['max'], ops['real'](x), dim, True).detach()
        peak = _where(ops['isfinite'](peak), peak, 0)
        total = ops['log'](_over(ops['sum'], ops['exp'](x - peak), dim, True)) + peak
        dims = dims_of(dim, x.ndim)
        return into(out, total if keepdim or not dims else ops['squeeze'](total, dims))
    return into(out, _over(ops['logsumexp'], x, dim, keepdim))


def norm(input, p: Any = 'fro', dim=None, keepdim=False, out=None, dtype=None):
    """Vector norms over dimensions if p is a number; 'fro' and 'nuc' are norms of matrices."""
    from . import linalg
    x = cast(check(input), dtype)
    if p == 'fro' and type(dim) is int and x.ndim and rank(x.dtype) >= 2:  # the most common case
        return into(out, ops['norm'](x, 2.0, dim, keepdim))
    if isinstance(p, str):
        if p == 'nuc':
            dim = (0, 1) if dim is None else dim
            return into(out, linalg.matrix_norm(x, 'nuc', dim, keepdim))
        if p != 'fro':
            raise InvalidArgumentError(f"[norm] p is a number, 'fro' or 'nuc', not {p!r}")
        p = 2
    if dim is not None and not isinstance(dim, (tuple, list)):
        dim = (dim,)
    return into(out, linalg.vector_norm(x, 2 if p is None else p, dim, keepdim))


def renorm(input, p, dim, maxnorm, *, out=None):
    """input with slices along dim scaled down to a p-norm of maxnorm if theirs is larger."""
    if check(input).ndim < 2:
        raise InvalidArgumentError('[renorm] needs at least two dimensions')
    if p <= 0 or maxnorm < 0:
        raise InvalidArgumentError(f'[renorm] p {p} must be positive and maxnorm {maxnorm} not negative')
    dim = dim_of(dim, input.ndim)
    size = norm(input, p, tuple(d for d in range(input.ndim) if d != dim), True)
    return into(out, input * cast(_where(size > maxnorm, maxnorm / (size + 1e-7), 1.0), input.dtype))


def _running(name):
    op = ops[name]

    def call(input, dim, *, dtype=None, out=None):
        dim = dim_of(dim, check(input).ndim)
        x = cast(input, _wide(input, dtype, out))
        return into(out, cast(op(x, dim) if x.ndim else ops['clone'](x), dtype))
    call.__name__ = call.__qualname__ = name
    call.__doc__ = f'Running {"sums" if name == "cumsum" else "products"} along a dimension; integers give int64.'
    return short(call)


cumsum, cumprod = _running('cumsum'), _running('cumprod')


def cummax(input, dim, *, out=None):
    """The largest elements so far along a dimension: (values, indices)."""
    return into(out, _running_extreme('cummax', input, dim))


def cummin(input, dim, *, out=None):
    """The smallest elements so far along a dimension: (values, indices)."""
    return into(out, _running_extreme('cummin', input, dim))


def _running_extreme(name, x, dim):
    kind = returned(name)
    dim = dim_of(dim, check(x).ndim)
    if not x.ndim:
        return kind(ops['clone'](x), full((), 0, x, _core.int64))
    return kind(*ops[name](x, dim))


def logcumsumexp(input, dim, *, out=None):
    """The logarithm of the cumulative sums of exp(x) along a dimension."""
    x = check(input)
    if rank(x.dtype) < 2:
        raise UnsupportedDtypeError('[logcumsumexp] needs floating numbers')
    dim = dim_of(dim, x.ndim)
    if not x.ndim or not x.size:
        return into(out, ops['clone'](x))
    from .arithmetic import logaddexp
    if rank(x.dtype) == 3:  # sequentially, because the order determines multiples of 2π
        parts = [ops['select'](x, dim, 0)]
        for i in range(1, x.shape[dim]):
            parts.append(logaddexp(parts[-1], ops['select'](x, dim, i)))
        return into(out, ops['stack'](parts, dim))
    # Sums of 2, 4, 8 … entries (Hillis and Steele 1986), exact however far apart the values are.
    n, step = x.shape[dim], 1
    while step < n:
        first, before, after = (ops['slice'](x, dim, *ends) for ends in ((0, step), (0, n - step), (step, n)))
        x = ops['concat']([first, logaddexp(after, before)], dim)
        step *= 2
    return named(into(out, ops['clone'](x) if x is input else x), 'LogcumsumexpBackward0', input)


def diff(input, n=1, dim=-1, prepend=None, append=None, *, out=None):
    """Differences of neighbours along a dimension, n times."""
    x = check(input)
    if not x.ndim:
        raise InvalidArgumentError('[diff] needs at least one dimension')
    dim = dim_of(dim, x.ndim)
    if n < 0:
        raise InvalidArgumentError(f'[diff] n is {n}, must not be negative')
    if not n:
        return into(out, ops['clone'](x))
    if prepend is not None or append is not None:
        parts = []
        for part in (prepend, x, append):
            if part is not None:
                if part.ndim != x.ndim and part.ndim:
                    raise InvalidArgumentError('[diff] prepend and append need the rank of input')
                parts.append(part if part.ndim else ops['expand'](part, (*x.shape[:dim], 1, *x.shape[dim + 1:])))
        x = ops['concat'](parts, dim)
    size = x.shape[dim]
    for last in range(size - 1, builtins.max(size - 1 - n, -1), -1):
        later, earlier = _slice(x, dim, 1, last + 1), _slice(x, dim, 0, last)
        x = ops['logical_xor'](later, earlier) if x.dtype is _core.bool else later - earlier
    return into(out, x)


def _sides(name, y, x, dx, dim):
    """The sums of neighbours, the distances between them, and dim."""
    dim = dim_of(dim, check(y).ndim)
    if not y.ndim:
        raise OutOfRangeError(f'[{name}] needs at least one dimension')
    if y.dtype is _core.bool or (isinstance(x, Tensor) and x.dtype is _core.bool):
        raise InvalidArgumentError(f'[{name}] is not defined for bool')
    n = y.shape[dim]
    if x is not None:
        if x.ndim == 1 and y.ndim > 1:
            if x.shape[0] != n:
                raise InvalidArgumentError(f'[{name}] {x.shape[0]} places for {n} entries')
            x = ops['reshape'](x, tuple(x.shape[0] if d == dim else 1 for d in range(y.ndim)))
            dx = ops['slice'](x, dim, 1, n) - ops['slice'](x, dim, 0, n - 1)
        else:
            at = dim - y.ndim
            m = x.shape[at]
            dx = ops['slice'](x, at, 1, m) - ops['slice'](x, at, 0, m - 1)
    if not n:
        return ops['slice'](y, dim, 0, 0) * 1.0, 1, dim
    return ops['slice'](y, dim, 1, n) + ops['slice'](y, dim, 0, n - 1), dx, dim


def trapezoid(y, x=None, *, dx=1, dim=-1):
    """The integral along a dimension by trapezoids between places x, or at a distance dx."""
    if x is None and check(y).ndim and rank(y.dtype) >= 2 and y.shape[dim]:  # inner entries count twice
        dim = dim_of(dim, y.ndim)
        ends = ops['select'](y, dim, 0) + ops['select'](y, dim, y.shape[dim] - 1)
        return (ops['sum'](y, dim) - ends / 2) * dx
    both, dx, dim = _sides('trapezoid', y, x, dx, dim)
    return ops['sum'](both * dx, dim - y.ndim) / 2


trapz = trapezoid


def cumulative_trapezoid(y, x=None, *, dx=1, dim=-1):
    """The cumulative integral along a dimension by trapezoids."""
    both, dx, dim = _sides('cumulative_trapezoid', y, x, dx, dim)
    return ops['cumsum']((both * dx) / 2, dim - y.ndim)


def gradient(input, *, spacing: Any = 1, dim=None, edge_order=1):
    """Central differences along dimensions, one tensor for each; spacing holds numbers, or vectors of coordinates."""
    x, spacing = check(input), 1 if spacing is None else spacing
    if edge_order not in (1, 2):
        raise InvalidArgumentError('[gradient] edge_order is 1 or 2')
    dims = dims_of(dim, x.ndim) if dim != () else ()
    many = isinstance(spacing, (tuple, list))
    if many and len(spacing) != len(dims):
        raise InvalidArgumentError(f'[gradient] {len(spacing)} spacings for {len(dims)} dimensions')
    if x.dtype is _core.uint8:
        raise InvalidArgumentError('[gradient] is not defined for uint8')
    return tuple(_slope(x, d, spacing[i] if many else spacing, edge_order) for i, d in enumerate(dims))


def _slope(x, dim, spacing, edge_order):
    n = x.shape[dim]
    if n < edge_order + 1:
        raise InvalidArgumentError(f'[gradient] dim {dim} has {n} entries, must have at least {edge_order + 1}')
    x = floating(x)

    def part(begin, end):
        return ops['slice'](x, dim, begin, end)
    if isinstance(spacing, Tensor) and spacing.ndim:
        if spacing.shape != (n,):
            raise InvalidArgumentError(f'[gradient] {spacing.shape} coordinates for {n} entries')
        gap = ops['reshape'](spacing[1:] - spacing[:-1], tuple(n - 1 if d == dim else 1 for d in range(x.ndim)))
        before, after = ops['slice'](gap, dim, 0, n - 2), ops['slice'](gap, dim, 1, n - 1)
        first, last = ops['slice'](gap, dim, 0, 1), ops['slice'](gap, dim, n - 2, n - 1)
    else:
        before = after = first = last = spacing
    inner = (part(0, n - 2) * (-after / (before * (before + after))) + part(1, n - 1) * ((after - before) / (before * after))
             + part(2, n) * (before / (after * (before + after)))) if n > 2 else part(0, 0)
    left, right = (part(1, 2) - part(0, 1)) / first, (part(n - 1, n) - part(n - 2, n - 1)) / last
    if edge_order == 2:
        if isinstance(first, Tensor):
            d1, d2 = first, ops['slice'](after, dim, 0, 1)
            e1, e2 = ops['slice'](before, dim, n - 3, n - 2), last
        else:
            d1 = d2 = e1 = e2 = spacing
        left = (part(0, 1) * (-(2 * d1 + d2) / (d1 * (d1 + d2))) + part(1, 2) * ((d1 + d2) / (d1 * d2))
                - part(2, 3) * (d1 / (d2 * (d1 + d2))))
        right = (part(n - 3, n - 2) * (e2 / (e1 * (e1 + e2))) - part(n - 2, n - 1) * ((e1 + e2) / (e1 * e2))
                 + part(n - 1, n) * ((2 * e2 + e1) / (e2 * (e1 + e2))))
    return ops['concat']([cast(each, inner.dtype) for each in (left, inner, right)], dim)


@short
def softmax(input, dim, dtype=None, *, out=None):
    """exp(x) / Σ exp(x) along a dimension."""
    return into(out, _normal('softmax', input, dim, dtype))


@short
def log_softmax(input, dim, dtype=None, *, out=None):
    """The logarithm of softmax()."""
    return into(out, _normal('log_softmax', input, dim, dtype))


def _normal(name, x, dim, dtype):
    x = cast(check(x), dtype)
    if rank(x.dtype) != 2:
        raise UnsupportedDtypeError(f'[{name}] needs floating numbers, not {x.dtype}')
    dim = dim_of(dim, x.ndim)
    return ops[name](x, dim) if x.ndim else ops['reshape'](ops[name](at_least_1d(x), 0), ())
