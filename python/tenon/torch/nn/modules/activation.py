"""Activations."""
from functools import partial

import tenon

from ...._core import ops
from ...._errors import InvalidArgumentError
from ....nn.module import Module, Parameter
from ..._common import defaults
from .. import functional as F
from ._make import function_module, shown

_module = partial(function_module, __name__)

ReLU = _module('ReLU', F.relu, 'inplace?')
SELU = _module('SELU', F.selu, 'inplace?')
SiLU = _module('SiLU', F.silu, 'inplace?')
Mish = _module('Mish', F.mish, 'inplace?')
ELU = _module('ELU', F.elu, 'alpha inplace?')
CELU = _module('CELU', F.celu, 'alpha inplace?')
GELU = _module('GELU', F.gelu, 'approximate!')
GLU = _module('GLU', F.glu, 'dim')
LeakyReLU = _module('LeakyReLU', F.leaky_relu, 'negative_slope inplace?')
RReLU = _module('RReLU', F.rrelu, 'lower upper inplace?')
Threshold = _module('Threshold', F.threshold, 'threshold value inplace?')
Sigmoid = _module('Sigmoid', lambda input: ops['sigmoid'](input))
Tanh = _module('Tanh', lambda input: ops['tanh'](input))
Sigmoid.__doc__, Tanh.__doc__ = '1 / (1 + exp(-x)).', 'The hyperbolic tangent.'
LogSigmoid = _module('LogSigmoid', F.logsigmoid)
Hardsigmoid = _module('Hardsigmoid', F.hardsigmoid)
Hardswish = _module('Hardswish', F.hardswish)
Hardshrink = _module('Hardshrink', F.hardshrink, '=lambd')
Softshrink = _module('Softshrink', F.softshrink, '=lambd')
Tanhshrink = _module('Tanhshrink', F.tanhshrink)
Softsign = _module('Softsign', F.softsign)
Softplus = _module('Softplus', F.softplus, 'beta threshold')
Softmin = _module('Softmin', F.softmin, 'dim')
Softmax = _module('Softmax', F.softmax, 'dim')
LogSoftmax = _module('LogSoftmax', F.log_softmax, 'dim')


class Hardtanh(Module):
    """x limited to two bounds; min_value and max_value are their older names."""

    def __init__(self, min_val=-1.0, max_val=1.0, inplace=False, min_value=None, max_value=None):
        super().__init__()
        self.min_val = min_val if min_value is None else min_value
        self.max_val = max_val if max_value is None else max_value
        self.inplace = inplace
        if self.max_val <= self.min_val:
            raise InvalidArgumentError(f'[{type(self).__name__}] max_val {self.max_val} must be above min_val {self.min_val}')

    def forward(self, input):
        return F.hardtanh(input, self.min_val, self.max_val, self.inplace)

    def extra_repr(self):
        return shown(self, 'min_val max_val inplace?')


class ReLU6(Hardtanh):
    """x limited to 0 … 6."""

    def __init__(self, inplace=False):
        super().__init__(0.0, 6.0, inplace)

    def extra_repr(self):
        return shown(self, 'inplace?')


class Softmax2d(Module):
    """softmax() over the channels of (N, C, H, W) or (C, H, W)."""

    def forward(self, input):
        if input.ndim not in (3, 4):
            raise InvalidArgumentError(f'[Softmax2d] input has rank {input.ndim}, must be 3 or 4')
        return F.softmax(input, -3)


class PReLU(Module):
    """leaky_relu() with learned slopes: one, or one for each channel."""

    def __init__(self, num_parameters=1, init=0.25, device=None, dtype=None):
        super().__init__()
        self.num_parameters, self.init = num_parameters, init
        self.weight = Parameter(ops['full']((num_parameters,), init, *defaults.settle(dtype, device)))

    def reset_parameters(self):
        """Writes the initial slope."""
        with tenon.no_grad():
            self.weight.fill_(self.init)

    def forward(self, input):
        return F.prelu(input, self.weight)

    def extra_repr(self):
        return shown(self, 'num_parameters')


def __getattr__(name):
    if name == 'MultiheadAttention':  # it needs modules that need this one
        from ..attention import MultiheadAttention
        return MultiheadAttention
    raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
