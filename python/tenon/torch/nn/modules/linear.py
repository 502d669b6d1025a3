"""Linear maps."""
import math

import tenon

from .... import nn as _nn
from ...._errors import InvalidArgumentError
from ....nn.module import Module, Parameter
from ..._common import defaults
from .. import functional as F
from .. import init
from ._make import drawing, place, shown
from .lazy import LazyModuleMixin, waiting

_linear = F.linear


def draw_weights(module, fan_in):
    """The initial weights of layers: weight and bias uniform within 1 / √fan_in."""
    bound = 1 / math.sqrt(fan_in) if fan_in > 0 else 0.0
    for x in (module.weight, module.bias):
        if x is not None:
            init.uniform_(x, -bound, bound)


class Identity(Module):
    """Returns its input; accepts any arguments."""

    def __init__(self, *args, **kwargs):
        super().__init__()

    def forward(self, input):
        return input


class Linear(_nn.Linear):
    """x weightᵀ + bias over the last dimension. weight (out_features, in_features), bias (out_features,)."""

    def __init__(self, in_features, out_features, bias=True, device=None, dtype=None):
        with drawing(device):
            super().__init__(in_features, out_features, bias)
        place(self, device, dtype)

    def forward(self, input):
        return _linear(input, self.weight) if self.bias is None else _linear(input, self.weight, self.bias)

    def reset_parameters(self):
        """Draws weight and bias anew."""
        draw_weights(self, self.in_features)


class NonDynamicallyQuantizableLinear(Linear):
    """Linear under the name that attention's last layer prints."""


class LazyLinear(LazyModuleMixin, Linear):
    """Linear that infers in_features from its first input."""

    cls_to_become = Linear

    def __init__(self, out_features, bias=True, device=None, dtype=None):
        super().__init__(0, 0, False)
        self.out_features = out_features
        self.weight, self.bias = waiting(True, device, dtype), waiting(bias, device, dtype)

    def initialize_parameters(self, input):
        self.in_features = input.shape[-1]
        self._materialize({'weight': (self.out_features, self.in_features), 'bias': (self.out_features,)})

    def reset_parameters(self):
        if not self.has_uninitialized_params() and self.in_features:
            super().reset_parameters()


class Bilinear(Module):
    """x₁ weight x₂ + bias. weight (out_features, in1_features, in2_features), bias (out_features,)."""

    def __init__(self, in1_features, in2_features, out_features, bias=True, device=None, dtype=None):
        super().__init__()
        if in1_features <= 0:
            raise InvalidArgumentError(f'[Bilinear] in1_features is {in1_features}, must be above 0')
        self.in1_features, self.in2_features, self.out_features = in1_features, in2_features, out_features
        dtype, device = defaults.settle(dtype, device)
        self.weight = Parameter(tenon.empty((out_features, in1_features, in2_features), dtype=dtype, device=device))
        self.register_parameter('bias', Parameter(tenon.empty((out_features,), dtype=dtype, device=device)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self):
        """Draws weight and bias anew."""
        draw_weights(self, self.in1_features)

    def forward(self, input1, input2):
        return F.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self):
        return shown(self, 'in1_features in2_features out_features') + f', bias={self.bias is not None}'


__all__ = ['Bilinear', 'Identity', 'LazyLinear', 'Linear']
