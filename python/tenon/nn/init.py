"""Initial values of parameters, written in place: Glorot & Bengio 2010 (xavier), He et al. 2015 (kaiming), Saxe et al. 2014 (orthogonal),
Martens 2010 (sparse).

>>> w = tenon.zeros((3, 4))
>>> tenon.nn.init.constant_(w, 2.0)[0, 0].item()
2.0
"""
import contextlib
import math
import threading
import warnings

import tenon
from .._core import Tensor, ops
from .._errors import InvalidArgumentError
from ._check import check_groups, check_least, check_one_of, check_part, check_positive

_GAINS = {'linear': 1.0, 'sigmoid': 1.0, 'tanh': 5 / 3, 'relu': math.sqrt(2), 'selu': 0.75}
_GAINS.update((f'{kind}{n}d', 1.0) for kind in ('conv', 'conv_transpose') for n in (1, 2, 3))


def _check(name, x):
    if not isinstance(x, Tensor):
        raise TypeError(f'[{name}] wants a Tensor, not {type(x).__name__}')


def fans(tensor):
    """(inputs, outputs) of one element of a weight (out, in, kernel…)."""
    _check('init', tensor)
    if tensor.ndim < 2:
        raise InvalidArgumentError(f'[init] a tensor of rank {tensor.ndim} has no fan-in and fan-out: it needs at least two dimensions')
    kernel = math.prod(tensor.shape[2:])
    return tensor.shape[1] * kernel, tensor.shape[0] * kernel


def calculate_gain(nonlinearity, param=None):
    """The factor that keeps the variance through a nonlinearity; `param` is leaky_relu's slope, else 0.01."""
    if nonlinearity == 'leaky_relu':
        slope = 0.01 if param is None else param
        return math.sqrt(2 / (1 + slope * slope))
    if nonlinearity not in _GAINS:
        raise InvalidArgumentError(f'[calculate_gain] unknown nonlinearity "{nonlinearity}": use linear, sigmoid, tanh, relu, leaky_relu or selu')
    return _GAINS[nonlinearity]


def _fill(x, value):
    with tenon.no_grad():
        x[...] = value
    return x


def constant_(tensor, val):
    """Every element becomes `val`."""
    _check('constant_', tensor)
    return _fill(tensor, val)


def zeros_(tensor):
    """Every element becomes 0."""
    return constant_(tensor, 0)


def ones_(tensor):
    """Every element becomes 1."""
    return constant_(tensor, 1)


def uniform_(tensor, a=0.0, b=1.0, generator=None):
    """Values between `a` and `b`."""
    _check('uniform_', tensor)
    return _fill(tensor, ops['uniform'](tensor.shape, a, b, tensor.dtype, tensor.device, generator))


def normal_(tensor, mean=0.0, std=1.0, generator=None):
    """Values of a normal distribution."""
    _check('normal_', tensor)
    return _fill(tensor, ops['normal'](tensor.shape, mean, std, tensor.dtype, tensor.device, generator))


def xavier_uniform_(tensor, gain=1.0, generator=None):
    """Uniform; keeps the variance of values and gradients through a linear layer."""
    check_least('xavier_uniform_', 'gain', gain, 0)
    fan_in, fan_out = fans(tensor)
    bound = gain * math.sqrt(6 / (fan_in + fan_out))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor, gain=1.0, generator=None):
    """Normal; keeps the variance of values and gradients through a linear layer."""
    check_least('xavier_normal_', 'gain', gain, 0)
    fan_in, fan_out = fans(tensor)
    return normal_(tensor, 0.0, gain * math.sqrt(2 / (fan_in + fan_out)), generator)


def _fan(where, tensor, mode):
    return fans(tensor)[check_one_of(where, 'mode', mode, ('fan_in', 'fan_out')) == 'fan_out']


def kaiming_uniform_(tensor, a=0.0, mode='fan_in', nonlinearity='leaky_relu', generator=None):
    """Uniform; keeps the variance through a layer and its nonlinearity; `a` is the slope of leaky_relu."""
    bound = calculate_gain(nonlinearity, a) * math.sqrt(3 / _fan('kaiming_uniform_', tensor, mode))
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(tensor, a=0.0, mode='fan_in', nonlinearity='leaky_relu', generator=None):
    """Normal; keeps the variance through a layer and its nonlinearity; `a` is the slope of leaky_relu."""
    return normal_(tensor, 0.0, calculate_gain(nonlinearity, a) / math.sqrt(_fan('kaiming_normal_', tensor, mode)), generator)


def _check_rank(name, tensor, least, most):
    _check(name, tensor)
    if not least <= tensor.ndim <= most:
        raise InvalidArgumentError(f'[{name}] tensor has rank {tensor.ndim}, must be {least}' + (f' to {most}' if most > least else ''))


def eye_(tensor):
    """The identity, for a matrix."""
    _check_rank('eye_', tensor, 2, 2)
    return _fill(tensor, ops['eye'](*tensor.shape, 0, tensor.dtype, tensor.device))


def dirac_(tensor, groups=1):
    """A convolution that returns its input: 1 in the middle of the kernel between channels of the same number."""
    _check_rank('dirac_', tensor, 3, 5)
    check_least('dirac_', 'groups', groups, 1)
    check_groups('dirac_', (tensor.shape[0],), groups)
    middle = ops['eye'](tensor.shape[0] // groups, tensor.shape[1], 0, tensor.dtype, tensor.device)
    _fill(tensor, 0)
    with tenon.no_grad():
        tensor[(slice(None), slice(None), *(n // 2 for n in tensor.shape[2:]))] = ops['concat']([middle] * groups, 0)
    return tensor


def orthogonal_(tensor, gain=1.0, generator=None):
    """A matrix, of all dimensions after the first merged, whose rows or columns are orthonormal, times gain."""
    _check_rank('orthogonal_', tensor, 2, 16)
    if not tensor.size:
        return tensor
    rows, columns = tensor.shape[0], math.prod(tensor.shape[1:])
    shape = (max(rows, columns), min(rows, columns))
    q, r = tenon.linalg.qr(ops['normal'](shape, 0.0, 1.0, tensor.dtype, tensor.device, generator))
    q = q * ops['sign'](ops['diagonal'](r))
    q = ops['transpose'](q, 0, 1) if rows < columns else q
    return _fill(tensor, ops['reshape'](q, tensor.shape) * gain)


def sparse_(tensor, sparsity, std=0.01, generator=None):
    """Normal values in a matrix; a share `sparsity` of each column is 0."""
    _check_rank('sparse_', tensor, 2, 2)
    check_part('sparse_', 'sparsity', sparsity)
    draw = ops['uniform'](tensor.shape, 0.0, 1.0, None, tensor.device, generator)
    values = ops['normal'](tensor.shape, 0.0, std, tensor.dtype, tensor.device, generator)
    order = ops['argsort'](ops['argsort'](draw, 0), 0)
    return _fill(tensor, ops['where'](order < math.ceil(sparsity * tensor.shape[0]), 0, values))


def trunc_normal_(tensor, mean=0.0, std=1.0, a=-2.0, b=2.0, generator=None):
    """Normal values between a and b, by the inverse of the distribution function."""
    _check('trunc_normal_', tensor)
    check_positive('trunc_normal_', 'std', std)
    if not a <= b:
        raise InvalidArgumentError(f'[trunc_normal_] b is {b}, must not be below a {a}')
    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn(f'[trunc_normal_] mean {mean} is more than two std from [{a}, {b}]: values may not be distributed well', stacklevel=2)
    low, high = (math.erf((bound - mean) / (std * math.sqrt(2))) for bound in (a, b))
    draw = ops['uniform'](tensor.shape, low, high, tensor.dtype, tensor.device, generator)
    return _fill(tensor, ops['clamp'](ops['erfinv'](draw) * (std * math.sqrt(2)) + mean, a, b))


_threads = threading.local()  # device: where layers draw their weights, if not on the host


@contextlib.contextmanager
def _drawn_on(device):
    """In this scope new layers draw their weights on a device, and not on the host."""
    before, _threads.device = getattr(_threads, 'device', None), device
    try:
        yield
    finally:
        _threads.device = before


def _layer_default(shape, fan_in):
    """The initial values of linear layers and convolutions: uniform within 1/√fan_in, for weights and biases."""
    bound = 1 / math.sqrt(fan_in) if fan_in > 0 else 0.0
    return ops['uniform'](shape, -bound, bound, device=getattr(_threads, 'device', None))
