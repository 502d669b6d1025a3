"""torch.ao: quantization of networks for inference."""
from importlib import import_module

from .._common import absent

_MODULES = 'nn', 'quantization'

_absent = absent(__name__, dict.fromkeys('ns pruning sparsity'.split(), 'ao.quantization.quantize_dynamic() is what is offered of it'))


def __getattr__(name):
    return import_module('.' + name, __name__) if name in _MODULES else _absent(name)
