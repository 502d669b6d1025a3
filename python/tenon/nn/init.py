"""Initial values of parameters, written in place: Glorot & Bengio 2010 (xavier), He et al. 2015 (kaiming).

>>> w = tenon.zeros((3, 4))
>>> tenon.nn.init.constant_(w, 2.0)[0, 0].item()
2.0
"""
import contextlib
import math
import threading

import tenon
from .._core import Tensor, ops
from .._errors import InvalidArgumentError
from ._check import check_least, check_one_of

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
