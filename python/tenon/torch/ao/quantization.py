"""Weights in eight bits, and inputs of each product in eight bits with a range of their own: torch.ao.quantization.quantize_dynamic."""
import copy

from ... import _core
from .. import nn
from .._common import absent
from .nn.quantized import dynamic

__all__ = ['DeQuantStub', 'QuantStub', 'quantize_dynamic']

default_dynamic_qconfig = per_channel_dynamic_qconfig = 'int8'  # what a spec that is a dict says of a layer; there is one way


_QUANTIZED = {getattr(nn, name): getattr(dynamic, name) for name in dynamic.__all__}


def quantize_dynamic(model, qconfig_spec=None, dtype=_core.int8, mapping=None, inplace=False):
    """The model with its Linear, LSTM, GRU and RNN layers in eight bits: weights are integers with a scale for each row, and inputs
    become integers for each product. For inference: nothing has gradients.

    qconfig_spec: types of modules or names of modules, in a set or as the keys of a dict; by default all that can be quantized.
    mapping: classes that are made of others, in the place of these. inplace: changes the model itself.

    >>> import tenon.torch as torch
    >>> net = torch.nn.Sequential(torch.nn.Linear(8, 4), torch.nn.ReLU())
    >>> torch.ao.quantization.quantize_dynamic(net, {torch.nn.Linear}, dtype=torch.qint8)
    Sequential(
      (0): DynamicQuantizedLinear(in_features=8, out_features=4, dtype=torch.qint8, qscheme=torch.per_tensor_affine)
      (1): ReLU()
    )
    """
    if dtype is not _core.int8:
        raise ValueError(f'[quantize_dynamic] dtype must be torch.qint8, not {dtype}: for half types use model.to()')
    mapping = _QUANTIZED if mapping is None else mapping
    chosen = set(mapping) if qconfig_spec is None else set(qconfig_spec)
    for each in chosen:
        if isinstance(each, type) and each not in mapping:
            raise ValueError(f'[quantize_dynamic] {each.__name__} cannot be quantized: ' + ', '.join(kind.__name__ for kind in mapping) + ' can')
    return _converted(model if inplace else copy.deepcopy(model), '', chosen, mapping)


def _converted(module, path, chosen, mapping, all_of_it=False):
    all_of_it = all_of_it or path in chosen and path != ''
    if type(module) in mapping and (all_of_it or type(module) in chosen):
        made = mapping[type(module)](module)
        return made.train(module.training)
    for name, child in list(module.named_children()):
        setattr(module, name, _converted(child, f'{path}.{name}'.lstrip('.'), chosen, mapping, all_of_it))
    return module


class QuantStub(nn.Identity):
    """Where a model's numbers would become integers in PyTorch's conversion with measured ranges; gives its input."""

    def __init__(self, qconfig=None):
        super().__init__()


class DeQuantStub(QuantStub):
    """Where they would become floats again; gives its input."""


__getattr__ = absent(__name__, {})
