"""Layers that quantize_dynamic() makes: weights are integers of eight bits, and inputs become such integers for each product."""
from typing import Any

from ....._core import Tensor, ops
from .... import nn
from ....nn.sequences import Packed, Weights, layers

__all__ = ['GRU', 'LSTM', 'RNN', 'Linear']


def _pack(module, name, weight):
    """Keeps a weight (out, in) as integers of eight bits, and a scale for each row."""
    packed, scale = ops['quantize_int8'](weight.detach(), weight.shape[-1])
    module.register_buffer(name, packed)
    module.register_buffer(name + '_scale', scale)


class Linear(nn.Module):
    """nn.Linear for inference. Each row of the input gets a range of its own.

    Buffers: weight (int8), weight_scale (out, 1), bias.
    """

    weight: Tensor
    weight_scale: Tensor

    def __init__(self, mod):
        super().__init__()
        self.in_features, self.out_features = mod.in_features, mod.out_features
        _pack(self, 'weight', mod.weight)
        self.register_buffer('bias', None if mod.bias is None else mod.bias.detach().clone())

    def _get_name(self):
        return 'DynamicQuantizedLinear'

    def forward(self, input):
        return ops['linear_w8a8'](input, self.weight, self.weight_scale, self.bias)

    def extra_repr(self):
        return f'in_features={self.in_features}, out_features={self.out_features}, dtype=torch.qint8, qscheme=torch.per_tensor_affine'


class _Recurrent(nn.RNNBase):
    """A recurrent layer for inference, over buffers in the place of its weights: integers for matrices, and their scales."""

    weight_ih_l0_scale: Tensor

    def __init__(self, mod):
        nn.Module.__init__(self)
        for key in ('mode', 'input_size', 'hidden_size', 'num_layers', 'bias', 'batch_first', 'dropout', 'bidirectional', 'proj_size'):
            setattr(self, key, getattr(mod, key))
        for name, weight in mod.named_parameters(recurse=False):
            if weight.ndim == 2:
                _pack(self, name, weight)
            else:
                self.register_buffer(name, weight.detach().clone())

    def _get_name(self):
        return 'DynamicQuantized' + type(self).__name__

    def _check_input(self, x, weight, ranks, shapes):
        super()._check_input(x, self.weight_ih_l0_scale, ranks, shapes)

    def _layers(self, x, sizes, state):
        weights = [Weights(**{key: self._weight(key, name) for key, name in zip(self._keys, names)}) for names in self._all_weights]
        return layers(self.mode, x, sizes, state, weights, self.bidirectional, self.dropout, self.training)

    def _weight(self, key, name) -> Any:
        """Inputs are multiplied in eight bits, states by the numbers that the integers stand for: one op runs over all steps."""
        weight, scale = getattr(self, name), getattr(self, name + '_scale', None)
        if scale is None:
            return weight
        return Packed(weight, scale) if key == 'weight_ih' else ops['dequantize_int8'](weight, scale)


class LSTM(_Recurrent, nn.LSTM):
    """nn.LSTM for inference."""


class GRU(_Recurrent, nn.GRU):
    """nn.GRU for inference."""


class RNN(_Recurrent, nn.RNN):
    """nn.RNN for inference."""
