"""Activations as modules, for Sequential."""
from .._core import ops
from ._check import check_one_of
from .module import Module


def _activation(name, op):
    function = ops[op]

    def forward(self, x):
        return function(x)
    return type(name, (Module,), {'__doc__': f'The op `{op}`, element by element.', '__module__': __name__, 'forward': forward})


ReLU = _activation('ReLU', 'relu')
Sigmoid = _activation('Sigmoid', 'sigmoid')
Tanh = _activation('Tanh', 'tanh')
SiLU = _activation('SiLU', 'silu')
Mish = _activation('Mish', 'mish')
SELU = _activation('SELU', 'selu')
Hardsigmoid = _activation('Hardsigmoid', 'hardsigmoid')
Hardswish = _activation('Hardswish', 'hardswish')
LogSigmoid = _activation('LogSigmoid', 'log_sigmoid')


class GELU(Module):
    """x·Φ(x); approximate is "none" or "tanh"."""

    def __init__(self, approximate='none'):
        super().__init__()
        self.approximate = check_one_of('GELU', 'approximate', approximate, ('none', 'tanh'))

    def forward(self, x):
        return ops['gelu'](x, self.approximate)

    def extra_repr(self):
        return f'approximate={self.approximate!r}'


class ELU(Module):
    """x, or alpha·(eˣ - 1) below zero."""

    def __init__(self, alpha=1.0):
        super().__init__()
        self.alpha = alpha

    def forward(self, x):
        return ops['elu'](x, self.alpha)

    def extra_repr(self):
        return f'alpha={self.alpha}'


class LeakyReLU(Module):
    """x, or negative_slope·x below zero."""

    def __init__(self, negative_slope=0.01):
        super().__init__()
        self.negative_slope = negative_slope

    def forward(self, x):
        return ops['leaky_relu'](x, self.negative_slope)

    def extra_repr(self):
        return f'negative_slope={self.negative_slope}'


class Softplus(Module):
    """log(1 + exp(beta·x)) / beta, and x where beta·x is above the threshold."""

    def __init__(self, beta=1.0, threshold=20.0):
        super().__init__()
        self.beta, self.threshold = beta, threshold

    def forward(self, x):
        return ops['softplus'](x, self.beta, self.threshold)

    def extra_repr(self):
        return f'beta={self.beta}, threshold={self.threshold}'


class Softmax(Module):
    """Positive values along `dim` that sum to 1."""

    def __init__(self, dim=-1):
        super().__init__()
        self.dim = dim

    def forward(self, x):
        return ops['softmax'](x, self.dim)

    def extra_repr(self):
        return f'dim={self.dim}'


class LogSoftmax(Softmax):
    """The logarithm of Softmax."""

    def forward(self, x):
        return ops['log_softmax'](x, self.dim)
