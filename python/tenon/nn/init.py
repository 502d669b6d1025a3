"""Initial values of parameters, written in place: Glorot & Bengio 2010 (xavier), He et al. 2015 (kaiming).

>>> w = tenon.zeros((3, 4))
>>> tenon.nn.init.constant_(w, 2.0)[0, 0].item()
2.0
"""
import math

import tenon
from .._core import Tensor, ops

_GAINS = {'linear': 1.0, 'sigmoid': 1.0, 'tanh': 5 / 3, 'relu': math.sqrt(2), 'selu': 0.75}


def _check(name, x):
    if not isinstance(x, Tensor):
        raise TypeError(f'[{name}] wants a Tensor, not {type(x).__name__}')


def fans(weight):
    """(inputs, outputs) of one element of a weight (out, in, kernel…)."""
    _check('init', weight)
    if weight.ndim < 2:
        raise ValueError(f'[init] a tensor of rank {weight.ndim} has no fan-in and fan-out: it needs rank 2 or more')
    kernel = math.prod(weight.shape[2:])
    return weight.shape[1] * kernel, weight.shape[0] * kernel


def calculate_gain(nonlinearity, slope=0.01):
    """The factor that keeps the variance through a nonlinearity; `slope` is leaky_relu's."""
    if nonlinearity == 'leaky_relu':
        return math.sqrt(2 / (1 + slope * slope))
    if nonlinearity not in _GAINS:
        raise ValueError(f'[init] no gain is known for {nonlinearity!r}: leaky_relu, ' + ', '.join(_GAINS))
    return _GAINS[nonlinearity]


def _fill(x, value):
    with tenon.no_grad():
        x[...] = value
    return x


def constant_(x, value):
    """Every element becomes `value`."""
    _check('constant_', x)
    return _fill(x, value)


def zeros_(x):
    """Every element becomes 0."""
    return constant_(x, 0)


def ones_(x):
    """Every element becomes 1."""
    return constant_(x, 1)


def uniform_(x, low=0.0, high=1.0, generator=None):
    """Values between `low` and `high`."""
    _check('uniform_', x)
    return _fill(x, ops['uniform'](x.shape, low, high, x.dtype, x.device, generator))


def normal_(x, mean=0.0, std=1.0, generator=None):
    """Values of a normal distribution."""
    _check('normal_', x)
    return _fill(x, ops['normal'](x.shape, mean, std, x.dtype, x.device, generator))


def xavier_uniform_(x, gain=1.0, generator=None):
    """Uniform; keeps the variance of values and gradients through a linear layer."""
    fan_in, fan_out = fans(x)
    bound = gain * math.sqrt(6 / (fan_in + fan_out))
    return uniform_(x, -bound, bound, generator)


def xavier_normal_(x, gain=1.0, generator=None):
    """Normal; keeps the variance of values and gradients through a linear layer."""
    fan_in, fan_out = fans(x)
    return normal_(x, 0.0, gain * math.sqrt(2 / (fan_in + fan_out)), generator)


def _fan(x, mode):
    if mode not in ('fan_in', 'fan_out'):
        raise ValueError(f'[init] mode is "fan_in" or "fan_out", not {mode!r}')
    return fans(x)[mode == 'fan_out']


def kaiming_uniform_(x, slope=0.0, mode='fan_in', nonlinearity='leaky_relu', generator=None):
    """Uniform; keeps the variance through a layer and its nonlinearity."""
    bound = calculate_gain(nonlinearity, slope) * math.sqrt(3 / _fan(x, mode))
    return uniform_(x, -bound, bound, generator)


def kaiming_normal_(x, slope=0.0, mode='fan_in', nonlinearity='leaky_relu', generator=None):
    """Normal; keeps the variance through a layer and its nonlinearity."""
    return normal_(x, 0.0, calculate_gain(nonlinearity, slope) / math.sqrt(_fan(x, mode)), generator)


def layer_default(shape, fan_in):
    """What linear layers and convolutions begin with: uniform within 1/√fan_in, for weights and biases."""
    bound = 1 / math.sqrt(fan_in) if fan_in > 0 else 0.0
    return ops['uniform'](shape, -bound, bound)
