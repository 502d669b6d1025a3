"""Normalisation."""
import math

from ...._errors import InvalidArgumentError
from ....nn import functional as _functional
from ...._core import ops
from ..._common import check, full, rank
from .pool import avg_pool2d, avg_pool3d


def batch_norm(input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5):
    """Zero mean and unit variance over all dimensions but the channels of (N, C, …)."""
    if check(input).ndim == 1 and not input.size:
        return ops['clone'](input)
    if input.ndim < 2:
        raise InvalidArgumentError(f'[batch_norm] input has rank {input.ndim}, must be (N, C, …)')
    if training and input.size == input.shape[1] and input.size:
        raise InvalidArgumentError(f'[batch_norm] one value for each channel has no variance: shape {input.shape}')
    if running_mean is None or running_var is None:
        if not training:
            raise InvalidArgumentError('[batch_norm] running_mean and running_var must be given, except in training')
        running_mean = running_var = None
    if training and not input.size and input.shape[1]:  # an empty batch: the statistics stay, gradients of weight and bias are 0
        training, found = False, full((input.shape[1],), 0, input)
        running_mean, running_var = found, found + 1
    return _functional.batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)


def instance_norm(input, running_mean=None, running_var=None, weight=None, bias=None, use_input_stats=True, momentum=0.1, eps=1e-5):
    """Zero mean and unit variance for each channel of each example of (N, C, …)."""
    if check(input).ndim < 2:
        raise InvalidArgumentError(f'[instance_norm] input has rank {input.ndim}, must be (N, C, …)')
    if not use_input_stats:
        if running_mean is None or running_var is None:
            raise InvalidArgumentError('[instance_norm] without use_input_stats running_mean and running_var must be given')
        return _functional.batch_norm(input, running_mean, running_var, weight, bias, False, momentum, eps)
    if input.size and input.size == input.shape[0] * input.shape[1]:
        raise InvalidArgumentError(f'[instance_norm] one value for each channel has no variance: shape {input.shape}')
    n, c = input.shape[:2]
    rows = ops['reshape'](input, (1, n * c, *input.shape[2:]))
    if running_mean is not None and running_var is not None:
        from .... import no_grad
        with no_grad():
            dims = tuple(range(2, input.ndim))
            means, spreads = ops['mean'](input, dims), ops['var'](input, dims)
            running_mean.copy_(running_mean * (1 - momentum) + ops['mean'](means, 0) * momentum)
            running_var.copy_(running_var * (1 - momentum) + ops['mean'](spreads, 0) * momentum)
    found = ops['reshape'](_functional.batch_norm(rows, None, None, None, None, True, momentum, eps), input.shape)
    wide = (c,) + (1,) * (input.ndim - 2)
    found = found if weight is None else found * ops['reshape'](weight, wide)
    return found if bias is None else found + ops['reshape'](bias, wide)


def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5):
    """Zero mean and unit variance over the last dimensions, those of normalized_shape."""
    _last(input, normalized_shape, 'layer_norm')
    return _functional.layer_norm(input, tuple(normalized_shape), weight, bias, eps)


def rms_norm(input, normalized_shape, weight=None, eps=None):
    """Divides by the root of the mean square over the last dimensions."""
    _last(input, normalized_shape, 'rms_norm')
    if rank(input.dtype) == 3:
        dims = tuple(range(input.ndim - len(normalized_shape), input.ndim))
        found = input / ops['sqrt'](ops['mean'](input * input, dims, True) + (2.0 ** -23 if eps is None else eps))
        return found if weight is None else found * weight
    return _functional.rms_norm(input, tuple(normalized_shape), weight, eps)


def _last(x, shape, name):
    shape = tuple(shape)
    if not shape or tuple(check(x).shape[-len(shape):]) != shape:
        raise InvalidArgumentError(f'[{name}] normalized_shape {shape} is not the end of {x.shape}')


def group_norm(input, num_groups, weight=None, bias=None, eps=1e-5):
    """Zero mean and unit variance for groups of channels of (N, C, …)."""
    if check(input).ndim < 2 or num_groups <= 0 or input.shape[1] % num_groups:
        raise InvalidArgumentError(f'[group_norm] {num_groups} groups of shape {input.shape}')
    if not input.shape[1] or not math.prod(input.shape[2:]):
        raise InvalidArgumentError(f'[group_norm] of no elements: shape {input.shape}')
    return _functional.group_norm(input, num_groups, weight, bias, eps)


def local_response_norm(input, size, alpha=1e-4, beta=0.75, k=1.0):
    """x / (k + alpha · mean of the squares of `size` neighbouring channels)^beta; x (N, C, …)."""
    if check(input).ndim < 3:
        raise InvalidArgumentError(f'[local_response_norm] input has rank {input.ndim}, must be at least 3')
    if not input.size:
        return input
    squares = ops['unsqueeze'](input * input, 1)
    if input.ndim == 3:
        squares = ops['pad'](squares, (0, 0, size // 2, (size - 1) // 2))
        mean = ops['squeeze'](avg_pool2d(squares, (size, 1), 1), 1)
    else:
        n, c, h = input.shape[:3]
        squares = ops['reshape'](squares, (n, 1, c, h, -1))
        squares = ops['pad'](squares, (0, 0, 0, 0, size // 2, (size - 1) // 2))
        mean = ops['reshape'](ops['squeeze'](avg_pool3d(squares, (size, 1, 1), 1), 1), input.shape)
    return input / (mean * alpha + k) ** beta
