"""torch.nn.init: initial values of parameters, written in place."""
import functools
import math
import warnings

import tenon

from ..._errors import InvalidArgumentError
from ...nn.init import (_fan, calculate_gain, constant_, fans, kaiming_normal_, kaiming_uniform_, normal_, ones_, uniform_, xavier_normal_,
                        xavier_uniform_, zeros_)
from ..._core import Tensor, ops

__all__ = ['calculate_gain', 'constant_', 'dirac_', 'eye_', 'kaiming_normal_', 'kaiming_uniform_', 'normal_', 'ones_', 'orthogonal_',
           'sparse_', 'trunc_normal_', 'uniform_', 'xavier_normal_', 'xavier_uniform_', 'zeros_']


def _fill(tensor, value):
    with tenon.no_grad():
        tensor[...] = value
    return tensor


def _check(name, tensor, ranks):
    if not isinstance(tensor, Tensor):
        raise TypeError(f'[{name}] wants a Tensor, not {type(tensor).__name__}')
    if tensor.ndim not in ranks:
        raise InvalidArgumentError(f'[{name}] tensor has rank {tensor.ndim}, must be ' + ' or '.join(map(str, ranks)))


def eye_(tensor):
    """The identity, for a matrix."""
    _check('eye_', tensor, (2,))
    return _fill(tensor, ops['eye'](*tensor.shape, 0, tensor.dtype, tensor.device))


def trunc_normal_(tensor, mean=0.0, std=1.0, a=-2.0, b=2.0, generator=None):
    """Normal values between a and b, by the inverse of the distribution function."""
    if not isinstance(tensor, Tensor):
        raise TypeError(f'[trunc_normal_] wants a Tensor, not {type(tensor).__name__}')
    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn(f'[trunc_normal_] mean {mean} is more than two std from [{a}, {b}]: values may not be distributed well', stacklevel=2)
    low, high = (math.erf((bound - mean) / (std * math.sqrt(2))) for bound in (a, b))
    draw = ops['uniform'](tensor.shape, low, high, tensor.dtype, tensor.device, generator)
    return _fill(tensor, ops['clamp'](ops['erfinv'](draw) * (std * math.sqrt(2)) + mean, a, b))


def orthogonal_(tensor, gain=1, generator=None):
    """A matrix, with all dimensions after the first merged, whose rows or columns are orthonormal."""
    if tensor.ndim < 2:
        raise InvalidArgumentError(f'[orthogonal_] tensor has rank {tensor.ndim}, must be at least 2')
    if not tensor.size:
        return tensor
    rows, columns = tensor.shape[0], math.prod(tensor.shape[1:])
    shape = (max(rows, columns), min(rows, columns))
    q, r = tenon.linalg.qr(ops['normal'](shape, 0.0, 1.0, tensor.dtype, tensor.device, generator))
    q = q * ops['sign'](ops['diagonal'](r))
    q = ops['transpose'](q, 0, 1) if rows < columns else q
    return _fill(tensor, ops['reshape'](q, tensor.shape) * gain)


def sparse_(tensor, sparsity, std=0.01, generator=None):
    """Normal values; a share `sparsity` of each column is 0."""
    _check('sparse_', tensor, (2,))
    rows, columns = tensor.shape
    order = ops['argsort'](ops['argsort'](ops['uniform']((rows, columns), 0.0, 1.0, None, tensor.device, generator), 0), 0)
    values = ops['normal'](tensor.shape, 0.0, std, tensor.dtype, tensor.device, generator)
    return _fill(tensor, ops['where'](order < math.ceil(sparsity * rows), 0, values))


def dirac_(tensor, groups=1):
    """A convolution that returns its input: 1 in the middle of the kernel between channels of the same number."""
    _check('dirac_', tensor, (3, 4, 5))
    if tensor.shape[0] % groups:
        raise InvalidArgumentError(f'[dirac_] {tensor.shape[0]} channels do not divide into {groups} groups')
    middle = ops['eye'](tensor.shape[0] // groups, tensor.shape[1], 0, tensor.dtype, tensor.device)
    with tenon.no_grad():
        tensor[...] = 0
        tensor[(slice(None), slice(None), *(n // 2 for n in tensor.shape[2:]))] = ops['concat']([middle] * groups, 0)
    return tensor


def _calculate_correct_fan(tensor, mode):
    """The fan of mode 'fan_in' or 'fan_out', by which programs scale values of their own."""
    return _fan('init', tensor, mode.lower())


_calculate_fan_in_and_fan_out = fans


def _no_grad_trunc_normal_(tensor, mean, std, a, b, generator=None):
    """trunc_normal_(), as programs that copied it from PyTorch call it."""
    return trunc_normal_(tensor, mean, std, a, b, generator=generator)


def _older(function):
    """The name without the underscore, whose use points to the newer one."""
    name = function.__name__.removesuffix('_')

    @functools.wraps(function)
    def call(*args, **kwargs):
        warnings.warn(f'[nn.init.{name}] is the older name of {function.__name__}', FutureWarning, stacklevel=2)
        return function(*args, **kwargs)
    call.__name__ = call.__qualname__ = name
    call.__module__ = __name__
    return call


uniform, normal, constant, eye, dirac, sparse, orthogonal = map(_older, (uniform_, normal_, constant_, eye_, dirac_, sparse_, orthogonal_))
xavier_uniform, xavier_normal, kaiming_uniform, kaiming_normal = map(_older, (
    xavier_uniform_, xavier_normal_, kaiming_uniform_, kaiming_normal_))


def __getattr__(name):
    from .._absent import absent
    raise absent('nn.init', name)
