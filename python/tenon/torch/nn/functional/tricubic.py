"""grid_sample() of volumes by cubic convolution (Keys 1981, a = -3/4) along each of three dimensions."""
import math

from ...._core import ops
from ...._errors import InvalidArgumentError
from ..._common import arange, cast, check
from .resampling import cubic_weights

_where = ops['where']


def _reflected(at, size, align_corners):
    """Positions outside, mirrored at the centres of the outer elements or at their edges."""
    low, span = (0.0, size - 1) if align_corners else (-0.5, size)
    if not span:
        return 0 * at
    way = ops['remainder'](at - low, 2.0 * span)
    return ops['clamp'](_where(way > span, 2 * span - way, way) + low, 0, size - 1)


def _axis(place, size, padding_mode, align_corners):
    """(index, weight) of four neighbours along a dimension: (N, places, 4)."""
    at = (place + 1) / 2 * (size - 1) if align_corners else ((place + 1) * size - 1) / 2
    floor = ops['floor'](at.detach())
    taps = ops['unsqueeze'](floor, -1) + cast(arange(4, at) - 1, at.dtype)
    weight = ops['stack'](list(cubic_weights(at - floor)), -1)
    if padding_mode == 'zeros':
        weight = _where((taps >= 0) & (taps < size), weight, 0)
    elif padding_mode == 'reflection':
        taps = _reflected(taps, size, align_corners)
    return cast(ops['clamp'](taps, 0, size - 1), arange(1, at).dtype), weight


def tricubic(input, grid, padding_mode, align_corners):
    """input (N, C, D, H, W) at grid (N, …, 3), whose last dimension holds x, y, z."""
    if padding_mode not in ('zeros', 'border', 'reflection'):
        raise InvalidArgumentError(f"[grid_sample] padding_mode is 'zeros', 'border' or 'reflection', not {padding_mode!r}")
    if check(grid).ndim != 5 or grid.shape[0] != input.shape[0] or grid.shape[-1] != 3 or grid.dtype is not input.dtype:
        raise InvalidArgumentError(f'[grid_sample] input {input.shape} and grid {grid.shape} of {grid.dtype} do not fit')
    (N, C, *size), places = input.shape, math.prod(grid.shape[1:-1])
    points = ops['reshape'](grid, (N, places, 3))
    index = weight = None
    for d in range(3):
        at, factor = _axis(ops['select'](points, -1, 2 - d), size[d], padding_mode, align_corners)
        if index is None:
            index, weight = at, factor
        else:  # all neighbours so far, combined with four more each
            index = ops['reshape'](ops['unsqueeze'](index * size[d], -1) + ops['unsqueeze'](at, -2), (N, places, 4 ** (d + 1)))
            weight = ops['reshape'](ops['unsqueeze'](weight, -1) * ops['unsqueeze'](factor, -2), (N, places, 4 ** (d + 1)))
    flat = ops['reshape'](input, (N, C, math.prod(size)))
    wide = ops['expand'](ops['reshape'](index, (N, 1, places * 64)), (N, C, places * 64))
    found = ops['reshape'](ops['gather'](flat, -1, wide), (N, C, places, 64)) * ops['unsqueeze'](weight, 1)
    return ops['reshape'](ops['sum'](found, -1), (N, C, *grid.shape[1:-1]))
