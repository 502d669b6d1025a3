"""Pooling and its inverse."""
import functools
import math

from .... import _core
from ...._core import ops
from ...._errors import InvalidArgumentError, OutOfRangeError
from ..._common import cast, check, rank, broken
from .conv import _each


def _batched(name, x, rank_):
    ndim = check(x).ndim
    single = ndim == rank_ + 1
    if not single and ndim != rank_ + 2:
        raise InvalidArgumentError(f'[{name}] input has rank {ndim}, must be {rank_ + 1} or {rank_ + 2}')
    shape = x.shape
    if 0 in shape and 0 in shape[-rank_ - single:]:
        raise InvalidArgumentError(f'[{name}] only the batch may be empty: {shape}')
    return single, ops['unsqueeze'](x, 0) if single else x


def _windows(name, kernel_size, stride, padding, rank_, dilation=1):
    """Kernel, stride, padding and dilation for each dimension; those of plain numbers are remembered."""
    plain = kernel_size.__class__ is int and padding.__class__ is int and dilation.__class__ is int and (stride is None or stride.__class__ is int)
    return (_remembered_windows if plain else _checked_windows)(name, kernel_size, stride, padding, rank_, dilation)


def _checked_windows(name, kernel_size, stride, padding, rank_, dilation):
    kernel = _each(kernel_size, rank_, name)
    stride = kernel if stride is None or stride == [] or stride == () else _each(stride, rank_, name)
    padding, dilation = _each(padding, rank_, name), _each(dilation, rank_, name)
    if any(n <= 0 for n in (*kernel, *stride, *dilation)) or any(p < 0 or p > ((k - 1) * d + 1) // 2 for p, k, d in zip(padding, kernel, dilation)):
        raise InvalidArgumentError(f'[{name}] kernel {kernel}, stride {stride}, padding {padding} and dilation {dilation} do not fit')
    return kernel, stride, padding, dilation


_remembered_windows = functools.lru_cache(1024)(_checked_windows)


def _max_pool(rank_):
    name = f'max_pool{rank_}d'

    def call(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
        single, x = _batched(name, input, rank_)
        kernel, stride, padding, dilation = _windows(name, kernel_size, stride, padding, rank_, dilation)
        values, indices = ops['max_pool'](x, kernel, stride, padding, dilation, ceil_mode)
        if single:
            values, indices = ops['squeeze'](values, 0), ops['squeeze'](indices, 0) if return_indices else None
        return (values, indices) if return_indices else values
    call.__name__ = call.__qualname__ = name
    call.__doc__ = f'The largest element of each window over {rank_} dimension{"s" if rank_ > 1 else ""}; return_indices: and where it was.'
    return call


max_pool1d, max_pool2d, max_pool3d = _max_pool(1), _max_pool(2), _max_pool(3)


def _avg_pool(rank_):
    name = f'avg_pool{rank_}d'

    def call(input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None):
        if rank(check(input).dtype) < 2:
            found = call(cast(input, _core.float64), kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)
            return cast(ops['trunc'](found), input.dtype)
        single, x = _batched(name, input, rank_)
        kernel, stride, padding, _ = _windows(name, kernel_size, stride, padding, rank_)
        if divisor_override is None:
            found = ops['avg_pool'](x, kernel, stride, padding, ceil_mode, count_include_pad)
        elif divisor_override == 0:
            raise InvalidArgumentError(f'[{name}] divisor_override must not be 0')
        else:  # sums are means over the whole window, where cells beyond the edge count as 0
            out = [-(-(n + 2 * p - k) // s) if ceil_mode else (n + 2 * p - k) // s for n, k, s, p in zip(x.shape[2:], kernel, stride, padding)]
            out = [m - (m * s >= n + p) for m, n, s, p in zip(out, x.shape[2:], stride, padding)] if ceil_mode else out
            more = [max(m * s + k - n - 2 * p, 0) for m, n, k, s, p in zip(out, x.shape[2:], kernel, stride, padding)]
            x = ops['pad'](x, [each for d in reversed(range(rank_)) for each in (padding[d], padding[d] + more[d])])
            found = ops['avg_pool'](x, kernel, stride, [0] * rank_, False, True) * (math.prod(kernel) / divisor_override)
        return ops['squeeze'](found, 0) if single else found
    call.__name__ = call.__qualname__ = name
    call.__doc__ = f'The mean of each window over {rank_} dimension{"s" if rank_ > 1 else ""}.'
    return call


avg_pool2d, avg_pool3d, _avg_pool1d = _avg_pool(2), _avg_pool(3), _avg_pool(1)


def avg_pool1d(input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True):
    """The mean of each window over one dimension."""
    return _avg_pool1d(input, kernel_size, stride, padding, ceil_mode, count_include_pad)


def _adaptive(kind, rank_):
    name, op = f'adaptive_{kind}_pool{rank_}d', ops[f'adaptive_{kind}_pool']

    def call(input, output_size, return_indices=False):
        single, x = _batched(name, input, rank_)
        size = _each(output_size, rank_, name)
        size = tuple(n if want is None else want for n, want in zip(x.shape[2:], size))
        if any(n < 0 for n in size):
            raise InvalidArgumentError(f'[{name}] output_size {size}')
        found = op(x, size)
        found = found if kind == 'max' else (found,)
        found = tuple(ops['squeeze'](each, 0) if single else each for each in found)
        return found if return_indices and kind == 'max' else found[0]
    call.__name__ = call.__qualname__ = name
    call.__doc__ = f'As many windows over {rank_} dimension{"s" if rank_ > 1 else ""} as output_size says; None keeps a size.'
    return call


adaptive_max_pool1d, adaptive_max_pool2d, adaptive_max_pool3d = (_adaptive('max', r) for r in (1, 2, 3))


def _adaptive_avg(rank_):
    inner = _adaptive('avg', rank_)

    def call(input, output_size):
        return inner(input, output_size)
    call.__name__ = call.__qualname__ = inner.__name__
    call.__doc__ = inner.__doc__
    return call


adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d = (_adaptive_avg(r) for r in (1, 2, 3))


def _lp_pool(rank_):
    pool = (_avg_pool1d, avg_pool2d, avg_pool3d)[rank_ - 1]

    def call(input, norm_type, kernel_size, stride=None, ceil_mode=False):
        count = math.prod(_each(kernel_size, rank_, f'lp_pool{rank_}d'))
        found = pool(input ** norm_type, kernel_size, stride, 0, ceil_mode)
        return (ops['sign'](found) * ops['relu'](ops['abs'](found)) * count) ** (1.0 / norm_type)
    call.__name__ = call.__qualname__ = f'lp_pool{rank_}d'
    call.__doc__ = f'(Σ x^p)^(1/p) of each window over {rank_} dimension{"s" if rank_ > 1 else ""}.'
    return call


lp_pool1d, lp_pool2d, lp_pool3d = _lp_pool(1), _lp_pool(2), _lp_pool(3)


def _max_unpool(rank_):
    name = f'max_unpool{rank_}d'

    def call(input, indices, kernel_size, stride=None, padding=0, output_size=None):
        kernel, stride, padding, _ = _windows(name, kernel_size, stride, padding, rank_)
        if check(indices).dtype is not _core.int64 or indices.shape != check(input).shape:
            raise InvalidArgumentError(f'[{name}] indices {indices.dtype} {indices.shape} for input {input.shape}')
        single, x = _batched(name, input, rank_)
        n, c, *size = x.shape
        full_size = [(m - 1) * s - 2 * p + k for m, s, p, k in zip(size, stride, padding, kernel)]
        if output_size is not None:
            wanted = list(output_size)[-rank_:]
            if any(not m - s < w < m + s for w, m, s in zip(wanted, full_size, stride)):
                raise InvalidArgumentError(f'[{name}] output_size {tuple(wanted)} does not fit {tuple(full_size)}')
            full_size = wanted
        count = math.prod(full_size)
        rows, at = (ops['reshape'](each, (n * c, math.prod(size))) for each in (x, indices))
        if broken((at < 0) | (at >= count)):
            raise OutOfRangeError(f'[{name}] an index is out of range for {tuple(full_size)}')
        zeros = ops['full']((n * c, count), 0, x.dtype, x.device)
        found = ops['reshape'](ops['scatter'](zeros, 1, at, rows), (n, c, *full_size))
        return ops['squeeze'](found, 0) if single else found
    call.__name__ = call.__qualname__ = name
    call.__doc__ = f'Elements put back to where max_pool{rank_}d() found them, 0 elsewhere.'
    return call


max_unpool1d, max_unpool2d, max_unpool3d = _max_unpool(1), _max_unpool(2), _max_unpool(3)


def _with_indices(pool):
    def call(*args, **kwargs):
        kwargs.pop('return_indices', None)
        return pool(*args, **kwargs, return_indices=True)
    call.__name__ = call.__qualname__ = pool.__name__ + '_with_indices'
    call.__doc__ = f'(values, indices) of {pool.__name__}().'
    return call


max_pool1d_with_indices, max_pool2d_with_indices, max_pool3d_with_indices = map(_with_indices, (max_pool1d, max_pool2d, max_pool3d))
adaptive_max_pool1d_with_indices, adaptive_max_pool2d_with_indices, adaptive_max_pool3d_with_indices = map(
    _with_indices, (adaptive_max_pool1d, adaptive_max_pool2d, adaptive_max_pool3d))
