"""Padding, resampling, and moving pixels to channels and back."""
import math

from .... import _core
from ...._creation import apart
from ...._errors import InvalidArgumentError, UnsupportedDtypeError
from ....nn import functional as _functional
from ...._core import ops
from ..._backward_names import named
from ..._common import cast, check, full, rank
from .antialias import antialiased
from .conv import _each
from .resampling import cubic_weights, scale_of

affine_grid = _functional.affine_grid


_PADS = {'reflect': 'ReflectionPad', 'replicate': 'ReplicationPad'}


def pad(input, pad, mode='constant', value=None):
    """Entries added before and after the last dimensions: (left, right, top, bottom, …); negative numbers cut."""
    pad = list(pad)
    if len(pad) % 2 or len(pad) > 2 * check(input).ndim:
        raise InvalidArgumentError(f'[pad] {pad} for a tensor of rank {input.ndim}')
    if mode == 'constant':
        return constant_pad_nd(input, pad, 0 if value is None else value)
    if value is not None and value != 0:
        raise InvalidArgumentError(f'[pad] value is for mode constant, not {mode}')
    if mode not in ('reflect', 'replicate', 'circular'):
        raise InvalidArgumentError(f"[pad] mode is 'constant', 'reflect', 'replicate' or 'circular', not {mode!r}")
    dims = len(pad) // 2
    if input.ndim not in (dims + 1, dims + 2) or dims > 3:
        raise InvalidArgumentError(f'[pad] {mode} of {dims} dimensions of a tensor of rank {input.ndim}')
    if _fits(input.shape, pad, mode):
        found = ops['pad'](input, pad, mode)
        return found if mode == 'circular' else named(found, f'{_PADS[mode]}{dims}DBackward0')
    found = input
    for i in range(dims):
        found = _bent(found, input.ndim - 1 - i, pad[2 * i], pad[2 * i + 1], mode)
    return found


def _fits(shape, pad, mode):
    """Whether a single op can pad this way: nothing is cut, and the padding mirrors only entries that exist."""
    for i in range(len(pad) // 2):
        most = max(pad[2 * i], pad[2 * i + 1])
        if min(pad[2 * i], pad[2 * i + 1]) < 0 or mode != 'replicate' and most > shape[-1 - i] - (mode == 'reflect'):
            return False
    return 0 not in shape


def _bent(x, dim, before, after, mode):
    """x with its own entries before and after, selected by an index."""
    if mode == 'circular' and min(before, after) < 0:  # what is cut does not wrap around
        x = ops['slice'](x, dim, max(-before, 0), x.shape[dim] + min(after, 0))
        before, after = max(before, 0), max(after, 0)
    n = x.shape[dim]
    if mode != 'replicate' and max(before, after) > n - (mode == 'reflect') or n + before + after < 1 and x.size or not n:
        raise InvalidArgumentError(f'[pad] {mode} by {before} and {after} of {n} entries')
    if not before and not after:
        return x
    at = ops['arange'](-before, n + after, 1, None, x.device)
    if mode == 'replicate':
        at = ops['clamp'](at, 0, n - 1)
    elif mode == 'circular':
        at = ops['remainder'](at, n)
    else:
        at = (n - 1) - ops['abs']((n - 1) - ops['abs'](at))
    return ops['index_select'](x, dim, at)


def constant_pad_nd(input, pad, value=0):
    """pad() with one value."""
    pad = list(pad)
    if len(pad) % 2 or len(pad) > 2 * check(input).ndim:
        raise InvalidArgumentError(f'[pad] {pad} for a tensor of rank {input.ndim}')
    if min(pad, default=0) >= 0 and any(pad) and isinstance(value, (int, float)) and float(value) == value:
        return ops['pad'](input, pad, 'constant', value)
    found = input
    for i in range(len(pad) // 2):
        d, (before, after) = input.ndim - 1 - i, pad[2 * i:2 * i + 2]
        n = input.shape[d]
        if n + before + after < 0:
            raise InvalidArgumentError(f'[pad] by {before} and {after} of {n} entries')
        if before < 0 or after < 0:
            found = ops['slice'](found, d, max(-before, 0), n + min(after, 0))
        parts = [full((*found.shape[:d], k, *found.shape[d + 1:]), value, found) for k in (max(before, 0), max(after, 0))]
        parts = ([parts[0]] if before > 0 else []) + [found] + ([parts[1]] if after > 0 else [])
        found = ops['concat'](parts, d) if len(parts) > 1 else found
    return ops['clone'](input) if found is input else found


def _windows(name, *settings):
    """The kernel, dilation, padding and stride of both dimensions."""
    kernel, dilation, padding, stride = (_each(each, 2, name) for each in settings)
    if any(n <= 0 for n in (*kernel, *dilation, *stride)) or any(n < 0 for n in padding):
        raise InvalidArgumentError(f'[{name}] kernel {kernel}, dilation {dilation}, padding {padding}, stride {stride}: padding may be 0, '
                                   'the others must be positive')
    return kernel, dilation, padding, stride


def unfold(input, kernel_size, dilation=1, padding=0, stride=1):
    """Windows of (N, C, H, W) as columns: (N, C · kh · kw, windows)."""
    single = check(input).ndim == 3
    x = ops['unsqueeze'](input, 0) if single else input
    if x.ndim != 4 or 0 in x.shape[1:]:
        raise InvalidArgumentError(f'[unfold] input has shape {input.shape}, must be (N, C, H, W) or (C, H, W)')
    kernel, dilation, padding, stride = _windows('unfold', kernel_size, dilation, padding, stride)
    x = constant_pad_nd(x, (padding[1], padding[1], padding[0], padding[0])) if any(padding) else x
    counts = [(n - d * (k - 1) - 1) // s + 1 for n, k, d, s in zip(x.shape[2:], kernel, dilation, stride)]
    if min(counts) < 1:
        raise InvalidArgumentError(f'[unfold] no window of {kernel} fits into {x.shape[2:]}')
    parts = [ops['slice'](ops['slice'](x, 2, i * dilation[0], i * dilation[0] + stride[0] * (counts[0] - 1) + 1, stride[0]),
                          3, j * dilation[1], j * dilation[1] + stride[1] * (counts[1] - 1) + 1, stride[1])
             for i in range(kernel[0]) for j in range(kernel[1])]
    found = ops['reshape'](ops['stack'](parts, 2), (x.shape[0], x.shape[1] * len(parts), counts[0] * counts[1]))
    return named(ops['squeeze'](found, 0) if single else found, 'Im2ColBackward0', input)


def fold(input, output_size, kernel_size, dilation=1, padding=0, stride=1):
    """The sum of windows, given as columns (N, C · kh · kw, windows), at their positions: (N, C, H, W)."""
    single = check(input).ndim == 2
    x = ops['unsqueeze'](input, 0) if single else input
    size = _each(output_size, 2, 'fold')
    kernel, dilation, padding, stride = _windows('fold', kernel_size, dilation, padding, stride)
    wide = [n + 2 * p for n, p in zip(size, padding)]
    counts = [(n - d * (k - 1) - 1) // s + 1 for n, k, d, s in zip(wide, kernel, dilation, stride)]
    k = kernel[0] * kernel[1]
    if x.ndim != 3 or x.shape[1] % k or x.shape[2] != counts[0] * counts[1]:
        raise InvalidArgumentError(f'[fold] input has shape {input.shape}: {k} entries of {counts[0] * counts[1]} windows are needed')
    n, c = x.shape[0], x.shape[1] // k
    # The position of every entry in the padded plane.
    places = ops['reshape'](ops['arange'](0, wide[0] * wide[1], 1, None, x.device), (1, 1, *wide))
    at = ops['reshape'](unfold(places, kernel, dilation, 0, stride), (1, k * counts[0] * counts[1]))
    at = ops['expand'](at, (n * c, at.size))
    zeros = full((n * c, wide[0] * wide[1]), 0, x)
    found = ops['reshape'](ops['scatter_add'](zeros, 1, at, ops['reshape'](x, (n * c, at.shape[1]))), (n, c, *wide))
    found = ops['slice'](ops['slice'](found, 2, padding[0], padding[0] + size[0]), 3, padding[1], padding[1] + size[1])
    return named(ops['squeeze'](found, 0) if single else found, 'Col2ImBackward0', input)


def pixel_shuffle(input, upscale_factor):
    """(…, C · r², H, W) as (…, C, H · r, W · r)."""
    r = upscale_factor
    if check(input).ndim < 3 or r <= 0 or input.shape[-3] % (r * r):
        raise InvalidArgumentError(f'[pixel_shuffle] shape {input.shape} by a factor of {r}')
    *lead, c, h, w = input.shape
    x = ops['reshape'](input, (*lead, c // (r * r), r, r, h, w))
    n = len(lead)
    x = ops['permute'](x, (*range(n), n, n + 3, n + 1, n + 4, n + 2))
    return named(apart(ops['reshape'](x, (*lead, c // (r * r), h * r, w * r)), input), 'PixelShuffleBackward0', input)


def pixel_unshuffle(input, downscale_factor):
    """(…, C, H · r, W · r) as (…, C · r², H, W)."""
    r = downscale_factor
    if check(input).ndim < 3 or r <= 0 or input.shape[-1] % r or input.shape[-2] % r:
        raise InvalidArgumentError(f'[pixel_unshuffle] shape {input.shape} by a factor of {r}')
    *lead, c, h, w = input.shape
    x = ops['reshape'](input, (*lead, c, h // r, r, w // r, r))
    n = len(lead)
    x = ops['permute'](x, (*range(n), n, n + 2, n + 4, n + 1, n + 3))
    return named(apart(ops['reshape'](x, (*lead, c * r * r, h // r, w // r)), input), 'PixelUnshuffleBackward0', input)


def channel_shuffle(input, groups):
    """The channels of (N, C, …), interleaved group by group."""
    if check(input).ndim < 3 or groups <= 0 or input.shape[1] % groups:
        raise InvalidArgumentError(f'[channel_shuffle] {groups} groups of shape {input.shape}')
    n, c, *rest = input.shape
    x = ops['transpose'](ops['reshape'](input, (n, groups, c // groups, *rest)), 1, 2)
    return apart(ops['reshape'](x, (n, c, *rest)), input)


_MODES = {'nearest': None, 'linear': 1, 'bilinear': 2, 'bicubic': 2, 'trilinear': 3, 'area': None, 'nearest-exact': None}


def interpolate(input, size=None, scale_factor=None, mode='nearest', align_corners=None, recompute_scale_factor=None, antialias=False):
    """(N, C, …) resampled to another size, or to its size times scale_factor."""
    dims = check(input).ndim - 2
    if mode not in _MODES or (_MODES[mode] or dims) != dims or not 1 <= dims <= 3:
        raise InvalidArgumentError(f'[interpolate] mode {mode!r} does not fit input of shape {input.shape}: (N, C, …) with 1 to 3 dimensions to '
                                   'resize, 2 for bilinear and bicubic, 1 for linear, 3 for trilinear')
    if align_corners is not None and _MODES[mode] is None:
        raise InvalidArgumentError(f'[interpolate] align_corners is not for mode {mode}')
    if antialias and (mode not in ('bilinear', 'bicubic') or dims != 2):
        raise InvalidArgumentError('[interpolate] antialias=True is for modes bilinear and bicubic of (N, C, H, W)')
    size, factors = _resized_to(input, size, scale_factor, recompute_scale_factor)
    if rank(input.dtype) != 2 and input.dtype is not _core.uint8:
        raise UnsupportedDtypeError(f'[interpolate] needs floating numbers or uint8, not {input.dtype}')
    along = antialiased if antialias else _resized
    if input.dtype is _core.uint8 and mode != 'area':  # an image
        found = cast(input, _core.float32)
        for i in reversed(range(dims)):  # as in PyTorch, whose steps end in bytes
            found = along(found, 2 + i, size[i], None if factors is None else factors[i], mode, bool(align_corners))
            found = ops['clamp'](ops['round'](found), 0, 255)
        return cast(found, _core.uint8)
    if mode == 'area':
        return ops['adaptive_avg_pool'](input, size)
    # The op uses the ratio of sizes, which need not equal the factor.
    fits = factors is None or all(n * f == to for n, f, to in zip(input.shape[2:], factors, size))
    if mode != 'nearest-exact' and not antialias and fits:
        return named(ops['interpolate'](input, size, mode, bool(align_corners)), f'Upsample{mode.capitalize()}{dims}DBackward0')
    found = input
    for i in range(dims):
        found = along(found, 2 + i, size[i], None if factors is None else factors[i], mode, bool(align_corners))
    return named(found, f'Upsample{mode.capitalize()}2DAaBackward0') if antialias else found


def _resized_to(input, size, scale_factor, recompute_scale_factor):
    """The new size, and the scale of each dimension, or None for the ratios of sizes."""
    dims, factors = input.ndim - 2, None
    if (size is None) == (scale_factor is None):
        raise InvalidArgumentError('[interpolate] needs size or scale_factor, one of them')
    if size is None:
        factors = _each(scale_factor, dims, 'interpolate')
        size = tuple(math.floor(n * f) for n, f in zip(input.shape[2:], factors))
        if recompute_scale_factor:
            factors = None
    else:
        size = _each(size, dims, 'interpolate')
        if recompute_scale_factor:
            raise InvalidArgumentError('[interpolate] recompute_scale_factor needs scale_factor')
    if any(n <= 0 for n in size) or any(n <= 0 for n in input.shape[1:]):
        raise InvalidArgumentError(f'[interpolate] from {input.shape[2:]} to {size}')
    return size, factors


def _resized(x, dim, size, factor, mode, align_corners):
    """One dimension resampled to another size: a weighted sum of entries."""
    n = x.shape[dim]
    scale = scale_of(n, size, factor, align_corners)
    place = ops['arange'](0, size, 1, _core.float64, 'cpu')  # positions in double precision, which not every device has
    if mode.startswith('nearest'):
        return ops['index_select'](x, dim, _entry((place + (0.5 if mode == 'nearest-exact' else 0.0)) * scale, n, x))
    place = place * scale if align_corners else (place + 0.5) * scale - 0.5
    if mode != 'bicubic':
        place = ops['clamp'](place, 0, None)
    low = ops['floor'](place)
    part = place - low
    taps = ((0, 1 - part), (1, part)) if mode != 'bicubic' else tuple(zip((-1, 0, 1, 2), cubic_weights(part)))
    shape, found = tuple(size if d == dim else 1 for d in range(x.ndim)), None
    for offset, weights in taps:
        term = ops['index_select'](x, dim, _entry(low + offset, n, x)) * ops['reshape'](ops['to'](cast(weights, x.dtype), x.device), shape)
        found = term if found is None else found + term
    return found


def _entry(place, n, x):
    """Positions on the host as indices from 0 to n - 1 on the device of x."""
    return ops['to'](cast(ops['clamp'](ops['floor'](place), 0, n - 1), _core.int64), x.device)


def upsample(input, size=None, scale_factor=None, mode='nearest', align_corners=None):
    """interpolate()."""
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input, size=None, scale_factor=None):
    """interpolate() by the nearest element."""
    return interpolate(input, size, scale_factor)


def upsample_bilinear(input, size=None, scale_factor=None):
    """interpolate() with mode bilinear and align_corners."""
    return interpolate(input, size, scale_factor, 'bilinear', True)


def grid_sample(input, grid, mode='bilinear', padding_mode='zeros', align_corners=None):
    """Elements of (N, C, H, W) or (N, C, D, H, W) at the positions of a grid, which range from -1 to 1."""
    if mode == 'bicubic' and check(input).ndim == 5:
        from .tricubic import tricubic
        return tricubic(input, grid, padding_mode, bool(align_corners))
    return ops['grid_sample'](input, grid, mode, padding_mode, bool(align_corners))


def grid_sampler(input, grid, interpolation_mode, padding_mode, align_corners):
    """grid_sample() with numbers for its modes."""
    modes, paddings = ('bilinear', 'nearest', 'bicubic'), ('zeros', 'border', 'reflection')
    return grid_sample(input, grid, modes[interpolation_mode], paddings[padding_mode], align_corners)
