"""torch.nn.init: initial values of parameters, written in place."""
import math

import tenon

from ...nn.init import (calculate_gain, constant_, kaiming_normal_, kaiming_uniform_, normal_, ones_, uniform_, xavier_normal_,
                        xavier_uniform_, zeros_)
from ..._core import ops

__all__ = ['calculate_gain', 'constant_', 'dirac_', 'eye_', 'kaiming_normal_', 'kaiming_uniform_', 'normal_', 'ones_', 'orthogonal_',
           'sparse_', 'trunc_normal_', 'uniform_', 'xavier_normal_', 'xavier_uniform_', 'zeros_']


def _fill(tensor, value):
    with tenon.no_grad():
        tensor[...] = value
    return tensor


def eye_(tensor):
    """The identity, for a matrix."""
    if tensor.ndim != 2:
        raise ValueError(f'[eye_] needs a matrix, not rank {tensor.ndim}')
    return _fill(tensor, ops['eye'](*tensor.shape, 0, tensor.dtype, tensor.device))


def trunc_normal_(tensor, mean=0.0, std=1.0, a=-2.0, b=2.0, generator=None):
    """Normal values between a and b, by the inverse of the distribution function."""
    low, high = (math.erf((bound - mean) / (std * math.sqrt(2))) for bound in (a, b))
    draw = ops['uniform'](tensor.shape, low, high, tensor.dtype, tensor.device, generator)
    return _fill(tensor, ops['clamp'](ops['erfinv'](draw) * (std * math.sqrt(2)) + mean, a, b))


def orthogonal_(tensor, gain=1, generator=None):
    """A matrix, dimensions behind the first taken as one, whose rows or columns are orthonormal."""
    if tensor.ndim < 2:
        raise ValueError(f'[orthogonal_] needs two dimensions, not {tensor.ndim}')
    rows, columns = tensor.shape[0], math.prod(tensor.shape[1:])
    shape = (max(rows, columns), min(rows, columns))
    q, r = tenon.linalg.qr(ops['normal'](shape, 0.0, 1.0, tensor.dtype, tensor.device, generator))
    q = q * ops['sign'](ops['diagonal'](r))
    q = ops['transpose'](q, 0, 1) if rows < columns else q
    return _fill(tensor, ops['reshape'](q, tensor.shape) * gain)


def sparse_(tensor, sparsity, std=0.01, generator=None):
    """Normal values, of which a part `sparsity` of each column is 0."""
    if tensor.ndim != 2:
        raise ValueError(f'[sparse_] needs a matrix, not rank {tensor.ndim}')
    rows, columns = tensor.shape
    order = ops['argsort'](ops['argsort'](ops['uniform']((rows, columns), generator=generator), 0), 0)
    values = ops['normal'](tensor.shape, 0.0, std, tensor.dtype, tensor.device, generator)
    return _fill(tensor, ops['where'](order < math.ceil(sparsity * rows), 0, values))


def dirac_(tensor, groups=1):
    """A convolution that gives back its input."""
    if tensor.ndim not in (3, 4, 5) or tensor.shape[0] % groups:
        raise ValueError(f'[dirac_] shape {tensor.shape} with {groups} groups')
    _fill(tensor, 0)
    out = tensor.shape[0] // groups
    with tenon.no_grad():
        for group in range(groups):
            for i in range(min(out, tensor.shape[1])):
                tensor[(group * out + i, i, *(n // 2 for n in tensor.shape[2:]))] = 1
    return tensor


def __getattr__(name):
    from .._absent import absent
    raise absent('nn.init', name)
