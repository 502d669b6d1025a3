"""Fractional max pooling (Graham 2014): windows of one size at random, fractional distances."""
import math

from ...._core import ops
from ...._errors import InvalidArgumentError, UnsupportedDtypeError
from ..._common import arange, cast, check, rank
from .conv import _each
from .pool import _batched

__all__ = ['fractional_max_pool2d', 'fractional_max_pool2d_with_indices', 'fractional_max_pool3d', 'fractional_max_pool3d_with_indices']


def _starts(sample, size, kernel, count):
    """Where windows begin along a dimension, (N, C, count): ⌊(i + u) α⌋ - ⌊u α⌋; the last one ends at the border."""
    index = arange(count, sample)
    if count == 1:
        return index + cast(ops['unsqueeze'](sample * 0, -1), index.dtype) + (size - kernel)
    step = (size - kernel) / (count - 1)
    offset = ops['unsqueeze'](sample, -1)
    found = ops['trunc']((cast(index, sample.dtype) + offset) * step) - ops['trunc'](offset * step)
    return ops['where'](index == count - 1, size - kernel, cast(found, index.dtype))


def _sizes(name, shape, kernel, output_size, output_ratio):
    if (output_size is None) == (output_ratio is None):
        raise InvalidArgumentError(f'[{name}] give either output_size or output_ratio')
    if output_size is None:
        ratio = output_ratio if isinstance(output_ratio, (tuple, list)) else (output_ratio,) * len(shape)
        if len(ratio) != len(shape) or not all(0 < each < 1 for each in ratio):
            raise InvalidArgumentError(f'[{name}] output_ratio {output_ratio} must be {len(shape)} numbers between 0 and 1')
        sizes = tuple(int(n * each) for n, each in zip(shape, ratio))
    else:
        sizes = tuple(_each(output_size, len(shape), name))
    if any(k < 1 or m < 1 or k + m - 1 > n for n, k, m in zip(shape, kernel, sizes)):
        raise InvalidArgumentError(f'[{name}] {sizes} windows of {tuple(kernel)} do not fit into {tuple(shape)}')
    return sizes


def _pool(name, input, rank_, kernel_size, output_size, output_ratio, samples):
    """(values, indices): positions of all windows at once, (N, C, windows, kernel)."""
    single, x = _batched(name, input, rank_)
    if rank(x.dtype) != 2:
        raise UnsupportedDtypeError(f'[{name}] needs floating numbers, not {x.dtype}')
    kernel, (N, C, *shape) = _each(kernel_size, rank_, name), x.shape
    sizes = _sizes(name, shape, kernel, output_size, output_ratio)
    if samples is None:
        samples = ops['uniform']((N, C, rank_), 0.0, 1.0, x.dtype, x.device)
    elif samples.ndim != 3 or samples.shape[0] < N or samples.shape[1:] != (C, rank_):
        raise InvalidArgumentError(f'[{name}] _random_samples has shape {samples.shape}, must be ({N}, {C}, {rank_})')
    places = ops['reshape'](arange(1, x), (1,) * (2 + 2 * rank_))
    for d in range(rank_):
        sample = ops['select'](ops['slice'](samples, 0, 0, N), -1, rank_ - 1 - d if rank_ == 2 else d)  # in 2d the first sample is for
                                                                                                        # the width
        wide = (*(1,) * d, sizes[d], *(1,) * (rank_ - 1), kernel[d], *(1,) * (rank_ - 1 - d))
        at = ops['unsqueeze'](_starts(sample, shape[d], kernel[d], sizes[d]), -1) + arange(kernel[d], x)
        places = places * shape[d] + ops['reshape'](at, (N, C, *wide))
    windows = math.prod(sizes)
    places = ops['reshape'](places, (N, C, windows, math.prod(kernel)))
    flat = ops['reshape'](x, (N, C, math.prod(shape)))
    found = ops['reshape'](ops['gather'](flat, -1, ops['reshape'](places, (N, C, windows * math.prod(kernel)))), places.shape)
    best = ops['argmax'](found.detach(), -1, True)
    shape = (C, *sizes) if single else (N, C, *sizes)
    return tuple(ops['reshape'](ops['gather'](each, -1, best), shape) for each in (found, places))


def _fractional(rank_, always):
    name = f'fractional_max_pool{rank_}d'

    def call(input, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None):
        found = _pool(name, check(input), rank_, kernel_size, output_size, output_ratio, _random_samples)
        return found if always or return_indices else found[0]
    call.__name__ = call.__qualname__ = name + '_with_indices' * always
    call.__doc__ = f'The largest element of windows that lie randomly over {rank_} dimensions{", and where it was" if always else ""}.'
    return call


fractional_max_pool2d, fractional_max_pool2d_with_indices = _fractional(2, False), _fractional(2, True)
fractional_max_pool3d, fractional_max_pool3d_with_indices = _fractional(3, False), _fractional(3, True)
